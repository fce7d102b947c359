/*
 * Convolutions and products of 8-bit integers by constant weights (rt/ops/vint8.h). A unit of work is some rows of the
 * result, for all columns of a group or some of them. For depthwise convolutions it is a row of pixels.
 */
#include "row.h"
#include "../../rt/ops/vint8.h"

#include <string.h>

typedef struct Integers {
	const RtTensor *x, *w, *y;
	ViConv conv;
} Integers;

const RtTensor *
row_constant(const Row *r, const char *name, RtDtype dtype)
{
	const RtTensor *t = row_tensor(r, name);
	const Buffer *b = t ? plan_buffer(r->p, row_arg(r, name)) : NULL;

	return b && b->home == HOME_CONSTANT && t->dtype == dtype && t->storage->kind != RT_META &&
	       !t->storage->written ? t : NULL;
}

static bool
take_operands(Row *r, Integers *d)
{
	d->x = row_tensor(r, "x");
	d->y = row_result(r, 0);
	d->w = row_constant(r, "w", RT_i8);
	return d->x && d->y && d->w && rt_numel(d->x) && rt_numel(d->y) && rt_numel(d->w);
}

/* Reads the operands, and the steps after the sums: scale, zero point, clamp. */
static bool
read_integers(Row *r, Integers *d)
{
	int64_t x_zero, zero, low, high;

	if (!take_operands(r, d) || !row_constant(r, "scale", RT_f32) || !row_constant(r, "bias", RT_f32) ||
	    !row_int(r, "x_zero", &x_zero) || !row_int(r, "zero", &zero) || !row_int(r, "low", &low) ||
	    !row_int(r, "high", &high))
		return false;
	d->conv.flip = d->x->dtype == RT_i8;
	d->conv.x_zero = (int32_t)x_zero + (d->conv.flip ? 128 : 0);
	d->conv.y_zero = (int32_t)zero;
	d->conv.low = (int32_t)low;
	d->conv.high = (int32_t)high;
	return true;
}

void
row_pack_int8(Row *r, const RtTensor *w, const ViConv *v, const char *packed[2])
{
	const int64_t channels = v->groups * v->oc, *s = w->strides;
	ptrdiff_t stride[5] = { s[0], s[1] };
	int8_t *const panels = new(r->p->cx->arena, int8_t, vi_packed(v));
	int32_t *const start = new(r->p->cx->arena, int32_t, channels);
	int64_t at;

	for (int i = 2; i < w->ndim; i++)
		stride[5 - w->ndim + i] = s[i];
	vi_pack(v, (const int8_t *)rt_data(w), stride, panels, start);
	packed[0] = pack_bytes(r->e, w, panels, v);
	r->e->int8 = true;
	at = weights_add(&r->e->weights, WEIGHT_BIAS, start, channels * (int64_t)sizeof *start);
	packed[1] = arena_printf(r->p->cx->arena, "(kiln_weights + %lld)", (long long)at);
}

static void
put_int8_sizes(Body *b, const Integers *d)
{
	const ViConv *v = &d->conv;
	const Member member[] = {
		{ "n", v->n }, { "d", v->d }, { "h", v->h }, { "w", v->w }, { "ic", v->ic },
		{ "od", v->od }, { "oh", v->oh }, { "ow", v->ow }, { "oc", v->oc },
		{ "kd", v->kd }, { "kh", v->kh }, { "kw", v->kw }, { "sd", v->sd },
		{ "sh", v->sh }, { "sw", v->sw }, { "pd", v->pd }, { "ph", v->ph }, { "pw", v->pw }, { "dd", v->dd },
		{ "dh", v->dh }, { "dw", v->dw }, { "groups", v->groups }, { "xs", v->xs }, { "ys", v->ys },
		{ "part", v->part }, { "x_zero", v->x_zero }, { "y_zero", v->y_zero }, { "low", v->low },
		{ "high", v->high }, { "flip", v->flip }, { "sums", v->sums },
	};

	body_struct(b, v->sums ? "ViConv v" : "static const ViConv v", member, sizeof member / sizeof *member, "");
}

enum { GRAIN = 1 << 20 };        /* number of multiplications that are worth waking a thread */

static bool
emit_int8(Row *r, Integers *d, const char *comment)
{
	const ViConv *v = &d->conv;
	const bool depthwise = vi_is_depthwise(v);
	const int64_t rows = vi_pixels(v), parts = (v->oc + v->part - 1) / v->part * v->groups,
		      units = depthwise ? vi_lines(v) : plan_ceil(r->p, rows, VI_CHUNK) * parts,
		      products = rows * v->groups * v->oc * v->ic * vi_window(v);
	const char *packed[2] = { "", "" };
	Body b = body_begin(r->p);
	KernelCall *c;

	put_int8_sizes(&b, d);
	if (v->sums) {
		out_line(&b.out, "const ViWeights w = { p[2], p[3], 0, 0 };");
		out_line(&b.out, "v.x_zero = (int32_t)*(const float *)p[4]%s;", v->flip ? " + 128" : "");
	} else {
		out_line(&b.out, "const ViWeights w = { p[2], p[3], p[4], p[5] };");
	}
	if (!depthwise)
		out_line(&b.out, "uint8_t *scratch = rt_thread_scratch(vi_scratch(&v) + 1);");
	out_blank(&b.out);
	out_line(&b.out, depthwise ? "vi_depthwise(begin, end, &v, p[1], &w, p[0]);" :
		 "if (scratch)\n\t\tvi_conv(begin, end, &v, p[1], &w, p[0], scratch);");
	if (r->e)
		row_pack_int8(r, d->w, v, packed);
	c = row_call(r, "int8", comment, &b, units, 1 + GRAIN * units / products);
	c->work.flops = 2 * (double)products;
	c->work.bytes = (double)(rt_numel(d->x) + rt_numel(d->y) + rt_numel(d->w));
	c->scratch = depthwise ? 0 : vi_scratch(v) + 1;
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, row_arg(r, "x"));
	row_pass_text(r, c, packed[0]);
	row_pass_text(r, c, packed[1]);
	if (v->sums) {
		row_pass(r, c, row_arg(r, "x_zero"));
	} else {
		row_pass(r, c, row_arg(r, "scale"));
		row_pass(r, c, row_arg(r, "bias"));
	}
	return true;
}

static bool
emit_conv(Row *r, Integers *d)
{
	int64_t step[3] = { 1, 1, 1 }, pad[3] = { 0 }, wide[3] = { 1, 1, 1 }, groups;
	ViConv *const v = &d->conv;
	const int nd = d->w->ndim - 2, at = 3 - nd;

	if ((nd != 2 && nd != 3) || !rt_is_channels_last(d->x) || !rt_is_channels_last(d->y) ||
	    !row_ints(r, "stride", step + at, nd) || !row_ints(r, "padding", pad + at, nd) ||
	    !row_ints(r, "dilation", wide + at, nd) || !row_int(r, "groups", &groups))
		return false;
	const int64_t *x = d->x->dims, *w = d->w->dims, *y = d->y->dims;

	v->n = x[0], v->d = nd == 3 ? x[2] : 1, v->h = x[nd], v->w = x[nd + 1];
	v->od = nd == 3 ? y[2] : 1, v->oh = y[nd], v->ow = y[nd + 1];
	v->kd = nd == 3 ? w[2] : 1, v->kh = w[nd], v->kw = w[nd + 1];
	v->sd = step[0], v->sh = step[1], v->sw = step[2], v->pd = pad[0], v->ph = pad[1], v->pw = pad[2];
	v->dd = wide[0], v->dh = wide[1], v->dw = wide[2];
	v->groups = groups, v->ic = w[1], v->oc = w[0] / groups, v->xs = x[1], v->ys = y[1];
	v->part = plan_choice(r->p, vi_divides(v)) ? VI_PART : v->oc;
	return emit_int8(r, d, arena_printf(r->p->cx->arena, "convolution of 8 bits, %lld x %lld x %lld, %lld -> %lld "
					    "channels, (%lld, %lld, %lld, %lld) -> (%lld, %lld, %lld)",
					    (long long)v->kd, (long long)v->kh, (long long)v->kw, (long long)x[1],
					    (long long)y[1], (long long)x[0], (long long)v->d, (long long)v->h,
					    (long long)v->w, (long long)v->od, (long long)v->oh, (long long)v->ow));
}

bool
row_conv_int8(Row *r)
{
	Integers d = { 0 };

	return read_integers(r, &d) && emit_conv(r, &d);
}

static bool
emit_product(Row *r, Integers *d)
{
	if (d->w->ndim != 2 || !rt_is_contiguous(d->x) || !rt_is_contiguous(d->y))
		return false;
	d->conv.ic = d->conv.xs = d->w->dims[1];
	d->conv.oc = d->conv.ys = d->w->dims[0];
	d->conv.w = d->conv.ow = rt_numel(d->y) / d->conv.oc;
	d->conv.part = plan_choice(r->p, vi_divides(&d->conv)) ? VI_PART : d->conv.oc;
	return emit_int8(r, d, arena_printf(r->p->cx->arena, "product of 8 bits (%lld, %lld) x (%lld, %lld)",
					    (long long)d->conv.w, (long long)d->conv.ic, (long long)d->conv.ic,
					    (long long)d->conv.oc));
}

bool
row_linear_int8(Row *r)
{
	Integers d = { .conv = VI_LINE };

	return read_integers(r, &d) && emit_product(r, &d);
}

/* Reads the operands of an operator whose result is the int32 sums. */
static bool
take_sums(Row *r, Integers *d)
{
	const RtTensor *zero = row_tensor(r, "x_zero");

	d->conv.sums = true;
	if (!take_operands(r, d) || !zero || zero->dtype != RT_f32)
		return false;
	d->conv.flip = d->x->dtype == RT_i8;
	return true;
}

bool
row_linear_sums(Row *r)
{
	Integers d = { .conv = VI_LINE };

	return take_sums(r, &d) && emit_product(r, &d);
}

bool
row_conv_sums(Row *r)
{
	Integers d = { 0 };

	return take_sums(r, &d) && emit_conv(r, &d);
}
