/* ir/alias.h - the alias database, private to alias.c, which builds it, aliasset.c, and effects.c, which answers
 * questions about nodes */
#ifndef IR_ALIAS_H
#define IR_ALIAS_H

#include "ir.h"

typedef struct IntSet { int n; const int *at; } IntSet;        /* Sorted set of elements. */
typedef Vec(int) Ints;

typedef struct Element {
	Ints    to, has;
	IntSet *places; /* Places: elements without `to` edges that are reachable along `to`. Null until needed. */
	IntSet *reach;           /* Places that are reachable along `to` and `has`. Null until needed. */
	unsigned seen;           /* Number of the last walk that visited the element. */
} Element;

/* Places that a node reads and writes. Null until needed. */
typedef struct NodeSets { IntSet *reads, *writes; } NodeSets;

typedef struct Wild { int e, wildcard; IntSet *places; } Wild;

enum { ALIAS_UNKNOWN = -2 };   /* Marks a value made after the database that no alias_copy_value describes. */

struct AliasDb {
	Graph  *graph;
	Arena  *arena;
	Vec(Element) element;
	/* Element of each value, by value id. -1 if it has none yet. ALIAS_UNKNOWN if it was made after the
	 * database. */
	int    *of;
	int     nvalue;          /* Length of `of`. */
	Ints   *writes; /* Elements that each node writes, by node id, without the elements that these contain. */
	NodeSets *sets;          /* NodeSets of each node, by node id. */
	int     nnode;
	Map     wildcards;       /* Type -> its wildcard element + 1. */
	Ints    wildcard;        /* All wildcard elements. */
	Vec(const Type *) wildcard_type;
	Vec(Wild) wild;          /* Elements that belong to a wildcard. */
	Ints    constant;        /* Elements of the storages of constant tensors. */
	Ints    outside;         /* Elements that code outside of the graph may write to: constants, inputs, results. */
	bool    any;             /* Whether one wildcard serves all types. */
	const void *(*place)(void *, const Value *);
	void   *place_arg;
	bool   *written;         /* Whether a node writes the element, by element. Null until needed. */
	/* [0]: whether the element points to a written element. [1]: whether it reaches one. */
	const bool *to_written[2];
	bool   *live;            /* Whether the element is in the live set, by element: see alias_live_add. */
	bool   *live_seen;       /* Whether all that the element reaches is in the live set. */
	/* Whether the element points to memory that outlives the graph or is known outside. Null until needed. */
	const bool *to_escaped;
	unsigned walk;
};
int  alias_element_new(AliasDb *);
int  alias_element_of(AliasDb *, const Value *); /* Element of the value. -1 if it cannot alias. */
/* Whether the value can alias and was made after the database. */
bool alias_is_unknown(const AliasDb *, const Value *);
const IntSet *alias_places_of(AliasDb *, int e);                       /* Elements that e may point to. */
const IntSet *alias_reach_of(AliasDb *, int e); /* Elements that are reachable from the elements that e may point to. */
bool alias_meet(const IntSet *, const IntSet *);
void alias_join(AliasDb *, Ints *into, const IntSet *);
IntSet *alias_set_of(AliasDb *, Ints *found);
/* Appends the places that e may point to or, if `deep`, all places that are reachable from it. stack: memory for the
 * walk. */
void alias_collect(AliasDb *, int e, bool deep, Ints *stack, Ints *found);
bool alias_is_listed(const Node *, const Symbol *kinds, size_t n);
#define LISTED(n, kinds) alias_is_listed(n, kinds, sizeof(kinds) / sizeof *(kinds))

/* effects.c: whether the node, or one nested in it, has an effect. */
bool alias_has_effect(const Node *);

#endif
