/*
 * Einsums in the form of their kernel, which takes two operands: an explicit equation without an ellipsis, in which no
 * label stands twice in an operand, and each label of one operand is also in the other or in the result.
 *
 *    einsum("bhtd,bhde,bht->bhte", q, kv, z)  ->  einsum("bhte,bht->bhte", einsum("bhtd,bhde->bhte", q, kv), z)
 *    einsum("ij,k->i", x, y)                  ->  einsum("i,->i", x.sum(1), y.sum(0))
 *    einsum("...ii->...i", x)                 ->  x.diagonal(0, 1, 2).clone()
 *    einsum("ij,j->ji", x, y)                 ->  x.permute(1, 0) * y.unsqueeze(1)
 *
 * Operands are taken from left to right, as ATen does.  A dim of 1 that meets a larger one is dropped.
 */
#include "specialize.h"

#include <ctype.h>
#include <string.h>

enum { MOST_OPERANDS = 16, DOT = '.' };

typedef struct Labels { int n; char at[RT_MAX_RANK]; } Labels;       /* letters; DOT: the ellipsis */

typedef struct Einsum {
	Spec   *s;
	Scope  *c;
	const Node *node;
	int     n;                       /* operands */
	Value  *v[MOST_OPERANDS];
	Labels  of[MOST_OPERANDS], out;
} Einsum;

/* ---- the equation ------------------------------------------------------------------------------------------------ */

/* Labels up to the next comma, the arrow or the end; false: PyTorch refuses it, or there are too many. */
static bool
read_labels(const char **s, Labels *l)
{
	for (; **s && **s != ',' && strncmp(*s, "->", 2) != 0; ++*s) {
		if (**s == ' ')
			continue;
		if (l->n == RT_MAX_RANK || !(isalpha((unsigned char)**s) || !strncmp(*s, "...", 3)))
			return false;
		if (**s == DOT)
			*s += 2;
		l->at[l->n++] = **s;
	}
	return true;
}

static int
place_of(const Labels *l, char label)
{
	for (int i = 0; i < l->n; i++)
		if (l->at[i] == label)
			return i;
	return -1;
}

static int
count_of(const Labels *l, char label)
{
	int n = 0;

	for (int i = 0; i < l->n; i++)
		n += l->at[i] == label;
	return n;
}

static int
uses_of(const Einsum *e, char label)
{
	int n = 0;

	for (int i = 0; i < e->n; i++)
		n += count_of(&e->of[i], label);
	return n;
}

/* Without an arrow: the ellipsis, then the labels that stand once, upper case first. */
static bool
imply_result(Einsum *e)
{
	for (int c = DOT; c <= 'z'; c++) {
		if ((c != DOT && !isalpha(c)) || (c == DOT ? !uses_of(e, DOT) : uses_of(e, (char)c) != 1))
			continue;
		if (e->out.n == RT_MAX_RANK)
			return false;
		e->out.at[e->out.n++] = (char)c;
	}
	return true;
}

static bool
read_equation(const char *s, Einsum *e)
{
	for (int i = 0; i < e->n; i++)
		if (!read_labels(&s, &e->of[i]) || count_of(&e->of[i], DOT) > 1 || (i + 1 < e->n && *s++ != ','))
			return false;
	if (!*s)
		return imply_result(e);
	if (strncmp(s, "->", 2) != 0)
		return false;
	s += 2;
	if (!read_labels(&s, &e->out) || *s)
		return false;
	for (int i = 0; i < e->out.n; i++)
		if (count_of(&e->out, e->out.at[i]) > 1 || !uses_of(e, e->out.at[i]))
			return false;
	return true;
}

/* The ellipsis of l becomes the last n of these letters. */
static bool
spell_out(Labels *l, const char *letters, int most, int n)
{
	const int at = place_of(l, DOT);
	Labels to = { 0 };

	if (at < 0)
		return true;
	if (l->n - 1 + n > RT_MAX_RANK)
		return false;
	for (int i = 0; i < l->n; i++)
		if (i != at)
			to.at[to.n++] = l->at[i];
		else
			for (int k = most - n; k < most; k++)
				to.at[to.n++] = letters[k];
	*l = to;
	return true;
}

static const RtTensor *
tensor(Spec *s, const Value *v)
{
	return known_at(s->k, v)->v.u.t;
}

/* Replaces ellipses by letters; then each operand has as many labels as dims. */
static bool
name_dims(Einsum *e)
{
	char letters[RT_MAX_RANK];
	int dots[MOST_OPERANDS], most = 0, found = 0;

	for (int i = 0; i < e->n; i++) {
		const bool dotted = place_of(&e->of[i], DOT) >= 0;

		dots[i] = tensor(e->s, e->v[i])->ndim - e->of[i].n + dotted;
		if (dots[i] < 0 || (dots[i] && !dotted))
			return false;
		most = dots[i] > most ? dots[i] : most;
	}
	for (int c = 'A'; c <= 'z' && found < most; c++)
		if (isalpha(c) && !uses_of(e, (char)c))
			letters[found++] = (char)c;
	if (found < most)
		return false;
	for (int i = 0; i < e->n; i++)
		if (!spell_out(&e->of[i], letters, most, dots[i]))
			return false;
	return spell_out(&e->out, letters, most, most);
}

/* The size of a label: that of its dims, where 1 broadcasts; -1: two differ. */
static int64_t
size_of(const Einsum *e, char label)
{
	int64_t size = 1;

	for (int i = 0; i < e->n; i++)
		for (int k = 0; k < e->of[i].n; k++) {
			const int64_t dim = tensor(e->s, e->v[i])->dims[k];

			if (e->of[i].at[k] != label || dim == 1)
				continue;
			if (size != 1 && size != dim)
				return -1;
			size = dim;
		}
	return size;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static Value *
put(const Einsum *e, const char *op, Value *const *in, int n)
{
	return spec_put_op(e->s, e->c, op, in, n, e->node->at);
}

static Value *
put_constant(const Einsum *e, IValue v)
{
	return spec_put_constant(e->s, v, e->node->at);
}

static Value *
put_int(const Einsum *e, int64_t i)
{
	return put_constant(e, rt_int(i));
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static void
drop(Labels *l, int at)
{
	memmove(l->at + at, l->at + at + 1, (size_t)(l->n - at - 1));
	l->n--;
}

/* A label that stands twice: takes the diagonal, which becomes the last dim. */
static void
take_diagonal(Einsum *e, int i, int a, int b)
{
	Labels *l = &e->of[i];
	const char label = l->at[a];

	e->v[i] = put(e, "aten::diagonal", (Value *const[]){ e->v[i], put_int(e, 0), put_int(e, a), put_int(e, b) }, 4);
	drop(l, b);
	drop(l, a);
	l->at[l->n++] = label;
}

/* Takes diagonals, and drops dims of 1 that broadcast. */
static void
make_plain(Einsum *e, int i)
{
	Labels *l = &e->of[i];

	for (int a = 0; a < l->n; a++)
		for (int b = a + 1; b < l->n; b++)
			if (l->at[a] == l->at[b]) {
				take_diagonal(e, i, a, b);
				a = -1;
				break;
			}
	for (int a = l->n - 1; a >= 0; a--)
		if (tensor(e->s, e->v[i])->dims[a] == 1 && size_of(e, l->at[a]) != 1) {
			e->v[i] = put(e, "aten::squeeze.dim", (Value *const[]){ e->v[i], put_int(e, a) }, 2);
			drop(l, a);
		}
}

/* Sums over labels that neither another operand nor the result has; false: there is none. */
static bool
sum_alone(Einsum *e, int i)
{
	Labels *l = &e->of[i];
	int64_t dims[RT_MAX_RANK];
	int n = 0;

	for (int a = l->n - 1; a >= 0; a--)
		if (uses_of(e, l->at[a]) == 1 && place_of(&e->out, l->at[a]) < 0) {
			dims[n++] = a;
			drop(l, a);
		}
	if (n)
		e->v[i] = put(e, "aten::sum.dim_IntList", (Value *const[]){ e->v[i],
			      spec_put_list(e->s, dims, n, e->node->at), put_constant(e, rt_bool(false)),
			      put_constant(e, rt_none()) }, 4);
	return n > 0;
}

/* ---- products of two --------------------------------------------------------------------------------------------- */

/* The labels that the product of operands i and i + 1 keeps: those of the result or of a later operand. */
static Labels
kept(const Einsum *e, int i)
{
	Labels to = { 0 };

	for (int k = i; k < i + 2; k++)
		for (int a = 0; a < e->of[k].n; a++) {
			const char label = e->of[k].at[a];
			bool needed = place_of(&e->out, label) >= 0;

			for (int later = i + 2; later < e->n; later++)
				needed |= place_of(&e->of[later], label) >= 0;
			if (needed && place_of(&to, label) < 0 && to.n < RT_MAX_RANK)
				to.at[to.n++] = label;
		}
	return to;
}

/* Operand i with a dim for each of these labels, in their order; of size 1 where it lacks the label. */
static Value *
aligned(const Einsum *e, int i, const Labels *to)
{
	int64_t order[RT_MAX_RANK];
	int n = 0;
	Value *v;

	for (int a = 0; a < to->n; a++)
		if (place_of(&e->of[i], to->at[a]) >= 0)
			order[n++] = place_of(&e->of[i], to->at[a]);
	v = spec_put_permute(e->s, e->c, e->v[i], order, n, e->node->at);
	for (int a = 0; a < to->n; a++)
		if (place_of(&e->of[i], to->at[a]) < 0)
			v = put(e, "aten::unsqueeze", (Value *const[]){ v, put_int(e, a) }, 2);
	return v;
}

/* Is no label of operands i and i + 1 summed over in their product? */
static bool
is_pointwise(const Einsum *e, int i, const Labels *to)
{
	for (int k = i; k < i + 2; k++)
		for (int a = 0; a < e->of[k].n; a++)
			if (place_of(to, e->of[k].at[a]) < 0)
				return false;
	return true;
}

static Value *
put_product(const Einsum *e, int i, const Labels *to)
{
	const Labels *a = &e->of[i], *b = &e->of[i + 1];
	const char *text = arena_printf(e->s->cx->arena, "%.*s,%.*s->%.*s", a->n, a->at, b->n, b->at, to->n, to->at);

	if (is_pointwise(e, i, to))
		return put(e, "aten::mul.Tensor", (Value *const[]){ aligned(e, i, to), aligned(e, i + 1, to) }, 2);
	Value *const in[] = { put_constant(e, rt_ref(RT_STR, rt_str_new(&e->s->k->rt, text, -1))),
			      spec_put_tensors(e->s, e->v + i, 2, e->node->in[1], e->node->at),
			      put_constant(e, rt_none()) };

	return put(e, "aten::einsum", in, 3);
}

/* Reads the equation; false: it stays as it is: its operands are not of one floating dtype, or it raises an error. */
static bool
take(Spec *s, Scope *c, const Node *m, Einsum *e)
{
	const Known *k = known_at(s->k, m->in[1]);
	const Node *list = m->in[1]->node;
	IValue text;

	*e = (Einsum){ .s = s, .c = c, .node = m, .n = list->nin };
	if (!known_is(s->k, m->out[0]) || !value_constant(m->in[0], &text) || text.tag != RT_STR ||
	    !node_is(list, prim_ListConstruct) || !k->is || k->mutable || k->v.u.list->n != e->n || e->n < 1 ||
	    e->n > MOST_OPERANDS)
		return false;
	for (int i = 0; i < e->n; i++) {
		const Known *v = known_at(s->k, e->v[i] = list->in[i]);

		if (!v->is || v->v.tag != RT_TENSOR || v->v.u.t->dtype != tensor(e->s, e->v[0])->dtype ||
		    (v->v.u.t->dtype != RT_f32 && v->v.u.t->dtype != RT_f64))
			return false;
	}
	if (!read_equation(text.u.str->s, e) || !name_dims(e))
		return false;
	for (int i = 0; i < e->n; i++)
		for (int a = 0; a < e->of[i].n; a++)
			if (size_of(e, e->of[i].at[a]) < 0)
				return false;
	return true;
}

/* Is it a product of two operands with a sum, in the kernel's form already? */
static bool
is_plain(const Einsum *e, const char *text)
{
	if (e->n != 2 || strchr(text, DOT) || !strchr(text, '>') || is_pointwise(e, 0, &e->out))
		return false;
	for (int i = 0; i < 2; i++)
		for (int a = 0; a < e->of[i].n; a++) {
			const char label = e->of[i].at[a];

			if (count_of(&e->of[i], label) > 1 ||
			    (uses_of(e, label) == 1 && place_of(&e->out, label) < 0) ||
			    (tensor(e->s, e->v[i])->dims[a] == 1 && size_of(e, label) != 1))
				return false;
		}
	return true;
}

/* y with the layout of m's result in the model, or marked as altered; null: that layout is not known. */
static Value *
as_in_model(Spec *s, const Node *m, Value *y)
{
	const RtTensor *want = tensor(s, m->out[0]), *got = tensor(s, y);

	if (rt_is_contiguous(want))
		spec_alter(s, y);
	else if (got->ndim != want->ndim ||
		 memcmp(got->strides, want->strides, (size_t)got->ndim * sizeof *got->strides))
		return NULL;
	return y;
}

/* The result's labels by the strides of m's result, largest first. */
static Labels
stored(Spec *s, const Node *m, const Einsum *e)
{
	const int64_t *strides = tensor(s, m->out[0])->strides;
	Labels to = { 0 };

	for (int i = 0; i < e->out.n; i++) {
		int at = to.n++;

		for (; at && strides[place_of(&e->out, to.at[at - 1])] < strides[i]; at--)
			to.at[at] = to.at[at - 1];
		to.at[at] = e->out.at[i];
	}
	return to;
}

/* Of one operand: sums and a permutation, copied. */
static Value *
put_one(Einsum *e)
{
	const bool summed = sum_alone(e, 0);
	Value *const y = aligned(e, 0, &e->out);

	return summed ? y : put(e, "aten::clone", (Value *const[]){ y, put_constant(e, rt_none()) }, 2);
}

Value *
spec_einsum(Spec *s, Scope *c, const Node *m)
{
	IValue text;
	Einsum e;

	if (!take(s, c, m, &e) || (value_constant(m->in[0], &text) && is_plain(&e, text.u.str->s)))
		return NULL;
	for (int i = 0; i < e.n; i++)
		make_plain(&e, i);
	if (e.n == 1)
		return as_in_model(s, m, put_one(&e));
	for (int i = 0; i < e.n; i++)
		sum_alone(&e, i);
	for (int i = 0; i + 1 < e.n; i++) {
		const Labels to = i + 2 < e.n ? kept(&e, i) : stored(s, m, &e);

		e.v[i + 1] = put_product(&e, i, &to);
		e.of[i + 1] = to;
	}
	return as_in_model(s, m, aligned(&e, e.n - 1, &e.out));
}
