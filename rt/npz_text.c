/* rt/npz_text.c - texts in .npz files
 *
 * A text is a 0-d array of a dtype such as '<U5', in which each character is a number of 32 bits. A list of texts is a
 * 1-d array. A program whose arguments and results are all tensors does not link this file (rt_texts). */
#include "host.h"
#include "base.h"

#include <string.h>

enum { MOST_TEXTS = 1 << 20 };        /* largest number of texts in a list, as in args.c */

/* Converts n characters to UTF-8 and drops zeros at the end. Returns null if an error was raised, or, without an error,
 * if the characters are not valid text. */
static RtStr *
from_utf32(RtCx *cx, const unsigned char *p, int64_t n, bool swap)
{
	const int first = swap ? 3 : 0;
	Buf b = { 0 };
	RtStr *s = NULL;
	char u[4];

	buf_puts(&b, "");
	while (n && !(p[4 * n - 1] | p[4 * n - 2] | p[4 * n - 3] | p[4 * n - 4]))
		n--;
	for (; n; n--, p += 4) {
		uint32_t c = 0;
		int more;

		for (int k = 0; k < 4; k++)
			c |= (uint32_t)p[k ^ first] << 8 * k;
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			break;
		more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
		for (int k = more; k > 0; k--, c >>= 6)
			u[k] = (char)(0x80 | (c & 63));
		u[0] = (char)(more ? (0xff00 >> (more + 1) & 0xff) | c : c);
		buf_add(&b, u, more + 1);
	}
	if (!n)
		s = rt_str_new(cx, b.at, b.n);
	buf_free(&b);
	return s;
}

/* Reads n texts of `chars` characters each. */
static int
read_texts(RtCx *cx, const char *key, bool swap, const unsigned char *p, int64_t chars, IValue *to, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		RtStr *s = from_utf32(cx, p + 4 * chars * i, chars, swap);

		if (!s)
			return cx->status ? RT_ERROR : rt_raise(cx, "'%s': is no text", key);
		to[i] = rt_ref(RT_STR, s);
	}
	return RT_OK;
}

static int
read_array(RtCx *cx, RtArrays *a, const char *key, const char *descr, const int64_t *count, const unsigned char *p,
	   int64_t n)
{
	const char *digits = descr + 2;
	const int64_t most = count ? *count : 1;
	int64_t chars, bytes;
	IValue *texts;
	int status;

	if (!rt_read_int(&digits, NULL, &chars) || *digits || !size_mul(most, chars, &bytes) || n % 4 || n / 4 != bytes)
		return rt_raise(cx, "'%s': its type %s and its %lld bytes of data do not agree", key, descr,
				(long long)n);
	if (most > MOST_TEXTS || !(texts = rt_mem_zeroed((most + 1) * (int64_t)sizeof *texts)))
		return rt_raise(cx, "'%s': a list of %lld texts is too long", key, (long long)most);
	status = read_texts(cx, key, descr[0] == '>', p, chars, texts, most);
	if (!status)
		status = count ? rt_arrays_put_texts(cx, a, key, texts, most) :
			rt_arrays_put(cx, a, key, NULL, rt_retain(texts[0]).u.str);
	for (int64_t i = 0; i < most && texts[i].tag == RT_STR; i++)
		rt_release(texts[i]);
	rt_mem_back(texts);
	return status;
}

static void
put_code_unit(Buf *b, uint32_t c)
{
	const char u[] = { (char)(c & 255), (char)(c >> 8 & 255), (char)(c >> 16 & 255), 0 };

	buf_add(b, u, 4);
}

/* Appends the text in UTF-32. Invalid bytes become U+FFFD. */
static void
put_utf32(Buf *b, const RtStr *s)
{
	const unsigned char *p = (const unsigned char *)s->s, *end = p + s->n;
	uint32_t c;
	int more;

	while (p < end) {
		c = *p++;
		more = c < 0x80 ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : -1;
		if (more > 0)
			c &= 0x3fu >> more;
		for (; more > 0; more--) {
			if (p == end || (*p & 0xc0) != 0x80)
				break;
			c = c << 6 | (*p++ & 63);
		}
		put_code_unit(b, more ? 0xfffd : c);
	}
}

static void
write_text(const RtStr *s, char descr[32], Buf *b)
{
	put_utf32(b, s);
	if (!b->n)
		put_code_unit(b, 0);
	snprintf(descr, 32, "<U%lld", (long long)b->n / 4);
}

const RtTexts rt_texts_all = { read_array, write_text };
