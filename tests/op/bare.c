#include "bare.h"

int
bare_count(IValue v)
{
	int n = v.tag == RT_TENSOR;

	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		n += bare_count(v.u.list->v[i]);
	return n;
}

static IValue
copy_tensor(RtCx *cx, const RtTensor *t, bool bare)
{
	const bool meta = cx->meta;
	IValue v;

	cx->meta = bare;
	v = bare ? rt_without_data(cx, rt_of((RtTensor *)t)) : rt_deep_copy(cx, rt_of((RtTensor *)t));
	cx->meta = meta;
	return v;
}

IValue
bare_some(RtCx *cx, IValue v, uint64_t bare, int *at)
{
	RtList *list;

	if (v.tag == RT_TENSOR)
		return copy_tensor(cx, v.u.t, bare >> ((*at)++ & 63) & 1);
	if (v.tag != RT_LIST)
		return rt_retain(v);
	list = rt_list_new(cx, v.u.list->elem, v.u.list->n);
	for (int64_t i = 0; i < v.u.list->n; i++)
		rt_list_push(cx, list, bare_some(cx, v.u.list->v[i], bare, at));
	return rt_ref(RT_LIST, list);
}

static bool
same_elements(const IValue *a, int64_t na, const IValue *b, int64_t nb)
{
	bool same = na == nb;

	for (int64_t i = 0; i < na && same; i++)
		same = bare_same(a[i], b[i]);
	return same;
}

bool
bare_same(IValue a, IValue b)
{
	if (a.tag != b.tag)
		return false;
	if (a.tag == RT_LIST)
		return same_elements(a.u.list->v, a.u.list->n, b.u.list->v, b.u.list->n);
	if (a.tag == RT_TUPLE)
		return same_elements(a.u.tuple->v, a.u.tuple->n, b.u.tuple->v, b.u.tuple->n);
	if (a.tag != RT_TENSOR)
		return true;
	if (a.u.t->dtype != b.u.t->dtype || a.u.t->ndim != b.u.t->ndim)
		return false;
	for (int i = 0; i < a.u.t->ndim; i++)
		if (a.u.t->dims[i] != b.u.t->dims[i] ||
		    (rt_numel(a.u.t) > 1 && a.u.t->dims[i] > 1 && a.u.t->strides[i] != b.u.t->strides[i]))
			return false;
	return true;
}

uint64_t
bare_trial(int i, int count)
{
	if (!i || count < 2 || i > (count > 2 ? 2 * count : count))
		return i ? 0 : ~(uint64_t)0;
	return i <= count ? (uint64_t)1 << ((i - 1) & 63) : ~((uint64_t)1 << ((i - 1 - count) & 63));
}
