/*
 * Convolutions with zeros among their taps, computed in parts.
 *
 * A transposed convolution is computed by one convolution for all its phases (convtransposed.c).  If its stride does
 * not divide its window, some phases have fewer taps, and their weights are zero at one end of the window.
 * Neighbouring columns with nonzero weights in the same inputs and taps form a box.  Each box is computed as a
 * convolution of its own, with these taps only.
 */
#include "dense.h"

#include <string.h>

static bool
same_sides(const Box *a, const Box *b)
{
	return !memcmp(a->from, b->from, sizeof a->from) && !memcmp(a->to, b->to, sizeof a->to);
}

static float
weight_at(const Emit *e, const RtTensor *w, int64_t at)
{
	const Widened *halves = storage_widened(e->cx, w->storage);
	float x;

	if (!halves)
		return ((const float *)w->storage->data)[at];
	widened_row(halves, at, 1, 1, &x);
	return x;
}

/* Are all weights of the column in the box zero? */
static bool
all_zeros(const Emit *e, const RtTensor *w, int64_t column, const Box *b)
{
	const int64_t at = w->offset + column * w->strides[0];

	for (int64_t k = b->from[0]; k < b->to[0]; k++)
		for (int64_t r = b->from[1]; r < b->to[1]; r++)
			for (int64_t s = b->from[2]; s < b->to[2]; s++)
				if (weight_at(e, w, at + k * w->strides[1] + r * w->strides[2] +
					      s * w->strides[3]) != 0)
					return false;
	return true;
}

/* Returns the smallest box around the nonzero weights of a column. */
static Box
box_of(const Emit *e, const RtTensor *w, int64_t column)
{
	Box b = { .first = column, .n = 1, .to = { w->dims[1], w->dims[2], w->dims[3] } };

	for (int side = 0; side < BOX_SIDES; side++) {
		Box slice = b;

		for (; b.to[side] - b.from[side] > 1; b.from[side]++) {
			slice.from[side] = b.from[side];
			slice.to[side] = b.from[side] + 1;
			if (!all_zeros(e, w, column, &slice))
				break;
		}
		for (; b.to[side] - b.from[side] > 1; b.to[side]--) {
			slice.from[side] = b.to[side] - 1;
			slice.to[side] = b.to[side];
			if (!all_zeros(e, w, column, &slice))
				break;
		}
	}
	return b;
}

/* Returns the number of products of a pixel, including those of empty lanes. */
static int64_t
box_cost(const Emit *e, const Box *b)
{
	const int64_t some = e->vf == 16 ? 8 : e->vf, lanes = (b->n + some - 1) / some * some;

	return lanes * (b->to[0] - b->from[0]) * (b->to[1] - b->from[1]) * (b->to[2] - b->from[2]);
}

/* Splits the columns into boxes by their taps. Returns whether computing these separately is faster. */
bool
boxes_find(const Emit *e, Dense *d)
{
	const RtTensor *w = d->w;
	Box all = { .n = d->n, .to = { d->k, d->geometry.kh, d->geometry.kw } };
	int64_t cost = 0;

	d->nbox = 0;
	if (d->form != IN_PANELS || w->ndim != 4 || d->groups > 1 || (all.to[1] == 1 && all.to[2] == 1))
		return false;
	for (int64_t column = 0; column < d->n; column++) {
		const Box b = box_of(e, w, column);

		if (d->nbox && same_sides(&d->box[d->nbox - 1], &b))
			d->box[d->nbox - 1].n++;
		else if (d->nbox == BOXES)
			return false;
		else
			d->box[d->nbox++] = b;
	}
	for (int i = 0; i < d->nbox; i++)
		cost += box_cost(e, &d->box[i]);
	return d->nbox > 1 && cost * 8 < box_cost(e, &all) * 7;
}

bool
boxes_are_sparse(const Dense *d)
{
	int64_t weights = 0;

	for (int i = 0; i < d->nbox; i++) {
		const Box *b = &d->box[i];

		weights += b->n * (b->to[0] - b->from[0]) * (b->to[1] - b->from[1]) * (b->to[2] - b->from[2]);
	}
	return 2 * weights < d->n * d->k * dense_taps(d);
}

Dense
boxes_one(const Dense *d, const Box *b)
{
	Dense one = *d;
	ConvSizes *g = &one.geometry;

	one.form = IN_PANELS;
	one.n = g->oc = b->n;
	one.k = g->ic = b->to[BOX_CHANNELS] - b->from[BOX_CHANNELS];
	g->kh = b->to[BOX_ROWS] - b->from[BOX_ROWS];
	g->kw = b->to[BOX_COLUMNS] - b->from[BOX_COLUMNS];
	g->ph -= b->from[BOX_ROWS] * g->dh;
	g->pw -= b->from[BOX_COLUMNS] * g->dw;
	return one;
}

double
boxes_products(const Dense *d)
{
	double sum = 0;

	for (int i = 0; i < d->nbox; i++) {
		const Dense one = boxes_one(d, &d->box[i]);

		sum += (double)(one.n * one.k * one.geometry.kh * one.geometry.kw);
	}
	return sum * (double)d->m / (double)(d->n * d->k);
}

const char *
boxes_pack(Emit *e, const Dense *d, const Box *b)
{
	const Dense one = boxes_one(d, b);
	const int64_t *s = d->w->strides;
	RtPacking p = dense_packing(e, &one);

	p.to += b->first * s[0] + b->from[0] * s[1] + b->from[1] * s[2] + b->from[2] * s[3];
	return pack_panels(e, WEIGHT_PANELS, d->w, p, 1, 1);
}
