/*
 * Collects the bytes of a program's weights: on the heap while they are few, then in an unnamed file.  So a compile
 * does not need memory for all of them.  The file is mapped for reading.  The system may reclaim pages that were read,
 * and spill_forget returns them at once.
 */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SPILL_LEAST = 16 << 20, SPILL_PIECE = 1 << 20 };

/* Opens an unnamed file in TMPDIR. Returns -1 and sets errno on failure. */
static int
nameless_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int file;

	dir = dir && *dir ? dir : "/tmp";
	if ((file = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) >= 0)
		return file;
	if (snprintf(path, sizeof path, "%s/kiln-XXXXXX", dir) >= (int)sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if ((file = mkostemp(path, O_CLOEXEC)) >= 0)
		unlink(path);
	return file;
}

void
spill_free(Spill *s)
{
	if (s->room)
		munmap(s->at, (size_t)s->room);
	if (s->file)
		close(s->file - 1);
	else
		free(s->at);
	*s = (Spill){ 0 };
}

static void
end(void *arg)
{
	spill_free(arg);
}

RT_NORETURN static void
refuse(Cx *cx)
{
	fail(cx, (Range){ 0 }, "a temporary file for weights cannot be written: %s (TMPDIR says where it is)",
	     strerror(errno));
}

static void
write_all(Cx *cx, Spill *s, const char *from, int64_t n)
{
	for (int64_t some; n > 0; from += some, n -= some) {
		some = pwrite(s->file - 1, from, (size_t)(n < SPILL_LEAST ? n : SPILL_LEAST), s->n);
		if (some < 0 && errno == EINTR)
			some = 0;
		else if (some <= 0)
			refuse(cx);
		s->n += some;
	}
}

/* Moves the bytes from the heap to a file. */
static void
begin_file(Cx *cx, Spill *s)
{
	char *heap = s->at;
	const int64_t n = s->n;
	const int file = nameless_file();

	if (file < 0)
		refuse(cx);
	arena_at_end(cx->arena, end, s);
	*s = (Spill){ .file = file + 1 };
	write_all(cx, s, heap, n);
	free(heap);
}

/* Maps everything written, with room for as many bytes again. */
static void
map_all(Cx *cx, Spill *s)
{
	void *at;

	if (s->n <= s->room)
		return;
	if (s->room)
		munmap(s->at, (size_t)s->room);
	s->room = 0;
	at = mmap(NULL, (size_t)(2 * s->n), PROT_READ, MAP_SHARED, s->file - 1, 0);
	if (at == MAP_FAILED)
		refuse(cx);
	s->at = at;
	s->room = 2 * s->n;
}

void
spill_add(Cx *cx, Spill *s, const void *data, int64_t n)
{
	RT_ASSERT(n >= 0);
	if (!s->file && s->n + n > SPILL_LEAST)
		begin_file(cx, s);
	if (s->file) {
		write_all(cx, s, data, n);
		map_all(cx, s);
		return;
	}
	if (!(s->at = realloc(s->at, (size_t)(s->n + n) + 1)))
		out_of_memory();
	if (n)
		memcpy(s->at + s->n, data, (size_t)n);
	s->n += n;
}

void
spill_forget(const Spill *s)
{
	if (s->room)
		madvise(s->at, (size_t)s->room, MADV_DONTNEED);
}

bool
spill_write(const Spill *s, FILE *f)
{
	bool ok = true;

	for (int64_t at = 0; at < s->n && ok; at += SPILL_PIECE) {
		const int64_t left = s->n - at, n = left < SPILL_PIECE ? left : SPILL_PIECE;

		ok = fwrite(s->at + at, 1, (size_t)n, f) == (size_t)n;
		spill_forget(s);
	}
	return ok;
}

uint64_t
spill_hash(const Spill *s)
{
	uint64_t h = (uint64_t)s->n;

	for (int64_t at = 0; at < s->n; at += SPILL_PIECE) {
		const int64_t left = s->n - at;

		h = hash_more(h, s->at + at, left < SPILL_PIECE ? left : SPILL_PIECE);
		spill_forget(s);
	}
	return h;
}
