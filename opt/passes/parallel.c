/*
 * Replaces a sum of two convolutions, or matrix products, of one input by one with the sum of their weights.
 *
 *   conv(x, v, b) + conv(x, w, c)   ->   conv(x, v + w, b + c)
 *
 * Networks that are trained with parallel branches are saved in this form (RepVGG, MobileOne).  The joined layer does
 * at most half of the multiplications.  A smaller window with correspondingly less padding is added to the middle of
 * the larger one: 1 x 1 to 3 x 3.  The sum may write to its first operand, or to a clone of it (functional.c).  Weights
 * are added in double and rounded once.  Nothing is changed if a sum is then not finite, or if something else reads the
 * results.
 */
#include "../opt.h"

/* dims of weights: outputs, inputs, then those of the window, of which WINDOW is the first */
enum { MOST_DIMS = 5, WINDOW = 2 };

/* Reads a constant list of n ints.  A list of one int stands for n equal ones. */
static bool
constant_list(const Value *v, int n, int64_t *out)
{
	IValue c;

	if (!v || !value_constant(v, &c) || c.tag != RT_LIST || (c.u.list->n != n && c.u.list->n != 1))
		return false;
	for (int i = 0; i < n; i++) {
		const IValue one = c.u.list->v[c.u.list->n == 1 ? 0 : i];

		if (one.tag != RT_INT)
			return false;
		out[i] = one.u.i;
	}
	return true;
}

static bool
same_input(const Value *a, const Value *b)
{
	return a == b || (node_is(a->node, prim_Constant) && node_is(b->node, prim_Constant) &&
			  node_equal(a->node, b->node));
}

/* Are the nodes equal, except for weights and biases?  Unless same_window, window and padding may differ, too. */
static bool
are_alike(const Outputs *o, const Outputs *other, bool same_window)
{
	const Value *padding = node_arg(o->node, "padding");

	if (o->node->kind != other->node->kind || o->node->nin != other->node->nin || o->w->ndim != other->w->ndim ||
	    o->w->ndim > MOST_DIMS || o->w->dtype != other->w->dtype || o->axis != other->axis)
		return false;
	for (int i = 0; i < o->node->nin; i++)
		if (i != o->weight_at && i != o->bias_at && (same_window || o->node->in[i] != padding) &&
		    !same_input(o->node->in[i], other->node->in[i]))
			return false;
	for (int i = 0; i < o->w->ndim; i++)
		if (o->w->dims[i] != other->w->dims[i] && (same_window || i < WINDOW))
			return false;
	return true;
}

/* Finds the offset of other's window in that of o.  Returns false if it extends beyond o's window, or if other
 * arguments differ. */
static bool
lies_in(const Outputs *o, const Outputs *other, int64_t *at)
{
	const int n = o->w->ndim - WINDOW;
	int64_t pad[2][MOST_DIMS], dilation[MOST_DIMS];

	for (int i = 0; i < MOST_DIMS; i++)
		at[i] = 0;
	if (are_alike(o, other, true))
		return true;
	if (o->last || o->axis || !are_alike(o, other, false) ||
	    !constant_list(node_arg(o->node, "padding"), n, pad[0]) ||
	    !constant_list(node_arg(other->node, "padding"), n, pad[1]) ||
	    !constant_list(node_arg(o->node, "dilation"), n, dilation))
		return false;
	for (int i = 0; i < n; i++) {
		const int64_t wider = o->w->dims[WINDOW + i] - other->w->dims[WINDOW + i];

		at[WINDOW + i] = pad[0][i] - pad[1][i];
		if (wider < 0 || 2 * at[WINDOW + i] != wider || dilation[i] != 1)
			return false;
	}
	return true;
}

/* Computes sum += by * t.  sum has sizes dims; the first element of t is added to the one at index `at`. */
static void
add_scaled(RtCx *rt, double *sum, const int64_t *dims, const RtTensor *t, const int64_t *at, double by)
{
	RtTensor *plain = rt_contiguous(rt, (RtTensor *)(uintptr_t)t);
	const int64_t n = rt_numel(plain);

	for (int64_t i = 0; i < n; i++) {
		int64_t rest = i, to = 0, step = 1;

		for (int d = t->ndim - 1; d >= 0; d--) {
			to += (rest % t->dims[d] + at[d]) * step;
			rest /= t->dims[d];
			step *= dims[d];
		}
		sum[to] += by * rt_load_f64(plain->dtype, rt_data(plain) + i * rt_dtypes[plain->dtype].bytes);
	}
	rt_tensor_release(plain);
}

/* Returns by[0] * a + by[1] * b, with a's sizes.  b may be null.  Null if an element is not finite. */
static RtTensor *
sum_of(Reweigh *r, const RtTensor *a, const RtTensor *b, const int64_t *at, const double *by)
{
	static const int64_t begin[MOST_DIMS];
	RtCx *rt = cx_rt(r->pass->cx);
	RtTensor *out = rt_tensor_new(rt, (RtDtype)a->dtype, a->ndim, a->dims);
	const int64_t n = rt_numel(a);
	double *sum = new(r->pass->scratch, double, n + 1);
	bool finite = true;

	add_scaled(rt, sum, a->dims, a, begin, by[0]);
	if (b)
		add_scaled(rt, sum, a->dims, b, at, by[1]);
	for (int64_t i = 0; i < n; i++)
		finite &= reweigh_store(out, i, sum[i]);
	return finite ? out : NULL;
}

/* Gives o's node the sum of both weights, and replaces n by this node. */
static bool
join_layers(Reweigh *r, const Outputs *o, const Outputs *other, Node *n, const double *by)
{
	const double back[2] = { by[1], by[0] };
	Node *const copy = n->in[0]->node;
	int64_t at[MOST_DIMS];
	RtTensor *w, *b = NULL;

	if (!lies_in(o, other, at) || !(w = sum_of(r, o->w, other->w, at, by)))
		return false;
	for (int i = 0; i < MOST_DIMS; i++)
		at[i] = 0;
	if ((o->b || other->b) &&
	    !(b = o->b ? sum_of(r, o->b, other->b, at, by) : sum_of(r, other->b, NULL, at, back)))
		return false;
	if (!pass_may(r->pass))
		return false;
	pass_note(r->pass, n, "%s of the same input has the weights of both", o->node->kind->name);
	graph_set_insert_before(r->graph, o->node);
	node_set_input(o->node, o->weight_at, graph_constant(r->graph, rt_of(w), n->at));
	if (b)
		node_set_input(o->node, o->bias_at, graph_constant(r->graph, rt_of(b), n->at));
	value_replace_uses(n->out[0], o->node->out[0]);
	node_destroy(n);
	if (node_is(copy, aten_clone) && !copy->out[0]->uses.n)       /* removed, since it would count as a reader */
		node_destroy(copy);
	return true;
}

/* Returns the factors of both operands of a sum.  False if n is no sum. */
static bool
is_sum(const Node *n, double *by)
{
	const bool minus = node_computes(n, aten_sub);
	const Value *v = n->op ? node_arg(n, "alpha") : NULL;
	IValue alpha;

	if ((!minus && !node_computes(n, aten_add)) || n->nin < 2 ||
	    n->in[0]->type->kind != TYPE_TENSOR || n->in[1]->type->kind != TYPE_TENSOR)
		return false;
	if (v && (!value_constant(v, &alpha) || (alpha.tag != RT_INT && alpha.tag != RT_DOUBLE)))
		return false;
	by[0] = 1;
	by[1] = (v ? rt_number(alpha) : 1) * (minus ? -1 : 1);
	return true;
}

/* Finds operand i of a sum.  If n writes to a clone, the operand is the clone's input.  Returns false if something else
 * reads the operand. */
static bool
side_of(const Reweigh *r, const Node *n, int i, Outputs *o)
{
	const Value *v = n->in[i];

	if (node_writes(n) && !i && node_is(v->node, aten_clone) && reweigh_only_reader(v, n)) {
		n = v->node;
		v = n->in[0];
	}
	return reweigh_outputs(r, v->node, o) && reweigh_only_reader(v, n);
}

static bool
fold_sum(Reweigh *r, Node *n)
{
	Outputs a, b;
	double by[2];

	if (!is_sum(n, by) || !side_of(r, n, 0, &a) || !side_of(r, n, 1, &b) || a.node == b.node)
		return false;
	for (int i = 0; i < a.node->nin; i++)
		if (i != a.weight_at && i != a.bias_at && alias_has_writers(r->alias, a.node->in[i]))
			return false;
	return join_layers(r, &a, &b, n, by) || join_layers(r, &b, &a, n, (double[2]){ by[1], by[0] });
}

bool
parallel(Pass *p, Graph *g)
{
	return reweigh_graph(p, g, fold_sum);
}
