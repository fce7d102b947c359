/* rt/ops/vroi.h - means over regions (vroi_loops.h), of generated and eager kernels: roi_align_float, _double */
#ifndef RT_OPS_VROI_H
#define RT_OPS_VROI_H

#define T float
#define N(name) name##_float
#include "vroi_loops.h"
#define T double
#define N(name) name##_double
#include "vroi_loops.h"

#endif
