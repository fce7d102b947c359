/* rt/ops/mask.c - elements chosen by a condition: nonzero, masked_select, masked_scatter, triangles of a matrix */
#include "scatter.h"

/* Returns a byte for each element, which is 1 if the element is not zero. A cast of a complex number would drop the
 * imaginary part. */
static uint8_t *
nonzero_bytes(RtCx *cx, RtTensor *t)
{
	IValue v = rt_of(t);
	RtTensor *b;

	if (rt_is_complex((RtDtype)t->dtype) && CALL(cx, ne_Scalar, &v, v, rt_int(0)))
		return NULL;
	b = dense_as(cx, v.u.t, RT_b8);
	return b ? (uint8_t *)rt_data(b) : NULL;
}

RtTensor *
nonzero_rows(RtCx *cx, RtTensor *t, bool by_dim)
{
	const uint8_t *is = nonzero_bytes(cx, t);
	int64_t n = rt_numel(t), count = 0, dims[2], at[RT_MAX_RANK] = { 0 }, *to;
	RtTensor *r;

	if (!is || rt_not_stored_only(cx, "nonzero_count_cpu", (RtDtype)t->dtype))
		return NULL;
	for (int64_t i = 0; i < n; i++)
		count += is[i] != 0;
	dims[by_dim] = count;
	dims[!by_dim] = t->ndim;
	r = rt_tensor_strided(cx, RT_i64, 2, dims, by_dim ? (int64_t[2]){ count, 1 } : (int64_t[2]){ 1, count });
	if (!r)
		return NULL;
	to = (int64_t *)(void *)rt_data(r);
	for (int64_t i = 0; i < n; i++) {
		if (is[i]) {
			for (int d = 0; d < t->ndim; d++)
				to[d * count] = at[d];
			to++;
		}
		for (int d = t->ndim - 1; d >= 0 && ++at[d] == t->dims[d]; d--)
			at[d] = 0;
	}
	return r;
}

int
rt_nonzero(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *r;

	if (cx->meta)
		return rt_no_meta(cx);
	r = nonzero_rows(cx, in[0].u.t, false);
	RT_RESULT(cx, r, out[0]);
	return RT_OK;
}

/* Returns the bytes of a bool mask. For other types, PyTorch 1.13 reads the first byte of each element, which must be 0
 * or 1. PyTorch 2 raises an error for them; name and type are those of its message. */
static uint8_t *
mask_bytes(RtCx *cx, RtTensor *mask, const char *name, const char *type)
{
	const int64_t n = rt_numel(mask), bytes = rt_dtypes[mask->dtype].bytes;
	const RtTensor *t;
	uint8_t *is;

	if (mask->dtype == RT_b8)
		return nonzero_bytes(cx, mask);
	if (cx->torch == RT_TORCH_2) {
		rt_raise(cx, "%s only supports boolean masks, but got mask with dtype %s", name, type);
		return NULL;
	}
	t = dense(cx, mask);
	is = t ? rt_scratch(cx, n + 1) : NULL;
	for (int64_t i = 0; is && i < n; i++) {
		is[i] = (uint8_t)rt_data(t)[i * bytes];
		if (is[i] > 1) {
			rt_raise(cx, "Mask tensor can take 0 and 1 values only");
			return NULL;
		}
	}
	return is;
}

/* Returns the mask of masked_fill as bools. */
int
rt_prim_mask(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *mask = in[0].u.t, *r = rt_result(cx, 0, RT_b8, mask->ndim, mask->dims, NULL);
	const uint8_t *is;

	RT_RESULT(cx, r, out[0]);
	is = mask_bytes(cx, mask, "masked_fill_", rt_type_text((RtDtype)mask->dtype));
	if (!is)
		return RT_ERROR;
	memcpy(rt_data(r), is, (size_t)rt_numel(mask));
	return RT_OK;
}

static int
check_select(RtCx *cx, const RtTensor *mask)
{
	if (mask->dtype == RT_b8 || (mask->dtype == RT_u8 && cx->torch != RT_TORCH_2))
		return RT_OK;
	return rt_raise(cx, "masked_select: expected BoolTensor%s for mask",
		cx->torch == RT_TORCH_2 ? "" : " or ByteTensor");
}

int
rt_masked_select(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *mask = in[1].u.t, *r;
	int64_t dims[RT_MAX_RANK], n, count = 0, bytes = rt_dtypes[self->dtype].bytes;
	const uint8_t *is;
	const char *from;
	char *to;
	int rank = 0;

	if (check_select(cx, mask) || rt_broadcast(cx, &rank, dims, mask->ndim, mask->dims) ||
	    rt_broadcast(cx, &rank, dims, self->ndim, self->dims) ||
	    (rt_category((RtDtype)self->dtype) == 'U' && rt_not_stored_only(cx, "masked_select", (RtDtype)self->dtype)))
		return RT_ERROR;
	if (cx->meta)
		return rt_no_meta(cx);
	self = expanded(cx, self, rank, dims);
	mask = self ? expanded(cx, mask, rank, dims) : NULL;
	is = mask ? mask_bytes(cx, mask, "", "") : NULL;
	if (!is)
		return RT_ERROR;
	n = rt_numel(self);
	for (int64_t i = 0; i < n; i++)
		count += is[i] != 0;
	r = rt_result(cx, 0, (RtDtype)self->dtype, 1, &count, NULL);
	RT_RESULT(cx, r, out[0]);
	from = rt_data(self);
	to = rt_data(r);
	for (int64_t i = 0; i < n; i++)
		if (is[i]) {
			rt_copy_bytes(to, from + i * bytes, bytes);
			to += bytes;
		}
	return RT_OK;
}

static int
scatter_masked(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *mask = in[1].u.t, *src = in[2].u.t;
	int64_t bytes = rt_dtypes[dst->dtype].bytes, left = rt_numel(src);
	const uint8_t *is;
	const char *from;
	IValue at;

	if (rt_not_stored_only(cx, "masked_scatter", (RtDtype)dst->dtype))
		return RT_ERROR;
	if (dst->dtype != src->dtype)
		return rt_raise(cx, "masked_scatter: expected self and source to have same dtypes but got%s and %s",
			rt_dtypes[dst->dtype].brief, rt_dtypes[src->dtype].brief);
	if (cx->meta)
		return RT_OK;
	if (CALL(cx, expand_as, &at, rt_of(mask), rt_of(dst)))
		return RT_ERROR;
	mask = dense(cx, at.u.t);
	is = mask ? mask_bytes(cx, mask, "masked_scatter_", rt_dtypes[mask->dtype].brief) : NULL;
	src = is ? dense(cx, src) : NULL;
	if (!src)
		return RT_ERROR;
	from = rt_data(src);
	for (int64_t i = 0, n = rt_numel(dst); i < n; i++)
		if (is[i]) {
			if (!left--)
				return rt_raise(cx, "Number of elements of source < number of ones in mask");
			rt_copy_bytes(rt_data(dst) + byte_offset(dst, i), from, bytes);
			from += bytes;
		}
	return RT_OK;
}

int
rt_masked_scatter(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *mask = in[1].u.t, *r, *from;
	int64_t dims[RT_MAX_RANK];
	int rank = 0;

	if (rt_broadcast(cx, &rank, dims, mask->ndim, mask->dims) ||
	    rt_broadcast(cx, &rank, dims, self->ndim, self->dims))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)self->dtype, rank, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	from = expanded(cx, self, rank, dims);
	return !from || rt_copy_into(cx, r, from) ? RT_ERROR : scatter_masked(cx, in, r);
}

int
rt_masked_scatter_(RtCx *cx, const IValue *in, IValue *out)
{
	if (rt_check_itself(cx, in[0].u.t) || (!cx->meta && rt_writable(cx, in[0].u.t)) ||
	    scatter_masked(cx, in, in[0].u.t))
		return RT_ERROR;
	out[0] = rt_retain(in[0]);
	return RT_OK;
}

/* ---- triangles ------------------------------------------------------------------------------------------------- */

static int
triangle(RtCx *cx, const IValue *in, bool upper, IValue *out)
{
	RtTensor *t = in[0].u.t, *r;
	int64_t k = in[1].u.i, rows, columns, bytes = rt_dtypes[t->dtype].bytes;
	char *row;

	if (rt_not_stored_only(cx, upper ? "triu" : "tril", (RtDtype)t->dtype))
		return RT_ERROR;
	if (t->ndim < 2 && cx->torch == RT_TORCH_2)
		return rt_raise(cx, "%s: input tensor must have at least 2 dimensions", upper ? "triu" : "tril");
	if (!t->ndim)
		return rt_raise(cx, "Dimension specified as -2 but tensor has no dimensions");
	if (t->ndim < 2 && rt_numel(t))
		return rt_raise(cx, "Dimension out of range (expected to be in range of [-1, 0], but got -2)");
	r = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, t->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	if (rt_copy_into(cx, r, t))
		return RT_ERROR;
	if (!rt_numel(r))
		return RT_OK;
	rows = t->dims[t->ndim - 2];
	columns = t->dims[t->ndim - 1];
	k = k < -rows - 1 ? -rows - 1 : k > columns + 1 ? columns + 1 : k;
	row = rt_data(r);
	for (int64_t i = 0, n = rt_numel(r) / columns; i < n; i++, row += columns * bytes) {
		/* Columns from `split` on are above the diagonal, or, if `upper`, on or above it. */
		int64_t split = i % rows + k + !upper;
		split = split < 0 ? 0 : split > columns ? columns : split;
		if (upper)
			memset(row, 0, split * bytes);
		else
			memset(row + split * bytes, 0, (columns - split) * bytes);
	}
	return RT_OK;
}

KERNEL(tril, triangle(cx, in, false, out))
KERNEL(triu, triangle(cx, in, true, out))
