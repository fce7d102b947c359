/*
 * Folds a scale and a shift of each output channel into the constants of a convolution or matrix product.
 *
 *   conv(x, w, b) * s + t   ->   conv(x, w * s, b * s + t)
 *
 * Other nodes may share the constants, so they are copied.  They are computed in double and rounded once.  Nothing is
 * changed if an element is then not finite, or if something writes to a constant.  The node that scales must be the
 * only reader of the result.  Queries for sizes, dtype and device do not count as readers.
 */
#include "../opt.h"

#include <string.h>

const RtTensor *
reweigh_constant(const Reweigh *r, const Value *v)
{
	IValue c;

	if (!v || !value_constant(v, &c) || c.tag != RT_TENSOR || !tensor_has_data(c.u.t) || c.u.t->quant)
		return NULL;
	return v->id >= r->own || !alias_has_writers(r->alias, v) ? c.u.t : NULL;
}

double
reweigh_element(const RtTensor *t, int64_t i, double absent)
{
	RT_ASSERT(!t || (t->ndim == 1 && i >= 0 && i < t->dims[0]));
	return t ? rt_load_f64(t->dtype, rt_data(t) + i * t->strides[t->ndim - 1] * rt_dtypes[t->dtype].bytes) : absent;
}

static bool
is_int(const Node *n, const char *name, int64_t want)
{
	const Value *v = node_arg(n, name);
	int64_t i;

	return v && value_int(v, &i) && i == want;
}

static bool
is_convolution(const Node *n, bool *transposed)
{
	int64_t t;

	*transposed = op_has(n->op, TRAIT_TRANSPOSED);
	if (!op_has(n->op, TRAIT_CONVOLVES) || node_is(n, aten__convolution_mode))
		return false;
	if (!op_has(n->op, TRAIT_GENERAL_CONV))
		return true;
	if (!node_arg(n, "transposed") || !value_int(node_arg(n, "transposed"), &t))
		return false;
	*transposed = t != 0;
	return true;
}

/* Finds the names of the weight and bias arguments of a convolution or matrix product, and the dim of the weight that
 * holds the output channels.  Returns false if n is neither. */
static bool
form_of(const Node *n, Outputs *o, const char **weight, const char **bias)
{
	bool transposed;

	*weight = "weight";
	*bias = "bias";
	o->groups = 1;
	if (is_convolution(n, &transposed)) {
		o->axis = transposed;
		o->last = false;
		return !transposed || (node_arg(n, "groups") && value_int(node_arg(n, "groups"), &o->groups));
	}
	o->last = true;
	o->axis = 0;
	if (n->op && n->op->lowering == LOWER_LINEAR)
		return true;
	*weight = "mat2";
	*bias = "self";
	o->axis = 1;
	return n->op && n->op->lowering == LOWER_ADDMM && is_int(n, "beta", 1) && is_int(n, "alpha", 1);
}

bool
reweigh_outputs(const Reweigh *r, Node *n, Outputs *o)
{
	const char *weight, *bias;
	const Value *b;

	o->node = n;
	if (!form_of(n, o, &weight, &bias))
		return false;
	o->w = reweigh_constant(r, node_arg(n, weight));
	b = node_arg(n, bias);
	o->b = reweigh_constant(r, b);
	if (!o->w || (o->w->dtype != RT_f32 && o->w->dtype != RT_f64) || o->w->ndim < 2 || o->groups < 1 ||
	    (!o->b && !value_is_none(b)))
		return false;
	o->n = o->w->dims[o->axis] * o->groups;
	o->weight_at = node_input_index(n, node_arg(n, weight));
	o->bias_at = node_input_index(n, b);
	o->rank = o->last ? 1 : o->w->ndim - 1;
	RT_ASSERT(o->weight_at >= 0 && o->bias_at >= 0);
	return !o->b || (o->b->dtype == o->w->dtype && o->b->ndim == 1 && o->b->dims[0] == o->n);
}

bool
reweigh_only_reader(const Value *x, const Node *by)
{
	for (int i = 0; i < x->uses.n; i++) {
		const Node *user = x->uses.at[i].node;

		if (user != by && !op_has(user->op, TRAIT_ASKS_TYPE))
			return false;
	}
	return x->node->block == by->block;
}

bool
reweigh_store(RtTensor *t, int64_t i, double x)
{
	const float f = (float)x;

	RT_ASSERT((t->dtype == RT_f32 || t->dtype == RT_f64) && i >= 0 && i < rt_numel(t));
	if (t->dtype == RT_f64)
		((double *)rt_data(t))[i] = x;
	else
		((float *)rt_data(t))[i] = f;
	return t->dtype == RT_f64 ? x - x == 0 : f - f == 0;
}

/* Multiplies the weight by the scale of each channel.  The weight's dims are [before, axis, after].  Each group has a
 * part of `before`.  Null if an element is not finite. */
static RtTensor *
scaled_weight(RtCx *rt, const Outputs *o, const double *scale)
{
	RtTensor *plain = rt_contiguous(rt, (RtTensor *)(uintptr_t)o->w),
		 *out = rt_tensor_new(rt, (RtDtype)o->w->dtype, o->w->ndim, o->w->dims);
	const int64_t total = rt_numel(o->w), channels = o->w->dims[o->axis];
	const int64_t before = o->axis ? o->w->dims[0] : 1, each = total ? total / before / channels : 0;
	const int bytes = rt_dtypes[o->w->dtype].bytes;
	bool finite = true;

	for (int64_t i = 0; i < total; i++) {
		const int64_t c = i / each % channels, group = i / each / channels * o->groups / before;

		finite &= reweigh_store(out, i, rt_load_f64(plain->dtype, rt_data(plain) + i * bytes) *
						scale[group * channels + c]);
	}
	rt_tensor_release(plain);
	return finite ? out : NULL;
}

static RtTensor *
moved_bias(RtCx *rt, const Outputs *o, const double *scale, const double *shift)
{
	RtTensor *out = rt_tensor_new(rt, (RtDtype)o->w->dtype, 1, &o->n);
	bool finite = true;

	for (int64_t i = 0; i < o->n; i++)
		finite &= reweigh_store(out, i, reweigh_element(o->b, i, 0) * (scale ? scale[i] : 1) +
						(shift ? shift[i] : 0));
	return finite ? out : NULL;
}

static bool
all_are(const double *x, int64_t n, double what)
{
	for (int64_t i = 0; i < n; i++)
		if (x[i] != what)
			return false;
	return true;
}

bool
reweigh(Reweigh *r, const Outputs *o, Node *by, const double *scale, const double *shift)
{
	RtCx *rt = cx_rt(r->pass->cx);
	RtTensor *w = NULL, *b = NULL;

	RT_ASSERT(by->nout == 1 && reweigh_only_reader(o->node->out[0], by));
	if (scale && all_are(scale, o->n, 1))
		scale = NULL;
	if (shift && all_are(shift, o->n, 0))
		shift = NULL;
	if ((scale && !(w = scaled_weight(rt, o, scale))) ||
	    ((shift || (scale && o->b)) && !(b = moved_bias(rt, o, scale, shift))))
		return false;
	if (!pass_may(r->pass))
		return false;
	pass_note(r->pass, by, "folded into the weights of %s", o->node->kind->name);
	graph_set_insert_before(r->graph, o->node);
	if (w)
		node_set_input(o->node, o->weight_at, graph_constant(r->graph, rt_of(w), by->at));
	if (b)
		node_set_input(o->node, o->bias_at, graph_constant(r->graph, rt_of(b), by->at));
	value_replace_uses(by->out[0], o->node->out[0]);
	node_destroy(by);
	return true;
}

bool
reweigh_graph(Pass *p, Graph *g, ReweighNode *rule)
{
	Reweigh r = { .pass = p, .graph = g, .alias = pass_alias(p, g), .own = g->nvalue };
	bool changed = false;

	for INNER_FIRST(n, g->top)
		changed |= rule(&r, n);
	if (changed)
		pass_lost_alias(p);
	return changed;
}
