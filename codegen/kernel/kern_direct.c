/*
 * Small convolutions that kern_conv.c does not take: over one dim, in contiguous layouts, with computed weights.  Large
 * ones stay calls of the runtime, whose products in blocks beat these loops.
 */
#include "lower.h"
#include "row.h"

#include <string.h>

enum { MOST_PRODUCTS = 4 << 20 };

typedef struct Direct {
	const RtTensor *x, *w, *y;
	int64_t step[2], pad[2], dilation[2], groups;
	int     places;
} Direct;

enum { W, H, C, N };             /* dims from the last; a convolution over one dim has no H */

static int64_t
at_dim(const RtTensor *t, int places, int which, bool stride)
{
	const int i = t->ndim - 1 - (which == W || places == 2 ? which : which - 1);

	if (i < 0 || (which == H && places == 1))
		return stride ? 0 : 1;
	return stride ? t->strides[i] : t->dims[i];
}

static bool
take(Row *r, Direct *d)
{
	int64_t flag;

	d->x = row_tensor(r, "input");
	d->w = row_tensor(r, "weight");
	d->y = row_result(r, 0);
	if (!d->x || !d->w || d->x->dtype != RT_f32 || d->w->dtype != RT_f32 || d->y->dtype != RT_f32 ||
	    !rt_numel(d->y) || !rt_numel(d->w))
		return false;
	d->places = d->w->ndim - 2;
	if (d->places < 1 || d->places > 2 || d->x->ndim != d->w->ndim || d->y->ndim != d->w->ndim ||
	    !row_int(r, "groups", &d->groups))
		return false;
	if (node_arg(r->n, "transposed") && (!row_int(r, "transposed", &flag) || flag))
		return false;
	for (int i = 0; i < 2; i++) {
		d->step[i] = d->dilation[i] = 1;
		d->pad[i] = 0;
	}
	return row_ints(r, "stride", d->step + 2 - d->places, d->places) &&
	       row_ints(r, "padding", d->pad + 2 - d->places, d->places) &&
	       row_ints(r, "dilation", d->dilation + 2 - d->places, d->places) && d->groups > 0 &&
	       d->w->dims[0] % d->groups == 0 && d->w->dims[1] * d->groups == d->x->dims[1] &&
	       plan_worth(r->p, r->n, rt_numel(d->y) <= MOST_PRODUCTS / rt_numel(d->w) * d->w->dims[0]);
}

static void
put_geometry(Body *b, const Direct *d)
{
	const int p = d->places;
	const RtTensor *x = d->x, *y = d->y, *w = d->w;
	const Member member[] = {
		{ "n", x->dims[0] }, { "ic", x->dims[1] }, { "oc", w->dims[0] }, { "h", at_dim(x, p, H, false) },
		{ "w", at_dim(x, p, W, false) }, { "oh", at_dim(y, p, H, false) }, { "ow", at_dim(y, p, W, false) },
		{ "groups", d->groups }, { "xn", at_dim(x, p, N, true) }, { "xc", at_dim(x, p, C, true) },
		{ "xh", at_dim(x, p, H, true) }, { "xw", at_dim(x, p, W, true) }, { "yn", at_dim(y, p, N, true) },
		{ "yc", at_dim(y, p, C, true) }, { "yh", at_dim(y, p, H, true) }, { "yw", at_dim(y, p, W, true) },
		{ "kh", at_dim(w, p, H, false) }, { "kw", at_dim(w, p, W, false) }, { "sh", d->step[0] },
		{ "sw", d->step[1] }, { "ph", d->pad[0] }, { "pw", d->pad[1] }, { "dh", d->dilation[0] },
		{ "dw", d->dilation[1] }, { "wo", at_dim(w, p, N, true) }, { "wi", at_dim(w, p, C, true) },
		{ "wh", at_dim(w, p, H, true) }, { "ww", at_dim(w, p, W, true) },
	};

	body_struct(b, "static const VdConv v", member, sizeof member / sizeof *member, "");
}

/* Describes the launch as a sum of products. */
static void
put_contract(Row *r, KernelCall *call, const Direct *d, bool bias)
{
	const int64_t *xs = d->x->strides, *ws = d->w->strides, *ys = d->y->strides;
	const int64_t group = d->w->dims[0] / d->groups, ic = d->w->dims[1];
	Windows v = { .places = d->places };
	Contract c;

	for (int i = 0; i < d->places; i++) {
		const int k = 2 - d->places + i;

		v.in[i] = d->x->dims[2 + i], v.out[i] = d->y->dims[2 + i], v.taps[i] = d->w->dims[2 + i];
		v.step[i] = d->step[k], v.pad[i] = d->pad[k], v.wide[i] = d->dilation[k];
		v.x[i] = xs[2 + i], v.y[i] = ys[2 + i], v.w[i] = ws[2 + i];
	}
	contract_begin(&c, r->p, r->n, RT_f32, bias);
	contract_axis(&c, d->x->dims[0], false, (int64_t[4]){ ys[0], xs[0] });
	contract_axis(&c, d->groups, false, (int64_t[4]){ group * ys[1], ic * xs[1], group * ws[0], group });
	contract_axis(&c, group, false, (int64_t[4]){ ys[1], 0, ws[0], 1 });
	contract_windows(&c, &v, false);
	contract_axis(&c, ic, true, (int64_t[4]){ 0, xs[1], ws[1] });
	contract_windows(&c, &v, true);
	contract_call(call, &c, NULL, 0, "vd_conv");
}

bool
row_convolution(Row *r)
{
	const Value *bias = row_arg(r, "bias");
	const RtTensor *b = row_tensor(r, "bias");
	Direct d;
	Body body = body_begin(r->p);
	KernelCall *c;
	int64_t rows;

	if (row_convolution_computed(r))
		return true;
	if (!take(r, &d) || (bias && (!b || b->dtype != RT_f32 || !rt_is_contiguous(b) || rt_numel(b) != d.w->dims[0])))
		return false;
	put_geometry(&body, &d);
	out_blank(&body.out);
	out_line(&body.out, "vd_conv(begin, end, &v, p[1], p[2], %s, p[0]);", bias ? "p[3]" : "0");
	rows = d.y->dims[0] * d.y->dims[1] * at_dim(d.y, d.places, H, false);
	c = row_call(r, "direct",
		     arena_printf(r->p->cx->arena, "convolution of %lld channels to %lld where they lie",
				  (long long)d.x->dims[1], (long long)d.w->dims[0]),
		     &body, rows, row_grain(rt_numel(d.y) / rows * (rt_numel(d.w) / d.w->dims[0])));
	c->work.flops = 2 * (double)rt_numel(d.y) * (double)(rt_numel(d.w) / d.w->dims[0]);
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, row_arg(r, "input"), 0);
	row_pass(r, c, row_arg(r, "weight"), 0);
	if (bias)
		row_pass(r, c, bias, 0);
	put_contract(r, c, &d, bias != NULL);
	return true;
}
