/* rt/ops/vback.h - convolutions in generated kernels with computed weights, and gradients of convolutions; channels
 * last
 *
 * Each part of a kernel packs the panels of weights that it needs into scratch memory, from any order of dims. The
 * gradient of the input is the convolution of the result's gradient by the flipped weights, with input and output
 * channels exchanged. With a stride, each phase of the input is such a convolution, by the taps that reach it; its
 * pixels are stored a block at a time.
 *
 * The gradient of the weights is a sum of outer products over pixels. For each tap, a register block has some input
 * channels and a panel of output channels. It adds up a run of the result's rows, whose panel has been packed.
 */
#ifndef RT_OPS_VBACK_H
#define RT_OPS_VBACK_H

#include "vdepth.h"
#include "vscratch.h"

#if VC_FRAMES
#define VB_IMAGE .c.d = 1, .c.od = 1, .c.kd = 1, .c.sd = 1, .c.dd = 1
#else
#define VB_IMAGE
#endif
typedef struct VbConv {
	VcConv  c;
	/* Offset of the weight of output 0, input 0, tap (0, 0), and strides of groups, outputs, inputs, rows of taps,
	 * and columns of taps. */
	int64_t first, sg, so, si, sr, ss;
	int64_t chunk;
	bool    scattered;                       /* whether the result's pixels are not contiguous */
	int64_t start, yn, yh, yw;    /* scattered: offset of the first pixel, and strides of images, rows, columns */
} VbConv;

/* Returns the number of columns of a unit of work if `left` of n output channels are left, rounded up to whole
 * vectors. */
VC_INLINE int64_t
vb_width(int64_t left, int64_t n)
{
	return VC_IS_WHOLE(n) ? VC_NR : VC_UP(left, VC_UNIT);
}

static inline int64_t
vb_conv_scratch(const VbConv *v)
{
	return vs_convolution(VC_NR, v->chunk, v->c.kh * v->c.kw, v->c.ic);
}

/* Packs a panel, [tap][ic][width]. The first `left` columns are from w, the others are 0. If left < 0, all are 0. */
VC_SHARED void
vb_pack_panel(const VbConv *v, int64_t left, int64_t width, const float *w, float *to)
{
	for (int64_t k = 0; k < v->c.ic; k++)
		for (int64_t r = 0; r < v->c.kh; r++)
			for (int64_t s = 0; s < v->c.kw; s++) {
				const float *restrict from = w + k * v->si + r * v->sr + s * v->ss;
				float *restrict row = to + ((r * v->c.kw + s) * v->c.ic + k) * width;

				IVDEP
				for (int64_t j = 0; j < left; j++)
					row[j] = from[j * v->so];
				for (int64_t j = left > 0 ? left : 0; j < width; j++)
					row[j] = 0;
			}
}

/* Packs panels, [panel][tap][ic][column], of `width` columns each. */
VC_SHARED void
vb_pack(const VbConv *v, int64_t left, int64_t width, const float *w, float *to)
{
	for (int64_t col = 0; col < width; col += VC_PANEL)
		vb_pack_panel(v, left - col < VC_PANEL ? left - col : VC_PANEL,
			      width - col < VC_PANEL ? width - col : VC_PANEL, w + col * v->so,
			      to + col * v->c.kh * v->c.kw * v->c.ic);
}

/* Stores pixels [from, to) of a panel, which are contiguous in `tile`. */
VC_SHARED void
vb_scatter(const VbConv *v, int64_t from, int64_t to, int64_t left, const float *tile, float *y)
{
	for (int64_t i = from; i < to; i++, tile += VC_NR) {
		const int64_t row = i / v->c.ow;
		float *at = y + row / v->c.oh * v->yn + row % v->c.oh * v->yh + i % v->c.ow * v->yw;

		for (int64_t j = 0; j < left; j++)
			at[j] = tile[j];
	}
}

VC_SHARED void
vb_conv_part(int64_t begin, int64_t end, const VbConv *v, const float *x, const float *w, const float *bias, float *y,
	     const float *zeros, const VcTaps *last, float *scratch)
{
	const int64_t pixels = v->c.n * v->c.oh * v->c.ow, chunks = (pixels + v->chunk - 1) / v->chunk,
		      full = v->c.oc / VC_NR, panels = (v->c.oc + VC_NR - 1) / VC_NR;
	float *tile = scratch, *start = tile + v->chunk * VC_NR, *panel_weights = start + VC_NR;
	VcConv tiled = v->c;
	int64_t have = -1;

	tiled.ys = VC_NR;
	for (int64_t at = begin; at < end; at++) {
		const int64_t panel = at / chunks, group = panel / panels, own = panel % panels;
		const int64_t from = at % chunks * v->chunk, to = from + v->chunk < pixels ? from + v->chunk : pixels;
		const int64_t col = group * v->c.oc + own * VC_NR, left = own < full ? VC_NR : v->c.oc % VC_NR;
		const VcTaps *const taps = own < full ? VC_WHOLE(vc_taps) : last;
		const float *const in = x + group * v->c.ic;

		if (panel != have)
			vb_pack(v, left, vb_width(left, v->c.oc), w + v->first + group * v->sg + own * VC_NR * v->so,
				panel_weights);
		for (int64_t j = 0; bias && panel != have && j < VC_NR; j++)
			start[j] = j < left ? bias[col + j] : 0;
		have = panel;
		if (!v->scattered) {
			vc_conv_panel(taps, &v->c, from, to, in, panel_weights, bias ? start : 0, y + col, zeros, left);
			continue;
		}
		vc_conv_panel(taps, &tiled, from, to, in, panel_weights, 0, tile - from * VC_NR, zeros, left);
		vb_scatter(v, from, to, left, tile, y + v->start + col);
	}
}

/* Computes units [begin, end) of groups * panels * chunks. */
VC_INLINE void
vb_conv(int64_t begin, int64_t end, const VbConv *v, const float *x, const float *w, const float *bias, float *y,
	const float *zeros, float *scratch)
{
	vb_conv_part(begin, end, v, x, w, bias, y, zeros, VC_REST(vc_taps, v->c.oc), scratch);
}

/* Computes a depthwise convolution. scratch has room for the weights, by taps. */
static inline void
vb_depthwise(int64_t begin, int64_t end, const VbConv *v, const float *x, const float *w, const float *bias, float *y,
	     float *scratch)
{
	for (int64_t r = 0; r < v->c.kh; r++)
		for (int64_t s = 0; s < v->c.kw; s++)
			for (int64_t c = 0; c < v->c.oc; c++)
				scratch[(r * v->c.kw + s) * v->c.oc + c] = w[v->first + c * v->so + r * v->sr +
					s * v->ss];
	vc_depthwise(begin, end, &v->c, x, scratch, bias, y, 0, 0);
}

/* ---- the gradient of the weights --------------------------------------------------------------------------------- */


typedef struct VbWeight {
	VcConv  c;    /* the forward convolution; xs is the stride of the input, ys that of the gradient */
	int64_t sg, so, si, sr, ss;              /* strides in the result, as in VbConv */
} VbWeight;

static inline int64_t
vb_weight_scratch(const VbWeight *v)
{
	return vs_gradient(VC_NR, v->c.kh * v->c.kw, v->c.ow);
}

/* Adds rows [row, end) of all images for tap (r, s): sums [mr][NR] += x outer b. b has packed rows from `row` on. */
VC_INLINE void
vb_outer(int mr, int nv, const VcConv *v, int64_t row, int64_t end, int64_t r, int64_t s, const float *x,
	 const float *b, float *sums)
{
	const int64_t shift = s * v->dw - v->pw, lo = vc_up(-shift, v->sw), to = vc_up(v->w - shift, v->sw);
	const int64_t hi = to < v->ow ? to : v->ow, step = v->sw * v->xs;
	VcV acc[VC_MR][VC_NV];

	VC_UNROLL
	for (int i = 0; i < mr; i++)
		VC_UNROLL
		for (int j = 0; j < nv; j++)
			acc[i][j] = *(const VcV *)(sums + i * VC_NR + j * VF);
	for (int64_t at = row; at < end; at++) {
		const int64_t y = at % v->oh * v->sh + r * v->dh - v->ph;
		const float *from = x + ((at / v->oh * v->h + y) * v->w + lo * v->sw + shift) * v->xs,
			    *with = b + ((at - row) * v->ow + lo) * VC_NR;

		if ((uint64_t)y >= (uint64_t)v->h)
			continue;
		for (int64_t n = lo; n < hi; n++, from += step, with += VC_NR) {
			VcV line[VC_NV];

			VC_UNROLL
			for (int j = 0; j < nv; j++)
				line[j] = *(const VcV *)(with + j * VF);
			VC_UNROLL
			for (int i = 0; i < mr; i++) {
				const VcV f = VC_SET(from[i]);

				VC_UNROLL
				for (int j = 0; j < nv; j++)
					acc[i][j] += f * line[j];
			}
		}
	}
	VC_UNROLL
	for (int i = 0; i < mr; i++)
		VC_UNROLL
		for (int j = 0; j < nv; j++)
			*(VcV *)(sums + i * VC_NR + j * VF) = acc[i][j];
}

/* Adds all taps of `some` input channels to sums, [tap][VB_BLOCK][NR]. */
VC_INLINE void
vb_taps(int nv, const VcConv *v, int64_t row, int64_t end, int64_t some, const float *x, const float *b, float *sums)
{
	for (int64_t r = 0; r < v->kh; r++)
		for (int64_t s = 0; s < v->kw; s++) {
			float *to = sums + (r * v->kw + s) * VB_BLOCK * VC_NR;
			int64_t i = 0;

			for (; i + VC_MR <= some; i += VC_MR)
				vb_outer(VC_MR, nv, v, row, end, r, s, x + i, b, to + i * VC_NR);
			for (; i + 2 <= some; i += 2)
				vb_outer(2, nv, v, row, end, r, s, x + i, b, to + i * VC_NR);
			for (; i < some; i++)
				vb_outer(1, nv, v, row, end, r, s, x + i, b, to + i * VC_NR);
		}
}

typedef void VbTaps(const VcConv *, int64_t row, int64_t end, int64_t some, const float *x, const float *b,
		    float *sums);

#define VB_TAPS(units) \
	VC_SHARED void \
	vb_taps_##units(const VcConv *v, int64_t row, int64_t end, int64_t some, const float *x, const float *b, \
		     float *sums) \
	{ \
		vb_taps(VC_WIDE(units, 0) / VF, v, row, end, some, x, b, sums); \
	}
VB_TAPS(1)
VB_TAPS(2)
VB_TAPS(4)
#undef VB_TAPS

/* Packs rows of the result's gradient: `left` columns of a panel. */
VC_SHARED void
vb_pack_rows(int64_t pixels, int64_t left, const float *g, int64_t gs, float *to)
{
	for (int64_t i = 0; i < pixels; i++, g += gs, to += VC_NR) {
		for (int64_t j = 0; j < left; j++)
			to[j] = g[j];
		for (int64_t j = left; j < VC_NR; j++)
			to[j] = 0;
	}
}

VC_SHARED void
vb_put(const VbWeight *v, int64_t some, int64_t left, const float *sums, float *w)
{
	for (int64_t i = 0; i < some; i++)
		for (int64_t r = 0; r < v->c.kh; r++)
			for (int64_t s = 0; s < v->c.kw; s++) {
				const float *restrict from = sums + ((r * v->c.kw + s) * VB_BLOCK + i) * VC_NR;
				float *restrict to = w + i * v->si + r * v->sr + s * v->ss;

				IVDEP
				for (int64_t j = 0; j < left; j++)
					to[j * v->so] = from[j];
			}
}

/* Computes units [begin, end) of groups * panels of output channels * blocks of input channels. */
VC_SHARED void
vb_weight_part(int64_t begin, int64_t end, const VbWeight *v, const float *x, const float *g, float *w, VbTaps *whole,
	       VbTaps *last, float *scratch)
{
	const int64_t blocks = (v->c.ic + VB_BLOCK - 1) / VB_BLOCK, taps = v->c.kh * v->c.kw, rows = v->c.n * v->c.oh,
		      step = vs_gradient_rows(v->c.ow), panels = (v->c.oc + VC_NR - 1) / VC_NR;
	float *sums = scratch, *b = scratch + taps * VB_BLOCK * VC_NR;

	for (int64_t at = begin; at < end; at++) {
		const int64_t panel = at / blocks, group = panel / panels, col = panel % panels * VC_NR;
		const int64_t first = at % blocks * VB_BLOCK, have = v->c.ic - first,
			      some = have < VB_BLOCK ? have : VB_BLOCK;
		const int64_t left = v->c.oc - col < VC_NR ? v->c.oc - col : VC_NR;
		const float *const in = x + group * v->c.ic + first, *const of = g + group * v->c.oc + col;

		for (int64_t i = 0; i < taps * VB_BLOCK * VC_NR; i++)
			sums[i] = 0;
		for (int64_t row = 0; row < rows; row += step) {
			const int64_t to = row + step < rows ? row + step : rows;

			vb_pack_rows((to - row) * v->c.ow, left, of + row * v->c.ow * v->c.ys, v->c.ys, b);
			(left == VC_NR ? whole : last)(&v->c, row, to, some, in, b, sums);
		}
		vb_put(v, some, left, sums, w + group * v->sg + col * v->so + first * v->si);
	}
}

VC_INLINE void
vb_weight(int64_t begin, int64_t end, const VbWeight *v, const float *x, const float *g, float *w, float *scratch)
{
	VbTaps *const whole = VC_WHOLE(vb_taps);
	const int64_t oc = v->c.oc;

	vb_weight_part(begin, end, v, x, g, w, oc < VC_NR ? 0 : whole,
		       oc % VC_NR == 0 ? 0 : oc % VC_NR <= VC_UNIT ? vb_taps_1 :
		       oc % VC_NR <= 2 * VC_UNIT ? vb_taps_2 : whole, scratch);
}

/* Computes the depthwise gradient: blocks [begin, end) of VB_BLOCK channels. */
VC_SHARED void
vb_weight_depthwise(int64_t begin, int64_t end, const VbWeight *given, const float *x, const float *g, float *w)
{
	const VcConv v = given->c;

	for (int64_t at = begin; at < end; at++) {
		const int64_t first = at * VB_BLOCK, some = v.oc - first < VB_BLOCK ? v.oc - first : VB_BLOCK;

		for (int64_t t = 0; t < v.kh * v.kw; t++) {
			const int64_t r = t / v.kw, s = t % v.kw, shift = s * v.dw - v.pw, lo = vc_up(-shift, v.sw),
				      to = vc_up(v.w - shift, v.sw);
			const int64_t hi = to < v.ow ? to : v.ow;
			float sums[VB_BLOCK] = { 0 };

			for (int64_t row = 0; row < v.n * v.oh; row++) {
				const int64_t y = row % v.oh * v.sh + r * v.dh - v.ph;

				for (int64_t i = lo; i < hi && (uint64_t)y < (uint64_t)v.h; i++) {
					const float *restrict a = x +
						((row / v.oh * v.h + y) * v.w + i * v.sw + shift) * v.xs + first;
					const float *restrict b = g + (row * v.ow + i) * v.ys + first;

					IVDEP
					for (int64_t c = 0; c < some; c++)
						sums[c] += a[c] * b[c];
				}
			}
			for (int64_t c = 0; c < some; c++)
				w[(first + c) * given->so + r * given->sr + s * given->ss] = sums[c];
		}
	}
}

#endif
