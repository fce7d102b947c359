/*
 * Float versions of bfloat16 and float16 weights, without a copy for each use.
 *
 * A specialization computes in float where the model has bfloat16 or float16. Each trial of a dynamic size is one more
 * specialization. Therefore a large weight has one float tensor for the whole compile. Its storage has no data of its
 * own: it refers to the storage that it is converted from. widened_fill computes the data when a reader needs it.
 *
 * Kinds of a widened storage:
 *
 *   RT_PACKED   data is null, until widened_fill
 *   RT_HEAP     data is filled in, until widened_trim
 */
#include "ir.h"

#include <stdlib.h>
#include <string.h>

enum { WIDEN_LEAST = 1 << 14 };          /* Smallest number of elements of a tensor that is widened without a copy. */

typedef struct Widening {                /* All widened storages and tensors of a compile. */
	Map storage_of;                  /* Widened, by source storage and range. */
	Map tensor_of;                   /* RtTensor, by Widened, sizes and strides. */
	PtrMap by_storage;               /* Widened, by storage of floats. */
	Vec(RtStorage *) filled;
} Widening;

static Widening *
widening(Cx *cx)
{
	if (!cx->widening) {
		cx->widening = new(cx->arena, Widening, 1);
		cx->widening->storage_of.arena = cx->widening->tensor_of.arena = cx->arena;
	}
	return cx->widening;
}

static Widened *
widened_range(Cx *cx, const RtTensor *t)
{
	Widening *all = widening(cx);
	const int64_t n = rt_numel(t);
	const char *key = arena_printf(cx->arena, "%p %lld %lld %d", (void *)t->storage, (long long)t->offset,
				       (long long)n, t->dtype);
	Widened *w = map_get(&all->storage_of, key);

	if (w)
		return w;
	w = new(cx->arena, Widened, 1);
	*w = (Widened){ .of = t->storage, .from = t->offset, .dtype = (RtDtype)t->dtype, .n = n,
			.storage = rt_storage_over(cx_rt(cx), NULL, n * (int64_t)sizeof(float), false) };
	if (!w->storage)
		fail(cx, (Range){ 0 }, "out of memory");
	w->storage->kind = RT_PACKED;
	/* Retains the storage, since its address is a key that no other storage must get. */
	rt_count_up(&w->storage->h);
	rt_count_up(&w->of->h);
	map_put(&all->storage_of, key, w);
	*ptrmap_at(cx->arena, &all->by_storage, w->storage) = (int64_t)(intptr_t)w;
	return w;
}

static const char *
geometry_key(Cx *cx, const Widened *w, const RtTensor *t)
{
	Buf b = { 0 };

	buf_printf(&b, "%p", (const void *)w);
	for (int i = 0; i < t->ndim; i++)
		buf_printf(&b, " %lld/%lld", (long long)t->dims[i], (long long)t->strides[i]);
	return arena_text(cx->arena, &b);
}

RtTensor *
widened(Cx *cx, const RtTensor *t)
{
	const Widened *w;
	const char *key;
	RtTensor *floats;

	if ((t->dtype != RT_bf16 && t->dtype != RT_f16) || rt_numel(t) < WIDEN_LEAST || t->ndim < 2 ||
	    t->storage->written || !tensor_has_data(t) || !rt_is_dense(t))
		return NULL;
	w = widened_range(cx, t);
	key = geometry_key(cx, w, t);
	if ((floats = map_get(&widening(cx)->tensor_of, key)))
		return floats;
	floats = rt_tensor_over(cx_rt(cx), w->storage, RT_f32, &(RtGeometry){ t->ndim, t->dims, t->strides, 0 });
	if (!floats)
		fail(cx, (Range){ 0 }, "out of memory");
	map_put(&widening(cx)->tensor_of, key, floats);
	return floats;
}

const Widened *
storage_widened(const Cx *cx, const RtStorage *s)
{
	return cx->widening ? (const Widened *)(intptr_t)ptrmap_get(&cx->widening->by_storage, s) : NULL;
}

void
widened_row(const Widened *w, int64_t first, int64_t n, int64_t apart, float *to)
{
	const uint16_t *at = (const uint16_t *)(const void *)w->of->data + w->from + first;

	if (w->dtype == RT_bf16)
		for (int64_t i = 0; i < n; i++)
			to[i] = rt_bf16_to_float(at[i * apart]);
	else
		for (int64_t i = 0; i < n; i++)
			to[i] = rt_half_to_float(at[i * apart]);
}

void
widened_fill(Cx *cx, RtStorage *s)
{
	const Widened *w = s->kind == RT_PACKED ? storage_widened(cx, s) : NULL;

	if (!w)
		return;
	s->data = rt_mem_line(s->bytes);
	if (!s->data)
		fail(cx, (Range){ 0 }, "out of memory");
	widened_row(w, 0, w->n, 1, (float *)(void *)s->data);
	s->kind = RT_HEAP;
	vec_push(cx->arena, &widening(cx)->filled, s);
}

void
widened_fill_value(Cx *cx, IValue v)
{
	if (v.tag == RT_TENSOR)
		widened_fill(cx, v.u.t->storage);
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		widened_fill_value(cx, v.u.list->v[i]);
	for (int64_t i = 0; v.tag == RT_TUPLE && i < v.u.tuple->n; i++)
		widened_fill_value(cx, v.u.tuple->v[i]);
}

void
widened_trim(Cx *cx)
{
	Widening *all = cx->widening;

	for (int i = 0; all && i < all->filled.n; i++) {
		rt_mem_back(all->filled.at[i]->data);
		all->filled.at[i]->data = NULL;
		all->filled.at[i]->kind = RT_PACKED;
	}
	if (all)
		all->filled.n = 0;
}

bool
tensor_has_data(const RtTensor *t)
{
	return t->storage && t->storage->kind != RT_META && t->storage->kind != RT_PACKED;
}

static bool
is_packed(IValue v)
{
	return v.tag == RT_TENSOR && v.u.t->storage->kind == RT_PACKED;
}

bool
value_lacks_data(IValue v)
{
	return value_any(v, is_packed);
}
