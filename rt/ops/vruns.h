/* rt/ops/vruns.h - convolutions of generated kernels with few output channels and windows that are several columns wide
 *
 * A panel of at most three vectors leaves registers for a run of pixels of a row, and for the weights of three adjacent
 * taps. An input element is loaded once for all pixels that read it by these taps. Pixels at the edges of the image
 * cost no more than others. A row of a window is computed three taps at a time, its end by two, and windows one column
 * wide by one. Activations are NHWC, weights as in vblock.h. */
#ifndef RT_OPS_VRUNS_H
#define RT_OPS_VRUNS_H

#include "vconv.h"

/* Numbers of adjacent taps that some window of the program computes at once, as bits 1 << 1, 1 << 2, 1 << 3. Bit 0:
 * whether some window does so more than once. */
#ifndef VC_TAPS_BESIDE
#define VC_TAPS_BESIDE 15
#endif

#if VC_FLOATS > 1

/* Numbers of pixels of a block of one vector and of more. They divide the widths of ImageNet networks. VT_READ: number
 * of columns that a block reads. */
#if VC_FLOATS == 16
enum { VT_LONG = 14, VT_SHORT = 7, VT_REST = 4, VT_READ = 16 };
#else
enum { VT_LONG = 7, VT_SHORT = 4, VT_REST = 2, VT_READ = 9 };
#endif

/* Input of a block. x0 is the column of the first tap of its first pixel. */
typedef struct VtPlace {
	const VcReach *at;
	const float *zeros;
	ptrdiff_t x0;
} VtPlace;

/* Adds `taps` adjacent taps from column s on to rw pixels, which are sw apart in the input, for nv vectors (and half a
 * vector) of a unit of work. x is the start of the first pixel's row. edge: whether columns may be outside of the
 * image. */
VC_INLINE void
vt_run(int taps, int rw, int nv, bool half, int sw, bool edge, const VcConv *v, const VtPlace *at, ptrdiff_t s,
       const float *x, VcLines tap, VcRows *to)
{
	const ptrdiff_t xs = v->xs;
	const float *column[VT_READ];

	x += s * xs;
	tap = vc_lines_after(tap, s * v->ic);
	if (edge) {
		VC_UNROLL
		for (int j = 0; j < (rw - 1) * sw + taps; j++)
			column[j] = (size_t)(at->x0 + s + j) < (size_t)v->w ? x + j * xs : at->zeros;
	}
	for (ptrdiff_t k = 0; k < v->ic; k++, tap = vc_lines_after(tap, 1)) {
		VcV row[3 * VC_NB];
		VcHalf rest[3];

		VC_UNROLL
		for (int t = 0; t < taps; t++) {
			const VcLines line = vc_lines_after(tap, t * v->ic);

			VC_UNROLL
			for (int q = 0; q < nv; q++)
				row[t * nv + q] = vc_line(&line, q);
			if (half)
				rest[t] = *(const VcHalf *)line.rest;
		}
		VC_UNROLL
		for (int j = 0; j < (rw - 1) * sw + taps; j++) {
			const VcV in = VC_SET((edge ? column[j] : x + j * xs)[k]);

			VC_UNROLL
			for (int i = 0; i < rw; i++) {
				const int t = j - i * sw;

				if (t < 0 || t >= taps)
					continue;
				VC_UNROLL
				for (int q = 0; q < nv; q++)
					to->acc[i * nv + q] += in * row[t * nv + q];
				if (half)
					to->half[i] += VC_LOW(in) * rest[t];
			}
		}
	}
}

/* Adds a row of taps. */
VC_INLINE void
vt_row(int rw, int nv, bool half, int sw, bool edge, const VcConv *v, const VtPlace *at, const float *x, VcLines w,
       VcRows *to)
{
	ptrdiff_t s = 0;

	if (VC_TAPS_BESIDE == 1 << 3) {
		vt_run(3, rw, nv, half, sw, edge, v, at, 0, x, w, to);
		return;
	}
	for (; VC_TAPS_BESIDE & 8 && v->kw - s >= 3 && v->kw - s != 4; s += 3)
		vt_run(3, rw, nv, half, sw, edge, v, at, s, x, w, to);
	for (; VC_TAPS_BESIDE & 4 && v->kw - s >= 2; s += 2)
		vt_run(2, rw, nv, half, sw, edge, v, at, s, x, w, to);
	for (; VC_TAPS_BESIDE & 2 && s < v->kw; s++)
		vt_run(1, rw, nv, half, sw, edge, v, at, s, x, w, to);
}

/* Adds all rows of taps. */
VC_INLINE void
vt_taps(int rw, int nv, bool half, int sw, bool edge, const VcConv *v, const VtPlace *at, VcLines w, VcRows *to)
{
	const VcReach *const reach = at->at;

	for (ptrdiff_t q = reach->q0; q < reach->q1; q++)
		for (ptrdiff_t r = reach->r0; r < reach->r1; r++)
			vt_row(rw, nv, half, sw, edge, v, at,
			       reach->x + q * reach->behind + r * reach->below + at->x0 * v->xs,
			       vc_lines_after(w, (q * v->kh + r) * v->kw * v->ic), to);
}

/* Arguments of a row: weights of a unit of work, and the result. */
typedef struct VtRow {
	const VcConv *v;
	VcLines w;
	const float *bias;
	float *y;
	ptrdiff_t left;          /* number of columns of the result */
} VtRow;

/* Computes pixels [ow, ow + rw). `any` omits the variant for blocks inside of the image, because there are few of
 * them. */
VC_INLINE void
vt_block(int rw, int nv, bool half, int sw, bool any, const VtRow *row, VtPlace at, ptrdiff_t ow)
{
	const VcConv *const v = row->v;
	float part[VT_LONG * VC_NR], *const y = row->y + ow * v->ys;
	const VcPlace to = vc_place(nv * VF + half * VF / 2, row->left, y, v->ys, part);
	VcRows rows;

	at.x0 = ow * sw - v->pw;
	vc_rows_start(rw, nv, half, row->bias, &rows);
	if (!any && at.x0 >= 0 && at.x0 + (rw - 1) * sw + v->kw <= v->w)
		vt_taps(rw, nv, half, sw, false, v, &at, row->w, &rows);
	else
		vt_taps(rw, nv, half, sw, true, v, &at, row->w, &rows);
	vc_rows_store(rw, nv, half, to, false, v->range, &rows);
	if (to.to == part)
		vc_store_part(rw, row->left, y, v->ys, part);
}

/* Computes all pixels of a row. If a smaller last block would leave some, the last block overlaps the one before and
 * stores the same values again. */
VC_INLINE void
vt_blocks(int nv, bool half, int sw, const VtRow *row, VtPlace at)
{
	const bool single = nv + half == 1 && sw == 1;
	const ptrdiff_t n = row->v->ow;
	ptrdiff_t ow = 0;

	for (; single && n >= VT_LONG && n - ow > VT_SHORT; ow += VT_LONG)
		vt_block(VT_LONG, nv, half, sw, false, row, at, ow + VT_LONG < n ? ow : n - VT_LONG);
	for (; n >= VT_SHORT && n - ow > VT_REST; ow += VT_SHORT)
		vt_block(VT_SHORT, nv, half, sw, single, row, at, ow + VT_SHORT < n ? ow : n - VT_SHORT);
	for (; ow < n && n >= VT_REST; ow += VT_REST)
		vt_block(VT_REST, nv, half, sw, true, row, at, ow + VT_REST < n ? ow : n - VT_REST);
	for (; ow < n; ow++)
		vt_block(1, nv, half, sw, true, row, at, ow);
}

/* These compute all pixels of a row by one register block, or by the last block of a unit, which may be narrower. If
 * units have several blocks, units of all widths share these functions. */
#define VT_LAST(wide) VC_LAST((wide) % VC_BLOCK / VF)
#define VT_BLOCKS(sw) \
	VC_BLOCK_SHARED void \
	vt_block_by_##sw(const VtRow *row, VtPlace at) \
	{ \
		vt_blocks(VC_NB, false, sw, row, at); \
	} \
	VC_BLOCK_SHARED void \
	vt_last_by_##sw(const VtRow *row, VtPlace at, int wide) \
	{ \
		vt_blocks(VT_LAST(wide), VC_HALVED(wide), sw, row, at); \
	}
VT_BLOCKS(1)
VT_BLOCKS(2)
#undef VT_BLOCKS

/* Computes a row for a unit of work with weights w, one register block after the other. */
VC_INLINE void
vt_panel(int wide, int sw, VtRow row, const float *w, VtPlace at)
{
	int c = 0;

	for (; c + VC_BLOCK <= wide && row.left > 0; c += VC_BLOCK) {
		row.w = vc_conv_lines(VC_NB, wide, c, row.v, w);
		if (sw == 1)
			vt_block_by_1(&row, at);
		else
			vt_block_by_2(&row, at);
		row.bias += row.bias ? VC_BLOCK : 0;
		row.y += VC_BLOCK;
		row.left -= VC_BLOCK;
	}
	if (wide % VC_BLOCK == 0 || row.left <= 0)
		return;
	row.w = vc_conv_lines(VT_LAST(wide), wide, c, row.v, w);
	if (sw == 1)
		vt_last_by_1(&row, at, wide);
	else
		vt_last_by_2(&row, at, wide);
}

typedef void VtPanel(VtRow row, const float *w, VtPlace at);

#define VT_PANEL(name, wide) \
	VC_SHARED void \
	vt_##name##_by_1(VtRow row, const float *w, VtPlace at) \
	{ \
		vt_panel(wide, 1, row, w, at); \
	} \
	VC_SHARED void \
	vt_##name##_by_2(VtRow row, const float *w, VtPlace at) \
	{ \
		vt_panel(wide, 2, row, w, at); \
	}
VT_PANEL(1, VC_WIDE(1, 0))
VT_PANEL(2, VC_WIDE(2, 0))
#if VC_PACKED == 16
VT_PANEL(half, VC_WIDE(0, 1))
VT_PANEL(1_half, VC_WIDE(1, 1))
VT_PANEL(2_half, VC_WIDE(2, 1))
VT_PANEL(3, VC_WIDE(3, 0))
#endif
#undef VT_PANEL
#undef VT_LAST

/* Computes all channels of some pixels of a row. y is the first pixel. */
VC_INLINE void
vt_part(const VcPart *part, VtPanel *run, const float *w, const float *bias, float *y, const float *zeros)
{
	const VcConv *const v = &part->v;
	const ptrdiff_t far = VC_FRAME(v, kd, 1) * v->kh * v->kw * v->ic * VC_COLUMNS(v->oc);
	VcReach reach = part->at;

	for (ptrdiff_t g = 0; g < v->groups; g++, reach.x += v->ic) {
		const ptrdiff_t c = g * v->oc;

		run((VtRow){ .v = v, .bias = bias ? bias + c : 0, .y = y + part->y + c, .left = v->oc }, w + g * far,
		    (VtPlace){ .at = &reach, .zeros = zeros });
	}
}

VC_SHARED void
vt_rows(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t across, VtPanel *run, const VcConv *v, const float *x, const float *w,
	const float *bias, float *y, const float *zeros, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t columns = v->groups * v->oc, pieces = vc_pieces(v, across);
	VcPart piece = { .v = *v };

	for (ptrdiff_t unit = begin; unit < end; unit++) {
		const ptrdiff_t row = unit / pieces, from = unit % pieces * across;
		const ptrdiff_t to = from + across < v->ow ? from + across : v->ow;
		const VcReach at = vc_reach(v, row, x);

		vc_piece(v, &at, from, to, &piece);
		vt_part(&piece, run, w, bias, y + row * v->ow * v->ys, zeros);
		if (epilogue)
			epilogue(p, row * v->ow + from, row * v->ow + to, 0, columns, columns);
	}
}

/* Computes units [begin, end) (vc_pieces). `zeros` are ic zeros. */
VC_INLINE void
vc_runs(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias, float *y,
	const float *zeros, VcEpilogue *epilogue, void *const *p)
{
#define VT_OF(name) (v->sw == 2 ? vt_##name##_by_2 : vt_##name##_by_1)
#if VC_PACKED == 16
	const ptrdiff_t halves = (v->oc + VC_UNIT / 2 - 1) / (VC_UNIT / 2);
	VtPanel *const run = halves == 1 ? VT_OF(half) : halves == 2 ? VT_OF(1) : halves == 3 ? VT_OF(1_half) :
		halves == 4 ? VT_OF(2) : halves == 5 ? VT_OF(2_half) : VT_OF(3);
#else
	VtPanel *const run = v->oc <= VC_UNIT ? VT_OF(1) : VT_OF(2);
#endif
#undef VT_OF

	vt_rows(begin, end, vc_across(v), run, v, x, w, bias, y, zeros, epilogue, p);
}

#endif

#endif
