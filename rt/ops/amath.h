/* rt/ops/amath.h - functions of float to the last bit as the vectors of PyTorch's x86 build have them
 *
 * Those are Sleef's "1.0 ulp" functions (N. Shibata, F. Petrogalli, "SLEEF: A Portable Vectorized Library of C Standard
 * Mathematical Functions", 2020): a reduction, a short polynomial, and around it numbers of two floats whose sum is the
 * value (T. J. Dekker, "A floating-point technique for extending the available precision", 1971).  Fused steps are done in
 * double, so that machines without the instruction have the same bits.  Free of branches; NaN and infinities come out right.
 */
#ifndef RT_OPS_AMATH_H
#define RT_OPS_AMATH_H

#include <stdbool.h>
#include <stdint.h>
#ifndef RT_OPS_TMATH_H                   /* it declares libm's functions itself */
#include <math.h>
#endif

#define AMATH static inline

typedef struct A2 { float hi, lo; } A2;

AMATH float
a_fma(float a, float b, float c)
{
	return (float)((double)a * (double)b + (double)c);
}

AMATH float
a_bits(int32_t i)
{
	union { int32_t i; float f; } u = { i };

	return u.f;
}

AMATH int32_t
a_int(float f)
{
	union { float f; int32_t i; } u = { f };

	return u.i;
}

/* x 2^e in two steps, which reach denormals and the largest numbers */
AMATH float
a_scaled(float x, int32_t e)
{
	return x * a_bits(((e >> 1) + 127) << 23) * a_bits((e - (e >> 1) + 127) << 23);
}

/* ---- sums and products of two floats each; a_sum wants the greater first, a_add does not ---- */

AMATH A2
a_sum(A2 x, A2 y)
{
	const float s = x.hi + y.hi;

	return (A2){ s, x.hi - s + y.hi + x.lo + y.lo };
}

AMATH A2
a_add(A2 x, A2 y)
{
	const float s = x.hi + y.hi, v = s - x.hi, t = (x.hi - (s - v)) + (y.hi - v);

	return (A2){ s, t + (x.lo + y.lo) };
}

AMATH A2
a_mul(A2 x, A2 y)
{
	const float s = x.hi * y.hi;

	return (A2){ s, a_fma(x.hi, y.lo, a_fma(x.lo, y.hi, a_fma(x.hi, y.hi, -s))) };
}

AMATH A2
a_square(A2 x)
{
	const float s = x.hi * x.hi;

	return (A2){ s, a_fma(x.hi + x.hi, x.lo, a_fma(x.hi, x.hi, -s)) };
}

AMATH A2
a_div(A2 n, A2 d)
{
	const float t = 1 / d.hi, s = n.hi * t, u = a_fma(t, n.hi, -s), v = a_fma(-d.lo, t, a_fma(-d.hi, t, 1));

	return (A2){ s, a_fma(s, v, a_fma(n.lo, t, u)) };
}

AMATH A2
a_one(float x)
{
	return (A2){ x, 0 };
}

/* ---- exponentials ---- */

#define A_LN2_HIGH 0.693145751953125f
#define A_LN2_LOW  1.428606765330187045e-06f

AMATH float
a_expf(float x)
{
	const float c = x < -110 ? -110 : x > 110 ? 110 : x;      /* of a NaN itself */
	const float q = rintf(c * 1.44269504088896341f);
	const float s = a_fma(q, -A_LN2_LOW, a_fma(q, -A_LN2_HIGH, c));
	float u = 0.000198527617612853646f;

	u = a_fma(u, s, 0.00139304355252534151f);
	u = a_fma(u, s, 0.00833336077630519867f);
	u = a_fma(u, s, 0.0416664853692054749f);
	u = a_fma(u, s, 0.166666671633720398f);
	u = a_fma(u, s, 0.5f);
	u = a_scaled(1 + a_fma(s * s, u, s), a_int(q + 12582912.0f) - 0x4b400000);
	return x < -104 ? 0 : x > 100 ? a_bits(0x7f800000) : u;
}

/* exp(d) as two floats, |d| < 110 */
AMATH A2
a_exp2parts(A2 d)
{
	const float q = rintf((d.hi + d.lo) * 1.44269504088896341f);
	const int32_t e = a_int(q + 12582912.0f) - 0x4b400000;
	A2 s = a_add(a_add(d, a_one(q * -A_LN2_HIGH)), a_one(q * -A_LN2_LOW)), t;
	float u = 0.1980960224e-3f;

	u = a_fma(u, s.hi, 0.1394256484e-2f);
	u = a_fma(u, s.hi, 0.8333456703e-2f);
	u = a_fma(u, s.hi, 0.4166637361e-1f);
	t = a_add(a_mul(s, a_one(u)), a_one(0.166666659414234244791f));
	t = a_add(a_mul(s, t), a_one(0.5f));
	t = a_add(s, a_mul(a_square(s), t));
	t = a_sum(a_one(1), t);
	return d.hi < -104 ? a_one(0) : (A2){ a_scaled(t.hi, e), a_scaled(t.lo, e) };
}

AMATH float
a_tanhf(float x)
{
	const float size = fabsf(x), near = size < 10 ? size : 10;
	const A2 d = a_exp2parts(a_one(near)), e = a_div(a_one(1), d), less = { -e.hi, -e.lo };
	const A2 r = a_div(a_sum(d, less), a_sum(d, e));

	return x != x ? x : copysignf(size > 8.664339742f ? 1 : r.hi + r.lo, x);
}

AMATH A2
a_of(double v)
{
	return (A2){ (float)v, (float)(v - (double)(float)v) };
}

/* A polynomial of |x| or its square for each of three ranges; beyond the first, 1 - exp of it. */
AMATH float
a_erff(float x)
{
	const float size = fabsf(x), a = size < 4 ? size : 4;
	const bool low = a < 1.1f, mid = a < 2.4f;
	const float u = low ? a * a : a;
	float t = low ? 0.7089292194e-4f : mid ? -0.1792667899e-4f : -0.9495757695e-5f, r;
	A2 d;

#define A_STEP(x, y, z) t = a_fma(t, u, low ? (x) : mid ? (y) : (z))
#define A_PAIR(x, y, z) a_of(low ? (x) : mid ? (y) : (z))
	A_STEP(-0.7768311189e-3f, 0.3937633010e-3f, 0.2481465926e-3f);
	A_STEP(0.5159463733e-2f, -0.3949181177e-2f, -0.2918176819e-2f);
	A_STEP(-0.2683781274e-1f, 0.2445474640e-1f, 0.2059706673e-1f);
	A_STEP(0.1128318012e+0f, -0.1070996150e+0f, -0.9901899844e-1f);
	d = a_mul(a_one(t), a_one(u));
	d = a_mul(a_add(d, A_PAIR(-0.376125876000657465, -0.634588905908410390, -0.643598050547891613)), a_one(u));
	d = a_mul(a_add(d, A_PAIR(0.112837916021059138e+1, -0.112879855826694507e+1, -0.112461487742845563e+1)), a_one(a));
#undef A_STEP
#undef A_PAIR
	if (!low) {
		const A2 e = a_exp2parts(d);

		d = a_sum(a_one(1), (A2){ -e.hi, -e.lo });
	}
	r = d.hi + d.lo;
	return x != x ? x : copysignf(size < 4 ? r : 1, x);
}

/* ---- gelu, as oneDNN has it (2.6): erf by formula 7.1.26 of Abramowitz and Stegun's handbook ---- */

AMATH float
a_gelu_exp(float x)
{
	const float least = -87.33654785f, c = x < least ? least : x, q = floorf(c * 1.44269502f + 0.5f);
	const float r = a_fma(-q, 0.693147182f, c);
	float p = 0.00828929059f;

	p = a_fma(p, r, 0.0418978221f);
	p = a_fma(p, r, 0.166676521f);
	p = a_fma(p, r, 0.499991506f);
	p = a_fma(p, r, 0.999999701f);
	p = a_fma(p, r, 1);
	return x < least ? 0 : p * a_bits((a_int(q + 12582912.0f) - 0x4b400000 + 126) << 23) * 2;
}

AMATH float
a_geluf(float s)
{
	const float x = s * 0.707106769f, t = 1 / a_fma(0.327591091f, fabsf(x), 1), half = 0.5f * s;
	const float e = -a_gelu_exp(-(x * x)) * t;
	float p = 1.06140542f;

	p = a_fma(p, t, -1.45315206f);
	p = a_fma(p, t, 1.42141378f);
	p = a_fma(p, t, -0.284496725f);
	p = a_fma(p, t, 0.254829586f);
	return a_fma(copysignf(1, x) * a_fma(e, p, 1), half, half);
}

/* in_vector: tanh is of a vector, and not libm's */
AMATH float
a_gelu_tanhf(float x, bool in_vector)
{
	const float inner = 0.79788456080286535588f * a_fma(0.044715f, x * x * x, x);

	return 0.5f * x * (1 + (in_vector ? a_tanhf(inner) : tanhf(inner)));
}

/* exp(x) - 1 */
AMATH float
a_expm1f(float x)
{
	const float near = x < -20 ? -20 : x > 100 ? 100 : x;
	const A2 d = a_add(a_exp2parts(a_one(near)), a_one(-1));
	const float r = d.hi + d.lo;

	return x == 0 || x != x ? x : x > 88.72283172607421875f ? a_bits(0x7f800000) : x < -16.635532333438687f ? -1 : r;
}

/* ---- logarithms: of m 2^e, m about 1, by the series in (m - 1) / (m + 1) ---- */

typedef struct ALog {
	float e;
	A2    x;
} ALog;

/* over: 0, or 1 for the logarithm of 1 + x */
AMATH ALog
a_log_parts(float x, int over)
{
	const float all = over ? x + 1 : x;
	const bool tiny = all < 1.17549435e-38f;
	const float d = tiny ? all * 18446744073709551616.0f : all;
	const int32_t e = ((a_int(d * (1.0f / 0.75f)) >> 23) & 255) - 127;
	const float m = a_bits((int32_t)((uint32_t)a_int(d) - ((uint32_t)e << 23)));
	const float t = a_bits((127 - e) << 23);
	const A2 less = over ? a_one(a_fma(x, t, t - 1)) : a_add(a_one(-1), a_one(m));
	const A2 more = over ? a_sum(a_one(2), less) : a_add(a_one(1), a_one(m));

	return (ALog){ (float)(tiny ? e - 64 : e), a_div(less, more) };
}

/* ln 2^e and twice the series */
AMATH float
a_log_sum(ALog l)
{
	const float z = l.x.hi * l.x.hi;
	A2 s = a_mul((A2){ 0.69314718246459960938f, -1.904654323148236017e-09f }, a_one(l.e));
	float t = 0.3027294874e+0f;

	t = a_fma(t, z, 0.3996108174e+0f);
	t = a_fma(t, z, 0.6666694880e+0f);
	s = a_sum(s, (A2){ 2 * l.x.hi, 2 * l.x.lo });
	s = a_sum(s, a_one(z * l.x.hi * t));
	return s.hi + s.lo;
}

#define A_LOG_ENDS(x, at, r) ((x) > (at) ? ((x) == a_bits(0x7f800000) ? (x) : (r)) : (x) == (at) ? -a_bits(0x7f800000) : a_bits(0x7fc00000))

AMATH float
a_logf(float x)
{
	return A_LOG_ENDS(x, 0, a_log_sum(a_log_parts(x, 0)));
}

AMATH float
a_log1pf(float x)
{
	const float r = a_log_sum(a_log_parts(x, 1));

	return x == 0 ? x : x > 1e38f ? a_bits(0x7f800000) : A_LOG_ENDS(x, -1, r);
}

AMATH float
a_log_sigmoidf(float x)
{
	return (x < 0 ? x : 0) - a_log1pf(a_expf(-fabsf(x)));
}

AMATH float
a_log2f(float x)
{
	const ALog l = a_log_parts(x, 0);
	const float z = l.x.hi * l.x.hi;
	A2 s = a_add(a_one(l.e), a_mul(l.x, (A2){ 2.8853900432586669922f, 3.2734474483568488616e-08f }));
	float t = 0.4374550283e+0f;

	t = a_fma(t, z, 0.5764790177e+0f);
	t = a_fma(t, z, 0.9618012905120f);
	s = a_add(s, a_one(z * l.x.hi * t));
	return A_LOG_ENDS(x, 0, s.hi + s.lo);
}

#endif
