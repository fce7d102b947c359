/*
 * The backward pass through containers.
 *
 * A tuple or list that is made or unpacked passes its gradient on to its elements.  A list that changes, or that
 * control flow passes on, has a list of gradients (prim::grad_list) with one entry for each element.  The backward pass
 * keeps both in step: where the list grew, the last gradients belong to the new elements.  The list of gradients
 * belongs to one list.  Therefore a list that changes must not have a second name that is used later (check_lists).
 */
#include "autodiff.h"

#include <string.h>

/* ---- made and taken apart ---------------------------------------------------------------------------------------- */

void
reverse_unpack(Back *b, Node *n)
{
	Value *of = n->in[0];
	Node *made = back_construction(b->diff, of);
	Values *parts;

	if (!back_is_active(b->diff, of) || !back_has_gradient(b, n))
		return;
	if (of->type->kind == TYPE_LIST && !made && !back_is_unpacked(b->diff, of)) {
		for (int i = 0; i < n->nout; i++) {
			Value *to = back_adjoint(b, n->out[i]) ? back_beside(b, of) : NULL;

			back_at_end(b);
			if (to)
				back_emit_row(b->diff->graph, "prim_grad_list_add", n->at, 3, (Value *[3]){ to,
					graph_constant(b->diff->graph, rt_int(i), n->at), back_adjoint(b, n->out[i]) });
		}
		return;
	}
	for (int i = 0; i < n->nout && made; i++)
		if (back_adjoint(b, n->out[i]))
			back_give(b, made->in[i], back_adjoint(b, n->out[i]), n->at);
	if (made)
		return;
	if (!back_is_in(b->from, of))
		fail_lacks(b->diff->cx, n->at, "a gradient through a tuple from outside of a branch or loop");
	parts = back_parts_of(b, of, n->nout);
	back_at_end(b);
	for (int i = 0; i < n->nout; i++) {
		Value *g = back_adjoint(b, n->out[i]);

		if (g)
			parts->at[i] = parts->at[i] ? back_sum(b, parts->at[i], g, n->at) : g;
	}
}

void
reverse_index(Back *b, Node *n)
{
	int64_t i = node_int(n, "index", 0);
	Values *parts;
	Value *g = back_adjoint(b, n->out[0]);

	if (!g)
		return;
	if (!back_is_in(b->from, n->in[0]))
		fail_lacks(b->diff->cx, n->at, "a gradient through a tuple from outside of a branch or loop");
	if (n->nin > 1 && !value_int(n->in[1], &i))
		fail_lacks(b->diff->cx, n->at, "a gradient through an element of a tuple at an unknown index");
	i += i < 0 ? n->in[0]->type->n : 0;
	parts = back_parts_of(b, n->in[0], n->in[0]->type->n);
	back_at_end(b);
	parts->at[i] = parts->at[i] ? back_sum(b, parts->at[i], g, n->at) : g;
}

void
reverse_tuple(Back *b, Node *n)
{
	Values *parts = back_parts_of(b, n->out[0], n->nin);

	for (int i = 0; i < n->nin; i++)
		if (parts->at[i])
			back_give(b, n->in[i], parts->at[i], n->at);
}

void
reverse_cast(Back *b, Node *n)
{
	const int id = n->out[0]->id;

	if (id < b->nparts && b->parts[id].n && b->from != n->in[0]->node->block)
		fail_lacks(b->diff->cx, n->at, "a gradient through a tuple from outside of a branch or loop");
	if (id < b->nparts && b->parts[id].n)
		*back_parts_of(b, n->in[0], 0) = b->parts[id];
	else if (back_adjoint(b, n->out[0]))
		back_hand_in(b, n->in[0], back_adjoint(b, n->out[0]), n->at);
}

/* Gives the elements of a ListConstruct their gradients, if its list has a list of gradients. */
void
reverse_construct(Back *b, Node *n)
{
	Value *beside_it = back_adjoint(b, n->out[0]);

	for (int i = 0; i < n->nin && beside_it; i++) {
		Value *g, *at;

		if (!back_is_active(b->diff, n->in[i]))
			continue;
		back_at_end(b);
		at = graph_constant(b->diff->graph, rt_int(i), n->at);
		g = back_row2(b, "__getitem___t", n->at, beside_it, at);
		g->type = type_optional(b->diff->cx, &rt_type_tensor);
		back_give(b, n->in[i], g, n->at);
	}
}

void
reverse_getitem(Back *b, Node *n)
{
	Value *g = back_adjoint(b, n->out[0]), *to, *i;

	if (!g)
		return;
	to = back_beside(b, n->in[0]);
	i = back_capture_at(b, n->in[1], n, false);
	back_at_end(b);
	back_emit_row(b->diff->graph, "prim_grad_list_add", n->at, 3, (Value *[3]){ to, i, g });
}

/* Differentiates aten::slice and aten::list, which copy elements from one list to another. */
void
reverse_part(Back *b, Node *n)
{
	Value *of = back_adjoint(b, n->out[0]), *to, *in[5] = { 0 };

	if (!of)
		return;
	to = back_beside(b, n->in[0]);
	for (int i = 1; i < 4 && node_is(n, aten_slice); i++)
		in[1 + i] = back_capture_at(b, n->in[i], n, false);
	back_at_end(b);
	if (node_is(n, aten_list)) {
		in[2] = in[3] = back_none(b->diff->graph, &rt_type_int, n->at);
		in[4] = graph_constant(b->diff->graph, rt_int(1), n->at);
	}
	in[0] = to;
	in[1] = of;
	back_emit_row(b->diff->graph, "prim_grad_list_part", n->at, 5, in);
}

/* Differentiates a + b of lists: each list gets its part of the gradients. */
void
reverse_concat(Back *b, Node *n)
{
	Value *of = back_adjoint(b, n->out[0]), *skip, *to;

	for (int k = 0; k < 2 && of; k++) {
		if (!back_is_active(b->diff, n->in[k]))
			continue;
		skip = k ? back_capture_at(b, n->in[0], n, false) : NULL;
		to = back_beside(b, n->in[k]);
		back_at_end(b);
		skip = k ? back_row1(b, "len_t", n->at, skip) : graph_constant(b->diff->graph, rt_int(0), n->at);
		back_emit_row(b->diff->graph, "prim_grad_list_from", n->at, 3, (Value *[3]){ to, of, skip });
	}
}

/* Does n use or change lists of tensors in a way that cannot be differentiated here? */
bool
back_is_strange(Back *b, const Node *n)
{
	const Schema *s = node_schema(n);

	for (int i = 0; s && i < n->nin; i++) {
		const bool list = back_is_active(b->diff, n->in[i]) && n->in[i]->type->kind != TYPE_TENSOR &&
				  gradient_rank(n->in[i]->type) != 1;

		if (list && node_writes_input(n, i))
			return true;
		if (list && back_has_gradient(b, n) && (i >= s->nargs || !gradient_rank(s->args[i].type)))
			return true;
	}
	return false;
}

/* ---- writes ------------------------------------------------------------------------------------------------------ */

/* Adds g to the gradient of the element e, if e needs one. */
static void
give_element(Back *b, const Node *n, Value *e, Value *g)
{
	g->type = type_optional(b->diff->cx, &rt_type_tensor);
	if (back_is_active(b->diff, e) && !b->diff->active->silent[n->id])
		back_give(b, e, g, n->at);
}

/* Removes the last gradient from the list's gradients, and gives it to the appended element. */
static void
reverse_append(Back *b, Node *n)
{
	Value *to = back_beside(b, n->in[0]);

	back_at_end(b);
	give_element(b, n, n->in[1],
		     back_row2(b, "pop_t", n->at, to, graph_constant(b->diff->graph, rt_int(-1), n->at)));
}

static void
reverse_set(Back *b, Node *n)
{
	Value *to = back_beside(b, n->in[0]), *i = back_capture_at(b, n->in[1], n, false);

	back_at_end(b);
	give_element(b, n, n->in[2], back_row2(b, "prim_grad_list_take", n->at, to, i));
}

static void
reverse_insert(Back *b, Node *n)
{
	Value *to = back_beside(b, n->in[0]), *i = back_capture_at(b, n->in[1], n, false);

	back_at_end(b);
	give_element(b, n, n->in[2], back_row2(b, "prim_grad_list_uninsert", n->at, to, i));
}

/* Removes the last gradients from the list's gradients, and gives them to the elements of the other list. */
static void
reverse_extend(Back *b, Node *n)
{
	Value *to = back_beside(b, n->in[0]), *other = n->in[1], *count, *g;

	if (other == n->in[0])
		fail_lacks(b->diff->cx, n->at, "a gradient through a list that is appended to itself");
	count = back_capture_at(b, other, n, false);
	back_at_end(b);
	g = back_row2(b, "prim_grad_list_split", n->at, to, back_row1(b, "len_t", n->at, count));
	if (!back_is_active(b->diff, other) || b->diff->active->silent[n->id])
		return;
	to = back_beside(b, other);
	back_at_end(b);
	back_emit_row(b->diff->graph, "prim_grad_list_from", n->at, 3,
		      (Value *[3]){ to, g, graph_constant(b->diff->graph, rt_int(0), n->at) });
}

static void
reverse_pop(Back *b, Node *n)
{
	Value *to = back_beside(b, n->in[0]), *i = back_capture_at(b, n->in[1], n, false);
	Value *g = n->nout ? back_adjoint(b, n->out[0]) : NULL;

	back_at_end(b);
	g = g ? g : back_none(b->diff->graph, &rt_type_tensor, n->at);
	back_emit_row(b->diff->graph, "prim_grad_list_unpop", n->at, 3, (Value *[3]){ to, i, g });
}

static void
reverse_clear(Back *b, Node *n)
{
	Value *to = back_beside(b, n->in[0]), *before = back_capture_at(b, n->in[0], n, false);

	back_at_end(b);
	back_row2(b, "prim_grad_list_unclear", n->at, to, before);
}

static void
reverse_reverse(Back *b, Node *n)
{
	Value *to = back_beside(b, n->in[0]);

	back_at_end(b);
	back_row1(b, "reverse_t", n->at, to);
}

typedef struct ListWrite { OpTrait trait; void (*back)(Back *, Node *); } ListWrite;
static const ListWrite writes[] = {
	{ TRAIT_APPENDS, reverse_append }, { TRAIT_SETS_ITEM, reverse_set }, { TRAIT_INSERTS, reverse_insert },
	{ TRAIT_EXTENDS, reverse_extend }, { TRAIT_REMOVES, reverse_pop }, { TRAIT_CLEARS, reverse_clear },
	{ TRAIT_REVERSES, reverse_reverse },
};

static const ListWrite *
write_of(const Node *n)
{
	for (size_t i = 0; i < sizeof writes / sizeof *writes && n->nin && n->in[0]->type->kind == TYPE_LIST; i++)
		if (op_has(n->op, writes[i].trait))
			return &writes[i];
	return NULL;
}

bool
back_list_write(const Node *n)
{
	return write_of(n) != NULL;
}

void
reverse_write(Back *b, Node *n)
{
	RT_ASSERT(back_list_write(n));
	if (back_is_active(b->diff, n->in[0]))
		write_of(n)->back(b, n);
}

/* ---- lists with two names ---------------------------------------------------------------------------------------- */

/* Appends those outputs of n to `found` that are lists with gradients and that something writes to. */
static void
collect_of(const Auto *a, const Node *n, Values *found)
{
	for (int i = 0; i < n->nout; i++) {
		Value *v = n->out[i];

		if (v->type->kind == TYPE_LIST && back_is_active(a, v) && alias_is_written(a->alias, v))
			vec_push(a->pass->scratch, found, v);
	}
}

static void
collect(const Auto *a, const Block *b, Values *found)
{
	collect_of(a, b->param, found);
	for NODES(n, b) {
		collect_of(a, n, found);
		for (int i = 0; i < n->nsub; i++)
			collect(a, n->sub[i], found);
	}
}

static bool
is_param(const Value *v)
{
	return v->node == v->node->block->param;
}

/* Is v, the list that n writes to, carried by a loop around n from trip to trip? */
static bool
is_carried(const Value *v, const Node *n)
{
	const Node *owner = v->node->block->owner;

	return is_param(v) && owner && node_is(owner, prim_Loop) && node_in_block(n, v->node->block);
}

static void
check_write(const Auto *a, const Node *n, const Values *lists)
{
	const Value *x = n->in[0];
	bool twice = is_carried(x, n);

	for (int i = 0; i < lists->n && !twice; i++) {
		const Value *y = lists->at[i];
		const bool older = is_param(y) ? node_in_block(n, y->node->block) : node_is_before(y->node, n);

		if (y != x && alias_may(a->alias, x, y))
			twice = is_carried(y, n) || (older && value_used_after(y, n));
	}
	if (twice)
		fail_lacks(a->cx, n->at, "a gradient through %s of a list that may have two names", n->kind->name);
}

static void
check_block(const Auto *a, const Block *b, const Values *lists)
{
	for ALL_NODES(n, b)
		if (write_of(n) && back_is_active(a, n->in[0]))
			check_write(a, n, lists);
}

void
check_lists(const Auto *a)
{
	Values lists = { 0 };

	collect(a, a->graph->top, &lists);
	check_block(a, a->graph->top, &lists);
}
