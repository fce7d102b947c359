/*
 * Peephole rules: a row of the table and a function each.
 *
 * A rule looks at one node and the nodes that make its inputs, and may name a value that is equal to the node's output.
 * Only rules that hold for every input are here, NaN, empty and strided tensors included.  A rule that would make two
 * names of one memory where there were two memories asks alias analysis first.
 */
#include "opt.h"

#include <string.h>

typedef struct Peep {
	Pass    *p;
	Graph   *g;
	AliasDb *alias;
	bool     changed;
} Peep;

typedef Value *Rule(Peep *, Node *);     /* the value to be used instead, or null */

static Value *
constant_at(Peep *p, Node *n, IValue v)
{
	graph_set_insert_before(p->g, n);
	return graph_constant(p->g, v, n->at);
}

static const TensorInfo *
info_of(const Value *v)
{
	return v->type->kind == TYPE_TENSOR ? v->type->tensor : NULL;
}

/* May two memories become one?  Only when nobody writes, and not both can be told apart outside. */
static bool
may_share(Peep *p, const Value *a, const Value *b)
{
	return !alias_has_writers(p->alias, a) && !alias_has_writers(p->alias, b) &&
	       !(alias_escapes(p->alias, a) && alias_escapes(p->alias, b));
}

/* ---- types ------------------------------------------------------------------------------------------ */

/* unchecked_cast to a type that the value has anyway */
static Value *
cast(Peep *p, Node *n)
{
	return type_is_subtype(p->p->cx, n->in[0]->type, n->out[0]->type) ? n->in[0] : NULL;
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

/* unwrap of what is no Optional */
static Value *
unwrap(Peep *p, Node *n)
{
	(void)p;
	return may_be_none(n->in[0]->type) ? NULL : n->in[0];
}

/* x is None, where x's type says it */
static Value *
is_none(Peep *p, Node *n)
{
	const bool negated = node_is(n, "aten::__isnot__"), a = value_is_none(n->in[0]), b = value_is_none(n->in[1]);

	if (a && b)
		return constant_at(p, n, rt_bool(!negated));
	if ((a && !may_be_none(n->in[1]->type)) || (b && !may_be_none(n->in[0]->type)))
		return constant_at(p, n, rt_bool(negated));
	return NULL;
}

/* ---- control flow ------------------------------------------------------------------------------------- */

/* not not x */
static Value *
not_not(Peep *p, Node *n)
{
	const Node *inner = n->in[0]->node;

	(void)p;
	return node_is(inner, "aten::__not__") && inner->in[0]->type->kind == TYPE_BOOL ? inner->in[0] : NULL;
}

/* If(c) with True in one branch and False in the other, for the first output: c */
static Value *
same_as_condition(Peep *p, Node *n)
{
	int64_t x, y;

	(void)p;
	if (n->nout != 1 || n->out[0]->type->kind != TYPE_BOOL)
		return NULL;
	if (!value_int(if_then(n)->ret->in[0], &x) || !value_int(if_else(n)->ret->in[0], &y) || !x || y)
		return NULL;
	/* Nodes of its branches may do more than make these constants. */
	for (int b = 0; b < 2; b++)
		for NODES(m, n->sub[b])
			if (!node_is(m, "prim::Constant"))
				return NULL;
	return if_cond(n);
}

/* ---- numbers --------------------------------------------------------------------------------------------- */

/* Int(NumToTensor(i)) -> i, and so with Float and Bool */
static Value *
number_and_back(Peep *p, Node *n)
{
	const Node *inner = n->in[0]->node;

	(void)p;
	if (!node_is(inner, "prim::NumToTensor") || inner->in[0]->type != n->out[0]->type)
		return NULL;
	return inner->in[0];
}

/* int(i), float(f), bool(b) of what it is already */
static Value *
same_number(Peep *p, Node *n)
{
	const Type *t = n->in[0]->type;

	if (t == n->out[0]->type && (t->kind == TYPE_INT || t->kind == TYPE_FLOAT || t->kind == TYPE_BOOL))
		return n->in[0];
	return t->kind == TYPE_TENSOR ? number_and_back(p, n) : NULL;
}

/* ---- tensors ------------------------------------------------------------------------------------------------ */

/* dropout that does not train is its input, and the kernel returns it as such */
static Value *
dropout(Peep *p, Node *n)
{
	const Value *train = node_arg(n, "train");
	int64_t on;

	(void)p;
	return train && value_int(train, &on) && !on ? n->in[0] : NULL;
}

static bool
is_number(const Value *v, double number)
{
	IValue c;

	return value_constant(v, &c) && (c.tag == RT_INT || c.tag == RT_DOUBLE) && rt_number(c) == number;
}

/* Is it a tensor of floating type, so that a number does not change its dtype? */
static bool
is_floating(const Value *v)
{
	const TensorInfo *t = info_of(v);

	return t && t->dtype >= 0 && rt_dtypes[t->dtype].category == 'F';
}

/* x * 1, x / 1 -> x */
static Value *
times_one(Peep *p, Node *n)
{
	if (n->nin != 2 || !is_floating(n->in[0]) || !is_number(n->in[1], 1) || !may_share(p, n->in[0], n->out[0]))
		return NULL;
	return n->in[0];
}

/* x - 0 -> x; not x + 0, which makes 0 of -0 */
static Value *
minus_zero(Peep *p, Node *n)
{
	if (n->nin != 3 || !is_floating(n->in[0]) || !is_number(n->in[1], 0) || !may_share(p, n->in[0], n->out[0]))
		return NULL;
	return n->in[0];
}

/* permutations of two dims that cancel: t(t(x)) */
static Value *
transpose_twice(Peep *p, Node *n)
{
	const Node *inner = n->in[0]->node;
	const TensorInfo *t;

	(void)p;
	if (!node_is(inner, "aten::t"))
		return NULL;
	t = info_of(inner->in[0]);
	return t && t->rank >= 0 && t->rank <= 2 ? inner->in[0] : NULL;
}

/* expand to the sizes that it has */
static Value *
expand_same(Peep *p, Node *n)
{
	const TensorInfo *t = info_of(n->in[0]);
	IValue size;

	(void)p;
	if (!t || t->rank < 0 || !t->dims || !value_constant(n->in[1], &size) || size.tag != RT_LIST ||
	    size.u.list->n != t->rank)
		return NULL;
	for (int i = 0; i < t->rank; i++)
		if (t->dims[i] < 0 || size.u.list->v[i].tag != RT_INT || size.u.list->v[i].u.i != t->dims[i])
			return NULL;
	return n->in[0];
}

/* x.type_as(y), both of one known dtype and device */
static Value *
type_as_same(Peep *p, Node *n)
{
	const TensorInfo *a = info_of(n->in[0]), *b = info_of(n->in[1]);

	(void)p;
	if (!a || !b || a->dtype < 0 || a->dtype != b->dtype || a->device < 0 || a->device != b->device)
		return NULL;
	return n->in[0];
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

	return t && t->dtype >= 0 ? constant_at(p, n, rt_bool(is_floating(n->in[0]))) : NULL;
}

/* size(x, d); size(x) when all are known and nobody changes the list */
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
	return constant_at(p, n, value_list(p->p->cx, &rt_type_int, dims, t->rank));
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

static const struct { const char *kind; int nin; Rule *rule; } rules[] = {      /* nin 0: any */
	{ "prim::unchecked_cast", 1, cast },
	{ "prim::unchecked_unwrap_optional", 1, unwrap },
	{ "aten::_unwrap_optional", 1, unwrap },
	{ "aten::__is__", 2, is_none },
	{ "aten::__isnot__", 2, is_none },
	{ "aten::__not__", 1, not_not },
	{ "prim::If", 1, same_as_condition },
	{ "aten::Int", 1, same_number },
	{ "aten::Float", 1, same_number },
	{ "aten::Bool", 1, same_number },
	{ "aten::IntImplicit", 1, number_and_back },
	{ "aten::FloatImplicit", 1, number_and_back },
	{ "aten::ScalarImplicit", 1, number_and_back },
	{ "aten::dropout", 3, dropout },
	{ "aten::feature_dropout", 3, dropout },
	{ "aten::alpha_dropout", 3, dropout },
	{ "aten::mul", 2, times_one },
	{ "aten::div", 2, times_one },
	{ "aten::sub", 3, minus_zero },
	{ "aten::t", 1, transpose_twice },
	{ "aten::expand", 3, expand_same },
	{ "aten::type_as", 2, type_as_same },
	{ "aten::dim", 1, dim },
	{ "prim::dtype", 1, dtype },
	{ "aten::is_floating_point", 1, is_floating_point },
	{ "aten::size", 0, size },
};

static void
apply(Peep *p, Node *n)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		Value *with;

		if (!node_is(n, rules[i].kind) || (rules[i].nin && rules[i].nin != n->nin) || n->nout != 1 ||
		    !n->out[0]->uses.n)
			continue;
		with = rules[i].rule(p, n);
		if (!with || !pass_may(p->p))
			return;
		pass_note(p->p, n, "replaced");
		value_replace_uses(n->out[0], with);
		p->changed = true;
		return;
	}
}

static void
walk(Peep *p, Block *b)
{
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			walk(p, n->sub[i]);
		apply(p, n);
	}
}

bool
peep(Pass *p, Graph *g)
{
	Peep peep = { p, g, pass_alias(p, g), false };

	walk(&peep, g->top);
	return peep.changed;
}
