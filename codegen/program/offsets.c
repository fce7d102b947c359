/*
 * Assigns offsets in the arena to buffers of known sizes and live ranges. No two live buffers may overlap.
 *
 * Buffers are placed one by one, each at an offset that is free during its whole live range. In order of time this is a
 * free list: it is cheap, and its arena is often as small as the lower bound, the largest number of bytes live at one
 * step. Otherwise, placing the largest buffer first, each at the lowest free offset, is best for most networks
 * (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020: greedy by size). Other orders,
 * and best fit instead of first fit, are tried, too. The smallest arena is used.
 */
#include "program.h"

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

static int
by_end(const void *a, const void *b)
{
	const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;

	return (x->last > y->last) - (x->last < y->last);
}

static int (*const orders[])(const void *, const void *) = { by_begin, by_size, by_area, by_life };
enum { NORDER = sizeof orders / sizeof *orders };

/* ---- buffers that are live at the same time ------------------------------------------------------------------- */

/* A tree whose leaves are the buffers in order of their first steps. A node stores the last step of the placed buffers
 * below it. */
typedef struct Lives {
	Buffer **begin;          /* the n buffers, in order of their first steps */
	int      n, leaves;      /* number of buffers; number of leaves, a power of two */
	/* last step of the placed buffers below a node of the tree, 2 * leaves of them; -1 if there are none */
	int     *last;
	int     *leaf;           /* leaf of a buffer, by its index in the plan */
	Buffer **placed;         /* the nplaced buffers placed so far, by offset */
	int      nplaced;
	Buffer **found;          /* buffers found by a query; has room for n */
} Lives;

static Lives
lives_new(Cx *cx, Buffer *const *buffers, int n)
{
	Lives l = { .begin = new(cx->arena, Buffer *, n + 1), .n = n, .leaves = 1,
		    .found = new(cx->arena, Buffer *, n + 1), .placed = new(cx->arena, Buffer *, n + 1) };
	int most = 0;

	memcpy(l.begin, buffers, (size_t)n * sizeof *l.begin);
	qsort(l.begin, (size_t)n, sizeof *l.begin, by_begin);
	while (l.leaves < n)
		l.leaves *= 2;
	l.last = new(cx->arena, int, 2 * l.leaves);
	for (int i = 0; i < n; i++)
		most = l.begin[i]->index > most ? l.begin[i]->index : most;
	l.leaf = new(cx->arena, int, most + 1);
	for (int i = 0; i < n; i++)
		l.leaf[l.begin[i]->index] = i;
	return l;
}

static void
lives_clear(Lives *l)
{
	memset(l->last, -1, 2 * (size_t)l->leaves * sizeof *l->last);
	l->nplaced = 0;
}

/* Adds the placed buffers below the node that are live at the same time as b to `found`. Returns their number. */
static int
lives_below(const Lives *l, int node, int first, int width, const Buffer *b, int found)
{
	if (l->last[node] < b->first || first >= l->n || l->begin[first]->first > b->last)
		return found;
	if (width == 1) {
		l->found[found] = l->begin[first];
		return found + 1;
	}
	found = lives_below(l, 2 * node, first, width / 2, b, found);
	return lives_below(l, 2 * node + 1, first + width / 2, width / 2, b, found);
}

static int
by_offset(const void *a, const void *b)
{
	const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Finds the placed buffers that are live at the same time as b, ordered by offset. Returns their number. Scans all
 * placed buffers if many of them are live then. */
static int
alive_with(Lives *l, const Buffer *b)
{
	int n = lives_below(l, 1, 0, l->leaves, b, 0);

	if (n < l->nplaced / 8) {
		qsort(l->found, (size_t)n, sizeof *l->found, by_offset);
		return n;
	}
	n = 0;
	for (int i = 0; i < l->nplaced; i++)
		if (l->placed[i]->first <= b->last && b->first <= l->placed[i]->last)
			l->found[n++] = l->placed[i];
	return n;
}

static void
lives_add(Lives *l, Buffer *b)
{
	int at = l->nplaced, low = 0;

	for (int i = l->leaves + l->leaf[b->index]; i; i /= 2)
		l->last[i] = b->last > l->last[i] ? b->last : l->last[i];
	while (low < at) {
		const int middle = low + (at - low) / 2;

		if (l->placed[middle]->offset <= b->offset)
			low = middle + 1;
		else
			at = middle;
	}
	memmove(l->placed + at + 1, l->placed + at, (size_t)(l->nplaced++ - at) * sizeof *l->placed);
	l->placed[at] = b;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static int64_t
end_of(const Buffer *b)
{
	return (b->offset + b->bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Returns an offset that is free during b's whole live range: the lowest one, or with `tightest` that of the smallest
 * gap. */
static int64_t
free_place(Lives *l, const Buffer *b, bool tightest)
{
	const int n = alive_with(l, b);
	int64_t at = 0, best = -1, least = INT64_MAX;

	for (int i = 0; i < n; i++) {
		const int64_t gap = l->found[i]->offset - at, end = end_of(l->found[i]);

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

/* Places all buffers in this order. Returns the arena's size in bytes. */
static int64_t
place_all(Lives *l, Buffer *const *order, bool tightest)
{
	int64_t end = 0;

	lives_clear(l);
	for (int i = 0; i < l->n; i++) {
		Buffer *b = order[i];

		b->offset = free_place(l, b, tightest);
		lives_add(l, b);
		end = b->offset + b->bytes > end ? b->offset + b->bytes : end;
	}
	return end;
}

/* ---- placement in order of time ---------------------------------------------------------------------------------- */

/* Free gaps of the arena at one step, by offset. No two gaps are adjacent, and the last one has no end. */
typedef struct Gap { int64_t at, end; } Gap;
typedef struct Gaps { Gap *at; int n; } Gaps;

static void
gaps_insert(Gaps *g, int i, Gap gap)
{
	memmove(g->at + i + 1, g->at + i, (size_t)(g->n++ - i) * sizeof *g->at);
	g->at[i] = gap;
}

static void
gaps_remove(Gaps *g, int i)
{
	memmove(g->at + i, g->at + i + 1, (size_t)(--g->n - i) * sizeof *g->at);
}

static int64_t
gaps_take(Gaps *g, int64_t bytes, bool tightest)
{
	int best = -1;
	int64_t at;

	for (int i = 0; i < g->n && (tightest || best < 0); i++)
		if (g->at[i].end - g->at[i].at >= bytes &&
		    (best < 0 || g->at[i].end - g->at[i].at < g->at[best].end - g->at[best].at))
			best = i;
	RT_ASSERT(best >= 0);
	at = g->at[best].at;
	g->at[best].at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
	if (g->at[best].at >= g->at[best].end)
		gaps_remove(g, best);
	return at;
}

static void
gaps_give(Gaps *g, int64_t at, int64_t end)
{
	int low = 0, high = g->n;

	while (low < high) {                                 /* finds the first gap after it */
		const int middle = low + (high - low) / 2;

		if (g->at[middle].at < end)
			low = middle + 1;
		else
			high = middle;
	}
	if (at == end)
		return;
	if (low < g->n && g->at[low].at == end)
		g->at[low].at = at;
	else
		gaps_insert(g, low, (Gap){ at, end });
	if (low && g->at[low - 1].end == g->at[low].at) {
		g->at[low - 1].end = g->at[low].end;
		gaps_remove(g, low);
	}
}

/* Places buffers by first step, each in a gap that is free then. begin, end: the buffers by first and by last step. */
static int64_t
place_in_time(Cx *cx, Buffer *const *begin, Buffer *const *end, int n, bool tightest)
{
	Gaps gaps = { .at = new(cx->arena, Gap, n + 2), .n = 1 };
	int64_t most = 0;

	gaps.at[0] = (Gap){ 0, INT64_MAX };
	for (int i = 0, ended = 0; i < n; i++) {
		for (; end[ended]->last < begin[i]->first; ended++)
			gaps_give(&gaps, end[ended]->offset, end_of(end[ended]));
		begin[i]->offset = gaps_take(&gaps, begin[i]->bytes, tightest);
		most = begin[i]->offset + begin[i]->bytes > most ? begin[i]->offset + begin[i]->bytes : most;
	}
	return most;
}

/* ---- the best placement ------------------------------------------------------------------------------------------ */

typedef struct Ends { Buffer **begin, **end; } Ends;          /* The buffers by first step and by last step. */

static Ends
ends_of(Cx *cx, Buffer *const *buffers, int n)
{
	Ends e = { new(cx->arena, Buffer *, n + 1), new(cx->arena, Buffer *, n + 1) };

	memcpy(e.begin, buffers, (size_t)n * sizeof *buffers);
	memcpy(e.end, buffers, (size_t)n * sizeof *buffers);
	qsort(e.begin, (size_t)n, sizeof *e.begin, by_begin);
	qsort(e.end, (size_t)n, sizeof *e.end, by_end);
	return e;
}

/* Returns the largest number of bytes live at one step, a lower bound of the arena's size. The sum grows only where a
 * buffer begins. */
static int64_t
least_of(Ends e, int n)
{
	int64_t least = 0, sum = 0;

	for (int i = 0, ended = 0; i < n; i++) {
		for (; e.end[ended]->last < e.begin[i]->first; ended++)
			sum -= e.end[ended]->bytes;
		sum += e.begin[i]->bytes;
		least = sum > least ? sum : least;
	}
	return least;
}

/* Whether no two buffers that are live at the same time overlap. */
static bool
lie_apart(Buffer *const *b, int n, int64_t end)
{
	for (int i = 0; i < n; i++) {
		if (b[i]->first > b[i]->last || b[i]->offset < 0 || b[i]->offset % ALIGN ||
		    b[i]->offset + b[i]->bytes > end)
			return false;
		for (int k = 0; k < i; k++)
			if (b[i]->first <= b[k]->last && b[k]->first <= b[i]->last &&
			    b[i]->offset < b[k]->offset + b[k]->bytes && b[k]->offset < b[i]->offset + b[i]->bytes)
				return false;
	}
	return true;
}

int64_t
plan_least_arena(Cx *cx, Buffer *const *buffers, int n)
{
	return least_of(ends_of(cx, buffers, n), n);
}

/* Makes attempt i. Attempts are all orders, each with the lowest and with the tightest offset. */
static int64_t
place_attempt(Cx *cx, Lives *lives, Ends e, Buffer **order, int i)
{
	if (orders[i / 2] == by_begin)
		return place_in_time(cx, e.begin, e.end, lives->n, i % 2);
	qsort(order, (size_t)lives->n, sizeof *order, orders[i / 2]);
	return place_all(lives, order, i % 2);
}

int64_t
plan_offsets(Cx *cx, Buffer *const *buffers, int n)
{
	Buffer **order = new(cx->arena, Buffer *, n + 1);
	Lives lives = lives_new(cx, buffers, n);
	const Ends ends = ends_of(cx, buffers, n);
	const int64_t least = least_of(ends, n);
	int64_t best = INT64_MAX, end = 0;
	int kept = 0, i = 0;

	RT_ASSERT(n >= 0);
	memcpy(order, buffers, (size_t)n * sizeof *order);
	for (; i < 2 * NORDER && best > least; i++) {
		end = place_attempt(cx, &lives, ends, order, i);
		if (end < best) {
			best = end;
			kept = i;
		}
	}
	end = kept + 1 < i ? place_attempt(cx, &lives, ends, order, kept) : end;
	RT_ASSERT(end >= least && lie_apart(buffers, n, end));
	return end;
}
