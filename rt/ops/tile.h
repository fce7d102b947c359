/* rt/ops/tile.h - a tile of C in registers: R rows of A by a panel of B of N vectors
 *
 * N is two, or 8 for a tile of one row. tile16.c, tile32.c and tile64.c instantiate the tile for vectors of 16, 32 and
 * 64 bytes. rt/ops/parts.c lists them. */
#ifndef RT_OPS_TILE_H
#define RT_OPS_TILE_H

#include "gemm.h"

#include <string.h>

/* Allows fused multiply-add, as other libraries use it. With -std=c11 gcc contracts no expressions. */
#ifdef __clang__
#define TILE_UNROLL _Pragma("clang loop unroll(full)")
#define TILE_FUSED _Pragma("STDC FP_CONTRACT ON")
#else
#define TILE_UNROLL _Pragma("GCC unroll 16")
#define TILE_FUSED _Pragma("GCC optimize(\"fp-contract=fast\")")
#endif
#define TILE(attribute, name, T, BYTES, R, N) \
	attribute static void \
	name(const Product *q, int64_t run, int64_t row, int rows, const void *b_, void *c_, int columns) \
	{ \
		typedef T V __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias)); \
		enum { W = BYTES / sizeof(T) }; \
		const T *a[R], *b = b_; \
		T *c = c_; \
		V sum[R][N], all[R][N]; \
		memset(all, 0, sizeof all); \
		for (int i = 0; i < rows && q->added; i++) \
			memcpy(all[i], c + i * q->ldc, sizeof(T) * columns); \
		TILE_UNROLL for (int i = 0; i < R; i++) { \
			TILE_UNROLL for (int v = 0; v < N; v++) \
				sum[i][v] = (V){ 0 }; \
			a[i] = (const T *)q->a + (row + (i < rows ? i : 0)) * q->a_row; \
		} \
		for (int64_t p = 0; p < q->k;) { \
			const int64_t stop = q->k - p < run ? q->k : p + run; \
			for (; p < stop; p++, b += q->b_row) { \
				V of[N]; \
				TILE_UNROLL for (int v = 0; v < N; v++) \
					of[v] = *(const V *)(b + v * W); \
				TILE_UNROLL for (int i = 0; i < R; i++) { \
					V by = a[i][p] - (V){ 0 }; \
					TILE_UNROLL for (int v = 0; v < N; v++) \
						sum[i][v] += by * of[v]; \
				} \
			} \
			TILE_UNROLL for (int i = 0; i < R; i++) \
				TILE_UNROLL for (int v = 0; v < N; v++) { \
					all[i][v] += sum[i][v]; \
					sum[i][v] = (V){ 0 }; \
				} \
		} \
		for (int i = 0; i < rows; i++, c += q->ldc) \
			memcpy(c, all[i], sizeof(T) * columns); \
	}

/* SUM computes a b + c, rounded once. */
#define SUM_FUSED(a, b, c) __builtin_fmaf(a, b, c)
#define SUM_DOUBLE(a, b, c) (float)((double)(a) * (double)(b) + (double)(c))
#define TILE_DOTS(attribute, SUM) \
	attribute static void \
	tile_dots(void *arg, int64_t begin, int64_t end) \
	{ \
		const Product *p = arg; \
		for (int64_t at = begin * p->m; at < end * p->m; at++) { \
			const int64_t j = at / p->m, i = at % p->m; \
			const float *a = (const float *)p->a + i * p->a_row, *b = (const float *)p->b + j * p->b_col; \
			float sum[DOT_LANES] = { 0 }, *c = (float *)p->c + i * p->ldc + j; \
			int64_t k = 0; \
			for (; k + DOT_LANES <= p->k; k += DOT_LANES) \
				for (int l = 0; l < DOT_LANES; l++) \
					sum[l] = SUM(a[k + l], b[k + l], sum[l]); \
			for (; k < p->k; k++) \
				sum[k % DOT_LANES] = SUM(a[k], b[k], sum[k % DOT_LANES]); \
			for (int width = DOT_LANES / 2; width; width /= 2) \
				for (int l = 0; l < width; l++) \
					sum[l] += sum[l + width]; \
			*c = (p->added ? *c : 0) + sum[0]; \
		} \
	}

#endif
