/* rt/ops/linalg.c - matrix products as operators: mm, bmm, matmul, linear, addmm and similar ones
 *
 * Operands keep their strides and are cast to a compute type. gemm writes a dense array of that type, to which alpha,
 * beta and bias are applied. Then it is rounded once to the result's dtype. */
#include <string.h>

#include "gemm.h"
#include "scatter.h"

/* A stack of matrices, which are the last two dims of t. */
typedef struct Stack {
	RtTensor *t;             /* a tensor of the compute type */
	int64_t row, col;        /* strides */
} Stack;

static RtDtype
product_type(RtDtype dtype)
{
	RtDtype wide = compute_of(dtype);

	return wide == RT_b8 ? RT_i64 : wide;
}

static int
stack_of(RtCx *cx, RtTensor *t, Stack *s)
{
	RtDtype wide = product_type((RtDtype)t->dtype);

	s->t = t->dtype == wide ? t : rt_temp(cx, rt_to_dtype(cx, t, wide));
	if (!s->t)
		return RT_ERROR;
	s->row = s->t->ndim > 1 ? s->t->strides[s->t->ndim - 2] : 0;
	s->col = s->t->ndim ? s->t->strides[s->t->ndim - 1] : 1;
	return RT_OK;
}

/* Raises an error if the dtypes differ, or if they are not supported and the product has elements. `kernel` is ATen's
 * name. */
static int
check_types(RtCx *cx, const RtTensor *a, const RtTensor *b, const char *kernel)
{
	if (a->dtype != b->dtype)
		return rt_raise(cx, "expected scalar type %s but found %s", rt_dtypes[a->dtype].brief,
				rt_dtypes[b->dtype].brief);
	if (rt_numel(a) && rt_numel(b) && (a->dtype == RT_b8 || rt_category((RtDtype)a->dtype) == 'U' ||
	    (rt_category((RtDtype)a->dtype) == 'E' && strcmp(kernel, "addmm_impl_cpu_") != 0)))
		return rt_raise(cx, "\"%s\" not implemented for '%s'", kernel, rt_dtypes[a->dtype].brief);
	return RT_OK;
}

/* Raises an error if the dtypes of a product with an added tensor differ. */
static int
check_sum_types(RtCx *cx, const RtTensor *self, const RtTensor *a, const RtTensor *b)
{
	if (self->dtype != b->dtype)
		return rt_raise(cx, "self and mat2 must have the same dtype");
	return a->dtype != b->dtype ? rt_raise(cx, "mat1 and mat2 must have the same dtype") : RT_OK;
}

/* Two stacks of matrices, (m, k) and (k, n) each, with equal or broadcast batch dims. */
typedef struct Stacks {
	int nbatch;
	const int64_t *batch;
	int64_t m, n, k;
} Stacks;

/* Computes the product of two stacks in c, a dense array of the compute type. With `added`, adds it to c. */
static int
multiply_stacks(RtCx *cx, RtTensor *ta, RtTensor *tb, const Stacks *s, void *c, bool added)
{
	RtDtype wide = product_type((RtDtype)ta->dtype);
	int64_t bytes = rt_dtypes[wide].bytes, count = product(s->batch, 0, s->nbatch);
	Stack a, b;

	if (stack_of(cx, ta, &a) || stack_of(cx, tb, &b))
		return RT_ERROR;
	for (int64_t i = 0; i < count; i++) {
		int64_t rest = i, oa = 0, ob = 0;
		Product p = { s->m, s->n, s->k, NULL, NULL, a.row, a.col, b.row, b.col,
			.c = (char *)c + i * s->m * s->n * bytes, .added = added };
		for (int d = s->nbatch - 1; d >= 0; d--) {
			int da = d - s->nbatch + a.t->ndim - 2, db = d - s->nbatch + b.t->ndim - 2;
			int64_t at = rest % s->batch[d];
			rest /= s->batch[d];
			if (da >= 0 && a.t->dims[da] != 1)
				oa += at * a.t->strides[da];
			if (db >= 0 && b.t->dims[db] != 1)
				ob += at * b.t->strides[db];
		}
		p.a = rt_data(a.t) + oa * bytes;
		p.b = rt_data(b.t) + ob * bytes;
		if (gemm(cx, wide, &p))
			return RT_ERROR;
	}
	return RT_OK;
}

/* Computes c = beta * self + alpha * c for n elements. If self is null or beta is 0, c = alpha * c. */
static void
scale_add(RtDtype dtype, int64_t n, void *c, IValue alpha, const void *self, IValue beta)
{
	alpha = rt_is_none(alpha) ? rt_int(1) : alpha;
	beta = rt_is_none(beta) ? rt_int(1) : beta;
#define EACH(T, number) { \
		T *to = c; \
		const T *from = self; \
		T by = (T)number(alpha), with = (T)number(beta); \
		if (by != 1) \
			for (int64_t i = 0; i < n; i++) \
				to[i] *= by; \
		if (from && with != 0) \
			for (int64_t i = 0; i < n; i++) \
				to[i] += with * from[i]; \
	} break;
	switch (dtype) {
	case RT_f32: EACH(float, rt_number)
	case RT_f64: EACH(double, rt_number)
	case RT_i64: EACH(int64_t, rt_integer)
	default: break;
	}
#undef EACH
}

static RtC128
complex_of(IValue v)
{
	if (v.tag == RT_COMPLEX)
		return (RtC128){ v.u.c->re, v.u.c->im };
	return (RtC128){ rt_is_none(v) ? 1 : rt_number(v), 0 };
}

static void
scale_add_complex(RtDtype dtype, int64_t n, void *c, IValue alpha, const void *self, IValue beta)
{
	RtC128 by = complex_of(alpha), with = complex_of(beta);

#define EACH(T, R) \
	for (int64_t i = 0; i < n; i++) { \
		T *to = (T *)c + i, v = *to; \
		const T *from = self ? (const T *)self + i : NULL; \
		to->re = (R)(by.re * v.re - by.im * v.im); \
		to->im = (R)(by.re * v.im + by.im * v.re); \
		if (from && (with.re != 0 || with.im != 0)) { \
			to->re += (R)(with.re * from->re - with.im * from->im); \
			to->im += (R)(with.re * from->im + with.im * from->re); \
		} \
	}
	if (dtype == RT_c64) {
		EACH(RtC64, float)
	} else {
		EACH(RtC128, double)
	}
#undef EACH
}

/* The common form of these operators: r = beta * self + alpha * (a @ b). a and b are stacks of matrices, and r has the
 * dims batch + (m, n). */
typedef struct Sum {
	RtTensor *self;          /* broadcasts to r; null if there is none */
	IValue alpha, beta;      /* None for 1 */
	bool vector;             /* whether b is a vector */
	bool after;              /* whether self is added to the finished sums; otherwise the sums begin with it */
} Sum;

static float
factor(IValue v)
{
	return rt_is_none(v) ? 1 : (float)rt_number(v);
}

static RtTensor *
addend(RtCx *cx, const RtTensor *r, const Sum *sum, RtDtype wide)
{
	RtTensor *self = rt_temp(cx, rt_to_dtype(cx, sum->self, wide));

	return self ? expanded(cx, self, r->ndim, r->dims) : NULL;
}

static int
product_into(RtCx *cx, RtTensor *r, RtTensor *a, RtTensor *b, const Stacks *s, const Sum *sum)
{
	RtDtype wide = product_type((RtDtype)r->dtype);
	RtTensor *c = r->dtype == wide && rt_is_contiguous(r) ? r : temp_new(cx, wide, r->ndim, r->dims);
	RtTensor *self = NULL;
	bool added;

	if (!c || (sum && sum->self && !(self = addend(cx, r, sum, wide))))
		return RT_ERROR;
	added = sum && self && wide == RT_f32 && !sum->after && factor(sum->alpha) == 1 &&
		factor(sum->beta) == 1;
	if (added && rt_copy_into(cx, c, self))
		return RT_ERROR;
	if (multiply_stacks(cx, a, b, s, rt_data(c), added))
		return RT_ERROR;
	if (sum && rt_is_complex(wide))
		scale_add_complex(wide, rt_numel(c), rt_data(c), sum->alpha, self ? rt_data(self) : NULL, sum->beta);
	else if (sum && !added)
		scale_add(wide, rt_numel(c), rt_data(c), sum->alpha, self ? rt_data(self) : NULL, sum->beta);
	return c == r ? RT_OK : rt_copy_into(cx, r, c);
}

/* ---- mm, bmm, addmm, baddbmm, addbmm ----------------------------------------------------------------------------- */

static int
check_mm(RtCx *cx, const RtTensor *a, const RtTensor *b, const char *first)
{
	if (a->ndim != 2)
		return rt_raise(cx, "%s must be a matrix", first);
	if (b->ndim != 2)
		return rt_raise(cx, "mat2 must be a matrix");
	if (a->dims[1] != b->dims[0])
		return rt_raise(cx, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
				(long long)a->dims[0], (long long)a->dims[1], (long long)b->dims[0],
				(long long)b->dims[1]);
	return check_types(cx, a, b, "addmm_impl_cpu_");
}

int
rt_mm(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = in[0].u.t, *b = in[1].u.t, *r;
	int64_t dims[2];

	if (check_mm(cx, a, b, "self"))
		return RT_ERROR;
	dims[0] = a->dims[0];
	dims[1] = b->dims[1];
	r = rt_result(cx, 0, (RtDtype)a->dtype, 2, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	return product_into(cx, r, a, b, &(Stacks){ 0, NULL, dims[0], dims[1], a->dims[1] }, NULL);
}

/* Raises an error unless self broadcasts to dims. */
static int
check_expands(RtCx *cx, const RtTensor *self, int n, const int64_t *dims)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];

	for (int i = 0; i < self->ndim; i++) {
		int d = n - self->ndim + i;
		if (d < 0 || (self->dims[i] != dims[d] && self->dims[i] != 1))
			return rt_raise(cx, "The expanded size of the tensor (%lld) must match the existing size "
				"(%lld) at non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
				(long long)(d < 0 ? 0 : dims[d]), (long long)self->dims[i], d, sizes_text(a, n, dims),
				sizes_text(b, self->ndim, self->dims));
	}
	return RT_OK;
}

/* Returns the sum of an operator's arguments. If beta is 0, only the type of self matters. */
static Sum
sum_of(RtTensor *self, IValue beta, IValue alpha)
{
	bool none = (beta.tag == RT_INT && beta.u.i == 0) || (beta.tag == RT_DOUBLE && beta.u.f == 0)
		|| (beta.tag == RT_BOOL && !beta.u.i);

	return (Sum){ none ? NULL : self, alpha, beta, false, false };
}

/* Checks that alpha and beta fit in the result's type. Like PyTorch, checks neither if the result is empty or nothing
 * is summed. If k is 0, alpha is ignored. */
static int
check_factors(RtCx *cx, Sum *sum, RtDtype dtype, int64_t elements, int64_t k)
{
	if (!k)
		sum->alpha = rt_none();
	if (!elements || (!k && !sum->vector))
		return RT_OK;
	if (!rt_is_none(sum->alpha) && rt_check_number(cx, sum->alpha, dtype))
		return RT_ERROR;
	return rt_is_none(sum->beta) ? RT_OK : rt_check_number(cx, sum->beta, dtype);
}

int
rt_addmm(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *a = in[1].u.t, *b = in[2].u.t, *r;
	Sum sum = sum_of(self, in[3], in[4]);
	int64_t dims[2];

	if (check_sum_types(cx, self, a, b) || check_mm(cx, a, b, "mat1"))
		return RT_ERROR;
	dims[0] = a->dims[0];
	dims[1] = b->dims[1];
	if (check_expands(cx, self, 2, dims) ||
	    check_factors(cx, &sum, (RtDtype)a->dtype, product(dims, 0, 2), a->dims[1]))
		return RT_ERROR;
	sum.after = true;                        /* PyTorch's executors run it as mm and add */
	r = rt_result(cx, 0, (RtDtype)a->dtype, 2, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	return product_into(cx, r, a, b, &(Stacks){ 0, NULL, dims[0], dims[1], a->dims[1] }, &sum);
}

static int
check_bmm(RtCx *cx, const RtTensor *a, const RtTensor *b, int64_t *dims)
{
	char text[SIZES_TEXT];
	int64_t want[3];

	if (a->ndim != 3)
		return rt_raise(cx, "batch1 must be a 3D tensor");
	if (b->ndim != 3)
		return rt_raise(cx, "batch2 must be a 3D tensor");
	want[0] = dims[0] = a->dims[0];
	want[1] = a->dims[2];
	want[2] = dims[2] = b->dims[2];
	dims[1] = a->dims[1];
	if (b->dims[0] != want[0] || b->dims[1] != want[1])
		return rt_raise(cx, "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but "
			"got: %s.", (long long)want[0], (long long)want[1], sizes_text(text, 2, b->dims));
	return RT_OK;
}

int
rt_bmm(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = in[0].u.t, *b = in[1].u.t, *r;
	int64_t dims[3];

	if (check_bmm(cx, a, b, dims) || check_types(cx, a, b, "bmm"))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)a->dtype, 3, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	return product_into(cx, r, a, b, &(Stacks){ 1, dims, dims[1], dims[2], a->dims[2] }, NULL);
}

/* ---- grouped products: the layers of experts, for the tokens that were sent to each ------------------------------ */

static RtTensor *
group_part(RtCx *cx, const RtTensor *t, int64_t group, int dim, int64_t from, int64_t to)
{
	const int whole = t->ndim - 2;
	int64_t dims[2] = { t->dims[whole], t->dims[whole + 1] }, at = t->offset + (whole ? group * t->strides[0] : 0);

	if (!whole) {
		dims[dim] = to - from;
		at += from * t->strides[dim];
	}
	return rt_temp(cx, rt_tensor_view(cx, t, 2, dims, t->strides + whole, at));
}

static int
check_grouped(RtCx *cx, const RtTensor *a, const RtTensor *b, const IValue *in, int64_t *groups)
{
	const RtTensor *ends = in[2].tag == RT_TENSOR ? in[2].u.t : NULL;
	const bool both = a->ndim == 3 && b->ndim == 3;

	if (a->ndim < 2 || a->ndim > 3 || b->ndim < 2 || b->ndim > 3)
		return rt_raise(cx, "%s has to be 2 or 3d", a->ndim < 2 || a->ndim > 3 ? "mat_a" : "mat_b");
	if (a->dims[a->ndim - 1] != b->dims[b->ndim - 2])
		return rt_raise(cx, "contraction dimension of mat_a and mat_b must match");
	if (both != (ends == NULL))
		return rt_raise(cx, "Have to provide offsets if there is a 2d matrix");
	if (ends && (ends->ndim != 1 || ends->dtype != RT_i32))
		return rt_raise(cx, ends->ndim != 1 ? "offs has to be 1D" : "Offsets have to be int32");
	if (!rt_is_none(in[3]))
		return rt_raise(cx, "Bias not supported yet");
	*groups = both || a->ndim == 3 ? a->dims[0] : b->ndim == 3 ? b->dims[0] : ends->dims[0];
	if ((b->ndim == 3 && b->dims[0] != *groups) || (ends && ends->dims[0] != *groups))
		return rt_raise(cx, "matrix batch sizes have to match");
	return check_types(cx, a, b, "addmm_impl_cpu_");
}

/* Multiplies groups. Group g of a 2-d operand is its rows or columns from the end of group g - 1 to ends[g]. Group g of
 * a 3-d operand is its matrix g. */
int
rt__grouped_mm(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = in[0].u.t, *b = in[1].u.t, *ends = in[2].tag == RT_TENSOR ? in[2].u.t : NULL, *r;
	const int64_t along = a->ndim == 3 ? b->dims[b->ndim - 1] : b->ndim == 3 ? a->dims[0] : a->dims[1];
	int64_t groups = 0, dims[3], from = 0, to = 0;
	const bool split = a->ndim == b->ndim;           /* whether the result has a matrix for each group */

	if (check_grouped(cx, a, b, in, &groups))
		return RT_ERROR;
	dims[0] = groups;
	dims[1] = a->dims[a->ndim - 2];
	dims[2] = b->dims[b->ndim - 1];
	r = rt_result(cx, 0, rt_dtype_or(in[4], (RtDtype)a->dtype), split ? 3 : 2,
		      split ? dims : dims + 1, NULL);
	RT_RESULT(cx, r, out[0]);
	memset(rt_data(r), 0, (size_t)(rt_numel(r) * rt_dtypes[r->dtype].bytes));    /* rows that are in no group */
	for (int64_t g = 0; g < groups; g++) {
		RtTensor *x, *w, *y;

		to = ends ? ((const int32_t *)rt_data(ends))[g * ends->strides[0]] : 0;
		if (ends && (to < from || to > along))
			return rt_raise(cx, "offs: group %lld ends at %lld, after %lld of %lld", (long long)g,
					(long long)to, (long long)from, (long long)along);
		x = group_part(cx, a, g, b->ndim == 3 ? 0 : 1, from, to);
		w = group_part(cx, b, g, a->ndim == 3 ? 1 : 0, from, to);
		y = group_part(cx, r, g, a->ndim == 3 ? 1 : 0, from, to);
		if (!x || !w || !y ||
		    product_into(cx, y, x, w, &(Stacks){ 0, NULL, x->dims[0], w->dims[1], x->dims[1] }, NULL))
			return RT_ERROR;
		from = to;
	}
	return RT_OK;
}

int
rt_baddbmm(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *a = in[1].u.t, *b = in[2].u.t, *r;
	Sum sum = sum_of(self, in[3], in[4]);
	int64_t dims[3];

	if (check_bmm(cx, a, b, dims) || check_expands(cx, self, 3, dims) || check_types(cx, a, b, "baddbmm") ||
	    check_factors(cx, &sum, (RtDtype)a->dtype, product(dims, 0, 3), a->dims[2]))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)a->dtype, 3, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	return product_into(cx, r, a, b, &(Stacks){ 1, dims, dims[1], dims[2], a->dims[2] }, &sum);
}

/* Returns a view of matrix i of a batch. */
static RtTensor *
matrix(RtCx *cx, RtTensor *t, int64_t i)
{
	return rt_temp(cx, rt_tensor_view(cx, t, 2, t->dims + 1, t->strides + 1, t->offset + i * t->strides[0]));
}

/* Adds the products one by one, because ATen rounds 8-bit floats after each. */
static int
add_each(RtCx *cx, const IValue *in, IValue *out)
{
	IValue sum = in[0], by = in[3];

	for (int64_t i = 0; i < in[1].u.t->dims[0]; i++, by = rt_int(1)) {
		RtTensor *a = matrix(cx, in[1].u.t, i), *b = a ? matrix(cx, in[2].u.t, i) : NULL;

		if (!b || CALL(cx, addmm, &sum, sum, rt_of(a), rt_of(b), by, in[4]))
			return RT_ERROR;
	}
	return rt_copy_into(cx, out->u.t, sum.u.t);
}

/* Computes the sum over the batch as one product: of the matrices of a joined by columns, and those of b joined by
 * rows. */
int
rt_addbmm(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *a = in[1].u.t, *b = in[2].u.t, *r;
	Sum sum = sum_of(self, in[3], in[4]);
	int64_t dims[3], k, wide[2], tall[2], two[2];
	IValue turned;

	if (check_bmm(cx, a, b, dims) || check_expands(cx, self, 2, dims + 1) || check_sum_types(cx, self, a, b) ||
	    check_types(cx, a, b, "addmm_impl_cpu_") ||
	    check_factors(cx, &sum, (RtDtype)a->dtype, product(dims, 1, 3), dims[0] * a->dims[2]))
		return RT_ERROR;
	k = a->dims[2];
	r = rt_result(cx, 0, (RtDtype)a->dtype, 2, dims + 1, NULL);
	RT_RESULT(cx, r, out[0]);
	if (rt_category((RtDtype)a->dtype) == 'E' && dims[0])
		return add_each(cx, in, out);
	if (CALL(cx, transpose_int, &turned, rt_of(a), rt_int(0), rt_int(1)))
		return RT_ERROR;
	a = dense(cx, turned.u.t);
	b = a ? dense(cx, b) : NULL;
	if (!b)
		return RT_ERROR;
	wide[0] = dims[1];
	wide[1] = tall[0] = dims[0] * k;
	tall[1] = dims[2];
	rt_contiguous_strides(2, wide, two);
	a = rt_temp(cx, rt_tensor_view(cx, a, 2, wide, two, a->offset));
	rt_contiguous_strides(2, tall, two);
	b = a ? rt_temp(cx, rt_tensor_view(cx, b, 2, tall, two, b->offset)) : NULL;
	return b ? product_into(cx, r, a, b, &(Stacks){ 0, NULL, wide[0], tall[1], wide[1] }, &sum) : RT_ERROR;
}

/* ---- with vectors ------------------------------------------------------------------------------------------------ */

/* Returns a view of t with a dim of size 1 inserted at d. */
static RtTensor *
with_dim(RtCx *cx, RtTensor *t, int d)
{
	Geom g = geom_of(t);

	geom_insert(&g, d, 1, 1);
	return rt_temp(cx, rt_tensor_view(cx, t, g.n, g.dims, g.strides, g.offset));
}

static int
check_mv(RtCx *cx, const RtTensor *a, const RtTensor *v)
{
	if (a->ndim != 2 || v->ndim != 1)
		return rt_raise(cx, "vector + matrix @ vector expected, got 1, %d, %d", a->ndim, v->ndim);
	if (a->dims[1] != v->dims[0])
		return rt_raise(cx, "size mismatch, got %lld, %lldx%lld,%lld", (long long)a->dims[0],
				(long long)a->dims[0], (long long)a->dims[1], (long long)v->dims[0]);
	return check_types(cx, a, v, "addmv_impl_cpu");
}

static int
mv(RtCx *cx, RtTensor *a, RtTensor *v, Sum *sum, IValue *out)
{
	RtTensor *r, *column;

	sum->vector = true;
	if (check_mv(cx, a, v) || (sum->self && check_expands(cx, sum->self, 1, a->dims)) ||
	    check_factors(cx, sum, (RtDtype)a->dtype, a->dims[0], a->dims[1]))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)a->dtype, 1, a->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	column = with_dim(cx, v, 1);
	return column ? product_into(cx, r, a, column, &(Stacks){ 0, NULL, a->dims[0], 1, a->dims[1] }, sum)
		      : RT_ERROR;
}

int
rt_mv(RtCx *cx, const IValue *in, IValue *out)
{
	Sum sum = { NULL, rt_none(), rt_none(), false, false };

	return mv(cx, in[0].u.t, in[1].u.t, &sum, out);
}

int
rt_addmv(RtCx *cx, const IValue *in, IValue *out)
{
	Sum sum = sum_of(in[0].u.t, in[3], in[4]);

	return mv(cx, in[1].u.t, in[2].u.t, &sum, out);
}

int
rt_dot(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = in[0].u.t, *b = in[1].u.t, *r;
	Sum sum = { NULL, rt_none(), rt_none(), true, false };

	if (a->ndim != 1 || b->ndim != 1)
		return rt_raise(cx, "1D tensors expected, but got %dD and %dD tensors", a->ndim, b->ndim);
	if (a->dtype != b->dtype)
		return rt_raise(cx, "dot : expected both vectors to have same dtype, but found %s and %s",
				rt_dtypes[a->dtype].brief, rt_dtypes[b->dtype].brief);
	if (a->dims[0] != b->dims[0])
		return rt_raise(cx, "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same "
			"number of elements, but got %lld and %lld elements respectively", (long long)a->dims[0],
			(long long)b->dims[0], (long long)a->dims[0], (long long)b->dims[0]);
	if (rt_not_stored_only(cx, "dot", (RtDtype)a->dtype))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)a->dtype, 0, NULL, NULL);
	RT_RESULT(cx, r, out[0]);
	a = with_dim(cx, a, 0);
	b = a ? with_dim(cx, b, 1) : NULL;
	return b ? product_into(cx, r, a, b, &(Stacks){ 0, NULL, 1, 1, a->dims[1] }, &sum) : RT_ERROR;
}

int
rt_outer(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = in[0].u.t, *b = in[1].u.t;

	if (a->ndim != 1 || b->ndim != 1)
		return rt_raise(cx, "outer: Expected 1-D argument %s, but got %d-D", a->ndim != 1 ? "self" : "vec2",
			a->ndim != 1 ? a->ndim : b->ndim);
	a = with_dim(cx, a, 1);
	return a ? rt_mul_Tensor(cx, RT_VALUES(rt_of(a), in[1]), out) : RT_ERROR;
}

/* ---- linear, matmul ---------------------------------------------------------------------------------------------- */

/* Computes r = t @ b for a matrix b. The rows of t in all batches are treated as one matrix. */
static int
rows_times(RtCx *cx, RtTensor *r, RtTensor *t, RtTensor *b, const Sum *sum)
{
	Geom g = geom_of(t);
	int64_t k = t->dims[t->ndim - 1], rows = product(t->dims, 0, t->ndim - 1);

	if (t->ndim != 2) {
		t = dense(cx, t);
		if (!t)
			return RT_ERROR;
		g = (Geom){ .n = 2, .dims = { rows, k }, .strides = { k, 1 }, .offset = t->offset };
		t = rt_temp(cx, rt_tensor_view(cx, t, g.n, g.dims, g.strides, g.offset));
		if (!t)
			return RT_ERROR;
	}
	return product_into(cx, r, t, b, &(Stacks){ 0, NULL, rows, b->dims[1], k }, sum);
}

int
rt_linear(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *w = in[1].u.t, *bias = rt_tensor(in[2]), *r;
	int64_t dims[RT_MAX_RANK], k, n;
	Sum sum = { bias, rt_none(), rt_none(), false, t->ndim != 2 && (t->ndim != 3 || !rt_is_contiguous(t)) };
	Geom g;

	if (t->ndim == 0 || w->ndim == 0 || w->ndim > 2)
		return rt_raise(cx, "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
				t->ndim, w->ndim);
	k = t->dims[t->ndim - 1];
	n = w->ndim == 2 ? w->dims[0] : 1;
	if (w->dims[w->ndim - 1] != k)
		return rt_raise(cx, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
			(long long)product(t->dims, 0, t->ndim - 1), (long long)k, (long long)w->dims[w->ndim - 1],
			(long long)n);
	if ((bias && check_sum_types(cx, bias, t, w)) || check_types(cx, t, w, "addmm_impl_cpu_"))
		return RT_ERROR;
	memcpy(dims, t->dims, sizeof *dims * t->ndim);
	dims[t->ndim - 1] = n;
	r = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim - (w->ndim == 1), dims, NULL);
	if (r && bias && check_expands(cx, bias, r->ndim, r->dims)) {
		rt_tensor_release(r);
		return RT_ERROR;
	}
	RT_RESULT(cx, r, out[0]);
	g = (Geom){ .n = 2, .dims = { k, n }, .strides = { w->strides[w->ndim - 1], w->ndim == 2 ? w->strides[0] : 1 },
		.offset = w->offset };
	w = rt_temp(cx, rt_tensor_view(cx, w, g.n, g.dims, g.strides, g.offset));
	return w ? rows_times(cx, r, t, w, bias ? &sum : NULL) : RT_ERROR;
}

/* Raises matmul's error that b has another number of rows than a has columns. */
static int
mismatch(RtCx *cx, const RtTensor *a, const RtTensor *b)
{
	const int64_t k = a->dims[a->ndim - 1];
	char x[SIZES_TEXT], y[SIZES_TEXT];

	if (a->ndim >= 3 && b->ndim >= 3)
		return rt_raise(cx, "Expected size for first two dimensions of batch2 tensor to be: [%lld, "
			"%lld] but got: [%lld, %lld].", (long long)product(a->dims, 0, a->ndim - 2), (long long)k,
			(long long)product(b->dims, 0, b->ndim - 2), (long long)b->dims[b->ndim - 2]);
	if (a->ndim == 1 || b->ndim == 1)
		return rt_raise(cx, "size mismatch, got %s and %s", sizes_text(x, a->ndim, a->dims),
			sizes_text(y, b->ndim, b->dims));
	return rt_raise(cx, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
		(long long)product(a->dims, 0, a->ndim - 1), (long long)k, (long long)b->dims[b->ndim - 2],
		(long long)b->dims[b->ndim - 1]);
}

/* Multiplies matrices or vectors. A vector on the left counts as a row, on the right as a column. The result lacks that
 * dim. */
int
rt_matmul(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = in[0].u.t, *b = in[1].u.t, *r;
	bool row = a->ndim == 1, column = b->ndim == 1;
	int64_t dims[RT_MAX_RANK], batch[RT_MAX_RANK], m, n, k;
	int nbatch = 0, rank;

	if (a->ndim == 0 || b->ndim == 0)
		return rt_raise(cx, "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
				a->ndim, b->ndim);
	if (row && column)
		return rt_dot(cx, in, out);
	if (a->ndim == 2 && column)
		return rt_mv(cx, in, out);
	m = row ? 1 : a->dims[a->ndim - 2];
	k = a->dims[a->ndim - 1];
	n = column ? 1 : b->dims[b->ndim - 1];
	if (b->dims[b->ndim - (column ? 1 : 2)] != k)
		return mismatch(cx, a, b);
	if (check_types(cx, a, b, "addmm_impl_cpu_") || rt_broadcast(cx, &nbatch, batch, row ? 0 : a->ndim - 2, a->dims)
			|| rt_broadcast(cx, &nbatch, batch, column ? 0 : b->ndim - 2, b->dims))
		return RT_ERROR;
	memcpy(dims, batch, sizeof *dims * nbatch);
	rank = nbatch;
	if (!row)
		dims[rank++] = m;
	if (!column)
		dims[rank++] = n;
	r = rt_result(cx, 0, (RtDtype)a->dtype, rank, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	if (row && !(a = with_dim(cx, a, 0)))
		return RT_ERROR;
	if (column && !(b = with_dim(cx, b, 1)))
		return RT_ERROR;
	if (b->ndim == 2 && a->ndim > 2)
		return rows_times(cx, r, a, b, NULL);
	return product_into(cx, r, a, b, &(Stacks){ nbatch, batch, m, n, k }, NULL);
}
