/*
 * Simplifies loops.
 *
 *  A loop that runs once becomes its body:     Loop(1, true, %a): body(%i, %x) -> (%c, f(%i, %x))     ->   f(0, %a)
 *  A loop whose body always returns False as its condition becomes its body, too.
 *  A carried value that every trip sets to its initial value is no longer carried.
 *  Of two carried values that are equal at first and after every trip, only one is carried.
 *
 * dce removes carried values that nothing uses.  constprop removes loops that never run, and values that no trip
 * changes.
 */
#include "../opt.h"

typedef struct Loops { Pass *pass; Graph *graph; bool changed; } Loops;

static bool
runs_once(const Node *n)
{
	int64_t trips, go, again;

	if (!value_int(loop_max(n), &trips)
	    || node_attr(loop_max(n)->node, "varies") || !value_int(loop_cond(n), &go) || !go)
		return false;
	return trips == 1 || (trips > 1 && value_int(loop_body(n)->ret->in[0], &again) && !again);
}

static void
take_body(Loops *l, Node *n)
{
	Block *b = loop_body(n);

	graph_set_insert_before(l->graph, n);
	value_replace_uses(loop_index(n), graph_constant(l->graph, rt_int(0), n->at));
	for (int i = 0; i < n->nout; i++)
		value_replace_uses(b->param->out[1 + i], n->in[2 + i]);
	block_splice_before(b, n);
	for (int i = 0; i < n->nout; i++)
		value_replace_uses(n->out[i], b->ret->in[1 + i]);
	node_destroy(n);
}

static bool
is_same(const Value *a, const Value *b)
{
	IValue x, y;

	return a == b || (a->type == b->type && !type_is_mutable(a->type) && value_constant(a, &x) &&
			  value_constant(b, &y) && value_identical(x, y));
}

/* Stops carrying value i.  `with` replaces its uses in the body, `after` its uses after the loop. */
static void
stop_carrying(Node *n, int i, Value *with, Value *after)
{
	value_replace_uses(loop_body(n)->param->out[1 + i], with);
	value_replace_uses(n->out[i], after);
	loop_remove_carried(n, i);
}

/* Index of the first carried value that always equals value i.  It is i if no earlier one does. */
static int
twin_of(const Node *n, int i)
{
	const Node *ret = loop_body(n)->ret;

	for (int k = 0; k < i; k++)
		if (n->in[2 + k] == n->in[2 + i] && ret->in[1 + k] == ret->in[1 + i] &&
		    n->out[k]->type == n->out[i]->type)
			return k;
	return i;
}

static void
carry_less(Loops *l, Node *n)
{
	for (int i = n->nout - 1; i >= 0; i--) {
		const bool stays = is_same(n->in[2 + i], loop_body(n)->ret->in[1 + i]);
		const int twin = twin_of(n, i);

		if ((!stays && twin == i) || !pass_may(l->pass))
			continue;
		pass_note(l->pass, n, "value %d is %s", i, stays ? "always its initial value" : "equal to another one");
		if (stays)
			stop_carrying(n, i, n->in[2 + i], n->in[2 + i]);
		else
			stop_carrying(n, i, loop_body(n)->param->out[1 + twin], n->out[twin]);
		l->changed = true;
	}
}

bool
loops(Pass *p, Graph *g)
{
	Loops l = { p, g, false };

	for INNER_FIRST(n, g->top) {
		if (!node_is(n, prim_Loop))
			continue;
		carry_less(&l, n);
		if (runs_once(n) && pass_may(p)) {
			pass_note(p, n, "runs once");
			take_body(&l, n);
			l.changed = true;
		}
	}
	return l.changed;
}
