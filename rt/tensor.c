/* rt/tensor.c - storage, sizes, strides, views, reference counts
 *
 * A tensor is a small header over a counted storage. check_fits() checks every geometry of a tensor against the bytes
 * of its storage, so kernels may trust dims, strides and offset. Layout rules (which tensors are dense, the strides of
 * a result) are ATen's, element for element. */
#include "rt.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>

/* ---- storage ---------------------------------------------------------------------------------------- */

static char *
allocate_bytes(RtCx *cx, int64_t bytes)
{
	void *p = 0;
	int64_t round;

	if (cx->memory_limit && bytes > cx->memory_limit - cx->account->bytes) {
		rt_raise(cx, "out of memory: the limit of %lld bytes is reached", (long long)cx->memory_limit);
		return 0;
	}
	if (!size_add(bytes, 64, &round) || !(p = rt_mem_line(round / 64 * 64))) {
		rt_raise(cx, "DefaultCPUAllocator: can't allocate memory: you tried to allocate %lld bytes. "
			"Error code 12 (Cannot allocate memory)", (long long)bytes);
		return 0;
	}
	return p;
}

static RtStorage *
storage_new(RtCx *cx, int kind, char *data, int64_t bytes)
{
	RtStorage *s = rt_mem_counted(cx, sizeof *s);

	if (!s)
		return 0;
	s->kind = (uint8_t)kind;
	s->bytes = bytes;
	s->data = data;
	return s;
}

/* Adds the storage's bytes on the heap to the context's account. */
static void
storage_count(RtCx *cx, RtStorage *s)
{
	if (!s->account && (s->account = cx->account))
		rt_count_up(&s->account->h);
	if (s->account)
		s->account->bytes += s->bytes;
}

RtStorage *
rt_storage_new(RtCx *cx, int64_t bytes)
{
	RtStorage *s;
	char *data;

	if (cx->meta)
		return storage_new(cx, RT_META, 0, bytes);
	if (!(data = allocate_bytes(cx, bytes)))
		return 0;
	s = storage_new(cx, RT_HEAP, data, bytes);
	if (s)
		storage_count(cx, s);
	else
		rt_mem_back(data);
	return s;
}

RtStorage *
rt_storage_over(RtCx *cx, const void *data, int64_t bytes, bool readonly)
{
	RtStorage *s = storage_new(cx, RT_BORROWED, (char *)(uintptr_t)data, bytes);

	if (s)
		s->readonly = readonly;
	return s;
}

static void
drop_data(RtStorage *s)
{
	const int kind = s->kind;

	if (kind != RT_HEAP && kind != RT_PACKED)
		return;
	rt_mem_back(s->data);
	if (s->account)
		s->account->bytes -= s->bytes;
}

void
rt_storage_release(RtStorage *s)
{
	if (!s || !rt_count_down(&s->h))
		return;
	drop_data(s);
	if (s->account && rt_count_down(&s->account->h))
		rt_mem_back(s->account);
	rt_mem_back(s);
}

char *
rt_storage_take(RtStorage *s)
{
	char *data = s->data;

	if (s->kind != RT_HEAP || rt_refs(&s->h) != 1)
		return NULL;
	if (s->account)
		s->account->bytes -= s->bytes;
	s->kind = RT_BORROWED;
	s->data = (char *)(uintptr_t)"";
	s->bytes = 0;
	return data;
}

/* Moves the storage's content to new heap memory of `bytes`. If there is no data, or with cx->meta, drops the
 * content. */
static int
storage_move(RtCx *cx, RtStorage *s, int64_t bytes)
{
	char *data;

	if (s->kind == RT_META || cx->meta) {
		drop_data(s);
		s->kind = RT_META;
		s->data = 0;
		s->bytes = bytes;
		return RT_OK;
	}
	if (!(data = allocate_bytes(cx, bytes)))
		return RT_ERROR;
	if (s->bytes)
		memcpy(data, s->data, (size_t)(bytes < s->bytes ? bytes : s->bytes));
	drop_data(s);
	s->kind = RT_HEAP;
	s->readonly = false;
	s->data = data;
	s->bytes = bytes;
	storage_count(cx, s);
	return RT_OK;
}

int
rt_writable(RtCx *cx, RtTensor *t)
{
	return t->storage->readonly && !cx->meta ? storage_move(cx, t->storage, t->storage->bytes) : RT_OK;
}

/* ---- geometry ------------------------------------------------------------------------------------------ */

bool
rt_same_dims(const RtTensor *a, const RtTensor *b)
{
	return a->ndim == b->ndim && (!a->ndim || !memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims));
}

int64_t
rt_numel(const RtTensor *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->ndim; i++)
		n *= t->dims[i];
	return n;
}

void
rt_contiguous_strides(int ndim, const int64_t *dims, int64_t *strides)
{
	int64_t step = 1;

	for (int i = ndim; i-- > 0; step *= dims[i] > 1 ? dims[i] : 1)
		strides[i] = step;
}

void
rt_channels_last_strides(int ndim, const int64_t *dims, int64_t *strides)
{
	int64_t step = 1;

	strides[1] = step;
	step *= dims[1] > 1 ? dims[1] : 1;
	for (int i = ndim; i-- > 2; step *= dims[i] > 1 ? dims[i] : 1)
		strides[i] = step;
	strides[0] = step;
}

bool
rt_is_contiguous(const RtTensor *t)
{
	int64_t step = 1;

	if (!rt_numel(t))
		return true;
	for (int i = t->ndim; i-- > 0; step *= t->dims[i])
		if (t->dims[i] != 1 && t->strides[i] != step)
			return false;
	return true;
}

bool
rt_is_channels_last(const RtTensor *t)
{
	int64_t step = 1;
	int i;

	if (t->ndim != 4 && t->ndim != 5)
		return false;
	for (int k = 0; k < t->ndim; k++) {               /* in the order 1, last, ..., 2, 0 */
		i = k == 0 ? 1 : k == t->ndim - 1 ? 0 : t->ndim - k;
		if (t->dims[i] != 1 && t->strides[i] != step)
			return false;
		step *= t->dims[i];
	}
	return true;
}

/* Compares two dims by stride, as TensorIterator does, to order them with the innermost first. Returns 0 if undecided.
 * `strides` has ndim strides for each operand, which are 0 along broadcast dims. */
static int
compare_dims(int i, int j, int ndim, const int64_t *dims, int n, const int64_t *strides)
{
	int64_t a, b;

	for (int k = 0; k < n; k++) {
		a = strides[k * ndim + i];
		b = strides[k * ndim + j];
		if (!a || !b)
			continue;
		if (a != b)
			return a < b ? -1 : 1;
		if (dims[i] > dims[j])
			return 1;
	}
	return 0;
}

static void
sort_dims(int ndim, const int64_t *dims, int n, const int64_t *strides, int *perm)
{
	int at, c, swap;

	for (int i = 0; i < ndim; i++)
		perm[i] = ndim - 1 - i;
	for (int i = 1; i < ndim; i++) {
		at = i;
		for (int k = i - 1; k >= 0; k--) {
			c = compare_dims(perm[k], perm[at], ndim, dims, n, strides);
			if (c < 0)
				break;
			if (c > 0) {
				swap = perm[k];
				perm[k] = perm[at];
				perm[at] = swap;
				at = k;
			}
		}
	}
}

bool
rt_is_dense(const RtTensor *t)
{
	int perm[RT_MAX_RANK], swap;
	int64_t step = 1;

	if (!rt_numel(t))
		return true;
	if (t->ndim == 1)
		return t->dims[0] < 2 || t->strides[0] == 1;
	for (int i = 0; i < t->ndim; i++) {               /* by stride; dims of size 0 or 1 last */
		perm[i] = i;
		for (int k = i; k > 0; k--) {
			if (t->dims[perm[k]] < 2 ||
			    (t->dims[perm[k - 1]] >= 2 && t->strides[perm[k - 1]] <= t->strides[perm[k]]))
				break;
			swap = perm[k];
			perm[k] = perm[k - 1];
			perm[k - 1] = swap;
		}
	}
	for (int i = 0; i < t->ndim; i++) {
		if (t->dims[perm[i]] < 2)
			break;
		if (t->strides[perm[i]] != step)
			return false;
		step *= t->dims[perm[i]];
	}
	return true;
}

void
rt_dense_strides(const RtTensor *t, int64_t *strides)
{
	int perm[RT_MAX_RANK];
	int64_t step = 1;

	if (rt_is_dense(t)) {
		memcpy(strides, t->strides, sizeof *strides * t->ndim);
		return;
	}
	sort_dims(t->ndim, t->dims, 1, t->strides, perm);
	for (int i = 0; i < t->ndim; i++) {
		strides[perm[i]] = step;
		step *= t->dims[perm[i]] > 1 ? t->dims[perm[i]] : 1;
	}
}

static bool
has_dims(const RtTensor *t, int ndim, const int64_t *dims)
{
	return t->ndim == ndim && (!ndim || !memcmp(t->dims, dims, sizeof *dims * (size_t)ndim));
}

/* Sets the result's strides if all operands have its shape: contiguous, channels last, or the strides that all operands
 * share. Returns false otherwise. */
static bool
common_strides(int ndim, const int64_t *dims, int n, RtTensor *const *t, int64_t *strides)
{
	bool contiguous = true, last = true, shared = true;

	for (int i = 0; i < n; i++) {
		if (!has_dims(t[i], ndim, dims))
			return false;
		contiguous &= rt_is_contiguous(t[i]);
		last &= ndim == 4 && rt_is_channels_last(t[i]);
		shared &= rt_is_dense(t[i]) &&
			!memcmp(t[i]->strides, t[0]->strides, sizeof *strides * (size_t)ndim);
	}
	if (contiguous)
		rt_contiguous_strides(ndim, dims, strides);
	else if (last)
		rt_channels_last_strides(ndim, dims, strides);
	else if (shared)
		memcpy(strides, t[0]->strides, sizeof *strides * (size_t)ndim);
	return contiguous || last || shared;
}

void
rt_result_strides(int ndim, const int64_t *dims, int n, RtTensor *const *operands, int64_t *strides)
{
	enum { ROOM = 8 };    /* largest number of operands considered; no operator has more */
	int64_t all[ROOM * RT_MAX_RANK], step = 1;
	int perm[RT_MAX_RANK], from, used = n < ROOM ? n : ROOM;
	bool sorted = true;

	if (!n || common_strides(ndim, dims, n, operands, strides)) {
		if (!n)
			rt_contiguous_strides(ndim, dims, strides);
		return;
	}
	memset(all, 0, sizeof *all * (size_t)(used * ndim));
	for (int k = 0; k < used; k++) {
		from = ndim - operands[k]->ndim;
		for (int i = 0; i < operands[k]->ndim; i++)
			if (operands[k]->dims[i] != 1 || dims[from + i] == 1)
				all[k * ndim + from + i] = operands[k]->strides[i];
	}
	sort_dims(ndim, dims, used, all, perm);
	for (int i = 0; i < ndim; i++)
		sorted &= perm[i] == ndim - 1 - i;
	if (sorted) {
		rt_contiguous_strides(ndim, dims, strides);
		return;
	}
	for (int i = 0; i < ndim; i++) {
		strides[perm[i]] = step;
		step *= dims[perm[i]];
	}
}

bool
rt_overlaps_itself(const RtTensor *t)
{
	bool zero = false;

	for (int i = 0; i < t->ndim; i++) {
		if (!t->dims[i])
			return false;
		zero |= t->dims[i] > 1 && !t->strides[i];
	}
	return zero;
}

/* Returns the index of the last element relative to the first. */
static int64_t
extent(const RtTensor *t)
{
	int64_t n = 0;

	for (int i = 0; i < t->ndim; i++)
		n += (t->dims[i] - 1) * t->strides[i];
	return n;
}

bool
rt_may_overlap(const RtTensor *a, const RtTensor *b)
{
	const char *pa, *pb;

	if (!rt_numel(a) || !rt_numel(b))
		return false;
	if (a->storage->kind == RT_META || b->storage->kind == RT_META)
		return a->storage == b->storage;
	pa = rt_data(a);
	pb = rt_data(b);
	return (uintptr_t)pa < (uintptr_t)pb + (uint64_t)(extent(b) + 1) * rt_dtypes[b->dtype].bytes &&
		(uintptr_t)pb < (uintptr_t)pa + (uint64_t)(extent(a) + 1) * rt_dtypes[a->dtype].bytes;
}

typedef enum Lap { LAP_NONE, LAP_PARTLY, LAP_SAME, LAP_UNKNOWN } Lap;

/* Returns the address of a tensor's first byte. Without data, the offset in its storage. */
static uintptr_t
first_byte(const RtTensor *t)
{
	return t->storage->kind == RT_META ? (uintptr_t)(t->offset * rt_dtypes[t->dtype].bytes) : (uintptr_t)rt_data(t);
}

/* Whether two constants share memory only because their bytes are equal. A write to one of them gives it a private
 * copy. */
static bool
is_only_equal(const RtStorage *a, const RtStorage *b)
{
	return a != b && a->kind == RT_BORROWED && b->kind == RT_BORROWED && a->readonly && b->readonly;
}

/* Classifies how two tensors overlap, as ATen does. LAP_UNKNOWN (ATen: "too hard") unless both are dense. */
static Lap
lap(const RtTensor *a, const RtTensor *b)
{
	const bool meta = a->storage->kind == RT_META || b->storage->kind == RT_META;
	uintptr_t at, bt, aend, bend;

	if (a == b)
		return LAP_SAME;
	if (!rt_numel(a) || !rt_numel(b))
		return LAP_NONE;
	if (!rt_is_dense(a) || !rt_is_dense(b))
		return LAP_UNKNOWN;
	if ((meta && a->storage != b->storage) || is_only_equal(a->storage, b->storage))
		return LAP_NONE;
	at = first_byte(a), aend = at + (uintptr_t)(rt_numel(a) * rt_dtypes[a->dtype].bytes);
	bt = first_byte(b), bend = bt + (uintptr_t)(rt_numel(b) * rt_dtypes[b->dtype].bytes);
	if (at == bt && aend == bend)
		return a->ndim == b->ndim && !memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides) ?
		       LAP_SAME : LAP_PARTLY;
	return at < bend && bt < aend ? LAP_PARTLY : LAP_NONE;
}

static int
raise_overlap(RtCx *cx, const char *what)
{
	return rt_raise(cx, "unsupported operation: %s a single memory location. Please clone() the tensor before "
			"performing the operation.", what);
}

#define SHARED "some elements of the input tensor and the written-to tensor refer to"

int
rt_check_itself(RtCx *cx, const RtTensor *to)
{
	return rt_overlaps_itself(to) ? raise_overlap(cx, "more than one element of the written-to tensor refers to")
				      : RT_OK;
}

int
rt_check_overlap(RtCx *cx, const RtTensor *to, const RtTensor *from)
{
	return lap(to, from) == LAP_PARTLY ? raise_overlap(cx, SHARED) : RT_OK;
}

int
rt_check_apart(RtCx *cx, const RtTensor *to, const RtTensor *from)
{
	const Lap l = lap(to, from);

	return l == LAP_PARTLY || l == LAP_SAME ? raise_overlap(cx, SHARED) : RT_OK;
}

static int
bad_dims(RtCx *cx, const char *what, int ndim, const int64_t *dims)
{
	Buf b = { 0 };

	buf_ints(&b, ndim, dims);
	rt_raise(cx, "%s%s", what, b.at);
	buf_free(&b);
	return RT_ERROR;
}

/* Checks sizes and strides. Sets *span to the number of elements from the first to the end of the last. */
static int
measure(RtCx *cx, RtDtype dtype, const RtGeometry *g, int64_t *span)
{
	int64_t numel = 1, step, bytes;
	bool empty = false, ok = true;
	char text[80];

	if (g->ndim > RT_MAX_RANK)
		return rt_raise(cx, "tensors have at most %d dimensions here, not %d", RT_MAX_RANK, g->ndim);
	if (dtype == RT_NDTYPE)
		return rt_raise(cx, "unknown dtype");
	if (rt_dtypes[dtype].category == '?')
		return rt_lacks(cx, "tensors of %s", rt_dtypes[dtype].torch);
	for (int i = 0; i < g->ndim; i++) {
		if (g->dims[i] < 0) {
			snprintf(text, sizeof text, "Trying to create tensor with negative dimension %lld: ",
				(long long)g->dims[i]);
			return bad_dims(cx, text, g->ndim, g->dims);
		}
		if (g->strides && g->strides[i] < 0)
			return bad_dims(cx, "as_strided: Negative strides are not supported at the moment, got "
				"strides: ", g->ndim, g->strides);
		empty |= g->dims[i] == 0;
	}
	*span = 0;
	if (empty)
		return RT_OK;
	for (int i = 0; ok && i < g->ndim; i++)
		ok = size_mul(numel, g->dims[i], &numel);
	*span = numel;
	if (g->strides) {
		*span = 1;
		for (int i = 0; ok && i < g->ndim; i++)
			ok = size_mul(g->dims[i] - 1, g->strides[i], &step) && size_add(*span, step, span);
	}
	if (!ok || !size_mul(*span, rt_dtypes[dtype].bytes, &bytes) || !size_mul(numel, rt_dtypes[dtype].bytes, &bytes))
		return bad_dims(cx, "Storage size calculation overflowed with sizes=", g->ndim, g->dims);
	return RT_OK;
}

/* Checks that a geometry with strides is inside the storage. */
static int
check_fits(RtCx *cx, const RtStorage *s, RtDtype dtype, const RtGeometry *g)
{
	int64_t span, last, bytes, size = rt_dtypes[dtype].bytes;
	Buf b = { 0 };

	if (measure(cx, dtype, g, &span))
		return RT_ERROR;
	if (g->offset < 0)
		return rt_raise(cx, "Tensor: invalid storage offset %lld", (long long)g->offset);
	if (!span)
		return RT_OK;
	if (!size_add(span, g->offset, &last) || !size_mul(last, size, &bytes))
		bytes = INT64_MAX;
	if (bytes <= s->bytes)
		return RT_OK;
	buf_puts(&b, "setStorage: sizes ");
	buf_ints(&b, g->ndim, g->dims);
	buf_puts(&b, ", strides ");
	buf_ints(&b, g->ndim, g->strides);
	buf_printf(&b, ", storage offset %lld, and itemsize %lld requiring a storage size of %lld are out of bounds "
		"for storage of size %lld", (long long)g->offset, (long long)size, (long long)bytes,
		(long long)s->bytes);
	rt_raise(cx, "%s", b.at);
	buf_free(&b);
	return RT_ERROR;
}

/* ---- making tensors --------------------------------------------------------------------------------------- */

/* Makes a tensor without checking its geometry. Takes the storage, even on failure. */
static RtTensor *
tensor_make(RtCx *cx, RtStorage *s, RtDtype dtype, const RtGeometry *g)
{
	int room = g->ndim < 4 ? 4 : g->ndim;
	RtTensor *t = s ? rt_mem((int64_t)sizeof *t + (int64_t)sizeof *t->geom * 2 * room) : 0;

	if (!t) {
		if (s)
			rt_raise(cx, "out of memory");
		rt_storage_release(s);
		return 0;
	}
	*t = (RtTensor){ .h = { 1 }, .dtype = (uint8_t)dtype, .ndim = (uint8_t)g->ndim, .room = (uint16_t)room,
		.offset = g->offset, .storage = s };
	t->dims = t->geom;
	t->strides = t->geom + room;
	if (g->ndim)
		memcpy(t->dims, g->dims, sizeof *g->dims * (size_t)g->ndim);
	if (g->strides && g->ndim)
		memcpy(t->strides, g->strides, sizeof *g->strides * (size_t)g->ndim);
	else
		rt_contiguous_strides(g->ndim, g->dims, t->strides);
	return t;
}

RtTensor *
rt_tensor_new(RtCx *cx, RtDtype dtype, int ndim, const int64_t *dims)
{
	return rt_tensor_strided(cx, dtype, ndim, dims, 0);
}

RtTensor *
rt_tensor_strided(RtCx *cx, RtDtype dtype, int ndim, const int64_t *dims, const int64_t *strides)
{
	const RtGeometry g = { ndim, dims, strides, 0 };
	int64_t span;

	if (measure(cx, dtype, &g, &span))
		return 0;
	return tensor_make(cx, rt_storage_new(cx, span * rt_dtypes[dtype].bytes), dtype, &g);
}

RtTensor *
rt_tensor_over(RtCx *cx, RtStorage *s, RtDtype dtype, const RtGeometry *g)
{
	int64_t own[RT_MAX_RANK];
	RtGeometry contiguous;

	if (!g->strides && g->ndim <= RT_MAX_RANK) {
		rt_contiguous_strides(g->ndim, g->dims, own);
		contiguous = (RtGeometry){ g->ndim, g->dims, own, g->offset };
		g = &contiguous;
	}
	if (check_fits(cx, s, dtype, g))
		return 0;
	rt_count_up(&s->h);
	return tensor_make(cx, s, dtype, g);
}

static void
quant_release(RtQuant *q)
{
	if (!q || !rt_count_down(&q->h))
		return;
	rt_tensor_release(q->scales);
	rt_tensor_release(q->zeros);
	rt_mem_back(q);
}

void
rt_tensor_share_quant(RtTensor *t, const RtTensor *of)
{
	RtQuant *const old = t->quant;

	if ((t->quant = of->quant))
		rt_count_up(&t->quant->h);
	quant_release(old);
}

RtTensor *
rt_tensor_view(RtCx *cx, const RtTensor *base, int ndim, const int64_t *dims, const int64_t *strides, int64_t offset)
{
	RtTensor *t = rt_tensor_over(cx, base->storage, base->dtype, &(RtGeometry){ ndim, dims, strides, offset });

	if (!t)
		return 0;
	t->flags = base->flags & (uint8_t)~(RT_WRAPPED | RT_PARAMETER);
	t->layout = base->layout;
	rt_tensor_share_quant(t, base);
	return t;
}

RtTensor *
rt_tensor_borrow(RtCx *cx, RtDtype dtype, int ndim, const int64_t *dims, const void *data, bool readonly)
{
	const RtGeometry g = { ndim, dims, 0, 0 };
	int64_t span;

	if (measure(cx, dtype, &g, &span))
		return 0;
	return tensor_make(cx, rt_storage_over(cx, data, span * rt_dtypes[dtype].bytes, readonly), dtype, &g);
}

RtTensor *
rt_tensor_retain(RtTensor *t)
{
	if (t)
		rt_count_up(&t->h);
	return t;
}

void
rt_tensor_release(RtTensor *t)
{
	if (!t || !rt_count_down(&t->h))
		return;
	rt_storage_release(t->storage);
	quant_release(t->quant);
	rt_mem_back(t->more);
	rt_mem_back(t);
}

/* ---- changing tensors ---------------------------------------------------------------------------------------- */

static int
grow_room(RtCx *cx, RtTensor *t, int ndim)
{
	int64_t *more;

	if (ndim <= t->room)
		return RT_OK;
	if (!(more = rt_mem((int64_t)sizeof *more * 2 * ndim)))
		return rt_raise(cx, "out of memory");
	rt_mem_back(t->more);
	t->more = t->dims = more;
	t->strides = more + ndim;
	t->room = (uint16_t)ndim;
	return RT_OK;
}

int
rt_tensor_set_geometry(RtCx *cx, RtTensor *t, int ndim, const int64_t *dims, const int64_t *strides, int64_t offset)
{
	int64_t d[RT_MAX_RANK] = { 0 }, s[RT_MAX_RANK] = { 0 };    /* copies, because dims may be the tensor's own */

	if (ndim > RT_MAX_RANK)
		return rt_raise(cx, "tensors have at most %d dimensions here, not %d", RT_MAX_RANK, ndim);
	for (int i = 0; i < ndim; i++)
		d[i] = dims[i];
	if (strides)
		for (int i = 0; i < ndim; i++)
			s[i] = strides[i];
	else
		rt_contiguous_strides(ndim, d, s);
	if (check_fits(cx, t->storage, (RtDtype)t->dtype, &(RtGeometry){ ndim, d, s, offset }) ||
	    grow_room(cx, t, ndim))
		return RT_ERROR;
	for (int i = 0; i < ndim; i++) {
		t->dims[i] = d[i];
		t->strides[i] = s[i];
	}
	t->ndim = (uint8_t)ndim;
	t->offset = offset;
	return RT_OK;
}

int
rt_tensor_set_storage(RtCx *cx, RtTensor *t, RtStorage *s)
{
	(void)cx;
	rt_count_up(&s->h);
	rt_storage_release(t->storage);
	t->storage = s;
	return RT_OK;
}

int
rt_tensor_resize(RtCx *cx, RtTensor *t, int ndim, const int64_t *dims)
{
	int64_t span, last, bytes;

	if (measure(cx, (RtDtype)t->dtype, &(RtGeometry){ ndim, dims, 0, 0 }, &span))
		return RT_ERROR;
	if (!size_add(span, t->offset, &last) || !size_mul(last, rt_dtypes[t->dtype].bytes, &bytes))
		return bad_dims(cx, "Storage size calculation overflowed with sizes=", ndim, dims);
	if (span && bytes > t->storage->bytes && storage_move(cx, t->storage, bytes))
		return RT_ERROR;
	return rt_tensor_set_geometry(cx, t, ndim, dims, 0, t->offset);
}
