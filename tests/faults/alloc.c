/* tests/faults/alloc.c - to be preloaded: the nth allocation fails
 *
 * In the program that FAULT_IN names, allocation FAULT_AT (from 1) finds no memory, and with FAULT_ON so do all after it.
 * FAULT_COUNT is a file for the number of allocations that there were.  Forked children go on counting, other programs
 * are left alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static long count, at;
static int on, active;

__attribute__((constructor)) static void
begin(void)
{
	const char *in = getenv("FAULT_IN"), *n = getenv("FAULT_AT");

	active = in && !strcmp(in, program_invocation_short_name);
	at = n ? atol(n) : 0;
	on = getenv("FAULT_ON") != NULL;
}

__attribute__((destructor)) static void
end(void)
{
	const char *path = getenv("FAULT_COUNT");
	const long n = count;
	FILE *f;

	if (!active || !path)
		return;
	active = 0;
	if ((f = fopen(path, "w"))) {
		fprintf(f, "%ld\n", n);
		fclose(f);
	}
}

static int
fails(void)
{
	long n;

	if (!active)
		return 0;
	n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (!at || (on ? n < at : n != at))
		return 0;
	errno = ENOMEM;                          /* a place for a breakpoint */
	return 1;
}

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return fails() ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { return fails() ? NULL : __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return fails() ? NULL : __libc_memalign(a, n); }

int
posix_memalign(void **p, size_t a, size_t n)
{
	void *got;

	if (fails() || !(got = __libc_memalign(a, n)))
		return ENOMEM;
	*p = got;
	return 0;
}
