/* rt/ops/attention_loops.h - rows of attention scores for one element type T. N(name) is the name of a function for
 * T. */

#include "exp_loops.h"

/* Adds the mask to row i of a batch element's scores. */
static void
N(mask_row)(const Attend *g, int64_t batch, int64_t i, T *s)
{
	const int64_t at = g->mask ? g->mask_offset[batch] + i * g->mask_row : 0;

	for (int64_t j = i + 1; j < g->n && g->causal; j++)
		s[j] = -INFINITY;
	for (int64_t j = 0; j < g->n && g->mask && g->additive; j++)
		s[j] += ((const T *)g->mask)[at + j * g->mask_col];
	for (int64_t j = 0; j < g->n && g->mask && !g->additive; j++)
		s[j] = ((const uint8_t *)g->mask)[at + j * g->mask_col] ? s[j] : -INFINITY;
}

/* Scales and masks s (rows, n) and applies softmax. `empty` is the weight of the keys in a row that is masked out. */
static void
N(score_rows)(const Attend *g, int64_t batch, T *s, T empty)
{
	for (int64_t i = 0; i < g->rows; i++, s += g->n) {
		T top, part;

		for (int64_t j = 0; j < g->n; j++)
			s[j] *= (T)g->scale;
		N(mask_row)(g, batch, i, s);
		top = GREATEST(s, g->n);
		part = 1 / N(exp_row)(s, s, g->n, top);
		for (int64_t j = 0; j < g->n; j++)
			s[j] *= part;
		for (int64_t j = 0; j < g->n && top == -INFINITY; j++)
			s[j] = empty;
	}
}

#undef SUM
#undef GREATEST
#undef T
#undef N
#undef EXPS
