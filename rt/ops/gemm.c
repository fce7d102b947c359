/* rt/ops/gemm.c - products of matrices
 *
 * Large float and double products pack B into panels [n / width][k][width]. A tile of R rows by two vectors is
 * accumulated in registers over all of k, with elements of A broadcast from memory. Rows are blocked so that A stays in
 * the second-level cache while B's panels stream by. The tile is compiled for each instruction set of the processor
 * family (tile.h) and chosen at run time, so that a program built for the baseline still multiplies fast. With few rows
 * B is read in place, because packing would cost as much as the product. Integers and small products are three plain
 * loops. Complex products are computed as real ones.
 *
 * Invariant: every element of C is written, even if k is 0, unless the product is added to C. */
#include "gemm.h"
#include "vturn.h"

#include <string.h>

/* ---- plain loops ------------------------------------------------------------------------------------------------- */

#define ADD_ROW(c, v, b, n) \
	for (int64_t j = 0; j < n; j++) \
		c[j] += v * b[j]

RT_FAST
/* Adds v times a row of b to c. Integers wrap around. */
static void
add_row_i64(uint64_t *restrict c, uint64_t v, const uint64_t *restrict b, int64_t n)
{
	ADD_ROW(c, v, b, n);
}
RT_SMALL
#define ADD_ROW_I64(c, v, b, n) add_row_i64(c, v, b, n)

#define PLAIN(name, T, ADD) \
	static void \
	plain_##name(void *arg, int64_t begin, int64_t end) \
	{ \
		const Product *p = arg; \
		const int64_t n = p->n, step = p->b_col; \
		for (int64_t i = begin; i < end; i++) { \
			T *c = (T *)p->c + i * p->ldc; \
			const T *a = (const T *)p->a + i * p->a_row; \
			if (!p->added) \
				memset(c, 0, sizeof(T) * p->n); \
			for (int64_t k = 0; k < p->k; k++) { \
				const T *b = (const T *)p->b + k * p->b_row; \
				T v = a[k * p->a_col]; \
				if (step == 1) { \
					ADD(c, v, b, n); \
				} else \
					for (int64_t j = 0; j < n; j++) \
						c[j] += v * b[j * step]; \
			} \
		} \
	}
PLAIN(f64, double, ADD_ROW)
PLAIN(f32, float, ADD_ROW)
PLAIN(i64, uint64_t, ADD_ROW_I64)
#undef PLAIN

/* ---- dot products of doubles: rows of A by columns of B that are contiguous (a row-major weight, transposed) ----- */

RT_FAST
static double
dot_f64(const double *a, const double *b, int64_t n)
{
	double sum[DOT_LANES] = { 0 };

	for (int64_t i = 0; i < n; i += DOT_LANES)
		for (int64_t j = 0; j < DOT_LANES && j < n - i; j++)
			sum[j] += a[i + j] * b[i + j];
	for (int width = 1; width < DOT_LANES; width *= 2)
		for (int j = 0; j < DOT_LANES; j += 2 * width)
			sum[j] += sum[j + width];
	return sum[0];
}
RT_SMALL

static void
dots_f64(void *arg, int64_t begin, int64_t end)
{
	const Product *p = arg;

	for (int64_t j = begin; j < end; j++)
		for (int64_t i = 0; i < p->m; i++) {
			double *c = (double *)p->c + i * p->ldc + j;

			*c = (p->added ? *c : 0) +
			     dot_f64((const double *)p->a + i * p->a_row, (const double *)p->b + j * p->b_col, p->k);
		}
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

enum {
	FEW_ROWS = 3, BLOCK_ROWS = 72, GROUP = 8, DOT_ROWS = 12, FEW_ELEMENTS = 1200,
	/* number of products in a partial sum; adding partial sums reduces rounding errors */
	RUN_F32 = 320, RUN_F64 = 64,
};

/* Returns the number of bytes of the widest vectors that this processor has and tiles are compiled for. */
static int
vector_bytes(void)
{
	return rt_cpu_runs("avx512f avx2 fma", NULL, 0) ? 64 : rt_cpu_runs("avx2 fma", NULL, 0) ? 32 : 16;
}

int
gemm_vector_bytes(RtCx *cx)
{
	if (!cx->vector_bytes)
		cx->vector_bytes = vector_bytes();
	return cx->vector_bytes;
}

/* Returns the widest tiles that the program has and that run on this processor. Null if there are none. */
static const RtTiles *
best_tiles(RtCx *cx)
{
	const RtTiles *const *t = rt_tiles;

	while (*t && (*t)->bytes > gemm_vector_bytes(cx))
		t++;
	return *t;
}

typedef struct Tiled {
	const Product *product;
	Tile *tile, *row;            /* row: tile for one row and several adjacent panels of B; null if there is none */
	int rows, width;             /* width: number of elements in a panel's row */
	int64_t run;                 /* number of products in a partial sum */
	int64_t bytes, panels, groups, step;     /* step: distance of panels in bytes */
	char *packed;
} Tiled;

/* Packs a panel of floats whose columns are contiguous in B. Transposes squares in registers. */
static void
turn_panel(const Product *p, int64_t width, char *to, const char *from)
{
	const int64_t whole = p->k / VQ_LANES * VQ_LANES;

	for (int64_t k = 0; k < whole; k += VQ_LANES)
		for (int64_t j = 0; j < width; j += VQ_LANES)
			vq_part(to + (k * width + j) * 4, width, from + (j * p->b_col + k) * 4, p->b_col);
	for (int64_t j = 0; j < width; j++)
		for (int64_t k = whole; k < p->k; k++)
			memcpy(to + (k * width + j) * 4, from + (j * p->b_col + k) * 4, 4);
}

static void
pack_panels(void *arg, int64_t begin, int64_t end)
{
	const Tiled *t = arg;
	const Product *p = t->product;
	int64_t width = t->width, bytes = t->bytes, dims[2], ds[2], ss[2];
	const int k = p->b_col != 1;           /* index of dim k; the last dim is contiguous in B */

	ds[k] = width * bytes;
	ds[!k] = bytes;
	ss[k] = p->b_row * bytes;
	ss[!k] = p->b_col * bytes;
	dims[k] = p->k;
	for (int64_t panel = begin; panel < end; panel++) {
		int64_t j = panel * width, n = p->n - j < width ? p->n - j : width;
		char *to = t->packed + panel * t->step;
		const char *from = (const char *)p->b + j * p->b_col * bytes;
		if (n < width)
			memset(to, 0, p->k * width * bytes);
		dims[!k] = n;
		if (p->b_row == 1 && bytes == 4 && n == width)
			turn_panel(p, width, to, from);
		else
			move_block(bytes, &(BlockPair){ 2, dims, ds, ss }, to, from);
	}
}

/* Computes tasks [begin, end): blocks of rows by groups of panels. */
static void
tile_tasks(void *arg, int64_t begin, int64_t end)
{
	const Tiled *t = arg;
	const Product *p = t->product;
	int64_t width = t->width;

	for (int64_t task = begin; task < end; task++) {
		int64_t first = task / t->groups * BLOCK_ROWS,
			last = first + BLOCK_ROWS < p->m ? first + BLOCK_ROWS : p->m;
		int64_t panel = task % t->groups * GROUP, stop = panel + GROUP < t->panels ? panel + GROUP : t->panels;
		for (; t->row && stop - panel >= ROW_VECTORS / 2; panel += ROW_VECTORS / 2)
			for (int64_t i = first; i < last; i++)
				t->row(p, t->run, i, 1, t->packed + panel * t->step,
				       (char *)p->c + i * p->ldc * t->bytes + panel * t->step,
				       ROW_VECTORS / 2 * t->width);
		for (; panel < stop; panel++) {
			int64_t j = panel * width, columns = p->n - j < width ? p->n - j : width;
			for (int64_t i = first; i < last; i += t->rows) {
				int rows = last - i < t->rows ? (int)(last - i) : t->rows;
				t->tile(p, t->run, i, rows, t->packed + panel * t->step,
					(char *)p->c + (i * p->ldc + j) * t->bytes, (int)columns);
			}
		}
	}
}

static int
tiled(RtCx *cx, RtDtype dtype, Product *p)
{
	const RtTiles *tiles = best_tiles(cx);
	Tiled t = { .product = p, .bytes = rt_dtypes[dtype].bytes,
		    .tile = !tiles ? NULL : dtype == RT_f32 ? tiles->f32 : tiles->f64 };
	int64_t blocks = (p->m + BLOCK_ROWS - 1) / BLOCK_ROWS, work;

	if (!t.tile) {
		rt_parallel(cx, p->m, 1, dtype == RT_f32 ? plain_f32 : plain_f64, p);
		return RT_OK;
	}
	t.run = dtype == RT_f32 ? RUN_F32 : RUN_F64;
	t.rows = dtype == RT_f32 ? tiles->f32_rows : tiles->f64_rows;
	t.width = (int)(2 * tiles->bytes / t.bytes);
	t.panels = (p->n + t.width - 1) / t.width;
	t.groups = (t.panels + GROUP - 1) / GROUP;
	if (p->a_col != 1) {
		int64_t dims[2] = { p->m, p->k }, ds[2] = { p->k * t.bytes, t.bytes };
		int64_t ss[2] = { p->a_row * t.bytes, p->a_col * t.bytes };
		char *a = rt_scratch(cx, p->m * p->k * t.bytes);
		if (!a)
			return RT_ERROR;
		move_block(t.bytes, &(BlockPair){ 2, dims, ds, ss }, a, p->a);
		p->a = a;
		p->a_row = p->k;
		p->a_col = 1;
	}
	work = p->k * t.width;
	if (p->m <= t.rows && p->b_col == 1 && p->n % t.width == 0) {
		t.step = t.width * t.bytes;
		t.packed = (char *)p->b;
		t.row = 2 * p->m <= t.rows && dtype == RT_f32 ? tiles->row : NULL;
	} else {
		t.step = work * t.bytes;
		t.packed = rt_scratch(cx, t.panels * t.step);
		if (!t.packed)
			return RT_ERROR;
		rt_parallel(cx, t.panels, 1 + 65536 / work, pack_panels, &t);
		p->b_row = t.width;
	}
	rt_parallel(cx, blocks * t.groups, 1 + 262144 / (work * GROUP * BLOCK_ROWS), tile_tasks, &t);
	return RT_OK;
}

/* Whether the product is computed as dot products: few rows by a transposed matrix. */
static bool
is_dots(RtDtype dtype, const Product *p)
{
	if (p->a_col != 1 || p->b_row != 1 || !p->k)
		return false;
	return dtype == RT_f64 ? p->m <= DOT_ROWS : p->m * p->n <= FEW_ELEMENTS;
}

/* Makes a real matrix b from the complex matrix B: each row becomes two, (re, im) and (-im, re). The real product of
 * A's pairs (re, im) and b is the complex product. */
#define PAIRS(T) \
	for (int64_t k = 0; k < p->k; k++) \
		for (int64_t j = 0; j < p->n; j++) { \
			const T *z = (const T *)p->b + 2 * (k * p->b_row + j * p->b_col); \
			T *re = (T *)b + 4 * k * p->n + 2 * j, *im = re + 2 * p->n; \
			re[0] = im[1] = z[0], re[1] = z[1], im[0] = -z[1]; \
		}

static int
product_of_pairs(RtCx *cx, RtDtype dtype, const Product *p)
{
	const RtDtype part = rt_real_type(dtype);
	const int64_t bytes = rt_dtypes[dtype].bytes, dims[] = { p->m, p->k }, ds[] = { p->k * bytes, bytes };
	const int64_t ss[] = { p->a_row * bytes, p->a_col * bytes };
	const bool dense = p->a_col == 1;
	const int64_t row = 2 * (dense ? p->a_row : p->k);
	RtMark mark = rt_scratch_mark(cx);
	void *b = rt_scratch(cx, 2 * p->k * p->n * bytes + 16);
	char *a = dense ? NULL : rt_scratch(cx, p->m * p->k * bytes + 16);
	int status;

	if (!b || (!dense && !a))
		return RT_ERROR;
	if (!dense)
		move_block((int)bytes, &(BlockPair){ 2, dims, ds, ss }, a, p->a);
	if (part == RT_f32)
		PAIRS(float)
	else
		PAIRS(double)
	status = gemm(cx, part, &(Product){ p->m, 2 * p->n, 2 * p->k, dense ? p->a : a, b, row, 1, 2 * p->n, 1,
					    p->c, 2 * p->ldc, p->added });
	rt_scratch_reset(cx, mark);
	return status;
}

int
gemm(RtCx *cx, RtDtype dtype, const Product *given)
{
	Product p = *given;
	const bool real = dtype == RT_f32 || dtype == RT_f64;
	int64_t work = p.n * p.k;
	RtMark mark;
	int status;

	if (p.m == 0 || p.n == 0)
		return RT_OK;
	p.ldc = p.ldc ? p.ldc : p.n;
	if (rt_is_complex(dtype))
		return product_of_pairs(cx, dtype, &p);
	if (real && is_dots(dtype, &p)) {
		const RtTiles *tiles = best_tiles(cx);

		rt_parallel(cx, p.n, 1 + 32768 / (p.k * p.m), dtype == RT_f64 ? dots_f64 : tiles ? tiles->dots :
			    plain_f32, &p);
		return RT_OK;
	}
	if (!real || !p.k || (dtype == RT_f64 && (p.m <= FEW_ROWS || p.m * work < 8192))) {
		rt_parallel(cx, p.m, 1 + 32768 / (work + 1), dtype == RT_f32 ? plain_f32 : dtype == RT_f64 ? plain_f64
			: plain_i64, &p);
		return RT_OK;
	}
	mark = rt_scratch_mark(cx);
	status = tiled(cx, dtype, &p);
	rt_scratch_reset(cx, mark);
	return status;
}
