/* rt/ops/attention_loops.h - rows of attention scores for one element type T; N(name) is the function's name for it */

#include "exp_loops.h"

/* s (rows, n): scaled, masked, and made a distribution; a row that is masked out gets `empty` */
static void
N(score_rows)(const Attend *g, int64_t batch, T *s, T empty)
{
	for (int64_t i = 0; i < g->rows; i++, s += g->n) {
		T top = -INFINITY, part;

		for (int64_t j = 0; j < g->n; j++) {
			s[j] *= (T)g->scale;
			if (g->causal && j > i)
				s[j] = -INFINITY;
			if (g->mask) {
				int64_t at = g->mask_offset[batch] + i * g->mask_row + j * g->mask_col;

				if (!g->additive)
					s[j] = ((const uint8_t *)g->mask)[at] ? s[j] : -INFINITY;
				else
					s[j] += ((const T *)g->mask)[at];
			}
			top = s[j] > top || isnan(s[j]) ? s[j] : top;
		}
		part = 1 / N(exp_row)(s, s, g->n, top);
		for (int64_t j = 0; j < g->n; j++)
			s[j] = top == -INFINITY ? empty : s[j] * part;
	}
}

#undef T
#undef N
#undef EXPS
