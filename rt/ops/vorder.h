/* rt/ops/vorder.h - convolutions of generated kernels whose products are summed in PyTorch's order (rt/ops/conv_sums.h)
 *
 * The register blocks, panels and windows are those of vconv.h; what differs is that channels are taken in blocks, all taps
 * of each, and that the sums of blocks join in the result.  Slower than what may sum as it likes: programs have it whose
 * answers depend on it (kiln build --rounding).
 */
#ifndef RT_OPS_VORDER_H
#define RT_OPS_VORDER_H

#include "vconv.h"

/* Kernels between these round each product and each sum, but for VO_FUSED: a * b + c. */
#if defined __clang__
#define VO_BEGIN _Pragma("clang fp contract(off)")
#define VO_END   _Pragma("clang fp contract(fast)")
#elif defined __GNUC__ && !defined __TINYC__
#define VO_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")")
#define VO_END   _Pragma("GCC pop_options")
#else
#define VO_BEGIN
#define VO_END
#endif
#if defined __FMA__ || defined __ARM_FEATURE_FMA
#define VO_FUSEDF(a, b, c) __builtin_fmaf((float)(a), (float)(b), (float)(c))
#else
#define VO_FUSEDF(a, b, c) (float)((double)(a) * (double)(b) + (double)(c))
#endif
#define VO_FUSED(a, b, c) _Generic((a) * (b) + (c), float: VO_FUSEDF(a, b, c), default: (a) * (b) + (c))

static inline double
vo_gelu(double x)
{
	return 0.5 * x * (1 + (erf)(x * 0.70710678118654752440));
}

static inline double
vo_gelu_tanh(double x)
{
	return 0.5 * x * (1 + (tanh)(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

/* Functions of floats are those of the runtime's own kernels (map.c), but at the end of an array, where these take libm's. */
VO_BEGIN
#include "amath.h"
#ifdef VO_MKL                            /* RT_TORCH_2; VO_INTEL: RT_INTEL */
#include "vml.h"
#endif
static inline float
vo_gelu_tanhf(float x)
{
	return a_gelu_tanhf(x, true);
}
VO_END
#undef exp
#undef t_exp_near
#undef tanh
#undef log
#undef erf
#undef expm1
#undef log1p
#undef t_log1p
#undef t_log2
#undef t_gelu
#undef t_gelu_tanh
#undef t_log_sigmoid
#define exp(x)    _Generic((x), float: a_expf, default: exp)(x)
#define t_exp_near(x) exp(x)
#define tanh(x)   _Generic((x), float: a_tanhf, default: tanh)(x)
#define log(x)    _Generic((x), float: a_logf, default: log)(x)
#define erf(x)    _Generic((x), float: a_erff, default: erf)(x)
#define expm1(x)  _Generic((x), float: a_expm1f, default: expm1)(x)
#define log1p(x)  _Generic((x), float: a_log1pf, default: log1p)(x)
#define t_log1p(x) log1p(x)
#define t_log2(x) _Generic((x), float: a_log2f, default: log2)(x)
#define t_gelu(x) _Generic((x), float: a_geluf, default: vo_gelu)(x)
#define t_gelu_tanh(x)   _Generic((x), float: vo_gelu_tanhf, default: vo_gelu_tanh)(x)
#define t_log_sigmoid(x) _Generic((x), float: a_log_sigmoidf, default: t_log_sigmoidd)(x)
#ifdef VO_MKL
#undef t_ml
#undef t_log2
#undef t_log10
#ifdef VO_INTEL
#define t_ml(f, x)  _Generic((x), float: ml_intel_##f, default: f)(x)
#else
#define t_ml(f, x)  _Generic((x), float: ml_##f, default: f)(x)
#endif
#define t_log2(x)   t_ml(log2, x)
#define t_log10(x)  t_ml(log10, x)
#endif

enum { VO_TAPS = 64 };                   /* a kernel with more is the runtime's */

typedef struct VoSums {
	int64_t block;                   /* channels */
	bool    chained;                 /* the first sum begins with the bias; else the bias joins it */
	bool    rounded;                 /* each product is, before it is added */
} VoSums;

/* What the taps of mr pixels from *at on read, row-major, without those that no pixel has; returns how many there are. */
VC_INLINE int
vo_taps(int mr, const VcConv *v, VcPixel *at, const float *zeros, const float *from[][VC_MR], int *tap)
{
	VcWindows p;
	int n = 0;

	vc_windows_start(mr, v, at, &p);
	p.inside = false;
	for (int i = 0; p.r < v->kh; i++) {
		bool any;

		vc_windows_next(mr, v, zeros, &p, &any);
		if (!any)
			continue;
		for (int k = 0; k < mr; k++)
			from[n][k] = p.rows[k];
		tap[n++] = i;
	}
	return n;
}

VC_INLINE void
vo_pixels(int mr, int nv, const VcConv *v, const VoSums *s, VcPixel *at, const float *w, const float *bias, float *y,
	  const float *zeros, int64_t left)
{
	const float *from[VO_TAPS][VC_MR], *rows[VC_MR];
	float part[VC_MR * VC_NR];
	const VcPlace to = vc_place(nv * VF, left, y, v->ys, part);
	int tap[VO_TAPS];
	const int taps = vo_taps(mr, v, at, zeros, from, tap);

	for (int64_t c = 0, n; c < v->ic; c += n) {
		VcRows sum;

		n = v->ic - c < s->block ? v->ic - c : s->block;
		vc_rows_start(mr, nv, false, !c && s->chained ? bias : 0, &sum);
		for (int t = 0; t < taps; t++) {
			VC_UNROLL
			for (int i = 0; i < mr; i++)
				rows[i] = from[t][i] + (from[t][i] == zeros ? 0 : c);
			vc_rows_add_at(mr, nv, n, rows, w + (tap[t] * v->ic + c) * nv * VF, &sum);
		}
		if (!c && !s->chained && bias) {
			VC_UNROLL
			for (int i = 0; i < mr * nv; i++)
				sum.acc[i] += *(const VcV *)(bias + i % nv * VF);
		}
		vc_rows_store(mr, nv, false, to, c > 0, c + n < v->ic ? 0 : v->range, &sum);
	}
	if (to.to == part)
		vc_store_part(mr, left, y, v->ys, part);
}

typedef void VoTaps(const VcConv *v, const VoSums *, VcPixel *at, const float *w, const float *bias, float *y, const float *zeros,
		    int64_t left);

#define VO_TAPS_OF(name, nv) \
	VC_SHARED void \
	name##_pixels_##nv(const VcConv *v, const VoSums *s, VcPixel *at, const float *w, const float *bias, float *y, const float *zeros, \
		       int64_t left) \
	{ \
		vo_pixels(VC_MR, nv < VC_NV ? nv : VC_NV, v, s, at, w, bias, y, zeros, left); \
	} \
	VC_SHARED void \
	name##_pixel_##nv(const VcConv *v, const VoSums *s, VcPixel *at, const float *w, const float *bias, float *y, const float *zeros, \
		      int64_t left) \
	{ \
		vo_pixels(1, nv < VC_NV ? nv : VC_NV, v, s, at, w, bias, y, zeros, left); \
	} \
	static VoTaps *const name##_##nv[] = { name##_pixels_##nv, name##_pixel_##nv };
VO_TAPS_OF(vo_taps, 1)
VO_TAPS_OF(vo_taps, 2)
VO_TAPS_OF(vo_taps, 3)
VO_TAPS_OF(vo_taps, 4)
VO_BEGIN
VO_TAPS_OF(vo_rounded, 1)
VO_TAPS_OF(vo_rounded, 2)
VO_TAPS_OF(vo_rounded, 3)
VO_TAPS_OF(vo_rounded, 4)
VO_END
#undef VO_TAPS_OF

/* Pixels [from, to) by the channels of one panel. */
VC_SHARED void
vo_blocks(VoTaps *const *run, const VcConv *v, const VoSums *sums, int64_t from, int64_t to, const float *x, const float *w,
	  const float *bias, float *y, const float *zeros, int64_t left)
{
	VcPixel at = vc_pixel(v, from, x);

	for (int64_t i = from, n; i < to; i += n) {
		n = to - i < VC_MR ? 1 : VC_MR;
		run[n == 1](v, sums, &at, w, bias, y + i * v->ys, zeros, left);
	}
}

/* The same of few channels and without a bias: where all columns of taps are inside, vconv.h's strips have this order. */
VC_SHARED void
vo_strips(const VcTaps *strips, VoTaps *const *run, const VcConv *v, const VoSums *sums, int64_t from, int64_t to, const float *x,
	  const float *w, float *y, const float *zeros, int64_t left)
{
	const int64_t lo = vc_up(v->pw, v->sw), far = v->w - v->kw + v->pw, all = far < 0 ? 0 : far / v->sw + 1;
	const int64_t hi = all < v->ow ? all : v->ow, rows = strips->rows;
	VcPixel at = vc_pixel(v, from, x);

	for (int64_t i = from; i < to;) {
		const int64_t inside = at.ow >= lo && at.ow < hi ? hi - at.ow : 0, have = inside < to - i ? inside : to - i;

		if (have <= 0 || at.ow + have - rows < lo || i + have - rows < from) {
			run[1](v, sums, &at, w, 0, y + i++ * v->ys, zeros, left);
			continue;
		}
		/* The last few of a row, or of all, are done with those before them: again, and to the same. */
		if (have < rows) {
			i += have - rows;
			at.ow += have - rows;
		}
		strips->strip(v, &at, w, 0, y + i * v->ys, left);
		i += rows;
		at = vc_pixel(v, i, x);
	}
}

/* As vc_conv_part; whole: the functions of panels; last, strips: of the last one. */
VC_SHARED void
vo_conv_part(int64_t begin, int64_t end, int64_t step, const VcConv *v, const VoSums *sums, int64_t chunk, const float *x, const float *w,
	     const float *bias, float *y, const float *zeros, VoTaps *const *whole, VoTaps *const *last, const VcTaps *strips, VcEpilogue *epilogue,
	     void *const *p)
{
	const VcShare s = vc_share(begin, end, step, v->n * v->oh * v->ow, v->oc, chunk);

	for (int64_t at = s.begin; at < s.end; at++) {
		const VcBlock b = vc_share_block(&s, step, at, chunk, v->oc);
		const float *panel = w + b.panel * v->kh * v->kw * v->ic * VC_NR;
		VoTaps *const *const run = b.whole ? whole : last;

		if (v->ic < 16 && !bias && !sums->rounded && sums->block >= v->ic && v->dw == 1 && v->xs == v->ic)
			vo_strips(b.whole ? VC_WHOLE(vc_taps) : strips, run, v, sums, b.from, b.to, x, panel, y + b.col, zeros, b.left);
		else
			vo_blocks(run, v, sums, b.from, b.to, x, panel, bias ? bias + b.col : 0, y + b.col, zeros, b.left);
		if (epilogue)
			epilogue(p, b.from, b.to, b.col, b.col + b.left, v->oc);
	}
}

/* Of one group; zeros: a block's width of them. */
VC_INLINE void
vo_conv(int64_t begin, int64_t end, int64_t step, const VcConv *v, const VoSums *sums, int64_t chunk, const float *x, const float *w,
	const float *bias, float *y, const float *zeros, VcEpilogue *epilogue, void *const *p)
{
	VoTaps *const *whole = sums->rounded ? VC_WHOLE(vo_rounded) : VC_WHOLE(vo_taps);
	VoTaps *const *last = sums->rounded ? VC_REST(vo_rounded, v->oc) : VC_REST(vo_taps, v->oc);

	vo_conv_part(begin, end, step, v, sums, chunk, x, w, bias, y, zeros, whole, last, VC_REST(vc_taps, v->oc), epilogue, p);
}

/* c (m, n) = a (m, k) * b (k, n) packed + bias: of m pixels with k channels each. */
VC_INLINE void
vo_product(int64_t begin, int64_t end, int64_t step, int64_t m, int64_t n, int64_t k, const VoSums *sums, int64_t chunk, const float *a,
	   int64_t lda, const float *b, const float *bias, float *c, int64_t ldc, const float *range, VcEpilogue *epilogue, void *const *p)
{
	const VcConv v = { .n = 1, .h = 1, .w = m, .ic = k, .oh = 1, .ow = m, .oc = n, .kh = 1, .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1,
			   .xs = lda, .ys = ldc, .range = range };

	vo_conv(begin, end, step, &v, sums, chunk, a, b, bias, c, 0, epilogue, p);
}

#endif
