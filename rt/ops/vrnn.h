/* rt/ops/vrnn.h - one step of a recurrent layer in generated kernels: LSTM, GRU, plain ones
 *
 * A unit of work is a panel of hidden columns: a product with the state for each gate, then the gates (vcell.h);
 * vrnn_loops.h has that for one element type.
 */
#ifndef RT_OPS_VRNN_H
#define RT_OPS_VRNN_H

#include "vmul.h"

enum { VN_ROWS = 8 };            /* of the batch that are computed together */

/* One step, of floats or of doubles.  Weights in panels (of floats only): panel[g] is gate g's (panels, k, VC_NR), the
 * last panel as wide as `rest` takes it.  As they lie: panel is null, w (gates * hidden, k), ws and wk elements
 * apart. */
typedef struct VnStep {
	int64_t rows, hidden, k;         /* k: columns of the state, which a projection makes fewer than hidden ones */
	const void *gates, *h, *c, *bias;     /* gates (rows, gates * hidden): the input's part; before; bias or null */
	int64_t ldg, ldh, ldc;
	void *const *panel;
	VcPanel *rest;
	const void *w;
	int64_t ws, wk;
	void *to_h, *to_c;
	int64_t ld_to_h, ld_to_c;
} VnStep;

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
