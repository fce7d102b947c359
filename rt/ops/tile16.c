/* rt/ops/tile16.c - tiles of products in vectors of the baselines: SSE2, NEON
 */
#include "tile.h"

#if defined __GNUC__ && !defined __TINYC__
RT_FAST
TILE_FUSED
TILE(, tile_float, float, 16, 4, 2)
TILE(, tile_double, double, 16, 4, 2)
TILE(, tile_row, float, 16, 1, ROW_VECTORS)
TILE_DOTS(, SUM_DOUBLE)
RT_SMALL

const RtTiles rt_tiles_16 = { tile_float, tile_double, tile_row, tile_dots, 16, 4, 4 };
const RtTiles rt_tiles_16_floats = { tile_float, NULL, tile_row, tile_dots, 16, 4, 4 };
#endif
