/* opt/trace/trace.h - a run as a graph without branches; private to the files of opt/trace */
#ifndef OPT_TRACE_H
#define OPT_TRACE_H

#include "../opt.h"

/* State of walks along one path.  A walk goes through a function's graph and copies the nodes on the path. */
typedef struct Tracer {
	Cx        *cx;
	const Way *way;
	int        at;             /* index of the next turn */
	const char *const *kept;   /* (nkept) names of functions whose calls stay calls */
	bool      *met;            /* (nkept) whether each was called */
	int        nkept;
	bool       whole;          /* one graph: every call becomes its nodes, and choices are noted */
	int        aside;          /* > 0: inside a kept call, which is walked only for its turns */
	int        still;          /* > 0: inside code that runs later, or never: it must not turn */
	WayChoices    choices;
	Vec(struct Variant *) variants;
	Vec(struct VariantCall) calls;
} Tracer;

/* A method along one path.  Calls that take the same path share it. */
typedef struct Variant {
	Function *of, *fn;
	int begin, end;            /* range of its turns in the first call */
} Variant;
typedef struct VariantCall { Node *node; const Variant *to; } VariantCall;

Tracer *trace_new(Cx *, const Way *, const char *const *kept);
void   trace_end(const Tracer *);           /* fails if turns are left, or a kept name was never called */
Graph *trace_walk(Tracer *, Function *);    /* the function's graph along the path, from the next turn on */
Function *trace_copy(Cx *, const Function *);         /* a function without a graph, of the same name and schema */

#endif
