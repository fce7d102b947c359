/*
 * Convolutions that dense.c refuses: over one dim, in contiguous layouts, or with computed weights; and all of them on
 * the GPU. On the CPU, large ones in other layouts than channels last stay calls of the runtime, whose blocked products
 * are faster than these loops.
 */
#include "lower.h"
#include "row.h"

enum { MOST_PRODUCTS = 4 << 20 };

/* Makes a convolution over one dim one over two, with a height of 1. */
static void
add_height(Windows *v)
{
	int64_t *const of[] = { v->in, v->out, v->taps, v->step, v->pad, v->wide, v->x, v->y, v->w };
	static const int64_t height[] = { 1, 1, 1, 1, 0, 1, 0, 0, 0 };

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		of[i][1] = of[i][0];
		of[i][0] = height[i];
	}
	v->places = 2;
}

/* Are both tensors channels-last and dense? Then blocked loops pack the weights (rt/ops/vback.h). */
static bool
is_channels_last(const Convolution *c)
{
	return c->windows.places == 2 && dense_nhwc(c->x) && dense_nhwc(c->y);
}

/* Sets the strides of channels-last tensors by their sizes, also along dims of size 1. */
static void
set_strides(Convolution *c)
{
	Windows *v = &c->windows;

	v->x[1] = c->x->dims[1], v->x[0] = v->in[1] * v->x[1];
	v->y[1] = c->y->dims[1], v->y[0] = v->out[1] * v->y[1];
}

/* Adds the axes: images, positions, groups, output channels; input channels and taps are summed. */
static void
add_axes(Contract *k, const Convolution *c, bool last)
{
	const Windows *v = &c->windows;
	const int64_t *w = c->w->strides, in = c->w->dims[1], out = c->w->dims[0] / c->groups;
	const int64_t xn = last ? v->in[0] * v->x[0] : c->x->strides[0], xc = last ? 1 : c->x->strides[1];
	const int64_t yn = last ? v->out[0] * v->y[0] : c->y->strides[0], yc = last ? 1 : c->y->strides[1];

	contract_axis(k, c->y->dims[0], false, (int64_t[4]){ yn, xn });
	contract_windows(k, v, false);
	contract_axis(k, c->groups, false, (int64_t[4]){ out * yc, in * xc, out * w[0], out });
	contract_axis(k, out, false, (int64_t[4]){ yc, 0, w[0], 1 });
	contract_axis(k, in, true, (int64_t[4]){ 0, xc, w[1] });
	contract_windows(k, v, true);
}

bool
row_convolution(Row *r)
{
	const bool gpu = r->p->gpu;
	Convolution c;
	Contract k;
	bool last;

	if (!convolution_take(r->p, r->n, &c))
		return false;
	last = is_channels_last(&c);
	if (!gpu && !last && (c.windows.places > 2 || !plan_worth(r->p, r->n, rt_numel(c.y) <= MOST_PRODUCTS /
								  (rt_numel(c.w) / c.w->dims[0]))))
		return false;
	if (last)
		set_strides(&c);
	else if (c.windows.places == 1)
		add_height(&c.windows);
	contract_begin(&k, r->p, r->n, RT_f32, c.bias != NULL);
	add_axes(&k, &c, last);
	return contract_launch(r, &k, (const Value *[]){ r->n->out[0], row_arg(r, "input"), row_arg(r, "weight"),
							 c.bias }, 1 + c.windows.places);
}
