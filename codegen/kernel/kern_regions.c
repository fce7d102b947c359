/*
 * Means over the bins of regions: roi_align (rt/ops/vroi.h).  A unit is a region, for all channels.
 */
#include "row.h"

enum { MOST_TAPS = 1 << 20 };    /* of the columns of a region */

typedef struct Regions {
	const RtTensor *x, *rois, *y;
	double  scale;
	int64_t ratio, aligned;
} Regions;

static bool
take(const Row *r, Regions *d)
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
put_geometry(Out *o, const Regions *d)
{
	const RtTensor *x = d->x, *y = d->y;

	out_line(o, "static const RoiBins g = {");
	out_line(o, "\t.images = %lld, .channels = %lld, .in = { %lld, %lld }, .out = { %lld, %lld },",
		 (long long)x->dims[0], (long long)x->dims[1], (long long)x->dims[2], (long long)x->dims[3],
		 (long long)y->dims[2], (long long)y->dims[3]);
	out_line(o, "\t.xn = %lld, .xc = %lld, .x = { %lld, %lld }, .rn = %lld, .rc = %lld,", (long long)x->strides[0],
		 (long long)x->strides[1], (long long)x->strides[2], (long long)x->strides[3],
		 (long long)d->rois->strides[0], (long long)d->rois->strides[1]);
	out_line(o, "\t.yn = %lld, .yc = %lld, .y = { %lld, %lld },", (long long)y->strides[0],
		 (long long)y->strides[1], (long long)y->strides[2], (long long)y->strides[3]);
	out_line(o, "\t.scale = %.17g, .ratio = %lld, .aligned = %d,", d->scale, (long long)d->ratio, d->aligned != 0);
	out_line(o, "};");
	out_blank(o);
}

bool
row_roi_align(Row *r)
{
	Out o = { .indent = 1 };
	int64_t room;
	KernelCall *c;
	Regions d;

	if (!take(r, &d))
		return false;
	room = vs_regions(d.x->dims[2], d.x->dims[3], d.y->dims[3], d.y->dims[1]);
	put_geometry(&o, &d);
	out_line(&o, "void *room = rt_thread_scratch(vs_regions(%lld, %lld, %lld, %lld));", (long long)d.x->dims[2],
		 (long long)d.x->dims[3], (long long)d.y->dims[3], (long long)d.y->dims[1]);
	out_blank(&o);
	out_line(&o, "if (room && !roi_align_%s(begin, end, &g, p[1], p[2], p[0], room))", row_type(d.x->dtype));
	out_line(&o, "\t*(int *)p[3] = 1;");
	c = row_call(r, "regions", arena_printf(r->p->cx->arena, "%s: %lld regions of %lld x %lld bins, %lld channels",
						r->n->op->id, (long long)d.y->dims[0], (long long)d.y->dims[2],
						(long long)d.y->dims[3], (long long)d.y->dims[1]), &o,
		     d.y->dims[0], row_grain(rt_numel(d.y) / d.y->dims[0] * 8));
	c->scratch = room;
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, row_arg(r, "input"), 0);
	row_pass(r, c, row_arg(r, "rois"), 0);
	row_checks(r);
	return true;
}
