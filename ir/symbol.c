/*
 * Interned names: equal texts have one Symbol, so that names are compared as pointers.
 */
#include "ir.h"

#include <string.h>

struct Symbols { Map map; };       /* text -> Symbol */

Symbol
sym_n(Cx *cx, const char *name, int n)
{
	char small[128];
	char *key = small;
	struct Sym *s;

	if (!cx->symbols) {
		cx->symbols = new(cx->arena, struct Symbols, 1);
		cx->symbols->map.arena = cx->arena;
	}
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
