/*
 * Calls of a library with tensors on the device: their answers compared with those of an instance on the CPU, and the
 * copies that they make.
 *
 * The emulated driver (driver.c) is called as a caller of the library would: in contexts and streams of its own.
 */
#include "many.h"
#include "pair.h"
#include "sums.h"
#include "../door/check.h"

#include <dlfcn.h>

enum { N = 6, LAUNCHES = 0, UP, DOWN, ACROSS, WAITS };

#define CUDA(result, name, ...) static result (*name)(__VA_ARGS__);
#define ALL \
	CUDA(int, cuInit, unsigned) \
	CUDA(int, cuDevicePrimaryCtxRetain, void **, int) \
	CUDA(int, cuDevicePrimaryCtxRelease_v2, int) \
	CUDA(int, cuCtxPushCurrent_v2, void *) \
	CUDA(int, cuCtxPopCurrent_v2, void **) \
	CUDA(int, cuCtxGetCurrent, void **) \
	CUDA(int, cuMemAlloc_v2, uint64_t *, size_t) \
	CUDA(int, cuMemFree_v2, uint64_t) \
	CUDA(int, cuMemcpyHtoDAsync_v2, uint64_t, const void *, size_t, void *) \
	CUDA(int, cuMemcpyDtoHAsync_v2, void *, uint64_t, size_t, void *) \
	CUDA(int, cuStreamSynchronize, void *) \
	CUDA(void, grid_counts, int *) \
	CUDA(void, grid_pin, const void *, size_t)
ALL
#undef CUDA

static void *context;                    /* context of the device under test */
static int   device;
static int   counts[5];
static int64_t sizes[] = { 2, 3 };

static void
find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

#define CUDA(result, name, ...) *(void **)&name = dlsym(library, #name);
	ALL
#undef CUDA
	CHECK(!cuInit(0));
}

static DLTensor
on_device(const float *from, int n)
{
	uint64_t at;
	DLTensor t = tensor(NULL, 2, 32, 2, sizes);

	CHECK(!cuCtxPushCurrent_v2(context) && !cuMemAlloc_v2(&at, (size_t)n * sizeof *from));
	CHECK(!cuMemcpyHtoDAsync_v2(at, from, (size_t)n * sizeof *from, NULL));
	CHECK(!cuCtxPopCurrent_v2(&(void *){ NULL }));
	t.data = (void *)(uintptr_t)at;
	t.device.device_type = kDLCUDA;
	t.device.device_id = device;
	return t;
}

static void
free_device(DLTensor *t)
{
	CHECK(!cuCtxPushCurrent_v2(context) && !cuMemFree_v2((uint64_t)(uintptr_t)t->data));
	CHECK(!cuCtxPopCurrent_v2(&(void *){ NULL }));
}

/* Returns the first n floats of a tensor on any device. */
static const float *
read(const DLTensor *t, int n)
{
	static float to[4][16];
	static int turn;
	float *at = to[turn++ % 4];

	if (t->device.device_type != kDLCUDA)
		return memcpy(at, t->data, (size_t)n * sizeof *at);
	CHECK(!cuCtxPushCurrent_v2(context));
	CHECK(!cuMemcpyDtoHAsync_v2(at, (uint64_t)(uintptr_t)t->data + t->byte_offset, (size_t)n * sizeof *at, NULL));
	CHECK(!cuStreamSynchronize(NULL) && !cuCtxPopCurrent_v2(&(void *){ NULL }));
	return at;
}

static int
near(const DLTensor *t, const float *want)
{
	const float *got = read(t, N);

	for (int i = 0; i < N; i++)
		if (!(got[i] - want[i] < 2e-4f && want[i] - got[i] < 2e-4f))
			return 0;
	return 1;
}

static void
clear(void)
{
	grid_counts(counts);
}

/* Returns the number of copies since clear(). */
static int
copies(void)
{
	grid_counts(counts);
	return counts[UP] + counts[DOWN];
}

#define DEVICE (&(many_options){ .device_index = device, .stream = stream })

/* Arguments and results in each kind of memory: compares with the CPU's answer and counts the copies. */
static void
test_places(void *stream)
{
	sums *m = sums_open(&(sums_options){ .device_index = device, .stream = stream }, NULL, 0);
	sums *cpu = sums_open(&(sums_options){ .device = "cpu" }, NULL, 0);
	const float x[] = { 1, 2, 3, 4, 5, 6 }, none[N] = { 0 };
	DLTensor host = tensor((void *)x, 2, 32, 2, sizes), there = on_device(x, N), to = on_device(none, N);
	float got[N];

	for (int way = 0; way < 3; way++) {
		DLTensor *in = way == 2 ? &host : &there, want[2] = { { .data = NULL }, { .data = NULL } };
		DLTensor out[2] = { way == 1 ? tensor(got, 2, 32, 2, sizes) : to, { .data = NULL } };

		if (way == 0)
			out[0].data = NULL;
		CHECK(!sums_call(cpu, "sums", (DLTensor *[]){ &host, &host }, 2, want, 2));
		clear();
		CHECK(!sums_call(m, "sums", (DLTensor *[]){ in, &there }, 2, out, 2));
		grid_counts(counts);
		CHECK(counts[LAUNCHES] > 0 && counts[UP] == (way == 2) && counts[DOWN] == (way == 1));
		CHECK(counts[WAITS] == (!stream || way != 0) && counts[ACROSS] <= (way == 2));
		CHECK(out[0].device.device_type == (way == 1 ? kDLCPU : kDLCUDA) && near(&out[0], want[0].data));
		CHECK(out[1].device.device_type == kDLCPU && *(int64_t *)out[1].data == 3); /* the result is a number */
	}
	sums_close(m);
	sums_close(cpu);
	free_device(&there);
	free_device(&to);
}

/* A result is used as an argument, is taken by the caller, and outlives the instance. */
static void
test_results(void *stream)
{
	sums *m = sums_open(&(sums_options){ .device_index = device, .stream = stream }, NULL, 0);
	const float x[] = { 1, 2, 3, 4, 5, 6 };
	DLTensor there = on_device(x, N), next;
	DLTensor out[2] = { { .data = NULL }, { .data = NULL } };
	DLManagedTensor *taken;
	const char *key;

	CHECK(!sums_call(m, "sums", (DLTensor *[]){ &there, &there }, 2, NULL, 0));
	CHECK(sums_results(m) == 2 && !sums_result(m, 0, &key, &next) && next.device.device_type == kDLCUDA);
	clear();
	CHECK(!sums_call(m, "sums", (DLTensor *[]){ &next, &there }, 2, out, 2));
	CHECK(copies() == 0 && counts[ACROSS] == 0);
	clear();
	CHECK((taken = sums_result_take(m, 0)) && copies() == 0 && counts[ACROSS] == 0);
	CHECK(!sums_result_take(m, 0));
	sums_close(m);
	CHECK(near(&taken->dl_tensor, (float[]){ 0.0469f, 0.1412f, 0.8119f, 0.0469f, 0.1412f, 0.8119f }));
	taken->deleter(taken);
	free_device(&there);
}

/* The model writes to its arguments and keeps them. */
static void
test_kept(void *stream)
{
	many *m = many_open(DEVICE, NULL, 0);
	const float x[] = { 1, 2, 3, 4, 5, 6 }, y[] = { 9, 9, 9, 9, 9, 9 };
	DLTensor there = on_device(x, N), other = on_device(y, N), out[2] = { { .data = NULL }, { .data = NULL } };
	int64_t turned[] = { 1, 2 };

	CHECK(!many_call(m, "write", (DLTensor *[]){ &there }, 1, out, 1));
	CHECK(same(read(&there, N), (float[]){ 2, 3, 4, 5, 6, 7 }, N));
	CHECK(read(&out[0], 1)[0] == 27);
	out[0].data = NULL;
	CHECK(!many_call(m, "keep", (DLTensor *[]){ &there }, 1, out, 2));
	CHECK(out[0].data != there.data && same(read(&out[0], N), (float[]){ 2, 3, 4, 5, 6, 7 }, N));
	/* The tensor that the model keeps does not change. */
	CHECK(!many_call(m, "write", (DLTensor *[]){ &there }, 1, NULL, 0));
	out[0].data = out[1].data = NULL;
	CHECK(!many_call(m, "keep", (DLTensor *[]){ &other }, 1, out, 2));
	CHECK(same(read(&out[0], N), y, N) && out[1].shape[0] == 3 && out[1].strides[0] == 1);
	CHECK(same(read(&out[1], N), (float[]){ 2, 3, 4, 5, 6, 7 }, N));
	/* The caller's memory for a result may have any strides. */
	other.shape = sizes;
	other.strides = turned;
	CHECK(!many_call(m, "forward", (DLTensor *[]){ &there }, 1, &other, 1));
	CHECK(same(read(&other, N), (float[]){ 3, 6, 4, 7, 5, 8 }, N));
	CHECK(!many_state_set(m, "total", &there) && !many_state_get(m, "total", out));
	CHECK(out[0].device.device_type == kDLCPU && same(out[0].data, (float[]){ 3, 4, 5, 6, 7, 8 }, N));
	many_close(m);
	free_device(&there);
	free_device(&other);
}

/* Arguments that overlap give the same answers as on the CPU. */
static void
test_overlap(void *stream)
{
	pair *m = pair_open(&(pair_options){ .device_index = device, .stream = stream }, NULL, 0);
	pair *cpu = pair_open(&(pair_options){ .device = "cpu" }, NULL, 0);
	float x[9];

	for (int shift = -3; shift <= 3; shift++) {
		DLTensor a, b, out = { .data = NULL }, want = { .data = NULL }, all;

		for (int i = 0; i < 9; i++)
			x[i] = (float)i;
		all = a = b = on_device(x, 9);
		a.byte_offset = shift < 0 ? (uint64_t)-shift * sizeof *x : 0;
		b.byte_offset = shift > 0 ? (uint64_t)shift * sizeof *x : 0;
		CHECK(!pair_call(m, "forward", (DLTensor *[]){ &a, &b }, 2, &out, 1));
		a.data = b.data = x;
		a.device.device_type = b.device.device_type = kDLCPU;
		CHECK(!pair_call(cpu, "forward", (DLTensor *[]){ &a, &b }, 2, &want, 1));
		CHECK(same(read(&out, 4), want.data, 4) && same(read(&all, 9), x, 9));
		free_device(&all);
	}
	pair_close(m);
	pair_close(cpu);
}

static void
test_errors(void *stream)
{
	many *m = many_open(DEVICE, NULL, 0), *cpu = many_open(&(many_options){ .device = "cpu" }, NULL, 0);
	const float x[] = { 1, 2, 3, 4, 5, 6 };
	DLTensor there = on_device(x, N), out = { .data = NULL }, wrong = there;
	char why[200];

	FAILS(cpu, many_ARGUMENT, many_call(cpu, "forward", (DLTensor *[]){ &there }, 1, &out, 1),
	      "'x': the tensor is on cuda:");
	FAILS(cpu, many_ARGUMENT, many_call(cpu, "forward", (DLTensor *[]){ &there }, 1, &out, 1),
	      ", and this instance computes on the CPU");
	wrong.device.device_id = 3;
	FAILS(m, many_ARGUMENT, many_call(m, "forward", (DLTensor *[]){ &wrong }, 1, &out, 1),
	      "'x': the tensor is on cuda:3, and this instance computes on cuda:");
	FAILS(m, many_ARGUMENT, many_call(m, "forward", (DLTensor *[]){ &there }, 1, &wrong, 1),
	      "'result 0': the tensor is on cuda:3, and this instance");
	wrong.device.device_type = (DLDeviceType)7;
	FAILS(m, many_ARGUMENT, many_call(m, "forward", (DLTensor *[]){ &wrong }, 1, &out, 1), "neither in the memory");
	FAILS(m, many_RAISED, many_call(m, "refuse", (DLTensor *[]){ &there }, 1, &out, 1), "no sums above zero");
	CHECK(!many_call(m, "forward", (DLTensor *[]){ &there }, 1, &out, 1) && same(read(&out, N), x, N));
	CHECK(!many_open(&(many_options){ .device = "cuda:7" }, why, sizeof why));
	CHECK(!strcmp(why, "no device 'cuda:7': there is no device cuda:7, only 2 devices from cuda:0 on"));
	CHECK(!many_open(&(many_options){ .device = "cuda:x" }, why, sizeof why) && strstr(why, "no device 'cuda:x'"));
	many_close(m);
	many_close(cpu);
	free_device(&there);
}

/* Pinned memory of an argument may change as soon as the call has returned. */
static void
test_pinned(void *stream)
{
	many *m = many_open(DEVICE, NULL, 0);
	float x[] = { 1, 2, 3, 4, 5, 6 };
	const float none[N] = { 0 };
	DLTensor in = tensor(x, 2, 32, 2, sizes), to = on_device(none, N);

	in.device.device_type = kDLCUDAHost;
	grid_pin(x, sizeof x);
	for (int i = 0; i < 2; i++) {
		CHECK(!many_call(m, "forward", (DLTensor *[]){ &in }, 1, &to, 1));
		x[0]++;
	}
	CHECK(read(&to, 1)[0] == (1 + 2) * 2);
	grid_pin(NULL, 0);
	many_close(m);
	free_device(&to);
}

int
main(void)
{
	static void *contexts[2];
	void *now;

	find_driver();
	for (int i = 0; i < 2; i++)
		CHECK(!cuDevicePrimaryCtxRetain(&contexts[i], i));
	CHECK(!cuCtxPushCurrent_v2(contexts[0]));
	for (int turn = 0; turn < 4; turn++) {
		void *stream = turn / 2 ? (char *)contexts[turn % 2] + 1 : NULL;

		device = turn % 2;
		context = contexts[device];
		test_places(stream);
		test_results(stream);
		test_kept(stream);
		test_overlap(stream);
		test_errors(stream);
		test_pinned(stream);
		CHECK(!cuCtxGetCurrent(&now) && now == contexts[0]);
	}
	CHECK(!cuCtxPopCurrent_v2(&now));
	for (int i = 0; i < 2; i++)
		CHECK(!cuDevicePrimaryCtxRelease_v2(i));
	return failures != 0;
}
