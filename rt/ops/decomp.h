/* rt/ops/decomp.h - stacks of matrices as arrays of complex doubles: decomp.c, spectral.c, eigen.c, singular.c
 *
 * All of float, double and their complex types are computed in complex double: real matrices stay real, and results are
 * rounded once at the end.
 */
#ifndef RT_OPS_DECOMP_H
#define RT_OPS_DECOMP_H

#include "block.h"

#ifdef __TINYC__
#error tcc has no complex numbers, which linear algebra and FFT are computed in
#endif
#include <complex.h>
#include <math.h>
#include <string.h>

typedef double complex Z;

/* Into loops that are compiled for speed */
#define Z_INLINE static inline __attribute__((always_inline))

/* The product without C's care for infinities, which costs a call. */
Z_INLINE Z
mul(Z a, Z b)
{
	union { double v[2]; Z z; } r = {
		{ creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b) }
	};

	return r.z;
}

Z_INLINE double
norm2(Z a)
{
	return creal(a) * creal(a) + cimag(a) * cimag(a);
}

/* a -= by b, of n neighbours.  A real factor leaves the parts apart: they go in vectors. */
Z_INLINE void
row_minus(Z *restrict a, Z by, const Z *restrict b, int64_t n)
{
	double *x = (double *)a;
	const double *y = (const double *)b, f = creal(by);

	for (int64_t k = 0; k < 2 * n && cimag(by) == 0; k++)
		x[k] -= f * y[k];
	for (int64_t k = 0; k < n && cimag(by) != 0; k++)
		a[k] -= mul(by, b[k]);
}

/* count matrices of (m, n), row-major, one after the other. */
typedef struct Stack {
	int64_t count, m, n;
	int      nbatch;
	int64_t  batch[RT_MAX_RANK];     /* product: count */
	Z       *v;                      /* null while cx->meta */
} Stack;

/* The last two dims of t are the matrix; v is a copy that may be written to. */
int stack_load(RtCx *, const char *name, RtTensor *t, Stack *);
int stack_square(RtCx *, const char *name, RtTensor *t, Stack *);
/* scratch for so many matrices; null, and raised: too many */
Z  *stack_room(RtCx *, int64_t count, int64_t m, int64_t n);
/* Room for a stack with this one's batch dims; zeroed. */
int stack_new(RtCx *, const Stack *like, int64_t m, int64_t n, Stack *);
/* Result i: the batch dims, then `rank` (0 .. 2) of (m, n) of the stack; real dtypes take the real parts. */
int stack_give(RtCx *, int i, RtDtype, const Stack *, int rank, IValue *out); /* columns first, as LAPACK leaves them */
int stack_give_rows(RtCx *, int i, RtDtype, const Stack *, IValue *out);
int stack_give_empty(RtCx *, int i, RtDtype, IValue *out);
/* Result i: v as int32, `each` for a matrix (less than 0: one, without a dim of its own). */
int stack_give_ints(RtCx *, int i, const Stack *, int64_t each, const int64_t *v, IValue *out);
int64_t *stack_ints(RtCx *, int64_t n);                  /* scratch, zeroed */
/* Raises the error that LAPACK's info of one of the matrices means. */
int stack_check_info(RtCx *, const char *name, const Stack *, const int64_t *info);
/* a and b with batch dims broadcast to each other; b is a stack of (n, k), of (k, n) when !left, or of vectors. */
int stack_load_pair(RtCx *, const char *name, RtTensor *ta, RtTensor *tb, bool left, Stack *a, Stack *b);
void stack_swap_rows(Z *a, int64_t n, int64_t i, int64_t j);

/* factor.c: the reflection 1 - tau v v* times the n by k block at b, rows ld apart; v: n elements `step` apart, the
 * first of which counts as 1 whatever it is. */
void apply_reflection(const Z *v, int64_t step, int64_t n, Z tau, Z *b, int64_t k, int64_t ld);

/* eigen.c: eigenvalues and vectors (as columns) of a real matrix in a; single: that was of floats. */
int eig_real(RtCx *, bool single, const Z *a, int64_t n, Z *w, Z *v, bool *converged);

/* hermitian.c: w ascending, v (or null) the vectors as columns, of a Hermitian matrix, which is overwritten; upper: by
 * the algorithm for the upper triangle, on which signs depend, though all of a is filled. */
int eig_hermitian(RtCx *, bool single, Z *a, int64_t n, bool upper, double *w, Z *v, bool *converged);

/* hermitian.c: the rotation that takes (f, g) to (r, 0), which is returned. */
double givens(double f, double g, double *c, double *s);
/* A power of two that brings count numbers to where squares neither vanish nor overflow; mostly 0. */
int scale_of(const Z *a, int64_t count);

#endif
