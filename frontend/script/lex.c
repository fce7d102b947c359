/*
 * Splits text into tokens, as TorchScript's lexer does.
 *
 * A line outside of brackets ends in NEWLINE, or in INDENT if the next nonblank line is deeper. If the next line is
 * shallower, it ends in NEWLINE and a DEDENT for every level that ends. Blank and comment lines are skipped, except
 * that a comment `# type: (...) -> ...` is a token. The end of the file has the depth of the first line.
 *
 * Invariant: INDENTs and DEDENTs match, and brackets are nested properly.
 */
#include "../frontend.h"

#include <stdlib.h>
#include <string.h>

const char *const tok_names[TOK_NKIND] = {
#define TOK(name, spelling, binary, binary_tree, unary, unary_tree) spelling,
#include "tok.def"
#undef TOK
};

typedef struct Lexer {
	Cx           *cx;
	const Source *src;
	const char   *text, *at, *end;
	Vec(Tok)      out;
	Vec(int)      indent;      /* Depths of the open levels, outermost first. */
	Vec(Tok)      nest;        /* Open brackets. */
} Lexer;

static Range
range_of(const Lexer *l, const char *beg, const char *end)
{
	return (Range){ l->src, (uint32_t)(beg - l->text), (uint32_t)(end - l->text) };
}

static void
push_token(Lexer *l, TokKind kind, const char *beg, const char *end)
{
	Tok t = { kind, (uint32_t)(beg - l->text), (uint32_t)(end - l->text) };

	vec_push(l->cx->arena, &l->out, t);
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool
starts_with(const Lexer *l, const char *p, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(l->end - p) >= n && memcmp(p, word, n) == 0;
}

static bool
is_type_comment(const Lexer *l, const char *p)
{
	return starts_with(l, p, "# type:") && !starts_with(l, p, "# type: ignore");
}

static const char *
skip_comment(const Lexer *l, const char *p)
{
	while (p < l->end && *p != '\n')
		p++;
	return p;
}

/* Moves to the first character of the next nonblank line and returns its depth. -1 at the end of the file. */
static int
next_depth(Lexer *l)
{
	for (;;) {
		const char *line = l->at;

		while (l->at < l->end && is_blank(*l->at))
			l->at++;
		if (l->at < l->end && *l->at == '#' && !is_type_comment(l, l->at))
			l->at = skip_comment(l, l->at);
		else if (l->at < l->end && *l->at != '\n')
			return (int)(l->at - line);
		if (l->at == l->end)
			return -1;
		l->at++;
	}
}

/* Lexes a newline outside of brackets. l->at is after the newline. */
static void
lex_newline(Lexer *l)
{
	const char *nl = l->at - 1;
	int depth = next_depth(l);

	if (depth < 0)
		depth = l->indent.at[0];
	if (depth > vec_last(&l->indent)) {
		vec_push(l->cx->arena, &l->indent, depth);
		push_token(l, TOK_INDENT, nl, nl + 1);
		return;
	}
	push_token(l, TOK_NEWLINE, nl, nl + 1);
	while (vec_last(&l->indent) > depth) {
		if (--l->indent.n == 0 || vec_last(&l->indent) < depth)
			fail(l->cx, range_of(l, l->at, l->at + (l->at < l->end)), "invalid indent level %d", depth);
		push_token(l, TOK_DEDENT, l->at, l->at);
	}
}

/* Lexes a string. l->at is at its quote, and the prefix begins at `start`. */
static void
lex_string(Lexer *l, const char *start)
{
	const char *beg = l->at, quote = *beg;
	bool triple = l->end - beg >= 3 && beg[1] == quote && beg[2] == quote;
	const char *p = beg + (triple ? 3 : 1);

	for (; p < l->end && (triple || *p != '\n'); p++) {
		if (*p == '\\' && p + 1 < l->end) {
			p++;
		} else if (*p == quote && (!triple || (l->end - p >= 3 && p[1] == quote && p[2] == quote))) {
			l->at = p + (triple ? 3 : 1);
			push_token(l, TOK_STRING, start, l->at);
			return;
		}
	}
	fail(l->cx, range_of(l, beg, beg + (triple ? 3 : 1)), "the string that begins here has no end");
}

static bool
lex_number(Lexer *l)
{
	const char *beg = l->at;
	char *end;

	if (!is_digit(*beg) && *beg != '.')
		return false;
	strtod(beg, &end);
	if (end == beg)
		return false;
	if (beg[0] == '0' && strchr("bBoO", *end) && *end && end == beg + 1)      /* Python's 0b11 and 0o17 */
		end++;
	while (end < l->end && (is_digit(*end) || (*end == '_' && is_digit(end[1]))))     /* Python's 1_000 */
		end++;
	l->at = end;
	if (l->at < l->end && *l->at == 'j')
		l->at++;
	push_token(l, TOK_NUMBER, beg, l->at);
	return true;
}

/* Reads the second word of `is not` and `not in`, which have one blank between the words. */
static TokKind
two_words(Lexer *l, TokKind first)
{
	TokKind both = first == TOK_IS ? TOK_IS_NOT : TOK_NOT_IN;
	const char *second = strchr(tok_names[both], ' ');
	size_t n = strlen(second);

	if (!starts_with(l, l->at, second) || is_letter(l->at[n]) || is_digit(l->at[n]))
		return first;
	l->at += n;
	return both;
}

static void
lex_word(Lexer *l)
{
	const char *beg = l->at;
	TokKind kind = TOK_IDENT;
	size_t n;

	while (l->at < l->end && (is_letter(*l->at) || is_digit(*l->at)))
		l->at++;
	n = (size_t)(l->at - beg);
	if (l->at < l->end && (*l->at == '"' || *l->at == '\'') && n <= 2 && strspn(beg, "fFrR") == n) {
		lex_string(l, beg);
		return;
	}
	for (int k = TOK_DEF; k <= TOK_IS_NOT; k++)
		if (strncmp(tok_names[k], beg, n) == 0 && !tok_names[k][n])
			kind = (TokKind)k;
	if (kind == TOK_IS || kind == TOK_NOT)
		kind = two_words(l, kind);
	push_token(l, kind, beg, l->at);
}

static void
close_bracket(Lexer *l, TokKind kind)
{
	TokKind open = kind == TOK_RPAREN ? TOK_LPAREN : kind == TOK_RBRACKET ? TOK_LBRACKET : TOK_LBRACE;

	if (!l->nest.n || vec_last(&l->nest).kind != open)
		fail(l->cx, range_of(l, l->at, l->at + 1), "'%s' matches no open bracket", tok_names[kind]);
	l->nest.n--;
}

static void
lex_punctuation(Lexer *l)
{
	const char *beg = l->at;

	for (int k = TOK_SHL_EQ; k < TOK_NKIND; k++) {
		if (*beg != *tok_names[k] || !starts_with(l, beg, tok_names[k]))
			continue;
		if (k == TOK_RPAREN || k == TOK_RBRACKET || k == TOK_RBRACE)
			close_bracket(l, (TokKind)k);
		l->at += strlen(tok_names[k]);
		push_token(l, (TokKind)k, beg, l->at);
		if (k == TOK_LPAREN || k == TOK_LBRACKET || k == TOK_LBRACE)
			vec_push(l->cx->arena, &l->nest, vec_last(&l->out));
		return;
	}
	if (*beg > ' ' && *beg < 127)
		fail(l->cx, range_of(l, beg, beg + 1), "unexpected character '%c'", *beg);
	fail(l->cx, range_of(l, beg, beg + 1), "unexpected byte 0x%02x", (unsigned char)*beg);
}

static void
lex_token(Lexer *l)
{
	char c = *l->at;

	if (is_blank(c)) {
		l->at++;
	} else if (c == '\n') {
		l->at++;
		if (!l->nest.n)
			lex_newline(l);
	} else if (c == ';' && !l->nest.n) {            /* Separates statements of one line, as in Python. */
		l->at++;
		l->at += strspn(l->at, " \t");
		if (l->at < l->end && *l->at != '\n' && *l->at != '#')
			push_token(l, TOK_NEWLINE, l->at - 1, l->at);
	} else if (c == '\\' && starts_with(l, l->at, "\\\n")) {
		l->at += 2;
	} else if (c == '#' && is_type_comment(l, l->at)) {
		l->at += strlen("# type:");
		push_token(l, TOK_TYPE_COMMENT, l->at - strlen("# type:"), l->at);
	} else if (c == '#') {
		l->at = skip_comment(l, l->at);
	} else if (c == '"' || c == '\'') {
		lex_string(l, l->at);
	} else if (is_letter(c)) {
		lex_word(l);
	} else if (!lex_number(l)) {
		lex_punctuation(l);
	}
}

int
lex(Cx *cx, const Source *src, const Tok **out)
{
	return lex_part(cx, src, 0, (uint32_t)(src->n > UINT32_MAX / 2 ? 0 : src->n), out);
}

int
lex_part(Cx *cx, const Source *src, uint32_t beg, uint32_t end, const Tok **out)
{
	Lexer l = { .cx = cx, .src = src, .text = src->text, .at = src->text + beg, .end = src->text + end };
	int depth;

	RT_ASSERT(beg <= end && end <= src->n);
	if (src->n > UINT32_MAX / 2)
		fail(cx, (Range){ 0 }, "%s: source text of more than 2 GB", src->name);
	depth = next_depth(&l);
	vec_push(cx->arena, &l.indent, depth < 0 ? 0 : depth);
	while (l.at < l.end)
		lex_token(&l);
	if (l.nest.n)
		fail(cx, (Range){ src, vec_last(&l.nest).beg, vec_last(&l.nest).end }, "'%s' is never closed",
		     tok_names[vec_last(&l.nest).kind]);
	push_token(&l, TOK_EOF, l.end, l.end);
	*out = l.out.at;
	return l.out.n;
}
