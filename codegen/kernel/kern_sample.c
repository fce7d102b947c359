/*
 * Sampling at computed places: grid_sampler over images and volumes (rt/ops/vgrid.h).  A unit is some points of an
 * image, for all channels.
 */
#include "row.h"

/* The dim of channels, and the first spatial dim. */
typedef struct Format { int nd, channels, first; } Format;

/* The dim of depth, height or width (i: 0, 1, 2); first: the first spatial dim; -1: an image has no depth. */
static int
dim_at(const Format *f, int first, int i)
{
	return i < 3 - f->nd ? -1 : first + i - (3 - f->nd);
}

static void
put_dims(Out *o, const char *name, const RtTensor *t, const Format *f, int first, bool strides)
{
	int64_t v[3];

	for (int i = 0; i < 3; i++) {
		const int d = dim_at(f, first, i);

		v[i] = d < 0 ? !strides : !strides ? t->dims[d] : t->dims[d] == 1 ? 0 : t->strides[d];
	}
	out_line(o, "\t.%s = { %lld, %lld, %lld },", name, (long long)v[0], (long long)v[1], (long long)v[2]);
}

typedef struct Sampling {
	const RtTensor *x, *grid, *y;
	Format  format;
	int64_t mode, padding, align;
} Sampling;

static bool
take(const Row *r, Sampling *d, bool last)
{
	d->x = row_tensor(r, "input");
	d->grid = row_tensor(r, "grid");
	d->y = row_result(r, 0);
	if (!d->x || !d->grid || !d->y || (d->x->dtype != RT_f32 && d->x->dtype != RT_f64) ||
	    d->grid->dtype != d->x->dtype || d->y->dtype != d->x->dtype || (d->x->ndim != 4 && d->x->ndim != 5) ||
	    !rt_numel(d->y))
		return false;
	for (int i = 1; i < d->x->ndim; i++)
		if (d->x->dims[i] > INT32_MAX / 64)      /* dynamic sizes are up to 16 times as large */
			return false;
	d->format = (Format){ d->x->ndim - 2, last ? d->x->ndim - 1 : 1, last ? 1 : 2 };
	return row_int(r, "interpolation_mode", &d->mode) && row_int(r, "padding_mode", &d->padding) &&
	       row_int(r, "align_corners", &d->align) && d->mode >= 0 && d->mode <= 2 && d->padding >= 0 &&
	       d->padding <= 2;
}

static void
put_geometry(Out *o, const Sampling *d)
{
	const Format *f = &d->format;

	out_line(o, "static const VgGrid g = {");
	out_line(o, "\t.nd = %d, .mode = %d, .padding = %d, .align = %d, .channels = %lld,", f->nd, (int)d->mode,
		 (int)d->padding, (int)d->align, (long long)d->x->dims[f->channels]);
	put_dims(o, "in", d->x, f, f->first, false);
	put_dims(o, "out", d->y, f, f->first, false);
	out_line(o, "\t.xn = %lld, .xc = %lld, .yn = %lld, .yc = %lld, .gn = %lld, .gc = %lld,",
		 (long long)d->x->strides[0], (long long)d->x->strides[f->channels], (long long)d->y->strides[0],
		 (long long)d->y->strides[f->channels], (long long)d->grid->strides[0],
		 (long long)d->grid->strides[f->nd + 1]);
	put_dims(o, "x", d->x, f, f->first, true);
	put_dims(o, "y", d->y, f, f->first, true);
	put_dims(o, "g", d->grid, f, 1, true);
	out_line(o, "};");
	out_blank(o);
}

/* last: channels are the last dim. */
static bool
sample(Row *r, bool last)
{
	enum { POINTS = 64 };            /* VG_POINTS */
	Out o = { .indent = 1 };
	int64_t points, channels;
	Sampling d;
	KernelCall *c;

	if (!take(r, &d, last))
		return false;
	channels = d.x->dims[d.format.channels];
	points = rt_numel(d.y) / d.y->dims[0] / channels;
	put_geometry(&o, &d);
	out_line(&o, "vg_sample_%s(begin, end, &g, p[1], p[2], p[0]);", row_type(d.x->dtype));
	c = row_call(r, "sample", arena_printf(r->p->cx->arena, "%s: %lld points of %lld channels", r->n->op->id,
					       (long long)points, (long long)channels), &o,
		     d.y->dims[0] * plan_ceil(r->p, points, POINTS), row_grain(POINTS * 4 * channels));
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, row_arg(r, "input"), 0);
	row_pass(r, c, row_arg(r, "grid"), 0);
	return true;
}

bool
row_grid_sample(Row *r)
{
	return sample(r, false);
}

bool
row_grid_sample_last(Row *r)
{
	return sample(r, true);
}
