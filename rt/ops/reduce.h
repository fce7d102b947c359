/* rt/ops/reduce.h - folding the elements of some dims; private to the reductions (reduce.c, moment.c)
 *
 * A Reduce describes the dims to fold and the function that folds them. For each element of the result, that function
 * gets the elements of the folded dims in C order, in blocks of one compute type. */
#ifndef RT_OPS_REDUCE_H
#define RT_OPS_REDUCE_H

#include "kernel.h"

enum {
	FOLD_WIDTH = 64,        /* largest number of results that are folded together */
	FOLD_BLOCK = 1024,      /* largest number of elements in a call of FoldFn */
	FOLD_ROWS = 128,        /* largest number of elements of each result in a call of FoldTile */
	FOLD_RUN = 32,          /* smallest length of a run for which a call is worthwhile */
};

typedef struct FoldState {
	double  f[6];
	int64_t i[3];
} FoldState;

/* Folds n more elements x[0], x[stride], ... `at` is the number of earlier elements. */
typedef void FoldFn(const void *arg, FoldState *, int64_t n, const void *x, int64_t stride, int64_t at);
/* Does the same for `width` adjacent results. x is (n, width) with a row stride of `row` elements. */
typedef void FoldTile(FoldState *, int64_t width, int64_t n, const void *x, int64_t row);
/* Computes `width` results of floats at once. Each result has n elements with stride `step`. The elements of the next
 * result are `next` further on. If next is 1, n is at most FOLD_ROWS; if step is 1, n is at most FOLD_BLOCK. */
typedef void FoldWhole(float *r, int64_t width, int64_t n, const float *x, int64_t next, int64_t step);
/* Stores the results of `count` folded elements in r[0], and in r[1] if there are two. Their types are those of
 * Reduce.as_out. */
typedef void FoldEnd(const void *arg, const FoldState *, int64_t count, void *const *r);

typedef struct Reduce {
	RtTensor *in;
	RtDtype   as;               /* type of the blocks */
	FoldState start;
	FoldFn   *fold;
	FoldTile *tile;    /* computes the same as fold for adjacent results; if null, results are folded one by one */
	FoldWhole *whole;    /* computes the same as tile and end; for RT_f32 and nout 1; null if there is none */
	FoldEnd  *end;
	const void *arg;
	int       nout;
	RtTensor *out[2];           /* contiguous, or of any strides with the same order of dims */
	RtDtype   as_out[2];
	bool      mask[RT_MAX_RANK];   /* whether a dim is folded */
} Reduce;

/* `over` has the two arguments dim (as for reduce_mask) and keepdim. If it is null, all dims are reduced, without
 * keepdim. */
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

/* Sets the mask of folded dims. `dim` is None or [] for all dims, an int, or a list of ints. Raises an error for
 * repeated dims. */
int       reduce_mask(RtCx *, IValue dim, int ndim, bool *mask);
/* Makes result i, which has the dims that are not folded. With keepdim, folded dims have size 1. */
RtTensor *reduce_result(RtCx *, int i, const RtTensor *in, const bool *mask, bool keepdim, RtDtype);
void      reduce_run(RtCx *, const Reduce *);
/* Raises an error if a folded dim is empty, for operators without a value for it. dim: as for reduce_mask. Must be
 * called before reduce_mask and before checks of the type. name: as in the message, with or without parentheses. */
int       reduce_not_empty(RtCx *, const char *name, const RtTensor *in, IValue dim);

#endif
