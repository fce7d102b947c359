/*
 * Profiling: records the types and numbers of values on the user's own inputs.
 *
 * A clone of the prepared graph gets prim::profile nodes, at which the interpreter reports values.  One is inserted
 * before every use of a value whose dynamic type is more specific than the static one.  One is inserted after the
 * value's node if uses are conditional.  Observations are merged: equal facts stay, different ones become unknown.
 * Every run has a fresh instance.  A run that raises keeps the observations made until then.
 */
#include "../opt.h"

#include <string.h>

static bool
worth_profiling(const Value *v)
{
	switch (v->type->kind) {
	case TYPE_TENSOR: case TYPE_OPTIONAL: case TYPE_ANY: case TYPE_INT: case TYPE_BOOL: case TYPE_NUMBER:
	case TYPE_UNION: case TYPE_VAR:
		return !node_is(v->node, prim_Constant);
	default:
		return false;
	}
}

static Node *
new_probe(Graph *g, Map *original, Value *v, Range at)
{
	const Value *from = map_get(original, arena_printf(g->arena, "%d", v->id));
	Node *p;

	if (!from || !worth_profiling(from))
		return NULL;
	p = node_new(g, sym(g->cx, "prim::profile"), at, 1);
	node_set_int(p, "index", from->id);
	node_add_input(p, v);
	p->out[0]->type = v->type;
	return p;
}

static bool
used_inside_others(const Value *v)
{
	for (int i = 0; i < v->uses.n; i++)
		if (v->uses.at[i].node->block != v->node->block)
			return true;
	return false;
}

/* Inserts prim::profile nodes.  A use inside an If or Loop observes only some of the values, so the value is observed
 * at its definition, too. */
static void
profile_block(Graph *g, Block *b, Map *original)
{
	Node *p;

	for NODES(n, b)
		for (int i = 0; i < n->nsub; i++)
			profile_block(g, n->sub[i], original);
	for (Node *n = b->ret->next, *next; ; n = next) {
		next = n->next;
		for (int i = 0; i < n->nin; i++)
			if ((p = new_probe(g, original, n->in[i], n->at))) {
				node_insert_before(p, n);
				node_set_input(n, i, p->out[0]);
			}
		if (n == b->ret)
			return;
		for (int i = 0; i < n->nout; i++)
			if (used_inside_others(n->out[i]) && (p = new_probe(g, original, n->out[i], n->at)))
				node_insert_before(p, next);
	}
}

/* Maps the id of each clone to the value that it was cloned from. */
static void
invert(Graph *g, Block *b, Map *values, Map *original)
{
	Node *const ends[] = { b->param, b->ret };

	for (int e = 0; e < 2; e++)
		for (int i = 0; i < ends[e]->nout; i++) {
			Value *c = graph_cloned(values, ends[e]->out[i]);

			if (c)
				map_put(original, arena_printf(g->arena, "%d", c->id), ends[e]->out[i]);
		}
	for NODES(n, b) {
		for (int i = 0; i < n->nout; i++) {
			Value *c = graph_cloned(values, n->out[i]);

			if (c)
				map_put(original, arena_printf(g->arena, "%d", c->id), n->out[i]);
		}
		for (int i = 0; i < n->nsub; i++)
			invert(g, n->sub[i], values, original);
	}
}

Profile *
profile_new(Cx *cx, Function *fn)
{
	Profile *p = new(cx->arena, Profile, 1);
	Map values = { .arena = cx->arena }, original = { .arena = cx->arena };
	Graph *clone = graph_clone(fn->prepared, &values);

	RT_ASSERT(fn->prepared);
	p->cx = cx;
	p->fn = fn;
	p->graph = fn->prepared;
	p->nvalue = fn->prepared->nvalue;
	p->state = state_of(fn->prepared, fn->self != NULL);
	p->written = written_constants(cx, fn, fn->prepared);
	p->value = new(cx->arena, ValueProfile, p->nvalue);
	invert(clone, fn->prepared->top, &values, &original);
	profile_block(clone, clone->top, &original);
	p->instrumented = new(cx->arena, Function, 1);
	*p->instrumented = *fn;
	p->instrumented->graph = p->instrumented->prepared = clone;
	p->instrumented->code = NULL;
	code_lower(cx, p->instrumented, NULL);
	return p;
}

static void
merge_int(ValueProfile *p, int64_t i)
{
	if (p->count == 0 || (p->int_same && p->i == i))
		p->int_same = true;
	else
		p->int_same = false;
	p->i = i;
	p->ntrue += i != 0;
}

static void
note_value(Cx *cx, ValueProfile *at, IValue v)
{
	if (v.tag == RT_NONE || (v.tag == RT_TENSOR && v.u.t->flags & RT_UNSET)) {
		v = rt_none();
		at->none++;
	} else if (v.tag == RT_INT || v.tag == RT_BOOL) {
		merge_int(at, v.u.i);
	} else if (v.tag == RT_TENSOR && !at->mixed) {
		const Type *t = type_of_tensor(cx, v.u.t);

		at->type = at->type ? tensor_info_merge(cx, at->type, t) : t;
	}
	at->mixed |= at->count && at->tag != v.tag;
	at->tag = (RtTag)v.tag;
	at->count++;
}

/* Records the observation of a value.  The interpreter calls it at prim::profile. */
static void
probe(RtCx *rt, const RtCode *code, int pc, int index, IValue v)
{
	Profile *p = rt->probe_arg;

	if (code->insn[pc].op != RT_DO_PROFILE || index < 0 || index >= p->nvalue || code != p->instrumented->code)
		return;
	note_value(p->cx, &p->value[index], v);
	if (p->also)
		note_value(p->cx, &p->also[index], v);
}

int
profile_run(Profile *p, RtCx *rt, const IValue *args)
{
	const RtCode *code = p->instrumented->code;
	IValue *results = new(p->cx->arena, IValue, code->nresult + 1);
	int status;

	rt->probe = probe;
	rt->probe_arg = p;
	status = rt_run(rt, code, args, results);
	rt->probe = NULL;
	for (int i = 0; i < code->nresult && !status; i++)
		rt_release(results[i]);
	p->nrun++;
	return status;
}
