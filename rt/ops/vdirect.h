/* rt/ops/vdirect.h - small convolutions in generated kernels without packing: lanes along the width
 *
 * They are for layouts other than channels last (one dim, or weights that are not constant). Each row of the result is
 * computed 64 floats at a time. Taps that would read outside of the image update only the lanes that are inside. */
#ifndef RT_OPS_VDIRECT_H
#define RT_OPS_VDIRECT_H

typedef struct VdConv {
	ptrdiff_t n, ic, oc, h, w, oh, ow, groups;       /* ic, oc: number of channels of all groups */
	ptrdiff_t xn, xc, xh, xw, yn, yc, yh, yw;        /* strides */
	ptrdiff_t kh, kw, sh, sw, ph, pw, dh, dw;
	ptrdiff_t wo, wi, wh, ww;                        /* strides of the weight */
} VdConv;

static inline ptrdiff_t
vd_up(ptrdiff_t a, ptrdiff_t b)
{
	return a > 0 ? (a + b - 1) / b : 0;
}

/* Adds one tap: acc[j] += f * x[(at + j) * sw + shift], if that column is in [0, w). */
VC_INLINE void
vd_tap(const VdConv *v, ptrdiff_t at, ptrdiff_t some, ptrdiff_t shift, float f, const float *restrict x,
       float *restrict acc)
{
	const ptrdiff_t from = vd_up(-shift, v->sw) - at, to = vd_up(v->w - shift, v->sw) - at;
	const ptrdiff_t lo = from > 0 ? from : 0, hi = to < some ? to : some;

	IVDEP
	for (ptrdiff_t j = lo; j < hi; j++)
		acc[j] += f * x[((at + j) * v->sw + shift) * v->xw];
}

/* Computes rows [begin, end) of n * oc * oh. */
VC_INLINE void
vd_conv(ptrdiff_t begin, ptrdiff_t end, const VdConv *v, const float *x, const float *w, const float *bias, float *y)
{
	const ptrdiff_t each = v->ic / v->groups;

	for (ptrdiff_t row = begin; row < end; row++) {
		const ptrdiff_t oh = row % v->oh, oc = row / v->oh % v->oc, in = row / v->oh / v->oc,
			      g = oc / (v->oc / v->groups);
		const float *from = x + in * v->xn + g * each * v->xc, *weight = w + oc * v->wo;
		float *to = y + in * v->yn + oc * v->yc + oh * v->yh;

		for (ptrdiff_t at = 0; at < v->ow; at += 64) {
			const ptrdiff_t some = v->ow - at < 64 ? v->ow - at : 64;
			float acc[64];

			for (ptrdiff_t j = 0; j < 64; j++)
				acc[j] = bias ? bias[oc] : 0;
			for (ptrdiff_t c = 0; c < each; c++)
				for (ptrdiff_t r = 0; r < v->kh; r++) {
					const ptrdiff_t iy = oh * v->sh - v->ph + r * v->dh;

					for (ptrdiff_t s = 0; s < v->kw && (size_t)iy < (size_t)v->h; s++)
						vd_tap(v, at, some, s * v->dw - v->pw,
						       weight[c * v->wi + r * v->wh + s * v->ww],
						       from + c * v->xc + iy * v->xh, acc);
				}
			for (ptrdiff_t j = 0; j < some; j++)
				to[(at + j) * v->yw] = acc[j];
		}
	}
}

#endif
