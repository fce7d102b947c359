/* rt/ops/parts.c - tables of functions for all kinds of operands
 *
 * A program without some kinds of operands defines these tables itself, with fewer entries. Then neither this file nor
 * functions that only these tables refer to are linked. */
#include "gemm.h"
#include "quant.h"

const RtTiles *const rt_tiles[] = {
#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__
	&rt_tiles_64, &rt_tiles_32,
#endif
	&rt_tiles_16, 0
};

const RtQuantized *const rt_quantized = &rt_quantized_all;
