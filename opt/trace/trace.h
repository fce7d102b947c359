/* opt/trace/trace.h - a run as a graph without branches: what its files share; private to them */
#ifndef OPT_TRACE_H
#define OPT_TRACE_H

#include "../opt.h"

/* Graphs along one way.  A walk goes through a function's graph and copies what the way comes by. */
typedef struct Tracer {
	Cx        *cx;
	const Way *way;
	int        at;             /* the turn that comes next */
	const char *const *kept;   /* (nkept) names of functions whose calls stay calls */
	bool      *met;            /* (nkept) has it been called? */
	int        nkept;
	bool       whole;          /* of one graph: every call becomes its nodes, and choices are noted */
	int        aside;          /* > 0: inside of a call that stays, for its turns alone */
	int        still;          /* > 0: inside of what runs later, or never: it must not turn */
	WayChoices    choices;
	Vec(struct Variant *) variants;
	Vec(struct VariantCall) calls;
} Tracer;

/* A method along one way; calls that go the same way share it. */
typedef struct Variant {
	Function *of, *fn;
	int begin, end;            /* its turns, when it was walked first */
} Variant;
typedef struct VariantCall { Node *node; const Variant *to; } VariantCall;

Tracer *trace_new(Cx *, const Way *, const char *const *kept);
void   trace_end(const Tracer *);           /* fails when turns are left, or a kept name was never met */
Graph *trace_walk(Tracer *, Function *);    /* its graph along the way, from the turn that comes next on */
Variant *trace_variant(Tracer *, Function *);

#endif
