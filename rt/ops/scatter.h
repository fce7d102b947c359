/* rt/ops/scatter.h - writes to elements of a tensor at positions that other tensors contain: combine.c, scatter.c,
 * slices.c, index.c, mask.c */
#ifndef RT_OPS_SCATTER_H
#define RT_OPS_SCATTER_H

#include "geom.h"

enum { SCATTER_SET, SCATTER_ADD, SCATTER_MUL, SCATTER_MIN, SCATTER_MAX };

/* A function that computes dst = *dst op *src for n elements with strides ds and ss in bytes. `at` does the same at
 * at[i] * step bytes behind dst. */
typedef struct Combine {
	void (*run)(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss);
	void (*at)(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss, const int64_t *at, int64_t step);
} Combine;
/* Returns the functions of an operation. Null for SCATTER_SET, and if the dtype lacks the operation. Sums and products
 * of 16-bit floats work on floats. */
const Combine *combine_of(int op, int dtype);
const Combine *set_of(int64_t bytes);                  /* SCATTER_SET for elements of this size */
/* Tensors that a combination works on. They are dst and src themselves, or float copies for sums and products of 16-bit
 * floats, so that these are rounded once. rounded: tensor to which combined_end copies dst, or null if there are no
 * copies. */
typedef struct Combined { RtTensor *dst, *src, *rounded; } Combined;
int combined_begin(RtCx *, Combined *, int op, RtTensor *dst, RtTensor *src);
int combined_end(RtCx *, const Combined *);
void combine_block(const Combine *, const BlockPair *, char *dst, const char *src);
/* A function that copies n elements to d. Element i is read at[i] * step bytes behind s. */
typedef void Take(int64_t n, char *d, int64_t ds, const char *s, int64_t ss, const int64_t *at, int64_t step);
Take *take_of(int64_t bytes);

/* A walk over all positions of some dims. off[i] is the offset in bytes in the i-th tensor of walk_follow. */
enum { WALK_MAX = 3 };
typedef struct Walk {
	int     n, m;                       /* number of dims; number of tensors followed */
	int64_t dims[RT_MAX_RANK], at[RT_MAX_RANK];
	int64_t step[WALK_MAX][RT_MAX_RANK];    /* strides in bytes */
	int64_t off[WALK_MAX];
} Walk;
void walk_begin(Walk *, int n, const int64_t *dims);
/* Adds a tensor to the walk, by the strides of its first n dims. `without` is a dim whose stride counts as 0; -1 for no
 * dim. */
void walk_follow(Walk *, const RtTensor *t, int without);
bool walk_next(Walk *);                                /* returns false after the last position */

/* Returns a contiguous temporary with t broadcast to dims. Null if t does not fit, without raising an error, or if
 * memory is exhausted. */
RtTensor *expanded(RtCx *, RtTensor *t, int n, const int64_t *dims);
/* Returns the indices of t's nonzero elements: (n, ndim), or (ndim, n) with by_dim. */
RtTensor *nonzero_rows(RtCx *, RtTensor *t, bool by_dim);
/* Returns a new result with self's elements. With `keep`, it has self's strides, as clone has; otherwise it is
 * contiguous. */
RtTensor *result_copy(RtCx *, RtTensor *self, bool keep, IValue *out);
/* Checks dst if it is in[0], the target of an in-place operator. Raises an error if it overlaps itself or one of the
 * tensors in[1 .. n). */
int check_target(RtCx *, const IValue *in, const RtTensor *dst, int n);

/* ---- scatter.c: reductions of index_reduce and scatter_reduce ---- */

typedef struct Reduction { int op; bool mean, include_self; } Reduction;
int reduction_of(RtCx *, IValue name, IValue include_self, Reduction *);
/* Raises an error for a minimum or maximum of complex numbers. The error names kernel and reduction. */
int check_ordered(RtCx *, const Reduction *, const RtTensor *dst, const char *kernel, const char *reduction);
/* Reduces src's elements into dst[.. index ..]. index has src's dims. */
int reduce_into(RtCx *, RtTensor *dst, int dim, RtTensor *index, RtTensor *src, const Reduction *);

/* Returns a size of a tensor. A 0-d tensor counts as 1-d. */
static inline int64_t
size_at(const RtTensor *t, int d)
{
	return t->ndim ? t->dims[d] : 1;
}

/* BOTH_FORMS(id, id of the in-place operator, keep, write) defines both kernels. write(cx, in, dst) checks and, unless
 * cx->meta, changes dst, which has self's elements. It must call check_target where ATen checks for overlap. */
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
