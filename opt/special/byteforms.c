/*
 * Replaces layers on floats that were dequantized from bytes, as in programs of PT2E, by matrix products of integers.
 *
 *   x = prim::dequantize(i, s, z)                   y = prim::linear_sums(i, q, z)
 *   w = prim::dequantized_rows(q, t)          ->    y = prim::scaled_sums(y, s, t, b)
 *   y = linear(x, w, b)
 *
 * Sums are exact.  If a result is rounded to bytes again, requant.c fuses the rounding into the product.  The passes
 * that follow fold weights that no product reads.
 */
#include "specialize.h"

#include <math.h>
#include <string.h>

enum { MOST_PRODUCTS = 1 << 16 }; /* most products that a sum in int32 can hold: VI_MOST of rt/ops/vint8.h */

typedef struct Bytes { /* dequantized floats: their integers, with scale and zero point in tensors without dims */
	Value *raw, *scale, *zero;
} Bytes;

typedef struct Rows {            /* dequantized weights: constant bytes, and a scale for each row */
	const RtTensor *w;
	RtTensor *scale;
} Rows;

static Value *
put_float(Spec *s, double number, Range at)
{
	RtTensor *t = rt_tensor_new(&s->k->rt, RT_f32, 0, NULL);

	*(float *)rt_data(t) = (float)number;
	return spec_put_constant(s, rt_of(t), at);
}

static const RtTensor *
constant_tensor(const Value *v)
{
	IValue c;

	return value_constant(v, &c) && c.tag == RT_TENSOR && tensor_has_data(c.u.t) &&
	       !c.u.t->storage->written ? c.u.t : NULL;
}

static double
element(const RtTensor *t, int64_t i)
{
	return rt_load_f64((RtDtype)t->dtype, rt_data(t) + i * rt_dtypes[t->dtype].bytes);
}

static bool
is_byte(double number, bool is_signed)
{
	const double low = is_signed ? -128 : 0;

	return number >= low && number <= low + 255 && number == floor(number);
}

/* Does n clamp integers to the range of bytes?  whole: its input consists of integers. */
static bool
clamps_to_bytes(const Node *n, bool is_signed, bool whole)
{
	IValue low, high;

	return whole && node_is(n, aten_clamp) && value_constant(n->in[1], &low) && value_constant(n->in[2], &high) &&
	       low.tag == RT_INT && high.tag == RT_INT && is_byte((double)low.u.i, is_signed) &&
	       is_byte((double)high.u.i, is_signed);
}

/* Is a zero point always within the range of bytes, as the padding value must be?  It is known, or was clamped when it
 * was computed. */
static bool
is_byte_always(Spec *s, const Value *zero, bool is_signed)
{
	bool whole = false;

	for (;; zero = zero->node->in[0]) {
		const RtTensor *t = known_tensor(s->k, zero), *constant = constant_tensor(zero);

		if (!t || rt_dtypes[t->dtype].bytes < 2)
			return false;
		if (constant)
			return rt_numel(constant) == 1 && is_byte(element(constant, 0), is_signed);
		whole |= rt_dtypes[t->dtype].category == 'I';
		if (!node_is(zero->node, aten_to) && !node_is(zero->node, prim_cast) &&
		    !node_is(zero->node, aten_reshape))
			return clamps_to_bytes(zero->node, is_signed, whole);
	}
}

/* Finds the bytes of v.  Skips a copy to another layout, since the layer makes its own. */
static bool
take_bytes(Spec *s, const Value *v, Bytes *b, Range at)
{
	const Node *n = node_is(v->node, aten_contiguous) ? v->node->in[0]->node : v->node;
	const bool by = node_is(n, prim_dequantize_by);
	const RtTensor *raw = by || node_is(n, prim_dequantize) ? known_tensor(s->k, n->in[0]) : NULL;
	double scale;
	int64_t zero;

	if (!raw || (raw->dtype != RT_u8 && raw->dtype != RT_i8) || !rt_numel(raw) ||
	    (by ? !is_byte_always(s, n->in[2], raw->dtype == RT_i8) :
	     !known_double(s->k, n->in[1], &scale) || !known_int(s->k, n->in[2], &zero) ||
	     !is_byte((double)zero, raw->dtype == RT_i8)))
		return false;
	b->raw = n->in[0];
	b->scale = by ? n->in[1] : put_float(s, scale, at);
	b->zero = by ? n->in[2] : put_float(s, (double)zero, at);
	return true;
}

static bool
is_zero(const Value *v)
{
	const RtTensor *t = constant_tensor(v);

	for (int64_t i = 0, n = t ? rt_numel(t) : 0; i < n; i++)
		if (!rt_is_contiguous(t) || element(t, i) != 0)
			return false;
	return t || value_is_none(v);
}

/* Returns the scale of row i of the weights that node n dequantizes.  scales: one for each row.  Null if all rows have
 * the same. */
static double
row_scale(Spec *s, const Node *n, const RtTensor *scales, int64_t i)
{
	double all = 0;

	if (scales)
		return element(scales, i);
	known_double(s->k, n->in[1], &all);
	return all;
}

/* Finds weights: constant bytes without a zero point, with a scale for each row or one for all. */
static bool
take_rows(Spec *s, const Value *v, Rows *r)
{
	const Node *n = v->node;
	const bool rows = node_is(n, prim_dequantized_rows);
	const RtTensor *w = rows || node_is(n, prim_dequantize) ? constant_tensor(n->in[0]) : NULL,
		       *scales = w && rows ? constant_tensor(n->in[1]) : NULL;
	int64_t zero = 0;

	if (!w || w->dtype != RT_i8 || w->ndim < 2 || !rt_numel(w) || rt_numel(w) / w->dims[0] > MOST_PRODUCTS ||
	    (rows && (!scales || rt_numel(scales) != w->dims[0] || !rt_is_contiguous(scales) || !is_zero(n->in[2]))) ||
	    (!rows && (!known_int(s->k, n->in[2], &zero) || zero)))
		return false;
	r->w = w;
	r->scale = rt_tensor_new(&s->k->rt, RT_f32, 1, w->dims);
	for (int64_t i = 0; i < w->dims[0]; i++)
		((float *)rt_data(r->scale))[i] = (float)row_scale(s, n, scales, i);
	return true;
}

/* Emits t (n) as a constant (n, 1, ..), with nd dims of size 1 after the first. */
static Value *
put_channels(Spec *s, RtTensor *t, int nd, Range at)
{
	const int64_t dims[4] = { t->dims[0], 1, 1, 1 }, strides[4] = { t->strides[0], 1, 1, 1 };

	return spec_put_constant(s, rt_of(rt_tensor_view(&s->k->rt, t, nd + 1, dims, strides, t->offset)), at);
}

/* Emits the bias in the same form.  Null if it is not a constant vector of floats. */
static Value *
put_bias(Spec *s, const Value *bias, int64_t n, int nd, Range at)
{
	const RtTensor *b = constant_tensor(bias);
	RtTensor *t;

	if (b)
		return b->dtype == RT_f32 && b->ndim == 1 && b->dims[0] == n ?
		       put_channels(s, (RtTensor *)(uintptr_t)b, nd, at) : NULL;
	if (!value_is_none(bias))
		return NULL;
	t = rt_temp(&s->k->rt, rt_tensor_new(&s->k->rt, RT_f32, 1, &n));
	memset(rt_data(t), 0, (size_t)n * sizeof(float));
	return put_channels(s, t, nd, at);
}

/* Emits the layer's result from its sums.  nd: number of dims after the channels. */
static Value *
put_scaled(Spec *s, Scope *c, Value *sums, Value *x_scale, Rows *r, Value *bias, int nd, Range at)
{
	Value *const in[] = { sums, x_scale, put_channels(s, rt_temp(&s->k->rt, r->scale), nd, at), bias };

	return spec_put_op(s, c, "prim::scaled_sums", in, 4, at);
}

/* Emits a reshape of x to n sizes, given as for spec_put_sizes. */
static Value *
put_reshaped(Spec *s, Scope *c, Value *x, Value *const *of, const int64_t *dims, int n, Range at)
{
	Value *const in[] = { x, spec_put_sizes(s, c, of, dims, n, at) };

	return spec_put_op(s, c, "aten::reshape", in, 2, at);
}

/* Dequantizes rows that are not constant, by pointwise operators on (n, parts, elements).  Sizes are read from the
 * operands at run time, since any of them may vary. */
Value *
spec_rows_of_bytes(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *w = known_tensor(s->k, m->in[0]), *scales = known_tensor(s->k, m->in[1]);
	Value *const q = m->in[0];
	Value *x, *by[2] = { m->in[2], m->in[1] }, *size[PUT_MOST];
	int64_t dims[PUT_MOST];

	if (!known_is(s->k, m->out[0]) || constant_tensor(q) || !w || !scales || !rt_numel(w) ||
	    !rt_is_contiguous(w) || w->ndim > PUT_MOST)
		return NULL;
	for (int i = 0; i < w->ndim; i++) {
		size[i] = q;
		dims[i] = i;
	}
	for (int i = 0; i < 2; i++)
		if (by[i]->type->kind != TYPE_NONE)
			by[i] = put_reshaped(s, c, by[i], (Value *[]){ q, NULL, NULL }, (int64_t[]){ 0, -1, 1 }, 3,
					     m->at);
	x = put_reshaped(s, c, q, (Value *[]){ q, by[1], NULL }, (int64_t[]){ 0, 1, -1 }, 3, m->at);
	x = by[0]->type->kind == TYPE_NONE ?
	    spec_put_op(s, c, "aten::mul.Tensor", (Value *const[]){ x, by[1] }, 2, m->at) :
	    spec_put_op(s, c, "prim::dequantize_by", (Value *const[]){ x, by[1], by[0] }, 3, m->at);
	return put_reshaped(s, c, x, size, dims, w->ndim, m->at);
}

Value *
spec_linear_of_bytes(Spec *s, Scope *c, const Node *m)
{
	Value *bias;
	Bytes x;
	Rows r;

	if (!known_is(s->k, m->out[0]) || !take_bytes(s, m->in[0], &x, m->at) || !take_rows(s, m->in[1], &r) ||
	    r.w->ndim != 2 || !(bias = put_bias(s, m->in[2], r.w->dims[0], 0, m->at)))
		return spec_rows(s, c, m);
	Value *const in[] = { spec_put_contiguous(s, c, x.raw, 0, m->at), m->in[1]->node->in[0], x.zero };

	return put_scaled(s, c, spec_put_op(s, c, "prim::linear_sums", in, 3, m->at), x.scale, &r, bias, 0, m->at);
}

/* Emits a constant list argument of a convolution over nd dims.  If nd is 1, `first` is inserted before it, for a
 * convolution over two dims. */
static Value *
put_wide(Spec *s, const int64_t *of, int nd, int64_t first, Range at)
{
	int64_t v[3] = { first };

	memcpy(v + (nd == 1), of, (size_t)nd * sizeof *of);
	return spec_put_list(s, v, nd == 1 ? 2 : nd, at);
}

/* Emits the weights.  If the convolution is over one dim, they get one more dim. */
static Value *
put_filters(Spec *s, const Value *of, const RtTensor *w, Range at)
{
	const int64_t dims[4] = { w->dims[0], w->dims[1], 1, w->dims[2] },
		      strides[4] = { w->strides[0], w->strides[1], w->strides[2], w->strides[2] };

	return w->ndim != 3 ? of->node->in[0] :
	       spec_put_constant(s, rt_of(rt_tensor_view(&s->k->rt, w, 4, dims, strides, w->offset)), at);
}

Value *
spec_convolution_of_bytes(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *y = known_tensor(s->k, m->out[0]);
	const int nd = y ? y->ndim - 2 : 0;
	int64_t by[3][3];
	Value *bias, *two, *r;
	Bytes x;
	Rows w;

	if (nd < 1 || nd > 3 || op_has(m->op, TRAIT_TRANSPOSED) || op_has(m->op, TRAIT_GENERAL_CONV) ||
	    !rt_numel(y) || !take_bytes(s, m->in[0], &x, m->at) ||
	    !spec_known_ints(s, m, "stride", nd, by[0]) || !spec_known_ints(s, m, "padding", nd, by[1]) ||
	    !spec_known_ints(s, m, "dilation", nd, by[2]) || !take_rows(s, m->in[1], &w) || w.w->ndim != nd + 2 ||
	    !(bias = put_bias(s, m->in[2], w.w->dims[0], nd == 1 ? 2 : nd, m->at)))
		return NULL;
	two = spec_put_int(s, 2, m->at);
	if (nd == 1)
		x.raw = spec_put_op(s, c, "aten::unsqueeze", (Value *const[]){ x.raw, two }, 2, m->at);
	Value *const in[] = { spec_put_contiguous(s, c, x.raw, nd == 3 ? 3 : 2, m->at),
			      put_filters(s, m->in[1], w.w, m->at), x.zero, put_wide(s, by[0], nd, 1, m->at),
			      put_wide(s, by[1], nd, 0, m->at), put_wide(s, by[2], nd, 1, m->at), m->in[6] };

	r = put_scaled(s, c, spec_put_op(s, c, "prim::conv_sums", in, 7, m->at), x.scale, &w, bias,
		       nd == 1 ? 2 : nd, m->at);
	if (nd == 1)
		r = spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ r, two }, 2, m->at);
	spec_alter(s, r);
	return r;
}
