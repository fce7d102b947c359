/* frontend/script/env.c - scopes: the names of a function
 *
 * Each block has a scope. Names are looked up from the innermost scope outwards. Values of enclosing blocks may be used
 * directly. A nested def (a Closure) becomes a graph of its own. Each value that it uses from outside becomes an input.
 *
 * A name of an outer scope keeps its type when an inner scope assigns it, since both values are joined where control
 * flow merges. `outer` is that outer scope, usually `up`. Statements that were moved into the branch that falls through
 * (exit.c) have the `outer` of the statements around the If.
 */
#include "emit.h"

#include <string.h>

Scope *
scope_push(Emit *e, Block *b)
{
	Scope *s = new(e->cx->arena, Scope, 1);

	s->up = e->scope;
	s->outer = e->scope;
	s->block = b;
	s->names.arena = e->cx->arena;
	scope_enter(e, s);
	return s;
}

void
scope_enter(Emit *e, Scope *s)
{
	RT_ASSERT(s->block->graph == e->graph);
	e->scope = s;
	graph_set_insert_end(e->graph, s->block);
}

void
scope_pop(Emit *e)
{
	RT_ASSERT(e->scope && e->scope->up);
	scope_enter(e, e->scope->up);
}

Binding *
scope_here(Scope *s, const char *name)
{
	return map_get(&s->names, name);
}

Binding *
scope_binding(Scope *s, const char *name)
{
	Binding *b;

	for (; s; s = s->closure ? 0 : s->up)
		if ((b = scope_here(s, name)))
			return b;
	return 0;
}

static void
bind(Emit *e, const char *name, Binding b)
{
	Binding *place = scope_here(e->scope, name);

	if (!place) {
		place = new(e->cx->arena, Binding, 1);
		map_put(&e->scope->names, name, place);
	}
	/* If this scope has assigned the variable, a narrower type does not turn the assignment into a refinement. */
	if (b.refined && place->sugar && !place->refined)
		b.refined = false;
	*place = b;
}

void
scope_put(Emit *e, const char *name, Sugar *s, bool refined)
{
	RT_ASSERT(name && s);
	bind(e, name, (Binding){s, 0, refined, { 0 }, 0});
}

void
scope_put_error(Emit *e, const char *name, Range at, const char *why)
{
	bind(e, name, (Binding){0, why, false, at, 0});
}

void
scope_fall(Emit *e, Range at)
{
	for (Scope *s = e->scope->closure ? 0 : e->scope->up; s; s = s->closure ? 0 : s->up)
		for (int i = 0; i < s->names.n; i++) {
			const char *name = s->names.at[i].key;
			const Binding *b = name ? scope_binding(e->scope, name) : 0;

			if (b && b->fall && b == scope_here(s, name))
				scope_put(e, name, sugar_value(e, emit_cast(e, at, b->sugar->v, b->fall)), true);
		}
}

/* ---- lookup, through nested defs ---------------------------------------------------------------------- */

static Value *
capture_value(Closure *c, Arena *arena, Value *v, Symbol name)
{
	for (int i = 0; i < c->captured.n; i++)
		if (c->captured.at[i] == v)
			return graph_inputs(c->graph)[i];
	vec_push(arena, &c->captured, v);
	return graph_add_input(c->graph, v->type, name);
}

static Sugar *
capture(Emit *e, Closure *c, Sugar *s)
{
	Sugar *copy = new(e->cx->arena, Sugar, 1);

	*copy = *s;
	if (s->v)
		copy->v = capture_value(c, e->cx->arena, s->v, s->v->name);
	if (s->n) {
		copy->item = new(e->cx->arena, Sugar *, s->n);
		for (int i = 0; i < s->n; i++)
			copy->item[i] = capture(e, c, s->item[i]);
	}
	return copy;
}

static Binding *
find_binding(Emit *e, Scope *s, const char *name)
{
	Binding *b, *inner;

	if (!s)
		return 0;
	if ((b = scope_here(s, name)))
		return b;
	b = find_binding(e, s->up, name);
	if (!b || !b->sugar || !s->closure)
		return b;
	inner = new(e->cx->arena, Binding, 1);
	*inner = (Binding){capture(e, s->closure, b->sugar), 0, true, { 0 }, 0};
	map_put(&s->names, name, inner);
	return inner;
}

Sugar *
scope_find(Emit *e, const char *name)
{
	Binding *b = find_binding(e, e->scope, name);

	return b ? b->sugar : 0;
}

Sugar *
scope_load(Emit *e, Range at, const char *name)
{
	Binding *b = find_binding(e, e->scope, name);
	Sugar *s;
	Frame place;

	if (b && b->sugar)
		return b->sugar;
	if (b && b->why) {
		cx_push(e->cx, &place, "this is where", b->at);
		fail(e->cx, at, "%s and was used here", b->why);
	}
	s = sugar_global(e, at, name);
	if (!s)
		fail(e->cx, at, "undefined value %s%s", name, suggest_variable(e, name));
	return s;
}

/* ---- assigning ------------------------------------------------------------------------------------------ */

static void
name_value(Emit *e, Value *v, const char *name)
{
	if (!v->name && v->node->block == e->scope->block && strcmp(name, "_") != 0)
		value_set_name(v, name);
}

/* Converts the value to the type that the variable has in the outer scope. */
static Value *
keep_type(Emit *e, Range at, const char *name, Sugar *s, Sugar *before)
{
	const Type *was;
	Value *v;

	if (s->kind != SUGAR_VALUE)
		fail(e->cx, at, "Cannot re-assign '%s' to a value of type %s because %s is not a first-class value.  "
			"Only reassignments to first-class values are allowed", name, sugar_kind(e, s), name);
	if (before->kind != SUGAR_VALUE)
		fail(e->cx, at, "Cannot re-assign '%s' because it has type %s and %s is not a first-class value.  "
			"Only reassignments to first-class values are allowed", name, sugar_kind(e, before), name);
	was = type_unshaped(e->cx, before->v->type);
	v = emit_convert(e, at, s->v, was, true);
	if (v && type_is_subtype(e->cx, v->type, was))
		return v;
	fail(e->cx, at, "Variable '%s' previously had type %s but is now being assigned to a value of type %s%s", name,
		type_python(e->cx, was), type_python(e->cx, s->v->type),
		was->kind == TYPE_LIST && s->v->type->kind == TYPE_LIST
		? "\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment to create an "
		"empty list of another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the "
		"list for Python 2)" : "");
}

void
scope_assign(Emit *e, Range at, const char *name, Sugar *s, const Type *annotated)
{
	Binding *before = scope_binding(e->scope->outer, name);
	Value *v;

	if (before && before->sugar) {
		if (annotated)
			fail(e->cx, at, "Attempting to declare and annotate the type of variable '%s' but it is "
				"already defined in an outer block", name);
		s = sugar_value(e, keep_type(e, at, name, s, before->sugar));
	}
	if (annotated && s->kind == SUGAR_VALUE) {
		v = emit_convert(e, at, s->v, annotated, false);
		if (!v || !type_is_subtype(e->cx, v->type, annotated))
			fail(e->cx, at,
			     "Variable '%s' is annotated with type %s but is being assigned to a value of type %s",
			     name, type_python(e->cx, annotated), type_python(e->cx, s->v->type));
		if (v->type != annotated && value_is_none(v))
			v = graph_constant_typed(e->graph, rt_none(), annotated, at);
		else if (v->type != annotated)
			v = emit_cast(e, at, v, annotated);
		s = sugar_value(e, v);
	}
	if (s->kind == SUGAR_VALUE)
		name_value(e, s->v, name);
	scope_put(e, name, s, false);
}
