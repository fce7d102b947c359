/*
 * Guards: what the profile says and nothing implies, checked right after the node that makes it.
 *
 * A prim::BailOut has the value, and what is in the registers that are live at the next pc of the generic code, which goes
 * on there when the value is different.  So the walk must have at hand what those registers hold.
 *
 * A large size that follows from data (how many boxes are kept) is no guard's business when one run has seen it: the next
 * input has another one, and the code behind stays right without it, in calls of the runtime.
 */
#include "specialize.h"

enum { FLEETING_SIZE = 64 };     /* a larger size that follows from data is not guarded after one run */

/* May the list in regs[i] be met by another way, so that it matters which list it is? */
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

/* The values that are live at pc, in order of regs; false when a register's content is not at hand. */
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
		node_add_input(exit, known_at(s->k, v)->mutable && !is_shared(s, c, live, n, i) ? spec_fresh_list(s, v, exit->at) : v);
		rt_list_push(&s->k->rt, list, rt_int(live[i]));
	}
	*regs = rt_ref(RT_LIST, list);
	return true;
}

/* A guard that v is what the profile says; from here on it is. */
static void
guard(Spec *s, Scope *c, const Node *n, const Value *from)
{
	const ValueProfile *p = from->id < s->profile->nvalue ? &s->profile->value[from->id] : NULL;
	Value *v = c->value[from->id];
	Node *exit;
	IValue regs;

	if (!c->top || !p || !p->count || p->mixed || p->none || !type_is_complete(p->type) || n->pc < 0)
		return;
	exit = node_new(s->to, sym(s->cx, "prim::BailOut"), n->at, 1);
	node_add_input(exit, v);
	if (!live_values(s, c, n->end, &regs, exit))
		return;
	node_set_int(exit, "pc", n->end);
	node_set_value(exit, "regs", regs);
	graph_insert(s->to, exit);
	exit->out[0]->name = v->name;
	known_set(s->k, exit->out[0], known_meta(s->k, p->type));
	shapes_type(s->shapes, s->k, exit->out[0], p->type);
	spec_bind(s, c, from, exit->out[0]);
	s->nguard++;
}

/* Do m's sizes follow from data: its kernel could not say them although it was given all? */
static bool
depends_on_data(Spec *s, const Node *m)
{
	bool all = m->op != NULL;

	for (int i = 0; i < m->nin; i++)
		all &= known_is(s->k, m->in[i]);
	return all || spec_reads_by_data(s, m);
}

/* Is it a size that another run will hardly see again: a large count, known from one run? */
static bool
is_fleeting(Spec *s, const Value *from)
{
	const Type *t = from->id < s->profile->nvalue ? s->profile->value[from->id].type : NULL;

	if (s->profile->nrun > 1 || !t || !type_is_complete(t))
		return false;
	for (int i = 0; i < t->tensor->rank; i++)
		if (t->tensor->dims[i] > FLEETING_SIZE)
			return true;
	return false;
}

void
spec_guard_outputs(Spec *s, Scope *c, const Node *n, const Node *m)
{
	for (int i = 0; i < n->nout; i++) {
		Value *out = c->value[n->out[i]->id];

		if (known_is(s->k, out))
			continue;
		known_at(s->k, out)->by_data = depends_on_data(s, m);
		if (!known_at(s->k, out)->by_data || !is_fleeting(s, n->out[i]))
			guard(s, c, n, n->out[i]);
	}
}
