/* rt/print.c - prints values as PyTorch prints them in TorchScript
 *
 * Numbers are printed as by C++ streams: 17 significant digits, `1.` for a whole float. Tensors are printed in ATen's
 * stream form. Each matrix has one format, chosen from the exponents of its smallest and largest element. A common
 * factor is printed in front if they are far from 1. Columns are cut at 80 characters, and `[ CPUFloatType{2,3} ]` is
 * at the end. The precision that a format sets stays set for the matrices after it, as in the original. An integer
 * without dimensions has all digits. */
#include "rt.h"
#include "base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 80, DEEP = 200 };

/* State of a C++ stream: form (%g, %e or %f) and number of digits. */
typedef struct Format {
	char   form;
	int    precision;
	double scale;       /* common factor of the matrix; elements are divided by it */
	int    width;       /* width of a column */
} Format;

static void
put_formatted(Buf *b, const Format *f, int width, double x)
{
	switch (f->form) {
	case 'e': buf_printf(b, "%*.*e", width, f->precision, x); break;
	case 'f': buf_printf(b, "%*.*f", width, f->precision, x); break;
	default:  buf_printf(b, "%*.*g", width, f->precision, x); break;
	}
}

static void
choose_scientific(Format *f)
{
	f->width = 11;
	f->form = 'e';
	f->precision = 4;
}

static double
exponent(double x)
{
	return x != 0 ? floor(log10(x)) + 1 : 1;
}

/* Returns 10 to the power of n. Replaces pow(), which adds 6 KB to a statically linked program. */
static double
power_of_ten(int n)
{
	char text[16];

	snprintf(text, sizeof text, "1e%d", n);
	return strtod(text, NULL);
}

/* Chooses form, scale and width for n elements. */
static void
choose_format(Format *f, const double *v, int64_t n)
{
	double least = 1, most = 1;
	bool whole = true;
	int64_t i = 0;

	f->scale = 1;
	for (int64_t k = 0; k < n && whole; k++)
		whole = !isfinite(v[k]) || v[k] == floor(v[k]);
	while (i < n && !isfinite(v[i]))
		i++;
	if (i < n) {
		least = most = fabs(v[i]);
		for (; i < n; i++) {
			if (!isfinite(v[i]))
				continue;
			if (fabs(v[i]) < least)
				least = fabs(v[i]);
			if (v[i] > most)
				most = v[i];
		}
		least = exponent(least);
		most = exponent(most);
	}
	if (whole && most > 9) {
		choose_scientific(f);
	} else if (whole) {
		f->width = (int)most + 1;
		f->form = 'g';
	} else if (most - least > 4) {
		choose_scientific(f);
		f->width += fabs(most) > 99 || fabs(least) > 99;
	} else {
		f->form = 'f';
		f->precision = 4;
		f->width = most > 5 || most <= 0 ? 7 : (int)most + 6;
		if (most > 5 || most < 0)
			f->scale = power_of_ten((int)most - 1);
	}
}

static void
put_scale(Buf *b, const Format *f)
{
	buf_printf(b, "%.*g *\n", f->precision, f->scale);
}

static void
put_matrix(Buf *b, Format *f, const double *v, int64_t rows, int64_t cols, int indent)
{
	int64_t per, last;

	choose_format(f, v, rows * cols);
	buf_printf(b, "%*s", indent, "");
	per = (LINE - indent) / (f->width + 1);
	for (int64_t first = 0; first < cols; first = last + 1) {
		last = first + per <= cols ? first + per - 1 : cols - 1;
		if (per < cols) {
			buf_puts(b, first ? "\n" : "");
			buf_printf(b, "Columns %lld to %lld%*s", (long long)first + 1, (long long)last + 1, indent, "");
		}
		if (f->scale != 1) {
			put_scale(b, f);
			buf_printf(b, "%*s", indent, "");
		}
		for (int64_t r = 0; r < rows; r++) {
			for (int64_t c = first; c <= last; c++) {
				put_formatted(b, f, f->width, v[r * cols + c] / f->scale);
				buf_puts(b, c == last ? "\n" : " ");
			}
			if (r != rows - 1)
				buf_printf(b, "%*s%s", indent, "", f->scale != 1 ? " " : "");
		}
	}
}

/* Prints all matrices; the index of the first outer dim runs fastest. */
static void
put_matrices(Buf *b, Format *f, const double *v, const RtTensor *t)
{
	int outer = t->ndim - 2;
	int64_t rows = t->dims[outer], cols = t->dims[outer + 1], at[RT_MAX_RANK] = { 0 }, count = 1, k;

	for (int i = 0; i < outer; i++)
		count *= t->dims[i];
	for (int64_t m = 0; m < count; m++) {
		k = 0;
		for (int i = 0; i < outer; i++)
			k = k * t->dims[i] + at[i];
		buf_puts(b, m ? "\n(" : "(");
		for (int i = 0; i < outer; i++)
			buf_printf(b, "%lld,", (long long)at[i] + 1);
		buf_puts(b, ".,.) = \n");
		put_matrix(b, f, v + k * rows * cols, rows, cols, 1);
		for (int i = 0; i < outer && ++at[i] == t->dims[i]; i++)
			at[i] = 0;
	}
}

/* Returns the value of the integer q. `channel` is its index along the quantization axis, if t is quantized per
 * channel. */
static double
dequantized(const RtTensor *t, double q, int64_t channel)
{
	const RtQuant *s = t->quant;
	double scale = s->scale, zero = (double)s->zero;

	if (s->scales && s->zeros) {
		scale = rt_load_f64((RtDtype)s->scales->dtype, rt_data(s->scales) + channel * s->scales->strides[0] *
			rt_dtypes[s->scales->dtype].bytes);
		zero = rt_load_f64((RtDtype)s->zeros->dtype, rt_data(s->zeros) + channel * s->zeros->strides[0] *
			rt_dtypes[s->zeros->dtype].bytes);
	}
	return (double)(float)((q - zero) * (float)scale);
}

/* Returns the elements in C order, as doubles. Null if memory is exhausted, without raising an error. */
static double *
elements(const RtTensor *t)
{
	int64_t n = rt_numel(t), at, rest, size = rt_dtypes[t->dtype].bytes, channel = 0;
	double *v = rt_mem(n * 8);

	if (!v && !rt_mem_cut(NULL))
		out_of_memory();
	if (!v)
		return NULL;

	for (int64_t i = 0; i < n; i++) {
		at = 0;
		rest = i;
		for (int d = t->ndim; d-- > 0; rest /= t->dims[d]) {
			at += rest % t->dims[d] * t->strides[d];
			if (t->quant && d == t->quant->axis)
				channel = rest % t->dims[d];
		}
		v[i] = rt_load_f64((RtDtype)t->dtype, rt_data(t) + at * size);
		if (t->flags & RT_NEG && t->dtype != RT_b8)
			v[i] = -v[i];
		if (t->quant)
			v[i] = dequantized(t, v[i], channel);
	}
	return v;
}

static void
put_quant(Buf *b, const Format *f, const RtQuant *q)
{
	static const char *const scheme[] = { "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric",
		"per_channel_symmetric", "per_channel_affine_float_qparams" };

	buf_printf(b, ", qscheme: %s", scheme[q->scheme >= 0 && q->scheme < 5 ? q->scheme : 0]);
	if (q->scales && q->zeros) {
		buf_puts(b, ", scales: ");
		rt_format_tensor(b, q->scales);
		buf_puts(b, ", zero_points: ");
		rt_format_tensor(b, q->zeros);
		buf_printf(b, ", axis: %lld", (long long)q->axis);
	} else {
		buf_puts(b, ", scale: ");
		put_formatted(b, f, 0, q->scale);
		buf_printf(b, ", zero_point: %lld", (long long)q->zero);
	}
}

/* Prints all digits of an integer without dimensions, as PyTorch 2.15 does. PyTorch 1.13 printed 2.1e+06 for
 * 2100000. */
static void
put_integer(Buf *b, const RtTensor *t)
{
	const int64_t v = rt_load_i64((RtDtype)t->dtype, rt_data(t));

	buf_printf(b, t->dtype == RT_u64 ? "%llu\n" : "%lld\n", (long long)(t->flags & RT_NEG ? -v : v));
}

void
rt_format_tensor(struct Buf *b, const RtTensor *t)
{
	Format f = { .form = 'g', .precision = 6, .scale = 1 };
	int64_t n = rt_numel(t);
	double *v = n && t->storage->data ? elements(t) : 0;

	if (v && t->ndim == 0 && rt_kind((RtDtype)t->dtype) == 'I' && !t->quant) {
		put_integer(b, t);
	} else if (v && t->ndim == 0) {
		put_formatted(b, &f, 0, v[0]);
		buf_puts(b, "\n");
	} else if (v && t->ndim == 1) {
		choose_format(&f, v, n);
		if (f.scale != 1)
			put_scale(b, &f);
		for (int64_t i = 0; i < n; i++) {
			put_formatted(b, &f, f.width, v[i] / f.scale);
			buf_puts(b, "\n");
		}
	} else if (v && t->ndim == 2) {
		put_matrix(b, &f, v, t->dims[0], t->dims[1], 0);
	} else if (v) {
		put_matrices(b, &f, v, t);
	}
	rt_mem_back(v);
	buf_printf(b, "[ %sCPU%sType{", t->quant ? "Quantized" : "", rt_dtypes[t->dtype].brief);
	for (int i = 0; i < t->ndim; i++)
		buf_printf(b, "%s%lld", i ? "," : "", (long long)t->dims[i]);
	buf_puts(b, "}");
	if (t->quant)
		put_quant(b, &f, t->quant);
	buf_puts(b, " ]");
}

/* ---- other values ---------------------------------------------------------------------------------------- */

void
rt_format_double(struct Buf *b, double d)
{
	int c = fpclassify(d);

	if ((c == FP_NORMAL || c == FP_ZERO) && d >= -0x1p63 && d < 0x1p63 && (double)(int64_t)d == d)
		buf_printf(b, "%lld.", (long long)d);
	else if (isnan(d))
		buf_puts(b, signbit(d) ? "-nan" : "nan");
	else
		buf_printf(b, "%.17g", d);
}

static void
put_complex(Buf *b, const RtComplex *c)
{
	rt_format_double(b, c->re);
	buf_puts(b, c->im >= 0 ? "+" : "-");
	rt_format_double(b, fabs(c->im));
	buf_puts(b, "j");
}

static void
put_all(Buf *b, const IValue *v, int64_t n, int depth)
{
	for (int64_t i = 0; i < n; i++) {
		buf_puts(b, i ? ", " : "");
		rt_format_value(b, v[i], depth + 1);
	}
}

static void
put_dict(Buf *b, const RtDict *d, int depth)
{
	bool first = true;

	buf_puts(b, "{");
	for (int64_t i = 0; i < d->used; i++) {
		if (d->at[i].dead)
			continue;
		buf_puts(b, first ? "" : ", ");
		rt_format_value(b, d->at[i].key, depth + 1);
		buf_puts(b, ": ");
		rt_format_value(b, d->at[i].value, depth + 1);
		first = false;
	}
	buf_puts(b, "}");
}

/* Returns the part of a qualified name after the last dot. */
static const char *
short_name(const char *name)
{
	const char *dot = name ? strrchr(name, '.') : 0;

	return dot ? dot + 1 : name ? name : "";
}

static void
put_device(Buf *b, int64_t d)
{
	static const char *const kind[] = { "cpu", "cuda" };
	int64_t k = d >> 8 & 0xff, index = (d & 0xff) - 1;

	buf_puts(b, k < 2 ? kind[k] : "meta");
	if (index >= 0)
		buf_printf(b, ":%lld", (long long)index);
}

void
rt_format_value(struct Buf *b, IValue v, int depth)
{
	if (depth > DEEP) {
		buf_puts(b, "...");
		return;
	}
	switch ((RtTag)v.tag) {
	case RT_NONE:    buf_puts(b, "None"); break;
	case RT_INT:     buf_printf(b, "%lld", (long long)v.u.i); break;
	case RT_DOUBLE:  rt_format_double(b, v.u.f); break;
	case RT_BOOL:    buf_puts(b, v.u.i ? "True" : "False"); break;
	case RT_DEVICE:  put_device(b, v.u.i); break;
	case RT_TENSOR:  rt_format_tensor(b, v.u.t); break;
	case RT_STR:     buf_add(b, v.u.str->s, v.u.str->n); break;
	case RT_LIST:
		buf_puts(b, "[");
		put_all(b, v.u.list->v, v.u.list->n, depth);
		buf_puts(b, "]");
		break;
	case RT_TUPLE:
		buf_puts(b, "(");
		put_all(b, v.u.tuple->v, v.u.tuple->n, depth);
		buf_puts(b, v.u.tuple->n == 1 ? ",)" : ")");
		break;
	case RT_DICT:    put_dict(b, v.u.dict, depth); break;
	case RT_OBJECT:  buf_printf(b, "<%s object at %p>", v.u.obj->cls->name, v.u.p); break;
	case RT_ENUM:    buf_printf(b, "Enum<%s.%s>", short_name(v.u.en->type->name), v.u.en->name->s); break;
	case RT_COMPLEX: put_complex(b, v.u.c); break;
	case RT_FUTURE:  buf_puts(b, "Future"); break;
	case RT_FUNCTION: buf_puts(b, "Function"); break;
	case RT_GENERATOR: buf_puts(b, "Generator"); break;
	case RT_STORAGE: buf_puts(b, "Storage"); break;
	}
}
