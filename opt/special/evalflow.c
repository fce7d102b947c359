/*
 * If and Loop in the partial evaluator.
 *
 * An If with a known condition becomes its branch; a short counted loop is unrolled.  The blocks of others are
 * evaluated on their own, with the facts that are known before them.  Lists that they write to are no longer followed.
 * The type of a result is known only if all blocks agree on it.  A loop is first evaluated with the types that enter
 * it.  If its body does not preserve a type, that type becomes unknown, and the loop is evaluated again.
 *
 * A result of known type is a copy in a storage of its own.  If it is written to, no other value may alias it (is_own);
 * otherwise its type stays unknown, and the result is the tensor itself.
 */
#include "specialize.h"

#include <string.h>

enum {
	UNROLL_TRIPS = 128,      /* enough for the steps of a recurrent net */
	UNROLL_NODES = 16384,    /* largest number of nodes that unrolling one loop may make */
	UNROLL_PRINTS = 4,       /* largest trip count of a loop that prints, for which unrolling does not pay */
};

static bool
block_writes_lists(const Block *b)
{
	for ALL_NODES(n, b) {
		for (int i = 0; i < n->nin; i++)
			if (node_writes_input(n, i) && node_schema(n)->args[i].type->kind != TYPE_TENSOR)
				return true;
		if (node_is_call(n))
			return true;
	}
	return false;
}

/* Forgets lists that n's blocks write to, since the blocks may run any number of times. */
static void
forget_lists(Spec *s, const Node *n)
{
	for (int b = 0; b < n->nsub; b++)
		if (block_writes_lists(n->sub[b])) {
			known_forget_mutable(s->k, NULL);
			return;
		}
}

/* ---- may a joined value get memory of its own? ------------------------------------------------------------------- */

typedef struct Joined {
	AliasDb *alias;
	const Node *n;           /* If or Loop */
	const Value *of[4];      /* values that are joined: the result, the blocks' results, the initial value */
	int      count;
} Joined;

static bool
is_joined(const Joined *j, const Value *v)
{
	bool is = false;

	for (int i = 0; i < j->count; i++)
		is |= alias_may(j->alias, v, j->of[i]) || alias_may_contain(j->alias, v, j->of[i]);
	return is;
}

/* Returns the outermost loop that repeats n after v was computed: it is around n and does not contain v's node.  A use
 * of v in it may run after n.  Returns n itself if there is no such loop. */
static const Node *
repeated_since(const Node *n, const Value *v)
{
	const Node *at = n;

	for (const Node *around = n->block->owner;
	     around && !node_in_block(v->node, around->block->owner ? around->sub[0] : around->block);
	     around = around->block->owner)
		if (node_is(around, prim_Loop))
			at = around;
	return at;
}

static bool
in_blocks_of(const Node *n, const Node *x)
{
	bool in = false;

	for (int b = 0; b < n->nsub; b++)
		in |= x->block == n->sub[b] || node_in_block(x, n->sub[b]);
	return in;
}

/* Is v, an alias of a joined value, unused after n has run? */
static bool
is_done(const Joined *j, const Value *v)
{
	const bool inside = in_blocks_of(j->n, v->node),
		   after = !inside && v->node != j->n && node_is_before(j->n, v->node);
	const Node *begin = repeated_since(j->n, v);

	for (int i = 0; i < v->uses.n; i++) {
		const Node *user = v->uses.at[i].node;

		if (node_is(user, prim_SetAttr) || node_is_call(user))
			return false;
		if (inside || after || v->node == j->n || user == j->n)
			continue;
		if (!(begin == j->n && node_is(j->n, prim_If) && in_blocks_of(j->n, user)) &&
		    !node_is_before(user, begin))
			return false;
	}
	return v->node != j->n || v == j->of[0];
}

static bool
all_done(const Joined *j, const Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		if (is_joined(j, b->param->out[i]) && !is_done(j, b->param->out[i]))
			return false;
	for NODES(n, b) {
		for (int i = 0; i < n->nout; i++)
			if (is_joined(j, n->out[i]) && !is_done(j, n->out[i]))
				return false;
		for (int i = 0; i < n->nsub; i++)
			if (!all_done(j, n->sub[i]))
				return false;
	}
	return true;
}

/* Is result i of n never written to, or without other aliases that are used after n? */
static bool
is_own(Scope *c, const Node *n, int i)
{
	Joined j = { .alias = c->alias, .n = n, .of = { n->out[i] }, .count = 1 };
	bool written;

	if (node_is(n, prim_If)) {
		j.of[j.count++] = n->sub[0]->ret->in[i];
		j.of[j.count++] = n->sub[1]->ret->in[i];
	} else {
		j.of[j.count++] = n->sub[0]->ret->in[i + 1];
		j.of[j.count++] = n->sub[0]->param->out[i + 1];
		j.of[j.count++] = n->in[i + 2];
	}
	RT_ASSERT(j.count <= (int)(sizeof j.of / sizeof *j.of));
	written = false;
	for (int k = 0; k < j.count; k++)
		written |= alias_has_writers(c->alias, j.of[k]);
	return !written || all_done(&j, c->from->top);
}

/* May the type of result i be known? */
static bool
may_join(Spec *s, Scope *c, const Node *n, int i)
{
	if (n->out[i]->type->kind != TYPE_TENSOR || !is_own(c, n, i) || !pass_may(&s->known))
		return false;
	pass_note(&s->known, n, "the type of a result is inferred");
	return true;
}

static bool
same_type(const Value *a, const Value *b)
{
	return a->type == b->type;
}

/* Makes `out` a known tensor in a new storage if a and b are known and have the same tensor type.  Else `out` has the
 * type `otherwise` without sizes. */
static void
join_values(Spec *s, Value *out, Value *a, Value *b, bool own, const Type *otherwise)
{
	if (own && type_is_complete(a->type) && same_type(a, b) && known_is(s->k, a) && known_is(s->k, b) &&
	    rt_is_dense(known_at(s->k, a)->v.u.t)) {
		known_set(s->k, out, known_meta(s->k, a->type));
		shapes_like(s->shapes, s->k, out, a);
	} else {
		out->type = type_unshaped(s->cx, otherwise);
	}
}

static void
eval_branch(Spec *s, Scope *c, Block *from, Block *to)
{
	Block *at = s->to->at_block;
	Node *before = s->to->at_node;

	graph_set_insert_end(s->to, to);
	spec_block(s, c, from);
	for (int i = 0; i < from->ret->nin; i++)
		block_add_output(to, spec_as_in_model(s, c, spec_value(c, from->ret->in[i]), from->ret->at));
	s->to->at_block = at;
	s->to->at_node = before;
}

void
spec_if(Spec *s, Scope *c, Node *n)
{
	Value *condition = spec_value(c, n->in[0]);
	int64_t yes;
	Node *m;
	Value **before;

	if (known_int(s->k, condition, &yes)) {
		Block *b = n->sub[yes ? 0 : 1];

		spec_block(s, c, b);
		for (int i = 0; i < n->nout; i++)
			spec_bind(s, c, n->out[i], spec_value(c, b->ret->in[i]));
		return;
	}
	m = spec_copy_node(s, n);
	node_add_input(m, condition);
	forget_lists(s, n);
	graph_insert(s->to, m);
	before = new(s->cx->arena, Value *, s->fn->code->nreg + 1);
	memcpy(before, s->in_register, (size_t)s->fn->code->nreg * sizeof *before);
	for (int b = 0; b < 2; b++) {
		memcpy(s->in_register, before, (size_t)s->fn->code->nreg * sizeof *before);
		eval_branch(s, c, n->sub[b], node_add_block(m));
	}
	memcpy(s->in_register, before, (size_t)s->fn->code->nreg * sizeof *before);
	forget_lists(s, n);
	for (int i = 0; i < n->nout; i++) {
		Value *out = node_add_output(m, n->out[i]->type);

		out->name = n->out[i]->name;
		join_values(s, out, m->sub[0]->ret->in[i], m->sub[1]->ret->in[i], may_join(s, c, n, i),
			    n->out[i]->type);
		for (int b = 0; b < 2; b++)
			known_at(s->k, out)->by_data |= known_at(s->k, condition)->by_data ||
							known_at(s->k, m->sub[b]->ret->in[i])->by_data;
		spec_bind(s, c, n->out[i], out);
	}
	spec_guard_joined(s, c, n);
}

/* If all trips would make too many nodes, removes the nodes that the first trip made after `last`, and returns true.
 * The count is taken after the first trip, since that has unrolled inner loops, too. */
static bool
was_too_much(Spec *s, Node *last, int64_t trips, ShapesMark mark, int guards)
{
	int64_t made = 0;

	for (const Node *n = last->next; n != s->to->at_node; n = n->next) {
		made++;
		for (int i = 0; i < n->nsub; i++)
			made += block_size(n->sub[i]);
	}
	if (made * trips <= UNROLL_NODES)
		return false;
	while (s->to->at_node->prev != last)
		node_destroy(s->to->at_node->prev);
	shapes_back(s->shapes, mark);
	s->nguard = guards;
	return true;
}

/* Unrolls a counted loop that is short enough.  If it returns false, the caller must forget the lists that the first
 * trip has written to. */
static bool
unroll(Spec *s, Scope *c, Node *n)
{
	Block *body = n->sub[0];
	const size_t registers = (size_t)s->fn->code->nreg * sizeof *s->in_register;
	int64_t trips, go, on;
	Value **carried, **before = new(s->cx->arena, Value *, s->fn->code->nreg + 1);
	Node *last = s->to->at_node->prev;
	const int guards = s->nguard;
	ShapesMark mark;

	if (!known_int(s->k, spec_value(c, n->in[0]), &trips) || !known_int(s->k, spec_value(c, n->in[1]), &go))
		return false;
	if (!go || trips <= 0)
		trips = 0;
	if (!shapes_may_unroll(s->shapes, n, trips))
		return false;
	if (trips > 1 && (!value_int(body->ret->in[0], &on) || !on || trips > UNROLL_TRIPS ||
			  trips * block_size(body) > UNROLL_NODES ||
			  (trips > UNROLL_PRINTS && block_has(body, prim_Print))))
		return false;
	mark = shapes_mark(s->shapes);
	memcpy(before, s->in_register, registers);
	carried = new(s->cx->arena, Value *, n->nout + 1);
	for (int i = 0; i < n->nout; i++)
		carried[i] = spec_value(c, n->in[i + 2]);
	for (int64_t t = 0; t < trips; t++) {
		spec_bind_constant(s, c, body->param->out[0], rt_int(t), n->at);
		for (int i = 0; i < n->nout; i++)
			spec_bind(s, c, body->param->out[i + 1], carried[i]);
		spec_block(s, c, body);
		for (int i = 0; i < n->nout; i++)
			carried[i] = spec_value(c, body->ret->in[i + 1]);
		if (!t && was_too_much(s, last, trips, mark, guards)) {
			memcpy(s->in_register, before, registers);
			return false;
		}
	}
	for (int i = 0; i < n->nout; i++)
		spec_bind(s, c, n->out[i], carried[i]);
	return true;
}

/* Evaluates a loop's body with these types carried.  Returns whether the body preserves them.  If not, types that
 * differ have become less specific. */
static bool
try_body(Spec *s, Scope *c, Node *n, Node *m, const Type **carried)
{
	Block *from = n->sub[0], *to = node_add_block(m);
	bool stable = true;

	for (int i = 0; i < from->param->nout; i++) {
		Value *in = block_add_input(to, i ? carried[i - 1] : &rt_type_int, from->param->out[i]->name);

		if (i && type_is_complete(carried[i - 1])) {
			known_set(s->k, in, known_meta(s->k, carried[i - 1]));
			shapes_like(s->shapes, s->k, in, m->in[i + 1]);
		}
		known_at(s->k, in)->by_data = known_at(s->k, m->in[i ? i + 1 : 0])->by_data;
		spec_bind(s, c, from->param->out[i], in);
	}
	eval_branch(s, c, from, to);
	for (int i = 0; i < n->nout; i++) {
		const Type *got = to->ret->in[i + 1]->type;
		const bool complete = type_is_complete(carried[i]);

		if (complete && (got != carried[i] || !known_is(s->k, to->ret->in[i + 1]))) {
			carried[i] = type_unshaped(s->cx, n->out[i]->type);
			stable = false;
		}
	}
	return stable;
}

/* Returns the initial types of loop n's carried values. */
static const Type **
carried_types(Spec *s, Scope *c, Node *n)
{
	const Type **carried = new(s->cx->arena, const Type *, n->nout + 1);

	for (int i = 0; i < n->nout; i++) {
		Value *in = spec_value(c, n->in[i + 2]);

		carried[i] = known_is(s->k, in) && type_is_complete(in->type) &&
			rt_is_dense(known_at(s->k, in)->v.u.t) && may_join(s, c, n, i) ?
			in->type : type_unshaped(s->cx, n->out[i]->type);
	}
	return carried;
}

/* Adds the results of n as outputs of m. */
static void
loop_results(Spec *s, Scope *c, Node *n, Node *m, const Type **carried)
{
	for (int i = 0; i < n->nout; i++) {
		Value *out = node_add_output(m, carried[i]);

		out->name = n->out[i]->name;
		if (type_is_complete(carried[i])) {
			known_set(s->k, out, known_meta(s->k, carried[i]));
			shapes_like(s->shapes, s->k, out, m->in[i + 2]);
		}
		known_at(s->k, out)->by_data = known_at(s->k, m->in[0])->by_data ||
			known_at(s->k, m->sub[0]->ret->in[i + 1])->by_data;
		spec_bind(s, c, n->out[i], out);
	}
}

void
spec_loop(Spec *s, Scope *c, Node *n)
{
	const Type **carried;
	const ShapesMark mark = shapes_mark(s->shapes);
	Value **before;
	Node *m;
	bool stable;
	int guards;

	if (unroll(s, c, n))
		return;
	s->padded |= block_has(loop_body(n), aten__nested_tensor_from_mask);
	forget_lists(s, n);
	carried = carried_types(s, c, n);
	before = new(s->cx->arena, Value *, s->fn->code->nreg + 1);
	memcpy(before, s->in_register, (size_t)s->fn->code->nreg * sizeof *before);
	guards = s->nguard;
	do {
		s->nguard = guards;
		memcpy(s->in_register, before, (size_t)s->fn->code->nreg * sizeof *before);
		m = spec_copy_node(s, n);
		for (int i = 0; i < n->nin; i++)
			node_add_input(m, spec_as_in_model(s, c, spec_value(c, n->in[i]), n->at));
		graph_insert(s->to, m);
		stable = try_body(s, c, n, m, carried);
		if (!stable) {
			node_destroy(m);
			shapes_back(s->shapes, mark);
		}
	} while (!stable);
	memcpy(s->in_register, before, (size_t)s->fn->code->nreg * sizeof *before);
	forget_lists(s, n);
	loop_results(s, c, n, m, carried);
	spec_guard_joined(s, c, n);
}
