/*
 * The pipeline: runs the passes of passes.def over a graph, and handles the options that show or limit them.
 *
 *  -d dce      the graph after dce         -d dce:2   each change and why       -d all    after every pass
 *  -L dce=12   no more than 12 changes     -p dce,cse these passes, in order    --stop cse:2  nothing after it
 *  --no-pass cse,fuse   all but these
 *
 * KILN_LOG and KILN_OPT_LIMIT have the same effect as -d and -L.  They also accept the form of PyTorch's variables: `:`
 * between the parts, `>` before a name for more detail, and names of PyTorch's source files.  KILN_TYPE_VERBOSITY sets
 * how much of a tensor's type is printed.  With KILN_LINT set, or in a build without NDEBUG, the graph is checked after
 * every pass that changed it.
 *
 * The alias database is built when a pass first asks for it.  It is dropped when a pass changes the graph's aliasing.
 */
#include "pass.h"

#include <string.h>

static PassRun *const runs[NROW] = {
#define PASS(name, stages, level, loses, what) name,
#include "passes.def"
#undef PASS
};

/* ---- running ------------------------------------------------------------------------------------------------ */

static void
dump(const char *pass, const Function *fn, Graph *g)
{
	Buf text = {0};

	g->cx->type_detail = pass_config(g->cx)->detail;
	graph_print(g, &text, false);
	g->cx->type_detail = 0;
	fprintf(stderr, "after %s%s%s:\n%s\n", pass, fn ? " of " : "", fn ? fn->name : "", text.at);
	buf_free(&text);
}

static bool
run_row(Run *r, const PassRow *row, Graph *g)
{
	struct Config *c = pass_config(r->cx);
	const Option *log = find_pass_option(&c->dumps, row->name), *limit = find_pass_option(&c->limits, row->name);
	int *ndone = &c->ndone[pass_row(row->name) - pass_rows];
	Arena scratch = {0};
	Pass p = { .cx = r->cx, .scratch = &scratch, .name = row->name, .fn = r->fn, .self = r->self, .run = r,
		   .limit = limit ? limit->n : -1, .log = log ? log->n : 0, .ndone = *ndone };
	const int64_t start = rt_now();
	const bool changed = runs[row - pass_rows](&p, g);

	*ndone = p.ndone;
	c->ns[row - pass_rows] += rt_now() - start;
	arena_free(&scratch);
	if (changed && row->loses)
		pass_lost_alias(&p);
	if (log)
		dump(row->name, r->fn, g);
	if (changed && c->lint)
		graph_lint(g);
	return changed;
}

/* Runs the pass on graphs of forked tasks.  Inlining and freeze are skipped, since they enter such graphs
 * themselves. */
static void
run_forked(const Run *r, const PassRow *row, const Block *b)
{
	for NODES(n, b) {
		const Attr *sub = node_is(n, prim_fork) || node_is(n, prim_awaitable) ? node_attr(n, "Subgraph") :
			NULL;

		for (int i = 0; i < n->nsub; i++)
			run_forked(r, row, n->sub[i]);
		if (sub && runs[row - pass_rows] != inlining && runs[row - pass_rows] != freeze) {
			Run inner = { .cx = r->cx, .fn = r->fn };

			run_row(&inner, row, sub->g);
			run_forked(&inner, row, sub->g->top);
			arena_free(&inner.memory);
		}
	}
}

static void
run_all(Run *r, const PassRow *row, Graph *g)
{
	run_row(r, row, g);
	run_forked(r, row, g->top);
}

/* Prints the times of the stage that ends, and resets them for the next one. */
static void
print_times(struct Config *c, PassStage stage, const Function *fn)
{
	fprintf(stderr, "%s, %s:\n", fn->name, stage == STAGE_PREPARE ? "prepared" : "a specialization");
	for (int i = 0; i < NROW; i++) {
		if (c->ns[i])
			fprintf(stderr, "  %-16s %9.3f ms\n", pass_rows[i].name, (double)c->ns[i] / 1e6);
		c->ns[i] = 0;
	}
}

/* Index of the last row of passes.def that a stage runs.  It is NROW - 1 unless config_until ends the stage earlier. */
static int
last_row(const struct Config *c, PassStage stage)
{
	for (int i = NROW - 1; i >= 0 && c->until && c->until_stage == stage; i--)
		if ((pass_rows[i].stages & (int)stage) && !strcmp(pass_rows[i].name, c->until))
			return i;
	return NROW - 1;
}

static bool
is_on(const struct Config *c, int row, PassStage stage)
{
	return (pass_rows[row].stages & (int)stage) && pass_rows[row].level <= c->level &&
	       !find_pass_option(&c->without, pass_rows[row].name);
}

/* Does this row of passes.def come after the step that --stop names? */
static bool
is_behind_stop(const struct Config *c, int row, PassStage stage)
{
	PassStage s;
	int nth, r;

	for (int i = 0; c->stop && (r = find_pass_step(i, &s, &nth)) >= 0; i++) {
		if (r == row && s == stage)
			return false;
		if (!strcmp(pass_rows[r].name, c->stop) && nth == c->stop_at)
			return true;
	}
	return false;
}

void
passes_run(Cx *cx, PassStage stage, Function *fn, Graph *g, IValue self)
{
	struct Config *c = pass_config(cx);
	const int last = last_row(c, stage);
	Run r = { .cx = cx, .fn = fn, .self = self };

	RT_ASSERT(stage == STAGE_PREPARE || stage == STAGE_OPTIMIZE);
	for (int i = 0; i < c->passes.n; i++)
		if (pass_row(c->passes.at[i].name))
			run_all(&r, pass_row(c->passes.at[i].name), g);
	for (int i = 0; i <= last && !c->passes.n; i++) {
		if (is_on(c, i, stage) && !is_behind_stop(c, i, stage))
			run_all(&r, &pass_rows[i], g);
	}
	if (c->timed)
		print_times(c, stage, fn);
	arena_free(&r.memory);
}

bool
pass_run(Cx *cx, const char *name, Function *fn, Graph *g, IValue self)
{
	Run r = { .cx = cx, .fn = fn, .self = self };
	const PassRow *row = pass_row(name);
	bool changed;

	if (!row)
		fail_status(cx, EXIT_USAGE, (Range){0}, "there is no pass %s", name);
	changed = run_row(&r, row, g);
	arena_free(&r.memory);
	return changed;
}

void
prepare_peers(Cx *cx, Function *const *fn, int n)
{
	for (int i = 0; i < n; i++) {
		Graph *g;

		RT_ASSERT(!fn[i]->prepared);
		g = prepare(cx, fn[i], rt_none());
		vec_push(cx->arena, &pass_config(cx)->peers, g);
		fn[i]->prepared = NULL;
	}
}

Graph *
prepare(Cx *cx, Function *fn, IValue self)
{
	if (fn->prepared)
		return fn->prepared;
	ops_compile_all(cx, fn);                 /* folding may run the bodies of operators */
	fn->prepared = graph_clone(function_graph(cx, fn), NULL);
	passes_run(cx, STAGE_PREPARE, fn, fn->prepared, self);
	ops_compile_bodies(cx, fn->prepared);    /* compiles bodies of operators that passes inserted */
	return fn->prepared;
}

RtCode *
reference_code(Cx *cx, Function *fn, IValue self)
{
	struct Config *asked = pass_config(cx), least = { .lint = asked->lint, .peers = asked->peers };
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
