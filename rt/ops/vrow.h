/* rt/ops/vrow.h - rows of generated kernels: sums, extremes, softmax, normalisation, products of what is not constant
 *
 * Included after vmath.h and vconv.h by emitted C, which calls these with constant extents.  A sum goes through several
 * vectors at once and, every VR_PART floats, into a double: as exact as the eager kernels' pairwise sums.  Extremes
 * propagate NaN.  Without vectors (tcc) the same loops run over single floats.
 */
#ifndef RT_OPS_VROW_H
#define RT_OPS_VROW_H

enum { VR_PART = 2048 };

#if VC_FLOATS > 1
typedef int32_t VrI __attribute__((vector_size(VF * 4)));
#define VR_LANE(v, i) ((v)[i])
#define VR_PICK(mask, a, b) ((VcV)(((mask) & (VrI)(a)) | (~(mask) & (VrI)(b))))
#define VR_GREATER(x, m) VR_PICK(((x) > (m)) | ((x) != (x)), x, m)
#define VR_LESS(x, m) VR_PICK(((x) < (m)) | ((x) != (x)), x, m)
#else
#define VR_LANE(v, i) (v)
#define VR_GREATER(x, m) ((x) > (m) || (x) != (x) ? (x) : (m))
#define VR_LESS(x, m) ((x) < (m) || (x) != (x) ? (x) : (m))
#endif

/* name(n, x): the sum of `term`, an expression of v, over n floats x; part_name: of one part, n <= VR_PART. */
#define VR_SUM(name, parameters, arguments, term) \
VC_INLINE double \
part_##name parameters \
{ \
	VcV acc[4] = { VC_ZERO, VC_ZERO, VC_ZERO, VC_ZERO }; \
	double sum = 0; \
	int64_t i = 0; \
\
	for (; i + 4 * VF <= n; i += 4 * VF) \
		VC_UNROLL \
		for (int j = 0; j < 4; j++) { \
			const VcV v = *(const VcV *)(x + i + j * VF); \
\
			acc[j] += term; \
		} \
	for (; i + VF <= n; i += VF) { \
		const VcV v = *(const VcV *)(x + i); \
\
		acc[0] += term; \
	} \
	acc[0] = (acc[0] + acc[1]) + (acc[2] + acc[3]); \
	for (int j = 0; j < VF; j++) \
		sum += VR_LANE(acc[0], j); \
	for (; i < n; i++) { \
		const float v = x[i]; \
\
		sum += term; \
	} \
	return sum; \
} \
VC_INLINE double \
whole_##name parameters \
{ \
	const int64_t all = n; \
	double sum = 0; \
\
	for (int64_t at = 0; at < all; at += VR_PART) { \
		n = all - at < VR_PART ? all - at : VR_PART; \
		sum += part_##name arguments; \
		x += VR_PART; \
	} \
	return sum; \
}

VR_SUM(vr_sum, (int64_t n, const float *x), (n, x), v)
VR_SUM(vr_squares, (int64_t n, const float *x, float m), (n, x, m), (v - m) * (v - m))

static inline double vr_sum(int64_t n, const float *x) { return whole_vr_sum(n, x); }
static inline double vr_squares(int64_t n, const float *x, float m) { return whole_vr_squares(n, x, m); }

#define VR_EXTREME(name, VECTOR, start, less) \
VC_INLINE float \
name(int64_t n, const float *x) \
{ \
	VcV acc[2] = { VC_ZERO + start, VC_ZERO + start }; \
	float m = start; \
	int64_t i = 0; \
\
	for (; i + 2 * VF <= n; i += 2 * VF) { \
		const VcV a = *(const VcV *)(x + i), b = *(const VcV *)(x + i + VF); \
\
		acc[0] = VECTOR(a, acc[0]); \
		acc[1] = VECTOR(b, acc[1]); \
	} \
	for (int j = 0; j < 2 * VF; j++) { \
		const float v = VR_LANE(acc[j / VF], j % VF); \
\
		m = v less m || v != v ? v : m; \
	} \
	for (; i < n; i++) \
		m = x[i] less m || x[i] != x[i] ? x[i] : m; \
	return m; \
}

VR_EXTREME(vr_max, VR_GREATER, -(1.0f / 0.0f), >)
VR_EXTREME(vr_min, VR_LESS, 1.0f / 0.0f, <)

/* ---- softmax ------------------------------------------------------------------------------------------------------ */

/* y may be x */
VC_INLINE void
vr_softmax(int64_t n, const float *x, float *y)
{
	const float m = vr_max(n, x);
	float scale;

	IVDEP
	for (int64_t i = 0; i < n; i++)
		y[i] = exp((float)(x[i] - m));
	scale = (float)(1 / whole_vr_sum(n, y));
	IVDEP
	for (int64_t i = 0; i < n; i++)
		y[i] *= scale;
}

/* The sum of exp(x - m), through a part of the row at a time. */
VC_INLINE double
vr_exponentials(int64_t n, const float *x, float m)
{
	float part[256];
	double sum = 0;

	for (int64_t at = 0; at < n; at += 256) {
		const int64_t some = n - at < 256 ? n - at : 256;

		IVDEP
		for (int64_t i = 0; i < some; i++)
			part[i] = exp((float)(x[at + i] - m));
		sum += part_vr_sum(some, part);
	}
	return sum;
}

VC_INLINE void
vr_log_softmax(int64_t n, const float *restrict x, float *restrict y)
{
	const float m = vr_max(n, x), less = (float)log(vr_exponentials(n, x, m));

	IVDEP
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] - m - less;
}

/* Over elements at distance xs and ys. */
VC_INLINE void
vr_softmax_far(int64_t n, int64_t xs, int64_t ys, bool logarithm, const float *restrict x, float *restrict y)
{
	float m = -(1.0f / 0.0f), less;
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		m = x[i * xs] > m || x[i * xs] != x[i * xs] ? x[i * xs] : m;
	for (int64_t i = 0; i < n; i++) {
		const float e = exp((float)(x[i * xs] - m));

		sum += e;
		y[i * ys] = e;
	}
	less = logarithm ? (float)log(sum) : (float)(1 / sum);
	for (int64_t i = 0; i < n; i++)
		y[i * ys] = logarithm ? x[i * xs] - m - less : y[i * ys] * less;
}

/* ---- normalisation --------------------------------------------------------------------------------------------------- */

/* weight, bias: n floats, or null; y may be x */
VC_INLINE void
vr_layer_norm(int64_t n, double eps, const float *x, const float *restrict w, const float *restrict b, float *y)
{
	const float mean = (float)(whole_vr_sum(n, x) / n);
	const float scale = (float)(1 / sqrt(whole_vr_squares(n, x, mean) / n + eps));

	IVDEP
	for (int64_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) * scale * (w ? w[i] : 1.0f) + (b ? b[i] : 0.0f);
}

/* One group: c channels at distance cs, of s places at distance ss; w, b: of its channels. */
VC_INLINE void
vr_group_norm(int64_t c, int64_t cs, int64_t s, int64_t ss, double eps, const float *x, const float *restrict w,
	      const float *restrict b, float *y)
{
	double sum = 0, squares = 0;
	const int64_t outer = ss == 1 ? c : s, os = ss == 1 ? cs : ss, inner = ss == 1 ? s : c;
	float mean, scale;

	if (ss == 1 || cs == 1)
		for (int64_t i = 0; i < outer; i++)
			sum += vr_sum(inner, x + i * os);
	else
		for (int64_t i = 0; i < c * s; i++)
			sum += x[i / s * cs + i % s * ss];
	mean = (float)(sum / (c * s));
	if (ss == 1 || cs == 1)
		for (int64_t i = 0; i < outer; i++)
			squares += vr_squares(inner, x + i * os, mean);
	else
		for (int64_t i = 0; i < c * s; i++)
			squares += (double)(x[i / s * cs + i % s * ss] - mean) * (x[i / s * cs + i % s * ss] - mean);
	scale = (float)(1 / sqrt(squares / (c * s) + eps));
	if (ss == 1) {
		for (int64_t k = 0; k < c; k++) {
			const float f = w ? w[k] * scale : scale, g = b ? b[k] : 0;

			IVDEP
			for (int64_t i = 0; i < s; i++)
				y[k * cs + i] = (x[k * cs + i] - mean) * f + g;
		}
	} else {
		for (int64_t i = 0; i < s; i++)
			IVDEP
			for (int64_t k = 0; k < c; k++)
				y[i * ss + k * cs] = (x[i * ss + k * cs] - mean) * scale * (w ? w[k] : 1.0f) + (b ? b[k] : 0.0f);
	}
}

#endif
