/* rt/ops/vroi.h - means over regions (vroi_loops.h), in generated and eager kernels: roi_align_float,
 * roi_align_double */
#ifndef RT_OPS_VROI_H
#define RT_OPS_VROI_H

#include "vscratch.h"

#define T float
#define N(name) name##_float
#include "vroi_loops.h"
#define T double
#define N(name) name##_double
#include "vroi_loops.h"

static inline int64_t
roi_room(const RoiBins *g)
{
	return vs_regions(g->in[0], g->in[1], g->out[1], g->channels);
}

#endif
