/* rt/ops/vgrid.h - sampling at grid points in generated kernels (vgrid_loops.h): vg_sample_float, vg_sample_double */
#ifndef RT_OPS_VGRID_H
#define RT_OPS_VGRID_H

#define T float
#define N(name) name##_float
#define F(name) name##f
#include "vgrid_loops.h"
#define T double
#define N(name) name##_double
#define F(name) name
#include "vgrid_loops.h"

#endif
