/*
 * Walks a graph along the path of a run and copies the nodes on it.
 *
 *  %y = prim::If(%c)                 with %c true
 *    block0(): -> (f(%x))      ->    %y = f(%x)
 *    block1(): -> (g(%x))
 *
 * A loop becomes its body, once for each trip.  Numbers stay values: sizes that the model reads are read again, and
 * numbers computed from them are computed again.  So a trace computes the same as its model where the model takes the
 * same path.
 *
 * A call of another module's method stays a call, of this method along the same path (methods.c), as in PyTorch's
 * tracer.  Other calls are replaced by the nodes of the callee.  A call that is kept by name stays unchanged, with
 * branches, and its turns are skipped.  A `with` stays if its methods take no turns.
 */
#include "trace.h"

enum { MOST_NODES = 500000 };

typedef struct Walk {
	Tracer *tracer;
	Graph  *to;
	const RtCode *code;        /* Code whose turns are taken.  Null for a forked function, which has no name. */
	const Value *self;         /* The object whose method `to` is.  Null if `to` is no method. */
	Range   at;                /* source range of the call, for functions whose text Kiln wrote */
	Map     values;            /* value of `to`, by value of the walked function */
} Walk;

static void walk_block(Walk *, const Block *);

static Value *
now(Walk *w, const Value *v)
{
	Value *to = graph_cloned(&w->values, v);

	if (!to)
		BUG("%%%d of %s has not been walked", v->id, v->node->graph->name);
	return to;
}

static void
copy(Walk *w, Node *n)
{
	if (w->to->nnode > MOST_NODES)
		fail(w->tracer->cx, n->at, "the trace gets more than %d nodes", MOST_NODES);
	graph_insert(w->to, node_clone(w->to, n, &w->values));
}

/* ---- turns ------------------------------------------------------------------------------------------------------ */

static const Turn *
next_turn(Walk *w, const Node *n, int pc)
{
	Tracer *t = w->tracer;
	const Turn *turn = t->at < t->way->at.n ? &t->way->at.at[t->at] : NULL;

	if (t->still)
		fail_lacks(t->cx, n->at, "tracing an awaitable function with branches, loops or calls by name");
	if (!turn && t->way->cut)
		fail(t->cx, n->at, "the run has more than %d branches and trips of loops", t->way->at.n);
	if (!turn || turn->pc != pc || (w->code && turn->code != w->code))
		BUG("turn %d of the run is not that of %s", t->at, n->kind->name);
	t->at++;
	return turn;
}

static void
note_choice(Walk *w, const Node *n, const Turn *turn, Value *first, Value *second)
{
	Tracer *t = w->tracer;

	if (t->whole && !t->aside)
		vec_push(t->cx->arena, &t->choices, ((WayChoice){ n, w->at.src ? w->at : n->at, turn->went, turn->cls,
								      { first, second }, 0 }));
}

static void
walk_if(Walk *w, const Node *n)
{
	const Turn *turn = next_turn(w, n, n->pc);
	const Block *b = turn->went ? if_then(n) : if_else(n);

	note_choice(w, n, turn, now(w, if_cond(n)), NULL);
	walk_block(w, b);
	for (int i = 0; i < n->nout; i++)
		graph_set_cloned(&w->values, n->out[i], now(w, b->ret->in[i]));
}

static void
walk_loop(Walk *w, const Node *n)
{
	const Block *b = loop_body(n);
	Value *max = now(w, loop_max(n)), *cond = now(w, loop_cond(n));
	Value **carried = new(w->tracer->cx->arena, Value *, n->nout + 1);
	const Turn *turn;

	for (int i = 0; i < n->nout; i++)
		carried[i] = now(w, n->in[2 + i]);
	for (int64_t trip = 0;; trip++) {
		turn = next_turn(w, n, b->param->pc);
		note_choice(w, n, turn, cond, max);
		if (!turn->went)
			break;
		graph_set_cloned(&w->values, loop_index(n), graph_constant(w->to, rt_int(trip), n->at));
		for (int i = 0; i < n->nout; i++)
			graph_set_cloned(&w->values, b->param->out[1 + i], carried[i]);
		walk_block(w, b);
		cond = now(w, b->ret->in[0]);
		for (int i = 0; i < n->nout; i++)
			carried[i] = now(w, b->ret->in[1 + i]);
	}
	for (int i = 0; i < n->nout; i++)
		graph_set_cloned(&w->values, n->out[i], carried[i]);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Is `name` equal to `asked`, or does it end with a dot and `asked`? */
static bool
is_named(const char *name, int n, const char *asked)
{
	const int len = (int)strlen(asked);

	return len <= n && !memcmp(name + n - len, asked, (size_t)len) && (len == n || name[n - len - 1] == '.');
}

/* Is the call kept: by the name of the function or method, or by the name of the method's class? */
static bool
is_kept(Tracer *t, const Function *fn)
{
	const char *dot = strrchr(fn->name, '.');
	bool kept = false;

	for (int i = 0; i < t->nkept; i++)
		if (is_named(fn->name, (int)strlen(fn->name), t->kept[i]) ||
		    (fn->self && dot && is_named(fn->name, (int)(dot - fn->name), t->kept[i])))
			kept = t->met[i] = true;
	return kept;
}

static const RtCode *
code_of(const Function *fn)
{
	return fn->unchanged ? fn->unchanged->code : NULL;
}

/* Did Kiln write the function's text?  It does for sorting by a class's __lt__, and for hooks. */
static bool
is_own_text(const Graph *g)
{
	const Source *src = g->top->ret->next->at.src;

	return src && src->name && *src->name == '<';
}

/* Walks the callee in place of the call n, and sets n's results. */
static void
walk_inlined(Walk *w, const Node *n, Function *fn, Value *const *args)
{
	Walk in = { .tracer = w->tracer, .to = w->to, .code = code_of(fn), .self = w->self,
		    .values.arena = w->tracer->cx->arena };
	const Graph *g = function_graph(w->tracer->cx, fn);
	int depth;

	for (int i = 0; i < graph_ninputs(g); i++)
		graph_set_cloned(&in.values, graph_inputs(g)[i], args[i]);
	if (w->at.src || is_own_text(g))
		in.at = w->at.src ? w->at : n->at;
	depth = cx_enter_nested(w->tracer->cx, n->at);
	walk_block(&in, g->top);
	cx_leave_nested(w->tracer->cx, depth);
	for (int i = 0; i < n->nout; i++)
		graph_set_cloned(&w->values, n->out[i], now(&in, g->top->ret->in[i]));
}

/* Copies a kept call.  The callee is walked only to skip its turns. */
static void
walk_kept(Walk *w, Node *n, Function *fn)
{
	w->tracer->aside++;
	trace_walk(w->tracer, fn);
	w->tracer->aside--;
	copy(w, n);
}

static bool
same_turn(const Turn *a, const Turn *b)
{
	return a->code == b->code && a->pc == b->pc && a->went == b->went && a->cls == b->cls;
}

/* Are the next turns the same as those of the variant?  Then this call takes the variant's path to its end. */
static bool
goes_as(const Tracer *t, const Variant *v)
{
	if (v->end - v->begin > t->way->at.n - t->at)
		return false;
	for (int i = v->begin; i < v->end; i++)
		if (!same_turn(&t->way->at.at[i], &t->way->at.at[t->at + i - v->begin]))
			return false;
	return true;
}

Function *
trace_copy(Cx *cx, const Function *of)
{
	Function *fn = new(cx->arena, Function, 1);

	*fn = (Function){ .name = of->name, .schema = of->schema, .self = of->self, .unit = of->unit, .state = 2 };
	return fn;
}

static Variant *
variant_of(Tracer *t, Function *fn)
{
	Variant *v;

	for (int i = 0; i < t->variants.n; i++) {
		v = t->variants.at[i];
		if (v->of == fn && goes_as(t, v)) {
			t->at += v->end - v->begin;
			return v;
		}
	}
	v = new(t->cx->arena, Variant, 1);
	*v = (Variant){ .of = fn, .fn = trace_copy(t->cx, fn), .begin = t->at };
	v->fn->graph = trace_walk(t, fn);
	v->end = t->at;
	vec_push(t->cx->arena, &t->variants, v);
	return v;
}

/* Emits a call of a module's method along its path.  Variants get their names at the end (methods.c). */
static void
walk_module(Walk *w, const Node *n, Function *fn, Value *const *args)
{
	Variant *v = variant_of(w->tracer, fn);
	Node *call = graph_emit(w->to, "prim::CallMethod", n->at, n->nin, args, n->nout);

	node_attr_new(call, "function", ATTR_FUNCTION)->fn = v->fn;
	vec_push(w->tracer->cx->arena, &w->tracer->calls, ((VariantCall){ call, v }));
	for (int i = 0; i < n->nout; i++) {
		call->out[i]->type = n->out[i]->type;
		call->out[i]->name = n->out[i]->name;
		graph_set_cloned(&w->values, n->out[i], call->out[i]);
	}
}

static bool
is_other_module(const Walk *w, const Function *fn, const Value *object)
{
	return !w->tracer->whole && !w->tracer->aside && fn->self && fn->self->kind == TYPE_CLASS &&
	       class_info(fn->self)->module && object != w->self;
}

/* Returns the method that is called by name.  The object's class in the run decides, so the object is cast to this
 * class for the callee. */
static Function *
called_by_name(Walk *w, const Node *n, Value **object)
{
	const Turn *turn = next_turn(w, n, n->pc);
	const ClassInfo *info = turn->cls ? turn->cls->info : NULL;
	Function *fn = info ? class_method(info, node_str(n, "name")) : NULL;

	if (!fn)
		BUG("%s was called of an object without it", node_str(n, "name"));
	note_choice(w, n, turn, *object, NULL);
	if ((*object)->type != info->type) {
		*object = graph_emit(w->to, "prim::unchecked_cast", n->at, 1, object, 1)->out[0];
		(*object)->type = info->type;
	}
	return fn;
}

static void
walk_call(Walk *w, Node *n)
{
	const int first = node_is(n, prim_CallFunction) && !node_attr(n, "function");
	Value **args = new(w->tracer->cx->arena, Value *, n->nin + 1);
	Function *fn = node_function(n);

	for (int i = first; i < n->nin; i++)
		args[i - first] = now(w, n->in[i]);
	if (!fn && !node_is(n, prim_CallMethod))
		fail_lacks(w->tracer->cx, n->at, "tracing a call of a value");
	if (!fn)
		fn = called_by_name(w, n, &args[0]);
	if (!w->tracer->aside && is_kept(w->tracer, fn))
		walk_kept(w, n, fn);
	else if (node_is(n, prim_CallMethod) && is_other_module(w, fn, args[0]))
		walk_module(w, n, fn, args);
	else
		walk_inlined(w, n, fn, args);
}

/* Emits a fork of a body without branches.  In a single graph (whole) the body runs at once instead, as it did in the
 * run, and the fork returns its result. */
static void
walk_task(Walk *w, Node *n)
{
	Tracer *t = w->tracer;
	const bool later = node_is(n, prim_awaitable), here = t->whole && !later;
	const Graph *body = node_attr(n, "Subgraph")->g;
	Graph *g = here ? w->to : graph_new(t->cx, body->name), *kept = here ? graph_new(t->cx, body->name) : g;
	Walk in = { .tracer = t, .to = g, .values.arena = t->cx->arena };
	Node *task = node_new(w->to, n->kind, n->at, n->nout);
	Value *result;

	for (int i = 0; i < n->nin; i++)
		graph_set_cloned(&in.values, graph_inputs(body)[i], here ? now(w, n->in[i]) :
				 graph_add_input(g, graph_inputs(body)[i]->type, graph_inputs(body)[i]->name));
	t->still += later;
	walk_block(&in, body->top);
	t->still -= later;
	result = now(&in, body->top->ret->in[0]);
	for (int i = 0; i < (here ? 1 : n->nin); i++)
		node_add_input(task, here ? result : now(w, n->in[i]));
	graph_add_output(kept, here ? graph_add_input(kept, result->type, NULL) : result);
	node_attr_new(task, "Subgraph", ATTR_GRAPH)->g = kept;
	for (int i = 0; i < n->nout; i++) {
		task->out[i]->type = n->out[i]->type;
		graph_set_cloned(&w->values, n->out[i], task->out[i]);
	}
	graph_insert(w->to, task);
}

/* ---- with ------------------------------------------------------------------------------------------------------- */

static bool turns(Cx *, Function *);

static bool
block_turns(Cx *cx, const Block *b)
{
	for NODES(n, b) {
		Function *fn = node_function(n);

		if (n->nsub || node_attr(n, "Subgraph") || (!fn && (node_is(n, prim_CallMethod) ||
								    node_is(n, prim_CallFunction))))
			return true;
		if (fn && !node_is(n, prim_Constant) && turns(cx, fn))
			return true;
	}
	return false;
}

static bool
turns(Cx *cx, Function *fn)
{
	return block_turns(cx, function_graph(cx, fn)->top);
}

/* Calls the methods of a `with` where it begins and ends, if they take turns.  No exception was raised in between in
 * this run. */
static bool
walk_with(Walk *w, Node *n, const char *method)
{
	Cx *cx = w->tracer->cx;
	const ClassInfo *info = n->in[0]->type->kind == TYPE_CLASS ? class_info(n->in[0]->type) : NULL;
	Function *enter = info ? class_method(info, "__enter__") : NULL;
	Function *leave = info ? class_method(info, "__exit__") : NULL;
	Value *args[4] = { now(w, n->in[0]) };

	if (!enter || !leave)
		fail_lacks(cx, n->at, "tracing a `with` of an interface");
	if (!turns(cx, enter) && !turns(cx, leave))
		return false;
	for (int i = 1; i < 4; i++)
		args[i] = graph_constant(w->to, rt_none(), n->at);
	walk_inlined(w, n, class_method(info, method), args);
	return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static void
walk_node(Walk *w, Node *n)
{
	if (node_is(n, prim_If))
		walk_if(w, n);
	else if (node_is(n, prim_Loop))
		walk_loop(w, n);
	else if (node_is(n, prim_CallMethod) || node_is(n, prim_CallFunction))
		walk_call(w, n);
	else if (node_is(n, prim_fork) || node_is(n, prim_awaitable))
		walk_task(w, n);
	else if (!(node_is(n, prim_Enter) && walk_with(w, n, "__enter__")) &&
		 !(node_is(n, prim_Exit) && walk_with(w, n, "__exit__")))
		copy(w, n);
}

static void
walk_block(Walk *w, const Block *b)
{
	cx_enter(w->tracer->cx, b->ret->at);
	for NODES(n, b)
		walk_node(w, n);
	cx_leave(w->tracer->cx);
}

Graph *
trace_walk(Tracer *t, Function *fn)
{
	const Graph *g = function_graph(t->cx, fn);
	Walk w = { .tracer = t, .to = graph_new(t->cx, fn->name), .code = code_of(fn), .values.arena = t->cx->arena };
	int depth;

	RT_ASSERT(t->at <= t->way->at.n);
	for (int i = 0; i < graph_ninputs(g); i++)
		graph_set_cloned(&w.values, graph_inputs(g)[i],
				 graph_add_input(w.to, graph_inputs(g)[i]->type, graph_inputs(g)[i]->name));
	w.self = fn->self && !t->whole ? graph_inputs(w.to)[0] : NULL;
	graph_set_insert_end(w.to, w.to->top);
	depth = cx_enter_nested(t->cx, g->top->ret->at);
	walk_block(&w, g->top);
	cx_leave_nested(t->cx, depth);
	for (int i = 0; i < g->top->ret->nin; i++)
		graph_add_output(w.to, now(&w, g->top->ret->in[i]));
	return w.to;
}

Tracer *
trace_new(Cx *cx, const Way *way, const char *const *kept)
{
	Tracer *t = new(cx->arena, Tracer, 1);

	*t = (Tracer){ .cx = cx, .way = way, .kept = kept };
	while (kept && kept[t->nkept])
		t->nkept++;
	t->met = new(cx->arena, bool, t->nkept + 1);
	return t;
}

void
trace_end(const Tracer *t)
{
	for (int i = 0; i < t->nkept; i++)
		if (!t->met[i])
			fail(t->cx, (Range){ 0 }, "the run calls nothing named '%s', which is to be kept", t->kept[i]);
	if (t->at < t->way->at.n)
		BUG("%d turns of the run are left", t->way->at.n - t->at);
}
