/* rt/ops/vpool.h - pooling in generated kernels: windows over planes, any strides
 *
 * One dim of the result is the lane: channels when they are consecutive (channels last), else the width; windows are
 * clipped to the image first, so that nothing inside of them is checked.  NaN propagates through the maximum.
 */
#ifndef RT_OPS_VPOOL_H
#define RT_OPS_VPOOL_H

typedef struct VpPool {
	int64_t n, c, h, w, oh, ow;
	int64_t xn, xc, xh, xw, yn, yc, yh, yw;          /* strides */
	int64_t kh, kw, sh, sw, ph, pw, dh, dw;
	int64_t divisor;                                 /* average: 0: the window's size */
	bool    max, adaptive, padding_counts;
} VpPool;

typedef struct VpWindow { int64_t from, to, size; } VpWindow;    /* [from, to) in steps of the dilation; size: that counts */

VC_INLINE VpWindow
vp_window(const VpPool *v, int64_t o, int64_t n, int64_t out, int64_t k, int64_t s, int64_t p, int64_t d)
{
	VpWindow w;

	if (v->adaptive) {
		w.from = o * n / out;
		w.to = ((o + 1) * n + out - 1) / out;
		w.size = w.to - w.from;
		return w;
	}
	w.from = o * s - p;
	w.to = w.from + (k - 1) * d + 1;
	w.size = (w.to < n + p ? w.to : n + p) - w.from;
	if (w.from < 0)
		w.from += (-w.from + d - 1) / d * d;
	w.to = w.to < n ? w.to : n;
	if (!v->padding_counts)
		w.size = w.to - w.from;
	return w;
}

/* Up to 64 lanes of one window. */
VC_INLINE void
vp_lanes(const VpPool *v, VpWindow a, VpWindow b, int64_t lanes, const float *restrict x, float *restrict y)
{
	const float divisor = (float)(v->divisor ? v->divisor : a.size * b.size);
	float acc[64];

	for (int64_t i = 0; i < lanes; i++)
		acc[i] = v->max ? -(1.0f / 0.0f) : 0;
	for (int64_t r = a.from; r < a.to; r += v->dh)
		for (int64_t s = b.from; s < b.to; s += v->dw) {
			const float *row = x + r * v->xh + s * v->xw;

			IVDEP
			for (int64_t i = 0; i < lanes; i++)
				acc[i] = !v->max ? acc[i] + row[i] : row[i] > acc[i] || row[i] != row[i] ? row[i] : acc[i];
		}
	for (int64_t i = 0; i < lanes; i++)
		y[i] = v->max ? acc[i] : acc[i] / divisor;
}

/* Channels last: [begin, end) of n * oh. */
VC_INLINE void
vp_pool_lanes(int64_t begin, int64_t end, const VpPool *v, const float *x, float *y)
{
	for (int64_t row = begin; row < end; row++) {
		const int64_t in = row / v->oh, oh = row % v->oh;
		const VpWindow a = vp_window(v, oh, v->h, v->oh, v->kh, v->sh, v->ph, v->dh);

		for (int64_t ow = 0; ow < v->ow; ow++) {
			const VpWindow b = vp_window(v, ow, v->w, v->ow, v->kw, v->sw, v->pw, v->dw);
			float *to = y + in * v->yn + oh * v->yh + ow * v->yw;
			const float *from = x + in * v->xn;

			for (int64_t c = 0; c < v->c; c += 64)
				vp_lanes(v, a, b, v->c - c < 64 ? v->c - c : 64, from + c, to + c);
		}
	}
}

/* Any strides: [begin, end) of n * c * oh. */
VC_INLINE void
vp_pool_planes(int64_t begin, int64_t end, const VpPool *v, const float *x, float *y)
{
	for (int64_t row = begin; row < end; row++) {
		const int64_t oh = row % v->oh, c = row / v->oh % v->c, in = row / v->oh / v->c;
		const VpWindow a = vp_window(v, oh, v->h, v->oh, v->kh, v->sh, v->ph, v->dh);
		const float *from = x + in * v->xn + c * v->xc;
		float *to = y + in * v->yn + c * v->yc + oh * v->yh;

		for (int64_t ow = 0; ow < v->ow; ow++) {
			const VpWindow b = vp_window(v, ow, v->w, v->ow, v->kw, v->sw, v->pw, v->dw);
			float acc = v->max ? -(1.0f / 0.0f) : 0;

			for (int64_t r = a.from; r < a.to; r += v->dh)
				for (int64_t s = b.from; s < b.to; s += v->dw) {
					const float e = from[r * v->xh + s * v->xw];

					acc = !v->max ? acc + e : e > acc || e != e ? e : acc;
				}
			to[ow * v->yw] = v->max ? acc : acc / (float)(v->divisor ? v->divisor : a.size * b.size);
		}
	}
}

#endif
