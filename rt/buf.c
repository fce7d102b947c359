/* rt/buf.c - growing text on the heap, and checked arithmetic on sizes
 */
#include "base.h"

#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and the final 0. */
static void
reserve(Buf *b, int64_t n)
{
	int64_t need, cap = b->cap ? b->cap : 64;

	if (!size_add(b->n, n, &need) || !size_add(need, 1, &need) || need > INT64_MAX / 2)
		out_of_memory();
	if (need <= b->cap)
		return;
	while (cap < need)
		cap *= 2;
	b->at = heap_grow(b->at, cap);
	b->cap = cap;
}

void
buf_add(Buf *b, const char *s, int64_t n)
{
	reserve(b, n);
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
	reserve(b, n);
	vsnprintf(b->at + b->n, (size_t)n + 1, fmt, again);
	b->n += n;
	va_end(again);
}

void
buf_printf(Buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void
buf_free(Buf *b)
{
	free(b->at);
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
