/* frontend/script/emit_call.c - calls: functions, methods, constructors, operators, special forms
 *
 * A special form (annotate, isinstance, print, range ...) gets its call as a tree and decides what to evaluate. All
 * other callees get their arguments as values. Calls of the archive's own functions stay calls in the graph:
 * prim::CallFunction and prim::CallMethod with the Function as attribute. opt inlines them.
 */
#include "emit.h"

#include <string.h>

/* ---- arguments --------------------------------------------------------------------------------------- */

static int
emit_arguments(Emit *e, const Tree *call, int skip, NamedValue **out)
{
	const Tree *args = call->kid[1], *words = call->kid[2];
	Vec(NamedValue) vs = {0};
	Sugar **items;
	int n;

	RT_ASSERT(call->kind == TREE_CALL && skip >= 0 && skip <= args->n);
	for (int i = skip; i < args->n; i++) {
		const Tree *t = args->kid[i];
		if (t->kind != TREE_STARRED) {
			vec_push(e->cx->arena, &vs, ((NamedValue){0, emit_expression(e, t, 0), t->at}));
			continue;
		}
		sugar_unpack(e, t->at, emit_sugar(e, t->kid[0], 0), -1, &items, &n);
		for (int k = 0; k < n; k++)
			vec_push(e->cx->arena, &vs, ((NamedValue){0, sugar_as_value(e, t->at, items[k]), t->at}));
	}
	for (int i = 0; i < words->n; i++)
		vec_push(e->cx->arena, &vs,
			 ((NamedValue){ words->kid[i]->kid[0]->text, emit_expression(e, words->kid[i]->kid[1], 0),
					words->kid[i]->at }));
	*out = vs.at;
	return vs.n;
}

static Sugar *
none(Emit *e, Range at)
{
	return sugar_value(e, emit_none(e, at));
}

/* Returns the arguments in the order of the schema, or fails with the reason. */
static Value **
arguments_of(Emit *e, Range at, const Schema *s, Value *self, NamedValue *args, int n)
{
	NamedValue *all = new(e->cx->arena, NamedValue, n + 1);
	const CallSite site = { e->graph, at, all, n + (self != 0) };
	Value **vs;
	Buf why = {0};
	char *text;

	if (self)
		all[0] = (NamedValue){ .name = s->nargs && strcmp(s->args[0].name, "self") == 0 ? "self" : 0, .v = self,
				       .at = at };
	for (int i = 0; i < n; i++)
		all[(self != 0) + i] = args[i];
	vs = match_schema(&site, s, true, &why);

	if (vs)
		return vs;
	while (why.n && why.at[why.n - 1] == '\n')
		why.at[--why.n] = 0;
	text = arena_printf(e->cx->arena, "%s:\n%s", schema_print(e->cx, s), why.at ? why.at : "");
	buf_free(&why);
	fail(e->cx, at, "%s", text);
}

/* ---- functions, methods, constructors --------------------------------------------------------------------- */

static Sugar *
call_function(Emit *e, Range at, Function *fn, Value *self, NamedValue *args, int n)
{
	Value **vs;
	Node *node;
	const char *dot = strrchr(fn->name, '.');

	unit_call(e->cx, fn, at);
	vs = arguments_of(e, at, fn->schema, self, args, n);
	node = graph_emit(e->graph, self ? "prim::CallMethod" : "prim::CallFunction", at, fn->schema->nargs, vs, 1);
	node_set_str(node, "name", dot && self ? dot + 1 : fn->name);
	node_attr_new(node, "function", ATTR_FUNCTION)->fn = fn;
	node->out[0]->type = fn->schema->rets[0].type;
	return sugar_value(e, node->out[0]);
}

static Sugar *
call_interface(Emit *e, Range at, Sugar *callee, NamedValue *args, int n)
{
	const Type *t = callee->v->type;
	Function *stub = class_method(class_info(t), callee->name);
	Value **vs;
	Node *node;

	if (!stub->schema)
		fail(e->cx, at, "'%s' has no signature: its declaration has failed before", stub->name);
	vs = arguments_of(e, at, stub->schema, callee->v, args, n);
	node = graph_emit(e->graph, "prim::CallMethod", at, stub->schema->nargs, vs, 1);
	node_set_str(node, "name", callee->name);
	node->out[0]->type = stub->schema->rets[0].type;
	unit_interface_call(e->cx, e->unit, t, callee->name);
	return sugar_value(e, node->out[0]);
}

/* Makes a schema of the fields of a NamedTuple. */
static Schema *
schema_of_fields(Emit *e, const Type *t)
{
	Schema *s = new(e->cx->arena, Schema, 1);
	const IValue *deflt;
	int ndefault = unit_field_defaults(e->unit, t, &deflt);

	s->name = t->name;
	s->overload = "";
	s->nargs = t->n;
	s->args = new(e->cx->arena, Arg, t->n);
	for (int i = 0; i < t->n; i++) {
		s->args[i].name = t->field[i];
		s->args[i].type = t->of[i];
		if (i >= t->n - ndefault) {
			s->args[i].has_default = true;
			s->args[i].deflt = deflt[i - (t->n - ndefault)];
		}
	}
	s->nrets = 1;
	s->rets = new(e->cx->arena, Arg, 1);
	s->rets[0].name = "";
	s->rets[0].type = t;
	return s;
}

static Sugar *
construct(Emit *e, Range at, const Type *t, NamedValue *args, int n)
{
	Value *self, **vs;
	Function *init;
	ClassInfo *info;

	if (t->kind == TYPE_TUPLE) {
		vs = arguments_of(e, at, schema_of_fields(e, t), 0, args, n);
		return sugar_value(e, emit_node(e, at, "prim::TupleConstruct", t, t->n, vs));
	}
	if (t->kind != TYPE_CLASS)
		fail(e->cx, at, "%s cannot be constructed", type_python(e->cx, t));
	info = class_info(t);
	if (info->module)
		fail(e->cx, at, "modules cannot be constructed in TorchScript");
	self = emit_node(e, at, "prim::CreateObject", t, 0, 0);
	init = class_method(info, "__init__");
	if (init)
		call_function(e, at, init, self, args, n);
	else if (n)
		fail(e->cx, at, "%s takes no arguments", t->name);
	return sugar_value(e, self);
}

/* Calls an object: forward of a module, __call__ of a class. */
static Sugar *
call_object(Emit *e, Range at, Sugar *callee, NamedValue *args, int n)
{
	Value *v = callee->v;
	Sugar *f = 0;

	if (v->type->kind == TYPE_CLASS || v->type->kind == TYPE_INTERFACE)
		f = sugar_attr_try(e, at, callee, class_info(v->type)->module ? "forward" : "__call__");
	if (!f)
		fail(e->cx, at, "cannot call a value of type '%s'", type_python(e->cx, v->type));
	return emit_apply(e, at, f, args, n);
}

/* ---- operators ------------------------------------------------------------------------------------------------ */

/* Emits aten::wait(future), which the interpreter implements itself. */
static Sugar *
wait_for(Emit *e, Range at, const char *op, Value *v)
{
	if (v->type->kind != TYPE_FUTURE && v->type->kind != TYPE_AWAIT)
		fail(e->cx, at, "Expected a value of type 'Future[T]' for argument 'self' but instead found type '%s'.",
			type_python(e->cx, v->type));
	return sugar_value(e, emit_node(e, at, op, v->type->of[0], 1, &v));
}

/* Whether the operator is torch.jit._awaitable_wait or ops.prim.awaitable_wait. */
static bool
is_awaitable_wait(const char *op)
{
	const char *name = strstr(op, "::");

	return name && (!strcmp(name, "::_awaitable_wait") || !strcmp(name, "::awaitable_wait"));
}

static Sugar *
raise_exception(Emit *e, Range at, NamedValue *args, int n)
{
	Value *in[2];

	if (n < 1 || n > 2)
		fail(e->cx, at, "prim::RaiseException takes a message and a class");
	in[0] = args[0].v;
	in[1] = n > 1 ? args[1].v : emit_none(e, at);
	graph_emit(e->graph, "prim::RaiseException", at, 2, in, 0);
	return none(e, at);
}

static Sugar *
unwrap(Emit *e, Range at, const char *op, Value *v)
{
	const Type *t = v->type->kind == TYPE_OPTIONAL ? v->type->of[0] : v->type;

	return sugar_value(e, emit_node(e, at, op, t, 1, &v));
}

/* Returns the method __NAME__ of an object, which a function of this name calls. Null if the class has none. */
static Sugar *
magic_of(Emit *e, Range at, Value *v, const char *name)
{
	return v->type->kind == TYPE_CLASS ? sugar_attr_try(e, at, sugar_value(e, v),
		arena_printf(e->cx->arena, "__%s__", name)) : 0;
}

/* Whether `self` is not the operator's first argument, as in x.where(condition, y). */
static bool
self_is_later(Emit *e, const char *name)
{
	const Schema *s;

	for (Op *op = op_first(e->cx, name); op; op = op->next) {
		s = op_schema(e->cx, op);
		for (int i = 1; i < s->nargs; i++)
			if (!strcmp(s->args[i].name, "self"))
				return true;
	}
	return false;
}

static Sugar *
call_operator(Emit *e, Range at, Sugar *callee, NamedValue *args, int n)
{
	NamedValue *all = new(e->cx->arena, NamedValue, n + 1);
	int nself = callee->v != 0;
	Sugar *sorted, *f;

	if (!strcmp(callee->name, "prim::RaiseException"))
		return raise_exception(e, at, args, n);
	if (!strcmp(callee->name, "prim::unchecked_unwrap_optional") && n == 1)
		return unwrap(e, at, callee->name, args[0].v);
	if (!strcmp(callee->name, "aten::wait") && n + nself == 1)
		return wait_for(e, at, callee->name, callee->v ? callee->v : args[0].v);
	if (is_awaitable_wait(callee->name) && n + nself == 1)
		return wait_for(e, at, "prim::awaitable_wait", callee->v ? callee->v : args[0].v);
	if (callee->v)
		all[0] = (NamedValue){self_is_later(e, callee->name) ? "self" : 0, callee->v, at};
	for (int i = 0; i < n; i++)
		all[i + nself] = args[i];
	if ((sorted = emit_sort(e, at, callee->name, all, n + nself)))
		return sorted;
	if (n + nself == 1 && (!strcmp(callee->name, "aten::hex") || !strcmp(callee->name, "aten::oct")
	    || !strcmp(callee->name, "aten::round")) &&
	    (f = magic_of(e, at, all[0].v, callee->name + strlen("aten::"))))
		return emit_apply(e, at, f, 0, 0);
	return sugar_value(e, emit_builtin(e->graph, callee->name, at, all, n + nself, e->version));
}

static Sugar *
cast_tensor(Emit *e, Range at, Sugar *callee)
{
	static const struct { const char *name; int dtype;
	} casts[] = {
		{ "byte", RT_u8 },  { "char", RT_i8 },	  { "short", RT_i16 },	  { "int", RT_i32 },
		{ "long", RT_i64 }, { "half", RT_f16 },	  { "float", RT_f32 },	  { "double", RT_f64 },
		{ "bool", RT_b8 },  { "cfloat", RT_c64 }, { "cdouble", RT_c128 }, { "bfloat16", RT_bf16 },
	};
	int dtype = RT_f32;

	for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
		if (!strcmp(callee->name, casts[i].name))
			dtype = casts[i].dtype;
	return sugar_value(e, emit_op(e, at, "aten::to", 4, callee->v, emit_int(e, at, dtype),
		graph_constant(e->graph, rt_bool(false), at), graph_constant(e->graph, rt_bool(false), at)));
}

/* Emits an exception with its text, such as ValueError("x"). */
static Sugar *
exception(Emit *e, Range at, Sugar *callee, NamedValue *args, int n)
{
	Sugar *s = sugar_named(e, SUGAR_EXCEPTION, callee->name), *all = sugar_new(e, SUGAR_TUPLE);

	if (n == 1)
		s->v = args[0].v;
	else if (!n)
		s->v = emit_str(e, at, "", 0);
	else {
		all->item = new(e->cx->arena, Sugar *, n);
		for (int i = 0; i < n; i++)
			all->item[all->n++] = sugar_value(e, args[i].v);
		s->v = sugar_as_value(e, at, all);
	}
	if (s->v->type != &rt_type_str)
		s->v = emit_op(e, at, "aten::str", 1, s->v);
	return s;
}

Sugar *
emit_apply(Emit *e, Range at, Sugar *callee, NamedValue *args, int n)
{
	switch (callee->kind) {
	case SUGAR_BUILTIN:
		return call_operator(e, at, callee, args, n);
	case SUGAR_FUNCTION:
		return call_function(e, at, callee->fn, callee->v, args, n);
	case SUGAR_INTERFACE:
		return call_interface(e, at, callee, args, n);
	case SUGAR_CLASS:
		return construct(e, at, callee->type, args, n);
	case SUGAR_VALUE:
		return call_object(e, at, callee, args, n);
	case SUGAR_CAST:
		if (n)
			fail(e->cx, at, "%s() takes no arguments", callee->name);
		return cast_tensor(e, at, callee);
	case SUGAR_EXCEPTION:
		return exception(e, at, callee, args, n);
	case SUGAR_CLOSURE:
		fail(e->cx, at, "cannot call a closure");
	default:
		fail(e->cx, at, "cannot call a %s", sugar_kind(e, callee));
	}
}

/* ---- special forms --------------------------------------------------------------------------------------------- */

typedef struct Call { Range at; Sugar *form; const Tree *tree; const Tree *args; const Type *hint; } Call;
typedef Sugar *Form(Emit *, const Call *);

static void
check_argument_count(Emit *e, const Call *c, int least, int most)
{
	const char *name = c->form->name;
	const bool few = c->args->n < least;
	const bool walks = !strcmp(name, "range") || !strcmp(name, "enumerate") || !strcmp(name, "zip");

	if (few || c->args->n > most)
		fail(e->cx, c->at, walks ? "%s expected %s %d arguments, got %d" : "%s expected %s %d arguments but "
			"found %d", name, few && least != most ? "at least" : walks ? "at most" : "exactly",
			few ? least : most, c->args->n);
}

static Sugar *
form_annotate(Emit *e, const Call *c)
{
	const Type *t;
	Value *given, *v;

	check_argument_count(e, c, 2, 2);
	t = type_of_annotation(e->cx, e->unit, c->args->kid[0]);
	given = emit_expression(e, c->args->kid[1], t);
	if (value_is_none(given) && t->kind == TYPE_OPTIONAL)
		return sugar_value(e, graph_constant_typed(e->graph, rt_none(), t, c->at));
	v = emit_convert(e, c->at, given, t, true);
	if (!v || !type_is_subtype(e->cx, v->type, t))
		fail(e->cx, c->at, "expected an expression of type %s but found %s", type_python(e->cx, t),
			type_python(e->cx, given->type));
	return sugar_value(e, v);
}

static Sugar *
form_unchecked_cast(Emit *e, const Call *c)
{
	const Type *t;

	check_argument_count(e, c, 2, 2);
	t = type_of_annotation(e->cx, e->unit, c->args->kid[0]);
	return sugar_value(e,
			   emit_cast(e, c->at, emit_expression(e, c->args->kid[1], t->kind == TYPE_UNION ? 0 : t), t));
}

static Sugar *
form_uninitialized(Emit *e, const Call *c)
{
	check_argument_count(e, c, 1, 1);
	return sugar_value(e, emit_node(e, c->at, "prim::Uninitialized",
		type_of_annotation(e->cx, e->unit, c->args->kid[0]), 0, 0));
}

static Sugar *
form_isinstance(Emit *e, const Call *c)
{
	return sugar_value(e, refine_isinstance(e, c->tree).value);
}

static const char *
text_argument(Emit *e, const Call *c, int i)
{
	if (c->args->kid[i]->kind != TREE_STRING)
		fail(e->cx, c->at, "%s's second argument must be a string literal", c->form->name);
	return c->args->kid[i]->text;
}

static Sugar *
form_getattr(Emit *e, const Call *c)
{
	Sugar *s;

	check_argument_count(e, c, 2, 3);
	s = emit_sugar(e, c->args->kid[0], 0);
	if (c->args->n == 2)
		return sugar_attr(e, c->at, s, text_argument(e, c, 1));
	s = sugar_attr_try(e, c->at, s, text_argument(e, c, 1));
	return s ? s : emit_sugar(e, c->args->kid[2], 0);
}

static Sugar *
form_hasattr(Emit *e, const Call *c)
{
	Sugar *s;
	bool has;

	check_argument_count(e, c, 2, 2);
	s = emit_sugar(e, c->args->kid[0], 0);
	has = sugar_attr_try(e, c->at, s, text_argument(e, c, 1)) != 0;
	return sugar_value(e, graph_constant(e->graph, rt_bool(has), c->at));
}

static Sugar *
form_print(Emit *e, const Call *c)
{
	NamedValue *args;
	int n = emit_arguments(e, c->tree, 0, &args);
	Value **vs = new(e->cx->arena, Value *, n);

	if (c->tree->kid[2]->n)
		fail(e->cx, c->at, "print doesn't accept any keyword arguments");
	for (int i = 0; i < n; i++)
		vs[i] = args[i].v;
	graph_emit(e->graph, "prim::Print", c->at, n, vs, 0)->op = op_first(e->cx, "prim::Print");
	return none(e, c->at);
}

/* Emits int(x), float(x), bool(x), str(x) or complex(x). */
static Sugar *
form_cast(Emit *e, const Call *c)
{
	static const struct { const char *name, *op; const Type *type; } casts[] = {
		{"int", "aten::Int", &rt_type_int}, {"float", "aten::Float", &rt_type_float},
		{"bool", "aten::Bool", &rt_type_bool}, {"str", "aten::str", &rt_type_str},
		{"complex", "aten::Complex", &rt_type_complex},
	};
	NamedValue *args;
	Sugar *f;
	int n = emit_arguments(e, c->tree, 0, &args), i = 0;

	while (strcmp(casts[i].name, c->form->name) != 0)
		i++;
	if (n == 1 && !args[0].name) {
		if (args[0].v->type == casts[i].type)
			return sugar_value(e, args[0].v);
		if (casts[i].type == &rt_type_bool)
			return sugar_value(e, emit_bool(e, c->at, args[0].v));
		if ((f = magic_of(e, c->at, args[0].v, c->form->name)))
			return emit_apply(e, c->at, f, 0, 0);
	}
	if (!n && !strcmp(c->form->name, "str"))
		return sugar_value(e, emit_str(e, c->at, "", 0));
	return sugar_value(e, emit_builtin(e->graph, casts[i].op, c->at, args, n, e->version));
}

static Sugar *
form_len(Emit *e, const Call *c)
{
	Sugar *s, *f;
	int n;

	check_argument_count(e, c, 1, 1);
	s = emit_sugar(e, c->args->kid[0], 0);
	n = sugar_static_length(e, s);
	if (n >= 0)
		return sugar_value(e, emit_int(e, c->at, n));
	if (s->kind == SUGAR_RANGE || s->kind == SUGAR_ZIP)
		return sugar_value(e, sugar_length(e, c->at, s));
	if (s->kind == SUGAR_VALUE && s->v->type->kind == TYPE_CLASS && (f = sugar_attr_try(e, c->at, s, "__len__")))
		return emit_apply(e, c->at, f, 0, 0);
	return sugar_value(e, emit_op(e, c->at, "aten::len", 1, sugar_as_value(e, c->at, s)));
}

static Sugar *
form_range(Emit *e, const Call *c)
{
	Sugar *s = sugar_new(e, SUGAR_RANGE);
	Value *v, *given;

	check_argument_count(e, c, 1, 3);
	s->item = new(e->cx->arena, Sugar *, 3);
	for (int i = 0; i < c->args->n; i++) {
		given = emit_expression(e, c->args->kid[i], 0);
		v = emit_convert(e, c->at, given, &rt_type_int, true);
		if (!v)
			fail(e->cx, c->args->kid[i]->at, "all inputs of range must be ints, found %s in argument %d",
				type_python(e->cx, given->type), i);
		s->item[s->n++] = sugar_value(e, v);
	}
	if (s->n == 2)
		s->item[s->n++] = sugar_value(e, emit_int(e, c->at, 1));
	return s;
}

static Sugar *
form_zip(Emit *e, const Call *c)
{
	Sugar *s = sugar_new(e, SUGAR_ZIP);

	check_argument_count(e, c, 1, INT16_MAX);
	s->item = new(e->cx->arena, Sugar *, c->args->n);
	for (int i = 0; i < c->args->n; i++)
		s->item[s->n++] = sugar_iterable(e, c->at, emit_sugar(e, c->args->kid[i], 0));
	return s;
}

static Sugar *
form_enumerate(Emit *e, const Call *c)
{
	Sugar *s = sugar_new(e, SUGAR_ZIP), *count = sugar_new(e, SUGAR_RANGE);
	const Tree *start = c->args->n > 1 ? c->args->kid[1] : c->tree->kid[2]->n ? c->tree->kid[2]->kid[0]->kid[1] : 0;

	check_argument_count(e, c, 1, 2);
	count->item = new(e->cx->arena, Sugar *, 2);
	count->item[0] = sugar_value(e, start ? emit_expression(e, start, 0) : emit_int(e, c->at, 0));
	count->item[1] = sugar_value(e, emit_int(e, c->at, 1));
	count->n = 2;
	s->item = new(e->cx->arena, Sugar *, 2);
	s->item[0] = count;
	s->item[1] = sugar_iterable(e, c->at, emit_sugar(e, c->args->kid[0], 0));
	s->n = 2;
	return s;
}

static Sugar *
form_tuple(Emit *e, const Call *c)
{
	Sugar *s;

	check_argument_count(e, c, 0, 1);
	s = sugar_new(e, SUGAR_TUPLE);
	if (c->args->n)
		sugar_unpack(e, c->at, emit_sugar(e, c->args->kid[0], 0), -1, &s->item, &s->n);
	return sugar_value(e, sugar_as_value(e, c->at, s));
}

typedef struct Fill { const Tree *target; Value *into; bool typed; Range at; const Sugar *from; } Fill;

static void
fill_list(Emit *e, void *arg)
{
	Fill *f = arg;
	Value *v = sugar_as_value(e, f->at, scope_find(e, "$item"));

	if (!f->typed)
		f->into->type = type_list(e->cx, type_unshaped(e->cx, v->type));
	f->typed = true;
	emit_op(e, f->at, "aten::append", 2, f->into, v);
}

/* Emits list(iterable). */
static Sugar *
form_list(Emit *e, const Call *c)
{
	const Tree *name, *target;
	Fill f = {0};
	Sugar *s;
	RtKind k;

	check_argument_count(e, c, 0, 1);
	if (!c->args->n)
		return sugar_value(e, emit_unify_list(e, c->at, 0, 0, c->hint));
	s = sugar_iterable(e, c->at, emit_sugar(e, c->args->kid[0], 0));
	k = s->kind == SUGAR_VALUE ? s->v->type->kind : TYPE_ANY;
	if (k == TYPE_LIST || k == TYPE_STR)
		return sugar_value(e, emit_op(e, c->at, "aten::list", 1, s->v));
	name = tree_text(e->cx, TREE_IDENT, c->at, "$item", 5);
	target = tree_new(e->cx, TREE_VAR, c->at, 1, name);
	f.at = c->at;
	f.into = emit_unify_list(e, c->at, 0, 0, c->hint);
	f.typed = c->hint && c->hint->kind == TYPE_LIST;
	emit_loop_over(e, c->at, target, s, fill_list, &f);
	return sugar_value(e, f.into);
}

static void
fill_dict(Emit *e, void *arg)
{
	Fill *f = arg;
	Sugar **pair;
	Value *k, *v;
	int n;

	sugar_unpack(e, f->at, scope_find(e, "$item"), 2, &pair, &n);
	k = sugar_as_value(e, f->at, pair[0]);
	v = sugar_as_value(e, f->at, pair[1]);
	if (!f->typed)
		f->into->type = type_dict(e->cx, type_unshaped(e->cx, k->type), type_unshaped(e->cx, v->type));
	f->typed = true;
	emit_set_item(e, f->at, f->into, k, v);
}

static Value *
new_dict(Emit *e, Range at, const Type *t)
{
	return emit_node(e, at, "prim::DictConstruct", t, 0, 0);
}

/* Emits dict(m) of a dict, of a list of pairs, or of an iterable of pairs. */
static Value *
dict_of(Emit *e, const Call *c, const Tree *from, const Type *hint)
{
	const Tree *name;
	Fill f = { .at = c->at, .typed = hint };
	Sugar *s;
	RtKind k;

	if (from->kind == TREE_LIST_LITERAL && !from->kid[0]->n)
		return new_dict(e, c->at, hint ? hint : type_dict(e->cx, &rt_type_str, &rt_type_tensor));
	s = emit_sugar(e, from, from->kind == TREE_DICT_LITERAL || from->kind == TREE_DICT_COMP ? hint : 0);
	k = s->kind == SUGAR_VALUE ? s->v->type->kind : TYPE_ANY;
	if (k == TYPE_DICT || (k == TYPE_LIST && !hint && s->v->type->of[0]->kind == TYPE_TUPLE))
		return emit_op(e, c->at, "aten::dict", 1, s->v);
	name = tree_text(e->cx, TREE_IDENT, c->at, "$item", 5);
	f.into = new_dict(e, c->at, hint ? hint : type_dict(e->cx, &rt_type_str, &rt_type_tensor));
	emit_loop_over(e, c->at, tree_new(e->cx, TREE_VAR, c->at, 1, name), sugar_iterable(e, c->at, s), fill_dict, &f);
	return f.into;
}

/* Emits dict(m, word=value). Either part may be missing. */
static Sugar *
form_dict(Emit *e, const Call *c)
{
	const Tree *words = c->tree->kid[2];
	const Type *t = c->hint && c->hint->kind == TYPE_DICT ? c->hint : 0;
	Value *v, *dict = 0;

	check_argument_count(e, c, 0, 1);
	if (c->args->n)
		dict = dict_of(e, c, c->args->kid[0], t);
	else if (!words->n)
		dict = new_dict(e, c->at, t ? t : type_dict(e->cx, &rt_type_str, &rt_type_tensor));
	for (int i = 0; i < words->n; i++) {
		v = emit_expression(e, words->kid[i]->kid[1], t ? t->of[1] : 0);
		if (!dict)
			dict = new_dict(e, c->at,
					t ? t : type_dict(e->cx, &rt_type_str, type_unshaped(e->cx, v->type)));
		emit_set_item(e, c->at, dict, emit_str(e, c->at, words->kid[i]->kid[0]->text, -1), v);
	}
	return sugar_value(e, dict);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* Makes a graph that calls f on its inputs, for fork(f, a, b). */
static Closure *
closure_of_call(Emit *e, Range at, Sugar *callee, NamedValue *args, int n)
{
	Closure *c = new(e->cx->arena, Closure, 1);
	Graph *outer = e->graph;
	Scope *scope = e->scope;
	Sugar *inner = new(e->cx->arena, Sugar, 1);
	Value *v;

	c->graph = graph_new(e->cx, "fork");
	*inner = *callee;
	if (callee->v) {
		vec_push(e->cx->arena, &c->captured, callee->v);
		inner->v = graph_add_input(c->graph, callee->v->type, 0);
	}
	for (int i = 0; i < n; i++) {
		vec_push(e->cx->arena, &c->captured, args[i].v);
		args[i].v = graph_add_input(c->graph, args[i].v->type, 0);
	}
	e->graph = c->graph;
	scope_push(e, c->graph->top)->closure = c;
	v = sugar_as_value(e, at, emit_apply(e, at, inner, args, n));
	graph_add_output(c->graph, v);
	e->graph = outer;
	scope_enter(e, scope);
	return c;
}

static Sugar *
form_fork(Emit *e, const Call *c)
{
	bool lazy = !strcmp(c->form->name, "awaitable");
	NamedValue *args;
	Closure *made;
	Sugar *callee;
	const Type *t;
	Node *node;
	int n;

	check_argument_count(e, c, 1, INT16_MAX);
	callee = emit_sugar(e, c->args->kid[0], 0);
	if (callee->kind == SUGAR_CLOSURE) {
		check_argument_count(e, c, 1, 1);
		made = callee->closure;
	} else {
		n = emit_arguments(e, c->tree, 1, &args);
		made = closure_of_call(e, c->at, callee, args, n);
	}
	t = made->graph->top->ret->in[0]->type;
	node = graph_emit(e->graph, lazy ? "prim::awaitable" : "prim::fork", c->at, made->captured.n,
			  made->captured.at, 1);
	node_attr_new(node, "Subgraph", ATTR_GRAPH)->g = made->graph;
	node->out[0]->type = lazy ? type_await(e->cx, t) : type_future(e->cx, t);
	return sugar_value(e, node->out[0]);
}

/* ---- other forms -------------------------------------------------------------------------------------------------*/

/* Emits x.tolist(). The expected type determines the depth and the element type. */
static Sugar *
form_tolist(Emit *e, const Call *c)
{
	const Type *t = c->hint;
	Value *in[3];
	int depth = 0, code;

	if (!t)
		fail(e->cx, c->at, "Expected type hint for result of tolist()");
	for (; t->kind == TYPE_LIST; t = t->of[0])
		depth++;
	code = t == &rt_type_int ? 0 : t == &rt_type_float ? 1 : t == &rt_type_bool ? 2 : t == &rt_type_complex ? 3 :
		-1;
	if (code < 0)
		fail(e->cx, c->at, "%s is not one of the supported element types for tolist: int, float, complex, bool",
			type_python(e->cx, t));
	in[0] = c->form->v;
	in[1] = emit_int(e, c->at, depth);
	in[2] = emit_int(e, c->at, code);
	return sugar_value(e, emit_node(e, c->at, "prim::tolist", c->hint, 3, in));
}

static Sugar *
form_new(Emit *e, const Call *c)
{
	Sugar *s;

	check_argument_count(e, c, 1, 1);
	s = emit_sugar(e, c->args->kid[0], 0);
	if (s->kind != SUGAR_CLASS || s->type->kind != TYPE_CLASS)
		fail(e->cx, c->at, "Only class objects can be created with __new__");
	return sugar_value(e, emit_node(e, c->at, "prim::CreateObject", s->type, 0, 0));
}

static Sugar *
form_super(Emit *e, const Call *c)
{
	(void)c;
	return sugar_new(e, SUGAR_SUPER);
}

static Sugar *
form_super_init(Emit *e, const Call *c)
{
	return none(e, c->at);
}

static Sugar *
form_is_scripting(Emit *e, const Call *c)
{
	return sugar_value(e, graph_constant(e->graph, rt_bool(!strcmp(c->form->name, "is_scripting")), c->at));
}

static const struct { const char *name; bool global; Form *form; } forms[] = {
	{"annotate", true, form_annotate}, {"unchecked_cast", true, form_unchecked_cast},
	{"uninitialized", true, form_uninitialized}, {"isinstance", true, form_isinstance},
	{"getattr", true, form_getattr}, {"hasattr", true, form_hasattr}, {"print", true, form_print},
	{"int", true, form_cast}, {"float", true, form_cast}, {"bool", true, form_cast}, {"str", true, form_cast},
	{"complex", true, form_cast}, {"len", true, form_len}, {"range", true, form_range}, {"zip", true, form_zip},
	{"enumerate", true, form_enumerate}, {"tuple", true, form_tuple}, {"list", true, form_list},
	{"dict", true, form_dict}, {"fork", true, form_fork}, {"awaitable", true, form_fork},
	{"super", true, form_super}, {"tolist", false, form_tolist}, {"__new__", false, form_new},
	{"super_init", false, form_super_init}, {"is_scripting", false, form_is_scripting},
	{"is_tracing", false, form_is_scripting},
};

bool
form_known(const char *name)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (forms[i].global && !strcmp(forms[i].name, name))
			return true;
	return false;
}

static const struct { const char *name, *op; } functions[] = {
	{"rangelist", "prim::rangelist"}, {"sorted", "aten::sorted"}, {"min", "prim::min"}, {"max", "prim::max"},
	{"abs", "prim::abs"}, {"all", "aten::all"}, {"any", "aten::any"}, {"sum", "aten::sum"},
	{"divmod", "aten::divmod"}, {"hash", "aten::hash"}, {"hex", "aten::hex"}, {"oct", "aten::oct"},
	{"bin", "aten::bin"}, {"pow", "aten::pow"}, {"round", "aten::round"}, {"ord", "aten::ord"},
	{"chr", "aten::chr"}, {"id", "prim::id"},
};

const char *
builtin_function(const char *name)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].op;
	return 0;
}

const char *
global_name(int i)
{
	const int nform = sizeof forms / sizeof *forms, nfunction = sizeof functions / sizeof *functions;

	if (i < nform)
		return forms[i].global ? forms[i].name : "";
	return i - nform < nfunction ? functions[i - nform].name : NULL;
}

Sugar *
emit_call(Emit *e, const Tree *t, const Type *hint)
{
	Sugar *callee = emit_sugar(e, t->kid[0], 0);
	Call c = {t->kid[0]->at, callee, t, t->kid[1], hint};
	NamedValue *args;
	int n;

	RT_ASSERT(t->kind == TREE_CALL);
	if (callee->kind == SUGAR_FORM)
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
			if (!strcmp(forms[i].name, callee->name))
				return forms[i].form(e, &c);
	n = emit_arguments(e, t, 0, &args);
	return emit_apply(e, t->kid[0]->at, callee, args, n);
}
