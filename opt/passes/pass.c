/*
 * The pipeline: runs the rows of passes.def over a graph, and handles the options that look inside it.
 *
 *   -d dce      the graph after dce         -d dce:2   each change and why       -d all    after every pass
 *   -L dce=12   no more than 12 changes     -p dce,cse these passes, in order    --stop cse:2  nothing after it
 *   --no-pass cse,fuse   all but these
 *
 * KILN_LOG and KILN_OPT_LIMIT have the same effect as -d and -L.  They also accept the form of PyTorch's variables: `:`
 * between the parts, `>` before a name for more detail, and names of PyTorch's source files.  KILN_TYPE_VERBOSITY sets
 * how much of a tensor's type is printed.  With KILN_LINT set, or in a build without NDEBUG, the graph is checked after
 * every pass that changed it.
 *
 * The alias database is built when a pass first asks for it.  It is dropped when a pass changes what it describes.
 */
#include "../opt.h"

#include <stdlib.h>
#include <string.h>

enum { PREPARE = STAGE_PREPARE, OPTIMIZE = STAGE_OPTIMIZE, BOTH = PREPARE | OPTIMIZE };

typedef struct Row {
	const char *name;
	PassRun    *run;
	int         stages, level;
	bool        loses;
} Row;

static const Row rows[] = {
#define PASS(name, stages, level, loses, what) { #name, name, stages, level, loses },
#include "passes.def"
#undef PASS
};

enum { NROW = sizeof rows / sizeof *rows };

typedef struct Option { const char *name; int n; } Option;      /* a pass and its number: dce:2, dce=12 */
typedef Vec(Option) Options;

struct Config {
	Options dumps, limits, passes, without;
	const char *stop, *until;
	int     stop_at;                 /* which step named `stop` is the last to run, from 1 */
	int     ndone[NROW];             /* changes so far, at the first row of the pass */
	Stage   until_stage;
	int     level;
	int     detail;                  /* Cx.type_detail of dumps */
	bool    timed, lint;
	int64_t ns[NROW];
	Peers   peers;
};

/* ---- options --------------------------------------------------------------------------------------- */

static struct Config *
config(Cx *cx)
{
	if (!cx->config) {
		cx->config = new(cx->arena, struct Config, 1);
		cx->config->level = 2;
		cx->config->lint = RT_LIMIT(false, true) || getenv("KILN_LINT");
	}
	return cx->config;
}

/* Translates a name from PyTorch's environment variables, which name its source files, to the name of a pass. */
static const char *
pass_called(const char *name)
{
	static const struct { const char *theirs, *ours; } names[] = {
		{ "dead_code", "dce" }, { "dead_code_elimination", "dce" },
		{ "common_subexpression_elimination", "cse" }, { "constant_propagation", "constprop" },
		{ "constant_pooling", "constpool" }, { "peephole", "peep" }, { "freeze_module", "freeze" },
		{ "inliner", "inlining" }, { "loop_unrolling", "unrolling" }, { "lower_tuples", "tuples" },
		{ "fold_conv_bn", "convbn" }, { "frozen_conv_folding", "affine" }, { "tensorexpr_fuser", "fuse" },
		{ "remove_mutation", "functional" }, { "alias_analysis", "alias" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i].theirs, name))
			return names[i].ours;
	return name;
}

static bool
is_pass(const char *name)
{
	for (int i = 0; i < NROW; i++)
		if (!strcmp(rows[i].name, name))
			return true;
	return !strcmp(name, "all");
}

/* Names that are no passes but that -L also limits node by node: inference by the specializer, kernels by codegen. */
static bool
is_outside(const char *name)
{
	return !strcmp(name, "known") || !strcmp(name, "kernels");
}

/* Parses [>]name[SEPnumber] entries, separated by commas or colons. */
static void
add_options(Cx *cx, Options *to, const char *text, char sep, int absent)
{
	while (*text) {
		const int more = (int)strspn(text, ">"), n = (int)strcspn(text += more, ",:=");
		const char *name = pass_called(arena_strndup(cx->arena, text, n));
		Option o = { name, absent + more };

		text += n;
		if (*text == sep && text[1] >= '0' && text[1] <= '9') {
			o.n = atoi(text + 1);
			text += 1 + strspn(text + 1, "0123456789");
		}
		if (!is_pass(o.name) && (strcmp(o.name, "alias") || to != &cx->config->dumps) &&
		    (!is_outside(o.name) || (to != &cx->config->dumps && to != &cx->config->limits)))
			fail_status(cx, EXIT_USAGE, (Range){0}, "there is no pass %s", o.name);
		if (*text && *text != ',' && *text != ':')
			fail_status(cx, EXIT_USAGE, (Range){0}, "what follows pass %s is no number: %s", o.name, text);
		vec_push(cx->arena, to, o);
		text += *text != 0;
	}
}

static const Option *
find_option(const Options *o, const char *name)
{
	for (int i = o->n - 1; i >= 0; i--)
		if (!strcmp(o->at[i].name, name) || !strcmp(o->at[i].name, "all"))
			return &o->at[i];
	return NULL;
}

void
config_dump(Cx *cx, const char *text)
{
	add_options(cx, &config(cx)->dumps, text, ':', 1);
}

void
config_limit(Cx *cx, const char *text)
{
	add_options(cx, &config(cx)->limits, text, '=', 0);
}

void
config_passes(Cx *cx, const char *text)
{
	add_options(cx, &config(cx)->passes, text, ':', 1);
}

void
config_without(Cx *cx, const char *text)
{
	add_options(cx, &config(cx)->without, text, ':', 1);
}

/* Number of steps of the pipeline with this name.  A row counts once for each of its stages. */
static int
count_steps(const char *name)
{
	int n = 0;

	for (int i = 0; i < NROW; i++)
		if (!strcmp(rows[i].name, name))
			n += rows[i].stages == BOTH ? 2 : 1;
	return n;
}

void
config_stop(Cx *cx, const char *text)
{
	const char *colon = strchr(text, ':');

	config(cx)->stop = pass_called(colon ? arena_strndup(cx->arena, text, colon - text) : text);
	config(cx)->stop_at = colon ? atoi(colon + 1) : 1;
	if (config(cx)->stop_at < 1 || config(cx)->stop_at > count_steps(config(cx)->stop))
		fail_status(cx, EXIT_USAGE, (Range){0}, "there is no pass %s", text);
}

void
config_until(Cx *cx, Stage stage, const char *pass)
{
	config(cx)->until = pass;
	config(cx)->until_stage = stage;
}

void
config_time(Cx *cx)
{
	config(cx)->timed = true;
}

void
config_level(Cx *cx, int level)
{
	config(cx)->level = level;
}

void
config_environment(Cx *cx)
{
	const char *log = getenv("KILN_LOG"), *limit = getenv("KILN_OPT_LIMIT"),
		   *detail = getenv("KILN_TYPE_VERBOSITY");

	if (log)
		config_dump(cx, log);
	if (limit)
		config_limit(cx, limit);
	if (detail && (strlen(detail) != 1 || *detail < '0' || *detail > '3'))
		fail_status(cx, EXIT_USAGE, (Range){0}, "KILN_TYPE_VERBOSITY wants 0 (Tensor), 1 (dtype, sizes), 2 "
			"(strides) or 3 (all)");
	config(cx)->detail = detail && *detail < '3' ? *detail - '0' + 1 : 0;
}

/* ---- what a pass may ask ------------------------------------------------------------------------------ */

typedef struct Run {             /* passes that run one after another over one graph */
	Cx       *cx;
	Function *fn;
	IValue    self;
	Arena     memory;        /* holds the alias database */
	AliasDb  *alias;
} Run;

bool
pass_may(Pass *p)
{
	if (p->limit >= 0 && p->ndone >= p->limit)
		return false;
	p->ndone++;
	return true;
}

void
pass_note(Pass *p, const Node *n, const char *why, ...)
{
	Buf text = {0};
	va_list ap;

	if (p->log < 2)
		return;
	va_start(ap, why);
	buf_vprintf(&text, why, ap);
	va_end(ap);
	buf_puts(&text, ": ");
	node_print((Node *)n, &text);
	if (n->at.src)
		range_print(&text, n->at, "note", "here");
	fprintf(stderr, "[%s %d] %s%s", p->name, p->ndone, text.at, n->at.src ? "\n" : "");
	buf_free(&text);
}

static void
dump_alias(Pass *p, Graph *g)
{
	Buf text = {0};

	alias_print(p->run->alias, g, &text);
	fprintf(stderr, "aliases, for %s:\n%s\n", p->name, text.at ? text.at : "");
	buf_free(&text);
}

AliasDb *
pass_alias(Pass *p, Graph *g)
{
	Run *r = p->run;

	if (!r->alias) {
		r->alias = alias_db(g, &r->memory);
		if (find_option(&config(r->cx)->dumps, "alias"))
			dump_alias(p, g);
	}
	return r->alias;
}

void
pass_lost_alias(Pass *p)
{
	Run *r = p->run;

	r->alias = NULL;
	arena_free(&r->memory);
	r->memory = (Arena){0};
}

Pass
pass_outside(Cx *cx, const char *name)
{
	const Option *log = find_option(&config(cx)->dumps, name), *limit = find_option(&config(cx)->limits, name);

	return (Pass){ .cx = cx, .name = name, .limit = limit ? limit->n : -1, .log = log ? log->n : 0 };
}

/* ---- running ------------------------------------------------------------------------------------------------ */

static void
dump(const char *pass, const Function *fn, Graph *g)
{
	Buf text = {0};

	g->cx->type_detail = config(g->cx)->detail;
	graph_print(g, &text, false);
	g->cx->type_detail = 0;
	fprintf(stderr, "after %s%s%s:\n%s\n", pass, fn ? " of " : "", fn ? fn->name : "", text.at);
	buf_free(&text);
}

static const Row *
find_row(const char *name)
{
	for (int i = 0; i < NROW; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static bool
run_row(Run *r, const Row *row, Graph *g)
{
	struct Config *c = config(r->cx);
	const Option *log = find_option(&c->dumps, row->name), *limit = find_option(&c->limits, row->name);
	int *ndone = &c->ndone[find_row(row->name) - rows];
	Arena scratch = {0};
	Pass p = { .cx = r->cx, .scratch = &scratch, .name = row->name, .fn = r->fn, .self = r->self, .run = r,
		   .limit = limit ? limit->n : -1, .log = log ? log->n : 0, .ndone = *ndone };
	const int64_t start = rt_now();
	const bool changed = row->run(&p, g);

	*ndone = p.ndone;
	c->ns[row - rows] += rt_now() - start;
	arena_free(&scratch);
	if (changed && row->loses)
		pass_lost_alias(&p);
	if (log)
		dump(row->name, r->fn, g);
	if (changed && c->lint)
		graph_lint(g);
	return changed;
}

/* A forked task has a graph of its own.  Inlining and freeze enter such graphs themselves. */
static void
run_forked(const Run *r, const Row *row, const Block *b)
{
	for NODES(n, b) {
		const Attr *sub = node_is(n, prim_fork) || node_is(n, prim_awaitable) ? node_attr(n, "Subgraph") :
			NULL;

		for (int i = 0; i < n->nsub; i++)
			run_forked(r, row, n->sub[i]);
		if (sub && row->run != inlining && row->run != freeze) {
			Run inner = { .cx = r->cx, .fn = r->fn };

			run_row(&inner, row, sub->g);
			run_forked(&inner, row, sub->g->top);
			arena_free(&inner.memory);
		}
	}
}

static void
run_all(Run *r, const Row *row, Graph *g)
{
	run_row(r, row, g);
	run_forked(r, row, g->top);
}

/* Prints the times of the stage that ends, and resets them for the next one. */
static void
print_times(struct Config *c, Stage stage, const Function *fn)
{
	fprintf(stderr, "%s, %s:\n", fn->name, stage == STAGE_PREPARE ? "prepared" : "a specialization");
	for (int i = 0; i < NROW; i++) {
		if (c->ns[i])
			fprintf(stderr, "  %-16s %9.3f ms\n", rows[i].name, (double)c->ns[i] / 1e6);
		c->ns[i] = 0;
	}
}

int
pass_stages(const char *name)
{
	int stages = 0;

	for (int i = 0; i < NROW; i++)
		if (!strcmp(rows[i].name, name))
			stages |= rows[i].stages;
	return stages;
}

/* Is row i the first with its name? */
static bool
is_first_row(int i)
{
	return find_row(rows[i].name) == &rows[i];
}

const char *
pass_name(int at)
{
	for (int i = 0; i < NROW; i++)
		if (is_first_row(i) && at-- == 0)
			return rows[i].name;
	return NULL;
}

/* Index of the last row that a stage runs: NROW - 1 unless config_until ends it earlier. */
static int
last_row(const struct Config *c, Stage stage)
{
	for (int i = NROW - 1; i >= 0 && c->until && c->until_stage == stage; i--)
		if ((rows[i].stages & (int)stage) && !strcmp(rows[i].name, c->until))
			return i;
	return NROW - 1;
}

static bool
is_on(const struct Config *c, int row, Stage stage)
{
	return (rows[row].stages & (int)stage) && rows[row].level <= c->level &&
	       !find_option(&c->without, rows[row].name);
}

/* Finds step i of the pipeline: all rows of the first stage, then of the second.  Rows that are off count too, so that
 * a step has the same name at every level.  Returns the row, or -1.  *nth: its number among the steps of its name, from
 * 1. */
static int
find_step(int i, Stage *stage, int *nth)
{
	for (int k = 0, seen[NROW] = {0}; k < 2 * NROW; k++) {
		*stage = k < NROW ? STAGE_PREPARE : STAGE_OPTIMIZE;
		if (!(rows[k % NROW].stages & (int)*stage))
			continue;
		*nth = ++seen[find_row(rows[k % NROW].name) - rows];
		if (i-- == 0)
			return k % NROW;
	}
	return -1;
}

const char *
pass_step(Cx *cx, int i)
{
	Stage stage;
	int nth, row = find_step(i, &stage, &nth);

	return row < 0 ? NULL : nth == 1 ? rows[row].name : arena_printf(cx->arena, "%s:%d", rows[row].name, nth);
}

/* Does this row come after the step that --stop names? */
static bool
is_behind_stop(const struct Config *c, int row, Stage stage)
{
	Stage s;
	int nth, r;

	for (int i = 0; c->stop && (r = find_step(i, &s, &nth)) >= 0; i++) {
		if (r == row && s == stage)
			return false;
		if (!strcmp(rows[r].name, c->stop) && nth == c->stop_at)
			return true;
	}
	return false;
}

void
passes_run(Cx *cx, Stage stage, Function *fn, Graph *g, IValue self)
{
	struct Config *c = config(cx);
	const int last = last_row(c, stage);
	Run r = { .cx = cx, .fn = fn, .self = self };

	for (int i = 0; i < c->passes.n; i++)
		if (find_row(c->passes.at[i].name))
			run_all(&r, find_row(c->passes.at[i].name), g);
	for (int i = 0; i <= last && !c->passes.n; i++) {
		if (is_on(c, i, stage) && !is_behind_stop(c, i, stage))
			run_all(&r, &rows[i], g);
	}
	if (c->timed)
		print_times(c, stage, fn);
	arena_free(&r.memory);
}

bool
pass_run(Cx *cx, const char *name, Function *fn, Graph *g, IValue self)
{
	Run r = { .cx = cx, .fn = fn, .self = self };
	const Row *row = find_row(name);
	bool changed;

	if (!row)
		fail_status(cx, EXIT_USAGE, (Range){0}, "there is no pass %s", name);
	changed = run_row(&r, row, g);
	arena_free(&r.memory);
	return changed;
}

const Peers *
prepare_peers_of(Cx *cx)
{
	return &config(cx)->peers;
}

void
prepare_peers(Cx *cx, Function *const *fn, int n)
{
	for (int i = 0; i < n; i++) {
		Graph *g = prepare(cx, fn[i], rt_none());

		vec_push(cx->arena, &config(cx)->peers, g);
		fn[i]->prepared = NULL;
	}
}

Graph *
prepare(Cx *cx, Function *fn, IValue self)
{
	if (fn->prepared)
		return fn->prepared;
	ops_compile_all(cx, fn);                 /* folding runs the bodies */
	fn->prepared = graph_clone(function_graph(cx, fn), NULL);
	passes_run(cx, STAGE_PREPARE, fn, fn->prepared, self);
	ops_compile_bodies(cx, fn->prepared);    /* of operators that passes inserted */
	return fn->prepared;
}

RtCode *
reference_code(Cx *cx, Function *fn, IValue self)
{
	struct Config *asked = config(cx), least = { .lint = asked->lint, .peers = asked->peers };
	LackingVec lacking = { 0 };
	Function *copy;
	RtCode *code;

	ops_compile_all(cx, fn);
	code = code_lower_unchanged(cx, fn, &lacking);
	if (!fn->gradient && !lacking.n)
		return code;
	copy = new(cx->arena, Function, 1);
	*copy = *fn;
	copy->prepared = NULL;
	copy->code = NULL;
	cx->config = &least;
	prepare(cx, copy, self);
	cx->config = asked;
	return code_lower(cx, copy, NULL);
}
