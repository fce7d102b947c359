/*
 * Joins matrix products with the same right operand into one product.
 *
 *   y0 = mm(x0, w); y1 = mm(x1, w); ...   ->   y = mm(cat([x0, x1, ...], 0), w); y0, y1, ... = split(y, rows, 0)
 *
 * Unrolled loops leave such products, e.g. the steps of a recurrent net that read its input and not its state.  The
 * joined product reads the weight once, and small numbers of rows add up to full register blocks.  If the left operands
 * are all the parts of one tensor, in order, no cat is needed: the tensor itself is the left operand.
 *
 * A left operand must be computed before the first product, or be a chain of views of a value that is.  Products of
 * many rows stay, since joining them gains nothing.  So do products whose result is written to or leaves the graph.
 */
#include "../opt.h"

#include <string.h>

enum {
	MOST_ROWS = 32,          /* largest number of rows of a left operand that is copied */
	MOST_VIEWS = 8,          /* largest number of views between a left operand and a value computed before */
	MOST_GROUPS = 1000,      /* largest number of groups in one graph */
};

typedef struct Group {
	int left;                /* index of the input that is the left operand */
	Vec(Node *) product;
} Group;

typedef struct Batch {
	Pass    *pass;
	Graph   *graph;
	AliasDb *alias;
	Vec(Group *) groups;
} Batch;

/* Index of the input that is the left operand.  -1 if n is no matrix product that the pass joins. */
static int
left_of(const Node *n)
{
	int64_t one;

	if (node_is(n, aten_mm) || (n->op && n->op->lowering == LOWER_LINEAR))
		return 0;
	if (!n->op || n->op->lowering != LOWER_ADDMM || !value_int(n->in[3], &one) || one != 1 ||
	    !value_int(n->in[4], &one) || one != 1)
		return -1;
	return n->in[0]->type->tensor && n->in[0]->type->tensor->rank == 1 ? 1 : -1;
}

static bool
is_plain_matrix(const Value *v)
{
	const TensorInfo *t = v->type->kind == TYPE_TENSOR && type_is_complete(v->type) ? v->type->tensor : NULL;

	return t && t->rank == 2 && t->strides[1] == 1 && t->strides[0] == t->dims[1];
}

static bool
takes_part(Batch *b, const Node *n, int left)
{
	const Value *x = n->in[left], *y = n->out[0];

	if (!is_plain_matrix(x) || !is_plain_matrix(y) || !x->type->tensor->dims[0] ||
	    alias_has_writers(b->alias, y) || alias_escapes(b->alias, y))
		return false;
	for (int i = 0; i < n->nin; i++)
		if (alias_has_writers(b->alias, n->in[i]))
			return false;
	return true;
}

/* Is v computed before node `at`, or a chain of views of a value that is? */
static bool
reaches(const Value *v, const Node *at)
{
	for (int left = MOST_VIEWS; left > 0; left--) {
		const Node *n = v->node;
		bool view = node_is(n, aten___getitem__) || op_has(n->op, TRAIT_VIEWS);

		if (node_is_before(n, at) || node_is(n, prim_Constant))
			return true;
		for (int i = 1; i < n->nin; i++)
			view &= node_is(n->in[i]->node, prim_Constant) || node_is_before(n->in[i]->node, at);
		if (!view || n->block != at->block)
			return false;
		v = n->in[0];
	}
	return false;
}

static bool
same_but_left(const Node *a, const Node *b, int left)
{
	if (a->op != b->op || a->nin != b->nin || a->out[0]->type != b->out[0]->type ||
	    a->in[left]->type != b->in[left]->type)
		return false;
	for (int i = 0; i < a->nin; i++)
		if (i != left && a->in[i] != b->in[i])
			return false;
	return true;
}

/* Adds n to the group of its right operand, if n can be moved before the group's first product.  Starts a new group if
 * there is none. */
static void
add_product(Batch *b, Node *n, int left)
{
	for (int i = 0; i < b->groups.n; i++) {
		Group *g = b->groups.at[i];
		Node *first = g->product.at[0];

		if (g->left != left || first->block != n->block || !same_but_left(first, n, left))
			continue;
		if (!reaches(n->in[left], first) || !alias_can_move_before(b->alias, n, first))
			return;
		vec_push(b->pass->scratch, &g->product, n);
		return;
	}
	if (b->groups.n < MOST_GROUPS) {
		Group *g = new(b->pass->scratch, Group, 1);

		g->left = left;
		vec_push(b->pass->scratch, &g->product, n);
		vec_push(b->pass->scratch, &b->groups, g);
	}
}

static void
group_products(Batch *b, Block *block)
{
	for INNER_FIRST(n, block) {
		const int left = left_of(n);

		if (left >= 0 && takes_part(b, n, left))
			add_product(b, n, left);
	}
}

/* ---- the joined product ------------------------------------------------------------------------------------------ */

/* Returns the type with another number of rows. */
static const Type *
with_rows(Cx *cx, const Type *t, int64_t rows)
{
	TensorInfo info = *t->tensor;
	const int64_t dims[2] = { rows, info.dims[1] };

	info.dims = dims;
	return type_tensor(cx, &info);
}

/* If v is part *i of a tensor along dim 0, returns that tensor, else null. */
static Value *
part_of(const Value *v, int64_t *i)
{
	const Node *n = v->node, *list;
	int64_t dim;

	if (node_is(n, aten_select) && value_int(n->in[1], &dim) && !dim && value_int(n->in[2], i))
		return n->in[0];
	if (!node_is(n, aten___getitem__) || !value_int(n->in[1], i))
		return NULL;
	list = n->in[0]->node;
	return node_is(list, aten_unbind) && value_int(list->in[1], &dim) && !dim ? list->in[0] : NULL;
}

static bool
is_contiguous(const TensorInfo *t)
{
	int64_t step = 1;

	for (int d = t->rank - 1; d >= 0; step *= t->dims[d--])
		if (t->strides[d] != step)
			return false;
	return true;
}

/* Returns the tensor that is split into exactly the left operands, in order.  Null if there is none. */
static Value *
whole_of(const Group *g)
{
	Value *whole = NULL;

	for (int k = 0; k < g->product.n; k++) {
		int64_t i;
		Value *of = part_of(g->product.at[k]->in[g->left], &i);

		if (!of || (whole && of != whole) || i != k)
			return NULL;
		whole = of;
	}
	if (!type_is_complete(whole->type) || whole->type->tensor->rank != 3 ||
	    whole->type->tensor->dims[0] != g->product.n || !is_contiguous(whole->type->tensor))
		return NULL;
	return whole;
}

static Value *
rows_together(Batch *b, const Group *g, const Type *type, Range at)
{
	Value *whole = whole_of(g), *zero = graph_constant(b->graph, rt_int(0), at);
	Value **left = new(b->pass->scratch, Value *, g->product.n);

	if (whole)
		return graph_emit_op(b->graph, "aten::flatten.using_ints", at, 3,
				     (Value *[]){ whole, zero, graph_constant(b->graph, rt_int(1), at) }, type);
	for (int k = 0; k < g->product.n; k++)
		left[k] = g->product.at[k]->in[g->left];
	whole = graph_emit(b->graph, "prim::ListConstruct", at, g->product.n, left, 1)->out[0];
	whole->type = type_list(b->graph->cx, &rt_type_tensor);
	return graph_emit_op(b->graph, "aten::cat", at, 2, (Value *[]){ whole, zero }, type);
}

/* Replaces the group by one product.  The other products already stand right before the first one, so that all left
 * operands are computed there. */
static void
rewrite(Batch *b, const Group *g)
{
	Cx *cx = b->graph->cx;
	Node *first = g->product.at[0], *product, *unpack;
	const Type *x = first->in[g->left]->type, *y = first->out[0]->type;
	const int64_t rows = x->tensor->dims[0], all = rows * g->product.n;
	Value *left, *parts, *in[3];

	graph_set_insert_before(b->graph, first);
	left = rows_together(b, g, with_rows(cx, x, all), first->at);
	product = node_clone(b->graph, first, NULL);
	node_set_input(product, g->left, left);
	product->out[0]->type = with_rows(cx, y, all);
	graph_insert(b->graph, product);
	in[0] = product->out[0];
	in[1] = graph_constant(b->graph, rt_int(rows), first->at);
	in[2] = graph_constant(b->graph, rt_int(0), first->at);
	parts = graph_emit_op(b->graph, "aten::split.Tensor", first->at, 3, in, type_list(cx, &rt_type_tensor));
	unpack = graph_emit(b->graph, "prim::ListUnpack", first->at, 1, &parts, g->product.n);
	for (int k = 0; k < g->product.n; k++) {
		Node *n = g->product.at[k];

		unpack->out[k]->type = n->out[0]->type;
		unpack->out[k]->name = n->out[0]->name;
		value_replace_uses(n->out[0], unpack->out[k]);
	}
	for (int k = 0; k < g->product.n; k++)
		node_destroy(g->product.at[k]);
}

/* Moves the other products before the first one.  Returns false if a dependence forbids it, since a product of another
 * group was moved. */
static bool
bring_together(Batch *b, const Group *g)
{
	for (int k = 1; k < g->product.n; k++)
		if (!alias_move_before(b->alias, g->product.at[k], g->product.at[0]))
			return false;
	return true;
}

static bool
pays(const Group *g)
{
	const Node *first = g->product.at[0];

	return g->product.n > 1 && (first->in[g->left]->type->tensor->dims[0] <= MOST_ROWS || whole_of(g));
}

bool
batchmm(Pass *p, Graph *g)
{
	Batch b = { .pass = p, .graph = g, .alias = pass_alias(p, g) };
	bool changed = false;

	group_products(&b, g->top);
	for (int i = 0; i < b.groups.n; i++) {
		Group *group = b.groups.at[i];

		if (!pays(group) || !pass_may(p) || !bring_together(&b, group))
			group->product.n = 0;
	}
	for (int i = 0; i < b.groups.n; i++) {
		const Group *group = b.groups.at[i];

		if (!group->product.n)
			continue;
		pass_note(p, group->product.at[0], "one of %d products with this right operand", group->product.n);
		rewrite(&b, group);
		changed = true;
	}
	if (changed)
		pass_lost_alias(p);
	return changed;
}
