/*
 * Control flow that depends on data, with writes on both sides of it: specialized code is entered, and bails out in the
 * middle.
 *
 * The first two sets of inputs differ only in their values.  So numbers that are read from tensors become guards there:
 * as conditions, trip counts, indices, lengths of lists and dicts, as choices between a tensor and None, and as
 * conditions of errors that are raised after a write.
 */
#include "gen.h"

/* Emits a small count of elements, which is the same on every machine.  Null if this tensor has no such count. */
static Value *
count(Gen *x)
{
	Ten a = any(x);

	if (category(a) == 'C' || (category(a) != 'B' && (a.rough || x->rough)))
		return NULL;
	if (category(a) != 'B')
		a.v = CALL(x, chance(x, 50) ? "aten::gt" : "aten::lt", a.v, number(x, below(x, 3) - 1));
	return CALL(x, "aten::size", CALL(x, "aten::nonzero", a.v), number(x, 0));
}

static Value *
decision(Gen *x)
{
	static const char *const ops[] = { "aten::gt", "aten::eq", "aten::lt", "aten::ne" };
	Value *n = count(x);

	return n ? CALL(x, ops[below(x, 4)], n, number(x, below(x, 4))) : NULL;
}

static void
add_to(Gen *x, Value *v, int n)
{
	CALL(x, "aten::add_", v, number(x, n));
}

/* Emits a view of a part of the tensor that may be written to.  Null if there is none. */
static Value *
part_of(Gen *x, Ten *a)
{
	Value *v;

	*a = any(x);
	if (a->spread || !a->n || category(*a) == 'B' || !least(*a, 0))
		return NULL;
	v = CALL(x, "aten::select", a->v, number(x, 0), number(x, chance(x, 50) ? -1 : 0));
	x->rough |= a->rough;
	drop_dim(a, 0);
	return v;
}

/* Writes to a view, then in one of two branches, then to the view again. */
void
around(Gen *x)
{
	Block *const at = x->g->at_block;
	Value *cond = decision(x), *v;
	Ten a;
	Node *n;

	if (!cond || !(v = part_of(x, &a)))
		return;
	add_to(x, v, 1);
	n = if_at(x, cond);
	for (int i = 0; i < 2; i++) {
		const Mark m = enter(x, node_add_block(n));

		put(x, v, a);
		if (i)
			CALL(x, "aten::mul_", v, number(x, 2));
		statements(x, below(x, 3));
		leave(x, m);
	}
	graph_set_insert_end(x->g, at);
	add_to(x, v, 2);
	put(x, v, a);
}

/* Emits a loop with one trip for each element of a kind.  Each trip writes, and makes a list longer or a dict
 * larger. */
void
repeated(Gen *x)
{
	Block *const at = x->g->at_block;
	Value *n = count(x), *list, *v;
	Ten a;
	Node *loop;
	Mark m;

	if (!n || !(v = part_of(x, &a)))
		return;
	list = list_of(x, &rt_type_int, 1, &n);
	loop = loop_new(x->g, nowhere, CALL(x, "aten::remainder", n, number(x, 4)), constant(x, rt_bool(true)));
	graph_insert(x->g, loop);
	m = enter(x, loop_body(loop));
	PUSH(x, ints, loop_index(loop));
	add_to(x, v, 1);
	CALL(x, "aten::append", list, any_int(x));
	if (x->in.dics.n && x->in.dics.at[0].ints)
		CALL(x, "aten::_set_item", x->in.dics.at[0].v, loop_index(loop),
		     CALL(x, "aten::__getitem__", x->in.dics.at[0].v, number(x, 0)));
	statements(x, below(x, 3));
	block_add_output(loop_body(loop), constant(x, rt_bool(true)));
	leave(x, m);
	graph_set_insert_end(x->g, at);
	add_to(x, v, 2);
	put(x, v, a);
	PUSH(x, ints, CALL(x, "aten::len", list));
}

/* Reads and writes an element of a tensor whose index depends on data, and reads an int from data. */
void
chosen(Gen *x)
{
	Value *n = count(x), *v;
	Ten a = any(x);

	if (!n)
		return;
	PUSH(x, ints, n);
	if (a.spread || !a.n || category(a) == 'B' || !least(a, 0))
		return;
	v = CALL(x, "aten::select", a.v, number(x, 0),
		 CALL(x, "aten::remainder", n, CALL(x, "aten::size", a.v, number(x, 0))));
	x->rough |= a.rough;
	drop_dim(&a, 0);
	add_to(x, v, 1);
	put(x, v, a);
}

/* Raises for some data, after a write.  The state must contain the writes before the error. */
void
refused(Gen *x)
{
	Block *const at = x->g->at_block;
	Value *n = count(x), *v, *in[2];
	Ten a;
	Node *branch_;

	if (!n || !(v = part_of(x, &a)))
		return;
	add_to(x, v, 1);
	branch_ = if_at(x, CALL(x, "aten::eq", n, number(x, 3 + below(x, 5))));
	graph_set_insert_end(x->g, node_add_block(branch_));
	in[0] = constant(x, value_str(x->cx, "ValueError: refused", -1));
	in[1] = graph_constant_typed(x->g, rt_none(), &rt_type_none, nowhere);
	graph_emit(x->g, "prim::RaiseException", nowhere, 2, in, 0);
	node_add_block(branch_);
	graph_set_insert_end(x->g, at);
	add_to(x, v, 1);
}
