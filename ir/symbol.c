/*
 * Interned names: equal texts have one Symbol, so that names are compared as pointers.
 */
#include "ir.h"

#include <string.h>

struct Symbols { Map map; };       /* Symbol by text */

#define KIND(space_, name_) \
	const struct Sym space_##_##name_[1] = { { #space_ "::" #name_, sizeof #space_ "::" #name_ - 1 } };
#include "kinds.def"
#undef KIND

static const struct Sym *const kinds[] = {
#define KIND(space_, name_) space_##_##name_,
#include "kinds.def"
#undef KIND
};

static struct Symbols *
symbols_new(Cx *cx)
{
	struct Symbols *s = new(cx->arena, struct Symbols, 1);

	s->map.arena = cx->arena;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		map_put(&s->map, kinds[i]->name, (void *)(uintptr_t)kinds[i]);
	return s;
}

Symbol
sym_n(Cx *cx, const char *name, int n)
{
	char small[128];
	char *key = small;
	struct Sym *s;

	if (!cx->symbols)
		cx->symbols = symbols_new(cx);
	if (n >= (int)sizeof small)
		key = new(cx->arena, char, n + 1);
	memcpy(key, name, (size_t)n);
	key[n] = 0;
	s = map_get(&cx->symbols->map, key);
	if (!s) {
		s = new(cx->arena, struct Sym, 1);
		s->name = key == small ? arena_strndup(cx->arena, key, n) : key;
		s->n = n;
		map_put(&cx->symbols->map, s->name, s);
	}
	return s;
}

Symbol
sym(Cx *cx, const char *name)
{
	return sym_n(cx, name, (int)strlen(name));
}
