/* rt/ops/gemm.c - products of matrices
 *
 * Floats and doubles are multiplied by the register blocks of vmul.h (tile.h). Those are compiled for each instruction
 * set of the processor family and chosen at run time, so that a program built for the baseline still multiplies fast.
 * Integers are multiplied by a plain loop. Complex products are computed as real ones.
 *
 * Invariant: every element of C is written, even if k is 0, unless the product is added to C. */
#include "gemm.h"

#include <string.h>

/* ---- plain loops ------------------------------------------------------------------------------------------------- */

RT_FAST
/* Adds v times a row of b to c. Integers wrap around. */
static void
add_row_i64(uint64_t *restrict c, uint64_t v, const uint64_t *restrict b, int64_t n)
{
	for (int64_t j = 0; j < n; j++)
		c[j] += v * b[j];
}
RT_SMALL

static void
plain_i64(void *arg, int64_t begin, int64_t end)
{
	const Product *p = arg;

	for (int64_t i = begin; i < end; i++) {
		uint64_t *c = (uint64_t *)p->c + i * p->ldc;

		if (!p->added)
			memset(c, 0, sizeof *c * p->n);
		for (int64_t k = 0; k < p->k; k++) {
			const uint64_t *b = (const uint64_t *)p->b + k * p->b_row;
			const uint64_t v = ((const uint64_t *)p->a)[i * p->a_row + k * p->a_col];

			if (p->b_col == 1)
				add_row_i64(c, v, b, p->n);
			for (int64_t j = 0; j < p->n && p->b_col != 1; j++)
				c[j] += v * b[j * p->b_col];
		}
	}
}

/* Computes rows of doubles in a program without tiles for them. */
static void
plain_f64(void *arg, int64_t begin, int64_t end)
{
	const Product *p = arg;

	for (int64_t at = begin * p->n; at < end * p->n; at++) {
		const double *a = (const double *)p->a + at / p->n * p->a_row;
		const double *b = (const double *)p->b + at % p->n * p->b_col;
		double *c = (double *)p->c + at / p->n * p->ldc + at % p->n, sum = p->added ? *c : 0;

		for (int64_t k = 0; k < p->k; k++)
			sum += a[k * p->a_col] * b[k * p->b_row];
		*c = sum;
	}
}

static int
plain(RtCx *cx, RtDtype dtype, Product *p)
{
	if (p->gather) {
		void *b = rt_scratch(cx, p->k * p->n * rt_dtypes[dtype].bytes + 1);

		if (!b)
			return RT_ERROR;
		p->gather(p->b, 0, p->n, p->n, b);
		p->b = b;
		p->b_row = p->n;
		p->b_col = 1;
	}
	rt_parallel(cx, p->m, 1 + 32768 / (p->n * p->k + 1), dtype == RT_f64 ? plain_f64 : plain_i64, p);
	return RT_OK;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

enum {
	FEW_ROWS = 2,            /* largest number of rows that are computed one by one, or as dot products */
	TASK_ROWS = 72, TASK_PANELS = 8,         /* numbers of rows and panels of a task */
};

/* Returns the width in bytes of this processor's widest vectors for which there are tiles. */
static int
vector_bytes(void)
{
	return rt_cpu_runs("avx512f avx2 fma", NULL, 0) ? 64 : rt_cpu_runs("avx2 fma", NULL, 0) ? 32 : 16;
}

/* Returns the widest tiles that the program has and that run on this processor. */
static const RtTiles *
best_tiles(RtCx *cx)
{
	const RtTiles *const *t = rt_tiles;

	if (!cx->vector_bytes)
		cx->vector_bytes = vector_bytes();
	while (t[1] && (*t)->bytes > cx->vector_bytes)
		t++;
	return *t;
}

/* Makes rows of A contiguous and adds rows of zeros up to `least`, by a copy in scratch memory. */
static int
copy_rows(RtCx *cx, Product *p, int64_t bytes, int64_t least)
{
	const int64_t dims[2] = { p->m, p->k }, ds[2] = { p->k * bytes, bytes };
	const int64_t ss[2] = { p->a_row * bytes, p->a_col * bytes };
	char *to;

	if (p->a_col == 1 && p->m >= least)
		return RT_OK;
	to = rt_scratch(cx, (p->m > least ? p->m : least) * p->k * bytes + 1);
	if (!to)
		return RT_ERROR;
	move_block(bytes, &(BlockPair){ 2, dims, ds, ss }, to, p->a);
	if (p->m < least)
		memset(to + p->m * p->k * bytes, 0, (size_t)((least - p->m) * p->k * bytes));
	p->a = to;
	p->a_row = p->k;
	p->a_col = 1;
	return RT_OK;
}

/* Replaces a product by one column with the product of a row by A', because rows are computed without packing. */
static void
column_as_row(Product *p)
{
	const Product q = *p;

	if (p->n == 1 && p->ldc == 1 && !p->gather)
		*p = (Product){ 1, q.m, q.k, q.b, q.a, 0, q.b_row, q.a_col, q.a_row, q.c, q.m, .added = q.added };
}

typedef struct Tiled {
	Product product;
	RtTile  tile;
	int64_t bytes;           /* number of bytes of an element */
	/* panels of B: number of them, distance in bytes, and distance of their rows in elements */
	char   *b;
	int64_t panels, far, step;
} Tiled;

static void
pack_panels(void *arg, int64_t begin, int64_t end)
{
	const Tiled *t = arg;
	const Product *p = &t->product;

	for (int64_t panel = begin; panel < end; panel++) {
		const int64_t j = panel * t->tile.columns;
		const int64_t left = p->n - j < t->tile.columns ? p->n - j : t->tile.columns;
		char *const to = t->b + panel * t->far;

		if (p->gather && left < t->tile.columns)
			memset(to, 0, (size_t)t->far);
		if (p->gather)
			p->gather(p->b, j, left, t->step, to);
		else
			t->tile.pack(p, left, (const char *)p->b + j * p->b_col * t->bytes, to);
	}
}

/* The part of a block that is stored: rows [first, last), `left` columns. */
typedef struct Stored { int64_t first, last, left; } Stored;

static void
partial_block(const Tiled *t, const Stored *s, const char *a, const char *b, char *c)
{
	const int64_t row = t->tile.columns * t->bytes, ldc = t->product.ldc * t->bytes;
	double block[TILE_BYTES / sizeof(double)] = { 0 };
	char *sum = (char *)block;

	for (int64_t i = s->first; i < s->last && t->product.added; i++)
		memcpy(sum + i * row, c + i * ldc, (size_t)(s->left * t->bytes));
	t->tile.block(&t->product, a, b, t->step, sum, t->tile.columns);
	for (int64_t i = s->first; i < s->last; i++)
		memcpy(c + i * ldc, sum + i * row, (size_t)(s->left * t->bytes));
}

/* Computes rows [first, last) of a panel. The last block may compute some rows again, which are not stored. */
static void
tile_panel(const Tiled *t, int64_t first, int64_t last, int64_t panel)
{
	const Product *p = &t->product;
	const int64_t j = panel * t->tile.columns, left = p->n - j < t->tile.columns ? p->n - j : t->tile.columns;

	for (int64_t i = first; i < last; i += t->tile.rows) {
		const int64_t at = i + t->tile.rows > last && last >= t->tile.rows ? last - t->tile.rows : i;
		const Stored s = { i - at, last - at < t->tile.rows ? last - at : t->tile.rows, left };
		const char *a = (const char *)p->a + at * p->a_row * t->bytes, *b = t->b + panel * t->far;
		char *c = (char *)p->c + (at * p->ldc + j) * t->bytes;

		if (s.first == 0 && s.last == t->tile.rows && left == t->tile.columns)
			t->tile.block(p, a, b, t->step, c, p->ldc);
		else
			partial_block(t, &s, a, b, c);
	}
}

/* Computes tasks [begin, end): blocks of rows by groups of panels. */
static void
tile_tasks(void *arg, int64_t begin, int64_t end)
{
	const Tiled *t = arg;
	const int64_t groups = (t->panels + TASK_PANELS - 1) / TASK_PANELS, m = t->product.m;

	for (int64_t task = begin; task < end; task++) {
		const int64_t first = task / groups * TASK_ROWS, panel = task % groups * TASK_PANELS;
		const int64_t last = first + TASK_ROWS < m ? first + TASK_ROWS : m;

		for (int64_t i = panel; i < panel + TASK_PANELS && i < t->panels; i++)
			tile_panel(t, first, last, i);
	}
}

/* Computes columns [begin, end) as dot products. */
static void
dots(void *arg, int64_t begin, int64_t end)
{
	const Tiled *t = arg;
	const Product *p = &t->product;

	for (int64_t j = begin; j < end; j++)
		for (int64_t i = 0; i < p->m; i++)
			t->tile.dot(p, (const char *)p->a + i * p->a_row * t->bytes,
				    (const char *)p->b + j * p->b_col * t->bytes,
				    (char *)p->c + (i * p->ldc + j) * t->bytes);
}

/* Whether B is read in place, and not packed. */
static bool
in_place(const Product *p, int64_t rows, int64_t columns)
{
	return p->m <= rows && !p->gather && p->b_col == 1 && p->n % columns == 0 && p->b_row <= INT32_MAX;
}

static int
tiled(RtCx *cx, Tiled *t)
{
	Product *const p = &t->product;
	const bool by_dots = p->m <= FEW_ROWS && !p->gather && p->b_row == 1;
	const bool rows = in_place(p, FEW_ROWS, t->tile.row_columns);
	const bool packed = !rows && !in_place(p, t->tile.rows, t->tile.columns);
	int64_t work;

	if (rows) {
		t->tile.block = t->tile.row;
		t->tile.rows = 1;
		t->tile.columns = t->tile.row_columns;
	}
	if (copy_rows(cx, p, t->bytes, by_dots ? 0 : t->tile.rows))
		return RT_ERROR;
	if (by_dots) {
		rt_parallel(cx, p->n, 1 + 32768 / (p->k * p->m + 1), dots, t);
		return RT_OK;
	}
	work = p->k * t->tile.columns;
	t->panels = (p->n + t->tile.columns - 1) / t->tile.columns;
	t->step = packed ? t->tile.columns : p->b_row;
	t->far = (packed ? work : t->tile.columns) * t->bytes;
	t->b = packed ? rt_scratch(cx, t->panels * t->far + 1) : (char *)p->b;
	if (!t->b)
		return RT_ERROR;
	if (packed)
		rt_parallel(cx, t->panels, 1 + 65536 / (work + 1), pack_panels, t);
	rt_parallel(cx, (p->m + TASK_ROWS - 1) / TASK_ROWS * ((t->panels + TASK_PANELS - 1) / TASK_PANELS),
		    1 + 262144 / (work * TASK_PANELS * TASK_ROWS + 1), tile_tasks, t);
	return RT_OK;
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
product_of_pairs(RtCx *cx, RtDtype dtype, Product *p)
{
	const RtDtype part = rt_real_type(dtype);
	RtMark mark = rt_scratch_mark(cx);
	void *b = rt_scratch(cx, 2 * p->k * p->n * rt_dtypes[dtype].bytes + 16);
	int status;

	if (!b || copy_rows(cx, p, rt_dtypes[dtype].bytes, 0))
		return RT_ERROR;
	if (part == RT_f32)
		PAIRS(float)
	else
		PAIRS(double)
	status = gemm(cx, part, &(Product){ p->m, 2 * p->n, 2 * p->k, p->a, b, 2 * p->a_row, 1, 2 * p->n, 1, p->c,
					    2 * p->ldc, .added = p->added });
	rt_scratch_reset(cx, mark);
	return status;
}

int
gemm(RtCx *cx, RtDtype dtype, const Product *given)
{
	Tiled t = { .product = *given };
	Product *const p = &t.product;
	RtMark mark;
	int status;

	if (p->m == 0 || p->n == 0)
		return RT_OK;
	p->ldc = p->ldc ? p->ldc : p->n;
	if (rt_is_complex(dtype))
		return product_of_pairs(cx, dtype, p);
	t.bytes = rt_dtypes[dtype].bytes;
	if (dtype == RT_f32 || dtype == RT_f64)
		t.tile = dtype == RT_f32 ? best_tiles(cx)->f32 : best_tiles(cx)->f64;
	column_as_row(p);
	mark = rt_scratch_mark(cx);
	status = t.tile.block ? tiled(cx, &t) : plain(cx, dtype, p);
	rt_scratch_reset(cx, mark);
	return status;
}
