/*
 * Common subexpressions: of two equal nodes, the second becomes the first.
 *
 * A table of the nodes seen in this block and in those around it.  A node takes part when it has no effect, draws no
 * numbers, and nothing writes to what it reads or returns.  New memory that leaves the graph stays apart: two results
 * that the caller may write to must not become one.
 */
#include "opt.h"

typedef struct Seen Seen;
struct Seen {                    /* nodes with one hash */
	Node *n;
	Seen *next;
};

enum { NSLOT = 1024 };

typedef struct Scope Scope;
struct Scope {                   /* the nodes of one block */
	Scope *up;
	Seen  *slot[NSLOT];
};

typedef struct Cse {
	Pass    *p;
	AliasDb *alias;
	Arena   *arena;
} Cse;

static bool
takes_part(Cse *c, const Node *n)
{
	if (n->nsub || !n->nout || node_has_effect(n) || node_is(n, "prim::Uninitialized") ||
	    node_is(n, "prim::profile") || node_is(n, "prim::CreateObject") || alias_node_writes(c->alias, n))
		return false;
	for (int i = 0; i < n->nin; i++)
		if (alias_has_writers(c->alias, n->in[i]))
			return false;
	for (int i = 0; i < n->nout; i++)
		if (alias_has_writers(c->alias, n->out[i]))
			return false;
	return true;
}

/* An attribute may be set between two reads of it, which has_writers of the object does not miss; so only results count. */
static bool
may_become(Cse *c, const Node *n, const Node *first)
{
	for (int i = 0; i < n->nout; i++)
		if (!node_is(n, "prim::Constant") && alias_escapes(c->alias, n->out[i]) &&
		    alias_escapes(c->alias, first->out[i]) && !alias_may(c->alias, n->out[i], first->out[i]))
			return false;
	return true;
}

static Node *
find(Scope *s, const Node *n, uint64_t hash)
{
	for (; s; s = s->up)
		for (Seen *e = s->slot[hash % NSLOT]; e; e = e->next)
			if (node_equal(e->n, n))
				return e->n;
	return NULL;
}

static void
remember(Cse *c, Scope *s, Node *n, uint64_t hash)
{
	Seen *e = new(c->arena, Seen, 1);

	e->n = n;
	e->next = s->slot[hash % NSLOT];
	s->slot[hash % NSLOT] = e;
}

static bool
walk(Cse *c, Block *b, Scope *up)
{
	Scope *s = new(c->arena, Scope, 1);
	bool changed = false;

	s->up = up;
	for NODES(n, b) {
		const uint64_t hash = node_hash(n);
		Node *first;

		for (int i = 0; i < n->nsub; i++)
			changed |= walk(c, n->sub[i], s);
		if (!takes_part(c, n))
			continue;
		first = find(s, n, hash);
		if (!first) {
			remember(c, s, n, hash);
			continue;
		}
		if (!may_become(c, n, first) || !pass_may(c->p))
			continue;
		pass_note(c->p, n, "the same as an earlier node");
		for (int i = 0; i < n->nout; i++)
			value_replace_uses(n->out[i], first->out[i]);
		node_destroy(n);
		changed = true;
	}
	return changed;
}

bool
cse(Pass *p, Graph *g)
{
	Cse c = { p, pass_alias(p, g), p->scratch };

	return walk(&c, g->top, NULL);
}
