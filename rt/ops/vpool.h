/* rt/ops/vpool.h - pooling in generated kernels: windows over planes, any strides
 *
 * Lanes are channels if these are contiguous (channels last), and otherwise positions along the width. In the latter
 * case, the rows of narrow windows are first combined into one padded line, and then windows along it. Wide windows are
 * clipped to the image and computed one by one. NaN propagates through the maximum. Averages first sum up rows or
 * columns of a window, then these sums, because a single sum over a whole image would lose accuracy. */
#ifndef RT_OPS_VPOOL_H
#define RT_OPS_VPOOL_H

#include "vconv.h"

typedef struct VpPool {
	ptrdiff_t n, c, h, w, oh, ow;
	ptrdiff_t xn, xc, xh, xw, yn, yc, yh, yw;        /* strides */
	ptrdiff_t kh, kw, sh, sw, ph, pw, dh, dw;
	ptrdiff_t divisor;                               /* divisor of averages; 0 for the window's size */
	bool    max, adaptive, padding_counts;
} VpPool;

/* Range [from, to) of a window along a dim, in steps of the dilation. size is the extent for the divisor. */
typedef struct VpWindow { ptrdiff_t from, to, size; } VpWindow;

VC_INLINE VpWindow
vp_window(const VpPool *v, ptrdiff_t o, ptrdiff_t n, ptrdiff_t out, ptrdiff_t k, ptrdiff_t s, ptrdiff_t p, ptrdiff_t d)
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

enum { VP_NV = VC_FLOATS > 1 ? 4 : 1 };  /* number of vectors of a window that are computed together */

/* Returns the maximum in each lane. NaN if x or top is NaN. */
VC_INLINE VcV
vp_greater(VcV x, VcV top)
{
#if VC_FLOATS > 1
	const VcMask nan = x != x;

	top = vc_greater(x, top);                /* this is `top` if x or top is NaN */
	return (VcV)((nan & (VcMask)x) | (~nan & (VcMask)top));
#else
	return x > top || x != x ? x : top;
#endif
}

/* Loads a vector at x. `last` is the last address of a whole vector; behind it, loads n floats and sets the other lanes
 * to 0. */
VC_INLINE VcV
vp_read(const float *x, const float *last, ptrdiff_t n)
{
#if VC_FLOATS > 1
	float part[VF] = { 0 };

	if (n >= VF || x <= last)
		return *(const VcV *)x;
	for (ptrdiff_t i = 0; i < n; i++)
		part[i] = x[i];
	return *(const VcV *)part;
#else
	(void)last, (void)n;
	return *x;
#endif
}

/* Computes nv vectors of one window. The last vector ends with the channels and overlaps the one before. n: number of
 * channels from x on. last: as in vp_read. end: end of the memory that may be written. */
VC_INLINE void
vp_vectors(int nv, const VpPool *v, VpWindow a, VpWindow b, ptrdiff_t n, const float *x, const float *last, float *y,
	   const float *end)
{
	const float divisor = (float)(v->divisor ? v->divisor : a.size * b.size);
	const ptrdiff_t overlap = n < nv * VF && n >= VF ? n - VF : (nv - 1) * VF;
	VcV acc[VP_NV], part[VP_NV];

	VC_UNROLL
	for (int i = 0; i < nv; i++)
		acc[i] = VC_SET(v->max ? -(1.0f / 0.0f) : 0.0f);
	for (ptrdiff_t r = a.from; r < a.to; r += v->dh) {
		VC_UNROLL
		for (int i = 0; i < nv; i++)
			part[i] = VC_ZERO;
		for (ptrdiff_t s = b.from; s < b.to; s += v->dw) {
			const float *at = x + r * v->xh + s * v->xw;

			VC_UNROLL
			for (int i = 0; i < nv; i++) {
				const VcV in = vp_read(at + (i < nv - 1 ? i * VF : overlap), last, n);

				if (v->max)
					acc[i] = vp_greater(in, acc[i]);
				else
					part[i] += in;
			}
		}
		if (!v->max) {
			VC_UNROLL
			for (int i = 0; i < nv; i++)
				acc[i] += part[i];
		}
	}
	VC_UNROLL
	for (int i = 0; i < nv; i++) {
		float *to = y + (i < nv - 1 ? i * VF : overlap);

		if (!v->max)
			acc[i] /= divisor;
		if (n >= VF || to + VF <= end)
			*(VcV *)to = acc[i];
		else
			vc_store_part(1, n, to, 0, (const float *)&acc[i]);
	}
}

/* Computes all channels of one window. Lanes behind the last channel belong to the next pixels, which are stored
 * later. */
VC_INLINE void
vp_pixel(const VpPool *v, VpWindow a, VpWindow b, const float *x, const float *last, float *y, const float *end)
{
	const ptrdiff_t whole = v->c / (VP_NV * VF) * (VP_NV * VF), n = v->c - whole;

	for (ptrdiff_t c = 0; c < whole; c += VP_NV * VF)
		vp_vectors(VP_NV, v, a, b, v->c - c, x + c, last, y + c, end);
	if (VP_NV == 1)
		return;                          /* n is 0 */
	if (n > 3 * VF)
		vp_vectors(VP_NV, v, a, b, n, x + whole, last, y + whole, end);
	else if (n > 2 * VF)
		vp_vectors(3, v, a, b, n, x + whole, last, y + whole, end);
	else if (n > VF)
		vp_vectors(2, v, a, b, n, x + whole, last, y + whole, end);
	else if (n && v->c > VF)
		vp_vectors(1, v, a, b, VF, x + v->c - VF, last, y + v->c - VF, end);
	else if (n)
		vp_vectors(1, v, a, b, n, x, last, y, end);
}

/* Computes rows [begin, end) of n * oh, channels last. */
VC_INLINE void
vp_pool_lanes(ptrdiff_t begin, ptrdiff_t end, const VpPool *v, const float *x, float *y)
{
	const float *const last = x + (v->n - 1) * v->xn + (v->h - 1) * v->xh + (v->w - 1) * v->xw + v->c - VF;

	for (ptrdiff_t row = begin; row < end; row++) {
		const ptrdiff_t in = row / v->oh, oh = row % v->oh;
		const VpWindow a = vp_window(v, oh, v->h, v->oh, v->kh, v->sh, v->ph, v->dh);
		float *to = y + in * v->yn + oh * v->yh;
		const float *stop = v->yw == v->c ? to + v->ow * v->yw : 0;

		for (ptrdiff_t ow = 0; ow < v->ow; ow++) {
			const VpWindow b = vp_window(v, ow, v->w, v->ow, v->kw, v->sw, v->pw, v->dw);

			vp_pixel(v, a, b, x + in * v->xn, last, to + ow * v->yw, stop);
		}
	}
}

enum { VP_RUN = 16 };        /* smallest number of contiguous elements of a window's row that are computed in lanes */
/* number of vectors side by side; number of vectors that each of them sums up in float */
enum { VP_SIDE = VC_FLOATS > 1 ? 4 : 1, VP_DEEP = 8 };

/* Returns the maximum of all lanes. NaN if any lane is NaN. */
VC_INLINE float
vp_greatest_lane(VcV x)
{
#if VC_FLOATS > 1
#define VP_ROUND(...) x = vp_greater(x, (VcV)__builtin_shufflevector(x, x, __VA_ARGS__));
	VC_ROUNDS(VP_ROUND)
#undef VP_ROUND
	return x[0];
#else
	return x;
#endif
}

/* Returns the maximum of n contiguous floats and `top`. NaN if any of these is NaN. */
VC_INLINE float
vp_run_greatest(const float *x, ptrdiff_t n, float top)
{
	VcV acc[VP_SIDE];
	ptrdiff_t k = 0;

	VC_UNROLL
	for (int i = 0; i < VP_SIDE; i++)
		acc[i] = VC_SET(top);
	for (; k + VP_SIDE * VF <= n; k += VP_SIDE * VF) {
		VC_UNROLL
		for (int i = 0; i < VP_SIDE; i++)
			acc[i] = vp_greater(*(const VcV *)(x + k + i * VF), acc[i]);
	}
	for (; k + VF <= n; k += VF)
		acc[0] = vp_greater(*(const VcV *)(x + k), acc[0]);
	VC_UNROLL
	for (int i = 1; i < VP_SIDE; i++)
		acc[0] = vp_greater(acc[i], acc[0]);
	top = vp_greatest_lane(acc[0]);
	for (; k < n; k++)
		top = x[k] > top || x[k] != x[k] ? x[k] : top;
	return top;
}

/* Returns the sum of n contiguous floats. VP_DEEP floats of a lane are summed up in float, and these sums in double. */
VC_INLINE double
vp_run_sum(const float *x, ptrdiff_t n)
{
	double sum = 0;
	ptrdiff_t k = 0;

	while (k + VF <= n) {
		VcV acc[VP_SIDE];
		const ptrdiff_t stop = k + VP_DEEP * VP_SIDE * VF < n ? k + VP_DEEP * VP_SIDE * VF : n;

		VC_UNROLL
		for (int i = 0; i < VP_SIDE; i++)
			acc[i] = VC_ZERO;
		for (; k + VP_SIDE * VF <= stop; k += VP_SIDE * VF) {
			VC_UNROLL
			for (int i = 0; i < VP_SIDE; i++)
				acc[i] += *(const VcV *)(x + k + i * VF);
		}
		for (; k + VF <= stop; k += VF)
			acc[0] += *(const VcV *)(x + k);
		VC_UNROLL
		for (int i = 1; i < VP_SIDE; i++)
			acc[0] += acc[i];
		sum += vc_sum(acc[0]);
	}
	for (; k < n; k++)
		sum += x[k];
	return sum;
}

/* Computes one window of a plane. Rows that are contiguous and entirely inside of the window are one run. */
VC_INLINE float
vp_place(const VpPool *v, VpWindow a, VpWindow b, const float *x)
{
	const bool whole = v->xw == 1 && v->xh == v->w && v->dh == 1 && v->dw == 1 && b.from == 0 && b.to == v->w;
	const ptrdiff_t rows = whole ? a.to - a.from : 1, n = rows * (b.to - b.from);
	const bool runs = v->xw == 1 && v->dw == 1 && n >= VP_RUN;
	float top = -(1.0f / 0.0f);
	double sum = 0;

	for (ptrdiff_t r = a.from; r < a.to; r += whole ? rows : v->dh) {
		const float *row = x + r * v->xh;

		if (runs && v->max)
			top = vp_run_greatest(row + b.from, n, top);
		else if (runs)
			sum += vp_run_sum(row + b.from, n);
		for (ptrdiff_t s = b.from; s < b.from + n && !runs; s += v->dw) {
			const float e = row[s * v->xw];

			if (v->max)
				top = e > top || e != e ? e : top;
			else
				sum += e;
		}
	}
	return v->max ? top : (float)(sum / (double)(v->divisor ? v->divisor : a.size * b.size));
}

/* ---- narrow windows: rows are combined column by column, then adjacent columns ----------------------------------- */

enum { VP_LINE = VC_FLOATS > 1 ? 1024 : 256 };   /* number of floats of a line */

#if VC_FLOATS == 16
#define VP_EVEN(a, b) \
	__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31)
#elif VC_FLOATS == 8
#define VP_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15)
#elif VC_FLOATS == 4
#define VP_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 5, 7)
#endif

/* Loads every step-th float from x on. last and n are as in vp_read. */
VC_INLINE VcV
vp_gather(const float *x, ptrdiff_t step, const float *last, ptrdiff_t n)
{
#if VC_FLOATS > 1
	float part[VF] = { 0 };

	if (step == 1)
		return vp_read(x, last, n);
	if (step == 2 && n >= VF)
		return VP_EVEN(*(const VcV *)x, *(const VcV *)(x + VF - 1));
	for (ptrdiff_t i = 0; i < VF && i < n; i++)
		part[i] = x[i * step];
	return *(const VcV *)part;
#else
	(void)step;
	return vp_read(x, last, n);
#endif
}

VC_INLINE VcV
vp_joined(const VpPool *v, VcV x, VcV so_far)
{
	if (v->max)
		return vp_greater(x, so_far);
	return so_far + x;
}

/* Sets line[j] to the maximum or sum of column from + j over the rows of a. Columns outside of the image are -infinity
 * or 0. last: as in vp_read. */
VC_INLINE void
vp_line(const VpPool *v, VpWindow a, ptrdiff_t from, ptrdiff_t n, const float *x, const float *last,
	float *restrict line)
{
	const float outside = v->max ? -(1.0f / 0.0f) : 0;
	const ptrdiff_t end = a.from >= a.to ? 0 : v->w - from < n ? v->w - from : n;
	const ptrdiff_t lo = from < 0 ? -from < end ? -from : end : 0, hi = end < lo ? lo : end;

	for (ptrdiff_t j = lo; j < hi; j += VF) {
		const ptrdiff_t at = hi - j < VF && hi - lo >= VF ? hi - VF : j;
		VcV acc = VC_SET(outside);

		for (ptrdiff_t r = a.from; r < a.to; r += v->dh)
			acc = vp_joined(v, vp_gather(x + r * v->xh + (from + at) * v->xw, v->xw, last, hi - at), acc);
		*(VcV *)(line + at) = acc;
	}
	for (ptrdiff_t j = 0; j < lo; j++)
		line[j] = outside;
	for (ptrdiff_t j = hi; j < n; j++)
		line[j] = outside;
}

/* Returns the number of columns that n adjacent windows read. */
VC_INLINE ptrdiff_t
vp_read_columns(const VpPool *v, ptrdiff_t n)
{
	return (n - 1) * v->sw + (v->kw - 1) * v->dw + 1;
}

/* Computes averages of windows [i, end), counted from ow, that may reach outside of the image. */
VC_INLINE void
vp_edge(const VpPool *v, VpWindow a, ptrdiff_t ow, ptrdiff_t i, ptrdiff_t end, const float *sum, float *y)
{
	for (; i < end; i++) {
		const VpWindow b = vp_window(v, ow + i, v->w, v->ow, v->kw, v->sw, v->pw, v->dw);

		y[i * v->yw] = sum[i] / (float)(a.size * b.size);
	}
}

/* Stores the first n <= VF lanes of x to every step-th float from y on. */
VC_INLINE void
vp_put(VcV x, ptrdiff_t step, ptrdiff_t n, float *y)
{
	float part[VF];

	if (step == 1 && n >= VF) {
		*(VcV *)y = x;
		return;
	}
	*(VcV *)part = x;
	for (ptrdiff_t i = 0; i < VF && i < n; i++)
		y[i * step] = part[i];
}

/* Computes windows [ow, ow + n) of a row. Windows [lo, hi) among them are entirely inside of the image and have the
 * same size. */
VC_INLINE void
vp_windows(const VpPool *v, VpWindow a, ptrdiff_t ow, ptrdiff_t n, const float *x, const float *last, float *y)
{
	const ptrdiff_t from = ow * v->sw - v->pw, room = v->w - from - vp_read_columns(v, 1);
	const bool same = v->max || v->divisor ||
			  (v->padding_counts && vp_read_columns(v, v->ow) <= v->w + 2 * v->pw);
	const ptrdiff_t left = same || from >= 0 ? 0 : (v->sw - 1 - from) / v->sw, lo = left < n ? left : n;
	const ptrdiff_t end = same ? n : room < 0 ? 0 : room / v->sw + 1, hi = end < lo ? lo : end < n ? end : n;
	const float size = (float)(v->divisor ? v->divisor : a.size * v->kw);
	float line[VP_LINE], sum[VP_LINE];

	vp_line(v, a, from, vp_read_columns(v, (n + VF - 1) / VF * VF), x, last, line);
	for (ptrdiff_t i = 0; i < n; i += VF) {
		VcV acc = vp_gather(line + i * v->sw, v->sw, line, VF);

		for (ptrdiff_t s = 1; s < v->kw; s++)
			acc = vp_joined(v, vp_gather(line + i * v->sw + s * v->dw, v->sw, line, VF), acc);
		if (!v->max) {
			*(VcV *)(sum + i) = acc;
			acc /= VC_SET(size);
		}
		vp_put(acc, v->yw, n - i, y + i * v->yw);
	}
	vp_edge(v, a, ow, 0, lo, sum, y);
	vp_edge(v, a, ow, hi, n, sum, y);
}

/* Computes a row of windows. */
VC_INLINE void
vp_row(const VpPool *v, VpWindow a, const float *x, const float *last, float *y)
{
	const ptrdiff_t most = ((VP_LINE - vp_read_columns(v, 1)) / v->sw + 1) / VF * VF;

	if (v->adaptive || v->kw >= VP_RUN || most < VP_RUN) {
		for (ptrdiff_t ow = 0; ow < v->ow; ow++)
			y[ow * v->yw] = vp_place(v, a, vp_window(v, ow, v->w, v->ow, v->kw, v->sw, v->pw, v->dw), x);
		return;
	}
	for (ptrdiff_t ow = 0, n; ow < v->ow; ow += n) {
		n = v->ow - ow < most ? v->ow - ow : most;
		vp_windows(v, a, ow, n, x, last, y + ow * v->yw);
	}
}

/* Computes rows [begin, end) of n * c * oh, for any strides. */
VC_INLINE void
vp_pool_planes(ptrdiff_t begin, ptrdiff_t end, const VpPool *v, const float *x, float *y)
{
	const float *const last =
		x + (v->n - 1) * v->xn + (v->c - 1) * v->xc + (v->h - 1) * v->xh + (v->w - 1) * v->xw + 1 - VF;

	for (ptrdiff_t row = begin; row < end; row++) {
		const ptrdiff_t oh = row % v->oh, c = row / v->oh % v->c, in = row / v->oh / v->c;
		const VpWindow a = vp_window(v, oh, v->h, v->oh, v->kh, v->sh, v->ph, v->dh);

		vp_row(v, a, x + in * v->xn + c * v->xc, last, y + in * v->yn + c * v->yc + oh * v->yh);
	}
}

/* ---- indices of maxima, and the gradient of the maximum; lanes are channels -------------------------------------- */

enum { VP_LANES = 16 };

static inline void
vp_places(const VpPool *v, VpWindow a, VpWindow b, ptrdiff_t lanes, const float *restrict x, float *restrict y,
	  int64_t *restrict at)
{
	const bool none = a.from >= a.to || b.from >= b.to;
	float top[VP_LANES];
	int place[VP_LANES];

	for (ptrdiff_t i = 0; i < lanes; i++) {
		top[i] = none ? -(1.0f / 0.0f) : x[a.from * v->xh + b.from * v->xw + i];
		place[i] = none ? 0 : (int)(a.from * v->w + b.from);
	}
	for (ptrdiff_t r = a.from; r < a.to; r += v->dh)
		for (ptrdiff_t s = b.from; s < b.to; s += v->dw) {
			const float *row = x + r * v->xh + s * v->xw;
			const int here = (int)(r * v->w + s);

			IVDEP
			for (ptrdiff_t i = 0; i < lanes; i++) {
				const bool more = row[i] > top[i] || row[i] != row[i];

				top[i] = more ? row[i] : top[i];
				place[i] = more ? here : place[i];
			}
		}
	for (ptrdiff_t i = 0; i < lanes; i++) {
		y[i] = top[i];
		at[i] = place[i];
	}
}

/* Computes rows [begin, end) of n * oh: maxima and their indices, which have the result's layout. */
static inline void
vp_max_places(ptrdiff_t begin, ptrdiff_t end, const VpPool *v, const float *x, float *y, int64_t *at)
{
	for (ptrdiff_t row = begin; row < end; row++) {
		const ptrdiff_t in = row / v->oh, oh = row % v->oh;
		const VpWindow a = vp_window(v, oh, v->h, v->oh, v->kh, v->sh, v->ph, v->dh);

		for (ptrdiff_t ow = 0; ow < v->ow; ow++) {
			const VpWindow b = vp_window(v, ow, v->w, v->ow, v->kw, v->sw, v->pw, v->dw);
			const ptrdiff_t to = in * v->yn + oh * v->yh + ow * v->yw;
			ptrdiff_t c = 0;

			for (; c + VP_LANES <= v->c; c += VP_LANES)
				vp_places(v, a, b, VP_LANES, x + in * v->xn + c, y + to + c, at + to + c);
			if (c < v->c)
				vp_places(v, a, b, v->c - c, x + in * v->xn + c, y + to + c, at + to + c);
		}
	}
}

typedef struct VpBack {
	ptrdiff_t n, c, p, limit;        /* p: number of positions of the result; limit: of the input */
	ptrdiff_t xn, xp, yn, yc, yp, an, ac, ap;        /* strides; along the input's channels it is 1 */
} VpBack;

/* Computes blocks [begin, end) of n * blocks of channels. y: gradient of the result, which is added to x at the indices
 * `at`. Sets *wrong if one is out of range. */
static inline void
vp_max_back(ptrdiff_t begin, ptrdiff_t end, const VpBack *v, const float *y, const int64_t *at, float *x, int *wrong)
{
	const ptrdiff_t blocks = (v->c + VP_LANES - 1) / VP_LANES;

	for (ptrdiff_t part = begin; part < end; part++) {
		const ptrdiff_t in = part / blocks, c = part % blocks * VP_LANES,
			      lanes = v->c - c < VP_LANES ? v->c - c : VP_LANES;
		float *to = x + in * v->xn + c;

		for (ptrdiff_t p = 0; p < v->p; p++) {
			const float *from = y + in * v->yn + c * v->yc + p * v->yp;
			const int64_t *place = at + in * v->an + c * v->ac + p * v->ap;

			for (ptrdiff_t k = 0; k < lanes; k++)
				if ((uint64_t)place[k * v->ac] < (uint64_t)v->limit)
					to[place[k * v->ac] * v->xp + k] += from[k * v->yc];
				else
					*wrong = 1;
		}
	}
}

#endif
