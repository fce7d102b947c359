/* opt/trace/trace.h - a run as a graph without branches; private to the files of opt/trace */
#ifndef OPT_TRACE_H
#define OPT_TRACE_H

#include "../opt.h"

/* State of all walks along one path.  A walk visits a function's graph and copies the nodes on the path. */
typedef struct Tracer {
	Cx        *cx;
	const Way *way;
	int        at;             /* index of the next turn */
	const char *const *kept;   /* (nkept) names of functions whose calls stay calls */
	bool      *met;            /* (nkept) whether each was called */
	int        nkept;
	/* Whether one graph is made: every call is replaced by its nodes, and choices are recorded. */
	bool       whole;
	int        aside;          /* greater than 0 inside a kept call, which is walked only to skip its turns */
	int        still;          /* greater than 0 inside code that runs later, or never: it must not take turns */
	WayChoices    choices;
	Vec(struct Variant *) variants;
	Vec(struct VariantCall) calls;
} Tracer;

/* A method along one path.  Calls that take the same path share a variant. */
typedef struct Variant {
	Function *of, *fn;
	int begin, end;            /* range of its turns in the first call */
} Variant;
typedef struct VariantCall { Node *node; const Variant *to; } VariantCall;

Tracer *trace_new(Cx *, const Way *, const char *const *kept);
void   trace_end(const Tracer *);           /* fails if turns are left, or a kept name was never called */
Graph *trace_walk(Tracer *, Function *);    /* copies the function's graph along the path, from the next turn on */
Function *trace_copy(Cx *, const Function *);         /* a copy of the function without its graph */

#endif
