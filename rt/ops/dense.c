/*
 * Dense operands of the network kernels: see dense.h.
 */
#include "dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tmath.h"

RtTensor *
dense_in(RtCx *cx, RtTensor *t, RtDtype ct)
{
	t = rt_temp(cx, rt_to_dtype(cx, t, ct));
	return t ? rt_temp(cx, rt_contiguous(cx, t)) : 0;
}

RtTensor *
dense_out(RtCx *cx, RtTensor *result, RtDtype ct)
{
	if (result->dtype == ct && rt_is_contiguous(result))
		return result;
	return rt_temp(cx, rt_tensor_new(cx, ct, result->ndim, result->dims));
}

int
dense_done(RtCx *cx, RtTensor *result, RtTensor *out)
{
	return result == out ? RT_OK : rt_copy_into(cx, result, out);
}

int
dense_sizes(RtCx *cx, IValue list, const char *op, const char *what, int n, int64_t *sizes)
{
	int count = rt_ints(cx, list, sizes, n);

	if (count < 0)
		return RT_ERROR;
	if (count == 1)
		for (int i = 1; i < n; i++)
			sizes[i] = sizes[0];
	else if (count != n)
		return rt_raise(cx, "%s: %s must either be a single int, or a tuple of %d ints", op, what, n);
	return RT_OK;
}

/* Whether the strides mean channels last, also along dims of size 1. A tensor with one channel has both formats, and
 * only these strides tell them apart (c10's is_channels_last_strides). */
static bool
suggests_channels_last(const RtTensor *t)
{
	int64_t least = 0;

	for (int k = 0; k < t->ndim; k++) {                /* in the order 1, last, ..., 2, 0 */
		const int i = k == 0 ? 1 : k == t->ndim - 1 ? 0 : t->ndim - k;

		if (!t->dims[i] || t->strides[i] < least || (k == 0 && !t->strides[i]) ||
		    (i == 0 && least == t->strides[1]))
			return false;
		least = t->strides[i] * (t->dims[i] > 1 ? t->dims[i] : 1);
	}
	return true;
}

const int64_t *
dense_format(const RtTensor *a, int ndim, const int64_t *dims, int64_t *buf)
{
	if ((ndim != 4 && ndim != 5) || a->ndim != ndim || !suggests_channels_last(a))
		return 0;
	rt_channels_last_strides(ndim, dims, buf);
	return buf;
}

int
rt_format_strides(RtCx *cx, int64_t format, int ndim, const int64_t *dims, int64_t *strides)
{
	if (format == 0) {
		rt_contiguous_strides(ndim, dims, strides);
		return RT_OK;
	}
	if (format != 2 && format != 3)
		return rt_raise(cx, "unsupported memory format %lld", (long long)format);
	if (ndim != (format == 2 ? 4 : 5))
		return rt_raise(cx, "required rank %d tensor to use channels_last%s format", format == 2 ? 4 : 5,
				format == 2 ? "" : "_3d");
	rt_channels_last_strides(ndim, dims, strides);
	return RT_OK;
}

const char *
dense_dims_text(int n, const int64_t *dims, DenseText *text)
{
	int at = snprintf(text->s, sizeof text->s, "[");

	for (int i = 0; i < n && at < (int)sizeof text->s - 24; i++)
		at += snprintf(text->s + at, sizeof text->s - (size_t)at, "%s%lld", i ? ", " : "", (long long)dims[i]);
	snprintf(text->s + at, sizeof text->s - (size_t)at, "]");
	return text->s;
}

const char *
dense_text(const RtTensor *t, DenseText *text)
{
	return dense_dims_text(t->ndim, t->dims, text);
}

void
quant_choose(double low, double high, int64_t qmin, int64_t qmax, double *scale, int64_t *zero)
{
	const TAffine by = t_affine(low, high, (double)qmin, (double)qmax);

	*scale = by.scale;
	*zero = (int64_t)by.zero;
}
