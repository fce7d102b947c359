/*
 * torch.autograd.grad in a model: the way back is written before the call, and the call becomes its results.
 *
 *    g = torch.autograd.grad([y], [x], create_graph=True)   ->   the gradient of what leads from x to y; (g)
 *
 * What requires a gradient is known ahead of time: parameters, what is differentiated by (--grad), what requires_grad_ was
 * called on, and what depends on them.  Calls are taken in order, so that a gradient of a gradient finds the first one as
 * ordinary operators; results without create_graph are detached.  A call whose outputs require no gradient stays, and
 * raises where it runs.
 */
#include "autodiff.h"

#include <string.h>

typedef struct Calls {
	Pass  *p;
	Graph *g;
	Values leaves;           /* what requires a gradient */
	bool   changed;
} Calls;

/* ---- what requires a gradient ------------------------------------------------------------------------------- */

static bool
has_kind(const Block *b, const char *kind)
{
	for NODES(n, b) {
		if (node_is(n, kind))
			return true;
		for (int i = 0; i < n->nsub; i++)
			if (has_kind(n->sub[i], kind))
				return true;
	}
	return false;
}

static bool
has_calls(const Graph *g)
{
	return has_kind(g->top, "aten::grad") || has_kind(g->top, "aten::backward");
}

/* What is read becomes one value for each parameter, that nothing folds: prim::leaf. */
static void
keep_parameter(Calls *c, Node *n, Map *kept)
{
	const char *key;
	IValue x;
	Value *v;

	if (!node_is(n, "prim::GetAttr") || n->out[0]->type->kind != TYPE_TENSOR || !freeze_resolves(c->p, c->g, n->out[0], &x) ||
	    x.tag != RT_TENSOR || !(x.u.t->flags & RT_PARAMETER) || !(x.u.t->flags & RT_REQUIRES_GRAD))
		return;
	key = arena_printf(c->p->cx->arena, "%p", (void *)x.u.t);
	v = map_get(kept, key);
	if (!v) {
		graph_set_insert_before(c->g, c->g->top->ret->next);
		v = back_emit_row(c->g, "prim_leaf", n->at, 1, (Value *[1]){ graph_constant(c->g, x, n->at) });
		node_move_before(v->node->in[0]->node, v->node);
		map_put(kept, key, v);
	}
	value_replace_uses(n->out[0], v);
	node_destroy(n);
	c->changed = true;
}

static void
keep_parameters(Calls *c, Block *b, Map *kept)
{
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			keep_parameters(c, n->sub[i], kept);
		keep_parameter(c, n, kept);
	}
}

bool
autograd_keeps(Pass *p, Graph *g)
{
	Calls c = { .p = p, .g = g };
	Map kept = { .arena = p->cx->arena };

	if (has_calls(g))
		keep_parameters(&c, g->top, &kept);
	return c.changed;
}

static void
free_parameters(Calls *c)
{
	for NODES(n, c->g->top)
		if (node_is(n, "prim::leaf")) {
			value_replace_uses(n->out[0], n->in[0]);
			node_destroy(n);
			c->changed = true;
		}
}

/* x.requires_grad_(): x itself requires one from now on. */
static void
take_mark(Calls *c, Node *n)
{
	int64_t on;

	if (!value_int(n->in[1], &on) || !on)
		return;
	vec_push(c->p->cx->arena, &c->leaves, n->in[0]);
	value_replace_uses(n->out[0], n->in[0]);
	node_destroy(n);
	c->changed = true;
}

static void
find_leaves(Calls *c, Block *b)
{
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			find_leaves(c, n->sub[i]);
		if (node_is(n, "aten::requires_grad_"))
			take_mark(c, n);
		else if (node_is(n, "prim::leaf"))
			vec_push(c->p->cx->arena, &c->leaves, n->out[0]);
	}
}

/* ---- a call -------------------------------------------------------------------------------------------------- */

static Node *
find_call(Block *b)
{
	for NODES(n, b) {
		Node *in;

		if (node_is(n, "aten::grad"))
			return n;
		for (int i = 0; i < n->nsub; i++)
			if ((in = find_call(n->sub[i])))
				return in;
	}
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
	return node_is(v->node, "prim::ListConstruct") && !alias_is_written((AliasDb *)(uintptr_t)db, v);
}

static void
raise_before(Calls *c, Node *n, const char *text)
{
	Value *in[2];

	graph_set_insert_before(c->g, n);
	in[0] = graph_constant(c->g, value_str(c->p->cx, text, -1), n->at);
	in[1] = graph_constant(c->g, value_str(c->p->cx, "builtins.RuntimeError", -1), n->at);
	graph_emit(c->g, "prim::RaiseException", n->at, 2, in, 0);
}

/* The gradient that comes in for output i: what is given, or one for a scalar. */
static void
seed_output(Back *b, const Node *call, int i)
{
	Value *v = call->in[0]->node->in[i], *given = NULL;
	const Value *list = call->in[2];

	IValue known;

	if (!back_is_active(b->a, v))
		return;
	back_at_end(b);
	if (node_is(list->node, "prim::ListConstruct") && i < list->node->nin)
		given = list->node->in[i];
	else if (value_constant(list, &known) && known.tag == RT_LIST && i < known.u.list->n)
		given = graph_constant(b->a->g, known.u.list->v[i], call->at);
	else if (!value_is_none(list))
		fail_lacks(b->a->cx, call->at, "torch.autograd.grad with gradients that are not listed where it is called");
	if (!given)
		given = back_none(b->a->g, &rt_type_tensor, call->at);
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
		raise_before(c, call, "One of the differentiated Tensors appears to not have been used in the graph. Set "
			"allow_unused=True if this is the desired behavior.");
	back_at_end(b);
	if (!g)
		return back_none(c->g, &rt_type_tensor, call->at);
	return create || !back_is_definite(g) ? g : back_row1(b, "detach", call->at, g);
}

static void
put_results(Calls *c, Back *b, Node *call)
{
	const Value *from = call->in[1];
	Value **v = new(c->p->scratch, Value *, from->node->nin + 1), *list;

	for (int i = 0; i < from->node->nin; i++)
		v[i] = result_of(c, b, call, from->node->in[i]);
	back_at_end(b);
	list = back_emit_list(c->g, v, from->node->nin, type_optional(c->p->cx, &rt_type_tensor), call->at);
	list->type = call->out[0]->type;
	value_replace_uses(call->out[0], list);
	node_destroy(call);
}

static void
differentiate(Calls *c, Node *call)
{
	const struct Gradient *before = c->p->fn->gradient;
	Gradient d = { .call = call };
	Auto a = { .p = c->p, .cx = c->p->cx, .g = c->g, .pruned = { .arena = c->p->cx->arena } };
	Back top;

	c->p->fn->gradient = &d;
	back_begin(&a, &top);
	for (int i = 0; i < call->in[0]->node->nin; i++)
		seed_output(&top, call, i);
	reverse_block(&top);
	put_results(c, &top, call);
	c->p->fn->gradient = before;
	ops_compile_bodies(c->p->cx, c->g);
	pass_lost_alias(c->p);
}

/* Is it to be differentiated?  Otherwise it stays, and raises. */
static bool
is_meant(Calls *c, Node *call)
{
	const Active *a = active_from(c->p->cx, c->g, c->leaves.at, c->leaves.n, c->p->scratch);
	const AliasDb *db = alias_db(c->g, c->p->scratch);

	if (!is_list_of(call->in[0], db) || !is_list_of(call->in[1], db))
		fail_lacks(c->p->cx, call->at, "torch.autograd.grad of lists that are not made where it is called");
	if (!any_depends(a, call->in[0]))
		return false;
	if (call->block != c->g->top)
		fail_lacks(c->p->cx, call->at, "torch.autograd.grad in a branch or loop");
	for (int i = 0; i < call->in[1]->node->nin; i++)
		if (!a->depends[call->in[1]->node->in[i]->id]) {
			raise_before(c, call, "One of the differentiated Tensors does not require grad");
			return false;
		}
	return true;
}

/* torch.autograd.backward would leave gradients behind in .grad. */
static void
check_backward(Calls *c, const Active *a, Block *b)
{
	for NODES(n, b) {
		const Value *of = n->nin ? n->in[0] : NULL;

		for (int i = 0; i < n->nsub; i++)
			check_backward(c, a, n->sub[i]);
		if (node_is(n, "aten::backward") && (a->depends[of->id] || (node_is(of->node, "prim::ListConstruct") && any_depends(a, of))))
			fail_lacks(c->p->cx, n->at, "torch.autograd.backward in a model");
	}
}

bool
autograd(Pass *p, Graph *g)
{
	Calls c = { .p = p, .g = g };
	const Gradient *d = p->fn ? p->fn->gradient : NULL;
	Node *call;

	if (!p->fn || g != p->fn->prepared || !has_calls(g))
		return false;
	for (int i = 0; d && i < d->inputs.n; i++)
		vec_push(p->cx->arena, &c.leaves, graph_inputs(g)[d->inputs.at[i].input]);
	find_leaves(&c, g->top);
	check_backward(&c, active_from(p->cx, g, c.leaves.at, c.leaves.n, p->scratch), g->top);
	while ((call = find_call(g->top)) && is_meant(&c, call)) {
		differentiate(&c, call);
		c.changed = true;
	}
	free_parameters(&c);
	return c.changed;
}
