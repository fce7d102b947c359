/* rt/ops/view.c - views: another geometry over the same storage, without copies
 *
 * A Geom is a geometry by value. A kernel copies its argument's geometry, changes the copy, and makes the view. Only
 * view_strides is more than bookkeeping: it decides whether a tensor's elements can be read in another shape without a
 * copy, which `view` requires and `reshape` prefers.
 *
 * Invariant: a result of this file shares its argument's storage, except for reshape's copy. */
#include "geom.h"

/* ---- view, reshape ----------------------------------------------------------------------------------- */

int
rt_infer_shape(RtCx *cx, int n, int64_t *dims, int64_t numel)
{
	char text[SIZES_TEXT];
	int unknown = -1;
	int64_t known = 1;

	for (int i = 0; i < n; i++) {
		if (dims[i] == -1 && unknown >= 0)
			return rt_raise(cx, "only one dimension can be inferred");
		if (dims[i] == -1)
			unknown = i;
		else if (dims[i] < 0)
			return rt_raise(cx, "invalid shape dimension %lld", (long long)dims[i]);
		else if (!size_mul(known, dims[i], &known))
			return rt_raise(cx, "numel: integer multiplication overflow");
	}
	if (unknown < 0 ? known == numel : known > 0 && numel % known == 0) {
		if (unknown >= 0)
			dims[unknown] = numel / known;
		return RT_OK;
	}
	if (unknown >= 0 && known == 0 && numel == 0)
		return rt_raise(cx, "cannot reshape tensor of 0 elements into shape %s because the unspecified "
			"dimension size -1 can be any value and is ambiguous", sizes_text(text, n, dims));
	return rt_raise(cx, "shape '%s' is invalid for input of size %lld", sizes_text(text, n, dims),
			(long long)numel);
}

/* Computes strides for another shape. Compares both shapes from the right. A run of old dims that can be merged (a
 * chunk) must have the same size as a run of new dims, whose strides then follow from the chunk's innermost stride.
 * Returns false if there are no such strides. */
static bool
view_strides(const RtTensor *t, int n, const int64_t *dims, int64_t *strides)
{
	int at = n - 1;
	int64_t base, chunk = 1, made = 1;

	if (rt_numel(t) == 0) {
		if (n == t->ndim && !memcmp(dims, t->dims, sizeof *dims * n))
			memcpy(strides, t->strides, sizeof *strides * n);
		else
			rt_contiguous_strides(n, dims, strides);
		return true;
	}
	if (t->ndim == 0) {
		for (int i = 0; i < n; i++)
			strides[i] = 1;
		return true;
	}
	base = t->strides[t->ndim - 1];
	for (int d = t->ndim - 1; d >= 0; d--) {
		chunk *= t->dims[d];
		if (d > 0 && (t->dims[d - 1] == 1 || t->strides[d - 1] == chunk * base))
			continue;
		for (; at >= 0 && (made < chunk || dims[at] == 1); at--) {
			strides[at] = made * base;
			made *= dims[at];
		}
		if (made != chunk)
			return false;
		if (d > 0)
			base = t->strides[d - 1];
		chunk = made = 1;
	}
	return at == -1;
}

static int
view(RtCx *cx, RtTensor *t, int n, const int64_t *dims, bool copy, IValue *out)
{
	Geom g;

	memcpy(g.dims, dims, sizeof *dims * n);
	g.n = n;
	g.offset = t->offset;
	if (rt_infer_shape(cx, n, g.dims, rt_numel(t)))
		return RT_ERROR;
	if (view_strides(t, n, g.dims, g.strides))
		return give(cx, t, &g, out);
	if (!copy)
		return rt_raise(cx, "view size is not compatible with input tensor's size and stride (at least one "
			"dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
	t = dense(cx, t);
	if (!t)
		return RT_ERROR;
	g.offset = t->offset;
	rt_contiguous_strides(n, g.dims, g.strides);
	return give(cx, t, &g, out);
}

static int
view_list(RtCx *cx, const IValue *in, bool copy, IValue *out)
{
	int64_t dims[RT_MAX_RANK];
	int n = rt_ints(cx, in[1], dims, RT_MAX_RANK);

	return n < 0 ? RT_ERROR : view(cx, in[0].u.t, n, dims, copy, out);
}

KERNEL(view, view_list(cx, in, false, out))
KERNEL(_unsafe_view, view_list(cx, in, false, out))
KERNEL(reshape, view_list(cx, in, true, out))
KERNEL(view_as, view(cx, in[0].u.t, in[1].u.t->ndim, in[1].u.t->dims, false, out))
KERNEL(reshape_as, view(cx, in[0].u.t, in[1].u.t->ndim, in[1].u.t->dims, true, out))

typedef struct Dims { int n; const int64_t *at; } Dims;          /* sizes, or indices of dims */

/* Reshapes t: replaces dims first .. last by others. */
static int
reshape_range(RtCx *cx, RtTensor *t, int first, int last, Dims with, IValue *out)
{
	const int n = with.n;
	int64_t dims[RT_MAX_RANK];
	int rest = t->ndim - last - 1;

	if (first + n + rest > RT_MAX_RANK)
		return rt_raise(cx, "tensors of more than %d dimensions are not supported", RT_MAX_RANK);
	memcpy(dims, t->dims, sizeof *dims * first);
	memcpy(dims + first, with.at, sizeof *dims * n);
	memcpy(dims + first + n, t->dims + last + 1, sizeof *dims * rest);
	return view(cx, t, first + n + rest, dims, true, out);
}

int
rt_flatten_using_ints(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	int64_t one = 1;
	int first = rt_dim(cx, in[1].u.i, t->ndim), last = first < 0 ? -1 : rt_dim(cx, in[2].u.i, t->ndim);

	if (first < 0 || last < 0)
		return RT_ERROR;
	if (first > last)
		return rt_raise(cx, "flatten() has invalid args: start_dim cannot come after end_dim");
	if (t->ndim == 0)
		return view(cx, t, 1, &one, true, out);
	if (first == last)
		return give_self(in, out);
	for (int d = first; d <= last; d++)
		if (!size_mul(one, t->dims[d], &one))
			return rt_raise(cx, "numel: integer multiplication overflow");
	return reshape_range(cx, t, first, last, (Dims){ 1, &one }, out);
}

int
rt_unflatten_int(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	int64_t dims[RT_MAX_RANK], whole, product = 1;
	char text[SIZES_TEXT];
	int d = rt_dim(cx, in[1].u.i, t->ndim), n = d < 0 ? -1 : rt_ints(cx, in[2], dims, RT_MAX_RANK), unknown = -1;

	if (n < 0)
		return RT_ERROR;
	if (n == 0)
		return rt_raise(cx, "unflatten: sizes must be non-empty");
	if (t->ndim == 0)
		return rt_raise(cx, "unflatten: the tensor has no dimensions");
	whole = t->dims[d];
	for (int i = 0; i < n; i++)
		if (dims[i] == -1 && unknown < 0)
			unknown = i;
		else if (!size_mul(product, dims[i], &product))
			return rt_raise(cx, "numel: integer multiplication overflow");
	if (unknown >= 0 && product > 0 && whole % product == 0) {
		dims[unknown] = whole / product;
		product = whole;
	}
	if (product != whole)
		return rt_raise(cx, "unflatten: Provided sizes %s don't multiply up to the size of dim %d (%lld) in "
			"the input tensor", sizes_text(text, n, dims), d, (long long)whole);
	return reshape_range(cx, t, d, d, (Dims){ n, dims }, out);
}

/* Changes the geometry to elements of another dtype that are `ratio` times as wide. */
static int
widen_elements(RtCx *cx, Geom *g, int64_t ratio, const char *from, const char *to)
{
	if (g->dims[g->n - 1] % ratio)
		return rt_raise(cx, "self.size(-1) must be divisible by %lld to view %s as %s (different element "
			"sizes), but got %lld", (long long)ratio, from, to, (long long)g->dims[g->n - 1]);
	if (g->offset % ratio)
		return rt_raise(cx, "self.storage_offset() must be divisible by %lld to view %s as %s (different "
			"element sizes), but got %lld", (long long)ratio, from, to, (long long)g->offset);
	for (int i = 0; i < g->n - 1; i++) {
		if (g->strides[i] % ratio)
			return rt_raise(cx, "self.stride(%d) must be divisible by %lld to view %s as %s (different "
				"element sizes), but got %lld", i, (long long)ratio, from, to,
				(long long)g->strides[i]);
		g->strides[i] /= ratio;
	}
	g->dims[g->n - 1] /= ratio;
	g->offset /= ratio;
	return RT_OK;
}

int
rt_view_dtype(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Geom g = geom_of(t);
	RtDtype to = rt_dtype_or(in[1], RT_NDTYPE);
	const char *from = rt_dtypes[t->dtype].brief;
	int64_t was = rt_dtypes[t->dtype].bytes, is;

	if (to == RT_NDTYPE)
		return rt_raise(cx, "unknown dtype %lld", (long long)in[1].u.i);
	if (to != t->dtype && t->flags & RT_BITS)
		return rt_raise(cx, "torch.Tensor.view is not supported for %s when converting to a different dtype.",
			t->flags & RT_CONJ ? "conjugate view tensors" : "tensors with negative bit set");
	is = rt_dtypes[to].bytes;
	if (was != is && g.n == 0)
		return rt_raise(cx, "self.dim() cannot be 0 to view %s as %s (different element sizes)", from,
				rt_dtypes[to].brief);
	if (was != is && g.strides[g.n - 1] != 1)
		return rt_raise(cx,
				"self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %lld",
				from, rt_dtypes[to].brief, (long long)g.strides[g.n - 1]);
	if (is > was && widen_elements(cx, &g, is / was, from, rt_dtypes[to].brief))
		return RT_ERROR;
	if (is < was) {
		const int64_t ratio = was / is;

		for (int i = 0; i < g.n - 1; i++)
			g.strides[i] *= ratio;
		g.dims[g.n - 1] *= ratio;
		g.offset *= ratio;
	}
	return give_with_bits(cx, geom_over(cx, t, to, &g), t->flags, out);
}

KERNEL(prim_view_as_dtype, rt_view_dtype(cx, in, out))

/* ---- sizes of 1 ----------------------------------------------------------------------------------------- */

static Geom
squeezed(const RtTensor *t)
{
	Geom g = geom_of(t);

	for (int d = g.n - 1; d >= 0; d--)
		if (g.dims[d] == 1)
			geom_remove(&g, d);
	return g;
}

static int
squeeze_at(RtCx *cx, const IValue *in, Geom *g)
{
	int d = rt_dim(cx, in[1].u.i, in[0].u.t->ndim);

	if (d < 0)
		return RT_ERROR;
	*g = geom_of(in[0].u.t);
	if (g->n && g->dims[d] == 1)
		geom_remove(g, d);
	return RT_OK;
}

/* Removes the dims in the list whose size is 1. */
static int
squeeze_all_at(RtCx *cx, const IValue *in, Geom *g)
{
	const RtTensor *t = in[0].u.t;
	bool gone[RT_MAX_RANK] = { false };

	for (int64_t i = 0; i < in[1].u.list->n; i++) {
		const int d = rt_dim(cx, in[1].u.list->v[i].u.i, t->ndim);

		if (d < 0)
			return RT_ERROR;
		if (t->ndim && gone[d])
			return rt_raise(cx, "dim %d appears multiple times in the list of dims", d);
		if (t->ndim)
			gone[d] = true;
	}
	*g = geom_of(t);
	for (int d = t->ndim - 1; d >= 0; d--)
		if (gone[d] && t->dims[d] == 1)
			geom_remove(g, d);
	return RT_OK;
}

static int
unsqueeze_at(RtCx *cx, const IValue *in, Geom *g)
{
	const RtTensor *t = in[0].u.t;
	int d = rt_dim(cx, in[1].u.i, t->ndim + 1);

	if (d < 0)
		return RT_ERROR;
	if (t->ndim == RT_MAX_RANK)
		return rt_raise(cx, "tensors of more than %d dimensions are not supported", RT_MAX_RANK);
	*g = geom_of(t);
	geom_insert(g, d, 1, d < g->n ? g->dims[d] * g->strides[d] : 1);
	return RT_OK;
}

static int
transpose_at(RtCx *cx, const IValue *in, Geom *g)
{
	int n = in[0].u.t->ndim, a = rt_dim(cx, in[1].u.i, n), b = a < 0 ? -1 : rt_dim(cx, in[2].u.i, n);

	if (b < 0)
		return RT_ERROR;
	*g = geom_of(in[0].u.t);
	if (n)
		geom_swap(g, a, b);
	return RT_OK;
}

static int
transpose_matrix(RtCx *cx, const IValue *in, Geom *g)
{
	*g = geom_of(in[0].u.t);
	if (g->n > 2)
		return rt_raise(cx, "t() expects a tensor with <= 2 dimensions, but self is %dD", g->n);
	if (g->n == 2)
		geom_swap(g, 0, 1);
	return RT_OK;
}

int
rt_squeeze(RtCx *cx, const IValue *in, IValue *out)
{
	Geom g = squeezed(in[0].u.t);

	return give(cx, in[0].u.t, &g, out);
}

/* Defines the operator that makes a view, and the one that changes self's geometry in place. `derive` computes the
 * geometry. */
#define VIEW(name, in_place, derive) \
	int rt_##name(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		Geom g; \
		return derive(cx, in, &g) ? RT_ERROR : give(cx, in[0].u.t, &g, out); \
	} \
	int rt_##in_place(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		Geom g; \
		if (derive(cx, in, &g) || rt_tensor_set_geometry(cx, in[0].u.t, g.n, g.dims, g.strides, g.offset)) \
			return RT_ERROR; \
		return give_self(in, out); \
	}
VIEW(squeeze_dim, squeeze__dim, squeeze_at)
VIEW(squeeze_dims, squeeze__dims, squeeze_all_at)
VIEW(unsqueeze, unsqueeze_, unsqueeze_at)
VIEW(transpose_int, transpose_, transpose_at)
VIEW(t, t_, transpose_matrix)
VIEW(swapaxes, swapaxes_, transpose_at)
VIEW(swapdims, swapdims_, transpose_at)
#undef VIEW

int
rt_squeeze_(RtCx *cx, const IValue *in, IValue *out)
{
	Geom g = squeezed(in[0].u.t);

	if (rt_tensor_set_geometry(cx, in[0].u.t, g.n, g.dims, g.strides, g.offset))
		return RT_ERROR;
	return give_self(in, out);
}

/* ---- order of dims ------------------------------------------------------------------------------------------ */

static int
permuted(RtCx *cx, RtTensor *t, const int *order, IValue *out)
{
	Geom g = geom_of(t);

	for (int i = 0; i < g.n; i++) {
		g.dims[i] = t->dims[order[i]];
		g.strides[i] = t->strides[order[i]];
	}
	return give(cx, t, &g, out);
}

int
rt_permute(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	int64_t dims[RT_MAX_RANK];
	int order[RT_MAX_RANK], n = rt_ints(cx, in[1], dims, RT_MAX_RANK);
	uint64_t seen = 0;

	if (n < 0)
		return RT_ERROR;
	if (n != t->ndim)
		return rt_raise(cx, "permute(sparse_coo): number of dimensions in the tensor input does not match the "
			"length of the desired ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) "
			"= %d", t->ndim, n);
	for (int i = 0; i < n; i++) {
		order[i] = rt_dim(cx, dims[i], n);
		if (order[i] < 0)
			return RT_ERROR;
		if (seen >> order[i] & 1)
			return rt_raise(cx, "permute(): duplicate dims are not allowed.");
		seen |= UINT64_C(1) << order[i];
	}
	return permuted(cx, t, order, out);
}

static int
move_dims(RtCx *cx, RtTensor *t, Dims from, Dims to, IValue *out)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];
	int order[RT_MAX_RANK], at = 0;
	uint64_t taken = 0, placed = 0;

	if (from.n != to.n)
		return rt_raise(cx, "movedim: Invalid source or destination dims: source (%s dims) should contain the "
			"same number of dims as destination (%s dims)", sizes_text(a, from.n, from.at),
			sizes_text(b, to.n, to.at));
	for (int i = 0; i < from.n; i++) {
		int f = rt_dim(cx, from.at[i], t->ndim), p = f < 0 ? -1 : rt_dim(cx, to.at[i], t->ndim);
		if (p < 0)
			return RT_ERROR;
		if (taken >> f & 1)
			return rt_raise(cx, "movedim: repeated dim in `source` (%s)", sizes_text(a, from.n, from.at));
		if (placed >> p & 1)
			return rt_raise(cx, "movedim: repeated dim in `destination` (%s)", sizes_text(a, to.n, to.at));
		taken |= UINT64_C(1) << f;
		placed |= UINT64_C(1) << p;
		order[p] = f;
	}
	for (int i = 0; i < t->ndim; i++) {
		if (taken >> i & 1)
			continue;
		while (placed >> at & 1)
			at++;
		order[at++] = i;
	}
	return permuted(cx, t, order, out);
}

KERNEL(movedim_int, move_dims(cx, in[0].u.t, (Dims){ 1, &in[1].u.i }, (Dims){ 1, &in[2].u.i }, out))

int
rt_movedim_intlist(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t from[RT_MAX_RANK], to[RT_MAX_RANK];
	int n = rt_ints(cx, in[1], from, RT_MAX_RANK), m = n < 0 ? -1 : rt_ints(cx, in[2], to, RT_MAX_RANK);

	return m < 0 ? RT_ERROR : move_dims(cx, in[0].u.t, (Dims){ n, from }, (Dims){ m, to }, out);
}

int
rt_numpy_T(RtCx *cx, const IValue *in, IValue *out)
{
	int order[RT_MAX_RANK], n = in[0].u.t->ndim;

	for (int i = 0; i < n; i++)
		order[i] = n - 1 - i;
	return permuted(cx, in[0].u.t, order, out);
}

int
rt_mT(RtCx *cx, const IValue *in, IValue *out)
{
	Geom g = geom_of(in[0].u.t);

	if (g.n == 1)
		return rt_raise(cx, "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.");
	if (g.n)
		geom_swap(&g, g.n - 2, g.n - 1);
	return give(cx, in[0].u.t, &g, out);
}

/* ---- broadcasting ------------------------------------------------------------------------------------------- */

static int
expand(RtCx *cx, RtTensor *t, int n, const int64_t *dims, IValue *out)
{
	Geom g;
	int lead = n - t->ndim;
	char a[SIZES_TEXT], b[SIZES_TEXT];

	if (lead < 0)
		return rt_raise(cx, "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be "
			"greater or equal to the number of dimensions in the tensor (%d)", rt_dtypes[t->dtype].brief,
			sizes_text(a, t->ndim, t->dims), sizes_text(b, n, dims), n, t->ndim);
	g.n = n;
	g.offset = t->offset;
	for (int i = n - 1; i >= 0; i--) {
		int64_t size = i >= lead ? t->dims[i - lead] : 1;
		/* The stride of a new leading dim of size 1 is that of unsqueeze. */
		int64_t stride = i >= lead ? t->strides[i - lead] : i + 1 < n ? g.dims[i + 1] * g.strides[i + 1] : 1;
		int64_t want = dims[i];
		if (want == -1 && i < lead)
			return rt_raise(cx, "The expanded size of the tensor (-1) isn't allowed in a leading, "
				"non-existing dimension %d", i);
		if (want == -1)
			want = size;
		if (want < 0)
			return rt_raise(cx, "Trying to create tensor with negative dimension %lld: %s", (long long)want,
				sizes_text(a, n, dims));
		if (want != size && size != 1)
			return rt_raise(cx, "The expanded size of the tensor (%lld) must match the existing size "
				"(%lld) at non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
				(long long)want, (long long)size, i, sizes_text(a, n, dims),
				sizes_text(b, t->ndim, t->dims));
		g.dims[i] = want;
		g.strides[i] = want == size ? stride : 0;
	}
	return give(cx, t, &g, out);
}

static int
expand_list(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t dims[RT_MAX_RANK];
	int n = rt_ints(cx, in[1], dims, RT_MAX_RANK);

	return n < 0 ? RT_ERROR : expand(cx, in[0].u.t, n, dims, out);
}

KERNEL(expand, expand_list(cx, in, out))
KERNEL(broadcast_to, expand_list(cx, in, out))
KERNEL(expand_as, expand(cx, in[0].u.t, in[1].u.t->ndim, in[1].u.t->dims, out))

int
rt_broadcast_tensors(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *from = in[0].u.list, *list = rt_list_new(cx, &rt_type_tensor, from->n);
	int64_t dims[RT_MAX_RANK];
	int n = 0;

	if (!list)
		return RT_ERROR;
	out[0] = rt_ref(RT_LIST, list);
	for (int64_t i = 0; i < from->n; i++)
		if (rt_broadcast(cx, &n, dims, from->v[i].u.t->ndim, from->v[i].u.t->dims))
			return RT_ERROR;
	for (int64_t i = 0; i < from->n; i++) {
		IValue r = rt_none();
		if (expand(cx, from->v[i].u.t, n, dims, &r) || rt_list_push(cx, list, r))
			return RT_ERROR;
	}
	return RT_OK;
}

/* ---- geometry from numbers ------------------------------------------------------------------------------------- */

static int
as_strided_at(RtCx *cx, const IValue *in, Geom *g)
{
	int n = rt_ints(cx, in[1], g->dims, RT_MAX_RANK), m = n < 0 ? -1 : rt_ints(cx, in[2], g->strides, RT_MAX_RANK);
	char text[SIZES_TEXT];

	if (m < 0)
		return RT_ERROR;
	if (n != m)
		return rt_raise(cx, "mismatch in length of strides and shape");
	g->n = n;
	g->offset = rt_is_none(in[3]) ? in[0].u.t->offset : in[3].u.i;
	for (int i = 0; i < n; i++)
		if (g->strides[i] < 0)
			return rt_raise(cx,
					"as_strided: Negative strides are not supported at the moment, got strides: %s",
					sizes_text(text, n, g->strides));
		else if (g->dims[i] < 0)
			return rt_raise(cx, "Storage size calculation overflowed with sizes=%s",
					sizes_text(text, n, g->dims));
	if (g->offset < 0)
		return rt_raise(cx, "Tensor: invalid storage offset %lld", (long long)g->offset);
	return RT_OK;
}

int
rt_as_strided(RtCx *cx, const IValue *in, IValue *out)
{
	Geom g;
	RtTensor *r;

	if (as_strided_at(cx, in, &g))
		return RT_ERROR;
	r = geom_over(cx, in[0].u.t, in[0].u.t->dtype, &g);
	return give_with_bits(cx, r, in[0].u.t->flags, out);
}

int
rt_as_strided_(RtCx *cx, const IValue *in, IValue *out)
{
	IValue checked = rt_none();
	RtTensor *r;

	if (rt_as_strided(cx, in, &checked))
		return RT_ERROR;
	r = rt_temp(cx, checked.u.t);
	if (!r || rt_tensor_set_geometry(cx, in[0].u.t, r->ndim, r->dims, r->strides, r->offset))
		return RT_ERROR;
	return give_self(in, out);
}

int
rt__reshape_alias(RtCx *cx, const IValue *in, IValue *out)
{
	IValue args[4] = { in[0], in[1], in[2], rt_none() };

	return rt_as_strided(cx, args, out);
}

/* ---- identity views ---------------------------------------------------------------------------------------------- */

static int
same(RtCx *cx, const IValue *in, IValue *out)
{
	Geom g = geom_of(in[0].u.t);

	return give(cx, in[0].u.t, &g, out);
}

KERNEL(alias, same(cx, in, out))

int
rt_detach(RtCx *cx, const IValue *in, IValue *out)
{
	if (same(cx, in, out))
		return RT_ERROR;
	out[0].u.t->flags &= ~RT_REQUIRES_GRAD;
	return RT_OK;
}

KERNEL(data_of, rt_detach(cx, in, out))

int
rt_detach_(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	in[0].u.t->flags &= ~RT_REQUIRES_GRAD;
	return give_self(in, out);
}

KERNEL(lift, give_self(in, out))
KERNEL(lift_fresh, give_self(in, out))

/* ---- changes of self's geometry and storage ---------------------------------------------------------------------- */

int
rt_resize_(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	int64_t dims[RT_MAX_RANK];
	int n = rt_ints(cx, in[1], dims, RT_MAX_RANK);

	if (n < 0)
		return RT_ERROR;
	if (n != t->ndim || memcmp(dims, t->dims, sizeof *dims * n))
		if (rt_tensor_resize(cx, t, n, dims))
			return RT_ERROR;
	return give_self(in, out);
}

int
rt_resize_as_(RtCx *cx, const IValue *in, IValue *out)
{
	const RtTensor *like = in[1].u.t;

	if (rt_tensor_resize(cx, in[0].u.t, like->ndim, like->dims))
		return RT_ERROR;
	return give_self(in, out);
}

int
rt_set__source_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *from = in[1].u.t;

	if (t->dtype != from->dtype)
		return rt_raise(cx, "Could not set tensor of type %s to a tensor of type %s",
				rt_dtypes[from->dtype].torch, rt_dtypes[t->dtype].torch);
	if (t != from && (rt_tensor_set_storage(cx, t, from->storage)
			|| rt_tensor_set_geometry(cx, t, from->ndim, from->dims, from->strides, from->offset)))
		return RT_ERROR;
	return give_self(in, out);
}

int
rt_set__source_Tensor_storage_offset(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *r;
	Geom g;
	int m;

	g.n = rt_ints(cx, in[3], g.dims, RT_MAX_RANK);
	m = g.n < 0 ? -1 : rt_ints(cx, in[4], g.strides, RT_MAX_RANK);
	if (m < 0)
		return RT_ERROR;
	if (m == 0)
		rt_contiguous_strides(g.n, g.dims, g.strides);
	else if (m != g.n)
		return rt_raise(cx, "mismatch in length of strides and shape");
	g.offset = in[2].u.i;
	r = rt_temp(cx, geom_over(cx, in[1].u.t, t->dtype, &g));
	if (!r || rt_tensor_set_storage(cx, t, r->storage)
			|| rt_tensor_set_geometry(cx, t, r->ndim, r->dims, r->strides, r->offset))
		return RT_ERROR;
	return give_self(in, out);
}

int
rt_set_data(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *from = in[1].u.t;

	(void)out;
	if (t->dtype != from->dtype)
		return rt_lacks(cx, "assignment of data of another dtype (%s to %s)", rt_dtypes[from->dtype].torch,
			rt_dtypes[t->dtype].torch);
	if (t != from && (rt_tensor_set_storage(cx, t, from->storage)
			|| rt_tensor_set_geometry(cx, t, from->ndim, from->dims, from->strides, from->offset)))
		return RT_ERROR;
	return RT_OK;
}
