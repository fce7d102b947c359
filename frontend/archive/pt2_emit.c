/*
 * Makes values in the graph of an exported program, and names them.
 */
#include "pt2.h"

#include <stdarg.h>
#include <string.h>

void
pt2_lacks(Builder *b, const char *fmt, ...)
{
	va_list ap;
	const char *text;
	Range python;

	va_start(ap, fmt);
	text = arena_vprintf(b->cx->arena, fmt, ap);
	va_end(ap);
	if (b->at.src && b->at.src->map->find(b->at.src->map, b->at.beg, &python))
		fail_lacks(b->cx, b->at, "%s (%s:%d: %s)", text, python.src->name, python.src->line, python.src->text);
	if (b->at.src)
		fail_lacks(b->cx, b->at, "%s", text);
	fail_lacks(b->cx, (Range){ 0 }, "%s: %s", b->exported->doc.name, text);
}

void
build_work(Builder *b)
{
	enum { WORK_MAX = 4 * 1000 * 1000 };

	if (++b->work > WORK_MAX)
		fail(b->cx, b->at, "inlining the sub-graphs of this program needs more than %d nodes", (int)WORK_MAX);
}

Value *
build_op(Builder *b, const char *name, int n, ...)
{
	NamedValue *in = new(b->cx->arena, NamedValue, n + 1);
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		in[i] = (NamedValue){ .v = va_arg(ap, Value *), .at = b->at };
	va_end(ap);
	return emit_builtin(b->graph, name, b->at, in, n, 0);
}

Value *
build_int(Builder *b, int64_t i)
{
	return graph_constant(b->graph, rt_int(i), b->at);
}

Value *
build_bool(Builder *b, bool is)
{
	return graph_constant(b->graph, rt_bool(is), b->at);
}

Value *
build_text(Builder *b, const char *text)
{
	return graph_constant(b->graph, value_str(b->cx, text, -1), b->at);
}

Value *
build_list(Builder *b, const Type *elem, Value *const *v, int n)
{
	Value *l = graph_emit(b->graph, "prim::ListConstruct", b->at, n, v, 1)->out[0];

	l->type = type_list(b->cx, elem);
	return l;
}

Value *
build_named(Builder *b, const char *name)
{
	Value *v = NULL;

	for (const Names *n = b->names; n && !v; n = n->up)
		v = map_get(&n->map, name);
	if (!v)
		fail(b->cx, b->at, "the program has no value '%s' here", name);
	return v;
}

void
build_name(Builder *b, const char *name, Value *v)
{
	if (map_get(&b->names->map, name))
		fail(b->cx, b->at, "the program has two values '%s'", name);
	map_put(&b->names->map, name, v);
	if (!v->name && py_is_identifier(name))
		value_set_name(v, name);
}

void
build_raise_unless(Builder *b, Value *ok, const char *message)
{
	Node *n = graph_insert(b->graph, if_new(b->graph, b->at, ok, 0));
	Value *in[2];

	RT_ASSERT(ok->type->kind == TYPE_BOOL);
	graph_set_insert_end(b->graph, if_else(n));
	in[0] = build_text(b, message);
	in[1] = graph_constant_typed(b->graph, rt_none(), &rt_type_none, b->at);
	graph_emit(b->graph, "prim::RaiseException", b->at, 2, in, 0);
	graph_set_insert_end(b->graph, n->block);
}

Value *
build_part(Builder *b, Value *owner, const char *name)
{
	const Attribute *a = owner->type->kind == TYPE_CLASS ? class_attr(class_info(owner->type), name) : NULL;
	Node *n;

	if (!a)
		json_bad(&b->exported->doc, "there is no '%s'", name);
	n = graph_emit(b->graph, "prim::GetAttr", b->at, 1, &owner, 1);
	node_set_str(n, "name", name);
	n->out[0]->type = a->type;
	return n->out[0];
}
