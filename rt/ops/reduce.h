/* rt/ops/reduce.h - folding the elements of some dims; private to the reductions (reduce.c, moment.c)
 *
 * A Reduce describes the dims to fold and the function that folds them.  For each element of the result, that function
 * gets the elements of the folded dims in C order, in blocks of one compute type.
 */
#ifndef RT_OPS_REDUCE_H
#define RT_OPS_REDUCE_H

#include "kernel.h"

enum {
	FOLD_WIDTH = 64,        /* most results that are folded together */
	FOLD_BLOCK = 1024,      /* most elements of a call of FoldFn */
	FOLD_ROWS = 128,        /* most elements of each result in a call of FoldTile */
	FOLD_RUN = 32,          /* least length of a run that is worth a call */
};

typedef struct FoldState {
	double  f[6];
	int64_t i[3];
} FoldState;

/* Folds n more elements x[0], x[stride], ....  at: number of earlier elements. */
typedef void FoldFn(const void *arg, FoldState *, int64_t n, const void *x, int64_t stride, int64_t at);
/* The same for `width` adjacent results: x is (n, width) with a row stride of `row` elements. */
typedef void FoldTile(FoldState *, int64_t width, int64_t n, const void *x, int64_t row);
/* Computes `width` results of floats at once.  Each has n elements with stride `step`; the next result's are `next` on.
 * If next is 1, n is at most FOLD_ROWS; if step is 1, n is at most FOLD_BLOCK. */
typedef void FoldWhole(float *r, int64_t width, int64_t n, const float *x, int64_t next, int64_t step);
/* Stores the results of `count` folded elements in r[0], and r[1] if there are two, of the types Reduce.as_out. */
typedef void FoldEnd(const void *arg, const FoldState *, int64_t count, void *const *r);

typedef struct Reduce {
	RtTensor *in;
	RtDtype   as;               /* type of the blocks */
	FoldState start;
	FoldFn   *fold;
	FoldTile *tile;             /* does the same as fold; null: results are folded one by one */
	FoldWhole *whole;           /* does the same as tile and end, or null; for RT_f32, nout 1 */
	FoldEnd  *end;
	const void *arg;
	int       nout;
	RtTensor *out[2];           /* contiguous, or any strides of the same order of dims */
	RtDtype   as_out[2];
	bool      mask[RT_MAX_RANK];   /* dims that are folded */
} Reduce;

/* over: the two arguments dim (as for reduce_mask) and keepdim.  Null: reduces all dims, without keepdim. */
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
/* Makes result i: dims that are not folded; with keepdim, folded dims are 1. */
RtTensor *reduce_result(RtCx *, int i, const RtTensor *in, const bool *mask, bool keepdim, RtDtype);
void      reduce_run(RtCx *, const Reduce *);
/* For operators without a value for empty folded dims: raises if one is empty.  dim: as for reduce_mask.  Call before
 * reduce_mask and before checks of the type.  name: as in the message, with or without parentheses. */
int       reduce_not_empty(RtCx *, const char *name, const RtTensor *in, IValue dim);

#endif
