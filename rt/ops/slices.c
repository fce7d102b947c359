/* rt/ops/slices.c - positions along one dim: index_add, index_copy, index_reduce, index_fill, index_select; positions
 * in the flattened tensor: take, put */
#include "scatter.h"

/* ---- one vector of positions along a dim ------------------------------------------------------------------------- */

static int
check_vector(RtCx *cx, const char *name, const RtTensor *index)
{
	char text[SIZES_TEXT];

	if (index->ndim > 1)
		return rt_raise(cx, "%s(): Index is supposed to be a vector, but got dim: %d with type: %s and size: "
			"%s", name, index->ndim, rt_dtypes[index->dtype].brief,
			sizes_text(text, index->ndim, index->dims));
	if (index->dtype != RT_i64 && index->dtype != RT_i32)
		return rt_raise(cx, "%s(): Expected dtype int32/int64 for index but got: %s", name,
				rt_dtypes[index->dtype].brief);
	return RT_OK;
}

/* Checks the sizes of a slice. Called only if there is a slice. */
static int
check_slice_sizes(RtCx *cx, const char *name, const RtTensor *src, const RtTensor *dst, int dim)
{
	if (dst->ndim <= 1 && src->ndim > 1)
		return rt_raise(cx, "source.dim() (%d) must one or zero for given self.dim() (%d)", src->ndim,
			dst->ndim);
	if (dst->ndim > 1 && !src->ndim)
		return rt_raise(cx, "select() cannot be applied to a 0-dim tensor.");
	for (int d = 0; d < src->ndim && dst->ndim > 1; d++) {
		if (dst->ndim != src->ndim)
			return rt_raise(cx, "%s(): Source/destination tensor must have same slice shapes except at "
				"dimension %d", name, dim);
		if (d != dim && dst->dims[d] != src->dims[d])
			return rt_raise(cx, "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
				"non-singleton dimension %d", (long long)dst->dims[d], (long long)src->dims[d],
				d - (d > dim));
	}
	return RT_OK;
}

/* Checks the index vector, source and self of index_add and index_reduce. */
static int
check_added(RtCx *cx, const char *name, const IValue *in, const RtTensor *dst, int dim)
{
	const RtTensor *index = in[2].u.t, *src = in[3].u.t;
	const long long n = rt_numel(index);

	if (check_vector(cx, name, index))
		return RT_ERROR;
	if (dst->dtype != src->dtype)
		return rt_raise(cx, "%s(): self (%s) and source (%s) must have the same scalar type", name,
				rt_dtypes[dst->dtype].brief, rt_dtypes[src->dtype].brief);
	if (dim && dim >= src->ndim)
		return rt_raise(cx, "%s(): Indexing dim %d is out of bounds of the source tensor with dim %d", name,
				dim, src->ndim);
	if (!src->ndim && n != 1)
		return rt_raise(cx, "Dimension specified as %d but tensor has no dimensions", dim);
	if (n != size_at(src, dim))
		return rt_raise(cx, "%s(): Number of indices (%lld) should be equal to source.size(dim): (%lld), for "
			"dim: %d", name, n, (long long)size_at(src, dim), dim);
	if (check_target(cx, in, dst, 4))
		return RT_ERROR;
	return n || dst->ndim <= 1 ? check_slice_sizes(cx, name, src, dst, dim) : RT_OK;
}

/* Appends all dims but one, as ATen prints vectors. */
static void
slice_text(Buf *b, const RtTensor *t, int dim)
{
	for (int d = 0, n = 0; d < t->ndim; d++)
		if (d != dim)
			buf_printf(b, "%s%lld", n++ ? " " : "", (long long)t->dims[d]);
}

static bool
same_slices(const RtTensor *a, const RtTensor *b, int dim)
{
	const int n = a->ndim ? a->ndim - 1 : 0;

	if (n != (b->ndim ? b->ndim - 1 : 0))
		return false;
	for (int d = 0; d < a->ndim && n; d++)
		if (d != dim && a->dims[d] != b->dims[d])
			return false;
	return true;
}

/* Checks the arguments of index_copy. */
static int
check_copied(RtCx *cx, const IValue *in, const RtTensor *dst, int dim)
{
	const RtTensor *index = in[2].u.t, *src = in[3].u.t;
	const long long n = rt_numel(index);
	Buf b = { 0 };

	if (check_target(cx, in, dst, 4))
		return RT_ERROR;
	if (index->ndim > 1)
		return rt_raise(cx, "index_copy_(): Index should have dimension 1 or 0 (got %d)", index->ndim);
	if (!src->ndim && n != 1)
		return rt_raise(cx, "index_copy_(): When source is scalar, index should have one element (got %lld)",
				n);
	if (src->ndim != dst->ndim && src->ndim && dst->ndim)
		return rt_raise(cx, "index_copy_(): When source and destination are not scalars, their dimensionality "
			"must match. Source dimensionality (%d), destination dimensionality (%d)", src->ndim,
			dst->ndim);
	if (index->dtype != RT_i64)
		return rt_raise(cx, "index_copy_(): Expected a long tensor for index, but got %s",
				rt_dtypes[index->dtype].brief);
	if (dst->dtype != src->dtype)
		return rt_raise(cx, "index_copy_(): self and source expected to have the same dtype, but got (self) %s "
			"and (source) %s", rt_dtypes[dst->dtype].brief, rt_dtypes[src->dtype].brief);
	if (!same_slices(dst, src, dim)) {
		buf_puts(&b, "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
			 "shape: ");
		slice_text(&b, dst, dim);
		buf_printf(&b, " at dimension %d and source slice shape: ", dim);
		slice_text(&b, src, dim);
		rt_raise(cx, "%s at dimension 0.", b.at);
		buf_free(&b);
		return RT_ERROR;
	}
	if (src->ndim && n != src->dims[dim])
		return rt_raise(cx,
				"index_copy_(): Number of indices (%lld) should be equal to source.size(dim) (%lld)", n,
				(long long)src->dims[dim]);
	return RT_OK;
}

/* Returns the index vector as int64, expanded to source's dims. Null if memory is exhausted. */
static RtTensor *
vector_index(RtCx *cx, RtTensor *index, const RtTensor *src, int dim)
{
	Geom g = geom_of(src);

	if (!(index = dense_as(cx, index, RT_i64)))
		return NULL;
	for (int d = 0; d < g.n; d++)
		g.strides[d] = d == dim;
	index = rt_temp(cx, rt_tensor_view(cx, index, g.n, g.dims, g.strides, index->offset));
	return index ? dense(cx, index) : NULL;
}

typedef struct Slices {
	int       dim;
	RtTensor *index, *dst;   /* dense int64 */
	const RtTensor *src;     /* source of the slices; if null, the value fills every slice */
	const char *value;
	const Combine *combine;
	bool      wraps;         /* whether negative indices count from the end */
	const char *message;     /* format of the range error, with index, dim and size */
} Slices;

static int
check_slices(RtCx *cx, const Slices *g)
{
	const int64_t n = rt_numel(g->index), size = size_at(g->dst, g->dim);
	const int64_t *at = (const int64_t *)(const void *)rt_data(g->index);

	for (int64_t i = 0; i < n; i++)
		if (at[i] < (g->wraps ? -size : 0) || at[i] >= size)
			return rt_raise(cx, g->message, (long long)at[i], g->dim, (long long)size);
	return RT_OK;
}

/* Computes dst's slice index[i] along dim op= src's slice i, for each i in order. */
static int
write_slices(RtCx *cx, const Slices *g)
{
	const RtTensor *dst = g->dst, *src = g->src && g->src->ndim ? g->src : NULL;
	const int64_t bytes = rt_dtypes[dst->dtype].bytes, n = rt_numel(g->index), size = size_at(dst, g->dim);
	const int64_t step = dst->ndim ? dst->strides[g->dim] * bytes : 0,
		      from = src ? src->strides[g->dim] * bytes : 0;
	const int64_t *at = (const int64_t *)(const void *)rt_data(g->index);
	int64_t dims[RT_MAX_RANK], ds[RT_MAX_RANK], ss[RT_MAX_RANK];
	int m = 0;

	if (check_slices(cx, g))
		return RT_ERROR;
	for (int d = 0; d < dst->ndim; d++) {
		if (d == g->dim)
			continue;
		dims[m] = dst->dims[d];
		ds[m] = dst->strides[d] * bytes;
		ss[m++] = src ? src->strides[d] * bytes : 0;
	}
	for (int64_t i = 0; i < n; i++)
		combine_block(g->combine, &(BlockPair){ m, dims, ds, ss },
			      rt_data(dst) + (at[i] + (at[i] < 0 ? size : 0)) * step,
			      g->src ? rt_data(g->src) + i * from : g->value);
	return RT_OK;
}

/* Whether another dim of dst is empty. Then PyTorch does not check indices. */
static bool
is_untouched(const RtTensor *dst, int dim)
{
	return !rt_numel(dst) && size_at(dst, dim);
}

/* Writes or adds slices. op: SCATTER_SET or SCATTER_ADD. */
static int
index_write(RtCx *cx, int dim, const IValue *in, RtTensor *dst, RtTensor *src, int op)
{
	Slices g = { .dim = dim, .index = dense_as(cx, in[2].u.t, RT_i64),
		.combine = op ? combine_of(op, dst->dtype) : set_of(rt_dtypes[dst->dtype].bytes),
		.message = op ? "index out of range in self" : "index_copy_(): index %lld is out of bounds for "
		"dimension %d with size %lld" };

	Combined w;

	if (!g.index)
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	if (rt_may_overlap(dst, src) && !(src = rt_temp(cx, rt_clone(cx, src))))
		return RT_ERROR;
	if (combined_begin(cx, &w, op, dst, src))
		return RT_ERROR;
	g.dst = w.dst;
	g.src = w.src;
	return write_slices(cx, &g) || combined_end(cx, &w) ? RT_ERROR : RT_OK;
}

/* Returns t times a number, as a temporary. */
static RtTensor *
scaled(RtCx *cx, RtTensor *t, IValue by)
{
	RtDtype wide = compute_of((RtDtype)t->dtype);
	RtTensor *r = rt_temp(cx, rt_clone(cx, t)), *factor = rt_temp(cx, rt_scalar_tensor(cx, wide, by));
	const Combine *mul = combine_of(SCATTER_MUL, wide);

	if (r && r->dtype != wide)
		r = rt_temp(cx, rt_to_dtype(cx, r, wide));
	r = r ? dense(cx, r) : NULL;
	if (!r || !factor)
		return NULL;
	for (int64_t i = 0, n = cx->meta ? 0 : rt_numel(r); i < n; i++)
		mul->run(1, rt_data(r) + i * rt_dtypes[wide].bytes, 0, rt_data(factor), 0);
	return dense_as(cx, r, (RtDtype)t->dtype);
}

static int
index_add(RtCx *cx, const IValue *in, RtTensor *dst)
{
	const bool plain = in[4].tag != RT_COMPLEX && rt_number(in[4]) == 1;
	const int dim = rt_dim(cx, in[1].u.i, dst->ndim);
	RtTensor *src;

	if (dim < 0 || check_added(cx, "index_add_", in, dst, dim))
		return RT_ERROR;
	if (rt_is_stored_only((RtDtype)dst->dtype) && (dst->ndim < 2 || rt_category((RtDtype)dst->dtype) == 'E'))
		return rt_not_stored_only(cx, dst->ndim < 2 ? "index_add_" : "scatter_gather_tensor_cpu",
			(RtDtype)dst->dtype);
	if (!combine_of(SCATTER_ADD, dst->dtype))
		return rt_lacks(cx, "index_add on %s", rt_dtypes[dst->dtype].torch);
	if (!rt_numel(in[2].u.t) || is_untouched(dst, dim))
		return RT_OK;
	src = plain ? in[3].u.t : scaled(cx, in[3].u.t, in[4]);
	return src ? index_write(cx, dim, in, dst, src, SCATTER_ADD) : RT_ERROR;
}

static int
index_copy(RtCx *cx, const IValue *in, RtTensor *dst)
{
	const int dim = rt_dim(cx, in[1].u.i, dst->ndim);
	const int64_t *p;
	RtTensor *at;

	if (dim < 0 || check_copied(cx, in, dst, dim) ||
	    rt_not_stored_only(cx, "index_copy_cpu", (RtDtype)dst->dtype) || !(at = dense(cx, in[2].u.t)))
		return RT_ERROR;
	if (is_untouched(dst, dim))
		return RT_OK;
	p = cx->meta ? NULL : (int64_t *)(void *)rt_data(at);
	for (int64_t i = 0, n = p ? rt_numel(at) : 0; i < n; i++)
		if (p[i] < 0 || p[i] >= size_at(dst, dim))
			return rt_raise(cx,
					"index_copy_(): index %lld is out of bounds for dimension %d with size %lld",
					(long long)p[i], dim, (long long)size_at(dst, dim));
	return index_write(cx, dim, in, dst, in[3].u.t, SCATTER_SET);
}

static int
index_reduce(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *at, *src = in[3].u.t;
	int dim = rt_dim(cx, in[1].u.i, dst->ndim);
	Reduction by;

	if (dim < 0 || reduction_of(cx, in[4], in[5], &by) || check_added(cx, "index_reduce_", in, dst, dim) ||
	    check_ordered(cx, &by, dst, in[5].u.i ? "index_func_" : "index_reduce_func_exclude_input_init", "") ||
	    (dst->ndim < 2 && rt_not_stored_only(cx, "index_func_", (RtDtype)dst->dtype)))
		return RT_ERROR;
	if (!rt_numel(in[2].u.t))
		return RT_OK;
	if (!(at = vector_index(cx, in[2].u.t, src, dim)))
		return RT_ERROR;
	return reduce_into(cx, dst, dim, at, src, &by);
}

/* Fills slices with a value, which is a number or a 0-d tensor. */
static int
index_fill(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *index = in[2].u.t, *value, *at;
	int dim;

	if (in[3].tag == RT_TENSOR && in[3].u.t->ndim)
		return rt_raise(cx, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
			"dimension(s).", in[3].u.t->ndim);
	if (rt_not_stored_only(cx, "index_fill_cpu", (RtDtype)dst->dtype))
		return RT_ERROR;
	if (index->dtype != RT_i64)
		return rt_raise(cx, "index_fill_(): Expected dtype int64 for index.");
	if (rt_dtypes[dst->dtype].category != 'C' &&
	    (in[3].tag == RT_COMPLEX || (in[3].tag == RT_TENSOR && rt_dtypes[in[3].u.t->dtype].category == 'C')))
		return rt_raise(cx, "index_fill_(): Converting complex Scalar to non-complex type is not supported");
	if ((dst == in[0].u.t && rt_check_apart(cx, dst, index)) || (dim = rt_dim(cx, in[1].u.i, dst->ndim)) < 0)
		return RT_ERROR;
	if (index->ndim > 1)
		return rt_raise(cx, "Index has to be a vector/scalar");
	value = in[3].tag == RT_TENSOR ? dense_as(cx, in[3].u.t, (RtDtype)dst->dtype)
		: rt_temp(cx, rt_scalar_tensor(cx, (RtDtype)dst->dtype, in[3]));
	at = value ? dense(cx, index) : NULL;
	if (!at)
		return RT_ERROR;
	if (cx->meta || is_untouched(dst, dim))
		return RT_OK;
	return write_slices(cx, &(Slices){ .dim = dim, .index = at, .dst = dst, .value = rt_data(value), .wraps = true,
		.combine = set_of(rt_dtypes[dst->dtype].bytes), .message = "index %lld is out of bounds for dimension "
		"%d with size %lld" });
}

BOTH_FORMS(index_add, index_add_, false, index_add)
BOTH_FORMS(index_copy, index_copy_, false, index_copy)
BOTH_FORMS(index_reduce, index_reduce_, false, index_reduce)
BOTH_FORMS(index_fill_int_Scalar, index_fill__int_Scalar, true, index_fill)
BOTH_FORMS(index_fill_int_Tensor, index_fill__int_Tensor, true, index_fill)

/* Returns the position of the first of n indices that is not in [-size, size). n if all are in it. */
static int64_t
first_beyond(const int64_t *at, int64_t n, int64_t size)
{
	int64_t i = 0;

	while (i < n && at[i] >= -size && at[i] < size)
		i++;
	return i;
}

static void
wrap_positions(int64_t *to, const int64_t *at, int64_t n, int64_t size)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = at[i] < 0 ? at[i] + size : at[i];
}

static int
check_selection(RtCx *cx, const RtTensor *self, const RtTensor *index)
{
	if (index->ndim > 1)
		return rt_raise(cx, "index_select(): Index is supposed to be a vector");
	if (index->dtype != RT_i64 && index->dtype != RT_i32)
		return rt_raise(cx, "index_select(): Expected dtype int32 or int64 for index");
	return self->ndim || rt_numel(index) == 1 ? RT_OK :
		rt_raise(cx, "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
			 (long long)rt_numel(index));
}

int
rt_index_select(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *index = in[2].u.t, *r;
	int dim = rt_dim(cx, in[1].u.i, self->ndim);
	int64_t n = rt_numel(index), bytes = rt_dtypes[self->dtype].bytes, outer, block, size;
	const int64_t *at;
	Geom g = geom_of(self);

	if (dim < 0 || check_selection(cx, self, index))
		return RT_ERROR;
	if (g.n)
		g.dims[dim] = n;
	index = dense_as(cx, index, RT_i64);
	self = index ? dense(cx, self) : NULL;
	if (!self)
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)self->dtype, g.n, g.dims, NULL);
	RT_RESULT(cx, r, out[0]);
	at = (const int64_t *)(const void *)rt_data(index);
	size = g.n ? self->dims[dim] : 1;
	if (g.n > 1 && rt_numel(r) && size == 0)
		return rt_raise(cx, "index_select(): self indexing axis dim should be positive");
	for (int64_t i = 0; i < n; i++)
		if (at[i] < 0 || at[i] >= size)
			return g.n > 1 && dim == 1 && rt_numel(self)
				? rt_raise(cx, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld",
					   (long long)at[i], (long long)size)
				: rt_raise(cx, "index out of range in self");
	if (rt_numel(r) == 0)
		return RT_OK;
	outer = product(g.dims, 0, dim);
	block = product(g.dims, dim + 1, g.n) * bytes;
	for (int64_t o = 0; o < outer; o++)
		pick_blocks(rt_data(r) + o * n * block, rt_data(self) + o * size * block, n, at, block);
	return RT_OK;
}

/* ---- positions in the flattened tensor --------------------------------------------------------------------------- */

/* Converts positions among n elements to non-negative ones. Null if an error was raised. */
static const int64_t *
flat_positions(RtCx *cx, RtTensor *index, int64_t n)
{
	const int64_t count = rt_numel(index), *at;
	int64_t *flat = rt_scratch(cx, (count + 1) * 8), outside;

	index = flat ? dense(cx, index) : NULL;
	if (!index)
		return NULL;
	at = (const int64_t *)(const void *)rt_data(index);
	outside = first_beyond(at, count, n);
	if (outside < count) {
		rt_raise(cx, "out of range: tried to access index %lld on a tensor of %lld elements.",
			(long long)at[outside], (long long)n);
		return NULL;
	}
	wrap_positions(flat, at, count, n);
	return flat;
}

int
rt_take(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *index = in[1].u.t, *r;
	const int64_t n = rt_numel(self), *at;

	if (rt_not_stored_only(cx, "take_cpu", (RtDtype)self->dtype))
		return RT_ERROR;
	if (index->dtype != RT_i64)
		return rt_raise(cx, "take(): Expected a long tensor for index, but got %s",
				rt_dtypes[index->dtype].brief);
	if (n == 0 && rt_numel(index))
		return rt_raise(cx, "take(): tried to take from an empty tensor");
	r = rt_result(cx, 0, (RtDtype)self->dtype, index->ndim, index->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	self = dense(cx, self);
	at = self ? flat_positions(cx, index, n) : NULL;
	if (!at)
		return RT_ERROR;
	pick_blocks(rt_data(r), rt_data(self), rt_numel(index), at, rt_dtypes[self->dtype].bytes);
	return RT_OK;
}

static int
put_flat(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *index = in[1].u.t, *src = in[2].u.t;
	const int64_t *at;
	int64_t bytes;
	const Combine *combine;
	Combined w;
	const int op = in[3].u.i ? SCATTER_ADD : SCATTER_SET;
	const int64_t n = rt_numel(dst);

	if (rt_not_stored_only(cx, "take_put_cpu", (RtDtype)dst->dtype))
		return RT_ERROR;
	if (index->dtype != RT_i64)
		return rt_raise(cx, "put_(): Expected a long tensor for index, but got %s",
				rt_dtypes[index->dtype].brief);
	if (dst->dtype != src->dtype)
		return rt_raise(cx, "put_(): self and source expected to have the same dtype, but got self.dtype = %s "
			"and source.dtype = %s", rt_dtypes[dst->dtype].brief, rt_dtypes[src->dtype].brief);
	if (rt_numel(index) != rt_numel(src))
		return rt_raise(cx, "put_(): Expected source and index to have the same number of elements, but got "
			"source.numel() = %lld, index.numel() = %lld", (long long)rt_numel(src),
			(long long)rt_numel(index));
	if (!n && rt_numel(index))
		return rt_raise(cx, "put_(): Tried to put elements into an empty tensor");
	if (check_target(cx, in, dst, 3))
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	src = dense(cx, src);
	at = src ? flat_positions(cx, index, n) : NULL;
	if (!at || combined_begin(cx, &w, op, dst, src))
		return RT_ERROR;
	combine = op ? combine_of(op, dst->dtype) : set_of(rt_dtypes[dst->dtype].bytes);
	bytes = rt_dtypes[w.dst->dtype].bytes;
	for (int64_t i = 0, m = rt_numel(index); i < m; i++)
		combine->run(1, rt_data(w.dst) + byte_offset(w.dst, at[i]), 0, rt_data(w.src) + i * bytes, 0);
	return combined_end(cx, &w);
}
BOTH_FORMS(put, put_, true, put_flat)
