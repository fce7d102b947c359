/* rt/ops/vcoarse.h - products of generated kernels by low-bit weights, in blocks of vblock.h
 *
 *    w[k][n] = (q[k][n] + centre[g][n]) * scale[g][n]        g = k / group; q is signed, of 8 or 4 bits
 *
 * Weights may also be finite numbers of bfloat16 or float16, or of 8 bits times a scale (float8_e4m3fnuz,
 * float8_e5m2fnuz without NaN).
 *
 * They are in panels of VC_PANEL output channels, [panel][word][VC_PANEL]. A 32-bit word has 2, 4 or 8 elements of k,
 * the first one in its lowest bits. Integers have scales, [panel][group][VC_PANEL], and centres in the same layout
 * behind all scales.
 *
 * With few rows and integers, elements of a word are masked, not shifted. Element i is then 2^(bits * i) times too
 * large, and its input is scaled down by as much. The last element of a word keeps its sign. The others are stored with
 * an offset of half their range. The offset is subtracted from the integer before it is converted, because the sums of
 * small weights would lose their digits beside it. Scales multiply sums.
 *
 * With many rows, VC_RUN elements of k are converted to floats in the L1 cache, equal to the model's weights, for
 * register blocks. */
#ifndef RT_OPS_VCOARSE_H
#define RT_OPS_VCOARSE_H

#include "short.h"
#include "vblock.h"

typedef struct VkProduct {           /* c (m, n) = a (m, k) * w + bias; rows are lda and ldc apart */
	ptrdiff_t m, n, k, lda, ldc;
	ptrdiff_t group; /* number of elements of k that share a scale: k, or a multiple of 16; k for 16-bit floats */
	ptrdiff_t centred;               /* whether there are centres */
	ptrdiff_t chunk;                 /* largest number of rows of a unit of work */
	const float *range;              /* as in VcConv */
} VkProduct;

typedef struct VkWeights {
	const int32_t *words;
	const float   *scale;            /* scales of integers */
} VkWeights;

typedef enum VkType { VK_INT4, VK_INT8, VK_E4M3, VK_E5M2, VK_BF16, VK_F16 } VkType;

enum {
	VK_V = VC_PANEL / VF,             /* number of vectors in a panel */
	VK_PANELS = VC_NR / VC_PANEL,     /* number of panels of a unit of work */
	/* number of floats of a line that a register block reads */
	VK_LINE = VC_BLOCK < VC_PANEL ? VC_BLOCK : VC_PANEL,
	VK_FEW = VF > 4 ? 4 : 2, /* number of rows whose accumulators fit in registers beside the converted weights */
	VK_FEW_HALVES = 2 * VK_FEW,      /* largest number of rows for which 16-bit floats are widened in registers */
	VK_SUMS = VF > 8 ? 16 : 8,       /* number of accumulators, enough to hide the latency of a multiply-add */
	VK_RUN = 256,                    /* largest number of elements of k in a sum */
	VK_MOST = 512, VK_MOST_E5M2 = 1 << 16,    /* bounds of the magnitudes of integers, centres and 8-bit floats */
};

#if VC_FLOATS > 1
typedef int32_t VkI __attribute__((vector_size(VF * 4), aligned(4), may_alias));
#define VK_FLOATS(x) ((VcV)__builtin_convertvector(x, VcV))
#define VK_BITS(x) ((VcV)(x))            /* reinterprets bits as floats */
#define VK_HIGH(x, n) ((x) << (n))
#else
typedef int32_t VkI;
#define VK_FLOATS(x) ((float)(x))
#define VK_HIGH(x, n) ((int32_t)((uint32_t)(x) << (n)))
#define VK_BITS(x) (((union { int32_t i; float f; }){ .i = (x) }).f)
#endif

VC_INLINE bool
vk_is_half(VkType type)
{
	return type == VK_BF16 || type == VK_F16;
}

/* Returns the number of bits of an element. */
VC_INLINE int
vk_size(VkType type)
{
	return vk_is_half(type) ? 16 : type == VK_INT4 ? 4 : 8;
}

/* Returns the mask of a word's element i. Read as a number, the element is too large by a factor that is the mask's
 * lowest bit. */
VC_INLINE int32_t
vk_mask(int bits, int i)
{
	return (int32_t)((((uint32_t)1 << bits) - 1) << bits * i);
}

/* Returns the offset that is stored with element i of a word. */
VC_INLINE int32_t
vk_more(int bits, int i)
{
	return i < 32 / bits - 1 ? (int32_t)1 << (bits * (i + 1) - 1) : 0;
}

VC_INLINE float
vk_unit(int bits, int i)
{
	return 1 / (float)((uint32_t)1 << bits * i);
}

/* Returns the number of elements, from `at` on, of the next partial sum. */
VC_INLINE ptrdiff_t
vk_run(const VkProduct *v, ptrdiff_t at, ptrdiff_t most)
{
	const ptrdiff_t left = v->k - at, some = v->group < most ? v->group : most;

	return left < some ? left : some;
}

/* Widens element i of words of 16-bit floats. The bits of a float16 are shifted to the position of a float's, which
 * makes it 2^112 times too small. */
VC_INLINE VcV
vk_half(VkType type, VkI word, int i)
{
	const VkI high = i ? word : VK_HIGH(word, 16);

	if (type == VK_BF16)
		return VK_BITS(high & (int32_t)0xffff0000);
	return VK_BITS((high >> 3) & (int32_t)0x8fffe000) * VC_SET(0x1p112f);
}

VC_INLINE bool
vk_is_float8(VkType type)
{
	return type == VK_E4M3 || type == VK_E5M2;
}

/* Widens element i of words of 8-bit floats in the same way. They are 2^119 and 2^111 times too small. */
VC_INLINE VcV
vk_float8(VkType type, VkI word, int i)
{
	const VkI high = i < 3 ? VK_HIGH(word, 24 - 8 * i) : word;

	if (type == VK_E4M3)
		return VK_BITS((high >> 4) & (int32_t)0x87f00000) * VC_SET(0x1p119f);
	return VK_BITS((high >> 3) & (int32_t)0x8fe00000) * VC_SET(0x1p111f);
}

VC_INLINE ptrdiff_t
vk_words(VkType type, ptrdiff_t k)
{
	return (k * vk_size(type) + 31) / 32;
}

/* Returns the offset of the scales of the panel's group at element `at`. The centres are behind all scales. */
VC_INLINE ptrdiff_t
vk_scales(const VkProduct *v, ptrdiff_t panel, ptrdiff_t at)
{
	return (panel * ((v->k + v->group - 1) / v->group) + at / v->group) * VC_PANEL;
}

VC_INLINE ptrdiff_t
vk_centres(const VkProduct *v)
{
	return vk_scales(v, (v->n + VC_PANEL - 1) / VC_PANEL, 0);
}

/* ---- few rows ---------------------------------------------------------------------------------------------------- */

/* Scales a run of inputs for the masked elements, padded to whole words. Sets *all to their sum, and *most to a bound
 * of the sums before scaling. */
VC_INLINE void
vk_inputs(VkType type, ptrdiff_t run, const float *restrict a, float *restrict to, float *all, float *most)
{
	const int bits = vk_size(type), each = 32 / bits;
	float sum[8] = { 0 }, size[8] = { 0 };

	*all = *most = 0;
	if (vk_is_half(type)) {
		memcpy(to, a, (size_t)run * sizeof *to);
		if (run % 2)
			to[run] = 0;
		return;
	}

	for (ptrdiff_t k = 0; k < run; k += each)
		for (int i = 0; i < each; i++) {
			const float x = k + each <= run || k + i < run ? a[k + i] : 0;

			sum[i] += x;
			size[i] += x < 0 ? -x : x;
			to[k + i] = vk_is_float8(type) ? x : x * vk_unit(bits, i);
		}
	for (int i = 0; i < each; i++) {
		*all += sum[i];
		*most += size[i];
	}
	*most *= type == VK_E5M2 ? VK_MOST_E5M2 : VK_MOST;
}

/* Computes the sums of mr rows of inputs, VK_RUN apart, by a panel's words: VK_V vectors for each row. */
VC_INLINE void
vk_sums(VkType type, int mr, ptrdiff_t words, const float *x, const int32_t *w, VcV *to)
{
	const int bits = vk_size(type), each = 32 / bits, all = mr * VK_V;
	const int some = VK_SUMS / all, most = each < 4 ? each : 4, chains = some > most ? most : some > 1 ? some : 1;
	VcV sum[VK_SUMS > VK_FEW * VK_V ? VK_SUMS : VK_FEW * VK_V];

	VC_UNROLL
	for (int i = 0; i < all * chains; i++)
		sum[i] = VC_ZERO;
	for (ptrdiff_t t = 0; t < words; t++, x += each, w += VC_PANEL) {
		VC_UNROLL
		for (int i = 0; i < each; i++) {
			VC_UNROLL
			for (int j = 0; j < VK_V; j++) {
				const VkI word = *(const VkI *)(w + j * VF);
				const VcV by = vk_is_half(type) ? vk_half(type, word, i) :
					       vk_is_float8(type) ? vk_float8(type, word, i) :
					       VK_FLOATS((word & vk_mask(bits, i)) - vk_more(bits, i));

				VC_UNROLL
				for (int r = 0; r < mr; r++) {
					VcV *const s = sum + i % chains * all + r * VK_V + j;

					*s = vc_add_product(*s, VC_SET(x[r * VK_RUN + i]), by);
				}
			}
		}
	}
	VC_UNROLL
	for (int i = 0; i < all; i++) {
		to[i] = sum[i];
		VC_UNROLL
		for (int c = 1; c < chains; c++)
			to[i] += sum[c * all + i];
	}
}

/* Computes mr rows by the panels from column col on, which have `left` columns. Returns false if inputs are not finite,
 * or are too large for sums of integers. */
VC_INLINE bool
vk_few(VkType type, int mr, const VkProduct *v, const float *a, const VkWeights *w, ptrdiff_t col, ptrdiff_t left,
       const float *bias, float *c)
{
	const ptrdiff_t panels = (left + VC_PANEL - 1) / VC_PANEL, far = v->centred ? vk_centres(v) : 0;
	float part[VK_FEW * VC_NR] = { 0 }, x[VK_FEW * VK_RUN], all[VK_FEW], most[VK_FEW];

	for (ptrdiff_t at = 0, run; at < v->k; at += run) {
		run = vk_run(v, at, VK_RUN);
		for (int r = 0; r < mr; r++) {
			vk_inputs(type, run, a + r * v->lda + at, x + r * VK_RUN, all + r, most + r);
			if (most[r] - most[r] != 0)
				return false;
		}
		for (ptrdiff_t p = 0; p < panels; p++) {
			const ptrdiff_t panel = col / VC_PANEL + p;
			const float *const scale = vk_is_half(type) ? 0 : w->scale + vk_scales(v, panel, at);
			VcV sum[VK_FEW * VK_V];

			vk_sums(type, mr, vk_words(type, run), x,
				w->words + (panel * vk_words(type, v->k) + vk_words(type, at)) * VC_PANEL, sum);
			for (int i = 0; i < mr * VK_V; i++) {
				const ptrdiff_t j = i % VK_V * VF;
				float *const to = part + i / VK_V * VC_NR + p * VC_PANEL + j;

				if (far)
					sum[i] += *(const VcV *)(scale + far + j) * VC_SET(all[i / VK_V]);
				if (scale)
					sum[i] *= *(const VcV *)(scale + j);
				*(VcV *)to += sum[i];
			}
		}
	}
	for (int r = 0; r < mr; r++)
		for (ptrdiff_t j = 0; j < panels * VC_PANEL; j += VF) {
			VcV *const to = (VcV *)(part + r * VC_NR + j);

			*to += bias ? *(const VcV *)(bias + j) : VC_ZERO;
			if (VC_CLAMPS && v->range)
				*to = vc_clamp(*to, v->range);
		}
	vc_store_part(mr, left, c, v->ldc, part);
	return true;
}

VC_INLINE bool
vk_few_rows(VkType type, ptrdiff_t m, const VkProduct *v, const float *a, const VkWeights *w, ptrdiff_t col,
	    ptrdiff_t left, const float *bias, float *c)
{
	ptrdiff_t i = 0;

	for (; VK_FEW > 2 && i + 4 <= m; i += 4)
		if (!vk_few(type, VK_FEW, v, a + i * v->lda, w, col, left, bias, c + i * v->ldc))
			return false;
	for (; i + 2 <= m; i += 2)
		if (!vk_few(type, 2, v, a + i * v->lda, w, col, left, bias, c + i * v->ldc))
			return false;
	return i == m || vk_few(type, 1, v, a + i * v->lda, w, col, left, bias, c + i * v->ldc);
}

/* ---- many rows --------------------------------------------------------------------------------------------------- */

/* Converts a vector of columns of 16-bit words, from `word` on, to floats that are VK_LINE apart. */
VC_INLINE void
vk_widen(VkType type, const int32_t *word, ptrdiff_t words, float *to)
{
	for (ptrdiff_t t = 0; t < words; t++, word += VC_PANEL, to += 2 * VK_LINE) {
		const VkI all = *(const VkI *)word;

		*(VcV *)to = vk_half(type, all, 0);
		*(VcV *)(to + VK_LINE) = vk_half(type, all, 1);
	}
}

/* Converts a vector of columns of words of integers or 8-bit floats, from `word` on, to floats that are VK_LINE
 * apart. */
VC_INLINE void
vk_scale_words(VkType type, const VkProduct *v, const int32_t *word, const float *scale, ptrdiff_t words, float *to)
{
	const VcV by = *(const VcV *)scale, centre = v->centred ? *(const VcV *)(scale + vk_centres(v)) : VC_ZERO;
	const int bits = vk_size(type), each = 32 / bits;
	const float half = (float)(1 << (bits - 1));

	for (ptrdiff_t t = 0; t < words; t++, word += VC_PANEL, to += each * VK_LINE) {
		const VkI all = *(const VkI *)word;

		VC_UNROLL
		for (int i = 0; i < each; i++) {
			const VcV x = VK_FLOATS(all & vk_mask(bits, i)) * VC_SET(vk_unit(bits, i));
			const VcV more = centre - VC_SET(i < each - 1 ? half : 0);

			const VcV number = vk_is_float8(type) ? vk_float8(type, all, i) : (VcV)(x + more);

			*(VcV *)(to + i * VK_LINE) = number * by;
		}
	}
}

/* Converts a vector of columns from `col` on, elements [at, at + run) of k, to floats that are VK_LINE apart. Converts
 * whole words. */
VC_INLINE void
vk_floats(VkType type, const VkProduct *v, const VkWeights *w, ptrdiff_t col, ptrdiff_t at, ptrdiff_t run, float *to)
{
	const ptrdiff_t panel = col / VC_PANEL, from = col % VC_PANEL;
	const int32_t *word = w->words + (panel * vk_words(type, v->k) + vk_words(type, at)) * VC_PANEL + from;

	if (vk_is_half(type))
		vk_widen(type, word, vk_words(type, run), to);
	else
		vk_scale_words(type, v, word, w->scale + vk_scales(v, panel, at) + from, vk_words(type, run), to);
}
/* Returns the words from element `at` on that a register block reads, to be prefetched. */
VC_INLINE VcAhead
vk_next(VkType type, const VkProduct *v, const VkWeights *w, ptrdiff_t col, ptrdiff_t at)
{
	const int32_t *word = w->words + (col / VC_PANEL * vk_words(type, v->k) + vk_words(type, at)) * VC_PANEL;

	return (VcAhead){ (const char *)word, vk_words(type, VC_RUN) * VC_PANEL * 4 / VC_LINE };
}

/* Computes the columns of a register block. Stores all of them, although only `left` are in the result. Rows must be at
 * least VC_BLOCK apart. */
VC_INLINE void
vk_many(VkType type, ptrdiff_t m, const VkProduct *v, const float *a, const VkWeights *w, ptrdiff_t col, ptrdiff_t left,
	const float *bias, float *c, ptrdiff_t ldc)
{
	float lines[VC_RUN * VC_BLOCK];
	const VcLines block = { .at = lines, .rest = lines, .far = VC_RUN * VK_LINE, .wide = VK_LINE };

	for (int i = 0; left < VC_BLOCK && i < VC_RUN * VC_BLOCK; i++)
		lines[i] = 0;
	for (ptrdiff_t at = 0, run; at < v->k; at += run) {
		run = v->k - at < VC_RUN ? v->k - at : VC_RUN;
		for (ptrdiff_t j = 0; j < VC_BLOCK && j < left; j += VF)
			for (ptrdiff_t i = 0, some; i < run; i += some) {
				some = vk_run(v, at + i, run - i);
				vk_floats(type, v, w, col + j, at + i, some,
					  lines + j / VK_LINE * VC_RUN * VK_LINE + i * VK_LINE + j % VK_LINE);
			}
		vc_product_panel(VC_NB, false, m, run, a + at, v->lda, block, bias, at > 0, c, ldc, VC_BLOCK,
				 at + run < v->k ? 0 : v->range,
				 vk_next(type, v, w, col, at + run < v->k ? at + run : at));
	}
}

/* Does the same for any columns. Stores the last ones through a buffer that has room for a whole block. */
VC_INLINE void
vk_many_rows(VkType type, ptrdiff_t m, const VkProduct *v, const float *a, const VkWeights *w, ptrdiff_t col,
	     ptrdiff_t left, const float *bias, float *c)
{
	const ptrdiff_t some = left < VC_BLOCK ? VC_MOST : m;

	for (ptrdiff_t i = 0; i < m; i += some) {
		const ptrdiff_t rows = m - i < some ? m - i : some;
		float part[VC_MOST * VC_NR], *const to = left < VC_BLOCK ? part : c + i * v->ldc;

		vk_many(type, rows, v, a + i * v->lda, w, col, left, bias, to, to == part ? VC_NR : v->ldc);
		if (to == part)
			vc_store_part((int)rows, left, c + i * v->ldc, v->ldc, part);
	}
}

/* ---- all rows ---------------------------------------------------------------------------------------------------- */

/* Computes units [begin, end) of panels of VC_NR columns times chunks of rows. */
VC_INLINE void
vk_product(VkType type, ptrdiff_t begin, ptrdiff_t end, const VkProduct *v, const float *a, const VkWeights *w,
	   const float *bias, float *c, VcEpilogue *epilogue, void *const *p)
{
	const VcShare s = vc_share(begin, end, 0, v->m, 1, v->n, v->chunk);
	const ptrdiff_t few = vk_is_half(type) ? VK_FEW_HALVES : VK_FEW;

	for (ptrdiff_t at = s.begin; at < s.end; at++) {
		const VcBlock o = vc_share_block(&s, 0, at, v->chunk, v->n);
		const ptrdiff_t m = o.to - o.from;
		const float *const from = a + o.from * v->lda, *const b = bias ? bias + o.col : 0;
		float *const to = c + o.from * v->ldc + o.col;
		const bool done = m <= few && vk_few_rows(type, m, v, from, w, o.col, o.left, b, to);

		for (ptrdiff_t j = 0; j < o.left && !done; j += VC_BLOCK)
			vk_many_rows(type, m, v, from, w, o.col + j, o.left - j, b ? b + j : 0, to + j);
		if (epilogue)
			vc_share_follow(&s, 0, &o, v->n, epilogue, p);
	}
}

#define VK_PRODUCT(name, type) \
	VC_SHARED void \
	name(ptrdiff_t begin, ptrdiff_t end, const VkProduct *v, const float *a, const int32_t *words, \
	     const float *scale, const float *bias, float *c, VcEpilogue *epilogue, void *const *p) \
	{ \
		const VkWeights w = { words, scale }; \
\
		vk_product(type, begin, end, v, a, &w, bias, c, epilogue, p); \
	}
VK_PRODUCT(vk_product_int4, VK_INT4)
VK_PRODUCT(vk_product_int8, VK_INT8)
VK_PRODUCT(vk_product_e4m3, VK_E4M3)
VK_PRODUCT(vk_product_e5m2, VK_E5M2)
VK_PRODUCT(vk_product_bf16, VK_BF16)
VK_PRODUCT(vk_product_f16, VK_F16)
#undef VK_PRODUCT

#endif
