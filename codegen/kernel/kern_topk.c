/*
 * The greatest or least elements of a row, with their indices: topk. A unit of work is a row. Its elements become
 * integer keys of the same order. The runtime selects from the keys (rt/ops/select.c), so that equal elements come out
 * in PyTorch's order.
 */
#include "form.h"
#include "row.h"

typedef struct Top {
	const RtTensor *x, *y, *at;
	int64_t n, k, largest, sorted, stride[3];        /* strides of y, at and x along the dim */
	RowNest rows;                                    /* loops over rows, with the same operands */
} Top;

static bool
read_topk(Row *r, Top *d)
{
	const RtTensor *all[3] = { row_result(r, 0), row_result(r, 1), row_tensor(r, "self") };
	const RtTensor *x = all[2];
	int64_t dim;

	d->y = all[0], d->at = all[1], d->x = x;
	if (!x || !d->y || !d->at || !x->ndim || !rt_numel(d->y) || !strchr("BIF", rt_dtypes[x->dtype].category) ||
	    !row_int(r, "dim", &dim) || !row_int(r, "largest", &d->largest) || !row_int(r, "sorted", &d->sorted))
		return false;
	dim += dim < 0 ? x->ndim : 0;
	if (dim < 0 || dim >= x->ndim)
		return false;
	d->n = x->dims[dim];
	d->k = d->y->dims[dim];
	d->rows.n = 3;
	for (int k = 0; k < 3; k++)
		d->stride[k] = all[k]->strides[dim];
	for (int i = 0; i < x->ndim; i++) {
		if (i == dim)
			continue;
		d->rows.dims[d->rows.ndim] = x->dims[i];
		for (int k = 0; k < 3; k++)
			d->rows.stride[k][d->rows.ndim] = all[k]->strides[i];
		d->rows.ndim++;
	}
	return true;
}

bool
row_topk(Row *r)
{
	Arena *a = r->p->cx->arena;
	Body b = body_begin(r->p);
	const char *type, *element, *step, *n, *k;
	Out *o = &b.out;
	KernelCall *c;
	Top d = { 0 };

	if (!read_topk(r, &d))
		return false;
	type = element_type((RtDtype)d.x->dtype);
	n = body_number(&b, "n", d.n);
	k = body_number(&b, "k", d.k);
	step = body_number(&b, "x_step", d.stride[2]);
	element = element_loaded(a, (RtDtype)d.x->dtype, arena_printf(a, "x[i * %s]", step));
	row_scratch(&b, "int64_t", "key", arena_printf(a, "2 * %s * (int64_t)sizeof *key", n));
	out_line(o, "int64_t *best = key + %s;", n);
	nest_open(&b, &d.rows);
	out_line(o, "const %s *x = (const %s *)p[2] + %s;", type, type, nest_at(&b, &d.rows, 2));
	out_line(o, "%s *y = (%s *)p[0] + %s;", type, type, nest_at(&b, &d.rows, 0));
	out_line(o, "int64_t *at = (int64_t *)p[1] + %s;", nest_at(&b, &d.rows, 1));
	out_blank(o);
	out_line(o, "IVDEP");
	out_line(o, "for (int64_t i = 0; i < %s; i++)", n);
	out_line(o, "\tkey[i] = %s%s(%s);", d.largest ? "~" : "", rt_dtypes[d.x->dtype].category != 'F' ? "(int64_t)" :
		 d.x->dtype == RT_f64 ? "vr_key_double" : "vr_key", element);
	out_line(o, "select_positions(key, %s, %s, %d, best);", n, k, d.sorted != 0);
	out_open(o, "for (int64_t i = 0; i < %s; i++)", k);
	out_line(o, "y[i * %s] = x[best[i] * %s];", body_number(&b, "y_step", d.stride[0]), step);
	out_line(o, "at[i * %s] = best[i];", body_number(&b, "at_step", d.stride[1]));
	out_close(o);
	out_close(o);
	c = row_call(r, "topk", arena_printf(a, "%s: %lld of %lld", r->n->op->id, (long long)d.k, (long long)d.n), &b,
		     nest_count(&d.rows), row_grain(4 * d.n));
	c->scratch = 2 * d.n * (int64_t)sizeof(int64_t);
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, r->n->out[1]);
	row_pass(r, c, row_arg(r, "self"));
	return true;
}
