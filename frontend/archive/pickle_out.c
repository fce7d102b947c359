/*
 * Writes values as pickles of protocol 2, in the forms that PyTorch's unpickler and pickle.c read.
 *
 * Sharing is kept. Tensors, storages, lists, dicts and objects get a number in the memo when they are written, and
 * later uses refer to it. Only the names of storages are written here. The caller writes their bytes as members 0, 1, 2
 * ... in the order of `storages`.
 */
#include "../frontend.h"

#include <string.h>

static void
byte(PickleOut *p, int b)
{
	const char c = (char)b;

	buf_add(&p->bytes, &c, 1);
}

static void
little(PickleOut *p, uint64_t v, int n)
{
	RT_ASSERT(n > 0 && n <= (int)sizeof v);
	for (int i = 0; i < n; i++)
		byte(p, (int)(v >> 8 * i & 255));
}

static void
put_global(PickleOut *p, const char *module, const char *name)
{
	buf_printf(&p->bytes, "c%s\n%s\n", module, name);
}

/* Writes __torch__.a.C as module and name. */
static void
put_class(PickleOut *p, const char *qualified)
{
	const char *dot = strrchr(qualified, '.');

	put_global(p, arena_strndup(p->cx->arena, qualified, dot ? dot - qualified : 0), dot ? dot + 1 : qualified);
}

static void
put_int(PickleOut *p, int64_t v)
{
	if (v >= 0 && v < 256) {
		byte(p, 'K');
		little(p, (uint64_t)v, 1);
	} else if (v >= 0 && v < 65536) {
		byte(p, 'M');
		little(p, (uint64_t)v, 2);
	} else if (v >= INT32_MIN && v <= INT32_MAX) {
		byte(p, 'J');
		little(p, (uint64_t)v, 4);
	} else {
		byte(p, 0x8a);
		byte(p, 8);
		little(p, (uint64_t)v, 8);
	}
}

static void
put_float(PickleOut *p, double f)
{
	uint64_t bits;

	memcpy(&bits, &f, sizeof bits);
	byte(p, 'G');
	for (int i = 7; i >= 0; i--)
		byte(p, (int)(bits >> 8 * i & 255));
}

static void
put_text(PickleOut *p, const char *s, int64_t n)
{
	if (n > UINT32_MAX)
		fail_lacks(p->cx, (Range){ 0 }, "saving a string of %lld bytes", (long long)n);
	byte(p, 'X');
	little(p, (uint64_t)n, 4);
	buf_add(&p->bytes, s, n);
}

static void
put_bool(PickleOut *p, bool b)
{
	byte(p, b ? 0x88 : 0x89);
}

/* ---- the memo ------------------------------------------------------------------------------------------ */

static bool
fetch(PickleOut *p, int64_t known)
{
	if (!known)
		return false;
	byte(p, known <= 256 ? 'h' : 'j');
	little(p, (uint64_t)known - 1, known <= 256 ? 1 : 4);
	return true;
}

static int64_t
store(PickleOut *p)
{
	byte(p, ++p->nmemo <= 256 ? 'q' : 'r');
	little(p, (uint64_t)p->nmemo - 1, p->nmemo <= 256 ? 1 : 4);
	return p->nmemo;
}

static bool
put_again(PickleOut *p, const void *what)
{
	return fetch(p, *ptrmap_at(p->cx->arena, &p->memo, what));
}

static void
note(PickleOut *p, const void *what)
{
	*ptrmap_at(p->cx->arena, &p->memo, what) = store(p);
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

static const char *
storage_name(PickleOut *p, int dtype)
{
	static const struct { const char *name; int dtype; } rows[] = {
#define ELEMENTS(storage, type) { storage, type },
#include "pickle.def"
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].dtype == dtype)
			return rows[i].name;
	fail_lacks(p->cx, (Range){ 0 }, "saving a tensor of %s", rt_dtypes[dtype].torch);
}

static const char *
scheme_name(int scheme)
{
	static const struct { const char *name; int code; } rows[] = {
#define QSCHEME(name, code) { name, code },
#include "pickle.def"
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].code == scheme)
			return rows[i].name;
	BUG("quantization scheme %d", scheme);
}

/* Returns the index of the storage's member. A storage that is used with different element types has one member. */
static int
storage_index(PickleOut *p, RtStorage *s)
{
	int64_t *known = ptrmap_at(p->cx->arena, &p->storage_of, s);

	if (!*known) {
		vec_push(p->cx->arena, &p->storages, s);
		*known = p->storages.n;
	}
	return (int)*known - 1;
}

/* Writes ("storage", FloatStorage, "3", "cpu", number of elements). */
static void
put_storage(PickleOut *p, RtStorage *s, int dtype)
{
	const char *key = arena_printf(p->cx->arena, "%d", storage_index(p, s));
	const char *typed = arena_printf(p->cx->arena, "%s %s", key, storage_name(p, dtype));

	if (fetch(p, (intptr_t)map_get(&p->typed_storage, typed)))
		return;
	byte(p, '(');
	put_text(p, "storage", 7);
	put_global(p, "torch", storage_name(p, dtype));
	put_text(p, key, (int64_t)strlen(key));
	put_text(p, "cpu", 3);
	put_int(p, s->bytes / rt_dtypes[dtype].bytes);
	buf_puts(&p->bytes, "tQ");
	map_put(&p->typed_storage, typed, (void *)(intptr_t)store(p));
}

static void
put_sizes(PickleOut *p, const int64_t *v, int n)
{
	byte(p, '(');
	for (int i = 0; i < n; i++)
		put_int(p, v[i]);
	byte(p, 't');
}

static void
put_quantization(PickleOut *p, const RtQuant *q)
{
	byte(p, '(');
	put_global(p, "torch", scheme_name(q->scheme));
	if (q->scales) {
		pickle_put(p, rt_of(q->scales));
		pickle_put(p, rt_of(q->zeros));
		put_int(p, q->axis);
	} else {
		put_float(p, q->scale);
		put_int(p, q->zero);
	}
	byte(p, 't');
}

static void
put_tensor(PickleOut *p, RtTensor *t)
{
	if (put_again(p, t))
		return;
	if (t->layout || !t->storage)
		fail_lacks(p->cx, (Range){ 0 }, "saving a tensor that is not strided");
	put_global(p, "torch._utils", t->quant ? "_rebuild_qtensor" : "_rebuild_tensor_v2");
	byte(p, '(');
	put_storage(p, t->storage, t->dtype);
	put_int(p, t->offset);
	put_sizes(p, t->dims, t->ndim);
	put_sizes(p, t->strides, t->ndim);
	if (t->quant)
		put_quantization(p, t->quant);
	put_bool(p, (t->flags & RT_REQUIRES_GRAD) && !p->constants);
	put_global(p, "collections", "OrderedDict");
	buf_puts(&p->bytes, ")RtR");
	note(p, t);
}

/* ---- containers and objects ------------------------------------------------------------------------------ */

static void
put_elements(PickleOut *p, const RtList *l)
{
	byte(p, ']');
	byte(p, '(');
	for (int64_t i = 0; i < l->n; i++)
		pickle_put(p, l->v[i]);
	byte(p, 'e');
}

static void
put_list(PickleOut *p, RtList *l)
{
	const RtKind k = l->elem ? l->elem->kind : TYPE_ANY;
	const char *build = k == TYPE_INT ? "build_intlist" : k == TYPE_FLOAT ? "build_doublelist" :
		k == TYPE_BOOL ? "build_boollist" : k == TYPE_TENSOR ? "build_tensorlist" : NULL;
	const char *tag;

	if (put_again(p, l))
		return;
	put_global(p, "torch.jit._pickle", build ? build : "restore_type_tag");
	byte(p, '(');
	put_elements(p, l);
	if (!build) {
		tag = type_python(p->cx, type_list(p->cx, type_canonical(p->cx, l->elem)));
		put_text(p, tag, (int64_t)strlen(tag));
	}
	buf_puts(&p->bytes, "tR");
	note(p, l);
}

static void
put_dict(PickleOut *p, RtDict *d)
{
	const char *tag;

	if (put_again(p, d))
		return;
	tag = type_python(p->cx, type_dict(p->cx, type_canonical(p->cx, d->key), type_canonical(p->cx, d->value)));
	put_global(p, "torch.jit._pickle", "restore_type_tag");
	buf_puts(&p->bytes, "(}(");
	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead) {
			pickle_put(p, d->at[i].key);
			pickle_put(p, d->at[i].value);
		}
	byte(p, 'u');
	put_text(p, tag, (int64_t)strlen(tag));
	buf_puts(&p->bytes, "tR");
	note(p, d);
}

static void
put_object(PickleOut *p, RtObject *o)
{
	const RtClass *c = o->cls;

	if (put_again(p, o))
		return;
	put_class(p, c->name);
	buf_puts(&p->bytes, ")\x81");
	if (unit_is_builtin_class(c->name)) {
		pickle_put(p, packed_state(p->cx, o));
		byte(p, 'b');
		note(p, o);
		return;
	}
	buf_puts(&p->bytes, "}(");
	for (int i = 0; i < c->nslot; i++)
		if (!p->keeps || p->keeps(p->arg, c, c->slot[i])) {
			put_text(p, c->slot[i], (int64_t)strlen(c->slot[i]));
			pickle_put(p, o->slot[i]);
		}
	buf_puts(&p->bytes, "ub");
	note(p, o);
}

static void
put_device(PickleOut *p, int64_t device)
{
	const char *name = device >> 8 ? "cuda" : "cpu";

	if ((device & 255) > 0)
		name = arena_printf(p->cx->arena, "%s:%d", name, (int)(device & 255) - 1);
	put_global(p, "torch", "device");
	byte(p, '(');
	put_text(p, name, (int64_t)strlen(name));
	buf_puts(&p->bytes, "tR");
}

static void
put_value(PickleOut *p, IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_NONE:   byte(p, 'N'); return;
	case RT_INT:    put_int(p, v.u.i); return;
	case RT_DOUBLE: put_float(p, v.u.f); return;
	case RT_BOOL:   put_bool(p, v.u.i); return;
	case RT_DEVICE: put_device(p, v.u.i); return;
	case RT_TENSOR: put_tensor(p, v.u.t); return;
	case RT_STR:    put_text(p, v.u.str->s, v.u.str->n); return;
	case RT_LIST:   put_list(p, v.u.list); return;
	case RT_DICT:   put_dict(p, v.u.dict); return;
	case RT_OBJECT: put_object(p, v.u.obj); return;
	case RT_TUPLE:
		byte(p, '(');
		for (int64_t i = 0; i < v.u.tuple->n; i++)
			pickle_put(p, v.u.tuple->v[i]);
		byte(p, 't');
		return;
	case RT_ENUM:
		put_class(p, v.u.en->type->name);
		pickle_put(p, v.u.en->value);
		byte(p, 'R');
		return;
	case RT_COMPLEX:
		put_global(p, "builtins", "complex");
		put_float(p, v.u.c->re);
		put_float(p, v.u.c->im);
		buf_puts(&p->bytes, "\x86R");
		return;
	default:
		fail_lacks(p->cx, (Range){ 0 }, "saving a value of type %s", rt_type_of(v));
	}
}

void
pickle_put(PickleOut *p, IValue v)
{
	const int depth = cx_enter_nested(p->cx, (Range){ 0 });

	put_value(p, v);
	cx_leave_nested(p->cx, depth);
}

Buf
pickle_bytes(PickleOut *p, IValue v)
{
	p->bytes = (Buf){ 0 };
	p->typed_storage.arena = p->cx->arena;
	buf_puts(&p->bytes, "\x80\x02");
	pickle_put(p, v);
	byte(p, '.');
	return p->bytes;
}
