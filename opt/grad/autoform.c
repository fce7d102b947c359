/*
 * Brings a graph into the form that autodiff expects: operators with gradients, no writes, lists that grow only at
 * their end.
 *
 *   a body         an operator without a gradient is replaced by the nodes of its body
 *   fork, wait     a task runs where it is started, an awaitable at its only wait (before lift)
 *   l += [a, b]    becomes appends, so that a loop need not carry l
 *   tuples         are unpacked where they are made, so that only their elements remain
 *   writes         become values (unwrite.c)
 *   questions      x.requires_grad and torch.is_grad_enabled() are replaced by their answers
 * One change may allow another, so all are repeated until nothing changes.
 */
#include "../opt.h"

#include <string.h>

enum { MOST_ROUNDS = 16 };

void
insert_copy(Graph *g, const Graph *from, const Node *place, Map *values)
{
	for NODES(m, from->top)
		set_places(graph_insert(g, node_clone(g, m, values)), place);
}

void
set_places(Node *c, const Node *place)
{
	c->at = place->at;
	c->inlined = place->inlined;
	for (int i = 0; i < c->nsub; i++)
		for NODES(m, c->sub[i])
			set_places(m, place);
}

void
node_expand(Graph *g, Node *n, const Graph *body)
{
	Map values = { .arena = g->arena };

	RT_ASSERT(graph_ninputs(body) == n->nin && body->top->ret->nin >= n->nout);
	for (int i = 0; i < graph_ninputs(body); i++)
		graph_set_cloned(&values, graph_inputs(body)[i], n->in[i]);
	graph_set_insert_before(g, n);
	insert_copy(g, body, n, &values);
	for (int i = 0; i < n->nout; i++)
		value_replace_uses(n->out[i], graph_cloned(&values, body->top->ret->in[i]));
	node_destroy(n);
}

/* ---- tasks ------------------------------------------------------------------------------------------------- */

static bool
is_task(const Type *t)
{
	return t->kind == TYPE_FUTURE || t->kind == TYPE_AWAIT;
}

/* Returns the type with each Future replaced by the type of its result. */
static const Type *
done_type(Cx *cx, const Type *t)
{
	const Type **of;

	if (is_task(t))
		return done_type(cx, t->of[0]);
	if (t->kind == TYPE_LIST)
		return type_list(cx, done_type(cx, t->of[0]));
	if (t->kind == TYPE_OPTIONAL)
		return type_optional(cx, done_type(cx, t->of[0]));
	if (t->kind != TYPE_TUPLE || t->field)
		return t;
	of = new(cx->arena, const Type *, t->n + 1);
	for (int i = 0; i < t->n; i++)
		of[i] = done_type(cx, t->of[i]);
	return type_tuple(cx, of, t->n);
}

/* Returns the only wait for an awaitable, where its call can run.  Null if there are several waits, or if it is in a
 * loop. */
static Node *
only_wait(const Node *n)
{
	Node *wait = n->out[0]->uses.n == 1 ? n->out[0]->uses.at[0].node : NULL;

	if (!node_is(n, prim_awaitable) || !wait || !node_is(wait, prim_awaitable_wait))
		return NULL;
	for (const Block *b = wait->block; b != n->block; b = b->owner->block)
		if (!node_is(b->owner, prim_If))
			return NULL;
	return wait;
}

static void
expand_tasks(Graph *g, Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		b->param->out[i]->type = done_type(g->cx, b->param->out[i]->type);
	for NODES(n, b) {
		const Attr *sub = node_is(n, prim_fork) || node_is(n, prim_awaitable) ? node_attr(n, "Subgraph") :
			NULL;
		const bool same = node_is(n, aten_wait) || node_is(n, prim_awaitable_wait) ||
				  node_is(n, prim_awaitable_nowait);
		Node *later = sub ? only_wait(n) : NULL;

		if (later && n->next != later) {
			node_move_before(n, later);         /* the walk will meet it again there */
			continue;
		}
		for (int i = 0; i < n->nsub; i++)
			expand_tasks(g, n->sub[i]);
		for (int i = 0; i < n->nout; i++)
			n->out[i]->type = done_type(g->cx, n->out[i]->type);
		if (sub && sub->kind == ATTR_GRAPH) {
			expand_tasks(sub->g, sub->g->top);
			node_expand(g, n, sub->g);
		} else if (same) {
			value_replace_uses(n->out[0], n->in[0]);
			node_destroy(n);
		}
	}
}

bool
run_tasks_at_once(Graph *g)
{
	for (int i = 0; i < graph_ninputs(g); i++)
		if (done_type(g->cx, graph_inputs(g)[i]->type) != graph_inputs(g)[i]->type)
			return false;
	for (int i = 0; i < g->top->ret->nin; i++)
		if (done_type(g->cx, g->top->ret->in[i]->type) != g->top->ret->in[i]->type)
			return false;
	if (!block_has(g->top, prim_fork) && !block_has(g->top, prim_awaitable))
		return false;
	expand_tasks(g, g->top);
	return true;
}

/* ---- lists ---------------------------------------------------------------------------------------------------- */

/* Replaces l += [a, b] by appends. */
static bool
append_each(Graph *g, Node *n)
{
	const Node *more = n->in[1]->node;
	Op *append = op_by_id(g->cx, "append_t");

	if (!node_is(more, prim_ListConstruct) || n->in[0]->type->kind != TYPE_LIST || n->in[0] == n->in[1])
		return false;
	graph_set_insert_before(g, n);
	for (int i = 0; i < more->nin; i++)
		emit_schema_node(g, append, n->at, (Value *[2]){ n->in[0], more->in[i] }, 2);
	if (n->nout)
		value_replace_uses(n->out[0], n->in[0]);
	node_destroy(n);
	return true;
}

static Value *
tuple_of_parts(Graph *g, Value *const *part, const Type *t, Range at)
{
	Value *made = graph_emit(g, "prim::TupleConstruct", at, t->n, part, 1)->out[0];

	made->type = t;
	return made;
}

/* Replaces an uninitialized tuple by a tuple of uninitialized elements. */
static void
open_elements(Graph *g, Node *n)
{
	const Type *t = n->out[0]->type;
	Value **part = new(g->arena, Value *, t->n + 1);

	graph_set_insert_before(g, n);
	for (int k = 0; k < t->n; k++)
		part[k] = graph_uninitialized(g, t->of[k], n->at);
	value_replace_uses(n->out[0], tuple_of_parts(g, part, t, n->at));
	node_destroy(n);
}

/* Unpacks v and packs it again at the insertion point.  Returns the new tuple. */
static Value *
made_again(Graph *g, Value *v, Range at)
{
	Node *parts = graph_emit(g, "prim::TupleUnpack", at, 1, &v, v->type->n);

	for (int k = 0; k < v->type->n; k++)
		parts->out[k]->type = v->type->of[k];
	return tuple_of_parts(g, parts->out, v->type, at);
}

static bool
is_active_tuple(const Active *a, const Value *v)
{
	return v->type->kind == TYPE_TUPLE && v->uses.n && v->id < a->nvalue && a->value[v->id];
}

/* Unpacks and remakes the tuples that an operator returns or that are inputs of the graph. */
static bool
take_apart(Graph *g, const Active *a, Node *n)
{
	bool changed = false;

	for (int i = 0; i < n->nout && (n->op || n == g->top->param); i++) {
		Value *whole = n->out[i], *again;
		const Node *use = whole->uses.n ? whole->uses.at[0].node : NULL;

		if (!is_active_tuple(a, whole) ||
		    (whole->uses.n == 1 && node_is(use, prim_TupleUnpack) && use->block == n->block))
			continue;
		graph_set_insert_before(g, n == g->top->param ? g->top->ret->next : n->next);
		again = made_again(g, whole, n->at);
		value_replace_uses(whole, again);
		node_set_input(again->node->in[0]->node, 0, whole);
		changed = true;
	}
	return changed;
}

/* Unpacks and remakes the tuples that an If or Loop takes or returns.  The pass `tuples` then removes them. */
static bool
take_apart_carried(Graph *g, const Active *a, Node *n)
{
	const bool loop = node_is(n, prim_Loop);
	bool changed = false;

	for (int i = 0; i < n->nout; i++) {
		if (!is_active_tuple(a, n->out[i]) && !(loop && is_active_tuple(a, loop_body(n)->param->out[1 + i])))
			continue;
		for (int k = 0; k < n->nsub + loop; k++) {
			Node *to = k < n->nsub ? n->sub[k]->ret : n;
			const int at = k < n->nsub ? loop + i : 2 + i;

			if (to->in[at]->type->kind != TYPE_TUPLE || node_is(to->in[at]->node, prim_TupleConstruct))
				continue;
			if (to == n)
				graph_set_insert_before(g, n);
			else
				graph_set_insert_end(g, n->sub[k]);
			node_set_input(to, at, made_again(g, to->in[at], n->at));
			changed = true;
		}
	}
	return changed;
}

static bool
change_tuples(Graph *g, const Active *a, Node *n)
{
	if (node_is(n, prim_Uninitialized) && n->out[0]->type->kind == TYPE_TUPLE) {
		open_elements(g, n);
		return true;
	}
	return take_apart(g, a, n) || (n->nsub && take_apart_carried(g, a, n));
}

static void
answer(Graph *g, Node *n, bool yes)
{
	graph_set_insert_before(g, n);
	value_replace_uses(n->out[0], graph_constant(g, rt_bool(yes), n->at));
	node_destroy(n);
}

/* ---- the walk -------------------------------------------------------------------------------------------------- */

static bool
change_node(Graph *g, const Active *a, Node *n)
{
	Function *body;
	bool active = false;

	for (int i = 0; i < n->nin; i++)
		active |= n->in[i]->id < a->nvalue && a->depends[n->in[i]->id];
	if (node_is(n, prim_requires_grad) || node_is(n, aten_is_grad_enabled)) {
		answer(g, n, !a->silent[n->id] && (active || !n->nin));
		return true;
	}
	if (n->nout && n->out[0]->uses.n && n->out[0]->type->kind == TYPE_LIST &&
	    (op_has(n->op, TRAIT_APPENDS) || op_has(n->op, TRAIT_EXTENDS))) {
		value_replace_uses(n->out[0], n->in[0]);
		return true;
	}
	if (op_has(n->op, TRAIT_EXTENDS))
		return append_each(g, n);
	if (change_tuples(g, a, n))
		return true;
	if (!active)
		return false;
	for (int i = 0; i < n->nout; i++)
		if (n->op && a->value[n->out[i]->id] && (body = op_expansion(g->cx, n->op))) {
			node_expand(g, n, body->graph);
			return true;
		}
	return false;
}

static bool
change_block(Graph *g, const Active *a, Block *b)
{
	bool changed = false;

	cx_enter(g->cx, b->ret->at);
	changed |= take_apart(g, a, b->param);
	for NODES(n, b) {
		if (n->id >= a->nnode)
			continue;
		for (int i = 0; i < n->nsub; i++)
			changed |= change_block(g, a, n->sub[i]);
		changed |= change_node(g, a, n);
	}
	cx_leave(g->cx);
	return changed;
}

/* Repeats the passes until nothing changes, since one folded None may make the next one constant. */
static void
tidy(Pass *p, Graph *g)
{
	static const char *const passes[] = { "tuples", "constprop", "peep", "lists", "dicts", "unrolling", "constprop",
		"lists", "constprop", "dce" };
	bool changed = true;

	for (int round = 0; changed && round < MOST_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
			changed |= pass_run(p->cx, passes[i], p->fn, g, rt_none());
	}
}

Active *
autodiff_form(Pass *p, Graph *g)
{
	Active *a;

	do {
		ops_compile_bodies(p->cx, g);
		tidy(p, g);
		a = active_values(p->cx, g, p->fn->gradient, p->scratch);
	} while (change_block(g, a, g->top) || pass_run(p->cx, "unwrite", p->fn, g, rt_none()));
	return a;
}
