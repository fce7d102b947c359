/* rt/ops/wide.h - float vectors of the width of the processor for which a file is compiled
 *
 * WIDE is not defined for tcc, which has no vectors. Then loops are over single elements. */
#ifndef RT_OPS_WIDE_H
#define RT_OPS_WIDE_H

#if defined __GNUC__ && !defined __TINYC__
#if defined __AVX512F__
#define WIDE 16                          /* number of floats in a vector */
#elif defined __AVX__
#define WIDE 8
#else
#define WIDE 4
#endif
typedef float WideF __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
#endif

#endif
