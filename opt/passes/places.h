/* opt/passes/places.h - the memory of attributes: what places.c finds for freeze.c; private to them */
#ifndef OPT_PLACES_H
#define OPT_PLACES_H

#include "../opt.h"

/* A graph that runs on the instance: of a method, or of a task that one forks. */
typedef struct Scope {
	struct Places *all;
	Graph   *g;
	const Node *fork;        /* of a task: its node, in `outer` */
	struct Scope *outer;
	bool     peer;           /* of another method */
	AliasDb *db;             /* attributes alias by their memory in the instance */
} Scope;

typedef struct Places {
	Pass   *p;
	Map     set;             /* names that a reachable SetAttr has */
	Map     visited;         /* functions that have been analysed */
	PtrMap  memory;          /* by address, storages and containers: LOOSE, WRITTEN */
	bool    loose_written[2];/* is LOOSE memory written to: of containers, of tensors */
	bool    unknown;         /* some reachable code cannot be analysed */
	bool    called;          /* some call is passed an object: it may write to anything mutable */
	Vec(Scope *) scope;      /* the graph itself first, a subgraph behind its outer graph */
} Places;

/* Analyses all graphs that run on p->self with g, and what they write.  Null: it cannot. */
Places *places_of(Pass *, Graph *);
bool    places_resolve(const Scope *, const Value *, IValue *);       /* borrowed; false: not known, or set somewhere */
bool    places_written(const Places *, IValue);      /* is it, or anything in it, written by any of the graphs? */

#endif
