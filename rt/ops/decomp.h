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
/* What a stack's (m, n) is in a result: nothing, (m), or (m, n) with columns first, as LAPACK leaves them, or rows. */
typedef enum StackForm { STACK_NUMBER, STACK_VECTOR, STACK_MATRIX, STACK_ROWS } StackForm;

/* Result i: the batch dims, then those of the form; real dtypes take the real parts. */
int stack_give(RtCx *, int i, RtDtype, const Stack *, StackForm, IValue *out);
/* Result i: of size (0) */
int stack_give_empty(RtCx *, int i, RtDtype, IValue *out);
/* Result i: v as int32, `each` for a matrix (less than 0: one, without a dim of its own). */
int stack_give_ints(RtCx *, int i, const Stack *, int64_t each, const int64_t *v, IValue *out);
int64_t *stack_ints(RtCx *, int64_t n);                  /* scratch, zeroed */
/* Raises the error that LAPACK's info of one of the matrices means. */
int stack_check_info(RtCx *, const char *name, const Stack *, const int64_t *info);

typedef struct Equation {
	const char *name;                /* of the operator, for errors */
	bool        left;                /* A X = B; or X A = B */
	Stack       a, b;                /* (n, n); (n, k), or (k, n) when !left */
} Equation;

/* Loads a and b, their batch dims broadcast to each other; name and left are given.  Raises an error when
 * they do not fit. */
int equation_load(RtCx *, RtTensor *ta, RtTensor *tb, Equation *);
void stack_swap_rows(Z *a, int64_t n, int64_t i, int64_t j);

typedef struct Reflection {              /* 1 - tau v v* */
	const Z *v;                      /* n elements, `step` apart */
	int64_t  step, n;
	Z        tau;
} Reflection;

/* factor.c: the reflection times the n by k block at b, rows ld apart; v[0] counts as 1 whatever it is. */
void apply_reflection(Reflection, Z *b, int64_t k, int64_t ld);

typedef struct Square {                  /* a matrix (n, n), rows first */
	Z      *a;
	int64_t n;
	bool    single;                  /* made of floats: they decide when an iteration has converged */
} Square;

/* eigen.c: eigenvalues w and vectors v (as columns) of a real matrix. */
int eig_real(RtCx *, Square, Z *w, Z *v, bool *converged);

/* hermitian.c: eigenvalues w, ascending, and vectors v (as columns; or null) of a Hermitian matrix, which is
 * overwritten; upper: by the algorithm for the upper triangle, on which signs depend, though all of a is filled. */
int eig_hermitian(RtCx *, Square, bool upper, double *w, Z *v, bool *converged);

/* hermitian.c: the rotation that takes (f, g) to (r, 0), which is returned. */
double givens(double f, double g, double *c, double *s);
/* A power of two that brings count numbers to where squares neither vanish nor overflow; mostly 0. */
int scale_of(const Z *a, int64_t count);

#endif
