/* rt/ops/fft.c - discrete Fourier transforms of any length
 *
 * A line of n numbers is transformed in stages, one for each factor of n: 4, 2, and odd primes. A length with a large
 * prime factor becomes a convolution with a chirp, whose length is a power of two (Bluestein), in double. Several lines
 * are transformed together. A real line of even length is transformed as half as many complex numbers. Two real lines
 * of odd length are the real and imaginary parts of one complex line.
 *
 * A Transform describes an operator: the dims, each padded or cut to a size, the direction, and whether input or output
 * is real. The full spectrum of a real signal is mirrored from its half. */
#include "block.h"
#include "vmath.h"
#include "vturn.h"

#include <math.h>
#include <string.h>

RT_FAST

static const double PI = 3.14159265358979323846;

enum { MAX_FACTORS = 64, LARGE_PRIME = 31, LANES = VQ_SIDE, FEW_LINES = 4, SIDE_BY_SIDE = 4096, APART = 24,
       MOST_ODD = 3 };

#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__
#define ROLLED _Pragma("GCC unroll 1")
#define INLINE static inline __attribute__((always_inline))
#define SCALAR static __attribute__((noinline, optimize("no-tree-vectorize")))
#else
#define ROLLED
#define INLINE static inline
#define SCALAR static
#endif
/* Loops over w numbers, `by` at a time. `by` is a constant, so that the inner loop becomes vectors. */
#define EACH_OF(q, w, by) \
	for (int64_t q##0 = 0; q##0 < (w); q##0 += (by)) \
		IVDEP ROLLED \
		for (int64_t q = q##0; q < q##0 + (by); q++)

typedef struct Plan {
	int64_t n;
	int     nfactor, factor[MAX_FACTORS];
	/* (n) roots exp(-2 pi i k / n), as pairs of the compute type; the next two members are pairs, too */
	void   *root;
	void   *chirp;             /* (n) numbers exp(-pi i k k / n), if n has a large prime factor; otherwise null */
	void   *spectrum;    /* (of long_) spectrum of the conjugate chirp, divided by its length; null without chirp */
	const struct Plan *long_;  /* plan of the chirp's convolution; null without chirp */
} Plan;

typedef enum LineKind { LINES_THERE, LINES_BACK, LINES_FROM_REAL, LINES_TO_REAL } LineKind;

/* Lines along one dim, from x to y: (outer, n, inner). The spectrum of 2 n reals has n + 1 elements. */
typedef struct Lines {
	const void *x;
	void       *y;
	LineKind    kind;
	const Plan *plan;
	const void *halves;       /* (n + 1) roots exp(-2 pi i k / 2 n), for reals; otherwise null */
	/* lanes: number of lines that are transformed together; room: largest number of elements of a line */
	int64_t     lines, inner, lanes, room;
	bool        failed;       /* whether memory was exhausted */
} Lines;

/* Finds the prime factors, smallest first; two twos become 4. Returns false if there is a large prime. */
static bool
factorise(Plan *p)
{
	int64_t n = p->n;

	for (; n % 4 == 0; n /= 4)
		p->factor[p->nfactor++] = 4;
	for (int64_t f = 2; n > 1; f++)
		for (; n % f == 0; n /= f) {
			if (f > LARGE_PRIME)
				return false;
			p->factor[p->nfactor++] = (int)f;
		}
	return true;
}

#define T float
#define N(name) name##_f32
#include "fft_loops.h"
#define T double
#define N(name) name##_f64
#include "fft_loops.h"

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

typedef struct Array {
	RtDtype part;             /* f32 or f64: type of the numbers, or of their real and imaginary parts */
	int     ndim;
	int64_t dims[RT_MAX_RANK];
	void   *v;                /* contiguous elements */
} Array;

static int64_t
part_bytes(const Array *a)
{
	return rt_dtypes[a->part].bytes;
}

/* Transforms all lines along dim d, which gets `size` elements. The array becomes the result. */
static int
transform_dim(RtCx *cx, Array *a, int d, LineKind kind, int64_t size)
{
	const bool reals = kind == LINES_FROM_REAL || kind == LINES_TO_REAL, wide = a->part == RT_f64;
	const int64_t n = reals ? (kind == LINES_TO_REAL ? size : a->dims[d]) / 2 : size;
	const int64_t inner = product(a->dims, d + 1, a->ndim), lines = product(a->dims, 0, d) * inner;
	const int64_t bytes = lines * size * part_bytes(a) * (kind == LINES_TO_REAL ? 1 : 2);
	Lines l = { .x = a->v, .y = rt_scratch(cx, bytes + 16), .kind = kind, .lines = lines, .inner = inner };
	RtMark mark = rt_scratch_mark(cx);

	l.plan = !l.y ? NULL : wide ? plan_f64(cx, n) : plan_f32(cx, n);
	l.halves = !l.plan || !reals ? NULL : wide ? (void *)roots_f64(cx, n + 1, 2 * n) : roots_f32(cx, n + 1, 2 * n);
	if (!l.plan || (reals && !l.halves))
		return RT_ERROR;
	l.room = l.plan->long_ ? l.plan->long_->n : n + 1;
	l.lanes = lines >= FEW_LINES && l.room <= SIDE_BY_SIDE ? LANES : 1;
	rt_parallel(cx, (lines + l.lanes - 1) / l.lanes, 1 + 4096 / (n * l.lanes),
		    wide ? run_lines_f64 : run_lines_f32, &l);
	rt_scratch_reset(cx, mark);
	a->v = l.y;
	a->dims[d] = size;
	return l.failed ? rt_raise(cx, "out of memory") : RT_OK;
}

/* Cuts dim d of a to size n, or pads it with zeros. `mirrored` extends half a spectrum to the whole one. With `reals`,
 * elements are not pairs. */
static int
resize_dim(RtCx *cx, Array *a, int d, int64_t n, bool mirrored, bool reals)
{
	const int64_t was = a->dims[d], inner = product(a->dims, d + 1, a->ndim), outer = product(a->dims, 0, d);
	const int64_t row = inner * part_bytes(a) * (reals ? 1 : 2), kept = was < n ? was : n;
	char *v;

	if (was == n)
		return RT_OK;
	v = rt_scratch(cx, outer * n * row + 16);
	if (!v)
		return RT_ERROR;
	for (int64_t o = 0; o < outer; o++) {
		char *to = v + o * n * row;
		const char *from = (const char *)a->v + o * was * row;

		memcpy(to, from, kept * row);
		if (!mirrored)
			memset(to + kept * row, 0, (n - kept) * row);
		else if (a->part == RT_f64)
			mirror_f64((double *)(void *)to, (const double *)(const void *)from, kept, n, inner);
		else
			mirror_f32((float *)(void *)to, (const float *)(const void *)from, kept, n, inner);
	}
	a->v = v;
	a->dims[d] = n;
	return RT_OK;
}

static void
conjugate(Array *a)
{
	const int64_t n = product(a->dims, 0, a->ndim);

	if (a->part == RT_f64)
		for (int64_t i = 0; i < n; i++)
			((double *)a->v)[2 * i + 1] *= -1;
	else
		for (int64_t i = 0; i < n; i++)
			((float *)a->v)[2 * i + 1] *= -1;
}

static void
scale(Array *a, int64_t parts, double by)
{
	const float single = (float)by;

	if (a->part == RT_f64)
		for (int64_t i = 0; i < parts; i++)
			((double *)a->v)[i] *= by;
	else
		for (int64_t i = 0; i < parts; i++)
			((float *)a->v)[i] *= single;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

typedef enum Ends { COMPLEX, FROM_REAL, TO_REAL, FROM_REAL_WHOLE } Ends;

typedef struct Form { Ends ends; bool forward, conjugated; } Form; /* kind of operator; same members as in Transform */

typedef struct Transform {
	Ends    ends;
	bool    forward;          /* direction, which decides how the default norm scales */
	/* whether the result (FROM_REAL) or the input (TO_REAL) is conjugated, as in hfft and ihfft */
	bool    conjugated;
	int     n, dim[RT_MAX_RANK];
	int64_t size[RT_MAX_RANK];    /* size of the signal along dim[i], after padding */
	double  scale;
} Transform;

static int
check_kind(RtCx *cx, const char *name, const Transform *t, const RtTensor *x)
{
	if (x->dtype == RT_f16 || x->dtype == RT_bf16 || x->dtype == RT_c32 || rt_category((RtDtype)x->dtype) == 'E')
		return rt_raise(cx, "Unsupported dtype %s", rt_dtypes[x->dtype].brief);
	if ((t->ends == FROM_REAL || t->ends == FROM_REAL_WHOLE) && rt_is_complex((RtDtype)x->dtype))
		return rt_raise(cx, "%s expects a real input tensor, but got %s", name, rt_dtypes[x->dtype].brief);
	for (int i = 0; i < t->n; i++)
		if (t->size[i] < 1)
			return rt_raise(cx, "Invalid number of data points (%lld) specified", (long long)t->size[i]);
	return RT_OK;
}

/* Transforms real lines of odd length in pairs. Requires an even number of slices before dim d: half of the lines
 * become the imaginary parts of the others. */
static int
from_real_pairs(RtCx *cx, Array *a, int d)
{
	const int64_t n = a->dims[d], inner = product(a->dims, d + 1, a->ndim), pairs = product(a->dims, 0, d) / 2;
	const int64_t bytes = part_bytes(a), count = pairs * n * inner;
	Array z = { a->part, 3, { pairs, n, inner }, rt_scratch(cx, 2 * count * bytes + 16) };

	if (!z.v)
		return RT_ERROR;
	for (int half = 0; half < 2; half++)
		rt_cast_strided((char *)z.v + half * bytes, (RtRun){ a->part, 2 * bytes },
				(char *)a->v + half * count * bytes, (RtRun){ a->part, bytes }, count);
	if (transform_dim(cx, &z, 1, LINES_THERE, n) ||
	    !(a->v = rt_scratch(cx, 4 * pairs * (n / 2 + 1) * inner * bytes + 16)))
		return RT_ERROR;
	if (a->part == RT_f64)
		unpair_f64(a->v, z.v, pairs, n, inner);
	else
		unpair_f32(a->v, z.v, pairs, n, inner);
	a->dims[d] = n / 2 + 1;
	return RT_OK;
}

/* Transforms lines of n real numbers along dim d of a to half spectra. */
static int
from_real(RtCx *cx, Array *a, int d)
{
	const int64_t n = a->dims[d], count = product(a->dims, 0, a->ndim);
	char *v;

	if (n % 2 == 0)
		return transform_dim(cx, a, d, LINES_FROM_REAL, n / 2 + 1);
	if (product(a->dims, 0, d) % 2 == 0)
		return from_real_pairs(cx, a, d);
	v = rt_scratch(cx, 2 * count * part_bytes(a) + 16);
	if (!v)
		return RT_ERROR;
	memset(v, 0, 2 * count * part_bytes(a));
	rt_cast_strided(v, (RtRun){ a->part, 2 * part_bytes(a) }, a->v, (RtRun){ a->part, part_bytes(a) }, count);
	a->v = v;
	return transform_dim(cx, a, d, LINES_THERE, n) || resize_dim(cx, a, d, n / 2 + 1, false, false);
}

/* Transforms half spectra along dim d to lines of n real numbers. */
static int
to_real(RtCx *cx, Array *a, int d, int64_t n)
{
	if (n % 2 == 0)
		return transform_dim(cx, a, d, LINES_TO_REAL, n);
	if (resize_dim(cx, a, d, n, true, false) || transform_dim(cx, a, d, LINES_BACK, n))
		return RT_ERROR;
	rt_cast_strided(a->v, (RtRun){ a->part, part_bytes(a) },
			a->v, (RtRun){ a->part, 2 * part_bytes(a) }, product(a->dims, 0, a->ndim));
	return RT_OK;
}

/* Runs the transform on a. `reals` tells whether a has real numbers, because the signal is real and transformed
 * first. */
static int
run_array(RtCx *cx, const Transform *t, Array *a, bool reals)
{
	const int last = t->n ? t->dim[t->n - 1] : 0, sign = t->forward != t->conjugated ? -1 : 1;
	const bool half = t->ends == FROM_REAL || t->ends == TO_REAL;
	LineKind kind = t->ends == TO_REAL || sign > 0 ? LINES_BACK : LINES_THERE;

	for (int i = 0; i < t->n; i++) {
		const bool short_ = t->ends == TO_REAL && i == t->n - 1;

		if (resize_dim(cx, a, t->dim[i], short_ ? t->size[i] / 2 + 1 : t->size[i], false, reals))
			return RT_ERROR;
	}
	if (t->ends == TO_REAL && t->conjugated)
		conjugate(a);
	if (reals && from_real(cx, a, last))
		return RT_ERROR;
	if (reals && !half) {
		if (resize_dim(cx, a, last, t->size[t->n - 1], true, false))
			return RT_ERROR;
		if (kind == LINES_BACK)
			conjugate(a);
	}
	if (t->ends == FROM_REAL)
		kind = LINES_THERE;
	for (int i = 0; i < t->n - (half || reals); i++)
		if (transform_dim(cx, a, t->dim[i], kind, t->size[i]))
			return RT_ERROR;
	if (t->ends == TO_REAL && t->n && to_real(cx, a, last, t->size[t->n - 1]))
		return RT_ERROR;
	if (t->ends == FROM_REAL && t->conjugated)
		conjugate(a);
	return RT_OK;
}

/* Returns the type in which lines are computed. Double for chirps, because floats would lose digits. */
static RtDtype
compute_part(const Transform *t, RtDtype real)
{
	for (int i = 0; i < t->n && real == RT_f32; i++)
		if (!factorise(&(Plan){ .n = t->size[i] }))
			return RT_f64;
	return real;
}

static int
fft(RtCx *cx, const char *name, const Transform *t, RtTensor *x, IValue *out)
{
	const RtDtype real = x->dtype == RT_f64 || x->dtype == RT_c128 ? RT_f64 : RT_f32;
	const bool reals = t->n && t->ends != TO_REAL && !rt_is_complex((RtDtype)x->dtype);
	int64_t dims[RT_MAX_RANK], parts, bytes;
	RtDtype kind;
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
	a.part = compute_part(t, real);
	a.ndim = x->ndim;
	memcpy(a.dims, x->dims, sizeof *dims * x->ndim);
	kind = reals ? a.part : rt_complex_type(a.part);
	wide = dense_as(cx, x, kind);
	bytes = rt_numel(x) * rt_dtypes[kind].bytes;
	a.v = !wide ? NULL : t->conjugated ? rt_scratch(cx, bytes + 16) : rt_data(wide);
	if (!a.v)
		return RT_ERROR;
	if (t->conjugated)                       /* run_array writes to it */
		memcpy(a.v, rt_data(wide), bytes);
	if (run_array(cx, t, &a, reals))
		return RT_ERROR;
	parts = rt_numel(r) * (t->ends == TO_REAL ? 1 : 2);
	if (t->scale != 1)
		scale(&a, parts, t->scale);
	kind = t->ends == TO_REAL ? a.part : rt_complex_type(a.part);
	result = rt_temp(cx, rt_tensor_borrow(cx, kind, a.ndim, a.dims, a.v, false));
	return result ? rt_copy_into(cx, r, result) : RT_ERROR;
}

/* Sets the factor of the result. norm is None or "backward", "ortho", "forward". */
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

/* Runs an operator with the arguments (self, int? n, int dim, str? norm). */
static int
one_dim(RtCx *cx, const char *name, const IValue *in, Form form, IValue *out)
{
	RtTensor *x = in[0].u.t;
	Transform t = { form.ends, form.forward, form.conjugated, .n = 1 };

	t.dim[0] = rt_dim(cx, in[2].u.i, x->ndim);
	if (t.dim[0] < 0)
		return RT_ERROR;
	if (x->ndim == 0)
		return rt_raise(cx, "Dimension specified as %lld but tensor has no dimensions", (long long)in[2].u.i);
	t.size[0] = rt_is_none(in[1]) ? default_size(&t, x, 0) : in[1].u.i;
	return norm_of(cx, in[3], &t) ? RT_ERROR : fft(cx, name, &t, x, out);
}

/* Runs an operator with the arguments (self, int[]? s, int[]? dim, str? norm). */
static int
many_dims(RtCx *cx, const char *name, const IValue *in, Form form, IValue *out)
{
	RtTensor *x = in[0].u.t;
	Transform t = { form.ends, form.forward, form.conjugated, .n = 0 };
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
	if (t.n == 0 && t.ends != COMPLEX)
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

/* FFT(name, arguments, ends, forward, conjugated): defines the kernel of an operator. */
#define FFT(name, arguments, ends, forward, conjugated) \
	int rt_fft_##name(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		return arguments(cx, #name, in, (Form){ ends, forward, conjugated }, out); \
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

/* Runs one of PyTorch's three primitives, of which its other operators consist. normalization: 0 none, 1 by the square
 * root of n, 2 by n. */
static int
primitive(RtCx *cx, const char *name, const IValue *in, Transform *t, int64_t last, IValue *out)
{
	RtTensor *x = in[0].u.t;
	int64_t dims[RT_MAX_RANK];
	uint64_t seen = 0;
	double n = 1;

	t->n = rt_ints(cx, in[1], dims, RT_MAX_RANK);
	if (t->n < 0)
		return RT_ERROR;
	for (int i = 0; i < t->n; i++) {
		t->dim[i] = rt_dim(cx, dims[i], x->ndim);
		if (t->dim[i] < 0)
			return RT_ERROR;
		if (seen >> t->dim[i] & 1)
			return rt_raise(cx, "FFT dims must be unique");
		seen |= UINT64_C(1) << t->dim[i];
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
