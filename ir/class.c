/*
 * The compiler's side of classes: attributes and methods, in step with the slots of the RtClass.
 */
#include "ir.h"

#include <string.h>

ClassInfo *
class_info(const Type *t)
{
	return t->cls ? t->cls->info : 0;
}

Attribute *
class_attr(const ClassInfo *c, const char *name)
{
	const intptr_t i = (intptr_t)map_get(&c->attr_index, name);

	return i ? &c->attrs.at[i - 1] : 0;
}

int
class_slot(const RtClass *k, const char *name)
{
	const Attribute *a = class_attr(k->info, name);

	return a ? a->slot : -1;
}

/* Adds a slot. The arrays double when their number of slots is a power of two. */
static void
add_slot(Cx *cx, RtClass *k, const char *name, const Type *type)
{
	if ((k->nslot & (k->nslot - 1)) == 0) {
		int room = k->nslot ? k->nslot * 2 : 1;
		const char **slot = new(cx->arena, const char *, room);
		const Type **types = new(cx->arena, const Type *, room);

		for (int i = 0; i < k->nslot; i++) {
			slot[i] = k->slot[i];
			types[i] = k->slot_type[i];
		}
		k->slot = slot;
		k->slot_type = types;
	}
	k->slot[k->nslot] = name;
	k->slot_type[k->nslot++] = type;
}

void
class_add_attr(Cx *cx, ClassInfo *c, Attribute a)
{
	a.name = sym(cx, a.name)->name;
	a.slot = a.is_constant ? -1 : c->cls->nslot;
	vec_push(cx->arena, &c->attrs, a);
	c->attr_index.arena = cx->arena;
	if (!map_get(&c->attr_index, a.name))
		map_put(&c->attr_index, a.name, (void *)(intptr_t)c->attrs.n);
	if (!a.is_constant)
		add_slot(cx, c->cls, a.name, a.type);
}

const char *
method_key(Arena *a, const Type *interface, const char *name)
{
	return arena_printf(a, "%s.%s", interface->name ? interface->name : "", name);
}

Function *
class_method(const ClassInfo *c, const char *name)
{
	for (int i = 0; i < c->methods.n; i++) {
		const char *dot = strrchr(c->methods.at[i]->name, '.');

		if (strcmp(dot ? dot + 1 : c->methods.at[i]->name, name) == 0)
			return c->methods.at[i];
	}
	return 0;
}
