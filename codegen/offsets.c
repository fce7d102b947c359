/*
 * Places in the arena for buffers of known sizes and lives: no two that are alive together may overlap.
 *
 * Buffers are placed one after the other, each where it is free all its life.  Largest first and each at the lowest such
 * place is best for most networks (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020:
 * greedy by size); where that leaves the arena larger than what is alive at one step, other orders are tried, and the
 * smallest gap that fits instead of the lowest, and the best of all is kept.
 */
#include "codegen.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

static int
by_size(const void *a, const void *b)
{
	const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : x->index - y->index;
}

static int
by_life(const void *a, const void *b)
{
	const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
	const int lx = x->last - x->first, ly = y->last - y->first;

	return lx != ly ? (lx < ly) - (lx > ly) : by_size(a, b);
}

static int
by_area(const void *a, const void *b)
{
	const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
	const double ax = (double)x->bytes * (x->last - x->first + 1), ay = (double)y->bytes * (y->last - y->first + 1);

	return ax != ay ? (ax < ay) - (ax > ay) : by_size(a, b);
}

static int
by_begin(const void *a, const void *b)
{
	const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;

	return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : by_size(a, b);
}

static int (*const orders[])(const void *, const void *) = { by_size, by_area, by_life, by_begin };
enum { NORDER = sizeof orders / sizeof *orders };

static bool
alive_together(const Buffer *a, const Buffer *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* Where b is free all its life: the lowest place, or the tightest.  placed: by offset. */
static int64_t
free_place(Buffer *const *placed, int n, const Buffer *b, bool tightest)
{
	int64_t at = 0, best = -1, least = INT64_MAX;

	for (int i = 0; i < n; i++) {
		const int64_t gap = placed[i]->offset - at, end = (placed[i]->offset + placed[i]->bytes + ALIGN - 1) / ALIGN * ALIGN;

		if (!alive_together(placed[i], b))
			continue;
		if (gap >= b->bytes && gap < least) {
			best = at;
			least = gap;
			if (!tightest)
				return at;
		}
		at = end > at ? end : at;
	}
	return best < 0 ? at : best;
}

/* All of them, in this order; the bytes of the arena. */
static int64_t
place_all(Buffer *const *order, int n, bool tightest, Buffer **placed)
{
	int64_t end = 0;

	for (int i = 0; i < n; i++) {
		Buffer *b = order[i];
		int at = i;

		b->offset = free_place(placed, i, b, tightest);
		for (; at > 0 && placed[at - 1]->offset > b->offset; at--)
			placed[at] = placed[at - 1];
		placed[at] = b;
		end = b->offset + b->bytes > end ? b->offset + b->bytes : end;
	}
	return end;
}

/* The arena can be no smaller than what is alive at one step, of all steps: the sum only grows where a buffer begins. */
int64_t
plan_least_arena(Buffer *const *buffers, int n)
{
	int64_t least = 0;

	for (int i = 0; i < n; i++) {
		int64_t sum = 0;

		for (int k = 0; k < n; k++)
			if (buffers[k]->first <= buffers[i]->first && buffers[i]->first <= buffers[k]->last)
				sum += buffers[k]->bytes;
		least = sum > least ? sum : least;
	}
	return least;
}

static bool
lie_apart(Buffer *const *b, int n, int64_t end)
{
	for (int i = 0; i < n; i++) {
		if (b[i]->first > b[i]->last || b[i]->offset < 0 || b[i]->offset % ALIGN || b[i]->offset + b[i]->bytes > end)
			return false;
		for (int k = 0; k < i; k++)
			if (alive_together(b[i], b[k]) && b[i]->offset < b[k]->offset + b[k]->bytes && b[k]->offset < b[i]->offset + b[i]->bytes)
				return false;
	}
	return true;
}

int64_t
plan_offsets(Cx *cx, Buffer *const *buffers, int n)
{
	Buffer **order = new(cx->arena, Buffer *, n + 1), **placed = new(cx->arena, Buffer *, n + 1);
	const int64_t least = plan_least_arena(buffers, n);
	int64_t best = INT64_MAX, end = 0;
	int kept = 0, i = 0;

	memcpy(order, buffers, (size_t)n * sizeof *order);
	for (; i < 2 * NORDER && best > least; i++) {
		qsort(order, (size_t)n, sizeof *order, orders[i / 2]);
		end = place_all(order, n, i % 2, placed);
		if (end < best) {
			best = end;
			kept = i;
		}
	}
	if (kept + 1 < i) {
		qsort(order, (size_t)n, sizeof *order, orders[kept / 2]);
		end = place_all(order, n, kept % 2, placed);
	}
	RT_ASSERT(lie_apart(buffers, n, end));
	return end;
}
