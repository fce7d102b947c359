/* rt/ops/vblock.h - products of generated kernels: register blocks over packed weights
 *
 * The numbers of rows and vectors of a block are constants, so that the block is in registers. All extents are
 * arguments. They are as wide as addresses: with int64_t, a Cortex-M4 executes 1.1 times the instructions, and the code
 * is a quarter larger. A program has one function for panels, which all kernels call with their own arguments. Narrower
 * panels, the last ones of results, have functions for each width; a program has those that some kernel uses.
 *
 * Weights: panels of VC_PANEL output channels, [panel][tap][ic][VC_PANEL]. The last panel is as wide as VC_COLUMNS
 * returns. Groups follow each other. A unit of work is VC_NR output channels. It has four panels if weights are packed
 * for 512-bit vectors, which read lines of all four; otherwise it has one.
 *
 * Register blocks (measured, % of the FMA peak): 512-bit 6 x 64: 99; 256-bit 6 x 16: 97; 128-bit 8 x 8: 90. On aarch64,
 * which multiplies vectors by lanes: 100 of a Neoverse N1's by llvm-mca. 4 x 8 on 32-bit ARM: 72 of a Cortex-A72's. The
 * k loop must stay rolled: if it is unrolled completely, gcc hoists loads and spills.
 *
 * The program defines the width of vectors: VC_FLOATS is 16, 8, 4, or 1 without vectors (tcc). Its weights are packed
 * for vectors of VC_PACKED floats, as many or more. Code for narrower vectors computes a unit of work in several
 * register blocks, so that all levels of a program read the same packing. Other macros:
 * VC_CLAMPS: whether any product is clamped.
 * VC_TALL: largest number of rows of any product; undefined if there is no bound. Taller blocks are left out.
 * VC_DEEP: largest number of products of a sum; undefined if there is no bound. Sums of one run need no code for more.
 * VC_IN_ORDER: 1 if the processor executes instructions in order; undefined means 0. */
#ifndef RT_OPS_VBLOCK_H
#define RT_OPS_VBLOCK_H

#if defined __GNUC__ && !defined __TINYC__
#define VC_INLINE static inline __attribute__((always_inline))
#define VC_SHARED static __attribute__((noinline, unused))
#ifdef __clang__
#define VC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VC_UNROLL _Pragma("GCC unroll 32")
#endif
#else
#define VC_INLINE static inline
#define VC_SHARED static inline
#define VC_UNROLL
#endif
#ifndef VC_PACKED
#define VC_PACKED VC_FLOATS
#endif
#ifndef VC_TALL
#define VC_TALL (1 << 30)
#endif
#ifndef VC_DEEP
#define VC_DEEP (1 << 30)
#endif
#ifndef VC_IN_ORDER
#define VC_IN_ORDER 0
#endif
/* Between VC_BEGIN and VC_END, gcc keeps the instructions of a register block in the order of the source. If it
 * schedules them before it allocates registers, the block does not fit: of 90 instructions of a loop on aarch64, 10 to
 * 30 were moves. Depthwise loops for in-order processors are scheduled selectively, which puts products between loads;
 * the default scheduler loads everything first. */
#if defined __aarch64__ && defined __GNUC__ && !defined __clang__
#define VC_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-schedule-insns\")")
#define VC_END _Pragma("GCC pop_options")
#if VC_IN_ORDER
#define VC_BEGIN_DEPTH \
	_Pragma("GCC push_options") _Pragma("GCC optimize(\"selective-scheduling2\", \"no-sched-pressure\")")
#endif
#else
#define VC_BEGIN
#define VC_END
#endif
#ifndef VC_BEGIN_DEPTH
#define VC_BEGIN_DEPTH VC_BEGIN
#endif
#if defined __arm__ && defined __ARM_NEON
#include <arm_neon.h>
#define VC_NEON_32
#endif
VC_BEGIN

#if VC_FLOATS > 1
#ifdef __TINYC__
#error the weights are packed for vectors: build with --cc tcc
#endif
#if VC_FLOATS == 16
enum { VF = 16, VC_MR = 6, VC_NB = 4 };
#elif VC_FLOATS == 8
enum { VF = 8, VC_MR = 6, VC_NB = 2 };
#elif defined VC_NEON_32         /* has 16 vector registers */
enum { VF = 4, VC_MR = 4, VC_NB = 2 };
#elif defined __arm__            /* has 32 float registers */
enum { VF = 4, VC_MR = 3, VC_NB = 2 };
#elif defined __riscv && !defined __riscv_vector         /* has 32 float registers */
enum { VF = 4, VC_MR = 2, VC_NB = 2 };
#define VC_SCALARS
#else
enum { VF = 4, VC_MR = 8, VC_NB = 2 };
#ifdef __aarch64__
#define VC_BY_LANE
#ifdef __clang__
#define VC_LOADED __asm__ volatile ("" ::: "memory")       /* keeps gcc from sinking loads to their uses */
#else
#define VC_LOADED
#endif
#endif
#endif
typedef float VcV __attribute__((vector_size(VF * 4), aligned(4), may_alias));
typedef float VcHalf __attribute__((vector_size(VF * 2), aligned(4), may_alias));
typedef int32_t VcMask __attribute__((vector_size(VF * 4), may_alias));
#define VC_ZERO ((VcV){ 0 })
#ifdef VC_NEON_32
#define VC_SET(x) ((VcV)vdupq_n_f32(x))
#else
#define VC_SET(x) ((x) - VC_ZERO)
#endif
#else
#ifdef __GNUC__
enum { VF = 1, VC_MR = 4, VC_NB = 4 };   /* has 32 float registers, also on a Cortex-M */
#else
enum { VF = 1, VC_MR = 2, VC_NB = 4 };
#endif
typedef float VcV;
#define VC_ZERO 0
#define VC_SET(x) (x)
#endif

enum {
	VC_UNIT = VC_PACKED,             /* number of columns of a panel's vector */
	VC_UNITS = VC_UNIT == 16 || VC_UNIT == 1 ? 4 : 2,
	VC_NR = VC_UNIT * VC_UNITS,      /* number of columns of a unit of work, except the last one */
	VC_PANEL = VC_UNIT == 16 ? VC_UNIT : VC_NR,      /* number of columns of a panel of weights */
	VC_STEP = VC_UNIT == 16 ? 8 : VC_UNIT,
	VC_NV = VC_NR / VF,    /* number of vectors in a unit of work; VC_NB of them are in a register block */
	VC_BLOCK = VC_NB * VF,
	/* Number of products in a partial sum. Longer sums add up partial sums, so that rounding errors grow less.
	 * Measured in Winograd's products: 0.6 times the error of runs of 256, for 1.01 times the time of ResNet-50. */
	VC_RUN = 64,
	VC_ONE_RUN = VC_DEEP <= VC_RUN,
	VC_LINE = 64,                    /* number of bytes of a cache line */
};

/* Returns sum + x * by. On 32-bit ARM, gcc would compute vector sums and products element by element, because NEON
 * flushes subnormal numbers to zero. This function accepts the flush. */
VC_INLINE VcV
vc_add_product(VcV sum, VcV x, VcV by)
{
#if VC_FLOATS == 4 && defined VC_NEON_32 && defined __ARM_FEATURE_FMA
	return (VcV)vfmaq_f32((float32x4_t)sum, (float32x4_t)x, (float32x4_t)by);
#elif VC_FLOATS == 4 && defined VC_NEON_32
	return (VcV)vmlaq_f32((float32x4_t)sum, (float32x4_t)x, (float32x4_t)by);
#else
	return sum + x * by;
#endif
}

/* Clamps x to [range[0], range[1]]. NaN stays NaN. */
VC_INLINE VcV
vc_clamp(VcV x, const float *range)
{
#if VC_FLOATS == 1
	return x < range[0] ? range[0] : x > range[1] ? range[1] : x;
#elif VC_FLOATS == 16 && defined __AVX512F__ && !defined __clang__
	x = (VcV)__builtin_ia32_maxps512_mask(VC_SET(range[0]), x, x, -1, 4);
	return (VcV)__builtin_ia32_minps512_mask(VC_SET(range[1]), x, x, -1, 4);
#elif VC_FLOATS == 16 && defined __AVX512F__
	return (VcV)__builtin_ia32_minps512(VC_SET(range[1]), __builtin_ia32_maxps512(VC_SET(range[0]), x, 4), 4);
#elif VC_FLOATS == 8 && defined __AVX__
	return (VcV)__builtin_ia32_minps256(VC_SET(range[1]), __builtin_ia32_maxps256(VC_SET(range[0]), x));
#elif VC_FLOATS == 4 && defined __aarch64__
	__asm__ ("fmax %0.4s, %0.4s, %1.4s" : "+w"(x) : "w"(VC_SET(range[0])));
	__asm__ ("fmin %0.4s, %0.4s, %1.4s" : "+w"(x) : "w"(VC_SET(range[1])));
	return x;
#elif VC_FLOATS == 4 && defined __SSE__
	return (VcV)__builtin_ia32_minps(VC_SET(range[1]), __builtin_ia32_maxps(VC_SET(range[0]), x));
#else
	const VcV lo = VC_SET(range[0]), hi = VC_SET(range[1]);
	const VcMask below = x < lo, above = x > hi;

	return (VcV)((below & (VcMask)lo) | (above & ~below & (VcMask)hi) | (~below & ~above & (VcMask)x));
#endif
}

/* Returns the maximum in each lane, or b if a or b is NaN. */
VC_INLINE VcV
vc_greater(VcV a, VcV b)
{
#if VC_FLOATS == 1
	return a > b ? a : b;
#elif VC_FLOATS == 16 && defined __AVX512F__ && !defined __clang__
	return (VcV)__builtin_ia32_maxps512_mask(a, b, b, -1, 4);
#elif VC_FLOATS == 16 && defined __AVX512F__
	return (VcV)__builtin_ia32_maxps512(a, b, 4);
#elif VC_FLOATS == 8 && defined __AVX__
	return (VcV)__builtin_ia32_maxps256(a, b);
#else
	const VcMask greater = a > b;

	return (VcV)((greater & (VcMask)a) | (~greater & (VcMask)b));
#endif
}

/* Returns x rotated: lane i has lane i + n modulo VF. n is half of the lanes, a fourth, ... */
#if VC_FLOATS == 16
#define VC_ROUNDS(DO) DO(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7) \
	DO(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3) \
	DO(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1) \
	DO(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0)
#elif VC_FLOATS == 8
#define VC_ROUNDS(DO) DO(4, 5, 6, 7, 0, 1, 2, 3) DO(2, 3, 4, 5, 6, 7, 0, 1) DO(1, 2, 3, 4, 5, 6, 7, 0)
#elif VC_FLOATS == 4
#define VC_ROUNDS(DO) DO(2, 3, 0, 1) DO(1, 2, 3, 0)
#else
#define VC_ROUNDS(DO)
#endif

VC_INLINE float
vc_sum(VcV x)
{
#if VC_FLOATS > 1
#define VC_ROUND(...) x += __builtin_shufflevector(x, x, __VA_ARGS__);
	VC_ROUNDS(VC_ROUND)
#undef VC_ROUND
	return x[0];
#else
	return x;
#endif
}

/* An epilogue. It runs over elements [c0, c1) of rows [row, end) of the result, while they are in the L1 cache. n is
 * the length of the result's rows. */
typedef void VcEpilogue(void *const *p, ptrdiff_t row, ptrdiff_t end, ptrdiff_t c0, ptrdiff_t c1, ptrdiff_t n);

/* Selects the function for the remaining columns of n, from functions for each width of a unit of work. Null if none
 * remain. The last unit is as wide as its vectors, or a whole unit if that adds less than a sixteenth. */
#define VC_REST(name, n) \
	((n) % VC_NR == 0 ? 0 : VC_IS_WHOLE(n) ? VC_WHOLE(name) : \
	 (n) % VC_NR > 3 * VC_UNIT && VC_UNITS > 3 ? name##_4 : (n) % VC_NR > 2 * VC_UNIT && VC_UNITS > 2 ? name##_3 : \
	 (n) % VC_NR > VC_UNIT ? name##_2 : name##_1)
/* Selects in the same way for constant weights, whose panels may end with half a vector. */
#if VC_PACKED == 16
#define VC_REST_HALF(name, n) \
	(VC_IS_WHOLE(n) || (n) % VC_UNIT == 0 || (n) % VC_UNIT > VC_UNIT / 2 ? VC_REST(name, n) : \
	 (n) % VC_NR > 3 * VC_UNIT ? name##_3_half : \
	 (n) % VC_NR > 2 * VC_UNIT ? name##_2_half : (n) % VC_NR > VC_UNIT ? name##_1_half : name##_half)
#else
#define VC_REST_HALF(name, n) VC_REST(name, n)
#endif
/* Number of columns in all panels of n columns. The last panel may end with half a vector; with VC_UNIT_COLUMNS it has
 * only whole ones. */
#define VC_COLUMNS(n) VC_UP(n, VC_IS_WHOLE(n) ? VC_NR : VC_STEP)
#define VC_UNIT_COLUMNS(n) VC_UP(n, VC_IS_WHOLE(n) ? VC_NR : VC_UNIT)
#define VC_UP(n, step) (((n) + (step) - 1) / (step) * (step))
#define VC_IS_WHOLE(n) ((n) % VC_NR == 0 || (VC_NR - (n) % VC_NR) * 16 < (n))
#define VC_WHOLE(name) (VC_UNITS > 2 ? name##_4 : name##_2)
/* Number of columns of `units` units, plus half a unit if `half`. */
#define VC_WIDE(units, half) (((units) < VC_UNITS ? (units) : VC_UNITS) * VC_UNIT + (half) * VC_UNIT / 2)

/* Number of rows of a block of nv vectors: enough for VC_MR * VC_NB accumulators, at most VC_MOST. */
#define VC_ROWS(nv) (VC_MR * VC_NB / (nv) < VC_MOST ? VC_MR * VC_NB / (nv) : VC_MOST)
#if VC_FLOATS > 1
enum { VC_MOST = 12, VC_LONGEST = 14 };  /* VC_LONGEST: number of rows of a block of half vectors (vruns.h) */
#else
enum { VC_MOST = VC_MR, VC_LONGEST = VC_MR };
typedef float VcHalf;
#endif

#if VC_FLOATS == 16
#define VC_LOW(x) __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7)
#define VC_TWICE(x) __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7)
#else
#define VC_LOW(x) (VcHalf){ 0 }          /* there are no panels with half vectors */
#endif

/* Addresses from which a register block reads weights. They are lines of `wide` floats, in panels that are `far` floats
 * apart. rest: lines of a last panel of half a vector. */
typedef struct VcLines {
	const float *at, *rest;
	ptrdiff_t far;
	int wide;
} VcLines;

/* Returns the lines of a block of nv vectors that begins at column `at` of a unit of work. columns: number of columns
 * of the unit. lines: number of lines of its panels. */
VC_INLINE VcLines
vc_lines(int nv, ptrdiff_t columns, ptrdiff_t at, ptrdiff_t lines, const float *b)
{
	const ptrdiff_t panel = at / VC_PANEL * VC_PANEL, left = columns - panel;
	const float *const from = b + panel * lines + at % VC_PANEL;

	return (VcLines){ from, from + nv * VF * lines, VC_PANEL * lines, left < VC_PANEL ? (int)left : VC_PANEL };
}

/* Skips the first n lines. */
VC_INLINE VcLines
vc_lines_after(VcLines b, ptrdiff_t n)
{
	b.at += n * b.wide;
	b.rest += n * (VF / 2);
	return b;
}

/* Loads vector j of the first line. */
VC_INLINE VcV
vc_line(const VcLines *b, int j)
{
	return *(const VcV *)(b->at + j * VF / VC_PANEL * b->far + j * VF % VC_PANEL);
}

/* Accumulators of a block: nv vectors of each row, row by row. In panels with halves, also half a vector of each
 * row. */
typedef struct VcRows {
	VcV    acc[VC_MOST * VC_NB];
	VcHalf half[VC_LONGEST];
} VcRows;

VC_INLINE void
vc_rows_start(int mr, int nv, bool half, const float *bias, VcRows *to)
{
	VC_UNROLL
	for (int i = 0; i < mr; i++) {
		VC_UNROLL
		for (int j = 0; j < nv; j++)
			to->acc[i * nv + j] = bias ? *(const VcV *)(bias + j * VF) : VC_ZERO;
		if (half)
			to->half[i] = bias ? *(const VcHalf *)(bias + nv * VF) : (VcHalf){ 0 };
	}
}

/* Stores the first `left` columns of a block's rows, which are in `part`. */
VC_SHARED void
vc_store_part(int mr, ptrdiff_t left, float *c, ptrdiff_t ldc, const float *part)
{
	for (int i = 0; i < mr; i++, c += ldc, part += VC_NR) {
		ptrdiff_t j = 0;

#if VC_FLOATS > 1
		for (; j + VF <= left; j += VF)
			*(VcV *)(c + j) = *(const VcV *)(part + j);
		VC_UNROLL
		for (int some = VF / 2; some; some /= 2)
			if (left & some) {
				__builtin_memcpy(c + j, part + j, some * sizeof *c);
				j += some;
			}
#else
		for (; j < left; j++)
			c[j] = part[j];
#endif
	}
}

/* Destination of a block: its rows of c. A block of the last panel, whose last vector may reach beyond the last column,
 * is stored in `part` first. */
typedef struct VcPlace {
	float *to;
	ptrdiff_t step;
} VcPlace;

VC_INLINE VcPlace
vc_place(ptrdiff_t wide, ptrdiff_t left, float *c, ptrdiff_t ldc, float *part)
{
	return left >= wide ? (VcPlace){ c, ldc } : (VcPlace){ part, VC_NR };
}

/* Computes the addresses of the next rows between the loop and the stores. Otherwise the compiler keeps the addresses
 * in vector registers during the loop. */
VC_INLINE void
vc_rows_near(int mr, ptrdiff_t *step)
{
#if defined __GNUC__ && !defined __TINYC__
	if (mr > 4)
		__asm__ volatile ("" : "+r"(*step));
#endif
	(void)mr, (void)step;
}

/* Stores a block. With `more`, adds it to the sums of earlier runs, which are stored in its place. range is the clamp
 * of the last run, and may be null. */
VC_INLINE void
vc_rows_store(int mr, int nv, bool half, VcPlace at, bool more, const float *range, VcRows *from)
{
	vc_rows_near(mr, &at.step);
	if (more) {
		const float *sum = at.to;

		VC_UNROLL
		for (int i = 0; i < mr; i++, sum += at.step) {
			VC_UNROLL
			for (int j = 0; j < nv; j++)
				from->acc[i * nv + j] += *(const VcV *)(sum + j * VF);
			if (half)
				from->half[i] += *(const VcHalf *)(sum + nv * VF);
		}
	}
	if (VC_CLAMPS && range) {
		VC_UNROLL
		for (int i = 0; i < mr * nv; i++)
			from->acc[i] = vc_clamp(from->acc[i], range);
#if VC_FLOATS == 16
		VC_UNROLL
		for (int i = 0; i < mr && half; i++)
			from->half[i] = VC_LOW(vc_clamp(VC_TWICE(from->half[i]), range));
#endif
	}
	vc_rows_near(mr, &at.step);
	VC_UNROLL
	for (int i = 0; i < mr; i++, at.to += at.step) {
		VC_UNROLL
		for (int j = 0; j < nv; j++)
			*(VcV *)(at.to + j * VF) = from->acc[i * nv + j];
		if (half)
			*(VcHalf *)(at.to + nv * VF) = from->half[i];
	}
}

#ifdef VC_BY_LANE
/* Adds products to `to` by loading whole vectors of the rows of a. Returns the number of products done, of `run`. A
 * vector of a row is loaded once and multiplied lane by lane. Loads are a step ahead of their use, because an in-order
 * processor would wait. The last step loads the same data again. */
VC_INLINE ptrdiff_t
vc_rows_add_lanes(int mr, int nv, ptrdiff_t run, const float *const *a, VcLines b, VcRows *to)
{
	const ptrdiff_t last = run / VF * VF - VF;
	VcV x[VC_MOST], line[2][VC_NB];

	if (last < 0)
		return 0;
	VC_UNROLL
	for (int i = 0; i < mr; i++)
		x[i] = *(const VcV *)a[i];
	VC_UNROLL
	for (int j = 0; j < nv; j++)
		line[0][j] = vc_line(&b, j);
	for (ptrdiff_t k = 0; k <= last; k += VF) {
		const ptrdiff_t more = k < last, next = k + more * VF;

		VC_UNROLL
		for (int l = 0; l < VF; l++) {
			b.at += l < VF - 1 ? b.wide : more * b.wide;
			VC_UNROLL
			for (int j = 0; j < nv; j++)
				line[~l & 1][j] = vc_line(&b, j);
			VC_UNROLL
			for (int i = 0; i < mr; i++) {
				VC_UNROLL
				for (int j = 0; j < nv; j++)
					to->acc[i * nv + j] += x[i][l] * line[l & 1][j];
				if (l == VF - 1)
					x[i] = *(const VcV *)(a[i] + next);
			}
		}
		VC_LOADED;
	}
	return last + VF;
}
#endif

#ifdef VC_SCALARS
/* Adds products without vectors. gcc would keep the accumulators of a block on the stack: 4.4 instructions for each
 * product on RISC-V, instead of 2 here. */
VC_INLINE void
vc_rows_add_scalars(int mr, int nv, ptrdiff_t run, const float *const *a, VcLines b, VcRows *to)
{
	float acc[VC_MOST * VC_NB * VF];

	VC_UNROLL
	for (int i = 0; i < mr * nv * VF; i++)
		acc[i] = to->acc[i / VF][i % VF];
	for (ptrdiff_t k = 0; k < run; k++, b.at += b.wide) {
		float row[VC_NB * VF];

		VC_UNROLL
		for (int j = 0; j < nv * VF; j++)
			row[j] = b.at[j];
		VC_UNROLL
		for (int i = 0; i < mr; i++) {
			const float x = a[i][k];

			VC_UNROLL
			for (int j = 0; j < nv * VF; j++)
				acc[i * nv * VF + j] += x * row[j];
		}
	}
	VC_UNROLL
	for (int i = 0; i < mr * nv * VF; i++)
		to->acc[i / VF][i % VF] = acc[i];
}
#endif

/* Adds to `to` the products of `run` lines with mr rows of `run` floats, whose addresses are in a. */
VC_INLINE void
vc_rows_add_at(int mr, int nv, bool half, ptrdiff_t run, const float *const *a, VcLines b, VcRows *to)
{
	ptrdiff_t k = 0;

#ifdef VC_SCALARS
	vc_rows_add_scalars(mr, nv, run, a, b, to);
	k = run;
#endif
#ifdef VC_BY_LANE
	k = vc_rows_add_lanes(mr, nv, run, a, b, to);
	b = vc_lines_after(b, k);
#endif
	for (; k < run; k++) {
		VcV row[VC_NB];
		VcHalf rest = { 0 };

		VC_UNROLL
		for (int j = 0; j < nv; j++)
			row[j] = vc_line(&b, j);
		if (half)
			rest = *(const VcHalf *)b.rest;
		b = vc_lines_after(b, 1);
		VC_UNROLL
		for (int i = 0; i < mr; i++) {
			const VcV x = VC_SET(a[i][k]);

			VC_UNROLL
			for (int j = 0; j < nv; j++)
				to->acc[i * nv + j] = vc_add_product(to->acc[i * nv + j], x, row[j]);
			if (half)
				to->half[i] += VC_LOW(x) * rest;
		}
	}
}

/* Adds to `to` the products of k lines with mr rows of k floats, lda apart. */
VC_INLINE void
vc_rows_add(int mr, int nv, bool half, ptrdiff_t k, const float *a, ptrdiff_t lda, VcLines b, VcRows *to)
{
#if defined VC_BY_LANE || defined VC_SCALARS
	const float *rows[VC_MOST];

	VC_UNROLL
	for (int i = 0; i < mr; i++)
		rows[i] = a + i * lda;
	vc_rows_add_at(mr, nv, half, k, rows, b, to);
#else
	/* Addresses of every third row. Those of the next two rows are computed from them. */
	const float *third[(VC_MOST + 2) / 3] = { 0 };

	VC_UNROLL
	for (int i = 0; i < mr; i += 3)
		third[i / 3] = a + i * lda;
	for (ptrdiff_t n = 0; n < k; n++) {
		VcV row[VC_NV];
		VcHalf rest = { 0 };

		VC_UNROLL
		for (int j = 0; j < nv; j++)
			row[j] = vc_line(&b, j);
		if (half)
			rest = *(const VcHalf *)b.rest;
		b = vc_lines_after(b, 1);
		VC_UNROLL
		for (int i = 0; i < mr; i++) {
			const VcV x = VC_SET(third[i / 3][i % 3 * lda]);

			VC_UNROLL
			for (int j = 0; j < nv; j++)
				to->acc[i * nv + j] = vc_add_product(to->acc[i * nv + j], x, row[j]);
			if (half)
				to->half[i] += VC_LOW(x) * rest;
		}
		VC_UNROLL
		for (int i = 0; i < mr; i += 3)
			third[i / 3]++;
	}
#endif
}

/* ---- the product c (m, n) = a (m, k) * b (k, n) packed + bias --------------------------------------------------- */

/* Number of row blocks from which on the next weights are prefetched. Products of fewer rows are bound by memory, and
 * prefetches delay the loads for which they wait. Measured at 12 and 20 rows: 1.2 and 1.1 times the time with vectors
 * of 16 floats, 1.07 and 0.95 with 8. From 49 rows on: 0.97 to 0.91 and less. */
enum { VC_FETCHED = VC_FLOATS == 16 ? 6 : 3 };

/* Weights that are needed next, in cache lines. They are prefetched during the current computation, some after each run
 * of products. If all were fetched during the first rows, these would wait for memory. */
typedef struct VcAhead {
	const char *at;
	ptrdiff_t   lines;
} VcAhead;

/* Returns the cache lines of the n floats at b. */
VC_INLINE VcAhead
vc_ahead(const float *b, ptrdiff_t n)
{
	return (VcAhead){ (const char *)b, n / (VC_LINE / (ptrdiff_t)sizeof *b) };
}

VC_INLINE void
vc_fetch(VcAhead *ahead)
{
	for (ptrdiff_t i = 0; i < ahead->lines; i++, ahead->at += VC_LINE) {
#if defined __GNUC__ && !defined __TINYC__
		__builtin_prefetch(ahead->at, 0, 2);
#endif
	}
}

/* Computes a register block of mr rows. With `more`, adds to c, which has the sums of earlier columns of a. ahead:
 * weights to prefetch after each run. */
VC_INLINE void
vc_product_rows(int mr, int nv, bool half, ptrdiff_t k, const float *a, ptrdiff_t lda, VcLines b, const float *bias,
		bool more, float *c, ptrdiff_t ldc, ptrdiff_t left, const float *range, VcAhead *ahead)
{
	float part[VC_MOST * VC_NR];
	const VcPlace to = vc_place(nv * VF + half * VF / 2, left, c, ldc, part);
	ptrdiff_t at = 0;

	do {
		const ptrdiff_t run = VC_ONE_RUN || k - at < VC_RUN ? k - at : VC_RUN;
		VcRows rows;

		vc_rows_start(mr, nv, half, at || more ? 0 : bias, &rows);
		vc_rows_add(mr, nv, half, run, a + at, lda, vc_lines_after(b, at), &rows);
		if (ahead)
			vc_fetch(ahead);
		vc_rows_store(mr, nv, half, to, !VC_ONE_RUN && (at > 0 || more), at + run < k ? 0 : range, &rows);
		at += run;
	} while (!VC_ONE_RUN && at < k);
	if (to.to == part)
		vc_store_part(mr, left, c, ldc, part);
}

/* A function that computes rows of c for a unit of work with `left` columns. lines: number of lines of its panels, of
 * which k are used. */
typedef void VcPanel(ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t lines,
		     const float *bias, float *c, ptrdiff_t ldc, ptrdiff_t left, const float *range);

/* Number of rows of the tallest block of a product. If sums are very short, loads and stores dominate, and 8
 * accumulators give enough parallelism. */
#define VC_TALLEST(nv) \
	(VC_FLOATS > 1 && VC_DEEP <= 16 && VC_ROWS(nv) > 8 / (nv) ? 8 / (nv) : VC_ROWS(nv))

/* Computes all rows by register blocks of nv vectors. */
VC_INLINE void
vc_product_panel(int nv, bool half, ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, VcLines b,
		 const float *bias, bool more, float *c, ptrdiff_t ldc, ptrdiff_t left, const float *range,
		 VcAhead ahead)
{
	const ptrdiff_t tall = VC_TALLEST(nv + half), runs = m / tall * ((k + VC_RUN - 1) / VC_RUN);
	ptrdiff_t i = 0;

	ahead.lines = VC_FLOATS == 1 || m < VC_FETCHED * tall || !runs ? 0 : (ahead.lines + runs - 1) / runs;
	for (; VC_TALL >= VC_TALLEST(nv + half) && i + VC_TALLEST(nv + half) <= m; i += VC_TALLEST(nv + half))
		vc_product_rows(VC_TALLEST(nv + half), nv, half, k, a + i * lda, lda, b, bias, more, c + i * ldc, ldc,
				left, range, VC_FLOATS > 1 ? &ahead : 0);
	for (; VC_TALL >= 4 && i + 4 <= m && VC_TALLEST(nv + half) > 4; i += 4)
		vc_product_rows(4, nv, half, k, a + i * lda, lda, b, bias, more, c + i * ldc, ldc, left, range, 0);
	for (; VC_TALL >= 2 && i + 2 <= m && VC_TALLEST(nv + half) > 2; i += 2)
		vc_product_rows(2, nv, half, k, a + i * lda, lda, b, bias, more, c + i * ldc, ldc, left, range, 0);
	for (; i < m; i++)
		vc_product_rows(1, nv, half, k, a + i * lda, lda, b, bias, more, c + i * ldc, ldc, left, range, 0);
}

/* Register blocks of units of work of all widths. If a unit has several blocks, a program has each function once, and
 * the last block may be one vector. */
#if VC_FLOATS == VC_PACKED
#define VC_BLOCK_SHARED VC_INLINE
#define VC_LAST(nv) (nv)
#else
#define VC_BLOCK_SHARED VC_SHARED
#define VC_LAST(nv) 1
#endif
VC_BLOCK_SHARED void
vc_product_block(ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, VcLines b, const float *bias, float *c,
		 ptrdiff_t ldc, ptrdiff_t left, const float *range, VcAhead ahead)
{
	vc_product_panel(VC_NB, false, m, k, a, lda, b, bias, false, c, ldc, left, range, ahead);
}

VC_BLOCK_SHARED void
vc_product_last(int nv, bool half, ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, VcLines b,
		const float *bias, float *c, ptrdiff_t ldc, ptrdiff_t left, const float *range, VcAhead ahead)
{
	(void)nv;
	vc_product_panel(VC_LAST(nv), VC_FLOATS == VC_PACKED && half, m, k, a, lda, b, bias, false, c, ldc, left, range,
			 ahead);
}

/* Computes the register blocks of a unit of work one after the other. */
VC_INLINE void
vc_product_blocks(int wide, ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t lines,
		  const float *bias, float *c, ptrdiff_t ldc, ptrdiff_t left, const float *range)
{
	const int nv = wide % VC_BLOCK / VF, half = wide % VF != 0;
	ptrdiff_t at = 0;

	for (; at + VC_BLOCK <= wide && at < left; at += VC_BLOCK)
		vc_product_block(m, k, a, lda, vc_lines(VC_NB, wide, at, lines, b), bias ? bias + at : 0, c + at, ldc,
				 left - at, range,
				 vc_ahead(vc_lines(VC_NB, wide, at + VC_BLOCK, lines, b).at, k * VC_BLOCK));
	if (wide % VC_BLOCK && at < left)
		vc_product_last(nv, half, m, k, a, lda, vc_lines(nv, wide, at, lines, b), bias ? bias + at : 0, c + at,
				ldc, left - at, range, vc_ahead(b + wide * lines, k * (wide % VC_BLOCK)));
}

/* Expands X(name, units, half) for each width of a unit of work. */
#if VC_PACKED == 16
#define VC_EACH_WIDTH(X) X(1, 1, false) X(2, 2, false) X(3, 3, false) X(4, 4, false) \
	X(half, 0, true) X(1_half, 1, true) X(2_half, 2, true) X(3_half, 3, true)
#else
#define VC_EACH_WIDTH(X) X(1, 1, false) X(2, 2, false) X(3, 3, false) X(4, 4, false)
#endif

#define VC_COLUMNS_OF(name, units, half) \
	VC_SHARED void \
	vc_panel_##name(ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t lines, \
			const float *bias, float *c, ptrdiff_t ldc, ptrdiff_t left, const float *range) \
	{ \
		vc_product_blocks(VC_WIDE(units, half), m, k, a, lda, b, lines, bias, c, ldc, left, range); \
	}
VC_EACH_WIDTH(VC_COLUMNS_OF)
#undef VC_COLUMNS_OF

/* ---- a product of one row ---------------------------------------------------------------------------------------- */

#if (VC_FLOATS == 8 || (VC_FLOATS == 4 && VC_PACKED == 4)) && !defined VC_SCALARS && VC_DEEP > 16
enum { VC_ACROSS = VC_PANEL / VF };      /* number of vectors in a line */

/* VC_FOUR loads four floats, repeated to fill a vector. VC_OF_FOUR returns one of them in all lanes. A product of one
 * row is bound by loads, so inputs are loaded four at a time. */
#if VC_FLOATS == 8
typedef float VcFour __attribute__((vector_size(16), aligned(4), may_alias));
#define VC_FOUR(at) __builtin_shufflevector(*(const VcFour *)(at), *(const VcFour *)(at), 0, 1, 2, 3, 0, 1, 2, 3)
#define VC_OF_FOUR(x, i) __builtin_shufflevector(x, x, i, i, i, i, i + 4, i + 4, i + 4, i + 4)
#else
#define VC_FOUR(at) (*(const VcV *)(at))
#define VC_OF_FOUR(x, i) VC_SET((x)[i])
#endif

VC_INLINE void
vc_alone_line(VcV x, const float *b, VcV sum[VC_ACROSS])
{
	VC_UNROLL
	for (int j = 0; j < VC_ACROSS; j++)
		sum[j] = vc_add_product(sum[j], x, *(const VcV *)(b + j * VF));
}

/* Adds a[i] * line i of b to sum for i < k. Each of four lines has its own accumulators, because with fewer each
 * product would wait for the one before. */
VC_INLINE void
vc_alone_run(ptrdiff_t k, const float *a, const float *b, VcV sum[VC_ACROSS])
{
	VcV acc[4][VC_ACROSS];
	ptrdiff_t i = 0;

	VC_UNROLL
	for (int j = 0; j < 4 * VC_ACROSS; j++)
		acc[j / VC_ACROSS][j % VC_ACROSS] = VC_ZERO;
	for (; i + 4 <= k; i += 4, b += 4 * VC_PANEL) {
		const VcV x = VC_FOUR(a + i);

		vc_alone_line(VC_OF_FOUR(x, 0), b, acc[0]);
		vc_alone_line(VC_OF_FOUR(x, 1), b + VC_PANEL, acc[1]);
		vc_alone_line(VC_OF_FOUR(x, 2), b + 2 * VC_PANEL, acc[2]);
		vc_alone_line(VC_OF_FOUR(x, 3), b + 3 * VC_PANEL, acc[3]);
	}
	for (; i < k; i++, b += VC_PANEL)
		vc_alone_line(VC_SET(a[i]), b, acc[0]);
	VC_UNROLL
	for (int j = 0; j < VC_ACROSS; j++)
		sum[j] += (acc[0][j] + acc[1][j]) + (acc[2][j] + acc[3][j]);
}

/* Implements VcPanel for a product of one row and a whole unit of work. Measured, 1 x 1024 x 1024 with AVX2: 0.86 of
 * the time of a register block. */
VC_SHARED void
vc_panel_alone(ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t lines,
	       const float *bias, float *c, ptrdiff_t ldc, ptrdiff_t left, const float *range)
{
	(void)m, (void)lda, (void)ldc, (void)left;
	for (int at = 0; at < VC_NR; at += VC_PANEL, b += VC_PANEL * lines) {
		VcV sum[VC_ACROSS];

		for (int j = 0; j < VC_ACROSS; j++)
			sum[j] = bias ? *(const VcV *)(bias + at + j * VF) : VC_ZERO;
		for (ptrdiff_t i = 0, run; i < k; i += run) {
			run = k - i < 4 * VC_RUN ? k - i : 4 * VC_RUN;
			vc_alone_run(run, a + i, b + i * VC_PANEL, sum);
		}
		for (int j = 0; j < VC_ACROSS; j++)
			*(VcV *)(c + at + j * VF) = VC_CLAMPS && range ? vc_clamp(sum[j], range) : sum[j];
	}
}
#define VC_WHOLE_OF(m) ((m) == 1 ? vc_panel_alone : VC_WHOLE(vc_panel))
#else
#define VC_WHOLE_OF(m) VC_WHOLE(vc_panel)
#endif

/* c (m, groups * n) = a (m, groups * k) by panels of weights, whose rows are ldc and lda apart. */
typedef struct VcProduct {
	ptrdiff_t m, groups, n, k, lda, ldc;
	ptrdiff_t step, chunk;           /* rows of a unit of work, or 0; rows of a block (VcShare) */
	const float *range;              /* results are clamped to range[0], range[1]; null for no clamp */
} VcProduct;

/* Division of work among threads. If step is 0, by panels of a group's n columns, so that a thread reads its own
 * weights once. Then [begin, end) are of panels * chunks of `chunk` rows. Otherwise by rows, so that a thread's rows
 * stay in its cache from kernel to kernel. Then [begin, end) are of `step` rows each, and the panels of a chunk are
 * computed one after the other. */
typedef struct VcShare {
	ptrdiff_t begin, end;            /* range of blocks */
	ptrdiff_t first, rows;           /* rows [first, rows) */
	ptrdiff_t each, panels, chunks;  /* number of panels of a group and of all groups; number of chunks */
} VcShare;

VC_INLINE VcShare
vc_share(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t groups, ptrdiff_t n, ptrdiff_t chunk)
{
	const ptrdiff_t each = (n + VC_NR - 1) / VC_NR;
	VcShare s = { begin, end, 0, rows, each, groups * each, (rows + chunk - 1) / chunk };

	if (step) {
		s.first = begin * step;
		s.rows = end * step < rows ? end * step : rows;
		s.begin = 0;
		s.end = s.panels * ((s.rows - s.first + chunk - 1) / chunk);
	}
	return s;
}

typedef struct VcBlock {
	ptrdiff_t group, from, to;       /* rows [from, to) */
	ptrdiff_t col, left;             /* first column, counted over all groups; number of columns */
	ptrdiff_t weights;               /* number of columns of weights before this block */
	bool    whole;                   /* whether it is a panel of VC_NR columns */
	bool    last;                    /* whether it is the last of all panels */
} VcBlock;

/* Returns block `at` of a share. n is the number of columns of a group. */
VC_INLINE VcBlock
vc_share_block(const VcShare *s, ptrdiff_t step, ptrdiff_t at, ptrdiff_t chunk, ptrdiff_t n)
{
	const ptrdiff_t panel = step ? at % s->panels : at / s->chunks, own = panel % s->each;
	VcBlock b = { .group = panel / s->each, .last = panel + 1 == s->panels };

	b.from = s->first + (step ? at / s->panels : at % s->chunks) * chunk;
	b.to = b.from + chunk < s->rows ? b.from + chunk : s->rows;
	b.col = b.group * n + own * VC_NR;
	b.weights = b.group * VC_COLUMNS(n) + own * VC_NR;
	b.whole = own < n / VC_NR;
	b.left = b.whole ? VC_NR : n % VC_NR;
	return b;
}

/* Runs the epilogue of a block, for groups of n columns. If they are narrow, waits for all panels, so that rows are
 * long. */
VC_INLINE void
vc_share_follow(const VcShare *s, ptrdiff_t step, const VcBlock *b, ptrdiff_t n, VcEpilogue *epilogue, void *const *p)
{
	const ptrdiff_t columns = s->panels / s->each * n;

	if (!step || n >= VC_NR)
		epilogue(p, b->from, b->to, b->col, b->col + b->left, columns);
	else if (b->last)
		epilogue(p, b->from, b->to, 0, columns, columns);
}

/* Computes a product in groups of n columns and k products. bias is padded to whole panels. range: as in VcConv. */
VC_SHARED void
vc_product_part(ptrdiff_t begin, ptrdiff_t end, ptrdiff_t step, ptrdiff_t m, ptrdiff_t groups, ptrdiff_t n, ptrdiff_t k,
		ptrdiff_t chunk, const float *a, ptrdiff_t lda, const float *b, const float *bias, float *c,
		ptrdiff_t ldc, VcPanel *whole, VcPanel *last, const float *range, VcEpilogue *epilogue, void *const *p)
{
	const VcShare s = vc_share(begin, end, step, m, groups, n, chunk);

	for (ptrdiff_t at = s.begin; at < s.end; at++) {
		const VcBlock o = vc_share_block(&s, step, at, chunk, n);
		VcPanel *const run = o.whole ? whole : last;

		run(o.to - o.from, k, a + o.from * lda + o.group * k, lda, b + o.weights * k, k,
		    bias ? bias + o.col : 0, c + o.from * ldc + o.col, ldc, o.left, range);
		if (epilogue)
			vc_share_follow(&s, step, &o, n, epilogue, p);
	}
}

/* Computes the same product, inlined. If n and m are constants, only the functions that they need are compiled. */
VC_INLINE void
vc_product(ptrdiff_t begin, ptrdiff_t end, const VcProduct *v, const float *a, const float *b, const float *bias,
	   float *c, VcEpilogue *epilogue, void *const *p)
{
	vc_product_part(begin, end, v->step, v->m, v->groups, v->n, v->k, v->chunk, a, v->lda, b, bias, c, v->ldc,
			VC_WHOLE_OF(v->m), VC_REST_HALF(vc_panel, v->n), v->range, epilogue, p);
}

#endif
