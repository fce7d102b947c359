/* rt/ops/dense_loops.h - the inner loops of dense.c for one element type T; N(name) is the function's name for it */

/* rows of c (count <= ROWS, width <= PANEL) += rows of a times the panel of b that begins at column j */
static void
N(gemm_block)(const Gemm *g, int64_t i, int64_t count, int64_t j, int64_t width)
{
	T acc[ROWS][PANEL];
	const T *a = (const T *)g->a + i * g->a_row, *b = (const T *)g->b + j;
	T *c = (T *)g->c + i * g->ldc + j;

	for (int64_t r = 0; r < ROWS; r++)
		for (int64_t x = 0; x < width; x++)
			acc[r][x] = g->add && r < count ? c[r * g->ldc + x] : 0;
	for (int64_t p = 0; p < g->k; p++) {
		const T *row = b + p * g->b_row;
		T a0 = a[p * g->a_col], a1 = count > 1 ? a[g->a_row + p * g->a_col] : 0;
		T a2 = count > 2 ? a[2 * g->a_row + p * g->a_col] : 0, a3 = count > 3 ? a[3 * g->a_row + p * g->a_col] : 0;
		int64_t x = 0;

		for (; x + 8 <= width; x += 8)
			for (int64_t y = x; y < x + 8; y++) {
				T v = row[y];
				acc[0][y] += a0 * v;
				acc[1][y] += a1 * v;
				acc[2][y] += a2 * v;
				acc[3][y] += a3 * v;
			}
		for (; x < width; x++) {
			acc[0][x] += a0 * row[x];
			acc[1][x] += a1 * row[x];
			acc[2][x] += a2 * row[x];
			acc[3][x] += a3 * row[x];
		}
	}
	for (int64_t r = 0; r < count; r++)
		memcpy(c + r * g->ldc, acc[r], (size_t)width * sizeof(T));
}

static void
N(gemm_blocks)(void *arg, int64_t begin, int64_t end)
{
	const Gemm *g = arg;
	int64_t strips = (g->m + ROWS - 1) / ROWS;

	for (int64_t t = begin; t < end; t++) {
		int64_t i = t % strips * ROWS, j = t / strips * PANEL;

		N(gemm_block)(g, i, g->m - i < ROWS ? g->m - i : ROWS, j, g->n - j < PANEL ? g->n - j : PANEL);
	}
}

#undef T
#undef N
