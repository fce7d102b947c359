/* frontend/literal.c - numbers and strings
 *
 * A string with the prefix f is written as what it means: f"a{x}b" is "a{}b".format(x), as PyTorch's front end has it; a
 * prefix r leaves backslashes alone.  Adjacent strings are one.
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

/* NUMBER, or - NUMBER when beg is the sign: an integer is folded with its sign before its range is checked. */
const Tree *
parse_number(Parser *p, uint32_t beg, bool negative)
{
	const Tok *t = expect(p, TOK_NUMBER);
	Range where = range_from(p, beg);
	int n = (int)(t->end - t->beg);
	char *text = without_underscores(arena_printf(p->cx->arena, "%s%.*s", negative ? "-" : "", n, p->src->text + t->beg));
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
		fail(p->cx, where, "integral constant out of range");
	if (*end)
		fail(p->cx, where, "this is not a number");
	return r;
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The character after a backslash at *s; *s is moved behind the escape. */
static char
escaped(Parser *p, const char **s, const char *end)
{
	static const char letter[] = "\\'\"abfnvt\n", meaning[] = "\\'\"\a\b\f\n\v\t\n";
	const char *c = *s < end && **s ? strchr(letter, **s) : 0;
	uint32_t beg = (uint32_t)(*s - p->src->text) - 1;
	int code;

	if (c) {
		(*s)++;
		return meaning[c - letter];
	}
	if (**s == 'x' || **s == 'u' || **s == 'U')
		fail(p->cx, (Range){ p->src, beg, beg + 2 }, "unsupported hex specifier");
	if (end - *s < 3 || !is_octal((*s)[0]) || !is_octal((*s)[1]) || !is_octal((*s)[2]))
		fail(p->cx, (Range){ p->src, beg, beg + 2 }, "ill formed octal specifier");
	code = ((*s)[0] - '0') * 64 + ((*s)[1] - '0') * 8 + (*s)[2] - '0';
	if (code > 255)
		fail(p->cx, (Range){ p->src, beg, beg + 4 }, "ill formed octal specifier");
	*s += 3;
	return (char)code;
}

/* A STRING token: its contents without quotes, and what its prefix says. */
typedef struct Text { const char *s, *end; bool raw, formatted; } Text;

static Text
text_of(const Parser *p, const Tok *t)
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

/* Where the expression at s ends: at }, at ! or : outside of brackets and strings. */
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

/* {expr}: the expression; s is behind the brace, and is moved behind the closing one. */
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
		fail(p->cx, where, "%s of a formatted string is not supported", *stop == ':' ? "a format" : "a conversion");
	lex_part(p->cx, p->src, (uint32_t)(*s - text), (uint32_t)(stop - text), &inner.tok);
	t = parse_expr(&inner, 0);
	if (inner.tok->kind != TOK_EOF)
		fail(p->cx, tok_range(&inner), "expected '}' but found '%s' here", tok_names[inner.tok->kind]);
	*s = stop + 1;
	return t;
}

/* The contents of one STRING token, appended to out; expressions of a formatted one to fields. */
static void
add_string(Parser *p, const Tok *t, char *out, int *n, Trees *fields)
{
	Text x = text_of(p, t);

	while (x.s < x.end) {
		if (*x.s == '\\' && !x.raw) {
			x.s++;
			out[(*n)++] = escaped(p, &x.s, x.end);
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
	return tree_new(p->cx, TREE_CALL, where, 3, callee, parse_list_of(p, &fields, where), parse_list_of(p, &none, where));
}
