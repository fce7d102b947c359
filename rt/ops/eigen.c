/* rt/ops/eigen.c - eigenvalues and eigenvectors of real matrices
 *
 * The algorithm is LAPACK's dgeev for small matrices, because the order of eigenvalues and the signs of vectors depend
 * on it. It balances by powers of two, reduces to Hessenberg form, applies Francis' double-shift QR steps up to
 * quasi-triangular form, and substitutes back. Vectors have length 1, and a complex vector's largest component is real.
 * Rows and columns count from 0; a block lo .. hi includes both.
 */
#include "decomp.h"

RT_FAST

typedef struct Schur {
	int64_t n;
	double *h, *q;            /* (n, n): the matrix, which becomes quasi-triangular; its Schur vectors */
	double *scale;            /* (n) factors of balancing */
	double *re, *im;          /* (n) eigenvalues */
	/* Thresholds below which numbers count as zero, in the operator's dtype, because signs depend on the number of
	 * steps. */
	double ulp, tiny;
} Schur;

#define H(i, j) s->h[(i) * s->n + (j)]
#define Q(i, j) s->q[(i) * s->n + (j)]

static double
norm(const double *v, int64_t n, int64_t step)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += v[i * step] * v[i * step];
	return sqrt(sum);
}

static void
balance(Schur *s)
{
	bool again = true;

	for (int64_t i = 0; i < s->n; i++)
		s->scale[i] = 1;
	for (int rounds = 0; again && rounds < 200; rounds++) {
		again = false;
		for (int64_t i = 0; i < s->n; i++) {
			double c = norm(&H(0, i), s->n, s->n), r = norm(&H(i, 0), s->n, 1), f = 1, sum = c + r;
			if (c == 0 || r == 0 || !isfinite(sum))
				continue;
			for (; c < r / 2 && f < 1e150; f *= 2)
				c *= 2, r /= 2;
			for (; c / 2 >= r && f > 1e-150; f /= 2)
				c /= 2, r *= 2;
			if (c + r >= 0.95 * sum)
				continue;
			s->scale[i] *= f;
			again = true;
			for (int64_t j = 0; j < s->n; j++)
				H(i, j) /= f;
			for (int64_t j = 0; j < s->n; j++)
				H(j, i) *= f;
		}
	}
}

/* Computes the reflection that maps v[0 .. n) to (beta, 0, ...). Sets v[0] to beta, and the other elements to its
 * vector, scaled so that the first element is 1. Returns tau. */
static double
reflect_real(double *v, int n)
{
	double rest = norm(v + 1, n - 1, 1), beta, tau;

	if (rest == 0)
		return 0;
	beta = -copysign(hypot(v[0], rest), v[0]);
	tau = (beta - v[0]) / beta;
	for (int i = 1; i < n; i++)
		v[i] /= v[0] - beta;
	v[0] = beta;
	return tau;
}

/* A reflection 1 - tau v v' of rows or columns `at` .. at + m. v[0] counts as 1. */
typedef struct Mirror { const double *v; int m; double tau; int64_t at; } Mirror;

/* Applies the reflection to columns from .. to. */
static void
apply_rows(Schur *s, const Mirror *r, int64_t from, int64_t to)
{
	const double *v = r->v, tau = r->tau;
	const int64_t k = r->at;
	const int m = r->m;

	for (int64_t j = from; j <= to; j++) {
		double sum = H(k, j);
		for (int i = 1; i < m; i++)
			sum += v[i] * H(k + i, j);
		H(k, j) -= sum * tau;
		for (int i = 1; i < m; i++)
			H(k + i, j) -= sum * tau * v[i];
	}
}

/* Applies the reflection to rows 0 .. last of a (n, n). */
static void
apply_columns(double *a, int64_t n, const Mirror *r, int64_t last)
{
	const double *v = r->v, tau = r->tau;
	const int m = r->m;

	for (int64_t j = 0; j <= last; j++) {
		double *row = a + j * n + r->at, sum = row[0];
		for (int i = 1; i < m; i++)
			sum += v[i] * row[i];
		row[0] -= sum * tau;
		for (int i = 1; i < m; i++)
			row[i] -= sum * tau * v[i];
	}
}

static void
hessenberg(Schur *s, double *v)
{
	for (int64_t i = 0; i < s->n * s->n; i++)
		s->q[i] = i / s->n == i % s->n;
	for (int64_t k = 0; k + 2 < s->n; k++) {
		int m = (int)(s->n - k - 1);
		Mirror r = { .v = v, .m = m, .at = k + 1 };
		for (int i = 0; i < m; i++)
			v[i] = H(k + 1 + i, k);
		r.tau = reflect_real(v, m);
		apply_columns(s->h, s->n, &r, s->n - 1);
		apply_rows(s, &r, k + 1, s->n - 1);
		apply_columns(s->q, s->n, &r, s->n - 1);
		H(k + 1, k) = v[0];
		for (int i = 1; i < m; i++)
			H(k + 1 + i, k) = 0;
	}
}

/* Rotates the block ((a, b), (c, d)) of rows i and i + 1 by (cs, sn). The result is a triangle, or has equal diagonal
 * elements and b c < 0. */
static void
standardise(Schur *s, int64_t i, double *cs, double *sn)
{
	double *a = &H(i, i), *b = &H(i, i + 1), *c = &H(i + 1, i), *d = &H(i + 1, i + 1);
	double gap = *a - *d, p = gap / 2, most = fmax(fabs(*b), fabs(*c)), least, scale, z, tau;

	*cs = 1;
	*sn = 0;
	if (*c == 0)
		return;
	if (*b == 0) {
		double t = *d;
		*cs = 0, *sn = 1;
		*d = *a, *a = t;
		*b = -*c, *c = 0;
		return;
	}
	if (gap == 0 && (*b < 0) != (*c < 0))
		return;
	least = fmin(fabs(*b), fabs(*c)) * copysign(1, *b) * copysign(1, *c);
	scale = fmax(fabs(p), most);
	z = p / scale * p + most / scale * least;
	if (z >= 4 * s->ulp) {
		z = p + copysign(sqrt(scale) * sqrt(z), p);
		*a = *d + z;
		*d -= most / z * least;
		tau = hypot(*c, z);
		*cs = z / tau, *sn = *c / tau;
		*b -= *c, *c = 0;
		return;
	}
	double sigma = *b + *c, aa, bb, cc, dd, mean;
	tau = hypot(sigma, gap);
	*cs = sqrt(0.5 * (1 + fabs(sigma) / tau));
	*sn = -(p / (tau * *cs)) * copysign(1, sigma);
	aa = *a * *cs + *b * *sn, bb = -*a * *sn + *b * *cs;
	cc = *c * *cs + *d * *sn, dd = -*c * *sn + *d * *cs;
	*a = aa * *cs + cc * *sn, *b = bb * *cs + dd * *sn;
	*c = -aa * *sn + cc * *cs, *d = -bb * *sn + dd * *cs;
	mean = 0.5 * (*a + *d);
	*a = *d = mean;
	if (*c == 0)
		return;
	if (*b == 0) {
		double t = *cs;
		*b = -*c, *c = 0;
		*cs = -*sn, *sn = t;
	} else if ((*b < 0) == (*c < 0)) {
		double sb = sqrt(fabs(*b)), sc = sqrt(fabs(*c)), by = 1 / sqrt(fabs(*b + *c)), t;
		p = copysign(sb * sc, *c);
		*a = mean + p, *d = mean - p;
		*b -= *c, *c = 0;
		t = *cs * sb * by - *sn * sc * by;
		*sn = *cs * sc * by + *sn * sb * by;
		*cs = t;
	}
}

static void
rotate(double *x, double *y, int64_t n, int64_t step, double cs, double sn)
{
	for (int64_t i = 0; i < n; i++, x += step, y += step) {
		double t = cs * *x + sn * *y;
		*y = cs * *y - sn * *x;
		*x = t;
	}
}

/* Returns the first row of the unreduced block that ends at hi. */
static int64_t
find_cut(Schur *s, int64_t lo, int64_t hi)
{
	int64_t k = hi;

	for (; k > lo; k--) {
		double below = fabs(H(k, k - 1)), above = fabs(H(k - 1, k)),
		       size = fabs(H(k - 1, k - 1)) + fabs(H(k, k));
		if (below <= s->tiny)
			break;
		if (size == 0)
			size = (k >= 2 ? fabs(H(k - 1, k - 2)) : 0) + (k + 1 < s->n ? fabs(H(k + 1, k)) : 0);
		if (below <= s->ulp * size) {
			double ab = fmax(below, above), ba = fmin(below, above), gap = fabs(H(k - 1, k - 1) - H(k, k));
			double aa = fmax(fabs(H(k, k)), gap), bb = fmin(fabs(H(k, k)), gap), sum = aa + ab;
			if (ba * (ab / sum) <= fmax(s->tiny, s->ulp * (bb * (aa / sum))))
				break;
		}
	}
	return k;
}

/* Computes the shifts: a conjugate pair (re, im), or twice the real shift that is nearer to the last element. */
static void
shifts(Schur *s, int64_t lo, int64_t hi, int its, double *re, double *im)
{
	double a = H(hi - 1, hi - 1), b = H(hi - 1, hi), c = H(hi, hi - 1), d = H(hi, hi), sum, mean, det, root;

	if (its == 10) {
		sum = fabs(H(lo + 1, lo)) + fabs(H(lo + 2, lo + 1));
		a = d = 0.75 * sum + H(lo, lo);
		b = -0.4375 * sum, c = sum;
	} else if (its == 20) {
		sum = fabs(H(hi, hi - 1)) + fabs(H(hi - 1, hi - 2));
		a = d = 0.75 * sum + H(hi, hi);
		b = -0.4375 * sum, c = sum;
	}
	*re = *im = 0;
	sum = fabs(a) + fabs(b) + fabs(c) + fabs(d);
	if (sum == 0)
		return;
	a /= sum, b /= sum, c /= sum, d /= sum;
	mean = (a + d) / 2;
	det = (a - mean) * (d - mean) - b * c;
	root = sqrt(fabs(det));
	if (det >= 0) {
		*re = mean * sum;
		*im = root * sum;
	} else {
		*re = (fabs(mean + root - d) <= fabs(mean - root - d) ? mean + root : mean - root) * sum;
	}
}

static void
francis_step(Schur *s, int64_t lo, int64_t hi, int its)
{
	double re, im, v[3], first[3];
	int64_t m;

	shifts(s, lo, hi, its, &re, &im);
	for (m = hi - 2; m >= lo; m--) {
		double below = fabs(H(m + 1, m)), sum = fabs(H(m, m) - re) + fabs(im) + below;
		below = H(m + 1, m) / sum;
		first[0] = below * H(m, m + 1) + (H(m, m) - re) * ((H(m, m) - re) / sum) + im * (im / sum);
		first[1] = below * (H(m, m) + H(m + 1, m + 1) - 2 * re);
		first[2] = below * H(m + 2, m + 1);
		sum = fabs(first[0]) + fabs(first[1]) + fabs(first[2]);
		for (int i = 0; i < 3; i++)
			first[i] /= sum;
		if (m == lo || fabs(H(m, m - 1)) * (fabs(first[1]) + fabs(first[2])) <= s->ulp * fabs(first[0]) *
		    (fabs(H(m - 1, m - 1)) + fabs(H(m, m)) + fabs(H(m + 1, m + 1))))
			break;
	}
	for (int64_t k = m; k < hi; k++) {
		int size = hi - k + 1 < 3 ? 2 : 3;
		Mirror r = { .v = v, .m = size, .at = k };
		for (int i = 0; i < size; i++)
			v[i] = k > m ? H(k + i, k - 1) : first[i];
		r.tau = reflect_real(v, size);
		if (k > m) {
			H(k, k - 1) = v[0];
			for (int i = 1; i < size; i++)
				H(k + i, k - 1) = 0;
		} else if (m > lo) {
			H(k, k - 1) *= 1 - r.tau;
		}
		apply_rows(s, &r, k, s->n - 1);
		apply_columns(s->h, s->n, &r, k + 3 < hi ? k + 3 : hi);
		apply_columns(s->q, s->n, &r, s->n - 1);
	}
}

static bool
schur(Schur *s)
{
	for (int64_t hi = s->n - 1; hi >= 0;) {
		int64_t lo = 0;
		int its = 0, limit = 30 * (s->n > 10 ? (int)s->n : 10);
		for (;; its++) {
			lo = find_cut(s, lo, hi);
			if (lo > 0)
				H(lo, lo - 1) = 0;
			if (lo >= hi - 1)
				break;
			if (its > limit)
				return false;
			francis_step(s, lo, hi, its);
		}
		s->im[hi] = 0;
		s->re[hi] = H(hi, hi);
		if (lo == hi - 1) {
			double cs, sn;
			standardise(s, lo, &cs, &sn);
			s->re[lo] = H(lo, lo);
			s->re[hi] = H(hi, hi);
			s->im[lo] = H(hi, lo) == 0 ? 0 : sqrt(fabs(H(lo, hi))) * sqrt(fabs(H(hi, lo)));
			s->im[hi] = -s->im[lo];
			rotate(&H(lo, hi) + 1, &H(hi, hi) + 1, s->n - 1 - hi, 1, cs, sn);
			rotate(&H(0, lo), &H(0, hi), lo, s->n, cs, sn);
			rotate(&Q(0, lo), &Q(0, hi), s->n, s->n, cs, sn);
		}
		hi = lo - 1;
	}
	return true;
}

/* Solves (T - w) x = 0 for x[0 .. top), given the other elements of x up to `last`. */
static void
substitute(const Schur *s, Z w, int64_t top, int64_t last, Z *x)
{
	double least = fmax(2.2e-16 * cabs(w), 1e-290);

	for (int64_t i = top - 1; i >= 0; i--) {
		bool pair = i > 0 && H(i, i - 1) != 0;
		Z sum = 0, other = 0, d = H(i, i) - w;
		for (int64_t j = i + 1; j <= last; j++)
			sum -= H(i, j) * x[j];
		if (!pair) {
			x[i] = sum / (cabs(d) < least ? least : d);
			continue;
		}
		for (int64_t j = i + 1; j <= last; j++)
			other -= H(i - 1, j) * x[j];
		Z a = H(i - 1, i - 1) - w, det = mul(a, d) - H(i - 1, i) * H(i, i - 1);
		det = cabs(det) < least * least ? least * least : det;
		x[i - 1] = (mul(d, other) - H(i - 1, i) * sum) / det;
		x[i] = (mul(a, sum) - H(i, i - 1) * other) / det;
		i--;
	}
}

/* Computes column k of the eigenvectors v, and column k + 1 for a pair. */
static void
vector(const Schur *s, int64_t k, Z *v, Z *x)
{
	int64_t n = s->n, last = k, most = 0;
	double size = 0, best = -1, r;
	Z w = s->re[k] + I * s->im[k], turn;

	if (s->im[k] == 0) {
		x[k] = 1;
		substitute(s, s->re[k], k, k, x);
	} else {
		last = k + 1;
		if (fabs(H(k, last)) >= fabs(H(last, k))) {
			x[k] = 1;
			x[last] = I * (s->im[k] / H(k, last));
		} else {
			x[k] = -s->im[k] / H(last, k);
			x[last] = I;
		}
		substitute(s, w, k, last, x);
	}
	for (int64_t i = 0; i < n; i++) {
		Z sum = 0;
		for (int64_t j = 0; j <= last; j++)
			sum += Q(i, j) * x[j];
		v[i * n + k] = sum * s->scale[i];
		size += norm2(v[i * n + k]);
	}
	for (int64_t i = 0; i < n; i++) {
		v[i * n + k] /= sqrt(size);
		if (norm2(v[i * n + k]) > best) {
			best = norm2(v[i * n + k]);
			most = i;
		}
	}
	if (last == k)
		return;
	r = copysign(sqrt(best), creal(v[most * n + k]));
	turn = conj(v[most * n + k]) / r;
	for (int64_t i = 0; i < n; i++) {
		v[i * n + k] = mul(v[i * n + k], turn);
		if (i == most)
			v[i * n + k] = creal(v[i * n + k]);
		v[i * n + last] = conj(v[i * n + k]);
	}
}

int
eig_real(RtCx *cx, Square m, Z *w, Z *v, bool *converged)
{
	const int64_t n = m.n;
	RtMark mark = rt_scratch_mark(cx);
	double *room = rt_scratch(cx, (2 * n * n + 4 * n) * 8 + 8);
	Z *x = room ? rt_scratch(cx, n * 16 + 16) : NULL;
	Schur s = { n, room, room + n * n, room + 2 * n * n, room + 2 * n * n + n, room + 2 * n * n + 2 * n,
		m.single ? 1.1920929e-07 : 2.2204460492503131e-16, m.single ? 9.8607613e-32 : 1.0020841800044864e-292 };

	if (!x)
		return RT_ERROR;
	for (int64_t i = 0; i < n * n; i++)
		s.h[i] = creal(m.a[i]);
	balance(&s);
	hessenberg(&s, room + 2 * n * n + 3 * n);
	*converged = schur(&s);
	for (int64_t k = 0; *converged && k < n; k++) {
		w[k] = s.re[k] + I * s.im[k];
		if (s.im[k] >= 0)
			vector(&s, k, v, x);
	}
	rt_scratch_reset(cx, mark);
	return RT_OK;
}
