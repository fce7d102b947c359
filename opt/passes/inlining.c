/*
 * Replaces calls of known functions by their graphs.
 *
 *  %r = prim::CallMethod[name="forward"](%m, %x)   ->   the nodes of forward, with %m and %x for its inputs
 *
 * Every inlined node remembers its function and the call (Node.inlined), for messages and tracebacks.  A call of a
 * function that is already being inlined stays a call.  So does every call once the graph is too large.
 */
#include "../opt.h"

#include <string.h>

enum { MOST_NODES = 400000 };

typedef struct Inlining Inlining;
struct Inlining {                /* stack of the functions that are being inlined */
	const Function *fn;
	Inlining *up;
};

typedef struct Inliner {
	Pass  *pass;
	Graph *graph;
	bool   changed;
} Inliner;

static bool
is_inside(const Inlining *in, const Function *fn)
{
	for (; in; in = in->up)
		if (in->fn == fn)
			return true;
	return false;
}

static Frame *
frame_new(Inliner *in, const Function *fn, const Node *call)
{
	Frame *f = new(in->graph->arena, Frame, 1);

	*f = (Frame){ fn->name, call->at, call->inlined };
	return f;
}

/* Returns the chain extended by the call's frame, which comes after the frames that inlined nodes already have. */
static Frame *
extend(Inliner *in, const Frame *chain, Frame *call)
{
	Frame *f;

	if (!chain)
		return call;
	f = new(in->graph->arena, Frame, 1);
	*f = (Frame){ chain->what, chain->at, extend(in, chain->up, call) };
	return f;
}

static void
note_frames(Inliner *in, Node *n, Frame *call)
{
	n->inlined = extend(in, n->inlined, call);
	for (int i = 0; i < n->nsub; i++)
		for NODES(m, n->sub[i])
			note_frames(in, m, call);
}

static void inline_calls(Inliner *in, Node *from, const Node *to, Inlining *around);

/* Inserts copies of the callee's nodes before the call, and removes the call.  first: index of the call's first
 * argument. */
static void
take_in(Inliner *in, Node *call, Function *fn, Graph *callee, int first)
{
	Map values = { .arena = in->pass->scratch };
	Frame *frame = frame_new(in, fn, call);

	for (int i = 0; i < graph_ninputs(callee); i++)
		graph_set_cloned(&values, graph_inputs(callee)[i], call->in[first + i]);
	for NODES(n, callee->top) {
		Node *c = node_clone(in->graph, n, &values);

		node_insert_before(c, call);
		note_frames(in, c, frame);
	}
	for (int i = 0; i < call->nout; i++)
		value_replace_uses(call->out[i], graph_cloned(&values, callee->top->ret->in[i]));
	node_destroy(call);
	in->changed = true;
}

/* Returns the method of an interface that is called, if the object is known.  Casts the object to its class, which the
 * callee expects. */
static Function *
resolve_interface(Inliner *in, Node *n)
{
	IValue object;
	Function *fn;
	Node *cast;

	if (!node_is(n, prim_CallMethod) || !freeze_resolves(in->pass, in->graph, n->in[0], &object) ||
	    object.tag != RT_OBJECT || !object.u.obj->cls->info ||
	    !type_is_subtype(in->pass->cx, object.u.obj->cls->info->type, n->in[0]->type))
		return NULL;
	fn = class_method(object.u.obj->cls->info, node_str(n, "name"));
	if (!fn)
		return NULL;
	graph_set_insert_before(in->graph, n);
	cast = graph_emit(in->graph, "prim::unchecked_cast", n->at, 1, n->in, 1);
	cast->out[0]->type = object.u.obj->cls->info->type;
	node_set_input(n, 0, cast->out[0]);
	node_attr_new(n, "function", ATTR_FUNCTION)->fn = fn;
	return fn;
}

static void
inline_call(Inliner *in, Node *n, Inlining *around)
{
	Function *known = node_function(n), *fn = known ? known : resolve_interface(in, n);
	const int first = node_is(n, prim_CallFunction) && !node_attr(n, "function");
	Node *before = n->prev, *after = n->next;
	Inlining here = { fn, around };
	Graph *callee;
	int depth;

	if (!fn || is_inside(around, fn) || in->graph->nnode > MOST_NODES)
		return;
	callee = fn->graph ? fn->graph : function_graph(in->pass->cx, fn);
	if (graph_ninputs(callee) != n->nin - first || callee->top->ret->nin != n->nout || !pass_may(in->pass))
		return;
	pass_note(in->pass, n, "inlined");
	depth = cx_enter_nested(in->pass->cx, n->at);
	take_in(in, n, fn, callee, first);
	inline_calls(in, before->next, after, &here);
	cx_leave_nested(in->pass->cx, depth);
}

static void
walk_subgraph(Inliner *in, Graph *g, Inlining *around)
{
	Inliner inner = { in->pass, g, false };

	inline_calls(&inner, g->top->ret->next, g->top->ret, around);
	in->changed |= inner.changed;
}

static void
inline_calls(Inliner *in, Node *from, const Node *to, Inlining *around)
{
	for (Node *n = from, *next; n != to; n = next) {
		const Attr *sub = node_attr(n, "Subgraph");

		next = n->next;
		for (int i = 0; i < n->nsub; i++)
			inline_calls(in, n->sub[i]->ret->next, n->sub[i]->ret, around);
		if (sub && sub->kind == ATTR_GRAPH)
			walk_subgraph(in, sub->g, around);
		if (node_is(n, prim_CallMethod) || node_is(n, prim_CallFunction))
			inline_call(in, n, around);
	}
}

bool
inlining(Pass *p, Graph *g)
{
	Inliner in = { p, g, false };
	Inlining top = { p->fn, NULL };

	inline_calls(&in, g->top->ret->next, g->top->ret, p->fn ? &top : NULL);
	return in.changed;
}
