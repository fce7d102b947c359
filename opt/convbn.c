/*
 * Batch normalisation into the convolution or product before it.
 *
 *    y = batch_norm(conv(x, w, b), weight, bias, mean, var, False, _, eps)
 *      ->   y = conv(x, w * s, (b - mean) * s + bias),   s = weight / sqrt(var + eps), one for each output channel
 *
 * Only constants, only when nobody else uses what lies between, and not in training mode, where the statistics are
 * the batch's.  The scale is computed in double and rounded once.
 */
#include "opt.h"

#include <math.h>
#include <string.h>

typedef struct Norm { const RtTensor *weight, *bias, *mean, *var; double eps; } Norm;   /* weight, bias may be null */

static const RtTensor *
constant_tensor(const Value *v)
{
	IValue c;

	return v && value_constant(v, &c) && c.tag == RT_TENSOR ? c.u.t : NULL;
}

/* One of a batch norm's vectors: absent is fine when `optional`. */
static bool
take_vector(const Node *n, const char *name, bool optional, const RtTensor **out)
{
	const Value *v = node_arg(n, name);

	*out = constant_tensor(v);
	if (!*out)
		return optional && v && value_is_none(v);
	return (*out)->ndim == 1 && ((*out)->dtype == RT_f32 || (*out)->dtype == RT_f64);
}

static bool
is_norm(const Node *n, Norm *out)
{
	IValue eps;
	int64_t training;

	if (!node_is(n, "aten::batch_norm") || !node_arg(n, "training") || !value_int(node_arg(n, "training"), &training) || training)
		return false;
	if (!value_constant(node_arg(n, "eps"), &eps) || eps.tag != RT_DOUBLE)
		return false;
	out->eps = eps.u.f;
	return take_vector(n, "weight", true, &out->weight) && take_vector(n, "bias", true, &out->bias) &&
	       take_vector(n, "running_mean", false, &out->mean) && take_vector(n, "running_var", false, &out->var);
}

/* A node whose weight's dim 0 are the output channels. */
static bool
is_foldable(const Node *n)
{
	const Value *transposed;
	int64_t t;

	if (node_is(n, "aten::conv1d") || node_is(n, "aten::conv2d") || node_is(n, "aten::conv3d"))
		return true;
	if (!node_is(n, "aten::_convolution") && !node_is(n, "aten::convolution"))
		return false;
	transposed = node_arg(n, "transposed");
	return transposed && value_int(transposed, &t) && !t;
}

static double
element(const RtTensor *t, int64_t i, double absent)
{
	return t ? rt_load_f64(t->dtype, rt_data(t) + i * t->strides[0] * rt_dtypes[t->dtype].bytes) : absent;
}

static double
scale_of(const Norm *b, int64_t i)
{
	return element(b->weight, i, 1) / sqrt(element(b->var, i, 1) + b->eps);
}

static void
store(RtTensor *t, int64_t i, double x)
{
	if (t->dtype == RT_f64)
		((double *)rt_data(t))[i] = x;
	else
		((float *)rt_data(t))[i] = (float)x;
}

static RtTensor *
scaled_weight(RtCx *rt, RtTensor *w, const Norm *b)
{
	RtTensor *plain = rt_contiguous(rt, w), *out = rt_tensor_new(rt, (RtDtype)w->dtype, w->ndim, w->dims);
	const int64_t n = w->dims[0], each = n ? rt_numel(w) / n : 0;

	for (int64_t i = 0; i < n; i++) {
		const double s = scale_of(b, i);

		for (int64_t k = i * each; k < (i + 1) * each; k++)
			store(out, k, rt_load_f64(plain->dtype, rt_data(plain) + k * rt_dtypes[plain->dtype].bytes) * s);
	}
	rt_tensor_release(plain);
	return out;
}

static RtTensor *
moved_bias(RtCx *rt, const RtTensor *w, const RtTensor *bias, const Norm *b)
{
	RtTensor *out = rt_tensor_new(rt, (RtDtype)w->dtype, 1, w->dims);

	for (int64_t i = 0; i < w->dims[0]; i++)
		store(out, i, (element(bias, i, 0) - element(b->mean, i, 0)) * scale_of(b, i) + element(b->bias, i, 0));
	return out;
}

static int
input_index(const Node *n, const Value *v)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] == v)
			return i;
	return -1;
}

/* Does only the norm read what x holds?  Asking for its sizes is no reading. */
static bool
read_by(const Value *x, const Node *norm)
{
	static const char *const asks[] = { "aten::dim", "aten::size", "prim::dtype", "prim::device", "prim::is_cuda" };

	for (int i = 0; i < x->uses.n; i++) {
		bool harmless = x->uses.at[i].node == norm;

		for (size_t k = 0; k < sizeof asks / sizeof *asks; k++)
			harmless |= node_is(x->uses.at[i].node, asks[k]);
		if (!harmless)
			return false;
	}
	return true;
}

static bool
fold(Pass *p, Graph *g, Node *norm)
{
	const Value *x = node_arg(norm, "input");
	Node *conv = x->node;
	const RtTensor *w, *bias;
	const Value *b;
	Norm n;

	if (!is_norm(norm, &n) || !is_foldable(conv) || !read_by(x, norm) || conv->block != norm->block)
		return false;
	w = constant_tensor(node_arg(conv, "weight"));
	b = node_arg(conv, "bias");
	bias = constant_tensor(b);
	if (!w || (w->dtype != RT_f32 && w->dtype != RT_f64) || w->dims[0] != n.mean->dims[0] || (!bias && !value_is_none(b)) ||
	    (bias && (bias->ndim != 1 || bias->dtype != w->dtype)) || !pass_may(p))
		return false;
	pass_note(p, norm, "folded into the convolution's weights");
	graph_set_insert_before(g, conv);
	node_set_input(conv, input_index(conv, node_arg(conv, "weight")),
		       graph_constant(g, rt_of(scaled_weight(cx_rt(p->cx), (RtTensor *)(uintptr_t)w, &n)), norm->at));
	node_set_input(conv, input_index(conv, b), graph_constant(g, rt_of(moved_bias(cx_rt(p->cx), w, bias, &n)), norm->at));
	value_replace_uses(norm->out[0], conv->out[0]);
	node_destroy(norm);
	return true;
}

static bool
fold_block(Pass *p, Graph *g, Block *b)
{
	bool changed = false;

	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			changed |= fold_block(p, g, n->sub[i]);
		if (node_is(n, "aten::batch_norm"))
			changed |= fold(p, g, n);
	}
	return changed;
}

bool
convbn(Pass *p, Graph *g)
{
	const bool changed = fold_block(p, g, g->top);

	if (changed)
		pass_lost_alias(p);
	return changed;
}
