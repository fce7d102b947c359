/*
 * Maps values of the graph that is walked to those of the new graph that replace them.  A Shadow holds the values that
 * are the elements of a known list.
 */
#include "specialize.h"

Shadow *
spec_shadow(Spec *s, IValue v)
{
	for (int i = 0; i < s->shadows.n && v.tag == RT_LIST; i++)
		if (s->shadows.at[i].list == v.u.list)
			return &s->shadows.at[i];
	return NULL;
}

/* Does an input of the node depend on data? */
bool
spec_reads_by_data(Spec *s, const Node *m)
{
	for (int i = 0; i < m->nin; i++)
		if (known_at(s->k, m->in[i])->by_data)
			return true;
	return false;
}

/* Is the container itself (not what it contains) written anywhere? */
bool
spec_is_changed(Scope *c, const Value *v)
{
	return alias_is_written(c->alias, v);
}

Value *
spec_value(Scope *c, const Value *v)
{
	Value *to = c->value[v->id];

	RT_ASSERT(v->id < c->from->nvalue);
	if (!to)
		BUG("specialize: a value of %s is used before it is made", c->from->name);
	return to;
}

void
spec_bind(Spec *s, Scope *c, const Value *from, Value *to)
{
	int reg;

	RT_ASSERT(from->id < c->from->nvalue && to->node->graph == s->to);
	c->value[from->id] = to;
	if (c->top && (reg = value_register(from)) >= 0)
		s->in_register[reg] = (Value *)(uintptr_t)from;
}

/* Binds `from` to a constant.  Takes ownership of v. */
void
spec_bind_constant(Spec *s, Scope *c, const Value *from, IValue v, Range at)
{
	Value *to = graph_constant_typed(s->to, v, type_unshaped(s->cx, from->type), at);

	known_set(s->k, to, v);
	spec_bind(s, c, from, to);
}

/* Returns a node of the same kind, overload and attributes, not yet inserted. */
Node *
spec_copy_node(Spec *s, const Node *n)
{
	const Node *at = s->body ? s->body : n;
	Node *m = node_new(s->to, n->kind, at->at, 0);

	m->op = n->op;
	m->inlined = at->inlined;
	for (int i = 0; i < n->attrs.n; i++)
		vec_push(s->cx->arena, &m->attrs, n->attrs.at[i]);
	return m;
}

/* Emits a new list of the elements of a list whose contents are known.  It does not depend on the writes to the old
 * list. */
Value *
spec_fresh_list(Spec *s, Value *v, Range at)
{
	Known *k = known_at(s->k, v);
	Shadow *h = k->is ? spec_shadow(s, k->v) : NULL;
	Value *list;
	IValue copy;

	if (!h || !k->mutable)
		return v;
	list = graph_emit(s->to, "prim::ListConstruct", at, h->items.n, h->items.at, 1)->out[0];
	list->type = v->type;
	copy = rt_ref(RT_LIST, rt_list_new(&s->k->rt, k->v.u.list->elem, h->items.n));
	for (int i = 0; i < h->items.n; i++)
		rt_list_push(&s->k->rt, copy.u.list, rt_retain(k->v.u.list->v[i]));
	known_set(s->k, list, copy);
	shapes_node(s->shapes, s->k, list->node, false);
	return list;
}

void
spec_block(Spec *s, Scope *c, Block *b)
{
	s->walk(s, c, b);
}
