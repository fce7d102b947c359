/* rt/ops/vdepth.h - depthwise convolutions of generated kernels: each channel has its own filter
 *
 * Activations are NHWC, weights [tap][channel]. Lanes are channels. If channels fill a vector and the stride is 1 or 2,
 * several columns of taps stay in registers for a run of pixels. Windows of 1, 3, 5 and 7 columns have their own
 * functions. Others are computed 7, 4, 2 and 1 columns at a time. All other convolutions are computed tap by tap. If
 * there are few channels, some lanes are unused. */
#ifndef RT_OPS_VDEPTH_H
#define RT_OPS_VDEPTH_H

#include "vconv.h"

VC_BEGIN_DEPTH

/* Computes one pixel, channel by channel. Taps [s0, s1) of a row are inside the image. */
VC_SHARED void
vc_dw_scalar(const VcConv *v, const VcReach *at, ptrdiff_t x0, ptrdiff_t s0, ptrdiff_t s1, const float *w,
	     const float *bias, float *y)
{
	for (ptrdiff_t c = 0; c < v->oc; c++) {
		float acc = bias ? bias[c] : 0;

		for (ptrdiff_t q = at->q0; q < at->q1; q++)
			for (ptrdiff_t r = at->r0; r < at->r1; r++) {
				const float *x = at->x + q * at->behind + r * at->below + x0 * v->xs + c,
					    *tap = w + (q * v->kh + r) * v->kw * v->oc + c;

				for (ptrdiff_t s = s0; s < s1; s++)
					acc += x[s * v->dw * v->xs] * tap[s * v->oc];
			}
		y[c] = acc;
		if (v->range)
			y[c] = acc < v->range[0] ? v->range[0] : acc > v->range[1] ? v->range[1] : acc;
	}
}

#if VC_FLOATS > 1

enum { VC_DW_ONE = 4 };                  /* number of vectors of channels in a block of one pixel */

/* Computes nv vectors of channels from c on of one pixel. */
VC_INLINE void
vc_dw_vectors(int nv, ptrdiff_t c, const VcConv *v, const VcReach *at, ptrdiff_t x0, ptrdiff_t s0, ptrdiff_t s1,
	      const float *w, const float *bias, float *y)
{
	VcV acc[VC_DW_ONE];

	VC_UNROLL
	for (int j = 0; j < nv; j++)
		acc[j] = bias ? *(const VcV *)(bias + c + j * VF) : VC_ZERO;
	for (ptrdiff_t q = at->q0; q < at->q1; q++)
		for (ptrdiff_t r = at->r0; r < at->r1; r++) {
			const float *x = at->x + q * at->behind + r * at->below + (x0 + s0 * v->dw) * v->xs + c,
				    *tap = w + ((q * v->kh + r) * v->kw + s0) * v->oc + c;

			for (ptrdiff_t s = s0; s < s1; s++, x += v->dw * v->xs, tap += v->oc) {
				VC_UNROLL
				for (int j = 0; j < nv; j++)
					acc[j] = vc_add_product(acc[j], *(const VcV *)(x + j * VF),
								*(const VcV *)(tap + j * VF));
			}
		}
	VC_UNROLL
	for (int j = 0; j < nv; j++)
		*(VcV *)(y + c + j * VF) = v->range ? vc_clamp(acc[j], v->range) : acc[j];
}

/* Computes all channels of one pixel. If channels do not fill the last vector, it overlaps the one before. */
VC_SHARED void
vc_dw_pixel(const VcConv *v, const VcReach *at, ptrdiff_t x0, ptrdiff_t s0, ptrdiff_t s1, const float *w,
	    const float *bias, float *y)
{
	ptrdiff_t c = 0;

	for (; c + VC_DW_ONE * VF <= v->oc; c += VC_DW_ONE * VF)
		vc_dw_vectors(VC_DW_ONE, c, v, at, x0, s0, s1, w, bias, y);
	for (; c < v->oc; c += VF)
		vc_dw_vectors(1, c + VF <= v->oc ? c : v->oc - VF, v, at, x0, s0, s1, w, bias, y);
}

#endif

/* Computes units [begin, end) for any window. */
VC_SHARED void
vc_depthwise_any(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t across, const VcConv *v, const float *x, const float *w,
		 const float *bias, float *y, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t pieces = vc_pieces(v, across);

	for (ptrdiff_t unit = begin; unit < end; unit++) {
		const ptrdiff_t row = unit / pieces, from = unit % pieces * across;
		const ptrdiff_t to = from + across < v->ow ? from + across : v->ow;
		const VcReach at = vc_reach(v, row, x);

		for (ptrdiff_t ow = from; ow < to; ow++) {
			const ptrdiff_t x0 = ow * v->sw - v->pw, inside = vc_up(v->w - x0, v->dw);
			const ptrdiff_t s1 = inside < v->kw ? inside : v->kw;
			float *to_pixel = y + (row * v->ow + ow) * v->ys;

#if VC_FLOATS > 1
			if (v->oc >= VF) {
				vc_dw_pixel(v, &at, x0, vc_up(-x0, v->dw), s1, w, bias, to_pixel);
				continue;
			}
#endif
			vc_dw_scalar(v, &at, x0, vc_up(-x0, v->dw), s1, w, bias, to_pixel);
		}
		if (epilogue)
			epilogue(p, row * v->ow + from, row * v->ow + to, 0, v->oc, v->oc);
	}
}

#if VC_FLOATS > 1

/* ---- columns of taps in registers
 *
 * An input element is loaded once for each row of taps, for all pixels that read it. The row's weights stay in
 * registers. The numbers of pixels of a block divide the widths of ImageNet networks.
 */
#if VC_FLOATS == 16
enum { VC_DW_WIDE = 14, VC_DW_NARROW = 7, VC_DW_LEAST = 4 };
#else
enum { VC_DW_WIDE = 7, VC_DW_NARROW = 7, VC_DW_LEAST = 4 };
#endif
/* VC_DW_NV: number of vectors of channels in a block. Two multipliers with a latency of four need more accumulators
 * than one vector of channels has. An in-order processor needs registers to load ahead. */
#if defined VC_BY_LANE && !VC_IN_ORDER
enum { VC_DW_NV = 2 };
#else
enum { VC_DW_NV = 1 };
#endif
/* VC_DW_SETS: distance in floats at which addresses map to the same cache set. */
enum { VC_DW_TAPS = 7, VC_DW_SETS = 1024 };

static const float vc_nothing[VC_DW_NV * VF];

/* Without these, gcc loads a value again that is in a register, and keeps the offset of each column in a register. */
#if defined __x86_64__ && !defined __clang__ && \
	(VC_FLOATS == 4 || (VC_FLOATS == 8 && defined __AVX__) || defined __AVX512F__)
#define VC_READ_ONCE(x) __asm__ ("" : "+v"(x))
#define VC_STEPPED(p) __asm__ ("" : "+r"(p))
#else
#define VC_READ_ONCE(x)
#define VC_STEPPED(p)
#endif

/* Which columns of a block may be outside of the image: none; only the first and the last kw - 1, which not all taps of
 * a pixel reach; or any, and the last pixels may be missing. */
enum { VC_DW_INSIDE, VC_DW_BORDER, VC_DW_OUTSIDE };

/* Adds kw columns of taps of one row to rw pixels, nv vectors of channels. x is the address of the first tap of the
 * first pixel, in column x0 of the image. */
VC_INLINE void
vc_dw_columns(int rw, int nv, int kw, int sw, int edge, const VcConv *v, const float *x, ptrdiff_t x0,
	      const float *tap, VcV *acc)
{
	const ptrdiff_t xs = v->xs, width = v->w, far = v->oc;
	const float *none = vc_nothing;
	VcV taps[VC_DW_TAPS * VC_DW_NV], in[VC_DW_NV];

#ifdef VC_BY_LANE
	__asm__ ("" : "+r"(none));               /* hides that it is a constant, so that gcc selects without a branch */
#endif
	VC_UNROLL
	for (int s = 0; s < kw * nv; s++)
		taps[s] = *(const VcV *)(tap + s / nv * far + s % nv * VF);
	VC_UNROLL
	for (int j = 0; j < (rw - 1) * sw + kw; j++, x += xs) {
		const bool there = edge == VC_DW_INSIDE || (edge == VC_DW_BORDER && j >= kw - 1 && j <= (rw - 1) * sw);
		const float *column = there || (size_t)(x0 + j) < (size_t)width ? x : none;

		VC_UNROLL
		for (int i = 0; i < nv; i++) {
			in[i] = *(const VcV *)(column + i * VF);
			VC_READ_ONCE(in[i]);
		}
		VC_STEPPED(x);
		VC_UNROLL
		for (int i = 0; i < rw * nv; i++)
			if (j >= i / nv * sw && j < i / nv * sw + kw)
				acc[i] = vc_add_product(acc[i], in[i % nv], taps[(j - i / nv * sw) * nv + i % nv]);
	}
}

/* Adds any number of columns of taps, at any stride and dilation. */
VC_INLINE void
vc_dw_one_by_one(int rw, int edge, const VcConv *v, const float *x, ptrdiff_t x0, const float *tap, VcV *acc)
{
	const ptrdiff_t step = v->sw * v->xs;

	for (ptrdiff_t s = 0; s < v->kw; s++, x += v->dw * v->xs, x0 += v->dw, tap += v->oc) {
		const VcV w = *(const VcV *)tap;

		VC_UNROLL
		for (int i = 0; i < rw; i++)
			acc[i] = vc_add_product(acc[i], w, *(const VcV *)(
				!edge || (size_t)(x0 + i * v->sw) < (size_t)v->w ? x + i * step : vc_nothing));
	}
}

/* Adds any number of columns of taps. Skips most columns that are outside of the image for all pixels. */
VC_INLINE void
vc_dw_many(int rw, int nv, int sw, int edge, const VcConv *v, const float *x, ptrdiff_t x0, const float *tap,
	       VcV *acc)
{
	const ptrdiff_t reach = (rw - 1) * sw, left = -x0 - reach, right = v->w - x0;
	ptrdiff_t s = edge && left > 0 ? left : 0;
	const ptrdiff_t end = edge && right < v->kw ? right : v->kw;

	for (; s + 7 <= end; s += 7)
		vc_dw_columns(rw, nv, 7, sw, edge, v, x + s * v->xs, x0 + s, tap + s * v->oc, acc);
	if (s + 4 <= end) {
		vc_dw_columns(rw, nv, 4, sw, edge, v, x + s * v->xs, x0 + s, tap + s * v->oc, acc);
		s += 4;
	}
	if (s + 2 <= end) {
		vc_dw_columns(rw, nv, 2, sw, edge, v, x + s * v->xs, x0 + s, tap + s * v->oc, acc);
		s += 2;
	}
	if (s < end)
		vc_dw_columns(rw, nv, 1, sw, edge, v, x + s * v->xs, x0 + s, tap + s * v->oc, acc);
}

/* Computes all channels of the first n of rw pixels, nv vectors at a time. There are at least nv vectors. x0 is the
 * column of the first tap. kw is 0 for any window. sw is 0 for any stride and dilation; then kw is 0 and nv is 1. */
VC_INLINE void
vc_dw_run(int rw, int nv, int kw, int sw, int edge, const VcConv *v, const VcReach *at, ptrdiff_t x0, ptrdiff_t n,
	  const float *w, const float *bias, float *y)
{
	const ptrdiff_t ys = v->ys, oc = v->oc, row = (kw ? kw : v->kw) * oc;
	const float *from = at->x + at->q0 * at->behind + at->r0 * at->below + x0 * v->xs;

	w += (at->q0 * v->kh + at->r0) * row;
	for (ptrdiff_t next = 0; next < oc; next += nv * VF) {
		const ptrdiff_t c = next + nv * VF <= oc ? next : oc - nv * VF;
		const float *frame = from + c, *taps = w + c;
		VcV acc[VC_DW_WIDE * VC_DW_NV];

		VC_UNROLL
		for (int i = 0; i < rw * nv; i++)
			acc[i] = bias ? *(const VcV *)(bias + c + i % nv * VF) : VC_ZERO;
		for (ptrdiff_t q = at->q0; q < at->q1; q++, frame += at->behind, taps += v->kh * row) {
			const float *x = frame, *tap = taps;

			for (ptrdiff_t r = at->r0; r < at->r1; r++, x += at->below, tap += row)
				if (kw)
					vc_dw_columns(rw, nv, kw, sw, edge, v, x, x0, tap, acc);
				else if (sw)
					vc_dw_many(rw, nv, sw, edge, v, x, x0, tap, acc);
				else
					vc_dw_one_by_one(rw, edge, v, x, x0, tap, acc);
		}
		if (VC_CLAMPS && v->range) {
			VC_UNROLL
			for (int i = 0; i < rw * nv; i++)
				acc[i] = vc_clamp(acc[i], v->range);
		}
		if (edge < VC_DW_OUTSIDE || n == rw) {
			VC_UNROLL
			for (int i = 0; i < rw * nv; i++)
				*(VcV *)(y + i / nv * ys + c + i % nv * VF) = acc[i];
		} else {
			VC_UNROLL
			for (int i = 0; i < rw * nv; i++)
				if (i / nv < n)
					*(VcV *)(y + i / nv * ys + c + i % nv * VF) = acc[i];
		}
	}
}

typedef void VcDwRun(int edge, const VcConv *, const VcReach *, ptrdiff_t x0, ptrdiff_t n, const float *w,
		     const float *bias, float *y);

#define VC_DW_RUN(name, rw, kw, sw) \
	enum { vc_dw_##name##_nv = (kw) && (kw) < 7 ? VC_DW_NV : 1 }; \
	VC_SHARED void \
	vc_dw_##name(int edge, const VcConv *v, const VcReach *at, ptrdiff_t x0, ptrdiff_t n, const float *w, \
		     const float *bias, float *y) \
	{ \
		if (edge == VC_DW_INSIDE) \
			vc_dw_run(rw, vc_dw_##name##_nv, kw, sw, VC_DW_INSIDE, v, at, x0, n, w, bias, y); \
		else if (VC_IN_ORDER && (kw) && edge == VC_DW_BORDER) \
			vc_dw_run(rw, vc_dw_##name##_nv, kw, sw, VC_DW_BORDER, v, at, x0, n, w, bias, y); \
		else \
			vc_dw_run(rw, vc_dw_##name##_nv, kw, sw, VC_DW_OUTSIDE, v, at, x0, n, w, bias, y); \
	}
VC_DW_RUN(wide_1, VC_DW_WIDE, 1, 1)
VC_DW_RUN(wide_3, VC_DW_WIDE, 3, 1)
VC_DW_RUN(wide_5, VC_DW_WIDE, 5, 1)
VC_DW_RUN(wide_7, VC_DW_WIDE, 7, 1)
VC_DW_RUN(wide, VC_DW_WIDE, 0, 1)
VC_DW_RUN(1, VC_DW_NARROW, 1, 1)
VC_DW_RUN(3, VC_DW_NARROW, 3, 1)
VC_DW_RUN(5, VC_DW_NARROW, 5, 1)
VC_DW_RUN(7, VC_DW_NARROW, 7, 1)
VC_DW_RUN(narrow, VC_DW_NARROW, 0, 1)
VC_DW_RUN(3_by_2, VC_DW_NARROW, 3, 2)
VC_DW_RUN(5_by_2, VC_DW_NARROW, 5, 2)
VC_DW_RUN(any_by_2, VC_DW_NARROW, 0, 2)
VC_DW_RUN(each, VC_DW_NARROW, 0, 0)
#undef VC_DW_RUN

/* Functions that compute a block of pixels. wide: for VC_DW_WIDE pixels; null if there is none. */
typedef struct VcDwRuns {
	VcDwRun *wide, *narrow;
} VcDwRuns;

/* Computes a row in blocks of pixels. The last block overlaps the one before and stores the same values again. */
VC_INLINE void
vc_dw_row(const VcPart *of, VcDwRuns run, const float *w, const float *bias, float *y)
{
	const VcConv *const v = &of->v;

	for (ptrdiff_t next = 0; next < v->ow; ) {
		const bool wide = run.wide && v->ow - next > VC_DW_NARROW && v->ow >= VC_DW_WIDE;
		const ptrdiff_t rw = wide ? VC_DW_WIDE : VC_DW_NARROW;
		const ptrdiff_t ow = next + rw <= v->ow || v->ow < rw ? next : v->ow - rw;
		const ptrdiff_t x0 = ow * v->sw - v->pw, n = v->ow - ow < rw ? v->ow - ow : rw;
		const ptrdiff_t last = x0 + (rw - 1) * v->sw, reach = (v->kw - 1) * v->dw;
		const int edge = n < rw ? VC_DW_OUTSIDE : x0 >= 0 && last + reach < v->w ? VC_DW_INSIDE :
				 VC_IN_ORDER && x0 + reach >= 0 && last < v->w ? VC_DW_BORDER : VC_DW_OUTSIDE;

		(wide ? run.wide : run.narrow)(edge, v, &of->at, x0, n, w, bias, y + of->y + ow * v->ys);
		next = ow + rw;
	}
}

/* Whether dilated rows are computed by phases, every dw-th pixel at a time, with undilated windows. Not if columns that
 * are so far apart map to the same set of the L1 cache. */
VC_INLINE bool
vc_dw_by_phases(const VcConv *v)
{
	return v->dw > 1 && v->sw == 1 && v->dw * v->xs % VC_DW_SETS != 0;
}

/* Computes units [begin, end) of rows. */
VC_SHARED void
vc_dw_rows(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t across, const VcConv *v, const float *x, const float *w,
	   const float *bias, float *y, VcDwRuns run, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t pieces = vc_pieces(v, across);
	VcPart piece = { .v = *v }, some;

	for (ptrdiff_t unit = begin; unit < end; unit++) {
		const ptrdiff_t row = unit / pieces, from = unit % pieces * across;
		const ptrdiff_t to = from + across < v->ow ? from + across : v->ow;
		const VcReach at = vc_reach(v, row, x);

		float *const pixels = y + row * v->ow * v->ys;

		vc_piece(v, &at, from, to, &piece);
		for (ptrdiff_t phase = 0; vc_dw_by_phases(v) && phase < v->dw; phase++) {
			vc_undilated(&piece, phase, &some);
			vc_dw_row(&some, run, w, bias, pixels);
		}
		if (!vc_dw_by_phases(v))
			vc_dw_row(&piece, run, w, bias, pixels);
		if (epilogue)
			epilogue(p, row * v->ow + from, row * v->ow + to, 0, v->oc, v->oc);
	}
}

/* Returns the smallest number of pixels of a phase in a unit of work. */
VC_INLINE ptrdiff_t
vc_dw_found(const VcConv *v, ptrdiff_t across)
{
	return (across < v->ow ? across : v->ow) / (vc_dw_by_phases(v) ? v->dw : 1);
}

VC_INLINE VcDwRuns
vc_dw_runs(const VcConv *v, bool wide)
{
	const ptrdiff_t kw = v->oc < VC_DW_NV * VF && v->kw < 7 ? 0 : v->kw;

	if (v->sw > 2 || (v->dw > 1 && !vc_dw_by_phases(v)))
		return (VcDwRuns){ 0, vc_dw_each };
	if (v->sw == 2)
		return (VcDwRuns){ 0, kw == 3 ? vc_dw_3_by_2 : kw == 5 ? vc_dw_5_by_2 : vc_dw_any_by_2 };
	switch (kw) {
	case 1:  return (VcDwRuns){ wide ? vc_dw_wide_1 : 0, vc_dw_1 };
	case 3:  return (VcDwRuns){ wide ? vc_dw_wide_3 : 0, vc_dw_3 };
	case 5:  return (VcDwRuns){ wide ? vc_dw_wide_5 : 0, vc_dw_5 };
	case 7:  return (VcDwRuns){ wide ? vc_dw_wide_7 : 0, vc_dw_7 };
	default: return (VcDwRuns){ wide ? vc_dw_wide : 0, vc_dw_narrow };
	}
}

/* fewer channels than lanes
 *
 * A vector begins at a pixel's first channel and continues into the next pixels, where taps are zero and the products
 * are unused. A vector is stored whole if the pixels behind it are still to be computed here. */
enum { VC_FEW = 8, VC_FEW_TAPS = 64 };

/* Input of a block of pixels. x is the address of tap (0, 0, 0). Columns [s0, s1) of taps are inside of the image for
 * all pixels. */
typedef struct VcFew {
	const VcReach *at;
	const float *x;
	ptrdiff_t s0, s1;
} VcFew;

/* Computes a block of rw pixels. */
VC_INLINE void
vc_few_block(int rw, const VcConv *v, const VcFew *f, const VcV *w, VcV bias, VcV *acc)
{
	VC_UNROLL
	for (int i = 0; i < rw; i++)
		acc[i] = bias;
	for (ptrdiff_t q = f->at->q0; q < f->at->q1; q++)
		for (ptrdiff_t r = f->at->r0; r < f->at->r1; r++)
			for (ptrdiff_t s = f->s0; s < f->s1; s++) {
				const float *from = f->x + q * f->at->behind + r * f->at->below + s * v->dw * v->xs;

				VC_UNROLL
				for (int i = 0; i < rw; i++)
					acc[i] = vc_add_product(acc[i], *(const VcV *)(from + i * v->sw * v->xs),
								w[(q * v->kh + r) * v->kw + s]);
			}
}

/* Loads n floats and sets the other lanes to 0. If `from` is null, all lanes are 0. */
VC_INLINE VcV
vc_few_lanes(const float *from, ptrdiff_t n)
{
	float all[VF] = { 0 };

	for (ptrdiff_t c = 0; from && c < n; c++)
		all[c] = from[c];
	return *(const VcV *)all;
}

/* Computes one pixel without reading beyond its own channels, where the image may end. */
VC_INLINE void
vc_few_last(const VcConv *v, const VcFew *f, const VcV *w, VcV bias, VcV *acc)
{
	acc[0] = bias;
	for (ptrdiff_t q = f->at->q0; q < f->at->q1; q++)
		for (ptrdiff_t r = f->at->r0; r < f->at->r1; r++)
			for (ptrdiff_t s = f->s0; s < f->s1; s++)
				acc[0] += vc_few_lanes(f->x + q * f->at->behind + r * f->at->below + s * v->dw * v->xs,
						       v->oc) * w[(q * v->kh + r) * v->kw + s];
}

/* Stores a pixel. Stores the whole vector if all pixels that it overlaps are before `end`. */
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

/* Computes a row of the result. `last` is the last address at which a whole vector can be loaded. */
VC_INLINE void
vc_few_row(const VcConv *v, const VcReach *at, const VcV *w, VcV bias, float *y, const float *last, const float *end)
{
	const ptrdiff_t right = (v->kw - 1) * v->dw, step = v->sw * v->xs,
			far = (at->q1 - 1) * at->behind + (at->r1 - 1) * at->below + right * v->xs;
	VcV acc[VC_FEW];

	for (ptrdiff_t ow = 0, n; ow < v->ow; ow += n, y += n * v->ys) {
		const ptrdiff_t x0 = ow * v->sw - v->pw, inside = vc_up(v->w - x0, v->dw);
		const VcFew f = { at, at->x + x0 * v->xs, vc_up(-x0, v->dw), inside < v->kw ? inside : v->kw };

		n = x0 >= 0 && ow + VC_FEW <= v->ow && x0 + (VC_FEW - 1) * v->sw + right < v->w &&
			f.x + far + (VC_FEW - 1) * step <= last ? VC_FEW : 1;
		if (n == VC_FEW)
			vc_few_block(VC_FEW, v, &f, w, bias, acc);
		else if (f.x + far <= last)
			vc_few_block(1, v, &f, w, bias, acc);
		else
			vc_few_last(v, &f, w, bias, acc);
		for (ptrdiff_t i = 0; i < n; i++)
			vc_few_store(v, acc[i], y + i * v->ys, end);
	}
}

VC_SHARED void
vc_depthwise_few(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t across, const VcConv *v, const float *x, const float *w,
		 const float *bias, float *y, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t pieces = vc_pieces(v, across);
	VcPart piece = { .v = *v };
	const float *const last = x + (v->n * VC_FRAME(v, d, 1) * v->h * v->w - 1) * v->xs + v->oc - VF;
	VcV taps[VC_FEW_TAPS], first = vc_few_lanes(bias, v->oc);

	for (ptrdiff_t t = 0; t < VC_FRAME(v, kd, 1) * v->kh * v->kw; t++)
		taps[t] = vc_few_lanes(w + t * v->oc, v->oc);
	for (ptrdiff_t unit = begin; unit < end; unit++) {
		const ptrdiff_t row = unit / pieces, from = unit % pieces * across;
		const ptrdiff_t to = from + across < v->ow ? from + across : v->ow;
		const VcReach at = vc_reach(v, row, x);
		float *const pixels = y + row * v->ow * v->ys;

		vc_piece(v, &at, from, to, &piece);
		vc_few_row(&piece.v, &at, taps, first, pixels + piece.y, last, pixels + to * v->ys);
		if (epilogue)
			epilogue(p, row * v->ow + from, row * v->ow + to, 0, v->oc, v->oc);
	}
}

#endif

/* Computes any depthwise convolution. Its sizes are constants, so a program has only the functions that it uses. */
VC_INLINE void
vc_depthwise(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias,
	     float *y, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t across = vc_across(v);
#if VC_FLOATS > 1
	const ptrdiff_t found = vc_dw_found(v, across);

	if (v->oc >= VF && found >= VC_DW_LEAST) {
		vc_dw_rows(begin, end, across, v, x, w, bias, y, vc_dw_runs(v, found >= VC_DW_WIDE), epilogue, p);
		return;
	}
	if (v->oc < VF && VC_FRAME(v, kd, 1) * v->kh * v->kw <= VC_FEW_TAPS) {
		vc_depthwise_few(begin, end, across, v, x, w, bias, y, epilogue, p);
		return;
	}
#endif
	vc_depthwise_any(begin, end, across, v, x, w, bias, y, epilogue, p);
}

VC_END

#endif
