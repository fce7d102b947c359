/* tests/door/wrap.h - wrappers of the functions that allocate, for programs linked with --wrap
 *
 * The including file must define fails() before, which decides whether a call fails. */

#define WRAP(name, given, taken) \
	void *__real_##name given; \
	void *__wrap_##name given; \
	void * \
	__wrap_##name given \
	{ \
		return fails() ? NULL : __real_##name taken; \
	}

WRAP(malloc, (size_t n), (n))
WRAP(calloc, (size_t n, size_t m), (n, m))
WRAP(realloc, (void *p, size_t n), (p, n))
WRAP(aligned_alloc, (size_t a, size_t n), (a, n))

int __real_posix_memalign(void **p, size_t a, size_t n);
int __wrap_posix_memalign(void **p, size_t a, size_t n);
int
__wrap_posix_memalign(void **p, size_t a, size_t n)
{
	return fails() ? 12 : __real_posix_memalign(p, a, n);
}
