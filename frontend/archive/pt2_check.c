/*
 * Checks of arguments: sizes that were fixed at the export, equal dimensions, ranges, constants, guards.
 *
 * If the archive has sample inputs, PyTorch checks by guards, which raise an AssertionError with the condition.
 * Otherwise it raises a RuntimeError with the expected value. It never checks dtypes. A minimum of 2 is not checked: it
 * only means that the export did not trace sizes 0 and 1.
 */
#include "pt2.h"

#include <stdlib.h>
#include <string.h>

typedef struct Known {           /* Symbol whose value follows from the arguments. */
	Value      *v;
	const char *source;      /* Text such as x.size()[0], for messages. */
} Known;

typedef struct Checks {
	Builder *builder;
	Value *const *leaf;      /* Values of the user's inputs, in order. */
	const Input **input;     /* The user's inputs. */
	int      n;
	Map      paths;          /* Leaf of an input, by path. */
	Map      known;          /* Known, by symbol. */
	Map      ranges;         /* Json of the range, by symbol or expression over symbols. */
} Checks;

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* Replaces L['x'] by x, as messages print it. */
static const char *
without_frame(Cx *cx, const char *text)
{
	Buf b = { 0 };

	buf_puts(&b, "");
	while (*text) {
		const char *end = strncmp(text, "L['", 3) ? NULL : strchr(text + 3, '\'');

		if (end && end[1] == ']') {
			buf_add(&b, text + 3, end - text - 3);
			text = end + 2;
		} else {
			buf_add(&b, text++, 1);
		}
	}
	return arena_text(cx->arena, &b);
}

static const char *
source_of(Checks *c, const Input *in, int dim)
{
	const char *path = arena_printf(c->builder->cx->arena, dim < 0 ? "L%s" : "L%s.size()[%d]", in->path, dim);

	return without_frame(c->builder->cx, path);
}

static const char *
input_place(Checks *c, const Input *in, int dim)
{
	return dim < 0 ? in->place : arena_printf(c->builder->cx->arena, "%s.shape[%d]", in->place, dim);
}

/* ---- one condition ----------------------------------------------------------------------------------------------- */

/* Emits a check that raises if `ok` is false. The message is the guard or, for archives without samples, `expected`
 * with `got` in place of its {}. */
static void
require(Checks *c, Value *ok, const char *guard, const char *expected, Value *got)
{
	Builder *b = c->builder;
	Node *n;

	if (b->exported->samples) {
		build_raise_unless(b, ok, arena_printf(b->cx->arena, "AssertionError: Guard failed: %s", guard));
		return;
	}
	n = graph_insert(b->graph, if_new(b->graph, b->at, ok, 0));
	graph_set_insert_end(b->graph, if_else(n));
	{
		Value *raise[2] = { build_op(b, "aten::format", 2, build_text(b, expected), got),
			graph_constant_typed(b->graph, rt_none(), &rt_type_none, b->at) };

		graph_emit(b->graph, "prim::RaiseException", b->at, 2, raise, 0);
	}
	graph_set_insert_end(b->graph, n->block);
}

static Value *
compare(Builder *b, const char *how, Value *l, Value *r)
{
	Value *in[2] = { l, r };

	return python_call(b, how, in, 2);
}

static void
require_number(Checks *c, const Input *in, int dim, Value *v, int64_t want)
{
	Cx *cx = c->builder->cx;
	const char *tail = dim < 0 ? "" : ". If you meant for this dimension to be dynamic, please re-export and "
		"specify dynamic_shapes (e.g. with Dim.DYNAMIC)";

	require(c, compare(c->builder, "_operator.eq", v, build_int(c->builder, want)),
		arena_printf(cx->arena, "%s == %lld", source_of(c, in, dim), (long long)want),
		arena_printf(cx->arena, "Expected input at %s to be equal to %lld, but got {}%s",
			     input_place(c, in, dim), (long long)want, tail), v);
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

static void
require_bound(Checks *c, const Input *in, int dim, Value *v, const char *op, int64_t bound)
{
	Cx *cx = c->builder->cx;

	require(c, compare(c->builder, *op == '<' ? "_operator.le" : "_operator.ge", v, build_int(c->builder, bound)),
		arena_printf(cx->arena, "%s %s %lld", source_of(c, in, dim), op, (long long)bound),
		arena_printf(cx->arena, "Expected input at %s to be %s %lld, but got {}", input_place(c, in, dim), op,
			     (long long)bound), v);
}

/* Emits checks of the bounds of factor * symbol + offset, if the archive has a range for the symbol. */
static void
require_range(Checks *c, const Input *in, int dim, Value *v, const Linear *l)
{
	static const char *const keys[] = { "min_val", "max_val" };
	const Json *range = map_get(&c->ranges, l->symbol);

	for (int i = 0; i < 2; i++) {
		const Json *bound = json_get(range, keys[i]);
		const bool least = (i == 0) == (l->factor > 0);
		int64_t n = bound ? json_int(&c->builder->exported->doc, bound, keys[i]) : 0;

		if (!bound || !size_mul(n, l->factor, &n) || !size_add(n, l->offset, &n))
			continue;
		if (!least || n > 2)
			require_bound(c, in, dim, v, least ? ">=" : "<=", n);
	}
}

static void
know(Checks *c, const char *symbol, Value *v, const char *source)
{
	Known *k = new(c->builder->cx->arena, Known, 1);

	*k = (Known){ v, source };
	map_put(&c->known, symbol, k);
}

static void
require_equal(Checks *c, const Input *in, int dim, Value *v, Value *other, const char *source)
{
	Cx *cx = c->builder->cx;

	require(c, compare(c->builder, "_operator.eq", v, other),
		arena_printf(cx->arena, "%s == %s", source_of(c, in, dim), source),
		arena_printf(cx->arena, "Expected input at %s to be equal to %s, but got {}", input_place(c, in, dim),
			     source), v);
}

static Value *
find_symbol(Builder *b, void *arg, const Tree *t)
{
	const char *symbol = expr_symbol(t);
	const Known *k = symbol ? map_get(&((Checks *)arg)->known, symbol) : NULL;

	(void)b;
	return k ? k->v : NULL;
}

static const char *
known_source(void *arg, const char *symbol)
{
	const Known *k = map_get(&((Checks *)arg)->known, symbol);

	return k ? k->source : NULL;
}

/* Sets the symbol to (v - offset) / factor, from the first size that contains it. Requires the division to be exact. */
static void
solve(Checks *c, const Input *in, int dim, Value *v, const Tree *t, const Linear *l)
{
	Builder *b = c->builder;
	Value *factor = build_int(b, l->factor), *s = compare(b, "_operator.sub", v, build_int(b, l->offset));
	const char *form = expr_text(b, t, NULL, NULL);

	require(c, compare(b, "_operator.eq", compare(b, "_operator.mod", s, factor), build_int(b, 0)),
		arena_printf(b->cx->arena, "%s == %s", source_of(c, in, dim), form),
		arena_printf(b->cx->arena, "Expected input %s = {} to be of the form %s, where %s is an integer",
			     input_place(c, in, dim), form, l->symbol),
		v);
	know(c, l->symbol, compare(b, "_operator.floordiv", s, factor), arena_printf(b->cx->arena, "(%s - %lld)/%lld",
		source_of(c, in, dim), (long long)l->offset, (long long)l->factor));
}

static void
check_symbolic(Checks *c, const Input *in, int dim, Value *v, const char *text)
{
	const Tree *t = expr_parse(c->builder, text, "a size");
	const char *symbol = expr_symbol(t);
	const Known *k = symbol ? map_get(&c->known, symbol) : NULL;
	const Linear derived = { symbol ? symbol : expr_text(c->builder, t, NULL, NULL), 1, 0 };
	Value *other;
	Linear l;

	if (k) {
		require_equal(c, in, dim, v, k->v, k->source);
	} else if (symbol) {
		know(c, symbol, v, source_of(c, in, dim));
		require_range(c, in, dim, v, &derived);
	} else if ((other = expr_value(c->builder, t, find_symbol, c))) {
		require_range(c, in, dim, v, &derived);
		require_equal(c, in, dim, v, other, expr_text(c->builder, t, known_source, c));
	} else if (expr_linear(t, &l) && l.symbol && l.factor) {
		solve(c, in, dim, v, t, &l);
		require_range(c, in, dim, v, &l);
	}
}

/* ---- one argument ------------------------------------------------------------------------------------------------ */

/* Emits a check of a size of the archive: {"as_int": 3} or {"as_expr": {"expr_str": ...}}. */
static void
check_size(Checks *c, const Input *in, int dim, Value *v, const Json *size)
{
	const JsonDoc *d = &c->builder->exported->doc;
	const Json *is = json_union(d, size, "size");

	if (!strcmp(json_key(is), "as_int"))
		require_number(c, in, dim, v, json_int(d, is, "size"));
	else if (!strcmp(json_key(is), "as_expr"))
		check_symbolic(c, in, dim, v, json_text(d, is, "expr_str"));
}

static void
check_rank(Checks *c, const Input *in, Value *v, int rank)
{
	Builder *b = c->builder;
	Value *have;

	if (b->exported->samples)
		return;
	have = build_op(b, "aten::dim", 1, v);
	require(c, compare(b, "_operator.eq", have, build_int(b, rank)), "",
		arena_printf(b->cx->arena, "Unexpected number of dimensions in input at %s.shape (expected %d, got {})",
			     in->place, rank),
		have);
}

static void
check_tensor(Checks *c, const Input *in, Value *v)
{
	const Json *meta = map_get(&c->builder->exported->metas, in->name), *sizes = json_get(meta, "sizes");
	int dim = 0;

	if (!meta)
		return;
	check_rank(c, in, v, json_count(sizes));
	for JSON_EACH(s, sizes) {
		check_size(c, in, dim, build_op(c->builder, "aten::size", 2, v, build_int(c->builder, dim)), s);
		dim++;
	}
}

/* Emits a check of an argument that was a constant at the export. None is not checked. */
static void
check_constant(Checks *c, const Input *in, Value *v)
{
	Builder *b = c->builder;
	Value *want = arg_value(b, in->value, v->type);
	Buf text = { 0 };
	IValue is;

	if (!value_constant(want, &is) || rt_is_none(is))
		return;
	rt_format_value(&text, is, 1);
	require(c, build_op(b, "aten::eq", 2, v, want),
		arena_printf(b->cx->arena, "%s == %s", source_of(c, in, -1), text.at),
		arena_printf(b->cx->arena, "Expected input at %s to be equal to %s, but got {}", in->place, text.at),
		v);
	buf_free(&text);
}

static void
check_number(Checks *c, const Input *in, Value *v)
{
	const Json *expr = json_get(map_get(&c->builder->exported->metas, in->name), "as_expr");

	if (expr && v->type->kind == TYPE_INT)
		check_symbolic(c, in, -1, v, json_text(&c->builder->exported->doc, expr, "expr_str"));
}

/* ---- guards: Python over L['x'].size()[0] ------------------------------------------------------------------------ */

/* Replaces L['flat_args'][i] by L and the argument's path. A strict export uses the former for arguments. */
static const char *
with_paths(Checks *c, const char *text)
{
	static const char flat[] = "L['flat_args'][";
	Buf b = { 0 };

	buf_puts(&b, "");
	while (*text) {
		const char *digits = strncmp(text, flat, sizeof flat - 1) ? "" : text + sizeof flat - 1;
		const size_t n = strspn(digits, "0123456789");
		const long i = n && n < 9 && digits[n] == ']' ? atol(digits) : c->n;

		if (i < c->n) {
			buf_printf(&b, "L%s", c->input[i]->path);
			text = digits + n + 1;
		} else {
			buf_add(&b, text++, 1);
		}
	}
	return arena_text(c->builder->cx->arena, &b);
}

static void
put_path(const Tree *t, Buf *b)
{
	const Tree *index = t->kid[1]->n ? t->kid[1]->kid[0] : NULL;

	if (t->kid[0]->kind == TREE_SUBSCRIPT)
		put_path(t->kid[0], b);
	if (index && index->kind == TREE_STRING)
		buf_printf(b, "['%s']", index->text);
	else if (index && index->kind == TREE_INT)
		buf_printf(b, "[%lld]", (long long)index->num.i);
}

/* Finds ['xs'][1] and ['kw']['key'] as the arguments xs_1 and key, for a forward with *xs and **kw. */
static Value *
find_spread(Checks *c, const char *path)
{
	Arena *a = c->builder->cx->arena;
	const char *end = strstr(path, "']"), *rest = end ? end + 2 : "";
	const int n = *rest == '[' ? (int)strspn(rest + 1, "0123456789") : 0;

	if (n && rest[n + 1] == ']')
		path = arena_printf(a, "%.*s_%.*s']%s", (int)(end - path), path, n, rest + 1, rest + n + 2);
	else
		path = rest;
	return map_get(&c->paths, path);
}

/* Finds L['d']['key']. */
static Value *
find_input(Checks *c, const Tree *t)
{
	Value *v = NULL;
	Buf path = { 0 };

	if (t->kind != TREE_SUBSCRIPT)
		return NULL;
	put_path(t, &path);
	v = path.n ? map_get(&c->paths, path.at) : NULL;
	if (path.n && !v)
		v = find_spread(c, path.at);
	buf_free(&path);
	return v;
}

/* Finds x.size()[i], x.stride()[i] or an argument itself. */
static Value *
find_part(Builder *b, void *arg, const Tree *t)
{
	Checks *c = arg;
	const Tree *call = t->kind == TREE_SUBSCRIPT ? t->kid[0] : NULL, *index, *attr;
	const char *name;
	Value *v;

	if (!call || call->kind != TREE_CALL)
		return find_input(c, t);
	attr = call->kid[0];
	index = t->kid[1]->n == 1 ? t->kid[1]->kid[0] : NULL;
	if (attr->kind != TREE_ATTR || !index || index->kind != TREE_INT || !(v = find_input(c, attr->kid[0])))
		return NULL;
	name = attr->kid[1]->text;
	if ((strcmp(name, "size") && strcmp(name, "stride")) || v->type->kind != TYPE_TENSOR)
		return NULL;
	return build_op(b, *name == 's' && name[1] == 'i' ? "aten::size" : "aten::stride", 2, v,
			build_int(b, index->num.i));
}

/* Whether the guard reads the base of an argument that was a view at the export. Arguments of a Kiln program are never
 * views, so such a guard cannot be checked. */
static bool
asks_base(const Tree *t)
{
	bool asks = t->kind == TREE_ATTR && !strcmp(t->kid[1]->text, "_base");

	for (int i = 0; i < t->n && !asks; i++)
		asks = asks_base(t->kid[i]);
	return asks;
}

static void
check_guard(Checks *c, const char *code)
{
	const char *text = with_paths(c, code);
	const Tree *t = expr_parse(c->builder, text, "a guard");
	Value *ok;

	if (asks_base(t))
		return;
	ok = expr_value(c->builder, t, find_part, c);
	if (!ok || ok->type->kind != TYPE_BOOL)
		pt2_lacks(c->builder, "Kiln does not understand the guard %s", text);
	build_raise_unless(c->builder, ok, arena_printf(c->builder->cx->arena, "AssertionError: Guard failed: %s",
		without_frame(c->builder->cx, text)));
}

/* ---- all inputs -------------------------------------------------------------------------------------------------- */

void
check_inputs(Builder *b, Value *const *leaf)
{
	Arena *a = b->cx->arena;
	Checks c = { .builder = b, .leaf = leaf, .known.arena = a, .paths.arena = a, .ranges.arena = a };

	for JSON_EACH(r, json_get(b->exported->json, "range_constraints"))
		map_put(&c.ranges, json_key(r), (void *)(uintptr_t)r);
	c.input = new(b->cx->arena, const Input *, b->exported->inputs.n + 1);
	for (int i = 0; i < b->exported->inputs.n; i++)
		if (b->exported->inputs.at[i].kind == INPUT_USER || b->exported->inputs.at[i].kind == INPUT_CONSTANT)
			c.input[c.n++] = &b->exported->inputs.at[i];
	for (int i = 0; i < c.n; i++)
		map_put(&c.paths, c.input[i]->path, leaf[i]);
	for (int i = 0; i < c.n; i++) {
		if (c.input[i]->kind == INPUT_CONSTANT)
			check_constant(&c, c.input[i], leaf[i]);
		else if (c.input[i]->type->kind == TYPE_TENSOR)
			check_tensor(&c, c.input[i], leaf[i]);
		else
			check_number(&c, c.input[i], leaf[i]);
	}
	for JSON_EACH(g, b->exported->samples ? json_get(b->exported->json, "guards_code") : NULL)
		check_guard(&c, json_text_of(&b->exported->doc, g, "guards_code"));
}
