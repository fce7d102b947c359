/* rt/ops/steps.c - small bfloat16 products as PyTorch computes them: rounded after each product and each sum
 *
 * PyTorch's CPU hands a bfloat16 product to oneDNN, which sums in float, when it has more than 16^3 multiplications.
 * Smaller ones run through loops of its own on bfloat16 accumulators,
 *     c = round(c + round(alpha * a * b))     in the order of k, from c = round(beta * c),
 * (the position of alpha depends on the loop), except where the right matrix is transposed and the left is not: a dot
 * product in float, rounded once.  The difference is far above the dtype's tolerance, so the same has to be done here.
 * Large products, which are those that take time, are exact in both.
 */
#include "gemm.h"

enum { ONEDNN_MIN = 16 * 16 * 16, BATCH_LOOP_MAX = 400 };

static float
rounded(float v)
{
	return rt_bf16_to_float(rt_float_to_bf16(v));
}

/* Is the matrix (rows, cols) stored by columns, where a BLAS sees rows? */
static bool
by_columns(const RtTensor *t, int64_t rows, int64_t cols)
{
	int64_t row = t->strides[t->ndim - 2], col = t->strides[t->ndim - 1];

	if (col == 1 && row >= (cols > 1 ? cols : 1))
		return false;
	return row == 1 && col >= (rows > 1 ? rows : 1);
}

StepKind
steps_of(const RtTensor *a, const RtTensor *b, int64_t batch, const Product *p, bool vector)
{
	const int64_t m = p->m, n = p->n, k = p->k;
	const bool stack = a->ndim > 2 && m * n * k < BATCH_LOOP_MAX;

	if (a->dtype != RT_bf16 || m > ONEDNN_MIN || n > ONEDNN_MIN || k > ONEDNN_MIN || batch > ONEDNN_MIN ||
	    batch * m * n > ONEDNN_MIN || batch * m * n * k > ONEDNN_MIN)
		return STEPS_NONE;
	if (vector)
		return a->strides[0] == 1 ? STEPS_RIGHT : STEPS_DOT;
	if (stack)
		return STEPS_LEFT;
	if (n == 1)                                          /* the result is a column: no operand changes sides */
		return by_columns(a, m, k) || by_columns(b, k, n) ? STEPS_ALL : STEPS_NONE;
	return !by_columns(b, k, n) || by_columns(a, m, k) ? STEPS_ALL : STEPS_NONE;
}

static float
term(StepKind kind, float a, float b, float alpha)
{
	switch (kind) {
	case STEPS_LEFT: return rounded(rounded(a * rounded(alpha)) * b);
	case STEPS_RIGHT: return rounded(a * rounded(rounded(alpha) * b));
	case STEPS_ALL: return rounded(a * alpha * b);
	default: return rounded(a * b);
	}
}

void
product_steps(const Product *p, StepKind kind, float alpha)
{
	const float *a = p->a, *b = p->b;
	float *c = p->c;

	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = 0; j < p->n; j++) {
			float sum = c[i * p->n + j];
			for (int64_t l = 0; l < p->k; l++)
				sum = rounded(sum + term(kind, a[i * p->a_row + l * p->a_col],
							 b[l * p->b_row + j * p->b_col], alpha));
			c[i * p->n + j] = sum;
		}
}

void
steps_begin(StepKind kind, float *c, const float *self, int64_t n, float beta)
{
	for (int64_t i = 0; i < n; i++)
		c[i] = self && kind < STEPS_DOT ? rounded(beta * self[i]) : 0;
}

void
steps_end(StepKind kind, float *c, const float *self, int64_t n, float alpha, float beta)
{
	for (int64_t i = 0; i < n && kind == STEPS_DOT; i++)
		c[i] = rounded(alpha) * c[i] + (self ? rounded(beta * self[i]) : 0);
}
