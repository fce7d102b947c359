/* Alias analysis on graphs given as text: which values may share memory, which are written to, which nodes may be
 * moved. */
#include "../../frontend/frontend.h"

#include <string.h>

#include <cmocka.h>

typedef struct Fixture { Arena arena; Cx cx; Graph *g; AliasDb *db; } Fixture;

static int
setup(void **state)
{
	static Fixture f;

	memset(&f, 0, sizeof f);
	f.cx.arena = &f.arena;
	schema_parser = schema_parse;
	*state = &f;
	return 0;
}

static int
teardown(void **state)
{
	arena_free(&((Fixture *)*state)->arena);
	return 0;
}

static void
parse(Fixture *f, const char *text)
{
	Source *s = new(&f->arena, Source, 1);

	*s = (Source){ .text = text, .n = (int64_t)strlen(text), .name = "test", .line = 1 };
	f->g = ir_parse(&f->cx, s, NULL);
	f->db = alias_db(f->g, &f->arena);
}

static Value *
find_in(Block *b, const char *name)
{
	for (int i = 0; i < b->param->nout; i++)
		if (b->param->out[i]->name && sym_is(b->param->out[i]->name, name))
			return b->param->out[i];
	for NODES(n, b) {
		for (int i = 0; i < n->nout; i++)
			if (n->out[i]->name && sym_is(n->out[i]->name, name))
				return n->out[i];
		for (int i = 0; i < n->nsub; i++)
			if (find_in(n->sub[i], name))
				return find_in(n->sub[i], name);
	}
	return NULL;
}

static Value *
find(Fixture *f, const char *name)
{
	Value *v = find_in(f->g->top, name);

	assert_non_null(v);
	return v;
}

static bool
may(Fixture *f, const char *a, const char *b)
{
	return alias_may(f->db, find(f, a), find(f, b));
}

static void
test_views(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %y : Tensor, %i : int):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %new : Tensor = aten::clone(%x, %none)\n"
		 "  %row : Tensor = aten::select(%new, %i, %i)\n"
		 "  %w : Tensor = aten::zero_(%row)\n"
		 "  %other : Tensor = aten::neg(%new)\n"
		 "  return (%other)\n");
	assert_true(may(f, "x", "y"));             /* inputs may be the same tensor */
	assert_true(may(f, "row", "new"));
	assert_false(may(f, "new", "x"));
	assert_false(may(f, "other", "new"));
	assert_true(alias_has_writers(f->db, find(f, "new")));
	assert_false(alias_has_writers(f->db, find(f, "x")));
	assert_true(alias_writes(f->db, find(f, "w")->node, find(f, "new")));
	assert_true(alias_escapes(f->db, find(f, "other")));
	assert_false(alias_escapes(f->db, find(f, "new")));
}

static void
test_containers(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %i : int):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  %c : Tensor = aten::clone(%x, %none)\n"
		 "  %kept : Tensor[] = prim::ListConstruct(%a)\n"
		 "  %taken : Tensor = aten::__getitem__(%kept, %i)\n"
		 "  %read : Tensor[] = prim::ListConstruct(%b)\n"
		 "  %cat : Tensor = aten::cat(%read, %i)\n"
		 "  %t : (Tensor, int) = prim::TupleConstruct(%c, %i)\n"
		 "  %d : Tensor = aten::clone(%x, %none)\n"
		 "  %weights : Tensor[] = prim::ListConstruct(%d)\n"
		 "  %yes : bool = prim::Constant[value=1]()\n"
		 "  %zero : float = prim::Constant[value=0.]()\n"
		 "  %y : Tensor, %h : Tensor = aten::gru(%x, %c, %weights, %yes, %i, %zero, %yes, %yes, %yes)\n"
		 "  return (%kept, %taken, %cat, %t, %y, %h)\n");
	assert_true(may(f, "taken", "a"));
	assert_false(may(f, "taken", "b"));        /* cat only reads its list */
	assert_false(may(f, "taken", "d"));        /* a recurrent layer only reads its list, too */
	assert_false(may(f, "cat", "b"));
	assert_true(alias_may_contain(f->db, find(f, "t"), find(f, "c")));
	assert_true(alias_may_contain(f->db, find(f, "kept"), find(f, "a")));
}

static void
test_control_flow(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %n : int, %c : bool):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  %r : Tensor = prim::If(%c)\n"
		 "    block0():\n"
		 "      -> (%a)\n"
		 "    block1():\n"
		 "      -> (%b)\n"
		 "  %s : Tensor = prim::Loop(%n, %c, %a)\n"
		 "    block0(%i : int, %t : Tensor):\n"
		 "      %u : Tensor = aten::clone(%t, %none)\n"
		 "      -> (%c, %u)\n"
		 "  return (%r, %s)\n");
	assert_true(may(f, "r", "a"));
	assert_true(may(f, "r", "b"));
	assert_false(may(f, "a", "b"));
	assert_true(may(f, "t", "a"));
	assert_true(may(f, "t", "u"));
	assert_true(may(f, "s", "a"));             /* the loop may have no trips */
	assert_false(may(f, "s", "b"));
}

static void
test_moves(void **state)
{
	Fixture *f = *state;
	Node *neg, *zero, *print, *exp;

	parse(f, "graph(%x : Tensor, %s : str):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %neg : Tensor = aten::neg(%a)\n"
		 "  prim::Print(%s)\n"
		 "  %zero : Tensor = aten::zero_(%a)\n"
		 "  %exp : Tensor = aten::exp(%x)\n"
		 "  return (%neg, %exp)\n");
	neg = find(f, "neg")->node;
	zero = find(f, "zero")->node;
	exp = find(f, "exp")->node;
	print = neg->next;
	assert_false(alias_can_move_before(f->db, zero, neg));       /* neg reads the memory that zero writes */
	assert_true(alias_can_move_before(f->db, print, neg));
	assert_true(alias_can_move_before(f->db, exp, neg));
	assert_true(alias_move_before(f->db, exp, neg));
	assert_ptr_equal(exp->next, neg);
	assert_true(alias_move_before(f->db, print, neg));
	assert_ptr_equal(print->next, neg);
	graph_lint(f->g);
}

/* An Optional may be its element; it does not contain it. */
static void
test_optional(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%list : Tensor[]):\n"
		 "  %zero : int = prim::Constant[value=0]()\n"
		 "  %o : Tensor? = prim::Uninitialized()\n"
		 "  %p : Tensor?[] = prim::Uninitialized()\n"
		 "  %t : Tensor = aten::__getitem__(%list, %zero)\n"
		 "  %w : Tensor = aten::zero_(%t)\n"
		 "  return (%o, %p)\n");
	assert_true(alias_has_writers(f->db, find(f, "t")));
	assert_true(alias_has_writers(f->db, find(f, "p")));
	assert_false(alias_has_writers(f->db, find(f, "o")));
}

/* An unknown function may write to all its arguments, and keep them. */
static void
test_unknown(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  %list : Tensor[] = prim::ListConstruct(%a)\n"
		 "  %r : Tensor = prim::CallFunction(%list)\n"
		 "  return (%b)\n");
	assert_true(alias_writes(f->db, find(f, "r")->node, find(f, "a")));
	assert_true(alias_is_written(f->db, find(f, "a")));
	assert_true(alias_escapes(f->db, find(f, "a")));
	assert_true(may(f, "r", "a"));
	assert_false(alias_is_written(f->db, find(f, "b")));
}

/* A norm in training writes its statistics, also if the mode is known only at run time. */
static void
test_statistics(void **state)
{
	static const char *const training[] = { "%given", "%yes", "%no" };

	for (int i = 0; i < 3; i++) {
		Fixture *f = *state;

		parse(f, arena_printf(&f->arena, "graph(%%x : Tensor, %%given : bool, %%e : float):\n"
			"  %%none : NoneType = prim::Constant()\n"
			"  %%yes : bool = prim::Constant[value=1]()\n"
			"  %%no : bool = prim::Constant[value=0]()\n"
			"  %%mean : Tensor = aten::clone(%%x, %%none)\n"
			"  %%var : Tensor = aten::clone(%%x, %%none)\n"
			"  %%y : Tensor = aten::batch_norm(%%x, %%none, %%none, %%mean, %%var, %s, %%e, %%e, %%no)\n"
			"  return (%%y)\n", training[i]));
		assert_int_equal(alias_is_written(f->db, find(f, "mean")), i < 2);
		assert_int_equal(alias_is_written(f->db, find(f, "var")), i < 2);
		assert_false(alias_is_written(f->db, find(f, "x")));
	}
}

/* Operators that may return their argument although their schemas do not declare it. */
static void
test_may_return_input(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %p : float, %c : bool):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  %d : Tensor = aten::dropout(%a, %p, %c)\n"
		 "  %e : Tensor = prim::IfThenElse(%c, %a, %b)\n"
		 "  return (%x)\n");
	assert_true(may(f, "d", "a"));
	assert_false(may(f, "d", "b"));
	assert_true(may(f, "e", "a"));
	assert_true(may(f, "e", "b"));
}

/* A list of views of a tensor: its elements share the tensor's memory. */
static void
test_view_lists(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %i : int):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  %rows : Tensor[] = aten::unbind(%a, %i)\n"
		 "  %row : Tensor = aten::__getitem__(%rows, %i)\n"
		 "  %w : Tensor = aten::zero_(%row)\n"
		 "  return (%b)\n");
	assert_true(may(f, "row", "a"));
	assert_true(alias_is_written(f->db, find(f, "a")));
	assert_false(alias_is_written(f->db, find(f, "b")));
}

/* A value made after the database may alias every mutable value. */
static void
test_made_later(void **state)
{
	Fixture *f = *state;
	Value *later, *stands_for;

	parse(f, "graph(%x : Tensor, %i : int):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  return (%a)\n");
	graph_set_insert_end(f->g, f->g->top);
	later = graph_emit(f->g, "aten::neg", (Range){ 0 }, 1, (Value *[]){ find(f, "x") }, 1)->out[0];
	stands_for = graph_emit(f->g, "aten::neg", (Range){ 0 }, 1, (Value *[]){ find(f, "x") }, 1)->out[0];
	assert_true(alias_may(f->db, later, find(f, "b")));
	assert_true(alias_may_contain(f->db, later, find(f, "b")));
	assert_true(alias_has_writers(f->db, later));
	assert_true(alias_escapes(f->db, later));
	assert_false(alias_may(f->db, later, find(f, "i")));
	alias_copy_value(f->db, find(f, "b"), stands_for);
	assert_true(alias_may(f->db, stands_for, find(f, "b")));
	assert_false(alias_may(f->db, stands_for, find(f, "a")));
	assert_false(alias_escapes(f->db, stands_for));
	assert_true(alias_may(f->db, later, find(f, "b")));
	assert_true(alias_escapes(f->db, later));
}

/* Memory that the graph around a body writes to. */
static void
test_outside(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %y : Tensor):\n"
		 "  %one : int = prim::Constant[value=1]()\n"
		 "  %a : Tensor = aten::neg(%x)\n"
		 "  %b : Tensor = aten::t(%a)\n"
		 "  %c : Tensor = aten::neg(%x)\n"
		 "  %l : Tensor[] = prim::ListConstruct(%b)\n"
		 "  return (%l, %c)\n");
	alias_written_outside(f->db, find(f, "l"));
	assert_true(alias_has_writers(f->db, find(f, "l")));
	assert_true(alias_has_writers(f->db, find(f, "a")));
	assert_false(alias_has_writers(f->db, find(f, "c")));
	assert_false(alias_has_writers(f->db, find(f, "one")));
}

/* If a type is Any, also in a branch, every value may be the same as every value that left the graph. */
static void
test_any(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %c : bool, %i : int):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %list : Tensor[] = prim::ListConstruct(%a)\n"
		 "  %t : Tensor = aten::__getitem__(%list, %i)\n"
		 "  prim::If(%c)\n"
		 "    block0():\n"
		 "      %any : Any = prim::Uninitialized()\n"
		 "      %b : Any[] = prim::ListConstruct(%any)\n"
		 "      %d : Any = aten::__getitem__(%b, %i)\n"
		 "      -> ()\n"
		 "    block1():\n"
		 "      -> ()\n"
		 "  return (%x)\n");
	assert_true(may(f, "d", "t"));
}

/* Constants with one storage share memory, whichever parts they are.  The memory exists before and after the graph. */
static void
test_constants(void **state)
{
	Fixture *f = *state;
	RtCx *rt;
	RtTensor *whole, *part, *other;
	Value *a, *b, *c;
	Node *write;

	parse(f, "graph(%x : Tensor):\n"
		 "  return (%x)\n");
	rt = cx_rt(&f->cx);
	whole = rt_tensor_new(rt, RT_f32, 1, (int64_t[]){ 4 });
	part = rt_tensor_view(rt, whole, 1, (int64_t[]){ 2 }, (int64_t[]){ 1 }, 1);
	other = rt_tensor_new(rt, RT_f32, 1, (int64_t[]){ 4 });
	graph_set_insert_end(f->g, f->g->top);
	a = graph_constant(f->g, rt_of(whole), (Range){ 0 });
	b = graph_constant(f->g, rt_of(part), (Range){ 0 });
	c = graph_constant(f->g, rt_of(other), (Range){ 0 });
	write = graph_emit(f->g, "aten::zero_", (Range){ 0 }, 1, &a, 1);
	write->op = op_find(&f->cx, "aten::zero_", "");
	f->db = alias_db(f->g, &f->arena);
	assert_true(alias_may(f->db, a, b));
	assert_false(alias_may(f->db, a, c));
	assert_true(alias_is_written(f->db, b));
	assert_false(alias_is_written(f->db, c));
	assert_true(alias_escapes(f->db, a));
	alias_live_clear(f->db);
	assert_true(alias_writes_live(f->db, write));                 /* the next call sees the write */
}

static const void *
place_of_w(void *arg, const Value *v)
{
	(void)arg;
	return sym_is(v->name, "w") || sym_is(v->name, "again") ? "w" : NULL;
}

/* Attributes: a read returns the value that was set, whether its memory is known or not. */
static void
test_attributes(void **state)
{
	Fixture *f = *state;
	Node *use;

	parse(f, "graph(%self : Any, %x : Tensor):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  %w : Tensor = prim::GetAttr[name=\"w\"](%self)\n"
		 "  %again : Tensor = prim::GetAttr[name=\"w\"](%self)\n"
		 "  %v : Tensor = prim::GetAttr[name=\"v\"](%self)\n"
		 "  %set : NoneType = prim::SetAttr[name=\"v\"](%self, %a)\n"
		 "  %after : Tensor = prim::GetAttr[name=\"v\"](%self)\n"
		 "  %n : Tensor = aten::neg(%b)\n"
		 "  %z : Tensor = aten::zero_(%w)\n"
		 "  return (%n)\n");
	find(f, "self")->type = type_class(&f->cx, "__torch__.M", false);
	f->db = alias_db(f->g, &f->arena);
	assert_true(may(f, "after", "a"));
	assert_true(may(f, "w", "v"));
	assert_true(alias_escapes(f->db, find(f, "a")));
	assert_false(may(f, "b", "w"));
	f->db = alias_db_placed(f->g, &f->arena, place_of_w, NULL);
	use = find(f, "set")->node;
	assert_true(may(f, "w", "again"));
	assert_false(may(f, "w", "v"));
	assert_true(alias_is_written(f->db, find(f, "again")));
	assert_false(alias_is_written(f->db, find(f, "v")));
	assert_true(alias_may_contain(f->db, find(f, "self"), find(f, "w")));
	assert_false(alias_can_move_before(f->db, find(f, "after")->node, use));
	assert_true(alias_can_move_before(f->db, find(f, "n")->node, use));
}

/* A task may write to its arguments until it is waited for. */
static void
test_tasks(void **state)
{
	static const char *const bodies[] = { "aten::neg", "aten::neg_" };

	for (int writes = 0; writes < 2; writes++) {
		Fixture *f = *state;

		parse(f, arena_printf(&f->arena, "graph(%%x : Tensor):\n"
			"  %%none : NoneType = prim::Constant()\n"
			"  %%a : Tensor = aten::clone(%%x, %%none)\n"
			"  %%b : Tensor = aten::clone(%%x, %%none)\n"
			"  %%n : Tensor = aten::neg(%%a)\n"
			"  %%task : Future(Tensor) = prim::fork_0(%%a, %%b)\n"
			"  %%r : Tensor = aten::wait(%%task)\n"
			"  return (%%r)\n"
			"with prim::fork_0 = graph(%%p : Tensor, %%q : Tensor):\n"
			"  %%s : Tensor = %s(%%p)\n"
			"  return (%%s)\n", bodies[writes]));
		assert_int_equal(alias_is_written(f->db, find(f, "a")), writes);
		assert_int_equal(alias_is_written(f->db, find(f, "b")), writes);
		assert_int_equal(alias_writes(f->db, find(f, "task")->node, find(f, "a")), writes);
		assert_int_equal(alias_writes(f->db, find(f, "r")->node, find(f, "a")), writes);
		assert_int_equal(alias_can_move_before(f->db, find(f, "r")->node, find(f, "n")->node), !writes);
	}
}

/* A task may write to each argument, whatever its type is. */
static void
test_task_arguments(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %i : int):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %l : int[] = prim::ListConstruct(%i)\n"
		 "  %task : Future(int) = prim::fork_0(%l, %a)\n"
		 "  %r : int = aten::wait(%task)\n"
		 "  return (%r)\n"
		 "with prim::fork_0 = graph(%p : int[], %q : Tensor):\n"
		 "  %one : int = prim::Constant[value=1]()\n"
		 "  %s : int[] = aten::append(%p, %one)\n"
		 "  %t : Tensor = aten::neg_(%q)\n"
		 "  return (%one)\n");
	assert_true(alias_writes(f->db, find(f, "task")->node, find(f, "l")));
	assert_true(alias_writes(f->db, find(f, "task")->node, find(f, "a")));
}

/* A task that prints keeps its order, too. */
static void
test_task_prints(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor):\n"
		 "  %task : Future(Tensor) = prim::fork_0(%x)\n"
		 "  %r : Tensor = aten::wait(%task)\n"
		 "  return (%r)\n"
		 "with prim::fork_0 = graph(%p : Tensor):\n"
		 "  prim::Print(%p)\n"
		 "  return (%p)\n");
	assert_true(alias_writes(f->db, find(f, "r")->node, find(f, "x")));
}

/* Prints keep their order, in branches too.  So do a write and a read of a member of the written value. */
static void
test_effects(void **state)
{
	Fixture *f = *state;
	Node *first, *nested, *second;

	parse(f, "graph(%x : Tensor, %s : str, %c : bool, %i : int):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  %mark : Tensor = aten::neg(%b)\n"
		 "  prim::Print(%s)\n"
		 "  prim::If(%c)\n"
		 "    block0():\n"
		 "      prim::Print(%s)\n"
		 "      %in : Tensor = aten::zero_(%a)\n"
		 "      -> ()\n"
		 "    block1():\n"
		 "      %used : Tensor = aten::exp(%mark)\n"
		 "      -> ()\n"
		 "  prim::Print(%s)\n"
		 "  %list : Tensor[] = prim::ListConstruct(%b)\n"
		 "  %cat : Tensor = aten::cat(%list, %i)\n"
		 "  %z : Tensor = aten::zero_(%b)\n"
		 "  %e : Tensor = aten::exp(%x)\n"
		 "  return (%cat, %e)\n");
	first = find(f, "mark")->node->next;
	nested = first->next;
	second = nested->next;
	assert_false(alias_can_move_before(f->db, nested, first));
	assert_false(alias_can_move_before(f->db, second, nested));
	assert_false(alias_can_move_before(f->db, nested, find(f, "mark")->node));            /* mark is used inside */
	assert_true(alias_writes(f->db, nested, find(f, "a")));
	assert_false(alias_writes(f->db, nested, find(f, "b")));
	/* cat's list has b, which z writes */
	assert_false(alias_can_move_before(f->db, find(f, "z")->node, find(f, "cat")->node));
	assert_true(alias_can_move_before(f->db, find(f, "e")->node, first));
}

/* Two waits write to all memory that is not followed.  So neither moves before the other, though they read nothing in
 * common. */
static void
test_waits(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Future(Tensor), %y : Future(int)):\n"
		 "  %a : Tensor = aten::wait(%x)\n"
		 "  %b : int = aten::wait(%y)\n"
		 "  return (%a, %b)\n");
	assert_false(alias_can_move_before(f->db, find(f, "b")->node, find(f, "a")->node));
}

/* A node moves together with the nodes that it depends on, if these may move. */
static void
test_move_along(void **state)
{
	Fixture *f = *state;
	Node *a, *b, *at, *z;

	parse(f, "graph(%x : Tensor, %s : str):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::neg(%a)\n"
		 "  %z : Tensor = aten::zero_(%x)\n"
		 "  %c : Tensor = aten::exp(%b)\n"
		 "  %at : Tensor = aten::sin(%b)\n"
		 "  return (%c, %at)\n");
	a = find(f, "a")->node;
	b = find(f, "b")->node;
	at = find(f, "at")->node;
	z = find(f, "z")->node;
	assert_false(alias_can_move_before(f->db, z, a));            /* a reads the memory that z writes */
	assert_true(alias_can_move_before(f->db, z, b));
	assert_false(alias_can_move_before(f->db, at, b));           /* at reads b */
	assert_false(alias_can_move_before(f->db, at, a));           /* b, which at reads, reads a */
	assert_true(alias_move_before(f->db, at, z));
	assert_true(node_is_before(b, at) && node_is_before(at, z));
	assert_true(alias_move_before(f->db, find(f, "c")->node, b->next));       /* no other node has to move */
	assert_true(alias_move_before(f->db, at, z));                /* it already is there */
	graph_lint(f->g);
}

/* Writes to memory that a live value reaches are kept: for a live tuple, those to a tensor in it. */
static void
test_live(void **state)
{
	Fixture *f = *state;

	parse(f, "graph(%x : Tensor, %i : int):\n"
		 "  %none : NoneType = prim::Constant()\n"
		 "  %a : Tensor = aten::clone(%x, %none)\n"
		 "  %b : Tensor = aten::clone(%x, %none)\n"
		 "  %list : Tensor[] = prim::ListConstruct(%a)\n"
		 "  %cat : Tensor = aten::cat(%list, %i)\n"
		 "  %w : Tensor = aten::zero_(%a)\n"
		 "  %v : Tensor = aten::zero_(%b)\n"
		 "  return (%cat)\n");
	alias_live_clear(f->db);
	assert_false(alias_writes_live(f->db, find(f, "w")->node));
	alias_live_add(f->db, find(f, "list"));
	assert_true(alias_writes_live(f->db, find(f, "w")->node));
	assert_false(alias_writes_live(f->db, find(f, "v")->node));
	assert_true(alias_writes(f->db, find(f, "w")->node, find(f, "list")));       /* the node writes to a member */
	assert_false(alias_is_written(f->db, find(f, "list")));
	assert_true(alias_has_writers(f->db, find(f, "list")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_views, setup, teardown),
		cmocka_unit_test_setup_teardown(test_containers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_control_flow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_optional, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_statistics, setup, teardown),
		cmocka_unit_test_setup_teardown(test_may_return_input, setup, teardown),
		cmocka_unit_test_setup_teardown(test_view_lists, setup, teardown),
		cmocka_unit_test_setup_teardown(test_made_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any, setup, teardown),
		cmocka_unit_test_setup_teardown(test_constants, setup, teardown),
		cmocka_unit_test_setup_teardown(test_attributes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tasks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_task_arguments, setup, teardown),
		cmocka_unit_test_setup_teardown(test_task_prints, setup, teardown),
		cmocka_unit_test_setup_teardown(test_effects, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_move_along, setup, teardown),
		cmocka_unit_test_setup_teardown(test_live, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
