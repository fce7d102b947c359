/* rt/ops/decomp.c - LU factorization, solvers for LU factors and triangular matrices, determinants
 *
 * The algorithms and their conventions (choice of pivots, sign of reflections, storage of factors) are those of
 * LAPACK's unblocked routines, because users see the factors.
 */
#include "../base.h"
#include "decomp.h"

RT_FAST

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

int
stack_load(RtCx *cx, const char *name, RtTensor *t, Stack *s)
{
	RtTensor *wide;

	if (t->ndim < 2)
		return rt_raise(cx, "%s: The input tensor A must have at least 2 dimensions.", name);
	if (!rt_is_floating((RtDtype)t->dtype) && !rt_is_complex((RtDtype)t->dtype))
		return rt_raise(cx, "%s: Expected a floating point or complex tensor as input. Got %s", name,
				rt_dtypes[t->dtype].brief);
	if (t->dtype == RT_f16 || t->dtype == RT_bf16 || t->dtype == RT_c32)
		return rt_raise(cx, "%s: Low precision dtypes not supported. Got %s", name, rt_dtypes[t->dtype].brief);
	s->nbatch = t->ndim - 2;
	memcpy(s->batch, t->dims, sizeof *t->dims * s->nbatch);
	s->count = product(t->dims, 0, s->nbatch);
	s->m = t->dims[t->ndim - 2];
	s->n = t->dims[t->ndim - 1];
	s->v = NULL;
	if (cx->meta)
		return RT_OK;
	s->v = rt_scratch(cx, rt_numel(t) * 16 + 16);
	wide = s->v ? dense_as(cx, t, RT_c128) : NULL;
	if (!wide)
		return RT_ERROR;
	memcpy(s->v, rt_data(wide), rt_numel(t) * 16);
	return RT_OK;
}

int
stack_empty(RtCx *cx, const RtCall *call, const char *name, const IValue *in, IValue *out)
{
	const RtDtype d = (RtDtype)in[0].u.t->dtype;
	IValue of[4], y[3];
	RtTensor *r = NULL;

	if (rt_numel(in[0].u.t))
		return rt_raise(cx, "\"%s\" not implemented for '%s'", name, rt_dtypes[d].brief);
	memcpy(of, in, sizeof *in * (size_t)call->nin);
	if (!(r = rt_temp(cx, rt_to_dtype(cx, in[0].u.t, RT_f32))))
		return RT_ERROR;
	of[0] = rt_of(r);
	if (rt_call_temp(cx, call->kernel, y, call->nout, of))
		return RT_ERROR;
	for (int i = 0; i < call->nout; i++) {
		r = rt_result(cx, i, d, y[i].u.t->ndim, y[i].u.t->dims, NULL);
		RT_PUT(r, out[i]);
	}
	for (int i = 0; !cx->meta && i < call->nout; i++)
		if (rt_copy_into(cx, out[i].u.t, y[i].u.t))
			return RT_ERROR;
	return RT_OK;
}

int
stack_square(RtCx *cx, const char *name, RtTensor *t, Stack *s)
{
	if (stack_load(cx, name, t, s))
		return RT_ERROR;
	return s->m == s->n ? RT_OK : rt_raise(cx, "%s: A must be batches of square matrices, but they are %lld by "
		"%lld matrices", name, (long long)s->m, (long long)s->n);
}

Z *
stack_room(RtCx *cx, int64_t count, int64_t m, int64_t n)
{
	int64_t bytes;

	if (size_mul(count, m, &bytes) && size_mul(bytes, n, &bytes) && size_mul(bytes, sizeof(Z), &bytes))
		return rt_scratch(cx, bytes);
	rt_raise(cx, "Storage size calculation overflowed");
	return NULL;
}

int
stack_new(RtCx *cx, const Stack *like, int64_t m, int64_t n, Stack *s)
{
	*s = *like;
	s->m = m;
	s->n = n;
	s->v = NULL;
	if (cx->meta)
		return RT_OK;
	s->v = stack_room(cx, like->count, m, n);
	if (!s->v)
		return RT_ERROR;
	memset(s->v, 0, (size_t)(like->count * m * n) * sizeof(Z));
	return RT_OK;
}

int
stack_give(RtCx *cx, int i, RtDtype dtype, const Stack *s, StackForm form, IValue *out)
{
	const bool rows = form == STACK_ROWS;
	const int rank = rows ? 2 : (int)form;
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK], n;
	RtTensor *r, *wide;
	RtDtype from = rt_is_complex(dtype) ? RT_c128 : RT_f64;

	memcpy(dims, s->batch, sizeof *dims * s->nbatch);
	dims[s->nbatch] = s->m;
	dims[s->nbatch + 1] = s->n;
	if (rank == 2) {
		strides[s->nbatch] = rows ? (s->n ? s->n : 1) : 1;
		strides[s->nbatch + 1] = rows ? 1 : s->m ? s->m : 1;
		n = (s->m ? s->m : 1) * (s->n ? s->n : 1);
		for (int k = s->nbatch; k-- > 0; n *= dims[k] ? dims[k] : 1)
			strides[k] = n;
	}
	r = rt_result(cx, i, dtype, s->nbatch + rank, dims, rank == 2 ? strides : NULL);
	RT_RESULT(cx, r, out[i]);
	n = rt_numel(r);
	/* Moves the real parts to the front. */
	for (int64_t k = 0; from == RT_f64 && k < n; k++)
		((double *)s->v)[k] = creal(s->v[k]);
	wide = rt_temp(cx, rt_tensor_borrow(cx, from, r->ndim, r->dims, s->v, false));
	return wide ? rt_copy_into(cx, r, wide) : RT_ERROR;
}

/* Stores integers as result i, in int32. */
int
stack_give_ints(RtCx *cx, int i, const Stack *s, int64_t each, const int64_t *v, IValue *out)
{
	int64_t dims[RT_MAX_RANK];
	RtTensor *r;

	memcpy(dims, s->batch, sizeof *dims * s->nbatch);
	dims[s->nbatch] = each;
	r = rt_result(cx, i, RT_i32, s->nbatch + (each >= 0), dims, NULL);
	RT_RESULT(cx, r, out[i]);
	for (int64_t k = 0, n = cx->meta ? 0 : rt_numel(r); k < n; k++)
		((int32_t *)(void *)rt_data(r))[k] = (int32_t)v[k];
	return RT_OK;
}

int64_t *
stack_ints(RtCx *cx, int64_t n)
{
	const int64_t bytes = cx->meta ? 8 : n * 8 + 8;      /* without data, the numbers are not read */
	int64_t *v = rt_scratch(cx, bytes);

	if (v)
		memset(v, 0, bytes);
	return v;
}

/* Raises the error for an `info` that is not 0. */
static int
raise_info(RtCx *cx, const char *name, int64_t info, int64_t batch)
{
	char where[64] = "";

	if (batch >= 0)
		snprintf(where, sizeof where, "(Batch element %lld): ", (long long)batch);
	if (strstr(name, "inv"))
		return rt_raise(cx, "%s: %sThe diagonal element %lld is zero, the inversion could not be completed "
			"because the input matrix is singular.", name, where, (long long)info);
	if (strstr(name, "solve"))
		return rt_raise(cx, "%s: %sThe solver failed because the input matrix is singular.", name, where);
	if (strstr(name, "cholesky"))
		return rt_raise(cx, "%s: %sThe factorization could not be completed because the input is not "
			"positive-definite (the leading minor of order %lld is not positive-definite).", name, where,
			(long long)info);
	if (strstr(name, "eig") || strstr(name, "syevd"))
		return rt_raise(cx, "%s: %sThe algorithm failed to converge because the input matrix is "
			"ill-conditioned or has too many repeated eigenvalues (error code: %lld).", name, where,
			(long long)info);
	if (strstr(name, "svd"))
		return rt_raise(cx, "%s: %sThe algorithm failed to converge because the input matrix is "
			"ill-conditioned or has too many repeated singular values (error code: %lld).", name, where,
			(long long)info);
	return rt_raise(cx, "%s: %sU[%lld,%lld] is zero and using it on lu_solve would result in a division by zero.",
		name, where, (long long)info, (long long)info);
}

int
stack_check_info(RtCx *cx, const char *name, const Stack *s, const int64_t *info)
{
	for (int64_t i = 0; !cx->meta && i < s->count; i++)
		if (info[i])
			return raise_info(cx, name, info[i], s->nbatch ? i : -1);
	return RT_OK;
}

int
rt__linalg_check_errors(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *info = dense_as(cx, in[0].u.t, RT_i64);

	(void)out;
	if (!info)
		return RT_ERROR;
	for (int64_t i = 0, n = cx->meta ? 0 : rt_numel(info); i < n; i++) {
		int64_t v = ((int64_t *)(void *)rt_data(info))[i];
		if (v)
			return raise_info(cx, in[1].u.str->s, v, in[2].u.i ? -1 : i);
	}
	return RT_OK;
}

/* ---- LU ---------------------------------------------------------------------------------------------------------- */

void
stack_swap_rows(Z *a, int64_t n, int64_t i, int64_t j)
{
	for (int64_t k = 0; i != j && k < n; k++) {
		Z t = a[i * n + k];
		a[i * n + k] = a[j * n + k];
		a[j * n + k] = t;
	}
}

/* Factors a (m, n) into L and U. pivot[i] is the row, counted from 1, that row i was exchanged with. Returns the index,
 * counted from 1, of the first zero pivot. 0 if no pivot is zero. */
static int64_t
lu(Z *a, int64_t m, int64_t n, bool pivoting, int64_t *pivot)
{
	int64_t info = 0;

	for (int64_t k = 0; k < m && k < n; k++) {
		int64_t best = k;
		double most = -1;
		for (int64_t i = k; pivoting && i < m; i++) {
			double size = fabs(creal(a[i * n + k])) + fabs(cimag(a[i * n + k]));
			if (size > most) {
				most = size;
				best = i;
			}
		}
		pivot[k] = best + 1;
		if (a[best * n + k] == 0) {
			info = info ? info : k + 1;
			continue;
		}
		stack_swap_rows(a, n, k, best);
		for (int64_t i = k + 1; i < m; i++) {
			a[i * n + k] /= a[k * n + k];
			row_minus(a + i * n + k + 1, a[i * n + k], a + k * n + k + 1, n - k - 1);
		}
	}
	return info;
}

int
rt_linalg_lu_factor_ex(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Stack s;
	int64_t *pivot, *info, k;

	if (stack_load(cx, "torch.lu_factor", t, &s))
		return RT_ERROR;
	k = s.m < s.n ? s.m : s.n;
	pivot = stack_ints(cx, s.count * k);
	info = pivot ? stack_ints(cx, s.count) : NULL;
	if (!info)
		return RT_ERROR;
	for (int64_t i = 0; !cx->meta && i < s.count; i++)
		info[i] = lu(s.v + i * s.m * s.n, s.m, s.n, in[1].u.i, pivot + i * k);
	if (in[2].u.i && stack_check_info(cx, "torch.linalg.lu_factor_ex", &s, info))
		return RT_ERROR;
	return stack_give(cx, 0, (RtDtype)t->dtype, &s, STACK_MATRIX, out) || stack_give_ints(cx, 1, &s, k, pivot, out)
		|| stack_give_ints(cx, 2, &s, -1, info, out) ? RT_ERROR : RT_OK;
}

/* ---- triangles --------------------------------------------------------------------------------------------------- */

/* Divides b by d, which is 0 for a singular matrix. If both are real, divides only the real parts, so that the
 * imaginary part stays 0. */
static Z
over(Z b, Z d)
{
	return cimag(b) == 0 && cimag(d) == 0 ? creal(b) / creal(d) : b / d;
}

/* A triangle of a (n, n). Its other elements are not read. */
typedef struct Triangle {
	const Z *a;
	int64_t  n;
	bool     upper, unit;            /* unit: whether the diagonal counts as ones */
	bool     transposed, conjugated; /* whether the equation has the triangle's transpose, its conjugate */
} Triangle;

/* Solves T x = b for the k columns of b (n, k) in place. As in BLAS, zeros of b are skipped if T is not transposed, so
 * that a singular T leaves them 0. */
static void
solve_triangle(Triangle t, Z *b, int64_t k)
{
	const bool forward = t.upper == t.transposed, transposed = t.transposed, conjugated = t.conjugated;
	const int64_t n = t.n;
	const Z *a = t.a;

	for (int64_t step = 0; step < n; step++) {
		int64_t i = forward ? step : n - 1 - step;
		for (int64_t other = 0; other < step; other++) {
			int64_t j = forward ? other : n - 1 - other;
			Z v = transposed ? a[j * n + i] : a[i * n + j];
			v = conjugated ? conj(v) : v;
			if (isfinite(creal(v)) && cimag(v) == 0) {
				row_minus(b + i * k, v, b + j * k, k);
				continue;
			}
			for (int64_t c = 0; c < k; c++)
				if (transposed || b[j * k + c] != 0)
					b[i * k + c] -= mul(v, b[j * k + c]);
		}
		if (!t.unit) {
			Z d = conjugated ? conj(a[i * n + i]) : a[i * n + i];
			for (int64_t c = 0; c < k; c++)
				if (transposed || b[i * k + c] != 0)
					b[i * k + c] = over(b[i * k + c], d);
		}
	}
}

/* Copies the transpose of a matrix (m, n) to (n, m). */
static void
transpose(const Z *from, int64_t m, int64_t n, Z *to)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			to[j * m + i] = from[i * n + j];
}

int
equation_load(RtCx *cx, RtTensor *ta, RtTensor *tb, Equation *e)
{
	const char *name = e->name;
	const bool left = e->left;
	int64_t dims[RT_MAX_RANK];
	int n = 0;
	RtTensor *x = ta, *y = tb;

	if (ta->ndim < 2 || tb->ndim < 2)
		return rt_raise(cx, "%s: Expected inputs of at least 2 dimensions", name);
	if (ta->dtype != tb->dtype)
		return rt_raise(cx, "%s: Expected A and B to have the same dtype, but found A of type %s and B of type "
			"%s instead", name, rt_dtypes[ta->dtype].brief, rt_dtypes[tb->dtype].brief);
	if (ta->dims[ta->ndim - 2] != ta->dims[ta->ndim - 1])
		return rt_raise(cx, "%s: A must be batches of square matrices, but they are %lld by %lld matrices",
				name, (long long)ta->dims[ta->ndim - 2], (long long)ta->dims[ta->ndim - 1]);
	if (ta->dims[ta->ndim - 1] != tb->dims[tb->ndim - (left ? 2 : 1)])
		return rt_raise(cx, "%s: Incompatible shapes of A and B for the equation %s (%lldx%lld and %lldx%lld)",
				name, left ? "AX = B" : "XA = B", (long long)ta->dims[ta->ndim - 2],
				(long long)ta->dims[ta->ndim - 1], (long long)tb->dims[tb->ndim - 2],
				(long long)tb->dims[tb->ndim - 1]);
	if (rt_broadcast(cx, &n, dims, ta->ndim - 2, ta->dims) || rt_broadcast(cx, &n, dims, tb->ndim - 2, tb->dims))
		return RT_ERROR;
	memcpy(dims + n, ta->dims + ta->ndim - 2, 16);
	if (!cx->meta || ta->ndim != n + 2)
		x = cx->meta ? temp_new(cx, (RtDtype)ta->dtype, n + 2, dims) : ta;
	if (!cx->meta) {
		RtTensor *full = temp_new(cx, (RtDtype)ta->dtype, n + 2, dims);
		if (!full || rt_copy_into(cx, full, ta))
			return RT_ERROR;
		x = full;
	}
	memcpy(dims + n, tb->dims + tb->ndim - 2, 16);
	y = temp_new(cx, (RtDtype)tb->dtype, n + 2, dims);
	if (!x || !y || (!cx->meta && rt_copy_into(cx, y, tb)))
		return RT_ERROR;
	return stack_load(cx, name, x, &e->a) || stack_load(cx, name, y, &e->b) ? RT_ERROR : RT_OK;
}

/* Solves triangular equations for a stack of matrices. t describes the triangle without a and n. XA = B is computed as
 * A' X' = B'. */
static int
solve_triangular(RtCx *cx, RtTensor *ta, RtTensor *tb, Equation e, Triangle t, IValue *out)
{
	const Stack *b = &e.b;
	Z *turned;

	if (equation_load(cx, ta, tb, &e))
		return RT_ERROR;
	turned = rt_scratch(cx, b->m * b->n * 16 + 16);
	if (!turned)
		return RT_ERROR;
	t.n = e.a.n;
	t.transposed ^= !e.left;
	for (int64_t i = 0; !cx->meta && i < e.a.count; i++) {
		Z *x = b->v + i * b->m * b->n;
		t.a = e.a.v + i * t.n * t.n;
		if (e.left) {
			solve_triangle(t, x, b->n);
			continue;
		}
		transpose(x, b->m, b->n, turned);
		solve_triangle(t, turned, b->m);
		transpose(turned, b->n, b->m, x);
	}
	return stack_give(cx, 0, (RtDtype)tb->dtype, b, STACK_MATRIX, out);
}

int
rt_linalg_solve_triangular(RtCx *cx, const IValue *in, IValue *out)
{
	const Equation e = { .name = "linalg.solve_triangular", .left = in[3].u.i };

	return solve_triangular(cx, in[0].u.t, in[1].u.t, e, (Triangle){ .upper = in[2].u.i, .unit = in[4].u.i }, out);
}

int
rt_triangular_solve(RtCx *cx, const IValue *in, IValue *out)
{
	const Equation e = { .name = "triangular_solve", .left = true };
	const Triangle t = { .upper = in[2].u.i, .transposed = in[3].u.i, .unit = in[4].u.i };

	if (solve_triangular(cx, in[1].u.t, in[0].u.t, e, t, out))
		return RT_ERROR;
	out[1] = rt_of(rt_clone(cx, in[1].u.t));
	return out[1].u.t ? RT_OK : RT_ERROR;
}

/* ---- solving by LU ----------------------------------------------------------------------------------------------- */

/* LU factors of one matrix (n, n), from lu(). */
typedef struct Factors {
	const Z       *lu;
	int64_t        n;
	const int64_t *pivot;
} Factors;

/* Solves for b (n, k) in place by the factors of A, of its transpose, or of its conjugate transpose. */
static void
lu_solve(const Factors *f, Z *b, int64_t k, bool transposed, bool conjugated)
{
	const Triangle lower = { f->lu, f->n, false, true, transposed, conjugated };
	const Triangle upper = { f->lu, f->n, true, false, transposed, conjugated };

	for (int64_t i = 0; !transposed && i < f->n; i++)
		stack_swap_rows(b, k, i, f->pivot[i] - 1);
	solve_triangle(transposed ? upper : lower, b, k);
	solve_triangle(transposed ? lower : upper, b, k);
	for (int64_t i = f->n; transposed && i-- > 0;)
		stack_swap_rows(b, k, i, f->pivot[i] - 1);
}

/* Solves for right side i in place. `turned` is scratch memory for one matrix. */
static void
lu_solve_sided(const Factors *f, const Equation *e, int64_t i, bool adjoint, Z *turned)
{
	const int64_t m = e->b.m, k = e->b.n;
	Z *x = e->b.v + i * m * k;

	if (e->left) {
		lu_solve(f, x, k, adjoint, adjoint);
		return;
	}
	/* X A = B is solved as A' X' = B', and X A* = B as conj(A) X' = B'. */
	transpose(x, m, k, turned);
	for (int64_t j = 0; adjoint && j < m * k; j++)
		turned[j] = conj(turned[j]);
	lu_solve(f, turned, m, !adjoint, false);
	for (int64_t j = 0; adjoint && j < m * k; j++)
		turned[j] = conj(turned[j]);
	transpose(turned, k, m, x);
}

/* Whether B has one vector for each matrix. As in NumPy, it has if it is 1-d, or if it has the batch dims and one
 * more. */
static bool
is_vector(const RtTensor *a, const RtTensor *b)
{
	return b->ndim == 1 || (b->ndim == a->ndim - 1 && !memcmp(b->dims, a->dims, sizeof *a->dims * (a->ndim - 1)));
}

/* Further results of LU: the factors, the pivots, and LAPACK's info of each matrix. */
typedef struct Side {
	Stack    f;
	int64_t *pivot, *info;
} Side;

static int
solve_by_lu(RtCx *cx, const char *name, const IValue *in, bool check, IValue *out, Side *side)
{
	RtTensor *ta = in[0].u.t, *tb = in[1].u.t;
	Equation e = { .name = name, .left = in[2].u.i };
	bool vector;
	IValue column;
	Z *turned;

	if (ta->ndim < 2)
		return rt_raise(cx, "%s: The input tensor A must have at least 2 dimensions.", name);
	vector = is_vector(ta, tb);
	if (vector && !e.left)
		return rt_raise(cx, "%s: Vector broadcasting of the left hand side is not supported for left=False. In "
			"this case linalg.solve is equivalent to B / A.squeeze(-1)", name);
	if (vector) {
		if (CALL(cx, unsqueeze, &column, rt_of(tb), rt_int(-1)))
			return RT_ERROR;
		tb = column.u.t;
	}
	if (equation_load(cx, ta, tb, &e))
		return RT_ERROR;
	side->f = e.a;
	side->pivot = stack_ints(cx, e.a.count * e.a.n);
	side->info = side->pivot ? stack_ints(cx, e.a.count) : NULL;
	turned = side->info ? rt_scratch(cx, e.b.m * e.b.n * 16 + 16) : NULL;
	if (!turned)
		return RT_ERROR;
	for (int64_t i = 0, n = e.a.n; !cx->meta && i < e.a.count; i++) {
		const Factors f = { e.a.v + i * n * n, n, side->pivot + i * n };
		side->info[i] = lu(e.a.v + i * n * n, n, n, true, side->pivot + i * n);
		lu_solve_sided(&f, &e, i, false, turned);
	}
	if (check && stack_check_info(cx, name, &e.a, side->info))
		return RT_ERROR;
	return stack_give(cx, 0, (RtDtype)tb->dtype, &e.b, vector ? STACK_VECTOR : STACK_MATRIX, out);
}

int
rt_linalg_solve_ex(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return solve_by_lu(cx, "torch.linalg.solve_ex", in, in[3].u.i, out, &s)
		|| stack_give_ints(cx, 1, &s.f, -1, s.info, out) ? RT_ERROR : RT_OK;
}

int
rt__linalg_solve_ex(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return solve_by_lu(cx, "torch.linalg.solve_ex", in, in[3].u.i, out, &s)
		|| stack_give(cx, 1, (RtDtype)in[0].u.t->dtype, &s.f, STACK_MATRIX, out)
		|| stack_give_ints(cx, 2, &s.f, s.f.n, s.pivot, out)
		|| stack_give_ints(cx, 3, &s.f, -1, s.info, out) ? RT_ERROR : RT_OK;
}

int
rt_linalg_solve(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return solve_by_lu(cx, "torch.linalg.solve", in, true, out, &s);
}

static int
inverse(RtCx *cx, const char *name, RtTensor *t, bool check, IValue *out, Side *side)
{
	Stack r, *s = &side->f;
	int64_t *pivot, n;

	if (stack_square(cx, name, t, s) || stack_new(cx, s, s->n, s->n, &r))
		return RT_ERROR;
	n = s->n;
	pivot = stack_ints(cx, n);
	side->info = pivot ? stack_ints(cx, s->count) : NULL;
	if (!side->info)
		return RT_ERROR;
	for (int64_t i = 0; !cx->meta && i < s->count; i++) {
		Z *x = r.v + i * n * n, *f = s->v + i * n * n;
		for (int64_t k = 0; k < n; k++)
			x[k * n + k] = 1;
		side->info[i] = lu(f, n, n, true, pivot);
		lu_solve(&(Factors){ f, n, pivot }, x, n, false, false);
	}
	if (check && stack_check_info(cx, name, s, side->info))
		return RT_ERROR;
	return stack_give(cx, 0, (RtDtype)t->dtype, &r, STACK_MATRIX, out);
}

int
rt_linalg_inv(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return inverse(cx, "linalg.inv", in[0].u.t, true, out, &s);
}

int
rt_linalg_inv_ex(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return inverse(cx, "linalg.inv_ex", in[0].u.t, in[1].u.i, out, &s) ||
		stack_give_ints(cx, 1, &s.f, -1, s.info, out) ? RT_ERROR : RT_OK;
}

/* Reads the pivots of the stack, broadcast to its batch. Raises an error for a pivot that is not the number of a row.
 * */
static int64_t *
load_pivots(RtCx *cx, RtTensor *t, const Stack *s)
{
	int64_t dims[RT_MAX_RANK], *v, n = s->m < s->n ? s->m : s->n;
	RtTensor *full;

	if (t->dtype != RT_i32 || t->ndim < 1 || t->dims[t->ndim - 1] != n) {
		rt_raise(cx,
			 "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix");
		return NULL;
	}
	memcpy(dims, s->batch, sizeof *dims * s->nbatch);
	dims[s->nbatch] = n;
	full = temp_new(cx, RT_i64, s->nbatch + 1, dims);
	if (!full)
		return NULL;
	if (cx->meta)
		return stack_ints(cx, 1);
	if (rt_copy_into(cx, full, t))
		return NULL;
	v = (int64_t *)(void *)rt_data(full);
	for (int64_t i = 0; i < s->count * n; i++)
		if (v[i] < 1 || v[i] > s->m) {
			rt_raise(cx, "Pivots given to lu_solve must all be greater or equal to 1 and at most the "
				"number of rows");
			return NULL;
		}
	return v;
}

int
rt_linalg_lu_solve(RtCx *cx, const IValue *in, IValue *out)
{
	Equation e = { .name = "torch.linalg.lu_solve", .left = in[3].u.i };
	int64_t *pivot;
	Z *turned;

	if (equation_load(cx, in[0].u.t, in[2].u.t, &e))
		return RT_ERROR;
	pivot = load_pivots(cx, in[1].u.t, &e.a);
	turned = pivot ? rt_scratch(cx, e.b.m * e.b.n * 16 + 16) : NULL;
	if (!turned)
		return RT_ERROR;
	for (int64_t i = 0, n = e.a.n; !cx->meta && i < e.a.count; i++)
		lu_solve_sided(&(Factors){ e.a.v + i * n * n, n, pivot + i * n }, &e, i, in[4].u.i, turned);
	return stack_give(cx, 0, (RtDtype)in[2].u.t->dtype, &e.b, STACK_MATRIX, out);
}

int
stack_give_empty(RtCx *cx, int i, RtDtype dtype, IValue *out)
{
	int64_t none = 0;
	RtTensor *r = rt_result(cx, i, dtype, 1, &none, NULL);

	RT_RESULT(cx, r, out[i]);
	return RT_OK;
}

/* Returns P, L, U with A = P L U. */
int
rt_lu_unpack(RtCx *cx, const IValue *in, IValue *out)
{
	RtDtype dtype = (RtDtype)in[0].u.t->dtype;
	Stack s, p, l, u;
	int64_t k, *pivot, *row;

	if (stack_load(cx, "torch.lu_unpack", in[0].u.t, &s))
		return RT_ERROR;
	k = s.m < s.n ? s.m : s.n;
	pivot = in[3].u.i ? load_pivots(cx, in[1].u.t, &s) : stack_ints(cx, 1);
	row = pivot ? stack_ints(cx, s.m) : NULL;
	if (!row || stack_new(cx, &s, s.m, s.m, &p) || stack_new(cx, &s, s.m, k, &l) || stack_new(cx, &s, k, s.n, &u))
		return RT_ERROR;
	for (int64_t b = 0; !cx->meta && b < s.count; b++) {
		const Z *f = s.v + b * s.m * s.n;
		for (int64_t i = 0; i < s.m; i++) {
			row[i] = i;
			for (int64_t j = 0; j < k; j++)
				l.v[(b * s.m + i) * k + j] = i == j ? 1 : i > j ? f[i * s.n + j] : 0;
		}
		for (int64_t i = 0; i < k; i++)
			for (int64_t j = i; j < s.n; j++)
				u.v[(b * k + i) * s.n + j] = f[i * s.n + j];
		for (int64_t i = 0; in[3].u.i && i < k; i++) {
			int64_t other = pivot[b * k + i] - 1, t = row[i];
			row[i] = row[other];
			row[other] = t;
		}
		for (int64_t i = 0; i < s.m; i++)
			p.v[(b * s.m + row[i]) * s.m + i] = 1;
	}
	if (in[3].u.i ? stack_give(cx, 0, dtype, &p, STACK_ROWS, out) : stack_give_empty(cx, 0, dtype, out))
		return RT_ERROR;
	if (!in[2].u.i)
		return stack_give_empty(cx, 1, dtype, out) || stack_give_empty(cx, 2, dtype, out) ? RT_ERROR : RT_OK;
	return stack_give(cx, 1, dtype, &l, STACK_ROWS, out) ||
	       stack_give(cx, 2, dtype, &u, STACK_ROWS, out) ? RT_ERROR : RT_OK;
}

/* ---- determinants ------------------------------------------------------------------------------------------------ */

/* Computes the determinants as sign * exp(size). Both are stacks of numbers. */
static int
determinant(RtCx *cx, const char *name, RtTensor *t, Side *side, Stack *sign, Stack *size)
{
	Stack *s = &side->f;

	if (stack_square(cx, name, t, s) || stack_new(cx, s, 1, 1, sign) || stack_new(cx, s, 1, 1, size))
		return RT_ERROR;
	side->pivot = stack_ints(cx, s->count * s->n);
	if (!side->pivot)
		return RT_ERROR;
	for (int64_t i = 0; !cx->meta && i < s->count; i++) {
		Z *f = s->v + i * s->n * s->n, d = 1;
		double log_size = 0;
		int64_t *pivot = side->pivot + i * s->n;
		lu(f, s->n, s->n, true, pivot);
		for (int64_t k = 0; k < s->n; k++) {
			Z v = f[k * s->n + k];
			double a = cabs(v);
			d = mul(d, a == 0 ? 0 : v / a);
			log_size += log(a);
			if (pivot[k] != k + 1)
				d = -d;
		}
		sign->v[i] = d;
		size->v[i] = log_size;
	}
	return RT_OK;
}

static int
det(RtCx *cx, RtTensor *t, IValue *out, Side *side)
{
	Stack sign, size, *s = &side->f;

	if (determinant(cx, "linalg.det", t, side, &sign, &size))
		return RT_ERROR;
	for (int64_t i = 0; !cx->meta && i < s->count; i++) {
		Z d = 1;
		for (int64_t k = 0; k < s->n; k++)
			d = mul(d, s->v[(i * s->n + k) * s->n + k] * (side->pivot[i * s->n + k] == k + 1 ? 1 : -1));
		sign.v[i] = d;
	}
	return stack_give(cx, 0, (RtDtype)t->dtype, &sign, STACK_NUMBER, out);
}

int
rt_linalg_det(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return det(cx, in[0].u.t, out, &s);
}

int
rt__linalg_det(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return det(cx, in[0].u.t, out, &s) || stack_give(cx, 1, (RtDtype)in[0].u.t->dtype, &s.f, STACK_MATRIX, out)
		|| stack_give_ints(cx, 2, &s.f, s.f.n, s.pivot, out) ? RT_ERROR : RT_OK;
}

/* Computes the sign and the logarithm of the magnitude of t's determinant. */
static int
slogdet(RtCx *cx, RtTensor *t, IValue *out, Side *s)
{
	const RtDtype dtype = (RtDtype)t->dtype;
	Stack sign, size;

	return determinant(cx, "linalg.slogdet", t, s, &sign, &size)
		|| stack_give(cx, 0, dtype, &sign, STACK_NUMBER, out)
		|| stack_give(cx, 1, rt_real_type(dtype), &size, STACK_NUMBER, out) ? RT_ERROR : RT_OK;
}

int
rt_linalg_slogdet(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return slogdet(cx, in[0].u.t, out, &s);
}

int
rt__linalg_slogdet(RtCx *cx, const IValue *in, IValue *out)
{
	Side s;

	return slogdet(cx, in[0].u.t, out, &s)
		|| stack_give(cx, 2, (RtDtype)in[0].u.t->dtype, &s.f, STACK_MATRIX, out)
		|| stack_give_ints(cx, 3, &s.f, s.f.n, s.pivot, out) ? RT_ERROR : RT_OK;
}
