/*
 * If and Loop by their parts.
 *
 *  %out = prim::If(%cond)                   %out = prim::Loop(%max, %cond, %init)
 *    block0():                                block0(%index : int, %carried : T):
 *      -> (%a)                                  -> (%again, %next)
 *    block1():
 *      -> (%b)
 * he functions here keep a node's inputs, block inputs, block outputs and outputs consistent with each other.
 */
#include "ir.h"
#include "row.h"

Node *
if_new(Graph *g, Range at, Value *cond, int nout)
{
	Node *n = node_new(g, sym(g->cx, "prim::If"), at, nout);

	node_add_input(n, cond);
	node_add_block(n);
	node_add_block(n);
	return n;
}

Node *
loop_new(Graph *g, Range at, Value *max, Value *cond)
{
	Node *n = node_new(g, sym(g->cx, "prim::Loop"), at, 0);

	node_add_input(n, max);
	node_add_input(n, cond);
	block_add_input(node_add_block(n), &rt_type_int, NULL);
	return n;
}

void
loop_add_carried(Node *n, Value *init, Symbol name)
{
	node_add_input(n, init);
	block_add_input(loop_body(n), init->type, name);
	node_add_output(n, init->type)->name = name;
}

void
if_remove_output(Node *n, int i)
{
	block_remove_output(if_then(n), i);
	block_remove_output(if_else(n), i);
	node_remove_output(n, i);
}

void
loop_remove_carried(Node *n, int i)
{
	block_remove_output(loop_body(n), 1 + i);
	block_remove_input(loop_body(n), 1 + i);
	node_remove_input(n, 2 + i);
	node_remove_output(n, i);
}

void
block_splice_before(Block *b, Node *at)
{
	for NODES(n, b)
		node_move_before(n, at);
}

bool
block_raises(const Block *b)
{
	for NODES(n, b)
		if (node_is(n, prim_RaiseException))
			return true;
	return false;
}

void
if_take_branch(Node *n, int which)
{
	Block *b = n->sub[which];

	block_splice_before(b, n);
	for (int i = 0; i < n->nout; i++)
		value_replace_uses(n->out[i], b->ret->in[i]);
	node_destroy(n);
}

bool
loop_is_for(const Node *n)
{
	int64_t first, again;

	return value_int(loop_cond(n), &first) && first && value_int(loop_body(n)->ret->in[0], &again) && again;
}

static Node *
first_node(const Block *b)
{
	return b->ret->next != b->ret ? b->ret->next : NULL;
}

/* Returns the first node in n's blocks from block i on. Null if they are empty. */
static Node *
first_inside(const Node *n, int i)
{
	Node *first = NULL;

	for (; i < n->nsub && !first; i++)
		first = first_node(n->sub[i]);
	return first;
}

Node *
block_next(const Block *b, const Node *n)
{
	Node *next = n ? first_inside(n, 0) : first_node(b);

	while (n && !next) {
		const Block *in = n->block;
		int i = 0;

		if (n->next != in->ret)
			return n->next;
		if (in == b)
			return NULL;
		n = in->owner;
		while (n->sub[i] != in)
			i++;
		next = first_inside(n, i + 1);
	}
	return next;
}

/* Returns the first node that INNER_FIRST visits among n and the nodes inside of it. Null if n is null. */
static Node *
innermost(Node *n)
{
	Node *first;

	while (n && (first = first_inside(n, 0)))
		n = first;
	return n;
}

Node *
block_after(const Block *b, const Node *n)
{
	const Block *in = n ? n->block : NULL;
	Node *next;
	int i = 0;

	if (!n || n->next != in->ret)
		return innermost(n ? n->next : first_node(b));
	if (in == b)
		return NULL;
	while (in->owner->sub[i] != in)
		i++;
	next = first_inside(in->owner, i + 1);
	return next ? innermost(next) : in->owner;
}

bool
block_has(const Block *b, Symbol kind)
{
	for ALL_NODES(n, b)
		if (node_is(n, kind))
			return true;
	return false;
}

/* The error that an operator may raise is no effect: passes may drop it with an unused result. */
OpEffect
block_effect(const Block *b)
{
	OpEffect worst = EFFECT_PURE;

	for ALL_NODES(n, b) {
		const bool raises = node_is(n, prim_RaiseException) || (n->op && n->op->row == ROW_prim_lacks);
		const OpEffect effect = n->op ? n->op->effect : node_has_effect(n) ? EFFECT_IO : EFFECT_PURE;

		if (effect > worst && !raises)
			worst = effect;
	}
	return worst;
}

int
block_size(const Block *b)
{
	int count = 0;

	for ALL_NODES(n, b)
		count++;
	return count;
}
