/* rt/ops/vattend.h - attention in generated kernels: softmax(q k' * scale + mask) v, a block of rows at a time
 *
 * The scores of a block are in scratch memory and stay in cache; the whole matrix of scores is never computed. A row of
 * scores is padded to whole vectors. It becomes weights that are not divided by their sum: the rows of the result are
 * divided instead. Keys and values are packed once for all blocks of a head, unless there are too many.
 */
#ifndef RT_OPS_VATTEND_H
#define RT_OPS_VATTEND_H

#include "vmul.h"

enum { VA_PART = 128 };                  /* number of vectors in a partial sum, which is then added to a double */

typedef struct VaAttention {
	int64_t n, inner, width;         /* q (.., inner), k (n, inner), v (n, width) */
	int64_t qr, qc, kr, kc, vr, vc, mr, mc, yr;      /* strides of rows and columns */
	float scale;
	float empty;    /* weight of the keys in a row that is masked out: NaN, as a softmax gives, or 0 */
	int   causal;
	int64_t rows, block;             /* number of queries of a head; most rows of a block */
	int64_t batch, dims[VA_DIMS];    /* number of the batch's dims, and their sizes */
	int64_t qb[VA_DIMS], kb[VA_DIMS], vb[VA_DIMS], mb[VA_DIMS], yb[VA_DIMS];         /* strides along them */
} VaAttention;

/* The head whose keys and values are in scratch memory. Its pointers are null if there is none. */
typedef struct VaPacked {
	const float *k, *v;
} VaPacked;

static inline int64_t
va_packed(const VaAttention *g)
{
	return vs_attention_packed(VC_UNIT, g->n, g->inner, g->width);
}

static inline int64_t
va_scratch(int64_t m, const VaAttention *g)
{
	return vs_attention(VC_UNIT, VC_NR, m, g->n, g->inner, g->width);
}

/* Returns exp(x) for x <= 0 or NaN. Returns 0 below the smallest normal number, because products with subnormal numbers
 * are slow. */
VC_INLINE VcV
va_exp(VcV x)
{
#if VC_FLOATS > 1
	const VcV k = x * 1.44269504f + 12582912.0f, n = k - 12582912.0f;
	const VcV r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
	const VcV q = r * r, a = r * 1.6666665459e-1f + 5.0000001201e-1f, b = r * 8.3334519073e-3f + 4.1665795894e-2f;
	VcV p = ((r * 1.9875691500e-4f + 1.3981999507e-3f) * q + b) * q + a;

	p = p * q + (r + 1.0f);
	p = (VcV)((VrI)p + ((VrI)k << 23));
	return (VcV)(((VrI)p & (x > -87.0f)) | (x != x));
#else
	return x > -87.0f ? exp(x) : x != x ? x : 0;
#endif
}

/* Returns the maximum of all lanes, in each lane. */
VC_INLINE VcV
va_greatest(VcV x)
{
#define VA_ROUND(...) x = vc_greater(x, (VcV)__builtin_shufflevector(x, x, __VA_ARGS__));
	VC_ROUNDS(VA_ROUND)
#undef VA_ROUND
	return x;
}

/* Returns the term to add to the last vector of a row of n elements: -infinity beyond the row's end. Storing -infinity
 * there instead would stall the loads that follow. */
VC_INLINE VcV
va_edge(int64_t n)
{
#if VC_FLOATS > 1
	VcV edge = VC_ZERO;

	for (int64_t j = n - vm_whole(n) + VF; j < VF; j++)
		edge[j] = -(1.0f / 0.0f);
	return edge;
#else
	(void)n;
	return 0;
#endif
}

/* Scales a row of n scores, which zeros pad to whole vectors, and replaces them by weights. Returns the factor for the
 * result's row. The maximum skips NaN; a NaN makes the sum, and so the whole row, NaN. */
VC_INLINE float
va_weights(int64_t n, float scale, float empty, VcV edge, float *s)
{
	const int64_t last = vm_whole(n) - VF;
	const float infinity = 1.0f / 0.0f;
	VcV most = *(const VcV *)(s + last) + edge, other = VC_ZERO - infinity, part = VC_ZERO, e;
	double sum = 0;

	for (int64_t j = 0; j < last; j += 2 * VF) {
		most = vc_greater(*(const VcV *)(s + j), most);
		other = vc_greater(*(const VcV *)(s + (j + VF < last ? j + VF : j)), other);
	}
	most = va_greatest(vc_greater(other, vc_greater(most, VC_ZERO - infinity))) * scale;
	if (VR_LANE(most, 0) == -infinity) {
		for (int64_t j = 0; j < n; j++)
			s[j] = s[j] != s[j] ? s[j] : empty;
		return 1;
	}
	for (int64_t from = 0; from < last; from += VA_PART * VF) {
		const int64_t to = last - from < VA_PART * VF ? last : from + VA_PART * VF;

		for (int64_t j = from; j < to; j += VF) {
			e = va_exp(*(const VcV *)(s + j) * scale - most);
			*(VcV *)(s + j) = e;
			part += e;
		}
		if (to < last) {
			sum += vc_sum(part);
			part = VC_ZERO;
		}
	}
	e = va_exp((*(const VcV *)(s + last) + edge) * scale - most);
	*(VcV *)(s + last) = e;
	return 1 / (float)(sum + vc_sum(part + e));
}

/* Keeps the first n lanes of x and sets the others to -infinity. */
VC_INLINE VcV
va_first(int64_t n, VcV x)
{
#if VC_FLOATS > 1
	VcMask keep;

	VC_UNROLL
	for (int i = 0; i < VF; i++)
		keep[i] = -(i < n);
	return (VcV)((keep & (VcMask)x) | (~keep & (VcMask)(VC_ZERO - 1.0f / 0.0f)));
#else
	return n > 0 ? x : -(1.0f / 0.0f);
#endif
}

/* Loads VF numbers of the mask. */
VC_INLINE VcV
va_mask_read(const float *add, int64_t step)
{
	float part[VF];

	if (step == 1)
		return *(const VcV *)add;
	for (int i = 0; i < VF; i++)
		part[i] = add[i * step];
	return *(const VcV *)part;
}

/* Loads the last vector of a mask's row of n elements, with -infinity beyond its end. `more` tells whether the mask may
 * be read beyond the row. */
VC_INLINE VcV
va_mask_end(int64_t n, int64_t step, bool more, const float *add)
{
	const int64_t last = vm_whole(n) - VF;
	float part[VF];

	if (n % VF == 0 || (more && step == 1))
		return va_first(n - last, va_mask_read(add + last * step, step));
	for (int64_t j = 0; j < VF; j++)
		part[j] = last + j < n ? add[(last + j) * step] : -(1.0f / 0.0f);
	return *(const VcV *)part;
}

/* Scales a row of n scores and adds the mask. `end` is the mask's last vector, `keys` the number of keys that the row
 * sees. */
VC_INLINE void
va_mask(int64_t n, int64_t keys, float scale, const float *add, int64_t step, VcV end, float *row)
{
	for (int64_t j = 0; j < n; j += VF) {
		VcV x = *(const VcV *)(row + j) * scale;

		if (j == n - VF)
			x += end;
		else if (add)
			x += va_mask_read(add + j * step, step);
		*(VcV *)(row + j) = j + VF <= keys ? x : va_first(keys - j, x);
	}
}

/* Multiplies a row of the result by the factor that va_weights returned. */
VC_INLINE void
va_divide(int64_t width, float by, float *y)
{
	int64_t j = 0;

	for (; j + VF <= width; j += VF)
		*(VcV *)(y + j) *= by;
	for (; j < width; j++)
		y[j] *= by;
}

/* Returns the number of columns of scores to compute for the first n keys. Packed keys are computed in whole panels. */
VC_INLINE int64_t
va_columns(const VaAttention *g, int64_t n)
{
	const int64_t all = vm_whole(g->n), some = va_packed(g) ? (n + VC_NR - 1) / VC_NR * VC_NR : vm_whole(n);

	return some < all ? some : all;
}

/* Computes rows [first, first + m) of one head. q, y and mask point to row `first`; mask may be null. Without a mask,
 * skips keys that none of these rows sees. */
VC_SHARED void
va_attention(int64_t first, int64_t m, const VaAttention *g, const float *q, const float *k, const float *v,
	     const float *mask, float *y, float *scratch, VaPacked *packed)
{
	const int64_t n = g->causal && !mask && first + m < g->n ? first + m : g->n, whole = vm_whole(n);
	const int64_t columns = va_columns(g, n), size = va_packed(g);
	const bool masked = mask || g->causal || !(g->scale > 0);
	float *keys = scratch, *values = keys + g->inner * vm_panel(g->n), *s = scratch + size, *by = s + m * columns,
	      *rest = by + m;

	const VcV edge = va_edge(n);
	VcV end = VC_ZERO;

	if (size && (packed->k != k || packed->v != v)) {
		vm_pack_all(g->n, g->inner, k, g->kc, g->kr, keys);
		vm_pack_all(g->width, g->n, v, g->vr, g->vc, values);
		*packed = (VaPacked){ k, v };
	}
	if (size && g->qc != 1)
		vm_pack_rows(m, g->inner, q, g->qr, g->qc, rest);
	if (size) {
		vm_product_packed(m, columns, g->inner, g->qc == 1 ? q : rest, g->qc == 1 ? g->qr : g->inner, keys,
				  g->inner, s, columns);
	} else {
		vm_product(m, n, g->inner, q, g->qr, g->qc, k, g->kc, g->kr, 0, s, columns, rest);
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = n; j < whole; j++)
				s[i * columns + j] = 0;
	}
	for (int64_t i = 0; i < m; i++) {
		if (masked) {
			const float *add = mask ? mask + i * g->mr : 0;

			if (mask && (!i || g->mr))
				end = va_mask_end(g->n, g->mc, i + 1 < m && g->mr + g->n >= whole, add);
			va_mask(whole, g->causal && first + i < n ? first + i + 1 : whole, g->scale, add, g->mc, end,
				s + i * columns);
		}
		by[i] = va_weights(n, masked ? 1 : g->scale, g->empty, edge, s + i * columns);
	}
	if (size)
		vm_product_packed(m, g->width, n, s, columns, values, g->n, y, g->yr);
	else
		vm_product(m, g->width, n, s, columns, 1, v, g->vr, g->vc, 0, y, g->yr, rest);
	for (int64_t i = 0; i < m; i++)
		va_divide(g->width, by[i], y + i * g->yr);
}

/* Computes units of all heads. A unit is a block of rows of one head. mask may be null. */
VC_INLINE void
va_attend(int64_t begin, int64_t end, const VaAttention *g, const float *q, const float *k, const float *v,
	  const float *mask, float *y, float *scratch)
{
	const int64_t blocks = (g->rows + g->block - 1) / g->block;
	VaPacked packed = { 0, 0 };

	for (int64_t unit = begin; unit < end; unit++) {
		const int64_t first = unit % blocks * g->block, left = g->rows - first;
		int64_t qo = first * g->qr, ko = 0, vo = 0, mo = first * g->mr, yo = first * g->yr;
		int64_t rest = unit / blocks;

		for (int64_t d = g->batch - 1; d >= 0; d--) {
			const int64_t at = rest % g->dims[d];

			rest /= g->dims[d];
			qo += at * g->qb[d];
			ko += at * g->kb[d];
			vo += at * g->vb[d];
			mo += at * g->mb[d];
			yo += at * g->yb[d];
		}
		va_attention(first, left < g->block ? left : g->block, g, q + qo, k + ko, v + vo,
			     mask ? mask + mo : 0, y + yo, scratch, &packed);
	}
}

#endif
