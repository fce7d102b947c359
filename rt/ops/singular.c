/* rt/ops/singular.c - singular values and vectors
 *
 * The algorithm is LAPACK's gesdd up to 25 columns, because signs (and phases) of vectors depend on it. A tall matrix
 * is first reduced to a triangle; a wide one is replaced by its adjoint. Reflections of columns and rows in turn make
 * it bidiagonal. Implicit QR steps make it diagonal. They go towards the smaller end of a block, without a shift if
 * that would lose accuracy. Singular values are made positive by signs in v, then sorted. LAPACK computes larger
 * matrices by divide and conquer; here they are computed in the same way as small ones. Demmel and Kahan, Accurate
 * Singular Values of Bidiagonal Matrices; Golub and Van Loan, Matrix Computations, 8.6. */
#include "decomp.h"

#include <float.h>

RT_FAST

enum { STEPS = 6 };                      /* largest number of rotations, divided by n * n */

typedef struct Bidiagonal {
	int64_t n;
	double *d, *e;                   /* the diagonal; the superdiagonal */
	double *u, *v;                   /* (n, n): row i is the left or the right vector of value i */
	double ulp, least, tolerance, tiny;
} Bidiagonal;

/* A matrix (m, n), m >= n, and its reflections: tau of columns, and of rows. right is null if there are no reflections
 * of rows. */
typedef struct Reduced { Z *a; int64_t m, n; Z *left, *right; } Reduced;

/* ---- reflections ------------------------------------------------------------------------------------------------- */

/* Computes the reflection 1 - tau v v* whose adjoint maps x (n elements, `step` apart) to (beta, 0, ...). x becomes v,
 * where v[0] = 1. Returns beta. */
static double
reflect_adjoint(Z *x, int64_t n, int64_t step, Z *tau)
{
	Z alpha = x[0];
	double rest = 0, beta;

	for (int64_t i = 1; i < n; i++)
		rest += norm2(x[i * step]);
	x[0] = 1;
	*tau = 0;
	if (rest == 0 && cimag(alpha) == 0)
		return creal(alpha);
	beta = -copysign(sqrt(norm2(alpha) + rest), creal(alpha));
	*tau = (beta - alpha) / beta;
	for (int64_t i = 1; i < n; i++)
		x[i * step] /= alpha - beta;
	return beta;
}

/* Computes column i's reflection and applies it to the part below and to the right. Returns the diagonal element. */
static double
reflect_column(Reduced *r, int64_t i)
{
	Z *at = r->a + i * (r->n + 1);
	double d = reflect_adjoint(at, r->m - i, r->n, &r->left[i]);

	apply_reflection((Reflection){ at, r->n, r->m - i, conj(r->left[i]) }, at + 1, r->n - i - 1, r->n);
	return d;
}

/* Computes the reflection of row i, right of the diagonal, and applies it to the rows below. Returns the superdiagonal
 * element. */
static double
reflect_row(Reduced *r, int64_t i)
{
	Z *at = r->a + i * (r->n + 1) + 1;
	int64_t n = r->n - i - 1;
	double e;

	for (int64_t j = 0; j < n; j++)
		at[j] = conj(at[j]);
	e = reflect_adjoint(at, n, 1, &r->right[i]);
	for (Z *row = at + r->n; row < r->a + r->m * r->n; row += r->n) {
		Z dot = 0;
		for (int64_t j = 0; j < n; j++)
			dot += mul(row[j], at[j]);
		dot = mul(r->right[i], dot);
		for (int64_t j = 0; j < n; j++)
			row[j] -= mul(dot, conj(at[j]));
	}
	return e;
}

/* Multiplies b (m, k) by the product of the columns' reflections from the left. */
static void
apply_left(const Reduced *r, Z *b, int64_t k)
{
	for (int64_t i = r->n; i-- > 0; )
		apply_reflection((Reflection){ r->a + i * (r->n + 1), r->n, r->m - i, r->left[i] }, b + i * k, k, k);
}

/* Multiplies b (n, k) by the product of the rows' reflections from the left. */
static void
apply_right(const Reduced *r, Z *b, int64_t k)
{
	for (int64_t i = r->n - 1; i-- > 0; )
		apply_reflection((Reflection){ r->a + i * (r->n + 1) + 1, 1, r->n - i - 1, r->right[i] },
				 b + (i + 1) * k, k, k);
}

/* ---- bidiagonal matrices ----------------------------------------------------------------------------------------- */

static void
turn(const Bidiagonal *b, double *rows, int64_t i, int64_t j, double c, double s)
{
	for (double *x = rows + i * b->n, *y = rows + j * b->n, *end = x + b->n; x < end; x++, y++) {
		double t = c * *x + s * *y;
		*y = c * *y - s * *x;
		*x = t;
	}
}

/* The singular values of a matrix (2, 2), with signs, and the rotations of its vectors. */
typedef struct Two { double small, large, left[2], right[2]; } Two;

/* Computes the singular values and rotations of ((f, g), (0, h)). */
static Two
two_by_two(double f, double g, double h, double ulp)
{
	Two two;
	double *small = &two.small, *large = &two.large, *left = two.left, *right = two.right;
	const bool swapped = fabs(h) > fabs(f);
	const double ft = swapped ? h : f, ht = swapped ? f : h, fa = fabs(ft), ga = fabs(g), ha = fabs(ht),
		     d = fa - ha;
	double l[2] = { 1, 0 }, r[2] = { 1, 0 }, sign;

	*small = ha, *large = fa;
	if (ga > fa && fa / ga < ulp) {
		*large = ga;
		*small = ha > 1 ? fa / (ga / ha) : fa / ga * ha;
		l[1] = ht / g;
		r[0] = ft / g, r[1] = 1;
	} else if (ga != 0) {
		double share = d == fa ? 1 : d / fa, m = g / ft, t = 2 - share, s = sqrt(t * t + m * m);
		double q = share == 0 ? fabs(m) : sqrt(share * share + m * m), a = 0.5 * (s + q);
		*small = ha / a;
		*large = fa * a;
		if (m * m != 0)
			t = (m / (s + t) + m / (q + share)) * (1 + a);
		else
			t = share == 0 ? copysign(2, ft) * copysign(1, g) : g / copysign(d, ft) + m / t;
		s = sqrt(t * t + 4);
		r[0] = 2 / s, r[1] = t / s;
		l[0] = (r[0] + r[1] * m) / a, l[1] = ht / ft * r[1] / a;
	}
	left[0] = swapped ? r[1] : l[0], left[1] = swapped ? r[0] : l[1];
	right[0] = swapped ? l[1] : r[0], right[1] = swapped ? l[0] : r[1];
	sign = ga > fa ? copysign(1, right[1]) * copysign(1, left[0]) * copysign(1, g)
		: swapped ? copysign(1, right[1]) * copysign(1, left[1]) * copysign(1, h)
		: copysign(1, right[0]) * copysign(1, left[0]) * copysign(1, f);
	*large = copysign(*large, sign);
	*small = copysign(*small, sign * copysign(1, f) * copysign(1, h));
	return two;
}

/* Returns the smaller singular value of ((f, g), (0, h)). */
static double
least_of(double f, double g, double h)
{
	double most = fmax(fabs(f), fabs(h)), least = fmin(fabs(f), fabs(h)), as, at, au;

	if (least == 0)
		return 0;
	as = 1 + least / most;
	at = (most - least) / most;
	if (fabs(g) < most) {
		au = g / most * (g / most);
		return least * (2 / (sqrt(as * as + au) + sqrt(at * at + au)));
	}
	au = most / fabs(g);
	return least * (1 / (sqrt(1 + as * au * (as * au)) + sqrt(1 + at * au * (at * au)))) * au * 2;
}

/* Returns the superdiagonal element between i and i + step. */
static double *
between(const Bidiagonal *b, int64_t i, int64_t step)
{
	return &b->e[step > 0 ? i : i - 1];
}

/* Applies one implicit step to block from .. to. With a shift of 0, it is Demmel and Kahan's step, which keeps all
 * digits. */
static void
implicit_step(Bidiagonal *b, int64_t from, int64_t to, double shift)
{
	const int64_t step = to > from ? 1 : -1;
	double *right = step > 0 ? b->v : b->u, *left = step > 0 ? b->u : b->v, *d = b->d;
	double f = (fabs(d[from]) - shift) * (copysign(1, d[from]) + shift / d[from]), g = *between(b, from, step);
	double c = 1, s = 0, lc = 1, ls = 0;

	for (int64_t i = from; i != to; i += step) {
		double *e = between(b, i, step), *next = &d[i + step], r;
		r = shift == 0 ? givens(d[i] * c, *e, &c, &s) : givens(f, g, &c, &s);
		if (i != from)
			*between(b, i - step, step) = shift == 0 ? ls * r : r;
		turn(b, right, i, i + step, c, s);
		if (shift == 0) {
			d[i] = givens(lc * r, *next * s, &lc, &ls);
		} else {
			f = c * d[i] + s * *e;
			*e = c * *e - s * d[i];
			g = s * *next;
			*next *= c;
			d[i] = givens(f, g, &lc, &ls);
			f = lc * *e + ls * *next;
			*next = lc * *next - ls * *e;
			if (i + step != to) {
				g = ls * *between(b, i + step, step);
				*between(b, i + step, step) *= lc;
			}
		}
		turn(b, left, i, i + step, lc, ls);
	}
	if (shift == 0) {
		f = d[to] * c * ls;
		d[to] = d[to] * c * lc;
	}
	*between(b, to - step, step) = fabs(f) <= b->tiny ? 0 : f;
}

/* Sets a negligible superdiagonal element of the block to zero. Returns whether there was one. Sets *least to a lower
 * bound of the block's values. */
static bool
deflated(Bidiagonal *b, int64_t from, int64_t to, double *least)
{
	const int64_t step = to > from ? 1 : -1;
	double mu = fabs(b->d[from]), *last = between(b, to - step, step);

	if (fabs(*last) <= b->tolerance * fabs(b->d[to])) {
		*last = 0;
		return true;
	}
	*least = mu;
	for (int64_t i = from; i != to; i += step) {
		double *e = between(b, i, step);
		if (fabs(*e) <= b->tolerance * mu) {
			*e = 0;
			return true;
		}
		mu = fabs(b->d[i + step]) * (mu / (mu + fabs(*e)));
		*least = fmin(*least, mu);
	}
	return false;
}

static double
shift_of(const Bidiagonal *b, int64_t from, int64_t to, double least, double most)
{
	const int64_t step = to > from ? 1 : -1;
	const double start = fabs(b->d[from]);
	double shift;

	if ((double)b->n * b->tolerance * (least / most) <= fmax(b->ulp, 0.01 * b->tolerance))
		return 0;
	shift = least_of(b->d[to - step], *between(b, to - step, step), b->d[to]);
	return start > 0 && shift / start * (shift / start) < b->ulp ? 0 : shift;
}

static void
solve_two(Bidiagonal *b, int64_t i)
{
	const Two q = two_by_two(b->d[i], b->e[i], b->d[i + 1], b->ulp);

	b->d[i] = q.large, b->d[i + 1] = q.small, b->e[i] = 0;
	turn(b, b->v, i, i + 1, q.right[0], q.right[1]);
	turn(b, b->u, i, i + 1, q.left[0], q.left[1]);
}

/* Returns the threshold below which superdiagonal elements are negligible. */
static double
tiny_of(const Bidiagonal *b)
{
	double least = fabs(b->d[0]), mu = least, n = (double)b->n;

	for (int64_t i = 1; i < b->n && least != 0; i++) {
		mu = fabs(b->d[i]) * (mu / (mu + fabs(b->e[i - 1])));
		least = fmin(least, mu);
	}
	return fmax(b->tolerance * (least / sqrt(n)), STEPS * n * n * b->least);
}

/* Makes the superdiagonal zero. Returns false after too many steps. */
static bool
diagonalise(Bidiagonal *b)
{
	int64_t end = b->n - 1, low = -1, high = -1, steps = STEPS * b->n * b->n;
	bool down = true;

	b->tiny = tiny_of(b);
	while (end > 0) {
		int64_t start = end, from, to;
		double least, most = fabs(b->d[end]);
		for (; start > 0 && fabs(b->e[start - 1]) > b->tiny; start--)
			most = fmax(most, fmax(fabs(b->d[start - 1]), fabs(b->e[start - 1])));
		if (start > 0)
			b->e[start - 1] = 0;
		if (start + 1 >= end) {
			if (start < end)
				solve_two(b, start);
			end = start - 1;
			continue;
		}
		if (start > high || end < low)    /* another block: chooses the direction towards its smaller end */
			down = fabs(b->d[start]) >= fabs(b->d[end]);
		from = down ? start : end;
		to = down ? end : start;
		if (deflated(b, from, to, &least))
			continue;
		low = start, high = end;
		if ((steps -= end - start) < 0)
			return false;
		implicit_step(b, from, to, shift_of(b, from, to, least, most));
	}
	return true;
}

static void
exchange(double *x, double *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double t = x[i];
		x[i] = y[i];
		y[i] = t;
	}
}

/* Makes the values positive and sorts them in descending order. */
static void
sort(Bidiagonal *b)
{
	const int64_t n = b->n;
	double *side = n == 1 ? b->u : b->v;

	for (int64_t i = 0; i < n; i++)
		if (b->d[i] < 0) {
			b->d[i] = -b->d[i];
			for (int64_t j = 0; j < n; j++)
				side[i * n + j] = -side[i * n + j];
		}
	for (int64_t last = n - 1; last > 0; last--) {
		int64_t least = 0;
		for (int64_t j = 1; j <= last; j++)
			if (b->d[j] <= b->d[least])
				least = j;
		if (least == last)
			continue;
		exchange(&b->d[least], &b->d[last], 1);
		exchange(b->u + least * n, b->u + last * n, n);
		exchange(b->v + least * n, b->v + last * n, n);
	}
}

/* Replaces d and e by the values, and sets u and v to the vectors. e is the subdiagonal if `lower`. Returns false after
 * too many steps. */
static bool
solve_bidiagonal(Bidiagonal *b, bool lower, double *turns)
{
	const int64_t n = b->n;

	for (int64_t i = 0; i < n * n; i++)
		b->u[i] = b->v[i] = i / n == i % n;
	for (int64_t i = 0; lower && i + 1 < n; i++) {
		double c, s;
		b->d[i] = givens(b->d[i], b->e[i], &c, &s);
		b->e[i] = s * b->d[i + 1];
		b->d[i + 1] *= c;
		turns[2 * i] = c, turns[2 * i + 1] = s;
	}
	if (!diagonalise(b))
		return false;
	sort(b);
	for (int64_t i = n - 1; lower && i-- > 0; )
		for (double *x = b->u + i, *end = x + n * n; x < end; x += n) {
			double c = turns[2 * i], s = turns[2 * i + 1], t = x[0];
			x[0] = c * t - s * x[1];
			x[1] = s * t + c * x[1];
		}
	return true;
}

/* ---- whole matrices ---------------------------------------------------------------------------------------------- */

/* Writes vectors as columns of `to` (n rows, k columns). Columns of the unit matrix follow them. */
static void
spread(const Bidiagonal *b, const double *rows, Z *to, int64_t n, int64_t k)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < k; j++)
			to[i * k + j] = i < b->n && j < b->n ? rows[j * b->n + i] : i == j;
}

static void
adjoint(const Z *a, int64_t m, int64_t n, Z *to)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			to[j * m + i] = conj(a[i * n + j]);
}

/* Scratch memory that all matrices of a stack share. */
typedef struct Work {
	Bidiagonal bidiagonal;
	int64_t m, n;                    /* sizes of x; m >= n */
	Z      *x;                       /* the matrix (m, n); the adjoint of a wide matrix, if `turned` */
	bool    phased, turned;          /* phased: whether the matrix is complex */
	Z      *triangle, *tau;
	Z      *big, *small;             /* vectors of x's longer side, (m, k), and of its shorter side, (n, n) */
	double *turns;
} Work;

/* Reduces x to a triangle and its reflections. Copies the triangle, or its adjoint. */
static void
triangulate(Work *w, Reduced *tall)
{
	const int64_t n = w->n;

	for (int64_t i = 0; i < n; i++)
		w->bidiagonal.d[i] = reflect_column(tall, i);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			int64_t row = w->turned ? j : i, column = w->turned ? i : j;
			Z v = row == column ? w->bidiagonal.d[i] : row < column ? w->x[row * n + column] : 0;
			w->triangle[i * n + j] = w->turned ? conj(v) : v;
		}
}

/* Decomposes the matrix. k is the number of columns of `big`. Returns false after too many steps. */
static bool
decompose(Work *w, int64_t k)
{
	const int64_t m = w->m, n = w->n;
	Z *const big = w->big, *const small = w->small;
	const bool first = m >= (w->phased ? n * 17 / 9 : n * 11 / 6), crossed = first && w->turned;
	Reduced tall = { w->x, m, n, w->tau, NULL };
	Reduced r = { first ? w->triangle : w->x, first ? n : m, n, w->tau + n, w->tau + 2 * n };

	if (first)
		triangulate(w, &tall);
	for (int64_t i = 0; i < n; i++) {
		w->bidiagonal.d[i] = reflect_column(&r, i);
		if (i + 1 < n)
			w->bidiagonal.e[i] = reflect_row(&r, i);
	}
	if (!solve_bidiagonal(&w->bidiagonal, w->turned && !first, w->turns))
		return false;
	spread(&w->bidiagonal, w->turned ? w->bidiagonal.v : w->bidiagonal.u, big, m, k);
	spread(&w->bidiagonal, w->turned ? w->bidiagonal.u : w->bidiagonal.v, small, n, n);
	apply_left(&r, crossed ? small : big, crossed ? n : k);
	apply_right(&r, crossed ? big : small, crossed ? k : n);
	if (first)
		apply_left(&tall, big, k);
	return true;
}

static int
work_new(RtCx *cx, Work *w, int64_t m, int64_t n, RtDtype dtype)
{
	const int64_t most = m > n ? m : n, k = m > n ? n : m;
	const bool single = dtype == RT_f32 || dtype == RT_c64;
	double *real = rt_scratch(cx, (2 * k * k + 4 * k) * 8 + 8);
	/* This is at least the size of the parts into which the members below divide it. */
	Z *z = real ? stack_room(cx, 1, most + 3 * k + 3, most) : NULL;

	if (!z)
		return RT_ERROR;
	*w = (Work){ .bidiagonal = { .n = k, .d = real, .e = real + k, .u = real + 4 * k, .v = real + 4 * k + k * k,
			.ulp = single ? 0x1p-24 : 0x1p-53, .least = single ? FLT_MIN : DBL_MIN },
		.x = z, .triangle = z + most * k, .tau = z + most * k + k * k, .turns = real + 2 * k,
		.m = most, .n = k, .phased = rt_is_complex(dtype), .turned = m < n };
	w->bidiagonal.tolerance = fmax(10, fmin(100, pow(w->bidiagonal.ulp, -0.125))) * w->bidiagonal.ulp;
	w->small = w->tau + 3 * k;
	w->big = w->small + k * k;
	return RT_OK;
}

/* A row-major matrix (m, n) of a stack. */
typedef struct Matrix { Z *v; int64_t m, n; } Matrix;

static Matrix
matrix_of(const Stack *s, int64_t i)
{
	return (Matrix){ s->v + i * s->m * s->n, s->m, s->n };
}

/* Computes a = u w->b.d vh. Returns false after too many steps. */
static bool
svd(Work *w, Matrix a, Matrix u, Matrix vh)
{
	const int64_t count = a.m * a.n;
	const int scale = scale_of(a.v, count);

	if (w->turned)
		adjoint(a.v, a.m, a.n, w->x);
	else
		memcpy(w->x, a.v, (size_t)count * sizeof *a.v);
	for (int64_t i = 0; scale && i < count; i++)
		w->x[i] *= ldexp(1, scale);
	if (!decompose(w, w->turned ? vh.m : u.n))
		return false;
	for (int64_t i = 0; scale && i < w->n; i++)
		w->bidiagonal.d[i] = ldexp(w->bidiagonal.d[i], -scale);
	memcpy(u.v, w->turned ? w->small : w->big, (size_t)(u.m * u.n) * sizeof *u.v);
	adjoint(w->turned ? w->big : w->small, vh.n, vh.m, vh.v);
	return true;
}

static void
fill_nan(Matrix a)
{
	for (int64_t i = 0; i < a.m * a.n; i++)
		a.v[i] = NAN;
}

static int
no_values(RtCx *cx, const Stack *s, int64_t i, const char *why)
{
	static const char text[] = "The algorithm failed to converge because the input matrix ";

	if (s->nbatch)
		return rt_raise(cx, "linalg.svd: (Batch element %lld): %s%s.", (long long)i, text, why);
	return rt_raise(cx, "linalg.svd: %s%s.", text, why);
}

/* A stack and its factors: s = u w vh. w has the values as columns. */
typedef struct Svd { Stack s, u, w, vh; } Svd;

/* Decomposes matrix i. A matrix with infinities gives NaN. */
static int
svd_one(RtCx *cx, const Svd *d, int64_t i, Work *work)
{
	const Matrix a = matrix_of(&d->s, i), u = matrix_of(&d->u, i), w = matrix_of(&d->w, i),
		     vh = matrix_of(&d->vh, i);
	bool finite = true;

	for (int64_t j = 0; j < a.m * a.n; j++) {
		if (creal(a.v[j]) != creal(a.v[j]) || cimag(a.v[j]) != cimag(a.v[j]))
			return no_values(cx, &d->s, i, "contained non-finite values");
		finite &= isfinite(creal(a.v[j])) && isfinite(cimag(a.v[j]));
	}
	if (finite && !svd(work, a, u, vh))
		return no_values(cx, &d->s, i,
				 "is ill-conditioned or has too many repeated singular values (error code: 1)");
	for (int64_t j = 0; j < w.m; j++)
		w.v[j] = work->bidiagonal.d[j];
	if (!finite) {
		fill_nan(u);
		fill_nan(vh);
		fill_nan(w);
	}
	return RT_OK;
}

int
rt__linalg_svd(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	RtDtype dtype = (RtDtype)t->dtype;
	bool full = in[1].u.i;
	Svd d;
	const Stack *s = &d.s;
	int64_t k;
	Work work;

	if (rt_category(dtype) == 'E')
		return stack_empty(cx, &(RtCall){ .kernel = rt__linalg_svd, .nin = 4, .nout = 3 },
				   "linalg_svd_cpu", in, out);
	if (stack_load(cx, "linalg.svd", t, &d.s))
		return RT_ERROR;
	k = s->m < s->n ? s->m : s->n;
	if (stack_new(cx, s, s->m, full ? s->m : k, &d.u) || stack_new(cx, s, k, 1, &d.w) ||
	    stack_new(cx, s, full ? s->n : k, s->n, &d.vh) || work_new(cx, &work, s->m, s->n, dtype))
		return RT_ERROR;
	for (int64_t b = 0; !cx->meta && b < s->count; b++)
		if (svd_one(cx, &d, b, &work))
			return RT_ERROR;
	if (stack_give(cx, 1, rt_real_type(dtype), &d.w, STACK_VECTOR, out))
		return RT_ERROR;
	if (!in[2].u.i)
		return stack_give_empty(cx, 0, dtype, out) || stack_give_empty(cx, 2, dtype, out) ? RT_ERROR : RT_OK;
	return stack_give(cx, 0, dtype, &d.u, STACK_MATRIX, out) ||
	       stack_give(cx, 2, dtype, &d.vh, STACK_MATRIX, out) ? RT_ERROR : RT_OK;
}
