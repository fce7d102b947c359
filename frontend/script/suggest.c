/*
 * Suggestions for misspelt names: the most similar of all names that are valid at that point.
 *
 * A hint is the end of a message: "; did you mean x?", or "" if no name is similar.
 */
#include "emit.h"

#include <string.h>

void
near_try(Near *n, const char *other)
{
	const int d = other ? name_distance(n->name, other) : NAME_NEAR + 1;

	if (d <= NAME_NEAR && (!n->best || d < n->distance)) {
		n->best = other;
		n->distance = d;
	}
}

const char *
near_hint(Cx *cx, const Near *n)
{
	return n->best ? arena_printf(cx->arena, "; did you mean %s?", n->best) : "";
}

const char *
suggest_variable(Emit *e, const char *name)
{
	Near n = { .name = name };
	const char *known;

	for (const Scope *s = e->scope; s; s = s->up)
		for (int i = 0; i < s->names.n; i++)
			near_try(&n, s->names.at[i].key);
	for (int i = 0; (known = unit_source_name(e->unit, i)); i++)
		near_try(&n, known);
	for (int i = 0; (known = global_name(i)); i++)
		near_try(&n, known);
	return near_hint(e->cx, &n);
}

/* Tries the operators that are methods of values of the type. */
static void
try_methods(Emit *e, Near *n, const Type *t)
{
	const char *name;

	for (int i = 0; (name = op_name_at(e->cx, i)); i++)
		if (!strncmp(name, "aten::", 6) && name_distance(n->name, name + 6) <= NAME_NEAR &&
		    value_has_method(e, t, name))
			near_try(n, name + 6);
}

static void
try_class(Near *n, const ClassInfo *info)
{
	for (int i = 0; i < info->attrs.n; i++)
		near_try(n, info->attrs.at[i].name);
	for (int i = 0; i < info->members.n; i++)
		near_try(n, info->members.at[i].name);
	for (int i = 0; i < info->methods.n; i++) {
		const char *dot = strrchr(info->methods.at[i]->name, '.');

		near_try(n, dot ? dot + 1 : info->methods.at[i]->name);
	}
}

const char *
suggest_member(Emit *e, const Sugar *s, const char *name)
{
	Near n = { .name = name };
	const Type *t = s->kind == SUGAR_VALUE ? s->v->type : s->type;
	const char *known;

	if (t && (t->kind == TYPE_CLASS || t->kind == TYPE_INTERFACE || t->kind == TYPE_ENUM) && t->cls)
		try_class(&n, class_info(t));
	else if (t && t->kind == TYPE_TUPLE)
		for (int i = 0; t->field && i < t->n; i++)
			near_try(&n, t->field[i]);
	else if (t && t->kind == TYPE_TENSOR)
		for (int i = 0; (known = tensor_field_name(i)); i++)
			near_try(&n, known);
	if (t && s->kind == SUGAR_VALUE)
		try_methods(e, &n, t);
	return near_hint(e->cx, &n);
}

const char *
suggest_torch(Emit *e, const char *op)
{
	const char *own = strstr(op, "::"), *known, *near = op_suggest(e->cx, op);
	Near n = { .name = own ? own + 2 : op };

	for (int i = 0; (known = torch_constant_name(i)); i++)
		near_try(&n, known);
	near_try(&n, near ? strstr(near, "::") + 2 : NULL);
	return near_hint(e->cx, &n);
}
