/* rt/ops/join.c - concatenation, stacking, repetition, roll, flip
 *
 * Every result is a new tensor that is filled block by block: rt_copy_into copies a view of an argument (with
 * conversion) to a view of the result. Only cat of contiguous tensors, and flip, whose source runs backwards, access
 * memory directly. */
#include "dense.h"
#include "geom.h"
#include "quant.h"

/* ---- cat, stack ------------------------------------------------------------------------------------------ */

/* Whether cat skips the tensor. It skips empty 1-d tensors, whatever the rank of the others. */
static bool
is_skipped(const RtTensor *t)
{
	return t->ndim == 1 && t->dims[0] == 0;
}

static int
check_cat(RtCx *cx, const RtList *list, int *first, int *dim, int64_t wanted)
{
	*first = -1;
	if (list->n == 0)
		return rt_raise(cx, "torch.cat(): expected a non-empty list of Tensors");
	for (int i = 0; i < list->n; i++) {
		if (list->v[i].u.t->ndim == 0)
			return rt_raise(cx, "zero-dimensional tensor (at position %d) cannot be concatenated", i);
		if (*first < 0 && !is_skipped(list->v[i].u.t))
			*first = i;
	}
	/* any dim, if there are only empty vectors */
	*dim = *first < 0 ? 0 : rt_dim(cx, wanted, list->v[*first].u.t->ndim);
	return *dim < 0 ? RT_ERROR : RT_OK;
}

static int
check_cat_sizes(RtCx *cx, const RtTensor *a, const RtTensor *b, int dim, int i)
{
	if (a->ndim != b->ndim)
		return rt_raise(cx, "Tensors must have same number of dimensions: got %d and %d", a->ndim, b->ndim);
	for (int d = 0; d < a->ndim; d++)
		if (d != dim && a->dims[d] != b->dims[d])
			return rt_raise(cx, "Sizes of tensors must match except in dimension %d. Expected size %lld "
				"but got size %lld for tensor number %d in the list.", dim, (long long)a->dims[d],
				(long long)b->dims[d], i);
	return RT_OK;
}

typedef struct CatRows {
	RtTensor *r;
	const RtList *list;
	int dim;
	int64_t inner, row;      /* number of bytes of one step along dim, and of a whole row of the result */
} CatRows;

static void
cat_rows(void *arg, int64_t begin, int64_t end)
{
	const CatRows *c = arg;
	const RtDtype dtype = (RtDtype)c->r->dtype;
	char *dst = rt_data(c->r) + begin * c->row;

	for (int64_t k = 0; k < c->list->n; k++) {
		const RtTensor *t = c->list->v[k].u.t;
		const int64_t bytes = is_skipped(t) ? 0 : t->dims[c->dim] * c->inner;
		const char *from = rt_data(t) + begin * bytes;

		if (bytes == rt_dtypes[dtype].bytes)     /* single elements */
			rt_cast_strided(dst, (RtRun){ dtype, c->row }, from, (RtRun){ dtype, bytes }, end - begin);
		else
			for (int64_t i = 0; i < end - begin; i++)
				rt_copy_bytes(dst + i * c->row, from + i * bytes, (size_t)bytes);
		dst += bytes;
	}
}

/* If all tensors are contiguous and of the result's type, copies their rows one after the other, as bytes. */
static bool
cat_contiguous(RtCx *cx, RtTensor *r, const RtList *list, int dim)
{
	CatRows c = { r, list, dim, 0, 0 };
	int64_t rows = product(r->dims, 0, dim);

	if (!rt_is_contiguous(r))
		return false;
	for (int64_t i = 0; i < list->n; i++)
		if (list->v[i].u.t->dtype != r->dtype || !rt_is_contiguous(list->v[i].u.t))
			return false;
	c.inner = product(r->dims, dim + 1, r->ndim) * rt_dtypes[r->dtype].bytes;
	c.row = c.inner * r->dims[dim];
	if (rt_numel(r))
		rt_parallel(cx, rows, 1 + 262144 / (c.row + 1), cat_rows, &c);
	return true;
}

static int
fill_cat(RtCx *cx, RtTensor *r, const RtList *list, int dim)
{
	Geom g = geom_of(r);

	for (int64_t i = 0; i < list->n; i++) {
		RtTensor *t = list->v[i].u.t, *part;
		if (is_skipped(t))
			continue;
		g.dims[dim] = t->dims[dim];
		part = rt_temp(cx, rt_tensor_view(cx, r, g.n, g.dims, g.strides, g.offset));
		if (!part || rt_copy_into(cx, part, t))
			return RT_ERROR;
		g.offset += g.dims[dim] * g.strides[dim];
	}
	return RT_OK;
}

/* Whether the tensor is channels last by its strides (ATen's suggest_memory_format). A slice of such a tensor counts,
 * too. */
static bool
only_channels_last(const RtTensor *t)
{
	int64_t strides[RT_MAX_RANK];

	return dense_format(t, t->ndim, t->dims, strides) != NULL;
}

/* Concatenates tensors. `as` has the result's strides. If it is null, the result is channels last if all operands are,
 * and otherwise contiguous. */
static int
cat(RtCx *cx, const RtList *list, int64_t wanted, const int64_t *as, IValue *out)
{
	int first = 0, dim = 0;
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	RtDtype dtype;
	RtTensor *r, *like;
	bool last = true;

	if (check_cat(cx, list, &first, &dim, wanted))
		return RT_ERROR;
	like = list->v[first < 0 ? 0 : first].u.t;
	dtype = (RtDtype)list->v[0].u.t->dtype;
	memcpy(dims, like->dims, sizeof *dims * like->ndim);
	dims[dim] = 0;
	for (int i = 0; i < list->n; i++) {
		RtTensor *t = list->v[i].u.t;
		if (t->dtype != dtype && rt_promote(dtype, (RtDtype)t->dtype) == RT_NDTYPE)
			return rt_no_promotion(cx, dtype, (RtDtype)t->dtype);
		dtype = rt_promote(dtype, (RtDtype)t->dtype);
		if (is_skipped(t))
			continue;
		if (check_cat_sizes(cx, like, t, dim, i))
			return RT_ERROR;
		if (!size_add(dims[dim], t->dims[dim], &dims[dim]))
			return rt_raise(cx, "numel: integer multiplication overflow");
		last = last && only_channels_last(t);
	}
	if (!as && last && (like->ndim == 4 || like->ndim == 5)) {
		rt_channels_last_strides(like->ndim, dims, strides);
		as = strides;
	}
	if (like->quant && like->quant->scales)
		return rt_raise(cx, "Only per-tensor quantization is supported in 'cat'!");
	r = rt_result(cx, 0, dtype, like->ndim, dims, as);
	if (r && like->quant && !r->quant) {
		r->quant = like->quant;
		rt_count_up(&r->quant->h);
	}
	RT_RESULT(cx, r, out[0]);
	return cat_contiguous(cx, r, list, dim) ? RT_OK : fill_cat(cx, r, list, dim);
}

/* Returns the tensors, all quantized with the scale of the first one. Null if an error was raised. */
static const RtList *
alike(RtCx *cx, const RtList *list)
{
	return list->n && list->v[0].u.t->quant ? rt_quantized->alike(cx, list) : list;
}

int
rt_cat(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *list = alike(cx, in[0].u.list);

	return list ? cat(cx, list, in[1].u.i, NULL, out) : RT_ERROR;
}

/* Computes the strides of a stack along dim d. They are those of a cat along d, with that dim split. */
static void
stack_strides(const RtList *list, int d, int64_t *strides)
{
	const RtTensor *like = list->v[0].u.t;
	Geom g = geom_of(like);
	bool last = d < g.n && rt_numel(like);

	for (int64_t i = 0; i < list->n && last; i++)
		last = only_channels_last(list->v[i].u.t);
	if (last) {
		g.dims[d] *= list->n;
		rt_channels_last_strides(g.n, g.dims, g.strides);
		geom_insert(&g, d, list->n, g.strides[d] * like->dims[d]);
	} else {
		geom_insert(&g, d, list->n, 0);
		rt_contiguous_strides(g.n, g.dims, g.strides);
	}
	memcpy(strides, g.strides, sizeof *strides * (size_t)g.n);
}

int
rt_stack(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *list = alike(cx, in[0].u.list);
	RtList *parts = list ? rt_list_new(cx, &rt_type_tensor, list->n) : NULL;
	int64_t strides[RT_MAX_RANK];
	char a[SIZES_TEXT], b[SIZES_TEXT];
	int d;

	if (!parts)
		return RT_ERROR;
	if (rt_temp_value(cx, rt_ref(RT_LIST, parts)).tag != RT_LIST)
		return RT_ERROR;
	if (list->n == 0)
		return rt_raise(cx, "stack expects a non-empty TensorList");
	d = rt_dim(cx, in[1].u.i, list->v[0].u.t->ndim + 1);
	if (d < 0)
		return RT_ERROR;
	for (int64_t i = 0; i < list->n; i++) {
		RtTensor *t = list->v[i].u.t, *first = list->v[0].u.t;
		Geom g = geom_of(t);
		if (t->ndim != first->ndim || memcmp(t->dims, first->dims, sizeof *t->dims * t->ndim))
			return rt_raise(cx, "stack expects each tensor to be equal size, but got %s at entry 0 and %s "
				"at entry %lld", sizes_text(a, first->ndim, first->dims),
				sizes_text(b, t->ndim, t->dims), (long long)i);
		geom_insert(&g, d, 1, d < g.n ? g.dims[d] * g.strides[d] : 1);
		t = rt_tensor_view(cx, t, g.n, g.dims, g.strides, g.offset);
		if (!t || rt_list_push(cx, parts, rt_of(t)))
			return RT_ERROR;
	}
	stack_strides(list, d, strides);
	return cat(cx, parts, d, strides, out);
}

/* ---- repeat ----------------------------------------------------------------------------------------------- */

int
rt_repeat(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *r, *part, *source;
	int64_t times[RT_MAX_RANK], dims[RT_MAX_RANK];
	int n = rt_ints(cx, in[1], times, RT_MAX_RANK), lead = n - t->ndim;
	Geom to = { 0 }, from = { 0 };

	if (n < 0)
		return RT_ERROR;
	if (lead < 0)
		return rt_raise(cx, "Number of dimensions of repeat dims can not be smaller than number of dimensions "
			"of tensor");
	for (int i = 0; i < n; i++) {
		char text[SIZES_TEXT];
		dims[i] = i < lead ? 1 : t->dims[i - lead];
		if (!size_mul(dims[i], times[i], &dims[i]))
			return rt_raise(cx, "numel: integer multiplication overflow");
		if (dims[i] < 0)
			return rt_raise(cx, "Trying to create tensor with negative dimension %lld: %s",
					(long long)dims[i], sizes_text(text, i + 1, dims));
	}
	r = rt_result(cx, 0, (RtDtype)t->dtype, n, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	/* Dim i of the result is split in (times, size). The source has stride 0 along the first of these. */
	to.offset = r->offset;
	from.offset = t->offset;
	for (int i = 0; i < n; i++) {
		int64_t size = i < lead ? 1 : t->dims[i - lead];
		if (times[i] != 1 && to.n < RT_MAX_RANK - (n - i)) {
			geom_insert(&to, to.n, times[i], r->strides[i] * size);
			geom_insert(&from, from.n, times[i], 0);
		}
		if (size != 1) {
			geom_insert(&to, to.n, size, r->strides[i]);
			geom_insert(&from, from.n, size, t->strides[i - lead]);
		}
	}
	part = rt_temp(cx, rt_tensor_view(cx, r, to.n, to.dims, to.strides, to.offset));
	source = rt_temp(cx, rt_tensor_view(cx, t, from.n, from.dims, from.strides, from.offset));
	return !part || !source ? RT_ERROR : rt_copy_into(cx, part, source);
}

/* Repeats each index: [2, 0, 3] -> [0, 0, 2, 2, 2]. */
int
rt_repeat_interleave_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *r, *times = dense_as(cx, t, RT_i64);
	int64_t n = 0, *count, *at;

	if (!times)
		return RT_ERROR;
	if (t->ndim != 1)
		return rt_raise(cx, "repeat_interleave only accept 1D vector as repeat");
	if (t->dtype != RT_i64 && t->dtype != RT_i32)
		return rt_raise(cx, "repeats has to be Long or Int tensor");
	if (cx->meta)
		return rt_no_meta(cx);
	count = (int64_t *)(void *)rt_data(times);
	for (int64_t i = 0; i < t->dims[0]; i++) {
		if (count[i] < 0)
			return rt_raise(cx, "repeats can not be negative");
		if (!size_add(n, count[i], &n))
			return rt_raise(cx, "numel: integer multiplication overflow");
	}
	if (!rt_is_none(in[1]) && in[1].u.i != n)
		return rt_raise(cx, "allocated size does not match required size");
	r = rt_result(cx, 0, (RtDtype)t->dtype, 1, &n, NULL);
	RT_RESULT(cx, r, out[0]);
	times = t->dtype == RT_i64 ? r : temp_new(cx, RT_i64, 1, &n);
	if (!times)
		return RT_ERROR;
	at = (int64_t *)(void *)rt_data(times);
	for (int64_t i = 0; i < t->dims[0]; i++)
		for (int64_t k = 0; k < count[i]; k++)
			*at++ = i;
	return times == r ? RT_OK : rt_copy_into(cx, r, times);
}

/* ---- roll, flip ------------------------------------------------------------------------------------------- */

typedef struct Roll {
	RtTensor *to, *from;
	int n;    /* number of rolled dims; at[i] is rolled by shift[i], which is less than its size */
	const int *at;
	const int64_t *shift;
} Roll;

/* Rolls dims at[i .. n): splits dim at[i] in two parts that are swapped, and rolls the later dims of each part. */
static int
roll(RtCx *cx, const Roll *g, Geom to, Geom from, int i)
{
	const int d = i < g->n ? g->at[i] : 0;
	const int64_t size = i < g->n ? from.dims[d] : 0, shift = i < g->n ? g->shift[i] : 0;

	if (i == g->n) {
		RtTensor *part = rt_temp(cx, rt_tensor_view(cx, g->to, to.n, to.dims, to.strides, to.offset));
		RtTensor *source = rt_temp(cx, rt_tensor_view(cx, g->from, from.n, from.dims, from.strides,
							      from.offset));

		return !part || !source ? RT_ERROR : rt_copy_into(cx, part, source);
	}
	for (int half = 0; half < 2; half++) {
		Geom a = to, b = from;
		a.dims[d] = b.dims[d] = half ? shift : size - shift;
		if (a.dims[d] == 0)
			continue;
		a.offset += (half ? 0 : shift) * a.strides[d];
		b.offset += (half ? size - shift : 0) * b.strides[d];
		if (roll(cx, g, a, b, i + 1))
			return RT_ERROR;
	}
	return RT_OK;
}

/* Converts n shifts along dims to shifts shift[k] >= 0 along at[k], in which each dim occurs once. Skips empty dims.
 * Returns the number of shifts. -1 if an error was raised. */
static int
roll_shifts(RtCx *cx, const RtTensor *t, int n, const int64_t *dims, int64_t *shift, int *at)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		int64_t d = rt_dim(cx, dims[i], t->ndim), by = shift[i];
		int k = 0;

		if (d < 0)
			return -1;
		if (t->ndim == 0 || t->dims[d] == 0)
			continue;
		while (k < kept && at[k] != d)
			k++;
		/* The shifts of a repeated dim add up. */
		by = (k < kept ? shift[k] : 0) + by % t->dims[d];
		kept += k == kept;
		at[k] = (int)d;
		shift[k] = (by % t->dims[d] + t->dims[d]) % t->dims[d];
	}
	return kept;
}

int
rt_roll(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *r, *flat;
	int64_t shift[RT_MAX_RANK], dims[RT_MAX_RANK], strides[RT_MAX_RANK], whole = rt_numel(t);
	int at[RT_MAX_RANK], kept;
	bool last;
	int n = rt_ints(cx, in[1], shift, RT_MAX_RANK), m = n < 0 ? -1 : rt_ints(cx, in[2], dims, RT_MAX_RANK);

	if (m < 0)
		return RT_ERROR;
	if (n == 0)
		return rt_raise(cx, "`shifts` required");
	if (n != m && !(m == 0 && n == 1))
		return rt_raise(cx, "shifts and dimensions must align. shifts: %d, dims:%d", n, m);
	if (m && !t->ndim)
		return rt_raise(cx, "Dimension specified as %lld but tensor has no dimensions", (long long)dims[0]);
	if ((kept = roll_shifts(cx, t, m, dims, shift, at)) < 0)
		return RT_ERROR;
	last = m > 0 && kept == m && only_channels_last(t);
	for (int k = 0; k < kept; k++)
		last = last && shift[k];
	if (last)
		rt_channels_last_strides(t->ndim, t->dims, strides);
	else
		rt_contiguous_strides(t->ndim, t->dims, strides);
	r = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, t->dims, strides);
	RT_RESULT(cx, r, out[0]);
	if (whole == 0)
		return RT_OK;
	if (m)
		return roll(cx, &(Roll){ r, t, kept, at, shift }, geom_of(r), geom_of(t), 0);
	t = dense(cx, t);
	at[0] = 0;
	shift[0] = (shift[0] % whole + whole) % whole;
	dims[0] = 1;
	flat = t ? rt_temp(cx, rt_tensor_view(cx, t, 1, &whole, dims, t->offset)) : NULL;
	r = flat ? rt_temp(cx, rt_tensor_view(cx, r, 1, &whole, dims, r->offset)) : NULL;
	return r ? roll(cx, &(Roll){ r, flat, 1, at, shift }, geom_of(r), geom_of(flat), 0) : RT_ERROR;
}

/* Whether ATen flips by copies of whole lines. It does if the dim whose elements are adjacent in r, and in t, is not
 * flipped. Its kernel that reverses lines lacks 8-bit floats. */
static bool
flips_lines(const RtTensor *t, const RtTensor *r, uint64_t flipped)
{
	bool any = false;
	int line = -1;

	for (int d = 0; d < t->ndim; d++) {
		if (t->dims[d] < 2)
			continue;
		any |= (flipped >> d & 1) && t->strides[d];
		line = line < 0 || r->strides[d] < r->strides[line] ? d : line;
	}
	return !any || (!(flipped >> line & 1) && t->strides[line] == 1);
}

int
rt_flip(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *r;
	int64_t dims[RT_MAX_RANK], ds[RT_MAX_RANK], ss[RT_MAX_RANK], strides[RT_MAX_RANK],
		bytes = rt_dtypes[t->dtype].bytes;
	int n = rt_ints(cx, in[1], dims, RT_MAX_RANK);
	const char *from;
	uint64_t flipped = 0;

	if (n < 0)
		return RT_ERROR;
	for (int i = 0; i < n; i++) {
		int d = rt_dim(cx, dims[i], t->ndim);
		if (d < 0)
			return RT_ERROR;
		if (flipped >> d & 1)
			return rt_raise(cx, "dim %d appears multiple times in the list of dims", d);
		flipped |= UINT64_C(1) << d;
	}
	rt_result_strides(t->ndim, t->dims, 1, &t, strides);
	r = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, t->dims, strides);
	RT_RESULT(cx, r, out[0]);
	if (rt_numel(t) == 0)
		return RT_OK;
	if (rt_category((RtDtype)t->dtype) == 'E' && !flips_lines(t, r, flipped))
		return rt_not_stored_only(cx, "flip_cpu", (RtDtype)t->dtype);
	from = rt_data(t);
	for (int d = 0; d < t->ndim; d++) {
		ds[d] = r->strides[d] * bytes;
		ss[d] = t->strides[d] * bytes;
		if (flipped >> d & 1) {
			from += (t->dims[d] - 1) * ss[d];
			ss[d] = -ss[d];
		}
	}
	move_block(bytes, &(BlockPair){ t->ndim, t->dims, ds, ss }, rt_data(r), from);
	return RT_OK;
}
