/*
 * Peephole rules.  Each rule is a function and an entry of the table.
 *
 * A rule looks at one node and the nodes that make its inputs.  It may return a value that equals the node's output.
 * Every rule holds for all inputs, including NaN and empty or strided tensors.  A rule that would merge two memories
 * into one asks alias analysis first.
 */
#include "../opt.h"

#include <math.h>
#include <string.h>

typedef struct Peep {
	Pass    *pass;
	Graph   *graph;
	AliasDb *alias;
	bool     changed;
} Peep;

/* Returns the value that replaces the node's output.  Null if the rule does not apply. */
typedef Value *Rule(Peep *, Node *);

static Value *
constant_at(Peep *p, Node *n, IValue v)
{
	graph_set_insert_before(p->graph, n);
	return graph_constant(p->graph, v, n->at);
}

static const TensorInfo *
info_of(const Value *v)
{
	return v->type->kind == TYPE_TENSOR ? v->type->tensor : NULL;
}

/* May a and b share one memory?  They may if nothing writes to either, and not both leave the graph. */
static bool
may_share(Peep *p, const Value *a, const Value *b)
{
	return !alias_has_writers(p->alias, a) && !alias_has_writers(p->alias, b) &&
	       !(alias_escapes(p->alias, a) && alias_escapes(p->alias, b));
}

/* ---- types ------------------------------------------------------------------------------------------ */

/* unchecked_cast to a type that the value already has -> the value */
static Value *
cast(Peep *p, Node *n)
{
	return type_is_subtype(p->pass->cx, n->in[0]->type, n->out[0]->type) ? n->in[0] : NULL;
}

static bool
may_be_none(const Type *t)
{
	if (t->kind == TYPE_UNION)
		for (int i = 0; i < t->n; i++)
			if (may_be_none(t->of[i]))
				return true;
	return t->kind == TYPE_NONE || t->kind == TYPE_OPTIONAL || t->kind == TYPE_ANY || t->kind == TYPE_VAR ||
	       (t->kind == TYPE_TENSOR && t->tensor && t->tensor->undefined == 1);
}

/* unwrap of a value that is not Optional -> the value */
static Value *
unwrap(Peep *p, Node *n)
{
	(void)p;
	return may_be_none(n->in[0]->type) ? NULL : n->in[0];
}

/* x is None, if the type of x decides it */
static Value *
is_none(Peep *p, Node *n)
{
	const bool negated = node_is(n, aten___isnot__), a = value_is_none(n->in[0]), b = value_is_none(n->in[1]);

	if (a && b)
		return constant_at(p, n, rt_bool(!negated));
	if ((a && !may_be_none(n->in[1]->type)) || (b && !may_be_none(n->in[0]->type)))
		return constant_at(p, n, rt_bool(negated));
	return NULL;
}

/* detach_ of a copy of a constant, as torch.export emits for torch.tensor([1, 2]) -> the copy, which requires no
 * gradient */
static Value *
detached_already(Peep *p, Node *n)
{
	const Node *copy = n->in[0]->node;
	IValue c;

	(void)p;
	return node_is(copy, aten_lift_fresh_copy) && value_constant(copy->in[0], &c) && c.tag == RT_TENSOR &&
	       !(c.u.t->flags & RT_REQUIRES_GRAD) ? n->in[0] : NULL;
}

/* ---- control flow ------------------------------------------------------------------------------------- */

/* not not x -> x */
static Value *
not_not(Peep *p, Node *n)
{
	const Node *inner = n->in[0]->node;

	(void)p;
	return node_is(inner, aten___not__) && inner->in[0]->type->kind == TYPE_BOOL ? inner->in[0] : NULL;
}

/* If(c) that returns True from its first branch and False from its second -> c */
static Value *
same_as_condition(Peep *p, Node *n)
{
	int64_t x, y;

	(void)p;
	if (n->nout != 1 || n->out[0]->type->kind != TYPE_BOOL)
		return NULL;
	if (!value_int(if_then(n)->ret->in[0], &x) || !value_int(if_else(n)->ret->in[0], &y) || !x || y)
		return NULL;
	/* The branches must contain only constants. */
	for (int b = 0; b < 2; b++)
		for NODES(m, n->sub[b])
			if (!node_is(m, prim_Constant))
				return NULL;
	return if_cond(n);
}

/* ---- numbers --------------------------------------------------------------------------------------------- */

/* Int(NumToTensor(i)) -> i; likewise Float and Bool */
static Value *
number_and_back(Peep *p, Node *n)
{
	const Node *inner = n->in[0]->node;

	(void)p;
	if (!node_is(inner, prim_NumToTensor) || inner->in[0]->type != n->out[0]->type)
		return NULL;
	return inner->in[0];
}

/* int(i), float(f), bool(b) of a value that has this type -> the value */
static Value *
same_number(Peep *p, Node *n)
{
	const Type *t = n->in[0]->type;

	if (t == n->out[0]->type && (t->kind == TYPE_INT || t->kind == TYPE_FLOAT || t->kind == TYPE_BOOL))
		return n->in[0];
	return t->kind == TYPE_TENSOR ? number_and_back(p, n) : NULL;
}

static bool
is_whole(const Value *v)
{
	return v->type->kind == TYPE_INT || v->type->kind == TYPE_BOOL;
}

/* Is v this number?  -0.0 does not count as 0. */
static bool
equals_number(const Value *v, double number)
{
	IValue c;

	return value_constant(v, &c) && (c.tag == RT_INT || c.tag == RT_DOUBLE) && rt_number(c) == number &&
	       !signbit(rt_number(c)) == !signbit(number);
}

/* For ints: i + 0, i - 0, i * 1, i // 1, 0 + i, 1 * i -> i.  For floats only f * 1, f / 1, f - 0 and f + -0.0 -> f,
 * since f + 0 turns -0 into 0. */
static Value *
neutral(Peep *p, Node *n)
{
	const bool product = !node_is(n, aten_add) && !node_is(n, aten_sub), add = node_is(n, aten_add);
	const Value *x = n->in[0], *y = n->in[1];

	(void)p;
	if (x->type != n->out[0]->type || (x->type->kind != TYPE_INT && x->type->kind != TYPE_FLOAT) ||
	    (x->type->kind == TYPE_FLOAT && node_is(n, aten_floordiv)))
		return NULL;
	if (x->type->kind == TYPE_FLOAT ? equals_number(y, add ? -0.0 : product)
					: y->type == x->type && equals_number(y, product))
		return n->in[0];
	if (x->type->kind == TYPE_INT && y->type == x->type && (add || node_is(n, aten_mul)) &&
	    equals_number(x, product))
		return n->in[1];
	return NULL;
}

/* i == i and the like, of ints and bools only: a NaN is not equal to itself */
static Value *
compared_to_itself(Peep *p, Node *n)
{
	if (n->in[0] != n->in[1] || !is_whole(n->in[0]))
		return NULL;
	return constant_at(p, n, rt_bool(node_is(n, aten_eq) || node_is(n, aten_le) || node_is(n, aten_ge)));
}

/* not a < b -> a >= b for ints, if nothing else uses the comparison.  not a == b -> a != b, also for floats. */
static Value *
not_compared(Peep *p, Node *n)
{
	static const Symbol negated[][2] = {
		{ aten_lt, aten_ge }, { aten_ge, aten_lt }, { aten_gt, aten_le },
		{ aten_le, aten_gt }, { aten_eq, aten_ne }, { aten_ne, aten_eq },
	};
	Node *c = n->in[0]->node, *made;

	if (c->nin != 2 || n->in[0]->uses.n > 1 || c->in[0]->type != c->in[1]->type || c->block != n->block)
		return NULL;
	for (size_t i = 0; i < sizeof negated / sizeof *negated; i++) {
		const bool equality = i >= 4;

		if (!node_is(c, negated[i][0]) ||
		    !(is_whole(c->in[0]) || (equality && c->in[0]->type->kind == TYPE_FLOAT)))
			continue;
		graph_set_insert_before(p->graph, n);
		made = graph_emit(p->graph, negated[i][1]->name, n->at, 2, c->in, 1);
		made->op = op_of_inputs(p->pass->cx, negated[i][1]->name, c->in, 2, 1);
		made->out[0]->type = &rt_type_bool;
		made->inlined = n->inlined;
		return made->out[0];
	}
	return NULL;
}

/* ---- tensors ------------------------------------------------------------------------------------------------ */

/* A batch norm with known statistics -> aten::batch_norm, which other passes handle.  Only the first result may be
 * used. */
static Value *
inference_norm(Peep *p, Node *n)
{
	const bool says = node_is(n, aten_native_batch_norm);
	Value *in[9];
	int64_t training = 0;
	Node *made;

	if (says && (!value_int(n->in[5], &training) || training))
		return NULL;
	for (int i = 0; i < 5; i++)
		in[i] = n->in[i];
	in[5] = constant_at(p, n, rt_bool(false));
	in[6] = n->in[says ? 6 : 5];
	in[7] = n->in[says ? 7 : 6];
	in[8] = constant_at(p, n, rt_bool(false));
	made = graph_emit_op(p->graph, "aten::batch_norm", n->at, 9, in, n->out[0]->type)->node;
	made->inlined = n->inlined;
	return made->out[0];
}

/* Dropout that is not in training mode, or has probability 0 -> its input, which PyTorch's kernel returns, too */
static Value *
dropout(Peep *p, Node *n)
{
	const Value *train = n->in[2];
	int64_t on;
	IValue c;

	(void)p;
	if (!value_constant(n->in[1], &c) || c.tag != RT_DOUBLE || !(c.u.f >= 0 && c.u.f <= 1))
		return NULL;
	return c.u.f == 0 || (value_int(train, &on) && !on) ? n->in[0] : NULL;
}

static bool
is_of_category(const Value *v, char category)
{
	const TensorInfo *t = info_of(v);

	return t && t->dtype >= 0 && rt_dtypes[t->dtype].category == category;
}

static bool
is_contiguous(const Type *t)
{
	int64_t strides[RT_MAX_RANK];

	if (!type_is_complete(t))
		return false;
	rt_contiguous_strides(t->tensor->rank, t->tensor->dims, strides);
	for (int i = 0; i < t->tensor->rank; i++)
		if (strides[i] != t->tensor->strides[i] && t->tensor->dims[i] != 1)
			return false;
	return true;
}

/* Does x have the same layout as the node's result, which x would replace?  A new result has no gaps, but x may have
 * some. */
static bool
keeps_layout(const Node *n, const Value *x)
{
	return is_contiguous(x->type) || (type_is_complete(x->type) && n->out[0]->type == x->type);
}

/* Does x keep its dtype in an operation with this number?  Ints do with an int, floats with any number. */
static bool
keeps_dtype(const Value *x, const Value *number)
{
	return is_of_category(x, 'F') || (is_of_category(x, 'I') && number->type->kind == TYPE_INT);
}

/* Is v this constant real number, in a tensor without dims, while x has dims?  Then a float x keeps its dtype. */
static bool
holds(const Value *x, const Value *v, double number)
{
	IValue c;

	return info_of(x)->rank > 0 && value_constant(v, &c) && c.tag == RT_TENSOR && !c.u.t->ndim && !c.u.t->quant &&
	       tensor_has_data(c.u.t) && strchr("FIB", rt_dtypes[c.u.t->dtype].category) &&
	       rt_load_f64(c.u.t->dtype, rt_data(c.u.t)) == number;
}

/* x.mul_(1), x.div_(1) of floats -> x, if they cannot raise and x is known to require no gradient.  Models scale
 * weights in this way for the layers that need it. */
static Value *
scaled_by_one(Peep *p, Node *n)
{
	Value *x = n->in[0];

	(void)p;
	if (x->type->kind != TYPE_TENSOR || !is_of_category(x, 'F') || x->type->tensor->grad != 0 ||
	    !is_contiguous(x->type) || !(equals_number(n->in[1], 1) || holds(x, n->in[1], 1)))
		return NULL;
	return x;
}

/* x * 1 -> x, and x / 1 of floats */
static Value *
times_one(Peep *p, Node *n)
{
	const Value *x = n->in[0];

	if (x->type->kind != TYPE_TENSOR)
		return neutral(p, n);
	if (!keeps_dtype(x, n->in[1]) || (node_is(n, aten_div) && !is_of_category(x, 'F')) ||
	    !equals_number(n->in[1], 1) || !keeps_layout(n, x) || !may_share(p, x, n->out[0]))
		return NULL;
	return n->in[0];
}

/* x - 0 -> x, and x + 0 of ints.  Not x + 0 of floats, and not x - -0: both turn -0 into 0. */
static Value *
plus_nothing(Peep *p, Node *n)
{
	const Value *x = n->in[0];
	const bool floats = is_of_category(x, 'F');
	IValue alpha;

	if (n->nin == 2)
		return neutral(p, n);
	if (n->nin != 3 || !keeps_dtype(x, n->in[1]) || !value_constant(n->in[2], &alpha) || !keeps_layout(n, x))
		return NULL;
	if (!(alpha.tag == RT_DOUBLE ? floats && alpha.u.f > 0 && alpha.u.f < 1e30
				     : alpha.tag == RT_INT && alpha.u.i > 0))
		return NULL;
	if (!equals_number(n->in[1], floats && node_is(n, aten_add) ? -0.0 : 0) || !may_share(p, x, n->out[0]))
		return NULL;
	return n->in[0];
}

static bool
is_constant_int(const Value *v, int64_t *i)
{
	IValue c;

	return value_constant(v, &c) && c.tag == RT_INT && (*i = c.u.i, true);
}

static bool
is_dim(int64_t *dim, int rank)
{
	*dim += *dim < 0 ? rank : 0;
	return *dim >= 0 && *dim < rank;
}

/* Finds, for each dim of the node's result, the dim of its input that it comes from.  Returns false if they are not
 * known. */
static bool
permutation(const Node *n, int rank, int *from)
{
	int64_t a = 0, b = 1;
	IValue dims;

	for (int i = 0; i < rank; i++)
		from[i] = i;
	if (node_is(n, aten_permute)) {
		if (!value_constant(n->in[1], &dims) || dims.tag != RT_LIST || dims.u.list->n != rank)
			return false;
		for (int i = 0; i < rank; i++) {
			a = dims.u.list->v[i].u.i;
			if (!is_dim(&a, rank))
				return false;
			from[i] = (int)a;
		}
		return true;
	}
	if (node_is(n, aten_t) && rank < 2)
		return true;
	if (node_is(n, aten_t) ? rank > 2
				  : !node_is(n, aten_transpose) || !is_constant_int(n->in[1], &a) ||
					    !is_constant_int(n->in[2], &b))
		return false;
	if (!is_dim(&a, rank) || !is_dim(&b, rank))
		return false;
	from[a] = (int)b;
	from[b] = (int)a;
	return true;
}

/* permutations that cancel -> their input: t(t(x)), permute(transpose(x)) */
static Value *
permuted_back(Peep *p, Node *n)
{
	const Node *inner = n->in[0]->node;
	const TensorInfo *t = inner->nin && inner->in[0]->type->kind == TYPE_TENSOR ? info_of(inner->in[0]) : NULL;
	int first[RT_MAX_RANK], second[RT_MAX_RANK];

	(void)p;
	if (!t || t->rank < 0 || !permutation(inner, t->rank, first) || !permutation(n, t->rank, second))
		return NULL;
	for (int i = 0; i < t->rank; i++)
		if (first[second[i]] != i)
			return NULL;
	return inner->in[0];
}

/* A view with all sizes and strides of its input -> the input.  Not if elements share an address: a write to such a
 * view raises, but copying the input onto itself does not. */
static Value *
same_view(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);

	if (!type_is_complete(n->in[0]->type) || n->out[0]->type != n->in[0]->type)
		return permuted_back(p, n);
	for (int i = 0; i < t->rank; i++)
		if (!t->dims[i] || (t->dims[i] > 1 && !t->strides[i]))
			return NULL;
	return n->in[0];
}

/* contiguous(x) of a contiguous x -> x */
static Value *
contiguous(Peep *p, Node *n)
{
	(void)p;
	return equals_number(n->in[1], 0) && is_contiguous(n->in[0]->type) ? n->in[0] : NULL;
}

/* expand to the sizes that x has -> x */
static Value *
expand_same(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);
	IValue size;

	(void)p;
	if (!t || t->rank < 0 || !t->dims || !value_constant(n->in[1], &size) || size.tag != RT_LIST ||
	    size.u.list->n != t->rank)
		return NULL;
	for (int i = 0; i < t->rank; i++) {
		const IValue to = size.u.list->v[i];

		if (to.tag != RT_INT || (to.u.i != -1 && (t->dims[i] < 0 || to.u.i != t->dims[i])))
			return NULL;
	}
	return n->in[0];
}

/* x.type_as(y) -> x, if both have the same known dtype and device */
static Value *
type_as_same(Peep *p, Node *n)
{
	const TensorInfo *a = info_of(n->in[0]), *b = info_of(n->in[1]);

	(void)p;
	if (!a || !b || a->dtype < 0 || a->dtype != b->dtype || a->device < 0 || a->device != b->device)
		return NULL;
	return n->in[0];
}

/* Is n x.to(dtype), without a forced copy or another memory format? */
static bool
converts(const Node *n, int64_t *to)
{
	static const char *const nothing[] = { "memory_format", "device", "layout", "pin_memory" };
	const Value *copy, *dtype, *v;
	int64_t copies;

	if (!node_is(n, aten_to) || !(dtype = node_arg(n, "dtype")) || !is_constant_int(dtype, to))
		return false;
	if (!(copy = node_arg(n, "copy")) || !value_int(copy, &copies) || copies)
		return false;
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
		if ((v = node_arg(n, nothing[i])) && !value_is_none(v))
			return false;
	return true;
}

/* to the dtype that x has -> x */
static Value *
to_same(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);
	int64_t to;

	(void)p;
	return t && t->dtype >= 0 && converts(n, &to) && to == t->dtype ? n->in[0] : NULL;
}

/* x.to(wider float dtype).to(dtype of x) -> x.  The wider dtype represents all numbers of x's dtype. */
static Value *
to_and_back(Peep *p, Node *n)
{
	const Node *there = n->in[0]->node;
	int64_t to, between;
	Value *x;

	if (!converts(n, &to) || !converts(there, &between))
		return NULL;
	x = there->in[0];
	if (!is_of_category(x, 'F') || info_of(x)->dtype != to || !is_of_category(n->in[0], 'F') ||
	    rt_promote((RtDtype)to, (RtDtype)between) != (RtDtype)between)
		return NULL;
	return keeps_layout(n, x) && may_share(p, x, n->out[0]) ? x : NULL;
}

/* relu(relu(x)) -> relu(x), and the like */
static Value *
done_already(Peep *p, Node *n)
{
	Value *x = n->in[0];

	return x->node->kind == n->kind && x->type->kind == TYPE_TENSOR && may_share(p, x, n->out[0]) ? x : NULL;
}

static Value *
dim(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);

	return t && t->rank >= 0 ? constant_at(p, n, rt_int(t->rank)) : NULL;
}

static Value *
dtype(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);

	return t && t->dtype >= 0 ? constant_at(p, n, rt_int(t->dtype)) : NULL;
}

static Value *
is_floating_point(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);

	return t && t->dtype >= 0 ? constant_at(p, n, rt_bool(is_of_category(n->in[0], 'F'))) : NULL;
}

static Value *
is_complex(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);

	return t && t->dtype >= 0 ? constant_at(p, n, rt_bool(is_of_category(n->in[0], 'C'))) : NULL;
}

/* A conjugate that only pointwise kernels read -> an operator that computes it, so that no lazy view has to be
 * copied */
static Value *
conjugate(Peep *p, Node *n)
{
	Value *const in[] = { n->in[0] };

	if (alias_has_writers(p->alias, n->out[0]))
		return NULL;
	for (int i = 0; i < n->out[0]->uses.n; i++) {
		const Op *reader = n->out[0]->uses.at[i].node->op;

		if (!reader || reader->form != OP_MAP)
			return NULL;
	}
	graph_set_insert_before(p->graph, n);
	return graph_emit_op(p->graph, "aten::_conj_physical", n->at, 1, in, n->out[0]->type);
}

/* size(x, d) -> a number.  size(x) -> a list, if all sizes are known and nothing changes the list. */
static Value *
size(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);
	IValue dims[RT_MAX_RANK];
	int64_t d;

	if (!t || t->rank < 0 || !t->dims)
		return NULL;
	if (n->nin == 2) {
		if (!value_int(n->in[1], &d) || d >= t->rank || d < -t->rank)
			return NULL;
		d += d < 0 ? t->rank : 0;
		return t->dims[d] >= 0 ? constant_at(p, n, rt_int(t->dims[d])) : NULL;
	}
	if (alias_has_writers(p->alias, n->out[0]) || alias_escapes(p->alias, n->out[0]))
		return NULL;
	for (int i = 0; i < t->rank; i++) {
		if (t->dims[i] < 0)
			return NULL;
		dims[i] = rt_int(t->dims[i]);
	}
	return constant_at(p, n, value_list(p->pass->cx, &rt_type_int, dims, t->rank));
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct { Symbol kind; int nin; Rule *rule; } rules[] = {      /* nin 0 stands for any number of inputs */
	{ prim_unchecked_cast, 1, cast },
	{ prim_unchecked_unwrap_optional, 1, unwrap },
	{ aten__unwrap_optional, 1, unwrap },
	{ aten___is__, 2, is_none },
	{ aten___isnot__, 2, is_none },
	{ aten___not__, 1, not_not },
	{ aten___not__, 1, not_compared },
	{ prim_If, 1, same_as_condition },
	{ aten_detach_, 1, detached_already },
	{ aten__native_batch_norm_legit_no_training, 7, inference_norm },
	{ aten_native_batch_norm, 8, inference_norm },
	{ aten_mul, 2, times_one },
	{ aten_div, 2, times_one },
	{ aten_floordiv, 2, neutral },
	{ aten_add, 0, plus_nothing },
	{ aten_sub, 0, plus_nothing },
	{ aten_eq, 2, compared_to_itself },
	{ aten_ne, 2, compared_to_itself },
	{ aten_lt, 2, compared_to_itself },
	{ aten_le, 2, compared_to_itself },
	{ aten_gt, 2, compared_to_itself },
	{ aten_ge, 2, compared_to_itself },
	{ aten_t, 1, same_view },
	{ aten_transpose, 3, same_view },
	{ aten_permute, 2, same_view },
	{ aten_view, 2, same_view },
	{ aten_reshape, 2, same_view },
	{ aten_flatten, 3, same_view },
	{ aten_slice, 5, same_view },
	{ aten_contiguous, 2, contiguous },
	{ aten_expand, 3, expand_same },
	{ aten_type_as, 2, type_as_same },
	{ aten_to, 0, to_same },
	{ aten_to, 0, to_and_back },
	{ aten_dim, 1, dim },
	{ prim_dtype, 1, dtype },
	{ aten_is_floating_point, 1, is_floating_point },
	{ aten_is_complex, 1, is_complex },
	{ aten_size, 0, size },
	{ aten_conj, 1, conjugate },
	{ aten__conj, 1, conjugate },
};

/* Rules for the operators with a trait. */
static const struct { OpTrait trait; int nin; Rule *rule; } trait_rules[] = {
	{ TRAIT_CONVERTS, 1, same_number },
	{ TRAIT_IMPLICIT, 1, number_and_back },
	{ TRAIT_DROPS, 3, dropout },
	{ TRAIT_IDEMPOTENT, 1, done_already },
};

/* Replaces uses of values of type None by a None constant. */
static void
take_none(Peep *p, Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		if (n->out[i]->type->kind != TYPE_NONE || !n->out[i]->uses.n || node_is(n, prim_Constant))
			continue;
		if (!pass_may(p->pass))
			return;
		pass_note(p->pass, n, "it is None");
		graph_set_insert_before(p->graph, n);
		value_replace_uses(n->out[i], graph_constant(p->graph, rt_none(), n->at));
		p->changed = true;
	}
}

/* Are all results of n but the first unused? */
static bool
has_one_result(const Node *n)
{
	for (int i = 1; i < n->nout; i++)
		if (n->out[i]->uses.n)
			return false;
	return n->nout > 0;
}

/* Applies a rule for nodes with nin inputs.  0 stands for any number.  Returns true if n needs no further rule. */
static bool
try_rule(Peep *p, Node *n, int nin, Rule *rule)
{
	Value *with;

	if ((nin && nin != n->nin) || !has_one_result(n) || (!n->out[0]->uses.n && !node_writes(n)) ||
	    !(with = rule(p, n)))
		return false;
	if (!pass_may(p->pass))
		return true;
	pass_note(p->pass, n, "replaced");
	value_replace_uses(n->out[0], with);
	if (node_writes(n))                      /* a rule for a write applies only if the write changes nothing */
		node_destroy(n);
	p->changed = true;
	return true;
}

static void
apply(Peep *p, Node *n)
{
	take_none(p, n);
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (node_is(n, rules[i].kind) && try_rule(p, n, rules[i].nin, rules[i].rule))
			return;
	for (size_t i = 0; i < sizeof trait_rules / sizeof *trait_rules; i++)
		if (op_has(n->op, trait_rules[i].trait) &&
		    try_rule(p, n, trait_rules[i].nin, trait_rules[i].rule))
			return;
	if (node_writes(n) && (node_computes(n, aten_mul) || node_computes(n, aten_div)))
		try_rule(p, n, 2, scaled_by_one);
}

bool
peep(Pass *p, Graph *g)
{
	Peep peep = { p, g, pass_alias(p, g), false };

	for INNER_FIRST(n, g->top)
		apply(&peep, n);
	return peep.changed;
}
