/*
 * Loop-invariant code motion: a value that is the same on every trip is computed before the loop.
 *
 *    Loop(n): ... w = aten::t(W); y = aten::mm(x, w) ...   ->   w = aten::t(W); Loop(n): ... y = aten::mm(x, w) ...
 *
 * Only nodes of the body itself move, not those of branches in it; inner loops come first.  The inputs must come from
 * outside, and nothing in the loop may write to them.  All trips must be able to share the result: it is a view, or
 * memory that nothing writes to and that does not leave the graph.
 *
 * A loop may run no trip at all, so nodes that cannot fail may always move.  Other nodes move only if the loop
 * certainly runs, and nothing that stays in the body before them has an effect or can fail.  If sizes are known, the
 * kernel has run on them without data: after that only kernels that look at the data can fail.
 */
#include "../opt.h"

typedef struct Hoist {
	Pass    *pass;
	AliasDb *alias;
	bool     changed;
} Hoist;

/* Node kinds without an operator that cannot fail. */
static const Symbol total[] = {
	prim_ListConstruct, prim_TupleConstruct, prim_TupleIndex, prim_TupleUnpack, prim_GetAttr, prim_Constant,
};

static bool
is_known(const Type *t)
{
	if (t->kind == TYPE_LIST || t->kind == TYPE_OPTIONAL)
		return t->of[0]->kind != TYPE_TENSOR;
	return t->kind != TYPE_TENSOR || type_is_complete(t);
}

static bool
all_known(const Node *n)
{
	bool known = true;

	for (int i = 0; i < n->nin; i++) {
		const Node *list = n->in[i]->node;

		known &= is_known(n->in[i]->type) || node_is(list, prim_ListConstruct);
		for (int k = 0; k < list->nin && node_is(list, prim_ListConstruct); k++)
			known &= is_known(list->in[k]->type);
	}
	for (int i = 0; i < n->nout; i++)
		known &= is_known(n->out[i]->type) || node_is(n, prim_ListConstruct);
	return known;
}

/* Is n pointwise on floats?  Such nodes divide no integers. */
static bool
is_float_map(const Node *n)
{
	const TensorInfo *t = n->nout == 1 && n->out[0]->type->kind == TYPE_TENSOR ? n->out[0]->type->tensor : NULL;

	return n->op && n->op->form == OP_MAP && t && t->dtype >= 0 && rt_dtypes[t->dtype].category == 'F';
}

static bool
cannot_fail(const Node *n)
{
	bool listed = is_float_map(n) || op_has(n->op, TRAIT_NEVER_RAISES);

	if (node_is_cheap(n))
		return true;
	for (size_t i = 0; i < sizeof total / sizeof *total; i++)
		listed |= node_is(n, total[i]);
	return listed && all_known(n);
}

/* Is output i a new container of existing elements?  An example is aten::values(Dict(str, t) self) -> t[](*): the
 * elements existed before, but each call makes a new list. */
static bool
is_new_container(const Node *n, int i, const AliasSet *a)
{
	for (int k = 0; k < a->before.n; k++)
		if (sym_is(a->before.at[k], "*"))
			return n->out[i]->type->kind != TYPE_TENSOR;
	return false;
}

/* Is output i immutable, or memory that existed before? */
static bool
is_view(const Node *n, int i)
{
	const Schema *s = node_schema(n);

	if (!type_is_mutable(n->out[i]->type) || node_is(n, prim_Constant) || node_is(n, prim_GetAttr) ||
	    node_is(n, prim_TupleIndex) || node_is(n, prim_TupleUnpack))
		return true;
	return s && n->op && i < s->nrets &&
	       s->rets[i].alias && !s->varret && !is_new_container(n, i, s->rets[i].alias);
}

static bool
is_invariant(Hoist *h, const Node *loop, const Node *n)
{
	if (n->nsub || !n->nout || node_has_effect(n) || alias_node_writes(h->alias, n) ||
	    node_is(n, prim_Uninitialized) || node_is(n, prim_CreateObject))
		return false;
	for (int i = 0; i < n->nin; i++)
		if (node_in_block(n->in[i]->node, loop_body(loop)) || alias_writes(h->alias, loop, n->in[i]))
			return false;
	for (int i = 0; i < n->nout; i++)
		if (!is_view(n, i) && (alias_has_writers(h->alias, n->out[i]) || alias_escapes(h->alias, n->out[i])))
			return false;
	return true;
}

static bool
surely_runs(const Node *loop)
{
	int64_t trips, go;

	return value_int(loop_max(loop), &trips) && trips > 0 && value_int(loop_cond(loop), &go) && go;
}

static void
hoist_loop(Hoist *h, Node *loop)
{
	bool first = surely_runs(loop);          /* whether n always runs if the loop is reached */

	for NODES(n, loop_body(loop)) {
		const bool safe = cannot_fail(n);

		if (is_invariant(h, loop, n) && (safe || first) && pass_may(h->pass)) {
			pass_note(h->pass, n, "the same on every trip");
			node_move_before(n, loop);
			h->changed = true;
		} else {
			first &= safe;
		}
	}
}

bool
hoist(Pass *p, Graph *g)
{
	Hoist h = { p, pass_alias(p, g), false };

	for INNER_FIRST(n, g->top)
		if (node_is(n, prim_Loop))
			hoist_loop(&h, n);
	return h.changed;
}
