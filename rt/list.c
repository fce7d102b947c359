/* rt/list.c - lists, and deep copies of values
 */
#include "rt.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>

RtList *
rt_list_new(RtCx *cx, const RtType *elem, int64_t room)
{
	RtList *l = rt_mem(sizeof *l);

	if (room < RT_LIMIT_LIST)
		room = RT_LIMIT_LIST;
	if (l && (room > INT64_MAX / 32 || !(l->v = rt_mem((int64_t)sizeof *l->v * room)))) {
		rt_mem_back(l);
		l = 0;
	}
	if (!l) {
		rt_raise(cx, "out of memory");
		return 0;
	}
	l->h.refs = 1;
	l->elem = elem;
	l->n = 0;
	l->cap = room;
	return l;
}

int
rt_list_push(RtCx *cx, RtList *l, IValue v)
{
	IValue *more;

	if (l->n == l->cap) {
		more = l->cap > INT64_MAX / 64 ? 0 : rt_mem_more(l->v, (int64_t)sizeof *more * l->cap * 2);
		if (!more) {
			rt_release(v);
			return rt_raise(cx, "out of memory");
		}
		l->v = more;
		l->cap *= 2;
	}
	l->v[l->n++] = v;
	return RT_OK;
}

/* ---- deep copy -------------------------------------------------------------------------------------------- */

/* Values copied so far: the original's address -> the copy, borrowed from the container that holds it. */
typedef struct Seen { const void *from; IValue to; } Seen;
typedef struct Copier {
	RtCx   *cx;
	Seen   *at;        /* open-addressed table; `from` is null in a free slot */
	int64_t n, cap;
	int     depth;
} Copier;

static Seen *
seen_find(Seen *at, int64_t cap, const void *from)
{
	int64_t i = (int64_t)(((uintptr_t)from >> 4) * 0x9e3779b97f4a7c15u >> 20 & (uint64_t)(cap - 1));

	while (at[i].from && at[i].from != from)
		i = (i + 1) & (cap - 1);
	return &at[i];
}

static int
seen_add(Copier *c, const void *from, IValue to)
{
	int64_t cap = c->cap ? c->cap * 2 : RT_LIMIT_SEEN;
	Seen *more;

	if (c->n * 2 >= c->cap) {
		if (!(more = rt_mem_zeroed((int64_t)sizeof *more * cap)))
			return rt_raise(c->cx, "out of memory");
		for (int64_t i = 0; i < c->cap; i++)
			if (c->at[i].from)
				*seen_find(more, cap, c->at[i].from) = c->at[i];
		rt_mem_back(c->at);
		c->at = more;
		c->cap = cap;
	}
	*seen_find(c->at, c->cap, from) = (Seen){ from, to };
	c->n++;
	return RT_OK;
}

static IValue deep_copy(Copier *, IValue);

/* Returns a copy of a storage. Read-only bytes are shared: rt_writable copies them before a write. */
static RtStorage *
copy_storage(Copier *c, const RtStorage *s)
{
	RtStorage *own;

	if (s->kind == RT_BORROWED && s->readonly)
		return rt_storage_over(c->cx, s->data, s->bytes, true);
	own = rt_storage_new(c->cx, s->bytes);
	if (own && own->data && s->data)
		memcpy(own->data, s->data, (size_t)own->bytes);
	return own;
}

/* Returns a tensor with the same geometry over a copy of the whole storage. Each storage is copied once. */
static RtTensor *
copy_tensor(Copier *c, RtTensor *t)
{
	Seen *s = c->cap ? seen_find(c->at, c->cap, t->storage) : 0;
	RtStorage *own;
	RtTensor *r;

	if (s && s->from) {
		own = s->to.u.storage;
		rt_count_up(&own->h);
	} else {
		if (!(own = copy_storage(c, t->storage)))
			return 0;
		if (seen_add(c, t->storage, rt_ref(RT_STORAGE, own))) {
			rt_storage_release(own);
			return 0;
		}
	}
	r = rt_tensor_over(c->cx, own, (RtDtype)t->dtype,
			   &(RtGeometry){ t->ndim, t->dims, t->strides, t->offset });
	rt_storage_release(own);
	if (!r)
		return 0;
	r->flags = t->flags;
	rt_tensor_share_quant(r, t);
	return r;
}

/* Copies n values. After a failure, the remaining ones are None. */
static int
copy_all(Copier *c, IValue *to, const IValue *from, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		to[i] = deep_copy(c, from[i]);
		if (c->cx->status)
			return RT_ERROR;
	}
	return RT_OK;
}

static int
copy_list(Copier *c, RtList *to, const RtList *from)
{
	IValue v;

	for (int64_t i = 0; i < from->n; i++) {
		v = deep_copy(c, from->v[i]);
		if (c->cx->status || rt_list_push(c->cx, to, v))
			return RT_ERROR;
	}
	return RT_OK;
}

static int
copy_dict(Copier *c, RtDict *to, const RtDict *from)
{
	IValue key, value;

	for (int64_t i = 0; i < from->used; i++) {
		if (from->at[i].dead)
			continue;
		key = deep_copy(c, from->at[i].key);
		value = deep_copy(c, from->at[i].value);
		if (rt_dict_set(c->cx, to, key, value) || c->cx->status)
			return RT_ERROR;
	}
	return RT_OK;
}

/* Returns an empty value of v's kind, to be filled with copies. Null if memory is exhausted, with an error raised. */
static void *
copy_shell(Copier *c, IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_TENSOR: return copy_tensor(c, v.u.t);
	case RT_LIST:   return rt_list_new(c->cx, v.u.list->elem, v.u.list->n);
	case RT_DICT:   return rt_dict_new(c->cx, v.u.dict->key, v.u.dict->value);
	case RT_TUPLE:  return rt_tuple_new(c->cx, v.u.tuple->type, v.u.tuple->n);
	default:        return rt_object_new(c->cx, v.u.obj->cls);
	}
}

static IValue
deep_copy(Copier *c, IValue v)
{
	Seen *s;
	IValue r;
	int bad = 0;

	if (v.tag != RT_TENSOR && v.tag != RT_LIST && v.tag != RT_DICT && v.tag != RT_TUPLE && v.tag != RT_OBJECT)
		return rt_retain(v);
	if (c->cap && (s = seen_find(c->at, c->cap, v.u.p))->from)
		return rt_retain(s->to);
	if (c->depth > RT_DEPTH) {
		rt_raise(c->cx, "value is nested too deep to be copied");
		return rt_none();
	}
	r = rt_ref((RtTag)v.tag, copy_shell(c, v));
	if (!r.u.p)
		return rt_none();
	if (seen_add(c, v.u.p, r)) {
		rt_release(r);
		return rt_none();
	}
	c->depth++;
	switch ((RtTag)v.tag) {
	case RT_LIST:   bad = copy_list(c, r.u.list, v.u.list); break;
	case RT_DICT:   bad = copy_dict(c, r.u.dict, v.u.dict); break;
	case RT_TUPLE:  bad = copy_all(c, r.u.tuple->v, v.u.tuple->v, v.u.tuple->n); break;
	case RT_OBJECT: bad = copy_all(c, r.u.obj->slot, v.u.obj->slot, v.u.obj->cls->nslot); break;
	default:        break;
	}
	c->depth--;
	if (!bad)
		return r;
	rt_release(r);
	return rt_none();
}

IValue
rt_deep_copy(RtCx *cx, IValue v)
{
	Copier c = { .cx = cx };
	IValue r;

	rt_clear_error(cx);
	r = deep_copy(&c, v);
	rt_mem_back(c.at);
	return r;
}
