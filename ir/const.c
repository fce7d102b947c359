/*
 * Values made at compile time: constants and defaults.  The compile owns them and never releases them.
 *
 * Tensors that are printed by their hash are kept in a table, so that the text can be read back in the same compile.
 */
#include "ir.h"

#include <string.h>

RtCx *
cx_rt(Cx *cx)
{
	if (!cx->rt) {
		cx->rt = new(cx->arena, RtCx, 1);
		if (rt_cx_init(cx->rt) != RT_OK)
			fail(cx, (Range){ 0 }, "out of memory");
	}
	return cx->rt;
}

IValue
value_str(Cx *cx, const char *text, int64_t n)
{
	RtStr *s = rt_str_new(cx_rt(cx), text, n);

	if (!s)
		fail(cx, (Range){ 0 }, "out of memory");
	return rt_ref(RT_STR, s);
}

IValue
value_list(Cx *cx, const Type *elem, const IValue *v, int n)
{
	RtList *l = rt_list_new(cx_rt(cx), elem, n);

	for (int i = 0; l && i < n; i++)
		if (rt_list_push(cx_rt(cx), l, rt_retain(v[i])) != RT_OK)
			l = 0;
	if (!l)
		fail(cx, (Range){ 0 }, "out of memory");
	return rt_ref(RT_LIST, l);
}

IValue
value_tuple(Cx *cx, const Type *named, const IValue *v, int n)
{
	RtTuple *t = rt_tuple_new(cx_rt(cx), named, n);

	if (!t)
		fail(cx, (Range){ 0 }, "out of memory");
	for (int i = 0; i < n; i++)
		t->v[i] = rt_retain(v[i]);
	return rt_ref(RT_TUPLE, t);
}

IValue
value_complex(Cx *cx, double re, double im)
{
	IValue v = rt_complex(cx_rt(cx), re, im);

	if (rt_is_none(v))
		fail(cx, (Range){ 0 }, "out of memory");
	return v;
}

bool
value_any(IValue v, bool (*is)(IValue))
{
	if (is(v))
		return true;
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		if (value_any(v.u.list->v[i], is))
			return true;
	for (int64_t i = 0; v.tag == RT_TUPLE && i < v.u.tuple->n; i++)
		if (value_any(v.u.tuple->v[i], is))
			return true;
	return false;
}

bool
value_enum(Cx *cx, const Type *t, const char *name, IValue *out)
{
	const ClassInfo *c = class_info(t);
	RtEnum *e;

	for (int i = 0; i < c->members.n; i++) {
		if (strcmp(c->members.at[i].name, name) != 0)
			continue;
		e = rt_enum_new(cx_rt(cx), t, name, rt_retain(c->members.at[i].value));
		if (!e)
			fail(cx, (Range){ 0 }, "out of memory");
		*out = rt_ref(RT_ENUM, e);
		return true;
	}
	return false;
}

void
tensor_note(Cx *cx, uint64_t hash, RtTensor *t)
{
	const char *key = arena_printf(cx->arena, "%016llx", (unsigned long long)hash);

	if (!cx->tensors) {
		cx->tensors = new(cx->arena, Map, 1);
		cx->tensors->arena = cx->arena;
	}
	if (!map_get(cx->tensors, key))
		map_put(cx->tensors, key, t);
}

RtTensor *
tensor_noted(Cx *cx, const char *hash)
{
	return cx->tensors ? map_get(cx->tensors, hash) : NULL;
}

int
object_note(Cx *cx, RtObject *o)
{
	for (int i = 0; i < cx->objects.n; i++)
		if (cx->objects.at[i] == o)
			return i;
	vec_push(cx->arena, &cx->objects, o);
	return cx->objects.n - 1;
}

RtObject *
object_noted(const Cx *cx, int64_t number)
{
	return number >= 0 && number < cx->objects.n ? cx->objects.at[number] : NULL;
}

void
storage_moved(Cx *cx, RtStorage *s, RtStorage *of, const int64_t *from)
{
	Moved *m = new(cx->arena, Moved, 1);

	rt_count_up(&s->h); /* Retains the storage, since its address is a key that no other storage must get. */
	rt_count_up(&of->h);
	*m = (Moved){ of, from };
	*ptrmap_at(cx->arena, &cx->moved, s) = (int64_t)(intptr_t)m;
}

const Moved *
storage_source(const Cx *cx, const RtStorage *s)
{
	return (const Moved *)(intptr_t)ptrmap_get(&cx->moved, s);
}
