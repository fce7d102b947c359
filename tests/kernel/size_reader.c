/*
 * Sizes read from the text form of kernels.
 */
#include "../../codegen/kernel/size_inside.h"
#include "reader.h"

#include <string.h>

enum { NEST = 64 };                      /* largest depth of nested parentheses */

static const Size *read_sum(SizeTable *, const char **at, int nest);

static bool
skip(const char **at, const char *text)
{
	const char *p = *at;

	while (*p == ' ')
		p++;
	if (strncmp(p, text, strlen(text)))
		return false;
	*at = p + strlen(text);
	return true;
}

/* Reads decimal digits.  Returns false if there are none or too many. */
static bool
read_digits(const char **at, int64_t *out)
{
	const char *p = *at;

	for (*out = 0; *p >= '0' && *p <= '9'; p++)
		if (!times_fits(*out, 10, out) || !plus_fits(*out, *p - '0', out))
			return false;
	return p > *at && (*at = p, true);
}

/* Reads the "(a, b)" of a floor or minimum. */
static const Size *
read_pair(SizeTable *z, const char **at, int nest, bool min)
{
	const Size *a = skip(at, "(") ? read_sum(z, at, nest) : NULL;
	const Size *b = a && skip(at, ",") ? read_sum(z, at, nest) : NULL;

	if (!b || !skip(at, ")") || (!min && !size_at_least(z, b, 1)))
		return NULL;
	return min ? size_min(z, a, b) : size_floor(z, a, b);
}

static const Size *
read_factor(SizeTable *z, const char **at, int nest)
{
	const Size *s;
	int64_t v;

	if (nest > NEST)
		return NULL;
	if (skip(at, "("))
		return (s = read_sum(z, at, nest + 1)) && skip(at, ")") ? s : NULL;
	if (skip(at, "floor"))
		return read_pair(z, at, nest + 1, false);
	if (skip(at, "min"))
		return read_pair(z, at, nest + 1, true);
	if (skip(at, "s")) {
		SizeRange range = { 2, INT64_MAX };

		if (!read_digits(at, &v) || v >= SIZE_SYMBOLS)
			return NULL;
		size_range(z, (int)v, &range);
		return size_symbol(z, (int)v, range);
	}
	skip(at, "");
	return read_digits(at, &v) ? size_number(z, v) : NULL;
}

/* Reads factors as long as they follow: "4*s0*i1" ends before "*i1". */
static const Size *
read_product(SizeTable *z, const char **at, int nest)
{
	const Size *s = read_factor(z, at, nest), *more;
	const char *p = *at;

	while (s && skip(&p, "*") && (more = read_factor(z, &p, nest))) {
		s = size_times(z, s, more);
		*at = p;
	}
	return s;
}

static const Size *
read_sum(SizeTable *z, const char **at, int nest)
{
	const bool negative = skip(at, "-");
	const Size *s = read_product(z, at, nest), *more;

	s = s && negative ? size_minus(z, size_number(z, 0), s) : s;
	for (const char *p = *at; s; *at = p) {
		const bool minus = skip(&p, "-");

		if ((!minus && !skip(&p, "+")) || !(more = read_product(z, &p, nest)))
			break;
		s = minus ? size_minus(z, s, more) : size_plus(z, s, more);
	}
	return s;
}

static const Size *
read_whole(SizeTable *z, const char **at, const Size *(*read)(SizeTable *, const char **, int))
{
	const char *p = *at;
	const Size *s = read(z, &p, 0);

	if (!s || s->lost)
		return NULL;
	*at = p;
	return s;
}

const Size *
size_read(SizeTable *z, const char **at)
{
	return read_whole(z, at, read_sum);
}

const Size *
size_read_factor(SizeTable *z, const char **at)
{
	return read_whole(z, at, read_factor);
}
