/* rt/widen.c - numbers of 16 bits as floats
 *
 * Apart from warm.c, which is compiled for size: a program with weights of 16 bits waits for this when it is opened.
 */
#include "program.h"
#include "half.h"

enum { LANES = 16 };                     /* so many at once are vectors, for compilers that make these of loops */

/* One function each: a call through a pointer inside would not be vectorized. */
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
