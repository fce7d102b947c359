/* rt/ops/moment.c - norms and variances over dims
 *
 * Sums are in double. Terms of a norm, and its sum, are rounded to the type of the result, in which powers become
 * infinite or zero as in PyTorch. Variances merge blocks by Chan's formula: each block's mean and squared deviations
 * are exact in double, so no large mean cancels them. */
#include "quant.h"
#include "reduce.h"

RT_FAST

double fabs(double);
double hypot(double, double);
double pow(double, double);
double sqrt(double);

/* ---- norms --------------------------------------------------------------------------------------------- */

enum { NORM_COUNT, NORM_SUM, NORM_SQUARE, NORM_MAX, NORM_MIN, NORM_POWER };

typedef struct Norm { int kind; double p; bool complex, wide; } Norm;

/* Rounds to PyTorch's compute type, which is double for doubles and otherwise float. */
static double
round_term(const Norm *norm, double x)
{
	return norm->wide ? x : (double)(float)x;
}

static double
magnitude(const Norm *norm, const double *x, int64_t i)
{
	return norm->complex ? round_term(norm, hypot(x[2 * i], x[2 * i + 1])) : fabs(x[i]);
}

/* Defines the sum of squares of n contiguous elements. Each square is rounded to their type. */
#define SQUARES(name, T) \
	static double \
	name(const T *p, int64_t n) \
	{ \
		double sum[16] = { 0 }, r = 0; \
		int64_t i = 0; \
		\
		for (; i + 16 <= n; i += 16) \
			RT_UNROLL \
			for (int k = 0; k < 16; k++) \
				sum[k] += (double)(T)(p[i + k] * p[i + k]); \
		for (int k = 0; k < 16; k++) \
			r += sum[k]; \
		for (; i < n; i++) \
			r += (double)(T)(p[i] * p[i]); \
		return r; \
	}
SQUARES(squares_f32, float)
SQUARES(squares_f64, double)

static void
norm_fold_f32(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const float *p = x;
	float near[FOLD_BLOCK];

	(void)arg, (void)at;
	for (int64_t i = 0; i < n && stride != 1; i++)
		near[i] = p[i * stride];
	s->f[0] += squares_f32(stride == 1 ? p : near, n);
}

static void
norm_fold(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const Norm *norm = arg;
	double r = s->f[0], v;

	(void)at;
	if (norm->kind == NORM_SQUARE && !norm->complex && norm->wide && stride == 1) {
		s->f[0] += squares_f64(x, n);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		v = magnitude(norm, x, i * stride);
		switch (norm->kind) {
		case NORM_COUNT:  r += v != 0; break;
		case NORM_SUM:    r += v; break;
		case NORM_SQUARE: r += round_term(norm, v * v); break;
		case NORM_MAX:    r = v > r || v != v ? v : r; break;
		case NORM_MIN:    r = v < r || v != v ? v : r; break;
		default:          r += round_term(norm, pow(v, norm->p));
		}
	}
	s->f[0] = r;
}

static void
norm_end(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	const Norm *norm = arg;
	double v = round_term(norm, s->f[0]);

	if (norm->kind == NORM_SQUARE)
		v = sqrt(v);
	if (norm->kind == NORM_POWER)
		v = pow(v, 1 / norm->p);
	*(double *)r[0] = count ? v : 0;
}

static Norm
norm_of(double p, RtDtype d)
{
	const double inf = 1.0 / 0.0;

	return (Norm){ p == 0 ? NORM_COUNT : p == 1 ? NORM_SUM : p == 2 ? NORM_SQUARE : p == inf ? NORM_MAX
		: p == -inf ? NORM_MIN : NORM_POWER, p, rt_is_complex(d), rt_real_type(d) == RT_f64 };
}

static int
norm(RtCx *cx, IValue self, IValue p, const IValue *over, IValue dtype, IValue *out)
{
	RtTensor *t = rt_tensor(self);
	Norm nm;
	Reduce r = { .nout = 1, .fold = norm_fold, .end = norm_end, .arg = &nm };

	if (!rt_is_none(dtype) && rt_integer(dtype) != t->dtype
			&& !(t = rt_temp(cx, rt_to_dtype(cx, t, rt_dtype_or(dtype, RT_NDTYPE)))))
		return RT_ERROR;
	if (!rt_is_floating((RtDtype)t->dtype) && !rt_is_complex((RtDtype)t->dtype))
		return rt_raise(cx, "norm(): input dtype should be either floating point or complex. Got %s instead.",
				rt_dtypes[t->dtype].brief);
	if (reduce_mask(cx, over_dim(over), t->ndim, r.mask))
		return RT_ERROR;
	nm = norm_of(rt_number_or(p, 2), (RtDtype)t->dtype);
	r.in = t;
	r.as = nm.complex ? RT_c128 : RT_f64;
	if (nm.kind == NORM_SQUARE && !nm.complex && !nm.wide) {
		r.as = RT_f32;
		r.fold = norm_fold_f32;
	}
	r.as_out[0] = r.as_out[1] = RT_f64;
	r.start.f[0] = nm.kind == NORM_MIN ? 1.0 / 0.0 : 0;
	r.out[0] = reduce_result(cx, 0, t, r.mask, over_keepdim(over), rt_real_type((RtDtype)t->dtype));
	RT_RESULT(cx, r.out[0], out[0]);
	reduce_run(cx, &r);
	return RT_OK;
}

/* Raises an error for orders for which the norm of an empty tensor is undefined. The older norm() returns 0 for
 * them. */
static int
vector_norm_has_value(RtCx *cx, const RtTensor *t, double p, IValue dim)
{
	int64_t d[RT_MAX_RANK];
	int n = rt_is_none(dim) ? 0 : rt_ints(cx, dim, d, RT_MAX_RANK);

	if (n < 0)
		return RT_ERROR;
	if (rt_numel(t) || !(p < 0 || p == 1.0 / 0.0))
		return RT_OK;
	if (n == 0)
		return rt_raise(cx, "linalg.vector_norm cannot compute the %g norm on an empty tensor because the "
				"operation does not have an identity", p);
	for (int i = 0; i < n; i++) {
		int k = rt_dim(cx, d[i], t->ndim);
		if (k < 0)
			return RT_ERROR;
		if (t->dims[k] == 0)
			return rt_raise(cx, "linalg.vector_norm cannot compute the %g norm on the dimension "
					"%lldbecause this dimension is empty and the operation does not have an "
					"identity", p, (long long)d[i]);
	}
	return RT_OK;
}

/* Computes norms of 8-bit floats. ATen only supports norms of at most one element each, which are magnitudes. */
static int
norm_of_ones(RtCx *cx, const IValue *in, RtDtype as, IValue *out)
{
	RtTensor *t = in[0].u.t, *wide = rt_temp(cx, rt_to_dtype(cx, t, RT_f32));
	const RtDtype d = (RtDtype)t->dtype;
	IValue y;

	if (as != d)
		return rt_no_promotion(cx, d, as);
	if (!wide || CALL(cx, linalg_vector_norm, &y, rt_of(wide), rt_int(rt_number_or(in[1], 2) != 0), in[2], in[3],
			  rt_none()))
		return RT_ERROR;
	if (rt_numel(t) && rt_numel(t) != rt_numel(y.u.t))
		return rt_not_stored_only(cx, "norm_cpu", d);
	return rt_return(cx, rt_temp(cx, rt_to_dtype(cx, y.u.t, d)), out);
}

int
rt_linalg_vector_norm(RtCx *cx, const IValue *in, IValue *out)
{
	const RtDtype d = (RtDtype)in[0].u.t->dtype, as = rt_dtype_or(in[4], d);

	const bool whole = rt_is_integral(d, true) || rt_category(d) == 'U';

	if (!whole && vector_norm_has_value(cx, in[0].u.t, rt_number_or(in[1], 2), in[2]))
		return RT_ERROR;
	if (whole || rt_is_integral(as, true) || rt_category(as) == 'U')
		return rt_raise(cx, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
				rt_dtypes[whole ? d : as].brief);
	return rt_category(d) == 'E' ? norm_of_ones(cx, in, as, out) : norm(cx, in[0], in[1], in + 2, in[4], out);
}

KERNEL(norm_Scalar, norm(cx, in[0], in[1], NULL, rt_none(), out))
KERNEL(norm_ScalarOpt_dtype, norm(cx, in[0], in[1], NULL, in[2], out))
KERNEL(norm_ScalarOpt_dim, norm(cx, in[0], in[1], in + 2, rt_none(), out))
KERNEL(norm_ScalarOpt_dim_dtype, norm(cx, in[0], in[1], in + 2, in[4], out))

/* ---- variance, standard deviation, with or without the mean ------------------------------------------------- */

typedef struct Var {
	double correction;
	bool   root, mean_too, complex, single;          /* single: whether the type is complex64 */
	RtCall call;                                     /* the kernel itself */
} Var;

/* Merges n elements into a variance: f[0] is the mean, f[1] the sum of squared deviations of i[0] elements. f[2] and
 * f[3] are those of the imaginary parts. */
static void
var_merge(double *f, int64_t count, int64_t n, const double *x, int64_t stride)
{
	double sum = 0, mean, m2 = 0, delta;

	for (int64_t i = 0; i < n; i++)
		sum += x[i * stride] - x[0];
	mean = x[0] + sum / (double)n;                               /* exact if all elements are equal */
	/* the result is infinite or NaN, as in Welford's algorithm */
	for (int64_t i = 0; i < n && !(sum - sum == 0); i++)
		mean = i ? mean + (x[i * stride] - mean) / (double)(i + 1) : x[0];
	for (int64_t i = 0; i < n; i++)
		m2 += (x[i * stride] - mean) * (x[i * stride] - mean);
	delta = mean - f[0];
	f[0] = count ? f[0] + delta * ((double)n / (double)(count + n)) : mean;
	f[1] += count ? m2 + delta * delta * ((double)count * (double)n / (double)(count + n)) : m2;
}

static void
var_fold(const void *arg, FoldState *s, int64_t n, const void *x, int64_t stride, int64_t at)
{
	const Var *v = arg;

	(void)at;
	var_merge(s->f, s->i[0], n, x, v->complex ? 2 * stride : stride);
	if (v->complex)
		var_merge(s->f + 2, s->i[0], n, (const double *)x + 1, 2 * stride);
	s->i[0] += n;
}

static void
var_end(const void *arg, const FoldState *s, int64_t count, void *const *r)
{
	const Var *v = arg;
	double left = (double)count - v->correction, var = (s->f[1] + s->f[3]) / (left > 0 ? left : 0);
	double nan = 0.0 / 0.0;

	var = v->single ? (double)(float)var : var;
	*(double *)r[0] = v->root ? sqrt(var) : var;
	if (v->mean_too && v->complex)
		*(RtC128 *)r[1] = count ? (RtC128){ s->f[0], s->f[2] } : (RtC128){ nan, nan };
	else if (v->mean_too)
		*(double *)r[1] = count ? s->f[0] : nan;
}

static int
var(RtCx *cx, Var v, const IValue *in, IValue dim, bool keepdim, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	RtDtype d = (RtDtype)t->dtype;
	Reduce r = { .in = t, .nout = v.mean_too ? 2 : 1, .fold = var_fold, .end = var_end, .arg = &v };

	if (t->quant && v.root && !v.mean_too)
		return rt_quantized->through(cx, &v.call, in, out);
	if (!rt_is_floating(d) && !rt_is_complex(d))
		return rt_raise(cx, v.mean_too ? "%s_mean only support floating point and complex dtypes"
				: "%sstd and var only support floating point and complex dtypes",
				v.mean_too ? v.root ? "std" : "var" : "");
	if (reduce_mask(cx, dim, t->ndim, r.mask))
		return RT_ERROR;
	v.complex = rt_is_complex(d);
	v.single = v.complex && d != RT_c128;
	r.as = r.as_out[1] = v.complex ? RT_c128 : RT_f64;
	r.as_out[0] = RT_f64;
	r.out[0] = reduce_result(cx, 0, t, r.mask, keepdim, rt_real_type(d));
	RT_PUT(r.out[0], out[0]);
	if (v.mean_too) {
		r.out[1] = reduce_result(cx, 1, t, r.mask, keepdim, d);
		RT_PUT(r.out[1], out[1]);
	}
	if (!cx->meta)
		reduce_run(cx, &r);
	return RT_OK;
}

/* Overloads: (self, unbiased), (self, dim, unbiased, keepdim), (self, dim, correction, keepdim). */
#define VARIANCE(name, root, mean) \
	int rt_##name(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		const Var v = { in[1].u.i ? 1 : 0, root, mean, false, false, { rt_##name, 0, 2, 1 } }; \
		return var(cx, v, in, rt_none(), false, out); \
	} \
	int rt_##name##_dim(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		const Var v = { in[2].u.i ? 1 : 0, root, mean, false, false, { rt_##name##_dim, 0, 4, 1 } }; \
		return var(cx, v, in, in[1], in[3].u.i, out); \
	} \
	int rt_##name##_correction(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		const RtCall self = { rt_##name##_correction, 0, 4, 1 }; \
		const Var v = { rt_number_or(in[2], 1), root, mean, false, false, self }; \
		return var(cx, v, in, in[1], in[3].u.i, out); \
	}
VARIANCE(var, false, false)
VARIANCE(std, true, false)
VARIANCE(var_mean, false, true)
VARIANCE(std_mean, true, true)
