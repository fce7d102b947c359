/*
 * Changes a graph that is to be saved so that PyTorch can read and run it.  Its results do not change.  It works around
 * two faults of PyTorch.
 *
 * PyTorch's interpreter moves a value out of its register at the use that it emits last.  A loop with one result, whose
 * only use is an operand in the same block, is emitted at that use, after the operands before it.  Then the last use of
 * y in
 *
 *    y = torch.mul(x, 2)
 *    for i in range(n):
 *      s = torch.add(s, y)
 *    return (y, s)               # inside a block
 *
 * is the one in the loop, and y is gone in its second trip.  A node with an effect between loop and use prevents this.
 * It is a prim::TimePoint whose result is not used.  No pass of PyTorch removes it; dead code elimination here does.
 *
 * The importer requires that the body of a fork uses some value from outside.  A body that uses none gets a list, and
 * clears it.
 */
#include "../opt.h"

static bool
is_used_in(const Value *v, const Node *n)
{
	for (int i = 0; i < v->uses.n; i++)
		for (int k = 0; k < n->nsub; k++)
			if (node_in_block(v->uses.at[i].node, n->sub[k]))
				return true;
	return false;
}

/* Does the loop's body use a value of the loop's block that is also an operand after the loop? */
static bool
shares_operand(const Node *loop)
{
	for (const Node *n = loop->next;; n = n->next) {
		for (int i = 0; i < n->nin; i++)
			if (n->in[i]->node->block == loop->block || n->in[i]->node == loop->block->param)
				if (is_used_in(n->in[i], loop))
					return true;
		if (n == loop->block->ret)
			return false;
	}
}

static void
keep_in_place(Graph *g, Node *loop)
{
	if (loop->nout != 1 || loop->out[0]->uses.n != 1 || loop->out[0]->uses.at[0].node->block != loop->block)
		return;
	if (node_is(loop->next, prim_TimePoint) || !shares_operand(loop))
		return;
	graph_set_insert_before(g, loop->next);
	emit_builtin(g, "prim::TimePoint", loop->at, NULL, 0, 10);
}

/* Does the fork's body use a value from outside?  Constants do not count, since they are printed in the body. */
static bool
captures(const Node *fork)
{
	const Graph *body = node_attr(fork, "Subgraph")->g;

	for (int i = 0; i < fork->nin; i++)
		if (!value_constant(fork->in[i], &(IValue){ 0 }) && graph_inputs(body)[i]->uses.n)
			return true;
	return false;
}

static void
give_capture(Graph *g, Node *fork)
{
	Graph *body = node_attr(fork, "Subgraph")->g;
	NamedValue in = { .at = fork->at };
	Node *list;

	graph_set_insert_before(g, fork);
	list = graph_emit(g, "prim::ListConstruct", fork->at, 0, NULL, 1);
	list->out[0]->type = type_list(g->cx, &rt_type_int);
	node_add_input(fork, list->out[0]);
	in.v = graph_add_input(body, list->out[0]->type, NULL);
	graph_set_insert_before(body, body->top->ret->next);
	emit_builtin(body, "aten::clear", fork->at, &in, 1, 10);
}

static void
form_block(Graph *g, Block *b, bool loops)
{
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			form_block(g, n->sub[i], loops);
		for (int i = 0; i < n->attrs.n; i++)
			if (n->attrs.at[i].kind == ATTR_GRAPH)
				form_block(n->attrs.at[i].g, n->attrs.at[i].g->top, loops);
		if (loops && node_is(n, prim_Loop))
			keep_in_place(g, n);
		if (node_is(n, prim_fork) && !captures(n))
			give_capture(g, n);
	}
}

Graph *
graph_torch_form(Graph *g, bool loops)
{
	form_block(g, g->top, loops);
	graph_lint(g);
	return g;
}
