/*
 * The greatest or least elements of a row, or all in order, with their indices: topk, sort.
 *
 * The dim is the only reduced axis.  Results lie along it by rank.
 */
#include "row.h"
#include "lower.h"

#include <string.h>

/* Selects from x along the dim. The results are elements and indices. */
static bool
lower_select(Row *r, const RtTensor *x, int64_t dim, Select s, const char *name)
{
	const RtTensor *y = row_result(r, 0), *at = row_result(r, 1);
	Rows g = { .row = r };

	if (!x || !y || !at || !x->ndim || !strchr("BIF", rt_dtypes[x->dtype].category) || !rt_numel(y))
		return false;
	dim += dim < 0 ? x->ndim : 0;
	if (dim < 0 || dim >= x->ndim)
		return false;
	g.ndim = x->ndim;
	memcpy(g.dims, x->dims, (size_t)g.ndim * sizeof *g.dims);
	g.gone[dim] = true;
	rows_begin(&g, name);
	rows_operand(&g, ACCESS_WRITE, (RtDtype)y->dtype, y->strides, r->n->out[0]);
	rows_operand(&g, ACCESS_WRITE, RT_i64, at->strides, r->n->out[1]);
	s.key = ref_operand(rows_operand(&g, ACCESS_READ, (RtDtype)x->dtype, x->strides, row_arg(r, "self")));
	s.count = size_number(g.kernel->sizes, y->dims[dim]);
	kernel_select(g.kernel, s);
	kernel_store(g.kernel, 0, s.key);
	kernel_store(g.kernel, 1, rows_place(&g));
	return rows_finish(&g);
}

bool
row_topk(Row *r)
{
	int64_t dim, largest, sorted;

	return row_int(r, "dim", &dim) && row_int(r, "largest", &largest) && row_int(r, "sorted", &sorted) &&
	       lower_select(r, row_tensor(r, "self"), dim,
			    (Select){ .greatest = largest, .order = sorted ? SELECT_TOP : SELECT_ANY }, "topk");
}

bool
row_sort(Row *r)
{
	int64_t dim, descending, stable = 0;

	if (node_arg(r->n, "stable") && row_arg(r, "stable") && !row_int(r, "stable", &stable))
		return false;
	return row_int(r, "dim", &dim) && row_int(r, "descending", &descending) &&
	       lower_select(r, row_tensor(r, "self"), dim,
			    (Select){ .greatest = descending, .order = stable ? SELECT_STABLE : SELECT_ALL }, "sort");
}
