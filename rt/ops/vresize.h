/* rt/ops/vresize.h - interpolation in generated kernels: tables of taps along one dim, and rows
 *
 * Scales are floats. Coordinates are computed in double, and those of antialiasing in float, as in the eager kernels
 * (resample.c) and ATen 1.13, so that floors are the same. */
#ifndef RT_OPS_VRESIZE_H
#define RT_OPS_VRESIZE_H

#include "vtaps.h"

#define VZ_INLINE static inline __attribute__((always_inline)) /* inlined, so that shapes are constants in the loops */

/* Taps of each output along one dim: `at` (out, taps) and weight (out, taps). n (out) is the number of taps, for
 * antialiased kinds. */
typedef struct VzTable { int64_t taps, *n, *at; float *weight; } VzTable;

static inline void
vz_linear(const VzDim *d, const VzTable *t)
{
	const float scale = vz_scale(d);

	for (int64_t o = 0; o < d->out; o++) {
		double middle = d->align ? (double)scale * (double)o : (double)scale * ((double)o + 0.5) - 0.5, rest;
		int64_t *at = t->at + 2 * o;
		float *weight = t->weight + 2 * o;

		if (d->in == d->out)
			middle = (double)o;
		middle = middle < 0 ? 0 : middle;
		at[0] = d->in == d->out ? o : (int64_t)middle < d->in - 1 ? (int64_t)middle : d->in - 1;
		at[1] = at[0] + (at[0] < d->in - 1);
		rest = d->in == d->out ? 0 : middle - (double)at[0];
		weight[1] = rest < 1 ? (float)rest : 1;
		weight[0] = 1 - weight[1];
	}
}

static inline void
vz_cubic(const VzDim *d, const VzTable *t)
{
	const double scale = (double)vz_scale(d), half = d->align ? 0 : 0.5;

	for (int64_t o = 0; o < d->out; o++) {
		const double middle = scale * ((double)o + half) - half, first = floor(middle);
		const float rest = (float)(middle - first);

		for (int k = 0; k < 4; k++) {
			const int64_t i = (int64_t)first - 1 + k;

			t->at[4 * o + k] = i < 0 ? 0 : i < d->in ? i : d->in - 1;
			t->weight[4 * o + k] = (float)vz_keys((double)rest + 1 - k, -0.75);
		}
	}
}

static inline void
vz_smooth(VzKind kind, const VzDim *d, const VzTable *t)
{
	const float scale = vz_scale(d), wide = scale > 1 ? scale : 1, inverse = scale > 1 ? 1 / scale : 1;
	const float support = wide * (float)vz_reach(kind);

	for (int64_t o = 0; o < d->out; o++) {
		const float centre = scale * ((float)o + 0.5f);
		const int64_t lo = (int64_t)(centre - support + 0.5f), hi = (int64_t)(centre + support + 0.5f);
		const int64_t from = lo < 0 ? 0 : lo, n = (hi < d->in ? hi : d->in) - from;
		float *weight = t->weight + o * t->taps, total = 0;

		t->n[o] = n < 0 ? 0 : n < t->taps ? n : t->taps;
		for (int64_t k = 0; k < t->n[o]; k++) {
			t->at[o * t->taps + k] = from + k;
			weight[k] = (float)vz_filter(kind, (double)(((float)(k + from) - centre + 0.5f) * inverse));
			total += weight[k];
		}
		for (int64_t k = 0; k < t->n[o] && total != 0; k++)
			weight[k] /= total;
	}
}

/* Computes a table in the next bytes of *room, and moves *room behind it. */
static inline VzTable
vz_table(VzKind kind, const VzDim *d, char **room)
{
	VzTable t = { vz_taps(kind, d), (int64_t *)(void *)*room, 0, 0 };

	t.at = t.n + d->out;
	t.weight = (float *)(void *)(t.at + d->out * t.taps);
	*room += vs_table(t.taps, d->out);
	if (kind == VZ_LINEAR)
		vz_linear(d, &t);
	else if (kind == VZ_CUBIC)
		vz_cubic(d, &t);
	else
		vz_smooth(kind, d, &t);
	return t;
}

/* Whether every element of `in` is read by exactly two consecutive outputs. */
static inline int
vz_doubles(const int64_t *at, int64_t out, int64_t in)
{
	int64_t j = 0;

	while (out == 2 * in && j < out && at[j] == j / 2)
		j++;
	return j == out;
}

/* Sizes of an interpolation. Rows of the input are first widened to the result's width, each once while consecutive
 * rows of the result read it, and then weighted. A pixel has `channels` contiguous numbers. xrow and xstep are the
 * strides of rows and pixels of x. */
typedef struct VzShape { VzKind kind; int64_t width, channels, xrow, xstep, ystep; } VzShape;
/* Widened rows (slots, width * channels). of (slots) is the input row of each. slot (slots) is a buffer for the slots
 * that one row of the result reads. */
typedef struct VzWide { int64_t slots, *slot; const float **of; float *row; } VzWide;

static inline VzWide
vz_slots(int64_t slots, char *room)
{
	VzWide v = { slots, (int64_t *)(void *)room, (const float **)(void *)(room + slots * 8),
		     (float *)(void *)(room + slots * 16) };

	for (int64_t i = 0; i < slots; i++)
		v.of[i] = 0;
	return v;
}

typedef struct VzTaps { int64_t n; const int64_t *at; const float *weight; } VzTaps;

/* Returns the taps of output o. Their number is a constant except for antialiased kinds. */
VZ_INLINE VzTaps
vz_taps_of(const VzShape *s, const VzTable *t, int64_t o)
{
	const int64_t always = vz_taps_always(s->kind), taps = always ? always : t->taps;

	return (VzTaps){ always ? always : t->n[o], t->at + o * taps, t->weight + o * taps };
}

/* Sets to[c], for c < run, to the weighted sum of x[at[k] * step + c]. */
VZ_INLINE void
vz_weigh_any(VzTaps t, const float *x, int64_t step, int64_t run, float *to)
{
	IVDEP
	for (int64_t c = 0; c < run; c++)
		to[c] = t.n ? t.weight[0] * x[t.at[0] * step + c] : 0;
	for (int64_t k = 1; k < t.n; k++) {
		const float *more = x + t.at[k] * step, w = t.weight[k];

		IVDEP
		for (int64_t c = 0; c < run; c++)
			to[c] += w * more[c];
	}
}

VZ_INLINE void
vz_weigh(VzTaps t, const float *x, int64_t step, int64_t run, float *to)
{
	if (t.n == 4) {
		const float w0 = t.weight[0], w1 = t.weight[1], w2 = t.weight[2], w3 = t.weight[3];
		const float *x0 = x + t.at[0] * step, *x1 = x + t.at[1] * step;
		const float *x2 = x + t.at[2] * step, *x3 = x + t.at[3] * step;

		IVDEP
		for (int64_t c = 0; c < run; c++)
			to[c] = w0 * x0[c] + w1 * x1[c] + w2 * x2[c] + w3 * x3[c];
	} else if (t.n == 2) {
		const float w0 = t.weight[0], w1 = t.weight[1];
		const float *x0 = x + t.at[0] * step, *x1 = x + t.at[1] * step;

		IVDEP
		for (int64_t c = 0; c < run; c++)
			to[c] = w0 * x0[c] + w1 * x1[c];
	} else {
		vz_weigh_any(t, x, step, run, to);
	}
}

/* Widens a row, whose pixels are `step` apart. */
VZ_INLINE void
vz_widen(const VzShape *s, const VzTable *columns, const float *x, int64_t step, float *to)
{
	for (int64_t j = 0; j < s->width; j++)
		vz_weigh(vz_taps_of(s, columns, j), x, s->xstep, s->channels, to + j * step);
}

/* Computes row o of the result. `of` has the tables of rows and columns. */
VZ_INLINE void
vz_row(VzWide *v, const VzShape *s, const VzTable *of, int64_t o, const float *x, float *y)
{
	const VzTaps t = vz_taps_of(s, &of[0], o), slots = { t.n, v->slot, t.weight };
	const int64_t always = vz_taps_always(s->kind), all = s->width * s->channels;
	const int64_t run = s->ystep == s->channels ? all : s->channels;

	for (int64_t k = 0; k < t.n; k++) {
		const int64_t slot = t.at[k] % (always ? always : v->slots);
		const float *from = x + t.at[k] * s->xrow;

		if (v->of[slot] != from)
			vz_widen(s, &of[1], from, s->channels, v->row + slot * all);
		v->of[slot] = from;
		v->slot[k] = slot;
	}
	for (int64_t c = 0; c < all; c += run)
		vz_weigh(slots, v->row + c, all, run, y + c / s->channels * s->ystep);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* Sizes of an interpolation of images (n, c, h, w) to (n, c, oh, ow). Strides are in elements. lanes: whether the
 * channels of a pixel are contiguous in both tensors; else each is a plane. line: whether images have one row before
 * and after. exact: nearest-exact, which samples at the centres of pixels. */
typedef struct VzResize {
	VzKind  kind;
	int     lanes, line, exact;
	int64_t align, c, h, w, oh, ow, xn, xc, xh, xw, yn, yc, yh, yw;
	double  given_h, given_w;                /* scale factors of the call, or 0 */
} VzResize;

static inline int64_t
vz_weighed_room(const VzResize *v)
{
	const VzDim down = { v->h, v->oh, v->align, v->given_h }, across = { v->w, v->ow, v->align, v->given_w };

	return vs_resize(v->kind, &down, &across, v->lanes ? v->c : 1);
}

static inline int64_t
vz_copy_room(const VzResize *v)
{
	return (v->oh + v->ow) * (int64_t)sizeof(int64_t);
}

/* Computes rows [begin, end) of the result. room: vz_weighed_room() bytes, or null. */
VZ_INLINE void
vz_weighed(int64_t begin, int64_t end, const VzResize *v, void *room, const float *x, float *y)
{
	const int64_t channels = v->lanes ? v->c : 1, planes = v->lanes ? 1 : v->c;
	const VzDim down = { v->h, v->oh, v->align, v->given_h }, across = { v->w, v->ow, v->align, v->given_w };
	const VzShape shape = { v->kind, v->ow, channels, v->xh, v->xw, v->yw };
	char *at = room;
	VzTable of[2];
	VzWide wide = { 0 };

	if (!room)
		return;
	of[0] = vz_table(v->kind, &down, &at);
	of[1] = vz_table(v->kind, &across, &at);
	if (!v->line)
		wide = vz_slots(of[0].taps, at);
	for (int64_t row = begin; row < end; row++) {
		const int64_t i = row % v->oh, c = row / v->oh % planes, n = row / v->oh / planes;
		const float *from = x + n * v->xn + c * v->xc;
		float *to = y + n * v->yn + c * v->yc + i * v->yh;

		if (v->line)
			vz_widen(&shape, &of[1], from, shape.ystep, to);
		else
			vz_row(&wide, &shape, of, i, from, to);
	}
}

#define T uint8_t
#define N(name) name##_1
#include "vresize_loops.h"
#define T uint16_t
#define N(name) name##_2
#include "vresize_loops.h"
#define T float
#define N(name) name##_4
#include "vresize_loops.h"
#define T double
#define N(name) name##_8
#include "vresize_loops.h"

#endif
