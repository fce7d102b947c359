/*
 * Common subexpression elimination: replaces the second of two equal nodes by the first.
 *
 * A table holds the nodes seen in this block and in the blocks around it.  At the end of a block its nodes are removed.
 * A node takes part if it has no effect, draws no random numbers, and nothing writes to what it reads or returns.  New
 * memory that leaves the graph is not merged: the caller may write to one of two results.
 */
#include "../opt.h"

typedef struct Seen Seen;
struct Seen {                    /* a node that may replace later ones */
	Node    *n;
	uint64_t hash;
	Seen    *next;           /* next entry of the same slot */
};

typedef struct Cse {
	Pass    *pass;
	AliasDb *alias;
	Arena   *arena;
	Vec(Seen *) seen;        /* all entries, in graph order */
	/* Hash table of nslot slots, a power of two.  Each slot is a list with the latest entry first. */
	Seen   **slot;
	int      nslot;
} Cse;

static bool
takes_part(Cse *c, const Node *n)
{
	return !n->nsub && n->nout && !node_has_effect(n) && !node_is(n, prim_Uninitialized) &&
	       !node_is(n, prim_profile) && !node_is(n, prim_CreateObject) && !alias_node_writes(c->alias, n) &&
	       !alias_node_has_writers(c->alias, n);
}

/* May n be replaced by the first node?  Only results are checked: if an attribute is set between two reads of it,
 * has_writers of the object is true. */
static bool
may_become(Cse *c, const Node *n, const Node *first)
{
	for (int i = 0; i < n->nout; i++)
		if (!node_is(n, prim_Constant) && alias_escapes(c->alias, n->out[i]) &&
		    alias_escapes(c->alias, first->out[i]) && !alias_may(c->alias, n->out[i], first->out[i]))
			return false;
	return true;
}

static Node *
find_equal(const Cse *c, const Node *n, uint64_t hash)
{
	for (Seen *e = c->slot[hash & (uint64_t)(c->nslot - 1)]; e; e = e->next)
		if (e->hash == hash && node_equal(e->n, n))
			return e->n;
	return NULL;
}

static void
link_seen(Cse *c, Seen *e)
{
	Seen **slot = &c->slot[e->hash & (uint64_t)(c->nslot - 1)];

	e->next = *slot;
	*slot = e;
}

static void
remember(Cse *c, Node *n, uint64_t hash)
{
	Seen *e = new(c->arena, Seen, 1);

	*e = (Seen){ .n = n, .hash = hash };
	link_seen(c, e);
	vec_push(c->arena, &c->seen, e);
	if (c->seen.n < c->nslot)
		return;
	c->nslot *= 2;
	c->slot = new(c->arena, Seen *, c->nslot);
	for (int i = 0; i < c->seen.n; i++)
		link_seen(c, c->seen.at[i]);
}

/* Removes all but the first n entries from the table. */
static void
forget(Cse *c, int n)
{
	while (c->seen.n > n) {
		const Seen *e = c->seen.at[--c->seen.n];

		c->slot[e->hash & (uint64_t)(c->nslot - 1)] = e->next;
	}
}

static bool
merge_equal_nodes(Cse *c, Block *b)
{
	const int before = c->seen.n;
	bool changed = false;

	for NODES(n, b) {
		const uint64_t hash = node_hash(n);
		Node *first;

		for (int i = 0; i < n->nsub; i++)
			changed |= merge_equal_nodes(c, n->sub[i]);
		if (!takes_part(c, n))
			continue;
		first = find_equal(c, n, hash);
		if (!first) {
			remember(c, n, hash);
			continue;
		}
		if (!may_become(c, n, first) || !pass_may(c->pass))
			continue;
		pass_note(c->pass, n, "the same as an earlier node");
		for (int i = 0; i < n->nout; i++)
			value_replace_uses(n->out[i], first->out[i]);
		node_destroy(n);
		changed = true;
	}
	forget(c, before);
	return changed;
}

bool
cse(Pass *p, Graph *g)
{
	Cse c = { .pass = p, .alias = pass_alias(p, g), .arena = p->scratch, .nslot = 1024 };

	c.slot = new(c.arena, Seen *, c.nslot);
	return merge_equal_nodes(&c, g->top);
}
