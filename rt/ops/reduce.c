/* rt/ops/reduce.c - sums, products, extremes, logic over dims
 *
 * Floats are summed in float32 vectors, at most FOLD_ROWS to a partial sum. Partial sums, and doubles, are added in
 * double with compensation. Minimum and maximum return a NaN if there is one, and otherwise the first one of equal
 * elements. */
#include <string.h>

#include "quant.h"
#include "reduce.h"
#include "wide.h"

RT_FAST

double fabs(double);
double sqrt(double);
double exp(double);
double log(double);

/* ---- folds ---------------------------------------------------------------------------------------------- */

/* Adds x to s[0], and the rounding error to s[1] (Neumaier's sum). */
static void
add_compensated(double *s, double x)
{
	double t = s[0] + x;

	if (t - t == 0)
		s[1] += fabs(s[0]) >= fabs(x) ? s[0] - t + x : x - t + s[0];
	s[0] = t;
}

static double
sum_block(int64_t n, const double *x, int64_t stride)
{
	double s[4] = { 0 }, e[8] = { 0 };
	int64_t i = 0;

	for (; stride == 1 && i + 8 <= n; i += 8)
		RT_UNROLL
		for (int k = 0; k < 8; k++)
			e[k] += x[i + k];
	for (int k = 0; k < 4; k++)
		s[k] = e[k] + e[k + 4];
	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			s[k] += x[(i + k) * stride];
	for (; i < n; i++)
		s[0] += x[i * stride];
	return s[0] + s[1] + (s[2] + s[3]);
}

#ifdef WIDE
/* Sums the n / WIDE whole vectors, lane by lane. */
static void
sum_wide(int64_t n, const float *x, float part[WIDE])
{
	WideF a = { 0 }, b = a, c = a, d = a;
	int64_t i = 0;

	for (; i + 4 * WIDE <= n; i += 4 * WIDE) {
		a += *(const WideF *)(x + i);
		b += *(const WideF *)(x + i + WIDE);
		c += *(const WideF *)(x + i + 2 * WIDE);
		d += *(const WideF *)(x + i + 3 * WIDE);
	}
	for (; i + WIDE <= n; i += WIDE)
		a += *(const WideF *)(x + i);
	*(WideF *)part = a + b + (c + d);
}
#endif

/* Returns the sum of n floats. n is at most FOLD_BLOCK. */
static double
sum_floats(int64_t n, const float *x, int64_t stride)
{
	double sum = 0;
	int64_t i = 0;

#ifdef WIDE
	if (stride == 1 && n >= WIDE) {
		float part[WIDE];

		sum_wide(n, x, part);
		for (int half = WIDE / 2; half >= 4; half /= 2)
			for (int k = 0; k < half; k++)
				part[k] += part[k + half];
		sum = ((double)part[0] + part[1]) + ((double)part[2] + part[3]);
		i = n / WIDE * WIDE;
	}
#endif
	for (; i < n; i++)
		sum += x[i * stride];
	return sum;
}

double
rt_sum_floats(int64_t n, const float *x)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i += FOLD_BLOCK)
		sum += sum_floats(n - i < FOLD_BLOCK ? n - i : FOLD_BLOCK, x + i, 1);
	return sum;
}

static void
sum_f32(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	(void)arg, (void)at;
	add_compensated(s->f, sum_floats(n, x, stride));
}

static void
sum_f64(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	(void)arg, (void)at;
	add_compensated(s->f, sum_block(n, x, stride));
}

/* Sums columns. Accumulates whole vectors in registers. */
static void
sum_columns(float *sum, int64_t width, int64_t n, const float *p, int64_t row)
{
	int64_t done = 0;

#ifdef WIDE
	for (; done + 2 * WIDE <= width; done += 2 * WIDE) {
		WideF a = { 0 }, b = a;

		for (int64_t i = 0; i < n; i++) {
			a += *(const WideF *)(p + i * row + done);
			b += *(const WideF *)(p + i * row + done + WIDE);
		}
		*(WideF *)(sum + done) = a;
		*(WideF *)(sum + done + WIDE) = b;
	}
#endif
	for (int64_t k = done; k < width; k++)
		sum[k] = 0;
	for (int64_t i = 0; i < n && done < width; i++)
		for (int64_t k = done; k < width; k++)
			sum[k] += p[i * row + k];
}

static void
whole_sums(float *r, int64_t width, int64_t n, const float *x, int64_t next, int64_t step)
{
	if (step != 1)
		sum_columns(r, width, n, x, step);
	for (int64_t k = 0; k < width && step == 1; k++)
		r[k] = (float)sum_floats(n, x + k * next, 1);
}

static void
whole_means(float *r, int64_t width, int64_t n, const float *x, int64_t next, int64_t step)
{
	if (step != 1)
		sum_columns(r, width, n, x, step);
	for (int64_t k = 0; k < width; k++)
		r[k] = (step != 1 ? r[k] : (float)sum_floats(n, x + k * next, 1)) / (float)n;
}

static void
sum_tile_f32(FoldState *s, int64_t width, int64_t n, const void *x, int64_t row)
{
	float sum[FOLD_WIDTH];

	sum_columns(sum, width, n, x, row);
	for (int64_t k = 0; k < width; k++)
		add_compensated(s[k].f, (double)sum[k]);
}

static void
sum_bf16(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	float block[FOLD_BLOCK];

	(void)arg, (void)at;
	rt_cast_strided(block, (RtRun){ RT_f32, sizeof *block }, x, (RtRun){ RT_bf16, stride * 2 }, n);
	add_compensated(s->f, sum_floats(n, block, 1));
}

static void
sum_tile_bf16(FoldState *s, int64_t width, int64_t n, const void *x, int64_t row)
{
	const uint16_t *p = x;
	float sum[FOLD_WIDTH] = { 0 };
	int64_t done = 0;

#ifdef WIDE
	typedef uint16_t WideH __attribute__((vector_size(2 * WIDE), aligned(2), may_alias));
	typedef uint32_t WideU __attribute__((vector_size(4 * WIDE)));

	for (; done + 2 * WIDE <= width; done += 2 * WIDE) {
		WideF a = { 0 }, b = a;

		for (int64_t i = 0; i < n; i++) {
			const WideH *const h = (const WideH *)(p + i * row + done);

			a += (WideF)(__builtin_convertvector(h[0], WideU) << 16);
			b += (WideF)(__builtin_convertvector(h[1], WideU) << 16);
		}
		*(WideF *)(sum + done + WIDE) = b;
		*(WideF *)(sum + done) = a;
	}
#endif
	for (int64_t i = 0; i < n && done < width; i++)
		for (int64_t k = done; k < width; k++)
			sum[k] += rt_bf16_to_float(p[i * row + k]);
	for (int64_t k = 0; k < width; k++)
		add_compensated(s[k].f, (double)sum[k]);
}

static void
sum_tile_f64(FoldState *s, int64_t width, int64_t n, const void *x, int64_t row)
{
	const double *p = x;
	double sum[FOLD_WIDTH] = { 0 };

	for (int64_t i = 0; i < n; i++)
		for (int64_t k = 0; k < width; k++)
			sum[k] += p[i * row + k];
	for (int64_t k = 0; k < width; k++)
		add_compensated(s[k].f, sum[k]);
}

static void
nansum_f64(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const double *p = x;
	double sum = 0;

	(void)arg, (void)at;
	for (int64_t i = 0; i < n; i++)
		if (p[i * stride] == p[i * stride])
			sum += p[i * stride], s->i[0]++;
	add_compensated(s->f, sum);
}

static void
sum_c128(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	(void)arg, (void)at;
	add_compensated(s->f, sum_block(n, x, stride * 2));
	add_compensated(s->f + 2, sum_block(n, (const double *)x + 1, stride * 2));
}

static void
sum_i64(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const int64_t *p = x;
	uint64_t sum = (uint64_t)s->i[0];

	(void)arg, (void)at;
	for (int64_t i = 0; i < n && stride == 1; i++)
		sum += (uint64_t)p[i];
	for (int64_t i = 0; i < n && stride != 1; i++)
		sum += (uint64_t)p[i * stride];
	s->i[0] = (int64_t)sum;
}

#define PROD(name, T) \
	static void \
	name(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at) \
	{ \
		const T *p = x; \
		double part[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }; \
		int64_t i = 0; \
		\
		(void)arg, (void)at; \
		for (; stride == 1 && i + 16 <= n; i += 16) \
			RT_UNROLL \
			for (int k = 0; k < 16; k++) \
				part[k] *= (double)p[i + k]; \
		for (int k = 0; k < 16 && i; k++) \
			s->f[0] *= part[k]; \
		for (; i < n; i++) \
			s->f[0] *= (double)p[i * stride]; \
	}
PROD(prod_f32, float)
PROD(prod_f64, double)

static void
prod_c128(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const double *p = x;

	(void)arg, (void)at;
	for (int64_t i = 0; i < n; i++) {
		double re = p[i * stride * 2], im = p[i * stride * 2 + 1], old = s->f[0];
		s->f[0] = old * re - s->f[2] * im;
		s->f[2] = old * im + s->f[2] * re;
	}
}

static void
prod_i64(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const int64_t *p = x;
	uint64_t r = (uint64_t)s->i[0];

	(void)arg, (void)at;
	for (int64_t i = 0; i < n; i++)
		r *= (uint64_t)p[i * stride];
	s->i[0] = (int64_t)r;
}

/* Defines minimum and maximum. The greatest element is in f[0] or i[0], its index in i[1], the least element in f[1] or
 * i[2]. i[1] is negative before the first element. */
#define EXTREME(name, T, place, better) \
	static void name(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at) \
	{ \
		const T *p = x; \
		T best = place; \
		(void)arg; \
		for (int64_t i = 0; i < n; i++) { \
			T v = p[i * stride]; \
			if (s->i[1] < 0 || better) \
				best = v, s->i[1] = at + i; \
		} \
		place = best; \
	}
EXTREME(max_f64, double, s->f[0], v > best || (v != v && best == best))
EXTREME(min_f64, double, s->f[0], v < best || (v != v && best == best))
EXTREME(max_i64, int64_t, s->i[0], v > best)
EXTREME(min_i64, int64_t, s->i[0], v < best)

/* Finds the maximum without its index. The minimum is the maximum of the negated elements. */
static void
extreme_f32(FoldState *s, int64_t n, const float *x, int64_t stride, int64_t at, bool max)
{
	float part[FOLD_BLOCK], v;
	double best = s->f[0];

	for (int64_t i = 0; i < n && (stride != 1 || !max); i++)
		part[i] = max ? x[i * stride] : -x[i * stride];
	v = rt_greatest(stride != 1 || !max ? part : x, n);
	v = max ? v : -v;
	if (s->i[1] < 0 || (max ? v > best : v < best) || (v != v && best == best)) {
		s->f[0] = v;
		s->i[1] = at;
	}
}

static void
max_f32(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	(void)arg;
	extreme_f32(s, n, x, stride, at, true);
}

static void
min_f32(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	(void)arg;
	extreme_f32(s, n, x, stride, at, false);
}

static void
count_b8(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const uint8_t *p = x;

	(void)arg, (void)at;
	for (int64_t i = 0; i < n; i++)
		s->i[0] += p[i * stride] != 0;
}

/* logsumexp: f[0] is the greatest element so far, f[1] the sum of exp(x - f[0]). */
/* Sets the greatest element so far to `top`. Returns false if it is infinite or NaN, so that differences have no
 * meaning. */
static bool
logsumexp_top(FoldState *s, double top)
{
	const double last = s->f[0];

	s->f[0] = top;
	if (top - top != 0)
		s->f[1] = top > 0 || top == top ? 1 : top;
	else if (last != top)
		s->f[1] *= exp(last - top);
	return top - top == 0;
}

static void
logsumexp_f64(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const double *p = x;
	double top = s->f[0];

	(void)arg, (void)at;
	for (int64_t i = 0; i < n; i++)
		if (p[i * stride] > top || p[i * stride] != p[i * stride])
			top = p[i * stride];
	if (!logsumexp_top(s, top))
		return;
	for (int64_t i = 0; i < n; i++)
		s->f[1] += exp(p[i * stride] - top);
}

static void
logsumexp_f32(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const float *p = x;
	float e[FOLD_BLOCK], top = (float)s->f[0], most;

	(void)arg, (void)at;
	for (int64_t i = 0; i < n && stride != 1; i++)
		e[i] = p[i * stride];
	p = stride != 1 ? e : p;
	most = rt_greatest(p, n);
	top = most > top || most != most ? most : top;
	if (!logsumexp_top(s, (double)top))
		return;
	rt_exps(e, p, n, top);
	s->f[1] += sum_floats(n, e, 1);
}

/* ---- results ---------------------------------------------------------------------------------------------- */

static void
end_sum_f64(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg, (void)count;
	*(double *)r[0] = s->f[0] - s->f[0] == 0 ? s->f[0] + s->f[1] : s->f[0];
}

static void
end_sum_c128(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg, (void)count;
	*(RtC128 *)r[0] = (RtC128){ s->f[0] + s->f[1], s->f[2] + s->f[3] };
}

static void
end_i64(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg, (void)count;
	*(int64_t *)r[0] = s->i[0];
}

/* Computes a mean. `arg` is not null if sums are rounded to float, in which a mean may be infinite even if no element
 * is. */
static void
end_mean_f64(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	double *const mean = r[0];

	end_sum_f64(arg, s, count, r);
	*mean = (arg ? (double)(float)*mean : *mean) / (double)count;
}

static void
end_nanmean_f64(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)count;
	end_mean_f64(arg, s, s->i[0], r);
}

static void
end_mean_c128(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	end_sum_c128(arg, s, count, r);
	((RtC128 *)r[0])->re /= (double)count;
	((RtC128 *)r[0])->im /= (double)count;
}

static void
end_extreme_f64(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg, (void)count;
	*(double *)r[0] = s->f[0];
	*(int64_t *)r[1] = s->i[1];
}

static void
end_extreme_i64(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg, (void)count;
	*(int64_t *)r[0] = s->i[0];
	*(int64_t *)r[1] = s->i[1];
}

static void
end_index(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg, (void)count;
	*(int64_t *)r[0] = s->i[1];
}

static void
end_any(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg, (void)count;
	*(int64_t *)r[0] = s->i[0] != 0;
}

static void
end_all(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg;
	*(int64_t *)r[0] = s->i[0] == count;
}

static void
end_logsumexp(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	(void)arg;
	*(double *)r[0] = count == 0 || s->f[0] - s->f[0] != 0 ? s->f[0] : s->f[0] + log(s->f[1]);
}

/* ---- sum, mean, prod ---------------------------------------------------------------------------------------- */

/* Functions of a reduction. f32 is null if floats are folded as doubles. */
typedef struct Folds { FoldFn *f32, *f64, *i64, *c128; FoldEnd *end_f64, *end_i64, *end_c128; double one; } Folds;

static const Folds sums = { sum_f32, sum_f64, sum_i64, sum_c128, end_sum_f64, end_i64, end_sum_c128, 0 };
static const Folds nansums = { NULL, nansum_f64, sum_i64, sum_c128, end_sum_f64, end_i64, end_sum_c128, 0 };
static const Folds means = { sum_f32, sum_f64, 0, sum_c128, end_mean_f64, 0, end_mean_c128, 0 };
static const Folds nanmeans = { NULL, nansum_f64, 0, sum_c128, end_nanmean_f64, 0, end_mean_c128, 0 };
static const Folds prods = { prod_f32, prod_f64, prod_i64, prod_c128, end_sum_f64, end_i64, end_sum_c128, 1 };

/* Folds in the widest type of the tensor's kind. If dtype is None, integral types become int64. */
static int
fold_into(RtCx *cx, const Folds *f, IValue self, const IValue *over, IValue dtype, IValue *out)
{
	RtTensor *t = rt_tensor(self);
	RtDtype d = (RtDtype)t->dtype, result = rt_kind(d) == 'I' || d == RT_b8 ? RT_i64 : d;
	Reduce r = { .nout = 1 };

	if (!rt_is_none(dtype)) {
		result = rt_dtype_or(dtype, RT_NDTYPE);
		if (result != d && !(t = rt_temp(cx, rt_to_dtype(cx, t, result))))
			return RT_ERROR;
	}
	if ((rt_category(result) == 'E' && rt_not_stored_only(cx, f == &prods ? "prod_out_cpu" : "sum_cpu", result)) ||
	    reduce_mask(cx, over_dim(over), t->ndim, r.mask))
		return RT_ERROR;
	r.in = t;
	r.as = rt_is_complex(result) ? RT_c128 : rt_is_floating(result) ? RT_f64 : RT_i64;
	r.as_out[0] = r.as_out[1] = r.as;
	r.fold = r.as == RT_c128 ? f->c128 : r.as == RT_f64 ? f->f64 : f->i64;
	r.tile = r.fold == sum_f64 ? sum_tile_f64 : NULL;
	r.end = r.as == RT_c128 ? f->end_c128 : r.as == RT_f64 ? f->end_f64 : f->end_i64;
	r.arg = result == RT_f64 ? NULL : f;
	r.start.f[0] = f->one;
	r.start.i[0] = (int64_t)f->one;
	r.out[0] = reduce_result(cx, 0, t, r.mask, over_keepdim(over), result);
	RT_RESULT(cx, r.out[0], out[0]);
	if (r.as == RT_f64 && result != RT_f64 && f->f32) {
		r.as = RT_f32;
		r.fold = f->f32;
		r.tile = r.fold == sum_f32 ? sum_tile_f32 : NULL;
		r.whole = r.tile ? (f == &means ? whole_means : whole_sums) : NULL;
	}
	if (r.tile == sum_tile_f32 && t->dtype == RT_bf16) {
		r.as = RT_bf16;
		r.fold = sum_bf16;
		r.tile = sum_tile_bf16;
		r.whole = NULL;
	}
	reduce_run(cx, &r);
	return RT_OK;
}

KERNEL(sum, fold_into(cx, &sums, in[0], NULL, in[1], out))
KERNEL(sum_dim_IntList, fold_into(cx, &sums, in[0], in + 1, in[3], out))

int
rt_nansum(RtCx *cx, const IValue *in, IValue *out)
{
	if (rt_is_complex((RtDtype)in[0].u.t->dtype))
		return rt_raise(cx, "nansum does not support complex inputs");
	return fold_into(cx, &nansums, in[0], in + 1, in[3], out);
}

static int
mean(RtCx *cx, const Folds *f, IValue self, const IValue *over, IValue dtype, IValue *out)
{
	const char *name = f == &means ? "mean" : "nanmean";
	RtDtype d = rt_is_none(dtype) ? (RtDtype)self.u.t->dtype : rt_dtype_or(dtype, RT_NDTYPE);

	if (rt_kind(d) == 'I' || d == RT_b8) {
		if (!rt_is_none(dtype))
			return rt_raise(cx, "%s(): could not infer output dtype. Optional dtype must be either a "
					"floating point or complex dtype. Got: %s", name, rt_dtypes[d].brief);
		return rt_raise(cx, "%s(): could not infer output dtype. Input dtype must be either a floating point "
				"or complex dtype. Got: %s", name, rt_dtypes[d].brief);
	}
	return fold_into(cx, f, self, over, dtype, out);
}

int
rt_mean(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[0].u.t->quant)
		return rt_quantized->linear(cx, &(RtCall){ .kernel = rt_mean, .nin = 2, .nout = 1 }, RT_Q_MEAN,
					    rt_none(), in, out);
	return mean(cx, &means, in[0], NULL, in[1], out);
}

int
rt_mean_dim(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[0].u.t->quant)
		return rt_quantized->linear(cx, &(RtCall){ .kernel = rt_mean_dim, .nin = 4, .nout = 1 }, RT_Q_MEAN,
					    in[1], in, out);
	return mean(cx, &means, in[0], in + 1, in[3], out);
}

int
rt_nanmean(RtCx *cx, const IValue *in, IValue *out)
{
	const RtDtype d = (RtDtype)in[0].u.t->dtype;

	if (!rt_is_floating(d))
		return rt_raise(cx, "nanmean(): expected input to have floating point dtype but got %s",
				rt_dtypes[d].brief);
	return mean(cx, &nanmeans, in[0], in + 1, in[3], out);
}

KERNEL(prod, fold_into(cx, &prods, in[0], NULL, in[1], out))
KERNEL(prod_dim_int, fold_into(cx, &prods, in[0], in + 1, in[3], out))

/* ---- extremes --------------------------------------------------------------------------------------------------- */

static Reduce
extreme(RtTensor *t, bool max)
{
	Reduce r = { .in = t, .nout = 1 };

	r.as = rt_is_floating((RtDtype)t->dtype) ? RT_f64 : RT_i64;
	r.fold = r.as == RT_f64 ? (max ? max_f64 : min_f64) : max ? max_i64 : min_i64;
	r.end = r.as == RT_f64 ? end_extreme_f64 : end_extreme_i64;
	r.as_out[0] = r.as;
	r.as_out[1] = RT_i64;
	r.start.i[1] = -1;
	return r;
}

/* Raises an error for dtypes without an order, and for dtypes that PyTorch does not compare. */
static int
only_ordered(RtCx *cx, const char *name, const RtTensor *t)
{
	return rt_is_complex((RtDtype)t->dtype) || rt_is_stored_only((RtDtype)t->dtype)
		? rt_raise(cx, "\"%s_cpu\" not implemented for '%s'", name, rt_dtypes[t->dtype].brief) : RT_OK;
}

typedef struct Extreme { const char *name; bool max; int i; } Extreme;    /* operator, and the index of its result */

static int
extreme_dims(RtCx *cx, Extreme e, IValue self, const IValue *over, IValue *out)
{
	Reduce r = extreme(rt_tensor(self), e.max);

	if (only_ordered(cx, e.name, r.in) || reduce_mask(cx, over_dim(over), r.in->ndim, r.mask))
		return RT_ERROR;
	r.out[0] = reduce_result(cx, e.i, r.in, r.mask, over_keepdim(over), (RtDtype)r.in->dtype);
	RT_RESULT(cx, r.out[0], out[e.i]);
	if (rt_dtypes[r.in->dtype].compute == RT_f32) {
		r.as = RT_f32;
		r.fold = e.max ? max_f32 : min_f32;
	}
	reduce_run(cx, &r);
	return RT_OK;
}

KERNEL(amax,
	reduce_not_empty(cx, "amax()", in[0].u.t, in[1])
		|| extreme_dims(cx, (Extreme){ "amax", true, 0 }, in[0], in + 1, out))
KERNEL(amin,
	reduce_not_empty(cx, "amin()", in[0].u.t, in[1])
		|| extreme_dims(cx, (Extreme){ "amin", false, 0 }, in[0], in + 1, out))

int
rt_aminmax(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;

	if (rt_is_none(in[1]) && rt_numel(t) == 0)
		return rt_raise(cx, "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
			"identity.");
	if (reduce_not_empty(cx, "aminmax", t, in[1]))
		return RT_ERROR;
	if (!t->ndim && !rt_is_none(in[1]) && in[2].u.i)      /* 0-d with keepdim: one element */
		t = rt_temp(cx, rt_tensor_view(cx, t, 1, (int64_t[1]){ 1 }, (int64_t[1]){ 1 }, t->offset));
	return !t || extreme_dims(cx, (Extreme){ "aminmax", false, 0 }, rt_of(t), in + 1, out)
		|| extreme_dims(cx, (Extreme){ "aminmax", true, 1 }, rt_of(t), in + 1, out);
}

static int
extreme_full(RtCx *cx, const char *name, bool max, const IValue *in, IValue *out)
{
	return reduce_not_empty(cx, max ? "max()" : "min()", in[0].u.t, rt_none())
		|| extreme_dims(cx, (Extreme){ name, max, 0 }, in[0], NULL, out);
}

KERNEL(max, extreme_full(cx, "max", true, in, out))
KERNEL(min, extreme_full(cx, "min", false, in, out))

static int
extreme_dim(RtCx *cx, const char *name, bool max, const IValue *in, IValue *out)
{
	Reduce r = extreme(rt_tensor(in[0]), max);

	r.nout = 2;
	if (reduce_not_empty(cx, max ? "max()" : "min()", r.in, in[1]))
		return RT_ERROR;
	if (rt_is_complex((RtDtype)r.in->dtype))
		return rt_raise(cx, "%s(): does not support complex input", name);
	if ((rt_numel(r.in) && only_ordered(cx, name, r.in)) || reduce_mask(cx, in[1], r.in->ndim, r.mask))
		return RT_ERROR;
	r.out[0] = reduce_result(cx, 0, r.in, r.mask, in[2].u.i, (RtDtype)r.in->dtype);
	RT_PUT(r.out[0], out[0]);
	r.out[1] = reduce_result(cx, 1, r.in, r.mask, in[2].u.i, RT_i64);
	RT_RESULT(cx, r.out[1], out[1]);
	reduce_run(cx, &r);
	return RT_OK;
}

KERNEL(max_dim, extreme_dim(cx, "max", true, in, out))
KERNEL(min_dim, extreme_dim(cx, "min", false, in, out))

/* Whether the dim has one element. ATen then makes no comparison. */
static bool
is_alone(const RtTensor *t, IValue dim)
{
	const int64_t i = rt_is_none(dim) ? 0 : rt_integer(dim);

	return t->ndim && !rt_is_none(dim) && t->dims[i < 0 ? i + t->ndim : i] == 1;
}

static int
arg_extreme(RtCx *cx, const char *name, bool max, const IValue *in, IValue *out)
{
	Reduce r = extreme(rt_tensor(in[0]), max);

	r.end = end_index;
	r.as_out[0] = RT_i64;
	if (reduce_not_empty(cx, max ? "argmax()" : "argmin()", r.in, in[1]))
		return RT_ERROR;
	if (only_ordered(cx, name, r.in) || reduce_mask(cx, in[1], r.in->ndim, r.mask))
		return RT_ERROR;
	if (r.in->dtype == RT_b8 && !is_alone(r.in, in[1]))
		return rt_raise(cx, "\"%s_cpu\" not implemented for 'Bool'", name);
	r.out[0] = reduce_result(cx, 0, r.in, r.mask, in[2].u.i, RT_i64);
	RT_RESULT(cx, r.out[0], out[0]);
	reduce_run(cx, &r);
	return RT_OK;
}

KERNEL(argmax, arg_extreme(cx, "argmax", true, in, out))
KERNEL(argmin, arg_extreme(cx, "argmin", false, in, out))

/* ---- logic ------------------------------------------------------------------------------------------------------- */

/* result: type of the result, which is computed from the number of nonzero elements */
typedef struct Tally { FoldEnd *end; RtDtype result; } Tally;

/* Computes any, all and count_nonzero. any and all of uint8 return uint8. */
static int
count(RtCx *cx, Tally of, IValue self, const IValue *over, bool by_element, IValue *out)
{
	Reduce r = { .in = rt_tensor(self), .nout = 1, .as = RT_b8, .fold = count_b8, .end = of.end };

	r.as_out[0] = r.as_out[1] = RT_i64;
	if (of.result == RT_b8 && r.in->dtype == RT_u8)
		of.result = RT_u8;
	if (reduce_mask(cx, over_dim(over), r.in->ndim, r.mask))
		return RT_ERROR;
	if (by_element)
		memset(r.mask, 0, sizeof r.mask);
	r.out[0] = reduce_result(cx, 0, r.in, r.mask, over_keepdim(over), of.result);
	RT_RESULT(cx, r.out[0], out[0]);
	reduce_run(cx, &r);
	return RT_OK;
}

static const Tally any = { end_any, RT_b8 }, all = { end_all, RT_b8 }, nonzero = { end_i64, RT_i64 };

/* Computes them over a list of dims. None stands for all dims. An empty list stands for no dim: each element is reduced
 * by itself. */
static int
count_dims(RtCx *cx, Tally of, const IValue *in, IValue *out)
{
	return count(cx, of, in[0], in + 1, !rt_is_none(in[1]) && !in[1].u.list->n, out);
}

KERNEL(any, count(cx, any, in[0], NULL, false, out))
KERNEL(any_dim, count(cx, any, in[0], in + 1, false, out))
KERNEL(all, count(cx, all, in[0], NULL, false, out))
KERNEL(all_dim, count(cx, all, in[0], in + 1, false, out))
KERNEL(any_dims, count_dims(cx, any, in, out))
KERNEL(all_dims, count_dims(cx, all, in, out))

int
rt_count_nonzero(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue dims[2] = { in[1], rt_bool(false) };        /* tcc does not accept such an array in a call */
	IValue self = in[0];

	if (rt_is_none(in[1]) && rt_not_stored_only(cx, "nonzero_count_cpu", (RtDtype)self.u.t->dtype))
		return RT_ERROR;
	if (rt_is_complex((RtDtype)self.u.t->dtype) && CALL(cx, ne_Scalar, &self, self, rt_int(0)))
		return RT_ERROR;
	return count(cx, nonzero, self, dims, false, out);
}

KERNEL(count_nonzero_dim_IntList, rt_count_nonzero(cx, in, out))

int
rt_logsumexp(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	Reduce r = { .in = t, .nout = 1, .as = RT_f64, .fold = logsumexp_f64, .end = end_logsumexp };

	if (rt_is_floating((RtDtype)t->dtype) && t->dtype != RT_f64) {
		r.as = RT_f32;
		r.fold = logsumexp_f32;
	}
	r.as_out[0] = r.as_out[1] = RT_f64;
	r.start.f[0] = -1.0 / 0.0;
	if (rt_is_complex((RtDtype)t->dtype))
		return rt_raise(cx, "logsumexp(): Expected floating point type for result tensor, but got: %s",
				rt_dtypes[t->dtype].brief);
	if ((rt_category((RtDtype)t->dtype) == 'E' && rt_not_stored_only(cx, rt_numel(t) ? "max_values_cpu" :
		"exp_vml_cpu", (RtDtype)t->dtype)) || reduce_mask(cx, in[1], t->ndim, r.mask))
		return RT_ERROR;
	r.out[0] = reduce_result(cx, 0, t, r.mask, in[2].u.i, rt_to_floating((RtDtype)t->dtype));
	RT_RESULT(cx, r.out[0], out[0]);
	reduce_run(cx, &r);
	return RT_OK;
}

/* ---- gradients of reductions ------------------------------------------------------------------------------------- */

/* Returns a view that broadcasts a reduced gradient to the size of the reduced tensor. */
int
rt_prim_expand_reduced(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *g = rt_tensor(in[0]), *v;
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK] = { 0 };
	bool mask[RT_MAX_RANK];
	int n = rt_ints(cx, in[1], dims, RT_MAX_RANK), k = 0;

	if (n < 0 || reduce_mask(cx, in[2], n, mask))
		return RT_ERROR;
	for (int i = 0; i < n; i++) {
		if (!mask[i] && k < g->ndim && (g->dims[k] == dims[i] || g->dims[k] == 1))
			strides[i] = g->dims[k] == 1 ? 0 : g->strides[k];
		else if (!mask[i])
			return rt_raise(cx, "a gradient of rank %d does not fit its tensor", g->ndim);
		k += !mask[i] || in[3].u.i;
	}
	v = rt_tensor_view(cx, g, n, dims, strides, g->offset);
	RT_PUT(v, out[0]);
	return RT_OK;
}
