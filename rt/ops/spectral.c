/* rt/ops/spectral.c - eigenvalues, and the exponential of a matrix
 *
 * hermitian.c computes Hermitian matrices, eigen.c real ones. Other complex matrices are reduced to Hessenberg form by
 * reflections, then to triangular form by QR steps with Wilkinson's shift. Eigenvectors are computed by substitution.
 * They have length 1 and a real largest component, as in LAPACK. */
#include "decomp.h"

RT_FAST

enum { MAX_STEPS = 60 };

/* ---- Hermitian --------------------------------------------------------------------------------------------------- */

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
	if (rt_is_stored_only((RtDtype)t->dtype) ||
	    (cx->torch == RT_TORCH_2 && rt_is_integral((RtDtype)t->dtype, true)))
		return stack_empty(cx, &(RtCall){ .kernel = rt__linalg_eigh, .nin = 3, .nout = 2 },
				   "linalg_eigh_cpu", in, out);
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
		if (eig_hermitian(cx, (Square){ a, s.n, t->dtype == RT_f32 || t->dtype == RT_c64 }, upper, value,
				  in[2].u.i ? v.v + b * s.n * s.n : NULL, &converged))
			return RT_ERROR;
		if (!converged)
			return rt_raise(cx, "linalg.eigh: The algorithm failed to converge because the input matrix is "
				"ill-conditioned or has too many repeated eigenvalues (error code: 1).");
		for (int64_t i = 0; i < s.n; i++)
			w.v[b * s.n + i] = value[i];
	}
	if (stack_give(cx, 0, rt_real_type((RtDtype)t->dtype), &w, STACK_VECTOR, out))
		return RT_ERROR;
	return in[2].u.i ? stack_give(cx, 1, (RtDtype)t->dtype, &v, STACK_MATRIX, out)
			 : stack_give_empty(cx, 1, (RtDtype)t->dtype, out);
}

/* ---- general ----------------------------------------------------------------------------------------------------- */

/* Reduces a = q h q*. h has zeros below its first subdiagonal. */
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
		/* v = x - beta e; the reflection is 1 - 2 v v* / |v|^2. */
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

/* Returns the eigenvalue of the trailing 2 by 2 block at row `hi` that is closer to its last element. */
static Z
shift_of(const Z *a, int64_t n, int64_t hi)
{
	Z p = a[(hi - 1) * n + hi - 1], s = a[hi * n + hi], b = mul(a[(hi - 1) * n + hi], a[hi * n + hi - 1]);
	Z half = (p - s) / 2, root = csqrt(mul(half, half) + b);

	if (cabs(half + root) < cabs(half - root))
		root = -root;
	return half + root == 0 ? s : s - b / (half + root);
}

/* Applies one QR step to rows and columns lo .. hi of the Hessenberg matrix a, and to q. */
static void
qr_step(Z *a, int64_t n, int64_t lo, int64_t hi, Z shift, Z *q)
{
	Z x = a[lo * n + lo] - shift, y = a[(lo + 1) * n + lo];

	for (int64_t k = lo; k < hi; k++) {
		double size = sqrt(norm2(x) + norm2(y));
		Z c = size == 0 ? 1 : x / size, s = size == 0 ? 0 : y / size;
		int64_t last = k + 2 < hi ? k + 2 : hi;
		/* Rotates rows by (c* s*; -s c). */
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

/* Reduces the Hessenberg matrix a to a triangle. Returns false if this does not converge. */
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

/* Computes column k of v: q times the eigenvector of the triangular a for its k-th diagonal element. */
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
			if (eig_real(cx, (Square){ a, n, t->dtype == RT_f32 }, values, v->v + b * n * n, &converged))
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

	return eig(cx, in[0].u.t, &w, &v) || stack_give(cx, 0, dtype, &w, STACK_VECTOR, out) ||
		stack_give(cx, 1, dtype, &v, STACK_MATRIX, out) ? RT_ERROR : RT_OK;
}

int
rt_linalg_eigvals(RtCx *cx, const IValue *in, IValue *out)
{
	Stack w, v;

	return eig(cx, in[0].u.t, &w, &v) ? RT_ERROR
		: stack_give(cx, 0, rt_complex_type((RtDtype)in[0].u.t->dtype), &w, STACK_VECTOR, out);
}

/* ---- exponential ------------------------------------------------------------------------------------------------- */

static void
multiply_square(const Z *a, const Z *b, int64_t n, Z *c)
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

/* Computes the exponential: Taylor's series of a / 2^k, squared k times. */
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
		multiply_square(a, x, n, y);
		for (int64_t i = 0; i < n * n; i++)
			x[i] = y[i] / k + (i / n == i % n);
	}
	for (; halvings > 0; halvings--) {
		multiply_square(x, x, n, y);
		memcpy(x, y, n * n * sizeof *x);
	}
	memcpy(a, x, n * n * sizeof *x);
}

int
rt_linalg_matrix_exp(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t,
		 *wide = t->dtype == RT_bf16 || t->dtype == RT_f16 ? rt_temp(cx, rt_to_dtype(cx, t, RT_f32)) : t;
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
	return stack_give(cx, 0, (RtDtype)t->dtype, &s, STACK_ROWS, out);
}
