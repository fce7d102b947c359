/* rt/ops/vrow.h - shared code of loops over rows of floats: lanes, and sums and keys of scans and topk
 *
 * Emitted C includes it after vmath.h and vblock.h. Without vectors (tcc), the same loops run over single floats.
 */
#ifndef RT_OPS_VROW_H
#define RT_OPS_VROW_H

#include "vblock.h"

#if VC_FLOATS > 1
typedef int32_t VrI __attribute__((vector_size(VF * 4)));
#define VR_LANE(v, i) ((v)[i])
#else
#define VR_LANE(v, i) (v)
#endif

/* log(exp(s) + exp(x)), for numbers held in double. */
VC_INLINE double
vr_log_add(double s, double x)
{
	const double hi = s > x || s != s ? s : x, lo = s > x || s != s ? x : s;

	return hi != hi || lo != lo ? hi + lo : hi - hi != 0 ? hi : hi + log1p(exp(lo - hi));
}

/* The same for a float result. The smaller number's part is computed in float. */
VC_INLINE double
vr_log_addf(double s, double x)
{
	const double hi = s > x || s != s ? s : x, lo = s > x || s != s ? x : s;

	return hi - hi != 0 ? hi : hi + v_log1pf(v_expf((float)(lo - hi)));      /* also if hi is NaN */
}

/* Maps floats to integers in the same order. NaN is the greatest, and both zeros are equal (rt/ops/keys.h). */
static inline int64_t
vr_key(float x)
{
	union { float f; int32_t i; } u = { x + 0.0f };

	return x != x ? 0x7fffffff : u.i ^ ((u.i >> 31) & 0x7fffffff);
}

static inline int64_t
vr_key_double(double x)
{
	union { double f; int64_t i; } u = { x + 0.0 };

	return x != x ? 0x7fffffffffffffffLL : u.i ^ ((u.i >> 63) & 0x7fffffffffffffffLL);
}

static inline int64_t
vr_key_unsigned(uint64_t x)
{
	return (int64_t)(x ^ (uint64_t)1 << 63);
}

/* vr_select sets at[0 .. k) to the indices of the k least keys of n, in their order if sorted. Equal keys are in the
 * order of PyTorch's topk. vr_sort sorts all n, with equal keys in the order of PyTorch's sort, or of their indices.
 * `at` has room for 2 * n. */
#ifdef RT_BARE
#include "select_loops.h"
#else
void rt_select_positions(const int64_t *key, int64_t n, int64_t k, bool sorted, int64_t *at);
void rt_sort_unstably(const int64_t *key, int64_t n, int64_t *at, int64_t *work);
void rt_sort_positions(const int64_t *key, int64_t n, int64_t *order, int64_t *work);
#endif

static inline void
vr_select(const int64_t *key, int64_t n, int64_t k, bool sorted, int64_t *at)
{
	rt_select_positions(key, n, k, sorted, at);
}

static inline void
vr_sort(const int64_t *key, int64_t n, bool stable, int64_t *at)
{
	if (stable)
		rt_sort_positions(key, n, at, at + n);
	else
		rt_sort_unstably(key, n, at, at + n);
}

#endif
