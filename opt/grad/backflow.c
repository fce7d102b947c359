/*
 * The backward pass through control flow.  The gradient of an If runs through the branch that was taken.  That of a
 * Loop runs through its trips in reverse order, and carries the gradients of the values that the loop carries.  The
 * gradient of a carried list is a list of gradients.
 */
#include "autodiff.h"

/* ---- control flow ------------------------------------------------------------------------------------------------ */

static Back
back_inside(Back *b, Node *n, Block *from, Block *to)
{
	Back c = { .diff = b->diff, .up = b, .from = from, .to = to, .node = n };

	graph_set_insert_end(b->diff->graph, to);
	c.front = graph_constant(b->diff->graph, rt_none(), n->at)->node;
	return c;
}

/* Returns the gradient of v if no use contributes to it: None if it may be undefined, else zeros. */
static Value *
no_gradient(Back *c, Value *v, Range at)
{
	Graph *g = c->diff->graph;
	Value *like;

	back_at_end(c);
	if (back_may_be_undefined(c->diff, v))
		return back_none(g, &rt_type_tensor, at);
	like = back_capture(c, v);
	back_at_end(c);
	return back_zeros_like(g, like, at);
}

/* Makes gradients that both branches computed outputs of m.  Gradients of values inside a branch stay in it. */
static void
join_branches(Back *b, Back *c, Node *m, Range at)
{
	Graph *g = b->diff->graph;

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < c[k].given.n; i++) {
			Value *v = c[k].given.at[i], *part[2], *out;

			if (back_is_in(c[k].from, v) || v->type->kind == TYPE_LIST || (k && back_adjoint(&c[0], v)))
				continue;
			for (int j = 0; j < 2; j++) {
				part[j] = back_adjoint(&c[j], v) ? back_adjoint(&c[j], v) : no_gradient(&c[j], v, at);
				block_add_output(m->sub[j], part[j]);
			}
			out = node_add_output(m, back_is_definite(part[0]) && back_is_definite(part[1])
							 ? &rt_type_tensor
							 : type_optional(g->cx, &rt_type_tensor));
			back_give(b, v, out, at);
		}
}

/* Does the block write to lists of tensors that have gradients?  If so, the backward pass must run through it. */
static bool
puts_into_lists(const Auto *a, const Block *b)
{
	for ALL_NODES(n, b)
		if (back_list_write(n) && back_is_active(a, n->in[0]))
			return true;
	return false;
}

static bool
has_work(Back *b, const Node *n)
{
	bool any = back_has_gradient(b, n);

	for (int i = 0; i < n->nsub && !any; i++)
		any = puts_into_lists(b->diff, n->sub[i]);
	return any;
}

void
reverse_if(Back *b, Node *n)
{
	Graph *g = b->diff->graph;
	const int nout = n->nout;
	Value *cond;
	Back c[2];
	Node *m;

	if (!has_work(b, n))
		return;
	cond = back_capture(b, n->in[0]);
	back_at_end(b);
	m = graph_insert(g, if_new(g, n->at, cond, 0));
	m->inlined = n->inlined;
	for (int k = 0; k < 2; k++) {
		c[k] = back_inside(b, n, n->sub[k], m->sub[k]);
		for (int i = 0; i < nout; i++) {
			if (back_adjoint(b, n->out[i]))
				back_hand_in(&c[k], n->sub[k]->ret->in[i], back_adjoint(b, n->out[i]), n->at);
			else if (n->out[i]->id < b->nparts && b->parts[n->out[i]->id].n)
				*back_parts_of(&c[k], n->sub[k]->ret->in[i], 0) = b->parts[n->out[i]->id];
		}
		reverse_block(&c[k]);
	}
	join_branches(b, c, m, n->at);
}

/* Differentiates a node whose result gradients may all be undefined.  Emits an If that runs if one of them is
 * defined. */
void
reverse_maybe(Back *b, Node *n)
{
	Graph *g = b->diff->graph;
	Value *any = NULL;
	Back c[2];
	Node *m;

	RT_ASSERT(back_has_gradient(b, n));
	back_at_end(b);
	for (int i = 0; i < n->nout; i++) {
		Value *got = back_adjoint(b, n->out[i]), *is;

		if (!got)
			continue;
		is = back_row2(b, "__isnot__", n->at, got, back_none(g, &rt_type_tensor, n->at));
		any = any ? back_row2(b, "__or___bool", n->at, any, is) : is;
	}
	m = graph_insert(g, if_new(g, n->at, any, 0));
	for (int k = 0; k < 2; k++)
		c[k] = back_inside(b, n, NULL, m->sub[k]);
	for (int i = 0; i < n->nout; i++) {
		Value *got = back_adjoint(b, n->out[i]);

		any = got && n->nout > 1 ? back_capture_at(&c[0], n->out[i], n, true) : NULL;
		back_at_end(&c[0]);
		if (any)
			got = back_row2(&c[0], "prim_grad_or_zeros", n->at, got, any);
		else if (got)
			got = back_cast_to(g, got, &rt_type_tensor, n->at);
		*back_slot(b->diff, &c[0].adjoint, n->out[i]) = got;
	}
	b->diff->reverse(&c[0], n);
	join_branches(b, c, m, n->at);
}

/* Returns the number of trips of the forward loop.  Adds it to the values that the loop carries. */
static Value *
count_trips(Graph *g, Node *n)
{
	Value *one, *next;

	graph_set_insert_before(g, n);
	loop_add_carried(n, graph_constant(g, rt_int(0), n->at), NULL);
	graph_set_insert_end(g, loop_body(n));
	one = graph_constant(g, rt_int(1), n->at);
	next = back_emit_row(g, "add_int", n->at, 2, (Value *[2]){ loop_index(n), one });
	block_add_output(loop_body(n), next);
	return n->out[n->nout - 1];
}

static bool
is_list(const Value *v)
{
	return v->type->kind == TYPE_LIST && gradient_rank(v->type) == 2;
}

/* Does carried value k of the loop have a gradient? */
static bool
is_carried_back(Back *b, const Node *n, int k)
{
	const Value *out = n->out[k], *in = loop_body(n)->param->out[1 + k];

	if (!back_is_active(b->diff, out) && !back_is_active(b->diff, in))
		return false;
	if (!back_is_tensor(out) && !is_list(out))
		fail_lacks(b->diff->cx, n->at, "a gradient through a value of type %s that a loop carries",
			type_print(b->diff->cx, out->type));
	return true;
}

/* Returns the initial gradient of carried value k for the backward loop. */
static Value *
entering(Back *b, Node *n, int k)
{
	Value *g = back_adjoint(b, n->out[k]), *v = n->out[k];

	if (is_list(v)) {
		g = back_beside(b, v);
		back_at_end(b);
		return g;
	}
	if (g && (back_is_definite(g) || back_may_be_undefined(b->diff, v)))
		return g;
	if (!g)
		return no_gradient(b, v, n->at);
	v = back_capture(b, v);
	back_at_end(b);
	return back_row2(b, "prim_grad_or_zeros", n->at, g, v);
}

/* Makes the backward loop carry the gradients of values from outside the loop, as sums over its trips. */
static void
carry_given(Back *b, Back *c, Node *n, Node *m)
{
	Graph *g = b->diff->graph;

	for (int i = 0; i < c->given.n; i++) {
		Value *v = c->given.at[i], *init = NULL;

		if (back_is_in(c->from, v) || v->type->kind == TYPE_LIST)
			continue;
		/* The sum starts from zeros, so that its type is known.  It starts undefined if v itself may be
		 * uninitialized. */
		if (v->type->kind == TYPE_TENSOR && !back_may_be_nothing(b->diff, v))
			init = back_capture(b, v);
		graph_set_insert_before(g, m);
		loop_add_carried(m, init ? back_zeros_like(g, init, n->at) : back_none(g, &rt_type_tensor, n->at),
				 NULL);
		back_at_end(c);
		block_add_output(loop_body(m),
				 back_sum(c, loop_body(m)->param->out[m->nout], back_adjoint(c, v), n->at));
		back_give(b, v, m->out[m->nout - 1], n->at);
	}
}

/* m is the backward loop of n, which carries the gradients of n's carried values.  Its results are the gradients of n's
 * initial values. */
static void
carry_back(Back *b, Back *c, Node *n, Node *m)
{
	for (int k = 0, i = 0; k < n->nout; k++) {
		Value *in = loop_body(n)->param->out[1 + k], *got;

		if (!is_carried_back(b, n, k))
			continue;
		got = is_list(in) ? back_beside(c, in) : back_adjoint(c, in) ? back_adjoint(c, in) :
			no_gradient(c, in, n->at);
		block_add_output(loop_body(m), got);
		back_hand_in(b, n->in[2 + k], m->out[i++], n->at);
	}
}

void
reverse_loop(Back *b, Node *n)
{
	Graph *g = b->diff->graph;
	Block *body = loop_body(n);
	const int nout = n->nout;
	Value *trips, *one;
	Back c;
	Node *m;

	if (!has_work(b, n))
		return;
	trips = back_capture(b, count_trips(g, n));
	back_at_end(b);
	m = loop_new(g, n->at, trips, graph_constant(g, rt_bool(true), n->at));
	m->inlined = n->inlined;
	for (int k = 0; k < nout; k++)
		if (is_carried_back(b, n, k))
			loop_add_carried(m, entering(b, n, k), NULL);
	back_at_end(b);
	graph_insert(g, m);
	c = back_inside(b, n, body, loop_body(m));
	back_at_front(&c);
	one = graph_constant(g, rt_int(1), n->at);
	c.trip = back_row2(&c, "sub_int", n->at, back_row2(&c, "sub_int", n->at, trips, loop_index(m)), one);
	for (int k = 0, i = 1; k < nout; k++)
		if (is_carried_back(b, n, k))
			back_hand_in(&c, body->ret->in[1 + k], loop_body(m)->param->out[i++], n->at);
	reverse_block(&c);
	back_at_end(&c);
	block_add_output(loop_body(m), graph_constant(g, rt_bool(true), n->at));
	carry_back(b, &c, n, m);
	carry_given(b, &c, n, m);
}

void
reverse_block(Back *b)
{
	cx_enter(b->diff->cx, b->from->ret->at);
	for NODES_REV(n, b->from)
		if (n->id < b->diff->active->nnode && (!b->stop || node_is_before(n, b->stop)) &&
		    (!b->diff->active->silent[n->id] || back_list_write(n)))
			b->diff->reverse(b, n);
	cx_leave(b->diff->cx);
}
