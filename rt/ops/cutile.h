/* rt/ops/cutile.h - support code of generated CUDA kernels: number formats, tiled products, attention
 *
 * NVRTC compiles it, or a C++ compiler with an emulated grid. Only generated kernels include it. Kernels pass extents
 * and strides as constants of inlined lambdas, so that index arithmetic folds.
 *
 * Blocks of 256 threads compute a product in tiles of 64 x 64, 16 deep, in shared memory. Each thread has 4 x 4
 * accumulators in registers. A convolution is the same product, with a left operand that is read through its window
 * (implicit gemm). Attention is two such products, tile by tile of keys. */
#ifndef RT_OPS_CUTILE_H
#define RT_OPS_CUTILE_H

#ifdef __CUDACC_RTC__
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
#elif !defined CU_HAS_INT64
#include <stdint.h>
#endif

/* libm's functions for integer arguments, which operators' expressions may call. CUDA has them for floats only. */
#define CU_OF_INTEGERS(fn) \
	static __device__ __forceinline__ double fn(int64_t x) { return fn((double)x); } \
	static __device__ __forceinline__ double fn(bool x) { return fn((double)x); }
CU_OF_INTEGERS(ceil)
CU_OF_INTEGERS(exp2)
CU_OF_INTEGERS(floor)
CU_OF_INTEGERS(rint)
CU_OF_INTEGERS(trunc)
#ifdef __NVCC__
static __device__ __forceinline__ double fmod(double x, int y) { return fmod(x, (double)y); }
#endif
static __device__ __forceinline__ double copysign(int64_t x, int64_t y) { return copysign((double)x, (double)y); }
static __device__ __forceinline__ double copysign(bool x, bool y) { return copysign((double)x, (double)y); }

#include "tmath.h"

#define KILN_INF (1e300 * 1e300)
#define KILN_MINUS_INF (-KILN_INF)
#define KILN_NAN (KILN_INF - KILN_INF)
#define CU_INLINE static __device__ __forceinline__

enum { CU_TILE = 64, CU_DEEP = 16, CU_BLOCK = 256, CU_EACH = 4 };

/* The sizes of a call, if they are dynamic. */
enum { CU_SIZES = 64 };
struct CuSizes {
	int64_t at[CU_SIZES];
	__device__ __forceinline__ int64_t operator[](int i) const { return at[i]; }
};

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

/* Rounds to the nearest half, ties to even. */
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

CU_INLINE float
half_rounded(float f)
{
	return half_to_float(float_to_half(f));
}

CU_INLINE float
bf16_rounded(float f)
{
	return bf16_to_float(float_to_bf16(f));
}

/* ---- scans ------------------------------------------------------------------------------------------------------- */

/* log(exp(s) + exp(x)), as in vrow.h; for a float result, the smaller number's part is computed in float. */
CU_INLINE double
vr_log_add(double s, double x)
{
	const double hi = s > x || s != s ? s : x, lo = s > x || s != s ? x : s;

	return hi != hi || lo != lo ? hi + lo : hi - hi != 0 ? hi : hi + log1p(exp(lo - hi));
}

CU_INLINE double
vr_log_addf(double s, double x)
{
	const double hi = s > x || s != s ? s : x, lo = s > x || s != s ? x : s;

	return hi - hi != 0 ? hi : hi + log1pf(expf((float)(lo - hi)));
}

/* ---- keys of floats, as in vrow.h -------------------------------------------------------------------------------- */

CU_INLINE int64_t
vr_key(float x)
{
	union { float f; int32_t i; } u = { x + 0.0f };

	return x != x ? 0x7fffffff : u.i ^ ((u.i >> 31) & 0x7fffffff);
}

CU_INLINE int64_t
vr_key_double(double x)
{
	union { double f; int64_t i; } u = { x + 0.0 };

	return x != x ? 0x7fffffffffffffffLL : u.i ^ ((u.i >> 63) & 0x7fffffffffffffffLL);
}

CU_INLINE int64_t
vr_key_unsigned(uint64_t x)
{
	return (int64_t)(x ^ (uint64_t)1 << 63);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Tile of a block in a product (m, n) with k terms: its first row and column, and the sizes. */
struct CuTile {
	int64_t row, column, m, n, k;
};

/* Adds to sum[i][j] the sum over k of a(row, k) * b(k, column), for 4 x 4 elements of the tile in each thread. AlongK:
 * whether consecutive k are adjacent in b's memory. */
template <bool AlongK, class A, class B>
CU_INLINE void
cu_multiply(const CuTile &at, A a, B b, float sum[CU_EACH][CU_EACH])
{
	__shared__ float as[CU_DEEP][CU_TILE + 4], bs[CU_DEEP][CU_TILE + 4];
	const int t = (int)threadIdx.x, r0 = t / 16 * CU_EACH, c0 = t % 16 * CU_EACH;

	for (int64_t k0 = 0; k0 < at.k; k0 += CU_DEEP) {
		for (int i = t; i < CU_TILE * CU_DEEP; i += CU_BLOCK) {
			const int r = i / CU_DEEP, d = i % CU_DEEP;
			const int c = AlongK ? r : i % CU_TILE, e = AlongK ? d : i / CU_TILE;

			as[d][r] = at.row + r < at.m && k0 + d < at.k ? a(at.row + r, k0 + d) : 0.0f;
			bs[e][c] = at.column + c < at.n && k0 + e < at.k ? b(k0 + e, at.column + c) : 0.0f;
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
}

/* Calls store(row, column, sum over k of a(row, k) * b(k, column)) for the block's tile of (m, n). AlongK: as above. */
template <bool AlongK, class A, class B, class Store>
CU_INLINE void
cu_product(int64_t m, int64_t n, int64_t k, A a, B b, Store store)
{
	const CuTile at = { (int64_t)blockIdx.x * CU_TILE, (int64_t)blockIdx.y * CU_TILE, m, n, k };
	const int t = (int)threadIdx.x;
	const int64_t row = at.row + t / 16 * CU_EACH, column = at.column + t % 16 * CU_EACH;
	float sum[CU_EACH][CU_EACH] = {};

	cu_multiply<AlongK>(at, a, b, sum);
	for (int i = 0; i < CU_EACH; i++)
		for (int j = 0; j < CU_EACH; j++)
			if (row + i < m && column + j < n)
				store(row + i, column + j, sum[i][j]);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Return the maximum, or the sum, over the 16 threads that share rows, in each of these threads. */
CU_INLINE float
cu_most(float x)
{
	for (int way = 8; way; way /= 2) {
		const float other = __shfl_xor_sync(0xffffffffu, x, way);

		x = other > x ? other : x;
	}
	return x;
}

CU_INLINE float
cu_sum(float x)
{
	for (int way = 8; way; way /= 2)
		x += __shfl_xor_sync(0xffffffffu, x, way);
	return x;
}

struct CuAttention {
	int64_t rows, keys, inner, width;
	float   empty;           /* result of a row that sees no key */
	bool    causal;
};

/* State of the rows of the block's tile: running maximum, sum of weights exp(score - most), and weighted sum of the
 * values so far. */
template <int Columns>
struct CuRows {
	float most[CU_EACH], weights[CU_EACH], sum[CU_EACH][Columns];
};

/* Replaces the scores of the next tile of keys by weights. Rescales the sums so far to the new maximum. */
template <int Columns>
CU_INLINE void
cu_weigh(CuRows<Columns> &rows, float s[CU_EACH][CU_EACH])
{
	for (int i = 0; i < CU_EACH; i++) {
		float most = rows.most[i], sum = 0, before;

		for (int j = 0; j < CU_EACH; j++)
			most = s[i][j] > most ? s[i][j] : most;
		most = cu_most(most);
		before = rows.most[i] > -(float)KILN_INF ? expf(rows.most[i] - most) : 0.0f;
		for (int j = 0; j < CU_EACH; j++) {
			s[i][j] = s[i][j] > -(float)KILN_INF || s[i][j] != s[i][j] ? expf(s[i][j] - most) : 0.0f;
			sum += s[i][j];
		}
		rows.most[i] = most;
		rows.weights[i] = rows.weights[i] * before + cu_sum(sum);
		for (int c = 0; c < Columns; c++)
			rows.sum[i][c] *= before;
	}
}

/* Adds the weighted values of a tile of keys. */
template <int Columns, class V>
CU_INLINE void
cu_add_values(CuRows<Columns> &rows, const CuAttention &g, int64_t key0, const float s[CU_EACH][CU_EACH], V v)
{
	__shared__ float weights[CU_TILE][CU_TILE + 4], values[CU_DEEP][16 * Columns];
	const int t = (int)threadIdx.x, r0 = t / 16 * CU_EACH, c0 = t % 16;

	for (int i = 0; i < CU_EACH; i++)
		for (int j = 0; j < CU_EACH; j++)
			weights[r0 + i][c0 * CU_EACH + j] = s[i][j];
	for (int j0 = 0; j0 < CU_TILE; j0 += CU_DEEP) {
		for (int i = t; i < CU_DEEP * 16 * Columns; i += CU_BLOCK) {
			const int j = i / (16 * Columns), c = i % (16 * Columns);
			const bool there = key0 + j0 + j < g.keys && c < g.width;

			values[j][c] = there ? v(key0 + j0 + j, c) : 0.0f;
		}
		__syncthreads();
		for (int j = 0; j < CU_DEEP; j++)
#pragma unroll
			for (int i = 0; i < CU_EACH; i++)
#pragma unroll
				for (int c = 0; c < Columns; c++)
					rows.sum[i][c] += weights[r0 + i][j0 + j] * values[j][c * 16 + c0];
		__syncthreads();
	}
}

/* Calls store(row, column, sum of softmax(score(row, key, q k')) v) for 64 rows. Processes keys in tiles of 64 with a
 * running maximum (Dao et al., FlashAttention, 2022). A thread computes four rows and columns c0, c0 + 16, ... of
 * `width`, which is at most 16 Columns. */
template <int Columns, class Q, class K, class V, class Score, class Store>
CU_INLINE void
cu_attention(CuAttention g, Q q, K k, V v, Score score, Store store)
{
	const int64_t row0 = (int64_t)blockIdx.x * CU_TILE, end = row0 + CU_TILE;
	const int t = (int)threadIdx.x, r0 = t / 16 * CU_EACH, c0 = t % 16;
	CuRows<Columns> rows = {};

	for (int i = 0; i < CU_EACH; i++)
		rows.most[i] = -(float)KILN_INF;
	for (int64_t key0 = 0; key0 < g.keys && (!g.causal || key0 < end); key0 += CU_TILE) {
		const CuTile at = { row0, key0, g.rows, g.keys, g.inner };
		float s[CU_EACH][CU_EACH] = {};

		cu_multiply<true>(at, q, [&](int64_t d, int64_t key) { return k(key, d); }, s);
		for (int i = 0; i < CU_EACH; i++)
			for (int j = 0; j < CU_EACH; j++) {
				const int64_t row = row0 + r0 + i, key = key0 + c0 * CU_EACH + j;
				const bool there = row < g.rows && key < g.keys && (!g.causal || key <= row);

				s[i][j] = there ? score(row, key, s[i][j]) : -(float)KILN_INF;
			}
		cu_weigh(rows, s);
		cu_add_values(rows, g, key0, s, v);
	}
	for (int i = 0; i < CU_EACH; i++)
		for (int c = 0; c < Columns; c++)
			if (row0 + r0 + i < g.rows && c * 16 + c0 < g.width)
				store(row0 + r0 + i, c * 16 + c0, rows.weights[i] == 0 ? g.empty :
				      rows.sum[i][c] / rows.weights[i]);
}

#endif
