/* rt/ops/mkl.c - products of float matrices that add up as MKL does, by which PyTorch's wheels multiply
 *
 * MKL 2024.2 on two threads.  Orders are read off sums in which all products but two that cancel are one (Xie et al., "FPRev:
 * revealing floating-point summation orders", 2025), and checked by results: equal to the last bit, but for what is named here.
 */
#include "mkl.h"
#include "tile.h"

#include <string.h>

/* ---- processors that are not Intel's ---------------------------------------------------------------------------------
 *
 * From four rows and twelve columns on it has tiles: runs of 192 products, or two halves of less than two runs.  Below, its
 * kernels are SSE's, which round products: dot products in lanes where B is transposed, else sums in turn, but of columns before
 * a row of the result is at a multiple of 16 bytes.  Others: where threads share five to eleven rows, and in batches of products
 * with vectors that begin elsewhere than at such a multiple. */

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
amd_runs(Product *p)
{
	const bool tiles = (p->m >= LEAST_ROWS && p->n >= LEAST_COLUMNS) || p->a_col != 1 || (p->b_row != 1 && p->b_col != 1) || !p->k;

	if (tiles)
		p->run = p->k > RUN && p->k < 2 * RUN ? p->k / 2 : RUN;
	return tiles;
}

/* ---- Intel's: kernels for AVX-512, all of whose steps are fused ------------------------------------------------------------
 *
 * A vector by a matrix is dot products, or, where B's rows are the vectors, eight of these at a time; two to fifteen rows by a
 * transposed matrix are lanes of dot products while they are worth it; all else are tiles.  Threads divide the products of long
 * sums of few elements.  Others: some of a vector's last dot products, which are not four. */

enum {
	WIDE = 16, VECTORS = 4,                                 /* floats of a vector; dot products at a time */
	INTEL_RUN = 384, WIDE_COLUMNS = 192,                    /* a tile's products; columns from which on what is left is not halved */
	LANE_ROWS = 16, LANE_STEPS = 24, LANE_PERIOD = 256, LANE_WORK = 196608,
	SPLIT = 8, SPLIT_ROWS = 256, SPLIT_COLUMNS = 1024       /* times as long as wide; of a vector by a matrix */
};

typedef struct Intel {
	ProductBody *vectors, *rows, *lanes;
} Intel;

static float
halved(float *lane)
{
	for (int width = WIDE / 2; width; width /= 2)
		for (int j = 0; j < width; j++)
			lane[j] += lane[j + width];
	return lane[0];
}

static float
quartered(const float *lane)
{
	float sum[LANES];

	for (int j = 0; j < LANES; j++)
		sum[j] = ((lane[j] + lane[j + LANES]) + lane[j + 2 * LANES]) + lane[j + 3 * LANES];
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* dot: four at a time are their first products, then whole vectors whose first lane begins with those, then what is left, likewise; the
 * last few are the lanes of all others, and the first.  row: of columns that fill vectors, else in turn.  lanes: see quartered. */
#define INTEL(attribute, name, SUM) \
	attribute static float \
	name##_dot(int64_t n, const float *a, const float *b, int64_t step, bool four) \
	{ \
		float lane[WIDE] = { 0 }, rest[WIDE] = { 0 }, first = a[0] * b[0]; \
		int64_t k = 1; \
		if (four) \
			lane[0] = first; \
		for (; k + WIDE <= n; k += WIDE) \
			if (step == 1) \
				for (int l = 0; l < WIDE; l++) \
					lane[l] = SUM(a[k + l], b[k + l], lane[l]); \
			else \
				for (int l = 0; l < WIDE; l++) \
					lane[l] = SUM(a[k + l], b[(k + l) * step], lane[l]); \
		if (four) \
			rest[0] = halved(lane); \
		for (float *to = four ? rest : lane; k < n; k++, to++) \
			*to = SUM(a[k], b[k * step], *to); \
		return four ? halved(rest) : first + halved(lane); \
	} \
	attribute static void \
	name##_vectors(void *arg, int64_t begin, int64_t end) \
	{ \
		const Product *p = arg; \
		const bool column = p->n == 1; \
		const int64_t fours = (column ? p->m : p->n) / VECTORS * VECTORS; \
		for (int64_t at = begin; at < end; at++) { \
			const float *a = (const float *)p->a + (column ? at * p->a_row : 0), *b = (const float *)p->b + (column ? 0 : at * p->b_col); \
			float *c = (float *)p->c + (column ? at * p->ldc : at); \
			*c = (p->with ? *c : 0) + name##_dot(p->k, a, b, p->b_row, at < fours); \
		} \
	} \
	attribute static void \
	name##_row(const float *a, const float *b, int64_t step, int64_t n, int columns, bool eights, float *y) \
	{ \
		int64_t k = 0; \
		for (; eights && k + 8 <= n; k += 8, a += 8, b += 8 * step) \
			for (int l = 0; l < columns; l++) { \
				const float y4 = SUM(a[4], b[4 * step + l], SUM(a[6], b[6 * step + l], y[l])); \
				const float y5 = SUM(a[5], b[5 * step + l], a[7] * b[7 * step + l]); \
				const float y0 = SUM(a[0], b[l], a[2] * b[2 * step + l]); \
				const float y1 = SUM(a[1], b[step + l], a[3] * b[3 * step + l]); \
				y[l] = (y4 + y5) + (y0 + y1); \
			} \
		for (; k < n; k++, a++, b += step) \
			for (int l = 0; l < columns; l++) \
				y[l] = SUM(*a, b[l], y[l]); \
	} \
	attribute static void \
	name##_rows(void *arg, int64_t begin, int64_t end) \
	{ \
		const Product *p = arg; \
		const int64_t whole = p->n / WIDE * WIDE; \
		for (int64_t j = begin, columns; j < end; j += columns) { \
			const int64_t stop = j < whole && end > whole ? whole : end; \
			const float *b = (const float *)p->b + j; \
			float *c = (float *)p->c + j, y[WIDE] = { 0 }; \
			columns = stop - j < WIDE ? stop - j : WIDE; \
			if (p->with) \
				memcpy(y, c, sizeof *y * (size_t)columns); \
			if (columns == WIDE) \
				name##_row(p->a, b, p->b_row, p->k, WIDE, true, y); \
			else \
				name##_row(p->a, b, p->b_row, p->k, (int)columns, j < whole, y); \
			memcpy(c, y, sizeof *y * (size_t)columns); \
		} \
	} \
	attribute static void \
	name##_lanes(void *arg, int64_t begin, int64_t end) \
	{ \
		const Product *p = arg; \
		for (int64_t at = begin * p->m; at < end * p->m; at++) { \
			const int64_t j = at / p->m, i = at % p->m; \
			const float *a = (const float *)p->a + i * p->a_row, *b = (const float *)p->b + j * p->b_col; \
			float *c = (float *)p->c + i * p->ldc + j, lane[WIDE] = { 0 }; \
			int64_t k = 0; \
			for (; k + WIDE <= p->k; k += WIDE) \
				for (int l = 0; l < WIDE; l++) \
					lane[l] = SUM(a[k + l], b[k + l], lane[l]); \
			for (int l = 0; k < p->k; k++, l++) \
				lane[l] = SUM(a[k], b[k], lane[l]); \
			*c = (p->with ? *c : 0) + quartered(lane); \
		} \
	}

LOOPS_BEGIN
INTEL(, plain, SUM_DOUBLE)
static const Intel intel_plain = { plain_vectors, plain_rows, plain_lanes };
#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__
TILE_FUSED
INTEL(__attribute__((target("avx2,fma"))), fused, SUM_FUSED)
static const Intel intel_fused = { fused_vectors, fused_rows, fused_lanes };
#else
#define intel_fused intel_plain
#endif
LOOPS_END

static bool
is_little(const Product *p)
{
	return (double)p->m * (double)p->n * (double)p->k <= LANE_WORK;
}

/* Its kernel, or null: tiles. */
static ProductBody *
intel_body(RtCx *cx, const Product *p)
{
	const Intel *of = gemm_vector_bytes(cx) > 16 ? &intel_fused : &intel_plain;
	const bool transposed = p->b_row == 1 && p->b_col != 1;

	if (p->a_col != 1 || !p->k || (p->b_row != 1 && p->b_col != 1))
		return 0;
	if (p->n == 1 || p->m == 1)
		return p->n == 1 || transposed ? of->vectors : of->rows;
	if (!transposed || p->m >= LANE_ROWS || p->k < LANE_STEPS * p->m)
		return 0;
	return p->m < 4 || p->k % LANE_PERIOD == 0 || is_little(p) ? of->lanes : 0;
}

/* Do threads divide the products of each sum?  body: its kernel. */
static bool
is_split(const Product *p, ProductBody *body)
{
	const int64_t least = p->m < p->n ? p->m : p->n;

	if (p->m == 1 && p->n > 1)
		return body && p->b_row != 1 && p->k >= SPLIT_ROWS && p->n <= SPLIT_COLUMNS && !(p->n == 64 && p->k < 1000);
	return !body && p->k > 2 * INTEL_RUN && p->k >= SPLIT * least && !is_little(p) && !(p->n < 64 && p->m > 256) &&
	       !(p->n == 512 && p->m < 64);
}

static void
set_runs(Product *p, bool wide)
{
	const bool two = p->k > INTEL_RUN && p->k < 2 * INTEL_RUN;

	p->run = two ? (p->k + 1) / 2 : INTEL_RUN;
	p->halves = !two && !wide && p->k % INTEL_RUN;
}

static bool
intel_runs(RtCx *cx, Product *p)
{
	ProductBody *body = intel_body(cx, p);

	if (body || is_split(p, body))
		return false;
	set_runs(p, p->n >= WIDE_COLUMNS);
	return true;
}

static int
part(RtCx *cx, ProductBody *body, Product *p)
{
	if (body) {
		rt_parallel(cx, p->n == 1 ? p->m : p->n, 1 + 32768 / (p->k * p->m), body, p);
		return RT_OK;
	}
	set_runs(p, true);
	return gemm(cx, RT_f32, p);
}

static int
split(RtCx *cx, ProductBody *body, const Product *of)
{
	const RtMark mark = rt_scratch_mark(cx);
	Product first = *of, second = *of;
	float *sums = rt_scratch(cx, of->m * of->n * (int64_t)sizeof *sums), *c = of->c;
	int status;

	first.k = (of->k + 1) / 2;
	second.k = of->k - first.k;
	second.a = (const float *)of->a + first.k * of->a_col;
	second.b = (const float *)of->b + first.k * of->b_row;
	second.c = sums;
	second.ldc = of->n;
	second.with = C_NEW;
	status = !sums || part(cx, body, &first) || part(cx, body, &second) ? RT_ERROR : RT_OK;
	for (int64_t i = 0; i < of->m && !status; i++)
		for (int64_t j = 0; j < of->n; j++)
			c[i * of->ldc + j] += sums[i * of->n + j];
	rt_scratch_reset(cx, mark);
	return status;
}

static int
intel_product(RtCx *cx, Product *p)
{
	ProductBody *body = intel_body(cx, p);

	return is_split(p, body) ? split(cx, body, p) : part(cx, body, p);
}

/* ---- both --------------------------------------------------------------------------------------------------------------- */

static bool
mkl_runs(RtCx *cx, Product *p)
{
	return rt_host(cx).maker == RT_INTEL ? intel_runs(cx, p) : amd_runs(p);
}

static int
mkl_product(RtCx *cx, Product *p, bool *done)
{
	*done = cx->torch == RT_TORCH_2 && !cx->other_run && !p->run && p->with != C_BEGUN && !mkl_runs(cx, p);
	if (!*done)
		return RT_OK;
	if (rt_host(cx).maker == RT_INTEL)
		return intel_product(cx, p);
	rt_parallel(cx, p->n, 1 + 32768 / (p->k * p->m), p->b_row == 1 ? dots : in_turn, p);
	return RT_OK;
}

const RtMkl rt_mkl_all = { mkl_product, mkl_runs, vml_loop };
