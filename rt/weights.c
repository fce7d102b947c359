/* rt/weights.c - storages of packed weights: unpacked whole at the first use, or one row at a time */
#include "program.h"

#include <string.h>

bool
rt_holds_weights(IValue v)
{
	static const char own[] = "__torch__.torch.classes.";

	return v.tag == RT_OBJECT && !strncmp(v.u.obj->cls->name, own, sizeof own - 1);
}

bool
rt_packed_row(RtCx *cx, const RtTensor *t, int64_t row, void *to)
{
	const RtSpan *span = t->storage->packed;
	const int64_t width = t->dims[1], at = t->offset / (width ? width : 1) + row;

	memset(to, 0, (size_t)(width * rt_dtypes[t->dtype].bytes));      /* elements that are in no part are 0 */
	for (int64_t i = 0; i < span->offset; i++) {
		RtPacking p = span->packing[i];
		const int64_t column = at - p.to / (width ? width : 1);

		if (p.sn != width || p.k != width || p.sk != 1 || p.taps != 1 || p.inner || p.to % width ||
		    t->offset % width)
			return false;
		p.to -= at * width;
		if (column >= 0 && column < p.n)
			cx->program->unpack(cx->program->weights, &p, column, column + 1, to);
	}
	return true;
}

void
rt_unpack(RtCx *cx, RtStorage *s)
{
	static RtProcessLock one;

	rt_process_lock(&one);
	if (s->kind == RT_PACKED) {
		memset(s->data, 0, (size_t)s->packed->bytes);      /* elements that are in no part are 0 */
		for (int64_t i = 0; i < s->packed->offset; i++) {
			const RtPacking *p = &s->packed->packing[i];

			cx->program->unpack(cx->program->weights, p, 0, p->n, s->data);
		}
		s->kind = RT_HEAP;    /* this atomic store comes last, so that threads which read it see the data */
	}
	rt_process_unlock(&one);
}

bool
rt_unpacks(IValue v)
{
	bool any = v.tag == RT_TENSOR || rt_holds_weights(v);

	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n && !any; i++)
		any = rt_unpacks(v.u.list->v[i]);
	return any;
}

void
rt_unpack_all(RtCx *cx, IValue v)
{
	for (int i = 0; rt_holds_weights(v) && i < v.u.obj->cls->nslot; i++)
		rt_unpack_all(cx, v.u.obj->slot[i]);
	if (v.tag == RT_TENSOR && v.u.t->storage->kind == RT_PACKED)
		rt_unpack(cx, v.u.t->storage);
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		rt_unpack_all(cx, v.u.list->v[i]);
}

IValue
rt_weight(RtCx *cx, int i)
{
	rt_unpack_all(cx, cx->value[i]);
	return cx->value[i];
}
