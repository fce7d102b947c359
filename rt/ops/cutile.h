/* rt/ops/cutile.h - the support code of generated CUDA kernels: number formats, tiled products, convolutions
 *
 * Compiled by NVRTC (or a C++ compiler with an emulated grid) and included by nothing else.  Extents and strides reach
 * the kernels as constants of lambdas that are inlined, so that the index arithmetic folds.
 *
 * A product is computed by blocks of 256 threads in tiles of 64 x 64, 16 deep, that lie in shared memory; each thread
 * keeps 4 x 4 sums in registers.  A convolution is the same product whose left side is read through its window
 * ("implicit gemm").
 */
#ifndef RT_OPS_CUTILE_H
#define RT_OPS_CUTILE_H

typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
#ifndef CU_HAS_INT64
typedef long long int64_t;
typedef unsigned long long uint64_t;
#endif

/* libm's functions of integers, which rows may ask for; CUDA only has them of floats. */
#define CU_OF_INTEGERS(fn) \
	static __device__ __forceinline__ double fn(int64_t x) { return fn((double)x); } \
	static __device__ __forceinline__ double fn(bool x) { return fn((double)x); }
CU_OF_INTEGERS(ceil)
CU_OF_INTEGERS(exp2)
CU_OF_INTEGERS(floor)
CU_OF_INTEGERS(rint)
CU_OF_INTEGERS(trunc)
static __device__ __forceinline__ double copysign(int64_t x, int64_t y) { return copysign((double)x, (double)y); }
static __device__ __forceinline__ double copysign(bool x, bool y) { return copysign((double)x, (double)y); }

#include "tmath.h"

#define KILN_INF (1e300 * 1e300)
#define KILN_MINUS_INF (-KILN_INF)
#define KILN_NAN (KILN_INF - KILN_INF)
#define CU_INLINE static __device__ __forceinline__

enum { CU_TILE = 64, CU_DEEP = 16, CU_BLOCK = 256, CU_EACH = 4 };

/* ---- number formats ---------------------------------------------------------------------------------------------- */

union CuBits { float f; uint32_t u; };

CU_INLINE float
half_to_float(uint16_t h)
{
	const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
	union CuBits b;

	if (magnitude < 0x400)
		return (sign ? -1.0f : 1.0f) * (float)magnitude * 5.9604644775390625e-08f;
	b.u = sign | (magnitude << 13);
	b.u += magnitude >= 0x7c00 ? 0x70000000u : 0x38000000u;
	return b.f;
}

/* To the nearest, ties to even. */
CU_INLINE uint16_t
float_to_half(float f)
{
	union CuBits b, scaled;
	uint32_t sign, u;

	b.f = f;
	sign = b.u >> 16 & 0x8000;
	u = b.u & 0x7fffffff;
	if (u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (u >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);
	if (u < 0x38800000) {           /* a subnormal half: the addition rounds */
		b.u = u;
		scaled.f = b.f + 0.5f;
		return (uint16_t)(sign | (scaled.u - 0x3f000000));
	}
	return (uint16_t)(sign | ((u - 0x38000000 + 0xfff + (u >> 13 & 1)) >> 13));
}

CU_INLINE float
bf16_to_float(uint16_t h)
{
	union CuBits b;

	b.u = (uint32_t)h << 16;
	return b.f;
}

CU_INLINE uint16_t
float_to_bf16(float f)
{
	union CuBits b;

	b.f = f;
	return f != f ? 0x7fc0 : (uint16_t)((b.u + 0x7fff + (b.u >> 16 & 1)) >> 16);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* store(row, column, sum over k of a(row, k) * b(k, column)) for the block's tile of (m, n).  AlongK: neighbours in b
 * are neighbours in k. */
template <bool AlongK, class A, class B, class Store>
CU_INLINE void
cu_product(int64_t m, int64_t n, int64_t k, A a, B b, Store store)
{
	__shared__ float as[CU_DEEP][CU_TILE + 4], bs[CU_DEEP][CU_TILE + 4];
	const int64_t row0 = (int64_t)blockIdx.x * CU_TILE, col0 = (int64_t)blockIdx.y * CU_TILE;
	const int t = (int)threadIdx.x, r0 = t / 16 * CU_EACH, c0 = t % 16 * CU_EACH;
	float sum[CU_EACH][CU_EACH] = {};

	for (int64_t k0 = 0; k0 < k; k0 += CU_DEEP) {
		for (int i = t; i < CU_TILE * CU_DEEP; i += CU_BLOCK) {
			const int r = i / CU_DEEP, d = i % CU_DEEP;
			const int c = AlongK ? r : i % CU_TILE, e = AlongK ? d : i / CU_TILE;

			as[d][r] = row0 + r < m && k0 + d < k ? a(row0 + r, k0 + d) : 0.0f;
			bs[e][c] = col0 + c < n && k0 + e < k ? b(k0 + e, col0 + c) : 0.0f;
		}
		__syncthreads();
#pragma unroll
		for (int d = 0; d < CU_DEEP; d++)
#pragma unroll
			for (int i = 0; i < CU_EACH; i++)
#pragma unroll
				for (int j = 0; j < CU_EACH; j++)
					sum[i][j] += as[d][r0 + i] * bs[d][c0 + j];
		__syncthreads();
	}
	for (int i = 0; i < CU_EACH; i++)
		for (int j = 0; j < CU_EACH; j++)
			if (row0 + r0 + i < m && col0 + c0 + j < n)
				store(row0 + r0 + i, col0 + c0 + j, sum[i][j]);
}

#endif
