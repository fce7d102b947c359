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

int
boxes_find(const Emit *e, const DenseNode *d, Box *box)
{
	const Windows *v = &d->windows;
	Box all = { .n = d->n, .to = { d->k, v->taps[0], v->taps[1] } };
	int64_t cost = 0;
	int n = 0;

	if (v->places != 2 || d->groups > 1 || (v->taps[0] == 1 && v->taps[1] == 1))
		return 0;
	for (int64_t column = 0; column < d->n; column++) {
		const Box b = box_of(e, d->w, column);

		if (n && same_sides(&box[n - 1], &b))
			box[n - 1].n++;
		else if (n == BOXES)
			return 0;
		else
			box[n++] = b;
	}
	for (int i = 0; i < n; i++)
		cost += box_cost(e, &box[i]);
	return n > 1 && cost * 8 < box_cost(e, &all) * 7 ? n : 0;
}

bool
boxes_are_sparse(const DenseNode *d, const Box *box, int n)
{
	int64_t weights = 0;

	for (const Box *b = box; b < box + n; b++)
		weights += b->n * (b->to[0] - b->from[0]) * (b->to[1] - b->from[1]) * (b->to[2] - b->from[2]);
	return 2 * weights < d->n * d->k * d->windows.taps[0] * d->windows.taps[1];
}
