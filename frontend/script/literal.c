/* frontend/script/literal.c - numbers and strings
 *
 * A string with the prefix f becomes a call: f"a{x}b" is "a{}b".format(x), as in PyTorch's front end. With the prefix
 * r, backslashes are ordinary characters. Adjacent strings are concatenated.
 */
#include "parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
is_hex(const char *s)
{
	return s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
}

static char *
without_underscores(char *text)
{
	char *to = text;

	for (const char *s = text; *s; s++)
		if (*s != '_')
			*to++ = *s;
	*to = 0;
	return text;
}

/* Parses NUMBER. If beg is the position of a sign, parses - NUMBER. An integer is folded with its sign before its range
 * is checked. */
const Tree *
parse_number(Parser *p, uint32_t beg, bool negative)
{
	const Tok *t = expect(p, TOK_NUMBER);
	Range where = range_from(p, beg);
	int n = (int)(t->end - t->beg);
	char *text = without_underscores(arena_printf(p->cx->arena, "%s%.*s", negative ? "-" : "", n, p->src->text +
						      t->beg));
	const int base = strpbrk(text, "bB") && !is_hex(text + negative) ? 2 : strpbrk(text, "oO") ? 8 : 0;
	bool imaginary = p->src->text[t->end - 1] == 'j';
	bool floating = strpbrk(text, is_hex(text + negative) ? ".pP" : ".eE");
	Tree *r = tree_of(p->cx, imaginary ? TREE_IMAG : floating ? TREE_FLOAT : TREE_INT, where, 0, 0);
	char *end;

	if (imaginary || floating) {
		r->num.f = strtod(text, &end);
		return r;
	}
	errno = 0;
	if (base)
		memmove(text + negative, text + negative + 2, strlen(text + negative + 2) + 1);
	r->num.i = strtoll(text, &end, base);
	if (errno == ERANGE)
		fail(p->cx, where, "Integral constant out of range (must fit in a signed 64 bit integer)");
	if (*end)
		fail(p->cx, where, "this is not a number");
	return r;
}

static int
digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' +
	       10 : 99;
}

/* Reads up to `most` digits of this base at *s and moves *s past them. Returns the number. -1 if there are fewer than
 * `least` digits. */
static int64_t
digits(const char **s, const char *end, int base, int least, int most)
{
	int64_t code = 0;
	int n = 0;

	for (; n < most && *s < end && digit(**s) < base; n++)
		code = code * base + digit(*(*s)++);
	return n < least ? -1 : code;
}

static int
put_utf8(char *out, int64_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 63));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 63));
		out[2] = (char)(0x80 | (code & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 63));
	out[2] = (char)(0x80 | (code >> 6 & 63));
	out[3] = (char)(0x80 | (code & 63));
	return 4;
}

/* Appends the character of an escape to out. *s is after the backslash and moves past the escape. Archives write \ooo
 * for a byte, Python's sources \x, \u and \U for a character. No escape is longer in the string than in the text. */
static int
escaped(Parser *p, const char **s, const char *end, char *out)
{
	static const char letter[] = "\\'\"abfnrvt\n", meaning[] = "\\'\"\a\b\f\n\r\v\t\n";
	const char *c = *s < end && **s ? strchr(letter, **s) : 0;
	const char kind = *s < end ? **s : 0;
	uint32_t beg = (uint32_t)(*s - p->src->text) - 1;
	int n = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
	int64_t code;

	if (c) {
		(*s)++;
		out[0] = meaning[c - letter];
		return 1;
	}
	if (kind == 'x' || kind == 'u' || kind == 'U') {
		(*s)++;
		code = digits(s, end, 16, n, n);
		if (code < 0 || code > 0x10ffff)
			fail(p->cx, (Range){ p->src, beg, beg + 2 }, "ill formed hex specifier");
		return put_utf8(out, code);
	}
	code = digits(s, end, 8, 1, 3);
	if (code < 0 || code > 255)
		fail(p->cx, (Range){ p->src, beg, beg + 2 }, "ill formed octal specifier");
	out[0] = (char)code;
	return 1;
}

/* Contents of a STRING token without quotes, and its prefixes. */
typedef struct Text { const char *s, *end; bool raw, formatted; } Text;

static Text
literal_text(const Parser *p, const Tok *t)
{
	Text x = { p->src->text + t->beg, p->src->text + t->end, false, false };
	int quotes;

	for (; *x.s != '"' && *x.s != '\''; x.s++) {
		x.raw |= *x.s == 'r' || *x.s == 'R';
		x.formatted |= *x.s == 'f' || *x.s == 'F';
	}
	quotes = x.end - x.s >= 6 && x.s[1] == x.s[0] && x.s[2] == x.s[0] ? 3 : 1;
	x.s += quotes;
	x.end -= quotes;
	return x;
}

/* Returns the end of the expression at s: a }, ! or : outside of brackets and strings. */
static const char *
field_end(const char *s, const char *end)
{
	int nest = 0;
	char quote = 0;

	for (; s < end; s++) {
		if (quote)
			quote = *s == quote ? 0 : quote;
		else if (*s == '"' || *s == '\'')
			quote = *s;
		else if (strchr("([{", *s))
			nest++;
		else if (nest && strchr(")]}", *s))
			nest--;
		else if (!nest && (*s == '}' || *s == ':' || (*s == '!' && s + 1 < end && s[1] != '=')))
			break;
	}
	return s;
}

/* Parses the expression of {expr}. *s is after the opening brace, and moves past the closing one. */
static const Tree *
parse_field(Parser *p, const char **s, const char *end)
{
	const char *text = p->src->text, *stop = field_end(*s, end);
	const Range where = { p->src, (uint32_t)(*s - text) - 1, (uint32_t)(stop - text) + (stop < end) };
	Parser inner = *p;
	const Tree *t;

	if (stop == end)
		fail(p->cx, where, "this field of a formatted string has no end");
	if (*stop != '}')
		fail(p->cx, where, "%s of a formatted string is not supported",
		     *stop == ':' ? "a format" : "a conversion");
	lex_part(p->cx, p->src, (uint32_t)(*s - text), (uint32_t)(stop - text), &inner.tok);
	t = parse_expr(&inner, 0);
	if (inner.tok->kind != TOK_EOF)
		fail(p->cx, tok_range(&inner), "expected '}' but found '%s' here", tok_names[inner.tok->kind]);
	*s = stop + 1;
	return t;
}

/* Appends the contents of a STRING token to out, and the expressions of a formatted one to fields. */
static void
add_string(Parser *p, const Tok *t, char *out, int *n, Trees *fields)
{
	Text x = literal_text(p, t);

	while (x.s < x.end) {
		if (*x.s == '\\' && !x.raw) {
			x.s++;
			*n += escaped(p, &x.s, x.end, out + *n);
			continue;
		}
		out[(*n)++] = *x.s++;
		if (!x.formatted || (x.s[-1] != '{' && x.s[-1] != '}'))
			continue;
		if (x.s < x.end && x.s[0] == x.s[-1]) {
			x.s++;
		} else if (x.s[-1] == '{') {
			push(p, fields, parse_field(p, &x.s, x.end));
			out[(*n)++] = '}';
		}
	}
}

/* STRING { STRING } */
const Tree *
parse_strings(Parser *p)
{
	const Tok *first = p->tok, *t;
	const Tree *text, *callee;
	Trees fields = { 0 }, none = { 0 };
	Range where;
	char *out;
	int n = 0;

	RT_ASSERT(at(p, TOK_STRING));
	while (at(p, TOK_STRING))
		p->tok++;
	where = range_from(p, first->beg);
	out = new(p->cx->arena, char, p->tok[-1].end - first->beg + 1);
	for (t = first; t < p->tok; t++)
		add_string(p, t, out, &n, &fields);
	text = tree_text(p->cx, TREE_STRING, where, out, n);
	if (!fields.n)
		return text;
	callee = tree_new(p->cx, TREE_ATTR, where, 2, text, tree_text(p->cx, TREE_IDENT, where, "format", 6));
	return tree_new(p->cx, TREE_CALL, where, 3, callee, parse_list_of(p, &fields, where),
			parse_list_of(p, &none, where));
}
