/*
 * Parts of TorchScript text other than nodes: types, constants, and the record of things that the text refers to.
 *
 * A constant is a literal if the language has one. Tensors, objects and strings that need other escapes are entries of
 * the archive's table of constants, CONSTANTS.cN. A PyNeeds records every class, function and attribute that a text
 * names, so that the writer of an archive knows what to include.
 */
#include "ir.h"

#include <math.h>
#include <string.h>

/* ---- types and references ---------------------------------------------------------------------------- */

void
py_note_type(PyNeeds *d, const Type *t)
{
	for (int i = 0; i < t->n; i++)
		py_note_type(d, t->of[i]);
	if (!t->name || t->kind == TYPE_VAR || map_get(&d->seen, t->name))
		return;
	map_put(&d->seen, t->name, (void *)t);
	vec_push(d->cx->arena, &d->types, t);
}

const char *
py_type(PyNeeds *d, const Type *t)
{
	py_note_type(d, t);
	return type_python(d->cx, type_unshaped(d->cx, t));
}

void
py_note_function(PyNeeds *d, Function *fn)
{
	if (fn->self)
		py_note_type(d, fn->self);
	if (map_get(&d->seen, fn->name))
		return;
	map_put(&d->seen, fn->name, fn);
	vec_push(d->cx->arena, &d->functions, fn);
}

const char *
py_attribute_key(Cx *cx, const Type *t, const char *name)
{
	return arena_printf(cx->arena, "%s\t%s", t->name, name);
}

PyNeeds *
py_needs(Cx *cx)
{
	PyNeeds *d = new(cx->arena, PyNeeds, 1);

	d->cx = cx;
	d->seen.arena = d->attributes.arena = d->constant.arena = cx->arena;
	return d;
}

/* ---- constants ---------------------------------------------------------------------------------------- */

/* Whether the string can be written between double quotes. Other strings go into the table of constants. */
static bool
is_plain(const RtStr *s)
{
	for (int64_t i = 0; i < s->n; i++)
		if ((unsigned char)s->s[i] > 126 || ((unsigned char)s->s[i] < 32 && !strchr("\a\b\f\n\t\v", s->s[i])) ||
		    !s->s[i])
			return false;
	return true;
}

void
py_quoted(Buf *out, const char *s)
{
	static const char from[] = "\a\b\f\n\t\v\\\"", to[] = "abfntv\\\"";

	buf_puts(out, "\"");
	for (; *s; s++) {
		const char *at = strchr(from, *s);

		if (at)
			buf_printf(out, "\\%c", to[at - from]);
		else
			buf_add(out, s, 1);
	}
	buf_puts(out, "\"");
}

static void
print_device(Buf *out, int64_t device)
{
	const int64_t index = (device & 255) - 1;

	buf_printf(out, "torch.device(\"%s", device >> 8 ? "cuda" : "cpu");
	if (index >= 0)
		buf_printf(out, ":%d", (int)index);
	buf_puts(out, "\")");
}

/* Returns a view of a 0-d tensor with one element, from which the printed text selects the tensor. A 0-d tensor in the
 * table would be read as a number in type promotion. */
static IValue
row_of(PyNeeds *d, const RtTensor *t)
{
	const int64_t one = 1;
	RtTensor *row = rt_tensor_view(cx_rt(d->cx), t, 1, &one, &one, t->offset);

	if (!row)
		fail(d->cx, (Range){ 0 }, "out of memory");
	return rt_of(row);
}

static void
print_tabled(PyNeeds *d, IValue v, Buf *out)
{
	const bool bare = v.tag == RT_TENSOR && !v.u.t->ndim && !v.u.t->quant && !(v.u.t->flags & RT_WRAPPED);
	const char *key = v.tag == RT_STR ? arena_printf(d->cx->arena, "s%s", v.u.str->s)
					  : arena_printf(d->cx->arena, "%p", v.u.p);
	intptr_t i = (intptr_t)map_get(&d->constant, key);

	if (!i) {
		vec_push(d->cx->arena, &d->constants, bare ? row_of(d, v.u.t) : v);
		i = d->constants.n;
		map_put(&d->constant, key, (void *)i);
	}
	buf_printf(out, bare ? "torch.select(CONSTANTS.c%d, 0, 0)" : "CONSTANTS.c%d", (int)i - 1);
}

static void
print_all(PyNeeds *d, const IValue *v, int64_t n, const Type *const *types, bool same, Buf *out)
{
	for (int64_t i = 0; i < n; i++) {
		if (i)
			buf_puts(out, ", ");
		py_constant(d, v[i], types[same ? 0 : i], out);
	}
}

static void
print_tuple(PyNeeds *d, const RtTuple *t, const Type *type, Buf *out)
{
	if (type->name)
		buf_puts(out, py_type(d, type));
	buf_puts(out, "(");
	print_all(d, t->v, t->n, type->of, false, out);
	buf_puts(out, t->n == 1 && !type->name ? ",)" : ")");
}

static void
print_dict(PyNeeds *d, const RtDict *m, const Type *type, Buf *out)
{
	const char *comma = "";

	buf_printf(out, "annotate(%s, {", py_type(d, type));
	for (int64_t i = 0; i < m->used; i++) {
		if (m->at[i].dead)
			continue;
		buf_puts(out, comma);
		py_constant(d, m->at[i].key, type->of[0], out);
		buf_puts(out, ": ");
		py_constant(d, m->at[i].value, type->of[1], out);
		comma = ", ";
	}
	buf_puts(out, "})");
}

/* Whether the type of the list follows from its elements. */
static bool
tells_its_type(const RtList *l, const Type *elem)
{
	return l->n && (elem->kind == TYPE_INT || elem->kind == TYPE_FLOAT || elem->kind == TYPE_BOOL ||
			elem->kind == TYPE_STR || elem->kind == TYPE_TENSOR);
}

static void
print_list(PyNeeds *d, const RtList *l, const Type *type, Buf *out)
{
	const bool tells = tells_its_type(l, type->of[0]);

	if (!tells)
		buf_printf(out, "annotate(%s, ", py_type(d, type));
	buf_puts(out, "[");
	print_all(d, l->v, l->n, type->of, true, out);
	buf_puts(out, tells ? "]" : "])");
}

/* Prints a float plus an imaginary literal, which PyTorch's compiler evaluates. */
static void
print_complex(Buf *out, const RtComplex *c)
{
	double_print(out, c->re);
	buf_puts(out, signbit(c->im) && !isnan(c->im) ? "-" : "+");
	double_print(out, fabs(c->im));
	buf_puts(out, "j");
}

/* Returns the type of a value of declared type t that is known not to be None. */
static const Type *
plain_type(PyNeeds *d, IValue v, const Type *t)
{
	if (t->kind == TYPE_OPTIONAL)
		t = t->of[0];
	return t->kind == TYPE_ANY || t->kind == TYPE_UNION || t->kind == TYPE_NUMBER ? type_of_value(d->cx, v) : t;
}

void
py_constant(PyNeeds *d, IValue v, const Type *declared, Buf *out)
{
	const Type *t = rt_is_none(v) ? declared : plain_type(d, v, declared);

	switch ((RtTag)v.tag) {
	case RT_NONE:
		if (t->kind == TYPE_NONE)
			buf_puts(out, "None");
		else
			buf_printf(out, "annotate(%s, None)", py_type(d, t));
		return;
	case RT_INT:
	case RT_BOOL:
	case RT_DOUBLE:    value_print(d->cx, v, out); return;
	case RT_DEVICE:    print_device(out, v.u.i); return;
	case RT_STR:
		if (is_plain(v.u.str))
			py_quoted(out, v.u.str->s);
		else
			print_tabled(d, v, out);
		return;
	case RT_LIST:      print_list(d, v.u.list, t, out); return;
	case RT_TUPLE:     print_tuple(d, v.u.tuple, t, out); return;
	case RT_DICT:      print_dict(d, v.u.dict, t, out); return;
	case RT_COMPLEX:   print_complex(out, v.u.c); return;
	case RT_ENUM:      buf_printf(out, "%s.%s", py_type(d, v.u.en->type), v.u.en->name->s); return;
	case RT_TENSOR:
	case RT_OBJECT:    print_tabled(d, v, out); return;
	default:
		fail_lacks(d->cx, (Range){ 0 }, "constants of type %s in TorchScript", rt_type_of(v));
	}
}
