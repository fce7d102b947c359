/* rt/ops/vint8_block.h - sums of products of 8-bit integers in registers: rows of bytes by panels of columns
 *
 * Rows of x are unsigned bytes, a multiple of QUAD of them. Weights are panels of COLUMNS output channels,
 * [panel][quad][COLUMNS][QUAD]. One instruction of AVX512-VNNI, or of ARM's dot product, multiplies a quad of each
 * column. Without these, pmaddubsw and pmaddwd are used if no pair of products exceeds 16 bits. Otherwise two
 * instructions multiply pairs of 16-bit numbers, or, on NEON, bytes. NEON's bytes are signed, so 128 is subtracted from
 * activations in registers.
 *
 * No pair exceeds 16 bits if activations are below 128, or if the positive weights of each pair add up to at most 128
 * and the negative ones to at least -128. Quads of a panel with any other pair are heavy. Behind all panels, each panel
 * has a bit for each quad, in words of 64, that is set for heavy quads. */
#ifndef RT_OPS_VINT8_BLOCK_H
#define RT_OPS_VINT8_BLOCK_H

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

/* Between VI_BEGIN and VI_END, gcc keeps the instructions of a register block in the order of the source. Rescheduled,
 * the block does not fit in the registers. */
#if defined __ARM_FEATURE_DOTPROD && defined __GNUC__ && !defined __clang__
#define VI_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-schedule-insns\")")
#define VI_END _Pragma("GCC pop_options")
#else
#define VI_BEGIN
#define VI_END
#endif

enum {
	VI_COLUMNS = 16, VI_QUAD = 4, VI_PANEL = VI_COLUMNS * VI_QUAD,
	VI_MOST = 1 << 16,       /* largest number of products in a sum */
#if defined __ARM_NEON && !defined __TINYC__
	VI_LESS = 128,           /* offset subtracted from activations in sums */
#else
	VI_LESS = 0,
#endif
};

/* A register block: VI_ROWS rows of x by VI_PANELS panels, each of VI_VECTORS vectors. */
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
#define VI_SUMS(a) VI_PAIRS(a, VI_EACH(0x10001))
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
#define VI_SUMS(a) vi_pair_sums(a)
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
#define VI_SUMS(a) VI_PAIRS(a, VI_EACH(0x10001))
#endif
#elif defined __ARM_FEATURE_DOTPROD && !defined __TINYC__
enum { VI_ROWS = 4, VI_PANELS = 1, VI_VECTORS = 4, VI_PARTS = 1 };
#elif defined __ARM_NEON && !defined __TINYC__
enum { VI_ROWS = 2, VI_PANELS = 1, VI_VECTORS = 4, VI_PARTS = 2 };
#else
enum { VI_ROWS = 4, VI_PANELS = 1 };
#endif

enum { VI_WORD = 8 };            /* number of bytes of a word of heavy bits */

/* Returns the number of bytes of a panel's heavy bits. */
VI_INLINE ptrdiff_t
vi_bits(ptrdiff_t quads)
{
	return (quads + 63) / 64 * VI_WORD;
}

/* Returns the heavy bits of the panel that begins at column col. `columns` is the number of columns in all groups'
 * panels. */
VI_INLINE const int8_t *
vi_heavy(const int8_t *panels, ptrdiff_t columns, ptrdiff_t quads, ptrdiff_t col)
{
	return panels + columns * quads * VI_QUAD + col / VI_COLUMNS * vi_bits(quads);
}

/* ---- sums in registers ------------------------------------------------------------------------------------------- */

VI_INLINE int32_t
vi_quad(const uint8_t *a)
{
	int32_t v;

	memcpy(&v, a, sizeof v);
	return v;
}

#if defined __SSE2__ && !defined __TINYC__

/* Adds the products of pairs of 16-bit numbers. */
#define VI_ADD_PAIRS(sum, a, b) VI_ADD(sum, VI_PAIRS(a, b))

/* Adds the products of quads. Uses one instruction, or two, of which the first has 16 bits for each sum of two
 * products. */
#ifdef VI_DOTS
#define VI_QUADS(sum, a, b) VI_DOTS(sum, a, b)
#elif defined VI_BYTES
#define VI_QUADS(sum, a, b) VI_ADD(sum, VI_SUMS(VI_BYTES(a, b)))
#endif

#if defined __AVX2__ && !defined __AVX512BW__
/* Adds up pairs of 16-bit numbers. The vector of ones is in memory, because a block fills all 16 registers. */
VI_INLINE ViV
vi_pair_sums(ViV a)
{
	static const int16_t one[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

	__asm__ ("vpmaddwd %1, %0, %0" : "+x"(a) : "m"(one));
	return a;
}
#endif

#ifdef VI_QUADS
/* Adds the products of a quad of some rows of x. b is the quad of the first panel; panels are `pitch` bytes apart. */
VI_INLINE void
vi_add_quad(int rows, int vectors, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t pitch, ViV *sum)
{
	ViV w[VI_PANELS * VI_VECTORS];

	VI_UNROLL
	for (int j = 0; j < vectors; j++) {
		w[j] = VI_LOAD(b + j / VI_VECTORS * pitch + j % VI_VECTORS * (ptrdiff_t)sizeof(ViV));
		__asm__ ("" : "+v"(w[j]));       /* keeps gcc from loading it again for each row */
	}
	VI_UNROLL
	for (int i = 0; i < rows; i++) {
		const ViV x = VI_EACH(vi_quad(a + i * lda));

		VI_UNROLL
		for (int j = 0; j < vectors; j++)
			sum[i * vectors + j] = VI_QUADS(sum[i * vectors + j], x, w[j]);
	}
}
#endif

#ifndef VI_DOTS
/* Adds the same products as products of 16-bit numbers. */
VI_INLINE void
vi_add_pairs(int rows, int vectors, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t pitch, ViV *sum)
{
	VI_UNROLL
	for (int j = 0; j < vectors; j++) {
		const ViV w = VI_LOAD(b + j / VI_VECTORS * pitch + j % VI_VECTORS * (ptrdiff_t)sizeof(ViV));
		const ViV low = VI_LOW_SIGNED(w), high = VI_HIGH_SIGNED(w);

		VI_UNROLL
		for (int i = 0; i < rows; i++) {
			const ViV x = VI_EACH(vi_quad(a + i * lda));

			sum[i * vectors + j] = VI_ADD_PAIRS(sum[i * vectors + j], VI_LOW_BYTES(x), low);
			sum[i * vectors + j] = VI_ADD_PAIRS(sum[i * vectors + j], VI_HIGH_BYTES(x), high);
		}
	}
}
#endif

#if defined VI_QUADS && !defined VI_DOTS
/* Adds all quads. Quads that are heavy in one of the panels use products of 16-bit numbers. */
VI_INLINE void
vi_add_mixed(int rows, int vectors, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads,
	     const int8_t *heavy, ViV *sum)
{
	for (ptrdiff_t k = 0; k < quads; k += 64) {
		const uint64_t all = ~(uint64_t)0 >> (quads - k < 64 ? 64 - (quads - k) : 0);
		uint64_t pairs = 0, bits;

		for (int j = 0; j < vectors / VI_VECTORS; j++) {
			memcpy(&bits, heavy + j * vi_bits(quads) + k / 64 * VI_WORD, sizeof bits);
			pairs |= bits;
		}
		for (bits = all & pairs; bits; bits &= bits - 1) {
			const ptrdiff_t i = k + __builtin_ctzll(bits);

			vi_add_pairs(rows, vectors, a + i * VI_QUAD, lda, b + i * VI_PANEL, quads * VI_PANEL, sum);
		}
		for (bits = all & ~pairs; bits; bits &= bits - 1) {
			const ptrdiff_t i = k + __builtin_ctzll(bits);

			vi_add_quad(rows, vectors, a + i * VI_QUAD, lda, b + i * VI_PANEL, quads * VI_PANEL, sum);
		}
	}
}
#endif

VI_INLINE void
vi_zero(int n, ViV *sum)
{
	VI_UNROLL
	for (int i = 0; i < n; i++)
		sum[i] = VI_EACH(0);
}

VI_INLINE void
vi_write(int rows, int vectors, const ViV *sum, int32_t *to)
{
	VI_UNROLL
	for (int i = 0; i < rows; i++)
		VI_UNROLL
		for (int j = 0; j < vectors; j++)
			memcpy((char *)(to + i * VI_PANELS * VI_COLUMNS) + j * (ptrdiff_t)sizeof(ViV),
			       &sum[i * vectors + j], sizeof(ViV));
}

/* Computes sum[row][panel] of `quads` quads in registers, and stores it in `to`, with rows VI_PANELS panels apart.
 * heavy: the first panel's bits if a row may have bytes of 128 or more; otherwise null. Each branch has its own
 * accumulators, because gcc would keep shared ones in memory. */
VI_INLINE void
vi_block(int rows, int panels, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, const int8_t *heavy,
	 int32_t *to)
{
	ViV sum[VI_ROWS * VI_PANELS * VI_VECTORS];
	const int vectors = panels * VI_VECTORS;

#if defined VI_QUADS && !defined VI_DOTS
	if (heavy) {
		ViV mixed[VI_ROWS * VI_PANELS * VI_VECTORS];

		vi_zero(rows * vectors, mixed);
		vi_add_mixed(rows, vectors, a, lda, b, quads, heavy, mixed);
		vi_write(rows, vectors, mixed, to);
		return;
	}
#endif
	(void)heavy;
	vi_zero(rows * vectors, sum);
	for (ptrdiff_t k = 0; k < quads; k++)
#ifdef VI_QUADS
		vi_add_quad(rows, vectors, a + k * VI_QUAD, lda, b + k * VI_PANEL, quads * VI_PANEL, sum);
#else
		vi_add_pairs(rows, vectors, a + k * VI_QUAD, lda, b + k * VI_PANEL, quads * VI_PANEL, sum);
#endif
	vi_write(rows, vectors, sum, to);
}

#elif defined __ARM_NEON && !defined __TINYC__

/* Converts bytes of x to signed bytes by subtracting 128. */
VI_INLINE int8x16_t
vi_signed(uint8x16_t x)
{
	return vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(VI_LESS)));
}

#ifdef __ARM_FEATURE_DOTPROD

/* Adds the products of four quads of w with quad `lane` of x. */
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

/* Adds quads [k, k + n), where n is at most 4. */
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

/* Adds up the two halves of each column's sums, for four columns. */
VI_INLINE int32x4_t
vi_columns_of(const int32x4_t *sum)
{
	return vcombine_s32(vpadd_s32(vget_low_s32(sum[0]), vget_high_s32(sum[0])),
			    vpadd_s32(vget_low_s32(sum[1]), vget_high_s32(sum[1])));
}

enum { VI_STEP = 1 };

#endif

VI_INLINE void
vi_block(int rows, int panels, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, const int8_t *heavy,
	 int32_t *to)
{
	int32x4_t sum[VI_ROWS * VI_VECTORS * VI_PARTS];
	ptrdiff_t k = 0;

	(void)panels;                    /* VI_PANELS is 1 */
	(void)heavy;
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
vi_block(int rows, int panels, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, const int8_t *heavy,
	 int32_t *to)
{
	(void)heavy;
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
vi_blocks(int rows, int panels, const uint8_t *a, ptrdiff_t lda, const int8_t *b, ptrdiff_t quads, const int8_t *heavy,
	  int32_t *to)
{
	switch (rows) {
	case 6: vi_block(VI_ROWS >= 6 ? 6 : 1, panels, a, lda, b, quads, heavy, to); break;
	case 4: vi_block(VI_ROWS >= 4 ? 4 : 1, panels, a, lda, b, quads, heavy, to); break;
	case 2: vi_block(2, panels, a, lda, b, quads, heavy, to); break;
	default: vi_block(1, panels, a, lda, b, quads, heavy, to);
	}
}

/* Returns the number of rows of the next block, if `left` rows are left. */
VI_INLINE int
vi_rows(ptrdiff_t left)
{
	return VI_ROWS >= 6 && left >= 6 ? 6 : VI_ROWS >= 4 && left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

#if defined VI_QUADS && !defined VI_DOTS
/* Returns a bit mask of those of the m <= 64 rows, n bytes long, that have a byte of 128 or more. Few have one if the
 * observer kept a bit free (reduce_range). */
VI_INLINE uint64_t
vi_wide_rows(ptrdiff_t m, const uint8_t *x, ptrdiff_t lda, ptrdiff_t n)
{
	uint64_t wide = 0;

	for (ptrdiff_t r = 0; r < m; r++, x += lda) {
		__m128i any = _mm_setzero_si128();
		int32_t rest = 0;
		ptrdiff_t i = 0;

		for (; i + 16 <= n; i += 16)
			any = _mm_or_si128(any, _mm_loadu_si128((const __m128i *)(const void *)(x + i)));
		for (; i < n; i += VI_QUAD)
			rest |= vi_quad(x + i);
		wide |= (uint64_t)(_mm_movemask_epi8(any) || (rest & INT32_C(~0x7f7f7f7f))) << r;
	}
	return wide;
}
#else
VI_INLINE uint64_t
vi_wide_rows(ptrdiff_t m, const uint8_t *x, ptrdiff_t lda, ptrdiff_t n)
{
	(void)m, (void)x, (void)lda, (void)n;    /* no instruction depends on bytes of 128 and more */
	return 0;
}
#endif

#endif
