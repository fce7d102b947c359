/* rt/ops/tmath.h - functions that the value expressions of pointwise operators may call, in C and in CUDA
 *
 * libm's names work on float, double and complex alike: tanh(x) is tanhf(x) for a float. In CUDA, overloads do that.
 * Names of other functions begin with t_. Special functions are in tspecial.h, coordinates of samples in tsample.h. T
 * is the type in which the operator is computed. This file includes no system header. */
#ifndef RT_OPS_TMATH_H
#define RT_OPS_TMATH_H

/* These accept numbers of all types. A complex number is NaN or infinite if a part is. */
#undef isnan
#undef isinf
#undef isfinite
#define isnan(x)    ((x) != (x))
#define isfinite(x) ((x) - (x) == 0)
#define isinf(x)    (!isnan(x) && !isfinite(x))
#define T_INF       (1.0 / 0.0)
#define T_NAN       (0.0 / 0.0)
#define T_PI        3.14159265358979323846

#ifdef __GNUC__                          /* kernels define T where a function of this file needs it */
#pragma GCC diagnostic ignored "-Wunused-local-typedefs"
#endif

#ifdef __CUDACC__
#define TMATH static __device__ __forceinline__
#define T_TABLE const
#else
#define TMATH static inline
#define T_TABLE static const             /* in its own section, which the linker drops if nothing reads it */
#if defined __GNUC__ && !defined __TINYC__
/* A call that is not inlined keeps a loop from being vectorized. */
#define TM_INLINE static inline __attribute__((always_inline))
#ifndef __clang__
#define T_UNROLL _Pragma("GCC unroll 32")
#endif
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

#ifndef T_UNROLL
#define T_UNROLL
#endif
#ifndef TM_INLINE
#define TM_INLINE TMATH
#endif

/* ---- order: NaN is returned if there is one, as in ATen ---------------------------------------------------------- */

#define t_max(x, y) ((x) > (y) || isnan(x) ? (x) : (y))
#define t_min(x, y) ((x) < (y) || isnan(x) ? (x) : (y))
#define t_gelu(x)          t_gelu_by_erf(x)
#define t_gelu_by_erf(x)   ((T)0.5 * (x) * (1 + erf((x) * (T)0.70710678118654752440)))
#define t_gelu_tanh(x)     t_gelu_by_tanh(x)
#define t_gelu_by_tanh(x)  ((T)0.5 * (x) * \
	(1 + tanh((T)0.79788456080286535588 * ((x) + (T)0.044715 * (x) * (x) * (x)))))
#define t_exp_near(x)      exp(x)        /* for 1 + exp(x), where 1e38 is as good as larger results */
/* exp(x) for x <= 0 or NaN. Returns 0 below the smallest normal number, because products with subnormal numbers are
 * slow. */
#define t_exp_normal(x)    ((x) < (sizeof(x) == 4 ? -87 : -708) ? 0 : exp(x))
#define t_clamp(x, lo, hi) t_upper_of(((x) < (lo) ? (lo) : (x)), hi)
#define t_upper_of(x, hi) ((x) > (hi) ? (hi) : (x))
#define t_relu(x)   ((x) < 0 ? 0 : (x))
#define t_lower(x, lo) ((x) < (lo) || isnan(lo) ? (lo) : (x))
#define t_upper(x, hi) ((x) > (hi) || isnan(hi) ? (hi) : (x))
#define t_within(x, lo, hi) ((x) > (lo) ? ((x) < (hi) ? (x) : (hi)) : (lo))      /* NaN becomes lo */
#define t_sign(x)   (((x) > 0) - ((x) < 0))

/* f(x) for floats. Integers are not changed. T decides. */
#define T_IS_INT     ((T)1 / 2 == 0)
#define t_same(f, x) (T_IS_INT ? (x) : (T)f(x))
#define t_signbit(x) (T_IS_INT ? (x) < 0 : copysign((T)1, (x)) < 0)

/* ---- integers ------------------------------------------------------------------------------------------ */

enum { TM_U8, TM_I8, TM_I16, TM_I32, TM_I64, TM_F16, TM_BF16 = 15 };       /* values of RtDtype */

/* |x| of an integer of `bits` bits. For the least integer it is that integer itself. */
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

/* Least common multiple. ATen multiplies integers of less than 32 bits in 32 bits. */
TMATH int64_t t_lcm(int64_t x, int64_t y, int dtype)
{
	int64_t g = t_gcd(x, y, dtype), r;

	if (g == 0)
		return 0;
	r = (int64_t)((uint64_t)(g == -1 ? -(uint64_t)x : (uint64_t)(x / g)) * (uint64_t)y);
	return dtype == TM_I64 ? t_wrapped_abs(r, 64) : t_wrapped_abs((int32_t)r, 32);
}

/* x ** y modulo 2 ** 64. For a negative y, the fraction rounded to zero. */
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

/* Shifts. By a negative count, or by the width or more, they leave zeros or copies of the sign, as in PyTorch 2.
 * PyTorch 1.13 shifted by the count modulo 32 or 64. A float is multiplied or divided by a power of two. */
#define T_SHIFTS(n) ((uint64_t)(n) < 8 * sizeof(T))
#define t_shl(x, n) ((T)(T_SHIFTS(n) ? (uint64_t)(x) << ((n) & 63) : 0))
#define t_shr(x, n) ((T)((int64_t)(x) >> (T_SHIFTS(n) ? (n) & 63 : 63)))
#define t_shl_any(x, n) (T_IS_INT ? t_shl((int64_t)(x), (int64_t)(n)) : (T)((x) * exp2(n)))
#define t_shr_any(x, n) (T_IS_INT ? t_shr((int64_t)(x), (int64_t)(n)) : (T)((x) / exp2(n)))

/* Divisions of integers that never trap. They round down, or towards zero. */
TMATH int64_t t_idiv(int64_t x, int64_t y)   { return y == 0 ? 0 : y == -1 ? -x : x / y; }
TMATH int64_t t_imod(int64_t x, int64_t y)   { return y == 0 || y == -1 ? 0 : x % y; }
TM_INLINE int64_t t_idivfloor_of(int64_t x, int64_t y, int64_t r) { return t_idiv(x, y) - (r && (x < 0) != (y < 0)); }
TMATH int64_t t_idivfloor(int64_t x, int64_t y) { return t_idivfloor_of(x, y, t_imod(x, y)); }
TM_INLINE int64_t t_irem_of(int64_t r, int64_t y) { return r && (r < 0) != (y < 0) ? r + y : r; }
TMATH int64_t t_irem(int64_t x, int64_t y)   { return t_irem_of(t_imod(x, y), y); }

/* ---- division of floats: floor and remainder as in Python, infinities as in ATen --------------------------------- */

/* In functions with _of, r is fmod(x, y). */
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
	TMATH F t_softplus##suffix(F x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); } \
	TMATH F t_mish##suffix(F x) \
	{ \
		const F e = exp(-fabs(x)), n = x < 0 ? e * (e + 2) : 1 + 2 * e; \
		return x * (n / (n + (x < 0 ? 2 : 2 * e * e))); \
	} \
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

/* Scale and zero point that map [low, high] to the integers from least to most, and 0 to an integer, as PyTorch chooses
 * them for activations (quant_utils.h). */
typedef struct TAffine { double scale, zero; } TAffine;

TMATH TAffine t_affine(double low, double high, double least, double most)
{
	const double small = 6.1e-5;
	double scale, a, b, z;
	TAffine by;

	low = low < 0 ? low : 0;
	high = high > 0 ? high : 0;
	scale = (high - low) / (most - least);
	if ((float)scale == 0 || isinf(1 / (float)scale))
		scale = 0.1;
	scale = scale < small ? small : scale;
	a = low / scale;
	b = high / scale;
	z = fabs(least) - fabs(a) < fabs(most) - fabs(b) ? least - a : most - b;
	by.scale = scale;
	by.zero = z > least ? z < most ? rint(z) : most : least;         /* NaN becomes `least` */
	return by;
}
#define t_affine_scale(low, high, least, most) t_affine(low, high, (double)(least), (double)(most)).scale
#define t_affine_zero(low, high, least, most)  t_affine(low, high, (double)(least), (double)(most)).zero

/* scale * x - scale * zero, rounded once. x is an 8-bit integer, so a double represents the difference exactly. */
TM_INLINE float t_fused(float x, float scale, float zero)
{
#ifdef __FMA__
	return __builtin_fmaf(x, scale, -(scale * zero));
#else
	const float least = scale * zero;

	return (float)((double)x * (double)scale - (double)least);
#endif
}
#define t_values(x, scale, zero) (sizeof(T) == 4 ? (T)t_fused((x), (scale), (zero)) : ((x) - (zero)) * (scale))

/* The next number of bfloat16, float or double after x towards y. */
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

/* Power with a scalar exponent, as in ATen: some powers are roots and products, except for float16. */
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

#include "tspecial.h"

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
TM_OVERLOAD1(t_mish, t_mishf, t_mishd)
TM_OVERLOAD1(t_softplus, t_softplusf, t_softplusd)
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
#define t_mish(x)          _Generic((x), float: t_mishf, default: t_mishd)(x)
#define t_softplus(x)      _Generic((x), float: t_softplusf, default: t_softplusd)(x)
#define t_logit(x)         _Generic((x), float: t_logitf, default: t_logitd)(x)
#define t_remainder(x, y)  _Generic((x), float: t_remf, int64_t: t_irem, default: t_remd)((x), (y))
#define t_fmod(x, y)       _Generic((x), float: fmodf, int64_t: t_imod, default: (fmod))((x), (y))
#define t_div_floor(x, y)  _Generic((x), float: t_divfloorf, int64_t: t_idivfloor, default: t_divfloord)((x), (y))
#define t_div_trunc(x, y)  _Generic((x), float: t_truncdivf, int64_t: t_idiv, default: t_truncdiv)((x), (y))
#define t_not(x)           _Generic((x), bool: t_bnot, default: t_inot)(x)
#endif

/* ---- complex numbers: neither in CUDA nor with tcc --------------------------------------------------------------- */

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
#define t_nearer(w) /* lerp: whether it starts from the end that is nearer */ \
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

#include "tsample.h"

#endif
