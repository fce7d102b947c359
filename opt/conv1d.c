/*
 * Convolutions over one dim, in the forms that have kernels.
 *
 * A convolution of (N, C, L) is one over two dims of a tensor of height 1, which layouts.c brings to channels last; squeezed
 * again, the result keeps that layout, so that of a chain only the first pays for it.  Over one channel (a spectrum of
 * samples, by a basis) it is a product: rows of the kernel's length that overlap, times the weights.
 *
 *    y = conv1d(x, w, b, [s], [p], [d], g)  ->  y' = conv2d(unsqueeze(x, 2), unsqueeze(w, 2), b, [1, s], [0, p], [1, d], g)
 *                                               y  = squeeze(y', 2)
 *    y = conv1d(x, w, b, [s], [p], [1], 1)  ->  r  = select(unfold(constant_pad_nd(x, [p, p]), 2, k, s), 1, 0)
 *       of one channel, one batch               y  = transpose(linear(r, w[:, 0], b), 1, 2)
 *
 * Pointwise operators between two of them move in front of the squeeze, into the convolution's store.
 */
#include "specialize.h"

#include <string.h>

typedef struct Conv1d {
	Value   *x, *bias;
	RtTensor *w;
	int64_t  stride, padding, dilation, groups;
} Conv1d;

static Value *
put_constant(Spec *s, IValue v, Range at)
{
	Value *k = graph_constant(s->to, v, at);

	known_set(s->k, k, rt_retain(v));
	return k;
}

static Value *
put_int(Spec *s, int64_t i, Range at)
{
	return put_constant(s, rt_int(i), at);
}

static Value *
put_ints(Spec *s, int64_t a, int64_t b, Range at)
{
	const IValue v[2] = { rt_int(a), rt_int(b) };

	return put_constant(s, rt_list_of(&s->k->rt, &rt_type_int, v, 2), at);
}

static Value *
put_op(Spec *s, Scope *c, const char *name, const char *overload, Value *const *in, int nin, Range at)
{
	Node *m = node_new(s->to, sym(s->cx, name), at, 1);

	m->op = op_find(s->cx, name, overload);
	for (int i = 0; i < nin; i++)
		node_add_input(m, in[i]);
	graph_insert(s->to, m);
	spec_infer(s, c, m, m);
	return m->out[0];
}

/* The weights, as seen with these dims. */
static Value *
put_weights(Spec *s, const Conv1d *v, int ndim, Range at)
{
	const RtTensor *w = v->w;
	const int64_t dims[4] = { w->dims[0], ndim == 2 ? w->dims[2] : w->dims[1], 1, w->dims[2] };
	const int64_t strides[4] = { w->strides[0], ndim == 2 ? w->strides[2] : w->strides[1], w->dims[2] * w->strides[2], w->strides[2] };
	RtTensor *view = rt_tensor_view(&s->k->rt, w, ndim, dims, strides, w->offset);
	IValue value = { .tag = RT_TENSOR };

	value.u.t = view;
	return put_constant(s, value, at);
}

static bool
one_int(Spec *s, const Node *m, const char *name, int64_t *out)
{
	const Value *v = node_arg(m, name);
	const Known *k = v ? known_at(s->k, v) : NULL;

	if (!k || !k->is || k->mutable || k->v.tag != RT_LIST || k->v.u.list->n != 1 || k->v.u.list->v[0].tag != RT_INT)
		return false;
	*out = k->v.u.list->v[0].u.i;
	return true;
}

static bool
recognise(Spec *s, const Node *m, Conv1d *v)
{
	const Value *transposed = node_arg(m, "transposed");
	const Known *x, *y = known_at(s->k, m->out[0]);
	int64_t flag = 0;
	IValue w;

	if (!node_is(m, "aten::conv1d") && !node_is(m, "aten::_convolution") && !node_is(m, "aten::convolution"))
		return false;
	*v = (Conv1d){ .x = node_arg(m, "input"), .bias = node_arg(m, "bias") };
	x = known_at(s->k, v->x);
	if (!y->is || !x->is || x->v.u.t->ndim != 3 || x->v.u.t->dtype != RT_f32 || !rt_numel(y->v.u.t) ||
	    !value_constant(node_arg(m, "weight"), &w) || w.tag != RT_TENSOR || w.u.t->dtype != RT_f32)
		return false;
	v->w = w.u.t;
	return (!transposed || (known_int(s->k, transposed, &flag) && !flag)) && known_int(s->k, node_arg(m, "groups"), &v->groups) &&
	       one_int(s, m, "stride", &v->stride) && one_int(s, m, "padding", &v->padding) && one_int(s, m, "dilation", &v->dilation);
}

static Value *
as_product(Spec *s, Scope *c, const Conv1d *v, Range at)
{
	Value *x = v->x, *y;

	if (v->padding) {
		Value *const pad[] = { x, put_ints(s, v->padding, v->padding, at), put_constant(s, rt_double(0), at) };

		x = put_op(s, c, "aten::constant_pad_nd", "", pad, 3, at);
	}
	Value *const unfold[] = { x, put_int(s, 2, at), put_int(s, v->w->dims[2], at), put_int(s, v->stride, at) };
	Value *const rows[] = { put_op(s, c, "aten::unfold", "", unfold, 4, at), put_int(s, 1, at), put_int(s, 0, at) };
	Value *const linear[] = { put_op(s, c, "aten::select", "int", rows, 3, at), put_weights(s, v, 2, at), v->bias };
	Value *const transpose[] = { put_op(s, c, "aten::linear", "", linear, 3, at), rows[1], put_int(s, 2, at) };

	y = put_op(s, c, "aten::transpose", "int", transpose, 3, at);
	known_at(s->k, y)->altered = !rt_is_contiguous(known_at(s->k, y)->v.u.t);
	return y;
}

/* What is squeezed here from height 1; null: it is no such value. */
static Value *
squeezed(Spec *s, const Value *v)
{
	const Known *k;
	int64_t dim;

	if (!node_is(v->node, "aten::squeeze") || v->node->nin != 2 || !known_int(s->k, v->node->in[1], &dim) || dim != 2)
		return NULL;
	k = known_at(s->k, v->node->in[0]);
	return k->is && k->v.tag == RT_TENSOR && k->v.u.t->ndim == 4 && k->v.u.t->dims[2] == 1 ? v->node->in[0] : NULL;
}

static Value *
over_two_dims(Spec *s, Scope *c, const Conv1d *v, Range at)
{
	Value *const two = put_int(s, 2, at);
	Value *const unsqueeze[] = { v->x, two };
	Value *const high = squeezed(s, v->x), *const x = high ? high : put_op(s, c, "aten::unsqueeze", "", unsqueeze, 2, at);
	Value *const conv[] = { spec_channels_last(s, c, x, at), put_weights(s, v, 4, at), v->bias, put_ints(s, 1, v->stride, at), put_ints(s, 0, v->padding, at),
				put_ints(s, 1, v->dilation, at), put_int(s, v->groups, at) };
	Value *const squeeze[] = { put_op(s, c, "aten::conv2d", "", conv, 7, at), two };

	return put_op(s, c, "aten::squeeze", "dim", squeeze, 2, at);
}

Value *
spec_convolution_1d(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *x;
	Conv1d v;

	if (!recognise(s, m, &v))
		return NULL;
	x = known_at(s->k, v.x)->v.u.t;
	if (x->dims[0] == 1 && x->dims[1] == 1 && v.dilation == 1)
		return as_product(s, c, &v, m->at);
	return over_two_dims(s, c, &v, m->at);
}

static bool
same_dims(Spec *s, const Value *a, const Value *b)
{
	const RtTensor *t = known_at(s->k, a)->v.u.t, *u = known_at(s->k, b)->v.u.t;

	return !memcmp(t->dims, u->dims, sizeof *t->dims * 4);
}

bool
spec_under_squeeze(Spec *s, Scope *c, Node *n)
{
	Value *of[8] = { 0 }, *first = NULL;
	Node *m;

	if (n->op->form != OP_MAP || n->nout != 1 || n->nin > (int)(sizeof of / sizeof *of))
		return false;
	for (int i = 0; i < n->nin; i++) {
		Value *v = spec_value(c, n->in[i]);

		if (v->type->kind != TYPE_TENSOR)
			continue;
		if (!(of[i] = squeezed(s, v)) || (first && !same_dims(s, first, of[i])))
			return false;
		first = of[i];
	}
	if (!first)
		return false;
	m = spec_copy_node(s, n);
	for (int i = 0; i < n->nin; i++)
		node_add_input(m, of[i] ? of[i] : spec_argument(s, c, n, i));
	node_add_output(m, type_unshaped(s->cx, n->out[0]->type));
	graph_insert(s->to, m);
	spec_infer(s, c, n, m);
	Value *const squeeze[] = { m->out[0], put_int(s, 2, n->at) };

	spec_bind(s, c, n->out[0], put_op(s, c, "aten::squeeze", "dim", squeeze, 2, n->at));
	spec_keep_layout(s, c, n);
	return true;
}
