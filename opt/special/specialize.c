/*
 * Specialization: evaluates the prepared graph as far as a signature allows.  The new graph computes everything else.
 *
 * This is an online partial evaluator.  It walks the prepared graph in the order of its Code.  Each value of the old
 * graph has a value of the new one, and an IValue if it is known.  Known tensors have sizes and strides, and no data
 * (cx->meta), so that the kernels themselves infer sizes.  A node whose inputs are known and whose result is no tensor
 * becomes a constant.  An If with a known condition becomes its branch.  A short counted loop is unrolled.  Operators
 * with a body become their body.  Everything else is written to the new graph with the inferred types.
 *
 * If nothing can be inferred (for a list's element, an attribute, sizes that depend on data), a prim::BailOut right
 * after the node guards the profile's type.  The evaluator follows the Code step by step.  So the resume point is the
 * next pc, and it knows which values the live registers hold.  These are the attributes pc and regs.
 *
 *   y = aten::nonzero(x)   ->   y  = aten::nonzero(x)
 *                               y' = prim::BailOut[pc=7, regs=[3, 5]](y, h, t)        y' : Long(4, 2)
 *
 * Known tensors also show aliasing: two that share a storage here share it when the program runs.
 */
#include "specialize.h"

#include <string.h>

/* ---- prim -------------------------------------------------------------------------------------------------------- */

static void
eval_constant(Spec *s, Scope *c, Node *n)
{
	Node *m = spec_emit_copy(s, c, n);
	IValue v;

	m->out[0]->type = n->out[0]->type;
	if (value_constant(n->out[0], &v))
		known_set(s->k, m->out[0], rt_retain(v));
}

static void
eval_sequence(Spec *s, Scope *c, Node *n)
{
	Node *m = spec_emit_copy(s, c, n);
	const bool list = node_is(n, prim_ListConstruct);
	const Type *t = n->out[0]->type;
	RtTuple *tuple;

	known_at(s->k, m->out[0])->by_data = spec_reads_by_data(s, m);
	for (int i = 0; i < m->nin; i++)
		if (!known_is(s->k, m->in[i]))
			return;
	if (list) {
		Shadow h = { .list = rt_list_new(&s->k->rt, type_unshaped(s->cx, t)->of[0], m->nin) };

		for (int i = 0; i < m->nin; i++) {
			rt_list_push(&s->k->rt, h.list, rt_retain(known_at(s->k, m->in[i])->v));
			vec_push(s->cx->arena, &h.items, m->in[i]);
		}
		known_set(s->k, m->out[0], rt_ref(RT_LIST, h.list));
		for (int i = 0; i < m->nin; i++)
			known_at(s->k, m->out[0])->altered |= known_at(s->k, m->in[i])->altered;
		known_at(s->k, m->out[0])->mutable = spec_is_changed(c, n->out[0]);
		vec_push(s->cx->arena, &s->shadows, h);
		shapes_node(s->shapes, s->k, m, false);
		return;
	}
	tuple = rt_tuple_new(&s->k->rt, t->field ? t : NULL, m->nin);
	for (int i = 0; i < m->nin; i++)
		tuple->v[i] = rt_retain(known_at(s->k, m->in[i])->v);
	known_set(s->k, m->out[0], rt_ref(RT_TUPLE, tuple));
	shapes_node(s->shapes, s->k, m, false);
}

/* Returns the node that made v, if it is a TupleConstruct, or a ListConstruct whose list nothing writes to.  Else
 * null. */
static Node *
construction(Spec *s, Scope *c, const Value *from, const Value *v)
{
	if (node_is(v->node, prim_TupleConstruct))
		return v->node;
	if (node_is(v->node, prim_ListConstruct) && !spec_is_changed(c, from))
		return v->node;
	(void)s;
	return NULL;
}

/* Makes `out`, the new value for `from`, known: it is element i of a known tuple or list that no node of the graph
 * constructs. */
static void
know_part(Spec *s, Scope *c, const Value *from, Value *out, const Value *whole, int64_t i)
{
	const Known *k = known_at(s->k, whole);
	IValue part;

	if (!k->is || k->mutable || i < 0)
		return;
	if (k->v.tag == RT_TUPLE && i < k->v.u.tuple->n)
		part = k->v.u.tuple->v[i];
	else if (k->v.tag == RT_LIST && i < k->v.u.list->n)
		part = k->v.u.list->v[i];
	else
		return;
	known_set(s->k, out, rt_retain(part));
	known_at(s->k, out)->mutable = known_has_members(part) && spec_is_changed(c, from);
}

/* Evaluates n, whose results are the elements of its first input from index `first` on. */
static void
take_parts(Spec *s, Scope *c, Node *n, int64_t first)
{
	Node *m = spec_emit_copy(s, c, n);

	for (int i = 0; i < n->nout; i++)
		know_part(s, c, n->out[i], m->out[i], m->in[0], first + i);
	shapes_node(s->shapes, s->k, m, false);
	if (spec_fold(s, c, n, m))
		node_destroy(m);
	else
		spec_guard_outputs(s, c, n, m);
}

/* Finds the values that are now the elements of v: those it was constructed from, or the present elements of a list
 * that something writes to.  Returns false if they are not known. */
static bool
parts_now(Spec *s, Scope *c, const Value *from, const Value *v, Value ***part, int64_t *count)
{
	const Known *k = known_at(s->k, v);
	const Node *made = k->mutable && node_is(v->node, prim_ListConstruct) ? NULL : construction(s, c, from, v);
	const Shadow *h = !made && k->is && k->mutable ? spec_shadow(s, k->v) : NULL;

	*part = made ? made->in : h ? h->items.at : NULL;
	*count = made ? made->nin : h ? h->items.n : 0;
	return made || h;
}

static void
eval_unpack(Spec *s, Scope *c, Node *n)
{
	Value **part;
	int64_t count;

	if (parts_now(s, c, n->in[0], spec_value(c, n->in[0]), &part, &count) && count == n->nout) {
		for (int i = 0; i < n->nout; i++)
			spec_bind(s, c, n->out[i], part[i]);
		return;
	}
	take_parts(s, c, n, 0);
}

static void
eval_tuple_index(Spec *s, Scope *c, Node *n)
{
	Value *in = spec_value(c, n->in[0]);
	Node *made = construction(s, c, n->in[0], in);
	int64_t i = 0, count = n->in[0]->type->n;

	if (n->nin > 1 && !known_int(s->k, spec_value(c, n->in[1]), &i)) {
		spec_emit_copy(s, c, n);
		return;
	}
	if (n->nin == 1)
		i = node_int(n, "index", 0);
	i += i < 0 ? count : 0;
	if (made && i >= 0 && i < made->nin) {
		spec_bind(s, c, n->out[0], made->in[i]);
		return;
	}
	take_parts(s, c, n, i);
}

/* Binds n, a read of a list's element, to the element.  Returns false if the list's elements are not known. */
static bool
eval_item(Spec *s, Scope *c, Node *n)
{
	Value **part;
	int64_t i, count;

	if (n->in[0]->type->kind != TYPE_LIST || !known_int(s->k, spec_value(c, n->in[1]), &i) ||
	    !parts_now(s, c, n->in[0], spec_value(c, n->in[0]), &part, &count) || i >= count || i < -count)
		return false;
	spec_bind(s, c, n->out[0], part[i < 0 ? i + count : i]);
	return true;
}

static void
eval_cast(Spec *s, Scope *c, Node *n)
{
	Value *in = spec_value(c, n->in[0]);
	const Known *k = known_at(s->k, in);
	Node *m;

	if ((k->is && rt_may_be(k->v, type_unshaped(s->cx, n->out[0]->type))) ||
	    type_is_subtype(s->cx, in->type, n->out[0]->type)) {
		spec_bind(s, c, n->out[0], in);
		return;
	}
	m = spec_emit_copy(s, c, n);
	spec_guard_outputs(s, c, n, m);
}

static void
eval_isinstance(Spec *s, Scope *c, Node *n)
{
	const Attr *types = node_attr(n, "types");
	const Known *k = known_at(s->k, spec_value(c, n->in[0]));
	bool yes = false;

	if (!k->is || !types || types->kind != ATTR_TYPES) {
		spec_emit_copy(s, c, n);
		return;
	}
	for (int i = 0; i < types->ntypes; i++)
		yes |= rt_isinstance(k->v, types->types[i]);
	spec_bind_constant(s, c, n->out[0], rt_bool(yes), n->at);
}

/* Emits a fork, whose body runs generic code.  The attribute `function` holds the body's Code. */
static void
eval_fork(Spec *s, Scope *c, Node *n)
{
	const RtCode *code = s->fn->code;
	Function *body = new(s->cx->arena, Function, 1);
	Node *m = spec_emit_copy(s, c, n);
	Attr function = { .name = sym(s->cx, "function"), .kind = ATTR_FUNCTION, .fn = body };

	for (int pc = n->pc; c->top && pc >= 0 && pc < n->end && !body->code; pc++)
		if (code->insn[pc].op == RT_DO_FORK || code->insn[pc].op == RT_DO_AWAIT)
			body->code = (RtCode *)(uintptr_t)code->callee[code->insn[pc].arg];
	if (!body->code)
		fail_lacks(s->cx, n->at, "a specialization of this prim::fork");
	vec_push(s->cx->arena, &m->attrs, function);
	known_forget_mutable(s->k, NULL);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

/* Marks the attributes with this name as possibly changed.  Null stands for all attributes. */
static void
forget_state(Spec *s, const char *name)
{
	const State *st = s->profile->state;

	for (int i = 0; st && i < st->at.n; i++)
		s->state_written[i] |= !name || !strcmp(st->at.at[i].name, name);
}

/* Marks the attributes that the node may write to as changed.  Nodes in blocks are marked when they are walked, except
 * for a loop's body, which also sees the writes of the trip before. */
static void
forget_written(Spec *s, const Node *n, bool inside)
{
	if (node_is(n, prim_SetAttr))
		forget_state(s, node_str(n, "name"));
	else if (node_is_call(n))
		forget_state(s, NULL);
	for (int i = 0; i < n->nsub && (inside || node_is(n, prim_Loop)); i++)
		for NODES(m, n->sub[i])
			forget_written(s, m, true);
}

/* Reads an attribute, whose value is known from the signature until something writes to it.  Returns false if it is not
 * known. */
static bool
eval_get_attr(Spec *s, Scope *c, Node *n)
{
	const int i = c->top && s->profile->found ? state_index(s->profile->state, n) : -1;
	const Pattern *p = i >= 0 && !s->state_written[i] ? &s->profile->found[i] : NULL;
	const Known *object = known_at(s->k, spec_value(c, n->in[0]));
	Node *m;

	if (object->is && object->v.tag == RT_OBJECT && constant_may_be(object->v)) {
		const int slot = class_slot(object->v.u.obj->cls, node_str(n, "name"));

		if (slot < 0 || !rt_may_be(object->v.u.obj->slot[slot], type_unshaped(s->cx, n->out[0]->type)))
			return false;
		spec_bind_constant(s, c, n->out[0], rt_retain(object->v.u.obj->slot[slot]), n->at);
		return true;
	}
	if (p && p->form == PATTERN_VALUE) {
		spec_bind_constant(s, c, n->out[0], rt_retain(p->value), n->at);
		return true;
	}
	if (!p || p->form != PATTERN_TENSOR)
		return false;
	m = spec_emit_copy(s, c, n);
	known_set(s->k, m->out[0], known_meta(s->k, p->type));
	shapes_type(s->shapes, s->k, m->out[0], p->type);
	return true;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static void
eval_node(Spec *s, Scope *c, Node *n)
{
	forget_written(s, n, false);
	if (node_is(n, prim_Constant))
		eval_constant(s, c, n);
	else if (node_is(n, prim_GetAttr) && eval_get_attr(s, c, n))
		return;
	else if (node_is(n, aten___getitem__) && eval_item(s, c, n))
		return;
	else if (node_is(n, prim_If))
		spec_if(s, c, n);
	else if (node_is(n, prim_Loop))
		spec_loop(s, c, n);
	else if (node_is(n, prim_TupleConstruct) || node_is(n, prim_ListConstruct))
		eval_sequence(s, c, n);
	else if (node_is(n, prim_TupleUnpack) || node_is(n, prim_ListUnpack))
		eval_unpack(s, c, n);
	else if (node_is(n, prim_TupleIndex))
		eval_tuple_index(s, c, n);
	else if (node_is(n, prim_unchecked_cast))
		eval_cast(s, c, n);
	else if (node_is(n, prim_isinstance))
		eval_isinstance(s, c, n);
	else if (n->op)
		spec_op(s, c, n);
	else if (n->nsub)
		fail_lacks(s->cx, n->at, "a specialization of %s", n->kind->name);
	else if (node_is(n, prim_fork) || node_is(n, prim_awaitable))
		eval_fork(s, c, n);
	else {
		Node *m = spec_emit_copy(s, c, n);

		if (node_is(n, prim_RaiseException))
			shapes_fail(s->shapes, n, m->at);
		if (node_is_call(n))
			known_forget_mutable(s->k, NULL);
		spec_guard_outputs(s, c, n, m);
	}
}

/* May a node in the block turn gradients on or off? */
static bool
block_sets_grad(const Block *b)
{
	for ALL_NODES(n, b)
		if (node_is(n, aten_set_grad_enabled) || node_is_call(n))
			return true;
	return false;
}

static void
eval_block(Spec *s, Scope *c, Block *b)
{
	for NODES(n, b)
		eval_node(s, c, n);
}

/* May the block receive tensors with padded rows from code that it calls, or from an earlier call?  See
 * attention.def. */
static bool
gets_padding(Cx *cx, const Block *b)
{
	static const Symbol from[] = { prim_SetAttr, prim_CallMethod, prim_CallFunction, aten_wait,
					    prim_awaitable_wait };
	bool any = false;

	for (size_t i = 0; i < sizeof from / sizeof *from; i++)
		any |= block_has(b, from[i]);
	return any && op_find(cx, aten__nested_tensor_from_mask->name, "")->met;
}

Graph *
specialize(Cx *cx, Function *fn, const Profile *profile, const Pattern *args, Shapes *shapes)
{
	const int first = function_first(fn);
	Graph *from = fn->prepared;
	Spec s = { .cx = cx, .fn = fn, .profile = profile, .to = graph_new(cx, from->name),
		   .walk = eval_block, .known = pass_outside(cx, "known") };
	Scope top = { .from = from, .value = new(cx->arena, Value *, from->nvalue), .alias = alias_db(from, cx->arena),
		.top = true };

	s.k = known_table(cx);
	s.shapes = shapes;
	s.state_written = new(cx->arena, bool, profile->state ? profile->state->at.n + 1 : 1);
	s.grad_stays = !block_sets_grad(from->top);
	s.padded = gets_padding(cx, from->top);
	s.in_register = new(cx->arena, Value *, fn->code->nreg + 1);
	s.live = code_live(cx->arena, fn->code);
	graph_set_insert_end(s.to, s.to->top);
	for (int i = 0; i < graph_ninputs(from); i++) {
		const Value *in = graph_inputs(from)[i];
		Value *to = graph_add_input(s.to, in->type, in->name);
		IValue v;

		shapes_input(shapes, to);
		if (i >= first && args[i - first].form == PATTERN_VALUE) {
			spec_bind_constant(&s, &top, in, rt_retain(args[i - first].value), (Range){ 0 });
			continue;
		}
		if (i >= first && known_of_pattern(s.k, &args[i - first], type_unshaped(cx, in->type), &v)) {
			known_set(s.k, to, v);
			known_at(s.k, to)->mutable = known_has_members(v) && spec_is_changed(&top, in);
		}
		spec_bind(&s, &top, in, to);
	}
	eval_block(&s, &top, from->top);
	for (int i = 0; i < from->top->ret->nin; i++)
		graph_add_output(s.to, spec_fresh_list(&s, spec_as_in_model(&s, &top,
						  spec_value(&top, from->top->ret->in[i]), from->top->ret->at),
						  from->top->ret->at));
	return s.to;
}
