/*
 * Average pools of quantized tensors. They are linear operators on integers, rounded by the table of rt/engines.c.
 *
 * Only rt_quantized refers to them, so programs without quantized tensors do not link them.
 */
#include "dense.h"
#include "quant.h"

/* Computes windows of lines or planes of a quantized tensor. Lines are rounded as planes of one row. */
int
quant_windows(RtCx *cx, const RtCall *c, RtQuantOp op, int nd, const IValue *in, IValue *out)
{
	IValue v = in[0];

	if (nd == 1 && CALL(cx, unsqueeze, &v, v, rt_int(-2)))
		return RT_ERROR;
	return quant_linear_by(cx, c, in, rt_rounding(cx, op, v.u.t, in[1]), out);
}

/* Computes means of volumes. If the result has one element for each channel, PyTorch computes a mean over all
 * elements. */
int
quant_volumes(RtCx *cx, const IValue *in, IValue *out)
{
	IValue mean[4] = { in[0], rt_none(), rt_bool(true), rt_none() };
	int64_t size[3];
	RtList *dims;

	if (dense_sizes(cx, in[1], "adaptive_avg_pool3d", "output_size", 3, size))
		return RT_ERROR;
	if (size[0] != 1 || size[1] != 1 || size[2] != 1)
		return quant_rounded(cx, &(RtCall){ .kernel = rt_adaptive_avg_pool3d, .nin = 2, .nout = 1 },
				     RT_Q_ADAPTIVE3D, in, out);
	dims = rt_list_new(cx, &rt_type_int, 3);
	mean[1] = dims ? rt_temp_value(cx, rt_ref(RT_LIST, dims)) : rt_none();
	for (int i = -3; dims && i < 0; i++)
		if (rt_list_push(cx, dims, rt_int(i)))
			return RT_ERROR;
	return dims ? rt_mean_dim(cx, mean, out) : RT_ERROR;
}
