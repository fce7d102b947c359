/* rt/ops/lane.h - kernels on whole lanes of a tensor: all elements along one dim
 *
 * Each lane is gathered and cast to a compute type.  A function computes the lane of each result, which is cast and
 * scattered.  Lanes that are adjacent in memory may be computed step by step together.
 */
#ifndef RT_OPS_LANE_H
#define RT_OPS_LANE_H

#include "kernel.h"

/* Computes a lane of n elements x.  r[k]: room for the lane of result k, of its `as_out` type. */
typedef void LaneFn(void *arg, int64_t n, const void *x, void *const *r);

/* One step of n adjacent lanes: replaces the elements x by results.  state: (n) of `as`, kept from step to step. */
typedef void LaneRow(int64_t n, void *x, void *state, bool first);

typedef struct Lanes {
	RtTensor *in;
	int       dim;
	RtDtype   as;
	int       nout;
	RtTensor *out[2];
	RtDtype   as_out[2];
	int64_t   n_out[2];         /* length of a result's lane: the input's, or 1 */
	LaneFn   *fn;
	LaneRow  *row;              /* does the same as fn, or null; needs nout 1 and a result as long as the input */
	void     *arg;              /* argument of fn, which only reads it: lanes run in parallel */
} Lanes;

/* Results have the input's dims except `dim`, which they may lack if n_out is 1. */
int lanes_run(RtCx *, const Lanes *);

#endif
