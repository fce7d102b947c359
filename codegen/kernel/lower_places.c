/*
 * Values that depend on an element's position: arange, and triangles of matrices.
 */
#include "row.h"
#include "lower.h"

/* Reads a number argument, or `otherwise` if it is None. Returns false if it is not known. */
static bool
number_or(const Row *r, const char *name, double otherwise, double *x)
{
	*x = otherwise;
	return !row_arg(r, name) || row_double(r, name, x);
}

/* Adds start + index * step, in integers if `whole`, else in double. */
static Ref
counted(Rows *g, double start, double step, bool whole)
{
	Operand place = { .dtype = RT_i64, .access = ACCESS_INDEX, .along = -1 };
	Ref x;

	place.offset = size_number(g->kernel->sizes, whole ? (int64_t)start : 0);
	place.stride[0] = size_number(g->kernel->sizes, whole ? (int64_t)step : 1);
	x = ref_operand(kernel_operand(g->kernel, place));
	if (whole)
		return x;
	x = rows_let2(g, ROW_mul_Tensor, RT_f64, x, ref_number(rt_double(step)));
	return rows_let2(g, ROW_add_Tensor, RT_f64, x, ref_number(rt_double(start)));
}

static bool
is_exact_int(double x)
{
	return x > -1e15 && x < 1e15 && x == (double)(int64_t)x;
}

bool
row_arange(Row *r)
{
	const RtTensor *y = row_result(r, 0);
	Rows g = { .row = r, .ndim = 1 };
	double start, step;
	bool whole;

	if (!y || y->ndim != 1 || !strchr("IF", rt_dtypes[y->dtype].category) ||
	    !number_or(r, "start", 0, &start) || !number_or(r, "step", 1, &step))
		return false;
	whole = is_exact_int(start) && is_exact_int(step);
	if (!whole && rt_dtypes[y->dtype].category != 'F')
		return false;
	if (!y->dims[0])
		return true;
	g.dims[0] = y->dims[0];
	rows_begin(&g, "arange");
	rows_operand(&g, ACCESS_WRITE, (RtDtype)y->dtype, y->strides, r->n->out[0]);
	kernel_store(g.kernel, 0, counted(&g, start, step, whole));
	return rows_finish(&g);
}

/* Copies the elements of each matrix where 0 <= sign * (column - row - diagonal), and stores zero elsewhere. */
static bool
triangle(Row *r, int sign)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	const Value *const value[] = { r->n->out[0], row_arg(r, "self") };
	const RtDtype carrier = y ? lower_carrier(y->dtype) : RT_NDTYPE;
	int64_t diagonal;
	Bound in = { 0 };
	Kernel *k;

	if (!x || !y || carrier == RT_NDTYPE || x->ndim < 2 || x->ndim != y->ndim || x->dtype != y->dtype ||
	    !row_int(r, "diagonal", &diagonal) || diagonal < -INT32_MAX || diagonal > INT32_MAX)
		return false;
	if (!rt_numel(y))
		return true;
	k = lower_over(r->p, r->n, "triangle", y->ndim, y->dims);
	kernel_strided(k, ACCESS_WRITE, carrier, y->strides);
	kernel_strided(k, ACCESS_READ, carrier, x->strides);
	in.offset = size_number(k->sizes, -sign * diagonal);
	in.stride[y->ndim - 2] = size_number(k->sizes, -sign);
	in.stride[y->ndim - 1] = size_number(k->sizes, sign);
	in.limit = size_number(k->sizes, INT64_MAX);
	kernel_bound(k, 1, in);
	kernel_store(k, 0, ref_operand(1));
	return row_kernel(r, k, value, 2);
}

bool
row_triu(Row *r)
{
	return triangle(r, 1);
}

bool
row_tril(Row *r)
{
	return triangle(r, -1);
}
