/*
 * Sums, means and maxima of table rows: embedding_bag in all its modes.
 *
 * A bag is a run of indices.  The axes are bags, columns and, reduced, all indices, with a range between two offsets.
 * Rows are folded in order, in the table's dtype, as in the operator.
 *
 * The kernel computes the first of the four results.  If a gradient uses the others, the node stays a call.
 */
#include "row.h"
#include "lower.h"

enum { BAG_SUM, BAG_MEAN, BAG_MAX };     /* values of `mode` */
enum { AXIS_BAG, AXIS_COLUMN, AXIS_INDEX };
/* indices of the kernel's operands */
enum { BAG_Y, BAG_FROM, BAG_TO, BAG_ROW, BAG_AT, BAG_SCALE };

typedef struct Bag {
	const RtTensor *table, *index, *offset, *scale, *y;
	int64_t mode, last, padding;
	RtDtype type;            /* dtype of the table and of the result */
	Rows    rows;
} Bag;

static bool
is_index(const RtTensor *t)
{
	return t && t->ndim == 1 && (t->dtype == RT_i64 || t->dtype == RT_i32);
}

/* Reads padding_idx, the index of rows that are skipped; -1 if there is none. Returns false if the index is unknown
 * or out of range. */
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
	d->y = row_result(r, 0);
	d->table = row_tensor(r, "weight");
	d->index = row_tensor(r, "indices");
	d->offset = row_tensor(r, "offsets");
	d->scale = row_tensor(r, "per_sample_weights");
	for (int i = 1; i < r->n->nout; i++)
		if (r->n->out[i]->uses.n)
			return false;
	if (!d->table || d->table->ndim != 2 || (d->table->dtype != RT_f32 && d->table->dtype != RT_f64) ||
	    !is_index(d->index) || !is_index(d->offset) || !d->y || !rt_numel(d->y))
		return false;
	if (row_arg(r, "per_sample_weights") &&
	    (!d->scale || d->scale->dtype != d->table->dtype || d->scale->ndim != 1))
		return false;
	d->type = (RtDtype)d->table->dtype;
	return row_int(r, "mode", &d->mode) && row_int(r, "include_last_offset", &d->last) && take_padding(r, d);
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* Adds an operand that is read, with a stride along one axis. */
static Operand *
add_read(Bag *d, const RtTensor *t, int axis, int64_t stride, const char *name)
{
	int64_t strides[3] = { 0 };
	int at;

	strides[axis] = stride;
	at = rows_operand(&d->rows, ACCESS_READ, (RtDtype)t->dtype, strides, row_arg(d->rows.row, name));
	return &d->rows.kernel->operand.at[at];
}

static const Size *
bag_size(Bag *d, int64_t n)
{
	return size_number(d->rows.kernel->sizes, n);
}

/* Adds the operands: offsets first, whose strides order the axes. */
static void
add_operands(Bag *d)
{
	const int64_t y[3] = { d->y->strides[0], d->y->strides[1], 0 }, step = d->offset->strides[0];
	Bound next = { .offset = bag_size(d, 1), .limit = bag_size(d, d->offset->dims[0]) };
	Operand *o;

	rows_operand(&d->rows, ACCESS_WRITE, d->type, y, d->rows.row->n->out[0]);
	add_read(d, d->offset, AXIS_BAG, step, "offsets");
	o = add_read(d, d->offset, AXIS_BAG, step, "offsets");
	o->offset = bag_size(d, step);
	next.stride[AXIS_BAG] = bag_size(d, 1);
	kernel_bound(d->rows.kernel, BAG_TO, next);
	o = add_read(d, d->table, AXIS_COLUMN, d->table->strides[1], "weight");
	o->ngather = 1;
	o->gather[0] = (Gather){ ref_operand(BAG_AT), bag_size(d, d->table->strides[0]), bag_size(d, d->table->dims[0]),
				 OUTSIDE_FAILS, false };
	add_read(d, d->index, AXIS_INDEX, d->index->strides[0], "indices");
	if (d->scale)
		add_read(d, d->scale, AXIS_INDEX, d->scale->strides[0], "per_sample_weights");
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* a == b, of int64 */
static Ref
is_equal(Bag *d, Ref a, Ref b)
{
	return rows_let(&d->rows, ROW_eq_Tensor, rows_types(RT_i64, RT_b8), a, b, b);
}

static Ref
chosen(Bag *d, RtDtype type, Ref condition, Ref a, Ref b)
{
	return rows_let(&d->rows, ROW_where_self, rows_types(type, type), condition, a, b);
}

/* The index along an axis. */
static Ref
index_along(Bag *d, int axis)
{
	int64_t strides[3] = { 0 };

	strides[axis] = 1;
	return ref_operand(rows_operand(&d->rows, ACCESS_INDEX, RT_i64, strides, NULL));
}

static Ref
is_last(Bag *d)
{
	return is_equal(d, index_along(d, AXIS_BAG), rows_number(&d->rows, d->y->dims[0] - 1));
}

/* The bag's first index. The first bag must begin at 0: if its offset is not, the result is -1. */
static Ref
start_of_bag(Bag *d)
{
	const Ref minus = ref_number(rt_int(-1)), offset = ref_operand(BAG_FROM);
	const Ref moved = rows_let(&d->rows, ROW_ne_Tensor, rows_types(RT_i64, RT_b8), offset,
				   ref_number(rt_int(0)), offset);
	/* bag < moved: it is bag 0, and moved is 1 */
	const Ref wrong = rows_let(&d->rows, ROW_lt_Tensor, rows_types(RT_i64, RT_b8), index_along(d, AXIS_BAG), moved,
				   moved);

	return chosen(d, RT_i64, wrong, minus, offset);
}

/* The end of the bag: the next offset, or the number of indices. */
static Ref
end_of_bag(Bag *d)
{
	const Ref next = ref_operand(BAG_TO);

	return chosen(d, RT_i64, is_last(d), d->last ? next : rows_number(&d->rows, rt_numel(d->index)), next);
}

/* The number of the bag's indices. If `last`, ATen divides the last bag's sum by the number of all indices behind its
 * offset. */
static Ref
length_of_bag(Bag *d, Ref end)
{
	if (d->last)
		end = chosen(d, RT_i64, is_last(d), rows_number(&d->rows, rt_numel(d->index)), end);
	return rows_let2(&d->rows, ROW_sub_Tensor, RT_i64, end, ref_operand(BAG_FROM));
}

/* Folds the maximum and the place of its row. The first row counts, even if it is NaN; later ones if they are
 * greater. */
static Ref
fold_maximum(Bag *d, Ref is_padding)
{
	const Ref none = ref_number(rt_int(INT64_MAX)), least = ref_number(rt_double(-1.0 / 0.0));
	Folded s = { .fold = fold_find("firstmax"), .part = d->type, .total = d->type, .place = RT_i64,
		.carried = true, .x = ref_operand(BAG_ROW), .y = index_along(d, AXIS_INDEX) };
	const bool skips = is_padding.kind != REF_NONE;
	Ref best, place;

	if (skips) {
		s.x = chosen(d, d->type, is_padding, least, s.x);
		s.y = chosen(d, RT_i64, is_padding, none, s.y);
	}
	place = best = kernel_state(d->rows.kernel, s);
	place.part = 1;
	kernel_stage(d->rows.kernel, false);
	return chosen(d, d->type, is_equal(d, place, none), ref_number(rt_int(0)), best);
}

static Ref
carried_sum(Bag *d, RtDtype type, Ref x)
{
	return kernel_state(d->rows.kernel, (Folded){ .fold = fold_find("sum"), .part = type, .total = type,
						       .place = RT_i64, .carried = true, .x = x });
}

/* Folds the sum of the rows, times their weights, and divides it for a mean. */
static Ref
fold_sum(Bag *d, Ref is_padding, Ref length)
{
	const bool skips = is_padding.kind != REF_NONE, averages = d->mode == BAG_MEAN;
	const RtDtype counted = rows_place_type(&d->rows);
	const Ref zero = ref_number(rt_int(0)), one = ref_number(rt_int(1));
	Ref x = ref_operand(BAG_ROW), count, sum;

	if (d->scale)
		x = rows_let2(&d->rows, ROW_mul_Tensor, d->type, x, ref_operand(BAG_SCALE));
	if (skips)
		x = chosen(d, d->type, is_padding, zero, x);
	count = skips && averages ? chosen(d, counted, is_padding, zero, one) : length;
	sum = carried_sum(d, d->type, x);
	if (skips && averages)
		count = carried_sum(d, counted, count);
	kernel_stage(d->rows.kernel, false);
	if (!averages)
		return sum;
	count = chosen(d, RT_i64, is_equal(d, count, zero), one, count);
	return rows_let2(&d->rows, ROW_div_Tensor, d->type, sum, count);
}

bool
row_embedding_bag(Row *r)
{
	Bag d = { .rows = { .row = r, .ndim = 3, .gone = { [AXIS_INDEX] = true } } };
	AxisRange range = { .axis = AXIS_INDEX, .checked = true };
	Ref length = { .kind = REF_NONE }, padding = { .kind = REF_NONE };
	Kernel *k;

	if (!read_bag(r, &d))
		return false;
	d.rows.dims[AXIS_BAG] = d.y->dims[0], d.rows.dims[AXIS_COLUMN] = d.y->dims[1];
	d.rows.dims[AXIS_INDEX] = rt_numel(d.index);
	rows_begin(&d.rows, "bags");
	k = d.rows.kernel;
	add_operands(&d);
	vec_last(&k->stage).each = false;        /* the first stage computes the bag's range, once */
	range.first.let = start_of_bag(&d);
	range.end.let = end_of_bag(&d);
	vec_push(k->arena, &k->range, range);
	if (d.mode == BAG_MEAN && d.padding < 0)
		length = length_of_bag(&d, range.end.let);
	kernel_stage(k, true);
	if (d.padding >= 0)
		padding = is_equal(&d, ref_operand(BAG_AT), rows_number(&d.rows, d.padding));
	kernel_store(k, BAG_Y, d.mode == BAG_MAX ? fold_maximum(&d, padding) : fold_sum(&d, padding, length));
	if (!rows_finish(&d.rows))
		return false;
	row_checks(r);
	return true;
}
