/* rt/ops/dense.h - operands of the network kernels (conv, pool, nn, rnn, ...) as dense arrays of a compute type
 *
 * These kernels are loops over row-major arrays of float, double or int64.  dense_in makes such an array of any operand
 * (the operand itself when it already is one), dense_out gives the place to write to, dense_done brings it into the
 * result's own dtype and strides.
 */
#ifndef RT_OPS_DENSE_H
#define RT_OPS_DENSE_H

#include "kernel.h"

RtTensor *dense_in(RtCx *, RtTensor *, RtDtype ct);           /* borrowed: lives until the kernel returns */
/* likewise; the result itself when it is row-major and of ct */
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

/* n sizes from a list of n, or of one that stands for all; the message is ATen's. */
int dense_sizes(RtCx *, IValue list, const char *op, const char *what, int n, int64_t *sizes);

/* Strides of a result that keeps the memory format of a: channels_last when a has it, else null (row-major).
 * buf has room for ndim. */
const int64_t *dense_format(const RtTensor *a, int ndim, const int64_t *dims, int64_t *buf);

/* Scale and zero point that take [low, high], widened to hold 0, to [qmin, qmax]; as ATen's observers choose them. */
void quant_choose(double low, double high, int64_t qmin, int64_t qmax, double *scale, int64_t *zero);

/* The sizes as "[2, 3]" for messages, in one of a few turns of a caller's buffers. */
typedef struct DenseText { char s[400]; } DenseText;
const char *dense_text(const RtTensor *, DenseText *);
const char *dense_dims_text(int n, const int64_t *dims, DenseText *);

#endif
