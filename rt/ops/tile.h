/* rt/ops/tile.h - a tile of C in registers: rows of A by a panel of B that is two vectors wide
 *
 * tile16.c, tile32.c and tile64.c are this for vectors of so many bytes; which of them a program has: rt/ops/parts.c.
 */
#ifndef RT_OPS_TILE_H
#define RT_OPS_TILE_H

#include "gemm.h"

#include <string.h>

/* Products summed before they join the rest: long sums in one go would round away more than those of other libraries do.
 * Of 256, convolutions were a fifth farther from doubles than PyTorch's; these cost 3 % of a product's time. */
enum { TILE_RUN = 64 };

#define UNROLL _Pragma("GCC unroll 16")
#define TILE(attribute, T, BYTES, R) \
	attribute static void \
	tile_##T(int rows, int64_t k, const void *a_, int64_t a_row, const void *b_, void *c_, int64_t ldc, int columns) \
	{ \
		typedef T V __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias)); \
		enum { W = BYTES / sizeof(T) }; \
		const T *a[R], *b = b_; \
		T *c = c_; \
		V sum[R][2], all[R][2]; \
		UNROLL for (int i = 0; i < R; i++) { \
			all[i][0] = all[i][1] = (V){ 0 }; \
			a[i] = (const T *)a_ + (i < rows ? i : 0) * a_row; \
		} \
		for (int64_t p = 0; p < k;) { \
			const int64_t stop = k - p < TILE_RUN ? k : p + TILE_RUN; \
			UNROLL for (int i = 0; i < R; i++) \
				sum[i][0] = sum[i][1] = (V){ 0 }; \
			for (; p < stop; p++, b += 2 * W) { \
				V b0 = *(const V *)b, b1 = *(const V *)(b + W); \
				UNROLL for (int i = 0; i < R; i++) { \
					V v = a[i][p] - (V){ 0 }; \
					sum[i][0] += v * b0; \
					sum[i][1] += v * b1; \
				} \
			} \
			for (int i = 0; i < R; i++) { \
				all[i][0] += sum[i][0]; \
				all[i][1] += sum[i][1]; \
			} \
		} \
		if (rows == R && columns == 2 * W) { \
			UNROLL for (int i = 0; i < R; i++, c += ldc) { \
				*(V *)c = all[i][0]; \
				*(V *)(c + W) = all[i][1]; \
			} \
			return; \
		} \
		for (int i = 0; i < rows; i++, c += ldc) \
			memcpy(c, all[i], sizeof(T) * columns); \
	}

#endif
