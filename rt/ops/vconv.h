/* rt/ops/vconv.h - convolutions of generated kernels: the register blocks of vblock.h
 *
 * Activations are NHWC (channels last): the pixels of an output block read runs of consecutive floats, and the
 * convolution is a product of MR pixels by NR channels whose rows are found by address ("indirect": no im2col).
 */
#ifndef RT_OPS_VCONV_H
#define RT_OPS_VCONV_H

#include "vblock.h"

typedef struct VcConv {
	ptrdiff_t n, h, w, ic;           /* input (n, h, w, groups * ic); a pixel is xs floats after the one before */
	ptrdiff_t oh, ow, oc;
	ptrdiff_t groups;                /* which have ic and oc channels each; 0: vdepth.h, of oc in all */
	ptrdiff_t kh, kw, sh, sw, ph, pw, dh, dw;
	ptrdiff_t xs;                    /* floats between pixels of the input: channels of the whole, with groups */
	ptrdiff_t ys;                    /* likewise of the output */
	const float *range;              /* results are clamped to range[0], range[1]; null: they are not */
} VcConv;

typedef struct VcPixel {             /* an output pixel, and where its window begins in the input */
	ptrdiff_t oh, ow;
	const float *image;
} VcPixel;

/* The i-th output pixel of all images. */
VC_INLINE VcPixel
vc_pixel(const VcConv *v, ptrdiff_t i, const float *x)
{
	const ptrdiff_t row = i / v->ow;

	return (VcPixel){ row % v->oh, i % v->ow, x + row / v->oh * v->h * v->w * v->xs };
}

/* Some pixels side by side and, tap after tap, what their windows read. */
typedef struct VcWindows {
	const float *corner[VC_MR], *rows[VC_MR];        /* of each pixel: tap (0, 0); the tap at hand */
	ptrdiff_t y0[VC_MR], x0[VC_MR];
	ptrdiff_t r, s;                                  /* the next tap */
	/* are all columns of all windows there, and side by side in memory? */
	bool    inside;
} VcWindows;

/* mr pixels from *at on, which moves behind them. */
VC_INLINE void
vc_windows_start(int mr, const VcConv *v, VcPixel *at, VcWindows *p)
{
	p->r = p->s = 0;
	p->inside = v->dw == 1 && v->xs == v->ic;
	for (int i = 0; i < mr; i++) {
		p->y0[i] = at->oh * v->sh - v->ph;
		p->x0[i] = at->ow * v->sw - v->pw;
		p->corner[i] = at->image + (p->y0[i] * v->w + p->x0[i]) * v->xs;
		p->inside &= p->x0[i] >= 0 && p->x0[i] + v->kw <= v->w;
		if (++at->ow == v->ow) {
			at->ow = 0;
			if (++at->oh == v->oh) {
				at->oh = 0;
				at->image += v->h * v->w * v->xs;
			}
		}
	}
}

/* The next tap, or, where all pixels have them, the next row of taps, which is one run in memory: how many products
 * that are. any: has one of the pixels it at all? */
VC_INLINE ptrdiff_t
vc_windows_next(int mr, const VcConv *v, const float *zeros, VcWindows *p, bool *any)
{
	const ptrdiff_t dy = p->r * v->dh, dx = p->s * v->dw, far = (dy * v->w + dx) * v->xs;
	bool all = p->inside;

	*any = false;
	for (int i = 0; i < mr; i++) {
		const bool row = (size_t)(p->y0[i] + dy) < (size_t)v->h,
			   in = row && (size_t)(p->x0[i] + dx) < (size_t)v->w;

		p->rows[i] = in ? p->corner[i] + far : zeros;
		*any |= in;
		all &= row;
	}
	p->s = all ? v->kw : p->s + 1;
	if (p->s == v->kw) {
		p->s = 0;
		p->r++;
	}
	return all ? v->kw * v->ic : v->ic;
}

/* mr pixels from *at on, which moves behind them; sums of VC_RUN products join in the result. */
VC_INLINE void
vc_conv_pixels(int mr, int nv, bool half, const VcConv *v, VcPixel *at, const float *w, int wide, const float *bias,
	       float *y, const float *zeros, ptrdiff_t left)
{
	float part[VC_MR * VC_NR];
	const VcPlace to = vc_place(nv * VF + half * VF / 2, left, y, v->ys, part);
	ptrdiff_t have = 0;                      /* products left of the tap at hand */
	bool any, more = false;
	VcWindows p;

	vc_windows_start(mr, v, at, &p);
	do {
		VcRows sum;

		vc_rows_start(mr, nv, half, more ? 0 : bias, &sum);
		for (ptrdiff_t room = VC_RUN, n; room && (have || p.r < v->kh); room -= n) {
			if (!have) {
				have = vc_windows_next(mr, v, zeros, &p, &any);
				if (!any) {
					w += have * wide;
					have = 0;
				}
			}
			n = have < room ? have : room;
			vc_rows_add_at(mr, nv, half, n, p.rows, w, wide, &sum);
			for (int i = 0; i < mr; i++)
				p.rows[i] += n;
			w += n * wide;
			have -= n;
		}
		vc_rows_store(mr, nv, half, to, more, have || p.r < v->kh ? 0 : v->range, &sum);
		more = true;
	} while (have || p.r < v->kh);
	if (to.to == part)
		vc_store_part(mr, left, y, v->ys, part);
}

/* a / b for b > 0, rounded up; 0 where it is negative. */
VC_INLINE ptrdiff_t
vc_up(ptrdiff_t a, ptrdiff_t b)
{
	return a > 0 ? (a + b - 1) / b : 0;
}

/* mr pixels side by side, all of whose columns of taps are inside: rows of taps, or, of groups and dilated, single taps
 * are runs at equal distances. */
VC_INLINE void
vc_conv_strip(int mr, int nv, bool half, const VcConv *v, const VcPixel *at, const float *w, int wide,
	      const float *bias, float *y, ptrdiff_t left)
{
	const bool joined = v->dw == 1 && v->xs == v->ic;
	const ptrdiff_t run = joined ? v->kw * v->ic : v->ic, runs = joined ? 1 : v->kw;
	const ptrdiff_t y0 = at->oh * v->sh - v->ph, below = vc_up(v->h - y0, v->dh);
	const ptrdiff_t r1 = below < v->kh ? below : v->kh;
	const float *x = at->image + (y0 * v->w + at->ow * v->sw - v->pw) * v->xs;
	float part[VC_MOST * VC_NR];
	const VcPlace to = vc_place(nv * VF + half * VF / 2, left, y, v->ys, part);
	VcRows rows;

	vc_rows_start(mr, nv, half, bias, &rows);
	for (ptrdiff_t r = vc_up(-y0, v->dh); r < r1; r++)
		for (ptrdiff_t s = 0; s < runs; s++)
			vc_rows_add(mr, nv, half, run, x + (r * v->dh * v->w + s * v->dw) * v->xs, v->sw * v->xs,
				    w + (r * runs + s) * run * wide, wide, &rows);
	vc_rows_store(mr, nv, half, to, false, v->range, &rows);
	if (to.to == part)
		vc_store_part(mr, left, y, v->ys, part);
}

/* What computes a panel of channels: so many pixels, one, or `rows` of a row of the image. */
typedef struct VcTaps {
	void (*pixels)(const VcConv *, VcPixel *at, const float *w, const float *bias, float *y, const float *zeros,
		       ptrdiff_t left);
	void (*pixel)(const VcConv *, VcPixel *at, const float *w, const float *bias, float *y, const float *zeros,
		      ptrdiff_t left);
	void (*strip)(const VcConv *, const VcPixel *at, const float *w, const float *bias, float *y, ptrdiff_t left);
	int rows;
} VcTaps;

/* Vectors of a register block of a panel that is `wide`, and whether half a one follows. */
#define VC_VECTORS(wide) ((wide) < VC_BLOCK ? (wide) / VF : VC_NB)
#define VC_HALVED(wide) (VC_FLOATS == VC_PACKED && (wide) % VF != 0)

/* A panel, block after block: each begins with the same pixels.  The last may be one vector. */
VC_INLINE void
vc_conv_blocks(int mr, int wide, const VcConv *v, VcPixel *at, const float *w, const float *bias, float *y,
	       const float *zeros, ptrdiff_t left)
{
	enum { BLOCK = VC_FLOATS == VC_PACKED ? VC_NR : VC_BLOCK };
	const VcPixel first = *at;
	ptrdiff_t c = 0;

	for (; c + BLOCK <= wide && c < left; c += BLOCK) {
		*at = first;
		vc_conv_pixels(mr, VC_NB, false, v, at, w + c, wide, bias ? bias + c : 0, y + c, zeros, left - c);
	}
	if (wide % BLOCK && c < left) {
		*at = first;
		vc_conv_pixels(mr, wide % BLOCK / VF, VC_HALVED(wide), v, at, w + c, wide, bias ? bias + c : 0, y + c,
			       zeros, left - c);
	}
}

VC_INLINE void
vc_strip_blocks(int mr, int wide, const VcConv *v, const VcPixel *at, const float *w, const float *bias, float *y,
		ptrdiff_t left)
{
	enum { BLOCK = VC_FLOATS == VC_PACKED ? VC_NR : VC_BLOCK };
	ptrdiff_t c = 0;

	for (; c + BLOCK <= wide && c < left; c += BLOCK)
		vc_conv_strip(mr, VC_NB, false, v, at, w + c, wide, bias ? bias + c : 0, y + c, left - c);
	if (wide % BLOCK && c < left)
		vc_conv_strip(mr, wide % BLOCK / VF, VC_HALVED(wide), v, at, w + c, wide, bias ? bias + c : 0, y + c,
			      left - c);
}

#define VC_TAPS(name, units, half) \
	VC_SHARED void \
	vc_pixels_##name(const VcConv *v, VcPixel *at, const float *w, const float *bias, float *y, \
			 const float *zeros, ptrdiff_t left) \
	{ \
		vc_conv_blocks(VC_MR, VC_WIDE(units, half), v, at, w, bias, y, zeros, left); \
	} \
	VC_SHARED void \
	vc_pixel_##name(const VcConv *v, VcPixel *at, const float *w, const float *bias, float *y, \
			const float *zeros, ptrdiff_t left) \
	{ \
		vc_conv_blocks(1, VC_WIDE(units, half), v, at, w, bias, y, zeros, left); \
	} \
	enum { VC_STRIP_##name = VC_ROWS(VC_VECTORS(VC_WIDE(units, half)) + VC_HALVED(VC_WIDE(units, half))) }; \
	VC_SHARED void \
	vc_strip_##name(const VcConv *v, const VcPixel *at, const float *w, const float *bias, float *y, \
			ptrdiff_t left) \
	{ \
		vc_strip_blocks(VC_STRIP_##name, VC_WIDE(units, half), v, at, w, bias, y, left); \
	} \
	static const VcTaps vc_taps_##name[] = { \
		{ vc_pixels_##name, vc_pixel_##name, vc_strip_##name, VC_STRIP_##name } \
	};
VC_EACH_WIDTH(VC_TAPS)
#undef VC_TAPS

/* Pixels [first, last) by the channels of one panel, `left` of which are there. */
VC_SHARED void
vc_conv_panel(const VcTaps *t, const VcConv *v, ptrdiff_t first, ptrdiff_t last, const float *x, const float *w,
	      const float *bias, float *y, const float *zeros, ptrdiff_t left)
{
	const ptrdiff_t lo = vc_up(v->pw, v->sw), far = v->w - v->kw + v->pw, all = far < 0 ? 0 : far / v->sw + 1;
	const ptrdiff_t hi = all < v->ow ? all : v->ow, rows = t->rows;
	/* Of many channels the ends of rows, done twice, cost more than looking for each pixel. */
	const bool strips = v->ic < 16 && v->dw == 1 && v->xs == v->ic && hi - lo >= rows;
	VcPixel at = vc_pixel(v, first, x);

	for (ptrdiff_t i = first, n; i < last; i += n) {
		const ptrdiff_t inside = strips && at.ow >= lo && at.ow < hi ? hi - at.ow : 0,
			      have = inside < last - i ? inside : last - i;

		/* The last few of a row, or of all, are done with those before them: again, and to the same. */
		if (have > 0 && at.ow + have - rows >= lo && i + have - rows >= first) {
			n = have < rows ? have - rows : 0;
			i += n;
			at.ow += n;
			t->strip(v, &at, w, bias, y + i * v->ys, left);
			n = rows;
			at.ow += n;
			if (at.ow == v->ow)
				at = vc_pixel(v, i + n, x);
			continue;
		}
		n = strips || last - i < VC_MR ? 1 : VC_MR;
		if (!strips && last - i < VC_MR && last - i > 2 && last - first >= VC_MR) {
			n = VC_MR;
			i = last - n;
			at = vc_pixel(v, i, x);
		}
		(n == VC_MR ? t->pixels : t->pixel)(v, &at, w, bias, y + i * v->ys, zeros, left);
	}
}

VC_SHARED void
vc_conv_part(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t step, const VcConv *v, ptrdiff_t chunk, const float *x,
	     const float *w, const float *bias, float *y, const float *zeros, const VcTaps *last, VcEpilogue *epilogue,
	     void *const *p)
{
	const VcShare s = vc_share(begin, end, step, v->n * v->oh * v->ow, v->groups, v->oc, chunk);

	for (ptrdiff_t at = s.begin; at < s.end; at++) {
		const VcBlock b = vc_share_block(&s, step, at, chunk, v->oc);

		vc_conv_panel(b.whole ? VC_WHOLE(vc_taps) : last, v, b.from, b.to, x + b.group * v->ic,
			      w + b.weights * v->kh * v->kw * v->ic, bias ? bias + b.col : 0, y + b.col, zeros, b.left);
		if (epilogue)
			vc_share_follow(&s, step, &b, v->oc, epilogue, p);
	}
}

/* zeros: ic of them. */
VC_INLINE void
vc_conv(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t step, const VcConv *v, ptrdiff_t chunk, const float *x,
	const float *w, const float *bias, float *y, const float *zeros, VcEpilogue *epilogue, void *const *p)
{
	vc_conv_part(begin, end, step, v, chunk, x, w, bias, y, zeros, VC_REST_HALF(vc_taps, v->oc), epilogue,
		     p);
}

VC_END

#endif
