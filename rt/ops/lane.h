/* rt/ops/lane.h - one dim at a time: kernels that see whole lanes of a tensor along a dim
 *
 * Each lane is gathered and cast into a compute type, handed to a function with room for as many results, and what
 * that wrote is cast and scattered.  Lanes that are neighbours in memory may go step by step together.
 */
#ifndef RT_OPS_LANE_H
#define RT_OPS_LANE_H

#include "kernel.h"

/* n elements of x; r[k]: room for the lane of result k, of its `as_out` type. */
typedef void LaneFn(void *arg, int64_t n, const void *x, void *const *r);

/* A step of n lanes side by side: the elements x become the results; state: (n) of `as`, as the step before left it. */
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
	LaneRow  *row;              /* what fn does, or null; nout is 1, the result as long as the input */
	void     *arg;              /* only read when lanes run in parallel */
} Lanes;

/* Results have the input's dims but for `dim`, which may be gone when n_out is 1. */
int lanes_run(RtCx *, const Lanes *);

#endif
