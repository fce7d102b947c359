/* rt/ops/vwino.h - convolutions 3 x 3 of stride 1 in generated kernels: Winograd F(4 x 4, 3 x 3)
 *
 * Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015.  Tiles of 4 x 4 outputs; lanes are channels.  A
 * quarter of the direct form's multiplications, by filters four times as large: those a program makes when it first wants
 * them (RtMaking), from the panels that it holds.
 *
 * The points are 0, +-5/8, +-3/2 and infinity: by measure the best among sixteenths and eighths, with 2.4 times less
 * rounding error than the usual 0, +-1, +-2 (1.8 times the direct form's), for as many multiplications; all that follows
 * from them is exact in a float (Barabasz, Anderson, Soodhalter and Gregg, 2020, on the choice of points).
 */
#ifndef RT_OPS_VWINO_H
#define RT_OPS_VWINO_H

#include "vconv.h"

#if VC_FLOATS > 1

#define VC_WINO_P 0.625f
#define VC_WINO_Q 1.5f
#define VC_WINO_PP (VC_WINO_P * VC_WINO_P)
#define VC_WINO_QQ (VC_WINO_Q * VC_WINO_Q)

/* ---- filters: G g G' ---------------------------------------------------------------------------------------------- */

/* In double: what is wrong with a filter is wrong with all that it gives. */
typedef double VcWide __attribute__((vector_size(VF * 4)));

/* G g: three at distance gs to six at distance os */
VC_INLINE void
vc_wino_filter(const VcWide *g, int gs, VcWide *o, int os)
{
	const double p = VC_WINO_P, q = VC_WINO_Q, pp = p * p, qq = q * q, np = 0.5 / (pp * (pp - qq)), nq = 0.5 / (qq * (qq - pp));
	const VcWide a = g[0] * np + g[2 * gs] * (pp * np), b = g[gs] * (p * np);
	const VcWide c = g[0] * nq + g[2 * gs] * (qq * nq), d = g[gs] * (q * nq);

	o[0] = g[0] * (1 / (pp * qq));
	o[os] = a + b;
	o[2 * os] = a - b;
	o[3 * os] = c + d;
	o[4 * os] = c - d;
	o[5 * os] = g[2 * gs];
}

/* Panels [begin, end) of a product's weights, [panel][tap][ic][NR] -> [36][panel][ic][NR]; an RtMake. */
VC_SHARED void
vc_wino_filters(const RtMaking *f, const float *from, float *to, int64_t begin, int64_t end)
{
	const int64_t width = VC_IS_WHOLE(f->n) ? VC_NR : VF, columns = (f->n + width - 1) / width * width;

	for (int64_t col = begin * VC_NR; col < end * VC_NR && col < columns; col += VC_NR) {
		const int64_t size = (columns - col < VC_NR ? columns - col : VC_NR) * f->k;
		const float *w = from + col * 9 * f->k;
		float *u = to + col * f->k;

		for (int64_t i = 0; i < size; i += VF / 2) {
			VcWide g[9], h[18], t[36];

			VC_UNROLL
			for (int k = 0; k < 9; k++)
				g[k] = __builtin_convertvector(*(const VcHalf *)(w + k * size + i), VcWide);
			VC_UNROLL
			for (int s = 0; s < 3; s++)
				vc_wino_filter(g + s, 3, h + s, 3);
			VC_UNROLL
			for (int r = 0; r < 6; r++)
				vc_wino_filter(h + 3 * r, 1, t + 6 * r, 1);
			VC_UNROLL
			for (int k = 0; k < 36; k++)
				*(VcHalf *)(u + k * columns * f->k + i) = __builtin_convertvector(t[k], VcHalf);
		}
	}
}

/* ---- tiles -------------------------------------------------------------------------------------------------------- */

/* B' d: six inputs to six outputs. */
VC_INLINE void
vc_wino_in(const VcV *d, VcV *o)
{
	const VcV a = d[4] - VC_WINO_QQ * d[2], b = VC_WINO_P * (d[3] - VC_WINO_QQ * d[1]);
	const VcV c = d[4] - VC_WINO_PP * d[2], e = VC_WINO_Q * (d[3] - VC_WINO_PP * d[1]);

	o[0] = VC_WINO_PP * VC_WINO_QQ * d[0] - (VC_WINO_PP + VC_WINO_QQ) * d[2] + d[4];
	o[1] = a + b;
	o[2] = a - b;
	o[3] = c + e;
	o[4] = c - e;
	o[5] = VC_WINO_PP * VC_WINO_QQ * d[1] - (VC_WINO_PP + VC_WINO_QQ) * d[3] + d[5];
}

/* A' m: six to four. */
VC_INLINE void
vc_wino_out(const VcV *m, VcV *o)
{
	const VcV a = m[1] + m[2], b = VC_WINO_P * (m[1] - m[2]);
	const VcV c = m[3] + m[4], d = VC_WINO_Q * (m[3] - m[4]);

	o[0] = m[0] + a + c;
	o[1] = b + d;
	o[2] = VC_WINO_PP * a + VC_WINO_QQ * c;
	o[3] = VC_WINO_PP * b + VC_WINO_QQ * d + m[5];
}

/* Input tile at (y0, x0) of one image -> t[36] at distance `far` floats; channels c .. c + VF. */
VC_INLINE void
vc_wino_tile_in(const VcConv *v, const float *image, int64_t y0, int64_t x0, int64_t c, float *t, int64_t far)
{
	VcV columns[6][6];

	for (int s = 0; s < 6; s++) {
		VcV d[6];

		VC_UNROLL
		for (int r = 0; r < 6; r++) {
			const int64_t y = y0 + r, x = x0 + s;
			const bool in = (uint64_t)y < (uint64_t)v->h && (uint64_t)x < (uint64_t)v->w;

			d[r] = in ? *(const VcV *)(image + (y * v->w + x) * v->xs + c) : VC_ZERO;
		}
		vc_wino_in(d, columns[s]);
	}
	for (int r = 0; r < 6; r++) {
		VcV d[6], o[6];

		VC_UNROLL
		for (int s = 0; s < 6; s++)
			d[s] = columns[s][r];
		vc_wino_in(d, o);
		VC_UNROLL
		for (int s = 0; s < 6; s++)
			*(VcV *)(t + (6 * r + s) * far) = o[s];
	}
}

VC_INLINE void
vc_wino_tile_out(const VcConv *v, float *image, int64_t y0, int64_t x0, int64_t c, const float *t, int64_t far, const float *bias)
{
	VcV columns[6][4];
	const VcV start = bias ? *(const VcV *)(bias + c) : VC_ZERO;

	for (int s = 0; s < 6; s++) {
		VcV m[6];

		VC_UNROLL
		for (int r = 0; r < 6; r++)
			m[r] = *(const VcV *)(t + (6 * r + s) * far);
		vc_wino_out(m, columns[s]);
	}
	for (int r = 0; r < 4 && y0 + r < v->oh; r++) {
		VcV m[6], o[4];

		VC_UNROLL
		for (int s = 0; s < 6; s++)
			m[s] = columns[s][r];
		vc_wino_out(m, o);
		VC_UNROLL
		for (int s = 0; s < 4; s++) {
			o[s] += start;
			if (VC_CLAMPS && v->range)
				o[s] = vc_clamp(o[s], v->range);
			if (x0 + s < v->ow)
				*(VcV *)(image + ((y0 + r) * v->ow + x0 + s) * v->ys + c) = o[s];
		}
	}
}

/* Threads divide panels or, with a step, tiles (VcShare).  Those that divide panels transform all inputs each: where tiles are
 * few, that is little.  Blocks have `block` tiles; scratch: 36 * block * (ic + oc) floats. */
VC_SHARED void
vc_winograd_part(int64_t begin, int64_t end, int64_t step, const VcConv *v, int64_t block, const float *x, const float *w,
		 const float *bias, float *y, float *scratch, VcPanel *last, VcEpilogue *epilogue, void *const *p)
{
	const int64_t across = (v->ow + 3) / 4, down = (v->oh + 3) / 4;
	const int64_t width = VC_IS_WHOLE(v->oc) ? VC_NR : VF, plane = (v->oc + width - 1) / width * width * v->ic;
	const VcShare s = vc_share(begin, end, step, v->n * across * down, v->oc, v->n * across * down);
	const int64_t c0 = s.begin * VC_NR, c1 = s.end * VC_NR < v->oc ? s.end * VC_NR : v->oc;

	for (int64_t first = s.first; first < s.rows; first += block) {
		const int64_t n = s.rows - first < block ? s.rows - first : block;
		float *in = scratch, *out = scratch + 36 * block * v->ic;

		for (int64_t t = 0; t < n; t++) {
			const int64_t tile = first + t, image = tile / (across * down), ty = tile / across % down, tx = tile % across;

			for (int64_t c = 0; c < v->ic; c += VF)
				vc_wino_tile_in(v, x + image * v->h * v->w * v->xs, ty * 4 - v->ph, tx * 4 - v->pw, c,
						in + t * v->ic + c, block * v->ic);
		}
		for (int64_t k = 0; k < 36; k++)
			vc_product_part(s.begin, s.end, 0, n, v->oc, v->ic, n, in + k * block * v->ic, v->ic,
					w + k * plane, 0, out + k * block * v->oc, v->oc, last, 0, 0, 0);
		for (int64_t t = 0; t < n; t++) {
			const int64_t tile = first + t, image = tile / (across * down), ty = tile / across % down * 4, tx = tile % across * 4;
			const int64_t wide = v->ow - tx < 4 ? v->ow - tx : 4;
			float *to = y + image * v->oh * v->ow * v->ys;

			for (int64_t c = c0; c < c1; c += VF)
				vc_wino_tile_out(v, to, ty, tx, c, out + t * v->oc + c, block * v->oc, bias);
			for (int64_t r = ty; epilogue && r < ty + 4 && r < v->oh; r++) {
				const int64_t pixel = (image * v->oh + r) * v->ow + tx;

				epilogue(p, pixel, pixel + wide, c0, c1, v->oc);
			}
		}
	}
}

VC_INLINE void
vc_winograd(int64_t begin, int64_t end, int64_t step, const VcConv *v, int64_t block, const float *x, const float *w,
	    const float *bias, float *y, float *scratch, VcEpilogue *epilogue, void *const *p)
{
	vc_winograd_part(begin, end, step, v, block, x, w, bias, y, scratch, VC_REST(vc_panel, v->oc), epilogue, p);
}

#endif

#endif
