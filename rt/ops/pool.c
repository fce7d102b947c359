/*
 * Pooling over one to three spatial dims: max and average, with given windows, adaptive and fractional ones; unpooling.
 *
 * pool_sizes.c makes a table of windows for each dim, which a loop over planes reads. For channels-last floats, the
 * loops are over rows of channels.
 */
#include "block.h"
#include "pool.h"
#include "quant.h"
#include "../base.h"

#include <math.h>
#include <string.h>

enum { RUN_LEAST = 4 };

/* A window: its bounds, and the divisors of an average, `by`, which are applied one after the other. */
typedef struct Window { int64_t lo[3], hi[3], divisor, by[3]; } Window;

/* Returns the window of the output at (z, y, x). */
static inline Window
window_of(const Pool *g, int64_t z, int64_t y, int64_t x)
{
	int64_t at[3] = { z, y, x };
	Window w;

	w.divisor = 1;
	for (int i = 0; i < 3; i++) {
		w.lo[i] = g->lo[i][at[i]];
		w.hi[i] = g->hi[i][at[i]];
		w.divisor *= g->count[i][at[i]];
	}
	if (g->divisor)
		w.divisor = g->divisor;
	for (int i = 0; i < 3; i++)
		w.by[i] = g->apart ? g->count[i][at[i]] : i ? 1 : w.divisor;
	return w;
}

/* Whether the run of results that are computed together begins at column x. */
static inline bool
begins_run(const Pool *g, int64_t x)
{
	return x == g->run.first && g->run.n;
}

/* Finds the longest run of windows with the width and the stride of the middle one. */
static void
find_run(Pool *g)
{
	const int64_t n = g->out[2], *lo = g->lo[2], *hi = g->hi[2], *count = g->count[2];
	int64_t at = (n - 1) / 2, first = at, last = at + 1;

	g->run.n = 0;
	if (n < RUN_LEAST)
		return;
	g->run.s = lo[at + 1] - lo[at];
#define ALIKE(a, b) (lo[b] - lo[a] == g->run.s && hi[b] - hi[a] == g->run.s && count[a] == count[b])
	while (first > 0 && ALIKE(first - 1, first))
		first--;
	while (last < n && ALIKE(last - 1, last))
		last++;
#undef ALIKE
	if (last - first < RUN_LEAST || g->run.s < 1)
		return;
	g->run.first = first;
	g->run.n = last - first;
}

/* Loops over the outputs of a plane in order. o is the index of (oz, oy, ox). */
#define EACH_OUTPUT(g, o) \
	for (int64_t o = 0, oz = 0; oz < (g)->out[0]; oz++) \
		for (int64_t oy = 0; oy < (g)->out[1]; oy++) \
			for (int64_t ox = 0; ox < (g)->out[2]; ox++, o++)

#define LARGER(v) (((v) > y[o]) | ((v) != (v)))

/* Takes the maximum with x[o * s] for n results. If x[o * s] is greater or NaN, sets y[o] to it, and at[o] to base + o
 * * s. `at` may be null. */
static void
max_any(const float *restrict x, float *restrict y, int64_t *restrict at, int64_t n, int64_t s, int64_t base)
{
	for (int64_t o = 0; o < n; o++)
		if (LARGER(x[o * s])) {
			y[o] = x[o * s];
			if (at)
				at[o] = base + o * s;
		}
}

static void
add_any(const float *restrict x, float *restrict y, int64_t n, int64_t s)
{
	for (int64_t o = 0; o < n; o++)
		y[o] += x[o * s];
}

RT_FAST

static void
max_elements(const float *restrict x, float *restrict y, int64_t n, int64_t s)
{
	for (int64_t o = 0; o < n && s == 1; o++)
		y[o] = LARGER(x[o]) ? x[o] : y[o];
	for (int64_t o = 0; o < n && s == 2; o++)
		y[o] = LARGER(x[o * 2]) ? x[o * 2] : y[o];
}

static void
add_elements(const float *restrict x, float *restrict y, int64_t n, int64_t s)
{
	for (int64_t o = 0; o < n && s == 1; o++)
		y[o] += x[o];
	for (int64_t o = 0; o < n && s == 2; o++)
		y[o] += x[o * 2];
}

static void
first_elements(const float *restrict x, float *restrict y, int64_t n, int64_t s)
{
	for (int64_t o = 0; o < n && s == 1; o++)
		y[o] = x[o];
	for (int64_t o = 0; o < n && s == 2; o++)
		y[o] = x[o * 2];
	for (int64_t o = 0; o < n && s > 2; o++)
		y[o] = x[o * s];
}

static void
max_indexed(const float *restrict x, float *restrict y, int64_t *restrict at, int64_t n, int64_t here)
{
	for (int64_t o = 0; o < n; o++) {
		const bool larger = LARGER(x[o]);

		at[o] = larger ? here : at[o];
		y[o] = larger ? x[o] : y[o];
	}
}

RT_SMALL

/* Computes all channels of one result. x is the image; y and at are the result's channels; at may be null. */
typedef void LastFn(const Pool *, const Window *, const float *x, float *y, int64_t *at);

static void
max_channels(const Pool *g, const Window *w, const float *x, float *y, int64_t *at)
{
	const int64_t n = g->channels, first = (w->lo[0] * g->in[1] + w->lo[1]) * g->in[2] + w->lo[2];

	for (int64_t o = 0; o < n; o++) {
		y[o] = -INFINITY;
		if (at)
			at[o] = first;
	}
	for (int64_t a = w->lo[0]; a < w->hi[0]; a += g->d[0])
		for (int64_t b = w->lo[1]; b < w->hi[1]; b += g->d[1])
			for (int64_t c = w->lo[2]; c < w->hi[2]; c += g->d[2]) {
				const int64_t here = (a * g->in[1] + b) * g->in[2] + c;

				if (at)
					max_indexed(x + here * n, y, at, n, here);
				else
					max_elements(x + here * n, y, n, 1);
			}
}

static void
average_channels(const Pool *g, const Window *w, const float *x, float *y, int64_t *at)
{
	const int64_t n = g->channels;

	(void)at;
	memset(y, 0, sizeof *y * (size_t)n);
	for (int64_t a = w->lo[0]; a < w->hi[0]; a++)
		for (int64_t b = w->lo[1]; b < w->hi[1]; b++)
			for (int64_t c = w->lo[2]; c < w->hi[2]; c++)
				add_elements(x + ((a * g->in[1] + b) * g->in[2] + c) * n, y, n, 1);
	for (int64_t o = 0; o < n; o++)
		y[o] = y[o] / (float)w->by[0] / (float)w->by[1] / (float)w->by[2];
}

/* Computes rows [begin, end) of (image, out[0], out[1]). */
static void
run_last(const Pool *g, int64_t begin, int64_t end, LastFn *fn)
{
	const int64_t rows = g->out[0] * g->out[1], n = g->channels;

	for (int64_t i = begin; i < end; i++) {
		const float *x = (const float *)g->x + i / rows * g->in_plane * n;

		for (int64_t ox = 0; ox < g->out[2]; ox++) {
			const Window w = window_of(g, i % rows / g->out[1], i % g->out[1], ox);
			const int64_t at = (i * g->out[2] + ox) * n;

			fn(g, &w, x, (float *)g->y + at, g->index ? g->index + at : NULL);
		}
	}
}

static void max_last(void *arg, int64_t begin, int64_t end)     { run_last(arg, begin, end, max_channels); }
static void average_last(void *arg, int64_t begin, int64_t end) { run_last(arg, begin, end, average_channels); }

#define T float
#define N(name) name##_f32
#define RUNS
#define IS_NAN(v) ((v) != (v))
#define LOWEST -INFINITY
#include "pool_loops.h"
#define T double
#define N(name) name##_f64
#define IS_NAN(v) ((v) != (v))
#define LOWEST -INFINITY
#include "pool_loops.h"
#define T int64_t
#define N(name) name##_i64
#define IS_NAN(v) false
#define LOWEST INT64_MIN
#include "pool_loops.h"

typedef void Body(void *, int64_t, int64_t);
/* Cost of an output, and loops for float, double, int64, and float with channels last. The last one may be null. */
typedef struct Work { int cost; Body *body[4]; } Work;
static const Work max_work = { 8, { max_planes_f32, max_planes_f64, max_planes_i64, max_last } };

/* Computes means, which are averages of whole planes. */
static void
mean_planes_f32(void *arg, int64_t begin, int64_t end)
{
	const Pool *g = arg;

	for (int64_t i = begin; i < end; i++)
		((float *)g->y)[i] = (float)(rt_sum_floats(g->in_plane, (const float *)g->x + i * g->in_plane) /
			(double)g->in_plane);
}

static const Work mean_work = { 8, { mean_planes_f32, average_planes_f64, average_planes_i64, NULL } };
static const Work average_work = { 8, { average_planes_f32, average_planes_f64, average_planes_i64,
	average_last } };
static const Work spread_work = { 8, { spread_planes_f32, spread_planes_f64, spread_planes_i64, NULL } };
static const Work scatter_work = { 1, { scatter_planes_f32, scatter_planes_f64, scatter_planes_i64, NULL } };

static RtDtype
loop_type(const RtTensor *t)
{
	RtDtype ct = compute_type(t);

	return ct == RT_b8 ? RT_i64 : ct;
}

static void
run_planes(RtCx *cx, Pool *g, const Work *work, RtDtype ct)
{
	const int64_t rows = g->out[0] * g->out[1];
	int64_t cost = g->out_plane * work->cost + 1;

	g->run.n = 0;
	if (g->last && g->out_plane && g->channels) {
		rt_parallel(cx, g->planes / g->channels * rows, 1 + 20000 / (cost / rows * g->channels + 1),
			work->body[3], g);
		return;
	}
	if (g->out_plane && g->in_plane && (work == &max_work || work == &average_work || work == &mean_work))
		find_run(g);

	if (g->out_plane && (g->in_plane || work == &mean_work))           /* a mean of nothing is NaN */
		rt_parallel(cx, g->planes, 1 + 20000 / cost, work->body[ct == RT_f32 ? 0 : ct == RT_f64 ? 1 : 2], g);
}

/* ---- results --------------------------------------------------------------------------------------- */

/* Makes result i for t with the pool's output sizes. `keep` tells whether it keeps channels_last. */
static RtTensor *
result_like(RtCx *cx, int i, RtDtype dtype, const RtTensor *t, const Pool *g, bool keep)
{
	int64_t *dims = rt_scratch(cx, ((int64_t)t->ndim + 1) * 8), strides[5];

	if (!dims)
		return 0;
	memcpy(dims, t->dims, (size_t)t->ndim * 8);
	for (int j = 0; j < g->nd; j++)
		dims[t->ndim - g->nd + j] = g->out[3 - g->nd + j];
	return rt_result(cx, i, dtype, t->ndim, dims, keep ? dense_format(t, t->ndim, dims, strides) : 0);
}

/* Returns a dense array of type ct. It is channels last if self is and the loops support it. */
static RtTensor *
array_like(RtCx *cx, Pool *g, RtTensor *t, RtDtype ct, bool out)
{
	int64_t strides[5];
	RtTensor *r;

	if (!g->last)
		return out ? dense_out(cx, t, ct) : dense_in(cx, t, ct);
	rt_channels_last_strides(t->ndim, t->dims, strides);
	if (t->dtype == ct && !(t->flags & RT_BITS) && !memcmp(t->strides, strides, sizeof *strides * t->ndim))
		return t;
	r = rt_temp(cx, rt_tensor_strided(cx, ct, t->ndim, t->dims, strides));
	return r && (out || !rt_copy_into(cx, r, t)) ? r : NULL;
}

static void
choose_layout(Pool *g, RtTensor *self, RtDtype ct, bool keep, const Work *work)
{
	int64_t strides[5];

	g->last = keep && ct == RT_f32 && work->body[3] && dense_format(self, self->ndim, self->dims, strides);
}

/* ---- max ---------------------------------------------------------------------------------------------- */

/* Computes out[0] and, if with_index, out[1]. The windows are in g. */
static int
max_results(RtCx *cx, Pool *g, RtTensor *self, bool with_index, bool keep, IValue *out)
{
	RtDtype ct = loop_type(self);
	RtTensor *r = result_like(cx, 0, self->dtype, self, g, keep), *at = 0, *y, *x, *index = 0;

	RT_PUT(r, out[0]);
	if (with_index) {
		at = result_like(cx, 1, RT_i64, self, g, keep);
		RT_PUT(at, out[1]);
	}
	if (cx->meta)
		return RT_OK;
	choose_layout(g, self, ct, keep, &max_work);
	x = array_like(cx, g, self, ct, false);
	y = array_like(cx, g, r, ct, true);
	index = with_index ? array_like(cx, g, at, RT_i64, true) : 0;
	if (!x || !y || (with_index && !index))
		return RT_ERROR;
	g->x = rt_data(x);
	g->y = rt_data(y);
	g->index = index ? (int64_t *)rt_data(index) : 0;
	run_planes(cx, g, &max_work, ct);
	if (index && dense_done(cx, at, index))
		return RT_ERROR;
	return dense_done(cx, r, y);
}

/* Arguments: self, kernel_size, stride, padding, dilation, ceil_mode. */
static int
max_pool(RtCx *cx, Pool g, PoolCheck *check, bool with_index, const IValue *in, IValue *out)
{
	PoolCall call = { .kernel = in[1], .stride = in[2], .padding = in[3], .dilation = in[4],
			  .ceil_mode = in[5].u.i };

	if (g.self->quant)
		return quant_linear(cx, g.nd == 1 ? rt_max_pool1d : g.nd == 2 ? rt_max_pool2d : rt_max_pool3d, in, 6,
				     1, out);
	return check(cx, &g, &call) || max_results(cx, &g, rt_tensor(in[0]), with_index, g.nd == 2, out);
}

#define MAX_POOL(id, nd, check, with_index) \
	KERNEL(id, max_pool(cx, pool_input("max_pool" #nd "d", rt_tensor(in[0]), nd), check, with_index, in, out))
MAX_POOL(max_pool1d, 1, pool_max_line, false)
MAX_POOL(max_pool2d, 2, pool_max, false)
MAX_POOL(max_pool3d, 3, pool_max, false)
MAX_POOL(max_pool1d_with_indices, 1, pool_max, true)
MAX_POOL(max_pool2d_with_indices, 2, pool_max, true)
MAX_POOL(max_pool3d_with_indices, 3, pool_max, true)

static int
adaptive_max(RtCx *cx, const char *op, int nd, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]);
	Pool g = pool_input(op, self, nd);

	if (pool_adaptive_max(cx, &g, in[1]))
		return RT_ERROR;
	return max_results(cx, &g, self, true, nd == 2, out);
}

KERNEL(adaptive_max_pool1d, adaptive_max(cx, "adaptive_max_pool1d", 1, in, out))
KERNEL(adaptive_max_pool2d, adaptive_max(cx, "adaptive_max_pool2d", 2, in, out))
KERNEL(adaptive_max_pool3d, adaptive_max(cx, "adaptive_max_pool3d", 3, in, out))

/* ---- fractional max: windows that differ by plane ------------------------------------------------------- */

static void
fractional_windows(Pool *g, int i, double sample, bool single)
{
	int64_t n = g->in[i], m = g->out[i], k = g->k[i];

	for (int64_t o = 0; o < m; o++) {
		int64_t at = n - k;

		if (o < m - 1 && single) {
			float alpha = (float)(n - k) / (float)(m - 1), u = (float)sample;

			at = (int64_t)(((float)o + u) * alpha) - (int64_t)(u * alpha);
		} else if (o < m - 1) {
			double alpha = (double)(n - k) / (double)(m - 1);

			at = (int64_t)(((double)o + sample) * alpha) - (int64_t)(sample * alpha);
		}
		g->lo[i][o] = at < 0 ? 0 : at > n - k ? n - k : at;
		g->hi[i][o] = g->lo[i][o] + k;
		g->count[i][o] = k;
	}
}

static int
fractional(RtCx *cx, const char *op, int nd, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]), *samples = rt_tensor(in[3]), *r, *at, *x, *y, *index, *u;
	RtDtype ct = loop_type(self);
	int lead = 3 - nd;
	int64_t es = rt_dtypes[ct].bytes;
	Pool g = pool_input(op, self, nd);

	if (pool_plain(cx, &g, "F") || dense_sizes(cx, in[1], op, "kernel_size", nd, g.k + lead) ||
	    dense_sizes(cx, in[2], op, "output_size", nd, g.out + lead))
		return RT_ERROR;
	for (int i = lead; i < 3; i++)
		if (g.out[i] + g.k[i] - 1 > g.in[i] || g.out[i] <= 0 || g.k[i] <= 0)
			return rt_raise(cx, "%s: pool size (%lld) too large relative to input size (%lld)", op,
					(long long)g.k[i], (long long)g.in[i]);
	if (samples->ndim != 3 || samples->dims[2] != nd || samples->dims[0] * samples->dims[1] < g.planes)
		return rt_raise(cx, "%s: Expect _random_samples to have a sample for each of %d dims of each plane", op,
				nd);
	r = result_like(cx, 0, self->dtype, self, &g, false);
	RT_PUT(r, out[0]);
	at = result_like(cx, 1, RT_i64, self, &g, false);
	RT_RESULT(cx, at, out[1]);
	x = dense_in(cx, self, ct);
	y = dense_out(cx, r, ct);
	index = dense_out(cx, at, RT_i64);
	u = dense_in(cx, samples, RT_f64);
	if (!x || !y || !index || !u || pool_tables(cx, &g))
		return RT_ERROR;
	for (int64_t i = 0; i < g.planes; i++) {
		Pool one = g;

		one.planes = 1;
		one.x = rt_data(x) + i * g.in_plane * es;
		one.y = rt_data(y) + i * g.out_plane * es;
		one.index = (int64_t *)rt_data(index) + i * g.out_plane;
		fractional_windows(&one, 0, 0, true);
		for (int j = 0; j < nd; j++)          /* with two dims, the width's sample comes first */
			fractional_windows(&one, nd == 2 ? 2 - j : j, ((double *)rt_data(u))[i * nd + j], ct == RT_f32);
		run_planes(cx, &one, &max_work, ct);
	}
	return dense_done(cx, at, index) ? RT_ERROR : dense_done(cx, r, y);
}

KERNEL(fractional_max_pool2d, fractional(cx, "fractional_max_pool2d", 2, in, out))
KERNEL(fractional_max_pool3d, fractional(cx, "fractional_max_pool3d", 3, in, out))

/* ---- average ---------------------------------------------------------------------------------------------- */

static int
average_result(RtCx *cx, Pool *g, RtTensor *self, bool keep, const Work *work, IValue *out)
{
	RtDtype ct = loop_type(self);
	RtTensor *r = result_like(cx, 0, self->dtype, self, g, keep), *x, *y;

	RT_RESULT(cx, r, out[0]);
	choose_layout(g, self, ct, keep, work);
	x = array_like(cx, g, self, ct, false);
	y = array_like(cx, g, r, ct, true);
	if (!x || !y)
		return RT_ERROR;
	g->x = rt_data(x);
	g->y = rt_data(y);
	run_planes(cx, g, work, ct);
	return dense_done(cx, r, y);
}

/* Arguments: kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override. */
static int
average_windows(RtCx *cx, Pool *g, const IValue *in)
{
	PoolCall call = { .kernel = in[0], .stride = in[1], .padding = in[2], .ceil_mode = in[3].u.i,
		.count_pad = in[4].u.i, .divisor = g->nd > 1 ? in[5] : rt_none() };

	return pool_average(cx, g, &call);
}

static int
avg_pool(RtCx *cx, const char *op, int nd, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]);
	Pool g = pool_input(op, self, nd);

	if (self->quant && nd == 3)
		return quant_rounded(cx, &(RtCall){ .kernel = rt_avg_pool3d, .nin = 7, .nout = 1 }, RT_Q_AVG_POOL3D,
				     in, out);
	if (self->quant)
		return rt_quantized->windows(cx, &(RtCall){ .kernel = nd == 1 ? rt_avg_pool1d : rt_avg_pool2d,
							.nin = nd == 1 ? 6 : 7, .nout = 1 }, RT_Q_AVG_POOL,
							nd, in, out);
	if (average_windows(cx, &g, in + 1))
		return RT_ERROR;
	return average_result(cx, &g, self, nd == 2, &average_work, out);
}

KERNEL(avg_pool1d, avg_pool(cx, "avg_pool1d", 1, in, out))
KERNEL(avg_pool2d, avg_pool(cx, "avg_pool2d", 2, in, out))
KERNEL(avg_pool3d, avg_pool(cx, "avg_pool3d", 3, in, out))

static int
adaptive_avg(RtCx *cx, const char *op, int nd, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]);
	Pool g = pool_input(op, self, nd);

	if (self->quant && nd == 3)
		return rt_quantized->volumes(cx, in, out);
	if (self->quant)
		return rt_quantized->windows(cx, &(RtCall){ .kernel = nd == 1 ? rt_adaptive_avg_pool1d :
			rt_adaptive_avg_pool2d, .nin = 2, .nout = 1 }, RT_Q_ADAPTIVE2D, nd, in, out);
	if (pool_adaptive_average(cx, &g, in[1]))
		return RT_ERROR;
	return average_result(cx, &g, self, nd == 2, g.apart ? &average_work : &mean_work, out);
}

KERNEL(adaptive_avg_pool1d, adaptive_avg(cx, "adaptive_avg_pool1d", 1, in, out))
KERNEL(adaptive_avg_pool2d, adaptive_avg(cx, "adaptive_avg_pool2d", 2, in, out))
KERNEL(adaptive_avg_pool3d, adaptive_avg(cx, "adaptive_avg_pool3d", 3, in, out))

/* ---- gradients ------------------------------------------------------------------------------------------------ */

static int
same_as_output(RtCx *cx, const char *op, const RtTensor *grad, const RtTensor *self, const Pool *g)
{
	bool same = grad->ndim == self->ndim;

	for (int i = 0; same && i < self->ndim; i++) {
		int j = i - (self->ndim - 3);

		same = grad->dims[i] == (i < self->ndim - g->nd ? self->dims[i] : g->out[j]);
	}
	return same ? RT_OK : rt_raise(cx, "%s: grad_output does not have the size of the result", op);
}

/* Makes a result like self from the gradient of the output. With scatter_work, reads g->index. */
static int
gradient_result(RtCx *cx, Pool *g, const Work *work, RtTensor *grad, RtTensor *self, IValue *out)
{
	RtDtype ct = loop_type(self);
	int64_t strides[5];
	RtTensor *r = rt_result(cx, 0, self->dtype, self->ndim, self->dims,
		g->nd == 2 ? dense_format(self, self->ndim, self->dims, strides) : 0), *x, *y;

	RT_RESULT(cx, r, out[0]);
	x = dense_out(cx, r, ct);
	y = dense_in(cx, grad, ct);
	if (!x || !y)
		return RT_ERROR;
	memset(rt_data(x), 0, (size_t)(rt_numel(x) * rt_dtypes[ct].bytes));
	g->x = rt_data(x);
	g->y = rt_data(y);
	run_planes(cx, g, work, ct);
	return dense_done(cx, r, x);
}

static int
avg_backward(RtCx *cx, const char *op, int nd, const IValue *in, IValue *out)
{
	RtTensor *grad = rt_tensor(in[0]), *self = rt_tensor(in[1]);
	Pool g = pool_input(op, self, nd);

	if (pool_plain(cx, &g, "F") || average_windows(cx, &g, in + 2) ||
	    same_as_output(cx, op, grad, self, &g))
		return RT_ERROR;
	return gradient_result(cx, &g, &spread_work, grad, self, out);
}

KERNEL(avg_pool2d_backward, avg_backward(cx, "avg_pool2d_backward", 2, in, out))
KERNEL(avg_pool3d_backward, avg_backward(cx, "avg_pool3d_backward", 3, in, out))

static int
adaptive_avg_backward(RtCx *cx, const char *op, int nd, const IValue *in, IValue *out)
{
	RtTensor *grad = rt_tensor(in[0]), *self = rt_tensor(in[1]);
	Pool g = pool_input(op, self, nd);

	if (pool_plain(cx, &g, "F"))
		return RT_ERROR;
	if (grad->ndim != self->ndim)
		return rt_raise(cx, "%s: grad_output and self should have the same number of dims", op);
	for (int i = 3 - nd; i < 3; i++)
		g.out[i] = grad->dims[grad->ndim - 3 + i];
	if (pool_adaptive_tables(cx, &g) || same_as_output(cx, op, grad, self, &g))
		return RT_ERROR;
	return gradient_result(cx, &g, &spread_work, grad, self, out);
}

KERNEL(_adaptive_avg_pool2d_backward, adaptive_avg_backward(cx, "_adaptive_avg_pool2d_backward", 2, in, out))
KERNEL(_adaptive_avg_pool3d_backward, adaptive_avg_backward(cx, "_adaptive_avg_pool3d_backward", 3, in, out))

/* Returns dense indices into planes of in_plane elements. All are checked. Null if an error was raised. */
static int64_t *
checked_indices(RtCx *cx, const Pool *g, RtTensor *index)
{
	RtTensor *t = dense_in(cx, index, RT_i64);
	int64_t n = g->planes * g->out_plane, *at = t ? (int64_t *)rt_data(t) : 0;

	for (int64_t i = 0; at && i < n; i++)
		if (at[i] < 0 || at[i] >= g->in_plane) {
			rt_raise(cx, "Found an invalid max index: %lld (output volumes are of size %lldx%lld",
				 (long long)at[i], (long long)g->in[1], (long long)g->in[2]);
			return 0;
		}
	return at;
}

/* Arguments: grad_output, self, geometry that is not needed because of the indices, indices. */
static int
max_backward(RtCx *cx, const char *op, int nd, const IValue *in, int last, IValue *out)
{
	RtTensor *grad = rt_tensor(in[0]), *self = rt_tensor(in[1]), *index = rt_tensor(in[last]);
	Pool g = pool_input(op, self, nd);

	if (pool_plain(cx, &g, "F"))
		return RT_ERROR;
	if (grad->ndim != self->ndim || index->ndim != grad->ndim)
		return rt_raise(cx, "%s: grad_output, self and indices should have the same number of dims", op);
	for (int i = 3 - nd; i < 3; i++)
		g.out[i] = grad->dims[grad->ndim - 3 + i];
	g.out_plane = g.out[0] * g.out[1] * g.out[2];
	g.add = true;
	if (same_as_output(cx, op, grad, self, &g) || same_as_output(cx, op, index, self, &g))
		return RT_ERROR;
	if (!cx->meta && rt_numel(index)) {
		g.index = checked_indices(cx, &g, index);
		if (!g.index)
			return RT_ERROR;
	}
	return gradient_result(cx, &g, &scatter_work, grad, self, out);
}

KERNEL(max_pool2d_with_indices_backward, max_backward(cx, "max_pool2d_with_indices_backward", 2, in, 7, out))
KERNEL(max_pool3d_with_indices_backward, max_backward(cx, "max_pool3d_with_indices_backward", 3, in, 7, out))
KERNEL(adaptive_max_pool2d_backward, max_backward(cx, "adaptive_max_pool2d_backward", 2, in, 2, out))
KERNEL(adaptive_max_pool3d_backward, max_backward(cx, "adaptive_max_pool3d_backward", 3, in, 2, out))
KERNEL(fractional_max_pool2d_backward, max_backward(cx, "fractional_max_pool2d_backward", 2, in, 4, out))
KERNEL(fractional_max_pool3d_backward, max_backward(cx, "fractional_max_pool3d_backward", 3, in, 4, out))

static bool
size_fits(const int64_t *n)
{
	int64_t v;

	return size_mul(n[0], n[1], &v) && size_mul(v, n[2], &v);
}

/* ---- unpooling -------------------------------------------------------------------------------------------------- */

static int
unpool(RtCx *cx, const char *op, int nd, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]), *index = rt_tensor(in[1]), *r, *x, *y;
	int64_t size[3], dims[5], strides[5];
	RtDtype ct = loop_type(self);
	Pool g = pool_input(op, self, nd);

	if (index->dtype != RT_i64)
		return rt_raise(cx, "elements in indices should be type int64 but got: %s",
				rt_dtypes[index->dtype].brief);
	if (dense_sizes(cx, in[2], op, "output_size", nd, size) || pool_plain(cx, &g, "FI"))
		return RT_ERROR;
	for (int i = 0; i < 3; i++) {                  /* input and output exchange roles: `in` is written */
		g.out[i] = g.in[i];
		g.in[i] = i < 3 - nd ? 1 : size[i - (3 - nd)];
		if (g.in[i] < 0)
			return rt_raise(cx, "%s: output_size should be non-negative", op);
	}
	if (!size_fits(g.in))
		return rt_raise(cx, "%s: output_size is too large", op);
	g.out_plane = g.in_plane;
	g.in_plane = g.in[0] * g.in[1] * g.in[2];
	if (same_as_output(cx, op, index, self, &g))
		return rt_raise(cx, "Expected shape of indices to be same as that of the input tensor");
	memcpy(dims, self->dims, (size_t)self->ndim * 8);
	memcpy(dims + self->ndim - nd, size, (size_t)nd * 8);
	r = rt_result(cx, 0, self->dtype, self->ndim, dims,
		      nd == 2 ? dense_format(self, self->ndim, dims, strides) : 0);
	RT_RESULT(cx, r, out[0]);
	x = dense_out(cx, r, ct);
	y = dense_in(cx, self, ct);
	g.index = checked_indices(cx, &g, index);
	if (!x || !y || !g.index)
		return RT_ERROR;
	memset(rt_data(x), 0, (size_t)(rt_numel(x) * rt_dtypes[ct].bytes));
	g.x = rt_data(x);
	g.y = rt_data(y);
	run_planes(cx, &g, &scatter_work, ct);
	return dense_done(cx, r, x);
}

KERNEL(max_unpool2d, unpool(cx, "max_unpool2d", 2, in, out))
KERNEL(max_unpool3d, unpool(cx, "max_unpool3d", 3, in, out))
