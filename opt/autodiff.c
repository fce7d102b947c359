/*
 * Reverse-mode differentiation, ahead of time: the way back is written behind the graph.
 *
 *    y = aten::mul(x, w)            y = aten::mul(x, w)
 *    return (y)              ->     g = prim::grad_seed(y, out)
 *                                   gw = aten::mul(g, x)           the text of the row's gradient, inlined
 *                                   return ((y, None, (gw)))
 *
 * Nodes are visited from the last to the first; a node one of whose results has a gradient gives gradients to its
 * arguments, and what an argument gets from several nodes is added.  Control flow is mirrored: an If goes back through the
 * branch that was taken, a Loop through its trips in reverse order.  What the way back needs of the values inside of a
 * block is handed out by the forward node: as one more output of an If, in a list with an element for each trip of a Loop.
 * A gradient that may be undefined has the type Tensor?; only inputs of the graph and optional values have such.
 *
 * Values that something writes to are copied where they are still as the node has seen them.  Lists of tensors that
 * change have a list of gradients beside them (prim::grad_list), kept in step on the way back.
 */
#include "opt.h"

#include <string.h>

typedef struct Auto {
	Pass    *p;
	Cx      *cx;
	Graph   *g;
	AliasDb *alias;          /* of the forward graph as it was */
	Active  *active;
	Map      pruned;         /* gradient functions with only the outputs that are wanted */
} Auto;

typedef Vec(Value *) Values;

typedef struct Back Back;
struct Back {                    /* the way back through one block */
	Auto   *a;
	Back   *up;
	Block  *from, *to;       /* the same at the top */
	Node   *node;            /* the If or Loop around `from` */
	Node   *front;           /* in `to`: what is taken from forward values goes before it */
	Values  adjoint;         /* gradients of values in and around `from`, by value id; null: none */
	Values  given;           /* those of them that have one, in order */
	Values  seen;            /* forward values at hand in `to`, by value id */
	Values *parts;           /* of tuples and lists that are taken apart: gradients of their elements */
	int     nparts;
	Value  *trip;            /* Loop: which trip of the forward loop this is */
};

static void reverse_block(Back *);
static void reverse_node(Back *, Node *);

/* ---- tables ------------------------------------------------------------------------------------------- */

static Value **
slot(Auto *a, Values *t, const Value *v)
{
	while (t->n <= v->id)
		vec_push(a->cx->arena, t, NULL);
	return &t->at[v->id];
}

static bool
is_active(const Auto *a, const Value *v)
{
	return v->id < a->active->nvalue && a->active->value[v->id];
}

static bool
is_definite(const Value *v)
{
	return v->type->kind != TYPE_OPTIONAL && v->type->kind != TYPE_NONE;
}

/* ---- emitting ------------------------------------------------------------------------------------------- */

static Value *
emit_row(Graph *g, const char *id, Range at, int n, Value *const *in)
{
	Op *op = op_by_id(g->cx, id);
	Node *node;

	if (!op)
		BUG("autodiff: there is no row %s", id);
	node = emit_schema_node(g, op, at, in, n);
	return node->nout ? node->out[0] : NULL;
}

static Value *
row1(Back *b, const char *id, Range at, Value *x)
{
	return emit_row(b->a->g, id, at, 1, &x);
}

static Value *
row2(Back *b, const char *id, Range at, Value *x, Value *y)
{
	return emit_row(b->a->g, id, at, 2, (Value *[2]){ x, y });
}

static void
at_end(Back *b)
{
	graph_set_insert_end(b->a->g, b->to);
}

static void
at_front(Back *b)
{
	graph_set_insert_before(b->a->g, b->front);
}

static Value *
cast_to(Graph *g, Value *v, const Type *t, Range at)
{
	Value *out;

	if (v->type == t)
		return v;
	out = graph_emit(g, "prim::unchecked_cast", at, 1, &v, 1)->out[0];
	out->type = t;
	return out;
}

static Value *
none(Graph *g, const Type *t, Range at)
{
	return graph_constant_typed(g, rt_none(), type_optional(g->cx, t), at);
}

static Value *
zeros_like(Graph *g, Value *v, Range at)
{
	Value *no = none(g, &rt_type_int, at);

	return emit_row(g, "zeros_like", at, 6, (Value *[6]){ v, no, no, none(g, &rt_type_device, at), none(g, &rt_type_bool, at), no });
}

static Value *
emit_list(Graph *g, Value *const *v, int n, const Type *elem, Range at)
{
	Value *list = graph_emit(g, "prim::ListConstruct", at, n, v, 1)->out[0];

	list->type = type_list(g->cx, elem);
	return list;
}

/* ---- forward values on the way back ---------------------------------------------------------------------- */

static bool
is_tensor(const Value *v)
{
	return gradient_rank(v->type) == 1;
}

static bool
is_in(const Block *b, const Value *v)
{
	return v->node->block == b;
}

/* One more output of the forward If: v from its branch, anything from the other. */
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
	graph_set_insert_end(b->a->g, other);
	none_there = graph_emit(b->a->g, "prim::Uninitialized", n->at, 0, NULL, 1)->out[0];
	none_there->type = v->type;
	block_add_output(n->sub[mine], v);
	block_add_output(other, none_there);
	return node_add_output(n, v->type);
}

/* A list before the forward Loop, with v of each trip. */
static Value *
hand_out_loop(Back *b, Value *v)
{
	Graph *g = b->a->g;
	Value *list;

	graph_set_insert_before(g, b->node);
	list = emit_list(g, NULL, 0, type_unshaped(g->cx, v->type), b->node->at);
	graph_set_insert_end(g, b->from);
	emit_row(g, "append_t", b->node->at, 2, (Value *[2]){ list, v });
	return list;
}

/* The forward value v where b's code can use it. */
static Value *
capture(Back *b, Value *v)
{
	Graph *g = b->a->g;
	Value **have, *out, *got;

	if (!b->up)
		return v;
	have = slot(b->a, &b->seen, v);
	if (*have)
		return *have;
	if (node_is(v->node, "prim::Constant")) {
		Node *copy = node_clone(g, v->node, NULL);

		at_front(b);
		got = graph_insert(g, copy)->out[0];
	} else if (!is_in(b->from, v)) {
		got = capture(b->up, v);
	} else if (node_is(b->node, "prim::Loop")) {
		out = capture(b->up, hand_out_loop(b, v));
		at_front(b);
		got = row2(b, "__getitem___t", b->node->at, out, b->trip);
		got->type = type_unshaped(g->cx, v->type);
	} else {
		got = capture(b->up, hand_out_if(b, v));
	}
	return *slot(b->a, &b->seen, v) = got;
}

/* v as node n has it: before it, or (a result) after it.  When something writes to it, that is a copy. */
static Value *
capture_at(Back *b, Value *v, Node *n, bool result)
{
	Graph *g = b->a->g;
	const Type *t = v->type;
	Value *copy = v;

	if (v->id < b->a->active->nvalue && type_is_mutable(t) && alias_has_writers(b->a->alias, v)) {
		graph_set_insert_before(g, result ? n->next : n);
		if (t->kind == TYPE_TENSOR)
			copy = emit_row(g, "tensor_clone", n->at, 2,
				(Value *[2]){ v, none(g, &rt_type_int, n->at) });
		else if (t->kind == TYPE_LIST)
			copy = emit_row(g, "list_t", n->at, 1, &v);
		copy->type = t;
	}
	return capture(b, copy);
}

/* ---- gradients of values ----------------------------------------------------------------------------------- */

static Value *
adjoint(Back *b, const Value *v)
{
	return *slot(b->a, &b->adjoint, v);
}

/* The values of a list that is made in the graph and stays as it is; null: another kind. */
static Node *
construction(const Auto *a, const Value *v)
{
	return node_is(v->node, "prim::ListConstruct") && !alias_is_written(a->alias, v) ? v->node : NULL;
}

/* Do all who could give it a gradient take the list apart in one go? */
static bool
is_unpacked(const Auto *a, const Value *v)
{
	for (int i = 0; i < v->uses.n; i++) {
		const Node *n = v->uses.at[i].node;
		bool fine = node_is(n, "prim::ListUnpack") || n->id >= a->active->nnode || !n->nout;

		for (int k = 0; k < n->nout && !fine; k++)
			fine = !is_active(a, n->out[k]);
		if (!fine || n->block != v->node->block)
			return false;
	}
	return v->uses.n > 0;
}

static Values *
parts_of(Back *b, const Value *v, int n)
{
	Values *p;

	while (b->nparts <= v->id) {
		const int more = b->nparts ? 2 * b->nparts : 256;
		Values *grown = new(b->a->cx->arena, Values, more);

		if (b->nparts)
			memcpy(grown, b->parts, (size_t)b->nparts * sizeof *grown);
		b->parts = grown;
		b->nparts = more;
	}
	p = &b->parts[v->id];
	while (p->n < n)
		vec_push(b->a->cx->arena, p, NULL);
	return p;
}

static Value *
sum(Back *b, Value *x, Value *y, Range at)
{
	Graph *g = b->a->g;
	Value *s;

	if (is_definite(x) && is_definite(y))
		return emit_row(g, "add_Tensor", at, 3, (Value *[3]){ x, y, graph_constant(g, rt_int(1), at) });
	s = row2(b, "prim_grad_sum", at, x, y);
	return is_definite(x) || is_definite(y) ? cast_to(g, s, &rt_type_tensor, at) : s;
}

/* No branch gives v, where there are some. */
static bool
may_be_nothing(const Value *v)
{
	const Node *n = v->node;

	if (node_is(n, "prim::Uninitialized"))
		return true;
	return node_is(n, "prim::If") && (may_be_nothing(n->sub[0]->ret->in[v->index]) || may_be_nothing(n->sub[1]->ret->in[v->index]));
}

/* May the gradient of v be an undefined one, on the way back? */
static bool
may_be_undefined(const Auto *a, const Value *v)
{
	return v->node == a->g->top->param || v->type->kind != TYPE_TENSOR || may_be_nothing(v);
}

static void give(Back *, Value *, Value *, Range);

/* The list of gradients beside a list that changes: in the way back of the block that the list is made in. */
static Value *
beside(Back *b, Value *list)
{
	Auto *a = b->a;
	Value **have;

	while (b->up && !is_in(b->from, list) && !adjoint(b, list))
		b = b->up;
	have = slot(a, &b->adjoint, list);
	if (!*have) {
		Value *like = capture(b, list), *made;

		at_front(b);
		made = row1(b, "prim_grad_list", list->node->at, like);
		*slot(a, &b->adjoint, list) = made;
		return made;
	}
	return *have;
}

/* A list of gradients for the elements of `list`. */
static void
give_list(Back *b, Value *list, Value *g, Range at)
{
	Node *made = construction(b->a, list), *unpack;

	if (is_definite(g) == false)
		fail_lacks(b->a->cx, at, "an undefined gradient of a list");
	if (!made) {
		Value *to = beside(b, list);

		at_end(b);
		row2(b, "prim_grad_list_add_all", at, to, g);
		return;
	}
	unpack = graph_emit(b->a->g, "prim::ListUnpack", at, 1, &g, made->nin);
	for (int i = 0; i < made->nin; i++)
		if (is_active(b->a, made->in[i]))
			give(b, made->in[i], unpack->out[i], at);
}

/* Adds g to the gradient of v. */
static void
give(Back *b, Value *v, Value *g, Range at)
{
	Value **have;

	if (g->type->kind == TYPE_NONE || value_is_none(g) || !is_active(b->a, v))
		return;
	at_end(b);
	if (v->type->kind == TYPE_LIST) {
		give_list(b, v, g, at);
		return;
	}
	if (v->type->kind != TYPE_TENSOR && gradient_rank(v->type) != 1)
		fail_lacks(b->a->cx, at, "a gradient through a value of type %s", type_print(b->a->cx, v->type));
	if (!is_definite(g) && !may_be_undefined(b->a, v)) {
		Value *like = capture(b, v);

		at_end(b);
		g = row2(b, "prim_grad_or_zeros", at, g, like);
	}
	have = slot(b->a, &b->adjoint, v);
	if (!*have)
		vec_push(b->a->cx->arena, &b->given, v);
	*have = *have ? sum(b, *have, g, at) : g;
}

/* g is the gradient of v, a result of the block that c goes back through. */
static void
hand_in(Back *c, Value *v, Value *g, Range at)
{
	Value *to;

	if (v->type->kind != TYPE_LIST) {
		give(c, v, g, at);
	} else if (is_in(c->from, v)) {
		*slot(c->a, &c->adjoint, v) = g;
	} else if (is_active(c->a, v)) {
		to = beside(c, v);
		at_end(c);
		emit_row(c->a->g, "prim_grad_list_from", at, 3, (Value *[3]){ to, g, graph_constant(c->a->g, rt_int(0), at) });
	}
}

/* The gradient of a tensor, zeros when there is none so far. */
static Value *
adjoint_or_zeros(Back *b, Value *v, Node *n)
{
	Value *g = adjoint(b, v), *like;

	if (g && is_definite(g))
		return g;
	like = capture_at(b, v, n, true);
	at_end(b);
	if (g)
		return row2(b, "prim_grad_or_zeros", n->at, g, like);
	return zeros_like(b->a->g, like, n->at);
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

/* The gradient function with only the outputs in `need`; the others give None. */
static Graph *
pruned(Auto *a, Function *f, const bool *need)
{
	const int n = f->graph->top->ret->nin;
	char *key = arena_printf(a->cx->arena, "%p%*s", (void *)f, n, "");
	Graph *g;

	for (int i = 0; i < n; i++)
		key[strlen(key) - (size_t)n + (size_t)i] = need[i] ? '1' : '0';
	if ((g = map_get(&a->pruned, key)))
		return g;
	g = graph_clone(f->graph, NULL);
	graph_set_insert_before(g, g->top->ret->next);
	for (int i = 0; i < n; i++)
		if (!need[i])
			node_set_input(g->top->ret, i, none(g, &rt_type_tensor, (Range){ 0 }));
	pass_run(a->cx, "dce", NULL, g, rt_none());
	map_put(&a->pruned, key, g);
	return g;
}

/* Which arguments want a gradient; how many. */
static int
needed(const Auto *a, const Node *n, const Schema *s, bool *need)
{
	int at = 0, count = 0;

	for (int i = 0; i < s->nargs; i++) {
		if (!gradient_rank(s->args[i].type))
			continue;
		need[at] = i < n->nin && is_active(a, n->in[i]);
		count += need[at++];
	}
	return count;
}

/* The gradient of a list of tensors as a list. */
static Value *
list_gradient(Back *b, Value *list, Node *n)
{
	Graph *g = b->a->g;
	Value *got, *all, **v;
	Values *parts;
	Node *items;

	if (!is_unpacked(b->a, list)) {
		got = beside(b, list);
		all = capture_at(b, list, n, true);
		at_end(b);
		return row2(b, "prim_grad_list_full", n->at, got, all);
	}
	parts = parts_of(b, list, 0);
	v = new(b->a->cx->arena, Value *, parts->n + 1);
	items = NULL;
	for (int i = 0; i < parts->n; i++) {
		v[i] = parts->at[i];
		if (!v[i] || !is_definite(v[i])) {
			if (!items) {
				all = capture_at(b, list, n, true);
				at_end(b);
				items = graph_emit(g, "prim::ListUnpack", n->at, 1, &all, parts->n);
			}
			v[i] = v[i] ? row2(b, "prim_grad_or_zeros", n->at, v[i], items->out[i]) : zeros_like(g, items->out[i], n->at);
		}
	}
	at_end(b);
	return emit_list(g, v, parts->n, &rt_type_tensor, n->at);
}

/* Binds the inputs of a gradient function that are used: arguments, gradients of results, results. */
static void
bind_inputs(Back *b, Node *n, const Schema *s, Graph *f, Map *values)
{
	int at = 0;

	for (int i = 0; i < s->nargs; i++, at++)
		if (graph_inputs(f)[at]->uses.n)
			graph_set_cloned(values, graph_inputs(f)[at], capture_at(b, n->in[i], n, false));
	for (int i = 0; i < s->nrets; i++) {
		if (!gradient_rank(s->rets[i].type))
			continue;
		if (graph_inputs(f)[at]->uses.n)
			graph_set_cloned(values, graph_inputs(f)[at], gradient_rank(s->rets[i].type) == 2 ?
				list_gradient(b, n->out[i], n) : adjoint_or_zeros(b, n->out[i], n));
		at++;
	}
	for (int i = 0; i < s->nrets; i++, at++)
		if (graph_inputs(f)[at]->uses.n)
			graph_set_cloned(values, graph_inputs(f)[at], capture_at(b, n->out[i], n, true));
}

/* Of a pointwise row, arguments may have been broadcast and promoted. */
static Value *
fitted(Back *b, Node *n, int arg, Value *g, int tensors)
{
	Value *like;

	if (n->op->form != OP_MAP || tensors < 2)
		return g;
	like = capture_at(b, n->in[arg], n, false);
	at_end(b);
	return row2(b, "prim_grad_like", n->at, g, cast_to(b->a->g, like, &rt_type_tensor, n->at));
}

static void
give_arguments(Back *b, Node *n, const Schema *s, Graph *f, Map *values)
{
	int at = 0, tensors = 0;

	for (int i = 0; i < s->nargs; i++)
		tensors += gradient_rank(s->args[i].type) > 0;
	for (int i = 0; i < s->nargs && i < n->nin; i++) {
		Value *of, *g;

		if (!gradient_rank(s->args[i].type))
			continue;
		of = f->top->ret->in[at++];
		if (!is_active(b->a, n->in[i]) || of->type->kind == TYPE_NONE || value_is_none(of))
			continue;
		g = graph_cloned(values, of);
		at_end(b);
		g = cast_to(b->a->g, g ? g : of, gradient_rank(s->args[i].type) == 2 ? type_list(b->a->cx, &rt_type_tensor) :
			n->in[i]->type->kind == TYPE_TENSOR ? &rt_type_tensor : type_unshaped(b->a->cx, (g ? g : of)->type), n->at);
		give(b, n->in[i], fitted(b, n, i, g, tensors), n->at);
	}
}

static bool
has_gradient(Back *b, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		const Value *v = n->out[i];

		if (adjoint(b, v) || (v->id < b->nparts && b->parts[v->id].n))
			return true;
	}
	return false;
}

static void
reverse_op(Back *b, Node *n)
{
	Auto *a = b->a;
	const Schema *s = node_schema(n);
	bool *need = new(a->cx->arena, bool, s->nargs + 1);
	Map values = { .arena = a->cx->arena };
	Function *f;
	Graph *g;

	if (!needed(a, n, s, need))
		return;
	if (!(f = op_gradient(a->cx, n->op)))
		fail_lacks(a->cx, n->at, "the gradient of %s", n->kind->name);
	if (n->nin != s->nargs)
		BUG("autodiff: %s has %d inputs", n->kind->name, n->nin);
	g = pruned(a, f, need);
	bind_inputs(b, n, s, g, &values);
	at_end(b);
	insert_copy(a->g, g, n, &values);
	give_arguments(b, n, s, g, &values);
}

static bool
all_maybe(Back *b, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		const Value *v = n->out[i], *g = adjoint(b, v);

		if ((g && is_definite(g)) || (v->id < b->nparts && b->parts[v->id].n))
			return false;
	}
	return true;
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

static void
reverse_unpack(Back *b, Node *n)
{
	Value *of = n->in[0];
	Node *made = construction(b->a, of);
	Values *parts;

	if (!is_active(b->a, of) || !has_gradient(b, n))
		return;
	if (of->type->kind == TYPE_LIST && !made && !is_unpacked(b->a, of)) {
		for (int i = 0; i < n->nout; i++) {
			Value *to = adjoint(b, n->out[i]) ? beside(b, of) : NULL;

			at_end(b);
			if (to)
				emit_row(b->a->g, "prim_grad_list_add", n->at, 3, (Value *[3]){ to,
					graph_constant(b->a->g, rt_int(i), n->at), adjoint(b, n->out[i]) });
		}
		return;
	}
	for (int i = 0; i < n->nout && made; i++)
		if (adjoint(b, n->out[i]))
			give(b, made->in[i], adjoint(b, n->out[i]), n->at);
	if (made)
		return;
	parts = parts_of(b, of, n->nout);
	at_end(b);
	for (int i = 0; i < n->nout; i++) {
		Value *g = adjoint(b, n->out[i]);

		if (g)
			parts->at[i] = parts->at[i] ? sum(b, parts->at[i], g, n->at) : g;
	}
}

static void
reverse_index(Back *b, Node *n)
{
	int64_t i = node_int(n, "index", 0);
	Values *parts;
	Value *g = adjoint(b, n->out[0]);

	if (!g)
		return;
	if (n->nin > 1 && !value_int(n->in[1], &i))
		fail_lacks(b->a->cx, n->at, "a gradient through a tuple's element by a number that is not known");
	i += i < 0 ? n->in[0]->type->n : 0;
	parts = parts_of(b, n->in[0], n->in[0]->type->n);
	at_end(b);
	parts->at[i] = parts->at[i] ? sum(b, parts->at[i], g, n->at) : g;
}

static void
reverse_tuple(Back *b, Node *n)
{
	Values *parts = parts_of(b, n->out[0], n->nin);

	for (int i = 0; i < n->nin; i++)
		if (parts->at[i])
			give(b, n->in[i], parts->at[i], n->at);
}

static void
reverse_cast(Back *b, Node *n)
{
	if (adjoint(b, n->out[0]))
		give(b, n->in[0], adjoint(b, n->out[0]), n->at);
}

/* A list with gradients beside it, made of these elements. */
static void
reverse_construct(Back *b, Node *n)
{
	Value *beside_it = adjoint(b, n->out[0]);

	for (int i = 0; i < n->nin && beside_it; i++) {
		Value *g, *at;

		if (!is_active(b->a, n->in[i]))
			continue;
		at_end(b);
		at = graph_constant(b->a->g, rt_int(i), n->at);
		g = row2(b, "__getitem___t", n->at, beside_it, at);
		g->type = type_optional(b->a->cx, &rt_type_tensor);
		give(b, n->in[i], g, n->at);
	}
}

/* append, _set_item: what went into the list gets the gradient of its place, which is empty before. */
static void
reverse_put(Back *b, Node *n, bool append)
{
	Value *element = n->in[append ? 1 : 2], *list = n->in[0], *g, *to, *i;

	if (!is_active(b->a, list))
		return;
	to = beside(b, list);
	i = append ? NULL : capture_at(b, n->in[1], n, false);
	at_end(b);
	g = append ? row2(b, "pop_t", n->at, to, graph_constant(b->a->g, rt_int(-1), n->at)) :
		row2(b, "prim_grad_list_take", n->at, to, i);
	g->type = type_optional(b->a->cx, &rt_type_tensor);
	if (!is_active(b->a, element))
		return;
	give(b, element, g, n->at);
}

static void
reverse_getitem(Back *b, Node *n)
{
	Value *g = adjoint(b, n->out[0]), *to, *i;

	if (!g)
		return;
	to = beside(b, n->in[0]);
	i = capture_at(b, n->in[1], n, false);
	at_end(b);
	emit_row(b->a->g, "prim_grad_list_add", n->at, 3, (Value *[3]){ to, i, g });
}

/* slice, list: elements of one list in another. */
static void
reverse_part(Back *b, Node *n)
{
	Value *of = adjoint(b, n->out[0]), *to, *in[5] = { 0 };

	if (!of)
		return;
	to = beside(b, n->in[0]);
	for (int i = 1; i < 4 && node_is(n, "aten::slice"); i++)
		in[1 + i] = capture_at(b, n->in[i], n, false);
	at_end(b);
	if (node_is(n, "aten::list")) {
		in[2] = in[3] = none(b->a->g, &rt_type_int, n->at);
		in[4] = graph_constant(b->a->g, rt_int(1), n->at);
	}
	in[0] = to;
	in[1] = of;
	emit_row(b->a->g, "prim_grad_list_part", n->at, 5, in);
}

/* a + b of lists. */
static void
reverse_concat(Back *b, Node *n)
{
	Value *of = adjoint(b, n->out[0]), *skip, *to;

	for (int k = 0; k < 2 && of; k++) {
		if (!is_active(b->a, n->in[k]))
			continue;
		skip = k ? capture_at(b, n->in[0], n, false) : NULL;
		to = beside(b, n->in[k]);
		at_end(b);
		skip = k ? row1(b, "len_t", n->at, skip) : graph_constant(b->a->g, rt_int(0), n->at);
		emit_row(b->a->g, "prim_grad_list_from", n->at, 3, (Value *[3]){ to, of, skip });
	}
}

/* Does it take or change lists of tensors in a way that is not known here? */
static bool
is_strange(Back *b, const Node *n)
{
	const Schema *s = node_schema(n);

	for (int i = 0; s && i < n->nin; i++) {
		const bool list = is_active(b->a, n->in[i]) && n->in[i]->type->kind != TYPE_TENSOR && gradient_rank(n->in[i]->type) != 1;

		if (list && i < s->nargs && s->args[i].alias && s->args[i].alias->write)
			return true;
		if (list && has_gradient(b, n) && (i >= s->nargs || !gradient_rank(s->args[i].type)))
			return true;
	}
	return false;
}

/* ---- control flow -------------------------------------------------------------------------------------------------- */

static Back
inside(Back *b, Node *n, Block *from, Block *to)
{
	Back c = { .a = b->a, .up = b, .from = from, .to = to, .node = n };

	graph_set_insert_end(b->a->g, to);
	c.front = graph_constant(b->a->g, rt_none(), n->at)->node;
	return c;
}

/* A gradient is owed for v where there is none: undefined where it may be, else zeros. */
static Value *
no_gradient(Back *c, Value *v, Range at)
{
	Graph *g = c->a->g;
	Value *like;

	at_end(c);
	if (may_be_undefined(c->a, v))
		return none(g, &rt_type_tensor, at);
	like = capture(c, v);
	at_end(c);
	return zeros_like(g, like, at);
}

/* The gradients of two branches as those of the node; what was made in the branches themselves stays there. */
static void
join(Back *b, Back *c, Node *m, Range at)
{
	Graph *g = b->a->g;

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < c[k].given.n; i++) {
			Value *v = c[k].given.at[i], *part[2], *out;

			if (is_in(c[k].from, v) || v->type->kind == TYPE_LIST || (k && adjoint(&c[0], v)))
				continue;
			for (int j = 0; j < 2; j++) {
				part[j] = adjoint(&c[j], v) ? adjoint(&c[j], v) : no_gradient(&c[j], v, at);
				block_add_output(m->sub[j], part[j]);
			}
			out = node_add_output(m, is_definite(part[0]) && is_definite(part[1]) ? &rt_type_tensor :
				type_optional(g->cx, &rt_type_tensor));
			give(b, v, out, at);
		}
}

/* Does it write to lists of tensors that have gradients?  Then the way back goes through it, too. */
static bool
puts_into_lists(const Auto *a, const Block *b)
{
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			if (puts_into_lists(a, n->sub[i]))
				return true;
		if ((node_is(n, "aten::append") || node_is(n, "aten::_set_item")) && is_active(a, n->in[0]))
			return true;
	}
	return false;
}

static bool
has_work(Back *b, const Node *n)
{
	bool any = has_gradient(b, n);

	for (int i = 0; i < n->nsub && !any; i++)
		any = puts_into_lists(b->a, n->sub[i]);
	return any;
}

static void
reverse_if(Back *b, Node *n)
{
	Graph *g = b->a->g;
	const int nout = n->nout;
	Value *cond;
	Back c[2];
	Node *m;

	if (!has_work(b, n))
		return;
	cond = capture(b, n->in[0]);
	at_end(b);
	m = graph_insert(g, if_new(g, n->at, cond, 0));
	m->inlined = n->inlined;
	for (int k = 0; k < 2; k++) {
		c[k] = inside(b, n, n->sub[k], m->sub[k]);
		for (int i = 0; i < nout; i++) {
			if (adjoint(b, n->out[i]))
				hand_in(&c[k], n->sub[k]->ret->in[i], adjoint(b, n->out[i]), n->at);
			else if (n->out[i]->type->kind == TYPE_TUPLE && n->out[i]->id < b->nparts)
				*parts_of(&c[k], n->sub[k]->ret->in[i], 0) = b->parts[n->out[i]->id];
		}
		reverse_block(&c[k]);
	}
	join(b, c, m, n->at);
}

/* A node whose results' gradients all may be undefined: if one is not, back as ever. */
static void
reverse_maybe(Back *b, Node *n)
{
	Graph *g = b->a->g;
	Value *any = NULL;
	Back c[2];
	Node *m;

	at_end(b);
	for (int i = 0; i < n->nout; i++) {
		Value *got = adjoint(b, n->out[i]), *is;

		if (!got)
			continue;
		is = row2(b, "__isnot__", n->at, got, none(g, &rt_type_tensor, n->at));
		any = any ? row2(b, "__or___bool", n->at, any, is) : is;
	}
	m = graph_insert(g, if_new(g, n->at, any, 0));
	for (int k = 0; k < 2; k++)
		c[k] = inside(b, n, NULL, m->sub[k]);
	for (int i = 0; i < n->nout; i++) {
		Value *got = adjoint(b, n->out[i]);

		any = got && n->nout > 1 ? capture_at(&c[0], n->out[i], n, true) : NULL;
		at_end(&c[0]);
		if (any)
			got = row2(&c[0], "prim_grad_or_zeros", n->at, got, any);
		else if (got)
			got = cast_to(g, got, &rt_type_tensor, n->at);
		*slot(b->a, &c[0].adjoint, n->out[i]) = got;
	}
	reverse_node(&c[0], n);
	join(b, c, m, n->at);
}

/* How often the forward loop runs: one more value that it carries. */
static Value *
count_trips(Graph *g, Node *n)
{
	Value *one, *next;

	graph_set_insert_before(g, n);
	loop_add_carried(n, graph_constant(g, rt_int(0), n->at), NULL);
	graph_set_insert_end(g, loop_body(n));
	one = graph_constant(g, rt_int(1), n->at);
	next = emit_row(g, "add_int", n->at, 2, (Value *[2]){ loop_index(n), one });
	block_add_output(loop_body(n), next);
	return n->out[n->nout - 1];
}

/* Is the loop's value k on the way of gradients? */
static bool
is_carried_back(Back *b, const Node *n, int k)
{
	const Value *out = n->out[k], *in = loop_body(n)->param->out[1 + k];

	if (!is_active(b->a, out) && !is_active(b->a, in))
		return false;
	if (!is_tensor(out))
		fail_lacks(b->a->cx, n->at, "a gradient through a value of type %s that a loop carries",
			type_print(b->a->cx, out->type));
	return true;
}

/* The gradient with which the way back enters the loop for its value k. */
static Value *
entering(Back *b, Node *n, int k)
{
	Value *g = adjoint(b, n->out[k]), *v = n->out[k];

	if (g && (is_definite(g) || v->type->kind != TYPE_TENSOR))
		return g;
	if (!g)
		return no_gradient(b, v, n->at);
	v = capture(b, v);
	at_end(b);
	return row2(b, "prim_grad_or_zeros", n->at, g, v);
}

static void
reverse_loop(Back *b, Node *n)
{
	Graph *g = b->a->g;
	Block *body = loop_body(n);
	const int nout = n->nout;
	Value *trips, *one, *init;
	Back c;
	Node *m;

	if (!has_work(b, n))
		return;
	trips = capture(b, count_trips(g, n));
	at_end(b);
	m = loop_new(g, n->at, trips, graph_constant(g, rt_bool(true), n->at));
	m->inlined = n->inlined;
	for (int k = 0; k < nout; k++)
		if (is_carried_back(b, n, k))
			loop_add_carried(m, entering(b, n, k), NULL);
	at_end(b);
	graph_insert(g, m);
	c = inside(b, n, body, loop_body(m));
	at_front(&c);
	one = graph_constant(g, rt_int(1), n->at);
	c.trip = row2(&c, "sub_int", n->at, row2(&c, "sub_int", n->at, trips, loop_index(m)), one);
	for (int k = 0, i = 1; k < nout; k++)
		if (is_carried_back(b, n, k))
			hand_in(&c, body->ret->in[1 + k], loop_body(m)->param->out[i++], n->at);
	reverse_block(&c);
	at_end(&c);
	block_add_output(loop_body(m), graph_constant(g, rt_bool(true), n->at));
	for (int k = 0, i = 0; k < nout; k++) {
		Value *in = body->param->out[1 + k], *got;

		if (!is_carried_back(b, n, k))
			continue;
		got = adjoint(&c, in) ? adjoint(&c, in) : no_gradient(&c, in, n->at);
		block_add_output(loop_body(m), got);
		give(b, n->in[2 + k], m->out[i++], n->at);
	}
	for (int i = 0; i < c.given.n; i++) {
		Value *v = c.given.at[i];

		if (is_in(body, v) || v->type->kind == TYPE_LIST)
			continue;
		/* From zeros on, so that the type is known; undefined where v itself may be. */
		init = v->type->kind == TYPE_TENSOR && !may_be_nothing(v) ? capture(b, v) : NULL;
		graph_set_insert_before(g, m);
		loop_add_carried(m, init ? zeros_like(g, init, n->at) : none(g, &rt_type_tensor, n->at), NULL);
		at_end(&c);
		block_add_output(loop_body(m), sum(&c, loop_body(m)->param->out[m->nout], adjoint(&c, v), n->at));
		give(b, v, m->out[m->nout - 1], n->at);
	}
}

/* ---- the walk -------------------------------------------------------------------------------------------------------- */

static void
reverse_node(Back *b, Node *n)
{
	if (node_is(n, "prim::ListUnpack") || node_is(n, "prim::TupleUnpack"))
		reverse_unpack(b, n);
	else if (node_is(n, "prim::TupleIndex"))
		reverse_index(b, n);
	else if (node_is(n, "prim::TupleConstruct"))
		reverse_tuple(b, n);
	else if (node_is(n, "prim::ListConstruct"))
		reverse_construct(b, n);
	else if (node_is(n, "prim::unchecked_cast"))
		reverse_cast(b, n);
	else if (node_is(n, "aten::append"))
		reverse_put(b, n, true);
	else if (node_is(n, "aten::_set_item") && n->in[0]->type->kind == TYPE_LIST)
		reverse_put(b, n, false);
	else if (node_is(n, "aten::__getitem__") && n->in[0]->type->kind == TYPE_LIST)
		reverse_getitem(b, n);
	else if ((node_is(n, "aten::slice") || node_is(n, "aten::list")) && n->in[0]->type->kind == TYPE_LIST)
		reverse_part(b, n);
	else if (node_is(n, "aten::add") && n->in[0]->type->kind == TYPE_LIST)
		reverse_concat(b, n);
	else if (n->op && is_strange(b, n))
		fail_lacks(b->a->cx, n->at, "a gradient through %s of a list or dict", n->kind->name);
	else if (node_is(n, "prim::If"))
		reverse_if(b, n);
	else if (node_is(n, "prim::Loop"))
		reverse_loop(b, n);
	else if (!has_gradient(b, n))
		return;
	else if (!n->op)
		fail_lacks(b->a->cx, n->at, "a gradient through %s", n->kind->name);
	else if (all_maybe(b, n))
		reverse_maybe(b, n);
	else
		reverse_op(b, n);
}

static void
reverse_block(Back *b)
{
	cx_enter(b->a->cx, b->from->ret->at);
	for NODES_REV(n, b->from)
		if (n->id < b->a->active->nnode && !b->a->active->silent[n->id])
			reverse_node(b, n);
	cx_leave(b->a->cx);
}

/* ---- seeds and results --------------------------------------------------------------------------------------------------- */

/* The gradient of the sum of a tensor that the method returns, or the one that is given. */
static void
seed_tensor(Back *b, Value *v, Value *given)
{
	const Range at = v->node->at;
	Value *no;

	if (!is_active(b->a, v))
		return;
	at_end(b);
	no = given ? given : none(b->a->g, &rt_type_tensor, at);
	if (v->type->kind == TYPE_TENSOR)
		give(b, v, row2(b, "prim_grad_seed", at, v, no), at);
	else
		give(b, v, row2(b, "prim_grad_seed_optional", at, v, no), at);
}

/* A list that is no construction gets its gradients beside it. */
static void
seed_list(Back *b, Value *list)
{
	Value *to;

	if (!is_active(b->a, list))
		return;
	to = beside(b, list);
	at_end(b);
	row2(b, "prim_grad_list_add_all", list->node->at, to, row1(b, "prim_grad_seed_list", list->node->at, list));
}

/* Gives the tensors of the result their gradients; *input: the next one that is given from outside, for tensors in tuples. */
static void
seed(Back *b, Value *v, const Type *t, int *input)
{
	Graph *g = b->a->g;
	const bool made = node_is(v->node, "prim::TupleConstruct") || node_is(v->node, "prim::ListConstruct") ||
		node_is(v->node, "prim::DictConstruct");
	const int step = node_is(v->node, "prim::DictConstruct") ? 2 : 1;
	int nothing = graph_ninputs(g);
	Value *given = NULL;
	Node *parts;
	Values *p;

	if (t->kind == TYPE_TENSOR && *input < graph_ninputs(g))
		given = graph_inputs(g)[(*input)++];
	if (gradient_rank(t) == 1) {
		seed_tensor(b, v, given);
	} else if (made) {
		for (int i = step - 1; i < v->node->nin; i += step)
			seed(b, v->node->in[i], t->kind == TYPE_TUPLE ? t->of[i] : t->of[t->n - 1], t->kind == TYPE_TUPLE ? input : &nothing);
	} else if (t->kind == TYPE_LIST && gradient_rank(t) == 2) {
		seed_list(b, v);
	} else if (t->kind == TYPE_TUPLE) {
		parts = graph_emit(g, "prim::TupleUnpack", v->node->at, 1, &v, t->n);
		p = parts_of(b, v, t->n);
		for (int i = 0; i < t->n; i++) {
			parts->out[i]->type = t->of[i];
			given = t->of[i]->kind == TYPE_TENSOR && *input < graph_ninputs(g) ? graph_inputs(g)[(*input)++] :
				none(g, &rt_type_tensor, v->node->at);
			if (is_active(b->a, v) && t->of[i]->kind == TYPE_TENSOR)
				p->at[i] = row2(b, "prim_grad_seed", v->node->at, parts->out[i], given);
		}
	} else if (is_active(b->a, v)) {
		fail_lacks(b->a->cx, v->node->at, "the gradient of a result of type %s", type_print(b->a->cx, t));
	}
}

static Value *
tuple_of(Graph *g, Value *const *v, int n, Range at)
{
	const Type **t = new(g->cx->arena, const Type *, n + 1);
	Value *tuple = graph_emit(g, "prim::TupleConstruct", at, n, v, 1)->out[0];

	for (int i = 0; i < n; i++)
		t[i] = type_unshaped(g->cx, v[i]->type);
	tuple->type = type_tuple(g->cx, t, n);
	return tuple;
}

/* Returns (result, loss, gradients) instead of the result. */
static void
put_results(Back *b, const Gradient *d)
{
	Graph *g = b->a->g;
	Node *ret = g->top->ret;
	Value *parts[3] = { ret->in[0] }, **grads = new(g->cx->arena, Value *, d->inputs.n + 1);

	graph_set_insert_end(g, g->top);
	parts[1] = d->loss ? ret->in[1] : none(g, &rt_type_tensor, ret->at);
	for (int i = 0; i < d->inputs.n; i++) {
		grads[i] = adjoint(b, graph_inputs(g)[d->inputs.at[i].input]);
		if (!grads[i])
			grads[i] = none(g, &rt_type_tensor, ret->at);
	}
	parts[2] = tuple_of(g, grads, d->inputs.n, ret->at);
	while (ret->nin)
		block_remove_output(g->top, ret->nin - 1);
	graph_add_output(g, tuple_of(g, parts, 3, ret->at));
}

/* ---- the pass --------------------------------------------------------------------------------------------------------- */

bool
autodiff(Pass *p, Graph *g)
{
	const Gradient *d = p->fn ? p->fn->gradient : NULL;
	Auto a = { .p = p, .cx = p->cx, .g = g, .pruned = { .arena = p->cx->arena } };
	Back top = { .a = &a, .from = g->top, .to = g->top };
	int input;

	if (!d || g != p->fn->prepared)
		return false;
	a.active = autodiff_form(p, g);
	a.alias = alias_db(g, p->scratch);
	graph_set_insert_end(g, g->top);
	top.front = graph_constant(g, rt_none(), g->top->ret->at)->node;
	input = d->seeds;
	if (d->loss)
		input = graph_ninputs(g);
	seed(&top, g->top->ret->in[d->loss ? 1 : 0], d->loss ? &rt_type_tensor : p->fn->schema->rets[0].type->of[0], &input);
	reverse_block(&top);
	put_results(&top, d);
	ops_compile_bodies(p->cx, g);
	pass_lost_alias(p);
	return true;
}
