/* rt/ops/vgrid_loops.h - sampling at grid points (grid_sampler) for one element type T, in the interpreter and
 * generated kernels. N(name) is the name of a function for T. F(floor) is the function of math.h, which must be
 * included before.
 *
 * A unit of work is VG_POINTS points of an image, or fewer at its end. Coordinates, taps and weights are computed once
 * for all channels. Then the loops run over channels and points, or over points and channels if channels are
 * contiguous.
 *
 * NaN and infinite coordinates have the results of ATen 1.13, whose kernels for images and volumes differ. In an image,
 * a tap outside counts as zero times its weight, so that a NaN weight gives NaN. In a volume it does not count.
 *
 * Coordinates have the same bits in both, so that both choose the same nearest element. Products and sums are in
 * separate loops, where no compiler contracts them. */
#ifndef RT_OPS_VGRID_LOOPS_H
#define RT_OPS_VGRID_LOOPS_H

enum { VG_BILINEAR, VG_NEAREST, VG_BICUBIC };            /* modes of aten::grid_sampler */
enum { VG_ZEROS, VG_BORDER, VG_REFLECTION };
enum { VG_POINTS = 64, VG_TAPS = 16 };    /* number of points of a unit of work; largest number of taps of a point */

/* Dims are depth, height and width; an image has a depth of 1.  Strides are in elements. */
typedef struct VgGrid {
	int     nd, mode, padding;
	bool    align;
	int64_t channels, in[3], out[3];                 /* in: at most INT32_MAX */
	/* strides of images, channels and dims; gc: stride of coordinates */
	int64_t xn, xc, x[3], yn, yc, y[3], gn, gc, g[3];
} VgGrid;

static inline int64_t
vg_strips(const VgGrid *g)
{
	return (g->out[0] * g->out[1] * g->out[2] + VG_POINTS - 1) / VG_POINTS;
}

/* Whether the loops run over channels and points: 32-bit offsets must suffice within a plane, channels must not be
 * contiguous, and the result's points must be contiguous. */
static inline bool
vg_by_planes(const VgGrid *g)
{
	int64_t last = 0;

	for (int d = 0; d < 3; d++)
		last += (g->in[d] - 1) * g->x[d];
	return (g->xc != 1 || g->channels == 1) && last < 0x7fffffff && (g->out[2] == 1 || g->y[2] == 1) &&
	       (g->out[1] == 1 || g->y[1] == g->out[2]) && (g->out[0] == 1 || g->y[0] == g->out[1] * g->out[2]);
}

#endif

/* Taps of some points along one dim: indices of inputs, -1 for those outside, and their weights. */
typedef struct N(VgTaps) {
	int     n;
	int32_t at[4][VG_POINTS];
	T       weight[4][VG_POINTS];
} N(VgTaps);

/* ---- coordinates ------------------------------------------------------------------------------------------------- */

/* Maps grid coordinates from [-1, 1] to indices of n inputs. Overflows for the same numbers as ATen. */
static inline void
N(vg_scale)(const VgGrid *g, int64_t n, int count, T *s)
{
	const bool whole = !g->align && g->nd == 3;
	const T by = (T)(g->align ? n - 1 : n) / (whole ? 1 : 2), less = g->align ? 0 : whole ? 1 : (T)0.5;
	const T half = whole ? (T)0.5 : 1;

	for (int j = 0; j < count; j++)
		s[j] = (s[j] + 1) * by;
	for (int j = 0; j < count; j++)
		s[j] = (s[j] - less) * half;
}

static inline void
N(vg_reflect)(bool align, int64_t n, int count, T *s)
{
	const T low = align ? 0 : (T)-0.5, twice = 2 * (T)(align ? n - 1 : n);
	T turns[VG_POINTS];

	for (int j = 0; j < count; j++)
		s[j] = twice == 0 ? 0 : F(fabs)(s[j] - low);
	for (int j = 0; j < count; j++)
		turns[j] = twice == 0 ? 0 : F(trunc)(s[j] / twice) * twice;
	for (int j = 0; j < count; j++) {
		const T rest = s[j] - turns[j];

		s[j] = twice == 0 ? 0 : (rest < twice - rest ? rest : twice - rest) + low;
	}
}

static inline void
N(vg_reflect_in_volume)(bool align, int64_t n, int count, T *s)
{
	const T low = align ? 0 : (T)-0.5, span = (T)(align ? n - 1 : n);

	for (int j = 0; j < count; j++) {
		const T x = F(fabs)(s[j] - low), rest = F(fmod)(x, span), turns = F(floor)(x / span);
		const bool odd = turns < (T)0x7fffffff && (int32_t)turns % 2;

		s[j] = span == 0 ? 0 : (odd ? span - rest : rest) + low;
	}
}

/* Applies the padding mode to coordinates. */
static inline void
N(vg_bound)(const VgGrid *g, int64_t n, int count, T *s)
{
	const T last = (T)(n - 1);

	if (g->padding == VG_ZEROS)
		return;
	if (g->padding == VG_REFLECTION)
		(g->nd == 2 ? N(vg_reflect) : N(vg_reflect_in_volume))(g->align, n, count, s);
	for (int j = 0; j < count && g->nd == 2; j++)
		s[j] = s[j] == s[j] ? s[j] : 0;
	for (int j = 0; j < count; j++)
		s[j] = s[j] < 0 ? 0 : s[j] < last ? s[j] : last;
}

/* ---- taps -------------------------------------------------------------------------------------------------------- */

/* Sets `at` to the indices of the inputs at s + more. */
static inline void
N(vg_inputs)(int64_t n, int count, const T *s, T more, int32_t *at)
{
	const int32_t last = (int32_t)(n - 1);

	for (int j = 0; j < count; j++) {
		const T x = s[j] + more;
		const bool in = x >= 0 && x < (T)n;
		const int32_t i = (int32_t)(in ? x : 0);

		at[j] = in ? (i < last ? i : last) : -1;
	}
}

static inline void
N(vg_cubic)(const VgGrid *g, int64_t n, int count, const T *s, N(VgTaps) *t)
{
	const T a = (T)-0.75;
	T floors[VG_POINTS], place[VG_POINTS];

	t->n = 4;
	for (int j = 0; j < count; j++)
		floors[j] = F(floor)(s[j]);
	for (int j = 0; j < count; j++) {
		const T x1 = s[j] - floors[j], x2 = 1 - x1, x0 = x1 + 1, x3 = x2 + 1;

		t->weight[0][j] = ((a * x0 - 5 * a) * x0 + 8 * a) * x0 - 4 * a;
		t->weight[1][j] = ((a + 2) * x1 - (a + 3)) * x1 * x1 + 1;
		t->weight[2][j] = ((a + 2) * x2 - (a + 3)) * x2 * x2 + 1;
		t->weight[3][j] = ((a * x3 - 5 * a) * x3 + 8 * a) * x3 - 4 * a;
	}
	for (int k = 0; k < 4; k++) {
		for (int j = 0; j < count; j++)
			place[j] = floors[j] + (T)(k - 1);
		N(vg_bound)(g, n, count, place);
		N(vg_inputs)(n, count, place, 0, t->at[k]);
	}
}

/* Rounds to integers, with ties away from zero if `away`, and otherwise to even. */
static inline void
N(vg_round)(bool away, int count, const T *s, T *whole)
{
	for (int j = 0; j < count && !away; j++)
		whole[j] = F(rint)(s[j]);
	for (int j = 0; j < count && away; j++) {
		const T cut = F(trunc)(s[j]), rest = s[j] - cut;

		whole[j] = cut + (T)(rest >= (T)0.5) - (T)(rest <= (T)-0.5);
	}
}

/* Computes taps along one dim. s has the grid coordinates, which are overwritten. */
static inline void
N(vg_taps)(const VgGrid *g, int64_t n, int count, T *s, N(VgTaps) *t)
{
	T floors[VG_POINTS];

	N(vg_scale)(g, n, count, s);
	if (g->mode == VG_BICUBIC) {
		N(vg_cubic)(g, n, count, s, t);
		return;
	}
	N(vg_bound)(g, n, count, s);
	t->n = g->mode == VG_NEAREST ? 1 : 2;
	if (g->mode == VG_NEAREST) {
		N(vg_round)(g->nd == 3, count, s, floors);
		for (int j = 0; j < count; j++)
			t->weight[0][j] = 1;
		N(vg_inputs)(n, count, floors, 0, t->at[0]);
		return;
	}
	for (int j = 0; j < count; j++) {
		floors[j] = F(floor)(s[j]);
		t->weight[1][j] = s[j] - floors[j];
		t->weight[0][j] = 1 - t->weight[1][j];
	}
	N(vg_inputs)(n, count, floors, 0, t->at[0]);
	N(vg_inputs)(n, count, floors, 1, t->at[1]);
}

/* Computes the taps of `count` points from point `first` on, by dim, and their offsets in the result. */
static inline void
N(vg_locate)(const VgGrid *g, const T *grid, int64_t first, int count, N(VgTaps) *t, int64_t *to)
{
	int64_t w = first % g->out[2], h = first / g->out[2] % g->out[1], d = first / g->out[2] / g->out[1];
	T s[3][VG_POINTS];

	for (int j = 0; j < count; j++) {
		const T *at = grid + d * g->g[0] + h * g->g[1] + w * g->g[2];

		for (int i = 3 - g->nd; i < 3; i++)
			s[i][j] = at[(2 - i) * g->gc];
		to[j] = d * g->y[0] + h * g->y[1] + w * g->y[2];
		if (++w == g->out[2]) {
			w = 0;
			if (++h == g->out[1]) {
				h = 0;
				d++;
			}
		}
	}
	for (int i = 3 - g->nd; i < 3; i++)
		N(vg_taps)(g, g->in[i], count, s[i], &t[i]);
	for (int j = 0; j < count && g->nd == 2; j++) {
		t[0].n = 1;
		t[0].at[0][j] = 0;
		t[0].weight[0][j] = 1;
	}
}

/* ---- planes: contiguous points ----------------------------------------------------------------------------------- */

/* Taps of all dims combined: offsets in a plane, weights, and zero times the weights of taps outside. */
typedef struct N(VgSum) {
	int     n;
	int32_t at[VG_TAPS][VG_POINTS];
	T       weight[VG_TAPS][VG_POINTS], none[VG_POINTS];
} N(VgSum);

static inline void
N(vg_tap)(const VgGrid *g, int count, const N(VgTaps) *t, const int *k, N(VgSum) *sum)
{
	const int32_t *z = t[0].at[k[0]], *y = t[1].at[k[1]], *x = t[2].at[k[2]];
	const T *zw = t[0].weight[k[0]], *yw = t[1].weight[k[1]], *xw = t[2].weight[k[2]];
	const int32_t zs = (int32_t)g->x[0], ys = (int32_t)g->x[1], xs = (int32_t)g->x[2];
	int32_t *at = sum->at[sum->n];
	T *weight = sum->weight[sum->n++];

	for (int j = 0; j < count; j++) {
		const bool in = (z[j] | y[j] | x[j]) >= 0;
		const T w = zw[j] * yw[j] * xw[j];

		at[j] = in ? z[j] * zs + y[j] * ys + x[j] * xs : -1;
		weight[j] = in ? w : 0;
		sum->none[j] += in || g->nd == 3 ? 0 : w * 0;
	}
}

/* Stores the sum of four taps in y, or adds it to y. */
static inline void
N(vg_four)(int count, const N(VgSum) *sum, int first, const T *x, T *y)
{
	for (int j = 0; j < count; j++) {
		T all = first ? y[j] : sum->none[j];

		for (int k = 0; k < 4; k++) {
			const int32_t at = sum->at[first + k][j];
			const T v = x[at < 0 ? 0 : at];

			all += sum->weight[first + k][j] * (at < 0 ? 0 : v);
		}
		y[j] = all;
	}
}

static inline void
N(vg_planes)(const VgGrid *g, int count, const N(VgTaps) *t, const T *x, T *y)
{
	N(VgSum) sum;
	int k[3];

	sum.n = 0;
	for (int j = 0; j < count; j++)
		sum.none[j] = 0;
	for (k[0] = 0; k[0] < t[0].n; k[0]++)
		for (k[1] = 0; k[1] < t[1].n; k[1]++)
			for (k[2] = 0; k[2] < t[2].n; k[2]++)
				N(vg_tap)(g, count, t, k, &sum);
	for (int64_t c = 0; c < g->channels; c++, x += g->xc, y += g->yc) {
		for (int i = 0; i + 4 <= sum.n; i += 4)
			N(vg_four)(count, &sum, i, x, y);
		for (int j = 0; j < count && sum.n == 1; j++) {
			const T v = x[sum.at[0][j] < 0 ? 0 : sum.at[0][j]];

			y[j] = sum.at[0][j] < 0 ? 0 : v;
		}
	}
}

/* ---- points: channels, which may be contiguous ------------------------------------------------------------------- */

/* Taps of one point: n inputs inside of the image, and the term that taps outside add. */
typedef struct N(VgPoint) {
	int      n;
	const T *x[VG_TAPS];
	T        weight[VG_TAPS], none;
} N(VgPoint);

static inline void
N(vg_point)(const VgGrid *g, int j, const N(VgTaps) *t, const T *x, N(VgPoint) *p)
{
	p->n = 0;
	p->none = 0;
	for (int a = 0; a < t[0].n; a++)
		for (int b = 0; b < t[1].n; b++)
			for (int e = 0; e < t[2].n; e++) {
				const int64_t d = t[0].at[a][j], h = t[1].at[b][j], w = t[2].at[e][j];
				const T weight = t[0].weight[a][j] * t[1].weight[b][j] * t[2].weight[e][j];

				if ((d | h | w) < 0) {
					p->none += g->nd == 3 ? 0 : weight * 0;
					continue;
				}
				p->x[p->n] = x + d * g->x[0] + h * g->x[1] + w * g->x[2];
				p->weight[p->n++] = weight;
			}
}

static inline void
N(vg_channels)(int64_t channels, int64_t xc, int64_t yc, bool nearest, const N(VgPoint) *p, T *restrict y)
{
	int k = 0;

	for (int64_t c = 0; c < channels && !p->n; c++)
		y[c * yc] = p->none;
	for (int64_t c = 0; c < channels && nearest && p->n; c++)
		y[c * yc] = p->x[0][c * xc];
	if (nearest)
		return;
	for (; k + 4 <= p->n; k += 4) {
		const T *const *x = p->x + k, *w = p->weight + k;
		const T *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
		const T w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];

		for (int64_t c = 0; c < channels; c++)
			y[c * yc] = (k ? y[c * yc] : p->none) + w0 * x0[c * xc] + w1 * x1[c * xc] + w2 * x2[c * xc] +
				    w3 * x3[c * xc];
	}
	for (; k < p->n; k++)
		for (int64_t c = 0; c < channels; c++)
			y[c * yc] = (k ? y[c * yc] : p->none) + p->weight[k] * p->x[k][c * xc];
}

static inline void
N(vg_points)(const VgGrid *g, int count, const N(VgTaps) *t, const int64_t *to, const T *x, T *y)
{
	const bool nearest = g->mode == VG_NEAREST;
	N(VgPoint) p;

	for (int j = 0; j < count; j++) {
		N(vg_point)(g, j, t, x, &p);
		if (g->xc == 1 && g->yc == 1)
			N(vg_channels)(g->channels, 1, 1, nearest, &p, y + to[j]);
		else
			N(vg_channels)(g->channels, g->xc, g->yc, nearest, &p, y + to[j]);
	}
}

/* Computes units [begin, end) of all images. */
static inline void
N(vg_sample)(int64_t begin, int64_t end, const VgGrid *g, const T *x, const T *grid, T *y)
{
	const int64_t strips = vg_strips(g), points = g->out[0] * g->out[1] * g->out[2];
	const bool planes = vg_by_planes(g);
	int64_t to[VG_POINTS];
	N(VgTaps) t[3];

	for (int64_t i = begin; i < end; i++) {
		const int64_t n = i / strips, first = i % strips * VG_POINTS;
		const int count = (int)(points - first < VG_POINTS ? points - first : VG_POINTS);

		N(vg_locate)(g, grid + n * g->gn, first, count, t, to);
		if (planes)
			N(vg_planes)(g, count, t, x + n * g->xn, y + n * g->yn + to[0]);
		else
			N(vg_points)(g, count, t, to, x + n * g->xn, y + n * g->yn);
	}
}

#undef T
#undef N
#undef F
