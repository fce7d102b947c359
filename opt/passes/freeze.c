/*
 * Freezing: attributes that nothing writes become constants, and objects disappear.
 *
 *   %c = prim::GetAttr[name="conv"](%self)
 *   %w = prim::GetAttr[name="weight"](%c)      ->   %w : Float(64, 3, 7, 7) = prim::Constant[value=<Tensor #...>]()
 *
 * An attribute becomes a constant if no reachable prim::SetAttr has its name, and no graph that runs on the instance
 * writes to its memory under any name (places.c).  Tensors are not copied: the constant is the attribute, read-only
 * from here on.  Graphs of forked tasks are frozen, too.  The second run comes after constprop, which may have removed
 * branches that write to attributes.
 */
#include "places.h"

static void
make_readonly(IValue v)
{
	if (v.tag == RT_TENSOR)
		v.u.t->storage->readonly = true;
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		make_readonly(v.u.list->v[i]);
	for (int64_t i = 0; v.tag == RT_TUPLE && i < v.u.tuple->n; i++)
		make_readonly(v.u.tuple->v[i]);
	for (int64_t i = 0; v.tag == RT_DICT && i < v.u.dict->used; i++)
		if (!v.u.dict->at[i].dead)
			make_readonly(v.u.dict->at[i].value);
}

static bool
may_stand(const Scope *s, const Value *v, IValue x)
{
	if (!constant_may_be(x))
		return false;
	if (!rt_counted(x) || !type_is_mutable(v->type))
		return true;
	if (s->all->called || places_written(s->all, x))
		return false;
	/* A constant list that leaves the graph would be shared by all callers, so it stays. */
	return x.tag != RT_LIST && x.tag != RT_DICT ? true : !alias_escapes(s->db, v);
}

static void
put_constant(const Scope *s, Node *n, IValue x)
{
	const Type *declared = n->out[0]->type;
	Value *c;

	graph_set_insert_before(s->graph, n);
	c = graph_constant(s->graph, x, n->at);
	if (c->type->kind != TYPE_TENSOR && c->type->kind != TYPE_NONE && declared->kind != TYPE_OPTIONAL &&
	    declared->kind != TYPE_ANY && declared->kind != TYPE_UNION)
		c->type = declared;
	c->node->inlined = n->inlined;
	c->name = n->out[0]->name ? n->out[0]->name : sym(s->all->pass->cx, node_str(n, "name"));
	make_readonly(x);
	pass_note(s->all->pass, n, "nothing writes it");
	value_replace_uses(n->out[0], c);
	node_destroy(n);
}

static bool
freeze_scope(const Scope *s)
{
	bool changed = false;
	IValue x;

	for INNER_FIRST(n, s->graph->top)
		if (node_is(n, prim_GetAttr) && places_resolve(s, n->out[0], &x) && may_stand(s, n->out[0], x) &&
		    pass_may(s->all->pass)) {
			put_constant(s, n, x);
			changed = true;
		}
	return changed;
}

bool
freeze(Pass *p, Graph *g)
{
	Places *q = places_of(p, g);
	bool changed = false;

	/* Freezes subgraphs first, since their inputs are found in the graph around them. */
	for (int i = q && p->self.tag == RT_OBJECT ? q->scope.n : 0; i-- > 0;)
		if (!q->scope.at[i]->peer)
			changed |= freeze_scope(q->scope.at[i]);
	return changed;
}
