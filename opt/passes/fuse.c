/*
 * Fuses pointwise operators: chains of OP_MAP operators over one iteration space become prim::FusionGroup nodes.
 *
 * The pass is greedy, and walks each block from its end.  A group absorbs the producers of its inputs while all have
 * the same sizes.  A producer of a smaller space would be computed again for every broadcast element.  A producer of a
 * larger space is not pointwise.  A producer whose value has other users is absorbed if all of them come after the
 * group.  Its value becomes another output.  Values that anything writes to are left out, so the group's nodes may
 * change their order.
 *
 *   t = aten::add(a, b); u = aten::relu(t)   ->   u = prim::FusionGroup[Subgraph=...](a, b)
 */
#include "../opt.h"

#include <string.h>

enum { MAX_INPUTS = 24 };

typedef struct Fuse {
	Graph   *graph;
	AliasDb *alias;
	Pass    *pass;
	int      made;
} Fuse;

/* May elements of this type be fused?  Complex numbers may only in operators that have kernels for them. */
static bool
element_type(const Node *n, const Type *t)
{
	const char c = rt_dtypes[t->tensor->dtype].category;

	return strchr("FIBUE", c) || (c == 'C' && n->op->lowering);
}

static bool
has_number_type(const Value *v)
{
	return v->type->kind == TYPE_INT || v->type->kind == TYPE_FLOAT || v->type->kind == TYPE_BOOL;
}

static bool
fusable(Fuse *f, const Node *n)
{
	if (!n->op || n->op->form != OP_MAP || n->nout != 1 || node_may_divide_by_zero(n) || node_may_overflow(n) ||
	    !type_is_complete(n->out[0]->type) || !element_type(n, n->out[0]->type) ||
	    alias_has_writers(f->alias, n->out[0]))
		return false;
	for (int i = 0; i < n->nin; i++) {
		const Value *v = n->in[i];

		if (v->type->kind == TYPE_TENSOR) {
			if (!type_is_complete(v->type) || !element_type(n, v->type) || alias_has_writers(f->alias, v))
				return false;
		} else if (!has_number_type(v) && !value_is_none(v) && !node_is(v->node, prim_Constant)) {
			return false;
		}
	}
	return true;
}

static bool
same_space(const Type *a, const Type *b)
{
	const TensorInfo *x = a->tensor, *y = b->tensor;

	return x->rank == y->rank && (x->rank == 0 || !memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims)) &&
	       (x->rank == 0 || !memcmp(x->strides, y->strides, (size_t)x->rank * sizeof *x->strides));
}

/* Returns the value inside the group for an outer one: a copy if it is a constant, else an input of the group. */
static Value *
inner_value(Fuse *f, Node *group, Value *v)
{
	Graph *sub = node_attr(group, "Subgraph")->g;
	const int at = node_input_index(group, v);
	IValue c;

	if (node_is(v->node, prim_Constant) && v->type->kind != TYPE_TENSOR) {
		if (value_constant(v, &c))
			return graph_constant_typed(sub, c, v->type, v->node->at);
		return graph_constant_typed(sub, rt_none(), v->type, v->node->at);
	}
	if (at >= 0)
		return graph_inputs(sub)[at];
	node_add_input(group, v);
	(void)f;
	return graph_add_input(sub, v->type, v->name);
}

static Node *
new_group(Fuse *f, Node *n)
{
	Node *group = node_new(f->graph, sym(f->graph->cx, "prim::FusionGroup"), n->at, 0);
	Attr *a = node_attr_new(group, "Subgraph", ATTR_GRAPH);
	Value *out;
	Node *inner;

	a->g = graph_new(f->graph->cx, "group");
	node_insert_before(group, n);
	graph_set_insert_end(a->g, a->g->top);
	inner = node_new(a->g, n->kind, n->at, 0);
	inner->op = n->op;
	for (int i = 0; i < n->nin; i++)
		node_add_input(inner, inner_value(f, group, n->in[i]));
	node_add_output(inner, n->out[0]->type)->name = n->out[0]->name;
	graph_insert(a->g, inner);
	graph_add_output(a->g, inner->out[0]);
	out = node_add_output(group, n->out[0]->type);
	out->name = n->out[0]->name;
	value_replace_uses(n->out[0], out);
	node_destroy(n);
	return group;
}

/* Is each user of v the group, or a node after it? */
static bool
used_later(const Node *group, const Value *v)
{
	for (int i = 0; i < v->uses.n; i++) {
		const Node *user = v->uses.at[i].node;

		if (user != group && !node_is_before(group, user))
			return false;
	}
	return true;
}

/* Moves the producer of input `at` of the group into the group. */
static void
take(Fuse *f, Node *group, int at)
{
	Graph *sub = node_attr(group, "Subgraph")->g;
	Value *v = group->in[at], *inside = graph_inputs(sub)[at];
	Node *p = v->node, *inner = node_new(sub, p->kind, p->at, 0);
	bool others = false;

	inner->op = p->op;
	graph_set_insert_before(sub, sub->top->ret->next);
	for (int i = 0; i < p->nin; i++)
		node_add_input(inner, inner_value(f, group, p->in[i]));
	node_add_output(inner, v->type)->name = v->name;
	/* Inserts the node after the constants that were inserted for it, and before all its users. */
	graph_insert(sub, inner);
	value_replace_uses(inside, inner->out[0]);
	for (int i = 0; i < v->uses.n; i++)
		others |= v->uses.at[i].node != group;
	node_remove_input(group, at);
	block_remove_input(sub->top, at);
	if (others) {
		Value *out = node_add_output(group, v->type);

		out->name = v->name;
		graph_add_output(sub, inner->out[0]);
		value_replace_uses(v, out);
	}
	node_destroy(p);
}

static bool
may_take(Fuse *f, const Node *group, const Value *v)
{
	const Node *p = v->node;

	return p->block == group->block && fusable(f, p) && same_space(v->type, group->out[0]->type) &&
	       group->nin + p->nin <= MAX_INPUTS && used_later(group, v);
}

static void
grow(Fuse *f, Node *group)
{
	bool grew;

	do {
		grew = false;
		for (int i = 0; i < group->nin && !grew; i++)
			if (may_take(f, group, group->in[i])) {
				take(f, group, i);
				grew = true;
			}
	} while (grew);
}

static void
fuse_block(Fuse *f, Block *b)
{
	for (Node *n = b->ret->prev, *prev; n != b->ret; n = prev) {
		for (int i = 0; i < n->nsub; i++)
			fuse_block(f, n->sub[i]);
		if (fusable(f, n) && pass_may(f->pass)) {
			pass_note(f->pass, n, "the last node of a group");
			n = new_group(f, n);
			grow(f, n);
			f->made++;
		}
		prev = n->prev;
	}
}

bool
fuse(Pass *p, Graph *g)
{
	Fuse f = { .graph = g, .alias = pass_alias(p, g), .pass = p };

	fuse_block(&f, g->top);
	if (f.made)
		pass_lost_alias(p);
	return f.made > 0;
}
