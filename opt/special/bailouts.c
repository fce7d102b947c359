/*
 * Guards: check facts that only the profile shows, right after the node that computes the value.
 *
 * The inputs of a prim::BailOut are the value and the contents of the registers that are live at the next pc of the
 * generic code.  If the value differs, the generic code continues there.  So the walk must know the values in those
 * registers.
 *
 * An int or bool that was the same in several runs is guarded if it decides something: a branch, a trip count, a
 * tensor's size.  A branch that no run took then has no code in the specialized graph.  One run is enough if the other
 * branch raises.  The guard has no result: after it the number is a constant.
 *
 *   c = aten::Bool(t)      ->   c = aten::Bool(t)
 *   If(c): A, else: B           prim::BailOut[pc=7, regs=[3], value=True](c, h)
 *                               A
 *
 * A large size that depends on data (how many boxes are kept) gets no guard if only one run has seen it, since the next
 * input is likely to have another.  Code after it is correct without the number, by calls of the runtime.
 */
#include "specialize.h"

enum {
	FLEETING_SIZE = 64,      /* a size that depends on data and is larger than this is not guarded after one run */
	STEADY_RUNS = 2,         /* number of runs with the same value after which it becomes a constant */
	DECIDES_DEPTH = 6,
};

/* Can another live register, or code outside, reach the list in regs[i], so that its identity matters? */
static bool
is_shared(Spec *s, Scope *c, const int *regs, int n, int i)
{
	const Value *v = s->in_register[regs[i]];

	if (alias_escapes(c->alias, v))
		return true;
	for (int k = 0; k < n; k++)
		if (k != i && s->in_register[regs[k]] && alias_may_contain(c->alias, s->in_register[regs[k]], v))
			return true;
	return false;
}

/* Adds the values that are live at pc as inputs of exit.  Sets *regs to their registers.  Returns false if a value is
 * not known. */
static bool
live_values(Spec *s, Scope *c, int pc, IValue *regs, Node *exit)
{
	const RtCode *code = s->fn->code;
	int *live = new(s->cx->arena, int, code->nreg + 1);
	const int n = code_live_at(s->live, pc, live);
	RtList *list = rt_list_new(&s->k->rt, &rt_type_int, n);

	for (int i = 0; i < n; i++) {
		const Value *from = s->in_register[live[i]];
		Value *v;

		if (!from || !c->value[from->id])
			return false;
		v = spec_as_in_model(s, c, c->value[from->id], exit->at);
		node_add_input(exit, known_at(s->k, v)->mutable && !is_shared(s, c, live, n, i) ?
			       spec_fresh_list(s, v, exit->at) : v);
		rt_list_push(&s->k->rt, list, rt_int(live[i]));
	}
	*regs = rt_ref(RT_LIST, list);
	return true;
}

/* Emits after n the BailOut that guards v.  Null if that is impossible. */
static Node *
way_out(Spec *s, Scope *c, const Node *n, Value *v, int nout)
{
	Node *exit;
	IValue regs;

	if (!c->top || n->pc < 0)
		return NULL;
	exit = node_new(s->to, sym(s->cx, "prim::BailOut"), n->at, nout);
	node_add_input(exit, v);
	if (!live_values(s, c, n->end, &regs, exit))
		return NULL;
	node_set_int(exit, "pc", n->end);
	node_set_value(exit, "regs", regs);
	s->nguard++;
	return graph_insert(s->to, exit);
}

static const ValueProfile *
profile_of(const Spec *s, const Value *from)
{
	static const ValueProfile never;

	return from->id < s->profile->nvalue ? &s->profile->value[from->id] : &never;
}

/* Guards that a tensor has the profile's type.  After the guard the type is known. */
static void
guard_type(Spec *s, Scope *c, const Node *n, const Value *from)
{
	const ValueProfile *p = profile_of(s, from);
	Value *v = c->value[from->id];
	Node *exit;

	if (!p->count || p->mixed || p->none || !type_is_complete(p->type) || !(exit = way_out(s, c, n, v, 1)))
		return;
	exit->out[0]->name = v->name;
	known_set(s->k, exit->out[0], known_meta(s->k, p->type));
	shapes_type(s->shapes, s->k, exit->out[0], p->type);
	spec_bind(s, c, from, exit->out[0]);
}

/* Returns the type of m, an element of a tensor at an unknown index.  It is the type of the element at index 0.  Null
 * if m is no such element.  The value itself must not become known, or it would count as the element at index 0. */
static const Type *
type_at_any_index(Spec *s, const Node *m)
{
	const RtTensor *x = node_is(m, aten_select) ? known_tensor(s->k, m->in[0]) : NULL;
	IValue out, args[] = { rt_none(), rt_none(), rt_int(0) };

	if (!x || !known_is(s->k, m->in[1]) || !shapes_has(s->shapes, m->in[0]) || !shapes_has(s->shapes, m->in[1]))
		return NULL;
	for (int i = 0; i < 2; i++)
		args[i] = known_at(s->k, m->in[i])->v;
	return known_run(s->k, m->op, args, &out, 1, true) ? type_of_tensor(s->cx, out.u.t) : NULL;
}

/* Guards that m's result has the type of the element at index 0.  Every valid index passes this guard. */
static bool
guard_element(Spec *s, Scope *c, const Node *n, const Node *m)
{
	const Type *type = type_at_any_index(s, m);
	Node *exit = type ? way_out(s, c, n, m->out[0], 1) : NULL;

	if (!exit)
		return false;
	exit->out[0]->name = m->out[0]->name;
	known_set(s->k, exit->out[0], known_meta(s->k, type));
	shapes_element(s->shapes, s->k, exit->out[0], m);
	spec_bind(s, c, n->out[0], exit->out[0]);
	return true;
}

/* Do m's sizes depend on data?  If so, its kernel could not compute them although all arguments are known. */
static bool
depends_on_data(Spec *s, const Node *m)
{
	bool all = m->op != NULL;

	for (int i = 0; i < m->nin; i++)
		all &= known_is(s->k, m->in[i]);
	return all || spec_reads_by_data(s, m);
}

/* Is it a size that another run is unlikely to repeat: a large count, seen in one run? */
static bool
is_fleeting(Spec *s, const Value *from)
{
	const Type *t = profile_of(s, from)->type;

	if (s->profile->nrun > 1 || !t || !type_is_complete(t))
		return false;
	for (int i = 0; i < t->tensor->rank; i++)
		if (t->tensor->dims[i] > FLEETING_SIZE)
			return true;
	return false;
}

/* ---- numbers ------------------------------------------------------------------------------------------ */

/* Is v the condition of an If that raises in the other branch? */
static bool
averts_error(const Value *v, bool is)
{
	for (int i = 0; i < v->uses.n; i++)
		if (node_is(v->uses.at[i].node, prim_If) && block_raises(v->uses.at[i].node->sub[is]))
			return true;
	return false;
}

static bool
is_whole(const Type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_BOOL;
}

/* Is the number worth a guard: does it decide a branch, a trip count, a tensor's size, or how one is computed? */
static bool
decides(const Value *v, int depth)
{
	for (int i = 0; i < v->uses.n && depth; i++) {
		const Use *u = &v->uses.at[i];
		const Schema *schema = node_schema(u->node);

		if (node_is(u->node, prim_If) || (node_is(u->node, prim_Loop) && u->index < 2))
			return true;
		if (schema && u->index < schema->nargs && schema->nrets && schema->rets[0].type->kind == TYPE_TENSOR &&
		    is_whole(schema->args[u->index].type))
			return true;
		for (int k = 0; k < u->node->nout && !u->node->nsub; k++) {
			const Type *t = u->node->out[k]->type;

			if ((is_whole(t) && decides(u->node->out[k], depth - 1)) ||
			    (t->kind == TYPE_LIST && is_whole(t->of[0])))
				return true;
		}
	}
	return false;
}

static void mark_unsteady(Spec *s, const Block *b);

static bool
is_unsteady(Spec *s, const Node *n)
{
	bool is = node_is(n, prim_GetAttr) || node_is_nondeterministic(n) || node_is_call(n);

	for (int i = 0; i < n->nin; i++)
		is |= s->unsteady[n->in[i]->id];
	for (int b = 0; b < n->nsub; b++) {
		for (int i = 0; i < n->sub[b]->param->nout; i++)
			s->unsteady[n->sub[b]->param->out[i]->id] = is;
		mark_unsteady(s, n->sub[b]);
		for (int i = 0; i < n->sub[b]->ret->nin; i++)
			is |= s->unsteady[n->sub[b]->ret->in[i]->id];
	}
	return is;
}

/* Marks values that depend on written attributes or on random numbers.  They were the same in all profiled runs only
 * because each run started anew. */
static void
mark_unsteady(Spec *s, const Block *b)
{
	for NODES(n, b) {
		const bool is = is_unsteady(s, n);

		for (int i = 0; i < n->nout; i++)
			s->unsteady[n->out[i]->id] = is;
	}
}

static bool
stays_same(Spec *s, const Value *v)
{
	if (!s->unsteady) {
		s->unsteady = new(s->cx->arena, bool, s->fn->prepared->nvalue);
		mark_unsteady(s, s->fn->prepared->top);
	}
	return !s->unsteady[v->id];
}

/* Guards that a number has the value that it had in every run.  After the guard it is known. */
static void
guard_value(Spec *s, Scope *c, const Node *n, const Value *from)
{
	const ValueProfile *p = profile_of(s, from);
	const IValue is = from->type->kind == TYPE_BOOL ? rt_bool(p->i != 0) : rt_int(p->i);
	Node *exit;

	if (!c->top || !p->count || p->mixed || p->none || !p->int_same || p->i == INT64_MIN)
		return;
	if (!decides(from, DECIDES_DEPTH) || !stays_same(s, from))
		return;
	if (s->profile->nrun < STEADY_RUNS && !(is.tag == RT_BOOL && averts_error(from, is.u.i)))
		return;
	if (!(exit = way_out(s, c, n, c->value[from->id], 0)))
		return;
	node_set_value(exit, "value", is);
	spec_bind_constant(s, c, from, is, n->at);
}

/* ---- results ------------------------------------------------------------------------------------------ */

void
spec_guard_outputs(Spec *s, Scope *c, const Node *n, const Node *m)
{
	for (int i = 0; i < n->nout; i++) {
		Value *out = c->value[n->out[i]->id];

		if (known_is(s->k, out))
			continue;
		known_at(s->k, out)->by_data = depends_on_data(s, m);
		if (guard_element(s, c, n, m))
			continue;
		if (is_whole(n->out[i]->type))
			guard_value(s, c, n, n->out[i]);
		else if (!known_at(s->k, out)->by_data || !is_fleeting(s, n->out[i]))
			guard_type(s, c, n, n->out[i]);
	}
}

void
spec_guard_joined(Spec *s, Scope *c, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		if (known_is(s->k, c->value[n->out[i]->id]))
			continue;
		if (is_whole(n->out[i]->type))
			guard_value(s, c, n, n->out[i]);
		else if (node_is(n, prim_If) && s->profile->nrun >= STEADY_RUNS)
			guard_type(s, c, n, n->out[i]);
	}
}
