/* rt/ops/scatter.c - gather, scatter and scatter_reduce: an index for each element */
#include "scatter.h"

#include <math.h>

RT_FAST

/* ---- shared with index.c ----------------------------------------------------------------------------------------- */

RtTensor *
expanded(RtCx *cx, RtTensor *t, int n, const int64_t *dims)
{
	Geom g = { .n = n, .offset = t->offset };
	int lead = n - t->ndim;

	if (lead == 0 && (n == 0 || !memcmp(dims, t->dims, sizeof *dims * n)))
		return dense(cx, t);
	for (int i = 0; i < -lead; i++)
		if (t->dims[i] != 1)
			return NULL;
	for (int i = 0; i < n; i++) {
		int64_t size = i < lead ? 1 : t->dims[i - lead];
		if (size != dims[i] && size != 1)
			return NULL;
		g.dims[i] = dims[i];
		g.strides[i] = size == dims[i] && i >= lead ? t->strides[i - lead] : 0;
	}
	t = rt_temp(cx, rt_tensor_view(cx, t, g.n, g.dims, g.strides, g.offset));
	return t ? dense(cx, t) : NULL;
}

RtTensor *
result_copy(RtCx *cx, RtTensor *self, bool keep, IValue *out)
{
	int64_t strides[RT_MAX_RANK];
	RtTensor *r;

	rt_result_strides(self->ndim, self->dims, 1, &self, strides);
	r = rt_result(cx, 0, (RtDtype)self->dtype, self->ndim, self->dims, keep ? strides : NULL);
	if (!r)
		return NULL;
	if (self->quant)
		rt_tensor_share_quant(r, self);
	out[0] = rt_of(r);
	return cx->meta || !rt_copy_into(cx, r, self) ? r : NULL;
}

int
check_target(RtCx *cx, const IValue *in, const RtTensor *dst, int n)
{
	if (dst != in[0].u.t)
		return RT_OK;
	if (rt_check_itself(cx, dst))
		return RT_ERROR;
	for (int i = 1; i < n; i++)
		if (in[i].tag == RT_TENSOR && rt_check_apart(cx, dst, in[i].u.t))
			return RT_ERROR;
	return RT_OK;
}

/* ---- gather, scatter --------------------------------------------------------------------------------------------- */

/* Returns the contiguous index of gather and scatter, and sets *dim. Null if an error was raised. */
static RtTensor *
index_and_dim(RtCx *cx, const char *name, const RtTensor *self, const IValue *in, int *dim)
{
	RtTensor *index = in[2].u.t;

	*dim = rt_dim(cx, in[1].u.i, self->ndim);
	if (*dim < 0)
		return NULL;
	if (index->dtype == RT_i64 || !rt_numel(index))
		return dense(cx, index);
	if (index->dtype == RT_i32 && cx->torch == RT_TORCH_2)
		return rt_temp(cx, rt_to_dtype(cx, dense(cx, index), RT_i64));
	rt_raise(cx, "%s(): Expected dtype %s for index", name, cx->torch == RT_TORCH_2 ? "int32/int64" : "int64");
	return NULL;
}

static int
check_rank(RtCx *cx, const RtTensor *index, const RtTensor *t, const char *what)
{
	return (index->ndim ? index->ndim : 1) == (t->ndim ? t->ndim : 1) ? RT_OK
		: rt_raise(cx, "Index tensor must have the same number of dimensions as %s tensor", what);
}

static int
check_gathered(RtCx *cx, const RtTensor *self, const RtTensor *index, int dim)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];

	if (!rt_numel(index))
		return RT_OK;
	if (check_rank(cx, index, self, "input"))
		return RT_ERROR;
	for (int d = 0; d < index->ndim; d++)
		if (d != dim && index->dims[d] > size_at(self, d))
			return rt_raise(cx, "Size does not match at dimension %d expected index %s to be smaller than "
				"self %s apart from dimension %d", d, sizes_text(a, index->ndim, index->dims),
				sizes_text(b, self->ndim, self->dims), dim);
	return RT_OK;
}

static int
out_of_bounds(RtCx *cx, int64_t i, int dim, int64_t size)
{
	return rt_raise(cx, "index %lld is out of bounds for dimension %d with size %lld", (long long)i, dim,
			(long long)size);
}

/* Returns the position of the first of n indices that is not in [0, size). n if all are in it. */
static int64_t
first_outside(const int64_t *at, int64_t n, int64_t size)
{
	int64_t i = 0;

	while (i < n && at[i] >= 0 && at[i] < size)
		i++;
	return i;
}

/* Raises an error for 8-bit floats, because ATen's kernels with an index for each element do not support them. */
static int
not_of_8_bits(RtCx *cx, const RtTensor *t, const RtTensor *index)
{
	return rt_category((RtDtype)t->dtype) == 'E' && rt_numel(index)
		? rt_not_stored_only(cx, "scatter_gather_tensor_cpu", (RtDtype)t->dtype) : RT_OK;
}

int
rt_gather(RtCx *cx, const IValue *in, IValue *out)
{
	int dim;
	RtTensor *self = in[0].u.t, *index = index_and_dim(cx, "gather", self, in, &dim), *r;

	if (!index || check_gathered(cx, self, index, dim) || not_of_8_bits(cx, self, index))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)self->dtype, index->ndim, index->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	if (rt_numel(r) == 0)
		return RT_OK;

	const int64_t bytes = rt_dtypes[self->dtype].bytes, size = size_at(self, dim),
		      step = self->ndim ? self->strides[dim] * bytes : 0;
	const int last = index->ndim - 1;
	const int64_t run = last < 0 ? 1 : index->dims[last],
		      ss = last < 0 || last == dim || !self->ndim ? 0 : self->strides[last] * bytes;
	const int64_t *at = (const int64_t *)(const void *)rt_data(index);
	Walk w;

	walk_begin(&w, last < 0 ? 0 : last, index->dims);
	walk_follow(&w, self, dim);
	walk_follow(&w, r, -1);
	do {
		const int64_t wrong = first_outside(at, run, size);

		if (wrong < run)
			return out_of_bounds(cx, at[wrong], dim, size);
		take_of(bytes)(run, rt_data(r) + w.off[1], bytes, rt_data(self) + w.off[0], ss, at, step);
		at += run;
	} while (walk_next(&w));
	return RT_OK;
}

/* Computes dst[.. index ..] op= src for every position of index. src may have one element. Processes runs along the
 * last dim. */
static int
scatter_all(RtCx *cx, RtTensor *dst, int dim, RtTensor *index, const RtTensor *src, const Combine *combine)
{
	const int64_t bytes = rt_dtypes[dst->dtype].bytes, size = size_at(dst, dim),
		      step = dst->ndim ? dst->strides[dim] * bytes : 0;
	const int last = index->ndim - 1;
	const int64_t run = last < 0 ? 1 : index->dims[last];
	const int64_t ds = last < 0 || last == dim || !dst->ndim ? 0 : dst->strides[last] * bytes;
	const int64_t ss = last < 0 || !src->ndim ? 0 : src->strides[last] * bytes;
	const int64_t *at;
	Walk w;

	at = (const int64_t *)(const void *)rt_data(index);
	walk_begin(&w, last < 0 ? 0 : last, index->dims);
	walk_follow(&w, dst, dim);
	walk_follow(&w, src, -1);
	do {
		const int64_t wrong = first_outside(at, run, size);

		if (wrong < run)
			return out_of_bounds(cx, at[wrong], dim, size);
		combine->at(run, rt_data(dst) + w.off[0], ds, rt_data(src) + w.off[1], ss, at, step);
		at += run;
	} while (walk_next(&w));
	return RT_OK;
}

static int
scatter(RtCx *cx, RtTensor *dst, int dim, RtTensor *index, RtTensor *src, int op)
{
	const Combine *combine = op == SCATTER_SET ? set_of(rt_dtypes[dst->dtype].bytes) : combine_of(op, dst->dtype);
	Combined w;

	if (cx->meta || rt_numel(index) == 0)
		return RT_OK;
	return combined_begin(cx, &w, op, dst, src) || scatter_all(cx, w.dst, dim, index, w.src, combine) ||
	       combined_end(cx, &w) ? RT_ERROR : RT_OK;
}

/* Raises an error unless index is at most as large as src, which may be null, and as dst except along dim. */
static int
check_sizes(RtCx *cx, const RtTensor *dst, int dim, const RtTensor *index, const RtTensor *src)
{
	char a[SIZES_TEXT], b[SIZES_TEXT], c[SIZES_TEXT];
	const int n = dst->ndim ? dst->ndim : 1;
	bool wrong = false;

	if (!rt_numel(index))
		return RT_OK;
	if (check_rank(cx, index, dst, "self"))
		return RT_ERROR;
	for (int d = 0; d < n; d++)
		wrong |= d != dim && size_at(index, d) > size_at(dst, d);
	for (int d = 0; src && d < n && !wrong; d++) {
		if (src->ndim && d >= src->ndim)
			return rt_dim(cx, d, src->ndim) < 0 ? RT_ERROR : RT_OK;
		wrong = size_at(index, d) > size_at(src, d);
	}
	if (src && check_rank(cx, index, src, "src"))
		return RT_ERROR;
	if (!wrong)
		return RT_OK;
	sizes_text(a, index->ndim, index->dims);
	sizes_text(b, dst->ndim, dst->dims);
	return src ? rt_raise(cx, "Expected index %s to be smaller than self %s apart from dimension %d and to be "
			      "smaller size than src %s", a, b, dim, sizes_text(c, src->ndim, src->dims))
		: rt_raise(cx, "Expected index %s to be smaller than self %s apart from dimension %d", a, b, dim);
}

/* Makes the checks before a scatter's write. Returns the index and sets *dim. Null if an error was raised. src may be
 * null. */
static RtTensor *
check_scatter(RtCx *cx, const IValue *in, const RtTensor *dst, const RtTensor *src, int *dim)
{
	RtTensor *index = index_and_dim(cx, "scatter", dst, in, dim);

	if (index && src && dst->dtype != src->dtype)
		rt_raise(cx, "scatter(): Expected self.dtype to be equal to src.dtype");
	else if (index && !not_of_8_bits(cx, dst, index) && !check_sizes(cx, dst, *dim, in[2].u.t, src) &&
		 !check_target(cx, in, dst, src ? 4 : 3))
		return index;
	return NULL;
}

static int
scatter_op(RtCx *cx, const RtStr *name, int dtype, int *op)
{
	if (strcmp(name->s, "add") && strcmp(name->s, "multiply"))
		return rt_raise(cx, "reduce argument must be either add or multiply.");
	*op = name->s[0] == 'a' ? SCATTER_ADD : SCATTER_MUL;
	if (rt_category((RtDtype)dtype) == 'E')
		return rt_not_stored_only(cx, "scatter_gather_tensor_cpu", (RtDtype)dtype);
	return combine_of(*op, dtype) ? RT_OK : rt_lacks(cx, "scatter with a reduction on %s", rt_dtypes[dtype].torch);
}

static int
write_src(RtCx *cx, const IValue *in, RtTensor *dst, int op)
{
	int dim;
	RtTensor *src = in[3].u.t, *index = check_scatter(cx, in, dst, src, &dim);

	if (!index)
		return RT_ERROR;
	if (rt_may_overlap(dst, src) && !(src = rt_temp(cx, rt_clone(cx, src))))
		return RT_ERROR;
	return scatter(cx, dst, dim, index, src, op);
}

static int
write_value(RtCx *cx, const IValue *in, RtTensor *dst, int op)
{
	RtTensor *index, *value = rt_temp(cx, rt_scalar_tensor(cx, (RtDtype)dst->dtype, in[3]));
	int dim;

	if (!value || !(index = check_scatter(cx, in, dst, NULL, &dim)))
		return RT_ERROR;
	return scatter(cx, dst, dim, index, value, op);
}

static int
scatter_src(RtCx *cx, const IValue *in, RtTensor *dst)
{
	return write_src(cx, in, dst, SCATTER_SET);
}

static int
scatter_value(RtCx *cx, const IValue *in, RtTensor *dst)
{
	return write_value(cx, in, dst, SCATTER_SET);
}

static int
scatter_src_reduce(RtCx *cx, const IValue *in, RtTensor *dst)
{
	int op;

	return scatter_op(cx, in[4].u.str, dst->dtype, &op) ? cx->status : write_src(cx, in, dst, op);
}

static int
scatter_value_reduce(RtCx *cx, const IValue *in, RtTensor *dst)
{
	int op;

	return scatter_op(cx, in[4].u.str, dst->dtype, &op) ? cx->status : write_value(cx, in, dst, op);
}

static int
scatter_add(RtCx *cx, const IValue *in, RtTensor *dst)
{
	if (not_of_8_bits(cx, dst, in[2].u.t))
		return RT_ERROR;
	return combine_of(SCATTER_ADD, dst->dtype) ? write_src(cx, in, dst, SCATTER_ADD)
		       : rt_lacks(cx, "scatter_add on %s", rt_dtypes[dst->dtype].torch);
}

BOTH_FORMS(scatter_src, scatter__src, false, scatter_src)
BOTH_FORMS(scatter_value, scatter__value, false, scatter_value)
BOTH_FORMS(scatter_reduce, scatter__reduce, false, scatter_src_reduce)
BOTH_FORMS(scatter_value_reduce, scatter__value_reduce, false, scatter_value_reduce)
BOTH_FORMS(scatter_add, scatter_add_, false, scatter_add)

/* ---- scatter_reduce, index_reduce -------------------------------------------------------------------------------- */

/* Returns the neutral element of a reduction, as a number that converts to dtype. */
static IValue
neutral(int op, int dtype)
{
	static const int64_t low[] = { [RT_u8] = 0, [RT_i8] = INT8_MIN, [RT_i16] = INT16_MIN, [RT_i32] = INT32_MIN,
		[RT_i64] = INT64_MIN };
	static const int64_t high[] = { [RT_u8] = UINT8_MAX, [RT_i8] = INT8_MAX, [RT_i16] = INT16_MAX,
		[RT_i32] = INT32_MAX, [RT_i64] = INT64_MAX };
	bool floating = rt_dtypes[dtype].category == 'F';

	if (op == SCATTER_ADD || op == SCATTER_MUL || dtype == RT_b8)
		return rt_int(op == SCATTER_MUL || op == SCATTER_MIN);
	if (floating)
		return rt_double(op == SCATTER_MIN ? INFINITY : -INFINITY);
	return rt_int(op == SCATTER_MIN ? high[dtype] : low[dtype]);
}

/* Computes dst /= count elementwise, rounding integers down. A count of 0 counts as 1. All tensors are contiguous. */
static int
divide_by_count(RtCx *cx, RtTensor *dst, RtTensor *count)
{
	RtTensor *a = dense_as(cx, dst, compute_of((RtDtype)dst->dtype));
	const int64_t *n = (const int64_t *)(const void *)rt_data(count);

	if (!a)
		return RT_ERROR;
	for (int64_t i = 0, m = rt_numel(a); i < m; i++) {
		int64_t by = n[i] ? n[i] : 1;
		void *p = rt_data(a) + i * rt_dtypes[a->dtype].bytes;
		switch (a->dtype) {
		case RT_f32: *(float *)p /= (float)by; break;
		case RT_f64: *(double *)p /= (double)by; break;
		case RT_i64: *(int64_t *)p = *(int64_t *)p / by - (*(int64_t *)p % by < 0); break;
		case RT_c64: ((RtC64 *)p)->re /= (float)by; ((RtC64 *)p)->im /= (float)by; break;
		case RT_c128: ((RtC128 *)p)->re /= (double)by; ((RtC128 *)p)->im /= (double)by; break;
		default: break;
		}
	}
	return a == dst ? RT_OK : rt_copy_into(cx, dst, a);
}

int
reduce_into(RtCx *cx, RtTensor *dst, int dim, RtTensor *index, RtTensor *src, const Reduction *by)
{
	RtTensor *count = NULL, *one, *start;

	if (!combine_of(by->op, dst->dtype))
		return rt_lacks(cx, "a scattered reduction on %s", rt_dtypes[dst->dtype].torch);
	if (cx->meta)
		return RT_OK;
	if (!by->include_self) {
		start = rt_temp(cx, rt_scalar_tensor(cx, (RtDtype)dst->dtype, neutral(by->op, dst->dtype)));
		if (!start || scatter(cx, dst, dim, index, start, SCATTER_SET))
			return RT_ERROR;
	}
	if (rt_may_overlap(dst, src) && !(src = rt_temp(cx, rt_clone(cx, src))))
		return RT_ERROR;
	if (scatter(cx, dst, dim, index, src, by->op))
		return RT_ERROR;
	if (!by->mean)
		return RT_OK;
	count = temp_new(cx, RT_i64, dst->ndim, dst->dims);
	one = rt_temp(cx, rt_scalar_tensor(cx, RT_i64, rt_int(1)));
	if (!count || !one || rt_fill(cx, count, rt_int(by->include_self)))
		return RT_ERROR;
	if (scatter(cx, count, dim, index, one, SCATTER_ADD))
		return RT_ERROR;
	return divide_by_count(cx, dst, count);
}

int
reduction_of(RtCx *cx, IValue name, IValue include_self, Reduction *r)
{
	static const struct { const char *name; int op; } table[] = {
		{ "sum", SCATTER_ADD }, { "mean", SCATTER_ADD }, { "prod", SCATTER_MUL }, { "amin", SCATTER_MIN },
		{ "amax", SCATTER_MAX },
	};

	for (int i = 0; i < 5; i++)
		if (!strcmp(table[i].name, name.u.str->s)) {
			*r = (Reduction){ table[i].op, i == 1, include_self.u.i };
			return RT_OK;
		}
	return rt_raise(cx, "reduce argument must be either sum, prod, mean, amax or amin.");
}

int
check_ordered(RtCx *cx, const Reduction *r, const RtTensor *dst, const char *kernel, const char *reduction)
{
	if ((r->op != SCATTER_MIN && r->op != SCATTER_MAX) || !(rt_is_complex((RtDtype)dst->dtype) ||
	    rt_is_stored_only((RtDtype)dst->dtype)))
		return RT_OK;
	return rt_raise(cx, "\"%s%s\" not implemented for '%s'", kernel, reduction, rt_dtypes[dst->dtype].brief);
}

static int
scatter_reduce(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *index, *src = in[3].u.t;
	Reduction by;
	int dim;

	if (reduction_of(cx, in[4], in[5], &by) || !(index = check_scatter(cx, in, dst, src, &dim)) ||
	    (!in[5].u.i && rt_numel(index) &&
	     rt_not_stored_only(cx, "scatter_reduce_exclude_input_init", (RtDtype)dst->dtype)) ||
	    (rt_numel(index) && check_ordered(cx, &by, dst, "scatter_gather_tensor_cpu_reduce_", in[4].u.str->s)))
		return RT_ERROR;
	return reduce_into(cx, dst, dim, index, src, &by);
}
BOTH_FORMS(scatter_reduce_two, scatter_reduce__two, false, scatter_reduce)
