/* rt/ops/scan.c - running sums, products and extremes along a dim */
#include "lane.h"

RT_FAST

double exp(double);
double log1p(double);

typedef struct Scans { LaneFn *f64, *i64, *c128; LaneRow *row_f64, *row_i64; } Scans;

#define SCAN(name, T, start, step) \
	static void name(void *arg, int64_t n, const void *in, void *const *out) \
	{ \
		const T *x = in; \
		T *r = out[0], s = start; \
		(void)arg; \
		for (int64_t i = 0; i < n; i++) { \
			step; \
			r[i] = s; \
		} \
	} \
	static void name##_row(int64_t n, void *at, void *state, bool first) \
	{ \
		T *x = at, *last = state; \
		for (int64_t i = 0; i < n; i++) { \
			T s = first ? start : last[i]; \
			step; \
			x[i] = last[i] = s; \
		} \
	}
SCAN(cumsum_f64, double, 0, s += x[i])
SCAN(cumsum_i64, int64_t, 0, s = (int64_t)((uint64_t)s + (uint64_t)x[i]))
SCAN(cumprod_f64, double, 1, s *= x[i])
SCAN(cumprod_i64, int64_t, 1, s = (int64_t)((uint64_t)s * (uint64_t)x[i]))

static void
cumsum_c128(void *arg, int64_t n, const void *in, void *const *out)
{
	const RtC128 *x = in;
	RtC128 *r = out[0], s = { 0, 0 };

	(void)arg;
	for (int64_t i = 0; i < n; i++) {
		s.re += x[i].re, s.im += x[i].im;
		r[i] = s;
	}
}

static void
cumprod_c128(void *arg, int64_t n, const void *in, void *const *out)
{
	const RtC128 *x = in;
	RtC128 *r = out[0], s = { 1, 0 };

	(void)arg;
	for (int64_t i = 0; i < n; i++) {
		s = (RtC128){ s.re * x[i].re - s.im * x[i].im, s.re * x[i].im + s.im * x[i].re };
		r[i] = s;
	}
}

static void
logcumsumexp_f64(void *arg, int64_t n, const void *in, void *const *out)
{
	const double *x = in;
	double *r = out[0], s = -1.0 / 0.0;

	(void)arg;
	for (int64_t i = 0; i < n; i++) {
		double hi = s > x[i] || s != s ? s : x[i], lo = s > x[i] || s != s ? x[i] : s;
		s = hi != hi || lo != lo ? hi + lo : hi - hi != 0 ? hi : hi + log1p(exp(lo - hi));
		r[i] = s;
	}
}

/* Runs a scan along a dim. Casts to the dtype argument first. Without that argument, integral types become int64. */
static int
scan(RtCx *cx, const Scans *f, RtTensor *t, RtDtype result, IValue dim, IValue *out)
{
	Lanes l = { .nout = 1, .dim = rt_dim(cx, rt_integer(dim), t->ndim) };

	if (l.dim < 0 || (rt_category(result) == 'E' &&
			  rt_not_stored_only(cx, f->i64 == cumsum_i64 ? "cumsum_out_cpu" : "cumprod_out_cpu", result)))
		return RT_ERROR;
	if (result != t->dtype && !(t = rt_temp(cx, rt_to_dtype(cx, t, result))))
		return RT_ERROR;
	l.in = t;
	l.as = l.as_out[0] = rt_is_complex(result) ? RT_c128 : rt_is_floating(result) ? RT_f64 : RT_i64;
	l.fn = l.as == RT_c128 ? f->c128 : l.as == RT_f64 ? f->f64 : f->i64;
	l.row = l.as == RT_f64 ? f->row_f64 : l.as == RT_i64 ? f->row_i64 : NULL;
	if (!l.fn)
		return rt_raise(cx, "\"logcumsumexp_out_cpu\" not implemented for '%s'", rt_dtypes[result].brief);
	l.out[0] = rt_result(cx, 0, result, t->ndim, t->dims, 0);
	RT_RESULT(cx, l.out[0], out[0]);
	l.n_out[0] = t->ndim ? t->dims[l.dim] : 1;
	return lanes_run(cx, &l);
}

static RtDtype
sum_type(const RtTensor *t, IValue dtype)
{
	return !rt_is_none(dtype) ? rt_dtype_or(dtype, RT_NDTYPE) :
	       rt_kind((RtDtype)t->dtype) == 'I' || t->dtype == RT_b8 ? RT_i64 : (RtDtype)t->dtype;
}

static const Scans sums = { cumsum_f64, cumsum_i64, cumsum_c128, cumsum_f64_row, cumsum_i64_row };
static const Scans prods = { cumprod_f64, cumprod_i64, cumprod_c128, cumprod_f64_row, cumprod_i64_row };
static const Scans logs = { logcumsumexp_f64, 0, 0, 0, 0 };

KERNEL(cumsum, scan(cx, &sums, in[0].u.t, sum_type(in[0].u.t, in[2]), in[1], out))
KERNEL(cumprod, scan(cx, &prods, in[0].u.t, sum_type(in[0].u.t, in[2]), in[1], out))
KERNEL(logcumsumexp, scan(cx, &logs, in[0].u.t, (RtDtype)in[0].u.t->dtype, in[1], out))

/* ---- extremes: the last one of equal elements; a NaN stays ---------------------------------------------- */

#define CUMULATE(name, T, op) \
	static void name(void *arg, int64_t n, const void *in, void *const *out) \
	{ \
		const T *x = in; \
		T *r = out[0]; \
		int64_t *index = out[1], best = 0; \
		(void)arg; \
		for (int64_t i = 0; i < n; i++) { \
			if (x[i] op x[best] || x[i] != x[i]) \
				best = i; \
			r[i] = x[best], index[i] = best; \
		} \
	}
CUMULATE(cummax_f64, double, >=)
CUMULATE(cummax_i64, int64_t, >=)
CUMULATE(cummin_f64, double, <=)
CUMULATE(cummin_i64, int64_t, <=)

static int
cumulate(RtCx *cx, const char *name, LaneFn *const fn[2], const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	const bool asked = t->ndim && rt_numel(t);               /* otherwise dim and type are not checked */
	Lanes l = { .in = t, .nout = 2, .dim = asked ? rt_dim(cx, rt_integer(in[1]), t->ndim) : 0 };

	if (l.dim < 0)
		return RT_ERROR;
	if (asked && (rt_is_complex((RtDtype)t->dtype) || rt_is_stored_only((RtDtype)t->dtype)))
		return rt_raise(cx, "\"%s_cpu\" not implemented for '%s'", name, rt_dtypes[t->dtype].brief);
	l.as = l.as_out[0] = rt_is_floating((RtDtype)t->dtype) ? RT_f64 : RT_i64;
	l.as_out[1] = RT_i64;
	l.fn = fn[l.as != RT_f64];
	l.out[0] = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, t->dims, 0);
	RT_PUT(l.out[0], out[0]);
	l.out[1] = rt_result(cx, 1, RT_i64, t->ndim, t->dims, 0);
	RT_RESULT(cx, l.out[1], out[1]);
	l.n_out[0] = l.n_out[1] = t->ndim ? t->dims[l.dim] : 1;
	return lanes_run(cx, &l);
}

KERNEL(cummax, cumulate(cx, "cummax", (LaneFn *const[2]){ cummax_f64, cummax_i64 }, in, out))
KERNEL(cummin, cumulate(cx, "cummin", (LaneFn *const[2]){ cummin_f64, cummin_i64 }, in, out))
