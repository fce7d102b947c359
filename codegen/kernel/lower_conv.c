/*
 * Convolutions that dense.c refuses: over one dim, in contiguous layouts, or with computed weights; and all of them on
 * the GPU. On the CPU, large ones stay calls of the runtime, whose blocked products are faster than these loops.
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

bool
row_convolution(Row *r)
{
	const bool gpu = r->p->gpu;
	Convolution c;
	Contract k;

	if (!gpu && row_convolution_computed(r))
		return true;
	if (!convolution_take(r->p, r->n, &c))
		return false;
	if (!gpu && (c.windows.places > 2 || !plan_worth(r->p, r->n, rt_numel(c.y) <= MOST_PRODUCTS /
							 (rt_numel(c.w) / c.w->dims[0]))))
		return false;
	if (c.windows.places == 1)
		add_height(&c.windows);
	contract_begin(&k, r->p, r->n, RT_f32, c.bias != NULL);
	contract_convolution(&k, &c);
	return contract_launch(r, &k, (const Value *[]){ r->n->out[0], row_arg(r, "input"), row_arg(r, "weight"),
							 c.bias }, 1 + c.windows.places);
}
