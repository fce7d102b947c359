/* rt/ops/vconv.h - convolutions of generated kernels: the register blocks of vblock.h
 *
 * Activations are NHWC (channels last): the pixels of an output block read runs of consecutive floats. The convolution
 * is a product of MR pixels by NR channels. Its rows are given by addresses (an indirect convolution, no im2col). */
#ifndef RT_OPS_VCONV_H
#define RT_OPS_VCONV_H

#include "vblock.h"

/* VC_FRAMES: whether the program has convolutions over three dims. If it has, an image is a volume of one frame, by
 * VC_IMAGE. Otherwise VC_FRAME is a constant. */
#ifndef VC_FRAMES
#define VC_FRAMES 1
#endif
#if VC_FRAMES
#define VC_IMAGE .d = 1, .od = 1, .kd = 1, .sd = 1, .dd = 1
#define VC_FRAME(v, member, image) ((v)->member)
#else
#define VC_IMAGE
#define VC_FRAME(v, member, image) (image)
#endif

/* VC_DILATED: whether the program has dilated convolutions of few channels. */
#ifndef VC_DILATED
#define VC_DILATED 1
#endif

typedef struct VcConv {
	ptrdiff_t n, h, w, ic;           /* input (n, h, w, groups * ic), whose pixels are xs floats apart */
	ptrdiff_t oh, ow, oc;
	/* number of groups of ic and oc channels; 0 for depthwise ones (vdepth.h), with oc channels in all */
	ptrdiff_t groups;
	ptrdiff_t kh, kw, sh, sw, ph, pw, dh, dw;
	ptrdiff_t xs;                    /* stride of input pixels in floats: the number of channels of all groups */
	ptrdiff_t ys;                    /* stride of output pixels in floats */
	/* Pixels, or Winograd tiles, of a unit of work and of a block, as in VcShare. Code that computes rows one by
	 * one: `step` is the number of pixels of a unit, or 0 for a whole row. */
	ptrdiff_t step, chunk;
#if VC_FRAMES
	ptrdiff_t d, od, kd, sd, pd, dd; /* the same for the frames of a volume */
#endif
	const float *range;              /* results are clamped to range[0], range[1]; null for no clamp */
} VcConv;

typedef struct VcPixel {             /* An output pixel, and the image that it reads. */
	ptrdiff_t od, oh, ow;
	const float *image;
} VcPixel;

/* Returns output pixel i of all images. */
VC_INLINE VcPixel
vc_pixel(const VcConv *v, ptrdiff_t i, const float *x)
{
	const ptrdiff_t row = i / v->ow, frame = row / v->oh;
	const ptrdiff_t in = VC_FRAME(v, d, 1) * v->h * v->w * v->xs, of = VC_FRAME(v, od, 1);

	return (VcPixel){ frame % of, row % v->oh, i % v->ow, x + frame / of * in };
}

/* The windows of some consecutive pixels, which are read tap by tap. */
typedef struct VcWindows {
	const float *corner[VC_MR], *rows[VC_MR];    /* addresses of tap (0, 0, 0) and of the current tap, by pixel */
	ptrdiff_t z0[VC_MR], y0[VC_MR], x0[VC_MR];
	ptrdiff_t q, r, s;                               /* frame, row and column of the next tap */
	/* Whether all columns of all windows are in the image and contiguous. */
	bool    inside;
} VcWindows;

/* Sets the windows of mr pixels from *at on, and moves *at behind them. */
VC_INLINE void
vc_windows_start(int mr, const VcConv *v, VcPixel *at, VcWindows *p)
{
	p->q = v->kh && v->kw ? 0 : VC_FRAME(v, kd, 1);          /* a phase of a gradient may have no taps */
	p->r = p->s = 0;
	p->inside = v->dw == 1 && v->xs == v->ic;
	for (int i = 0; i < mr; i++) {
		p->z0[i] = at->od * VC_FRAME(v, sd, 1) - VC_FRAME(v, pd, 0);
		p->y0[i] = at->oh * v->sh - v->ph;
		p->x0[i] = at->ow * v->sw - v->pw;
		p->corner[i] = at->image + ((p->z0[i] * v->h + p->y0[i]) * v->w + p->x0[i]) * v->xs;
		p->inside &= p->x0[i] >= 0 && p->x0[i] + v->kw <= v->w;
		if (++at->ow == v->ow) {
			at->ow = 0;
			if (++at->oh == v->oh) {
				at->oh = 0;
				at->od = at->od + 1 < VC_FRAME(v, od, 1) ? at->od + 1 : 0;
				at->image += at->od ? 0 : VC_FRAME(v, d, 1) * v->h * v->w * v->xs;
			}
		}
	}
}

/* Advances to the next tap, or by a whole row of taps if every pixel has the row. Returns the number of products. Sets
 * *any to whether any pixel has this tap. */
VC_INLINE ptrdiff_t
vc_windows_next(int mr, const VcConv *v, const float *zeros, VcWindows *p, bool *any)
{
	const ptrdiff_t dz = p->q * VC_FRAME(v, dd, 1), dy = p->r * v->dh, dx = p->s * v->dw;
	const ptrdiff_t far = ((dz * v->h + dy) * v->w + dx) * v->xs;
	bool all = p->inside;

	*any = false;
	for (int i = 0; i < mr; i++) {
		const bool frame = (size_t)(p->z0[i] + dz) < (size_t)VC_FRAME(v, d, 1);
		const bool row = frame && (size_t)(p->y0[i] + dy) < (size_t)v->h,
			   in = row && (size_t)(p->x0[i] + dx) < (size_t)v->w;

		p->rows[i] = in ? p->corner[i] + far : zeros;
		*any |= in;
		all &= row;
	}
	p->s = all ? v->kw : p->s + 1;
	if (p->s == v->kw) {
		p->s = 0;
		if (++p->r == v->kh) {
			p->r = 0;
			p->q++;
		}
	}
	return all ? v->kw * v->ic : v->ic;
}

/* Computes mr pixels from *at on, and moves *at behind them. Adds partial sums of VC_RUN products in the result.
 * Skipped products count, so that partial sums do not depend on the pixels of a block. */
VC_INLINE void
vc_conv_pixels(int mr, int nv, bool half, const VcConv *v, VcPixel *at, VcLines w, const float *bias, float *y,
	       const float *zeros, ptrdiff_t left)
{
	float part[VC_MR * VC_NR];
	const VcPlace to = vc_place(nv * VF + half * VF / 2, left, y, v->ys, part);
	ptrdiff_t have = 0;                      /* number of products left of the current tap */
	bool any = false, more = false;
	VcWindows p;

	vc_windows_start(mr, v, at, &p);
	do {
		VcRows sum;

		vc_rows_start(mr, nv, half, more ? 0 : bias, &sum);
		for (ptrdiff_t room = VC_RUN, n; room && (have || p.q < VC_FRAME(v, kd, 1)); room -= n) {
			if (!have)
				have = vc_windows_next(mr, v, zeros, &p, &any);
			n = have < room ? have : room;
			if (any)
				vc_rows_add_at(mr, nv, half, n, p.rows, w, &sum);
			for (int i = 0; i < mr; i++)
				p.rows[i] += n;
			w = vc_lines_after(w, n);
			have -= n;
		}
		vc_rows_store(mr, nv, half, to, more, have || p.q < VC_FRAME(v, kd, 1) ? 0 : v->range, &sum);
		more = true;
	} while (have || p.q < VC_FRAME(v, kd, 1));
	if (to.to == part)
		vc_store_part(mr, left, y, v->ys, part);
}

/* Returns a / b for b > 0, rounded up. 0 if a is negative. */
VC_INLINE ptrdiff_t
vc_up(ptrdiff_t a, ptrdiff_t b)
{
	return a > 0 ? (a + b - 1) / b : 0;
}

/* ---- rows of the result, for code that computes them one by one -------------------------------------------------- */

/* Input of a row of results. Frames [q0, q1) and rows [r0, r1) of its windows' taps are in the image. x: address of row
 * 0 of frame 0. below, behind: strides of rows and of frames of taps. */
typedef struct VcReach {
	const float *x;
	ptrdiff_t q0, q1, r0, r1, below, behind;
} VcReach;

/* Returns the input of row `row` of all images. */
VC_INLINE VcReach
vc_reach(const VcConv *v, ptrdiff_t row, const float *x)
{
	const ptrdiff_t y0 = row % v->oh * v->sh - v->ph, frame = row / v->oh, of = VC_FRAME(v, od, 1);
	const ptrdiff_t z0 = frame % of * VC_FRAME(v, sd, 1) - VC_FRAME(v, pd, 0), dd = VC_FRAME(v, dd, 1);
	const ptrdiff_t line = v->w * v->xs, rows = vc_up(v->h - y0, v->dh), frames = vc_up(VC_FRAME(v, d, 1) - z0, dd);
	const VcReach at = { .x = x + ((frame / of * VC_FRAME(v, d, 1) + z0) * v->h + y0) * line, .q0 = vc_up(-z0, dd),
			     .q1 = frames < VC_FRAME(v, kd, 1) ? frames : VC_FRAME(v, kd, 1), .r0 = vc_up(-y0, v->dh),
			     .r1 = rows < v->kh ? rows : v->kh, .below = v->dh * line, .behind = dd * v->h * line };

	return at;
}

/* A part of a row as a row of the convolution v. It is a range of pixels, or every dw-th pixel with undilated
 * windows. */
typedef struct VcPart {
	VcConv  v;
	VcReach at;
	ptrdiff_t y;             /* offset in floats from the row's first pixel */
} VcPart;

/* Returns the number of pixels of a unit of work of code that computes rows one by one. */
VC_INLINE ptrdiff_t
vc_across(const VcConv *v)
{
	return v->step ? v->step : v->ow;
}

/* Returns the number of units of work in a row. A unit is a row, or `across` pixels of it if there are few rows. */
VC_INLINE ptrdiff_t
vc_pieces(const VcConv *v, ptrdiff_t across)
{
	return (v->ow + across - 1) / across;
}

/* Sets p to pixels [from, to) of a row. The caller must have set p->v to *v. */
VC_INLINE void
vc_piece(const VcConv *v, const VcReach *at, ptrdiff_t from, ptrdiff_t to, VcPart *p)
{
	p->at = *at;
	p->y = from * v->ys;
	p->v.ow = to - from;
	p->v.pw = v->pw - from * v->sw;
}

/* Sets p to every dw-th pixel of a row of stride 1, from `phase` on. Its windows are not dilated: they read every dw-th
 * column of the input. */
VC_INLINE void
vc_undilated(const VcPart *of, ptrdiff_t phase, VcPart *p)
{
	const ptrdiff_t d = of->v.dw, first = phase - of->v.pw, column = (first % d + d) % d;

	*p = *of;
	p->v.w = vc_up(of->v.w - column, d);
	p->v.ow = vc_up(of->v.ow - phase, d);
	p->v.pw = (column - first) / d;
	p->v.xs *= d;
	p->v.ys *= d;
	p->v.dw = 1;
	p->at.x += column * of->v.xs;
	p->y += phase * of->v.ys;
}

/* ---- strips ------------------------------------------------------------------------------------------------------ */

/* Input of consecutive pixels of a row: rows [r0, r1) of taps. Each row is contiguous, and they are `far` floats
 * apart. */
typedef struct VcStrip {
	const float *x;          /* row 0, first column of taps of the first pixel */
	ptrdiff_t far, r0, r1;
} VcStrip;

/* Largest number of floats of a strip that is copied. */
enum { VC_COPIED = VC_FLOATS > 1 ? 4096 : 256 };

/* Returns the number of columns that mr consecutive pixels read. */
VC_INLINE ptrdiff_t
vc_strip_columns(ptrdiff_t mr, const VcConv *v)
{
	return (mr - 1) * v->sw + v->kw;
}

/* Copies n floats. If `from` is null, stores zeros. */
VC_SHARED void
vc_copy(ptrdiff_t n, const float *restrict from, float *restrict to)
{
	ptrdiff_t i = 0;

	if (!from) {                     /* a separate loop, because gcc would use masked loads from null */
		for (; i < n; i++)
			to[i] = 0;
		return;
	}
#if VC_FLOATS > 1
	for (; i + VF <= n; i += VF)
		*(VcV *)(to + i) = *(const VcV *)(from + i);
	if (i < n && n >= VF) {
		*(VcV *)(to + n - VF) = *(const VcV *)(from + n - VF);
		return;
	}
#endif
	for (; i < n; i++)
		to[i] = from[i];
}

/* Copies n floats. `whole` allows it to read and write all of the last vector. */
VC_INLINE void
vc_copy_pixel(ptrdiff_t n, bool whole, const float *from, float *to)
{
	if (!whole) {
		vc_copy(n, from, to);
		return;
	}
	for (ptrdiff_t i = 0; i < n; i += VF)
		*(VcV *)(to + i) = *(const VcV *)(from + i);
}

/* Copies the strip's rows, `columns` columns from x0 on, to contiguous ones. Columns outside of the image are 0. */
VC_SHARED void
vc_strip_copy(const VcConv *v, ptrdiff_t x0, ptrdiff_t columns, VcStrip *strip, float *to)
{
	const ptrdiff_t left = x0 < 0 ? -x0 : 0, lo = left < columns ? left : columns, ic = v->ic;
	const ptrdiff_t have = v->w - x0 < columns ? v->w - x0 : columns, hi = have > lo ? have : lo;
	const ptrdiff_t whole = (ic + VF - 1) / VF * VF;

	for (ptrdiff_t r = strip->r0; r < strip->r1; r++) {
		const float *x = strip->x + r * strip->far;
		float *row = to + r * columns * ic;

		vc_copy(lo * ic, 0, row);
		if (v->xs == ic)
			vc_copy((hi - lo) * ic, x + lo * ic, row + lo * ic);
		else
			for (ptrdiff_t j = lo; j < hi; j++)
				vc_copy_pixel(ic, VC_DILATED && j * v->xs + whole <= (hi - 1) * v->xs + ic &&
					      j * ic + whole <= columns * ic, x + j * v->xs, row + j * ic);
		vc_copy((columns - hi) * ic, 0, row + hi * ic);
	}
	strip->x = to;
	strip->far = columns * ic;
}

/* Computes mr pixels of a strip and stores the first n. */
VC_INLINE void
vc_conv_strip(int mr, ptrdiff_t n, int nv, bool half, const VcConv *v, const VcStrip *at, VcLines w, const float *bias,
	      float *y, ptrdiff_t left)
{
	const ptrdiff_t run = v->kw * v->ic, columns = nv * VF + half * VF / 2;
	float part[VC_MOST * VC_NR];
	const VcPlace to = vc_place(columns, n < mr ? 0 : left, y, v->ys, part);
	VcRows rows;

	vc_rows_start(mr, nv, half, bias, &rows);
	for (ptrdiff_t r = at->r0; r < at->r1; r++)
		vc_rows_add(mr, nv, half, run, at->x + r * at->far, v->sw * v->ic, vc_lines_after(w, r * run), &rows);
	vc_rows_store(mr, nv, half, to, false, v->range, &rows);
	if (to.to == part)
		vc_store_part((int)n, left < columns ? left : columns, y, v->ys, part);
}

typedef void VcStripOf(ptrdiff_t n, const VcConv *, const VcStrip *at, const float *w, const float *bias, float *y,
		       ptrdiff_t left);

/* Functions that compute a panel of channels: `pixels` for VC_MR pixels, `pixel` for one. strip computes up to `rows`,
 * and strip_few up to `few`, consecutive pixels of a row. */
typedef struct VcTaps {
	void (*pixels)(const VcConv *, VcPixel *at, const float *w, const float *bias, float *y, const float *zeros,
		       ptrdiff_t left);
	void (*pixel)(const VcConv *, VcPixel *at, const float *w, const float *bias, float *y, const float *zeros,
		      ptrdiff_t left);
	VcStripOf *strip, *strip_few;
	int rows, few;
} VcTaps;

/* Number of vectors of a register block for a unit of work of `wide` columns, and whether half a vector follows
 * them. */
#define VC_VECTORS(wide) ((wide) < VC_BLOCK ? (wide) / VF : VC_NB)
#define VC_HALVED(wide) (VC_FLOATS == VC_PACKED && (wide) % VF != 0)

/* Returns the weights of a block of nv vectors at column c of a unit of work. */
VC_INLINE VcLines
vc_conv_lines(int nv, ptrdiff_t wide, ptrdiff_t c, const VcConv *v, const float *w)
{
	return vc_lines(nv, wide, c, VC_FRAME(v, kd, 1) * v->kh * v->kw * v->ic, w);
}

/* Computes one block after the other, for the same pixels. The last block may be one vector. */
VC_INLINE void
vc_conv_blocks(int mr, int wide, const VcConv *v, VcPixel *at, const float *w, const float *bias, float *y,
	       const float *zeros, ptrdiff_t left)
{
	const int nv = wide % VC_BLOCK / VF;
	const VcPixel first = *at;
	ptrdiff_t c = 0;

	for (; c + VC_BLOCK <= wide && c < left; c += VC_BLOCK) {
		*at = first;
		vc_conv_pixels(mr, VC_NB, false, v, at, vc_conv_lines(VC_NB, wide, c, v, w), bias ? bias + c : 0, y + c,
			       zeros, left - c);
	}
	if (wide % VC_BLOCK && c < left) {
		*at = first;
		vc_conv_pixels(mr, nv, VC_HALVED(wide), v, at, vc_conv_lines(nv, wide, c, v, w), bias ? bias + c : 0,
			       y + c, zeros, left - c);
	}
}

VC_INLINE void
vc_strip_blocks(int mr, ptrdiff_t n, int wide, const VcConv *v, const VcStrip *at, const float *w, const float *bias,
		float *y, ptrdiff_t left)
{
	const int nv = wide % VC_BLOCK / VF;
	ptrdiff_t c = 0;

	for (; c + VC_BLOCK <= wide && c < left; c += VC_BLOCK)
		vc_conv_strip(mr, n, VC_NB, false, v, at, vc_conv_lines(VC_NB, wide, c, v, w), bias ? bias + c : 0,
			      y + c, left - c);
	if (wide % VC_BLOCK && c < left)
		vc_conv_strip(mr, n, nv, VC_HALVED(wide), v, at, vc_conv_lines(nv, wide, c, v, w), bias ? bias + c : 0,
			      y + c, left - c);
}

/* Number of vectors of a panel. Half a vector counts as one. */
#define VC_PANEL_VECTORS(wide) (VC_VECTORS(wide) + VC_HALVED(wide))
/* Number of rows that keep a multiplier busy: a latency of four needs four accumulators. */
#define VC_FEWER(nv) (VC_FLOATS == 1 ? VC_ROWS(nv) : (4 + (nv) - 1) / (nv))

#define VC_STRIP(name, mr, wide) \
	VC_SHARED void \
	vc_##name(ptrdiff_t n, const VcConv *v, const VcStrip *at, const float *w, const float *bias, float *y, \
		  ptrdiff_t left) \
	{ \
		vc_strip_blocks(mr, n, wide, v, at, w, bias, y, left); \
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
	VC_STRIP(strip_##name, VC_ROWS(VC_PANEL_VECTORS(VC_WIDE(units, half))), VC_WIDE(units, half)) \
	VC_STRIP(strip_few_##name, VC_FEWER(VC_PANEL_VECTORS(VC_WIDE(units, half))), VC_WIDE(units, half)) \
	static const VcTaps vc_taps_##name[] = { \
		{ vc_pixels_##name, vc_pixel_##name, vc_strip_##name, \
		  VC_FLOATS == 1 ? vc_strip_##name : vc_strip_few_##name, \
		  VC_ROWS(VC_PANEL_VECTORS(VC_WIDE(units, half))), VC_FEWER(VC_PANEL_VECTORS(VC_WIDE(units, half))) } \
	};
VC_EACH_WIDTH(VC_TAPS)
#undef VC_TAPS
#undef VC_STRIP

/* Whether a panel is computed by strips of rows. With many channels, computing the ends of rows twice costs more than
 * finding the address of each pixel. */
VC_INLINE bool
vc_by_strips(const VcTaps *t, const VcConv *v)
{
	return v->ic < 16 && (v->dw == 1 || (VC_DILATED && v->sw == 1)) && VC_FRAME(v, d, 1) == 1 &&
	       VC_FRAME(v, kd, 1) == 1 && VC_FRAME(v, od, 1) == 1 && 2 * v->ow >= t->rows * v->dw &&
	       v->kh * vc_strip_columns(t->rows, v) * v->ic <= VC_COPIED;
}

/* Computes n of at most `rows` pixels of a row of results from column ow on. y0 is the first row of the image in their
 * windows. */
VC_INLINE void
vc_strip_run(VcStripOf *run, ptrdiff_t rows, ptrdiff_t n, const VcConv *v, const float *image, ptrdiff_t y0,
	     ptrdiff_t ow, const float *w, const float *bias, float *y, ptrdiff_t left)
{
	const ptrdiff_t x0 = ow * v->sw - v->pw, columns = vc_strip_columns(rows, v);
	const ptrdiff_t below = vc_up(v->h - y0, v->dh);
	VcStrip strip = { image + (y0 * v->w + x0) * v->xs, v->dh * v->w * v->xs, vc_up(-y0, v->dh),
			  below < v->kh ? below : v->kh };
	float copied[VC_COPIED];

	if (x0 < 0 || x0 + columns > v->w || v->xs != v->ic)
		vc_strip_copy(v, x0, columns, &strip, copied);
	run(n, v, &strip, w, bias, y, left);
}

/* Returns the number of a row's m pixels to compute at once, from *i on. Sets *few to whether strip_few computes them.
 * If less than a strip is left, moves *i back: some pixels are computed again, with the same values. */
VC_INLINE ptrdiff_t
vc_strip_next(const VcTaps *t, ptrdiff_t m, ptrdiff_t *i, bool *few)
{
	*few = (m - *i + t->few - 1) / t->few * t->few * 2 <= t->rows;

	const ptrdiff_t rows = *few ? t->few : t->rows;

	*i = m - *i < rows && m >= rows ? m - rows : *i;
	return m - *i < rows ? m - *i : rows;
}

/* Computes one phase of a dilated row. Its windows are not dilated, and columns are v.xs floats apart. Copies their
 * input to contiguous columns. */
VC_SHARED void
vc_conv_phase(const VcTaps *t, const VcPart *p, const float *w, const float *bias, float *y, ptrdiff_t left)
{
	const VcConv *v = &p->v;
	const ptrdiff_t most = VC_COPIED / (v->kh * v->ic) - v->kw + 1;
	float copied[VC_COPIED];
	bool few;

	for (ptrdiff_t from = 0, m; from < v->ow; from += m) {
		VcStrip strip = { p->at.x + (from - v->pw) * v->xs, p->at.below, p->at.r0, p->at.r1 };

		m = v->ow - from < most ? v->ow - from : most;
		vc_strip_copy(v, from - v->pw, vc_strip_columns(m < t->rows ? t->rows : m, v), &strip, copied);
		for (ptrdiff_t i = 0, n; i < m; i += n) {
			n = vc_strip_next(t, m, &i, &few);

			const VcStrip at = { strip.x + i * v->ic, strip.far, strip.r0, strip.r1 };

			(few ? t->strip_few : t->strip)(n, v, &at, w, bias, y + (from + i) * v->ys, left);
		}
	}
}

/* Computes pixels [begin, end) of a row with dilated windows, phase by phase. A phase has the pixels that are a
 * dilation apart. */
VC_SHARED void
vc_conv_phases(const VcTaps *t, const VcConv *v, ptrdiff_t begin, ptrdiff_t end, const float *x, const float *w,
	       const float *bias, float *y, ptrdiff_t left)
{
	const VcReach reach = vc_reach(v, begin / v->ow, x);
	VcPart row = { .v = *v }, part;

	vc_piece(v, &reach, begin % v->ow, begin % v->ow + end - begin, &row);
	for (ptrdiff_t phase = 0; phase < v->dw; phase++) {
		vc_undilated(&row, phase, &part);
		vc_conv_phase(t, &part, w, bias, y + begin * v->ys + part.y - row.y, left);
	}
}

/* Computes pixels [first, last) and the `left` channels of a panel by strips. */
VC_SHARED void
vc_conv_strips(const VcTaps *t, const VcConv *v, ptrdiff_t first, ptrdiff_t last, const float *x, const float *w,
	       const float *bias, float *y, ptrdiff_t left)
{
	bool few;
	ptrdiff_t end;

	for (ptrdiff_t begin = first; begin < last; begin = end) {
		const VcPixel at = vc_pixel(v, begin, x);

		end = begin + v->ow - at.ow < last ? begin + v->ow - at.ow : last;
		if (VC_DILATED && v->dw > 1)
			vc_conv_phases(t, v, begin, end, x, w, bias, y, left);
		for (ptrdiff_t i = 0, n; (!VC_DILATED || v->dw == 1) && i < end - begin; i += n) {
			n = vc_strip_next(t, end - begin, &i, &few);
			vc_strip_run(few ? t->strip_few : t->strip, few ? t->few : t->rows, n, v, at.image,
				     at.oh * v->sh - v->ph, at.ow + i, w, bias, y + (begin + i) * v->ys, left);
		}
	}
}

/* Computes pixels [first, last) and the `left` channels of a panel. */
VC_SHARED void
vc_conv_panel(const VcTaps *t, const VcConv *v, ptrdiff_t first, ptrdiff_t last, const float *x, const float *w,
	      const float *bias, float *y, const float *zeros, ptrdiff_t left)
{
	VcPixel at = vc_pixel(v, first, x);

	if (vc_by_strips(t, v)) {
		vc_conv_strips(t, v, first, last, x, w, bias, y, left);
		return;
	}
	for (ptrdiff_t i = first, n; i < last; i += n) {
		n = last - i < VC_MR ? 1 : VC_MR;
		if (last - i < VC_MR && last - i > 2 && last - first >= VC_MR) {
			n = VC_MR;
			i = last - n;
			at = vc_pixel(v, i, x);
		}
		(n == VC_MR ? t->pixels : t->pixel)(v, &at, w, bias, y + i * v->ys, zeros, left);
	}
}

VC_SHARED void
vc_conv_part(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias,
	     float *y, const float *zeros, const VcTaps *last, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t pixels = v->n * VC_FRAME(v, od, 1) * v->oh * v->ow, taps = VC_FRAME(v, kd, 1) * v->kh * v->kw;
	const VcShare s = vc_share(begin, end, v->step, pixels, v->groups, v->oc, v->chunk);

	for (ptrdiff_t at = s.begin; at < s.end; at++) {
		const VcBlock b = vc_share_block(&s, v->step, at, v->chunk, v->oc);

		vc_conv_panel(b.whole ? VC_WHOLE(vc_taps) : last, v, b.from, b.to, x + b.group * v->ic,
			      w + b.weights * taps * v->ic, bias ? bias + b.col : 0, y + b.col, zeros, b.left);
		if (epilogue)
			vc_share_follow(&s, v->step, &b, v->oc, epilogue, p);
	}
}

/* Computes a convolution. `zeros` are ic zeros. */
VC_INLINE void
vc_conv(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias, float *y,
	const float *zeros, VcEpilogue *epilogue, void *const *p)
{
	vc_conv_part(begin, end, v, x, w, bias, y, zeros, VC_REST_HALF(vc_taps, v->oc), epilogue, p);
}

VC_END

#endif
