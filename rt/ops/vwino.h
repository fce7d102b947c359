/* rt/ops/vwino.h - 3 x 3 convolutions of stride 1 in generated kernels: Winograd F(m x m, 3 x 3), m = 4 or 2
 *
 * Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015. Tiles of m x m outputs are computed from m +
 * 2 x m + 2 inputs. Lanes are channels. m = 4 needs a quarter of the direct form's multiplications, and filters four
 * times as large (vfilter.h). m = 2 needs four ninths, and filters 1.8 times as large. A program computes the filters
 * from its panels when it is opened (RtMaking). */
#ifndef RT_OPS_VWINO_H
#define RT_OPS_VWINO_H

#include "vconv.h"

#if VC_FLOATS > 1

typedef double WinoWide __attribute__((vector_size(VF * 4)));
#include "vfilter.h"

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/* Number of filters that are transformed together, so that stores to each of the distant planes fill cache lines. */
enum { VC_FILTERS = 8 * VF };

/* Transforms VC_FILTERS filters, or the last n, from w[9], which are `far` floats apart, to t[(m + 2)^2]. */
VC_INLINE void
vc_wino_some(const int m, const float *w, ptrdiff_t far, ptrdiff_t n, float (*t)[VC_FILTERS])
{
	for (ptrdiff_t i = 0; i < n; i += VF / 2) {
		WinoWide g[9], u[WINO_MOST * WINO_MOST];

		VC_UNROLL
		for (int k = 0; k < 9; k++)
			g[k] = __builtin_convertvector(*(const VcHalf *)(w + k * far + i), WinoWide);
		wino_filter(m, g, u);
		if (m == 2) {
			VC_UNROLL
			for (int k = 0; k < 16; k++)
				*(VcHalf *)(t[k] + i) = __builtin_convertvector(u[k], VcHalf);
		} else
			for (int k = 0; k < 36; k++)
				*(VcHalf *)(t[k] + i) = __builtin_convertvector(u[k], VcHalf);
	}
}

#ifndef RT_BARE
/* Implements RtMake. Transforms panels [begin, end) of a product's weights from [panel][tap][ic][column] to [(m +
 * 2)^2][panel][ic][column]. */
VC_INLINE void
vc_wino_some_panels(const int m, const RtMaking *f, const float *from, float *to, int64_t begin, int64_t end)
{
	const ptrdiff_t columns = VC_UNIT_COLUMNS(f->n), plane = columns * f->k;

	for (ptrdiff_t col = begin * VC_PANEL; col < end * VC_PANEL && col < columns; col += VC_PANEL) {
		const ptrdiff_t size = (columns - col < VC_PANEL ? columns - col : VC_PANEL) * f->k;

		for (ptrdiff_t i = 0; i < size; i += VC_FILTERS) {
			const ptrdiff_t n = size - i < VC_FILTERS ? size - i : VC_FILTERS;
			float t[WINO_MOST * WINO_MOST][VC_FILTERS];

			vc_wino_some(m, from + col * 9 * f->k + i, size, n, t);
			for (int k = 0; k < (m + 2) * (m + 2); k++)
				for (ptrdiff_t c = 0; c < n; c++)
					to[k * plane + col * f->k + i + c] = t[k][c];
		}
	}
}

VC_SHARED void
vc_wino_filters_4(const RtMaking *f, const float *from, float *to, int64_t begin, int64_t end)
{
	vc_wino_some_panels(4, f, from, to, begin, end);
}

VC_SHARED void
vc_wino_filters_2(const RtMaking *f, const float *from, float *to, int64_t begin, int64_t end)
{
	vc_wino_some_panels(2, f, from, to, begin, end);
}

/* Does the same for programs with tiles of both sizes. */
VC_SHARED void
vc_wino_filters(const RtMaking *f, const float *from, float *to, int64_t begin, int64_t end)
{
	(f->tile == 4 ? vc_wino_filters_4 : vc_wino_filters_2)(f, from, to, begin, end);
}
#endif
WINO_END

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* Computes B' d for m = 2: four inputs to four outputs. */
VC_INLINE void
vc_wino_in_2(const VcV *d, VcV *o)
{
	o[0] = d[0] - d[2];
	o[1] = d[1] + d[2];
	o[2] = d[2] - d[1];
	o[3] = d[3] - d[1];
}

/* Computes B' d for m = 4: six inputs to six outputs. */
VC_INLINE void
vc_wino_in_4(const VcV *d, VcV *o)
{
	const VcV a = d[4] - WINO_QQ * d[2], b = WINO_P * (d[3] - WINO_QQ * d[1]);
	const VcV c = d[4] - WINO_PP * d[2], e = WINO_Q * (d[3] - WINO_PP * d[1]);

	o[0] = WINO_PP * WINO_QQ * d[0] - (WINO_PP + WINO_QQ) * d[2] + d[4];
	o[1] = a + b;
	o[2] = a - b;
	o[3] = c + e;
	o[4] = c - e;
	o[5] = WINO_PP * WINO_QQ * d[1] - (WINO_PP + WINO_QQ) * d[3] + d[5];
}

VC_INLINE void
vc_wino_in(const int m, const VcV *d, VcV *o)
{
	if (m == 4)
		vc_wino_in_4(d, o);
	else
		vc_wino_in_2(d, o);
}

/* Computes A' t for m = 2: four inputs to two outputs. */
VC_INLINE void
vc_wino_out_2(const VcV *t, VcV *o)
{
	o[0] = t[0] + t[1] + t[2];
	o[1] = t[1] - t[2] + t[3];
}

/* Computes A' t for m = 4: six inputs to four outputs. */
VC_INLINE void
vc_wino_out_4(const VcV *t, VcV *o)
{
	const VcV a = t[1] + t[2], b = WINO_P * (t[1] - t[2]);
	const VcV c = t[3] + t[4], d = WINO_Q * (t[3] - t[4]);

	o[0] = t[0] + a + c;
	o[1] = b + d;
	o[2] = WINO_PP * a + WINO_QQ * c;
	o[3] = WINO_PP * b + WINO_QQ * d + t[5];
}

VC_INLINE void
vc_wino_out(const int m, const VcV *t, VcV *o)
{
	if (m == 4)
		vc_wino_out_4(t, o);
	else
		vc_wino_out_2(t, o);
}

/* Returns the first channel of the vector that begins at i. The last vector overlaps the one before. */
VC_INLINE ptrdiff_t
vc_wino_lanes(ptrdiff_t i, ptrdiff_t end)
{
	return i + VF <= end ? i : end - VF;
}

/* Transforms all channels of the input tile at (y0, x0) of one image to t[(m + 2)^2], whose planes are `far` floats
 * apart. */
VC_INLINE void
vc_wino_tile_in(const int m, const VcConv *v, const float *image, ptrdiff_t y0, ptrdiff_t x0, float *t, ptrdiff_t far)
{
	for (ptrdiff_t i = 0; i < v->ic; i += VF) {
		const ptrdiff_t c = vc_wino_lanes(i, v->ic);
		VcV columns[WINO_MOST][WINO_MOST];

		for (int s = 0; s < m + 2; s++) {
			VcV d[WINO_MOST];

			VC_UNROLL
			for (int r = 0; r < m + 2; r++) {
				const ptrdiff_t y = y0 + r, x = x0 + s;
				const bool in = (size_t)y < (size_t)v->h && (size_t)x < (size_t)v->w;

				d[r] = in ? *(const VcV *)(image + (y * v->w + x) * v->xs + c) : VC_ZERO;
			}
			vc_wino_in(m, d, columns[s]);
		}
		for (int r = 0; r < m + 2; r++) {
			VcV d[WINO_MOST], o[WINO_MOST];

			VC_UNROLL
			for (int s = 0; s < m + 2; s++)
				d[s] = columns[s][r];
			vc_wino_in(m, d, o);
			VC_UNROLL
			for (int s = 0; s < m + 2; s++)
				*(VcV *)(t + ((m + 2) * r + s) * far + c) = o[s];
		}
	}
}

/* Transforms t back to the output tile at (y0, x0), channels c0 to c1. image and t point to channel 0. */
VC_INLINE void
vc_wino_tile_out(const int m, const VcConv *v, float *image, ptrdiff_t y0, ptrdiff_t x0, ptrdiff_t c0, ptrdiff_t c1,
		 const float *t, ptrdiff_t far, const float *bias)
{
	for (ptrdiff_t i = c0; i < c1; i += VF) {
		const ptrdiff_t c = vc_wino_lanes(i, c1);
		VcV columns[WINO_MOST][4];
		const VcV start = bias ? *(const VcV *)(bias + c) : VC_ZERO;

		for (int s = 0; s < m + 2; s++) {
			VcV d[WINO_MOST];

			VC_UNROLL
			for (int r = 0; r < m + 2; r++)
				d[r] = *(const VcV *)(t + ((m + 2) * r + s) * far + c);
			vc_wino_out(m, d, columns[s]);
		}
		for (int r = 0; r < m && y0 + r < v->oh; r++) {
			VcV d[WINO_MOST], o[4];

			VC_UNROLL
			for (int s = 0; s < m + 2; s++)
				d[s] = columns[s][r];
			vc_wino_out(m, d, o);
			VC_UNROLL
			for (int s = 0; s < m; s++) {
				o[s] += start;
				if (VC_CLAMPS && v->range)
					o[s] = vc_clamp(o[s], v->range);
				if (x0 + s < v->ow)
					*(VcV *)(image + ((y0 + r) * v->ow + x0 + s) * v->ys + c) = o[s];
			}
		}
	}
}

/* The transforms as functions. A program has those of the tiles that it uses. */
#define VC_WINO(m) \
	VC_SHARED void \
	vc_wino_in_tile_##m(const VcConv *v, const float *image, ptrdiff_t y0, ptrdiff_t x0, float *t, ptrdiff_t far) \
	{ \
		vc_wino_tile_in(m, v, image, y0, x0, t, far); \
	} \
	VC_SHARED void \
	vc_wino_out_tile_##m(const VcConv *v, float *image, ptrdiff_t y0, ptrdiff_t x0, ptrdiff_t c, ptrdiff_t c1, \
			     const float *t, ptrdiff_t far, const float *bias) \
	{ \
		vc_wino_tile_out(m, v, image, y0, x0, c, c1, t, far, bias); \
	}
VC_WINO(2)
VC_WINO(4)
#undef VC_WINO

/* Returns the number of floats in a plane of `block` tiles. If channels are a multiple of 16, this is an odd multiple
 * of 16: with an even one, the points of a tile would map to a few cache sets. */
VC_INLINE ptrdiff_t
vc_wino_plane(ptrdiff_t block, ptrdiff_t channels)
{
	return block * channels | 16;
}

/* Returns the number of tiles in a block. Divides `tiles` evenly into blocks of at most `block`. */
VC_INLINE ptrdiff_t
vc_wino_even(ptrdiff_t tiles, ptrdiff_t block)
{
	const ptrdiff_t blocks = (tiles + block - 1) / block, even = (tiles + blocks - 1) / blocks;
	const ptrdiff_t whole = (even + VC_MR - 1) / VC_MR * VC_MR;

	return whole < block ? whole : block;
}

/* Computes a convolution. Threads divide panels or, with a step, tiles (VcShare). Threads that divide panels each
 * transform all inputs, which is cheap if there are few tiles. Blocks have at most `block` tiles. scratch has (m + 2)^2
 * planes of ic and of oc. */
VC_SHARED void
vc_winograd_part(const int m, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t step, const VcConv *v, ptrdiff_t block,
		 const float *x, const float *w, const float *bias, float *y, float *scratch, VcPanel *last,
		 VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t points = (m + 2) * (m + 2), across = (v->ow + m - 1) / m, down = (v->oh + m - 1) / m;
	const ptrdiff_t plane = VC_UNIT_COLUMNS(v->oc) * v->ic;
	const VcShare s = vc_share(begin, end, step, v->n * across * down, 1, v->oc, v->n * across * down);
	const ptrdiff_t c0 = s.begin * VC_NR, c1 = s.end * VC_NR < v->oc ? s.end * VC_NR : v->oc;
	const ptrdiff_t from = vc_wino_plane(block, v->ic), to = vc_wino_plane(block, v->oc);
	const ptrdiff_t even = s.first < s.rows ? vc_wino_even(s.rows - s.first, block) : 1;
	float *const in = scratch, *const out = scratch + points * from;

	for (ptrdiff_t first = s.first; first < s.rows; first += even) {
		const ptrdiff_t n = s.rows - first < even ? s.rows - first : even;

		for (ptrdiff_t t = 0; t < n; t++) {
			const ptrdiff_t tile = first + t, image = tile / (across * down), ty = tile / across % down,
				      tx = tile % across;
			const float *image_at = x + image * v->h * v->w * v->xs;

			if (m == 4)
				vc_wino_in_tile_4(v, image_at, ty * 4 - v->ph, tx * 4 - v->pw, in + t * v->ic, from);
			else
				vc_wino_in_tile_2(v, image_at, ty * 2 - v->ph, tx * 2 - v->pw, in + t * v->ic, from);
		}
		for (ptrdiff_t k = 0; k < points; k++)
			vc_product_part(s.begin, s.end, 0, n, 1, v->oc, v->ic, n, in + k * from, v->ic, w + k * plane,
					0, out + k * to, v->oc, VC_WHOLE(vc_panel), last, 0, 0, 0);
		for (ptrdiff_t t = 0; t < n; t++) {
			const ptrdiff_t tile = first + t, image = tile / (across * down), ty = tile / across % down * m,
				      tx = tile % across * m;
			const ptrdiff_t wide = v->ow - tx < m ? v->ow - tx : m;
			float *const at = y + image * v->oh * v->ow * v->ys;

			if (m == 4)
				vc_wino_out_tile_4(v, at, ty, tx, c0, c1, out + t * v->oc, to, bias);
			else
				vc_wino_out_tile_2(v, at, ty, tx, c0, c1, out + t * v->oc, to, bias);
			for (ptrdiff_t r = ty; epilogue && r < ty + m && r < v->oh; r++) {
				const ptrdiff_t pixel = (image * v->oh + r) * v->ow + tx;

				epilogue(p, pixel, pixel + wide, c0, c1, v->oc);
			}
		}
	}
}

#define VC_WINOGRAD(m) \
	VC_INLINE void \
	vc_winograd_##m(ptrdiff_t begin, ptrdiff_t end, const VcConv *v, const float *x, const float *w, \
			const float *bias, float *y, float *scratch, VcEpilogue *epilogue, void *const *p) \
	{ \
		vc_winograd_part(m, begin, end, v->step, v, v->chunk, x, w, bias, y, scratch, \
				 VC_REST(vc_panel, v->oc), epilogue, p); \
	}
VC_WINOGRAD(2)
VC_WINOGRAD(4)
#undef VC_WINOGRAD

#endif

#endif
