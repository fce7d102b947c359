/* rt/ops/part.c - views of parts: one index, a range, pieces, a diagonal, windows
 *
 * Every kernel changes a Geom: the offset of the first element, a dim's size, or a dim's stride. No element is
 * copied. */
#include "geom.h"

int
rt_select_int(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Geom g = geom_of(t);
	int64_t i = in[2].u.i;
	char text[SIZES_TEXT];
	int d;

	if (g.n == 0)
		return rt_raise(cx, "select() cannot be applied to a 0-dim tensor.");
	d = rt_dim(cx, in[1].u.i, g.n);
	if (d < 0)
		return RT_ERROR;
	if (i < -g.dims[d] || i >= g.dims[d])
		return rt_raise(cx, "select(): index %lld out of range for tensor of size %s at dimension %lld",
			(long long)i, sizes_text(text, g.n, g.dims), (long long)d);
	i += i < 0 ? g.dims[d] : 0;
	g.offset += i * g.strides[d];
	geom_remove(&g, d);
	return give_cut(cx, t, &g, (ViewPart){ d, i, 1, true }, out);
}

static int64_t
clamp_index(int64_t i, int64_t low, int64_t n)
{
	if (i < 0)
		i += n;
	return i < low ? low : i > n ? n : i;
}

int
rt_slice_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Geom g = geom_of(t);
	int64_t start, end, step = in[4].u.i;
	int d;

	if (g.n == 0)
		return rt_raise(cx, "slice() cannot be applied to a 0-dim tensor.");
	d = rt_dim(cx, in[1].u.i, g.n);
	if (d < 0)
		return RT_ERROR;
	if (step <= 0)
		return rt_raise(cx, "slice step must be positive");
	start = clamp_index(rt_is_none(in[2]) ? 0 : in[2].u.i, 0, g.dims[d]);
	end = clamp_index(rt_is_none(in[3]) ? INT64_MAX : in[3].u.i, start, g.dims[d]);
	g.offset += start * g.strides[d];
	g.dims[d] = (end - start) / step + ((end - start) % step != 0);
	if (g.dims[d] > 1 || step < INT32_MAX)
		g.strides[d] *= step;
	return give_cut(cx, t, &g, (ViewPart){ d, start, step, false }, out);
}

static int
narrow(RtCx *cx, RtTensor *t, int64_t dim, int64_t start, int64_t length, IValue *out)
{
	Geom g = geom_of(t);
	int d;

	if (g.n == 0)
		return rt_raise(cx, "narrow() cannot be applied to a 0-dim tensor.");
	d = rt_dim(cx, dim, g.n);
	if (d < 0)
		return RT_ERROR;
	if (length < 0)
		return rt_raise(cx, "narrow(): length must be non-negative.");
	if (start < -g.dims[d] || start > g.dims[d])
		return rt_raise(cx, "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
			(long long)-g.dims[d], (long long)g.dims[d] - 1, (long long)start);
	if (start < 0)
		start += g.dims[d];
	if (length > g.dims[d] - start)
		return rt_raise(cx, "start (%lld) + length (%lld) exceeds dimension size (%lld).", (long long)start,
			(long long)length, (long long)g.dims[d]);
	g.offset += start * g.strides[d];
	g.dims[d] = length;
	return give_cut(cx, t, &g, (ViewPart){ d, start, 1, false }, out);
}

KERNEL(narrow, narrow(cx, in[0].u.t, in[1].u.i, in[2].u.i, in[3].u.i, out))

int
rt_narrow_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *start = in[2].u.t;
	char category = rt_dtypes[start->dtype].category;

	if (start->ndim || !strchr("IUB", category))
		return rt_raise(cx, "start must be an 0-dim integral Tensor.");
	if (cx->meta)
		return rt_no_meta(cx);
	return narrow(cx, in[0].u.t, in[1].u.i, rt_load_i64(start->dtype, rt_data(start)), in[3].u.i, out);
}

/* n views along a dim. If length is null, each has `piece` indices, and the last one has the remaining indices. */
typedef struct Cuts { int64_t n; const int64_t *length; int64_t piece; } Cuts;

static int
pieces(RtCx *cx, RtTensor *t, int d, const Cuts *c, IValue *out)
{
	RtList *list = rt_list_new(cx, &rt_type_tensor, c->n);
	Geom g = geom_of(t);
	int64_t left = t->dims[d];

	if (!list)
		return RT_ERROR;
	out[0] = rt_ref(RT_LIST, list);
	for (int64_t i = 0; i < c->n; i++) {
		RtTensor *r;
		g.dims[d] = c->length ? c->length[i] : c->piece < left ? c->piece : left;
		r = view_of(cx, t, &g, &(ViewPart){ d, t->dims[d] - left, 1, false });
		if (!r || rt_list_push(cx, list, rt_of(r)))
			return RT_ERROR;
		g.offset += g.dims[d] * g.strides[d];
		left -= g.dims[d];
	}
	return RT_OK;
}

static int
split(RtCx *cx, RtTensor *t, int64_t piece, int64_t dim, IValue *out)
{
	int d;
	int64_t n;

	if (t->ndim == 0)
		return rt_raise(cx, "split expects at least a 1-dimensional tensor");
	if (piece < 0)
		return rt_raise(cx, "split expects split_size be non-negative, but got split_size=%lld",
				(long long)piece);
	d = rt_dim(cx, dim, t->ndim);
	if (d < 0)
		return RT_ERROR;
	n = t->dims[d];
	if (piece == 0 && n)
		return rt_raise(cx, "split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
				(long long)n);
	return pieces(cx, t, d, &(Cuts){ n ? (n - 1) / piece + 1 : 1, NULL, piece }, out);
}

KERNEL(split_Tensor, split(cx, in[0].u.t, in[1].u.i, in[2].u.i, out))
KERNEL(unsafe_split_Tensor, split(cx, in[0].u.t, in[1].u.i, in[2].u.i, out))

int
rt_chunk(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	int64_t n = in[1].u.i, size;
	int d;

	if (t->ndim == 0)
		return rt_raise(cx, "chunk expects at least a 1-dimensional tensor");
	if (n <= 0)
		return rt_raise(cx, "chunk expects `chunks` to be greater than 0, got: %lld", (long long)n);
	d = rt_dim(cx, in[2].u.i, t->ndim);
	if (d < 0)
		return RT_ERROR;
	size = t->dims[d];
	if (size == 0)
		return n > 1 << 20 ? rt_raise(cx, "chunk: %lld empty chunks are too many", (long long)n)
			: pieces(cx, t, d, &(Cuts){ n, NULL, 0 }, out);
	return split(cx, t, (size - 1) / n + 1, d, out);
}

KERNEL(unsafe_chunk, rt_chunk(cx, in, out))

int
rt_split_with_sizes(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	int64_t n = in[1].u.list->n, sum = 0, *length;
	int d;

	if (t->ndim == 0)
		return rt_raise(cx, "split_with_sizes expects at least a 1-dimensional tensor");
	d = rt_dim(cx, in[2].u.i, t->ndim);
	length = d < 0 ? NULL : rt_scratch(cx, (n + 1) * 8);
	if (!length)
		return RT_ERROR;
	for (int64_t i = 0; i < n; i++) {
		length[i] = in[1].u.list->v[i].u.i;
		if (length[i] < 0) {
			char text[SIZES_TEXT];
			return rt_raise(cx, "split_with_sizes expects split_sizes have only non-negative entries, but "
				"got split_sizes=%s", sizes_text(text, n, (const int64_t *)list_ints(cx, in[1])));
		}
		if (sum <= t->dims[d])
			sum += length[i];
	}
	if (sum != t->dims[d]) {
		char text[SIZES_TEXT];
		return rt_raise(cx, "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size "
			"at dimension %d), but got split_sizes=%s", (long long)t->dims[d], d,
			sizes_text(text, n, length));
	}
	return pieces(cx, t, d, &(Cuts){ n, length, 0 }, out);
}

KERNEL(unsafe_split_with_sizes, rt_split_with_sizes(cx, in, out))
KERNEL(split_sizes, rt_split_with_sizes(cx, in, out))
KERNEL(split, rt_split_with_sizes(cx, in, out))

/* Appends the view [start, end) of dim d. The bounds are clipped as those of slices. */
static int
push_slice(RtCx *cx, RtTensor *t, int d, int64_t start, int64_t end, RtList *list)
{
	Geom g = geom_of(t);
	RtTensor *r;

	start = clamp_index(start, 0, g.dims[d]);
	end = clamp_index(end, start, g.dims[d]);
	g.offset += start * g.strides[d];
	g.dims[d] = end - start;
	r = rt_tensor_view(cx, t, g.n, g.dims, g.strides, g.offset);
	return r ? rt_list_push(cx, list, rt_of(r)) : RT_ERROR;
}

static int
tensor_split(RtCx *cx, RtTensor *t, const int64_t *at, int64_t n, int64_t dim, IValue *out)
{
	RtList *list;
	int d = rt_dim(cx, dim, t->ndim);
	int64_t start = 0;

	if (d < 0)
		return RT_ERROR;
	list = rt_list_new(cx, &rt_type_tensor, n + 1);
	if (!list)
		return RT_ERROR;
	out[0] = rt_ref(RT_LIST, list);
	for (int64_t i = 0; i < n; start = at[i++])
		if (push_slice(cx, t, d, start, at[i], list))
			return RT_ERROR;
	return push_slice(cx, t, d, start, t->dims[d], list);
}

static int
tensor_split_sections(RtCx *cx, RtTensor *t, int64_t n, int64_t dim, IValue *out)
{
	int64_t *length, size;
	int d;

	if (t->ndim == 0)
		return rt_raise(cx,
				"tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
	if (n <= 0)
		return rt_raise(cx, "number of sections must be larger than 0, got %lld", (long long)n);
	d = rt_dim(cx, dim, t->ndim);
	if (d < 0)
		return RT_ERROR;
	size = t->dims[d];
	length = n > INT32_MAX ? NULL : rt_scratch(cx, n * 8);
	if (!length)
		return cx->status ? RT_ERROR : rt_raise(cx, "tensor_split: %lld sections are too many", (long long)n);
	for (int64_t i = 0; i < n; i++)
		length[i] = size / n + (i < size % n);
	return pieces(cx, t, d, &(Cuts){ n, length, 0 }, out);
}

KERNEL(tensor_split_sections, tensor_split_sections(cx, in[0].u.t, in[1].u.i, in[2].u.i, out))

int
rt_tensor_split_indices(RtCx *cx, const IValue *in, IValue *out)
{
	const int64_t *at = list_ints(cx, in[1]);

	if (!at)
		return RT_ERROR;
	if (in[0].u.t->ndim == 0)
		return rt_raise(cx,
				"tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
	return tensor_split(cx, in[0].u.t, at, in[1].u.list->n, in[2].u.i, out);
}

int
rt_tensor_split_tensor_indices_or_sections(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *how = in[1].u.t;

	if (t->ndim == 0)
		return rt_raise(cx,
				"tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
	if (how->dtype != RT_i64 || how->ndim > 1)
		return rt_raise(cx, "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
			"one-dimensional tensor of dtype long");
	if (cx->meta)
		return rt_no_meta(cx);
	how = dense(cx, how);
	if (!how)
		return RT_ERROR;
	return how->ndim == 0 ? tensor_split_sections(cx, t, *(int64_t *)rt_data(how), in[2].u.i, out)
		: tensor_split(cx, t, (int64_t *)rt_data(how), rt_numel(how), in[2].u.i, out);
}

int
rt_unbind_int(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Geom g = geom_of(t);
	RtList *list;
	int64_t n, step;
	int d;

	if (t->ndim == 0)
		return rt_raise(cx, "Dimension specified as %lld but tensor has no dimensions",
			(long long)in[1].u.i);
	d = rt_dim(cx, in[1].u.i, t->ndim);
	if (d < 0)
		return RT_ERROR;
	n = g.dims[d];
	step = g.strides[d];
	list = rt_list_new(cx, &rt_type_tensor, n);
	if (!list)
		return RT_ERROR;
	out[0] = rt_ref(RT_LIST, list);
	geom_remove(&g, d);
	for (int64_t i = 0; i < n; i++, g.offset += step) {
		RtTensor *r = view_of(cx, t, &g, &(ViewPart){ d, i, 1, true });
		if (!r || rt_list_push(cx, list, rt_of(r)))
			return RT_ERROR;
	}
	return RT_OK;
}

static int
diagonal(RtCx *cx, RtTensor *t, int64_t offset, int64_t dim1, int64_t dim2, IValue *out)
{
	Geom g = geom_of(t);
	int a = rt_dim(cx, dim1, g.n), b = a < 0 ? -1 : rt_dim(cx, dim2, g.n);
	int64_t rows, columns, n, step;

	if (b < 0)
		return RT_ERROR;
	if (a == b)
		return rt_raise(cx, "diagonal dimensions cannot be identical %lld, %lld", (long long)dim1,
				(long long)dim2);
	rows = g.dims[a];
	columns = g.dims[b];
	if (offset >= 0) {
		n = offset > columns ? 0 : columns - offset;
		n = n < rows ? n : rows;
	} else {
		n = offset < -rows ? 0 : rows + offset;
		n = n < columns ? n : columns;
	}
	if (n)
		g.offset += offset >= 0 ? offset * g.strides[b] : -offset * g.strides[a];
	step = g.strides[a] + g.strides[b];
	geom_remove(&g, a > b ? a : b);
	geom_remove(&g, a > b ? b : a);
	geom_insert(&g, g.n, n, step);
	return give(cx, t, &g, out);
}

KERNEL(diagonal, diagonal(cx, in[0].u.t, in[1].u.i, in[2].u.i, in[3].u.i, out))
KERNEL(linalg_diagonal, diagonal(cx, in[0].u.t, in[1].u.i, in[2].u.i, in[3].u.i, out))

int
rt_unfold(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Geom g = geom_of(t);
	int64_t size = in[2].u.i, step = in[3].u.i, whole;
	int d = rt_dim(cx, in[1].u.i, g.n);

	if (d < 0)
		return RT_ERROR;
	if (g.n == RT_MAX_RANK)
		return rt_raise(cx, "tensors of more than %d dimensions are not supported", RT_MAX_RANK);
	whole = g.n ? g.dims[d] : 1;
	if (size < 0)
		return rt_raise(cx, "size is %lld but must be >= 0", (long long)size);
	if (size > whole)
		return rt_raise(cx, "maximum size for tensor at dimension %d is %lld but size is %lld", d,
				(long long)whole, (long long)size);
	if (step <= 0)
		return rt_raise(cx, "step is %lld but must be > 0", (long long)step);
	geom_insert(&g, g.n, size, g.n ? g.strides[d] : 1);
	if (g.n > 1) {
		g.dims[d] = (whole - size) / step + 1;
		if (g.dims[d] > 1 || step < INT32_MAX)
			g.strides[d] *= step;
	}
	return give(cx, t, &g, out);
}
