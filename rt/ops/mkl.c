/* rt/ops/mkl.c - products of float matrices that add up as MKL does, by which PyTorch's wheels multiply
 *
 * MKL 2024.2, where processors are not Intel's.  From four rows and twelve columns on it has tiles: runs of 192 products, or two
 * halves of less than two runs.  Below, its kernels are SSE's, which round products: dot products in lanes where B is transposed,
 * else one sum, in turn.  Measured: equal to the last bit, but where threads share five to eleven rows and where B is not
 * transposed and has columns that are too few for four.
 */
#include "gemm.h"

#include <string.h>

enum { RUN = 192, LEAST_ROWS = 4, LEAST_COLUMNS = 12, LANES = 4 };

LOOPS_BEGIN
/* The first products are lane 0's, in turn; the last are too few for the lanes. */
static float
dot(const float *a, const float *b, int64_t n, int64_t first, bool two)
{
	float sum[2][LANES] = { { 0 } }, all;
	int64_t i = 0;

	for (; i < first && i < n; i++)
		sum[0][0] += a[i] * b[i];
	for (; i + LANES * (1 + two) <= n; i += LANES) {
		for (int j = 0; j < LANES; j++)
			sum[0][j] += a[i + j] * b[i + j];
		if (two)
			for (int j = 0; j < LANES; j++)
				sum[1][j] += a[i + LANES + j] * b[i + LANES + j];
		i += two ? LANES : 0;
	}
	for (int j = 0; j < LANES; j++)
		sum[0][j] += sum[1][j];
	all = (sum[0][0] + sum[0][2]) + (sum[0][1] + sum[0][3]);
	for (; i < n; i++)
		all += a[i] * b[i];
	return all;
}

/* Vectors begin where a row of A is at a multiple of 16 bytes, but for products with a vector.  Columns that are too few for four
 * have two vectors. */
static void
dots(void *arg, int64_t begin, int64_t end)
{
	const Product *p = arg;

	for (int64_t j = begin; j < end; j++)
		for (int64_t i = 0; i < p->m; i++) {
			const float *a = (const float *)p->a + i * p->a_row;
			float *c = (float *)p->c + i * p->ldc + j;
			const bool two = p->n == 1 ? i >= p->m / 4 * 4 : j >= p->n / 4 * 4;
			const int64_t first = p->m > 1 && p->n > 1 ? -((intptr_t)a / 4) & 3 : two ? LANES : (p->k - 1) % LANES + 1;

			*c = (p->with ? *c : 0) + dot(a, (const float *)p->b + j * p->b_col, p->k, first, two);
		}
}

static void
in_turn(void *arg, int64_t begin, int64_t end)
{
	const Product *p = arg;

	for (int64_t i = 0; i < p->m; i++) {
		float *restrict c = (float *)p->c + i * p->ldc;

		if (!p->with)
			memset(c + begin, 0, sizeof *c * (size_t)(end - begin));
		for (int64_t k = 0; k < p->k; k++) {
			const float v = ((const float *)p->a)[i * p->a_row + k], *b = (const float *)p->b + k * p->b_row;

			for (int64_t j = begin; j < end; j++)
				c[j] += v * b[j];
		}
	}
}
LOOPS_END

bool
rt_mkl_product(RtCx *cx, Product *p)
{
	const bool turned = p->b_row == 1;

	if (cx->torch != RT_TORCH_2 || cx->other_run || p->run || p->with == C_BEGUN)
		return false;
	if ((p->m >= LEAST_ROWS && p->n >= LEAST_COLUMNS) || p->a_col != 1 || (!turned && p->b_col != 1) || !p->k) {
		p->run = p->k > RUN && p->k < 2 * RUN ? p->k / 2 : RUN;
		return false;
	}
	rt_parallel(cx, p->n, 1 + 32768 / (p->k * p->m), turned ? dots : in_turn, p);
	return true;
}
