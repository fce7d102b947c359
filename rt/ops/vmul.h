/* rt/ops/vmul.h - products of strided operands in generated kernels: attention, weights that are not constant
 *
 * c (m, n) = a (m, k) * b (k, n) + bias. Panels of b are packed into scratch memory for the register blocks of
 * vblock.h. For one or two rows packing does not pay: b's rows are added up, or its columns multiplied, in place.
 * Extents are arguments here and not constants, so that one copy of the blocks serves all products of a program. */
#ifndef RT_OPS_VMUL_H
#define RT_OPS_VMUL_H

#include "vrow.h"
#include "vscratch.h"

enum {
	VM_FEW = 3,              /* smallest number of rows for which packing pays */
	VM_RUN = 32,             /* number of products in a lane's partial sum, as VC_RUN in vblock.h */
};

#if VC_FLOATS > 1
typedef double VmD __attribute__((vector_size(VF * 4), aligned(8), may_alias));
#endif

static inline ptrdiff_t
vm_scratch(ptrdiff_t m, ptrdiff_t k)
{
	return vs_product(VC_NR, m, k);
}

/* Interleaves the lanes of a and b: of their first halves, and of their second halves. */
#define VM_FIRST_16(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define VM_SECOND_16(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define VM_FIRST_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define VM_SECOND_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define VM_FIRST_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define VM_SECOND_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define VM_FIRST_2(a, b) __builtin_shufflevector(a, b, 0, 2)
#define VM_SECOND_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#if VC_FLOATS == 16
#define VM_FIRST VM_FIRST_16
#define VM_SECOND VM_SECOND_16
#define VM_FIRST_DOUBLE VM_FIRST_8
#define VM_SECOND_DOUBLE VM_SECOND_8
#elif VC_FLOATS == 8
#define VM_FIRST VM_FIRST_8
#define VM_SECOND VM_SECOND_8
#define VM_FIRST_DOUBLE VM_FIRST_4
#define VM_SECOND_DOUBLE VM_SECOND_4
#elif VC_FLOATS == 4
#define VM_FIRST VM_FIRST_4
#define VM_SECOND VM_SECOND_4
#define VM_FIRST_DOUBLE VM_FIRST_2
#define VM_SECOND_DOUBLE VM_SECOND_2
#endif

#if VC_FLOATS > 1
/* vm_transpose computes to[i * width + j] = b[j * bn + i] for i and j below `lanes`. It interleaves rows of the upper
 * and the lower half log2(lanes) times. vm_pack_runs packs blocks of that size if columns of b are contiguous. It
 * returns the number of columns packed. */
#define VM_TURNS(of, number, vector, lanes, first, second) \
	VC_INLINE void \
	vm_transpose##of(const number *b, ptrdiff_t bn, number *to, ptrdiff_t width) \
	{ \
		vector row[lanes], next[lanes]; \
	\
		VC_UNROLL \
		for (int j = 0; j < lanes; j++) \
			row[j] = *(const vector *)(b + j * bn); \
		VC_UNROLL \
		for (int round = 1; round < lanes; round *= 2) { \
			VC_UNROLL \
			for (int j = 0; j < lanes / 2; j++) { \
				next[2 * j] = first(row[j], row[j + lanes / 2]); \
				next[2 * j + 1] = second(row[j], row[j + lanes / 2]); \
			} \
			VC_UNROLL \
			for (int j = 0; j < lanes; j++) \
				row[j] = next[j]; \
		} \
		VC_UNROLL \
		for (int i = 0; i < lanes; i++) \
			*(vector *)(to + i * width) = row[i]; \
	} \
	VC_SHARED ptrdiff_t \
	vm_pack_runs##of(ptrdiff_t width, ptrdiff_t left, ptrdiff_t k, const number *b, ptrdiff_t bn, number *to) \
	{ \
		ptrdiff_t j = 0; \
	\
		for (; j + lanes <= left; j += lanes) { \
			ptrdiff_t i = 0; \
	\
			for (; i + lanes <= k; i += lanes) \
				vm_transpose##of(b + j * bn + i, bn, to + i * width + j, width); \
			for (; i < k; i++) \
				for (ptrdiff_t at = j; at < j + lanes; at++) \
					to[i * width + at] = b[at * bn + i]; \
		} \
		return j; \
	}
VM_TURNS(, float, VcV, VF, VM_FIRST, VM_SECOND)
VM_TURNS(_double, double, VmD, (VF / 2), VM_FIRST_DOUBLE, VM_SECOND_DOUBLE)
#else
#define vm_pack_runs(width, left, k, b, bn, to) 0
#define vm_pack_runs_double(width, left, k, b, bn, to) 0
#endif

/* Packs b to `to` [k][width]. Columns from `left` on are zero. */
static inline void
vm_pack(ptrdiff_t width, ptrdiff_t left, ptrdiff_t k, const float *restrict b, ptrdiff_t bk, ptrdiff_t bn,
	float *restrict to)
{
	if (left < width)
		for (ptrdiff_t i = 0; i < k * width; i++)
			to[i] = 0;
	if (bn == 1)
		for (ptrdiff_t i = 0; i < k; i++)
			for (ptrdiff_t j = 0; j < left; j++)
				to[i * width + j] = b[i * bk + j];
	else
		for (ptrdiff_t j = bk == 1 ? vm_pack_runs(width, left, k, b, bn, to) : 0; j < left; j++)
			for (ptrdiff_t i = 0; i < k; i++)
				to[i * width + j] = b[j * bn + i * bk];
}

/* Computes one row of c. b's rows must be contiguous. */
static inline void
vm_row(ptrdiff_t n, ptrdiff_t k, const float *a, ptrdiff_t ak, const float *b, ptrdiff_t bk, const float *bias,
       float *c)
{
	ptrdiff_t at = 0;

	for (; at + VC_NR <= n; at += VC_NR) {
		VcV acc[VC_NV];

		for (int j = 0; j < VC_NV; j++)
			acc[j] = bias ? *(const VcV *)(bias + at + j * VF) : VC_ZERO;
		for (ptrdiff_t i = 0, stop; i < k; i = stop) {
			VcV part[VC_NV];

			stop = k - i < VC_RUN ? k : i + VC_RUN;
			for (int j = 0; j < VC_NV; j++)
				part[j] = VC_ZERO;
			for (; i < stop; i++)
				for (int j = 0; j < VC_NV; j++)
					part[j] += a[i * ak] * *(const VcV *)(b + i * bk + at + j * VF);
			for (int j = 0; j < VC_NV; j++)
				acc[j] += part[j];
		}
		for (int j = 0; j < VC_NV; j++)
			*(VcV *)(c + at + j * VF) = acc[j];
	}
	for (; at < n; at++) {
		float sum = bias ? bias[at] : 0;

		for (ptrdiff_t i = 0; i < k; i++)
			sum += a[i * ak] * b[i * bk + at];
		c[at] = sum;
	}
}

static inline float
vm_dot_float(ptrdiff_t k, const float *a, const float *b)
{
	VcV acc[2] = { VC_ZERO, VC_ZERO };
	float sum = 0;
	ptrdiff_t i = 0, stop;

	for (; i + 2 * VF <= k; i = stop) {
		VcV part[2] = { VC_ZERO, VC_ZERO };

		stop = i + (k - i < 2 * VF * VM_RUN ? (k - i) / (2 * VF) : VM_RUN) * (2 * VF);
		for (; i < stop; i += 2 * VF) {
			part[0] += *(const VcV *)(a + i) * *(const VcV *)(b + i);
			part[1] += *(const VcV *)(a + i + VF) * *(const VcV *)(b + i + VF);
		}
		acc[0] += part[0];
		acc[1] += part[1];
	}
	acc[0] += acc[1];
#if VC_FLOATS > 1
	VC_UNROLL
	for (int round = 1; round < VF; round *= 2)
		acc[0] = VM_FIRST(acc[0], acc[0]) + VM_SECOND(acc[0], acc[0]);
	sum = VR_LANE(acc[0], 0);
#else
	sum = acc[0];
#endif
	for (; i < k; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Returns a dot product of doubles. */
static inline double
vm_dot_double(ptrdiff_t k, const double *a, const double *b)
{
	double sum = 0;
	ptrdiff_t i = 0;

#if VC_FLOATS > 1
	VmD acc[4] = { { 0 } };

	for (; i + 2 * VF <= k; i += 2 * VF) {
		VC_UNROLL
		for (int j = 0; j < 4; j++)
			acc[j] += *(const VmD *)(a + i + j * (VF / 2)) * *(const VmD *)(b + i + j * (VF / 2));
	}
	acc[0] = (acc[0] + acc[1]) + (acc[2] + acc[3]);
	for (int j = 0; j < VF / 2; j++)
		sum += acc[0][j];
#endif
	for (; i < k; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Copies a (m, k) to contiguous rows. */
static inline void
vm_pack_rows(ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, ptrdiff_t ak, float *rows)
{
	const ptrdiff_t done = lda == 1 ? vm_pack_runs(k, k, m, a, ak, rows) : 0;

	for (ptrdiff_t i = 0; i < m && done < k; i++)
		for (ptrdiff_t j = done; j < k; j++)
			rows[i * k + j] = a[i * lda + j * ak];
}

/* Computes the product with one column of b as dot products, because a panel would be zero in all other columns.
 * scratch has room for k floats. */
static inline void
vm_column(ptrdiff_t m, ptrdiff_t k, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t bk, const float *bias,
	  float *c, ptrdiff_t ldc, float *scratch)
{
	for (ptrdiff_t i = 0; i < k && bk != 1; i++)
		scratch[i] = b[i * bk];
	for (ptrdiff_t i = 0; i < m; i++)
		c[i * ldc] = vm_dot_float(k, a + i * lda, bk == 1 ? b : scratch) + (bias ? *bias : 0);
}

/* Returns the width of the panels of n columns. */
static inline ptrdiff_t
vm_panel(ptrdiff_t n)
{
	return VC_UP(n, VC_UNIT);
}

/* Packs all panels of b (k, n) in the form that register blocks read: k * vm_panel(n) floats. */
static inline void
vm_pack_all(ptrdiff_t n, ptrdiff_t k, const float *b, ptrdiff_t bk, ptrdiff_t bn, float *to)
{
	for (ptrdiff_t col = 0; col < n; col += VC_PANEL) {
		const ptrdiff_t left = n - col < VC_PANEL ? n - col : VC_PANEL;

		vm_pack(vm_panel(left), left, k, b + col * bn, bk, bn, to + col * k);
	}
}

/* Computes c (m, left) = a (m, k) * b by the panels of a unit of work. `lines` is the number of lines of the panels, of
 * which the first k are used. */
static inline void
vm_product_columns(ptrdiff_t m, ptrdiff_t left, ptrdiff_t k, const float *a, ptrdiff_t lda, const float *b,
		   ptrdiff_t lines, const float *bias, float *c, ptrdiff_t ldc)
{
	VcPanel *const run = left == VC_NR ? VC_WHOLE(vc_panel) : VC_REST(vc_panel, left);

	run(m, k, a, lda, b, lines, bias, c, ldc, left, 0);
}

/* Computes a product. scratch has vm_scratch(m, k) bytes, or vm_scratch(0, k) if ak is 1. */
static inline void
vm_product(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const float *a, ptrdiff_t lda, ptrdiff_t ak, const float *b,
	   ptrdiff_t bk, ptrdiff_t bn, const float *bias, float *c, ptrdiff_t ldc, float *scratch)
{
	float *panel = scratch, *start = scratch + k * VC_NR, *rows = start + VC_NR;

	if (n == 1 && ak == 1) {
		vm_column(m, k, a, lda, b, bk, bias, c, ldc, scratch);
		return;
	}
	if (m < VM_FEW && (bn == 1 || (bk == 1 && ak == 1))) {
		for (ptrdiff_t i = 0; i < m; i++)
			if (bn == 1)
				vm_row(n, k, a + i * lda, ak, b, bk, bias, c + i * ldc);
			else
				for (ptrdiff_t j = 0; j < n; j++)
					c[i * ldc + j] = vm_dot_float(k, a + i * lda, b + j * bn) +
						(bias ? bias[j] : 0);
		return;
	}
	if (ak != 1) {
		vm_pack_rows(m, k, a, lda, ak, rows);
		a = rows;
		lda = k;
	}
	for (ptrdiff_t col = 0; col < n; col += VC_NR) {
		const ptrdiff_t left = n - col < VC_NR ? n - col : VC_NR;

		vm_pack_all(left, k, b + col * bn, bk, bn, panel);
		for (ptrdiff_t j = 0; bias && j < VC_NR; j++)
			start[j] = j < left ? bias[col + j] : 0;
		vm_product_columns(m, left, k, a, lda, panel, k, bias ? start : 0, c + col, ldc);
	}
}

/* Returns n rounded up to whole vectors. */
static inline ptrdiff_t
vm_whole(ptrdiff_t n)
{
	return (n + VF - 1) / VF * VF;
}

/* Computes c (m, n) = a (m, k) * the first k rows and n columns of b, which is packed. a's rows must be contiguous.
 * `all` is the number of b's rows. Stores exactly n columns of c, even if n is not a multiple of VF. */
static inline void
vm_product_packed(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const float *a, ptrdiff_t lda, const float *panels,
		  ptrdiff_t all, float *c, ptrdiff_t ldc)
{
	for (ptrdiff_t col = 0; col < n; col += VC_NR) {
		const ptrdiff_t left = n - col < VC_NR ? n - col : VC_NR;

		vm_product_columns(m, left, k, a, lda, panels + col * all, all, 0, c + col, ldc);
	}
}

/* ---- doubles: blocks of VC_MR rows and VM_NB vectors, over packed panels of b, or b itself ----------------------- */

#if VC_FLOATS > 1
enum { VM_D = VF / 2, VM_NB = VC_NB };   /* number of doubles in a vector; number of vectors in a panel */
typedef VmD VmLanes;
#else
enum { VM_D = 1, VM_NB = VC_NB / 2 };
typedef double VmLanes;
#endif

enum { VM_WIDE = VM_NB * VM_D };         /* number of columns of a panel; its doubles are no larger than VC_NR floats */
_Static_assert(2 * VM_WIDE <= VC_NR, "scratch memory of products");

/* Computes mr rows of nv vectors of c, or the first `left` columns. `start` has the initial sums. */
VC_INLINE void
vm_block(int mr, int nv, ptrdiff_t left, ptrdiff_t k, const double *a, ptrdiff_t lda, ptrdiff_t ak, const double *b,
	 ptrdiff_t step, const double *start, double *c, ptrdiff_t ldc)
{
	VmLanes acc[VC_MR * VM_NB];

	VC_UNROLL
	for (int i = 0; i < mr * nv; i++)
		acc[i] = *(const VmLanes *)(start + i % nv * VM_D);
	for (ptrdiff_t x = 0; x < k; x++, a += ak, b += step) {
		VmLanes row[VM_NB];

		VC_UNROLL
		for (int j = 0; j < nv; j++)
			row[j] = *(const VmLanes *)(b + j * VM_D);
		VC_UNROLL
		for (int i = 0; i < mr; i++) {
			VC_UNROLL
			for (int j = 0; j < nv; j++)
				acc[i * nv + j] += a[i * lda] * row[j];
		}
	}
	if (left < nv * VM_D) {
		for (int i = 0; i < mr; i++)
			for (ptrdiff_t j = 0; j < left; j++)
				c[i * ldc + j] = ((const double *)acc)[i * nv * VM_D + j];
		return;
	}
	VC_UNROLL
	for (int i = 0; i < mr * nv; i++)
		*(VmLanes *)(c + i / nv * ldc + i % nv * VM_D) = acc[i];
}

/* Computes all rows of some columns. The last block of rows may compute some rows again. */
VC_INLINE void
vm_blocks(int nv, ptrdiff_t left, ptrdiff_t m, ptrdiff_t k, const double *a, ptrdiff_t lda, ptrdiff_t ak,
	  const double *b, ptrdiff_t step, const double *start, double *c, ptrdiff_t ldc)
{
	for (ptrdiff_t i = 0; m >= VC_MR && i < m; i += VC_MR) {
		const ptrdiff_t at = i + VC_MR <= m ? i : m - VC_MR;

		vm_block(VC_MR, nv, left, k, a + at * lda, lda, ak, b, step, start, c + at * ldc, ldc);
	}
	for (ptrdiff_t i = 0; m < VC_MR && i < m; i++)
		vm_block(1, nv, left, k, a + i * lda, lda, ak, b, step, start, c + i * ldc, ldc);
}

VC_SHARED void
vm_columns_whole(ptrdiff_t m, ptrdiff_t k, const double *a, ptrdiff_t lda, ptrdiff_t ak, const double *b,
		 ptrdiff_t step, const double *start, double *c, ptrdiff_t ldc)
{
	vm_blocks(VM_NB, VM_WIDE, m, k, a, lda, ak, b, step, start, c, ldc);
}

VC_SHARED void
vm_columns_one(ptrdiff_t left, ptrdiff_t m, ptrdiff_t k, const double *a, ptrdiff_t lda, ptrdiff_t ak, const double *b,
	       ptrdiff_t step, const double *start, double *c, ptrdiff_t ldc)
{
	vm_blocks(1, left, m, k, a, lda, ak, b, step, start, c, ldc);
}

/* Packs b to `to` [k][wide]. Columns from `left` on are zero. */
static inline void
vm_pack_double(ptrdiff_t wide, ptrdiff_t left, ptrdiff_t k, const double *restrict b, ptrdiff_t bk, ptrdiff_t bn,
	       double *restrict to)
{
	const ptrdiff_t done = bk == 1 && bn != 1 ? vm_pack_runs_double(wide, left, k, b, bn, to) : 0;

	for (ptrdiff_t i = 0; i < k && done < wide; i++)
		for (ptrdiff_t j = done; j < wide; j++)
			to[i * wide + j] = j < left ? b[i * bk + j * bn] : 0;
}

/* Does the same as vm_product for doubles. scratch has vm_scratch(0, k) bytes. */
static inline void
vm_product_double(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const double *a, ptrdiff_t lda, ptrdiff_t ak, const double *b,
		  ptrdiff_t bk, ptrdiff_t bn, const double *bias, double *c, ptrdiff_t ldc, void *scratch)
{
	double *panel = scratch, *start = panel + k * VM_WIDE;

	if (m < VM_FEW && bk == 1 && ak == 1) {
		for (ptrdiff_t i = 0; i < m; i++)
			for (ptrdiff_t j = 0; j < n; j++)
				c[i * ldc + j] = vm_dot_double(k, a + i * lda, b + j * bn) + (bias ? bias[j] : 0);
		return;
	}
	for (ptrdiff_t col = 0, wide; col < n; col += wide) {
		const ptrdiff_t rest = n - col, left = rest < VM_D ? rest : VM_D;

		wide = rest < VM_WIDE ? VM_D : VM_WIDE;
		for (ptrdiff_t j = 0; j < wide; j++)
			start[j] = bias && j < rest ? bias[col + j] : 0;
		const bool there = bn == 1 && rest >= wide && m <= VC_MR;        /* whether b is read in place */
		const double *from = there ? b + col : panel;

		if (!there)
			vm_pack_double(wide, rest < wide ? rest : wide, k, b + col * bn, bk, bn, panel);
		if (wide == VM_WIDE)
			vm_columns_whole(m, k, a, lda, ak, from, there ? bk : wide, start, c + col, ldc);
		else
			vm_columns_one(left, m, k, a, lda, ak, from, there ? bk : wide, start, c + col, ldc);
	}
}

/* ---- a product for each point of some axes ----------------------------------------------------------------------- */

/* Sizes and strides of products. as, bs and cs are the strides of a, b and c along the outer axes. */
typedef struct VmProducts {
	ptrdiff_t m, n, k, lda, ak, bk, bn, ldc;
	ptrdiff_t axes, extent[VM_BATCH], as[VM_BATCH], bs[VM_BATCH], cs[VM_BATCH];
} VmProducts;

/* Returns the number of rows of a that vm_product copies. */
static inline ptrdiff_t
vm_copied(const VmProducts *v)
{
	return v->ak == 1 ? 0 : v->m < VM_ROWS ? v->m : VM_ROWS;
}

/* Computes units [begin, end). A unit is a block of rows and columns of one product. Each unit packs its panels of b,
 * and its rows of a if these are not contiguous. */
#define VM_PRODUCTS(name, product, number) \
	VC_INLINE void \
	name(int64_t begin, int64_t end, const VmProducts *v, const number *a, const number *b, const number *bias, \
	     number *c, void *scratch) \
	{ \
		const ptrdiff_t rows = (v->m + VM_ROWS - 1) / VM_ROWS, columns = (v->n + VM_COLUMNS - 1) / VM_COLUMNS; \
	\
		for (int64_t unit = begin; unit < end; unit++) { \
			const ptrdiff_t i = unit / columns % rows * VM_ROWS, j = unit % columns * VM_COLUMNS, \
				m = v->m - i < VM_ROWS ? v->m - i : VM_ROWS, \
				n = v->n - j < VM_COLUMNS ? v->n - j : VM_COLUMNS; \
			ptrdiff_t point = unit / columns / rows, ai = i * v->lda, bi = j * v->bn, ci = i * v->ldc + j; \
	\
			for (ptrdiff_t axis = v->axes - 1; axis >= 0; axis--) { \
				const ptrdiff_t at = axis ? point % v->extent[axis] : point; \
	\
				point /= v->extent[axis]; \
				ai += at * v->as[axis]; \
				bi += at * v->bs[axis]; \
				ci += at * v->cs[axis]; \
			} \
			product(m, n, v->k, a + ai, v->lda, v->ak, b + bi, v->bk, v->bn, bias ? bias + j : 0, c + ci, \
				v->ldc, scratch); \
		} \
	}
VM_PRODUCTS(vm_products, vm_product, float)
VM_PRODUCTS(vm_products_double, vm_product_double, double)

#endif
