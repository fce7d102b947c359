/*
 * Folds batch normalisation into the convolution or matrix product before it.
 *
 *   y = batch_norm(conv(x, w, b), weight, bias, mean, var, False, _, eps)
 *     ->   y = conv(x, w * s, (b - mean) * s + bias),   s = weight / sqrt(var + eps), one for each output channel
 *
 * Norms in training mode stay, since they use the statistics of the batch.  The norm's channels are dim 1.  That is the
 * output dim of a matrix product only if the result is a matrix, as after a flatten.  It is the channel dim of a
 * convolution only if there is a batch dim.  There is one if the model raises for another rank, as BatchNorm2d does, or
 * if the type has the rank, as in programs of torch.export.  normforms.c handles all other norms.  reweigh.c changes
 * the constants.
 */
#include "../../rt/ops/kernel.h"
#include "../opt.h"

#include <math.h>

typedef struct Norm { const RtTensor *weight, *bias, *mean, *var; double eps; } Norm;   /* weight, bias may be null */

/* Reads one of a batch norm's constant vectors.  optional: None is allowed. */
static bool
take_vector(const Reweigh *r, const Node *n, const char *name, bool optional, const RtTensor **out)
{
	const Value *v = node_arg(n, name);

	*out = reweigh_constant(r, v);
	if (!*out)
		return optional && v && value_is_none(v);
	return (*out)->ndim == 1 && ((*out)->dtype == RT_f32 || (*out)->dtype == RT_f64);
}

static bool
is_norm(const Reweigh *r, const Node *n, Norm *out)
{
	IValue eps;
	int64_t training;

	if (!node_is(n, aten_batch_norm) || !node_arg(n, "training") ||
	    !value_int(node_arg(n, "training"), &training) || training)
		return false;
	if (!value_constant(node_arg(n, "eps"), &eps) || eps.tag != RT_DOUBLE)
		return false;
	out->eps = eps.u.f;
	return take_vector(r, n, "weight", true, &out->weight) && take_vector(r, n, "bias", true, &out->bias) &&
	       take_vector(r, n, "running_mean", false, &out->mean) &&
	       take_vector(r, n, "running_var", false, &out->var);
}

static bool
is_constant_matrix(const Value *v)
{
	IValue m;

	return value_constant(v, &m) && m.tag == RT_TENSOR && m.u.t->ndim == 2;
}

/* Is v a matrix for all inputs? */
static bool
is_matrix(const Value *v)
{
	const Node *n = v->node;
	int64_t start, end;
	IValue sizes;

	if (v->type->tensor && v->type->tensor->rank == 2)
		return true;
	for (int depth = 0; depth < 64; depth++) {
		const Node *at = n;

		if (node_is(n, aten_flatten))
			return value_int(n->in[1], &start) && start == 1 && value_int(n->in[2], &end) && end == -1;
		if (node_is(n, aten_view) || node_is(n, aten_reshape))
			return node_is(n->in[1]->node, prim_ListConstruct) ? n->in[1]->node->nin == 2 :
			       value_constant(n->in[1], &sizes) && sizes.tag == RT_LIST && sizes.u.list->n == 2;
		if (op_has(n->op, TRAIT_KEEPS_RANK) ||
		    (n->op && n->op->lowering == LOWER_LINEAR && is_constant_matrix(n->in[1])))
			n = n->in[0]->node;
		if (at == n)
			return n->op && (n->op->lowering == LOWER_ADDMM || node_is(n, aten_mm));
	}
	return false;
}

/* Does an If with this comparison as its condition raise for all ranks but `rank`, and always run before `then`? */
static bool
ensures(const Node *ask, int64_t rank, const Node *then)
{
	int64_t other;

	if (!node_is(ask, aten_ne) || ask->nin != 2 ||
	    !(value_int(ask->in[0], &other) || value_int(ask->in[1], &other)) || other != rank)
		return false;
	for (int i = 0; i < ask->out[0]->uses.n; i++) {
		const Node *n = ask->out[0]->uses.at[i].node;

		if (node_is(n, prim_If) &&
		    block_raises(n->sub[0]) && node_in_block(then, n->block) && node_is_before(n, then))
			return true;
	}
	return false;
}

/* Does the convolution's result have a batch dim before its channels?  conv2d and its variants also accept inputs
 * without one. */
static bool
has_batch(const Node *conv, int64_t rank, const Node *norm)
{
	const TensorInfo *is = conv->out[0]->type->tensor;

	if (op_has(conv->op, TRAIT_GENERAL_CONV) || (is && is->rank == rank))
		return true;
	for (int i = 0; i < conv->out[0]->uses.n; i++) {
		const Node *dim = conv->out[0]->uses.at[i].node;

		for (int k = 0; node_is(dim, aten_dim) && k < dim->out[0]->uses.n; k++)
			if (ensures(dim->out[0]->uses.at[k].node, rank, norm))
				return true;
	}
	return false;
}

void
norm_line(const NormChannel *c, double eps, double *scale, double *shift)
{
	*scale = c->weight / sqrt(c->var + eps);
	*shift = c->bias - c->mean * *scale;
}

static bool
fold_norm(Reweigh *r, Node *norm)
{
	Outputs o;
	Norm n;
	double *scale, *shift;

	if (!is_norm(r, norm, &n) ||
	    !reweigh_outputs(r, norm->in[0]->node, &o) || !reweigh_only_reader(norm->in[0], norm) ||
	    o.n != n.mean->dims[0] || !(o.last ? is_matrix(norm->in[0]) : has_batch(o.node, o.w->ndim, norm)))
		return false;
	scale = new(r->pass->scratch, double, o.n + 1);
	shift = new(r->pass->scratch, double, o.n + 1);
	for (int64_t i = 0; i < o.n; i++) {
		const NormChannel channel = { reweigh_element(n.weight, i, 1), reweigh_element(n.bias, i, 0),
					      reweigh_element(n.mean, i, 0), reweigh_element(n.var, i, 1) };

		norm_line(&channel, n.eps, &scale[i], &shift[i]);
	}
	return reweigh(r, &o, norm, scale, shift);
}

bool
convbn(Pass *p, Graph *g)
{
	return reweigh_graph(p, g, fold_norm);
}
