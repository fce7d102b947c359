/*
 * Checks the invariants of a graph. Each check has its number in the message.
 *
 * 1  a value is used only where it is in scope: after its node, in the node's block or one nested in it
 * 2  node n is in the uses of v, with index i, exactly when n->in[i] is v
 * 3  outputs know their node and index
 * 4  nodes of a block form a ring through its return node, in order of position, and know their block and graph
 * 5  blocks know their owner and graph
 * 6  If has a bool, two blocks without inputs, and as many outputs as each block
 * 7  Loop has a count, a bool, and as many carried values as block inputs, block outputs and outputs
 * 8  a node with an overload has the inputs that its schema declares, or more for a vararg, of types that fit
 * 9  a Constant has no input, one output, and at most one value
 * 10  a node has the attributes that its kind needs
 */
#include "ir.h"
#include <string.h>

typedef struct Lint { Graph *graph; } Lint;

static void
broken(Lint *l, int number, const Node *n, const char *what)
{
	Buf text = {0};

	graph_print(l->graph, &text, false);
	BUG("the graph of %s is broken: [%d] %s, at %s (node %d)\n%s", l->graph->name ? l->graph->name : "?", number,
	    what, n->kind->name, n->id, text.at ? text.at : "");
}

/* ---- 1, 2, 3: values --------------------------------------------------------------------------------- */

static bool
has_use(const Value *v, const Node *n, int i)
{
	for (int k = 0; k < v->uses.n; k++)
		if (v->uses.at[k].node == n && v->uses.at[k].index == i)
			return true;
	return false;
}

static bool
in_scope(const Value *v, const Node *user)
{
	const Node *here = v->node->block ? block_owner_in(user, v->node->block) : NULL;

	if (!here)
		return false;
	if (v->node == v->node->block->param)
		return true;
	return v->node != here && v->node->position < here->position;
}

static void
lint_inputs(Lint *l, const Node *n)
{
	for (int i = 0; i < n->nin; i++) {
		const Value *v = n->in[i];

		if (!v)
			broken(l, 2, n, "an input is null");
		if (!has_use(v, n, i))
			broken(l, 2, n, "an input does not know its use");
		if (!in_scope(v, n))
			broken(l, 1, n, "an input is not in scope");
	}
}

static void
lint_outputs(Lint *l, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		const Value *v = n->out[i];

		if (v->node != n || v->index != i)
			broken(l, 3, n, "an output does not know its node");
		if (!v->type)
			broken(l, 3, n, "an output has no type");
		for (int k = 0; k < v->uses.n; k++) {
			const Use u = v->uses.at[k];

			if (u.index >= u.node->nin || u.node->in[u.index] != v)
				broken(l, 2, n, "an output lists a use that is none");
		}
	}
}

/* ---- 6 to 10: kinds ------------------------------------------------------------------------------------- */

static void
lint_if(Lint *l, const Node *n)
{
	if (n->nin != 1 || n->in[0]->type->kind != TYPE_BOOL || n->nsub != 2)
		broken(l, 6, n, "an If has other parts than a bool and two blocks");
	for (int i = 0; i < 2; i++)
		if (n->sub[i]->param->nout || n->sub[i]->ret->nin != n->nout)
			broken(l, 6, n, "a branch has inputs, or not the outputs of its If");
}

static void
lint_loop(Lint *l, const Node *n)
{
	const Block *b;

	if (n->nsub != 1 || n->nin < 2 || n->in[0]->type->kind != TYPE_INT || n->in[1]->type->kind != TYPE_BOOL)
		broken(l, 7, n, "a Loop has other parts than a count, a condition and a body");
	b = n->sub[0];
	if (n->nin != n->nout + 2 || b->param->nout != n->nout + 1 || b->ret->nin != n->nout + 1)
		broken(l, 7, n, "carried values are not in step");
	if (b->param->out[0]->type->kind != TYPE_INT || b->ret->in[0]->type->kind != TYPE_BOOL)
		broken(l, 7, n, "the trip index is no int, or the condition no bool");
}

static void
lint_call(Lint *l, const Node *n)
{
	const Schema *s = node_schema(n);

	if (n->nin < s->nargs || (n->nin > s->nargs && !s->vararg))
		broken(l, 8, n, "the number of inputs is not that of the schema");
	if (n->nout != s->nrets && !s->varret)
		broken(l, 8, n, "the number of outputs is not that of the schema");
	for (int i = 0; i < s->nargs; i++) {
		const Type *want = s->args[i].type;

		if (!type_has_vars(want) &&
		    !type_is_subtype(l->graph->cx, type_unshaped(l->graph->cx, n->in[i]->type), want))
			broken(l, 8, n, "an input has not the type that the schema declares");
	}
}

static void
lint_constant(Lint *l, const Node *n)
{
	if (n->nin || n->nout != 1 || n->attrs.n > 1 + (node_attr(n, "varies") || node_attr(n, "fallback")))
		broken(l, 9, n, "a Constant has inputs, no output, or more than a value");
}

static const struct { Symbol kind; const char *attr; AttrKind holds; } needed[] = {
	{ prim_GetAttr, "name", ATTR_VALUE },
	{ prim_SetAttr, "name", ATTR_VALUE },
	{ prim_CallMethod, "name", ATTR_VALUE },
	{ prim_isinstance, "types", ATTR_TYPES },
	{ prim_fork, "Subgraph", ATTR_GRAPH },
	{ prim_awaitable, "Subgraph", ATTR_GRAPH },
	{ prim_TupleSlice, "beg", ATTR_VALUE },
	{ prim_TupleSlice, "end", ATTR_VALUE },
};

static void
lint_attrs(Lint *l, const Node *n)
{
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (node_is(n, needed[i].kind)) {
			const Attr *a = node_attr(n, needed[i].attr);

			if (!a || a->kind != needed[i].holds)
				broken(l, 10, n, "an attribute is missing");
		}
}

/* ---- 4, 5: structure ---------------------------------------------------------------------------------------- */

static void lint_block(Lint *l, const Block *b);

static void
lint_node(Lint *l, const Node *n)
{
	lint_inputs(l, n);
	lint_outputs(l, n);
	if (n->op)
		lint_call(l, n);
	else if (node_is(n, prim_If))
		lint_if(l, n);
	else if (node_is(n, prim_Loop))
		lint_loop(l, n);
	else if (node_is(n, prim_Constant))
		lint_constant(l, n);
	lint_attrs(l, n);
	for (int i = 0; i < n->nsub; i++) {
		if (n->sub[i]->owner != n)
			broken(l, 5, n, "a block does not know its owner");
		lint_block(l, n->sub[i]);
	}
	for (int i = 0; i < n->attrs.n; i++)
		if (n->attrs.at[i].kind == ATTR_GRAPH)
			graph_lint(n->attrs.at[i].g);
}

static void
lint_block(Lint *l, const Block *b)
{
	if (b->graph != l->graph)
		broken(l, 5, b->ret, "a block does not know its graph");
	lint_outputs(l, b->param);
	for NODES(n, b) {
		if (n->block != b || n->graph != l->graph || n->next->prev != n || n->prev->next != n)
			broken(l, 4, n, "a node is not linked into its block");
		if (n->prev != b->ret && n->prev->position >= n->position)
			broken(l, 4, n, "positions do not grow along the block");
		lint_node(l, n);
	}
	lint_inputs(l, b->ret);
}

void
graph_lint(Graph *g)
{
	Lint l = { g };

	lint_block(&l, g->top);
}
