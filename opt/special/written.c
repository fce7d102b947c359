/*
 * Constant tensors that a graph writes to: state outside of instances.
 *
 *  %c : Tensor = prim::Constant[value=<Tensor>]()        a traced counter: each call sees what the last one wrote
 *  %r : Tensor = aten::add_(%c, %x, %1)
 *
 * Parameters whose gradients are requested are included: they are arguments with defaults.  The interpreter writes to
 * the compiler's own tensor.  Its contents are restored after each run, so that a program starts with those of the
 * archive.
 */
#include "../opt.h"

struct Written {
	Cx *cx;
	Map seen;                /* functions that were searched */
	Vec(RtTensor *) at, was;
};

static void find_in(Written *, AliasDb *, const Block *);

static void
keep(Written *w, AliasDb *db, const Value *v, IValue value)
{
	if (value.tag != RT_TENSOR || !alias_has_writers(db, v))
		return;
	vec_push(w->cx->arena, &w->at, value.u.t);
	vec_push(w->cx->arena, &w->was, rt_clone(cx_rt(w->cx), value.u.t));
}

static void
find_in_graph(Written *w, Graph *g)
{
	find_in(w, alias_db(g, w->cx->arena), g->top);
}

static void
find_in_function(Written *w, Function *fn)
{
	char *key = arena_printf(w->cx->arena, "%p", (void *)fn);

	if (map_get(&w->seen, key))
		return;
	map_put(&w->seen, key, fn);
	find_in_graph(w, function_graph(w->cx, fn));
}

static void
find_in(Written *w, AliasDb *db, const Block *b)
{
	Function *called;
	IValue v;

	for NODES(n, b) {
		const Attr *sub = node_attr(n, "Subgraph");

		for (int i = 0; i < n->nsub; i++)
			find_in(w, db, n->sub[i]);
		if (sub && sub->kind == ATTR_GRAPH)
			find_in_graph(w, sub->g);
		if ((called = node_function(n)))
			find_in_function(w, called);
		if (node_is(n, prim_Constant) && value_constant(n->out[0], &v))
			keep(w, db, n->out[0], v);
	}
}

/* Saves the defaults of arguments, which are parameters whose gradients are requested. */
static void
find_defaults(Written *w, AliasDb *db, const Schema *s, Graph *g)
{
	for (int i = 0; s && i < s->nargs && i < graph_ninputs(g); i++)
		if (s->args[i].has_default)
			keep(w, db, graph_inputs(g)[i], s->args[i].deflt);
}

Written *
written_constants(Cx *cx, const Function *fn, Graph *g)
{
	Written *w = new(cx->arena, Written, 1);
	AliasDb *db = alias_db(g, cx->arena);

	w->cx = cx;
	w->seen = (Map){ .arena = cx->arena };
	find_defaults(w, db, fn->schema, g);
	find_in(w, db, g->top);
	return w;
}

void
written_restore(const Written *w)
{
	for (int i = 0; i < w->at.n; i++)
		if (!w->was.at[i] || rt_writable(cx_rt(w->cx), w->at.at[i]) ||
		    rt_copy_into(cx_rt(w->cx), w->at.at[i], w->was.at[i]))
			out_of_memory();
}
