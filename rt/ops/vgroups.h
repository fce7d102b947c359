/* rt/ops/vgroups.h - convolutions of generated kernels in narrow groups, several of which share a vector
 *
 * Activations are NHWC. Lanes are consecutive channels of the result. Each lane multiplies the inputs of its group one
 * by one. For the k-th input, a vector of the input is permuted, once for all columns of taps that read it:
 *
 *    two inputs, two outputs a group    input       a0 a1 | b0 b1 | c0 c1 ...
 *                                       k = 0       a0 a0 | b0 b0 | c0 c0 ...   times the weights of input 0
 *                                       k = 1       a1 a1 | b1 b1 | c1 c1 ...   times the weights of input 1
 *
 * Weights: panels of VC_UNIT lanes, [panel][tap][ic][VC_UNIT]. A panel has as many whole groups as fit in its first
 * lanes.
 */
#ifndef RT_OPS_VGROUPS_H
#define RT_OPS_VGROUPS_H

#include "vconv.h"

#if VC_FLOATS > 1

/* Numbers of pixels of a block. They divide the widths of ImageNet networks. */
#if VC_FLOATS == 16
enum { VG_LONG = 14, VG_SHORT = 7, VG_REST = 4 };
#else
enum { VG_LONG = 7, VG_SHORT = 4, VG_REST = 2 };
#endif
/* Number of columns of taps; largest number of columns that they read; number of pixels of a block with any window. */
enum { VG_COLUMNS = 3, VG_READ = 16, VG_ANY = 4 };

/* How a vector loads its inputs. VG_ONE: all lanes have one group. VG_VECTOR: the inputs of all lanes' groups are in
 * one vector. VG_EACH: lane by lane. */
typedef enum VgFrom { VG_ONE, VG_VECTOR, VG_EACH } VgFrom;

/* A vector of the result. */
typedef struct VgLanes {
	ptrdiff_t out;           /* first channel of the vector */
	ptrdiff_t in;            /* channel of the input at which the vector is loaded, or at which the group begins */
	VcMask  index;           /* offset from `in` of the first channel of the lane's group, by lane */
	const float *w;
} VgLanes;

/* Panels: number of groups in each, and, by lane, the first input of the lane's group, counted from the panel's first
 * input. */
typedef struct VgPanels {
	ptrdiff_t each, count;
	int32_t input[VC_UNIT];
} VgPanels;

VC_INLINE VgPanels
vg_panels(const VcConv *v)
{
	VgPanels p = { .each = VC_UNIT / v->oc };

	p.count = (v->groups + p.each - 1) / p.each;
	for (ptrdiff_t i = 0; i < VC_UNIT; i++)
		p.input[i] = (int32_t)(i / v->oc * v->ic);
	return p;
}

VC_INLINE VgFrom
vg_from(const VcConv *v)
{
	const ptrdiff_t each = VC_UNIT / v->oc,
		      touched = VC_FLOATS == VC_PACKED || VF % v->oc == 0 ? VF / v->oc : (VF - 2) / v->oc + 2;

	if (v->oc % VF == 0 || (VC_FLOATS == VC_PACKED && each == 1))
		return VG_ONE;
	return (touched < each ? touched : each) * v->ic <= VF ? VG_VECTOR : VG_EACH;
}

/* Returns vector `at` of a panel. Lanes without a channel load an arbitrary input. */
VC_INLINE VgLanes
vg_lanes(VgFrom from, const VcConv *v, const VgPanels *p, ptrdiff_t panel, ptrdiff_t at, const float *w)
{
	const ptrdiff_t channels = v->groups * v->ic, have = channels > VF ? channels - VF : 0, last = channels - v->ic;
	const ptrdiff_t first = panel * p->each * v->ic, in = first + p->input[at * VF];
	VgLanes l = { .out = panel * p->each * v->oc + at * VF, .in = from == VG_VECTOR && have < in ? have : in,
		      .w = w + panel * VC_FRAME(v, kd, 1) * v->kh * v->kw * v->ic * VC_UNIT + at * VF };

	for (int i = 0; i < VF; i++) {
		const ptrdiff_t c = first + p->input[at * VF + i];

		l.index[i] = (int32_t)((c < last ? c : last) - l.in);
	}
	return l;
}

VC_INLINE VcV
vg_permute(VcV x, VcMask index)
{
#if defined __clang__ && VC_FLOATS == 16 && defined __AVX512F__
	return (VcV)__builtin_ia32_permvarsf512(x, index);
#elif defined __clang__ && VC_FLOATS == 8 && defined __AVX2__
	return (VcV)__builtin_ia32_permvarsf256(x, index);
#elif defined __clang__
	VcV y;

	for (int i = 0; i < VF; i++)
		y[i] = x[index[i] & (VF - 1)];
	return y;
#else
	return __builtin_shuffle(x, index);
#endif
}

/* Loads input k of each lane's group. index: as in VgLanes. */
VC_INLINE VcV
vg_read(VgFrom from, const float *x, ptrdiff_t k, VcMask index)
{
	VcV y;

	if (from == VG_ONE)
		return VC_SET(x[k]);
	if (from == VG_VECTOR)
		return vg_permute(*(const VcV *)x, index);
	for (int i = 0; i < VF; i++)
		y[i] = x[index[i]];
	return y;
}

/* Input of a block of pixels. x0 is the column of the first tap of its first pixel, `end` the end of the input. */
typedef struct VgPlace {
	const VcReach *at;
	const float *zeros, *end;
	ptrdiff_t x0;
} VgPlace;

/* Whether all vectors that begin at a pixel's channels are inside of the input. If there are fewer channels than lanes,
 * the last ones are not. */
VC_INLINE bool
vg_inside(const VcConv *v, const VgLanes *l, const VgPlace *at, int rw)
{
	const ptrdiff_t far = (at->at->q1 - 1) * at->at->behind + (at->at->r1 - 1) * at->at->below +
		(at->x0 + (rw - 1) * v->sw + (v->kw - 1) * v->dw) * v->xs;

	return v->groups * v->ic >= VF || at->end - at->at->x - l->in - far >= VF;
}

/* Adds a row of kw columns of taps to rw pixels at stride sw. x: input of the first pixel. w: weights of the row. edge:
 * whether columns may be outside of the image. */
VC_INLINE void
vg_run(VgFrom from, int rw, int kw, int sw, bool edge, const VcConv *v, const VgLanes *l, const VgPlace *at,
       const float *x, const float *w, VcV *acc)
{
	const ptrdiff_t xs = v->xs;
	const float *column[VG_READ];
	VcMask index = l->index;

	if (edge) {
		VC_UNROLL
		for (int j = 0; j < (rw - 1) * sw + kw; j++)
			column[j] = (size_t)(at->x0 + j) < (size_t)v->w ? x + j * xs : at->zeros;
	}
	for (ptrdiff_t k = 0; k < v->ic; k++, w += VC_UNIT, index += 1) {
		VcV tap[VG_COLUMNS];

		VC_UNROLL
		for (int s = 0; s < kw; s++)
			tap[s] = *(const VcV *)(w + s * v->ic * VC_UNIT);
		VC_UNROLL
		for (int j = 0; j < (rw - 1) * sw + kw; j++) {
			const VcV in = vg_read(from, edge ? column[j] : x + j * xs, k, index);

			VC_UNROLL
			for (int i = 0; i < rw; i++)
				if (j >= i * sw && j < i * sw + kw)
					acc[i] += in * tap[j - i * sw];
		}
	}
}

/* Adds a row of any number of columns of taps to rw pixels, tap by tap. */
VC_INLINE void
vg_any(VgFrom from, int rw, const VcConv *v, const VgLanes *l, const VgPlace *at, const float *x, const float *w,
       VcV *acc)
{
	for (ptrdiff_t s = 0; s < v->kw; s++) {
		const float *pixel[VG_ANY];
		VcMask index = l->index;

		VC_UNROLL
		for (int i = 0; i < rw; i++) {
			const ptrdiff_t column = i * v->sw + s * v->dw;

			pixel[i] = (size_t)(at->x0 + column) < (size_t)v->w ? x + column * v->xs : at->zeros;
		}
		for (ptrdiff_t k = 0; k < v->ic; k++, w += VC_UNIT, index += 1) {
			const VcV tap = *(const VcV *)w;

			VC_UNROLL
			for (int i = 0; i < rw; i++)
				acc[i] += vg_read(from, pixel[i], k, index) * tap;
		}
	}
}

/* Adds all rows of taps. */
VC_INLINE void
vg_taps(VgFrom from, int rw, int kw, int sw, bool edge, const VcConv *v, const VgLanes *l, const VgPlace *at, VcV *acc)
{
	const ptrdiff_t row = v->kw * v->ic * VC_UNIT;

	for (ptrdiff_t q = at->at->q0; q < at->at->q1; q++)
		for (ptrdiff_t r = at->at->r0; r < at->at->r1; r++) {
			const float *x = at->at->x + q * at->at->behind + r * at->at->below + at->x0 * v->xs + l->in,
				    *w = l->w + (q * v->kh + r) * row;

			if (kw)
				vg_run(from, rw, kw, sw, edge, v, l, at, x, w, acc);
			else
				vg_any(from, rw, v, l, at, x, w, acc);
		}
}

/* Computes rw pixels of a vector of channels. kw is 0 for any window. `seldom` omits the variant for blocks inside of
 * the image, because there are few of them. */
VC_INLINE void
vg_pixels(VgFrom from, int rw, int kw, int sw, bool seldom, const VcConv *v, const VgLanes *l, const VgPlace *at,
	  const float *bias, float *y)
{
	const ptrdiff_t lanes = v->groups * v->oc - l->out;
	VcV acc[VG_LONG];

	VC_UNROLL
	for (int i = 0; i < rw; i++)
		acc[i] = bias ? *(const VcV *)(bias + l->out) : VC_ZERO;
	if (kw && !seldom && at->x0 >= 0 && at->x0 + (rw - 1) * sw + kw <= v->w)
		vg_taps(from, rw, kw, sw, false, v, l, at, acc);
	else
		vg_taps(from, rw, kw, sw, true, v, l, at, acc);
	if (VC_CLAMPS && v->range) {
		VC_UNROLL
		for (int i = 0; i < rw; i++)
			acc[i] = vc_clamp(acc[i], v->range);
	}
	/* Lanes without a channel of this vector belong to later vectors, which overwrite them. The last vector stores
	 * only its own lanes. */
	VC_UNROLL
	for (int i = 0; i < rw; i++, y += v->ys)
		if (lanes >= VF)
			*(VcV *)(y + l->out) = acc[i];
		else
			vc_store_part(1, lanes, y + l->out, 0, (const float *)&acc[i]);
}

VC_SHARED void
vg_last(const VcConv *v, const VgLanes *l, const VgPlace *at, const float *bias, float *y)
{
	vg_pixels(VG_EACH, 1, 0, 0, true, v, l, at, bias, y);
}

VC_INLINE void
vg_block(VgFrom from, int rw, int kw, int sw, bool seldom, const VcConv *v, const VgLanes *l, ptrdiff_t ow,
	 VgPlace at, const float *bias, float *y)
{
	at.x0 = ow * v->sw - v->pw;
	y += ow * v->ys;
	if (from != VG_VECTOR || vg_inside(v, l, &at, rw))
		vg_pixels(from, rw, kw, sw, seldom, v, l, &at, bias, y);
	else
		for (int i = 0; i < rw; i++, at.x0 += v->sw)
			vg_last(v, l, &at, bias, y + i * v->ys);
}

/* A function that computes a row of the result. */
typedef void VgRow(const VcConv *v, const VgLanes *l, VgPlace at, const float *bias, float *y);

/* Functions for windows of three columns. The last block of a row overlaps the one before and stores the same values
 * again. */
#define VG_ROW(name, from, sw) \
	VC_SHARED void \
	vg_##name(const VcConv *v, const VgLanes *l, VgPlace at, const float *bias, float *y) \
	{ \
		const ptrdiff_t n = v->ow; \
		ptrdiff_t ow = 0; \
\
		for (; sw == 1 && ow + VG_LONG <= n; ow += VG_LONG) \
			vg_block(from, VG_LONG, 3, sw, false, v, l, ow, at, bias, y); \
		for (; ow + VG_SHORT <= n; ow += VG_SHORT) \
			vg_block(from, VG_SHORT, 3, sw, sw == 1, v, l, ow, at, bias, y); \
		for (; ow < n && n >= VG_REST; ow += VG_REST) \
			vg_block(from, VG_REST, 3, sw, true, v, l, ow + VG_REST < n ? ow : n - VG_REST, at, bias, y); \
		for (; ow < n; ow++) \
			vg_block(from, 1, 3, sw, true, v, l, ow, at, bias, y); \
	}
VG_ROW(one_by_1, VG_ONE, 1)
VG_ROW(one_by_2, VG_ONE, 2)
VG_ROW(vector_by_1, VG_VECTOR, 1)
VG_ROW(vector_by_2, VG_VECTOR, 2)
#undef VG_ROW

/* Functions for any window and width. */
#define VG_ROW(name, from) \
	VC_SHARED void \
	vg_##name(const VcConv *v, const VgLanes *l, VgPlace at, const float *bias, float *y) \
	{ \
		ptrdiff_t ow = 0; \
\
		for (; ow + VG_ANY <= v->ow; ow += VG_ANY) \
			vg_block(from, VG_ANY, 0, 0, true, v, l, ow, at, bias, y); \
		for (; ow < v->ow; ow++) \
			vg_block(from, 1, 0, 0, true, v, l, ow, at, bias, y); \
	}
VG_ROW(one_any, VG_ONE)
VG_ROW(vector_any, VG_VECTOR)
VG_ROW(each_any, VG_EACH)
#undef VG_ROW

/* Whether dilated rows are computed by phases, every dw-th pixel at a time, with undilated windows. Not if the blocks
 * of a phase would overlap much. */
VC_INLINE bool
vg_by_phases(const VcConv *v, ptrdiff_t across)
{
	const ptrdiff_t n = (across < v->ow ? across : v->ow) / v->dw, rest = n % VG_SHORT;
	const ptrdiff_t again = vc_up(rest, VG_REST) * VG_REST - rest;

	return v->dw > 1 && v->kw == 3 && v->sw == 1 && n >= VG_REST && again * 4 <= n;
}

VC_INLINE VgRow *
vg_row(VgFrom from, const VcConv *v, ptrdiff_t across)
{
	const bool plain = v->dw == 1 && v->kw == 3 && (across < v->ow ? across : v->ow) >= VG_REST,
		   three = from != VG_EACH && (plain || vg_by_phases(v, across)), one = from == VG_ONE;

	if (three && v->sw == 1)
		return one ? vg_one_by_1 : vg_vector_by_1;
	if (three && v->sw == 2)
		return one ? vg_one_by_2 : vg_vector_by_2;
	return one ? vg_one_any : from == VG_VECTOR ? vg_vector_any : vg_each_any;
}

/* Computes all channels of some pixels of a row. y is the first pixel. */
VC_INLINE void
vg_part(const VcPart *part, VgFrom from, VgRow *run, const VgPanels *panels, VgPlace at, const float *w,
	const float *bias, float *y)
{
	at.at = &part->at;
	for (ptrdiff_t i = 0; i < panels->count; i++)
		for (ptrdiff_t k = 0; k * VF < panels->each * part->v.oc; k++) {
			const VgLanes l = vg_lanes(from, &part->v, panels, i, k, w);

			if (l.out < part->v.groups * part->v.oc)
				run(&part->v, &l, at, bias, y + part->y);
		}
}

VC_SHARED void
vg_rows(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t across, VgFrom from, VgRow *run, const VcConv *v, const float *x,
	const float *w, const float *bias, float *y, const float *zeros, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t channels = v->groups * v->oc, pieces = vc_pieces(v, across);
	VcPart piece = { .v = *v }, some;
	const ptrdiff_t phases = vg_by_phases(v, across) ? v->dw : 0;
	const VgPanels panels = vg_panels(v);
	const VgPlace place = { .zeros = zeros,
				.end = x + (v->n * VC_FRAME(v, d, 1) * v->h * v->w - 1) * v->xs + v->groups * v->ic };

	for (ptrdiff_t unit = begin; unit < end; unit++) {
		const ptrdiff_t row = unit / pieces, first = unit % pieces * across;
		const ptrdiff_t to = first + across < v->ow ? first + across : v->ow;
		const VcReach at = vc_reach(v, row, x);
		float *const pixels = y + row * v->ow * v->ys;

		vc_piece(v, &at, first, to, &piece);
		for (ptrdiff_t phase = 0; phase < phases; phase++) {
			vc_undilated(&piece, phase, &some);
			vg_part(&some, from, run, &panels, place, w, bias, pixels);
		}
		if (!phases)
			vg_part(&piece, from, run, &panels, place, w, bias, pixels);
		if (epilogue)
			epilogue(p, row * v->ow + first, row * v->ow + to, 0, channels, channels);
	}
}

/* Computes units [begin, end) (vc_pieces). `zeros` are groups * ic zeros, at least a vector. */
VC_INLINE void
vc_groups(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, const float *bias, float *y,
	  const float *zeros, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t across = vc_across(v);
	const VgFrom from = vg_from(v);

	vg_rows(begin, end, across, from, vg_row(from, v, across), v, x, w, bias, y, zeros, epilogue, p);
}

#endif

#endif
