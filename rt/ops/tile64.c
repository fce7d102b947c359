/* rt/ops/tile64.c - products in vectors of AVX-512 */
#include "gemm.h"
#include "vmath.h"

#include <math.h>

#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx2,fma")
#endif
RT_FAST
RT_FUSED
#define VC_FLOATS 16
#include "tile.h"
TILES(rt_tiles_64)
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
