/*
 * Replaces batch norms with known statistics that were not folded into a convolution (convbn.c) by a product and a sum,
 * which are fused.
 *
 *   y = batch_norm(x, weight, bias, mean, var, False, _, eps)
 *     ->   y = x * s + (bias - mean * s),   s = weight / sqrt(var + eps), one for each channel
 *
 * Instance norms of a channels-last tensor by its own moments become group norms, which keep the layout.
 *
 *   y = instance_norm(x, weight, bias, None, None, True, _, eps)  ->  y = group_norm(x, x.size(1), weight, bias, eps)
 *
 * Group norms of the result of a convolution over one dim move before its squeeze (convforms.c), and keep the layout.
 */
#include "specialize.h"

#include "../../rt/ops/dense.h"

/* Finds an argument that is a constant of n elements, or None if `optional`.  Returns false if it is neither. */
static bool
take_vector(Spec *s, const Node *m, const char *name, int64_t n, bool optional, const RtTensor **out)
{
	const Value *v = node_arg(m, name);
	IValue c;

	(void)s;
	*out = NULL;
	if (!v || value_is_none(v))
		return optional && v;
	if (!value_constant(v, &c) || c.tag != RT_TENSOR || c.u.t->dtype != RT_f32 || !tensor_has_data(c.u.t) ||
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

/* Returns a new constant with an element for each channel, and ndim - 2 dims of size 1 after the channels. */
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

	if (!node_is(m, aten_batch_norm) || !x->is || x->v.u.t->ndim < 2 || x->v.u.t->dtype != RT_f32 ||
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
	Value *const sum[] = { spec_put_op(s, c, "aten::mul.Tensor", product, 2, m->at),
			       spec_put_constant(s, rt_of(shift), m->at), spec_put_constant(s, rt_int(1), m->at) };

	y = spec_put_op(s, c, "aten::add.Tensor", sum, 3, m->at);
	if (!high)
		return y;
	return spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ y, spec_put_int(s, 2, m->at) }, 2, m->at);
}

static bool
has_moments_of_its_own(Spec *s, const Node *m, RtDtype dtype)
{
	static const char *const vectors[] = { "weight", "bias" }, *const running[] = { "running_mean", "running_var" };
	int64_t stats;

	for (int i = 0; i < 2; i++) {
		const Value *v = node_arg(m, vectors[i]);

		if (!value_is_none(node_arg(m, running[i])) ||
		    (!value_is_none(v) && (!known_is(s->k, v) || known_at(s->k, v)->v.tag != RT_TENSOR ||
					   known_at(s->k, v)->v.u.t->dtype != dtype)))
			return false;
	}
	return known_int(s->k, node_arg(m, "use_input_stats"), &stats) && stats;
}

/* Emits a group norm of x, channels last.  If x was squeezed, the norm is emitted before the squeeze. */
static Value *
normed(Spec *s, Scope *c, const Node *m, Value *x, Value *groups)
{
	Value *const high = spec_squeezed(s, x);
	Value *const in[] = { high ? high : x, groups, node_arg(m, "weight"), node_arg(m, "bias"), node_arg(m, "eps"),
			      spec_put_constant(s, rt_bool(false), m->at) };
	Value *const y = spec_put_op(s, c, "aten::group_norm", in, 6, m->at);

	spec_alter(s, y);
	if (!high)
		return y;
	return spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ y, spec_put_int(s, 2, m->at) }, 2, m->at);
}

/* Returns x, or the tensor that it was squeezed from.  Null if this tensor is not channels last. */
static const RtTensor *
lies_channels_last(Spec *s, Value *x)
{
	Value *const high = spec_squeezed(s, x);
	const Known *k = known_at(s->k, high ? high : x);
	const RtTensor *t = k->is && k->altered && k->v.tag == RT_TENSOR ? k->v.u.t : NULL;
	int64_t strides[RT_MAX_RANK];

	return t && rt_numel(t) && (t->dtype == RT_f32 || t->dtype == RT_f64) &&
	       dense_format(t, t->ndim, t->dims, strides) ? t : NULL;
}

Value *
spec_group_norm(Spec *s, Scope *c, const Node *m)
{
	if (!spec_squeezed(s, m->in[0]) || !known_is(s->k, m->out[0]) || !lies_channels_last(s, m->in[0]))
		return NULL;
	return normed(s, c, m, m->in[0], node_arg(m, "num_groups"));
}

Value *
spec_instance_norm(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *t = lies_channels_last(s, m->in[0]);

	if (!t || !known_is(s->k, m->out[0]) || !has_moments_of_its_own(s, m, (RtDtype)t->dtype))
		return NULL;
	return normed(s, c, m, m->in[0], spec_put_int(s, t->dims[1], m->at));
}
