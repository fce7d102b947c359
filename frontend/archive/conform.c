/*
 * Checks values of an archive against their declared types, and sets the element types of containers.
 *
 * A pickle has few types. Lists and dicts may have none (version 2 and before), named tuples are plain tuples, and a
 * hostile archive may have any value anywhere. Compiled code trusts declared types. Therefore every attribute and
 * constant is checked here, to the last element. The result for a container is kept by its address, so that a shared
 * value is walked once. A reference to the container prevents the reuse of its address.
 *
 * Values of the pickle machine have no cycles and a bounded depth.
 */
#include "../frontend.h"

#include <string.h>

/* ---- checks ----------------------------------------------------------------------------------------------- */

/* Whether the container was found to have type t. is: record that it has this type. */
static bool
known(Fits *f, IValue v, const Type *t, bool is)
{
	int64_t *type = ptrmap_at(f->cx->arena, &f->types, v.u.p);

	RT_ASSERT(v.tag == RT_LIST || v.tag == RT_DICT || v.tag == RT_TUPLE);
	if (!is)
		return *type == (intptr_t)t;
	if (!*type)
		vec_push(f->cx->arena, &f->held, rt_retain(v));
	*type = (intptr_t)t;
	return true;
}

static bool
all_fit(Fits *f, const IValue *v, int64_t n, const Type *t)
{
	for (int64_t i = 0; i < n; i++)
		if (!value_fits(f, v[i], t))
			return false;
	return true;
}

static bool
list_fits(Fits *f, IValue v, const Type *t)
{
	RtList *l = v.tag == RT_LIST ? v.u.list : NULL;

	if (!l)
		return false;
	if (known(f, v, t, false))
		return true;
	if (l->elem != &rt_type_any && !rt_type_equal(l->elem, t->of[0]))
		return false;
	if (!all_fit(f, l->v, l->n, t->of[0]))
		return false;
	l->elem = t->of[0];
	return known(f, v, t, true);
}

static bool
dict_fits(Fits *f, IValue v, const Type *t)
{
	RtDict *d = v.tag == RT_DICT ? v.u.dict : NULL;

	if (!d)
		return false;
	if (known(f, v, t, false))
		return true;
	if (d->key != &rt_type_any && !(rt_type_equal(d->key, t->of[0]) && rt_type_equal(d->value, t->of[1])))
		return false;
	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead &&
		    !(value_fits(f, d->at[i].key, t->of[0]) && value_fits(f, d->at[i].value, t->of[1])))
			return false;
	d->key = t->of[0];
	d->value = t->of[1];
	return known(f, v, t, true);
}

static bool
tuple_fits(Fits *f, IValue v, const Type *t)
{
	RtTuple *tuple = v.tag == RT_TUPLE ? v.u.tuple : NULL;

	if (!tuple || tuple->n != t->n)
		return false;
	if (known(f, v, t, false))
		return true;
	for (int i = 0; i < t->n; i++)
		if (!value_fits(f, tuple->v[i], t->of[i]))
			return false;
	if (t->field)
		tuple->type = t;
	return known(f, v, t, true);
}

static bool
object_fits(Fits *f, IValue v, const Type *t)
{
	if (v.tag != RT_OBJECT)
		return false;
	if (t->kind == TYPE_INTERFACE)
		return type_is_subtype(f->cx, v.u.obj->cls->type, t);
	return v.u.obj->cls == t->cls || v.u.obj->cls->type == t ||
		/* The runtime has a built-in class with this name. */
		(unit_is_builtin_class(t->name) && !strcmp(v.u.obj->cls->name, t->name));
}

static bool
any_of(Fits *f, IValue v, const Type *t)
{
	for (int i = 0; i < t->n; i++)
		if (value_fits(f, v, t->of[i]))
			return true;
	return false;
}

bool
value_fits(Fits *f, IValue v, const Type *t)
{
	switch (t->kind) {
	case TYPE_LIST:      return list_fits(f, v, t);
	case TYPE_DICT:      return dict_fits(f, v, t);
	case TYPE_TUPLE:     return tuple_fits(f, v, t);
	case TYPE_OPTIONAL:  return v.tag == RT_NONE || value_fits(f, v, t->of[0]);
	case TYPE_UNION:     return any_of(f, v, t);
	case TYPE_CLASS:
	case TYPE_INTERFACE: return object_fits(f, v, t);
	case TYPE_ENUM:      return v.tag == RT_ENUM && v.u.en->type == t;
	default:             return rt_isinstance(v, t);
	}
}

/* ---- types of untyped containers --------------------------------------------------------------------------- */

/* Returns the common type of all elements if it is a simple one, else Any. */
static const Type *
common(const IValue *v, int64_t n, int64_t step)
{
	static const Type *const simple[] = { &rt_type_tensor, &rt_type_int, &rt_type_float,
					      &rt_type_bool,   &rt_type_str, &rt_type_complex };

	for (size_t k = 0; n && k < sizeof simple / sizeof *simple; k++) {
		int64_t i = 0;

		while (i < n && rt_isinstance(*(const IValue *)((const char *)v + i * step), simple[k]))
			i++;
		if (i == n)
			return simple[k];
	}
	return &rt_type_any;
}

static void
settle_dict(Fits *f, RtDict *d)
{
	int64_t n = d->n == d->used ? d->n : 0;

	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead)
			value_settle(f, d->at[i].value);
	if (d->key == &rt_type_any && n) {
		d->key = common(&d->at[0].key, n, sizeof *d->at);
		d->value = common(&d->at[0].value, n, sizeof *d->at);
	}
}

void
value_settle(Fits *f, IValue v)
{
	if ((v.tag != RT_LIST && v.tag != RT_DICT && v.tag != RT_TUPLE) || known(f, v, &rt_type_any, false))
		return;
	if (*ptrmap_at(f->cx->arena, &f->types, v.u.p))
		return;
	known(f, v, &rt_type_any, true);
	if (v.tag == RT_DICT)
		settle_dict(f, v.u.dict);
	for (int64_t i = 0; v.tag == RT_TUPLE && i < v.u.tuple->n; i++)
		value_settle(f, v.u.tuple->v[i]);
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		value_settle(f, v.u.list->v[i]);
	if (v.tag == RT_LIST && v.u.list->elem == &rt_type_any)
		v.u.list->elem = common(v.u.list->v, v.u.list->n, sizeof(IValue));
}

void
fits_free(Fits *f)
{
	for (int i = 0; i < f->held.n; i++)
		rt_release(f->held.at[i]);
	f->held.n = 0;
}
