/* rt/ops/fft.c - discrete Fourier transforms of any length
 *
 * A line of n numbers is transformed by decimation in time over the prime factors of n; a length with a large prime
 * factor goes through a convolution with a chirp whose length is a power of two (Bluestein).  Calculation is in double
 * for every dtype.
 *
 * A Transform describes an operator: the dims, each padded or cut to a size, the direction, and whether input or output
 * is real.  Real input is transformed as complex and cut to half; a half spectrum is mirrored before its last
 * transform.
 */
#include "block.h"

#include <math.h>
#include <string.h>

RT_FAST

static const double PI = 3.14159265358979323846;

enum { MAX_FACTORS = 64, LARGE_PRIME = 31 };

typedef struct Plan {
	int64_t n, m;              /* m: length of the convolution, 0 when there is none */
	int     sign;              /* of the exponent: -1 forward */
	int     nfactor, factor[MAX_FACTORS];
	RtC128 *root;              /* (n) exp(sign 2 pi i k / n) */
	RtC128 *chirp;             /* (n) exp(sign pi i k k / n) */
	RtC128 *spectrum;          /* (m) of the conjugate chirp, over m */
	const struct Plan *forward, *back;   /* of length m */
} Plan;

static RtC128
times(RtC128 a, RtC128 b)
{
	return (RtC128){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static RtC128
turn(double angle)
{
	return (RtC128){ cos(angle), sin(angle) };
}

/* out = transform of the n = product of factor[level ..] numbers in[0], in[step], ...; root steps by `every`. */
static void
transform(const Plan *p, int level, int64_t n, const RtC128 *in, int64_t step, RtC128 *out, int64_t every)
{
	RtC128 part[LARGE_PRIME];
	int radix;
	int64_t m;

	if (n == 1) {
		*out = *in;
		return;
	}
	radix = p->factor[level];
	m = n / radix;
	for (int r = 0; r < radix; r++)
		transform(p, level + 1, m, in + r * step, step * radix, out + r * m, every * radix);
	for (int64_t k = 0; k < m; k++) {
		if (radix == 2) {
			RtC128 a = out[k], b = times(out[k + m], p->root[k * every]);
			out[k] = (RtC128){ a.re + b.re, a.im + b.im };
			out[k + m] = (RtC128){ a.re - b.re, a.im - b.im };
			continue;
		}
		for (int r = 0; r < radix; r++)
			part[r] = r ? times(out[k + r * m], p->root[r * k * every]) : out[k];
		for (int q = 0; q < radix; q++) {
			RtC128 sum = part[0];
			for (int r = 1; r < radix; r++) {
				RtC128 t = times(part[r], p->root[(int64_t)r * q % radix * m * every]);
				sum.re += t.re;
				sum.im += t.im;
			}
			out[k + q * m] = sum;
		}
	}
}

/* Radices of 4 are not worth their code here; prime factors are taken smallest first. */
static bool
factorise(Plan *p)
{
	int64_t n = p->n;

	for (int64_t f = 2; n > 1; f++)
		for (; n % f == 0; n /= f) {
			if (f > LARGE_PRIME)
				return false;
			p->factor[p->nfactor++] = (int)f;
		}
	return true;
}

static Plan *plan_new(RtCx *, int64_t n, int sign);

static bool
plan_chirp(RtCx *cx, Plan *p)
{
	RtC128 *line;

	for (p->m = 1; p->m < 2 * p->n - 1; p->m *= 2)
		;
	p->forward = plan_new(cx, p->m, -1);
	p->back = p->forward ? plan_new(cx, p->m, 1) : NULL;
	p->chirp = p->back ? rt_scratch(cx, p->n * 16) : NULL;
	p->spectrum = p->chirp ? rt_scratch(cx, p->m * 16) : NULL;
	line = p->spectrum ? rt_scratch(cx, p->m * 16) : NULL;
	if (!line)
		return false;
	memset(line, 0, p->m * 16);
	/* square: k k modulo 2 n */
	for (int64_t k = 0, square = 0; k < p->n; square = (square + 2 * k + 1) % (2 * p->n), k++) {
		RtC128 c = p->chirp[k] = turn(p->sign * PI * (double)square / (double)p->n);
		line[k] = (RtC128){ c.re / (double)p->m, -c.im / (double)p->m };
		if (k)
			line[p->m - k] = line[k];
	}
	transform(p->forward, 0, p->m, line, 1, p->spectrum, 1);
	return true;
}

static Plan *
plan_new(RtCx *cx, int64_t n, int sign)
{
	Plan *p = rt_scratch(cx, sizeof *p);

	if (!p)
		return NULL;
	memset(p, 0, sizeof *p);
	p->n = n;
	p->sign = sign;
	if (!factorise(p))
		return plan_chirp(cx, p) ? p : NULL;
	p->root = rt_scratch(cx, n * 16);
	if (!p->root)
		return NULL;
	for (int64_t k = 0; k < n; k++)
		p->root[k] = turn(sign * 2 * PI * (double)k / (double)n);
	return p;
}

/* work: 2 m numbers when the plan has a chirp */
static void
run_plan(const Plan *p, const RtC128 *in, int64_t step, RtC128 *out, RtC128 *work)
{
	RtC128 *line = work, *other = work + p->m;

	if (!p->m) {
		transform(p, 0, p->n, in, step, out, 1);
		return;
	}
	for (int64_t k = 0; k < p->m; k++)
		line[k] = k < p->n ? times(in[k * step], p->chirp[k]) : (RtC128){ 0, 0 };
	transform(p->forward, 0, p->m, line, 1, other, 1);
	for (int64_t k = 0; k < p->m; k++)
		other[k] = times(other[k], p->spectrum[k]);
	transform(p->back, 0, p->m, other, 1, line, 1);
	for (int64_t k = 0; k < p->n; k++)
		out[k] = times(line[k], p->chirp[k]);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

typedef struct Array {
	int     ndim;
	int64_t dims[RT_MAX_RANK];
	RtC128 *v;                /* contiguous */
} Array;

typedef struct Lines {
	const Plan *plan;
	RtC128 *v, *out;          /* of the array; (lines, n) */
	int64_t n, inner;
} Lines;

static void
run_lines(void *arg, int64_t begin, int64_t end)
{
	const Lines *l = arg;

	for (int64_t i = begin; i < end; i++)
		run_plan(l->plan, l->v + i / l->inner * l->n * l->inner + i % l->inner, l->inner, l->out + i * l->n,
			 NULL);
}

/* Transforms every line along d in place. */
static int
transform_dim(RtCx *cx, Array *a, int d, int sign)
{
	int64_t n = a->dims[d], inner = product(a->dims, d + 1, a->ndim), lines = product(a->dims, 0, d) * inner;
	RtMark mark = rt_scratch_mark(cx);
	Lines l = { plan_new(cx, n, sign), a->v, NULL, n, inner };
	RtC128 *work;

	if (!l.plan)
		return RT_ERROR;
	l.out = rt_scratch(cx, lines * n * 16);
	work = l.out ? rt_scratch(cx, l.plan->m * 32 + 16) : NULL;
	if (!work)
		return RT_ERROR;
	if (l.plan->m)
		for (int64_t i = 0; i < lines; i++)
			run_plan(l.plan, a->v + i / inner * n * inner + i % inner, inner, l.out + i * n, work);
	else
		rt_parallel(cx, lines, 1 + 4096 / n, run_lines, &l);
	for (int64_t i = 0; i < lines; i++) {
		RtC128 *to = a->v + i / inner * n * inner + i % inner;
		for (int64_t k = 0; k < n; k++)
			to[k * inner] = l.out[i * n + k];
	}
	rt_scratch_reset(cx, mark);
	return RT_OK;
}

/* a with dim d cut or padded with zeros to n, mirrored: to a whole spectrum from its half. */
static int
resize_dim(RtCx *cx, Array *a, int d, int64_t n, bool mirrored)
{
	int64_t was = a->dims[d], inner = product(a->dims, d + 1, a->ndim), outer = product(a->dims, 0, d);
	RtC128 *v;

	if (was == n)
		return RT_OK;
	v = rt_scratch(cx, outer * n * inner * 16);
	if (!v)
		return RT_ERROR;
	for (int64_t o = 0; o < outer; o++)
		for (int64_t k = 0; k < n; k++) {
			int64_t at = mirrored && k >= was ? n - k : k;
			RtC128 *to = v + (o * n + k) * inner;
			const RtC128 *from = a->v + (o * was + at) * inner;
			if (at >= was)
				memset(to, 0, inner * 16);
			else
				memcpy(to, from, inner * 16);
			for (int64_t i = 0; at != k && i < inner; i++)
				to[i].im = -to[i].im;
		}
	a->v = v;
	a->dims[d] = n;
	return RT_OK;
}

static void
conjugate(Array *a)
{
	for (int64_t i = 0, n = product(a->dims, 0, a->ndim); i < n; i++)
		a->v[i].im = -a->v[i].im;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

typedef enum Ends { COMPLEX, FROM_REAL, TO_REAL, FROM_REAL_WHOLE } Ends;

typedef struct Transform {
	Ends    ends;
	bool    forward;          /* says how the default norm scales */
	bool    conjugated;       /* the result (FROM_REAL) or the input (TO_REAL) is: hfft, ihfft */
	int     n, dim[RT_MAX_RANK];
	int64_t size[RT_MAX_RANK];    /* of the signal along dim[i], after padding */
	double  scale;
} Transform;

static int
check_kind(RtCx *cx, const char *name, const Transform *t, const RtTensor *x)
{
	if (x->dtype == RT_f16 || x->dtype == RT_bf16 || x->dtype == RT_c32)
		return rt_raise(cx, "Unsupported dtype %s", rt_dtypes[x->dtype].brief);
	if ((t->ends == FROM_REAL || t->ends == FROM_REAL_WHOLE) && rt_is_complex((RtDtype)x->dtype))
		return rt_raise(cx, "%s expects a real input tensor, but got %s", name, rt_dtypes[x->dtype].brief);
	for (int i = 0; i < t->n; i++)
		if (t->size[i] < 1)
			return rt_raise(cx, "Invalid number of data points (%lld) specified", (long long)t->size[i]);
	return RT_OK;
}

/* Real input and result of c2r take the directions as they are; conjugated ones run the other way round. */
static int
run_array(RtCx *cx, const Transform *t, Array *a)
{
	int last = t->n ? t->dim[t->n - 1] : 0, sign = t->forward != t->conjugated ? -1 : 1;

	for (int i = 0; i < t->n; i++) {
		bool half = t->ends == TO_REAL && i == t->n - 1;
		if (resize_dim(cx, a, t->dim[i], half ? t->size[i] / 2 + 1 : t->size[i], false))
			return RT_ERROR;
	}
	if (t->ends == TO_REAL && t->conjugated)
		conjugate(a);
	if (t->ends == FROM_REAL && t->n) {
		if (transform_dim(cx, a, last, -1) || resize_dim(cx, a, last, t->size[t->n - 1] / 2 + 1, false))
			return RT_ERROR;
		sign = -1;
	}
	for (int i = 0; i < t->n - (t->ends == FROM_REAL || t->ends == TO_REAL); i++)
		if (transform_dim(cx, a, t->dim[i], t->ends == TO_REAL ? 1 : sign))
			return RT_ERROR;
	if (t->ends == TO_REAL && t->n
			&& (resize_dim(cx, a, last, t->size[t->n - 1], true) || transform_dim(cx, a, last, 1)))
		return RT_ERROR;
	if (t->ends == FROM_REAL && t->conjugated)
		conjugate(a);
	return RT_OK;
}

static int
fft(RtCx *cx, const char *name, const Transform *t, RtTensor *x, IValue *out)
{
	RtDtype real = x->dtype == RT_f64 || x->dtype == RT_c128 ? RT_f64 : RT_f32;
	int64_t dims[RT_MAX_RANK];
	Array a;
	RtTensor *r, *wide, *result;

	if (check_kind(cx, name, t, x))
		return RT_ERROR;
	memcpy(dims, x->dims, sizeof *dims * x->ndim);
	for (int i = 0; i < t->n; i++)
		dims[t->dim[i]] = t->ends == FROM_REAL && i == t->n - 1 ? t->size[i] / 2 + 1 : t->size[i];
	r = rt_result(cx, 0, t->ends == TO_REAL ? real : rt_complex_type(real), x->ndim, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	if (rt_numel(r) == 0)
		return RT_OK;
	wide = dense_as(cx, x, RT_c128);
	if (!wide)
		return RT_ERROR;
	a.ndim = x->ndim;
	memcpy(a.dims, x->dims, sizeof *dims * x->ndim);
	a.v = rt_scratch(cx, rt_numel(x) * 16 + 16);
	if (!a.v)
		return RT_ERROR;
	memcpy(a.v, rt_data(wide), rt_numel(x) * 16);
	if (run_array(cx, t, &a))
		return RT_ERROR;
	for (int64_t i = 0, n = rt_numel(r); t->scale != 1 && i < n; i++) {
		a.v[i].re *= t->scale;
		a.v[i].im *= t->scale;
	}
	result = rt_temp(cx, rt_tensor_borrow(cx, RT_c128, a.ndim, a.dims, a.v, rt_numel(r) * 16, false));
	if (result && t->ends == TO_REAL) {
		IValue part;
		if (CALL(cx, real, &part, rt_of(result)))
			return RT_ERROR;
		result = part.u.t;
	}
	return result ? rt_copy_into(cx, r, result) : RT_ERROR;
}

/* norm: None or backward, ortho, forward */
static int
norm_of(RtCx *cx, IValue norm, Transform *t)
{
	double n = 1;
	bool forward = t->forward;

	for (int i = 0; i < t->n; i++)
		n *= (double)t->size[i];
	if (norm.tag == RT_STR && strcmp(norm.u.str->s, "backward")) {
		if (!strcmp(norm.u.str->s, "ortho")) {
			t->scale = 1 / sqrt(n);
			return RT_OK;
		}
		if (strcmp(norm.u.str->s, "forward"))
			return rt_raise(cx, "Invalid normalization mode: \"%s\"", norm.u.str->s);
		forward = !forward;
	}
	t->scale = forward ? 1 : 1 / n;
	return RT_OK;
}

static int64_t
default_size(const Transform *t, const RtTensor *x, int i)
{
	int64_t n = x->dims[t->dim[i]];

	return t->ends == TO_REAL && i == t->n - 1 ? 2 * (n - 1) : n;
}

/* (self, int? n, int dim, str? norm) */
static int
one_dim(RtCx *cx, const char *name, const IValue *in, Ends ends, bool forward, bool conjugated, IValue *out)
{
	RtTensor *x = in[0].u.t;
	Transform t = { .ends = ends, .forward = forward, .conjugated = conjugated, .n = 1 };

	t.dim[0] = rt_dim(cx, in[2].u.i, x->ndim);
	if (t.dim[0] < 0)
		return RT_ERROR;
	if (x->ndim == 0)
		return rt_raise(cx, "Dimension specified as %lld but tensor has no dimensions", (long long)in[2].u.i);
	t.size[0] = rt_is_none(in[1]) ? default_size(&t, x, 0) : in[1].u.i;
	return norm_of(cx, in[3], &t) ? RT_ERROR : fft(cx, name, &t, x, out);
}

/* (self, int[]? s, int[]? dim, str? norm) */
static int
many_dims(RtCx *cx, const char *name, const IValue *in, Ends ends, bool forward, bool conjugated, IValue *out)
{
	RtTensor *x = in[0].u.t;
	Transform t = { .ends = ends, .forward = forward, .conjugated = conjugated };
	int64_t dims[RT_MAX_RANK], sizes[RT_MAX_RANK];
	int nsize = rt_is_none(in[1]) ? 0 : rt_ints(cx, in[1], sizes, RT_MAX_RANK);
	uint64_t seen = 0;

	if (nsize < 0)
		return RT_ERROR;
	t.n = rt_is_none(in[2]) ? (rt_is_none(in[1]) ? x->ndim : nsize) : rt_ints(cx, in[2], dims, RT_MAX_RANK);
	if (t.n < 0)
		return RT_ERROR;
	if (!rt_is_none(in[1]) && nsize != t.n)
		return rt_raise(cx, "When given, dim and shape arguments must have the same length");
	if (t.n > x->ndim)
		return rt_raise(cx, "Got shape with %d values but input tensor only has %d dimensions.", t.n, x->ndim);
	if (t.n == 0 && ends != COMPLEX)
		return rt_raise(cx, "%s must transform at least one axis", name);
	for (int i = 0; i < t.n; i++) {
		t.dim[i] = rt_dim(cx, rt_is_none(in[2]) ? x->ndim - t.n + i : dims[i], x->ndim);
		if (t.dim[i] < 0)
			return RT_ERROR;
		if (seen >> t.dim[i] & 1)
			return rt_raise(cx, "FFT dims must be unique");
		seen |= UINT64_C(1) << t.dim[i];
		t.size[i] = rt_is_none(in[1]) || sizes[i] == -1 ? default_size(&t, x, i) : sizes[i];
	}
	return norm_of(cx, in[3], &t) ? RT_ERROR : fft(cx, name, &t, x, out);
}

/* FFT(name, arguments, ends, forward, conjugated) */
#define FFT(name, arguments, ends, forward, conjugated) \
	int rt_fft_##name(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		return arguments(cx, #name, in, ends, forward, conjugated, out); \
	}
FFT(fft, one_dim, COMPLEX, true, false)
FFT(ifft, one_dim, COMPLEX, false, false)
FFT(rfft, one_dim, FROM_REAL, true, false)
FFT(irfft, one_dim, TO_REAL, false, false)
FFT(hfft, one_dim, TO_REAL, true, true)
FFT(ihfft, one_dim, FROM_REAL, false, true)
FFT(fft2, many_dims, COMPLEX, true, false)
FFT(ifft2, many_dims, COMPLEX, false, false)
FFT(rfft2, many_dims, FROM_REAL, true, false)
FFT(irfft2, many_dims, TO_REAL, false, false)
FFT(hfft2, many_dims, TO_REAL, true, true)
FFT(ihfft2, many_dims, FROM_REAL, false, true)
FFT(fftn, many_dims, COMPLEX, true, false)
FFT(ifftn, many_dims, COMPLEX, false, false)
FFT(rfftn, many_dims, FROM_REAL, true, false)
FFT(irfftn, many_dims, TO_REAL, false, false)
FFT(hfftn, many_dims, TO_REAL, true, true)
FFT(ihfftn, many_dims, FROM_REAL, false, true)
#undef FFT

/* The three that the others are made of in PyTorch: normalization 0 none, 1 by the root of n, 2 by n. */
static int
primitive(RtCx *cx, const char *name, const IValue *in, Transform *t, int64_t last, IValue *out)
{
	RtTensor *x = in[0].u.t;
	int64_t dims[RT_MAX_RANK];
	double n = 1;

	t->n = rt_ints(cx, in[1], dims, RT_MAX_RANK);
	if (t->n < 0)
		return RT_ERROR;
	for (int i = 0; i < t->n; i++) {
		t->dim[i] = rt_dim(cx, dims[i], x->ndim);
		if (t->dim[i] < 0)
			return RT_ERROR;
		t->size[i] = last && i == t->n - 1 ? last : x->ndim ? x->dims[t->dim[i]] : 1;
		n *= (double)t->size[i];
	}
	t->scale = in[2].u.i == 0 ? 1 : in[2].u.i == 1 ? 1 / sqrt(n) : 1 / n;
	return x->ndim == 0 ? rt_raise(cx, "%s: the input has no dimensions", name) : fft(cx, name, t, x, out);
}

int
rt__fft_c2c(RtCx *cx, const IValue *in, IValue *out)
{
	Transform t = { .ends = COMPLEX, .forward = in[3].u.i };

	return primitive(cx, "_fft_c2c", in, &t, 0, out);
}

int
rt__fft_r2c(RtCx *cx, const IValue *in, IValue *out)
{
	Transform t = { .ends = in[3].u.i ? FROM_REAL : FROM_REAL_WHOLE, .forward = true };

	return primitive(cx, "_fft_r2c", in, &t, 0, out);
}

int
rt__fft_c2r(RtCx *cx, const IValue *in, IValue *out)
{
	Transform t = { .ends = TO_REAL };

	return primitive(cx, "_fft_c2r", in, &t, in[3].u.i, out);
}
