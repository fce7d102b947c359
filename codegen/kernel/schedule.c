/*
 * How a kernel runs.
 *
 * One axis: units are points, a loop over all of them.  More: a unit is a row, all points of the innermost axis. Where
 * an input is consecutive along another axis than the result, that axis and the innermost are tiled, so that both sides
 * use whole cache lines.  A serial axis is a loop within the unit, around the vectorised one.  The grain is about as
 * much work as a launch costs.
 *
 * Reductions run along rows whose elements are consecutive, with several partial sums as the size allows; else, where
 * rows are side by side, over KERNEL_COLUMNS rows at a time.  The division of a row depends only on its size, so that
 * the bits are the same on any number of threads.
 */
#include "form.h"

enum {
	SHARE = 16384,           /* points for a thread */
	LEAST_TILED = 4,         /* an axis shorter than this is not tiled */
	LEAST_BESIDE = 4,        /* fewer rows side by side are reduced one by one */
};

/* The axis along which the only input is consecutive, when that is not the innermost; -1: none. */
static int
tiled_axis(const Kernel *k, Tiling tiling)
{
	const int last = k->naxis - 1, least = tiling == TILE_ALWAYS ? 1 : LEAST_TILED;
	const Operand *x;

	if (tiling == TILE_NEVER || last < 1 || k->serial >= 0 || k->operand.n != 2 || k->let.n)
		return -1;
	x = &k->operand.at[1];
	if (x->by >= 0 || x->along >= 0 || !kernel_consecutive(k, 0, last) ||
	    !size_at_least(k->sizes, x->stride[last], 2) || !size_at_least(k->sizes, k->extent[last], least))
		return -1;
	for (int i = 0; i < last; i++)
		if (kernel_consecutive(k, 1, i) && size_at_least(k->sizes, k->extent[i], least))
			return i;
	return -1;
}

/* Does the value of an index have to be looked at once a row, and not once a point? */
static bool
gathers_rows(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].by >= 0 && size_is(k->operand.at[k->operand.at[i].by].stride[k->naxis - 1], 0))
			return true;
	return false;
}

/* The axis of the innermost loop that vectorises; none where a serial one steps through runs and that one does not. */
static int
inner_axis(const Kernel *k)
{
	const int inner = k->naxis - 1 - (k->serial >= 0);

	return k->serial >= 0 && inner >= 0 && !kernel_consecutive(k, 0, inner) ? -1 : inner;
}

/* ---- rows that are reduced ------------------------------------------------------------------------------------- */

/* Is the first input consecutive along this axis? */
static bool
reads_along(const Kernel *k, int axis)
{
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].access == ACCESS_READ)
			return kernel_consecutive(k, i, axis);
	return false;
}

bool
kernel_rows_beside(const Kernel *k)
{
	const int last = k->naxis - 1, beside = last - k->nreduce;

	return beside >= 0 && size_at_least(k->sizes, k->extent[beside], LEAST_BESIDE) && reads_along(k, beside) &&
	       !(k->nreduce && reads_along(k, last));
}

int
kernel_row_lanes(const Kernel *k)
{
	bool wide = false;

	for (int i = 0; i < k->state.n; i++) {
		const Folded *s = &k->state.at[i];

		if (s->part == RT_i32 && s->total == RT_i64)
			return 1;                /* small ints: the compiler has better loops */
		wide |= rt_dtypes[s->part].bytes > 4 || (s->fold->places && s->place == RT_i64);
	}
	return wide ? 2 * KERNEL_LANES : 4 * KERNEL_LANES;
}

bool
kernel_row_is_long(const Kernel *k, int lanes)
{
	return k->nreduce && size_at_least(k->sizes, k->extent[k->naxis - 1], lanes);
}

/* Operations for a point, roughly. */
static int64_t
work(const Kernel *k)
{
	int64_t n = 0;

	for (int i = 0; i < k->stage.n; i++)
		n += k->stage.at[i].each ? 1 + kernel_stage_end(k, i).let - k->stage.at[i].let : 0;
	return n;
}

Schedule
kernel_schedule_rows(const Kernel *k, bool beside, int lanes)
{
	const int last = k->naxis - 1, outer = k->naxis - k->nreduce;
	Schedule s = { .rows = true, .inner = beside && outer ? outer - 1 : k->nreduce ? last : -1, .tile = -1 };
	int64_t points = 1, n;

	beside = beside && outer;
	s.lanes = beside || !k->nreduce ? 0 : lanes;
	s.units = size_number(k->sizes, 1);
	for (int i = 0; i < outer; i++)
		s.units = size_times(k->sizes, s.units, i != s.inner ? k->extent[i] :
				   size_ceil(k->sizes, k->extent[i], size_number(k->sizes, KERNEL_COLUMNS)));
	for (int i = outer; i < k->naxis; i++)
		points *= size_const(k->extent[i], &n) ? n : 1;
	if (beside && size_const(k->extent[s.inner], &n))
		points *= n < KERNEL_COLUMNS ? n : KERNEL_COLUMNS;
	s.grain = 1 + SHARE / (points * work(k) + 1);
	return s;
}

static Schedule
schedule_rows(const Kernel *k)
{
	const int most = kernel_row_lanes(k);
	Schedule s = kernel_schedule_rows(k, kernel_rows_beside(k), kernel_row_is_long(k, most) ? most :
					  kernel_row_is_long(k, KERNEL_LANES) ? KERNEL_LANES : 1);

	s.whole = !s.lanes && s.inner >= 0 &&
		  size_divides(k->sizes, size_number(k->sizes, KERNEL_COLUMNS), k->extent[s.inner]);
	return s;
}

Schedule
kernel_schedule(const Kernel *k, Tiling tiling)
{
	const int inner = inner_axis(k);
	Schedule s = { .inner = inner, .tile = tiled_axis(k, tiling), .grain = SHARE };
	int64_t row, times;

	if (kernel_has_rows(k))
		return schedule_rows(k);
	s.rows = k->naxis > 1 || k->serial >= 0 || (k->naxis == 1 && gathers_rows(k));
	s.units = size_number(k->sizes, 1);
	if (!s.rows) {
		s.units = kernel_points(k);
		return s;
	}
	for (int i = 0; i < (inner < 0 && k->serial >= 0 ? k->serial : inner); i++)
		s.units = size_times(k->sizes, s.units, i != s.tile ? k->extent[i] :
				   size_ceil(k->sizes, k->extent[i], size_number(k->sizes, KERNEL_TILE)));
	if (inner < 0 || !size_const(k->extent[inner], &row))
		row = 1;
	if (k->serial >= 0 && size_const(k->extent[k->serial], &times))
		row *= times;
	s.grain = 1 + SHARE / (row * (s.tile >= 0 ? KERNEL_TILE : 1) + 1);
	return s;
}
