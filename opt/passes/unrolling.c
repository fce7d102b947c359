/*
 * Replaces short counted loops by a copy of the body for each trip, inner loops first.
 *
 *  Loop(3, true, %a): body(%i, %x) -> (true, f(%i, %x))     ->     f(2, f(1, f(0, %a)))
 *
 * Other counted loops with a small body and no inner loop are unrolled by eight.  The remaining trips run one by one:
 *
 *  Loop(%n, true, %a): body(%i, %x) -> (true, f(%i, %x))    ->
 *      %m = max(%n, 0) // 8
 *      %b = Loop(%m, true, %a): f(8 * %j + 7, ... f(8 * %j, %x))
 *      Loop(max(%n, 0) - 8 * %m, true, %b): f(%k + 8 * %m, %x)
 */
#include "../opt.h"

enum {
	MOST_TRIPS = 64,
	MOST_NODES = 2048,       /* largest number of nodes in all copies of a loop's body together */
	AT_A_TIME = 8,
	SMALL_BODY = 32,         /* largest number of nodes of a body that is unrolled by eight, as in PyTorch */
};

static bool
is_short(const Node *n, int64_t *trips)
{
	return loop_is_for(n) && !node_attr(loop_max(n)->node, "varies") && value_int(loop_max(n), trips) &&
	       *trips < MOST_TRIPS && (*trips <= 0 || block_size(loop_body(n)) <= MOST_NODES / *trips);
}

/* Inserts a copy of the body at the insertion point.  On entry `carried` holds the values before this trip, on return
 * the values after it. */
static void
add_trip(Pass *p, Graph *g, Node *loop, Value *trip, Value **carried)
{
	const Block *b = loop_body(loop);
	Map values = { .arena = p->scratch };

	graph_set_cloned(&values, b->param->out[0], trip);
	for (int i = 0; i < loop->nout; i++)
		graph_set_cloned(&values, b->param->out[1 + i], carried[i]);
	for NODES(n, b)
		graph_insert(g, node_clone(g, n, &values));
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
	graph_set_insert_before(g, loop);
	for (int64_t t = 0; t < trips; t++)
		add_trip(p, g, loop, graph_constant(g, rt_int(t), loop->at), carried);
	for (int i = 0; i < loop->nout; i++)
		value_replace_uses(loop->out[i], carried[i]);
	node_destroy(loop);
}

/* ---- eight trips at a time --------------------------------------------------------------------------------------- */

static bool
is_small(const Node *n)
{
	return loop_is_for(n) && !node_attr(loop_max(n)->node, "varies") && block_size(loop_body(n)) <= SMALL_BODY &&
	       !block_has(loop_body(n), prim_Loop);
}

static Value *
emit_int(Pass *p, Graph *g, const char *kind, Value *x, Value *y, Range at)
{
	Value *in[2] = { x, y };
	Node *made = graph_emit(g, kind, at, 2, in, 1);

	made->op = op_of_inputs(p->cx, kind, in, 2, 1);
	made->out[0]->type = &rt_type_int;
	return made->out[0];
}

/* A new loop with `trips` trips.  Each does `count` trips of the original loop, from index count * index + offset
 * on. */
typedef struct Stretch { Value *trips, *offset; int count; } Stretch;    /* A null offset stands for 0. */

/* Emits a new loop before `loop`, which carries the same values.  On entry `carried` holds the initial values, on
 * return the loop's results. */
static void
emit_loop(Pass *p, Graph *g, Node *loop, Stretch does, Value **carried)
{
	Node *made = loop_new(g, loop->at, does.trips, loop_cond(loop));
	Value **inner = new(p->scratch, Value *, loop->nout + 1), *trip = loop_index(made);
	Block *b = loop_body(made);

	made->inlined = loop->inlined;
	for (int i = 0; i < loop->nout; i++) {
		loop_add_carried(made, carried[i], loop->out[i]->name);
		inner[i] = b->param->out[1 + i];
		inner[i]->type = loop_body(loop)->param->out[1 + i]->type;
		made->out[i]->type = loop->out[i]->type;
	}
	node_insert_before(made, loop);
	graph_set_insert_end(g, b);
	if (does.count > 1)
		trip = emit_int(p, g, "aten::mul", trip, graph_constant(g, rt_int(does.count), loop->at), loop->at);
	if (does.offset)
		trip = emit_int(p, g, "aten::add", trip, does.offset, loop->at);
	for (int k = 0; k < does.count; k++)
		add_trip(p, g, loop, k ? emit_int(p, g, "aten::add", trip, graph_constant(g, rt_int(k), loop->at),
						  loop->at) : trip, inner);
	block_add_output(b, loop_cond(loop));
	for (int i = 0; i < loop->nout; i++) {
		block_add_output(b, inner[i]);
		carried[i] = made->out[i];
	}
}

static void
unroll_by_eight(Pass *p, Graph *g, Node *loop)
{
	Value **carried = new(p->scratch, Value *, loop->nout + 1);
	Value *eight, *all, *blocks, *done, *rest;

	for (int i = 0; i < loop->nout; i++)
		carried[i] = loop->in[2 + i];
	graph_set_insert_before(g, loop);
	eight = graph_constant(g, rt_int(AT_A_TIME), loop->at);
	all = emit_int(p, g, "prim::max", loop_max(loop), graph_constant(g, rt_int(0), loop->at), loop->at);
	blocks = emit_int(p, g, "aten::floordiv", all, eight, loop->at);
	done = emit_int(p, g, "aten::mul", blocks, eight, loop->at);
	rest = emit_int(p, g, "aten::sub", all, done, loop->at);
	emit_loop(p, g, loop, (Stretch){ blocks, NULL, AT_A_TIME }, carried);
	emit_loop(p, g, loop, (Stretch){ rest, done, 1 }, carried);
	for (int i = 0; i < loop->nout; i++)
		value_replace_uses(loop->out[i], carried[i]);
	node_destroy(loop);
}

/* May the loop be unrolled by eight?  A graph that is still to be differentiated keeps its loops, since the backward
 * pass runs through them, too. */
static bool
by_eight(const Pass *p, const Graph *g, const Node *n)
{
	return is_small(n) && !(p->fn && p->fn->gradient && g == p->fn->prepared);
}

bool
unrolling(Pass *p, Graph *g)
{
	bool changed = false;
	int64_t trips;

	for INNER_FIRST(n, g->top) {
		if (!node_is(n, prim_Loop) || (!is_short(n, &trips) && !by_eight(p, g, n)) || !pass_may(p))
			continue;
		if (is_short(n, &trips)) {
			pass_note(p, n, "%d trips", (int)trips);
			unroll_loop(p, g, n, trips);
		} else {
			pass_note(p, n, "%d trips at a time", AT_A_TIME);
			unroll_by_eight(p, g, n);
		}
		changed = true;
	}
	return changed;
}
