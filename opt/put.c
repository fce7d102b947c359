/*
 * Nodes that the specializer makes of its own: constants, and operators by name, whose results are inferred as those of the
 * model's nodes are.
 */
#include "specialize.h"

Value *
spec_put_constant(Spec *s, IValue v, Range at)
{
	Value *k = graph_constant(s->to, v, at);

	known_set(s->k, k, rt_retain(v));
	return k;
}

Value *
spec_put_int(Spec *s, int64_t i, Range at)
{
	return spec_put_constant(s, rt_int(i), at);
}

Value *
spec_put_list(Spec *s, const int64_t *i, int n, Range at)
{
	IValue v[8];

	for (int k = 0; k < n; k++)
		v[k] = rt_int(i[k]);
	return spec_put_constant(s, rt_list_of(&s->k->rt, &rt_type_int, v, n), at);
}

Value *
spec_put_op(Spec *s, Scope *c, const char *name, const char *overload, Value *const *in, int nin, Range at)
{
	Node *m = node_new(s->to, sym(s->cx, name), at, 1);

	m->op = op_find(s->cx, name, overload);
	for (int i = 0; i < nin; i++)
		node_add_input(m, in[i]);
	graph_insert(s->to, m);
	spec_infer(s, c, m, m);
	return m->out[0];
}

bool
spec_known_ints(Spec *s, const Node *m, const char *name, int n, int64_t *out)
{
	const Value *v = node_arg(m, name);
	const Known *k = v ? known_at(s->k, v) : NULL;

	if (!k || !k->is || k->mutable || k->v.tag != RT_LIST || k->v.u.list->n != n)
		return false;
	for (int i = 0; i < n; i++)
		out[i] = k->v.u.list->v[i].u.i;
	return true;
}
