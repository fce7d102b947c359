/* rt/cuda_door.c - arguments and results of a library in the caller's device memory, without copies
 *
 * A tensor on the device also has host memory, which is not used until the host computes with it. Its RtCopy marks the
 * caller's device memory as newer. Kernels find this copy like any other. If the host writes the tensor, the bytes are
 * sent to the caller's memory when the call ends. */
#include "base.h"
#include "cuda.h"
#include "door.h"
#include "host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { DL_CUDA = 2 };

static int
index_of(const RtCx *cx)
{
	const RtCuda *c = cx->cuda;

	return c->index;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static bool
device_holds(const RtCopy *m, uint64_t at, int64_t bytes)
{
	return at >= m->device && at + (uint64_t)bytes <= m->device + (uint64_t)m->bytes;
}

static RtStorage *
over(RtCx *cx, uint64_t at, int64_t bytes, int64_t *offset)
{
	RtCuda *c = cx->cuda;
	RtCopy *m = NULL;
	RtStorage *s;

	for (int i = 0; i < c->ncopy; i++) {
		m = c->copy[i];

		if (m->lent || !m->storage || !device_holds(m, at, bytes))
			continue;
		/* It is a result of the previous call, which the caller may have written to. */
		rt_cuda_newer(m, 0, m->bytes);
		rt_count_up(&m->storage->h);
		*offset = (int64_t)(at - m->device) + (m->host - m->storage->data);
		return m->storage;
	}
	*offset = 0;
	s = rt_storage_new(cx, bytes);
	if (s && (m = rt_cuda_lend(cx, s, s->data, bytes, at))) {
		rt_cuda_newer(m, 0, bytes);
		return s;
	}
	rt_storage_release(s);
	return NULL;
}

/* Returns the device address of the storage's first byte, computed from one of its copies. */
static uint64_t
base_of(const RtCopy *m)
{
	return m->device - (uint64_t)(m->host - m->storage->data);
}

/* Moves copies and tensors from one storage to another one, which has `shift` more bytes at its beginning. */
static int
move_storage(RtCx *cx, const RtArrays *given, RtStorage *from, RtStorage *to, int64_t shift)
{
	RtCuda *c = cx->cuda;
	char *const data = from->data;

	for (int i = 0; i < given->n; i++) {
		RtTensor *t = given->at[i].tensor;

		if (!t || t->storage != from)
			continue;
		if (shift % rt_dtypes[t->dtype].bytes)
			return rt_raise(cx, "'%s': the tensor overlaps another argument by a part of an element",
					given->at[i].key);
		t->offset += shift / rt_dtypes[t->dtype].bytes;
		t->storage = to;
		rt_count_up(&to->h);
		rt_storage_release(from);
	}
	for (int i = 0; i < c->ncopy; i++) {
		RtCopy *m = c->copy[i];

		if (m->storage != from)
			continue;
		m->host = to->data + (m->host - data) + shift;
		m->storage = to;
		rt_count_up(&to->h);
		rt_storage_release(from);
	}
	return RT_OK;
}

/* Lets two arguments that overlap on the device share one storage. */
static int
join_copies(RtCx *cx, const RtArrays *given, const RtCopy *a, const RtCopy *b)
{
	RtStorage *const x = a->storage, *const y = b->storage;
	const uint64_t at_x = base_of(a), at_y = base_of(b), at = at_x < at_y ? at_x : at_y;
	const uint64_t end_x = at_x + (uint64_t)x->bytes, end_y = at_y + (uint64_t)y->bytes;
	RtStorage *both = rt_storage_new(cx, (int64_t)((end_x > end_y ? end_x : end_y) - at));
	int status;

	if (!both)
		return RT_ERROR;
	rt_count_up(&x->h);
	rt_count_up(&y->h);
	status = move_storage(cx, given, x, both, (int64_t)(at_x - at)) ||
		 move_storage(cx, given, y, both, (int64_t)(at_y - at));
	rt_storage_release(x);
	rt_storage_release(y);
	rt_storage_release(both);
	return status;
}

/* ---- the caller's memory for results ----------------------------------------------------------------------------- */

static uint64_t
address_of(const RtDlTensor *t)
{
	return (uint64_t)(uintptr_t)t->data + t->byte_offset;
}

/* Whether the caller's tensor has this dtype and geometry. Strides along sizes of 1 are not compared. */
static bool
lies_as(const RtDlTensor *to, RtDtype dtype, int ndim, const int64_t *dims, const int64_t *strides)
{
	int64_t count = 1;

	if (!rt_dl_same_type(to->dtype, dtype) || to->ndim != ndim || (ndim && !to->shape))
		return false;
	for (int i = ndim - 1; i >= 0; i--) {
		const int64_t stride = to->strides ? to->strides[i] : count;

		if (to->shape[i] != dims[i] || (stride != strides[i] && dims[i] != 1))
			return false;
		count *= dims[i];
	}
	return true;
}

static bool
overlap(uint64_t a, int64_t na, uint64_t b, int64_t nb)
{
	return a < b + (uint64_t)nb && b < a + (uint64_t)na;
}

/* Whether the memory for result i overlaps neither the context's memory, nor arguments, nor memory for other
 * results. */
static bool
is_apart(const RtCuda *c, int i, uint64_t at, int64_t bytes)
{
	bool apart = true;
	int64_t n;

	for (int k = 0; k < c->nblock; k++)
		apart &= !overlap(at, bytes, c->block[k].at, c->block[k].bytes);
	for (int k = 0; k < c->ncopy; k++)
		apart &= !overlap(at, bytes, c->copy[k]->device, c->copy[k]->bytes);
	for (int k = 0; k < c->nout; k++)
		if (k != i && c->out[k].data && rt_dl_on_device(&c->out[k]))
			apart &= rt_dl_span(&c->out[k], &n) && !overlap(at, bytes, address_of(&c->out[k]), n);
	return apart;
}

/* The function RtCuda.room. The result must fill its buffer. */
static uint64_t
room(const RtCuda *c, const RtCudaResult *r, int64_t bytes)
{
	enum { ALIGNED = 16 };
	const RtDlTensor *to = r->index < c->nout ? &c->out[r->index] : NULL;
	int64_t count = 1, span;

	if (!to || !to->data || !rt_dl_on_device(to) || to->device.id != c->index || address_of(to) % ALIGNED ||
	    !lies_as(to, (RtDtype)r->dtype, r->ndim, r->geometry, r->geometry + r->ndim))
		return 0;
	for (int i = 0; i < r->ndim; i++)
		count *= r->geometry[i];
	return rt_dl_span(to, &span) && span == bytes && count * rt_dtypes[r->dtype].bytes == bytes &&
	       is_apart(c, r->index, address_of(to), bytes) ? address_of(to) : 0;
}

static int
references(const RtCuda *c, const RtStorage *s)
{
	int n = 0;

	for (int i = 0; i < c->ncopy; i++)
		n += c->copy[i]->storage == s;
	return n;
}

/* Whether the copy is in the memory that the caller gave for this result. */
static bool
is_delivered(const RtCuda *c, const RtArrays *results, const RtCopy *m)
{
	RtTensor *t = m->result < results->n ? results->at[m->result].tensor : NULL;

	return t && t->storage == m->storage && rt_data(t) == m->host && !(t->flags & RT_BITS) &&
	       lies_as(&c->out[m->result], (RtDtype)t->dtype, t->ndim, t->dims, t->strides);
}

static int
confirm(RtCx *cx, const RtArrays *results)
{
	RtCuda *c = cx->cuda;
	int status = RT_OK;

	if (rt_cuda_enter(cx))
		return RT_ERROR;
	for (int i = c->ncopy; i-- > 0 && !status;) {
		RtCopy *m = c->copy[i];

		if (m->result < 0 || is_delivered(c, results, m))
			continue;
		if (rt_refs(&m->storage->h) == references(c, m->storage))
			rt_cuda_drop(c, i);
		else
			status = rt_cuda_own(cx, m);
	}
	rt_cuda_exit(c);
	return status;
}

/* ---- the beginning of a call ------------------------------------------------------------------------------------- */

static int
begin(RtCx *cx, const RtArrays *given, bool lazy, const RtDlTensor *out, int nout)
{
	RtCuda *c = cx->cuda;

	c->lazy = lazy;
	c->out = out;
	c->nout = nout;
	c->room = room;
	for (int i = 1; i < c->ncopy; i++)
		for (int k = 0; k < i; k++) {
			const RtCopy *a = c->copy[i], *b = c->copy[k];

			if (a->lent && b->lent && a->storage != b->storage &&
			    a->device < b->device + (uint64_t)b->bytes && b->device < a->device + (uint64_t)a->bytes &&
			    join_copies(cx, given, a, b))
				return RT_ERROR;
		}
	return RT_OK;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static int64_t
bytes_of_span(const RtTensor *t)
{
	int64_t last = 0;

	for (int i = 0; i < t->ndim; i++) {
		if (!t->dims[i])
			return 0;
		last += (t->dims[i] - 1) * t->strides[i];
	}
	return (last + 1) * rt_dtypes[t->dtype].bytes;
}

/* Returns the copy of the tensor's bytes. Sends the bytes to the device if it does not have them. Null if an error was
 * raised. */
static RtCopy *
there(RtCx *cx, RtTensor *t)
{
	const RtCuda *c = cx->cuda;
	char *const data = rt_data(t);
	RtCopy *m = NULL;

	for (int i = 0; i < c->ncopy && !m; i++)
		if (c->copy[i]->host <= data && data + bytes_of_span(t) <= c->copy[i]->host + c->copy[i]->bytes)
			m = c->copy[i];
	if (!m)
		m = rt_cuda_add(cx, t->storage, t->storage->data, t->storage->bytes);
	if (m && !m->there && rt_cuda_fetch_bytes(cx, m->host, m->bytes))
		return NULL;
	return m && !rt_cuda_send(cx, m) ? m : NULL;
}

static int
fetch(RtCx *cx, const RtTensor *t)
{
	int status;

	if (rt_cuda_enter(cx))
		return RT_ERROR;
	status = rt_cuda_fetch_bytes(cx, t->storage->data, t->storage->bytes);
	rt_cuda_exit(cx->cuda);
	return status;
}

/* Returns the same copy, but in device memory that the context owns. */
static RtCopy *
there_apart(RtCx *cx, RtTensor *t)
{
	RtCopy *m = there(cx, t);

	return m && (!m->lent || !rt_cuda_own(cx, m)) ? m : NULL;
}

static int
show(RtCx *cx, RtTensor *t, RtDlTensor *dl)
{
	RtCopy *m;

	dl->device.kind = DL_CUDA;
	dl->device.id = index_of(cx);
	dl->data = NULL;
	if (!bytes_of_span(t))
		return RT_OK;
	if (rt_cuda_enter(cx))
		return RT_ERROR;
	if ((m = there_apart(cx, t))) {
		m->stays = m->storage != NULL;
		dl->data = (void *)(uintptr_t)(m->device + (uint64_t)(rt_data(t) - m->host));
	}
	rt_cuda_exit(cx->cuda);
	return m ? RT_OK : RT_ERROR;
}

/* Copies the elements in memory order. The copy is made on the device if the result is there, unless its kernels have
 * written to the caller's memory. */
static int
put_dense(RtCx *cx, RtTensor *from, uint64_t to)
{
	RtCuda *c = cx->cuda;
	const RtCopy *m = there(cx, from);
	const uint64_t at = m ? m->device + (uint64_t)(rt_data(from) - m->host) : 0;

	if (!m)
		return RT_ERROR;
	if (at != to)
		RT_CUDA_TRY(cx, c, cuMemcpyDtoDAsync_v2(to, at, (size_t)bytes_of_span(from), c->stream),
			    "copy on the device");
	c->busy = true;
	return RT_OK;
}

/* Copies the elements between any strides, on the host. */
static int
put_strided(RtCx *cx, RtTensor *from, RtTensor *to)
{
	RtCuda *c = cx->cuda;

	if (rt_cuda_fetch_bytes(cx, from->storage->data, from->storage->bytes) ||
	    rt_cuda_fetch_bytes(cx, to->storage->data, to->storage->bytes) || rt_copy_into(cx, to, from))
		return RT_ERROR;
	for (int i = 0; i < c->ncopy; i++)
		if (c->copy[i]->storage == to->storage)
			c->copy[i]->there = false;
	return RT_OK;
}

static int
put(RtCx *cx, RtTensor *from, RtTensor *to, const RtDlTensor *out)
{
	int status;

	if (!bytes_of_span(from))
		return RT_OK;
	if (rt_cuda_enter(cx))
		return RT_ERROR;
	status = rt_is_dense(from) && lies_as(out, (RtDtype)from->dtype, from->ndim, from->dims, from->strides) ?
		put_dense(cx, from, address_of(out)) : put_strided(cx, from, to);
	rt_cuda_exit(cx->cuda);
	return status;
}

/* ---- results that the caller owns -------------------------------------------------------------------------------- */

/* A result in device memory that outlives the instance. It holds the driver and the device's primary context. */
typedef struct Taken {
	RtDlManaged managed;
	RtCuda      driver;
	uint64_t    at;
	int64_t     sizes[2 * RT_MAX_RANK];
} Taken;

static void
free_taken(RtDlManaged *self)
{
	Taken *taken = self->context;
	const RtCuda *c = &taken->driver;

	if (!c->cuCtxPushCurrent_v2(c->context)) {
		c->cuMemFree_v2(taken->at);
		rt_cuda_exit(c);
	}
	c->cuDevicePrimaryCtxRelease_v2(c->device);
	if (c->library)
		dlclose(c->library);
	free(taken);
}

/* Whether only the copy refers to the device memory, and only the result to the tensor. */
static bool
is_only_user(const RtTensor *t, const RtCopy *m)
{
	return rt_refs(&t->h) == 1 && m->storage == t->storage && rt_refs(&m->storage->h) == 2;
}

/* Moves the copy's device memory to `taken` if nothing else uses it. Otherwise copies it. */
static int
take_memory(RtCx *cx, const RtTensor *t, RtCopy *m, Taken *taken)
{
	RtCuda *c = cx->cuda;
	const char *const host = m->host;
	void *context;

	if (is_only_user(t, m)) {
		taken->at = rt_cuda_detach(c, m);
	} else {
		RT_CUDA_TRY(cx, c, cuMemAlloc_v2(&taken->at, (size_t)m->bytes + 1), "allocate memory");
		RT_CUDA_TRY(cx, c, cuMemcpyDtoDAsync_v2(taken->at, m->device, (size_t)m->bytes, c->stream),
			    "copy on the device");
		c->busy = true;
	}
	taken->managed.tensor.data = (void *)(uintptr_t)(taken->at + (uint64_t)(rt_data(t) - host));
	RT_CUDA_TRY(cx, c, cuDevicePrimaryCtxRetain(&context, c->device), "retain its primary context");
	taken->driver.context = context;
	taken->driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	return RT_OK;
}

static RtDlManaged *
keep_copy(RtCx *cx, RtTensor *t)
{
	Taken *taken = calloc(1, sizeof *taken);
	RtDlTensor *dl = taken ? &taken->managed.tensor : NULL;
	RtCopy *m;
	int status = RT_ERROR;

	if (!taken) {
		rt_raise(cx, "out of memory");
		return NULL;
	}
	taken->managed.context = taken;
	taken->managed.deleter = free_taken;
	taken->driver = *(RtCuda *)cx->cuda;
	taken->driver.context = NULL;
	rt_dl_of_tensor(t, dl);
	dl->device.kind = DL_CUDA;
	dl->device.id = index_of(cx);
	dl->shape = memcpy(taken->sizes, t->dims, sizeof *t->dims * (size_t)t->ndim);
	dl->strides = memcpy(taken->sizes + t->ndim, t->strides, sizeof *t->strides * (size_t)t->ndim);
	if (!rt_cuda_enter(cx)) {
		status = (m = there_apart(cx, t)) ? take_memory(cx, t, m, taken) : RT_ERROR;
		if (status && taken->at)
			taken->driver.cuMemFree_v2(taken->at);
		rt_cuda_exit(cx->cuda);
	}
	if (!status)
		return &taken->managed;
	free(taken);
	return NULL;
}

/* ---- the end of a call ------------------------------------------------------------------------------------------- */

static bool
is_shared(const RtCuda *c, const RtCopy *m)
{
	for (int i = 0; i < c->ncopy; i++)
		if (c->copy[i] != m && c->copy[i]->storage == m->storage)
			return true;
	return false;
}

/* Ends the loan of copy i. Sends what the host wrote to the caller's memory. Copies the tensor if the model keeps
 * it. */
static int
return_lent(RtCx *cx, int i)
{
	RtCuda *c = cx->cuda;
	RtCopy *m = c->copy[i];
	const bool kept = rt_refs(&m->storage->h) > references(c, m->storage);
	int status = m->there ? RT_OK : rt_cuda_fetch_bytes(cx, m->host, m->bytes) || rt_cuda_send(cx, m);

	if (!status && kept && !is_shared(c, m)) {
		rt_cuda_newer(m, 0, m->bytes);
		if (!(status = rt_cuda_own(cx, m))) {
			m->stays = true;
			return RT_OK;
		}
	}
	if (kept)
		status |= rt_cuda_fetch(cx, m);
	rt_cuda_drop(c, i);
	return status;
}

static int
give_all_back(RtCx *cx)
{
	RtCuda *c = cx->cuda;
	int status = RT_OK;

	if (rt_cuda_enter(cx))
		return RT_ERROR;
	for (int i = c->ncopy; i-- > 0;)
		if (c->copy[i]->lent && return_lent(cx, i))
			status = RT_ERROR;
	c->lazy = false;
	c->out = NULL;
	c->nout = 0;
	c->room = NULL;
	if (c->sent || (c->busy && !c->foreign))
		status |= rt_cuda_wait(cx);
	rt_cuda_exit(c);
	return status;
}

/* Ends the call. If the call has raised an error, keeps that error. */
static int
end(RtCx *cx)
{
	RtError before;
	int status;

	if (!cx->status)
		return give_all_back(cx);
	before = rt_take_error(cx);
	status = give_all_back(cx);
	rt_restore_error(cx, before);
	return status;
}

const RtCudaDoor rt_cuda_door = { index_of, over, begin, confirm, fetch, show, put, keep_copy, end };
