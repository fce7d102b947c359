/*
 * Replaces in-place operators that change a tensor's sizes and strides, not its elements, by views.
 *
 *   x = aten::add(a, b); y = aten::t_(x); z = aten::mul(x, c)   ->   y = aten::t(x); z = aten::mul(y, c)
 *
 * Afterwards a value never changes its sizes, which specialization and plans rely on.
 *
 * Other references to the same tensor object see the change; views of it do not.  The pass therefore requires that
 * nothing else refers to the object.  x must be new, or an argument of the method that is called from outside.  Before
 * the write, no container may hold x, no block may return it, and no operator that can return its argument may receive
 * it.  The write must be in x's own block.  All other such writes stay: specialization refuses them (spec_op), so that
 * generic code runs.  Writes in a method with gradients stay, too: differentiation ignores a write under no_grad
 * (unwrite.c), but not a view.
 */
#include "../opt.h"
#include "../../ir/alias.h"

#include <string.h>

/* Is v a view that nothing reads before n?  If so, it can have the sizes that n sets from the start. */
static bool
is_read_only_after(const Value *v, const Node *n)
{
	if (!node_makes_view(v->node) || v->node->block != n->block)
		return false;
	for (int i = 0; i < v->uses.n; i++)
		if (v->uses.at[i].node != n && !node_is_before(n, v->uses.at[i].node))
			return false;
	return true;
}

bool
reshapes_input(const Node *n)
{
	return op_has(n->op, TRAIT_RESHAPES) || (op_has(n->op, TRAIT_SETS_MEMORY) && !is_read_only_after(n->in[0], n));
}

bool
node_keeps_sizes(const Node *n)
{
	return !op_has(n->op, TRAIT_RESHAPES) && !op_has(n->op, TRAIT_SETS_MEMORY);
}

bool
node_makes_view(const Node *n)
{
	return op_has(n->op, TRAIT_NEW_VIEW);
}

static bool
is_new_object(const Pass *p, const Graph *g, const Value *v)
{
	if (v->node == g->top->param)
		return p->fn && g == p->fn->prepared && p->self.tag == RT_OBJECT;
	return value_is_fresh(v) || node_makes_view(v->node);
}

/* May this use store a reference to the object, or return the object? */
static bool
holds_object(const Use *u)
{
	const Schema *s = node_schema(u->node);

	if (!s || !u->node->op || u->index >= s->nargs ||
	    (s->args[u->index].type->kind != TYPE_TENSOR && s->args[u->index].type->kind != TYPE_OPTIONAL))
		return true;
	if (node_writes_input(u->node, u->index))
		return u->node->nout != 1 || u->node->out[0]->uses.n;
	return node_may_return_input(u->node) || (s->args[u->index].alias && !op_has(u->node->op, TRAIT_NEW_VIEW));
}

/* Returns the view operator for an in-place one: aten::t for aten::t_, aten::transpose.int for aten::transpose_. */
static Op *
view_of(Cx *cx, const Node *n)
{
	const char *name = arena_strndup(cx->arena, n->kind->name, (int64_t)strlen(n->kind->name) - 1);

	return op_find(cx, name, node_is(n, aten_transpose_) ? "int" : n->op->overload);
}

static bool
make_view(Pass *p, Graph *g, Node *n)
{
	Value *self = n->in[0];
	Op *op = view_of(g->cx, n);
	Node *m;

	if (!op || op_schema(g->cx, op)->nargs != n->nin || self->node->block != n->block ||
	    self->type->kind != TYPE_TENSOR || !is_new_object(p, g, self) || has_use_before(self, n, holds_object) ||
	    !pass_may(p))
		return false;
	pass_note(p, n, "nothing else holds the tensor");
	m = node_new(g, sym(g->cx, op->name), n->at, 1);
	m->op = op;
	m->inlined = n->inlined;
	for (int i = 0; i < n->nin; i++)
		node_add_input(m, n->in[i]);
	node_insert_before(m, n);
	m->out[0]->type = n->out[0]->type;
	m->out[0]->name = n->out[0]->name;
	value_replace_uses_after(self, m->out[0], n);
	value_replace_uses(n->out[0], m->out[0]);
	node_destroy(n);
	return true;
}

bool
node_gives_written(const Node *n)
{
	const Schema *s = node_schema(n);

	return n->op && s && n->nout == 1 && n->nin && node_writes_input(n, 0) && s->rets[0].alias &&
	       s->rets[0].alias->write && s->rets[0].type->kind == TYPE_TENSOR && s->args[0].type->kind == TYPE_TENSOR;
}

/* Replaces uses of the results of writes by the tensor that was written to. */
static bool
name_writes(Block *b)
{
	bool changed = false;

	for INNER_FIRST(n, b)
		if (node_gives_written(n) && n->out[0]->uses.n) {
			value_replace_uses(n->out[0], n->in[0]);
			changed = true;
		}
	return changed;
}

static bool
any(const Block *b)
{
	for ALL_NODES(n, b)
		if (reshapes_input(n))
			return true;
	return false;
}

bool
reshapes(Pass *p, Graph *g)
{
	bool changed;

	if ((p->fn && p->fn->gradient) || !any(g->top))
		return false;
	changed = name_writes(g->top);
	for INNER_FIRST(n, g->top)
		if (op_has(n->op, TRAIT_RESHAPES))
			changed |= make_view(p, g, n);
	if (changed)
		pass_lost_alias(p);
	return changed;
}
