/* rt/ops/vroi_loops.h - means over the bins of regions (roi_align) for one element type T, in the interpreter and
 * generated kernels. N(name) is the name of a function for T.
 *
 * A unit of work is a region. A bin is the mean of points_h * points_w bilinear samples. Rows and columns are
 * independent: a bin is the sum of w[row] * v[column] * x[row][column], over lists in which each row and each column
 * occurs once. If channels are contiguous, the sums run over runs of channels. Otherwise a row of bins is computed from
 * the weighted sum of its input rows, channel by channel. */
#ifndef RT_OPS_VROI_LOOPS_H
#define RT_OPS_VROI_LOOPS_H

/* Dims are height and width. Strides are in elements. */
typedef struct RoiBins {
	int64_t images, channels, in[2], out[2];
	/* strides of images or regions, of channels or a region's numbers, of dims */
	int64_t xn, xc, x[2], rn, rc, yn, yc, y[2];
	double  scale;
	int64_t ratio;           /* number of samples along a bin; 0 or less for as many as the bin has elements */
	/* whether an element's centre is at its index + 0.5; if not, a region is at least as large as an element */
	bool    aligned;
} RoiBins;

#endif

typedef struct N(RoiTap) { int64_t at; T weight; } N(RoiTap);
/* Start, size of a bin and number of samples along one dim of a region. */
typedef struct N(RoiSide) { T first, bin; int64_t points; } N(RoiSide);

/* Buffers of a thread: taps of a bin's rows and of all its columns, number of taps of each column, and a row of
 * elements. */
typedef struct N(RoiRoom) {
	N(RoiTap) *rows, *columns;
	int64_t  *n;
	T        *line;
} N(RoiRoom);

static inline N(RoiRoom)
N(roi_room)(const RoiBins *g, void *bytes)
{
	N(RoiRoom) m = { .rows = bytes };

	m.columns = m.rows + g->in[0];
	m.n = (int64_t *)(void *)(m.columns + g->in[1] * g->out[1]);
	m.line = (T *)(void *)(m.n + g->out[1]);
	return m;
}

/* Computes one dim of a region. Coordinates are rounded where ATen rounds them, because the number of samples depends
 * on it. */
static inline N(RoiSide)
N(roi_side)(const RoiBins *g, T from, T to, int64_t bins)
{
	const T offset = g->aligned ? (T)0.5 : 0;
	const T low = (T)((double)from * (T)g->scale), high = (T)((double)to * (T)g->scale);
	N(RoiSide) s = { .first = low - offset };
	const T end = high - offset, size = end - s.first;

	s.bin = (g->aligned || size >= 1 ? size : 1) / (T)bins;
	s.points = g->ratio > 0 ? g->ratio : s.bin > 0 && s.bin < (T)1e9 ? (int64_t)s.bin : 0;
	s.points += g->ratio <= 0 && (T)s.points < s.bin && s.bin < (T)1e9;
	return s;
}

/* Adds a tap. Samples are in ascending order, so an element that is already in the list is one of the last three. */
static inline int64_t
N(roi_add)(N(RoiTap) *t, int64_t n, int64_t most, int64_t at, T weight)
{
	for (int64_t i = n - 1; i >= 0 && i >= n - 3; i--)
		if (t[i].at == at) {
			t[i].weight += weight;
			return n;
		}
	if (n < most)
		t[n++] = (N(RoiTap)){ at, weight };
	return n;
}

/* Computes the taps of bin i over n elements. Returns their number. */
static inline int64_t
N(roi_taps)(const N(RoiSide) *s, int64_t i, int64_t n, N(RoiTap) *t)
{
	const T step = (T)((double)i * s->bin), start = s->first + step;
	int64_t count = 0;

	for (int64_t k = 0; k < s->points && n > 0; k++) {
		const T part = (T)(((double)k + 0.5) * s->bin), more = part / (T)s->points, at = start + more;
		const T in = at > 0 ? at : 0;
		int64_t low;

		if (!(at >= -1 && at <= (T)n))
			continue;
		low = (int64_t)in;
		if (low >= n - 1) {
			count = N(roi_add)(t, count, n, n - 1, 1);
			continue;
		}
		count = N(roi_add)(t, count, n, low, 1 - (in - (T)low));
		count = N(roi_add)(t, count, n, low + 1, in - (T)low);
	}
	return count;
}

/* ---- contiguous channels ----------------------------------------------------------------------------------------- */

typedef struct N(RoiSum) { int n; const T *x[4]; T weight[4]; } N(RoiSum);

/* Adds the sum of the taps to y. With `first`, stores it instead. */
static inline void
N(roi_four)(const RoiBins *g, N(RoiSum) *s, bool first, T *restrict y)
{
	const T w0 = s->weight[0], w1 = s->weight[1], w2 = s->weight[2], w3 = s->weight[3];
	const T *x0 = s->x[0], *x1 = s->x[1], *x2 = s->x[2], *x3 = s->x[3];

	if (s->n < 4) {
		for (int64_t c = 0; c < g->channels && first; c++)
			y[c] = 0;
		for (int k = 0; k < s->n; k++)
			for (int64_t c = 0; c < g->channels; c++)
				y[c] += s->weight[k] * s->x[k][c];
	} else if (first) {
		for (int64_t c = 0; c < g->channels; c++)
			y[c] = w0 * x0[c] + w1 * x1[c] + w2 * x2[c] + w3 * x3[c];
	} else {
		for (int64_t c = 0; c < g->channels; c++)
			y[c] += w0 * x0[c] + w1 * x1[c] + w2 * x2[c] + w3 * x3[c];
	}
	s->n = 0;
}

static inline void
N(roi_bin)(const RoiBins *g, const N(RoiTap) *rows, int64_t nrow, const N(RoiTap) *columns, int64_t ncolumn,
	   const T *x, T *y)
{
	N(RoiSum) s = { 0 };
	bool first = true;

	for (int64_t a = 0; a < nrow; a++)
		for (int64_t b = 0; b < ncolumn; b++) {
			s.x[s.n] = x + rows[a].at * g->x[0] + columns[b].at * g->x[1];
			s.weight[s.n++] = rows[a].weight * columns[b].weight;
			if (s.n == 4) {
				N(roi_four)(g, &s, first, y);
				first = false;
			}
		}
	if (s.n || first)
		N(roi_four)(g, &s, first, y);
}

/* Computes a row of bins. y is the first bin. */
static inline void
N(roi_channels)(const RoiBins *g, const N(RoiRoom) *m, int64_t nrow, const T *x, T *y)
{
	const int64_t width = g->out[1];

	for (int64_t j = 0; j < width; j++)
		N(roi_bin)(g, m->rows, nrow, m->columns + j * g->in[1], m->n[j], x,
			  g->yc == 1 ? y + j * g->y[1] : m->line + j * g->channels);
	for (int64_t c = 0; c < g->channels && g->yc != 1; c++)
		for (int64_t j = 0; j < width; j++)
			y[c * g->yc + j * g->y[1]] = m->line[j * g->channels + c];
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* Computes a row of bins of one channel, which reads columns from `low` to `high`. */
static inline void
N(roi_plane)(const RoiBins *g, const N(RoiRoom) *m, int64_t nrow, int64_t low, int64_t high, const T *x, T *y)
{
	T *restrict line = m->line;

	for (int64_t a = 0; a < nrow; a++) {
		const T *row = x + m->rows[a].at * g->x[0], w = m->rows[a].weight;

		for (int64_t i = low; i <= high && g->x[1] == 1; i++)
			line[i] = (a ? line[i] : 0) + w * row[i];
		for (int64_t i = low; i <= high && g->x[1] != 1; i++)
			line[i] = (a ? line[i] : 0) + w * row[i * g->x[1]];
	}
	for (int64_t j = 0; j < g->out[1]; j++) {
		const N(RoiTap) *t = m->columns + j * g->in[1];
		T sum = 0;

		for (int64_t k = 0; k < m->n[j] && nrow; k++)
			sum += t[k].weight * line[t[k].at];
		y[j * g->y[1]] = sum;
	}
}

static inline void
N(roi_planes)(const RoiBins *g, const N(RoiRoom) *m, int64_t nrow, const T *x, T *y)
{
	int64_t low = g->in[1], high = -1;

	for (int64_t j = 0; j < g->out[1]; j++)
		for (int64_t k = 0; k < m->n[j]; k++) {
			const int64_t at = m->columns[j * g->in[1] + k].at;

			low = at < low ? at : low;
			high = at > high ? at : high;
		}
	for (int64_t c = 0; c < g->channels; c++)
		N(roi_plane)(g, m, nrow, low, high, x + c * g->xc, y + c * g->yc);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static inline void
N(roi_region)(const RoiBins *g, const T *roi, const N(RoiRoom) *m, const T *x, T *y)
{
	const N(RoiSide) w = N(roi_side)(g, roi[g->rc], roi[3 * g->rc], g->out[1]);
	const N(RoiSide) h = N(roi_side)(g, roi[2 * g->rc], roi[4 * g->rc], g->out[0]);
	const T share = 1 / ((T)h.points * (T)w.points);

	for (int64_t j = 0; j < g->out[1]; j++)
		m->n[j] = N(roi_taps)(&w, j, g->in[1], m->columns + j * g->in[1]);
	for (int64_t i = 0; i < g->out[0]; i++) {
		const int64_t nrow = N(roi_taps)(&h, i, g->in[0], m->rows);

		for (int64_t a = 0; a < nrow; a++)
			m->rows[a].weight *= share;
		if (g->xc == 1 && g->channels > 1)
			N(roi_channels)(g, m, nrow, x, y + i * g->y[0]);
		else
			N(roi_planes)(g, m, nrow, x, y + i * g->y[0]);
	}
}

/* Computes regions [begin, end). room has vs_regions() bytes. Returns false at a region whose image does not exist; the
 * regions before it are computed. */
static inline bool
N(roi_align)(int64_t begin, int64_t end, const RoiBins *g, const T *x, const T *rois, T *y, void *room)
{
	const N(RoiRoom) m = N(roi_room)(g, room);

	for (int64_t k = begin; k < end; k++) {
		const T *roi = rois + k * g->rn;

		if (!(roi[0] >= 0 && roi[0] < (T)g->images))
			return false;
		N(roi_region)(g, roi, &m, x + (int64_t)roi[0] * g->xn, y + k * g->yn);
	}
	return true;
}

/* The same in a generated kernel: sets *wrong at such a region. room: null if memory is exhausted. */
static inline void
N(roi_regions)(int64_t begin, int64_t end, const RoiBins *g, void *room, const T *x, const T *rois, T *y, int *wrong)
{
	if (room && !N(roi_align)(begin, end, g, x, rois, y, room))
		*wrong = 1;
}

#undef T
#undef N
