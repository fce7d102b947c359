/*
 * Operators on text.
 *
 * As in PyTorch, they work on bytes, with the letters of the C locale: len("é") is 2, and upper() does not change it.
 * Negative positions count from the end. The meaning of `end` differs between operators, as in PyTorch.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base.h"
#include "kernel.h"

enum { TEXT_MAX = 1 << 30 };        /* largest number of bytes of a text that an operator makes */

typedef struct Span { const char *s; int64_t n; } Span;

static Span
span_of(IValue v)
{
	return (Span){ v.u.str->s, v.u.str->n };
}

static Span
sub_span(Span t, int64_t from, int64_t to)
{
	return (Span){ t.s + from, to - from };
}

static int
put_text(RtCx *cx, const char *s, int64_t n, IValue *out)
{
	RtStr *r = rt_str_new(cx, n ? s : "", n);

	if (!r)
		return RT_ERROR;
	*out = rt_ref(RT_STR, r);
	return RT_OK;
}

static int
put_span(RtCx *cx, Span t, IValue *out)
{
	return put_text(cx, t.s, t.n, out);
}

static int
put_buf(RtCx *cx, Buf *b, IValue *out)
{
	int status = put_text(cx, b->at, b->n, out);

	buf_free(b);
	return status;
}

static int
too_long(RtCx *cx)
{
	return rt_raise(cx, "the resulting text is too long");
}

/* Returns the position of part in t at or after `from`. -1 if it is not found. */
static int64_t
find_from(Span t, Span part, int64_t from)
{
	const char *p;

	if (from > t.n || part.n > t.n - from)
		return -1;
	if (part.n == 0)
		return from;
	p = memmem(t.s + from, (size_t)(t.n - from), part.s, (size_t)part.n);
	return p ? p - t.s : -1;
}

static int64_t
find_last(Span t, Span part)
{
	for (int64_t i = t.n - part.n; i >= 0; i--)
		if (memcmp(t.s + i, part.s, (size_t)part.n) == 0)
			return i;
	return -1;
}

/* ---- letters ---------------------------------------------------------------------------------------------- */

static bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
static bool is_alpha(unsigned char c) { return is_upper(c) || is_lower(c); }
static bool is_alnum(unsigned char c) { return is_alpha(c) || is_digit(c); }
static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_print(unsigned char c) { return c >= ' ' && c < 127; }
static char to_upper(char c) { return is_lower((unsigned char)c) ? (char)(c - 32) : c; }
static char to_lower(char c) { return is_upper((unsigned char)c) ? (char)(c + 32) : c; }

static bool
all(Span t, bool is(unsigned char))
{
	for (int64_t i = 0; i < t.n; i++)
		if (!is((unsigned char)t.s[i]))
			return false;
	return true;
}

static bool
any(Span t, bool is(unsigned char))
{
	for (int64_t i = 0; i < t.n; i++)
		if (is((unsigned char)t.s[i]))
			return true;
	return false;
}

#define QUESTION(id, answer) \
	int \
	rt_##id(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		Span t = span_of(in[0]); \
		(void)cx; \
		return put_bool((answer), out); \
	}

/* Whether every word begins with a capital letter, followed by small ones. */
static bool
is_title(Span t)
{
	bool inside = false, found = false;

	for (int64_t i = 0; i < t.n; i++) {
		unsigned char c = (unsigned char)t.s[i];

		if ((is_upper(c) && inside) || (is_lower(c) && !inside))
			return false;
		inside = is_alpha(c);
		found = found || inside;
	}
	return found;
}

QUESTION(isalnum, t.n && all(t, is_alnum))
QUESTION(isalpha, t.n && all(t, is_alpha))
QUESTION(isdecimal, t.n && all(t, is_digit))
QUESTION(isdigit, t.n && all(t, is_digit))
QUESTION(isnumeric, t.n && all(t, is_digit))
QUESTION(isspace, t.n && all(t, is_space))
QUESTION(isprintable, all(t, is_print))
QUESTION(islower, any(t, is_lower) && !any(t, is_upper))
QUESTION(isupper, any(t, is_upper) && !any(t, is_lower))
QUESTION(istitle, is_title(t))
/* Whether the text is an identifier. As in PyTorch, it has no underscore. */
QUESTION(isidentifier, t.n && !is_digit((unsigned char)t.s[0]) && all(t, is_alnum))

#define EACH(id, expression) \
	int \
	rt_##id(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		Span t = span_of(in[0]); \
		char before = 0; \
		if (put_span(cx, t, out)) \
			return RT_ERROR; \
		for (int64_t i = 0; i < t.n; i++) { \
			char c = t.s[i]; \
			out->u.str->s[i] = (expression); \
			before = c; \
		} \
		(void)before; \
		return RT_OK; \
	}
EACH(upper, to_upper(c))
EACH(lower, to_lower(c))
EACH(swapcase, is_upper((unsigned char)c) ? to_lower(c) : to_upper(c))
EACH(capitalize, i ? to_lower(c) : to_upper(c))
EACH(title, is_alpha((unsigned char)before) ? to_lower(c) : to_upper(c))

/* ---- parts of a text --------------------------------------------------------------------------------------------- */

/* Sets *t to the part from start to end. An end of -1 stands for the end of the text. Raises an error if start is
 * beyond that. If end is before start, n is -1, or, with `backwards`, the part extends to the end of the text, because
 * PyTorch's operators differ. */
static int
clip(RtCx *cx, const IValue *in, bool backwards, Span *t, int64_t *from)
{
	int64_t start = in[2].u.i, end = in[3].u.i, n = t->n;

	if (start < 0)
		start = start + n > 0 ? start + n : 0;
	if (end < 0)
		end = end + n + 1 > 0 ? end + n + 1 : 0;
	*from = start;
	if (end < start && !backwards) {
		t->n = -1;
		return RT_OK;
	}
	if (start > n)
		return rt_raise(cx, "basic_string::substr: __pos (which is %lld) > this->size() (which is %lld)",
			(long long)start, (long long)n);
	*t = sub_span(*t, start, end < start || end > n ? n : end);
	return RT_OK;
}

static int
locate(RtCx *cx, const IValue *in, bool last, int64_t *at)
{
	Span t = span_of(in[0]), part = span_of(in[1]);
	int64_t from;

	if (clip(cx, in, false, &t, &from))
		return RT_ERROR;
	*at = t.n < 0 ? -1 : last ? find_last(t, part) : find_from(t, part, 0);
	*at += *at >= 0 ? from : 0;
	return RT_OK;
}

static int
find_or_raise(RtCx *cx, const IValue *in, bool last, IValue *out)
{
	int64_t at;

	if (locate(cx, in, last, &at))
		return RT_ERROR;
	return at < 0 ? rt_raise(cx, "ValueError: substring not found") : put_int(at, out);
}

int
rt_find(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t at;

	return locate(cx, in, false, &at) ? RT_ERROR : put_int(at, out);
}

int
rt_rfind(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t at;

	return locate(cx, in, true, &at) ? RT_ERROR : put_int(at, out);
}

KERNEL(index_str, find_or_raise(cx, in, false, out))
KERNEL(rindex, find_or_raise(cx, in, true, out))

/* Counts occurrences that begin before end. */
int
rt_count_in_str(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]), part = span_of(in[1]);
	int64_t start = in[2].u.i, end = in[3].u.i, n = 0;

	(void)cx;
	if (start < 0)
		start = start + t.n > 0 ? start + t.n : 0;
	if (end < 0)
		end = end + t.n + 1 > 0 ? end + t.n + 1 : 0;
	for (int64_t at = find_from(t, part, start); at >= 0 && at < end; n++)
		at = find_from(t, part, at + (part.n ? part.n : 1));
	return put_int(n, out);
}

static int
has_at(RtCx *cx, const IValue *in, bool end, IValue *out)
{
	Span t = span_of(in[0]), part = span_of(in[1]);
	int64_t from;

	if (clip(cx, in, true, &t, &from))
		return RT_ERROR;
	return put_bool(t.n >= part.n && !memcmp(end ? t.s + t.n - part.n : t.s, part.s, (size_t)part.n), out);
}

KERNEL(startswith, has_at(cx, in, false, out))
KERNEL(endswith, has_at(cx, in, true, out))

static int
byte_at(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]);
	int64_t i = in[1].u.i < 0 ? in[1].u.i + t.n : in[1].u.i;

	if (i < 0 || i >= t.n)
		return rt_raise(cx, "basic_string::at: __n (which is %llu) >= this->size() (which is %lld)",
			(unsigned long long)i, (long long)t.n);
	return put_text(cx, t.s + i, 1, out);
}

KERNEL(__getitem___str, byte_at(cx, in, out))
KERNEL(prim_StringIndex, byte_at(cx, in, out))

int
rt_slice_str(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]);
	int64_t at, step, n = rt_slice_range(t.n, in[1], in[2], in[3].u.i, &at, &step);

	if (n < 0)
		return rt_raise(cx, "List slice should have non-zero step");
	if (step == 1)
		return put_text(cx, t.s + at, n, out);
	if (put_text(cx, t.s, n, out))
		return RT_ERROR;
	for (int64_t i = 0; i < n; i++)
		out->u.str->s[i] = t.s[at + i * step];
	return RT_OK;
}

/* ---- joining and replacing --------------------------------------------------------------------------------------- */

int
rt_add_str(RtCx *cx, const IValue *in, IValue *out)
{
	Span a = span_of(in[0]), b = span_of(in[1]);
	Buf buf = { 0 };

	if (a.n > TEXT_MAX - b.n)
		return too_long(cx);
	buf_add(&buf, a.s, a.n);
	buf_add(&buf, b.s, b.n);
	return put_buf(cx, &buf, out);
}

int
rt_join(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *l = in[1].u.list;
	Buf b = { 0 };

	for (int64_t i = 0; i < l->n; i++) {
		if (b.n + l->v[i].u.str->n + in[0].u.str->n > TEXT_MAX) {
			buf_free(&b);
			return too_long(cx);
		}
		if (i)
			buf_add(&b, in[0].u.str->s, in[0].u.str->n);
		buf_add(&b, l->v[i].u.str->s, l->v[i].u.str->n);
	}
	return put_buf(cx, &b, out);
}

int
rt_replace(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]), old = span_of(in[1]), new = span_of(in[2]);
	int64_t at = 0, next, left = in[3].u.i;
	Buf b = { 0 };

	while (left-- != 0 && (next = find_from(t, old, at)) >= 0) {
		if (b.n > TEXT_MAX - new.n) {
			buf_free(&b);
			return too_long(cx);
		}
		buf_add(&b, t.s + at, next - at);
		buf_add(&b, new.s, new.n);
		at = next + old.n;
		if (old.n == 0) {               /* inserts before every byte and at the end */
			if (at == t.n)
				break;
			buf_add(&b, t.s + at++, 1);
		}
	}
	buf_add(&b, t.s + at, t.n - at);
	return put_buf(cx, &b, out);
}

static int
pad(RtCx *cx, Span t, int64_t left, int64_t right, char fill, IValue *out)
{
	Buf b = { 0 };

	if (left > TEXT_MAX || right > TEXT_MAX || t.n > TEXT_MAX)
		return too_long(cx);
	for (int64_t i = 0; i < left; i++)
		buf_add(&b, &fill, 1);
	buf_add(&b, t.s, t.n);
	for (int64_t i = 0; i < right; i++)
		buf_add(&b, &fill, 1);
	return put_buf(cx, &b, out);
}

/* Pads a text. side: -1 for text at the left, 0 in the middle, 1 at the right. */
static int
justify(RtCx *cx, const IValue *in, int side, IValue *out)
{
	Span t = span_of(in[0]), fill = span_of(in[2]);
	int64_t width = in[1].u.i, all_pad = width - t.n, half;

	if (fill.n != 1)
		return rt_raise(cx, "TypeError: The fill character must be exactly one character long");
	if (width <= t.n)
		return put_span(cx, t, out);
	half = width % 2 ? (all_pad + 1) / 2 : all_pad / 2;
	half = side < 0 ? 0 : side > 0 ? all_pad : half;
	return pad(cx, t, half, all_pad - half, fill.s[0], out);
}

KERNEL(center, justify(cx, in, 0, out))
KERNEL(ljust, justify(cx, in, -1, out))
KERNEL(rjust, justify(cx, in, 1, out))

/* Pads with zeros. They are put before a sign; Python puts them after it. */
int
rt_zfill(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]);

	return pad(cx, t, in[1].u.i - t.n, 0, '0', out);
}

int
rt_expandtabs(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]);
	int64_t size = in[1].u.i, column = 0;
	Buf b = { 0 };

	if (size > 1 << 20)
		return too_long(cx);
	for (int64_t i = 0; i < t.n; i++) {
		if (t.s[i] != '\t') {
			buf_add(&b, t.s + i, 1);
			column = t.s[i] == '\n' || t.s[i] == '\r' ? 0 : column + 1;
			continue;
		}
		for (int64_t k = size > 0 ? size - column % size : 0; k > 0 && b.n < TEXT_MAX; k--, column++)
			buf_add(&b, " ", 1);
	}
	return put_buf(cx, &b, out);
}

static bool
contains_char(Span set, char c)
{
	return set.n && memchr(set.s, c, (size_t)set.n);
}

static int
strip(RtCx *cx, const IValue *in, bool left, bool right, IValue *out)
{
	Span t = span_of(in[0]), set = span_of(in[1]);

	while (left && t.n && contains_char(set, t.s[0]))
		t.s++, t.n--;
	while (right && t.n && contains_char(set, t.s[t.n - 1]))
		t.n--;
	return put_span(cx, t, out);
}

KERNEL(strip, strip(cx, in, true, true, out))
KERNEL(lstrip, strip(cx, in, true, false, out))
KERNEL(rstrip, strip(cx, in, false, true, out))

/* ---- splitting --------------------------------------------------------------------------------------------------- */

static int
push_span(RtCx *cx, RtList *l, Span t)
{
	RtStr *s = rt_str_new(cx, t.n ? t.s : "", t.n);

	return s ? rt_list_push(cx, l, rt_ref(RT_STR, s)) : RT_ERROR;
}

static int
split_blanks(RtCx *cx, Span t, IValue *out)
{
	RtList *l = rt_list_new(cx, &rt_type_str, 0);
	int64_t i = 0, from;

	while (l && i < t.n) {
		while (i < t.n && is_space((unsigned char)t.s[i]))
			i++;
		from = i;
		while (i < t.n && !is_space((unsigned char)t.s[i]))
			i++;
		if (i > from && push_span(cx, l, sub_span(t, from, i)))
			break;
	}
	return l ? put_list(cx, l, out) : RT_ERROR;
}

int
rt_split_str(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]), by;
	int64_t left = in[2].u.i, at = 0, next;
	RtList *l;

	if (rt_is_none(in[1]))
		return split_blanks(cx, t, out);
	by = span_of(in[1]);
	if (by.n == 0)
		return rt_raise(cx, "ValueError: empty separator");
	if (!(l = rt_list_new(cx, &rt_type_str, 0)))
		return RT_ERROR;
	while (left-- != 0 && (next = find_from(t, by, at)) >= 0 && !push_span(cx, l, sub_span(t, at, next)))
		at = next + by.n;
	push_span(cx, l, sub_span(t, at, t.n));
	return put_list(cx, l, out);
}

int
rt_rsplit(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]), by = span_of(in[1]);
	int64_t left = in[2].u.i, at;
	IValue swap;
	RtList *l;

	if (by.n == 0)
		return rt_raise(cx, "ValueError: empty separator");
	if (!(l = rt_list_new(cx, &rt_type_str, 0)))
		return RT_ERROR;
	while (left-- != 0 && (at = find_last(t, by)) >= 0 && !push_span(cx, l, sub_span(t, at + by.n, t.n)))
		t.n = at;
	push_span(cx, l, t);
	for (int64_t i = 0, k = l->n - 1; i < k; i++, k--) {
		swap = l->v[i];
		l->v[i] = l->v[k];
		l->v[k] = swap;
	}
	return put_list(cx, l, out);
}

/* Splits lines. Each of these bytes ends a line, so "\r\n" ends two. Line ends that are kept are separate elements. */
int
rt_splitlines(RtCx *cx, const IValue *in, IValue *out)
{
	static const char ends[] = "\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9";
	Span t = span_of(in[0]), set = { ends, sizeof ends - 1 };
	RtList *l = rt_list_new(cx, &rt_type_str, 0);
	int64_t from = 0;

	for (int64_t i = 0; l && i < t.n; i++) {
		if (!contains_char(set, t.s[i]))
			continue;
		if (push_span(cx, l, sub_span(t, from, i)) || (in[1].u.i && push_span(cx, l, sub_span(t, i, i + 1))))
			break;
		from = i + 1;
	}
	if (l && from < t.n && !cx->status)
		push_span(cx, l, sub_span(t, from, t.n));
	return l ? put_list(cx, l, out) : RT_ERROR;
}

/* Returns the bytes as a list. */
int
rt_list(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]);
	RtList *l = rt_list_new(cx, &rt_type_str, t.n);

	for (int64_t i = 0; l && i < t.n; i++)
		if (push_span(cx, l, sub_span(t, i, i + 1)))
			break;
	return l ? put_list(cx, l, out) : RT_ERROR;
}

static int
put_three(RtCx *cx, Span a, Span b, Span c, IValue *out)
{
	return put_span(cx, a, &out[0]) || put_span(cx, b, &out[1]) || put_span(cx, c, &out[2]) ? RT_ERROR : RT_OK;
}

int
rt_partition(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]), by = span_of(in[1]), none = { "", 0 };
	int64_t at = find_from(t, by, 0);

	if (at < 0)
		return put_three(cx, t, none, none, out);
	return put_three(cx, sub_span(t, 0, at), by, sub_span(t, at + by.n, t.n), out);
}

int
rt_rpartition(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]), by = span_of(in[1]), none = { "", 0 };
	int64_t at = find_last(t, by);

	if (at < 0)
		return put_three(cx, none, none, t, out);
	return put_three(cx, sub_span(t, 0, at), by, sub_span(t, at + by.n, t.n), out);
}

/* ---- comparison, length, letters --------------------------------------------------------------------------------- */

static int
compare(const IValue *in)
{
	Span a = span_of(in[0]), b = span_of(in[1]);
	int c = memcmp(a.s, b.s, (size_t)(a.n < b.n ? a.n : b.n));

	return c ? c : a.n < b.n ? -1 : a.n > b.n;
}

#define COMPARE(id, op) KERNEL(id##_str, put_bool(compare(in) op 0, out))
COMPARE(eq, ==)
COMPARE(ne, !=)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)

KERNEL(len_str, put_int(in[0].u.str->n, out))

int
rt_ord(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]);

	if (t.n != 1)
		return rt_raise(cx, "String for ord() must be 1 character, found %lld", (long long)t.n);
	return put_int((unsigned char)t.s[0], out);
}

/* Returns the character of a number's low byte. */
int
rt_chr(RtCx *cx, const IValue *in, IValue *out)
{
	char c = (char)in[0].u.i;

	if (in[0].u.i < 0 || in[0].u.i >= 0x110000)
		return rt_raise(cx, "chr() arg not in range(0x110000), found %lld", (long long)in[0].u.i);
	return put_text(cx, &c, 1, out);
}

static int
in_base(RtCx *cx, int64_t i, const char *prefix, int bits, IValue *out)
{
	uint64_t u = i < 0 ? -(uint64_t)i : (uint64_t)i;
	char digits[72], *p = digits + sizeof digits;

	do
		*--p = "0123456789abcdef"[u & ((1u << bits) - 1)];
	while (u >>= bits);
	*--p = prefix[1];
	*--p = prefix[0];
	if (i < 0)
		*--p = '-';
	return put_text(cx, p, digits + sizeof digits - p, out);
}

KERNEL(hex, in_base(cx, in[0].u.i, "0x", 4, out))
KERNEL(oct, in_base(cx, in[0].u.i, "0o", 3, out))
KERNEL(bin, in_base(cx, in[0].u.i, "0b", 1, out))

/* ---- formats ----------------------------------------------------------------------------------------------------- */

/* Whether the value cannot be printed because of cx->meta: lists, tuples and tensors may lack data. */
static bool
is_meta(RtCx *cx, IValue v)
{
	return cx->meta && v.tag >= RT_TENSOR && v.tag != RT_STR;
}

int
rt_str(RtCx *cx, const IValue *in, IValue *out)
{
	Buf b = { 0 };

	if (is_meta(cx, in[0]))
		return rt_no_meta(cx);
	rt_format_value(&b, in[0], 0);
	return put_buf(cx, &b, out);
}

/* Formats a text. "{}" stands for the next argument; other braces are text. */
int
rt_format(RtCx *cx, const IValue *in, IValue *out)
{
	Span t = span_of(in[0]), place = { "{}", 2 };
	const RtList *args = in[1].u.list;
	int64_t at = 0, next, used = 0;
	Buf b = { 0 };

	while ((next = find_from(t, place, at)) >= 0) {
		buf_add(&b, t.s + at, next - at);
		if (used == args->n || is_meta(cx, args->v[used])) {
			buf_free(&b);
			return used == args->n ? rt_raise(cx, "Too few arguments for format string: %s", t.s)
					       : rt_no_meta(cx);
		}
		rt_format_value(&b, args->v[used++], 0);
		at = next + 2;
	}
	buf_add(&b, t.s + at, t.n - at);
	return put_buf(cx, &b, out);
}

static const char *
tag_name(IValue v)
{
	switch ((int)v.tag) {
	case RT_NONE:   return "None";
	case RT_TENSOR: return "Tensor";
	case RT_STR:    return "String";
	case RT_LIST:   return "GenericList";
	case RT_DICT:   return "GenericDict";
	case RT_TUPLE:  return "Tuple";
	case RT_OBJECT: return "Object";
	case RT_ENUM:   return "Enum";
	case RT_DEVICE: return "Device";
	default:        return "Bool";
	}
}

static bool
is_scalar(IValue v)
{
	return v.tag == RT_INT || v.tag == RT_DOUBLE || v.tag == RT_BOOL;
}

static int
format_one(RtCx *cx, Buf *b, char key, IValue v)
{
	const char form[] = { '%', '.', '6', key, 0 };

	if (strchr("dieEfF", key) && !is_scalar(v))
		return rt_raise(cx, "%%%c requires a number for formatting, but got %s", key, tag_name(v));
	switch (key) {
	case 'd': case 'i':
		if (v.tag == RT_DOUBLE)
			buf_printf(b, "%d", (int)v.u.f);
		else
			buf_printf(b, "%lld", (long long)v.u.i);
		return RT_OK;
	case 'e': case 'E': case 'f': case 'F':
		buf_printf(b, form[3] == 'e' ? "%.6e" : form[3] == 'E' ? "%.6E" : "%.6f",
			(double)(float)(v.tag == RT_DOUBLE ? v.u.f : (double)v.u.i));
		return RT_OK;
	case 'c':
		if (v.tag != RT_INT && !(v.tag == RT_STR && v.u.str->n == 1))
			return rt_raise(cx, "%%%c requires an int or char for formatting, but got %s", key,
					tag_name(v));
		buf_add(b, v.tag == RT_STR ? v.u.str->s : &(char){ (char)v.u.i }, 1);
		return RT_OK;
	case 's':
		rt_format_value(b, v, 0);
		return RT_OK;
	default:
		return rt_raise(cx, "The specifier %%%c is not supported in TorchScript format strings", key);
	}
}

/* Formats by %. If the only argument is a tuple, its elements are the arguments. */
static int
percent(RtCx *cx, Buf *b, Span t, const RtList *args)
{
	bool tuple = args->n == 1 && args->v[0].tag == RT_TUPLE;
	const IValue *arg = tuple ? args->v[0].u.tuple->v : args->v;
	int64_t used = 0, n = tuple ? args->v[0].u.tuple->n : args->n;

	for (int64_t i = 0; i < t.n; i++) {
		if (t.s[i] != '%') {
			buf_add(b, t.s + i, 1);
			continue;
		}
		if (++i == t.n)
			return rt_raise(cx, "Incomplete format specifier");
		if (t.s[i] == '%') {
			buf_add(b, "%", 1);
			continue;
		}
		if (used == n)
			return rt_raise(cx, "Too few arguments for format string");
		if (is_meta(cx, arg[used]))
			return rt_no_meta(cx);
		if (format_one(cx, b, t.s[i], arg[used++]))
			return RT_ERROR;
	}
	return used == n ? RT_OK : rt_raise(cx, "Too many arguments for format string");
}

int
rt_percentFormat(RtCx *cx, const IValue *in, IValue *out)
{
	Buf b = { 0 };
	int status = percent(cx, &b, span_of(in[0]), in[1].u.list);

	if (status) {
		buf_free(&b);
		return status;
	}
	return put_buf(cx, &b, out);
}
