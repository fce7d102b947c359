/* rt/ops/quant.h - quantized tensors, for kernels that support them */
#ifndef RT_OPS_QUANT_H
#define RT_OPS_QUANT_H

#include "dense.h"

RtTensor *quant_raw(RtCx *, const RtTensor *);       /* the integers: a view of plain dtype, a temporary */
void      quant_range(RtDtype, int64_t *low, int64_t *high);
int       quant_limits(RtCx *, RtTensor *, double *low, double *high);    /* least and greatest element */

typedef struct Affine { double scale; int64_t zero; } Affine;            /* value = scale * (integer - zero) */

/* Result 0, quantized per tensor: as rt_result. */
RtTensor *quant_result(RtCx *, RtDtype, int ndim, const int64_t *dims, const int64_t *strides, Affine);

/* An operator without a kernel for quantized tensors: its arguments in values, its results quantized again.  linear: one
 * that is linear in its first argument, and so takes its integers; through: any; map: a pointwise row (map.c). */
struct MapRow;
struct RtQuantized {
	RtTensor *(*values)(RtCx *, const RtTensor *);
	int (*open)(RtCx *, IValue v, IValue *values, RtTensor **first);
	int (*close)(RtCx *, RtTensor *values, double scale, int64_t zero, RtDtype, IValue *out);
	int (*linear)(RtCx *, RtKernel *, const IValue *in, int nin, int nout, IValue *out);
	int (*through)(RtCx *, const RtCall *, const IValue *in, IValue *out);
	int (*map)(RtCx *, const struct MapRow *, const IValue *in, IValue *out);
	int (*write)(RtCx *, RtTensor *to, IValue values);       /* floats or a number, quantized as `to` is */
};
int rt_map_quantized(RtCx *, const struct MapRow *, const IValue *in, IValue *out);

static inline RtTensor *
quant_values(RtCx *cx, const RtTensor *t)            /* dense float32, a temporary */
{
	return rt_quantized->values(cx, t);
}

static inline int
quant_open(RtCx *cx, IValue v, IValue *values, RtTensor **first)
{
	return rt_quantized->open(cx, v, values, first);
}

static inline int
quant_close(RtCx *cx, RtTensor *values, double scale, int64_t zero, RtDtype dtype, IValue *out)
{
	return rt_quantized->close(cx, values, scale, zero, dtype, out);
}

/* All of it, of what is linear, or takes the greatest: result 0 gets the parameters of the first argument. */
static inline int
quant_linear(RtCx *cx, RtKernel *kernel, const IValue *in, int nin, int nout, IValue *out)
{
	return rt_quantized->linear(cx, kernel, in, nin, nout, out);
}

#endif
