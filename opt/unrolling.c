/*
 * Short counted loops become their bodies, one for each trip; inner loops first.
 *
 *   Loop(3, true, %a): body(%i, %x) -> (true, f(%i, %x))     ->     f(2, f(1, f(0, %a)))
 */
#include "opt.h"

enum {
	MOST_TRIPS = 64,
	MOST_NODES = 2048,       /* of all bodies of one loop together */
};

static bool
is_short(const Node *n, int64_t *trips)
{
	return loop_is_for(n) && !node_attr(loop_max(n)->node, "varies") && value_int(loop_max(n), trips) && *trips < MOST_TRIPS &&
	       (*trips <= 0 || block_size(loop_body(n)) <= MOST_NODES / *trips);
}

/* Puts the body before the loop once more; carried: in and out. */
static void
add_trip(Pass *p, Graph *g, Node *loop, int64_t trip, Value **carried)
{
	const Block *b = loop_body(loop);
	Map values = { .arena = p->scratch };

	graph_set_insert_before(g, loop);
	graph_set_cloned(&values, b->param->out[0], graph_constant(g, rt_int(trip), loop->at));
	for (int i = 0; i < loop->nout; i++)
		graph_set_cloned(&values, b->param->out[1 + i], carried[i]);
	for NODES(n, b)
		node_insert_before(node_clone(g, n, &values), loop);
	for (int i = 0; i < loop->nout; i++) {
		Value *v = graph_cloned(&values, b->ret->in[1 + i]);

		carried[i] = v ? v : b->ret->in[1 + i];
	}
}

static void
unroll_loop(Pass *p, Graph *g, Node *loop, int64_t trips)
{
	Value **carried = new(p->scratch, Value *, loop->nout + 1);

	for (int i = 0; i < loop->nout; i++)
		carried[i] = loop->in[2 + i];
	for (int64_t t = 0; t < trips; t++)
		add_trip(p, g, loop, t, carried);
	for (int i = 0; i < loop->nout; i++)
		value_replace_uses(loop->out[i], carried[i]);
	node_destroy(loop);
}

static bool
walk(Pass *p, Graph *g, Block *b)
{
	bool changed = false;
	int64_t trips;

	cx_enter(p->cx, b->ret->at);
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			changed |= walk(p, g, n->sub[i]);
		if (!node_is(n, "prim::Loop") || !is_short(n, &trips) || !pass_may(p))
			continue;
		pass_note(p, n, "%d trips", (int)trips);
		unroll_loop(p, g, n, trips);
		changed = true;
	}
	cx_leave(p->cx);
	return changed;
}

bool
unrolling(Pass *p, Graph *g)
{
	return walk(p, g, g->top);
}
