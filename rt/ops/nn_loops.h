/* rt/ops/nn_loops.h - softmax for one element type T. N(name) is the name of a function for T. It needs the functions
 * EXPS and SUM (exp_loops.h), LOG, and GREATEST(x, n) of T. GREATEST is the maximum, or NaN if any element is NaN. */

#include "exp_loops.h"

/* Computes rows [begin, end) of g->dim contiguous elements. */
static void
N(softmax_rows)(void *arg, int64_t begin, int64_t end)
{
	const Softmax *g = arg;

	for (int64_t i = begin; i < end; i++) {
		const T *x = (const T *)g->x + i * g->dim;
		T *y = (T *)g->y + i * g->dim, sum;
		const T top = GREATEST(x, g->dim);

		sum = N(exp_row)(x, g->log ? 0 : y, g->dim, top);
		sum = g->log ? LOG(sum) : 1 / sum;
		for (int64_t d = 0; d < g->dim && g->log; d++)
			y[d] = x[d] - top - sum;
		for (int64_t d = 0; d < g->dim && !g->log; d++)
			y[d] *= sum;
	}
}

/* Computes blocks [begin, end) of (outer, blocks of inner). At most BLOCK adjacent columns are computed together. */
static void
N(softmax_blocks)(void *arg, int64_t begin, int64_t end)
{
	const Softmax *g = arg;
	int64_t blocks = (g->inner + BLOCK - 1) / BLOCK;
	T top[BLOCK], sum[BLOCK], e[BLOCK];

	for (int64_t i = begin; i < end; i++) {
		int64_t first = i % blocks * BLOCK, width = g->inner - first < BLOCK ? g->inner - first : BLOCK;
		const T *x = (const T *)g->x + i / blocks * g->dim * g->inner + first;
		T *y = (T *)g->y + i / blocks * g->dim * g->inner + first;

		for (int64_t j = 0; j < width; j++) {
			top[j] = -INFINITY;
			sum[j] = 0;
		}
		for (int64_t d = 0; d < g->dim; d++)
			for (int64_t j = 0; j < width; j++) {
				const T v = x[d * g->inner + j];

				top[j] = ((v > top[j]) | (v != v)) ? v : top[j];
			}
		for (int64_t d = 0; d < g->dim; d++) {
			T *to = g->log ? e : y + d * g->inner;

			for (int64_t j = 0; j < width; j++)
				to[j] = x[d * g->inner + j] - top[j];
			EXPS(to, to, width, 0);
			for (int64_t j = 0; j < width; j++)
				sum[j] += to[j];
		}
		for (int64_t j = 0; j < width; j++)
			sum[j] = g->log ? LOG(sum[j]) : 1 / sum[j];
		for (int64_t d = 0; d < g->dim && g->log; d++)
			for (int64_t j = 0; j < width; j++)
				y[d * g->inner + j] = x[d * g->inner + j] - top[j] - sum[j];
		for (int64_t d = 0; d < g->dim && !g->log; d++)
			for (int64_t j = 0; j < width; j++)
				y[d * g->inner + j] *= sum[j];
	}
}

/* Computes blocks of short rows. Transposes a block so that adjacent elements are of different rows, and transposes the
 * results back. */
static void
N(softmax_short)(void *arg, int64_t begin, int64_t end)
{
	const Softmax *g = arg;
	T turned[SHORT * BLOCK];
	const Softmax columns = { 1, g->dim, BLOCK, turned, turned, g->log };

	memset(turned, 0, sizeof turned);
	for (int64_t i = begin * BLOCK; i < end * BLOCK && i < g->outer; i += BLOCK) {
		const int64_t rows = g->outer - i < BLOCK ? g->outer - i : BLOCK;
		const T *x = (const T *)g->x + i * g->dim;
		T *y = (T *)g->y + i * g->dim;

		for (int64_t j = 0; j < rows; j++)
			for (int64_t d = 0; d < g->dim; d++)
				turned[d * BLOCK + j] = x[j * g->dim + d];
		N(softmax_blocks)((void *)&columns, 0, 1);
		for (int64_t j = 0; j < rows; j++)
			for (int64_t d = 0; d < g->dim; d++)
				y[j * g->dim + d] = turned[d * BLOCK + j];
	}
}

#undef T
#undef N
#undef EXPS
#undef SUM
#undef GREATEST
#undef LOG
