/*
 * Pooling over one or two dims, and the gradient of maxima. The plan has the result's sizes, so ceil_mode needs no code
 * here.
 */
#include "lower.h"
#include "row.h"

#include <string.h>

typedef struct Pool {
	const RtTensor *x, *y;
	int64_t kernel[2], step[2], pad[2], dilation[2], divisor;
	int     places;          /* number of dims that are pooled: 1 or 2 */
	bool    max, adaptive, padding_counts;
} Pool;

enum { W, H, C, N };             /* Dims counted from the last. A pool over one dim has no H. */

static int
dim_at(const RtTensor *t, const Pool *d, int which)
{
	const int from_last = which == W || d->places == 2 ? which : which - 1;

	return which == H && d->places == 1 ? -1 : t->ndim - 1 - from_last;
}

static int64_t
size_at(const RtTensor *t, const Pool *d, int which)
{
	const int i = dim_at(t, d, which);

	return i < 0 ? 1 : t->dims[i];
}

static int64_t
stride_at(const RtTensor *t, const Pool *d, int which)
{
	const int i = dim_at(t, d, which);

	return i < 0 || t->dims[i] == 1 ? 0 : t->strides[i];
}

static bool
read_pool(Row *r, Pool *d)
{
	d->x = row_tensor(r, "self");
	d->y = row_result(r, 0);
	return d->x && d->y && d->x->dtype == RT_f32 && d->y->dtype == RT_f32 && d->x->ndim == d->y->ndim &&
	       rt_numel(d->x) && rt_numel(d->y) && d->x->ndim > d->places && d->x->ndim <= d->places + 2;
}

/* Reads kernel_size, stride, padding and dilation. A pool over one dim has a height of 1. */
static bool
take_window(Row *r, Pool *d)
{
	int64_t none[RT_MAX_RANK];
	const int lead = 2 - d->places;
	int n;

	for (int i = 0; i < 2; i++) {
		d->kernel[i] = d->step[i] = d->dilation[i] = 1;
		d->pad[i] = 0;
	}
	if (!row_ints(r, "kernel_size", d->kernel + lead, d->places) ||
	    !row_ints(r, "padding", d->pad + lead, d->places) || !row_list(r, "stride", none, &n))
		return false;
	if (node_arg(r->n, "dilation") && !row_ints(r, "dilation", d->dilation + lead, d->places))
		return false;
	if (!n)
		memcpy(d->step, d->kernel, sizeof d->step);
	else if (!row_ints(r, "stride", d->step + lead, d->places))
		return false;
	for (int i = 0; i < 2; i++)
		if (d->kernel[i] < 1 || d->step[i] < 1 || d->dilation[i] < 1 || d->pad[i] < 0)
			return false;
	return true;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/*
 * The axes are n, channels, the result's height and width, then the window's height and width, which are reduced:
 *
 *    axes i0: n, i1: c, i2: oh, i3: ow, i4: kh reduce, i5: kw reduce
 *    x1 f32 read xn*i0 + xc*i1 + xh*[step*i2 + dilation*i4 - pad < h] + xw*[step*i3 + dilation*i5 - pad < w]
 *
 * The taps of adaptive pooling run over a part of the input, whose edges depend on i2 and i3.
 */
enum { AXIS_N, AXIS_C, AXIS_OUT, AXIS_TAP = AXIS_OUT + 2, NAXIS = AXIS_TAP + 2 };

static const int dim_of[2] = { H, W };

static const Size *
size_of(const Kernel *k, int64_t n)
{
	return size_number(k->sizes, n);
}

/* Adds an operand over the result's positions. */
static int
add_pooled(Kernel *k, const Pool *d, Access access, const RtTensor *t)
{
	const int64_t stride[NAXIS] = { stride_at(t, d, N), stride_at(t, d, C), stride_at(t, d, H),
					stride_at(t, d, W) };

	return kernel_strided(k, access, (RtDtype)t->dtype, stride);
}

/* Bounds a position in the input along dim i. pad: positions around the input that exist, too. unit: elements between
 * two positions, or null. */
static void
bound_position(Kernel *k, const Pool *d, int operand, int i, int64_t pad, const Size *unit)
{
	Bound b = { .offset = size_of(k, pad - d->pad[i]), .unit = unit,
		    .limit = size_of(k, size_at(d->x, d, dim_of[i]) + 2 * pad) };

	b.stride[AXIS_OUT + i] = size_of(k, d->step[i]);
	b.stride[AXIS_TAP + i] = size_of(k, d->dilation[i]);
	kernel_bound(k, operand, b);
}

/* Adds an operand over the input: its elements, or their indices. step: its strides along height and width. */
static int
add_input(Kernel *k, const Pool *d, Operand o, const int64_t step[2])
{
	int at;

	for (int i = 0; i < 2 && d->adaptive; i++)
		o.stride[AXIS_TAP + i] = size_of(k, step[i]);
	o.along = -1;
	at = kernel_operand(k, o);
	for (int i = 0; i < 2 && !d->adaptive; i++)
		bound_position(k, d, at, i, 0, size_of(k, step[i]));
	return at;
}

static int
add_elements(Kernel *k, const Pool *d)
{
	const int64_t step[2] = { stride_at(d->x, d, H), stride_at(d->x, d, W) };
	Operand o = { .dtype = RT_f32, .access = ACCESS_READ };

	o.stride[AXIS_N] = size_of(k, stride_at(d->x, d, N));
	o.stride[AXIS_C] = size_of(k, stride_at(d->x, d, C));
	if (d->max)
		o.outside = rt_double(-1e300 * 1e300);
	return add_input(k, d, o, step);
}

/* Makes a kernel with its axes. */
static Kernel *
begin_pool(const Row *r, const Pool *d)
{
	const int64_t dims[NAXIS] = { size_at(d->y, d, N), size_at(d->y, d, C), size_at(d->y, d, H),
				      size_at(d->y, d, W), d->kernel[0], d->kernel[1] };
	Kernel *k = lower_over(r->p, r->n, "pool", NAXIS, dims);

	k->nreduce = 2;
	for (int i = 0; i < 2 && d->adaptive; i++)
		kernel_divide(k, AXIS_TAP + i, AXIS_OUT + i, size_of(k, size_at(d->x, d, dim_of[i])));
	return k;
}

/* Adds the state and the number by which it is divided. */
static Ref
put_mean(const Row *r, Kernel *k, const Pool *d, Ref x)
{
	Folded sum = { .fold = fold_find("sum"), .x = x, .part = RT_f32, .total = RT_f32 };
	Ref of[2] = { kernel_state(k, sum), ref_number(rt_int(d->divisor)) };

	if (!d->divisor) {
		const int one = kernel_operand(k, (Operand){ .dtype = RT_i64, .access = ACCESS_INDEX, .along = -1,
							     .offset = size_of(k, 1) });

		for (int i = 0; i < 2 && !d->adaptive; i++)
			bound_position(k, d, one, i, d->padding_counts ? d->pad[i] : 0, NULL);
		sum.x = ref_operand(one);
		of[1] = kernel_state(k, sum);
	}
	kernel_stage(k, false);
	return kernel_let(k, lower_let(r->p, ROW_div_Tensor, RT_f32, of));
}

static Ref
put_most(Kernel *k, Ref x)
{
	const Ref most = kernel_state(k, (Folded){ .fold = fold_find("max"), .x = x, .part = RT_f32, .total = RT_f32 });

	kernel_stage(k, false);
	return most;
}

static bool
lower_pool(Row *r, const Pool *d)
{
	const Value *const value[] = { r->n->out[0], row_arg(r, "self") };
	Kernel *k = begin_pool(r, d);
	const int y = add_pooled(k, d, ACCESS_WRITE, d->y);
	const Ref x = ref_operand(add_elements(k, d));

	kernel_store(k, y, d->max ? put_most(k, x) : put_mean(r, k, d, x));
	return row_kernel(r, k, value, 2);
}

/* Can a window consist of padding only? */
static bool
has_empty_windows(const Pool *d)
{
	for (int i = 0; i < 2; i++)
		if (d->pad[i] && d->dilation[i] > size_at(d->x, d, dim_of[i]))
			return true;
	return false;
}

/* The maximum and its index in the plane. Elements in the padding have the largest index, so none is chosen. */
static bool
lower_places(Row *r, const Pool *d, const RtTensor *at)
{
	const Value *const value[] = { r->n->out[0], r->n->out[1], row_arg(r, "self") };
	const int64_t step[2] = { size_at(d->x, d, W), 1 };
	Kernel *k = begin_pool(r, d);
	const int y = add_pooled(k, d, ACCESS_WRITE, d->y), places = add_pooled(k, d, ACCESS_WRITE, at);
	Folded most = { .fold = fold_find("poolmax"), .part = RT_f32, .total = RT_f32, .place = RT_i64 };
	Ref made;

	most.x = ref_operand(add_elements(k, d));
	most.y = ref_operand(add_input(k, d, (Operand){ .dtype = RT_i64, .access = ACCESS_INDEX,
							.outside = rt_int(INT64_MAX) }, step));
	made = kernel_state(k, most);
	kernel_stage(k, false);
	kernel_store(k, y, made);
	made.part = 1;
	kernel_store(k, places, made);
	return row_kernel(r, k, value, 3);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Returns the number of pooled dims: 1 or 2, the length of the schema's int[] arguments. */
static int
places(const Row *r)
{
	const Schema *s = node_schema(r->n);
	const int window = schema_find(s, "kernel_size");

	return s->args[window < 0 ? schema_find(s, "output_size") : window].size_hint;
}

static bool
take_max(Row *r, Pool *d)
{
	*d = (Pool){ .places = places(r), .max = true };
	return read_pool(r, d) && take_window(r, d);
}

static bool
take_avg(Row *r, Pool *d)
{
	int64_t counts;

	*d = (Pool){ .places = places(r) };
	if (!read_pool(r, d) || !take_window(r, d) || !row_int(r, "count_include_pad", &counts))
		return false;
	d->padding_counts = counts;
	return !row_arg(r, "divisor_override") || (row_int(r, "divisor_override", &d->divisor) && d->divisor);
}

bool
row_max_pool(Row *r)
{
	Pool d;

	return take_max(r, &d) && lower_pool(r, &d);
}

bool
row_avg_pool(Row *r)
{
	Pool d;

	return take_avg(r, &d) && lower_pool(r, &d);
}

/* Adaptive pooling. A maximum only if its indices are not used. */
bool
row_adaptive_pool(Row *r)
{
	Pool d = { .places = places(r), .max = r->n->nout == 2, .adaptive = true, .dilation = { 1, 1 } };

	return (!d.max || !r->n->out[1]->uses.n) && read_pool(r, &d) && lower_pool(r, &d);
}

/* Is it worth a kernel? Over planes, the runtime's loops take half of the time of printed ones. */
static bool
pays_places(const Row *r, const RtTensor *x)
{
	return r->p->gpu || (x->ndim == 4 && x->strides[1] == 1);
}

bool
row_max_pool_places(Row *r)
{
	const RtTensor *at = row_result(r, 1);
	Pool d;

	return take_max(r, &d) && at && at->dtype == RT_i64 && at->ndim == d.y->ndim && !has_empty_windows(&d) &&
	       pays_places(r, d.x) && lower_places(r, &d, at);
}

/* Sets the gradient of the input to zero. */
static bool
fill_zeros(Row *r, const RtTensor *x)
{
	Kernel *k = lower_over(r->p, r->n, "fill", x->ndim, x->dims);

	kernel_store(k, kernel_strided(k, ACCESS_WRITE, RT_f32, x->strides), ref_number(rt_double(0)));
	return row_kernel(r, k, (const Value *[]){ r->n->out[0] }, 1);
}

/* Are the positions of a plane apart by one stride? */
static bool
has_flat_planes(const RtTensor *t)
{
	return t->dims[2] == 1 || t->dims[3] == 1 || t->strides[2] == t->strides[3] * t->dims[3];
}

static int
add_planes(Kernel *k, Access access, const RtTensor *t)
{
	const int64_t stride[3] = { t->strides[0], t->strides[1], t->strides[t->dims[3] == 1 ? 2 : 3] };

	return kernel_strided(k, access, (RtDtype)t->dtype, stride);
}

/* The elements of a plane's gradient, in order, are added to those elements of the input's gradient that their indices
 * name. */
bool
row_max_pool_back(Row *r)
{
	const Value *const value[] = { r->n->out[0], row_arg(r, "indices"), row_arg(r, "grad_output") };
	const RtTensor *x = row_result(r, 0), *y = row_tensor(r, "grad_output"), *at = row_tensor(r, "indices");
	Kernel *k;
	Operand *to;

	if (!x || !y || !at || x->dtype != RT_f32 || y->dtype != RT_f32 || at->dtype != RT_i64 || x->ndim != 4 ||
	    y->ndim != 4 || at->ndim != 4 || !rt_numel(x) || !rt_numel(y) || !has_flat_planes(x) ||
	    !has_flat_planes(y) || !has_flat_planes(at) || !pays_places(r, x) || !fill_zeros(r, x))
		return false;
	k = lower_over(r->p, r->n, "unpool", 3, (int64_t[]){ y->dims[0], y->dims[1], y->dims[2] * y->dims[3] });
	k->serial = 2;
	add_planes(k, ACCESS_UPDATE, x);
	add_planes(k, ACCESS_READ, at);
	add_planes(k, ACCESS_READ, y);
	to = &k->operand.at[0];
	to->gather[to->ngather++] = (Gather){ .by = ref_operand(1), .stride = to->stride[2],
						       .limit = size_of(k, x->dims[2] * x->dims[3]) };
	to->stride[2] = size_of(k, 0);
	kernel_store(k, 0, kernel_let(k, lower_let(r->p, ROW_add_Tensor, RT_f32,
						   (Ref[]){ ref_operand(0), ref_operand(2), ref_number(rt_int(1)) })));
	if (!row_kernel(r, k, value, 3))
		return false;
	row_checks(r);
	return true;
}
