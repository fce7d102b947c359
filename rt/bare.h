/* rt/bare.h - what generated kernels need where there is no runtime: nothing but C11's types, and libm for some */
#ifndef RT_BARE_H
#define RT_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "half.h"

#define RT_BARE

#ifdef __GNUC__                          /* kernels have parts that some of them do not use */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-local-typedefs"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#define rt_half_to_float(h) half_to_float(h)
#define rt_float_to_half(f) float_to_half(f)
#define rt_bf16_to_float(h) bf16_to_float(h)
#define rt_float_to_bf16(f) float_to_bf16(f)

/* Scratch memory of kernels: the compiler has counted it. */
#define rt_thread_scratch(bytes) bare_scratch((int64_t)(bytes) <= (int64_t)sizeof kiln_scratch, kiln_scratch)

static inline void *
bare_scratch(bool fits, void *at)
{
	while (!fits)
		;                                /* a bug of Kiln; there is nobody to tell */
	return at;
}

#endif
