/*
 * Replaces in-place operators on fresh values by their functional variants.
 *
 *   x = aten::batch_norm(...); y = aten::relu_(x)      ->   y = aten::relu(x)
 *   x = aten::conv2d(...);     y = aten::add_(x, z)    ->   x' = aten::clone(x); y = aten::add_(x', z)
 *
 * A value is fresh if its node's schema gives it memory of its own, or if its node writes to a clone that nothing else
 * reads.  All its aliases are then made by its uses.  Nothing else sees a write to it under two conditions.  No use
 * before the write makes an alias (a view, a container, a block's output).  The write is in the block of the value
 * itself, since in a loop's body the next trip would see it.  Uses after the write are replaced by uses of the result.
 *
 * A write keeps self's dtype and sizes, or raises.  An operator whose result could have others (add_ of a float to an
 * int) stays in place in a prepared graph, but on a clone of self, so that nothing writes to self.  The specializer
 * (writes.c) knows the types.  It computes the value where the write does not raise, and removes the clone.  A method
 * with gradients keeps only writes under no_grad, which differentiation ignores.  Its other writes become prim::stored,
 * which checks the value and converts it.  In a specialized graph the known types decide which writes are replaced.
 */
#include "../opt.h"

#include "../../rt/ops/kernel.h"

#include <string.h>

bool
use_makes_alias(const Use *u)
{
	const Schema *s = node_schema(u->node);

	if (!s || !u->node->op || u->index >= s->nargs)
		return !node_is(u->node, prim_profile);
	if (s->args[u->index].type->kind != TYPE_TENSOR && s->args[u->index].type->kind != TYPE_OPTIONAL)
		return true;
	return s->args[u->index].alias || node_may_return_input(u->node);
}

bool
has_use_before(const Value *v, const Node *n, bool (*is)(const Use *))
{
	for (int i = 0; i < v->uses.n; i++) {
		const Use *u = &v->uses.at[i];

		if (u->node != n && !node_is_before(n, u->node) && is(u))
			return true;
	}
	return false;
}

static bool
seen_by_nobody_else(const Value *self, const Node *write)
{
	return !has_use_before(self, write, use_makes_alias);
}

static bool
is_in_place(const Node *n)
{
	const size_t len = strlen(n->kind->name);
	const Schema *s;

	if (!n->op || n->op->form != OP_ALSO || n->nout != 1 || n->kind->name[len - 1] != '_')
		return false;
	s = node_schema(n);
	return s->nargs > 0 && s->args[0].alias && s->args[0].alias->write && s->args[0].type->kind == TYPE_TENSOR;
}

/* Does the result always have self's dtype and sizes, so that the write cannot raise because of them? */
static bool
keeps_type(const Op *base)
{
	RtMapArg arg[RT_MAP_MAX];
	const int n = base->form == OP_MAP && base->result == RT_MAP_promote ? rt_map_args(base->text, arg) : 0;

	for (int i = 1; i < n; i++)
		if (arg[i].tensor || arg[i].joins)
			return false;
	return n > 0;
}

Op *
functional_row(Cx *cx, const Node *n, int at[FUNCTIONAL_ARGS])
{
	Op *base = n->op->form == OP_ALSO ? op_by_id(cx, n->op->base) : NULL;
	const Schema *from = node_schema(n), *to = base ? op_schema(cx, base) : NULL;

	if (!to || to->nrets != 1 || to->nargs > FUNCTIONAL_ARGS)
		return NULL;
	for (int i = 0; i < to->nargs; i++) {
		at[i] = schema_find(from, to->args[i].name);
		if (at[i] < 0 || at[i] >= n->nin)
			return NULL;
	}
	return base;
}

/* Inserts the functional node before n, and returns its result. */
static Value *
functional_value(Graph *g, Node *n, Op *base, const int *at)
{
	Node *m = node_new(g, sym(g->cx, base->name), n->at, 1);

	m->op = base;
	m->inlined = n->inlined;
	for (int i = 0; i < op_schema(g->cx, base)->nargs; i++)
		node_add_input(m, n->in[at[i]]);
	node_insert_before(m, n);
	return m->out[0];
}

/* Emits prim::stored, which checks `result` as the write in place would, and returns the value that self has
 * afterwards. */
static Value *
stored(Graph *g, Node *n, Value *result)
{
	Node *m = node_new(g, sym(g->cx, "prim::stored"), n->at, 1);

	m->op = op_find(g->cx, "prim::stored", "");
	m->inlined = n->inlined;
	node_add_input(m, n->in[0]);
	node_add_input(m, result);
	node_insert_before(m, n);
	return m->out[0];
}

/* Inserts a clone of self before n, and lets n write to the clone. */
static void
write_to_clone(Graph *g, Node *n)
{
	Node *m = node_new(g, sym(g->cx, "aten::clone"), n->at, 1);

	m->op = op_find(g->cx, "aten::clone", "");
	m->inlined = n->inlined;
	node_add_input(m, n->in[0]);
	graph_set_insert_before(g, n);
	node_add_input(m, graph_constant(g, rt_none(), n->at));
	node_insert_before(m, n);
	node_set_input(n, 0, m->out[0]);
}

bool
is_own_clone(const Value *v, const Node *write)
{
	const Node *n = v->node;

	return node_is(n, aten_clone) && n->op && n->nin == 2 && value_is_none(n->in[1]) &&
	       n->block == write->block && v->uses.n == 1;
}

bool
is_written_clone(const Value *v)
{
	return v->node->nin && is_in_place(v->node) && is_own_clone(v->node->in[0], v->node);
}

bool
is_written_once(const Value *v)
{
	if (!is_written_clone(v))
		return false;
	for (int i = 0; i < v->uses.n; i++)
		if (use_makes_alias(&v->uses.at[i]))
			return false;
	return true;
}

/* Inserts before n a node that computes the value which n leaves in self.  Null if this depends on types that are not
 * known yet, or if the value would have another type. */
static Value *
computed(Pass *p, Graph *g, Node *n, Op *base, const int *at)
{
	const bool typed = type_is_complete(n->out[0]->type);
	Value *result;

	if (!typed && !keeps_type(base) && !(p->fn && p->fn->prepared == g && p->fn->gradient))
		return NULL;
	result = functional_value(g, n, base, at);
	if (typed && !(known_gives(p->cx, result->node, n->out[0]->type) && known_gives(p->cx, n, n->out[0]->type))) {
		node_destroy(result->node);
		return NULL;
	}
	if (typed)
		result->type = n->out[0]->type;
	return typed || keeps_type(base) ? result : stored(g, n, result);
}

/* Should n write to a clone?  It should if the specializer will see the clone. */
static bool
wants_clone(Pass *p, const Graph *g, const Node *n)
{
	return !type_is_complete(n->out[0]->type) && !(p->fn && p->fn->prepared != g) && !is_own_clone(n->in[0], n);
}

/* Is the written value read after the write?  If not, the write stays, since dce has to see it to remove the same nodes
 * as PyTorch. */
static bool
is_read_after(const Value *self, const Node *write)
{
	for (int i = 0; i < self->uses.n; i++)
		if (self->uses.at[i].node != write && !node_is_before(self->uses.at[i].node, write))
			return true;
	return write->out[0]->uses.n > 0;
}

static bool
make_functional(Pass *p, Graph *g, Node *n)
{
	Value *self = n->in[0], *result;
	int at[FUNCTIONAL_ARGS];
	Op *base = functional_row(g->cx, n, at);

	if (!base || self->node->block != n->block || self->type->kind != TYPE_TENSOR ||
	    !(value_is_fresh(self) || is_written_clone(self)) || !seen_by_nobody_else(self, n) ||
	    !is_read_after(self, n))
		return false;
	result = computed(p, g, n, base, at);
	if ((!result && !wants_clone(p, g, n)) || !pass_may(p)) {
		if (result)
			node_destroy(result->node);
		return false;
	}
	pass_note(p, n, "nothing else sees the write");
	value_replace_uses_after(self, result ? result : n->out[0], n);
	if (result) {
		result->name = n->out[0]->name;
		value_replace_uses(n->out[0], result);
		node_destroy(n);
	} else if (!is_own_clone(self, n)) {
		write_to_clone(g, n);
	}
	return true;
}

bool
functional(Pass *p, Graph *g)
{
	const bool before = p->fn && p->fn->gradient && g == p->fn->prepared;
	/* Null unless the method is still to be differentiated. */
	const Active *active = before ? active_values(p->cx, g, p->fn->gradient, p->scratch) : NULL;
	bool changed = false;

	for INNER_FIRST(n, g->top)
		if (is_in_place(n) && !(active && n->id < active->nnode && active->silent[n->id]))
			changed |= make_functional(p, g, n);
	if (changed)
		pass_lost_alias(p);
	return changed;
}
