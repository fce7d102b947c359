/* rt/ops/gemm.h - products of matrices of the compute types f32, f64, i64, c64, c128 */
#ifndef RT_OPS_GEMM_H
#define RT_OPS_GEMM_H

#include "block.h"

typedef struct Product {
	int64_t m, n, k;
	const void *a, *b;       /* (m, k), (k, n) */
	int64_t a_row, a_col, b_row, b_col;   /* strides in elements, any */
	void *c;                 /* (m, n) */
	int64_t ldc;             /* between its rows; 0: n */
	bool added;              /* to c; else it is overwritten */
} Product;

/* Columns [begin, end) of a Product, for rt_parallel. */
typedef void ProductBody(void *product, int64_t begin, int64_t end);

int gemm(RtCx *, RtDtype, const Product *);
int gemm_vector_bytes(RtCx *);                 /* of the widest vectors that the host has */

/* rows <= R rows of C from row i on: c = a (rows, k) times the panel b (k, 2 vectors), b_row apart, `columns` of which
 * are there; `run` products are summed in registers before they join the rest. */
typedef void Tile(const Product *, int64_t run, int64_t i, int rows, const void *b, void *c, int columns);

enum { DOT_LANES = 16,           /* of a dot product; they are summed in pairs */
       ROW_VECTORS = 8 };        /* of B that one row is multiplied by at a time */

struct RtTiles {
	Tile *f32, *f64;         /* null: not here */
	Tile *row;               /* of floats: one row by a panel of ROW_VECTORS */
	ProductBody *dots;       /* of floats */
	int   bytes, f32_rows, f64_rows;
};

#endif
