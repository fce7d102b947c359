/*
 * Recognizes attention among chains.
 */
#include "../../ir/row.h"
#include "micro_chain.h"
#include "../../rt/ops/vscratch.h"

#include <float.h>
#include <string.h>

enum { Y, Q, K, V, MASK };       /* operands with addresses */

int
link_axis(const Kernel *k, LinkAxis axis)
{
	return axis == LINK_ROW ? k->shared - 1 : axis == LINK_OWN ? k->shared : k->naxis - 1;
}

const Size *
link_extent(const Kernel *k, LinkAxis axis)
{
	return k->extent[link_axis(k, axis)];
}

static bool
is_ref(const Ref *r, RefKind kind, int at)
{
	return r->kind == kind && r->at == at && !r->part;
}

/* Does the operand not depend on these axes of the link? */
static bool
is_fixed(const Kernel *k, int operand, LinkAxis a, LinkAxis b)
{
	return size_is(k->operand.at[operand].stride[link_axis(k, a)], 0) &&
	       size_is(k->operand.at[operand].stride[link_axis(k, b)], 0);
}

/* Are a local operand's elements consecutive along the axis, and the same elements for all points of shared axes? */
static bool
is_vector(const Kernel *k, int operand, LinkAxis axis)
{
	const Operand *o = &k->operand.at[operand];

	for (int i = 0; i < k->naxis; i++)
		if (!size_is(o->stride[i], i == link_axis(k, axis)))
			return false;
	return o->access == ACCESS_LOCAL && size_is(o->offset, 0) && o->dtype == RT_f32;
}

/* Is let `at` this row of two values, computed in this type? */
static bool
is_let(const Kernel *k, int at, OpRow row, RtDtype type, RefKind kind, int of, const Ref *by)
{
	const Let *l = &k->let.at[at];

	return at < k->let.n && l->op->row == (int)row && l->types.compute == type && is_ref(&l->arg[0], kind, of) &&
	       (!by || (l->arg[1].kind == by->kind && l->arg[1].at == by->at && l->arg[1].part == by->part));
}

static bool
is_state(const Kernel *k, int at, const char *fold, RtDtype total, int let)
{
	const Folded *s = &k->state.at[at];

	return at < k->state.n && !strcmp(s->fold->name, fold) && s->total == total && s->part == RT_f32 &&
	       is_ref(&s->x, REF_LET, let);
}

/* Does the link store the sum over its reduced axis of the products of two operands? */
static bool
is_product_sum(const Kernel *k, int a, int b, int to)
{
	const Ref factor = ref_operand(b);

	return k->naxis == k->shared + 2 && k->nreduce == 1 && k->stage.n == 2 && k->let.n == 1 && k->state.n == 1 &&
	       k->store.n == 1 && !k->stage.at[1].each && k->stage.at[1].let == 1 &&
	       is_let(k, 0, ROW_mul_Tensor, RT_f32, REF_OPERAND, a, &factor) && is_state(k, 0, "sum", RT_f32, 0) &&
	       k->store.at[0].operand == to && is_ref(&k->store.at[0].value, REF_STATE, 0);
}

/* Does let `at` replace the state by a bound? */
static bool
is_clamp(const Kernel *k, int at, int state, RtDtype type, double least)
{
	return is_let(k, at, ROW_clamp_min, type, REF_STATE, state, NULL) && k->let.at[at].arg[1].kind == REF_NUMBER &&
	       k->let.at[at].arg[1].number.tag == RT_DOUBLE && k->let.at[at].arg[1].number.u.f == least;
}

/* Do the stages begin at these lets, and store the weights? */
static bool
has_stages(const Kernel *k, bool zeros, int scaled, int weights)
{
	const Stage *s = k->stage.at;
	const int exp = scaled + zeros, sum = exp + 2, last = sum + zeros + 1;

	if (k->stage.n != 4 + zeros || k->let.n != last + 1 || k->store.n != 3 || k->state.n != 2)
		return false;
	for (int i = 0; i < k->store.n; i++)
		if (k->store.at[i].operand != weights)
			return false;
	return (!zeros || (!s[1].each && s[1].let == scaled && s[1].store == 1 && s[1].state == 1)) &&
	       s[1 + zeros].each && s[1 + zeros].let == exp && s[1 + zeros].state == 1 && s[1 + zeros].store == 1 &&
	       !s[2 + zeros].each && s[2 + zeros].let == sum && s[2 + zeros].store == 2 && s[3 + zeros].each &&
	       s[3 + zeros].let == last && s[3 + zeros].store == 2;
}

/* Is the link the softmax of scores * scale + mask, in the lets that lower_attention.c makes? */
static bool
is_softmax(const Kernel *k, int scores, AttentionChain *c)
{
	const int weights = scores + 1, scaled = 1 + c->mask;
	const Ref mask = ref_operand(MASK);
	int at = scaled;
	Ref most = { .kind = REF_STATE }, sum = { .kind = REF_STATE, .at = 1 };

	c->zeros = k->stage.n == 5;
	c->scale = k->let.n ? &k->let.at[0].arg[1] : NULL;
	if (k->naxis != k->shared + 1 || k->nreduce != 1 || !has_stages(k, c->zeros, scaled, weights) ||
	    !is_let(k, 0, ROW_mul_Scalar, RT_f32, REF_OPERAND, scores, NULL) ||
	    (c->mask && !is_let(k, 1, ROW_add_Tensor, RT_f32, REF_LET, 0, &mask)) ||
	    !is_state(k, 0, "max", RT_f32, scaled - 1) || !is_ref(&k->store.at[0].value, REF_LET, scaled - 1) ||
	    (c->zeros && !is_clamp(k, at, 0, RT_f32, -FLT_MAX)))
		return false;
	if (c->zeros)
		most = (Ref){ .kind = REF_LET, .at = at++ };
	if (!is_let(k, at, ROW_sub_Tensor, RT_f32, REF_OPERAND, weights, &most) ||
	    !is_let(k, at + 1, ROW_prim_exp_normal, RT_f32, REF_LET, at, NULL) ||
	    !is_state(k, 1, "sum", RT_f64, at + 1) || !is_ref(&k->store.at[1].value, REF_LET, at + 1))
		return false;
	at += 2;
	if (c->zeros && !is_clamp(k, at, 1, RT_f64, 1))
		return false;
	if (c->zeros)
		sum = (Ref){ .kind = REF_LET, .at = at++ };
	c->causal = k->operand.at[scores].bound.n;
	return is_let(k, at, ROW_reciprocal, RT_f64, sum.kind, sum.at, NULL) &&
	       is_let(k, at + 1, ROW_mul_Tensor, RT_f32, REF_OPERAND, weights, &(Ref){ .kind = REF_LET, .at = at }) &&
	       is_ref(&k->store.at[2].value, REF_LET, at + 1);
}

/* Do the bounds of the scores, if there are any, hide the keys behind the row? */
static bool
is_causal(const Kernel *k, int scores)
{
	const Operand *o = &k->operand.at[scores];
	const Bound *b = o->bound.at;

	for (int i = 0; o->bound.n && i < k->naxis; i++)
		if (!size_is(b->stride[i], i == link_axis(k, LINK_REDUCED) ? -1 : i == link_axis(k, LINK_ROW)))
			return false;
	return !o->bound.n || (o->bound.n == 1 && !b->unit && size_is(b->offset, 0) &&
			       b->limit == k->extent[link_axis(k, LINK_ROW)] && o->outside.tag == RT_DOUBLE &&
			       o->outside.u.f == -1e300 * 1e300);
}

static bool
are_floats(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		if (kernel_has_address(k, i) && (k->operand.at[i].dtype != RT_f32 || k->operand.at[i].bound.n ||
						 !size_is(k->operand.at[i].offset, 0)))
			return false;
	return true;
}

bool
attention_find(const Kernel *k, AttentionChain *c)
{
	const Kernel *w = k->next, *s = w ? w->next : NULL;
	const int scores = kernel_addresses(k);

	*c = (AttentionChain){ .link = { k, w, s }, .mask = scores == MASK + 1 };
	if (!s || s->next || k->shared < 1 || (scores != MASK && scores != MASK + 1) || k->operand.n < scores + 2 ||
	    k->range.n || w->range.n || s->range.n)
		return false;
	for (int i = 0; i < 3; i++)
		if (!are_floats(c->link[i]))
			return false;
	return is_product_sum(k, Q, K, scores) && is_softmax(w, scores, c) && is_causal(w, scores) &&
	       is_product_sum(s, scores + 1, V, Y) && is_vector(k, scores, LINK_OWN) &&
	       is_vector(w, scores, LINK_REDUCED) && is_vector(w, scores + 1, LINK_REDUCED) &&
	       is_vector(s, scores + 1, LINK_REDUCED) &&
	       is_fixed(k, Q, LINK_OWN, LINK_OWN) && is_fixed(k, K, LINK_ROW, LINK_ROW) &&
	       is_fixed(s, V, LINK_ROW, LINK_ROW) && is_fixed(s, Y, LINK_REDUCED, LINK_REDUCED);
}

/* ---- what the microkernel needs ---------------------------------------------------------------------------------- */

const Size *
attention_heads(const AttentionChain *c)
{
	const Kernel *k = c->link[SCORES];
	const Size *n = size_number(k->sizes, 1);

	for (int i = 0; i < k->shared - 1; i++)
		n = size_times(k->sizes, n, k->extent[i]);
	return n;
}

const Size *
attention_block(const AttentionChain *c)
{
	enum { ROWS = 48 };
	const Size *rows = link_extent(c->link[SCORES], LINK_ROW);
	int64_t n;

	return size_const(rows, &n) && n < ROWS ? rows : size_number(c->link[SCORES]->sizes, ROWS);
}

int64_t
attention_grain(const AttentionChain *c)
{
	enum { SHARE = 16384 };
	const Kernel *k = c->link[SCORES];
	int64_t block, keys, inner;

	if (!kernel_typical(k, attention_block(c), &block) || !kernel_typical(k, link_extent(k, LINK_OWN), &keys) ||
	    !kernel_typical(k, link_extent(k, LINK_REDUCED), &inner))
		return 1;
	return 1 + SHARE / (block * keys * (inner / 4 + 1));
}

int64_t
attention_scratch(const AttentionChain *c, int vf, int nr)
{
	const Kernel *k = c->link[SCORES];
	int64_t block, keys, inner, width;

	if (!size_const(attention_block(c), &block) || !size_const(link_extent(k, LINK_OWN), &keys) ||
	    !size_const(link_extent(k, LINK_REDUCED), &inner) ||
	    !size_const(link_extent(c->link[SUMS], LINK_OWN), &width))
		return 0;
	return vs_attention(vf, nr, block, keys, inner, width);
}
