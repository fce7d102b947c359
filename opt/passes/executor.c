/*
 * Turns graphs that PyTorch's executor has rewritten (graph_for, last_executed_optimized_graph) into plain graphs.  IR
 * text may contain such graphs.
 *
 *   %y, %c : Tensor, bool = prim::RequiresGradCheck[types=[...]](%x)        %y = %x, %c = True
 *   %r : Tensor = prim::DifferentiableGraph_0(%y)               ->         the subgraph's nodes
 *
 * The executor differentiates or fuses such a subgraph on its own.  The nodes of the subgraph replace its node.
 * Outputs of the subgraph that the node does not have were captured for its gradient.  They are not needed here, since
 * gradients are computed for the whole method.  Checks before such a node are assumed to hold, so the branch with the
 * unknown fallback function is removed: a specialization has its own guards, and generic code relies on no check.  For
 * the same reason the profiled types of values are removed.
 */
#include "../opt.h"

#include <string.h>

typedef struct Executor {
	Pass  *pass;
	Graph *graph;
	Vec(Value *) granted;    /* results of checks, assumed true */
	bool   changed;
} Executor;

static Value *
emit_at(Executor *x, const Node *n, const char *id, int nin, Value *const *in)
{
	return emit_schema_node(x->graph, op_by_id(x->pass->cx, id), n->at, in, nin)->out[0];
}

static Value *
integer(Executor *x, const Node *n, const char *attr)
{
	const Attr *a = node_attr(n, attr);

	return graph_constant(x->graph, a && a->kind == ATTR_VALUE && a->v.tag == RT_INT ? a->v : rt_int(0), n->at);
}

/* (x, y, ...) -> x, y, ..., and True as the answer to "do they match the attribute `types`?" */
static void
take_check(Executor *x, Node *n)
{
	Value *yes = graph_constant(x->graph, rt_bool(true), n->at);

	for (int i = 0; i < n->nin; i++)
		value_replace_uses(n->out[i], n->in[i]);
	value_replace_uses(n->out[n->nin], yes);
	vec_push(x->pass->cx->arena, &x->granted, yes);
}

static void
take_same(Executor *x, Node *n)
{
	(void)x;
	value_replace_uses(n->out[0], n->in[0]);
}

/* [chunks, dim](x) -> the chunks of x along dim */
static void
take_chunks(Executor *x, Node *n)
{
	Value *chunk[3] = { n->in[0], integer(x, n, "chunks"), integer(x, n, "dim") };
	Value *list = emit_at(x, n, "chunk", 3, chunk);
	Node *parts = graph_emit(x->graph, "prim::ListUnpack", n->at, 1, &list, n->nout);

	for (int i = 0; i < n->nout; i++) {
		parts->out[i]->type = &rt_type_tensor;
		value_replace_uses(n->out[i], parts->out[i]);
	}
}

static Value *
list_of(Executor *x, const Node *n)
{
	Value *list = graph_emit(x->graph, "prim::ListConstruct", n->at, n->nin, n->in, 1)->out[0];

	list->type = type_list(x->pass->cx, &rt_type_tensor);
	return list;
}

/* [dim](x, y, ...) -> cat([x, y, ...], dim) */
static void
take_concat(Executor *x, Node *n)
{
	value_replace_uses(n->out[0], emit_at(x, n, "cat", 2, (Value *[2]){ list_of(x, n), integer(x, n, "dim") }));
}

/* (a, b, ..., p, q, ...) -> a * p + b * q + ... */
static void
take_products(Executor *x, Node *n)
{
	const int half = n->nin / 2;
	Value *sum = NULL;

	for (int i = 0; i < half; i++) {
		Value *one = emit_at(x, n, "mm", 2, (Value *[2]){ n->in[i], n->in[half + i] });

		sum = sum ? emit_at(x, n, "add_Tensor", 3, (Value *[3]){ sum, one,
				 graph_constant(x->graph, rt_int(1), n->at) }) : one;
	}
	value_replace_uses(n->out[0], sum);
}

/* [side](a, p, q, ...) -> a * p, a * q, ... With side 1: p * a, q * a, ... */
static void
take_batch(Executor *x, Node *n)
{
	const Attr *side = node_attr(n, "side");
	const bool right = side && side->kind == ATTR_VALUE && side->v.tag == RT_INT && side->v.u.i;

	for (int i = 0; i < n->nout; i++) {
		Value *a = n->in[0], *b = n->in[i + 1];

		value_replace_uses(n->out[i], emit_at(x, n, "mm", 2,
				   right ? (Value *[2]){ b, a } : (Value *[2]){ a, b }));
	}
}

enum { ONE, ANY, MORE, LESS };   /* number of results: 1, any, one more than inputs, one less */

static const struct { Symbol kind; int least, results; void (*take)(Executor *, Node *); } forms[] = {
	{ prim_RequiresGradCheck, 0, MORE, take_check }, { prim_TypeCheck, 0, MORE, take_check },
	{ prim_profile, 1, ONE, take_same }, { prim_profile_ivalue, 1, ONE, take_same },
	{ prim_Guard, 1, ONE, take_same }, { prim_ConstantChunk, 1, ANY, take_chunks },
	{ prim_FusedConcat, 1, ONE, take_concat }, { prim_MMTreeReduce, 2, ONE, take_products },
	{ prim_MMBatchSide, 1, LESS, take_batch },
};

static bool
has_results(const Node *n, int results)
{
	return results == ANY || n->nout == (results == ONE ? 1 : results == MORE ? n->nin + 1 : n->nin - 1);
}

static void take_block(Executor *, Block *);

/* Rewrites the subgraph g of node n.  If the subgraph runs once at n, its nodes replace n. */
static void
take_piece(Executor *x, Node *n, Graph *g)
{
	Executor inner = { .pass = x->pass, .graph = g };

	take_block(&inner, g->top);
	x->changed |= inner.changed;
	if (node_is(n, prim_fork) || node_is(n, prim_awaitable) || graph_ninputs(g) != n->nin ||
	    g->top->ret->nin < n->nout)
		return;
	node_expand(x->graph, n, g);
	x->changed = true;
}

static bool
is_granted(const Executor *x, const Node *n)
{
	for (int i = 0; i < x->granted.n && node_is(n, prim_If); i++)
		if (x->granted.at[i] == n->in[0])
			return true;
	return false;
}

static void
take_node(Executor *x, Node *n)
{
	const Attr *sub = node_attr(n, "Subgraph");

	graph_set_insert_before(x->graph, n);
	if (is_granted(x, n)) {
		if_take_branch(n, 0);
		return;
	}
	if (sub && sub->kind == ATTR_GRAPH) {
		take_piece(x, n, sub->g);
		return;
	}
	for (size_t i = 0; i < sizeof forms / sizeof *forms && !n->op; i++)
		if (node_is(n, forms[i].kind) && n->nin >= forms[i].least && has_results(n, forms[i].results)) {
			forms[i].take(x, n);
			node_destroy(n);
			x->changed = true;
			return;
		}
}

/* Removes profiled types.  Types in programs of torch.export stay, since they hold for all calls. */
static void
forget_types(Executor *x, Node *n)
{
	if (x->pass->fn && x->pass->fn->exported)
		return;
	for (int i = 0; i < n->nout && !node_is(n, prim_Constant); i++)
		n->out[i]->type = type_unshaped(x->pass->cx, n->out[i]->type);
}

static void
take_block(Executor *x, Block *b)
{
	cx_enter(x->pass->cx, b->ret->at);
	forget_types(x, b->param);
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			take_block(x, n->sub[i]);
		forget_types(x, n);
		take_node(x, n);
	}
	cx_leave(x->pass->cx);
}

bool
executor(Pass *p, Graph *g)
{
	Executor x = { .pass = p, .graph = g };

	take_block(&x, g->top);
	return x.changed;
}
