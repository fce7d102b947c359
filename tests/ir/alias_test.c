/* Alias analysis on graphs given as text: what may be one memory, what is written, what may be moved. */
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
	assert_true(may(f, "x", "y"));             /* inputs may be one tensor */
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
		 "  return (%kept, %taken, %cat, %t)\n");
	assert_true(may(f, "taken", "a"));
	assert_false(may(f, "taken", "b"));        /* cat only reads its list */
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
	assert_true(may(f, "s", "a"));             /* no trip at all */
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
	assert_false(alias_can_move_after(f->db, neg, zero));        /* it reads what is written then */
	assert_true(alias_can_move_after(f->db, neg, print));
	assert_true(alias_can_move_before(f->db, exp, neg));
	assert_false(alias_can_move_before(f->db, zero, neg));
	assert_true(alias_move_before(f->db, exp, neg));
	assert_ptr_equal(exp->next, neg);
	assert_true(alias_move_after(f->db, neg, print));
	assert_ptr_equal(print->next, neg);
	graph_lint(f->g);
}

/* An Optional is what it may be, it does not contain it. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_views, setup, teardown),
		cmocka_unit_test_setup_teardown(test_containers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_control_flow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_optional, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
