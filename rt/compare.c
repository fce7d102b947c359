/* rt/compare.c - compares two results
 *
 * Structure, dtypes, shapes, integers and text must be equal. Floating numbers may differ by the tolerances of their
 * dtype. One tolerance is relative to the number. The other one is absolute, or relative to the tensor's largest finite
 * number if that is more than one: reordered sums differ in proportion to their terms, even if the terms cancel. NaN
 * equals NaN. The first difference is named by its key in an .npz. Printed text is compared word by word. */
#include "host.h"
#include "base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEP = 64 };

static bool close_values(RtCx *, const char *name, IValue got, IValue want, Buf *why, int depth);

void
rt_tolerance(RtDtype d, double *relative, double *absolute)
{
	switch (d) {
	case RT_f16: case RT_c32: *relative = 1e-2, *absolute = 1e-3; break;
	case RT_bf16:             *relative = 4e-2, *absolute = 1e-2; break;
	case RT_f32: case RT_c64: *relative = 2e-4, *absolute = 2e-5; break;
	case RT_f64: case RT_c128: *relative = 1e-6, *absolute = 1e-8; break;
	case RT_f8_e4m3fn: case RT_f8_e4m3fnuz: *relative = 0.125, *absolute = 0x1p-9; break;      /* one ulp */
	case RT_f8_e5m2: case RT_f8_e5m2fnuz: *relative = 0.25, *absolute = 0x1p-16; break;
	default:                  *relative = *absolute = 0; break;
	}
}

static bool
close_numbers(double got, double want, double relative, double absolute)
{
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want);
	return got == want || (isfinite(got) && isfinite(want) && fabs(got - want) <= absolute + relative * fabs(want));
}

static void
put_shape(Buf *b, const RtTensor *t)
{
	buf_printf(b, "%s[", rt_dtypes[t->dtype].torch);
	for (int i = 0; i < t->ndim; i++)
		buf_printf(b, "%s%lld", i ? "x" : "", (long long)t->dims[i]);
	buf_puts(b, "]");
}

static void
put_index(Buf *b, const RtTensor *t, int64_t i)
{
	int64_t at[RT_MAX_RANK];

	for (int d = t->ndim; d-- > 0; i /= t->dims[d])
		at[d] = i % t->dims[d];
	buf_puts(b, "[");
	for (int d = 0; d < t->ndim; d++)
		buf_printf(b, "%s%lld", d ? ", " : "", (long long)at[d]);
	buf_puts(b, "]");
}

/* Returns the largest magnitude of the finite numbers; real and imaginary parts count as numbers. At least 1. */
static double
largest_magnitude(RtDtype d, const char *p, int64_t n)
{
	double largest = 1;

	for (int64_t i = 0; i < n; i++) {
		RtC128 x;

		rt_cast(RT_c128, &x, d, p + i * rt_dtypes[d].bytes, 1);
		if (isfinite(x.re) && isfinite(x.im)) {
			const double most = fabs(x.re) > fabs(x.im) ? fabs(x.re) : fabs(x.im);

			largest = most > largest ? most : largest;
		}
	}
	return largest;
}

/* Compares two contiguous tensors of the same dtype and shape. */
static bool
close_elements(const char *name, const RtTensor *got, const RtTensor *want, Buf *why)
{
	RtDtype d = (RtDtype)got->dtype;
	int64_t size = rt_dtypes[d].bytes, n = rt_numel(got);
	const char *g = rt_data(got), *w = rt_data(want);
	double relative, absolute;
	RtC128 x, y;

	rt_tolerance(d, &relative, &absolute);
	if (!memcmp(g, w, (size_t)(n * size)))
		return true;
	if (relative > 0)
		absolute *= largest_magnitude(d, w, n);
	for (int64_t i = 0; i < n; i++, g += size, w += size) {
		if (!memcmp(g, w, (size_t)size))
			continue;
		rt_cast(RT_c128, &x, d, g, 1);
		rt_cast(RT_c128, &y, d, w, 1);
		if (relative > 0 && close_numbers(x.re, y.re, relative, absolute) &&
		    close_numbers(x.im, y.im, relative, absolute))
			continue;
		buf_puts(why, name);
		put_index(why, got, i);
		buf_printf(why, " is %.9g, expected %.9g", x.re, y.re);
		return false;
	}
	return true;
}

static bool
close_tensors(RtCx *cx, const char *name, RtTensor *got, RtTensor *want, Buf *why)
{
	RtTensor *g, *w;
	bool same;

	if (got->dtype != want->dtype || !rt_same_dims(got, want)) {
		buf_printf(why, "%s is ", name);
		put_shape(why, got);
		buf_puts(why, ", expected ");
		put_shape(why, want);
		return false;
	}
	g = rt_contiguous(cx, got);
	w = g ? rt_contiguous(cx, want) : 0;
	same = w && close_elements(name, g, w, why);
	if (!w)
		buf_puts(why, cx->message);
	rt_tensor_release(g);
	rt_tensor_release(w);
	return same;
}

/* Compares the elements of two lists or two tuples. */
static bool
close_all(RtCx *cx, const char *name, IValue got, IValue want, Buf *why, int depth)
{
	const bool list = got.tag == RT_LIST;
	const IValue *g = list ? got.u.list->v : got.u.tuple->v, *w = list ? want.u.list->v : want.u.tuple->v;
	const int64_t n = list ? got.u.list->n : got.u.tuple->n, m = list ? want.u.list->n : want.u.tuple->n;
	Buf b = { 0 };
	bool same = n == m;

	if (!same)
		buf_printf(why, "%s has %lld elements, expected %lld", name, (long long)n, (long long)m);
	for (int64_t i = 0; i < n && same; i++) {
		b.n = 0;
		buf_printf(&b, "%s.%lld", name, (long long)i);
		same = close_values(cx, b.at, g[i], w[i], why, depth + 1);
	}
	buf_free(&b);
	return same;
}

static bool
close_dicts(RtCx *cx, const char *name, RtDict *got, RtDict *want, Buf *why, int depth)
{
	Buf b = { 0 };
	IValue *v;
	bool same = got->n == want->n;

	if (!same)
		buf_printf(why, "%s has %lld entries, expected %lld", name, (long long)got->n, (long long)want->n);
	for (int64_t i = 0; i < want->used && same; i++) {
		if (want->at[i].dead)
			continue;
		b.n = 0;
		buf_printf(&b, "%s.", name);
		rt_format_value(&b, want->at[i].key, 0);
		if ((v = rt_dict_get(got, want->at[i].key))) {
			same = close_values(cx, b.at, *v, want->at[i].value, why, depth + 1);
		} else {
			buf_printf(why, "%s is missing", b.at);
			same = false;
		}
	}
	buf_free(&b);
	return same;
}

static bool
close_objects(RtCx *cx, const char *name, RtObject *got, RtObject *want, Buf *why, int depth)
{
	Buf b = { 0 };
	bool same = !strcmp(got->cls->name, want->cls->name);

	if (!same)
		buf_printf(why, "%s is a %s, expected %s", name, got->cls->name, want->cls->name);
	for (int i = 0; i < want->cls->nslot && same; i++) {
		b.n = 0;
		buf_printf(&b, "%s.%s", name, want->cls->slot[i]);
		same = close_values(cx, b.at, got->slot[i], want->slot[i], why, depth + 1);
	}
	buf_free(&b);
	return same;
}

static bool
differ(const char *name, IValue got, IValue want, Buf *why)
{
	buf_printf(why, "%s is ", name);
	rt_format_value(why, got, 0);
	buf_puts(why, ", expected ");
	rt_format_value(why, want, 0);
	return false;
}

bool
rt_close_any(RtCx *cx, const char *name, IValue got, IValue want, Buf *why, int depth)
{
	bool same = true;

	switch ((RtTag)got.tag) {
	case RT_LIST:
	case RT_TUPLE:  return close_all(cx, name, got, want, why, depth);
	case RT_DICT:   return close_dicts(cx, name, got.u.dict, want.u.dict, why, depth);
	case RT_OBJECT: return close_objects(cx, name, got.u.obj, want.u.obj, why, depth);
	case RT_DOUBLE:
		return close_numbers(got.u.f, want.u.f, 1e-6, 1e-8) || differ(name, got, want, why);
	case RT_COMPLEX:
		return (close_numbers(got.u.c->re, want.u.c->re, 1e-6, 1e-8) &&
			close_numbers(got.u.c->im, want.u.c->im, 1e-6, 1e-8)) || differ(name, got, want, why);
	case RT_FUTURE: case RT_FUNCTION: case RT_GENERATOR: case RT_STORAGE:
		return true;
	default:
		return (!rt_equal(cx, got, want, &same) && same) || differ(name, got, want, why);
	}
}

static bool
close_values(RtCx *cx, const char *name, IValue got, IValue want, Buf *why, int depth)
{
	if (depth > DEEP)
		return true;
	if (got.tag != want.tag) {
		buf_printf(why, "%s is a %s, ", name, rt_type_of(got));
		buf_printf(why, "expected %s", rt_type_of(want));
		return false;
	}
	if (got.tag == RT_TENSOR)
		return close_tensors(cx, name, got.u.t, want.u.t, why);
	return got.tag == RT_NONE || !rt_close_other || rt_close_other(cx, name, got, want, why, depth);
}

bool
rt_close(RtCx *cx, const char *name, IValue got, IValue want, struct Buf *why)
{
	return close_values(cx, name, got, want, why, 0);
}

/* ---- text --------------------------------------------------------------------------------------------------- */

/* Returns the length of the floating number at s. 0 if there is none. */
static int64_t
float_at(const char *s, double *out)
{
	const size_t digits = strspn(s, "-0123456789");
	char *end;

	if (!digits || (s[digits] != '.' && s[digits] != 'e'))
		return 0;
	*out = strtod(s, &end);
	return end - s;
}

static bool
close_words(const char *got, const char *got_end, const char *want, const char *want_end)
{
	while (got < got_end && want < want_end) {
		double x, y;
		const int64_t n = float_at(got, &x), m = float_at(want, &y);

		if (n && m ? !close_numbers(x, y, 2e-4, 2e-4) : *got != *want)
			return false;
		got += n && m ? n : 1;
		want += n && m ? m : 1;
	}
	return got == got_end && want == want_end;
}

bool
rt_close_text(const char *got, const char *want, Buf *why)
{
	static const char blanks[] = " \t\n";

	for (;;) {
		const char *got_end, *want_end;

		got += strspn(got, blanks);
		want += strspn(want, blanks);
		got_end = got + strcspn(got, blanks);
		want_end = want + strcspn(want, blanks);
		if (!close_words(got, got_end, want, want_end)) {
			buf_printf(why, "it prints '%.*s', expected '%.*s'", (int)strcspn(got, "\n"), got,
				   (int)strcspn(want, "\n"), want);
			return false;
		}
		if (!*got && !*want)
			return true;
		got = got_end;
		want = want_end;
	}
}
