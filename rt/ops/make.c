/* rt/ops/make.c - new tensors: constant values, ranges
 *
 * The arguments of all these operators begin with a size, or with a tensor that the result is like. They end with
 * dtype, layout, device, pin_memory and sometimes memory_format. Only strided layouts are supported. A device argument
 * means the program's own device. */
#include "block.h"
#include "quant.h"

double ceil(double);
double cos(double);
double log(double);
double pow(double, double);
double sin(double);

/* ---- sizes, types, formats ------------------------------------------------------------------------------ */

/* Reads the size argument and returns its length. -1, with an error raised, if a size is negative or there are too
 * many. */
static int
sizes(RtCx *cx, IValue list, int64_t *dims)
{
	int n = rt_ints(cx, list, dims, RT_MAX_RANK);
	char text[SIZES_TEXT];

	for (int i = 0; i < n; i++)
		if (dims[i] < 0) {
			rt_raise(cx, "Trying to create tensor with negative dimension %lld: %s", (long long)dims[i],
				sizes_text(text, n, dims));
			return -1;
		}
	return n;
}

static RtDtype
type_or(IValue dtype, RtDtype otherwise)
{
	return rt_dtype_or(dtype, otherwise);
}

static int
only_strided(RtCx *cx, IValue layout)
{
	return rt_int_or(layout, 0) == 0 ? RT_OK : rt_lacks(cx, "sparse tensors");
}

/* Returns the default dtype of a tensor made from a number. */
static RtDtype
number_type(IValue v)
{
	return v.tag == RT_INT ? RT_i64 : v.tag == RT_BOOL ? RT_b8 : v.tag == RT_COMPLEX ? RT_c64 : RT_f32;
}

/* Makes a tensor filled with a value. options: dtype, layout, ... */
static int
filled(RtCx *cx, IValue size, RtDtype deflt, const IValue *options, const IValue *value, IValue *out)
{
	int64_t dims[RT_MAX_RANK];
	int n = sizes(cx, size, dims);
	RtTensor *r;

	if (n < 0 || only_strided(cx, options[1]))
		return RT_ERROR;
	r = rt_result(cx, 0, type_or(options[0], deflt), n, dims, 0);
	RT_RESULT(cx, r, out[0]);
	return value ? rt_fill(cx, r, *value) : RT_OK;
}

int
rt_zeros(RtCx *cx, const IValue *in, IValue *out)
{
	IValue zero = rt_int(0);

	return filled(cx, in[0], RT_f32, in + 1, &zero, out);
}

KERNEL(_efficientzerotensor, rt_zeros(cx, in, out))

int
rt_ones(RtCx *cx, const IValue *in, IValue *out)
{
	IValue one = rt_int(1);

	return filled(cx, in[0], RT_f32, in + 1, &one, out);
}

KERNEL(full, filled(cx, in[0], number_type(in[1]), in + 2, &in[1], out))

/* Makes a tensor of zeros, so that a program's output never depends on old memory. */
int
rt_empty_memory_format(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int n = sizes(cx, in[0], dims);
	int64_t format = rt_int_or(in[5], 0);
	RtTensor *r;

	if (n < 0 || only_strided(cx, in[2]) ||
	    rt_format_strides(cx, format == 1 ? 0 : format, n, dims, strides))
		return RT_ERROR;
	r = rt_result(cx, 0, type_or(in[1], RT_f32), n, dims, strides);
	RT_RESULT(cx, r, out[0]);
	return rt_fill(cx, r, rt_int(0));
}

/* ---- tensors like another one ------------------------------------------------------------------------------- */

/* Makes a tensor like t. format: None or preserve keeps a dense permutation of dims. */
static int
like(RtCx *cx, RtTensor *t, const IValue *options, IValue format, IValue value, IValue *out)
{
	int64_t strides[RT_MAX_RANK], f = rt_int_or(format, 1);
	RtTensor *r;

	if (only_strided(cx, options[1]))
		return RT_ERROR;
	if (f == 1)
		rt_result_strides(t->ndim, t->dims, 1, &t, strides);
	else if (rt_format_strides(cx, f, t->ndim, t->dims, strides))
		return RT_ERROR;
	r = rt_result(cx, 0, type_or(options[0], (RtDtype)t->dtype), t->ndim, t->dims, strides);
	if (r && t->quant && r->dtype == t->dtype)
		rt_tensor_share_quant(r, t);
	RT_RESULT(cx, r, out[0]);
	return r->quant ? rt_quantized->write(cx, r, value) : rt_fill(cx, r, value);
}

KERNEL(empty_like, like(cx, in[0].u.t, in + 1, in[5], rt_int(0), out))
KERNEL(zeros_like, like(cx, in[0].u.t, in + 1, in[5], rt_int(0), out))
KERNEL(ones_like, like(cx, in[0].u.t, in + 1, in[5], rt_int(1), out))
KERNEL(full_like, like(cx, in[0].u.t, in + 2, in[6], in[1], out))

int
rt_new_empty(RtCx *cx, const IValue *in, IValue *out)
{
	IValue zero = rt_int(0);

	return filled(cx, in[1], (RtDtype)in[0].u.t->dtype, in + 2, &zero, out);
}

KERNEL(new_zeros, rt_new_empty(cx, in, out))

int
rt_new_ones(RtCx *cx, const IValue *in, IValue *out)
{
	IValue one = rt_int(1);

	return filled(cx, in[1], (RtDtype)in[0].u.t->dtype, in + 2, &one, out);
}

KERNEL(new_full, filled(cx, in[1], (RtDtype)in[0].u.t->dtype, in + 3, &in[2], out))

static int
strided(RtCx *cx, IValue size, IValue stride, RtDtype d, IValue *out)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int n = sizes(cx, size, dims), m = rt_ints(cx, stride, strides, RT_MAX_RANK);
	RtTensor *r;

	if (n < 0 || m < 0)
		return RT_ERROR;
	if (n != m)
		return rt_raise(cx, "mismatch in length of strides and shape");
	for (int i = 0; i < n; i++)
		if (strides[i] < 0)
			return rt_raise(cx, "as_strided: Negative strides are not supported at the moment, got "
					"strides: [%lld]", (long long)strides[i]);
	r = rt_result(cx, 0, d, n, dims, strides);
	RT_RESULT(cx, r, out[0]);
	return rt_fill(cx, r, rt_int(0));
}

KERNEL(empty_strided, strided(cx, in[0], in[1], type_or(in[2], RT_f32), out))
KERNEL(new_empty_strided, strided(cx, in[1], in[2], type_or(in[3], (RtDtype)in[0].u.t->dtype), out))

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

enum { CHUNK = 512 };

/* A range: elements start + i * step. Past the middle of a linspace, elements are counted from the end. */
typedef struct Count {
	bool    integer;
	int64_t istart, istep;
	double  start, step, end;
	int64_t half, last;    /* elements from `half` on are end - (last - i) * step; half is n if there are none */
	double  base;              /* base of the powers; NaN if the elements are not powers */
	double  im_start, im_step;
	/* the first `blocked` elements are in blocks of `block`; each element is computed from its block's first one */
	int64_t block, blocked;
	/* whether a block's first element, and the distance from it, are rounded to float; otherwise the first element
	 * is truncated */
	bool    single;
} Count;

static double
count_at(const Count *c, int64_t i)
{
	int64_t first = i < c->blocked ? i / c->block * c->block : i;
	double x = first < c->half ? c->start + (double)first * c->step : c->end - (double)(c->last - first) * c->step;

	if (i >= c->blocked)
		return x;
	return c->single ? (double)(float)x + (double)((float)(i - first) * (float)c->step) :
		(double)(int64_t)x + (double)(i - first) * c->step;
}

/* Stores element i of a complex range. `re` is the real part, or the real part of the power. */
static void
count_complex(const Count *c, int64_t i, double re, double *to)
{
	double im = c->im_start + (double)i * c->im_step, size, angle;

	if (c->base == c->base) {
		size = pow(c->base, re);
		angle = im * log(c->base);
		re = size * cos(angle);
		im = size * sin(angle);
	}
	to[0] = re;
	to[1] = im;
}

static void
count_into(RtTensor *r, const Count *c)
{
	_Alignas(16) double block[2 * CHUNK];
	int64_t *ints = (int64_t *)(void *)block, n = rt_numel(r), bytes = rt_dtypes[r->dtype].bytes;
	bool complex = rt_is_complex((RtDtype)r->dtype);
	RtDtype as = complex ? RT_c128 : c->integer ? RT_i64 : RT_f64;

	for (int64_t at = 0, m; at < n; at += m) {
		m = n - at < CHUNK ? n - at : CHUNK;
		for (int64_t k = 0; k < m; k++) {
			int64_t i = at + k;
			double x = count_at(c, i);
			if (!complex && c->base == c->base)
				x = pow(c->base, x);
			if (complex)
				count_complex(c, i, x, block + 2 * k);
			else if (c->integer)
				ints[k] = (int64_t)((uint64_t)c->istart + (uint64_t)i * (uint64_t)c->istep);
			else
				block[k] = x;
		}
		rt_cast((RtDtype)r->dtype, rt_data(r) + at * bytes, as, block, m);
	}
}

static int
counted(RtCx *cx, RtDtype d, int64_t n, const Count *c, IValue *out)
{
	RtTensor *r = rt_result(cx, 0, d, 1, &n, 0);

	RT_RESULT(cx, r, out[0]);
	count_into(r, c);
	return RT_OK;
}

static bool
is_finite(double x)
{
	return x - x == 0;
}

/* Computes the number of steps from start to before end (arange), or to end (range: `closed`). */
static int
steps_between(RtCx *cx, const Count *c, IValue start, IValue end, bool closed, int64_t *n)
{
	double a = rt_number(start), b = rt_number(end), s = c->integer ? (double)c->istep : c->step, size;

	if (s == 0)
		return rt_raise(cx, "step must be nonzero");
	if (!is_finite(a) || !is_finite(b))
		return rt_raise(cx, "unsupported range: %g -> %g", a, b);
	if ((s > 0 && b < a) || (s < 0 && b > a))
		return rt_raise(cx, "upper bound and larger bound inconsistent with step sign");
	size = closed ? (double)(int64_t)((b - a) / s + 1) : ceil((b - a) / s);
	if (c->integer && !closed) {
		int64_t span = rt_integer(end) - rt_integer(start);
		*n = (span + c->istep - (c->istep > 0 ? 1 : -1)) / c->istep;
		return RT_OK;
	}
	if (!(size >= 0 && size < 9e18))
		return rt_raise(cx, "invalid size, possible overflow?");
	*n = (int64_t)size;
	return RT_OK;
}

typedef struct Span { IValue start, end, step; bool closed; } Span; /* closed: whether end is included, as in range() */

static int
arange(RtCx *cx, const Span *s, const IValue *options, IValue *out)
{
	const IValue start = s->start, end = s->end, step = s->step;
	const bool closed = s->closed;
	bool ints = start.tag != RT_DOUBLE && end.tag != RT_DOUBLE && step.tag != RT_DOUBLE;
	RtDtype d = type_or(options[0], ints && !closed ? RT_i64 : RT_f32);
	Count c = { .integer = rt_is_integral(d, true), .half = INT64_MAX, .base = 0.0 / 0.0 };
	int64_t n = 0;

	if (rt_not_stored_only(cx, "arange_cpu", d))
		return RT_ERROR;
	c.istart = rt_integer(start), c.istep = rt_integer(step);
	c.start = rt_number(start), c.step = rt_number(step);
	/* The size follows from the numbers as given, the elements from truncated ones. */
	if (c.integer && d != RT_i64 && !ints) {
		Count f = c;
		f.integer = false;
		if (steps_between(cx, &f, start, end, closed, &n))
			return RT_ERROR;
	} else if (steps_between(cx, &c, start, end, closed, &n)) {
		return RT_ERROR;
	}
	return counted(cx, d, n, &c, out);
}

KERNEL(arange, arange(cx, &(Span){ rt_int(0), in[0], rt_int(1), false }, in + 1, out))
KERNEL(arange_start, arange(cx, &(Span){ in[0], in[1], rt_int(1), false }, in + 2, out))
KERNEL(arange_start_step, arange(cx, &(Span){ in[0], in[1], in[2], false }, in + 3, out))
KERNEL(range, arange(cx, &(Span){ in[0], in[1], rt_int(1), true }, in + 2, out))
KERNEL(range_step, arange(cx, &(Span){ in[0], in[1], in[2], true }, in + 3, out))

static double
imaginary(IValue v)
{
	return v.tag == RT_COMPLEX ? v.u.c->im : 0;
}

static int
spaced(RtCx *cx, const char *name, const IValue *in, double base, IValue dtype, IValue *out)
{
	bool complex = in[0].tag == RT_COMPLEX || in[1].tag == RT_COMPLEX;
	RtDtype d = type_or(dtype, complex ? RT_c64 : RT_f32);
	int64_t n = rt_integer(in[2]);
	double a = rt_number(in[0]), b = rt_number(in[1]), gaps = n > 1 ? (double)(n - 1) : 1;
	Count c = { .half = n / 2, .last = n - 1, .base = base };

	if (n < 0)
		return rt_raise(cx, "number of steps must be non-negative");
	if (n > 1 && rt_not_stored_only(cx, base != base ? "linspace_cpu" : "logspace_cpu", d))
		return RT_ERROR;
	if (complex && !rt_is_complex(d))
		return rt_raise(cx, "%s(): inferred dtype ComplexFloat can't be safely cast to passed dtype %s", name,
				rt_dtypes[d].brief);
	if ((n && rt_check_number(cx, in[0], d)) || (n > 1 && rt_check_number(cx, in[1], d)))
		return RT_ERROR;
	c.single = d == RT_f32 && base != base;
	if (rt_is_integral(d, true)) {
		a = (double)(int64_t)a;
		b = (double)(int64_t)b;
	} else if (c.single) {
		a = (float)a;
		b = (float)b;
	}
	/* Truncation depends on blocks, which are ATen's vectors of 32 bytes. */
	if (base != base && rt_is_integral(d, true)) {
		c.block = 32 / rt_dtypes[d].bytes;
		c.blocked = n / (2 * c.block) * (2 * c.block);
	}
	c.start = a, c.end = b, c.step = c.single ? ((float)b - (float)a) / (float)gaps : (b - a) / gaps;
	c.im_start = imaginary(in[0]), c.im_step = (imaginary(in[1]) - c.im_start) / gaps;
	if (n == 1)
		c.half = 1;
	return counted(cx, d, n, &c, out);
}

KERNEL(linspace, spaced(cx, "torch.linspace", in, 0.0 / 0.0, in[3], out))
KERNEL(logspace, spaced(cx, "torch.logspace", in, rt_number(in[3]), in[4], out))

static int
eye(RtCx *cx, int64_t n, int64_t m, RtDtype d, IValue *out)
{
	RtTensor *r, *diagonal;
	int64_t few = n < m ? n : m;

	if (n < 0 || m < 0)
		return rt_raise(cx, "%c must be greater or equal to 0, got %lld", n < 0 ? 'n' : 'm',
				(long long)(n < 0 ? n : m));
	if (rt_category(d) == 'U' && rt_not_stored_only(cx, "eye", d))
		return RT_ERROR;
	r = rt_result(cx, 0, d, 2, (int64_t[2]){ n, m }, 0);
	RT_RESULT(cx, r, out[0]);
	if (rt_fill(cx, r, rt_int(0)))
		return RT_ERROR;
	diagonal = rt_temp(cx, rt_tensor_view(cx, r, 1, &few, (int64_t[1]){ m + 1 }, r->offset));
	return diagonal ? rt_fill(cx, diagonal, rt_int(1)) : RT_ERROR;
}

KERNEL(eye, eye(cx, rt_integer(in[0]), rt_integer(in[0]), type_or(in[1], RT_f32), out))
KERNEL(eye_m, eye(cx, rt_integer(in[0]), rt_integer(in[1]), type_or(in[2], RT_f32), out))

/* ---- positions in a triangle ------------------------------------------------------------------------------------- */

/* Sets the range of columns [from, to) of a row that are in the triangle. */
static void
triangle_row(bool upper, int64_t row, int64_t offset, int64_t cols, int64_t *from, int64_t *to)
{
	int64_t edge = row + offset + (upper ? 0 : 1);

	edge = edge < 0 ? 0 : edge > cols ? cols : edge;
	*from = upper ? edge : 0;
	*to = upper ? cols : edge;
}

static int
triangle(RtCx *cx, bool upper, const IValue *in, IValue *out)
{
	int64_t rows = rt_integer(in[0]), cols = rt_integer(in[1]), offset = rt_integer(in[2]), dims[2] = { 2, 0 },
		from, to;
	RtTensor *r;

	if (rows < 0 || cols < 0)
		return rt_raise(cx, "%s must be non-negative, got%lld", rows < 0 ? "row" : "col",
				(long long)(rows < 0 ? rows : cols));
	for (int64_t i = 0; i < rows && cols; i++) {
		triangle_row(upper, i, offset, cols, &from, &to);
		dims[1] += to - from;
	}
	r = rt_result(cx, 0, type_or(in[3], RT_i64), 2, dims, 0);
	RT_RESULT(cx, r, out[0]);
	for (int64_t i = 0, k = 0, bytes = rt_dtypes[r->dtype].bytes; i < rows && cols; i++) {
		triangle_row(upper, i, offset, cols, &from, &to);
		for (int64_t j = from; j < to; j++, k++) {
			rt_cast((RtDtype)r->dtype, rt_data(r) + k * bytes, RT_i64, &i, 1);
			rt_cast((RtDtype)r->dtype, rt_data(r) + (dims[1] + k) * bytes, RT_i64, &j, 1);
		}
	}
	return RT_OK;
}

KERNEL(tril_indices, triangle(cx, false, in, out))
KERNEL(triu_indices, triangle(cx, true, in, out))
