/*
 * A CUDA driver whose devices are the CPU: memory comes from malloc, modules are shared objects made by nvrtc.c,
 * launches run the emulated grid (grid.h).  Built as libcuda.so.1.
 *
 * A copy to the host takes effect when its stream is waited for.  Until then the host's bytes are 0xff.  If grid_pin()
 * marks the source of a copy to the device as pinned, it must not change before that.  Every call needs a current
 * context, whose device must own the memory and the stream.  A call that breaks a rule ends the process.
 *
 * KILN_GRID_SAY=1 prints the numbers of launches and copies at the end.  KILN_GRID_FAIL=N: call number N, counted from
 * 1, does nothing and returns an error.  KILN_GRID_DEVICES=N: number of devices.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEVICES = 4, NESTED = 8, MOST = 4096 };

typedef struct Copy {                    /* a copy that is enqueued and not yet done */
	char       *to;                  /* Destination on the host.  Null if the copy is to the device. */
	const char *from;                /* pinned source on the host */
	void       *stream;
	char       *bytes;
	size_t      n;
	struct Copy *next;
} Copy;

typedef struct Block { char *at; size_t n; int device; } Block;

static struct { int launches, up, down, across, waits, blocks; long long up_bytes, down_bytes; } count;
static struct Device { int retained; } devices[DEVICES];
static struct { const char *at; size_t n; } pinned;
static __thread struct Device *current[NESTED];
static __thread int ncurrent;
static Block block[MOST];
static int nblock;
static Copy *enqueued;

static void
broken(const char *rule)
{
	fprintf(stderr, "grid: %s\n", rule);
	abort();
}

static void
say(void)
{
	if (ncurrent)
		broken("a context is still current at the end");
	if (getenv("KILN_GRID_SAY"))
		fprintf(stderr, "grid: %d launches, %d copies up (%lld bytes), %d down (%lld), %d across, %d waits, "
			"%d blocks left\n", count.launches, count.up, count.up_bytes, count.down, count.down_bytes,
			count.across, count.waits, count.blocks);
}

/* Copies the counts to `to` and resets them: launches, up, down, across, waits.  Called by test programs. */
void
grid_counts(int *to)
{
	const int now[] = { count.launches, count.up, count.down, count.across, count.waits };

	memcpy(to, now, sizeof now);
	count.launches = count.up = count.down = count.across = count.waits = 0;
}

void
grid_pin(const void *at, size_t n)
{
	pinned.at = at;
	pinned.n = n;
}

static int calls, failing;

/* Lets the n-th call from now on fail.  0: none.  Called by test programs. */
void
grid_fail(int n)
{
	failing = n ? calls + n : 0;
}

/* Must this call fail? */
static int
fails(void)
{
	const char *at = getenv("KILN_GRID_FAIL");

	return ++calls == (at ? atoi(at) : failing);
}

static int
device_now(void)
{
	if (!ncurrent)
		broken("no context is current");
	return (int)(current[ncurrent - 1] - devices);
}

static int
ndevice(void)
{
	const char *n = getenv("KILN_GRID_DEVICES");

	return n ? atoi(n) : 1;
}

/* Checks a stream.  It must point to a byte of its device.  Null stands for the default stream. */
static void
check_stream(const void *stream)
{
	const char *at = stream, *begin = (const char *)&devices[device_now()];

	if (stream && (at < begin || at >= begin + sizeof *devices))
		broken("the stream is another device's");
}

static void
check_memory(uint64_t at, size_t n)
{
	const char *p = (const char *)(uintptr_t)at;

	for (int i = 0; i < nblock; i++)
		if (p >= block[i].at && p + n <= block[i].at + block[i].n) {
			if (block[i].device != device_now())
				broken("the memory is another device's");
			return;
		}
	broken("this is no memory of a device");
}

int
cuInit(unsigned flags)
{
	static int begun;

	if (fails())
		return 1;
	if (!begun++)
		atexit(say);
	return flags != 0;
}

int cuDeviceGetCount(int *n) { *n = ndevice(); return fails(); }
int cuDeviceGet(int *device, int index) { *device = index; return fails() || index >= ndevice(); }

int
cuDevicePrimaryCtxRetain(void **context, int device)
{
	if (fails())
		return 1;
	devices[device].retained++;
	*context = &devices[device];
	return 0;
}

int
cuDevicePrimaryCtxRelease_v2(int device)
{
	if (--devices[device].retained < 0)
		broken("a context is released too often");
	return 0;
}

int
cuCtxPushCurrent_v2(void *context)
{
	if (fails())
		return 1;
	if (ncurrent == NESTED)
		broken("contexts are pushed and not popped");
	current[ncurrent++] = context;
	if (!current[ncurrent - 1]->retained)
		broken("the context is not retained");
	return 0;
}

int
cuCtxPopCurrent_v2(void **context)
{
	device_now();
	*context = current[--ncurrent];
	return 0;
}

int cuCtxGetCurrent(void **context) { *context = ncurrent ? current[ncurrent - 1] : NULL; return 0; }
int cuStreamCreate(void **stream, unsigned flags) { *stream = &devices[device_now()]; return fails() || flags; }
int cuStreamDestroy_v2(void *stream) { return !stream; }
int cuGetErrorString(int status, const char **text) { *text = "an error of the emulated device"; return status < 0; }

static void
end_copy(Copy *c)
{
	if (c->to)
		memcpy(c->to, c->bytes, c->n);
	else if (memcmp(c->from, c->bytes, c->n))
		broken("pinned memory was written before its copy to the device was waited for");
	free(c->bytes);
	free(c);
}

int
cuStreamSynchronize(void *stream)
{
	count.waits++;
	if (fails())
		return 1;
	check_stream(stream);
	for (Copy **at = &enqueued, *c; (c = *at);) {
		if (c->stream != stream) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		end_copy(c);
	}
	return 0;
}

/* Appends a copy, so that copies take effect in order. */
static void
enqueue(Copy copy, const void *bytes)
{
	Copy **at = &enqueued;

	while (*at)
		at = &(*at)->next;
	*at = malloc(sizeof copy);
	copy.bytes = malloc(copy.n + 1);
	memcpy(copy.bytes, bytes, copy.n);
	**at = copy;
}

int
cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const char *sm = getenv("KILN_GRID_SM");         /* default: 90 */
	const int n = sm ? atoi(sm) : 90;

	*value = attribute == 75 ? n / 10 : n % 10;
	return fails() || device >= ndevice();
}

int
cuModuleLoadData(void **module, const void *image)
{
	const Elf64_Ehdr *e = image;
	const size_t n = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
	const int fd = memfd_create("kernels", 0);
	char path[64];

	device_now();
	if (fails() || memcmp(e->e_ident, ELFMAG, SELFMAG) || write(fd, image, n) != (ssize_t)n)
		return 1;
	/* fd stays open, so that no other module gets the same name */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	*module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
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

/* Memory that was never written is filled with NaNs. */
int
cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
	const int device = device_now();
	void *p = fails() || nblock == MOST || !bytes ? NULL : malloc(bytes);

	if (p) {
		memset(p, 0xff, bytes);
		block[nblock++] = (Block){ p, bytes, device };
	}
	*memory = (uint64_t)(uintptr_t)p;
	count.blocks += p != NULL;
	return !p;
}

int
cuMemFree_v2(uint64_t memory)
{
	int i = 0;

	while (i < nblock && block[i].at != (char *)(uintptr_t)memory)
		i++;
	if (i == nblock)
		broken("memory is freed that is no device's");
	free(block[i].at);
	block[i] = block[--nblock];
	count.blocks--;
	return 0;
}

int
cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	const char *at = from;

	if (fails())
		return 1;
	check_stream(stream);
	check_memory(to, bytes);
	count.up++;
	count.up_bytes += (long long)bytes;
	memcpy((void *)(uintptr_t)to, from, bytes);
	if (at >= pinned.at && at + bytes <= pinned.at + pinned.n)
		enqueue((Copy){ .from = at, .stream = stream, .n = bytes }, from);
	return 0;
}

int
cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	if (fails())
		return 1;
	check_stream(stream);
	check_memory(from, bytes);
	count.down++;
	count.down_bytes += (long long)bytes;
	enqueue((Copy){ .to = to, .stream = stream, .n = bytes }, (void *)(uintptr_t)from);
	memset(to, 0xff, bytes);
	return 0;
}

int
cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	if (fails())
		return 1;
	check_stream(stream);
	check_memory(to, bytes);
	check_memory(from, bytes);
	count.across++;
	memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
	return 0;
}

int
cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	       unsigned shared, void *stream, void **args, void **extra)
{
	const unsigned size[3] = { gx, gy, gz };

	if (fails())
		return 1;
	check_stream(stream);
	count.launches++;
	((void (*)(const unsigned *, unsigned, void **))(uintptr_t)function)(size, bx, args);
	return by != 1 || bz != 1 || shared || extra;
}
