/* rt/ops/vturn.h - transposes squares in registers, for generated copies and maps with transposed operands
 *
 * Interleaves halves of vectors until rows are columns, so that both sides are read and written in whole vectors.
 */
#ifndef RT_OPS_VTURN_H
#define RT_OPS_VTURN_H

#include <stdint.h>

enum { VQ_SIDE = 16 };           /* side of a square in elements, which is a tile of the schedule */

#if (defined __SSE2__ || defined __ARM_NEON) && !defined __TINYC__
#ifdef __AVX512F__
#define VQ_LANES 16
#define VQ_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define VQ_HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif defined __AVX__
#define VQ_LANES 8
#define VQ_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define VQ_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define VQ_LANES 4
#define VQ_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define VQ_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif
typedef uint32_t VqVector __attribute__((vector_size(VQ_LANES * 4), aligned(4), may_alias));

/* Computes to[i * tostep + j] = from[i + j * fromstep] for i, j < VQ_LANES and elements of 4 bytes. */
static inline void
vq_part(char *to, int64_t tostep, const char *from, int64_t fromstep)
{
	VqVector a[VQ_LANES], b[VQ_LANES];

	_Pragma("GCC unroll 16")
	for (int i = 0; i < VQ_LANES; i++)
		a[i] = *(const VqVector *)(from + i * fromstep * 4);
	_Pragma("GCC unroll 4")
	for (int half = VQ_LANES; half > 1; half /= 2) {
		_Pragma("GCC unroll 8")
		for (int i = 0; i < VQ_LANES / 2; i++) {
			b[2 * i] = VQ_LOW(a[i], a[i + VQ_LANES / 2]);
			b[2 * i + 1] = VQ_HIGH(a[i], a[i + VQ_LANES / 2]);
		}
		_Pragma("GCC unroll 16")
		for (int i = 0; i < VQ_LANES; i++)
			a[i] = b[i];
	}
	_Pragma("GCC unroll 16")
	for (int i = 0; i < VQ_LANES; i++)
		*(VqVector *)(to + i * tostep * 4) = a[i];
}
#else
#define VQ_LANES 1
static inline void
vq_part(char *to, int64_t tostep, const char *from, int64_t fromstep)
{
	(void)tostep;
	(void)fromstep;
	*(uint32_t *)to = *(const uint32_t *)from;
}
#endif

/* Computes to[i * tostep + j] = from[i + j * fromstep] for i, j < VQ_SIDE and elements of 4 bytes. The squares must not
 * overlap. */
static __attribute__((noinline, unused)) void
vq_square(void *to, int64_t tostep, const void *from, int64_t fromstep)
{
	for (int i = 0; i < VQ_SIDE; i += VQ_LANES)
		for (int j = 0; j < VQ_SIDE; j += VQ_LANES)
			vq_part((char *)to + (i * tostep + j) * 4, tostep, (const char *)from + (i + j * fromstep) * 4,
				fromstep);
}

#endif
