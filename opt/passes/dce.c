/*
 * Dead code elimination, by an inverse mark and sweep.
 *
 * A node is live if one of its outputs is live, if it has an effect of its own, or if it writes to memory that a live
 * value or code outside may reach.  A value that a nested block returns is live if the output that it becomes is live.
 * The sweep removes nodes without a mark, outputs of Ifs and values carried by Loops that nothing uses.
 *
 * An unused draw of random numbers is removed, as in PyTorch: later draws must see the same state of the generator.
 * Reading the clock is no effect: archives read it and ignore the result (torchform.c).  A possible error keeps a node
 * only if the specializer has marked it: such a node was needed until the profile showed that nothing uses its result
 * (keep_error).
 *
 * Until a graph is differentiated its writes to tensors stay: a write through .data changes what the backward pass
 * reads of the forward pass.
 */
#include "../opt.h"

typedef struct Dce {
	Pass    *pass;
	AliasDb *alias;
	bool    *live;           /* whether the value is live, by value id */
	/* Whether the node, or a node inside it, has an effect or writes to outside memory, by node id. */
	bool    *effects;
	int64_t  nmark;          /* number of nodes and values marked so far */
	bool     keeps_writes;   /* whether writes to tensors are live */
} Dce;

static void
mark_value(Dce *d, const Value *v)
{
	if (d->live[v->id])
		return;
	d->live[v->id] = true;
	alias_live_add(d->alias, v);
	d->nmark++;
}

static bool
has_own_effect(const Node *n)
{
	return (node_has_effect(n) && !(n->op && n->op->effect == EFFECT_RANDOM) && !node_is(n, prim_TimePoint)) ||
	       node_attr(n, "stays");
}

static bool
writes_tensor(const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i]->type->kind == TYPE_TENSOR && node_writes_input(n, i))
			return true;
	return false;
}

/* Does n write to memory that code outside of the graph can reach, or that a backward pass may read?  Must be called
 * while no value is marked live. */
static bool
writes_outside(Dce *d, const Node *n)
{
	return (!n->nsub && alias_writes_live(d->alias, n)) || (d->keeps_writes && writes_tensor(n));
}

static bool
find_effects(Dce *d, const Block *b)
{
	bool any = false;

	for NODES(n, b) {
		d->effects[n->id] = has_own_effect(n) || writes_outside(d, n);
		for (int i = 0; i < n->nsub; i++)
			d->effects[n->id] |= find_effects(d, n->sub[i]);
		any |= d->effects[n->id];
	}
	return any;
}

static bool
is_live(Dce *d, const Node *n)
{
	for (int i = 0; i < n->nout; i++)
		if (d->live[n->out[i]->id])
			return true;
	return d->effects[n->id] || (!n->nsub && alias_writes_live(d->alias, n));
}

static void mark_block(Dce *d, Block *b);

/* Marks the block's results whose outputs of n are live.  For a Loop, also marks results carried to a live
 * parameter. */
static void
mark_results(Dce *d, const Node *n, const Block *b)
{
	const bool is_loop = node_is(n, prim_Loop), is_if = node_is(n, prim_If);

	if (is_loop)
		mark_value(d, b->ret->in[0]);
	for (int i = 0; i < n->nout && (is_loop || is_if); i++) {
		const bool wanted = d->live[n->out[i]->id] || (is_loop && d->live[b->param->out[1 + i]->id]);

		if (wanted)
			mark_value(d, b->ret->in[is_loop + i]);
		if (wanted && is_loop)
			mark_value(d, n->in[2 + i]);
	}
	for (int i = 0; i < b->ret->nin && !is_loop && !is_if; i++)
		mark_value(d, b->ret->in[i]);
}

static void
mark_inputs(Dce *d, const Node *n)
{
	const int first = node_is(n, prim_Loop) ? 2 : n->nin;     /* mark_results marks carried values */

	for (int i = 0; i < first; i++)
		mark_value(d, n->in[i]);
}

static void
mark_live(Dce *d, Node *n)
{
	d->nmark += !n->mark;
	n->mark = true;
	mark_inputs(d, n);
	for (int i = 0; i < n->nsub; i++)
		mark_results(d, n, n->sub[i]);
}

static bool
is_used_inside(const Value *param, const Node *ret)
{
	for (int i = 0; i < param->uses.n; i++)
		if (param->uses.at[i].node != ret)
			return true;
	return false;
}

/* Marks a Loop's condition if the body computes it, and carried values that the body uses though nothing reads the
 * final value.  PyTorch computes them, so their errors can be seen. */
static void
mark_carried(Dce *d, const Node *n)
{
	const Block *b = loop_body(n);

	if (node_in_block(b->ret->in[0]->node, b))
		mark_value(d, b->ret->in[0]);
	for (int i = 0; i < n->nout; i++)
		if (is_used_inside(b->param->out[1 + i], b->ret))
			mark_value(d, b->ret->in[1 + i]);
}

static bool
marks_inside(Dce *d, const Node *n)
{
	bool inside = false;

	for (int i = 0; i < n->nsub; i++) {
		mark_block(d, n->sub[i]);
		for NODES(m, n->sub[i])
			inside |= m->mark;
	}
	return inside;
}

/* Marks n, and nodes inside it, if they are live.  A write is dead, as in PyTorch, if only earlier nodes could read the
 * memory, and these neither have an effect nor write to memory known outside.  In a loop the earlier nodes run again
 * after the write, so its body is walked until no mark is added.  Results of a live If or Loop are marked before its
 * blocks are walked, so that one walk is enough for chains of them. */
static void
mark_node(Dce *d, Node *n)
{
	const bool is_loop = node_is(n, prim_Loop);
	int64_t before;

	if (n->mark || is_live(d, n))
		mark_live(d, n);
	if (is_loop)
		mark_carried(d, n);
	do {
		before = d->nmark;
		if (marks_inside(d, n))
			mark_live(d, n);
	} while (is_loop && d->nmark != before);
}

static void
mark_block(Dce *d, Block *b)
{
	for NODES(n, b)
		if (d->effects[n->id])
			mark_live(d, n);
	for NODES_REV(n, b)
		mark_node(d, n);
}

/* Is output i of an If or Loop unused, and for a Loop also unused in its body? */
static bool
is_dead_result(const Dce *d, const Node *n, int i)
{
	if (node_is(n, prim_If))
		return !d->live[n->out[i]->id];
	return node_is(n, prim_Loop) && !d->live[n->out[i]->id] && !d->live[loop_body(n)->param->out[1 + i]->id];
}

/* First half of the removal of dead results: removes their uses, so that nodes used only there are removed, too. */
static void
cut_dead_results(Dce *d, Node *n)
{
	for (int i = n->nout - 1; i >= 0; i--) {
		if (!is_dead_result(d, n, i))
			continue;
		for (int k = 0; k < n->nsub; k++)
			block_remove_output(n->sub[k], n->nsub == 1 ? 1 + i : i);
		if (n->nsub == 1)
			node_remove_input(n, 2 + i);
	}
}

static bool
drop_dead_results(Dce *d, Node *n)
{
	bool changed = false;

	for (int i = n->nout - 1; i >= 0; i--) {
		if (!is_dead_result(d, n, i))
			continue;
		if (n->nsub == 1)
			block_remove_input(loop_body(n), 1 + i);
		node_remove_output(n, i);
		changed = true;
	}
	return changed;
}

static void
cut_block(Dce *d, Block *b)
{
	for NODES(n, b) {
		if (!n->mark)
			continue;
		cut_dead_results(d, n);
		for (int i = 0; i < n->nsub; i++)
			cut_block(d, n->sub[i]);
	}
}

static bool
is_unused(const Node *n)
{
	for (int i = 0; i < n->nout; i++)
		if (n->out[i]->uses.n)
			return false;
	return true;
}

/* Removes unmarked nodes.  Walks from the end, so that users are removed before the nodes that they use. */
static bool
sweep(Dce *d, Block *b)
{
	bool changed = false;

	for NODES_REV(n, b) {
		const bool keep = n->mark;

		for (int i = 0; i < n->nsub; i++)
			changed |= sweep(d, n->sub[i]);
		if (keep || !is_unused(n) || !pass_may(d->pass))
			continue;
		pass_note(d->pass, n, "unused, removed");
		node_destroy(n);
		changed = true;
	}
	return changed;
}

static bool
finish(Dce *d, Block *b, bool drop)
{
	bool changed = false;

	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			changed |= finish(d, n->sub[i], drop);
		if (drop && n->mark)
			changed |= drop_dead_results(d, n);
		n->mark = false;
	}
	return changed;
}

bool
dce(Pass *p, Graph *g)
{
	Dce d = { .pass = p, .alias = pass_alias(p, g), .live = new(p->scratch, bool, g->nvalue + 1),
		  .effects = new(p->scratch, bool, g->nnode + 1),
		  .keeps_writes = p->fn && p->fn->gradient && g == p->fn->prepared && !g->differentiated };
	const bool all = p->limit < 0;          /* -L counts whole nodes, so a limit keeps dead results */
	bool changed;

	alias_live_clear(d.alias);
	find_effects(&d, g->top);
	for (int i = 0; i < g->top->ret->nin; i++)
		mark_value(&d, g->top->ret->in[i]);
	mark_block(&d, g->top);
	if (all)
		cut_block(&d, g->top);
	changed = sweep(&d, g->top);
	return finish(&d, g->top, all) || changed;
}
