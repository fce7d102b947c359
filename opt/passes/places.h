/* opt/passes/places.h - which attributes share memory: the interface between places.c and freeze.c */
#ifndef OPT_PLACES_H
#define OPT_PLACES_H

#include "../opt.h"

/* A graph that runs on the instance: a method's, or that of a task that a method forks. */
typedef struct Scope {
	struct Places *all;
	Graph   *g;
	const Node *fork;        /* node of the task, in `outer`; null: the graph is no task's */
	struct Scope *outer;
	bool     peer;           /* whether it belongs to another method */
	AliasDb *db;             /* alias database, in which attributes alias by their memory in the instance */
} Scope;

typedef struct Places {
	Pass   *p;
	Map     set;             /* names of attributes that a reachable SetAttr sets */
	Map     visited;         /* functions that have been analysed */
	PtrMap  memory;          /* address of a storage or container -> bits LOOSE, WRITTEN */
	bool    loose_written[2];/* whether LOOSE memory is written to: [0] containers, [1] tensors */
	bool    unknown;         /* some reachable code cannot be analysed */
	bool    called;          /* whether some call gets an object: it may write to anything mutable */
	Vec(Scope *) scope;      /* the graph itself first; a subgraph comes after its outer graph */
} Places;

/* Analyses g and all other graphs that run on p->self, and what they write.  Null if that is not possible. */
Places *places_of(Pass *, Graph *);
/* Finds the value of v, an attribute or object, borrowed.  False if it is not known, or set somewhere. */
bool    places_resolve(const Scope *, const Value *, IValue *);
bool    places_written(const Places *, IValue);      /* Does any of the graphs write to it or to anything in it? */

#endif
