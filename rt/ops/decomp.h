/* rt/ops/decomp.h - stacks of matrices as arrays of complex doubles: decomp.c, spectral.c, eigen.c, singular.c
 *
 * Float, double and their complex types are all computed in complex double. Real matrices stay real. Results are
 * rounded once, at the end. */
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

/* Inlines a function in loops that are compiled for speed. */
#define Z_INLINE static inline __attribute__((always_inline))

/* Multiplies without C's rules for infinities, which need a function call. */
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

/* Subtracts by * b from n consecutive elements of a. If the factor is real, the loop is over real parts, and
 * vectorizes. */
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

/* A stack of `count` contiguous row-major matrices (m, n). */
typedef struct Stack {
	int64_t count, m, n;
	int      nbatch;
	int64_t  batch[RT_MAX_RANK];     /* batch dims; their product is count */
	Z       *v;                      /* the elements; null while cx->meta */
} Stack;

/* Loads t, whose last two dims are the matrix. v is a copy that may be written to. */
int stack_load(RtCx *, const char *name, RtTensor *t, Stack *);
/* Computes the results for a dtype that ATen's kernel of this name lacks: those of floats, cast. Raises an error if
 * in[0] has elements. */
int stack_empty(RtCx *, const RtCall *, const char *name, const IValue *in, IValue *out);
int stack_square(RtCx *, const char *name, RtTensor *t, Stack *);
/* Returns scratch memory for `count` matrices (m, n). Null, with an error raised, if they are too large. */
Z  *stack_room(RtCx *, int64_t count, int64_t m, int64_t n);
/* Makes a zeroed stack with the batch dims of `like`. */
int stack_new(RtCx *, const Stack *like, int64_t m, int64_t n, Stack *);
/* Dims of a result that stand for (m, n): none; (m); (m, n) in column-major order, as in LAPACK; (m, n) in row-major
 * order. */
typedef enum StackForm { STACK_NUMBER, STACK_VECTOR, STACK_MATRIX, STACK_ROWS } StackForm;

/* Stores result i: the batch dims, then the dims of the form. A real dtype gets the real parts. */
int stack_give(RtCx *, int i, RtDtype, const Stack *, StackForm, IValue *out);
/* Stores an empty result i, of size (0). */
int stack_give_empty(RtCx *, int i, RtDtype, IValue *out);
/* Stores v as int32 in result i, with `each` numbers for a matrix. If each is negative, with one number and no dim for
 * it. */
int stack_give_ints(RtCx *, int i, const Stack *, int64_t each, const int64_t *v, IValue *out);
int64_t *stack_ints(RtCx *, int64_t n);                  /* returns zeroed scratch memory */
/* Raises the error of the first matrix whose `info`, in LAPACK's sense, is not 0. */
int stack_check_info(RtCx *, const char *name, const Stack *, const int64_t *info);

typedef struct Equation {
	const char *name;                /* name of the operator, for errors */
	bool        left;                /* whether the equation is A X = B; otherwise it is X A = B */
	Stack       a, b;                /* A is (n, n); B is (n, k), or (k, n) if `left` is false */
} Equation;

/* Loads a and b with their batch dims broadcast to each other. The caller sets name and left. Raises an error if the
 * dims do not fit. */
int equation_load(RtCx *, RtTensor *ta, RtTensor *tb, Equation *);
void stack_swap_rows(Z *a, int64_t n, int64_t i, int64_t j);

typedef struct Reflection {              /* The reflection 1 - tau v v*. */
	const Z *v;                      /* n elements, `step` apart */
	int64_t  step, n;
	Z        tau;
} Reflection;

/* factor.c: multiplies the n by k block at b, with row stride ld, by the reflection. v[0] counts as 1. */
void apply_reflection(Reflection, Z *b, int64_t k, int64_t ld);

typedef struct Square {                  /* A row-major matrix (n, n). */
	Z      *a;
	int64_t n;
	bool    single;    /* whether it was converted from float; then iterations converge to float's precision */
} Square;

/* eigen.c: computes the eigenvalues w and the vectors v (as columns) of a real matrix. */
int eig_real(RtCx *, Square, Z *w, Z *v, bool *converged);

/* hermitian.c: computes the eigenvalues w, ascending, and the vectors v (as columns; may be null) of a Hermitian
 * matrix, which is overwritten. `upper` selects the algorithm for the upper triangle, on which signs depend. All of a
 * must be set in both cases. */
int eig_hermitian(RtCx *, Square, bool upper, double *w, Z *v, bool *converged);

/* hermitian.c: computes the rotation (c, s) that maps (f, g) to (r, 0), and returns r. */
double givens(double f, double g, double *c, double *s);
/* Returns the exponent of a power of two by which `count` numbers are scaled, so that their squares do not under- or
 * overflow. */
int scale_of(const Z *a, int64_t count);

#endif
