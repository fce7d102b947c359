/*
 * Fits formulas of the symbols to the sizes in the samples.
 *
 * A number has a value in each sample.  If all are equal, it is a constant.  Otherwise a formula is sought among
 * products of the numbers found before.  These are called atoms; the symbols are the first of them.  A number that is
 * no such product becomes a new atom.  Samples are chosen so that two different formulas do not agree on all of them.
 * Still a formula is only an expectation, which the program checks for every new size (rt/sizes.c).
 *
 * Numbers in kernels are not checked.  They may be expressed by another atom than they come from, if the samples do not
 * separate the two: h / 4 * w / 8 and h / 8 * w / 4.  So a relation that holds on all samples becomes a tie, which must
 * also hold for a new size.  A tie says that an atom is a linear function of another, or that a symbol has a certain
 * remainder.
 */
#include "../opt.h"

#include <stdlib.h>
#include <string.h>

static bool
all_equal(const int64_t *v, int n)
{
	for (int i = 1; i < n; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

/* Is v = c * product + d in all samples? */
static bool
is_linear(const int64_t *v, const int64_t *product, int n, bool offset, RtSizeExpr *e)
{
	int64_t dv = 0, dp = 0;

	for (int i = 1; i < n && !dp; i++) {
		dp = product[i] - product[0];
		dv = v[i] - v[0];
	}
	if (!dp || dv % dp || dv / dp == 0)
		return false;
	e->c = dv / dp;
	e->d = v[0] - e->c * product[0];
	if (e->d && !offset)
		return false;
	for (int i = 0; i < n; i++)
		if (e->c * product[i] + e->d != v[i])
			return false;
	return true;
}

/* State of the search for a formula of a number: c * product of atoms + d. */
typedef struct Sought {
	const Sizes   *s;
	const int64_t *v;                /* value of the number in each sample */
	bool           offset;           /* whether d may differ from 0 */
	RtSizeExpr    *e;
} Sought;

/* Tries all products with `left` more atoms, from index `first` on. */
static bool
search(const Sought *q, const int64_t *product, int first, int left)
{
	const Sizes *s = q->s;
	RtSizeExpr *e = q->e;
	int64_t more[SIZE_SAMPLES];

	if (!left)
		return is_linear(q->v, product, s->nsample, q->offset, e);
	for (int a = first; a < s->natom; a++) {
		bool fits = true;

		for (int i = 0; i < s->nsample && fits; i++)
			fits = size_mul(product[i], s->atom[a][i], &more[i]) &&
			       (q->offset || more[i] <= llabs(q->v[i]));
		RT_ASSERT(e->n < (int)(sizeof e->atom / sizeof *e->atom));
		e->atom[e->n++] = (int16_t)a;
		if (fits && search(q, more, a, left - 1))
			return true;
		e->n--;
	}
	return false;
}

bool
sizes_express(const Sizes *s, const int64_t *v, bool offset, RtSizeExpr *e)
{
	int64_t one[SIZE_SAMPLES];

	RT_ASSERT(s->nsample > 0 && s->nsample <= SIZE_SAMPLES);
	for (int i = 0; i < s->nsample; i++)
		one[i] = 1;
	*e = (RtSizeExpr){ .d = v[0] };
	if (all_equal(v, s->nsample))
		return true;
	for (int with = 0; with <= offset; with++)
		for (int degree = 1; degree <= (with ? 3 : 4); degree++) {
			*e = (RtSizeExpr){ 0 };
			if (search(&(Sought){ s, v, with, e }, one, 0, degree))
				return true;
		}
	return false;
}

int
sizes_add_atom(Sizes *s, const int64_t *v)
{
	if (s->natom == SIZE_ATOMS)
		return -1;
	memcpy(s->atom[s->natom], v, (size_t)s->nsample * sizeof *v);
	return s->natom++;
}

/* Returns the index of the formula for a number, and adds it if it is new.  Negative if there is none. */
static int
learn(Cx *cx, Sizes *s, Map *known, const int64_t *v, bool fixed)
{
	Buf key = { 0 };
	RtSizeExpr e;
	int at;

	for (int i = 0; i < s->nsample; i++)
		buf_printf(&key, "%llx,", (unsigned long long)v[i]);
	at = (int)(intptr_t)map_get(known, key.at) - 1;
	if (at < 0 && !(fixed && !all_equal(v, s->nsample))) {
		if (!sizes_express(s, v, false, &e)) {
			e = (RtSizeExpr){ .n = -1, .atom = { (int16_t)sizes_add_atom(s, v) } };
			for (int i = 0; i < s->nsample; i++)
				if (v[i] < 0)
					e.atom[0] = -1;
		}
		if (e.n >= 0 || e.atom[0] >= 0) {
			at = s->expr.n;
			vec_push(cx->arena, &s->expr, e);
			map_put(known, arena_strdup(cx->arena, key.at), (void *)(intptr_t)(at + 1));
		}
	}
	buf_free(&key);
	return at;
}

/* ---- ties --------------------------------------------------------------------------------------------------- */

static bool
is_same_expr(const RtSizeExpr *a, const RtSizeExpr *b)
{
	return a->c == b->c && a->d == b->d && a->n == b->n && !memcmp(a->atom, b->atom, sizeof a->atom);
}

void
sizes_tie(Cx *cx, Sizes *s, RtSizeTie tie)
{
	for (int i = 0; i < s->tie.n; i++) {
		const RtSizeTie *t = &s->tie.at[i];

		if (t->kind == tie.kind && t->q == tie.q && is_same_expr(&t->x, &tie.x) && is_same_expr(&t->y, &tie.y))
			return;
	}
	vec_push(cx->arena, &s->tie, tie);
}

int
sizes_count(Cx *cx, Sizes *s, RtSizeCount count)
{
	int at = 0;

	RT_ASSERT(count.q > 0);
	while (at < s->count.n && !(s->count.at[at].q == count.q && is_same_expr(&s->count.at[at].x, &count.x)))
		at++;
	if (at == s->count.n)
		vec_push(cx->arena, &s->count, count);
	return s->natom + at <= INT16_MAX ? s->natom + at : -1;
}

int64_t
sizes_gcd(int64_t a, int64_t b)
{
	while (b) {
		const int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

/* Ties atoms a and b if they are linear functions of each other in all samples: e * b = c * a + d. */
static bool
tie_line(Cx *cx, Sizes *s, int a, int b)
{
	const int64_t *x = s->atom[a], *y = s->atom[b];
	int64_t dx, dy, divisor;
	int k = 1;

	while (k < s->nsample && x[k] == x[0])
		k++;
	if (k == s->nsample || y[k] == y[0])
		return false;
	divisor = sizes_gcd(x[k] - x[0], y[k] - y[0]);
	divisor = x[k] < x[0] ? -divisor : divisor;
	dx = (x[k] - x[0]) / divisor;
	dy = (y[k] - y[0]) / divisor;
	for (int i = 1; i < s->nsample; i++)
		if ((double)dx * (double)(y[i] - y[0]) != (double)dy * (double)(x[i] - x[0]))
			return false;
	sizes_tie(cx, s, (RtSizeTie){ RT_TIE_CEIL, { dx, 0, 1, { (int16_t)b } }, 1,
				      { dy, dx * y[0] - dy * x[0], 1, { (int16_t)a } } });
	return true;
}

int64_t
sizes_step(const Sizes *s, int symbol)
{
	int64_t step = 0;

	RT_ASSERT(symbol >= 0 && symbol < s->nsymbol);
	for (int k = 1; k < s->nsample; k++)
		step = sizes_gcd(step, s->atom[symbol][k] - s->atom[symbol][0]);
	return step ? step : 1;
}

int64_t
sizes_most(const Sizes *s, int symbol)
{
	int64_t most = 0;

	for (int k = 0; k < s->nsample; k++)
		most = s->atom[symbol][k] > most ? s->atom[symbol][k] : most;
	return most;
}

bool
sizes_is_open(const Sizes *s, int symbol)
{
	return s->range[symbol][1] > sizes_most(s, symbol);
}

/* Ties a symbol to its remainder, if this is the same in all samples.  Kernels for other remainders may have other
 * code. */
static void
tie_rest(Cx *cx, Sizes *s, int a)
{
	const int64_t step = sizes_step(s, a);

	if (step > 1)
		sizes_tie(cx, s, (RtSizeTie){ RT_TIE_REST, { 1, 0, 1, { (int16_t)a } }, step,
					      { .d = s->atom[a][0] % step } });
}

static void
tie_atoms(Cx *cx, Sizes *s)
{
	for (int b = 0; b < s->natom; b++) {
		bool tied = false;

		for (int a = 0; a < b && !tied; a++)
			tied = tie_line(cx, s, a, b);
		if (!tied && b < s->nsymbol)
			tie_rest(cx, s, b);
	}
}

bool
sizes_learn(Cx *cx, Sizes *s, const Shapes *const *shapes)
{
	Map known = { .arena = cx->arena };
	int n;

	RT_ASSERT(s->nsample > 0 && s->natom == s->nsymbol && s->nsymbol <= SYMBOLS_MOST);
	shapes_numbers(shapes[0], &n);
	for (int i = 0; i < n; i++) {
		int64_t v[SIZE_SAMPLES];
		bool fixed = false;
		int at;

		for (int k = 0; k < s->nsample; k++) {
			const SizeNumber *number = shapes_numbers(shapes[k], &n);

			RT_ASSERT(i < n);
			v[k] = number[i].i;
			fixed = number[i].kind == RT_SEEN_FIXED;
		}
		at = learn(cx, s, &known, v, fixed);
		if (at < 0 || at > UINT16_MAX)
			return false;
		vec_push(cx->arena, &s->number, (uint16_t)at);
	}
	tie_atoms(cx, s);
	return true;
}

/* ---- checks at a program's entry --------------------------------------------------------------------------------- */

RtSizes
sizes_at_entry(const Specialization *d)
{
	const Sizes *z = d->sizes;

	return (RtSizes){ .name = d->fn->name, .code = d->shapes->code, .expr = z->expr.at, .number = z->number.at,
			  .count = z->count.at, .tie = z->tie.at, .range = z->range, .nnumber = z->number.n,
			  .nsymbol = z->nsymbol, .natom = z->natom, .ncount = z->count.n, .ntie = z->tie.n };
}

bool
sizes_are_taken(Cx *cx, const Specialization *d, const RtSizes *of, const int64_t *symbol)
{
	const int first = function_first(d->fn), narg = graph_ninputs(d->shapes->graph) - first;
	KnownTable *k = known_table(cx);
	const Pattern *p = pattern_at(cx, d->pattern, narg, symbol);
	IValue *args = new(cx->arena, IValue, first + narg + 1);
	bool are;

	for (int i = 0; i < narg; i++) {
		const Type *type = graph_inputs(d->shapes->graph)[first + i]->type;

		args[first + i] = known_argument(k, &p[i], type_unshaped(cx, type));
	}
	are = rt_sizes(&k->rt, of, args, symbol) != NULL;
	for (int i = 0; i < narg; i++)
		rt_release(args[first + i]);
	rt_cx_free(&k->rt);
	return are;
}

int
sizes_refused(Cx *cx, const Specialization *d, const RtSizes *of)
{
	int64_t symbol[SIZE_ATOMS];

	for (int at = 0; at < d->sizes->nsample; at++) {
		for (int i = 0; i < d->sizes->nsymbol; i++)
			symbol[i] = d->sizes->atom[i][at];
		if (!sizes_are_taken(cx, d, of, symbol))
			return at;
	}
	return -1;
}
