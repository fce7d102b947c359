/* rt/ops/call.c - calls from one kernel to another; views as results
 *
 * The inner kernel has its own memory. It must not use the memory planned for the outer kernel's results, and its
 * temporaries are freed when it returns. Its results become temporaries of the outer kernel. */
#include "geom.h"

int
rt_call_temp(RtCx *cx, RtKernel *kernel, IValue *out, int nout, const IValue *in)
{
	RtPlace *place = cx->place;
	int nplace = cx->nplace, r;

	cx->place = 0;
	cx->nplace = 0;
	r = rt_call_kernel(cx, kernel, in, out, nout);
	cx->place = place;
	cx->nplace = nplace;
	for (int i = 0; !r && i < nout; i++)
		out[i] = rt_temp_value(cx, out[i]);
	return r ? r : cx->status;                       /* rt_temp_value may fail */
}

int
rt_return(RtCx *cx, RtTensor *t, IValue *out)
{
	RtTensor *r = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, t->dims, t->strides);

	RT_RESULT(cx, r, *out);
	return rt_copy_into(cx, r, t);
}

RtTensor *
view_of(RtCx *cx, RtTensor *base, const Geom *g, const ViewPart *part)
{
	RtTensor *r = rt_tensor_view(cx, base, g->n, g->dims, g->strides, g->offset);

	if (!r || !r->quant || !r->quant->scales || !rt_quantized->view(cx, r, base, part))
		return r;
	rt_tensor_release(r);
	return NULL;
}
