/*
 * Replaces quantized tensors by their integers.
 *
 * If scale and zero point are numbers, the operator prim::of_integers makes the quantized tensor from its integers.
 * Nodes that use the tensor read the integers before this operator:
 *
 *   q = quantize_per_tensor(x, s, z, quint8)  ->  i = prim::quantize_u8(x, 1 / s, z)
 *                                                 q = prim::of_integers(i, s, z)
 *   y = dequantize(q)                         ->  y = prim::dequantize(i, s, z)
 *   r = quantized::conv2d(q, packed, t, u)    ->  j = prim::conv_int8(i, weight, scales, bias, z, ..., u, 0, 255)
 *                                                 r = prim::of_integers(j, t, u)
 *
 * So arithmetic between layers is fused like other arithmetic, layers multiply integers, views are views of integers,
 * and activations are computed on dequantized values.  dce.c removes a prim::of_integers whose result nothing reads.
 */
#include "specialize.h"
#include "../../rt/ops/quant.h"

#include <string.h>

typedef struct Quant {           /* integers of a quantized tensor, and their parameters */
	Value  *raw;
	double  scale;
	int64_t zero;
	RtDtype dtype;           /* quantized dtype */
} Quant;

enum { CHANNELS_LAST = 2 };      /* value of torch.channels_last as a memory format */

/* ---- to integers and back ---------------------------------------------------------------------------------------- */

/* Is v made from integers with the same strides?  If so, finds them.  Nothing writes to v, since otherwise spec_op
 * would not call the functions here. */
static bool
open_quant(Spec *s, const Value *v, Quant *q)
{
	const RtTensor *t = known_tensor(s->k, v), *raw;
	const Node *n = v->node;

	if (!t || !(node_is(n, prim_of_integers) || node_is(n, aten__make_per_tensor_quantized_tensor)) ||
	    (t->dtype != RT_qu8 && t->dtype != RT_qi8) ||
	    !known_double(s->k, n->in[1], &q->scale) || !known_int(s->k, n->in[2], &q->zero))
		return false;
	q->raw = n->in[0];
	q->dtype = (RtDtype)t->dtype;
	raw = known_tensor(s->k, q->raw);
	return raw && !memcmp(raw->strides, t->strides, (size_t)t->ndim * sizeof *t->strides);
}

static Value *
close_quant(Spec *s, Scope *c, const Quant *q, Range at)
{
	Value *const in[] = { q->raw, spec_put_constant(s, rt_double(q->scale), at), spec_put_int(s, q->zero, at) };

	return spec_put_op(s, c, "prim::of_integers", in, 3, at);
}

static void
range_of(RtDtype dtype, int64_t *low, int64_t *high)
{
	*low = dtype == RT_qu8 ? 0 : -128;
	*high = *low + 255;
}

/* Emits the dequantized values of q's integers.  op: prim::dequantize, or prim::values for pointwise operators. */
static Value *
put_values(Spec *s, Scope *c, const Quant *q, const char *op, Range at)
{
	Value *const in[] = { q->raw, spec_put_constant(s, rt_double(q->scale), at), spec_put_int(s, q->zero, at) };

	return spec_put_op(s, c, op, in, 3, at);
}

/* Emits q's integers minus the zero point, as floats. */
static Value *
put_raw_units(Spec *s, Scope *c, Quant q, Range at)
{
	q.scale = 1;
	return put_values(s, c, &q, "prim::dequantize", at);
}

typedef struct Rounded { double inverse; int64_t zero; } Rounded;

/* Emits floats as integers: round(x * inverse) + zero, within the range of the quantized dtype. */
static Value *
put_integers(Spec *s, Scope *c, Value *x, RtDtype dtype, Rounded by, Range at)
{
	Value *const in[] = { x, spec_put_constant(s, rt_double(by.inverse), at), spec_put_int(s, by.zero, at) };

	return spec_put_op(s, c, dtype == RT_qu8 ? "prim::quantize_u8" : "prim::quantize_i8", in, 3, at);
}

/* Quantizes the floats x with step 1 / inverse.  Sets q->raw to the integers, and returns the quantized tensor. */
static Value *
put_quantized(Spec *s, Scope *c, Value *x, Quant *q, double inverse, Range at)
{
	q->raw = put_integers(s, c, x, q->dtype, (Rounded){ inverse, q->zero }, at);
	return close_quant(s, c, q, at);
}

static double
inverse_of(const Quant *q)
{
	return (double)(1 / (float)q->scale);
}

/* Reads a constant with one element. */
static bool
constant_number(Spec *s, const Value *v, double *x)
{
	const RtTensor *t = known_tensor(s->k, v);

	if (!t || !node_is(v->node, prim_Constant) || !tensor_has_data(t) || rt_numel(t) != 1)
		return false;
	*x = rt_load_f64((RtDtype)t->dtype, rt_data(t));
	return true;
}

/* Finds the scale and zero point of m: argument `at` and the next one.  They are numbers or constant tensors, as
 * torch.fx stores them. */
static bool
known_affine(Spec *s, const Node *m, int at, Quant *q)
{
	double zero;

	if (known_double(s->k, m->in[at], &q->scale) && known_int(s->k, m->in[at + 1], &q->zero))
		return true;
	if (!constant_number(s, m->in[at], &q->scale) || !constant_number(s, m->in[at + 1], &zero))
		return false;
	q->zero = (int64_t)zero;
	return true;
}

/* Handles quantize_per_tensor, and prim::as_quantized, whose argument 1 is the inverse of the scale. */
Value *
spec_quantize(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *x = known_tensor(s->k, m->in[0]), *y = known_tensor(s->k, m->out[0]);
	const int at = node_is(m, prim_as_quantized) ? 2 : 1;
	int64_t low, high;
	double inverse = 0;
	Quant q;

	if (!x || !y || x->dtype != RT_f32 || (y->dtype != RT_qu8 && y->dtype != RT_qi8) ||
	    !known_affine(s, m, at, &q) || (at == 2 && !known_double(s->k, m->in[1], &inverse)))
		return NULL;
	q.dtype = (RtDtype)y->dtype;
	range_of(q.dtype, &low, &high);
	return q.zero < low || q.zero > high ? NULL :
	       put_quantized(s, c, m->in[0], &q, at == 2 ? inverse : inverse_of(&q), m->at);
}

Value *
spec_dequantize(Spec *s, Scope *c, const Node *m)
{
	Quant q;

	if (!open_quant(s, m->in[0], &q))
		return NULL;
	return node_is(m, prim_units) ? put_raw_units(s, c, q, m->at) :
	       put_values(s, c, &q, node_is(m, prim_fused_values) ? "prim::values" : "prim::dequantize", m->at);
}

/* Rebuilds quantized results of m, n's copy, from their integers, so that later layers can read the integers. */
void
spec_quant_results(Spec *s, Scope *c, const Node *n, const Node *m)
{
	for (int i = 0; i < m->nout; i++) {
		const RtTensor *t = known_tensor(s->k, m->out[i]);
		Quant q;

		if (!t || !t->quant || t->quant->scales || t->quant->scale == 0 || open_quant(s, m->out[i], &q) ||
		    (t->dtype != RT_qu8 && t->dtype != RT_qi8))
			continue;
		q = (Quant){ .scale = t->quant->scale, .zero = t->quant->zero, .dtype = (RtDtype)t->dtype };
		q.raw = spec_put_op(s, c, "aten::int_repr", (Value *const[]){ m->out[i] }, 1, m->at);
		spec_bind(s, c, n->out[i], close_quant(s, c, &q, m->at));
	}
}

/* Lets m read the results of calls themselves, not the tensors that were rebuilt from their integers. */
void
spec_quant_arguments(Node *m)
{
	for (int i = 0; i < m->nin; i++) {
		const Node *made = m->in[i]->node;

		if (node_is(made, prim_of_integers) && node_is(made->in[0]->node, aten_int_repr))
			node_set_input(m, i, made->in[0]->node->in[0]);
	}
}

/* ---- views and activations --------------------------------------------------------------------------------------- */

/* Emits a copy of m on x in place of the quantized tensor. */
static Value *
put_on(Spec *s, Scope *c, const Node *m, Value *x)
{
	Node *n = spec_copy_node(s, m);

	node_add_input(n, x);
	for (int i = 1; i < m->nin; i++)
		node_add_input(n, m->in[i]);
	node_add_output(n, type_unshaped(s->cx, m->out[0]->type));
	graph_insert(s->to, n);
	spec_infer(s, c, n, n);
	return n->out[0];
}

/* Handles a view or a copy of a quantized tensor. */
Value *
spec_quant_view(Spec *s, Scope *c, const Node *m)
{
	Quant q;

	if (!open_quant(s, m->in[0], &q) || !known_is(s->k, m->out[0]))
		return NULL;
	q.raw = put_on(s, c, m, q.raw);
	return close_quant(s, c, &q, m->at);
}

enum { PARTS_MOST = 64 };

/* Splits a quantized tensor along a dim, by slices. */
Value *
spec_quant_parts(Spec *s, Scope *c, const Node *m)
{
	const Known *k = known_at(s->k, m->out[0]);
	const RtTensor *t = known_tensor(s->k, m->in[0]);
	Shadow parts = { 0 };
	int64_t dim, at = 0;
	Value *list;
	Quant q;

	if (!k->is || k->v.tag != RT_LIST || k->v.u.list->n > PARTS_MOST || !open_quant(s, m->in[0], &q) ||
	    !known_int(s->k, node_arg(m, "dim"), &dim))
		return NULL;
	dim += dim < 0 ? t->ndim : 0;
	for (int64_t i = 0; i < k->v.u.list->n; i++) {
		const int64_t to = at + k->v.u.list->v[i].u.t->dims[dim];
		Quant part = q;

		if (to == at)
			return NULL;
		part.raw = spec_put_slice(s, c, q.raw, (int)dim, (Slice){ at, to, 1 }, m->at);
		vec_push(s->cx->arena, &parts.items, close_quant(s, c, &part, m->at));
		at = to;
	}
	list = spec_put_tensors(s, parts.items.at, parts.items.n, m->out[0], m->at);
	parts.list = known_at(s->k, list)->v.u.list;
	vec_push(s->cx->arena, &s->shadows, parts);
	return list;
}

/* Returns the rounding of an operator whose argument is quantized.  The list argument of a mean or adaptive pool must
 * be known. */
static RtRounding
rounding_of(Spec *s, const Node *m, RtQuantOp op)
{
	const bool has_list = op == RT_Q_MEAN || op == RT_Q_ADAPTIVE2D;

	return rt_rounding(&s->k->rt, op, known_tensor(s->k, m->in[0]),
			   has_list ? known_at(s->k, m->in[1])->v : rt_none());
}

/* Computes an operator that is linear, or returns the greatest element, on integers minus their zero point.  Halves are
 * exact there. */
static Value *
put_linear(Spec *s, Scope *c, const Node *m, RtQuantOp op)
{
	RtRounding by;
	Value *y;
	Quant q;

	if (!open_quant(s, m->in[0], &q) || !known_is(s->k, m->out[0]))
		return NULL;
	by = rounding_of(s, m, op);
	if (by.how == RT_ROUND_FLOATS) {
		s->declined = "the order of summation decides how halves are rounded";
		return NULL;
	}
	y = put_on(s, c, m, put_raw_units(s, c, q, m->at));
	if (by.last && known_tensor(s->k, y)->ndim == 4)
		y = spec_put_contiguous(s, c, y, CHANNELS_LAST, m->at);
	if (by.how == RT_ROUND_WITH_ZERO && q.zero)
		y = spec_put_op(s, c, "aten::add.Scalar", (Value *const[]){ y, spec_put_int(s, q.zero, m->at),
				spec_put_int(s, 1, m->at) }, 3, m->at);
	q.raw = put_integers(s, c, y, q.dtype, (Rounded){ 1, by.how == RT_ROUND_WITH_ZERO ? 0 : q.zero },
			     m->at);
	return close_quant(s, c, &q, m->at);
}

Value *
spec_quant_linear_op(Spec *s, Scope *c, const Node *m)
{
	return put_linear(s, c, m, RT_Q_OTHER);
}

Value *
spec_quant_avg_pool(Spec *s, Scope *c, const Node *m)
{
	return put_linear(s, c, m, RT_Q_AVG_POOL);
}

/* Replaces an adaptive pool.  qnnpack's rounding depends on whether the windows have equal sizes.  They may have at one
 * size and not at another.  So under qnnpack only the mean of all elements is replaced, which has one window. */
Value *
spec_quant_adaptive_pool(Spec *s, Scope *c, const Node *m)
{
	const Known *size = known_at(s->k, m->in[1]);

	if (!known_is(s->k, m->in[1]))
		return NULL;
	for (int64_t i = 0; s->k->rt.engine == RT_QNNPACK && i < size->v.u.list->n; i++)
		if (size->v.u.list->v[i].u.i != 1) {
			s->declined = "qnnpack rounds windows of one size in another way than windows of several sizes";
			return NULL;
		}
	return put_linear(s, c, m, RT_Q_ADAPTIVE2D);
}

Value *
spec_quant_mean_dim(Spec *s, Scope *c, const Node *m)
{
	return known_is(s->k, m->in[1]) ? put_linear(s, c, m, RT_Q_MEAN) : NULL;
}

/* Concatenates quantized tensors.  All get the parameters of the first one. */
Value *
spec_quant_cat(Spec *s, Scope *c, const Node *m)
{
	const Node *list = m->in[0]->node;
	Value *part[PARTS_MOST];
	Quant first, q;

	if (!node_is(list, prim_ListConstruct) || !list->nin || list->nin > PARTS_MOST || !known_is(s->k, m->in[0]) ||
	    !known_is(s->k, m->out[0]) || !open_quant(s, list->in[0], &first))
		return NULL;
	for (int i = 0; i < list->nin; i++)
		if (!open_quant(s, list->in[i], &q) || q.dtype != first.dtype)
			return NULL;
	for (int i = 0; i < list->nin; i++) {
		open_quant(s, list->in[i], &q);
		part[i] = q.raw;
		if (q.scale != first.scale || q.zero != first.zero)
			part[i] = put_integers(s, c, put_values(s, c, &q, "prim::dequantize", m->at), first.dtype,
					       (Rounded){ inverse_of(&first), first.zero }, m->at);
	}
	Value *const in[] = { spec_put_tensors(s, part, list->nin, m->in[0], m->at), m->in[1] };

	first.raw = spec_put_op(s, c, "aten::cat", in, 2, m->at);
	return close_quant(s, c, &first, m->at);
}

static bool
rounds_twice(const Node *m)
{
	return node_is(m, aten_sigmoid);
}

/* Computes a pointwise operator on dequantized values.  The result has its argument's parameters, or those of its own
 * range (map.c). */
Value *
spec_quant_map(Spec *s, Scope *c, const Node *m)
{
	int64_t low, high;
	Quant q;

	if (!open_quant(s, m->in[0], &q) || !known_is(s->k, m->out[0]))
		return NULL;
	Value *const y = put_on(s, c, m, put_values(s, c, &q, rounds_twice(m) ? "prim::dequantize" : "prim::values",
						    m->at));

	range_of(q.dtype, &low, &high);
	if (node_is(m, aten_tanh))
		q.scale = 2. / 256, q.zero = low + 128;
	if (node_is(m, aten_sigmoid) || node_is(m, aten_hardsigmoid))
		q.scale = 1. / 256, q.zero = low;
	return put_quantized(s, c, y, &q, inverse_of(&q), m->at);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Slots of packed parameters, as in rt/ops/packed.c */
enum { WEIGHT, BIAS, STRIDE, PADDING, DILATION, OUTPUT_PADDING, GROUPS, TRANSPOSE };
enum { MOST_PRODUCTS = 1 << 16 }; /* most products that a sum in int32 can hold: VI_MOST of rt/ops/vint8.h */

typedef struct Layer {
	const IValue *slot;
	const RtTensor *w;
	/* Number of channels of the result.  It is w's first dim or, if transposed, its second dim times groups. */
	int64_t channels;
	Quant   x, y;
	bool    relu;
} Layer;

/* Returns the scale of channel i of the weights. */
static double
weight_scale(const RtTensor *w, int64_t i)
{
	const RtTensor *t = w->quant->scales;

	return t ? rt_load_f64((RtDtype)t->dtype, rt_data(t) + i * t->strides[0] * rt_dtypes[t->dtype].bytes) :
		   w->quant->scale;
}

/* Are the weights int8 with zero points of 0 and scales along dim 0, and does a sum have few enough products? */
static bool
is_centred(const RtTensor *w, int64_t channels)
{
	const RtTensor *z = w->quant->zeros;

	if (w->dtype != RT_qi8 || !channels || w->storage->kind == RT_META || rt_numel(w) / channels > MOST_PRODUCTS)
		return false;
	if (!w->quant->scales)
		return !w->quant->zero;
	for (int64_t i = 0; z && i < rt_numel(z); i++)
		if (rt_load_f64((RtDtype)z->dtype, rt_data(z) + i * z->strides[0] * rt_dtypes[z->dtype].bytes) != 0)
			return false;
	return z && !w->quant->axis && channels == w->dims[0] && rt_numel(z) == channels &&
	       rt_numel(w->quant->scales) == channels;
}

/* Reads the constant packed parameters v of m. */
static bool
take_slots(Spec *s, const Node *m, const Value *v, int slots, Layer *l)
{
	const Known *packed = known_at(s->k, v);

	if (!packed->is || packed->v.tag != RT_OBJECT || packed->v.u.obj->cls->nslot < slots ||
	    !node_is(v->node, prim_Constant))
		return false;
	l->slot = packed->v.u.obj->slot;
	if (l->slot[WEIGHT].tag != RT_TENSOR ||
	    (l->slot[BIAS].tag != RT_NONE && (l->slot[BIAS].tag != RT_TENSOR || l->slot[BIAS].u.t->dtype != RT_f32)))
		return false;
	l->w = l->slot[WEIGHT].u.t;
	l->channels = l->w->ndim ? l->w->dims[0] : 0;
	if (slots > TRANSPOSE && l->slot[TRANSPOSE].u.i && l->w->ndim > 1)
		l->channels = l->w->dims[1] * l->slot[GROUPS].u.i;
	l->relu = op_has(m->op, TRAIT_ENDS_IN_RELU);
	return true;
}

/* Reads the weights of layer m.  Returns false if they are not quantized as is_centred requires. */
static bool
take_weights(Spec *s, const Node *m, int slots, Layer *l)
{
	return take_slots(s, m, m->in[1], slots, l) && l->w->quant && is_centred(l->w, l->channels);
}

/* Reads weights, input and result of layer m.  scale: index of the argument with the result's scale.  The result's zero
 * point is the next argument. */
static bool
take_layer(Spec *s, const Node *m, int slots, int scale, Layer *l)
{
	const RtTensor *y = known_tensor(s->k, m->out[0]);

	if (!y || !take_weights(s, m, slots, l) || !open_quant(s, m->in[0], &l->x))
		return false;
	l->y.dtype = (RtDtype)y->dtype;
	return y->dtype == l->x.dtype && known_double(s->k, m->in[scale], &l->y.scale) &&
	       known_int(s->k, m->in[scale + 1], &l->y.zero);
}

/* Emits the weights' integers as a constant that is a view of their memory. */
static Value *
put_weights(Spec *s, const RtTensor *w, Range at)
{
	const RtGeometry lies = { w->ndim, w->dims, w->strides, w->offset };

	return spec_put_constant(s, rt_of(rt_tensor_over(&s->k->rt, w->storage, RT_i8, &lies)), at);
}

/* Makes the factor of each channel's sums, and the bias in units of a sum. */
static void
make_units(Spec *s, const Layer *l, RtTensor *made[2])
{
	const int64_t n = l->channels;
	RtTensor *scale = rt_tensor_new(&s->k->rt, RT_f32, 1, &n), *bias = rt_tensor_new(&s->k->rt, RT_f32, 1, &n);
	const RtTensor *b = l->slot[BIAS].tag == RT_TENSOR ? l->slot[BIAS].u.t : NULL;

	for (int64_t i = 0; i < n; i++) {
		const float of = b ? ((const float *)rt_data(b))[i * b->strides[0]] : 0;
		const QuantUnits u = quant_layer_units(&s->k->rt, l->x.dtype, l->x.scale, weight_scale(l->w, i),
						       l->y.scale, of);

		((float *)rt_data(scale))[i] = u.scale;
		((float *)rt_data(bias))[i] = u.bias;
	}
	made[0] = scale;
	made[1] = bias;
}

static void
put_units(Spec *s, const Layer *l, Value *put[2], Range at)
{
	RtTensor *of[2];

	make_units(s, l, of);
	for (int i = 0; i < 2; i++)
		put[i] = spec_put_constant(s, rt_of(of[i]), at);
}

/* Emits the arguments that describe the result: zero point, least and greatest integer. */
static void
put_range(Spec *s, const Layer *l, Value *put[3], Range at)
{
	int64_t low, high;

	range_of(l->y.dtype, &low, &high);
	put[0] = spec_put_int(s, l->y.zero, at);
	put[1] = spec_put_int(s, l->relu && l->y.zero > low ? l->y.zero : low, at);
	put[2] = spec_put_int(s, high, at);
}

Value *
spec_quant_linear(Spec *s, Scope *c, const Node *m)
{
	Value *in[8];
	Layer l;

	if (!take_layer(s, m, 2, 2, &l) || l.w->ndim != 2)
		return NULL;
	in[0] = spec_put_contiguous(s, c, l.x.raw, 0, m->at);
	in[1] = put_weights(s, l.w, m->at);
	put_units(s, &l, in + 2, m->at);
	in[4] = spec_put_int(s, l.x.zero, m->at);
	put_range(s, &l, in + 5, m->at);
	l.y.raw = spec_put_op(s, c, "prim::linear_int8", in, 8, m->at);
	return close_quant(s, c, &l.y, m->at);
}

/* Emits x in channels last. */
static Value *
put_last(Spec *s, Scope *c, Value *x, Range at)
{
	return spec_put_contiguous(s, c, x, known_tensor(s->k, x)->ndim == 5 ? 3 : 2, at);
}

/* Emits the convolution of x by in[1].  The caller has set in[2] and in[3] to factors of sums and bias, in[5 .. 8) to
 * stride, padding and dilation. */
static Value *
put_conv(Spec *s, Scope *c, const Layer *l, Value *x, Value *in[12], Range at)
{
	in[0] = put_last(s, c, x, at);
	in[4] = spec_put_int(s, l->x.zero, at);
	in[8] = spec_put_constant(s, rt_retain(l->slot[GROUPS]), at);
	put_range(s, l, in + 9, at);
	return spec_put_op(s, c, "prim::conv_int8", in, 12, at);
}

static bool
read_list(IValue v, int64_t *to, int n)
{
	for (int i = 0; i < n && v.u.list->n == n; i++)
		to[i] = v.u.list->v[i].u.i;
	return v.u.list->n == n;
}

/* Emits a transposed convolution of x by phases (convtransposed.c).  Null if it cannot be computed so.  y: sizes of the
 * result. */
static Value *
put_transposed(Spec *s, Scope *c, const Layer *l, Value *x, const int64_t *y, Range at)
{
	static const int64_t ones[] = { 1, 1, 1 };
	const int nd = l->w->ndim - 2;
	const RtGeometry lies = { l->w->ndim, l->w->dims, l->w->strides, l->w->offset };
	Transposed v = { .k = { 1, 1, 1 }, .s = { 1, 1, 1 }, .groups = l->slot[GROUPS].u.i, .nd = nd, .n = nd };
	int64_t dilation[3] = { 1, 1, 1 };
	Value *in[12];
	RtTensor *of[2];

	v.w = rt_tensor_over(&s->k->rt, l->w->storage, RT_i8, &lies);
	if (!read_list(l->slot[STRIDE], v.s + 3 - nd, nd) || !read_list(l->slot[PADDING], v.pad + 3 - nd, nd) ||
	    !read_list(l->slot[DILATION], dilation, nd) || dilation[0] != 1 || dilation[1] != 1 || dilation[2] != 1 ||
	    !spec_phases(&v, known_tensor(s->k, x)->dims, y))
		return NULL;
	make_units(s, l, of);
	in[1] = spec_phase_weights(s, &v, at);
	for (int i = 0; i < 2; i++)
		in[2 + i] = spec_phase_channels(s, &v, rt_temp(&s->k->rt, of[i]), at);
	in[5] = in[7] = spec_put_list(s, ones, nd, at);
	in[6] = spec_put_list(s, v.side + 3 - nd, nd, at);
	return put_last(s, c, spec_phases_joined(s, c, &v, put_conv(s, c, l, x, in, at), at), at);
}

/* Handles convolutions.  One over one dim has weights with two spatial dims. */
Value *
spec_quant_conv(Spec *s, Scope *c, const Node *m)
{
	Value *const two = spec_put_int(s, 2, m->at), *x, *in[12];
	const RtTensor *y = known_tensor(s->k, m->out[0]);
	int64_t dims[5] = { 0, 0, 1 };
	bool line;
	Layer l;

	if (!take_layer(s, m, 8, m->nin == 4 ? 2 : 6, &l) || !rt_numel(y) || (l.w->ndim != 4 && l.w->ndim != 5))
		return NULL;
	line = y->ndim == 3;
	if (y->ndim + line != l.w->ndim)
		return NULL;
	x = l.x.raw;
	if (line)
		x = spec_squeezed(s, x) ? spec_squeezed(s, x) :
		    spec_put_op(s, c, "aten::unsqueeze", (Value *const[]){ x, two }, 2, m->at);
	memcpy(dims, y->dims, 2 * sizeof *dims);
	memcpy(dims + 2 + line, y->dims + 2, (size_t)(y->ndim - 2) * sizeof *dims);
	if (l.slot[TRANSPOSE].u.i) {
		l.y.raw = put_transposed(s, c, &l, x, dims, m->at);
	} else {
		in[1] = put_weights(s, l.w, m->at);
		put_units(s, &l, in + 2, m->at);
		for (int i = 0; i < 3; i++)
			in[5 + i] = spec_put_constant(s, rt_retain(l.slot[STRIDE + i]), m->at);
		l.y.raw = put_conv(s, c, &l, x, in, m->at);
	}
	if (l.y.raw && line)
		l.y.raw = spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ l.y.raw, two }, 2, m->at);
	return l.y.raw ? close_quant(s, c, &l.y, m->at) : NULL;
}

/* Replaces int_repr by a copy of the integers, since the model may write to the result. */
Value *
spec_int_repr(Spec *s, Scope *c, const Node *m)
{
	Quant q;

	if (!open_quant(s, m->in[0], &q) || !known_is(s->k, m->out[0]))
		return NULL;
	Value *const copy[] = { q.raw, spec_put_constant(s, rt_none(), m->at) };

	return spec_put_op(s, c, "aten::clone", copy, 2, m->at);
}

/* ---- layers whose input is quantized by its own range ------------------------------------------------------------ */

/* Emits the bias as floats.  They are zeros if the layer has no bias. */
static Value *
put_bias(Spec *s, const Layer *l, Range at)
{
	const int64_t n = l->w->dims[0];
	RtTensor *t;

	if (l->slot[BIAS].tag == RT_TENSOR)
		return spec_put_constant(s, rt_retain(l->slot[BIAS]), at);
	t = rt_tensor_new(&s->k->rt, RT_f32, 1, &n);
	memset(rt_data(t), 0, (size_t)n * sizeof(float));
	return spec_put_constant(s, rt_of(t), at);
}

static Value *
put_scales(Spec *s, const RtTensor *w, Range at)
{
	const int64_t n = w->dims[0];
	RtTensor *t = rt_tensor_new(&s->k->rt, RT_f32, 1, &n);

	for (int64_t i = 0; i < n; i++)
		((float *)rt_data(t))[i] = (float)weight_scale(w, i);
	return spec_put_constant(s, rt_of(t), at);
}

/* Quantizes x to unsigned integers by its range.  Sets put to the integers, their scale and their zero point. */
static void
put_by_range(Spec *s, Scope *c, Value *x, bool narrow, Value *put[3], Range at)
{
	Value *const dims = spec_put_list(s, NULL, 0, at), *const keep = spec_put_constant(s, rt_bool(false), at);
	Value *const all[] = { x, dims, keep };
	Value *const range[] = { spec_put_op(s, c, "aten::amin", all, 3, at),
				 spec_put_op(s, c, "aten::amax", all, 3, at),
				 spec_put_int(s, 0, at),
				 spec_put_int(s, rt_reduces_range(&s->k->rt, narrow) ? 127 : 255, at) };
	Value *inverse;

	put[1] = spec_put_op(s, c, "prim::affine_scale", range, 4, at);
	put[2] = spec_put_op(s, c, "prim::affine_zero", range, 4, at);
	inverse = spec_put_op(s, c, "aten::reciprocal", put + 1, 1, at);
	put[0] = spec_put_op(s, c, "prim::quantize_by", (Value *const[]){ x, inverse, put[2] }, 3, at);
	put[0] = spec_put_contiguous(s, c, put[0], 0, at);
}

Value *
spec_quant_linear_by_range(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *x = known_tensor(s->k, m->in[0]);
	Value *by[3], *y;
	int64_t narrow;
	Layer l;

	if (!x || x->dtype != RT_f32 || !rt_numel(x) || !known_int(s->k, m->in[2], &narrow) ||
	    !take_weights(s, m, 2, &l) || l.w->ndim != 2)
		return NULL;
	put_by_range(s, c, m->in[0], narrow, by, m->at);
	y = spec_put_op(s, c, "prim::linear_sums", (Value *const[]){ by[0], put_weights(s, l.w, m->at), by[2] }, 3,
			m->at);
	y = spec_put_op(s, c, "prim::scaled_sums", (Value *const[]){ y, by[1], put_scales(s, l.w, m->at),
			put_bias(s, &l, m->at) }, 4, m->at);
	return l.relu ? spec_put_op(s, c, "aten::relu", &y, 1, m->at) : y;
}

/* ---- layers whose weights are rounded to half precision ---------------------------------------------------------- */

/* Emits the weights, rounded to half precision, as floats.  Null if the layer has no such weights. */
static Value *
put_half_weights(Spec *s, const Layer *l, Range at)
{
	RtTensor *const w = l->slot[WEIGHT].u.t, *t;

	if (w->quant || !tensor_has_data(w) || rt_dtypes[w->dtype].category != 'F' ||
	    !(t = rt_to_dtype(&s->k->rt, w, RT_f16)))
		return NULL;
	t = rt_temp(&s->k->rt, t);
	return spec_put_constant(s, rt_of(rt_to_dtype(&s->k->rt, t, RT_f32)), at);
}

Value *
spec_quant_linear_half(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *x = known_tensor(s->k, m->in[0]);
	Value *w, *y;
	Layer l;

	if (!x || x->dtype != RT_f32 || !known_is(s->k, m->out[0]) || !take_slots(s, m, m->in[1], 2, &l) ||
	    !(w = put_half_weights(s, &l, m->at)))
		return NULL;
	y = spec_put_op(s, c, "aten::linear", (Value *const[]){ m->in[0], w,
			spec_put_constant(s, rt_retain(l.slot[BIAS]), m->at) }, 3, m->at);
	return l.relu ? spec_put_op(s, c, "aten::relu", &y, 1, m->at) : y;
}

/* ---- recurrent layers: prim::rnn_walk_packed --------------------------------------------------------------------- */

enum { WALK_RESULTS = 3 };

Value *
spec_quant_walk(Spec *s, Scope *c, const Node *m)
{
	Value *const none = spec_put_constant(s, rt_none(), m->at);
	Value *in[10] = { m->in[0], m->in[1], m->in[2], m->in[3], NULL, none, none, m->in[6], none }, *y;
	int64_t narrow;
	Layer l;

	if (!known_is(s->k, m->out[0]) || !known_int(s->k, m->in[5], &narrow) ||
	    !take_slots(s, m, m->in[4], 2, &l) || l.w->ndim != 2)
		return NULL;
	if (l.w->quant && is_centred(l.w, l.channels)) {
		in[4] = put_weights(s, l.w, m->at);
		in[8] = put_scales(s, l.w, m->at);
	} else if (!(in[4] = put_half_weights(s, &l, m->at))) {
		return NULL;
	}
	in[5] = spec_put_constant(s, rt_retain(l.slot[BIAS]), m->at);
	in[9] = spec_put_constant(s, rt_bool(rt_reduces_range(&s->k->rt, narrow)), m->at);
	y = graph_emit_op(s->to, "prim::rnn_walk", m->at, 10, in, &rt_type_tensor);
	for (int i = 1; i < WALK_RESULTS; i++)
		node_add_output(y->node, &rt_type_tensor);
	spec_infer(s, c, y->node, y->node);
	return y;
}
