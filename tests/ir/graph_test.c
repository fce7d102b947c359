/* Graphs: use lists, order, cloning, graphs that lint refuses, printing, lowering to code, equal constants and
 * nodes. */
#include "../../ir/ir.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture { Arena arena; Cx cx; Graph *g; Value *x; } Fixture;

static int
setup(void **state)
{
	static Fixture f;

	memset(&f, 0, sizeof f);
	f.cx.arena = &f.arena;
	f.g = graph_new(&f.cx, "test");
	f.x = graph_add_input(f.g, &rt_type_int, sym(&f.cx, "x"));
	*state = &f;
	return 0;
}

static int
teardown(void **state)
{
	Fixture *f = *state;

	arena_free(&f->arena);
	return 0;
}

static Value *
emit1(Fixture *f, const char *kind, Value *a, Value *b, const Type *t)
{
	Value *in[2] = { a, b };
	Node *n = graph_emit(f->g, kind, (Range){0}, b ? 2 : 1, in, 1);

	n->out[0]->type = t;
	return n->out[0];
}

static void
test_uses(void **state)
{
	Fixture *f = *state;
	Value *a = emit1(f, "test::a", f->x, f->x, &rt_type_int), *b = emit1(f, "test::b", a, NULL, &rt_type_int);

	assert_int_equal(f->x->uses.n, 2);
	node_add_input(a->node, b);
	assert_int_equal(a->node->nin, 3);
	assert_int_equal(b->uses.at[0].index, 2);
	node_remove_input(a->node, 2);
	assert_int_equal(b->uses.n, 0);
	value_replace_uses(f->x, b);
	assert_int_equal(f->x->uses.n, 0);
	assert_int_equal(b->uses.n, 2);
	value_replace_uses(b, f->x);
	graph_add_output(f->g, a);
	graph_lint(f->g);
	node_destroy(b->node);
	assert_int_equal(a->uses.n, 1);
	graph_lint(f->g);
}

/* Each insertion at one place halves the gap between positions.  More insertions than a gap has bits renumber the
 * block. */
static void
test_order(void **state)
{
	Fixture *f = *state;
	Node *first = emit1(f, "test::a", f->x, NULL, &rt_type_int)->node;
	Node *last = emit1(f, "test::a", f->x, NULL, &rt_type_int)->node;
	Node *prev = first;

	for (int i = 0; i < 200; i++) {
		Node *n = node_new(f->g, sym(&f->cx, "test::a"), (Range){0}, 1);

		node_insert_after(n, i % 3 ? prev : first);
		prev = n;
		assert_true(node_is_before(first, n));
		assert_true(node_is_before(n, last));
	}
	for NODES(n, f->g->top)
		if (n != last)
			assert_true(node_is_before(n, n->next));
	graph_lint(f->g);
}

/* Builds sum = x; for i in range(x): if flag: sum = sum + i */
static void
build_loop(Fixture *f)
{
	Graph *g = f->g;
	Value *flag = graph_add_input(g, &rt_type_bool, sym(&f->cx, "flag"));
	Value *yes = graph_constant(g, rt_bool(true), (Range){0});
	Node *loop = loop_new(g, (Range){0}, f->x, yes), *cond = if_new(g, (Range){0}, flag, 1);
	Value *carried;

	graph_insert(g, loop);
	loop_add_carried(loop, f->x, sym(&f->cx, "sum"));
	carried = loop_body(loop)->param->out[1];
	node_append(cond, loop_body(loop));
	cond->out[0]->type = &rt_type_int;
	graph_set_insert_end(g, if_then(cond));
	block_add_output(if_then(cond), emit1(f, "prim::unchecked_cast", carried, NULL, &rt_type_int));
	block_add_output(if_else(cond), carried);
	block_add_output(loop_body(loop), yes);
	block_add_output(loop_body(loop), cond->out[0]);
	graph_add_output(g, loop->out[0]);
	graph_set_insert_end(g, g->top);
	graph_lint(g);
}

static void
test_print(void **state)
{
	Fixture *f = *state;
	Buf a = {0}, b = {0};
	Graph *copy;

	build_loop(f);
	graph_print(f->g, &a, false);
	assert_string_equal(a.at,
			    "graph(%x : int,\n"
			    "      %flag : bool):\n"
			    "  %0 : bool = prim::Constant[value=1]()\n"
			    "  %sum : int = prim::Loop(%x, %0, %x)\n"
			    "    block0(%1 : int, %sum.1 : int):\n"
			    "      %2 : int = prim::If(%flag)\n"
			    "        block0():\n"
			    "          %3 : int = prim::unchecked_cast(%sum.1)\n"
			    "          -> (%3)\n"
			    "        block1():\n"
			    "          -> (%sum.1)\n"
			    "      -> (%0, %2)\n"
			    "  return (%sum)\n");
	copy = graph_clone(f->g, NULL);
	graph_lint(copy);
	graph_print(copy, &b, false);
	assert_string_equal(a.at, b.at);
	assert_true(graph_hash(copy) == graph_hash(f->g));
	buf_free(&a);
	buf_free(&b);
}

/* ---- what lint refuses: each breaks the graph of build_loop in one way ------------------------------------------- */

static Node *
find(Block *b, const char *kind)
{
	for NODES(n, b)
		if (sym_is(n->kind, kind))
			return n;
	return NULL;
}

static void
use_before_definition(Graph *g)
{
	node_move_before(find(g->top, "prim::Loop"), find(g->top, "prim::Constant"));
}

static void
use_of_what_a_branch_made(Graph *g)
{
	Block *body = loop_body(find(g->top, "prim::Loop"));

	node_set_input(body->ret, 1, find(if_then(find(body, "prim::If")), "prim::unchecked_cast")->out[0]);
}

static void
use_of_what_a_loop_carries(Graph *g)
{
	node_set_input(g->top->ret, 0, loop_body(find(g->top, "prim::Loop"))->param->out[1]);
}

static void
use_of_itself(Graph *g)
{
	Node *loop = find(g->top, "prim::Loop");

	node_set_input(loop, 2, loop->out[0]);
}

static void
condition_that_is_no_bool(Graph *g)
{
	Node *cond = find(loop_body(find(g->top, "prim::Loop")), "prim::If");

	node_set_input(cond, 0, graph_inputs(g)[0]);
}

static void
unknown_use(Graph *g)
{
	vec_last(&graph_inputs(g)[0]->uses).index++;
}

static void
test_lint(void **state)
{
	void (*const breaks[])(Graph *) = { use_before_definition, use_of_what_a_branch_made,
					     use_of_what_a_loop_carries, use_of_itself,
					     condition_that_is_no_bool, unknown_use };
	Fixture *f = *state;

	build_loop(f);
	for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
		const pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid) {
			if (!freopen("/dev/null", "w", stderr))
				_exit(1);
			breaks[i](f->g);
			graph_lint(f->g);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), EXIT_BUG);
	}
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

static void
test_lower(void **state)
{
	Fixture *f = *state;
	Function fn = { .name = "test", .graph = f->g };
	Buf out = {0};
	RtCode *code;
	int live[7];

	build_loop(f);
	code = code_lower(&f->cx, &fn, NULL);
	code_print(&f->cx, code, &out);
	assert_string_equal(out.at,
			    "code test: 2 arguments, 1 results, 7 registers\n"
			    "    0  r2 = constant True\n"
			    "    1  r3, r4 = move (r2, r0)\n"
			    "    2  r5 = constant 0\n"
			    "    3  loop -> 10 (r5, r0, r3)\n"
			    "    4  branch -> 7 (r1)\n"
			    "    5  r6 = cast int (r4!)\n"
			    "    6  jump -> 8\n"
			    "    7  r6 = move (r4!)\n"
			    "    8  r3, r4 = move (r2, r6!)\n"
			    "    9  r5 = next -> 3 (r5)\n"
			    "   10  return (r4!)\n");
	assert_int_equal(code_live_at(code_live(f->cx.arena, code), 3, live), 6);
	assert_int_equal(code_live_at(code_live(f->cx.arena, code), 10, live), 1);
	assert_int_equal(live[0], value_register(graph_inputs(f->g)[0]) + 4);
	buf_free(&out);
}

/* Lowers indices that count from the end. */
static void
test_lower_tuples(void **state)
{
	Fixture *f = *state;
	Function fn = { .name = "test", .graph = f->g };
	const Type *pair = type_tuple(&f->cx, (const Type *[]){ &rt_type_int, &rt_type_int, &rt_type_int }, 3);
	Value *t, *at, *in[3] = { f->x, f->x, f->x };
	Buf out = {0};

	t = graph_emit(f->g, "prim::TupleConstruct", (Range){0}, 3, in, 1)->out[0];
	t->type = pair;
	for (int64_t i = -3; i < 3; i += 2) {
		at = emit1(f, "prim::TupleIndex", t, graph_constant(f->g, rt_int(i), (Range){0}), &rt_type_int);
		graph_add_output(f->g, at);
	}
	code_print(&f->cx, code_lower(&f->cx, &fn, NULL), &out);
	assert_non_null(strstr(out.at, "index [0] ("));
	assert_non_null(strstr(out.at, "index [2] ("));
	assert_non_null(strstr(out.at, "index [1] ("));
	buf_free(&out);
}

/* ---- equal constants and equal nodes ---- */

static IValue
tensor(Fixture *f, RtDtype dtype, int n, const int64_t *dims, const int64_t *strides, double step)
{
	RtTensor *t = rt_tensor_strided(cx_rt(&f->cx), dtype, n, dims, strides);
	char *p = rt_data(t);

	for (int64_t i = 0; i < t->storage->bytes; i++)
		p[i] = 0;
	for (int64_t i = 0; i < t->storage->bytes / (int64_t)sizeof(float); i++)
		((float *)(void *)p)[i] = (float)(step * (double)i);
	return rt_of(t);
}

static IValue
list(Fixture *f, const RtType *elem, int64_t a, int n)
{
	RtList *l = rt_list_new(cx_rt(&f->cx), elem, n);

	for (int i = 0; i < n; i++)
		rt_list_push(cx_rt(&f->cx), l, rt_int(a + i));
	return rt_ref(RT_LIST, l);
}

static IValue
dict(Fixture *f, const RtType *value, int64_t a, int n, bool removes)
{
	RtDict *d = rt_dict_new(cx_rt(&f->cx), &rt_type_int, value);

	if (removes)
		rt_dict_set(cx_rt(&f->cx), d, rt_int(100), rt_int(0));
	for (int i = 0; i < n; i++)
		rt_dict_set(cx_rt(&f->cx), d, rt_int(i), rt_int(a + i));
	if (removes)
		rt_dict_remove(d, rt_int(100));
	return rt_ref(RT_DICT, d);
}

static IValue
tuple(Fixture *f, const RtType *named, int64_t a)
{
	RtTuple *t = rt_tuple_new(cx_rt(&f->cx), named, 1);

	t->v[0] = rt_int(a);
	return rt_ref(RT_TUPLE, t);
}

/* Two constants are identical only if no program can distinguish them. */
static void
test_identical(void **state)
{
	static const int64_t two[2] = { 2, 2 }, rows[2] = { 2, 1 }, columns[2] = { 1, 2 }, gaps[2] = { 4, 2 },
			     four[1] = { 4 };
	Fixture *f = *state;
	RtCx *rt = cx_rt(&f->cx);
	const RtType *named = type_tuple(&f->cx, (const Type *[]){ &rt_type_int }, 1);
	IValue flagged = tensor(f, RT_f32, 2, two, rows, 1), meant, other;
	struct { IValue a, b; bool same; } pairs[] = {
		{ rt_int(1), rt_int(1), true }, { rt_int(1), rt_bool(true), false }, { rt_int(0), rt_double(0), false },
		{ rt_double(0), rt_double(-0.0), false },
		{ rt_complex(rt, 1, 2), rt_complex(rt, 1, 2), true },
		{ rt_complex(rt, 1, 2), rt_complex(rt, 1, 3), false },
		{ tensor(f, RT_f32, 2, two, rows, 1), tensor(f, RT_f32, 2, two, rows, 1), true },
		{ tensor(f, RT_f32, 2, two, rows, 1), tensor(f, RT_f32, 2, two, rows, 2), false },
		{ tensor(f, RT_f32, 2, two, rows, 0), tensor(f, RT_i32, 2, two, rows, 0), false },
		{ tensor(f, RT_f32, 2, two, rows, 0), tensor(f, RT_f32, 2, two, columns, 0), false },
		{ tensor(f, RT_f32, 2, two, rows, 0), tensor(f, RT_f32, 1, four, rows + 1, 0), false },
		{ tensor(f, RT_f32, 2, two, gaps, 1), tensor(f, RT_f32, 2, two, gaps, 1), true },
		{ flagged, tensor(f, RT_f32, 2, two, rows, 1), false },
		{ list(f, &rt_type_int, 1, 2), list(f, &rt_type_int, 1, 2), true },
		{ list(f, &rt_type_int, 1, 2), list(f, &rt_type_int, 2, 2), false },
		{ list(f, &rt_type_int, 1, 2), list(f, &rt_type_int, 1, 3), false },
		{ list(f, &rt_type_int, 1, 0), list(f, &rt_type_float, 1, 0), false },
		{ dict(f, &rt_type_int, 1, 2, false), dict(f, &rt_type_int, 1, 2, true), true },
		{ dict(f, &rt_type_int, 1, 2, true), dict(f, &rt_type_int, 2, 2, false), false },
		{ dict(f, &rt_type_int, 1, 0, false), dict(f, &rt_type_float, 1, 0, false), false },
		{ tuple(f, NULL, 1), tuple(f, NULL, 1), true }, { tuple(f, NULL, 1), tuple(f, named, 1), false },
	};

	flagged.u.t->flags |= RT_WRAPPED;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (value_identical(pairs[i].a, pairs[i].b) != pairs[i].same ||
		    value_identical(pairs[i].b, pairs[i].a) != pairs[i].same)
			fail_msg("pair %zu is %sidentical", i, pairs[i].same ? "not " : "");
	/* Memory in the gaps between the elements is not compared. */
	meant = tensor(f, RT_f32, 2, two, gaps, 1);
	other = tensor(f, RT_f32, 2, two, gaps, 1);
	((float *)(void *)rt_data(other.u.t))[1] = 77;
	assert_true(value_identical(meant, other));
	/* A constant that code may write to is identical only to the same memory. */
	other.u.t->storage->written = true;
	assert_false(value_identical(meant, other));
	assert_false(value_identical(other, meant));
	assert_true(value_identical(other, rt_of(rt_tensor_view(rt, other.u.t, 2, two, gaps, 0))));
	other.u.t->storage->written = false;
	((float *)(void *)rt_data(other.u.t))[2] = 77;
	assert_false(value_identical(meant, other));
}

/* Two nodes are equal only if they have equal inputs, attributes and types, and no blocks. */
static void
test_equal_nodes(void **state)
{
	Fixture *f = *state;
	Value *a = emit1(f, "test::a", f->x, NULL, &rt_type_int), *b = emit1(f, "test::a", f->x, NULL, &rt_type_int);
	Value *c = emit1(f, "test::a", f->x, a, &rt_type_int), *d = emit1(f, "test::a", a, NULL, &rt_type_int);
	const TensorInfo one = { .dtype = RT_f32, .rank = -1, .grad = -1 },
			 two = { .dtype = RT_f64, .rank = -1, .grad = -1 };
	Value *t = emit1(f, "test::t", f->x, NULL, type_tensor(&f->cx, &one)),
	      *u = emit1(f, "test::t", f->x, NULL, type_tensor(&f->cx, &two));

	assert_true(node_equal(a->node, b->node));
	assert_true(node_hash(a->node) == node_hash(b->node));
	assert_false(node_equal(a->node, c->node));
	assert_false(node_equal(a->node, d->node));
	assert_false(node_equal(t->node, u->node));
	node_set_int(b->node, "value", 1);
	assert_false(node_equal(a->node, b->node));
	node_set_int(a->node, "value", 2);
	assert_false(node_equal(a->node, b->node));
	node_set_int(a->node, "value", 1);
	assert_true(node_equal(a->node, b->node));
	node_add_block(a->node);
	node_add_block(b->node);
	assert_false(node_equal(a->node, b->node));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_uses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_print, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lower, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lower_tuples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_identical, setup, teardown),
		cmocka_unit_test_setup_teardown(test_equal_nodes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
