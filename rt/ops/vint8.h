/* rt/ops/vint8.h - products and convolutions of 8-bit integers, of generated and eager kernels
 *
 *    y[m][n] = clamp(round((sum over k of (x[m][k] - x_zero) * w[n][k] + bias[n]) * scale[n]) + y_zero)
 *
 * Sums are int32, and exact for at most VI_MOST products; what follows is in float, as FBGEMM has it.  Activations are
 * NHWC, unsigned bytes: signed ones get 128 more (`flip`).  A row of k is the window's bytes in runs: a run is a row of
 * the window where its taps are adjacent, else one tap, padded to a multiple of QUAD bytes.  The padding of the image
 * is x_zero.
 *
 * Or, as int32, the sums (`sums`).
 *
 * Weights: panels of COLUMNS output channels, [panel][quad][COLUMNS][QUAD], for each group.  `start` is minus the sum
 * of a column's weights: times x_zero, it makes zero points cost nothing.  One instruction of AVX512-VNNI, or of ARM's
 * dot product, multiplies a quad of each column; without it pmaddubsw and pmaddwd do where activations are below
 * 128, else two that multiply pairs of 16 bits, or NEON bytes.  NEON's bytes are signed, so activations are 128 less
 * in registers.
 *
 * Depthwise: weights [tap][channel]; lanes are channels (vint8_depth.h).  Behind these are, for AVX512-VNNI, [quad of
 * taps][channel][QUAD], padded by zeros to quads of taps and to 16 channels.
 */
#ifndef RT_OPS_VINT8_H
#define RT_OPS_VINT8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "short.h"

#if defined __GNUC__ && !defined __TINYC__
#define VI_INLINE static inline __attribute__((always_inline, unused))
#define VI_SHARED static __attribute__((noinline, unused))
#ifdef __clang__
#define VI_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VI_UNROLL _Pragma("GCC unroll 32")
#endif
#if defined __SSE2__
#include <immintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif
#else
#define VI_INLINE static inline
#define VI_SHARED static inline
#define VI_UNROLL
#endif

/* Between these, gcc keeps a register block in the order of its text: scheduled, it does not fit the registers. */
#if defined __ARM_FEATURE_DOTPROD && defined __GNUC__ && !defined __clang__
#define VI_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-schedule-insns\")")
#define VI_END _Pragma("GCC pop_options")
#else
#define VI_BEGIN
#define VI_END
#endif

enum {
	VI_COLUMNS = 16, VI_QUAD = 4, VI_PANEL = VI_COLUMNS * VI_QUAD,
	VI_MOST = 1 << 16,       /* products of a sum */
#if defined __ARM_NEON && !defined __TINYC__
	VI_LESS = 128,           /* what activations are less by in sums */
#else
	VI_LESS = 0,
#endif
};

/* A block in registers: ROWS of x by PANELS, each of VECTORS. */
#if defined __AVX512BW__ && !defined __TINYC__
enum { VI_ROWS = 6, VI_PANELS = 4, VI_VECTORS = 1 };
typedef __m512i ViV;
#define VI_LOAD(p) _mm512_loadu_si512(p)
#define VI_EACH(x) _mm512_set1_epi32(x)
#define VI_ADD(a, b) _mm512_add_epi32(a, b)
#define VI_PAIRS(a, b) _mm512_madd_epi16(a, b)
#define VI_LOW_BYTES(a) _mm512_and_si512(a, _mm512_set1_epi16(255))
#define VI_HIGH_BYTES(a) _mm512_srli_epi16(a, 8)
#define VI_LOW_SIGNED(a) _mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8)
#define VI_HIGH_SIGNED(a) _mm512_srai_epi16(a, 8)
#ifdef __AVX512VNNI__
#define VI_DOTS(sum, a, b) _mm512_dpbusd_epi32(sum, a, b)
#endif
#define VI_BYTES(a, b) _mm512_maddubs_epi16(a, b)
#elif defined __AVX2__ && !defined __TINYC__
enum { VI_ROWS = 6, VI_PANELS = 1, VI_VECTORS = 2 };
typedef __m256i ViV;
#define VI_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define VI_EACH(x) _mm256_set1_epi32(x)
#define VI_ADD(a, b) _mm256_add_epi32(a, b)
#define VI_PAIRS(a, b) _mm256_madd_epi16(a, b)
#define VI_LOW_BYTES(a) _mm256_and_si256(a, _mm256_set1_epi16(255))
#define VI_HIGH_BYTES(a) _mm256_srli_epi16(a, 8)
#define VI_LOW_SIGNED(a) _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8)
#define VI_HIGH_SIGNED(a) _mm256_srai_epi16(a, 8)
#ifdef __AVXVNNI__
#define VI_DOTS(sum, a, b) _mm256_dpbusd_avx_epi32(sum, a, b)
#endif
#define VI_BYTES(a, b) _mm256_maddubs_epi16(a, b)
#elif defined __SSE2__ && !defined __TINYC__
enum { VI_ROWS = 2, VI_PANELS = 1, VI_VECTORS = 4 };
typedef __m128i ViV;
#define VI_LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define VI_EACH(x) _mm_set1_epi32(x)
#define VI_ADD(a, b) _mm_add_epi32(a, b)
#define VI_PAIRS(a, b) _mm_madd_epi16(a, b)
#define VI_LOW_BYTES(a) _mm_and_si128(a, _mm_set1_epi16(255))
#define VI_HIGH_BYTES(a) _mm_srli_epi16(a, 8)
#define VI_LOW_SIGNED(a) _mm_srai_epi16(_mm_slli_epi16(a, 8), 8)
#define VI_HIGH_SIGNED(a) _mm_srai_epi16(a, 8)
#ifdef __SSSE3__
#define VI_BYTES(a, b) _mm_maddubs_epi16(a, b)
#endif
#elif defined __ARM_FEATURE_DOTPROD && !defined __TINYC__
enum { VI_ROWS = 4, VI_PANELS = 1, VI_VECTORS = 4, VI_PARTS = 1 };
#elif defined __ARM_NEON && !defined __TINYC__
enum { VI_ROWS = 2, VI_PANELS = 1, VI_VECTORS = 4, VI_PARTS = 2 };
#else
enum { VI_ROWS = 4, VI_PANELS = 1 };
#endif

typedef struct ViConv {
	ptrdiff_t n, d, h, w, ic, od, oh, ow, oc;        /* ic, oc: of a group; d: depth, 1 of an image */
	ptrdiff_t kd, kh, kw, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups;
	ptrdiff_t xs, ys;        /* elements from pixel to pixel */
	ptrdiff_t part;          /* columns of a unit: all of a group's, or VI_PART */
	int32_t   x_zero;        /* without a sign */
	int32_t   y_zero, low, high;
	bool      flip, sums;
} ViConv;

/* A product: the rows are the pixels of one row of an image. */
#define VI_LINE { .n = 1, .d = 1, .h = 1, .od = 1, .oh = 1, .kd = 1, .kh = 1, .kw = 1, .sd = 1, .sh = 1, .sw = 1, \
	.dd = 1, .dh = 1, .dw = 1, .groups = 1 }

/* Packed weights, and what follows a sum, by column of all groups. */
typedef struct ViWeights {
	const int8_t  *panels;
	const int32_t *start;
	const float   *scale, *bias;
} ViWeights;

/* ---- sums in registers ------------------------------------------------------------------------------------------- */

VI_INLINE int32_t
vi_quad(const uint8_t *a)
{
	int32_t v;

	memcpy(&v, a, sizeof v);
	return v;
}

#if defined __SSE2__ && !defined __TINYC__

/* Adds the products of pairs of 16 bits. */
#define VI_ADD_PAIRS(sum, a, b) VI_ADD(sum, VI_PAIRS(a, b))

/* Adds the products of quads: by one instruction, or by two, of which the first has room in 16 bits for bytes of x
 * below 128. */
#ifdef VI_DOTS
#define VI_QUADS(sum, a, b) VI_DOTS(sum, a, b)
#elif defined VI_BYTES
#define VI_QUADS(sum, a, b) VI_ADD_PAIRS(sum, VI_BYTES(a, b), VI_EACH(0x10001))
#endif

#ifdef VI_QUADS
VI_INLINE void
vi_add_quads(int rows, int vectors, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, ViV *sum)
{
	for (ptrdiff_t k = 0; k < quads; k++) {
		ViV w[VI_PANELS * VI_VECTORS];

		VI_UNROLL
		for (int j = 0; j < vectors; j++) {
			w[j] = VI_LOAD(b + j / VI_VECTORS * quads * VI_PANEL + k * VI_PANEL +
				       j % VI_VECTORS * (ptrdiff_t)sizeof(ViV));
			__asm__ ("" : "+v"(w[j]));       /* else gcc loads it again for each row */
		}
		VI_UNROLL
		for (int i = 0; i < rows; i++) {
			const ViV x = VI_EACH(vi_quad(a + i * lda + k * VI_QUAD));

			VI_UNROLL
			for (int j = 0; j < vectors; j++)
				sum[i * vectors + j] = VI_QUADS(sum[i * vectors + j], x, w[j]);
		}
	}
}
#endif

#ifndef VI_DOTS
VI_INLINE void
vi_add_pairs(int rows, int vectors, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, ViV *sum)
{
	for (ptrdiff_t k = 0; k < quads; k++) {
		VI_UNROLL
		for (int j = 0; j < vectors; j++) {
			const ViV w = VI_LOAD(b + j / VI_VECTORS * quads * VI_PANEL + k * VI_PANEL +
					      j % VI_VECTORS * (ptrdiff_t)sizeof(ViV));
			const ViV low = VI_LOW_SIGNED(w), high = VI_HIGH_SIGNED(w);

			VI_UNROLL
			for (int i = 0; i < rows; i++) {
				const ViV x = VI_EACH(vi_quad(a + i * lda + k * VI_QUAD));

				sum[i * vectors + j] = VI_ADD_PAIRS(sum[i * vectors + j], VI_LOW_BYTES(x), low);
				sum[i * vectors + j] = VI_ADD_PAIRS(sum[i * vectors + j], VI_HIGH_BYTES(x), high);
			}
		}
	}
}

/* Has a row of x, of n bytes, one of 128 or more?  They are rare where the observer kept a bit free (reduce_range). */
VI_INLINE bool
vi_is_wide(const uint8_t *x, ptrdiff_t n)
{
	__m128i any = _mm_setzero_si128();
	int32_t rest = 0;
	ptrdiff_t i = 0;

	for (; i + 16 <= n; i += 16)
		any = _mm_or_si128(any, _mm_loadu_si128((const __m128i *)(const void *)(x + i)));
	for (; i < n; i += VI_QUAD)
		rest |= vi_quad(x + i);
	return _mm_movemask_epi8(any) || (rest & INT32_C(~0x7f7f7f7f));
}
#endif

/* sum[row][panel] of `quads` quads, in registers; written to `to`, rows VI_PANELS panels apart. */
VI_INLINE void
vi_block(int rows, int panels, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, int32_t *to)
{
	ViV sum[VI_ROWS * VI_PANELS * VI_VECTORS];
	const int vectors = panels * VI_VECTORS;

	VI_UNROLL
	for (int i = 0; i < rows * vectors; i++)
		sum[i] = VI_EACH(0);
#ifdef VI_DOTS
	vi_add_quads(rows, vectors, a, lda, b, quads, sum);
#else
	bool wide = true;

#ifdef VI_QUADS
	wide = false;
	for (int i = 0; i < rows; i++)
		wide |= vi_is_wide(a + i * lda, quads * VI_QUAD);
	if (!wide)
		vi_add_quads(rows, vectors, a, lda, b, quads, sum);
#endif
	if (wide)
		vi_add_pairs(rows, vectors, a, lda, b, quads, sum);
#endif
	VI_UNROLL
	for (int i = 0; i < rows; i++)
		VI_UNROLL
		for (int j = 0; j < vectors; j++)
			memcpy((char *)(to + i * VI_PANELS * VI_COLUMNS) + j * (ptrdiff_t)sizeof(ViV),
			       &sum[i * vectors + j], sizeof(ViV));
}

#elif defined __ARM_NEON && !defined __TINYC__

/* Bytes of x as signed ones. */
VI_INLINE int8x16_t
vi_signed(uint8x16_t x)
{
	return vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(VI_LESS)));
}

#ifdef __ARM_FEATURE_DOTPROD

/* Adds the products of four quads of w by quad `lane` of x. */
VI_INLINE int32x4_t
vi_dots(int32x4_t sum, int8x16_t w, int8x16_t x, int lane)
{
	switch (lane) {
	case 0: return vdotq_laneq_s32(sum, w, x, 0);
	case 1: return vdotq_laneq_s32(sum, w, x, 1);
	case 2: return vdotq_laneq_s32(sum, w, x, 2);
	default: return vdotq_laneq_s32(sum, w, x, 3);
	}
}

/* Quads [k, k + n), n at most 4. */
VI_INLINE void
vi_add_quads(int rows, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t k, int n, int32x4_t *sum)
{
	int8x16_t x[VI_ROWS], next = vld1q_s8(b + k * VI_PANEL);

	VI_UNROLL
	for (int i = 0; i < rows; i++)
		x[i] = vi_signed(n == 4 ? vld1q_u8(a + i * lda + k * VI_QUAD) :
				 vreinterpretq_u8_s32(vdupq_n_s32(vi_quad(a + i * lda + k * VI_QUAD))));
	VI_UNROLL
	for (int j = 0; j < n * VI_VECTORS; j++) {
		const int8x16_t w = next;

		if (j + 1 < n * VI_VECTORS)
			next = vld1q_s8(b + k * VI_PANEL + (j + 1) * (ptrdiff_t)sizeof w);
		VI_UNROLL
		for (int i = 0; i < rows; i++)
			sum[i * VI_VECTORS + j % VI_VECTORS] =
				vi_dots(sum[i * VI_VECTORS + j % VI_VECTORS], w, x[i], j / VI_VECTORS);
	}
}

VI_INLINE int32x4_t
vi_columns_of(const int32x4_t *sum)
{
	return sum[0];
}

enum { VI_STEP = 4 };

#else

VI_INLINE void
vi_add_quads(int rows, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t k, int n, int32x4_t *sum)
{
	(void)n;
	VI_UNROLL
	for (int j = 0; j < VI_VECTORS; j++) {
		const int8x16_t w = vld1q_s8(b + k * VI_PANEL + j * (ptrdiff_t)sizeof w);

		VI_UNROLL
		for (int i = 0; i < rows; i++) {
			const int8x8_t x = vget_low_s8(vi_signed(vreinterpretq_u8_s32(
				vdupq_n_s32(vi_quad(a + i * lda + k * VI_QUAD)))));
			int32x4_t *const to = sum + (i * VI_VECTORS + j) * VI_PARTS;

			to[0] = vpadalq_s16(to[0], vmull_s8(vget_low_s8(w), x));
			to[1] = vpadalq_s16(to[1], vmull_s8(vget_high_s8(w), x));
		}
	}
}

/* Four columns, of which each part has two, in halves. */
VI_INLINE int32x4_t
vi_columns_of(const int32x4_t *sum)
{
	return vcombine_s32(vpadd_s32(vget_low_s32(sum[0]), vget_high_s32(sum[0])),
			    vpadd_s32(vget_low_s32(sum[1]), vget_high_s32(sum[1])));
}

enum { VI_STEP = 1 };

#endif

VI_INLINE void
vi_block(int rows, int panels, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, int32_t *to)
{
	int32x4_t sum[VI_ROWS * VI_VECTORS * VI_PARTS];
	ptrdiff_t k = 0;

	(void)panels;                    /* one */
	VI_UNROLL
	for (int i = 0; i < rows * VI_VECTORS * VI_PARTS; i++)
		sum[i] = vdupq_n_s32(0);
	for (; k + VI_STEP <= quads; k += VI_STEP)
		vi_add_quads(rows, a, lda, b, k, VI_STEP, sum);
	for (; k < quads; k++)
		vi_add_quads(rows, a, lda, b, k, 1, sum);
	VI_UNROLL
	for (int i = 0; i < rows * VI_VECTORS; i++)
		vst1q_s32(to + i * 4, vi_columns_of(sum + i * VI_PARTS));
}

#else

VI_INLINE void
vi_block(int rows, int panels, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, int32_t *to)
{
	for (int i = 0; i < rows; i++)
		for (int p = 0; p < panels; p++) {
			const int8_t *w = b + p * quads * VI_PANEL;
			int32_t *const sum = to + (i * VI_PANELS + p) * VI_COLUMNS;

			for (int j = 0; j < VI_COLUMNS; j++)
				sum[j] = 0;
			for (ptrdiff_t k = 0; k < quads; k++, w += VI_PANEL)
				for (int j = 0; j < VI_COLUMNS; j++)
					for (int q = 0; q < VI_QUAD; q++)
						sum[j] += a[i * lda + k * VI_QUAD + q] * w[j * VI_QUAD + q];
		}
}

#endif

VI_INLINE void
vi_blocks(int rows, int panels, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, int32_t *to)
{
	switch (rows) {
	case 6: vi_block(VI_ROWS >= 6 ? 6 : 1, panels, a, lda, b, quads, to); break;
	case 4: vi_block(VI_ROWS >= 4 ? 4 : 1, panels, a, lda, b, quads, to); break;
	case 2: vi_block(2, panels, a, lda, b, quads, to); break;
	default: vi_block(1, panels, a, lda, b, quads, to);
	}
}

/* The rows of the next block of so many that are left. */
VI_INLINE int
vi_rows(ptrdiff_t left)
{
	return VI_ROWS >= 6 && left >= 6 ? 6 : VI_ROWS >= 4 && left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* ---- what follows a sum ------------------------------------------------------------------------------------------ */

/* 1.5 * 2^23 and its bits: added to a small number, it rounds that to even and leaves the integer in the low bits. */
#define VI_ROUND 12582912.0f
enum { VI_BITS = 0x4b400000 };

/* f between low and high, rounded; zero: that of the result less VI_BITS */
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
/* Eight sums, scaled, between low and high, rounded: as VI_BITS and more */
VI_INLINE __m256i
vi_rounded(__m256i sum, const float *scale, const float *bias, __m256 low, __m256 high)
{
	__m256 f = _mm256_add_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(bias));

	f = _mm256_max_ps(_mm256_mul_ps(f, _mm256_loadu_ps(scale)), low);
	return _mm256_castps_si256(_mm256_add_ps(_mm256_min_ps(f, high), _mm256_set1_ps(VI_ROUND)));
}
#endif

/* n sums to bytes */
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

/* n sums as they are */
VI_INLINE void
vi_store(const int32_t *sum, const int32_t *start, ptrdiff_t n, uint8_t *y)
{
	int32_t r[VI_PANELS * VI_COLUMNS];

	for (ptrdiff_t j = 0; j < n; j++)
		r[j] = sum[j] + start[j];
	memcpy(y, r, (size_t)n * sizeof *r);
}

/* Bytes of an element of the result */
VI_INLINE ptrdiff_t
vi_width(const ViConv *v)
{
	return v->sums ? (ptrdiff_t)sizeof(int32_t) : 1;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

VI_BEGIN
/* Rows a, lda bytes apart and `quads` quads long, by columns [0, n) of the panels b: y, v->ys elements apart. */
VI_SHARED void
vi_product(const ViConv *v, ptrdiff_t m, const uint8_t *a, ptrdiff_t lda, ptrdiff_t quads, const int8_t *b, ptrdiff_t n,
	   const ViWeights *w, uint8_t *y)
{
	int32_t sum[VI_ROWS * VI_PANELS * VI_COLUMNS], start[VI_PANELS * VI_COLUMNS];

	for (ptrdiff_t col = 0; col < n;) {
		const int panels = n - col > (VI_PANELS - 1) * VI_COLUMNS ? VI_PANELS :
				   VI_PANELS > 2 && n - col > VI_COLUMNS ? 2 : 1;
		const ptrdiff_t left = n - col, some = left < panels * VI_COLUMNS ? left : panels * VI_COLUMNS;
		const int8_t *const from = b + col * VI_QUAD * quads;

		for (ptrdiff_t j = 0; j < some; j++)
			start[j] = (v->x_zero - VI_LESS) * w->start[col + j];
		for (ptrdiff_t i = 0; i < m;) {
			const int rows = vi_rows(m - i);

			if (panels > 2)
				vi_blocks(rows, VI_PANELS, a + i * lda, lda, from, quads, sum);
			else if (panels > 1)
				vi_blocks(rows, 2, a + i * lda, lda, from, quads, sum);
			else
				vi_blocks(rows, 1, a + i * lda, lda, from, quads, sum);
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

/* Pixels of the result, and rows of them */
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

/* Bytes of a run, and how many a row of k has. */
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

/* The columns of a group's panels. */
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

/* Depthwise: channels of the weights in quads of taps, and such quads */
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

/* Can rows be read where they are? */
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

/* A run: taps [0, taps) of a row of the image, from column ix on, padded; x is the group's first channel in column 0,
 * or null outside of the image.  Returns where the next one goes. */
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

/* A pixel of the result */
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

/* The row of k of a pixel. */
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

enum { VI_CHUNK = 48 };          /* rows of a unit */

/* Bytes of scratch memory that a unit needs. */
VI_INLINE int64_t
vi_scratch(const ViConv *v)
{
	return vi_lies(v) ? 0 : VI_CHUNK * vi_quads(v) * VI_QUAD;
}

enum { VI_PART = 4 * VI_COLUMNS };

/* Is it worth dividing columns among threads, since rows are few, and are read where they are? */
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

/* Units [begin, end): of a group, some columns of some rows. */
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
		const ViWeights some = { w->panels, w->start + at, v->sums ? NULL : w->scale + at,
					 v->sums ? NULL : w->bias + at };
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
		vi_product(v, rows, from, lda, quads, w->panels + (group * vi_columns(v) + col) * VI_QUAD * quads,
			   v->oc - col < part ? v->oc - col : part, &some,
			   y + (first * v->ys + at) * vi_width(v));
	}
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* How far tap `tap` of weights is from the first one. */
VI_INLINE ptrdiff_t
vi_tap(const ViConv *v, const ptrdiff_t stride[5], ptrdiff_t tap)
{
	return tap / v->kw / v->kh * stride[2] + tap / v->kw % v->kh * stride[3] + tap % v->kw * stride[4];
}

/* Bytes of packed weights. */
VI_INLINE int64_t
vi_packed(const ViConv *v)
{
	return vi_is_depthwise(v) ? vi_window(v) * v->groups + vi_tap_quads(v) * VI_QUAD * vi_padded(v) :
	       v->groups * vi_columns(v) * vi_quads(v) * VI_QUAD;
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

/* A column's whole quads of weights of one tap that lie in a row; their sum. */
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

/* w (groups * oc, ic, kd, kh, kw) with its strides, as above: vi_packed(v) bytes; start, by column. */
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
}

#endif
