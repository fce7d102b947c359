/*
 * Batch norms that no convolution took in (convbn.c), of known statistics: a product and a sum, which groups take in.
 *
 *    y = batch_norm(x, weight, bias, mean, var, False, _, eps)
 *      ->   y = x * s + (bias - mean * s),   s = weight / sqrt(var + eps), one for each channel
 *
 * Of what a convolution over one dim gave, before its squeeze (convforms.c).
 */
#include "specialize.h"

/* A constant of n elements, or None where that will do; false: it is neither. */
static bool
take_vector(Spec *s, const Node *m, const char *name, int64_t n, bool optional, const RtTensor **out)
{
	const Value *v = node_arg(m, name);
	IValue c;

	(void)s;
	*out = NULL;
	if (!v || value_is_none(v))
		return optional && v;
	if (!value_constant(v, &c) || c.tag != RT_TENSOR || c.u.t->dtype != RT_f32 || c.u.t->storage->kind == RT_META ||
	    c.u.t->ndim != 1 || c.u.t->dims[0] != n)
		return false;
	*out = c.u.t;
	return true;
}

static double
element(const RtTensor *t, int64_t i, double absent)
{
	return t ? ((const float *)rt_data(t))[i * t->strides[0]] : absent;
}

/* A constant for each channel, before ndim - 2 dims that it is the same in. */
static RtTensor *
channels(Spec *s, int64_t n, int ndim)
{
	int64_t dims[RT_MAX_RANK] = { n };

	for (int i = 1; i < ndim - 1; i++)
		dims[i] = 1;
	return rt_tensor_new(&s->k->rt, RT_f32, ndim - 1, dims);
}

Value *
spec_batch_norm(Spec *s, Scope *c, const Node *m)
{
	const Known *x = m->nin ? known_at(s->k, m->in[0]) : NULL;
	const RtTensor *weight, *bias, *mean, *var;
	RtTensor *scale, *shift;
	Value *high, *y;
	int64_t training, n;
	IValue eps;

	if (!node_is(m, "aten::batch_norm") || !x->is || x->v.u.t->ndim < 2 || x->v.u.t->dtype != RT_f32 ||
	    !known_is(s->k, m->out[0]) || !known_int(s->k, node_arg(m, "training"), &training) || training ||
	    !value_constant(node_arg(m, "eps"), &eps) || eps.tag != RT_DOUBLE)
		return NULL;
	n = x->v.u.t->dims[1];
	if (!take_vector(s, m, "weight", n, true, &weight) || !take_vector(s, m, "bias", n, true, &bias) ||
	    !take_vector(s, m, "running_mean", n, false, &mean) || !take_vector(s, m, "running_var", n, false, &var))
		return NULL;
	high = spec_squeezed(s, m->in[0]);
	scale = channels(s, n, high ? 4 : x->v.u.t->ndim);
	shift = channels(s, n, high ? 4 : x->v.u.t->ndim);
	for (int64_t i = 0; i < n; i++) {
		const NormChannel channel = { element(weight, i, 1), element(bias, i, 0), element(mean, i, 0),
					      element(var, i, 1) };
		double by, more;

		norm_line(&channel, eps.u.f, &by, &more);
		((float *)rt_data(scale))[i] = (float)by;
		((float *)rt_data(shift))[i] = (float)more;
	}
	Value *const product[] = { high ? high : m->in[0], spec_put_constant(s, rt_of(scale), m->at) };
	Value *const sum[] = { spec_put_op(s, c, "aten::mul", "Tensor", product, 2, m->at),
			       spec_put_constant(s, rt_of(shift), m->at), spec_put_constant(s, rt_int(1), m->at) };

	y = spec_put_op(s, c, "aten::add", "Tensor", sum, 3, m->at);
	if (!high)
		return y;
	return spec_put_op(s, c, "aten::squeeze", "dim", (Value *const[]){ y, spec_put_int(s, 2, m->at) }, 2, m->at);
}
