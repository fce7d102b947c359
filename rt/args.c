/* rt/args.c - reads arguments from the arrays of an .npz, and writes results to arrays
 *
 * Reading follows the declared types: a value of type T is read from key `k`, its parts from `k.0`, `k.name`. Every
 * array that is read is marked, so that unknown keys are found. Writing follows the value. */
#include "host.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>

enum { DEEP = 64, MOST = 1 << 20 };

typedef struct RtReader {
	RtCx *cx;
	const RtArrays *in;
	bool *used;
	int next;    /* index of the array after the last one found, which is probably the next part of a list */
	bool no_input;             /* whether no file of arrays was given */
	const RtParam *param;      /* the argument that is being read */
} Reader;

static int read_argument(Reader *, const RtType *, const char *key, IValue *out, int depth);

/* ---- finding ------------------------------------------------------------------------------------------------- */

static RtArray *
find_array(Reader *r, const char *key)
{
	RtArray *a = r->next < r->in->n && !strcmp(r->in->at[r->next].key, key) ? &r->in->at[r->next] :
		rt_arrays_find(r->in, key);

	if (a) {
		r->used[a - r->in->at] = true;
		r->next = (int)(a - r->in->at) + 1;
	}
	return a;
}

/* Returns the part of the key after `prefix.`. Null if the key does not begin with it. */
static const char *
below(const char *key, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(key, prefix, n) && key[n] == '.' ? key + n + 1 : 0;
}

static bool
given(const Reader *r, const char *key)
{
	for (int i = 0; i < r->in->n; i++)
		if (!strcmp(r->in->at[i].key, key) || below(r->in->at[i].key, key))
			return true;
	return false;
}

/* Returns the number of parts of a list: 1 + the largest index in keys `key.INDEX`. */
static int64_t
count_parts(const Reader *r, const char *key)
{
	int64_t most = 0, i;
	const char *s;

	for (int k = 0; k < r->in->n; k++) {
		s = below(r->in->at[k].key, key);
		if (!s || *s < '0' || *s > '9')
			continue;
		if (!rt_read_int(&s, NULL, &i) || (*s && *s != '.') || i >= MOST)
			continue;
		if (i + 1 > most)
			most = i + 1;
	}
	return most;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static int
mismatch(Reader *r, const char *key, const RtType *t, const RtArray *a)
{
	Buf b = { 0 };

	buf_printf(&b, "argument '%s': '%s' ", r->param->name, key);
	if (!a && given(r, key)) {
		buf_puts(&b, "is a list, tuple or dict");
	} else if (!a) {
		buf_puts(&b, r->no_input ? "is missing, and no input is given" : "is missing");
	} else if (a->text) {
		buf_puts(&b, "is text");
	} else {
		buf_printf(&b, "is %s of shape ", rt_dtypes[a->dtype].torch);
		buf_ints(&b, a->tensor->ndim, a->tensor->dims);
	}
	buf_puts(&b, "; expected ");
	rt_type_print(&b, t);
	if (strcmp(key, r->param->name) || t != r->param->type) {
		buf_puts(&b, " as a part of ");
		rt_type_print(&b, r->param->type);
	}
	for (int i = 0; !a && i < r->in->n && i < 4; i++)
		buf_printf(&b, "%s'%s'", i ? ", " : "; the keys are ", r->in->at[i].key);
	if (r->no_input)
		buf_puts(&b, ": -i IN.npz gives it");
	rt_raise(r->cx, "%s", b.at);
	buf_free(&b);
	return RT_ERROR;
}

/* ---- single values ---------------------------------------------------------------------------------------------- */

/* Returns a copy of t with these strides. Along a dim of stride 0 it repeats t's first element. */
static RtTensor *
with_strides(RtCx *cx, RtTensor *t, const int64_t *strides)
{
	int64_t dims[RT_MAX_RANK];
	RtTensor *own, *part = 0, *r = 0;

	for (int i = 0; i < t->ndim; i++)
		dims[i] = strides[i] == 0 && t->dims[i] ? 1 : t->dims[i];
	own = rt_tensor_strided(cx, (RtDtype)t->dtype, t->ndim, dims, strides);
	if (own)
		part = rt_tensor_view(cx, t, t->ndim, dims, t->strides, t->offset);
	if (part && !rt_copy_into(cx, own, part))
		r = rt_tensor_view(cx, own, t->ndim, t->dims, strides, 0);
	rt_tensor_release(part);
	rt_tensor_release(own);
	return r;
}

static int
read_tensor_arg(Reader *r, const RtType *t, const char *key, IValue *out)
{
	RtArray *a = find_array(r, key), *s;
	int64_t strides[RT_MAX_RANK];
	RtTensor *own;
	Buf b = { 0 };

	if (!a || a->text)
		return mismatch(r, key, t, a);
	buf_printf(&b, "%s.strides", key);
	s = find_array(r, b.at);
	buf_free(&b);
	if (!s) {
		*out = rt_of(rt_tensor_retain(a->tensor));
		return RT_OK;
	}
	if (s->text || s->tensor->ndim != 1 || s->tensor->dims[0] != a->tensor->ndim || s->dtype != RT_i64)
		return rt_raise(r->cx, "argument '%s': '%s' wants %d int64 values, one for each dimension",
				r->param->name, s->key, a->tensor->ndim);
	for (int i = 0; i < a->tensor->ndim; i++)
		strides[i] = ((int64_t *)(void *)rt_data(s->tensor))[i];
	if (!(own = with_strides(r->cx, a->tensor, strides)))
		return RT_ERROR;
	*out = rt_of(own);
	return RT_OK;
}

/* Whether an array of category c can be read as a number of this kind. The rule is that of Python's int, float, bool
 * and complex: True is 1, and any int or float has a truth value. */
static bool
accepts_number(RtKind kind, char c)
{
	if (c == 'B' || c == 'I')
		return true;
	if (c == 'F')
		return kind != TYPE_INT;
	return c == 'C' && kind != TYPE_INT && kind != TYPE_BOOL && kind != TYPE_FLOAT;
}

/* Returns element i of a contiguous tensor as a number of this kind. */
static IValue
number_at(RtCx *cx, const RtTensor *t, RtKind kind, int64_t i)
{
	const char *p = rt_data(t) + i * rt_dtypes[t->dtype].bytes;
	RtC128 c;

	switch (kind) {
	case TYPE_INT:   return rt_int(rt_load_i64((RtDtype)t->dtype, p));
	case TYPE_BOOL:  return rt_bool(rt_load_f64((RtDtype)t->dtype, p) != 0);
	case TYPE_FLOAT: return rt_double(rt_load_f64((RtDtype)t->dtype, p));
	case TYPE_COMPLEX:
		rt_cast(RT_c128, &c, (RtDtype)t->dtype, p, 1);
		return rt_complex(cx, c.re, c.im);
	default:         return rt_item(cx, t);
	}
}

static int
read_number(Reader *r, const RtType *t, const char *key, IValue *out)
{
	RtArray *a = find_array(r, key);

	if (!a || a->text || a->tensor->ndim || !accepts_number(t->kind, rt_kind(a->dtype)))
		return mismatch(r, key, t, a);
	*out = number_at(r->cx, a->tensor, t->kind, 0);
	return r->cx->status;
}

static int
read_text(Reader *r, const RtType *t, const char *key, IValue *out)
{
	RtArray *a = find_array(r, key);
	const char *s;

	if (!a || !a->text)
		return mismatch(r, key, t, a);
	if (t->kind == TYPE_STR) {
		*out = rt_retain(rt_ref(RT_STR, a->text));
		return RT_OK;
	}
	s = a->text->s;
	if (strcmp(s, "cpu") && strncmp(s, "cuda", 4))
		return rt_raise(r->cx, "argument '%s': there is no device '%s'", r->param->name, s);
	*out = rt_int(*s == 'c' && s[1] == 'p' ? 0 : 256 + (s[4] == ':' ? atoi(s + 5) + 1 : 0));
	out->tag = RT_DEVICE;
	return RT_OK;
}

static bool
is_member(const RtMember *m, IValue v)
{
	return v.tag == RT_STR ? !strcmp(v.u.str->s, m->text) : v.tag == RT_DOUBLE ? v.u.f == m->f : v.u.i == m->i;
}

static int
read_enum(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	IValue v = rt_none();

	if (!t->cls || !t->n)
		return rt_lacks(r->cx, "argument '%s': the members of %s are not known here", r->param->name, t->name);
	if (read_argument(r, t->of[0], key, &v, depth))
		return RT_ERROR;
	for (int i = 0; i < t->cls->nmember; i++)
		if (is_member(&t->cls->member[i], v)) {
			*out = rt_ref(RT_ENUM, rt_enum_new(r->cx, t, t->cls->member[i].name, v));
			return out->u.en ? RT_OK : RT_ERROR;
		}
	rt_release(v);
	return rt_raise(r->cx, "argument '%s': '%s' is not the value of a member of %s", r->param->name, key, t->name);
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

static int
read_part(Reader *r, const RtType *t, const char *key, const char *part, IValue *out, int depth)
{
	Buf b = { 0 };
	int status;

	buf_printf(&b, "%s.%s", key, part);
	status = read_argument(r, t, b.at, out, depth + 1);
	buf_free(&b);
	return status;
}

static bool
is_empty(const RtArray *a)
{
	return a && !a->text && a->tensor->ndim == 1 && !a->tensor->dims[0];
}

static bool
in_one_array(const RtType *elem)
{
	return elem->kind == TYPE_INT || elem->kind == TYPE_FLOAT || elem->kind == TYPE_BOOL ||
	       elem->kind == TYPE_COMPLEX || elem->kind == TYPE_NUMBER;
}

static int
list_from_array(Reader *r, const RtType *elem, const RtArray *a, RtList *l)
{
	IValue v;

	for (int64_t i = 0; i < a->tensor->dims[0]; i++) {
		v = number_at(r->cx, a->tensor, elem->kind == TYPE_NUMBER ? TYPE_FLOAT : elem->kind, i);
		if (r->cx->status || rt_list_push(r->cx, l, v))
			return RT_ERROR;
	}
	return RT_OK;
}

static int
list_from_parts(Reader *r, const RtType *elem, const char *key, RtList *l, int depth)
{
	int64_t n = count_parts(r, key);
	char part[24];
	IValue v;

	for (int64_t i = 0; i < n; i++) {
		v = rt_none();
		snprintf(part, sizeof part, "%lld", (long long)i);
		if (read_part(r, elem, key, part, &v, depth) || rt_list_push(r->cx, l, v))
			return RT_ERROR;
	}
	return RT_OK;
}

static int
read_list_arg(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	const RtType *elem = t->of[0];
	RtArray *a = find_array(r, key);
	RtList *l;
	int status;

	if (a ? !is_empty(a) && (a->text || a->tensor->ndim != 1 || !in_one_array(elem) ||
	     !accepts_number(elem->kind, rt_kind(a->dtype))) : !given(r, key))
		return mismatch(r, key, t, a);
	if (!(l = rt_list_new(r->cx, elem, a ? a->tensor->dims[0] : 0)))
		return RT_ERROR;
	*out = rt_ref(RT_LIST, l);
	if (is_empty(a))
		return RT_OK;
	status = a ? list_from_array(r, elem, a, l) : list_from_parts(r, elem, key, l, depth);
	if (!status)
		return RT_OK;
	rt_release(*out);
	*out = rt_none();
	return status;
}

/* Reads a value of type Any. A 0-d array with the dtype of a Python number is a number. Other arrays are texts or
 * tensors. Keys of parts are a list of tensors. */
static int
read_any(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	static const RtType *const of[] = { &rt_type_tensor };
	static const RtType tensors = { .kind = TYPE_LIST, .of = of, .n = 1 };
	RtArray *a = find_array(r, key);

	if (a && a->text) {
		*out = rt_retain(rt_ref(RT_STR, a->text));
		return RT_OK;
	}
	if (a && !a->tensor->ndim && (a->dtype == RT_i64 || a->dtype == RT_f64 || a->dtype == RT_b8)) {
		*out = rt_item(r->cx, a->tensor);
		return RT_OK;
	}
	return !a && count_parts(r, key) ? read_list_arg(r, &tensors, key, out, depth)
					 : read_tensor_arg(r, t, key, out);
}

static int
read_tuple(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	RtTuple *tuple;
	char part[24];
	Buf b = { 0 };
	bool by_field;
	int status = RT_OK;

	find_array(r, key);                     /* an array of shape (0,) may stand for an empty list */
	if (!(tuple = rt_tuple_new(r->cx, t->name ? t : 0, t->n)))
		return RT_ERROR;
	for (int i = 0; i < t->n && !status; i++) {
		snprintf(part, sizeof part, "%d", i);
		b.n = 0;
		buf_printf(&b, "%s.%s", key, part);
		by_field = t->field && !given(r, b.at);
		status = read_part(r, t->of[i], key, by_field ? t->field[i] : part, &tuple->v[i], depth);
	}
	buf_free(&b);
	if (status)
		rt_release(rt_ref(RT_TUPLE, tuple));
	else
		*out = rt_ref(RT_TUPLE, tuple);
	return status;
}

static int
read_key(Reader *r, const RtType *t, const char *text, IValue *out)
{
	const char *end = text;
	int64_t i = 0;
	bool good;

	switch (t->kind) {
	case TYPE_INT:
		good = rt_read_int(&end, NULL, &i) && !*end;
		*out = rt_int(i);
		break;
	case TYPE_FLOAT:
		*out = rt_double(strtod(text, (char **)(uintptr_t)&end));
		good = end != text && !*end;
		break;
	case TYPE_BOOL:
		*out = rt_bool(!strcmp(text, "True"));
		good = out->u.i || !strcmp(text, "False");
		break;
	case TYPE_STR:
		*out = rt_ref(RT_STR, rt_str_new(r->cx, text, -1));
		return out->u.p ? RT_OK : RT_ERROR;
	default:
		return rt_lacks(r->cx, "argument '%s': dicts with keys of this type are not read", r->param->name);
	}
	return good ? RT_OK : rt_raise(r->cx, "argument '%s': '%s' is no key of the dict", r->param->name, text);
}

/* Whether the key is x.strides, where x is an array. */
bool
rt_is_strides(const RtArrays *in, const char *key)
{
	const size_t n = strlen(key);
	bool is = false;

	if (n < 9 || strcmp(key + n - 8, ".strides"))
		return false;
	for (int i = 0; i < in->n; i++)
		is |= strlen(in->at[i].key) == n - 8 && !memcmp(in->at[i].key, key, n - 8);
	return is;
}

/* Whether a value of this type has exactly one array. The array's key may then contain dots. */
static bool
is_leaf(const RtType *t)
{
	switch (t->kind) {
	case TYPE_OPTIONAL: return is_leaf(t->of[0]);
	case TYPE_LIST: case TYPE_DICT: case TYPE_TUPLE: case TYPE_CLASS: return false;
	default:            return true;
	}
}

static int
read_entry(Reader *r, const RtType *t, const char *key, const char *part, RtDict *d, int depth)
{
	IValue k = rt_none(), v = rt_none();

	if (read_key(r, t->of[0], part, &k))
		return r->cx->status;
	if (rt_dict_get(d, k)) {                          /* another part of an entry that is set already */
		rt_release(k);
		return RT_OK;
	}
	if (read_part(r, t->of[1], key, part, &v, depth)) {
		rt_release(k);
		return r->cx->status;
	}
	return rt_dict_set(r->cx, d, k, v);
}

static int
read_dict(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	RtArray *a = find_array(r, key);
	RtDict *d;
	const char *s;
	int status = RT_OK;
	Buf part = { 0 };

	if (a ? !is_empty(a) : !given(r, key))
		return mismatch(r, key, t, a);
	if (!(d = rt_dict_new(r->cx, t->of[0], t->of[1])))
		return RT_ERROR;
	for (int i = 0; i < r->in->n && !status; i++) {
		s = below(r->in->at[i].key, key);
		if (!s || (is_leaf(t->of[1]) && rt_is_strides(r->in, r->in->at[i].key)))
			continue;
		part.n = 0;
		buf_add(&part, s, (int64_t)(is_leaf(t->of[1]) ? strlen(s) : strcspn(s, ".")));
		status = read_entry(r, t, key, part.at, d, depth);
	}
	buf_free(&part);
	if (status)
		rt_release(rt_ref(RT_DICT, d));
	else
		*out = rt_ref(RT_DICT, d);
	return status;
}

static int
read_object(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	RtObject *o;
	int status = RT_OK;

	if (!t->cls || !given(r, key))
		return mismatch(r, key, t, 0);
	if (!(o = rt_object_new(r->cx, t->cls)))
		return RT_ERROR;
	for (int i = 0; i < t->cls->nslot && !status; i++)
		status = read_part(r, t->cls->slot_type[i], key, t->cls->slot[i], &o->slot[i], depth);
	if (status)
		rt_release(rt_ref(RT_OBJECT, o));
	else
		*out = rt_ref(RT_OBJECT, o);
	return status;
}

/* Whether the array has the natural dtype of the type, because several types of a union may be able to read it. If a is
 * null, there are only arrays of parts: then the type must be a container. */
static bool
is_meant(const RtArray *a, const RtType *t)
{
	if (!a)
		return t->kind == TYPE_DICT || t->kind == TYPE_LIST || t->kind == TYPE_TUPLE || t->kind == TYPE_CLASS;
	switch (t->kind) {
	case TYPE_INT:     return a->tensor && !a->tensor->ndim && a->dtype == RT_i64;
	case TYPE_FLOAT:   return a->tensor && !a->tensor->ndim && a->dtype == RT_f64;
	case TYPE_BOOL:    return a->tensor && !a->tensor->ndim && a->dtype == RT_b8;
	case TYPE_COMPLEX: return a->tensor && !a->tensor->ndim && a->dtype == RT_c128;
	default:           return false;
	}
}

static bool
all_used(const Reader *r, const char *key)
{
	bool all = true;

	for (int i = 0; i < r->in->n && all; i++)
		all = r->used[i] || !below(r->in->at[i].key, key);
	return all;
}

/* Reads the first type of the union that accepts all arrays of the key. Tries types of is_meant first. */
static int
read_union(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	const RtArray *a = rt_arrays_find(r->in, key);

	if (!given(r, key))
		for (int i = 0; i < t->n; i++)
			if (t->of[i]->kind == TYPE_NONE)
				return RT_OK;
	for (int i = 0; i < 2 * t->n; i++) {
		const RtType *of = t->of[i % t->n];

		if (of->kind == TYPE_NONE || is_meant(a, of) != (i < t->n))
			continue;
		if (!read_argument(r, of, key, out, depth + 1)) {
			if (all_used(r, key))
				return RT_OK;
			rt_release(*out);
			*out = rt_none();
		}
		rt_clear_error(r->cx);
	}
	return mismatch(r, key, t, a);
}

static int
unreadable(Reader *r)
{
	return rt_lacks(r->cx, "argument '%s': a value of its type cannot be given in an .npz", r->param->name);
}

int
rt_read_any(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	switch (t->kind) {
	case TYPE_NONE:    return RT_OK;
	case TYPE_ANY:     return read_any(r, t, key, out, depth);
	case TYPE_INT: case TYPE_FLOAT: case TYPE_BOOL: case TYPE_COMPLEX:
	case TYPE_NUMBER:  return read_number(r, t, key, out);
	case TYPE_STR:
	case TYPE_DEVICE:  return read_text(r, t, key, out);
	case TYPE_LIST:    return read_list_arg(r, t, key, out, depth);
	case TYPE_DICT:    return read_dict(r, t, key, out, depth);
	case TYPE_TUPLE:   return read_tuple(r, t, key, out, depth);
	case TYPE_CLASS:   return read_object(r, t, key, out, depth);
	case TYPE_ENUM:    return read_enum(r, t, key, out, depth);
	case TYPE_UNION:   return read_union(r, t, key, out, depth);
	default:           return unreadable(r);
	}
}

static int
read_argument(Reader *r, const RtType *t, const char *key, IValue *out, int depth)
{
	*out = rt_none();
	if (depth > DEEP)
		return rt_raise(r->cx, "argument '%s': its type is nested too deep", r->param->name);
	if (t->kind == TYPE_TENSOR)
		return read_tensor_arg(r, t, key, out);
	if (t->kind == TYPE_OPTIONAL)
		return given(r, key) ? read_argument(r, t->of[0], key, out, depth + 1) : RT_OK;
	return rt_read_other ? rt_read_other(r, t, key, out, depth) : unreadable(r);
}

/* Raises the error for an array that no argument has read. */
static int
unknown_key(RtCx *cx, const RtParam *p, int n, const char *key)
{
	Buf b = { 0 };

	buf_printf(&b, "no argument takes '%s'; the arguments are", key);
	for (int i = 0; i < n; i++) {
		buf_printf(&b, "%s %s: ", i ? "," : "", p[i].name);
		rt_type_print(&b, p[i].type);
	}
	if (!n)
		buf_puts(&b, " none");
	rt_raise(cx, "%s", b.at);
	buf_free(&b);
	return RT_ERROR;
}

int
rt_args_from_arrays(RtCx *cx, const RtParam *p, int n, const RtArrays *in, IValue *args)
{
	const RtArrays none = { 0 };
	Reader r = { .cx = cx, .in = in ? in : &none, .no_input = !in };
	int status = RT_OK, done = 0;

	if (!(r.used = rt_mem_zeroed(((int64_t)r.in->n + 1) * (int64_t)sizeof *r.used)))
		return rt_raise(cx, "out of memory");
	rt_clear_error(cx);
	for (; done < n && !status; done++) {
		r.param = &p[done];
		args[done] = rt_none();
		if (p[done].has_default && !given(&r, p[done].name))
			args[done] = rt_retain(rt_default(cx, &p[done]));
		else
			status = read_argument(&r, p[done].type, p[done].name, &args[done], 0);
	}
	for (int i = 0; i < r.in->n && !status; i++)
		if (!r.used[i])
			status = unknown_key(cx, p, n, in->at[i].key);
	rt_mem_back(r.used);
	for (int i = 0; status && i < done; i++)
		rt_assign(&args[i], rt_none());
	return status;
}

/* ---- values to arrays -------------------------------------------------------------------------------------------- */

static int write_value(RtCx *, RtArrays *, const char *key, IValue, int depth);

static int
write_part(RtCx *cx, RtArrays *a, const char *key, const char *part, IValue v, int depth)
{
	Buf b = { 0 };
	int status;

	buf_printf(&b, "%s.%s", key, part);
	status = write_value(cx, a, b.at, v, depth + 1);
	buf_free(&b);
	return status;
}

/* Writes n numbers as one array. */
static int
write_numbers(RtCx *cx, RtArrays *a, const char *key, RtDtype d, const IValue *v, int64_t n)
{
	RtTensor *t = rt_tensor_new(cx, d, 1, &n);
	char *p;
	int status;

	if (!t)
		return RT_ERROR;
	p = rt_data(t);
	for (int64_t i = 0; i < n; i++, p += rt_dtypes[d].bytes)
		if (d == RT_b8)
			*p = v[i].u.i != 0;
		else
			memcpy(p, &v[i].u, 8);
	status = rt_arrays_add(cx, a, key, rt_of(t));
	rt_tensor_release(t);
	return status;
}

static int
write_parts(RtCx *cx, RtArrays *a, const char *key, const IValue *v, int64_t n, int depth)
{
	char part[24];

	for (int64_t i = 0; i < n; i++) {
		snprintf(part, sizeof part, "%lld", (long long)i);
		if (write_part(cx, a, key, part, v[i], depth))
			return cx->status;
	}
	return RT_OK;
}

static int
write_list(RtCx *cx, RtArrays *a, const char *key, const RtList *l, int depth)
{
	RtKind kind = l->elem ? l->elem->kind : TYPE_ANY;
	RtDtype d = kind == TYPE_INT ? RT_i64 : kind == TYPE_FLOAT ? RT_f64 : kind == TYPE_BOOL ? RT_b8 : RT_f32;

	return d != RT_f32 || !l->n ? write_numbers(cx, a, key, d, l->v, l->n)
				    : write_parts(cx, a, key, l->v, l->n, depth);
}

/* Appends a number as Python prints it: with the fewest digits that read back as the same number. */
static void
put_repr(Buf *b, double f)
{
	char text[40];
	int digits = 1, exponent;

	if (f - f != 0) {
		buf_printf(b, f != f ? "nan" : f > 0 ? "inf" : "-inf");
		return;
	}
	do
		snprintf(text, sizeof text, "%.*e", digits - 1, f);
	while (strtod(text, 0) != f && digits++ < 17);
	exponent = (int)strtol(strchr(text, 'e') + 1, 0, 10);
	if (exponent < -4 || exponent >= 16)
		buf_printf(b, "%s", text);
	else
		buf_printf(b, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 1, f);
}

static int
write_dict(RtCx *cx, RtArrays *a, const char *key, const RtDict *d, int depth)
{
	Buf b = { 0 };
	int status = RT_OK;

	if (!d->n)
		return write_numbers(cx, a, key, RT_f32, 0, 0);
	for (int64_t i = 0; i < d->used && !status; i++) {
		if (d->at[i].dead)
			continue;
		b.n = 0;
		if (d->at[i].key.tag == RT_DOUBLE)
			put_repr(&b, d->at[i].key.u.f);
		else
			rt_format_value(&b, d->at[i].key, 0);
		status = write_part(cx, a, key, b.at, d->at[i].value, depth);
	}
	buf_free(&b);
	return status;
}

static int
write_object(RtCx *cx, RtArrays *a, const char *key, const RtObject *o, int depth)
{
	for (int i = 0; i < o->cls->nslot; i++)
		if (write_part(cx, a, key, o->cls->slot[i], o->slot[i], depth))
			return cx->status;
	return RT_OK;
}

static int
write_as_text(RtCx *cx, RtArrays *a, const char *key, IValue v)
{
	Buf b = { 0 };
	RtStr *s;
	int status;

	rt_format_value(&b, v, 0);
	s = rt_str_new(cx, b.at, b.n);
	buf_free(&b);
	if (!s)
		return RT_ERROR;
	status = rt_arrays_add(cx, a, key, rt_ref(RT_STR, s));
	rt_release(rt_ref(RT_STR, s));
	return status;
}

int
rt_write_any(RtCx *cx, RtArrays *a, const char *key, IValue v, int depth)
{
	IValue done;
	int status;

	switch ((RtTag)v.tag) {
	case RT_LIST:   return write_list(cx, a, key, v.u.list, depth);
	case RT_TUPLE:
		if (v.u.tuple->n == 0)
			return write_numbers(cx, a, key, RT_f32, 0, 0);
		return write_parts(cx, a, key, v.u.tuple->v, v.u.tuple->n, depth);
	case RT_DICT:   return write_dict(cx, a, key, v.u.dict, depth);
	case RT_OBJECT: return write_object(cx, a, key, v.u.obj, depth);
	case RT_ENUM:   return write_value(cx, a, key, v.u.en->value, depth + 1);
	case RT_DEVICE: return write_as_text(cx, a, key, v);
	case RT_FUTURE:
		if (rt_wait(cx, v.u.fut, &done))
			return cx->status;
		status = write_value(cx, a, key, done, depth + 1);
		rt_release(done);
		return status;
	case RT_FUNCTION: case RT_GENERATOR: case RT_STORAGE:
		return rt_lacks(cx, "'%s': a value of type %s cannot be written to an .npz", key, rt_type_of(v));
	default:        return rt_arrays_add(cx, a, key, v);
	}
}

static int
write_value(RtCx *cx, RtArrays *a, const char *key, IValue v, int depth)
{
	if (depth > DEEP)
		return rt_raise(cx, "'%.40s...' is nested too deep to be written", key);
	if (v.tag == RT_NONE)
		return rt_arrays_add_none(cx, a, key);
	return v.tag == RT_TENSOR || !rt_write_other ? rt_arrays_add(cx, a, key, v) :
		rt_write_other(cx, a, key, v, depth);
}

int
rt_arrays_from_value(RtCx *cx, RtArrays *a, const char *key, IValue v)
{
	return write_value(cx, a, key, v, 0);
}
