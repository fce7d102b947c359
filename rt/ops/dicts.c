/* rt/ops/dicts.c - operators on dicts: entries in insertion order, views of them as lists
 *
 * Iterators do not see later changes, because keys, values and items are copied into lists. */
#include "../base.h"
#include "kernel.h"

static int
key_error(RtCx *cx, IValue key)
{
	Buf b = { 0 };

	rt_format_value(&b, key, 0);
	rt_raise(cx, "KeyError: %s", b.n ? b.at : "");
	buf_free(&b);
	return RT_ERROR;
}

static int
dict_get(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue *v = rt_dict_get(in[0].u.dict, in[1]);

	return v ? put_same(*v, out) : key_error(cx, in[1]);
}

static int
dict_get_or_none(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue *v = rt_dict_get(in[0].u.dict, in[1]);

	(void)cx;
	return put_same(v ? *v : rt_none(), out);
}

static int
dict_get_or(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue *v = rt_dict_get(in[0].u.dict, in[1]);

	(void)cx;
	return put_same(v ? *v : in[2], out);
}

static KERNEL_FN(dict_set, rt_dict_set(cx, in[0].u.dict, rt_retain(in[1]), rt_retain(in[2])))

static int
dict_set_default(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue *v = rt_dict_get(in[0].u.dict, in[1]);

	if (v)
		return put_same(*v, out);
	if (rt_dict_set(cx, in[0].u.dict, rt_retain(in[1]), rt_retain(in[2])))
		return RT_ERROR;
	return put_same(in[2], out);
}

static KERNEL_FN(dict_delete, rt_dict_remove(in[0].u.dict, in[1]) ? RT_OK : key_error(cx, in[1]))

static int
dict_pop(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue *v = rt_dict_get(in[0].u.dict, in[1]);

	if (!v)
		return key_error(cx, in[1]);
	*out = rt_retain(*v);
	rt_dict_remove(in[0].u.dict, in[1]);
	return RT_OK;
}

static int
dict_pop_or(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	if (dict_get_or(cx, in, out))
		return RT_ERROR;
	rt_dict_remove(in[0].u.dict, in[1]);
	return RT_OK;
}

static int
pair(RtCx *cx, const RtDictEntry *e, IValue *out)
{
	RtTuple *t = rt_tuple_new(cx, NULL, 2);

	if (!t)
		return RT_ERROR;
	t->v[0] = rt_retain(e->key);
	t->v[1] = rt_retain(e->value);
	*out = rt_ref(RT_TUPLE, t);
	return RT_OK;
}

/* Removes the entry that was inserted first. Python removes the last one. */
static int
dict_pop_item(RtCx *cx, const IValue *in, IValue *out)
{
	RtDict *d = in[0].u.dict;
	int64_t i = 0;

	if (d->n == 0)
		return rt_raise(cx, "popitem(): dictionary is empty");
	while (d->at[i].dead)
		i++;
	if (pair(cx, &d->at[i], out))
		return RT_ERROR;
	rt_dict_remove(d, out->u.tuple->v[0]);
	return RT_OK;
}

static int
dict_clear(RtCx *cx, const IValue *in, IValue *out)
{
	RtDict *d = in[0].u.dict;

	(void)cx, (void)out;
	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead) {
			IValue key = rt_retain(d->at[i].key);

			rt_dict_remove(d, key);
			rt_release(key);
		}
	return RT_OK;
}

static int
merge_dicts(RtCx *cx, RtDict *to, const RtDict *from)
{
	int64_t n = from->used;

	for (int64_t i = 0; i < n && to != from; i++)
		if (!from->at[i].dead && rt_dict_set(cx, to, rt_retain(from->at[i].key), rt_retain(from->at[i].value)))
			return RT_ERROR;
	return RT_OK;
}

static KERNEL_FN(dict_update, merge_dicts(cx, in[0].u.dict, in[1].u.dict))

static int
give_dict(RtDict *d, int status, IValue *out)
{
	if (!d)
		return RT_ERROR;
	*out = rt_ref(RT_DICT, d);
	if (status) {
		rt_release(*out);
		*out = rt_none();
	}
	return status;
}

static int
dict_copy(RtCx *cx, const IValue *in, IValue *out)
{
	const RtDict *from = in[0].u.dict;
	RtDict *d = rt_dict_new(cx, from->key, from->value);

	return give_dict(d, d ? merge_dicts(cx, d, from) : RT_ERROR, out);
}

KERNEL(dict, give_dict(rt_dict_new(cx, &rt_type_str, &rt_type_tensor), RT_OK, out))

/* Makes a dict from a list of pairs. Its types are those of the list, if they are known. */
static int
dict_of_pairs(RtCx *cx, const IValue *in, const RtType *key, IValue *out)
{
	const RtList *l = in[0].u.list;
	RtDict *d = rt_dict_new(cx, key, l->elem->kind == TYPE_TUPLE && l->elem->n == 2 ? l->elem->of[1] :
				&rt_type_any);
	int status = d ? RT_OK : RT_ERROR;

	for (int64_t i = 0; i < l->n && !status; i++)
		status = rt_dict_set(cx, d, rt_retain(l->v[i].u.tuple->v[0]), rt_retain(l->v[i].u.tuple->v[1]));
	return give_dict(d, status, out);
}

KERNEL(dict_bool, dict_of_pairs(cx, in, &rt_type_bool, out))
KERNEL(dict_complex, dict_of_pairs(cx, in, &rt_type_complex, out))
KERNEL(dict_float, dict_of_pairs(cx, in, &rt_type_float, out))
KERNEL(dict_int, dict_of_pairs(cx, in, &rt_type_int, out))
KERNEL(dict_str, dict_of_pairs(cx, in, &rt_type_str, out))
KERNEL(dict_Tensor, dict_of_pairs(cx, in, &rt_type_tensor, out))

static int
one_of_each(RtCx *cx, const RtDict *d, bool keys, IValue *out)
{
	RtList *l = rt_list_new(cx, keys ? d->key : d->value, d->n);

	for (int64_t i = 0; l && i < d->used; i++)
		if (!d->at[i].dead && rt_list_push(cx, l, rt_retain(keys ? d->at[i].key : d->at[i].value)))
			break;
	return put_list(cx, l, out);
}

static KERNEL_FN(dict_keys, one_of_each(cx, in[0].u.dict, true, out))
static KERNEL_FN(dict_values, one_of_each(cx, in[0].u.dict, false, out))

static int
dict_items(RtCx *cx, const IValue *in, IValue *out)
{
	const RtDict *d = in[0].u.dict;
	RtList *l = rt_list_new(cx, &rt_type_any_tuple, d->n);
	IValue v;

	for (int64_t i = 0; l && i < d->used; i++)
		if (!d->at[i].dead && (pair(cx, &d->at[i], &v) || rt_list_push(cx, l, v)))
			break;
	return put_list(cx, l, out);
}

static KERNEL_FN(dict_has, put_bool(rt_dict_get(in[0].u.dict, in[1]) != NULL, out))
static KERNEL_FN(dict_length, put_int(in[0].u.dict->n, out))

/* ---- operators that share a function ----------------------------------------------------------------------------- */

#define OP(id, schema, rule, effect, gradient)
#define SHARED(id, schema, function) KERNEL(id, function(cx, in, out))
#define TRAIT(space, name, what)
#include "dicts.def"
