/* frontend/script/parse.h - the parser, private to parse.c (statements), parse_expr.c and literal.c */
#ifndef PARSE_H
#define PARSE_H

#include "../frontend.h"

typedef Vec(const Tree *) Trees;

typedef struct Parser {
	Cx           *cx;
	const Source *src;
	const Tok    *tok;         /* Current token. */
} Parser;

typedef struct Operator { uint8_t binary, binary_tree, unary, unary_tree; } Operator;

extern const Operator operators[TOK_NKIND];

const Tree *parse_expr(Parser *, int prec); /* Parses operators of a higher precedence than prec. */
const Tree *parse_exprs(Parser *, int prec); /* Parses one expression, or several with commas as a tuple. */
/* Appends expressions up to the token `end`. Returns whether there was a comma. */
bool parse_until(Parser *, TokKind end, Trees *);
const Tree *parse_ident(Parser *);
const Tree *parse_leaf(Parser *, TreeKind);
const Tree *parse_list_of(Parser *, Trees *, Range where);
/* NUMBER.  negative: whether the sign at beg belongs to it. */
const Tree *parse_number(Parser *, uint32_t beg, bool negative);
const Tree *parse_strings(Parser *);                                /* Parses adjacent strings: STRING { STRING }. */

static inline Range
tok_range(const Parser *p)
{
	return (Range){ p->src, p->tok->beg, p->tok->end };
}

/* Returns the range from beg to the end of the token before the current one. */
static inline Range
range_from(const Parser *p, uint32_t beg)
{
	return (Range){ p->src, beg, p->tok[-1].end };
}

static inline Range
range_join(Range a, Range b)
{
	return (Range){ a.src, a.beg, b.end };
}

RT_NORETURN static inline void
unexpected(Parser *p, const char *wanted)
{
	fail(p->cx, tok_range(p), "expected %s but found '%s' here", wanted, tok_names[p->tok->kind]);
}

static inline bool
at(const Parser *p, TokKind kind)
{
	return p->tok->kind == kind;
}

static inline bool
accept(Parser *p, TokKind kind)
{
	if (!at(p, kind))
		return false;
	p->tok++;
	return true;
}

static inline const Tok *
expect(Parser *p, TokKind kind)
{
	if (!at(p, kind))
		unexpected(p, tok_names[kind]);
	return p->tok++;
}

static inline void
push(Parser *p, Trees *v, const Tree *t)
{
	vec_push(p->cx->arena, v, t);
}

#endif
