/* rt/ops/gemm.h - products of matrices of the compute types f32, f64, i64, c64, c128 */
#ifndef RT_OPS_GEMM_H
#define RT_OPS_GEMM_H

#include "block.h"

typedef struct Product {
	int64_t m, n, k;
	const void *a, *b;       /* (m, k), (k, n) */
	int64_t a_row, a_col, b_row, b_col;   /* strides in elements, any */
	void *c;                 /* (m, n), rows n apart, overwritten */
} Product;

int gemm(RtCx *, RtDtype, const Product *);

#endif
