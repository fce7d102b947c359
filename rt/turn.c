/* rt/turn.c - begins and ends a call of an instance, which serves one call at a time */
#include "instance.h"

#include <pthread.h>
#include <string.h>

#if defined __GNUC__ && !defined __TINYC__
static int  exchange(int *at, int v) { return __atomic_exchange_n(at, v, __ATOMIC_ACQUIRE); }
static void store_release(int *at, int v) { __atomic_store_n(at, v, __ATOMIC_RELEASE); }
#else
static int  exchange(int *at, int v) { const int was = *at; *at = v; return was; }
static void store_release(int *at, int v) { *at = v; }
#endif

/* Disables cancellation, and returns the previous state. A thread that is cancelled while it waits for others would
 * leave the instance busy. */
static int
keep_thread(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

bool
rt_door_enter(RtDoor *d)
{
	if (exchange(&d->busy, 1))
		return false;
	d->cancel = keep_thread();
	d->before = rt_mem_switch(d->mem);
	return true;
}

bool
rt_is_memory(const RtCx *cx)
{
	return !cx->cls && cx->message && (!strncmp(cx->message, "out of memory", 13) ||
					   !strncmp(cx->message, "DefaultCPUAllocator", 19));
}

int
rt_door_leave(RtDoor *d, int status)
{
	const int cancel = d->cancel;
	RtCx *cx = &d->cx;

	if (rt_mem_was_lost() || (status && rt_is_memory(cx)))
		status = DOOR_MEMORY;
	else if (status && cx->status == RT_LACKS)
		status = DOOR_UNSUPPORTED;
	else if (status == DOOR_RAISED && cx->cls && !strcmp(cx->cls, "GuardMiss"))
		status = DOOR_GUARD;
	d->error.n = 0;
	if (status == DOOR_RAISED)
		buf_printf(&d->error, "%s%s: ", cx->trace ? cx->trace : "", cx->cls ? cx->cls : "RuntimeError");
	if (status || d->error.at)
		buf_puts(&d->error, !status ? "" : cx->message ? cx->message : "out of memory");
	rt_clear_error(cx);
	rt_mem_spares();
	d->mem = rt_mem_switch(d->before);
	store_release(&d->busy, 0);
	pthread_setcancelstate(cancel, NULL);
	return status;
}

int
rt_keep_apart(RtCx *cx, RtTensor *t)
{
	RtStorage *s = t->storage;
	char *data;

	if (s->kind != RT_BORROWED || (rt_refs(&s->h) == 1 && rt_refs(&t->h) == 1))
		return RT_OK;
	if (!(data = rt_mem_line(s->bytes))) {
		rt_raise(cx, "out of memory: an argument of %lld bytes is kept by the model", (long long)s->bytes);
		s->bytes = 0;
		s->data = (char *)(uintptr_t)"";
		return RT_ERROR;
	}
	memcpy(data, s->data, (size_t)s->bytes);
	s->data = data;
	s->kind = RT_HEAP;
	return RT_OK;
}
