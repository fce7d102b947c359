/*
 * Resampling: nearest, linear, cubic and Lanczos interpolation to a given size, and sampling at the points of a grid.
 *
 * Interpolation is separable: each dim has a table of taps (input index and weight for each output) and a pass. The
 * scale has the element's compute type and coordinates are double, so that floors are the same as in PyTorch.
 */
#include "block.h"
#include "quant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vtaps.h"

typedef enum Kind { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LANCZOS } Kind;     /* LANCZOS: only with antialiasing */

typedef struct Rule {                    /* Interpolation along a dim. */
	Kind   kind;
	bool   align, wide; /* whether corners are aligned (align_corners); whether filters are widened (antialias) */
	double scale;                    /* given scale factor; 0 if it follows from the sizes */
} Rule;

typedef struct Taps {
	int64_t  in, out, width;
	int64_t *at;                     /* (out, width) input indices of the taps */
	void    *weight;                 /* (out, width) weights of type T */
} Taps;

typedef struct Pass {
	const Taps *taps;
	int64_t inner;
	void *x, *y;
} Pass;

/* Returns the kind of the antialiasing filter. */
static VzKind
smooth(Kind kind)
{
	return kind == CUBIC ? VZ_SMOOTH_CUBIC : kind == LANCZOS ? VZ_SMOOTH_LANCZOS : VZ_SMOOTH_LINEAR;
}

/* Returns the coordinate of output o in the input. */
static double
middle_of(const Rule *rule, double scale, int64_t o)
{
	const double half = rule->align ? 0 : 0.5;

	return scale * ((double)o + half) - half;
}

RT_FAST
#define T float
#define N(name) name##_f32
#include "taps_loops.h"
#define T double
#define N(name) name##_f64
#include "taps_loops.h"
#define T float
#define N(name) name##_f32
#include "resample_loops.h"
#define T double
#define N(name) name##_f64
#include "resample_loops.h"
#define T float
#define N(name) name##_f32
#define F(name) name##f
#include "vgrid_loops.h"
#define T double
#define N(name) name##_f64
#define F(name) name
#include "vgrid_loops.h"
#include "taps_bytes.h"
RT_SMALL

static void
nearest_taps(Taps *g, const Rule *rule, RtDtype ct)
{
	vz_nearest(g->out, g->in, rule->kind == NEAREST_EXACT, rule->scale, g->at);
	for (int64_t o = 0; o < g->out; o++)
		if (ct == RT_f32)
			((float *)g->weight)[o] = 1;
		else
			((double *)g->weight)[o] = 1;
}

/* Makes the taps of a dim. The caller sets g->in and g->out. */
static int
make_taps(RtCx *cx, Taps *g, const Rule *rule, RtDtype ct)
{
	const int64_t in = g->in, out = g->out;
	double scale = rule->align ? (out > 1 ? (double)(in - 1) / (double)(out - 1) : 0) :
		rule->scale > 0 ? 1 / rule->scale : (double)in / (double)out;
	double half = (double)vz_reach(smooth(rule->kind));

	g->width = rule->kind == CUBIC ? 4 : rule->kind == LINEAR ? 2 : 1;
	if (rule->wide)
		g->width = (int64_t)fmin(ceil(scale >= 1 ? half * scale : half) * 2 + 1, (double)in);
	g->at = rt_scratch(cx, out * g->width * 8 + 8);
	g->weight = rt_scratch(cx, out * g->width * 8 + 8);
	if (!g->at || !g->weight)
		return RT_ERROR;
	if (rule->kind <= NEAREST_EXACT)
		nearest_taps(g, rule, ct);
	else if (ct == RT_f32)
		(rule->wide ? make_wide_taps_f32 : make_taps_f32)(g, rule);
	else
		(rule->wide ? make_wide_taps_f64 : make_taps_f64)(g, rule);
	return RT_OK;
}

/* Returns the compute type of the loops. Integers are computed in double. */
static RtDtype
loop_type(const RtTensor *t)
{
	return compute_type(t) == RT_f32 ? RT_f32 : RT_f64;
}

typedef struct Planes { RtDtype ct; int nd; int64_t n; const Taps *taps; } Planes;      /* n planes of nd dims each */

/* Interpolates x (planes, in...) to y (planes, out...), the last dim first. Or runs the adjoint from y to x, the first
 * dim first. */
static int
passes(RtCx *cx, const Planes *p, bool adjoint, void *from, void *to)
{
	const RtDtype ct = p->ct;
	const Taps *taps = p->taps;
	const int nd = p->nd;

	for (int step = 0; step < nd; step++) {
		int d = adjoint ? step : nd - 1 - step;
		int64_t inner = 1, outer = p->n, n;
		Pass pass;
		void *next = to;

		for (int i = 0; i < nd; i++)
			*(i < d ? &outer : &inner) *= i == d ? 1 : i < d ? taps[i].in : taps[i].out;
		n = outer * inner * (adjoint ? taps[d].in : taps[d].out);
		if (step < nd - 1 && !(next = rt_scratch(cx, n * rt_dtypes[ct].bytes + 1)))
			return RT_ERROR;
		if (adjoint)
			memset(next, 0, (size_t)(n * rt_dtypes[ct].bytes));
		pass = (Pass){ &taps[d], inner, adjoint ? next : from, adjoint ? from : next };
		rt_parallel(cx, outer, 1 + 8000 / (taps[d].out * taps[d].width * inner + 1), ct == RT_f32 ?
			(adjoint ? taps_backward_f32 : taps_forward_f32) :
			(adjoint ? taps_backward_f64 : taps_forward_f64), &pass);
		from = next;
	}
	return RT_OK;
}

/* ---- arguments ------------------------------------------------------------------------------------------- */

typedef struct Resize {
	const char *op;
	int     nd;
	Kind    kind;
	bool    align, wide;
	int64_t out[3];
	double  scale[3];
} Resize;

/* Returns a text such as "H: 3, W: 4". */
static const char *
spatial_text(char text[SIZES_TEXT], int n, const int64_t *size)
{
	int at = 0;

	for (int i = 0; i < n; i++)
		at += snprintf(text + at, SIZES_TEXT - at, "%s%c: %lld", i ? ", " : "", "DHW"[3 - n + i],
			(long long)size[i]);
	return text;
}

static int
check_sizes(RtCx *cx, const Resize *g, int ndim, const int64_t *dims)
{
	char in[SIZES_TEXT], out[SIZES_TEXT], sizes[SIZES_TEXT];

	if (ndim != g->nd + 2)
		return rt_raise(cx, "It is expected input_size equals to %d, but got size %d", g->nd + 2, ndim);
	for (int i = 0; i < g->nd; i++)
		if (dims[2 + i] <= 0 || g->out[i] <= 0)
			return rt_raise(cx, "Input and output sizes should be greater than 0, but got input (%s)%s "
				"output (%s)", spatial_text(in, g->nd, dims + 2), g->nd > 1 ? "" : " and",
				spatial_text(out, g->nd, g->out));
	if (dims[1] > 0)
		return RT_OK;
	return rt_raise(cx, "Non-empty %dD data tensor expected but got a tensor with sizes %s", g->nd + 2,
		sizes_text(sizes, ndim, dims));
}

static int
set_taps(RtCx *cx, const Resize *g, const RtTensor *t, const int64_t *in, Taps *taps)
{
	for (int i = 0; i < g->nd; i++) {
		Rule rule = { g->kind, g->align, g->wide, g->scale[i] };

		taps[i] = (Taps){ .in = in[i], .out = g->out[i] };
		if (make_taps(cx, &taps[i], &rule, loop_type(t)))
			return RT_ERROR;
	}
	return RT_OK;
}

/* State of a nearest interpolation, which copies elements, or all channels of a pixel if channels are last. */
typedef struct Nearest {
	const Taps *taps[3];                     /* three dims; missing ones have size 1 */
	const char *x;
	char       *y;
	int64_t     bytes;                       /* number of bytes of a copied item */
} Nearest;

/* Computes lines [begin, end). A line with the same source as the previous one is copied from that one. */
static void
nearest_lines(void *arg, int64_t begin, int64_t end)
{
	const Nearest *g = arg;
	const Taps *const *t = g->taps;
	const int64_t rows = t[0]->out * t[1]->out, line = t[2]->out * g->bytes;
	int64_t last = -1;

	for (int64_t i = begin; i < end; i++) {
		const int64_t z = t[0]->at[i % rows / t[1]->out], y = t[1]->at[i % t[1]->out];
		const int64_t from = (i / rows * t[0]->in + z) * t[1]->in + y;
		char *to = g->y + i * line;

		if (from == last)
			rt_copy_bytes(to, to - line, (size_t)line);
		else
			pick_blocks(to, g->x + from * t[2]->in * g->bytes, t[2]->out, t[2]->at, g->bytes);
		last = from;
	}
}

/* Interpolates to r, which is contiguous, or has `strides` with channels last. */
static int
nearest(RtCx *cx, const Resize *g, RtTensor *t, RtTensor *r, const int64_t *strides)
{
	int64_t planes = t->dims[0] * (strides ? 1 : t->dims[1]), rows, first = 0;
	const Taps one = { .in = 1, .out = 1, .width = 1, .at = &first };
	Nearest n = { { &one, &one, &one }, NULL, rt_data(r), rt_dtypes[t->dtype].bytes * (strides ? t->dims[1] : 1) };
	Taps taps[3];
	int64_t from[5];
	RtTensor *x = t;

	if (strides)
		rt_channels_last_strides(t->ndim, t->dims, from);
	if ((t->flags & RT_BITS) || (strides ? memcmp(t->strides, from, sizeof *from * (size_t)t->ndim) != 0 :
				     !rt_is_contiguous(t))) {
		x = rt_temp(cx, rt_tensor_strided(cx, (RtDtype)t->dtype, t->ndim, t->dims, strides ? from : NULL));
		if (!x || rt_copy_into(cx, x, t))
			return RT_ERROR;
	}
	n.x = rt_data(x);
	if (set_taps(cx, g, t, t->dims + 2, taps))
		return RT_ERROR;
	for (int i = 0; i < g->nd; i++)
		n.taps[3 - g->nd + i] = &taps[i];
	rows = planes * n.taps[0]->out * n.taps[1]->out;
	rt_parallel(cx, rows, 1 + 65536 / (n.taps[2]->out * n.bytes + 1), nearest_lines, &n);
	return RT_OK;
}

/* Whether PyTorch interpolates this dtype. */
static bool
takes_dtype(const Resize *g, const RtTensor *t)
{
	return is_floating(t) || (t->dtype == RT_u8 && (g->kind <= NEAREST_EXACT || g->nd == 2));
}

/* Interpolates x to y. Both are row-major tensors of the loops' type, or of bytes. */
static int
interpolate(RtCx *cx, const Resize *g, RtDtype ct, Taps *taps, RtTensor *x, RtTensor *y)
{
	const int64_t n = y->dims[0] * y->dims[1];

	if (x->dtype == RT_u8)
		return resize_bytes(cx, n, g->nd, taps, (const uint8_t *)rt_data(x), (uint8_t *)rt_data(y));
	return passes(cx, &(Planes){ ct, g->nd, n, taps }, false, rt_data(x), rt_data(y));
}

static int
resize(RtCx *cx, Resize *g, RtTensor *t, IValue *out)
{
	int64_t dims[5], strides[5];
	const int64_t *format;
	RtDtype ct = loop_type(t);
	RtTensor *r, *x, *y;
	Taps taps[3];

	if (check_sizes(cx, g, t->ndim, t->dims))
		return RT_ERROR;
	if (!takes_dtype(g, t))
		return rt_raise(cx, "\"%s\" not implemented for '%s'", g->op, rt_dtypes[t->dtype].brief);
	dims[0] = t->dims[0];
	dims[1] = t->dims[1];
	memcpy(dims + 2, g->out, (size_t)g->nd * 8);
	format = g->kind < CUBIC || t->dtype == RT_u8 ? dense_format(t, t->ndim, dims, strides) : NULL;
	r = rt_result(cx, 0, t->dtype, t->ndim, dims, format);
	RT_RESULT(cx, r, out[0]);
	if (g->kind <= NEAREST_EXACT)
		return rt_numel(r) ? nearest(cx, g, t, r, format) : RT_OK;
	x = dense_in(cx, t, t->dtype == RT_u8 ? RT_u8 : ct);
	y = dense_out(cx, r, t->dtype == RT_u8 ? RT_u8 : ct);
	if (!x || !y || set_taps(cx, g, t, t->dims + 2, taps) || interpolate(cx, g, ct, taps, x, y))
		return RT_ERROR;
	return dense_done(cx, r, y);
}

/* Reads the scale factors of the plain overloads: one optional number for each dim. */
static void
read_scales(Resize *g, const IValue *in)
{
	for (int i = 0; i < g->nd; i++)
		g->scale[i] = rt_is_none(in[i]) ? 0 : rt_number(in[i]);
}

/* Arguments: self, output_size, (align_corners), scales... */
static int
plain(RtCx *cx, Resize g, const IValue *in, IValue *out)
{
	bool has_align = g.kind >= LINEAR;

	if (dense_sizes(cx, in[1], g.op, "output_size", g.nd, g.out))
		return RT_ERROR;
	g.align = has_align && in[2].u.i;
	read_scales(&g, in + 2 + has_align);
	return resize(cx, &g, rt_tensor(in[0]), out);
}

/* Arguments: input, output_size or None, (align_corners), scale_factors or None. */
static int
by_list(RtCx *cx, Resize g, const IValue *in, IValue *out)
{
	bool has_align = g.kind >= LINEAR;
	IValue scales = in[2 + has_align];
	RtTensor *t = rt_tensor(in[0]);

	g.align = has_align && in[2].u.i;
	if (rt_is_none(in[1]) == rt_is_none(scales))
		return rt_raise(cx, "Must specify exactly one of output_size and scale_factors");
	if (t->ndim != g.nd + 2)
		return check_sizes(cx, &g, t->ndim, t->dims);
	if (!rt_is_none(in[1])) {
		if (dense_sizes(cx, in[1], g.op, "output_size", g.nd, g.out))
			return RT_ERROR;
	} else if (scales.u.list->n != g.nd)
		return rt_raise(cx, "%s: scale_factors should have %d values", g.op, g.nd);
	for (int i = 0; i < g.nd && rt_is_none(in[1]); i++) {
		double size;

		g.scale[i] = rt_number(scales.u.list->v[i]);
		size = (double)t->dims[2 + i] * g.scale[i];
		if (!(size < 1e15 && size > -1e15))
			return rt_raise(cx, "%s: output size overflows", g.op);
		g.out[i] = (int64_t)size;
	}
	return resize(cx, &g, t, out);
}

/* Arguments: grad_output, output_size, input_size, (align_corners), scales... */
static int
backward(RtCx *cx, Resize g, const IValue *in, IValue *out)
{
	bool has_align = g.kind >= LINEAR;
	RtTensor *grad = rt_tensor(in[0]), *r, *x, *y;
	int64_t dims[5];
	RtDtype ct = loop_type(grad);
	Taps taps[3];

	if (dense_sizes(cx, in[1], g.op, "output_size", g.nd, g.out) ||
	    dense_sizes(cx, in[2], g.op, "input_size", g.nd + 2, dims))
		return RT_ERROR;
	g.align = has_align && in[3].u.i;
	read_scales(&g, in + 3 + has_align);
	if (check_sizes(cx, &g, g.nd + 2, dims))
		return RT_ERROR;
	for (int i = 0; i < g.nd + 2; i++)
		if (grad->ndim != g.nd + 2 || grad->dims[i] != (i < 2 ? dims[i] : g.out[i - 2]))
			return rt_raise(cx, "%s: Expected grad_output to have the same shape as output", g.op);
	r = rt_result(cx, 0, grad->dtype, g.nd + 2, dims, 0);
	RT_RESULT(cx, r, out[0]);
	y = dense_in(cx, grad, ct);
	x = dense_out(cx, r, ct);
	if (!x || !y || set_taps(cx, &g, grad, dims + 2, taps) ||
	    passes(cx, &(Planes){ ct, g.nd, dims[0] * dims[1], taps }, true, rt_data(y), rt_data(x)))
		return RT_ERROR;
	return dense_done(cx, r, x);
}

/* Defines three kernels of one kind of interpolation: the plain overload, the overload by lists, and the gradient. */
#define RESIZE(name, dims, what, aa) \
	KERNEL(name, rt_tensor(in[0])->quant ? \
	       quant_linear(cx, rt_##name, in, 2 + (what >= LINEAR) + dims, 1, out) : \
	       plain(cx, (Resize){ .op = #name, .nd = dims, .kind = what, .wide = aa }, in, out)) \
	KERNEL(name##_vec, rt_tensor(in[0])->quant ? \
	       quant_linear(cx, rt_##name##_vec, in, 3 + (what >= LINEAR), 1, out) : \
	       by_list(cx, (Resize){ .op = #name, .nd = dims, .kind = what, .wide = aa }, in, out)) \
	KERNEL(name##_backward, \
	       backward(cx, (Resize){ .op = #name "_backward", .nd = dims, .kind = what, .wide = aa }, in, out))

RESIZE(upsample_nearest1d, 1, NEAREST, false)
RESIZE(upsample_nearest2d, 2, NEAREST, false)
RESIZE(upsample_nearest3d, 3, NEAREST, false)
RESIZE(_upsample_nearest_exact1d, 1, NEAREST_EXACT, false)
RESIZE(_upsample_nearest_exact2d, 2, NEAREST_EXACT, false)
RESIZE(_upsample_nearest_exact3d, 3, NEAREST_EXACT, false)
RESIZE(upsample_linear1d, 1, LINEAR, false)
RESIZE(upsample_bilinear2d, 2, LINEAR, false)
RESIZE(upsample_trilinear3d, 3, LINEAR, false)
RESIZE(upsample_bicubic2d, 2, CUBIC, false)
RESIZE(_upsample_bilinear2d_aa, 2, LINEAR, true)
RESIZE(_upsample_bicubic2d_aa, 2, CUBIC, true)
RESIZE(_upsample_lanczos2d_aa, 2, LANCZOS, true)

/* ---- grid_sampler ------------------------------------------------------------------------------------------ */

typedef struct Sampled {                 /* Arrays of the same type. */
	VgGrid sampling;
	const void *x, *grid;
	void *y;
} Sampled;

static void
sample_f32(void *arg, int64_t begin, int64_t end)
{
	const Sampled *s = arg;

	vg_sample_f32(begin, end, &s->sampling, s->x, s->grid, s->y);
}

static void
sample_f64(void *arg, int64_t begin, int64_t end)
{
	const Sampled *s = arg;

	vg_sample_f64(begin, end, &s->sampling, s->x, s->grid, s->y);
}

static int
check_grid(RtCx *cx, int nd, const RtTensor *t, const RtTensor *grid)
{
	DenseText a, b;

	if (t->ndim != nd + 2 || grid->ndim != nd + 2)
		return rt_raise(cx, "grid_sampler(): expected %dD input and grid with same number of dimensions, but "
			"got input with sizes %s and grid with sizes %s", nd + 2, dense_text(t, &a),
			dense_text(grid, &b));
	if (t->dims[0] != grid->dims[0])
		return rt_raise(cx, "grid_sampler(): expected grid and input to have same batch size, but got input "
			"with sizes %s and grid with sizes %s", dense_text(t, &a), dense_text(grid, &b));
	if (grid->dims[nd + 1] != nd)
		return rt_raise(cx, "grid_sampler(): expected grid to have size %d in last dimension, but got grid "
			"with sizes %s", nd, dense_text(grid, &b));
	return RT_OK;
}

/* Sets sizes and strides of depth, height and width, which are dims [first, first + nd) of a row-major tensor. */
static void
spatial_dims(const RtTensor *t, int first, int nd, int64_t *size, int64_t *stride)
{
	for (int i = 0; i < 3; i++) {
		const int d = first + i - (3 - nd);

		size[i] = i < 3 - nd ? 1 : t->dims[d];
		stride[i] = i < 3 - nd || t->dims[d] == 1 ? 0 : t->strides[d];
	}
}

/* Samples x. `last` tells whether channels are the last dim of x and y, and not the second one. */
static void
sample(RtCx *cx, VgGrid *g, bool last, const RtTensor *x, const RtTensor *grid, const RtTensor *y)
{
	const int channels = last ? g->nd + 1 : 1, first = last ? 1 : 2;
	Sampled s = { .x = rt_data(x), .grid = rt_data(grid), .y = rt_data(y) };
	int64_t points[3];

	spatial_dims(x, first, g->nd, g->in, g->x);
	spatial_dims(y, first, g->nd, g->out, g->y);
	spatial_dims(grid, 1, g->nd, points, g->g);
	g->channels = x->dims[channels];
	g->xn = x->strides[0];
	g->yn = y->strides[0];
	g->gn = grid->strides[0];
	g->xc = x->strides[channels];
	g->yc = y->strides[channels];
	g->gc = grid->strides[g->nd + 1];
	s.sampling = *g;
	if (rt_numel(y))
		rt_parallel(cx, y->dims[0] * vg_strips(g), 1 + 4000 / (VG_POINTS * (g->channels + 1)),
			    x->dtype == RT_f32 ? sample_f32 : sample_f64, &s);
}

static int
check_sampled(RtCx *cx, const VgGrid *g, const RtTensor *t, const RtTensor *points, int first)
{
	DenseText a;

	if (t->dtype != points->dtype)
		return rt_raise(cx, "grid_sampler(): expected input and grid to have same dtype, but input has %s and "
			"grid has %s", rt_dtypes[t->dtype].torch, rt_dtypes[points->dtype].torch);
	if (!is_floating(t))
		return rt_raise(cx, "\"grid_sampler_cpu\" not implemented for '%s'", rt_dtypes[t->dtype].brief);
	if (g->nd == 3 && g->mode == VG_BICUBIC)
		return rt_raise(cx, "grid_sampler(): bicubic interpolation only supports 4D input");
	for (int i = first; i < first + g->nd; i++) {
		if (t->dims[i] <= 0)
			return rt_raise(cx, "grid_sampler(): expected input to have non-empty spatial dimensions, but "
				"input has sizes %s with dimension %d being empty", dense_text(t, &a), i);
		if (t->dims[i] > INT32_MAX)
			return rt_raise(cx, "grid_sampler(): a dim of more than %d elements", INT32_MAX);
	}
	return RT_OK;
}

static int
grid_sampler(RtCx *cx, int nd, bool last, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *points = rt_tensor(in[1]), *r, *x, *p, *y;
	VgGrid g = { .nd = nd, .mode = (int)in[2].u.i, .padding = (int)in[3].u.i, .align = in[4].u.i != 0 };
	const int first = last ? 1 : 2, channels = last ? nd + 1 : 1;
	RtDtype ct = loop_type(t);
	int64_t dims[5];

	if (t->quant && nd == 2 && !last)
		return quant_rounded(cx, &(RtCall){ .kernel = rt_grid_sampler_2d, .nin = 5, .nout = 1 },
				     RT_Q_GRID_SAMPLER, in, out);
	if (check_grid(cx, nd, t, points) || check_sampled(cx, &g, t, points, first))
		return RT_ERROR;
	dims[0] = t->dims[0];
	dims[channels] = t->dims[channels];
	for (int i = 0; i < nd; i++)
		dims[first + i] = points->dims[1 + i];
	r = rt_result(cx, 0, t->dtype, nd + 2, dims, 0);
	RT_RESULT(cx, r, out[0]);
	x = dense_in(cx, t, ct);
	p = dense_in(cx, points, ct);
	y = dense_out(cx, r, ct);
	if (!x || !p || !y)
		return RT_ERROR;
	sample(cx, &g, last, x, p, y);
	return dense_done(cx, r, y);
}

KERNEL(grid_sampler_2d, grid_sampler(cx, 2, false, in, out))
KERNEL(grid_sampler_3d, grid_sampler(cx, 3, false, in, out))
/* In this kernel, channels are the last dim of input and result. */
KERNEL(prim_grid_sampler_last, grid_sampler(cx, 2, true, in, out))

int
rt_grid_sampler(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	DenseText a;

	if (t->ndim != 4 && t->ndim != 5)
		return rt_raise(cx, "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
			"but got input with sizes %s", dense_text(t, &a));
	return grid_sampler(cx, t->ndim - 2, false, in, out);
}
