/* rt/ops/cascade.c - the sum of consecutive floats, in the order in which PyTorch's sum and mean have it
 *
 * Vectors of eight are summed in four interleaved rows, each of them a cascade: runs of 2^n vectors, sums of 2^n such,
 * and so on for LEVELS levels (pairwise summation with a wide base; Higham, "The accuracy of floating point summation",
 * 1993).
 */
#include "kernel.h"

#include <string.h>

RT_FAST

enum { LANES = 8, ROWS = 4, LEVELS = 4, LEAST_POWER = 4 };

/* Of `lanes` columns side by side: sum[lanes] over n rows of each of the ROWS interleaved. */
#define INTERLEAVED(name, width) \
	static void \
	name(const float *x, int64_t n, float *sum) \
	{ \
		float acc[LEVELS][width] = { { 0 } }; \
		int power = 0; \
		\
		while (power < 62 && (INT64_C(1) << power) < n) \
			power++; \
		power = power / LEVELS > LEAST_POWER ? power / LEVELS : LEAST_POWER; \
		for (int64_t i = 0; i < n;) { \
			const int64_t left = n - i, run = left >> power ? INT64_C(1) << power : left; \
			float a[width] = { 0 }; \
			\
			for (int64_t k = 0; k < run; k++, x += width) { \
				RT_UNROLL \
				for (int j = 0; j < width; j++) \
					a[j] += x[j]; \
			} \
			memcpy(acc[0], a, sizeof a); \
			i += run; \
			for (int level = 1; !(left >> power == 0) && level < LEVELS; level++) { \
				for (int j = 0; j < width; j++) { \
					acc[level][j] += acc[level - 1][j]; \
					acc[level - 1][j] = 0; \
				} \
				if (i >> level * power & ((INT64_C(1) << power) - 1)) \
					break; \
			} \
		} \
		for (int j = 0; j < width; j++) { \
			sum[j] = acc[0][j]; \
			for (int level = 1; level < LEVELS; level++) \
				sum[j] += acc[level][j]; \
		} \
	}
INTERLEAVED(interleaved, ROWS)
INTERLEAVED(interleaved_lanes, ROWS * LANES)

/* n rows of `lanes` columns: sums of the columns. */
static void
columns(const float *x, int64_t n, int lanes, float *sum)
{
	(lanes == 1 ? interleaved : interleaved_lanes)(x, n / ROWS, sum);
	for (int64_t i = n / ROWS * ROWS; i < n; i++)
		for (int j = 0; j < lanes; j++)
			sum[j] += x[i * lanes + j];
	for (int r = 1; r < ROWS; r++)
		for (int j = 0; j < lanes; j++)
			sum[j] += sum[r * lanes + j];
}

float
rt_cascade(const float *x, int64_t n)
{
	float sum[ROWS * LANES], all = 0;

	if (n < LANES) {
		columns(x, n, 1, sum);
		return sum[0];
	}
	columns(x, n / LANES, LANES, sum);
	for (int64_t i = n / LANES * LANES; i < n; i++)
		all += x[i];
	for (int j = 0; j < LANES; j++)
		all += sum[j];
	return all;
}
