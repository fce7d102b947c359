/* rt/ops/sample.c - draws that depend on a tensor's values: multinomial, Poisson, random slopes of leaky relu */
#include <math.h>
#include <string.h>

#include "kernel.h"

RT_FAST

static RtGenerator *
generator(RtCx *cx, IValue v)
{
	return v.tag == RT_GENERATOR ? v.u.gen : cx->gen;
}

/* ---- multinomial -------------------------------------------------------------------------------------------- */

/* Checks the weights. With by_sums, raises the error of draws with replacement. */
static int
check_weights(RtCx *cx, const double *w, int64_t rows, int64_t n, bool by_sums)
{
	for (int64_t r = 0; r < rows; r++) {
		double sum = 0;
		for (int64_t i = 0; i < n; i++) {
			double x = w[r * n + i];
			if (!(x >= 0) || x - x != 0)
				return rt_raise(cx, !by_sums
					? "probability tensor contains either `inf`, `nan` or element < 0"
					: !(x >= 0)
					? "invalid multinomial distribution (encountering probability entry < 0)"
					: "invalid multinomial distribution (encountering probability entry = "
					  "infinity or NaN)");
			sum += x;
		}
		if (!(sum > 0))
			return rt_raise(cx, "invalid multinomial distribution (sum of probabilities <= 0)");
	}
	return RT_OK;
}

/* Draws without replacement. The results are the greatest quotients of weight and an exponential draw. Makes one draw
 * for each weight. */
static void
race(double *w, int64_t n, int64_t count, int64_t *r)
{
	for (int64_t k = 0; k < count; k++) {
		int64_t best = 0;
		for (int64_t i = 1; i < n; i++)
			if (w[i] > w[best])
				best = i;
		r[k] = best;
		w[best] = -1;
	}
}

/* Draws with replacement. A result is the position of a uniform draw among the running sums. */
static void
draw_with_replacement(RtGenerator *g, double *w, int64_t n, int64_t count, int64_t *r)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		w[i] = sum += w[i];
	for (int64_t i = 0; i < n; i++)
		w[i] /= sum;
	w[n - 1] = 1;
	for (int64_t k = 0; k < count; k++) {
		double u = rt_uniform53(g);
		int64_t lo = 0, hi = n;
		while (lo < hi) {
			int64_t mid = lo + (hi - lo) / 2;
			if (w[mid] < u)
				lo = mid + 1;
			else
				hi = mid;
		}
		r[k] = lo < n ? lo : n - 1;
	}
}

int
rt_multinomial(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *r;
	RtGenerator *g = generator(cx, in[3]);
	int64_t count = rt_integer(in[1]), dims[2], rows, n, *picks;
	bool again = in[2].u.i;
	double *w;

	if (t->ndim < 1 || t->ndim > 2)
		return rt_raise(cx, "prob_dist must be 1 or 2 dim");
	if (!rt_is_floating((RtDtype)t->dtype))
		return rt_raise(cx, "multinomial only supports floating-point dtypes for input, got: %s",
				rt_dtypes[t->dtype].brief);
	if (count <= 0)
		return rt_raise(cx, "cannot sample n_sample <= 0 samples");
	n = t->dims[t->ndim - 1];
	rows = t->ndim == 2 ? t->dims[0] : 1;
	if (!in[2].u.i && count > n)
		return rt_raise(cx, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
	dims[0] = rows, dims[t->ndim - 1] = count;
	r = rt_result(cx, 0, RT_i64, t->ndim, dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (!(t = rt_temp(cx, rt_to_dtype(cx, t, RT_f64))) || !(t = rt_temp(cx, rt_contiguous(cx, t)))
			|| !(w = rt_scratch(cx, rows * n * (int64_t)sizeof *w)))
		return RT_ERROR;
	memcpy(w, rt_data(t), (size_t)(rows * n) * sizeof *w);
	if (check_weights(cx, w, rows, n, again))
		return RT_ERROR;
	if (!again)
		for (int64_t i = 0; i < rows * n; i++)
			w[i] /= -log1p(-rt_uniform53(g));
	picks = (int64_t *)(void *)rt_data(r);
	for (int64_t k = 0; k < rows; k++)
		if (again)
			draw_with_replacement(g, w + k * n, n, count, picks + k * count);
		else
			race(w + k * n, n, count, picks + k * count);
	return RT_OK;
}

/* ---- Poisson: by products of uniforms, or for large rates Hoermann's transformed rejection (PTRS, 1993) ---------- */

static double
poisson_large(double rate, RtGenerator *g)
{
	double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b, inv_alpha = 1.1239 + 1.1328 / (b - 3.4);
	double vr = 0.9277 - 3.6224 / (b - 2), u, v, us, k;

	for (;;) {
		u = rt_uniform53(g) - 0.5;
		v = rt_uniform53(g);
		us = 0.5 - fabs(u);
		k = floor((2 * a / us + b) * u + rate + 0.43);
		if (us >= 0.07 && v <= vr)
			return k;
		if (k < 0 || (us < 0.013 && v > us))
			continue;
		if (log(v) + log(inv_alpha) - log(a / (us * us) + b) <= -rate + k * log(rate) - lgamma(k + 1))
			return k;
	}
}

static double
poisson(double rate, RtGenerator *g)
{
	double limit = exp(-rate), product = 1, k = 0;

	if (rate >= 10)
		return poisson_large(rate, g);
	if (rate == 0)
		return 0;
	for (;; k++) {
		product *= rt_uniform53(g);
		if (product <= limit)
			return k;
	}
}

int
rt_poisson(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *x, *r;
	RtGenerator *g = generator(cx, in[1]);
	double *p;

	if (!rt_is_floating((RtDtype)t->dtype))
		return rt_raise(cx, "\"poisson_cpu\" not implemented for '%s'", rt_dtypes[t->dtype].brief);
	r = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, t->dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (!(x = rt_temp(cx, rt_tensor_new(cx, RT_f64, t->ndim, t->dims))) || rt_copy_into(cx, x, t))
		return RT_ERROR;
	p = (double *)(void *)rt_data(x);
	for (int64_t i = 0, n = rt_numel(x); i < n; i++) {
		if (!(p[i] >= 0) || p[i] > 1e15)
			return rt_raise(cx, "invalid Poisson rate, expected rate to be non-negative");
		p[i] = poisson(p[i], g);
	}
	return rt_copy_into(cx, r, x);
}

/* ---- randomized leaky relu: `noise` is the factor of each element ------------------------------------------------ */

int
rt_rrelu_with_noise(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *noise = rt_tensor(in[1]), *x, *s, *r;
	RtGenerator *g = generator(cx, in[5]);
	double low = rt_number(in[2]), high = rt_number(in[3]), *p, *q;
	int64_t strides[RT_MAX_RANK];

	if (!in[4].u.i)
		return rt_leaky_relu(cx, (const IValue[2]){ in[0], rt_double((low + high) / 2) }, out);
	if (!rt_is_floating((RtDtype)t->dtype))
		return rt_raise(cx, "\"rrelu_with_noise_out_cpu\" not implemented for '%s'", rt_dtypes[t->dtype].brief);
	rt_result_strides(t->ndim, t->dims, 1, &t, strides);
	r = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, t->dims, strides);
	RT_RESULT(cx, r, out[0]);
	if (!(x = rt_temp(cx, rt_tensor_new(cx, RT_f64, t->ndim, t->dims))) || rt_copy_into(cx, x, t)
			|| !(s = rt_temp(cx, rt_tensor_new(cx, RT_f64, t->ndim, t->dims))))
		return RT_ERROR;
	p = (double *)(void *)rt_data(x);
	q = (double *)(void *)rt_data(s);
	for (int64_t i = 0, n = rt_numel(x); i < n; i++) {
		q[i] = p[i] <= 0 ? rt_uniform53(g) * (high - low) + low : 1;
		p[i] *= q[i];
	}
	return rt_copy_into(cx, noise, s) || rt_copy_into(cx, r, x);
}
