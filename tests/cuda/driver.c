/*
 * A CUDA driver whose device is the CPU: memory is malloc's, modules are shared objects made by nvrtc.c, launches run
 * the emulated grid (grid.h).  Built as libcuda.so.1.  KILN_GRID_SAY=1 counts launches and copies at the end.
 * KILN_GRID_FAIL=N: the call number N, from 1 on, does nothing and returns an error.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct { int launches, up, down, across, waits, blocks; long long up_bytes, down_bytes; } count;

static void
say(void)
{
	if (getenv("KILN_GRID_SAY"))
		fprintf(stderr, "grid: %d launches, %d copies up (%lld bytes), %d down (%lld), %d across, %d waits, "
			"%d blocks left\n", count.launches, count.up, count.up_bytes, count.down, count.down_bytes,
			count.across, count.waits, count.blocks);
}

/* Is it this call's turn to fail? */
static int
fails(void)
{
	static int calls;
	const char *at = getenv("KILN_GRID_FAIL");

	return ++calls == (at ? atoi(at) : 0);
}

int cuInit(unsigned flags) { return fails() || atexit(say) || flags; }
int cuDeviceGetCount(int *n) { *n = 1; return fails(); }
int cuDeviceGet(int *device, int index) { *device = index; return fails(); }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &count; return fails() || device; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device; }
int cuCtxSetCurrent(void *context) { return fails() || context != &count; }
int cuStreamCreate(void **stream, unsigned flags) { *stream = &count; return fails() || flags; }
int cuStreamDestroy_v2(void *stream) { return stream != &count; }
int cuStreamSynchronize(void *stream) { count.waits++; return fails() || stream != &count; }
int cuGetErrorString(int status, const char **text) { *text = "an error of the emulated device"; return status < 0; }

int
cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const char *sm = getenv("KILN_GRID_SM");         /* 90 */
	const int n = sm ? atoi(sm) : 90;

	*value = attribute == 75 ? n / 10 : n % 10;
	return fails() || device;
}

int
cuModuleLoadData(void **module, const void *image)
{
	const Elf64_Ehdr *e = image;
	const size_t n = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
	const int fd = memfd_create("kernels", 0);
	char path[64];

	if (fails() || memcmp(e->e_ident, ELFMAG, SELFMAG) || write(fd, image, n) != (ssize_t)n)
		return 1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	*module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	close(fd);
	return !*module;
}

int cuModuleUnload(void *module) { return dlclose(module); }

int
cuModuleGetFunction(void **function, void *module, const char *name)
{
	char full[256];

	snprintf(full, sizeof full, "grid_%s", name);
	*function = dlsym(module, full);
	return fails() || !*function;
}

/* What was never written is not a number. */
int
cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
	void *p = fails() ? NULL : malloc(bytes);

	if (p)
		memset(p, 0xff, bytes);
	*memory = (uint64_t)(uintptr_t)p;
	count.blocks += p != NULL;
	return !p;
}

int
cuMemFree_v2(uint64_t memory)
{
	free((void *)(uintptr_t)memory);
	count.blocks -= memory != 0;
	return 0;
}

int
cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	if (fails())
		return 1;
	count.up++;
	count.up_bytes += (long long)bytes;
	memcpy((void *)(uintptr_t)to, from, bytes);
	return stream != &count;
}

int
cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	if (fails())
		return 1;
	count.down++;
	count.down_bytes += (long long)bytes;
	memcpy(to, (void *)(uintptr_t)from, bytes);
	return stream != &count;
}

int
cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	if (fails())
		return 1;
	count.across++;
	memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
	return stream != &count;
}

int
cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	       unsigned shared, void *stream, void **args, void **extra)
{
	const unsigned size[3] = { gx, gy, gz };

	if (fails())
		return 1;
	count.launches++;
	((void (*)(const unsigned *, unsigned, void **))(uintptr_t)function)(size, bx, args);
	return by != 1 || bz != 1 || shared || extra || stream != &count;
}
