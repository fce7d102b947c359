/*
 * Operators on numbers.
 *
 * One function serves all overloads of an operator and looks at the tags of its arguments. Two ints compute the int
 * overload, a complex number makes the operator complex, and all other numbers are double. A bool counts as an int.
 * Arithmetic is that of PyTorch: ints wrap around, // and % round towards minus infinity, and / of ints is a division
 * of doubles.
 */
#ifndef __TINYC__
#include <complex.h>
#endif
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

static bool
is_int(IValue v)
{
	return v.tag == RT_INT || v.tag == RT_BOOL;
}

static double
real(IValue v)
{
	return v.tag == RT_DOUBLE ? v.u.f : v.tag == RT_COMPLEX ? v.u.c->re : (double)v.u.i;
}

static double
imag(IValue v)
{
	return v.tag == RT_COMPLEX ? v.u.c->im : 0;
}

static int
put_complex_parts(RtCx *cx, double re, double im, IValue *out)
{
	*out = rt_complex(cx, re, im);
	return out->tag == RT_COMPLEX ? RT_OK : RT_ERROR;
}

#ifdef __TINYC__
#define put_complex(cx, z, out) rt_lacks((cx), "arithmetic of complex numbers where tcc compiles the runtime")
#else
typedef double _Complex C128;

static C128
cplx(IValue v)
{
	C128 z = real(v);

	__imag__ z = imag(v);
	return z;
}

static int
put_complex(RtCx *cx, C128 z, IValue *out)
{
	return put_complex_parts(cx, __real__ z, __imag__ z, out);
}
#endif

static int
put_real(double f, IValue *out)
{
	*out = rt_double(f);
	return RT_OK;
}

static bool
any_complex(const IValue *in)
{
	return in[0].tag == RT_COMPLEX || in[1].tag == RT_COMPLEX;
}

static bool
both_int(const IValue *in)
{
	return is_int(in[0]) && is_int(in[1]);
}

/* Converts as a cast on x86 does. A number out of range becomes the smallest int. */
static int64_t
to_int(double f)
{
	return f >= -0x1p63 && f < 0x1p63 ? (int64_t)f : INT64_MIN;
}

static int64_t
wrap(uint64_t u)
{
	return (int64_t)u;
}

/* ---- arithmetic ------------------------------------------------------------------------------------------ */

#define ARITHMETIC(name, op) \
	static int \
	name(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		if (both_int(in)) \
			return put_int(wrap((uint64_t)in[0].u.i op (uint64_t)in[1].u.i), out); \
		if (any_complex(in)) \
			return put_complex(cx, cplx(in[0]) op cplx(in[1]), out); \
		return put_real(real(in[0]) op real(in[1]), out); \
	}
ARITHMETIC(add, +)
ARITHMETIC(sub, -)
ARITHMETIC(mul, *)

static int
divide(RtCx *cx, const IValue *in, IValue *out)
{
	if (any_complex(in))
		return put_complex(cx, cplx(in[0]) / cplx(in[1]), out);
	return put_real(real(in[0]) / real(in[1]), out);
}

static int64_t
floor_quotient(int64_t a, int64_t b)
{
	int64_t q;

	if (b == -1)
		return wrap(-(uint64_t)a);
	q = a / b;
	return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t
floor_rest(int64_t a, int64_t b)
{
	int64_t r = b == -1 ? 0 : a % b;

	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int
floor_divide(RtCx *cx, const IValue *in, IValue *out)
{
	if (!both_int(in))
		return put_real(floor(real(in[0]) / real(in[1])), out);
	if (in[1].u.i == 0)
		return rt_raise(cx, "division by 0");
	return put_int(floor_quotient(in[0].u.i, in[1].u.i), out);
}

/* Computes %. PyTorch crashes for int % 0. */
static int
rest(RtCx *cx, const IValue *in, IValue *out)
{
	double a, b;

	if (!both_int(in)) {
		a = real(in[0]), b = real(in[1]);
		return put_real(fmod(b + fmod(a, b), b), out);
	}
	if (in[1].u.i == 0)
		return rt_raise(cx, "division by 0");
	return put_int(floor_rest(in[0].u.i, in[1].u.i), out);
}

#define NOT_WHOLE "Cannot convert float %f to integer"

/* Whether the number is in the range of int64. */
static bool
fits_int64(double f)
{
	return f >= -0x1p63 && f < 0x1p63;
}

static int
divide_with_rest(RtCx *cx, const IValue *in, IValue *out)
{
	double a = real(in[0]), b = real(in[1]), r;

	if (b == 0)
		return rt_raise(cx, both_int(in) ? "ZeroDivisionError: integer division or modulo by zero"
			: "ZeroDivisionError: float divmod()");
	if (both_int(in)) {
		out[0] = rt_int(floor_quotient(in[0].u.i, in[1].u.i));
		out[1] = rt_int(floor_rest(in[0].u.i, in[1].u.i));
		return RT_OK;
	}
	r = fmod(a, b);
	if (r != 0 && (a < 0) != (b < 0))
		r += b;
	out[0] = rt_double((a - r) / b);
	out[1] = rt_double(r);
	return RT_OK;
}

/* Divides an int by a float, or a float by an int. PyTorch does this in C with 32 bits for each. */
static int
divide_mixed(RtCx *cx, const IValue *in, IValue *out)
{
	double v[2], q;

	for (int i = 0; i < 2; i++)
		v[i] = is_int(in[i]) ? (double)(int32_t)in[i].u.i : (double)(float)real(in[i]);
	if (v[1] == 0)
		return rt_raise(cx, "ZeroDivisionError: float divmod()");
	q = floor((double)((float)v[0] / (float)v[1]));
	if (!fits_int64(q))
		return rt_raise(cx, NOT_WHOLE, q);
	out[0] = rt_double((double)(int64_t)q);
	out[1] = rt_double(v[0] - q * v[1]);
	return RT_OK;
}

int
rt___round_to_zero_floordiv_int(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[1].u.i == 0)
		return rt_raise(cx, "division by 0");
	return put_int(in[1].u.i == -1 ? wrap(-(uint64_t)in[0].u.i) : in[0].u.i / in[1].u.i, out);
}

static int
power(RtCx *cx, const IValue *in, IValue *out)
{
	if (any_complex(in))
		return put_complex(cx, cpow(cplx(in[0]), cplx(in[1])), out);
	if (real(in[0]) == 0 && real(in[1]) < 0)
		return rt_raise(cx, "0.0 cannot be raised to a negative power");
	return put_real(pow(real(in[0]), real(in[1])), out);
}

int
rt_pow_int_to_int(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[0].u.i == 0 && in[1].u.i < 0)
		return rt_raise(cx, "0.0 cannot be raised to a negative power");
	return put_int(to_int(pow((double)in[0].u.i, (double)in[1].u.i)), out);
}

static int
negate(RtCx *cx, const IValue *in, IValue *out)
{
	if (is_int(in[0]))
		return put_int(wrap(-(uint64_t)in[0].u.i), out);
	if (in[0].tag == RT_COMPLEX)
		return put_complex_parts(cx, -real(in[0]), -imag(in[0]), out);
	return put_real(-real(in[0]), out);
}

static int
put_magnitude(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	if (is_int(in[0]))
		return put_int(in[0].u.i < 0 ? wrap(-(uint64_t)in[0].u.i) : in[0].u.i, out);
	return put_real(in[0].tag == RT_COMPLEX ? hypot(real(in[0]), imag(in[0])) : fabs(real(in[0])), out);
}

/* Rounds a float to float32, as kernels do. */
static int
single(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	return put_real((double)(float)real(in[0]), out);
}

/* Returns the first argument if they are equal or not ordered, as std::min and std::max do. */
static int
smaller(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	if (both_int(in))
		return put_int(in[1].u.i < in[0].u.i ? in[1].u.i : in[0].u.i, out);
	return put_real(real(in[0]) < real(in[1]) ? real(in[0]) : real(in[1]), out);
}

static int
larger(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	if (both_int(in))
		return put_int(in[0].u.i < in[1].u.i ? in[1].u.i : in[0].u.i, out);
	return put_real(real(in[0]) > real(in[1]) ? real(in[0]) : real(in[1]), out);
}

/* ---- bits --------------------------------------------------------------------------------------------------- */

#define BITS(name, op) \
	static int \
	name(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		(void)cx; \
		out->tag = in[0].tag; \
		out->u.i = in[0].u.i op in[1].u.i; \
		return RT_OK; \
	}
BITS(bits_and, &)
BITS(bits_or, |)
BITS(bits_xor, ^)

KERNEL(__lshift___int, put_int(wrap((uint64_t)in[0].u.i << (in[1].u.i & 63)), out))
KERNEL(__rshift___int, put_int(in[0].u.i >> (in[1].u.i & 63), out))
KERNEL(__not__, put_bool(!in[0].u.i, out))

/* ---- comparisons ----------------------------------------------------------------------------------------------- */

#define COMPARE(name, op) \
	static KERNEL_FN(name, put_bool(both_int(in) ? in[0].u.i op in[1].u.i : real(in[0]) op real(in[1]), out))
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)

static bool
same(const IValue *in)
{
	if (both_int(in))
		return in[0].u.i == in[1].u.i;
	return real(in[0]) == real(in[1]) && imag(in[0]) == imag(in[1]);
}

static KERNEL_FN(eq, put_bool(same(in), out))
static KERNEL_FN(ne, put_bool(!same(in), out))

/* ---- functions of one number ------------------------------------------------------------------------------------- */

#define MATH(name, f, c) \
	static KERNEL_FN(math_##name, \
		in[0].tag == RT_COMPLEX ? put_complex(cx, c(cplx(in[0])), out) : put_real(f(real(in[0])), out))
#define MATH_REAL(name, f) static KERNEL_FN(math_##name, put_real(f(real(in[0])), out))

#define clog_10(z) (clog(z) / M_LN10)

static double
degrees(double f)
{
	return f * (180.0 / M_PI);
}

static double
radians(double f)
{
	return f * (M_PI / 180.0);
}

static double
phase(double f)
{
	return isnan(f) ? f : f < 0 ? M_PI : 0;
}

MATH(acos, acos, cacos)
MATH(acosh, acosh, cacosh)
MATH(asin, asin, casin)
MATH(asinh, asinh, casinh)
MATH(atan, atan, catan)
MATH(atanh, atanh, catanh)
MATH(cos, cos, ccos)
MATH(cosh, cosh, ccosh)
MATH(exp, exp, cexp)
MATH(log, log, clog)
MATH(log10, log10, clog_10)
MATH(sin, sin, csin)
MATH(sinh, sinh, csinh)
MATH(sqrt, sqrt, csqrt)
MATH(tan, tan, ctan)
MATH(tanh, tanh, ctanh)
MATH_REAL(degrees, degrees)
MATH_REAL(radians, radians)
MATH_REAL(erf, erf)
MATH_REAL(erfc, erfc)
MATH_REAL(expm1, expm1)
MATH_REAL(fabs, fabs)
MATH_REAL(gamma, tgamma)
MATH_REAL(lgamma, lgamma)
MATH_REAL(log1p, log1p)
MATH_REAL(round, rint)

static KERNEL_FN(math_angle, put_real(in[0].tag == RT_COMPLEX ? atan2(imag(in[0]), real(in[0])) : phase(real(in[0])),
				      out))

/* Returns a rounded number as an int. Unlike int(), it raises an error if the number is out of range. */
static int
put_whole(RtCx *cx, double f, IValue *out)
{
	if (!fits_int64(f))
		return rt_raise(cx, NOT_WHOLE, f);
	return put_int((int64_t)f, out);
}

static KERNEL_FN(math_ceil, is_int(in[0]) ? put_int(in[0].u.i, out) : put_whole(cx, ceil(real(in[0])), out))
static KERNEL_FN(math_floor, is_int(in[0]) ? put_int(in[0].u.i, out) : put_whole(cx, floor(real(in[0])), out))
static KERNEL_FN(is_nan, put_bool(isnan(real(in[0])) || isnan(imag(in[0])), out))
static KERNEL_FN(is_inf, put_bool(isinf(real(in[0])) || isinf(imag(in[0])), out))
KERNEL(isfinite_float, put_bool(isfinite(in[0].u.f), out))
KERNEL(isfinite_complex, put_bool(isfinite(in[0].u.c->re) && isfinite(in[0].u.c->im), out))

/* ---- functions of two numbers ------------------------------------------------------------------------------------ */

#define MATH2(name, f) static KERNEL_FN(math_##name, put_real(f(real(in[0]), real(in[1])), out))
MATH2(atan2, atan2)
MATH2(copysign, copysign)
MATH2(fmod, fmod)
MATH2(mathremainder, remainder)

static int
log_to_base(RtCx *cx, const IValue *in, IValue *out)
{
	if (any_complex(in))
		return put_complex(cx, clog(cplx(in[0])) / clog(cplx(in[1])), out);
	return put_real(log(real(in[0])) / log(real(in[1])), out);
}

static int
polar(RtCx *cx, const IValue *in, IValue *out)
{
	double r = real(in[0]), angle = real(in[1]);

	return put_complex_parts(cx, r * cos(angle), r * sin(angle), out);
}

int
rt_ldexp(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t e = in[1].u.i;

	(void)cx;
	return put_real(ldexp(in[0].u.f, e > 5000 ? 5000 : e < -5000 ? -5000 : (int)e), out);
}

int
rt_frexp(RtCx *cx, const IValue *in, IValue *out)
{
	int e = 0;

	(void)cx;
	out[0] = rt_double(frexp(in[0].u.f, &e));
	out[1] = rt_int(e);
	return RT_OK;
}

int
rt_modf(RtCx *cx, const IValue *in, IValue *out)
{
	double whole;

	(void)cx;
	out[0] = rt_double(modf(in[0].u.f, &whole));
	out[1] = rt_double(whole);
	return RT_OK;
}

int
rt_factorial_int(RtCx *cx, const IValue *in, IValue *out)
{
	uint64_t product = 1;

	if (in[0].u.i < 0)
		return rt_raise(cx, "factorial() not defined for negative values");
	for (int64_t i = 2; i <= in[0].u.i && product; i++)      /* from 66! on the product is 0 in 64 bits */
		product *= (uint64_t)i;
	return put_int(wrap(product), out);
}

int
rt_gcd_int(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t a = in[0].u.i, b = in[1].u.i, r;

	(void)cx;
	while (b != 0) {
		r = b == -1 ? 0 : a % b;
		a = b;
		b = r;
	}
	return put_int(a < 0 ? wrap(-(uint64_t)a) : a, out);
}

/* ---- conversions ------------------------------------------------------------------------------------------------- */

static KERNEL_FN(int_of, put_int(is_int(in[0]) ? in[0].u.i : to_int(real(in[0])), out))
static KERNEL_FN(float_of, put_real(real(in[0]), out))
static KERNEL_FN(bool_of, put_bool(is_int(in[0]) ? in[0].u.i != 0 : real(in[0]) != 0, out))
KERNEL(Complex_Scalar, put_complex_parts(cx, real(in[0]), imag(in[0]), out))

/* Makes a complex number from two tensors or numbers. A tensor must have one element. */
static int
complex_of_two(RtCx *cx, const IValue *in, IValue *out)
{
	double part[2];
	IValue v;

	for (int i = 0; i < 2; i++) {
		v = in[i];
		if (v.tag == RT_TENSOR && rt_aten_item(cx, &in[i], &v))
			return cx->status ? cx->status : RT_UNKNOWN_META;
		part[i] = real(v);
		if (in[i].tag == RT_TENSOR)
			rt_release(v);
	}
	*out = rt_complex(cx, part[0], part[1]);
	return out->tag == RT_COMPLEX ? RT_OK : RT_ERROR;
}

/* Parses an int. Skips leading blanks. The remaining text must be the number, as for std::stoll and std::stod. */
int
rt_Int_str(RtCx *cx, const IValue *in, IValue *out)
{
	const RtStr *s = in[0].u.str;
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s->s, &end, 10);
	if (end == s->s || errno == ERANGE)
		return rt_raise(cx, "stoll");
	if (end != s->s + s->n)
		return rt_raise(cx, "invalid literal for int() with base 10: '%s'", s->s);
	return put_int(v, out);
}

int
rt_Float_str(RtCx *cx, const IValue *in, IValue *out)
{
	const RtStr *s = in[0].u.str;
	char *end;
	double v = strtod(s->s, &end);

	if (end == s->s || (isinf(v) && !strpbrk(s->s, "nN")))
		return rt_raise(cx, "stod");
	if (end != s->s + s->n)
		return rt_raise(cx, "could not convert string to float: '%s'", s->s);
	return put_real(v, out);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

int
rt___range_length(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t lo = in[0].u.i, hi = in[1].u.i, step = in[2].u.i;
	uint64_t gap, n = 0;

	if (step == 0)
		return rt_raise(cx, "range() arg 3 must not be zero");
	if (step > 0 && lo < hi) {
		gap = (uint64_t)hi - (uint64_t)lo - 1;
		n = gap / (uint64_t)step + 1;
	} else if (step < 0 && lo > hi) {
		gap = (uint64_t)lo - (uint64_t)hi - 1;
		n = gap / -(uint64_t)step + 1;
	}
	return put_int(wrap(n), out);
}

KERNEL(__derive_index, put_int(wrap((uint64_t)in[1].u.i + (uint64_t)in[0].u.i * (uint64_t)in[2].u.i), out))

/* ---- operators that share a function ----------------------------------------------------------------------------- */

#define OP(id, schema, rule, effect, gradient)
#define SHARED(id, schema, function) KERNEL(id, function(cx, in, out))
#define TRAIT(space, name, what)
#define SIZES(id, rule)
#include "scalar.def"
