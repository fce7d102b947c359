/*
 * Answers x.requires_grad and x.is_leaf for tensors that a method computes.  The runtime does not record which
 * operators computed a tensor: a tensor's flag only says whether it is a leaf that requires a gradient.  So the graph
 * computes the answer.
 *
 *    y = x @ w; y.requires_grad      ->   y.is_floating_point() or y.is_complex(), where w is a parameter
 *
 * A result requires a gradient if three conditions hold: gradients are enabled, its dtype is floating point or complex,
 * and an argument that the operator is differentiable by requires one.  An If or Loop returns a further bool for such
 * an output, unless the answer is the same on every path.  A container gets a container of bools.  For some values the
 * answer is just their flag, as if they were leaves: elements of a list or dict that is written to, elements of a
 * container that comes from a branch, a loop or an unknown place in another container, and results of tasks.
 */
#include "autodiff.h"

typedef struct Questions {
	Cx      *cx;
	Graph   *graph;
	Arena   *memory;         /* scratch memory of the pass */
	AliasDb *alias;
	Active  *active;         /* .depends: may require a gradient */
	Values   leaves;
	bool    *sure;           /* whether it requires a gradient on every path, by value id */
	/* Bool value that says whether the value requires a gradient, by value id.  Null until it is made. */
	Value  **flag;
	bool     changed;
} Questions;

static bool
is_question(const Node *n)
{
	return node_is(n, prim_requires_grad) || node_is(n, aten_is_leaf);
}

static bool
reads_container(const Node *n)
{
	return n->nin && (node_is(n, prim_ListUnpack) || node_is(n, prim_TupleUnpack) || node_is(n, prim_TupleIndex) ||
			  node_is(n, aten___getitem__));
}

static bool
is_container(const Node *n)
{
	return node_is(n, prim_ListConstruct) || node_is(n, prim_TupleConstruct) || reads_container(n);
}

static bool
makes_container(const Node *n)
{
	return n->nin && (node_is(n, prim_ListConstruct) || node_is(n, prim_TupleConstruct) ||
			  node_is(n, prim_DictConstruct));
}

/* Does n read an element of a container that is made in the graph and is not empty? */
static bool
reads_made(const Node *n)
{
	const Node *made = n;

	while (reads_container(made))
		made = made->in[0]->node;
	return made != n && makes_container(made);
}

bool
questions_any(const Block *b)
{
	for ALL_NODES(n, b)
		if (is_question(n)) {
			const Node *of = n->in[0]->node;

			if (!node_is(of, prim_GetAttr) && !node_is(of, prim_Constant) &&
			    (!is_container(of) || reads_made(of)) &&
			    !(node_is(of, prim_Param) && !of->block->owner))
				return true;
		}
	return false;
}

/* Does a gradient pass through the operator?  For an in-place operator, the answer is that of its out-of-place
 * variant. */
static bool
has_way_back(Questions *q, const Node *n)
{
	Op *op = n->op && n->op->form == OP_ALSO ? op_by_id(q->cx, n->op->base) : n->op;

	return op && !q->active->silent[n->id] &&
	       (op_gradient(q->cx, op) || op_expansion(q->cx, op) || (n->nin && node_writes_input(n, 0)));
}

/* Does the operator's result require a gradient if argument i does?  For an operator with a body, the body decides. */
static bool
goes_back(Questions *q, const Node *n, int i)
{
	Function *body = n->op ? op_expansion(q->cx, n->op) : NULL;

	if (!body || i >= graph_ninputs(body->graph))
		return active_passes(q->cx, n, i);
	return active_from(q->cx, body->graph, &graph_inputs(body->graph)[i], 1, q->memory)
		->depends[body->graph->top->ret->in[0]->id];
}

static Value *member_read(Questions *q, const Value *v);

/* Returns the node that makes the container whose element n reads.  Null if something writes to the container. */
static Node *
made_container(Questions *q, const Node *n)
{
	Value *from = reads_made(n) ? n->in[0] : NULL, *member;

	while (from && (member = member_read(q, from)))
		from = member;
	return from && makes_container(from->node) && !alias_is_written(q->alias, from) ? from->node : NULL;
}

/* Returns the member of such a container that v was read from.  Null if its index is not known. */
static Value *
member_read(Questions *q, const Value *v)
{
	const Node *n = v->node, *made = made_container(q, n);
	int64_t at = 0;

	if (!made || node_is(made, prim_DictConstruct) || (n->nin > 1 && !value_int(n->in[1], &at)))
		return NULL;
	while (n->nin == 1 && n->out[at] != v)
		at++;
	at += at < 0 ? made->nin : 0;
	return at >= 0 && at < made->nin ? made->in[at] : NULL;
}

/* Follows views from v to the tensor that owns the memory.  Stops where no gradient passes: a write into memory behind
 * a detach() does not make its result require a gradient. */
static const Value *
base_of(Questions *q, const Value *v)
{
	for (;;) {
		const Node *n = v->node;
		const Value *from = member_read(q, v);

		if (!from && n->op && n->nin && !is_container(n) && !value_is_fresh(v) && active_passes(q->cx, n, 0))
			from = n->in[0];
		if (!from || gradient_rank(from->type) != 1)
			return v;
		v = from;
	}
}

static bool
writes_base(Questions *q, const Node *n, const Value *base)
{
	bool any = false;

	for (int i = 0; i < n->nin && !any; i++)
		any = node_writes_input(n, i) && base_of(q, n->in[i]) == base;
	return any;
}

/* ---- answers that are the same on every path --------------------------------------------------------------------- */

static bool is_sure(Questions *q, const Value *v, const Node *at);

static bool
any_sure(Questions *q, const Node *n)
{
	bool any = false;

	for (int i = 0; i < n->nin; i++)
		any |= is_sure(q, n->in[i], n);
	return any;
}

static bool
all_sure(Questions *q, const Node *n)
{
	bool all = n->nin > 0;

	for (int i = 0; i < n->nin; i++)
		all &= is_sure(q, n->in[i], n) || n->in[i]->type->kind == TYPE_INT;       /* an int is an index */
	return all;
}

/* Does the operator's result require a gradient on every path?  It does if one argument requires one on every path.
 * The argument may be an element of a list. */
static bool
is_sure_result(Questions *q, const Node *n)
{
	bool any = false;

	for (int i = 0; i < n->nin && !any && has_way_back(q, n); i++)
		any = goes_back(q, n, i) && (node_is(n->in[i]->node, prim_ListConstruct) ?
			any_sure(q, n->in[i]->node) : is_sure(q, n->in[i], n));
	return any;
}

/* Was something that requires a gradient written into the memory of v, on every path to `at`? */
static bool
is_sure_written(Questions *q, const Value *v, const Node *at)
{
	const Value *base;

	if (v->type->kind != TYPE_TENSOR || !alias_has_writers(q->alias, v))
		return false;
	base = base_of(q, v);
	for ALL_NODES(n, q->graph->top)
		if (!n->nsub && n != at && n != v->node && writes_base(q, n, base) && node_is_before(n, at) &&
		    node_in_block(at, n->block) && is_sure_result(q, n))
			return true;
	return false;
}

/* Does v require a gradient where `at` reads it, on every path? */
static bool
is_sure(Questions *q, const Value *v, const Node *at)
{
	return q->sure[v->id] || is_sure_written(q, v, at);
}

static bool
is_sure_output(Questions *q, const Node *n, int i)
{
	if (node_is(n, prim_If))
		return is_sure(q, n->sub[0]->ret->in[i], n->sub[0]->ret) &&
		       is_sure(q, n->sub[1]->ret->in[i], n->sub[1]->ret);
	if (node_is(n, prim_Loop))
		return is_sure(q, n->in[2 + i], n) && is_sure(q, n->sub[0]->ret->in[1 + i], n->sub[0]->ret);
	if (node_is(n, prim_Param))
		return n->block->owner && i > 0 && is_sure_output(q, n->block->owner, i - 1);
	if (node_is(n, prim_unchecked_cast))
		return is_sure(q, n->in[0], n);
	if (is_container(n))
		return !alias_is_written(q->alias, n->nin ? n->in[0] : n->out[0]) && all_sure(q, n);
	return is_sure_result(q, n);
}

static bool
requires(const IValue *x)
{
	return x->tag == RT_TENSOR && (x->u.t->flags & RT_REQUIRES_GRAD);
}

/* Is v a parameter, a tensor that requires_grad_() was called on, or a list of parameters? */
static bool
is_leaf(const Questions *q, const Value *v)
{
	bool any = false;
	IValue known;

	for (int i = 0; i < q->leaves.n; i++)
		any |= q->leaves.at[i] == v;
	if (any || !value_constant(v, &known))
		return any;
	any = known.tag == RT_LIST && known.u.list->n > 0;
	for (int i = 0; any && i < known.u.list->n; i++)
		any = requires(&known.u.list->v[i]);
	return any || requires(&known);
}

static bool
drop_unsure(Questions *q, const Node *n)
{
	bool any = false;

	for (int i = 0; i < n->nout; i++)
		if (q->sure[n->out[i]->id] && !is_leaf(q, n->out[i]) && !is_sure_output(q, n, i)) {
			q->sure[n->out[i]->id] = false;
			any = true;
		}
	return any;
}

static bool
drop_block(Questions *q, const Block *b)
{
	bool any = drop_unsure(q, b->param);

	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			any |= drop_block(q, n->sub[i]);
		any |= drop_unsure(q, n);
	}
	return any;
}

/* Finds the greatest fixed point: starts with all values, and drops those that the remaining ones do not support. */
static void
find_sure(Questions *q)
{
	for (int i = 0; i < q->active->nvalue; i++)
		q->sure[i] = true;
	while (drop_block(q, q->graph->top))
		;
}

/* ---- answers that depend on the path ----------------------------------------------------------------------------- */

static Value *flag_of(Questions *q, Value *v, const Node *at);

static Value *
constant(Questions *q, bool yes, const Node *n)
{
	graph_set_insert_before(q->graph, q->graph->top->ret->next);
	return graph_constant(q->graph, rt_bool(yes), n->at);
}

/* Adds an output to an If: the bool that says whether output i requires a gradient.  Returns this output. */
static Value *
flag_of_if(Questions *q, Node *n, int i)
{
	for (int k = 0; k < 2; k++)
		node_add_input(n->sub[k]->ret, flag_of(q, n->sub[k]->ret->in[i], n->sub[k]->ret));
	return node_add_output(n, &rt_type_bool);
}

static void
carry_flag(Questions *q, Node *loop, int i)
{
	Node *param = loop->sub[0]->param, *ret = loop->sub[0]->ret;
	Value *first = flag_of(q, loop->in[2 + i], loop);

	node_add_input(loop, first);
	q->flag[param->out[1 + i]->id] = node_add_output(param, &rt_type_bool);
	q->flag[loop->out[i]->id] = node_add_output(loop, &rt_type_bool);
	node_add_input(ret, constant(q, false, loop));      /* reserves the input, since flag_of may carry more */
	const int at = ret->nin - 1;
	node_set_input(ret, at, flag_of(q, ret->in[1 + i], ret));
}

static Value *
flag_of_result(Questions *q, Node *n)
{
	Value *flag = NULL;

	for (int i = 0; i < n->nin; i++) {
		const bool list = node_is(n->in[i]->node, prim_ListConstruct);
		const int count = !goes_back(q, n, i) ? 0 : list ? n->in[i]->node->nin : 1;

		for (int k = 0; k < count; k++) {
			Value *of = list ? n->in[i]->node->in[k] : n->in[i];
			Value *one = gradient_rank(of->type) == 1 ? flag_of(q, of, n) : NULL;

			graph_set_insert_before(q->graph, n);
			flag = !flag ? one : !one ? flag :
				back_emit_row(q->graph, "__or___bool", n->at, 2, (Value *[2]){ flag, one });
		}
	}
	return flag ? flag : constant(q, false, n);
}

static Value *
flag_of_member(Questions *q, Value *v, Node *at)
{
	if (gradient_rank(v->type) != 1)
		return constant(q, false, at);
	if (is_sure(q, v, at) || q->active->depends[v->id] || made_container(q, v->node))
		return flag_of(q, v, at);
	graph_set_insert_before(q->graph, at);
	return back_emit_row(q->graph, "prim_requires_grad", at->at, 1, &v);
}

/* Returns the bool for an element of a container.  It is the member's own bool if the index is known.  Otherwise it is
 * read from a container of the members' bools. */
static Value *
flag_of_element(Questions *q, Value *v, const Node *made)
{
	const bool dict = node_is(made, prim_DictConstruct);
	Node *n = v->node;
	Value *member = member_read(q, v), **in = new(q->memory, Value *, made->nin), *beside;

	if (member)
		return flag_of_member(q, member, n);
	if (!node_is(n, aten___getitem__))
		return constant(q, false, n);
	for (int i = 0; i < made->nin; i++)
		in[i] = dict && i % 2 == 0 ? made->in[i] : flag_of_member(q, made->in[i], n);
	graph_set_insert_before(q->graph, n);
	beside = graph_emit(q->graph, made->kind->name, n->at, made->nin, in, 1)->out[0];
	beside->type = dict ? type_dict(q->cx, in[0]->type, &rt_type_bool) : &rt_type_list_bool;
	graph_set_insert_before(q->graph, n->next);
	return emit_schema_node(q->graph, n->op, n->at, (Value *[2]){ beside, n->in[1] }, 2)->out[0];
}

static Value *
make_flag(Questions *q, Value *v)
{
	Node *n = v->node, *owner = n->block->owner, *made = made_container(q, n);
	int i = 0;

	while (n->out[i] != v)
		i++;
	if (made)
		return flag_of_element(q, v, made);
	if (node_is(n, prim_If))
		return flag_of_if(q, n, i);
	if (node_is(n, prim_Loop) || (node_is(n, prim_Param) && owner && i > 0)) {
		carry_flag(q, node_is(n, prim_Loop) ? n : owner, node_is(n, prim_Loop) ? i : i - 1);
		return q->flag[v->id];
	}
	if (node_is(n, prim_unchecked_cast))
		return flag_of(q, n->in[0], n);
	if (!node_is(n, prim_Param) && has_way_back(q, n))
		return flag_of_result(q, n);
	graph_set_insert_before(q->graph, node_is(n, prim_Param) ? n->block->ret->next : n->next);
	return back_emit_row(q->graph, "prim_requires_grad", n->at, 1, &v);
}

/* Returns a bool value that says whether v requires a gradient where `at` reads it.  It is available wherever v is. */
static Value *
flag_of(Questions *q, Value *v, const Node *at)
{
	if (is_sure(q, v, at))
		return constant(q, true, v->node);
	if (!q->active->depends[v->id] && !made_container(q, v->node))
		return constant(q, false, v->node);
	if (!q->flag[v->id])
		q->flag[v->id] = make_flag(q, v);
	return q->flag[v->id];
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void
answer(Questions *q, Node *n)
{
	Value *v = n->in[0], *flag, *real, *complex, *yes;

	if (is_leaf(q, v) || (!is_sure(q, v, n) && (!q->active->depends[v->id] || is_container(v->node)) &&
			      (node_is(n, aten_is_leaf) || !made_container(q, v->node))))
		return;
	flag = flag_of(q, v, n);
	graph_set_insert_before(q->graph, n);
	real = back_emit_row(q->graph, "is_floating_point", n->at, 1, &v);
	complex = back_emit_row(q->graph, "tensor_is_complex", n->at, 1, &v);
	yes = back_emit_row(q->graph, "__or___bool", n->at, 2, (Value *[2]){ real, complex });
	yes = back_emit_row(q->graph, "__and___bool", n->at, 2, (Value *[2]){ flag, yes });
	if (node_is(n, aten_is_leaf))
		yes = back_emit_row(q->graph, "__not__", n->at, 1, &yes);
	value_replace_uses(n->out[0], yes);
	node_destroy(n);
	q->changed = true;
}

/* Finds parameters, and tensors that requires_grad_() was called on. */
static void
find_leaves(Questions *q, const Block *b)
{
	int64_t on;

	for ALL_NODES(n, b)
		if (node_is(n, prim_leaf)) {
			vec_push(q->cx->arena, &q->leaves, n->out[0]);
		} else if (node_is(n, aten_requires_grad_) && value_int(n->in[1], &on) && on) {
			vec_push(q->cx->arena, &q->leaves, n->in[0]);
			vec_push(q->cx->arena, &q->leaves, n->out[0]);
		}
}

bool
questions_answer(Pass *p, Graph *g)
{
	Questions q = { .cx = p->cx, .graph = g, .memory = p->scratch };

	q.changed = pass_run(p->cx, "functional", p->fn, g, p->self);
	find_leaves(&q, g->top);
	q.alias = alias_db(g, p->scratch);
	q.active = active_from(p->cx, g, q.leaves.at, q.leaves.n, p->scratch);
	q.sure = new(p->scratch, bool, q.active->nvalue);
	q.flag = new(p->scratch, Value *, q.active->nvalue);
	find_sure(&q);
	for INNER_FIRST(n, g->top)
		if (is_question(n) && n->id < q.active->nnode)
			answer(&q, n);
	return q.changed;
}
