/*
 * Pooling over one or two dims. The plan has the result's sizes, so ceil_mode needs no code here.
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

/* Prints the struct of the microkernel. x: the input or its gradient. y: the result or its gradient. at: indices of
 * the maxima, or null. */
static void
put_pool_sizes(Body *b, const Pool *d, const RtTensor *at)
{
	const RtTensor *x = d->x, *y = d->y;
	const Member member[] = {
		{ "n", size_at(x, d, N) }, { "c", size_at(x, d, C) }, { "h", size_at(x, d, H) },
		{ "w", size_at(x, d, W) }, { "oh", size_at(y, d, H) }, { "ow", size_at(y, d, W) },
		{ "xn", stride_at(x, d, N) }, { "xc", stride_at(x, d, C) }, { "xh", stride_at(x, d, H) },
		{ "xw", stride_at(x, d, W) }, { "yn", stride_at(y, d, N) }, { "yc", stride_at(y, d, C) },
		{ "yh", stride_at(y, d, H) }, { "yw", stride_at(y, d, W) },
		{ "kh", d->kernel[0] }, { "kw", d->kernel[1] }, { "sh", d->step[0] }, { "sw", d->step[1] },
		{ "ph", d->pad[0] }, { "pw", d->pad[1] }, { "dh", d->dilation[0] }, { "dw", d->dilation[1] },
		{ "divisor", d->divisor }, { "max", d->max }, { "adaptive", d->adaptive },
		{ "padding_counts", d->padding_counts },
		{ "an", at ? stride_at(at, d, N) : 0 }, { "ac", at ? stride_at(at, d, C) : 0 },
		{ "ah", at ? stride_at(at, d, H) : 0 }, { "aw", at ? stride_at(at, d, W) : 0 },
	};

	body_struct(b, "static const VpPool v", member, sizeof member / sizeof *member - (at ? 0 : 4), "");
	out_blank(&b->out);
}

static bool
emit_pool(Row *r, const Pool *d)
{
	const RtTensor *x = d->x, *y = d->y;
	const int64_t n = size_at(x, d, N), c = size_at(x, d, C), h = size_at(x, d, H), w = size_at(x, d, W);
	const int64_t oh = size_at(y, d, H), ow = size_at(y, d, W);
	const bool last = stride_at(x, d, C) == 1 && stride_at(y, d, C) == 1;
	Body b = body_begin(r->p);
	KernelCall *call;

	put_pool_sizes(&b, d, NULL);
	out_line(&b.out, "%s(begin, end, &v, p[1], p[0]);", last ? "vp_pool_lanes" : "vp_pool_planes");
	call = row_call(r, "pool",
			arena_printf(r->p->cx->arena, "%s of %lld channels, (%lld, %lld) -> (%lld, %lld)", r->n->op->id,
				     (long long)c, (long long)h, (long long)w, (long long)oh, (long long)ow),
			&b, last ? n * oh : n * c * oh,
			row_grain(rt_numel(y) / (last ? n * oh : n * c * oh) *
				  (d->adaptive ? (h / oh + 1) * (w / ow + 1) : d->kernel[0] * d->kernel[1])));
	row_pass(r, call, r->n->out[0]);
	row_pass(r, call, row_arg(r, "self"));
	return true;
}

/* ---- as a Kernel ------------------------------------------------------------------------------------------------- */

static Windows
windows_of(const Pool *d)
{
	Windows v = { .places = d->places };

	for (int i = 0; i < v.places; i++) {
		const int k = 2 - v.places + i, which = k ? W : H;

		v.in[i] = size_at(d->x, d, which), v.out[i] = size_at(d->y, d, which);
		v.taps[i] = d->kernel[k], v.step[i] = d->step[k], v.pad[i] = d->pad[k], v.wide[i] = d->dilation[k];
		v.x[i] = stride_at(d->x, d, which), v.y[i] = stride_at(d->y, d, which);
	}
	return v;
}

/* Adds an operand that is 1 at points inside the input, and 0 outside. If padding, points in the padding also count
 * as inside. */
static Ref
put_inside(Kernel *k, const Windows *v, bool padding)
{
	SizeTable *z = k->sizes;
	const int at = kernel_operand(k, (Operand){ .dtype = RT_i64, .access = ACCESS_INDEX, .along = -1,
						    .offset = size_number(z, 1) });
	const Bound *next = k->operand.at[CONTRACT_X].bound.at;

	for (int i = 0; i < v->places; i++) {
		const int64_t pad = padding ? v->pad[i] : 0;
		Bound b;

		if (!windows_leave(v, i))
			continue;
		b = *next++;
		b.offset = size_plus(z, b.offset, size_number(z, pad));
		b.limit = size_plus(z, b.limit, size_number(z, 2 * pad));
		kernel_bound(k, at, b);
	}
	return ref_operand(at);
}

/* Adds the maximum of the elements of a window that are inside the input. */
static Ref
put_most(const Contract *c, const Windows *v)
{
	Kernel *k = c->kernel;
	Folded most = { .fold = fold_find("max"), .x = ref_operand(CONTRACT_X), .part = RT_f32, .total = RT_f32 };

	if (k->operand.at[CONTRACT_X].bound.n) {
		const Ref inside = put_inside(k, v, false);

		most.x = kernel_let(k, lower_let(c->plan, ROW_where_self, RT_f32,
						 (Ref[]){ inside, most.x, ref_number(rt_double(-1e300 * 1e300)) }));
	}
	return kernel_state(k, most);
}

static Ref
put_mean(const Contract *c, const Windows *v, const Pool *d)
{
	Kernel *k = c->kernel;
	Folded sum = { .fold = fold_find("sum"), .x = ref_operand(CONTRACT_X), .part = RT_f32, .total = RT_f32 };
	Ref of[2] = { kernel_state(k, sum),
		      ref_number(rt_double((double)(d->divisor ? d->divisor : d->kernel[0] * d->kernel[1]))) };

	if (k->operand.at[CONTRACT_X].bound.n && !d->divisor) {
		sum.x = put_inside(k, v, d->padding_counts);
		of[1] = kernel_state(k, sum);
	}
	kernel_stage(k, false);
	return kernel_let(k, lower_let(c->plan, ROW_div_Tensor, RT_f32, of));
}

static bool
lower_pool(Row *r, const Pool *d)
{
	Contract c = { .plan = r->p, .n = r->n, .kernel = lower_over(r->p, r->n, "pool", 0, NULL) };
	const Value *const value[] = { r->n->out[0], row_arg(r, "self") };
	const Windows v = windows_of(d);
	Ref made;

	for (int i = CONTRACT_Y; i <= CONTRACT_X; i++)
		kernel_strided(c.kernel, i == CONTRACT_Y ? ACCESS_WRITE : ACCESS_READ, RT_f32, NULL);
	for (int dim = N; dim >= C; dim--)
		contract_axis(&c, size_at(d->y, d, dim), false,
			      (int64_t[4]){ stride_at(d->y, d, dim), stride_at(d->x, d, dim) });
	contract_windows(&c, &v, false);
	contract_windows(&c, &v, true);
	made = d->max ? put_most(&c, &v) : put_mean(&c, &v, d);
	if (d->max)
		kernel_stage(c.kernel, false);
	kernel_store(c.kernel, CONTRACT_Y, made);
	return row_kernel(r, c.kernel, value, 2);
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

	return take_max(r, &d) && emit_pool(r, &d);
}

bool
row_max_pool_data(Row *r)
{
	Pool d;

	return take_max(r, &d) && lower_pool(r, &d);
}

bool
row_avg_pool(Row *r)
{
	Pool d;

	return take_avg(r, &d) && emit_pool(r, &d);
}

bool
row_avg_pool_data(Row *r)
{
	Pool d;

	return take_avg(r, &d) && lower_pool(r, &d);
}

/* Adaptive pooling. A maximum only if its indices are not used. */
bool
row_adaptive_pool(Row *r)
{
	Pool d = { .places = places(r), .max = r->n->nout == 2, .adaptive = true, .kernel = { 1, 1 },
		   .step = { 1, 1 }, .dilation = { 1, 1 } };

	return (!d.max || !r->n->out[1]->uses.n) && read_pool(r, &d) && emit_pool(r, &d);
}

/* Adaptive pooling with equal windows: the input's sizes are multiples of the result's. */
bool
row_adaptive_pool_data(Row *r)
{
	Pool d = { .places = places(r), .max = r->n->nout == 2, .dilation = { 1, 1 } };

	if ((d.max && r->n->out[1]->uses.n) || !read_pool(r, &d))
		return false;
	for (int i = 0; i < 2; i++) {
		const int64_t in = size_at(d.x, &d, i ? W : H), out = size_at(d.y, &d, i ? W : H);

		if (in % out)
			return false;
		d.kernel[i] = d.step[i] = in / out;
	}
	return lower_pool(r, &d);
}

/* The maximum and its indices, over channels last. */
bool
row_max_pool_places(Row *r)
{
	const RtTensor *at = row_result(r, 1);
	Pool d = { .places = 2, .max = true };
	Body b = body_begin(r->p);
	KernelCall *c;

	if (!read_pool(r, &d) || !take_window(r, &d) || !at || at->dtype != RT_i64 || d.x->ndim != 4 ||
	    !dense_nhwc(d.x) || !dense_nhwc(d.y) || !dense_nhwc(at) || d.x->dims[2] > INT32_MAX / d.x->dims[3])
		return false;
	put_pool_sizes(&b, &d, NULL);
	out_line(&b.out, "vp_max_places(begin, end, &v, p[2], p[0], p[1]);");
	c = row_call(r, "pool", arena_printf(r->p->cx->arena, "%s of %lld channels, with places", r->n->op->id,
		     (long long)d.x->dims[1]), &b, d.y->dims[0] * d.y->dims[2],
		     row_grain(d.y->dims[3] * d.x->dims[1] * d.kernel[0] * d.kernel[1]));
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, r->n->out[1]);
	row_pass(r, c, row_arg(r, "self"));
	return true;
}

bool
row_max_pool_back(Row *r)
{
	const RtTensor *at = row_tensor(r, "indices");
	Pool d = { .places = 2, .max = true, .x = row_result(r, 0), .y = row_tensor(r, "grad_output"),
		.kernel = { 1, 1 }, .step = { 1, 1 } };
	Body b = body_begin(r->p);
	KernelCall *c;

	if (!d.x || !d.y || !at || d.x->dtype != RT_f32 || d.y->dtype != RT_f32 || at->dtype != RT_i64 ||
	    d.x->ndim != 4 || d.y->ndim != 4 || at->ndim != 4 || !dense_nhwc(d.x) || !rt_numel(d.x) || !rt_numel(d.y))
		return false;
	put_pool_sizes(&b, &d, at);
	out_line(&b.out, "vp_max_back(begin, end, &v, p[1], p[2], p[0]);");
	c = row_call(r, "unpool",
		     arena_printf(r->p->cx->arena, "%s of %lld channels", r->n->op->id, (long long)d.x->dims[1]), &b,
		     d.x->dims[0] * plan_ceil(r->p, d.x->dims[1], 16), 1);
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, row_arg(r, "grad_output"));
	row_pass(r, c, row_arg(r, "indices"));
	return true;
}
