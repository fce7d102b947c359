/* rt/ops/vmath.h - functions of tmath.h for float in generated kernels: free of branches, so that loops of them
 * vectorise
 *
 * Included after tmath.h by emitted C and by map.c, which then call these; alone by other kernels.
 * Measured in ulp over the whole range: exp 1.3, tanh 1.5, log 0.8, erf 1.0; the forms are Cephes's and Norbert Juffa's
 * minimax polynomials.  NaN, infinities and denormals come out right.
 */
#ifndef RT_OPS_VMATH_H
#define RT_OPS_VMATH_H

#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__ && !defined __CUDACC__
#define IVDEP _Pragma("GCC ivdep")
#else
#define IVDEP
#endif

#if defined __GNUC__ && !defined __TINYC__ && !defined __CUDACC__

/* A call that is left makes a loop one of scalars. */
#define V_INLINE static inline __attribute__((always_inline))

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

/* size, which has no sign, with that of x */
V_INLINE float
v_signed(float size, float x)
{
	return v_bits(v_int(size) | (v_int(x) & ~0x7fffffff));
}

/* exp(c) is the result times 2^n: r of c = n ln2 + r lies in [-ln2/2, ln2/2].  n is in the last bits of *power, a
 * float. */
V_INLINE float
v_exp_part(float c, float *power)
{
	const float k = c * 1.44269504f + 12582912.0f, n = k - 12582912.0f;
	const float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
	const float s = r * r, a = 1.6666665459e-1f * r + 5.0000001201e-1f, b = 8.3334519073e-3f * r + 4.1665795894e-2f;
	const float c4 = 1.9875691500e-4f * r + 1.3981999507e-3f, p = (c4 * s + b) * s + a;

	*power = k;
	return p * s + (r + 1.0f);
}

/* Two steps of scaling reach denormals and the largest numbers.  What is out of range and NaN are dealt with as
 * integers: of comparisons of floats gcc makes branches, and computes what follows in each. */
V_INLINE float
v_expf(float x)
{
	const int32_t b = v_int(x), size = b & 0x7fffffff, least = size < 0x42d00000 ? size : 0x42d00000;      /* 104 */
	float k, p = v_exp_part(v_bits((b & ~0x7fffffff) | least), &k);
	const int32_t i = v_int(k) - 0x4b400000, half = i >> 1;

	p = p * v_bits((half + 127) << 23) * v_bits((i - half + 127) << 23);
	return v_bits(v_int(p) | -(size > 0x7f800000));
}

/* exp(x) as far as it matters beside 1: no smaller than 1e-38, infinity above 1e38; of a NaN anything. */
V_INLINE float
v_exp_near(float x)
{
	const int32_t b = v_int(x), size = b & 0x7fffffff, least = size < 0x42aea8f6 ? size : 0x42aea8f6;    /* 87.33 */
	const int32_t large = -(b > 0x42aea8f6);
	float k;
	const float p = v_exp_part(v_bits((b & ~0x7fffffff) | least), &k);

	return v_bits(((v_int(p) + (int32_t)((uint32_t)v_int(k) << 23)) & ~large) | (large & 0x7f800000));
}

V_INLINE float
v_tanhf(float x)
{
	const float a = v_abs(x), s = a * a;
	const float e = v_exp_near(-2 * a), far = (1 - e) / (1 + e);
	float p = -5.70498872745e-3f;

	p = p * s + 2.06390887954e-2f;
	p = p * s - 5.37397155531e-2f;
	p = p * s + 1.33314422036e-1f;
	p = p * s - 3.33332819422e-1f;
	p = p * s * x + x;
	return v_signed(a >= 0.625f ? far : p, x);               /* p: of a NaN, too */
}

V_INLINE float
v_logf(float x)
{
	const bool tiny = x < 1.17549435e-38f;
	const float y = tiny ? x * 33554432.0f : x;
	const int32_t bits = v_int(y) - 0x3f3504f3;
	const float e = (float)(bits >> 23) - (tiny ? 25.0f : 0.0f);
	const float f = v_bits((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
	const float s = f / (2.0f + f), z = s * s, w = z * z;
	const float t1 = w * (0.40000972152f + w * 0.24279078841f), t2 = z * (0.66666662693f + w * 0.28498786688f);
	const float h = 0.5f * f * f, r = t1 + t2;
	const float v = s * (h + r) + e * 9.0580006145e-06f - h + f + e * 6.9313812256e-01f;

	return x > 0 ? (x - x == 0 ? v : x) : x == 0 ? -1.0f / 0.0f : 0.0f / 0.0f;
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
	p = -5.96761703e-4f;
	p = p * s + 4.99119423e-3f;
	p = p * s - 2.67681349e-2f;
	p = p * s + 1.12819925e-1f;
	p = p * s - 3.76125336e-1f;
	p = p * s + 1.28379166e-1f;
	p = p * a + a;
	return t > 0.927734375f ? v_signed(r, a) : p;
}

/* x times the share of a normal distribution that is below x: for -|x| that is exp of a polynomial, a minimax one up to
 * where the share beside 1 is none.  Within 4e-7 of the largest of x and 1; the share below -x within 1e-5 of it. */
V_INLINE float
v_geluf(float x)
{
	const float end = 4.2f, half = -0.69314718f;             /* of |x| / sqrt(2); log of it */
	const float size = v_abs(x) * 0.70710678f;
	const int32_t far = -(v_int(size) > v_int(end)), negative = v_int(x) >> 31;
	const float t = v_bits(v_int(size) < v_int(end) ? v_int(size) : v_int(end));
	const float s = t * t, q = s * s;
	const float a = -1.12838125f * t + half, b = -1.02992408e-1f * t - 6.36582732e-1f;
	const float c = -6.66336574e-4f * t + 1.97321177e-2f, d = 3.38576094e-4f * t - 1.00712653e-3f;
	const float e = 2.85298233e-6f * t - 4.93846746e-5f;
	float k, share;

	share = v_exp_part(((e * q + (d * s + c)) * q) + (b * s + a), &k);
	share = v_bits((v_int(share) + (int32_t)((uint32_t)v_int(k) << 23)) & ~far);
	return x * v_bits((v_int(share) & negative) | (v_int(1.0f - share) & ~negative));
}

#ifdef RT_OPS_TMATH_H                    /* what rows call */
#undef exp
#undef t_exp_near
#undef t_gelu
#undef tanh
#undef log
#undef erf
#define exp(x)  _Generic((x), float: v_expf, default: exp)(x)
#define t_exp_near(x) _Generic((x), float: v_exp_near, default: (exp))(x)
#define t_gelu(x) _Generic((x), float: v_geluf((float)(x)), default: t_gelu_by_erf(x))
#define tanh(x) _Generic((x), float: v_tanhf, default: tanh)(x)
#define log(x)  _Generic((x), float: v_logf, default: log)(x)
#define erf(x)  _Generic((x), float: v_erff, default: erf)(x)
#endif

#else
#define v_expf  expf
#define v_tanhf tanhf
#define v_logf  logf
#define v_erff  erff
#endif

#endif
