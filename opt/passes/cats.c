/*
 * Flattens nested cats, and removes empty operands and cats of one tensor.
 *
 *    cat([a, cat([b, c], 1), d], 1)   ->   cat([a, b, c, d], 1)      if nothing else uses the inner one
 *    cat([a, e], 1)                   ->   cat([a], 1)               e has no element
 *    cat([a], 1)                      ->   a                         if both may share memory
 *
 * All types must be known, with one dtype and one layout.  Then each element is copied as before, and the result has
 * the same strides.
 */
#include "../opt.h"

#include <string.h>

typedef struct Cats {
	Pass    *pass;
	Graph   *graph;
	AliasDb *alias;
	int      own;            /* lowest id of the lists that this pass made, which nothing writes to */
	bool     changed;
} Cats;

typedef Vec(Value *) Values;

static const TensorInfo *
known_info(const Value *v)
{
	return v->type->kind == TYPE_TENSOR && type_is_complete(v->type) ? v->type->tensor : NULL;
}

static bool
has_writers(const Cats *c, const Value *v)
{
	return v->id < c->own && alias_has_writers(c->alias, v);
}

/* Are both contiguous, or both channels last? */
static bool
same_layout(const TensorInfo *a, const TensorInfo *b)
{
	const TensorInfo *t[2] = { a, b };
	bool rows[2] = { true, true }, last[2] = { a->rank == 4, a->rank == 4 };
	int64_t s[RT_MAX_RANK];

	if (a->rank != b->rank)
		return false;
	for (int k = 0; k < 2; k++) {
		rt_contiguous_strides(a->rank, t[k]->dims, s);
		for (int i = 0; i < a->rank; i++)
			rows[k] &= t[k]->strides[i] == s[i];
		if (last[k])
			rt_channels_last_strides(4, t[k]->dims, s);
		for (int i = 0; i < a->rank; i++)
			last[k] &= t[k]->strides[i] == s[i];
	}
	return rows[0] ? rows[1] : last[0] && last[1] && !rows[1];
}

/* Returns the node that makes the list of a cat along a known dim.  Null if the pass does not handle the cat. */
static Node *
list_of(const Cats *c, const Node *cat, int64_t *dim)
{
	const TensorInfo *y = node_is(cat, aten_cat) && cat->nin == 2 ? known_info(cat->out[0]) : NULL;
	Node *list = y ? cat->in[0]->node : NULL;

	if (!y || !node_is(list, prim_ListConstruct) || list->block != cat->block || has_writers(c, cat->in[0]) ||
	    has_writers(c, cat->out[0]) || !value_int(cat->in[1], dim))
		return NULL;
	*dim += *dim < 0 ? y->rank : 0;
	for (int i = 0; i < list->nin; i++) {
		const TensorInfo *x = known_info(list->in[i]);

		if (!x || x->dtype != y->dtype || !same_layout(x, y) || has_writers(c, list->in[i]))
			return NULL;
	}
	return list;
}

static bool
is_empty(const TensorInfo *t)
{
	for (int i = 0; i < t->rank; i++)
		if (!t->dims[i])
			return true;
	return false;
}

/* Returns the operands of the flattened cat.  empty: whether the result has no element, in which case empty operands
 * stay. */
static Values
operands(const Cats *c, const Node *list, int64_t dim, bool empty)
{
	Values to = { 0 };

	for (int i = 0; i < list->nin; i++) {
		Value *v = list->in[i];
		int64_t inner;
		const Node *more = v->uses.n == 1 && v->node->block == list->block ? list_of(c, v->node, &inner) : NULL;

		if (more && inner == dim)
			for (int k = 0; k < more->nin; k++)
				vec_push(c->pass->scratch, &to, more->in[k]);
		else if (empty || !is_empty(v->type->tensor))
			vec_push(c->pass->scratch, &to, v);
	}
	return to;
}

/* May x replace the result of the cat?  They must have the same type, and not both leave the graph. */
static bool
is_operand(const Cats *c, const Node *cat, const Value *x)
{
	return x->type == cat->out[0]->type && !(alias_escapes(c->alias, x) && alias_escapes(c->alias, cat->out[0]));
}

static void
flatten(Cats *c, Node *cat)
{
	int64_t dim;
	Node *list = list_of(c, cat, &dim), *made;
	Values to;

	if (!list || dim < 0 || dim >= known_info(cat->out[0])->rank)
		return;
	to = operands(c, list, dim, is_empty(known_info(cat->out[0])));
	if (to.n == 1 && is_operand(c, cat, to.at[0]) && pass_may(c->pass)) {
		pass_note(c->pass, cat, "the cat has one operand");
		value_replace_uses(cat->out[0], to.at[0]);
		c->changed = true;
		return;
	}
	if ((to.n == list->nin && !memcmp(to.at, list->in, (size_t)to.n * sizeof *to.at)) || !to.n ||
	    !pass_may(c->pass))
		return;
	pass_note(c->pass, cat, "joins %d operands at once", to.n);
	graph_set_insert_before(c->graph, cat);
	made = graph_emit(c->graph, "prim::ListConstruct", cat->at, to.n, to.at, 1);
	made->out[0]->type = list->out[0]->type;
	node_set_input(cat, 0, made->out[0]);
	c->changed = true;
}

bool
cats(Pass *p, Graph *g)
{
	Cats c = { p, g, pass_alias(p, g), g->nvalue, false };

	for INNER_FIRST(n, g->top)
		if (node_is(n, aten_cat))
			flatten(&c, n);
	return c.changed;
}
