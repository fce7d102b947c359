/*
 * Lowers a graph to RtCode, which the interpreter runs and in which a failed guard resumes.
 *
 * Registers. A value gets a register where it is defined and frees it at its last use (lastuse.c). The operand's top
 * bit marks the last use: the interpreter then moves the value instead of copying it. Memory is thus released early.
 * Values that die without a use, such as unused outputs, are cleared if they can hold memory.
 *
 * Each called function is lowered once. A reference to its Code may be taken before the Code is filled in, so recursion
 * needs no special case. Methods called through an interface are lowered for all classes that implement it.
 */
#include "lower.h"

#include <stdlib.h>
#include <string.h>

static void
lacks(Lower *l, const Node *n, const char *name, const char *schema)
{
	if (!l->work->lacking)
		fail_lacks(l->cx, n->at, "no kernel for %s", name);
	for (int i = 0; i < l->work->lacking->n; i++)
		if (!strcmp(l->work->lacking->at[i].name, name))
			return;
	vec_push(l->cx->arena, l->work->lacking, ((Lacking){ name, n->at, schema }));
}

/* Emits a RAISE that defines the node's outputs, so that lowering continues and finds all missing operators. */
static void
lower_lacking(Lower *l, Node *n, const char *name, const char *schema)
{
	lacks(l, n, name, schema);
	insn_node(l, n, RT_DO_RAISE, 0);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void
emit_call(Lower *l, Node *n, Function *callee, int first)
{
	insn_emit(l, RT_DO_CALL, (uint32_t)index_of_callee(l, lower_code_of(l->work, callee)));
	insn_use_from(l, n, first);
	insn_define_all(l, n);
}

static void
lower_call_method(Lower *l, Node *n)
{
	const char *name = node_str(n, "name");
	const Type *self = n->in[0]->type;
	Function *m = node_function(n);

	if (m) {
		emit_call(l, n, m, 0);
		return;
	}
	insn_node(l, n, RT_DO_CALL_METHOD, need_method(l, self, name));
}

static void
lower_call_function(Lower *l, Node *n)
{
	Function *fn = node_function(n);

	if (fn)
		emit_call(l, n, fn, !node_attr(n, "function"));
	else
		insn_node(l, n, RT_DO_CALL_VALUE, 0);
}

static void
lower_fork(Lower *l, Node *n)
{
	Function *fn = new(l->cx->arena, Function, 1);

	fn->name = arena_printf(l->cx->arena, "%s.<forked function>", l->fn->name);
	fn->graph = node_attr(n, "Subgraph")->g;
	insn_node(l, n, node_is(n, prim_fork) ? RT_DO_FORK : RT_DO_AWAIT,
		  (uint32_t)index_of_callee(l, lower_code_of(l->work, fn)));
}

static const char *
full_name(Lower *l, const Op *op)
{
	return *op->overload ? arena_printf(l->cx->arena, "%s.%s", op->name, op->overload) : op->name;
}

/* Lowers an in-place or out= operator whose base has a body: calls the body, then the operator's kernel, which stores
 * the results. */
static void
lower_stored_body(Lower *l, Node *n, Op *base)
{
	const Schema *row = op_schema(l->cx, n->op), *of = op_schema(l->cx, base);
	uint32_t *in = new(l->cx->arena, uint32_t, of->nargs + 1), *result = new(l->cx->arena, uint32_t, of->nrets + 1);
	int none = -1;

	for (int i = 0; i < of->nargs; i++) {
		const int at = schema_find(row, of->args[i].name);

		if (at < 0 && none < 0)
			none = (int)insn_constant(l, rt_none());
		in[i] = at < 0 ? (uint32_t)none : (uint32_t)n->in[at]->reg;
	}
	insn_emit(l, RT_DO_CALL, (uint32_t)index_of_callee(l, lower_code_of(l->work, base->function)));
	for (int i = 0; i < of->nargs; i++)
		insn_in(l, in[i]);
	for (int i = 0; i < of->nrets; i++)
		insn_out(l, result[i] = (uint32_t)reg_take(l));
	if (none >= 0)
		reg_free(l, none);
	insn_emit(l, RT_DO_KERNEL, (uint32_t)index_of_kernel(l, n->op, full_name(l, n->op)));
	for (int i = 0; i < of->nrets; i++) {
		insn_in(l, result[i] | RT_LAST);
		reg_free(l, (int)result[i]);
	}
	insn_use_from(l, n, 0);
	insn_define_all(l, n);
}

/* Packs the inputs after the schema's arguments into a new list, and returns its register. Inputs are copied, since a
 * value may also be a fixed argument. */
static int
pack_varargs(Lower *l, Node *n, int nfixed)
{
	const int list = reg_take(l);

	insn_emit(l, RT_DO_NEW_LIST, (uint32_t)index_of_type(l, &rt_type_any));
	for (int i = nfixed; i < n->nin; i++)
		insn_in(l, (uint32_t)n->in[i]->reg);
	insn_out(l, (uint32_t)list);
	return list;
}

/* Lowers a call of the operator's kernel, or of its body if it has one. */
static void
lower_row(Lower *l, Node *n, Function *body)
{
	const Schema *s = op_schema(l->cx, n->op);
	const int nfixed = s->vararg ? s->nargs : n->nin;
	const int list = s->vararg ? pack_varargs(l, n, nfixed) : -1;

	if (body)
		insn_emit(l, RT_DO_CALL, (uint32_t)index_of_callee(l, lower_code_of(l->work, body)));
	else
		insn_emit(l, RT_DO_KERNEL, (uint32_t)index_of_kernel(l, n->op, full_name(l, n->op)));
	for (int i = 0; i < nfixed; i++)
		insn_in(l, s->vararg ? (uint32_t)n->in[i]->reg : insn_use(l, n, i));
	if (list >= 0)
		insn_in(l, (uint32_t)list | RT_LAST);
	insn_define_all(l, n);
	if (node_is_loose(n) && n->out[0]->uses.n) {
		insn_emit(l, RT_DO_CAST, (uint32_t)index_of_type(l, type_unshaped(l->cx, n->out[0]->type)));
		insn_in(l, (uint32_t)n->out[0]->reg);
		insn_out(l, (uint32_t)n->out[0]->reg);
	}
	if (list < 0)
		return;
	reg_free(l, list);
	insn_emit(l, RT_DO_CLEAR, 0);
	for (int i = 0; i < n->nin; i++)
		if (l->last[n->id].input[i])
			insn_in(l, RT_REG(insn_use(l, n, i)));
	if (!vec_last(&l->insn).nin)
		l->insn.n--;
}

static void
lower_op(Lower *l, Node *n)
{
	Op *body = op_body(l->cx, n->op);

	if (body && !body->function)
		lower_lacking(l, n, full_name(l, n->op), op_schema_text(l->cx, n->op));
	else if (body && body != n->op)
		lower_stored_body(l, n, body);
	else if (body)
		lower_row(l, n, body->function);
	else if (n->op->kernel)
		lower_row(l, n, NULL);
	else
		lower_lacking(l, n, full_name(l, n->op), op_schema_text(l->cx, n->op));
}

/* ---- values, tuples, lists, objects ------------------------------------------------------------------------------ */

static void
lower_constant(Lower *l, Node *n)
{
	Function *fn = node_function(n);
	IValue v = rt_none();
	RtFunction *f;

	if (l->last[n->id].unused[0])
		return;
	if (fn) {
		f = rt_function_new(cx_rt(l->cx), lower_code_of(l->work, fn), 0);
		if (!f)
			BUG("no memory for a function value");
		v = rt_ref(RT_FUNCTION, f);
	} else if (!value_constant(n->out[0], &v)) { /* Unknown fallback function of a graph of PyTorch's executor. */
		lower_lacking(l, n, "a constant without a value", "");
		return;
	}
	insn_node(l, n, RT_DO_CONSTANT, (uint32_t)index_of_constant(l, v));
}

static void
lower_uninitialized(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_UNSET, (uint32_t)index_of_type(l, type_unshaped(l->cx, n->out[0]->type)));
}

static void
lower_cast(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_CAST, (uint32_t)index_of_type(l, type_unshaped(l->cx, n->out[0]->type)));
}

static void
lower_tuple(Lower *l, Node *n)
{
	const Type *t = n->out[0]->type;

	insn_node(l, n, RT_DO_TUPLE, t->field ? (uint32_t)index_of_type(l, t) + 1 : 0);
}

static void
lower_tuple_unpack(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_UNPACK, 0);
}

static void
lower_tuple_index(Lower *l, Node *n)
{
	int64_t i;

	if (!value_int(n->in[1], &i)) {
		if (n->op)
			lower_op(l, n);
		else
			lower_lacking(l, n, "prim::TupleIndex with an index that is no constant", "");
		return;
	}
	if (i < 0)
		i += n->in[0]->type->n;
	insn_emit(l, RT_DO_INDEX, (uint32_t)(int32_t)i);
	insn_in(l, insn_use(l, n, 0));
	insn_define_all(l, n);
}

static void
lower_tuple_slice(Lower *l, Node *n)
{
	const int64_t lo = node_int(n, "beg", 0), hi = node_int(n, "end", 0);

	if (lo < 0 || hi < lo || hi > UINT16_MAX)
		fail_lacks(l->cx, n->at, "a slice %lld:%lld of a tuple", (long long)lo, (long long)hi);
	insn_node(l, n, RT_DO_TUPLE_SLICE, (uint32_t)(lo << 16 | hi));
}

static void
lower_list(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_NEW_LIST, (uint32_t)index_of_type(l, n->out[0]->type->n ? n->out[0]->type->of[0]
									       : &rt_type_any));
}

static void
lower_list_unpack(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_LIST_UNPACK, 0);
}

static void
lower_dict(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_NEW_DICT, (uint32_t)index_of_type(l, n->out[0]->type));
}

static int
slot_of(Lower *l, const Node *n)
{
	const Type *t = n->in[0]->type;
	const int slot = t->cls ? class_slot(t->cls, node_str(n, "name")) : -1;

	if (slot < 0)
		fail(l->cx, n->at, "%s has no attribute %s", type_python(l->cx, t), node_str(n, "name"));
	return slot;
}

static void
lower_attr(Lower *l, Node *n, RtOpcode op)
{
	const SlotUse use = { l->code, l->insn.n, slot_of(l, n) };

	vec_push(l->cx->arena, &class_info(n->in[0]->type)->slot_uses, use);
	insn_node(l, n, op, (uint32_t)use.slot);
}

static void
lower_get_attr(Lower *l, Node *n)
{
	lower_attr(l, n, RT_DO_GET_ATTR);
}

static void
lower_set_attr(Lower *l, Node *n)
{
	lower_attr(l, n, RT_DO_SET_ATTR);
}

bool
slot_use_holds(const SlotUse *u)
{
	const RtInsn *i = u->pc < u->code->ninsn ? &u->code->insn[u->pc] : NULL;

	return i && (i->op == RT_DO_GET_ATTR || i->op == RT_DO_SET_ATTR) && i->arg == (uint32_t)u->slot;
}

static void
lower_object(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_NEW_OBJECT, (uint32_t)index_of_type(l, n->out[0]->type));
}

static void
lower_isinstance(Lower *l, Node *n)
{
	const Attr *a = node_attr(n, "types");
	const Type *t = a->ntypes == 1 ? a->types[0] : type_union(l->cx, a->types, a->ntypes);

	insn_node(l, n, RT_DO_ISINSTANCE, (uint32_t)index_of_type(l, t));
}

static void
lower_raise(Lower *l, Node *n)
{
	uint32_t none = n->nin < 2 ? insn_constant(l, rt_none()) : 0;

	insn_emit(l, RT_DO_RAISE, 0);
	insn_use_from(l, n, 0);
	if (n->nin < 2) {
		insn_in(l, none | RT_LAST);
		reg_free(l, (int)none);
	}
}

static void
lower_wait(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_WAIT, (uint32_t)index_of_type(l, type_unshaped(l->cx, n->out[0]->type)));
}

static void
lower_profile(Lower *l, Node *n)
{
	insn_node(l, n, RT_DO_PROFILE, (uint32_t)node_int(n, "index", 0));
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static const struct { Symbol kind; void (*lower)(Lower *, Node *); } kinds[] = {
	{ prim_Constant, lower_constant },
	{ prim_If, lower_if },
	{ prim_Loop, lower_loop },
	{ prim_CallMethod, lower_call_method },
	{ prim_CallFunction, lower_call_function },
	{ prim_GetAttr, lower_get_attr },
	{ prim_SetAttr, lower_set_attr },
	{ prim_CreateObject, lower_object },
	{ prim_TupleConstruct, lower_tuple },
	{ prim_TupleUnpack, lower_tuple_unpack },
	{ prim_TupleIndex, lower_tuple_index },
	{ prim_TupleSlice, lower_tuple_slice },
	{ prim_ListConstruct, lower_list },
	{ prim_ListUnpack, lower_list_unpack },
	{ prim_DictConstruct, lower_dict },
	{ prim_isinstance, lower_isinstance },
	{ prim_unchecked_cast, lower_cast },
	{ prim_unchecked_unwrap_optional, lower_cast },
	{ prim_Uninitialized, lower_uninitialized },
	{ prim_RaiseException, lower_raise },
	{ prim_fork, lower_fork },
	{ prim_awaitable, lower_fork },
	{ aten_wait, lower_wait },
	{ prim_awaitable_wait, lower_wait },
	{ prim_Enter, lower_enter },
	{ prim_Exit, lower_exit },
	{ prim_profile, lower_profile },
};

static void
lower_node(Lower *l, Node *n)
{
	l->at = n->at;
	l->inlined = n->inlined;
	n->pc = l->insn.n;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (node_is(n, kinds[i].kind)) {
			kinds[i].lower(l, n);
			insn_clear_dead(l, n);
			n->end = l->insn.n;
			return;
		}
	if (n->op)
		lower_op(l, n);
	else
		lower_lacking(l, n, n->kind->name, "");
	insn_clear_dead(l, n);
	n->end = l->insn.n;
}

static void
forget_registers(Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		b->param->out[i]->reg = -1;
	for NODES(n, b) {
		n->pc = -1;
		for (int i = 0; i < n->nout; i++)
			n->out[i]->reg = -1;
		for (int i = 0; i < n->nsub; i++)
			forget_registers(n->sub[i]);
	}
}

static void
finish(Lower *l)
{
	RtCode *c = l->code;

	c->insn = l->insn.at;
	c->operand = l->operand.at;
	c->kernel = l->kernel.at;
	c->kernel_name = l->kernel_name.at;
	c->kernel_use = l->kernel_use.at;
	c->constant = l->constant.at;
	c->type = l->type.at;
	c->callee = l->callee.at;
	c->string = l->string.at;
	c->place = l->place.at;
	c->text = l->text.at;
	c->ninsn = l->insn.n;
	c->nreg = l->busy.n;
	c->narg = graph_ninputs(l->graph);
	c->nresult = l->graph->top->ret->nin;
	c->nkernel = l->kernel.n;
	c->nconstant = l->constant.n;
	c->ntype = l->type.n;
	c->ncallee = l->callee.n;
	c->nstring = l->string.n;
	c->nplace_name = l->place.n;
}

/* Returns a copy of the index, for code_place. */
static const Map *
index_kept(const Lower *l)
{
	Map *m = new(l->cx->arena, Map, 1);

	*m = l->index;
	return m;
}

static Graph *
graph_of(Function *fn)
{
	if (fn->prepared)
		return fn->prepared;
	if (!fn->graph)
		BUG("%s has no graph", fn->name);
	return fn->graph;
}

static void
lower_function(Work *w, Function *fn)
{
	Graph *g = graph_of(fn);
	Lower l = { .work = w, .cx = w->cx, .fn = fn, .graph = g, .code = fn->code, .index = { .arena = w->cx->arena },
		    .node = lower_node };

	forget_registers(g->top);
	l.last = last_uses(g, use_is_static);
	l.hint = new(w->cx->arena, int, g->nvalue + 1);
	vec_push(w->cx->arena, &l.place, (RtPlaceName){0});
	vec_push(w->cx->arena, &l.text, 0);
	for (int i = 0; i < graph_ninputs(g); i++)
		reg_define(&l, graph_inputs(g)[i]);
	g->top->param->pc = 0;
	insn_clear_dead(&l, g->top->param);
	lower_nodes(&l, g->top);
	l.at = g->top->ret->at;
	g->top->ret->pc = insn_emit(&l, RT_DO_RETURN, 0);
	insn_use_from(&l, g->top->ret, 0);
	lower_handlers(&l);
	finish(&l);
	fn->places = index_kept(&l);
}

/* ---- methods called through interfaces --------------------------------------------------------------------------- */

static int
method_index(const RtClass *k, const char *name)
{
	for (int i = 0; i < k->nmethod; i++)
		if (!strcmp(k->method[i], name))
			return i;
	return -1;
}

static void
add_method(Work *w, RtClass *k, const char *name, Function *m)
{
	const char **names = new(w->cx->arena, const char *, k->nmethod + 1);
	const RtCode **codes = new(w->cx->arena, const RtCode *, k->nmethod + 1);

	for (int i = 0; i < k->nmethod; i++) {
		names[i] = k->method[i];
		codes[i] = k->code[i];
	}
	names[k->nmethod] = name;
	codes[k->nmethod++] = lower_code_of(w, m);
	k->method = names;
	k->code = codes;
}

/* Adds the method to every class that may implement the interface. Adds methods without code to the list of functions
 * to lower. */
static void
resolve_virtual(Work *w, const Type *interface, const char *name)
{
	const char *key = lower_key_of(w, interface, name);
	const Type *t;

	for (int i = 0; (t = type_named_at(w->cx, i)); i++) {
		Function *m = t->kind == TYPE_CLASS && t->cls->info ? class_method(t->cls->info, name) : NULL;
		int at;

		if (!m || (interface->kind == TYPE_INTERFACE && !type_is_subtype(w->cx, t, interface)) ||
		    (interface->kind == TYPE_CLASS && t != interface))
			continue;
		at = method_index(t->cls, key);
		if (at < 0)
			add_method(w, t->cls, key, m);
		else
			t->cls->code[at] = lower_code_of(w, m);
	}
}

/* Lowers the function, unless it was lowered before, and all functions that it needs. */
static RtCode *
lower_all(Work *w, Function *fn)
{
	RtCode *code = lower_code_of(w, fn);

	for (int done = 0, resolved = 0; done < w->todo.n || resolved < w->virtual_name.n;) {
		if (done < w->todo.n) {
			lower_function(w, w->todo.at[done++]);
		} else {
			resolve_virtual(w, w->virtual_type.at[resolved], w->virtual_name.at[resolved]);
			resolved++;
		}
	}
	return code;
}

RtCode *
code_lower(Cx *cx, Function *fn, LackingVec *lacking)
{
	return lower_all(&(Work){ .cx = cx, .lacking = lacking }, fn);
}

RtCode *
code_lower_unchanged(Cx *cx, Function *fn, LackingVec *lacking)
{
	return lower_all(&(Work){ .cx = cx, .lacking = lacking, .unchanged = true }, fn);
}

int
value_register(const Value *v)
{
	return v->reg;
}
