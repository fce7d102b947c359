/* rt/ops/tile32.c - tiles of products in vectors of AVX2
 */
#include "tile.h"

#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__
RT_FAST
TILE_FUSED
TILE(__attribute__((target("avx2,fma"))), tile_float, float, 32, 6, 2)
TILE(__attribute__((target("avx2,fma"))), tile_double, double, 32, 6, 2)
TILE(__attribute__((target("avx2,fma"))), tile_row, float, 32, 1, ROW_VECTORS)
TILE_DOTS(__attribute__((target("avx2,fma"))), SUM_FUSED)
RT_SMALL

const RtTiles rt_tiles_32 = { tile_float, tile_double, tile_row, tile_dots, 32, 6, 6 };
const RtTiles rt_tiles_32_floats = { tile_float, NULL, tile_row, tile_dots, 32, 6, 6 };
#endif
