/* rt/ops/quant.h - quantized tensors, for kernels that support them */
#ifndef RT_OPS_QUANT_H
#define RT_OPS_QUANT_H

#include "dense.h"

RtTensor *quant_raw(RtCx *, const RtTensor *);       /* returns the integers, as a temporary view of plain dtype */
void      quant_range(RtDtype, int64_t *low, int64_t *high);
/* sets *low and *high to the least and the greatest element */
int       quant_limits(RtCx *, RtTensor *, double *low, double *high);

/* ---- layers: ../engines.c ---------------------------------------------------------------------------------------- */

/* Factor of a channel's integer sums in a quantized layer, and its bias in units of a sum. */
typedef struct QuantUnits { float scale, bias; } QuantUnits;

/* Returns the dims in the list as a set of bits. An empty list or None stands for all dims of t. */
uint64_t rt_dims_in(const RtTensor *t, IValue list);

/* Computes the units of a channel. x, w, y: scales of the input, which has this dtype, of the channel's weights and of
 * the result. */
QuantUnits quant_layer_units(const RtCx *, RtDtype, double x, double w, double y, float bias);

/* ---- products of bytes: int8.c ----------------------------------------------------------------------------------- */

enum { INT8_PRODUCTS = 1 << 16 };        /* largest k for which sums are exact: VI_MOST */

/* Weights (n, k) without zero points, packed for products in scratch memory. */
typedef struct Int8Weights {
	int64_t  n, k;
	int8_t  *panels;
	int32_t *start;
} Int8Weights;

int       int8_pack(RtCx *, const RtTensor *w, Int8Weights *);                   /* w is int8, of any strides */
/* Computes sums (rows, n) = (x - x_zero) w' for x (rows, k). All arrays are dense. */
int       int8_sums(RtCx *, const Int8Weights *, int64_t rows, const uint8_t *x, int32_t x_zero, int32_t *sums);
/* Quantizes x to [0, most] by its own range, which must be finite. Sets scale and zero point. */
void      int8_by_range(int64_t n, const float *x, int64_t most, uint8_t *to, float *scale, int32_t *zero);

/* ------------------------------------------------------------------------------------------------------------------ */

typedef struct Affine { double scale; int64_t zero; } Affine;            /* value = scale * (integer - zero) */

/* Does the same as rt_result for result 0, which is quantized per tensor. */
RtTensor *quant_result(RtCx *, RtDtype, int ndim, const int64_t *dims, const int64_t *strides, Affine);

/* Functions that run operators without a kernel for quantized tensors: they dequantize arguments and quantize results.
 * linear: for an operator that is linear in its first argument, which gets the integers. through: for any operator.
 * map: for a pointwise operator (map.c). fused: whether values are rounded once, as in kernels of pointwise operators
 * (t_values of tmath.h). */
struct MapRow;
struct Int8Layer;
struct ViewPart;
struct RtQuantized {
	RtTensor *(*values)(RtCx *, const RtTensor *);
	int (*open)(RtCx *, IValue v, bool fused, IValue *values, RtTensor **first);
	int (*close)(RtCx *, RtTensor *values, double scale, int64_t zero, RtDtype, IValue *out);
	/* dims: the dims that a mean reduces; None for other operators */
	int (*linear)(RtCx *, const RtCall *, RtQuantOp, IValue dims, const IValue *in, IValue *out);
	int (*through)(RtCx *, const RtCall *, const IValue *in, IValue *out);
	int (*map)(RtCx *, const struct MapRow *, const IValue *in, IValue *out);
	/* Sets the parameters of r, a view of t that is quantized per channel. `part` is null if r has all channels. */
	int (*view)(RtCx *, RtTensor *r, const RtTensor *t, const struct ViewPart *part);
	RtTensor *(*as)(RtCx *, IValue values, const RtTensor *like);    /* quantizes floats or a number as `like` */
	int (*write)(RtCx *, RtTensor *to, IValue values);               /* quantizes values into a tensor */
	/* returns the tensors quantized as the first one; null if an error was raised */
	const RtList *(*alike)(RtCx *, const RtList *);
	/* Returns a layer's weight (n, k) as bytes, in scratch memory. Null if it has zero points or is not quantized.
	 * scale: scales of the rows of a plain int8 weight; null for a quantized one. */
	int (*bytes)(RtCx *, RtTensor *w, RtTensor *scale, struct Int8Layer **);
	int (*pack)(RtCx *, struct Int8Layer *);         /* must be called before the first product */
	/* Computes y (rows, n) += x (rows, k) W'. Quantizes x by its own range to 8 bits, or to 7 bits if `narrow`. */
	int (*project)(RtCx *, const struct Int8Layer *, int64_t rows, const float *x, bool narrow, float *y);
	/* windows: average pools of nd dims */
	int (*windows)(RtCx *, const RtCall *, RtQuantOp, int nd, const IValue *in, IValue *out);
	int (*volumes)(RtCx *, const IValue *in, IValue *out);                           /* adaptive_avg_pool3d */
};
int quant_windows(RtCx *, const RtCall *, RtQuantOp, int nd, const IValue *in, IValue *out);     /* quantpool.c */
int quant_volumes(RtCx *, const IValue *in, IValue *out);
int quant_linear_by(RtCx *, const RtCall *, const IValue *in, RtRounding, IValue *out);
/* Sums of the float32 tensor t over the dims in `reduced`, a set of bits, in PyTorch's order.  sums: row-major. */
void quant_cascade_sums(const RtTensor *t, uint64_t reduced, float *sums);
int quant_layer(RtCx *, RtTensor *w, RtTensor *scale, struct Int8Layer **);      /* bytes, pack and project: packed.c */
int quant_pack_layer(RtCx *, struct Int8Layer *);
int quant_project(RtCx *, const struct Int8Layer *, int64_t rows, const float *x, bool narrow, float *y);
int rt_map_quantized(RtCx *, const struct MapRow *, const IValue *in, IValue *out);

static inline RtTensor *
quant_values(RtCx *cx, const RtTensor *t)            /* returns dense float32, a temporary */
{
	return rt_quantized->values(cx, t);
}

static inline int
quant_open(RtCx *cx, IValue v, bool fused, IValue *values, RtTensor **first)
{
	return rt_quantized->open(cx, v, fused, values, first);
}

static inline int
quant_close(RtCx *cx, RtTensor *values, double scale, int64_t zero, RtDtype dtype, IValue *out)
{
	return rt_quantized->close(cx, values, scale, zero, dtype, out);
}

/* Runs a linear operator whose result is rounded as that of `op`. */
static inline int
quant_rounded(RtCx *cx, const RtCall *c, RtQuantOp op, const IValue *in, IValue *out)
{
	return rt_quantized->linear(cx, c, op, rt_none(), in, out);
}

/* Runs a kernel that is linear, or a maximum, on the integers. Result 0 gets the parameters of the first argument. */
static inline int
quant_linear(RtCx *cx, RtKernel *kernel, const IValue *in, int nin, int nout, IValue *out)
{
	return quant_rounded(cx, &(RtCall){ .kernel = kernel, .nin = nin, .nout = nout }, RT_Q_OTHER, in, out);
}

#endif
