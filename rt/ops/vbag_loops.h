/* rt/ops/vbag_loops.h - embedding bags for one element type T, in the interpreter. N(name) is the name of a function
 * for T.
 *
 * A bag is a run of indices. Its row is the sum, mean or maximum of the table's rows at these indices. */
#ifndef RT_OPS_VBAG_LOOPS_H
#define RT_OPS_VBAG_LOOPS_H

enum { BAG_SUM, BAG_MEAN, BAG_MAX };
/* Size in bytes of the columns that are added up in registers: two vectors. */
#if defined __GNUC__ && !defined __TINYC__
#ifdef __AVX__
#define BAG_BYTES 32
#else
#define BAG_BYTES 16
#endif
#endif

/* Sizes for all types. Bag b begins at offset[b] and ends where the next bag begins, or after n indices. If `last` is
 * set, the last bag also has a next offset. Indices equal to `padding` are skipped. padding is -1 if no index is
 * skipped. */
typedef struct Bags {
	int64_t rows, width, ld;         /* sizes of the table; ld: stride of its rows */
	int64_t n, bags, padding;
	const void *index, *offset;
	bool    wide_index, wide_offset; /* whether indices and offsets are int64_t; otherwise they are int32_t */
	bool    last;
	int     mode;
} Bags;

static inline int64_t
bag_number(const void *p, bool wide, int64_t i)
{
	return wide ? ((const int64_t *)p)[i] : ((const int32_t *)p)[i];
}

/* Sets [*from, *to) to the indices of a bag. Returns false if offsets do not increase from 0 to n, or if an index is
 * out of range. */
static inline bool
bag_of(const Bags *g, int64_t bag, int64_t *from, int64_t *to)
{
	*from = bag_number(g->offset, g->wide_offset, bag);
	*to = bag + 1 < g->bags || g->last ? bag_number(g->offset, g->wide_offset, bag + 1) : g->n;
	if (*from < 0 || *from > *to || *to > g->n || (!bag && *from))
		return false;
	for (int64_t i = *from; i < *to; i++)
		if ((uint64_t)bag_number(g->index, g->wide_index, i) >= (uint64_t)g->rows)
			return false;
	return true;
}

/* Returns the divisor of a bag's mean. count is the number of the bag's indices that are not padding. If `last` is set,
 * ATen divides the last bag by the number of all indices behind its offset. */
static inline int64_t
bag_divisor(const Bags *g, int64_t bag, int64_t from, int64_t count)
{
	return g->last && bag + 1 == g->bags && g->padding < 0 ? g->n - from : count;
}

#endif

#ifdef BAG_BYTES
typedef T N(BagRun) __attribute__((vector_size(BAG_BYTES), aligned(sizeof(T)), may_alias));
#endif

/* Adds a bag's rows to y[0 .. width). scale has the weights by index, and may be null. Returns the number of rows. */
static inline int64_t
N(bag_sum)(const Bags *g, int64_t from, int64_t to, const T *table, const T *scale, T *y)
{
	int64_t j = 0, count = 0;

#ifdef BAG_BYTES
	enum { LANES = BAG_BYTES / sizeof(T) };

	for (; j + 2 * LANES <= g->width; j += 2 * LANES) {
		N(BagRun) a = { 0 }, b = { 0 };

		for (int64_t i = from; i < to; i++) {
			const int64_t at = bag_number(g->index, g->wide_index, i);
			const N(BagRun) *x = (const N(BagRun) *)(table + at * g->ld + j);

			if (at != g->padding) {
				a += x[0] * (scale ? scale[i] : 1);
				b += x[1] * (scale ? scale[i] : 1);
			}
		}
		((N(BagRun) *)(y + j))[0] = a;
		((N(BagRun) *)(y + j))[1] = b;
	}
#endif
	for (int64_t k = j; k < g->width; k++)
		y[k] = 0;
	for (int64_t i = from; i < to; i++) {
		const int64_t at = bag_number(g->index, g->wide_index, i);
		const T *x = table + at * g->ld, f = scale ? scale[i] : 1;

		if (at == g->padding)
			continue;
		count++;
		for (int64_t k = j; k < g->width; k++)
			y[k] += x[k] * f;
	}
	return count;
}

/* Computes the maximum of a bag's rows. Sets top to the indices of the maxima, unless it is null. */
static inline void
N(bag_max)(const Bags *g, int64_t from, int64_t to, const T *table, T *y, int64_t *top)
{
	bool first = true;

	for (int64_t k = 0; k < g->width; k++) {
		y[k] = 0;
		if (top)
			top[k] = 0;
	}
	for (int64_t i = from; i < to; i++) {
		const int64_t at = bag_number(g->index, g->wide_index, i);
		const T *x = table + at * g->ld;

		if (at == g->padding)
			continue;
		for (int64_t k = 0; top && k < g->width; k++)
			top[k] = first || x[k] > y[k] ? at : top[k];
		for (int64_t k = 0; k < g->width; k++)
			y[k] = first || x[k] > y[k] ? x[k] : y[k];
		first = false;
	}
}

/* Computes bags [begin, end) into rows of y, which are `width` apart. Returns false if an offset or an index is out of
 * range. */
static inline bool
N(bags)(int64_t begin, int64_t end, const Bags *g, const T *table, const T *scale, T *y)
{
	for (int64_t b = begin; b < end; b++) {
		T *row = y + b * g->width;
		int64_t from, to, count;

		if (!bag_of(g, b, &from, &to))
			return false;
		if (g->mode == BAG_MAX) {
			N(bag_max)(g, from, to, table, row, 0);
			continue;
		}
		count = bag_divisor(g, b, from, N(bag_sum)(g, from, to, table, scale, row));
		for (int64_t j = 0; g->mode == BAG_MEAN && count && j < g->width; j++)
			row[j] /= (T)count;
	}
	return true;
}

#undef T
#undef N
