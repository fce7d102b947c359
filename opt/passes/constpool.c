/*
 * Merges equal constants, and moves all to the top of the graph in order of first use.  A constant that something
 * writes to equals no other.
 */
#include "../opt.h"

typedef struct Pool {
	Pass *pass;
	Node *last;              /* Last constant that was moved to the top.  The param node if there is none. */
	Map   seen;              /* hash of node -> Entry */
} Pool;

typedef struct Entry Entry;
struct Entry { Node *n; Entry *next; };

static Node *
find_or_add(Pool *pool, Node *n)
{
	char *key = arena_printf(pool->pass->scratch, "%llx", (unsigned long long)node_hash(n));
	Entry *first = map_get(&pool->seen, key), *e;

	for (e = first; e; e = e->next)
		if (node_equal(e->n, n))
			return e->n;
	e = new(pool->pass->scratch, Entry, 1);
	e->n = n;
	e->next = first;
	map_put(&pool->seen, key, e);
	return NULL;
}

static bool
merge_constants(Pool *pool, Block *b)
{
	bool changed = false;

	for INNER_FIRST(n, b) {
		Node *same;

		/* Enum constants stay apart: merged ones could change the result of `is`. */
		if (!node_is(n, prim_Constant) || n->out[0]->type->kind == TYPE_ENUM)
			continue;
		same = find_or_add(pool, n);
		if (same && pass_may(pool->pass)) {
			pass_note(pool->pass, n, "the same as an earlier constant");
			value_replace_uses(n->out[0], same->out[0]);
			node_destroy(n);
			changed = true;
		} else if (!same) {
			changed |= n->block->owner != NULL;
			node_move_after(n, pool->last);
			pool->last = n;
		}
	}
	return changed;
}

bool
constpool(Pass *p, Graph *g)
{
	Pool pool = { p, g->top->param, { .arena = p->scratch } };

	return merge_constants(&pool, g->top);
}
