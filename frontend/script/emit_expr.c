/* frontend/script/emit_expr.c - expressions -> values
 *
 * emit_sugar returns the meaning of any expression. emit_expression requires a value of the graph. emit_condition
 * returns a truth value and the types that it narrows. `hint` is the expected type, or null. Empty lists, list and dict
 * literals and tolist() take their type from it. A hint causes no conversions. */
#include "emit.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- nodes ------------------------------------------------------------------------------------------- */

Value *
emit_node(Emit *e, Range at, const char *kind, const Type *out, int n, Value *const *in)
{
	Node *node = graph_emit(e->graph, kind, at, n, in, 1);

	node->op = op_first(e->cx, kind);
	node->out[0]->type = out;
	return node->out[0];
}

Value *
emit_op(Emit *e, Range at, const char *op, int n, ...)
{
	NamedValue args[EMIT_OP_MOST];
	va_list ap;

	RT_ASSERT(n >= 0 && n <= EMIT_OP_MOST);
	va_start(ap, n);
	for (int i = 0; i < n; i++)
		args[i] = (NamedValue){0, va_arg(ap, Value *), at};
	va_end(ap);
	return emit_builtin(e->graph, op, at, args, n, e->version);
}

Value *
emit_int(Emit *e, Range at, int64_t i)
{
	return graph_constant(e->graph, rt_int(i), at);
}

Value *
emit_none(Emit *e, Range at)
{
	return graph_constant(e->graph, rt_none(), at);
}

Value *
emit_str(Emit *e, Range at, const char *s, int64_t n)
{
	return graph_constant(e->graph, value_str(e->cx, s, n), at);
}

Value *
emit_cast(Emit *e, Range at, Value *v, const Type *t)
{
	return emit_node(e, at, "prim::unchecked_cast", t, 1, &v);
}

Value *
emit_convert(Emit *e, Range at, Value *v, const Type *t, bool implicit)
{
	if (v->type == t || type_is_subtype(e->cx, v->type, t))
		return v;
	return convert_implicitly(e->graph, v, t, implicit, at);
}

/* ---- operators ------------------------------------------------------------------------------------------- */

static const struct {
	TreeKind kind;
	const char *op, *magic;
} operators[] = {
	{TREE_ADD, "aten::add", "__add__"}, {TREE_SUB, "aten::sub", "__sub__"}, {TREE_MUL, "aten::mul", "__mul__"},
	{TREE_DIV, "aten::div", "__truediv__"}, {TREE_FLOORDIV, "aten::floordiv", "__floordiv__"},
	{TREE_MOD, "aten::remainder", "__mod__"}, {TREE_MATMUL, "aten::matmul", "__matmul__"},
	{TREE_POW, "aten::pow", "__pow__"}, {TREE_BIT_OR, "aten::__or__", "__or__"},
	{TREE_BIT_XOR, "aten::__xor__", "__xor__"}, {TREE_BIT_AND, "aten::__and__", "__and__"},
	{TREE_SHL, "aten::__lshift__", "__lshift__"}, {TREE_SHR, "aten::__rshift__", "__rshift__"},
	{TREE_LT, "aten::lt", "__lt__"}, {TREE_GT, "aten::gt", "__gt__"}, {TREE_LE, "aten::le", "__le__"},
	{TREE_GE, "aten::ge", "__ge__"}, {TREE_EQ, "aten::eq", "__eq__"}, {TREE_NE, "aten::ne", "__ne__"},
	{TREE_NEG, "aten::neg", "__neg__"}, {TREE_INVERT, "aten::bitwise_not", "__invert__"},
};

const char *
operator_kind(TreeKind kind, const char **magic)
{
	*magic = 0;
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		if (operators[i].kind == kind) {
			*magic = operators[i].magic;
			return operators[i].op;
		}
	return 0;
}

/* Calls the method of a class that implements an operator. Null if the class has none. */
static Value *
magic_method(Emit *e, Range at, Value *self, const char *method, NamedValue *args, int n)
{
	Sugar *f;

	if (self->type->kind != TYPE_CLASS)
		return 0;
	f = sugar_attr_try(e, at, sugar_value(e, self), method);
	return f ? sugar_as_value(e, at, emit_apply(e, at, f, args, n)) : 0;
}

/* Whether t is a number plus an imaginary literal, which the printer writes for a complex constant. */
static bool
complex_literal(const Tree *t, double *re, double *im)
{
	const Tree *a, *b;
	double sign = 1, real = 1;

	if (t->kind != TREE_ADD && t->kind != TREE_SUB)
		return false;
	a = t->kid[0], b = t->kid[1];
	if (b->kind == TREE_NEG)
		b = b->kid[0], sign = -1;
	if (a->kind == TREE_NEG)
		a = a->kid[0], real = -1;
	if (b->kind == TREE_IMAG)
		*im = b->num.f;
	else if (b->kind == TREE_VAR && !strcmp(b->kid[0]->text, "infj"))
		*im = (double)INFINITY;
	else if (b->kind == TREE_VAR && !strcmp(b->kid[0]->text, "nanj"))
		*im = (double)NAN;
	else
		return false;
	if (a->kind == TREE_FLOAT)
		*re = a->num.f;
	else if (a->kind == TREE_INT)
		*re = (double)a->num.i;
	else if (a->kind == TREE_VAR && !strcmp(a->kid[0]->text, "inf"))
		*re = (double)INFINITY;
	else if (a->kind == TREE_VAR && !strcmp(a->kid[0]->text, "nan"))
		*re = (double)NAN;
	else
		return false;
	*re *= real;
	*im *= t->kind == TREE_SUB ? -sign : sign;
	return true;
}

/* Joins two tuples: (a, b) + (c,). */
static Value *
join_tuples(Emit *e, Range at, Value *a, Value *b)
{
	Sugar *all = sugar_new(e, SUGAR_TUPLE), **of[2];
	int n[2];

	sugar_unpack(e, at, sugar_value(e, a), -1, &of[0], &n[0]);
	sugar_unpack(e, at, sugar_value(e, b), -1, &of[1], &n[1]);
	all->item = new(e->cx->arena, Sugar *, n[0] + n[1]);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < n[i]; k++)
			all->item[all->n++] = of[i][k];
	return sugar_as_value(e, at, all);
}

static Value *
operator_value(Emit *e, const Tree *t)
{
	const char *magic, *op = operator_kind(t->kind, &magic);
	NamedValue args[2];
	double re, im;
	Value *v;

	if (complex_literal(t, &re, &im))
		return graph_constant(e->graph, value_complex(e->cx, re, im), t->at);
	for (int i = 0; i < t->n; i++)
		args[i] = (NamedValue){0, emit_expression(e, t->kid[i], 0), t->kid[i]->at};
	if ((v = magic_method(e, t->at, args[0].v, magic, args + 1, t->n - 1)))
		return v;
	if (t->kind == TREE_ADD && args[0].v->type->kind == TYPE_TUPLE && args[1].v->type->kind == TYPE_TUPLE)
		return join_tuples(e, t->at, args[0].v, args[1].v);
	if (t->kind == TREE_MOD && args[0].v->type == &rt_type_str)
		op = "aten::percentFormat";
	return emit_builtin(e->graph, op, t->at, args, t->n, e->version);
}

static Value *
contains(Emit *e, const Tree *t)
{
	Value *elem = emit_expression(e, t->kid[0], 0), *set = emit_expression(e, t->kid[1], 0), *v;
	NamedValue arg = {0, elem, t->kid[0]->at};

	v = magic_method(e, t->at, set, "__contains__", &arg, 1);
	return v ? v : emit_op(e, t->at, "aten::__contains__", 2, set, elem);
}

/* ---- conditions --------------------------------------------------------------------------------------------- */

Value *
emit_bool(Emit *e, Range at, Value *v)
{
	RtKind kind = v->type->kind;
	Value *b;

	if (kind == TYPE_BOOL)
		return v;
	if ((b = magic_method(e, at, v, "__bool__", 0, 0)))
		return emit_bool(e, at, b);
	if (kind == TYPE_LIST || kind == TYPE_DICT || kind == TYPE_STR)
		return emit_op(e, at, "aten::ne", 2, emit_op(e, at, "aten::len", 1, v), emit_int(e, at, 0));
	if (kind == TYPE_INT || kind == TYPE_FLOAT || kind == TYPE_TENSOR)
		return emit_op(e, at, "aten::Bool", 1, v);
	fail(e->cx, at, "Could not cast value of type %s to bool", type_python(e->cx, v->type));
}

/* Emits an If whose branches are one expression each, and returns its value. */
static Value *
emit_choice(Emit *e, Range at, Cond c, const Tree *yes, const Tree *no, const Type *hint)
{
	Node *n = graph_emit(e->graph, "prim::If", at, 1, &c.value, 0);
	const Type *t;
	Value *out;

	for (int i = 0; i < 2; i++) {
		scope_push(e, node_add_block(n));
		refine_apply(e, at, i ? c.no : c.yes);
		block_add_output(n->sub[i], emit_expression(e, i ? no : yes, hint));
		scope_pop(e);
	}
	t = type_unify(e->cx, n->sub[0]->ret->in[0]->type, n->sub[1]->ret->in[0]->type);
	if (hint && type_is_subtype(e->cx, n->sub[0]->ret->in[0]->type, hint)
	    && type_is_subtype(e->cx, n->sub[1]->ret->in[0]->type, hint))
		t = hint;
	if (!t)
		fail(e->cx, at, "if-expression has type %s in the true branch but type %s in the false branch",
			type_python(e->cx, n->sub[0]->ret->in[0]->type),
			type_python(e->cx, n->sub[1]->ret->in[0]->type));
	out = node_add_output(n, t);
	return out;
}

static Value *
ternary(Emit *e, const Tree *t, const Type *hint)
{
	Cond c = emit_condition(e, t->kid[0]);
	Value *v;

	if (c.known < 0)
		return emit_choice(e, t->at, c, t->kid[1], t->kid[2], hint);
	scope_push(e, e->scope->block);
	refine_apply(e, t->at, c.known ? c.yes : c.no);
	v = emit_expression(e, c.known ? t->kid[1] : t->kid[2], hint);
	scope_pop(e);
	return v;
}

/* Emits `a and b` as `b if a else False`, and `a or b` as `True if a else b`. */
static Cond
short_circuit(Emit *e, const Tree *t)
{
	bool is_or = t->kind == TREE_OR;
	Cond a = emit_condition(e, t->kid[0]), b, c;
	Node *n;
	Block *go, *stop;

	if (a.known >= 0)
		return a.known == is_or ? a : emit_condition(e, t->kid[1]);
	n = graph_emit(e->graph, "prim::If", t->at, 1, &a.value, 1);
	n->out[0]->type = &rt_type_bool;
	node_add_block(n);
	node_add_block(n);
	stop = n->sub[!is_or];
	go = n->sub[is_or];
	scope_push(e, stop);
	block_add_output(stop, graph_constant(e->graph, rt_bool(is_or), t->at));
	scope_pop(e);
	scope_push(e, go);
	refine_apply(e, t->at, is_or ? a.no : a.yes);
	b = emit_condition(e, t->kid[1]);
	block_add_output(go, b.value);
	scope_pop(e);
	c = cond_of_value(n->out[0]);
	if (b.known == is_or)
		return cond_static(e, t->at, is_or);
	c.yes = is_or ? refine_either(e, a.yes, b.yes) : refine_both(e, a.yes, b.yes);
	c.no = is_or ? refine_both(e, a.no, b.no) : refine_either(e, a.no, b.no);
	return c;
}

/* Whether t is a call of torch.jit.isinstance, or of isinstance if no variable hides it. */
static bool
is_isinstance(Emit *e, const Tree *t)
{
	static const char name[] = "isinstance";
	const Tree *f = t->kind == TREE_CALL ? t->kid[0] : 0;
	Sugar *s;

	if (!f)
		return false;
	if (f->kind == TREE_VAR)
		return !strcmp(f->kid[0]->text, name) && !scope_find(e, name);
	if (f->kind != TREE_ATTR || strcmp(f->kid[1]->text, name) != 0)
		return false;
	s = emit_sugar(e, f, 0);
	return s->kind == SUGAR_FORM && !strcmp(s->name, name);
}

static Cond
condition(Emit *e, const Tree *t)
{
	IValue known;
	Value *v;

	switch (t->kind) {
	case TREE_NOT:
		return cond_not(e, t->at, emit_condition(e, t->kid[0]));
	case TREE_AND:
	case TREE_OR:
		return short_circuit(e, t);
	case TREE_IS:
	case TREE_IS_NOT:
		return refine_is_none(e, t, t->kind == TREE_IS);
	default:
		break;
	}
	if (is_isinstance(e, t))
		return refine_isinstance(e, t);
	v = emit_bool(e, t->at, emit_expression(e, t, 0));
	if (value_constant(v, &known) && known.tag == RT_BOOL)
		return (Cond){v, known.u.i != 0, 0, 0};
	return cond_of_value(v);
}

Cond
emit_condition(Emit *e, const Tree *t)
{
	Cond c;

	cx_enter(e->cx, t->at);
	c = condition(e, t);
	cx_leave(e->cx);
	return c;
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

/* Returns the values of a list of trees. A starred tree yields its elements. */
static Value **
values_of(Emit *e, const Tree *list, const Type *hint, const Type *const *hints, int *n)
{
	Vec(Value *) vs = {0};
	Sugar **items;
	int nitem;

	for (int i = 0; i < list->n; i++) {
		const Tree *t = list->kid[i];
		if (t->kind == TREE_STARRED) {
			sugar_unpack(e, t->at, emit_sugar(e, t->kid[0], 0), -1, &items, &nitem);
			for (int k = 0; k < nitem; k++)
				vec_push(e->cx->arena, &vs, sugar_as_value(e, t->at, items[k]));
			continue;
		}
		vec_push(e->cx->arena, &vs, emit_expression(e, t, hints ? hints[i] : hint));
	}
	*n = vs.n;
	return vs.at;
}

static Value *
tuple_value(Emit *e, const Tree *t, const Type *hint)
{
	const Tree *list = t->kid[0];
	bool fits = hint && hint->kind == TYPE_TUPLE && hint->n == list->n;
	int n;
	Value **vs = values_of(e, list, 0, fits ? hint->of : 0, &n);
	const Type **types = new(e->cx->arena, const Type *, n);

	for (int i = 0; i < n; i++)
		types[i] = vs[i]->type;
	return emit_node(e, t->at, "prim::TupleConstruct", type_tuple(e->cx, types, n), n, vs);
}

Value *
emit_list(Emit *e, Range at, Value **vs, int n, const Type *elem)
{
	return emit_node(e, at, "prim::ListConstruct", type_list(e->cx, elem), n, vs);
}

/* Returns the type for a literal of that kind: the hint, or the only member of the kind in a hinted Optional or Union.
 * Null if there is none. */
static const Type *
hint_of_kind(Emit *e, Range at, const Type *hint, RtKind kind)
{
	const char *name = kind == TYPE_LIST ? "List" : "Dict";
	const Type *found = 0;
	int n = 0;

	if (!hint || hint->kind == kind || hint->kind == TYPE_ANY)
		return hint && hint->kind == kind ? hint : 0;
	if (hint->kind == TYPE_OPTIONAL || hint->kind == TYPE_UNION)
		for (int i = 0; i < hint->n; i++)
			if (hint->of[i]->kind == kind) {
				found = hint->of[i];
				n++;
			}
	if (!n)
		fail(e->cx, at, hint->kind == TYPE_UNION ? "Expected an Union type annotation with an inner %s type, "
			"but got %s" : "Expected an annotation of type %s but got %s", name, type_python(e->cx, hint));
	return n == 1 ? found : 0;
}

/* The elements of a list, or the keys or values of a dict, which alternate in the array. */
typedef struct Elements { Value **at; int n, step; } Elements;

/* Returns the common type of the elements. Elements of different types have a Union. */
static const Type *
common_type(Emit *e, Elements of)
{
	const Type *t = 0, *both;

	for (int i = 0; i < of.n; i++) {
		const Type *elem = of.at[i * of.step]->type;

		both = t ? type_unify(e->cx, t, elem) : type_unshaped(e->cx, elem);
		t = both ? both : type_union(e->cx, (const Type *[]){t, elem}, 2);
	}
	return t;
}

/* Converts the elements to t. One that does not fit is an error, whose message begins with `misfit`. */
static void
convert_all(Emit *e, Range at, Elements of, const Type *t, const char *misfit)
{
	Value *v;

	for (int i = 0; i < of.n; i++) {
		v = emit_convert(e, at, of.at[i * of.step], t, false);
		if (!v || !type_is_subtype(e->cx, v->type, t))
			fail(e->cx, at, "%s%s", misfit, type_python(e->cx, common_type(e, of)));
		of.at[i * of.step] = v;
	}
}

/* Returns the first part of the message about elements of another type. */
static const char *
list_misfit(Emit *e, const Type *list)
{
	return arena_printf(e->cx->arena, "List type annotation `%s` did not match the types of the given list "
		"elements, which were unified to ", type_python(e->cx, list));
}

/* Checks a literal of type t against a Union that names several types of its kind: one of them must be t. */
static void
check_union(Emit *e, Range at, const Type *hint, const Type *t, const char *misfit, const char *unified)
{
	const char *held = "", *join = "";

	if (!hint || hint->kind != TYPE_UNION)
		return;
	for (int i = 0; i < hint->n; i++)
		if (hint->of[i]->kind == t->kind) {
			if (hint->of[i] == t)
				return;
			held = arena_printf(e->cx->arena, "%s%s%s", held, join, type_python(e->cx, hint->of[i]));
			join = " or ";
		}
	fail(e->cx, at, "Union type annotation `%s` can hold %s, but none of those %s, which were unified to %s",
		type_python(e->cx, hint), held, misfit, unified);
}

static const char empty_union[] = "Cannot assign an empty %s to a variable annotated to be type %s because there are "
	"multiple possible %s type candidates in the Union annotation";

/* Makes a list of these values. A `[]` without a hint is marked as bare until the graph is finished: as an argument it
 * becomes a list of any type. */
Value *
emit_unify_list(Emit *e, Range at, Value **vs, int n, const Type *hint)
{
	const Type *list = hint_of_kind(e, at, hint, TYPE_LIST), *elem;
	const Elements all = { vs, n, 1 };
	Value *v;

	elem = list ? list->of[0] : n ? common_type(e, all) : &rt_type_tensor;
	convert_all(e, at, all, elem, list_misfit(e, list ? list : elem));
	v = emit_list(e, at, vs, n, elem);
	if (n && !list)
		check_union(e, at, hint, v->type, "types match the types of the given list elements",
			    type_python(e->cx, elem));
	if (!n && !list && hint && hint->kind == TYPE_UNION)
		fail(e->cx, at, empty_union, "list", type_python(e->cx, hint), "List");
	if (!n && !list)
		node_set_int(v->node, "bare", 1);
	return v;
}

static Value *
dict_value(Emit *e, const Tree *t, const Type *hint)
{
	const Tree *keys = t->kid[0], *values = t->kid[1];
	const Type *dict = hint_of_kind(e, t->at, hint, TYPE_DICT), *k, *v;
	int n = 2 * keys->n;
	Value **vs = new(e->cx->arena, Value *, n + 1);
	const Elements all_keys = { vs, keys->n, 2 }, all_values = { vs + 1, keys->n, 2 };

	for (int i = 0; i < keys->n; i++) {
		vs[2 * i] = emit_expression(e, keys->kid[i], dict ? dict->of[0] : 0);
		vs[2 * i + 1] = emit_expression(e, values->kid[i], dict ? dict->of[1] : 0);
	}
	for (int i = 2; i < n && !dict; i += 2)
		if (type_unshaped(e->cx, vs[i]->type) != type_unshaped(e->cx, vs[0]->type))
			fail(e->cx, t->at,
			     "Dict keys must contain only a single type. Expected: %s but found %s instead",
			     type_python(e->cx, vs[0]->type), type_python(e->cx, vs[i]->type));
	k = dict ? dict->of[0] : n ? common_type(e, all_keys) : &rt_type_str;
	v = dict ? dict->of[1] : n ? common_type(e, all_values) : &rt_type_tensor;
	if (k->kind == TYPE_TUPLE || k->kind == TYPE_LIST || k->kind == TYPE_DICT)
		fail(e->cx, t->at, "Cannot create dict for key type '%s', only int, float, complex, Tensor, device and "
			"string keys are supported", type_print(e->cx, k));
	if (n && !dict)
		check_union(e, t->at, hint, type_dict(e->cx, k, v),
			    "dict types can hold the types of the given keys and values",
			    type_python(e->cx, type_dict(e->cx, k, v)));
	if (!n && !dict && hint && hint->kind == TYPE_UNION)
		fail(e->cx, t->at, empty_union, "dict", type_python(e->cx, hint), "Dict");
	dict = type_dict(e->cx, k, v);
	convert_all(e, t->at, all_keys, k, arena_printf(e->cx->arena, "Type annotation was inferred to be %sbut the "
		"type of keys given by the dict literal is ", type_python(e->cx, dict)));
	convert_all(e, t->at, all_values, v, arena_printf(e->cx->arena, "Type annotation was inferred to be `%s`, but "
		"the type of values given by the dict literal is ", type_python(e->cx, dict)));
	return emit_node(e, t->at, "prim::DictConstruct", dict, n, vs);
}

/* ---- comprehensions ---------------------------------------------------------------------------------------------- */

typedef struct Comp { const Tree *tree; Value *into; const Type *hint; } Comp;

/* Emits into[k] = v, where `into` was made with the types of its entries. */
void
emit_set_item(Emit *e, Range at, Value *into, Value *k, Value *v)
{
	const Type *dict = into->type;
	const bool key = type_is_subtype(e->cx, k->type, dict->of[0]),
		   val = type_is_subtype(e->cx, v->type, dict->of[1]);
	const char *want = type_python(e->cx, dict), *bad = "";

	RT_ASSERT(into->type->kind == TYPE_DICT);
	if (!key)
		bad = arena_printf(e->cx->arena,
				   "Dict type annotation `%s` did not match the type of an actual key type `%s`\n",
				   want, type_python(e->cx, k->type));
	if (!val)
		bad = arena_printf(e->cx->arena,
				   "%sDict type annotation `%s` did not match the type of an actual value type `%s`\n",
				   bad, want, type_python(e->cx, v->type));
	if (!key || !val)
		fail(e->cx, at, "%s", bad);
	emit_op(e, at, "aten::_set_item", 3, into, k, v);
}

static void
dict_comp_body(Emit *e, void *arg)
{
	Comp *c = arg;
	Value *k = emit_expression(e, c->tree->kid[0], c->hint ? c->hint->of[0] : 0);
	Value *v = emit_expression(e, c->tree->kid[1], c->hint ? c->hint->of[1] : 0);

	if (!c->hint)
		c->into->type = c->hint = type_dict(e->cx, type_unshaped(e->cx, k->type),
						    type_unshaped(e->cx, v->type));
	emit_set_item(e, c->tree->at, c->into, k, v);
}

static void
list_comp_body(Emit *e, void *arg)
{
	Comp *c = arg;
	Value *v = emit_expression(e, c->tree->kid[0], c->hint ? c->hint->of[0] : 0);

	if (!c->hint)
		c->into->type = c->hint = type_list(e->cx, type_unshaped(e->cx, v->type));
	convert_all(e, c->tree->at, (Elements){ &v, 1, 1 }, c->hint->of[0], list_misfit(e, c->hint));
	emit_op(e, c->tree->at, "aten::append", 2, c->into, v);
}

static Sugar *
emit_comprehension(Emit *e, const Tree *t, const Type *hint)
{
	bool dict = t->kind == TREE_DICT_COMP;
	const Tree *target = t->kid[dict ? 2 : 1];
	Comp c = {t, 0, hint_of_kind(e, t->at, hint, dict ? TYPE_DICT : TYPE_LIST)};
	Sugar *over = sugar_iterable(e, t->at, emit_sugar(e, t->kid[dict ? 3 : 2], 0));
	const Type *unknown = dict ? type_dict(e->cx, &rt_type_str, &rt_type_tensor) : &rt_type_list_tensor;

	RT_ASSERT(t->kind == TREE_DICT_COMP || t->kind == TREE_LIST_COMP);
	c.into = emit_node(e, t->at, dict ? "prim::DictConstruct" : "prim::ListConstruct", c.hint ? c.hint : unknown, 0,
			   0);
	emit_loop_over(e, t->at, target, over, dict ? dict_comp_body : list_comp_body, &c);
	return sugar_value(e, c.into);
}

/* ---- any expression ---------------------------------------------------------------------------------------------- */

static Value *
literal(Emit *e, const Tree *t)
{
	switch (t->kind) {
	case TREE_INT:
		return emit_int(e, t->at, t->num.i);
	case TREE_FLOAT:
		return graph_constant(e->graph, rt_double(t->num.f), t->at);
	case TREE_IMAG:
		return graph_constant(e->graph, value_complex(e->cx, 0, t->num.f), t->at);
	case TREE_STRING:
		return emit_str(e, t->at, t->text, t->len);
	case TREE_TRUE:
	case TREE_FALSE:
		return graph_constant(e->graph, rt_bool(t->kind == TREE_TRUE), t->at);
	case TREE_NONE:
		return emit_none(e, t->at);
	default:
		return 0;
	}
}

static Value *
value(Emit *e, const Tree *t, const Type *hint)
{
	const Type *list;
	const char *magic;
	int n;
	Value **vs, *v = literal(e, t);

	if (v)
		return v;
	if (operator_kind(t->kind, &magic))
		return operator_value(e, t);
	switch (t->kind) {
	case TREE_AND:
	case TREE_OR:
	case TREE_NOT:
	case TREE_IS:
	case TREE_IS_NOT:
		return emit_condition(e, t).value;
	case TREE_IN:
		return contains(e, t);
	case TREE_NOT_IN:
		return emit_op(e, t->at, "aten::__not__", 1, contains(e, t));
	case TREE_TERNARY:
		return ternary(e, t, hint);
	case TREE_TUPLE:
		return tuple_value(e, t, hint);
	case TREE_LIST_LITERAL:
		list = hint_of_kind(e, t->at, hint, TYPE_LIST);
		vs = values_of(e, t->kid[0], list ? list->of[0] : 0, 0, &n);
		return emit_unify_list(e, t->at, vs, n, hint);
	case TREE_DICT_LITERAL:
		return dict_value(e, t, hint);
	case TREE_DOTS:
		fail(e->cx, t->at, "ellipsis is only allowed in a subscript");
	case TREE_STARRED:
		fail(e->cx, t->at, "Unexpected starred expansion. File a bug report");
	default:
		return sugar_as_value(e, t->at, emit_sugar(e, t, hint));
	}
}

Value *
emit_expression(Emit *e, const Tree *t, const Type *hint)
{
	Value *v;

	cx_enter(e->cx, t->at);
	v = value(e, t, hint);
	cx_leave(e->cx);
	return v;
}

Sugar *
emit_sugar(Emit *e, const Tree *t, const Type *hint)
{
	Sugar *s;

	switch (t->kind) {
	case TREE_VAR:
		return scope_load(e, t->at, t->kid[0]->text);
	case TREE_ATTR:
		cx_enter(e->cx, t->at);
		s = sugar_attr(e, t->at, emit_sugar(e, t->kid[0], 0), t->kid[1]->text);
		break;
	case TREE_CALL:
		cx_enter(e->cx, t->at);
		s = emit_call(e, t, hint);
		break;
	case TREE_SUBSCRIPT:
		cx_enter(e->cx, t->at);
		s = emit_subscript(e, t, hint);
		break;
	case TREE_LIST_COMP:
	case TREE_DICT_COMP:
		cx_enter(e->cx, t->at);
		s = emit_comprehension(e, t, hint);
		break;
	default:
		return sugar_value(e, emit_expression(e, t, hint));
	}
	cx_leave(e->cx);
	return s;
}
