/*
 * Uses the condition of an If: it is known in the branches, and results may equal it.
 *
 *  In the first branch of an If its condition is True, in the second False.  A negation's operand is the opposite.
 *  %r = prim::If(%c): -> (True), -> (False)     ->   %c               with exchanged branches: aten::__not__(%c)
 *  %r = prim::If(%c): -> (%v), -> (False)       ->   aten::__and__(%c, %v)
 *  %r = prim::If(%c): -> (True), -> (%v)        ->   aten::__or__(%c, %v)
 *
 *  prim::If(%c): A, else: A                     ->   A
 *
 * The rules for __and__ and __or__ also apply if the branch computes %v from a few numbers by operators that cannot
 * fail: to compute them always is cheaper than to branch.  constprop folds new constants afterwards.
 */
#include "../opt.h"

#include <string.h>

enum { FEW_NODES = 4 };

typedef struct Branches {
	Pass   *pass;
	Graph  *graph;
	Value **twin;            /* equal value of the second branch, by value id in the first branch */
	int     ntwin;
	bool    changed;
} Branches;

/* ---- inside the branches ------------------------------------------------------------------------------- */

/* Replaces all uses of v in the block by the constant `is`. */
static void
decide(Branches *b, Node *n, Value *v, Block *in, bool is)
{
	Value *constant = NULL;

	for (int i = v->uses.n - 1; i >= 0; i--) {
		const Use u = v->uses.at[i];

		if (!node_in_block(u.node, in) || !pass_may(b->pass))
			continue;
		pass_note(b->pass, u.node, "the condition is %s here", is ? "true" : "false");
		if (!constant) {
			graph_set_insert_before(b->graph, in->ret->next);
			constant = graph_constant(b->graph, rt_bool(is), n->at);
		}
		node_set_input(u.node, u.index, constant);
		b->changed = true;
	}
}

static void
decide_branches(Branches *b, Node *n)
{
	Value *c = if_cond(n);
	IValue known;

	if (value_constant(c, &known))
		return;
	for (int is = 0; is < 2; is++) {
		Block *in = is ? if_then(n) : if_else(n);

		decide(b, n, c, in, is);
		if (node_is(c->node, aten___not__) && !value_constant(c->node->in[0], &known))
			decide(b, n, c->node->in[0], in, !is);
	}
}

/* ---- results that are conditions ------------------------------------------------------------------------ */

static bool
is_number_type(const Type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_FLOAT || t->kind == TYPE_BOOL;
}

bool
node_is_cheap(const Node *n)
{
	bool known = node_is(n, prim_Constant) || op_has(n->op, TRAIT_CHEAP);

	for (int i = 0; i < n->nin; i++)
		known &= is_number_type(n->in[i]->type);
	return known && n->nout == 1 && is_number_type(n->out[0]->type);
}

/* Does the block compute only a few cheap numbers? */
static bool
is_cheap_block(const Block *b)
{
	int count = 0;

	for NODES(n, b)
		if (!node_is_cheap(n) || ++count > FEW_NODES)
			return false;
	return true;
}

static bool
is_constant_bool(const Value *v, bool is)
{
	IValue c;

	return value_constant(v, &c) && c.tag == RT_BOOL && !c.u.i == !is;
}

static Value *
emit_bool_node(Branches *b, Node *n, const char *kind, int nin, Value *x, Value *y)
{
	Value *in[2] = { x, y };
	Node *made;

	graph_set_insert_before(b->graph, n);
	made = graph_emit(b->graph, kind, n->at, nin, in, 1);
	made->op = op_of_inputs(b->pass->cx, kind, in, nin, 1);
	made->out[0]->type = &rt_type_bool;
	made->inlined = n->inlined;
	return made->out[0];
}

/* Can the value be computed before the If, whatever the condition is?  An uninitialized value must not be read. */
static bool
comes_before(const Value *v, const Block *from)
{
	return !node_is(v->node, prim_Uninitialized) && (!node_in_block(v->node, from) || is_cheap_block(from));
}

typedef enum Says { SAYS_NOTHING, SAYS_SAME, SAYS_NOT, SAYS_AND, SAYS_OR } Says;

/* Returns how result i of the If depends on the condition. */
static Says
says(const Node *n, int i)
{
	const Value *yes = if_then(n)->ret->in[i], *no = if_else(n)->ret->in[i];

	if (!n->out[i]->uses.n || n->out[i]->type != &rt_type_bool || yes->type != &rt_type_bool ||
	    no->type != &rt_type_bool)
		return SAYS_NOTHING;
	if (is_constant_bool(yes, true) && is_constant_bool(no, false))
		return SAYS_SAME;
	if (is_constant_bool(yes, false) && is_constant_bool(no, true))
		return SAYS_NOT;
	if (is_constant_bool(no, false) && comes_before(yes, if_then(n)))
		return SAYS_AND;
	return is_constant_bool(yes, true) && comes_before(no, if_else(n)) ? SAYS_OR : SAYS_NOTHING;
}

/* Returns v.  If the block computes v, its nodes move before the If. */
static Value *
brought_before(Node *n, Value *v, Block *from)
{
	if (node_in_block(v->node, from))
		block_splice_before(from, n);
	return v;
}

static Value *
condition_for(Branches *b, Node *n, int i, Says what)
{
	Value *c = if_cond(n), *yes = if_then(n)->ret->in[i], *no = if_else(n)->ret->in[i];

	switch (what) {
	case SAYS_NOT:
		return emit_bool_node(b, n, "aten::__not__", 1, c, NULL);
	case SAYS_AND:
		return emit_bool_node(b, n, "aten::__and__", 2, c, brought_before(n, yes, if_then(n)));
	case SAYS_OR:
		return emit_bool_node(b, n, "aten::__or__", 2, c, brought_before(n, no, if_else(n)));
	default:
		return c;
	}
}

static void
take_results(Branches *b, Node *n)
{
	for (int i = n->nout - 1; i >= 0; i--) {
		const Says what = says(n, i);

		if (what == SAYS_NOTHING || !pass_may(b->pass))
			continue;
		pass_note(b->pass, n, "result %d follows from the condition", i);
		value_replace_uses(n->out[i], condition_for(b, n, i, what));
		if_remove_output(n, i);
		b->changed = true;
	}
}

/* ---- branches that are equal ---------------------------------------------------------------------------------- */

static bool are_equal(const Block *, const Block *, Value **);

static bool
is_same_value(const Value *x, const Value *y, Value *const *twin)
{
	IValue a, b;

	return x == y || twin[x->id] == y ||
	       (x->type == y->type && !type_is_mutable(x->type) && value_constant(x, &a) && value_constant(y, &b) &&
		value_identical(a, b));
}

/* Are the nodes equal?  Nodes that can raise must come from the same line of the model, since the error names it. */
static bool
is_same_node(const Node *x, const Node *y, Value **twin)
{
	if (x->kind != y->kind || x->op != y->op || x->nin != y->nin || x->nout != y->nout || x->nsub != y->nsub ||
	    x->attrs.n != y->attrs.n || (!node_is_cheap(x) && memcmp(&x->at, &y->at, sizeof x->at)))
		return false;
	for (int i = 0; i < x->attrs.n; i++)
		if (x->attrs.at[i].kind == ATTR_GRAPH || !attr_equal(&x->attrs.at[i], &y->attrs.at[i]))
			return false;
	for (int i = 0; i < x->nin; i++)
		if (!is_same_value(x->in[i], y->in[i], twin))
			return false;
	for (int i = 0; i < x->nout; i++) {
		if (x->out[i]->type != y->out[i]->type)
			return false;
		twin[x->out[i]->id] = y->out[i];
	}
	for (int i = 0; i < x->nsub; i++)
		if (!are_equal(x->sub[i], y->sub[i], twin))
			return false;
	return true;
}

static const Node *
next_node(const Node *n)
{
	do
		n = n->next;
	while (node_is(n, prim_Constant));
	return n;
}

static bool
are_equal(const Block *a, const Block *b, Value **twin)
{
	const Node *x = next_node(a->ret), *y = next_node(b->ret);

	if (a->param->nout != b->param->nout || a->ret->nin != b->ret->nin)
		return false;
	for (int i = 0; i < a->param->nout; i++)
		twin[a->param->out[i]->id] = b->param->out[i];
	for (; x != a->ret && y != b->ret; x = next_node(x), y = next_node(y))
		if (!is_same_node(x, y, twin))
			return false;
	for (int i = 0; i < a->ret->nin; i++)
		if (!is_same_value(a->ret->in[i], b->ret->in[i], twin))
			return false;
	return x == a->ret && y == b->ret;
}

/* Replaces an If by its first branch if both branches do the same. */
static bool
take_either(Branches *b, Node *n)
{
	if (next_node(if_then(n)->ret)->kind != next_node(if_else(n)->ret)->kind)
		return false;
	if (b->ntwin <= b->graph->nvalue)
		b->twin = new(b->pass->scratch, Value *, b->ntwin = 2 * b->graph->nvalue + 1);
	memset(b->twin, 0, (size_t)b->ntwin * sizeof *b->twin);
	if (!are_equal(if_then(n), if_else(n), b->twin) || !pass_may(b->pass))
		return false;
	pass_note(b->pass, n, "both branches do the same");
	if_take_branch(n, 0);
	return b->changed = true;
}

static void
simplify_ifs(Branches *b, Block *in)
{
	cx_enter(b->pass->cx, in->ret->at);
	for NODES(n, in) {
		if (node_is(n, prim_If))
			decide_branches(b, n);
		for (int i = 0; i < n->nsub; i++)
			simplify_ifs(b, n->sub[i]);
		if (node_is(n, prim_If) && !take_either(b, n))
			take_results(b, n);
	}
	cx_leave(b->pass->cx);
}

bool
branches(Pass *p, Graph *g)
{
	Branches b = { .pass = p, .graph = g };

	simplify_ifs(&b, g->top);
	return b.changed;
}
