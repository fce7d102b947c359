/* frontend/script/emit_index.c - x[...]: items, slices, tensor indexing; reading, assigning, op=
 *
 * A subscript of a tensor is processed item by item, with a running dimension. An int selects, which removes the
 * dimension. A slice slices it. None inserts a dimension. Tensors are collected for one aten::index at the end, whose
 * list has None for other dimensions. Items after `...` have negative dimensions. An assignment makes the same views
 * and copies the value into the last one. */
#include "emit.h"

#include <string.h>

typedef struct Place {         /* View and index tensors of a tensor subscript. */
	Value  *view;
	Value **index;         /* Index tensor of each dimension. Null if the dimension is not indexed. */
	int     n;
} Place;

typedef struct Item { const Tree *tree; Value *value; int64_t dim; } Item;

/* Sets the dimension of an item of the subscript. Returns the dimension of the next item. */
static int64_t
item_dim(Emit *e, Item *item, int64_t dim, bool from_right)
{
	const Type *t;
	Value *v;

	item->dim = dim;
	if (item->tree->kind == TREE_SLICE)
		return from_right ? dim - 1 : dim + 1;
	v = emit_expression(e, item->tree, 0);
	if (v->type->kind == TYPE_LIST) {
		NamedValue args[] = {{0, v, item->tree->at},
				     {"dtype", emit_int(e, item->tree->at, RT_i64), item->tree->at}};

		v = emit_builtin(e->graph, "aten::tensor", item->tree->at, args, 2, e->version);
	}
	item->value = v;
	t = v->type;
	if (value_is_none(v))
		return from_right ? dim : dim + 1;
	if (t->kind == TYPE_INT)
		return from_right ? dim - 1 : dim;
	if (t->kind == TYPE_TENSOR || (t->kind == TYPE_OPTIONAL && t->of[0]->kind == TYPE_TENSOR)) {
		if (from_right)
			fail(e->cx, item->tree->at, "Ellipses followed by tensor indexing is currently not supported");
		return dim + 1;
	}
	fail(e->cx, item->tree->at, "Unsupported operation: indexing tensor with unsupported index type '%s'. "
		"Only ints, slices, lists and tensors are supported", type_python(e->cx, t));
}

static Value *
bound(Emit *e, const Tree *t, Range at)
{
	return t ? emit_expression(e, t, 0) : emit_none(e, at);
}

static Value *
slice_tensor(Emit *e, Range at, Value *v, int64_t dim, const Tree *t)
{
	Value *step = t->kid[2] ? emit_expression(e, t->kid[2], 0) : emit_int(e, at, 1);

	return emit_op(e, at, "aten::slice", 5, v, emit_int(e, at, dim), bound(e, t->kid[0], at),
		       bound(e, t->kid[1], at), step);
}

static Place
index_place(Emit *e, const Tree *index, Range at, Value *v)
{
	Item *items = new(e->cx->arena, Item, index->n);
	Place p = {v, new(e->cx->arena, Value *, index->n), 0};
	int64_t dim = 0;
	int dots = index->n;

	for (int i = 0; i < index->n; i++)
		items[i].tree = index->kid[i];
	for (int i = 0; i < index->n && dots == index->n; i++)
		if (items[i].tree->kind == TREE_DOTS)
			dots = i;
		else
			dim = item_dim(e, &items[i], dim, false);
	dim = -1;
	for (int i = index->n - 1; i > dots; i--) {
		if (items[i].tree->kind == TREE_DOTS)
			fail(e->cx, items[i].tree->at, "An index can only have a single ellipsis ('...')");
		dim = item_dim(e, &items[i], dim, true);
	}
	for (int i = 0; i < index->n; i++) {
		if (i == dots)
			continue;
		if (items[i].tree->kind == TREE_SLICE)
			p.view = slice_tensor(e, at, p.view, items[i].dim, items[i].tree);
		else if (value_is_none(items[i].value))
			p.view = emit_op(e, at, "aten::unsqueeze", 2, p.view, emit_int(e, at, items[i].dim));
		else if (items[i].value->type->kind == TYPE_INT)
			p.view = emit_op(e, at, "aten::select", 3, p.view, emit_int(e, at, items[i].dim),
					 items[i].value);
		else
			p.index[items[i].dim] = items[i].value, p.n = (int)items[i].dim + 1;
	}
	return p;
}

static Value *
index_list(Emit *e, Range at, Place p)
{
	for (int i = 0; i < p.n; i++)
		if (!p.index[i])
			p.index[i] = emit_none(e, at);
	return emit_list(e, at, p.index, p.n, type_optional(e->cx, &rt_type_tensor));
}

static Value *
emit_tensor_subscript(Emit *e, const Tree *index, Range at, Value *v)
{
	Place p = index_place(e, index, at, v);

	return p.n ? emit_op(e, at, "aten::index", 2, p.view, index_list(e, at, p)) : p.view;
}

/* ---- tuples ------------------------------------------------------------------------------------------------- */

static int64_t
constant_index(Emit *e, const Tree *t, int64_t absent)
{
	int64_t i;

	if (!t)
		return absent;
	if (!value_int(emit_expression(e, t, 0), &i))
		fail(e->cx, t->at, "tuple index must be a compile time constant");
	return i;
}

/* Emits the item, at a run-time index, of a tuple whose items have one type. It is the item of a list of these. */
static Sugar *
item_of_equals(Emit *e, const Tree *t, Sugar *s, Value *index)
{
	Sugar **items;
	Value **vs;
	int n;

	sugar_unpack(e, t->at, s, -1, &items, &n);
	vs = new(e->cx->arena, Value *, n);
	for (int i = 0; i < n; i++) {
		vs[i] = sugar_as_value(e, t->at, items[i]);
		if (vs[i]->type != vs[0]->type)
			fail(e->cx, t->at, "Cannot index into a %s with a non-integer literal because we cannot "
				"resolve the output type", type_python(e->cx, sugar_as_value(e, t->at, s)->type));
	}
	return sugar_value(e,
			   emit_op(e, t->at, "aten::__getitem__", 2, emit_list(e, t->at, vs, n, vs[0]->type), index));
}

static Sugar *
tuple_item(Emit *e, const Tree *t, Sugar *s)
{
	int n = s->kind == SUGAR_TUPLE ? s->n : s->v->type->n;
	Value *index = emit_expression(e, t, 0), *in[2];
	int64_t i;

	if (index->type != &rt_type_int)
		fail(e->cx, t->at, "tuple index must be an integer");
	if (!value_int(index, &i))
		return item_of_equals(e, t, s, index);
	if (i < -n || i >= n)
		fail(e->cx, t->at, "Tuple index out of range. Tuple is length %d and index is %lld", n, (long long)i);
	i = i < 0 ? i + n : i;
	if (s->kind == SUGAR_TUPLE)
		return s->item[i];
	in[0] = s->v;
	in[1] = index;
	return sugar_value(e, emit_node(e, t->at, "prim::TupleIndex", s->v->type->of[i], 2, in));
}

static int64_t
clamp(int64_t i, int64_t n, int64_t low, int64_t high)
{
	i = i < 0 ? i + n : i;
	return i < low ? low : i > high ? high : i;
}

static Sugar *
tuple_slice(Emit *e, const Tree *t, Sugar *s)
{
	Sugar **items, *r = sugar_new(e, SUGAR_TUPLE);
	int64_t step = constant_index(e, t->kid[2], 1), begin, end;
	int n;

	if (!step)
		fail(e->cx, t->at, "slice step cannot be zero");
	sugar_unpack(e, t->at, s, -1, &items, &n);
	begin = t->kid[0] ? clamp(constant_index(e, t->kid[0], 0), n, step < 0 ? -1 : 0, step < 0 ? n - 1 : n)
		: step < 0 ? n - 1 : 0;
	end = t->kid[1] ? clamp(constant_index(e, t->kid[1], 0), n, step < 0 ? -1 : 0, step < 0 ? n - 1 : n) :
		step < 0 ? -1 : n;
	r->item = new(e->cx->arena, Sugar *, n);
	for (int64_t i = begin; step < 0 ? i > end : i < end; i += step)
		r->item[r->n++] = items[i];
	return sugar_value(e, sugar_as_value(e, t->at, r));
}

/* ---- any value -------------------------------------------------------------------------------------------------- */

static Sugar *
magic(Emit *e, Range at, Sugar *s, const char *name, NamedValue *args, int n)
{
	Sugar *f = s->kind == SUGAR_VALUE && s->v->type->kind == TYPE_CLASS ? sugar_attr_try(e, at, s, name) : 0;

	return f ? emit_apply(e, at, f, args, n) : 0;
}

static bool
is_tuple(const Sugar *s)
{
	return s->kind == SUGAR_TUPLE || (s->kind == SUGAR_VALUE && s->v->type->kind == TYPE_TUPLE);
}

/* Whether the name needs no escapes in a string. */
static bool
needs_no_escape(const char *name)
{
	for (; *name; name++)
		if (*name < ' ' || *name > '~' || *name == '"' || *name == '\\')
			return false;
	return true;
}

static bool
is_position(const char *name)
{
	return name[0] && !name[strspn(name, "0123456789")] && (name[0] != '0' || !name[1]) && strlen(name) < 18;
}

/* Emits modules[key] for a key that is known only at run time. The annotation `hint` is an interface. A generated
 * function returns the item: it compares the key with the names of all submodules of that type. It is compiled once for
 * a class and a type. */
static Sugar *
module_item(Emit *e, Range at, Value *self, const NamedValue *key, const Type *hint)
{
	const ClassInfo *info = class_info(self->type);
	const char *of = type_python(e->cx, self->type), *to = type_python(e->cx, hint);
	bool text = key->v->type->kind == TYPE_STR;
	NamedValue args[2] = {{0, self, at}, *key};
	Sugar *s = sugar_new(e, SUGAR_FUNCTION);
	Buf b = {0};

	buf_printf(&b, "def item(self: %s, key: %s) -> %s:\n", of, text ? "str" : "int", to);
	for (int i = 0; i < info->attrs.n; i++) {
		const Attribute *a = &info->attrs.at[i];
		if (a->is_constant || !needs_no_escape(a->name) || !type_is_subtype(e->cx, a->type, hint) ||
		    (!text && !is_position(a->name)))
			continue;
		buf_printf(&b, "    if key == %s%s%s:\n", text ? "\"" : "", a->name, text ? "\"" : "");
		buf_printf(&b, "        return getattr(self, \"%s\")\n", a->name);
	}
	buf_puts(&b, "    raise RuntimeError(\"Attribute not found: \" + str(key))\n");
	s->fn = unit_text_function(e->cx, e->unit,
		unit_text_name(e->cx, arena_printf(e->cx->arena, "%s as %s", of, to), text ? "item_by_str" :
		"item_by_int"), arena_printf(e->cx->arena, "%s", b.at));
	buf_free(&b);
	return emit_apply(e, at, s, args, 2);
}

Sugar *
emit_subscript(Emit *e, const Tree *t, const Type *hint)
{
	Sugar *s = emit_sugar(e, t->kid[0], 0), *r;
	const Tree *index = t->kid[1], *first = index->n ? index->kid[0] : 0;
	NamedValue arg;
	Value *v, *step;

	RT_ASSERT(t->kind == TREE_SUBSCRIPT);
	if (!first)
		fail(e->cx, t->at, "a subscript needs an index");
	if (s->kind != SUGAR_VALUE && s->kind != SUGAR_TUPLE && s->kind != SUGAR_RANGE)
		fail(e->cx, t->at, "'%s' object is not subscriptable", sugar_kind(e, s));
	if (is_tuple(s) && index->n == 1)
		return first->kind == TREE_SLICE ? tuple_slice(e, first, s) : tuple_item(e, first, s);
	v = sugar_as_value(e, t->at, s);
	if (v->type->kind == TYPE_TENSOR)
		return sugar_value(e, emit_tensor_subscript(e, index, t->at, v));
	if (index->n != 1)
		fail(e->cx, t->at, "Only tensors support multiple indices, found %s", type_python(e->cx, v->type));
	if (first->kind == TREE_SLICE) {
		step = first->kid[2] ? emit_expression(e, first->kid[2], 0) : emit_int(e, t->at, 1);
		return sugar_value(e, emit_op(e, t->at, "aten::slice", 4, v, bound(e, first->kid[0], t->at),
			bound(e, first->kid[1], t->at), step));
	}
	arg = (NamedValue){0, emit_expression(e, first, 0), first->at};
	if ((r = magic(e, t->at, s, "__getitem__", &arg, 1)))
		return r;
	if (v->type->kind == TYPE_CLASS && hint && class_info(v->type)->module &&
	    (arg.v->type->kind == TYPE_STR || arg.v->type->kind == TYPE_INT))
		return module_item(e, t->at, v, &arg, hint);
	if (v->type->kind != TYPE_LIST && v->type->kind != TYPE_DICT && v->type->kind != TYPE_STR)
		fail(e->cx, t->at, "'%s' object is not subscriptable", type_python(e->cx, v->type));
	return sugar_value(e, emit_op(e, t->at, "aten::__getitem__", 2, v, arg.v));
}

/* Converts a number that is stored into a tensor to a tensor of its dtype. */
static Value *
as_tensor(Emit *e, Range at, Value *v, Value *like)
{
	NamedValue args[3];
	RtKind k = v->type->kind;

	if (k != TYPE_INT && k != TYPE_FLOAT && k != TYPE_BOOL && k != TYPE_COMPLEX && k != TYPE_NUMBER)
		return v;
	args[0] = (NamedValue){0, v, at};
	args[1] = (NamedValue){"dtype", emit_op(e, at, "prim::dtype", 1, like), at};
	args[2] = (NamedValue){"device", emit_op(e, at, "prim::device", 1, like), at};
	return emit_builtin(e->graph, "aten::tensor", at, args, 3, e->version);
}

static void
store_into(Emit *e, Range at, Place p, Value *v)
{
	Value *list;

	if (!p.n) {
		emit_op(e, at, "aten::copy_", 2, p.view, as_tensor(e, at, v, p.view));
		return;
	}
	list = index_list(e, at, p);
	v = as_tensor(e, at, v, p.view);
	emit_op(e, at, "aten::index_put_", 4, p.view, list, v, graph_constant(e->graph, rt_bool(false), at));
}

/* Emits x[...] op= right on a tensor. */
static void
update_tensor(Emit *e, const Tree *t, const Tree *index, Value *v)
{
	Place p = index_place(e, index, t->at, v);
	Value *by = emit_expression(e, t->kid[1], 0), *old;

	if (!p.n) {
		old = emit_inplace(e, t->at, t->op, p.view, by);
		if (t->op == TREE_ADD || t->op == TREE_SUB || t->op == TREE_MUL || t->op == TREE_DIV ||
		    t->op == TREE_MOD)
			return;
		emit_op(e, t->at, "aten::copy_", 2, p.view, old);
		return;
	}
	old = emit_op(e, t->at, "aten::index", 2, p.view, index_list(e, t->at, p));
	store_into(e, t->at, p, emit_inplace(e, t->at, t->op, old, by));
}

/* Emits x[i] = s or x[i] op= v. t: the tree x[i] if s is given. If s is null, the augmented assignment. */
void
emit_set_subscript(Emit *e, const Tree *t, Sugar *s, Range at)
{
	const Tree *target = s ? t : t->kid[0], *index = target->kid[1];
	Sugar *into = emit_sugar(e, target->kid[0], 0);
	Value *v = sugar_as_value(e, target->at, into), *old, *by;
	NamedValue args[2];

	if (v->type->kind == TYPE_TENSOR) {
		if (s)
			store_into(e, at, index_place(e, index, at, v), sugar_as_value(e, at, s));
		else
			update_tensor(e, t, index, v);
		return;
	}
	if (s ? v->type->kind == TYPE_TUPLE
	      : v->type->kind != TYPE_CLASS && v->type->kind != TYPE_LIST && v->type->kind != TYPE_DICT)
		fail(e->cx, target->at,
		     s ? "%s does not support subscripted assignment" : "%s does not support augmented assignment.",
		     type_python(e->cx, v->type));
	if (index->n != 1 || index->kid[0]->kind == TREE_SLICE)
		fail(e->cx, target->at,
		     "Sliced expression not yet supported for subscripted list assignment. File a bug if you "
		     "want this");
	args[0] = (NamedValue){0, emit_expression(e, index->kid[0], 0), index->at};
	if (!s) {
		old = sugar_as_value(e, at, emit_subscript(e, target, 0));
		by = emit_expression(e, t->kid[1], old->type);
		old = (v->type->kind == TYPE_DICT ? emit_updated : emit_inplace)(e, at, t->op, old, by);
		args[1] = (NamedValue){0, old, at};
	} else {
		args[1] = (NamedValue){0, sugar_as_value(e, at, s), at};
	}
	if (magic(e, at, into, "__setitem__", args, 2))
		return;
	if (v->type->kind == TYPE_CLASS)
		fail(e->cx, target->at, "Class does not define __setitem__");
	emit_op(e, at, "aten::_set_item", 3, v, args[0].v, args[1].v);
}

void
emit_delete_item(Emit *e, const Tree *target)
{
	Sugar *from = emit_sugar(e, target->kid[0], 0);
	const Tree *index = target->kid[1]->kid[0];
	NamedValue key = {0, emit_expression(e, index, 0), index->at};
	Value *v;

	RT_ASSERT(target->kind == TREE_SUBSCRIPT);
	if (magic(e, target->at, from, "__delitem__", &key, 1))
		return;
	v = sugar_as_value(e, target->at, from);
	if (v->type->kind == TYPE_CLASS)
		fail(e->cx, target->at, "Class does not define __delitem__");
	emit_op(e, target->at, "aten::Delete", 2, v, key.v);
}
