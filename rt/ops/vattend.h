/* rt/ops/vattend.h - attention in generated kernels: softmax(q k' * scale + mask) v, a block of rows at a time
 *
 * The scores of a block are in scratch and stay in cache; the whole matrix of scores is never made.
 */
#ifndef RT_OPS_VATTEND_H
#define RT_OPS_VATTEND_H

typedef struct VaAttention {
	int64_t n, inner, width;         /* q (.., inner), k (n, inner), v (n, width) */
	int64_t qr, qc, kr, kc, vr, vc, mr, mc, yr;      /* strides of rows and columns */
	float scale;
	float empty;                     /* weights of a row that is masked out; NaN: as a softmax gives */
	int   causal;
} VaAttention;

static inline int64_t
va_scratch(int64_t m, const VaAttention *g)
{
	const int64_t a = vm_scratch(m, g->inner), b = vm_scratch(m, g->n);

	return (a > b ? a : b) + (m * g->n + VC_NR) * (int64_t)sizeof(float);
}

/* Rows [first, first + m) of one batch; q and y are at row `first`, mask too, or null. */
static inline void
va_attention(int64_t first, int64_t m, const VaAttention *g, const float *q, const float *k, const float *v,
	     const float *mask, float *y, float *scratch)
{
	float *s = scratch, *rest = s + (m * g->n + VC_NR - 1) / VC_NR * VC_NR;
	const float infinity = 1.0f / 0.0f;

	vm_product(m, g->n, g->inner, q, g->qr, g->qc, k, g->kc, g->kr, 0, s, g->n, rest);
	for (int64_t i = 0; i < m; i++) {
		float *row = s + i * g->n;
		const float *add = mask ? mask + i * g->mr : 0;

		IVDEP
		for (int64_t j = 0; j < g->n; j++)
			row[j] *= g->scale;
		for (int64_t j = first + i + 1; g->causal && j < g->n; j++)
			row[j] = -infinity;
		if (mask && g->mc == 1)
			for (int64_t j = 0; j < g->n; j++)
				row[j] += add[j];
		else if (mask)
			for (int64_t j = 0; j < g->n; j++)
				row[j] += add[j * g->mc];
		if (g->empty == g->empty && vr_max(g->n, row) == -infinity)
			for (int64_t j = 0; j < g->n; j++)
				row[j] = g->empty;
		else
			vr_softmax(g->n, row, row);
	}
	vm_product(m, g->width, g->n, s, g->n, 1, v, g->vr, g->vc, 0, y, g->yr, rest);
}

#endif
