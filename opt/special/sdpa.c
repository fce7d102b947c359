/*
 * Brings scaled_dot_product_attention into the form that has a kernel: masks are added, and keys have as many heads as
 * queries.
 *
 *   mask of bool       ->  where(mask, 0, -inf)
 *   constant mask that hides nothing, as of an encoder exported without padding  ->  no mask
 *   fewer key heads    ->  queries (.., Hk, Hq / Hk, L, E), keys and values (.., Hk, 1, S, E): keys are broadcast to
 *                          the heads that share them, and nothing is repeated
 */
#include "specialize.h"

#include <math.h>

enum { QUERY, KEY, VALUE, MASK, DROPOUT, CAUSAL, SCALE, GROUPED, ARGS, HEAD = -3 };

/* Are types and sizes supported?  The result is known only if the operator accepts them. */
static bool
is_understood(Spec *s, const Node *m)
{
	const RtTensor *q = known_tensor(s->k, m->in[QUERY]), *k = known_tensor(s->k, m->in[KEY]);
	const RtTensor *v = known_tensor(s->k, m->in[VALUE]);

	return known_is(s->k, m->out[0]) && q && k && v && q->dtype == RT_f32 && k->ndim == q->ndim &&
	       v->ndim == q->ndim && q->ndim >= 3 && rt_numel(q) && rt_numel(k) && rt_numel(v);
}

/* Are the mask's elements known, and all true or all zero, so that it hides nothing? */
static bool
does_nothing(Spec *s, const Node *m)
{
	const RtTensor *mask = known_tensor(s->k, m->in[MASK]);
	const bool hides = mask && mask->dtype == RT_b8;
	IValue out;

	if (!mask || (!hides && mask->dtype != RT_f32) || !tensor_has_data(mask) || mask->storage->written)
		return false;
	return known_run(s->k, op_find(s->cx, hides ? "aten::all" : "aten::any", ""),
			 (IValue[]){ known_at(s->k, m->in[MASK])->v }, &out, 1, false) &&
	       *(const bool *)rt_data(out.u.t) == hides;
}

static Value *
added_mask(Spec *s, Scope *c, Value *mask, Range at)
{
	Value *const in[] = { mask, spec_put_constant(s, rt_double(0), at),
			      spec_put_constant(s, rt_double((double)-INFINITY), at) };

	return spec_put_op(s, c, "aten::where.Scalar", in, 3, at);
}

/* Splits the dim of heads into two: one for the heads of keys, and one for the queries that share a head of keys. */
static Value *
divided(Spec *s, Scope *c, Value *v, int64_t keys, Range at)
{
	const int64_t heads = known_tensor(s->k, v)->dims[known_tensor(s->k, v)->ndim + HEAD];
	Value *const in[] = { v, spec_put_int(s, HEAD, at),
			      spec_put_list(s, (const int64_t[]){ keys, heads / keys }, 2, at) };

	return spec_put_op(s, c, "aten::unflatten.int", in, 3, at);
}

static Value *
shared(Spec *s, Scope *c, Value *v, Range at)
{
	Value *const in[] = { v, spec_put_int(s, HEAD, at) };

	return spec_put_op(s, c, "aten::unsqueeze", in, 2, at);
}

/* Splits the mask's dim of heads in the same way.  A mask without a dim of heads is returned unchanged. */
static Value *
divided_mask(Spec *s, Scope *c, Value *mask, int64_t keys, Range at)
{
	const RtTensor *t = known_tensor(s->k, mask);

	if (!t || t->ndim < 3)
		return mask;
	return t->dims[t->ndim + HEAD] == 1 ? shared(s, c, mask, at) : divided(s, c, mask, keys, at);
}

Value *
spec_sdpa(Spec *s, Scope *c, const Node *m)
{
	Value *in[ARGS], *y;
	const RtTensor *mask, *k;
	int64_t grouped = 0;
	bool hides, useless;

	if (m->nin != ARGS || !is_understood(s, m) ||
	    !known_int(s->k, m->in[GROUPED], &grouped))
		return NULL;
	k = known_tensor(s->k, m->in[KEY]);
	mask = known_tensor(s->k, m->in[MASK]);
	useless = does_nothing(s, m);
	hides = mask && mask->dtype == RT_b8 && !useless;
	grouped = grouped && k->dims[k->ndim + HEAD] != known_tensor(s->k, m->in[QUERY])->dims[k->ndim + HEAD];
	if (!hides && !grouped && !useless)
		return NULL;
	for (int i = 0; i < ARGS; i++)
		in[i] = m->in[i];
	if (useless)
		in[MASK] = spec_put_constant(s, rt_none(), m->at);
	if (hides)
		in[MASK] = added_mask(s, c, in[MASK], m->at);
	if (grouped) {
		in[QUERY] = divided(s, c, in[QUERY], k->dims[k->ndim + HEAD], m->at);
		in[MASK] = divided_mask(s, c, in[MASK], k->dims[k->ndim + HEAD], m->at);
		in[KEY] = shared(s, c, in[KEY], m->at);
		in[VALUE] = shared(s, c, in[VALUE], m->at);
		in[GROUPED] = spec_put_constant(s, rt_bool(false), m->at);
	}
	y = spec_put_op(s, c, m->kind->name, in, ARGS, m->at);
	if (!grouped)
		return y;
	Value *const joined[] = { y, spec_put_int(s, -4, m->at), spec_put_int(s, -3, m->at) };

	return spec_put_op(s, c, "aten::flatten.using_ints", joined, 3, m->at);
}
