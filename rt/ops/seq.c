/*
 * Operators on lists and dicts.
 *
 * One function serves all element types and all key types. Elements are compared by rt_equal and ordered by less(). A
 * value taken from a container is a new reference. A value stored in one is retained. Negative indices count from the
 * end.
 */
#include <stdlib.h>
#include <string.h>

#include "../base.h"
#include "kernel.h"

enum { LIST_MAX = 1 << 28 };       /* largest number of elements of a list that an operator makes */

static int
push_all(RtCx *cx, RtList *to, const IValue *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (rt_list_push(cx, to, rt_retain(v[i])))
			return RT_ERROR;
	return RT_OK;
}

static RtList *
copy_list(RtCx *cx, const RtList *l)
{
	RtList *to = rt_list_new(cx, l->elem, l->n);

	if (to)
		push_all(cx, to, l->v, l->n);
	return to;
}

/* ---- elements by index ------------------------------------------------------------------------------------------- */

/* Returns the address of the element. Null if an error was raised. */
static IValue *
element_address(RtCx *cx, IValue list, IValue index)
{
	RtList *l = list.u.list;
	int64_t i = index.u.i < 0 ? index.u.i + l->n : index.u.i;

	if (i < 0 || i >= l->n) {
		rt_raise(cx, "list index out of range");
		return NULL;
	}
	return &l->v[i];
}

static int
get_item(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue *p = element_address(cx, in[0], in[1]);

	return p ? put_same(*p, out) : RT_ERROR;
}

int
rt__set_item_t(RtCx *cx, const IValue *in, IValue *out)
{
	IValue *p = element_address(cx, in[0], in[1]);

	if (!p)
		return RT_ERROR;
	rt_assign(p, rt_retain(in[2]));
	return put_same(in[0], out);
}

static void
take_out(RtList *l, IValue *p)
{
	l->n--;
	memmove(p, p + 1, (size_t)(l->v + l->n - p) * sizeof *p);
}

int
rt_Delete_t(RtCx *cx, const IValue *in, IValue *out)
{
	IValue *p, v;

	(void)out;
	if (!in[0].u.list->n)
		return rt_raise(cx, "pop index out of range");
	if (!(p = element_address(cx, in[0], in[1])))
		return RT_ERROR;
	v = *p;
	take_out(in[0].u.list, p);
	rt_release(v);
	return RT_OK;
}

int
rt_pop_t(RtCx *cx, const IValue *in, IValue *out)
{
	IValue *p;

	if (in[0].u.list->n == 0)
		return rt_raise(cx, "pop from empty list");
	if (!(p = element_address(cx, in[0], in[1])))
		return RT_ERROR;
	*out = *p;
	take_out(in[0].u.list, p);
	return RT_OK;
}

int
rt_append_t(RtCx *cx, const IValue *in, IValue *out)
{
	if (rt_list_push(cx, in[0].u.list, rt_retain(in[1])))
		return RT_ERROR;
	return put_same(in[0], out);
}

/* Inserts an element. An index outside of the list stands for its nearer end. */
int
rt_insert_t(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *l = in[0].u.list;
	int64_t i = in[1].u.i < 0 ? in[1].u.i + l->n : in[1].u.i;

	(void)out;
	i = i < 0 ? 0 : i > l->n ? l->n : i;
	if (rt_list_push(cx, l, rt_none()))
		return RT_ERROR;
	memmove(l->v + i + 1, l->v + i, (size_t)(l->n - 1 - i) * sizeof *l->v);
	l->v[i] = rt_retain(in[2]);
	return RT_OK;
}

static int
extend(RtCx *cx, IValue to, IValue from)
{
	int64_t n = from.u.list->n;

	if (to.u.list->n + n > LIST_MAX)
		return rt_raise(cx, "the resulting list is too long");
	for (int64_t i = 0; i < n; i++)          /* both may be the same list */
		if (rt_list_push(cx, to.u.list, rt_retain(from.u.list->v[i])))
			return RT_ERROR;
	return RT_OK;
}

KERNEL(extend_t, extend(cx, in[0], in[1]))
KERNEL(add__t, extend(cx, in[0], in[1]) ? RT_ERROR : put_same(in[0], out))

int
rt_add_t(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *l = copy_list(cx, in[0].u.list);

	if (l && !cx->status)
		push_all(cx, l, in[1].u.list->v, in[1].u.list->n);
	return put_list(cx, l, out);
}

static int
repeat(RtCx *cx, const RtList *l, int64_t times, IValue *out)
{
	RtList *to;

	if (times < 0 && l->n)
		return rt_raise(cx, "vector::reserve");
	if (l->n && times > LIST_MAX / l->n)
		return rt_raise(cx, "the resulting list is too long");
	to = rt_list_new(cx, l->elem, l->n * times);
	for (int64_t k = 0; to && k < times && l->n; k++)
		if (push_all(cx, to, l->v, l->n))
			break;
	return put_list(cx, to, out);
}

KERNEL(mul_left_t, repeat(cx, in[0].u.list, in[1].u.i, out))
KERNEL(mul_right_, repeat(cx, in[1].u.list, in[0].u.i, out))

static void
clear(RtList *l)
{
	while (l->n > 0) {
		IValue v = l->v[--l->n];

		rt_release(v);
	}
}

int
rt_mul__t(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *l = in[0].u.list;
	int64_t n = l->n;

	if (n && in[1].u.i > LIST_MAX / n)
		return rt_raise(cx, "the resulting list is too long");
	if (in[1].u.i <= 0)
		clear(l);
	for (int64_t k = 1; k < in[1].u.i && n; k++)
		for (int64_t i = 0; i < n; i++)
			if (rt_list_push(cx, l, rt_retain(l->v[i])))
				return RT_ERROR;
	return put_same(in[0], out);
}

int
rt_clear_t(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx, (void)out;
	clear(in[0].u.list);
	return RT_OK;
}

int
rt_reverse_t(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *l = in[0].u.list;

	(void)cx, (void)out;
	for (int64_t i = 0, k = l->n - 1; i < k; i++, k--) {
		IValue v = l->v[i];

		l->v[i] = l->v[k];
		l->v[k] = v;
	}
	return RT_OK;
}

static KERNEL_FN(copy_of_list, put_list(cx, copy_list(cx, in[0].u.list), out))
static KERNEL_FN(length, put_int(in[0].u.list->n, out))

/* Computes Python's slice of n elements: returns its length, and sets the first index and the step. -1 if the step is
 * 0. */
int64_t
rt_slice_range(int64_t n, IValue start, IValue end, int64_t step, int64_t *at, int64_t *by)
{
	int64_t from = step < 0 ? n - 1 : 0, to = step < 0 ? -1 : n, low = step < 0 ? -1 : 0,
		high = step < 0 ? n - 1 : n;

	if (step == 0)
		return -1;
	if (step < -INT64_MAX)
		step = -INT64_MAX;
	if (!rt_is_none(start)) {
		from = start.u.i < 0 ? start.u.i + n : start.u.i;
		from = from < low ? low : from > high ? high : from;
	}
	if (!rt_is_none(end)) {
		to = end.u.i < 0 ? end.u.i + n : end.u.i;
		to = to < low ? low : to > high ? high : to;
	}
	*at = from;
	*by = step;
	if (step > 0)
		return from < to ? (to - from - 1) / step + 1 : 0;
	return from > to ? (from - to - 1) / -step + 1 : 0;
}

int
rt_slice_t(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *l = in[0].u.list;
	int64_t at, step, n = rt_slice_range(l->n, in[1], in[2], in[3].u.i, &at, &step);
	RtList *to;

	if (n < 0)
		return rt_raise(cx, "List slice should have non-zero step");
	to = rt_list_new(cx, l->elem, n);
	for (int64_t i = 0; to && i < n; i++)
		if (rt_list_push(cx, to, rt_retain(l->v[at + i * step])))
			break;
	return put_list(cx, to, out);
}

/* ---- search ------------------------------------------------------------------------------------------------ */

/* Returns the index of v at or after `from`. -1 if there is none. -2 if an error was raised. */
static int64_t
find_value(RtCx *cx, const RtList *l, IValue v, int64_t from)
{
	bool same = false;

	for (int64_t i = from; i < l->n; i++) {
		if (rt_equal(cx, l->v[i], v, &same))
			return -2;
		if (same)
			return i;
	}
	return -1;
}

static int
contains(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t at = find_value(cx, in[0].u.list, in[1], 0);

	return at == -2 ? cx->status : put_bool(at >= 0, out);
}

static int
index_of(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t at = find_value(cx, in[0].u.list, in[1], 0);
	Buf b = { 0 };

	if (at >= 0)
		return put_int(at, out);
	if (at == -2)
		return cx->status;
	if (in[1].tag == RT_DOUBLE)             /* prints the number as C++ does */
		buf_printf(&b, "%g", in[1].u.f);
	else if (in[1].tag == RT_BOOL)
		buf_printf(&b, "%d", in[1].u.i != 0);
	else
		rt_format_value(&b, in[1], 0);
	rt_raise(cx, "'%s' is not in list", b.n ? b.at : "");
	buf_free(&b);
	return RT_ERROR;
}

static int
count(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t at = -1, n = -1;

	do {
		at = find_value(cx, in[0].u.list, in[1], at + 1);
		n++;
	} while (at >= 0);
	return at == -2 ? cx->status : put_int(n, out);
}

static int
remove_first(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t at = find_value(cx, in[0].u.list, in[1], 0);
	IValue v;

	(void)out;
	if (at == -2)
		return cx->status;
	if (at < 0)
		return rt_raise(cx, "list.remove(x): x not in list");
	v = in[0].u.list->v[at];
	take_out(in[0].u.list, &in[0].u.list->v[at]);
	rt_release(v);
	return RT_OK;
}

static int
eq(RtCx *cx, const IValue *in, IValue *out)
{
	bool same = false;

	return rt_equal(cx, in[0], in[1], &same) ? cx->status : put_bool(same, out);
}

static int
ne(RtCx *cx, const IValue *in, IValue *out)
{
	bool same = false;

	return rt_equal(cx, in[0], in[1], &same) ? cx->status : put_bool(!same, out);
}

/* ---- order ---------------------------------------------------------------------------------------------------- */

static int less(RtCx *, IValue a, IValue b, bool *is);

static int
less_text(IValue a, IValue b)
{
	int64_t n = a.u.str->n < b.u.str->n ? a.u.str->n : b.u.str->n;
	int c = memcmp(a.u.str->s, b.u.str->s, (size_t)n);

	return c < 0 || (c == 0 && a.u.str->n < b.u.str->n);
}

/* Compares two tuples: the first elements that differ decide. */
static int
less_tuple(RtCx *cx, IValue a, IValue b, bool *is)
{
	int status;

	for (int64_t i = 0; i < a.u.tuple->n && i < b.u.tuple->n; i++) {
		if ((status = less(cx, a.u.tuple->v[i], b.u.tuple->v[i], is)) || *is)
			return status;
		if ((status = less(cx, b.u.tuple->v[i], a.u.tuple->v[i], is)))
			return status;
		if (*is) {
			*is = false;
			return RT_OK;
		}
	}
	*is = a.u.tuple->n < b.u.tuple->n;
	return RT_OK;
}

static int
less_tensor(RtCx *cx, IValue a, IValue b, bool *is)
{
	IValue r, v;

	if (cx->meta)
		return rt_no_meta(cx);
	if (CALL(cx, lt_Tensor, &r, a, b))
		return cx->status;
	if (rt_Bool_Tensor(cx, &r, &v))
		return cx->status;
	*is = v.u.i != 0;
	return RT_OK;
}

static int
less(RtCx *cx, IValue a, IValue b, bool *is)
{
	switch ((int)a.tag) {
	case RT_INT:
	case RT_BOOL:   *is = a.u.i < b.u.i; return RT_OK;
	case RT_DOUBLE: *is = a.u.f < b.u.f; return RT_OK;
	case RT_STR:    *is = less_text(a, b); return RT_OK;
	case RT_TUPLE:  return less_tuple(cx, a, b, is);
	case RT_TENSOR: return less_tensor(cx, a, b, is);
	default:        return rt_raise(cx, "values of type %s have no order", rt_type_of(a));
	}
}

/* A stable merge sort. The comparison may fail, and may be no order at all (NaN). */
static int
merge(RtCx *cx, IValue *v, IValue *scratch, int64_t n, bool reverse)
{
	int64_t half = n / 2, i = 0, k = half, to = 0;
	bool swap;
	int status;

	if (n < 2)
		return RT_OK;
	if ((status = merge(cx, v, scratch, half, reverse)) ||
	    (status = merge(cx, v + half, scratch, n - half, reverse)))
		return status;
	memcpy(scratch, v, (size_t)n * sizeof *v);
	while (i < half && k < n) {
		status = reverse ? less(cx, scratch[i], scratch[k], &swap) : less(cx, scratch[k], scratch[i], &swap);
		if (status) {
			memcpy(v, scratch, (size_t)n * sizeof *v);
			return status;
		}
		v[to++] = scratch[swap ? k++ : i++];
	}
	while (i < half)
		v[to++] = scratch[i++];
	while (k < n)
		v[to++] = scratch[k++];
	return RT_OK;
}

static bool
has_order(const RtType *t)
{
	bool all_have = t->kind == TYPE_TUPLE;

	for (int i = 0; i < t->n && all_have; i++)
		all_have = has_order(t->of[i]);
	return all_have || t->kind == TYPE_INT || t->kind == TYPE_FLOAT || t->kind == TYPE_BOOL || t->kind == TYPE_STR
		|| t->kind == TYPE_TENSOR || t->kind == TYPE_ANY || t->kind == TYPE_ANY_TUPLE;
}

static bool
same_kind(IValue a, IValue b)
{
	bool same = a.tag == b.tag && (a.tag != RT_TUPLE || a.u.tuple->n == b.u.tuple->n);

	for (int64_t i = 0; same && a.tag == RT_TUPLE && i < a.u.tuple->n; i++)
		same = same_kind(a.u.tuple->v[i], b.u.tuple->v[i]);
	return same;
}

static bool
is_ordered(IValue v)
{
	bool all_are = v.tag == RT_TUPLE;

	for (int64_t i = 0; all_are && i < v.u.tuple->n; i++)
		all_are = is_ordered(v.u.tuple->v[i]);
	return all_are || v.tag == RT_INT || v.tag == RT_DOUBLE || v.tag == RT_BOOL || v.tag == RT_STR ||
		v.tag == RT_TENSOR;
}

/* Raises an error if the elements cannot be sorted. If the list's type does not tell, the elements decide, so an empty
 * list can be sorted. */
static int
check_order(RtCx *cx, const RtList *l)
{
	Buf name = {0};
	bool same = true;

	for (int64_t i = 1; i < l->n && same; i++)
		same = same_kind(l->v[0], l->v[i]);
	if (!l->n || has_order(l->elem) || (same && is_ordered(l->v[0])))
		return RT_OK;
	rt_type_print(&name, l->elem);
	if (l->elem->kind != TYPE_TUPLE)
		rt_raise(cx, "Only list of Tensors, ints, floats, bools, strs, a User Defined Class that defines the "
			"__lt__ compare method or Tuples of aforementioned types can be sorted, got list of %s",
			name.at);
	else if (!same)
		rt_raise(cx, "Only values of same type can be compared. Found %s", name.at);
	else
		rt_raise(cx, "Contained elements in %s are not sortable. Only Int, Bool, Float, String, Tensor, a "
			"User Defined Class with __lt__ method defined or Tuples of aforementionted types can be "
			"sorted.", name.at);
	buf_free(&name);
	return RT_ERROR;
}

/* Sorts a list. emit_sort.c handles lists of objects with __lt__. While elements are compared the list is empty, as in
 * Python: changes by a comparison are lost. */
static int
sort_list(RtCx *cx, RtList *l, bool reverse)
{
	IValue *scratch = rt_scratch(cx, (l->n + 1) * (int64_t)sizeof *scratch);
	RtList *other = scratch ? rt_list_new(cx, l->elem, 0) : NULL;
	RtList kept = *l;
	int status;

	if (!other)
		return RT_ERROR;
	if (check_order(cx, l)) {
		rt_release(rt_ref(RT_LIST, other));
		return RT_ERROR;
	}
	l->v = other->v, l->n = 0, l->cap = other->cap;
	status = merge(cx, kept.v, scratch, kept.n, reverse);
	other->v = l->v, other->n = l->n, other->cap = l->cap;
	l->v = kept.v, l->n = kept.n, l->cap = kept.cap;
	rt_release(rt_ref(RT_LIST, other));
	return status;
}

static KERNEL_FN(sort, sort_list(cx, in[0].u.list, in[1].u.i))

static int
sorted(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *l = copy_list(cx, in[0].u.list);
	int status;

	if (!l || cx->status)
		return put_list(cx, l, out);
	if ((status = sort_list(cx, l, false))) {
		rt_release(rt_ref(RT_LIST, l));
		return status;
	}
	return put_list(cx, l, out);
}

/* Returns the first one of the smallest (or largest) elements. */
static int
extreme(RtCx *cx, const IValue *in, bool largest, IValue *out)
{
	const RtList *l = in[0].u.list;
	IValue best;
	bool is;

	if (l->n == 0)
		return rt_raise(cx, largest ? "max() arg is an empty sequence" : "min() arg is an empty sequence");
	best = l->v[0];
	for (int64_t i = 1; i < l->n; i++) {
		if (largest ? less(cx, best, l->v[i], &is) : less(cx, l->v[i], best, &is))
			return cx->status;
		if (is)
			best = l->v[i];
	}
	return put_same(best, out);
}

static KERNEL_FN(least, extreme(cx, in, false, out))
static KERNEL_FN(greatest, extreme(cx, in, true, out))

/* Returns the smaller (or larger) list. Compares element by element, then the lengths. Returns the first list if
 * neither is less, as with a NaN. */
static int
choose_list(RtCx *cx, const IValue *in, bool largest, IValue *out)
{
	const RtList *a = in[0].u.list, *b = in[1].u.list;
	bool below = a->n < b->n, above = a->n > b->n, same;

	for (int64_t i = 0; i < a->n && i < b->n; i++) {
		if (rt_equal(cx, a->v[i], b->v[i], &same))
			return cx->status;
		if (same)
			continue;
		if (less(cx, a->v[i], b->v[i], &below) || less(cx, b->v[i], a->v[i], &above))
			return cx->status;
		break;
	}
	return put_same((largest ? below : above) ? in[1] : in[0], out);
}

static KERNEL_FN(least_list, choose_list(cx, in, false, out))
static KERNEL_FN(greatest_list, choose_list(cx, in, true, out))

/* ---- sums, any, all ---------------------------------------------------------------------------------------------- */

static bool
is_true(IValue v)
{
	return v.tag == RT_DOUBLE ? v.u.f != 0 : v.tag == RT_STR ? v.u.str->n > 0 : v.u.i != 0;
}

static int
any(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *l = in[0].u.list;
	int64_t i = 0;

	(void)cx;
	while (i < l->n && !is_true(l->v[i]))
		i++;
	return put_bool(i < l->n, out);
}

static int
all(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *l = in[0].u.list;
	int64_t i = 0;

	(void)cx;
	while (i < l->n && is_true(l->v[i]))
		i++;
	return put_bool(i == l->n, out);
}

static int
sum_of_ints(RtCx *cx, const IValue *in, IValue *out)
{
	uint64_t sum = 0;

	(void)cx;
	for (int64_t i = 0; i < in[0].u.list->n; i++)
		sum += (uint64_t)in[0].u.list->v[i].u.i;
	return put_int((int64_t)sum, out);
}

int
rt_sum_float(RtCx *cx, const IValue *in, IValue *out)
{
	double sum = 0;

	(void)cx;
	for (int64_t i = 0; i < in[0].u.list->n; i++)
		sum += in[0].u.list->v[i].u.f;
	*out = rt_double(sum);
	return RT_OK;
}

int
rt_sum_complex(RtCx *cx, const IValue *in, IValue *out)
{
	double re = 0, im = 0;

	for (int64_t i = 0; i < in[0].u.list->n; i++) {
		re += in[0].u.list->v[i].u.c->re;
		im += in[0].u.list->v[i].u.c->im;
	}
	*out = rt_complex(cx, re, im);
	return out->tag == RT_COMPLEX ? RT_OK : RT_ERROR;
}

int
rt_prim_rangelist(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t n = in[0].u.i > 0 ? in[0].u.i : 0;
	RtList *l;

	if (n > LIST_MAX)
		return rt_raise(cx, "the resulting list is too long");
	l = rt_list_new(cx, &rt_type_int, n);
	for (int64_t i = 0; l && i < n; i++)
		if (rt_list_push(cx, l, rt_int(i)))
			break;
	return put_list(cx, l, out);
}

/* Returns the sizes without those that are 1: all of these, or only that of one dim. */
int
rt_prim_infer_squeeze_size(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *from = in[0].u.list;
	RtList *l = rt_list_new(cx, &rt_type_int, from->n);

	for (int64_t i = 0; l && i < from->n; i++)
		if (from->v[i].u.i != 1 && rt_list_push(cx, l, from->v[i]))
			break;
	return put_list(cx, l, out);
}

int
rt_prim_infer_squeeze_size_dim(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *l = copy_list(cx, in[0].u.list);
	int64_t dim = in[1].u.i < 0 ? in[1].u.i + in[0].u.list->n : in[1].u.i;

	if (l && dim >= 0 && dim < l->n && l->v[dim].u.i == 1)
		take_out(l, &l->v[dim]);
	return put_list(cx, l, out);
}

int
rt_prim_infer_unsqueeze_size(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *from = in[0].u.list;
	int64_t dim = in[1].u.i < 0 ? in[1].u.i + from->n + 1 : in[1].u.i;
	RtList *l = rt_list_new(cx, &rt_type_int, from->n + 1);

	for (int64_t i = 0; l && i <= from->n; i++)
		if ((i == dim && rt_list_push(cx, l, rt_int(1))) || (i < from->n && rt_list_push(cx, l, from->v[i])))
			break;
	return put_list(cx, l, out);
}

/* ---- operators that share a function ----------------------------------------------------------------------------- */

#define OP(id, schema, rule, effect, gradient)
#define SHARED(id, schema, function) KERNEL(id, function(cx, in, out))
#define TRAIT(space, name, what)
#define SIZES(id, rule)
#include "seq.def"
