/* opt/passes/places.h - whose memory attributes are: what places.c finds out for freeze.c; private to them */
#ifndef OPT_PLACES_H
#define OPT_PLACES_H

#include "../opt.h"

/* A graph that runs on the instance: a method, or what one runs on the side. */
typedef struct Scope {
	struct Places *all;
	Graph   *g;
	const Node *fork;        /* of a subgraph: its node, in `outer` */
	struct Scope *outer;
	bool     peer;           /* of another method */
	AliasDb *db;             /* attributes told apart by their memory */
} Scope;

typedef struct Places {
	Pass   *p;
	Map     set;             /* names that some SetAttr in reach has */
	Map     visited;         /* functions looked at */
	PtrMap  memory;          /* by address, storages and containers: LOOSE, WRITTEN */
	bool    loose_written[2];/* is LOOSE memory written to: of containers, of tensors */
	bool    unknown;         /* code in reach that cannot be looked at */
	bool    called;          /* with an object: it may write to all that is mutable */
	Vec(Scope *) scope;      /* the graph itself first, a subgraph behind its outer graph */
} Places;

/* All graphs that run on p->self with g, and what they write.  Null: nothing can be said. */
Places *places_of(Pass *, Graph *);
bool    places_resolve(const Scope *, const Value *, IValue *);       /* borrowed; false: not known, or set somewhere */
bool    places_written(const Places *, IValue);      /* is it, or anything in it, written by any of the graphs? */

#endif
