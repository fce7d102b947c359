/* tests/op/traits.c - what rows state of their operators, derived by running them on random arguments
 *
 *     traits [ROW [TRIALS]]
 *
 * A row, by its kernel or its body, is the only node of a graph.  The run shows which results share memory with which
 * arguments, what was written, and whether the data or the strides decide about an error or a result.  The alias
 * database and the traits of ir.h must say so.
 */
#include "bare.h"
#include "draw.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ARGS = 40, MOST_OUT = 8, IN_LIST = 6, TRIALS = 48 };

typedef struct Row {
	Cx      *cx;
	RtCx     rt;
	Draw     draw;
	Op      *op;
	const Schema *schema;
	Node    *node;                   /* the row in a graph of its arguments */
	RtCode  *code;                   /* that graph, lowered */
	AliasDb *alias;                  /* of a second graph, whose tensors are clones */
	Node    *among;                  /* the row in the second graph */
	Value   *of[MOST_ARGS];          /* clone of each argument that is a tensor, or the first element of a list */
	bool     told[32];               /* properties whose failure was printed for this row */
	char     error[200];             /* message of the last call, or "" */
	int      answers, never, failed;
} Row;

/* For the signal handler */
static const char *running;

static void
say_crash(int signal)
{
	char text[200];
	const int n = snprintf(text, sizeof text, "FAIL %s: signal %d\n", running, signal);

	_exit(write(STDOUT_FILENO, text, (size_t)n) == n ? 1 : 2);
}

/* Fails once per row and property. */
static void
expect(Row *r, int property, bool holds, const char *otherwise)
{
	if (holds || r->told[property])
		return;
	r->told[property] = true;
	r->failed++;
	printf("FAIL %s: %s%s%s\n", r->op->id, otherwise, *r->error ? ": " : "", r->error);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static const Type *
type_of(const Type *t)
{
	while (t->kind == TYPE_OPTIONAL)
		t = t->of[0];
	return t->kind == TYPE_VAR || t->kind == TYPE_ANY ? &rt_type_tensor : t;
}

static bool
is_list(const Type *t)
{
	return t->kind == TYPE_LIST && type_of(t->of[0])->kind == TYPE_TENSOR;
}

static Value *
clone(Graph *g, Value *v)
{
	Value *in[] = { v, graph_constant(g, rt_none(), (Range){0}) };

	return graph_emit_op(g, "aten::clone", (Range){0}, 2, in, &rt_type_tensor);
}

/* An argument that shares no memory with others: *of is the tensor, or the element of the list. */
static Value *
apart(Row *r, Graph *g, const Type *t, Value **of)
{
	Node *list;

	if (is_list(t)) {
		*of = clone(g, graph_add_input(g, &rt_type_tensor, NULL));
		list = graph_emit(g, "prim::ListConstruct", (Range){0}, 1, of, 1);
		list->out[0]->type = type_list(r->cx, &rt_type_tensor);
		return list->out[0];
	}
	*of = t->kind == TYPE_TENSOR ? clone(g, graph_add_input(g, &rt_type_tensor, NULL)) : NULL;
	return *of ? *of : graph_add_input(g, t, NULL);
}

/* The row as a node of its own graph. clones: its tensors are clones. */
static Node *
graph_of(Row *r, bool clones)
{
	Graph *g = graph_new(r->cx, "row");
	Value *in[MOST_ARGS];
	Node *n;

	graph_set_insert_end(g, g->top);
	for (int i = 0; i < r->schema->nargs; i++) {
		const Type *t = r->schema->args[i].type;

		if (clones)
			in[i] = apart(r, g, type_of(t), &r->of[i]);
		else
			in[i] = graph_add_input(g, t->kind == TYPE_VAR ? &rt_type_any : t, NULL);
	}
	n = graph_emit(g, r->op->name, (Range){0}, r->schema->nargs, in, r->schema->nrets);
	n->op = r->op;
	for (int i = 0; i < n->nout; i++) {
		n->out[i]->type = type_of(r->schema->rets[i].type);
		graph_add_output(g, n->out[i]);
	}
	return n;
}

static void
make_graphs(Row *r)
{
	Function *f = new(r->cx->arena, Function, 1);
	LackingVec lacking = { 0 };

	r->among = graph_of(r, true);
	r->alias = alias_db(r->among->block->graph, r->cx->arena);
	r->node = graph_of(r, false);
	f->name = "row";
	f->graph = r->node->block->graph;
	f->schema = (Schema *)r->schema;
	f->state = 2;
	ops_compile_bodies(r->cx, f->graph);
	r->code = code_lower(r->cx, f, &lacking);
	memset(r->told, 0, sizeof r->told);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static int
call(Row *r, const IValue *args, IValue *out)
{
	int status;

	for (int i = 0; i < r->schema->nrets; i++)
		out[i] = rt_none();
	rt_generator_seed(r->rt.gen, 0);
	status = rt_run(&r->rt, r->code, args, out);
	snprintf(r->error, sizeof r->error, "%s", status && r->rt.message ? r->rt.message : "");
	if (status)
		rt_clear_error(&r->rt);
	return status;
}

typedef void Visit(void *arg, int of, RtTensor *);

/* Visits all tensors of the values. of: index of the value. */
static void
visit(IValue *v, int n, int of, Visit *f, void *arg)
{
	for (int i = 0; i < n; i++) {
		const int at = of < 0 ? i : of;

		if (v[i].tag == RT_TENSOR)
			f(arg, at, v[i].u.t);
		else if (v[i].tag == RT_LIST)
			visit(v[i].u.list->v, (int)v[i].u.list->n, at, f, arg);
		else if (v[i].tag == RT_TUPLE)
			visit(v[i].u.tuple->v, (int)v[i].u.tuple->n, at, f, arg);
	}
}

typedef struct Leaves { RtTensor *t[64]; int of[64], n; } Leaves;

static void
add_leaf(void *arg, int of, RtTensor *t)
{
	Leaves *l = arg;

	if (l->n < 64) {
		l->of[l->n] = of;
		l->t[l->n++] = t;
	}
}

static Leaves
leaves(IValue *v, int n)
{
	Leaves l = { .n = 0 };

	visit(v, n, -1, add_leaf, &l);
	return l;
}

static void
copy_all(Row *r, const IValue *from, IValue *to)
{
	int at = 0;

	for (int i = 0; i < r->schema->nargs; i++)
		to[i] = bare_some(&r->rt, from[i], 0, &at);
}

static bool
same_data(RtCx *cx, const RtTensor *a, const RtTensor *b)
{
	RtTensor *x = rt_contiguous(cx, (RtTensor *)a), *y = rt_contiguous(cx, (RtTensor *)b);
	const bool same = !memcmp(rt_data(x), rt_data(y), (size_t)(rt_numel(x) * rt_dtypes[x->dtype].bytes));

	rt_tensor_release(x);
	rt_tensor_release(y);
	return same;
}

/* Are two results equal?  data: also their elements. */
static bool
same_results(Row *r, IValue *a, IValue *b, bool data)
{
	const int n = r->schema->nrets;
	const Leaves x = leaves(a, n), y = leaves(b, n);
	bool same = x.n == y.n;

	for (int i = 0; i < n && same; i++)
		same = bare_same(a[i], b[i]) && (a[i].tag == RT_TENSOR || a[i].tag == RT_LIST ||
						 a[i].tag == RT_TUPLE || value_identical(a[i], b[i]));
	for (int i = 0; i < x.n && same && data; i++)
		same = !rt_numel(x.t[i]) || same_data(&r->rt, x.t[i], y.t[i]);
	return same;
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

enum { ALIASES, WRITES, ONLY_LISTS, VIEWS, NEW_VIEW, SAME_OR_NEW, RANK, IDEMPOTENT, TYPE_ONLY, LAYOUT, NO_DATA_ERROR,
       NO_ERROR };

static bool
shares(const RtTensor *a, const RtTensor *b)
{
	return rt_numel(a) && rt_numel(b) && a->storage == b->storage;
}

static void
check_memory(Row *r, IValue *args, IValue *out)
{
	const Leaves in = leaves(args, r->schema->nargs), res = leaves(out, r->schema->nrets);
	const RtTensor *first = args[0].tag == RT_TENSOR ? args[0].u.t : NULL;
	const RtTensor *only = out[0].tag == RT_TENSOR ? out[0].u.t : NULL;

	for (int i = 0; i < res.n; i++)
		for (int k = 0; k < in.n; k++) {
			const Value *to = r->among->out[res.of[i]], *from = r->of[in.of[k]];

			if (!from || !shares(res.t[i], in.t[k]))
				continue;
			expect(r, ALIASES, to->type->kind == TYPE_TENSOR ? alias_may(r->alias, to, from) :
			       alias_may_contain(r->alias, to, from),
			       "a result shares memory with an argument, and schema and traits do not say so");
			expect(r, ONLY_LISTS, !op_has(r->op, TRAIT_READS_LIST) || args[in.of[k]].tag != RT_LIST,
			       "READS_LIST, but an element of the list is in the result");
		}
	if (!first || !only || !rt_numel(first) || !rt_numel(only))
		return;
	expect(r, VIEWS, !op_has(r->op, TRAIT_VIEWS) || shares(first, only), "VIEWS, but the result is no view");
	expect(r, NEW_VIEW, !op_has(r->op, TRAIT_NEW_VIEW) || first != only,
	       "NEW_VIEW, but the result is the argument");
	expect(r, SAME_OR_NEW, op_has(r->op, TRAIT_SAME_OR_NEW) || first != only || strncmp(r->op->name, "aten::", 6) ||
	       alias_node_writes(r->alias, r->among), "the result is the argument, but the row is not SAME_OR_NEW");
}

static bool
unchanged(Row *r, const RtTensor *t, const RtTensor *was)
{
	return bare_same(rt_of((RtTensor *)t), rt_of((RtTensor *)was)) && (!rt_numel(t) || same_data(&r->rt, t, was));
}

static void
check_writes(Row *r, IValue *args, IValue *before)
{
	const Leaves now = leaves(args, r->schema->nargs), was = leaves(before, r->schema->nargs);

	for (int i = 0; i < now.n && now.n == was.n; i++)
		if (r->of[now.of[i]] && !alias_writes(r->alias, r->among, r->among->in[now.of[i]]) &&
		    !unchanged(r, now.t[i], was.t[i]))
			expect(r, WRITES, alias_writes(r->alias, r->among, r->of[now.of[i]]),
			       "an argument is written, and the schema does not say so");
}

static void
check_result(Row *r, IValue *args, IValue *out)
{
	IValue again[MOST_ARGS], twice[MOST_OUT];

	if (args[0].tag != RT_TENSOR || out[0].tag != RT_TENSOR)
		return;
	expect(r, RANK, !op_has(r->op, TRAIT_KEEPS_RANK) || args[0].u.t->ndim == out[0].u.t->ndim,
	       "KEEPS_RANK, but the result has another rank");
	if (!op_has(r->op, TRAIT_IDEMPOTENT))
		return;
	copy_all(r, args, again);
	rt_release(again[0]);
	again[0] = rt_deep_copy(&r->rt, out[0]);
	if (!call(r, again, twice)) {
		expect(r, IDEMPOTENT, same_results(r, out, twice, true), "IDEMPOTENT, but applying it twice differs");
		rt_values_drop(twice, r->schema->nrets);
	}
	rt_values_drop(again, r->schema->nargs);
}

/* Elements of any size and sign, and not numbers. */
static void
fill_wild(void *arg, int of, RtTensor *t)
{
	static const double numbers[] = { 0, -1, 1, -3, 40, 300, -300, 1e-3, -0.5, 7 };
	Row *r = arg;
	const bool degrees = !strcmp(r->op->family, "special");        /* polynomials loop over their degree */

	(void)of;
	if (t->storage->written || rt_dtypes[t->dtype].category == 'Q')
		return;
	for (int64_t i = 0, n = rt_numel(t); i < n; i++) {
		const int k = draw_below(&r->draw, 12);
		const double x = k < 10 ? numbers[k] : k == 10 && !degrees ? (double)INFINITY : (double)NAN;
		char *at = rt_data(t) + i * rt_dtypes[t->dtype].bytes;

		if (rt_dtypes[t->dtype].category == 'F' || rt_dtypes[t->dtype].category == 'C' || k < 10)
			rt_cast((RtDtype)t->dtype, at, RT_f64, &x, 1);
	}
}

/* Other data, of the same sizes: may it raise, or change the result? */
static void
check_data(Row *r, IValue *args, IValue *out)
{
	IValue other[MOST_ARGS], wild[MOST_OUT];
	int status;

	copy_all(r, args, other);
	visit(other, r->schema->nargs, -1, fill_wild, r);
	status = call(r, other, wild);
	expect(r, NO_DATA_ERROR, !status || op_body(r->cx, r->op) || node_may_refuse_data(r->node),
	       "it raises for some data, and neither CHECKS_DATA nor its domain says so");
	if (!status && op_has(r->op, TRAIT_ASKS_TYPE))
		expect(r, TYPE_ONLY, same_results(r, out, wild, true), "ASKS_TYPE, but the result depends on data");
	rt_values_drop(wild, r->schema->nrets);
	rt_values_drop(other, r->schema->nargs);
}

/* A copy of the tensor with reversed strides. */
static RtTensor *
turned(RtCx *cx, RtTensor *t)
{
	int64_t strides[DRAW_RANK], step = 1;
	RtTensor *r;

	for (int i = 0; i < t->ndim; step *= t->dims[i++])
		strides[i] = step;
	r = rt_tensor_strided(cx, (RtDtype)t->dtype, t->ndim, t->dims, strides);
	return r && !rt_copy_into(cx, r, t) ? r : NULL;
}

/* Are the numbers of two tensors nearly equal, whatever their strides? */
static bool
are_near(RtCx *cx, RtTensor *a, RtTensor *b)
{
	const RtDtype wide = rt_dtypes[a->dtype].category == 'C' ? RT_c128 : RT_f64;
	RtTensor *x, *y;
	bool near = true;

	if (a->dtype != b->dtype || !rt_same_dims(a, b))
		return false;
	x = rt_contiguous(cx, rt_to_dtype(cx, a, wide));
	y = rt_contiguous(cx, rt_to_dtype(cx, b, wide));
	for (int64_t i = 0, n = rt_numel(x) * (wide == RT_c128 ? 2 : 1); i < n && near; i++) {
		const double u = ((double *)rt_data(x))[i], v = ((double *)rt_data(y))[i];

		near = u == v || (isnan(u) && isnan(v)) || fabs(u - v) < 1e-2 * (1 + fabs(u));
	}
	return near;
}

/* Other strides, the same elements: the result must be the same, too. */
static void
check_layout(Row *r, IValue *args, IValue *out)
{
	IValue other[MOST_ARGS], got[MOST_OUT];
	Leaves want, have;
	bool same;

	/* What takes a value of any type may ask for its identity. */
	if (op_has(r->op, TRAIT_ASKS_LAYOUT) || op_body(r->cx, r->op) || r->op->effect != EFFECT_PURE ||
	    alias_node_writes(r->alias, r->among) || type_has_vars(r->schema->args[0].type))
		return;
	copy_all(r, args, other);
	for (int i = 0; i < r->schema->nargs; i++)
		if (other[i].tag == RT_TENSOR && !r->schema->args[i].alias && other[i].u.t->ndim <= DRAW_RANK) {
			RtTensor *t = turned(&r->rt, other[i].u.t);

			rt_release(other[i]);
			other[i] = rt_of(t);
		}
	same = !call(r, other, got);
	want = leaves(out, r->schema->nrets);
	have = leaves(got, r->schema->nrets);
	same = same && want.n == have.n;
	for (int i = 0; i < want.n && same; i++)
		same = are_near(&r->rt, want.t[i], have.t[i]);
	for (int i = 0; i < r->schema->nrets && same; i++)
		same = (out[i].tag != RT_INT && out[i].tag != RT_BOOL) || value_identical(out[i], got[i]);
	expect(r, LAYOUT, same, "the result depends on strides, and the row is not ASKS_LAYOUT");
	rt_values_drop(got, r->schema->nrets);
	rt_values_drop(other, r->schema->nargs);
}

/* Whether a call that is fine for types raises. */
static void
check_raises(Row *r, const IValue *args, int status)
{
	IValue bare[MOST_ARGS], out[MOST_OUT];
	char error[sizeof r->error];
	int at = 0;

	memcpy(error, r->error, sizeof error);
	if (!status || !op_has(r->op, TRAIT_NEVER_RAISES))
		return;
	for (int i = 0; i < r->schema->nargs; i++)
		bare[i] = bare_some(&r->rt, args[i], ~(uint64_t)0, &at);
	r->rt.meta = true;
	status = call(r, bare, out);
	snprintf(r->error, sizeof r->error, "%s", error);
	r->rt.meta = false;
	expect(r, NO_ERROR, status, "NEVER_RAISES, but a call that is right for types raised");
	rt_values_drop(out, r->schema->nrets);
	rt_values_drop(bare, r->schema->nargs);
}

static void
try_row(Row *r)
{
	IValue args[MOST_ARGS] = { { 0 } }, fresh[MOST_ARGS], out[MOST_OUT];
	const int n = r->schema->nargs;
	int status;

	if (draw_arguments(&r->draw, r->schema, args)) {
		copy_all(r, args, fresh);
		status = call(r, fresh, out);
		check_raises(r, args, status);
		if (!status) {
			r->answers++;
			check_memory(r, fresh, out);
			check_writes(r, fresh, args);
			check_result(r, args, out);
			check_data(r, args, out);
			check_layout(r, args, out);
		}
		rt_values_drop(out, r->schema->nrets);
		rt_values_drop(fresh, n);
	}
	rt_values_drop(args, n);
}

static void
run_rows(Cx *cx, void *arg)
{
	Row *r = ((void **)arg)[0];
	char **argv = ((void **)arg)[1];
	const int trials = argv[1] && argv[2] ? atoi(argv[2]) : TRIALS;

	for (int i = 0; i < op_count(cx); i++) {
		const int before = r->answers;

		r->op = op_at(cx, i);
		r->schema = op_schema(cx, r->op);
		if (r->op->effect == EFFECT_IO || (argv[1] && *argv[1] && strcmp(argv[1], r->op->id)) ||
		    r->schema->vararg || r->schema->nargs >= MOST_ARGS || r->schema->nrets > MOST_OUT ||
		    !draw_has_tensors(r->schema))
			continue;
		running = r->op->id;
		make_graphs(r);
		r->draw.random = (uint64_t)i;
		for (int k = 0; k < trials; k++)
			try_row(r);
		r->never += r->answers == before;
	}
}

int
main(int argc, char **argv)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Row r = { .cx = &cx };
	void *all[] = { &r, argv };

	(void)argc;
	schema_parser = schema_parse;
	signal(SIGSEGV, say_crash);
	signal(SIGFPE, say_crash);
	signal(SIGABRT, say_crash);
	signal(SIGBUS, say_crash);
	r.draw.rt = &r.rt;
	if (rt_cx_init(&r.rt) || !cx_try(&cx, run_rows, all)) {
		fprintf(stderr, "%s\n", cx.err.text);
		return 1;
	}
	printf("%d answers; %d rows without an answer; %d failed\n", r.answers, r.never, r.failed);
	return r.failed || !r.answers;
}
