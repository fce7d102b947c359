/* rt/dict.c - dicts, in insertion order
 *
 * As in rt/table.c, entries are in an array, and an open-addressed hash table contains their indices. A removed entry
 * is marked dead and keeps its slot until the next rebuild, when the array is full. Keys are int, float, bool, complex,
 * str, tensors (by identity), enums, devices and tuples of these. */
#include "rt.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t
hash_double(double f)
{
	uint64_t u;

	if (f == 0)
		return 0;
	memcpy(&u, &f, 8);
	return u;
}

uint64_t
rt_hash(IValue v)
{
	uint64_t h;

	switch ((RtTag)v.tag) {
	case RT_DOUBLE:  return hash_double(v.u.f);
	case RT_STR:     return hash_bytes(v.u.str->s, v.u.str->n);
	case RT_COMPLEX: return hash_double(v.u.c->re) ^ mix(hash_double(v.u.c->im));
	case RT_ENUM:    return hash_bytes(v.u.en->name->s, v.u.en->name->n);
	case RT_TUPLE:
		h = (uint64_t)v.u.tuple->n;
		for (int64_t i = 0; i < v.u.tuple->n; i++)
			h = mix(h) ^ rt_hash(v.u.tuple->v[i]);
		return h;
	default:         return (uint64_t)v.u.i;
	}
}

static bool
same_key(IValue a, IValue b)
{
	if (a.tag != b.tag)
		return false;
	switch ((RtTag)a.tag) {
	case RT_STR:
		return a.u.str->n == b.u.str->n && !memcmp(a.u.str->s, b.u.str->s, (size_t)a.u.str->n);
	case RT_ENUM:
		return rt_type_equal(a.u.en->type, b.u.en->type) && !strcmp(a.u.en->name->s, b.u.en->name->s);
	case RT_TUPLE:
		if (a.u.tuple->n != b.u.tuple->n)
			return false;
		for (int64_t i = 0; i < a.u.tuple->n; i++)
			if (!same_key(a.u.tuple->v[i], b.u.tuple->v[i]))
				return false;
		return true;
	default:
		return rt_same(a, b);
	}
}

/* Returns the slot of the key, or the free slot in which to insert it. */
static int64_t
find_slot(const RtDict *d, IValue key, uint64_t hash)
{
	int64_t i = (int64_t)(mix(hash) & (uint64_t)(d->nslot - 1));
	const RtDictEntry *e;

	for (; d->slot[i] >= 0; i = (i + 1) & (d->nslot - 1)) {
		e = &d->at[d->slot[i]];
		if (!e->dead && e->hash == hash && same_key(e->key, key))
			break;
	}
	return i;
}

RtDict *
rt_dict_new(RtCx *cx, const RtType *key, const RtType *value)
{
	RtDict *d = rt_mem_counted(cx, sizeof *d);

	if (!d)
		return 0;
	d->key = key;
	d->value = value;
	return d;
}

/* Makes room for one more entry, and drops dead entries. */
static int
rebuild(RtCx *cx, RtDict *d)
{
	int64_t cap = d->n * 2 > RT_LIMIT_DICT ? d->n * 2 : RT_LIMIT_DICT, nslot = RT_LIMIT_DICT_SLOTS, n = 0;
	RtDictEntry *at = cap > INT32_MAX / 4 ? 0 : rt_mem((int64_t)sizeof *at * cap);
	int32_t *slot;

	while (nslot <= cap * 2)
		nslot *= 2;
	slot = at ? rt_mem((int64_t)sizeof *slot * nslot) : 0;
	if (!slot) {
		rt_mem_back(at);
		return rt_raise(cx, "out of memory");
	}
	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead)
			at[n++] = d->at[i];
	for (int64_t i = 0; i < nslot; i++)
		slot[i] = -1;
	rt_mem_back(d->at);
	rt_mem_back(d->slot);
	d->at = at;
	d->slot = slot;
	d->used = n;
	d->cap = cap;
	d->nslot = nslot;
	for (int64_t i = 0; i < n; i++)
		d->slot[find_slot(d, at[i].key, at[i].hash)] = (int32_t)i;
	return RT_OK;
}

int
rt_dict_set(RtCx *cx, RtDict *d, IValue key, IValue value)
{
	uint64_t hash = rt_hash(key);
	int64_t at;

	if (d->nslot && (at = d->slot[find_slot(d, key, hash)]) >= 0) {
		rt_assign(&d->at[at].value, value);
		rt_release(key);
		return RT_OK;
	}
	if (d->used == d->cap && rebuild(cx, d)) {
		rt_release(key);
		rt_release(value);
		return RT_ERROR;
	}
	d->slot[find_slot(d, key, hash)] = (int32_t)d->used;
	d->at[d->used++] = (RtDictEntry){ key, value, hash, false };
	d->n++;
	return RT_OK;
}

IValue *
rt_dict_get(RtDict *d, IValue key)
{
	int64_t at;

	if (!d->n || (at = d->slot[find_slot(d, key, rt_hash(key))]) < 0)
		return 0;
	return &d->at[at].value;
}

bool
rt_dict_remove(RtDict *d, IValue key)
{
	int64_t at;
	RtDictEntry *e, old;

	if (!d->n || (at = d->slot[find_slot(d, key, rt_hash(key))]) < 0)
		return false;
	e = &d->at[at];
	old = *e;
	*e = (RtDictEntry){ .dead = true };
	if (--d->n == 0) {                       /* empty: the array is filled from its start again */
		d->used = 0;
		for (int64_t i = 0; i < d->nslot; i++)
			d->slot[i] = -1;
	}
	rt_release(old.key);
	rt_release(old.value);
	return true;
}
