/* rt/ops/factor.c - Cholesky, QR and LDL factorization, and solvers for the factors
 *
 * The conventions are those of LAPACK's unblocked routines, as in decomp.c.
 */
#include "decomp.h"

RT_FAST

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

/* Replaces the lower triangle of a by L and zeroes the other elements. Returns the order of the leading minor that is
 * not positive. 0 if all are positive. */
static int64_t
cholesky(Z *a, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++) {
			Z sum = a[i * n + j];
			for (int64_t k = 0; k < j; k++)
				sum -= mul(a[i * n + k], conj(a[j * n + k]));
			if (j < i)
				a[i * n + j] = sum / a[j * n + j];
			else if (!(creal(sum) > 0))
				return i + 1;
			else
				a[i * n + i] = sqrt(creal(sum));
		}
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = i + 1; j < n; j++)
			a[i * n + j] = 0;
	return 0;
}

enum { PANEL = 4, CHUNK = 8 };

/* Subtracts from rows j and below of d (whose rows have n elements), at column c, the products with the rows above j.
 * Has `rows` by `width` accumulators in registers. */
static inline __attribute__((always_inline)) void
minus_above(double *d, int64_t n, int64_t j, int64_t c, int rows, int width)
{
	double acc[PANEL][CHUNK];

	RT_UNROLL
	for (int r = 0; r < rows; r++)
		RT_UNROLL
		for (int l = 0; l < width; l++)
			acc[r][l] = d[(j + r) * n + c + l];
	for (int64_t k = 0; k < j; k++)
		RT_UNROLL
		for (int r = 0; r < rows; r++)
			RT_UNROLL
			for (int l = 0; l < width; l++)
				acc[r][l] -= d[k * n + j + r] * d[k * n + c + l];
	RT_UNROLL
	for (int r = 0; r < rows; r++)
		RT_UNROLL
		for (int l = 0; l < width; l++)
			d[(j + r) * n + c + l] = acc[r][l];
}

/* Computes the upper factor of d without reading below the diagonal, so that rows are contiguous vectors. Returns what
 * cholesky returns. */
static int64_t
upper_factor(double *d, int64_t n)
{
	for (int64_t j = 0, rows; j < n; j += rows) {
		rows = n - j < PANEL ? n - j : PANEL;
		for (int64_t c = j; c < n; c += CHUNK)
			if (rows == PANEL && n - c >= CHUNK)
				minus_above(d, n, j, c, PANEL, CHUNK);
			else
				minus_above(d, n, j, c, (int)rows, (int)(n - c < CHUNK ? n - c : CHUNK));
		for (int64_t r = j; r < j + rows; r++) {
			double *restrict row = d + r * n, root;

			for (int64_t q = j; q < r; q++)
				for (int64_t c = r; c < n; c++)
					row[c] -= d[q * n + r] * d[q * n + c];
			if (!(row[r] > 0))
				return r + 1;
			row[r] = root = sqrt(row[r]);
			for (int64_t c = r + 1; c < n; c++)
				row[c] /= root;
		}
	}
	return 0;
}

/* Does the same as cholesky for a matrix of real elements. */
static int64_t
cholesky_real(Z *a, int64_t n)
{
	double *d = (double *)a;
	int64_t bad;

	for (int64_t k = 0; k < n * n; k++)
		d[k] = creal(a[k]);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < i; j++)
			d[j * n + i] = d[i * n + j];
	bad = upper_factor(d, n);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < i; j++)
			d[i * n + j] = d[j * n + i];
	for (int64_t i = n; i-- > 0;)
		for (int64_t j = n; j-- > 0;)
			a[i * n + j] = j <= i ? d[i * n + j] : 0;
	return bad;
}

/* Replaces a by its conjugate transpose. */
static void
adjoint(Z *a, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++) {
			Z t = conj(a[i * n + j]);
			a[i * n + j] = conj(a[j * n + i]);
			a[j * n + i] = t;
		}
}

int
rt_linalg_cholesky_ex(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	bool upper = in[1].u.i;
	Stack s;
	int64_t *info;

	if (stack_square(cx, "linalg.cholesky", t, &s))
		return RT_ERROR;
	info = stack_ints(cx, s.count);
	if (!info)
		return RT_ERROR;
	for (int64_t i = 0; !cx->meta && i < s.count; i++) {
		Z *a = s.v + i * s.n * s.n;
		if (upper)
			adjoint(a, s.n);
		info[i] = (rt_is_complex((RtDtype)t->dtype) ? cholesky : cholesky_real)(a, s.n);
		if (upper)
			adjoint(a, s.n);
	}
	if (in[2].u.i && stack_check_info(cx, "linalg.cholesky", &s, info))
		return RT_ERROR;
	return stack_give(cx, 0, (RtDtype)t->dtype, &s, STACK_MATRIX, out) ||
	       stack_give_ints(cx, 1, &s, -1, info, out) ? RT_ERROR : RT_OK;
}

/* ---- QR ---------------------------------------------------------------------------------------------------------- */

/* Computes the reflection that maps x[0 .. n), `step` apart, to (beta, 0, ...). Sets x[0] to beta, and the other
 * elements to its vector v, where v[0] = 1. Returns tau. */
static Z
make_reflector(Z *x, int64_t n, int64_t step)
{
	double rest = 0, beta;
	Z alpha = n ? x[0] : 0, tau;

	for (int64_t i = 1; i < n; i++)
		rest += norm2(x[i * step]);
	if (n == 0 || (rest == 0 && cimag(alpha) == 0))
		return 0;
	beta = -copysign(sqrt(norm2(alpha) + rest), creal(alpha));
	tau = (beta - creal(alpha)) / beta - I * (cimag(alpha) / beta);
	for (int64_t i = 1; i < n; i++)
		x[i * step] /= alpha - beta;
	x[0] = beta;
	return tau;
}

void
apply_reflection(Reflection r, Z *b, int64_t k, int64_t ld)
{
	const Z *v = r.v, tau = r.tau;
	const int64_t step = r.step, n = r.n;
	enum { SOME = 64 };
	Z sum[SOME];

	for (int64_t j = 0, some; tau != 0 && j < k; j += some) {
		some = k - j < SOME ? k - j : SOME;
		for (int64_t c = 0; c < some; c++)
			sum[c] = -b[j + c];
		for (int64_t i = 1; i < n; i++)
			row_minus(sum, conj(v[i * step]), b + i * ld + j, some);
		for (int64_t c = 0; c < some; c++)
			sum[c] = -mul(tau, sum[c]);
		row_minus(b + j, 1, sum, some);
		for (int64_t i = 1; i < n; i++)
			row_minus(b + i * ld + j, v[i * step], sum, some);
	}
}

int
rt_geqrf(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Stack s, tau;
	int64_t k;

	if (stack_load(cx, "torch.geqrf", t, &s))
		return RT_ERROR;
	k = s.m < s.n ? s.m : s.n;
	if (stack_new(cx, &s, k, 1, &tau))
		return RT_ERROR;
	for (int64_t b = 0; !cx->meta && b < s.count; b++) {
		Z *a = s.v + b * s.m * s.n;
		for (int64_t i = 0; i < k; i++) {
			Z *at = a + i * (s.n + 1);
			tau.v[b * k + i] = make_reflector(at, s.m - i, s.n);
			apply_reflection((Reflection){ at, s.n, s.m - i, conj(tau.v[b * k + i]) }, at + 1, s.n - i - 1,
					 s.n);
		}
	}
	return stack_give(cx, 0, (RtDtype)t->dtype, &s, STACK_MATRIX, out) ||
	       stack_give(cx, 1, (RtDtype)t->dtype, &tau, STACK_VECTOR, out) ? RT_ERROR : RT_OK;
}

/* Computes the first n columns of the product of the reflections in a. */
int
rt_linalg_householder_product(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *tt = in[1].u.t;
	Stack s, q;
	int64_t k;
	const Z *tau;

	if (stack_load(cx, "torch.linalg.householder_product", t, &s))
		return RT_ERROR;
	if (s.n > s.m)
		return rt_raise(cx, "torch.linalg.householder_product: input.shape[-2] must be greater than or equal "
			"to input.shape[-1]");
	if (tt->ndim != t->ndim - 1 || tt->dims[tt->ndim - 1] > s.n ||
	    memcmp(tt->dims, t->dims, sizeof *t->dims * s.nbatch))
		return rt_raise(cx, "torch.linalg.householder_product: input.shape[-1] must be greater than or equal "
			"to tau.shape[-1]");
	if (tt->dtype != t->dtype)
		return rt_raise(cx, "torch.linalg.householder_product: tau dtype %s does not match input dtype %s",
				rt_dtypes[tt->dtype].brief, rt_dtypes[t->dtype].brief);
	k = tt->dims[tt->ndim - 1];
	tt = dense_as(cx, tt, RT_c128);
	if (!tt || stack_new(cx, &s, s.m, s.n, &q))
		return RT_ERROR;
	tau = cx->meta ? NULL : (const Z *)(const void *)rt_data(tt);
	for (int64_t b = 0; !cx->meta && b < s.count; b++) {
		Z *r = q.v + b * s.m * s.n;
		for (int64_t i = 0; i < s.n; i++)
			r[i * s.n + i] = 1;
		for (int64_t i = k; i-- > 0;)
			apply_reflection((Reflection){ s.v + b * s.m * s.n + i * (s.n + 1), s.n, s.m - i,
				tau[b * k + i] }, r + i * (s.n + 1), s.n - i, s.n);
	}
	return stack_give(cx, 0, (RtDtype)t->dtype, &q, STACK_MATRIX, out);
}

/* ---- LDL: Bunch and Kaufman's pivoting, in the lower triangle ---------------------------------------------------- */

static Z
flipped(Z v, bool hermitian)
{
	return hermitian ? conj(v) : v;
}

static double
size1(Z v)
{
	return fabs(creal(v)) + fabs(cimag(v));
}

/* Exchanges rows and columns p and q > p of a symmetric matrix. a contains its lower triangle from column k on. */
static void
exchange(Z *a, int64_t n, int64_t p, int64_t q, bool hermitian)
{
	Z t;

	if (p == q)
		return;
	for (int64_t i = q + 1; i < n; i++)
		t = a[i * n + p], a[i * n + p] = a[i * n + q], a[i * n + q] = t;
	for (int64_t i = p + 1; i < q; i++) {
		t = a[i * n + p];
		a[i * n + p] = flipped(a[q * n + i], hermitian);
		a[q * n + i] = flipped(t, hermitian);
	}
	a[q * n + p] = flipped(a[q * n + p], hermitian);
	t = a[p * n + p], a[p * n + p] = a[q * n + q], a[q * n + q] = t;
}

/* Chooses the pivot of column k by Bunch and Kaufman's rule. Returns the row to exchange with the last row of the
 * block. Sets *step to the size of the block, 1 or 2; 0 if the column is zero. */
static int64_t
ldl_pivot(const Z *a, int64_t n, int64_t k, int64_t *step)
{
	const double alpha = (1 + sqrt(17.0)) / 8, diagonal = size1(a[k * n + k]);
	double column = 0, row = 0;
	int64_t most = k;

	*step = 1;
	for (int64_t i = k + 1; i < n; i++)
		if (size1(a[i * n + k]) > column) {
			column = size1(a[i * n + k]);
			most = i;
		}
	if (diagonal == 0 && column == 0)
		*step = 0;
	if (!(diagonal < alpha * column))                    /* also true for NaN, which stays in place */
		return k;
	for (int64_t j = k; j < most; j++)
		row = fmax(row, size1(a[most * n + j]));
	for (int64_t i = most + 1; i < n; i++)
		row = fmax(row, size1(a[i * n + most]));
	if (diagonal >= alpha * column * (column / row))
		return k;
	*step = size1(a[most * n + most]) >= alpha * row ? 1 : 2;
	return most;
}

static void
ldl_by_one(Z *a, int64_t n, int64_t k, bool hermitian)
{
	const Z d = hermitian ? creal(a[k * n + k]) : a[k * n + k];

	for (int64_t j = k + 1; j < n; j++) {
		const Z by = flipped(a[j * n + k], hermitian) / d;

		for (int64_t i = j; i < n; i++)
			a[i * n + j] -= mul(a[i * n + k], by);
	}
	for (int64_t i = k + 1; i < n; i++)
		a[i * n + k] /= d;
}

static void
ldl_by_two(Z *a, int64_t n, int64_t k, bool hermitian)
{
	const Z d11 = a[k * n + k], d21 = a[(k + 1) * n + k], d22 = a[(k + 1) * n + k + 1];
	const Z det2 = mul(d11, d22) - mul(d21, flipped(d21, hermitian));

	for (int64_t j = k + 2; j < n; j++) {
		/* w is row j times the inverse of the 2 by 2 block. */
		const Z x = a[j * n + k], y = a[j * n + k + 1];
		const Z w0 = (mul(x, d22) - mul(y, d21)) / det2,
			w1 = (mul(y, d11) - mul(x, flipped(d21, hermitian))) / det2;

		for (int64_t i = j; i < n; i++)
			a[i * n + j] -= mul(a[i * n + k], flipped(w0, hermitian)) +
					mul(a[i * n + k + 1], flipped(w1, hermitian));
		a[j * n + k] = w0;
		a[j * n + k + 1] = w1;
	}
}

static void
ldl(Z *a, int64_t n, bool hermitian, int64_t *pivot)
{
	for (int64_t k = 0, step; k < n; k += step ? step : 1) {
		const int64_t with = ldl_pivot(a, n, k, &step);

		exchange(a, n, step == 2 ? k + 1 : k, with, hermitian);
		pivot[k] = step == 2 ? -(with + 1) : with + 1;
		if (step == 1)
			ldl_by_one(a, n, k, hermitian);
		if (step != 2)
			continue;
		if (with != k + 1) {
			const Z t = a[(k + 1) * n + k];

			a[(k + 1) * n + k] = a[with * n + k];
			a[with * n + k] = t;
		}
		pivot[k + 1] = -(with + 1);
		ldl_by_two(a, n, k, hermitian);
	}
}

int
rt_linalg_ldl_factor_ex(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Stack s;
	int64_t *pivot, *info;

	if (stack_square(cx, "torch.linalg.ldl_factor_ex", t, &s))
		return RT_ERROR;
	pivot = stack_ints(cx, s.count * s.n);
	info = pivot ? stack_ints(cx, s.count) : NULL;
	if (!info)
		return RT_ERROR;
	for (int64_t b = 0; !cx->meta && b < s.count; b++) {
		Z *a = s.v + b * s.n * s.n;
		ldl(a, s.n, in[1].u.i, pivot + b * s.n);
		for (int64_t i = 0; i < s.n; i++)
			for (int64_t j = i + 1; j < s.n; j++)
				a[i * s.n + j] = 0;
	}
	return stack_give(cx, 0, (RtDtype)t->dtype, &s, STACK_MATRIX, out)
		|| stack_give_ints(cx, 1, &s, s.n, pivot, out)
		|| stack_give_ints(cx, 2, &s, -1, info, out) ? RT_ERROR : RT_OK;
}

/* Replaces b by the inverse of P L D L' P' times b. Exchanges are interleaved with the columns of L. */
static void
ldl_solve(const Z *a, int64_t n, const int64_t *pivot, bool hermitian, Z *b, int64_t c)
{
	for (int64_t k = 0, step; k < n; k += step) {
		int64_t with = (pivot[k] < 0 ? -pivot[k] : pivot[k]) - 1;
		step = pivot[k] < 0 ? 2 : 1;
		stack_swap_rows(b, c, k + step - 1, with);
		for (int64_t i = k + step; i < n; i++)
			for (int64_t s = 0; s < step; s++)
				for (int64_t j = 0; j < c; j++)
					b[i * c + j] -= mul(a[i * n + k + s], b[(k + s) * c + j]);
		for (int64_t j = 0; j < c; j++) {
			Z *x = b + k * c + j, *y = x + c, d11 = a[k * n + k], d21, d22, det2, t;
			if (step == 1) {
				*x /= hermitian ? creal(d11) : d11;
				continue;
			}
			d21 = a[(k + 1) * n + k];
			d22 = a[(k + 1) * n + k + 1];
			det2 = mul(d11, d22) - mul(d21, flipped(d21, hermitian));
			t = (mul(d22, *x) - mul(flipped(d21, hermitian), *y)) / det2;
			*y = (mul(d11, *y) - mul(d21, *x)) / det2;
			*x = t;
		}
	}
	for (int64_t k = n; k-- > 0;) {
		int64_t step = pivot[k] < 0 ? 2 : 1, with = (pivot[k] < 0 ? -pivot[k] : pivot[k]) - 1, last = k;
		k -= step - 1;
		for (int64_t i = last + 1; i < n; i++)
			for (int64_t s = k; s <= last; s++)
				for (int64_t j = 0; j < c; j++)
					b[s * c + j] -= mul(flipped(a[i * n + s], hermitian), b[i * c + j]);
		stack_swap_rows(b, c, last, with);
	}
}

int
rt_linalg_ldl_solve(RtCx *cx, const IValue *in, IValue *out)
{
	Equation e = { .name = "torch.linalg.ldl_solve", .left = true };
	const Stack *f = &e.a, *b = &e.b;
	RtTensor *pivots = in[1].u.t, *full;
	int64_t *pivot, dims[RT_MAX_RANK];

	if (equation_load(cx, in[0].u.t, in[2].u.t, &e))
		return RT_ERROR;
	if (pivots->ndim < 1 || pivots->dims[pivots->ndim - 1] != f->n ||
	    !rt_is_integral((RtDtype)pivots->dtype, false))
		return rt_raise(cx, "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same");
	memcpy(dims, f->batch, sizeof *dims * f->nbatch);
	dims[f->nbatch] = f->n;
	full = temp_new(cx, RT_i64, f->nbatch + 1, dims);
	if (!full || (!cx->meta && rt_copy_into(cx, full, pivots)))
		return RT_ERROR;
	pivot = cx->meta ? NULL : (int64_t *)(void *)rt_data(full);
	for (int64_t i = 0; !cx->meta && i < f->count; i++) {
		for (int64_t k = 0; k < f->n; k++) {
			int64_t p = pivot[i * f->n + k];
			if (p == 0 || p > f->n || p < -f->n ||
			    (p < 0 && k + 1 == f->n && (k == 0 || pivot[i * f->n + k - 1] > 0)))
				return rt_raise(cx, "torch.linalg.ldl_solve: a pivot is out of range");
		}
		ldl_solve(f->v + i * f->n * f->n, f->n, pivot + i * f->n, in[3].u.i, b->v + i * b->m * b->n, b->n);
	}
	return stack_give(cx, 0, (RtDtype)in[2].u.t->dtype, b, STACK_MATRIX, out);
}
