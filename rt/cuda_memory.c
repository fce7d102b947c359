/*
 * Device memory, and which copy of a tensor is newer.
 *
 * An RtCopy is device memory that mirrors bytes of the host. A buffer of the arena has its place in the device's arena,
 * and an RtCopy for the duration of the call. Any other tensor (argument, result, state) has an RtCopy in the context's
 * table, which is found by its address. If the caller does not get the tensor, its RtCopy lives as long as its storage,
 * so state stays on the device.
 *
 * Kernels make a range of bytes newer on the device. The range is fetched when the host reads the buffer, or at the end
 * of the call if it belongs to an argument or a result. Bytes that the host may have written are sent again before a
 * kernel reads them.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

int
rt_cuda_failed(RtCx *cx, const RtCuda *c, int code, const char *doing)
{
	const char *text = NULL;

	if (c->cuGetErrorString)
		c->cuGetErrorString(code, &text);
	return rt_raise(cx, "CUDA error: %s, when asked to %s", text ? text : "unknown", doing);
}

int
rt_cuda_enter(RtCx *cx)
{
	const RtCuda *c = cx->cuda;

	RT_CUDA_TRY(cx, c, cuCtxPushCurrent_v2(c->context), "make its context current");
	return RT_OK;
}

void
rt_cuda_exit(const RtCuda *c)
{
	void *context;

	c->cuCtxPopCurrent_v2(&context);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Sets *at to a free block that is not much too large, or to a new one. */
static int
take_block(RtCx *cx, RtCuda *c, int64_t bytes, uint64_t *at)
{
	RtCudaBlock *more, *b;

	for (int i = 0; i < c->nblock; i++)
		if (!c->block[i].used && c->block[i].bytes >= bytes && c->block[i].bytes / 2 <= bytes) {
			c->block[i].used = true;
			*at = c->block[i].at;
			return RT_OK;
		}
	if (!(more = realloc(c->block, ((size_t)c->nblock + 1) * sizeof *more)))
		return rt_raise(cx, "out of memory");
	c->block = more;
	b = &c->block[c->nblock];
	RT_CUDA_TRY(cx, c, cuMemAlloc_v2(&b->at, (size_t)bytes + 1), "allocate memory");
	b->bytes = bytes;
	b->used = true;
	*at = b->at;
	c->nblock++;
	return RT_OK;
}

static void
give_back(RtCuda *c, uint64_t at)
{
	for (int i = 0; i < c->nblock; i++)
		if (c->block[i].at == at)
			c->block[i].used = false;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static bool
is_newer(const RtCopy *m)
{
	return m->from < m->to;
}

void
rt_cuda_newer(RtCopy *m, int64_t from, int64_t to)
{
	if (from >= to)
		return;
	m->from = is_newer(m) && m->from < from ? m->from : from;
	m->to = is_newer(m) && m->to > to ? m->to : to;
	m->there = true;
}

int
rt_cuda_send(RtCx *cx, RtCopy *m)
{
	RtCuda *c = cx->cuda;

	if (!m->there && m->bytes)
		RT_CUDA_TRY(cx, c, cuMemcpyHtoDAsync_v2(m->device, m->host, (size_t)m->bytes, c->stream),
			    "copy to the device");
	c->sent |= !m->there;
	c->busy |= !m->there;
	m->there = true;
	return RT_OK;
}

/* Begins to copy newer bytes to the host. Sets *wait if the stream must be waited for. */
static int
begin_fetch(RtCx *cx, RtCopy *m, bool *wait)
{
	const RtCuda *c = cx->cuda;

	if (!is_newer(m))
		return RT_OK;
	if (m->storage && rt_refs(&m->storage->h) == 1) {        /* nobody else can read it */
		m->from = m->to = 0;
		return RT_OK;
	}
	RT_CUDA_TRY(cx, c, cuMemcpyDtoHAsync_v2(m->host + m->from, m->device + (uint64_t)m->from,
						(size_t)(m->to - m->from), c->stream), "copy to the host");
	m->from = m->to = 0;
	*wait = true;
	return RT_OK;
}

int
rt_cuda_wait(RtCx *cx)
{
	RtCuda *c = cx->cuda;
	static const int none;

	if (c->doubt)
		RT_CUDA_TRY(cx, c, cuMemcpyDtoHAsync_v2(&c->found, c->wrong, sizeof c->found, c->stream),
			    "copy to the host");
	RT_CUDA_TRY(cx, c, cuStreamSynchronize(c->stream), "wait for it");
	if (c->doubt && c->found)
		RT_CUDA_TRY(cx, c, cuMemcpyHtoDAsync_v2(c->wrong, &none, sizeof none, c->stream), "copy to the device");
	c->sent = c->busy = c->doubt = false;
	return RT_OK;
}

static int
end_fetch(RtCx *cx, bool wait)
{
	return wait ? rt_cuda_wait(cx) : RT_OK;
}

int
rt_cuda_fetch(RtCx *cx, RtCopy *m)
{
	bool wait = false;

	return begin_fetch(cx, m, &wait) || end_fetch(cx, wait);
}

void
rt_cuda_drop(RtCuda *c, int i)
{
	RtCopy *m = c->copy[i];

	give_back(c, m->device);
	if (m->storage)
		rt_storage_release(m->storage);
	free(m);
	c->copy[i] = c->copy[--c->ncopy];
}

static RtCopy *
find_copy(const RtCuda *c, const char *host, int64_t bytes)
{
	for (int i = 0; i < c->ncopy; i++)
		if (c->copy[i]->host == host && c->copy[i]->bytes == bytes)
			return c->copy[i];
	return NULL;
}

static bool
overlaps(const RtCopy *m, const char *host, int64_t bytes)
{
	return m->host < host + bytes && host < m->host + m->bytes;
}

int
rt_cuda_fetch_bytes(RtCx *cx, const char *host, int64_t bytes)
{
	RtCuda *c = cx->cuda;
	bool wait = false;

	for (int i = 0; i < c->ncopy; i++)
		if (overlaps(c->copy[i], host, bytes) && begin_fetch(cx, c->copy[i], &wait))
			return RT_ERROR;
	return end_fetch(cx, wait);
}

/* Prepares for a new copy of these bytes: fetches newer ones from all other copies that contain some of them, and marks
 * those copies as stale. */
static int
forget_others(RtCx *cx, const char *host, int64_t bytes)
{
	RtCuda *c = cx->cuda;

	if (rt_cuda_fetch_bytes(cx, host, bytes))
		return RT_ERROR;
	for (int i = 0; i < c->ncopy; i++)
		if (overlaps(c->copy[i], host, bytes))
			c->copy[i]->there = false;
	return RT_OK;
}

/* Returns the storage of the frame's tensor i. Null if the tensor is an argument, or does not fill its storage. */
static RtStorage *
storage_of(const RtCudaFrame *f, int i, const char *host)
{
	const int slot = f->place[i].slot;
	RtStorage *s = slot >= 0 && f->v[slot].tag == RT_TENSOR ? f->v[slot].u.t->storage : NULL;

	return s && s->data == host && s->bytes >= f->place[i].bytes ? s : NULL;
}

/* Makes room in the table and returns a copy without device memory. Null if an error was raised. */
static RtCopy *
new_copy(RtCx *cx, RtStorage *storage, char *host, int64_t bytes)
{
	RtCuda *c = cx->cuda;
	RtCopy **more = realloc(c->copy, ((size_t)c->ncopy + 1) * sizeof *more);
	RtCopy *m = more ? calloc(1, sizeof *m) : NULL;

	if (more)
		c->copy = more;
	if (m)
		*m = (RtCopy){ .storage = storage, .host = host, .bytes = bytes, .result = -1 };
	else
		rt_raise(cx, "out of memory");
	return m;
}

static RtCopy *
put_copy(RtCuda *c, RtCopy *m)
{
	if (m->storage)
		rt_count_up(&m->storage->h);
	return c->copy[c->ncopy++] = m;
}

RtCopy *
rt_cuda_add(RtCx *cx, RtStorage *storage, char *host, int64_t bytes)
{
	RtCopy *m = new_copy(cx, storage, host, bytes);

	if (!m || forget_others(cx, host, bytes) || take_block(cx, cx->cuda, bytes, &m->device)) {
		free(m);
		return NULL;
	}
	return put_copy(cx->cuda, m);
}

RtCopy *
rt_cuda_lend(RtCx *cx, RtStorage *storage, char *host, int64_t bytes, uint64_t device)
{
	RtCopy *m = new_copy(cx, storage, host, bytes);

	if (!m)
		return NULL;
	m->device = device;
	m->lent = true;
	return put_copy(cx->cuda, m);
}

int
rt_cuda_own(RtCx *cx, RtCopy *m)
{
	RtCuda *c = cx->cuda;
	uint64_t at;

	if (take_block(cx, c, m->bytes, &at))
		return RT_ERROR;
	RT_CUDA_TRY(cx, c, cuMemcpyDtoDAsync_v2(at, m->device, (size_t)m->bytes, c->stream), "copy on the device");
	c->busy = true;
	m->device = at;
	m->lent = false;
	m->result = -1;
	return RT_OK;
}

uint64_t
rt_cuda_detach(RtCuda *c, const RtCopy *m)
{
	const uint64_t at = m->device;
	int i = 0;

	for (int k = 0; k < c->nblock; k++)
		if (c->block[k].at == at)
			c->block[k] = c->block[--c->nblock];
	while (c->copy[i] != m)
		i++;
	rt_cuda_drop(c, i);
	return at;
}

/* Returns the result that fills the frame's buffer i, if its kernels may write to the caller's memory. Sets *device to
 * that memory. Null if there is none. */
static const RtCudaResult *
find_room(const RtCudaFrame *f, int i, uint64_t *device)
{
	const RtCuda *c = f->cx->cuda;

	for (int k = 0; c->room && k < f->nresult; k++)
		if (f->result[k].buffer == i && (*device = c->room(c, &f->result[k], f->place[i].bytes)))
			return &f->result[k];
	return NULL;
}

/* Adds a copy of the frame's buffer i to the table and returns it. If the buffer is a result for which the caller gave
 * device memory, the copy is in that memory. */
static RtCopy *
add_buffer(RtCudaFrame *f, int i, char *host)
{
	const int64_t bytes = f->place[i].bytes;
	RtStorage *storage = storage_of(f, i, host);
	uint64_t device;
	const RtCudaResult *r = storage ? find_room(f, i, &device) : NULL;
	RtCopy *m = !r ? rt_cuda_add(f->cx, storage, host, bytes) :
		forget_others(f->cx, host, bytes) ? NULL : rt_cuda_lend(f->cx, storage, host, bytes, device);

	if (m && r)
		m->result = r->index;
	if (m)
		m->stays = storage && f->place[i].stays;
	return m;
}

/* Returns the constant that contains the address. Null if there is none. */
static const RtCudaConstant *
find_constant(const RtCuda *c, const char *host)
{
	int low = 0, high = c->nconstant;

	while (low < high) {
		const int middle = (low + high) / 2;

		if (c->constant[middle].host <= host)
			low = middle + 1;
		else
			high = middle;
	}
	return low && host < c->constant[low - 1].host + c->constant[low - 1].storage->bytes ? &c->constant[low - 1] :
	       NULL;
}

/* ---- mirrors of a frame ------------------------------------------------------------------------------------------ */

static void
unbind(RtMirror *m)
{
	if (m->copy)
		m->copy->users--;
	m->copy = NULL;
}

RtCopy *
rt_cuda_bind(RtCudaFrame *f, int i, char *host)
{
	RtCuda *c = f->cx->cuda;
	RtMirror *m = &f->mirror[i];
	const RtCudaConstant *constant;

	if (m->copy && m->copy->host == host)
		return m->copy;
	unbind(m);
	if ((constant = find_constant(c, host))) {
		m->own = (RtCopy){ .host = host, .bytes = f->place[i].bytes, .there = true, .users = 1,
			.device = constant->at + (uint64_t)(host - constant->host) };
		return m->copy = &m->own;
	}
	m->copy = find_copy(c, host, f->place[i].bytes);
	if (m->copy && f->place[i].slot < 0 && !is_newer(m->copy) && !m->copy->lent)
		m->copy->there = false;          /* the caller may have written to its argument since the last call */
	if (!m->copy)
		m->copy = add_buffer(f, i, host);
	if (m->copy)
		m->copy->users++;
	return m->copy;
}

char *
rt_cuda_home(RtCudaFrame *f, int i, char *host)
{
	RtMirror *m = &f->mirror[i];

	if (m->copy && m->copy->host == host) {
		rt_cuda_fetch(f->cx, m->copy);
		return host;
	}
	unbind(m);
	rt_cuda_fetch_bytes(f->cx, host, f->place[i].bytes);
	if ((m->copy = find_copy(f->cx->cuda, host, f->place[i].bytes)))
		m->copy->users++;
	return host;
}

void
rt_cuda_written(RtCudaFrame *f, int i)
{
	RtMirror *m = &f->mirror[i];

	if (m->copy && !is_newer(m->copy))
		m->copy->there = false;
	if (f->place[i].offset < 0)
		unbind(m);
}

/* ---- everything that the host may read or write ------------------------------------------------------------------ */

static int
fetch_table(RtCx *cx, bool *wait)
{
	RtCuda *c = cx->cuda;

	for (int i = 0; i < c->ncopy; i++)
		if (begin_fetch(cx, c->copy[i], wait))
			return RT_ERROR;
	return RT_OK;
}

int
rt_cuda_settle(RtCx *cx)
{
	bool wait = false;
	int status;

	if (rt_cuda_enter(cx))
		return RT_ERROR;
	status = fetch_table(cx, &wait) || end_fetch(cx, wait);
	rt_cuda_exit(cx->cuda);
	return status;
}

void
rt_cuda_all_written(RtCx *cx)
{
	RtCuda *c = cx->cuda;

	for (int i = 0; i < c->ncopy; i++)
		if (!is_newer(c->copy[i]))
			c->copy[i]->there = false;
}

struct RtCuda *
rt_cuda_leave(RtCx *cx)
{
	struct RtCuda *c = cx->cuda;

	if (c) {
		rt_cuda_settle(cx);
		rt_cuda_all_written(cx);
	}
	cx->cuda = NULL;
	return c;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* Whether later calls do not need the copy. This holds for an argument, for a result that was fetched, and for a
 * storage that was moved or that nobody else refers to. */
static bool
is_unused(const RtCopy *m)
{
	if (m->users || m->lent)
		return false;
	return !m->storage || rt_refs(&m->storage->h) == 1 || m->storage->data != m->host ||
	       (!m->stays && !is_newer(m));
}

static void
drop_unused(RtCuda *c)
{
	for (int i = c->ncopy; i-- > 0;)
		if (is_unused(c->copy[i]))
			rt_cuda_drop(c, i);
}

int
rt_cuda_begin(RtCudaFrame *f, char *arena, int64_t bytes)
{
	RtCuda *c = f->cx->cuda;

	f->base = 0;
	memset(f->mirror, 0, ((size_t)f->n + 1) * sizeof *f->mirror);
	drop_unused(c);
	if (rt_cuda_enter(f->cx))
		return RT_ERROR;
	if (take_block(f->cx, c, bytes, &f->base)) {
		rt_cuda_exit(c);
		return RT_ERROR;
	}
	for (int i = 0; i < f->n; i++)
		if (f->place[i].offset >= 0) {
			f->mirror[i].own = (RtCopy){ .host = arena + f->place[i].offset, .bytes = f->place[i].bytes,
				.device = f->base + (uint64_t)f->place[i].offset, .users = 1 };
			f->mirror[i].copy = &f->mirror[i].own;
		}
	return RT_OK;
}

/* Whether the copy belongs to an argument or a result that the caller reads on the host when the call ends. */
static bool
is_awaited(const RtCuda *c, const RtCopy *m)
{
	return !m->stays && !m->lent && !(c->lazy && m->storage);
}

int
rt_cuda_finish(RtCudaFrame *f, bool all)
{
	const RtCuda *c = f->cx->cuda;
	bool wait = false;

	if (f->cx->status || (all && !c->lazy && fetch_table(f->cx, &wait)))
		return RT_ERROR;
	for (int i = 0; i < f->n; i++)
		if (f->place[i].offset < 0 && f->mirror[i].copy && is_awaited(c, f->mirror[i].copy) &&
		    begin_fetch(f->cx, f->mirror[i].copy, &wait))
			return RT_ERROR;
	return end_fetch(f->cx, wait);
}

/* Fetches newer bytes of all copies after an error, so that what was written before it stays written. Resets the flag
 * of indices out of range. Ignores errors of the driver. */
static void
save_table(RtCuda *c)
{
	static const int none;

	c->cuMemcpyHtoDAsync_v2(c->wrong, &none, sizeof none, c->stream);
	for (int i = 0; i < c->ncopy; i++) {
		RtCopy *m = c->copy[i];

		if (m->lent)
			continue;
		if (is_newer(m))
			c->cuMemcpyDtoHAsync_v2(m->host + m->from, m->device + (uint64_t)m->from,
						(size_t)(m->to - m->from), c->stream);
		m->from = m->to = 0;
		m->there = false;
	}
	c->cuStreamSynchronize(c->stream);
	c->doubt = false;
	c->found = 0;
}

void
rt_cuda_end(RtCudaFrame *f)
{
	RtCuda *c = f->cx->cuda;

	if (f->cx->status)
		save_table(c);
	for (int i = 0; i < f->n; i++)
		unbind(&f->mirror[i]);
	drop_unused(c);
	give_back(c, f->base);
	rt_cuda_exit(c);
}

void
rt_cuda_memory_free(RtCuda *c)
{
	while (c->ncopy)
		rt_cuda_drop(c, c->ncopy - 1);
	for (int i = 0; i < c->nblock; i++)
		c->cuMemFree_v2(c->block[i].at);
	free(c->copy);
	free(c->block);
}
