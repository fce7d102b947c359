/*
 * Means over the bins of regions: roi_align (rt/ops/vroi.h). A unit of work is a region, with all channels.
 */
#include "row.h"

enum { MOST_TAPS = 1 << 20 };    /* most sampling points of a region along its width */

typedef struct Regions {
	const RtTensor *x, *rois, *y;
	double  scale;
	int64_t ratio, aligned;
} Regions;

static bool
read_regions(const Row *r, Regions *d)
{
	d->x = row_tensor(r, "input");
	d->rois = row_tensor(r, "rois");
	d->y = row_result(r, 0);
	if (!d->x || !d->rois || !d->y || (d->x->dtype != RT_f32 && d->x->dtype != RT_f64) ||
	    d->rois->dtype != d->x->dtype || d->y->dtype != d->x->dtype || !rt_numel(d->y) || !rt_numel(d->x))
		return false;
	return d->x->dims[3] <= MOST_TAPS / d->y->dims[3] && row_double(r, "spatial_scale", &d->scale) &&
	       row_int(r, "sampling_ratio", &d->ratio) && row_int(r, "aligned", &d->aligned);
}

static void
put_region_sizes(Body *b, const Regions *d)
{
	const int64_t *x = d->x->dims, *xs = d->x->strides, *y = d->y->dims, *ys = d->y->strides;
	const Member member[] = {
		{ "images", x[0] }, { "channels", x[1] }, { "in[0]", x[2] }, { "in[1]", x[3] }, { "out[0]", y[2] },
		{ "out[1]", y[3] }, { "xn", xs[0] }, { "xc", xs[1] }, { "x[0]", xs[2] }, { "x[1]", xs[3] },
		{ "rn", d->rois->strides[0] }, { "rc", d->rois->strides[1] }, { "yn", ys[0] }, { "yc", ys[1] },
		{ "y[0]", ys[2] }, { "y[1]", ys[3] }, { "ratio", d->ratio }, { "aligned", d->aligned != 0 },
	};

	body_struct(b, "static const RoiBins g", member, sizeof member / sizeof *member,
		    arena_printf(b->p->cx->arena, ".scale = %s", body_real(b, "scale", d->scale)));
}

bool
row_roi_align(Row *r)
{
	Body b = body_begin(r->p);
	int64_t room;
	KernelCall *c;
	Regions d;

	if (!read_regions(r, &d))
		return false;
	room = vs_regions(d.x->dims[2], d.x->dims[3], d.y->dims[3], d.y->dims[1]);
	put_region_sizes(&b, &d);
	out_line(&b.out, "void *room = rt_thread_scratch(vs_regions(g.in[0], g.in[1], g.out[1], g.channels));");
	out_blank(&b.out);
	out_line(&b.out, "if (room && !roi_align_%s(begin, end, &g, p[1], p[2], p[0], room))", row_type(d.x->dtype));
	out_line(&b.out, "\t*(int *)p[3] = 1;");
	c = row_call(r, "regions", arena_printf(r->p->cx->arena, "%s: %lld regions of %lld x %lld bins, %lld channels",
						r->n->op->id, (long long)d.y->dims[0], (long long)d.y->dims[2],
						(long long)d.y->dims[3], (long long)d.y->dims[1]), &b,
		     d.y->dims[0], row_grain(rt_numel(d.y) / d.y->dims[0] * 8));
	c->scratch = room;
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, row_arg(r, "input"));
	row_pass(r, c, row_arg(r, "rois"));
	row_checks(r);
	return true;
}
