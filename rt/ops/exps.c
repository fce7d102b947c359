/* rt/ops/exps.c - exponentials, maxima and sums of arrays, for softmax, logsumexp, attention and exp of doubles */
#include "kernel.h"
#define V_EAGER
#include "vmath.h"
#include "wide.h"

#include <math.h>
#include <string.h>

RT_FAST
void
rt_exps(float *y, const float *x, int64_t n, float top)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = v_exp_normalf(x[i] - top);
}

/* Returns the greatest element, or NaN if any element is NaN. Compares the bits as integers of the same order, because
 * their maximum vectorizes. */
float
rt_greatest(const float *x, int64_t n)
{
	int32_t most = INT32_MIN, size = 0;
	union { int32_t i; float f; } top;

	for (int64_t i = 0; i < n; i++) {
		union { float f; int32_t i; } v = { x[i] };
		const int32_t key = v.i ^ (v.i >> 31 & INT32_MAX);

		most = key > most ? key : most;
		size = (v.i & INT32_MAX) > size ? v.i & INT32_MAX : size;
	}
	top.i = most ^ (most >> 31 & INT32_MAX);
	return size > 0x7f800000 ? NAN : n ? top.f : -INFINITY;
}

/* Number of doubles in a vector, and loops over them. */
#ifdef WIDE
enum { SIDE = WIDE / 2 };
#else
enum { SIDE = 4 };
#endif
#define EACH_SIDE(k) \
	RT_UNROLL \
	for (int k = 0; k < SIDE; k++)

/* Computes SIDE exponentials at once. */
static void
exp_side(double *y, const double *x, double top)
{
	double e[SIDE];

	EACH_SIDE(k)
		e[k] = v_exp(x[k] - top);
	EACH_SIDE(k)
		y[k] = e[k];
}

void
rt_exps_f64(double *y, const double *x, int64_t n, double top)
{
	double rest[SIDE] = { 0 };
	int64_t i = 0;

	for (; i + SIDE <= n; i += SIDE)
		exp_side(y + i, x + i, top);
	if (i == n)
		return;
	memcpy(rest, x + i, sizeof *x * (size_t)(n - i));
	exp_side(rest, rest, top);
	memcpy(y + i, rest, sizeof *x * (size_t)(n - i));
}

double
rt_sum_f64(int64_t n, const double *x)
{
	double part[SIDE] = { 0 }, sum = 0;
	int64_t i = 0;

	for (; i + SIDE <= n; i += SIDE)
		EACH_SIDE(k)
			part[k] += x[i + k];
	EACH_SIDE(k)
		sum += part[k];
	for (; i < n; i++)
		sum += x[i];
	return sum;
}

double
rt_greatest_f64(const double *x, int64_t n)
{
	double part[SIDE], top = -INFINITY;
	int64_t i = 0;

	EACH_SIDE(k)
		part[k] = -INFINITY;
	for (; i + SIDE <= n; i += SIDE)
		EACH_SIDE(k)
			part[k] = ((x[i + k] > part[k]) | (x[i + k] != x[i + k])) ? x[i + k] : part[k];
	EACH_SIDE(k)
		top = part[k] > top || part[k] != part[k] ? part[k] : top;
	for (; i < n; i++)
		top = x[i] > top || x[i] != x[i] ? x[i] : top;
	return top;
}
RT_SMALL
