/*
 * Replaces reads of a tuple's elements by the values that the tuple was made from.
 *
 *  %t = prim::TupleConstruct(%a, %b)
 *  %x, %y = prim::TupleUnpack(%t)          ->   %a for %x, %b for %y
 *
 * An If whose branches both make a tuple returns the elements instead.  A Loop that carries a tuple carries the
 * elements.  The tuple is made again after them, for users that need it whole.  If the tuple's type is more specific
 * for an element than the element's own type, the specific type is kept.
 */
#include "../opt.h"

typedef struct Tuples {
	Pass *pass;
	Graph *graph;
	bool  changed;
} Tuples;

static bool
is_made(const Value *v)
{
	return node_is(v->node, prim_TupleConstruct);
}

static bool
forward_index(Tuples *t, Node *n)
{
	const Node *made = n->in[0]->node;
	int64_t i;

	if (!value_int(n->in[1], &i) || i >= made->nin || i < -made->nin || !pass_may(t->pass))
		return false;
	value_replace_uses(n->out[0], made->in[i < 0 ? i + made->nin : i]);
	return true;
}

static bool
forward_unpack(Tuples *t, Node *n)
{
	const Node *made = n->in[0]->node;

	if (n->nout != made->nin || !pass_may(t->pass))
		return false;
	for (int i = 0; i < n->nout; i++)
		value_replace_uses(n->out[i], made->in[i]);
	return true;
}

static bool
forward_slice(Tuples *t, Node *n)
{
	const Node *made = n->in[0]->node;
	const int64_t beg = node_int(n, "beg", 0), end = node_int(n, "end", 0);
	Node *part;

	if (beg < 0 || end < beg || end > made->nin || !pass_may(t->pass))
		return false;
	part = node_new(t->graph, sym(t->pass->cx, "prim::TupleConstruct"), n->at, 1);
	for (int64_t i = beg; i < end; i++)
		node_add_input(part, made->in[i]);
	part->out[0]->type = n->out[0]->type;
	part->inlined = n->inlined;
	node_insert_before(part, n);
	value_replace_uses(n->out[0], part->out[0]);
	return true;
}

static void
forward(Tuples *t, Node *n)
{
	bool done = false;

	if (!n->nin || !is_made(n->in[0]))
		return;
	if (node_is(n, prim_TupleIndex))
		done = forward_index(t, n);
	else if (node_is(n, prim_TupleUnpack))
		done = forward_unpack(t, n);
	else if (node_is(n, prim_TupleSlice))
		done = forward_slice(t, n);
	if (!done)
		return;
	pass_note(t->pass, n, "the tuple's elements are known");
	node_destroy(n);
	t->changed = true;
}

/* Makes a tuple of these parts, which replaces `whole` in its uses. */
static void
remake(Tuples *t, Value *whole, Value *const *part, int count, Node *before)
{
	Node *made = node_new(t->graph, sym(t->pass->cx, "prim::TupleConstruct"), before->at, 1);

	for (int i = 0; i < count; i++)
		node_add_input(made, part[i]);
	made->out[0]->type = whole->type;
	made->out[0]->name = whole->name;
	node_insert_before(made, before);
	value_replace_uses(whole, made->out[0]);
}

/* Returns the type of element i in the tuple's type, on which all blocks agree. */
static const Type *
part_type(const Value *whole, int i)
{
	return whole->type->of[i];
}

static bool
split_if_output(Tuples *t, Node *n, int at)
{
	Value *whole = n->out[at], **part;
	const Node *made[2];
	const int count = whole->type->n;

	for (int b = 0; b < 2; b++) {
		made[b] = n->sub[b]->ret->in[at]->node;
		if (!is_made(n->sub[b]->ret->in[at]) || made[b]->nin != count)
			return false;
	}
	if (whole->type->kind != TYPE_TUPLE || !whole->uses.n || !pass_may(t->pass))
		return false;
	part = new(t->pass->scratch, Value *, count + 1);
	for (int i = 0; i < count; i++) {
		part[i] = node_add_output(n, part_type(whole, i));
		for (int b = 0; b < 2; b++)
			block_add_output(n->sub[b], made[b]->in[i]);
	}
	remake(t, whole, part, count, n->next);
	if_remove_output(n, at);
	return true;
}

/* Is the value always a tuple?  A value that control flow passes on may be uninitialized. */
static bool
is_there(const Value *v)
{
	const Node *n = v->node;

	return is_made(v) || n->op || node_is(n, prim_Constant) || node_is(n, prim_Uninitialized) ||
	       (n == n->block->param && !n->block->owner);
}

/* Returns the elements of a tuple before a loop: the values that it was made from, or else the results of a new
 * TupleUnpack.  If the tuple is uninitialized, the elements are. */
static Value *const *
elements_before(Tuples *t, Node *loop, Value *whole)
{
	const int n = whole->type->n;
	Value **open;
	Node *apart;

	if (is_made(whole))
		return whole->node->in;
	graph_set_insert_before(t->graph, loop);
	if (node_is(whole->node, prim_Uninitialized)) {
		open = new(t->pass->scratch, Value *, n + 1);
		for (int i = 0; i < n; i++)
			open[i] = graph_uninitialized(t->graph, part_type(whole, i), loop->at);
		return open;
	}
	apart = graph_emit(t->graph, "prim::TupleUnpack", loop->at, 1, &whole, n);
	for (int i = 0; i < n; i++)
		apart->out[i]->type = part_type(whole, i);
	return apart->out;
}

static bool
split_carried(Tuples *t, Node *n, int at)
{
	Value *init = n->in[2 + at], *inner = loop_body(n)->param->out[1 + at], *last = loop_body(n)->ret->in[1 + at];
	Value *whole = n->out[at], *const *first, **in, **out;
	const int count = whole->type->n;

	if (whole->type->kind != TYPE_TUPLE || init->type->kind != TYPE_TUPLE || init->type->n != count ||
	    !is_made(last) || !is_there(init) || last->node->nin != count || !pass_may(t->pass))
		return false;
	first = elements_before(t, n, init);
	in = new(t->pass->scratch, Value *, count + 1);
	out = new(t->pass->scratch, Value *, count + 1);
	for (int i = 0; i < count; i++) {
		loop_add_carried(n, first[i], NULL);
		in[i] = loop_body(n)->param->out[loop_body(n)->param->nout - 1];
		out[i] = n->out[n->nout - 1];
		in[i]->type = out[i]->type = part_type(whole, i);
		block_add_output(loop_body(n), last->node->in[i]);
	}
	remake(t, inner, in, count, loop_body(n)->ret->next);
	remake(t, whole, out, count, n->next);
	block_remove_output(loop_body(n), 1 + at);
	block_remove_input(loop_body(n), 1 + at);
	node_remove_input(n, 2 + at);
	node_remove_output(n, at);
	return true;
}

static void
forward_elements(Tuples *t, Block *b)
{
	cx_enter(t->pass->cx, b->ret->at);
	for (Node *n = b->ret->next, *next; n != b->ret; n = next) {
		for (int i = 0; i < n->nsub; i++)
			forward_elements(t, n->sub[i]);
		for (int i = n->nout - 1; i >= 0; i--) {
			if ((node_is(n, prim_If) && split_if_output(t, n, i)) ||
			    (node_is(n, prim_Loop) && split_carried(t, n, i))) {
				pass_note(t->pass, n, "the elements are passed on, not the tuple");
				t->changed = true;
			}
		}
		next = n->next;
		forward(t, n);
	}
	cx_leave(t->pass->cx);
}

bool
tuples(Pass *p, Graph *g)
{
	Tuples t = { p, g, false };
	bool before;

	/* Walks again, since a loop's body may unpack a tuple whose elements are known only after the loop has been
	 * split. */
	do {
		before = t.changed;
		t.changed = false;
		forward_elements(&t, g->top);
		t.changed |= before;
	} while (t.changed && !before);
	return t.changed;
}
