/*
 * Kernels that move elements: layouts, casts, cat, stack, repeat, pad, roll, flip, fills, writes into views, selection
 * of rows and elements by index.
 *
 * A Region describes the elements that a launch moves: axes, the result's strides and the source's.  Elements that keep
 * their type are moved as integers of their size, so that all types of a size share a kernel.
 */
#include "row.h"
#include "lower.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Offset in elements of a region's first element: the sum of at * stride. */
typedef struct Start { int n; int64_t at[RT_MAX_RANK + 1], stride[RT_MAX_RANK + 1]; } Start;

typedef struct Region {
	int     ndim;
	int64_t dims[KERNEL_AXES], to[KERNEL_AXES], from[KERNEL_AXES];   /* strides in elements */
	Start   to_start, from_start;
} Region;

static void
start_add(Start *s, int64_t at, int64_t stride)
{
	s->at[s->n] = at;
	s->stride[s->n++] = stride;
}

static int64_t
start_offset(const Start *s)
{
	int64_t offset = 0;

	for (int i = 0; i < s->n; i++)
		offset += s->at[i] * s->stride[i];
	return offset;
}

static Region
region_of(int ndim, const int64_t *dims, const int64_t *to, const int64_t *from)
{
	Region g = { .ndim = ndim };

	memcpy(g.dims, dims, (size_t)ndim * sizeof *dims);
	memcpy(g.to, to, (size_t)ndim * sizeof *to);
	memcpy(g.from, from, (size_t)ndim * sizeof *from);
	return g;
}

static int64_t
count(const Region *g)
{
	int64_t n = 1;

	for (int i = 0; i < g->ndim; i++)
		n *= g->dims[i];
	return n;
}

RtDtype
lower_carrier(int dtype)
{
	switch (rt_dtypes[dtype].category == 'Q' ? 0 : rt_dtypes[dtype].bytes) {
	case 1:  return RT_u8;
	case 2:  return RT_f16;
	case 4:  return RT_f32;
	case 8:  return RT_f64;
	default: return RT_NDTYPE;
	}
}

Kernel *
lower_over(Plan *p, const Node *n, const char *name, int naxis, const int64_t *dims)
{
	Kernel *k = kernel_new(p->sizes, p->cx->arena, name, n->op ? n->op->id : n->kind->name);

	k->naxis = naxis;
	for (int i = 0; i < naxis; i++)
		k->extent[i] = size_number(k->sizes, dims[i]);
	return k;
}

static Kernel *
begin_region(const Row *r, const char *name, const Region *g)
{
	return lower_over(r->p, r->n, name, g->ndim, g->dims);
}

/* ---- regions --------------------------------------------------------------------------------------------------- */

/* Is the cast defined in C for all values? It is not for floats that an integer cannot hold. */
static bool
can_cast(int to, int from)
{
	return to == from || (element_type((RtDtype)to) && element_type((RtDtype)from) &&
			      !(rt_kind((RtDtype)from) == 'F' && rt_kind((RtDtype)to) == 'I' && to != RT_i64));
}

/* Sets the offset of argument i of the last launch. */
static void
pass_start(Row *r, int i, const Start *s, int64_t bytes)
{
	KernelCall *c = &r->calls[r->ncall - 1];
	struct Summand *part = new(r->p->cx->arena, struct Summand, s->n + 1);

	if (i >= c->args.n)
		return;
	for (int k = 0; k < s->n; k++)
		part[k] = (struct Summand){ s->at[k], s->stride[k] * bytes };
	c->args.at[i].offset = start_offset(s) * bytes;
	c->args.at[i].part = part;
	c->args.at[i].npart = s->n;
}

static bool
put_region(Row *r, const Region *g, int to, int from, const Value *y, const Value *x)
{
	const bool moves = to == from;
	const Value *const value[] = { y, x };
	Kernel *k;

	if (!can_cast(to, from) || (moves && lower_carrier(to) == RT_NDTYPE))
		return false;
	if (!count(g))
		return true;
	k = begin_region(r, moves ? "copy" : "cast", g);
	kernel_strided(k, ACCESS_WRITE, moves ? lower_carrier(to) : (RtDtype)to, g->to);
	kernel_strided(k, ACCESS_READ, moves ? lower_carrier(from) : (RtDtype)from, g->from);
	kernel_store(k, 0, ref_operand(1));
	if (!row_kernel(r, k, value, 2))
		return false;
	pass_start(r, 0, &g->to_start, rt_dtypes[to].bytes);
	pass_start(r, 1, &g->from_start, rt_dtypes[from].bytes);
	return true;
}

/* ---- one argument ---------------------------------------------------------------------------------------------- */

/* Adds a launch that copies a tensor of the result's sizes and type into the result. */
bool
row_copy_layout(Row *r, const RtTensor *x, const Value *from)
{
	const Region g = region_of(x->ndim, x->dims, row_result(r, 0)->strides, x->strides);

	return put_region(r, &g, x->dtype, x->dtype, r->n->out[0], from);
}

/* contiguous, clone, and reshape if it must copy. */
bool
row_copy(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	int64_t strides[RT_MAX_RANK];
	Region g;

	if (!x || !y || x->dtype != y->dtype || rt_numel(x) != rt_numel(y) ||
	    (!rt_same_dims(x, y) && !rt_is_contiguous(y)))
		return false;
	rt_contiguous_strides(x->ndim, x->dims, strides);
	g = region_of(x->ndim, x->dims, rt_same_dims(x, y) ? y->strides : strides, x->strides);
	return put_region(r, &g, x->dtype, x->dtype, r->n->out[0], row_arg(r, "self"));
}

bool
row_cast(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	Region g;

	if (!x || !y || !rt_same_dims(x, y))
		return false;
	g = region_of(x->ndim, x->dims, y->strides, x->strides);
	return put_region(r, &g, y->dtype, x->dtype, r->n->out[0], row_arg(r, "self"));
}

/* May self and `from` share memory? Arguments may, except those of plain functions, which are called with written
 * arguments apart from all others, and on the GPU, where each has a copy of its own. */
bool
row_may_be_one(const Row *r, const Value *from)
{
	const Buffer *x = plan_buffer(r->p, from), *y = plan_buffer(r->p, row_arg(r, "self"));

	return (!r->p->bare && !r->p->gpu && x && y && x->home == HOME_INPUT && y->home == HOME_INPUT) ||
	       known_attributes_meet(r->n);
}

/* copy_, into a tensor that may have other views. The source may be broadcast, but must not share its memory. */
bool
row_copy_into(Row *r)
{
	const char *name = node_arg(r->n, "src") ? "src" : "other";
	const RtTensor *y = row_tensor(r, "self"), *x = row_tensor(r, name);
	int64_t strides[RT_MAX_RANK];
	Region g;

	if (!x || !y || x->storage == y->storage || y->storage->readonly || x->ndim > y->ndim || !rt_numel(y) ||
	    row_may_be_one(r, row_arg(r, name)))
		return false;
	for (int i = 0; i < y->ndim; i++) {
		const int k = i - (y->ndim - x->ndim);

		if ((y->dims[i] != 1 && !y->strides[i]) || (k >= 0 && x->dims[k] != y->dims[i] && x->dims[k] != 1))
			return false;
		strides[i] = k < 0 || x->dims[k] == 1 ? 0 : x->strides[k];
	}
	g = region_of(y->ndim, y->dims, y->strides, strides);
	return put_region(r, &g, y->dtype, x->dtype, row_arg(r, "self"), row_arg(r, name));
}

/* Returns the dim for a number that may count from the end. -1 if there is none. */
static int
dim_of(int64_t d, int ndim)
{
	d += d < 0 ? ndim : 0;
	return d >= 0 && d < ndim ? (int)d : -1;
}

/* roll. Each rolled dim splits a region in two. */
bool
row_roll(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	int64_t shifts[RT_MAX_RANK], dims[RT_MAX_RANK], shift[RT_MAX_RANK] = { 0 };
	int n, nshift;

	if (!x || !y || x->dtype != y->dtype || !rt_numel(y) || !row_list(r, "shifts", shifts, &nshift) ||
	    !row_list(r, "dims", dims, &n) || n != nshift || n < 1 || n > 3)
		return false;
	for (int i = 0; i < n; i++) {
		const int d = dim_of(dims[i], x->ndim);

		for (int k = 0; k < i; k++)
			if (dims[k] == d)
				return false;
		if (d < 0)
			return false;
		shift[d] = (shifts[i] % x->dims[d] + x->dims[d]) % x->dims[d];
		dims[i] = d;
	}
	for (int part = 0; part < 1 << n; part++) {
		Region g = region_of(x->ndim, x->dims, y->strides, x->strides);

		for (int i = 0; i < n; i++) {
			const int64_t d = dims[i], s = shift[d];
			const bool wrapped = part >> i & 1;

			g.dims[d] = wrapped ? s : x->dims[d] - s;
			if (wrapped)
				start_add(&g.from_start, x->dims[d] - s, x->strides[d]);
			else
				start_add(&g.to_start, s, y->strides[d]);
		}
		if (!put_region(r, &g, x->dtype, x->dtype, r->n->out[0], row_arg(r, "self")))
			return false;
	}
	return true;
}

bool
row_flip(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	int64_t dims[RT_MAX_RANK];
	Region g;
	int n;

	if (!x || !y || x->dtype != y->dtype || !rt_numel(y) || !row_list(r, "dims", dims, &n))
		return false;
	g = region_of(x->ndim, x->dims, y->strides, x->strides);
	for (int i = 0; i < n; i++) {
		const int d = dim_of(dims[i], x->ndim);

		if (d < 0)
			return false;
		start_add(&g.from_start, x->dims[d] - 1, x->strides[d]);
		g.from[d] = -x->strides[d];
	}
	return put_region(r, &g, x->dtype, x->dtype, r->n->out[0], row_arg(r, "self"));
}

bool
row_repeat(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	Region g = { 0 };

	if (!x || !y || x->dtype != y->dtype || !rt_numel(y))
		return false;
	for (int i = 0; i < y->ndim; i++) {
		const int k = i - (y->ndim - x->ndim);
		const int64_t d = k < 0 ? 1 : x->dims[k];

		g.dims[g.ndim] = y->dims[i] / d;
		g.to[g.ndim++] = y->strides[i] * d;
		g.dims[g.ndim] = d;
		g.from[g.ndim] = k < 0 ? 0 : x->strides[k];
		g.to[g.ndim++] = y->strides[i];
	}
	return put_region(r, &g, x->dtype, x->dtype, r->n->out[0], row_arg(r, "self"));
}

/* ---- fills ----------------------------------------------------------------------------------------------------- */

/* Can the dtype hold the number? If not, the runtime's kernel raises. For int64, only numbers that are exact as doubles
 * are accepted. */
static bool
dtype_holds(int dtype, double x)
{
	const double bits = 8 * (double)rt_dtypes[dtype].bytes;

	switch (dtype) {
	case RT_b8:
	case RT_f64:  return true;
	case RT_f32:  return x - x != 0 || fabs(x) <= FLT_MAX;
	case RT_bf16: return x - x != 0 || fabs(x) <= 0x1.fep127;
	case RT_f16:  return x - x != 0 || fabs(x) <= 65504;
	case RT_u8: case RT_u16: case RT_u32:
		return x >= 0 && x <= exp2(bits) - 1;
	case RT_u64:  return x >= 0 && x < 9e15;
	case RT_i64:  return fabs(x) < 9e15;
	case RT_f8_e5m2: case RT_f8_e4m3fn: case RT_f8_e5m2fnuz: case RT_f8_e4m3fnuz:
		return x != x || fabs(x) <= rt_largest((RtDtype)dtype);
	default:      return x >= -exp2(bits - 1) && x <= exp2(bits - 1) - 1;
	}
}

/* Fills a dense result with x. */
static bool
launch_fill(Row *r, double x)
{
	const RtTensor *y = row_result(r, 0);
	const bool floating = rt_kind((RtDtype)y->dtype) == 'F';
	const Region g = { .ndim = 1, .dims = { rt_numel(y) }, .to = { 1 } };
	Kernel *k;

	if (!element_type((RtDtype)y->dtype) || !dtype_holds(y->dtype, x))
		return false;
	if (!rt_numel(y))
		return true;
	k = begin_region(r, "fill", &g);
	kernel_strided(k, ACCESS_WRITE, (RtDtype)y->dtype, g.to);
	kernel_store(k, 0, ref_number(floating ? rt_double(x) : rt_int(y->dtype == RT_b8 ? x != 0 : (int64_t)x)));
	return row_kernel(r, k, (const Value *const[]){ r->n->out[0] }, 1);
}

/* zeros, ones, full, their _like variants, scalar_tensor */
bool
row_fill(Row *r)
{
	double x = r->n->op->lowering == LOWER_ONES;

	if (r->n->op->lowering == LOWER_FULL && !row_double(r, node_arg(r->n, "s") ? "s" : "fill_value", &x))
		return false;
	return launch_fill(r, x);
}

/* ---- padding --------------------------------------------------------------------------------------------------- */

typedef enum Edge { EDGE_NONE, EDGE_REFLECT, EDGE_REPLICATE, EDGE_CIRCULAR, NEDGE } Edge;   /* as aten::_pad_enum */

static Edge
edge_of(const Row *r)
{
	static const char *const modes[NEDGE] = { "constant", "reflect", "replicate", "circular" };
	const Value *mode = row_arg(r, "mode");
	IValue m;

	switch (r->n->op->lowering) {
	case LOWER_PAD_REFLECT:   return EDGE_REFLECT;
	case LOWER_PAD_REPLICATE: return EDGE_REPLICATE;
	case LOWER_PAD_CIRCULAR:  return EDGE_CIRCULAR;
	default:                  break;
	}
	if (!mode || !value_constant(mode, &m))
		return EDGE_NONE;
	if (m.tag == RT_INT)
		return m.u.i > EDGE_NONE && m.u.i < NEDGE ? (Edge)m.u.i : EDGE_NONE;
	for (int i = EDGE_REFLECT; m.tag == RT_STR && i < NEDGE; i++)
		if (!strcmp(m.u.str->s, modes[i]))
			return (Edge)i;
	return EDGE_NONE;
}

/* Returns the index of the source of the first of n padded elements before or behind a dim. *step: its increment for
 * the next element. */
static int64_t
edge_source(Edge edge, int64_t size, int64_t n, bool behind, int *step)
{
	*step = edge == EDGE_REFLECT ? -1 : edge == EDGE_REPLICATE ? 0 : 1;
	switch (edge) {
	case EDGE_REFLECT:   return behind ? size - 2 : n;
	case EDGE_REPLICATE: return behind ? size - 1 : 0;
	default:             return behind ? 0 : size - n;
	}
}

/* The part of a padded result that is already filled: its dims, and its start in the result. */
typedef struct Padded { int64_t dims[RT_MAX_RANK], before[RT_MAX_RANK]; } Padded;

static void
start_in(Start *s, const RtTensor *y, const Padded *p)
{
	for (int d = 0; d < y->ndim; d++)
		if (p->before[d])
			start_add(s, p->before[d], y->strides[d]);
}

/* Fills both sides of a dim, n[0] elements before and n[1] behind, from the part that is filled. */
static bool
put_edges(Row *r, Edge edge, const Padded *p, int dim, const int64_t *n)
{
	const RtTensor *y = row_result(r, 0);
	Value *const to = r->n->out[0];
	Padded others = *p;

	others.before[dim] = 0;
	for (int behind = 0; behind < 2; behind++) {
		Region side = region_of(y->ndim, p->dims, y->strides, y->strides);
		int step;
		const int64_t from = edge_source(edge, p->dims[dim], n[behind], behind, &step);

		start_in(&side.to_start, y, &others);
		start_in(&side.from_start, y, &others);
		start_add(&side.to_start, behind ? n[0] + p->dims[dim] : 0, y->strides[dim]);
		start_add(&side.from_start, n[0] + from, y->strides[dim]);
		side.from[dim] = step * y->strides[dim];
		side.dims[dim] = n[behind];
		if (!put_region(r, &side, y->dtype, y->dtype, to, to))
			return false;
	}
	return true;
}

/* Copies the input, then fills the sides of each dim from the result itself, last dim first. */
static bool
pad_by_edges(Row *r, Edge edge)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	int64_t pad[RT_MAX_RANK];
	Padded p = { { 0 }, { 0 } };
	Region g;
	int n;

	if (!x || !y || x->dtype != y->dtype || x->ndim != y->ndim || !rt_numel(x) ||
	    !row_list(r, row_arg(r, "pad") ? "pad" : "padding", pad, &n) || n > 2 * x->ndim || n % 2)
		return false;
	for (int i = 0; i < n; i++)
		if (pad[i] < 0)
			return false;
	memcpy(p.dims, x->dims, (size_t)x->ndim * sizeof *p.dims);
	for (int i = 0; i < n / 2; i++)
		p.before[x->ndim - 1 - i] = pad[2 * i];
	g = region_of(x->ndim, x->dims, y->strides, x->strides);
	start_in(&g.to_start, y, &p);
	if (!put_region(r, &g, x->dtype, x->dtype, r->n->out[0], row_arg(r, "self")))
		return false;
	for (int i = 0; i < n / 2; i++) {
		const int dim = x->ndim - 1 - i;

		if (!put_edges(r, edge, &p, dim, pad + 2 * i))
			return false;
		p.before[dim] = 0;
		p.dims[dim] = y->dims[dim];
	}
	return true;
}

/* Is the padding a constant, not elements of the input? */
static bool
pads_by_number(const Row *r)
{
	const Value *mode = row_arg(r, "mode");
	IValue m;

	return !mode || (value_constant(mode, &m) && m.tag == RT_STR && !strcmp(m.u.str->s, "constant"));
}

bool
row_pad(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	const Edge edge = edge_of(r);
	int64_t pad[RT_MAX_RANK];
	double value = 0;
	Region g;
	int n;

	if (edge != EDGE_NONE)
		return pad_by_edges(r, edge);
	if (!x || !y || x->dtype != y->dtype || x->ndim != y->ndim || !pads_by_number(r))
		return false;
	if (!row_list(r, "pad", pad, &n) || n > 2 * x->ndim || n % 2)
		return false;
	if ((row_arg(r, "value") && !row_double(r, "value", &value)) || !launch_fill(r, value))
		return false;
	g = region_of(x->ndim, x->dims, y->strides, x->strides);
	for (int i = 0; i < x->ndim; i++) {
		const int k = 2 * (x->ndim - 1 - i);
		const int64_t before = k < n ? pad[k] : 0, after = k < n ? pad[k + 1] : 0;

		if (before < 0)
			start_add(&g.from_start, -before, x->strides[i]);
		if (before > 0)
			start_add(&g.to_start, before, y->strides[i]);
		g.dims[i] += (before < 0 ? before : 0) + (after < 0 ? after : 0);
		if (g.dims[i] < 0)
			return false;
	}
	return put_region(r, &g, x->dtype, x->dtype, r->n->out[0], row_arg(r, "self"));
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

const Node *
row_list_node(const Row *r, const char *name)
{
	const Value *v = row_arg(r, name);
	const bool is_list = v && node_is(v->node, prim_ListConstruct) && v->node->block == r->n->block;

	return is_list && plan_list_is_read(v) ? v->node : NULL;
}

static bool
are_alike(const Row *r, const Node *list)
{
	const RtTensor *first = plan_tensor(r->p, list->in[0]);

	for (int i = 0; i < list->nin; i++) {
		const RtTensor *x = plan_tensor(r->p, list->in[i]);

		if (!x || x->dtype != first->dtype || x->storage == row_result(r, 0)->storage ||
		    !rt_same_dims(x, first) ||
		    memcmp(x->strides, first->strides, (size_t)x->ndim * sizeof *x->strides))
			return false;
	}
	return true;
}

/* Do elements of few operands, `step` apart in the result, share cache lines, like the pairs that a stack makes? */
static bool
share_lines(const RtTensor *x, int operands, const int64_t *to, int64_t step)
{
	enum { LINE = 64, OPERANDS = 8 };
	bool any = false;

	for (int i = 0; i < x->ndim; i++)
		any = any || (x->dims[i] > 1 && to[i] > step);
	return any && operands <= OPERANDS && step * rt_dtypes[x->dtype].bytes < LINE;
}

/* Does the same as copy_alike in one pass over the result. Each operand has its own address and store. */
static bool
interleave(Row *r, const Node *list, const int64_t *to, int64_t step)
{
	const RtTensor *first = plan_tensor(r->p, list->in[0]);
	const Value **value = new(r->p->cx->arena, const Value *, 2 * list->nin);
	Kernel *k = lower_over(r->p, r->n, "join", first->ndim, first->dims);

	for (int i = 0; i < list->nin; i++) {
		kernel_strided(k, ACCESS_WRITE, lower_carrier(first->dtype), to);
		k->operand.at[i].offset = size_number(k->sizes, i * step);
		value[i] = r->n->out[0];
		value[list->nin + i] = list->in[i];
	}
	for (int i = 0; i < list->nin; i++)
		kernel_store(k, i, ref_operand(kernel_strided(k, ACCESS_READ, lower_carrier(first->dtype),
							      first->strides)));
	return row_kernel(r, k, value, 2 * list->nin);
}

/* Copies operands of equal geometry, `step` elements apart in the result, in one launch. to: the result's strides over
 * an operand's dims. Returns false if they differ or if copying them one by one is faster. */
static bool
copy_alike(Row *r, const Node *list, const int64_t *to, int64_t step)
{
	const RtTensor *first = plan_tensor(r->p, list->in[0]);
	const Value **value = new(r->p->cx->arena, const Value *, list->nin + 1);
	Region g = { .ndim = first ? first->ndim + 1 : 0 };
	Kernel *k;

	if (list->nin < 2 || !first || lower_carrier(first->dtype) == RT_NDTYPE || !rt_numel(first) ||
	    !are_alike(r, list))
		return false;
	if (plan_choice(r->p, share_lines(first, list->nin, to, step)))
		return interleave(r, list, to, step);
	g.dims[0] = list->nin;
	g.to[0] = step;
	for (int i = 0; i < first->ndim; i++) {
		g.dims[i + 1] = first->dims[i];
		g.to[i + 1] = to[i];
		g.from[i + 1] = first->strides[i];
	}
	k = begin_region(r, "join", &g);
	kernel_strided(k, ACCESS_WRITE, lower_carrier(first->dtype), g.to);
	kernel_strided(k, ACCESS_READ, lower_carrier(first->dtype), g.from);
	kernel_store(k, 0, ref_operand(1));
	if (r->p->gpu || plan_choice(r->p, kernel_schedule(k, TILE_IF_LONG, kernel_inner(k)).tile >= 0))
		return false;                            /* copy one by one; GPU launches have no table of addresses */
	k->operand.at[1].along = 0;
	value[0] = r->n->out[0];
	memcpy(value + 1, list->in, (size_t)list->nin * sizeof *value);
	return row_kernel(r, k, value, list->nin + 1);
}

/* Is x stored in y's memory, from element `at` on? */
static bool
is_there(const RtTensor *x, const RtTensor *y, int64_t at)
{
	return x->storage == y->storage && x->offset == y->offset + at &&
	       !memcmp(x->strides, y->strides, (size_t)x->ndim * sizeof *x->strides);
}

/* Concatenates operands of equal geometry in one launch. Returns false if they differ or if copying them one by one is
 * faster. */
static bool
cat_alike(Row *r, const Node *list, int64_t dim)
{
	const RtTensor *y = row_result(r, 0), *first = list->nin ? plan_tensor(r->p, list->in[0]) : NULL;

	return first && first->dtype == y->dtype && first->ndim == y->ndim &&
	       first->dims[dim] * list->nin == y->dims[dim] &&
	       copy_alike(r, list, y->strides, first->dims[dim] * y->strides[dim]);
}

bool
row_cat(Row *r)
{
	const RtTensor *y = row_result(r, 0);
	const Node *list = row_list_node(r, "tensors");
	int64_t dim, at = 0;

	if (!y || !list || !row_int(r, "dim", &dim) || !y->ndim)
		return false;
	dim += dim < 0 ? y->ndim : 0;
	if (cat_alike(r, list, dim))
		return true;
	for (int i = 0; i < list->nin; i++) {
		const RtTensor *x = plan_tensor(r->p, list->in[i]);
		Region g;

		if (!x || x->dtype != y->dtype || x->quant ||
		    (x->storage == y->storage && !plan_is_part(r->p, list->in[i])))
			return false;
		if (x->ndim == 1 && !x->dims[0])
			continue;
		if (x->ndim != y->ndim)
			return false;
		g = region_of(x->ndim, x->dims, y->strides, x->strides);
		if (i)
			start_add(&g.to_start, at, y->strides[dim]);
		if (!is_there(x, y, at * y->strides[dim]) &&
		    !put_region(r, &g, x->dtype, x->dtype, r->n->out[0], list->in[i]))
			return false;
		at += x->dims[dim];
	}
	return at == y->dims[dim];
}

bool
row_stack(Row *r)
{
	const RtTensor *y = row_result(r, 0);
	const Node *list = row_list_node(r, "tensors");
	int64_t dim, to[RT_MAX_RANK];

	if (!y || !list || !list->nin || !row_int(r, "dim", &dim))
		return false;
	dim += dim < 0 ? y->ndim : 0;
	for (int k = 0; k + 1 < y->ndim; k++)
		to[k] = y->strides[k + (k >= dim)];
	for (int i = 0; i < list->nin; i++) {
		const RtTensor *x = plan_tensor(r->p, list->in[i]);

		if (!x || x->dtype != y->dtype || x->quant || x->ndim + 1 != y->ndim || x->storage == y->storage)
			return false;
	}
	if (copy_alike(r, list, to, y->strides[dim]))
		return true;
	for (int i = 0; i < list->nin; i++) {
		const RtTensor *x = plan_tensor(r->p, list->in[i]);
		Region g = region_of(x->ndim, x->dims, to, x->strides);

		if (i)
			start_add(&g.to_start, i, y->strides[dim]);
		if (!put_region(r, &g, x->dtype, x->dtype, r->n->out[0], list->in[i]))
			return false;
	}
	return true;
}

/* ---- by index -------------------------------------------------------------------------------------------------- */

typedef struct Taken {           /* Index tensors, and the tensor x that they select from. */
	const Value *x, *index[KERNEL_GATHERS];
	int  n, dim[KERNEL_GATHERS];     /* number of indices; dims of x that they select along */
	bool wraps;              /* whether indices may be negative */
	/* By dim of the result: strides of x (0 along the indices' dims), and strides of each index. */
	int64_t from[RT_MAX_RANK], by[KERNEL_GATHERS][RT_MAX_RANK];
} Taken;

/* Can elements of x be moved, and are the indices ints? */
static bool
can_take(const Row *r, const Taken *t)
{
	const RtTensor *x = plan_tensor(r->p, t->x), *y = row_result(r, 0);

	for (int i = 0; i < t->n; i++) {
		const RtTensor *index = plan_tensor(r->p, t->index[i]);

		if (index->dtype != RT_i64 && index->dtype != RT_i32)
			return false;
	}
	return x->dtype == y->dtype && lower_carrier(y->dtype) != RT_NDTYPE && rt_numel(y);
}

/* Adds the launch. An index out of range sets its flag, and the generic kernel then raises. */
static bool
launch_gather(Row *r, const Taken *t)
{
	const RtTensor *x = plan_tensor(r->p, t->x), *y = row_result(r, 0);
	const Value *value[2 + KERNEL_GATHERS] = { r->n->out[0], t->x };
	Region g;
	Kernel *k;

	if (!can_take(r, t))
		return false;
	g = region_of(y->ndim, y->dims, y->strides, t->from);
	k = begin_region(r, "take", &g);
	kernel_strided(k, ACCESS_WRITE, lower_carrier(y->dtype), g.to);
	kernel_strided(k, ACCESS_READ, lower_carrier(y->dtype), g.from);
	for (int i = 0; i < t->n; i++) {
		const Gather by = { .by = ref_operand(2 + i), .stride = size_number(k->sizes, x->strides[t->dim[i]]),
				    .limit = size_number(k->sizes, x->dims[t->dim[i]]), .wraps = t->wraps };

		value[2 + i] = t->index[i];
		kernel_strided(k, ACCESS_READ, (RtDtype)plan_tensor(r->p, t->index[i])->dtype, t->by[i]);
		k->operand.at[1].gather[k->operand.at[1].ngather++] = by;
	}
	kernel_store(k, 0, ref_operand(1));
	if (!row_kernel(r, k, value, 2 + t->n))
		return false;
	row_checks(r);
	return true;
}

/* Sets strides of index i over the result's dims [first, first + rank), to which it is broadcast. Returns false if it
 * cannot be. */
static bool
index_strides(const Row *r, Taken *t, int i, int first, int rank)
{
	const RtTensor *index = plan_tensor(r->p, t->index[i]), *y = row_result(r, 0);

	for (int d = 0; d < index->ndim; d++) {
		const int to = first + rank - index->ndim + d;

		if (index->dims[d] != y->dims[to] && index->dims[d] != 1)
			return false;
		t->by[i][to] = index->dims[d] == 1 ? 0 : index->strides[d];
	}
	return true;
}

/* Selects by indices, which are broadcast together. Their dims replace x's indexed dims at the first of these. If other
 * dims are between the indexed ones, they come first in the result. */
static bool
take_slices(Row *r, Taken *t)
{
	const RtTensor *x = plan_tensor(r->p, t->x), *y = row_result(r, 0);
	const bool together = t->dim[t->n - 1] - t->dim[0] == t->n - 1;
	const int first = together ? t->dim[0] : 0;
	int rank = 0, d = 0, taken = 0;

	for (int i = 0; i < t->n; i++) {
		const RtTensor *index = plan_tensor(r->p, t->index[i]);

		if (!index)
			return false;
		rank = index->ndim > rank ? index->ndim : rank;
	}
	if (!x || !y || t->dim[t->n - 1] >= x->ndim || x->ndim - t->n + rank != y->ndim)
		return false;
	for (int i = 0; i < t->n; i++)
		if (!index_strides(r, t, i, first, rank))
			return false;
	for (int i = 0; i < y->ndim; i++) {
		if (i >= first && i < first + rank)
			continue;
		for (; taken < t->n && t->dim[taken] == d; taken++)
			d++;
		t->from[i] = x->strides[d++];
	}
	return launch_gather(r, t);
}

static bool
take_by_one(Row *r, const char *x, const char *index, int dim)
{
	Taken t = { .x = row_arg(r, x), .index = { row_arg(r, index) }, .n = 1, .dim = { dim } };

	return t.x && t.index[0] && take_slices(r, &t);
}

bool
row_embedding(Row *r)
{
	const RtTensor *table = row_tensor(r, "weight");
	const bool by_panels = r->p->by_panels && r->p->by_panels[r->n->id];

	return table && table->ndim == 2 && !by_panels && take_by_one(r, "weight", "indices", 0);
}

bool
row_index_select(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *i = row_tensor(r, "index");
	int64_t dim;

	if (!x || !i || !x->ndim || i->ndim != 1 || !row_int(r, "dim", &dim) || (dim = dim_of(dim, x->ndim)) < 0)
		return false;
	return take_by_one(r, "self", "index", (int)dim);
}

/* x[:, i, j]: dims without an index are copied whole. */
bool
row_index(Row *r)
{
	const Node *list = row_list_node(r, "indices");
	Taken t = { .x = row_arg(r, "self"), .wraps = true };

	for (int i = 0; list && i < list->nin; i++) {
		if (value_is_none(list->in[i]) || list->in[i]->type->kind == TYPE_NONE)
			continue;
		if (t.n == KERNEL_GATHERS)
			return false;
		t.index[t.n] = list->in[i];
		t.dim[t.n++] = i;
	}
	return t.n && t.x && take_slices(r, &t);
}

/* gather: every element of the result has its own index along dim. */
bool
row_gather(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *index = row_tensor(r, "index"), *y = row_result(r, 0);
	Taken t = { .x = row_arg(r, "self"), .index = { row_arg(r, "index") }, .n = 1 };
	int64_t dim;

	if (!x || !index || !y || !x->ndim || index->ndim != x->ndim || !row_int(r, "dim", &dim) ||
	    (t.dim[0] = dim_of(dim, x->ndim)) < 0)
		return false;
	for (int i = 0; i < y->ndim; i++) {
		if (i != t.dim[0] && index->dims[i] > x->dims[i])
			return false;
		t.from[i] = i == t.dim[0] ? 0 : x->strides[i];
		t.by[0][i] = index->strides[i];
	}
	return launch_gather(r, &t);
}
