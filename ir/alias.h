/* ir/alias.h - the alias database: what alias.c (its making) and effects.c (questions about nodes) share; private to
 * them */
#ifndef IR_ALIAS_H
#define IR_ALIAS_H

#include "ir.h"

typedef struct IntSet { int n; const int *at; } IntSet;        /* sorted */
typedef Vec(int) Ints;

typedef struct Element {
	Ints    to, has;
	IntSet *places;          /* reached along `to`, once asked for */
	IntSet *reach;           /* reached along both */
	unsigned seen;           /* by the walk of that number */
} Element;

typedef struct NodeSets { IntSet *reads, *writes; } NodeSets;      /* each once asked for */

typedef struct Wild { int e, wildcard; IntSet *places; } Wild;

enum { ALIAS_UNKNOWN = -2 };   /* a value made after the database that stands for no older one */

struct AliasDb {
	Graph  *g;
	Arena  *arena;
	Vec(Element) element;
	int    *of;              /* by value id: its element, -1 for no element yet, or ALIAS_UNKNOWN */
	int     nvalue;          /* entries of `of` */
	Ints   *writes;          /* by node id: elements written, what they contain not included */
	NodeSets *sets;          /* by node id, once asked for */
	int     nnode;
	Map     wildcards;       /* type -> its element + 1 */
	Ints    wildcard;        /* all of them */
	Vec(const Type *) wildcard_type;
	Vec(Wild) wild;          /* elements that belong to a wildcard */
	Ints    constant;        /* storages of constant tensors */
	Ints    outside;         /* what code elsewhere may write to: such constants, inputs, results */
	bool    any;             /* one wildcard for all types */
	const void *(*place)(void *, const Value *);
	void   *place_arg;
	bool   *written;         /* by element: a place that some node writes; once asked for */
	const bool *to_written[2];     /* by element: it points to one; it reaches one */
	bool   *live;            /* by element: a place that something live may reach, for alias_live_add */
	bool   *live_seen;       /* by element: all that it reaches is live */
	/* by element: it points to a place that outlives the graph or is known outside; once asked for */
	const bool *to_escaped;
	unsigned walk;
};
int  alias_element_of(AliasDb *, const Value *);                       /* -1: it can't alias */
bool alias_is_unknown(const AliasDb *, const Value *);                 /* made after the database, and able to alias */
const IntSet *alias_places_of(AliasDb *, int e);                       /* where e may point */
const IntSet *alias_reach_of(AliasDb *, int e);                        /* and what can be reached from there */
bool alias_meet(const IntSet *, const IntSet *);
void alias_join(AliasDb *, Ints *into, const IntSet *);
IntSet *alias_set_of(AliasDb *, Ints *found);
bool alias_is_listed(const Node *, const Symbol *kinds, size_t n);
#define LISTED(n, kinds) alias_is_listed(n, kinds, sizeof(kinds) / sizeof *(kinds))

/* effects.c: does a graph that runs on the side write to nothing but what it made, and has it no other effect? */
bool alias_is_pure(AliasDb *, Graph *);

#endif
