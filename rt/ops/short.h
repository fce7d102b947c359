/* rt/ops/short.h - copies of few bytes, in eager and generated kernels
 *
 * Most runs of an image's rows are too short to be worth a call. */
#ifndef RT_OPS_SHORT_H
#define RT_OPS_SHORT_H

#include <stddef.h>
#ifdef __TINYC__
void *memcpy(void *, const void *, size_t);      /* libtcc inside Kiln has no headers of a C library */
void *memset(void *, int, size_t);
#else
#include <string.h>
#endif

enum { SHORT_MOST = 512 };       /* largest number of bytes that are copied here; more are worth a call */

/* Copies n >= 0 bytes in pieces. The last piece may overlap the one before it. */
static inline void
copy_short(void *restrict to, const void *restrict from, ptrdiff_t n)
{
	char *const t = to;
	const char *const f = from;

	if (n >= 16) {
		for (ptrdiff_t i = 0; i < n - 16; i += 16)
			memcpy(t + i, f + i, 16);
		memcpy(t + n - 16, f + n - 16, 16);
	} else if (n >= 8) {
		memcpy(t, f, 8);
		memcpy(t + n - 8, f + n - 8, 8);
	} else if (n >= 4) {
		memcpy(t, f, 4);
		memcpy(t + n - 4, f + n - 4, 4);
	} else {
		for (ptrdiff_t i = 0; i < n; i++)
			t[i] = f[i];
	}
}

#endif
