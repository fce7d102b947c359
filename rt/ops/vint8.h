/* rt/ops/vint8.h - products and convolutions of 8-bit integers, in generated and eager kernels
 *
 *    y[m][n] = clamp(round((sum over k of (x[m][k] - x_zero) * w[n][k] + bias[n]) * scale[n]) + y_zero)
 *
 * Sums are int32, exact for at most VI_MOST products. The remaining steps are computed in float, as in FBGEMM.
 * Activations are NHWC and unsigned; signed ones are offset by 128 (`flip`). A row of k has the window's bytes in runs.
 * A run is a row of the window if its taps are contiguous, and otherwise one tap. It is padded to a multiple of QUAD
 * bytes. The image is padded by x_zero.
 *
 * If `sums` is set, the results are the int32 sums.
 *
 * Weights: the panels of vint8_block.h for each group, then the heavy bits of all panels. `start` is minus the sum of a
 * column's weights. Multiplied by x_zero and added to a sum, it removes the zero point at no cost.
 *
 * Depthwise: weights are [tap][channel] and lanes are channels (vint8_depth.h). For AVX512-VNNI they are followed by
 * [quad of taps][channel][QUAD], padded by zeros to quads of taps and to 16 channels. */
#ifndef RT_OPS_VINT8_H
#define RT_OPS_VINT8_H

#include "vint8_block.h"

typedef struct ViConv {
	ptrdiff_t n, d, h, w, ic, od, oh, ow, oc; /* ic, oc: number of channels of a group; d: depth, 1 for an image */
	ptrdiff_t kd, kh, kw, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups;
	ptrdiff_t xs, ys;        /* strides of pixels in elements */
	ptrdiff_t part;          /* number of columns of a unit of work: all of a group's, or VI_PART */
	int32_t   x_zero;        /* zero point of unsigned activations */
	int32_t   y_zero, low, high;
	bool      flip, sums;
} ViConv;

/* Sizes of a product. Its rows are the pixels of one row of an image. */
#define VI_LINE { .n = 1, .d = 1, .h = 1, .od = 1, .oh = 1, .kd = 1, .kh = 1, .kw = 1, .sd = 1, .sh = 1, .sw = 1, \
	.dd = 1, .dh = 1, .dw = 1, .groups = 1 }

/* Packed weights, and parameters of requantization, by column of all groups. */
typedef struct ViWeights {
	const int8_t  *panels;
	const int32_t *start;
	const float   *scale, *bias;
} ViWeights;

/* Some columns of a group: number of columns, panels, heavy bits, and parameters of requantization. */
typedef struct ViPart {
	ptrdiff_t      n;
	const int8_t  *panels, *heavy;
	const int32_t *start;
	const float   *scale, *bias;
} ViPart;

/* ---- requantization ---------------------------------------------------------------------------------------------- */

/* 1.5 * 2^23 and its bits. Adding it to a small number rounds the number, ties to even, and leaves the integer in the
 * low bits. */
#define VI_ROUND 12582912.0f
enum { VI_BITS = 0x4b400000 };

/* Clamps f to [low, high] and rounds it. `zero` is the result's zero point minus VI_BITS. */
VI_INLINE uint8_t
vi_byte(float f, float low, float high, int32_t zero)
{
	int32_t bits;

	f = f > low ? f : low;
	f = (f < high ? f : high) + VI_ROUND;
	memcpy(&bits, &f, sizeof bits);
	return (uint8_t)(bits + zero);
}

#if defined __AVX2__ && !defined __AVX512BW__ && !defined __TINYC__
/* Scales eight sums, clamps them to [low, high] and rounds them. The results are offset by VI_BITS. */
VI_INLINE __m256i
vi_rounded(__m256i sum, const float *scale, const float *bias, __m256 low, __m256 high)
{
	__m256 f = _mm256_add_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(bias));

	f = _mm256_max_ps(_mm256_mul_ps(f, _mm256_loadu_ps(scale)), low);
	return _mm256_castps_si256(_mm256_add_ps(_mm256_min_ps(f, high), _mm256_set1_ps(VI_ROUND)));
}
#endif

/* Requantizes n sums to bytes. */
VI_INLINE void
vi_finish(const ViConv *v, const int32_t *restrict sum, const int32_t *restrict start, const float *restrict scale,
	  const float *restrict bias, ptrdiff_t n, uint8_t *restrict y)
{
	const float low = (float)(v->low - v->y_zero), high = (float)(v->high - v->y_zero);
	const int32_t zero = v->y_zero - VI_BITS;
	ptrdiff_t j = 0;

#if defined __AVX512BW__ && !defined __TINYC__
	for (; j + VI_COLUMNS <= n; j += VI_COLUMNS) {
		const __m512i i = _mm512_add_epi32(VI_LOAD(sum + j), VI_LOAD(start + j));
		__m512 f = _mm512_add_ps(_mm512_cvtepi32_ps(i), _mm512_loadu_ps(bias + j));

		f = _mm512_max_ps(_mm512_mul_ps(f, _mm512_loadu_ps(scale + j)), _mm512_set1_ps(low));
		f = _mm512_add_ps(_mm512_min_ps(f, _mm512_set1_ps(high)), _mm512_set1_ps(VI_ROUND));
		_mm_storeu_si128((__m128i *)(y + j), _mm512_cvtepi32_epi8(_mm512_add_epi32(_mm512_castps_si512(f),
				 VI_EACH(zero))));
	}
#elif defined __AVX2__ && !defined __TINYC__
	for (; j + VI_COLUMNS <= n; j += VI_COLUMNS) {
		__m256i r[2];

		VI_UNROLL
		for (int i = 0; i < 2; i++)
			r[i] = VI_ADD(vi_rounded(VI_ADD(VI_LOAD(sum + j + 8 * i), VI_LOAD(start + j + 8 * i)),
						 scale + j + 8 * i, bias + j + 8 * i, _mm256_set1_ps(low),
						 _mm256_set1_ps(high)), VI_EACH(zero));
		r[0] = _mm256_and_si256(_mm256_packs_epi32(r[0], r[1]), _mm256_set1_epi16(255));
		r[0] = _mm256_permute4x64_epi64(r[0], 0xd8);
		_mm_storeu_si128((__m128i *)(void *)(y + j), _mm_packus_epi16(_mm256_castsi256_si128(r[0]),
				 _mm256_extracti128_si256(r[0], 1)));
	}
#endif
	for (; j < n; j++)
		y[j] = vi_byte(((float)(sum[j] + start[j]) + bias[j]) * scale[j], low, high, zero);
}

/* Stores n sums as int32. */
VI_INLINE void
vi_store(const int32_t *sum, const int32_t *start, ptrdiff_t n, uint8_t *y)
{
	int32_t r[VI_PANELS * VI_COLUMNS];

	for (ptrdiff_t j = 0; j < n; j++)
		r[j] = sum[j] + start[j];
	memcpy(y, r, (size_t)n * sizeof *r);
}

/* Returns the size in bytes of an element of the result. */
VI_INLINE ptrdiff_t
vi_width(const ViConv *v)
{
	return v->sums ? (ptrdiff_t)sizeof(int32_t) : 1;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

VI_BEGIN
/* Computes m <= 64 rows of a, which are lda bytes apart and `quads` quads long, by some columns. Elements of y are
 * v->ys apart. */
VI_SHARED void
vi_product(const ViConv *v, ptrdiff_t m, const uint8_t *a, ptrdiff_t lda, ptrdiff_t quads, const ViPart *w, uint8_t *y)
{
	int32_t sum[VI_ROWS * VI_PANELS * VI_COLUMNS], start[VI_PANELS * VI_COLUMNS];
	const uint64_t wide = vi_wide_rows(m, a, lda, quads * VI_QUAD);

	for (ptrdiff_t col = 0; col < w->n;) {
		const int panels = w->n - col > (VI_PANELS - 1) * VI_COLUMNS ? VI_PANELS :
				   VI_PANELS > 2 && w->n - col > VI_COLUMNS ? 2 : 1;
		const ptrdiff_t left = w->n - col, some = left < panels * VI_COLUMNS ? left : panels * VI_COLUMNS;
		const int8_t *const from = w->panels + col * VI_QUAD * quads,
			     *const bits = w->heavy + col / VI_COLUMNS * vi_bits(quads);

		for (ptrdiff_t j = 0; j < some; j++)
			start[j] = (v->x_zero - VI_LESS) * w->start[col + j];
		for (ptrdiff_t i = 0; i < m;) {
			const int rows = vi_rows(m - i);
			const int8_t *const heavy = wide >> i & ((1U << rows) - 1) ? bits : NULL;

			if (panels > 2)
				vi_blocks(rows, VI_PANELS, a + i * lda, lda, from, quads, heavy, sum);
			else if (panels > 1)
				vi_blocks(rows, 2, a + i * lda, lda, from, quads, heavy, sum);
			else
				vi_blocks(rows, 1, a + i * lda, lda, from, quads, heavy, sum);
			for (int r = 0; r < rows; r++) {
				const int32_t *const of = sum + r * VI_PANELS * VI_COLUMNS;
				uint8_t *const to = y + ((i + r) * v->ys + col) * vi_width(v);

				if (v->sums)
					vi_store(of, start, some, to);
				else
					vi_finish(v, of, start, w->scale + col, w->bias + col, some, to);
			}
			i += rows;
		}
		col += panels * VI_COLUMNS;
	}
}

VI_END

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* vi_lines returns the number of rows of pixels of the result. */
VI_INLINE ptrdiff_t
vi_lines(const ViConv *v)
{
	return v->n * v->od * v->oh;
}

VI_INLINE ptrdiff_t
vi_pixels(const ViConv *v)
{
	return vi_lines(v) * v->ow;
}

VI_INLINE ptrdiff_t
vi_window(const ViConv *v)
{
	return v->kd * v->kh * v->kw;
}

/* vi_run returns the number of bytes of a run; vi_runs the number of runs in a row of k. */
VI_INLINE ptrdiff_t
vi_run(const ViConv *v)
{
	return v->dw == 1 ? v->kw * v->ic : v->ic;
}

VI_INLINE ptrdiff_t
vi_runs(const ViConv *v)
{
	return v->dw == 1 ? v->kd * v->kh : vi_window(v);
}

VI_INLINE ptrdiff_t
vi_quads(const ViConv *v)
{
	return (vi_run(v) + VI_QUAD - 1) / VI_QUAD * vi_runs(v);
}

/* Returns the number of columns of a group's panels. */
VI_INLINE ptrdiff_t
vi_columns(const ViConv *v)
{
	return (v->oc + VI_COLUMNS - 1) / VI_COLUMNS * VI_COLUMNS;
}

VI_INLINE bool
vi_is_depthwise(const ViConv *v)
{
	return v->groups > 1 && v->ic == 1 && v->oc == 1;
}

/* Returns the number of channels in quads of taps of a depthwise convolution. vi_tap_quads returns the number of such
 * quads. */
VI_INLINE ptrdiff_t
vi_padded(const ViConv *v)
{
	return (v->groups + VI_COLUMNS - 1) / VI_COLUMNS * VI_COLUMNS;
}

VI_INLINE ptrdiff_t
vi_tap_quads(const ViConv *v)
{
	return (vi_window(v) + VI_QUAD - 1) / VI_QUAD;
}

/* Whether rows can be read in place, without a copy. */
VI_INLINE bool
vi_lies(const ViConv *v)
{
	return !v->flip && vi_window(v) == 1 && v->sd == 1 && v->sh == 1 && v->sw == 1 && !v->pd && !v->ph && !v->pw &&
	       v->ic % VI_QUAD == 0;
}

/* Copies n bytes of x. */
VI_INLINE void
vi_copy(const ViConv *v, uint8_t *to, const uint8_t *x, ptrdiff_t n)
{
	if (!v->flip) {
		if (n > SHORT_MOST)
			memcpy(to, x, (size_t)n);
		else
			copy_short(to, x, n);
		return;
	}
	for (ptrdiff_t i = 0; i < n; i++)
		to[i] = x[i] ^ 128;
}

/* Copies a run of taps [0, taps) of a row of the image from column ix on, and pads it. x is the group's first channel
 * in column 0. It is null if the row is outside of the image. Returns the end of the copy. */
VI_INLINE uint8_t *
vi_gather_run(const ViConv *v, uint8_t *to, const uint8_t *x, ptrdiff_t ix, ptrdiff_t taps)
{
	const ptrdiff_t before = !x ? taps : ix >= 0 ? 0 : -ix < taps ? -ix : taps, end = v->w - ix,
		      inside = end > taps ? taps : end > before ? end : before, run = taps * v->ic;
	uint8_t *const next = to + (run + VI_QUAD - 1) / VI_QUAD * VI_QUAD;

	memset(next - VI_QUAD, 0, VI_QUAD);
	if (before)
		memset(to, v->x_zero, (size_t)(before * v->ic));
	if (v->xs == v->ic && inside > before)
		vi_copy(v, to + before * v->ic, x + (ix + before) * v->xs, (inside - before) * v->ic);
	else
		for (ptrdiff_t t = before; t < inside; t++)
			vi_copy(v, to + t * v->ic, x + (ix + t) * v->xs, v->ic);
	if (inside < taps)
		memset(to + inside * v->ic, v->x_zero, (size_t)((taps - inside) * v->ic));
	return next;
}

/* Coordinates of a pixel of the result. */
typedef struct ViPixel { ptrdiff_t image, z, y, x; } ViPixel;

VI_INLINE ViPixel
vi_pixel(const ViConv *v, ptrdiff_t m)
{
	return (ViPixel){ m / v->ow / v->oh / v->od, m / v->ow / v->oh % v->od, m / v->ow % v->oh, m % v->ow };
}

VI_INLINE void
vi_next(const ViConv *v, ViPixel *p)
{
	if (++p->x < v->ow)
		return;
	p->x = 0;
	if (++p->y < v->oh)
		return;
	p->y = 0;
	if (++p->z < v->od)
		return;
	p->z = 0;
	p->image++;
}

/* Gathers the row of k of a pixel. */
VI_INLINE void
vi_gather(const ViConv *v, ViPixel p, const uint8_t *x, uint8_t *to)
{
	const ptrdiff_t front = p.z * v->sd - v->pd, top = p.y * v->sh - v->ph, left = p.x * v->sw - v->pw;

	for (ptrdiff_t q = 0; q < v->kd; q++)
		for (ptrdiff_t r = 0; r < v->kh; r++) {
			const ptrdiff_t iz = front + q * v->dd, iy = top + r * v->dh;
			const uint8_t *const row = iz < 0 || iz >= v->d || iy < 0 || iy >= v->h ? NULL :
				x + ((p.image * v->d + iz) * v->h + iy) * v->w * v->xs;

			if (v->dw == 1)
				to = vi_gather_run(v, to, row, left, v->kw);
			else
				for (ptrdiff_t s = 0; s < v->kw; s++)
					to = vi_gather_run(v, to, row, left + s * v->dw, 1);
		}
}

enum { VI_CHUNK = 48 };          /* number of rows of a unit of work */

/* Returns the number of bytes of scratch memory that a unit needs. */
VI_INLINE int64_t
vi_scratch(const ViConv *v)
{
	return vi_lies(v) ? 0 : VI_CHUNK * vi_quads(v) * VI_QUAD;
}

enum { VI_PART = 4 * VI_COLUMNS };

/* Whether threads divide columns. They do if there are few rows, and these are read in place. */
VI_INLINE bool
vi_divides(const ViConv *v)
{
	return vi_lies(v) && vi_pixels(v) < 8 * VI_CHUNK;
}

VI_INLINE int64_t
vi_units(const ViConv *v)
{
	const ptrdiff_t m = vi_pixels(v);

	return (m + VI_CHUNK - 1) / VI_CHUNK * ((v->oc + v->part - 1) / v->part) * v->groups;
}

/* Computes units [begin, end). A unit is some columns of some rows of a group. */
VI_SHARED void
vi_conv(int64_t begin, int64_t end, const ViConv *v, const uint8_t *x, const ViWeights *w, uint8_t *y, uint8_t *scratch)
{
	const ptrdiff_t m = vi_pixels(v), quads = vi_quads(v), part = v->part,
		      parts = (v->oc + part - 1) / part;

	for (int64_t unit = begin; unit < end; unit++) {
		const ptrdiff_t col = unit % parts * part, group = unit / parts % v->groups,
			      first = unit / parts / v->groups * VI_CHUNK, at = group * v->oc + col,
			      rows = m - first < VI_CHUNK ? m - first : VI_CHUNK;
		const uint8_t *from = x + group * v->ic;
		const ptrdiff_t column = group * vi_columns(v) + col;
		const ViPart some = {
			.n = v->oc - col < part ? v->oc - col : part,
			.panels = w->panels + column * VI_QUAD * quads,
			.heavy = vi_heavy(w->panels, v->groups * vi_columns(v), quads, column),
			.start = w->start + at,
			.scale = v->sums ? NULL : w->scale + at,
			.bias = v->sums ? NULL : w->bias + at,
		};
		ptrdiff_t lda = v->xs;

		if (vi_lies(v)) {
			from += first * v->xs;
		} else {
			ViPixel p = vi_pixel(v, first);

			lda = quads * VI_QUAD;
			for (ptrdiff_t i = 0; i < rows; i++, vi_next(v, &p))
				vi_gather(v, p, from, scratch + i * lda);
			from = scratch;
		}
		vi_product(v, rows, from, lda, quads, &some, y + (first * v->ys + at) * vi_width(v));
	}
}

/* Computes units [begin, end) of a convolution whose results are 8-bit integers. */
VI_INLINE void
vi_conv_bytes(int64_t begin, int64_t end, const ViConv *v, const uint8_t *x, const int8_t *panels, const int32_t *start,
	      const float *scale, const float *bias, uint8_t *y, uint8_t *scratch)
{
	vi_conv(begin, end, v, x, &(const ViWeights){ panels, start, scale, bias }, y, scratch);
}

/* Returns the sizes of a convolution with the zero point of x. */
VI_INLINE ViConv
vi_with_zero(const ViConv *v, float zero)
{
	ViConv own = *v;

	own.x_zero = (int32_t)zero + (v->flip ? 128 : 0);
	return own;
}

/* Computes units [begin, end) of a convolution whose results are int32 sums. */
VI_INLINE void
vi_conv_sums(int64_t begin, int64_t end, const ViConv *v, const uint8_t *x, const int8_t *panels, const int32_t *start,
	     const float *zero, void *y, uint8_t *scratch)
{
	const ViConv own = vi_with_zero(v, *zero);

	vi_conv(begin, end, &own, x, &(const ViWeights){ panels, start, NULL, NULL }, y, scratch);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Returns the offset of tap `tap` of the weights from the first tap. */
VI_INLINE ptrdiff_t
vi_tap(const ViConv *v, const ptrdiff_t stride[5], ptrdiff_t tap)
{
	return tap / v->kw / v->kh * stride[2] + tap / v->kw % v->kh * stride[3] + tap % v->kw * stride[4];
}

/* Returns the number of bytes of packed weights. */
VI_INLINE int64_t
vi_packed(const ViConv *v)
{
	return vi_is_depthwise(v) ? vi_window(v) * v->groups + vi_tap_quads(v) * VI_QUAD * vi_padded(v) :
	       v->groups * vi_columns(v) * vi_quads(v) * VI_QUAD +
	       v->groups * vi_columns(v) / VI_COLUMNS * vi_bits(vi_quads(v));
}

/* Whether any column of the quad has a pair of weights whose products may exceed 16 bits. */
VI_INLINE bool
vi_is_heavy(const int8_t *quad)
{
	int heavy = 0;

	for (int i = 0; i < VI_PANEL; i += 2) {
		const int a = quad[i], b = quad[i + 1];

		heavy |= (a > 0 ? a : 0) + (b > 0 ? b : 0) > 128;
		heavy |= (a < 0 ? a : 0) + (b < 0 ? b : 0) < -128;
	}
	return heavy;
}

/* Sets the bits of heavy quads. They are behind the panels and must be zero before. */
VI_INLINE void
vi_mark_heavy(const ViConv *v, int8_t *panels)
{
	const ptrdiff_t quads = vi_quads(v), n = v->groups * vi_columns(v) / VI_COLUMNS;
	int8_t *bits = panels + n * quads * VI_PANEL;

	for (ptrdiff_t panel = 0; panel < n; panel++, bits += vi_bits(quads), panels += quads * VI_PANEL)
		for (ptrdiff_t k = 0; k < quads; k += 64) {
			uint64_t word = 0;

			for (ptrdiff_t i = k; i < quads && i < k + 64; i++)
				word |= (uint64_t)vi_is_heavy(panels + i * VI_PANEL) << (i - k);
			memcpy(bits + k / 64 * VI_WORD, &word, sizeof word);
		}
}

VI_INLINE void
vi_pack_depthwise(const ViConv *v, const int8_t *w, const ptrdiff_t stride[5], int8_t *to, int32_t *start)
{
	int8_t *const quads = to + vi_window(v) * v->groups;

	memset(quads, 0, (size_t)(vi_tap_quads(v) * VI_QUAD * vi_padded(v)));
	memset(start, 0, (size_t)v->groups * sizeof *start);
	for (ptrdiff_t tap = 0; tap < vi_window(v); tap++)
		for (ptrdiff_t c = 0; c < v->groups; c++) {
			const int8_t by = w[c * stride[0] + vi_tap(v, stride, tap)];

			*to++ = by;
			quads[(tap / VI_QUAD * vi_padded(v) + c) * VI_QUAD + tap % VI_QUAD] = by;
			start[c] -= by;
		}
}

/* Packs whole quads of a column's contiguous weights of one tap. Returns their sum. */
VI_INLINE int32_t
vi_pack_row(ptrdiff_t quads, const int8_t *w, int8_t *to)
{
	int32_t sum = 0;

	for (ptrdiff_t i = 0; i < quads * VI_QUAD; i++)
		sum += w[i];
	for (ptrdiff_t q = 0; q < quads; q++)
		memcpy(to + q * VI_PANEL, w + q * VI_QUAD, VI_QUAD);
	return sum;
}

/* Packs w (groups * oc, ic, kd, kh, kw) with the given strides to vi_packed(v) bytes. Sets start by column. */
VI_SHARED void
vi_pack(const ViConv *v, const int8_t *w, const ptrdiff_t stride[5], int8_t *panels, int32_t *start)
{
	const ptrdiff_t quads = vi_quads(v), padded = vi_columns(v), run = vi_run(v),
		      rounded = (run + VI_QUAD - 1) / VI_QUAD * VI_QUAD;

	if (vi_is_depthwise(v)) {
		vi_pack_depthwise(v, w, stride, panels, start);
		return;
	}
	memset(panels, 0, (size_t)vi_packed(v));
	for (ptrdiff_t o = 0; o < v->groups * v->oc; o++) {
		const ptrdiff_t col = o % v->oc;
		int8_t *const to = panels + (o / v->oc * padded + col / VI_COLUMNS * VI_COLUMNS) * quads * VI_QUAD +
				   col % VI_COLUMNS * VI_QUAD;
		const ptrdiff_t whole = vi_window(v) == 1 && stride[1] == 1 ? v->ic / VI_QUAD : 0;
		int32_t sum = vi_pack_row(whole, w + o * stride[0], to);

		for (ptrdiff_t tap = 0; tap < vi_window(v); tap++)
			for (ptrdiff_t c = whole * VI_QUAD; c < v->ic; c++) {
				const ptrdiff_t r = tap / v->kw, s = tap % v->kw,
					      k = v->dw == 1 ? r * rounded + s * v->ic + c : tap * rounded + c;
				const int8_t by = w[o * stride[0] + c * stride[1] + vi_tap(v, stride, tap)];

				to[k / VI_QUAD * VI_PANEL + k % VI_QUAD] = by;
				sum += by;
			}
		start[o] = -sum;
	}
	vi_mark_heavy(v, panels);
}

#endif
