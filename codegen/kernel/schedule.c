/*
 * Chooses how a kernel runs.
 *
 * With one axis, units are points, and a loop runs over all of them.  With more axes, a unit is a row: all points of
 * the inner axis, usually the innermost one.  Short innermost axes (3 channels, 2 x 2 pixels) are unrolled in the next
 * longer one.  A serial axis is a loop within the unit, around the vectorized one.  The grain is about as much work as
 * a launch costs.
 *
 * If an input is consecutive along another axis than the result, or constant along it, that axis and the innermost one
 * are tiled.  Then a whole cache line is used while it is in the cache.  Compilers do not vectorize over elements that
 * are far apart, so whole tiles are computed from and into copies with consecutive elements.  Indices are loaded once
 * for a tile.
 *
 * A reduction runs along rows if their elements are consecutive, with as many partial sums as the size allows.  If the
 * rows are side by side, it runs over KERNEL_COLUMNS rows at a time.  The division of a row depends only on its size,
 * so the result's bits are the same on any number of threads.
 *
 * Carried states allow no partial sums.  Their rows are always side by side, so that the steps of different rows
 * overlap.  Few rows are side by side if elements are consecutive along rows, since each row then has cache lines of
 * its own.
 */
#include "form.h"

enum {
	SHARE = 16384,           /* points worth a thread */
	SELECTION = 4,           /* operations that selecting from a row costs for each of its points */
	LEAST_LOOKED_UP = 1024,  /* fewest points worth a table */
	LEAST_TILED = 8,         /* shortest axis that is tiled */
	MOST_UNROLLED = 32,      /* most points of all unrolled axes together */
	LEAST_BESIDE = 4,        /* fewest rows that are reduced side by side */
	MOST_TURNED = 1024,      /* longest rows that are reduced side by side although they are read along */
};

/* Number of the axis's points in whole tiles. A short axis is a tile of its own. */
static int64_t
in_whole_tiles(int64_t n)
{
	return n < LEAST_TILED ? 0 : n < KERNEL_TILE ? n : n / KERNEL_TILE * KERNEL_TILE;
}

/* Are tiles of these axes mostly whole? */
static bool
has_whole_tiles(const Kernel *k, int a, int b)
{
	int64_t m, n;

	if (!kernel_typical(k, k->extent[a], &m) || !kernel_typical(k, k->extent[b], &n))
		return size_at_least(k->sizes, k->extent[a], KERNEL_TILE) &&
		       size_at_least(k->sizes, k->extent[b], KERNEL_TILE);
	return 8 * in_whole_tiles(m) * in_whole_tiles(n) >= 5 * m * n;
}

/* Do indices of the operand vary along the axis? */
static bool
looks_up_along(const Kernel *k, int operand, int axis)
{
	const Operand *o = &k->operand.at[operand];

	for (int g = 0; g < o->ngather; g++)
		if (!size_is(k->operand.at[o->gather[g].by.at].stride[axis], 0))
			return true;
	return false;
}

static bool
any_looks_up_along(const Kernel *k, int axis)
{
	for (int i = 0; i < k->operand.n; i++)
		if (looks_up_along(k, i, axis))
			return true;
	return false;
}

/* Does each step along the innermost axis load another cache line, whose other elements are used by steps along this
 * axis? */
static bool
shares_lines(const Kernel *k, int operand, int axis)
{
	const Operand *o = &k->operand.at[operand];

	if (!kernel_has_address(k, operand) || o->along >= 0)
		return false;
	return size_is(o->stride[axis], 0) ? kernel_is_long(k, o->stride[k->naxis - 1], KERNEL_TILE) :
	       kernel_consecutive(k, operand, axis) && (kernel_is_long(k, o->stride[k->naxis - 1], 2) ||
							looks_up_along(k, operand, k->naxis - 1));
}

Copied
kernel_copied(const Kernel *k, int operand, int axis)
{
	const Operand *o = &k->operand.at[operand];

	RT_ASSERT(operand >= 0 && operand < k->operand.n && axis >= 0 && axis < k->naxis);
	if (!kernel_has_address(k, operand) || !kernel_is_long(k, o->stride[k->naxis - 1], 2))
		return COPIED_NOT;
	if (size_is(o->stride[axis], 0))
		return o->access == ACCESS_READ ? COPIED_COLUMN : COPIED_NOT;
	return rt_dtypes[o->dtype].bytes == 4 && kernel_consecutive(k, operand, axis) ? COPIED_SQUARE : COPIED_NOT;
}

bool
kernel_copies_tiles(const Kernel *k, int axis)
{
	const int last = k->naxis - 1;
	bool any = false;

	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		if (o->bound.n || o->ngather || o->along >= 0 ||
		    (o->access >= ACCESS_BITS && !(size_is(o->stride[axis], 0) && size_is(o->stride[last], 0))))
			return false;
		any = any || kernel_copied(k, i, axis) != COPIED_NOT;
	}
	return any && k->let.n && !kernel_has_rows(k);
}

/* Is the result transposed between this axis and the innermost one, and are both long? */
static bool
turns_result(const Kernel *k, int axis)
{
	return kernel_is_long(k, k->extent[axis], KERNEL_TILE) &&
	       kernel_is_long(k, k->extent[k->naxis - 1], KERNEL_TILE) && kernel_copies_tiles(k, axis) &&
	       kernel_copied(k, 0, axis) == COPIED_SQUARE && has_whole_tiles(k, axis, k->naxis - 1);
}

/* Returns the axis to tile with the innermost one. The result, or, if tiles are not copied, an operand is consecutive
 * along it. -1 if there is none. */
static int
tiled_axis(const Kernel *k, Tiling tiling)
{
	const int last = k->naxis - 1;

	if (tiling == TILE_NEVER || last < 1 || k->serial >= 0 || k->operand.at[0].ngather ||
	    kernel_has_lets_as_indices(k))
		return -1;                               /* indices are loaded or computed for each point */
	for (int i = 0; i < last; i++)
		if (turns_result(k, i))
			return i;
	for (int o = 1; o < k->operand.n && kernel_consecutive(k, 0, last); o++)
		for (int i = 0; i < last; i++)
			if (shares_lines(k, o, i) && !any_looks_up_along(k, i) &&
			    (tiling == TILE_ALWAYS || has_whole_tiles(k, i, last)))
				return i;
	return -1;
}

/* Is some index the same for a whole row, so that it is looked up once? */
static bool
gathers_rows(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		for (int g = 0; g < k->operand.at[i].ngather; g++) {
			const Ref *by = &k->operand.at[i].gather[g].by;

			if (by->kind == REF_OPERAND && size_is(k->operand.at[by->at].stride[k->naxis - 1], 0))
				return true;
		}
	return false;
}

/* Returns the axis of the vectorized loop. -1 if only the serial axis is contiguous. */
int
kernel_inner(const Kernel *k)
{
	int inner = k->naxis - 1 - (k->serial >= 0);
	int64_t points = 1, n;

	if (k->serial >= 0)
		return inner >= 0 && !kernel_consecutive(k, 0, inner) ? -1 : inner;
	if (kernel_has_gathers(k))
		return inner;
	for (; inner > 0 && size_const(k->extent[inner], &n) && n <= KERNEL_UNROLLED && points * n <= MOST_UNROLLED;
	     inner--)
		points *= n;
	return inner;
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

/* Is the first operand of this access consecutive along the axis? */
static bool
lies_along(const Kernel *k, Access access, int axis)
{
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].access == access)
			return kernel_consecutive(k, i, axis);
	return false;
}

/* Is each point of a row stored, and are adjacent stored elements in different rows? */
static bool
stores_across(const Kernel *k, int beside, int last)
{
	const Operand *y = &k->operand.at[0];

	return y->access == ACCESS_WRITE && kernel_consecutive(k, 0, beside) && !size_is(y->stride[last], 0);
}

/* Would more than a fifth of the rows in a unit be missing if rows are reduced side by side? */
static bool
leaves_columns_empty(const Kernel *k, int axis)
{
	int64_t n;

	return kernel_typical(k, k->extent[axis], &n) && n >= KERNEL_LANES &&
	       4 * ((n + KERNEL_COLUMNS - 1) / KERNEL_COLUMNS * KERNEL_COLUMNS) > 5 * n;
}

/* Rows that are side by side in memory are reduced side by side, unless they are few and results are stored along rows.
 * For short rows, a vector over many rows is fuller than one along a row. Rows that are read along but stored side by
 * side are transposed in the cache. */
bool
kernel_rows_beside(const Kernel *k)
{
	const int last = k->naxis - 1, beside = last - k->nreduce;
	int64_t n;

	if (beside < 0 || kernel_has_ranges_of(k, beside) || kernel_has_lets_as_indices(k) ||
	    !kernel_is_long(k, k->extent[beside], LEAST_BESIDE))
		return false;
	if (k->nreduce == 1 && kernel_typical(k, k->extent[last], &n) && n <= MOST_TURNED &&
	    lies_along(k, ACCESS_READ, last) && stores_across(k, beside, last))
		return true;
	if (k->nreduce == 1 && kernel_typical(k, k->extent[last], &n) && n < KERNEL_LANES)
		return lies_along(k, ACCESS_READ, beside) || kernel_is_long(k, k->extent[beside], KERNEL_LANES);
	if (k->nreduce && lies_along(k, ACCESS_WRITE, last) && leaves_columns_empty(k, beside) &&
	    kernel_is_long(k, k->extent[last], 2 * KERNEL_LANES))
		return false;
	return lies_along(k, ACCESS_READ, beside) && !(k->nreduce && lies_along(k, ACCESS_READ, last));
}

int
kernel_row_lanes(const Kernel *k)
{
	const Size *n = k->nreduce ? k->extent[k->naxis - 1] : size_number(k->sizes, 1);
	/* a reduced row consists of many runs, or of one */
	const int least = k->nreduce > 1 ? KERNEL_LANES / 2 : KERNEL_LANES;

	if ((k->nreduce && kernel_range(k, k->naxis - 1)) || kernel_has_lets_as_indices(k))
		return 1;
	for (int i = 0; i < k->state.n; i++)
		if (k->state.at[i].part == RT_i32 && k->state.at[i].total == RT_i64)
			return 1;                /* small ints: the compiler vectorizes the plain loop better */
	return kernel_is_long(k, n, 2 * KERNEL_LANES) ? 2 * KERNEL_LANES :
	       kernel_is_long(k, n, least) ? KERNEL_LANES : 1;
}

/* Approximate number of operations for a point. */
static int64_t
point_work(const Kernel *k)
{
	int64_t n = 0;

	for (int i = 0; i < k->stage.n; i++)
		n += k->stage.at[i].select.count ? SELECTION : k->stage.at[i].each
			     ? 1 + kernel_stage_end(k, i).let - k->stage.at[i].let : 0;
	return n;
}

/* Number of rows side by side with carried states. Functions in a step are faster in wider vectors. Columns of a bag
 * are divided evenly, since the compiler knows the length of whole units. */
static int
carried_columns(const Kernel *k, int beside)
{
	int64_t n;

	if (k->range.n && size_const(k->extent[beside], &n)) {
		const int64_t tiles = (n + KERNEL_COLUMNS - 1) / KERNEL_COLUMNS;

		return n % tiles ? KERNEL_COLUMNS : (int)(n / tiles);
	}
	if (k->range.n || lies_along(k, ACCESS_READ, beside))
		return KERNEL_COLUMNS;
	for (int i = 0; i < k->state.n; i++)
		if (k->state.at[i].fold->calls)
			return KERNEL_LANES;
	return KERNEL_LANES / 2;
}

Schedule
kernel_schedule_rows(const Kernel *k, bool beside, int lanes)
{
	const int last = k->naxis - 1, outer = k->naxis - k->nreduce;
	const bool carries = kernel_carries(k), selects = kernel_selects(k), computed = kernel_has_lets_as_indices(k);
	Schedule s = { .rows = true, .tile = -1 };
	int64_t points = 1, n;

	beside = ((beside && !computed) || carries) && outer && !selects && !kernel_has_ranges_of(k, outer - 1);
	s.inner = beside ? outer - 1 : k->nreduce ? last : -1;
	s.columns = carries && beside ? carried_columns(k, s.inner) : KERNEL_COLUMNS;
	s.lanes = beside || !k->nreduce ? 0 : carries || selects || computed || kernel_range(k, last) ? 1 : lanes;
	s.units = size_number(k->sizes, 1);
	for (int i = 0; i < outer; i++)
		s.units = size_times(k->sizes, s.units, i != s.inner ? k->extent[i] :
				   size_ceil(k->sizes, k->extent[i], size_number(k->sizes, s.columns)));
	for (int i = outer; i < k->naxis; i++)
		points *= kernel_typical(k, k->extent[i], &n) ? n : 1;
	if (k->range.n && k->range.at[0].checked && kernel_typical(k, k->extent[0], &n) && n > 0)
		points /= n;             /* the points of all rows together are at most the extent */
	if (beside && kernel_typical(k, k->extent[s.inner], &n))
		points *= n < s.columns ? n : s.columns;
	s.grain = 1 + SHARE / (points * point_work(k) + 1);
	s.whole = !s.lanes && s.inner >= 0 &&
		  size_divides(k->sizes, size_number(k->sizes, s.columns), k->extent[s.inner]);
	return s;
}

/* Are the operand's elements consecutive, from its address on? */
static bool
is_row(const Operand *o)
{
	return size_is(o->offset, 0) && size_is(o->stride[0], 1) && o->along < 0 && !o->ngather && !o->bound.n;
}

bool
kernel_has_table(const Kernel *k)
{
	const Operand *y = &k->operand.at[0], *x = &k->operand.at[1];

	return k->naxis == 1 && k->serial < 0 && k->operand.n == 2 && k->let.n && !kernel_has_rows(k) &&
	       y->access == ACCESS_WRITE && x->access == ACCESS_READ && is_row(y) && is_row(x) &&
	       rt_dtypes[y->dtype].bytes <= 4 && rt_dtypes[x->dtype].category == 'I' &&
	       rt_dtypes[x->dtype].bytes == 1;
}

/* Does the float arithmetic cost more than a table lookup, for many points? Lookups of bytes are vectorized. */
static bool
pays_table(const Kernel *k)
{
	int floats = 0;

	for (int i = 0; i < k->let.n; i++)
		floats += rt_dtypes[k->let.at[i].types.compute].category == 'F';
	return floats > (rt_dtypes[k->operand.at[0].dtype].bytes == 1 ? 0 : 3) &&
	       kernel_is_long(k, k->extent[0], LEAST_LOOKED_UP);
}

/* Number of points of a unit whose loop is `inner`, ignoring axes of unknown extent. */
static int64_t
row_points(const Kernel *k, int inner)
{
	int64_t points = 1, n;

	for (int i = inner; i < k->naxis; i++)
		points *= i >= 0 && kernel_typical(k, k->extent[i], &n) ? n : 1;
	return points;
}

/* Rows of a link are side by side if an operand that it reads at each point is consecutive along the innermost axis of
 * its own. */
Schedule
kernel_schedule_link(const Kernel *k)
{
	const int beside = k->naxis - k->nreduce - 1;
	bool any = false;

	for (int i = 0; i < k->operand.n && beside >= k->shared; i++) {
		const Access access = k->operand.at[i].access;

		any = any || ((access == ACCESS_READ || access == ACCESS_LOCAL) && kernel_uses(k, i) &&
			      !kernel_stores(k, i) && kernel_consecutive(k, i, beside) &&
			      (!k->nreduce || kernel_moves_in_row(k, i)));
	}
	return kernel_schedule_rows(k, any, kernel_row_lanes(k));
}

/* A unit of a chain is a point of the shared axes, or all its steps. */
static Schedule
schedule_chain(const Kernel *k)
{
	Schedule s = { .rows = true, .inner = -1, .tile = -1, .columns = KERNEL_COLUMNS };
	int64_t points, units;

	s.units = size_number(k->sizes, 1);
	for (int i = 0; i < k->shared - (k->serial >= 0); i++)
		s.units = size_times(k->sizes, s.units, k->extent[i]);
	s.grain = !kernel_typical(k, kernel_steps(k), &points) || !kernel_typical(k, s.units, &units) || !units ? 1 :
		  1 + SHARE / (points / units + 1);
	return s;
}

Schedule
kernel_schedule(const Kernel *k, Tiling tiling, int inner)
{
	const bool unrolled = inner >= 0 && inner < k->naxis - 1 - (k->serial >= 0);
	Schedule s = { .inner = inner, .tile = unrolled ? -1 : tiled_axis(k, tiling) };

	if (k->next)
		return schedule_chain(k);
	if (kernel_has_rows(k))
		return kernel_schedule_rows(k, kernel_rows_beside(k), kernel_row_lanes(k));
	s.rows = inner > 0 || k->serial >= 0 || (k->naxis == 1 && gathers_rows(k));
	s.units = size_number(k->sizes, 1);
	if (!s.rows) {
		s.units = k->naxis ? k->extent[0] : s.units;
		s.grain = k->naxis > 1 ? 1 + SHARE / (row_points(k, 1) + 1) : SHARE;
		s.table = kernel_has_table(k) && pays_table(k);
		return s;
	}
	for (int i = 0; i < (inner < 0 && k->serial >= 0 ? k->serial : inner); i++)
		s.units = size_times(k->sizes, s.units, i != s.tile ? k->extent[i] :
				   size_ceil(k->sizes, k->extent[i], size_number(k->sizes, KERNEL_TILE)));
	s.grain = 1 + SHARE / (row_points(k, inner < 0 ? k->serial : inner) * (s.tile >= 0 ? KERNEL_TILE : 1) + 1);
	return s;
}
