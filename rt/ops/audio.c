/* rt/ops/audio.c - the loop over time of torchaudio's recursive filters
 *
 * A recursive filter reads its own earlier output, so it needs a loop over samples. Channels are independent. The loop
 * computes in double for double signals, otherwise in float, as torchaudio does. */
#include "dense.h"

#include <string.h>

/* Defines the loop for one type. `out` begins with the n - 1 previous samples of each signal. The last of n
 * coefficients belongs to the current sample. */
#define FILTER(name, T) \
	static void \
	name(int64_t items, int64_t channels, int64_t length, int64_t n, const T *x, const T *a, T *out) \
	{ \
		for (int64_t r = 0; r < items * channels; r++) { \
			const T *c = a + r % channels * n; \
			T *at = out + r * (length + n - 1); \
			for (int64_t t = 0; t < length; t++) { \
				T sum = x[r * length + t]; \
				for (int64_t k = 0; k < n; k++) \
					sum -= at[t + k] * c[k]; \
				at[t + n - 1] = sum; \
			} \
		} \
	}
FILTER(filter_f32, float)
FILTER(filter_f64, double)

static int
check_filter(RtCx *cx, const RtTensor *x, const RtTensor *a, const RtTensor *start)
{
	DenseText tx, ta, ts;

	if (x->ndim != 3 || a->ndim != 2 || start->ndim != 3 || a->dims[1] < 1 || a->dims[0] != x->dims[1]
	    || start->dims[0] != x->dims[0] || start->dims[1] != x->dims[1]
	    || start->dims[2] - x->dims[2] != a->dims[1] - 1)
		return rt_raise(cx, "a filter of %s by %s into %s: expected (items, channels, samples), (channels, n), "
			"(items, channels, samples + n - 1)", dense_text(x, &tx), dense_text(a, &ta),
			dense_text(start, &ts));
	if (!is_floating(x) || a->dtype != x->dtype || start->dtype != x->dtype)
		return rt_raise(cx, "a filter of %s by %s into %s: expected one floating dtype",
				rt_dtypes[x->dtype].torch, rt_dtypes[a->dtype].torch, rt_dtypes[start->dtype].torch);
	return RT_OK;
}

int
rt_kiln_recursive_filter(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = in[0].u.t, *a = in[1].u.t, *start = in[2].u.t, *r, *to;
	RtDtype ct = x->dtype == RT_f64 ? RT_f64 : RT_f32;
	int64_t items, channels, length, n;

	if (check_filter(cx, x, a, start))
		return RT_ERROR;
	r = rt_result(cx, 0, x->dtype, 3, start->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	x = dense_in(cx, x, ct);
	a = x ? dense_in(cx, a, ct) : NULL;
	start = a ? dense_in(cx, start, ct) : NULL;
	to = start ? dense_out(cx, r, ct) : NULL;
	if (!to)
		return RT_ERROR;
	items = x->dims[0];
	channels = x->dims[1];
	length = x->dims[2];
	n = a->dims[1];
	memmove(rt_data(to), rt_data(start),
		(size_t)(items * channels * (length + n - 1)) * (size_t)rt_dtypes[ct].bytes);
	if (ct == RT_f64)
		filter_f64(items, channels, length, n, (const double *)(const void *)rt_data(x),
			   (const double *)(const void *)rt_data(a), (double *)(void *)rt_data(to));
	else
		filter_f32(items, channels, length, n, (const float *)(const void *)rt_data(x),
			   (const float *)(const void *)rt_data(a), (float *)(void *)rt_data(to));
	return dense_done(cx, r, to);
}
