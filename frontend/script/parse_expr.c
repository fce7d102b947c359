/*
 * Tokens to trees of expressions: a Pratt parser.
 *
 * The comment of a function is its grammar rule. Precedences are columns of tok.def. A tree's range runs from its first
 * token to its last, without parentheses around the expression. The range of a call covers the callee, not the
 * arguments, because PyTorch underlines that.
 *
 * cx_enter bounds the nesting. Chains of binary and postfix operators are loops, so that only their trees are deep.
 */
#include "parse.h"

#include <string.h>

const Operator operators[TOK_NKIND] = {
#define TOK(name, spelling, binary, binary_tree, unary, unary_tree) \
	{ binary, TREE_##binary_tree, unary, TREE_##unary_tree },
#include "tok.def"
#undef TOK
};

/* ---- trees ------------------------------------------------------------------------------------------ */

const Tree *
parse_list_of(Parser *p, Trees *v, Range where)
{
	return tree_of(p->cx, TREE_LIST, where, v->at, v->n);
}

/* IDENT */
const Tree *
parse_ident(Parser *p)
{
	const Tok *t = expect(p, TOK_IDENT);

	return tree_text(p->cx, TREE_IDENT, range_from(p, t->beg), p->src->text + t->beg, (int)(t->end - t->beg));
}

/* ---- expressions ------------------------------------------------------------------------------------- */

/* exprs := expr { "," expr } [","] up to `end`. Returns whether there was a comma. */
bool
parse_until(Parser *p, TokKind end, Trees *v)
{
	bool comma = false;

	while (!at(p, end)) {
		push(p, v, parse_expr(p, 0));
		if (!accept(p, TOK_COMMA))
			break;
		comma = true;
	}
	expect(p, end);
	return comma;
}

/* "(" [exprs] ")". A comma, or nothing inside, makes a tuple. */
static const Tree *
parse_paren(Parser *p)
{
	uint32_t beg = expect(p, TOK_LPAREN)->beg;
	Trees v = { 0 };
	bool comma = parse_until(p, TOK_RPAREN, &v);
	Range where = range_from(p, beg);

	if (v.n == 1 && !comma)
		return v.at[0];
	return tree_new(p->cx, TREE_TUPLE, where, 1, parse_list_of(p, &v, where));
}

/* "for" lhs "in" expr: the end of a comprehension. */
static void
parse_comp_for(Parser *p, const Tree **target, const Tree **iterable)
{
	Trees v = { 0 };
	uint32_t beg;

	expect(p, TOK_FOR);
	beg = p->tok->beg;
	do {
		if (at(p, TOK_IN))
			break;
		push(p, &v, parse_expr(p, operators[TOK_IN].binary));
	} while (accept(p, TOK_COMMA));
	*target = v.n == 1 && p->tok[-1].kind != TOK_COMMA
		? v.at[0] : tree_new(p->cx, TREE_TUPLE, range_from(p, beg), 1,
				     parse_list_of(p, &v, range_from(p, beg)));
	expect(p, TOK_IN);
	*iterable = parse_expr(p, 0);
}

/* list := "[" [exprs] "]" | "[" expr "for" lhs "in" expr "]" */
static const Tree *
parse_list(Parser *p)
{
	uint32_t beg = expect(p, TOK_LBRACKET)->beg;
	const Tree *target, *iterable;
	Trees v = { 0 };

	if (!at(p, TOK_RBRACKET)) {
		push(p, &v, parse_expr(p, 0));
		if (at(p, TOK_FOR)) {
			parse_comp_for(p, &target, &iterable);
			expect(p, TOK_RBRACKET);
			return tree_new(p->cx, TREE_LIST_COMP, range_from(p, beg), 3, v.at[0], target, iterable);
		}
		if (accept(p, TOK_COMMA))
			parse_until(p, TOK_RBRACKET, &v);
		else
			expect(p, TOK_RBRACKET);
	} else {
		expect(p, TOK_RBRACKET);
	}
	return tree_new(p->cx, TREE_LIST_LITERAL, range_from(p, beg), 1, parse_list_of(p, &v, range_from(p, beg)));
}

/* dict := "{" [k ":" v { "," k ":" v }] "}" | "{" k ":" v "for" lhs "in" expr "}" */
static const Tree *
parse_dict(Parser *p)
{
	uint32_t beg = expect(p, TOK_LBRACE)->beg;
	const Tree *target, *iterable;
	Trees keys = { 0 }, values = { 0 };

	while (!at(p, TOK_RBRACE)) {
		push(p, &keys, parse_expr(p, 0));
		expect(p, TOK_COLON);
		push(p, &values, parse_expr(p, 0));
		if (at(p, TOK_FOR) && keys.n == 1) {
			parse_comp_for(p, &target, &iterable);
			expect(p, TOK_RBRACE);
			return tree_new(p->cx, TREE_DICT_COMP, range_from(p, beg), 4, keys.at[0], values.at[0], target,
			                iterable);
		}
		if (!accept(p, TOK_COMMA))
			break;
	}
	expect(p, TOK_RBRACE);
	return tree_new(p->cx, TREE_DICT_LITERAL, range_from(p, beg), 2, parse_list_of(p, &keys, range_from(p, beg)),
	                parse_list_of(p, &values, range_from(p, beg)));
}

const Tree *
parse_leaf(Parser *p, TreeKind kind)
{
	p->tok++;
	return tree_of(p->cx, kind, range_from(p, p->tok[-1].beg), 0, 0);
}

/* primary := NUMBER | STRING+ | True | False | None | "..." | IDENT | "(" [exprs] ")" | list | dict */
static const Tree *
parse_primary(Parser *p)
{
	const Tree *name;

	switch (p->tok->kind) {
	case TOK_NUMBER:   return parse_number(p, p->tok->beg, false);
	case TOK_STRING:   return parse_strings(p);
	case TOK_TRUE:     return parse_leaf(p, TREE_TRUE);
	case TOK_FALSE:    return parse_leaf(p, TREE_FALSE);
	case TOK_NONE:     return parse_leaf(p, TREE_NONE);
	case TOK_DOTS:
	case TOK_ELLIPSIS: return parse_leaf(p, TREE_DOTS);
	case TOK_LPAREN:   return parse_paren(p);
	case TOK_LBRACKET: return parse_list(p);
	case TOK_LBRACE:   return parse_dict(p);
	default:
		name = parse_ident(p);
		return tree_new(p->cx, TREE_VAR, name->at, 1, name);
	}
}

/* args := "(" { expr | IDENT "=" expr | "*" expr } ")" */
static const Tree *
parse_call(Parser *p, const Tree *callee)
{
	Trees args = { 0 }, keywords = { 0 };
	uint32_t beg = expect(p, TOK_LPAREN)->beg;
	Range where;

	while (!at(p, TOK_RPAREN)) {
		if (at(p, TOK_IDENT) && p->tok[1].kind == TOK_ASSIGN) {
			const Tree *name = parse_ident(p), *value;

			expect(p, TOK_ASSIGN);
			value = parse_expr(p, 0);
			push(p, &keywords, tree_new(p->cx, TREE_KEYWORD, range_join(name->at, value->at), 2, name,
						    value));
		} else {
			push(p, &args, parse_expr(p, 0));
		}
		if (!accept(p, TOK_COMMA))
			break;
	}
	expect(p, TOK_RPAREN);
	where = range_from(p, beg);
	return tree_new(p->cx, TREE_CALL, callee->at, 3, callee, parse_list_of(p, &args, where),
			parse_list_of(p, &keywords, where));
}

static bool
at_subscript_end(const Parser *p)
{
	return at(p, TOK_COLON) || at(p, TOK_COMMA) || at(p, TOK_RBRACKET);
}

static const Tree *
bound_of(const Tree *t)
{
	return t->kind == TREE_NONE ? 0 : t;
}

/* Returns a SLICE for slice(end), slice(start, end) or slice(start, end, step) as an index. Other trees are returned
 * unchanged. */
static const Tree *
slice_call(Parser *p, const Tree *t)
{
	const Tree *arg = t->kind == TREE_CALL && t->kid[0]->kind == TREE_VAR ? t->kid[1] : 0;

	if (!arg || strcmp(t->kid[0]->kid[0]->text, "slice") != 0 || arg->n < 1 || arg->n > 3)
		return t;
	if (t->kid[2]->n)
		fail(p->cx, t->at, "Slice does not accept any keyword arguments");
	return tree_new(p->cx, TREE_SLICE, t->at, 3, arg->n > 1 ? bound_of(arg->kid[0]) : 0,
			bound_of(arg->kid[arg->n > 1]), arg->n > 2 ? bound_of(arg->kid[2]) : 0);
}

/* index := expr | [expr] ":" [expr] [":" [expr]] */
static const Tree *
parse_index(Parser *p)
{
	const Tree *part[3] = { 0 };
	uint32_t beg = p->tok->beg;

	if (!at(p, TOK_COLON)) {
		part[0] = parse_expr(p, 0);
		if (!at(p, TOK_COLON))
			return slice_call(p, part[0]);
	}
	for (int i = 1; i < 3 && accept(p, TOK_COLON); i++)
		if (!at_subscript_end(p))
			part[i] = parse_expr(p, 0);
	return tree_new(p->cx, TREE_SLICE, range_from(p, beg), 3, part[0], part[1], part[2]);
}

/* "[" index { "," index } "]" */
static const Tree *
parse_subscript(Parser *p, const Tree *value)
{
	Trees v = { 0 };
	uint32_t beg = expect(p, TOK_LBRACKET)->beg;

	do {
		if (at(p, TOK_RBRACKET))
			break;
		push(p, &v, parse_index(p));
	} while (accept(p, TOK_COMMA));
	expect(p, TOK_RBRACKET);
	return tree_new(p->cx, TREE_SUBSCRIPT, range_from(p, value->at.beg), 2, value,
	                parse_list_of(p, &v, range_from(p, beg)));
}

/* postfix := primary { "." IDENT | args | "[" index { "," index } "]" } */
static const Tree *
parse_postfix(Parser *p)
{
	const Tree *t = parse_primary(p);

	for (;;) {
		if (accept(p, TOK_DOT)) {
			const Tree *name = parse_ident(p);

			t = tree_new(p->cx, TREE_ATTR, range_join(t->at, name->at), 2, t, name);
		} else if (at(p, TOK_LPAREN)) {
			t = parse_call(p, t);
		} else if (at(p, TOK_LBRACKET)) {
			t = parse_subscript(p, t);
		} else {
			return t;
		}
	}
}

/* Folds a minus into the number after it, but not that of -2 ** 2. */
static const Tree *
fold_minus(Parser *p, Range where, const Tree *t)
{
	Tree *r;

	if ((t->kind != TREE_INT || t->num.i == INT64_MIN) && t->kind != TREE_FLOAT && t->kind != TREE_IMAG)
		return tree_new(p->cx, TREE_NEG, where, 1, t);
	r = tree_of(p->cx, t->kind, where, 0, 0);
	if (t->kind == TREE_INT)
		r->num.i = -t->num.i;
	else
		r->num.f = -t->num.f;
	return r;
}

/* unary := ("-" | "~" | "not" | "*") expr | postfix */
static const Tree *
parse_unary(Parser *p)
{
	const Operator *op = &operators[p->tok->kind];
	uint32_t beg = p->tok->beg;
	const Tree *t;

	if (!op->unary)
		return parse_postfix(p);
	if (at(p, TOK_SUB) && p->tok[1].kind == TOK_NUMBER && p->tok[2].kind != TOK_POW) {
		p->tok++;
		return parse_number(p, beg, true);
	}
	p->tok++;
	t = parse_expr(p, op->unary);
	if (op->unary_tree == TREE_NEG)
		return fold_minus(p, range_from(p, beg), t);
	return tree_new(p->cx, (TreeKind)op->unary_tree, range_from(p, beg), 1, t);
}

/* then "if" condition "else" expr */
static const Tree *
parse_ternary(Parser *p, const Tree *then, int prec)
{
	const Tree *condition = parse_expr(p, 0), *other;

	expect(p, TOK_ELSE);
	other = parse_expr(p, prec - 1);
	return tree_new(p->cx, TREE_TERNARY, range_join(then->at, other->at), 3, condition, then, other);
}

static bool
is_comparison(TokKind kind)
{
	return kind == TOK_LT || kind == TOK_GT || kind == TOK_LE || kind == TOK_GE || kind == TOK_EQ || kind == TOK_NE;
}

/* a < b < c becomes a < b and b < c. b is evaluated twice, as in PyTorch's front end. last: right operand of the left
 * comparison. */
static const Tree *
chain(Parser *p, const Tree *left, const Tree *last, const Operator *op, const Tree *right)
{
	const Tree *next = tree_new(p->cx, (TreeKind)op->binary_tree, range_join(last->at, right->at), 2, last, right);

	return tree_new(p->cx, TREE_AND, range_join(left->at, right->at), 2, left, next);
}

/* expr := unary { operator of a higher precedence than prec, expr } */
const Tree *
parse_expr(Parser *p, int prec)
{
	const Tree *left, *right, *compared = 0;

	cx_enter(p->cx, tok_range(p));
	left = parse_unary(p);
	for (;;) {
		TokKind kind = p->tok->kind;
		const Operator *op = &operators[kind];

		if (op->binary <= prec)
			break;
		p->tok++;
		if (kind == TOK_IF) {
			left = parse_ternary(p, left, op->binary);
		} else {
			right = parse_expr(p, kind == TOK_POW ? op->binary - 1 : op->binary);
			if (compared && is_comparison(kind))
				left = chain(p, left, compared, op, right);
			else
				left = tree_new(p->cx, (TreeKind)op->binary_tree, range_join(left->at, right->at), 2,
						left, right);
			compared = is_comparison(kind) ? right : 0;
		}
	}
	cx_leave(p->cx);
	return left;
}

static bool
at_exprs_end(const Parser *p)
{
	return at(p, TOK_NEWLINE) || at(p, TOK_ASSIGN) || at(p, TOK_COLON) || at(p, TOK_EOF) || at(p, TOK_IN);
}

/* exprs := expr { "," expr } [","], each of a higher precedence than prec. A comma makes a tuple. */
const Tree *
parse_exprs(Parser *p, int prec)
{
	const Tree *first = parse_expr(p, prec);
	Trees v = { 0 };
	Range where;

	if (!at(p, TOK_COMMA))
		return first;
	push(p, &v, first);
	while (accept(p, TOK_COMMA) && !at_exprs_end(p))
		push(p, &v, parse_expr(p, prec));
	where = range_from(p, first->at.beg);
	return tree_new(p->cx, TREE_TUPLE, where, 1, parse_list_of(p, &v, where));
}
