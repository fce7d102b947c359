/*
 * Dense operands and the matrix product of the network kernels.
 *
 * The product packs b by panels of PANEL columns when its rows are not contiguous, and works on blocks of four rows of c:
 * the four rows of a panel stay in the first cache while a row of b is added to all of them.
 */
#include "dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

RtTensor *
dense_in(RtCx *cx, RtTensor *t, RtDtype ct)
{
	t = rt_temp(cx, rt_to_dtype(cx, t, ct));
	return t ? rt_temp(cx, rt_contiguous(cx, t)) : 0;
}

RtTensor *
dense_out(RtCx *cx, RtTensor *result, RtDtype ct)
{
	if (result->dtype == ct && rt_is_contiguous(result))
		return result;
	return rt_temp(cx, rt_tensor_new(cx, ct, result->ndim, result->dims));
}

int
dense_done(RtCx *cx, RtTensor *result, RtTensor *out)
{
	return result == out ? RT_OK : rt_copy_into(cx, result, out);
}

int
dense_sizes(RtCx *cx, IValue list, const char *op, const char *what, int n, int64_t *sizes)
{
	int count = rt_ints(cx, list, sizes, n);

	if (count < 0)
		return RT_ERROR;
	if (count == 1)
		for (int i = 1; i < n; i++)
			sizes[i] = sizes[0];
	else if (count != n)
		return rt_raise(cx, "%s: %s must either be a single int, or a tuple of %d ints", op, what, n);
	return RT_OK;
}

const int64_t *
dense_format(const RtTensor *a, int ndim, const int64_t *dims, int64_t *buf)
{
	if ((ndim != 4 && ndim != 5) || a->ndim != ndim || rt_is_contiguous(a) || !rt_is_channels_last(a))
		return 0;
	rt_channels_last_strides(ndim, dims, buf);
	return buf;
}

const char *
dense_text(const RtTensor *t, DenseText *text)
{
	int at = snprintf(text->s, sizeof text->s, "[");

	for (int i = 0; i < t->ndim && at < (int)sizeof text->s - 24; i++)
		at += snprintf(text->s + at, sizeof text->s - (size_t)at, "%s%lld", i ? ", " : "", (long long)t->dims[i]);
	snprintf(text->s + at, sizeof text->s - (size_t)at, "]");
	return text->s;
}

void
quant_choose(double low, double high, int64_t qmin, int64_t qmax, double *scale, int64_t *zero)
{
	double from_low, from_high, z;

	low = low < 0 ? low : 0;
	high = high > 0 ? high : 0;
	*scale = (high - low) / (double)(qmax - qmin);
	if ((float)*scale == 0 || isinf(1 / (float)*scale))
		*scale = 0.1;
	from_low = (double)qmin - low / *scale;
	from_high = (double)qmax - high / *scale;
	z = fabs((double)qmin) - fabs(low / *scale) < fabs((double)qmax) - fabs(high / *scale) ? from_low : from_high;
	*zero = z < (double)qmin ? qmin : z > (double)qmax ? qmax : (int64_t)nearbyint(z);
}

enum { PANEL = 256, ROWS = 4 };

typedef struct Gemm {
	int64_t m, n, k, a_row, a_col, b_row, ldc;
	const void *a, *b;
	void *c;
	bool add;
} Gemm;

#define T float
#define N(name) name##_f32
#include "dense_loops.h"
#define T double
#define N(name) name##_f64
#include "dense_loops.h"
#define T int64_t
#define N(name) name##_i64
#include "dense_loops.h"

/* b with contiguous rows: itself, or a transposed copy in scratch. */
static const void *
rows_of(RtCx *cx, RtDtype ct, Gemm *g, int64_t b_col)
{
	int64_t es = rt_dtypes[ct].bytes;
	char *copy;

	if (b_col == 1 || g->n <= 1)
		return g->b;
	if (g->k * g->n == 0)
		return g->b;
	copy = rt_scratch(cx, g->k * g->n * es);
	if (!copy)
		return 0;
	for (int64_t j0 = 0; j0 < g->n; j0 += 16)
		for (int64_t i = 0; i < g->k; i++)
			rt_cast(ct, copy + (i * g->n + j0) * es, es, ct,
				(const char *)g->b + (i * g->b_row + j0 * b_col) * es, b_col * es,
				g->n - j0 < 16 ? g->n - j0 : 16);
	g->b_row = g->n;
	return copy;
}

int
dense_gemm(RtCx *cx, RtDtype ct, int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row, int64_t a_col,
	const void *b, int64_t b_row, int64_t b_col, void *c, int64_t ldc, bool add)
{
	Gemm g = { m, n, k, a_row, a_col, b_row, ldc, a, b, c, add };
	int64_t blocks = ((m + ROWS - 1) / ROWS) * ((n + PANEL - 1) / PANEL), work = k * ROWS * PANEL;

	RtMark mark = rt_scratch_mark(cx);

	if (m == 0 || n == 0)
		return RT_OK;
	g.b = rows_of(cx, ct, &g, b_col);
	if (!g.b && k)
		return RT_ERROR;
	rt_parallel(cx, blocks, work > 200000 ? 1 : 200000 / (work + 1),
		ct == RT_f32 ? gemm_blocks_f32 : ct == RT_f64 ? gemm_blocks_f64 : gemm_blocks_i64, &g);
	rt_scratch_reset(cx, mark);
	return RT_OK;
}
