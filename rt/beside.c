/* rt/beside.c - weights in a file beside the program, mapped at its start: linked into programs that have one */
#include "base.h"
#include "rt.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
rt_beside(RtCx *cx, RtProgram *p)
{
	char here[4096];
	Buf path = { 0 };
	const ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
	struct stat st;
	void *at = MAP_FAILED;
	int fd;

	here[n > 0 ? n : 0] = 0;
	if (strrchr(here, '/'))
		buf_add(&path, here, strrchr(here, '/') + 1 - here);
	buf_puts(&path, p->weights_file);
	fd = open(path.at, O_RDONLY);
	if (fd >= 0 && !fstat(fd, &st) && st.st_size >= p->weights_bytes)
		at = mmap(0, (size_t)p->weights_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		rt_raise(cx, "%s: the weights are missing or too short", path.at);
	else
		*p->weights_at = p->weights = at;
	buf_free(&path);
	return cx->status;
}
