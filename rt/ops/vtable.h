/* rt/ops/vtable.h - maps bytes by a table of 256, in generated kernels */
#ifndef RT_OPS_VTABLE_H
#define RT_OPS_VTABLE_H

#include <stdint.h>

#if defined __AVX512VBMI__ && defined __GNUC__ && !defined __clang__      /* clang lacks the shuffle */
typedef uint8_t VlBytes __attribute__((vector_size(64), aligned(1), may_alias));
typedef int8_t VlSigned __attribute__((vector_size(64), aligned(1), may_alias));

/* Maps whole vectors. A permutation of two registers looks up 128 bytes of the table. Returns the number of bytes
 * mapped. */
static inline int64_t
vl_vectors(uint8_t *y, const uint8_t *x, int64_t n, const uint8_t table[256])
{
	const VlBytes a = *(const VlBytes *)table, b = *(const VlBytes *)(table + 64);
	const VlBytes c = *(const VlBytes *)(table + 128), d = *(const VlBytes *)(table + 192);
	int64_t i = 0;

	for (; i + 64 <= n; i += 64) {
		const VlBytes at = *(const VlBytes *)(x + i), high = (VlBytes)((VlSigned)at < 0);

		*(VlBytes *)(y + i) = (__builtin_shuffle(a, b, at) & ~high) | (__builtin_shuffle(c, d, at) & high);
	}
	return i;
}
#else
#define vl_vectors(y, x, n, table) 0
#endif

/* Computes y[i] = table[x[i]]. */
static inline void
vl_look_up(void *to, const void *from, int64_t n, const void *table)
{
	const uint8_t *const x = from, *const t = table;
	uint8_t *const y = to;

	for (int64_t i = vl_vectors(y, x, n, t); i < n; i++)
		y[i] = t[x[i]];
}

#endif
