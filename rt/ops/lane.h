/* rt/ops/lane.h - kernels on whole lanes of a tensor; a lane is all elements along one dim
 *
 * Each lane is gathered and cast to a compute type. A function computes the lane of each result, which is cast and
 * scattered. Lanes that are adjacent in memory may be computed together, step by step. */
#ifndef RT_OPS_LANE_H
#define RT_OPS_LANE_H

#include "kernel.h"

/* Computes a lane of n elements x. r[k] has room for the lane of result k, of its `as_out` type. */
typedef void LaneFn(void *arg, int64_t n, const void *x, void *const *r);

/* Computes one step of n adjacent lanes: replaces the elements x by results. state has n elements of type `as`, which
 * are kept from step to step. */
typedef void LaneRow(int64_t n, void *x, void *state, bool first);

typedef struct Lanes {
	RtTensor *in;
	int       dim;
	RtDtype   as;
	int       nout;
	RtTensor *out[2];
	RtDtype   as_out[2];
	int64_t   n_out[2];         /* length of a result's lane: that of the input, or 1 */
	LaneFn   *fn;
	/* computes the same as fn, for adjacent lanes; needs nout 1 and a result as long as the input; null if there is
	 * none */
	LaneRow  *row;
	void     *arg;              /* argument of fn, which must only read it, because lanes run in parallel */
} Lanes;

/* Results have the input's dims, except that they may lack `dim` if n_out is 1. */
int lanes_run(RtCx *, const Lanes *);

#endif
