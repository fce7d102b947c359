/*
 * Writes the constant data of a program: types, classes, and values as entries of type RtConst.
 *
 * Types and classes refer to each other in cycles, so all are declared before they are defined. A counted value that
 * occurs again becomes an RT_AGAIN entry, so that the program shares exactly the objects that the model shares. Tensors
 * refer to a table of storages. Storages with equal bytes share these bytes of the weights, which are read-only: the
 * first write to a storage makes a copy (rt_writable).
 */
#include "program.h"

#include <math.h>
#include <string.h>

const char *
emit_key(Emit *e, const void *p)
{
	return arena_printf(e->cx->arena, "%p", p);
}

void
put_c_text(Buf *b, const char *text)
{
	if (text)
		out_string(b, text, (int64_t)strlen(text));
	else
		buf_puts(b, "0");
}

void
put_c_double(Buf *b, double f)
{
	if (isnan(f))
		buf_puts(b, "KILN_NAN");
	else if (isinf(f))
		buf_puts(b, f < 0 ? "KILN_MINUS_INF" : "KILN_INF");
	else
		buf_printf(b, "%a", f);
}

void
put_c_int(Buf *b, int64_t i)
{
	if (i == INT64_MIN)
		buf_puts(b, "(-0x7fffffffffffffffLL - 1)");
	else
		buf_printf(b, "%lldLL", (long long)i);
}

/* Returns the C name of one of rt's own types. Null for other types. */
static const char *
basic_type(const RtType *t)
{
	static const char *const names[TYPE_NKIND] = {
		[TYPE_ANY] = "any", [TYPE_NONE] = "none", [TYPE_TENSOR] = "tensor", [TYPE_INT] = "int",
		[TYPE_FLOAT] = "float", [TYPE_BOOL] = "bool", [TYPE_COMPLEX] = "complex", [TYPE_NUMBER] = "number",
		[TYPE_STR] = "str", [TYPE_DEVICE] = "device", [TYPE_GENERATOR] = "generator",
		[TYPE_STORAGE] = "storage", [TYPE_STREAM] = "stream", [TYPE_ANY_LIST] = "any_list",
		[TYPE_ANY_TUPLE] = "any_tuple", [TYPE_ANY_CLASS] = "any_class", [TYPE_ANY_ENUM] = "any_enum",
	};
	return names[t->kind];
}

/* Writes the arrays of a type's parts and field names: static const RtType *const NAME_of[] = { ... }; */
static void
put_type_parts(Emit *e, Buf *b, const char *name, const RtType *t)
{
	if (t->n) {
		const char **of = new(e->cx->arena, const char *, t->n);

		for (int i = 0; i < t->n; i++)
			of[i] = emit_type(e, t->of[i]);
		buf_printf(b, "static const RtType *const %s_of[] = {", name);
		for (int i = 0; i < t->n; i++)
			buf_printf(b, " %s,", of[i]);
		buf_puts(b, " };\n");
	}
	if (t->field) {
		buf_printf(b, "static const char *const %s_field[] = {", name);
		for (int i = 0; i < t->n; i++) {
			buf_puts(b, " ");
			put_c_text(b, t->field[i]);
			buf_puts(b, ",");
		}
		buf_puts(b, " };\n");
	}
}

const char *
emit_type(Emit *e, const RtType *t)
{
	const char *key, *name, *known, *cls = "0";
	Buf b = { 0 };

	if (!t)
		return "0";
	if (basic_type(t))
		return arena_printf(e->cx->arena, "&rt_type_%s", basic_type(t));
	key = emit_key(e, t);
	if ((known = map_get(&e->type_names, key)))
		return arena_printf(e->cx->arena, "&%s", known);
	name = arena_printf(e->cx->arena, "type_%d", e->type_names.n);
	map_put(&e->type_names, key, (void *)(uintptr_t)name);
	out_line(&e->types, "static const RtType %s;", name);
	put_type_parts(e, &b, name, t);
	if (t->cls)
		cls = emit_class(e, t->cls);
	buf_printf(&b, "static const RtType %s = { %d, %d, ", name, (int)t->kind, t->n);
	buf_printf(&b, t->n ? "%s_of, " : "0, ", name);
	put_c_text(&b, t->name);
	buf_printf(&b, t->field ? ", %s_field, " : ", 0, ", name);
	buf_printf(&b, "%s, 0 };", cls);
	out_line(&e->data, "%s", b.at);
	buf_free(&b);
	return arena_printf(e->cx->arena, "&%s", name);
}

void
put_c_texts(Buf *b, const char *name, const char *what, const char *const *text, int n)
{
	buf_printf(b, "static const char *%s_%s[] = {", name, what);
	for (int i = 0; i < n; i++) {
		buf_puts(b, " ");
		put_c_text(b, text[i]);
		buf_puts(b, ",");
	}
	buf_puts(b, " };\n");
}

/* Returns the C name of a class. emit_classes defines it once all values and codes have been written. */
const char *
emit_class(Emit *e, const RtClass *c)
{
	const char *key = emit_key(e, c), *name = map_get(&e->class_names, key);

	if (!name) {
		name = arena_printf(e->cx->arena, "class_%d", e->class_names.n);
		map_put(&e->class_names, key, (void *)(uintptr_t)name);
		out_line(&e->types, "static RtClass %s;", name);
		vec_push(e->cx->arena, &e->classes, c);
	}
	return arena_printf(e->cx->arena, "&%s", name);
}

static bool
is_module(const RtClass *c)
{
	return c->info && c->info->module;
}

/* Whether any code of the program reads or writes slot i of the class's objects. */
static bool
is_used(Emit *e, const RtClass *c, int i)
{
	const ClassInfo *info = c->info;

	for (int k = 0; k < info->slot_uses.n; k++) {
		const SlotUse *u = &info->slot_uses.at[k];

		if (u->slot == i && map_get(&e->code_names, emit_key(e, u->code)) && slot_use_holds(u))
			return true;
	}
	return false;
}

bool
emit_is_unread(Emit *e, const RtClass *c, int i)
{
	return is_module(c) && !is_used(e, c, i);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

typedef struct Row {             /* An entry of the table of constants, as an RtConst. */
	const char *tag;
	int dtype, rank, flags;
	int64_t n, index;
	const char *text;           /* C expression; null for a null pointer */
} Row;

static void
put_row(Emit *e, Row r)
{
	buf_printf(&e->rows, "\t{ %s, %d, %d, %d, %lld, { ", r.tag, r.dtype, r.rank, r.flags, (long long)r.n);
	put_c_int(&e->rows, r.index);
	buf_printf(&e->rows, " }, %s },\n", r.text ? r.text : "0");
	e->nrow++;
}

static void
put_whole(Emit *e, const char *tag, int64_t i)
{
	put_row(e, (Row){ .tag = tag, .index = i });
}

static void
put_float(Emit *e, const char *tag, double f)
{
	buf_printf(&e->rows, "\t{ %s, 0, 0, 0, 0, { .f = ", tag);
	put_c_double(&e->rows, f);
	buf_puts(&e->rows, " }, 0 },\n");
	e->nrow++;
}

/* Writes the entry of a container whose n parts follow, or of a text of n bytes. */
static void
put_head(Emit *e, const char *tag, int64_t n, const char *p)
{
	put_row(e, (Row){ .tag = tag, .n = n, .text = p });
}

static void put_value(Emit *, IValue);

const char *
emit_geometry(Emit *e, int n, const int64_t *dims, const int64_t *strides)
{
	const char *name;
	Buf b = { 0 };

	if (!n)
		return "0";
	for (int i = 0; i < n; i++)
		buf_printf(&b, " %lld,", (long long)dims[i]);
	for (int i = 0; i < n && strides; i++)
		buf_printf(&b, " %lld,", (long long)strides[i]);
	name = map_get(&e->geometry_names, b.at);
	if (!name) {
		name = arena_printf(e->cx->arena, "g%d", e->geometry_names.n);
		map_put(&e->geometry_names, arena_strdup(e->cx->arena, b.at), (void *)(uintptr_t)name);
		out_line(&e->data, "static const int64_t %s[] = {%s };", name, b.at);
	}
	buf_free(&b);
	return name;
}

static void
put_tensor(Emit *e, const RtTensor *t)
{
	const int storage = weights_storage(&e->weights, t->storage);
	const RtQuant *q = t->quant;
	const bool lazy = e->lazy;

	weights_use(&e->weights, t->storage, e->lazy ? WEIGHT_GENERIC : WEIGHT_NEEDED);
	e->doubles |= t->dtype == RT_f64;
	put_row(e, (Row){ "RT_TENSOR", t->dtype, t->ndim, t->flags, storage, t->offset,
			  emit_geometry(e, t->ndim, t->dims, t->strides) });
	if (!q)
		return;
	e->lazy = false;
	e->quantized = true;
	put_row(e, (Row){ .tag = "RT_NONE", .flags = q->scheme, .n = q->axis, .index = q->zero });
	put_float(e, "RT_DOUBLE", q->scale);
	if (q->scheme == 1 || q->scheme == 3 || q->scheme == 4) {
		put_value(e, rt_of(q->scales));
		put_value(e, rt_of(q->zeros));
	}
	e->lazy = lazy;
}

static void
put_values(Emit *e, const IValue *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		put_value(e, v[i]);
}

static void
put_dict(Emit *e, const RtDict *d)
{
	const Type *t = type_dict(e->cx, type_canonical(e->cx, d->key), type_canonical(e->cx, d->value));

	put_head(e, "RT_DICT", 2 * d->n, emit_type(e, t));
	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead) {
			put_value(e, d->at[i].key);
			put_value(e, d->at[i].value);
		}
}

static void
put_string(Emit *e, const RtStr *s)
{
	Buf b = { 0 };

	out_string(&b, s->s, s->n);
	put_head(e, "RT_STR", s->n, b.at);
	buf_free(&b);
}

static void
put_list(Emit *e, const RtList *l)
{
	const Type *t = type_list(e->cx, type_canonical(e->cx, l->elem ? l->elem : &rt_type_any));

	put_head(e, "RT_LIST", l->n, emit_type(e, t));
	put_values(e, l->v, l->n);
}

static void
put_enum(Emit *e, const RtEnum *en)
{
	put_head(e, "RT_ENUM", 2, emit_type(e, en->type));
	put_string(e, en->name);
	put_value(e, en->value);
}

/* Writes an object. Only code reads a module's attributes. So attributes that no code reads are left out, including
 * weights that were folded into others. */
static void
put_object(Emit *e, const RtObject *o)
{
	put_head(e, "RT_OBJECT", o->cls->nslot, emit_type(e, o->cls->type));
	for (int i = 0; i < o->cls->nslot; i++) {
		if (emit_is_unread(e, o->cls, i))
			put_whole(e, "RT_NONE", 0);
		else
			put_value(e, o->slot[i]);
	}
}

void
emit_method_classes(Emit *e, IValue v)
{
	const RtObject *o = v.u.obj;

	if (v.tag != RT_OBJECT || !is_module(o->cls))
		return;
	if (o->cls->nmethod)
		emit_class(e, o->cls);
	for (int i = 0; i < o->cls->nslot; i++)
		emit_method_classes(e, o->slot[i]);
}

void
emit_use(Emit *e, IValue v, WeightUse use)
{
	if (v.tag == RT_TENSOR)
		weights_use(&e->weights, v.u.t->storage, use);
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		emit_use(e, v.u.list->v[i], use);
	for (int i = 0; rt_holds_weights(v) && i < v.u.obj->cls->nslot; i++)
		emit_use(e, v.u.obj->slot[i], use);
}

/* Writes the entries of a value and its parts. */
static void
put_value(Emit *e, IValue v)
{
	e->holders |= rt_counted(v) && v.tag != RT_TENSOR && v.tag != RT_LIST;
	if (rt_counted(v)) {
		const char *key = emit_key(e, v.u.p);
		const intptr_t row = (intptr_t)map_get(&e->row_of, key);

		if (row && !e->lazy)
			emit_use(e, v, WEIGHT_NEEDED);
		if (row) {
			put_whole(e, "RT_AGAIN", row - 1);
			return;
		}
		map_put(&e->row_of, key, (void *)(intptr_t)(e->nrow + 1));
	}
	switch (v.tag) {
	case RT_NONE:    put_whole(e, "RT_NONE", 0); break;
	case RT_INT:     put_whole(e, "RT_INT", v.u.i); break;
	case RT_BOOL:    put_whole(e, "RT_BOOL", v.u.i); break;
	case RT_DEVICE:  put_whole(e, "RT_DEVICE", v.u.i); break;
	case RT_DOUBLE:  put_float(e, "RT_DOUBLE", v.u.f); break;
	case RT_COMPLEX:
		put_float(e, "RT_COMPLEX", v.u.c->re);
		put_float(e, "RT_DOUBLE", v.u.c->im);
		break;
	case RT_STR:     put_string(e, v.u.str); break;
	case RT_TENSOR:  put_tensor(e, v.u.t); break;
	case RT_LIST:    put_list(e, v.u.list); break;
	case RT_DICT:    put_dict(e, v.u.dict); break;
	case RT_ENUM:    put_enum(e, v.u.en); break;
	case RT_TUPLE:
		put_head(e, "RT_TUPLE", v.u.tuple->n, emit_type(e, v.u.tuple->type));
		put_values(e, v.u.tuple->v, v.u.tuple->n);
		break;
	case RT_OBJECT:  put_object(e, v.u.obj); break;
	default:
		fail_lacks(e->cx, (Range){ 0 }, "a constant of this kind in a program: %s", rt_type_of(v));
	}
}

int
emit_value(Emit *e, IValue v)
{
	put_value(e, v);
	return e->nvalue++;
}
