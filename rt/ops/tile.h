/* rt/ops/tile.h - products of floats and doubles by the register blocks of vmul.h, for one width of vectors
 *
 * tile16.c, tile32.c and tile64.c include this file with VC_FLOATS, the number of floats in a vector, and the
 * instructions that it needs. rt/ops/parts.c lists them. gemm.c has the loops over blocks. */
#ifndef RT_OPS_TILE_H
#define RT_OPS_TILE_H

#define VC_CLAMPS 0
#include "vmul.h"

/* Numbers of vectors across a block and a row, and number of rows of a block: fewer vectors than the blocks of programs
 * have waste less of narrow products. Rows of floats have at most VC_NV vectors, those of doubles VM_NB. */
enum {
	TILE_NV = 2, TILE_MR = VC_ROWS(TILE_NV),
	TILE_ROW_NV = VC_NV < 4 ? VC_NV : 4, TILE_ROW_ND = VM_NB < 4 ? VM_NB : 4
};
_Static_assert((int)TILE_NV <= (int)VC_NV && (int)TILE_NV <= (int)VM_NB, "vectors across a block");
_Static_assert(TILE_MR * TILE_NV * VF * 4 <= TILE_BYTES, "the largest block");

/* Implements RtBlock for mr rows by nv vectors. */
VC_INLINE void
tile_floats(int mr, int nv, const Product *p, const float *a, const float *b, int64_t step, float *c, int64_t ldc)
{
	vc_product_rows(mr, nv, false, p->k, a, p->a_row, (VcLines){ b, 0, VC_PANEL, (int)step }, 0, p->added, c, ldc,
			nv * VF, 0, 0);
}

VC_INLINE void
tile_doubles(int mr, int nv, const Product *p, const double *a, const double *b, int64_t step, double *c, int64_t ldc)
{
	const int64_t columns = nv * VM_D;
	double start[TILE_ROW_ND * VM_D] = { 0 }, sum[TILE_MR * TILE_NV * VM_D];

	vm_block(mr, nv, columns, p->k, a, p->a_row, 1, b, step, start, sum, columns);
	for (int64_t i = 0; i < mr; i++, c += ldc)
		for (int64_t j = 0; j < columns; j++)
			c[j] = (p->added ? c[j] : 0) + sum[i * columns + j];
}

#define BLOCK(name, of, mr, nv) \
	static void \
	name(const Product *p, const void *a, const void *b, int64_t step, void *c, int64_t ldc) \
	{ \
		of(mr, nv, p, a, b, step, c, ldc); \
	}
BLOCK(tile_float_block, tile_floats, TILE_MR, TILE_NV)
BLOCK(tile_float_row, tile_floats, 1, TILE_ROW_NV)
BLOCK(tile_double_block, tile_doubles, TILE_MR, TILE_NV)
BLOCK(tile_double_row, tile_doubles, 1, TILE_ROW_ND)
#undef BLOCK

/* Implements RtTile.pack. */
static void
tile_float_pack(const Product *p, int64_t left, const void *b, void *to)
{
	vm_pack(TILE_NV * VF, left, p->k, b, p->b_row, p->b_col, to);
}

static void
tile_double_pack(const Product *p, int64_t left, const void *b, void *to)
{
	vm_pack_double(TILE_NV * VM_D, left, p->k, b, p->b_row, p->b_col, to);
}

/* Implements RtTile.dot. */
static void
tile_float_dot(const Product *p, const void *a, const void *b, void *c)
{
	*(float *)c = (p->added ? *(float *)c : 0) + vm_dot_float(p->k, a, b);
}

static void
tile_double_dot(const Product *p, const void *a, const void *b, void *c)
{
	*(double *)c = (p->added ? *(double *)c : 0) + vm_dot_double(p->k, a, b);
}

#define TILE(type, lanes, row) \
	{ tile_##type##_block, tile_##type##_row, tile_##type##_pack, tile_##type##_dot, TILE_MR, TILE_NV * (lanes), \
	  (row) * (lanes) }
#define TILES(name) \
	const RtTiles name = { TILE(float, VF, TILE_ROW_NV), TILE(double, VM_D, TILE_ROW_ND), 4 * VC_FLOATS }; \
	const RtTiles name##_floats = { TILE(float, VF, TILE_ROW_NV), { 0 }, 4 * VC_FLOATS };

#endif
