/*
 * Tokens to trees: a Pratt parser for expressions, recursive descent for statements.
 *
 * The grammar rule stands over each function.  Precedences are columns of tok.def.  A tree's range runs from its first
 * token to its last, except that parentheses around an expression are not part of it, that a call covers its callee and
 * not its arguments, and that a statement with a block covers its first line: what PyTorch underlines.
 *
 * Nesting is bounded by cx_enter; chains of binary and postfix operators are loops, so that only their trees are deep.
 */
#include "parse.h"

#include <string.h>

static const struct Operator { uint8_t binary, binary_tree, unary, unary_tree; } operators[TOK_NKIND] = {
#define TOK(name, spelling, binary, binary_tree, unary, unary_tree) \
	{ binary, TREE_##binary_tree, unary, TREE_##unary_tree },
#include "tok.def"
#undef TOK
};

static const Tree *parse_block(Parser *);
static const Tree *parse_stmt(Parser *);

/* ---- trees ------------------------------------------------------------------------------------------ */

const Tree *
parse_list_of(Parser *p, Trees *v, Range where)
{
	return tree_of(p->cx, TREE_LIST, where, v->at, v->n);
}

/* IDENT */
static const Tree *
parse_ident(Parser *p)
{
	const Tok *t = expect(p, TOK_IDENT);

	return tree_text(p->cx, TREE_IDENT, range_from(p, t->beg), p->src->text + t->beg, (int)(t->end - t->beg));
}

/* ---- expressions ------------------------------------------------------------------------------------- */

/* exprs := expr { "," expr } [","] until end; whether there was a comma */
static bool
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

/* "(" [exprs] ")": a comma, or nothing at all, makes a tuple */
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

/* "for" lhs "in" expr: the rest of a comprehension */
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
		? v.at[0] : tree_new(p->cx, TREE_TUPLE, range_from(p, beg), 1, parse_list_of(p, &v, range_from(p, beg)));
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

static const Tree *
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
			push(p, &keywords, tree_new(p->cx, TREE_KEYWORD, join(name->at, value->at), 2, name, value));
		} else {
			push(p, &args, parse_expr(p, 0));
		}
		if (!accept(p, TOK_COMMA))
			break;
	}
	expect(p, TOK_RPAREN);
	where = range_from(p, beg);
	return tree_new(p->cx, TREE_CALL, callee->at, 3, callee, parse_list_of(p, &args, where), parse_list_of(p, &keywords, where));
}

static bool
at_subscript_end(const Parser *p)
{
	return at(p, TOK_COLON) || at(p, TOK_COMMA) || at(p, TOK_RBRACKET);
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
			return part[0];
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

			t = tree_new(p->cx, TREE_ATTR, join(t->at, name->at), 2, t, name);
		} else if (at(p, TOK_LPAREN)) {
			t = parse_call(p, t);
		} else if (at(p, TOK_LBRACKET)) {
			t = parse_subscript(p, t);
		} else {
			return t;
		}
	}
}

/* A sign before a number becomes part of it, but not that of -2 ** 2. */
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
	const struct Operator *op = &operators[p->tok->kind];
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
	return tree_new(p->cx, TREE_TERNARY, join(then->at, other->at), 3, condition, then, other);
}

static bool
is_comparison(TokKind kind)
{
	return kind == TOK_LT || kind == TOK_GT || kind == TOK_LE || kind == TOK_GE || kind == TOK_EQ || kind == TOK_NE;
}

/* a < b < c is a < b and b < c: b is computed twice, as by PyTorch's front end.  last: where the left comparison's right
 * operand stands. */
static const Tree *
chain(Parser *p, const Tree *left, const Tree *last, const struct Operator *op, const Tree *right)
{
	const Tree *next = tree_new(p->cx, (TreeKind)op->binary_tree, join(last->at, right->at), 2, last, right);

	return tree_new(p->cx, TREE_AND, join(left->at, right->at), 2, left, next);
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
		const struct Operator *op = &operators[kind];

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
				left = tree_new(p->cx, (TreeKind)op->binary_tree, join(left->at, right->at), 2, left, right);
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

/* exprs := expr { "," expr } [","], each of a higher precedence than prec; a comma makes a tuple */
static const Tree *
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

/* ---- statements -------------------------------------------------------------------------------------- */

/* augop := "+=" | "-=" | ...; LIST: none */
static TreeKind
aug_operator(TokKind kind)
{
	if ((kind >= TOK_SHL_EQ && kind <= TOK_POW_EQ) || (kind >= TOK_ADD_EQ && kind <= TOK_XOR_EQ))
		return (TreeKind)operators[kind].binary_tree;
	return TREE_LIST;
}

/* { "=" exprs } after the first target or value */
static const Tree *
parse_assign(Parser *p, const Tree *first, const Tree *type)
{
	const Tree *value = 0;
	Trees targets = { 0 };
	Range where;

	push(p, &targets, first);
	while (accept(p, TOK_ASSIGN)) {
		if (value)
			push(p, &targets, value);
		value = parse_exprs(p, 0);
	}
	where = range_from(p, first->at.beg);
	return tree_new(p->cx, TREE_ASSIGN, where, 3, parse_list_of(p, &targets, first->at), value, type);
}

/* simple := exprs | target ":" type ["=" exprs] | exprs { "=" exprs } | expr augop exprs; then NEWLINE */
static const Tree *
parse_simple(Parser *p)
{
	const Tree *first = parse_exprs(p, 0), *t;
	TreeKind op = aug_operator(p->tok->kind);

	if (op != TREE_LIST) {
		const Tree *value;
		Tree *aug;

		p->tok++;
		value = parse_exprs(p, 0);
		aug = tree_new(p->cx, TREE_AUG_ASSIGN, join(first->at, value->at), 2, first, value);
		aug->op = op;
		t = aug;
	} else if (accept(p, TOK_COLON)) {
		const Tree *type = parse_expr(p, 0);

		t = parse_assign(p, first, type);
	} else if (at(p, TOK_ASSIGN)) {
		t = parse_assign(p, first, 0);
	} else {
		t = tree_new(p->cx, TREE_EXPR_STMT, first->at, 1, first);
	}
	expect(p, TOK_NEWLINE);
	return t;
}

static const Tree *
empty_list(Parser *p)
{
	return tree_of(p->cx, TREE_LIST, range_from(p, p->tok[-1].beg), 0, 0);
}

/* else := "elif" expr ":" block else | "else" ":" block | nothing */
static const Tree *
parse_else(Parser *p)
{
	uint32_t beg = p->tok->beg;

	if (accept(p, TOK_ELIF)) {
		const Tree *condition, *then, *other, *t;
		Range where;

		cx_enter(p->cx, tok_range(p));
		condition = parse_expr(p, 0);
		where = range_from(p, beg);
		expect(p, TOK_COLON);
		then = parse_block(p);
		other = parse_else(p);
		t = tree_new(p->cx, TREE_IF, where, 3, condition, then, other);
		cx_leave(p->cx);
		return tree_new(p->cx, TREE_LIST, where, 1, t);
	}
	if (!accept(p, TOK_ELSE))
		return empty_list(p);
	expect(p, TOK_COLON);
	return parse_block(p);
}

/* if := "if" expr ":" block else */
static const Tree *
parse_if(Parser *p)
{
	uint32_t beg = expect(p, TOK_IF)->beg;
	const Tree *condition = parse_expr(p, 0), *then;
	Range where = range_from(p, beg);

	expect(p, TOK_COLON);
	then = parse_block(p);
	return tree_new(p->cx, TREE_IF, where, 3, condition, then, parse_else(p));
}

/* while := "while" expr ":" block */
static const Tree *
parse_while(Parser *p)
{
	uint32_t beg = expect(p, TOK_WHILE)->beg;
	const Tree *condition = parse_expr(p, 0);
	Range where = range_from(p, beg);

	expect(p, TOK_COLON);
	return tree_new(p->cx, TREE_WHILE, where, 2, condition, parse_block(p));
}

/* for := "for" lhs { "," lhs } "in" expr { "," expr } ":" block */
static const Tree *
parse_for(Parser *p)
{
	uint32_t beg = expect(p, TOK_FOR)->beg;
	const Tree *target = parse_exprs(p, operators[TOK_IN].binary), *iterable;
	Range where;

	expect(p, TOK_IN);
	iterable = parse_exprs(p, 0);
	where = range_from(p, beg);
	expect(p, TOK_COLON);
	return tree_new(p->cx, TREE_FOR, where, 3, target, iterable, parse_block(p));
}

/* with := "with" expr ["as" IDENT] { "," expr ["as" IDENT] } ":" block */
static const Tree *
parse_with(Parser *p)
{
	uint32_t beg = expect(p, TOK_WITH)->beg;
	Trees items = { 0 };
	Range where;

	do {
		const Tree *value = parse_expr(p, 0);
		const Tree *name = accept(p, TOK_AS) ? parse_ident(p) : 0;

		push(p, &items, tree_new(p->cx, TREE_WITH_ITEM, range_from(p, value->at.beg), 2, value, name));
	} while (accept(p, TOK_COMMA));
	where = range_from(p, beg);
	expect(p, TOK_COLON);
	return tree_new(p->cx, TREE_WITH, where, 2, parse_list_of(p, &items, where), parse_block(p));
}

/* param := IDENT [":" expr] ["=" expr] */
static const Tree *
parse_param(Parser *p, bool keyword_only)
{
	const Tree *name = parse_ident(p), *type = 0, *deflt = 0;
	Tree *t;

	if (accept(p, TOK_COLON))
		type = parse_expr(p, 0);
	if (accept(p, TOK_ASSIGN))
		deflt = parse_expr(p, 0);
	t = tree_new(p->cx, TREE_PARAM, range_from(p, name->at.beg), 3, name, type, deflt);
	t->op = keyword_only;
	return t;
}

/* A parameter gets its type from a comment. */
static void
give_type(Parser *p, Trees *params, int i, const Tree *type)
{
	const Tree *old = params->at[i];
	Tree *t = tree_new(p->cx, TREE_PARAM, old->at, 3, old->kid[0], type, old->kid[2]);

	t->op = old->op;
	params->at[i] = t;
}

/* params := "(" [ (param | "*") { "," (param | "*") } ] ")"; a comment "# type: T" behind one is its type */
static void
parse_params(Parser *p, Trees *v)
{
	bool keyword_only = false, comma = true;

	expect(p, TOK_LPAREN);
	while (comma && !at(p, TOK_RPAREN)) {
		if (at(p, TOK_MUL) && p->tok[1].kind != TOK_IDENT) {
			if (keyword_only)
				fail(p->cx, tok_range(p), "only one '*' can separate keyword-only arguments");
			p->tok++;
			keyword_only = true;
		} else {
			push(p, v, parse_param(p, keyword_only));
		}
		comma = accept(p, TOK_COMMA);
		if (v->n && accept(p, TOK_TYPE_COMMENT))
			give_type(p, v, v->n - 1, parse_expr(p, 0));
	}
	expect(p, TOK_RPAREN);
}

/* type comment := "# type:" "(" ( [exprs] | "..." ) ")" "->" expr: the types of all parameters, or of all but the first;
 * "...": each has its own */
static const Tree *
parse_type_comment(Parser *p, Trees *params)
{
	Trees types = { 0 };
	Range where;
	int skip;

	expect(p, TOK_TYPE_COMMENT);
	where = tok_range(p);
	expect(p, TOK_LPAREN);
	if (accept(p, TOK_DOTS)) {
		expect(p, TOK_RPAREN);
		expect(p, TOK_ARROW);
		return parse_expr(p, 0);
	}
	parse_until(p, TOK_RPAREN, &types);
	skip = params->n - types.n;
	if (skip != 0 && skip != 1)
		fail(p->cx, range_from(p, where.beg), "type annotations for %d parameters, but there are %d", types.n,
		     params->n);
	for (int i = 0; i < types.n; i++)
		give_type(p, params, i + skip, types.at[i]);
	expect(p, TOK_ARROW);
	return parse_expr(p, 0);
}


/* stmt { stmt } DEDENT */
static const Tree *
parse_stmts(Parser *p)
{
	uint32_t beg = p->tok->beg;
	Trees v = { 0 };

	do
		push(p, &v, parse_stmt(p));
	while (!at(p, TOK_DEDENT));
	expect(p, TOK_DEDENT);
	return parse_list_of(p, &v, (Range){ p->src, beg, vec_last(&v)->at.end });
}

/* block := INDENT stmt { stmt } DEDENT */
static const Tree *
parse_block(Parser *p)
{
	expect(p, TOK_INDENT);
	return parse_stmts(p);
}

/* def := "def" IDENT params ["->" expr] ":" ( [type comment] INDENT [type comment NEWLINE] stmts | stmt ) */
static const Tree *
parse_def(Parser *p)
{
	uint32_t beg = expect(p, TOK_DEF)->beg;
	const Tree *name = parse_ident(p), *result = 0, *body;
	Trees params = { 0 };
	Range where;

	parse_params(p, &params);
	if (accept(p, TOK_ARROW))
		result = parse_expr(p, 0);
	where = range_from(p, beg);
	expect(p, TOK_COLON);
	if (at(p, TOK_TYPE_COMMENT))
		result = parse_type_comment(p, &params);
	if (accept(p, TOK_INDENT)) {
		if (at(p, TOK_TYPE_COMMENT)) {
			result = parse_type_comment(p, &params);
			expect(p, TOK_NEWLINE);
		}
		body = parse_stmts(p);
	} else {
		body = parse_stmt(p);
		body = tree_new(p->cx, TREE_LIST, body->at, 1, body);
	}
	return tree_new(p->cx, TREE_DEF, where, 4, name, parse_list_of(p, &params, where), result, body);
}

/* class := "class" IDENT ["(" expr ")"] ":" block */
static const Tree *
parse_class(Parser *p)
{
	uint32_t beg = expect(p, TOK_CLASS)->beg;
	const Tree *name = parse_ident(p), *base = 0;
	Range where;

	if (accept(p, TOK_LPAREN)) {
		if (!at(p, TOK_RPAREN))
			base = parse_expr(p, 0);
		expect(p, TOK_RPAREN);
	}
	where = range_from(p, beg);
	expect(p, TOK_COLON);
	return tree_new(p->cx, TREE_CLASS, where, 3, name, base, parse_block(p));
}

/* "return" [exprs] | "raise" [expr] */
static const Tree *
parse_optional_value(Parser *p, TreeKind kind)
{
	uint32_t beg = p->tok++->beg;
	const Tree *value = at(p, TOK_NEWLINE) ? 0 : parse_exprs(p, 0);
	const Tree *t = tree_new(p->cx, kind, range_from(p, beg), 1, value);

	expect(p, TOK_NEWLINE);
	return t;
}

/* "assert" expr ["," expr] */
static const Tree *
parse_assert(Parser *p)
{
	uint32_t beg = expect(p, TOK_ASSERT)->beg;
	const Tree *condition = parse_expr(p, 0);
	const Tree *message = accept(p, TOK_COMMA) ? parse_expr(p, 0) : 0;
	const Tree *t = tree_new(p->cx, TREE_ASSERT, range_from(p, beg), 2, condition, message);

	expect(p, TOK_NEWLINE);
	return t;
}

/* "del" expr { "," expr } */
static const Tree *
parse_delete(Parser *p)
{
	uint32_t beg = expect(p, TOK_DEL)->beg;
	Trees v = { 0 };
	Range where;

	do
		push(p, &v, parse_expr(p, 0));
	while (accept(p, TOK_COMMA));
	where = range_from(p, beg);
	expect(p, TOK_NEWLINE);
	return tree_new(p->cx, TREE_DELETE, where, 1, parse_list_of(p, &v, where));
}

/* IDENT { "." IDENT } as VAR and ATTR, or null */
static const Tree *
accept_dotted(Parser *p)
{
	const Tree *name, *t;

	if (!at(p, TOK_IDENT))
		return 0;
	name = parse_ident(p);
	t = tree_new(p->cx, TREE_VAR, name->at, 1, name);
	while (accept(p, TOK_DOT)) {
		if (!at(p, TOK_IDENT))
			return 0;
		name = parse_ident(p);
		t = tree_new(p->cx, TREE_ATTR, join(t->at, name->at), 2, t, name);
	}
	return t;
}

/* "import" dotted ["as" IDENT] ... NEWLINE | "from" dotted "import" IDENT ["as" IDENT] { "," ... } NEWLINE
 * KEYWORDs of new names and what they stand for.  Old archives have imports that say nothing: what is odd is skipped. */
static const Tree *
parse_import(Parser *p)
{
	const uint32_t beg = p->tok->beg;
	const bool from = !at(p, TOK_IMPORT);
	const Tree *space, *name, *t;
	Trees v = { 0 };
	Range where;

	p->tok++;
	space = from ? accept_dotted(p) : 0;
	while (!at(p, TOK_NEWLINE) && !at(p, TOK_EOF)) {
		if ((from && !space) || p->tok->kind == TOK_IMPORT || p->tok->kind == TOK_COMMA || !at(p, TOK_IDENT)) {
			p->tok++;
			continue;
		}
		name = from ? parse_ident(p) : 0;
		t = from ? tree_new(p->cx, TREE_ATTR, join(space->at, name->at), 2, space, name) : accept_dotted(p);
		if (accept(p, TOK_AS) && at(p, TOK_IDENT))
			name = parse_ident(p);
		if (name && t)
			push(p, &v, tree_new(p->cx, TREE_KEYWORD, name->at, 2, name, t));
	}
	where = range_from(p, beg);
	t = parse_list_of(p, &v, where);
	expect(p, TOK_NEWLINE);
	return tree_new(p->cx, TREE_IMPORT, where, 1, t);
}

static bool
ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* What a decorator makes of a definition: properties become the methods that archives have for them. */
static const Tree *
decorate(Parser *p, const char *with, const Tree *t)
{
	const Tree *name = t->kid[0], *first = t->kind == TREE_DEF && t->kid[1]->n ? t->kid[1]->kid[0] : 0;
	const char *as = ends_with(with, ".setter") ? "setter" : !strcmp(with, "property") ? "getter" : 0;
	const char *text;
	Tree *own;

	if (t->kind == TREE_CLASS && ends_with(with, ".interface")) {
		name = tree_new(p->cx, TREE_VAR, name->at, 1, tree_text(p->cx, TREE_IDENT, name->at, "Interface", 9));
		return tree_new(p->cx, TREE_CLASS, t->at, 3, t->kid[0], name, t->kid[2]);
	}
	if (first && !first->kid[1] && !strcmp(with, "staticmethod")) {
		own = (Tree *)(uintptr_t)first;
		own->kid[1] = tree_new(p->cx, TREE_VAR, first->at, 1, tree_text(p->cx, TREE_IDENT, first->at, "Tensor", 6));
	}
	if (!as || t->kind != TREE_DEF)
		return t;
	text = arena_printf(p->cx->arena, "__%s_%s", name->text, as);
	name = tree_text(p->cx, TREE_IDENT, name->at, text, (int)strlen(text));
	return tree_new(p->cx, TREE_DEF, t->at, 4, name, t->kid[1], t->kid[2], t->kid[3]);
}

/* { "@" expr NEWLINE } (def | class) */
static const Tree *
parse_decorated(Parser *p)
{
	Trees v = { 0 };
	const Tree *t;
	const char *with;

	while (accept(p, TOK_MATMUL)) {
		t = parse_expr(p, 0);
		push(p, &v, t->kind == TREE_CALL ? t->kid[0] : t);
		expect(p, TOK_NEWLINE);
	}
	if (!at(p, TOK_DEF) && !at(p, TOK_CLASS))
		unexpected(p, "def");
	t = parse_stmt(p);
	while (v.n--)
		if ((with = tree_dotted(p->cx, v.at[v.n])))
			t = decorate(p, with, t);
	return t;
}

static const Tree *
parse_word(Parser *p, TreeKind kind)
{
	const Tree *t = parse_leaf(p, kind);

	expect(p, TOK_NEWLINE);
	return t;
}

/* `from` is no keyword: a name where an archive has one. */
static bool
is_from(const Parser *p)
{
	return at(p, TOK_IDENT) && p->tok->end - p->tok->beg == 4 && !memcmp(p->src->text + p->tok->beg, "from", 4)
		&& (p->tok[1].kind == TOK_IDENT || p->tok[1].kind == TOK_DOT || p->tok[1].kind == TOK_DOTS);
}

/* stmt := if | while | for | with | def | class | return | raise | assert | break | continue | pass | del | import
 *       | simple */
static const Tree *
parse_stmt(Parser *p)
{
	const Tree *t;

	cx_enter(p->cx, tok_range(p));
	switch (p->tok->kind) {
	case TOK_IF:       t = parse_if(p); break;
	case TOK_WHILE:    t = parse_while(p); break;
	case TOK_FOR:      t = parse_for(p); break;
	case TOK_WITH:     t = parse_with(p); break;
	case TOK_DEF:      t = parse_def(p); break;
	case TOK_CLASS:    t = parse_class(p); break;
	case TOK_RETURN:   t = parse_optional_value(p, TREE_RETURN); break;
	case TOK_RAISE:    t = parse_optional_value(p, TREE_RAISE); break;
	case TOK_ASSERT:   t = parse_assert(p); break;
	case TOK_BREAK:    t = parse_word(p, TREE_BREAK); break;
	case TOK_CONTINUE: t = parse_word(p, TREE_CONTINUE); break;
	case TOK_PASS:     t = parse_word(p, TREE_PASS); break;
	case TOK_DEL:      t = parse_delete(p); break;
	case TOK_IMPORT:   t = parse_import(p); break;
	case TOK_MATMUL:   t = parse_decorated(p); break;
	case TOK_GLOBAL:   fail(p->cx, tok_range(p), "global variables are not supported");
	default:           t = is_from(p) ? parse_import(p) : parse_simple(p); break;
	}
	cx_leave(p->cx);
	return t;
}

/* ---- doors --------------------------------------------------------------------------------------------- */

static Parser
parser(Cx *cx, const Source *src)
{
	Parser p = { .cx = cx, .src = src };

	lex(cx, src, &p.tok);
	return p;
}

/* file := { stmt } EOF */
const Tree *
parse_file(Cx *cx, const Source *src)
{
	Parser p = parser(cx, src);
	Trees v = { 0 };

	while (!at(&p, TOK_EOF))
		push(&p, &v, parse_stmt(&p));
	return parse_list_of(&p, &v, (Range){ src, 0, (uint32_t)src->n });
}

const Tree *
parse_expression(Cx *cx, const Source *src)
{
	Parser p = parser(cx, src);
	const Tree *t = parse_expr(&p, 0);

	accept(&p, TOK_NEWLINE);
	if (!at(&p, TOK_EOF))
		unexpected(&p, "the end");
	return t;
}
