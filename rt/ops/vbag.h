/* rt/ops/vbag.h - embedding bags in generated kernels (vbag_loops.h): bags_float, bags_double */
#ifndef RT_OPS_VBAG_H
#define RT_OPS_VBAG_H

#define T float
#define N(name) name##_float
#include "vbag_loops.h"
#define T double
#define N(name) name##_double
#include "vbag_loops.h"

#endif
