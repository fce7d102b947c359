/*
 * Convolutions over one dim.
 *
 * A convolution of (N, C, L) becomes one over two dims of a tensor of height 1, which layouts.c converts to channels
 * last.  The result is squeezed again and keeps that layout, so that only the first convolution of a chain converts its
 * input.  A convolution of one channel (a spectrum of samples, by a basis) becomes a matrix product.  The left operand
 * has overlapping rows of the kernel's length, the right one is the weights.
 *
 *   y = conv1d(x, w, b, [s], [p], [d], g)  ->  y' = conv2d(unsqueeze(x, 2), unsqueeze(w, 2), b,
 *                                                          [1, s], [0, p], [1, d], g)
 *                                              y  = squeeze(y', 2)
 *   y = conv1d(x, w, b, [s], [p], [1], 1)  ->  r  = select(unfold(constant_pad_nd(x, [p, p]), 2, k, s), 1, 0)
 *      if x has one channel and batch size 1   y  = transpose(linear(r, w[:, 0], b), 1, 2)
 *
 * Pointwise operators between two convolutions move before the squeeze, so that the first convolution's store computes
 * them.
 */
#include "specialize.h"

#include <string.h>

static Value *
put_ints(Spec *s, int64_t a, int64_t b, Range at)
{
	return spec_put_list(s, (const int64_t[2]){ a, b }, 2, at);
}

/* Emits the weights, viewed with ndim dims. */
static Value *
put_weights(Spec *s, const Conv *v, int ndim, Range at)
{
	const RtTensor *w = v->w;
	const int64_t dims[4] = { w->dims[0], ndim == 2 ? w->dims[2] : w->dims[1], 1, w->dims[2] };
	const int64_t strides[4] = { w->strides[0], ndim == 2 ? w->strides[2] : w->strides[1],
				     w->dims[2] * w->strides[2], w->strides[2] };
	RtTensor *view = rt_tensor_view(&s->k->rt, w, ndim, dims, strides, w->offset);
	IValue value = { .tag = RT_TENSOR };

	value.u.t = view;
	return spec_put_constant(s, value, at);
}

bool
spec_plain_convolution(Spec *s, const Node *m, int nd, Conv *v)
{
	const Value *transposed = node_arg(m, "transposed");
	const Known *x, *y = known_at(s->k, m->out[0]);
	int64_t flag = 0;
	IValue w;

	RT_ASSERT(nd >= 1 && nd <= 3);
	if (!op_has(m->op, TRAIT_CONVOLVES) || op_has(m->op, TRAIT_TRANSPOSED))
		return false;
	*v = (Conv){ .x = node_arg(m, "input"), .bias = node_arg(m, "bias"), .at = m->at };
	x = known_at(s->k, v->x);
	if (!y->is || !x->is || x->v.u.t->ndim != nd + 2 || x->v.u.t->dtype != RT_f32 || !rt_numel(y->v.u.t) ||
	    !value_constant(node_arg(m, "weight"), &w) || w.tag != RT_TENSOR || w.u.t->dtype != RT_f32 ||
	    w.u.t->ndim != nd + 2)
		return false;
	v->w = w.u.t;
	return (!transposed || (known_int(s->k, transposed, &flag) && !flag)) &&
	       known_int(s->k, node_arg(m, "groups"), &v->groups) && spec_known_ints(s, m, "stride", nd, v->stride) &&
	       spec_known_ints(s, m, "padding", nd, v->padding) && spec_known_ints(s, m, "dilation", nd, v->dilation);
}

static Value *
as_product(Spec *s, Scope *c, const Conv *v, Range at)
{
	Value *x = v->x, *y;

	if (v->padding[0]) {
		Value *const pad[] = { x, put_ints(s, v->padding[0], v->padding[0], at),
				       spec_put_constant(s, rt_double(0), at) };

		x = spec_put_op(s, c, "aten::constant_pad_nd", pad, 3, at);
	}
	Value *const unfold[] = { x, spec_put_int(s, 2, at), spec_put_int(s, v->w->dims[2], at),
				  spec_put_int(s, v->stride[0], at) };
	Value *const rows[] = { spec_put_op(s, c, "aten::unfold", unfold, 4, at), spec_put_int(s, 1, at),
				spec_put_int(s, 0, at) };
	Value *const linear[] = { spec_put_op(s, c, "aten::select.int", rows, 3, at), put_weights(s, v, 2, at),
				  v->bias };
	Value *const transpose[] = { spec_put_op(s, c, "aten::linear", linear, 3, at), rows[1],
				     spec_put_int(s, 2, at) };

	y = spec_put_op(s, c, "aten::transpose.int", transpose, 3, at);
	spec_alter(s, y);
	return y;
}

Value *
spec_squeezed(Spec *s, const Value *v)
{
	const Known *k;
	int64_t dim;

	if (!node_is(v->node, aten_squeeze) || v->node->nin != 2 || !known_int(s->k, v->node->in[1], &dim) ||
	    dim != 2)
		return NULL;
	k = known_at(s->k, v->node->in[0]);
	return k->is && k->v.tag == RT_TENSOR && k->v.u.t->ndim == 4 && k->v.u.t->dims[2] == 1 ? v->node->in[0] : NULL;
}

enum { MOST_JOINED = 64 };

static Value *
over_two_dims(Spec *s, Scope *c, const Conv *v, Range at)
{
	Value *const two = spec_put_int(s, 2, at);
	Value *const unsqueeze[] = { v->x, two };
	Value *const high = spec_squeezed(s, v->x),
		*const x = high ? high : spec_put_op(s, c, "aten::unsqueeze", unsqueeze, 2, at);
	Value *const in = spec_channels_last(s, c, x, v->padding[0] > 0, at);
	Value *const conv[] = { in, put_weights(s, v, 4, at), v->bias,
				put_ints(s, 1, v->stride[0], at), put_ints(s, 0, v->padding[0], at),
				put_ints(s, 1, v->dilation[0], at), spec_put_int(s, v->groups, at) };
	Value *const squeeze[] = { spec_put_op(s, c, "aten::conv2d", conv, 7, at), two };

	return spec_put_op(s, c, "aten::squeeze.dim", squeeze, 2, at);
}

Value *
spec_convolution_line(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *x;
	Conv v;

	if (!spec_plain_convolution(s, m, 1, &v))
		return NULL;
	x = known_at(s->k, v.x)->v.u.t;
	return x->dims[0] == 1 && x->dims[1] == 1 && v.dilation[0] == 1 ? as_product(s, c, &v, m->at) :
									  over_two_dims(s, c, &v, m->at);
}

/* Views an operand with one element for each channel, or one in all, with the dims before the squeeze.  Null if it has
 * more elements. */
static Value *
by_channel(Spec *s, Scope *c, Value *v, Range at)
{
	const Known *k = known_at(s->k, v);
	const RtTensor *t = k->is && k->v.tag == RT_TENSOR ? k->v.u.t : NULL;

	if (!t || t->ndim > 3 || (t->ndim && t->dims[t->ndim - 1] != 1) || (t->ndim == 3 && t->dims[0] != 1))
		return NULL;
	if (t->ndim < 2)
		return v;
	Value *const in[] = { v, spec_put_int(s, t->ndim - 1, at) };

	return spec_put_op(s, c, "aten::unsqueeze", in, 2, at);
}

/* Does n pad the last dim with a constant? */
static bool
pads_last_dim(Spec *s, Scope *c, const Node *n)
{
	const Known *pad, *mode;

	if (!node_is(n, aten_pad) && !node_is(n, aten_constant_pad_nd))
		return false;
	pad = known_at(s->k, spec_value(c, node_arg(n, "pad")));
	if (!pad->is || pad->v.tag != RT_LIST || pad->v.u.list->n != 2)
		return false;
	if (node_is(n, aten_constant_pad_nd))
		return true;
	if (!node_arg(n, "mode"))
		return false;
	mode = known_at(s->k, spec_value(c, node_arg(n, "mode")));
	return mode->is && mode->v.tag == RT_STR && !strcmp(mode->v.u.str->s, "constant");
}

/* Finds the tensor that each item of a list was squeezed from.  Returns false if an item was not squeezed, or if the
 * list has changed. */
static bool
squeezed_items(Spec *s, const Value *list, Value **of)
{
	const Known *k = known_at(s->k, list);

	if (!node_is(list->node, prim_ListConstruct) || list->node->nin < 1 || list->node->nin > MOST_JOINED ||
	    !k->is || k->mutable || k->v.u.list->n != list->node->nin)
		return false;
	for (int i = 0; i < list->node->nin; i++)
		if (!(of[i] = spec_squeezed(s, list->node->in[i])))
			return false;
	return true;
}

/* Can the tensors be concatenated along dim?  If not, the node stays, so that its error shows the model's own sizes. */
static bool
fit(Spec *s, Value *const *of, int n, int64_t dim)
{
	const RtTensor *first = known_at(s->k, of[0])->v.u.t;

	for (int i = 1; i < n; i++)
		for (int k = 0; k < 4; k++)
			if (k != dim && known_at(s->k, of[i])->v.u.t->dims[k] != first->dims[k])
				return false;
	return true;
}

/* Concatenates the tensors before their squeeze, and squeezes the result. */
static bool
cat_under_squeeze(Spec *s, Scope *c, const Node *n)
{
	Value *of[MOST_JOINED], *list, *y;
	int64_t dim;

	if (!node_is(n, aten_cat) || !known_int(s->k, spec_value(c, n->in[1]), &dim) ||
	    !squeezed_items(s, list = spec_fresh_list(s, spec_value(c, n->in[0]), n->at), of))
		return false;
	dim += dim < 0 ? 3 : 0;
	dim += dim == 2;                 /* dims from the squeezed one on are one further back */
	if (dim < 0 || dim > 3 || !fit(s, of, list->node->nin, dim))
		return false;
	list = spec_put_tensors(s, of, list->node->nin, list, n->at);
	y = spec_put_op(s, c, "aten::cat", (Value *const[]){ list, spec_put_int(s, dim, n->at) }, 2, n->at);
	y = spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ y, spec_put_int(s, 2, n->at) }, 2, n->at);
	spec_bind(s, c, n->out[0], y);
	spec_keep_layout(s, c, n);
	return true;
}

bool
spec_under_squeeze(Spec *s, Scope *c, Node *n)
{
	Value *of[8] = { 0 }, *first = NULL, *y;

	if (cat_under_squeeze(s, c, n))
		return true;
	if ((n->op->form != OP_MAP && !pads_last_dim(s, c, n)) || n->nout != 1 ||
	    n->nin > (int)(sizeof of / sizeof *of))
		return false;
	for (int i = 0; i < n->nin; i++) {
		Value *v = spec_value(c, n->in[i]);

		if (v->type->kind != TYPE_TENSOR || !(of[i] = spec_squeezed(s, v)))
			continue;
		if (first && !rt_same_dims(known_at(s->k, first)->v.u.t, known_at(s->k, of[i])->v.u.t))
			return false;
		first = of[i];
	}
	for (int i = 0; i < n->nin && first; i++)
		if (!of[i] && spec_value(c, n->in[i])->type->kind == TYPE_TENSOR &&
		    !(of[i] = by_channel(s, c, spec_value(c, n->in[i]), n->at)))
			return false;
	if (!first || !(y = spec_put_with(s, c, n, of)))
		return false;
	Value *const squeeze[] = { y, spec_put_int(s, 2, n->at) };

	spec_bind(s, c, n->out[0], spec_put_op(s, c, "aten::squeeze.dim", squeeze, 2, n->at));
	spec_keep_layout(s, c, n);
	return true;
}
