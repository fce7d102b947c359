/* rt/ops/parts.c - all that kernels have for operands of every kind
 *
 * A program that cannot meet some of it defines these tables itself, with less in them: then this file is not linked,
 * and what only its tables name is left out, too.
 */
#include "gemm.h"
#include "quant.h"

const RtTiles *const rt_tiles[] = {
#if defined __GNUC__ && !defined __TINYC__
#if defined __x86_64__
	&rt_tiles_64, &rt_tiles_32,
#endif
	&rt_tiles_16,
#endif
	0
};

const RtQuantized *const rt_quantized = &rt_quantized_all;
