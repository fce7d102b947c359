/* rt/ops/vrow.h - the softmax of one row of consecutive floats, for attention; numbers and keys of scans and of topk
 *
 * Included after vmath.h and vconv.h by emitted C.  A sum goes through several vectors at once and, every VR_PART
 * floats, into a double.  An extreme propagates NaN.  Without vectors (tcc) the same loops run over single floats.
 */
#ifndef RT_OPS_VROW_H
#define RT_OPS_VROW_H

enum { VR_PART = 2048 };

#if VC_FLOATS > 1
typedef int32_t VrI __attribute__((vector_size(VF * 4)));
#define VR_LANE(v, i) ((v)[i])
#define VR_PICK(mask, a, b) ((VcV)(((mask) & (VrI)(a)) | (~(mask) & (VrI)(b))))
#define VR_GREATER(x, m) VR_PICK(((x) > (m)) | ((x) != (x)), x, m)
#else
#define VR_LANE(v, i) (v)
#define VR_GREATER(x, m) ((x) > (m) || (x) != (x) ? (x) : (m))
#endif

/* n <= VR_PART */
VC_INLINE double
vr_sum_part(int64_t n, const float *x)
{
	VcV acc[4] = { VC_ZERO, VC_ZERO, VC_ZERO, VC_ZERO };
	double sum = 0;
	int64_t i = 0;

	for (; i + 4 * VF <= n; i += 4 * VF)
		VC_UNROLL
		for (int j = 0; j < 4; j++)
			acc[j] += *(const VcV *)(x + i + j * VF);
	for (; i + VF <= n; i += VF)
		acc[0] += *(const VcV *)(x + i);
	acc[0] = (acc[0] + acc[1]) + (acc[2] + acc[3]);
	for (int j = 0; j < VF; j++)
		sum += VR_LANE(acc[0], j);
	for (; i < n; i++)
		sum += x[i];
	return sum;
}

VC_INLINE double
vr_sum(int64_t n, const float *x)
{
	double sum = 0;

	for (int64_t at = 0; at < n; at += VR_PART)
		sum += vr_sum_part(n - at < VR_PART ? n - at : VR_PART, x + at);
	return sum;
}

VC_INLINE float
vr_max(int64_t n, const float *x)
{
	const float start = -(1.0f / 0.0f);
	VcV acc[2] = { VC_ZERO + start, VC_ZERO + start };
	float m = start;
	int64_t i = 0;

	for (; i + 2 * VF <= n; i += 2 * VF) {
		const VcV a = *(const VcV *)(x + i), b = *(const VcV *)(x + i + VF);

		acc[0] = VR_GREATER(a, acc[0]);
		acc[1] = VR_GREATER(b, acc[1]);
	}
	for (int j = 0; j < 2 * VF; j++) {
		const float v = VR_LANE(acc[j / VF], j % VF);

		m = v > m || v != v ? v : m;
	}
	for (; i < n; i++)
		m = x[i] > m || x[i] != x[i] ? x[i] : m;
	return m;
}

/* y may be x */
VC_INLINE void
vr_softmax(int64_t n, const float *x, float *y)
{
	const float m = vr_max(n, x);
	float scale;

	IVDEP
	for (int64_t i = 0; i < n; i++)
		y[i] = exp((float)(x[i] - m));
	scale = (float)(1 / vr_sum(n, y));
	IVDEP
	for (int64_t i = 0; i < n; i++)
		y[i] *= scale;
}

/* log(exp(s) + exp(x)), of numbers held in double */
static inline double
vr_log_add(double s, double x)
{
	const double hi = s > x || s != s ? s : x, lo = s > x || s != s ? x : s;

	return hi != hi || lo != lo ? hi + lo : hi - hi != 0 ? hi : hi + log1p(exp(lo - hi));
}

/* Integers in the order of numbers: a NaN is the greatest, zeros are equal (rt/ops/keys.h). */
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

void select_positions(const int64_t *key, int64_t n, int64_t k, bool sorted, int64_t *at);

#endif
