/*
 * Gradients of convolutions over channels last, by input and weights. Training needs both, and so do gradients by
 * parameters.
 *
 * With stride s, the gradient of the input is s x s convolutions, one for each phase: position i = i0 + s a meets the
 * taps k = r + s t, r = (i + pad) mod s, at o = a + q - t, q = (i0 + pad - r) / s.
 */
#include "lower.h"
#include "row.h"

typedef struct Geometry {        /* sizes of the forward convolution */
	const RtTensor *x, *w, *y;       /* input and weights; the gradient of the result */
	int64_t s[2], pad[2], d[2], groups;
} Geometry;

static bool
read_geometry(Row *r, Geometry *g)
{
	g->x = row_tensor(r, "input");
	g->w = row_tensor(r, "weight");
	g->y = row_tensor(r, "grad_output");
	if (!g->x || !g->w || !g->y || g->x->dtype != RT_f32 || g->w->dtype != RT_f32 || g->y->dtype != RT_f32 ||
	    g->w->ndim != 4 || !dense_nhwc(g->x) || !dense_nhwc(g->y) || !rt_numel(g->x) || !rt_numel(g->y) ||
	    !rt_numel(g->w) || convolution_is_transposed(r->p, r->n))
		return false;
	if (!constant_ints(r->p, node_arg(r->n, "stride"), g->s, 2) ||
	    !constant_ints(r->p, node_arg(r->n, "padding"), g->pad, 2) ||
	    !constant_ints(r->p, node_arg(r->n, "dilation"), g->d, 2) || !row_int(r, "groups", &g->groups) ||
	    g->groups < 1)
		return false;
	return g->w->dims[0] % g->groups == 0 && g->w->dims[1] * g->groups == g->x->dims[1] &&
	       g->w->dims[0] == g->y->dims[1] &&
	       g->s[0] * g->s[1] <= MAX_KERNEL_CALLS;    /* the gradient of the input has one launch for each phase */
}

/* ---- the gradient of the input ----------------------------------------------------------------------------------- */

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

/* Adds the launch of a phase: a convolution of the result's gradient by the taps that reach it, whose result is every
 * s-th position of the input's gradient. */
static bool
lower_phase(Row *r, const Geometry *g, StridePhase h, StridePhase w)
{
	const int64_t *st = g->w->strides, oc = g->w->dims[0] / g->groups, ic = g->w->dims[1];
	const int64_t from = g->y->dims[1], to = g->x->dims[1], wide = g->x->dims[3];
	const Windows v = { .places = 2, .in = { g->y->dims[2], g->y->dims[3] }, .out = { h.count, w.count },
			    .taps = { h.taps, w.taps }, .step = { 1, 1 }, .pad = { h.pad, w.pad },
			    .wide = { g->d[0], g->d[1] }, .x = { g->y->dims[3] * from, from },
			    .y = { g->s[0] * wide * to, g->s[1] * to },
			    .w = { -g->s[0] * st[2], -g->s[1] * st[3] } };
	Contract c;

	if (!h.count || !w.count)
		return true;
	contract_begin(&c, r->p, r->n, RT_f32, false);
	contract_axis(&c, g->y->dims[0], false, (int64_t[4]){ g->x->dims[2] * wide * to,
							      v.in[0] * v.in[1] * from });
	contract_windows(&c, &v, false);
	contract_axis(&c, g->groups, false, (int64_t[4]){ ic, oc, oc * st[0] });
	contract_axis(&c, ic, false, (int64_t[4]){ 1, 0, st[1] });
	contract_axis(&c, oc, true, (int64_t[4]){ 0, 1, st[0] });
	contract_windows(&c, &v, true);
	contract_from(&c, (h.from * wide + w.from) * to, h.tap * st[2] + w.tap * st[3]);
	return contract_launch(r, &c, (const Value *[]){ r->n->out[0], row_arg(r, "grad_output"),
							 row_arg(r, "weight") }, 0);
}

static bool
lower_input(Row *r, const Geometry *g)
{
	const RtTensor *gx = row_result(r, 0);
	const bool all = g->s[0] == 1 && g->s[1] == 1, depthwise = g->groups > 1 && g->w->dims[1] == 1;

	if (!gx || !dense_nhwc(gx) || (!all && (depthwise || g->d[0] != 1 || g->d[1] != 1)))
		return false;
	for (int64_t i = 0; i < g->s[0]; i++)
		for (int64_t j = 0; j < g->s[1]; j++)
			if (!lower_phase(r, g, phase_of(g, 0, i), phase_of(g, 1, j)))
				return false;
	return true;
}

/* ---- the gradient of the weights --------------------------------------------------------------------------------- */

/* The points are the weights. The kernel reduces over the positions of the result's gradient. */
static bool
lower_weight(Row *r, const Geometry *g)
{
	const RtTensor *gw = row_result(r, 1), *x = g->x, *y = g->y;
	const int64_t oc = g->w->dims[0] / g->groups, ic = g->w->dims[1], from = x->dims[1], to = y->dims[1];
	Contract c;
	Windows v;

	if (!gw || gw->dtype != RT_f32)
		return false;
	v = (Windows){ .places = 2, .in = { x->dims[2], x->dims[3] }, .out = { g->w->dims[2], g->w->dims[3] },
		       .taps = { y->dims[2], y->dims[3] }, .step = { g->d[0], g->d[1] },
		       .pad = { g->pad[0], g->pad[1] }, .wide = { g->s[0], g->s[1] }, .x = { x->dims[3] * from, from },
		       .y = { gw->strides[2], gw->strides[3] }, .w = { y->dims[3] * to, to } };
	contract_begin(&c, r->p, r->n, RT_f32, false);
	contract_axis(&c, g->groups, false, (int64_t[4]){ oc * gw->strides[0], ic, oc });
	contract_axis(&c, oc, false, (int64_t[4]){ gw->strides[0], 0, 1 });
	contract_axis(&c, ic, false, (int64_t[4]){ gw->strides[1], 1 });
	contract_windows(&c, &v, false);
	contract_axis(&c, x->dims[0], true, (int64_t[4]){ 0, v.in[0] * v.x[0], v.taps[0] * v.w[0] });
	contract_windows(&c, &v, true);
	return contract_launch(r, &c, (const Value *[]){ r->n->out[1], row_arg(r, "input"),
							 row_arg(r, "grad_output") }, 0);
}

/* Computes the gradient of the input or of the weights, whichever output_mask asks for. */
bool
row_convolution_backward(Row *r)
{
	Geometry g;
	int64_t mask[3];

	if (!constant_ints(r->p, node_arg(r->n, "output_mask"), mask, 3) || mask[0] + mask[1] != 1 || mask[2] ||
	    !read_geometry(r, &g))
		return false;
	return mask[0] ? lower_input(r, &g) : lower_weight(r, &g);
}
