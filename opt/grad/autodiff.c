/*
 * Reverse-mode differentiation, ahead of time: appends the backward pass to the graph.
 *
 *    y = aten::mul(x, w)            y = aten::mul(x, w)
 *    return (y)              ->     g = prim::grad_seed(y, out)
 *                                   gw = aten::mul(g, x)           the text of the row's gradient, inlined
 *                                   return ((y, None, (gw)))
 *
 * Nodes are visited from the last to the first.  A node with a gradient of one of its results computes gradients of its
 * arguments.  Gradients that an argument gets from several nodes are added.  Control flow is mirrored: the gradient of
 * an If runs through the branch that was taken, that of a Loop through the trips in reverse order.  The backward pass
 * may need values from inside a block.  An If returns them as further outputs.  A Loop collects them in lists with an
 * element for each trip.  A gradient that may be undefined has the type Tensor?; only gradients of graph inputs and of
 * optional values have it.
 *
 * A value that something writes to is copied while it is still as the node has seen it.  A list of tensors that changes
 * has a list of gradients (prim::grad_list), which the backward pass keeps in step with it.
 */
#include "autodiff.h"

#include <string.h>

/* ---- operators -------------------------------------------------------------------------------------------------- */

/* Returns a copy of the gradient function's graph that computes only the outputs in `need`.  The others become None. */
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
			node_set_input(g->top->ret, i, back_none(g, &rt_type_tensor, (Range){ 0 }));
	pass_run(a->cx, "dce", NULL, g, rt_none());
	map_put(&a->pruned, key, g);
	return g;
}

/* Sets need[i] to whether the i-th differentiable argument needs a gradient.  Returns the number of those that do. */
static int
needed(const Auto *a, const Node *n, const Schema *s, bool *need)
{
	int at = 0, count = 0;

	for (int i = 0; i < s->nargs; i++) {
		if (!gradient_rank(s->args[i].type))
			continue;
		need[at] = i < n->nin && back_is_active(a, n->in[i]);
		count += need[at++];
	}
	return count;
}

/* Returns the gradient of a list of tensors, as a list. */
static Value *
list_gradient(Back *b, Value *list, Node *n)
{
	Graph *g = b->diff->graph;
	Value *got, *all, **v;
	Values *parts;
	Node *items;

	if (!back_is_unpacked(b->diff, list)) {
		got = back_beside(b, list);
		all = back_capture_at(b, list, n, true);
		back_at_end(b);
		return back_row2(b, "prim_grad_list_full", n->at, got, all);
	}
	parts = back_parts_of(b, list, 0);
	v = new(b->diff->cx->arena, Value *, parts->n + 1);
	items = NULL;
	for (int i = 0; i < parts->n; i++) {
		v[i] = parts->at[i];
		if (!v[i] || !back_is_definite(v[i])) {
			if (!items) {
				all = back_capture_at(b, list, n, true);
				back_at_end(b);
				items = graph_emit(g, "prim::ListUnpack", n->at, 1, &all, parts->n);
			}
			v[i] = v[i] ? back_row2(b, "prim_grad_or_zeros", n->at, v[i], items->out[i])
				    : back_zeros_like(g, items->out[i], n->at);
		}
	}
	back_at_end(b);
	return back_emit_list(g, v, parts->n, &rt_type_tensor, n->at);
}

/* Binds the inputs that a gradient function uses: arguments of n, gradients of its results, and its results. */
static void
bind_inputs(Back *b, Node *n, const Schema *s, Graph *f, Map *values)
{
	int at = 0;

	for (int i = 0; i < s->nargs; i++, at++)
		if (graph_inputs(f)[at]->uses.n)
			graph_set_cloned(values, graph_inputs(f)[at], back_capture_at(b, n->in[i], n, false));
	for (int i = 0; i < s->nrets; i++) {
		if (!gradient_rank(s->rets[i].type))
			continue;
		if (graph_inputs(f)[at]->uses.n)
			graph_set_cloned(values, graph_inputs(f)[at], gradient_rank(s->rets[i].type) == 2 ?
				list_gradient(b, n->out[i], n) : back_adjoint_or_zeros(b, n->out[i], n));
		at++;
	}
	for (int i = 0; i < s->nrets; i++, at++)
		if (graph_inputs(f)[at]->uses.n)
			graph_set_cloned(values, graph_inputs(f)[at], back_capture_at(b, n->out[i], n, true));
}

/* Does n have an argument that may be a complex number? */
static bool
has_complex(const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i]->type->kind == TYPE_COMPLEX || n->in[i]->type->kind == TYPE_NUMBER)
			return true;
	return false;
}

/* Reduces a gradient to the argument's sizes and dtype, since a pointwise operator may have broadcast and promoted
 * it. */
static Value *
fitted(Back *b, Node *n, int arg, Value *g, int tensors)
{
	Value *like;

	if (n->op->form != OP_MAP || (tensors < 2 && !has_complex(n)))
		return g;
	like = back_capture_at(b, n->in[arg], n, false);
	back_at_end(b);
	return back_row2(b, "prim_grad_like", n->at, g, back_cast_to(b->diff->graph, like, &rt_type_tensor, n->at));
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
		if (!back_is_active(b->diff, n->in[i]) || of->type->kind == TYPE_NONE || value_is_none(of))
			continue;
		g = graph_cloned(values, of);
		back_at_end(b);
		g = back_cast_to(b->diff->graph, g ? g : of, gradient_rank(s->args[i].type) == 2 ?
			type_list(b->diff->cx, &rt_type_tensor) :
			n->in[i]->type->kind == TYPE_TENSOR ? &rt_type_tensor :
			type_unshaped(b->diff->cx, (g ? g : of)->type), n->at);
		back_give(b, n->in[i], fitted(b, n, i, g, tensors), n->at);
	}
}

/* Fails because n has no gradient.  In a block that may not run, emits a node that fails at run time instead. */
static void
lacks_gradient(Back *b, const Node *n)
{
	const char *what = arena_printf(b->diff->cx->arena, "the gradient of %s", n->kind->name);

	if (!b->up)
		fail_lacks(b->diff->cx, n->at, "%s", what);
	back_at_end(b);
	back_row1(b, "prim_lacks", n->at, graph_constant(b->diff->graph, value_str(b->diff->cx, what, -1), n->at));
}

static void
reverse_op(Back *b, Node *n)
{
	Auto *a = b->diff;
	const Schema *s = node_schema(n);
	bool *need = new(a->cx->arena, bool, s->nargs + 1);
	Map values = { .arena = a->cx->arena };
	Function *f;
	Graph *g;

	if (!needed(a, n, s, need))
		return;
	if (!(f = op_gradient(a->cx, n->op))) {
		lacks_gradient(b, n);
		return;
	}
	if (n->nin != s->nargs)
		BUG("autodiff: %s has %d inputs", n->kind->name, n->nin);
	g = pruned(a, f, need);
	bind_inputs(b, n, s, g, &values);
	back_at_end(b);
	insert_copy(a->graph, g, n, &values);
	give_arguments(b, n, s, g, &values);
}

static bool
all_maybe(Back *b, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		const Value *v = n->out[i], *g = back_adjoint(b, v);

		if ((g && back_is_definite(g)) || (v->id < b->nparts && b->parts[v->id].n))
			return false;
	}
	return true;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static void
reverse_node(Back *b, Node *n)
{
	if (node_is(n, prim_ListUnpack) || node_is(n, prim_TupleUnpack))
		reverse_unpack(b, n);
	else if (node_is(n, prim_TupleIndex))
		reverse_index(b, n);
	else if (node_is(n, prim_TupleConstruct))
		reverse_tuple(b, n);
	else if (node_is(n, prim_ListConstruct))
		reverse_construct(b, n);
	else if (node_is(n, prim_unchecked_cast))
		reverse_cast(b, n);
	else if (back_list_write(n))
		reverse_write(b, n);
	else if (node_is(n, aten___getitem__) && n->in[0]->type->kind == TYPE_LIST)
		reverse_getitem(b, n);
	else if ((node_is(n, aten_slice) || node_is(n, aten_list)) && n->in[0]->type->kind == TYPE_LIST)
		reverse_part(b, n);
	else if (node_is(n, aten_add) && n->in[0]->type->kind == TYPE_LIST)
		reverse_concat(b, n);
	else if (n->op && back_is_strange(b, n))
		fail_lacks(b->diff->cx, n->at, "a gradient through %s of a list or dict", n->kind->name);
	else if (node_is(n, prim_If))
		reverse_if(b, n);
	else if (node_is(n, prim_Loop))
		reverse_loop(b, n);
	else if (!back_has_gradient(b, n))
		return;
	else if (!n->op)
		fail_lacks(b->diff->cx, n->at, "a gradient through %s", n->kind->name);
	else if (all_maybe(b, n))
		reverse_maybe(b, n);
	else
		reverse_op(b, n);
}

/* ---- seeds and results ------------------------------------------------------------------------------------------- */

/* Seeds a tensor that the method returns with the given gradient, or with ones. */
static void
seed_tensor(Back *b, Value *v, Value *given)
{
	const Range at = v->node->at;
	Value *no;

	if (!back_is_active(b->diff, v))
		return;
	back_at_end(b);
	no = given ? given : back_none(b->diff->graph, &rt_type_tensor, at);
	if (v->type->kind == TYPE_TENSOR)
		back_give(b, v, back_row2(b, "prim_grad_seed", at, v, no), at);
	else
		back_give(b, v, back_row2(b, "prim_grad_seed_optional", at, v, no), at);
}

/* Seeds a list that no ListConstruct makes: adds all given gradients to its list of gradients. */
static void
seed_list(Back *b, Value *list)
{
	Value *to;

	if (!back_is_active(b->diff, list))
		return;
	to = back_beside(b, list);
	back_at_end(b);
	back_row2(b, "prim_grad_list_add_all", list->node->at, to,
		  back_row1(b, "prim_grad_seed_list", list->node->at, list));
}

/* Seeds the tensors of the result. *input is the index of the graph input with the next gradient from the caller.  Only
 * a result that is a tensor or a tuple of tensors has such inputs. */
static void
seed(Back *b, Value *v, const Type *t, int *input)
{
	Graph *g = b->diff->graph;
	const bool made = node_is(v->node, prim_TupleConstruct) || node_is(v->node, prim_ListConstruct) ||
		node_is(v->node, prim_DictConstruct);
	const int step = node_is(v->node, prim_DictConstruct) ? 2 : 1;
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
			seed(b, v->node->in[i], t->kind == TYPE_TUPLE ? t->of[i] : t->of[t->n - 1],
			     t->kind == TYPE_TUPLE ? input : &nothing);
	} else if (t->kind == TYPE_LIST && gradient_rank(t) == 2) {
		seed_list(b, v);
	} else if (t->kind == TYPE_TUPLE) {
		parts = graph_emit(g, "prim::TupleUnpack", v->node->at, 1, &v, t->n);
		p = back_parts_of(b, v, t->n);
		for (int i = 0; i < t->n; i++) {
			parts->out[i]->type = t->of[i];
			given = t->of[i]->kind == TYPE_TENSOR && *input < graph_ninputs(g)
					? graph_inputs(g)[(*input)++]
					: back_none(g, &rt_type_tensor, v->node->at);
			if (back_is_active(b->diff, v) && t->of[i]->kind == TYPE_TENSOR)
				p->at[i] = back_row2(b, "prim_grad_seed", v->node->at, parts->out[i], given);
		}
	} else if (back_is_active(b->diff, v)) {
		fail_lacks(b->diff->cx, v->node->at, "the gradient of a result of type %s", type_print(b->diff->cx, t));
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

/* Makes the graph return (result, loss, gradients) instead of the result. */
static void
put_results(Back *b, const Gradient *d)
{
	Graph *g = b->diff->graph;
	Node *ret = g->top->ret;
	Value *parts[3] = { ret->in[0] }, **grads = new(g->cx->arena, Value *, d->inputs.n + 1);

	graph_set_insert_end(g, g->top);
	parts[1] = d->loss ? ret->in[1] : back_none(g, &rt_type_tensor, ret->at);
	for (int i = 0; i < d->inputs.n; i++) {
		grads[i] = back_adjoint(b, graph_inputs(g)[d->inputs.at[i].input]);
		if (!grads[i])
			grads[i] = back_none(g, &rt_type_tensor, ret->at);
	}
	parts[2] = tuple_of(g, grads, d->inputs.n, ret->at);
	while (ret->nin)
		block_remove_output(g->top, ret->nin - 1);
	graph_add_output(g, tuple_of(g, parts, 3, ret->at));
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

bool
back_begin(Auto *a, Back *b)
{
	Node *call = (Node *)(uintptr_t)a->pass->fn->gradient->call;
	Block *at;

	a->reverse = reverse_node;
	a->active = autodiff_form(a->pass, a->graph);
	if (call && !call->nin)
		return false;
	at = call ? call->block : a->graph->top;
	a->alias = freeze_alias(a->pass, a->graph);
	back_find_writers(a, a->graph->top);
	a->nothing = back_find_nothing(a->graph, a->pass->scratch);
	check_lists(a);
	*b = (Back){ .diff = a, .from = at, .to = at, .stop = call };
	back_at_end(b);
	b->front = graph_constant(a->graph, rt_none(), a->graph->top->ret->at)->node;
	return true;
}

bool
autodiff(Pass *p, Graph *g)
{
	const Gradient *d = p->fn ? p->fn->gradient : NULL;
	Auto a = { .pass = p, .cx = p->cx, .graph = g, .pruned = { .arena = p->cx->arena } };
	Back top;
	int input;

	if (!d || d->call || g != p->fn->prepared)
		return false;
	back_begin(&a, &top);
	input = d->loss ? graph_ninputs(g) : d->seeds;
	seed(&top, g->top->ret->in[d->loss ? 1 : 0], d->loss ? &rt_type_tensor : p->fn->schema->rets[0].type->of[0],
	     &input);
	reverse_block(&top);
	put_results(&top, d);
	g->differentiated = true;
	ops_compile_bodies(p->cx, g);
	pass_lost_alias(p);
	return true;
}
