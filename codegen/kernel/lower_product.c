/*
 * Products of computed tensors: matmul, mm, bmm, linear, addmm, contract (einsum).
 *
 *    axes: batch dims, rows, columns, summed dims
 *    each   t0 = x1 * x2, r0 = sum(t0)
 *    once   y0 = r0
 *
 * The stride of an operand is 0 along a dim in which it is broadcast.
 */
#include "lower.h"
#include "row.h"

/* Returns the stride of a batch dim, counted from the last one, or 0 if t is broadcast there. The batch does not
 * include the last `own` dims. */
static int64_t
batch_stride(const RtTensor *t, int own, int from_last)
{
	const int dim = t->ndim - own - 1 - from_last;

	return dim < 0 || t->dims[dim] == 1 ? 0 : t->strides[dim];
}

static bool
has_floats(const Row *r, const RtTensor *a, const RtTensor *b)
{
	const RtTensor *y = row_result(r, 0);

	return a && b && a->dtype == y->dtype && b->dtype == y->dtype && (y->dtype == RT_f32 || y->dtype == RT_f64) &&
	       rt_numel(y);
}

/* Is the bias null, or one number for each of n columns, the same for all rows? */
static bool
is_bias(const Row *r, const char *name, int64_t n)
{
	const RtTensor *t = row_tensor(r, name);

	return !row_arg(r, name) ||
	       (t && t->dtype == row_result(r, 0)->dtype && rt_is_contiguous(t) && rt_numel(t) == n &&
		(t->ndim == 1 || n == t->dims[t->ndim - 1]));
}

/* Adds the product of a (.., m, k) or (k) and b (.., k, n) or (k), plus a bias that may be null. If transposed, b is
 * (.., n, k). */
static bool
lower_product(Row *r, const char *first, const char *second, bool transposed, const char *bias)
{
	const RtTensor *y = row_result(r, 0), *a = row_tensor(r, first), *b = row_tensor(r, second);
	const Value *const value[] = { r->n->out[0], row_arg(r, first), row_arg(r, second),
				       bias ? row_arg(r, bias) : NULL };
	int rows, columns, batch;
	Contract c;

	if (!has_floats(r, a, b) || !a->ndim || !b->ndim)
		return false;
	rows = a->ndim >= 2, columns = b->ndim >= 2, batch = y->ndim - rows - columns;
	const int64_t *const bs = b->strides + b->ndim - 1, n = columns ? b->dims[b->ndim - 1 - transposed] : 1;

	if (batch < 0 || a->ndim - 1 - rows > batch || b->ndim - 1 - columns > batch || (bias && !is_bias(r, bias, n)))
		return false;
	contract_begin(&c, r->p, r->n, (RtDtype)y->dtype, value[3] != NULL);
	c.blocked = true;
	for (int i = batch - 1; i >= 0; i--)
		contract_axis(&c, y->dims[batch - 1 - i], false, (int64_t[4]){ batch_stride(y, rows + columns, i),
			      batch_stride(a, 1 + rows, i), batch_stride(b, 1 + columns, i) });
	contract_axis(&c, rows ? a->dims[a->ndim - 2] : 1, false,
		      (int64_t[4]){ rows ? y->strides[batch] : 0, rows ? a->strides[a->ndim - 2] : 0 });
	contract_axis(&c, n, false, (int64_t[4]){ columns ? y->strides[y->ndim - 1] : 0, 0,
						   columns ? bs[-transposed] : 0, 1 });
	contract_axis(&c, a->dims[a->ndim - 1], true,
		      (int64_t[4]){ 0, a->strides[a->ndim - 1], columns && !transposed ? bs[-1] : bs[0] });
	return contract_launch(r, &c, value, batch + 1);
}

bool
row_matmul(Row *r)
{
	return lower_product(r, "self", node_arg(r->n, "other") ? "other" : "mat2", false, NULL);
}

bool
row_linear(Row *r)
{
	const RtTensor *w = row_tensor(r, "weight");

	return w && w->ndim == 2 && lower_product(r, "input", "weight", true, "bias");
}

bool
row_addmm(Row *r)
{
	double alpha, beta;

	return row_double(r, "alpha", &alpha) && row_double(r, "beta", &beta) && alpha == 1 && beta == 1 &&
	       lower_product(r, "mat1", "mat2", false, "self");
}

/* The stride along a dim. 0 if the tensor is broadcast there. */
static int64_t
stride_of(const RtTensor *t, int dim)
{
	return t->dims[dim] == 1 ? 0 : t->strides[dim];
}

/* Contracts two tensors that have the result's rank. Dims in which the result has size 1 are summed. */
bool
row_contract(Row *r)
{
	const RtTensor *y = row_result(r, 0), *a = row_tensor(r, "a"), *b = row_tensor(r, "b");
	int kept = 0;
	Contract c;

	if (!has_floats(r, a, b) || !rt_numel(a) || !rt_numel(b) || a->storage == y->storage ||
	    b->storage == y->storage)
		return false;
	contract_begin(&c, r->p, r->n, (RtDtype)y->dtype, false);
	c.blocked = true;
	for (int summed = 0; summed < 2; summed++)
		for (int i = 0; i < y->ndim; i++) {
			const int64_t n = a->dims[i] == 1 ? b->dims[i] : a->dims[i];

			if ((y->dims[i] == n) == summed)
				continue;
			contract_axis(&c, n, summed, (int64_t[4]){ summed ? 0 : stride_of(y, i), stride_of(a, i),
								   stride_of(b, i) });
			kept += !summed;
		}
	return contract_launch(r, &c, (const Value *[]){ r->n->out[0], row_arg(r, "a"), row_arg(r, "b") },
			       kept ? kept - 1 : 0);
}
