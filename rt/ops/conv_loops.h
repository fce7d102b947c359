/* rt/ops/conv_loops.h - the loops of conv.c for one element type T. N(name) is the name of a function for T. With
 * MOVED, loops that only move elements are left out, because another type of the same size has them. */

#ifndef MOVED

/* Copies elements [lo, hi) from every s-th of x. The other ones of n are 0. */
static void
N(copy_run)(const T *restrict x, int64_t s, int64_t lo, int64_t hi, int64_t n, T *restrict to)
{
	for (int64_t i = 0; i < lo; i++)
		to[i] = 0;
	for (int64_t i = lo; i < hi && s == 1; i++)
		to[i] = x[i];
	for (int64_t i = lo; i < hi && s != 1; i++)
		to[i] = x[i * s];
	for (int64_t i = hi; i < n; i++)
		to[i] = 0;
}

/* Implements RtGather for the column matrix of one image and group. A row is a channel and a tap; its columns are
 * consecutive output points. */
static void
N(gather_taps)(const void *arg, int64_t first, int64_t count, int64_t stride, void *columns)
{
	const Columns *m = arg;
	const Conv *g = m->conv;

	for (int64_t t = 0; t < g->taps; t++) {
		const Tap tap = tap_of(g, t);

		for (int64_t at = 0, n; at < count; at += n) {   /* points of a row of the output */
			const int64_t x = (first + at) % g->out[2], s = g->s[2];
			const int64_t from = row_under(g, &tap, m->row + (first + at) / g->out[2]);
			const int64_t begin = tap.lo > x ? tap.lo - x : 0;
			const int64_t end = tap.hi > x && from >= 0 ? tap.hi - x : 0;

			n = g->out[2] - x < count - at ? g->out[2] - x : count - at;
			const int64_t lo = begin < n ? begin : n, hi = end < lo ? lo : end < n ? end : n;
			const T *image = (const T *)m->image + from + x * s + tap.shift;
			T *to = (T *)columns + t * stride + at;

			for (int64_t c = g->cin / g->groups; c > 0; c--, image += g->in_plane, to += g->taps * stride)
				N(copy_run)(image, s, lo, hi, n, to);
		}
	}
}

static void
N(fill_planes)(T *y, const T *bias, int64_t n, int64_t channels, int64_t plane)
{
	for (int64_t i = 0; i < n * channels; i++) {
		const T value = bias ? bias[i % channels] : 0;

		for (int64_t j = 0; j < plane; j++)
			y[i * plane + j] = value;
	}
}

#endif

/* The adjoint of gather_taps: adds the columns to channels [begin, end) of the image. */
static void
N(scatter_taps)(void *arg, int64_t begin, int64_t end)
{
	const Columns *m = arg;
	const Conv *g = m->conv;

	for (int64_t t = begin * g->taps; t < end * g->taps; t++) {
		Tap tap = tap_of(g, t);
		T *plane = (T *)m->image + tap.channel * g->in_plane;
		const T *col = (const T *)m->col + t * m->rows * g->out[2];

		for (int64_t r = m->row; r < m->row + m->rows; r++, col += g->out[2]) {
			int64_t from = row_under(g, &tap, r);

			if (from >= 0)
				for (int64_t x = tap.lo; x < tap.hi; x++)
					plane[from + x * g->s[2] + tap.shift] += col[x];
		}
	}
}

/* Adds v times every s-th element of x to elements [lo, hi) of y. */
static void
N(add_tap)(const T *restrict x, int64_t s, T v, int64_t lo, int64_t hi, T *restrict y)
{
	for (int64_t o = lo; o < hi && s == 1; o++)
		y[o] += v * x[o];
	for (int64_t o = lo; o < hi && s != 1; o++)
		y[o] += v * x[o * s];
}

/* Computes planes of a convolution with one input channel per group: y += w x. All taps of a block of rows are added
 * before the next block, so that its rows of y stay in cache. */
static void
N(depthwise)(void *arg, int64_t begin, int64_t end)
{
	const Depthwise *a = arg;
	const Conv *g = a->conv;
	const int64_t rows = g->out[0] * g->out[1], some = BLOCK_FLOATS / g->out[2] + 1;

	for (int64_t i = begin; i < end; i++) {
		const int64_t channel = i % g->cout, in = channel / (g->cout / g->groups);
		const T *x = (const T *)a->x + (i / g->cout * g->cin + in) * g->in_plane;
		const T *w = (const T *)a->w + channel * g->taps;
		T *y = (T *)a->y + i * g->out_plane;

		for (int64_t at = 0; at < (rows + some - 1) / some * g->taps; at++) {
			const int64_t first = at / g->taps * some, last = first + some < rows ? first + some : rows;
			const Tap tap = tap_of(g, at % g->taps);

			for (int64_t r = first; r < last; r++) {
				const int64_t from = row_under(g, &tap, r);

				if (from >= 0)
					N(add_tap)(x + from + tap.shift, g->s[2], w[at % g->taps], tap.lo, tap.hi,
						   y + r * g->out[2]);
			}
		}
	}
}

/* Sets a (channels) to the sums of y (n, channels, plane). */
static void
N(sum_planes)(const T *y, T *a, int64_t n, int64_t channels, int64_t plane)
{
	for (int64_t c = 0; c < channels; c++) {
		double s = 0;

		for (int64_t i = 0; i < n; i++)
			for (int64_t j = 0; j < plane; j++)
				s += (double)y[(i * channels + c) * plane + j];
		a[c] = (T)s;
	}
}

#undef T
#undef N
#undef MOVED
