/* codegen/program/proof_views.c - rules for views: dims, strides and offsets as rt/ops/view.c computes them */
#include "proof.h"

/* ---- arguments ------------------------------------------------------------------------------------------------- */

/* Reads a list of exactly the sizes that it has. */
static int
arg_list(const Call *c, const char *name, const Size **out)
{
	const Sized *v = arg_of(c, name);

	return v->kind == SIZED_PARTS ? arg_sizes(c, name, v->n, out) : -1;
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

static void
copy_axis(Sized *to, int i, const Sized *from, int k)
{
	to->dim[i] = from->dim[k];
	to->stride[i] = from->stride[k];
}

static Sized *
view_of(Call *c, const Sized *t)
{
	Sized *v = sized_view(c->prover, t, t->n);

	for (int i = 0; i < t->n; i++)
		copy_axis(v, i, t, i);
	return v;
}

/* Returns the view's base. Null if it or its strides are unknown. */
static Sized *
base_of(const Call *c)
{
	Sized *t = arg_tensor(c, "self");

	return t && t->stride ? t : NULL;
}

void
prove_alias(Call *c)
{
	const Sized *t = base_of(c);

	if (t)
		c->out[0] = view_of(c, t);
}

void
prove_transpose(Call *c)
{
	const Sized *t = base_of(c);
	const bool has_dims = node_arg(c->node, "dim0") != NULL;
	int a = 0, b = 1;
	Sized *v;

	if (!t || (!has_dims && t->n > 2) || (has_dims && (!arg_axis(c, "dim0", t->n, &a) ||
							 !arg_axis(c, "dim1", t->n, &b))))
		return;
	v = view_of(c, t);
	if (t->n > 1) {
		copy_axis(v, a, t, b);
		copy_axis(v, b, t, a);
	}
	c->out[0] = v;
}

void
prove_permute(Call *c)
{
	const Size *dims[RT_MAX_RANK];
	const Sized *t = base_of(c);
	Sized *v;

	if (!t || arg_list(c, "dims", dims) != t->n)
		return;
	v = sized_view(c->prover, t, t->n);
	for (int i = 0; i < t->n; i++) {
		int64_t at;
		int axis;

		if (!size_const(dims[i], &at) || !wrap_axis(at, t->n, &axis))
			return;
		copy_axis(v, i, t, axis);
	}
	c->out[0] = v;
}

void
prove_unsqueeze(Call *c)
{
	const Sized *t = base_of(c);
	SizeTable *z = c->prover->sizes;
	int axis;
	Sized *v;

	if (!t || !arg_axis(c, "dim", t->n + 1, &axis))
		return;
	v = sized_view(c->prover, t, t->n + 1);
	for (int i = 0; i < t->n; i++)
		copy_axis(v, i + (i >= axis), t, i);
	v->dim[axis] = size_number(z, 1);
	v->stride[axis] = axis < t->n ? size_times(z, t->dim[axis], t->stride[axis]) : size_number(z, 1);
	c->out[0] = v;
}

void
prove_squeeze(Call *c)
{
	const Sized *t = base_of(c);
	const bool all = !node_arg(c->node, "dim");
	int axis = -1, n = 0;
	Sized *v;

	if (!t || (!all && !arg_axis(c, "dim", t->n, &axis)))
		return;
	v = sized_view(c->prover, t, t->n);
	for (int i = 0; i < t->n; i++) {
		bool is_one = false;

		if ((all || i == axis) &&
		    !prove_equal(c->prover, t->dim[i], size_number(c->prover->sizes, 1), &is_one))
			return;
		if (!is_one)
			copy_axis(v, n++, t, i);
	}
	v->n = n;
	c->out[0] = v;
}

/* ---- parts of an axis -------------------------------------------------------------------------------------------- */

/* Returns a part of an axis, from `start` on. */
static Sized *
part_of(Call *c, const Sized *t, int axis, const Size *start, const Size *length)
{
	SizeTable *z = c->prover->sizes;
	Sized *v = view_of(c, t);

	v->dim[axis] = length;
	v->offset = size_plus(z, t->offset, size_times(z, start, t->stride[axis]));
	return v;
}

/* Returns an end of a slice within 0 and n. Null if it is counted from n for some sizes only. */
static const Size *
slice_end(Call *c, const char *name, const Size *n, const Size *none)
{
	Prover *p = c->prover;
	const Sized *at = arg_of(c, name);
	const Size *end = at->kind == SIZED_NUMBER ? at->number : NULL;
	bool natural, beyond;

	if (at->kind == SIZED_VALUE && at->value.tag == RT_NONE)
		return none;
	if (end && size_is(end, INT64_MAX))
		return n;
	if (!end || !prove_at_least(p, end, 0, &natural))
		return NULL;
	if (!natural) {
		end = size_plus(p->sizes, end, n);
		if (!prove_at_least(p, end, 0, &natural))
			return NULL;
		if (!natural)
			return size_number(p->sizes, 0);
	}
	if (end == n)
		return n;
	if (!prove_at_least(p, size_minus(p->sizes, end, n), 0, &beyond))
		return size_min(p->sizes, end, n);
	return beyond ? n : end;
}

void
prove_slice(Call *c)
{
	const Sized *t = base_of(c);
	SizeTable *z = c->prover->sizes;
	const Size *start, *end, *by;
	int64_t step;
	bool some;
	int axis;
	Sized *v;

	if (!t || !arg_axis(c, "dim", t->n, &axis) || !arg_int(c, "step", &step) || step < 1 ||
	    !(start = slice_end(c, "start", t->dim[axis], size_number(z, 0))) ||
	    !(end = slice_end(c, "end", t->dim[axis], t->dim[axis])) ||
	    !prove_at_least(c->prover, size_minus(z, end, start), 0, &some))
		return;
	by = size_number(z, step);
	v = part_of(c, t, axis, start, some ? size_ceil(z, size_minus(z, end, start), by) : size_number(z, 0));
	v->stride[axis] = size_times(z, v->stride[axis], by);
	c->out[0] = v;
}

/* Reads an index of an axis of n elements. Null if it is not inside for all sizes. */
static const Size *
arg_index(Call *c, const char *name, const Size *n, bool end)
{
	Prover *p = c->prover;
	const Sized *at = arg_of(c, name);
	const Size *index = at->number;
	bool natural;

	if (at->kind != SIZED_NUMBER || !prove_at_least(p, index, 0, &natural))
		return NULL;
	if (!natural)
		index = size_plus(p->sizes, index, n);
	if (!must_be_at_least(p, index, 0) || !must_be_at_least(p, size_minus(p->sizes, n, index), !end))
		return NULL;
	return index;
}

void
prove_narrow(Call *c)
{
	const Sized *t = base_of(c), *length = arg_of(c, "length");
	SizeTable *z = c->prover->sizes;
	const Size *start;
	int axis;

	if (t && arg_axis(c, "dim", t->n, &axis) && length->kind == SIZED_NUMBER &&
	    (start = arg_index(c, "start", t->dim[axis], true)) &&
	    must_be_at_least(c->prover, length->number, 0) &&
	    must_be_at_least(c->prover, size_minus(z, t->dim[axis], size_plus(z, start, length->number)), 0))
		c->out[0] = part_of(c, t, axis, start, length->number);
}

static Sized *
select_at(Call *c, const Sized *t, int axis, const Size *index)
{
	Sized *v = part_of(c, t, axis, index, size_number(c->prover->sizes, 1));

	for (int i = axis + 1; i < t->n; i++)
		copy_axis(v, i - 1, v, i);
	v->n--;
	return v;
}

void
prove_select(Call *c)
{
	const Sized *t = base_of(c);
	const Size *index;
	int axis;

	if (t && t->n && arg_axis(c, "dim", t->n, &axis) && (index = arg_index(c, "index", t->dim[axis], false)))
		c->out[0] = select_at(c, t, axis, index);
}

/* unfold: windows along an axis, whose elements become the last dim. */
void
prove_unfold(Call *c)
{
	const Sized *t = base_of(c);
	SizeTable *z = c->prover->sizes;
	const Size *rest;
	int64_t size, step;
	Sized *v;
	int axis;

	if (!t || !t->n || !arg_axis(c, "dimension", t->n, &axis) || !arg_int(c, "size", &size) ||
	    !arg_int(c, "step", &step) || step < 1)
		return;
	rest = size_minus(z, t->dim[axis], size_number(z, size));
	if (!must_be_at_least(c->prover, rest, 0))
		return;
	v = sized_view(c->prover, t, t->n + 1);
	for (int i = 0; i < t->n; i++)
		copy_axis(v, i, t, i);
	v->dim[t->n] = size_number(z, size);
	v->stride[t->n] = t->stride[axis];
	v->dim[axis] = size_plus(z, size_floor(z, rest, size_number(z, step)), size_number(z, 1));
	v->stride[axis] = size_times(z, t->stride[axis], size_number(z, step));
	c->out[0] = v;
}

/* ---- lists of parts ---------------------------------------------------------------------------------------------- */

/* Sets the result to n parts of `each` elements, of which the last one has the rest. */
static void
split_evenly(Call *c, const Sized *t, int axis, const Size *each, int64_t n)
{
	SizeTable *z = c->prover->sizes;
	const Size *rest = size_minus(z, t->dim[axis], size_times(z, each, size_number(z, n - 1)));
	Sized *list = sized_parts(c->prover, (int)n);

	if (!must_be_at_least(c->prover, rest, 1) || !must_be_at_least(c->prover, size_minus(z, each, rest), 0))
		return;
	for (int i = 0; i < n; i++)
		list->part[i] = part_of(c, t, axis, size_times(z, each, size_number(z, i)), i < n - 1 ? each : rest);
	c->out[0] = list;
}

enum { MOST_PARTS = 4096 };

void
prove_chunk(Call *c)
{
	const Sized *t = base_of(c);
	SizeTable *z = c->prover->sizes;
	const Size *each;
	int64_t n, length;
	int axis;

	if (!t || !arg_axis(c, "dim", t->n, &axis) || !arg_int(c, "chunks", &n) || n < 1 || n > MOST_PARTS)
		return;
	each = size_ceil(z, t->dim[axis], size_number(z, n));
	if (size_const(t->dim[axis], &length) && length > 0)
		n = (length - 1) / ((length + n - 1) / n) + 1;
	split_evenly(c, t, axis, each, n);
}

void
prove_split(Call *c)
{
	const Sized *t = base_of(c), *sizes = arg_of(c, "split_sizes");
	const Size *start = size_number(c->prover->sizes, 0);
	int64_t each, length;
	Sized *list;
	int axis;

	if (!t || !arg_axis(c, "dim", t->n, &axis))
		return;
	if (arg_int(c, "split_size", &each) && size_const(t->dim[axis], &length) && each > 0 && length > 0 &&
	    (length - 1) / each < MOST_PARTS)
		split_evenly(c, t, axis, size_number(c->prover->sizes, each), (length - 1) / each + 1);
	if (sizes->kind != SIZED_PARTS)
		return;
	list = sized_parts(c->prover, sizes->n);
	for (int i = 0; i < sizes->n; i++) {
		if (sizes->part[i]->kind != SIZED_NUMBER || !must_be_at_least(c->prover, sizes->part[i]->number, 0))
			return;
		list->part[i] = part_of(c, t, axis, start, sizes->part[i]->number);
		start = size_plus(c->prover->sizes, start, sizes->part[i]->number);
	}
	if (must_equal(c->prover, start, t->dim[axis]))
		c->out[0] = list;
}

void
prove_unbind(Call *c)
{
	const Sized *t = base_of(c);
	int64_t n;
	Sized *list;
	int axis;

	if (!t || !arg_axis(c, "dim", t->n, &axis) || !size_const(t->dim[axis], &n) || n > MOST_PARTS)
		return;
	list = sized_parts(c->prover, (int)n);
	for (int i = 0; i < n; i++)
		list->part[i] = select_at(c, t, axis, size_number(c->prover->sizes, i));
	c->out[0] = list;
}

/* ---- expand ------------------------------------------------------------------------------------------------------ */

/* Sets dim i of the view to a size: that of dim k of the base, or any if the base has 1 or no such dim. */
static bool
expand_axis(Call *c, Sized *v, int i, const Sized *t, int k, const Size *to)
{
	SizeTable *z = c->prover->sizes;
	const Size *one = size_number(z, 1);
	bool is = false;

	v->dim[i] = k >= 0 ? t->dim[k] : one;
	v->stride[i] = k >= 0 ? t->stride[k] : i + 1 < v->n ? size_times(z, v->dim[i + 1], v->stride[i + 1]) : one;
	if ((k >= 0 && size_is(to, -1)) || to == v->dim[i])
		return true;
	if (!size_is(v->dim[i], 1))
		return must_equal(c->prover, to, v->dim[i]);
	if (!prove_equal(c->prover, to, one, &is))
		return false;
	v->dim[i] = to;
	v->stride[i] = is ? v->stride[i] : size_number(z, 0);
	return true;
}

void
prove_expand(Call *c)
{
	const Size *to[RT_MAX_RANK];
	const Sized *t = base_of(c), *other = arg_tensor(c, "other");
	const int n = other ? other->n : arg_list(c, "size", to);
	Sized *v;

	if (!t || n < t->n)
		return;
	v = sized_view(c->prover, t, n);
	for (int i = n; i-- > 0;)
		if (!expand_axis(c, v, i, t, i - (n - t->n), other ? other->dim[i] : to[i]))
			return;
	c->out[0] = v;
}

/* ---- other dims of the same elements ----------------------------------------------------------------------------- */

/* Replaces a size of -1 by the quotient of the elements and the other sizes, which must be exact. */
static bool
complete(Call *c, const Sized *t, const Size **to, int n)
{
	SizeTable *z = c->prover->sizes;
	const Size *all = sized_numel(c->prover, t), *product = size_number(z, 1);
	int open = -1;

	for (int i = 0; i < n; i++)
		if (size_is(to[i], -1))
			open = i;
		else
			product = size_times(z, product, to[i]);
	if (size_lost(product) || size_lost(all))
		return false;
	if (open < 0)
		return must_equal(c->prover, product, all);
	if (!size_at_least(z, product, 1))
		return false;
	to[open] = size_floor(z, all, product);
	return size_divides(z, product, all) || must_equal(c->prover, size_times(z, to[open], product), all);
}

/* Sets the dims of the view, from dim *at down, whose elements are n elements at distances of `stride`. *is: whether
 * they are a view. Returns false if that depends on sizes. */
static bool
split_run(Call *c, Sized *v, int *at, const Size *n, const Size *stride, bool *is)
{
	SizeTable *z = c->prover->sizes;
	const Size *done = size_number(z, 1);

	for (; *at >= 0; --*at) {
		bool more = done != n;

		if (more && !size_is(v->dim[*at], 1) && !prove_at_least(c->prover, size_minus(z, n, done), 1, &more))
			return false;
		if (!more && !size_is(v->dim[*at], 1))
			break;
		v->stride[*at] = size_times(z, done, stride);
		done = size_times(z, done, v->dim[*at]);
	}
	return prove_equal(c->prover, done, n, is);
}

/* Sets the strides of a view with other dims. *is: whether there is one. Returns false if that depends on sizes. */
static bool
restride(Call *c, const Sized *t, Sized *v, bool *is)
{
	SizeTable *z = c->prover->sizes;
	const Size *n = size_number(z, 1), *stride = t->n ? t->stride[t->n - 1] : n;
	int at = v->n - 1;

	*is = true;
	for (int i = t->n; i-- > 0 && *is;) {
		bool ends = i == 0, merges;

		n = size_times(z, n, t->dim[i]);
		if (!ends && !size_is(t->dim[i - 1], 1)) {
			if (!prove_equal(c->prover, t->stride[i - 1], size_times(z, n, stride), &merges))
				return false;
			ends = !merges;
		}
		if (!ends)
			continue;
		if (!split_run(c, v, &at, n, stride, is))
			return false;
		if (i > 0) {
			n = size_number(z, 1);
			stride = t->stride[i - 1];
		}
	}
	for (; at >= 0 && *is; at--) {
		*is = size_is(v->dim[at], 1);
		v->stride[at] = size_number(z, 1);
	}
	return true;
}

/* Sets the result to a view of these dims, or to a copy if there is no such view. */
static void
reshape_to(Call *c, const Sized *t, const Size *const *to, int n)
{
	Sized *v = sized_view(c->prover, t, n);
	bool is;

	for (int i = 0; i < n; i++)
		v->dim[i] = to[i];
	for (int i = 0; i < t->n; i++)
		if (size_is(t->dim[i], 0))
			return;
	if (!restride(c, t, v, &is))
		return;
	if (!is) {
		v->stride = NULL;
		v->offset = size_number(c->prover->sizes, 0);
		v->storage = ++c->prover->nstorage;
	}
	c->out[0] = v;
}

void
prove_view_as(Call *c)
{
	const Size *to[RT_MAX_RANK];
	const char *name = node_arg(c->node, "size") ? "size" : "shape";
	const Sized *t = base_of(c), *other = arg_tensor(c, "other");
	const int n = other ? other->n : arg_list(c, name, to);

	for (int i = 0; other && i < n; i++)
		to[i] = other->dim[i];
	if (t && n >= 0 && complete(c, t, to, n))
		reshape_to(c, t, to, n);
}

void
prove_flatten(Call *c)
{
	const Size *to[RT_MAX_RANK];
	const Sized *t = base_of(c);
	int first, last, n = 0;

	if (!t || !t->n || !arg_axis(c, "start_dim", t->n, &first) || !arg_axis(c, "end_dim", t->n, &last) ||
	    last < first)
		return;
	if (first == last) {
		prove_alias(c);
		return;
	}
	for (int i = 0; i < t->n; i++)
		if (i > first && i <= last)
			to[n - 1] = size_times(c->prover->sizes, to[n - 1], t->dim[i]);
		else
			to[n++] = t->dim[i];
	reshape_to(c, t, to, n);
}

void
prove_unflatten(Call *c)
{
	const Size *to[RT_MAX_RANK], *parts[RT_MAX_RANK];
	const Sized *t = base_of(c);
	const int count = arg_list(c, "sizes", parts);
	int axis, n = 0;

	if (!t || count < 1 || t->n + count > RT_MAX_RANK || !arg_axis(c, "dim", t->n, &axis))
		return;
	for (int i = 0; i < t->n; i++)
		if (i != axis)
			to[n++] = t->dim[i];
		else
			for (int k = 0; k < count; k++)
				to[n++] = parts[k];
	if (complete(c, t, to, n))
		reshape_to(c, t, to, n);
}
