/* rt/arena.c - the memory of one compile, freed at once
 *
 * An arena is a chain of chunks. Memory is allocated from the newest chunk and not freed before the end. An Arena
 * passed by value is scratch memory: when the callee returns, the original allocates the same memory again. A chunk
 * that the copy had to add stays linked behind the one that it followed and is reused, so nothing leaks. For this the
 * original needs a chunk, which arena_take(&a, 0) ensures. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#define RED_ZONE 16
#else
#define POISON(p, n)   ((void)0)
#define UNPOISON(p, n) ((void)0)
#define RED_ZONE 0
#endif

struct ArenaChunk {
	ArenaChunk *older, *newer;
	int64_t     room;      /* number of bytes behind the header */
};

enum { ALIGN = 16, HEADER = (sizeof(ArenaChunk) + ALIGN - 1) / ALIGN * ALIGN };

void
out_of_memory(void)
{
	fputs("error: out of memory\n", stderr);
	rt_parts_remove();
	exit(EXIT_INPUT);
}

void *
heap_grow(void *old, int64_t bytes)
{
	void *p = bytes < 0 ? 0 : realloc(old, (size_t)(bytes ? bytes : 1));

	if (!p)
		out_of_memory();
	return p;
}

static ArenaChunk *
chunk_new(int64_t room, ArenaChunk *older)
{
	ArenaChunk *c = heap_grow(0, HEADER + room);

	c->older = older;
	c->newer = 0;
	c->room = room;
	if (older) {
		if (older->newer) {              /* too small for this request: keeps it behind the new one */
			c->newer = older->newer;
			c->newer->older = c;
		}
		older->newer = c;
	}
	return c;
}

/* Makes the next chunk with room for `bytes` the newest. */
static void
next_chunk(Arena *a, int64_t bytes)
{
	ArenaChunk *c = a->chunks ? a->chunks->newer : 0;
	int64_t room = a->chunks ? a->chunks->room * 2 : RT_LIMIT_CHUNK;

	if (!c || c->room < bytes) {
		if (room > RT_LIMIT_CHUNK_MOST)
			room = RT_LIMIT_CHUNK_MOST;
		if (room < bytes)
			room = bytes;
		c = chunk_new(room, a->chunks);
	}
	a->chunks = c;
	a->at = (char *)c + HEADER;
	a->end = a->at + c->room;
	POISON(a->at, (size_t)c->room);
}

void *
arena_take(Arena *a, int64_t bytes)
{
	int64_t want;
	char *p;

	if (bytes < 0 || bytes > INT64_MAX / 2)
		out_of_memory();
	want = (bytes + ALIGN - 1) / ALIGN * ALIGN + RED_ZONE;
	a->used += want;
	if (a->limit && a->used > a->limit)
		out_of_memory();
	if (!a->chunks || a->end - a->at < want)
		next_chunk(a, want);
	p = a->at;
	a->at += want;
	RT_ASSERT(a->at <= a->end && ((uintptr_t)p & (ALIGN - 1)) == 0);
	UNPOISON(p, (size_t)bytes);
	return memset(p, 0, (size_t)bytes);
}

struct ArenaEnd { void (*end)(void *); void *arg; struct ArenaEnd *older; };

void
arena_at_end(Arena *a, void (*end)(void *), void *arg)
{
	struct ArenaEnd *e = new(a, struct ArenaEnd, 1);

	*e = (struct ArenaEnd){ end, arg, a->ends };
	a->ends = e;
}

void
arena_free(Arena *a)
{
	ArenaChunk *c = a->chunks, *older;

	for (struct ArenaEnd *e = a->ends; e; e = e->older)
		e->end(e->arg);
	while (c && c->newer)
		c = c->newer;
	for (; c; c = older) {
		older = c->older;
		UNPOISON((char *)c + HEADER, (size_t)c->room);
		free(c);
	}
	memset(a, 0, sizeof *a);
}

char *
arena_strdup(Arena *a, const char *s)
{
	return arena_strndup(a, s, (int64_t)strlen(s));
}

char *
arena_strndup(Arena *a, const char *s, int64_t n)
{
	char *p = arena_take(a, n + 1);

	if (n)
		memcpy(p, s, (size_t)n);
	return p;
}

char *
arena_text(Arena *a, Buf *b)
{
	char *s = arena_strndup(a, b->at, b->n);

	buf_free(b);
	return s;
}

char *
arena_vprintf(Arena *a, const char *fmt, va_list ap)
{
	Buf b = { 0 };

	buf_vprintf(&b, fmt, ap);
	return arena_text(a, &b);
}

char *
arena_printf(Arena *a, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return s;
}
