/* rt/ops/vtaps.h - filters of interpolation, and source indices of nearest interpolation; eager kernels use them, too
 *
 * Nearest coordinates are computed in float for all dtypes, as in ATen 1.13, so that floors are the same. */
#ifndef RT_OPS_VTAPS_H
#define RT_OPS_VTAPS_H

#include "vscratch.h"

/* Keys' cubic kernel. a is -0.75, or -0.5 if antialiased. */
static inline double
vz_keys(double x, double a)
{
	x = fabs(x);
	if (x <= 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static inline double
vz_sinc(double x)
{
	return x == 0 ? 1 : sin(3.14159265358979323846 * x) / (3.14159265358979323846 * x);
}

/* Returns the antialiasing filter at distance x from its centre. */
static inline double
vz_filter(VzKind kind, double x)
{
	switch (kind) {
	case VZ_SMOOTH_CUBIC:   return vz_keys(x, -0.5);
	case VZ_SMOOTH_LANCZOS: return fabs(x) < 3 ? vz_sinc(x) * vz_sinc(x / 3) : 0;
	default:              return fabs(x) < 1 ? 1 - fabs(x) : 0;
	}
}

/* Sets at[0 .. out) to the source index of each output. */
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

#endif
