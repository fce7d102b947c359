/*
 * The device: the CUDA driver found by dlopen, its module, and the constants that kernels read.
 *
 * Uses the device's primary context, and one stream, which may be the caller's. The context is current only while the
 * driver is called, so that the calling thread keeps its own. The caller decides what a program does if there is no
 * driver, no device, no code for it or too little memory. The error tells which of these is missing.
 */
#include "base.h"
#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, ALIGNMENT = 256 };

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
find_device(RtCx *cx, RtCuda *c, const RtCudaWant *want)
{
	int n = 0, major = 0, minor = 0;
	void *context;

	RT_CUDA_TRY(cx, c, cuInit(0), "initialize the driver");
	RT_CUDA_TRY(cx, c, cuDeviceGetCount(&n), "count devices");
	if (!n)
		return rt_raise(cx, "there is no CUDA device");
	if (c->index < 0 || c->index >= n)
		return rt_raise(cx, "there is no device cuda:%d, only %d device%s from cuda:0 on", c->index, n,
				n == 1 ? "" : "s");
	RT_CUDA_TRY(cx, c, cuDeviceGet(&c->device, c->index), "find the device");
	RT_CUDA_TRY(cx, c, cuDeviceGetAttribute(&major, CAPABILITY_MAJOR, c->device), "name its architecture");
	RT_CUDA_TRY(cx, c, cuDeviceGetAttribute(&minor, CAPABILITY_MINOR, c->device), "name its architecture");
	c->capability = major * 10 + minor;
	RT_CUDA_TRY(cx, c, cuDevicePrimaryCtxRetain(&context, c->device), "retain its primary context");
	c->context = context;
	c->stream = want->stream;
	c->foreign = want->stream != NULL;
	return RT_OK;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* Whether the device can run the image. Machine code runs on its own generation, from its number on. PTX runs on
 * everything from its number on. */
static bool
image_fits(const RtCudaImage *i, int capability)
{
	return i->arch > 0 ? i->arch / 10 == capability / 10 && i->arch <= capability : -i->arch <= capability;
}

/* Returns the best image after `before` that fits: machine code with higher numbers first, then PTX. Null if there is
 * none. */
static const RtCudaImage *
next_image(const RtCudaProgram *p, int capability, const RtCudaImage *before)
{
	const RtCudaImage *best = NULL;

	for (int i = 0; i < p->nimage; i++) {
		const RtCudaImage *one = &p->image[i];
		const int rank = one->arch > 0 ? one->arch : -one->arch - 1000;
		const int least = !best ? -2000 : best->arch > 0 ? best->arch : -best->arch - 1000;
		const int most = !before ? 1000 : before->arch > 0 ? before->arch : -before->arch - 1000;

		if (image_fits(one, capability) && rank > least && rank < most)
			best = one;
	}
	return best;
}

static int
no_image(RtCx *cx, const RtCuda *c, const RtCudaProgram *p)
{
	char have[256] = "";
	size_t n = 0;

	for (int i = 0; i < p->nimage && n < sizeof have - 32; i++)
		n += (size_t)snprintf(have + n, sizeof have - n, "%s%s%d", i ? ", " : "",
				      p->image[i].arch > 0 ? "sm_" : "PTX for sm_", abs(p->image[i].arch));
	return rt_raise(cx, "the program has no code for this device (sm_%d), only %s: kiln build --gpu sm_%d",
			c->capability, have, c->capability);
}

static int
load_module(RtCx *cx, RtCuda *c, const RtProgram *p)
{
	const RtCudaImage *image = next_image(p->cuda, c->capability, NULL);
	int code = 1;

	if (!image)
		return no_image(cx, c, p->cuda);
	for (; image && code; image = next_image(p->cuda, c->capability, image))
		code = c->cuModuleLoadData(&c->module, p->weights + image->offset);
	if (code) {
		c->module = NULL;
		return rt_cuda_failed(cx, c, code, "load the program's kernels");
	}
	if (!(c->function = calloc((size_t)p->cuda->nkernel + 1, sizeof *c->function)))
		return rt_raise(cx, "out of memory");
	for (int i = 0; i < p->cuda->nkernel; i++)
		RT_CUDA_TRY(cx, c, cuModuleGetFunction(&c->function[i], c->module, p->cuda->kernel[i]),
			    "find a kernel of the program");
	return RT_OK;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static int
by_host(const void *a, const void *b)
{
	const RtCudaConstant *x = a, *y = b;

	return x->host < y->host ? -1 : x->host > y->host;
}

static int64_t
aligned(int64_t n)
{
	return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Lists the constants that kernels read, each storage once. Returns the number of bytes that they need. */
static int64_t
list_constants(const RtCx *cx, RtCuda *c, const RtCudaProgram *p)
{
	int64_t bytes = 0;
	int n = 0;

	for (int i = 0; i < p->nconstant; i++) {
		RtStorage *s = cx->value[p->constant[i]].u.t->storage;

		if (s->readonly && s->kind != RT_PACKED && s->bytes)
			c->constant[n++] = (RtCudaConstant){ s, s->data, 0 };
	}
	qsort(c->constant, (size_t)n, sizeof *c->constant, by_host);
	for (int i = 0; i < n; i++) {
		RtCudaConstant *last = c->nconstant ? &c->constant[c->nconstant - 1] : NULL;

		if (last && c->constant[i].host == last->host && c->constant[i].storage->bytes <= last->storage->bytes)
			continue;
		rt_count_up(&c->constant[i].storage->h);
		c->constant[c->nconstant] = c->constant[i];
		c->constant[c->nconstant++].at = (uint64_t)bytes;
		bytes += aligned(c->constant[i].storage->bytes);
	}
	return bytes;
}

static int
send_constants(RtCx *cx, RtCuda *c, const RtCudaProgram *p)
{
	static const int none;
	int64_t bytes;

	if (!(c->constant = calloc((size_t)p->nconstant + 1, sizeof *c->constant)))
		return rt_raise(cx, "out of memory");
	bytes = list_constants(cx, c, p);
	RT_CUDA_TRY(cx, c, cuMemAlloc_v2(&c->constants, (size_t)bytes + 1), "allocate memory for weights");
	for (int i = 0; i < c->nconstant; i++) {
		RtCudaConstant *one = &c->constant[i];

		one->at += c->constants;
		RT_CUDA_TRY(cx, c, cuMemcpyHtoDAsync_v2(one->at, one->host, (size_t)one->storage->bytes, c->stream),
			    "copy weights to the device");
	}
	RT_CUDA_TRY(cx, c, cuMemAlloc_v2(&c->wrong, sizeof none), "allocate memory for weights");
	RT_CUDA_TRY(cx, c, cuMemcpyHtoDAsync_v2(c->wrong, &none, sizeof none, c->stream), "copy weights to the device");
	RT_CUDA_TRY(cx, c, cuStreamSynchronize(c->stream), "copy weights to the device");
	return RT_OK;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

/* Parses "cuda" or "cuda:1". Returns false if the name is neither. *index is not changed if the name has no number. */
static bool
read_device(const char *name, int *index)
{
	char *end;
	long n;

	if (strncmp(name, "cuda", 4) || (name[4] && name[4] != ':'))
		return false;
	if (!name[4])
		return true;
	n = strtol(name + 5, &end, 10);
	if (name[5] < '0' || name[5] > '9' || *end || n > INT32_MAX)
		return false;
	*index = (int)n;
	return true;
}

/* Handles a missing device. If the user named the device, raises an error. Otherwise warns, and the program runs on the
 * CPU. */
static int
no_device(RtCx *cx, const char *name)
{
	char *text = cx->message;
	Buf b = { 0 };

	cx->message = NULL;
	rt_clear_error(cx);
	if (name)
		buf_printf(&b, "no device '%s': ", name);
	else
		buf_puts(&b, "computed on the CPU, not on a GPU: ");
	buf_puts(&b, text ? text : "out of memory");
	rt_mem_back(text);
	if (name)
		rt_raise(cx, "%s", b.at);
	else if (cx->warn)
		cx->warn(cx, b.at, b.n);
	else
		fprintf(stderr, "warning: %s\n", b.at);
	buf_free(&b);
	return name ? RT_ERROR : RT_OK;
}

/* Makes a stream, and sends code and constants to the device. The context must be current. */
static int
set_up(RtCx *cx, RtCuda *c, const RtProgram *p)
{
	if (!c->foreign)
		RT_CUDA_TRY(cx, c, cuStreamCreate(&c->stream, 0), "create a stream");
	return load_module(cx, c, p) || send_constants(cx, c, p->cuda) ? RT_ERROR : RT_OK;
}

int
rt_cuda_start(RtCx *cx, const RtProgram *p, const RtCudaWant *want)
{
	RtCuda *c = calloc(1, sizeof *c);

	if (!c)
		return rt_raise(cx, "out of memory");
	c->index = want->index;
	if (want->name && !read_device(want->name, &c->index)) {
		free(c);
		return rt_raise(cx, "no device '%s': cpu, or cuda of kiln build --gpu", want->name);
	}
	cx->cuda = c;
	if (!find_driver(cx, c) && !find_device(cx, c, want) && !rt_cuda_enter(cx)) {
		const int status = set_up(cx, c, p);

		rt_cuda_exit(c);
		if (!status)
			return RT_OK;
	}
	rt_cuda_stop(cx);
	return no_device(cx, want->name);
}

/* Frees all that the device holds for this program. */
static void
free_device(RtCuda *c)
{
	const bool current = !c->cuCtxPushCurrent_v2(c->context);

	rt_cuda_memory_free(c);
	if (c->constants)
		c->cuMemFree_v2(c->constants);
	if (c->wrong)
		c->cuMemFree_v2(c->wrong);
	if (c->module)
		c->cuModuleUnload(c->module);
	if (c->stream && !c->foreign)
		c->cuStreamDestroy_v2(c->stream);
	if (current)
		rt_cuda_exit(c);
	c->cuDevicePrimaryCtxRelease_v2(c->device);
}

void
rt_cuda_stop(RtCx *cx)
{
	RtCuda *c = cx->cuda;

	if (!c)
		return;
	cx->cuda = NULL;
	if (c->context)
		free_device(c);
	for (int i = 0; i < c->nconstant; i++)
		rt_storage_release(c->constant[i].storage);
	if (c->library)
		dlclose(c->library);
	free(c->constant);
	free(c->function);
	free(c);
}
