/* rt/beside.c - maps the file of weights beside a program; only programs with such a file link it */
#include "base.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTS = 16, PART = 4096 };        /* number of the sample's parts; number of bytes of a part */

RtWeightsHead
rt_weights_head(int64_t bytes, uint64_t hash)
{
	return (RtWeightsHead){ .magic = "KilnWgt", .bytes = bytes, .hash = hash };
}

uint64_t
rt_weights_sample(const char *at, int64_t bytes)
{
	const int64_t step = (bytes - PART) / (PARTS - 1) / PART * PART;
	uint64_t h = 0;

	if (bytes <= PARTS * PART)
		return hash_bytes(at, bytes);
	for (int i = 0; i < PARTS - 1; i++)
		h = h * 31 + hash_bytes(at + i * step, PART);
	return h * 31 + hash_bytes(at + bytes - PART, PART);
}

/* Sets path to that of the file of weights in the program's folder. */
static void
put_path(Buf *path, const RtProgram *p)
{
	char here[4096];
	const ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);

	here[n > 0 ? n : 0] = 0;
	if (strrchr(here, '/'))
		buf_add(path, here, strrchr(here, '/') + 1 - here);
	buf_puts(path, p->weights_file);
}

/* Maps the file. Null, with an error raised, if it does not exist or has another length. */
static const char *
map(RtCx *cx, const char *path, int64_t bytes)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st)) {
		if (st.st_size == bytes)
			at = mmap(0, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		else
			rt_raise(cx, "%s: has %lld bytes and not %lld: these are not this program's weights", path,
				(long long)st.st_size, (long long)bytes);
	}
	if (at == MAP_FAILED && !cx->status)
		rt_raise(cx, "%s: the program's weights are wanted: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* Raises an error if the file does not contain the program's weights. */
static int
check(RtCx *cx, const RtProgram *p, const char *name, const char *at, bool all)
{
	const RtWeightsHead head = rt_weights_head(p->weights_bytes, p->weights_hash);

	if (memcmp(at, &head, sizeof head))
		return rt_raise(cx, "%s: these are not this program's weights", name);
	if (rt_weights_sample(at + sizeof head, p->weights_bytes) != p->weights_sample ||
	    (all && hash_bytes(at + sizeof head, p->weights_bytes) != p->weights_hash))
		return rt_raise(cx, "%s: the weights are damaged", name);
	return RT_OK;
}

static int
lend(RtCx *cx, RtProgram *p, const RtWeightsFrom *from)
{
	const char *at = from->memory;

	if (from->bytes != (int64_t)sizeof(RtWeightsHead) + p->weights_bytes || (uintptr_t)at % 64)
		return rt_raise(cx, "weights in memory: %lld bytes are wanted, at an address that 64 divides",
				(long long)sizeof(RtWeightsHead) + (long long)p->weights_bytes);
	if (check(cx, p, "weights in memory", at, from->all))
		return RT_ERROR;
	p->weights = at + sizeof(RtWeightsHead);
	p->weights_lent = true;
	return RT_OK;
}

int
rt_beside(RtCx *cx, RtProgram *p, const RtWeightsFrom *from)
{
	const int64_t bytes = (int64_t)sizeof(RtWeightsHead) + p->weights_bytes;
	Buf path = { 0 };
	const char *at;

	if (from->memory)
		return lend(cx, p, from);
	if (from->path)
		buf_puts(&path, from->path);
	else
		put_path(&path, p);
	at = map(cx, path.at, bytes);
	if (at && check(cx, p, path.at, at, from->all))
		munmap((void *)(uintptr_t)at, (size_t)bytes);
	else if (at)
		p->weights = at + sizeof(RtWeightsHead);
	buf_free(&path);
	return cx->status;
}

static void
lost(int signal)
{
	static const char why[] = "error: the file of weights was cut short, or cannot be read any more\n";

	(void)signal;
	(void)!write(STDERR_FILENO, why, sizeof why - 1);
	_exit(EXIT_INPUT);
}

void
rt_beside_watch(void)
{
	signal(SIGBUS, lost);
}

void
rt_beside_end(RtProgram *p)
{
	if (p->weights && !p->weights_lent)
		munmap((void *)(uintptr_t)(p->weights - sizeof(RtWeightsHead)),
		       sizeof(RtWeightsHead) + (size_t)p->weights_bytes);
	p->weights = NULL;
}
