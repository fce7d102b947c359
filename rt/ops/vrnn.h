/* rt/ops/vrnn.h - one step of a recurrent layer in generated kernels: LSTM, GRU, plain ones
 *
 * A unit of work is a panel of hidden columns: a product with the state for each gate, then the gates (vcell.h);
 * vrnn_loops.h has that for one element type.
 */
#ifndef RT_OPS_VRNN_H
#define RT_OPS_VRNN_H

enum { VN_ROWS = 8 };            /* of the batch that are computed together */

#define T float
#define N(name) name##_float
#define EXP exp
#define TANH tanh
#include "vcell.h"
#undef T
#undef N
#define T double
#define N(name) name##_double
#include "vcell.h"
#undef T
#undef N
#undef EXP
#undef TANH

/* One step, of floats or of doubles.  Weights in panels (of floats only): panel[g] is gate g's (panels, k, VC_NR), the last
 * panel as wide as `rest` takes it.  As they lie: panel is null, w (gates * hidden, k), ws and wk elements apart. */
typedef struct VnStep {
	int64_t rows, hidden, k;         /* k: columns of the state, which a projection makes fewer than hidden ones */
	const void *gates, *h, *c, *bias;        /* gates (rows, gates * hidden): the input's part; before; bias or null */
	int64_t ldg, ldh, ldc;
	void *const *panel;
	VcPanel *rest;
	const void *w;
	int64_t ws, wk;
	void *to_h, *to_c;
	int64_t ld_to_h, ld_to_c;
} VnStep;

/* Rows [row, row + some) of the state by column panel `at` of gate g, with its bias. */
VC_INLINE void
vn_part_float(const VnStep *s, int g, int64_t at, int64_t row, int64_t some, float *part)
{
	const int64_t col = at * VC_NR, left = s->hidden - col < VC_NR ? s->hidden - col : VC_NR;
	const float *h = (const float *)s->h + row * s->ldh, *bias = (const float *)s->bias + g * s->hidden + col;

	if (s->panel)
		(left < VC_NR && s->rest ? s->rest : VC_WHOLE(vc_panel))(some, s->k, h, s->ldh, (const float *)s->panel[g] + at * s->k * VC_NR, 0,
			part, VC_NR, left, 0);
	else
		for (int64_t i = 0; i < some; i++)
			for (int64_t j = 0; j < left; j++)
				part[i * VC_NR + j] = vm_sum(s->k, h + i * s->ldh, (const float *)s->w + (g * s->hidden + col + j) * s->ws, s->wk);
	for (int64_t i = 0; s->bias && i < some; i++)
		for (int64_t j = 0; j < left; j++)
			part[i * VC_NR + j] += bias[j];
}

VC_INLINE void
vn_part_double(const VnStep *s, int g, int64_t at, int64_t row, int64_t some, double *part)
{
	const int64_t col = at * VC_NR, left = s->hidden - col < VC_NR ? s->hidden - col : VC_NR;
	const double *h = (const double *)s->h + row * s->ldh, *bias = (const double *)s->bias + g * s->hidden + col;

	for (int64_t i = 0; i < some; i++)
		for (int64_t j = 0; j < left; j++)
			part[i * VC_NR + j] = (s->bias ? bias[j] : 0) +
				vm_sum_double(s->k, h + i * s->ldh, (const double *)s->w + (g * s->hidden + col + j) * s->ws, s->wk);
}

#define T float
#define N(name) name##_float
#include "vrnn_loops.h"
#undef T
#undef N
#define T double
#define N(name) name##_double
#include "vrnn_loops.h"
#undef T
#undef N

#endif
