/*
 * Convolutions over channels last with computed weights, and gradients of convolutions (rt/ops/vback.h). Training needs
 * both, and so do gradients by parameters.
 *
 * With stride s, the gradient of the input is s x s convolutions, one for each phase: position i = i0 + s a meets the
 * taps k = r + s t, r = (i + pad) mod s, at o = a + q - t, q = (i0 + pad - r) / s.
 */
#include "lower.h"
#include "row.h"

#include <string.h>

enum { CHUNK = 72 };             /* pixels of a block, as in dense.h */

typedef struct Geometry {        /* sizes of the forward convolution */
	const RtTensor *x, *w, *y;       /* input and weights; the result, or its gradient */
	int64_t s[2], pad[2], d[2], groups;
	bool    depthwise;
} Geometry;

typedef struct Conv {            /* Members of VbConv that the kernels set. */
	int64_t n, h, w, ic, oh, ow, oc, kh, kw, s[2], pad[2], d[2], xs, ys, groups;
	int64_t first, sg, so, si, sr, ss;
	bool    depthwise;               /* whether it is depthwise; oc then counts all channels */
	bool    scattered;
	int64_t start, yn, yh, yw;
} Conv;

static bool
read_convolution(Row *r, const char *input, Geometry *g)
{
	int64_t flag;

	g->x = row_tensor(r, input);
	g->w = row_tensor(r, "weight");
	if (!g->x || !g->w || !g->y || g->x->dtype != RT_f32 || g->w->dtype != RT_f32 || g->y->dtype != RT_f32 ||
	    g->w->ndim != 4 || !dense_nhwc(g->x) || !dense_nhwc(g->y) || !rt_numel(g->x) || !rt_numel(g->y) ||
	    !rt_numel(g->w))
		return false;
	if (node_arg(r->n, "transposed") && (!row_int(r, "transposed", &flag) || flag))
		return false;
	if (!constant_ints(r->p, node_arg(r->n, "stride"), g->s, 2) ||
	    !constant_ints(r->p, node_arg(r->n, "padding"), g->pad, 2) ||
	    !constant_ints(r->p, node_arg(r->n, "dilation"), g->d, 2) || !row_int(r, "groups", &g->groups) ||
	    g->groups < 1)
		return false;
	if (g->w->dims[0] % g->groups || g->w->dims[1] * g->groups != g->x->dims[1] || g->w->dims[0] != g->y->dims[1])
		return false;
	g->depthwise = g->groups > 1 && g->w->dims[1] == 1 && g->w->dims[0] == g->groups;
	if (g->depthwise)
		g->groups = 1;
	return g->s[0] * g->s[1] <= MAX_KERNEL_CALLS;    /* the gradient has one launch for each phase */
}

enum { GEOMETRY = 18 };

static void
take_geometry(Member *m, const Conv *c)
{
	const Member member[GEOMETRY] = {
		{ "c.n", c->n }, { "c.h", c->h }, { "c.w", c->w }, { "c.ic", c->ic }, { "c.oh", c->oh },
		{ "c.ow", c->ow }, { "c.oc", c->oc }, { "c.kh", c->kh }, { "c.kw", c->kw }, { "c.sh", c->s[0] },
		{ "c.sw", c->s[1] }, { "c.ph", c->pad[0] }, { "c.pw", c->pad[1] }, { "c.dh", c->d[0] },
		{ "c.dw", c->d[1] }, { "c.xs", c->xs }, { "c.ys", c->ys }, { "c.groups", c->groups },
	};

	memcpy(m, member, sizeof member);
}

/* ---- convolutions by computed weights ---------------------------------------------------------------------------- */

typedef struct Operands {        /* Operands of a launch. */
	const Value *y, *x, *w, *bias;
} Operands;

/* Describes the launch as a contraction. */
static void
put_contract(Row *r, KernelCall *call, const Conv *c, bool bias)
{
	const int64_t yw = c->scattered ? c->yw : c->ys, yh = c->scattered ? c->yh : c->ow * c->ys;
	const int64_t yn = c->scattered ? c->yn : c->oh * c->ow * c->ys;
	const Windows v = { .places = 2, .in = { c->h, c->w }, .out = { c->oh, c->ow }, .taps = { c->kh, c->kw },
			    .step = { c->s[0], c->s[1] }, .pad = { c->pad[0], c->pad[1] }, .wide = { c->d[0], c->d[1] },
			    .x = { c->w * c->xs, c->xs }, .y = { yh, yw }, .w = { c->sr, c->ss } };
	Contract k;

	contract_begin(&k, r->p, r->n, RT_f32, bias);
	contract_axis(&k, c->n, false, (int64_t[4]){ yn, c->h * c->w * c->xs });
	contract_windows(&k, &v, false);
	contract_axis(&k, c->groups, false, (int64_t[4]){ c->oc, c->ic, c->sg, c->oc });
	contract_axis(&k, c->oc, false, (int64_t[4]){ 1, c->depthwise, c->so, 1 });
	contract_axis(&k, c->ic, true, (int64_t[4]){ 0, 1, c->si });
	contract_windows(&k, &v, true);
	contract_from(&k, c->scattered ? c->start : 0, c->first);
	contract_call(call, &k, NULL, 0, c->depthwise ? "vb_depthwise" : "vb_conv");
}

static void
emit_conv(Row *r, const Conv *c, const Operands *on)
{
	const int64_t pixels = c->n * c->oh * c->ow, nr = r->e ? r->e->nr : 64;
	Arena *a = r->p->cx->arena;
	Body b = body_begin(r->p);
	KernelCall *call;
	Member member[] = {
		[GEOMETRY] = { "first", c->first }, { "sg", c->sg }, { "so", c->so }, { "si", c->si }, { "sr", c->sr },
		{ "ss", c->ss }, { "chunk", CHUNK }, { "scattered", c->scattered }, { "start", c->start },
		{ "yn", c->yn }, { "yh", c->yh }, { "yw", c->yw },
	};

	take_geometry(member, c);
	body_struct(&b, "static const VbConv v", member, sizeof member / sizeof *member, "VB_IMAGE");
	if (c->depthwise) {
		row_scratch(&b, "float", "scratch", "v.c.kh * v.c.kw * v.c.oc * 4");
		out_line(&b.out, "vb_depthwise(begin, end, &v, p[1], p[2], %s, p[0], scratch);",
			 on->bias ? "p[4]" : "0");
	} else {
		row_scratch(&b, "float", "scratch", "vb_conv_scratch(&v)");
		out_line(&b.out, "vb_conv(begin, end, &v, %s, p[1], p[2], %s, p[0], p[3], scratch);",
			 body_number(&b, "oc", c->oc), on->bias ? "p[4]" : "0");
	}
	call = row_call(r, "computed", arena_printf(a, "convolution %lld x %lld by computed weights, %lld -> %lld "
			"channels, (%lld, %lld, %lld) -> (%lld, %lld)",
			(long long)c->kh, (long long)c->kw, (long long)c->xs, (long long)c->ys,
			(long long)c->n, (long long)c->h, (long long)c->w, (long long)c->oh, (long long)c->ow), &b,
			c->depthwise ? c->n * c->oh : c->groups * ((c->oc + nr - 1) / nr) *
			plan_ceil(r->p, pixels, CHUNK), 1);
	call->scratch = c->depthwise ? c->kh * c->kw * c->oc * 4 : vs_convolution(nr, CHUNK, c->kh * c->kw, c->ic);
	call->work.flops = 2.0 * (double)(c->n * c->oh * c->ow * c->oc) * (double)(c->kh * c->kw) *
		(double)(c->groups * c->ic);
	row_pass(r, call, on->y);
	row_pass(r, call, on->x);
	row_pass(r, call, on->w);
	row_pass_text(r, call, "kiln_zeros");
	if (r->e && r->e->zeros < c->ic)
		r->e->zeros = c->ic;
	if (on->bias)
		row_pass(r, call, on->bias);
	put_contract(r, call, c, on->bias != NULL);
}

bool
row_convolution_computed(Row *r)
{
	const Value *bias = row_arg(r, "bias");
	const RtTensor *b = row_tensor(r, "bias"), *x, *y;
	Geometry g = { .y = row_result(r, 0) };

	if (!read_convolution(r, "input", &g) ||
	    (bias && (!b || b->dtype != RT_f32 || !rt_is_contiguous(b) || rt_numel(b) != g.w->dims[0])))
		return false;
	x = g.x;
	y = g.y;
	const int64_t *st = g.w->strides, oc = g.w->dims[0] / g.groups;
	const Operands on = { .y = r->n->out[0], .x = row_arg(r, "input"), .w = row_arg(r, "weight"), .bias = bias };
	const Conv c = { .n = x->dims[0], .h = x->dims[2], .w = x->dims[3], .ic = g.w->dims[1], .oh = y->dims[2],
			 .ow = y->dims[3], .oc = oc, .groups = g.groups, .depthwise = g.depthwise,
			 .kh = g.w->dims[2], .kw = g.w->dims[3], .s = { g.s[0], g.s[1] },
			 .pad = { g.pad[0], g.pad[1] }, .d = { g.d[0], g.d[1] }, .xs = x->dims[1], .ys = y->dims[1],
			 .sg = oc * st[0], .so = st[0], .si = st[1], .sr = st[2], .ss = st[3] };

	emit_conv(r, &c, &on);
	return true;
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

typedef struct StridePhase { int64_t from, count, taps, tap, pad; } StridePhase;

/* Returns a phase along one dim: its positions from + s a, and its taps tap + s t in reverse order. */
static StridePhase
phase_of(const Geometry *g, int dim, int64_t r)
{
	const int64_t s = g->s[dim], size = g->x->dims[2 + dim], k = g->w->dims[2 + dim], pad = g->pad[dim];
	StridePhase p;

	p.from = ((r - pad) % s + s) % s;
	p.count = p.from < size ? (size - p.from + s - 1) / s : 0;
	p.taps = r < k ? (k - r + s - 1) / s : 0;
	p.tap = r + s * (p.taps - 1);
	p.pad = g->d[dim] * (p.taps - 1) - (p.from + pad - r) / s;
	return p;
}

static void
emit_phase(Row *r, const Geometry *g, StridePhase h, StridePhase w)
{
	const int64_t *st = g->w->strides, oc = g->w->dims[0] / g->groups, ic = g->w->dims[1], channels = g->x->dims[1];
	const bool all = g->s[0] == 1 && g->s[1] == 1;
	const Conv c = { .n = g->y->dims[0], .h = g->y->dims[2], .w = g->y->dims[3], .ic = g->depthwise ? 1 : oc,
			 .oh = h.count, .ow = w.count, .oc = g->depthwise ? oc : ic, .kh = h.taps, .kw = w.taps,
			 .groups = g->groups, .depthwise = g->depthwise, .sg = oc * st[0],
			 .s = { 1, 1 }, .pad = { h.pad, w.pad },
			 .d = { g->d[0], g->d[1] }, .xs = g->y->dims[1], .ys = channels,
			 .first = h.tap * st[2] + w.tap * st[3],
			 .so = g->depthwise ? st[0] : st[1], .si = g->depthwise ? st[1] : st[0],
			 .sr = -g->s[0] * st[2], .ss = -g->s[1] * st[3],
			 .scattered = !all, .start = (h.from * g->x->dims[3] + w.from) * channels,
			 .yn = g->x->dims[2] * g->x->dims[3] * channels,
			 .yh = g->s[0] * g->x->dims[3] * channels, .yw = g->s[1] * channels };

	const Operands on = { .y = r->n->out[0], .x = row_arg(r, "grad_output"), .w = row_arg(r, "weight") };

	if (h.count && w.count)
		emit_conv(r, &c, &on);
}

static bool
emit_input(Row *r, const Geometry *g)
{
	const RtTensor *gx = row_result(r, 0);
	const bool all = g->s[0] == 1 && g->s[1] == 1;

	if (!gx || !dense_nhwc(gx) || (!all && (g->depthwise || g->d[0] != 1 || g->d[1] != 1)))
		return false;
	for (int64_t i = 0; i < g->s[0]; i++)
		for (int64_t j = 0; j < g->s[1]; j++)
			emit_phase(r, g, phase_of(g, 0, i), phase_of(g, 1, j));
	return true;
}

/* Describes the launch for the weights' gradient as a contraction. Its points are taps; it reduces over the positions
 * of the result's gradient. */
static void
put_weight_contract(Row *r, KernelCall *call, const Conv *c, const int64_t *gw)
{
	const Windows v = { .places = 2, .in = { c->h, c->w }, .out = { c->kh, c->kw }, .taps = { c->oh, c->ow },
			    .step = { c->d[0], c->d[1] }, .pad = { c->pad[0], c->pad[1] }, .wide = { c->s[0], c->s[1] },
			    .x = { c->w * c->xs, c->xs }, .y = { gw[2], gw[3] }, .w = { c->ow * c->ys, c->ys } };
	Contract k;

	contract_begin(&k, r->p, r->n, RT_f32, false);
	contract_axis(&k, c->groups, false, (int64_t[4]){ c->oc * gw[0], c->ic, c->oc });
	contract_axis(&k, c->oc, false, (int64_t[4]){ gw[0], c->depthwise, 1 });
	contract_axis(&k, c->ic, false, (int64_t[4]){ gw[1], 1 });
	contract_windows(&k, &v, false);
	contract_axis(&k, c->n, true, (int64_t[4]){ 0, c->h * c->w * c->xs, c->oh * c->ow * c->ys });
	contract_windows(&k, &v, true);
	contract_call(call, &k, NULL, 0, c->depthwise ? "vb_weight_depthwise" : "vb_weight");
}

static bool
emit_weight(Row *r, const Geometry *g)
{
	const RtTensor *gw = row_result(r, 1), *x = g->x, *y = g->y;
	const int64_t *st = gw ? gw->strides : NULL, oc = g->w->dims[0] / g->groups, ic = g->w->dims[1],
		      nr = r->e ? r->e->nr : 64;
	const Conv c = { .n = x->dims[0], .h = x->dims[2], .w = x->dims[3], .ic = ic, .oh = y->dims[2],
			 .ow = y->dims[3], .oc = oc, .kh = g->w->dims[2], .kw = g->w->dims[3],
			 .s = { g->s[0], g->s[1] }, .pad = { g->pad[0], g->pad[1] }, .d = { g->d[0], g->d[1] },
			 .xs = x->dims[1], .ys = y->dims[1], .groups = g->groups, .depthwise = g->depthwise };
	Arena *a = r->p->cx->arena;
	Body b = body_begin(r->p);
	KernelCall *call;

	if (!gw || gw->dtype != RT_f32)
		return false;
	Member member[] = {
		[GEOMETRY] = { "sg", oc * st[0] }, { "so", st[0] }, { "si", st[1] }, { "sr", st[2] }, { "ss", st[3] },
	};

	take_geometry(member, &c);
	body_struct(&b, "static const VbWeight v", member, sizeof member / sizeof *member, "VB_IMAGE");
	if (g->depthwise) {
		out_line(&b.out, "vb_weight_depthwise(begin, end, &v, p[1], p[2], p[0]);");
	} else {
		row_scratch(&b, "float", "scratch", "vb_weight_scratch(&v)");
		out_line(&b.out, "vb_weight(begin, end, &v, %s, p[1], p[2], p[0], scratch);",
			 body_number(&b, "oc", c.oc));
	}
	call = row_call(r, "weights", arena_printf(a, "gradient of weights %lld x %lld, %lld -> %lld channels, "
			"(%lld, %lld, %lld) -> (%lld, %lld)",
			(long long)c.kh, (long long)c.kw, (long long)c.xs, (long long)c.ys, (long long)c.n,
			(long long)c.h, (long long)c.w, (long long)c.oh, (long long)c.ow), &b,
			g->depthwise ? (oc + 47) / 48 : g->groups * ((oc + nr - 1) / nr) * ((ic + 47) / 48), 1);
	call->scratch = g->depthwise ? 0 : vs_gradient(nr, c.kh * c.kw, c.ow);
	call->work.flops = 2.0 * (double)(c.n * c.oh * c.ow * oc) * (double)(c.kh * c.kw) * (double)(g->groups * ic);
	row_pass(r, call, r->n->out[1]);
	row_pass(r, call, row_arg(r, "input"));
	row_pass(r, call, row_arg(r, "grad_output"));
	put_weight_contract(r, call, &c, st);
	return true;
}

/* Computes the gradient of the input or of the weights, whichever output_mask asks for. */
bool
row_convolution_backward(Row *r)
{
	Geometry g = { .y = row_tensor(r, "grad_output") };
	int64_t mask[3];

	if (!constant_ints(r->p, node_arg(r->n, "output_mask"), mask, 3) || mask[0] + mask[1] != 1 || mask[2] ||
	    !read_convolution(r, "input", &g))
		return false;
	return mask[0] ? emit_input(r, &g) : emit_weight(r, &g);
}
