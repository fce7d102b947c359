/* rt/ops/geom.h - a tensor's geometry by value. view.c and part.c change a copy of it and make a view from the copy. */
#ifndef RT_OPS_GEOM_H
#define RT_OPS_GEOM_H

#include "block.h"
#include "quant.h"

#include <string.h>

typedef struct Geom {
	int     n;
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int64_t offset;
} Geom;

/* Returns a tensor of this geometry over another one's storage. */
static inline RtTensor *
geom_over(RtCx *cx, const RtTensor *t, RtDtype dtype, const Geom *g)
{
	return rt_tensor_over(cx, t->storage, dtype, &(RtGeometry){ g->n, g->dims, g->strides, g->offset });
}

static inline Geom
geom_of(const RtTensor *t)
{
	Geom g;

	g.n = t->ndim;
	g.offset = t->offset;
	memcpy(g.dims, t->dims, sizeof *t->dims * t->ndim);
	memcpy(g.strides, t->strides, sizeof *t->strides * t->ndim);
	return g;
}

typedef struct ViewPart { int dim; int64_t start, step; bool gone; } ViewPart;   /* gone: whether the dim is dropped */

/* Returns a view of base with this geometry. `part` describes the dim that was cut. It is null if no dim was cut. */
RtTensor *view_of(RtCx *, RtTensor *base, const Geom *, const ViewPart *part);

static inline int
give(RtCx *cx, RtTensor *base, const Geom *g, IValue *out)
{
	RtTensor *r = view_of(cx, base, g, NULL);

	RT_RESULT(cx, r, out[0]);
	return RT_OK;
}

static inline int
give_cut(RtCx *cx, RtTensor *base, const Geom *g, ViewPart part, IValue *out)
{
	RtTensor *r = view_of(cx, base, g, &part);

	RT_RESULT(cx, r, out[0]);
	return RT_OK;
}

/* Ends a kernel with the view r as its result. Sets r's RT_BITS to those of flags. */
static inline int
give_with_bits(RtCx *cx, RtTensor *r, unsigned flags, IValue *out)
{
	if (r)
		r->flags = (uint8_t)((r->flags & ~RT_BITS) | (flags & RT_BITS));
	RT_RESULT(cx, r, out[0]);
	return RT_OK;
}

static inline int
give_self(const IValue *in, IValue *out)
{
	out[0] = rt_retain(in[0]);
	return RT_OK;
}

static inline void
geom_remove(Geom *g, int d)
{
	int rest = g->n - d - 1;

	memmove(g->dims + d, g->dims + d + 1, sizeof *g->dims * rest);
	memmove(g->strides + d, g->strides + d + 1, sizeof *g->strides * rest);
	g->n--;
}

static inline void
geom_insert(Geom *g, int d, int64_t size, int64_t stride)
{
	int rest = g->n - d;

	memmove(g->dims + d + 1, g->dims + d, sizeof *g->dims * rest);
	memmove(g->strides + d + 1, g->strides + d, sizeof *g->strides * rest);
	g->dims[d] = size;
	g->strides[d] = stride;
	g->n++;
}

static inline void
geom_swap(Geom *g, int a, int b)
{
	int64_t d = g->dims[a], s = g->strides[a];

	g->dims[a] = g->dims[b], g->strides[a] = g->strides[b];
	g->dims[b] = d, g->strides[b] = s;
}

#endif
