/*
 * Recognizes pooling, and its gradients at indices.
 */
#include "../../ir/row.h"
#include "match.h"

#include <string.h>

bool
match_pool(Match *m)
{
	static const int names[] = { N, C, OH, OW, KH, KW };
	const Kernel *k = m->kernel;
	const int last = k->operand.n > 1 && k->operand.at[1].access == ACCESS_WRITE ? 2 : 1;

	match_name_axes(m, names, 6);
	m->operand[Y] = 0;
	m->operand[AT] = last - 1;
	m->operand[X] = last;
	return k->naxis == 6 && k->nreduce == 2 && last < k->operand.n && k->operand.at[0].dtype == RT_f32 &&
	       match_operand(m, X)->dtype == RT_f32 && match_has_windows(m, 2, OH, KH);
}

/* Does the kernel only fold x, as the first state? */
static bool
folds(const Match *m, const char *name)
{
	const Kernel *k = m->kernel;

	return k->stage.n == 2 && k->stage.at[1].let == 0 && k->stage.at[1].store == 0 && !k->stage.at[1].each &&
	       k->state.n && !strcmp(k->state.at[0].fold->name, name) &&
	       match_refers_to(&k->state.at[0].x, REF_OPERAND, m->operand[X]);
}

static bool
is_least(IValue v)
{
	return v.tag == RT_DOUBLE && v.u.f == -1e300 * 1e300;
}

bool
match_is_maximum(const Match *m)
{
	const Kernel *k = m->kernel;

	return folds(m, "max") && k->state.n == 1 && !k->let.n && k->store.n == 1 &&
	       match_refers_to(&k->store.at[0].value, REF_STATE, 0) &&
	       (m->adaptive || is_least(match_operand(m, X)->outside));
}

/* Is the bound that of x, with this many positions more on both sides? */
static bool
is_wider(const Match *m, const Bound *b, const Bound *of, const Size *pad)
{
	SizeTable *z = m->kernel->sizes;

	return !memcmp(b->stride, of->stride, sizeof b->stride) && b->offset == size_plus(z, of->offset, pad) &&
	       b->limit == size_plus(z, of->limit, size_plus(z, pad, pad));
}

/* Is the operand the index of x's element in its plane, with the same bounds? */
static bool
is_place(const Match *m, const Operand *o)
{
	if (o->access != ACCESS_INDEX || o->bound.n != 2 || m->adaptive || o->outside.tag != RT_INT ||
	    o->outside.u.i != INT64_MAX || !size_is(o->offset, 0))
		return false;
	for (int i = 0; i < m->kernel->naxis; i++)
		if (!size_is(o->stride[i], 0))
			return false;
	for (int i = 0; i < 2; i++)
		if (!is_wider(m, &o->bound.at[i], match_input_bound(m, i), match_constant(m, 0)) ||
		    o->bound.at[i].unit != (i ? match_constant(m, 1) : match_input_bound(m, 1)->limit))
			return false;
	return true;
}

bool
match_is_places(const Match *m)
{
	const Kernel *k = m->kernel;
	const Ref *y = k->state.n ? &k->state.at[0].y : NULL;

	return folds(m, "poolmax") && k->state.n == 1 && !k->let.n && k->store.n == 2 &&
	       is_least(match_operand(m, X)->outside) && match_operand(m, AT)->dtype == RT_i64 &&
	       match_refers_to(&k->store.at[0].value, REF_STATE, 0) && k->store.at[1].value.part == 1 &&
	       y->kind == REF_OPERAND && is_place(m, &k->operand.at[y->at]);
}

/* The divisor of a mean: a number, a number that depends on sizes, or the count of the window's elements, which is
 * null. */
static const Size *
divisor(const Match *m)
{
	const Ref *by = &m->kernel->let.at[0].arg[1];

	return by->kind == REF_NUMBER ? match_constant(m, by->number.u.i) :
	       by->kind == REF_OPERAND ? m->kernel->operand.at[by->at].offset : NULL;
}

/* Is the operand 1 at each element within these bounds: of the input, or also of the padding? */
static bool
is_one_within(const Match *m, const Operand *o, bool padding_too)
{
	if (o->access != ACCESS_INDEX || !size_is(o->offset, 1) || o->bound.n != match_operand(m, X)->bound.n)
		return false;
	for (int i = 0; i < m->kernel->naxis; i++)
		if (!size_is(o->stride[i], 0))
			return false;
	for (int i = 0; i < o->bound.n; i++)
		if (!is_wider(m, &o->bound.at[i], match_input_bound(m, i),
			      padding_too ? match_padding(m, i) : match_constant(m, 0)))
			return false;
	return true;
}

bool
match_counts(const Match *m, bool padding_too)
{
	const Kernel *k = m->kernel;
	const Ref *x = k->state.n == 2 ? &k->state.at[1].x : NULL;

	return x && x->kind == REF_OPERAND && !strcmp(k->state.at[1].fold->name, "sum") &&
	       is_one_within(m, &k->operand.at[x->at], padding_too);
}

bool
match_is_mean(const Match *m)
{
	const Kernel *k = m->kernel;
	const Let *l = k->let.n == 1 ? &k->let.at[0] : NULL;

	if (!folds(m, "sum") || !l || l->op->row != ROW_div_Tensor || !match_refers_to(&l->arg[0], REF_STATE, 0) ||
	    k->store.n != 1 || !match_refers_to(&k->store.at[0].value, REF_LET, 0) ||
	    match_operand(m, X)->outside.tag != RT_NONE)
		return false;
	if (match_refers_to(&l->arg[1], REF_STATE, 1))
		return match_counts(m, false) || match_counts(m, true);
	return k->state.n == 1 && divisor(m);
}

const Size *
match_divisor_or_zero(const Match *m)
{
	return m->kernel->let.n && divisor(m) ? divisor(m) : match_constant(m, 0);
}

bool
match_added(Match *m)
{
	const Kernel *k = m->kernel;
	const Let *l = k->let.n == 1 ? &k->let.at[0] : NULL;
	const Operand *y = &k->operand.at[0];
	static const int names[] = { N, C, P };

	match_name_axes(m, names, 3);
	m->operand[Y] = 0;
	m->operand[AT] = 1;
	m->operand[X] = 2;
	return k->naxis == 3 && k->serial == 2 && k->operand.n == 3 && l && l->op->row == ROW_add_Tensor &&
	       l->types.compute == RT_f32 && match_refers_to(&l->arg[0], REF_OPERAND, 0) &&
	       match_refers_to(&l->arg[1], REF_OPERAND, 2) && l->arg[2].kind == REF_NUMBER &&
	       l->arg[2].number.u.i == 1 && k->store.n == 1 && match_refers_to(&k->store.at[0].value, REF_LET, 0) &&
	       y->access == ACCESS_UPDATE && y->dtype == RT_f32 && y->ngather == 1 &&
	       match_refers_to(&y->gather[0].by, REF_OPERAND, 1) && !y->gather[0].wraps &&
	       size_is(y->stride[2], 0) && k->operand.at[1].dtype == RT_i64 &&
	       k->operand.at[2].dtype == RT_f32;
}
