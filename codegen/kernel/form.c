/*
 * Builds kernels, and simplifies them to equivalent kernels with fewer and better axes.
 */
#include "form.h"

#include <string.h>

/* ---- making one ------------------------------------------------------------------------------------------------ */

Kernel *
kernel_new(SizeTable *sizes, Arena *arena, const char *name, const char *comment)
{
	Kernel *k = new(arena, Kernel, 1);

	k->sizes = sizes;
	k->arena = arena;
	k->name = name;
	k->comment = comment;
	k->serial = -1;
	kernel_stage(k, true);
	return k;
}

int
kernel_operand(Kernel *k, Operand o)
{
	static const char letters[] = {
		[ACCESS_READ] = 'x', [ACCESS_WRITE] = 'y', [ACCESS_UPDATE] = 'y', [ACCESS_NUMBER] = 's',
		[ACCESS_BITS] = 's', [ACCESS_MADE] = 'm', [ACCESS_INDEX] = 'n', [ACCESS_LOCAL] = 'l',
	};

	RT_ASSERT(o.ngather >= 0 && o.ngather <= KERNEL_GATHERS && o.along >= -1 && o.along <= 0);
	if (!o.name)
		o.name = arena_printf(k->arena, "%c%d", letters[o.access], k->operand.n);
	for (int i = 0; i < KERNEL_AXES; i++)
		if (!o.stride[i])
			o.stride[i] = size_number(k->sizes, 0);
	if (!o.offset)
		o.offset = size_number(k->sizes, 0);
	vec_push(k->arena, &k->operand, o);
	return k->operand.n - 1;
}

int
kernel_strided(Kernel *k, Access access, RtDtype dtype, const int64_t *stride)
{
	Operand o = { .dtype = dtype, .access = access, .along = -1 };

	for (int i = 0; i < k->naxis && stride; i++)
		o.stride[i] = size_number(k->sizes, stride[i]);
	return kernel_operand(k, o);
}

Ref
kernel_let(Kernel *k, Let l)
{
	RT_ASSERT(l.op && l.narg >= 0 && l.narg <= RT_MAP_MAX);
	vec_push(k->arena, &k->let, l);
	return (Ref){ .kind = REF_LET, .at = k->let.n - 1 };
}

void
kernel_store(Kernel *k, int operand, Ref value)
{
	RT_ASSERT(operand >= 0 && operand < k->operand.n && value.kind != REF_NONE);
	vec_push(k->arena, &k->store, ((Store){ operand, value }));
}

Kernel *
kernel_then(Kernel *last)
{
	Kernel *k = kernel_new(last->sizes, last->arena, last->name, last->comment);

	last->next = k;
	k->naxis = k->shared = last->shared;
	k->serial = last->serial;
	memcpy(k->extent, last->extent, sizeof k->extent);
	k->typical = last->typical;
	for (int i = 0; i < last->operand.n; i++) {
		const Operand *o = &last->operand.at[i];

		if (kernel_has_address(last, i) || o->access == ACCESS_LOCAL)
			kernel_operand(k, (Operand){ .name = o->name, .dtype = o->dtype, .access = o->access,
						     .along = -1, .constant = o->constant });
	}
	return k;
}

void
kernel_bound(Kernel *k, int operand, Bound b)
{
	RT_ASSERT(operand >= 0 && operand < k->operand.n && b.limit);
	for (int i = 0; i < KERNEL_AXES; i++)
		if (!b.stride[i])
			b.stride[i] = size_number(k->sizes, 0);
	vec_push(k->arena, &k->operand.at[operand].bound, b);
}

Ref
kernel_state(Kernel *k, Folded s)
{
	RT_ASSERT(s.fold && s.x.kind != REF_NONE);
	vec_push(k->arena, &k->state, s);
	return (Ref){ .kind = REF_STATE, .at = k->state.n - 1 };
}

void
kernel_stage(Kernel *k, bool each)
{
	vec_push(k->arena, &k->stage, ((Stage){ each, k->let.n, k->state.n, k->store.n, { 0 } }));
}

void
kernel_select(Kernel *k, Select s)
{
	Stage *last = &vec_last(&k->stage);

	RT_ASSERT(s.count && last->each && last->let == k->let.n && last->state == k->state.n &&
		  last->store == k->store.n);
	last->select = s;
}

Stage
kernel_stage_end(const Kernel *k, int stage)
{
	RT_ASSERT(stage >= 0 && stage < k->stage.n);
	if (stage + 1 < k->stage.n)
		return k->stage.at[stage + 1];
	return (Stage){ false, k->let.n, k->state.n, k->store.n, { 0 } };
}

/* Among equal elements the first wins, and NaN wins over any number. There are no branches, so loops over lanes
 * vectorize. */
#define MORE(over) "(x " over " a) | ((x == a) & (y < b)) | ((x != x) & ((a == a) | (y < b)))"

const Fold *
fold_find(const char *name)
{
	static const Fold folds[] = {
		{ "sum", FOLD_ZERO, .join = "a + x" },
		{ "prod", FOLD_ONE, .join = "a * x" },
		{ "max", FOLD_LEAST, .join = "a != a ? a : a > x ? a : x" },
		{ "min", FOLD_MOST, .join = "a != a ? a : a < x ? a : x" },
		{ "argmax", FOLD_LEAST, .places = true, .takes = MORE(">") },
		{ "argmin", FOLD_MOST, .places = true, .takes = MORE("<") },
		{ "lastmax", FOLD_LEAST, .ordered = true, .places = true, .takes = "(x >= a) | (x != x)" },
		{ "lastmin", FOLD_MOST, .ordered = true, .places = true, .takes = "(x <= a) | (x != x)" },
		/* The first element counts, even if it is NaN. Later ones count if they are greater. */
		{ "firstmax", FOLD_LEAST, .ordered = true, .places = true, .takes = "(x > a) | (y < b)" },
		{ "log_add", FOLD_LEAST, .calls = true, .join = "vr_log_add(a, x)" },
		{ "log_addf", FOLD_LEAST, .calls = true, .join = "vr_log_addf(a, x)" },
		/* As pooling chooses: the last NaN wins. */
		{ "poolmax", FOLD_LEAST, .places = true,
		  .takes = "(x > a) | ((x == a) & (y < b)) | ((x != x) & ((a == a) | (y > b)))" },
		{ "any", FOLD_ZERO, .logic = true, .join = "a | x" },
		{ "all", FOLD_ONE, .logic = true, .join = "a & x" },
	};

	RT_ASSERT(name);
	for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
		if (!strcmp(folds[i].name, name))
			return &folds[i];
	return NULL;
}

Ref
ref_operand(int at)
{
	return (Ref){ .kind = REF_OPERAND, .at = at };
}

bool
ref_reads(const Ref *r, int operand)
{
	return r->kind == REF_OPERAND && r->at == operand;
}

Ref
ref_number(IValue v)
{
	return (Ref){ .kind = REF_NUMBER, .number = v };
}

enum { LEAST_INNER = 8 };        /* shortest loop worth vectorizing */

/* Copies n elements into an allocation with the capacity that vec_push would make. */
static void *
copied(Arena *a, const void *at, int n, size_t size)
{
	void *to = n ? arena_take(a, n * (int64_t)size) : NULL;

	if (n)
		memcpy(to, at, (size_t)n * size);
	return to;
}

#define COPY_OF(v) ((v).at = copied(k->arena, (v).at, (v).n, sizeof *(v).at), (v).cap = (v).n)

Kernel *
kernel_copy(const Kernel *from)
{
	Kernel *k = new(from->arena, Kernel, 1);

	*k = *from;
	COPY_OF(k->range);
	COPY_OF(k->operand);
	COPY_OF(k->let);
	COPY_OF(k->state);
	COPY_OF(k->store);
	COPY_OF(k->stage);
	for (int i = 0; i < k->operand.n; i++)
		COPY_OF(k->operand.at[i].bound);
	if (from->next)
		k->next = kernel_copy(from->next);
	return k;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

bool
kernel_typical(const Kernel *k, const Size *s, int64_t *out)
{
	return size_const(s, out) || (k->typical && size_value(s, k->typical, out));
}

bool
kernel_is_long(const Kernel *k, const Size *s, int64_t least)
{
	int64_t n;

	return kernel_typical(k, s, &n) ? n >= least : size_at_least(k->sizes, s, least);
}

/* ---- axes ------------------------------------------------------------------------------------------------------ */

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
moves_operand(const Operand *o, int axis)
{
	for (int i = 0; i < o->bound.n; i++)
		if (!size_is(o->bound.at[i].stride[axis], 0))
			return true;
	return !size_is(o->stride[axis], 0) || o->along == axis;
}

bool
kernel_moves(const Kernel *k, const Ref *r, int axis)
{
	const Operand *o = r->kind == REF_OPERAND ? &k->operand.at[r->at] : NULL;

	for (int g = 0; o && g < o->ngather; g++)
		if (kernel_moves(k, &o->gather[g].by, axis))
			return true;
	for (int i = 0; r->kind == REF_LET && i < k->let.at[r->at].narg; i++)
		if (kernel_moves(k, &k->let.at[r->at].arg[i], axis))
			return true;
	return r->kind == REF_STATE || (o && moves_operand(o, axis));
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

/* ---- size, cost and comment ------------------------------------------------------------------------------------ */

bool
kernel_stores(const Kernel *k, int operand)
{
	for (int i = 0; i < k->store.n; i++)
		if (k->store.at[i].operand == operand)
			return true;
	return false;
}

bool
kernel_has_rows(const Kernel *k)
{
	return k->nreduce || k->state.n || k->stage.n > 1 || k->shared;
}

bool
kernel_carries(const Kernel *k)
{
	for (int i = 0; i < k->state.n; i++)
		if (k->state.at[i].carried)
			return true;
	return false;
}

bool
kernel_selects(const Kernel *k)
{
	for (int i = 0; i < k->stage.n; i++)
		if (k->stage.at[i].select.count)
			return true;
	return false;
}

/* A local operand of a cache line's multiple of elements, as many as the link that stores it reaches. */
const Size *
kernel_local(const Kernel *k, int operand)
{
	enum { LINE = 16 };
	SizeTable *z = k->sizes;
	const Size *n = size_number(z, 1);

	while (!kernel_stores(k, operand) && k->next)
		k = k->next;
	for (int i = k->shared; i < k->naxis; i++)
		n = size_plus(z, n, size_times(z, k->operand.at[operand].stride[i],
					       size_minus(z, k->extent[i], size_number(z, 1))));
	return size_times(z, size_ceil(z, n, size_number(z, LINE)),
			  size_number(z, LINE * rt_dtypes[k->operand.at[operand].dtype].bytes));
}

const Size *
kernel_scratch(const Kernel *k)
{
	const Size *n = size_number(k->sizes, 0);

	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].access == ACCESS_LOCAL)
			n = size_plus(k->sizes, n, kernel_local(k, i));
	/* a key and an index for each point of a row, and an index for sorting them */
	return kernel_selects(k) ? size_times(k->sizes, size_number(k->sizes, 3 * (int64_t)sizeof(int64_t)),
					      k->extent[k->naxis - 1]) : n;
}

bool
kernel_uses(const Kernel *k, int operand)
{
	for (int i = 0; i < k->let.n; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			if (ref_reads(&k->let.at[i].arg[a], operand))
				return true;
	for (int i = 0; i < k->state.n; i++)
		if (ref_reads(&k->state.at[i].x, operand) || ref_reads(&k->state.at[i].y, operand))
			return true;
	for (int i = 0; i < k->store.n; i++)
		if (ref_reads(&k->store.at[i].value, operand))
			return true;
	return kernel_stores(k, operand);
}

bool
kernel_has_near(const Kernel *k, int stage)
{
	bool any = false;

	RT_ASSERT(stage >= 0 && stage < k->stage.n);
	for (int i = k->stage.at[stage].let; i < kernel_stage_end(k, stage).let; i++)
		any = any || (strchr(k->let.at[i].op->domain, 'M') &&
			      rt_dtypes[k->let.at[i].types.compute].category == 'F');
	for (int i = 0; i < k->operand.n; i++)
		any = any && k->operand.at[i].along < 0;
	return any && !kernel_has_gathers(k);
}

bool
kernel_has_gathers(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].ngather)
			return true;
	return false;
}

bool
kernel_has_lets_as_indices(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		for (int g = 0; g < k->operand.at[i].ngather; g++)
			if (k->operand.at[i].gather[g].by.kind == REF_LET)
				return true;
	return false;
}

bool
kernel_may_fail(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		for (int g = 0; g < k->operand.at[i].ngather; g++)
			if (k->operand.at[i].gather[g].outside == OUTSIDE_FAILS)
				return true;
	for (int i = 0; i < k->range.n; i++)
		if (k->range.at[i].checked)
			return true;
	return false;
}

const Size *
kernel_points(const Kernel *k)
{
	const Size *n = size_number(k->sizes, 1);

	for (int i = 0; i < k->naxis; i++)
		n = size_times(k->sizes, n, k->extent[i]);
	return n;
}

const Size *
kernel_bytes(const Kernel *k)
{
	const Size *all = size_number(k->sizes, 0);

	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];
		const bool in_memory = o->access != ACCESS_NUMBER && kernel_has_address(k, i);
		const Size *n = size_number(k->sizes, in_memory ? rt_dtypes[o->dtype].bytes : 0);

		for (int d = 0; d < k->naxis; d++)
			if (!size_is(o->stride[d], 0) || o->along == d || o->ngather)
				n = size_times(k->sizes, n, k->extent[d]);
		all = size_plus(k->sizes, all, n);
	}
	return all;
}

const Size *
kernel_lets(const Kernel *k)
{
	return size_times(k->sizes, size_number(k->sizes, k->let.n), kernel_points(k));
}

const Size *
kernel_steps(const Kernel *k)
{
	int64_t steps = 0;

	for (int i = 0; i < k->stage.n; i++) {
		const Stage from = k->stage.at[i], end = kernel_stage_end(k, i);

		steps += from.each ? end.let - from.let + end.state - from.state : 0;
	}
	return size_plus(k->sizes, size_times(k->sizes, size_number(k->sizes, steps), kernel_points(k)),
			 k->next ? kernel_steps(k->next) : size_number(k->sizes, 0));
}

const char *
kernel_comment(const Kernel *k)
{
	Buf b = { 0 };

	buf_puts(&b, k->comment);
	for (int i = 0; i < k->naxis; i++) {
		buf_puts(&b, i ? " x " : ": ");
		size_print(k->extent[i], SIZE_TEXT, true, &b);
	}
	return arena_text(k->arena, &b);
}

/* ---- invariants ------------------------------------------------------------------------------------------------ */

static bool
stores_to(const Operand *o)
{
	return o->access == ACCESS_WRITE || o->access == ACCESS_UPDATE || o->access == ACCESS_LOCAL;
}

/* Has an earlier stage stored this operand? */
static bool
is_stored_before(const Kernel *k, int operand, int stage)
{
	for (int i = 0; i < k->stage.at[stage].store; i++)
		if (k->store.at[i].operand == operand)
			return true;
	return false;
}

int
kernel_stage_of(const Kernel *k, RefKind kind, int at)
{
	int stage = 0;

	while (stage + 1 < k->stage.n &&
	       at >= (kind == REF_LET ? k->stage.at[stage + 1].let : k->stage.at[stage + 1].state))
		stage++;
	return stage;
}

bool
kernel_has_address(const Kernel *k, int operand)
{
	const Access access = k->operand.at[operand].access;

	return access != ACCESS_MADE && access != ACCESS_INDEX && access != ACCESS_BITS && access != ACCESS_LOCAL;
}

int
kernel_addresses(const Kernel *k)
{
	int n = 0;

	for (int i = 0; i < k->operand.n; i++)
		n += kernel_has_address(k, i);
	return n;
}

bool
kernel_moves_in_row(const Kernel *k, int operand)
{
	for (int d = k->naxis - k->nreduce; d < k->naxis; d++)
		if (moves_operand(&k->operand.at[operand], d))
			return true;
	return false;
}

/* Does the value differ for each point of a row? A stage that runs once must not read it. */
static bool
is_of_points(const Kernel *k, const Ref *r)
{
	const Operand *o = r->kind == REF_OPERAND ? &k->operand.at[r->at] : NULL;

	for (int g = 0; o && g < o->ngather; g++)
		if (o->gather[g].by.kind == REF_LET && is_of_points(k, &o->gather[g].by))
			return true;
	return o ? kernel_moves_in_row(k, r->at)
		 : r->kind == REF_LET && k->stage.at[kernel_stage_of(k, REF_LET, r->at)].each;
}

/* May the stage read the let, which is one of the first nlet? */
static bool
may_read_let(const Kernel *k, int stage, const Ref *r, int nlet)
{
	return r->at < nlet && (kernel_stage_of(k, REF_LET, r->at) == stage || !is_of_points(k, r));
}

bool
kernel_may_read(const Kernel *k, int stage, const Ref *r, int nlet)
{
	const Operand *o = r->kind == REF_OPERAND ? &k->operand.at[r->at] : NULL;
	int of;

	if (!k->stage.at[stage].each && is_of_points(k, r))
		return false;
	for (int g = 0; o && g < o->ngather; g++)
		if (o->gather[g].by.kind == REF_LET && !may_read_let(k, stage, &o->gather[g].by, nlet))
			return false;
	if (o)
		return o->access != ACCESS_WRITE || is_stored_before(k, r->at, stage);
	if (r->kind == REF_LET)
		return may_read_let(k, stage, r, nlet);
	if (r->kind != REF_STATE)
		return true;
	of = kernel_stage_of(k, REF_STATE, r->at);
	return of < stage || (of == stage && k->state.at[r->at].carried && nlet == kernel_stage_end(k, stage).let);
}

static void
check_ref(const Kernel *k, int stage, const Ref *r, int nlet)
{
	RT_ASSERT(r->kind != REF_OPERAND || (r->at >= 0 && r->at < k->operand.n));
	RT_ASSERT(r->kind != REF_LET || (r->at >= 0 && r->at < k->let.n));
	RT_ASSERT(r->kind != REF_STATE || (r->at >= 0 && r->at < k->state.n));
	RT_ASSERT(r->kind != REF_NUMBER || r->number.tag == RT_INT || r->number.tag == RT_DOUBLE ||
		  r->number.tag == RT_BOOL);
	RT_ASSERT(kernel_may_read(k, stage, r, nlet));
	(void)k, (void)stage, (void)r, (void)nlet;
}

/* Does the stage select by an operand that is read, with nothing but stores of operands? */
static bool
is_selection(const Kernel *k, int stage)
{
	const Stage from = k->stage.at[stage], end = kernel_stage_end(k, stage);

	for (int i = from.store; i < end.store; i++)
		if (k->store.at[i].value.kind != REF_OPERAND)
			return false;
	return k->nreduce == 1 && from.each && from.let == end.let && from.state == end.state &&
	       from.select.key.kind == REF_OPERAND && k->operand.at[from.select.key.at].access == ACCESS_READ;
}

static void
check_stage(const Kernel *k, int stage)
{
	const Stage from = k->stage.at[stage], end = kernel_stage_end(k, stage);

	RT_ASSERT(!from.select.count || is_selection(k, stage));
	for (int i = from.let; i < end.let; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			check_ref(k, stage, &k->let.at[i].arg[a], i);
	for (int i = from.state; i < end.state; i++) {
		const Folded *s = &k->state.at[i];

		RT_ASSERT(from.each && (s->y.kind != REF_NONE) == s->fold->places);
		RT_ASSERT(s->carried ? s->part == s->total && k->nreduce <= 1 : !s->fold->ordered);
		check_ref(k, stage, &s->x, end.let);
		check_ref(k, stage, &s->y, end.let);
	}
	for (int i = from.store; i < end.store; i++) {
		const Store *s = &k->store.at[i];

		RT_ASSERT(s->operand >= 0 && s->operand < k->operand.n && s->value.kind != REF_NONE);
		RT_ASSERT(stores_to(&k->operand.at[s->operand]));
		RT_ASSERT(from.each || !kernel_moves_in_row(k, s->operand));
		check_ref(k, stage, &s->value, end.let);
	}
}

static void
check_gather(const Kernel *k, int operand, const Gather *g)
{
	const Operand *by = g->by.kind == REF_OPERAND ? &k->operand.at[g->by.at] : NULL;

	RT_ASSERT(g->stride && g->limit && (by || g->by.kind == REF_LET));
	RT_ASSERT(by || (g->by.at >= 0 && g->by.at < k->let.n && !g->wraps &&
			 k->let.at[g->by.at].types.result == RT_i64 && k->operand.at[operand].access == ACCESS_READ));
	RT_ASSERT(!by || (g->by.at >= 0 && g->by.at < k->operand.n && g->by.at != operand &&
			  g->outside == OUTSIDE_FAILS && !by->ngather && !by->bound.n &&
			  rt_dtypes[by->dtype].category == 'I'));
	(void)k, (void)operand, (void)g, (void)by;
}

/* A let is computed once for a row. C divides numbers that are not negative as floor does. */
static void
check_edge(const Kernel *k, const AxisRange *r, const AxisEdge *e)
{
	RT_ASSERT(r->axis >= k->naxis - k->nreduce && r->axis < k->naxis);
	RT_ASSERT(!e->let.kind || (e->let.kind == REF_LET && e->let.at < k->let.n && !e->per));
	RT_ASSERT(!e->let.kind || r->checked || size_is(k->extent[r->axis], 1));
	RT_ASSERT(!e->let.kind || k->let.at[e->let.at].types.result == RT_i64);
	RT_ASSERT(!e->let.kind || !k->stage.at[kernel_stage_of(k, REF_LET, e->let.at)].each);
	RT_ASSERT(!e->per || (e->of >= 0 && e->of < k->naxis - k->nreduce));
	RT_ASSERT(!e->per || size_is(e->per, 1) ||
		  (size_at_least(k->sizes, e->times, 0) && size_at_least(k->sizes, e->plus, 0)));
	(void)k, (void)r, (void)e;
}

/* Links share their first axes and read no computed indices. */
static void
check_link(const Kernel *k)
{
	RT_ASSERT(!kernel_has_gathers(k) && (k->serial < 0 || k->serial == k->shared - 1));
	RT_ASSERT(k->shared <= k->naxis - k->nreduce);
	for (int i = 0; k->next && i < k->shared; i++)
		RT_ASSERT(k->extent[i] == k->next->extent[i]);
	for (int i = 0; k->next && i < k->operand.n; i++)
		RT_ASSERT(!kernel_has_address(k, i) || (k->operand.at[i].along < 0 && i < k->next->operand.n &&
							!strcmp(k->operand.at[i].name, k->next->operand.at[i].name)));
	RT_ASSERT(!k->next || (k->shared == k->next->shared && k->serial == k->next->serial));
	(void)k;
}

void
kernel_check(const Kernel *k)
{
	RT_ASSERT(k->naxis >= 0 && k->naxis <= KERNEL_AXES && k->serial < k->naxis);
	RT_ASSERT(k->nreduce >= 0 && k->nreduce <= k->naxis && (k->serial < k->shared || !k->nreduce));
	for (int i = 0; i < k->range.n; i++) {
		check_edge(k, &k->range.at[i], &k->range.at[i].first);
		check_edge(k, &k->range.at[i], &k->range.at[i].end);
	}
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		RT_ASSERT(o->along == -1 || (o->along == 0 && k->naxis));
		RT_ASSERT(o->ngather >= 0 && o->ngather <= KERNEL_GATHERS &&
			  (!o->ngather || o->access != ACCESS_NUMBER));
		for (int g = 0; g < o->ngather; g++)
			check_gather(k, i, &o->gather[g]);
		RT_ASSERT(!o->bound.n || o->access == ACCESS_READ || o->access == ACCESS_INDEX ||
			  (o->access == ACCESS_LOCAL && !kernel_stores(k, i)) || o->bound.at[0].unit);
		RT_ASSERT(o->outside.tag == RT_NONE || rt_dtypes[o->dtype].category == 'I' ||
			  rt_dtypes[o->dtype].compute == o->dtype);
		(void)o;
	}
	for (int i = 0; i < k->stage.n; i++)
		check_stage(k, i);
	if (k->next || k->shared)
		check_link(k);
	if (k->next)
		kernel_check(k->next);
}
