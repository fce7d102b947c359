/* rt/ops/vresize.h - interpolation in generated kernels: the inputs of each output, along one dim
 *
 * Scales are floats; linear coordinates are computed in double, nearest ones in float, as in the eager kernels
 * (resample.c) and ATen 1.13, so that floors are the same.  given: the scale factor of the call; 0: the ratio of the
 * sizes.
 */
#ifndef RT_OPS_VRESIZE_H
#define RT_OPS_VRESIZE_H

#include "vscratch.h"

/* tap (out) */
static inline void
vz_linear(int64_t out, int64_t in, int align, double given, VzTap *tap)
{
	const float scale = align ? (out > 1 ? (float)(in - 1) / (float)(out - 1) : 0) :
		given > 0 ? (float)(1.0 / given) : (float)in / (float)out;

	for (int64_t o = 0; o < out; o++) {
		double middle = align ? (double)scale * (double)o : (double)scale * ((double)o + 0.5) - 0.5, rest;
		VzTap *t = &tap[o];

		if (in == out)
			middle = (double)o;
		middle = middle < 0 ? 0 : middle;
		t->at[0] = in == out ? o : (int64_t)middle < in - 1 ? (int64_t)middle : in - 1;
		t->at[1] = t->at[0] + (t->at[0] < in - 1);
		rest = in == out ? 0 : middle - (double)t->at[0];
		t->weight[1] = rest < 1 ? (float)rest : 1;
		t->weight[0] = 1 - t->weight[1];
	}
}

/* at (out) */
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
