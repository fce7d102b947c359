/* tests/userop/scaled.c - operators of a user: scaled, with all strides; split into halves; in-place addition; number
 * of positive elements */
#include "kiln.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int my_scaled(RtCx *, const IValue *, IValue *);
int my_halves(RtCx *, const IValue *, IValue *);
int my_bump__by(RtCx *, const IValue *, IValue *);
int my_positive(RtCx *, const IValue *, IValue *);
int my_say(RtCx *, const IValue *, IValue *);

int
my_scaled(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_temp(cx, rt_contiguous(cx, rt_tensor(in[0]))), *r;
	const int64_t c = rt_integer(in[1]);

	if (!x)
		return RT_ERROR;
	if (x->dtype != RT_f32)
		return rt_raise(cx, "my::scaled: expected Float, got %s", rt_dtypes[x->dtype].brief);
	r = rt_result(cx, 0, RT_f32, x->ndim, x->dims, 0);
	RT_RESULT(cx, r, out[0]);
	for (int64_t i = 0, n = rt_numel(x); i < n; i++)
		((float *)rt_data(r))[i] = fabsf(((const float *)rt_data(x))[i]) * (float)c;
	return RT_OK;
}

/* Returns two results: the even and the odd elements. */
int
my_halves(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_temp(cx, rt_contiguous(cx, rt_tensor(in[0]))), *r[2];

	if (!x)
		return RT_ERROR;
	for (int k = 0; k < 2; k++) {
		const int64_t n = (rt_numel(x) + 1 - k) / 2;

		r[k] = rt_result(cx, k, x->dtype, 1, &n, 0);
		if (!r[k])
			return RT_ERROR;
		out[k] = rt_of(r[k]);
	}
	if (cx->meta)
		return RT_OK;
	for (int64_t i = 0, size = rt_dtypes[x->dtype].bytes; i < rt_numel(x); i++)
		memcpy(rt_data(r[i % 2]) + i / 2 * size, rt_data(x) + i * size, (size_t)size);
	return RT_OK;
}

/* Writes in place, and returns the tensor itself. */
int
my_bump__by(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_tensor(in[0]);
	const double by = rt_number(in[1]);

	if (!rt_is_contiguous(x) || x->dtype != RT_f32)
		return rt_raise(cx, "my::bump_: expected a contiguous Float");
	if (!cx->meta && rt_writable(cx, x))
		return RT_ERROR;
	for (int64_t i = 0; !cx->meta && i < rt_numel(x); i++)
		((float *)rt_data(x))[i] += (float)by;
	out[0] = rt_retain(in[0]);
	return RT_OK;
}

/* Returns a size that depends on data. */
int
my_positive(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_temp(cx, rt_contiguous(cx, rt_tensor(in[0]))), *r;
	int64_t n = 0;

	if (cx->meta)
		return rt_no_meta(cx);
	if (!x)
		return RT_ERROR;
	for (int64_t i = 0; i < rt_numel(x); i++)
		n += ((const float *)rt_data(x))[i] > 0;
	r = rt_result(cx, 0, RT_f32, 1, &n, 0);
	RT_RESULT(cx, r, out[0]);
	n = 0;
	for (int64_t i = 0; i < rt_numel(x); i++)
		if (((const float *)rt_data(x))[i] > 0)
			((float *)rt_data(r))[n++] = ((const float *)rt_data(x))[i];
	return RT_OK;
}

/* Returns no result.  The call stays for its effect. */
int
my_say(RtCx *cx, const IValue *in, IValue *out)
{
	(void)out;
	if (!cx->meta)
		fprintf(stderr, "said: %s\n", in[0].u.str->s);
	return RT_OK;
}
