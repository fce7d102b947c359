/*
 * The way back through containers and control flow.
 *
 * An If goes back through the branch that was taken, a Loop through its trips in reverse order.  A tuple or list that is
 * made or taken apart hands its gradient to its elements; a list that changes has a list of gradients beside it.
 */
#include "autodiff.h"

#include <string.h>

/* ---- containers -------------------------------------------------------------------------------------------------- */

void
reverse_unpack(Back *b, Node *n)
{
	Value *of = n->in[0];
	Node *made = back_construction(b->a, of);
	Values *parts;

	if (!back_is_active(b->a, of) || !back_has_gradient(b, n))
		return;
	if (of->type->kind == TYPE_LIST && !made && !back_is_unpacked(b->a, of)) {
		for (int i = 0; i < n->nout; i++) {
			Value *to = back_adjoint(b, n->out[i]) ? back_beside(b, of) : NULL;

			back_at_end(b);
			if (to)
				back_emit_row(b->a->g, "prim_grad_list_add", n->at, 3, (Value *[3]){ to,
					graph_constant(b->a->g, rt_int(i), n->at), back_adjoint(b, n->out[i]) });
		}
		return;
	}
	for (int i = 0; i < n->nout && made; i++)
		if (back_adjoint(b, n->out[i]))
			back_give(b, made->in[i], back_adjoint(b, n->out[i]), n->at);
	if (made)
		return;
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
	if (n->nin > 1 && !value_int(n->in[1], &i))
		fail_lacks(b->a->cx, n->at, "a gradient through a tuple's element by a number that is not known");
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
	if (back_adjoint(b, n->out[0]))
		back_give(b, n->in[0], back_adjoint(b, n->out[0]), n->at);
}

/* A list with gradients beside it, made of these elements. */
void
reverse_construct(Back *b, Node *n)
{
	Value *beside_it = back_adjoint(b, n->out[0]);

	for (int i = 0; i < n->nin && beside_it; i++) {
		Value *g, *at;

		if (!back_is_active(b->a, n->in[i]))
			continue;
		back_at_end(b);
		at = graph_constant(b->a->g, rt_int(i), n->at);
		g = back_row2(b, "__getitem___t", n->at, beside_it, at);
		g->type = type_optional(b->a->cx, &rt_type_tensor);
		back_give(b, n->in[i], g, n->at);
	}
}

/* append, _set_item: what went into the list gets the gradient of its place, which is empty before. */
void
reverse_put(Back *b, Node *n, bool append)
{
	Value *element = n->in[append ? 1 : 2], *list = n->in[0], *g, *to, *i;

	if (!back_is_active(b->a, list))
		return;
	to = back_beside(b, list);
	i = append ? NULL : back_capture_at(b, n->in[1], n, false);
	back_at_end(b);
	g = append ? back_row2(b, "pop_t", n->at, to, graph_constant(b->a->g, rt_int(-1), n->at)) :
		back_row2(b, "prim_grad_list_take", n->at, to, i);
	g->type = type_optional(b->a->cx, &rt_type_tensor);
	if (!back_is_active(b->a, element))
		return;
	back_give(b, element, g, n->at);
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
	back_emit_row(b->a->g, "prim_grad_list_add", n->at, 3, (Value *[3]){ to, i, g });
}

/* slice, list: elements of one list in another. */
void
reverse_part(Back *b, Node *n)
{
	Value *of = back_adjoint(b, n->out[0]), *to, *in[5] = { 0 };

	if (!of)
		return;
	to = back_beside(b, n->in[0]);
	for (int i = 1; i < 4 && node_is(n, "aten::slice"); i++)
		in[1 + i] = back_capture_at(b, n->in[i], n, false);
	back_at_end(b);
	if (node_is(n, "aten::list")) {
		in[2] = in[3] = back_none(b->a->g, &rt_type_int, n->at);
		in[4] = graph_constant(b->a->g, rt_int(1), n->at);
	}
	in[0] = to;
	in[1] = of;
	back_emit_row(b->a->g, "prim_grad_list_part", n->at, 5, in);
}

/* a + b of lists. */
void
reverse_concat(Back *b, Node *n)
{
	Value *of = back_adjoint(b, n->out[0]), *skip, *to;

	for (int k = 0; k < 2 && of; k++) {
		if (!back_is_active(b->a, n->in[k]))
			continue;
		skip = k ? back_capture_at(b, n->in[0], n, false) : NULL;
		to = back_beside(b, n->in[k]);
		back_at_end(b);
		skip = k ? back_row1(b, "len_t", n->at, skip) : graph_constant(b->a->g, rt_int(0), n->at);
		back_emit_row(b->a->g, "prim_grad_list_from", n->at, 3, (Value *[3]){ to, of, skip });
	}
}

/* Does it take or change lists of tensors in a way that is not known here? */
bool
back_is_strange(Back *b, const Node *n)
{
	const Schema *s = node_schema(n);

	for (int i = 0; s && i < n->nin; i++) {
		const bool list = back_is_active(b->a, n->in[i]) && n->in[i]->type->kind != TYPE_TENSOR && gradient_rank(n->in[i]->type) != 1;

		if (list && node_writes_input(n, i))
			return true;
		if (list && back_has_gradient(b, n) && (i >= s->nargs || !gradient_rank(s->args[i].type)))
			return true;
	}
	return false;
}

/* ---- control flow -------------------------------------------------------------------------------------------------- */

Back
back_inside(Back *b, Node *n, Block *from, Block *to)
{
	Back c = { .a = b->a, .up = b, .from = from, .to = to, .node = n };

	graph_set_insert_end(b->a->g, to);
	c.front = graph_constant(b->a->g, rt_none(), n->at)->node;
	return c;
}

/* A gradient is owed for v where there is none: undefined where it may be, else zeros. */
static Value *
no_gradient(Back *c, Value *v, Range at)
{
	Graph *g = c->a->g;
	Value *like;

	back_at_end(c);
	if (back_may_be_undefined(c->a, v))
		return back_none(g, &rt_type_tensor, at);
	like = back_capture(c, v);
	back_at_end(c);
	return back_zeros_like(g, like, at);
}

/* The gradients of two branches as those of the node; what was made in the branches themselves stays there. */
static void
join(Back *b, Back *c, Node *m, Range at)
{
	Graph *g = b->a->g;

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < c[k].given.n; i++) {
			Value *v = c[k].given.at[i], *part[2], *out;

			if (back_is_in(c[k].from, v) || v->type->kind == TYPE_LIST || (k && back_adjoint(&c[0], v)))
				continue;
			for (int j = 0; j < 2; j++) {
				part[j] = back_adjoint(&c[j], v) ? back_adjoint(&c[j], v) : no_gradient(&c[j], v, at);
				block_add_output(m->sub[j], part[j]);
			}
			out = node_add_output(m, back_is_definite(part[0]) && back_is_definite(part[1]) ? &rt_type_tensor :
				type_optional(g->cx, &rt_type_tensor));
			back_give(b, v, out, at);
		}
}

/* Does it write to lists of tensors that have gradients?  Then the way back goes through it, too. */
static bool
puts_into_lists(const Auto *a, const Block *b)
{
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			if (puts_into_lists(a, n->sub[i]))
				return true;
		if ((node_is(n, "aten::append") || node_is(n, "aten::_set_item")) && back_is_active(a, n->in[0]))
			return true;
	}
	return false;
}

static bool
has_work(Back *b, const Node *n)
{
	bool any = back_has_gradient(b, n);

	for (int i = 0; i < n->nsub && !any; i++)
		any = puts_into_lists(b->a, n->sub[i]);
	return any;
}

void
reverse_if(Back *b, Node *n)
{
	Graph *g = b->a->g;
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
			else if (n->out[i]->type->kind == TYPE_TUPLE && n->out[i]->id < b->nparts)
				*back_parts_of(&c[k], n->sub[k]->ret->in[i], 0) = b->parts[n->out[i]->id];
		}
		reverse_block(&c[k]);
	}
	join(b, c, m, n->at);
}

/* A node whose results' gradients all may be undefined: if one is not, back as ever. */
void
reverse_maybe(Back *b, Node *n)
{
	Graph *g = b->a->g;
	Value *any = NULL;
	Back c[2];
	Node *m;

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
		*back_slot(b->a, &c[0].adjoint, n->out[i]) = got;
	}
	reverse_node(&c[0], n);
	join(b, c, m, n->at);
}

/* How often the forward loop runs: one more value that it carries. */
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

/* Is the loop's value k on the way of gradients? */
static bool
is_carried_back(Back *b, const Node *n, int k)
{
	const Value *out = n->out[k], *in = loop_body(n)->param->out[1 + k];

	if (!back_is_active(b->a, out) && !back_is_active(b->a, in))
		return false;
	if (!back_is_tensor(out))
		fail_lacks(b->a->cx, n->at, "a gradient through a value of type %s that a loop carries",
			type_print(b->a->cx, out->type));
	return true;
}

/* The gradient with which the way back enters the loop for its value k. */
static Value *
entering(Back *b, Node *n, int k)
{
	Value *g = back_adjoint(b, n->out[k]), *v = n->out[k];

	if (g && (back_is_definite(g) || v->type->kind != TYPE_TENSOR))
		return g;
	if (!g)
		return no_gradient(b, v, n->at);
	v = back_capture(b, v);
	back_at_end(b);
	return back_row2(b, "prim_grad_or_zeros", n->at, g, v);
}

void
reverse_loop(Back *b, Node *n)
{
	Graph *g = b->a->g;
	Block *body = loop_body(n);
	const int nout = n->nout;
	Value *trips, *one, *init;
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
	for (int k = 0, i = 0; k < nout; k++) {
		Value *in = body->param->out[1 + k], *got;

		if (!is_carried_back(b, n, k))
			continue;
		got = back_adjoint(&c, in) ? back_adjoint(&c, in) : no_gradient(&c, in, n->at);
		block_add_output(loop_body(m), got);
		back_give(b, n->in[2 + k], m->out[i++], n->at);
	}
	for (int i = 0; i < c.given.n; i++) {
		Value *v = c.given.at[i];

		if (back_is_in(body, v) || v->type->kind == TYPE_LIST)
			continue;
		/* From zeros on, so that the type is known; undefined where v itself may be. */
		init = v->type->kind == TYPE_TENSOR && !back_may_be_nothing(v) ? back_capture(b, v) : NULL;
		graph_set_insert_before(g, m);
		loop_add_carried(m, init ? back_zeros_like(g, init, n->at) : back_none(g, &rt_type_tensor, n->at), NULL);
		back_at_end(&c);
		block_add_output(loop_body(m), back_sum(&c, loop_body(m)->param->out[m->nout], back_adjoint(&c, v), n->at));
		back_give(b, v, m->out[m->nout - 1], n->at);
	}
}
