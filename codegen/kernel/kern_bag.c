/*
 * Sums, means and maxima of table rows: embedding_bag in all its modes (rt/ops/vbag.h). A unit of work is a bag.
 *
 * The kernel computes the first of the four results. If a gradient uses the others, the node stays a call.
 */
#include "row.h"

typedef struct Bag {
	const RtTensor *table, *index, *offset, *scale;
	int64_t mode, last, padding;
} Bag;

static bool
is_index(const RtTensor *t)
{
	return t && t->ndim == 1 && (t->dtype == RT_i64 || t->dtype == RT_i32) && rt_is_contiguous(t);
}

/* Reads padding_idx, the index of rows that are skipped; -1 if there is none. Returns false if it is unknown or out
 * of range. */
static bool
take_padding(const Row *r, Bag *d)
{
	const bool counts = node_arg(r->n, "padding_idx") && row_arg(r, "padding_idx");

	d->padding = -1;
	if (!counts)
		return true;
	if (!row_int(r, "padding_idx", &d->padding) || d->padding < -d->table->dims[0] ||
	    d->padding >= d->table->dims[0])
		return false;
	if (d->padding < 0)
		d->padding = r->n->op->lowering == LOWER_EMBEDDING_BAG_RAW ? -1 : d->padding + d->table->dims[0];
	return true;
}

static bool
read_bag(const Row *r, Bag *d)
{
	const RtTensor *y = row_result(r, 0);

	d->table = row_tensor(r, "weight");
	d->index = row_tensor(r, "indices");
	d->offset = row_tensor(r, "offsets");
	d->scale = row_tensor(r, "per_sample_weights");
	for (int i = 1; i < r->n->nout; i++)
		if (r->n->out[i]->uses.n)
			return false;
	if (!d->table || d->table->ndim != 2 || (d->table->dtype != RT_f32 && d->table->dtype != RT_f64) ||
	    !is_index(d->index) || !is_index(d->offset) || !y || !rt_is_contiguous(y) ||
	    (d->table->dims[1] > 1 && d->table->strides[1] != 1))
		return false;
	if (row_arg(r, "per_sample_weights") &&
	    (!d->scale || d->scale->dtype != d->table->dtype || !rt_is_contiguous(d->scale)))
		return false;
	return row_int(r, "mode", &d->mode) && row_int(r, "include_last_offset", &d->last) && take_padding(r, d);
}

bool
row_embedding_bag(Row *r)
{
	const RtTensor *y = row_result(r, 0);
	Arena *a = r->p->cx->arena;
	Body b = body_begin(r->p);
	const char *type;
	KernelCall *c;
	Bag d;

	if (!read_bag(r, &d))
		return false;
	type = row_type(d.table->dtype);
	const Member member[] = {
		{ "rows", d.table->dims[0] }, { "width", d.table->dims[1] }, { "ld", d.table->strides[0] },
		{ "n", rt_numel(d.index) }, { "bags", y->dims[0] }, { "padding", d.padding },
		{ "wide_index", d.index->dtype == RT_i64 }, { "wide_offset", d.offset->dtype == RT_i64 },
		{ "last", d.last != 0 }, { "mode", d.mode },
	};

	body_struct(&b, "const Bags g", member, sizeof member / sizeof *member, ".index = p[2], .offset = p[3]");
	out_blank(&b.out);
	out_line(&b.out, "if (!bags_%s(begin, end, &g, p[1], %s, p[0]))", type, d.scale ? "p[4]" : "0");
	out_line(&b.out, "\t*(int *)p[%d] = 1;", d.scale ? 5 : 4);
	c = row_call(r, "bags", arena_printf(a, "%s: %lld bags of %lld indices", r->n->op->id, (long long)y->dims[0],
					     (long long)rt_numel(d.index)), &b, y->dims[0],
		     row_grain((rt_numel(d.index) / (y->dims[0] + 1) + 1) * d.table->dims[1]));
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, row_arg(r, "weight"));
	row_pass(r, c, row_arg(r, "indices"));
	row_pass(r, c, row_arg(r, "offsets"));
	if (d.scale)
		row_pass(r, c, row_arg(r, "per_sample_weights"));
	row_checks(r);
	return true;
}
