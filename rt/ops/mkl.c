/* rt/ops/mkl.c - products of float matrices that add up as MKL does, by which PyTorch's wheels multiply
 *
 * MKL 2024.2, where processors are not Intel's.  From four rows and twelve columns on it has tiles: runs of 192 products, or two
 * halves of less than two runs.  Below, its kernels are SSE's, which round products: dot products in lanes where B is transposed,
 * else sums in turn, but of columns before a row of the result is at a multiple of 16 bytes.  Measured: equal to the last bit, but
 * where threads share five to eleven rows and in batches of products with vectors that begin elsewhere than at such a multiple.
 */
#include "mkl.h"

#include <string.h>

enum { RUN = 192, LEAST_ROWS = 4, LEAST_COLUMNS = 12, LANES = 4 };

/* Elements up to the first at a multiple of 16 bytes. */
static int64_t
unaligned(const float *a)
{
	return -((intptr_t)a / (int64_t)sizeof *a) & (LANES - 1);
}

LOOPS_BEGIN
static void
add_lanes(float sum[LANES], const float *a, const float *b)
{
	for (int j = 0; j < LANES; j++)
		sum[j] += a[j] * b[j];
}

/* Products of the lanes: the first are lane 0's, in turn; then as many as there are whole steps; the rest join the sum in turn.
 * With two vectors every other four are the second's. */
static float
dot(const float *a, const float *b, int64_t n, int64_t first, int step, bool two)
{
	float sum[2][LANES] = { { 0 } }, all;
	int64_t i = 0, end;

	for (; i < first && i < n; i++)
		sum[0][0] += a[i] * b[i];
	for (end = i + (n - i) / step * step; two && i < end; i += 2 * LANES) {
		add_lanes(sum[0], a + i, b + i);
		add_lanes(sum[1], a + i + LANES, b + i + LANES);
	}
	for (; i < end; i += LANES)
		add_lanes(sum[0], a + i, b + i);
	for (int j = 0; j < LANES; j++)
		sum[0][j] += sum[1][j];
	all = (sum[0][0] + sum[0][2]) + (sum[0][1] + sum[0][3]);
	for (; i < n; i++)
		all += a[i] * b[i];
	return all;
}

/* Columns that are too few for four have steps of eight and two vectors.  The first products are those up to where a row of A is
 * at a multiple of 16 bytes. */
static float
dot_of_row(const Product *p, const float *a, const float *b, int64_t column)
{
	const bool few = column >= p->n / LANES * LANES;

	return dot(a, b, p->k, unaligned(a), few ? 2 * LANES : LANES, few);
}

/* As that, of rows or columns of a matrix by a vector: `at` of n.  The second of those that are too few has one vector. */
static float
dot_of_vector(const float *a, const float *b, int64_t k, int64_t at, int64_t n)
{
	const bool few = at >= n / LANES * LANES;

	return dot(a, b, k, few ? LANES : (k - 1) % LANES + 1, few ? 2 * LANES : LANES, few && at % LANES != 1);
}

static void
dots(void *arg, int64_t begin, int64_t end)
{
	const Product *p = arg;

	for (int64_t j = begin; j < end; j++)
		for (int64_t i = 0; i < p->m; i++) {
			const float *a = (const float *)p->a + i * p->a_row, *b = (const float *)p->b + j * p->b_col;
			float *c = (float *)p->c + i * p->ldc + j;

			*c = (p->with ? *c : 0) + (p->n == 1 ? dot_of_vector(a, b, p->k, i, p->m) : p->m == 1 ? dot_of_vector(a, b, p->k, j, p->n) :
				dot_of_row(p, a, b, j));
		}
}

/* Of eight products four are added in turn, four as their sum. */
static float
add_fours(float c, const float *a, const float *b, int64_t step, int64_t n)
{
	int64_t k = 0;

	for (; k + 2 * LANES <= n; k += 2 * LANES) {
		float sum = 0;

		for (int64_t i = k; i < k + LANES; i++)
			c += a[i] * b[i * step];
		for (int64_t i = k + LANES; i < k + 2 * LANES; i++)
			sum += a[i] * b[i * step];
		c += sum;
	}
	for (; k < n; k++)
		c += a[k] * b[k * step];
	return c;
}

static void
in_turn(void *arg, int64_t begin, int64_t end)
{
	const Product *p = arg;

	for (int64_t i = 0; i < p->m; i++) {
		const float *a = (const float *)p->a + i * p->a_row;
		float *restrict c = (float *)p->c + i * p->ldc;
		int64_t j = begin;

		if (!p->with)
			memset(c + begin, 0, sizeof *c * (size_t)(end - begin));
		for (; j < end && j < unaligned(c); j++)
			c[j] = add_fours(c[j], a, (const float *)p->b + j, p->b_row, p->k);
		for (int64_t k = 0; k < p->k; k++) {
			const float *b = (const float *)p->b + k * p->b_row;

			for (int64_t l = j; l < end; l++)
				c[l] += a[k] * b[l];
		}
	}
}
LOOPS_END

static bool
mkl_runs(Product *p)
{
	const bool tiles = (p->m >= LEAST_ROWS && p->n >= LEAST_COLUMNS) || p->a_col != 1 || (p->b_row != 1 && p->b_col != 1) || !p->k;

	if (tiles)
		p->run = p->k > RUN && p->k < 2 * RUN ? p->k / 2 : RUN;
	return tiles;
}

static bool
mkl_product(RtCx *cx, Product *p)
{
	if (cx->torch != RT_TORCH_2 || cx->other_run || p->run || p->with == C_BEGUN || mkl_runs(p))
		return false;
	rt_parallel(cx, p->n, 1 + 32768 / (p->k * p->m), p->b_row == 1 ? dots : in_turn, p);
	return true;
}

const RtMkl rt_mkl_all = { mkl_product, mkl_runs, vml_loop };
