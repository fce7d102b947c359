/* rt/vec.c - growing arrays in an arena
 *
 * A vector doubles its capacity.  The old array stays in the arena, which at most doubles the memory used.
 */
#include "base.h"

#include <string.h>

enum { FIRST_ROOM = 48 };    /* number of bytes allocated first: most vectors of a graph have one to three elements */

void
vec_grow(Arena *arena, void **at, int *cap, size_t size)
{
	int more = *cap ? *cap * 2 : size < FIRST_ROOM / RT_LIMIT_VEC ? RT_LIMIT_VEC :
		size < FIRST_ROOM ? (int)(FIRST_ROOM / size) : 1;
	void *p;

	if (*cap > INT32_MAX / 2)
		out_of_memory();
	p = arena_take(arena, (int64_t)size * more);
	if (*cap)
		memcpy(p, *at, size * (size_t)*cap);
	*at = p;
	*cap = more;
}
