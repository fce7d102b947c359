/* rt/ops/vdepth.h - depthwise convolutions of generated kernels: each channel by a filter of its own
 *
 * Activations are NHWC, weights [tap][channel]; lanes are channels.  Windows of 3, 5 and 7 columns and strides 1 and 2,
 * with enough channels to fill a vector, have functions that keep a row of taps in registers; all others are computed
 * tap by tap, those of few channels with lanes that are not used.
 */
#ifndef RT_OPS_VDEPTH_H
#define RT_OPS_VDEPTH_H

#include "vconv.h"

#if !VC_IN_ORDER
VC_BEGIN
#endif

#if VC_FLOATS > 1

enum { VC_DW = 8 };                      /* pixels of a block: each tap's weights are read once for all of them */

/* rw pixels side by side, nv vectors of channels from c on.  x: what tap (0, 0) of the first pixel reads; taps [r0, r1)
 * by [s0, s1) are inside of the image for all of them. */
VC_INLINE void
vc_dw_block(int rw, int nv, const VcConv *v, const float *x, const float *w, const float *bias, float *y, ptrdiff_t c,
	    ptrdiff_t r0, ptrdiff_t r1, ptrdiff_t s0, ptrdiff_t s1)
{
	VcV acc[VC_DW];
	const ptrdiff_t step = v->sw * v->xs, right = v->dw * v->xs;

	VC_UNROLL
	for (int i = 0; i < rw; i++)
		VC_UNROLL
		for (int j = 0; j < nv; j++)
			acc[i * nv + j] = bias ? *(const VcV *)(bias + c + j * VF) : VC_ZERO;
	for (ptrdiff_t r = r0; r < r1; r++) {
		const float *from = x + (r * v->dh * v->w + s0 * v->dw) * v->xs + c,
			    *tap = w + (r * v->kw + s0) * v->oc + c;

		for (ptrdiff_t s = s0; s < s1; s++, from += right, tap += v->oc) {
			VC_UNROLL
			for (int i = 0; i < rw; i++)
				VC_UNROLL
				for (int j = 0; j < nv; j++)
					acc[i * nv + j] += *(const VcV *)(from + i * step + j * VF) *
						*(const VcV *)(tap + j * VF);
		}
	}
	VC_UNROLL
	for (int i = 0; i < rw; i++)
		VC_UNROLL
		for (int j = 0; j < nv; j++)
			*(VcV *)(y + i * v->ys + c + j * VF) = v->range ? vc_clamp(acc[i * nv + j], v->range) :
				acc[i * nv + j];
}

/* All channels of rw pixels; the last vector overlaps the one before it where channels do not fill it. */
VC_INLINE void
vc_dw_pixels(int rw, int nv, const VcConv *v, const float *x, const float *w, const float *bias, float *y, ptrdiff_t r0,
	     ptrdiff_t r1, ptrdiff_t s0, ptrdiff_t s1)
{
	ptrdiff_t c = 0;

	for (; c + nv * VF <= v->oc; c += nv * VF)
		vc_dw_block(rw, nv, v, x, w, bias, y, c, r0, r1, s0, s1);
	for (; c < v->oc; c += VF)
		vc_dw_block(rw, 1, v, x, w, bias, y, c + VF <= v->oc ? c : v->oc - VF, r0, r1, s0, s1);
}

VC_SHARED void
vc_dw_wide(const VcConv *v, const float *x, const float *w, const float *bias, float *y, ptrdiff_t r0, ptrdiff_t r1)
{
	vc_dw_pixels(VC_DW, 1, v, x, w, bias, y, r0, r1, 0, v->kw);
}

VC_SHARED void
vc_dw_half(const VcConv *v, const float *x, const float *w, const float *bias, float *y, ptrdiff_t r0, ptrdiff_t r1)
{
	vc_dw_pixels(VC_DW / 2, 1, v, x, w, bias, y, r0, r1, 0, v->kw);
}

VC_SHARED void
vc_dw_one(const VcConv *v, const float *x, const float *w, const float *bias, float *y, ptrdiff_t r0, ptrdiff_t r1,
	  ptrdiff_t s0, ptrdiff_t s1)
{
	vc_dw_pixels(1, VC_DW / 2, v, x, w, bias, y, r0, r1, s0, s1);
}

#endif

/* One pixel whose taps [r0, r1) by [s0, s1) are there, one channel after the other. */
VC_SHARED void
vc_dw_scalar(const VcConv *v, const float *x, const float *w, const float *bias, float *y, ptrdiff_t r0, ptrdiff_t r1,
	     ptrdiff_t s0, ptrdiff_t s1)
{
	for (ptrdiff_t c = 0; c < v->oc; c++) {
		float acc = bias ? bias[c] : 0;

		for (ptrdiff_t r = r0; r < r1; r++)
			for (ptrdiff_t s = s0; s < s1; s++)
				acc += x[(r * v->dh * v->w + s * v->dw) * v->xs + c] * w[(r * v->kw + s) * v->oc + c];
		y[c] = acc;
		if (v->range)
			y[c] = acc < v->range[0] ? v->range[0] : acc > v->range[1] ? v->range[1] : acc;
	}
}

/* Pixels from ow on whose first is `x`; how many were done.  [lo, hi): those of the row that have all their columns of
 * taps. */
VC_INLINE ptrdiff_t
vc_dw_some(const VcConv *v, ptrdiff_t ow, ptrdiff_t lo, ptrdiff_t hi, const float *x, const float *w, const float *bias,
	   float *y, ptrdiff_t r0, ptrdiff_t r1)
{
	const ptrdiff_t x0 = ow * v->sw - v->pw, s0 = vc_up(-x0, v->dw), inside = vc_up(v->w - x0, v->dw);
	const ptrdiff_t s1 = inside < v->kw ? inside : v->kw;

#if VC_FLOATS > 1
	if (v->oc >= VF) {
		if (ow >= lo && ow + VC_DW <= hi) {
			vc_dw_wide(v, x, w, bias, y, r0, r1);
			return VC_DW;
		}
		if (ow >= lo && ow + VC_DW / 2 <= hi) {
			vc_dw_half(v, x, w, bias, y, r0, r1);
			return VC_DW / 2;
		}
		vc_dw_one(v, x, w, bias, y, r0, r1, s0, s1 > s0 ? s1 : s0);
		return 1;
	}
#endif
	vc_dw_scalar(v, x, w, bias, y, r0, r1, s0, s1);
	return 1;
}

/* Any window.  [begin, end) of output rows (n * oh); the epilogue follows each block of pixels. */
VC_SHARED void
vc_depthwise_any(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias,
		 float *y, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t lo = vc_up(v->pw, v->sw), last = v->w - 1 - (v->kw - 1) * v->dw + v->pw;
	const ptrdiff_t all = last < 0 ? 0 : last / v->sw + 1, hi = all < v->ow ? all : v->ow;

	for (ptrdiff_t row = begin; row < end; row++) {
		const ptrdiff_t y0 = row % v->oh * v->sh - v->ph, r0 = vc_up(-y0, v->dh);
		const ptrdiff_t below = vc_up(v->h - y0, v->dh);
		const ptrdiff_t r1 = below < v->kh ? below : v->kh;
		const float *from = x + row / v->oh * v->h * v->w * v->xs + y0 * v->w * v->xs;
		ptrdiff_t n;

		for (ptrdiff_t ow = 0; ow < v->ow; ow += n) {
			const ptrdiff_t pixel = row * v->ow + ow;

			n = vc_dw_some(v, ow, lo, hi, from + (ow * v->sw - v->pw) * v->xs, w, bias, y + pixel * v->ys,
				       r0, r1 > r0 ? r1 : r0);
			if (epilogue)
				epilogue(p, pixel, pixel + n, 0, v->oc, v->oc);
		}
	}
}

#if VC_FLOATS > 1

/* Windows of known width and stride: an element of the input is read once a row of taps for all pixels that it is a
 * part of, and a row's weights stay in registers.  Pixels of a block: of ImageNet's widths no rest is left. */
#if VC_FLOATS == 16
enum { VC_DW_WIDE = 14, VC_DW_NARROW = 7 };
#else
enum { VC_DW_WIDE = 7, VC_DW_NARROW = 7 };
#endif
/* VC_DW_NV: vectors of channels.  Two multipliers with a latency of four want more sums than those of one vector; a
 * processor that executes in order wants registers to read ahead into. */
#if defined VC_BY_LANE && !VC_IN_ORDER
enum { VC_DW_NV = 2 };
#else
enum { VC_DW_NV = 1 };
#endif
enum { VC_DW_TAPS = 7 };

static const float vc_nothing[VC_DW_NV * VF];

#ifdef VC_BY_LANE
/* All channels of rw pixels, nv vectors at a time; there are at least so many.  x: the row of the image under the
 * first row of taps; x0: column of the first tap.  edge: columns may lie outside.  Padding is narrower than a window,
 * so these are among the first and the last kw - 1. */
VC_INLINE void
vc_dw_run(int rw, int nv, int kw, int sw, bool edge, const VcConv *v, const float *x, ptrdiff_t x0, const float *w,
	  const float *bias, float *y, ptrdiff_t r0, ptrdiff_t r1)
{
	const ptrdiff_t xs = v->xs, ys = v->ys, oc = v->oc, below = v->dh * v->w * xs, width = v->w;
	const float *none = vc_nothing;

	__asm__ ("" : "+r"(none));               /* no constant, so that it is chosen without a branch */
	x += r0 * below + x0 * v->xs;
	w += r0 * kw * oc;
	for (ptrdiff_t at = 0; at < oc; at += nv * VF) {
		const ptrdiff_t c = at + nv * VF <= oc ? at : oc - nv * VF;
		const float *from = x + c, *tap = w + c;
		VcV acc[VC_DW_WIDE * VC_DW_NV];

		VC_UNROLL
		for (int i = 0; i < rw * nv; i++)
			acc[i] = bias ? *(const VcV *)(bias + c + i % nv * VF) : VC_ZERO;
		for (ptrdiff_t r = r0; r < r1; r++, from += below, tap += kw * oc) {
			VcV taps[VC_DW_TAPS * VC_DW_NV], in[VC_DW_NV];

			VC_UNROLL
			for (int s = 0; s < kw * nv; s++)
				taps[s] = *(const VcV *)(tap + s / nv * oc + s % nv * VF);
			VC_UNROLL
			for (int j = 0; j < (rw - 1) * sw + kw; j++) {
				const bool asks = edge && (j < kw - 1 || j > (rw - 1) * sw);
				const bool is = !asks || (size_t)(x0 + j) < (size_t)width;
				const float *column = is ? from + j * xs : none;

				VC_UNROLL
				for (int i = 0; i < nv; i++)
					in[i] = *(const VcV *)(column + i * VF);
				VC_UNROLL
				for (int i = 0; i < rw * nv; i++)
					if (j >= i / nv * sw && j < i / nv * sw + kw)
						acc[i] += in[i % nv] * taps[(j - i / nv * sw) * nv + i % nv];
			}
		}
		if (VC_CLAMPS && v->range) {
			VC_UNROLL
			for (int i = 0; i < rw * nv; i++)
				acc[i] = vc_clamp(acc[i], v->range);
		}
		VC_UNROLL
		for (int i = 0; i < rw * nv; i++)
			*(VcV *)(y + i / nv * ys + c + i % nv * VF) = acc[i];
	}
}
#else
/* All channels of rw pixels.  x: the row of the image under the first row of taps; x0: column of the first tap.  edge:
 * columns may lie outside. */
VC_INLINE void
vc_dw_run(int rw, int nv, int kw, int sw, bool edge, const VcConv *v, const float *x, ptrdiff_t x0, const float *w,
	  const float *bias, float *y, ptrdiff_t r0, ptrdiff_t r1)
{
	const ptrdiff_t xs = v->xs, ys = v->ys, oc = v->oc, below = v->dh * v->w * xs, width = v->w;

	(void)nv;                                /* one */
	x += r0 * below + x0 * xs;
	w += r0 * kw * oc;
	for (ptrdiff_t at = 0; at < oc; at += VF) {
		const ptrdiff_t c = at + VF <= oc ? at : oc - VF;
		const float *from = x + c, *tap = w + c;
		VcV acc[VC_DW_WIDE];

		VC_UNROLL
		for (int i = 0; i < rw; i++)
			acc[i] = bias ? *(const VcV *)(bias + c) : VC_ZERO;
		for (ptrdiff_t r = r0; r < r1; r++, from += below, tap += kw * oc) {
			VcV taps[VC_DW_TAPS];

			VC_UNROLL
			for (int s = 0; s < kw; s++)
				taps[s] = *(const VcV *)(tap + s * oc);
			VC_UNROLL
			for (int j = 0; j < (rw - 1) * sw + kw; j++) {
				const VcV in = *(const VcV *)(!edge || (size_t)(x0 + j) < (size_t)width ? from +
							      j * xs : vc_nothing);

				VC_UNROLL
				for (int i = 0; i < rw; i++)
					if (j >= i * sw && j < i * sw + kw)
						acc[i] += in * taps[j - i * sw];
			}
		}
		if (VC_CLAMPS && v->range) {
			VC_UNROLL
			for (int i = 0; i < rw; i++)
				acc[i] = vc_clamp(acc[i], v->range);
		}
		VC_UNROLL
		for (int i = 0; i < rw; i++)
			*(VcV *)(y + i * ys + c) = acc[i];
	}
}
#endif

typedef void VcDwRun(bool inside, const VcConv *, const float *x, ptrdiff_t x0, const float *w, const float *bias,
		     float *y, ptrdiff_t r0, ptrdiff_t r1);

#define VC_DW_RUN(name, rw, kw, sw) \
	enum { vc_dw_##name##_nv = (kw) < 7 ? VC_DW_NV : 1 }; \
	VC_SHARED void \
	vc_dw_##name(bool inside, const VcConv *v, const float *x, ptrdiff_t x0, const float *w, const float *bias, \
		     float *y, ptrdiff_t r0, ptrdiff_t r1) \
	{ \
		if (inside) \
			vc_dw_run(rw, vc_dw_##name##_nv, kw, sw, false, v, x, x0, w, bias, y, r0, r1); \
		else \
			vc_dw_run(rw, vc_dw_##name##_nv, kw, sw, true, v, x, x0, w, bias, y, r0, r1); \
	}
VC_DW_RUN(wide_3, VC_DW_WIDE, 3, 1)
VC_DW_RUN(wide_5, VC_DW_WIDE, 5, 1)
VC_DW_RUN(wide_7, VC_DW_WIDE, 7, 1)
VC_DW_RUN(3, VC_DW_NARROW, 3, 1)
VC_DW_RUN(5, VC_DW_NARROW, 5, 1)
VC_DW_RUN(7, VC_DW_NARROW, 7, 1)
VC_DW_RUN(3_by_2, VC_DW_NARROW, 3, 2)
VC_DW_RUN(5_by_2, VC_DW_NARROW, 5, 2)
#undef VC_DW_RUN

/* Blocks of rw pixels; the last of a row overlaps the one before it and computes the same again. */
VC_SHARED void
vc_dw_rows(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias, float *y,
	   ptrdiff_t rw, VcDwRun *run, VcEpilogue *epilogue, void *const *p)
{
	for (ptrdiff_t row = begin; row < end; row++) {
		const ptrdiff_t y0 = row % v->oh * v->sh - v->ph, r0 = vc_up(-y0, v->dh);
		const ptrdiff_t below = vc_up(v->h - y0, v->dh);
		const ptrdiff_t r1 = below < v->kh ? below : v->kh;
		const float *from = x + row / v->oh * v->h * v->w * v->xs + y0 * v->w * v->xs;

		for (ptrdiff_t next = 0, ow; next < v->ow; next = ow + rw) {
			ow = next + rw <= v->ow ? next : v->ow - rw;
			const ptrdiff_t x0 = ow * v->sw - v->pw, pixel = row * v->ow + ow;
			const bool inside = x0 >= 0 && x0 + (rw - 1) * v->sw + v->kw <= v->w;

			run(inside, v, from, x0, w, bias, y + pixel * v->ys, r0, r1);
			if (epilogue)
				epilogue(p, pixel, pixel + rw, 0, v->oc, v->oc);
		}
	}
}

/* ---- fewer channels than lanes
 *
 * A vector begins at a pixel's first channel and goes on into the pixels behind it: their products are not used.  Taps
 * are zero in those lanes.  A vector is stored whole where the pixels behind are still to be computed here.
 */
enum { VC_FEW = 8, VC_FEW_TAPS = 64 };

/* rw pixels; taps [r0, r1) by [s0, s1) are inside of the image for all of them. */
VC_INLINE void
vc_few_block(int rw, const VcConv *v, const float *x, const VcV *w, VcV bias, VcV *acc, ptrdiff_t r0, ptrdiff_t r1,
	     ptrdiff_t s0, ptrdiff_t s1)
{
	VC_UNROLL
	for (int i = 0; i < rw; i++)
		acc[i] = bias;
	for (ptrdiff_t r = r0; r < r1; r++)
		for (ptrdiff_t s = s0; s < s1; s++) {
			const float *from = x + (r * v->dh * v->w + s * v->dw) * v->xs;

			VC_UNROLL
			for (int i = 0; i < rw; i++)
				acc[i] += *(const VcV *)(from + i * v->sw * v->xs) * w[r * v->kw + s];
		}
}

/* The first n floats, in lanes whose others are 0; none: all are. */
VC_INLINE VcV
vc_few_lanes(const float *from, ptrdiff_t n)
{
	float all[VF] = { 0 };

	for (ptrdiff_t c = 0; from && c < n; c++)
		all[c] = from[c];
	return *(const VcV *)all;
}

/* One pixel, no farther than its own channels: behind it the image may end. */
VC_INLINE void
vc_few_last(const VcConv *v, const float *x, const VcV *w, VcV bias, VcV *acc, ptrdiff_t r0, ptrdiff_t r1, ptrdiff_t s0,
	    ptrdiff_t s1)
{
	acc[0] = bias;
	for (ptrdiff_t r = r0; r < r1; r++)
		for (ptrdiff_t s = s0; s < s1; s++)
			acc[0] += vc_few_lanes(x + (r * v->dh * v->w + s * v->dw) * v->xs, v->oc) * w[r * v->kw + s];
}

/* Whole, where all pixels that this reaches into are before `end`. */
VC_INLINE void
vc_few_store(const VcConv *v, VcV acc, float *y, const float *end)
{
	float all[VF];

	acc = v->range ? vc_clamp(acc, v->range) : acc;
	if (v->ys == v->oc && y + VF <= end) {
		*(VcV *)y = acc;
		return;
	}
	*(VcV *)all = acc;
	for (ptrdiff_t c = 0; c < v->oc; c++)
		y[c] = all[c];
}

/* A row of the result, over rows of taps [r0, r1).  from: the row of the image under the first row of taps; last: the
 * last place that a vector can be read at. */
VC_INLINE void
vc_few_row(const VcConv *v, const float *from, const VcV *w, VcV bias, float *y, ptrdiff_t r0, ptrdiff_t r1,
	   const float *last, const float *end)
{
	const ptrdiff_t right = (v->kw - 1) * v->dw, step = v->sw * v->xs;
	VcV acc[VC_FEW];

	for (ptrdiff_t ow = 0, n; ow < v->ow; ow += n, y += n * v->ys) {
		const ptrdiff_t x0 = ow * v->sw - v->pw, s0 = vc_up(-x0, v->dw), inside = vc_up(v->w - x0, v->dw);
		const ptrdiff_t s1 = inside < v->kw ? inside : v->kw;
		const float *at = from + x0 * v->xs, *reads = at + ((r1 - 1) * v->dh * v->w + right) * v->xs;

		n = x0 >= 0 && ow + VC_FEW <= v->ow && x0 + (VC_FEW - 1) * v->sw + right < v->w &&
			reads + (VC_FEW - 1) * step <= last ? VC_FEW : 1;
		if (n == VC_FEW)
			vc_few_block(VC_FEW, v, at, w, bias, acc, r0, r1, 0, v->kw);
		else if (reads <= last)
			vc_few_block(1, v, at, w, bias, acc, r0, r1, s0, s1 > s0 ? s1 : s0);
		else
			vc_few_last(v, at, w, bias, acc, r0, r1, s0, s1);
		for (ptrdiff_t i = 0; i < n; i++)
			vc_few_store(v, acc[i], y + i * v->ys, end);
	}
}

VC_SHARED void
vc_depthwise_few(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias,
		 float *y, VcEpilogue *epilogue, void *const *p)
{
	const float *const last = x + (v->n * v->h * v->w - 1) * v->xs + v->oc - VF;
	VcV taps[VC_FEW_TAPS], first = vc_few_lanes(bias, v->oc);

	for (ptrdiff_t t = 0; t < v->kh * v->kw; t++)
		taps[t] = vc_few_lanes(w + t * v->oc, v->oc);
	for (ptrdiff_t row = begin; row < end; row++) {
		const ptrdiff_t y0 = row % v->oh * v->sh - v->ph, r0 = vc_up(-y0, v->dh);
		const ptrdiff_t below = vc_up(v->h - y0, v->dh);
		const ptrdiff_t r1 = below < v->kh ? below : v->kh;
		const float *from = x + row / v->oh * v->h * v->w * v->xs + y0 * v->w * v->xs;

		vc_few_row(v, from, taps, first, y + row * v->ow * v->ys, r0, r1 > r0 ? r1 : r0, last,
			   y + end * v->ow * v->ys);
		if (epilogue)
			epilogue(p, row * v->ow, (row + 1) * v->ow, 0, v->oc, v->oc);
	}
}

#endif

/* The geometry is a constant: of the forms, those that programs use are there. */
VC_INLINE void
vc_depthwise(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias,
	     float *y, VcEpilogue *epilogue, void *const *p)
{
#if VC_FLOATS > 1
	const bool wide = v->ow >= VC_DW_WIDE && v->sw == 1;
	VcDwRun *const run = v->dw != 1 || v->pw >= v->kw || v->oc < VC_DW_NV * VF || v->ow < VC_DW_NARROW ||
		v->sw > 2 ? 0 :
		v->sw == 1 ? (v->kw == 3 ? wide ? vc_dw_wide_3 : vc_dw_3 : v->kw == 5 ? wide ? vc_dw_wide_5 : vc_dw_5 :
			      v->kw == 7 ? wide ? vc_dw_wide_7 : vc_dw_7 : 0) :
		v->kw == 3 ? vc_dw_3_by_2 : v->kw == 5 ? vc_dw_5_by_2 : 0;

	if (run) {
		vc_dw_rows(begin, end, v, x, w, bias, y, wide ? VC_DW_WIDE : VC_DW_NARROW, run, epilogue, p);
		return;
	}
	if (v->oc < VF && v->kh * v->kw <= VC_FEW_TAPS) {
		vc_depthwise_few(begin, end, v, x, w, bias, y, epilogue, p);
		return;
	}
#endif
	vc_depthwise_any(begin, end, v, x, w, bias, y, epilogue, p);
}

#if !VC_IN_ORDER
VC_END
#endif

#endif
