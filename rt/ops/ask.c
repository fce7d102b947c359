/* rt/ops/ask.c - queries of a tensor's geometry: sizes, strides, number of dims and elements, layout */
#include "block.h"

#include <string.h>

static int
give_ints(RtCx *cx, int n, const int64_t *v, IValue *out)
{
	RtList *list = rt_list_new(cx, &rt_type_int, n);

	if (!list)
		return RT_ERROR;
	out[0] = rt_ref(RT_LIST, list);
	for (int i = 0; i < n; i++)
		if (rt_list_push(cx, list, rt_int(v[i])))
			return RT_ERROR;
	return RT_OK;
}

static int
give_at(RtCx *cx, const RtTensor *t, const int64_t *v, int64_t dim, IValue *out)
{
	int d;

	if (t->ndim == 0)
		return rt_raise(cx, "Dimension specified as %lld but tensor has no dimensions", (long long)dim);
	d = rt_dim(cx, dim, t->ndim);
	if (d < 0)
		return RT_ERROR;
	out[0] = rt_int(v[d]);
	return RT_OK;
}

KERNEL(size, give_ints(cx, in[0].u.t->ndim, in[0].u.t->dims, out))
KERNEL(size_int, give_at(cx, in[0].u.t, in[0].u.t->dims, in[1].u.i, out))
KERNEL(stride, give_ints(cx, in[0].u.t->ndim, in[0].u.t->strides, out))
KERNEL(stride_int, give_at(cx, in[0].u.t, in[0].u.t->strides, in[1].u.i, out))
KERNEL(sym_size, rt_size(cx, in, out))
KERNEL(sym_size_int, rt_size_int(cx, in, out))
KERNEL(sym_stride, rt_stride(cx, in, out))
KERNEL(sym_stride_int, rt_stride_int(cx, in, out))

/* Defines the kernel of a query. `answer` computes an int or bool from tensor t. */
#define ASK(id, answer) \
	int rt_##id(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		const RtTensor *t = in[0].u.t; \
		(void)cx; \
		out[0] = answer; \
		return RT_OK; \
	}
ASK(ndim, rt_int(t->ndim))
ASK(count, rt_int(rt_numel(t)))
ASK(sym_numel, rt_int(rt_numel(t)))
ASK(storage_offset, rt_int(t->offset))
ASK(sym_storage_offset, rt_int(t->offset))
ASK(has_contiguous, rt_bool(rt_is_contiguous(t)))
ASK(is_non_overlapping_and_dense, rt_bool(rt_is_dense(t)))
#undef ASK

/* Whether the tensor has a memory format: 0 contiguous, 1 preserve, 2 channels last (4 dims), 3 channels last (5
 * dims). */
int
rt_is_contiguous_memory_format(RtCx *cx, const IValue *in, IValue *out)
{
	const RtTensor *t = in[0].u.t;
	int64_t format = in[1].u.i;

	if (format == 1)
		return rt_raise(cx, "preserve memory format is unsupported by the is_contiguous operator");
	out[0] = rt_bool(format == 0 ? rt_is_contiguous(t) : t->ndim == format + 2 && rt_is_channels_last(t));
	return RT_OK;
}

static bool
same_ints(int n, const int64_t *a, int m, const int64_t *b)
{
	return n == m && !memcmp(a, b, sizeof *a * n);
}

int
rt_is_same_size(RtCx *cx, const IValue *in, IValue *out)
{
	const RtTensor *a = in[0].u.t, *b = in[1].u.t;

	(void)cx;
	out[0] = rt_bool(same_ints(a->ndim, a->dims, b->ndim, b->dims));
	return RT_OK;
}

int
rt_is_set_to(RtCx *cx, const IValue *in, IValue *out)
{
	const RtTensor *a = in[0].u.t, *b = in[1].u.t;

	(void)cx;
	out[0] = rt_bool(a->storage == b->storage && a->offset == b->offset && !((a->flags ^ b->flags) & RT_BITS) &&
			 same_ints(a->ndim, a->dims, b->ndim, b->dims) &&
			 same_ints(a->ndim, a->strides, b->ndim, b->strides));
	return RT_OK;
}

int
rt__infer_size(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t dims[RT_MAX_RANK], other[RT_MAX_RANK];
	int n = rt_ints(cx, in[0], dims, RT_MAX_RANK), m = n < 0 ? -1 : rt_ints(cx, in[1], other, RT_MAX_RANK);

	if (m < 0 || rt_broadcast(cx, &n, dims, m, other))
		return RT_ERROR;
	return give_ints(cx, n, dims, out);
}

int
rt__size_if_not_equal(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t dims[RT_MAX_RANK], other[RT_MAX_RANK];
	int n = rt_ints(cx, in[0], dims, RT_MAX_RANK), m = n < 0 ? -1 : rt_ints(cx, in[1], other, RT_MAX_RANK);

	if (m < 0)
		return RT_ERROR;
	out[0] = same_ints(n, dims, m, other) ? rt_none() : rt_retain(in[0]);
	return RT_OK;
}

int
rt__shape_as_tensor(RtCx *cx, const IValue *in, IValue *out)
{
	const RtTensor *t = in[0].u.t;
	int64_t n = t->ndim;
	RtTensor *r = rt_result(cx, 0, RT_i64, 1, &n, NULL);

	RT_RESULT(cx, r, out[0]);
	memcpy(rt_data(r), t->dims, sizeof *t->dims * n);
	return RT_OK;
}

int
rt__reshape_from_tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *shape = dense_as(cx, in[1].u.t, RT_i64);
	IValue args[2] = { in[0] };
	RtList *list;

	if (!shape)
		return RT_ERROR;
	if (shape->ndim != 1)
		return rt_raise(cx, "_reshape_from_tensor: the shape has to be a vector");
	if (cx->meta)
		return rt_no_meta(cx);
	list = rt_list_new(cx, &rt_type_int, shape->dims[0]);
	if (!list)
		return RT_ERROR;
	args[1] = rt_temp_value(cx, rt_ref(RT_LIST, list));
	for (int64_t i = 0; i < shape->dims[0]; i++)
		if (rt_list_push(cx, list, rt_int(((int64_t *)(void *)rt_data(shape))[i])))
			return RT_ERROR;
	return rt_reshape(cx, args, out);
}
