/*
 * Differences between PyTorch's engines for quantized operators: rounding of results and biases, memory format of
 * results, and number of bits of activations.
 *
 * The kernels of rt/ops use this table, and so does opt/special/quantforms.c, which turns quantized operators into
 * pointwise ones. tests/program/ties.xz has PyTorch's recorded answers.
 */
#include "rt.h"
#include "ops/quant.h"

#include <math.h>

enum {                           /* set of engines to which an entry applies */
	X86 = 1 << RT_X86,
	QNNPACK = 1 << RT_QNNPACK,       /* qnnpack's own kernels accept only quint8 */
	ANY = X86 | QNNPACK,
};

/* Kind of arguments to which an entry applies. LAST: the argument is channels last. ROWS: a mean reduces the last dims
 * of a contiguous tensor. PLANES: a mean reduces dims 2 and 3 of four. EVEN: all windows of an adaptive pool have the
 * same size, and more than one element. */
typedef enum Arguments { ALL, LAST, ROWS, PLANES, EVEN } Arguments;

/* The first entry that matches applies. */
static const struct Row {
	RtQuantOp  op;
	uint8_t    engines;
	Arguments  arguments;
	RtRounding rounding;
} rows[] = {
	{ RT_Q_MEAN,           QNNPACK, PLANES, { RT_ROUND_FIRST, false } },
	{ RT_Q_MEAN,           ANY,     ROWS,   { RT_ROUND_WITH_ZERO, false } },
	{ RT_Q_MEAN,           ANY,     ALL,    { RT_ROUND_FLOATS, false } },
	{ RT_Q_AVG_POOL,       QNNPACK, ALL,    { RT_ROUND_FIRST, false } },
	{ RT_Q_AVG_POOL,       ANY,     LAST,   { RT_ROUND_FIRST, true } },
	{ RT_Q_AVG_POOL,       ANY,     ALL,    { RT_ROUND_WITH_ZERO, false } },
	{ RT_Q_AVG_POOL3D,     ANY,     ALL,    { RT_ROUND_FIRST, true } },
	{ RT_Q_ADAPTIVE2D,     QNNPACK, EVEN,   { RT_ROUND_FIRST, false } },
	{ RT_Q_ADAPTIVE2D,     ANY,     LAST,   { RT_ROUND_FIRST, true } },
	{ RT_Q_ADAPTIVE2D,     ANY,     ALL,    { RT_ROUND_WITH_ZERO, false } },
	{ RT_Q_ADAPTIVE3D,     ANY,     LAST,   { RT_ROUND_FIRST, true } },
	{ RT_Q_ADAPTIVE3D,     ANY,     ALL,    { RT_ROUND_WITH_ZERO, false } },
	{ RT_Q_GRID_SAMPLER,   ANY,     ALL,    { RT_ROUND_WITH_ZERO, false } },
	{ RT_Q_HARDSWISH,      QNNPACK, ALL,    { RT_ROUND_WITH_ZERO, false } },
	{ RT_Q_ADD,            QNNPACK, ALL,    { RT_ROUND_AWAY, false } },
	{ RT_Q_OTHER,          ANY,     ALL,    { RT_ROUND_FIRST, false } },
};

uint64_t
rt_dims_in(const RtTensor *t, IValue list)
{
	const int64_t n = list.tag == RT_LIST ? list.u.list->n : 0;
	uint64_t set = 0;

	if (!n)
		return ((uint64_t)1 << t->ndim) - 1;
	for (int64_t i = 0; i < n; i++) {
		const int64_t d = list.u.list->v[i].u.i + (list.u.list->v[i].u.i < 0 ? t->ndim : 0);

		if (d >= 0 && d < t->ndim)
			set |= (uint64_t)1 << d;
	}
	return set;
}

/* Whether these are the last dims of a contiguous tensor. */
static bool
are_rows(const RtTensor *t, uint64_t dims)
{
	const uint64_t others = (((uint64_t)1 << t->ndim) - 1) ^ dims;

	return rt_is_contiguous(t) && !(others & (others + 1));
}

/* Whether output_size divides the last sizes of t and differs from them. */
static bool
are_even(const RtTensor *t, IValue output_size)
{
	const int n = output_size.tag == RT_LIST ? (int)output_size.u.list->n : 0;
	bool differs = false;

	for (int i = 1; i <= n && i <= t->ndim; i++) {
		const int64_t in = t->dims[t->ndim - i], out = output_size.u.list->v[n - i].u.i;

		if (out <= 0 || in % out)
			return false;
		differs |= in != out;
	}
	return differs;
}

static bool
arguments_fit(Arguments arguments, const RtTensor *t, IValue list)
{
	switch (arguments) {
	case LAST: return rt_is_channels_last(t);
	case ROWS: return are_rows(t, rt_dims_in(t, list));
	case PLANES: return t->ndim == 4 && rt_dims_in(t, list) == 0xc;
	case EVEN: return are_even(t, list);
	case ALL: break;
	}
	return true;
}

static bool
runs_qnnpack(const RtCx *cx, RtDtype dtype)
{
	return cx->engine == RT_QNNPACK && dtype == RT_qu8;
}

RtRounding
rt_rounding(const RtCx *cx, RtQuantOp op, const RtTensor *t, IValue list)
{
	const uint8_t engine = runs_qnnpack(cx, (RtDtype)t->dtype) ? QNNPACK : X86;
	const struct Row *row = rows;

	while ((row->op != op && row->op != RT_Q_OTHER) || !(row->engines & engine) ||
	       !arguments_fit(row->arguments, t, list))
		row++;
	return row->rounding;
}

/* Returns the units in which a quantized layer computes. qnnpack rounds the bias to an int32 and multiplies by the
 * inverse of the result's scale. */
QuantUnits
quant_layer_units(const RtCx *cx, RtDtype dtype, double x, double w, double y, float bias)
{
	const float unit = (float)x * (float)w;

	if (!runs_qnnpack(cx, dtype))
		return (QuantUnits){ unit / (float)y, bias != 0 ? bias / unit : 0 };
	bias = bias != 0 ? nearbyintf(bias * (1 / (float)(w * x))) : 0;
	return (QuantUnits){ unit * (1 / (float)y), fminf(fmaxf(bias, -0x1p31f), 0x1p31f) };
}

bool
rt_reduces_range(const RtCx *cx, bool asked)
{
	return asked && cx->engine != RT_QNNPACK;
}
