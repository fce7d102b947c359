/* frontend/script/refine.c - narrows the types of variables by conditions
 *
 * `x is not None`, `isinstance(x, T)` and combinations of them by and, or and not narrow the types of variables. There
 * is one list of narrower types for each outcome. refine_apply emits unchecked_casts at the start of the block in which
 * the outcome is known. If static types decide a condition, only one branch is emitted. */
#include "emit.h"

#include <string.h>

Cond
cond_of_value(Value *v)
{
	return (Cond){v, -1, 0, 0};
}

Cond
cond_static(Emit *e, Range at, bool is)
{
	return (Cond){graph_constant(e->graph, rt_bool(is), at), is, 0, 0};
}

Cond
cond_not(Emit *e, Range at, Cond c)
{
	if (c.known >= 0)
		return cond_static(e, at, !c.known);
	return (Cond){emit_op(e, at, "aten::__not__", 1, c.value), -1, c.no, c.yes};
}

/* ---- sets of refinements ---------------------------------------------------------------------------------- */

static Refine *
refine_one(Emit *e, const char *name, const Type *t)
{
	Refine *r = new(e->cx->arena, Refine, 1);

	r->name = name;
	r->type = t;
	return r;
}

static const Refine *
refine_find(const Refine *r, const char *name)
{
	for (; r; r = r->next)
		if (!strcmp(r->name, name))
			return r;
	return 0;
}

static Refine *
refine_add(Emit *e, Refine *list, const char *name, const Type *t)
{
	Refine *r = refine_one(e, name, t);

	r->next = list;
	return r;
}

Refine *
refine_both(Emit *e, Refine *a, Refine *b)
{
	Refine *r = b;

	for (; a; a = a->next)
		if (!refine_find(b, a->name))
			r = refine_add(e, r, a->name, a->type);
	return r;
}

Refine *
refine_either(Emit *e, Refine *a, Refine *b)
{
	Refine *r = 0;
	const Refine *other;
	const Type *t;

	for (; a; a = a->next) {
		other = refine_find(b, a->name);
		t = other ? type_unify(e->cx, a->type, other->type) : 0;
		if (t)
			r = refine_add(e, r, a->name, t);
	}
	return r;
}

void
refine_apply(Emit *e, Range at, Refine *r)
{
	Sugar *s;

	for (; r; r = r->next) {
		s = scope_find(e, r->name);
		if (s && s->kind == SUGAR_VALUE && s->v->type != r->type)
			scope_put(e, r->name, sugar_value(e, emit_cast(e, at, s->v, r->type)), true);
	}
}

/* ---- parts of types ------------------------------------------------------------------------------------------ */

typedef struct Types { Vec(const Type *) at; } Types;

/* Appends the members of a type: those of a Union, T and None of Optional[T], else the type itself. */
static void
types_of(Emit *e, Types *ts, const Type *t)
{
	if (t->kind == TYPE_OPTIONAL) {
		types_of(e, ts, t->of[0]);
		vec_push(e->cx->arena, &ts->at, &rt_type_none);
	} else if (t->kind == TYPE_UNION) {
		for (int i = 0; i < t->n; i++)
			types_of(e, ts, t->of[i]);
	} else {
		vec_push(e->cx->arena, &ts->at, t);
	}
}

static const Type *
types_together(Emit *e, const Types *ts)
{
	if (ts->at.n == 1)
		return ts->at.at[0];
	if (ts->at.n == 2 && ts->at.at[1] == &rt_type_none)
		return type_optional(e->cx, ts->at.at[0]);
	if (ts->at.n == 2 && ts->at.at[0] == &rt_type_none)
		return type_optional(e->cx, ts->at.at[1]);
	return type_union(e->cx, ts->at.at, ts->at.n);
}

/* ---- x is None -------------------------------------------------------------------------------------------------- */

enum { NEVER, MAYBE, ALWAYS };

static int
can_be_none(Emit *e, Value *v)
{
	if (value_is_none(v))
		return ALWAYS;
	return v->type->kind == TYPE_OPTIONAL || v->type->kind == TYPE_ANY
		|| (v->type->kind == TYPE_UNION && type_is_subtype(e->cx, &rt_type_none, v->type)) ? MAYBE : NEVER;
}

static Refine *
not_none(Emit *e, const Tree *var, Value *v)
{
	Types parts = {0}, some = {0};

	if (var->kind != TREE_VAR || v->type->kind == TYPE_ANY)
		return 0;
	types_of(e, &parts, v->type);
	for (int i = 0; i < parts.at.n; i++)
		if (parts.at.at[i] != &rt_type_none)
			vec_push(e->cx->arena, &some.at, parts.at.at[i]);
	return some.at.n ? refine_one(e, var->kid[0]->text, types_together(e, &some)) : 0;
}

Cond
refine_is_none(Emit *e, const Tree *t, bool is)
{
	Value *a = emit_expression(e, t->kid[0], 0), *b = emit_expression(e, t->kid[1], 0);
	int an = can_be_none(e, a), bn = can_be_none(e, b);
	Cond c;
	Refine *r = 0;

	RT_ASSERT(t->n == 2);
	if (an == ALWAYS && bn == ALWAYS)
		return cond_static(e, t->at, is);
	if ((an == ALWAYS && bn == NEVER) || (an == NEVER && bn == ALWAYS))
		return cond_static(e, t->at, !is);
	c = cond_of_value(emit_op(e, t->at, is ? "aten::__is__" : "aten::__isnot__", 2, a, b));
	if (an == MAYBE && bn == ALWAYS)
		r = not_none(e, t->kid[0], a);
	else if (an == ALWAYS && bn == MAYBE)
		r = not_none(e, t->kid[1], b);
	c.yes = is ? 0 : r;
	c.no = is ? r : 0;
	return c;
}

/* ---- isinstance(x, T) -------------------------------------------------------------------------------------------- */

static void
instance_types(Emit *e, Types *ts, const Tree *t)
{
	const char *name = t->kind == TREE_VAR ? t->kid[0]->text : "";

	if (t->kind == TREE_TUPLE) {
		for (int i = 0; i < t->kid[0]->n; i++)
			instance_types(e, ts, t->kid[0]->kid[i]);
		return;
	}
	if (!strcmp(name, "list"))
		vec_push(e->cx->arena, &ts->at, &rt_type_any_list);
	else if (!strcmp(name, "tuple"))
		vec_push(e->cx->arena, &ts->at, &rt_type_any_tuple);
	else
		types_of(e, ts, type_of_annotation(e->cx, e->unit, t));
}

/* Splits the members of the static type into those that are instances of a requested type and those that are not. Sets
 * *unsure if it depends on the run-time type. */
static void
sort_types(Emit *e, const Types *have, const Types *asked, Types *is, Types *is_not, bool *unsure)
{
	const Type *t;
	bool sub, super;

	for (int i = 0; i < have->at.n; i++) {
		t = have->at.at[i];
		sub = super = false;
		for (int k = 0; k < asked->at.n; k++) {
			sub |= type_is_subtype(e->cx, t, asked->at.at[k]);
			super |= type_is_subtype(e->cx, asked->at.at[k], t);
		}
		if (sub) {
			vec_push(e->cx->arena, &is->at, t);
		} else if (super) {
			*unsure = true;
			vec_push(e->cx->arena, &is_not->at, t);
			for (int k = 0; k < asked->at.n; k++)
				if (type_is_subtype(e->cx, asked->at.at[k], t))
					vec_push(e->cx->arena, &is->at, asked->at.at[k]);
		} else {
			vec_push(e->cx->arena, &is_not->at, t);
		}
	}
}

Cond
refine_isinstance(Emit *e, const Tree *call)
{
	const Tree *args = call->kid[1];
	Types have = {0}, asked = {0}, is = {0}, is_not = {0};
	bool unsure = false;
	Value *v;
	Node *n;
	Attr *a;
	Cond c;

	RT_ASSERT(call->kind == TREE_CALL);
	if (args->n != 2)
		fail(e->cx, call->at, "isinstance expected exactly 2 arguments but found %d", args->n);
	v = emit_expression(e, args->kid[0], 0);
	instance_types(e, &asked, args->kid[1]);
	types_of(e, &have, type_unshaped(e->cx, v->type));
	sort_types(e, &have, &asked, &is, &is_not, &unsure);
	if (!unsure && !is_not.at.n)
		return cond_static(e, call->at, true);
	if (!unsure && !is.at.n)
		return cond_static(e, call->at, false);
	n = graph_emit(e->graph, "prim::isinstance", call->at, 1, &v, 1);
	n->out[0]->type = &rt_type_bool;
	a = node_attr_new(n, "types", ATTR_TYPES);
	a->types = asked.at.at;
	a->ntypes = asked.at.n;
	c = cond_of_value(n->out[0]);
	if (args->kid[0]->kind == TREE_VAR) {
		c.yes = refine_one(e, args->kid[0]->kid[0]->text, types_together(e, &is));
		if (!unsure)
			c.no = refine_one(e, args->kid[0]->kid[0]->text, types_together(e, &is_not));
	}
	return c;
}
