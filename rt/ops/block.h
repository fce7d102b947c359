/* rt/ops/block.h - operands as plain arrays, for kernels that index memory themselves
 *
 * view, index, sort, linalg, fft and vision do not use the element iterator. They read contiguous arrays of a compute
 * type. These arrays are temporaries of the running kernel. */
#ifndef RT_OPS_BLOCK_H
#define RT_OPS_BLOCK_H

#include "../base.h"
#include "kernel.h"

enum { SIZES_TEXT = 400 };

/* Returns a contiguous tensor with the same elements: t itself, or a copy that lives as long as the kernel. */
static inline RtTensor *
dense(RtCx *cx, RtTensor *t)
{
	return rt_temp(cx, rt_contiguous(cx, t));
}

static inline RtTensor *
dense_as(RtCx *cx, RtTensor *t, RtDtype dtype)
{
	RtTensor *r = rt_temp(cx, rt_to_dtype(cx, t, dtype));

	return r ? dense(cx, r) : NULL;
}

static inline RtTensor *
temp_new(RtCx *cx, RtDtype dtype, int ndim, const int64_t *dims)
{
	return rt_temp(cx, rt_tensor_new(cx, dtype, ndim, dims));
}

/* Returns the compute type of a dtype. */
static inline RtDtype
compute_of(RtDtype dtype)
{
	return (RtDtype)rt_dtypes[dtype].compute;
}

static inline int64_t
product(const int64_t *dims, int from, int to)
{
	int64_t n = 1;

	for (int i = from; i < to; i++)
		n *= dims[i];
	return n;
}

/* block.c */
const char *sizes_text(char text[SIZES_TEXT], int64_t n, const int64_t *dims);    /* writes a text such as [2, 3] */
/* returns the ints of a list, in scratch memory; null if an error was raised */
const int64_t *list_ints(RtCx *, IValue list);
/* Replaces a -1 in dims so that the product is numel. Raises an error as `view` does if this is not possible. */
int rt_infer_shape(RtCx *, int n, int64_t *dims, int64_t numel);

/* Dims of a block, and its strides in two arrays. Strides are in bytes and may be negative or 0. */
typedef struct BlockPair { int n; const int64_t *dims, *to, *from; } BlockPair;
/* Copies a block of elements, each of `bytes` bytes. */
void move_block(int64_t bytes, const BlockPair *, char *dst, const char *src);
/* Copies block at[i] of `from` to block i of `to`, for i < n.  Blocks have `bytes` bytes and are contiguous. */
void pick_blocks(char *restrict to, const char *restrict from, int64_t n, const int64_t *restrict at, int64_t bytes);
/* Returns the offset in bytes from rt_data(t) of the element with index i in C order. */
int64_t byte_offset(const RtTensor *t, int64_t i);

#endif
