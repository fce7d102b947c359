/* rt/ops/blas.c - the last columns of small products of matrices as they are, none transposed, as OpenBLAS has them
 *
 * Its kernel for them takes vectors of 16 columns, and one that is more than half full; what is left are dot products.
 * Measured with 0.3.21 for AVX-512: equal to the last bit.
 */
#include "conv_sums.h"

int
blas_last_columns(RtCx *cx, Product *p)
{
	const int64_t left = last_columns_of(p);
	Product last = *p;
	float *turned;

	if (!left)
		return RT_OK;
	turned = rt_scratch(cx, left * p->k * (int64_t)sizeof *turned);
	if (!turned)
		return RT_ERROR;
	p->n -= left;
	for (int64_t j = 0; j < left; j++)
		for (int64_t k = 0; k < p->k; k++)
			turned[j * p->k + k] = ((const float *)p->b)[k * p->b_row + p->n + j];
	last.n = left;
	last.b = turned;
	last.b_row = 1;
	last.b_col = p->k;
	last.c = (float *)p->c + p->n;
	rt_parallel(cx, left, 1 + 32768 / (p->k * p->m), gemm_dots(cx), &last);
	return RT_OK;
}
