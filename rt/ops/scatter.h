/* rt/ops/scatter.h - writing into a tensor at positions given by others: index.c, scatter.c, mask.c */
#ifndef RT_OPS_SCATTER_H
#define RT_OPS_SCATTER_H

#include "geom.h"

enum { SCATTER_SET, SCATTER_ADD, SCATTER_MUL, SCATTER_MIN, SCATTER_MAX };

/* *dst = *dst op *src for n elements of one dtype, so many bytes apart; `at`: each of dst at[i] * step bytes on */
typedef struct Combine {
	void (*run)(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss);
	void (*at)(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss, const int64_t *at, int64_t step);
} Combine;
const Combine *combine_of(int op, int dtype);          /* null: SCATTER_SET, or not for this dtype */
void combine_block(const Combine *, int n, const int64_t *dims, char *dst, const int64_t *ds, const char *src,
		   const int64_t *ss);

/* t broadcast to dims, contiguous, a temporary; null when it does not fit (no error raised) or memory is out. */
RtTensor *expanded(RtCx *, RtTensor *t, int n, const int64_t *dims);
/* Positions of t's elements that are not zero: (n, ndim), or (ndim, n) when by_dim. */
RtTensor *nonzero_rows(RtCx *, RtTensor *t, bool by_dim);
/* A new result with self's elements; `keep`: and its strides, as clone does, else contiguous. */
RtTensor *result_copy(RtCx *, RtTensor *self, bool keep, IValue *out);
/* Of dst, when it is in[0], which is written to: has it each element once, and memory apart from that of the tensors
 * in[1 .. n)? */
int check_target(RtCx *, const IValue *in, const RtTensor *dst, int n);

/* BOTH_FORMS(row, in-place row, keep, write): write(cx, in, dst) checks and, unless cx->meta, changes dst, which has
 * self's elements; in place it asks check_target where ATen does. */
#define BOTH_FORMS(id, id_, keep, write) \
	int rt_##id(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		RtTensor *r = result_copy(cx, in[0].u.t, keep, out); \
		return r ? write(cx, in, r) : RT_ERROR; \
	} \
	int rt_##id_(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		int status = cx->meta ? RT_OK : rt_writable(cx, in[0].u.t); \
		if (!status) \
			status = write(cx, in, in[0].u.t); \
		if (!status) \
			out[0] = rt_retain(in[0]); \
		return status; \
	}

#endif
