/*
 * Fuses attention: a softmax between two matrix products becomes one node, whose kernel never holds the whole matrix of
 * scores.
 *
 *   s = matmul(q, k'); s = div(s, 8.); s = add(s, mask); p = softmax(s, -1); y = matmul(p, v)
 *      ->   y = prim::attention(q, k, v, mask, 0.125)
 *   y = matmul(v, p')   ->   y = prim::attention(q, k, v', ..)'
 *
 * Scale and mask may be missing.  where(condition, s, -inf) gives a mask, too.  No other node may use the values in
 * between.  No node may write to the inputs, since the new node reads them later.  All are float32 with known sizes.
 * The result must have the type that the second product had.
 */
#include "../opt.h"

#include <math.h>
#include <string.h>

typedef struct Match {
	Value *q, *kt, *v, *mask;        /* kt: keys as the matrix product reads them, (.., inner, n) */
	/* Bool tensor: the mask is -infinity where it equals `hides`, else 0.  Null if there is none. */
	Value *condition;
	bool   hides;
	const TensorInfo *scores;
	double scale;
	bool   turned;                   /* whether y = matmul(v, p'), so that attention to v' computes y' */
} Match;

static bool
is_product(const Node *n)
{
	return n->op && n->op->lowering == LOWER_MATMUL && !node_is(n, aten_mm);
}

static bool
is_matrix(const Value *v)
{
	return type_is_complete(v->type) && v->type->tensor->dtype == RT_f32 && v->type->tensor->rank >= 2;
}

/* Number of users that the graph needs.  Other users are left over from passes, and dce removes them later. */
static int
live_users(const Value *v)
{
	int n = 0;

	for (int i = 0; i < v->uses.n; i++) {
		const Node *user = v->uses.at[i].node;
		bool lives = !user->nout || node_has_effect(user);

		for (int k = 0; k < user->nout; k++)
			lives |= user->out[k]->uses.n > 0;
		n += lives;
	}
	return n;
}

/* Is v computed in this block, in memory of its own, and used only once? */
static bool
is_between(AliasDb *alias, const Value *v, const Node *end)
{
	return live_users(v) == 1 && v->node->block == end->block && v->node->op && is_matrix(v) &&
	       !alias_has_writers(alias, v);
}

static bool
same_sizes(const Value *a, const Value *b)
{
	const TensorInfo *x = a->type->tensor, *y = b->type->tensor;

	return x->rank == y->rank && !memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims);
}

static bool
number(const Value *v, double *x)
{
	IValue c;

	if (!value_constant(v, &c) || (c.tag != RT_INT && c.tag != RT_DOUBLE))
		return false;
	*x = rt_number(c);
	return true;
}

/* softmax(x, last dim) -> x.  Null if p is no such softmax, or has another dtype than x. */
static Value *
softmax_of(const Value *p)
{
	const Node *n = p->node;
	int64_t dim;

	if (!n->op || n->op->lowering != LOWER_SOFTMAX || n->nin != 3 || !value_int(n->in[1], &dim) ||
	    !value_is_none(n->in[2]))
		return NULL;
	return dim == -1 || dim == p->type->tensor->rank - 1 ? n->in[0] : NULL;
}

/* If s is a sum with a mask, sets the mask and returns the other summand.  Else returns s. */
static Value *
take_mask(AliasDb *alias, Value *s, const Node *end, Match *m)
{
	const Node *n = s->node;
	int64_t one;

	if (!node_is(n, aten_add) || n->nin != 3 || !value_int(n->in[2], &one) || one != 1)
		return s;
	for (int i = 0; i < 2; i++) {
		Value *mask = n->in[1 - i];

		if (!is_between(alias, n->in[i], end) || !same_sizes(n->in[i], s) || !type_is_complete(mask->type) ||
		    mask->type->tensor->dtype != RT_f32)
			continue;
		m->mask = mask;
		return n->in[i];
	}
	return s;
}

/* Reads the value of a constant number or one-element tensor. */
static bool
filler(const Value *v, double *x)
{
	IValue c;

	if (number(v, x))
		return true;
	if (!value_constant(v, &c) || c.tag != RT_TENSOR || c.u.t->dtype != RT_f32 || rt_numel(c.u.t) != 1 ||
	    !tensor_has_data(c.u.t))
		return false;
	*x = *(const float *)rt_data(c.u.t);
	return true;
}

/* Is the condition a constant that leaves at least one score in each row? */
static bool
leaves_some(const Value *condition, bool hides)
{
	const bool *at;
	RtTensor *plain;
	IValue c;
	bool each = true;

	if (!value_constant(condition, &c) || !c.u.t->ndim)
		return false;
	plain = rt_contiguous(cx_rt(condition->node->block->graph->cx), c.u.t);
	at = (const bool *)rt_data(plain);
	for (int64_t i = 0, n = c.u.t->dims[c.u.t->ndim - 1]; n && i < rt_numel(plain); i += n)
		each &= memchr(at + i, !hides, (size_t)n) != NULL;
	rt_tensor_release(plain);
	return each;
}

/* Do scores that v replaces get no weight?  A large negative number acts like -infinity if other scores are left. */
static bool
hides_scores(const Value *v, const Value *condition, bool hides)
{
	const double large = -1e8;               /* lower than any real score */
	double x;

	return filler(v, &x) && (x == (double)-INFINITY || (x <= large && leaves_some(condition, hides)));
}

/* where(condition, s, -inf) or where(condition, -inf, s) -> s.  Sets the condition. */
static Value *
take_condition(AliasDb *alias, Value *s, const Node *end, Match *m)
{
	const Node *n = s->node;

	if (!node_is(n, aten_where) || n->nin != 3 || !type_is_complete(n->in[0]->type) ||
	    n->in[0]->type->tensor->dtype != RT_b8)
		return s;
	for (int i = 1; i <= 2; i++) {
		Value *left = n->in[3 - i];

		if (!hides_scores(n->in[i], n->in[0], i == 1) || !is_between(alias, left, end) || !same_sizes(left, s))
			continue;
		m->condition = n->in[0];
		m->hides = i == 1;
		return left;
	}
	return s;
}

/* s * c or s / c -> s.  Multiplies the match's scale by c or 1 / c. */
static Value *
take_scale(AliasDb *alias, Value *s, const Node *end, Match *m)
{
	const Node *n = s->node;
	const bool divided = node_is(n, aten_div);
	double c;

	if ((!divided && !node_is(n, aten_mul)) || n->nin != 2 || !number(n->in[1], &c) || c == 0 || c - c != 0 ||
	    !is_between(alias, n->in[0], end))
		return s;
	m->scale = divided ? 1 / c : c;
	return n->in[0];
}

/* Returns the tensor whose last two dims v exchanges.  Null if v is no such view. */
static Value *
turned_of(const Value *v)
{
	const Node *n = v->node;
	const TensorInfo *y = v->type->tensor, *x;
	const int a = y->rank - 2, b = y->rank - 1;

	if ((!node_is(n, aten_transpose) && !node_is(n, aten_permute) && !node_is(n, aten_swapaxes)) ||
	    !is_matrix(n->in[0]))
		return NULL;
	x = n->in[0]->type->tensor;
	return x->rank == y->rank && !memcmp(x->dims, y->dims, (size_t)a * sizeof *x->dims) &&
	       !memcmp(x->strides, y->strides, (size_t)a * sizeof *x->strides) && x->dims[a] == y->dims[b] &&
	       x->dims[b] == y->dims[a] && x->strides[a] == y->strides[b] && x->strides[b] == y->strides[a] ?
	       n->in[0] : NULL;
}

/* Returns the weights p of the second product, which is matmul(p, v) or matmul(v, p').  Null if it is neither. */
static Value *
weights_of(AliasDb *alias, const Node *n, Match *m)
{
	Value *turned;

	if (is_between(alias, n->in[0], n) && softmax_of(n->in[0])) {
		m->v = n->in[1];
		return n->in[0];
	}
	turned = is_matrix(n->in[1]) && live_users(n->in[1]) == 1 ? turned_of(n->in[1]) : NULL;
	if (!turned || !is_between(alias, turned, n) || !softmax_of(turned))
		return NULL;
	m->v = n->in[0];
	m->turned = true;
	return turned;
}

static bool
match(AliasDb *alias, const Node *n, Match *m)
{
	Value *s, *weights;

	*m = (Match){ .scale = 1 };
	if (!is_product(n) || !is_matrix(n->out[0]) || !is_matrix(n->in[0]) || !is_matrix(n->in[1]) ||
	    !(weights = weights_of(alias, n, m)) || !is_between(alias, s = softmax_of(weights), n))
		return false;
	m->scores = weights->type->tensor;
	s = take_condition(alias, take_mask(alias, s, n, m), n, m);
	if (m->mask && m->condition)
		return false;
	s = take_scale(alias, s, n, m);
	if (!is_product(s->node) || !is_between(alias, s, n) || !same_sizes(s, weights))
		return false;
	m->q = s->node->in[0];
	m->kt = s->node->in[1];
	if (!is_matrix(m->q) || !is_matrix(m->kt) || m->q->type->tensor->rank != m->kt->type->tensor->rank)
		return false;
	return !alias_has_writers(alias, m->q) && !alias_has_writers(alias, m->kt) && !alias_has_writers(alias, m->v) &&
	       !(m->mask && alias_has_writers(alias, m->mask)) &&
	       !(m->condition && alias_has_writers(alias, m->condition));
}

/* Returns the mask for a constant condition: -inf where scores are hidden, 0 elsewhere. */
static Value *
constant_mask(Graph *g, const RtTensor *condition, bool hides, Range at)
{
	RtCx *rt = cx_rt(g->cx);
	RtTensor *plain = rt_contiguous(rt, (RtTensor *)(uintptr_t)condition),
		 *out = rt_tensor_new(rt, RT_f32, condition->ndim, condition->dims);

	for (int64_t i = 0; i < rt_numel(condition); i++)
		((float *)rt_data(out))[i] = ((const bool *)rt_data(plain))[i] == hides ? -INFINITY : 0;
	rt_tensor_release(plain);
	return graph_constant(g, rt_of(out), at);
}

/* Returns the type of a contiguous float tensor with the sizes of `sizes`. */
static const Type *
contiguous_type(Graph *g, const Type *sizes)
{
	TensorInfo info = *sizes->tensor;
	int64_t strides[RT_MAX_RANK], step = 1;

	for (int i = info.rank - 1; i >= 0; i--) {
		strides[i] = step;
		step *= info.dims[i] > 1 ? info.dims[i] : 1;
	}
	info.strides = strides;
	info.dtype = RT_f32;
	return type_tensor(g->cx, &info);
}

/* Emits where(condition, 0, -inf), or where(condition, -inf, 0) if `hides`. */
static Value *
computed_mask(Graph *g, const Match *m, Range at)
{
	Value *in[] = { m->condition, graph_constant(g, rt_double(m->hides ? (double)-INFINITY : 0), at),
			graph_constant(g, rt_double(m->hides ? 0 : (double)-INFINITY), at) };

	return graph_emit_op(g, "aten::where.Scalar", at, 3, in, contiguous_type(g, m->condition->type));
}

static int64_t
elements(const TensorInfo *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->rank; i++)
		n *= t->dims[i];
	return n;
}

/* Is the mask read for several heads or batches, and are the elements of its rows not consecutive?  Examples are biases
 * of heads that a matrix product computed. */
static bool
is_scattered(const TensorInfo *mask, const TensorInfo *scores)
{
	const int last = mask->rank - 1;

	return last >= 0 && mask->dims[last] > 1 && mask->strides[last] > 1 && 2 * elements(mask) <= elements(scores);
}

static Value *
mask_of(Graph *g, const Match *m, Range at)
{
	IValue c;

	if (m->mask && is_scattered(m->mask->type->tensor, m->scores)) {
		Value *in[] = { m->mask, graph_constant(g, rt_int(0), at) };

		return graph_emit_op(g, "aten::contiguous", at, 2, in, contiguous_type(g, m->mask->type));
	}
	if (!m->condition)
		return m->mask ? m->mask : graph_constant(g, rt_none(), at);
	return value_constant(m->condition, &c) ? constant_mask(g, c.u.t, m->hides, at) : computed_mask(g, m, at);
}

/* Returns the type with its last two dims exchanged. */
static const Type *
exchanged_type(Graph *g, const Type *type)
{
	TensorInfo info = *type->tensor;
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	const int a = info.rank - 2, b = info.rank - 1;

	memcpy(dims, info.dims, (size_t)info.rank * sizeof *dims);
	memcpy(strides, info.strides, (size_t)info.rank * sizeof *strides);
	dims[a] = info.dims[b];
	dims[b] = info.dims[a];
	strides[a] = info.strides[b];
	strides[b] = info.strides[a];
	info.dims = dims;
	info.strides = strides;
	return type_tensor(g->cx, &info);
}

static Value *
exchanged(Graph *g, Value *v, Range at)
{
	Value *in[3] = { v, graph_constant(g, rt_int(-2), at), graph_constant(g, rt_int(-1), at) };

	return graph_emit_op(g, "aten::transpose.int", at, 3, in, exchanged_type(g, v->type));
}

static void
destroy_unused(Value *made, const Value *given)
{
	if (made != given && !node_is(made->node, prim_Constant))
		node_destroy(made->node);
}

/* Emits y from the attention's result y', contiguous like the product's result. */
static Value *
turned_back(Graph *g, Value *y, Range at)
{
	Value *in[] = { exchanged(g, y, at), graph_constant(g, rt_int(0), at) };

	return graph_emit_op(g, "aten::contiguous", at, 2, in, contiguous_type(g, in[0]->type));
}

static bool
rewrite(Pass *p, Graph *g, Node *n, const Match *m)
{
	Value *in[5] = { m->q, NULL, m->v, NULL, NULL }, *y;
	const Type *type = n->out[0]->type;
	Node *a;

	graph_set_insert_before(g, n);
	in[1] = exchanged(g, m->kt, n->at);
	if (m->turned) {
		in[2] = exchanged(g, m->v, n->at);
		type = contiguous_type(g, exchanged_type(g, type));
	}
	in[3] = mask_of(g, m, n->at);
	in[4] = graph_constant(g, rt_double(m->scale), n->at);
	a = graph_emit_op(g, "prim::attention", n->at, 5, in, &rt_type_tensor)->node;
	a->inlined = n->inlined;
	if (!known_gives(p->cx, a, type) || !pass_may(p)) {
		node_destroy(a);
		node_destroy(in[1]->node);
		destroy_unused(in[2], m->v);
		destroy_unused(in[3], m->mask);
		return false;
	}
	pass_note(p, n, "a softmax between two products");
	a->out[0]->type = type;
	y = m->turned ? turned_back(g, a->out[0], n->at) : a->out[0];
	y->type = n->out[0]->type;
	y->name = n->out[0]->name;
	value_replace_uses(n->out[0], y);
	node_destroy(n);
	return true;
}

bool
attention(Pass *p, Graph *g)
{
	bool changed = false;
	Match m;

	for INNER_FIRST(n, g->top)
		if (match(pass_alias(p, g), n, &m) && rewrite(p, g, n, &m)) {
			pass_lost_alias(p);
			changed = true;
		}
	return changed;
}
