/* rt/ops/vrnn.h - one step of a recurrent layer in generated kernels: LSTM, GRU, RNN
 *
 * A unit of work is a panel of hidden columns: a product with the state for each gate, then the gates (vcell.h).
 * vrnn_loops.h has the functions for one element type.
 */
#ifndef RT_OPS_VRNN_H
#define RT_OPS_VRNN_H

#include "vmul.h"

/* One step of an RNN in float or double. With packed weights, which are floats, panel[g] has gate g as (panels, k,
 * VC_NR); the last panel is as wide as in vblock.h. Otherwise panel is null, and w is (gates * hidden, k) with strides
 * ws and wk. */
typedef struct VnStep {
	int64_t rows, hidden, k; /* k: number of columns of the state, which is less than `hidden` with a projection */
	/* products of the input (rows, gates * hidden); the old state; bias, which may be null */
	const void *gates, *h, *c, *bias;
	int64_t ldg, ldh, ldc;
	void *const *panel;
	VcPanel *rest;
	const void *w;
	int64_t ws, wk;
	void *to_h, *to_c;
	int64_t ld_to_h, ld_to_c;
} VnStep;

/* The steps of a direction. The arguments of its functions are: y (steps, rows, hidden); an LSTM's last c, contiguous;
 * gates, w and bias for each gate; h, an LSTM's c; the weights of a projection; the number of the turn. */
typedef struct VnWalk {
	int64_t steps, rows, hidden, k;
	int64_t reverse, bias, packed;           /* whether steps are in reverse; whether there is a bias, or panels */
	int64_t x_step, ldg, y_step, ldy, ldh, ldc, ws, wk;
	int64_t columns, ps, pk;                 /* columns of a projection, or 0; strides of its weights */
} VnWalk;

#define EXP exp
#define TANH tanh
#define T float
#define N(name) name##_float
#include "vcell.h"
#include "vrnn_loops.h"
#define T double
#define N(name) name##_double
#include "vcell.h"
#include "vrnn_loops.h"
#undef EXP
#undef TANH

#endif
