/* rt/casts.c - sets rt_cast_dense, the direct conversions of rt_cast
 *
 * A program without conversions defines the pointer itself, as null (codegen/program/cgen.c: put_parts). */
#include "rt.h"

RtCastDense *const rt_cast_dense = rt_cast_dense_all;
