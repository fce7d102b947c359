/*
 * Finds active values: those that depend on an input of the differentiation, and that the result depends on.
 *
 * The graph is walked down from the inputs, through every argument for which the operator's table entry has a gradient.
 * It is walked up from the results.  Each walk is repeated until nothing new is found, since loops and writes to lists
 * lead back.  An operator without a gradient counts as passing on every gradient.  So it becomes active, and an error
 * names it when a gradient arrives there.
 */
#include "../opt.h"

#include <string.h>

typedef struct Walk {
	Cx     *cx;
	Active *active;
	bool   *useful;
	bool    grew;
	bool    off;             /* whether gradients are disabled (no_grad) */
	bool   *outside;         /* value of `off` on entry to each with-scope, by the id of the scope's object */
} Walk;

/* ---- questions about nodes ------------------------------------------------------------------------------ */

/* May a value of this type be a tensor or contain one? */
static bool
holds_tensors(const Type *t)
{
	bool any = t->kind == TYPE_TENSOR;

	if (t->kind == TYPE_LIST || t->kind == TYPE_TUPLE || t->kind == TYPE_OPTIONAL || t->kind == TYPE_DICT ||
	    t->kind == TYPE_FUTURE)
		for (int i = 0; i < t->n && !any; i++)
			any = holds_tensors(t->of[i]);
	return any;
}

/* Is it torch.autograd.grad without create_graph? */
static bool
is_detached(const Node *n)
{
	int64_t create;

	return node_is(n, aten_grad) && value_int(n->in[4], &create) && !create;
}

bool
active_passes(Cx *cx, const Node *n, int i)
{
	const Schema *s = node_schema(n);
	Function *f;
	int at = 0;

	RT_ASSERT(i >= 0 && i < n->nin);
	if ((n->op && op_is_flat(n->op)) || is_detached(n))
		return false;
	if (!s || i >= s->nargs || !(f = op_gradient(cx, n->op)))
		return holds_tensors(n->in[i]->type);
	if (!gradient_rank(s->args[i].type))
		return false;
	for (int k = 0; k < i; k++)
		at += gradient_rank(s->args[k].type) > 0;
	return !value_is_none(f->graph->top->ret->in[at]);
}

/* Returns how a with-scope changes the mode: 1 disables gradients, 0 enables them, -1 does neither. */
static int
scope_of(const Node *n)
{
	const char *name = n->in[0]->type->kind == TYPE_CLASS ? n->in[0]->type->name : "";
	const char *dot = strrchr(name, '.');

	name = dot ? dot + 1 : name;
	return !strcmp(name, "no_grad") || !strcmp(name, "inference_mode") ? 1 : !strcmp(name, "enable_grad") ? 0 : -1;
}

static void
follow_mode(Walk *w, const Node *n)
{
	int64_t on;

	if (node_is(n, prim_Enter) && scope_of(n) >= 0) {
		w->outside[n->in[0]->id] = w->off;
		w->off = scope_of(n);
	} else if (node_is(n, prim_Exit) && scope_of(n) >= 0) {
		w->off = w->outside[n->in[0]->id];
	} else if (node_is(n, aten_set_grad_enabled)) {
		if (!value_int(n->in[0], &on))
			fail_lacks(w->cx, n->at,
				   "a gradient where set_grad_enabled is called with a value that is no constant");
		w->off = !on;
	}
}

/* Does the node only put tensors into containers or take them out?  Such operators have type variables in their
 * schemas, or no schema. */
static bool
moves_tensors(const Node *n)
{
	const Schema *s = node_schema(n);
	bool moves = !n->op && !s && !node_is(n, prim_GetAttr);

	for (int i = 0; s && i < s->nargs && !moves; i++)
		moves = type_has_vars(s->args[i].type);
	return moves;
}

/* Does no gradient pass through the node in the current mode?  A tensor itself has a gradient in any mode: as what
 * prim::kept returns, and as an element of containers. */
static bool
is_silent(const Walk *w, const Node *n)
{
	return w->off && !node_is(n, prim_kept) && !moves_tensors(n);
}

/* ---- from inputs down --------------------------------------------------------------------------------------- */

static void
mark(Walk *w, bool *set, const Value *v)
{
	if (set[v->id] || !holds_tensors(v->type))
		return;
	set[v->id] = true;
	w->grew = true;
}

static void
mark_if(Walk *w, bool *set, const Value *from, const Value *to)
{
	if (set[from->id])
		mark(w, set, to);
}

static void down_block(Walk *, Block *);

/* Walks the blocks of a node.  Each block starts in the mode before the node, and all must end in the same mode. */
static void
down_blocks(Walk *w, Node *n)
{
	const bool before = w->off;

	for (int k = 0; k < n->nsub; k++) {
		const bool first = node_is(n, prim_Loop) ? before : w->off;

		w->off = before;
		down_block(w, n->sub[k]);
		if ((k || node_is(n, prim_Loop)) && w->off != first)
			fail_lacks(w->cx, n->at,
				   "a gradient where a branch or loop changes whether gradients are enabled");
	}
}

static void
down_nested(Walk *w, Node *n)
{
	bool *set = w->active->depends;
	const bool loop = node_is(n, prim_Loop);

	for (int i = 0; loop && i < n->nout; i++) {
		mark_if(w, set, n->in[2 + i], n->sub[0]->param->out[1 + i]);
		mark_if(w, set, n->sub[0]->ret->in[1 + i], n->sub[0]->param->out[1 + i]);
		mark_if(w, set, n->in[2 + i], n->out[i]);
	}
	down_blocks(w, n);
	for (int k = 0; k < n->nsub; k++)
		for (int i = 0; i < n->nout; i++)
			mark_if(w, set, n->sub[k]->ret->in[loop + i], n->out[i]);
}

/* Marks the inputs that the node writes to. */
static void
down_writes(Walk *w, const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (node_writes_input(n, i))
			mark(w, w->active->depends, n->in[i]);
}

static void
down_node(Walk *w, Node *n)
{
	bool any = false;

	if (n->nsub) {
		down_nested(w, n);
		return;
	}
	for (int i = 0; i < n->nin && !is_silent(w, n); i++)
		any |= w->active->depends[n->in[i]->id] && active_passes(w->cx, n, i);
	for (int i = 0; i < n->nout && any; i++)
		mark(w, w->active->depends, n->out[i]);
	if (any)
		down_writes(w, n);
}

static void
down_block(Walk *w, Block *b)
{
	cx_enter(w->cx, (Range){ 0 });
	for NODES(n, b) {
		follow_mode(w, n);
		w->active->silent[n->id] = is_silent(w, n);
		down_node(w, n);
	}
	cx_leave(w->cx);
}

/* ---- from results up ----------------------------------------------------------------------------------------- */

static void up_block(Walk *, Block *);

static void
up_nested(Walk *w, Node *n)
{
	const bool loop = node_is(n, prim_Loop);

	for (int i = 0; i < n->nout; i++)
		for (int k = 0; k < n->nsub; k++) {
			mark_if(w, w->useful, n->out[i], n->sub[k]->ret->in[loop + i]);
			if (loop)
				mark_if(w, w->useful, n->sub[0]->param->out[1 + i], n->sub[0]->ret->in[1 + i]);
		}
	for (int k = 0; k < n->nsub; k++)
		up_block(w, n->sub[k]);
	for (int i = 0; loop && i < n->nout; i++) {
		mark_if(w, w->useful, n->out[i], n->in[2 + i]);
		mark_if(w, w->useful, n->sub[0]->param->out[1 + i], n->in[2 + i]);
	}
}

static bool
writes_useful(Walk *w, const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (node_writes_input(n, i) && w->useful[n->in[i]->id])
			return true;
	return false;
}

static void
up_block(Walk *w, Block *b)
{
	cx_enter(w->cx, (Range){ 0 });
	for NODES_REV(n, b) {
		bool any = false;

		if (n->nsub) {
			up_nested(w, n);
			continue;
		}
		for (int i = 0; i < n->nout; i++)
			any |= w->useful[n->out[i]->id];
		any |= writes_useful(w, n);
		for (int i = 0; i < n->nin && any && !w->active->silent[n->id]; i++)
			if (active_passes(w->cx, n, i))
				mark(w, w->useful, n->in[i]);
	}
	cx_leave(w->cx);
}

/* ---- the two walks ------------------------------------------------------------------------------------------- */

static Active *
active_new(Graph *g, Arena *memory)
{
	Active *a = new(memory, Active, 1);

	a->nvalue = g->nvalue;
	a->nnode = g->nnode;
	a->value = new(memory, bool, g->nvalue);
	a->depends = new(memory, bool, g->nvalue);
	a->silent = new(memory, bool, g->nnode);
	return a;
}

static void
down(Walk *w, Graph *g)
{
	do {
		w->grew = w->off = false;
		down_block(w, g->top);
	} while (w->grew);
}

static void
mark_elements(Walk *w, bool *set, const Value *list)
{
	for (int i = 0; i < list->node->nin; i++)
		mark(w, set, list->node->in[i]);
}

Active *
active_from(Cx *cx, Graph *g, Value *const *from, int n, Arena *memory)
{
	Walk w = { .cx = cx, .active = active_new(g, memory), .outside = new(memory, bool, g->nvalue) };

	for (int i = 0; i < n; i++)
		mark(&w, w.active->depends, from[i]);
	down(&w, g);
	return w.active;
}

Active *
active_values(Cx *cx, Graph *g, const Gradient *d, Arena *memory)
{
	Active *a = active_new(g, memory);
	Walk w = { .cx = cx, .active = a, .useful = new(memory, bool, g->nvalue),
		   .outside = new(memory, bool, g->nvalue) };

	RT_ASSERT(d->call || g->top->ret->nin > (d->loss ? 1 : 0));
	for (int i = 0; i < d->inputs.n && !d->call; i++)
		mark(&w, a->depends, graph_inputs(g)[d->inputs.at[i].input]);
	if (d->call && d->call->nin)
		mark_elements(&w, a->depends, d->call->in[1]);
	down(&w, g);
	if (d->call && d->call->nin)
		mark_elements(&w, w.useful, d->call->in[0]);
	else if (!d->call)
		mark(&w, w.useful, g->top->ret->in[d->loss ? 1 : 0]);
	do {
		w.grew = false;
		up_block(&w, g->top);
	} while (w.grew);
	for (int i = 0; i < a->nvalue; i++)
		a->value[i] = a->depends[i] && w.useful[i];
	return a;
}
