/*
 * In-place operators on fresh values become functional.
 *
 *    x = aten::batch_norm(...); y = aten::relu_(x)      ->   y = aten::relu(x)
 *    x = aten::conv2d(...);     y = aten::add_(x, z)    ->   t = aten::add(x, z); y = aten::copy(x, t)
 *
 * A value is fresh when its node's schema gives it memory of its own; all its aliases are then made by its uses.  The
 * write is seen by nobody else when no use before it makes an alias (a view, a container, a block's output), and is in
 * the block of the value itself: in a loop's body the next trip would see it.  Uses afterwards get the result.  The
 * aten::copy keeps self's type and sizes where the functional operator could give others; it goes once types are known.
 * In a specialized graph, where branches that hid where a value came from are gone, types decide.
 */
#include "opt.h"

#include <string.h>

/* Does v own its memory when it is made? */
static bool
is_fresh(const Value *v)
{
	const Schema *s = node_schema(v->node);

	return s && v->node->op && !s->varret && v->index < s->nrets && v->type->kind == TYPE_TENSOR &&
	       !s->rets[v->index].alias;
}

/* May this use make an alias of the value, or keep it? */
static bool
makes_alias(const Use *u)
{
	const Schema *s = node_schema(u->node);

	if (!s || !u->node->op || u->index >= s->nargs)
		return !node_is(u->node, "prim::profile");
	if (s->args[u->index].type->kind != TYPE_TENSOR && s->args[u->index].type->kind != TYPE_OPTIONAL)
		return true;
	return s->args[u->index].alias != NULL;
}

static bool
seen_by_nobody_else(const Value *self, const Node *write)
{
	for (int i = 0; i < self->uses.n; i++) {
		const Use *u = &self->uses.at[i];

		if (u->node != write && !node_is_before(write, u->node) && makes_alias(u))
			return false;
	}
	return true;
}

static bool
is_in_place(const Node *n)
{
	const size_t len = strlen(n->kind->name);
	const Schema *s;

	if (!n->op || n->op->form != OP_ALSO || n->nout != 1 || n->kind->name[len - 1] != '_')
		return false;
	s = node_schema(n);
	return s->nargs > 0 && s->args[0].alias && s->args[0].alias->write && s->args[0].type->kind == TYPE_TENSOR;
}

/* Pointwise of one tensor whose type the result has by the row's own rule. */
static bool
keeps_type(const Op *base, const Schema *s)
{
	int tensors = 0;

	if (base->form != OP_MAP || strcmp(base->result, "promote"))
		return false;
	for (int i = 0; i < s->nargs; i++)
		tensors += s->args[i].type->kind == TYPE_TENSOR;
	return tensors == 1 && s->nargs == 1;
}

/* The functional node before n; null when the arguments do not correspond. */
static Value *
functional_value(Graph *g, Node *n, Op *base)
{
	const Schema *from = node_schema(n), *to = op_schema(g->cx, base);
	Node *m = node_new(g, sym(g->cx, base->name), n->at, 1);

	m->op = base;
	m->inlined = n->inlined;
	for (int i = 0; i < to->nargs; i++) {
		const int at = schema_find(from, to->args[i].name);

		if (at < 0 || at >= n->nin || to->nrets != 1) {
			node_destroy(m);
			return NULL;
		}
		node_add_input(m, n->in[at]);
	}
	node_insert_before(m, n);
	return m->out[0];
}

static Value *
copy_of(Graph *g, Node *n, Value *self, Value *result)
{
	Node *m = node_new(g, sym(g->cx, "aten::copy"), n->at, 1);

	m->op = op_find(g->cx, "aten::copy", "");
	m->inlined = n->inlined;
	node_add_input(m, self);
	node_add_input(m, result);
	graph_set_insert_before(g, n);
	node_add_input(m, graph_constant(g, rt_bool(false), n->at));
	node_insert_before(m, n);
	return m->out[0];
}

static bool
make_functional(Pass *p, Graph *g, Node *n)
{
	Op *base = op_by_id(g->cx, n->op->base);
	Value *self = n->in[0], *result;
	const bool typed = type_is_complete(n->out[0]->type);

	if (!base || self->node->block != n->block || !is_fresh(self) || !seen_by_nobody_else(self, n))
		return false;
	/* aten::copy has a body, which only what a prepared graph calls gets compiled. */
	if (!typed && !keeps_type(base, node_schema(n)) && (p->fn && p->fn->prepared != g))
		return false;
	result = functional_value(g, n, base);
	if (!result)
		return false;
	if ((typed && !known_gives(p->cx, result->node, n->out[0]->type)) || !pass_may(p)) {
		node_destroy(result->node);
		return false;
	}
	pass_note(p, n, "nobody else sees the write");
	if (typed)
		result->type = n->out[0]->type;
	else if (!keeps_type(base, node_schema(n)))
		result = copy_of(g, n, self, result);
	result->name = n->out[0]->name;
	value_replace_uses(n->out[0], result);
	value_replace_uses_after(self, result, n);
	node_destroy(n);
	return true;
}

static bool
functional_block(Pass *p, Graph *g, Block *b)
{
	bool changed = false;

	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			changed |= functional_block(p, g, n->sub[i]);
		if (is_in_place(n))
			changed |= make_functional(p, g, n);
	}
	return changed;
}

bool
functional(Pass *p, Graph *g)
{
	const bool changed = functional_block(p, g, g->top);

	if (changed)
		pass_lost_alias(p);
	return changed;
}
