/* rt/ops/vlanes.h - convolutions of generated kernels with few output channels
 *
 * In panels, many lanes would be unused. Here lanes are channels of the input: each channel of each output pixel has a
 * vector of partial sums, which are added up at the end. Activations are NHWC, with at least a vector of channels.
 * Weights are [oc][tap][ic]. */
#ifndef RT_OPS_VLANES_H
#define RT_OPS_VLANES_H

#include "vconv.h"

#if VC_FLOATS > 1

enum {
	VC_LANES_MOST = 4,                              /* largest number of output channels */
	VC_LANES_SUMS = VC_FLOATS == 16 ? 24 : 12  /* number of accumulators that fit in registers */
};
#define VC_LANES_ROWS(oc) (VC_LANES_SUMS / (oc) < VC_MR ? VC_LANES_SUMS / (oc) : VC_MR)

/* Loads a vector and sets the lanes that are not in `keep` to 0. */
VC_INLINE VcV
vc_lanes_kept(const float *x, VcMask keep)
{
	return (VcV)((VcMask)*(const VcV *)x & keep);
}

/* Adds the products of the weights and the vectors at k of mr runs, whose addresses are in a. `each` is the stride of
 * output channels. */
VC_INLINE void
vc_lanes_step(int mr, int oc, ptrdiff_t k, VcMask keep, const float *const *a, const float *w, ptrdiff_t each, VcV *sum)
{
	VcV row[VC_LANES_MOST];

	VC_UNROLL
	for (int o = 0; o < oc; o++)
		row[o] = vc_lanes_kept(w + o * each + k, keep);
	VC_UNROLL
	for (int i = 0; i < mr; i++) {
		const VcV x = vc_lanes_kept(a[i] + k, keep);

		VC_UNROLL
		for (int o = 0; o < oc; o++)
			sum[i * oc + o] += x * row[o];
	}
}

/* Adds runs of n floats, where n is at least a vector. The last vector overlaps the one before. */
VC_INLINE void
vc_lanes_add(int mr, int oc, ptrdiff_t n, const float *const *a, const float *w, ptrdiff_t each, VcV *sum)
{
	const VcMask all = ~(VcMask){ 0 };
	ptrdiff_t k = 0;

	for (; k + VF <= n; k += VF)
		vc_lanes_step(mr, oc, k, all, a, w, each, sum);
	if (k < n) {
		_Alignas(VcMask) int32_t keep[VF];

		for (int i = 0; i < VF; i++)
			keep[i] = -(n - VF + i >= k);
		vc_lanes_step(mr, oc, n - VF, *(const VcMask *)keep, a, w, each, sum);
	}
}

/* Computes mr pixels from *at on, and moves *at behind them. */
VC_INLINE void
vc_lanes_pixels(int mr, int oc, const VcConv *v, VcPixel *at, const float *w, const float *bias, float *y,
	      const float *zeros)
{
	const ptrdiff_t each = VC_FRAME(v, kd, 1) * v->kh * v->kw * v->ic;
	VcV sum[VC_LANES_SUMS];
	VcWindows p;
	bool any;

	VC_UNROLL
	for (int i = 0; i < mr * oc; i++)
		sum[i] = VC_ZERO;
	vc_windows_start(mr, v, at, &p);
	p.inside &= v->ic % VF == 0;    /* otherwise a pixel's rounding would depend on the other pixels of its block */
	while (p.q < VC_FRAME(v, kd, 1)) {
		const ptrdiff_t n = vc_windows_next(mr, v, zeros, &p, &any);

		if (any)
			vc_lanes_add(mr, oc, n, p.rows, w, each, sum);
		w += n;
	}
	VC_UNROLL
	for (int i = 0; i < mr; i++) {
		VC_UNROLL
		for (int o = 0; o < oc; o++) {
			float x = vc_sum(sum[i * oc + o]) + (bias ? bias[o] : 0);

			if (v->range) {
				x = x < v->range[0] ? v->range[0] : x;
				x = x > v->range[1] ? v->range[1] : x;
			}
			y[i * v->ys + o] = x;
		}
	}
}

/* A function that computes pixels [first, last). */
typedef void VcLanes(const VcConv *v, ptrdiff_t first, ptrdiff_t last, const float *x, const float *w,
		     const float *bias, float *y, const float *zeros);

#define VC_LANES_OF(oc) \
	VC_SHARED void \
	vc_lanes_##oc(const VcConv *v, ptrdiff_t first, ptrdiff_t last, const float *x, const float *w, \
		      const float *bias, float *y, const float *zeros) \
	{ \
		VcPixel at = vc_pixel(v, first, x); \
		ptrdiff_t i = first; \
\
		for (; i + VC_LANES_ROWS(oc) <= last; i += VC_LANES_ROWS(oc)) \
			vc_lanes_pixels(VC_LANES_ROWS(oc), oc, v, &at, w, bias, y + i * v->ys, zeros); \
		for (; i < last; i++) \
			vc_lanes_pixels(1, oc, v, &at, w, bias, y + i * v->ys, zeros); \
	}
VC_LANES_OF(1)
VC_LANES_OF(2)
VC_LANES_OF(3)
VC_LANES_OF(4)
#undef VC_LANES_OF

VC_INLINE VcLanes *
vc_lanes(ptrdiff_t n)
{
	return n == 1 ? vc_lanes_1 : n == 2 ? vc_lanes_2 : n == 3 ? vc_lanes_3 : vc_lanes_4;
}

/* Computes units of v->step pixels. `zeros` are ic zeros. More than four channels of a group are computed in equal
 * parts. */
VC_INLINE void
vc_conv_lanes(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias,
	      float *y, const float *zeros, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t pixels = v->n * VC_FRAME(v, od, 1) * v->oh * v->ow;
	const ptrdiff_t last = end * v->step < pixels ? end * v->step : pixels;
	const ptrdiff_t columns = v->groups * v->oc, each = VC_FRAME(v, kd, 1) * v->kh * v->kw * v->ic;
	const ptrdiff_t parts = (v->oc + VC_LANES_MOST - 1) / VC_LANES_MOST, some = (v->oc + parts - 1) / parts;

	for (ptrdiff_t first = begin * v->step; first < last; first += v->chunk) {
		const ptrdiff_t to = first + v->chunk < last ? first + v->chunk : last;

		for (ptrdiff_t c = 0, n; c < columns; c += n) {
			const ptrdiff_t left = v->oc - c % v->oc;

			n = left < some ? left : some;
			vc_lanes(n)(v, first, to, x + c / v->oc * v->ic, w + c * each, bias ? bias + c : 0, y + c,
				    zeros);
		}
		if (epilogue)
			epilogue(p, first, to, 0, columns, columns);
	}
}

#endif

#endif
