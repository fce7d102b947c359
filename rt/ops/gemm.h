/* rt/ops/gemm.h - products of matrices of the compute types f32, f64, i64, c64, c128 */
#ifndef RT_OPS_GEMM_H
#define RT_OPS_GEMM_H

#include "block.h"

/* Computes columns [first, first + count) of B, in rows that are `stride` elements apart. */
typedef void RtGather(const void *of, int64_t first, int64_t count, int64_t stride, void *columns);

typedef struct Product {
	int64_t m, n, k;
	const void *a, *b;       /* (m, k), (k, n) */
	int64_t a_row, a_col, b_row, b_col;   /* strides in elements, with any values */
	void *c;                 /* (m, n) */
	int64_t ldc;             /* stride of c's rows; 0 for n */
	bool added;              /* whether the product is added to c; otherwise c is overwritten */
	/* Computes B from its first argument b. Null if B is in memory. */
	RtGather *gather;
} Product;

int gemm(RtCx *, RtDtype, const Product *);

/* Allows fused multiply-add, as other libraries use it. With -std=c11 gcc contracts no expressions. */
#ifdef __clang__
#define RT_FUSED _Pragma("STDC FP_CONTRACT ON")
#elif defined __GNUC__ && !defined __TINYC__
#define RT_FUSED _Pragma("GCC optimize(\"fp-contract=fast\")")
#else
#define RT_FUSED
#endif

enum { TILE_BYTES = 6 * 64 * 4 };               /* largest size of a block */

/* Computes a block of C by some columns of B, whose rows are `step` elements apart. A's rows are contiguous. */
typedef void RtBlock(const Product *, const void *a, const void *b, int64_t step, void *c, int64_t ldc);
/* Functions for one element type. */
typedef struct RtTile {
	RtBlock *block, *row;    /* row: block of one row; null if the program has none of this type */
	/* packs `left` columns of B to (k, columns); the others are 0 */
	void   (*pack)(const Product *, int64_t left, const void *b, void *to);
	/* computes an element of C; the row of A and the column of B are contiguous */
	void   (*dot)(const Product *, const void *a, const void *b, void *c);
	int      rows, columns;  /* numbers of rows and columns of `block` */
	int      row_columns;    /* number of columns of `row` */
} RtTile;

struct RtTiles {
	RtTile f32, f64;
	int    bytes;            /* number of bytes of a vector */
};

#endif
