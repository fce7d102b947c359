/* opt/passes/places.h - which attributes share memory: the interface between places.c and freeze.c */
#ifndef OPT_PLACES_H
#define OPT_PLACES_H

#include "../opt.h"

/* A graph that runs on the instance: the graph of a method, or of a task that a method forks. */
typedef struct Scope {
	struct Places *all;
	Graph   *graph;
	const Node *fork; /* Node that forks the task, in the graph of `outer`.  Null if the graph is a method's. */
	struct Scope *outer;
	bool     peer;           /* whether the graph belongs to another method */
	AliasDb *db;             /* alias database in which attributes alias if they share memory in the instance */
} Scope;

typedef struct Places {
	Pass   *pass;
	Map     set;             /* names of attributes that a reachable SetAttr sets */
	Map     visited;         /* functions that have been analysed */
	PtrMap  memory;          /* bits LOOSE and WRITTEN, by address of a storage or container */
	bool    loose_written[2];/* whether some node writes to loose memory: [0] of containers, [1] of tensors */
	bool    unknown;         /* whether some reachable code cannot be analysed */
	bool    called;          /* whether some call receives an object, so that it may write to any mutable memory */
	Vec(Scope *) scope;      /* the graph itself first; each subgraph after its outer graph */
} Places;

/* Analyses g and all other graphs that run on p->self, and the memory that they write to.  Null if that is not
 * possible. */
Places *places_of(Pass *, Graph *);
/* Finds the value of v, an attribute or object, borrowed.  Returns false if it is not known, or if some node sets
 * it. */
bool    places_resolve(const Scope *, const Value *, IValue *);
bool    places_written(const Places *, IValue);      /* does any of the graphs write to it or to anything in it? */

#endif
