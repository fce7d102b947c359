/*
 * The device: the CUDA driver found by dlopen, modules, memory, and which copy of a buffer is the newer one.
 *
 * Every buffer of a specialization has a mirror on the device.  Weights are there from the start and never change.  A
 * buffer of the arena has its place in the device's arena and may be newer on either side; the host asks before it
 * reads (rt_cuda_home).  All other buffers (arguments, results, what the runtime made) are written through: what a
 * kernel stores there is on the host, too, when the launch returns.  So whatever a box shows is true, and what the host
 * may have written is simply sent again.  Everything happens on one stream, in order; only copies to the host wait.
 */
#include "program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, MOST_ARGS = 64, MOST_ROWS = 65535, CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };

typedef struct Block {           /* of device memory, kept for the next call */
	uint64_t at;
	int64_t  bytes;
	bool     used;
} Block;

typedef struct RtCuda {
#define CUDA(name, ...) int (*name)(__VA_ARGS__);
#include "cuda.def"
#undef CUDA
	void    *library, *context, *stream, *module;
	int      device, capability;     /* 90 */
	void   **function;               /* by kernel */
	uint64_t weights, wrong;         /* wrong: an int that launches set */
	Block   *block;
	int      nblock;
} RtCuda;

static int
failed(RtCx *cx, int code, const char *what)
{
	const RtCuda *c = cx->cuda;
	const char *text = NULL;

	if (c->cuGetErrorString)
		c->cuGetErrorString(code, &text);
	return rt_raise(cx, "CUDA error: %s (%s)", text ? text : "unknown", what);
}

#define TRY(call) \
	do { \
		const int code_ = c->call; \
		if (code_) \
			return failed(cx, code_, #call); \
	} while (0)

/* ---- start ------------------------------------------------------------------------------------------------------- */

static int
find_driver(RtCx *cx, RtCuda *c)
{
	const struct { const char *name; void *place; } wanted[] = {
#define CUDA(name, ...) { #name, &c->name },
#include "cuda.def"
#undef CUDA
	};

	if (!(c->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)))
		return rt_raise(cx, "there is no CUDA driver (libcuda.so.1)");
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *f = dlsym(c->library, wanted[i].name);

		if (!f)
			return rt_raise(cx, "the CUDA driver is too old: it has no %s", wanted[i].name);
		memcpy(wanted[i].place, &f, sizeof f);
	}
	return RT_OK;
}

static int
find_device(RtCx *cx, RtCuda *c)
{
	int n = 0, major = 0, minor = 0;

	TRY(cuInit(0));
	TRY(cuDeviceGetCount(&n));
	if (!n)
		return rt_raise(cx, "there is no CUDA device");
	TRY(cuDeviceGet(&c->device, 0));
	TRY(cuDeviceGetAttribute(&major, CAPABILITY_MAJOR, c->device));
	TRY(cuDeviceGetAttribute(&minor, CAPABILITY_MINOR, c->device));
	c->capability = major * 10 + minor;
	TRY(cuDevicePrimaryCtxRetain(&c->context, c->device));
	TRY(cuCtxSetCurrent(c->context));
	TRY(cuStreamCreate(&c->stream, 0));
	return RT_OK;
}

/* Machine code runs on its own generation from its number on, PTX on everything from its number on. */
static bool
fits(const RtCudaImage *i, int capability)
{
	return i->arch > 0 ? i->arch / 10 == capability / 10 && i->arch <= capability : -i->arch <= capability;
}

static int
load_module(RtCx *cx, RtCuda *c, const RtProgram *p)
{
	const RtCudaImage *best = NULL;

	for (int i = 0; i < p->cuda->nimage; i++) {
		const RtCudaImage *one = &p->cuda->image[i];

		if (fits(one, c->capability) && (!best || one->arch > best->arch))
			best = one;
	}
	if (!best)
		return rt_raise(cx, "the program has no code for this device (sm_%d)", c->capability);
	TRY(cuModuleLoadData(&c->module, p->weights + best->offset));
	if (!(c->function = calloc((size_t)p->cuda->nkernel + 1, sizeof *c->function)))
		return rt_raise(cx, "out of memory");
	for (int i = 0; i < p->cuda->nkernel; i++)
		TRY(cuModuleGetFunction(&c->function[i], c->module, p->cuda->kernel[i]));
	TRY(cuMemAlloc_v2(&c->weights, (size_t)p->weights_bytes + 1));
	TRY(cuMemcpyHtoDAsync_v2(c->weights, p->weights, (size_t)p->weights_bytes, c->stream));
	TRY(cuMemAlloc_v2(&c->wrong, sizeof(int)));
	TRY(cuStreamSynchronize(c->stream));
	return RT_OK;
}

int
rt_cuda_start(RtCx *cx, const RtProgram *p)
{
	RtCuda *c = calloc(1, sizeof *c);

	if (!c)
		return rt_raise(cx, "out of memory");
	cx->cuda = c;
	if (find_driver(cx, c) || find_device(cx, c) || load_module(cx, c, p)) {
		rt_cuda_stop(cx);
		return RT_ERROR;
	}
	return RT_OK;
}

void
rt_cuda_stop(RtCx *cx)
{
	RtCuda *c = cx->cuda;

	if (!c)
		return;
	cx->cuda = NULL;
	for (int i = 0; i < c->nblock; i++)
		c->cuMemFree_v2(c->block[i].at);
	if (c->weights)
		c->cuMemFree_v2(c->weights);
	if (c->wrong)
		c->cuMemFree_v2(c->wrong);
	if (c->module)
		c->cuModuleUnload(c->module);
	if (c->stream)
		c->cuStreamDestroy_v2(c->stream);
	if (c->context)
		c->cuDevicePrimaryCtxRelease_v2(c->device);
	if (c->library)
		dlclose(c->library);
	free(c->block);
	free(c->function);
	free(c);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A block that is free and not much too large, or a new one. */
static int
take(RtCx *cx, RtCuda *c, int64_t bytes, uint64_t *at)
{
	Block *more, *b;

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
	TRY(cuMemAlloc_v2(&b->at, (size_t)bytes + 1));
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

/* ---- mirrors ----------------------------------------------------------------------------------------------------- */

int
rt_cuda_begin(RtCx *cx, RtMirror *m, const RtCudaPlace *place, int n, char *arena, int64_t bytes)
{
	RtCuda *c = cx->cuda;
	uint64_t base = 0;

	TRY(cuCtxSetCurrent(c->context));
	if (take(cx, c, bytes, &base))
		return RT_ERROR;
	memset(m, 0, ((size_t)n + 1) * sizeof *m);
	for (int i = 0; i < n; i++) {
		m[i].bytes = place[i].bytes;
		m[i].in_arena = place[i].offset >= 0;
		m[i].here = true;
		if (m[i].in_arena) {
			m[i].host = arena + place[i].offset;
			m[i].device = base + (uint64_t)place[i].offset;
		}
	}
	m[n].device = base;
	return RT_OK;
}

void
rt_cuda_end(RtCx *cx, RtMirror *m, int n)
{
	for (int i = 0; i < n; i++)
		if (m[i].own)
			give_back(cx->cuda, m[i].device);
	give_back(cx->cuda, m[n].device);
}

void
rt_cuda_stale(RtMirror *m, int n)
{
	for (int i = 0; i < n; i++)
		if (!m[i].in_arena)
			m[i].host = NULL;
		else if (m[i].here)
			m[i].there = false;
}

/* Gives the mirror of the part's buffer memory on the device. */
static int
bind(RtCx *cx, RtCudaPart part)
{
	RtCuda *c = cx->cuda;
	RtMirror *m = part.m;
	const RtProgram *p = cx->program;
	const uintptr_t offset = (uintptr_t)part.host + (uintptr_t)part.at - (uintptr_t)p->weights;

	if (m->in_arena || (m->host == part.host && m->host))
		return RT_OK;
	m->host = part.host;
	m->here = true;
	m->there = offset < (uintptr_t)p->weights_bytes;
	if (m->there) {
		if (m->own)
			give_back(c, m->device);
		m->own = false;
		m->device = c->weights + (uint64_t)offset - (uint64_t)part.at;
		return RT_OK;
	}
	if (!m->own && take(cx, c, m->bytes, &m->device))
		return RT_ERROR;
	m->own = true;
	return RT_OK;
}

static int
send(RtCx *cx, RtMirror *m)
{
	RtCuda *c = cx->cuda;

	if (!m->there && m->bytes)
		TRY(cuMemcpyHtoDAsync_v2(m->device, m->host, (size_t)m->bytes, c->stream));
	m->there = true;
	return RT_OK;
}

static int
fetch(RtCx *cx, RtMirror *m)
{
	RtCuda *c = cx->cuda;

	if (!m->here && m->bytes) {
		TRY(cuMemcpyDtoHAsync_v2(m->host, m->device, (size_t)m->bytes, c->stream));
		TRY(cuStreamSynchronize(c->stream));
	}
	m->here = true;
	return RT_OK;
}

char *
rt_cuda_home(RtCx *cx, RtMirror *m)
{
	fetch(cx, m);
	return m->host;
}

int
rt_cuda_move(RtCx *cx, RtCudaPart to, RtCudaPart from, int64_t bytes)
{
	RtCuda *c = cx->cuda;

	if (bind(cx, to) || bind(cx, from))
		return RT_ERROR;
	if (to.m->in_arena && from.m->there) {
		const uint64_t d = to.m->device + (uint64_t)to.at, s = from.m->device + (uint64_t)from.at;

		if (d != s && bytes)
			TRY(cuMemcpyDtoDAsync_v2(d, s, (size_t)bytes, c->stream));
		to.m->there = true;
		to.m->here = false;
		return RT_OK;
	}
	if (fetch(cx, from.m))
		return RT_ERROR;
	memmove(to.m->host + to.at, from.m->host + from.at, (size_t)bytes);
	to.m->here = true;
	to.m->there = false;
	return RT_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static int
prepare(RtCx *cx, const RtCudaArg *a, uint64_t *address)
{
	if (bind(cx, (RtCudaPart){ a->m, a->host, a->at }) || (a->use != RT_CUDA_FILL && send(cx, a->m)))
		return RT_ERROR;
	*address = a->m->device + (uint64_t)a->at;
	return RT_OK;
}

int
rt_cuda_launch(RtCx *cx, int kernel, RtCudaGrid grid, const RtCudaArg *args, int n, int *wrong)
{
	RtCuda *c = cx->cuda;
	uint64_t address[MOST_ARGS];
	double number[MOST_ARGS];
	void *list[MOST_ARGS + 1];

	if (cx->status)
		return cx->status;
	if (n > MOST_ARGS || grid.x > INT32_MAX || grid.y > MOST_ROWS || grid.z > MOST_ROWS)
		return rt_raise(cx, "CUDA: the launch of %s is too large", cx->program->cuda->kernel[kernel]);
	for (int i = 0; i < n; i++) {
		number[i] = args[i].number;
		list[i] = args[i].m ? (void *)&address[i] : (void *)&number[i];
		if (args[i].m && prepare(cx, &args[i], &address[i]))
			return RT_ERROR;
	}
	list[n] = &c->wrong;
	if (wrong)
		TRY(cuMemcpyHtoDAsync_v2(c->wrong, wrong, sizeof *wrong, c->stream));
	if (grid.x && grid.y && grid.z)
		TRY(cuLaunchKernel(c->function[kernel], (unsigned)grid.x, (unsigned)grid.y, (unsigned)grid.z, BLOCK,
				   1, 1, 0, c->stream, list, NULL));
	for (int i = 0; i < n; i++) {
		if (!args[i].m || args[i].use == RT_CUDA_READ)
			continue;
		args[i].m->there = true;
		args[i].m->here = false;
		if (!args[i].m->in_arena && fetch(cx, args[i].m))
			return RT_ERROR;
	}
	if (wrong) {
		TRY(cuMemcpyDtoHAsync_v2(wrong, c->wrong, sizeof *wrong, c->stream));
		TRY(cuStreamSynchronize(c->stream));
	}
	return RT_OK;
}
