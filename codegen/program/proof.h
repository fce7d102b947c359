/* codegen/program/proof.h - evaluation of a model's operators over symbols: sized.c, sized_call.c, proof_*.c,
 * proof.c
 *
 * A rule computes the sizes of an operator's results as its kernel does.  Where the kernel compares two sizes, the rule
 * asks whether they compare in the same way on all samples.  What it relies on then becomes a demand, unless it is true
 * for all sizes: the program tests it at entry.
 */
#ifndef CODEGEN_PROGRAM_PROOF_H
#define CODEGEN_PROGRAM_PROOF_H

#include "dynamic.h"

/* A value of the model whose sizes are known. */
typedef struct Sized {
	/* SIZED_FIXED: ints and bools of any number that are the same for all sizes. */
	enum { SIZED_UNKNOWN, SIZED_NUMBER, SIZED_TENSOR, SIZED_PARTS, SIZED_VALUE, SIZED_FIXED } kind;
	const Size *number;              /* SIZED_TENSOR: value of a tensor of one int; or null */
	IValue value;                    /* SIZED_VALUE: constant, such as None, a double or a string */
	int n;                           /* number of dims, or of parts of a list or tuple */
	struct Sized **part;
	const Size **dim, **stride;      /* strides: null for a new tensor, until it is observed */
	const Size *offset;
	int storage;                     /* equal for tensors that share memory */
	int dtype;                       /* 1 + dtype of a constant tensor; 0 for other values */
	const struct Sized *or;          /* tensor that this one may be instead, depending on dtypes; or null */
} Sized;

typedef struct Prover {
	Proof *proof;
	Dynamic *dynamic;
	const Sizes *samples;            /* symbols and numbers of the samples */
	Arena *arena;
	SizeTable *sizes;
	const SizeNumber *seen;          /* numbers of the first sample, with their kinds */
	int nnumber, nstorage;
	Sized **of;                      /* by value id of the graph */
	Vec(int) storage;                /* storage of each tensor observed so far */
	Vec(int) written;                /* storages that were written */
	const Size **number;             /* proved Size of each number; null if it is not proved */
	bool *proved;
} Prover;

/* ---- sized.c ---- */

/* Are two sizes equal on all samples, or different on all?  *is: whether they are equal.  Demands that.  False if the
 * samples disagree. */
bool  prove_equal(Prover *, const Size *a, const Size *b, bool *is);
bool  is_equal_on_samples(const Prover *, const Size *, const Size *);       /* demands nothing */
bool  prove_at_least(Prover *, const Size *, int64_t, bool *is);     /* the same for a lower bound */
bool  must_equal(Prover *, const Size *, const Size *);      /* Are they equal on all samples? Demands it. */
bool  must_be_at_least(Prover *, const Size *, int64_t);     /* the same for a lower bound */
bool  sized_value(const Prover *, const Size *, int sample, int64_t *out);   /* the Size on a sample */
Sized *sized_of(Prover *, const Value *);
Sized *sized_constant(Prover *, IValue);
Sized *sized_new(Prover *);                               /* an unknown value */
Sized *sized_number(Prover *, const Size *);
Sized *sized_parts(Prover *, int n);
Sized *sized_tensor(Prover *, int ndim);                  /* a tensor in new memory, without dims and strides */
Sized *sized_view(Prover *, const Sized *base, int ndim);       /* a view at its offset, without dims and strides */
bool  sized_is_written(const Prover *, const Sized *);
const Size **channels_last_strides(Prover *, const Sized *);
const Size **contiguous_strides(Prover *, const Sized *);
const Size *sized_numel(Prover *, const Sized *);

/* ---- sized_call.c ---- */

typedef struct Call {                    /* A node that a rule evaluates. */
	Prover *prover;
	const Node *node;
	Sized **out;                       /* (nout) results; unknown ones are left as they are */
} Call;
Sized *arg_of(const Call *, const char *name);                   /* SIZED_UNKNOWN if there is no such argument */
Sized *arg_tensor(const Call *, const char *name);            /* null if it is no known tensor */
bool  arg_int(const Call *, const char *name, int64_t *);    /* returns false if it is no constant int */
bool  arg_is_none(const Call *, const char *name);
bool  arg_axis(const Call *, const char *name, int n, int *axis);    /* reads an index of n axes, or from their end */
/* Reads a list of sizes. Of a number or a list of one it takes n. Returns their number, -1 if it is none. */
int   arg_sizes(const Call *, const char *name, int n, const Size **out);

const Size *call_number(const Call *, int64_t);              /* the number as a Size */
Sized *call_tensor(const Call *);                            /* first argument that is a known tensor; or null */
Sized *call_new(Call *, const Size *const *dim, int n);      /* a new tensor of these sizes */
bool  call_orders_hold(Call *);  /* Do the arguments' strides compare in the same way for all sizes? Demands it. */
void  call_results(Call *, const Size *const *dim, int n);   /* sets all results to new tensors of these sizes */

bool  call_lacks_tensor(const Call *);                       /* Is an argument a tensor of unknown sizes? */
bool  wrap_axis(int64_t at, int n, int *axis);
const Size *common_size(Call *, const Size *, const Size *); /* of two sizes that broadcast; or null */
bool  broadcast_into(Call *, const Size **dim, int *n, const Sized *);       /* broadcasts a tensor's sizes into dim */

/* ---- proof_views.c, proof_numbers.c, proof_rules.c ---- */

typedef void SizesRuleFn(Call *);
SizesRuleFn prove_alias, prove_view_as, prove_flatten, prove_unflatten, prove_permute, prove_transpose, prove_unsqueeze,
	    prove_squeeze, prove_slice, prove_narrow, prove_select, prove_expand, prove_chunk, prove_split,
	    prove_unbind, prove_unfold;
SizesRuleFn prove_fill, prove_range, prove_steps, prove_eye, prove_scalar, prove_trips, prove_strided, prove_size,
	    prove_shape, prove_strides, prove_numel, prove_fixed, prove_to_tensor, prove_to_int, prove_negative,
	    prove_computed, prove_listed, prove_compared, prove_append, prove_extend, prove_copy_list,
	    prove_item, prove_set_item, prove_part, prove_broadcast;
void  prove_node(Call *);                                    /* evaluates the node by its row's rule, if it has one */

#endif
