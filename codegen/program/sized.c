/* codegen/program/sized.c - values of known sizes, and comparisons of sizes on all samples */
#include "proof.h"

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

bool
sized_value(const Prover *p, const Size *s, int sample, int64_t *out)
{
	int64_t symbol[SIZE_ATOMS];

	for (int i = 0; i < p->samples->nsymbol; i++)
		symbol[i] = p->samples->atom[i][sample];
	return size_value(s, symbol, out);
}

static void
demand(Prover *p, DemandKind kind, const Size *s)
{
	Proof *proof = p->proof;

	for (int i = 0; i < proof->demand.n; i++)
		if (proof->demand.at[i].kind == kind && proof->demand.at[i].size == s)
			return;
	vec_push(p->arena, &proof->demand, ((Demand){ kind, s }));
}

bool
prove_equal(Prover *p, const Size *a, const Size *b, bool *is)
{
	const Size *rest = size_minus(p->sizes, a, b);
	int equal = 0;
	int64_t v;

	*is = a == b;
	if (size_lost(rest))
		return false;
	if (a == b)
		return true;
	for (int k = 0; k < p->samples->nsample; k++) {
		if (!sized_value(p, rest, k, &v))
			return false;
		equal += v == 0;
	}
	*is = equal > 0;
	if (equal && equal < p->samples->nsample)
		return false;
	if (equal)
		demand(p, DEMAND_ZERO, rest);
	else if (!size_at_least(p->sizes, rest, 1) && !size_at_most(p->sizes, rest, -1))
		demand(p, DEMAND_NOT_ZERO, rest);
	return true;
}

bool
is_equal_on_samples(const Prover *p, const Size *a, const Size *b)
{
	bool equal = true;
	int64_t x, y;

	for (int k = 0; k < p->samples->nsample && equal; k++)
		equal = sized_value(p, a, k, &x) && sized_value(p, b, k, &y) && x == y;
	return equal;
}

bool
prove_at_least(Prover *p, const Size *s, int64_t least, bool *is)
{
	const Size *over = size_minus(p->sizes, s, size_number(p->sizes, least)),
		   *under = size_minus(p->sizes, size_number(p->sizes, least - 1), s);
	int above = 0;
	int64_t v;

	if (size_lost(over) || size_lost(under))
		return false;
	for (int k = 0; k < p->samples->nsample; k++) {
		if (!sized_value(p, over, k, &v))
			return false;
		above += v >= 0;
	}
	*is = above > 0;
	if (above && above < p->samples->nsample)
		return false;
	if (!size_at_least(p->sizes, *is ? over : under, 0))
		demand(p, DEMAND_NATURAL, *is ? over : under);
	return true;
}

bool
must_equal(Prover *p, const Size *a, const Size *b)
{
	bool is;

	return prove_equal(p, a, b, &is) && is;
}

bool
must_be_at_least(Prover *p, const Size *s, int64_t least)
{
	bool is;

	return prove_at_least(p, s, least, &is) && is;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

Sized *
sized_new(Prover *p)
{
	return new(p->arena, Sized, 1);
}

Sized *
sized_number(Prover *p, const Size *s)
{
	Sized *v = sized_new(p);

	v->kind = size_lost(s) ? SIZED_UNKNOWN : SIZED_NUMBER;
	v->number = s;
	return v;
}

Sized *
sized_parts(Prover *p, int n)
{
	Sized *v = sized_new(p);

	v->kind = SIZED_PARTS;
	v->n = n;
	v->part = new(p->arena, Sized *, n + 1);
	return v;
}

Sized *
sized_tensor(Prover *p, int ndim)
{
	Sized *v = sized_new(p);

	v->kind = SIZED_TENSOR;
	v->n = ndim;
	v->dim = new(p->arena, const Size *, ndim + 1);
	v->offset = size_number(p->sizes, 0);
	v->storage = ++p->nstorage;
	return v;
}

Sized *
sized_view(Prover *p, const Sized *base, int ndim)
{
	Sized *v = sized_tensor(p, ndim);

	v->stride = new(p->arena, const Size *, ndim + 1);
	v->storage = base->storage;
	v->offset = base->offset;
	return v;
}

const Size **
contiguous_strides(Prover *p, const Sized *t)
{
	const Size **stride = new(p->arena, const Size *, t->n + 1), *step = size_number(p->sizes, 1);

	for (int i = t->n; i-- > 0;) {
		stride[i] = step;
		step = size_is(t->dim[i], 0) ? step : size_times(p->sizes, step, t->dim[i]);
	}
	return stride;
}

const Size **
channels_last_strides(Prover *p, const Sized *t)
{
	const Size **stride = new(p->arena, const Size *, t->n + 1), *step = t->dim[1];

	stride[1] = size_number(p->sizes, 1);
	for (int i = t->n; i-- > 2; step = size_times(p->sizes, step, t->dim[i]))
		stride[i] = step;
	stride[0] = step;
	return stride;
}

bool
sized_is_written(const Prover *p, const Sized *t)
{
	for (int i = 0; i < p->written.n; i++)
		if (p->written.at[i] == t->storage)
			return true;
	return false;
}

const Size *
sized_numel(Prover *p, const Sized *t)
{
	const Size *n = size_number(p->sizes, 1);

	for (int i = 0; i < t->n; i++)
		n = size_times(p->sizes, n, t->dim[i]);
	return n;
}

static Sized *
value_of_tensor(Prover *p, const RtTensor *t)
{
	Sized *v = sized_tensor(p, t->ndim);

	v->stride = new(p->arena, const Size *, t->ndim + 1);
	v->offset = size_number(p->sizes, t->offset);
	v->dtype = 1 + t->dtype;
	if (!t->ndim && t->dtype == RT_i64 && t->storage->data)
		v->number = size_number(p->sizes, *(const int64_t *)(const void *)rt_data(t));
	for (int i = 0; i < t->ndim; i++) {
		v->dim[i] = size_number(p->sizes, t->dims[i]);
		v->stride[i] = size_number(p->sizes, t->strides[i]);
	}
	return v;
}

Sized *
sized_constant(Prover *p, IValue v)
{
	const int n = v.tag == RT_LIST ? (int)v.u.list->n : v.tag == RT_TUPLE ? (int)v.u.tuple->n : 0;
	Sized *s;

	if (v.tag == RT_TENSOR)
		return value_of_tensor(p, v.u.t);
	if (v.tag == RT_INT || v.tag == RT_BOOL)
		return sized_number(p, size_number(p->sizes, v.u.i));
	s = sized_parts(p, n);
	if (v.tag != RT_LIST && v.tag != RT_TUPLE)
		s->kind = SIZED_VALUE;
	s->value = v;
	for (int i = 0; i < n; i++)
		s->part[i] = sized_constant(p, v.tag == RT_LIST ? v.u.list->v[i] : v.u.tuple->v[i]);
	return s;
}

Sized *
sized_of(Prover *p, const Value *v)
{
	IValue constant;

	if (!p->of[v->id])
		p->of[v->id] = node_is(v->node, prim_Constant) && value_constant(v, &constant) ?
			       sized_constant(p, constant) : sized_new(p);
	return p->of[v->id];
}
