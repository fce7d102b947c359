/* rt/ops/spectral.c - eigenvalues and singular values, the exponential of a matrix
 *
 * Hermitian matrices: hermitian.c.  Singular values: Jacobi rotations of pairs of columns until all are orthogonal; slow but
 * accurate to the last digits.  Other complex matrices (real ones: eigen.c): reduction to Hessenberg form by reflections, QR steps with Wilkinson's shift to triangular form, eigenvectors by substitution; vectors have length 1
 * and their largest component is real, as LAPACK's.
 */
#include "decomp.h"

RT_FAST

enum { MAX_SWEEPS = 60, MAX_STEPS = 60 };

/* ---- Hermitian ------------------------------------------------------------------------------------------------------------ */

/* Exchanges columns so that w[0 .. n) ascends (or descends). */
static void
sort_columns(double *w, int64_t n, bool descending, Z *a, int64_t rows, int64_t ka, Z *b, int64_t kb)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t best = i;
		double t;
		for (int64_t j = i + 1; j < n; j++)
			if (descending ? w[j] > w[best] : w[j] < w[best])
				best = j;
		if (best == i)
			continue;
		t = w[i], w[i] = w[best], w[best] = t;
		for (int64_t r = 0; r < rows; r++) {
			Z x = a[r * ka + i];
			a[r * ka + i] = a[r * ka + best];
			a[r * ka + best] = x;
		}
		for (int64_t r = 0; b && r < kb; r++) {
			Z x = b[r * kb + i];
			b[r * kb + i] = b[r * kb + best];
			b[r * kb + best] = x;
		}
	}
}

int
rt__linalg_eigh(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	bool upper = in[1].u.str->s[0] == 'U' || in[1].u.str->s[0] == 'u';
	Stack s, w, v;
	double *value;
	bool converged;

	if (strchr("UuLl", in[1].u.str->s[0]) == NULL || in[1].u.str->n != 1)
		return rt_raise(cx, "Expected UPLO argument to be 'L' or 'U', but got %s", in[1].u.str->s);
	if (stack_square(cx, "linalg.eigh", t, &s) || stack_new(cx, &s, s.n, 1, &w) || stack_new(cx, &s, s.n, s.n, &v))
		return RT_ERROR;
	value = rt_scratch(cx, s.n * 8 + 8);
	if (!value)
		return RT_ERROR;
	for (int64_t b = 0; !cx->meta && b < s.count; b++) {
		Z *a = s.v + b * s.n * s.n;
		for (int64_t i = 0; i < s.n; i++) {
			a[i * s.n + i] = creal(a[i * s.n + i]);
			for (int64_t j = 0; j < i; j++)
				if (upper)
					a[i * s.n + j] = conj(a[j * s.n + i]);
				else
					a[j * s.n + i] = conj(a[i * s.n + j]);
		}
		if (eig_hermitian(cx, t->dtype == RT_f32 || t->dtype == RT_c64, a, s.n, upper, value, in[2].u.i ? v.v + b * s.n * s.n : NULL, &converged))
			return RT_ERROR;
		if (!converged)
			return rt_raise(cx, "linalg.eigh: The algorithm failed to converge because the input matrix is "
				"ill-conditioned or has too many repeated eigenvalues (error code: 1).");
		for (int64_t i = 0; i < s.n; i++)
			w.v[b * s.n + i] = value[i];
	}
	if (stack_give(cx, 0, rt_real_type((RtDtype)t->dtype), &w, 1, out))
		return RT_ERROR;
	return in[2].u.i ? stack_give(cx, 1, (RtDtype)t->dtype, &v, 2, out) : stack_give_empty(cx, 1, (RtDtype)t->dtype, out);
}

/* ---- singular values -------------------------------------------------------------------------------------------------------- */

/* The rotation that makes the columns p and q of Hermitian ((a, g), (conj g, b)) independent: q turned by `phase`, then by (c, s). */
static bool
rotation(double a, double b, Z g, double *c, double *s, Z *phase)
{
	double size = cabs(g), t, zeta;

	if (size == 0 || size <= 1e-300)
		return false;
	*phase = g / size;
	zeta = (b - a) / (2 * size);
	t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
	*c = 1 / sqrt(1 + t * t);
	*s = t * *c;
	return true;
}

/* Columns p and q of a (n rows, k apart): (x, y) -> (c x - s conj(phase) y, s phase x + c y). */
static void
turn_columns(Z *a, int64_t n, int64_t k, int64_t p, int64_t q, double c, double s, Z phase)
{
	for (int64_t i = 0; i < n; i++) {
		Z x = a[i * k + p], y = a[i * k + q];
		a[i * k + p] = c * x - s * mul(conj(phase), y);
		a[i * k + q] = s * mul(phase, x) + c * y;
	}
}

/* a (m, n), m >= n: its columns become orthogonal, v (n, n) collects the rotations; w their lengths, descending. */
static void
one_sided(Z *a, int64_t m, int64_t n, Z *v, double *w)
{
	for (int64_t i = 0; i < n * n; i++)
		v[i] = i / n == i % n;
	for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
		bool turned = false;
		for (int64_t p = 0; p < n; p++)
			for (int64_t q = p + 1; q < n; q++) {
				double x = 0, y = 0, c, s;
				Z g = 0, phase;
				for (int64_t i = 0; i < m; i++) {
					x += norm2(a[i * n + p]);
					y += norm2(a[i * n + q]);
					g += mul(conj(a[i * n + p]), a[i * n + q]);
				}
				if (cabs(g) <= 1e-15 * sqrt(x * y) || !rotation(x, y, g, &c, &s, &phase))
					continue;
				turned = true;
				turn_columns(a, m, n, p, q, c, s, phase);
				turn_columns(v, n, n, p, q, c, s, phase);
			}
		if (!turned)
			break;
	}
	for (int64_t j = 0; j < n; j++) {
		double sum = 0;
		for (int64_t i = 0; i < m; i++)
			sum += norm2(a[i * n + j]);
		w[j] = sqrt(sum);
	}
	sort_columns(w, n, true, a, m, n, v, n);
}

/* Fills columns from `have` on of u (m, k) so that all are orthonormal. */
static void
complete(Z *u, int64_t m, int64_t k, int64_t have)
{
	for (int64_t next = 0; have < k && next < m; next++) {
		double left = 0;
		for (int64_t i = 0; i < m; i++)
			u[i * k + have] = i == next;
		for (int twice = 0; twice < 2; twice++)
			for (int64_t j = 0; j < have; j++) {
				Z dot = 0;
				for (int64_t i = 0; i < m; i++)
					dot += mul(conj(u[i * k + j]), u[i * k + have]);
				for (int64_t i = 0; i < m; i++)
					u[i * k + have] -= mul(dot, u[i * k + j]);
			}
		for (int64_t i = 0; i < m; i++)
			left += norm2(u[i * k + have]);
		/* Some unit vector leaves at least this much, as long as columns are missing. */
		if (left < 0.5 / (double)m)
			continue;
		for (int64_t i = 0; i < m; i++)
			u[i * k + have] /= sqrt(left);
		have++;
	}
}

/* One matrix a (m, n): u (m, mu), w (min), vh (nv, n); work: room for m n + n n + m n numbers. */
static void
svd(const Z *a, int64_t m, int64_t n, Z *u, int64_t mu, double *w, Z *vh, int64_t nv, Z *work)
{
	bool turned = m < n;
	int64_t tall = turned ? n : m, k = turned ? m : n, rank = 0;
	Z *x = work, *v = x + tall * k;

	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			*(turned ? x + j * k + i : x + i * k + j) = turned ? conj(a[i * n + j]) : a[i * n + j];
	one_sided(x, tall, k, v, w);
	while (rank < k && w[rank] > (k ? w[0] : 0) * 1e-300 && w[rank] > 0)
		rank++;
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i < tall; i++) {
			Z unit = j < rank ? x[i * k + j] / w[j] : 0;
			if (turned)
				vh[j * n + i] = conj(unit);
			else
				u[i * mu + j] = unit;
		}
	if (turned) {
		for (int64_t i = 0; i < k; i++)
			for (int64_t j = 0; j < k; j++)
				u[i * mu + j] = v[i * k + j];
		/* Rows of vh are completed as columns of its adjoint, in x. */
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = 0; j < nv; j++)
				work[i * nv + j] = j < rank ? conj(vh[j * n + i]) : 0;
		complete(work, n, nv, rank);
		for (int64_t j = rank; j < nv; j++)
			for (int64_t i = 0; i < n; i++)
				vh[j * n + i] = conj(work[i * nv + j]);
		return;
	}
	for (int64_t i = 0; i < k; i++)
		for (int64_t j = 0; j < k; j++)
			vh[j * n + i] = conj(v[i * k + j]);
	complete(u, m, mu, rank);
}

int
rt__linalg_svd(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	RtDtype dtype = (RtDtype)t->dtype;
	bool full = in[1].u.i;
	Stack s, u, w, vh;
	int64_t k, mu, nv, most;
	double *value;
	Z *work;

	if (stack_load(cx, "linalg.svd", t, &s))
		return RT_ERROR;
	k = s.m < s.n ? s.m : s.n;
	mu = full ? s.m : k;
	nv = full ? s.n : k;
	most = s.m > s.n ? s.m : s.n;
	if (stack_new(cx, &s, s.m, mu, &u) || stack_new(cx, &s, k, 1, &w) || stack_new(cx, &s, nv, s.n, &vh))
		return RT_ERROR;
	value = rt_scratch(cx, k * 8 + 8);
	work = value ? rt_scratch(cx, (2 * most * most + k * k) * 16 + 16) : NULL;
	if (!work)
		return RT_ERROR;
	for (int64_t b = 0; !cx->meta && b < s.count; b++) {
		svd(s.v + b * s.m * s.n, s.m, s.n, u.v + b * s.m * mu, mu, value, vh.v + b * nv * s.n, nv, work);
		for (int64_t i = 0; i < k; i++)
			w.v[b * k + i] = value[i];
	}
	if (stack_give(cx, 1, rt_real_type(dtype), &w, 1, out))
		return RT_ERROR;
	if (!in[2].u.i)
		return stack_give_empty(cx, 0, dtype, out) || stack_give_empty(cx, 2, dtype, out) ? RT_ERROR : RT_OK;
	return stack_give(cx, 0, dtype, &u, 2, out) || stack_give(cx, 2, dtype, &vh, 2, out) ? RT_ERROR : RT_OK;
}

/* ---- general -------------------------------------------------------------------------------------------------------------- */

/* a = q h q*, h with nothing below its first subdiagonal. */
static void
hessenberg(Z *a, int64_t n, Z *q, Z *v)
{
	for (int64_t i = 0; i < n * n; i++)
		q[i] = i / n == i % n;
	for (int64_t k = 0; k + 2 < n; k++) {
		double rest = 0, size;
		Z alpha = a[(k + 1) * n + k], beta;
		for (int64_t i = k + 2; i < n; i++)
			rest += norm2(a[i * n + k]);
		if (rest == 0)
			continue;
		size = sqrt(rest + norm2(alpha));
		beta = alpha == 0 ? -size : -alpha / cabs(alpha) * size;
		/* v = x - beta e, reflection 1 - 2 v v* / |v|^2 */
		rest += norm2(alpha - beta);
		for (int64_t i = k + 1; i < n; i++)
			v[i] = (i == k + 1 ? alpha - beta : a[i * n + k]) / sqrt(rest / 2);
		for (int64_t j = 0; j < n; j++) {
			Z sum = 0;
			for (int64_t i = k + 1; i < n; i++)
				sum += mul(conj(v[i]), a[i * n + j]);
			for (int64_t i = k + 1; i < n; i++)
				a[i * n + j] -= mul(v[i], sum);
		}
		for (int half = 0; half < 2; half++) {
			Z *m = half ? q : a;
			for (int64_t i = 0; i < n; i++) {
				Z sum = 0;
				for (int64_t j = k + 1; j < n; j++)
					sum += mul(m[i * n + j], v[j]);
				for (int64_t j = k + 1; j < n; j++)
					m[i * n + j] -= mul(sum, conj(v[j]));
			}
		}
	}
}

/* The eigenvalue of the trailing 2 by 2 block at row `hi` that is closer to its last element. */
static Z
shift_of(const Z *a, int64_t n, int64_t hi)
{
	Z p = a[(hi - 1) * n + hi - 1], s = a[hi * n + hi], b = mul(a[(hi - 1) * n + hi], a[hi * n + hi - 1]);
	Z half = (p - s) / 2, root = csqrt(mul(half, half) + b);

	if (cabs(half + root) < cabs(half - root))
		root = -root;
	return half + root == 0 ? s : s - b / (half + root);
}

/* One QR step on rows and columns lo .. hi of Hessenberg a, collected in q. */
static void
qr_step(Z *a, int64_t n, int64_t lo, int64_t hi, Z shift, Z *q)
{
	Z x = a[lo * n + lo] - shift, y = a[(lo + 1) * n + lo];

	for (int64_t k = lo; k < hi; k++) {
		double size = sqrt(norm2(x) + norm2(y));
		Z c = size == 0 ? 1 : x / size, s = size == 0 ? 0 : y / size;
		int64_t last = k + 2 < hi ? k + 2 : hi;
		/* rows: (c* s*; -s c) */
		for (int64_t j = k > lo ? k - 1 : lo; j < n; j++) {
			Z u = a[k * n + j], v = a[(k + 1) * n + j];
			a[k * n + j] = mul(conj(c), u) + mul(conj(s), v);
			a[(k + 1) * n + j] = mul(c, v) - mul(s, u);
		}
		for (int half = 0; half < 2; half++) {
			Z *m = half ? q : a;
			for (int64_t i = 0; i <= (half ? n - 1 : last); i++) {
				Z u = m[i * n + k], v = m[i * n + k + 1];
				m[i * n + k] = mul(u, c) + mul(v, s);
				m[i * n + k + 1] = mul(v, conj(c)) - mul(u, conj(s));
			}
		}
		if (k + 1 < hi) {
			x = a[(k + 1) * n + k];
			y = a[(k + 2) * n + k];
		}
	}
}

/* Hessenberg a becomes triangular; false when it does not converge. */
static bool
triangularise(Z *a, int64_t n, Z *q, double ulp)
{
	int steps = 0;

	for (int64_t hi = n - 1; hi > 0;) {
		int64_t lo = hi;
		for (; lo > 0; lo--) {
			double around = cabs(a[lo * n + lo]) + cabs(a[(lo - 1) * n + lo - 1]);
			if (cabs(a[lo * n + lo - 1]) <= ulp * (around == 0 ? 1e-290 : around)) {
				a[lo * n + lo - 1] = 0;
				break;
			}
		}
		if (lo == hi) {
			hi--;
			steps = 0;
			continue;
		}
		if (++steps > MAX_STEPS)
			return false;
		qr_step(a, n, lo, hi, steps % 10 ? shift_of(a, n, hi) : a[hi * n + hi] + cabs(a[hi * n + hi - 1]), q);
	}
	return true;
}

/* Column k of v = q times the eigenvector of triangular a for its k-th diagonal element. */
static void
eigenvector(const Z *a, int64_t n, int64_t k, const Z *q, Z *v, Z *x)
{
	double size = 0, most = 0;
	Z turn = 1;

	for (int64_t i = k; i >= 0; i--) {
		Z sum = i == k ? 1 : 0, d = a[k * n + k] - a[i * n + i];
		for (int64_t j = i + 1; j <= k; j++)
			sum += mul(a[i * n + j], x[j]);
		if (i < k && cabs(d) < 1e-300 + 2.2e-16 * cabs(a[k * n + k]))
			d = 1e-300 + 2.2e-16 * (cabs(a[k * n + k]) > 0 ? cabs(a[k * n + k]) : 1);
		x[i] = i == k ? 1 : sum / d;
	}
	for (int64_t i = 0; i < n; i++) {
		Z sum = 0;
		for (int64_t j = 0; j <= k; j++)
			sum += mul(q[i * n + j], x[j]);
		v[i * n + k] = sum;
		size += norm2(sum);
		if (norm2(sum) > most * 1.0000001) {
			most = norm2(sum);
			turn = conj(sum) / sqrt(most);
		}
	}
	for (int64_t i = 0; i < n; i++)
		v[i * n + k] = mul(v[i * n + k], turn) / sqrt(size);
}

static int
eig(RtCx *cx, RtTensor *t, Stack *w, Stack *v)
{
	Stack s;
	Z *q, *x;
	int64_t n;
	bool converged = true;

	if (stack_square(cx, "linalg.eig", t, &s) || stack_new(cx, &s, s.n, 1, w) || stack_new(cx, &s, s.n, s.n, v))
		return RT_ERROR;
	n = s.n;
	q = rt_scratch(cx, n * n * 16 + 16);
	x = q ? rt_scratch(cx, n * 16 + 16) : NULL;
	if (!x)
		return RT_ERROR;
	for (int64_t b = 0; !cx->meta && b < s.count; b++) {
		Z *a = s.v + b * n * n, *values = w->v + b * n;
		for (int64_t i = 0; i < n * n; i++)
			if (!isfinite(creal(a[i])) || !isfinite(cimag(a[i])))
				return rt_raise(cx, "torch.linalg.eig: input tensor should not contain infs or NaNs.");
		if (!rt_is_complex((RtDtype)t->dtype)) {
			if (eig_real(cx, t->dtype == RT_f32, a, n, values, v->v + b * n * n, &converged))
				return RT_ERROR;
		} else {
			hessenberg(a, n, q, x);
			converged = triangularise(a, n, q, t->dtype == RT_c64 ? 1.1920929e-07 : 2.2204460492503131e-16);
			for (int64_t k = 0; converged && k < n; k++) {
				values[k] = a[k * n + k];
				eigenvector(a, n, k, q, v->v + b * n * n, x);
			}
		}
		if (!converged)
			return rt_raise(cx, "linalg.eig: The algorithm failed to converge because the input matrix is "
				"ill-conditioned or has too many repeated eigenvalues.");
	}
	return RT_OK;
}

int
rt_linalg_eig(RtCx *cx, const IValue *in, IValue *out)
{
	RtDtype dtype = rt_complex_type((RtDtype)in[0].u.t->dtype);
	Stack w, v;

	return eig(cx, in[0].u.t, &w, &v) || stack_give(cx, 0, dtype, &w, 1, out) || stack_give(cx, 1, dtype, &v, 2, out)
		? RT_ERROR : RT_OK;
}

int
rt_linalg_eigvals(RtCx *cx, const IValue *in, IValue *out)
{
	Stack w, v;

	return eig(cx, in[0].u.t, &w, &v) ? RT_ERROR : stack_give(cx, 0, rt_complex_type((RtDtype)in[0].u.t->dtype), &w, 1, out);
}

/* ---- exponential --------------------------------------------------------------------------------------------------------------- */

static void
multiply(const Z *a, const Z *b, int64_t n, Z *c)
{
	for (int64_t i = 0; i < n; i++) {
		for (int64_t j = 0; j < n; j++)
			c[i * n + j] = 0;
		for (int64_t k = 0; k < n; k++)
			for (int64_t j = 0; j < n; j++)
				c[i * n + j] += mul(a[i * n + k], b[k * n + j]);
	}
}

enum { TERMS = 18 };

/* Taylor's series of a / 2^k, squared k times. */
static void
exponential(Z *a, int64_t n, Z *x, Z *y)
{
	double most = 0;
	int halvings = 0;

	for (int64_t i = 0; i < n; i++) {
		double sum = 0;
		for (int64_t j = 0; j < n; j++)
			sum += cabs(a[i * n + j]);
		most = fmax(most, sum);
	}
	for (; most > 0.5 && halvings < 1100; halvings++)
		most /= 2;
	for (int64_t i = 0; i < n * n; i++) {
		a[i] *= ldexp(1, -halvings);
		x[i] = i / n == i % n;
	}
	for (int k = TERMS; k > 0; k--) {
		multiply(a, x, n, y);
		for (int64_t i = 0; i < n * n; i++)
			x[i] = y[i] / k + (i / n == i % n);
	}
	for (; halvings > 0; halvings--) {
		multiply(x, x, n, y);
		memcpy(x, y, n * n * sizeof *x);
	}
	memcpy(a, x, n * n * sizeof *x);
}

int
rt_linalg_matrix_exp(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *wide = t->dtype == RT_bf16 || t->dtype == RT_f16 ? rt_temp(cx, rt_to_dtype(cx, t, RT_f32)) : t;
	Stack s;
	Z *x, *y;

	if (!wide || stack_square(cx, "linalg.matrix_exp", wide, &s))
		return RT_ERROR;
	x = rt_scratch(cx, s.n * s.n * 16 + 16);
	y = x ? rt_scratch(cx, s.n * s.n * 16 + 16) : NULL;
	if (!y)
		return RT_ERROR;
	for (int64_t b = 0; !cx->meta && b < s.count; b++)
		exponential(s.v + b * s.n * s.n, s.n, x, y);
	return stack_give_rows(cx, 0, (RtDtype)t->dtype, &s, out);
}
