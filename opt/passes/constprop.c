/*
 * Constant propagation.
 *
 * A node whose inputs are constants is run, and constants replace its results.  It must have no effect and draw no
 * random numbers, and nothing may write to what it reads or returns.  New memory that it returns must stay inside the
 * graph (a view has none).  An If with a constant condition becomes its branch.  A Loop that never runs becomes its
 * initial values.  A result that all branches return, or that a loop carries unchanged, bypasses the If or Loop.  A
 * branch that returns an uninitialized value counts as returning any value.
 */
#include "../opt.h"

typedef struct Fold {
	Pass    *pass;
	AliasDb *alias;
	Graph   *graph;
	bool     changed;
} Fold;

static const Symbol never[] = {
	prim_Constant, prim_Uninitialized, prim_Guard, prim_BailOut, prim_profile, prim_AutogradZero,
	prim_unchecked_unwrap_optional, prim_CreateObject, prim_GetAttr,
};

/* Does the node return newly allocated memory that leaves the graph? */
static bool
gives_memory(Fold *f, const Node *n, const IValue *in, const IValue *out)
{
	const Schema *s = node_schema(n);
	const bool view = s && n->op && s->nrets == 1 && s->rets[0].alias && in[0].tag == RT_TENSOR &&
			  out[0].tag == RT_TENSOR && in[0].u.t->storage == out[0].u.t->storage;

	for (int i = 0; i < n->nout && !view; i++)
		if (n->out[i]->type->kind != TYPE_TUPLE && type_is_mutable(n->out[i]->type) &&
		    alias_escapes(f->alias, n->out[i]))
			return true;
	return false;
}

static bool
may_fold(Fold *f, const Node *n)
{
	if (n->nsub || !n->nout || !n->nin || node_has_effect(n) || alias_node_writes(f->alias, n))
		return false;
	if (op_has(n->op, TRAIT_DEQUANTIZES))
		return false;
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		if (node_is(n, never[i]))
			return false;
	return !alias_node_has_writers(f->alias, n);
}

static bool
holds_tensors(const Type *list)
{
	const Type *of = list->kind == TYPE_LIST ? list->of[0] : NULL;

	return of && (of->kind == TYPE_OPTIONAL ? of->of[0] : of)->kind == TYPE_TENSOR;
}

static bool constant_inputs(Fold *f, const Node *n, IValue *in);

/* Reads the value of a constant, or of a list of constant tensors. */
static bool
constant_of(Fold *f, const Value *v, IValue *out)
{
	const Node *made = v->node;
	IValue *items;

	if (value_constant(v, out))
		return true;
	if (!node_is(made, prim_ListConstruct) || !holds_tensors(v->type) || alias_has_writers(f->alias, v))
		return false;
	items = new(f->pass->scratch, IValue, made->nin + 1);
	if (!constant_inputs(f, made, items))
		return false;
	*out = value_list(f->pass->cx, v->type->of[0], items, made->nin);
	return true;
}

static bool
constant_inputs(Fold *f, const Node *n, IValue *in)
{
	for (int i = 0; i < n->nin; i++)
		if (!constant_of(f, n->in[i], &in[i]))
			return false;
	return true;
}

/* Inserts the constants before the node, replaces its outputs by them, and removes the node. */
static void
put_constants(Fold *f, Node *n, const IValue *v)
{
	graph_set_insert_before(f->graph, n);
	for (int i = 0; i < n->nout; i++) {
		Value *c = graph_constant(f->graph, v[i], n->at);

		c->node->inlined = n->inlined;
		if (c->type->kind != TYPE_TENSOR && c->type->kind != TYPE_NONE)
			c->type = n->out[i]->type->kind == TYPE_OPTIONAL ? c->type : n->out[i]->type;
		c->name = n->out[i]->name;
		alias_copy_value(f->alias, n->out[i], c);
		value_replace_uses(n->out[i], c);
	}
	node_destroy(n);
	f->changed = true;
}

static bool
all_constants(const IValue *v, int n)
{
	for (int i = 0; i < n; i++)
		if (!constant_may_be(v[i]))
			return false;
	return true;
}

static void
fold_if_constant(Fold *f, Node *n)
{
	IValue *in = new(f->pass->scratch, IValue, n->nin + 1), *out = new(f->pass->scratch, IValue, n->nout + 1);

	/* Lists of tensors are not folded: if a reader is not folded either, its kernel needs a list of values, not a
	 * constant list. */
	if (node_is(n, prim_ListConstruct) && n->nin && holds_tensors(n->out[0]->type))
		return;
	if (!constant_inputs(f, n, in) || !may_fold(f, n) || !fold_node(f->pass->cx, n, in, out))
		return;
	if (!all_constants(out, n->nout) || gives_memory(f, n, in, out) || !pass_may(f->pass))
		return;
	pass_note(f->pass, n, "folded");
	put_constants(f, n, out);
}

/* ---- control flow ------------------------------------------------------------------------------------- */

static void fold_block(Fold *f, Block *b);

/* If one branch returns an uninitialized value and the other one a value from outside of the If, makes both return the
 * value from outside. */
static void
settle_open(Fold *f, Node *n, int i)
{
	for (int k = 0; k < 2; k++) {
		Value *open = n->sub[k]->ret->in[i], *given = n->sub[!k]->ret->in[i];

		if (open == given ||
		    !node_is(open->node, prim_Uninitialized) || node_in_block(given->node, n->sub[!k]) ||
		    !pass_may(f->pass))
			continue;
		pass_note(f->pass, n, "one branch does not initialize result %d", i);
		node_set_input(n->sub[k]->ret, i, given);
	}
}

/* Removes outputs for which both branches return the same value from outside of the If, or equal constants. */
static void
hoist_common(Fold *f, Node *n)
{
	for (int i = n->nout - 1; i >= 0; i--) {
		Value *a, *b;
		IValue x, y;

		settle_open(f, n, i);
		a = if_then(n)->ret->in[i];
		b = if_else(n)->ret->in[i];
		if (a != b && value_constant(a, &x) && value_constant(b, &y) && value_identical(x, y) &&
		    a->type == b->type && !type_is_mutable(a->type) && pass_may(f->pass)) {
			pass_note(f->pass, a->node, "both branches give this constant");
			if (node_in_block(a->node, if_then(n)))
				node_move_before(a->node, n);
			node_set_input(if_else(n)->ret, i, a);
			b = a;
		}
		if (a != b || node_in_block(a->node, if_then(n)) || !pass_may(f->pass))
			continue;
		pass_note(f->pass, n, "both branches give the same value for result %d", i);
		value_replace_uses(n->out[i], a);
		if_remove_output(n, i);
		f->changed = true;
	}
}

static void
hoist_unchanged(Fold *f, Node *n)
{
	for (int i = n->nout - 1; i >= 0; i--) {
		Value *inner = loop_body(n)->param->out[1 + i];

		if (loop_body(n)->ret->in[1 + i] != inner || !pass_may(f->pass))
			continue;
		pass_note(f->pass, n, "the body does not change what is carried as %d", i);
		value_replace_uses(inner, n->in[2 + i]);
		value_replace_uses(n->out[i], n->in[2 + i]);
		loop_remove_carried(n, i);
		f->changed = true;
	}
}

static bool
never_runs(const Node *n)
{
	int64_t max, cond;

	return (value_int(loop_max(n), &max) && max <= 0) || (value_int(loop_cond(n), &cond) && !cond);
}

/* Evaluates an If.  Returns the node at which the walk continues. */
static Node *
walk_if(Fold *f, Node *n)
{
	Node *next = n->next, *first;
	int64_t cond;

	if (value_int(if_cond(n), &cond) && pass_may(f->pass)) {
		Block *taken = n->sub[!cond];

		pass_note(f->pass, n, "the condition is always %s", cond ? "true" : "false");
		first = taken->ret->next == taken->ret ? next : taken->ret->next;
		if_take_branch(n, !cond);
		f->changed = true;
		return first;
	}
	fold_block(f, if_then(n));
	fold_block(f, if_else(n));
	hoist_common(f, n);
	return next;
}

static Node *
walk_loop(Fold *f, Node *n)
{
	Node *next = n->next;

	if (never_runs(n) && pass_may(f->pass)) {
		pass_note(f->pass, n, "never runs");
		for (int i = 0; i < n->nout; i++)
			value_replace_uses(n->out[i], n->in[2 + i]);
		node_destroy(n);
		f->changed = true;
		return next;
	}
	hoist_unchanged(f, n);
	fold_block(f, loop_body(n));
	return next;
}

static void
fold_block(Fold *f, Block *b)
{
	cx_enter(f->pass->cx, b->ret->at);
	for (Node *n = b->ret->next, *next; n != b->ret; n = next) {
		next = n->next;
		if (node_is(n, prim_If))
			next = walk_if(f, n);
		else if (node_is(n, prim_Loop))
			next = walk_loop(f, n);
		else if (n->nsub)
			for (int i = 0; i < n->nsub; i++)
				fold_block(f, n->sub[i]);
		else
			fold_if_constant(f, n);
	}
	cx_leave(f->pass->cx);
}

bool
constprop(Pass *p, Graph *g)
{
	Fold f = { p, pass_alias(p, g), g, false };

	fold_block(&f, g->top);
	return f.changed;
}
