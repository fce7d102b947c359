/* rt/ops/tile64.c - tiles of products in vectors of AVX-512
 */
#include "tile.h"

#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__
RT_FAST
TILE_FUSED
TILE(__attribute__((target("avx512f,avx2,fma"))), tile_float, float, 64, 12, 2)
TILE(__attribute__((target("avx512f,avx2,fma"))), tile_double, double, 64, 6, 2)
TILE(__attribute__((target("avx512f,avx2,fma"))), tile_row, float, 64, 1, ROW_VECTORS)
TILE_DOTS(__attribute__((target("avx512f,avx2,fma"))), SUM_FUSED)
RT_SMALL

const RtTiles rt_tiles_64 = { tile_float, tile_double, tile_row, tile_dots, 64, 12, 6 };
const RtTiles rt_tiles_64_floats = { tile_float, NULL, tile_row, tile_dots, 64, 12, 6 };
#endif
