/* rt/ops/welford.c - mean and variance of a row of floats, in the order in which PyTorch's layer and group norm have them
 *
 * Eight columns side by side, by B. P. Welford's recurrence (1962) in chunks of CHUNK steps; chunks are joined in pairs, pairs
 * of chunks in pairs, and so on, then the columns one by one after the elements that fill no vector.  In 2.x products and the sums
 * that they are part of are rounded once (fused): in pairs of columns otherwise than of vectors.
 */
#include "kernel.h"

enum { LANES = 8, CHUNK = 16, LEVELS = 32 };

typedef struct Moments {
	int64_t n;
	float   mean[LANES], square[LANES];      /* square: the sum of squared distances from the mean */
} Moments;

static float
times_plus(bool fused, float a, float b, float c)
{
	return fused ? (float)((double)a * (double)b + (double)c) : a * b + c;
}

/* Of `lanes` columns: b's n elements come to a's. */
static void
join(bool fused, int64_t *n, float *mean, float *square, const Moments *b, int at, int lanes)
{
	const int64_t all = *n + b->n;
	const float c = all ? (float)b->n / (float)all : 0;

	for (int i = 0; i < lanes; i++) {
		const float delta = b->mean[at + i] - mean[i];

		mean[i] = times_plus(fused && lanes == 1, c, delta, mean[i]);
		if (fused && lanes > 1)
			square[i] = times_plus(true, delta, delta * c * (float)*n, square[i] + b->square[at + i]);
		else
			square[i] += times_plus(fused, delta * delta * c, (float)*n, b->square[at + i]);
	}
	*n = all;
}

static void
join_all(bool fused, Moments *a, const Moments *b)
{
	join(fused, &a->n, a->mean, a->square, b, 0, LANES);
}

/* The next `lanes` values, of weight c = 1 / their number. */
static void
step(bool fused, const float *x, float c, int lanes, Moments *m)
{
	for (int i = 0; i < lanes; i++) {
		const float delta = x[i] - m->mean[i];

		m->mean[i] = times_plus(fused, delta, c, m->mean[i]);
		m->square[i] = times_plus(fused, delta, x[i] - m->mean[i], m->square[i]);
	}
}

static Moments
columns(bool fused, const float *x, int64_t n)
{
	Moments stack[LEVELS] = { { 0 } };
	const int64_t chunks = (n + CHUNK - 1) / CHUNK;
	int depth = 1;

	while (depth < LEVELS && INT64_C(1) << depth < chunks)
		depth++;
	for (int64_t at = 0; at < chunks; at++) {
		Moments m = { .n = n - at * CHUNK < CHUNK ? n - at * CHUNK : CHUNK };

		for (int64_t j = 0; j < m.n; j++)
			step(fused, x + (at * CHUNK + j) * LANES, 1 / (float)(j + 1), LANES, &m);
		join_all(fused, &stack[0], &m);
		for (int level = 1; level < depth && (at + 1) % (INT64_C(1) << level) == 0; level++) {
			join_all(fused, &stack[level], &stack[level - 1]);
			stack[level - 1] = (Moments){ 0 };
		}
	}
	for (int level = 1; level < depth; level++)
		join_all(fused, &stack[0], &stack[level]);
	return stack[0];
}

void
rt_row_moments(bool fused, const float *x, int64_t n, double *mean, double *var)
{
	Moments all = { 0 }, of = columns(fused, x, n / LANES);

	for (int64_t i = n / LANES * LANES; i < n; i++) {
		const float delta = x[i] - all.mean[0];

		all.mean[0] += delta / (float)++all.n;
		all.square[0] += delta * (x[i] - all.mean[0]);
	}
	for (int i = 0; i < LANES; i++)
		join(fused, &all.n, all.mean, all.square, &of, i, 1);
	*mean = (double)all.mean[0];
	*var = (double)(all.square[0] / (float)n);
}
