/* rt/ops/tmath.h - what the value column of pointwise rows may call, in C and in CUDA
 *
 * libm's names work on float, double and complex alike: tanh(x) is tanhf(x) for a float.  CUDA's overloads do that by
 * themselves.  Own functions begin with t_.  Special functions are computed in double for both floats.  T is
 * the type that the row is computed in.  Includes no system header.
 */
#ifndef RT_OPS_TMATH_H
#define RT_OPS_TMATH_H

/* Of numbers of all types; a complex number is nan or infinite when a part is. */
#undef isnan
#undef isinf
#undef isfinite
#define isnan(x)    ((x) != (x))
#define isfinite(x) ((x) - (x) == 0)
#define isinf(x)    (!isnan(x) && !isfinite(x))
#define T_INF       (1.0 / 0.0)
#define T_NAN       (0.0 / 0.0)
#define T_PI        3.14159265358979323846

#ifdef __CUDACC__
#define TMATH static __device__ __forceinline__
#else
#define TMATH static inline
#if defined __GNUC__ && !defined __TINYC__
#define TM_INLINE static inline __attribute__((always_inline))   /* a call that is left makes a loop one of scalars */
#endif

#define TM_FUNCTIONS1(X) \
	X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(ceil) X(cos) X(cosh) X(erf) X(erfc) X(exp) X(exp2) \
	X(expm1) X(fabs) X(floor) X(j0) X(j1) X(lgamma) X(log) X(log10) X(log1p) X(log2) X(rint) X(sin) X(sinh) \
	X(sqrt) X(tan) X(tanh) X(trunc) X(y0) X(y1)
#define TM_FUNCTIONS2(X) X(atan2) X(copysign) X(fmod) X(hypot) X(nextafter) X(pow)
#define TM_DECLARE1(fn) double fn(double); float fn##f(float);
#define TM_DECLARE2(fn) double fn(double, double); float fn##f(float, float);
TM_FUNCTIONS1(TM_DECLARE1)
TM_FUNCTIONS2(TM_DECLARE2)

#define TM_F(fn, x)     _Generic((x), float: fn##f, default: fn)(x)
#define TM_F2(fn, x, y) _Generic((x), float: fn##f, default: fn)((x), (y))

#ifdef __TINYC__
#define TM_FC(fn, x) TM_F(fn, x)
#else
#define TM_COMPLEX1(X) \
	X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cos) X(cosh) X(exp) X(log) X(sin) X(sinh) \
	X(sqrt) X(tan) X(tanh)
#define TM_DECLAREC(fn) double _Complex c##fn(double _Complex); float _Complex c##fn##f(float _Complex);
TM_COMPLEX1(TM_DECLAREC)
double cabs(double _Complex); float cabsf(float _Complex);
double carg(double _Complex); float cargf(float _Complex);
double _Complex conj(double _Complex); float _Complex conjf(float _Complex);
double _Complex cpow(double _Complex, double _Complex);
#define TM_FC(fn, x) _Generic((x), float: fn##f, float _Complex: c##fn##f, double _Complex: c##fn, default: fn)(x)
#endif

#define acos(x)  TM_FC(acos, x)
#define acosh(x) TM_FC(acosh, x)
#define asin(x)  TM_FC(asin, x)
#define asinh(x) TM_FC(asinh, x)
#define atan(x)  TM_FC(atan, x)
#define atanh(x) TM_FC(atanh, x)
#define cos(x)   TM_FC(cos, x)
#define cosh(x)  TM_FC(cosh, x)
#define exp(x)   TM_FC(exp, x)
#define log(x)   TM_FC(log, x)
#define sin(x)   TM_FC(sin, x)
#define sinh(x)  TM_FC(sinh, x)
#define sqrt(x)  TM_FC(sqrt, x)
#define tan(x)   TM_FC(tan, x)
#define tanh(x)  TM_FC(tanh, x)
#define ceil(x)   TM_F(ceil, x)
#define erf(x)    TM_F(erf, x)
#define erfc(x)   TM_F(erfc, x)
#define exp2(x)   TM_F(exp2, x)
#define expm1(x)  TM_F(expm1, x)
#define fabs(x)   TM_F(fabs, x)
#define floor(x)  TM_F(floor, x)
#define j0(x)     TM_F(j0, x)
#define j1(x)     TM_F(j1, x)
#define lgamma(x) TM_F(lgamma, x)
#define log10(x)  TM_F(log10, x)
#define log1p(x)  TM_F(log1p, x)
#define log2(x)   TM_F(log2, x)
#define rint(x)   TM_F(rint, x)
#define trunc(x)  TM_F(trunc, x)
#define y0(x)     TM_F(y0, x)
#define y1(x)     TM_F(y1, x)
#define atan2(x, y)     TM_F2(atan2, x, y)
#define copysign(x, y)  TM_F2(copysign, x, y)
#define fmod(x, y)      TM_F2(fmod, x, y)
#define hypot(x, y)     TM_F2(hypot, x, y)
#define nextafter(x, y) TM_F2(nextafter, x, y)
#endif

#ifndef TM_INLINE
#define TM_INLINE TMATH
#endif

/* ---- order: a NaN wins, as in ATen ------------------------------------------------------------------ */

#define t_max(x, y) ((x) > (y) || isnan(x) ? (x) : (y))
#define t_min(x, y) ((x) < (y) || isnan(x) ? (x) : (y))
#define t_gelu(x)          t_gelu_by_erf(x)
#define t_gelu_by_erf(x)   ((T)0.5 * (x) * (1 + erf((x) * (T)0.70710678118654752440)))
#define t_gelu_tanh(x)     t_gelu_by_tanh(x)
#define t_gelu_by_tanh(x)  ((T)0.5 * (x) * \
	(1 + tanh((T)0.79788456080286535588 * ((x) + (T)0.044715 * (x) * (x) * (x)))))
#define t_exp_near(x)      exp(x)        /* for 1 + exp(x) where 1e38 is as good as more */
#define t_clamp(x, lo, hi) t_upper_of(((x) < (lo) ? (lo) : (x)), hi)
#define t_upper_of(x, hi) ((x) > (hi) ? (hi) : (x))
#define t_relu(x)   ((x) < 0 ? 0 : (x))
#define t_lower(x, lo) ((x) < (lo) || isnan(lo) ? (lo) : (x))
#define t_upper(x, hi) ((x) > (hi) || isnan(hi) ? (hi) : (x))
#define t_sign(x)   (((x) > 0) - ((x) < 0))

/* f(x) of floats; integers as they are.  T says which. */
#define T_IS_INT     ((T)1 / 2 == 0)
#define t_same(f, x) (T_IS_INT ? (x) : (T)f(x))
#define t_signbit(x) (T_IS_INT ? (x) < 0 : copysign((T)1, (x)) < 0)

/* ---- integers ------------------------------------------------------------------------------------------ */

enum { TM_U8, TM_I8, TM_I16, TM_I32, TM_I64, TM_F16, TM_BF16 = 15 };       /* as RtDtype has them */

/* |x| of an integer of so many bits: that of the least one is itself. */
TMATH int64_t t_wrapped_abs(int64_t x, int bits)
{
	return x >= 0 || (uint64_t)x << (64 - bits) == (uint64_t)1 << 63 ? x : -x;
}

TMATH int64_t t_gcd(int64_t x, int64_t y, int dtype)
{
	const int bits = dtype < TM_I16 ? 8 : 8 << (dtype - TM_I8);

	x = t_wrapped_abs(x, bits), y = t_wrapped_abs(y, bits);
	while (x) {
		int64_t r = x == -1 ? 0 : y % x;
		y = x, x = r;
	}
	return y;
}

/* ATen multiplies integers of less than 32 bits as those of 32. */
TMATH int64_t t_lcm(int64_t x, int64_t y, int dtype)
{
	int64_t g = t_gcd(x, y, dtype), r;

	if (g == 0)
		return 0;
	r = (int64_t)((uint64_t)(g == -1 ? -(uint64_t)x : (uint64_t)(x / g)) * (uint64_t)y);
	return dtype == TM_I64 ? t_wrapped_abs(r, 64) : t_wrapped_abs((int32_t)r, 32);
}

/* x ** y, modulo 2 ** 64; a negative power is the integral part of the fraction. */
TMATH int64_t t_ipow(int64_t x, int64_t y)
{
	int64_t r = 1;

	if (y < 0)
		return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
	for (; y; y >>= 1, x *= x)
		if (y & 1)
			r *= x;
	return r;
}

/* Shifts by the width or more give what ATen's do on x86: by the count modulo 64, or 32 for what C computes as an int.
 * Of a float: by a power of two. */
#define T_COUNT(n, dtype) ((int64_t)(n) & ((dtype) == TM_I64 ? 63 : 31))
#define t_shl(x, n, dtype) ((T)((uint64_t)(x) << T_COUNT(n, dtype)))
#define t_shr(x, n, dtype) ((T)((int64_t)(x) >> T_COUNT(n, dtype)))
#define t_shl_any(x, n, dtype) (T_IS_INT ? t_shl(x, n, dtype) : (T)((x) * exp2(n)))
#define t_shr_any(x, n, dtype) (T_IS_INT ? t_shr(x, n, dtype) : (T)((x) / exp2(n)))

/* Division of integers that never traps; rounds down, or to zero. */
TMATH int64_t t_idiv(int64_t x, int64_t y)   { return y == 0 ? 0 : y == -1 ? -x : x / y; }
TMATH int64_t t_imod(int64_t x, int64_t y)   { return y == 0 || y == -1 ? 0 : x % y; }
TM_INLINE int64_t t_idivfloor_of(int64_t x, int64_t y, int64_t r) { return t_idiv(x, y) - (r && (x < 0) != (y < 0)); }
TMATH int64_t t_idivfloor(int64_t x, int64_t y) { return t_idivfloor_of(x, y, t_imod(x, y)); }
TM_INLINE int64_t t_irem_of(int64_t r, int64_t y) { return r && (r < 0) != (y < 0) ? r + y : r; }
TMATH int64_t t_irem(int64_t x, int64_t y)   { return t_irem_of(t_imod(x, y), y); }

/* ---- division of floats: floor and remainder as Python's, with ATen's infinities -------------------------- */

/* _of: r is fmod(x, y). */
#define TM_DIVISION(F, suffix) \
	TM_INLINE F t_rem_of##suffix(F r, F y) { return r != 0 && (y < 0) != (r < 0) ? r + y : r; } \
	TMATH F t_rem##suffix(F x, F y) { return t_rem_of##suffix(fmod(x, y), y); } \
	TM_INLINE F t_divfloor_of##suffix(F x, F y, F r) \
	{ \
		F q, f; \
		if (y == 0) \
			return x / y; \
		q = (x - r) / y; \
		if (r != 0 && (y < 0) != (r < 0)) \
			q -= 1; \
		if (q == 0) \
			return copysign((F)0, x / y); \
		f = floor(q); \
		return q - f > (F)0.5 ? f + 1 : f; \
	} \
	TMATH F t_divfloor##suffix(F x, F y) { return t_divfloor_of##suffix(x, y, y == 0 ? 0 : fmod(x, y)); } \
	TMATH F t_log_sigmoid##suffix(F x) { return (x < 0 ? x : 0) - log1p(exp(-fabs(x))); } \
	TMATH F t_logaddexp##suffix(F x, F y) \
	{ \
		F m = t_max(x, y); \
		return isinf(x) && x == y ? x : m + log1p(exp(-fabs(x - y))); \
	} \
	TMATH F t_logaddexp2##suffix(F x, F y) \
	{ \
		F m = t_max(x, y); \
		return isinf(x) && x == y ? x : m + log1p(exp2(-fabs(x - y))) * (F)1.4426950408889634; \
	} \
	TMATH F t_sinc##suffix(F x) { return x == 0 ? 1 : sin((F)T_PI * x) / ((F)T_PI * x); } \
	TMATH F t_logit##suffix(F x) { return log(x / (1 - x)); }
TM_DIVISION(float, f)
TM_DIVISION(double, d)

/* The next one of bfloat16, of float or of double. */
TMATH float t_nextafter_f(float x, float y, int dtype)
{
	union { float f; uint32_t i; } u = { x }, to = { y };

	if (dtype != TM_BF16 || isnan(x) || isnan(y) || u.i == to.i)
		return nextafter(x, y);
	if (x == 0)
		u.i = y == 0 ? to.i : (to.i & 0x80000000u) | 0x10000;
	else
		u.i += fabs(x) > fabs(y) || (u.i ^ to.i) >> 31 ? -0x10000 : 0x10000;
	return u.f;
}
TMATH double t_nextafter_d(double x, double y, int dtype)  { (void)dtype; return nextafter(x, y); }
#ifdef __CUDACC__
TMATH float  t_nextafter(float x, float y, int dtype)    { return t_nextafter_f(x, y, dtype); }
TMATH double t_nextafter(double x, double y, int dtype)  { return t_nextafter_d(x, y, dtype); }
#else
#define t_nextafter(x, y, dtype) _Generic((x), float: t_nextafter_f, default: t_nextafter_d)((x), (y), (dtype))
#endif

/* A power as ATen has it where the exponent is one number: these are roots and products, but not of float16. */
#define TM_POWER(F, suffix, power) \
	TMATH F t_power##suffix(F x, F y, int dtype) \
	{ \
		if (y == (F)0.5 && dtype != TM_F16) \
			return sqrt(x); \
		if (y == (F)-0.5 && dtype != TM_F16) \
			return 1 / sqrt(x); \
		return y == 2 ? x * x : y == 3 ? x * x * x : y == -1 ? 1 / x : y == -2 ? 1 / (x * x) : power(x, y); \
	}
TM_POWER(float, _f, powf)
TM_POWER(double, _d, (pow))
TMATH int64_t t_power_i(int64_t x, int64_t y, int dtype)  { (void)dtype; return t_ipow(x, y); }

/* ---- special functions, in double ----------------------------------------------------------------------------- */

/* psi: recurrence up to 10, then the asymptotic series; reflected below 0. */
TMATH double t_psi(double x)
{
	double shift = 0, y, p;

	if (x == 0)
		return copysign(T_INF, -x);
	if (x < 0) {
		double frac = x - trunc(x);
		if (frac == 0 || isnan(frac))
			return T_NAN;
		shift = -T_PI / tan(T_PI * frac);
		x = 1 - x;
	}
	if (isinf(x))
		return x;
	for (; x < 10; x += 1)
		shift -= 1 / x;
	y = 1 / (x * x);
	p = y * (1.0 / 12 -
		 y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));
	return shift + log(x) - 0.5 / x - p;
}

/* Hurwitz zeta for q > 0, x > 1: ten terms and the Euler-Maclaurin rest. */
TMATH double t_zeta_positive(double x, double q)
{
	/* Bernoulli numbers B(2k) / (2k)! */
	const double b[8] = { 1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
		-691.0 / 1307674368000.0, 1.0 / 74724249600.0, -3617.0 / 10670622842880000.0 };
	double s = 0, w, f = x, p;

	for (int i = 0; i < 10; i++, q += 1) {
		p = pow(q, -x);
		s += p;
		if (p < s * 1e-18)
			return s;
	}
	w = pow(q, -x);
	s += w * q / (x - 1) + 0.5 * w;
	w /= q;
	for (int k = 0; k < 8; k++) {
		s += f * w * b[k];
		f *= (x + 2 * k + 1) * (x + 2 * k + 2);
		w /= q * q;
	}
	return s;
}

TMATH double t_zeta_real(double x, double q)
{
	double m, below;

	if (x == 1)
		return T_INF;
	if (x < 1 || isnan(q))
		return T_NAN;
	if (q <= 0 && q == floor(q))
		return T_INF;                      /* of NaN, too */
	if (isnan(x))
		return T_NAN;
	if (isinf(x))
		return q < 1 ? T_INF : q == 1 ? 1 : T_NAN;
	if (q > 0)
		return t_zeta_positive(x, q);
	if (x != floor(x))
		return T_NAN;
	m = ceil(-q);
	below = t_zeta_positive(x, 1 - m - q) - t_zeta_positive(x, 1 - q);
	return (fmod(x, 2) != 0 ? -below : below) + t_zeta_positive(x, q + m);
}

/* single: pi x as the product of two floats, on which all depends beside a pole */
TMATH double t_trigamma_real(double x, bool single)
{
	double s;

	if (x >= 0.5)
		return isinf(x) ? 0 : t_zeta_positive(2, x);
	s = sin(single ? (double)((float)T_PI * (float)x) : T_PI * x);
	return T_PI * T_PI / (s * s) - t_zeta_positive(2, 1 - x);
}

TMATH double t_polygamma_real(double n, double x, bool single)
{
	double f = 1;

	if (n == 0)
		return t_psi(x);
	if (n == 1)
		return t_trigamma_real(x, single);
	f = exp(lgamma(n + 1));
	return (fmod(n, 2) == 0 ? -f : f) * t_zeta_real(n + 1, x);
}

/* Bessel functions of the first kind J_n and the second Y_n, n = 0 or 1, for x > 0: Cephes' rational forms, up to 5
 * around the first two zeros of J, beyond as amplitude and phase.  Three denominators lack their leading term z^7 or
 * z^8, as in PyTorch: its results are 1e-7 beside the true ones near 5, and so are these. */
TMATH double t_ratio(const double *p, int np, const double *q, int nq, double z)
{
	double a = 0, b = 0;

	for (int i = 0; i < np; i++)
		a = a * z + p[i];
	for (int i = 0; i < nq; i++)
		b = b * z + q[i];
	return a / b;
}

TMATH double t_bessel_low(int n, int second, double x)
{
	const double rp[2][4] = {
		{ -4794432209.7820177, 1956174919465.5657, -249248344360967.72, 9708622510473064.0 },
		{ -899971225.70555937, 452228297998.19403, -72749424522181.828, 3682957328638529.0 }
	};
	const double rq[2][8] = {
		{ 499.56314715265103, 173785.40167637469, 48440965.833996207, 11185553704.535683,
		  2112775201154.8921, 310518229857422.56, 31812195594320496.0,
		  1.7108629408104315e+18 },
		{ 620.83647811805429, 256987.25675774884, 83514679.143194929, 22151159547.979252,
		  4749141220799.9141, 784369607876235.88, 89522233618462736.0,
		  5.3227862033268009e+18 }
	};
	const double yp[2][8] = {
		{ 15592.436785523574, -14663929.590397161, 5435264770.5187654, -982136065717.9115,
		  87590639439536.703, -3466283033847297.0, 44273326857256984.0, -18495080043698668.0 },
		{ 0.0, 0.0, 1263204747.9017804, -647355876379.16028, 114509511541823.73,
		  -8127702555013251.0, 2.0243947571359491e+17, -7.7887719626595008e+17 }
	};
	const double yq[2][8] = {
		{ 0.0, 1041.2835366425984, 626107.330137135, 268919633.39381415, 86400248710.393494,
		  20297961275010.555, 3171577528429750.5, 2.5059625617265306e+17 },
		{ 594.30159234612825, 235564.09294306856, 73481194.445972174, 18760131610.870617,
		  3882312774962.3857, 620557727146953.75, 68714108735530048.0,
		  3.9727060811656064e+18 }
	};
	double z = x * x, first = n ? 14.6819706421238932572 : 5.78318596294678452118;
	double other = n ? 49.2184563216946036703 : 30.4712623436620863991, j, y;

	j = (z - first) * (z - other) * t_ratio(rp[n], 4, rq[n], 8, z) * (n ? x : 1);
	if (!second)
		return j;
	y = t_ratio(yp[n], 8, yq[n], 8, z);
	return n ? x * y + 2 / T_PI * (j * log(x) - 1 / x) : y + 2 / T_PI * log(x) * j;
}

TMATH double t_bessel_high(int n, int second, double x)
{
	const double pp[2][7] = {
		{ 0.00079693672929734706, 0.08283523921074408, 1.2395337164641429,
		  5.4472500305876874, 8.7471650019981695, 5.3032403823539491, 1.0 },
		{ 0.00076212561620817314, 0.073139705694091756, 1.1271960812968493,
		  5.1120795114680764, 8.424045901417724, 5.2145159868236153, 1.0 }
	};
	const double pq[2][7] = {
		{ 0.00092440881055886367, 0.08562884743544745, 1.2535274390105895,
		  5.4709774033041709, 8.7619088323706951, 5.3060528823539466, 1.0 },
		{ 0.00057132312807254865, 0.068845590875449544, 1.105142326340617,
		  5.0738638612860152, 8.3998555432760416, 5.2098284868236187, 1.0 }
	};
	const double qp[2][8] = {
		{ -0.011366383889846916, -1.2825271867050931, -19.553954425773597,
		  -93.206015212376826, -177.68116798048806, -147.07750515495118, -51.410532676659933,
		  -6.0501435060072852 },
		{ 0.051086259475017659, 4.9821387295123341, 75.823828413254532, 366.7796093601508,
		  710.85630499892613, 597.48961240061362, 211.68875710057213, 25.207020585802372 }
	};
	const double qq[2][7] = {
		{ 64.317825611817796, 856.43002597698057, 3882.4018360540163, 7240.4677419565251,
		  5930.7270118731694, 2062.0933166032783, 242.0057402402914 },
		{ 74.237327703567516, 1056.4488603826283, 4986.4105833765361, 9562.3189240475622,
		  7997.0416044735066, 2826.1927851763908, 336.0936078106983 }
	};
	double z = 25 / (x * x), t = x - (n ? 0.75 : 0.25) * T_PI, p, q;

	p = t_ratio(pp[n], 7, pq[n], 7, z);
	q = 5 / x * t_ratio(qp[n], 8, qq[n], 7, z);
	return (second ? p * sin(t) + q * cos(t) : p * cos(t) - q * sin(t)) * sqrt(2 / T_PI) / sqrt(x);
}

TMATH double t_bessel(int n, int second, double x)
{
	double ax = fabs(x), v;

	if (second && !(x > 0))
		return x == 0 ? -1.0 / 0.0 : 0.0 / 0.0;
	if (n && x == 0)
		return x;
	v = ax <= 5 ? t_bessel_low(n, second, ax) : t_bessel_high(n, second, ax);
	return n && x < 0 ? -v : v;
}

/* Modified Bessel functions: exp(-|x|) I_n(x), n = 0 or 1: power series, then the asymptotic one. */
TMATH double t_bessel_ie(int n, double x)
{
	double ax = fabs(x), s = 1, term = 1;

	if (isnan(x))
		return x;
	if (ax <= 22) {
		double q = ax * ax / 4;
		for (int k = 1; k < 100 && term > s * 1e-18; k++) {
			term *= q / ((double)k * (k + n));
			s += term;
		}
		s *= exp(-ax);
		return !n ? s : x < 0 ? s * x / 2 : s * ax / 2;
	}
	for (int k = 1; k < 40; k++) {
		double f = (4.0 * n * n - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8 * ax), next = -term * f;
		if (fabs(next) > fabs(term) || fabs(next) < 1e-18)
			break;
		term = next;
		s += term;
	}
	s /= sqrt(2 * T_PI) * sqrt(ax);
	return n && x < 0 ? -s : s;
}

/* exp(x) K_v(x): the asymptotic series for large x; else the trapezoidal rule on the integral of
 * exp(x - x cosh(t)) cosh(v t), which converges like exp(-1/h). */
TMATH double t_bessel_ke(double v, double x)
{
	double s = 0.5, h = 0.15625, term = 1;

	if (isnan(x) || x < 0)
		return T_NAN;
	if (x == 0)
		return T_INF;
	if (v == 1 && x < 1e-100)              /* sums of squares would overflow */
		return 1 / x;
	if (x > 20) {
		s = 1;
		for (int k = 1; k < 40 && fabs(term) > 1e-18; k++) {
			term *= (4 * v * v - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8 * x);
			s += term;
		}
		return s * sqrt(T_PI / (2 * x));
	}
	for (int k = 1; k < 8000; k++) {
		double t = k * h, half = sinh(t / 2), e = exp(-2 * x * half * half + v * t);
		s += e * (1 + exp(-2 * v * t)) / 2;
		if (e < s * 1e-19)
			break;
	}
	return s * h;
}

/* exp(x * x) erfc(x): a continued fraction for large x. */
TMATH double t_erfcx_real(double x)
{
	double f;

	if (x < 8) {
		double e = exp(x * x), hi = (double)(float)x, lo = (x - hi) * (x + hi);
		if (x < -26.7)
			return T_INF;
		e = exp(hi * hi) * exp(lo);
		return e * erfc(x);
	}
	if (x > 1e8)
		return 0.56418958354775628695 / x;
	f = x;
	for (int k = 60; k > 0; k--)
		f = x + k / 2.0 / f;
	return 0.56418958354775628695 / f;
}

TMATH double t_log_ndtr_real(double x)
{
	return x < -1 ? log(t_erfcx_real(-x * 0.70710678118654752440) / 2) - x * x / 2
		: log1p(-erfc(x * 0.70710678118654752440) / 2);
}

/* x with log(ndtr(x)) = lp, for lp <= log(1/2): Newton's steps on the logarithm, which is nearly a parabola. */
TMATH double t_ndtri_log(double lp)
{
	double x = lp > -0.7 ? (exp(lp) - 0.5) * 2.5066282746310002 : -sqrt(-2 * lp - log(-2 * lp + 1) * 0.9) + 0.3;

	for (int i = 0; i < 12; i++) {
		double f = t_log_ndtr_real(x) - lp;
		/* d/dx log ndtr = phi / ndtr */
		double r = x < -1 ? 0.79788456080286535588 / t_erfcx_real(-x * 0.70710678118654752440)
			: exp(-x * x / 2) * 0.39894228040143267794 / (1 - erfc(x * 0.70710678118654752440) / 2);
		double step = f / (r - f * (-x - r) / 2);
		x -= step;
		if (fabs(step) <= 1e-16 * (1 + fabs(x)))
			break;
	}
	return x;
}

TMATH double t_ndtri_real(double p)
{
	if (!(p >= 0 && p <= 1))
		return T_NAN;
	if (p == 0 || p == 1)
		return p == 0 ? -T_INF : T_INF;
	return p <= 0.5 ? t_ndtri_log(log(p)) : -t_ndtri_log(log1p(-p));
}

/* A start within a few percent, then Halley's steps; the tail works on erfc. */
TMATH double t_erfinv_real(double y)
{
	double a = fabs(y), x, l;

	if (!(a <= 1))
		return T_NAN;
	if (a == 1)
		return copysign(T_INF, y);
	if (a < 1e-8)
		return y * 0.88622692545275801365;
	l = log1p(-a * a);
	x = 4.3307467508 + l / 2;
	x = sqrt(sqrt(x * x - l / 0.147) - x);
	for (int i = 0; i < 6; i++) {
		double f = a < 0.5 ? erf(x) - a : (1 - a) - erfc(x), u = f / (1.12837916709551257390 * exp(-x * x));
		x -= u / (1 + x * u);
	}
	return copysign(x, y);
}

/* Regularised incomplete gamma functions: the lower by its series, the upper by Lentz's continued fraction. */
TMATH double t_gamma_series(double a, double x)
{
	double term = 1, s = term;

	for (int k = 1; k < 5000 && fabs(term) > fabs(s) * 1e-17; k++) {
		term *= x / (a + k);
		s += term;
	}
	return s * exp(a * log(x) - x - lgamma(a + 1));
}

TMATH double t_gamma_fraction(double a, double x)
{
	double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;

	for (int k = 1; k < 5000; k++) {
		double an = -k * (k - a), step;
		b += 2;
		d = 1 / (an * d + b);
		c = b + an / c;
		step = c * d;
		h *= step;
		if (fabs(step - 1) < 1e-16)
			break;
	}
	return h * exp(a * log(x) - x - lgamma(a));
}

/* For large a and x near it: two terms of Temme's uniform expansion. */
TMATH double t_gamma_uniform(double a, double x, int upper)
{
	double m = (x - a) / a, eta, c0, c1, rest;

	if (fabs(m) > 1e-2)
		eta = copysign(sqrt(2 * (m - log1p(m))), m);
	else
		eta = m * (1 + m * (-1.0 / 3 +
				    m * (7.0 / 36 + m * (-73.0 / 540 + m * (1331.0 / 12960 - m * 22409.0 / 272160)))));
	c0 = fabs(m) > 1e-2 ? 1 / m - 1 / eta
			    : -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta / 2835)));
	c1 = -1.0 / 540 - eta / 288;
	rest = exp(-a / 2 * eta * eta) / sqrt(2 * T_PI) / sqrt(a) * (c0 + c1 / a);
	return upper ? erfc(eta * sqrt(a / 2)) / 2 + rest : erfc(-eta * sqrt(a / 2)) / 2 - rest;
}

TMATH double t_igamma_real(double a, double x, int upper)
{
	double lower;

	if (a < 0 || x < 0 || (a == 0 && !(x > 0)) || (isinf(a) && isinf(x)))
		return T_NAN;
	if (a == 0)
		return upper ? 0 : 1;
	if (x == 0 || isinf(a))
		return upper ? 1 : 0;
	if (isinf(x))
		return upper ? 0 : 1;
	if (isnan(a) || isnan(x))
		return T_NAN;
	if (a > 1e5 && fabs(x - a) < a / 4)
		return t_gamma_uniform(a, x, upper);
	if (x < a + 1) {
		lower = t_gamma_series(a, x);
		return upper ? 1 - lower : lower;
	}
	lower = t_gamma_fraction(a, x);
	return upper ? lower : 1 - lower;
}

/* Ai: for x > 0 by K of order 1/3; near 0 and down to -7.5 by its series; below by the oscillating asymptotic one. */
TMATH double t_airy_ai_real(double x)
{
	double z = 2.0 / 3 * fabs(x) * sqrt(fabs(x)), f = 1, g = x, tf = 1, tg = x;

	if (isinf(x))
		return T_NAN;
	if (x > 1)
		return sqrt(x / 3) / T_PI * t_bessel_ke(1.0 / 3, z) * exp(-z);
	if (x < -7.5) {
		double u = 1, p = 1, q = 0, phase = z + T_PI / 4;
		for (int k = 1; k < 30; k++) {
			double next = u * (6.0 * k - 5) * (6.0 * k - 1) / (72.0 * k * z);
			if (next > u || next < 1e-18)
				break;
			u = next;
			switch (k & 3) {
			case 1: q += u; break;
			case 2: p -= u; break;
			case 3: q -= u; break;
			case 0: p += u; break;
			}
		}
		return (sin(phase) * p - cos(phase) * q) / (sqrt(T_PI) * sqrt(sqrt(-x)));
	}
	for (int k = 1; k < 80; k++) {
		tf *= x * x * x / ((3.0 * k - 1) * (3.0 * k));
		tg *= x * x * x / ((3.0 * k) * (3.0 * k + 1));
		f += tf, g += tg;
	}
	return 0.35502805388781723926 * f - 0.25881940379280679840 * g;
}

/* Orthogonal polynomials by p(k+1) = (x * mul(k) - ...) recurrences; what overflows stays infinite. */
TMATH double t_chebyshev(double x, double n, double p1)
{
	double p0 = 1, p;
	int64_t count = (int64_t)(n <= -1 ? -1 : n > 1e9 ? 1e9 : n);

	if (count < 0 || count == 0)
		return count < 0 ? 0 : 1;
	for (int64_t k = 1; k < count; k++) {
		p = 2 * x * p1 - p0;
		p0 = p1, p1 = p;
		if (!isfinite(p))
			break;
	}
	return p1;
}

TMATH double t_chebyshev_t(double x, double n)
{
	if (n > 6 && fabs(x) < 1)
		return cos((double)(int64_t)n * acos(x));
	return t_chebyshev(x, n, x);
}

/* U, V, W: sin, cos and sin over the angle's parts when |x| < 1 and n is large. */
TMATH double t_chebyshev_u(double x, double n)
{
	double t = acos(x);

	if (n > 8 && fabs(x) < 1 && sin(t) != 0)
		return sin(((double)(int64_t)n + 1) * t) / sin(t);
	return t_chebyshev(x, n, 2 * x);
}

TMATH double t_chebyshev_v(double x, double n)
{
	double t = acos(x);

	if (n > 8 && fabs(x) < 1)
		return cos(((double)(int64_t)n + 0.5) * t) / cos(t / 2);
	return t_chebyshev(x, n, 2 * x - 1);
}

TMATH double t_chebyshev_w(double x, double n)
{
	double t = acos(x);

	if (n > 8 && fabs(x) < 1)
		return sin(((double)(int64_t)n + 0.5) * t) / sin(t / 2);
	return t_chebyshev(x, n, 2 * x + 1);
}

TMATH double t_recurrence(int kind, double x, double n)
{
	double p0 = 1, p1 = kind == 0 ? 2 * x : kind == 2 ? 1 - x : x, p;
	int64_t count = (int64_t)(n <= -1 ? -1 : n > 1e6 ? 1e6 : n);

	if (count < 0 || count == 0)
		return count < 0 ? 0 : 1;
	for (int64_t k = 1; k < count; k++) {
		switch (kind) {
		case 0:  p = 2 * x * p1 - 2.0 * k * p0; break;                             /* Hermite H */
		case 1:  p = x * p1 - (double)k * p0; break;                               /* Hermite He */
		case 2:  p = ((2.0 * k + 1 - x) * p1 - (double)k * p0) / (k + 1.0); break; /* Laguerre */
		default: p = ((2.0 * k + 1) * x * p1 - (double)k * p0) / (k + 1.0);        /* Legendre */
		}
		p0 = p1, p1 = p;
		if (!isfinite(p))
			break;
	}
	return p1;
}

#define t_digamma(x)       ((T)t_psi((double)(x)))
#define t_zeta(x, q)       ((T)t_zeta_real((double)(x), (double)(q)))
#define t_polygamma(n, x)  ((T)t_polygamma_real((double)(n), (double)(x), sizeof(T) == 4))
#define t_bessel_j0(x)     ((T)t_bessel(0, 0, (double)(x)))
#define t_bessel_j1(x)     ((T)t_bessel(1, 0, (double)(x)))
#define t_bessel_y0(x)     ((T)t_bessel(0, 1, (double)(x)))
#define t_bessel_y1(x)     ((T)t_bessel(1, 1, (double)(x)))
#define t_i0(x)            ((T)t_bessel_ie(0, (double)(x)) * exp(fabs(x)))
#define t_i0e(x)           ((T)t_bessel_ie(0, (double)(x)))
#define t_i1(x)            ((T)t_bessel_ie(1, (double)(x)) * exp(fabs(x)))
#define t_i1e(x)           ((T)t_bessel_ie(1, (double)(x)))
#define t_k0(x)            ((T)(t_bessel_ke(0, (double)(x)) * exp(-(double)(x))))
#define t_k0e(x)           ((T)t_bessel_ke(0, (double)(x)))
#define t_k1(x)            ((T)(t_bessel_ke(1, (double)(x)) * exp(-(double)(x))))
#define t_k1e(x)           ((T)t_bessel_ke(1, (double)(x)))
#define t_erfcx(x)         ((T)t_erfcx_real((double)(x)))
#define t_erfinv(x)        ((T)t_erfinv_real((double)(x)))
#define t_ndtri(x)         ((T)t_ndtri_real((double)(x)))
#define t_log_ndtr(x)      ((T)t_log_ndtr_real((double)(x)))
#define t_airy_ai(x)       ((T)t_airy_ai_real((double)(x)))
#define t_gammainc(a, x)   ((T)t_igamma_real((double)(a), (double)(x), 0))
#define t_gammaincc(a, x)  ((T)t_igamma_real((double)(a), (double)(x), 1))

/* ---- names for all types ----------------------------------------------------------------------------------------- */

TMATH int64_t t_iabs(int64_t x)  { return x < 0 ? -x : x; }
TMATH bool    t_babs(bool x)     { return x; }
TMATH int64_t t_inot(int64_t x)  { return ~x; }
TMATH bool    t_bnot(bool x)     { return !x; }
TMATH float   t_angle_f(float x)   { return isnan(x) ? x : x < 0 ? (float)T_PI : 0; }
TMATH double  t_angle_d(double x)  { return isnan(x) ? x : x < 0 ? T_PI : 0; }
TMATH float   t_truncdivf(float x, float y)   { return trunc(x / y); }
TMATH double  t_truncdiv(double x, double y)  { return trunc(x / y); }

#ifdef __CUDACC__
#define TM_OVERLOAD1(name, f, d) \
	TMATH float name(float x) { return f(x); } \
	TMATH double name(double x) { return d(x); }
#define TM_OVERLOAD2(name, f, d, i) \
	TMATH float name(float x, float y) { return f(x, y); } \
	TMATH double name(double x, double y) { return d(x, y); } \
	TMATH int64_t name(int64_t x, int64_t y) { return i(x, y); }
TM_OVERLOAD1(t_log_sigmoid, t_log_sigmoidf, t_log_sigmoidd)
TM_OVERLOAD1(t_sinc, t_sincf, t_sincd)
TM_OVERLOAD1(t_logit, t_logitf, t_logitd)
TM_OVERLOAD2(t_remainder, t_remf, t_remd, t_irem)
TM_OVERLOAD2(t_fmod, fmodf, fmod, t_imod)
TM_OVERLOAD2(t_div_floor, t_divfloorf, t_divfloord, t_idivfloor)
TM_OVERLOAD2(t_div_trunc, t_truncdivf, t_truncdiv, t_idiv)
TM_OVERLOAD2(t_pow, powf, pow, t_ipow)
TMATH float   t_logaddexp(float x, float y)    { return t_logaddexpf(x, y); }
TMATH double  t_logaddexp(double x, double y)  { return t_logaddexpd(x, y); }
TMATH float   t_logaddexp2(float x, float y)   { return t_logaddexp2f(x, y); }
TMATH double  t_logaddexp2(double x, double y) { return t_logaddexp2d(x, y); }
TMATH float   t_abs(float x)   { return fabsf(x); }
TMATH double  t_abs(double x)  { return fabs(x); }
TMATH int64_t t_abs(int64_t x) { return t_iabs(x); }
TMATH bool    t_abs(bool x)    { return x; }
TMATH int64_t t_not(int64_t x) { return ~x; }
TMATH bool    t_not(bool x)    { return !x; }
#else
#define t_logaddexp(x, y)  _Generic((x), float: t_logaddexpf, default: t_logaddexpd)((x), (y))
#define t_logaddexp2(x, y) _Generic((x), float: t_logaddexp2f, default: t_logaddexp2d)((x), (y))
#define t_log_sigmoid(x)   _Generic((x), float: t_log_sigmoidf, default: t_log_sigmoidd)(x)
#define t_logit(x)         _Generic((x), float: t_logitf, default: t_logitd)(x)
#define t_remainder(x, y)  _Generic((x), float: t_remf, int64_t: t_irem, default: t_remd)((x), (y))
#define t_fmod(x, y)       _Generic((x), float: fmodf, int64_t: t_imod, default: (fmod))((x), (y))
#define t_div_floor(x, y)  _Generic((x), float: t_divfloorf, int64_t: t_idivfloor, default: t_divfloord)((x), (y))
#define t_div_trunc(x, y)  _Generic((x), float: t_truncdivf, int64_t: t_idiv, default: t_truncdiv)((x), (y))
#define t_not(x)           _Generic((x), bool: t_bnot, default: t_inot)(x)
#endif

/* ---- complex: not in CUDA, not with tcc -------------------------------------------------------------------------- */

#if !defined __CUDACC__ && !defined __TINYC__

typedef float _Complex  TmC64;
typedef double _Complex TmC128;
#define TM_COMPLEX(C, F, s) \
	TMATH C tc_make##s(F re, F im) { C z; __real__ z = re, __imag__ z = im; return z; } \
	TMATH C tc_sgn##s(C z) { F m = cabs##s(z); return m == 0 ? 0 : tc_make##s(__real__ z / m, __imag__ z / m); } \
	TMATH C tc_scale##s(C z, F k) { return tc_make##s(__real__ z * k, __imag__ z * k); } \
	TMATH C tc_log2##s(C z)  { return tc_scale##s(clog##s(z), (F)1.4426950408889634074); } \
	TMATH C tc_log10##s(C z) { return tc_scale##s(clog##s(z), (F)0.43429448190325182765); } \
	TMATH C tc_log1p##s(C z) \
	{ \
		F x = __real__ z, y = __imag__ z, m = x * (2 + x) + y * y; \
		return tc_make##s(m < 1 ? log1p(m) / 2 : log(hypot(1 + x, y)), atan2(y, 1 + x)); \
	} \
	TMATH C tc_exp2##s(C z) { return cexp##s(tc_scale##s(z, (F)0.69314718055994530942)); } \
	TMATH C tc_sinc##s(C z) { C p = tc_scale##s(z, (F)T_PI); return z == 0 ? 1 : csin##s(p) / p; } \
	TMATH C tc_pow##s(C z, C w) \
	{ \
		if (w == 0) \
			return 1; \
		if (w == 2) \
			return z * z; \
		return z == 0 ? tc_make##s(__real__ w == 0 && __imag__ w == 0 ? 1 : __real__ w > 0 ? 0 : (F)T_NAN, \
			__real__ w > 0 ? 0 : (F)T_NAN) : (C)cpow(z, w); \
	} \
	TMATH C tc_power##s(C z, C w, int dtype) \
	{ \
		(void)dtype; \
		if (w == 0.5f || w == -0.5f) \
			return __real__ w > 0 ? csqrt##s(z) : 1 / csqrt##s(z); \
		return w == 1 ? z : w == 3 ? z * z * z : w == -1 ? 1 / z : w == -2 ? 1 / (z * z) : tc_pow##s(z, w); \
	}
TM_COMPLEX(TmC64, float, f)
TM_COMPLEX(TmC128, double, )

#define TM_ALL(x, f, d, i, b, cf, cd) _Generic((x), float: f, int64_t: i, bool: b, TmC64: cf, TmC128: cd, default: d)
#define t_abs(x)    TM_ALL(x, fabsf, (fabs), t_iabs, t_babs, cabsf, cabs)(x)
#define t_angle(x)  _Generic((x), float: t_angle_f, TmC64: cargf, TmC128: carg, default: t_angle_d)(x)
#define t_sgn(x)    _Generic((x), TmC64: tc_sgnf((TmC64)(x)), TmC128: tc_sgn(x), default: t_sign(__real__ (x)))
#define t_conj(x)   _Generic((x), TmC64: conjf((TmC64)(x)), TmC128: conj((TmC128)(x)), default: (x))
#define t_isinf(x)  (isinf(__real__ (x)) || isinf(__imag__ (x)))
#define t_im(x)     _Generic((x), TmC64: __imag__ (x), TmC128: __imag__ (x), default: 0)
#define t_nearer(w) /* lerp: its start */ \
	_Generic((w), TmC64: cabsf((TmC64)(w)) < 0.5f, TmC128: cabs((TmC128)(w)) < 0.5, default: __real__ (w) < 0.5)
#define t_log2(x)   TM_ALL(x, log2f, (log2), (log2), (log2), tc_log2f, tc_log2)(x)
#define t_log10(x)  TM_ALL(x, log10f, (log10), (log10), (log10), tc_log10f, tc_log10)(x)
#define t_log1p(x)  TM_ALL(x, log1pf, (log1p), (log1p), (log1p), tc_log1pf, tc_log1p)(x)
#define t_exp2(x)   TM_ALL(x, exp2f, (exp2), (exp2), (exp2), tc_exp2f, tc_exp2)(x)
#define t_sinc(x)   TM_ALL(x, t_sincf, t_sincd, t_sincd, t_sincd, tc_sincf, tc_sinc)(x)
#define t_pow(x, y) TM_ALL(x, powf, (pow), t_ipow, t_ipow, tc_powf, tc_pow)((x), (y))
#define t_power(x, y, dtype) \
	TM_ALL(x, t_power_f, t_power_d, t_power_i, t_power_i, tc_powerf, tc_power)((x), (y), (dtype))
#else
#define t_sgn(x)    t_sign(x)
#define t_conj(x)   (x)
#define t_isinf(x)  isinf(x)
#define t_im(x)     0
#define t_nearer(w) ((w) < 0.5)
#endif

#ifdef __TINYC__
#define t_angle(x)  _Generic((x), float: t_angle_f, default: t_angle_d)(x)
#define t_abs(x)    _Generic((x), float: fabsf, int64_t: t_iabs, bool: t_babs, default: (fabs))(x)
#define t_log2(x)   log2(x)
#define t_log10(x)  log10(x)
#define t_log1p(x)  log1p(x)
#define t_exp2(x)   exp2(x)
#define t_sinc(x)   _Generic((x), float: t_sincf, default: t_sincd)(x)
#define t_pow(x, y) _Generic((x), float: powf, int64_t: t_ipow, default: (pow))((x), (y))
#define t_power(x, y, dtype) _Generic((x), float: t_power_f, int64_t: t_power_i, default: t_power_d)((x), (y), (dtype))
#elif defined __CUDACC__
TMATH float   t_power(float x, float y, int dtype)      { return t_power_f(x, y, dtype); }
TMATH double  t_power(double x, double y, int dtype)    { return t_power_d(x, y, dtype); }
TMATH int64_t t_power(int64_t x, int64_t y, int dtype)  { return t_power_i(x, y, dtype); }
TM_OVERLOAD1(t_angle, t_angle_f, t_angle_d)
#define t_log2(x)   log2(x)
#define t_log10(x)  log10(x)
#define t_log1p(x)  log1p(x)
#define t_exp2(x)   exp2(x)
#endif

#endif
