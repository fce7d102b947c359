/*
 * Small convolutions that kern_conv.c refuses: over one dim, in contiguous layouts, or with computed weights. Large
 * ones stay calls of the runtime, whose blocked products are faster than these loops.
 */
#include "lower.h"
#include "row.h"

#include <string.h>

enum { MOST_PRODUCTS = 4 << 20 };

/* Returns an argument along the height or the width, which is the last dim. none: its value for the height of a 1-d
 * convolution. */
static int64_t
along(const Convolution *c, const int64_t *of, bool height, int64_t none)
{
	return !height ? of[c->windows.places - 1] : c->windows.places == 2 ? of[0] : none;
}

static void
put_direct_sizes(Body *b, const Convolution *c)
{
	const Windows *v = &c->windows;
	const RtTensor *x = c->x, *y = c->y, *w = c->w;
	const Member member[] = {
		{ "n", x->dims[0] }, { "ic", x->dims[1] }, { "oc", w->dims[0] }, { "h", along(c, v->in, true, 1) },
		{ "w", along(c, v->in, false, 1) }, { "oh", along(c, v->out, true, 1) },
		{ "ow", along(c, v->out, false, 1) }, { "groups", c->groups }, { "xn", x->strides[0] },
		{ "xc", x->strides[1] }, { "xh", along(c, v->x, true, 0) }, { "xw", along(c, v->x, false, 0) },
		{ "yn", y->strides[0] }, { "yc", y->strides[1] }, { "yh", along(c, v->y, true, 0) },
		{ "yw", along(c, v->y, false, 0) }, { "kh", along(c, v->taps, true, 1) },
		{ "kw", along(c, v->taps, false, 1) }, { "sh", along(c, v->step, true, 1) },
		{ "sw", along(c, v->step, false, 1) }, { "ph", along(c, v->pad, true, 0) },
		{ "pw", along(c, v->pad, false, 0) }, { "dh", along(c, v->wide, true, 1) },
		{ "dw", along(c, v->wide, false, 1) }, { "wo", w->strides[0] }, { "wi", w->strides[1] },
		{ "wh", along(c, v->w, true, 0) }, { "ww", along(c, v->w, false, 0) },
	};

	body_struct(b, "static const VdConv v", member, sizeof member / sizeof *member, "");
}

static void
pass_convolution(Row *r, KernelCall *call, const Convolution *c)
{
	row_pass(r, call, r->n->out[0]);
	row_pass(r, call, row_arg(r, "input"));
	row_pass(r, call, row_arg(r, "weight"));
	if (c->bias)
		row_pass(r, call, c->bias);
}

/* Describes the launch as a contraction. */
static void
put_contract(Row *r, KernelCall *call, const Convolution *c)
{
	Contract k;

	contract_begin(&k, r->p, r->n, RT_f32, c->bias != NULL);
	contract_convolution(&k, c);
	contract_call(call, &k, NULL, 1 + c->windows.places, "vd_conv");
}

bool
row_convolution_data(Row *r)
{
	KernelCall *call = &r->calls[r->ncall];
	Convolution c;

	if (!convolution_take(r->p, r->n, &c))
		return false;
	r->ncall++;
	*call = (KernelCall){ 0 };
	pass_convolution(r, call, &c);
	put_contract(r, call, &c);
	return true;
}

bool
row_convolution(Row *r)
{
	Convolution c;
	Body body = body_begin(r->p);
	KernelCall *call;
	int64_t rows, each;

	if (row_convolution_computed(r))
		return true;
	if (!convolution_take(r->p, r->n, &c) || c.windows.places > 2)
		return false;
	each = rt_numel(c.w) / c.w->dims[0];
	if (!plan_worth(r->p, r->n, rt_numel(c.y) <= MOST_PRODUCTS / each))
		return false;
	put_direct_sizes(&body, &c);
	out_blank(&body.out);
	out_line(&body.out, "vd_conv(begin, end, &v, p[1], p[2], %s, p[0]);", c.bias ? "p[3]" : "0");
	rows = c.y->dims[0] * c.y->dims[1] * along(&c, c.windows.out, true, 1);
	call = row_call(r, "direct",
			arena_printf(r->p->cx->arena, "convolution of %lld channels to %lld where they lie",
				     (long long)c.x->dims[1], (long long)c.w->dims[0]),
			&body, rows, row_grain(rt_numel(c.y) / rows * each));
	call->work.flops = 2 * (double)rt_numel(c.y) * (double)each;
	pass_convolution(r, call, &c);
	put_contract(r, call, &c);
	return true;
}
