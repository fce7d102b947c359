/*
 * Tensors over storages of an archive.
 *
 * A storage is a member of the archive. It is not copied if its bytes are aligned in the mapped file. Tensors that
 * share a storage in PyTorch share it here. Unlike PyTorch, this checks that the member has all elements that the
 * pickle declares, and that tensors are inside of their storages.
 */
#include "../frontend.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

struct Storages {
	Cx         *cx;
	RtCx       *rt;
	Archive    *archive;
	const char *folder;     /* Folder of the members: "data" or "constants". */
	bool        swap;       /* Whether a big-endian host wrote the archive. */
	Map         by_key;     /* RtStorage, by key. The table holds one reference each. */
};

Storages *
storages_new(Cx *cx, RtCx *rt, Archive *a, const char *folder)
{
	Storages *s = new(cx->arena, Storages, 1);
	Record order = { 0 };

	s->cx = cx;
	s->rt = rt;
	s->archive = a;
	s->folder = folder;
	s->by_key.arena = cx->arena;
	if (archive_has(a, "byteorder"))
		order = archive_record(a, "byteorder");
	s->swap = order.n >= 3 && !memcmp(order.data, "big", 3);
	return s;
}

static void *
need(const PickleAt *at, RtCx *rt, void *p)
{
	if (!p)
		pickle_bad(at, "%s", rt->message ? rt->message : "out of memory");
	return p;
}

static int
swap_unit(RtDtype d)
{
	return rt_dtypes[d].bytes / (rt_dtypes[d].category == 'C' ? 2 : 1);
}

static void
copy_swapped(char *to, const char *from, int64_t n, int unit)
{
	for (int64_t i = 0; i + unit <= n; i += unit)
		for (int k = 0; k < unit; k++)
			to[i + k] = from[i + unit - 1 - k];
}

/* Returns a storage over the member, or over a copy if the member is unaligned or its bytes have to be swapped. */
static RtStorage *
read_storage(const PickleAt *at, Storages *s, RtDtype d, const char *member)
{
	Record r = archive_record(s->archive, member);
	RtStorage *st;

	if (!s->swap && (uintptr_t)r.data % ALIGN == 0)
		return need(at, s->rt, rt_storage_over(s->rt, r.data, r.n, false));
	st = need(at, s->rt, rt_storage_new(s->rt, r.n));
	if (s->swap && swap_unit(d) > 1)
		copy_swapped(st->data, r.data, r.n, swap_unit(d));
	else
		memcpy(st->data, r.data, (size_t)r.n);
	return st;
}

IValue
storage_tensor(const PickleAt *at, Storages *s, RtDtype d, const char *key, int64_t numel)
{
	char *member = arena_printf(s->cx->arena, "%s/%s", s->folder, key);
	RtStorage *st = map_get(&s->by_key, member);
	int64_t bytes;

	RT_ASSERT(d >= 0 && d < RT_NDTYPE);
	if (numel < 0 || !size_mul(numel, rt_dtypes[d].bytes, &bytes))
		pickle_bad(at, "storage %s has %lld elements", member, (long long)numel);
	if (!st) {
		st = numel || archive_has(s->archive, member) ? read_storage(at, s, d, member)
			: need(at, s->rt, rt_storage_new(s->rt, 0));
		map_put(&s->by_key, member, st);
	}
	if (bytes > st->bytes)
		pickle_bad(at, "%s has %lld bytes, but its %lld elements of %s need %lld", member, (long long)st->bytes,
			(long long)numel, rt_dtypes[d].torch, (long long)bytes);
	return rt_of(need(at, s->rt, rt_tensor_over(s->rt, st, d, &(RtGeometry){ .ndim = 1, .dims = &numel })));
}

/* ---- geometry -------------------------------------------------------------------------------------------- */

static const char *
sizes_text(Cx *cx, const int64_t *v, int n)
{
	Buf b = { 0 };

	buf_puts(&b, "[");
	for (int i = 0; i < n; i++)
		buf_printf(&b, i ? ", %lld" : "%lld", (long long)v[i]);
	buf_puts(&b, "]");
	return arena_text(cx->arena, &b);
}

/* Returns the number of elements from the start of the storage to the end of the tensor's last element. -1 if it
 * overflows. */
static int64_t
span(RtGeometry g)
{
	int64_t numel = 1, end = g.offset, step;

	for (int i = 0; i < g.ndim; i++)
		if (!size_mul(numel, g.dims[i], &numel))
			return -1;
	if (numel == 0)
		return 0;
	for (int i = 0; i < g.ndim; i++)
		if (!size_mul(g.dims[i] - 1, g.strides[i], &step) || !size_add(end, step, &end))
			return -1;
	return size_add(end, 1, &end) ? end : -1;
}

RtTensor *
tensor_over(const PickleAt *at, RtCx *rt, RtStorage *st, RtDtype d, RtGeometry g)
{
	int64_t have = st->bytes / rt_dtypes[d].bytes, end = 0;

	RT_ASSERT(g.ndim >= 0 && g.ndim <= RT_MAX_RANK);
	for (int i = 0; i < g.ndim; i++)
		if (g.dims[i] < 0 || g.strides[i] < 0)
			pickle_bad(at, "a tensor has sizes %s and strides %s", sizes_text(at->cx, g.dims, g.ndim),
				sizes_text(at->cx, g.strides, g.ndim));
	if (g.offset >= 0)
		end = span(g);
	if (g.offset < 0 || end < 0 || end > have)
		pickle_bad(at,
			   "a tensor of sizes %s, strides %s, offset %lld is larger than its storage of %lld elements",
			   sizes_text(at->cx, g.dims, g.ndim), sizes_text(at->cx, g.strides, g.ndim),
			   (long long)g.offset, (long long)have);
	if (!end)
		g.offset = 0;
	return need(at, rt, rt_tensor_over(rt, st, d, &g));
}

/* Reads a tuple or list of ints. Fails on any other value. */
static int
ints(const PickleAt *at, IValue v, int64_t *to, const char *what)
{
	const IValue *p = v.tag == RT_TUPLE ? v.u.tuple->v : v.tag == RT_LIST ? v.u.list->v : NULL;
	int64_t n = v.tag == RT_TUPLE ? v.u.tuple->n : v.tag == RT_LIST ? v.u.list->n : 0;

	if (!p && v.tag != RT_TUPLE && v.tag != RT_LIST)
		pickle_bad(at, "the %s of a tensor are a %s", what, rt_type_of(v));
	if (n > RT_MAX_RANK)
		pickle_bad(at, "a tensor has %lld dimensions (at most %d are possible)", (long long)n, RT_MAX_RANK);
	for (int64_t i = 0; i < n; i++) {
		if (p[i].tag != RT_INT)
			pickle_bad(at, "the %s of a tensor hold a %s", what, rt_type_of(p[i]));
		to[i] = p[i].u.i;
	}
	return (int)n;
}

/* Builds a tensor from (storage, offset, sizes, strides, ...). dtype: dtype of the elements. RT_NDTYPE stands for that
 * of the storage. */
static RtTensor *
rebuild(const PickleAt *at, RtCx *rt, const IValue *arg, int n, RtDtype dtype)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int ndim;

	if (n < 4 || arg[0].tag != RT_TENSOR || arg[1].tag != RT_INT)
		pickle_bad(at, "a tensor is described in an unknown way");
	ndim = ints(at, arg[2], dims, "sizes");
	if (ints(at, arg[3], strides, "strides") != ndim)
		pickle_bad(at, "a tensor has %d sizes and another number of strides", ndim);
	return tensor_over(at, rt, arg[0].u.t->storage, dtype == RT_NDTYPE ? (RtDtype)arg[0].u.t->dtype : dtype,
			   (RtGeometry){ ndim, dims, strides, arg[1].u.i });
}

/* ---- conjugate and negative bits ----------------------------------------------------------------------------- */

static bool
bit(IValue dict, const char *name, int64_t number)
{
	for (int64_t i = 0; dict.tag == RT_DICT && i < dict.u.dict->used; i++) {
		const RtDictEntry *e = &dict.u.dict->at[i];

		if (!e->dead && ((e->key.tag == RT_STR && !strcmp(e->key.u.str->s, name))
		                 || (e->key.tag == RT_INT && e->key.u.i == number)))
			return e->value.tag == RT_BOOL && e->value.u.i;
	}
	return false;
}

static void
negate(char *p, int bytes)
{
	p[bytes - 1] = (char)(p[bytes - 1] ^ 0x80);        /* The sign is the top bit of every floating type. */
}

/* Applies conjugate and negative bits: returns a copy of the tensor with the values that they stand for. */
static RtTensor *
apply_bits(const PickleAt *at, RtCx *rt, RtTensor *t, bool conj, bool neg)
{
	RtTensor *own = need(at, rt, rt_clone(rt, t));
	int bytes = rt_dtypes[t->dtype].bytes, half = swap_unit(t->dtype);
	int64_t n = own->storage->bytes / bytes;
	char category = rt_dtypes[t->dtype].category;

	rt_tensor_release(t);
	if (category != 'C' && category != 'F')
		pickle_bad(at, "a %s tensor is marked as negative", rt_dtypes[t->dtype].torch);
	for (int64_t i = 0; i < n; i++) {
		char *p = own->storage->data + i * bytes;

		if (neg)
			negate(p, half);
		if (category == 'C' && neg != conj)
			negate(p + half, half);
	}
	return own;
}

static IValue
rebuild_with_bits(const PickleAt *at, RtCx *rt, const IValue *arg, int n, RtDtype dtype)
{
	RtTensor *t = rebuild(at, rt, arg, n, dtype);
	bool conj = n > 6 && bit(arg[6], "conj", 0), neg = n > 6 && bit(arg[6], "neg", 1);

	if (conj || neg)
		t = apply_bits(at, rt, t, conj && rt_dtypes[t->dtype].category == 'C', neg);
	if (n > 4 && arg[4].tag == RT_BOOL && arg[4].u.i)
		t->flags |= RT_REQUIRES_GRAD;
	return rt_of(t);
}

IValue
tensor_rebuild(const PickleAt *at, RtCx *rt, const IValue *arg, int n)
{
	return rebuild_with_bits(at, rt, arg, n, RT_NDTYPE);
}

IValue
tensor_rebuild_typed(const PickleAt *at, RtCx *rt, const IValue *arg, int n, RtDtype dtype)
{
	RT_ASSERT(dtype >= 0 && dtype < RT_NDTYPE);
	return rebuild_with_bits(at, rt, arg, n < 5 ? n : 5, dtype);
}

/* Builds a parameter from (tensor, requires_grad, hooks[, state]). */
IValue
tensor_rebuild_parameter(const PickleAt *at, RtCx *rt, const IValue *arg, int n)
{
	(void)rt;
	if (n < 2 || arg[0].tag != RT_TENSOR || arg[1].tag != RT_BOOL)
		pickle_bad(at, "a parameter is described in an unknown way");
	if (arg[1].u.i)
		arg[0].u.t->flags |= RT_REQUIRES_GRAD;
	arg[0].u.t->flags |= RT_PARAMETER;
	return rt_retain(arg[0]);
}

/* ---- quantized ----------------------------------------------------------------------------------------------- */

static RtQuant *
new_quant(const PickleAt *at, int scheme)
{
	RtQuant *q = rt_mem_zeroed(sizeof *q);

	if (!q)
		pickle_bad(at, "out of memory");
	q->h.refs = 1;
	q->scheme = scheme;
	return q;
}

static RtQuant *
per_tensor(const PickleAt *at, int scheme, const IValue *p, int64_t n)
{
	RtQuant *q;

	if (n != 3 || p[1].tag != RT_DOUBLE || p[2].tag != RT_INT)
		pickle_bad(at, "a quantized tensor has neither scale nor zero point");
	q = new_quant(at, scheme);
	q->scale = p[1].u.f;
	q->zero = p[2].u.i;
	return q;
}

static RtQuant *
per_channel(const PickleAt *at, int scheme, const IValue *p, int64_t n, const RtTensor *t)
{
	RtQuant *q;

	if (n != 4 || p[1].tag != RT_TENSOR || p[2].tag != RT_TENSOR || p[3].tag != RT_INT)
		pickle_bad(at, "a quantized tensor lacks its scales and zero points");
	if (p[3].u.i < 0 || p[3].u.i >= t->ndim || rt_numel(p[1].u.t) != t->dims[p[3].u.i]
	    || rt_numel(p[2].u.t) != t->dims[p[3].u.i])
		pickle_bad(at, "a quantized tensor has %lld scales and %lld zero points for dimension %lld",
			(long long)rt_numel(p[1].u.t), (long long)rt_numel(p[2].u.t), (long long)p[3].u.i);
	q = new_quant(at, scheme);
	q->axis = p[3].u.i;
	q->scales = rt_tensor_retain(p[1].u.t);
	q->zeros = rt_tensor_retain(p[2].u.t);
	return q;
}

/* Builds a tensor from (storage, offset, sizes, strides, (scheme, ...), requires_grad, hooks). */
IValue
tensor_rebuild_quantized(const PickleAt *at, RtCx *rt, const IValue *arg, int n, int scheme)
{
	RtTensor *t = rebuild(at, rt, arg, n, RT_NDTYPE);
	const RtTuple *q = n > 4 && arg[4].tag == RT_TUPLE ? arg[4].u.tuple : NULL;

	if (!q || scheme < 0 || rt_dtypes[t->dtype].category != 'Q')
		pickle_bad(at, "a quantized tensor is described in an unknown way");
	t->quant = scheme == 0 || scheme == 2 ? per_tensor(at, scheme, q->v, q->n)
					      : per_channel(at, scheme, q->v, q->n, t);
	return rt_of(t);
}
