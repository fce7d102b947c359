/*
 * Values: replacement, names, and reading constants.
 */
#include "ir.h"

void
value_replace_uses(Value *v, Value *with)
{
	if (v == with)
		return;
	/* Starts at the end, since removing the last use is cheap. */
	while (v->uses.n) {
		const Use u = vec_last(&v->uses);

		node_set_input(u.node, u.index, with);
	}
}

void
value_replace_uses_after(Value *v, Value *with, const Node *n)
{
	if (v == with)
		return;
	for (int i = v->uses.n - 1; i >= 0; i--) {
		const Use u = v->uses.at[i];

		if (u.node != n && node_is_before(n, u.node))
			node_set_input(u.node, u.index, with);
	}
}

void
value_set_name(Value *v, const char *name)
{
	v->name = name ? sym(v->node->graph->cx, name) : NULL;
}

bool
value_is_none(const Value *v)
{
	IValue c;

	return v->type->kind == TYPE_NONE || (value_constant(v, &c) && rt_is_none(c));
}

bool
value_int(const Value *v, int64_t *out)
{
	IValue c;

	if (!value_constant(v, &c) || (c.tag != RT_INT && c.tag != RT_BOOL))
		return false;
	*out = c.u.i;
	return true;
}
