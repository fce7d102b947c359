/* frontend/script/emit_stmt.c - statements
 *
 * Emitting a statement returns the ways in which it may end. It may also change the list of later statements. If a
 * condition is known at compile time, its live branch is inserted before them. The body of a loop over a tuple is
 * inserted before them once for each element. If only one branch of an If falls through, they move into that branch
 * (exit.c). */
#include "emit.h"

#include <string.h>

Work *
emit_work(Emit *e, const Tree *list, Work *next)
{
	Work *w;

	for (int i = list ? list->n : 0; i-- > 0;) {
		w = new(e->cx->arena, Work, 1);
		w->tree = list->kid[i];
		w->next = next;
		next = w;
	}
	return next;
}

/* ---- assignment ------------------------------------------------------------------------------------- */

static Sugar *
tuple_of(Emit *e, Range at, Sugar **items, int n)
{
	Sugar *s = sugar_new(e, SUGAR_TUPLE);

	s->item = items;
	s->n = n;
	return sugar_value(e, sugar_as_value(e, at, s));
}

/* Assigns the items of s to targets, one of which may be starred: a, *b = s. */
static void
assign_tuple(Emit *e, const Tree *targets, Sugar *s, Range at)
{
	int star = -1, n, k = 0, rest;
	Sugar **items;

	for (int i = 0; i < targets->n; i++)
		if (targets->kid[i]->kind == TREE_STARRED) {
			if (star >= 0)
				fail(e->cx, targets->kid[i]->at, "Only one starred expression is allowed on the lhs");
			star = i;
		}
	sugar_unpack(e, at, s, star < 0 ? targets->n : -1, &items, &n);
	if (n < targets->n - (star >= 0))
		fail(e->cx, at, "need %s%d values to unpack but found only %d", star < 0 ? "" : "at least ",
			targets->n - (star >= 0), n);
	if (star < 0 && n > targets->n)
		fail(e->cx, at, "too many values to unpack: need %d but found %d", targets->n, n);
	for (int i = 0; i < targets->n; i++) {
		if (i == star && targets->kid[i]->kid[0]->kind != TREE_VAR)
			fail(e->cx, targets->kid[i]->kid[0]->at, "Cannot pack a tuple into a non-variable");
		if (i != star) {
			emit_assign_to(e, targets->kid[i], items[k++], at);
			continue;
		}
		rest = n - (targets->n - 1);
		emit_assign_to(e, targets->kid[i]->kid[0], tuple_of(e, at, items + k, rest), at);
		k += rest;
	}
}

void
emit_assign_to(Emit *e, const Tree *target, Sugar *s, Range at)
{
	switch (target->kind) {
	case TREE_VAR:
		scope_assign(e, target->at, target->kid[0]->text, s, 0);
		break;
	case TREE_TUPLE:
	case TREE_LIST_LITERAL:
		assign_tuple(e, target->kid[0], s, at);
		break;
	case TREE_ATTR:
		sugar_set_attr(e, target->at, emit_sugar(e, target->kid[0], 0), target->kid[1]->text,
			sugar_as_value(e, at, s));
		break;
	case TREE_SUBSCRIPT:
		emit_set_subscript(e, target, s, at);
		break;
	default:
		fail(e->cx, target->at, "unexpected expression on left-hand side of assignment");
	}
}

/* Emits the right side. A tuple display that is unpacked at once does not become a tuple. */
static Sugar *
right_side(Emit *e, const Tree *t, const Tree *target, const Type *hint)
{
	Sugar *s;

	if (t->kind != TREE_TUPLE || target->kind != TREE_TUPLE)
		return emit_sugar(e, t, hint);
	for (int i = 0; i < t->kid[0]->n; i++)
		if (t->kid[0]->kid[i]->kind == TREE_STARRED)
			return emit_sugar(e, t, hint);
	s = sugar_new(e, SUGAR_TUPLE);
	s->n = t->kid[0]->n;
	s->item = new(e->cx->arena, Sugar *, s->n);
	for (int i = 0; i < s->n; i++)
		s->item[i] = emit_sugar(e, t->kid[0]->kid[i], 0);
	return s;
}

static void
assignment(Emit *e, const Tree *t)
{
	const Tree *targets = t->kid[0], *value = t->kid[1], *note = t->kid[2];
	const Type *type = note ? type_of_annotation(e->cx, e->unit, note) : 0;
	Sugar *s;
	Value *v;

	if (!value)
		return;
	s = right_side(e, value, targets->kid[0], type);
	if (type && targets->kid[0]->kind == TREE_VAR) {
		scope_assign(e, targets->kid[0]->at, targets->kid[0]->kid[0]->text, s, type);
		return;
	}
	if (type) {
		v = sugar_as_value(e, value->at, s);
		if (value_is_none(v))
			v = graph_constant_typed(e->graph, rt_none(), type, value->at);
		s = sugar_value(e, v->type == type || !type_is_subtype(e->cx, v->type, type) ? v :
				emit_cast(e, t->at, v, type));
	}
	for (int i = 0; i < targets->n; i++)
		emit_assign_to(e, targets->kid[i], s, value->at);
}

/* ---- augmented assignment -------------------------------------------------------------------------------- */

Value *
emit_updated(Emit *e, Range at, TreeKind op, Value *v, Value *by)
{
	const char *magic, *kind = operator_kind(op, &magic);

	if (op == TREE_MOD)              /* a %= b computes C's remainder */
		kind = v->type == &rt_type_str ? "aten::percentFormat" : "aten::fmod";
	return emit_op(e, at, kind, 2, v, by);
}

Value *
emit_inplace(Emit *e, Range at, TreeKind op, Value *v, Value *by)
{
	static const struct { TreeKind op; const char *tensor, *list, *magic; } forms[] = {
		{TREE_ADD, "aten::add_", "aten::add_", "__iadd__"}, {TREE_SUB, "aten::sub_", 0, "__isub__"},
		{TREE_MUL, "aten::mul_", "aten::mul_", "__imul__"}, {TREE_DIV, "aten::div_", 0, "__itruediv__"},
		{TREE_MOD, "aten::fmod_", 0, "__imod__"}, {TREE_SHR, "aten::__irshift__", 0, "__irshift__"},
		{TREE_BIT_OR, "aten::bitwise_or", 0, "__ior__"}, {TREE_BIT_AND, "aten::bitwise_and", 0, "__iand__"},
		{TREE_BIT_XOR, "aten::bitwise_xor", 0, "__ixor__"}, {TREE_SHL, 0, 0, "__ilshift__"},
		{TREE_POW, 0, 0, "__ipow__"},
	};
	const char *magic, *kind = NULL;
	NamedValue arg = {0, by, at};
	Sugar *f;

	operator_kind(op, &magic);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (forms[i].op != op)
			continue;
		if (v->type->kind == TYPE_TENSOR && forms[i].tensor)
			kind = forms[i].tensor;
		else if (v->type->kind == TYPE_LIST && forms[i].list)
			kind = forms[i].list;
		else if (v->type->kind == TYPE_CLASS
		         && ((f = sugar_attr_try(e, at, sugar_value(e, v), forms[i].magic))
		             || (f = sugar_attr_try(e, at, sugar_value(e, v), magic))))
			return sugar_as_value(e, at, emit_apply(e, at, f, &arg, 1));
	}
	return kind ? emit_op(e, at, kind, 2, v, by) : emit_updated(e, at, op, v, by);
}

static void
augmented(Emit *e, const Tree *t)
{
	const Tree *target = t->kid[0];
	Sugar *self;
	Value *v;

	if (t->op == TREE_FLOORDIV || t->op == TREE_MATMUL)
		fail(e->cx, t->at, "unsupported kind of augmented assignment: %s",
		     t->op == TREE_MATMUL ? "MatMult" : "FloorDiv");
	switch (target->kind) {
	case TREE_VAR:
		v = emit_expression(e, target, 0);
		v = emit_inplace(e, t->at, t->op, v, emit_expression(e, t->kid[1], v->type));
		scope_assign(e, target->at, target->kid[0]->text, sugar_value(e, v), 0);
		break;
	case TREE_ATTR:
		self = emit_sugar(e, target->kid[0], 0);
		v = sugar_as_value(e, target->at, sugar_attr(e, target->at, self, target->kid[1]->text));
		v = emit_inplace(e, t->at, t->op, v, emit_expression(e, t->kid[1], v->type));
		sugar_set_attr(e, target->at, self, target->kid[1]->text, v);
		break;
	case TREE_SUBSCRIPT:
		emit_set_subscript(e, t, 0, t->at);
		break;
	default:
		fail(e->cx, target->at,
		     target->kind == TREE_TUPLE ? "augmented assignment can only have one LHS expression"
						: "unexpected expression on left-hand side of augmented assignment");
	}
}

/* ---- if, assert, raise -------------------------------------------------------------------------------------- */

/* Emits the statements `rest` into the branch that falls through. */
static void
continue_in(Emit *e, Branch *b, Work *rest)
{
	scope_enter(e, b->scope);
	b->scope->outer = b->scope->up->outer;
	b->ways = b->ways & WAYS_FLAGGED ? exit_under(e, rest->tree ? rest->tree->at : rest->target->at, b->ways, rest)
		: exit_run(e, rest);
	scope_pop(e);
}

static unsigned
if_statement(Emit *e, const Tree *t, Work **next)
{
	Cond c = emit_condition(e, t->kid[0]);
	Branch b[2];
	Node *n;
	bool falls[2];

	if (c.known >= 0) {
		refine_apply(e, t->at, c.known ? c.yes : c.no);
		*next = emit_work(e, t->kid[c.known ? 1 : 2], *next);
		return WAY_FALL;
	}
	n = graph_emit(e->graph, "prim::If", t->at, 1, &c.value, 0);
	for (int i = 0; i < 2; i++) {
		b[i].scope = scope_push(e, node_add_block(n));
		refine_apply(e, t->at, i ? c.no : c.yes);
		b[i].ways = exit_run(e, emit_work(e, t->kid[1 + i], 0));
		falls[i] = b[i].ways & WAY_FALL;
		scope_pop(e);
	}
	if (*next && falls[0] != falls[1] && b[falls[0]].ways & WAYS_FLAGGED) {
		continue_in(e, &b[!falls[0]], *next);
		*next = 0;
	}
	return ssa_join(e, t->at, n, b[0], b[1]);
}

void
emit_raise(Emit *e, Range at, Value *message, const char *cls)
{
	Value *in[2];

	in[0] = message;
	in[1] = cls ? emit_str(e, at, cls, -1) : emit_none(e, at);
	graph_emit(e->graph, "prim::RaiseException", at, 2, in, 0);
}

static Value *
as_text(Emit *e, const Tree *t)
{
	Value *v = emit_expression(e, t, 0);

	return v->type == &rt_type_str ? v : emit_op(e, t->at, "aten::str", 1, v);
}

static Value *
assert_message(Emit *e, const Tree *t)
{
	const char *text;

	if (!t)
		return emit_str(e, (Range){0}, "AssertionError: ", -1);
	if (t->kind != TREE_STRING)
		return emit_op(e, t->at, "aten::add", 2, emit_str(e, t->at, "AssertionError: ", -1), as_text(e, t));
	text = arena_printf(e->cx->arena, "AssertionError: %s", t->text);
	return emit_str(e, t->at, text, -1);
}

static unsigned
assertion(Emit *e, const Tree *t)
{
	Cond c = emit_condition(e, t->kid[0]);
	Branch yes, no;
	Node *n;

	if (c.known >= 0) {
		refine_apply(e, t->at, c.known ? c.yes : 0);
		if (!c.known)
			emit_raise(e, t->at, assert_message(e, t->kid[1]), 0);
		return c.known ? WAY_FALL : WAY_RAISE;
	}
	n = graph_emit(e->graph, "prim::If", t->at, 1, &c.value, 0);
	yes.scope = scope_push(e, node_add_block(n));
	yes.ways = WAY_FALL;
	refine_apply(e, t->at, c.yes);
	scope_pop(e);
	no.scope = scope_push(e, node_add_block(n));
	no.ways = WAY_RAISE;
	refine_apply(e, t->at, c.no);
	emit_raise(e, t->at, assert_message(e, t->kid[1]), 0);
	scope_pop(e);
	return ssa_join(e, t->at, n, yes, no);
}

/* Emits `raise C` without parentheses, or a failed assert. Such exceptions carry only a message. */
static void
raise_class(Emit *e, Range at, const Sugar *s)
{
	if (!s->v)
		emit_raise(e, at, emit_str(e, at, "", 0), 0);
	else if (!strcmp(s->name, "builtins.AssertionError"))
		emit_raise(e, at, emit_op(e, at, "aten::add", 2, emit_str(e, at, "AssertionError: ", -1), s->v), 0);
	else
		emit_raise(e, at, s->v, s->name);
}

static void
raise_statement(Emit *e, const Tree *t)
{
	Sugar *s;
	Value *v;

	if (!t->kid[0])
		fail(e->cx, t->at, "raise without an exception is not supported");
	s = emit_sugar(e, t->kid[0], 0);
	if (s->kind == SUGAR_EXCEPTION) {
		raise_class(e, t->at, s);
		return;
	}
	v = sugar_as_value(e, t->at, s);
	if (v->type != &rt_type_str)
		fail(e->cx, t->at, "exceptions must derive from BaseException");
	emit_raise(e, t->at, v, 0);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

typedef struct Walk {
	Range       at;
	const Tree *cond;      /* Condition of a while. Null for a for loop. */
	const Tree *target;    /* Target of a for loop. */
	Sugar      *iterable;
	const Tree *body;      /* Statements of the body. Null if `make` emits it. */
	void      (*make)(Emit *, void *);
	void       *arg;
} Walk;

/* Emits at the end of the body the condition for another trip. */
static Value *
goes_on(Emit *e, const Walk *w, unsigned ways)
{
	Value *stop, *out;
	Node *n;

	if (!(ways & (WAY_FALL | WAY_CONTINUE)))
		return graph_constant(e->graph, rt_bool(false), w->at);
	stop = exit_any(e, w->at, ways, WAY_BREAK | WAY_RETURN);
	if (!stop)
		return w->cond ? emit_condition(e, w->cond).value : graph_constant(e->graph, rt_bool(true), w->at);
	if (!w->cond)
		return emit_op(e, w->at, "aten::__not__", 1, stop);
	n = graph_emit(e->graph, "prim::If", w->at, 1, &stop, 1);
	scope_push(e, node_add_block(n));
	block_add_output(n->sub[0], graph_constant(e->graph, rt_bool(false), w->at));
	scope_pop(e);
	scope_push(e, node_add_block(n));
	block_add_output(n->sub[1], emit_condition(e, w->cond).value);
	scope_pop(e);
	out = n->out[0];
	out->type = &rt_type_bool;
	return out;
}

static unsigned
loop(Emit *e, const Walk *w)
{
	LoopVars vars = w->make ? (LoopVars){0} : ssa_loop_vars(e, w->target, w->body);
	bool outer_loop = e->in_loop;
	Value *in[2], *index;
	Cond c = {0};
	Scope *body;
	Block *b;
	Node *n;
	unsigned ways = WAY_FALL;

	if (w->cond)
		c = emit_condition(e, w->cond);
	in[0] = w->cond ? emit_int(e, w->at, INT64_MAX) : sugar_length(e, w->at, w->iterable);
	in[1] = w->cond ? c.value : graph_constant(e->graph, rt_bool(true), w->at);
	n = graph_emit(e->graph, "prim::Loop", w->at, 2, in, 0);
	b = node_add_block(n);
	index = block_add_input(b, &rt_type_int, 0);
	body = scope_push(e, b);
	ssa_loop_enter(e, n, vars);
	refine_apply(e, w->at, c.yes);
	if (w->target)
		emit_assign_to(e, w->target, sugar_item(e, w->at, w->iterable, index), w->at);
	e->in_loop = true;
	if (w->make)
		w->make(e, w->arg);
	else
		ways = exit_run(e, emit_work(e, w->body, 0));
	block_add_output(b, goes_on(e, w, ways));
	e->in_loop = outer_loop;
	scope_pop(e);
	ssa_loop_leave(e, w->at, n, vars, body, ways);
	if (!(ways & WAY_BREAK))
		refine_apply(e, w->at, c.no);
	return WAY_FALL | (ways & WAY_RETURN);
}

void
emit_loop_over(Emit *e, Range at, const Tree *target, Sugar *iterable, void (*make)(Emit *, void *), void *arg)
{
	int n = sugar_static_length(e, iterable);

	if (n < 0) {
		loop(e, &(Walk){at, 0, target, iterable, 0, make, arg});
		return;
	}
	for (int i = 0; i < n; i++) {
		scope_push(e, e->scope->block);
		emit_assign_to(e, target, sugar_item(e, at, iterable, emit_int(e, at, i)), at);
		make(e, arg);
		scope_pop(e);
	}
}

/* Returns the first break or continue of the loop with this body. Null if there is none. */
static const Tree *
find_break(const Tree *list)
{
	const Tree *t, *found = 0;

	for (int i = 0; list && i < list->n && !found; i++) {
		t = list->kid[i];
		if (t->kind == TREE_BREAK || t->kind == TREE_CONTINUE)
			return t;
		if (t->kind == TREE_IF && !(found = find_break(t->kid[1])))
			found = find_break(t->kid[2]);
		if (t->kind == TREE_WITH)
			found = find_break(t->kid[1]);
	}
	return found;
}

static unsigned
for_statement(Emit *e, const Tree *t, Work **next)
{
	Sugar *s = sugar_iterable(e, t->kid[1]->at, emit_sugar(e, t->kid[1], 0));
	int n = sugar_static_length(e, s);
	const Tree *bad;
	Work *w;

	if (n < 0)
		return loop(e, &(Walk){t->at, 0, t->kid[0], s, t->kid[2], 0, 0});
	if ((bad = find_break(t->kid[2])))
		fail(e->cx, bad->at,
		     "Because we emit iteration over modulelists or tuples as unrolled loops, we do not support "
		     "break or continue inside the body of these loops");
	for (int i = n; i-- > 0;) {
		w = new(e->cx->arena, Work, 1);
		w->target = t->kid[0];
		w->item = sugar_item(e, t->at, s, emit_int(e, t->at, i));
		w->next = emit_work(e, t->kid[2], *next);
		*next = w;
	}
	return WAY_FALL;
}

static unsigned
with_statement(Emit *e, const Tree *t)
{
	const Tree *items = t->kid[0];
	Value **objects = new(e->cx->arena, Value *, items->n), *v;
	Function *enter, *leave;
	unsigned ways;

	for (int i = 0; i < items->n; i++) {
		const Tree *item = items->kid[i];
		objects[i] = emit_expression(e, item->kid[0], 0);
		enter = objects[i]->type->kind == TYPE_CLASS ? class_method(class_info(objects[i]->type), "__enter__")
							     : 0;
		leave = enter ? class_method(class_info(objects[i]->type), "__exit__") : 0;
		if (!leave)
			fail(e->cx, item->at,
			     "With item expression must return an object with __enter__ and __exit__ methods");
		unit_call(e->cx, enter, item->at);
		unit_call(e->cx, leave, item->at);
		v = emit_node(e, item->at, "prim::Enter", enter->schema->rets[0].type, 1, &objects[i]);
		if (item->kid[1])
			scope_assign(e, item->at, item->kid[1]->text, sugar_value(e, v), 0);
	}
	ways = exit_run(e, emit_work(e, t->kid[1], 0));
	for (int i = items->n; i-- > 0;)
		emit_node(e, t->at, "prim::Exit", &rt_type_none, 1, &objects[i]);
	return ways;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void
return_statement(Emit *e, const Tree *t)
{
	Value *v = t->kid[0] ? emit_expression(e, t->kid[0], e->declared ? e->result : 0) : emit_none(e, t->at),
	      *given = v;
	const Type *both;

	if (e->declared) {
		v = emit_convert(e, t->at, v, e->result, true);
		if (!v || !type_is_subtype(e->cx, v->type, e->result))
			fail(e->cx, t->at, "Return value was annotated as having type %s but is actually of type %s",
				type_python(e->cx, e->result), type_python(e->cx, given->type));
	} else {
		both = e->result ? type_unify(e->cx, e->result, v->type) : type_unshaped(e->cx, v->type);
		if (!both)
			fail(e->cx, t->at, "Previous return statement returned a value of type %s but this return "
				"statement returns a value of type %s", type_python(e->cx, e->result),
				type_python(e->cx, v->type));
		e->result = both;
	}
	scope_put(e, "$v", sugar_value(e, v), false);
}

Value *
emit_result(Emit *e, Range at, unsigned ways)
{
	Value *v;

	if (ways & WAY_FALL) {
		if (e->result && !type_is_subtype(e->cx, &rt_type_none, e->result))
			fail(e->cx, at,
			     "Function was not annotated as having type None, but does not return along all paths");
		if (!e->declared || !(ways & WAY_RETURN))
			e->result = e->declared ? e->result : &rt_type_none;
		if (e->result->kind == TYPE_OPTIONAL && ways & WAY_RETURN)
			fail(e->cx, at,
			     "Function was not annotated as having type None, but does not return along all paths");
		v = graph_constant_typed(e->graph, rt_none(), e->result, at);
	} else if (ways & WAY_RETURN) {
		v = scope_binding(e->scope, "$v")->sugar->v;
	} else {
		e->result = e->result ? e->result : &rt_type_none;
		v = emit_node(e, at, "prim::Uninitialized", e->result, 0, 0);
	}
	for (int i = 0; i < e->results.n; i++)
		e->results.at[i]->type = e->result;
	return v;
}

static Closure *
emit_closure(Emit *e, const Tree *def)
{
	Emit outer = *e;
	Closure *c = new(e->cx->arena, Closure, 1);
	unsigned ways;

	if (def->kid[1]->n)
		fail(e->cx, def->at, "a nested function cannot have parameters");
	c->name = def->kid[0]->text;
	c->graph = graph_new(e->cx, c->name);
	e->graph = c->graph;
	e->declared = def->kid[2] != 0;
	e->result = def->kid[2] ? type_of_annotation(e->cx, e->unit, def->kid[2]) : 0;
	memset(&e->results, 0, sizeof e->results);
	e->in_loop = false;
	scope_push(e, c->graph->top)->closure = c;
	e->scope->outer = 0;
	ways = exit_run(e, emit_work(e, def->kid[3], 0));
	graph_add_output(c->graph, emit_result(e, def->at, ways));
	ssa_tidy(c->graph);
	*e = outer;
	scope_enter(e, e->scope);
	return c;
}

/* ---- any statement ----------------------------------------------------------------------------------------------- */

static void
delete_statement(Emit *e, const Tree *t)
{
	const Tree *target, *index;

	for (int i = 0; i < t->kid[0]->n; i++) {
		target = t->kid[0]->kid[i];
		if (target->kind == TREE_VAR) {
			scope_load(e, target->at, target->kid[0]->text);
			scope_put_error(e, target->kid[0]->text, t->at, arena_printf(e->cx->arena, "undefined value "
				"%s: it was deleted", target->kid[0]->text));
			continue;
		}
		if (target->kind != TREE_SUBSCRIPT)
			fail(e->cx, target->at, "del statements are only supported for deleting names or items");
		index = target->kid[1];
		if (index->n != 1 || index->kid[0]->kind == TREE_SLICE)
			fail(e->cx, target->at,
			     "del statements only support deletion at a single index, slicing is not supported "
			     "(see https://github.com/pytorch/pytorch/issues/31430)");
		emit_delete_item(e, target);
	}
}

/* Handles a def inside of a function. */
static void
closure(Emit *e, const Tree *t)
{
	Sugar *s = sugar_named(e, SUGAR_CLOSURE, t->kid[0]->text);

	s->closure = emit_closure(e, t);
	scope_put(e, t->kid[0]->text, s, false);
}

static unsigned
statement(Emit *e, const Tree *t, Work **next)
{
	switch (t->kind) {
	case TREE_EXPR_STMT:  emit_sugar(e, t->kid[0], 0); return WAY_FALL;
	case TREE_ASSIGN:     assignment(e, t); return WAY_FALL;
	case TREE_AUG_ASSIGN: augmented(e, t); return WAY_FALL;
	case TREE_IF:         return if_statement(e, t, next);
	case TREE_WHILE:      return loop(e, &(Walk){t->at, t->kid[0], 0, 0, t->kid[1], 0, 0});
	case TREE_FOR:        return for_statement(e, t, next);
	case TREE_WITH:       return with_statement(e, t);
	case TREE_RETURN:     return_statement(e, t); return WAY_RETURN;
	case TREE_RAISE:      raise_statement(e, t); return WAY_RAISE;
	case TREE_ASSERT:     return assertion(e, t);
	case TREE_BREAK:
	case TREE_CONTINUE:
		if (!e->in_loop)
			fail(e->cx, t->at, "'%s' outside loop", t->kind == TREE_BREAK ? "break" : "continue");
		return t->kind == TREE_BREAK ? WAY_BREAK : WAY_CONTINUE;
	case TREE_PASS:
	case TREE_IMPORT:     return WAY_FALL;
	case TREE_DELETE:     delete_statement(e, t); return WAY_FALL;
	case TREE_DEF:        closure(e, t); return WAY_FALL;
	default:
		fail(e->cx, t->at, "unexpected statement in a function");
	}
}

unsigned
emit_statement(Emit *e, Work *w, Work **next)
{
	unsigned ways;

	*next = w->next;
	if (!w->tree) {
		emit_assign_to(e, w->target, w->item, w->target->at);
		return WAY_FALL;
	}
	cx_enter(e->cx, w->tree->at);
	ways = statement(e, w->tree, next);
	cx_leave(e->cx);
	return ways;
}
