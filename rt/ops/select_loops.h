/* rt/ops/select_loops.h - sorts indices by keys, all or the first k, with equal keys in PyTorch's order or stably; for
 * the runtime (select.c), and for plain functions without a runtime (vrow.h)
 *
 * PyTorch's sort and topk use the C++ library's sort, partial_sort and nth_element. These are not stable, so the
 * indices show their order of equal elements. This file has the same algorithms, step by step: introselect and
 * introsort with the median of three moved to the front, insertion sort of short runs, and a heap that sifts its hole
 * down to a leaf and back up. `at` contains indices. a < b means key[a] < key[b]. */
#ifndef RT_OPS_SELECT_LOOPS_H
#define RT_OPS_SELECT_LOOPS_H

#ifndef SELECT_API
#define SELECT_API static
#endif
#ifndef SELECT_RUN
#define SELECT_RUN 16            /* largest number of elements that a stable sort inserts */
#define SELECT_LONG 256          /* smallest number of elements for which a stable sort is faster */
#endif

typedef struct Run { const int64_t *key; int64_t *at; } Run;

static bool
less(const Run *r, int64_t i, int64_t j)
{
	return r->key[r->at[i]] < r->key[r->at[j]];
}

static void
swap(const Run *r, int64_t i, int64_t j)
{
	int64_t t = r->at[i];

	r->at[i] = r->at[j];
	r->at[j] = t;
}

/* ---- heap of r[0 .. n), with its maximum first ------------------------------------------------------------------- */

static void
sift(const Run *r, int64_t hole, int64_t n, int64_t value)
{
	int64_t top = hole, child = hole;

	while (child < (n - 1) / 2) {
		child = 2 * (child + 1);
		if (less(r, child, child - 1))
			child--;
		r->at[hole] = r->at[child];
		hole = child;
	}
	if (n % 2 == 0 && child == (n - 2) / 2) {
		child = 2 * child + 1;
		r->at[hole] = r->at[child];
		hole = child;
	}
	for (; hole > top && r->key[r->at[(hole - 1) / 2]] < r->key[value]; hole = (hole - 1) / 2)
		r->at[hole] = r->at[(hole - 1) / 2];
	r->at[hole] = value;
}

/* Moves the k least of n to the front, as a heap. */
static void
heap_select(const Run *r, int64_t k, int64_t n)
{
	for (int64_t parent = k < 2 ? -1 : (k - 2) / 2; parent >= 0; parent--)
		sift(r, parent, k, r->at[parent]);
	for (int64_t i = k; i < n; i++)
		if (less(r, i, 0)) {
			int64_t value = r->at[i];
			r->at[i] = r->at[0];
			sift(r, 0, k, value);
		}
}

static void
partial_sort(const Run *r, int64_t k, int64_t n)
{
	heap_select(r, k, n);
	for (int64_t last = k - 1; last > 0; last--) {
		int64_t value = r->at[last];
		r->at[last] = r->at[0];
		sift(r, 0, last, value);
	}
}

/* ---- partitions of r[lo .. hi) ----------------------------------------------------------------------------------- */

static void
insert_linear(const Run *r, int64_t i)
{
	int64_t value = r->at[i];

	for (; r->key[value] < r->key[r->at[i - 1]]; i--)
		r->at[i] = r->at[i - 1];
	r->at[i] = value;
}

static void
insertion_sort(const Run *r, int64_t lo, int64_t hi)
{
	for (int64_t i = lo + 1; i < hi; i++) {
		if (!less(r, i, lo)) {
			insert_linear(r, i);
			continue;
		}
		for (int64_t j = i; j > lo; j--)
			swap(r, j, j - 1);
	}
}

static int64_t
partition(const Run *r, int64_t lo, int64_t hi)
{
	int64_t a = lo + 1, b = lo + (hi - lo) / 2, c = hi - 1, median, pivot;

	if (less(r, a, b))
		median = less(r, b, c) ? b : less(r, a, c) ? c : a;
	else
		median = less(r, a, c) ? a : less(r, b, c) ? c : b;
	swap(r, lo, median);
	pivot = lo++;
	for (;;) {
		while (less(r, lo, pivot))
			lo++;
		hi--;
		while (less(r, pivot, hi))
			hi--;
		if (lo >= hi)
			return lo;
		swap(r, lo++, hi);
	}
}

static int
depth_of(int64_t n)
{
	int depth = 0;

	for (; n > 1; n /= 2)
		depth += 2;
	return depth;
}

/* Moves the nth element of the sorted order to index `nth`, and lesser ones before it. */
static void
nth_element(const Run *r, int64_t nth, int64_t n)
{
	int64_t lo = 0, hi = n;

	for (int depth = depth_of(n); hi - lo > 3; depth--) {
		int64_t cut;
		if (depth == 0) {
			Run rest = { r->key, r->at + lo };
			heap_select(&rest, nth + 1 - lo, hi - lo);
			swap(r, lo, nth);
			return;
		}
		cut = partition(r, lo, hi);
		if (cut <= nth)
			lo = cut;
		else
			hi = cut;
	}
	insertion_sort(r, lo, hi);
}

enum { SHORT = 16, FEW = 64 };

static void
sort_loop(const Run *r, int64_t lo, int64_t hi, int depth)
{
	while (hi - lo > SHORT) {
		int64_t cut;
		if (depth-- == 0) {
			Run rest = { r->key, r->at + lo };
			partial_sort(&rest, hi - lo, hi - lo);
			return;
		}
		cut = partition(r, lo, hi);
		sort_loop(r, cut, hi, depth);
		hi = cut;
	}
}

static void
sort(const Run *r, int64_t n)
{
	sort_loop(r, 0, n, depth_of(n));
	insertion_sort(r, 0, n < SHORT ? n : SHORT);
	for (int64_t i = SHORT; i < n; i++)
		insert_linear(r, i);
}

/* ---- a stable sort ----------------------------------------------------------------------------------------------- */

static void
insert_stably(const int64_t *key, int64_t n, int64_t *order)
{
	for (int64_t i = 1; i < n; i++) {
		int64_t p = order[i], j = i;
		for (; j > 0 && key[order[j - 1]] > key[p]; j--)
			order[j] = order[j - 1];
		order[j] = p;
	}
}

/* Sorts positions stably by one byte of their keys. */
static void
sort_by_byte(const int64_t *key, int64_t n, int shift, const int64_t *from, int64_t *to)
{
	const uint64_t sign = (uint64_t)1 << 63;
	int64_t place[257] = { 0 };

#define BYTE(i) (((uint64_t)key[i] ^ sign) >> shift & 0xff)
	for (int64_t i = 0; i < n; i++)
		place[BYTE(i) + 1]++;
	for (int k = 1; k < 256; k++)
		place[k] += place[k - 1];
	for (int64_t i = 0; i < n; i++)
		to[place[BYTE(from[i])]++] = from[i];
#undef BYTE
}

SELECT_API void
rt_sort_positions(const int64_t *key, int64_t n, int64_t *order, int64_t *work)
{
	int64_t *from = order, *to = work;
	uint64_t differ = 0;             /* bits in which keys differ */

	for (int64_t i = 0; i < n; i++)
		order[i] = i;
	if (n <= SELECT_RUN) {
		insert_stably(key, n, order);
		return;
	}
	for (int64_t i = 1; i < n; i++)
		differ |= (uint64_t)(key[i] ^ key[0]);
	for (int shift = 0; shift < 64; shift += 8)
		if (differ >> shift & 0xff) {
			int64_t *other = from;

			sort_by_byte(key, n, shift, from, to);
			from = to;
			to = other;
		}
	for (int64_t i = 0; i < n && from != order; i++)
		order[i] = from[i];
}

/* Are some of the keys likely to be equal? */
static bool
repeats(const int64_t *key, int64_t n)
{
	enum { SAMPLE = 32 };
	int64_t some[SAMPLE];

	for (int64_t i = 0; i < SAMPLE; i++) {
		int64_t j = i, k = key[i * (n / SAMPLE)];

		for (; j > 0 && some[j - 1] > k; j--)
			some[j] = some[j - 1];
		if (j > 0 && some[j - 1] == k)
			return true;
		some[j] = k;
	}
	return false;
}

/* If all keys differ, every algorithm gives the same order, and the stable one is faster. Of many floats, some are
 * usually equal. */
SELECT_API void
rt_sort_unstably(const int64_t *key, int64_t n, int64_t *at, int64_t *work)
{
	Run r = { key, at };
	bool differ = n >= SELECT_LONG && n <= 8 * SELECT_LONG && !repeats(key, n);

	if (differ)
		rt_sort_positions(key, n, at, work);
	for (int64_t i = 1; i < n && differ; i++)
		differ = key[at[i - 1]] != key[at[i]];
	if (differ)
		return;
	for (int64_t i = 0; i < n; i++)
		at[i] = i;
	sort(&r, n);
}

/* Inserts `value` with index i into best[0 .. last), which is ascending, and i into `at`. */
static void
insert_best(int64_t *best, int64_t *at, int64_t last, int64_t value, int64_t i)
{
	int64_t j = last;

	for (; j > 0 && value < best[j - 1]; j--) {
		best[j] = best[j - 1];
		at[j] = at[j - 1];
	}
	best[j] = value;
	at[j] = i;
}

/* Selects the k least in ascending order, if their keys differ and no other key equals the last of them. Then the order
 * is unique. Returns false if keys are equal; then the contents of `at` are undefined. */
static bool
select_apart(const int64_t *key, int64_t n, int64_t k, int64_t *at)
{
	int64_t best[FEW] = { key[0] }, last;
	bool equal = false;              /* whether another key equals the last of the best ones */

	at[0] = 0;
	for (int64_t i = 1; i < k; i++)
		insert_best(best, at, i, key[i], i);
	last = best[k - 1];
	for (int64_t i = k; i < n; i++) {
		if (key[i] > last)
			continue;
		if (key[i] < last)
			insert_best(best, at, k - 1, key[i], i);
		equal = best[k - 1] == last;            /* equal to key[i], or to the key that key[i] has displaced */
		last = best[k - 1];
	}
	for (int64_t i = 1; i < k; i++)
		equal = equal || best[i] == best[i - 1];
	return !equal;
}

/* Selects as the C++ library does. k must be at least 1. */
static void
select_as_library(const int64_t *key, int64_t n, int64_t k, bool sorted, int64_t *at)
{
	Run r = { key, at };

	for (int64_t i = 0; i < n; i++)
		at[i] = i;
	if (k * 64 <= n) {
		partial_sort(&r, k, n);
		return;
	}
	nth_element(&r, k - 1, n);
	if (sorted)
		sort(&r, k - 1);
}

SELECT_API void
rt_select_positions(const int64_t *key, int64_t n, int64_t k, bool sorted, int64_t *at)
{
	if (k > 0 && !(k <= FEW && (sorted || k * 64 <= n) && select_apart(key, n, k, at)))
		select_as_library(key, n, k, sorted, at);
}

#endif
