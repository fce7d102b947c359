/* rt/widen.c - converts 16-bit floats to float
 *
 * It is separate from warm.c, which is compiled for size, because opening a program with 16-bit weights waits for this
 * conversion. */
#include "program.h"
#include "half.h"

enum { LANES = 16 };                     /* number of elements of an inner loop, which compilers vectorize */

/* Defines a function for each dtype, because a loop that calls through a pointer would not be vectorized. */
#define WIDEN(name, float_of) \
static void \
name(const uint16_t *restrict from, float *restrict to, int64_t n) \
{ \
	int64_t i = 0; \
 \
	for (; i + LANES <= n; i += LANES) \
		for (int j = 0; j < LANES; j++) \
			to[i + j] = float_of(from[i + j]); \
	for (; i < n; i++) \
		to[i] = float_of(from[i]); \
}

WIDEN(widen_bf16, bf16_to_float)
WIDEN(widen_f16, half_to_float)

void
rt_widen(RtDtype type, const uint16_t *from, float *to, int64_t n)
{
	(type == RT_bf16 ? widen_bf16 : widen_f16)(from, to, n);
}
