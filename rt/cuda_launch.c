/*
 * Launches and copies of a specialization. All work is enqueued on one stream, in order. Only copies to the host wait.
 */
#include "cuda.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 256, MOST_ARGS = 64, MOST_ROWS = 65535, SIZES = 64 };     /* SIZES: CU_SIZES of ops/cutile.h */

/* Arguments of a launch: addresses, numbers and sizes, and the list of pointers to them that the driver takes. */
typedef struct Words {
	uint64_t address[MOST_ARGS];
	double   number[MOST_ARGS];
	int64_t  size[SIZES];
	void    *list[MOST_ARGS + 2];
} Words;

static int
prepare(RtCudaFrame *f, const RtCudaArg *a, uint64_t *address)
{
	RtCopy *m = rt_cuda_bind(f, a->m, a->host);

	if (!m || (a->use != RT_CUDA_FILL && rt_cuda_send(f->cx, m)))
		return RT_ERROR;
	*address = m->device + (uint64_t)a->at;
	return RT_OK;
}

static int
take_args(RtCudaFrame *f, const RtCudaArg *args, int n, Words *w)
{
	for (int i = 0; i < n; i++) {
		w->number[i] = args[i].number;
		w->list[i] = args[i].m >= 0 ? (void *)&w->address[i] : (void *)&w->number[i];
		if (args[i].m >= 0 && prepare(f, &args[i], &w->address[i]))
			return RT_ERROR;
	}
	return RT_OK;
}

bool
rt_cuda_index_failed(RtCudaFrame *f)
{
	RtCuda *c = f->cx->cuda;
	bool failed;

	if (c->doubt && rt_cuda_wait(f->cx))
		return true;
	failed = c->found;
	c->found = 0;
	return failed || f->cx->status;
}

static int
launch(RtCudaFrame *f, const RtCudaLaunch *l, const RtCudaArg *args)
{
	RtCx *cx = f->cx;
	RtCuda *c = cx->cuda;
	const char *name = cx->program->cuda->kernel[l->kernel];
	char doing[256];
	Words w;
	int code = 0;

	if (l->nargs > MOST_ARGS || l->x > INT32_MAX || l->y > MOST_ROWS || l->z > MOST_ROWS)
		return rt_raise(cx, "CUDA: the launch of %s is too large: %d arguments, %lld x %lld x %lld blocks",
				name, l->nargs, (long long)l->x, (long long)l->y, (long long)l->z);
	if (take_args(f, args, l->nargs, &w))
		return RT_ERROR;
	w.list[l->nargs] = &c->wrong;
	w.list[l->nargs + 1] = w.size;
	if (f->nsize)
		memcpy(w.size, f->size, (size_t)(f->nsize < SIZES ? f->nsize : SIZES) * sizeof *w.size);
	if (l->x && l->y && l->z)
		code = c->cuLaunchKernel(c->function[l->kernel], (unsigned)l->x, (unsigned)l->y, (unsigned)l->z, BLOCK,
					 1, 1, 0, c->stream, w.list, NULL);
	if (code) {
		snprintf(doing, sizeof doing, "launch %s", name);
		return rt_cuda_failed(cx, c, code, doing);
	}
	c->busy = true;
	c->doubt |= l->checks;
	for (int i = 0; i < l->nargs; i++)
		if (args[i].m >= 0 && args[i].use != RT_CUDA_READ)
			rt_cuda_newer(f->mirror[args[i].m].copy, args[i].from, args[i].to);
	return RT_OK;
}

int
rt_cuda_launch(RtCudaFrame *f, const RtCudaLaunch *l, const RtCudaArg *args, bool *wrong)
{
	if (f->cx->status)
		return f->cx->status;
	if (!launch(f, l, args)) {
		if (wrong)
			*wrong = rt_cuda_index_failed(f);
		if (!f->cx->status)
			return RT_OK;
	}
	rt_visit(f->cx, f->code, l->line);
	return RT_ERROR;
}

/* Copies bytes from one mirror to another one. The copy is made on the device if the source's bytes are there. */
int
rt_cuda_move(RtCudaFrame *f, RtCudaPart to, RtCudaPart from, int64_t bytes)
{
	RtCx *cx = f->cx;
	RtCuda *c = cx->cuda;
	RtCopy *const d = rt_cuda_bind(f, to.m, to.host), *const s = rt_cuda_bind(f, from.m, from.host);

	if (!d || !s)
		return RT_ERROR;
	if (s->there) {
		const uint64_t at = d->device + (uint64_t)to.at, read = s->device + (uint64_t)from.at;

		if (at != read && bytes)
			RT_CUDA_TRY(cx, c, cuMemcpyDtoDAsync_v2(at, read, (size_t)bytes, c->stream),
				    "copy on the device");
		c->busy = true;
		rt_cuda_newer(d, to.at, to.at + bytes);
		return RT_OK;
	}
	if (rt_cuda_fetch(cx, d))
		return RT_ERROR;
	memmove(d->host + to.at, s->host + from.at, (size_t)bytes);
	d->there = false;
	return RT_OK;
}
