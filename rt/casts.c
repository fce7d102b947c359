/* rt/casts.c - conversions that rt_cast has fast
 *
 * A program that defines this itself, as null, has none (codegen/program/cgen.c: put_parts).
 */
#include "rt.h"

RtCastDense *const rt_cast_dense = rt_cast_dense_all;
