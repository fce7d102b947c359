/* rt/ivalue.c - values: counting, identity, equality, type, deep copy
 *
 * Release is a loop over a work list and not a recursion. A dead container is put on the list; other dead values are
 * freed at once. So a list nested a million deep is freed like any other. */
#include "rt.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>

IValue
rt_retain(IValue v)
{
	if (rt_counted(v))
		rt_count_up(v.u.head);
	return v;
}

/* ---- releasing ------------------------------------------------------------------------------------------ */

typedef struct Work {
	IValue  local[RT_LIMIT_RELEASED], *at;
	int64_t n, cap;
} Work;

static void
work_push(Work *w, IValue v)
{
	IValue *more;

	if (w->n == w->cap) {
		more = rt_mem((int64_t)sizeof *more * w->cap * 2);
		if (!more)
			return;                  /* out of memory for the work list: the value is never freed */
		memcpy(more, w->at, sizeof *more * (size_t)w->n);
		if (w->at != w->local)
			rt_mem_back(w->at);
		w->at = more;
		w->cap *= 2;
	}
	w->at[w->n++] = v;
}

static void
let_go(Work *w, IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_NONE: case RT_INT: case RT_DOUBLE: case RT_BOOL: case RT_DEVICE:
		break;
	case RT_TENSOR:
		rt_tensor_release(v.u.t);
		break;
	case RT_STORAGE:
		rt_storage_release(v.u.storage);
		break;
	case RT_STR: case RT_COMPLEX: case RT_GENERATOR:
		if (rt_count_down(v.u.head))
			rt_mem_back(v.u.p);
		break;
	default:
		if (rt_count_down(v.u.head))
			work_push(w, v);
	}
}

static void
let_go_all(Work *w, const IValue *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		let_go(w, v[i]);
}

/* Frees a dead container. Containers in it that die with it are put on the work list. */
static void
free_holder(Work *w, IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_LIST:
		let_go_all(w, v.u.list->v, v.u.list->n);
		rt_mem_back(v.u.list->v);
		break;
	case RT_DICT:
		for (int64_t i = 0; i < v.u.dict->used; i++) {
			let_go(w, v.u.dict->at[i].key);
			let_go(w, v.u.dict->at[i].value);
		}
		rt_mem_back(v.u.dict->at);
		rt_mem_back(v.u.dict->slot);
		break;
	case RT_TUPLE:
		let_go_all(w, v.u.tuple->v, v.u.tuple->n);
		break;
	case RT_OBJECT:
		let_go_all(w, v.u.obj->slot, v.u.obj->cls->nslot);
		break;
	case RT_ENUM:
		let_go(w, rt_ref(RT_STR, v.u.en->name));
		let_go(w, v.u.en->value);
		break;
	case RT_FUNCTION:
		let_go_all(w, v.u.fn->bound, v.u.fn->n);
		break;
	case RT_FUTURE:
		let_go(w, rt_future_take(v.u.fut));
		return;
	default:
		break;
	}
	rt_mem_back(v.u.p);
}

void
rt_release(IValue v)
{
	Work w;

	if (!rt_counted(v))
		return;
	w.at = w.local;
	w.n = 0;
	w.cap = sizeof w.local / sizeof *w.local;
	let_go(&w, v);
	while (w.n)
		free_holder(&w, w.at[--w.n]);
	if (w.at != w.local)
		rt_mem_back(w.at);
}

void
rt_assign(IValue *place, IValue v)
{
	IValue old = *place;

	*place = v;
	rt_release(old);
}

/* ---- making strings, tuples, objects and enums -------------------------------------------------------------- */

RtStr *
rt_str_new(RtCx *cx, const char *s, int64_t n)
{
	RtStr *r;

	if (n < 0)
		n = (int64_t)strlen(s);
	if (n > INT64_MAX / 2 || !(r = rt_mem_counted(cx, (int64_t)sizeof *r + n + 1)))
		return 0;
	r->n = n;
	if (n && s)
		memcpy(r->s, s, (size_t)n);
	r->s[n] = 0;
	return r;
}

RtTuple *
rt_tuple_new(RtCx *cx, const RtType *named, int64_t n)
{
	RtTuple *t = n < 0 || n > INT32_MAX ? 0 : rt_mem_counted(cx, (int64_t)sizeof *t + (int64_t)sizeof *t->v * n);

	if (!t)
		return 0;
	t->type = named;
	t->n = n;
	for (int64_t i = 0; i < n; i++)
		t->v[i] = rt_none();
	return t;
}

RtObject *
rt_object_new(RtCx *cx, RtClass *cls)
{
	RtObject *o = rt_mem_counted(cx, (int64_t)sizeof *o + (int64_t)sizeof *o->slot * cls->nslot);

	if (!o)
		return 0;
	o->cls = cls;
	for (int i = 0; i < cls->nslot; i++)
		o->slot[i] = rt_none();
	return o;
}

RtEnum *
rt_enum_new(RtCx *cx, const RtType *type, const char *name, IValue value)
{
	RtStr *s = rt_str_new(cx, name, -1);
	RtEnum *e = s ? rt_mem_counted(cx, sizeof *e) : 0;

	if (!e) {
		rt_release(value);
		rt_mem_back(s);
		return 0;
	}
	e->type = type;
	e->name = s;
	e->value = value;
	return e;
}

IValue
rt_complex(RtCx *cx, double re, double im)
{
	RtComplex *c = rt_mem_counted(cx, sizeof *c);

	if (!c)
		return rt_none();
	c->re = re;
	c->im = im;
	return rt_ref(RT_COMPLEX, c);
}

RtFunction *
rt_function_new(RtCx *cx, const RtCode *code, int nbound)
{
	RtFunction *f = rt_mem_counted(cx, (int64_t)sizeof *f + (int64_t)sizeof *f->bound * nbound);

	if (!f)
		return 0;
	f->code = code;
	f->n = nbound;
	for (int i = 0; i < nbound; i++)
		f->bound[i] = rt_none();
	return f;
}

/* ---- comparing --------------------------------------------------------------------------------------------- */

bool
rt_same(IValue a, IValue b)
{
	if (a.tag != b.tag)
		return false;
	switch ((RtTag)a.tag) {
	case RT_NONE:    return true;
	case RT_DOUBLE:  return a.u.f == b.u.f;
	case RT_COMPLEX: return a.u.c->re == b.u.c->re && a.u.c->im == b.u.c->im;
	default:         return a.u.p == b.u.p && a.u.i == b.u.i;
	}
}

static int equal(RtCx *, IValue, IValue, bool *, int depth);

static int
equal_all(RtCx *cx, const IValue *a, const IValue *b, int64_t n, bool *out, int depth)
{
	*out = true;
	for (int64_t i = 0; *out && i < n; i++)
		if (equal(cx, a[i], b[i], out, depth))
			return RT_ERROR;
	return RT_OK;
}

static int
equal_dicts(RtCx *cx, RtDict *a, RtDict *b, bool *out, int depth)
{
	IValue *v;

	*out = a->n == b->n;
	for (int64_t i = 0; *out && i < a->used; i++) {
		if (a->at[i].dead)
			continue;
		if (!(v = rt_dict_get(b, a->at[i].key)))
			*out = false;
		else if (equal(cx, a->at[i].value, *v, out, depth))
			return RT_ERROR;
	}
	return RT_OK;
}

/* Returns the number of elements of a and b broadcast together. -1 if an error was raised. */
static int64_t
count_together(RtCx *cx, const RtTensor *a, const RtTensor *b)
{
	int nd = a->ndim > b->ndim ? a->ndim : b->ndim;
	int64_t n = 1, x, y;

	for (int i = nd - 1, p = a->ndim - 1, q = b->ndim - 1; i >= 0; i--, p--, q--) {
		x = p < 0 ? 1 : a->dims[p];
		y = q < 0 ? 1 : b->dims[q];
		if (x != y && x != 1 && y != 1) {
			rt_raise(cx, "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
				 "non-singleton dimension %d", (long long)x, (long long)y, i);
			return -1;
		}
		x = x == 1 ? y : x;
		n = x && n > INT64_MAX / x ? INT64_MAX : n * x;
	}
	return n;
}

bool
rt_has_bits(IValue v)
{
	if (v.tag == RT_TENSOR)
		return v.u.t->flags & RT_BITS;
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		if (v.u.list->v[i].tag == RT_TENSOR && v.u.list->v[i].u.t->flags & RT_BITS)
			return true;
	return false;
}

/* Computes bool(a == b), as for two elements of a list. Raises an error unless a == b has one element. */
static int
equal_tensors(RtCx *cx, RtTensor *a, RtTensor *b, bool *out)
{
	int64_t n = count_together(cx, a, b);
	RtC128 x, y;
	int status;

	if (n < 0)
		return RT_ERROR;
	if (n != 1)
		return rt_raise(cx, n ? "Boolean value of Tensor with more than one value is ambiguous" :
				"Boolean value of Tensor with no values is ambiguous");
	if (cx->meta || a->storage->kind == RT_META || b->storage->kind == RT_META)
		return rt_no_meta(cx);
	if ((a->flags | b->flags) & RT_BITS) {
		a = rt_contiguous(cx, a);
		b = a ? rt_contiguous(cx, b) : 0;
		status = b ? equal_tensors(cx, a, b, out) : RT_ERROR;
		rt_tensor_release(a);
		rt_tensor_release(b);
		return status;
	}
	if (rt_kind((RtDtype)a->dtype) != 'F' && rt_kind((RtDtype)a->dtype) != 'C' && a->dtype == b->dtype) {
		*out = !memcmp(rt_data(a), rt_data(b), (size_t)rt_dtypes[a->dtype].bytes);
		return RT_OK;
	}
	rt_cast(RT_c128, &x, (RtDtype)a->dtype, rt_data(a), 1);
	rt_cast(RT_c128, &y, (RtDtype)b->dtype, rt_data(b), 1);
	*out = x.re == y.re && x.im == y.im;
	return RT_OK;
}

static int
equal(RtCx *cx, IValue a, IValue b, bool *out, int depth)
{
	if (depth > RT_DEPTH)
		return rt_raise(cx, "values are nested too deep to be compared");
	if (a.tag != b.tag) {
		*out = false;
		return RT_OK;
	}
	switch ((RtTag)a.tag) {
	case RT_TENSOR: return equal_tensors(cx, a.u.t, b.u.t, out);
	case RT_STR:
		*out = a.u.str->n == b.u.str->n && !memcmp(a.u.str->s, b.u.str->s, (size_t)a.u.str->n);
		return RT_OK;
	case RT_LIST:
		/* a list of floats equals itself even if it contains NaN */
		*out = a.u.list == b.u.list && a.u.list->elem && a.u.list->elem->kind == TYPE_FLOAT;
		if (*out)
			return RT_OK;
		return a.u.list->n != b.u.list->n ? RT_OK :
			equal_all(cx, a.u.list->v, b.u.list->v, a.u.list->n, out, depth + 1);
	case RT_TUPLE:
		*out = false;
		return a.u.tuple->n != b.u.tuple->n ? RT_OK :
			equal_all(cx, a.u.tuple->v, b.u.tuple->v, a.u.tuple->n, out, depth + 1);
	case RT_DICT:
		return equal_dicts(cx, a.u.dict, b.u.dict, out, depth + 1);
	case RT_ENUM:
		*out = rt_type_equal(a.u.en->type, b.u.en->type) && !strcmp(a.u.en->name->s, b.u.en->name->s);
		return RT_OK;
	default:
		*out = rt_same(a, b);
		return RT_OK;
	}
}

int
rt_equal(RtCx *cx, IValue a, IValue b, bool *out)
{
	return equal(cx, a, b, out, 0);
}

/* ---- types -------------------------------------------------------------------------------------------------- */

static bool
is_tuple_of(const RtTuple *v, const RtType *t)
{
	if (v->n != t->n || (t->name && (!v->type || !rt_type_equal(v->type, t))))
		return false;
	for (int i = 0; i < t->n; i++)
		if (!rt_isinstance(v->v[i], t->of[i]))
			return false;
	return true;
}

static bool
is_one_of(IValue v, const RtType *t)
{
	for (int i = 0; i < t->n; i++)
		if (rt_isinstance(v, t->of[i]))
			return true;
	return false;
}

static bool
is_any(const RtType *t)
{
	return !t || t->kind == TYPE_ANY;
}

/* Whether the value is an instance of the type. Lists and dicts are invariant, as in TorchScript. Tuples are compared
 * element by element. */
bool
rt_isinstance(IValue v, const RtType *t)
{
	switch (t->kind) {
	case TYPE_ANY:       return true;
	case TYPE_NONE:      return v.tag == RT_NONE;
	case TYPE_TENSOR:    return v.tag == RT_TENSOR;
	case TYPE_INT:       return v.tag == RT_INT;
	case TYPE_FLOAT:     return v.tag == RT_DOUBLE;
	case TYPE_BOOL:      return v.tag == RT_BOOL;
	case TYPE_COMPLEX:   return v.tag == RT_COMPLEX;
	case TYPE_NUMBER:    return v.tag == RT_INT || v.tag == RT_DOUBLE || v.tag == RT_COMPLEX;
	case TYPE_STR:       return v.tag == RT_STR;
	case TYPE_DEVICE:    return v.tag == RT_DEVICE;
	case TYPE_GENERATOR: return v.tag == RT_GENERATOR;
	case TYPE_STORAGE:   return v.tag == RT_STORAGE;
	case TYPE_STREAM:    return false;
	case TYPE_LIST:
		return v.tag == RT_LIST && (is_any(v.u.list->elem) ? is_any(t->of[0]) :
			rt_type_equal(v.u.list->elem, t->of[0]));
	case TYPE_DICT:
		return v.tag == RT_DICT && rt_type_equal(v.u.dict->key, t->of[0]) &&
			(rt_type_equal(v.u.dict->value, t->of[1]) || (is_any(v.u.dict->value) && is_any(t->of[1])));
	case TYPE_OPTIONAL:
	case TYPE_UNION:     return (t->kind == TYPE_OPTIONAL && v.tag == RT_NONE) || is_one_of(v, t);
	case TYPE_TUPLE:     return v.tag == RT_TUPLE && is_tuple_of(v.u.tuple, t);
	case TYPE_FUTURE:
	case TYPE_AWAIT:     return v.tag == RT_FUTURE;
	case TYPE_CLASS:     return v.tag == RT_OBJECT && !strcmp(v.u.obj->cls->name, t->name);
	case TYPE_INTERFACE: return v.tag == RT_OBJECT;          /* a call finds its method by name */
	case TYPE_ENUM:      return v.tag == RT_ENUM && rt_type_equal(v.u.en->type, t);
	case TYPE_FUNCTION:  return v.tag == RT_FUNCTION;
	case TYPE_ANY_LIST:  return v.tag == RT_LIST;
	case TYPE_ANY_TUPLE: return v.tag == RT_TUPLE;
	case TYPE_ANY_CLASS: return v.tag == RT_OBJECT;
	case TYPE_ANY_ENUM:  return v.tag == RT_ENUM;
	case TYPE_VAR:
	case TYPE_NKIND:     break;
	}
	return false;
}

static bool
all_may_be(const IValue *v, int64_t n, const RtType *const *t, int step)
{
	for (int64_t i = 0; i < n; i++)
		if (!rt_may_be(v[i], t[i * step]))
			return false;
	return true;
}

/* Whether the list's element type is unknown. */
static bool
is_loose(const RtList *l)
{
	return !l->elem || l->elem->kind == TYPE_ANY_TUPLE;
}

bool
rt_may_be(IValue v, const RtType *t)
{
	switch (t->kind) {
	case TYPE_LIST:
		return rt_isinstance(v, t) ||
		       (v.tag == RT_LIST && is_loose(v.u.list) && all_may_be(v.u.list->v, v.u.list->n, t->of, 0));
	case TYPE_TUPLE:
		return v.tag == RT_TUPLE && v.u.tuple->n == t->n && all_may_be(v.u.tuple->v, t->n, t->of, 1);
	case TYPE_OPTIONAL:
	case TYPE_UNION:
		for (int i = 0; i < t->n; i++)
			if (rt_may_be(v, t->of[i]))
				return true;
		return t->kind == TYPE_OPTIONAL && v.tag == RT_NONE;
	default:
		return rt_isinstance(v, t);
	}
}

void
rt_settle(IValue v, const RtType *t)
{
	while (t->kind == TYPE_OPTIONAL || t->kind == TYPE_UNION) {
		int i = 0;

		while (i < t->n && !rt_may_be(v, t->of[i]))
			i++;
		if (i == t->n)
			return;
		t = t->of[i];
	}
	if (t->kind == TYPE_LIST && is_loose(v.u.list)) {
		v.u.list->elem = t->of[0];
		for (int64_t k = 0; k < v.u.list->n; k++)
			rt_settle(v.u.list->v[k], t->of[0]);
	} else if (t->kind == TYPE_TUPLE) {
		for (int i = 0; i < t->n; i++)
			rt_settle(v.u.tuple->v[i], t->of[i]);
	}
}

/* Raises an error unless the value is of the type. The type is checked even where the model declares it, because code
 * for a wrong type would read invalid memory. */
int
rt_need(RtCx *cx, IValue v, const RtType *t)
{
	Buf b = { 0 };

	if (rt_may_be(v, t)) {
		rt_settle(v, t);
		return RT_OK;
	}
	rt_type_print(&b, t);
	rt_raise(cx, "expected a %s, but got a value of type %s", b.at, rt_type_of(v));
	buf_free(&b);
	return RT_ERROR;
}

static IValue
some_tuple(RtCx *cx, const RtType *t)
{
	RtTuple *made = rt_tuple_new(cx, t->field ? t : 0, t->n);

	for (int i = 0; made && i < t->n; i++)
		made->v[i] = rt_some(cx, t->of[i]);
	return made ? rt_ref(RT_TUPLE, made) : rt_none();
}

static IValue
some_tensor(RtCx *cx)
{
	RtTensor *made = rt_tensor_new(cx, RT_f32, 1, (const int64_t[]){ 0 });

	if (made)
		made->flags |= RT_UNSET;
	return made ? rt_of(made) : rt_none();
}

IValue
rt_some(RtCx *cx, const RtType *t)
{
	void *made;

	switch (t->kind) {
	case TYPE_COMPLEX: return rt_complex(cx, 0, 0);
	case TYPE_STR:     return (made = rt_str_new(cx, "", 0)) ? rt_ref(RT_STR, made) : rt_none();
	case TYPE_LIST:    return (made = rt_list_new(cx, t->of[0], 0)) ? rt_ref(RT_LIST, made) : rt_none();
	case TYPE_DICT:    return (made = rt_dict_new(cx, t->of[0], t->of[1])) ? rt_ref(RT_DICT, made) : rt_none();
	case TYPE_TENSOR:  return some_tensor(cx);
	case TYPE_TUPLE:   return some_tuple(cx, t);
	default:           return rt_none();         /* its bits are 0, so it is also valid as a number */
	}
}

static void print_type_of(Buf *, IValue, int depth);

static void
print_tuple_type(Buf *b, const RtTuple *t, int depth)
{
	if (t->type && t->type->name) {
		buf_puts(b, t->type->name);
		return;
	}
	buf_puts(b, "Tuple[");
	for (int64_t i = 0; i < t->n && b->n < 200; i++) {
		buf_puts(b, i ? ", " : "");
		if (depth > 20)
			buf_puts(b, "...");
		else
			print_type_of(b, t->v[i], depth + 1);
	}
	buf_puts(b, "]");
}

static void
print_type_of(Buf *b, IValue v, int depth)
{
	static const char *const name[] = {
		[RT_NONE] = "NoneType", [RT_INT] = "int", [RT_DOUBLE] = "float", [RT_BOOL] = "bool",
		[RT_DEVICE] = "Device", [RT_TENSOR] = "Tensor", [RT_STR] = "str", [RT_COMPLEX] = "complex",
		[RT_FUTURE] = "Future", [RT_FUNCTION] = "Function", [RT_GENERATOR] = "Generator",
		[RT_STORAGE] = "Storage",
	};

	switch ((RtTag)v.tag) {
	case RT_LIST:
		buf_puts(b, "List[");
		rt_type_print(b, v.u.list->elem);
		buf_puts(b, "]");
		break;
	case RT_DICT:
		buf_puts(b, "Dict[");
		rt_type_print(b, v.u.dict->key);
		buf_puts(b, ", ");
		rt_type_print(b, v.u.dict->value);
		buf_puts(b, "]");
		break;
	case RT_TUPLE:  print_tuple_type(b, v.u.tuple, depth); break;
	case RT_OBJECT: buf_puts(b, v.u.obj->cls->name); break;
	case RT_ENUM:   rt_type_print(b, v.u.en->type); break;
	default:        buf_puts(b, name[v.tag]); break;
	}
}

RtTypeName
rt_type_name(IValue v)
{
	RtTypeName name;
	Buf b = { 0 };

	print_type_of(&b, v, 0);
	snprintf(name.text, sizeof name.text, "%s", b.at);
	buf_free(&b);
	return name;
}
