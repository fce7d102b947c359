/*
 * Quantized products: linear layers and convolutions on packed parameters, and the packed parameters themselves.
 *
 * A packed parameter is an object with slots: weight, bias and, for a convolution, its geometry. The product is
 * computed on integers minus their zero points. These are converted to floats while every sum stays below 2^24, and
 * otherwise to doubles. So the product is exact and uses the common matrix product. The remaining steps follow FBGEMM:
 * add the bias in units of the product, multiply once, round to even, clamp.
 */
#include "gemm.h"
#include "quant.h"

#include <math.h>
#include <string.h>

/* ---- classes ------------------------------------------------------------------------------------------- */

static const char *const conv_slots[] = { "weight", "bias", "stride", "padding", "dilation", "output_padding", "groups",
	"transpose" };
static const char *const cell_slots[] = { "w_ih", "w_hh", "b_ih", "b_hh", "reduce_range" };
static const RtType *const conv_types[] = { &rt_type_tensor, &rt_type_any, &rt_type_list_int, &rt_type_list_int,
	&rt_type_list_int, &rt_type_list_int, &rt_type_int, &rt_type_bool };
static const RtType *const cell_types[] = { &rt_type_any, &rt_type_any, &rt_type_any, &rt_type_any, &rt_type_bool };

static const char *const clamp_linear_slots[] = { "weight", "bias", "output_min", "output_max" };
static const char *const clamp_conv_slots[] = { "weight", "bias", "stride", "padding", "dilation", "groups",
	"output_min", "output_max" };
static const char *const clamp_transpose_slots[] = { "weight", "bias", "stride", "padding", "output_padding",
	"dilation", "groups", "output_min", "output_max" };
static const RtType *const clamp_linear_types[] = { &rt_type_tensor, &rt_type_any, &rt_type_any, &rt_type_any };
static const RtType *const clamp_conv_types[] = { &rt_type_tensor, &rt_type_any, &rt_type_list_int, &rt_type_list_int,
	&rt_type_list_int, &rt_type_int, &rt_type_any, &rt_type_any };
static const RtType *const clamp_transpose_types[] = { &rt_type_tensor, &rt_type_any, &rt_type_list_int,
	&rt_type_list_int, &rt_type_list_int, &rt_type_list_int, &rt_type_int, &rt_type_any, &rt_type_any };

#define PACKED_CLASS(id, qualified, slots, slot_names, slot_types) \
	static const RtClass id; \
	static const RtType id##_type = { .kind = TYPE_CLASS, .name = qualified, .cls = (RtClass *)&id }; \
	static const RtClass id = { .name = qualified, .nslot = slots, .slot = (const char **)slot_names, \
		.slot_type = (const RtType **)slot_types, .type = &id##_type }
PACKED_CLASS(linear_class, "__torch__.torch.classes.quantized.LinearPackedParamsBase", 2, conv_slots, conv_types);
PACKED_CLASS(conv2d_class, "__torch__.torch.classes.quantized.Conv2dPackedParamsBase", 8, conv_slots, conv_types);
PACKED_CLASS(conv3d_class, "__torch__.torch.classes.quantized.Conv3dPackedParamsBase", 8, conv_slots, conv_types);
PACKED_CLASS(cell_class, "__torch__.torch.classes.rnn.CellParamsBase", 5, cell_slots, cell_types);
PACKED_CLASS(clamp_linear_class, "__torch__.torch.classes.xnnpack.LinearOpContext", 4, clamp_linear_slots,
	     clamp_linear_types);
PACKED_CLASS(clamp_conv_class, "__torch__.torch.classes.xnnpack.Conv2dOpContext", 8, clamp_conv_slots,
	     clamp_conv_types);
PACKED_CLASS(clamp_transpose_class, "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext", 9,
	     clamp_transpose_slots, clamp_transpose_types);
#undef PACKED_CLASS

enum { WEIGHT, BIAS, STRIDE, PADDING, DILATION, OUTPUT_PADDING, GROUPS, TRANSPOSE };

/* Returns the slots of a packed argument. Null, with an error raised, if it has fewer than n. */
static IValue *
slots_of(RtCx *cx, IValue v, int n)
{
	if (v.tag != RT_OBJECT || v.u.obj->cls->nslot < n || v.u.obj->slot[WEIGHT].tag != RT_TENSOR) {
		rt_raise(cx, "expected packed parameters, got %s", rt_type_of(v));
		return 0;
	}
	return v.u.obj->slot;
}

static int
new_packed(RtCx *cx, const RtClass *cls, const IValue *slot, int n, IValue *out)
{
	RtObject *o = rt_object_new(cx, (RtClass *)cls);

	if (!o)
		return RT_ERROR;
	for (int i = 0; i < n; i++)
		rt_assign(&o->slot[i], rt_retain(slot[i]));
	out[0] = rt_ref(RT_OBJECT, o);
	return RT_OK;
}

/* ---- the integer product ----------------------------------------------------------------------------------- */

typedef struct Scales {
	const RtCx *cx;
	double  x;                       /* scale of the activations */
	int64_t n;                       /* number of the weight's scales: one, or one for each output */
	double *w;
} Scales;

/* Sets one scale, or the scales of the channels. */
static int
take_scales(RtCx *cx, RtTensor *each, double scale, Scales *s)
{
	RtTensor *all = each ? dense_in(cx, each, RT_f64) : 0;

	s->cx = cx;
	s->n = each ? rt_numel(each) : 1;
	s->w = rt_scratch(cx, s->n * 8 + 8);
	if (!s->w || (each && !all))
		return RT_ERROR;
	for (int64_t i = 0; i < s->n; i++)
		s->w[i] = all ? ((double *)rt_data(all))[i] : scale;
	return RT_OK;
}

/* Reads the scales of a weight: one for the whole weight, or those of channels along dim 0. */
static int
scales_of(RtCx *cx, RtTensor *w, Scales *s)
{
	RtTensor *each = w->quant->scales;

	if (each && rt_numel(each) != 1 && (w->quant->axis != 0 || rt_numel(each) != w->dims[0]))
		return rt_lacks(cx, "weights quantized along another dim than the first");
	return take_scales(cx, each, w->quant->scale, s);
}

/* Returns the integers of t minus their zero points, as dense floats or doubles. If t is quantized per channel, zero
 * points are along dim 0. */
static RtTensor *
centred(RtCx *cx, RtTensor *t, RtDtype ct)
{
	RtTensor *raw = quant_raw(cx, t), *d = raw ? rt_temp(cx, rt_to_dtype(cx, raw, ct)) : 0, *z;
	int64_t n = rt_numel(t), channels = t->quant->scales ? rt_numel(t->quant->scales) : 1, each;

	d = d ? rt_temp(cx, rt_tensor_new(cx, ct, t->ndim, t->dims)) : 0;
	if (cx->meta)
		return d;
	if (!d || rt_copy_into(cx, d, raw))
		return 0;
	z = t->quant->scales ? dense_in(cx, t->quant->zeros, RT_i64) : 0;
	each = channels ? n / channels : 0;
	for (int64_t i = 0; i < n; i++) {
		int64_t zero = z ? ((int64_t *)rt_data(z))[i / each] : t->quant->zero;

		if (ct == RT_f32)
			((float *)rt_data(d))[i] -= (float)zero;
		else
			((double *)rt_data(d))[i] -= (double)zero;
	}
	return d;
}

/* Returns float if sums of k products of 8-bit integers are exact in float, and otherwise double. */
static RtDtype
product_type(int64_t k)
{
	return k <= 512 ? RT_f32 : RT_f64;
}

typedef struct Output {
	double  scale;          /* scale of the result; 0 if the result is floating */
	int64_t zero;
	RtDtype dtype;
	bool    relu;
	double  through; /* if not 0, a floating result is first rounded to 8 bits with this scale and through_zero */
	int64_t through_zero;
} Output;

/* Converts exact sums (rows, channels, inner) in place to the values that the output's type requires. */
static void
finish_values(RtTensor *sum, const Scales *s, RtTensor *bias, int64_t channels, int64_t inner, const Output *o)
{
	int64_t n = rt_numel(sum), low = 0, high = 0;

	if (o->scale)
		quant_range(o->dtype, &low, &high);
	if (o->relu && o->scale)
		low = o->zero > low ? o->zero : low;
	for (int64_t i = 0; i < n; i++) {
		int64_t c = i / inner % channels;
		const double w = s->w[s->n > 1 ? c : 0];
		float unit = (float)s->x * (float)w, b = bias ? ((float *)rt_data(bias))[c] : 0;
		double v = rt_load_f64((RtDtype)sum->dtype, rt_data(sum) + i * rt_dtypes[sum->dtype].bytes);

		if (o->scale) {
			const QuantUnits u = quant_layer_units(s->cx, o->dtype, s->x, w, o->scale, b);
			float q = nearbyintf(((float)v + u.bias) * u.scale) + (float)o->zero;

			v = q < (float)low ? (double)low : q > (float)high ? (double)high : (double)q;
		} else if (o->through) {
			float q = nearbyintf(((float)v + (b ? b / unit : 0)) * (unit / (float)o->through)) +
				  (float)o->through_zero;

			v = (double)((q < 0 ? 0 : q > 255 ? 255 : q) - (float)o->through_zero) * o->through;
		} else {
			v = (double)((float)v * unit + b);
			v = o->relu && v < 0 ? 0 : v;
		}
		if (sum->dtype == RT_f32)
			((float *)rt_data(sum))[i] = (float)v;
		else
			((double *)rt_data(sum))[i] = v;
	}
}

static RtTensor *
product_result(RtCx *cx, const Output *o, int ndim, const int64_t *dims, const int64_t *strides)
{
	return o->scale ? quant_result(cx, o->dtype, ndim, dims, strides, (Affine){ o->scale, o->zero }) :
		rt_result(cx, 0, RT_f32, ndim, dims, strides);
}

static int
store_sum(RtCx *cx, RtTensor *r, RtTensor *sum)
{
	RtTensor *to = r->quant ? quant_raw(cx, r) : r;

	return to ? rt_copy_into(cx, to, sum) : RT_ERROR;
}

static RtTensor *
float_bias(RtCx *cx, IValue bias, RtTensor **d)
{
	RtTensor *b = rt_tensor(bias);

	*d = b ? dense_in(cx, b, RT_f32) : 0;
	return b;
}

/* ---- linear ------------------------------------------------------------------------------------------------- */

/* Whether the weight has bytes without a zero point, and few enough of them for sums in int32. */
static bool
is_of_bytes(const RtTensor *w)
{
	const RtTensor *z = w->quant->zeros;
	bool zero = z ? z->dtype == RT_i64 && z->ndim == 1 : !w->quant->zero;

	for (int64_t i = 0; zero && z && i < z->dims[0]; i++)
		zero = !((const int64_t *)rt_data(z))[i * z->strides[0]];
	return zero && w->dtype == RT_qi8 && w->ndim == 2 && w->dims[1] <= INT8_PRODUCTS;
}

/* Returns the product of bytes as floats. */
static RtTensor *
byte_sums(RtCx *cx, RtTensor *x, RtTensor *w, const int64_t *dims)
{
	RtTensor *raw = quant_raw(cx, x), *xi = raw ? dense_in(cx, raw, RT_u8) : 0, *wi = quant_raw(cx, w);
	RtTensor *sum = rt_temp(cx, rt_tensor_new(cx, RT_i32, x->ndim, dims));
	Int8Weights packed;

	if (!xi || !wi || !sum || int8_pack(cx, wi, &packed) ||
	    int8_sums(cx, &packed, packed.n ? rt_numel(sum) / packed.n : 0, (const uint8_t *)rt_data(xi),
		      (int32_t)x->quant->zero, (int32_t *)rt_data(sum)))
		return 0;
	return rt_temp(cx, rt_to_dtype(cx, sum, RT_f32));
}

/* Returns the product of any integers. */
static RtTensor *
wide_sums(RtCx *cx, RtTensor *x, RtTensor *w, const int64_t *dims)
{
	const RtDtype ct = product_type(w->dims[1]);
	const int64_t rows = w->dims[1] ? rt_numel(x) / w->dims[1] : 0;
	RtTensor *xi = centred(cx, x, ct), *wi = centred(cx, w, ct);
	RtTensor *sum = rt_temp(cx, rt_tensor_new(cx, ct, x->ndim, dims));

	if (!xi || !wi || !sum || gemm(cx, ct, &(Product){ rows, w->dims[0], w->dims[1], rt_data(xi), rt_data(wi),
				       w->dims[1], 1, 1, w->dims[1], .c = rt_data(sum) }))
		return 0;
	return sum;
}

static int
linear(RtCx *cx, RtTensor *x, IValue packed, const Output *o, IValue *out)
{
	IValue *slot = slots_of(cx, packed, 2);
	RtTensor *w, *b, *sum, *r, *bias;
	int64_t dims[RT_MAX_RANK];
	Scales s;

	if (!slot)
		return RT_ERROR;
	w = slot[WEIGHT].u.t;
	if (!x->quant || x->quant->scales || !w->quant || w->ndim != 2)
		return rt_raise(cx, "quantized::linear: input and weight should be quantized");
	if (x->ndim < 1 || x->dims[x->ndim - 1] != w->dims[1])
		return rt_raise(cx, "quantized::linear: the last dim of the input should be %lld",
				(long long)w->dims[1]);
	memcpy(dims, x->dims, (size_t)x->ndim * 8);
	dims[x->ndim - 1] = w->dims[0];
	r = product_result(cx, o, x->ndim, dims, 0);
	RT_RESULT(cx, r, out[0]);
	s.x = x->quant->scale;
	bias = float_bias(cx, slot[BIAS], &b);
	if (scales_of(cx, w, &s) || (bias && !b))
		return RT_ERROR;
	sum = x->dtype == RT_qu8 && is_of_bytes(w) ? byte_sums(cx, x, w, dims) : wide_sums(cx, x, w, dims);
	if (!sum)
		return RT_ERROR;
	finish_values(sum, &s, b, w->dims[0], 1, o);
	return store_sum(cx, r, sum);
}

typedef struct Int8Layer {
	RtTensor    *w;          /* integers of the weight */
	Scales       scales;
	Int8Weights  packed;
} Int8Layer;

int
quant_layer(RtCx *cx, RtTensor *w, RtTensor *scale, Int8Layer **layer)
{
	Int8Layer *l;

	*layer = NULL;
	if (cx->meta || (!scale && !is_of_bytes(w)))
		return RT_OK;
	l = rt_scratch(cx, sizeof *l);
	if (!l || (scale ? take_scales(cx, scale, 0, &l->scales) : scales_of(cx, w, &l->scales)) ||
	    !(l->w = scale ? w : quant_raw(cx, w)))
		return RT_ERROR;
	*layer = l;
	return RT_OK;
}

int
quant_pack_layer(RtCx *cx, Int8Layer *l)
{
	return int8_pack(cx, l->w, &l->packed);
}

int
quant_project(RtCx *cx, const Int8Layer *l, int64_t rows, const float *x, bool narrow, float *y)
{
	const int64_t n = l->packed.n, k = l->packed.k;
	uint8_t *bytes = rt_scratch(cx, rows * k + 1);
	int32_t *sum = rt_scratch(cx, rows * n * (int64_t)sizeof *sum + 1), zero;
	float scale;

	if (!bytes || !sum)
		return RT_ERROR;
	int8_by_range(rows * k, x, narrow ? 127 : 255, bytes, &scale, &zero);
	if (int8_sums(cx, &l->packed, rows, bytes, zero, sum))
		return RT_ERROR;
	for (int64_t i = 0; i < rows * n; i++)
		y[i] += (float)sum[i] * (scale * (float)l->scales.w[l->scales.n > 1 ? i % n : 0]);
	return RT_OK;
}

/* Arguments: X, packed, scale, zero_point. */
static int
static_linear(RtCx *cx, const IValue *in, bool relu, IValue *out)
{
	Output o = { .scale = rt_number(in[2]), .zero = in[3].u.i, .dtype = (RtDtype)rt_tensor(in[0])->dtype,
		.relu = relu };

	return linear(cx, rt_tensor(in[0]), in[1], &o, out);
}

KERNEL(quantized_linear, static_linear(cx, in, false, out))
KERNEL(quantized_linear_relu, static_linear(cx, in, true, out))

/* Quantizes x to 8 bits over its own range, or to 7 bits if `narrow`. */
static int
quantize_dynamic(RtCx *cx, RtTensor *x, bool narrow, RtTensor **q)
{
	double low = 0, high = 0, scale = 1;
	int64_t zero = 0;
	IValue v;

	if (!cx->meta && quant_limits(cx, x, &low, &high))
		return RT_ERROR;
	if (!cx->meta)
		quant_choose(low, high, 0, rt_reduces_range(cx, narrow) ? 127 : 255, &scale, &zero);
	if (CALL(cx, quantize_per_tensor, &v, rt_of(x), rt_double(scale), rt_int(zero), rt_int(RT_qu8)))
		return RT_ERROR;
	*q = v.u.t;
	return RT_OK;
}

/* Arguments: X, packed, reduce_range. */
static int
dynamic_linear(RtCx *cx, const IValue *in, bool relu, IValue *out)
{
	Output o = { .dtype = RT_f32, .relu = relu };
	RtTensor *q;

	return quantize_dynamic(cx, rt_tensor(in[0]), in[2].u.i != 0, &q) ? RT_ERROR : linear(cx, q, in[1], &o, out);
}

KERNEL(quantized_linear_dynamic, dynamic_linear(cx, in, false, out))
KERNEL(quantized_linear_relu_dynamic, dynamic_linear(cx, in, true, out))

/* Returns the weight rounded to float16's precision and range, as a temporary. */
static RtTensor *
half_weight(RtCx *cx, RtTensor *w)
{
	IValue v;

	if (CALL(cx, clamp, &v, rt_of(w), rt_double(-65504), rt_double(65504)))
		return NULL;
	w = rt_temp(cx, rt_to_dtype(cx, v.u.t, RT_f16));
	return w ? rt_temp(cx, rt_to_dtype(cx, w, RT_f32)) : NULL;
}

/* Arguments: X, packed. */
static int
half_linear(RtCx *cx, const IValue *in, bool relu, IValue *out)
{
	IValue *slot = slots_of(cx, in[1], 2), v;
	RtTensor *w = slot ? half_weight(cx, slot[WEIGHT].u.t) : NULL;

	if (!w || CALL(cx, linear, &v, in[0], rt_of(w), slot[BIAS]) || (relu && CALL(cx, relu, &v, v)))
		return RT_ERROR;
	out[0] = rt_retain(v);
	return RT_OK;
}

static int
half_prepack(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *w = half_weight(cx, rt_tensor(in[0]));

	return w ? new_packed(cx, &linear_class, (IValue[2]){ rt_of(w), in[1] }, 2, out) : RT_ERROR;
}

KERNEL(quantized_linear_dynamic_fp16, half_linear(cx, in, false, out))
KERNEL(quantized_linear_relu_dynamic_fp16, half_linear(cx, in, true, out))
KERNEL(quantized_linear_prepack, new_packed(cx, &linear_class, in, 2, out))
KERNEL(quantized_linear_prepack_fp16, half_prepack(cx, in, out))
KERNEL(prepacked_linear_clamp_prepack, new_packed(cx, &clamp_linear_class, in, 4, out))
KERNEL(prepacked_conv2d_clamp_prepack, new_packed(cx, &clamp_conv_class, in, 8, out))
KERNEL(prepacked_conv2d_transpose_clamp_prepack, new_packed(cx, &clamp_transpose_class, in, 9, out))

/* Argument: packed. Results: weight, bias. */
static int
unpack_parameters(RtCx *cx, const IValue *in, IValue *out)
{
	IValue *slot = slots_of(cx, in[0], 2);

	if (!slot)
		return RT_ERROR;
	out[0] = rt_retain(slot[WEIGHT]);
	out[1] = rt_retain(slot[BIAS]);
	return RT_OK;
}

KERNEL(quantized_linear_unpack, unpack_parameters(cx, in, out))
KERNEL(quantized_linear_unpack_fp16, unpack_parameters(cx, in, out))

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* Convolves x (n, c, spatial) with the packed weight. */
static int
conv(RtCx *cx, RtTensor *x, IValue packed, const Output *o, IValue *out)
{
	IValue *slot = slots_of(cx, packed, 8), meta, v;
	RtTensor *w, *xi, *wi, *b, *bias, *r, *sum;
	int64_t strides[RT_MAX_RANK], inner = 1, depth;
	Scales s;
	RtDtype ct;

	if (!slot)
		return RT_ERROR;
	w = slot[WEIGHT].u.t;
	if (!x->quant || x->quant->scales || !w->quant || x->ndim != w->ndim)
		return rt_raise(cx, "quantized::conv: input and weight should be quantized and have as many dims");
	depth = w->dims[0] ? rt_numel(w) / w->dims[0] : 0;
	ct = product_type(depth);
	s.x = x->quant->scale;
	xi = centred(cx, x, ct);
	wi = centred(cx, w, ct);
	if (!xi || !wi ||
	    CALL(cx, convolution, &v, rt_of(xi), rt_of(wi), rt_none(), slot[STRIDE], slot[PADDING], slot[DILATION],
		 slot[TRANSPOSE], slot[OUTPUT_PADDING], slot[GROUPS]))
		return RT_ERROR;
	meta = v;
	sum = meta.u.t;
	rt_contiguous_strides(sum->ndim, sum->dims, strides);
	if (sum->ndim >= 4)
		rt_channels_last_strides(sum->ndim, sum->dims, strides);
	r = product_result(cx, o, sum->ndim, sum->dims, strides);
	RT_RESULT(cx, r, out[0]);
	if (scales_of(cx, w, &s))
		return RT_ERROR;
	sum = rt_temp(cx, rt_contiguous(cx, sum));
	bias = float_bias(cx, slot[BIAS], &b);
	if (!sum || (bias && !b))
		return RT_ERROR;
	for (int i = 2; i < sum->ndim; i++)
		inner *= sum->dims[i];
	if (s.n > 1 && slot[TRANSPOSE].u.i)
		return rt_lacks(cx, "transposed convolutions with weights quantized per channel");
	finish_values(sum, &s, b, sum->dims[1], inner ? inner : 1, o);
	return store_sum(cx, r, sum);
}

/* Returns a view of t with a dim of size 1 inserted or removed at dim 2. */
static RtTensor *
flat_view(RtCx *cx, RtTensor *t, bool insert)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int n = 0;

	for (int i = 0; i < t->ndim; i++) {
		if (i == 2 && insert) {
			dims[n] = 1;
			strides[n++] = t->dims[2] * t->strides[2];
		}
		if (i == 2 && !insert)
			continue;
		dims[n] = t->dims[i];
		strides[n++] = t->strides[i];
	}
	return rt_tensor_view(cx, t, n, dims, strides, t->offset);
}

/* Convolves over nd dims. One dim is computed as two dims. */
static int
conv_nd(RtCx *cx, int nd, RtTensor *x, IValue packed, const Output *o, IValue *out)
{
	RtTensor *v;

	if (x->ndim != nd + 2)
		return rt_raise(cx, "quantized::conv%dd(): Expected a %d-dimensional input", nd, nd + 2);
	if (nd > 1)
		return conv(cx, x, packed, o, out);
	x = rt_temp(cx, flat_view(cx, x, true));
	if (!x || conv(cx, x, packed, o, out))
		return RT_ERROR;
	v = flat_view(cx, out[0].u.t, false);
	rt_release(out[0]);
	out[0] = v ? rt_of(v) : rt_none();
	return v ? RT_OK : RT_ERROR;
}

/* Arguments: qx, packed, output_scale, output_zero_point. */
static int
static_conv(RtCx *cx, int nd, const IValue *in, bool relu, IValue *out)
{
	Output o = { .scale = rt_number(in[2]), .zero = in[3].u.i, .dtype = (RtDtype)rt_tensor(in[0])->dtype,
		.relu = relu };

	return conv_nd(cx, nd, rt_tensor(in[0]), in[1], &o, out);
}

/* Arguments: qx, packed, stride, padding, dilation, groups, output_scale, output_zero_point. The geometry is that of
 * the packed parameters. */
static int
old_conv(RtCx *cx, int nd, const IValue *in, bool relu, IValue *out)
{
	Output o = { .scale = rt_number(in[6]), .zero = in[7].u.i, .dtype = (RtDtype)rt_tensor(in[0])->dtype,
		.relu = relu };

	return conv_nd(cx, nd, rt_tensor(in[0]), in[1], &o, out);
}

/* Arguments: x (floating), packed, reduce_range. As in PyTorch, the result is rounded to the 8 bits chosen for x. */
static int
dynamic_conv(RtCx *cx, int nd, const IValue *in, IValue *out)
{
	Output o = { .dtype = RT_f32 };
	RtTensor *q;

	if (quantize_dynamic(cx, rt_tensor(in[0]), in[2].u.i != 0, &q))
		return RT_ERROR;
	if (!cx->meta) {
		o.through = q->quant->scale;
		o.through_zero = q->quant->zero;
	}
	return conv_nd(cx, nd, q, in[1], &o, out);
}

#define CONV(id, body) int rt_quantized_##id(RtCx *cx, const IValue *in, IValue *out) { return body; }
CONV(conv1d, static_conv(cx, 1, in, false, out))
CONV(conv1d_relu, static_conv(cx, 1, in, true, out))
CONV(conv2d_new, static_conv(cx, 2, in, false, out))
CONV(conv2d_relu_new, static_conv(cx, 2, in, true, out))
CONV(conv3d_new, static_conv(cx, 3, in, false, out))
CONV(conv3d_relu_new, static_conv(cx, 3, in, true, out))
CONV(conv2d, old_conv(cx, 2, in, false, out))
CONV(conv2d_relu, old_conv(cx, 2, in, true, out))
CONV(conv3d, old_conv(cx, 3, in, false, out))
CONV(conv3d_relu, old_conv(cx, 3, in, true, out))
CONV(conv_transpose1d, static_conv(cx, 1, in, false, out))
CONV(conv_transpose2d, static_conv(cx, 2, in, false, out))
CONV(conv_transpose3d, static_conv(cx, 3, in, false, out))
CONV(conv1d_dynamic, dynamic_conv(cx, 1, in, out))
CONV(conv2d_dynamic, dynamic_conv(cx, 2, in, out))
CONV(conv3d_dynamic, dynamic_conv(cx, 3, in, out))
CONV(conv_transpose1d_dynamic, dynamic_conv(cx, 1, in, out))
CONV(conv_transpose2d_dynamic, dynamic_conv(cx, 2, in, out))
CONV(conv_transpose3d_dynamic, dynamic_conv(cx, 3, in, out))
#undef CONV

/* Makes a list of nd values. A list for one dim becomes one for two dims, with `lead` first. */
static int
geometry_list(RtCx *cx, IValue list, int nd, int64_t lead, IValue *out)
{
	int64_t v[3];
	RtList *l;

	if (dense_sizes(cx, list, "quantized::conv_prepack", "sizes", nd, v))
		return RT_ERROR;
	l = rt_list_new(cx, &rt_type_int, nd < 2 ? 2 : nd);
	if (!l || (nd == 1 && rt_list_push(cx, l, rt_int(lead))))
		return RT_ERROR;
	*out = rt_temp_value(cx, rt_ref(RT_LIST, l));
	for (int i = 0; i < nd; i++)
		if (rt_list_push(cx, l, rt_int(v[i])))
			return RT_ERROR;
	return RT_OK;
}

/* Arguments: weight, bias, stride, padding, (output_padding), dilation, groups. */
static int
prepack(RtCx *cx, int nd, bool transposed, const IValue *in, IValue *out)
{
	IValue slot[8], zero = rt_int(0);
	RtTensor *w = rt_tensor(in[0]);

	if (w->ndim != nd + 2 || !w->quant)
		return rt_raise(cx, "Weights are expected to have %d dimensions", nd + 2);
	if (nd == 1) {
		w = rt_temp(cx, flat_view(cx, w, true));
		if (!w)
			return RT_ERROR;
	}
	slot[WEIGHT] = rt_of(w);
	slot[BIAS] = in[1];
	if (geometry_list(cx, in[2], nd, 1, &slot[STRIDE]) || geometry_list(cx, in[3], nd, 0, &slot[PADDING]) ||
	    geometry_list(cx, in[transposed ? 5 : 4], nd, 1, &slot[DILATION]) ||
	    geometry_list(cx, transposed ? in[4] : zero, nd, 0, &slot[OUTPUT_PADDING]))
		return RT_ERROR;
	slot[GROUPS] = in[transposed ? 6 : 5];
	slot[TRANSPOSE] = rt_bool(transposed);
	return new_packed(cx, nd == 3 ? &conv3d_class : &conv2d_class, slot, 8, out);
}

KERNEL(quantized_conv1d_prepack, prepack(cx, 1, false, in, out))
KERNEL(quantized_conv2d_prepack, prepack(cx, 2, false, in, out))
KERNEL(quantized_conv3d_prepack, prepack(cx, 3, false, in, out))
KERNEL(quantized_conv_transpose1d_prepack, prepack(cx, 1, true, in, out))
KERNEL(quantized_conv_transpose2d_prepack, prepack(cx, 2, true, in, out))
KERNEL(quantized_conv_transpose3d_prepack, prepack(cx, 3, true, in, out))
KERNEL(quantized_conv2d_unpack, unpack_parameters(cx, in, out))
KERNEL(quantized_conv3d_unpack, unpack_parameters(cx, in, out))
KERNEL(quantized_conv_transpose2d_unpack, unpack_parameters(cx, in, out))
KERNEL(quantized_conv_transpose3d_unpack, unpack_parameters(cx, in, out))

int
rt_quantized_conv1d_unpack(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *v;

	if (unpack_parameters(cx, in, out))
		return RT_ERROR;
	v = flat_view(cx, out[0].u.t, false);
	rt_assign(&out[0], v ? rt_of(v) : rt_none());
	return v ? RT_OK : RT_ERROR;
}

KERNEL(quantized_conv_transpose1d_unpack, rt_quantized_conv1d_unpack(cx, in, out))

static int
slot_value(RtCx *cx, const IValue *in, int i, IValue *out)
{
	IValue *slot = slots_of(cx, in[0], 8);

	if (!slot)
		return RT_ERROR;
	out[0] = i == TRANSPOSE ? rt_int(slot[i].u.i) : rt_retain(slot[i]);
	return RT_OK;
}

#define SLOTS(conv) \
	KERNEL(quantized_##conv##_stride, slot_value(cx, in, STRIDE, out)) \
	KERNEL(quantized_##conv##_padding, slot_value(cx, in, PADDING, out)) \
	KERNEL(quantized_##conv##_output_padding, slot_value(cx, in, OUTPUT_PADDING, out)) \
	KERNEL(quantized_##conv##_dilation, slot_value(cx, in, DILATION, out)) \
	KERNEL(quantized_##conv##_groups, slot_value(cx, in, GROUPS, out)) \
	KERNEL(quantized_##conv##_transpose, slot_value(cx, in, TRANSPOSE, out))
SLOTS(conv2d)
SLOTS(conv3d)
SLOTS(conv_transpose2d)
SLOTS(conv_transpose3d)
#undef SLOTS

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* Arguments: w_ih, w_hh (packed), bias_ih, bias_hh, reduce_range. */
KERNEL(quantized_make_quantized_cell_params_dynamic, new_packed(cx, &cell_class, in, 5, out))

int
rt_quantized_make_quantized_cell_params_fp16(RtCx *cx, const IValue *in, IValue *out)
{
	IValue slot[5] = { in[0], in[1], rt_none(), rt_none(), rt_bool(false) };

	return new_packed(cx, &cell_class, slot, 5, out);
}
