/* rt/dlpack.c - converts between DLPack tensors and Kiln's, with checks and without copies */
#include "base.h"
#include "door.h"

#include <string.h>

enum { DL_INT, DL_UINT, DL_FLOAT, DL_OPAQUE, DL_BFLOAT, DL_COMPLEX, DL_BOOL, DL_F8_E4M3FN = 10, DL_F8_E4M3FNUZ,
	DL_F8_E5M2, DL_F8_E5M2FNUZ };
enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3 };

/* DLPack's code of each dtype. bits is 0 if DLPack has no such dtype. */
static const RtDlType types[RT_NDTYPE] = {
	[RT_u8] = { DL_UINT, 8, 1 }, [RT_i8] = { DL_INT, 8, 1 }, [RT_i16] = { DL_INT, 16, 1 },
	[RT_i32] = { DL_INT, 32, 1 }, [RT_i64] = { DL_INT, 64, 1 }, [RT_f16] = { DL_FLOAT, 16, 1 },
	[RT_f32] = { DL_FLOAT, 32, 1 }, [RT_f64] = { DL_FLOAT, 64, 1 }, [RT_c32] = { DL_COMPLEX, 32, 1 },
	[RT_c64] = { DL_COMPLEX, 64, 1 }, [RT_c128] = { DL_COMPLEX, 128, 1 }, [RT_b8] = { DL_BOOL, 8, 1 },
	[RT_bf16] = { DL_BFLOAT, 16, 1 }, [RT_f8_e5m2] = { DL_F8_E5M2, 8, 1 },
	[RT_f8_e4m3fn] = { DL_F8_E4M3FN, 8, 1 }, [RT_f8_e5m2fnuz] = { DL_F8_E5M2FNUZ, 8, 1 },
	[RT_f8_e4m3fnuz] = { DL_F8_E4M3FNUZ, 8, 1 }, [RT_u16] = { DL_UINT, 16, 1 }, [RT_u32] = { DL_UINT, 32, 1 },
	[RT_u64] = { DL_UINT, 64, 1 },
};

bool
rt_dl_same_type(RtDlType t, RtDtype d)
{
	return types[d].bits && t.code == types[d].code && t.bits == types[d].bits && t.lanes == 1;
}

static int
dtype_of(RtDlType t)
{
	int d = 0;

	while (d < RT_NDTYPE && !rt_dl_same_type(t, (RtDtype)d))
		d++;
	return d;
}

bool
rt_dl_span(const RtDlTensor *t, int64_t *bytes)
{
	int64_t last = 0, count = 1, step;
	bool empty = false;

	if (t->ndim < 0 || t->ndim > RT_MAX_RANK || (t->ndim && !t->shape))
		return false;
	for (int i = t->ndim - 1; i >= 0; i--) {
		const int64_t stride = t->strides ? t->strides[i] : count;

		if (t->shape[i] < 0 || stride < 0)
			return false;
		empty |= t->shape[i] == 0;
		if (!t->shape[i])
			continue;
		if (!size_mul(t->shape[i] - 1, stride, &step) || !size_add(last, step, &last) ||
		    !size_mul(count, t->shape[i], &count))
			return false;
	}
	*bytes = 0;
	return empty || (size_add(last, 1, &last) && size_mul(last, (t->dtype.bits * t->dtype.lanes + 7) / 8, bytes));
}

static RtTensor *
refused(RtCx *cx, const char *key, const char *why)
{
	rt_raise(cx, "'%s': %s", key, why);
	return NULL;
}

bool
rt_dl_on_device(const RtDlTensor *t)
{
	return t->device.kind == DL_CUDA;
}

int
rt_dl_check_device(RtCx *cx, const char *key, const RtDlTensor *t)
{
	if (t->device.kind == DL_CPU || t->device.kind == DL_CUDA_HOST)
		return RT_OK;
	if (t->device.kind != DL_CUDA)
		return rt_raise(cx, "'%s': the tensor is neither in the memory of the CPU nor on a CUDA device", key);
	if (!cx->cuda)
		return rt_raise(cx, "'%s': the tensor is on cuda:%d, and this instance computes on the CPU", key,
				(int)t->device.id);
	if (t->device.id != cx->program->cuda->door->index(cx))
		return rt_raise(cx, "'%s': the tensor is on cuda:%d, and this instance computes on cuda:%d", key,
				(int)t->device.id, cx->program->cuda->door->index(cx));
	return RT_OK;
}

/* Returns a storage over the tensor's memory. Sets *offset to the offset in bytes of its first element in that
 * storage. */
static RtStorage *
storage_over(RtCx *cx, const RtDlTensor *t, int64_t bytes, int64_t *offset)
{
	const char *data = (const char *)t->data + t->byte_offset;

	*offset = 0;
	if (rt_dl_on_device(t) && bytes)
		return cx->program->cuda->door->over(cx, (uint64_t)(uintptr_t)data, bytes, offset);
	return rt_storage_over(cx, bytes ? data : "", bytes, false);
}

RtTensor *
rt_tensor_of_dl(RtCx *cx, const char *key, const RtDlTensor *t)
{
	const int d = dtype_of(t->dtype);
	const char *data = (const char *)t->data + t->byte_offset;
	RtTensor *own = NULL;
	RtStorage *s;
	int64_t bytes, offset;

	if (rt_dl_check_device(cx, key, t))
		return NULL;
	if (d == RT_NDTYPE)
		return refused(cx, key, "there are no tensors of this dtype");
	if (t->ndim < 0 || t->ndim > RT_MAX_RANK || (t->ndim && !t->shape))
		return refused(cx, key, "a tensor has 0 to 64 dimensions, and a shape");
	if (!rt_dl_span(t, &bytes))
		return refused(cx, key, "a size or stride is less than 0, or the tensor is too large");
	if (bytes && !t->data)
		return refused(cx, key, "the tensor has no data");
	if (bytes && (uintptr_t)data % (uintptr_t)(rt_dtypes[d].bytes > 8 ? 8 : rt_dtypes[d].bytes))
		return refused(cx, key, "the data is not aligned to its elements");
	if ((s = storage_over(cx, t, bytes, &offset)) && offset % rt_dtypes[d].bytes)
		refused(cx, key, "the tensor overlaps a result by a part of an element");
	else if (s)
		own = rt_tensor_over(cx, s, (RtDtype)d, &(RtGeometry){ t->ndim, t->shape, t->strides,
				     offset / rt_dtypes[d].bytes });
	rt_storage_release(s);
	return own;
}

bool
rt_dl_of_tensor(const RtTensor *t, RtDlTensor *out)
{
	if (!types[t->dtype].bits || t->layout)
		return false;
	*out = (RtDlTensor){ .data = rt_data(t), .device = { DL_CPU, 0 }, .ndim = t->ndim, .dtype = types[t->dtype],
			     .shape = t->dims, .strides = t->strides };
	return true;
}
