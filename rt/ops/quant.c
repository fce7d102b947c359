/*
 * Quantized tensors: making them, their parts, and other operators on them.
 *
 * A quantized tensor is integers with scale and zero point, one pair for all or one for each channel: value = (q -
 * zero) * scale in float32, q = clamp(round_half_even(value / scale) + zero). An operator without a quantized kernel
 * dequantizes its arguments and quantizes its result again (quant_open, quant_close). Most operators of quant.def are
 * bodies that do the same.
 */
#include "geom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

RT_FAST

/* ---- parts ---------------------------------------------------------------------------------------------- */

RtTensor *
quant_raw(RtCx *cx, const RtTensor *t)
{
	static const uint8_t plain[] = { RT_i8, RT_u8, RT_i32 };
	RtTensor *r = rt_temp(cx, rt_tensor_view(cx, t, t->ndim, t->dims, t->strides, t->offset));

	if (!r)
		return 0;
	if (r->quant) {
		RtQuant *q = r->quant;

		r->quant = 0;
		rt_count_down(&q->h);    /* t has a reference of its own, so this is not the last one */
	}
	r->dtype = plain[t->dtype - RT_qi8];
	return r;
}

static RtQuant *
quant_new(RtCx *cx, int scheme)
{
	RtQuant *q = rt_mem_counted(cx, sizeof *q);

	if (q)
		q->scheme = scheme;
	return q;
}

RtTensor *
quant_result(RtCx *cx, RtDtype dtype, int ndim, const int64_t *dims, const int64_t *strides, Affine by)
{
	RtQuant *q = quant_new(cx, 0);
	RtTensor *r = q ? rt_result(cx, 0, dtype, ndim, dims, strides) : 0;

	if (!r) {
		rt_mem_back(q);
		return 0;
	}
	q->scale = by.scale;
	q->zero = by.zero;
	r->quant = q;
	return r;
}

static RtTensor *
channel_result(RtCx *cx, RtDtype dtype, const RtTensor *like, RtTensor *scales, RtTensor *zeros, int64_t axis)
{
	const bool floating = rt_dtypes[zeros->dtype].category == 'F';
	RtQuant *q = quant_new(cx, floating ? 4 : 1);
	int64_t strides[RT_MAX_RANK];
	RtTensor *r = 0, *all[1] = { (RtTensor *)like };

	if (!q)
		return 0;
	q->axis = axis;
	q->scales = rt_to_dtype(cx, scales, RT_f64);
	q->zeros = q->scales ? rt_to_dtype(cx, zeros, floating ? RT_f32 : RT_i64) : 0;
	rt_result_strides(like->ndim, like->dims, 1, all, strides);
	r = q->zeros ? rt_result(cx, 0, dtype, like->ndim, like->dims, strides) : 0;
	if (!r) {
		rt_tensor_release(q->scales);
		rt_tensor_release(q->zeros);
		rt_mem_back(q);
		return 0;
	}
	r->quant = q;
	return r;
}

void
quant_range(RtDtype dtype, int64_t *low, int64_t *high)
{
	*low = dtype == RT_qu8 ? 0 : dtype == RT_qi8 ? -128 : INT32_MIN;
	*high = dtype == RT_qu8 ? 255 : dtype == RT_qi8 ? 127 : INT32_MAX;
}

/* Dense scales and zero points of the channels. step is 0 if all channels share one of each. Zero points of float
 * parameters need not be integers. */
typedef struct Params { const double *scale, *zero; int64_t step, inner, channels; double s, z; bool floating; } Params;

static int
params_of(RtCx *cx, const RtTensor *t, Params *p)
{
	const RtQuant *q = t->quant;
	RtTensor *s, *z;

	memset(p, 0, sizeof *p);
	p->inner = p->channels = 1;
	if (!q->scales) {
		p->s = q->scale;
		p->z = (double)q->zero;
		p->scale = &p->s;
		p->zero = &p->z;
		return RT_OK;
	}
	if (q->axis < 0 || q->axis >= t->ndim || rt_numel(q->scales) != t->dims[q->axis] ||
	    rt_numel(q->zeros) != t->dims[q->axis])
		return rt_raise(cx, "quantized tensor: scales and zero points should be as many as channels");
	s = dense_in(cx, q->scales, RT_f64);
	z = dense_in(cx, q->zeros, RT_f64);
	if (!s || !z)
		return RT_ERROR;
	p->scale = (const double *)rt_data(s);
	p->zero = (const double *)rt_data(z);
	p->floating = rt_dtypes[q->zeros->dtype].category == 'F';
	p->step = 1;
	p->channels = t->dims[q->axis];
	for (int i = (int)q->axis + 1; i < t->ndim; i++)
		p->inner *= t->dims[i];
	return RT_OK;
}

static inline int64_t
channel_of(const Params *p, int64_t i)
{
	return p->step ? i / p->inner % p->channels : 0;
}

/* Returns a new temporary with t's sizes. It has t's order of dims, or is contiguous if t is quantized per channel. */
static RtTensor *
laid_as(RtCx *cx, RtDtype dtype, const RtTensor *t)
{
	int64_t strides[RT_MAX_RANK];

	if (t->quant->scales)
		return rt_temp(cx, rt_tensor_new(cx, dtype, t->ndim, t->dims));
	rt_result_strides(t->ndim, t->dims, 1, (RtTensor *[]){ (RtTensor *)t }, strides);
	return rt_temp(cx, rt_tensor_strided(cx, dtype, t->ndim, t->dims, strides));
}

/* Returns the values of t in float32. With `fused` they are scale * integer - scale * zero, rounded once. */
static RtTensor *
values_as(RtCx *cx, const RtTensor *t, bool fused)
{
	RtTensor *raw = quant_raw(cx, t), *d = raw ? laid_as(cx, RT_i64, t) : 0, *r = laid_as(cx, RT_f32, t);
	int64_t n = rt_numel(t);
	Params p;

	if (!r || cx->meta)
		return r;
	if (!d || rt_copy_into(cx, d, raw) || params_of(cx, t, &p))
		return 0;
	for (int64_t i = 0; i < n; i++) {
		const int64_t c = channel_of(&p, i);
		const double q = (double)((int64_t *)rt_data(d))[i];
		const float scale = (float)p.scale[c];

		((float *)rt_data(r))[i] = fused ? (float)(q * (double)scale - (double)(scale * (float)p.zero[c])) :
					   (float)(q - p.zero[c]) * scale;
	}
	return r;
}

static RtTensor *
values_of(RtCx *cx, const RtTensor *t)
{
	return values_as(cx, t, false);
}

/* Quantizes x to r by r's parameters. inverse is 1 / scale. If it is 0, it is computed for each channel. */
static int
store_by(RtCx *cx, RtTensor *r, RtTensor *x, float inverse)
{
	RtTensor *d = dense_in(cx, x, RT_f32), *raw = quant_raw(cx, r);
	RtTensor *q = raw ? rt_temp(cx, rt_tensor_new(cx, RT_i64, r->ndim, r->dims)) : 0;
	int64_t n = rt_numel(r), low, high;
	Params p;

	if (!d || !q || params_of(cx, r, &p))
		return RT_ERROR;
	quant_range((RtDtype)r->dtype, &low, &high);
	for (int64_t i = 0; i < n; i++) {
		int64_t c = channel_of(&p, i);
		float v = ((float *)rt_data(d))[i] * (inverse != 0 ? inverse : 1.0f / (float)p.scale[c]);
		double z = p.floating ? (double)nearbyintf(v + (float)p.zero[c]) : (double)nearbyintf(v) + p.zero[c];

		((int64_t *)rt_data(q))[i] = z >= (double)high ? high : z > (double)low ? (int64_t)z : low;
	}
	return rt_copy_into(cx, raw, q);
}

static int
quant_store(RtCx *cx, RtTensor *r, RtTensor *x)
{
	return store_by(cx, r, x, 0);
}

/* ---- other operators on quantized tensors --------------------------------------------------------------------- */

/* Replaces quantized tensors in an argument by their values. Sets *first to the first such tensor. */
static int
open_value(RtCx *cx, IValue v, bool fused, IValue *out, RtTensor **first)
{
	RtTensor *t = rt_tensor(v), *values;

	*out = v;
	if (!t || !t->quant)
		return RT_OK;
	values = values_as(cx, t, fused);
	if (!values)
		return RT_ERROR;
	*out = rt_of(values);
	*first = *first ? *first : t;
	return RT_OK;
}

/* Quantizes the values t, and stores them as the result. */
static int
close_value(RtCx *cx, RtTensor *t, double scale, int64_t zero, RtDtype dtype, IValue *out)
{
	RtTensor *r = quant_result(cx, dtype, t->ndim, t->dims, t->strides, (Affine){ scale, zero });

	RT_RESULT(cx, r, *out);
	return quant_store(cx, r, t);
}

/* Returns the integers of t minus its zero point, in float32. These are t's values in units of its scale. */
static RtTensor *
units_of(RtCx *cx, const RtTensor *t)
{
	RtTensor *raw = quant_raw(cx, t), *r = raw ? laid_as(cx, RT_f32, t) : 0;

	if (!r || cx->meta)
		return r;
	if (rt_copy_into(cx, r, raw))
		return 0;
	for (int64_t i = 0, n = rt_numel(t); i < n; i++)
		((float *)rt_data(r))[i] -= (float)t->quant->zero;
	return r;
}

/* Returns t with channels last: a copy, or t itself if it has that format already. Returns t itself if its rank is not
 * 4 or 5. */
static RtTensor *
channels_last(RtCx *cx, RtTensor *t)
{
	int64_t strides[RT_MAX_RANK];
	RtTensor *r;

	if ((t->ndim != 4 && t->ndim != 5) || rt_is_channels_last(t))
		return t;
	rt_channels_last_strides(t->ndim, t->dims, strides);
	r = rt_temp(cx, rt_tensor_strided(cx, (RtDtype)t->dtype, t->ndim, t->dims, strides));
	return !r || cx->meta || !rt_copy_into(cx, r, t) ? r : NULL;
}

/* Stores t, which is in units of like's scale, as a result that is quantized like `like`. */
static int
close_units(RtCx *cx, RtTensor *t, const RtTensor *like, RtRounding by, IValue *out)
{
	const RtQuant *q = like->quant;
	const bool with_zero = by.how == RT_ROUND_WITH_ZERO;
	IValue sum;

	if (by.last && !(t = channels_last(cx, t)))
		return RT_ERROR;
	sum = rt_of(t);
	if (with_zero && !cx->meta && CALL(cx, add_Scalar, &sum, sum, rt_double((double)q->zero), rt_int(1)))
		return RT_ERROR;
	if (close_value(cx, sum.u.t, 1, with_zero ? 0 : q->zero, (RtDtype)like->dtype, out))
		return RT_ERROR;
	out->u.t->quant->scale = q->scale;
	out->u.t->quant->zero = q->zero;
	return RT_OK;
}

/* Runs a linear operator on integers minus their zero point. Halves of these are exact. */
int
quant_linear_by(RtCx *cx, const RtCall *c, const IValue *in, RtRounding by, IValue *out)
{
	const RtTensor *first = rt_tensor(in[0]);
	IValue v[16], result[4];
	RtTensor *units;

	if (c->nin > 16 || c->nout > 4 || first->quant->scales)
		return rt_lacks(cx, "this operator on tensors quantized per channel");
	if (!(units = units_of(cx, first)))
		return RT_ERROR;
	memcpy(v, in, (size_t)c->nin * sizeof *in);
	v[0] = rt_of(units);
	if (rt_call_temp(cx, c->kernel, result, c->nout, v))
		return RT_ERROR;
	for (int i = 1; i < c->nout; i++)
		out[i] = rt_retain(result[i]);
	return close_units(cx, result[0].u.t, first, by, out);
}

/* Runs any other operator on the values of its arguments, and quantizes its results. */
static int
through(RtCx *cx, const RtCall *c, const IValue *in, IValue *out)
{
	RtTensor *first = 0;
	IValue v[16], result[4];

	if (c->nin > 16 || c->nout > 4)
		return rt_lacks(cx, "this operator on quantized tensors");
	for (int i = 0; i < c->nin; i++)
		if (open_value(cx, in[i], false, &v[i], &first))
			return RT_ERROR;
	if (!first)
		return rt_lacks(cx, "quantized tensors without parameters");
	if (first->quant->scales)
		return rt_lacks(cx, "this operator on tensors quantized per channel");
	if (rt_call_temp(cx, c->kernel, result, c->nout, v))
		return RT_ERROR;
	for (int i = 0; i < c->nout; i++) {
		RtTensor *t = rt_tensor(result[i]);

		if (!t || t->dtype != RT_f32)
			out[i] = rt_retain(result[i]);
		else if (close_value(cx, t, first->quant->scale, first->quant->zero, (RtDtype)first->dtype, &out[i]))
			return RT_ERROR;
	}
	return RT_OK;
}

/* Returns the dim of r with t's channels. r has t's dims, or one dim of size 1 more or less. -1 if no dim has them. */
static int
channels_in(const RtTensor *r, const RtTensor *t)
{
	const int64_t axis = t->quant->axis, shift = r->ndim - t->ndim;

	if (!shift && !memcmp(r->dims, t->dims, (size_t)t->ndim * 8) &&
	    !memcmp(r->strides, t->strides, (size_t)t->ndim * 8))
		return (int)axis;
	for (int d = 0; d < r->ndim && shift && rt_numel(r) == rt_numel(t); d++)
		if (r->dims[d] == t->dims[axis] && r->strides[d] == t->strides[axis])
			return d;
	return -1;
}

/* Sets q to the parameters of n channels, from the part's start on. */
static int
take_channels(RtCx *cx, RtQuant *q, const RtQuant *of, const ViewPart *part, int64_t n)
{
	const int64_t by = of->scales->strides[0], zero_by = of->zeros->strides[0], step = part->step;

	q->axis = of->axis;
	q->scales = rt_tensor_view(cx, of->scales, 1, &n, &(int64_t){ by * step },
				   of->scales->offset + part->start * by);
	q->zeros = !q->scales ? NULL : rt_tensor_view(cx, of->zeros, 1, &n, &(int64_t){ zero_by * step },
						       of->zeros->offset + part->start * zero_by);
	if (q->zeros || !q->scales)
		return q->zeros ? RT_OK : RT_ERROR;
	rt_tensor_release(q->scales);
	return RT_ERROR;
}

/* Sets the parameters of a view. A view of one channel is quantized per tensor. */
static int
view_channels(RtCx *cx, RtTensor *r, const RtTensor *t, const ViewPart *part)
{
	const RtQuant *of = t->quant;
	const bool cut = part && part->dim == of->axis;
	const int64_t n = cut && !part->gone ? r->dims[part->dim] : 1;
	const int at = part ? (int)of->axis - (part->gone && part->dim < of->axis) : channels_in(r, t);
	RtQuant *q;

	if (at < 0)
		return rt_raise(cx, "Setting strides is possible only on uniformly quantized tensor");
	if (!cut && at == of->axis)
		return RT_OK;
	if (of->scales->storage->kind == RT_META)
		return rt_no_meta(cx);
	if (!(q = quant_new(cx, cut && n == 1 && of->scheme == 1 ? 0 : of->scheme)))
		return RT_ERROR;
	if (q->scheme == 0) {
		q->scale = ((const double *)(const void *)rt_data(of->scales))[part->start * of->scales->strides[0]];
		q->zero = ((const int64_t *)(const void *)rt_data(of->zeros))[part->start * of->zeros->strides[0]];
	} else if (take_channels(cx, q, of, cut ? part : &(ViewPart){ 0, 0, 1, false },
				 cut ? n : rt_numel(of->scales))) {
		rt_mem_back(q);
		return RT_ERROR;
	} else {
		q->axis = at;
	}
	rt_count_down(&r->quant->h);             /* t has a reference of its own, so this is not the last one */
	r->quant = q;
	return RT_OK;
}

static int
check_float(RtCx *cx, const RtTensor *t)
{
	return t->dtype == RT_f32 ? RT_OK : rt_raise(cx, "Quantize only works on Float Tensor, got %s",
						     rt_dtypes[t->dtype].brief);
}

/* Returns a temporary with floats or a number, quantized as `like`. It has like's sizes if that is quantized per
 * channel. */
static RtTensor *
values_like(RtCx *cx, IValue values, const RtTensor *like)
{
	RtTensor *t = values.tag == RT_TENSOR ? values.u.t : rt_temp(cx, rt_scalar_tensor(cx, RT_f32, values)), *r, *x;

	if (!t || check_float(cx, t))
		return NULL;
	if (like->quant->scales) {
		x = rt_temp(cx, rt_tensor_new(cx, RT_f32, like->ndim, like->dims));
		if (!x || rt_copy_into(cx, x, t))
			return NULL;
		t = x;
	}
	r = rt_temp(cx, rt_tensor_new(cx, (RtDtype)like->dtype, t->ndim, t->dims));
	if (!r)
		return NULL;
	rt_tensor_share_quant(r, like);
	return !cx->meta && quant_store(cx, r, t) ? NULL : r;
}

static int
write_values(RtCx *cx, RtTensor *to, IValue values)
{
	RtTensor *const t = values_like(cx, values, to);

	return t ? rt_copy_into(cx, to, t) : RT_ERROR;
}

/* Whether the parameters of t differ from like's. */
static bool
has_other_scale(const RtTensor *t, const RtTensor *like)
{
	const RtQuant *a = t->quant, *b = like->quant;

	return a && b && !a->scales && !b->scales && t->dtype == like->dtype &&
	       (a->scale != b->scale || a->zero != b->zero);
}

/* Returns the quantized tensors, converted to the parameters of the first one. Null if an error was raised. */
static const RtList *
with_one_scale(RtCx *cx, const RtList *list)
{
	const RtTensor *like = list->v[0].u.t;
	bool other = false;
	RtList *l;

	for (int64_t i = 0; i < list->n && !cx->meta; i++)
		other |= has_other_scale(list->v[i].u.t, like);
	if (!other)
		return list;
	l = rt_list_new(cx, list->elem, list->n);
	if (!l)
		return NULL;
	rt_temp_value(cx, rt_ref(RT_LIST, l));
	for (int64_t i = 0; i < list->n; i++) {
		RtTensor *const t = list->v[i].u.t, *as = t;

		if (has_other_scale(t, like) && (as = values_of(cx, t)))
			as = values_like(cx, rt_of(as), like);
		if (!as || rt_list_push(cx, l, rt_retain(rt_of(as))))
			return NULL;
	}
	return l;
}

/* A mean of float32 values, added in PyTorch's order. */
static int
float_mean(RtCx *cx, const RtCall *c, IValue dims, const IValue *in, IValue *out)
{
	RtTensor *const t = rt_tensor(in[0]), *values, *means;
	int64_t strides[RT_MAX_RANK];
	float *mean;

	if (through(cx, c, in, out))
		return RT_ERROR;
	if (cx->meta || !rt_numel(t))
		return RT_OK;
	if (!dense_format(t, t->ndim, t->dims, strides))
		rt_contiguous_strides(t->ndim, t->dims, strides);
	values = rt_temp(cx, rt_tensor_strided(cx, RT_f32, t->ndim, t->dims, strides));
	means = rt_temp(cx, rt_tensor_new(cx, RT_f32, out->u.t->ndim, out->u.t->dims));
	if (!values || !means || rt_copy_into(cx, values, values_of(cx, t)))
		return RT_ERROR;
	mean = (float *)rt_data(means);
	quant_cascade_sums(values, rt_dims_in(t, dims), mean);
	for (int64_t i = 0, n = rt_numel(means); i < n; i++)
		mean[i] /= (float)(rt_numel(t) / n);
	return quant_store(cx, rt_tensor(*out), means);
}

static int
run_rounded(RtCx *cx, const RtCall *c, RtQuantOp op, IValue dims, const IValue *in, IValue *out)
{
	const RtRounding by = rt_rounding(cx, op, rt_tensor(in[0]), dims);

	return by.how == RT_ROUND_FLOATS ? float_mean(cx, c, dims, in, out) : quant_linear_by(cx, c, in, by, out);
}

const RtQuantized rt_quantized_all = {
	values_of, open_value, close_value, run_rounded, through, rt_map_quantized, view_channels, values_like,
	write_values, with_one_scale, quant_layer, quant_pack_layer, quant_project,
	quant_windows, quant_volumes
};

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static int
check_quantized(RtCx *cx, const RtTensor *t, const char *op)
{
	return t->quant ? RT_OK
			: rt_raise(cx, "%s: expected a quantized tensor, but got %s", op, rt_dtypes[t->dtype].brief);
}

/* Quantizes per tensor. inverse is the factor that quantizes, or 0 for 1 / scale. */
static int
per_tensor(RtCx *cx, RtTensor *t, Affine by, float inverse, RtDtype dtype, IValue *out)
{
	int64_t strides[RT_MAX_RANK], low, high;
	RtTensor *r, *all[1] = { t };

	if (check_float(cx, t))
		return RT_ERROR;
	if (rt_dtypes[dtype].category != 'Q')
		return rt_raise(cx, "quantize_per_tensor: expected a quantized dtype, got %s", rt_dtypes[dtype].brief);
	quant_range(dtype, &low, &high);
	if (by.zero < low || by.zero > high)
		return rt_raise(cx, "quantize_tensor_per_tensor_affine zero_point %lld is out of range.",
				(long long)by.zero);
	rt_result_strides(t->ndim, t->dims, 1, all, strides);
	r = quant_result(cx, dtype, t->ndim, t->dims, strides, by);
	RT_RESULT(cx, r, *out);
	return store_by(cx, r, t, inverse);
}

int
rt_quantize_per_tensor(RtCx *cx, const IValue *in, IValue *out)
{
	return per_tensor(cx, rt_tensor(in[0]), (Affine){ rt_number(in[1]), in[2].u.i }, 0,
			  rt_dtype_or(in[3], RT_NDTYPE), out);
}

/* Arguments: x, inverse, scale, zero_point, dtype. */
int
rt_prim_as_quantized(RtCx *cx, const IValue *in, IValue *out)
{
	return per_tensor(cx, rt_tensor(in[0]), (Affine){ rt_number(in[2]), in[3].u.i }, (float)rt_number(in[1]),
			  rt_dtype_or(in[4], RT_NDTYPE), out);
}

static int
rounding_of(const RtCx *cx, RtQuantOp op, const IValue *in, IValue *out)
{
	out[0] = rt_int(rt_rounding(cx, op, in[0].u.t, rt_none()).how);
	return RT_OK;
}

KERNEL(prim_rounding_of_add, rounding_of(cx, RT_Q_ADD, in, out))
KERNEL(prim_rounding_of_hardswish, rounding_of(cx, RT_Q_HARDSWISH, in, out))

enum { UNKNOWN_SCALE = 0 };              /* scale of a tensor without data, if it depends on data */

static int
one_number(RtCx *cx, RtTensor *t, double *v)
{
	RtTensor *d = dense_in(cx, t, RT_f64);

	if (!d || rt_numel(t) != 1)
		return rt_raise(cx, "quantize: scale and zero_point should have one element");
	*v = *(double *)rt_data(d);
	return RT_OK;
}

int
rt_quantize_per_tensor_tensor_qparams(RtCx *cx, const IValue *in, IValue *out)
{
	double scale = UNKNOWN_SCALE, zero = 0;

	if (!cx->meta && (one_number(cx, rt_tensor(in[1]), &scale) || one_number(cx, rt_tensor(in[2]), &zero)))
		return RT_ERROR;
	return per_tensor(cx, rt_tensor(in[0]), (Affine){ scale, (int64_t)zero }, 0, rt_dtype_or(in[3], RT_NDTYPE),
			  out);
}

/* Arguments: self, reduce_range. Results: scale and zero point of quint8 over the tensor's own range. */
int
rt__choose_qparams_per_tensor(RtCx *cx, const IValue *in, IValue *out)
{
	double low = 0, high = 0, scale = 1;
	int64_t zero = 0;

	if (cx->meta)
		return rt_no_meta(cx);
	if (check_float(cx, rt_tensor(in[0])) || quant_limits(cx, rt_tensor(in[0]), &low, &high))
		return RT_ERROR;
	quant_choose(low, high, 0, in[1].u.i ? 127 : 255, &scale, &zero);
	out[0] = rt_double(scale);
	out[1] = rt_int(zero);
	return RT_OK;
}

/* Arguments: self, dtype, reduce_range. The parameters are chosen by the tensor's own range. */
int
rt_quantize_per_tensor_dynamic(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	RtDtype dtype = rt_dtype_or(in[1], RT_NDTYPE);
	double low = 0, high = 0, scale = UNKNOWN_SCALE;
	int64_t zero = 0, qmin, qmax;

	if (check_float(cx, t))
		return RT_ERROR;
	if (!cx->meta && quant_limits(cx, t, &low, &high))
		return RT_ERROR;
	quant_range(dtype, &qmin, &qmax);
	if (in[2].u.i)
		qmin /= 2, qmax /= 2;
	if (!cx->meta)
		quant_choose(low, high, qmin, qmax, &scale, &zero);
	return per_tensor(cx, t, (Affine){ scale, zero }, 0, dtype, out);
}

int
quant_limits(RtCx *cx, RtTensor *t, double *low, double *high)
{
	RtTensor *d = dense_in(cx, t, RT_f32);
	int64_t n = rt_numel(t);

	if (!d)
		return RT_ERROR;
	*low = *high = n ? (double)*(float *)rt_data(d) : 0;
	for (int64_t i = 1; i < n; i++) {
		double v = (double)((float *)rt_data(d))[i];

		*low = v < *low ? v : *low;
		*high = v > *high ? v : *high;
	}
	return RT_OK;
}

int
rt_quantize_per_channel(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *scales = rt_tensor(in[1]), *zeros = rt_tensor(in[2]), *r;
	int axis = rt_dim(cx, in[3].u.i, t->ndim);
	RtDtype dtype = rt_dtype_or(in[4], RT_NDTYPE);

	if (axis < 0 || check_float(cx, t))
		return RT_ERROR;
	if (rt_dtypes[dtype].category != 'Q')
		return rt_raise(cx, "quantize_per_channel: expected a quantized dtype, got %s", rt_dtypes[dtype].brief);
	if (scales->ndim != 1 || zeros->ndim != 1 ||
	    (t->ndim && (scales->dims[0] != t->dims[axis] || zeros->dims[0] != t->dims[axis])))
		return rt_raise(cx, "length of scales must equal to channel, expected %lld got, %lld",
				(long long)(t->ndim ? t->dims[axis] : 1), (long long)rt_numel(scales));
	r = channel_result(cx, dtype, t, scales, zeros, axis);
	RT_RESULT(cx, r, out[0]);
	return quant_store(cx, r, t);
}

/* Makes a quantized tensor from given integers. strides may be null. */
static int
of_integers(RtCx *cx, const IValue *in, const int64_t *strides, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *r;
	RtDtype dtype = t->dtype == RT_i8 ? RT_qi8 : t->dtype == RT_u8 ? RT_qu8 : RT_qi32;

	if (t->dtype != RT_i8 && t->dtype != RT_u8 && t->dtype != RT_i32)
		return rt_raise(cx, "_make_per_tensor_quantized_tensor: no quantized type of %s",
				rt_dtypes[t->dtype].brief);
	r = quant_result(cx, dtype, t->ndim, t->dims, strides, (Affine){ rt_number(in[1]), in[2].u.i });
	RT_RESULT(cx, r, out[0]);
	r = quant_raw(cx, r);
	return r ? rt_copy_into(cx, r, t) : RT_ERROR;
}

KERNEL(_make_per_tensor_quantized_tensor, of_integers(cx, in, NULL, out))

int
rt_prim_dequantized_rows(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *w = rt_tensor(in[0]), *s = rt_tensor(in[1]), *z = in[2].tag == RT_TENSOR ? rt_tensor(in[2]) : NULL;
	const int64_t n = rt_numel(w), parts = rt_numel(s);
	int64_t strides[RT_MAX_RANK];
	RtTensor *r, *to;

	if (!w->ndim || (n && (!parts || parts % w->dims[0] || n % parts)) || (z && rt_numel(z) != parts))
		return rt_raise(cx, "dequantized rows: the scales do not fit");
	rt_result_strides(w->ndim, w->dims, 1, &w, strides);
	r = rt_result(cx, 0, RT_f32, w->ndim, w->dims, strides);
	RT_RESULT(cx, r, out[0]);
	w = dense_in(cx, w, RT_f32);
	s = dense_in(cx, s, RT_f32);
	z = z ? dense_in(cx, z, RT_f32) : NULL;
	to = dense_out(cx, r, RT_f32);
	if (cx->status || !w || !s || !to)
		return RT_ERROR;
	for (int64_t i = 0; i < n; i++) {
		const int64_t at = i / (n / parts);

		((float *)rt_data(to))[i] = (((const float *)rt_data(w))[i] -
					     (z ? ((const float *)rt_data(z))[at] : 0)) *
					    ((const float *)rt_data(s))[at];
	}
	return dense_done(cx, r, to);
}

int
rt_prim_of_integers(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	int64_t strides[RT_MAX_RANK];

	rt_result_strides(t->ndim, t->dims, 1, &t, strides);
	return of_integers(cx, in, strides, out);
}

int
rt__make_per_channel_quantized_tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *r;
	RtDtype dtype = t->dtype == RT_i8 ? RT_qi8 : t->dtype == RT_u8 ? RT_qu8 : RT_qi32;
	int axis = rt_dim(cx, in[3].u.i, t->ndim);

	if (axis < 0)
		return RT_ERROR;
	if (t->dtype != RT_i8 && t->dtype != RT_u8 && t->dtype != RT_i32)
		return rt_raise(cx, "_make_per_channel_quantized_tensor: no quantized type of %s",
				rt_dtypes[t->dtype].brief);
	r = channel_result(cx, dtype, t, rt_tensor(in[1]), rt_tensor(in[2]), axis);
	RT_RESULT(cx, r, out[0]);
	r = quant_raw(cx, r);
	return r ? rt_copy_into(cx, r, t) : RT_ERROR;
}

/* Arguments: size, dtype, layout, device, pin_memory, scale, zero_point, memory_format. */
int
rt__empty_affine_quantized(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int ndim = rt_ints(cx, in[0], dims, RT_MAX_RANK);
	RtDtype dtype = rt_dtype_or(in[1], RT_f32);
	RtTensor *r;

	if (ndim < 0)
		return RT_ERROR;
	if (rt_dtypes[dtype].category != 'Q')
		return rt_raise(cx, "Creation of quantized tensor requires quantized dtype like torch.quint8");
	rt_contiguous_strides(ndim, dims, strides);
	if (!rt_is_none(in[7]) && in[7].u.i >= 2 && (ndim == 4 || ndim == 5))
		rt_channels_last_strides(ndim, dims, strides);
	r = quant_result(cx, dtype, ndim, dims, strides, (Affine){ rt_number(in[5]), in[6].u.i });
	RT_RESULT(cx, r, out[0]);
	memset(rt_data(r), 0, (size_t)(rt_numel(r) * rt_dtypes[dtype].bytes));
	return RT_OK;
}

/* Stores the floats v, which are the values of t, with t's strides. */
static int
give_values(RtCx *cx, RtTensor *t, RtTensor *v, IValue *out)
{
	RtTensor *r, *all[1] = { t };
	int64_t strides[RT_MAX_RANK];

	rt_result_strides(t->ndim, t->dims, 1, all, strides);
	r = rt_result(cx, 0, RT_f32, t->ndim, t->dims, strides);
	RT_RESULT(cx, r, out[0]);
	return v ? rt_copy_into(cx, r, v) : RT_ERROR;
}

/* Of a tensor that is not quantized, dequantize is to(torch.float32), which may be the tensor itself. */
int
rt_dequantize_self(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);

	if (t->quant)
		return give_values(cx, t, values_of(cx, t), out);
	if (t->dtype != RT_f32)
		return give_values(cx, t, t, out);
	out[0] = rt_retain(in[0]);
	return RT_OK;
}

static int
check_whole(RtCx *cx, const RtTensor *t)
{
	if (check_quantized(cx, t, "quantized operator"))
		return RT_ERROR;
	return t->quant->scales ? rt_raise(cx, "Only per tensor quantization is supported.") : RT_OK;
}

KERNEL(prim_fused_values, check_whole(cx, in[0].u.t) ? RT_ERROR :
       give_values(cx, in[0].u.t, values_as(cx, in[0].u.t, true), out))
KERNEL(prim_units, check_whole(cx, in[0].u.t) ? RT_ERROR : give_values(cx, in[0].u.t, units_of(cx, in[0].u.t), out))
KERNEL(dequantize_tensor, rt_dequantize_self(cx, in, out))

int
rt_dequantize_tensors(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *from = in[0].u.list, *l = rt_list_new(cx, &rt_type_tensor, from->n);
	IValue v;

	if (!l)
		return RT_ERROR;
	out[0] = rt_ref(RT_LIST, l);
	for (int64_t i = 0; i < from->n; i++)
		if (CALL(cx, dequantize_self, &v, from->v[i]) || rt_list_push(cx, l, rt_retain(v))) {
			rt_release(out[0]);
			out[0] = rt_none();
			return RT_ERROR;
		}
	return RT_OK;
}

KERNEL(dequantize_list, rt_dequantize_tensors(cx, in, out))

int
rt_int_repr(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *raw, *r, *all[1] = { t };
	int64_t strides[RT_MAX_RANK];

	if (check_quantized(cx, t, "int_repr"))
		return RT_ERROR;
	raw = quant_raw(cx, t);
	if (!raw)
		return RT_ERROR;
	rt_result_strides(t->ndim, t->dims, 1, all, strides);
	r = rt_result(cx, 0, (RtDtype)raw->dtype, t->ndim, t->dims, strides);
	RT_RESULT(cx, r, out[0]);
	return rt_copy_into(cx, r, raw);
}

/* Raises an error unless t is quantized per tensor with a known scale and zero point. */
static int
check_one_scale(RtCx *cx, const RtTensor *t, const char *op)
{
	if (check_quantized(cx, t, op))
		return RT_ERROR;
	if (t->quant->scales)
		return rt_raise(cx, "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.");
	return cx->meta && t->quant->scale == UNKNOWN_SCALE ? rt_no_meta(cx) : RT_OK;
}

int
rt_q_scale(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);

	if (check_one_scale(cx, t, "q_scale"))
		return RT_ERROR;
	out[0] = rt_double(t->quant->scale);
	return RT_OK;
}

int
rt_q_zero_point(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);

	if (check_one_scale(cx, t, "q_zero_point"))
		return RT_ERROR;
	out[0] = rt_int(t->quant->zero);
	return RT_OK;
}

static int
per_channel_part(RtCx *cx, const IValue *in, const char *op, RtTensor **part, bool zeros)
{
	RtTensor *t = rt_tensor(in[0]);

	if (check_quantized(cx, t, op))
		return RT_ERROR;
	if (!t->quant->scales)
		return rt_raise(cx, "Expected quantizer->qscheme() == kPerChannelAffine to be true, but got false.");
	*part = zeros ? t->quant->zeros : t->quant->scales;
	return RT_OK;
}

int
rt_q_per_channel_scales(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *p = 0;

	return per_channel_part(cx, in, "q_per_channel_scales", &p, false) ? RT_ERROR : rt_return(cx, p, out);
}

int
rt_q_per_channel_zero_points(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *p = 0;

	return per_channel_part(cx, in, "q_per_channel_zero_points", &p, true) ? RT_ERROR : rt_return(cx, p, out);
}

int
rt_q_per_channel_axis(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *p = 0;

	if (per_channel_part(cx, in, "q_per_channel_axis", &p, false))
		return RT_ERROR;
	out[0] = rt_int(in[0].u.t->quant->axis);
	return RT_OK;
}

/* Returns 0 for per tensor, 1 for per channel (affine). */
int
rt_qscheme(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);

	if (check_quantized(cx, t, "qscheme"))
		return RT_ERROR;
	out[0] = rt_int(t->quant->scheme);
	return RT_OK;
}
