/* rt/ops/vision.c - the operators of torchvision: nms, overlaps of rotated boxes, pooling of regions, deformable
 * convolution
 *
 * All compute in float, or double for double input, on contiguous arrays (n, c, h, w). A region is a row (batch, x1,
 * y1, x2, y2) of rois. Its sampling points are the same for every channel.
 */
#include "../base.h"
#include "dense.h"
#include "gemm.h"
#include "keys.h"
#include "vscratch.h"

#include <math.h>
#include <string.h>

RT_FAST
#include "vroi.h"

/* ---- nms --------------------------------------------------------------------------------------------------------- */

static int
check_boxes(RtCx *cx, const RtTensor *boxes, const RtTensor *scores)
{
	if (boxes->ndim != 2)
		return rt_raise(cx, "boxes should be a 2d tensor, got %dD", boxes->ndim);
	if (boxes->dims[1] != 4)
		return rt_raise(cx, "boxes should have 4 elements in dimension 1, got %lld", (long long)boxes->dims[1]);
	if (scores->ndim != 1)
		return rt_raise(cx, "scores should be a 1d tensor, got %dD", scores->ndim);
	if (boxes->dims[0] != scores->dims[0])
		return rt_raise(cx, "boxes and scores should have same number of elements in dimension 0, got %lld and "
			"%lld", (long long)boxes->dims[0], (long long)scores->dims[0]);
	return RT_OK;
}

/* Boxes sorted by left side. Coordinates are rounded to float if the operator's are. reach: the rightmost side so far.
 * whole: whether a coordinate is NaN, so that ranges are not narrowed. */
typedef struct Boxes {
	float *x1, *y1, *x2, *y2, *area, *reach;
	int64_t n;
	bool whole;
} Boxes;

enum { BOXES = 6, TOGETHER = 256 };    /* number of arrays; number of boxes that are compared with one box at a time */

static void
take_boxes(const double *box, const int64_t *order, int64_t n, float *at, Boxes *b)
{
	*b = (Boxes){ at, at + n, at + 2 * n, at + 3 * n, at + 4 * n, at + 5 * n, n, false };
	for (int64_t i = 0; i < n; i++) {
		const double *a = box + order[i] * 4;

		b->x1[i] = (float)a[0];
		b->y1[i] = (float)a[1];
		b->x2[i] = (float)a[2];
		b->y2[i] = (float)a[3];
		b->area[i] = (float)(a[2] - a[0]) * (float)(a[3] - a[1]);
		b->reach[i] = i && b->reach[i - 1] > b->x2[i] ? b->reach[i - 1] : b->x2[i];
		b->whole |= isnan(b->x1[i]) || isnan(b->x2[i]);
	}
}

/* Returns the index of the first of n ascending numbers that is greater than x; with `from`, that is at least x. */
static int64_t
first_above(const float *sorted, int64_t n, float x, bool from)
{
	int64_t low = 0;

	for (int64_t high = n; low < high; ) {
		const int64_t mid = low + (high - low) / 2;

		if (sorted[mid] > x || (from && sorted[mid] == x))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Computes the areas that box i shares with boxes [from, to). Returns whether any area is not 0. */
static bool
shared_areas(const Boxes *b, int64_t i, int64_t from, int64_t to, float *both)
{
	const float x1 = b->x1[i], y1 = b->y1[i], x2 = b->x2[i], y2 = b->y2[i];
	int any = 0;

	for (int64_t j = from; j < to; j++) {
		const float w = (b->x2[j] < x2 ? b->x2[j] : x2) - (b->x1[j] > x1 ? b->x1[j] : x1),
			    h = (b->y2[j] < y2 ? b->y2[j] : y2) - (b->y1[j] > y1 ? b->y1[j] : y1);
		const float share = (w > 0 ? w : 0) * (h > 0 ? h : 0);

		both[j - from] = share;
		any |= share != 0;
	}
	return any;
}

/* Marks the boxes whose overlap with box i exceeds the threshold. This includes box i itself and boxes that were kept
 * before. Boxes that share nothing have an overlap of 0, or NaN if both have no area. Neither exceeds a threshold >=
 * 0. */
static void
suppress(const Boxes *b, int64_t i, double threshold, uint8_t *gone)
{
	const bool all = b->whole || !(threshold >= 0);
	const int64_t end = all ? b->n : first_above(b->x1, b->n, b->x2[i], true);
	float both[TOGETHER];

	for (int64_t from = all ? 0 : first_above(b->reach, end, b->x1[i], false); from < end; from += TOGETHER) {
		const int64_t to = from + TOGETHER < end ? from + TOGETHER : end;

		if (!shared_areas(b, i, from, to, both) && threshold >= 0)
			continue;
		for (int64_t j = from; j < to; j++)
			gone[j] |= both[j - from] / (b->area[i] + b->area[j] - both[j - from]) > threshold;
	}
}

/* Sorts n boxes by their left sides. Sets order to the indices of the boxes, and place to the index of each box in
 * order. */
static void
by_left(const double *box, int64_t n, int64_t *key, int64_t *order, int64_t *place)
{
	for (int64_t i = 0; i < n; i++)
		key[i] = key_of_double(box[i * 4]);
	rt_sort_positions(key, n, order, place);
	for (int64_t i = 0; i < n; i++)
		place[order[i]] = i;
}

int
rt_torchvision_nms(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *boxes = in[0].u.t, *r;
	int64_t n, *key, *order, *place, *across, kept = 0;
	uint8_t *gone;
	Boxes b;
	float *at;

	if (check_boxes(cx, boxes, in[1].u.t))
		return RT_ERROR;
	if (cx->meta)
		return rt_no_meta(cx);
	n = boxes->dims[0];
	boxes = dense_as(cx, boxes, RT_f64);
	key = boxes ? keys_of(cx, "nms", in[1].u.t) : NULL;
	order = key ? rt_scratch(cx, n * 3 * 8 + 8) : NULL;
	gone = order ? rt_scratch(cx, n + 1) : NULL;
	at = gone ? rt_scratch(cx, n * BOXES * (int64_t)sizeof *at + 1) : NULL;
	if (!at)
		return RT_ERROR;
	place = order + n;
	across = place + n;
	for (int64_t i = 0; i < n; i++) {
		key[i] = ~key[i];
		gone[i] = 0;
	}
	rt_sort_positions(key, n, order, place);
	by_left((const double *)(const void *)rt_data(boxes), n, key, across, place);
	take_boxes((const double *)(const void *)rt_data(boxes), across, n, at, &b);
	for (int64_t i = 0; i < n; i++) {
		if (gone[place[order[i]]])
			continue;
		suppress(&b, place[order[i]], in[2].u.f, gone);
		order[kept++] = order[i];
	}
	r = rt_result(cx, 0, RT_i64, 1, &kept, NULL);
	RT_RESULT(cx, r, out[0]);
	memcpy(rt_data(r), order, (size_t)kept * 8);
	return RT_OK;
}

/* ---- rotated boxes ----------------------------------------------------------------------------------------------- */

typedef struct Point { double x, y; } Point;

/* Computes the corners of (cx, cy, width, height, degrees). The signs of width and height decide their orientation. */
static void
corners(const double *box, Point p[4])
{
	const double turn = box[4] * (M_PI / 180), c = cos(turn) / 2, s = sin(turn) / 2;

	p[0] = (Point){ box[0] + s * box[3] + c * box[2], box[1] + c * box[3] - s * box[2] };
	p[1] = (Point){ box[0] - s * box[3] + c * box[2], box[1] - c * box[3] - s * box[2] };
	p[2] = (Point){ 2 * box[0] - p[0].x, 2 * box[1] - p[0].y };
	p[3] = (Point){ 2 * box[0] - p[1].x, 2 * box[1] - p[1].y };
}

static double
side_of(Point a, Point b, Point p)
{
	return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

static double
area_of(const Point *p, int n)
{
	double sum = 0;

	for (int i = 2; i < n; i++)
		sum += side_of(p[0], p[i - 1], p[i]);
	return fabs(sum) / 2;
}

/* Clips the polygon at each side of the box and returns the area (Sutherland and Hodgman, Reentrant Polygon Clipping,
 * 1974). */
static double
area_shared(const Point a[4], const Point box[4])
{
	const double inside = side_of(box[0], box[1], box[2]) < 0 ? -1 : 1;
	Point p[2][32];          /* each side adds at most half as many points */
	int n = 4, at = 0;

	memcpy(p[0], a, 4 * sizeof *a);
	for (int e = 0; e < 4 && n; e++, at = !at) {
		const Point *from = p[at];
		Point *to = p[!at];
		int kept = 0;

		for (int i = 0; i < n; i++) {
			const Point u = from[i], v = from[(i + 1) % n];
			const double du = inside * side_of(box[e], box[(e + 1) % 4], u),
				     dv = inside * side_of(box[e], box[(e + 1) % 4], v);

			if (du >= 0)
				to[kept++] = u;
			if ((du < 0) != (dv < 0))
				to[kept++] = (Point){ u.x + (v.x - u.x) * du / (du - dv),
						      u.y + (v.y - u.y) * du / (du - dv) };
		}
		n = kept;
	}
	return area_of(p[at], n);
}

int
rt_torchvision_box_iou_rotated(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = rt_tensor(in[0]), *b = rt_tensor(in[1]), *r, *y;
	int64_t dims[2];

	if (a->ndim != 2 || a->dims[1] != 5 || b->ndim != 2 || b->dims[1] != 5)
		return rt_raise(cx, "boxes should have 5 elements in dimension 1, got %lld and %lld",
			(long long)(a->ndim ? a->dims[a->ndim - 1] : 0),
			(long long)(b->ndim ? b->dims[b->ndim - 1] : 0));
	dims[0] = a->dims[0];
	dims[1] = b->dims[0];
	r = rt_result(cx, 0, a->dtype, 2, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	a = dense_as(cx, a, RT_f64);
	b = a ? dense_as(cx, b, RT_f64) : NULL;
	y = b ? dense_out(cx, r, RT_f64) : NULL;
	if (!y)
		return RT_ERROR;
	for (int64_t i = 0; i < dims[0] * dims[1]; i++) {
		const double *u = (const double *)rt_data(a) + i / dims[1] * 5,
			     *v = (const double *)rt_data(b) + i % dims[1] * 5;
		const double areas = u[2] * u[3] + v[2] * v[3];
		Point p[4], q[4];
		double both;

		corners(u, p);
		corners(v, q);
		both = u[2] * u[3] < 1e-14 || v[2] * v[3] < 1e-14 ? 0 : area_shared(p, q);
		((double *)rt_data(y))[i] = both ? both / (areas - both) : 0;
	}
	return dense_done(cx, r, y);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* One of the four kinds of region pooling. */
typedef struct PoolKind {
	const char *name;
	bool  by_position;             /* whether each bin has its own channels */
	bool  places;                  /* whether there is a second result, argmax or channel_mapping */
	bool  samples;                 /* whether in[5] is the number of sampling points along a bin */
	void (*range)(void *pool, int64_t begin, int64_t end);
} PoolKind;

typedef struct Pool {
	int64_t n, c, h, w;            /* sizes of the input */
	int64_t rois, ph, pw, co;      /* co: number of channels of the result */
	double  scale;
	int64_t ratio;                 /* number of sampling points along a bin; 0 for one per element */
	bool    aligned, single;       /* single: whether the operator rounds to float */
	const double *x, *roi;
	double  *y;
	int64_t *index;                /* argmax or channel_mapping, with y's shape; null if there is none */
} Pool;

static int
check_pool(RtCx *cx, const PoolKind *kind, const IValue *in, Pool *p)
{
	const RtTensor *x = in[0].u.t, *rois = in[1].u.t;
	int64_t bins;

	if (x->ndim != 4)
		return rt_raise(cx, "%s: the input should be a 4d tensor, got %dD", kind->name, x->ndim);
	if (rois->ndim != 2 || rois->dims[1] != 5)
		return rt_raise(cx, "Tensor rois should have shape as Tensor[K, 5]");
	if (x->dtype != rois->dtype)
		return rt_raise(cx, "Expected tensor for argument #1 'input' to have the same type as tensor for "
			"argument #2 'rois'; but type %s does not equal %s", rt_dtypes[x->dtype].brief,
			rt_dtypes[rois->dtype].brief);
	*p = (Pool){ .n = x->dims[0], .c = x->dims[1], .h = x->dims[2], .w = x->dims[3], .rois = rois->dims[0],
		.scale = in[2].u.f, .ph = in[3].u.i, .pw = in[4].u.i, .single = x->dtype == RT_f32 };
	if (p->ph <= 0 || p->pw <= 0)
		return rt_raise(cx, "%s: the pooled size has to be positive", kind->name);
	if (kind->by_position && (!size_mul(p->ph, p->pw, &bins) || p->c % bins))
		return rt_raise(cx, "input channels must be a multiple of pooling height * pooling width");
	p->co = kind->by_position ? p->c / bins : p->c;
	return RT_OK;
}

/* Reads the operands in double, and allocates the results. */
static int
pool_begin(RtCx *cx, const PoolKind *kind, const IValue *in, int64_t count, Pool *p)
{
	RtTensor *x = dense_as(cx, in[0].u.t, RT_f64), *rois = x ? dense_as(cx, in[1].u.t, RT_f64) : NULL;

	p->y = rois ? rt_scratch(cx, count * 8 + 8) : NULL;
	p->index = p->y ? rt_scratch(cx, count * 8 + 8) : NULL;
	if (!p->index)
		return RT_ERROR;
	p->x = (const double *)(const void *)rt_data(x);
	p->roi = (const double *)(const void *)rt_data(rois);
	for (int64_t i = 0; i < p->rois; i++)
		if (!(p->roi[i * 5] >= 0 && p->roi[i * 5] < (double)p->n))
			return rt_raise(cx, "%s: the batch index of region %lld is out of range", kind->name,
					(long long)i);
	return RT_OK;
}

static int
pool_end(RtCx *cx, const Pool *p, RtTensor *r, RtTensor *at)
{
	RtTensor *y = rt_temp(cx, rt_tensor_borrow(cx, RT_f64, 4, r->dims, p->y, false)), *index;

	if (!y || rt_copy_into(cx, r, y))
		return RT_ERROR;
	if (!at)
		return RT_OK;
	index = rt_temp(cx, rt_tensor_borrow(cx, RT_i64, 4, r->dims, p->index, false));
	return index ? rt_copy_into(cx, at, index) : RT_ERROR;
}

/* Arguments: input, rois, spatial_scale, pooled_height, pooled_width[, sampling_ratio]. */
static int
pool_regions(RtCx *cx, const PoolKind *kind, const IValue *in, IValue *out)
{
	RtTensor *r, *at = NULL;
	Pool p;

	if (check_pool(cx, kind, in, &p))
		return RT_ERROR;
	const int64_t dims[4] = { p.rois, p.co, p.ph, p.pw };
	r = rt_result(cx, 0, (RtDtype)in[0].u.t->dtype, 4, dims, NULL);
	RT_PUT(r, out[0]);
	if (kind->places) {
		at = rt_result(cx, 1, RT_i32, 4, dims, NULL);
		RT_PUT(at, out[1]);
	}
	if (cx->meta)
		return RT_OK;
	if (pool_begin(cx, kind, in, rt_numel(r), &p))
		return RT_ERROR;
	p.ratio = kind->samples ? in[5].u.i : 0;
	if (p.rois && p.co)                      /* if they are 0, there may be any number of bins */
		rt_parallel(cx, p.rois * p.co, 1 + 1024 / (p.ph * p.pw), kind->range, &p);
	return pool_end(cx, &p, r, at);
}

/* Weighted sum of the four neighbours. Each step is rounded as in the operator for T. */
#define BLEND(T) \
	((1 - (T)dv) * (1 - (T)du) * (T)x[v0 * w + u0] + (1 - (T)dv) * (T)du * (T)x[v0 * w + u1] + \
	 (T)dv * (1 - (T)du) * (T)x[v1 * w + u0] + (T)dv * (T)du * (T)x[v1 * w + u1])

/* Returns the bilinear sample of x at (v, u). It is 0 more than a pixel outside of the image; nearer coordinates are
 * clamped. */
static double
sample(bool single, const double *x, int64_t h, int64_t w, double v, double u)
{
	int64_t v0, u0, v1, u1;
	double dv, du;

	if (v < -1 || v > (double)h || u < -1 || u > (double)w)
		return 0;
	v = v < 0 ? 0 : v;
	u = u < 0 ? 0 : u;
	v0 = (int64_t)v;
	u0 = (int64_t)u;
	if (v0 >= h - 1)
		v = (double)(v0 = v1 = h - 1);
	else
		v1 = v0 + 1;
	if (u0 >= w - 1)
		u = (double)(u0 = u1 = w - 1);
	else
		u1 = u0 + 1;
	dv = v - (double)v0;
	du = u - (double)u0;
	return single ? (double)BLEND(float) : BLEND(double);
}
#undef BLEND

typedef struct Region { double x, y, bin_w, bin_h; int64_t points_w, points_h; } Region;

static double
to_single(bool single, double v)
{
	return single ? (float)v : v;
}

/* Computes a region. Coordinates are rounded to float where the float operator rounds them, because the ceil below and
 * all weights depend on it. */
static Region
region(const Pool *p, const double *roi)
{
	const double scale = to_single(p->single, p->scale);
	double w, h, at[4];
	Region g;

	for (int i = 0; i < 4; i++)
		at[i] = to_single(p->single, to_single(p->single, roi[1 + i] * scale) - 0.5);
	g.x = at[0];
	g.y = at[1];
	w = to_single(p->single, at[2] - g.x);
	h = to_single(p->single, at[3] - g.y);
	g.bin_w = to_single(p->single, w / (double)p->pw);
	g.bin_h = to_single(p->single, h / (double)p->ph);
	g.points_w = p->ratio > 0 ? p->ratio : (int64_t)ceil(g.bin_w);
	g.points_h = p->ratio > 0 ? p->ratio : (int64_t)ceil(g.bin_h);
	return g;
}

/* Returns the coordinate of sampling point k of n in bin i. Bins begin at `first`. */
static double
sample_coordinate(bool single, double first, double bin, int64_t i, int64_t k, int64_t n)
{
	const double start = to_single(single, first + to_single(single, (double)i * bin));

	return to_single(single, start + to_single(single, to_single(single, ((double)k + 0.5) * bin) / (double)n));
}

/* Returns the mean of the sampling points of bin (i, j). */
static double
bin_mean(const Pool *p, const double *x, const Region *g, int64_t i, int64_t j)
{
	double sum = 0, count = (double)(g->points_h * g->points_w);

	for (int64_t a = 0; a < g->points_h; a++) {
		const double v = sample_coordinate(p->single, g->y, g->bin_h, i, a, g->points_h);

		for (int64_t b = 0; b < g->points_w; b++) {
			const double u = sample_coordinate(p->single, g->x, g->bin_w, j, b, g->points_w);

			sum = to_single(p->single, sum + sample(p->single, x, p->h, p->w, v, u));
		}
	}
	return sum / (count > 1 ? count : 1);
}

/* Computes (region, channel) pairs [begin, end). */
static void
align_range(void *arg, int64_t begin, int64_t end)
{
	const Pool *p = arg;

	for (int64_t k = begin; k < end; k++) {
		const double *roi = p->roi + k / p->co * 5;
		const Region g = region(p, roi);

		for (int64_t i = 0; i < p->ph; i++)
			for (int64_t j = 0; j < p->pw; j++) {
				const int64_t at = (k * p->ph + i) * p->pw + j, c = (k % p->co * p->ph + i) * p->pw + j;

				p->index[at] = c;
				p->y[at] = bin_mean(p, p->x + ((int64_t)roi[0] * p->c + c) * p->h * p->w, &g, i, j);
			}
	}
}

int
rt_torchvision_ps_roi_align(RtCx *cx, const IValue *in, IValue *out)
{
	static const PoolKind kind = { "ps_roi_align", true, true, true, align_range };

	return pool_regions(cx, &kind, in, out);
}

static int64_t
clamp_to(double v, int64_t n)
{
	return v < 0 ? 0 : v > (double)n ? n : (int64_t)v;
}

/* Computes maxima over bins of whole elements: [floor(i bin), ceil((i + 1) bin)) from the region's first element. */
static void
max_range(void *arg, int64_t begin, int64_t end)
{
	const Pool *p = arg;

	for (int64_t k = begin; k < end; k++) {
		const double *roi = p->roi + k / p->c * 5,
			     *x = p->x + ((int64_t)roi[0] * p->c + k % p->c) * p->h * p->w;
		double x1 = round(roi[1] * p->scale), y1 = round(roi[2] * p->scale);
		double w = fmax(round(roi[3] * p->scale) - x1 + 1, 1), h = fmax(round(roi[4] * p->scale) - y1 + 1, 1);
		float bin_w = (float)w / (float)p->pw, bin_h = (float)h / (float)p->ph;
		for (int64_t i = 0; i < p->ph; i++)
			for (int64_t j = 0; j < p->pw; j++) {
				int64_t v0 = clamp_to(floorf((float)i * bin_h) + y1, p->h),
					v1 = clamp_to(ceilf((float)(i + 1) * bin_h) + y1, p->h);
				int64_t u0 = clamp_to(floorf((float)j * bin_w) + x1, p->w),
					u1 = clamp_to(ceilf((float)(j + 1) * bin_w) + x1, p->w);
				int64_t to = (k * p->ph + i) * p->pw + j, at = -1;
				double best = v1 <= v0 || u1 <= u0 ? 0 : -3.402823466e38;
				for (int64_t v = v0; v < v1; v++)
					for (int64_t u = u0; u < u1; u++)
						if (x[v * p->w + u] > best) {
							at = v * p->w + u;
							best = x[at];
						}
				p->y[to] = best;
				p->index[to] = at;
			}
	}
}

int
rt_torchvision_roi_pool(RtCx *cx, const IValue *in, IValue *out)
{
	static const PoolKind kind = { "roi_pool", false, true, false, max_range };

	return pool_regions(cx, &kind, in, out);
}

/* Computes means over bins of whole elements. As in torchvision, the last row and column belong to no bin. */
static void
mean_range(void *arg, int64_t begin, int64_t end)
{
	const Pool *p = arg;

	for (int64_t k = begin; k < end; k++) {
		const double *roi = p->roi + k / p->co * 5;
		double x1 = round(roi[1] * p->scale), y1 = round(roi[2] * p->scale);
		double w = fmax(round(roi[3] * p->scale) - x1, 1), h = fmax(round(roi[4] * p->scale) - y1, 1);
		float bin_w = (float)w / (float)p->pw, bin_h = (float)h / (float)p->ph;
		for (int64_t i = 0; i < p->ph; i++)
			for (int64_t j = 0; j < p->pw; j++) {
				int64_t v0 = clamp_to(floorf((float)i * bin_h) + y1, p->h - 1),
					v1 = clamp_to(ceilf((float)(i + 1) * bin_h) + y1, p->h - 1);
				int64_t u0 = clamp_to(floorf((float)j * bin_w) + x1, p->w - 1),
					u1 = clamp_to(ceilf((float)(j + 1) * bin_w) + x1, p->w - 1);
				int64_t to = (k * p->ph + i) * p->pw + j, c = (k % p->co * p->ph + i) * p->pw + j;
				const double *x = p->x + ((int64_t)roi[0] * p->c + c) * p->h * p->w;
				double sum = 0;
				for (int64_t v = v0; v < v1; v++)
					for (int64_t u = u0; u < u1; u++)
						sum += x[v * p->w + u];
				p->y[to] = v1 <= v0 || u1 <= u0 ? 0 : sum / (double)((v1 - v0) * (u1 - u0));
				p->index[to] = c;
			}
	}
}

int
rt_torchvision_ps_roi_pool(RtCx *cx, const IValue *in, IValue *out)
{
	static const PoolKind kind = { "ps_roi_pool", true, true, false, mean_range };

	return pool_regions(cx, &kind, in, out);
}

/* ---- roi_align --------------------------------------------------------------------------------------------------- */

enum { ALIGN_PARTS = 16 };             /* largest number of parts into which the regions are divided */

typedef struct Align {
	RoiBins bins;
	bool    single;
	int64_t rois, parts, room;             /* room: number of bytes of scratch memory of each part */
	const char *x, *roi;
	char   *y, *rooms;
} Align;

static void
roi_range(void *arg, int64_t begin, int64_t end)
{
	const Align *a = arg;
	const void *x = a->x, *roi = a->roi;

	for (int64_t i = begin; i < end; i++) {
		const int64_t first = a->rois * i / a->parts, last = a->rois * (i + 1) / a->parts;
		void *room = a->rooms + i * a->room, *y = a->y;

		if (a->single)
			roi_align_float(first, last, &a->bins, x, roi, y, room);
		else
			roi_align_double(first, last, &a->bins, x, roi, y, room);
	}
}

/* Raises an error unless the batch index of each region is in range. */
static int
check_images(RtCx *cx, const Align *a)
{
	for (int64_t i = 0; i < a->rois; i++) {
		const char *at = a->roi + i * a->bins.rn * (a->single ? 4 : 8);
		const double image = a->single ? *(const float *)(const void *)at : *(const double *)(const void *)at;

		if (!(image >= 0 && image < (double)a->bins.images))
			return rt_raise(cx, "roi_align: the batch index of region %lld is out of range", (long long)i);
	}
	return RT_OK;
}

static int
align_room(RtCx *cx, Align *a)
{
	const RoiBins *g = &a->bins;
	int64_t n;

	a->parts = a->rois < ALIGN_PARTS ? a->rois : ALIGN_PARTS;
	if (!size_mul(g->in[1], g->out[1], &n) || !size_mul(n, (int64_t)16 * ALIGN_PARTS, &n) ||
	    !size_mul(g->channels, g->out[1], &n) || !size_mul(n, (int64_t)8 * ALIGN_PARTS, &n))
		return rt_raise(cx, "out of memory");
	a->room = vs_regions(g->in[0], g->in[1], g->out[1], g->channels);
	a->rooms = rt_scratch(cx, a->room * a->parts + 1);
	return a->rooms ? RT_OK : RT_ERROR;
}

static int
align(RtCx *cx, const IValue *in, const Pool *p, RtTensor *r)
{
	const RtDtype ct = p->single ? RT_f32 : RT_f64;
	RtTensor *x = in[0].u.t, *roi = in[1].u.t, *y;
	Align a = { .single = p->single, .rois = p->rois };

	x = x->dtype == (int)ct ? x : dense_as(cx, x, ct);
	roi = roi->dtype == (int)ct ? roi : dense_as(cx, roi, ct);
	y = x && roi ? dense_out(cx, r, ct) : NULL;
	if (!y)
		return RT_ERROR;
	a.bins = (RoiBins){ .images = p->n, .channels = p->c, .in = { p->h, p->w }, .out = { p->ph, p->pw },
			 .scale = p->scale, .ratio = p->ratio, .aligned = p->aligned,
			 .xn = x->strides[0], .xc = x->strides[1], .x = { x->strides[2], x->strides[3] },
			 .rn = roi->strides[0], .rc = roi->strides[1], .yn = p->c * p->ph * p->pw, .yc = p->ph * p->pw,
			 .y = { p->pw, 1 } };
	a.x = rt_data(x);
	a.roi = rt_data(roi);
	a.y = rt_data(y);
	if (check_images(cx, &a) || (rt_numel(r) && align_room(cx, &a)))
		return RT_ERROR;
	if (rt_numel(r))
		rt_parallel(cx, a.parts, 1, roi_range, &a);
	return dense_done(cx, r, y);
}

/* Arguments: input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned. */
int
rt_torchvision_roi_align(RtCx *cx, const IValue *in, IValue *out)
{
	static const PoolKind kind = { "roi_align", false, false, true, NULL };
	RtTensor *r;
	Pool p;

	if (check_pool(cx, &kind, in, &p))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)in[0].u.t->dtype, 4, (const int64_t[]){ p.rois, p.co, p.ph, p.pw }, NULL);
	RT_RESULT(cx, r, out[0]);
	p.ratio = in[5].u.i;
	p.aligned = in[6].u.i;
	return align(cx, in, &p, r);
}

/* ---- deform_conv2d ----------------------------------------------------------------------------------------------- */

enum { DEFORM_POINTS = 64 };           /* number of points that are located together */

typedef struct Deform {
	int64_t c, h, w, kh, kw, ho, wo;           /* c: number of channels of the input */
	int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups;
	RtDtype ct;                                /* compute type, float or double */
	const void *x, *offset, *mask;             /* tensors of one sample; mask is null if there is none */
	void   *column;                            /* (c kh kw, ho wo) */
} Deform;

RT_FAST
#define T float
#define N(name) name##_f32
#define F(name) name##f
#include "deform_loops.h"
#define T double
#define N(name) name##_f64
#define F(name) name
#include "deform_loops.h"
RT_SMALL

static void
deform_columns(void *arg, int64_t begin, int64_t end)
{
	const Deform *d = arg;

	(d->ct == RT_f32 ? deform_columns_f32 : deform_columns_f64)(d, begin, end);
}

static int
check_deform(RtCx *cx, const Deform *d, const RtTensor *x, const RtTensor *w, const RtTensor *offset,
	     const RtTensor *mask)
{
	int64_t taps = d->kh * d->kw;

	if (d->kh <= 0 || d->kw <= 0 || d->stride_h <= 0 || d->stride_w <= 0 || d->dilation_h <= 0 ||
	    d->dilation_w <= 0)
		return rt_raise(cx, "weight_h, weight_w, stride and dilation have to be positive");
	if (d->groups <= 0 || d->offset_groups <= 0 || w->dims[1] * d->groups != d->c || w->dims[0] % d->groups ||
	    d->c % d->offset_groups)
		return rt_raise(cx, "deform_conv2d: the numbers of channels and groups do not fit");
	if (offset->ndim != 4 || offset->dims[1] != 2 * taps * d->offset_groups)
		return rt_raise(cx, "offset.shape[1] is not valid: got: %lld expected: %lld",
				(long long)offset->dims[1], (long long)(2 * taps * d->offset_groups));
	if (d->ho <= 0 || d->wo <= 0)
		return rt_raise(cx, "Calculated output size too small - out_h: %lld out_w: %lld", (long long)d->ho,
				(long long)d->wo);
	if (offset->dims[0] != x->dims[0] || offset->dims[2] != d->ho || offset->dims[3] != d->wo)
		return rt_raise(cx, "offset output dims: (%lld, %lld) - computed output dims: (%lld, %lld)",
				(long long)offset->dims[2], (long long)offset->dims[3], (long long)d->ho,
				(long long)d->wo);
	if (mask && (mask->ndim != 4 || mask->dims[0] != x->dims[0] || mask->dims[1] != taps * d->offset_groups ||
		     mask->dims[2] != d->ho || mask->dims[3] != d->wo))
		return rt_raise(cx, "mask.shape[1] is not valid: got: %lld expected: %lld", (long long)mask->dims[1],
			(long long)(taps * d->offset_groups));
	return RT_OK;
}

/* Computes one sample: the columns of all taps, then a product for each group. oc is the number of output channels of a
 * group. */
static int
deform_sample(RtCx *cx, Deform *d, const char *w, int64_t oc, char *y)
{
	const int64_t plane = d->ho * d->wo, taps = d->kh * d->kw, rows = d->c / d->groups * taps;
	const int64_t bytes = rt_dtypes[d->ct].bytes;

	rt_parallel(cx, taps * d->offset_groups, 1 + 4096 / (plane * d->c / d->offset_groups + 1), deform_columns, d);
	for (int64_t g = 0; g < d->groups; g++) {
		Product p = { oc, plane, rows, w + g * oc * rows * bytes,
			(const char *)d->column + g * rows * plane * bytes, rows, 1, plane, 1,
			.c = y + g * oc * plane * bytes };

		if (gemm(cx, d->ct, &p))
			return RT_ERROR;
	}
	return RT_OK;
}

static void *
deform_room(RtCx *cx, const Deform *d)
{
	int64_t n;

	if (!size_mul(d->c, d->kh * d->kw, &n) || !size_mul(n, d->ho * d->wo, &n) || !size_mul(n, sizeof(double), &n)) {
		rt_raise(cx, "out of memory");
		return NULL;
	}
	return rt_scratch(cx, n + 1);
}

static void
deform_bias(const Deform *d, const RtTensor *bias, char *y)
{
	const void *b = rt_data(bias);

	if (d->ct == RT_f32)
		add_bias_f32((float *)(void *)y, rt_numel(bias), d->ho * d->wo, b);
	else
		add_bias_f64((double *)(void *)y, rt_numel(bias), d->ho * d->wo, b);
}

static Deform
deform_geometry(const RtTensor *x, const RtTensor *w, const IValue *in)
{
	Deform d = { .c = x->dims[1], .h = x->dims[2], .w = x->dims[3], .kh = w->dims[2], .kw = w->dims[3],
		.stride_h = in[5].u.i, .stride_w = in[6].u.i, .pad_h = in[7].u.i, .pad_w = in[8].u.i,
		.dilation_h = in[9].u.i, .dilation_w = in[10].u.i, .groups = in[11].u.i, .offset_groups = in[12].u.i };

	if (d.stride_h > 0 && d.stride_w > 0) {
		d.ho = (d.h + 2 * d.pad_h - (d.dilation_h * (d.kh - 1) + 1)) / d.stride_h + 1;
		d.wo = (d.w + 2 * d.pad_w - (d.dilation_w * (d.kw - 1) + 1)) / d.stride_w + 1;
	}
	return d;
}

int
rt_torchvision_deform_conv2d(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = in[0].u.t, *w = in[1].u.t, *offset = in[2].u.t, *mask = in[13].u.i ? in[3].u.t : NULL,
		 *bias = in[4].u.t, *r, *y;
	Deform d;

	if (x->ndim != 4 || w->ndim != 4)
		return rt_raise(cx, "deform_conv2d: expected 4d input and weight, got %dD and %dD", x->ndim, w->ndim);
	d = deform_geometry(x, w, in);
	d.ct = x->dtype == RT_f32 ? RT_f32 : RT_f64;
	if (check_deform(cx, &d, x, w, offset, mask))
		return RT_ERROR;
	const int64_t dims[4] = { x->dims[0], w->dims[0], d.ho, d.wo }, bytes = rt_dtypes[d.ct].bytes;
	r = rt_result(cx, 0, (RtDtype)x->dtype, 4, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	x = dense_as(cx, x, d.ct);
	w = x ? dense_as(cx, w, d.ct) : NULL;
	offset = w ? dense_as(cx, offset, d.ct) : NULL;
	bias = offset ? dense_as(cx, bias, d.ct) : NULL;
	if (bias && mask && !(mask = dense_as(cx, mask, d.ct)))
		return RT_ERROR;
	y = bias ? temp_new(cx, d.ct, 4, dims) : NULL;
	if (!y || !(d.column = deform_room(cx, &d)))
		return RT_ERROR;
	for (int64_t n = 0; n < dims[0]; n++) {
		char *to = rt_data(y) + n * product(dims, 1, 4) * bytes;

		d.x = rt_data(x) + n * d.c * d.h * d.w * bytes;
		d.offset = rt_data(offset) + n * product(offset->dims, 1, 4) * bytes;
		d.mask = mask ? rt_data(mask) + n * product(mask->dims, 1, 4) * bytes : NULL;
		if (deform_sample(cx, &d, rt_data(w), dims[1] / d.groups, to))
			return RT_ERROR;
		if (rt_numel(bias) == dims[1])
			deform_bias(&d, bias, to);
	}
	return rt_copy_into(cx, r, y);
}
