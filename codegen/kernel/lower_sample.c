/*
 * Kernels that read at computed coordinates: interpolation, grid_sample, roi_align.
 *
 * A point of the result is a row of the kernel, and its taps are reduced axes. The first stage computes the point's
 * coordinates, once. The second computes the index and weight of each tap (rt/ops/tsample.h), reads the element and
 * adds the product. Over the axes image, channel, height, width and taps:
 *
 *    once   t1 = source of i2, t2 = first tap
 *    each   t3 = t2 + i4, t4 = weight of t3, t5 = x1[t3] * t4, r0 = sum(t5)
 *    once   y0 = r0
 *
 * Indices are computed in double as the eager kernels do, so that they are the same for all inputs.
 */
#include "lower.h"
#include "row.h"

enum {
	MOST_DIM = INT32_MAX / 64,       /* Longest side of an image. Dynamic sizes may be 16 times as large. */
	MOST_TAPS = 1 << 20,             /* most sampling points of a region along its width */
};

typedef struct Sampling {
	Row    *row;
	Kernel *kernel;
	RtDtype sum;             /* dtype of weights and sums */
} Sampling;

/* Begins a kernel whose last nreduce axes are taps. The first stage runs once for a row. */
static Kernel *
begin(Row *r, const char *name, int naxis, const int64_t *dims, int nreduce)
{
	Kernel *k = lower_over(r->p, r->n, name, naxis, dims);

	k->nreduce = nreduce;
	if (nreduce) {
		k->stage.n = 0;
		kernel_stage(k, false);
	}
	return k;
}

/* Adds a let that is computed in `common`. arg: as many values as the row has arguments. */
static Ref
let(const Sampling *s, OpRow row, RtDtype common, RtDtype result, const Ref *arg)
{
	Let l = { .op = op_at(s->row->p->cx, row), .types = { common, (RtDtype)rt_dtypes[common].compute, result } };
	RtMapArg args[RT_MAP_MAX];

	RT_ASSERT(l.op->form == OP_MAP);
	l.narg = rt_map_args(l.op->text, args);
	for (int i = 0; i < l.narg; i++)
		l.arg[i] = arg[i];
	return kernel_let(s->kernel, l);
}

#define REFS(...) (const Ref[]){ __VA_ARGS__ }

static Ref
number(int64_t n)
{
	return ref_number(rt_int(n));
}

/* The index of an axis. */
static Ref
index_of(const Sampling *s, int axis)
{
	Operand o = { .dtype = RT_i64, .access = ACCESS_INDEX, .along = -1 };

	o.stride[axis] = size_number(s->kernel->sizes, 1);
	return ref_operand(kernel_operand(s->kernel, o));
}

static void
gather(const Sampling *s, int operand, Ref by, int64_t stride, int64_t limit, Outside outside)
{
	Operand *o = &s->kernel->operand.at[operand];

	o->gather[o->ngather++] = (Gather){ .by = by, .stride = size_number(s->kernel->sizes, stride),
					    .limit = size_number(s->kernel->sizes, limit), .outside = outside };
}

static Ref
weighed(const Sampling *s, Ref a, Ref b)
{
	return let(s, ROW_mul_Tensor, s->sum, s->sum, REFS(a, b));
}

static Ref
sum(const Sampling *s, Ref x)
{
	return kernel_state(s->kernel, (Folded){ .fold = fold_find("sum"), .part = s->sum, .total = s->sum,
						 .place = RT_i64, .x = x });
}

/* ---- interpolation ----------------------------------------------------------------------------------------------- */

typedef struct Resize {
	const RtTensor *x, *y;
	double  given[2];        /* scale factors of height and width; 0 if not given */
	int64_t align;
} Resize;

static const Value *
input_of(const Row *r)
{
	return row_arg(r, node_arg(r->n, "input") ? "input" : "self");
}

/* Reads scale_factors, or scales_h and scales_w. */
static bool
read_scales(const Row *r, Resize *d)
{
	const Value *list = row_arg(r, "scale_factors");
	const Known *k = list ? known_at(r->p->known, list) : NULL;

	if (list && (!k->is || k->v.tag != RT_LIST || k->v.u.list->n != 2))
		return false;
	for (int i = 0; list && i < 2; i++)
		d->given[i] = rt_number(k->v.u.list->v[i]);
	return (!row_arg(r, "scales_h") || row_double(r, "scales_h", &d->given[0])) &&
	       (!row_arg(r, "scales_w") || row_double(r, "scales_w", &d->given[1]));
}

static bool
read_resize(const Row *r, Resize *d)
{
	const Value *in = input_of(r);

	*d = (Resize){ .x = in ? plan_tensor(r->p, in) : NULL, .y = row_result(r, 0) };
	return d->x && d->y && !d->x->quant && d->x->ndim == 4 && d->y->ndim == 4 && d->x->dtype == d->y->dtype &&
	       rt_numel(d->x) && rt_numel(d->y) && read_scales(r, d);
}

/* Begins a kernel over the result's dims and two axes of taps. Operand 0 is the result. */
static Sampling
begin_resize(Row *r, const Resize *d, RtDtype dtype, int64_t taps)
{
	const int64_t *y = d->y->dims, dims[6] = { y[0], y[1], y[2], y[3], taps, taps };
	Sampling s = { .row = r, .sum = dtype == RT_f64 ? RT_f64 : RT_f32 };
	int64_t to[6] = { 0 };

	for (int i = 0; i < 4; i++)
		to[i] = d->y->strides[i];
	s.kernel = begin(r, "resize", taps ? 6 : 4, dims, taps ? 2 : 0);
	kernel_strided(s.kernel, ACCESS_WRITE, dtype, to);
	return s;
}

/* Adds the input, which is read at an index along height and one along width. */
static Ref
add_image(const Sampling *s, const RtTensor *x, RtDtype dtype, const Ref at[2], Outside outside)
{
	const int64_t from[KERNEL_AXES] = { x->strides[0], x->strides[1] };
	const int image = kernel_strided(s->kernel, ACCESS_READ, dtype, from);

	for (int i = 0; i < 2; i++)
		gather(s, image, at[i], x->strides[2 + i], x->dims[2 + i], outside);
	return ref_operand(image);
}

static bool
finish(const Sampling *s, const Value *const *value, int n)
{
	return row_kernel(s->row, s->kernel, value, n);
}

bool
row_nearest(Row *r)
{
	const bool exact = r->n->op->lowering == LOWER_NEAREST_EXACT;
	RtDtype dtype;
	Sampling s;
	Resize d;
	Ref at[2];

	if (!read_resize(r, &d) || (dtype = lower_carrier(d.x->dtype)) == RT_NDTYPE)
		return false;
	s = begin_resize(r, &d, dtype, 0);
	for (int i = 0; i < 2; i++)
		at[i] = let(&s, ROW_prim_resize_nearest, RT_f64, RT_i64,
			    REFS(index_of(&s, 2 + i), number(d.x->dims[2 + i]), number(d.y->dims[2 + i]),
				 ref_number(rt_double(d.given[i])), number(exact)));
	kernel_store(s.kernel, 0, add_image(&s, d.x, dtype, at, OUTSIDE_CLAMPS));
	return finish(&s, (const Value *const[]){ r->n->out[0], input_of(r) }, 2);
}

static VzKind
kind_of(const Row *r)
{
	switch (r->n->op->lowering) {
	case LOWER_BICUBIC:          return VZ_CUBIC;
	case LOWER_BILINEAR_SMOOTH:  return VZ_SMOOTH_LINEAR;
	case LOWER_BICUBIC_SMOOTH:   return VZ_SMOOTH_CUBIC;
	case LOWER_LANCZOS_SMOOTH:   return VZ_SMOOTH_LANCZOS;
	default:                     return VZ_LINEAR;
	}
}

/* Values of one dim of an interpolation: inputs per output, coordinate, first tap; index and weight of a tap. */
typedef struct Side { Ref in, how, scale, source, first, at, weight; } Side;

/* Computes a dim's coordinates, once for a row. The number of taps of antialiased kinds depends on them. */
static void
put_source(const Sampling *s, const Resize *d, VzKind kind, int dim, Side *side)
{
	const bool single = s->sum == RT_f32;
	const Ref given = ref_number(rt_double(d->given[dim])), out = number(d->y->dims[2 + dim]);

	side->in = number(d->x->dims[2 + dim]);
	side->how = number(kind + 8 * (d->align != 0) + 16 * single);    /* TS_ALIGN, TS_SINGLE */
	side->scale = let(s, ROW_prim_resize_scale, RT_f64, RT_f64, REFS(side->in, out, given, side->how));
	side->source = let(s, ROW_prim_resize_source, RT_f64, RT_f64,
			   REFS(index_of(s, 2 + dim), side->scale, side->how));
	side->first = let(s, ROW_prim_resize_first, RT_f64, RT_i64,
			  REFS(side->source, side->scale, side->in, side->how));
	if (kind >= VZ_SMOOTH)
		kernel_count(s->kernel, 4 + dim, let(s, ROW_prim_resize_count, RT_f64, RT_i64,
						     REFS(side->source, side->scale, side->in, side->how)));
}

/* Computes the index and weight of a dim's tap. */
static void
put_tap(const Sampling *s, int dim, Side *side)
{
	side->at = let(s, ROW_add_Tensor, RT_i64, RT_i64, REFS(side->first, index_of(s, 4 + dim), number(1)));
	side->weight = let(s, ROW_prim_resize_weight, RT_f64, s->sum,
			   REFS(side->at, side->source, side->scale, side->in, side->how));
}

bool
row_weighed_resize(Row *r)
{
	const VzKind kind = kind_of(r);
	Side side[2];
	Ref weight, image, all, weights = { .kind = REF_NONE };
	Resize d;
	Sampling s;

	if (!read_resize(r, &d) || !row_int(r, "align_corners", &d.align) || rt_kind((RtDtype)d.x->dtype) != 'F' ||
	    (!r->p->gpu && d.x->dtype != RT_f32))
		return false;                            /* the runtime is faster with other types: it has tables */
	s = begin_resize(r, &d, (RtDtype)d.x->dtype, kind >= VZ_SMOOTH ? 1 : kind == VZ_CUBIC ? 4 : 2);
	for (int i = 0; i < 2; i++)
		put_source(&s, &d, kind, i, &side[i]);
	kernel_stage(s.kernel, true);
	for (int i = 0; i < 2; i++)
		put_tap(&s, i, &side[i]);
	weight = weighed(&s, side[0].weight, side[1].weight);
	image = add_image(&s, d.x, (RtDtype)d.x->dtype, (const Ref[]){ side[0].at, side[1].at }, OUTSIDE_CLAMPS);
	all = sum(&s, weighed(&s, image, weight));
	if (kind >= VZ_SMOOTH)
		weights = sum(&s, weight);
	kernel_stage(s.kernel, false);
	if (kind >= VZ_SMOOTH)
		all = let(&s, ROW_prim_resize_mean, s.sum, s.sum, REFS(all, weights));
	kernel_store(s.kernel, 0, all);
	return finish(&s, (const Value *const[]){ r->n->out[0], input_of(r) }, 2);
}

/* ---- grid_sample ------------------------------------------------------------------------------------------------- */

typedef struct Grid {
	const RtTensor *x, *grid, *y;
	int     nd, channels, first;     /* number of spatial dims; dim of channels; first spatial dim */
	int64_t mode, padding, align;
} Grid;

/* Are all sides short enough that floats hold their indices? */
static bool
sides_fit(const RtTensor *t)
{
	for (int i = 1; i < t->ndim; i++)
		if (t->dims[i] > MOST_DIM)
			return false;
	return true;
}

static bool
read_grid(const Row *r, bool last, Grid *d)
{
	*d = (Grid){ .x = row_tensor(r, "input"), .grid = row_tensor(r, "grid"), .y = row_result(r, 0) };
	if (!d->x || !d->grid || !d->y || rt_kind((RtDtype)d->x->dtype) != 'F' || d->grid->dtype != d->x->dtype ||
	    d->y->dtype != d->x->dtype || (d->x->ndim != 4 && d->x->ndim != 5) || !rt_numel(d->y) || !sides_fit(d->x) ||
	    (!r->p->gpu && d->x->dtype != RT_f32 && d->x->dtype != RT_f64))
		return false;
	d->nd = d->x->ndim - 2;
	d->channels = last ? d->x->ndim - 1 : 1;
	d->first = last ? 1 : 2;
	return row_int(r, "interpolation_mode", &d->mode) && row_int(r, "padding_mode", &d->padding) &&
	       row_int(r, "align_corners", &d->align) && d->mode >= 0 && d->mode <= 2 && d->padding >= 0 &&
	       d->padding <= 2;
}

/* Begins a kernel over images, channels, the result's spatial dims, and axes of `taps` taps. Adds the result. */
static Sampling
begin_grid(Row *r, const Grid *d, int64_t taps)
{
	const int nd = d->nd;
	int64_t dims[8], to[KERNEL_AXES] = { d->y->strides[0], d->y->strides[d->channels] };
	Sampling s = { .row = r, .sum = d->x->dtype == RT_f64 ? RT_f64 : RT_f32 };

	dims[0] = d->y->dims[0];
	dims[1] = d->y->dims[d->channels];
	for (int i = 0; i < nd; i++) {
		dims[2 + i] = d->y->dims[d->first + i];
		dims[2 + nd + i] = taps;
		to[2 + i] = d->y->strides[d->first + i];
	}
	s.kernel = begin(r, "sample", taps > 1 ? 2 + 2 * nd : 2 + nd, dims, taps > 1 ? nd : 0);
	kernel_strided(s.kernel, ACCESS_WRITE, (RtDtype)d->y->dtype, to);
	return s;
}

/* Adds the grid's coordinate of a spatial dim. Width is its first one. */
static Ref
add_coordinate(const Sampling *s, const Grid *d, int dim)
{
	int64_t from[KERNEL_AXES] = { d->grid->strides[0] };
	int at;

	for (int i = 0; i < d->nd; i++)
		from[2 + i] = d->grid->strides[1 + i];
	at = kernel_strided(s->kernel, ACCESS_READ, (RtDtype)d->grid->dtype, from);
	s->kernel->operand.at[at].offset = size_number(s->kernel->sizes, (d->nd - 1 - dim) *
						       d->grid->strides[d->nd + 1]);
	return ref_operand(at);
}

/* Adds the image, read at an index along each spatial dim. */
static Ref
add_sampled(const Sampling *s, const Grid *d, const Ref *at)
{
	const int64_t from[KERNEL_AXES] = { d->x->strides[0], d->x->strides[d->channels] };
	const int image = kernel_strided(s->kernel, ACCESS_READ, (RtDtype)d->x->dtype, from);

	for (int i = 0; i < d->nd; i++)
		gather(s, image, at[i], d->x->strides[d->first + i], d->x->dims[d->first + i], OUTSIDE_ZERO);
	return ref_operand(image);
}

/* Adds the sum of products over all taps. */
static Ref
sum_taps(const Sampling *s, const Grid *d, const Ref *source, Ref how)
{
	Ref at[3], weight = { .kind = REF_NONE };

	kernel_stage(s->kernel, true);
	for (int i = 0; i < d->nd; i++) {
		const Ref k = index_of(s, 2 + d->nd + i);
		const Ref w = let(s, ROW_prim_grid_weight, RT_f64, s->sum, REFS(source[i], k, how));

		at[i] = let(s, ROW_prim_grid_tap, RT_f64, RT_i64,
			    REFS(source[i], k, number(d->x->dims[d->first + i]), how));
		weight = i ? weighed(s, weight, w) : w;
	}
	return sum(s, weighed(s, add_sampled(s, d, at), weight));
}

static bool
lower_grid(Row *r, bool last)
{
	const Value *value[5] = { r->n->out[0] };
	Ref source[3], at[3], how;
	Sampling s;
	Grid d;

	if (!read_grid(r, last, &d))
		return false;
	s = begin_grid(r, &d, d.mode == 0 ? 2 : d.mode == 1 ? 1 : 4);
	/* TS_GRID_ALIGN, TS_VOLUME, TS_GRID_SINGLE */
	how = number(d.mode + 4 * d.padding + 16 * (d.align != 0) + 32 * (d.nd == 3) + 64 * (s.sum == RT_f32));
	for (int i = 0; i < d.nd; i++) {
		value[1 + i] = row_arg(r, "grid");
		source[i] = let(&s, ROW_prim_grid_source, RT_f64, RT_f64,
				REFS(add_coordinate(&s, &d, i), number(d.x->dims[d.first + i]), how));
	}
	value[1 + d.nd] = row_arg(r, "input");
	if (d.mode != 1) {
		const Ref all = sum_taps(&s, &d, source, how);

		kernel_stage(s.kernel, false);
		kernel_store(s.kernel, 0, all);
		return finish(&s, value, 2 + d.nd);
	}
	for (int i = 0; i < d.nd; i++)
		at[i] = let(&s, ROW_prim_grid_tap, RT_f64, RT_i64,
			    REFS(source[i], number(0), number(d.x->dims[d.first + i]), how));
	kernel_store(s.kernel, 0, add_sampled(&s, &d, at));
	return finish(&s, value, 2 + d.nd);
}

bool
row_grid_sample(Row *r)
{
	return lower_grid(r, false);
}

bool
row_grid_sample_last(Row *r)
{
	return lower_grid(r, true);
}

/* ---- roi_align --------------------------------------------------------------------------------------------------- */

typedef struct Regions {
	const RtTensor *x, *rois, *y;
	double  scale;
	int64_t ratio, aligned;
} Regions;

static bool
read_regions(const Row *r, Regions *d)
{
	*d = (Regions){ .x = row_tensor(r, "input"), .rois = row_tensor(r, "rois"), .y = row_result(r, 0) };
	return d->x && d->rois && d->y && (d->x->dtype == RT_f32 || d->x->dtype == RT_f64) &&
	       d->rois->dtype == d->x->dtype && d->y->dtype == d->x->dtype && rt_numel(d->y) && rt_numel(d->x) &&
	       sides_fit(d->x) && d->x->dims[3] <= MOST_TAPS / d->y->dims[3] &&
	       row_double(r, "spatial_scale", &d->scale) &&
	       row_int(r, "sampling_ratio", &d->ratio) && row_int(r, "aligned", &d->aligned);
}

/* Values of one dim of a region: size of a bin, number of samples; coordinate of a sample. */
typedef struct Bins { Ref size, start, points, at; } Bins;

/* Adds a region's number i: the image, left, top, right, bottom. */
static Ref
add_region(const Sampling *s, const Regions *d, int i)
{
	const int64_t from[KERNEL_AXES] = { d->rois->strides[0] };
	const int at = kernel_strided(s->kernel, ACCESS_READ, (RtDtype)d->rois->dtype, from);

	s->kernel->operand.at[at].offset = size_number(s->kernel->sizes, i * d->rois->strides[1]);
	return ref_operand(at);
}

/* Computes a dim's bins, once for a row. dim: 0 for height. side: the region's two sides. */
static void
put_bins(const Sampling *s, const Regions *d, int dim, const Ref side[2], Ref how, Bins *b)
{
	const Ref scale = ref_number(rt_double(d->scale));
	Ref at[2];

	for (int i = 0; i < 2; i++)
		at[i] = let(s, ROW_prim_roi_side, RT_f64, RT_f64, REFS(side[i], scale, how));
	b->size = let(s, ROW_prim_roi_bin, RT_f64, RT_f64, REFS(at[0], at[1], number(d->y->dims[2 + dim]), how));
	b->start = let(s, ROW_prim_roi_start, RT_f64, RT_f64, REFS(at[0], b->size, index_of(s, 2 + dim), how));
	b->points = let(s, ROW_prim_roi_points, RT_f64, RT_i64, REFS(b->size, number(d->ratio)));
	kernel_count(s->kernel, 4 + dim, b->points);
}

/* Adds the sum over all samples and their taps. Axes 4 and 5 are samples, 6 and 7 taps. */
static Ref
sum_samples(const Sampling *s, const Regions *d, Ref image, Ref how, const Bins *bins)
{
	const int64_t none[KERNEL_AXES] = { 0, d->x->strides[1] };
	Ref tap[2], weight[2], all;
	int x;

	kernel_stage(s->kernel, true);
	for (int i = 0; i < 2; i++) {
		const Ref k = index_of(s, 6 + i), size = number(d->x->dims[2 + i]);
		const Ref at = let(s, ROW_prim_roi_at, RT_f64, RT_f64,
				   REFS(bins[i].start, bins[i].size, index_of(s, 4 + i), bins[i].points, how));

		tap[i] = let(s, ROW_prim_roi_tap, RT_f64, RT_i64, REFS(at, k, size));
		weight[i] = let(s, ROW_prim_roi_weight, RT_f64, s->sum, REFS(at, k, size, how));
	}
	all = weighed(s, weight[0], weight[1]);
	x = kernel_strided(s->kernel, ACCESS_READ, (RtDtype)d->x->dtype, none);
	gather(s, x, image, d->x->strides[0], d->x->dims[0], OUTSIDE_FAILS);
	for (int i = 0; i < 2; i++)
		gather(s, x, tap[i], d->x->strides[2 + i], d->x->dims[2 + i], OUTSIDE_ZERO);
	return sum(s, weighed(s, ref_operand(x), all));
}

bool
row_roi_align(Row *r)
{
	const Value *const rois = row_arg(r, "rois");
	Ref number_of[5], image, how, all;
	int64_t to[KERNEL_AXES] = { 0 };
	Bins bins[2];
	Sampling s;
	Regions d;

	if (!read_regions(r, &d))
		return false;
	s = (Sampling){ .row = r, .sum = (RtDtype)d.x->dtype };
	s.kernel = begin(r, "regions", 8, (const int64_t[]){ d.y->dims[0], d.y->dims[1], d.y->dims[2], d.y->dims[3],
							     1, 1, 2, 2 }, 4);
	for (int i = 0; i < 4; i++)
		to[i] = d.y->strides[i];
	kernel_strided(s.kernel, ACCESS_WRITE, (RtDtype)d.y->dtype, to);
	for (int i = 0; i < 5; i++)
		number_of[i] = add_region(&s, &d, i);
	how = number((d.aligned != 0) + 2 * (s.sum == RT_f32));          /* TS_ALIGNED, TS_ROI_SINGLE */
	image = let(&s, ROW_prim_index_in, RT_f64, RT_i64, REFS(number_of[0], number(d.x->dims[0])));
	for (int i = 0; i < 2; i++)
		put_bins(&s, &d, i, REFS(number_of[2 - i], number_of[4 - i]), how, &bins[i]);
	all = sum_samples(&s, &d, image, how, bins);
	kernel_stage(s.kernel, false);
	kernel_store(s.kernel, 0, let(&s, ROW_prim_roi_mean, s.sum, s.sum, REFS(all, bins[0].points, bins[1].points)));
	if (!finish(&s, (const Value *const[]){ r->n->out[0], rois, rois, rois, rois, rois, row_arg(r, "input") }, 7))
		return false;
	row_checks(r);
	return true;
}
