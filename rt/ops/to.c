/* rt/ops/to.c - casts, copies and fills; queries of types
 *
 * A cast to the same type returns its argument. There is one device, so a device argument has no effect. */
#include <string.h>

#include "kernel.h"
#include "dense.h"
#include "quant.h"

/* ---- casts -------------------------------------------------------------------------------------------------- */

/* Returns the memory format by ATen's suggest_memory_format. */
static int64_t
format_of(const RtTensor *t)
{
	int64_t strides[RT_MAX_RANK];

	return !dense_format(t, t->ndim, t->dims, strides) ? 0 : t->ndim == 4 ? 2 : 3;
}

KERNEL(prim_format_of, (out[0] = rt_int(format_of(in[0].u.t)), RT_OK))

static int
same(IValue v, IValue *out)
{
	out[0] = rt_retain(v);
	return RT_OK;
}

/* Makes the result of a copy of t. If d is t's own dtype, it has t's quantization. */
static RtTensor *
copy_result(RtCx *cx, const RtTensor *t, RtDtype d, const int64_t *strides)
{
	RtTensor *r = rt_result(cx, 0, d, t->ndim, t->dims, strides);

	if (r && t->quant && d == t->dtype && !r->quant) {
		r->quant = t->quant;
		rt_count_up(&r->quant->h);
	}
	return r;
}

/* Copies t to type d and memory format `format`. 1 (preserve) keeps the strides of a dense tensor. */
static int
copy_as(RtCx *cx, RtTensor *t, RtDtype d, int64_t format, IValue *out)
{
	int64_t strides[RT_MAX_RANK];
	RtTensor *r;

	if (format == 1 && rt_is_dense(t))
		memcpy(strides, t->strides, t->ndim * sizeof *strides);
	else if (rt_format_strides(cx, format == 1 ? format_of(t) : format, t->ndim, t->dims, strides))
		return RT_ERROR;
	r = copy_result(cx, t, d, strides);
	RT_RESULT(cx, r, out[0]);
	return rt_copy_into(cx, r, t);
}

static bool
has_format(const RtTensor *t, int64_t format)
{
	return format == 1 || (format == 0 ? rt_is_contiguous(t) : rt_is_channels_last(t));
}

static int
to(RtCx *cx, IValue self, IValue dtype, bool always, IValue format, IValue *out)
{
	RtTensor *t = rt_tensor(self);
	RtDtype d = rt_dtype_or(dtype, t->dtype);
	int64_t f = rt_int_or(format, 1);

	if (t->quant && d != t->dtype)
		return rt_raise(cx, "Creation of quantized tensor requires quantized dtype like torch.quint8");
	if (!always && d == t->dtype && (f == 1 || f == format_of(t)))
		return same(self, out);
	return copy_as(cx, t, d, f, out);
}

KERNEL(to_device, to(cx, in[0], in[2], in[4].u.i, in[5], out))
KERNEL(to_dtype_of, to(cx, in[0], in[1], in[3].u.i, in[4], out))

int
rt_to_dtype_layout(RtCx *cx, const IValue *in, IValue *out)
{
	if (rt_int_or(in[2], 0) != 0)
		return rt_lacks(cx, "sparse tensors");
	return to(cx, in[0], in[1], in[6].u.i, in[7], out);
}

KERNEL(to_other, to(cx, in[0], rt_int(in[1].u.t->dtype), in[3].u.i, in[4], out))
KERNEL(to_prim_Device, to(cx, in[0], in[2], in[4].u.i, rt_none(), out))
KERNEL(to_prim_dtype, to(cx, in[0], in[1], in[3].u.i, rt_none(), out))
KERNEL(to_prim_other, to(cx, in[0], rt_none(), in[2].u.i, rt_none(), out))
KERNEL(type_as, to(cx, in[0], rt_int(in[1].u.t->dtype), false, rt_none(), out))
KERNEL(_to_copy, to(cx, in[0], in[1], true, in[6], out))
KERNEL(as_tensor, to(cx, in[0], in[1], false, rt_none(), out))
KERNEL(cpu, same(in[0], out))
KERNEL(cuda, same(in[0], out))
KERNEL(pin_memory, same(in[0], out))

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Clones a tensor. Unlike a cast, a clone keeps the order of dims of tensors that are not dense. */
int
rt_tensor_clone(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *r;
	int64_t strides[RT_MAX_RANK], format = rt_int_or(in[1], 1);

	if (format != 1)
		return copy_as(cx, t, (RtDtype)t->dtype, format, out);
	rt_result_strides(t->ndim, t->dims, 1, &t, strides);
	r = copy_result(cx, t, (RtDtype)t->dtype, strides);
	RT_RESULT(cx, r, out[0]);
	return rt_copy_into(cx, r, t);
}

int
rt_tensor_contiguous(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t format = rt_integer(in[1]);

	if (format == 1)
		return rt_raise(cx, "preserve memory format is unsupported by the contiguous operator");
	return has_format(in[0].u.t, format) ? same(in[0], out)
					     : copy_as(cx, in[0].u.t, (RtDtype)in[0].u.t->dtype, format, out);
}

/* ---- writes ------------------------------------------------------------------------------------------------------ */

int
rt_copy_(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[0].u.t == in[1].u.t)              /* even if it is expanded, or overlaps itself */
		return same(in[0], out);
	if (in[0].u.t->quant && !in[1].u.t->quant)
		return rt_quantized->write(cx, in[0].u.t, in[1]) ? RT_ERROR : same(in[0], out);
	if (in[0].u.t->quant && (in[0].u.t->dtype != in[1].u.t->dtype ||
				 in[0].u.t->quant->scheme != in[1].u.t->quant->scheme))
		return rt_raise(cx, "copy_: expected quantized tensors of one dtype and scheme");
	if (rt_check_overlap(cx, in[0].u.t, in[1].u.t) || rt_copy_into(cx, in[0].u.t, in[1].u.t))
		return RT_ERROR;
	if (in[0].u.t->quant)
		rt_tensor_share_quant(in[0].u.t, in[1].u.t);
	return same(in[0], out);
}

KERNEL(copy__Tensor, rt_copy_(cx, in, out))

static int
fill_number(RtCx *cx, RtTensor *t, IValue number)
{
	return t->quant ? rt_quantized->write(cx, t, number) : rt_fill(cx, t, number);
}

int
rt_fill__Scalar(RtCx *cx, const IValue *in, IValue *out)
{
	return fill_number(cx, in[0].u.t, in[1]) ? RT_ERROR : same(in[0], out);
}

KERNEL(copy__float, rt_fill__Scalar(cx, in, out))
KERNEL(copy__int, rt_fill__Scalar(cx, in, out))

/* Fills `to` with a value. A fill may write an element more than once, and its value may overlap the result. */
static int
fill_from(RtCx *cx, RtTensor *to, RtTensor *value)
{
	int64_t dims[RT_MAX_RANK];

	for (int i = 0; i < to->ndim; i++)
		dims[i] = to->strides[i] || !to->dims[i] ? to->dims[i] : 1;
	if (!cx->meta && rt_may_overlap(to, value) && !(value = rt_temp(cx, rt_clone(cx, value))))
		return RT_ERROR;
	if (rt_overlaps_itself(to) &&
	    !(to = rt_temp(cx, rt_tensor_view(cx, to, to->ndim, dims, to->strides, to->offset))))
		return RT_ERROR;
	return rt_copy_into(cx, to, value);
}

int
rt_fill__Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[1].u.t->ndim)
		return rt_raise(cx, "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
				in[1].u.t->ndim);
	if (!cx->meta && (in[0].u.t->quant || (rt_is_complex((RtDtype)in[1].u.t->dtype) &&
					       !rt_is_complex((RtDtype)in[0].u.t->dtype)))) {
		const IValue number = rt_item(cx, in[1].u.t);
		const int status = cx->status || fill_number(cx, in[0].u.t, number) ? RT_ERROR : same(in[0], out);

		rt_release(number);
		return status;
	}
	return fill_from(cx, in[0].u.t, in[1].u.t) ? RT_ERROR : same(in[0], out);
}

int
rt_zero_(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue zero[2] = { in[0], rt_int(0) };             /* tcc does not accept an array of structs in a call */

	return rt_fill__Scalar(cx, zero, out);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

KERNEL(is_floating_point, put_bool(rt_kind((RtDtype)in[0].u.t->dtype) == 'F', out))
KERNEL(tensor_is_complex, put_bool(rt_is_complex((RtDtype)in[0].u.t->dtype), out))

int
rt_is_signed(RtCx *cx, const IValue *in, IValue *out)
{
	const RtDtype d = (RtDtype)in[0].u.t->dtype;

	(void)cx;
	return put_bool(d != RT_b8 && d != RT_u8 && d != RT_qu8 && rt_category(d) != 'U', out);
}

KERNEL(is_conj, put_bool(in[0].u.t->flags & RT_CONJ, out))
KERNEL(is_neg, put_bool(in[0].u.t->flags & RT_NEG, out))
KERNEL(is_inference, put_bool(false, out))
KERNEL(is_pinned, put_bool(false, out))

static int
result_type(RtCx *cx, const IValue *in, IValue *out)
{
	const RtDtype d = rt_result_type(2, in);

	return d == RT_NDTYPE ? rt_no_result_type(cx, 2, in) : put_int(d, out);
}

KERNEL(result_type_Tensor, result_type(cx, in, out))
KERNEL(result_type_Scalar, result_type(cx, in, out))
KERNEL(result_type_Scalar_Tensor, result_type(cx, in, out))
KERNEL(result_type_Scalar_Scalar, result_type(cx, in, out))
KERNEL(dtype_can_cast, put_bool(rt_can_cast(rt_dtype_or(in[0], RT_NDTYPE), rt_dtype_or(in[1], RT_NDTYPE)), out))

int
rt_promote_types(RtCx *cx, const IValue *in, IValue *out)
{
	const RtDtype a = rt_dtype_or(in[0], RT_NDTYPE), b = rt_dtype_or(in[1], RT_NDTYPE), d = rt_promote(a, b);

	return d == RT_NDTYPE ? rt_no_promotion(cx, a, b) : put_int(d, out);
}

int
rt__local_scalar_dense(RtCx *cx, const IValue *in, IValue *out)
{
	if (!rt_numel(in[0].u.t))
		return rt_raise(cx, "a Tensor with 0 elements cannot be converted to Scalar");
	if (cx->meta)
		return rt_no_meta(cx);
	out[0] = rt_item(cx, in[0].u.t);
	return rt_is_none(out[0]) ? RT_ERROR : RT_OK;
}

int
rt_requires_grad_(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);

	if (in[1].u.i && rt_kind((RtDtype)t->dtype) != 'F' && !rt_is_complex((RtDtype)t->dtype))
		return rt_raise(cx, "only Tensors of floating point dtype can require gradients");
	t->flags = (uint8_t)(in[1].u.i ? t->flags | RT_REQUIRES_GRAD : t->flags & ~RT_REQUIRES_GRAD);
	return same(in[0], out);
}
