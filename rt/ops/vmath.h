/* rt/ops/vmath.h - functions of tmath.h in generated kernels, without branches, so that loops over them vectorize
 *
 * v_expf is for float, v_exp for double (vmath_double.h). A file that includes tmath.h first, as emitted C and map.c
 * do, calls these functions by the names there: exp(x), t_gelu(x). With V_EAGER, functions of double are libm's.
 * Without tmath.h there are only the v_ names.
 *
 * Results are within 4 ulp of libm's in double (tests/kern/math.c), most within 2. The methods are Cephes's and Norbert
 * Juffa's minimax polynomials. NaN, infinities and denormals have correct results. */
#ifndef RT_OPS_VMATH_H
#define RT_OPS_VMATH_H

#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__ && !defined __CUDACC__
#define IVDEP _Pragma("GCC ivdep")
#define UNROLL _Pragma("GCC unroll 8")
#elif defined __clang__
#define IVDEP
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define IVDEP
#define UNROLL
#endif

#if defined __GNUC__ && !defined __TINYC__ && !defined __CUDACC__

/* A call that is not inlined would keep a loop from being vectorized. */
#define V_INLINE static inline __attribute__((always_inline))

/* functions with a fast path for arguments of small magnitude
 *
 * Sines, tangents and remainders have a fast form for near arguments, which are those that are not too large. In a loop
 * that declares V_NEAR(far), they compute only that form, and set `far` if an argument is not near. Elsewhere v_far is
 * null, and they call libm for such arguments. So a loop over them first runs without stores, to set `far`, and then
 * again in one form or the other. A near argument has the same bits in both forms. */
#define V_NEAR(far) \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"") \
	int32_t *const v_far = &(far); (void)v_far; \
	_Pragma("GCC diagnostic pop")

static int32_t *const v_far __attribute__((unused)) = 0;

/* Sets *far if an argument is far. If `far` is null, returns whether to call libm. */
V_INLINE bool
v_is_far(int32_t is, int32_t *far)
{
	if (far)
		*far |= is;
	return !far && is;
}

/* V_FAR: whether every argument counts as far, because the processor lacks the instructions of the fast forms. */
#if defined __FMA__ || defined __FP_FAST_FMAF
enum { V_FMA = true, V_FAR = false };
#elif defined __SSE2__ || defined __aarch64__
enum { V_FMA = false, V_FAR = false };
#else
enum { V_FMA = false, V_FAR = true };
#endif

#include "vmath_double.h"

/* ---- float ------------------------------------------------------------------------------------------------------- */

V_INLINE float
v_bits(int32_t i)
{
	union { int32_t i; float f; } u = { i };

	return u.f;
}

V_INLINE int32_t
v_int(float f)
{
	union { float f; int32_t i; } u = { f };

	return u.i;
}

V_INLINE float
v_abs(float x)
{
	return v_bits(v_int(x) & 0x7fffffff);
}

/* x where the mask is -1, y where it is 0. */
V_INLINE float
v_pick(int32_t mask, float x, float y)
{
	return v_bits((v_int(x) & mask) | (v_int(y) & ~mask));
}

/* Returns `size`, which is not negative, with the sign of x. */
V_INLINE float
v_signed(float size, float x)
{
	return v_bits(v_int(size) | (v_int(x) & ~0x7fffffff));
}

/* exp(r) - 1 - r for r in [-ln2/2, ln2/2]. */
V_INLINE float
v_exp_rest(float r)
{
	const float s = r * r, a = 1.6666665459e-1f * r + 5.0000001201e-1f, b = 8.3334519073e-3f * r + 4.1665795894e-2f;
	const float c = 1.9875691500e-4f * r + 1.3981999507e-3f;

	return ((c * s + b) * s + a) * s;
}

/* Returns r = c - n ln2, which is in [-ln2/2, ln2/2]. n is in the last bits of *power, a float. */
V_INLINE float
v_exp_reduced(float c, float *power)
{
	const float k = c * 1.44269504f + 12582912.0f, n = k - 12582912.0f;

	*power = k;
	return (c - n * 0.693359375f) + n * 2.12194440e-4f;
}

/* Returns exp(c) / 2^n, where n is as in v_exp_reduced. */
V_INLINE float
v_exp_part(float c, float *power)
{
	const float r = v_exp_reduced(c, power);

	return v_exp_rest(r) + (r + 1.0f);
}

/* Returns p times 2^n, where n is in the last bits of k. Scales in two steps, which reach denormals and the largest
 * numbers. */
V_INLINE float
v_scaled(float p, float k)
{
	const int32_t i = v_int(k) - 0x4b400000, half = i >> 1;

	return p * v_bits((half + 127) << 23) * v_bits((i - half + 127) << 23);
}

/* Clamps x to [-most, most], where `most` has the bits of a float. */
V_INLINE float
v_at_most(float x, int32_t most)
{
	const int32_t b = v_int(x), size = b & 0x7fffffff;

	return v_bits((b & ~0x7fffffff) | (size < most ? size : most));
}

/* Returns r, or NaN if x is NaN. NaN and out-of-range numbers are found by their bits, because gcc compiles comparisons
 * of floats to branches, and repeats the following code in each. */
V_INLINE float
v_unless_nan(float r, float x)
{
	return v_bits(v_int(r) | -((v_int(x) & 0x7fffffff) > 0x7f800000));
}

V_INLINE float
v_expf(float x)
{
	float k;
	const float p = v_exp_part(v_at_most(x, 0x42d00000), &k);              /* bits of 104 */

	return v_unless_nan(v_scaled(p, k), x);
}

V_INLINE float
v_exp2f(float x)
{
	const float c = v_at_most(x, 0x43180000), k = c + 12582912.0f;         /* bits of 152 */
	const float r = (c - (k - 12582912.0f)) * 0.693147181f;

	return v_unless_nan(v_scaled(v_exp_rest(r) + (r + 1.0f), k), x);
}

/* Computes x^y by logarithm and exponential in double, which leaves only the last rounding. Finds signs and
 * infinities by bits: after a clamp, gcc compiles comparisons of floats to branches. */
V_INLINE float
v_powf(float x, float y)
{
	const int32_t i = v_int(x), size = i & 0x7fffffff, below = i >> 31;
	const int32_t whole = -(__builtin_floorf(y) == y), odd = whole & -(__builtin_floorf(y * 0.5f) != y * 0.5f);
	const float r = (float)v_exp(v_log(v_bits(size)) * y);
	const int32_t finite = -((uint32_t)size - 1u < 0x7f7fffffu), none = below & finite & ~whole;
	const int32_t endless = -((v_int(y) & 0x7fffffff) == 0x7f800000);
	const int32_t one = -(y == 0) | -(i == 0x3f800000) | (-(size == 0x3f800000) & endless);

	return v_pick(one, 1.0f, v_bits((v_int(r) ^ (below & odd & ~0x7fffffff)) | (none & 0x7fc00000)));
}

/* Computes exp(r) 2^n - 1 as (exp(r) - 1) 2^n + (2^n - 1). Both terms are halved, because 2^128 overflows. Below -30
 * the result is -1. */
V_INLINE float
v_expm1f(float x)
{
	const float c = v_at_most(x, v_int(x) < 0 ? 0x41f00000 : 0x42b20000);  /* bits of 30 and 89 */
	float k;
	const float r = v_exp_reduced(c, &k), half = v_bits((v_int(k) - 0x4b400000 + 126) << 23);
	const float m = ((v_exp_rest(r) + r) * half + (half - 0.5f)) * 2.0f;

	return v_unless_nan(v_signed(v_abs(m), x), x);
}

/* exp(x) for x <= 0 or NaN; 0 below -87. */
V_INLINE float
v_exp_normalf(float x)
{
	const int32_t kept = -((v_int(x) & 0x7fffffff) <= 0x42ae0000);         /* bits of 87 */
	float k;
	const float p = v_exp_part(v_at_most(x, 0x42ae0000), &k);

	return v_unless_nan(v_bits((v_int(p) + (int32_t)((uint32_t)v_int(k) << 23)) & kept), x);
}

/* exp(x) for results that are added to 1: at least 1e-38, infinity above 1e38. Undefined for NaN. */
V_INLINE float
v_exp_near(float x)
{
	const int32_t large = -(v_int(x) > 0x42aea8f6);                        /* bits of 87.33 */
	float k;
	const float p = v_exp_part(v_at_most(x, 0x42aea8f6), &k);

	return v_bits(((v_int(p) + (int32_t)((uint32_t)v_int(k) << 23)) & ~large) | (large & 0x7f800000));
}

/* tanh as -m / (m + 2), where m = exp(-2 |x|) - 1. Keeps nearly the precision of its parts for small x, too. */
V_INLINE float
v_tanhf(float x)
{
	const float a = v_abs(v_at_most(x, 0x41280000));    /* bits of 10.5: tanh is 1 from 9.02 on */
	float k;
	const float r = v_exp_reduced(-2 * a, &k), power = v_bits((int32_t)((uint32_t)v_int(k) << 23) + 0x3f800000);
	const float m = (v_exp_rest(r) + r) * power + (power - 1.0f);

	return v_unless_nan(v_signed(v_abs(m / (m + 2.0f)), x), x);
}

/* The logarithm of x = m 2^e to some base: log(m) times `by` = 1 / log(base), plus e times high + low = log 2 to that
 * base. `high` has few bits. */
V_INLINE float
v_log_by(float x, float by, float high, float low)
{
	const bool tiny = x < 1.17549435e-38f;
	const float y = tiny ? x * 33554432.0f : x;
	const int32_t bits = v_int(y) - 0x3f3504f3;
	const float e = (float)(bits >> 23) - (tiny ? 25.0f : 0.0f);
	const float f = v_bits((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
	const float s = f / (2.0f + f), z = s * s, w = z * z;
	const float t1 = w * (0.40000972152f + w * 0.24279078841f), t2 = z * (0.66666662693f + w * 0.28498786688f);
	const float h = 0.5f * f * f, r = t1 + t2;
	const float v = by * (s * (h + r) - h) + e * low + by * f + e * high;

	return x > 0 ? (x - x == 0 ? v : x) : x == 0 ? -1.0f / 0.0f : 0.0f / 0.0f;
}

V_INLINE float
v_logf(float x)
{
	return v_log_by(x, 1.0f, 6.9313812256e-01f, 9.0580006145e-06f);
}

V_INLINE float
v_log2f(float x)
{
	return v_log_by(x, 1.44269504f, 1.0f, 0.0f);
}

V_INLINE float
v_log10f(float x)
{
	return v_log_by(x, 0.434294482f, 3.0102920532e-01f, 7.9034151668e-07f);
}

/* log(1 + x), corrected by the rounding error of the sum. */
V_INLINE float
v_log1pf(float x)
{
	const float u = 1.0f + x, lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x), v = v_logf(u);
	const float r = (uint32_t)v_int(u) - 1u < 0x7f7fffffu ? v + lost / u : v;      /* 0 < u < infinity */

	return x == 0 ? x : r;                                   /* keeps -0 */
}

/* log(1 + e) for e in [0, 1], or NaN: 2 atanh(e / (2 + e)), by a polynomial fitted to 4e-9. */
V_INLINE float
v_log1p_unit(float e)
{
	const float s = e / (2.0f + e), z = s * s;
	const float p = (2.8178166e-1f * z + 2.7960645e-1f) * z + 4.0024907e-1f;

	return ((p * z + 6.6666315e-1f) * z + 2.0f) * s;
}

V_INLINE float
v_log_sigmoidf(float x)
{
	return (x < 0 ? x : 0) - v_log1p_unit(v_expf(-v_abs(x)));
}

V_INLINE float
v_softplusf(float x)
{
	return (x > 0 ? x : 0) + v_log1p_unit(v_expf(-v_abs(x)));
}

/* x tanh(log(1 + exp(x))), in terms of exp(-|x|), which cannot overflow. */
V_INLINE float
v_mishf(float x)
{
	const float e = v_expf(-v_abs(x)), n = x < 0 ? e * (e + 2.0f) : 1.0f + 2.0f * e;

	return x * (n / (n + (x < 0 ? 2.0f : 2.0f * e * e)));
}

V_INLINE float
v_logitf(float x)
{
	return v_logf(x / (1.0f - x));
}

/* log(exp(x) + exp(y)). */
V_INLINE float
v_logaddexpf(float x, float y)
{
	const float most = x > y || x != x ? x : y;

	return x == y && most - most != 0 ? x : most + v_log1p_unit(v_expf(-v_abs(x - y)));
}

/* atan for 0 <= z <= tan(pi/8). */
V_INLINE float
v_atan_part(float z)
{
	const float s = z * z, p = (8.05374449538e-2f * s - 1.38776856032e-1f) * s + 1.99777106478e-1f;

	return (p * s - 3.33329491539e-1f) * s * z + z;
}

V_INLINE float
v_atanf(float x)
{
	const float a = v_abs(x), start = a > 2.41421356f ? 1.57079633f : a > 0.414213562f ? 0.785398163f : 0.0f;
	const float over = a > 2.41421356f ? -1.0f : a > 0.414213562f ? a - 1.0f : a;
	const float under = a > 2.41421356f ? a : a > 0.414213562f ? a + 1.0f : 1.0f;

	return v_signed(start + v_atan_part(over / under), x);
}

/* Computes the angle in the first octant from the quotient of the smaller and the larger magnitude, then maps it to
 * the octant of x, y. */
V_INLINE float
v_atan2f(float y, float x)
{
	const float a = v_abs(y), b = v_abs(x);
	const int32_t steep = -(v_int(a) > v_int(b)), left = v_int(x) >> 31;
	const float high = v_pick(steep, a, b), by = high > 1e30f ? 9.5367e-07f : 1.0f;
	const float most = high * by, least = v_pick(steep, b, a) * by;
	/* same: whether they are equal, also if both are infinite or 0 */
	const bool same = a == b, past = least > 0.414213562f * most;
	const float over = same ? 0.0f : least - (past ? most : 0.0f);
	const float under = same ? 1.0f : most + (past ? least : 0.0f);
	const float octant = ((past | same) & (most > 0)) ? 0.785398163f : 0.0f;
	const float angle = octant + v_atan_part(over / under), t = v_pick(steep, 1.57079633f - angle, angle);

	return v_unless_nan(v_unless_nan(v_signed(v_pick(left, 3.14159265f - t, t), y), x), y);
}

/* asin for 0 <= a <= 1. Above a half, it is computed from 1 - a. */
V_INLINE float
v_asin_part(float a)
{
	const float z = a > 0.5f ? 0.5f * (1.0f - a) : a * a, t = a > 0.5f ? __builtin_sqrtf(z) : a;
	float p = 4.2163199048e-2f;

	p = p * z + 2.4181311049e-2f;
	p = p * z + 4.5470025998e-2f;
	p = p * z + 7.4953002686e-2f;
	p = p * z + 1.6666752422e-1f;
	return p * z * t + t;
}

V_INLINE float
v_asinf(float x)
{
	const float a = v_abs(x), p = v_asin_part(a);

	return v_signed(a > 0.5f ? 1.57079633f - 2.0f * p : p, x);
}

V_INLINE float
v_acosf(float x)
{
	const float p = v_asin_part(v_abs(x));
	const float r = x > 0.5f ? 2.0f * p : x < -0.5f ? 3.14159265f - 2.0f * p : 1.57079633f - v_signed(p, x);

	return v_unless_nan(r, p);
}

/* aarch64 has instructions for C's fmin and fmax, which prefer numbers to NaN. A clamp by comparisons would take 16
 * instructions. */
#if defined __aarch64__ && !defined __clang__
#define V_CLAMPS

V_INLINE float
v_clampf(float x, float lo, float hi)
{
	const float r = __builtin_fminf(__builtin_fmaxf(x, lo), hi);

	return x != x ? x : r;
}

V_INLINE float
v_reluf(float x)
{
	const float r = __builtin_fmaxf(x, 0);

	return x != x ? x : r;
}
#endif

/* ---- float functions with a fast path ---------------------------------------------------------------------------- */

/* Returns x - n * y with an exact product, by FMA or in double. */
V_INLINE float
v_less(float x, float n, float y)
{
	return V_FMA ? __builtin_fmaf(-n, y, x) : (float)((double)x - (double)n * (double)y);
}

/* Whether x is finite with |x| >= 2^17. For infinities, the fast form correctly returns NaN. */
V_INLINE int32_t
v_is_large(float x)
{
	return (uint32_t)((v_int(x) & 0x7fffffff) - 0x48000000) < 0x37800000u;
}

/* Computes sine and cosine of x - n pi/2 for the nearest n, with pi/2 in three parts. The result has n in its last
 * bits. */
V_INLINE int32_t
v_quarter(float x, float *sine, float *cosine)
{
	const float k = x * 0.636619772f + 12582912.0f, n = k - 12582912.0f;
	const float r = v_less(v_less(v_less(x, n, 0x1.921fb4p0f), n, 0x1.4442dp-24f), n, 0x1.846988p-48f), z = r * r;

	*sine = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
	*cosine = ((2.443315712e-5f * z - 1.388731625e-3f) * z + 4.166664568e-2f) * z * z - 0.5f * z + 1.0f;
	return v_int(k);
}

V_INLINE float
v_sine(float x, int32_t more)
{
	float s, c;
	const int32_t q = v_quarter(x, &s, &c) + more, odd = -(q & 1);

	return v_bits(v_int(v_pick(odd, c, s)) ^ (int32_t)((uint32_t)(q & 2) << 30));
}

V_INLINE float
v_sinf(float x, int32_t *far)
{
	return v_is_far(v_is_large(x), far) ? __builtin_sinf(x) : x == 0 ? x : v_sine(x, 0);    /* keeps -0 */
}

V_INLINE float
v_cosf(float x, int32_t *far)
{
	return v_is_far(v_is_large(x), far) ? __builtin_cosf(x) : v_sine(x, 1);
}

V_INLINE float
v_sincf(float x, int32_t *far)
{
	const float a = 3.14159265f * x;

	return x == 0 ? 1 : v_sinf(a, far) / a;
}

V_INLINE float
v_tanf(float x, int32_t *far)
{
	float s, c;
	const int32_t odd = -(v_quarter(x, &s, &c) & 1);

	if (v_is_far(v_is_large(x), far))
		return __builtin_tanf(x);
	return x == 0 ? x : v_pick(odd, -c, s) / v_pick(odd, s, c);
}

/* x modulo y, with the sign of x. The quotient may have been rounded up. From 2^23 on a quotient is not exact, so the
 * arguments are far. */
V_INLINE float
v_fmodf(float x, float y, int32_t *far)
{
	const float by = x / y, q = __builtin_truncf(by), r = v_less(x, q, y), over = v_signed(v_abs(y), x);

	if (v_is_far(!(v_abs(by) < 0x1p23f) | !(y - y == 0), far))
		return __builtin_fmodf(x, y);
	return v_signed(v_abs((x < 0) != (r < 0) && r != 0 ? r + over : r), x);
}

/* The square root of x * x + y * y. A double represents the squares exactly. The result is infinite if x or y is, even
 * if the other one is NaN. */
V_INLINE float
v_hypotf(float x, float y)
{
	const double size = __builtin_sqrt((double)x * (double)x + (double)y * (double)y);
	const int32_t endless = -((v_int(x) & 0x7fffffff) == 0x7f800000) | -((v_int(y) & 0x7fffffff) == 0x7f800000);

	return v_pick(endless, 1.0f / 0.0f, (float)size);
}

V_INLINE float
v_erff(float a)
{
	const float t = v_abs(a), s = a * a;
	float r, u, p;

	r = -1.72853470e-5f * t + 3.83197126e-4f;
	u = -3.88396438e-3f * t + 2.42546219e-2f;
	r = r * s + u;
	r = r * t - 1.06777877e-1f;
	r = r * t - 6.34846687e-1f;
	r = r * t - 1.28717512e-1f;
	r = r * t - t;
	r = 1.0f - v_exp_near(r);
	p = ((-5.96761703e-4f * s + 4.99119423e-3f) * s - 2.67681349e-2f) * s + 1.12819925e-1f;
	p = ((p * s - 3.76125336e-1f) * s + 1.28379166e-1f) * a + a;
	return t > 0.927734375f ? v_signed(r, a) : p;
}

/* erfc. erfc(a) exp(a * a) (1 + 2 a) is a polynomial of (a - 2) / (a + 2). a * a is corrected by its rounding error. */
V_INLINE float
v_erfcf(float x)
{
	const float a = v_abs(v_at_most(x, 0x41300000)), s = a * a, q = (a - 2.0f) / (a + 2.0f);    /* bits of 11 */
	float p = (2.16677893e-5f * q - 3.73059068e-4f) * q - 1.25137481e-3f;

	p = (((p * q + 1.28244250e-3f) * q + 8.63949147e-3f) * q - 8.04796596e-3f) * q - 5.42057217e-2f;
	p = p * q + 1.64053647e-1f;
	p = p * q - 1.66031298e-1f;
	p = p * q - 9.27639169e-2f;
	p = p * q + 1.27697839f;
	p = p / (2.0f * a + 1.0f) * v_expf(-s);
	p = p + p * v_less(s, a, a);
	return v_unless_nan(v_pick(v_int(x) >> 31, 2.0f - p, p), x);
}

V_INLINE float
v_atanhf(float x)
{
	const float a = v_abs(x);

	return v_signed(0.5f * v_log1pf(2.0f * a / (1.0f - a)), x);
}

/* erfinv, computed from the logarithm of 1 - a * a, which is -infinity for 1 and -1. */
V_INLINE float
v_erfinvf(float a)
{
	const float t = v_logf(v_less(1.0f, a, a));
	float p = 3.03697567e-10f, q = 5.43877832e-9f;

	p = p * t + 2.93243101e-8f;
	q = q * t + 1.43285448e-7f;
	p = p * t + 1.22150334e-6f;
	q = q * t + 1.22774793e-6f;
	p = p * t + 2.84108955e-5f;
	q = q * t + 1.12963626e-7f;
	p = p * t + 3.93552968e-4f;
	q = q * t - 5.61530760e-5f;
	p = p * t + 3.02698812e-3f;
	q = q * t - 1.47697632e-4f;
	p = p * t + 4.83185798e-3f;
	q = q * t + 2.31468678e-3f;
	p = p * t - 2.64646143e-1f;
	q = q * t + 1.15392581e-2f;
	p = p * t + 8.40016484e-1f;
	q = q * t - 2.32015476e-1f;
	q = q * t + 8.86226892e-1f;
	return a * (t < -6.125f ? p : q);
}

/* gelu: x times the normal distribution function at x. With t = |x|, the function is 1/2 plus or minus t P(t * t) / Q(t
 * * t), a minimax quotient for t <= 5.2. Beyond, it is 0 or 1. The error is at most 4e-7 of the larger of |x| and 1. */
V_INLINE float
v_geluf(float x)
{
	const float end = 5.2f;
	const int32_t size = v_int(x) & 0x7fffffff, far = -(size > v_int(end));
	const float t = v_bits(size < v_int(end) ? size : v_int(end)), s = t * t;
	float p = 2.47309947e-8f * s + 6.4078754e-6f, q = 1.25886365e-6f * s + 7.04961141e-5f;
	int32_t beside;

	p = p * s + 1.56861882e-4f;
	q = q * s + 1.81720434e-3f;
	p = p * s + 4.60864677e-3f;
	q = q * s + 2.79267126e-2f;
	p = p * s + 3.25445999e-2f;
	q = q * s + 2.48243556e-1f;
	p = p * s + 3.98942261e-1f;
	q = q * s + 1.0f;
	beside = (v_int(t * p / q) & ~far) | (v_int(0.5f) & far);
	return x * (0.5f + v_bits(beside | (v_int(x) & ~0x7fffffff)));
}

/* gelu by a tanh. (1 + tanh(u)) / 2 is computed as 1 / (1 + exp(-2 u)), which is precise even where tanh is near -1. */
V_INLINE float
v_gelu_tanhf(float x)
{
	return x / (1.0f + v_expf(-1.59576912f * (x + 0.044715f * (x * x * x))));
}

#ifdef RT_OPS_TMATH_H                    /* names that operators' expressions call */
#define V_F(fn, x)  _Generic((x), float: v_##fn##f, default: (fn))(x)
#define V_FC(fn, x) _Generic((x), float: v_##fn##f, float _Complex: c##fn##f, double _Complex: c##fn, default: (fn))(x)
#ifdef V_EAGER                           /* doubles use libm's functions and its pow, which are smaller code */
#define V_FD V_F
#define V_FDC V_FC
#define V_NEAR_D(libm, ours, x) (libm)(x)
#else
#define V_NEAR_D(libm, ours, x) ours(x, v_far)
TM_POWER(float, _v, v_powf)
#define V_FD(fn, x) _Generic((x), float: v_##fn##f, double: v_##fn, default: (fn))(x)
#define V_FDC(fn, x) _Generic((x), float: v_##fn##f, double: v_##fn, \
	float _Complex: c##fn##f, double _Complex: c##fn, default: (fn))(x)
#undef t_pow
#undef t_power
#define t_pow(x, y) TM_ALL(x, v_powf, (pow), t_ipow, t_ipow, tc_powf, tc_pow)((x), (y))
#define t_power(x, y, dtype) \
	TM_ALL(x, t_power_v, t_power_d, t_power_i, t_power_i, tc_powerf, tc_power)((x), (y), (dtype))
#endif
#undef acos
#undef asin
#undef atan
#undef atanh
#undef atan2
#undef erf
#undef erfc
#undef exp
#undef exp2
#undef expm1
#undef hypot
#undef log
#undef log10
#undef log1p
#undef log2
#undef tanh
#undef t_erfinv
#undef t_exp2
#undef t_exp_near
#undef t_exp_normal
#undef t_gelu
#undef t_gelu_tanh
#undef t_log10
#undef t_log1p
#undef t_log2
#undef t_logaddexp
#undef t_log_sigmoid
#undef t_logit
#undef t_mish
#undef t_softplus
#define acos(x)  V_FC(acos, x)
#define asin(x)  V_FC(asin, x)
#define atan(x)  V_FC(atan, x)
#define atan2(x, y) _Generic((x), float: v_atan2f, default: (atan2))((x), (y))
#define atanh(x) V_FC(atanh, x)
#define erf(x)   V_FD(erf, x)
#define erfc(x)  V_F(erfc, x)
#define exp(x)   V_FDC(exp, x)
#define exp2(x)  V_F(exp2, x)
#define expm1(x) V_F(expm1, x)
#define hypot(x, y) _Generic((x), float: v_hypotf, default: (hypot))((x), (y))
#define log(x)   V_FDC(log, x)
#define log10(x) V_F(log10, x)
#define log1p(x) V_FD(log1p, x)
#define log2(x)  V_F(log2, x)
#define tanh(x)  V_FDC(tanh, x)
#define t_erfinv(x) _Generic((x), float: v_erfinvf, default: t_erfinv_real)(x)
#define t_exp2(x)   TM_ALL(x, v_exp2f, (exp2), (exp2), (exp2), tc_exp2f, tc_exp2)(x)
#define t_exp_near(x) _Generic((x), float: v_exp_near, double: v_exp, \
	float _Complex: cexpf, double _Complex: cexp, default: (exp))(x)
#define t_exp_normal(x) _Generic((x), float: v_exp_normalf((float)(x)), default: (x) < -708 ? 0 : exp(x))
#define t_gelu(x) _Generic((x), float: v_geluf((float)(x)), default: t_gelu_by_erf(x))
#define t_gelu_tanh(x) _Generic((x), float: v_gelu_tanhf((float)(x)), default: t_gelu_by_tanh(x))
#define t_log10(x)  TM_ALL(x, v_log10f, (log10), (log10), (log10), tc_log10f, tc_log10)(x)
#define t_log1p(x)  TM_ALL(x, v_log1pf, (log1p), (log1p), (log1p), tc_log1pf, tc_log1p)(x)
#define t_log2(x)   TM_ALL(x, v_log2f, (log2), (log2), (log2), tc_log2f, tc_log2)(x)
#define t_logaddexp(x, y) _Generic((x), float: v_logaddexpf, default: t_logaddexpd)((x), (y))
#define t_logit(x) _Generic((x), float: v_logitf, default: t_logitd)(x)
#define t_log_sigmoid(x)  _Generic((x), float: v_log_sigmoidf, default: t_log_sigmoidd)(x)
#define t_mish(x) _Generic((x), float: v_mishf, default: t_mishd)(x)
#define t_softplus(x) _Generic((x), float: v_softplusf, default: t_softplusd)(x)
#ifdef V_CLAMPS
#undef t_clamp
#undef t_relu
#define t_clamp(x, lo, hi) _Generic((x), float: v_clampf((float)(x), (float)(lo), (float)(hi)), \
	default: t_upper_of(((x) < (lo) ? (lo) : (x)), hi))
#define t_relu(x) _Generic((x), float: v_reluf((float)(x)), default: ((x) < 0 ? 0 : (x)))
#endif
#undef cos
#undef sin
#undef tan
#undef t_div_floor
#undef t_fmod
#undef t_remainder
#undef t_sinc
#define V_NEARC(fn, x) _Generic((x), float: v_##fn##f((float)(x), v_far), float _Complex: c##fn##f(x), \
	double _Complex: c##fn(x), default: V_NEAR_D(fn, v_##fn, (double)(x)))
#define cos(x)   V_NEARC(cos, x)
#define sin(x)   V_NEARC(sin, x)
#define tan(x)   V_NEARC(tan, x)
#define t_sinc(x)   _Generic((x), float: v_sincf((float)(x), v_far), TmC64: tc_sincf(x), TmC128: tc_sinc(x), \
	default: V_NEAR_D(t_sincd, v_sinc, (double)(x)))
#define t_fmod(x, y) _Generic((x), float: v_fmodf((float)(x), (float)(y), v_far), \
	int64_t: t_imod((int64_t)(x), (int64_t)(y)), default: v_fmod((double)(x), (double)(y), v_far))
#define t_remainder(x, y) _Generic((x), float: t_rem_off, int64_t: t_irem_of, default: t_rem_ofd)(t_fmod(x, y), (y))
#define t_div_floor(x, y) _Generic((x), float: t_divfloor_off, int64_t: t_idivfloor_of, default: t_divfloor_ofd) \
	((x), (y), t_fmod(x, y))
#endif

#else
#define v_exp   exp
#define v_expf  expf
#define v_exp_normalf(x) ((x) < -87 ? 0 : expf(x))
#define v_tanhf tanhf
#define v_logf  logf
#define v_log1pf log1pf
#define v_erff  erff
#define V_NEAR(far) (void)(far);
enum { V_FAR = true };
#endif

#endif
