/* rt/ops/equal.c - equality of two tensors */
#include "reduce.h"

int
rt_tensor_equal(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = rt_tensor(in[0]), *b = rt_tensor(in[1]), *r;
	IValue eq, all;

	if (cx->meta)
		return rt_no_meta(cx);
	out[0] = rt_bool(false);
	if (a->ndim != b->ndim || ((a->quant || b->quant) && a->dtype != b->dtype))
		return RT_OK;
	if (a->quant && b->quant && (a->quant->scale != b->quant->scale || a->quant->zero != b->quant->zero))
		return RT_OK;
	for (int i = 0; i < a->ndim; i++)
		if (a->dims[i] != b->dims[i])
			return RT_OK;
	if (CALL(cx, eq_Tensor, &eq, in[0], in[1]) || CALL(cx, all, &all, eq))
		return RT_ERROR;
	r = rt_tensor(all);
	out[0] = rt_bool(rt_load_i64((RtDtype)r->dtype, rt_data(r)) != 0);
	return RT_OK;
}
