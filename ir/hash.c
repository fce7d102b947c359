/*
 * Equality and hashes of constants and nodes, for common subexpressions, constant pooling and the hash of a graph.
 *
 * Two constants are identical when no program can distinguish them.  Tensors are compared by dtype, sizes, strides,
 * flags and bytes (NaN equals itself), containers member by member.  Constants that code may write to must also share
 * their memory.  Objects, futures and generators are identical only to themselves.
 */
#include "ir.h"
#include <string.h>

static uint64_t
hash_text(const char *s)
{
	return hash_bytes(s, (int64_t)strlen(s));
}

/* ---- constants --------------------------------------------------------------------------------------- */

/* Calls f for every contiguous run of bytes, in logical order, until f returns false. */
static bool
each_row(const RtTensor *t, int dim, int64_t at, bool (*f)(void *, int64_t at, int64_t n), void *arg)
{
	const int64_t bytes = rt_dtypes[t->dtype].bytes;

	if (dim == t->ndim)
		return f(arg, at, bytes);
	if (dim == t->ndim - 1 && t->strides[dim] == 1)
		return f(arg, at, bytes * t->dims[dim]);
	for (int64_t i = 0; i < t->dims[dim]; i++)
		if (!each_row(t, dim + 1, at + i * t->strides[dim] * bytes, f, arg))
			return false;
	return true;
}

typedef struct Rows { const RtTensor *a, *b; uint64_t h; } Rows;

enum { GLANCE = 1024 };                  /* Number of bytes of a row that value_hash reads. */

static bool
hash_row(void *arg, int64_t at, int64_t n)
{
	Rows *r = arg;

	r->h = hash_mix(r->h, hash_bytes(rt_data(r->a) + at, n));
	return true;
}

static bool
hash_glance(void *arg, int64_t at, int64_t n)
{
	hash_row(arg, at, n < GLANCE ? n : GLANCE);
	return false;
}

static bool
same_row(void *arg, int64_t at, int64_t n)
{
	Rows *r = arg;

	return !memcmp(rt_data(r->a) + at, rt_data(r->b) + at, n);
}

static uint64_t
hash_tensor(const RtTensor *t, bool (*row)(void *, int64_t at, int64_t n))
{
	Rows r = { t, NULL, hash_mix(t->dtype, t->ndim) };

	r.h = hash_mix(r.h, hash_bytes(t->dims, t->ndim * (int64_t)sizeof *t->dims));
	if (!tensor_has_data(t))
		r.h = hash_mix(r.h, (uintptr_t)t->storage);
	else if (rt_numel(t))
		each_row(t, 0, 0, row, &r);
	return r.h;
}

uint64_t
contents_hash(const RtTensor *t)
{
	return hash_tensor(t, hash_row);
}

static bool
same_numbers(const int64_t *a, const int64_t *b, int n)
{
	return !n || !memcmp(a, b, n * sizeof *a);
}

static bool
same_quant(const RtQuant *a, const RtQuant *b)
{
	if (!a || !b)
		return a == b;
	return a->scheme == b->scheme && a->scale == b->scale && a->zero == b->zero && a->axis == b->axis &&
	       a->scales == b->scales && a->zeros == b->zeros;
}

static bool
same_tensor(const RtTensor *a, const RtTensor *b)
{
	Rows r = { a, b, 0 };

	if (a == b)
		return true;
	if (a->dtype != b->dtype || a->ndim != b->ndim || a->flags != b->flags || a->layout != b->layout ||
	    !same_numbers(a->dims, b->dims, a->ndim) || !same_numbers(a->strides, b->strides, a->ndim) ||
	    !same_quant(a->quant, b->quant))
		return false;
	if (!tensor_has_data(a) || !tensor_has_data(b))
		return a->storage && a->storage->kind == RT_PACKED && a->storage == b->storage &&
		       a->offset == b->offset;
	if ((a->storage->written || b->storage->written) && rt_data(a) != rt_data(b))
		return false;
	return !rt_numel(a) || rt_data(a) == rt_data(b) || each_row(a, 0, 0, same_row, &r);
}

static uint64_t value_hash(IValue);

static uint64_t
hash_members(uint64_t h, const IValue *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		h = hash_mix(h, value_hash(v[i]));
	return h;
}

static bool
same_members(const IValue *a, const IValue *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (!value_identical(a[i], b[i]))
			return false;
	return true;
}

/* Hashes a value.  Reads only the beginning of a tensor's first row, so that weights of megabytes are compared only if
 * they begin alike. */
static uint64_t
value_hash(IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_NONE: case RT_INT: case RT_BOOL: case RT_DEVICE: case RT_DOUBLE:
		return hash_mix(v.tag, (uint64_t)v.u.i);
	case RT_TENSOR:
		return hash_tensor(v.u.t, hash_glance);
	case RT_STR:
		return hash_bytes(v.u.str->s, v.u.str->n);
	case RT_LIST:
		return hash_members(RT_LIST, v.u.list->v, v.u.list->n);
	case RT_TUPLE:
		return hash_members(RT_TUPLE, v.u.tuple->v, v.u.tuple->n);
	case RT_COMPLEX:
		return hash_bytes(&v.u.c->re, 2 * sizeof(double));
	case RT_DICT:
		return hash_mix(RT_DICT, (uint64_t)v.u.dict->n);
	case RT_ENUM:
		return hash_text(v.u.en->name->s);
	default:
		return hash_mix(v.tag, (uintptr_t)v.u.p);
	}
}

static bool
same_dict(const RtDict *a, const RtDict *b)
{
	int64_t i = 0, j = 0;

	if (a->n != b->n || a->key != b->key || a->value != b->value)
		return false;
	for (;; i++, j++) {
		while (i < a->used && a->at[i].dead)
			i++;
		while (j < b->used && b->at[j].dead)
			j++;
		if (i == a->used || j == b->used)
			return i == a->used && j == b->used;
		if (!value_identical(a->at[i].key, b->at[j].key) || !value_identical(a->at[i].value, b->at[j].value))
			return false;
	}
}

bool
value_identical(IValue a, IValue b)
{
	if (a.tag != b.tag)
		return false;
	if (a.u.i == b.u.i)
		return true;
	switch ((RtTag)a.tag) {
	case RT_TENSOR:
		return same_tensor(a.u.t, b.u.t);
	case RT_STR:
		return a.u.str->n == b.u.str->n && !memcmp(a.u.str->s, b.u.str->s, a.u.str->n);
	case RT_LIST:
		return a.u.list->n == b.u.list->n && a.u.list->elem == b.u.list->elem &&
		       same_members(a.u.list->v, b.u.list->v, a.u.list->n);
	case RT_TUPLE:
		return a.u.tuple->n == b.u.tuple->n && a.u.tuple->type == b.u.tuple->type &&
		       same_members(a.u.tuple->v, b.u.tuple->v, a.u.tuple->n);
	case RT_DICT:
		return same_dict(a.u.dict, b.u.dict);
	case RT_COMPLEX:
		return !memcmp(&a.u.c->re, &b.u.c->re, 2 * sizeof(double));
	case RT_ENUM:
		return a.u.en->type == b.u.en->type && !strcmp(a.u.en->name->s, b.u.en->name->s);
	default:
		return false;
	}
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

bool
attr_equal(const Attr *a, const Attr *b)
{
	if (a->name != b->name || a->kind != b->kind)
		return false;
	switch (a->kind) {
	case ATTR_VALUE:
		return value_identical(a->v, b->v);
	case ATTR_GRAPH:
		return a->g == b->g;
	case ATTR_TYPE:
		return a->type == b->type;
	case ATTR_TYPES:
		return a->ntypes == b->ntypes && !memcmp(a->types, b->types, a->ntypes * sizeof *a->types);
	case ATTR_FUNCTION:
		return a->fn == b->fn;
	}
	return false;
}

static uint64_t
attr_hash(const Attr *a)
{
	uint64_t h = (uintptr_t)a->name;

	switch (a->kind) {
	case ATTR_VALUE:
		return hash_mix(h, value_hash(a->v));
	case ATTR_GRAPH:
		return hash_mix(h, (uintptr_t)a->g);
	case ATTR_TYPE:
		return hash_mix(h, (uintptr_t)a->type);
	case ATTR_TYPES:
		return hash_mix(h, a->ntypes);
	case ATTR_FUNCTION:
		return hash_mix(h, (uintptr_t)a->fn);
	}
	return h;
}

uint64_t
node_hash(const Node *n)
{
	uint64_t h = hash_mix((uintptr_t)n->kind, (uintptr_t)n->op);

	for (int i = 0; i < n->nin; i++)
		h = hash_mix(h, (uintptr_t)n->in[i]);
	for (int i = 0; i < n->nout; i++)
		h = hash_mix(h, (uintptr_t)n->out[i]->type);
	for (int i = 0; i < n->attrs.n; i++)
		h = hash_mix(h, attr_hash(&n->attrs.at[i]));
	return h;
}

bool
node_equal(const Node *a, const Node *b)
{
	if (a->kind != b->kind || a->op != b->op || a->nin != b->nin || a->nout != b->nout || a->nsub || b->nsub ||
	    a->attrs.n != b->attrs.n)
		return false;
	for (int i = 0; i < a->nin; i++)
		if (a->in[i] != b->in[i])
			return false;
	for (int i = 0; i < a->nout; i++)
		if (a->out[i]->type != b->out[i]->type)
			return false;
	for (int i = 0; i < a->attrs.n; i++)
		if (!attr_equal(&a->attrs.at[i], &b->attrs.at[i]))
			return false;
	return true;
}
