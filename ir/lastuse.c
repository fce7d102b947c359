/*
 * Last uses: where values die on every path.
 *
 * The graph is walked backwards once, with the set of values that are needed later. A use of a value outside of the set
 * is its last use. The branches of an If start from the same set. A value that only one branch needs dies at the start
 * of the other. A value from outside that a loop's body uses is needed until the loop has ended, since the body may run
 * again. It dies after the loop.
 */
#include "ir.h"
#include <string.h>

typedef struct Set { uint64_t *word; } Set;

typedef struct Walk {
	Graph   *graph;
	LastUse *at;
	int      nword;
	bool   (*ignored)(const Node *, int);
	Vec(Set) spare;            /* Sets to reuse. */
} Walk;

/* ---- sets of values --------------------------------------------------------------------------------- */

/* Returns an empty set. set_done returns it to `spare`, so there are never more sets than nested blocks need. */
static Set
set_new(Walk *w)
{
	Set s;

	if (!w->spare.n)
		return (Set){ new(w->graph->arena, uint64_t, w->nword) };
	s = w->spare.at[--w->spare.n];
	memset(s.word, 0, w->nword * sizeof *s.word);
	return s;
}

static void
set_done(Walk *w, Set s)
{
	vec_push(w->graph->arena, &w->spare, s);
}

static Set
set_copy(Walk *w, Set s)
{
	Set c = set_new(w);

	memcpy(c.word, s.word, w->nword * sizeof *c.word);
	return c;
}

static bool
set_has(Set s, const Value *v)
{
	return s.word[v->id / 64] >> (v->id % 64) & 1;
}

static void
set_add(Set s, const Value *v)
{
	s.word[v->id / 64] |= (uint64_t)1 << (v->id % 64);
}

static void
set_remove(Set s, const Value *v)
{
	s.word[v->id / 64] &= ~((uint64_t)1 << (v->id % 64));
}

static void
set_unite(Walk *w, Set into, Set s)
{
	for (int i = 0; i < w->nword; i++)
		into.word[i] |= s.word[i];
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static void walk_block(Walk *w, Block *b, Set live);

static void
note_dead(Walk *w, const Node *n, Value *v)
{
	vec_push(w->graph->arena, &w->at[n->id].dead, v);
}

static void
use_input(Walk *w, const Node *n, int i, Set live)
{
	if (w->ignored && w->ignored(n, i))
		return;
	w->at[n->id].input[i] = !set_has(live, n->in[i]);
	set_add(live, n->in[i]);
}

static void
use_inputs(Walk *w, const Node *n, Set live)
{
	for (int i = n->nin - 1; i >= 0; i--)
		use_input(w, n, i, live);
}

static void
define_outputs(Walk *w, Node *n, Set live, bool note)
{
	for (int i = 0; i < n->nout; i++) {
		w->at[n->id].unused[i] = !set_has(live, n->out[i]);
		if (w->at[n->id].unused[i] && note)
			note_dead(w, n, n->out[i]);
		set_remove(live, n->out[i]);
	}
}

/* Collects values that are defined outside of a block and used in it, each once. */
typedef struct Outer { Walk *walk; Set inside, used; Vec(Value *) found; } Outer;

static void
define_inside(Outer *o, Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		set_add(o->inside, b->param->out[i]);
	for NODES(n, b) {
		for (int i = 0; i < n->nout; i++)
			set_add(o->inside, n->out[i]);
		for (int i = 0; i < n->nsub; i++)
			define_inside(o, n->sub[i]);
	}
}

static void
find_used(Outer *o, const Node *n)
{
	for (int i = 0; i < n->nin; i++) {
		Value *v = n->in[i];

		if (set_has(o->inside, v) || set_has(o->used, v) || (o->walk->ignored && o->walk->ignored(n, i)))
			continue;
		set_add(o->used, v);
		vec_push(o->walk->graph->arena, &o->found, v);
	}
}

static void
find_outer(Outer *o, Block *b)
{
	for NODES(n, b) {
		find_used(o, n);
		for (int i = 0; i < n->nsub; i++)
			find_outer(o, n->sub[i]);
	}
	find_used(o, b->ret);
}

static void
walk_if(Walk *w, Node *n, Set live)
{
	Set in[2], after = set_copy(w, live);

	define_outputs(w, n, after, false);
	memcpy(live.word, after.word, w->nword * sizeof *live.word);
	for (int b = 0; b < 2; b++) {
		const Node *ret = n->sub[b]->ret;

		in[b] = set_copy(w, after);
		for (int i = ret->nin - 1; i >= 0; i--)
			if (!w->at[n->id].unused[i])
				use_input(w, ret, i, in[b]);
		walk_block(w, n->sub[b], in[b]);
		set_unite(w, live, in[b]);
	}
	/* A value that only the other branch needs dies at the start of this one. */
	for (int b = 0; b < 2; b++) {
		Outer o = { w, set_new(w), set_new(w), {0} };

		define_inside(&o, n->sub[!b]);
		find_outer(&o, n->sub[!b]);
		for (int i = 0; i < o.found.n; i++)
			if (set_has(in[!b], o.found.at[i]) && !set_has(in[b], o.found.at[i]))
				note_dead(w, n->sub[b]->param, o.found.at[i]);
		set_done(w, o.inside);
		set_done(w, o.used);
	}
	set_done(w, in[0]);
	set_done(w, in[1]);
	set_done(w, after);
	use_inputs(w, n, live);
}

static void
walk_loop(Walk *w, Node *n, Set live)
{
	Outer o = { w, set_new(w), set_new(w), {0} };
	Set body;

	define_outputs(w, n, live, true);
	define_inside(&o, loop_body(n));
	find_outer(&o, loop_body(n));
	if (!set_has(o.used, loop_max(n)))          /* The maximum is read before every trip. */
		vec_push(w->graph->arena, &o.found, loop_max(n));
	for (int i = 0; i < o.found.n; i++) {
		if (!set_has(live, o.found.at[i]))
			note_dead(w, n, o.found.at[i]);
		set_add(live, o.found.at[i]);
	}
	body = set_copy(w, live);
	set_add(body, loop_body(n)->param->out[0]);         /* The index of the next trip is computed from this one. */
	use_inputs(w, loop_body(n)->ret, body);
	walk_block(w, loop_body(n), body);
	set_done(w, body);
	set_done(w, o.inside);
	set_done(w, o.used);
	use_inputs(w, n, live);
}

static void
walk_node(Walk *w, Node *n, Set live)
{
	if (node_is(n, prim_If)) {
		walk_if(w, n, live);
	} else if (node_is(n, prim_Loop)) {
		walk_loop(w, n, live);
	} else {
		define_outputs(w, n, live, true);
		use_inputs(w, n, live);
	}
}

/* Walks a block backwards. The caller has added the values that its return node uses to `live`. */
static void
walk_block(Walk *w, Block *b, Set live)
{
	cx_enter(w->graph->cx, b->ret->at);
	for NODES_REV(n, b)
		walk_node(w, n, live);
	define_outputs(w, b->param, live, true);
	cx_leave(w->graph->cx);
}

static void
make_room(Walk *w, Node *n)
{
	w->at[n->id].input = new(w->graph->arena, bool, n->nin + 1);
	w->at[n->id].unused = new(w->graph->arena, bool, n->nout + 1);
}

static void
prepare(Walk *w, Block *b)
{
	make_room(w, b->param);
	make_room(w, b->ret);
	for NODES(n, b) {
		make_room(w, n);
		for (int i = 0; i < n->nsub; i++)
			prepare(w, n->sub[i]);
	}
}

LastUse *
last_uses(Graph *g, bool (*ignored)(const Node *, int))
{
	Walk w = { .graph = g, .at = new(g->arena, LastUse, g->nnode), .nword = g->nvalue / 64 + 1,
		   .ignored = ignored };
	Set live = set_new(&w);

	prepare(&w, g->top);
	use_inputs(&w, g->top->ret, live);
	walk_block(&w, g->top, live);
	return w.at;
}
