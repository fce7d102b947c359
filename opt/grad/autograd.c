/*
 * Differentiates calls of torch.autograd.grad in a model: inserts the backward pass before the call, and replaces the
 * call by its results.  In a branch or loop, the backward pass covers the block up to the call, then the nodes before
 * that block.
 *
 *    g = torch.autograd.grad([y], [x], create_graph=True)   ->   the gradient of y by x; (g)
 *
 * The compiler knows which values require a gradient: parameters, inputs of --grad, tensors that requires_grad_ was
 * called on, and values that depend on these.  Calls are replaced in order, so that for a gradient of a gradient the
 * first one already consists of ordinary operators.  Results without create_graph are detached.  A call whose outputs
 * require no gradient stays, and raises when it runs.  y.backward() becomes a call for the leaves whose .grad the
 * method reads.  If it reads no .grad, y.backward() is removed.
 */
#include "autodiff.h"

#include <string.h>

typedef struct Calls {
	Pass  *pass;
	Graph *graph;
	Values leaves;           /* values that require a gradient and that no operator computes */
	Vec(Node *) refused;     /* calls that are not replaced, and raise when they run */
	bool   changed;
} Calls;

/* ---- values that require a gradient ------------------------------------------------------------------------- */

static bool
has_calls(const Graph *g)
{
	return block_has(g->top, aten_grad) || block_has(g->top, aten_backward);
}

/* Emits the read of an attribute at the beginning of the graph. */
static Value *
read_first(Calls *c, Value *v)
{
	Map values = { .arena = c->pass->cx->arena };

	if (v->node == c->graph->top->param)
		return v;
	graph_set_cloned(&values, v->node->in[0], read_first(c, v->node->in[0]));
	return graph_insert(c->graph, node_clone(c->graph, v->node, &values))->out[0];
}

/* Replaces all reads of a parameter by one prim::leaf at the top, which no pass folds.  The read itself stays: freeze
 * decides whether the parameter is a constant, since something may write to it. */
static void
keep_parameter(Calls *c, Node *n, Map *kept)
{
	const char *key;
	IValue x;
	Value *v;

	if (!node_is(n, prim_GetAttr) || n->out[0]->type->kind != TYPE_TENSOR ||
	    !freeze_resolves(c->pass, c->graph, n->out[0], &x) || x.tag != RT_TENSOR ||
	    !(x.u.t->flags & RT_PARAMETER) ||
	    !(x.u.t->flags & RT_REQUIRES_GRAD))
		return;
	key = arena_printf(c->pass->cx->arena, "%p", (void *)x.u.t);
	v = map_get(kept, key);
	if (!v) {
		graph_set_insert_before(c->graph, c->graph->top->ret->next);
		v = read_first(c, n->out[0]);
		v = back_emit_row(c->graph, "prim_leaf", n->at, 1, &v);
		map_put(kept, key, v);
	}
	value_replace_uses(n->out[0], v);
	node_destroy(n);
	c->changed = true;
}

bool
autograd_keeps(Pass *p, Graph *g)
{
	Calls c = { .pass = p, .graph = g };
	Map kept = { .arena = p->cx->arena };

	if (has_calls(g) || questions_any(g->top))
		for INNER_FIRST(n, g->top)
			keep_parameter(&c, n, &kept);
	return c.changed;
}

static void
free_parameters(Calls *c)
{
	for NODES(n, c->graph->top)
		if (node_is(n, prim_leaf)) {
			value_replace_uses(n->out[0], n->in[0]);
			node_destroy(n);
			c->changed = true;
		}
}

/* Replaces x.requires_grad_() by x, which becomes a leaf. */
static void
take_mark(Calls *c, Node *n)
{
	int64_t on;

	if (!value_int(n->in[1], &on) || !on)
		return;
	vec_push(c->pass->cx->arena, &c->leaves, n->in[0]);
	value_replace_uses(n->out[0], n->in[0]);
	node_destroy(n);
	c->changed = true;
}

static void
find_leaves(Calls *c, Block *b)
{
	for INNER_FIRST(n, b)
		if (node_is(n, aten_requires_grad_))
			take_mark(c, n);
		else if (node_is(n, prim_leaf))
			vec_push(c->pass->cx->arena, &c->leaves, n->out[0]);
}

/* ---- a call -------------------------------------------------------------------------------------------------- */

static bool
is_refused(const Calls *c, const Node *n)
{
	for (int i = 0; i < c->refused.n; i++)
		if (c->refused.at[i] == n)
			return true;
	return false;
}

static Node *
find_call(const Calls *c, const Block *b)
{
	for ALL_NODES(n, b)
		if (node_is(n, aten_grad) && !is_refused(c, n))
			return n;
	return NULL;
}

static bool
any_depends(const Active *a, const Value *list)
{
	bool any = false;

	for (int i = 0; i < list->node->nin; i++)
		any |= a->depends[list->node->in[i]->id];
	return any;
}

static bool
is_list_of(const Value *v, const AliasDb *db)
{
	return node_is(v->node, prim_ListConstruct) && !alias_is_written((AliasDb *)(uintptr_t)db, v);
}

static void
raise_before(Calls *c, Node *n, const char *text)
{
	Value *in[2];

	graph_set_insert_before(c->graph, n);
	in[0] = graph_constant(c->graph, value_str(c->pass->cx, text, -1), n->at);
	in[1] = graph_constant(c->graph, value_str(c->pass->cx, "RuntimeError", -1), n->at);
	graph_emit(c->graph, "prim::RaiseException", n->at, 2, in, 0);
}

/* Seeds output i of the call with the gradient in the call's arguments.  Without one, a scalar output is seeded with
 * 1. */
static void
seed_output(Back *b, const Node *call, int i)
{
	Value *v = call->in[0]->node->in[i], *given = NULL;
	const Value *list = call->in[2];

	IValue known;

	if (!back_is_active(b->diff, v))
		return;
	back_at_end(b);
	if (node_is(list->node, prim_ListConstruct) && i < list->node->nin)
		given = list->node->in[i];
	else if (value_constant(list, &known) && known.tag == RT_LIST && i < known.u.list->n)
		given = graph_constant(b->diff->graph, known.u.list->v[i], call->at);
	else if (!value_is_none(list))
		fail_lacks(b->diff->cx, call->at,
			   "torch.autograd.grad with a list of grad_outputs that is not made where it is called");
	if (!given)
		given = back_none(b->diff->graph, &rt_type_tensor, call->at);
	back_give(b, v, back_row2(b, "prim_grad_seed_scalar", call->at, v, given), call->at);
}

static Value *
result_of(Calls *c, Back *b, Node *call, Value *v)
{
	int64_t create = 0, unused = 0;
	Value *g = back_adjoint(b, v);

	value_int(call->in[4], &create);
	value_int(call->in[5], &unused);
	if (!g && !unused)
		raise_before(c, call,
			     "One of the differentiated Tensors appears to not have been used in the graph. Set "
			     "allow_unused=True if this is the desired behavior.");
	back_at_end(b);
	if (!g)
		return back_none(c->graph, &rt_type_tensor, call->at);
	return create || !back_is_definite(g) ? g : back_row1(b, "detach", call->at, g);
}

static void
put_results(Calls *c, Back *b, Node *call)
{
	const Value *from = call->in[1];
	Value **v = new(c->pass->scratch, Value *, from->node->nin + 1), *list;

	for (int i = 0; i < from->node->nin; i++)
		v[i] = result_of(c, b, call, from->node->in[i]);
	back_at_end(b);
	list = back_emit_list(c->graph, v, from->node->nin, type_optional(c->pass->cx, &rt_type_tensor), call->at);
	list->type = call->out[0]->type;
	value_replace_uses(call->out[0], list);
	node_destroy(call);
}

/* Fails if a value that the loop carries from earlier trips depends on an input of the differentiation. */
static void
check_past(Calls *c, Back *top, const Node *call, const Node *loop)
{
	const Block *body = loop_body((Node *)(uintptr_t)loop);
	const Node *from = call->in[1]->node;
	Values outer = { 0 };
	const Active *a;

	for (int i = 0; i < from->nin; i++)
		if (!node_in_block(from->in[i]->node, body))
			vec_push(c->pass->cx->arena, &outer, from->in[i]);
	a = active_from(c->pass->cx, c->graph, outer.at, outer.n, c->pass->scratch);
	for (int k = 0; k < loop->nout; k++) {
		const Value *v = body->param->out[1 + k];

		if ((back_adjoint(top, v) || v->type->kind != TYPE_TENSOR) &&
		    (a->depends[loop->in[2 + k]->id] || a->depends[body->ret->in[1 + k]->id]))
			fail_lacks(c->pass->cx, call->at,
				   "torch.autograd.grad through earlier trips of the loop that it is in");
	}
}

/* Inserts the backward pass before the call, for the part of the call's block before it, then for each enclosing
 * block. */
static void
differentiate(Calls *c, Node *call)
{
	const struct Gradient *before = c->pass->fn->gradient;
	Gradient d = { .call = call };
	Auto a = { .pass = c->pass, .cx = c->pass->cx, .graph = c->graph, .pruned = { .arena = c->pass->cx->arena } };
	Back top;

	c->pass->fn->gradient = &d;
	if (back_begin(&a, &top)) {
		for (int i = 0; i < call->in[0]->node->nin; i++)
			seed_output(&top, call, i);
		for (;; top.from = top.from->owner->block) {
			reverse_block(&top);
			if (!top.from->owner)
				break;
			if (node_is(top.from->owner, prim_Loop))
				check_past(c, &top, call, top.from->owner);
		}
		put_results(c, &top, call);
	}
	c->pass->fn->gradient = before;
	ops_compile_bodies(c->pass->cx, c->graph);
	pass_lost_alias(c->pass);
}

/* Can the call be differentiated?  If not, it stays in the graph and raises when it runs. */
static bool
is_meant(Calls *c, Node *call)
{
	const Active *a = active_from(c->pass->cx, c->graph, c->leaves.at, c->leaves.n, c->pass->scratch);
	const AliasDb *db = alias_db(c->graph, c->pass->scratch);

	if (!is_list_of(call->in[0], db) || !is_list_of(call->in[1], db))
		fail_lacks(c->pass->cx, call->at, "torch.autograd.grad of lists that are not made where it is called");
	if (!any_depends(a, call->in[0]))
		return false;
	for (int i = 0; i < call->in[1]->node->nin; i++)
		if (!a->depends[call->in[1]->node->in[i]->id]) {
			raise_before(c, call, "One of the differentiated Tensors does not require grad");
			return false;
		}
	return true;
}

/* ---- backward ------------------------------------------------------------------------------------------------ */

/* State for y.backward(), which adds to the .grad of leaves that the method may read: the gradient of each such leaf so
 * far. */
typedef struct Grads {
	Calls *calls;
	Values so_far;           /* Sum of gradients of each leaf, by index in c->leaves.  Null if there is none. */
	bool  *read;             /* whether the leaf's .grad is read anywhere, by index in c->leaves */
	bool   any;
} Grads;

static int
leaf_at(const Calls *c, const Value *v)
{
	for (int i = 0; i < c->leaves.n; i++)
		if (c->leaves.at[i] == v)
			return i;
	return -1;
}

static void
find_reads(Grads *s, const Block *b)
{
	for ALL_NODES(n, b)
		if (node_is(n, prim_grad) && leaf_at(s->calls, n->in[0]) >= 0)
			s->read[leaf_at(s->calls, n->in[0])] = s->any = true;
}

/* Replaces a read of x.grad by the gradient so far, as a Tensor that may be undefined. */
static void
answer_read(Grads *s, Node *n)
{
	const int i = leaf_at(s->calls, n->in[0]);

	if (i < 0 || !s->so_far.at[i])
		return;
	graph_set_insert_before(s->calls->graph, n);
	value_replace_uses(n->out[0], back_cast_to(s->calls->graph, s->so_far.at[i], &rt_type_tensor, n->at));
	node_destroy(n);
}

/* Makes a list of one value.  Returns lists and None unchanged. */
static Value *
as_list(Graph *g, Value *v, const Type *elem, Range at)
{
	return v->type->kind == TYPE_LIST || value_is_none(v) ? v : back_emit_list(g, &v, 1, elem, at);
}

/* Replaces y.backward() by a call of torch.autograd.grad for the leaves whose .grad is read.  Adds its results to their
 * gradients. */
static void
put_grad(Grads *s, Node *n)
{
	Graph *g = s->calls->graph;
	Cx *cx = g->cx;
	const Type *optional = type_optional(cx, &rt_type_tensor);
	Values by = { 0 };
	Value *in[6];
	Node *parts;

	for (int i = 0; i < s->calls->leaves.n; i++)
		if (s->read[i])
			vec_push(cx->arena, &by, s->calls->leaves.at[i]);
	graph_set_insert_before(g, n);
	in[0] = as_list(g, n->in[0], &rt_type_tensor, n->at);
	in[1] = back_emit_list(g, by.at, by.n, &rt_type_tensor, n->at);
	in[2] = as_list(g, n->in[1], optional, n->at);
	in[3] = n->in[2];
	in[4] = n->in[3];
	in[5] = graph_constant(g, rt_bool(true), n->at);
	in[0] = back_emit_row(g, "grad", n->at, 6, in);
	parts = graph_emit(g, "prim::ListUnpack", n->at, 1, in, by.n);
	for (int i = 0, k = 0; i < s->calls->leaves.n; i++) {
		Value **have = &s->so_far.at[i];

		if (!s->read[i])
			continue;
		parts->out[k]->type = optional;
		*have = *have ? back_emit_row(g, "prim_grad_sum", n->at, 2, (Value *[2]){ *have, parts->out[k] })
			      : parts->out[k];
		k++;
	}
}

static void
take_backward(Grads *s, const Active *a, Node *n)
{
	const Value *of = n->in[0];
	const bool list = of->type->kind == TYPE_LIST;

	if (list && !node_is(of->node, prim_ListConstruct))
		fail_lacks(s->calls->pass->cx, n->at,
			   "torch.autograd.backward of a list that is not made where it is called");
	if (list ? !any_depends(a, of) : !a->depends[of->id])
		return;
	if (s->any && n->block != s->calls->graph->top)
		fail_lacks(s->calls->pass->cx, n->at,
			   "torch.autograd.backward in a branch or loop, where .grad is read");
	if (s->any)
		put_grad(s, n);
	node_destroy(n);
	s->calls->changed = true;
}

static void
walk_backward(Grads *s, const Active *a, Block *b)
{
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			walk_backward(s, a, n->sub[i]);
		if (node_is(n, aten_backward))
			take_backward(s, a, n);
		else if (node_is(n, prim_grad))
			answer_read(s, n);
	}
}

static void
backward_to_grad(Calls *c)
{
	Grads s = { .calls = c, .read = new(c->pass->scratch, bool, c->leaves.n + 1) };

	for (int i = 0; i < c->leaves.n; i++)
		vec_push(c->pass->cx->arena, &s.so_far, NULL);
	find_reads(&s, c->graph->top);
	walk_backward(&s, active_from(c->pass->cx, c->graph, c->leaves.at, c->leaves.n, c->pass->scratch),
		      c->graph->top);
}

/* ---- the pass ------------------------------------------------------------------------------------------------ */

bool
autograd(Pass *p, Graph *g)
{
	Calls c = { .pass = p, .graph = g };
	const Gradient *d = p->fn ? p->fn->gradient : NULL;
	Node *call;

	if (!p->fn || g != p->fn->prepared)
		return false;
	if (!d && questions_any(g->top))
		c.changed = questions_answer(p, g);
	if (!d && !has_calls(g)) {
		free_parameters(&c);
		return c.changed;
	}
	for (int i = 0; d && i < d->inputs.n; i++)
		vec_push(p->cx->arena, &c.leaves, graph_inputs(g)[d->inputs.at[i].input]);
	find_leaves(&c, g->top);
	if (has_calls(g))
		backward_to_grad(&c);
	while ((call = find_call(&c, g->top)))
		if (is_meant(&c, call)) {
			differentiate(&c, call);
			c.changed = true;
		} else {
			vec_push(p->cx->arena, &c.refused, call);
		}
	free_parameters(&c);
	return c.changed;
}
