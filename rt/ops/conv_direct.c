/* rt/ops/conv_direct.c - convolutions of floats without columns
 *
 * Rows of the image are copied with their padding. Each is stored as `stride` phases, so that adjacent results read
 * adjacent elements at any stride. A tile of some channels by some columns of results is accumulated in registers over
 * the taps of a block of input channels, then added to the result.
 */
#include "conv.h"

#include <string.h>

#ifdef WIDE

enum {
	ROW_TAPS = 64,                   /* largest number of taps of a row of results that are accumulated together */
	RUN = 320,                       /* approximate number of products in a partial sum */
	ROOM = 1 << 17,                  /* approximate number of floats in the copied rows */
	/* smallest number of groups in all images that threads divide; if there are fewer, threads divide each group */
	MANY = 8,
	COLUMNS = 16,                    /* number of columns of results in a tile */
	TILE = WIDE / 2                  /* number of channels in a tile, which has eight vectors of accumulators */
};

/* Offset of a tap in rows of the image from a result's first row, and of its elements in a copied row. */
typedef struct Tap { int64_t z, y, column; } Tap;

/* Some rows of results of one image and group. */
typedef struct Direct {
	const Conv  *conv;
	const Tap   *tap;                /* (k) */
	const float *x, *w;              /* (cin / groups, in), (cout / groups, cin / groups, k) */
	float       *y;                  /* (cout / groups, out) */
	float       *copy;               /* (cin / groups, rows from `top` on, stride, width) */
	/* range of the image's rows (in[0] * in[1]) that is copied; length of a copied row */
	int64_t      top, rows, width;
	int64_t      first, last;        /* range of rows of results (out[0] * out[1]) */
} Direct;

RT_FAST

/* Copies every s-th element. */
static void
copy_phase(float *restrict to, const float *restrict x, int64_t n, int64_t s)
{
	for (int64_t o = 0; o < n && s == 1; o++)
		to[o] = x[o];
	for (int64_t o = 0; o < n && s == 2; o++)
		to[o] = x[o * 2];
	for (int64_t o = 0; o < n && s > 2; o++)
		to[o] = x[o * s];
}

/* Adds n <= COLUMNS sums to y. It is not inlined, to keep the code of the loops small. */
static void
add_columns(float *restrict y, const float *restrict sum, int64_t n)
{
	for (int64_t k = 0; k < COLUMNS && n >= COLUMNS; k++)
		y[k] += sum[k];
	for (int64_t k = 0; k < n && n < COLUMNS; k++)
		y[k] += sum[k];
}

RT_SMALL

/* Copies channels [begin, end). */
static void
copy_rows(void *arg, int64_t begin, int64_t end)
{
	const Direct *d = arg;
	const Conv *g = d->conv;
	const int64_t s = g->s[2], row = s * d->width, in = g->in[2];

	memset(d->copy + begin * d->rows * row, 0, sizeof(float) * (end - begin) * d->rows * row);
	for (int64_t phase = 0; phase < s; phase++) {
		/* element o of the phase is x[o * s + phase - p] */
		const int64_t shift = phase - g->p[2], from = shift < 0 ? (-shift + s - 1) / s : 0;
		const int64_t there = in > shift ? (in - shift + s - 1) / s : 0;
		const int64_t stop = there < d->width ? there : d->width;

		for (int64_t c = begin; c < end && from < stop; c++) {
			const float *x = d->x + c * g->in_plane + d->top * in + from * s + shift;
			float *to = d->copy + c * d->rows * row + phase * d->width + from;

			for (int64_t r = 0; r < d->rows; r++)
				copy_phase(to + r * row, x + r * in, stop - from, s);
		}
	}
}

/* Taps inside the image for a row of results: their indices, and the offsets of their elements from `base` in a channel
 * of the copy. `all` tells whether all taps are inside. */
typedef struct Taps { int n; int64_t at[ROW_TAPS], from[ROW_TAPS], base; bool all; } Taps;

/* Lists as many taps from t on as have room. Returns the next tap. If all taps of two rows are inside, both use the
 * same list. */
static int64_t
taps_over(const Direct *d, int64_t r, int64_t t, Taps *l)
{
	const Conv *g = d->conv;
	const int64_t z = r / g->out[1] * g->s[0] - g->p[0], y = r % g->out[1] * g->s[1] - g->p[1];
	const bool all = z >= 0 && y >= 0 && z + (g->k[0] - 1) * g->d[0] < g->in[0] &&
			 y + (g->k[1] - 1) * g->d[1] < g->in[1] && g->taps <= ROW_TAPS;

	l->base = (z * g->in[1] + y - d->top) * g->s[2] * d->width;
	if (all && l->all)
		return g->taps;
	for (l->n = 0; t < g->taps && l->n < ROW_TAPS; t++) {
		const int64_t at = z + d->tap[t].z, row = y + d->tap[t].y;

		if (at < 0 || at >= g->in[0] || row < 0 || row >= g->in[1])
			continue;
		l->at[l->n] = t;
		l->from[l->n++] = (d->tap[t].z * g->in[1] + d->tap[t].y) * g->s[2] * d->width + d->tap[t].column;
	}
	l->all = all;
	return t;
}

RT_FAST

/* Partial sums: channels from c on (`some` of them) of row r, over input channels [from, to). */
typedef struct Sums { int64_t r, c, some, from, to; } Sums;

/* Computes R of these channels in columns from o on, C * COLUMNS at a time. Returns the first column that was not
 * computed. */
#define ROWS(name, R, C) \
	static int64_t \
	name(const Direct *d, const Taps *l, const Sums *p, int64_t o) \
	{ \
		enum { V = C * COLUMNS / WIDE }; \
		const Conv *g = d->conv; \
		const int64_t depth = g->cin / g->groups * g->taps, channel = d->rows * g->s[2] * d->width; \
		const float *w[R]; \
		\
		for (int i = 0; i < R; i++) \
			w[i] = d->w + (p->c + (i < p->some ? i : 0)) * depth; \
		for (; o + (C - 1) * COLUMNS < g->out[2]; o += C * COLUMNS) { \
			float *y = d->y + p->c * g->out_plane + p->r * g->out[2] + o; \
			WideF sum[R][V]; \
			\
			RT_UNROLL \
			for (int i = 0; i < R * V; i++) \
				sum[i / V][i % V] = (WideF){ 0 }; \
			for (int64_t k = p->from; k < p->to; k++) \
				for (int t = 0; t < l->n; t++) { \
					const float *x = d->copy + (k * channel + l->base + l->from[t] + o); \
					const int64_t at = k * g->taps + l->at[t]; \
					\
					RT_UNROLL \
					for (int j = 0; j < V; j++) \
						RT_UNROLL \
						for (int i = 0; i < R; i++) \
							sum[i][j] += w[i][at] * *(const WideF *)(x + j * WIDE); \
				} \
			for (int i = 0; i < p->some; i++) \
				for (int j = 0; j < C; j++) \
					add_columns(y + i * g->out_plane + j * COLUMNS, \
						    (const float *)&sum[i][j * V / C], g->out[2] - o - j * COLUMNS); \
		} \
		return o; \
	}
ROWS(tile, TILE, 1)
ROWS(one, 1, 1)
#if WIDE > 4
ROWS(four, 1, 4)
#else
#define four(d, l, p, o) (o)
#endif
#undef ROWS

RT_SMALL

/* Runs tasks. A task is a block of channels in one row. */
static void
run_tasks(void *arg, int64_t begin, int64_t end)
{
	const Direct *d = arg;
	const Conv *g = d->conv;
	const int64_t og = g->cout / g->groups, cg = g->cin / g->groups, rows = d->last - d->first;
	const int64_t run = RUN / g->taps > 0 ? RUN / g->taps : 1;
	Taps l = { .all = false };

	for (int64_t i = begin; i < end; i++) {
		const int64_t c = i / rows * TILE, some = og - c < TILE ? og - c : TILE, r = d->first + i % rows;

		for (int64_t t = 0; t < g->taps;) {
			t = taps_over(d, r, t, &l);
			for (int64_t k = 0; k < cg; k += run) {
				const Sums p = { r, c, some, k, k + run < cg ? k + run : cg };

				if (some == 1)
					one(d, &l, &p, four(d, &l, &p, 0));
				else
					tile(d, &l, &p, 0);
			}
		}
	}
}

/* Sets the range of the image's rows that rows [first, last) of results read. */
static void
rows_under(Direct *d)
{
	const Conv *g = d->conv;
	int64_t end;

	d->top = 0;
	d->rows = g->in[0] * g->in[1];
	if (g->in[0] != 1 || g->out[0] != 1)
		return;
	d->top = d->first * g->s[1] - g->p[1];
	end = (d->last - 1) * g->s[1] - g->p[1] + (g->k[1] - 1) * g->d[1] + 1;
	d->top = d->top < 0 ? 0 : d->top > g->in[1] ? g->in[1] : d->top;
	end = end > g->in[1] ? g->in[1] : end;
	d->rows = end > d->top ? end - d->top : 0;
}

/* Division into parts: number of rows of results whose copied rows stay in cache, and number of floats of these
 * copies. */
typedef struct Cut { Direct direct; int64_t step, room; bool failed; } Cut;

static void
run_body(RtCx *cx, int64_t n, int64_t grain, Body *body, Direct *d)
{
	if (cx)
		rt_parallel(cx, n, grain, body, d);
	else
		body(d, 0, n);
}

/* Computes image and group i. If cx is null, runs on this thread alone. */
static void
convolve(RtCx *cx, const Cut *cut, Direct *d, int64_t i)
{
	const Conv *g = d->conv;
	const int64_t og = g->cout / g->groups, cg = g->cin / g->groups, all = g->out[0] * g->out[1];
	const int64_t work = g->out[2] * cg * g->taps * TILE;

	d->x = cut->direct.x + i * cg * g->in_plane;
	d->w = cut->direct.w + i % g->groups * og * cg * g->taps;
	d->y = cut->direct.y + i * og * g->out_plane;
	for (int64_t r = 0; r < all; r += cut->step) {
		d->first = r;
		d->last = r + cut->step < all ? r + cut->step : all;
		rows_under(d);
		run_body(cx, cg, 1 + 20000 / (d->rows * d->width * g->s[2] + 1), copy_rows, d);
		run_body(cx, (og + TILE - 1) / TILE * (d->last - d->first), 1 + 100000 / work, run_tasks, d);
	}
}

static void
run_groups(void *arg, int64_t begin, int64_t end)
{
	Cut *cut = arg;
	Direct d = cut->direct;

	d.copy = rt_mem(cut->room * (int64_t)sizeof(float));
	if (!d.copy)
		cut->failed = true;
	for (int64_t i = begin; i < end && d.copy; i++)
		convolve(NULL, cut, &d, i);
	rt_mem_back(d.copy);
}

static const Tap *
list_taps(RtCx *cx, const Conv *g, int64_t width)
{
	Tap *tap = rt_scratch(cx, g->taps * (int64_t)sizeof *tap);

	for (int64_t t = 0; t < g->taps && tap; t++) {
		const int64_t x = t % g->k[2] * g->d[2], rest = t / g->k[2];

		tap[t] = (Tap){ rest / g->k[1] * g->d[0], rest % g->k[1] * g->d[1], x % g->s[2] * width + x / g->s[2] };
	}
	return tap;
}

int
conv_direct(RtCx *cx, const Conv *g, const float *x, const float *w, float *y)
{
	const int64_t cg = g->cin / g->groups, s = g->s[2], all = g->out[0] * g->out[1], count = g->n * g->groups;
	const int64_t width = (g->out[2] + COLUMNS - 1) / COLUMNS * COLUMNS + (g->k[2] - 1) * g->d[2] / s;
	const int64_t row = cg * s * width, reach = (g->k[1] - 1) * g->d[1] + 1;
	int64_t step = (ROOM / row - reach) / g->s[1] + 1, rows = g->in[0] * g->in[1];
	Cut cut = { .direct = { .conv = g, .x = x, .w = w, .y = y, .width = width, .tap = list_taps(cx, g, width) } };
	Direct d;

	step = step < 4 ? 4 : step;
	if (g->in[0] != 1 || g->out[0] != 1 || step > all)
		step = all;
	else if ((step - 1) * g->s[1] + reach < rows)
		rows = (step - 1) * g->s[1] + reach;
	cut.step = step;
	cut.room = rows * row + COLUMNS;
	if (!cut.direct.tap)
		return RT_ERROR;
	if (count >= MANY) {
		const int64_t work = g->cout / g->groups * cg * g->taps * g->out_plane;

		rt_parallel(cx, count, 1 + 100000 / work, run_groups, &cut);
		return cut.failed ? rt_raise(cx, "out of memory") : RT_OK;
	}
	d = cut.direct;
	if (!(d.copy = rt_scratch(cx, cut.room * (int64_t)sizeof(float))))
		return RT_ERROR;
	for (int64_t i = 0; i < count; i++)
		convolve(cx, &cut, &d, i);
	return RT_OK;
}

#endif
