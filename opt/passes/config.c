/* opt/passes/config.c - the pipeline as data: the rows of passes.def, the options that select among them, and the
 * questions that a pass may ask
 *
 * Passes use this file.  pass.c runs them. */
#include "pass.h"

#include <stdlib.h>
#include <string.h>

enum { PREPARE = STAGE_PREPARE, OPTIMIZE = STAGE_OPTIMIZE, BOTH = PREPARE | OPTIMIZE };

const PassRow pass_rows[NROW] = {
#define PASS(name, stages, level, loses, what) { #name, stages, level, loses },
#include "passes.def"
#undef PASS
};

/* ---- rows and steps ---------------------------------------------------------------------------------------------- */

const PassRow *
pass_row(const char *name)
{
	for (int i = 0; i < NROW; i++)
		if (!strcmp(pass_rows[i].name, name))
			return &pass_rows[i];
	return NULL;
}

int
pass_stages(const char *name)
{
	int stages = 0;

	for (int i = 0; i < NROW; i++)
		if (!strcmp(pass_rows[i].name, name))
			stages |= pass_rows[i].stages;
	return stages;
}

/* Is row i the first with its name? */
static bool
is_first_row(int i)
{
	return pass_row(pass_rows[i].name) == &pass_rows[i];
}

const char *
pass_name(int at)
{
	for (int i = 0; i < NROW; i++)
		if (is_first_row(i) && at-- == 0)
			return pass_rows[i].name;
	return NULL;
}

int
find_pass_step(int i, PassStage *stage, int *nth)
{
	for (int k = 0, seen[NROW] = {0}; k < 2 * NROW; k++) {
		*stage = k < NROW ? STAGE_PREPARE : STAGE_OPTIMIZE;
		if (!(pass_rows[k % NROW].stages & (int)*stage))
			continue;
		*nth = ++seen[pass_row(pass_rows[k % NROW].name) - pass_rows];
		if (i-- == 0)
			return k % NROW;
	}
	return -1;
}

const char *
pass_step(Cx *cx, int i)
{
	PassStage stage;
	int nth, row = find_pass_step(i, &stage, &nth);

	if (row < 0)
		return NULL;
	return nth == 1 ? pass_rows[row].name : arena_printf(cx->arena, "%s:%d", pass_rows[row].name, nth);
}

/* ---- options --------------------------------------------------------------------------------------- */

struct Config *
pass_config(Cx *cx)
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
		if (!strcmp(pass_rows[i].name, name))
			return true;
	return !strcmp(name, "all");
}

/* Is it a name that is no pass, but that -L also limits node by node?  "known" is inference by the specializer,
 * "kernels" is code generation. */
static bool
is_outside(const char *name)
{
	return !strcmp(name, "known") || !strcmp(name, "kernels");
}

/* Parses entries [>]name[SEPnumber], separated by commas or colons.  absent: the number of an entry without one. */
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
			fail_status(cx, EXIT_USAGE, (Range){0}, "expected a number after pass %s, found %s", o.name,
				    text);
		vec_push(cx->arena, to, o);
		text += *text != 0;
	}
}

const Option *
find_pass_option(const Options *o, const char *name)
{
	for (int i = o->n - 1; i >= 0; i--)
		if (!strcmp(o->at[i].name, name) || !strcmp(o->at[i].name, "all"))
			return &o->at[i];
	return NULL;
}

void
config_dump(Cx *cx, const char *text)
{
	add_options(cx, &pass_config(cx)->dumps, text, ':', 1);
}

void
config_limit(Cx *cx, const char *text)
{
	add_options(cx, &pass_config(cx)->limits, text, '=', 0);
}

void
config_passes(Cx *cx, const char *text)
{
	add_options(cx, &pass_config(cx)->passes, text, ':', 1);
}

void
config_without(Cx *cx, const char *text)
{
	add_options(cx, &pass_config(cx)->without, text, ':', 1);
}

/* Number of steps of the pipeline with this name.  A pass counts once for each of its stages. */
static int
count_steps(const char *name)
{
	int n = 0;

	for (int i = 0; i < NROW; i++)
		if (!strcmp(pass_rows[i].name, name))
			n += pass_rows[i].stages == BOTH ? 2 : 1;
	return n;
}

void
config_stop(Cx *cx, const char *text)
{
	const char *colon = strchr(text, ':');

	pass_config(cx)->stop = pass_called(colon ? arena_strndup(cx->arena, text, colon - text) : text);
	pass_config(cx)->stop_at = colon ? atoi(colon + 1) : 1;
	if (pass_config(cx)->stop_at < 1 || pass_config(cx)->stop_at > count_steps(pass_config(cx)->stop))
		fail_status(cx, EXIT_USAGE, (Range){0}, "there is no pass %s", text);
}

void
config_until(Cx *cx, PassStage stage, const char *pass)
{
	RT_ASSERT(pass_stages(pass) & (int)stage);
	pass_config(cx)->until = pass;
	pass_config(cx)->until_stage = stage;
}

void
config_time(Cx *cx)
{
	pass_config(cx)->timed = true;
}

void
config_level(Cx *cx, int level)
{
	RT_ASSERT(level >= 0 && level <= 3);
	pass_config(cx)->level = level;
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
	pass_config(cx)->detail = detail && *detail < '3' ? *detail - '0' + 1 : 0;
}

/* ---- questions of passes ------------------------------------------------------------------------------ */

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
		if (find_pass_option(&pass_config(r->cx)->dumps, "alias"))
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
	const struct Config *c = pass_config(cx);
	const Option *log = find_pass_option(&c->dumps, name), *limit = find_pass_option(&c->limits, name);

	RT_ASSERT(!pass_row(name));
	return (Pass){ .cx = cx, .name = name, .limit = limit ? limit->n : -1, .log = log ? log->n : 0 };
}

const Peers *
prepare_peers_of(Cx *cx)
{
	return &pass_config(cx)->peers;
}
