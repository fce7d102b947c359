/* rt/ops/gemm.h - products of matrices of the compute types f32, f64, i64, c64, c128 */
#ifndef RT_OPS_GEMM_H
#define RT_OPS_GEMM_H

#include "block.h"

typedef struct Product {
	int64_t m, n, k;
	const void *a, *b;       /* (m, k), (k, n) */
	int64_t a_row, a_col, b_row, b_col;   /* strides in elements, with any values */
	void *c;                 /* (m, n) */
	int64_t ldc;             /* stride of c's rows; 0 for n */
	bool added;              /* whether the product is added to c; otherwise c is overwritten */
} Product;

/* Computes columns [begin, end) of a Product; a body of rt_parallel. */
typedef void ProductBody(void *product, int64_t begin, int64_t end);

int gemm(RtCx *, RtDtype, const Product *);
int gemm_vector_bytes(RtCx *);                 /* returns the width in bytes of the processor's widest vectors */

/* Computes rows [i, i + rows) of C, where rows <= R: a (rows, k) times the panel b (k, 2 vectors) with row stride
 * b_row. Stores `columns` columns. Each `run` products are summed in registers before they are added to the total. */
typedef void Tile(const Product *, int64_t run, int64_t i, int rows, const void *b, void *c, int columns);

enum { DOT_LANES = 16,           /* number of accumulators of a dot product, which are summed in pairs */
       ROW_VECTORS = 8 };        /* number of vectors of B in a tile of one row */

struct RtTiles {
	Tile *f32, *f64;         /* tiles for float and double; null if there are none */
	Tile *row;               /* for floats: one row by a panel of ROW_VECTORS vectors */
	ProductBody *dots;       /* dot products of floats */
	int   bytes, f32_rows, f64_rows;
};

#endif
