/* rt/ops/tile16.c - products in vectors of the baselines: SSE2, NEON; or without vectors (tcc) */
#include "gemm.h"
#include "vmath.h"

#include <math.h>

#if defined __GNUC__ && !defined __TINYC__
#define VC_FLOATS 4
#else
#define VC_FLOATS 1
#endif
RT_FAST
RT_FUSED
#include "tile.h"
TILES(rt_tiles_16)
