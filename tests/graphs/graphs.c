/*
 * Runs random graphs through the passes of every level, and compares with the interpreter.
 *
 *     graphs FIRST COUNT ...      for each seed: -O1, -O2 and -O3 must answer as the graph as it was made; its text
 *                                 must read back as the same graph, at first and at the end
 *     graphs --print SEED         prints the graph
 *     graphs --write SEED DIR     writes a tame graph (graphs.h) as an archive DIR/SEED.pt, with DIR/SEED.in.npz, in1,
 *                                 in2, in3
 *
 * Results are compared, and the inputs and attributes after the run. Those are also compared after a run that raised,
 * so that writes are checked.
 */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

/* Result of a run on a set of inputs, and the inputs and attributes after it. */
typedef struct Answer { IValue result, in[NIN], self; int status; } Answer;

typedef struct Run { uint64_t seed; int level; Answer of[NSET]; Cx *cx; const char *dir; } Run;

static void
check_round_trip(Cx *cx, Graph *g, Unit *u)
{
	Buf a = { 0 }, b = { 0 };
	Source *s = new(cx->arena, Source, 1);

	graph_print(g, &a, false);
	*s = (Source){ .text = a.at, .n = a.n, .name = "<graph>", .line = 1 };
	graph_print(ir_parse(cx, s, u), &b, false);
	if (strcmp(a.at, b.at))
		fail(cx, (Range){ 0 }, "reads back as another graph:\n%s---\n%s", a.at, b.at);
	buf_free(&a);
	buf_free(&b);
}

static void
optimize(Cx *cx, Made *m, int level)
{
	config_environment(cx);
	config_level(cx, level);
	config_without(cx, "fuse");              /* only kernels can run groups */
	prepare(cx, m->fn, m->module.self);
	passes_run(cx, STAGE_OPTIMIZE, m->fn, m->fn->prepared, rt_none());
	graph_lint(m->fn->prepared);
	ops_compile_bodies(cx, m->fn->prepared);
	check_round_trip(cx, m->fn->prepared, m->module.unit);
}

static void
answer(Cx *cx, Made *m, int set, Answer *a)
{
	IValue args[NIN + 1];
	RtCx rt;

	rt_cx_init(&rt);
	rt.steps = 1000000;
	args[0] = a->self = graph_self(cx, m);
	for (int i = 0; i < NIN; i++)
		args[i + 1] = a->in[i] = m->in[set][i];
	a->status = rt_run(&rt, m->fn->code, args, &a->result);
	if (a->status == RT_LACKS)
		fail(cx, (Range){ 0 }, "lacks: %s", rt.message);
	rt_cx_free(&rt);
}

static void
run(Cx *cx, void *arg)
{
	Run *r = arg;
	Made *m = graph_make(cx, r->seed, false);

	ops_compile_all(cx, m->fn);
	if (r->level)
		optimize(cx, m, r->level);
	else
		check_round_trip(cx, m->fn->graph, m->module.unit);
	code_lower(cx, m->fn, NULL);
	for (int k = 0; k < NSET; k++)
		answer(cx, m, k, &r->of[k]);
}

static bool
same(const Answer *a, const Answer *b, Buf *why)
{
	RtCx rt;
	bool ok = a->status == b->status;

	if (!ok)
		buf_printf(why, "status %d instead of %d", b->status, a->status);
	if (!ok)
		return false;
	rt_cx_init(&rt);
	ok = a->status || rt_close(&rt, "out", b->result, a->result, why);
	for (int i = 0; i < NIN && ok; i++)
		ok = rt_close(&rt, "in", b->in[i], a->in[i], why);
	for (int i = 1; i < 3 && ok; i++)
		ok = rt_close(&rt, "self", b->self.u.obj->slot[i], a->self.u.obj->slot[i], why);
	rt_cx_free(&rt);
	return ok;
}

static bool
all_same(const Run *a, const Run *b)
{
	Buf why = { 0 };
	bool ok = true;

	for (int k = 0; k < NSET && ok; k++)
		if (!(ok = same(&a->of[k], &b->of[k], &why)))
			fprintf(stderr, "seed %llu -O%d, inputs %d: %s\n", (unsigned long long)b->seed, b->level, k,
				why.at);
	buf_free(&why);
	return ok;
}

static void
drop(Run *r)
{
	for (int k = 0; k < NSET; k++) {
		rt_release(r->of[k].result);
		rt_release(r->of[k].self);
		for (int i = 0; i < NIN; i++)
			rt_release(r->of[k].in[i]);
	}
}

static bool
try(Run *r)
{
	if (cx_try(r->cx, run, r))
		return true;
	fprintf(stderr, "seed %llu -O%d: %s\n", (unsigned long long)r->seed, r->level, r->cx->err.text);
	return false;
}

/* Returns whether all levels agree. */
static bool
check_seed(uint64_t seed, int *raised)
{
	Arena arena[4] = { { 0 } };
	Cx cx[4];
	Run r[4];
	bool ok = true;
	int n = 0;

	for (int level = 0; level < 4 && ok; level++, n++) {
		cx[level] = (Cx){ .arena = &arena[level] };
		r[level] = (Run){ .seed = seed, .level = level, .cx = &cx[level] };
		ok = try(&r[level]);
		ok = ok && (!level || all_same(&r[0], &r[level]));
	}
	for (int k = 0; k < NSET; k++)
		*raised += ok && r[0].of[k].status;
	for (int i = 0; i < n; i++) {
		drop(&r[i]);
		arena_free(&arena[i]);
	}
	return ok;
}

static void
print(Cx *cx, void *arg)
{
	const Run *r = arg;
	Made *m = graph_make(cx, r->seed, false);
	Buf b = { 0 };

	graph_print(m->fn->graph, &b, false);
	fputs(b.at, stdout);
	buf_free(&b);
}

static Graph *
graph_itself(Cx *cx, Function *fn)
{
	(void)cx;
	return fn->graph;
}

/* Writes DIR/SEED.in.npz, DIR/SEED.in1.npz ... */
static void
write_inputs(Cx *cx, const Run *r, const Made *m, int set)
{
	static const char *const names[NIN] = { "x", "y", "z", "n", "b" };
	const char *path = arena_printf(cx->arena, "%s/%llu.in%s.npz", r->dir, (unsigned long long)r->seed,
	                                set ? arena_printf(cx->arena, "%d", set) : "");
	RtArrays in = { 0 };
	RtCx rt;

	rt_cx_init(&rt);
	for (int i = 0; i < NIN; i++) {
		const RtTensor *t = i < 3 ? m->in[set][i].u.t : NULL;
		RtTensor *strides;

		if (rt_arrays_add(&rt, &in, names[i], m->in[set][i]))
			fail(cx, (Range){ 0 }, "%s", rt.message);
		if (!t || rt_is_contiguous(t))
			continue;
		strides = rt_tensor_new(&rt, RT_i64, 1, (int64_t[]){ t->ndim });
		memcpy(rt_data(strides), t->strides, sizeof *t->strides * t->ndim);
		rt_arrays_add(&rt, &in, arena_printf(cx->arena, "%s.strides", names[i]), rt_of(strides));
	}
	if (rt_npz_write(&rt, path, &in))
		fail(cx, (Range){ 0 }, "%s", rt.message);
}

static void
write(Cx *cx, void *arg)
{
	const Run *r = arg;
	Made *m = graph_make(cx, r->seed, true);
	const SaveOptions o = { .graph = graph_itself, .whole = true };

	for (int k = 0; k < NSET; k++)
		write_inputs(cx, r, m, k);
	module_save(cx, &m->module, &o, arena_printf(cx->arena, "%s/%llu.pt", r->dir, (unsigned long long)r->seed));
}

static bool
one(void body(Cx *, void *), uint64_t seed, const char *dir)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Run r = { .seed = seed, .dir = dir };

	if (cx_try(&cx, body, &r))
		return true;
	fprintf(stderr, "%s\n", cx.err.text);
	return false;
}

int
main(int argc, char **argv)
{
	int raised = 0;
	long failed = 0, n = 0, i;

	schema_parser = schema_parse;
	if (argc == 3 && !strcmp(argv[1], "--print"))
		return !one(print, strtoull(argv[2], NULL, 10), NULL);
	if (argc == 4 && !strcmp(argv[1], "--write"))
		return !one(write, strtoull(argv[2], NULL, 10), argv[3]);
	if (argc < 3 || argc % 2 == 0)
		return EXIT_USAGE;
	setenv("KILN_LINT", "1", 1);
	for (int k = 1; k + 1 < argc; k += 2, n += i)
		for (i = 0; i < atol(argv[k + 1]); i++)
			failed += !check_seed(strtoull(argv[k], NULL, 10) + (uint64_t)i, &raised);
	printf("%ld graphs, %ld failed, %d of %ld runs raised\n", n, failed, raised, n * NSET);
	return failed > 0;
}
