/* rt/ops/conv_loops.h - the loops of conv.c for one element type T. N(name) is the name of a function for T. With
 * MOVED, loops that only move elements are left out, because another type of the same size has them. With DIRECT, the
 * depthwise loops are left out, because conv_direct.c has them. */

#ifndef MOVED

/* Computes rows k0 .. k1 of the column matrix of one image and group. A row is a channel and a tap; its columns are the
 * output points [row * out_w, ...). */
static void
N(gather_taps)(void *arg, int64_t begin, int64_t end)
{
	const Columns *m = arg;
	const Conv *g = m->conv;

	for (int64_t t = begin; t < end; t++) {
		Tap tap = tap_of(g, t);
		const T *plane = (const T *)m->image + tap.channel * g->in_plane;
		T *to = (T *)m->col + t * m->rows * g->out[2];

		for (int64_t r = m->row; r < m->row + m->rows; r++, to += g->out[2]) {
			int64_t from = row_under(g, &tap, r), x, lo = tap.lo, hi = tap.hi;

			if (from < 0 || lo >= hi) {
				memset(to, 0, (size_t)g->out[2] * sizeof(T));
				continue;
			}
			memset(to, 0, (size_t)lo * sizeof(T));
			if (g->s[2] == 1)
				memcpy(to + lo, plane + from + lo + tap.shift, (size_t)(hi - lo) * sizeof(T));
			else
				for (x = lo; x < hi; x++)
					to[x] = plane[from + x * g->s[2] + tap.shift];
			memset(to + hi, 0, (size_t)(g->out[2] - hi) * sizeof(T));
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

#ifndef DIRECT

/* Computes planes of a convolution with one input channel per group. forward: y += w x; otherwise x += w y. */
static void
N(depthwise)(void *arg, int64_t begin, int64_t end)
{
	const Depthwise *a = arg;
	const Conv *g = a->conv;
	int64_t per = g->cout / g->groups;

	for (int64_t i = begin; i < end; i++) {
		int64_t n = i / g->cout, c = i % g->cout;
		T *in = (T *)a->x + (n * g->cin + c / per) * g->in_plane, *out = (T *)a->y + i * g->out_plane;
		const T *w = (const T *)a->w + c * g->taps;

		for (int64_t t = 0; t < g->taps; t++) {
			Tap tap = tap_of(g, t);

			for (int64_t r = 0; r < g->out[0] * g->out[1]; r++) {
				int64_t from = row_under(g, &tap, r), step = g->s[2];
				T *x = in + from + tap.shift, *y = out + r * g->out[2], v = w[t];

				if (from < 0)
					continue;
				if (step == 1)
					for (int64_t o = tap.lo; o < tap.hi; o++)
						y[o] = y[o] + v * x[o];
				else
					for (int64_t o = tap.lo; o < tap.hi; o++)
						y[o] = y[o] + v * x[o * step];
			}
		}
	}
}

#endif

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
#undef DIRECT
