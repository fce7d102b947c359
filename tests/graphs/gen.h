/*
 * tests/graphs/gen.h - the generator's own declarations: values in scope, and the facts that it tracks about them
 *
 * A graph has several sets of inputs (graphs.h).  The dtype and sizes of every tensor are tracked for each set.  An
 * operator is emitted only if it can run for all sets, so that most graphs run without an error on every set.
 */
#ifndef GRAPHS_GEN_H
#define GRAPHS_GEN_H

#include "graphs.h"

enum { RANK = 4, MOST_STATEMENTS = 40, DEEPEST = 3, MOST_ELEMENTS = 1500 };

typedef struct Shape { RtDtype t; int64_t d[RANK]; } Shape;    /* sizes beyond the rank are 0 */

/* spread: two of its elements may share memory, so it must not be written to.  rough: its values may differ in the last
 * bits between implementations, so they must not be compared. */
typedef struct Ten { Value *v; int n; Shape in[NSET]; bool spread, rough; } Ten;
/* A list of at least `least` tensors like this one.  shared: it has more than one name, perhaps at another nesting
 * depth. */
typedef struct Seq { Value *v; Ten like; int least, depth; bool shared; } Seq;
/* A list of at least `least` lists with at least `inner` elements each. */
typedef struct Nest { Value *v; Ten like; int least, inner; } Nest;
/* A dict with the keys k0, k1 ... or, if ints, 0, 1 ... */
typedef struct Dic { Value *v; Ten like; int keys; bool ints; } Dic;
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
	bool   rough;            /* whether all tensors are rough, since a rough value was written */
	Value *self;             /* The instance.  Null in the graph of a task. */
	Pools  in;               /* values in scope */
} Gen;

typedef void Statement(Gen *);

/* Size of each pool at the start of a block.  At its end the block's additions are removed.  `least` of outer lists may
 * only decrease inside. */
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
void   put(Gen *, Value *, Ten);               /* puts a tensor with the facts of this one in scope */

Ten    any(Gen *);                             /* a tensor in scope, more often a recent one */
Ten    like(Gen *, Ten); /* a tensor of the same dtype and sizes, or the same one if there is no other */
Value *any_int(Gen *);
Value *any_bool(Gen *);

char   category(Ten);                          /* B, I, F or C, as in dtype.def */
bool   is_float(Ten);
bool   is_dtype(Ten, RtDtype);                 /* does it have this dtype in every set? */
bool   alike(Ten, Ten);
void   set_dtype(Ten *, RtDtype);
void   set_size(Ten *, int dim, int64_t);
int64_t most(Ten, int dim), least(Ten, int dim);  /* largest and smallest size of the dim among the sets */
int64_t fewest(Ten);                           /* smallest number of elements among the sets */
bool   small(Ten);                             /* is it small in every set? */
void   drop_dim(Ten *, int dim);
void   add_dim(Ten *, int64_t);                /* adds a first dim */
/* Broadcasts the sizes of both; the dtype is the first one's.  False if they do not broadcast. */
bool   broadcast(Ten, Ten, Ten *out);
bool   fits(Ten, Ten into);                    /* may it replace a value of which only the facts `into` are known? */

/* ---- what there is ---------------------------------------------------------------------------------------- */

Statement unary, binary, mixed, with_number, choose, reduce, product, convert, fresh, counted;          /* tensors.c */
Statement view, view_unknown, write, write_part;                                                        /* views.c */
Statement integer, truth, floating, new_list, use_list, nested, dictionary, row, tuple, attribute;      /* values.c */
Statement branch, loop, optional, either, task, wait, check;                                            /* flow.c */
Statement around, repeated, chosen, refused;                                                            /* decided.c */
void   statements(Gen *, int n);
Mark   enter(Gen *, Block *);                  /* sets the insertion point to the end of the block */
void   leave(Gen *, Mark);
Node  *if_at(Gen *, Value *cond);              /* makes an If without blocks */
Value *scalar_for(Gen *, Ten); /* a number that does not change the dtype in an operation with the tensor */

#endif
