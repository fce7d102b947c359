/*
 * Compares the functions of vmath.h with those of libm in double: floats of all magnitudes and signs, neighbours of
 * arguments at which the algorithm changes, and special values (infinities, NaN, zeros).
 */
#include "../rt/test.h"

#include <math.h>
#include <string.h>

#include "../../rt/ops/vmath.h"

typedef struct Function {
	const char *name;
	float (*ours)(float);
	double (*libm)(double);
	double ulps;
} Function;

#define OURS(fn) static float ours_##fn(float x) { return v_##fn##f(x); }
OURS(exp) OURS(exp2) OURS(expm1) OURS(log) OURS(log2) OURS(log10) OURS(log1p) OURS(tanh) OURS(erf)
OURS(atan) OURS(asin) OURS(acos) OURS(erfinv) OURS(erfc) OURS(atanh) OURS(softplus) OURS(log_sigmoid)

/* For functions with a fast path for arguments of small magnitude: both paths must return the same bits for these. */
static void
same(double x, double near, double any, int32_t far)
{
	assert_true(far || near == any || (isnan(near) && isnan(any)));
	assert_true(!V_FAR || far);
	assert_true(far || !isfinite(x) || fabs(x) < 0x1p20);
}

#define OURS_NEAR(fn) \
	static float ours_##fn(float x) \
	{ \
		int32_t far = V_FAR; \
		const float near = v_##fn##f(x, &far), any = v_##fn##f(x, NULL); \
		same(x, near, any, far); \
		return any; \
	}
OURS_NEAR(sin) OURS_NEAR(cos) OURS_NEAR(tan)

/* v_exp_normalf accepts only arguments up to 0, so the argument is negated. */
static float
ours_exp_normal(float x)
{
	return v_exp_normalf(-fabsf(x));
}

static double
exp_normal(double x)
{
	return fabs(x) > 87 ? 0 : exp(-fabs(x));
}

static double
softplus(double x)
{
	return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* Compared only where exp(x) is a normal number, since otherwise its rounding error is multiplied by x. */
static float
ours_mish(float x)
{
	return x < -87 ? 0 : v_mishf(x);
}

static double
mish(double x)
{
	return x < -87 ? 0 : x * tanh(softplus(x));
}

static double
log_sigmoid(double x)
{
	return -softplus(-x);
}

/* Computes the expected value by Newton's method, starting from our result. */
static double
erfinv(double y)
{
	double x = v_erfinvf((float)y);

	for (int i = 0; i < 3 && isfinite(x); i++)
		x -= (fabs(y) < 0.5 ? erf(x) - y : y > 0 ? (1 - y) - erfc(x) : erfc(-x) - (1 + y)) /
		     (1.1283791670955126 * exp(-x * x));
	return x;
}

static const Function functions[] = {
	{ "exp", ours_exp, exp, 1.5 }, { "exp2", ours_exp2, exp2, 1.5 }, { "expm1", ours_expm1, expm1, 2 },
	{ "log", ours_log, log, 1 }, { "log2", ours_log2, log2, 2 }, { "log10", ours_log10, log10, 2 },
	{ "log1p", ours_log1p, log1p, 2 }, { "tanh", ours_tanh, tanh, 2.5 }, { "erf", ours_erf, erf, 1.5 },
	{ "atan", ours_atan, atan, 3 }, { "asin", ours_asin, asin, 2.5 }, { "acos", ours_acos, acos, 2 },
	{ "sin", ours_sin, sin, 1.5 }, { "cos", ours_cos, cos, 1.5 }, { "tan", ours_tan, tan, 3.5 },
	{ "erfinv", ours_erfinv, erfinv, 4 }, { "erfc", ours_erfc, erfc, 5 }, { "atanh", ours_atanh, atanh, 3 },
	{ "exp_normal", ours_exp_normal, exp_normal, 1.5 }, { "mish", ours_mish, mish, 5 },
	{ "softplus", ours_softplus, softplus, 3.5 }, { "log_sigmoid", ours_log_sigmoid, log_sigmoid, 3.5 },
};

static uint32_t
bits_of(float f)
{
	uint32_t i;

	memcpy(&i, &f, 4);
	return i;
}

static float
of_bits(uint32_t i)
{
	float f;

	memcpy(&f, &i, 4);
	return f;
}

/* Returns the unit in the last place of a number of this size.  For denormal sizes it is that of the least normal
 * number. */
static double
step(double size)
{
	int e;

	frexp(size, &e);
	return ldexp(1, (e < -125 ? -125 : e) - 24);
}

static double
error(float got, double want)
{
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got) ? 0 : INFINITY;
	if (isinf(got) || fabs(want) > 3.4028235e38)
		return (float)want == got ? 0 : fabs(want) > 3.4028233e38 && fabs(got) > 3.4028233e38 ? 1 : INFINITY;
	return fabs(got - want) / step(fabs(want));
}

/* Whether a test has failed.  All failures are printed before it ends. */
static bool failed;

static void
wrong(const char *name, double x, double y, double by)
{
	print_error("%s(%a, %a) is wrong by %g steps\n", name, x, y, by);
	failed = true;
}

static void
hold(const Function *f)
{
	double worst = 0;
	float where = 0;

	for (uint64_t i = 0; i < 1ull << 32; i += 4099) {
		const float x = of_bits((uint32_t)i);
		const double e = error(f->ours(x), f->libm(x));

		if (e > worst)
			worst = e, where = x;
	}
	if (worst > f->ulps)
		wrong(f->name, where, 0, worst);
}

static void
test_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		hold(functions + i);
	assert_false(failed);
}

/* Tests arguments near those at which the algorithm changes, and special ones. */
static void
test_edges(void **state)
{
	static const float at[] = { 0, 1, -1, 2, 0.5f, -0.5f, 0.625f, 0.414213562f, 2.41421356f, 0.927734375f, 104,
				    -104, 88.72284f, 89, -30, -87.33f, 128, -126, -149, 152, 1e10f, 1e20f, 3e38f,
				    1e-38f, 1e-45f, INFINITY, NAN,
				    0.34657359f, 0.785398163f, 1.57079633f, 3.14159265f, 11,
				    1e5f,
				    -1e5f, 0x1p31f, 0x1p53f };

	(void)state;
	for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
		for (size_t i = 0; i < sizeof at / sizeof *at; i++)
			for (int d = -3; d <= 3; d++) {
				const float x = of_bits(bits_of(at[i]) + (uint32_t)d);
				const double e = error(functions[k].ours(x), functions[k].libm(x));
				if (!(e <= functions[k].ulps))
					wrong(functions[k].name, x, 0, e);
			}
	assert_false(failed);
}

/* Odd functions keep the sign of a zero, and functions that are composed of others keep NaN. */
static void
test_kinds(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
		assert_true(!signbit(functions[k].ours(-0.0f)) == !signbit(functions[k].libm(-0.0)));
	assert_true(isnan(v_log_sigmoidf(NAN)) && isnan(v_logitf(NAN)) && isnan(v_sincf(NAN, NULL)));
}

/* The error is small relative to the larger of |x| and 1.  Far below zero the result is zero.  For -infinity it is
 * NaN. */
static void
test_gelu(void **state)
{
	double worst = 0;
	float where = 0;

	(void)state;
	for (uint64_t i = 0; i < 1ull << 32; i += 4099) {
		const float x = of_bits((uint32_t)i), got = v_geluf(x);
		const double want = (double)x * 0.5 * erfc(-(double)x * 0.70710678118654752440);
		const double e = isfinite(x) ? fabs(got - want) / fmax(1, fabs(x)) :
			isnan(got) == isnan(want) ? 0 : INFINITY;

		if (e > worst)
			worst = e, where = x;
	}
	if (worst > 4e-7)
		wrong("gelu", where, 0, worst);
	assert_false(failed);
	for (float x = -9.5f; x < 12; x += 0x1p-12f) {
		const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
		const double e = error(v_gelu_tanhf(x), x / (1 + exp(-2 * u)));

		if (e > 4 + 8 * fabs(u))         /* u itself is rounded */
			wrong("gelu_tanh", x, u, e);
	}
	assert_false(failed);
	assert_true(isnan(v_gelu_tanhf(-INFINITY)) && v_gelu_tanhf(-3e38f) == 0 && v_gelu_tanhf(3e38f) == 3e38f);
	assert_true(v_geluf(-6.0f) == 0 && v_geluf(-3e38f) == 0 && v_geluf(3e38f) == 3e38f);
	assert_true(isnan(v_geluf(-INFINITY)) && isnan(v_geluf(NAN)) && isinf(v_geluf(INFINITY)));
}

/* Functions of two arguments: all pairs of some numbers of each magnitude and kind. */
static void
test_pairs(void **state)
{
	static const float at[] = { 0, 1, 0.3f, 0.41421f, 0.4143f, 2.4f, 2.5f, 1e-45f, 3e-39f, 1e-20f, 7e20f,
				    3.4e38f, 2e38f, INFINITY, NAN };
	enum { N = sizeof at / sizeof *at };

	(void)state;
	for (int i = 0; i < 4 * N * N; i++) {
		const float y = i & 1 ? -at[i / 4 % N] : at[i / 4 % N], x = i & 2 ? -at[i / 4 / N] : at[i / 4 / N];
		const float angle = v_atan2f(y, x), sum = v_logaddexpf(y, x);
		const double most = y > x || isnan(y) ? y : x;
		const double want = isinf(y) && x == y ? y : most + log1p(exp(-fabs((double)y - x)));

		if (error(v_hypotf(y, x), hypot(y, x)) > 1)
			wrong("hypot", y, x, error(v_hypotf(y, x), hypot(y, x)));
		if (!(error(angle, atan2(y, x)) <= 3))
			wrong("atan2", y, x, error(angle, atan2(y, x)));
		if (!(fabs(sum - want) <= 2e-7 * (1 + fabs(want)) || error(sum, want) <= 1.5))
			wrong("logaddexp", y, x, error(sum, want));
		assert_true(!signbit(angle) == !signbit(y) || isnan(angle));
	}
	assert_false(failed);
}

/* Remainders are exact: all pairs of some numbers, and quotients that are integers or almost. */
static void
test_remainders(void **state)
{
	static const float at[] = { 0, 1, 0.3f, 0.7f, 3, 7, 1e-45f, 3e-39f, 1e-20f, 16777215, 8388608, 8388607.5f,
				    7e20f,
				    3.4e38f, INFINITY, NAN };
	enum { N = sizeof at / sizeof *at };

	(void)state;
	for (int i = 0; i < 4 * N * N + 200000; i++) {
		float y = i & 1 ? -at[i / 4 % N] : at[i / 4 % N], x = i & 2 ? -at[i / 4 / N % N] : at[i / 4 / N % N];
		int32_t far = V_FAR, far_d = V_FAR;

		if (i >= 4 * N * N)
			y = (float)(i % 997 + 1) * 0.1f,
			x = of_bits(bits_of(y * (float)(i / 7)) + (uint32_t)(i % 3) - 1);
		const float near = v_fmodf(x, y, &far), got = v_fmodf(x, y, NULL);
		const double near_d = v_fmod(x, y / 3.0, &far_d), got_d = v_fmod(x, y / 3.0, NULL);

		same(0, near, got, far);
		same(0, near_d, got_d, far_d);
		if (error(got, fmod(x, y)) != 0 || (got_d != fmod(x, y / 3.0) && !isnan(fmod(x, y / 3.0))))
			wrong("fmod", x, y, error(got, fmod(x, y)));
		assert_true(isnan(got) || !signbit(got) == !signbit(x));
	}
	assert_false(failed);
}

typedef struct OfDouble {
	const char *name;
	double (*ours)(double), (*libm)(double);
	double steps;            /* libm's results are within half a unit in the last place */
} OfDouble;

#define OURS_DOUBLE(fn) static double ours_##fn##_double(double x) { return v_##fn(x); }
OURS_DOUBLE(exp) OURS_DOUBLE(log) OURS_DOUBLE(log1p) OURS_DOUBLE(tanh) OURS_DOUBLE(erf)

#define OURS_NEAR_DOUBLE(fn) \
	static double ours_##fn##_double(double x) \
	{ \
		int32_t far = V_FAR; \
		const double near = v_##fn(x, &far), any = v_##fn(x, NULL); \
		same(x, near, any, far); \
		return any; \
	}
OURS_NEAR_DOUBLE(sin) OURS_NEAR_DOUBLE(cos) OURS_NEAR_DOUBLE(tan)

/* Functions of double: special values, edges, and numbers of small and large magnitude. */
static void
test_doubles(void **state)
{
	static const OfDouble of[] = { { "exp", ours_exp_double, exp, 1 }, { "log", ours_log_double, log, 1.5 },
				       { "log1p", ours_log1p_double, log1p, 2.5 },
				       { "tanh", ours_tanh_double, tanh, 2.5 },
				       { "erf", ours_erf_double, erf, 3 }, { "sin", ours_sin_double, sin, 1.5 },
				       { "cos", ours_cos_double, cos, 1.5 }, { "tan", ours_tan_double, tan, 3 } };
	static const double at[] = { 0, -0.0, 1, -1, 709.78, 709.79, 750, 1e300, -708.4, -745.13, -745.14, -1e300,
				     INFINITY, -INFINITY, 1e-300, 4e-320, 0.34657359027997264,
				     0.625, 0.7071067811865476,
				     7, -7.5, 0x1p52, NAN, 3.141592653589793, -6.283185307179586, 0x1p20,
				     0x1.fffffffffffffp19,
				     0x1.6ac5b262ca1ffp+849, 355, 411557987, 710 };
	const int n = sizeof at / sizeof *at;

	(void)state;
	for (size_t k = 0; k < sizeof of / sizeof *of; k++)
		for (int i = 0; i < 400000; i++) {
			const double x = i < n ? at[i] : (i - 200000) / 200000.0 * (i & 1 ? 746 : i & 2 ? 5 : 1);
			const double got = of[k].ours(x), want = of[k].libm(x);
			int e;

			assert_true(isnan(want) ? isnan(got) : !signbit(got) == !signbit(want));
			frexp(want, &e);
			if (!isfinite(want) ? !isnan(want) && got != want :
			    !(fabs(got - want) <= of[k].steps * ldexp(1, (e < -1021 ? -1021 : e) - 53)))
				wrong(of[k].name, x, 0, fabs(got - want) / ldexp(1, e - 53));
		}
	assert_false(failed);
}

/* pow of float: all pairs of some numbers of each magnitude and kind, and some that are close to each other. */
static void
test_pow(void **state)
{
	static const float at[] = { 0, 1, 2, 3, 0.5f, 0.3f, 2.5f, 7, 1e-45f, 3e-39f, 1e-20f, 7e20f, 3.4e38f, 1.0000001f,
				    0.9999999f, 16777215, 16777216, 33554434, INFINITY, NAN };
	enum { N = sizeof at / sizeof *at };

	(void)state;
	for (int i = 0; i < 4 * N * N + 200000; i++) {
		float y = i & 1 ? -at[i / 4 % N] : at[i / 4 % N], x = i & 2 ? -at[i / 4 / N % N] : at[i / 4 / N % N];

		if (i >= 4 * N * N)
			x = (float)(i % 1000) * 0.013f + 1e-3f, y = (float)(i / 1000) * 0.1f - 10;
		const double want = pow(x, y);
		const float got = v_powf(x, y);

		assert_true(isnan(want) || !signbit(got) == !signbit(want));
		if (!(error(got, want) <= 1))
			wrong("pow", x, y, error(got, want));
	}
	assert_false(failed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_edges),
					    cmocka_unit_test(test_kinds), cmocka_unit_test(test_pairs),
					    cmocka_unit_test(test_remainders),
					    cmocka_unit_test(test_doubles), cmocka_unit_test(test_pow),
					    cmocka_unit_test(test_gelu) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
