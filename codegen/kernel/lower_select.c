/*
 * The greatest or least elements of a row, with their indices: topk.
 *
 * The dim is the only reduced axis.  Results lie along it by rank.
 */
#include "row.h"
#include "lower.h"

#include <string.h>

typedef struct TopK { const RtTensor *x, *y, *at; int64_t dim, largest, sorted; } TopK;

static bool
read_topk(const Row *r, TopK *d)
{
	d->x = row_tensor(r, "self"), d->y = row_result(r, 0), d->at = row_result(r, 1);
	if (!d->x || !d->y || !d->at || !d->x->ndim || !strchr("BIF", rt_dtypes[d->x->dtype].category) ||
	    !row_int(r, "dim", &d->dim) || !row_int(r, "largest", &d->largest) || !row_int(r, "sorted", &d->sorted))
		return false;
	d->dim += d->dim < 0 ? d->x->ndim : 0;
	return d->dim >= 0 && d->dim < d->x->ndim && rt_numel(d->y);
}

bool
row_topk(Row *r)
{
	Select s = { 0 };
	Rows g = { .row = r };
	TopK d;

	if (!read_topk(r, &d))
		return false;
	g.ndim = d.x->ndim;
	memcpy(g.dims, d.x->dims, (size_t)g.ndim * sizeof *g.dims);
	g.gone[d.dim] = true;
	rows_begin(&g, "topk");
	rows_operand(&g, ACCESS_WRITE, (RtDtype)d.y->dtype, d.y->strides, r->n->out[0]);
	rows_operand(&g, ACCESS_WRITE, RT_i64, d.at->strides, r->n->out[1]);
	s.key = ref_operand(rows_operand(&g, ACCESS_READ, (RtDtype)d.x->dtype, d.x->strides, row_arg(r, "self")));
	s.count = size_number(g.kernel->sizes, d.y->dims[d.dim]);
	s.greatest = d.largest, s.sorted = d.sorted;
	kernel_select(g.kernel, s);
	kernel_store(g.kernel, 0, s.key);
	kernel_store(g.kernel, 1, rows_place(&g));
	return rows_finish(&g);
}
