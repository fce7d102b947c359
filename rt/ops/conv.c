/*
 * Convolutions of one to three spatial dims, transposed convolutions, their gradients, im2col and col2im.
 *
 * All use one geometry (Conv) of three spatial dims; missing dims are leading ones of size 1. Forward: for each image
 * and group, the taps under a chunk of output rows are a column matrix (in/groups * taps, points), which is gathered
 * panel by panel as gemm.c multiplies it by the weight (out/groups, in/groups * taps). The adjoint (transposed
 * convolution, gradient of the input) multiplies by the weight's transpose and scatters the columns back. With one
 * input channel per group, planes are summed directly. A 1 x 1 convolution without padding needs no columns. A complex
 * convolution is four real ones.
 */
#include "dense.h"
#include "gemm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BY_TEXT = 80 };

typedef void Body(void *, int64_t, int64_t);

typedef struct Conv {
	int     nd;            /* number of spatial dims in the call: 1, 2 or 3 */
	int64_t n, cin, cout, groups;
	int64_t in[3], out[3], k[3], s[3], p[3], d[3];   /* p: leading padding; the trailing padding follows from out */
	int64_t taps, in_plane, out_plane;
	Body *const *scatter;  /* scatter_taps; null if the adjoint is not needed, so that programs do not link it */
} Conv;

typedef struct Tap {
	int64_t channel, at[3];          /* channel in the group; index of the tap in each dim of k */
	/* range of outputs in the last dim whose input is inside; the input's index is x * s + shift */
	int64_t lo, hi, shift;
} Tap;

typedef struct Columns {
	const Conv *conv;
	void *image, *col;               /* (cin/groups, in...), (cin/groups * taps, rows * out_w) */
	int64_t row, rows;               /* range of output rows (of out_d * out_h) in the columns */
} Columns;

typedef struct Depthwise {
	const Conv *conv;
	void *x, *w, *y;
} Depthwise;

enum {
	CHUNK = 1 << 17,         /* number of elements of a column matrix that stay in cache */
	BLOCK_FLOATS = 2048,     /* number of elements of rows that a depthwise convolution computes together */
};

static int64_t
ceil_div(int64_t a, int64_t b)
{
	return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static Tap
tap_of(const Conv *g, int64_t t)
{
	const int64_t rest = t % g->taps;
	Tap tap;

	tap.channel = t / g->taps;
	tap.at[2] = rest % g->k[2];
	tap.at[1] = rest / g->k[2] % g->k[1];
	tap.at[0] = rest / g->k[2] / g->k[1];
	tap.shift = tap.at[2] * g->d[2] - g->p[2];
	tap.lo = ceil_div(-tap.shift, g->s[2]);
	tap.hi = ceil_div(g->in[2] - tap.shift, g->s[2]);
	tap.lo = tap.lo < 0 ? 0 : tap.lo > g->out[2] ? g->out[2] : tap.lo;
	tap.hi = tap.hi < tap.lo ? tap.lo : tap.hi > g->out[2] ? g->out[2] : tap.hi;
	return tap;
}

/* Returns the offset in its plane of the input row below output row r. -1 if that row is padding. */
static int64_t
row_under(const Conv *g, const Tap *tap, int64_t r)
{
	const int64_t frame = g->out[0] == 1 ? 0 : r / g->out[1];
	const int64_t z = frame * g->s[0] - g->p[0] + tap->at[0] * g->d[0];
	const int64_t y = (r - frame * g->out[1]) * g->s[1] - g->p[1] + tap->at[1] * g->d[1];

	if (z < 0 || z >= g->in[0] || y < 0 || y >= g->in[1])
		return -1;
	return (z * g->in[1] + y) * g->in[2];
}

RT_FAST
#define T float
#define N(name) name##_f32
#include "conv_loops.h"
RT_SMALL
#define T double
#define MOVED
#define N(name) name##_f64
#include "conv_loops.h"
#define T int64_t
#define N(name) name##_i64
#include "conv_loops.h"

/* halves and small integers are moved as bits */
static RtGather *const gather_taps[] = { gather_taps_f32, gather_taps_i64, gather_taps_i64 };
static Body *const scatter_taps[] = { scatter_taps_f32, scatter_taps_f64, scatter_taps_i64 };
static Body *const depthwise[] = { depthwise_f32, depthwise_f64, depthwise_i64 };

static int
which(RtDtype ct)
{
	return ct == RT_f32 ? 0 : ct == RT_f64 ? 1 : 2;
}

static void
fill_planes(RtDtype ct, void *y, const void *bias, int64_t n, int64_t channels, int64_t plane)
{
	if (ct == RT_f32)
		fill_planes_f32(y, bias, n, channels, plane);
	else
		fill_planes_i64(y, bias, n, channels, plane);
}

static void
sum_planes(RtDtype ct, const void *y, void *a, int64_t n, int64_t channels, int64_t plane)
{
	if (ct == RT_f32)
		sum_planes_f32(y, a, n, channels, plane);
	else if (ct == RT_f64)
		sum_planes_f64(y, a, n, channels, plane);
	else
		sum_planes_i64(y, a, n, channels, plane);
}

static bool
is_pointwise(const Conv *g)
{
	for (int i = 0; i < 3; i++)
		if (g->k[i] != 1 || g->s[i] != 1 || g->p[i] != 0 || g->out[i] != g->in[i])
			return false;
	return true;
}

static void
finish_geometry(Conv *g)
{
	g->taps = g->k[0] * g->k[1] * g->k[2];
	g->in_plane = g->in[0] * g->in[1] * g->in[2];
	g->out_plane = g->out[0] * g->out[1] * g->out[2];
}

/* The products with the columns C of a chunk of rows: Y = W C (forward), C = W' Y (adjoint), W += Y C' (weight). */
typedef enum Pass { FORWARD, ADJOINT, WEIGHT } Pass;

typedef struct Parts {
	const Conv *conv;
	RtDtype ct;
	Pass what;
	char *x, *w, *y;                 /* (n, cin, in), (cout, cin/groups, k), (n, cout, out) */
	char *col;
	int64_t es, step;                /* number of bytes of an element; number of rows in a chunk */
} Parts;

/* Arguments of gather_points. */
typedef struct Gathered { const Columns *columns; RtGather *gather; int64_t stride, bytes; } Gathered;

static void
gather_points(void *arg, int64_t begin, int64_t end)
{
	const Gathered *q = arg;

	q->gather(q->columns, begin, end - begin, q->stride, (char *)q->columns->col + begin * q->bytes);
}

/* Computes the column matrix of a type. */
static void
gather_columns(RtCx *cx, RtDtype ct, const Columns *m)
{
	const int64_t points = m->rows * m->conv->out[2], depth = m->conv->cin / m->conv->groups * m->conv->taps;
	Gathered q = { m, gather_taps[which(ct)], points, rt_dtypes[ct].bytes };

	rt_parallel(cx, points, 1 + 20000 / (depth + 1), gather_points, &q);
}

/* Computes one chunk of rows of image n and group i. */
static int
product_chunk(RtCx *cx, const Parts *q, int64_t n, int64_t i, int64_t row, int64_t rows)
{
	const Conv *g = q->conv;
	int64_t cg = g->cin / g->groups, og = g->cout / g->groups, depth = cg * g->taps;
	int64_t points = rows * g->out[2], first = row * g->out[2];
	char *image = q->x + (n * g->cin + i * cg) * g->in_plane * q->es;
	char *y = q->y + ((n * g->cout + i * og) * g->out_plane + first) * q->es;
	char *w = q->w + i * og * depth * q->es;
	bool direct = is_pointwise(g);
	int64_t ldc = direct ? g->out_plane : points;
	char *col = direct ? image + first * q->es : q->col;
	Columns m = { g, image, col, row, rows };
	Product p = { og, points, depth, w, col, depth, 1, ldc, 1, y, .ldc = g->out_plane, .added = true };
	int status;

	if (!direct && q->what == FORWARD) {
		p.b = &m;
		p.gather = gather_taps[which(q->ct)];
	}
	if (!direct && q->what == WEIGHT)
		gather_columns(cx, q->ct, &m);
	if (q->what == WEIGHT)
		p = (Product){ og, depth, points, y, col, g->out_plane, 1, 1, ldc, w, .ldc = depth, .added = true };
	if (q->what == ADJOINT)
		p = (Product){ depth, points, og, w, y, 1, depth, g->out_plane, 1, col, .ldc = ldc, .added = direct };
	status = gemm(cx, q->ct, &p);
	if (!status && q->what == ADJOINT && !direct)
		rt_parallel(cx, cg, 1 + 20000 / (points * g->taps + 1), g->scatter[which(q->ct)], &m);
	return status;
}

/* Computes the product for all images and groups of dense tensors of one dtype. The result must be initialized. */
static int
convolve(RtCx *cx, const Conv *g, Pass what, RtTensor *x, RtTensor *w, RtTensor *y)
{
	const RtDtype ct = (RtDtype)x->dtype;
	Parts q = { g, ct, what, rt_data(x), rt_data(w), rt_data(y), 0, rt_dtypes[ct].bytes, 0 };
	int64_t depth = g->cin / g->groups * g->taps, rows = g->out[0] * g->out[1];
	RtMark mark = rt_scratch_mark(cx);
	int status = RT_OK;

	if (depth == 0 || g->n * g->cout * g->out_plane == 0)
		return RT_OK;
	if (g->cin == g->groups && g->groups > 1 && what == FORWARD) {
		Depthwise a = { g, q.x, q.w, q.y };

		rt_parallel(cx, g->n * g->cout, 1 + 20000 / (g->out_plane * g->taps + 1), depthwise[which(ct)], &a);
		return RT_OK;
	}
	q.step = CHUNK / (depth * g->out[2]);
	q.step = q.step < 1 ? 1 : q.step > rows ? rows : q.step;
	if (!is_pointwise(g) && what != FORWARD) {
		q.col = rt_scratch(cx, depth * q.step * g->out[2] * q.es);
		if (!q.col)
			return RT_ERROR;
	}
	for (int64_t n = 0; n < g->n && !status; n++)
		for (int64_t i = 0; i < g->groups && !status; i++)
			for (int64_t row = 0; row < rows && !status; row += q.step)
				status = product_chunk(cx, &q, n, i, row,
						       rows - row < q.step ? rows - row : q.step);
	rt_scratch_reset(cx, mark);
	return status;
}

/* ---- arguments ---------------------------------------------------------------------------------- */

typedef struct Args {
	const char *op;
	RtTensor *input, *weight, *bias;
	IValue stride, padding, dilation, output_padding;
	const char *mode;                /* "same" or "valid"; null if the padding is numbers */
	bool transposed;
	bool last;                       /* whether the result is channels last regardless of the operands */
	int64_t groups;
	Conv conv;                          /* the forward convolution; a transposed one is its adjoint */
	int64_t dims[5];                 /* dims of the result */
	int ndim;
	bool unbatched;
} Args;

/* Raises an error unless the input has channels and nd spatial dims, with or without a batch. */
static int
check_input_rank(RtCx *cx, const Args *a, int nd)
{
	DenseText x;

	return a->input->ndim == nd + 2 || a->input->ndim == nd + 1 ? RT_OK
		: rt_raise(cx, "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s",
			nd + 1, nd + 2, a->op, dense_text(a->input, &x));
}

static int
check_ranks(RtCx *cx, Args *a)
{
	int nd = a->weight->ndim - 2;
	DenseText w;

	if (nd < 1 || nd > 3)
		return rt_raise(cx, "weight should have at least three dimensions");
	if (check_input_rank(cx, a, nd))
		return RT_ERROR;
	if (a->groups <= 0)
		return rt_raise(cx, "non-positive groups is not supported");
	a->conv.nd = nd;
	a->unbatched = a->input->ndim == nd + 1;
	if (a->input->dtype != a->weight->dtype || (a->bias && a->bias->dtype != a->input->dtype))
		return rt_raise(cx, "Input type (%s) and %s type (%s) should be the same",
			rt_dtypes[a->input->dtype].torch, a->input->dtype != a->weight->dtype ? "weight" : "bias",
			rt_dtypes[a->input->dtype != a->weight->dtype ? a->weight->dtype : a->bias->dtype].torch);
	if (!a->transposed && a->weight->dims[0] % a->groups)
		return rt_raise(cx, a->weight->dims[0] < a->groups
			? "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of "
			  "size %s instead"
			: "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight "
			  "of size [%s] instead",
			(long long)a->groups, (long long)a->groups, dense_text(a->weight, &w));
	return RT_OK;
}

static int
check_channels(RtCx *cx, Args *a)
{
	int64_t channels = a->input->dims[a->unbatched ? 0 : 1];
	int64_t want = a->transposed ? a->weight->dims[0] : a->weight->dims[1] * a->groups;
	int64_t outputs = a->transposed ? a->weight->dims[1] * a->groups : a->weight->dims[0];
	DenseText w, x, b;

	if (channels != want)                  /* PyTorch's message shows an unbatched input with a leading 1 */
		return rt_raise(cx, "Given %s=%lld, weight of size %s, expected input%s%s to have %lld channels, but "
			"got %lld channels instead", a->transposed ? "transposed" : "groups",
			(long long)(a->transposed ? 1 : a->groups), dense_text(a->weight, &w),
			a->unbatched ? "[1, " : "", dense_text(a->input, &x) + a->unbatched, (long long)want,
			(long long)channels);
	if (a->bias && (a->bias->ndim != 1 || a->bias->dims[0] != outputs))
		return rt_raise(cx, "Given %sweight of size %s, expected bias to be 1-dimensional with %lld elements, "
			"but got bias of size %s instead", a->transposed ? "transposed=1, " : "",
			dense_text(a->weight, &w), (long long)outputs, dense_text(a->bias, &b));
	return RT_OK;
}

/* Writes the last n of three sizes as in PyTorch's errors: "5 x 7". */
static const char *
by_text(char text[BY_TEXT], int n, const int64_t *size)
{
	int at = 0;

	for (int i = 3 - n; i < 3; i++)
		at += snprintf(text + at, BY_TEXT - at, "%s%lld", i > 3 - n ? " x " : "", (long long)size[i]);
	return text;
}

/* Computes the output sizes of a forward convolution with padding. Raises an error if the kernel is larger than the
 * input. */
static int
output_sizes(RtCx *cx, Args *a)
{
	Conv *g = &a->conv;
	int64_t padded[3], reach[3];
	char in[BY_TEXT], kernel[BY_TEXT];
	bool fits = true;

	for (int i = 0; i < 3; i++) {
		int64_t pads = 2 * g->p[i];

		if (a->mode) {
			pads = strcmp(a->mode, "same") ? 0 : g->d[i] * (g->k[i] - 1);
			g->p[i] = pads / 2;
		}
		padded[i] = g->in[i] + pads;
		reach[i] = g->d[i] * (g->k[i] - 1) + 1;
		fits &= padded[i] >= reach[i];
		g->out[i] = (padded[i] - reach[i]) / g->s[i] + 1;
	}
	if (fits)
		return RT_OK;
	return rt_raise(cx, "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be "
		"greater than actual input size", by_text(in, g->nd, padded), by_text(kernel, g->nd, reach));
}

static int
read_sizes(RtCx *cx, Args *a, int64_t *extra)
{
	Conv *g = &a->conv;
	int nd = g->nd, lead = 3 - nd;

	for (int i = 0; i < 3; i++) {
		g->k[i] = g->s[i] = g->d[i] = g->in[i] = g->out[i] = 1;
		g->p[i] = extra[i] = 0;
	}
	if (dense_sizes(cx, a->stride, a->op, "stride", nd, g->s + lead) ||
	    (!a->mode && dense_sizes(cx, a->padding, a->op, "padding", nd, g->p + lead)) ||
	    dense_sizes(cx, a->dilation, a->op, "dilation", nd, g->d + lead) ||
	    (a->transposed && dense_sizes(cx, a->output_padding, a->op, "output_padding", nd, extra + lead)))
		return RT_ERROR;
	for (int i = lead; i < 3; i++) {
		g->k[i] = a->weight->dims[2 + i - lead];
		if (g->s[i] <= 0)
			return rt_raise(cx, "non-positive stride is not supported");
		if (g->p[i] < 0)
			return rt_raise(cx, "negative padding is not supported");
		if (g->d[i] <= 0)
			return rt_raise(cx, "dilation should be greater than zero");
		if (g->k[i] <= 0)
			return rt_raise(cx, "kernel size should be greater than zero");
		if (extra[i] < 0)
			return rt_raise(cx, "negative output_padding is not supported");
		if (a->mode && g->s[i] != 1 && !strcmp(a->mode, "same"))
			return rt_raise(cx, "padding='same' is not supported for strided convolutions");
	}
	if (a->mode && strcmp(a->mode, "same") && strcmp(a->mode, "valid"))
		return rt_raise(cx, "Invalid padding string: '%s'", a->mode);
	return RT_OK;
}

/* Raises an error if a dim of the input other than batch and channels is empty. The message has a batch and two spatial
 * dims, as PyTorch's. */
static int
check_empty(RtCx *cx, const Args *a)
{
	const RtTensor *x = a->input;
	const int channel = x->ndim - a->conv.nd - 1;
	int64_t dims[5] = { 1 };
	int n = 1;
	DenseText text;

	if (rt_numel(x) || !x->dims[channel] || !a->conv.n)
		return RT_OK;
	dims[0] = a->conv.n;
	for (int i = channel; i < x->ndim; i++) {
		if (i > channel && a->conv.nd == 1)
			dims[n++] = 1;
		dims[n++] = x->dims[i];
	}
	return rt_raise(cx, "Only zero batch or zero channel inputs are supported, but got input shape: %s",
		dense_dims_text(n, dims, &text));
}

/* Sets the geometry of the forward convolution, and the dims of the result. */
static int
set_geometry(RtCx *cx, Args *a)
{
	Conv *g = &a->conv;
	int64_t extra[3], *in = a->transposed ? g->out : g->in;
	int lead, named;
	char before[BY_TEXT], after[BY_TEXT];
	bool fits = true;

	if (check_ranks(cx, a) || read_sizes(cx, a, extra) || check_channels(cx, a))
		return RT_ERROR;
	lead = 3 - g->nd;
	named = g->nd < 2 ? 2 : g->nd;         /* PyTorch's message shows two dims for a 1-d convolution */
	g->groups = a->groups;
	g->n = a->unbatched ? 1 : a->input->dims[0];
	g->cout = a->weight->dims[0];
	g->cin = a->weight->dims[1] * a->groups;
	for (int i = lead; i < 3; i++)
		in[i] = a->input->dims[a->input->ndim - g->nd + i - lead];
	if (!a->transposed && output_sizes(cx, a))
		return RT_ERROR;
	for (int i = 0; i < 3 && a->transposed; i++) {
		g->in[i] = (g->out[i] - 1) * g->s[i] - 2 * g->p[i] + g->d[i] * (g->k[i] - 1) + extra[i] + 1;
		if (extra[i] && extra[i] >= g->s[i] && extra[i] >= g->d[i])
			return rt_raise(cx, "output padding must be smaller than either stride or dilation, but got "
				"output_padding: %lld, stride: %lld, dilation: %lld", (long long)extra[i],
				(long long)g->s[i], (long long)g->d[i]);
		fits &= g->in[i] > 0 || (!g->n && !g->in[i]);
	}
	if (!fits)
		return rt_raise(cx, "Given input size per channel: (%s). Calculated output size per channel: (%s). "
			"Output size is too small", by_text(before, named, g->out), by_text(after, named, g->in));
	if (check_empty(cx, a))
		return RT_ERROR;
	finish_geometry(g);
	a->ndim = 0;
	if (!a->unbatched)
		a->dims[a->ndim++] = g->n;
	a->dims[a->ndim++] = !a->input->dims[!a->unbatched] ? 0 : a->transposed ? g->cin : g->cout;
	for (int i = lead; i < 3; i++)
		a->dims[a->ndim++] = a->transposed ? g->in[i] : g->out[i];
	return RT_OK;
}

/* ---- kernels ------------------------------------------------------------------------------------- */

/* Computes y (dense, of the result's shape), the convolution of dense x and w plus bias. */
static int
run_real(RtCx *cx, const Args *a, RtTensor *x, RtTensor *w, RtTensor *bias, RtTensor *y)
{
	const Conv *g = &a->conv;

	fill_planes((RtDtype)y->dtype, rt_data(y), bias ? rt_data(bias) : 0, g->n, a->transposed ? g->cin : g->cout,
		a->transposed ? g->in_plane : g->out_plane);
	if (a->transposed)
		return convolve(cx, g, ADJOINT, y, w, x);
	return convolve(cx, g, FORWARD, x, w, y);
}

/* Returns the real (part 0) or imaginary part of complex t as a dense tensor. */
static RtTensor *
complex_part(RtCx *cx, RtTensor *t, RtDtype ct, int part)
{
	RtDtype complex = ct == RT_f32 ? RT_c64 : RT_c128;
	RtTensor *d = dense_in(cx, t, complex), *r = rt_temp(cx, rt_tensor_new(cx, ct, t->ndim, t->dims));
	int64_t es = rt_dtypes[ct].bytes;

	if (!d || !r)
		return 0;
	rt_cast_strided(rt_data(r), (RtRun){ ct, es }, rt_data(d) + part * es, (RtRun){ ct, 2 * es }, rt_numel(t));
	return r;
}

/* Combines four real products into the complex result. y: real by real, real by imaginary, imaginary by imaginary,
 * imaginary by real. A null product is zero. */
static int
put_product(RtCx *cx, RtTensor *const y[4], RtDtype ct, RtTensor *result)
{
	RtTensor *out = dense_out(cx, result, ct == RT_f32 ? RT_c64 : RT_c128);
	const int64_t n = rt_numel(result), es = rt_dtypes[ct].bytes;

	if (!out)
		return RT_ERROR;
	for (int64_t i = 0; i < n; i++) {
		double v[4];

		for (int j = 0; j < 4; j++)
			v[j] = y[j] ? rt_load_f64(ct, rt_data(y[j]) + i * es) : 0;
		if (ct == RT_f32)
			((RtC64 *)rt_data(out))[i] = (RtC64){ (float)(v[0] - v[2]), (float)(v[1] + v[3]) };
		else
			((RtC128 *)rt_data(out))[i] = (RtC128){ v[0] - v[2], v[1] + v[3] };
	}
	return dense_done(cx, result, out);
}

static int
run_complex(RtCx *cx, const Args *a, RtTensor *result)
{
	RtDtype ct = compute_type(result) == RT_c64 ? RT_f32 : RT_f64;
	RtTensor *x[2], *w[2], *y[4], *bias[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		x[i] = complex_part(cx, a->input, ct, i);
		w[i] = complex_part(cx, a->weight, ct, i);
		bias[i] = a->bias ? complex_part(cx, a->bias, ct, i) : 0;
		if (!x[i] || !w[i] || (a->bias && !bias[i]))
			return RT_ERROR;
	}
	for (int i = 0; i < 4; i++) {
		RtTensor *b = i == 0 ? bias[0] : i == 1 ? bias[1] : 0;

		y[i] = rt_temp(cx, rt_tensor_new(cx, ct, result->ndim, result->dims));
		if (!y[i] || run_real(cx, a, x[i / 2], w[i == 1 || i == 2], b, y[i]))
			return RT_ERROR;
	}
	return put_product(cx, y, ct, result);
}

static int
run_convolution(RtCx *cx, Args *a, IValue *place)
{
	int64_t strides[5];
	const int64_t *keep;
	RtTensor *r, *x, *w, *b = 0, *y;
	RtDtype ct;

	if (strchr("BQUE", rt_category((RtDtype)a->input->dtype)))
		return rt_raise(cx, "\"%s\" not implemented for '%s'",
				a->transposed ? "slow_conv_transpose2d_out_cpu" : "slow_conv2d_cpu",
				rt_dtypes[a->input->dtype].brief);
	if (set_geometry(cx, a))
		return RT_ERROR;
	keep = a->conv.nd == 2 && !a->transposed ? dense_format(a->input, a->ndim, a->dims, strides) : 0;
	if (!keep && a->conv.nd == 2 && !a->transposed && !a->unbatched)
		keep = dense_format(a->weight, a->ndim, a->dims, strides);
	if (a->last) {
		rt_channels_last_strides(a->ndim, a->dims, strides);
		keep = strides;
	}
	r = rt_result(cx, 0, a->input->dtype, a->ndim, a->dims, keep);
	RT_RESULT(cx, r, *place);
	if (!rt_numel(r))                    /* an input without channels gives a result without channels */
		return RT_OK;
	if (rt_dtypes[r->dtype].category == 'C')
		return run_complex(cx, a, r);
	ct = compute_type(r);
	x = dense_in(cx, a->input, ct);
	w = dense_in(cx, a->weight, ct);
	b = a->bias ? dense_in(cx, a->bias, ct) : 0;
	y = dense_out(cx, r, ct);
	if (!x || !w || !y || (a->bias && !b) || run_real(cx, a, x, w, b, y))
		return RT_ERROR;
	return dense_done(cx, r, y);
}

static int
forward(RtCx *cx, const char *op, int nd, const IValue *in, IValue *out)
{
	Args a = { .op = op, .input = rt_tensor(in[0]), .weight = rt_tensor(in[1]), .bias = rt_tensor(in[2]),
		.stride = in[3], .padding = in[4], .dilation = in[5], .groups = in[6].u.i };
	DenseText w;

	if (in[4].tag == RT_STR)
		a.mode = in[4].u.str->s;
	if (check_input_rank(cx, &a, nd))
		return RT_ERROR;
	if (a.weight->ndim != nd + 2 && a.weight->ndim > 2)
		return rt_raise(cx, "Expected %dD weight to %s, but got weight of size: %s", nd + 2, op,
				dense_text(a.weight, &w));
	return run_convolution(cx, &a, out);
}

KERNEL(conv1d, forward(cx, "conv1d", 1, in, out))
KERNEL(conv2d, forward(cx, "conv2d", 2, in, out))
KERNEL(conv3d, forward(cx, "conv3d", 3, in, out))
KERNEL(conv1d_padding, forward(cx, "conv1d", 1, in, out))
KERNEL(conv2d_padding, forward(cx, "conv2d", 2, in, out))
KERNEL(conv3d_padding, forward(cx, "conv3d", 3, in, out))

int
rt__convolution_mode(RtCx *cx, const IValue *in, IValue *out)
{
	return forward(cx, "conv", rt_tensor(in[1])->ndim - 2, in, out);
}

static int
transpose(RtCx *cx, const char *op, const IValue *in, IValue *out)
{
	Args a = { .op = op, .input = rt_tensor(in[0]), .weight = rt_tensor(in[1]), .bias = rt_tensor(in[2]),
		.stride = in[3], .padding = in[4], .output_padding = in[5], .groups = in[6].u.i, .dilation = in[7],
		.transposed = true, .conv.scatter = scatter_taps };

	return run_convolution(cx, &a, out);
}

KERNEL(conv_transpose1d, transpose(cx, "conv_transpose1d", in, out))
KERNEL(conv_transpose2d_input, transpose(cx, "conv_transpose2d", in, out))
KERNEL(conv_transpose3d_input, transpose(cx, "conv_transpose3d", in, out))

/* Runs a convolution. Arguments: those of aten::convolution, which are the first nine of aten::_convolution. */
static int
any_convolution(RtCx *cx, bool last, const IValue *in, IValue *out)
{
	Args a = { .op = "convolution", .last = last, .input = rt_tensor(in[0]), .weight = rt_tensor(in[1]),
		.bias = rt_tensor(in[2]),
		.stride = in[3], .padding = in[4], .dilation = in[5], .transposed = in[6].u.i != 0,
		.output_padding = in[7], .groups = in[8].u.i, .conv.scatter = scatter_taps };

	return run_convolution(cx, &a, out);
}

KERNEL(convolution, any_convolution(cx, false, in, out))
KERNEL(prim_convolution, any_convolution(cx, true, in, out))

/* Runs the overload that occurs in traces. Its input always has a batch. */
static int
traced(RtCx *cx, const IValue *in, IValue *out)
{
	const RtTensor *x = rt_tensor(in[0]), *w = rt_tensor(in[1]);
	DenseText a, b;

	if (x->ndim == w->ndim - 1)
		return rt_raise(cx, "Expected %d-dimensional input for %d-dimensional weight %s, but got "
			"%d-dimensional input of size %s instead", w->ndim, w->ndim, dense_text(w, &a), x->ndim,
			dense_text(x, &b));
	return rt_convolution(cx, in, out);
}

KERNEL(_convolution, traced(cx, in, out))
KERNEL(_convolution_deprecated, traced(cx, in, out))

/* ---- gradients ------------------------------------------------------------------------------------- */

/* Computes y, result i of aten::convolution_backward, from dense tensors of its type. `other` is the weight for the
 * input's gradient, and the input for the weight's. */
static int
backward_real(RtCx *cx, const Args *a, RtTensor *grad, RtTensor *other, int i, RtTensor *y)
{
	const Conv *g = &a->conv;
	const RtDtype ct = (RtDtype)y->dtype;

	if (i == 2) {
		sum_planes(ct, rt_data(grad), rt_data(y), g->n, a->transposed ? g->cin : g->cout,
			a->transposed ? g->in_plane : g->out_plane);
		return RT_OK;
	}
	memset(rt_data(y), 0, (size_t)(rt_numel(y) * rt_dtypes[ct].bytes));
	if (i == 0)
		return a->transposed ? convolve(cx, g, FORWARD, grad, other, y) :
				       convolve(cx, g, ADJOINT, y, other, grad);
	return a->transposed ? convolve(cx, g, WEIGHT, grad, y, other) : convolve(cx, g, WEIGHT, other, y, grad);
}

/* Returns the factor by which the gradient is multiplied for result i. Null for the bias, which has none. */
static RtTensor *
other_factor(const Args *a, int i)
{
	return i == 0 ? a->weight : i == 1 ? a->input : NULL;
}

static int
backward_complex(RtCx *cx, const Args *a, RtTensor *grad, int i, RtTensor *r)
{
	const RtDtype ct = compute_type(r) == RT_c64 ? RT_f32 : RT_f64;
	RtTensor *gy[2], *other[2] = { 0, 0 }, *y[4] = { 0 }, *const factor = other_factor(a, i);

	for (int k = 0; k < 2; k++) {
		gy[k] = complex_part(cx, grad, ct, k);
		other[k] = factor ? complex_part(cx, factor, ct, k) : NULL;
		if (!gy[k] || (factor && !other[k]))
			return RT_ERROR;
	}
	for (int k = 0; k < (factor ? 4 : 2); k++) {
		y[k] = rt_temp(cx, rt_tensor_new(cx, ct, r->ndim, r->dims));
		if (!y[k] || backward_real(cx, a, gy[factor ? k / 2 : k], other[k == 1 || k == 2], i, y[k]))
			return RT_ERROR;
	}
	return put_product(cx, y, ct, r);
}

static int
backward_part(RtCx *cx, const Args *a, RtTensor *grad, int i, RtTensor *r)
{
	RtTensor *const factor = other_factor(a, i), *gy, *other, *y;
	RtDtype ct;

	if (rt_dtypes[a->input->dtype].category == 'C')
		return backward_complex(cx, a, grad, i, r);
	ct = compute_type(a->input);
	gy = dense_in(cx, grad, ct);
	other = factor ? dense_in(cx, factor, ct) : NULL;
	y = dense_out(cx, r, ct);
	if (!gy || !y || (factor && !other) || backward_real(cx, a, gy, other, i, y))
		return RT_ERROR;
	return dense_done(cx, r, y);
}

/* Arguments: grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
 * mask. */
int
rt_convolution_backward(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *grad = rt_tensor(in[0]), *r[3] = { 0, 0, 0 };
	Args a = { .op = "convolution_backward", .input = rt_tensor(in[1]), .weight = rt_tensor(in[2]), .stride = in[4],
		.padding = in[5], .dilation = in[6], .transposed = in[7].u.i != 0, .conv.scatter = scatter_taps,
		.output_padding = in[8], .groups = in[9].u.i };
	RtList *mask = in[10].u.list;
	int64_t strides[5];
	bool same;

	if (set_geometry(cx, &a))
		return RT_ERROR;
	same = grad->ndim == a.ndim;
	for (int i = 0; same && i < a.ndim; i++)
		same = grad->dims[i] == a.dims[i];
	if (!same)
		return rt_raise(cx,
				"convolution_backward: grad_output does not have the size of the convolution's result");
	for (int i = 0; i < 3; i++) {
		RtTensor *like = i == 0 ? a.input : a.weight;
		int64_t channels = a.transposed ? a.conv.cin : a.conv.cout, none = 0;

		if (i >= mask->n || !mask->v[i].u.i)
			r[i] = rt_result(cx, i, like->dtype, 1, &none, 0);
		else
			r[i] = i == 2 ? rt_result(cx, i, like->dtype, 1, &channels, 0) :
				rt_result(cx, i, like->dtype, like->ndim, like->dims,
					i == 0 && a.conv.nd == 2 ? dense_format(grad, like->ndim, like->dims, strides) :
					0);
		RT_PUT(r[i], out[i]);
	}
	for (int i = 0; i < 3 && !cx->meta; i++)
		if (i < mask->n && mask->v[i].u.i && backward_part(cx, &a, grad, i, r[i]))
			return RT_ERROR;
	return RT_OK;
}

/* ---- im2col, col2im ----------------------------------------------------------------------------------- */

/* Sets the geometry of a window over an h x w plane. Arguments in[1 ..]: kernel_size, dilation, padding, stride. */
static int
window_geometry(RtCx *cx, const char *op, const IValue *in, int64_t h, int64_t w, Conv *g)
{
	int64_t room;

	g->in[1] = h;
	g->in[2] = w;
	g->in[0] = g->out[0] = g->k[0] = g->s[0] = g->d[0] = g->groups = 1;
	g->p[0] = 0;
	if (dense_sizes(cx, in[0], op, "kernel_size", 2, g->k + 1) ||
	    dense_sizes(cx, in[1], op, "dilation", 2, g->d + 1) || dense_sizes(cx, in[2], op, "padding", 2, g->p + 1) ||
	    dense_sizes(cx, in[3], op, "stride", 2, g->s + 1))
		return RT_ERROR;
	for (int i = 1; i < 3; i++) {
		if (g->k[i] <= 0 || g->d[i] <= 0 || g->s[i] <= 0 || g->p[i] < 0)
			return rt_raise(cx, "%s: kernel_size, dilation and stride should be greater than zero", op);
		room = g->in[i] + 2 * g->p[i] - g->d[i] * (g->k[i] - 1) - 1;
		g->out[i] = room / g->s[i] - (room % g->s[i] < 0) + 1;
	}
	if (g->out[1] < 1 || g->out[2] < 1)
		return rt_raise(cx, "Given input with spatial size (%lld, %lld), kernel_size=(%lld, %lld), "
			"dilation=(%lld, %lld), padding=(%lld, %lld), calculated shape of the array of sliding blocks "
			"as (%lld, %lld), but its components must be at least one.", (long long)h, (long long)w,
			(long long)g->k[1], (long long)g->k[2], (long long)g->d[1], (long long)g->d[2],
			(long long)g->p[1],
			(long long)g->p[2], (long long)g->out[1], (long long)g->out[2]);
	finish_geometry(g);
	return RT_OK;
}

/* Returns a real dtype in which the gather and scatter loops move t without loss. */
static RtDtype
move_type(const RtTensor *t)
{
	RtDtype ct = compute_type(t);

	return ct == RT_b8 ? RT_i64 : ct;
}

/* Runs a kernel that only moves and adds on the real and the imaginary part of a complex self. Stores both in r. */
static int
by_parts(RtCx *cx, RtKernel *kernel, const IValue *in, int nin, RtTensor *self, RtTensor *r)
{
	RtDtype ct = compute_type(self) == RT_c64 ? RT_f32 : RT_f64;
	RtTensor *out = dense_out(cx, r, compute_type(self));
	int64_t es = rt_dtypes[ct].bytes;
	IValue v[6], part;

	memcpy(v, in, (size_t)nin * sizeof *in);
	for (int i = 0; i < 2; i++) {
		RtTensor *x = complex_part(cx, self, ct, i);

		v[0] = rt_of(x);
		if (!x || !out || rt_call_temp(cx, kernel, &part, 1, v))
			return RT_ERROR;
		rt_cast_strided(rt_data(out) + i * es, (RtRun){ ct, 2 * es },
				rt_data(part.u.t), (RtRun){ ct, es }, rt_numel(out));
	}
	return dense_done(cx, r, out);
}

static int
check_window_dtype(RtCx *cx, const char *name, const RtTensor *t)
{
	return !rt_is_integral((RtDtype)t->dtype, false) && !rt_is_stored_only((RtDtype)t->dtype) ? RT_OK :
		rt_raise(cx, "\"%s_out_cpu\" not implemented for '%s'", name, rt_dtypes[t->dtype].brief);
}

int
rt_im2col(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]), *r, *x, *y;
	int lead = self->ndim - 3;
	int64_t dims[3], channels, n;
	DenseText text;
	RtDtype ct;
	Conv g;

	if ((self->ndim != 3 && self->ndim != 4) || self->dims[lead] * self->dims[lead + 1] * self->dims[lead + 2] == 0)
		return rt_raise(cx, "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
			"non-zero dimensions for input, but got: %s", dense_text(self, &text));
	if (window_geometry(cx, "im2col", in + 1, self->dims[lead + 1], self->dims[lead + 2], &g) ||
	    check_window_dtype(cx, "im2col", self))
		return RT_ERROR;
	n = lead ? self->dims[0] : 1;
	channels = g.cin = self->dims[lead];
	dims[0] = n;
	dims[lead] = channels * g.taps;
	dims[lead + 1] = g.out_plane;
	r = rt_result(cx, 0, self->dtype, lead + 2, dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (rt_dtypes[self->dtype].category == 'C')
		return by_parts(cx, rt_im2col, in, 5, self, r);
	ct = move_type(self);
	x = dense_in(cx, self, ct);
	y = dense_out(cx, r, ct);
	if (!x || !y)
		return RT_ERROR;
	for (int64_t i = 0; i < n; i++) {
		int64_t es = rt_dtypes[ct].bytes;
		Columns m = { &g, rt_data(x) + i * channels * g.in_plane * es,
			rt_data(y) + i * channels * g.taps * g.out_plane * es, 0, g.out[1] };

		gather_columns(cx, ct, &m);
	}
	return dense_done(cx, r, y);
}

/* Raises an error unless the columns have `rows` channels times taps, and `blocks` positions. */
static int
check_blocks(RtCx *cx, const Conv *g, const int64_t size[2], int64_t rows, int64_t blocks)
{
	if (rows % g->taps)
		return rt_raise(cx, "Expected size of input's dimension 1 to be divisible by the product of "
			"kernel_size, but got input.size(1)=%lld and kernel_size=(%lld, %lld).", (long long)rows,
			(long long)g->k[1], (long long)g->k[2]);
	if (blocks == g->out_plane)
		return RT_OK;
	return rt_raise(cx, "Given output_size=(%lld, %lld), kernel_size=(%lld, %lld), dilation=(%lld, %lld), "
		"padding=(%lld, %lld), stride=(%lld, %lld), expected size of input's dimension 2 to match the "
		"calculated number of sliding blocks %lld * %lld = %lld, but got input.size(2)=%lld.",
		(long long)size[0], (long long)size[1], (long long)g->k[1], (long long)g->k[2], (long long)g->d[1],
		(long long)g->d[2], (long long)g->p[1], (long long)g->p[2], (long long)g->s[1], (long long)g->s[2],
		(long long)g->out[1], (long long)g->out[2], (long long)g->out_plane, (long long)blocks);
}

int
rt_col2im(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]), *r, *x, *y;
	int lead = self->ndim - 2;
	int64_t dims[4], size[2], channels, n, es;
	DenseText text;
	RtDtype ct;
	Conv g;

	if ((self->ndim != 2 && self->ndim != 3) || self->dims[lead] * self->dims[lead + 1] == 0)
		return rt_raise(cx, "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
			"non-zero dimensions for input, but got: %s", dense_text(self, &text));
	if (dense_sizes(cx, in[1], "col2im", "output_size", 2, size) ||
	    window_geometry(cx, "col2im", in + 2, size[0], size[1], &g))
		return RT_ERROR;
	n = lead ? self->dims[0] : 1;
	if (check_blocks(cx, &g, size, self->dims[lead], self->dims[lead + 1]) ||
	    check_window_dtype(cx, "col2im", self))
		return RT_ERROR;
	channels = g.cin = self->dims[lead] / g.taps;
	dims[0] = n;
	dims[lead] = channels;
	dims[lead + 1] = size[0];
	dims[lead + 2] = size[1];
	r = rt_result(cx, 0, self->dtype, lead + 3, dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (rt_dtypes[self->dtype].category == 'C')
		return by_parts(cx, rt_col2im, in, 6, self, r);
	ct = move_type(self);
	es = rt_dtypes[ct].bytes;
	x = dense_in(cx, self, ct);
	y = dense_out(cx, r, ct);
	if (!x || !y)
		return RT_ERROR;
	memset(rt_data(y), 0, (size_t)(rt_numel(y) * es));
	for (int64_t i = 0; i < n; i++) {
		Columns m = { &g, rt_data(y) + i * channels * g.in_plane * es,
			rt_data(x) + i * channels * g.taps * g.out_plane * es, 0, g.out[1] };

		rt_parallel(cx, channels, 1 + 20000 / (g.out_plane * g.taps + 1), scatter_taps[which(ct)], &m);
	}
	return dense_done(cx, r, y);
}
