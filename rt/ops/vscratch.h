/* rt/ops/vscratch.h - numbers of bytes of scratch memory that generated kernels need for each thread
 *
 * nr is the number of floats of a panel of packed columns, vf that of a vector. Kernels have them as VC_NR and VF. The
 * compiler knows them from the target, and computes these sizes for programs without a heap. */
#ifndef RT_OPS_VSCRATCH_H
#define RT_OPS_VSCRATCH_H

enum {
	VN_ROWS = 8,             /* vrnn.h: number of rows of the batch that are computed together */
	VA_PACKED = 1 << 19,    /* largest number of floats of keys and values that are packed at once: vattend.h */
	VA_DIMS = 8,            /* most dims of a batch */
	/* number of input channels of a block; number of pixels of a run of rows: vback.h */
	VB_BLOCK = 48, VB_PIXELS = 64,
	/* most rows and columns of a unit of work; most axes of a batch of products: vmul.h */
	VM_ROWS = 192, VM_COLUMNS = 256, VM_BATCH = 6,
};

static inline int64_t
vs_larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Kinds of interpolation. VZ_SMOOTH and later ones are antialiased: their filters widen when the image shrinks. VzDim
 * is one dim of an interpolation. `given` is the scale factor of the call, or 0 for the ratio of the sizes. */
typedef enum VzKind {
	VZ_LINEAR, VZ_CUBIC,
	VZ_SMOOTH, VZ_SMOOTH_LINEAR = VZ_SMOOTH, VZ_SMOOTH_CUBIC, VZ_SMOOTH_LANCZOS,
} VzKind;
typedef struct VzDim { int64_t in, out; int64_t align; double given; } VzDim;

/* Returns the number of inputs for each output. */
static inline float
vz_scale(const VzDim *d)
{
	if (d->align)
		return d->out > 1 ? (float)(d->in - 1) / (float)(d->out - 1) : 0;
	return d->given > 0 ? (float)(1.0 / d->given) : (float)d->in / (float)d->out;
}

/* Returns the radius of an antialiasing filter, in inputs when enlarging and in outputs when shrinking. */
static inline int64_t
vz_reach(VzKind kind)
{
	return kind - VZ_SMOOTH + 1;
}

/* Number of taps of an output. vz_taps_always returns 0 if it depends on sizes. vz_taps returns the largest number. */
static inline int64_t
vz_taps_always(VzKind kind)
{
	return kind == VZ_LINEAR ? 2 : kind == VZ_CUBIC ? 4 : 0;
}

static inline int64_t
vz_taps(VzKind kind, const VzDim *d)
{
	const float scale = vz_scale(d);
	double most;

	if (vz_taps_always(kind))
		return vz_taps_always(kind);
	most = 2 * (double)vz_reach(kind) * (scale > 1 ? (double)scale : 1) + 3;
	return most < (double)d->in ? (int64_t)most : d->in;
}

static inline int64_t
vs_table(int64_t taps, int64_t out)
{
	return out * 8 * (1 + taps) + (out * taps + 1) / 2 * 8;
}

/* Returns the size for an interpolation over height and width of `channels` adjacent numbers. */
static inline int64_t
vs_resize(VzKind kind, const VzDim *h, const VzDim *w, int64_t channels)
{
	const int64_t taps = vz_taps(kind, h);

	return vs_table(taps, h->out) + vs_table(vz_taps(kind, w), w->out) + taps * (16 + w->out * channels * 4);
}

/* Returns the size for a product (m, k) x (k, n) of rows with strided elements. m is 0 if the rows are contiguous. */
static inline int64_t
vs_product(int64_t nr, int64_t m, int64_t k)
{
	return (k * nr + nr + m * k) * 4;
}

/* Returns the number of floats of packed keys (n, inner) and values (n, width). 0 if they are too many to pack. */
static inline int64_t
vs_attention_packed(int64_t vf, int64_t n, int64_t inner, int64_t width)
{
	const int64_t floats = inner * ((n + vf - 1) / vf * vf) + n * ((width + vf - 1) / vf * vf);

	return floats <= VA_PACKED ? floats : 0;
}

/* Returns the size for attention of m rows. */
static inline int64_t
vs_attention(int64_t vf, int64_t nr, int64_t m, int64_t n, int64_t inner, int64_t width)
{
	return vs_larger(vs_product(nr, m, inner), vs_product(nr, m, n)) +
	       (vs_attention_packed(vf, n, inner, width) + m * ((n + vf - 1) / vf * vf) + m) * 4;
}

/* Returns the size for a convolution by weights (.., ic, taps) that are packed on each call, for `chunk` pixels at a
 * time. */
static inline int64_t
vs_convolution(int64_t nr, int64_t chunk, int64_t taps, int64_t ic)
{
	return (chunk * nr + nr + taps * ic * nr) * 4;
}

/* Returns the number of rows of ow pixels that the gradient of weights reads at a time. */
static inline int64_t
vs_gradient_rows(int64_t ow)
{
	return ow < VB_PIXELS ? VB_PIXELS / ow : 1;
}

static inline int64_t
vs_gradient(int64_t nr, int64_t taps, int64_t ow)
{
	return (taps * VB_BLOCK + vs_gradient_rows(ow) * ow) * nr * 4;
}

/* Returns the size for regions of (h, w) elements and some channels, in rows of `bins` bins: vroi_loops.h. */
static inline int64_t
vs_regions(int64_t h, int64_t w, int64_t bins, int64_t channels)
{
	return (h + w * bins) * 16 + (bins + vs_larger(w, bins * channels)) * 8;
}

#endif
