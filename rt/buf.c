/* rt/buf.c - growing text on the heap, and checked arithmetic on sizes
 */
#include "base.h"
#include "rt.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for n more bytes and the final 0. Returns the number of bytes that fit, which is less than n if the text
 * may be cut. */
static int64_t
reserve(Buf *b, int64_t n)
{
	int64_t need, cap = b->cap ? b->cap : RT_LIMIT_TEXT;
	char *more;

	if (!size_add(b->n, n, &need) || !size_add(need, 1, &need) || need > INT64_MAX / 2)
		out_of_memory();
	if (need <= b->cap)
		return n;
	while (cap < need)
		cap *= 2;
	if (!(more = rt_mem_more(b->at, cap))) {
		if (!rt_mem_cut(b))
			out_of_memory();
		return n < b->cap - b->n ? n : b->cap - b->n - 1;
	}
	b->at = more;
	b->cap = cap;
	return n;
}

void
buf_add(Buf *b, const char *s, int64_t n)
{
	n = reserve(b, n);
	if (n)
		memcpy(b->at + b->n, s, (size_t)n);
	b->n += n;
	b->at[b->n] = 0;
}

void
buf_puts(Buf *b, const char *s)
{
	buf_add(b, s, (int64_t)strlen(s));
}

void
buf_vprintf(Buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(0, 0, fmt, ap);
	if (n < 0)
		n = 0;
	n = (int)reserve(b, n);
	vsnprintf(b->at + b->n, (size_t)n + 1, fmt, again);
	b->n += n;
	va_end(again);
}

void
buf_ints(Buf *b, int n, const int64_t *v)
{
	buf_puts(b, "[");
	for (int i = 0; i < n; i++)
		buf_printf(b, "%s%lld", i ? ", " : "", (long long)v[i]);
	buf_puts(b, "]");
}

void
buf_printf(Buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

/* Appends n bytes, for text of archives in messages. Writes '?' for control characters other than tab and newline, for
 * C1 controls in UTF-8, and for marks of text direction. */
void
buf_clean(Buf *b, const char *s, int64_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	int64_t bad;

	buf_add(b, "", 0);                       /* even an empty text is a string, not null */
	for (int64_t i = 0; i < n; i += bad ? bad : 1) {
		bad = 0;
		if ((p[i] < ' ' && p[i] != '\t' && p[i] != '\n') || p[i] == 127)
			bad = 1;
		else if (p[i] == 0xc2 && i + 1 < n && p[i + 1] >= 0x80 && p[i + 1] < 0xa0)
			bad = 2;
		else if (p[i] == 0xe2 && i + 2 < n && ((p[i + 1] == 0x80 && p[i + 2] >= 0xaa && p[i + 2] <= 0xae) ||
		         (p[i + 1] == 0x81 && p[i + 2] >= 0xa6 && p[i + 2] <= 0xa9)))
			bad = 3;
		buf_add(b, bad ? "?" : s + i, 1);
	}
}

void
buf_free(Buf *b)
{
	rt_mem_back(b->at);
	memset(b, 0, sizeof *b);
}

bool
size_mul(int64_t a, int64_t b, int64_t *out)
{
	if (a < 0 || b < 0 || (b && a > INT64_MAX / b))
		return false;
	*out = a * b;
	return true;
}

bool
size_add(int64_t a, int64_t b, int64_t *out)
{
	if (a < 0 || b < 0 || a > INT64_MAX - b)
		return false;
	*out = a + b;
	return true;
}
