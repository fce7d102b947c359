/*
 * Reads texts character by character: schemas and graphs, which have no keywords and little grammar.
 *
 * Sources end in a 0. No test for a character matches it, so the position stays inside the text.
 */
#include "../frontend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
read_expected(Reader *r, const char *what)
{
	uint32_t at = (uint32_t)(r->p - r->src->text);

	fail(r->cx, (Range){ r->src, at, at + (*r->p != 0) }, "expected %s here", what);
}

void
read_blanks(Reader *r)
{
	RT_ASSERT(r->p >= r->src->text && r->p <= r->src->text + r->src->n);
	while (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r')
		r->p++;
}

bool
read_accept(Reader *r, const char *what)
{
	size_t n = strlen(what);

	read_blanks(r);
	if (strncmp(r->p, what, n) != 0)
		return false;
	r->p += n;
	return true;
}

void
read_expect(Reader *r, const char *what)
{
	if (!read_accept(r, what))
		read_expected(r, what);
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int
read_word_length(Reader *r, const char *more)
{
	int n = 0;

	read_blanks(r);
	while (is_word(r->p[n]) || (r->p[n] && strchr(more, r->p[n])))
		n++;
	return n;
}

Symbol
read_word(Reader *r, const char *more)
{
	int n = read_word_length(r, more);
	Symbol s;

	if (!n)
		read_expected(r, "a name");
	s = sym_n(r->cx, r->p, n);
	r->p += n;
	return s;
}

bool
read_accept_word(Reader *r, const char *word)
{
	int n = read_word_length(r, "");

	if ((size_t)n != strlen(word) || memcmp(r->p, word, (size_t)n) != 0)
		return false;
	r->p += n;
	return true;
}

int64_t
read_int(Reader *r)
{
	char *end;
	int64_t i;

	read_blanks(r);
	errno = 0;
	i = strtoll(r->p, &end, 10);
	if (end == r->p)
		read_expected(r, "an integer");
	if (errno == ERANGE)
		read_expected(r, "an integer of 64 bits");
	r->p = end;
	return i;
}

IValue
read_number(Reader *r, bool floating)
{
	char *end;
	double f;

	read_blanks(r);
	f = strtod(r->p, &end);
	if (end == r->p)
		read_expected(r, "a number");
	for (const char *c = r->p; c < end; c++)
		floating |= strchr(".eEnNxX", *c) != 0;          /* The words inf and nan contain an n. */
	if (!floating)
		return rt_int(read_int(r));
	r->p = end;
	return rt_double(f);
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' +
	       10 : -1;
}

/* Returns the character that an escape after a backslash stands for. Leaves the position on the escape's last
 * character. -1 if it is no escape. */
static int
read_escape(Reader *r)
{
	static const char letter[] = "ntfvabr\\'\"", meaning[] = "\n\t\f\v\a\b\r\\'\"";
	const char *c = *++r->p ? strchr(letter, *r->p) : 0;
	int high, low;

	if (c)
		return meaning[c - letter];
	if (*r->p != 'x' || (high = hex_digit(r->p[1])) < 0 || (low = hex_digit(r->p[2])) < 0)
		return -1;
	r->p += 2;
	return high * 16 + low;
}

IValue
read_string(Reader *r)
{
	char quote, one;
	Buf b = { 0 };
	IValue v;
	int c;

	read_blanks(r);
	quote = *r->p;
	if (quote != '"' && quote != '\'')
		read_expected(r, "a string");
	for (r->p++; *r->p != quote; r->p++) {
		c = *r->p == '\\' ? read_escape(r) : (unsigned char)*r->p;
		if (!*r->p || c < 0) {
			buf_free(&b);
			read_expected(r, *r->p ? "an escape sequence" : "the end of a string");
		}
		one = (char)c;
		buf_add(&b, &one, 1);
	}
	r->p++;
	v = value_str(r->cx, b.at ? b.at : "", b.n);
	buf_free(&b);
	return v;
}
