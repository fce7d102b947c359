/* rt/ops/wide.h - vectors as wide as those of the processor that a file is compiled for
 *
 * WIDE is not defined where there are none (tcc): loops then go element by element.
 */
#ifndef RT_OPS_WIDE_H
#define RT_OPS_WIDE_H

#if defined __GNUC__ && !defined __TINYC__
#if defined __AVX512F__
#define WIDE 16                          /* floats in one */
#elif defined __AVX__
#define WIDE 8
#else
#define WIDE 4
#endif
typedef float WideF __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
#endif

#endif
