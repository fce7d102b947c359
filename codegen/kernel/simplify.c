/*
 * Simplifies kernels: orders axes by the result's strides, merges them, and removes bounds and ranges that always hold.
 */
#include "form.h"
#include <string.h>

enum { LEAST_INNER = 8 };        /* shortest loop worth vectorizing */

static void
swap_sizes(const Size **at, int a, int b)
{
	const Size *was = at[a];

	at[a] = at[b];
	at[b] = was;
}

AxisRange *
kernel_range(const Kernel *k, int axis)
{
	for (int i = 0; i < k->range.n; i++)
		if (k->range.at[i].axis == axis)
			return &k->range.at[i];
	return NULL;
}

static bool
depends_on(const AxisEdge *e, int of)
{
	return e->per && e->of == of;
}

/* Does an edge that is a size depend on this axis? */
static bool
has_sizes_of(const Kernel *k, int of)
{
	for (int i = 0; i < k->range.n; i++)
		if (depends_on(&k->range.at[i].first, of) || depends_on(&k->range.at[i].end, of))
			return true;
	return false;
}

bool
kernel_has_ranges_of(const Kernel *k, int of)
{
	for (int i = 0; i < k->range.n; i++) {
		const AxisEdge *const edge[] = { &k->range.at[i].first, &k->range.at[i].end };

		for (int j = 0; j < 2; j++)
			if (kernel_moves(k, &edge[j]->let, of))
				return true;
	}
	return has_sizes_of(k, of);
}

bool
range_has_sizes(const AxisRange *r)
{
	return r->first.per && r->end.per;
}

const Size *
range_most_points(const Kernel *k, const AxisRange *r)
{
	SizeTable *z = k->sizes;

	RT_ASSERT(range_has_sizes(r) && r->first.of == r->end.of);
	return size_plus(z, size_ceil(z, size_minus(z, r->end.plus, r->first.plus), r->end.per), size_number(z, 1));
}

void
kernel_divide(Kernel *k, int axis, int of, const Size *n)
{
	const Size *parts = k->extent[of];
	AxisRange r = { .axis = axis };

	RT_ASSERT(axis >= k->naxis - k->nreduce && of < k->naxis - k->nreduce && !kernel_range(k, axis));
	r.first = (AxisEdge){ .of = of, .times = n, .plus = size_number(k->sizes, 0), .per = parts };
	r.end = (AxisEdge){ .of = of, .up = true, .times = n, .plus = n, .per = parts };
	k->extent[axis] = range_most_points(k, &r);
	vec_push(k->arena, &k->range, r);
}

void
kernel_count(Kernel *k, int axis, Ref let)
{
	RT_ASSERT(let.kind == REF_LET && size_is(k->extent[axis], 1) && !kernel_range(k, axis));
	vec_push(k->arena, &k->range,
		 ((AxisRange){ .axis = axis, .end = { .let = let } }));
}

static int
swapped(int axis, int a, int b)
{
	return axis == a ? b : axis == b ? a : axis;
}

static void
swap_ranges(Kernel *k, int a, int b)
{
	for (int i = 0; i < k->range.n; i++) {
		AxisRange *r = &k->range.at[i];

		r->axis = swapped(r->axis, a, b);
		r->first.of = swapped(r->first.of, a, b);
		r->end.of = swapped(r->end.of, a, b);
	}
}

void
kernel_swap_axes(Kernel *k, int a, int b)
{
	RT_ASSERT(a >= 0 && b >= 0 && a < k->naxis && b < k->naxis);
	swap_sizes(k->extent, a, b);
	swap_ranges(k, a, b);
	for (int i = 0; i < k->operand.n; i++) {
		Operand *o = &k->operand.at[i];

		swap_sizes(o->stride, a, b);
		for (int j = 0; j < o->bound.n; j++)
			swap_sizes(o->bound.at[j].stride, a, b);
	}
	k->serial = k->serial == a ? b : k->serial == b ? a : k->serial;
}

void
kernel_move_axis(Kernel *k, int from, int to)
{
	RT_ASSERT(to >= 0 && to <= from && from < k->naxis);
	for (int i = from; i > to; i--)
		kernel_swap_axes(k, i, i - 1);
}

static void
remove_stride(Kernel *k, const Size **stride, int axis)
{
	for (int i = axis; i < k->naxis; i++)
		stride[i] = stride[i + 1];
	stride[k->naxis] = size_number(k->sizes, 0);
}

static void
remove_axis(Kernel *k, int axis)
{
	RT_ASSERT(axis >= 0 && axis < k->naxis && !kernel_range(k, axis) && !has_sizes_of(k, axis));
	for (int i = 0; i < k->range.n; i++) {
		AxisRange *r = &k->range.at[i];

		r->axis -= r->axis > axis;
		r->first.of -= r->first.of > axis;
		r->end.of -= r->end.of > axis;
	}
	k->nreduce -= axis >= k->naxis - k->nreduce;
	k->shared -= axis < k->shared;
	k->naxis--;
	for (int i = axis; i < k->naxis; i++)
		k->extent[i] = k->extent[i + 1];
	for (int i = 0; i < k->operand.n; i++) {
		Operand *o = &k->operand.at[i];

		remove_stride(k, o->stride, axis);
		for (int j = 0; j < o->bound.n; j++)
			remove_stride(k, o->bound.at[j].stride, axis);
	}
	k->serial = k->serial == axis ? -1 : k->serial - (k->serial > axis);
}

static bool
is_along(const Kernel *k, int axis)
{
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].along == axis)
			return true;
	return false;
}

/* Is the axis's stride the next axis's stride times its extent? */
static bool
goes_on(const Kernel *k, const Size *const *stride, int axis)
{
	return stride[axis] == size_times(k->sizes, stride[axis + 1], k->extent[axis + 1]);
}

/* Can the axis and the next one be merged? */
static bool
can_merge(const Kernel *k, int axis)
{
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		if (!goes_on(k, o->stride, axis))
			return false;
		for (int j = 0; j < o->bound.n; j++)
			if (!goes_on(k, o->bound.at[j].stride, axis))
				return false;
	}
	for (int i = axis; i <= axis + 1; i++)
		if (is_along(k, i) || k->serial == i || kernel_range(k, i) || has_sizes_of(k, i))
			return false;
	return axis >= k->shared && axis + 1 != k->naxis - k->nreduce;
}

/* The operand whose strides order the axes. */
static const Operand *
leading_operand(const Kernel *k)
{
	for (int i = 0; i < k->operand.n && k->nreduce; i++)
		if (k->operand.at[i].access == ACCESS_READ)
			return &k->operand.at[i];
	return &k->operand.at[0];
}

/* Is the stride of the axis before this one provably at least as large? */
static bool
is_in_order(const Kernel *k, int axis)
{
	const Operand *o = leading_operand(k);

	return kernel_is_long(k, size_minus(k->sizes, o->stride[axis - 1], o->stride[axis]), 0);
}

/* First axis that may move: an axis with an address for each point stays outermost, and so do shared axes. */
static int
first_free(const Kernel *k)
{
	return k->shared ? k->shared : is_along(k, 0);
}

static void
sort_axes(Kernel *k, int first, int end)
{
	for (int i = first + 1; i < end; i++)
		for (int j = i; j > first && !is_in_order(k, j); j--)
			kernel_swap_axes(k, j - 1, j);
}

/* Sets *slope and *start if the edge is slope * i + start. Returns false if it is not. */
static bool
is_straight(const Kernel *k, const AxisEdge *e, const Size *none, const Size **slope, const Size **start)
{
	SizeTable *z = k->sizes;

	*slope = size_number(z, 0);
	*start = e->per ? (e->up ? size_ceil : size_floor)(z, e->plus, e->per) : none;
	if (!e->per || size_is(k->extent[e->of], 1))
		return true;
	*slope = size_floor(z, e->times, e->per);
	return size_divides(z, e->per, e->times);
}

/* Moves an index to start + slope * (index of axis `of`) behind where it was. */
static void
shift(const Kernel *k, const Size **offset, const Size **stride, int axis, int of, const Size *slope, const Size *start)
{
	SizeTable *z = k->sizes;

	*offset = size_plus(z, *offset, size_times(z, stride[axis], start));
	stride[of] = size_plus(z, stride[of], size_times(z, stride[axis], slope));
}

static void
shift_all(Kernel *k, int axis, int of, const Size *slope, const Size *start)
{
	for (int i = 0; i < k->operand.n; i++) {
		Operand *o = &k->operand.at[i];

		shift(k, &o->offset, o->stride, axis, of, slope, start);
		for (int j = 0; j < o->bound.n; j++)
			shift(k, &o->bound.at[j].offset, o->bound.at[j].stride, axis, of, slope, start);
	}
}

/* Removes a range that has the same number of points everywhere: operands move with its first point. */
static bool
straighten(Kernel *k, const AxisRange *r)
{
	const int of = r->first.per ? r->first.of : r->end.of;
	const Size *slope[2], *start[2];

	if (r->first.let.kind || r->end.let.kind || (r->end.per && r->end.of != of) ||
	    !is_straight(k, &r->first, size_number(k->sizes, 0), &slope[0], &start[0]) ||
	    !is_straight(k, &r->end, k->extent[r->axis], &slope[1], &start[1]) || slope[0] != slope[1])
		return false;
	shift_all(k, r->axis, of, slope[0], start[0]);
	k->extent[r->axis] = size_minus(k->sizes, start[1], start[0]);
	return true;
}

static void
straighten_all(Kernel *k)
{
	int n = 0;

	for (int i = 0; i < k->range.n; i++)
		if (!straighten(k, &k->range.at[i]))
			k->range.at[n++] = k->range.at[i];
	k->range.n = n;
}

/* Does the bound hold at all points? */
static bool
holds(const Kernel *k, const Bound *in)
{
	SizeTable *z = k->sizes;
	const Size *least = in->offset, *room = size_minus(z, in->limit, in->offset);

	for (int i = 0; i < k->naxis; i++) {
		const Size *last = size_times(z, in->stride[i], size_minus(z, k->extent[i], size_number(z, 1)));

		if (!size_is(in->stride[i], 0) && kernel_range(k, i))
			return false;
		if (size_at_least(z, in->stride[i], 0))
			room = size_minus(z, room, last);
		else if (size_at_most(z, in->stride[i], 0))
			least = size_plus(z, least, last);
		else
			return false;
	}
	return size_at_least(z, least, 0) && size_at_least(z, room, 1);
}

/* Adds the positions to the operand's strides and offset. */
static void
flatten(const Kernel *k, Operand *o)
{
	SizeTable *z = k->sizes;

	for (int i = 0; i < o->bound.n; i++) {
		Bound *in = &o->bound.at[i];

		if (!in->unit)
			continue;
		o->offset = size_plus(z, o->offset, size_times(z, in->offset, in->unit));
		for (int a = 0; a < k->naxis; a++)
			o->stride[a] = size_plus(z, o->stride[a], size_times(z, in->stride[a], in->unit));
		in->unit = NULL;
	}
}

static void
drop_bounds(Kernel *k, Operand *o)
{
	int n = 0;

	for (int i = 0; i < o->bound.n; i++)
		if (!holds(k, &o->bound.at[i]))
			o->bound.at[n++] = o->bound.at[i];
	o->bound.n = n;
	if (!n)
		o->outside = (IValue){ 0 };
}

/* Is the value the same number at all points? */
static bool
is_constant(const Kernel *k, const Ref *r)
{
	const Operand *o = r->kind == REF_OPERAND ? &k->operand.at[r->at] : NULL;

	if (!o || o->access != ACCESS_INDEX || o->bound.n || o->ngather)
		return false;
	for (int i = 0; i < k->naxis; i++)
		if (!size_is(o->stride[i], 0))
			return false;
	return true;
}

/* Replaces a state by a value in a reference, and counts the states behind it down. */
static void
replace_state(Ref *r, int state, Ref by)
{
	if (r->kind == REF_STATE && r->at == state)
		*r = by;
	else if (r->kind == REF_STATE)
		r->at -= r->at > state;
}

static void
remove_state(Kernel *k, int state, Ref by)
{
	for (int i = 0; i < k->let.n; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			replace_state(&k->let.at[i].arg[a], state, by);
	for (int i = 0; i < k->store.n; i++)
		replace_state(&k->store.at[i].value, state, by);
	k->state.n--;
	for (int i = state; i < k->state.n; i++)
		k->state.at[i] = k->state.at[i + 1];
	for (int i = 0; i < k->state.n; i++) {
		replace_state(&k->state.at[i].x, state, by);
		replace_state(&k->state.at[i].y, state, by);
	}
	for (int i = 0; i < k->stage.n; i++)
		k->stage.at[i].state -= k->stage.at[i].state > state;
}

/* Replaces the sum of a number over a row by a product, as for the number of elements of a mean. */
static void
drop_counts(Kernel *k)
{
	for (int i = k->state.n - 1; i >= 0; i--) {
		const Folded *s = &k->state.at[i];
		const Size *n = is_constant(k, &s->x) ? k->operand.at[s->x.at].offset : NULL;
		int64_t number;

		if (!n || strcmp(s->fold->name, "sum"))
			continue;
		for (int d = k->naxis - k->nreduce; n && d < k->naxis; d++)
			n = kernel_range(k, d) ? NULL : size_times(k->sizes, n, k->extent[d]);
		if (!n)
			continue;
		remove_state(k, i, size_const(n, &number) ? ref_number(rt_int(number)) :
			     ref_operand(kernel_operand(k, (Operand){ .dtype = RT_i64, .access = ACCESS_INDEX,
								      .along = -1, .offset = n })));
	}
}

void
kernel_drop_ones(Kernel *k)
{
	straighten_all(k);
	for (int i = k->naxis - 1 - kernel_selects(k); i >= 0; i--)
		if (size_is(k->extent[i], 1) && !kernel_range(k, i) && !is_along(k, i))
			remove_axis(k, i);
}

static int
consecutive_operands(const Kernel *k, int axis)
{
	int n = 0;

	for (int i = 0; i < k->operand.n; i++)
		n += kernel_consecutive(k, i, axis);
	return n;
}

/* If far more operands are consecutive along another axis than along the result's innermost one, makes that axis
 * innermost. An example is channels-last inputs and a contiguous result. */
static void
lead_most(Kernel *k)
{
	const int last = k->naxis - 1;
	int lead = last, most = last > 0 ? 2 * consecutive_operands(k, last) : 0;

	for (int i = 0; i < last && !is_along(k, 0); i++)
		if (consecutive_operands(k, i) > most && kernel_is_long(k, k->extent[i], LEAST_INNER)) {
			lead = i;
			most = consecutive_operands(k, i);
		}
	for (int i = lead; i < last; i++)
		kernel_swap_axes(k, i, i + 1);
}

/* Makes a short axis innermost if the inputs are consecutive along it, as when pixels become planes. Then runs of them
 * are read at once. */
static void
unroll_short(Kernel *k)
{
	const int last = k->naxis - 1;
	int64_t n;

	for (int i = last - 1; i >= first_free(k); i--)
		if (size_const(k->extent[i], &n) && n <= KERNEL_UNROLLED && consecutive_operands(k, i) &&
		    kernel_is_long(k, k->extent[last], LEAST_INNER)) {
			for (int j = i; j < last; j++)
				kernel_swap_axes(k, j, j + 1);
			return;
		}
}

void
kernel_simplify(Kernel *k, int keep)
{
	int first;

	for (int i = 0; i < k->operand.n; i++)
		flatten(k, &k->operand.at[i]);
	kernel_drop_ones(k);
	first = first_free(k);
	for (int i = 0; i < k->operand.n; i++)
		drop_bounds(k, &k->operand.at[i]);
	drop_counts(k);
	if (k->serial >= k->shared)
		for (int i = k->serial; i < k->naxis - 1; i++)
			kernel_swap_axes(k, i, i + 1);
	sort_axes(k, first, k->naxis - k->nreduce - (k->serial >= k->shared));
	sort_axes(k, k->naxis - k->nreduce, k->naxis);
	if (!kernel_has_rows(k) && k->serial < 0 && !keep)
		lead_most(k);
	for (int i = k->naxis - 2 - keep; i >= 0; i--)
		if (can_merge(k, i)) {
			k->extent[i + 1] = size_times(k->sizes, k->extent[i], k->extent[i + 1]);
			remove_axis(k, i);
		}
	if (!kernel_has_rows(k) && k->serial < 0 && !keep)
		unroll_short(k);
	RT_ASSERT(k->serial < k->shared || k->serial == k->naxis - 1);
	if (k->next)
		kernel_simplify(k->next, keep);
}

bool
kernel_consecutive(const Kernel *k, int operand, int axis)
{
	RT_ASSERT(operand >= 0 && operand < k->operand.n && axis >= 0 && axis < KERNEL_AXES);
	return size_is(k->operand.at[operand].stride[axis], 1);
}
