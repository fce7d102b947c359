/*
 * Convolutions and products of 8-bit integers (vint8.h). Specialized code computes quantized layers by them
 * (opt/special/quantforms.c) if it has no kernel of its own.
 *
 * Activations are the integers of quantized tensors, uint8 or int8. Weights have no zero point.
 */
#include "quant.h"

#include <math.h>
#include <string.h>

RT_FAST
#include "vint8_depth.h"
RT_SMALL

typedef struct Launch {
	ViConv     v;
	ViWeights  weights;
	const uint8_t *x;
	uint8_t   *y;
} Launch;

static void
run_units(void *arg, int64_t begin, int64_t end)
{
	Launch *l = arg;
	uint8_t *scratch = NULL;

	if (vi_is_depthwise(&l->v)) {
		vi_depthwise(begin, end, &l->v, l->x, &l->weights, l->y);
		return;
	}
	if (vi_scratch(&l->v) && !(scratch = rt_thread_scratch(vi_scratch(&l->v))))
		return;                                  /* rt_parallel reports it to the caller (note_lost) */
	vi_conv(begin, end, &l->v, l->x, &l->weights, l->y, scratch);
}

enum { GRAIN = 1 << 20 };        /* smallest number of multiplications that a thread is worth */

static int
run_product(RtCx *cx, Launch *l)
{
	ViConv *const v = &l->v;
	const bool depthwise = vi_is_depthwise(v);
	int64_t units;

	v->part = vi_divides(v) ? VI_PART : v->oc;
	units = depthwise ? vi_lines(v) : vi_units(v);
	rt_parallel(cx, units, 1 + GRAIN * units / (vi_pixels(v) * v->groups * v->oc * v->ic * vi_window(v) + 1),
		    run_units, l);
	return cx->status;
}

/* Packs w and runs the kernel. scale and bias are floats for all channels; they are not used for sums. */
static int
launch(RtCx *cx, Launch *l, const RtTensor *w, RtTensor *scale, RtTensor *bias)
{
	ViConv *const v = &l->v;
	const ptrdiff_t channels = v->groups * v->oc;
	ptrdiff_t stride[5] = { w->strides[0], w->strides[1] };
	int8_t *panels;
	int32_t *start = rt_scratch(cx, channels * (int64_t)sizeof *start + 64);

	if (!channels || vi_pixels(v) == 0)
		return RT_OK;
	for (int i = 2; i < w->ndim; i++)
		stride[5 - w->ndim + i] = w->strides[i];
	panels = rt_scratch(cx, vi_packed(v) + 64);
	if (!start || !panels)
		return RT_ERROR;
	vi_pack(v, (const int8_t *)rt_data(w), stride, panels, start);
	l->weights = (ViWeights){ panels, start, NULL, NULL };
	if (!v->sums) {
		scale = dense_in(cx, scale, RT_f32);
		bias = dense_in(cx, bias, RT_f32);
		if (!scale || !bias)
			return RT_ERROR;
		l->weights.scale = (const float *)rt_data(scale);
		l->weights.bias = (const float *)rt_data(bias);
	}
	return run_product(cx, l);
}

/* Sets the range of results: zero point, least and greatest integer. */
static void
set_range(ViConv *v, const RtTensor *x, int64_t x_zero, const IValue range[3])
{
	v->flip = x->dtype == RT_i8;
	v->x_zero = (int32_t)x_zero + (v->flip ? 128 : 0);
	v->y_zero = (int32_t)range[0].u.i;
	v->low = (int32_t)range[1].u.i;
	v->high = (int32_t)range[2].u.i;
}

static int
check(RtCx *cx, const RtTensor *x, const RtTensor *w, const RtTensor *scale, const RtTensor *bias)
{
	if ((x->dtype != RT_u8 && x->dtype != RT_i8) || w->dtype != RT_i8 || rt_numel(scale) != w->dims[0] ||
	    rt_numel(bias) != w->dims[0] || (w->dims[0] && rt_numel(w) / w->dims[0] > VI_MOST))
		return rt_raise(cx, "int8 product: expected 8-bit integers, with a scale and a bias for each channel");
	return RT_OK;
}

/* Sets the sizes of a convolution over two or three dims. */
static int
set_windows(RtCx *cx, ViConv *v, const RtTensor *x, const RtTensor *w, const IValue lists[3])
{
	int64_t in[3] = { 1, 1, 1 }, k[3] = { 1, 1, 1 }, s[3] = { 1, 1, 1 }, pad[3] = { 0 }, wide[3] = { 1, 1, 1 };
	int64_t out[3];
	const int nd = x->ndim - 2, at = 3 - nd;

	if (dense_sizes(cx, lists[0], "int8", "stride", nd, s + at) ||
	    dense_sizes(cx, lists[1], "int8", "padding", nd, pad + at) ||
	    dense_sizes(cx, lists[2], "int8", "dilation", nd, wide + at))
		return RT_ERROR;
	for (int i = 0; i < 3; i++) {
		if (i >= at)
			in[i] = x->dims[2 + i - at], k[i] = w->dims[2 + i - at];
		if (s[i] < 1 || pad[i] < 0 || wide[i] < 1)
			return rt_raise(cx, "int8 convolution: stride, padding or dilation out of range");
		if (in[i] + 2 * pad[i] < wide[i] * (k[i] - 1) + 1)
			return rt_raise(cx, "int8 convolution: the kernel is larger than the padded input");
		out[i] = (in[i] + 2 * pad[i] - wide[i] * (k[i] - 1) - 1) / s[i] + 1;
	}
	v->n = x->dims[0], v->d = in[0], v->h = in[1], v->w = in[2];
	v->od = out[0], v->oh = out[1], v->ow = out[2], v->kd = k[0], v->kh = k[1], v->kw = k[2];
	v->sd = s[0], v->sh = s[1], v->sw = s[2], v->pd = pad[0], v->ph = pad[1], v->pw = pad[2];
	v->dd = wide[0], v->dh = wide[1], v->dw = wide[2];
	return RT_OK;
}

/* Makes the result of a convolution, and x with channels last. by: stride, padding, dilation, groups. */
static int
open_conv(RtCx *cx, Launch *l, RtTensor *x, const RtTensor *w, const IValue by[4], RtDtype dtype, IValue *out)
{
	ViConv *const v = &l->v;
	RtTensor *r, *d;
	const int64_t groups = by[3].u.i;
	int64_t strides[5];

	if ((x->ndim != 4 && x->ndim != 5) || w->ndim != x->ndim || groups < 1 || w->dims[0] % groups ||
	    w->dims[1] * groups != x->dims[1])
		return rt_raise(cx, "int8 convolution: the sizes do not fit");
	if (set_windows(cx, v, x, w, by))
		return RT_ERROR;
	v->groups = groups;
	v->ic = w->dims[1];
	v->oc = w->dims[0] / groups;
	v->xs = x->dims[1];
	v->ys = w->dims[0];
	const int64_t volume[] = { v->n, w->dims[0], v->od, v->oh, v->ow },
		      image[] = { v->n, w->dims[0], v->oh, v->ow }, *dims = x->ndim == 5 ? volume : image;

	rt_channels_last_strides(x->ndim, dims, strides);
	r = rt_result(cx, 0, dtype, x->ndim, dims, strides);
	RT_RESULT(cx, r, out[0]);
	rt_channels_last_strides(x->ndim, x->dims, strides);
	d = rt_temp(cx, rt_tensor_strided(cx, (RtDtype)x->dtype, x->ndim, x->dims, strides));
	if (!d || rt_copy_into(cx, d, x))
		return RT_ERROR;
	l->x = (const uint8_t *)rt_data(d);
	l->y = (uint8_t *)rt_data(r);
	return RT_OK;
}

/* Arguments: x, w, scale, bias, x_zero, stride, padding, dilation, groups, zero, low, high. */
int
rt_prim_conv_int8(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_tensor(in[0]), *w = rt_tensor(in[1]), *scale = rt_tensor(in[2]), *bias = rt_tensor(in[3]);
	Launch l = { .y = NULL };

	if (check(cx, x, w, scale, bias) || open_conv(cx, &l, x, w, in + 5, (RtDtype)x->dtype, out))
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	set_range(&l.v, x, in[4].u.i, in + 9);
	return launch(cx, &l, w, scale, bias);
}

/* Arguments: x, w, scale, bias, x_zero, zero, low, high. */
int
rt_prim_linear_int8(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_tensor(in[0]), *w = rt_tensor(in[1]), *scale = rt_tensor(in[2]), *bias = rt_tensor(in[3]);
	RtTensor *r, *d;
	Launch l = { .v = VI_LINE };
	int64_t dims[RT_MAX_RANK];

	if (check(cx, x, w, scale, bias))
		return RT_ERROR;
	if (x->ndim < 1 || w->ndim != 2 || x->dims[x->ndim - 1] != w->dims[1])
		return rt_raise(cx, "int8 product: the sizes do not fit");
	memcpy(dims, x->dims, (size_t)x->ndim * sizeof *dims);
	dims[x->ndim - 1] = w->dims[0];
	r = rt_result(cx, 0, (RtDtype)x->dtype, x->ndim, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	d = dense_in(cx, x, (RtDtype)x->dtype);
	if (!d)
		return RT_ERROR;
	l.v.ic = w->dims[1];
	l.v.oc = w->dims[0];
	l.v.w = l.v.ow = l.v.oc ? rt_numel(r) / l.v.oc : 0;
	l.v.xs = w->dims[1];
	l.v.ys = w->dims[0];
	set_range(&l.v, x, in[4].u.i, in + 5);
	l.x = (const uint8_t *)rt_data(d);
	l.y = (uint8_t *)rt_data(r);
	return launch(cx, &l, w, scale, bias);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static ViConv
product_of(const Int8Weights *w)
{
	ViConv v = VI_LINE;

	v.sums = true;
	v.ic = v.xs = w->k;
	v.oc = v.ys = w->n;
	return v;
}

int
int8_pack(RtCx *cx, const RtTensor *w, Int8Weights *p)
{
	const ptrdiff_t stride[5] = { w->strides[0], w->strides[1] };
	ViConv v;

	p->n = w->dims[0];
	p->k = w->dims[1];
	v = product_of(p);
	p->panels = rt_scratch(cx, vi_packed(&v) + 64);
	p->start = rt_scratch(cx, p->n * (int64_t)sizeof *p->start + 64);
	if (!p->panels || !p->start)
		return RT_ERROR;
	vi_pack(&v, (const int8_t *)rt_data(w), stride, p->panels, p->start);
	return RT_OK;
}

int
int8_sums(RtCx *cx, const Int8Weights *w, int64_t rows, const uint8_t *x, int32_t x_zero, int32_t *sums)
{
	Launch l = { .v = product_of(w), .weights = { w->panels, w->start, NULL, NULL }, .x = x, .y = (uint8_t *)sums };

	if (!rows || !w->n)
		return RT_OK;
	l.v.w = l.v.ow = rows;
	l.v.x_zero = x_zero;
	return run_product(cx, &l);
}

RT_FAST
void
int8_by_range(int64_t n, const float *x, int64_t most, uint8_t *to, float *scale, int32_t *zero)
{
	float low = 0, high = 0, inverse;
	double by;
	int64_t at;

	for (int64_t i = 0; i < n; i++) {
		low = x[i] < low ? x[i] : low;
		high = x[i] > high ? x[i] : high;
	}
	quant_choose((double)low, (double)high, 0, most, &by, &at);
	*scale = (float)by;
	*zero = (int32_t)at;
	inverse = 1 / *scale;
	for (int64_t i = 0; i < n; i++) {
		const float q = nearbyintf(x[i] * inverse) + (float)at;

		to[i] = q > 0 ? q < 255 ? (uint8_t)q : 255 : 0;
	}
}
RT_SMALL

static void
set_sums(ViConv *v, const RtTensor *x, const RtTensor *zero)
{
	v->sums = true;
	v->flip = x->dtype == RT_i8;
	v->x_zero = (int32_t)rt_load_f64((RtDtype)zero->dtype, rt_data(zero)) + (v->flip ? 128 : 0);
}

/* Arguments: integers, integers of the weights, zero point of the first. */
int
rt_prim_linear_sums(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_tensor(in[0]), *w = rt_tensor(in[1]), *zero = rt_tensor(in[2]), *r, *d;
	Launch l = { .v = VI_LINE };
	int64_t dims[RT_MAX_RANK];

	if ((x->dtype != RT_u8 && x->dtype != RT_i8) || w->dtype != RT_i8 || x->ndim < 1 || w->ndim != 2 ||
	    x->dims[x->ndim - 1] != w->dims[1] || rt_numel(zero) != 1 || w->dims[1] > VI_MOST)
		return rt_raise(cx, "int8 product: the types or sizes do not fit");
	memcpy(dims, x->dims, (size_t)x->ndim * sizeof *dims);
	dims[x->ndim - 1] = w->dims[0];
	r = rt_result(cx, 0, RT_i32, x->ndim, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	d = dense_in(cx, x, (RtDtype)x->dtype);
	if (!d)
		return RT_ERROR;
	l.v.ic = l.v.xs = w->dims[1];
	l.v.oc = l.v.ys = w->dims[0];
	l.v.w = l.v.ow = w->dims[0] ? rt_numel(r) / w->dims[0] : 0;
	set_sums(&l.v, x, zero);
	l.x = (const uint8_t *)rt_data(d);
	l.y = (uint8_t *)rt_data(r);
	return launch(cx, &l, w, NULL, NULL);
}

/* Arguments: x, w, x_zero, stride, padding, dilation, groups. */
int
rt_prim_conv_sums(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_tensor(in[0]), *w = rt_tensor(in[1]), *zero = rt_tensor(in[2]);
	Launch l = { .y = NULL };

	if ((x->dtype != RT_u8 && x->dtype != RT_i8) || w->dtype != RT_i8 || rt_numel(zero) != 1 ||
	    (w->dims[0] && rt_numel(w) / w->dims[0] > VI_MOST))
		return rt_raise(cx, "int8 convolution: the types or sizes do not fit");
	if (open_conv(cx, &l, x, w, in + 3, RT_i32, out))
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	set_sums(&l.v, x, zero);
	return launch(cx, &l, w, NULL, NULL);
}
