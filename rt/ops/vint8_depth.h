/* rt/ops/vint8_depth.h - depthwise convolutions of 8-bit integers, in generated and eager kernels
 *
 * Lanes are channels. AVX512-VNNI multiplies a quad of taps of each channel at once, AVX2 a pair, other targets one
 * tap. The formula, the sizes and the packed weights are those of vint8.h.
 */
#ifndef RT_OPS_VINT8_DEPTH_H
#define RT_OPS_VINT8_DEPTH_H

#include "vint8.h"

enum { VI_LANES = 64 };

/* Sets [*from, *to) to the taps that are inside of [0, size). `at` is the position of the first tap, `step` the
 * dilation. */
VI_INLINE void
vi_inside(ptrdiff_t at, ptrdiff_t step, ptrdiff_t taps, ptrdiff_t size, ptrdiff_t *from, ptrdiff_t *to)
{
	*from = at >= 0 ? 0 : (-at + step - 1) / step;
	*to = at >= size ? 0 : (size - at + step - 1) / step;
	*to = *to < taps ? *to : taps;
}

/* Adds a plane of the window's taps for n <= VI_LANES channels of a pixel. x is the plane, w the weights of its first
 * tap. */
VI_INLINE void
vi_taps(const ViConv *v, ptrdiff_t n, ptrdiff_t oy, ptrdiff_t ox, const uint8_t *x, const int8_t *w,
	int32_t *restrict sum)
{
	const int32_t zero = v->x_zero, flip = v->flip ? 128 : 0;
	const ptrdiff_t top = oy * v->sh - v->ph, left = ox * v->sw - v->pw;
	ptrdiff_t r, rows, first, columns;

	vi_inside(top, v->dh, v->kh, v->h, &r, &rows);
	vi_inside(left, v->dw, v->kw, v->w, &first, &columns);
	for (; r < rows; r++)
		for (ptrdiff_t s = first; s < columns; s++) {
			const uint8_t *const restrict from = x + ((top + r * v->dh) * v->w + left + s * v->dw) * v->xs;
			const int8_t *const restrict by = w + (r * v->kw + s) * v->groups;

			for (ptrdiff_t j = 0; j < n; j++)
				sum[j] += (int16_t)(((from[j] ^ flip) - zero) * by[j]);
		}
}

/* Adds all planes. x is the image, `row` the row of the result. */
VI_INLINE void
vi_planes(const ViConv *v, ptrdiff_t n, int64_t row, ptrdiff_t ox, const uint8_t *x, const int8_t *w,
	  int32_t *restrict sum)
{
	const ptrdiff_t front = row / v->oh % v->od * v->sd - v->pd, plane = v->h * v->w * v->xs;
	ptrdiff_t first, planes;

	vi_inside(front, v->dd, v->kd, v->d, &first, &planes);
	for (ptrdiff_t j = 0; j < n; j++)
		sum[j] = 0;
	for (ptrdiff_t q = first; q < planes; q++)
		vi_taps(v, n, row % v->oh, ox, x + (front + q * v->dd) * plane, w + q * v->kh * v->kw * v->groups, sum);
}

#if defined __AVX512VNNI__ && defined __AVX512BW__ && defined __AVX512VL__ && !defined __TINYC__
#define VI_TAPS_BY_QUADS
#elif defined __AVX2__ && !defined __TINYC__
#define VI_TAPS_BY_PAIRS
#endif

#if defined VI_TAPS_BY_QUADS || defined VI_TAPS_BY_PAIRS

#define VI_ADDRESSES
enum { VI_TAPS = 128 };          /* largest number of taps of a window whose addresses are kept */

/* Computes the addresses of a pixel's taps in channel 0, padded to whole quads. A tap outside is null. x is the
 * image. */
VI_INLINE void
vi_addresses(const ViConv *v, int64_t row, ptrdiff_t ox, const uint8_t *x, const uint8_t **tap)
{
	const ptrdiff_t front = row / v->oh % v->od * v->sd - v->pd, top = row % v->oh * v->sh - v->ph,
			left = ox * v->sw - v->pw;

	for (ptrdiff_t q = 0; q < v->kd; q++)
		for (ptrdiff_t r = 0; r < v->kh; r++)
			for (ptrdiff_t s = 0; s < v->kw; s++) {
				const ptrdiff_t z = front + q * v->dd, iy = top + r * v->dh, ix = left + s * v->dw;

				*tap++ = z < 0 || z >= v->d || iy < 0 || iy >= v->h || ix < 0 || ix >= v->w ? NULL :
					 x + ((z * v->h + iy) * v->w + ix) * v->xs;
			}
	for (ptrdiff_t i = vi_window(v); i % VI_QUAD; i++)
		*tap++ = NULL;
}

#endif

#ifdef VI_TAPS_BY_QUADS

/* Adds a quad's taps to the sums of 16 channels, of which those in `mask` exist. */
VI_INLINE __m512i
vi_quad_taps(const ViConv *v, const uint8_t *const *tap, ptrdiff_t c, __mmask16 mask, const int8_t *w, __m512i sum)
{
	const __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
		      bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
			15)),
		      flip = _mm512_set1_epi8(v->flip ? -128 : 0);
	const __m128i zero = _mm_set1_epi8((char)(v->flip ? v->x_zero ^ 128 : v->x_zero));
	const ptrdiff_t quads = vi_tap_quads(v), step = vi_padded(v) * VI_QUAD;

	for (ptrdiff_t q = 0; q < quads; q++, tap += VI_QUAD) {
		__m128i x[VI_QUAD];
		__m512i all;

		VI_UNROLL
		for (int i = 0; i < VI_QUAD; i++)
			x[i] = tap[i] ? _mm_maskz_loadu_epi8(mask, tap[i] + c) : zero;
		all = _mm512_inserti32x4(_mm512_castsi128_si512(x[0]), x[1], 1);
		all = _mm512_inserti32x4(_mm512_inserti32x4(all, x[2], 2), x[3], 3);
		all = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(lanes, all), bytes);
		sum = VI_DOTS(sum, _mm512_xor_si512(all, flip), VI_LOAD(w + q * step + c * VI_QUAD));
	}
	return sum;
}

/* Computes the sums of n <= VI_LANES channels from c on. */
VI_INLINE void
vi_channels(const ViConv *v, const uint8_t *const *tap, ptrdiff_t c, ptrdiff_t n, const ViWeights *w, int32_t *sum)
{
	const int8_t *const quads = w->panels + vi_window(v) * v->groups;

	for (ptrdiff_t i = 0; i < n; i += VI_COLUMNS) {
		const __mmask16 mask = n - i < VI_COLUMNS ? (__mmask16)((1 << (n - i)) - 1) : (__mmask16)-1;
		const __m512i start = _mm512_maskz_loadu_epi32(mask, w->start + c + i);

		_mm512_storeu_si512(sum + i, vi_quad_taps(v, tap, c + i, mask, quads,
			_mm512_mullo_epi32(start, _mm512_set1_epi32(v->x_zero))));
	}
}

#elif defined VI_TAPS_BY_PAIRS

/* Loads tap i of 16 channels from c on, as unsigned bytes. */
VI_INLINE __m256i
vi_tap_lanes(const ViConv *v, const uint8_t *const *tap, ptrdiff_t i, ptrdiff_t c)
{
	const __m128i x = tap[i] ? _mm_loadu_si128((const __m128i *)(const void *)(tap[i] + c)) :
				   _mm_set1_epi8((char)(v->flip ? v->x_zero ^ 128 : v->x_zero));

	return _mm256_cvtepu8_epi16(_mm_xor_si128(x, _mm_set1_epi8(v->flip ? -128 : 0)));
}

VI_INLINE __m256i
vi_tap_weights(const int8_t *w)
{
	return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)w));
}

/* Stores eight sums, with the terms of the zero points. */
VI_INLINE void
vi_put_lanes(__m256i taps, const int32_t *start, int32_t x_zero, int32_t *sum)
{
	const __m256i from = _mm256_loadu_si256((const __m256i *)(const void *)start);

	_mm256_storeu_si256((__m256i *)(void *)sum,
			    _mm256_add_epi32(taps, _mm256_mullo_epi32(from, _mm256_set1_epi32(x_zero))));
}

/* Computes the sums of 16 channels from c on, two taps at a time. */
VI_INLINE void
vi_pair_taps(const ViConv *v, const uint8_t *const *tap, ptrdiff_t c, const ViWeights *w, int32_t *sum)
{
	const int8_t *by = w->panels + c;
	const __m256i none = _mm256_setzero_si256();
	__m256i low = none, high = none;

	for (ptrdiff_t i = 0, taps = vi_window(v); i < taps; i += 2, by += 2 * v->groups) {
		const bool two = i + 1 < taps;
		const __m256i x = vi_tap_lanes(v, tap, i, c), x2 = two ? vi_tap_lanes(v, tap, i + 1, c) : none,
			      f = vi_tap_weights(by), f2 = two ? vi_tap_weights(by + v->groups) : none;

		low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(x, x2),
							      _mm256_unpacklo_epi16(f, f2)));
		high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(x, x2),
								_mm256_unpackhi_epi16(f, f2)));
	}
	vi_put_lanes(_mm256_permute2x128_si256(low, high, 0x20), w->start + c, v->x_zero, sum);
	vi_put_lanes(_mm256_permute2x128_si256(low, high, 0x31), w->start + c + 8, v->x_zero, sum + 8);
}

/* Computes the sums of n <= VI_LANES channels from c on. */
VI_INLINE void
vi_channels(const ViConv *v, const uint8_t *const *tap, ptrdiff_t c, ptrdiff_t n, const ViWeights *w, int32_t *sum)
{
	ptrdiff_t i = 0;

	for (; i + VI_COLUMNS <= n; i += VI_COLUMNS)
		vi_pair_taps(v, tap, c + i, w, sum + i);
	for (; i < n; i++) {
		const int8_t *by = w->panels + c + i;

		sum[i] = w->start[c + i] * v->x_zero;
		for (ptrdiff_t t = 0, taps = vi_window(v); t < taps; t++, by += v->groups)
			sum[i] += (tap[t] ? tap[t][c + i] ^ (v->flip ? 128 : 0) : v->x_zero) * *by;
	}
}

#endif

/* Computes rows [begin, end) of vi_lines(v), for groups of one channel. */
VI_SHARED void
vi_depthwise(int64_t begin, int64_t end, const ViConv *v, const uint8_t *x, const ViWeights *w, uint8_t *y)
{
	static const int32_t none[VI_LANES];

	for (int64_t row = begin; row < end; row++)
		for (ptrdiff_t ox = 0; ox < v->ow; ox++) {
			const uint8_t *const image = x + row / v->oh / v->od * v->d * v->h * v->w * v->xs;
#ifdef VI_ADDRESSES
			const uint8_t *tap[VI_TAPS];

			if (vi_window(v) <= VI_TAPS)
				vi_addresses(v, row, ox, image, tap);
#endif
			for (ptrdiff_t c = 0; c < v->groups; c += VI_LANES) {
				const ptrdiff_t n = v->groups - c < VI_LANES ? v->groups - c : VI_LANES;
				int32_t sum[VI_LANES];

#ifdef VI_ADDRESSES
				if (vi_window(v) <= VI_TAPS)
					vi_channels(v, tap, c, n, w, sum);
				else
#endif
				if (n == VI_LANES)
					vi_planes(v, VI_LANES, row, ox, image + c, w->panels + c, sum);
				else
					vi_planes(v, n, row, ox, image + c, w->panels + c, sum);
				uint8_t *const to = y + ((row * v->ow + ox) * v->ys + c) * vi_width(v);

				if (v->sums)
					memcpy(to, sum, (size_t)n * sizeof *sum);
				else
					vi_finish(v, sum, none, w->scale + c, w->bias + c, n, to);
			}
		}
}

VI_INLINE void
vi_depthwise_bytes(int64_t begin, int64_t end, const ViConv *v, const uint8_t *x, const int8_t *panels,
		   const int32_t *start, const float *scale, const float *bias, uint8_t *y)
{
	vi_depthwise(begin, end, v, x, &(const ViWeights){ panels, start, scale, bias }, y);
}

VI_INLINE void
vi_depthwise_sums(int64_t begin, int64_t end, const ViConv *v, const uint8_t *x, const int8_t *panels,
		  const int32_t *start, const float *zero, void *y)
{
	const ViConv own = vi_with_zero(v, *zero);

	vi_depthwise(begin, end, &own, x, &(const ViWeights){ panels, start, NULL, NULL }, y);
}

#endif
