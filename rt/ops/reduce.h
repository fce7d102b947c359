/* rt/ops/reduce.h - folding the elements of some dims; private to the reductions (reduce.c, moment.c)
 *
 * A Reduce describes the dims to fold and the function that folds them.  For each element of the result the elements of
 * the folded dims come, in C order, in blocks of one compute type.
 */
#ifndef RT_OPS_REDUCE_H
#define RT_OPS_REDUCE_H

#include "kernel.h"

enum {
	FOLD_WIDTH = 64,        /* results that are folded together, at most */
	FOLD_BLOCK = 1024,      /* elements that a FoldFn gets at most */
	FOLD_ROWS = 128,        /* and a FoldTile of each neighbour */
	FOLD_RUN = 32,          /* elements one after the other that are worth a call */
};

typedef struct FoldState {
	double  f[6];
	int64_t i[3];
} FoldState;

/* n more elements x[0], x[stride], ...; at: how many came before. */
typedef void FoldFn(const void *arg, FoldState *, int64_t n, const void *x, int64_t stride, int64_t at);
/* The same for `width` neighbours: of each, n more elements; x is (n, width), rows are `row` elements apart. */
typedef void FoldTile(FoldState *, int64_t width, int64_t n, const void *x, int64_t row);
/* The results themselves of `width` neighbours `next` apart, of floats: of each, n elements `step` apart are all.
 * Either next or step is 1; n is at most FOLD_ROWS or FOLD_BLOCK then. */
typedef void FoldWhole(float *r, int64_t width, int64_t n, const float *x, int64_t next, int64_t step);
/* The result of `count` elements, written to r[0], and r[1] when there are two: of the types in Reduce.as_out. */
typedef void FoldEnd(const void *arg, const FoldState *, int64_t count, void *const *r);

typedef struct Reduce {
	RtTensor *in;
	RtDtype   as;               /* the blocks' type */
	FoldState start;
	FoldFn   *fold;
	FoldTile *tile;             /* what fold does, or null: one neighbour after the other */
	FoldWhole *whole;           /* what tile and end do, or null; as is RT_f32, nout 1 */
	FoldEnd  *end;
	const void *arg;
	int       nout;
	RtTensor *out[2];           /* contiguous, or in any strides of the same order */
	RtDtype   as_out[2];
	bool      mask[RT_MAX_RANK];   /* dims that are folded */
} Reduce;

/* over: the arguments dim (as for reduce_mask) and keepdim, side by side; null: all dims, none of which stays. */
static inline IValue
over_dim(const IValue *over)
{
	return over ? over[0] : rt_none();
}

static inline bool
over_keepdim(const IValue *over)
{
	return over && over[1].u.i;
}

/* `dim`: None or [] (all), an int, or a list of ints; raises for repeated dims. */
int       reduce_mask(RtCx *, IValue dim, int ndim, bool *mask);
/* Result i: the dims that are left, or 1 in their place. */
RtTensor *reduce_result(RtCx *, int i, const RtTensor *in, const bool *mask, bool keepdim, RtDtype);
void      reduce_run(RtCx *, const Reduce *);
/* Raises where an operator has no value for folded dims without elements, `dim` as for reduce_mask: before it, and
 * before the type is looked at.  name: as the message has it, with or without parentheses. */
int       reduce_not_empty(RtCx *, const char *name, const RtTensor *in, IValue dim);

#endif
