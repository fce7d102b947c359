/*
 * Copies of regions: layouts, cat, stack, repeat, padding, roll, rows taken by index, fills, what is written into views.
 *
 * A region is sizes and two lists of strides.  Its dims are ordered by the result's strides and merged; what is left is a
 * run of elements (a memcpy in all but name), a strided run, or a transposition, which goes in tiles of 16 x 16 so that
 * both sides use the lines of the cache that they touch.
 */
#include "row.h"

#include <string.h>

enum { TILE = 16 };

/* Elements are moved, not computed with: a type of their size. */
static const char *
type_of_size(int dtype)
{
	switch (rt_dtypes[dtype].category == 'Q' ? 0 : rt_dtypes[dtype].bytes) {
	case 1:  return "uint8_t";
	case 2:  return "uint16_t";
	case 4:  return "float";
	case 8:  return "double";
	default: return NULL;
	}
}

/* The dim along which x is consecutive, when that is not the innermost one; -1: none. */
static int
transposed_dim(Plan *p, const RowNest *nest)
{
	const int last = nest->ndim - 1;

	if (last < 1 || nest->stride[0][last] != 1 || nest->stride[1][last] <= 1 || !plan_choice(p, nest->dims[last] >= 4))
		return -1;
	for (int i = 0; i < last; i++)
		if (nest->stride[1][i] == 1 && plan_choice(p, nest->dims[i] >= 4))
			return i;
	return -1;
}

static void
put_pointers(Out *o, Arena *a, const RowNest *nest, const char *type)
{
	out_line(o, "const %s *restrict x = (const %s *)p[1] + %s;", type, type, nest_at(a, nest, 1));
	out_line(o, "%s *restrict y = (%s *)p[0] + %s;", type, type, nest_at(a, nest, 0));
	out_blank(o);
}

/* "i * 3" */
static const char *
times(Arena *a, int64_t stride)
{
	return stride == 1 ? "i" : arena_printf(a, "i * %lld", (long long)stride);
}

/* Dim j of tiles, and the innermost: y[j * yj + i] = x[j + i * xi] */
static void
put_transposition(Plan *p, Out *o, RowNest *nest, int j, const char *type)
{
	const int last = nest->ndim - 1;
	Arena *a = p->cx->arena;
	const long long n = nest->dims[last], xi = nest->stride[1][last], m = nest->dims[j], yj = nest->stride[0][j];

	nest_drop(nest, last);
	nest->dims[j] = plan_ceil(p, m, TILE);
	nest->stride[0][j] = TILE * yj;
	nest->stride[1][j] = TILE;
	nest_open(o, nest);
	put_pointers(o, a, nest, type);
	out_line(o, "const int64_t some = %lld - %d * i%d < %d ? %lld - %d * i%d : %d;", m, TILE, j, TILE, m, TILE, j, TILE);
	out_line(o, "for (int64_t at = 0; at < %lld; at += %d)", n, TILE);
	out_line(o, "\tfor (int64_t j = 0; j < some; j++)");
	out_line(o, "\t\tfor (int64_t i = at; i < at + %d && i < %lld; i++)", TILE, n);
	out_line(o, "\t\t\ty[j * %lld + i] = x[j + i * %lld];", yj, xi);
	out_close(o, "");
}

/* Copies a region; `nest` has operands y and x.  Offsets are in bytes. */
static bool
copy_region(Row *r, RowNest nest, int dtype, const Value *y, int64_t yat, const Value *x, int64_t xat)
{
	const char *type = type_of_size(dtype);
	Arena *a = r->p->cx->arena;
	Out o = { .indent = 1 };
	KernelCall *c;
	int64_t n, inner = 1;
	int j;

	if (!type || r->ncall == MAX_KERNEL_CALLS)
		return false;
	if (!nest_count(&nest))
		return true;
	nest_simplify(&nest, 0);
	n = nest_count(&nest);
	j = transposed_dim(r->p, &nest);
	if (j >= 0) {
		inner = nest.dims[nest.ndim - 1] * TILE;
		put_transposition(r->p, &o, &nest, j, type);
	} else if (nest.ndim <= 1) {
		out_line(&o, "const %s *restrict x = p[1];", type);
		out_line(&o, "%s *restrict y = p[0];", type);
		out_blank(&o);
		out_line(&o, "for (int64_t i = begin; i < end; i++)");
		out_line(&o, "\ty[%s] = x[%s];", times(a, nest.ndim ? nest.stride[0][0] : 1), times(a, nest.ndim ? nest.stride[1][0] : 1));
	} else {
		const int last = --nest.ndim;

		inner = nest.dims[last];
		nest_open(&o, &nest);
		put_pointers(&o, a, &nest, type);
		out_line(&o, "for (int64_t i = 0; i < %lld; i++)", (long long)inner);
		out_line(&o, "\ty[%s] = x[%s];", times(a, nest.stride[0][last]), times(a, nest.stride[1][last]));
		out_close(&o, "");
	}
	c = row_call(r, "copy", arena_printf(a, "copies %lld elements%s", (long long)n, j >= 0 ? ", transposed" : ""), &o, nest_count(&nest),
		     row_grain(inner));
	row_pass(r, c, y, yat);
	row_pass(r, c, x, xat);
	return true;
}

static RowNest
nest_of(int ndim, const int64_t *dims, const int64_t *ys, const int64_t *xs)
{
	RowNest nest = { .ndim = ndim, .n = 2 };

	memcpy(nest.dims, dims, (size_t)ndim * sizeof *dims);
	memcpy(nest.stride[0], ys, (size_t)ndim * sizeof *ys);
	memcpy(nest.stride[1], xs, (size_t)ndim * sizeof *xs);
	return nest;
}

/* ---- one argument --------------------------------------------------------------------------------------------------------- */

/* The result gets the elements of a tensor of its sizes and type. */
bool
row_copy_layout(Row *r, const RtTensor *x, const Value *from)
{
	return copy_region(r, nest_of(x->ndim, x->dims, row_result(r, 0)->strides, x->strides), x->dtype, r->n->out[0], 0, from, 0);
}

/* contiguous, clone, reshape that has to copy: the elements in their order. */
bool
row_copy(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	int64_t strides[RT_MAX_RANK];
	const bool same = x && y && x->ndim == y->ndim && !memcmp(x->dims, y->dims, (size_t)x->ndim * sizeof *x->dims);

	if (!x || !y || x->dtype != y->dtype || rt_numel(x) != rt_numel(y) || (!same && !rt_is_contiguous(y)))
		return false;
	rt_contiguous_strides(x->ndim, x->dims, strides);
	return copy_region(r, nest_of(x->ndim, x->dims, same ? y->strides : strides, x->strides), x->dtype, r->n->out[0], 0,
			   row_arg(r, "self"), 0);
}

/* Copies a region into another type.  What C does not say of floating numbers that an integer cannot hold is left to the
 * eager kernels. */
static bool
cast_region(Row *r, RowNest nest, int to_dtype, int from_dtype, const Value *y, const Value *x)
{
	const char *from = row_type(from_dtype), *to = row_type(to_dtype);
	const bool truth = to_dtype == RT_b8 || from_dtype == RT_b8;
	Arena *a = r->p->cx->arena;
	Out o = { .indent = 1 };
	const int64_t n = nest_count(&nest);
	int64_t inner, ys, xs;
	KernelCall *c;

	if (to_dtype == from_dtype)
		return copy_region(r, nest, from_dtype, y, 0, x, 0);
	if (!from || !to || !n || (rt_dtypes[from_dtype].category == 'F' && rt_dtypes[to_dtype].category == 'I' && to_dtype != RT_i64))
		return false;
	nest_simplify(&nest, 0);
	inner = nest.ndim ? nest.dims[nest.ndim - 1] : 1;
	ys = nest.ndim ? nest.stride[0][nest.ndim - 1] : 0;
	xs = nest.ndim ? nest.stride[1][nest.ndim - 1] : 0;
	nest.ndim -= nest.ndim > 0;
	nest_open(&o, &nest);
	out_line(&o, "const %s *x = (const %s *)p[1] + %s;", from, from, nest_at(a, &nest, 1));
	out_line(&o, "%s *y = (%s *)p[0] + %s;", to, to, nest_at(a, &nest, 0));
	out_blank(&o);
	out_line(&o, "IVDEP");
	out_line(&o, "for (int64_t i = 0; i < %lld; i++)", (long long)inner);
	out_line(&o, "\ty[%s] = (%s)%sx[%s]%s;", times(a, ys), to, truth ? "(" : "", times(a, xs), truth ? " != 0)" : "");
	out_close(&o, "");
	c = row_call(r, "cast", arena_printf(a, "%lld of %s to %s", (long long)n, rt_dtypes[from_dtype].name, rt_dtypes[to_dtype].name),
		     &o, nest_count(&nest), row_grain(inner));
	row_pass(r, c, y, 0);
	row_pass(r, c, x, 0);
	return true;
}

bool
row_cast(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);

	if (!x || !y || x->ndim != y->ndim || memcmp(x->dims, y->dims, (size_t)x->ndim * sizeof *x->dims))
		return false;
	if (x->dtype == y->dtype)
		return row_copy(r);
	return cast_region(r, nest_of(x->ndim, x->dims, y->strides, x->strides), y->dtype, x->dtype, r->n->out[0], row_arg(r, "self"));
}

/* Two arguments may be the same memory, and so may two attributes. */
static bool
may_be_one(const Row *r, const Value *from)
{
	const Buffer *x = plan_buffer(r->p, from), *y = plan_buffer(r->p, row_arg(r, "self"));

	return (x && y && x->home == HOME_INPUT && y->home == HOME_INPUT) || known_attributes_meet(r->n);
}

/* copy_: into a tensor that others see, too.  The source may be broadcast, but not lie in the same memory. */
bool
row_copy_into(Row *r)
{
	const RtTensor *y = row_tensor(r, "self"), *x = row_tensor(r, node_arg(r->n, "src") ? "src" : "other");
	const Value *from = row_arg(r, node_arg(r->n, "src") ? "src" : "other");
	int64_t strides[RT_MAX_RANK];

	if (!x || !y || x->storage == y->storage || y->storage->readonly || x->ndim > y->ndim || !rt_numel(y) || may_be_one(r, from))
		return false;
	for (int i = 0; i < y->ndim; i++) {
		const int k = i - (y->ndim - x->ndim);

		if ((y->dims[i] != 1 && !y->strides[i]) || (k >= 0 && x->dims[k] != y->dims[i] && x->dims[k] != 1))
			return false;
		strides[i] = k < 0 || x->dims[k] == 1 ? 0 : x->strides[k];
	}
	return cast_region(r, nest_of(y->ndim, y->dims, y->strides, strides), y->dtype, x->dtype, row_arg(r, "self"), from);
}

/* The elements of each dim, moved on and around: two regions for each dim that moves. */
bool
row_roll(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	int64_t shifts[RT_MAX_RANK], dims[RT_MAX_RANK], shift[RT_MAX_RANK] = { 0 };
	int n, nshift;

	if (!x || !y || x->dtype != y->dtype || !rt_numel(y) || !row_list(r, "shifts", shifts, &nshift) || !row_list(r, "dims", dims, &n) ||
	    n != nshift || n > 3)
		return false;
	for (int i = 0; i < n; i++) {
		const int64_t d = dims[i] + (dims[i] < 0 ? x->ndim : 0);

		for (int k = 0; k < i; k++)
			if (dims[k] == d)
				return false;
		if (d < 0 || d >= x->ndim)
			return false;
		shift[d] = (shifts[i] % x->dims[d] + x->dims[d]) % x->dims[d];
		dims[i] = d;
	}
	for (int part = 0; part < 1 << n; part++) {
		RowNest nest = nest_of(x->ndim, x->dims, y->strides, x->strides);
		int64_t yat = 0, xat = 0;
		bool none = false;

		for (int i = 0; i < n; i++) {
			const int64_t d = dims[i], s = shift[d];

			nest.dims[d] = part >> i & 1 ? s : x->dims[d] - s;
			yat += part >> i & 1 ? 0 : s * y->strides[d];
			xat += part >> i & 1 ? (x->dims[d] - s) * x->strides[d] : 0;
			none |= !nest.dims[d];
		}
		if (!none && !copy_region(r, nest, x->dtype, r->n->out[0], yat * rt_dtypes[y->dtype].bytes, row_arg(r, "self"),
					  xat * rt_dtypes[x->dtype].bytes))
			return false;
	}
	return n > 0;
}

bool
row_repeat(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	RowNest nest = { .n = 2 };

	if (!x || !y || x->dtype != y->dtype || !rt_numel(y) || 2 * y->ndim > RT_MAX_RANK)
		return false;
	for (int i = 0; i < y->ndim; i++) {
		const int k = i - (y->ndim - x->ndim);
		const int64_t d = k < 0 ? 1 : x->dims[k];

		nest.dims[nest.ndim] = y->dims[i] / d;
		nest.stride[0][nest.ndim] = y->strides[i] * d;
		nest.stride[1][nest.ndim++] = 0;
		nest.dims[nest.ndim] = d;
		nest.stride[0][nest.ndim] = y->strides[i];
		nest.stride[1][nest.ndim++] = k < 0 ? 0 : x->strides[k];
	}
	return copy_region(r, nest, x->dtype, r->n->out[0], 0, row_arg(r, "self"), 0);
}

/* ---- fills ------------------------------------------------------------------------------------------------------------------ */

static const char *
number(Arena *a, double x)
{
	if (x != x)
		return "KILN_NAN";
	if (x - x != 0)
		return x < 0 ? "KILN_MINUS_INF" : "KILN_INF";
	return arena_printf(a, "%.17g", x);
}

/* All of a dense result. */
static bool
fill(Row *r, double x)
{
	const RtTensor *y = row_result(r, 0);
	const char *type = row_type(y->dtype);
	Out o = { .indent = 1 };
	KernelCall *c;

	if (!type || (rt_dtypes[y->dtype].category != 'F' && (x > 9e15 || x < -9e15 || x != x)))
		return false;
	if (!rt_numel(y))
		return true;
	out_line(&o, "%s *y = p[0];", type);
	out_blank(&o);
	out_line(&o, "for (int64_t i = begin; i < end; i++)");
	out_line(&o, "\ty[i] = (%s)%s;", type, number(r->p->cx->arena, y->dtype == RT_b8 ? x != 0 : x));
	c = row_call(r, "fill", arena_printf(r->p->cx->arena, "%s everywhere", number(r->p->cx->arena, x)), &o, rt_numel(y), 16384);
	row_pass(r, c, r->n->out[0], 0);
	return true;
}

/* zeros, ones, full and their likes */
bool
row_fill(Row *r)
{
	double x = strstr(r->n->op->id, "ones") ? 1 : 0;

	if (strstr(r->n->op->id, "full") && !row_double(r, "fill_value", &x))
		return false;
	return fill(r, x);
}

bool
row_pad(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	const Value *mode = row_arg(r, "mode");
	int64_t pad[RT_MAX_RANK], dims[RT_MAX_RANK], xat = 0, yat = 0;
	double value = 0;
	IValue m;
	int n;

	if (mode && (!value_constant(mode, &m) || m.tag != RT_STR || strcmp(m.u.str->s, "constant")))
		return false;
	if (!x || !y || x->dtype != y->dtype || x->ndim != y->ndim || !row_list(r, "pad", pad, &n) || n > 2 * x->ndim || n % 2)
		return false;
	if ((row_arg(r, "value") && !row_double(r, "value", &value)) || !fill(r, value))
		return false;
	for (int i = 0; i < x->ndim; i++) {
		const int k = 2 * (x->ndim - 1 - i);
		const int64_t before = k < n ? pad[k] : 0, after = k < n ? pad[k + 1] : 0;

		xat += before < 0 ? -before * x->strides[i] : 0;
		yat += before > 0 ? before * y->strides[i] : 0;
		dims[i] = x->dims[i] + (before < 0 ? before : 0) + (after < 0 ? after : 0);
		if (dims[i] < 0)
			return false;
	}
	return copy_region(r, nest_of(x->ndim, dims, y->strides, x->strides), x->dtype, r->n->out[0], yat * rt_dtypes[y->dtype].bytes,
			   row_arg(r, "self"), xat * rt_dtypes[x->dtype].bytes);
}

/* ---- lists ------------------------------------------------------------------------------------------------------------------- */

/* The node that makes a list which nobody changes. */
static const Node *
list_of(const Row *r)
{
	const Value *v = row_arg(r, "tensors");

	return v && node_is(v->node, "prim::ListConstruct") && v->node->block == r->n->block && plan_list_is_read(v) ? v->node : NULL;
}

/* Operands of one geometry, `step` elements apart in the result: one launch for all of them.  strides: the result's, over an
 * operand's dims.  False: they differ, or their parts are better copied one by one. */
static bool
copy_alike(Row *r, const Node *list, const int64_t *strides, int64_t step)
{
	const RtTensor *first = plan_tensor(r->p, list->in[0]);
	const char *type = first ? type_of_size(first->dtype) : NULL;
	Arena *a = r->p->cx->arena;
	Out o = { .indent = 1 };
	int64_t inner = 1, xs = 1, ys = 1;
	RowNest nest;
	KernelCall *c;

	if (list->nin < 2 || !type || !rt_numel(first))
		return false;
	for (int i = 0; i < list->nin; i++) {
		const RtTensor *x = plan_tensor(r->p, list->in[i]);

		if (!x || x->quant || x->dtype != first->dtype || x->ndim != first->ndim || x->storage == row_result(r, 0)->storage ||
		    memcmp(x->dims, first->dims, (size_t)x->ndim * sizeof *x->dims) ||
		    memcmp(x->strides, first->strides, (size_t)x->ndim * sizeof *x->strides))
			return false;
	}
	nest = nest_of(first->ndim, first->dims, strides, first->strides);
	nest_simplify(&nest, 0);
	if (transposed_dim(r->p, &nest) >= 0 || nest.ndim == RT_MAX_RANK)
		return false;
	if (nest.ndim) {
		const int last = --nest.ndim;

		inner = nest.dims[last];
		ys = nest.stride[0][last];
		xs = nest.stride[1][last];
	}
	for (int i = nest.ndim++; i > 0; i--) {
		nest.dims[i] = nest.dims[i - 1];
		nest.stride[0][i] = nest.stride[0][i - 1];
		nest.stride[1][i] = nest.stride[1][i - 1];
	}
	nest.dims[0] = list->nin;
	nest.stride[0][0] = step;
	nest.stride[1][0] = 0;
	nest_open(&o, &nest);
	out_line(&o, "const %s *restrict x = (const %s *)p[1 + i0] + %s;", type, type, nest_at(a, &nest, 1));
	out_line(&o, "%s *restrict y = (%s *)p[0] + %s;", type, type, nest_at(a, &nest, 0));
	out_blank(&o);
	out_line(&o, "for (int64_t i = 0; i < %lld; i++)", (long long)inner);
	out_line(&o, "\ty[%s] = x[%s];", times(a, ys), times(a, xs));
	out_close(&o, "");
	c = row_call(r, "join", arena_printf(a, "%d tensors of %lld elements", list->nin, (long long)rt_numel(first)), &o, nest_count(&nest),
		     row_grain(inner));
	row_pass(r, c, r->n->out[0], 0);
	for (int i = 0; i < list->nin; i++)
		row_pass(r, c, list->in[i], 0);
	return true;
}

/* Does x lie where y has the elements from `at` on? */
static bool
is_there(const RtTensor *x, const RtTensor *y, int64_t at)
{
	return x->storage == y->storage && x->offset == y->offset + at && !memcmp(x->strides, y->strides, (size_t)x->ndim * sizeof *x->strides);
}

bool
row_cat(Row *r)
{
	const RtTensor *y = row_result(r, 0), *first;
	const Node *list = list_of(r);
	int64_t dim, at = 0;

	if (!y || !list || !row_int(r, "dim", &dim) || !y->ndim)
		return false;
	dim += dim < 0 ? y->ndim : 0;
	if (list->nin && (first = plan_tensor(r->p, list->in[0])) && first->dtype == y->dtype && first->ndim == y->ndim &&
	    first->dims[dim] * list->nin == y->dims[dim] && copy_alike(r, list, y->strides, first->dims[dim] * y->strides[dim]))
		return true;
	for (int i = 0; i < list->nin; i++) {
		const RtTensor *x = plan_tensor(r->p, list->in[i]);

		if (!x || x->dtype != y->dtype || x->quant || (x->storage == y->storage && !plan_is_part(r->p, list->in[i])))
			return false;
		if (x->ndim == 1 && !x->dims[0])
			continue;
		if (is_there(x, y, at * y->strides[dim])) {
			at += x->dims[dim];
			continue;
		}
		if (x->ndim != y->ndim || !copy_region(r, nest_of(x->ndim, x->dims, y->strides, x->strides), x->dtype, r->n->out[0],
						       at * y->strides[dim] * rt_dtypes[y->dtype].bytes, list->in[i], 0))
			return false;
		at += x->dims[dim];
	}
	return at == y->dims[dim];
}

bool
row_stack(Row *r)
{
	const RtTensor *y = row_result(r, 0);
	const Node *list = list_of(r);
	int64_t dim, strides[RT_MAX_RANK];

	if (!y || !list || !row_int(r, "dim", &dim))
		return false;
	dim += dim < 0 ? y->ndim : 0;
	for (int k = 0; k + 1 < y->ndim; k++)
		strides[k] = y->strides[k + (k >= dim)];
	for (int i = 0; i < list->nin; i++) {
		const RtTensor *x = plan_tensor(r->p, list->in[i]);

		if (!x || x->dtype != y->dtype || x->quant || x->ndim + 1 != y->ndim || x->storage == y->storage)
			return false;
	}
	if (copy_alike(r, list, strides, y->strides[dim]))
		return true;
	for (int i = 0; i < list->nin; i++) {
		const RtTensor *x = plan_tensor(r->p, list->in[i]);

		if (!copy_region(r, nest_of(x->ndim, x->dims, strides, x->strides), x->dtype, r->n->out[0],
				 i * y->strides[dim] * rt_dtypes[y->dtype].bytes, list->in[i], 0))
			return false;
	}
	return list->nin > 0;
}

/* ---- by index ------------------------------------------------------------------------------------------------------------------ */

/* y's dims [at, at + index's rank) go over the index, whose value is a place along dim `dim` of x.  An index out of range
 * sets the flag; the generic kernel then raises. */
static bool
take(Row *r, const Value *x, const Value *index, int dim)
{
	const RtTensor *tx = plan_tensor(r->p, x), *ti = plan_tensor(r->p, index), *y = row_result(r, 0);
	const char *type, *it;
	RowNest nest = { .n = 3 };
	Arena *a = r->p->cx->arena;
	Out o = { .indent = 1 };
	KernelCall *c;
	int64_t inner = 1, ys = 1, xs = 1;

	if (!tx || !ti || !y || tx->dtype != y->dtype || !(type = type_of_size(y->dtype)) || (ti->dtype != RT_i64 && ti->dtype != RT_i32) ||
	    tx->ndim - 1 + ti->ndim != y->ndim || !rt_numel(y))
		return false;
	it = row_type(ti->dtype);
	nest.ndim = y->ndim;
	for (int i = 0; i < y->ndim; i++) {
		const bool by = i >= dim && i < dim + ti->ndim;

		nest.dims[i] = y->dims[i];
		nest.stride[0][i] = y->strides[i];
		nest.stride[1][i] = by ? 0 : tx->strides[i < dim ? i : i - ti->ndim + 1];
		nest.stride[2][i] = by ? ti->strides[i - dim] : 0;
	}
	nest_simplify(&nest, 0);
	if (nest.ndim && !nest.stride[2][nest.ndim - 1]) {
		const int last = --nest.ndim;

		inner = nest.dims[last];
		ys = nest.stride[0][last];
		xs = nest.stride[1][last];
	}
	nest_open(&o, &nest);
	out_line(&o, "const int64_t k = ((const %s *)p[2])[%s];", it, nest_at(a, &nest, 2));
	out_line(&o, "const %s *restrict x = (const %s *)p[1] + %s + k * %lld;", type, type, nest_at(a, &nest, 1), (long long)tx->strides[dim]);
	out_line(&o, "%s *restrict y = (%s *)p[0] + %s;", type, type, nest_at(a, &nest, 0));
	out_blank(&o);
	out_open(&o, "if ((uint64_t)k >= %lldu)", (long long)tx->dims[dim]);
	out_line(&o, "*(int *)p[3] = 1;");
	out_line(&o, "continue;");
	out_close(&o, "");
	out_line(&o, "for (int64_t i = 0; i < %lld; i++)", (long long)inner);
	out_line(&o, "\ty[%s] = x[%s];", times(a, ys), times(a, xs));
	out_close(&o, "");
	c = row_call(r, "take", arena_printf(a, "%s of %lld by %lld", r->n->op->id, (long long)tx->dims[dim], (long long)rt_numel(ti)), &o,
		     nest_count(&nest), row_grain(inner));
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, x, 0);
	row_pass(r, c, index, 0);
	row_pass_text(r, c, "&wrong");
	c->checked = true;
	return true;
}

bool
row_embedding(Row *r)
{
	const Value *w = row_arg(r, "weight"), *i = row_arg(r, "indices");

	return w && i && row_tensor(r, "weight") && row_tensor(r, "weight")->ndim == 2 && take(r, w, i, 0);
}

bool
row_index_select(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *i = row_tensor(r, "index");
	int64_t dim;

	if (!x || !i || !x->ndim || i->ndim != 1 || !row_int(r, "dim", &dim))
		return false;
	dim += dim < 0 ? x->ndim : 0;
	return dim >= 0 && dim < x->ndim && take(r, row_arg(r, "self"), row_arg(r, "index"), (int)dim);
}
