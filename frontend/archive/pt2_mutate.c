/*
 * auto_functionalized: operators that write, made functional. The node returns copies of the arguments that the
 * operator writes to.
 *
 * In its first form the node has the operator's own arguments. In the second form written arguments are views of bases
 * (_all_bases). `_x_base_index` is the index of the base. `_x_slice_dim`, `_x_size` or `_x_alias` describes the view x.
 */
#include "pt2.h"

#include <string.h>

typedef struct Call {
	Builder    *builder;
	const char *name;
	Op         *op;              /* Operator that the node calls. Null if Kiln lacks it. */
	Map         given;           /* Json of an argument, by name. */
	NamedValues args;
} Call;

static const Json *
given(const Call *c, const char *arg, const char *what)
{
	return map_get(&c->given, arena_printf(c->builder->cx->arena, "_%s_%s", arg, what));
}

static void
put_argument(Call *c, const char *name, Value *v)
{
	NamedValue a = { .name = name, .v = v, .at = c->builder->at };

	vec_push(c->builder->cx->arena, &c->args, a);
}

static bool
argument_is_written(const Arg *a)
{
	return a->alias && (a->alias->write || (a->alias->inner && a->alias->inner->write));
}

static Value *
copy_of(Builder *b, Value *v)
{
	return v->type->kind == TYPE_TENSOR ? build_op(b, "aten::clone", 1, v) : v;
}

/* ---- the first form -------------------------------------------------------------------------------------------- */

static void
copy_written(Call *c, Values *copies)
{
	const Schema *s = op_schema(c->builder->cx, c->op);

	for (int i = 0; i < s->nargs; i++) {
		const Json *arg = map_get(&c->given, s->args[i].name);
		Value *v = arg ? arg_value(c->builder, arg, s->args[i].type) : NULL;

		if (v && argument_is_written(&s->args[i])) {
			if (v->type->kind == TYPE_LIST)
				pt2_lacks(c->builder, "Kiln lacks lists that %s writes to", c->name);
			v = copy_of(c->builder, v);
			vec_push(c->builder->cx->arena, copies, v);
		}
		if (v)
			put_argument(c, s->args[i].name, v);
	}
}

/* ---- the second form --------------------------------------------------------------------------------------------- */

static Value *
part(Call *c, const char *arg, const char *what)
{
	const Json *v = given(c, arg, what);

	if (v)
		return arg_value(c->builder, v, NULL);
	return graph_constant_typed(c->builder->graph, rt_none(), &rt_type_none, c->builder->at);
}

/* Returns the argument as a view of its base. Null if it is None. */
static Value *
view_of(Call *c, const char *arg, const Values *bases)
{
	const Json *base = json_get(given(c, arg, "base_index"), "as_int");
	const int64_t i = base ? json_int(&c->builder->exported->doc, base, "base_index") : -1;
	Value *v;

	if (!base)
		return NULL;
	if (i < 0 || i >= bases->n)
		fail(c->builder->cx, c->builder->at, "'%s' is a view of base %lld, and there are %d bases", arg,
		     (long long)i, bases->n);
	v = bases->at[i];
	if (given(c, arg, "slice_dim"))
		return build_op(c->builder, "aten::slice", 5, v, part(c, arg, "slice_dim"), part(c, arg, "slice_start"),
			part(c, arg, "slice_end"), build_int(c->builder, 1));
	if (given(c, arg, "size"))
		return build_op(c->builder, "aten::as_strided", 4, v, part(c, arg, "size"), part(c, arg, "stride"),
				part(c, arg, "storage_offset"));
	return v;
}

/* Returns a list of views from _x_length, _x_0_base_index ... */
static Value *
views_of(Call *c, const char *arg, const Values *bases)
{
	const Json *length = json_get(given(c, arg, "length"), "as_int");
	const int64_t n = length ? json_int(&c->builder->exported->doc, length, "length") : 0;
	Values all = { 0 };

	if (!length)
		return NULL;
	for (int64_t i = 0; i < n && i <= c->given.n; i++) {
		Value *v = view_of(c, arena_printf(c->builder->cx->arena, "%s_%lld", arg, (long long)i), bases);

		if (!v)
			fail(c->builder->cx, c->builder->at, "'%s' has %lld parts, but not part %lld", arg,
			     (long long)n, (long long)i);
		vec_push(c->builder->cx->arena, &all, v);
	}
	return build_list(c->builder, &rt_type_tensor, all.at, all.n);
}

static void
copy_bases(Call *c, Values *copies)
{
	const Schema *s = op_schema(c->builder->cx, c->op);
	const Json *all = map_get(&c->given, "_all_bases");
	Values bases = { 0 };

	if (all)
		arg_values(c->builder, all, &bases);
	for (int i = 0; i < bases.n; i++) {
		Value *v = copy_of(c->builder, bases.at[i]);

		vec_push(c->builder->cx->arena, copies, v);
	}
	for (int i = 0; i < s->nargs; i++) {
		const Arg *a = &s->args[i];
		const Json *arg = map_get(&c->given, a->name);
		Value *v = !argument_is_written(a) ? arg ? arg_value(c->builder, arg, a->type) : NULL
			: (a->type->kind == TYPE_OPTIONAL ? a->type->of[0] : a->type)->kind == TYPE_LIST ?
			views_of(c, a->name, copies) : view_of(c, a->name, copies);

		if (v)
			put_argument(c, a->name, v);
	}
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* Binds the node's results: those of the operator (None if it has none), then the copies. */
void
mutate_call(Builder *b, const Json *node, bool views)
{
	const Json *first = json_first(json_get(node, "inputs")), *op = json_get(json_get(first, "arg"), "as_operator");
	Call c = { .builder = b, .given.arena = b->cx->arena };
	Values copies = { 0 }, results = { 0 };

	if (!op)
		fail(b->cx, b->at, "the node names no operator");
	c.op = operator_find(b, json_text_of(&b->exported->doc, op, "operator"), &c.name);
	for (const Json *i = json_next(first); i; i = json_next(i))
		map_put(&c.given, json_text(&b->exported->doc, i, "name"),
			(void *)(uintptr_t)json_need(&b->exported->doc, i, "arg"));
	if (c.op && views)
		copy_bases(&c, &copies);
	else if (c.op)
		copy_written(&c, &copies);
	operator_apply(b, c.name, c.op, &c.args, &results, json_get(node, "outputs"));
	if (c.op && !results.n) {
		Value *none = graph_constant_typed(b->graph, rt_none(), &rt_type_none, b->at);

		vec_push(b->cx->arena, &results, none);
	}
	for (int i = 0; i < copies.n; i++)
		vec_push(b->cx->arena, &results, copies.at[i]);
	node_bind(b, json_get(node, "outputs"), results.at, results.n);
}
