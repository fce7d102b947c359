/* rt/ops/nn_loops.h - softmax of one element type T; N(name) is the function's name for it, EXP its exponential */

/* Columns [begin, end) of (outer, blocks of inner): at most BLOCK neighbours are done together. */
static void
N(softmax_blocks)(void *arg, int64_t begin, int64_t end)
{
	const Softmax *g = arg;
	int64_t blocks = (g->inner + BLOCK - 1) / BLOCK;
	T top[BLOCK], less[BLOCK];
	double sum[BLOCK];

	for (int64_t i = begin; i < end; i++) {
		int64_t first = i % blocks * BLOCK, width = g->inner - first < BLOCK ? g->inner - first : BLOCK;
		const T *x = (const T *)g->x + i / blocks * g->dim * g->inner + first;
		T *y = (T *)g->y + i / blocks * g->dim * g->inner + first;

		for (int64_t j = 0; j < width; j++) {
			top[j] = -INFINITY;
			sum[j] = 0;
		}
		for (int64_t d = 0; d < g->dim; d++)
			for (int64_t j = 0; j < width; j++)
				top[j] = x[d * g->inner + j] > top[j] || isnan(x[d * g->inner + j]) ? x[d * g->inner + j] : top[j];
		for (int64_t d = 0; d < g->dim; d++)
			for (int64_t j = 0; j < width; j++) {
				T e = EXP(x[d * g->inner + j] - top[j]);

				sum[j] += (double)e;
				if (!g->log)
					y[d * g->inner + j] = e;
			}
		for (int64_t j = 0; j < width; j++)
			less[j] = (T)(g->log ? log(sum[j]) : 1 / sum[j]);
		for (int64_t d = 0; d < g->dim; d++)
			for (int64_t j = 0; j < width; j++) {
				int64_t o = d * g->inner + j;

				y[o] = g->log ? x[o] - top[j] - less[j] : y[o] * less[j];
			}
	}
}

#undef T
#undef N
#undef EXP
