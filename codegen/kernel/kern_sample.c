/*
 * Sampling at computed coordinates: grid_sampler over images and volumes (rt/ops/vgrid.h). A unit of work is some
 * points of an image, with all channels.
 */
#include "row.h"

/* number of spatial dims; index of the dim of channels, and of the first spatial dim */
typedef struct Format { int nd, channels, first; } Format;

/* Returns the dim of depth, height or width (i: 0, 1, 2). first: the first spatial dim. -1 for the depth of an
 * image. */
static int
dim_at(const Format *f, int first, int i)
{
	return i < 3 - f->nd ? -1 : first + i - (3 - f->nd);
}

/* Returns a size or stride along depth, height or width. */
static int64_t
along(const RtTensor *t, const Format *f, int first, int i, bool stride)
{
	const int d = dim_at(f, first, i);

	return d < 0 ? !stride : !stride ? t->dims[d] : t->dims[d] == 1 ? 0 : t->strides[d];
}

typedef struct Sampling {
	const RtTensor *x, *grid, *y;
	Format  format;
	int64_t mode, padding, align;
} Sampling;

static bool
read_sampling(const Row *r, Sampling *d, bool last)
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
put_sample_sizes(Body *b, const Sampling *d)
{
	static const char *const name[5][3] = { { "in[0]", "in[1]", "in[2]" }, { "out[0]", "out[1]", "out[2]" },
		{ "x[0]", "x[1]", "x[2]" }, { "y[0]", "y[1]", "y[2]" }, { "g[0]", "g[1]", "g[2]" } };
	const RtTensor *const of[5] = { d->x, d->y, d->x, d->y, d->grid };
	const Format *f = &d->format;
	Member member[26] = {
		{ "nd", f->nd }, { "mode", d->mode }, { "padding", d->padding }, { "align", d->align },
		{ "channels", d->x->dims[f->channels] }, { "xn", d->x->strides[0] },
		{ "xc", d->x->strides[f->channels] }, { "yn", d->y->strides[0] }, { "yc", d->y->strides[f->channels] },
		{ "gn", d->grid->strides[0] },
		{ "gc", d->grid->strides[f->nd + 1] },
	};

	for (int k = 0; k < 5; k++)
		for (int i = 0; i < 3; i++)
			member[11 + 3 * k + i] = (Member){ name[k][i],
				along(of[k], f, k == 4 ? 1 : f->first, i, k >= 2) };
	body_struct(b, "static const VgGrid g", member, 26, "");
	out_blank(&b->out);
}

/* Emits the kernel. last: whether channels are the last dim. */
static bool
sample(Row *r, bool last)
{
	enum { POINTS = 64 };            /* VG_POINTS */
	Body b = body_begin(r->p);
	int64_t points, channels;
	Sampling d;
	KernelCall *c;

	if (!read_sampling(r, &d, last))
		return false;
	channels = d.x->dims[d.format.channels];
	points = rt_numel(d.y) / d.y->dims[0] / channels;
	put_sample_sizes(&b, &d);
	out_line(&b.out, "vg_sample_%s(begin, end, &g, p[1], p[2], p[0]);", row_type(d.x->dtype));
	c = row_call(r, "sample", arena_printf(r->p->cx->arena, "%s: %lld points of %lld channels", r->n->op->id,
					       (long long)points, (long long)channels), &b,
		     d.y->dims[0] * plan_ceil(r->p, points, POINTS), row_grain(POINTS * 4 * channels));
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, row_arg(r, "input"));
	row_pass(r, c, row_arg(r, "grid"));
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
