/*
 * Recognizes sums of products: convolutions, their gradients, products of matrices, and contractions with constant
 * weights.
 */
#include "../../ir/row.h"
#include "match.h"

/* Does it begin with a sum of products of this dtype, plus a bias if there is one? */
static bool
begins_with_sum(const Match *m, RtDtype dtype)
{
	const Kernel *k = m->kernel;
	const Let *add = k->let.n > 1 ? &k->let.at[1] : NULL;

	if (!kernel_is_contract(k) || k->let.at[0].types.compute != dtype || k->store.n != 1)
		return false;
	if (m->operand[BIAS] < 0)
		return true;
	return add && add->op->row == ROW_add_Tensor && match_refers_to(&add->arg[0], REF_STATE, 0) &&
	       match_refers_to(&add->arg[1], REF_OPERAND, m->operand[BIAS]) && add->arg[2].kind == REF_NUMBER &&
	       add->arg[2].number.u.i == 1;
}

/* Is it only such a sum? */
static bool
adds_products(const Match *m, RtDtype dtype)
{
	const bool biased = m->operand[BIAS] >= 0;

	return begins_with_sum(m, dtype) && m->kernel->let.n == 1 + biased && !m->dense &&
	       match_refers_to(&m->kernel->store.at[0].value, biased ? REF_LET : REF_STATE, biased);
}

/* Is there no bias, or one for each output channel? */
static bool
has_bias_of_channels(const Match *m)
{
	return m->operand[BIAS] < 0 || (size_is(match_stride(m, BIAS, OC), 1) && match_runs_on(m, BIAS, OC));
}

/* Is it a sum of products, plus a bias for each output channel? */
static bool
is_biased_sum(const Match *m)
{
	return adds_products(m, RT_f32) && has_bias_of_channels(m);
}

/* Names eight axes in this order. Is the kernel a sum of products over windows of planes, with the channels of groups
 * one after the other? bias: index of its operand, or -1. */
static bool
sums_windows(Match *m, const int names[8], int bias)
{
	const Kernel *k = m->kernel;

	match_name_axes(m, names, 8);
	m->operand[Y] = 0;
	m->operand[X] = 1;
	m->operand[W] = 2;
	m->operand[BIAS] = bias;
	return k->naxis == 8 && k->nreduce == 3 && k->operand.n == 3 + (bias >= 0) &&
	       match_operand(m, X)->dtype == RT_f32 && match_has_windows(m, 2, OH, KH) && !m->adaptive &&
	       match_operand(m, X)->outside.tag == RT_NONE && is_biased_sum(m) && match_runs_on(m, X, IC) &&
	       match_runs_on(m, Y, OC);
}

bool
match_convolution(Match *m)
{
	return sums_windows(m, (const int[]){ N, OH, OW, G, OC, IC, KH, KW }, m->kernel->operand.n == 4 ? 3 : -1);
}

bool
match_weight_gradient(Match *m)
{
	return sums_windows(m, (const int[]){ G, OC, IC, KH, KW, N, OH, OW }, -1) && match_runs_on(m, W, OC);
}

const Size *
match_channels(const Match *m, int axis)
{
	return match_times(m, match_extent(m, G), match_extent(m, axis));
}

bool
match_is_input_last(const Match *m)
{
	const Size *row = match_times(m, match_input_size(m, 1), match_input_stride(m, 1));

	return size_is(match_stride(m, X, IC), 1) && match_input_stride(m, 1) == match_channels(m, IC) &&
	       match_input_stride(m, 0) == row && size_is(match_operand(m, X)->offset, 0) &&
	       match_stride(m, X, N) == match_times(m, match_input_size(m, 0), row);
}

bool
match_is_output_last(const Match *m, int name)
{
	const Size *row = match_times(m, match_extent(m, OW), match_channels(m, OC));

	return size_is(match_stride(m, name, OC), 1) && match_stride(m, name, OW) == match_channels(m, OC) &&
	       match_stride(m, name, OH) == row &&
	       match_stride(m, name, N) == match_times(m, match_extent(m, OH), row) &&
	       size_is(match_operand(m, name)->offset, 0);
}

bool
match_is_depthwise(const Match *m)
{
	return size_at_least(m->kernel->sizes, match_extent(m, G), 2) && size_is(match_extent(m, OC), 1) &&
	       size_is(match_extent(m, IC), 1);
}

static bool
moves(const Match *m, int name, int axis)
{
	return !size_is(match_operand(m, name)->stride[axis], 0);
}

/* Are all operands of this dtype, in memory at their axes' strides only? */
static bool
has_strides_only(const Kernel *k, RtDtype dtype)
{
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		if (o->dtype != dtype || o->access != (i ? ACCESS_READ : ACCESS_WRITE) || o->ngather || o->bound.n ||
		    o->along >= 0 || !size_is(o->offset, 0))
			return false;
	}
	return true;
}

/* Finds the columns, along which results are consecutive and X does not move, and the rows, along which W does not
 * move: the longest axis of those. The other axes are the batch. */
static bool
find_sides(Match *m, int x, int w)
{
	const Kernel *k = m->kernel;
	const int outer = k->naxis - k->nreduce;
	int batch = BATCH;

	for (int i = 0; i < AXES; i++)
		m->axis[i] = -1;
	m->operand[X] = x;
	m->operand[W] = w;
	for (int i = 0; i < outer; i++)
		if (!moves(m, X, i) && size_is(match_operand(m, Y)->stride[i], 1))
			m->axis[COLUMNS] = i;
	for (int i = 0; i < outer; i++)
		if (i != m->axis[COLUMNS] && !moves(m, W, i) &&
		    (m->axis[ROWS] < 0 || match_typical(m, k->extent[i]) >= match_typical(m, k->extent[m->axis[ROWS]])))
			m->axis[ROWS] = i;
	for (int i = 0; i < outer; i++)
		if (i != m->axis[COLUMNS] && i != m->axis[ROWS]) {
			if (batch == AXES || (m->axis[COLUMNS] < 0 && !moves(m, X, i)))
				return false;
			m->axis[batch++] = i;
		}
	if (k->nreduce)
		m->axis[SUMMED] = outer;
	return true;
}

/* Is the bias consecutive along the columns, and the same for all rows? */
static bool
is_bias_of_columns(const Match *m)
{
	for (int i = 0; i < m->kernel->naxis; i++)
		if (!size_is(match_operand(m, BIAS)->stride[i], i == m->axis[COLUMNS]))
			return false;
	return true;
}

bool
match_product(Match *m, RtDtype dtype)
{
	const Kernel *k = m->kernel;
	Kernel *simple;

	m->operand[Y] = 0;
	m->operand[BIAS] = k->operand.n == 4 ? 3 : -1;
	if ((k->operand.n != 3 && k->operand.n != 4) || k->range.n || !adds_products(m, dtype) ||
	    !has_strides_only(k, dtype))
		return false;
	m->kernel = simple = kernel_copy(k);
	kernel_simplify(simple, 0);
	return simple->nreduce <= 1 && ((find_sides(m, 1, 2) && (m->operand[BIAS] < 0 || is_bias_of_columns(m))) ||
					(m->operand[BIAS] < 0 && find_sides(m, 2, 1)));
}

const Size *
match_apart(const Match *m, int name, int axis, int64_t alone)
{
	return m->axis[axis] < 0 ? match_constant(m, alone) : match_stride(m, name, axis);
}

int64_t
match_batch_axes(const Match *m)
{
	int n = 0;

	while (n < VM_BATCH && m->axis[BATCH + n] >= 0)
		n++;
	return n;
}

const Size *
match_batch_extent(const Match *m, int i)
{
	return m->axis[BATCH + i] < 0 ? NULL : match_extent(m, BATCH + i);
}

const Size *
match_batch_along(const Match *m, int name, int i)
{
	return m->axis[BATCH + i] < 0 ? NULL : match_stride(m, name, BATCH + i);
}

const Size *
match_batch_points(const Match *m)
{
	const Size *n = match_constant(m, 1);

	for (int i = 0; i < match_batch_axes(m); i++)
		n = match_times(m, n, match_extent(m, BATCH + i));
	return n;
}

int64_t
match_copied_rows(const Match *m)
{
	return size_is(match_apart(m, X, SUMMED, 1), 1) ? 0 : match_at_most(match_extent(m, ROWS), VM_ROWS);
}

int64_t
match_product_grain(const Match *m)
{
	const int64_t n = match_at_most(match_extent(m, ROWS), VM_ROWS) *
			  match_at_most(match_extent(m, COLUMNS), VM_COLUMNS) *
			  (match_typical(m, match_extent(m, SUMMED)) / 8 + 1);

	return 1 + ROW_GRAIN / (n > 0 ? n : 1);
}

const Size *
match_input_row(const Match *m, int n)
{
	return n ? match_input_stride(m, n - 1) : match_stride(m, X, N);
}

const Size *
match_output_row(const Match *m, int n)
{
	return match_stride(m, Y, n ? OW : N);
}

/* Are both operands channels-last and dense, with any distance between rows, or pixels? */
static bool
has_pixels(const Match *m, int n)
{
	const Size *x = match_input_row(m, n), *y = match_output_row(m, n);

	for (int i = n - 1; i >= 0; i--) {
		if (match_input_stride(m, i) != x || match_stride(m, Y, m->out + i) != y)
			return false;
		x = match_times(m, x, match_input_size(m, i));
		y = match_times(m, y, match_extent(m, m->out + i));
	}
	return match_stride(m, X, N) == x && match_stride(m, Y, N) == y && size_is(match_stride(m, X, IC), 1) &&
	       size_is(match_stride(m, Y, OC), 1) && match_runs_on(m, X, IC) && match_runs_on(m, Y, OC);
}

/* Names the axes of a product, or of a convolution over planes or volumes. */
static void
name_dense_axes(Match *m)
{
	for (int i = 0; i < AXES; i++)
		m->axis[i] = -1;
	m->axis[N] = 0;
	m->axis[G] = 1 + m->places;
	m->axis[OC] = 2 + m->places;
	m->axis[IC] = 3 + m->places;
	for (int i = 0; i < m->places; i++) {
		m->axis[OW + 1 - m->places + i] = 1 + i;
		m->axis[KW + 1 - m->places + i] = 4 + m->places + i;
	}
}

bool
match_dense(Match *m, Form form)
{
	const Kernel *k = m->kernel;

	if (!m->dense || m->dense->form != form)
		return false;
	m->places = m->dense->window.places;
	name_dense_axes(m);
	m->operand[Y] = CONTRACT_Y;
	m->operand[X] = CONTRACT_X;
	m->operand[W] = CONTRACT_W;
	m->operand[BIAS] = k->operand.n > CONTRACT_BIAS && k->operand.at[CONTRACT_BIAS].constant ? CONTRACT_BIAS : -1;
	return k->naxis == 4 + 2 * m->places && k->nreduce == 1 + m->places &&
	       match_has_windows(m, m->places, OW + 1 - m->places, KW + 1 - m->places) &&
	       match_operand(m, X)->outside.tag == RT_NONE && begins_with_sum(m, RT_f32) && has_bias_of_channels(m) &&
	       has_pixels(m, m->places);
}

const Size *
match_rows_of(const Match *m)
{
	return match_times(m, match_times(m, match_extent(m, N), match_extent(m, OD)),
			   match_times(m, match_extent(m, OH), match_extent(m, OW)));
}

const Size *
match_panel_units(const Match *m, const Size *rows, bool chunks)
{
	const Dense *d = m->dense;
	const Size *panels = match_times(m, match_blocks(m, match_extent(m, OC), m->nr), match_extent(m, G));

	if (d->step)
		return match_blocks(m, rows, d->step);
	return chunks ? match_times(m, panels, match_blocks(m, rows, d->chunk)) : panels;
}

const Size *
match_row_units(const Match *m)
{
	const Size *rows = match_times(m, match_times(m, match_extent(m, N), match_extent(m, OD)), match_extent(m, OH));

	return m->dense->step ? match_times(m, rows, match_blocks(m, match_extent(m, OW), m->dense->step)) : rows;
}

const Size *
match_tiles_of(const Match *m)
{
	const int tile = m->dense->tile;

	return match_times(m, match_extent(m, N), match_times(m, match_blocks(m, match_extent(m, OH), tile),
							      match_blocks(m, match_extent(m, OW), tile)));
}

const Size *
match_group_zeros(const Match *m)
{
	const int64_t n = match_known(match_channels(m, IC));

	return match_constant(m, n > m->vf ? n : m->vf);
}

int64_t
match_winograd_scratch(const Match *m)
{
	const Dense *d = m->dense;

	return (d->tile + 2) * (d->tile + 2) * ((d->chunk * d->k | 16) + (d->chunk * d->n | 16)) * 4;
}
