/*
 * Tokens to trees of statements: recursive descent. parse_expr.c parses expressions.
 *
 * The comment of a function is its grammar rule. A tree's range runs from its first token to its last. For a statement
 * with a block it covers only the first line, which PyTorch underlines. cx_enter bounds the nesting.
 */
#include "parse.h"

#include <string.h>

static const Tree *parse_block(Parser *);
static const Tree *parse_stmt(Parser *);

/* augop := "+=" | "-=" | ... Returns LIST if the token is none of these. */
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
		aug = tree_new(p->cx, TREE_AUG_ASSIGN, range_join(first->at, value->at), 2, first, value);
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

/* Sets the type of parameter i to the type in a comment. */
static void
give_type(Parser *p, Trees *params, int i, const Tree *type)
{
	const Tree *old = params->at[i];
	Tree *t = tree_new(p->cx, TREE_PARAM, old->at, 3, old->kid[0], type, old->kid[2]);

	t->op = old->op;
	params->at[i] = t;
}

/* params := "(" [ (param | "*") { "," (param | "*") } ] ")". A comment "# type: T" after a parameter is its type. */
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

/* type comment := "# type:" "(" ( [exprs] | "..." ) ")" ["->" expr]. The types are those of all parameters, or of all
 * but the first. With "..." each parameter has its own comment. */
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
		return accept(p, TOK_ARROW) ? parse_expr(p, 0) : 0;
	}
	parse_until(p, TOK_RPAREN, &types);
	skip = params->n - types.n;
	if (skip != 0 && skip != 1)
		fail(p->cx, range_from(p, where.beg), "Number of type annotations (%d) did not match the number of "
			"function parameters (%d)", types.n, params->n);
	for (int i = 0; i < types.n; i++)
		give_type(p, params, i + skip, types.at[i]);
	return accept(p, TOK_ARROW) ? parse_expr(p, 0) : 0;
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
		t = tree_new(p->cx, TREE_ATTR, range_join(t->at, name->at), 2, t, name);
	}
	return t;
}

/* "import" dotted ["as" IDENT] ... NEWLINE | "from" dotted "import" IDENT ["as" IDENT] { "," ... } NEWLINE
 *
 * Returns KEYWORDs of new names and the names that they stand for. Old archives have empty imports, so unknown parts
 * are skipped. */
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
		t = from ? tree_new(p->cx, TREE_ATTR, range_join(space->at, name->at), 2, space, name) :
			   accept_dotted(p);
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

/* Applies a decorator to a definition. A property becomes the method by which archives represent it. */
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
		own->kid[1] = tree_new(p->cx, TREE_VAR, first->at, 1,
				       tree_text(p->cx, TREE_IDENT, first->at, "Tensor", 6));
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

/* Whether the token begins a from-import. `from` is not a keyword, because archives use it as a name. */
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

/* ---- entry points ------------------------------------------------------------------------------------- */

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
