/*
 * tests/graphs/gen.h - inside the generator: what is in scope, and what is followed of it
 *
 * A graph has several sets of inputs (graphs.h).  Of every tensor dtype and sizes are followed in each of them, and an
 * operator is put only where it can run in all, so that most graphs run without an error on every set.
 */
#ifndef GRAPHS_GEN_H
#define GRAPHS_GEN_H

#include "graphs.h"

enum { RANK = 4, MOST_STATEMENTS = 40, DEEPEST = 3, MOST_ELEMENTS = 1500 };

typedef struct Shape { RtDtype t; int64_t d[RANK]; } Shape;    /* sizes past the rank are 0 */

/* spread: two of its elements may be one, it must not be written to.  rough: its values may differ in the last bits
 * between implementations, it must not be compared. */
typedef struct Ten { Value *v; int n; Shape in[NSET]; bool spread, rough; } Ten;
/* A list: elements like this one, at least so many; shared: it has more names than one, perhaps of another depth. */
typedef struct Seq { Value *v; Ten like; int least, depth; bool shared; } Seq;
typedef struct Nest { Value *v; Ten like; int least, inner; } Nest;    /* a list of lists of so many at least */
typedef struct Dic { Value *v; Ten like; int keys; bool ints; } Dic;  /* keys k0, k1 ... are there; ints: 0, 1 ... */
typedef struct Row { Value *v; int least; } Row;                      /* a list of ints */
typedef struct Task { Value *v; Ten like; } Task;                     /* a future of a tensor */

typedef struct Pools {
	Vec(Ten)  tens;
	Vec(Seq)  seqs;
	Vec(Nest) nests;
	Vec(Dic)  dics;
	Vec(Row)  rows;
	Vec(Task) tasks;
	Vec(Value *) ints, bools, floats;
} Pools;

typedef struct Gen {
	Cx    *cx;
	Graph *g;
	uint64_t seed;
	int    depth, left;
	bool   tame;             /* see graph_make */
	bool   rough;            /* all tensors are: something rough was written */
	Value *self;             /* null: in the graph of a task */
	Pools  in;               /* in scope */
} Gen;

typedef void Statement(Gen *);

/* How many of each pool there were: what a block adds goes with it.  `least` of outer lists only falls inside. */
typedef struct Mark { int tens, seqs, nests, dics, rows, tasks, ints, bools, floats; } Mark;

#define PUSH(x, pool, ...)  vec_push((x)->cx->arena, &(x)->in.pool, (__VA_ARGS__))

/* ---- make.c: chance, emitting, choosing ------------------------------------------------------------------ */

int    below(Gen *, int n);
bool   chance(Gen *, int percent);

extern const Range nowhere;
Value *constant(Gen *, IValue);
Value *number(Gen *, int64_t);
Value *call_list(Gen *, const char *op, int n, Value *const *in);
#define CALL(x, op, ...) \
	call_list((x), (op), (int)(sizeof((Value *[]){ __VA_ARGS__ }) / sizeof(Value *)), (Value *[]){ __VA_ARGS__ })
Value *list_of(Gen *, const Type *elem, int n, Value *const *);
Value *ints_of(Gen *, int n, const int64_t *);
void   put(Gen *, Value *, Ten);               /* a tensor like that one */

Ten    any(Gen *);                             /* recent ones more often */
Ten    like(Gen *, Ten);                       /* of the same dtype and sizes; itself when there is no other */
Value *any_int(Gen *);
Value *any_bool(Gen *);

char   category(Ten);                          /* B, I, F, C as dtype.def has it */
bool   is_float(Ten);
bool   is_dtype(Ten, RtDtype);                 /* in every set */
bool   alike(Ten, Ten);
void   set_dtype(Ten *, RtDtype);
void   set_size(Ten *, int dim, int64_t);
int64_t most(Ten, int dim), least(Ten, int dim);  /* of its sizes there */
int64_t fewest(Ten);                           /* elements */
bool   small(Ten);                             /* in every set */
void   drop_dim(Ten *, int dim);
void   add_dim(Ten *, int64_t);                /* in front */
bool   broadcast(Ten, Ten, Ten *out);          /* sizes of both together, dtype of the first; false: they do not fit */
bool   fits(Ten, Ten into);                    /* may stand where only `into` is known */

/* ---- what there is ---------------------------------------------------------------------------------------- */

Statement unary, binary, mixed, with_number, choose, reduce, product, convert, fresh, counted;          /* tensors.c */
Statement view, view_unknown, write, write_part;                                                        /* views.c */
Statement integer, truth, floating, new_list, use_list, nested, dictionary, row, tuple, attribute;      /* values.c */
Statement branch, loop, optional, either, task, wait, check;                                            /* flow.c */
Statement around, repeated, chosen, refused;                                                            /* decided.c */
void   statements(Gen *, int n);
Mark   enter(Gen *, Block *);                  /* to its end */
void   leave(Gen *, Mark);
Node  *if_at(Gen *, Value *cond);              /* without blocks */
Value *scalar_for(Gen *, Ten);                 /* a number that keeps the dtype */

#endif
