/* rt/ops/blas.c - tiles of products as the reference BLAS has them: each product is rounded, then added
 *
 * Debian's PyTorch multiplies by it, and what is recorded is recorded so.  Measured: equal to the last bit.
 */
#include "conv_sums.h"
#include "tile.h"

#if defined __GNUC__ && !defined __TINYC__
LOOPS_BEGIN
#pragma GCC optimize("fp-contract=off")
#if defined __x86_64__
TILE(__attribute__((target("avx512f,avx2,fma"))), tile_64, float, 64, 12)
TILE(__attribute__((target("avx2,fma"))), tile_32, float, 32, 6)
#endif
TILE(, tile_16, float, 16, 4)
LOOPS_END
#endif

Tile *
blas_tile(int bytes)
{
	switch (bytes) {
#if defined __GNUC__ && !defined __TINYC__
#if defined __x86_64__
	case 64: return tile_64;
	case 32: return tile_32;
#endif
	case 16: return tile_16;
#endif
	default: return 0;
	}
}
