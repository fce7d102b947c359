/*
 * Makes fresh instances of a module, so that writes of a run on one instance are not visible in another.
 *
 * Objects and containers are copied, and values that were shared stay shared. Tensors get storages of their own. A
 * storage in the mapped archive is not copied. The file is mapped privately once more, and the operating system copies
 * pages when they are written.
 *
 * Copies in double accept any values. Floating tensors become double and complex ones complex double. Tensors that
 * share a storage share the widened one.
 */
#include "../frontend.h"

#include <string.h>

typedef struct Copies {
	Cx      *cx;
	RtCx     rt;
	Archive *archive;
	char    *map;           /* Map of the file for this instance. Null until needed. */
	PtrMap   done;          /* New address, by old address. */
	bool     in_double;
	/* For copies in double: references to all copies and their storages, whose addresses are keys of `done`. */
	Vec(IValue) held;
	Vec(RtStorage *) storages;
} Copy;

static void *
need(Copy *c, void *p)
{
	if (!p)
		fail(c->cx, (Range){ 0 }, "%s", c->rt.message ? c->rt.message : "out of memory");
	return p;
}

static void
note(Copy *c, const void *from, const void *to)
{
	*ptrmap_at(c->cx->arena, &c->done, from) = (intptr_t)to;
}

static IValue copy(Copy *, IValue);

/* Returns a storage for tensors of dtype d: the same elements in the widened dtype. A storage that is viewed both as
 * floats and as integers becomes two storages. */
static RtStorage *
widened_storage(Copy *c, RtStorage *s, RtDtype d)
{
	const RtDtype held = rt_in_double(d);
	const int64_t bytes = rt_dtypes[d].bytes, wide = rt_dtypes[held].bytes, n = s->bytes / bytes;
	const char *key = (const char *)s + wide / bytes;
	const int64_t known = ptrmap_get(&c->done, key);
	RtStorage *to;

	if (known)
		return (RtStorage *)(intptr_t)known;
	to = need(c, rt_storage_new(&c->rt, n * wide));
	rt_cast(held, to->data, d, s->data, n);
	note(c, key, to);
	vec_push(c->cx->arena, &c->storages, to);
	return to;
}

static RtStorage *
copy_storage(Copy *c, RtStorage *s)
{
	int64_t known = *ptrmap_at(c->cx->arena, &c->done, s), offset = archive_offset(c->archive, s->data);
	RtStorage *to;

	if (known)
		return (RtStorage *)(intptr_t)known;
	if (offset >= 0) {
		c->map = c->map ? c->map : archive_remap(c->archive);
		to = need(c, rt_storage_over(&c->rt, c->map + offset, s->bytes, s->readonly));
	} else {
		to = need(c, rt_storage_new(&c->rt, s->bytes));
		if (s->bytes)
			memcpy(to->data, s->data, (size_t)s->bytes);
	}
	note(c, s, to);
	return to;
}

static void *
copy_tensor(Copy *c, RtTensor *t)
{
	const RtDtype dtype = c->in_double ? rt_in_double(t->dtype) : t->dtype;
	RtStorage *s = c->in_double ? widened_storage(c, t->storage, t->dtype) : copy_storage(c, t->storage);
	RtTensor *to = need(c, rt_tensor_over(&c->rt, s, dtype,
					      &(RtGeometry){ t->ndim, t->dims, t->strides, t->offset }));

	to->flags = t->flags;
	to->layout = t->layout;
	if (t->quant) {
		to->quant = t->quant;
		rt_count_up(&t->quant->h);
	}
	return to;
}

static void *
copy_list(Copy *c, RtList *l)
{
	RtList *to = need(c, rt_list_new(&c->rt, l->elem, l->n));

	note(c, l, to);
	for (int64_t i = 0; i < l->n; i++)
		rt_list_push(&c->rt, to, copy(c, l->v[i]));
	return to;
}

static void *
copy_dict(Copy *c, RtDict *d)
{
	RtDict *to = need(c, rt_dict_new(&c->rt, d->key, d->value));

	note(c, d, to);
	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead)
			rt_dict_set(&c->rt, to, copy(c, d->at[i].key), copy(c, d->at[i].value));
	return to;
}

static void *
copy_tuple(Copy *c, RtTuple *t)
{
	RtTuple *to = need(c, rt_tuple_new(&c->rt, t->type, t->n));

	note(c, t, to);
	for (int64_t i = 0; i < t->n; i++)
		to->v[i] = copy(c, t->v[i]);
	return to;
}

static void *
copy_object(Copy *c, RtObject *o)
{
	RtObject *to = need(c, rt_object_new(&c->rt, o->cls));

	note(c, o, to);
	for (int i = 0; i < o->cls->nslot; i++)
		to->slot[i] = copy(c, o->slot[i]);
	return to;
}

static IValue
copy(Copy *c, IValue v)
{
	int64_t known;
	void *to;

	if (v.tag != RT_TENSOR && v.tag != RT_LIST && v.tag != RT_DICT && v.tag != RT_TUPLE && v.tag != RT_OBJECT)
		return rt_retain(v);
	known = *ptrmap_at(c->cx->arena, &c->done, v.u.p);
	if (known)
		return rt_retain(rt_ref((RtTag)v.tag, (void *)(intptr_t)known));
	to = v.tag == RT_TENSOR ? copy_tensor(c, v.u.t) : v.tag == RT_LIST ? copy_list(c, v.u.list)
		: v.tag == RT_DICT ? copy_dict(c, v.u.dict) : v.tag == RT_TUPLE ? copy_tuple(c, v.u.tuple)
		: copy_object(c, v.u.obj);
	note(c, v.u.p, to);
	if (c->in_double)
		vec_push(c->cx->arena, &c->held, rt_retain(rt_ref((RtTag)v.tag, to)));
	return rt_ref((RtTag)v.tag, to);
}

IValue
module_fresh(Cx *cx, Module *m)
{
	Copy *c = new(cx->arena, Copy, 1);
	IValue v;

	c->cx = cx;
	c->archive = m->archive;
	rt_cx_init(&c->rt);
	v = copy(c, m->self);
	rt_cx_free(&c->rt);
	return v;
}

Copies *
copies_in_double(Cx *cx)
{
	Copies *c = new(cx->arena, Copies, 1);

	c->cx = cx;
	c->in_double = true;
	rt_cx_init(&c->rt);
	return c;
}

IValue
copies_of(Copies *c, IValue v)
{
	RT_ASSERT(c->in_double);
	return copy(c, v);
}

void
copies_end(Copies *c)
{
	for (int i = 0; i < c->held.n; i++)
		rt_release(c->held.at[i]);
	for (int i = 0; i < c->storages.n; i++)
		rt_storage_release(c->storages.at[i]);
	rt_cx_free(&c->rt);
}
