/* rt/ops/hermitian.c - eigenvalues and eigenvectors of Hermitian matrices
 *
 * The algorithm is LAPACK's dsyev and zheev, because the signs (and phases) of vectors depend on it. Reflections make
 * the matrix real and tridiagonal, from the first column for the lower triangle, from the last column for the upper
 * one. Implicit QL steps with Wilkinson's shift make it diagonal, or QR steps if the larger end of a block is its
 * first. Eigenvalues are sorted by selection. Rows and columns count from 0. Golub and Van Loan, Matrix Computations,
 * 8.3.
 */
#include "decomp.h"

#include <float.h>

enum { STEPS = 30 };             /* largest number of steps, divided by n */

typedef struct Tridiagonal {
	int64_t n;
	double *d, *e;           /* the diagonal; the subdiagonal */
	double *z;               /* (n, n): row i is a vector; null if vectors are not requested */
	/* epsilon and smallest normal number of the matrix's original type, on which the number of steps depends */
	double ulp, least;
} Tridiagonal;

/* ---- reduction --------------------------------------------------------------------------------------------------- */

/* Computes the reflection 1 - tau v v* of x (n elements, `step` apart; element `head` first) that maps it to a real
 * multiple of the head's unit vector. Returns the multiple. x becomes v. */
static double
reflect_to_head(Z *x, int64_t n, int64_t step, int64_t head, Z *tau)
{
	Z alpha = x[head * step];
	double rest = 0, beta;

	for (int64_t i = 0; i < n; i++)
		if (i != head)
			rest += norm2(x[i * step]);
	if (rest == 0 && cimag(alpha) == 0) {
		*tau = 0;
		return creal(alpha);
	}
	beta = -copysign(sqrt(norm2(alpha) + rest), creal(alpha));
	*tau = (beta - conj(alpha)) / beta;
	*tau = conj(*tau);
	for (int64_t i = 0; i < n; i++)
		x[i * step] = i == head ? 1 : x[i * step] / (alpha - beta);
	return beta;
}

/* Subtracts v w* + w v* from the n by n block at a, whose rows are ld apart. This applies the reflection from both
 * sides. */
static void
change(Z *a, int64_t ld, Reflection r, Z *w)
{
	const int64_t n = r.n, step = r.step;
	const Z *v = r.v, tau = r.tau;
	Z dot = 0;

	for (int64_t i = 0; i < n; i++) {
		w[i] = 0;
		for (int64_t j = 0; j < n; j++)
			w[i] += mul(a[i * ld + j], v[j * step]);
		w[i] = mul(tau, w[i]);
		dot += mul(conj(w[i]), v[i * step]);
	}
	dot = mul(tau, dot) * -0.5;
	for (int64_t i = 0; i < n; i++)
		w[i] += mul(dot, v[i * step]);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			a[i * ld + j] -= mul(v[i * step], conj(w[j])) + mul(w[i], conj(v[j * step]));
}

/* Reduces a to t's d and e. The reflections are stored in a's columns: below the diagonal, or above it if `upper`. */
static void
tridiagonalise(Z *a, bool upper, Tridiagonal *t, Z *tau, Z *w)
{
	const int64_t n = t->n;

	for (int64_t k = 0; k + 1 < n; k++) {
		int64_t i = upper ? n - 2 - k : k, m = upper ? i + 1 : n - 1 - i;
		Z *x = upper ? a + i + 1 : a + (i + 1) * n + i;
		t->e[i] = reflect_to_head(x, m, n, upper ? i : 0, &tau[i]);
		if (tau[i] != 0)
			change(upper ? a : a + (i + 1) * (n + 1), n, (Reflection){ x, n, m, tau[i] }, w);
	}
	for (int64_t i = 0; i < n; i++)
		t->d[i] = creal(a[i * (n + 1)]);
}

/* Multiplies v (n, n) by the product of the reflections from the left. */
static void
reflect_back(const Z *a, int64_t n, bool upper, const Z *tau, Z *v)
{
	for (int64_t k = 0; k + 1 < n; k++) {
		int64_t i = upper ? k : n - 2 - k, m = upper ? i + 1 : n - 1 - i;
		const Z *x = upper ? a + i + 1 : a + (i + 1) * n + i;
		Z *to = upper ? v : v + (i + 1) * n;
		for (int64_t j = 0; j < n && tau[i] != 0; j++) {
			Z dot = 0;
			for (int64_t r = 0; r < m; r++)
				dot += mul(conj(x[r * n]), to[r * n + j]);
			dot = mul(tau[i], dot);
			for (int64_t r = 0; r < m; r++)
				to[r * n + j] -= mul(x[r * n], dot);
		}
	}
}

/* ---- tridiagonal ------------------------------------------------------------------------------------------------- */

double
givens(double f, double g, double *c, double *s)
{
	double r;

	if (g == 0) {
		*c = 1, *s = 0;
		return f;
	}
	if (f == 0) {
		*c = 0, *s = copysign(1, g);
		return fabs(g);
	}
	r = copysign(hypot(f, g), f);
	*c = fabs(f) / fabs(r);
	*s = g / r;
	return r;
}

static void
turn(Tridiagonal *t, int64_t j, double c, double s)
{
	double *x = t->z + j * t->n, *y = x + t->n;

	for (int64_t i = 0; i < t->n; i++) {
		double v = y[i];
		y[i] = c * v - s * x[i];
		x[i] = s * v + c * x[i];
	}
}

/* Diagonalizes rows i and i + 1. The eigenvalue of larger magnitude becomes the first one, and (cs, sn) is its
 * vector. */
static void
two_by_two(Tridiagonal *m, int64_t i, double *cs, double *sn)
{
	const double a = m->d[i], b = m->e[i], c = m->d[i + 1];
	double *first = &m->d[i], *second = &m->d[i + 1];
	double sum = a + c, gap = a - c, twice = 2 * b, root = hypot(gap, twice);
	double big = fabs(a) > fabs(c) ? a : c, small = fabs(a) > fabs(c) ? c : a, x, t;
	int side = sum < 0 ? -1 : 1, other = gap >= 0 ? 1 : -1;

	*first = sum == 0 ? root / 2 : (sum + side * root) / 2;
	*second = sum == 0 ? -root / 2 : big / *first * small - b / *first * b;
	m->e[i] = 0;
	x = gap + other * root;
	if (fabs(x) > fabs(twice)) {
		t = -twice / x;
		*sn = 1 / sqrt(1 + t * t);
		*cs = t * *sn;
	} else if (twice == 0) {
		*cs = 1, *sn = 0;
	} else {
		t = -x / twice;
		*cs = 1 / sqrt(1 + t * t);
		*sn = t * *cs;
	}
	if (side == other) {
		t = *cs;
		*cs = -*sn;
		*sn = t;
	}
}

static bool
negligible(const Tridiagonal *t, int64_t i)
{
	return t->e[i] * t->e[i] <= t->ulp * t->ulp * fabs(t->d[i]) * fabs(t->d[i + 1]) + t->least;
}

/* Applies one implicit step to block l .. m, towards l. down is -1 if m > l (QL), 1 if m < l (QR). */
static void
implicit_step(Tridiagonal *t, int64_t l, int64_t m)
{
	/* The element of e between i and i - down is e[i + off]. */
	const int64_t down = m > l ? -1 : 1, off = m > l ? 0 : -1;
	double *d = t->d, *e = t->e, p = d[l], g = (d[l - down] - p) / (2 * e[l + off]), s = 1, c = 1;

	g = d[m] - p + e[l + off] / (g + copysign(hypot(g, 1), g));
	p = 0;
	for (int64_t i = m + down; i != l + down; i += down) {       /* rotates i - down and i */
		double *between = &e[down < 0 ? i : i - 1], f = s * *between, b = c * *between,
		       r = givens(g, f, &c, &s);
		if (i != m + down)
			e[down < 0 ? i + 1 : i - 2] = r;
		g = d[i - down] - p;
		r = (d[i] - g) * s + 2 * c * b;
		p = s * r;
		d[i - down] = g + p;
		g = c * r - b;
		if (t->z)
			turn(t, down < 0 ? i : i - 1, c, down < 0 ? -s : s);
	}
	d[l] -= p;
	e[l + off] = g;
}

/* Diagonalizes the block from l to `end`. l is its smaller end. Returns false after too many steps. */
static bool
diagonalise(Tridiagonal *t, int64_t l, int64_t end, int64_t *steps)
{
	const int64_t up = end > l ? 1 : -1;

	while (up > 0 ? l <= end : l >= end) {
		int64_t m = l, low;
		while (m != end && !negligible(t, up > 0 ? m : m - 1))
			m += up;
		if (m != end)
			t->e[up > 0 ? m : m - 1] = 0;
		if (m == l) {
			l += up;
			continue;
		}
		if (m == l + up) {
			double c, s;
			low = up > 0 ? l : m;
			two_by_two(t, low, &c, &s);
			if (t->z)
				turn(t, low, c, s);
			l += 2 * up;
			continue;
		}
		if (--*steps < 0)
			return false;
		implicit_step(t, l, m);
	}
	return true;
}

static bool
solve_tridiagonal(Tridiagonal *t)
{
	int64_t steps = STEPS * t->n;

	for (int64_t from = 0, to; from < t->n; from = to + 1) {
		for (to = from; to + 1 < t->n; to++)
			if (fabs(t->e[to]) <= sqrt(fabs(t->d[to])) * sqrt(fabs(t->d[to + 1])) * t->ulp) {
				t->e[to] = 0;
				break;
			}
		if (to > from && !(fabs(t->d[to]) < fabs(t->d[from]) ? diagonalise(t, to, from, &steps)
				: diagonalise(t, from, to, &steps)))
			return false;
	}
	return true;
}

static void
sort(Tridiagonal *t)
{
	for (int64_t i = 0; i < t->n; i++) {
		int64_t least = i;
		double v;
		for (int64_t j = i + 1; j < t->n; j++)
			if (t->d[j] < t->d[least])
				least = j;
		v = t->d[i], t->d[i] = t->d[least], t->d[least] = v;
		for (int64_t j = 0; t->z && least != i && j < t->n; j++) {
			v = t->z[i * t->n + j];
			t->z[i * t->n + j] = t->z[least * t->n + j];
			t->z[least * t->n + j] = v;
		}
	}
}

/* ---- whole matrices ---------------------------------------------------------------------------------------------- */

int
scale_of(const Z *a, int64_t count)
{
	double most = 0;
	int power = 0;

	for (int64_t i = 0; i < count; i++)
		most = fmax(most, fmax(fabs(creal(a[i])), fabs(cimag(a[i]))));
	if (most > 0 && isfinite(most))
		frexp(most, &power);
	return power > 300 || power < -300 ? -power : 0;
}

int
eig_hermitian(RtCx *cx, Square m, bool upper, double *w, Z *v, bool *converged)
{
	const int64_t n = m.n;
	Z *a = m.a;
	const RtMark mark = rt_scratch_mark(cx);
	double *real = rt_scratch(cx, (n + (v ? n * n : 0)) * 8 + 8);
	Z *work = real ? rt_scratch(cx, 2 * n * 16 + 16) : NULL;
	Tridiagonal t = { .n = n, .d = w, .e = real, .z = v ? real + n : NULL, .ulp = m.single ? 0x1p-24 : 0x1p-53,
		.least = m.single ? FLT_MIN : DBL_MIN };
	const int scale = scale_of(a, n * n);

	if (!work)
		return RT_ERROR;
	for (int64_t i = 0; scale && i < n * n; i++)
		a[i] *= ldexp(1, scale);
	tridiagonalise(a, upper, &t, work, work + n);
	for (int64_t i = 0; v && i < n * n; i++)
		t.z[i] = i / n == i % n;
	*converged = solve_tridiagonal(&t);
	sort(&t);
	for (int64_t i = 0; scale && i < n; i++)
		w[i] = ldexp(w[i], -scale);
	for (int64_t i = 0; v && i < n; i++)
		for (int64_t j = 0; j < n; j++)
			v[i * n + j] = t.z[j * n + i];
	if (v)
		reflect_back(a, n, upper, work, v);
	rt_scratch_reset(cx, mark);
	return RT_OK;
}
