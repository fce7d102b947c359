/* rt/ops/einsum.c - contractions, to which einsum is lowered (linalg.def), and cdist
 *
 * a and b have the same number of dims, of equal size or 1. Dims of both that the result keeps are the batch of a bmm.
 * Dims of one operand are its rows or columns. Dims of both that are summed over are its inner dim. */
#include "gemm.h"
#include "scatter.h"

#include "../base.h"

#include <math.h>

enum { BATCH, ROWS, GONE, COLUMNS };

typedef struct Kinds {           /* dims by their role in a matrix product */
	int order[4][RT_MAX_RANK], n[4];
} Kinds;

/* Returns a view of t as a stack of matrices: dims of the batch, then dims of two more kinds. */
static RtTensor *
as_matrices(RtCx *cx, RtTensor *t, const Kinds *k, const int kind[3])
{
	int64_t dims[3] = { 1, 1, 1 }, strides[3];
	Geom to = { .n = 0 };

	for (int m = 0; m < 3; m++)
		for (int i = 0; i < k->n[kind[m]]; i++) {
			const int d = k->order[kind[m]][i];

			to.dims[to.n] = t->dims[d];
			to.strides[to.n++] = t->strides[d];
			dims[m] *= t->dims[d];
		}
	t = rt_temp(cx, rt_tensor_view(cx, t, to.n, to.dims, to.strides, t->offset));
	t = t ? dense(cx, t) : NULL;
	if (!t)
		return NULL;
	rt_contiguous_strides(3, dims, strides);
	return rt_temp(cx, rt_tensor_view(cx, t, 3, dims, strides, t->offset));
}

/* Permutes the product r, whose dims are batch, rows and columns, to the operands' order. The summed dims, which are
 * now of size 1, are between rows and columns. */
static RtTensor *
in_order(RtCx *cx, RtTensor *r, const Kinds *k, const RtTensor *a, const RtTensor *b)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int back[RT_MAX_RANK], at = 0;
	Geom g = { .n = a->ndim };

	for (int kind = 0; kind < 4; kind++)
		for (int i = 0; i < k->n[kind]; i++, at++) {
			const int d = k->order[kind][i];

			back[d] = at;
			dims[at] = kind == GONE ? 1 : kind == COLUMNS ? b->dims[d] : a->dims[d];
		}
	rt_contiguous_strides(g.n, dims, strides);
	for (int d = 0; d < g.n; d++) {
		g.dims[d] = dims[back[d]];
		g.strides[d] = strides[back[d]];
	}
	return rt_tensor_view(cx, r, g.n, g.dims, g.strides, r->offset);
}

/* Contracts a and b over dims. Arguments: a, b, dims. */
int
rt_prim_contract(RtCx *cx, const IValue *in, IValue *out)
{
	static const int left[3] = { BATCH, ROWS, GONE }, right[3] = { BATCH, GONE, COLUMNS };
	RtTensor *a = in[0].u.t, *b = in[1].u.t, *x, *y;
	const RtList *const dims = in[2].u.list;
	Kinds k = { .n = { 0 } };
	uint64_t gone = 0;
	IValue r;

	for (int64_t i = 0; i < dims->n; i++)
		gone |= dims->v[i].u.i >= 0 && dims->v[i].u.i < RT_MAX_RANK ? UINT64_C(1) << dims->v[i].u.i : 0;
	if (a->ndim != b->ndim)
		return rt_raise(cx, "contract: operands of %d and %d dims", a->ndim, b->ndim);
	for (int d = 0; d < a->ndim; d++) {
		const bool in_a = a->dims[d] != 1, in_b = b->dims[d] != 1;
		const int kind = gone >> d & 1 ? GONE : in_a && in_b ? BATCH : in_a ? ROWS : COLUMNS;

		if (in_a != in_b && kind == GONE)
			return rt_raise(cx, "contract: dim %d is of one operand alone", d);
		k.order[kind][k.n[kind]++] = d;
	}
	x = as_matrices(cx, a, &k, left);
	y = x ? as_matrices(cx, b, &k, right) : NULL;
	x = !y || CALL(cx, bmm, &r, rt_of(x), rt_of(y)) ? NULL : in_order(cx, r.u.t, &k, a, b);
	if (!x)
		return cx->status ? cx->status : RT_UNKNOWN_META;
	RT_RESULT(cx, x, out[0]);
	return RT_OK;
}

/* Appends the labels of an operand. Numbers from 0 to 51 are letters in order. */
static int
put_labels(RtCx *cx, Buf *b, IValue v, int64_t argument)
{
	if (v.tag != RT_LIST)
		return rt_raise(cx, "einsum(): expected a list of subscripts, but got %s", rt_type_of(v));
	for (int64_t i = 0; i < v.u.list->n; i++) {
		int64_t label = v.u.list->v[i].tag == RT_INT ? v.u.list->v[i].u.i : -1;
		if (label < 0 || label >= 52)
			return rt_raise(cx, "einsum(): expected subscript %lld in argument %lld to be within the range "
					"[0, 52), but got %lld", (long long)i, (long long)argument,
					(long long)v.u.list->v[i].u.i);
		buf_printf(b, "%c", (int)(label < 26 ? 'A' + label : 'a' + label - 26));
	}
	return RT_OK;
}

/* Reads arguments of the form operand, labels, ... [, labels of the result]. Writes the equation to b and the operands
 * to l. */
static int
read_sublists(RtCx *cx, IValue first, const RtList *rest, Buf *b, RtList *l)
{
	IValue v = first;
	int64_t i = 0;

	buf_puts(b, "");
	for (; v.tag == RT_TENSOR && i < rest->n; i += 2) {
		buf_puts(b, i ? "," : "");
		if (rt_list_push(cx, l, rt_retain(v)) || put_labels(cx, b, rest->v[i], i + 1))
			return RT_ERROR;
		v = i + 1 < rest->n ? rest->v[i + 1] : rt_none();
	}
	if (rt_is_none(v))
		return RT_OK;
	buf_puts(b, "->");
	return put_labels(cx, b, v, i);
}

/* Converts operand, labels, ... to the equation and the operands. */
int
rt_prim_einsum_sublists(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *const l = rt_list_new(cx, &rt_type_tensor, 0);
	RtStr *text = NULL;
	Buf b = { 0 };

	if (l && !read_sublists(cx, in[0], in[1].u.list, &b, l))
		text = rt_str_new(cx, b.at, b.n);
	buf_free(&b);
	out[0] = text ? rt_ref(RT_STR, text) : rt_none();
	out[1] = l ? rt_ref(RT_LIST, l) : rt_none();
	return text ? RT_OK : RT_ERROR;
}

/* ---- cdist ----------------------------------------------------------------------------------------------------- */

/* Returns the p-norm of a - b. `wide` is for doubles; otherwise powers are rounded to float, where large ones become
 * infinite. */
static double
distance(const double *a, const double *b, int64_t n, double p, bool wide)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double d = fabs(a[i] - b[i]);

		if (isinf(p)) {
			sum = d > sum || d != d ? d : sum;
			continue;
		}
		d = p == 0 ? (d != d ? d : d != 0) : p == 1 ? d : p == 2 ? d * d : pow(d, p);
		sum += wide ? d : (double)(float)d;
	}
	sum = wide ? sum : (double)(float)sum;
	return p == 0 || p == 1 || isinf(p) ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

typedef struct Distances {
	const double *a, *b;
	double *to;
	int64_t rows, columns, n;
	double  p;
	bool    wide;
} Distances;

/* Computes rows [begin, end) of distances one by one. */
static void
distances(void *arg, int64_t begin, int64_t end)
{
	const Distances *d = arg;

	for (int64_t i = begin; i < end; i++)
		for (int64_t j = 0; j < d->columns; j++)
			d->to[i * d->columns + j] = distance(d->a + i * d->n, d->b + j * d->n, d->n, d->p, d->wide);
}

static double
squared(const double *a, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += a[i] * a[i];
	return sum;
}

/* Computes Euclidean distances as |a|^2 + |b|^2 - 2 a b. `to` has the products. Distances that cancel or are out of
 * range are computed directly. */
static void
distances_of_products(void *arg, int64_t begin, int64_t end)
{
	const Distances *d = arg;
	const double *b_squared = d->to + d->rows * d->columns;

	for (int64_t i = begin; i < end; i++) {
		const double *a = d->a + i * d->n, a_squared = squared(a, d->n);
		double *to = d->to + i * d->columns;

		for (int64_t j = 0; j < d->columns; j++) {
			const double most = a_squared + b_squared[j], sum = most - 2 * to[j];
			const bool precise = sum > 1e-6 * most && (d->wide ? isnormal(most) : isnormal((float)most));

			to[j] = precise ? sqrt(sum) : distance(a, d->b + j * d->n, d->n, 2, d->wide);
		}
	}
}

enum { LEAST_PRODUCT = 16 };     /* smallest length of rows for which products are faster */

/* Computes one batch. Scratch memory for a column of numbers follows d->to. */
static int
batch_distances(RtCx *cx, const Distances *d)
{
	const Product product = { d->rows, d->columns, d->n, d->a, d->b, d->n, 1, 1, d->n, d->to, .ldc = 0 };
	Distances copy = *d;

	if (d->p != 2 || d->n < LEAST_PRODUCT || d->rows < LEAST_PRODUCT) {
		rt_parallel(cx, d->rows, 1 + 20000 / (d->columns * d->n + 1), distances, &copy);
		return RT_OK;
	}
	if (gemm(cx, RT_f64, &product))
		return RT_ERROR;
	for (int64_t j = 0; j < d->columns; j++)
		d->to[d->rows * d->columns + j] = squared(d->b + j * d->n, d->n);
	rt_parallel(cx, d->rows, 1 + 20000 / (d->columns * 4 + 1), distances_of_products, &copy);
	return RT_OK;
}

static int
check_cdist(RtCx *cx, const RtTensor *a, const RtTensor *b, double p)
{
	if (a->ndim < 2 || b->ndim < 2)
		return rt_raise(cx, "cdist only supports at least 2D tensors, %s got: %dD", a->ndim < 2 ? "X1" : "X2",
			a->ndim < 2 ? a->ndim : b->ndim);
	if (b->dims[b->ndim - 1] != a->dims[a->ndim - 1])
		return rt_raise(cx, "X1 and X2 must have the same number of columns. X1: %lld X2: %lld",
			(long long)a->dims[a->ndim - 1], (long long)b->dims[b->ndim - 1]);
	if (!rt_is_floating((RtDtype)a->dtype) || !rt_is_floating((RtDtype)b->dtype))
		return rt_raise(cx, "cdist only supports floating-point dtypes, X1 got: %s", rt_dtypes[a->dtype].brief);
	return p < 0 ? rt_raise(cx, "cdist only supports non-negative p values") : RT_OK;
}

/* Raises an error for 16-bit floats unless PyTorch uses products: for many rows, or if compute_mode is 1. None means
 * 0. */
static int
check_short_floats(RtCx *cx, const RtTensor *a, const RtTensor *b, double p, IValue compute_mode)
{
	const int64_t mode = rt_is_none(compute_mode) ? 0 : compute_mode.u.i, rows = a->dims[a->ndim - 2],
		      columns = b->dims[b->ndim - 2];
	const bool products = p == 2 && (mode == 1 || (mode == 0 && (rows > 25 || columns > 25)));

	if (rt_dtypes[a->dtype].bytes != 2 || products || !rt_numel(a) || !rt_numel(b))
		return RT_OK;
	return rt_raise(cx, "\"cdist\" not implemented for '%s'", rt_dtypes[a->dtype].brief);
}

int
rt__cdist_forward(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = in[0].u.t, *b = in[1].u.t, *r, *wide;
	double p = in[2].u.f, *to;
	int64_t dims[RT_MAX_RANK], rows, columns, n, batches;
	int rank = 0;
	Geom ga, gb;

	if (check_cdist(cx, a, b, p) || check_short_floats(cx, a, b, p, in[3]))
		return RT_ERROR;
	rows = a->dims[a->ndim - 2];
	columns = b->dims[b->ndim - 2];
	n = a->dims[a->ndim - 1];
	if (rt_broadcast(cx, &rank, dims, a->ndim - 2, a->dims) || rt_broadcast(cx, &rank, dims, b->ndim - 2, b->dims))
		return RT_ERROR;
	batches = product(dims, 0, rank);
	dims[rank] = rows;
	dims[rank + 1] = columns;
	r = rt_result(cx, 0, rt_promote((RtDtype)a->dtype, (RtDtype)b->dtype), rank + 2, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	ga = geom_of(r);
	gb = ga;
	ga.dims[rank + 1] = gb.dims[rank + 1] = n;
	gb.dims[rank] = columns;
	wide = temp_new(cx, RT_f64, r->ndim, r->dims);
	a = wide ? rt_temp(cx, rt_to_dtype(cx, a, RT_f64)) : NULL;
	b = a ? rt_temp(cx, rt_to_dtype(cx, b, RT_f64)) : NULL;
	a = b ? expanded(cx, a, ga.n, ga.dims) : NULL;
	b = a ? expanded(cx, b, gb.n, gb.dims) : NULL;
	if (!b)
		return RT_ERROR;
	if (!(to = rt_scratch(cx, (rows + 1) * columns * 8 + 8)))
		return RT_ERROR;
	for (int64_t k = 0; k < batches; k++) {
		const double *from_a = (double *)(void *)rt_data(a) + k * rows * n;
		const double *from_b = (double *)(void *)rt_data(b) + k * columns * n;
		const Distances d = { from_a, from_b, to, rows, columns, n, p, r->dtype == RT_f64 };

		if (batch_distances(cx, &d))
			return RT_ERROR;
		memcpy(rt_data(wide) + k * rows * columns * 8, to, (size_t)(rows * columns) * 8);
	}
	return rt_copy_into(cx, r, wide);
}
