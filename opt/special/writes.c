/*
 * In-place operators in the partial evaluator.
 *
 * An in-place operator is computed as a value if its operands' types are known and its kernel accepts them.  (A kernel
 * refuses a dtype that cannot be cast, other sizes, or operands that overlap.)
 *
 *   x' = clone(x); y = add_(x', z)   ->   y = add(x, z)                        where only add_ uses x' (functional.c)
 *   y = sigmoid_(part)               ->   t = sigmoid(part); y = copy_(part, t)        both have kernels
 *   part, .. = chunk(new); y = sigmoid_(part)   ->   y = part = sigmoid(part)          where nothing else reads `new`
 *
 * A write that the kernel refuses stays unchanged, and raises when the program runs it.
 */
#include "specialize.h"

#include <string.h>

static bool
is_in_place(const Node *n)
{
	const Schema *s = node_schema(n);

	return n->op->form == OP_ALSO && n->nout == 1 && n->nin && s->args[0].alias && s->args[0].alias->write &&
	       s->args[0].type->kind == TYPE_TENSOR;
}

/* Is v, which is written to, a view of another tensor? */
static bool
is_part(const Value *v)
{
	const Schema *s;

	while ((s = node_schema(v->node)) && v->node->op && s->nrets == 1 && s->rets[0].alias &&
	       s->rets[0].alias->write)
		v = v->node->in[0];
	return node_is(v->node, prim_ListUnpack) || (s && v->node->op && s->nrets == 1 && s->rets[0].alias);
}

static bool
same_type(const RtTensor *a, const RtTensor *b)
{
	return a && b && a->dtype == b->dtype && rt_same_dims(a, b);
}

static bool
same_strides(const RtTensor *a, const RtTensor *b)
{
	for (int i = 0; i < a->ndim; i++)
		if (a->dims[i] > 1 && a->strides[i] != b->strides[i])
			return false;
	return true;
}

/* Is v, which is `now` in the new graph, freshly allocated, with a single use? */
static bool
is_its_own(const Value *v, const Value *now)
{
	return v->uses.n == 1 && value_is_fresh(v) && value_is_fresh(now) && !node_is(now->node, prim_Constant);
}

/* For aten::copy(self, src) and prim::stored(self, src): can src itself be the result?  It must have self's type and
 * layout.  Either no code can notice that its memory is shared, or nothing else uses src. */
bool
spec_stored_already(Spec *s, Scope *c, Node *n)
{
	Value *src;

	if (n->nin < 2 || !(node_is(n, aten_copy) || node_is(n, prim_stored)))
		return false;
	src = spec_value(c, n->in[1]);
	if (!same_type(known_tensor(s->k, spec_value(c, n->in[0])), known_tensor(s->k, src)))
		return false;
	if (!is_its_own(n->in[1], src) &&
	    (alias_has_writers(c->alias, n->out[0]) || alias_has_writers(c->alias, n->in[1]) ||
	     (alias_escapes(c->alias, n->out[0]) && alias_escapes(c->alias, n->in[1]))))
		return false;
	spec_bind(s, c, n->out[0], src);
	return true;
}

/* ---- may it be computed? --------------------------------------------------------------------------------------- */

/* Does n read another tensor that shares self's memory?  Then sizes decide whether they overlap. */
static bool
shares_memory(Spec *s, const Node *m)
{
	const RtTensor *self = known_tensor(s->k, m->in[0]), *t;

	for (int i = 1; i < m->nin; i++)
		if (m->in[i] != m->in[0] && (t = known_tensor(s->k, m->in[i])) && t->storage == self->storage)
			return true;
	return false;
}

/* Does the kernel of n accept its arguments' known types?  An operator with a body has no kernel that could refuse
 * them.  With dynamic sizes the kernel has to check in each call. */
static bool
is_taken(Spec *s, Scope *c, const Node *n)
{
	Node *m = spec_copy_node(s, n);
	KnownArgs args;
	IValue out;
	bool is = false;

	for (int i = 0; i < n->nin; i++)
		node_add_input(m, spec_value(c, n->in[i]));
	if (spec_types_known(s, m) && known_tensor(s->k, m->in[0]) &&
	    !((s->shapes || op_body(s->cx, n->op)) && shares_memory(s, m)))
		is = !rt_overlaps_itself(known_tensor(s->k, m->in[0])) &&
		     (op_body(s->cx, n->op) || (known_gather_types(s->k, m, &args) &&
						known_run(s->k, n->op, args.v, &out, 1, true)));
	node_destroy(m);
	return is;
}

/* Emits the operator's result as a value.  Null if it cannot be computed. */
static Value *
computed(Spec *s, Scope *c, Node *n)
{
	int at[FUNCTIONAL_ARGS];
	Op *base = functional_row(s->cx, n, at);
	Graph *g = NULL;
	Node *m;

	if (!base || !is_taken(s, c, n))
		return NULL;
	m = node_new(s->to, sym(s->cx, base->name), n->at, 1);
	m->op = base;
	m->inlined = n->inlined;
	for (int i = 0; i < op_schema(s->cx, base)->nargs; i++)
		node_add_input(m, spec_argument(s, c, n, at[i]));
	if (base->form != OP_BODY) {
		graph_insert(s->to, m);
		spec_infer(s, c, m, m);
		return m->out[0];
	}
	if (!(g = spec_expansion(s, m)) || graph_ninputs(g) != m->nin || m->nin != n->nin) {
		node_destroy(m);
		return NULL;
	}
	spec_inline_body(s, c, n, m, g);
	node_destroy(m);
	return same_type(known_tensor(s->k, spec_value(c, n->in[0])), known_tensor(s->k, spec_value(c, n->out[0]))) ?
	       spec_value(c, n->out[0]) : NULL;
}

/* ---- writes that nothing else sees ---------------------------------------------------------------------------- */

/* Returns the in-place operator on the clone n that follows it.  Constants in between do not count.  Null if there is
 * none. */
static Node *
write_behind(const Node *n)
{
	Node *w = n->next;

	while (node_is(w, prim_Constant))
		w = w->next;
	return w->nin && w->in[0] == n->out[0] && w->op && is_in_place(w) && is_own_clone(n->out[0], w) ? w : NULL;
}

bool
spec_left_out(Spec *s, Scope *c, Node *n)
{
	if (!node_is(n, aten_clone) || !write_behind(n) || !known_tensor(s->k, spec_value(c, n->in[0])) ||
	    (alias_has_writers(c->alias, n->in[0]) && !is_written_once(n->in[0])))
		return false;
	spec_bind(s, c, n->out[0], spec_value(c, n->in[0]));
	return true;
}

static void
make_clone(Spec *s, Scope *c, Node *n)
{
	Node *m = spec_emit_copy(s, c, n);

	spec_infer(s, c, n, m);
	spec_keep_layout(s, c, n);
}

/* Returns v, or a copy of it with the layout of a clone of self. */
static Value *
as_self(Spec *s, Scope *c, Value *self, Value *v, Range at)
{
	const RtTensor *a = known_tensor(s->k, self), *b = known_tensor(s->k, v);
	Value *none, *put[6];

	if (same_type(a, b) && a->storage != b->storage && !node_is(v->node, prim_Constant) &&
	    (known_at(s->k, self)->altered || known_at(s->k, v)->altered || !rt_is_dense(a) || same_strides(a, b)))
		return v;
	none = spec_put_constant(s, rt_none(), at);
	put[0] = self;
	for (int i = 1; i < 6; i++)
		put[i] = none;
	return spec_put_write(s, c, spec_put_op(s, c, "aten::empty_like", put, 6, at), v, at);
}

static bool
write_own(Spec *s, Scope *c, Node *n)
{
	Value *self = spec_value(c, n->in[0]), *result = computed(s, c, n);

	if (!result) {
		if (self == spec_value(c, n->in[0]->node->in[0]))
			make_clone(s, c, n->in[0]->node);
		return false;
	}
	if (same_type(known_tensor(s->k, self), known_tensor(s->k, result)) &&
	    spec_fold_written(s, c, n, result->node))
		return true;
	result = as_self(s, c, self, result, n->at);
	if (!result->name)
		result->name = n->out[0]->name;
	spec_bind(s, c, n->out[0], result);
	spec_keep_layout(s, c, n);
	return true;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Is v freshly allocated in the block of `write`, with `splits` as its only user from the write on? */
static bool
is_left_by(const Value *v, const Node *splits, const Node *write)
{
	if (v->node->block != write->block || !(value_is_fresh(v) || is_written_clone(v)))
		return false;
	for (int i = 0; i < v->uses.n; i++) {
		const Use *u = &v->uses.at[i];

		if (u->node != splits && (!node_is_before(u->node, write) || use_makes_alias(u)))
			return false;
	}
	return true;
}

/* Is u the use of a value by an in-place operator on this value in block b? */
static bool
is_write_in(const Use *u, const Block *b)
{
	return u->index == 0 && u->node->block == b && u->node->op && is_in_place(u->node);
}

/* Does no use of v make an alias?  In-place operators in the block and the graph's return do not count. */
static bool
is_only_written(const Scope *c, const Value *v, const Block *b)
{
	for (int i = 0; i < v->uses.n; i++) {
		const Use *u = &v->uses.at[i];

		if (is_write_in(u, b) ? !is_only_written(c, u->node->out[0], b)
				      : !(c->top && u->node == c->from->top->ret) && use_makes_alias(u))
			return false;
	}
	return true;
}

/* Returns the part that n writes to, if it is a part of split, freshly allocated memory that nothing else reaches after
 * the write.  n may also write to the result of earlier writes to the part.  Null if there is no such part. */
static const Value *
own_part(const Scope *c, const Node *n)
{
	const Value *v = n->in[0], *list;

	while (v->node->op && is_in_place(v->node))
		v = v->node->in[0];
	list = node_is(v->node, prim_ListUnpack) ? v->node->in[0] : NULL;
	if (!list || list->uses.n != 1 || !node_divides(list->node) || v->node->block != n->block ||
	    !is_left_by(list->node->in[0], list->node, n) || !is_only_written(c, v, n->block))
		return NULL;
	return v;
}

/* Binds v, and the results of in-place operators on it up to n, to `now`. */
static void
rebind_written(Spec *s, Scope *c, const Value *v, const Node *n, Value *now)
{
	spec_bind(s, c, v, now);
	for (int i = 0; i < v->uses.n; i++) {
		const Use *u = &v->uses.at[i];

		if (is_write_in(u, n->block) && (u->node == n || node_is_before(u->node, n)))
			rebind_written(s, c, u->node->out[0], n, now);
	}
}

/* Binds a write to a part that nothing else reaches to the value `result`.  In the model `result` has the layout of the
 * part.  Returns false if that is not possible. */
static bool
write_own_part(Spec *s, Scope *c, Node *n, Value *result)
{
	Value *self = spec_value(c, n->in[0]), *place = known_at(s->k, self)->place;
	const Value *part = own_part(c, n);

	place = place ? place : self;
	if (!part || !value_is_fresh(result) || known_at(s->k, place)->altered ||
	    !same_type(known_tensor(s->k, place), known_tensor(s->k, result)))
		return false;
	spec_lies_in_model(s, result, known_tensor(s->k, place));
	known_at(s->k, result)->place = place;
	if (!result->name)
		result->name = n->out[0]->name;
	rebind_written(s, c, part, n, result);
	return true;
}

static bool
write_part(Spec *s, Scope *c, Node *n)
{
	const Op *base = op_by_id(s->cx, n->op->base);
	Value *self = spec_value(c, n->in[0]), *result = NULL;
	const bool placed = known_at(s->k, self)->place != NULL, part = placed || is_part(self);

	if (part && base && (base->form == OP_MAP || base->form == OP_BODY) && known_is(s->k, self))
		result = computed(s, c, n);
	if (result && write_own_part(s, c, n, result))
		return true;
	if (placed) {
		self = spec_as_in_model(s, c, self, n->at);
		rebind_written(s, c, own_part(c, n), n->prev, self);
	}
	if (!result)
		return false;
	result = spec_put_write(s, c, self, result, n->at);
	result->name = n->out[0]->name;
	spec_bind(s, c, n->out[0], result);
	return true;
}

bool
spec_write(Spec *s, Scope *c, Node *n)
{
	if (!is_in_place(n))
		return false;
	return is_own_clone(n->in[0], n) ? write_own(s, c, n) : write_part(s, c, n);
}
