/* rt/ops/dense.h - operands of the network kernels (conv, pool, nn, rnn, ...) as dense arrays of a compute type
 *
 * These kernels are loops over row-major arrays of float, double or int64. dense_in converts any operand to such an
 * array, or returns the operand itself if it is one. dense_out returns an array to compute a result in. dense_done
 * converts it to the result's own dtype and strides. */
#ifndef RT_OPS_DENSE_H
#define RT_OPS_DENSE_H

#include "kernel.h"

RtTensor *dense_in(RtCx *, RtTensor *, RtDtype ct);           /* borrowed; it is a temporary of the kernel */
/* Returns a temporary, or the result itself if it is row-major and of type ct. */
RtTensor *dense_out(RtCx *, RtTensor *result, RtDtype ct);
int       dense_done(RtCx *, RtTensor *result, RtTensor *out);

static inline RtDtype
compute_type(const RtTensor *t)
{
	return (RtDtype)rt_dtypes[t->dtype].compute;
}

static inline bool
is_floating(const RtTensor *t)
{
	return rt_dtypes[t->dtype].category == 'F';
}

/* Reads n sizes from a list of n ints, or from one int for all. The message is ATen's. */
int dense_sizes(RtCx *, IValue list, const char *op, const char *what, int n, int64_t *sizes);

/* Sets the strides of a memory format: 0 contiguous, 2 channels last, 3 channels last of volumes. Raises for others. */
int rt_format_strides(RtCx *, int64_t format, int ndim, const int64_t *dims, int64_t *strides);
/* Returns the strides of a result that keeps the memory format of a. Null if a is not channels last, which means
 * row-major. buf has room for ndim strides. */
const int64_t *dense_format(const RtTensor *a, int ndim, const int64_t *dims, int64_t *buf);

/* Chooses scale and zero point so that [low, high], widened to contain 0, is mapped to [qmin, qmax], as ATen's
 * observers do. */
void quant_choose(double low, double high, int64_t qmin, int64_t qmax, double *scale, int64_t *zero);

/* Writes sizes as "[2, 3]", for messages, in the caller's buffer. */
typedef struct DenseText { char s[400]; } DenseText;
const char *dense_text(const RtTensor *, DenseText *);
const char *dense_dims_text(int n, const int64_t *dims, DenseText *);

#endif
