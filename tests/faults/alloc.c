/* tests/faults/alloc.c - a library to preload: the nth allocation fails
 *
 * In the program that FAULT_IN names, allocation number FAULT_AT (from 1) fails.  With FAULT_ON all later ones fail,
 * too.  FAULT_COUNT is a file for the number of allocations, and the number of blocks that were never freed.  Forked
 * children continue the count.  Other programs are not affected.  A test in C calls fault_next instead. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void fault_next(long, long *, long *);

static long count, at, live;
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
	const long n = count, left = live;
	FILE *f;

	if (!active || !path)
		return;
	active = 0;
	if ((f = fopen(path, "w"))) {
		fprintf(f, "%ld %ld\n", n, left);
		fclose(f);
	}
}

/* From now on only the nth allocation fails.  0: none fails.  Sets *counted to the number of allocations so far, and
 * *blocks to the number of blocks that were not freed. */
void
fault_next(long n, long *counted, long *blocks)
{
	*counted = count;
	*blocks = live;
	active = 1;
	at = n ? count + n : 0;
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
	errno = ENOMEM;                          /* a line for breakpoints */
	return 1;
}

static void *
counted(void *p)
{
	__atomic_add_fetch(&live, p != NULL, __ATOMIC_RELAXED);
	return p;
}

void *malloc(size_t n) { return fails() ? NULL : counted(__libc_malloc(n)); }
void *calloc(size_t n, size_t m) { return fails() ? NULL : counted(__libc_calloc(n, m)); }
void *memalign(size_t a, size_t n) { return fails() ? NULL : counted(__libc_memalign(a, n)); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }

void
free(void *p)
{
	__atomic_sub_fetch(&live, p != NULL, __ATOMIC_RELAXED);
	__libc_free(p);
}

void *
realloc(void *p, size_t n)
{
	if (p && !n) {
		free(p);
		return NULL;
	}
	if (fails())
		return NULL;
	return p ? __libc_realloc(p, n) : counted(__libc_malloc(n));
}

int
posix_memalign(void **p, size_t a, size_t n)
{
	void *got = memalign(a, n);

	if (!got)
		return ENOMEM;
	*p = got;
	return 0;
}
