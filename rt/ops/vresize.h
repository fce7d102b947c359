/* rt/ops/vresize.h - interpolation in generated kernels: the inputs of each output along one dim, bilinear rows
 *
 * Scales are floats; linear coordinates are computed in double, nearest ones in float, as in the eager kernels
 * (resample.c) and ATen 1.13, so that floors are the same.  given: the scale factor of the call; 0: the ratio of the
 * sizes.
 */
#ifndef RT_OPS_VRESIZE_H
#define RT_OPS_VRESIZE_H

#include "vscratch.h"

/* tap (out) */
static inline void
vz_linear(int64_t out, int64_t in, int align, double given, VzTap *tap)
{
	const float scale = align ? (out > 1 ? (float)(in - 1) / (float)(out - 1) : 0) :
		given > 0 ? (float)(1.0 / given) : (float)in / (float)out;

	for (int64_t o = 0; o < out; o++) {
		double middle = align ? (double)scale * (double)o : (double)scale * ((double)o + 0.5) - 0.5, rest;
		VzTap *t = &tap[o];

		if (in == out)
			middle = (double)o;
		middle = middle < 0 ? 0 : middle;
		t->at[0] = in == out ? o : (int64_t)middle < in - 1 ? (int64_t)middle : in - 1;
		t->at[1] = t->at[0] + (t->at[0] < in - 1);
		rest = in == out ? 0 : middle - (double)t->at[0];
		t->weight[1] = rest < 1 ? (float)rest : 1;
		t->weight[0] = 1 - t->weight[1];
	}
}

/* at (out) */
static inline void
vz_nearest(int64_t out, int64_t in, int exact, double given, int64_t *at)
{
	const float scale = given > 0 ? (float)(1.0 / given) : (float)in / (float)out;

	for (int64_t o = 0; o < out; o++) {
		const int64_t i = in == out && given <= 0 ? o : (int64_t)floorf(exact ? ((float)o + 0.5f) * scale :
			(float)o * scale);

		at[o] = i < in - 1 ? i : in - 1;
	}
}

/* Whether every place of `in` is read by two places of the result that follow each other, and by no other. */
static inline int
vz_doubles(const int64_t *at, int64_t out, int64_t in)
{
	int64_t j = 0;

	while (out == 2 * in && j < out && at[j] == j / 2)
		j++;
	return j == out;
}

/* Bilinear rows: rows of the input are made as wide as the result's first, each once as long as the result's rows that
 * lie between the same two follow each other, and then weighed.  A place has `channels` numbers side by side. */
typedef struct VzShape { int64_t width, channels, xstep, ystep; } VzShape;     /* of the result; from place to place */
typedef struct VzWide { float *row[2]; const float *of[2]; } VzWide;           /* (width * channels); made of these */

/* A row, whose places are `step` apart. */
static inline void
vz_widen(const VzShape *s, const VzTap *columns, const float *x, int64_t step, float *to)
{
	for (int64_t j = 0; j < s->width; j++) {
		const VzTap *w = &columns[j];
		const float *a = x + w->at[0] * s->xstep, *b = x + w->at[1] * s->xstep;
		const float l = w->weight[0], r = w->weight[1];
		float *at = to + j * step;

		IVDEP
		for (int64_t c = 0; c < s->channels; c++)
			at[c] = l * a[c] + r * b[c];
	}
}

/* The slot of the row x; where it has to be made, not that of `other`. */
static inline int
vz_slot(VzWide *v, const VzShape *s, const VzTap *columns, const float *x, const float *other)
{
	int slot = v->of[0] == x ? 0 : 1;

	if (v->of[slot] == x)
		return slot;
	slot = v->of[0] == other;
	vz_widen(s, columns, x, s->channels, v->row[slot]);
	v->of[slot] = x;
	return slot;
}

static inline void
vz_row(VzWide *v, const VzShape *s, const VzTap *h, const VzTap *columns, const float *x0, const float *x1, float *y)
{
	const float *a = v->row[vz_slot(v, s, columns, x0, x1)], *b = v->row[vz_slot(v, s, columns, x1, x0)];
	const int64_t run = s->ystep == s->channels ? s->width * s->channels : s->channels;
	const float l = h->weight[0], r = h->weight[1];

	for (int64_t at = 0; at < s->width * s->channels; at += run) {
		float *to = y + at / s->channels * s->ystep;

		IVDEP
		for (int64_t c = 0; c < run; c++)
			to[c] = l * a[at + c] + r * b[at + c];
	}
}

#endif
