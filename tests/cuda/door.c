/*
 * Calls of a library with tensors on the device: their answers compared with those of an instance on the CPU, and the
 * copies that they make.
 *
 * The emulated driver (driver.c) is called as a caller of the library would: in contexts and streams of its own.
 */
#include "many.h"
#include "found.h"
#include "pair.h"
#include "pick.h"
#include "sums.h"
#include "three.h"
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
	CUDA(void, grid_pin, const void *, size_t) \
	CUDA(void, grid_fail, int)
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
near_n(const DLTensor *t, const float *want, int n)
{
	const float *got = read(t, n);

	for (int i = 0; i < n; i++)
		if (!(got[i] - want[i] < 2e-4f && want[i] - got[i] < 2e-4f))
			return 0;
	return 1;
}

static int
near(const DLTensor *t, const float *want)
{
	return near_n(t, want, N);
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
		CHECK(counts[WAITS] == (!stream || way != 0) && counts[ACROSS] == 0);
		CHECK(out[0].device.device_type == (way == 1 ? kDLCPU : kDLCUDA) && near(&out[0], want[0].data));
		CHECK(out[1].device.device_type == kDLCPU && *(int64_t *)out[1].data == 3); /* the result is a number */
	}
	sums_close(m);
	sums_close(cpu);
	free_device(&there);
	free_device(&to);
}

/* Kernels write results to the caller's memory on the device, unless it overlaps what else the call uses. */
static void
test_memory(void *stream)
{
	enum { NONE = -1, IN_X = -2, ROOM = 16, TOTAL = 5 * ROOM };
	/* First element of the memory for each result, and the number of copies on the device. Result 3 is result 0.
	 * Result 2 is computed on the host. */
	static const struct { int at[5], across; } ways[] = {
		{ { 0, ROOM, NONE, 2 * ROOM, 3 * ROOM }, 1 }, { { 0, ROOM, NONE, NONE, 3 * ROOM }, 1 },
		{ { 1, ROOM, NONE, 2 * ROOM, 3 * ROOM }, 1 }, { { 1, ROOM + 1, NONE, NONE, 3 * ROOM + 1 }, 3 },
		{ { IN_X, ROOM, NONE, NONE, 2 * ROOM }, 1 }, { { NONE, NONE, NONE, NONE, IN_X }, 1 },
		{ { NONE, ROOM, NONE, NONE, 2 * ROOM }, 0 },
	};
	three *m = three_open(&(three_options){ .device_index = device, .stream = stream }, NULL, 0);
	three *cpu = three_open(&(three_options){ .device = "cpu" }, NULL, 0);
	const float x[TOTAL] = { 1, -2, 3, 4, 5, 6 };

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		DLTensor host = tensor((void *)x, 2, 32, 2, sizes);
		DLTensor there = on_device(x, N), own = on_device(x, TOTAL);
		DLTensor out[5], want[5] = { { .data = NULL } }, rest;

		CHECK(!three_call(cpu, "three", (DLTensor *[]){ &host, &host }, 2, want, 5));
		for (int k = 0; k < 5; k++) {
			const int at = ways[i].at[k];

			out[k] = want[k];
			out[k].data = at == NONE ? NULL : at == IN_X ? there.data : (float *)own.data + at;
			out[k].device = own.device;
		}
		clear();
		CHECK(!three_call(m, "three", (DLTensor *[]){ &there, &there }, 2, out, 5));
		grid_counts(counts);
		CHECK(counts[ACROSS] == ways[i].across && counts[UP] == 1 && counts[DOWN] == 0);
		for (int k = 0; k < 5; k++) {
			const int n = k % 3 ? 4 : N;

			CHECK(k == 2 || (out[k].device.device_type == kDLCUDA && near_n(&out[k], want[k].data, n)));
			CHECK(!three_result(m, k, NULL, &rest) && !rest.data == (ways[i].at[k] != NONE));
		}
		free_device(&there);
		free_device(&own);
	}
	three_close(m);
	three_close(cpu);
}

/* Each call of the driver fails once. The next call of the library is right again. */
static void
test_faults(void *stream)
{
	three *m = three_open(&(three_options){ .device_index = device, .stream = stream }, NULL, 0);
	const float x[] = { 1, -2, 3, 4, 5, 6 };
	DLTensor there = on_device(x, N), to = on_device(x, N);
	int status, failed = 0;

	do {
		DLTensor out[5] = { to, { .data = NULL }, { .data = NULL }, { .data = NULL }, { .data = NULL } };

		grid_fail(failed + 1);
		status = three_call(m, "three", (DLTensor *[]){ &there, &there }, 2, out, 5);
		grid_fail(0);
		CHECK(!status == !strstr(three_error(m), "an error of the emulated device"));
		out[0] = to;
		for (int i = 1; i < 5; i++)
			out[i].data = NULL;
		CHECK(!three_call(m, "three", (DLTensor *[]){ &there, &there }, 2, out, 5));
		CHECK(same(read(&to, N), (float[]){ 2, 0, 6, 8, 10, 12 }, N));
		CHECK(same(read(&out[3], N), (float[]){ 2, 0, 6, 8, 10, 12 }, N));
	} while (status && ++failed < 100);
	CHECK(failed > 8 && failed < 100);
	three_close(m);
	free_device(&there);
	free_device(&to);
}

/* Generic code computes results, because a guard fails, or because sizes fit no specialization. */
static void
test_generic(void *stream)
{
	found *m = found_open(&(found_options){ .device_index = device, .stream = stream }, NULL, 0);
	found *cpu = found_open(&(found_options){ .device = "cpu" }, NULL, 0);
	int64_t turned[] = { 3, 2 };
	float x[2 * N] = { 0 };

	for (int i = 0; i < 2 * N; i++) {
		int64_t *shape = i % 2 ? turned : sizes;
		DLTensor host = tensor(x, 2, 32, 2, shape), there = on_device(x, N), to = on_device(x, 2 * N);
		DLTensor out[3] = { to, to, { .data = NULL } }, want[3] = { { .data = NULL } };

		there.shape = out[0].shape = out[1].shape = shape;
		out[1].data = (float *)to.data + N;
		CHECK(!found_call(cpu, "found", (DLTensor *[]){ &host, &host }, 2, want, 3));
		CHECK(!found_call(m, "found", (DLTensor *[]){ &there, &there }, 2, out, 3));
		CHECK(near_n(&out[0], want[0].data, N) && near_n(&out[1], want[1].data, N));
		CHECK(out[2].shape[0] == want[2].shape[0]);
		x[i / 2] = (float)i + 1;
		free_device(&there);
		free_device(&to);
	}
	found_close(m);
	found_close(cpu);
}

/* A result is used as an argument, is taken by the caller, and outlives the instance. */
static void
test_results(void *stream)
{
	sums *m = sums_open(&(sums_options){ .device_index = device, .stream = stream }, NULL, 0);
	const float x[] = { 1, 2, 3, 4, 5, 6 };
	DLTensor host = tensor((void *)x, 2, 32, 2, sizes), there = on_device(x, N), next;
	DLTensor out[2] = { { .data = NULL }, { .data = NULL } };
	DLManagedTensor *taken, *other;
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
	/* The results are on the device although the arguments are not. */
	m = sums_open(&(sums_options){ .device_index = device, .stream = stream, .device_results = 1 }, NULL, 0);
	clear();
	CHECK(!sums_call(m, "sums", (DLTensor *[]){ &host, &host }, 2, NULL, 0));
	CHECK((other = sums_result_take(m, 0)) && other->dl_tensor.device.device_type == kDLCUDA);
	CHECK(copies() == 2 && counts[DOWN] == 0 && counts[ACROSS] == 0);
	CHECK(near(&other->dl_tensor, (float[]){ 0.0159f, 0.1173f, 0.8668f, 0.0159f, 0.1173f, 0.8668f }));
	other->deleter(other);
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
	free_device(&other);
	/* A result in the caller's memory is also an attribute. The caller writes to that memory after the call. */
	m = many_open(DEVICE, NULL, 0);
	for (int i = 1; i < 3; i++) {
		int64_t rows[] = { 2 * i, 3 };

		other = on_device((float[2 * N]){ 0 }, 2 * N);
		other.shape = rows;
		CHECK(!many_call(m, "grow", (DLTensor *[]){ &there }, 1, &other, 1));
		CHECK(same(read(&other, N), (float[]){ 3, 4, 5, 6, 7, 8 }, N));
		free_device(&other);
		CHECK(!many_state_get(m, "inner.cache", out) && out[0].shape[0] == 2 * i);
		CHECK(same((float *)out[0].data + (i - 1) * N, (float[]){ 3, 4, 5, 6, 7, 8 }, N));
	}
	many_close(m);
	free_device(&there);
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

/* An index out of range. The argument is written once, or not at all if that step comes later. The next call is
 * right. */
static void
test_indices(void *stream)
{
	static const struct { int64_t index; int status; float first; } calls[] = {
		{ 0, pick_OK, 2 }, { 1, pick_RAISED, 2 }, { 5, pick_RAISED, 1 }, { 0, pick_OK, 2 },
	};
	pick *m = pick_open(&(pick_options){ .device_index = device, .stream = stream }, NULL, 0);
	int64_t one[] = { 1 };

	for (int i = 0; i < 8; i++) {
		float x[] = { 1, 2, 3, 4, 5, 6 };
		int64_t index = calls[i / 2].index;
		DLTensor host = tensor(x, 2, 32, 2, sizes), there = on_device(x, N), out = { .data = NULL };
		DLTensor *in[] = { i % 2 ? &there : &host, &(DLTensor){ .data = NULL } };

		*in[1] = tensor(&index, 0, 64, 1, one);
		CHECK(pick_call(m, "pick", in, 2, &out, 1) == calls[i / 2].status);
		CHECK(read(in[0], N)[0] == calls[i / 2].first);
		if (calls[i / 2].status)
			CHECK(strstr(pick_error(m), "index out of range in self"));
		else
			CHECK(same(read(&out, 3), (float[]){ 6, 9, 12 }, 3));
		free_device(&there);
	}
	pick_close(m);
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
		test_memory(stream);
		test_faults(stream);
		test_generic(stream);
		test_results(stream);
		test_kept(stream);
		test_overlap(stream);
		test_errors(stream);
		test_indices(stream);
		test_pinned(stream);
		CHECK(!cuCtxGetCurrent(&now) && now == contexts[0]);
	}
	CHECK(!cuCtxPopCurrent_v2(&now));
	for (int i = 0; i < 2; i++)
		CHECK(!cuDevicePrimaryCtxRelease_v2(i));
	return failures != 0;
}
