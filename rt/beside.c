/* rt/beside.c - weights in a file beside the program, mapped at its start: linked into programs that have one
 */
#include "base.h"
#include "rt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTS = 16, PART = 4096 };        /* of the sample: a page each */

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

/* In the program's folder. */
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

/* The file, mapped; null, and raised: it is not there, or not so long. */
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

int
rt_beside(RtCx *cx, RtProgram *p, bool all)
{
	const RtWeightsHead head = rt_weights_head(p->weights_bytes, p->weights_hash);
	Buf path = { 0 };
	const char *at;

	put_path(&path, p);
	at = map(cx, path.at, (int64_t)sizeof head + p->weights_bytes);
	if (at && memcmp(at, &head, sizeof head))
		rt_raise(cx, "%s: these are not this program's weights", path.at);
	else if (at && (rt_weights_sample(at + sizeof head, p->weights_bytes) != p->weights_sample ||
			(all && hash_bytes(at + sizeof head, p->weights_bytes) != p->weights_hash)))
		rt_raise(cx, "%s: the weights are damaged", path.at);
	if (cx->status && at)
		munmap((void *)(uintptr_t)at, sizeof head + (size_t)p->weights_bytes);
	else if (at)
		p->weights = at + sizeof head;
	buf_free(&path);
	return cx->status;
}
