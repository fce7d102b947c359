/*
 * Values in the backward pass.  A forward value is made available there: an If returns it as an output, a Loop collects
 * it in a list with an element for each trip.  Gradients accumulated so far are stored by the id of their value.
 */
#include "autodiff.h"

#include <string.h>

/* ---- tables ------------------------------------------------------------------------------------------- */

Value **
back_slot(Auto *a, Values *t, const Value *v)
{
	while (t->n <= v->id)
		vec_push(a->cx->arena, t, NULL);
	return &t->at[v->id];
}

bool
back_is_active(const Auto *a, const Value *v)
{
	return v->id < a->active->nvalue && a->active->value[v->id];
}

bool
back_is_definite(const Value *v)
{
	return v->type->kind != TYPE_OPTIONAL && v->type->kind != TYPE_NONE;
}

/* ---- emitting ------------------------------------------------------------------------------------------- */

Value *
back_emit_row(Graph *g, const char *id, Range at, int n, Value *const *in)
{
	Op *op = op_by_id(g->cx, id);
	Node *node;

	if (!op)
		BUG("autodiff: there is no operator %s", id);
	RT_ASSERT(n == op_schema(g->cx, op)->nargs);
	node = emit_schema_node(g, op, at, in, n);
	return node->nout ? node->out[0] : NULL;
}

Value *
back_row1(Back *b, const char *id, Range at, Value *x)
{
	return back_emit_row(b->diff->graph, id, at, 1, &x);
}

Value *
back_row2(Back *b, const char *id, Range at, Value *x, Value *y)
{
	return back_emit_row(b->diff->graph, id, at, 2, (Value *[2]){ x, y });
}

void
back_at_end(Back *b)
{
	if (b->stop)
		graph_set_insert_before(b->diff->graph, b->stop);
	else
		graph_set_insert_end(b->diff->graph, b->to);
}

void
back_at_front(Back *b)
{
	RT_ASSERT(b->front->block == b->to);
	graph_set_insert_before(b->diff->graph, b->front);
}

Value *
back_cast_to(Graph *g, Value *v, const Type *t, Range at)
{
	Value *out;

	if (v->type == t)
		return v;
	out = graph_emit(g, "prim::unchecked_cast", at, 1, &v, 1)->out[0];
	out->type = t;
	return out;
}

Value *
back_none(Graph *g, const Type *t, Range at)
{
	return graph_constant_typed(g, rt_none(), type_optional(g->cx, t), at);
}

Value *
back_zeros_like(Graph *g, Value *v, Range at)
{
	Value *no = back_none(g, &rt_type_int, at);

	return back_emit_row(g, "zeros_like", at, 6, (Value *[6]){ v, no, no, back_none(g, &rt_type_device, at),
			     back_none(g, &rt_type_bool, at), no });
}

Value *
back_emit_list(Graph *g, Value *const *v, int n, const Type *elem, Range at)
{
	Value *list = graph_emit(g, "prim::ListConstruct", at, n, v, 1)->out[0];

	list->type = type_list(g->cx, elem);
	return list;
}

/* ---- forward values in the backward pass ----------------------------------------------------------------- */

bool
back_is_tensor(const Value *v)
{
	return gradient_rank(v->type) == 1;
}

bool
back_is_in(const Block *b, const Value *v)
{
	return v->node->block == b;
}

/* Adds an output to the forward If: v from its own branch, an uninitialized value from the other branch. */
static Value *
hand_out_if(Back *b, Value *v)
{
	Node *n = b->node;
	const int mine = b->from == n->sub[0] ? 0 : 1;
	Block *other = n->sub[!mine];
	Value *none_there;

	for (int i = 0; i < n->nout; i++)
		if (n->sub[mine]->ret->in[i] == v)
			return n->out[i];
	graph_set_insert_end(b->diff->graph, other);
	none_there = graph_uninitialized(b->diff->graph, v->type, n->at);
	block_add_output(n->sub[mine], v);
	block_add_output(other, none_there);
	return node_add_output(n, v->type);
}

/* Makes a list before the forward Loop, to which each trip appends v. */
static Value *
hand_out_loop(Back *b, Value *v)
{
	Graph *g = b->diff->graph;
	Value *list;

	graph_set_insert_before(g, b->node);
	list = back_emit_list(g, NULL, 0, type_unshaped(g->cx, v->type), b->node->at);
	graph_set_insert_end(g, b->from);
	back_emit_row(g, "append_t", b->node->at, 2, (Value *[2]){ list, v });
	return list;
}

/* Returns the forward value v as a value that code in the backward block of b can use. */
Value *
back_capture(Back *b, Value *v)
{
	Graph *g = b->diff->graph;
	Value **have, *out, *got;

	if (!b->up)
		return v;
	have = back_slot(b->diff, &b->seen, v);
	if (*have)
		return *have;
	if (node_is(v->node, prim_Constant)) {
		Node *copy = node_clone(g, v->node, NULL);

		back_at_front(b);
		got = graph_insert(g, copy)->out[0];
	} else if (!back_is_in(b->from, v)) {
		got = back_capture(b->up, v);
	} else if (node_is(b->node, prim_Loop)) {
		out = back_capture(b->up, hand_out_loop(b, v));
		back_at_front(b);
		got = back_row2(b, "__getitem___t", b->node->at, out, b->trip);
		got->type = type_unshaped(g->cx, v->type);
	} else {
		got = back_capture(b->up, hand_out_if(b, v));
	}
	return *back_slot(b->diff, &b->seen, v) = got;
}

/* Follows views from v to the tensor that owns the memory.  Sets *data if the path goes through .data. */
static const Value *
memory_of(const Value *v, bool *data)
{
	const Schema *s;

	while ((s = node_schema(v->node)) && v->node->nin && v->node->in[0]->type->kind == TYPE_TENSOR &&
	       v->index < s->nrets && (s->rets[v->index].alias || node_is(v->node, prim_data))) {
		*data |= node_is(v->node, prim_data);
		v = v->node->in[0];
	}
	return v;
}

void
back_find_writers(Auto *a, const Block *b)
{
	for INNER_FIRST(n, b) {
		const Value *memory = NULL;
		bool data = false;

		for (int i = 0; i < n->nin && !n->nsub; i++)
			if (node_writes_input(n, i))
				memory = memory_of(n->in[i], &data);
		if (memory && data)
			vec_push(a->cx->arena, &a->unnoticed, memory);
		else if (!n->nsub && alias_node_writes(a->alias, n))
			vec_push(a->cx->arena, &a->writers, n);
	}
}

/*
 * Must the backward pass use a copy of v, since something writes to v?  PyTorch raises an error for the writes that it
 * notices.  Here the gradient is then that of the value before the write.  PyTorch does not notice writes through
 * .data, and uses the value after them.  So such writes do not count here.
 */
static bool
is_overwritten(const Auto *a, const Value *v)
{
	bool data = false;

	if (!a->unnoticed.n || !alias_has_writers(a->alias, v))
		return alias_has_writers(a->alias, v);
	for (int i = 0; i < a->unnoticed.n; i++)
		if (a->unnoticed.at[i] == memory_of(v, &data))
			return false;
	for (int i = 0; i < a->writers.n; i++)
		if (alias_writes(a->alias, a->writers.at[i], v))
			return true;
	return false;
}

/* Returns the value that v had before node n, or after n if v is a result.  Copies v there if something writes to
 * it. */
Value *
back_capture_at(Back *b, Value *v, Node *n, bool result)
{
	Graph *g = b->diff->graph;
	const Type *t = v->type;
	Value *copy = v;

	if (v->id < b->diff->active->nvalue && type_is_mutable(t) && is_overwritten(b->diff, v)) {
		graph_set_insert_before(g, result ? n->next : n);
		if (t->kind == TYPE_TENSOR)
			copy = back_emit_row(g, "tensor_clone", n->at, 2,
				(Value *[2]){ v, back_none(g, &rt_type_int, n->at) });
		else if (t->kind == TYPE_LIST)
			copy = back_emit_row(g, "list_t", n->at, 1, &v);
		copy->type = t;
	}
	return back_capture(b, copy);
}

/* ---- gradients of values ----------------------------------------------------------------------------------- */

Value *
back_adjoint(Back *b, const Value *v)
{
	return *back_slot(b->diff, &b->adjoint, v);
}

/* Returns the node that makes the list.  Null if something writes to the list. */
Node *
back_construction(const Auto *a, const Value *v)
{
	return node_is(v->node, prim_ListConstruct) && !alias_is_written(a->alias, v) ? v->node : NULL;
}

/* Is v a list that an operator returns, and that every node which could give it a gradient unpacks at once? */
bool
back_is_unpacked(const Auto *a, const Value *v)
{
	if (!v->node->op || node_is(v->node, aten_add) || node_is(v->node, aten_slice) ||
	    node_is(v->node, aten_list))
		return false;
	for (int i = 0; i < v->uses.n; i++) {
		const Node *n = v->uses.at[i].node;
		bool fine = node_is(n, prim_ListUnpack) || n->id >= a->active->nnode;

		if (!fine && !n->nsub)
			fine = n->nout > 0;
		for (int k = 0; k < n->nout && !node_is(n, prim_ListUnpack); k++)
			fine &= !back_is_active(a, n->out[k]);
		if (!fine || n->block != v->node->block)
			return false;
	}
	return v->uses.n > 0;
}

Values *
back_parts_of(Back *b, const Value *v, int n)
{
	Values *p;

	while (b->nparts <= v->id) {
		const int more = b->nparts ? 2 * b->nparts : 256;
		Values *grown = new(b->diff->cx->arena, Values, more);

		if (b->nparts)
			memcpy(grown, b->parts, (size_t)b->nparts * sizeof *grown);
		b->parts = grown;
		b->nparts = more;
	}
	p = &b->parts[v->id];
	while (p->n < n)
		vec_push(b->diff->cx->arena, p, NULL);
	return p;
}

Value *
back_sum(Back *b, Value *x, Value *y, Range at)
{
	Graph *g = b->diff->graph;
	Value *s;

	if (back_is_definite(x) && back_is_definite(y))
		return back_emit_row(g, "add_Tensor", at, 3, (Value *[3]){ x, y, graph_constant(g, rt_int(1), at) });
	s = back_row2(b, "prim_grad_sum", at, x, y);
	return back_is_definite(x) || back_is_definite(y) ? back_cast_to(g, s, &rt_type_tensor, at) : s;
}

static bool
find_nothing(bool *set, const Block *b)
{
	bool grew = false;

	for NODES(n, b) {
		const bool loop = node_is(n, prim_Loop), open = node_is(n, prim_Uninitialized);

		for (int k = 0; k < n->nsub; k++)
			grew |= find_nothing(set, n->sub[k]);
		for (int i = 0; i < n->nout && (open || loop || node_is(n, prim_If)); i++) {
			bool nothing = open || (loop && set[n->in[2 + i]->id]);

			for (int k = 0; k < n->nsub; k++)
				nothing |= set[n->sub[k]->ret->in[loop + i]->id];
			grew |= nothing && !set[n->out[i]->id];
			set[n->out[i]->id] |= nothing;
			if (loop)
				set[loop_body(n)->param->out[1 + i]->id] |= nothing;
		}
	}
	return grew;
}

bool *
back_find_nothing(const Graph *g, Arena *memory)
{
	bool *set = new(memory, bool, g->nvalue + 1);

	while (find_nothing(set, g->top))
		;
	return set;
}

bool
back_may_be_nothing(const Auto *a, const Value *v)
{
	return v->id < a->active->nvalue && a->nothing[v->id];
}

/* May the gradient of v be undefined in the backward pass? */
bool
back_may_be_undefined(const Auto *a, const Value *v)
{
	return v->node == a->graph->top->param || v->type->kind != TYPE_TENSOR || back_may_be_nothing(a, v);
}

/* Returns the list of gradients of a list that changes.  It is made in the backward block of the block that makes the
 * list. */
Value *
back_beside(Back *b, Value *list)
{
	Auto *a = b->diff;
	Value **have;

	RT_ASSERT(list->type->kind == TYPE_LIST);
	while (b->up && !back_is_in(b->from, list) && !back_adjoint(b, list))
		b = b->up;
	have = back_slot(a, &b->adjoint, list);
	if (!*have) {
		Value *like = back_capture(b, list), *made;

		back_at_front(b);
		made = back_row1(b, "prim_grad_list", list->node->at, like);
		*back_slot(a, &b->adjoint, list) = made;
		return made;
	}
	return *have;
}

/* Adds the gradients in the list g to the gradients of the elements of `list`. */
static void
give_list(Back *b, Value *list, Value *g, Range at)
{
	Node *made = back_construction(b->diff, list), *unpack;

	if (back_is_definite(g) == false)
		fail_lacks(b->diff->cx, at, "an undefined gradient of a list");
	if (!made) {
		Value *to = back_beside(b, list);

		back_at_end(b);
		back_row2(b, "prim_grad_list_add_all", at, to, g);
		return;
	}
	unpack = graph_emit(b->diff->graph, "prim::ListUnpack", at, 1, &g, made->nin);
	for (int i = 0; i < made->nin; i++)
		if (back_is_active(b->diff, made->in[i]))
			back_give(b, made->in[i], unpack->out[i], at);
}

/* Adds g to the gradient of v. */
void
back_give(Back *b, Value *v, Value *g, Range at)
{
	Value **have;

	if (g->type->kind == TYPE_NONE || value_is_none(g) || !back_is_active(b->diff, v))
		return;
	back_at_end(b);
	if (v->type->kind == TYPE_LIST) {
		give_list(b, v, g, at);
		return;
	}
	if (v->type->kind != TYPE_TENSOR && gradient_rank(v->type) != 1)
		fail_lacks(b->diff->cx, at, "a gradient through a value of type %s", type_print(b->diff->cx, v->type));
	if (!back_is_definite(g) && !back_may_be_undefined(b->diff, v)) {
		Value *like = back_capture(b, v);

		back_at_end(b);
		g = back_row2(b, "prim_grad_or_zeros", at, g, like);
	}
	have = back_slot(b->diff, &b->adjoint, v);
	if (!*have)
		vec_push(b->diff->cx->arena, &b->given, v);
	*have = *have ? back_sum(b, *have, g, at) : g;
}

/* Passes g into the backward block c.  g is the gradient of v, which is a result of c's forward block. */
void
back_hand_in(Back *c, Value *v, Value *g, Range at)
{
	Value *to;

	if (v->type->kind != TYPE_LIST) {
		back_give(c, v, g, at);
	} else if (back_is_in(c->from, v) && !back_adjoint(c, v)) {
		*back_slot(c->diff, &c->adjoint, v) = g;
	} else if (back_is_active(c->diff, v)) {
		to = back_beside(c, v);
		back_at_end(c);
		back_emit_row(c->diff->graph, "prim_grad_list_from", at, 3,
			      (Value *[3]){ to, g, graph_constant(c->diff->graph, rt_int(0), at) });
	}
}

/* Returns the gradient of a tensor, or zeros if it has none so far. */
Value *
back_adjoint_or_zeros(Back *b, Value *v, Node *n)
{
	Value *g = back_adjoint(b, v), *like;

	if (g && back_is_definite(g))
		return g;
	like = back_capture_at(b, v, n, true);
	back_at_end(b);
	if (g)
		return back_row2(b, "prim_grad_or_zeros", n->at, g, like);
	return back_zeros_like(b->diff->graph, like, n->at);
}

bool
back_has_gradient(Back *b, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		const Value *v = n->out[i];

		if (back_adjoint(b, v) || (v->id < b->nparts && b->parts[v->id].n))
			return true;
	}
	return false;
}
