/*
 * Proves bounds of sizes and simplifies quotients. least_bound() writes a size as x*p + q for an atom x. It replaces x
 * by the end of its range that the sign of p selects, and continues with the result.
 */
#include "size_inside.h"

#include <string.h>

enum { STEPS = 400 };
#define NONE INT64_MIN                   /* unknown lower bound */

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static int64_t least_bound(SizeTable *, const Size *);

/* Returns the atom to replace first: the largest compound one, because it may cancel with its parts. */
static const Atom *
first_atom(const Size *s)
{
	const Atom *x = s->term[0].factor[0];

	for (int i = 0; i < s->n; i++)
		for (int k = 0; k < s->term[i].n; k++)
			if (s->term[i].factor[k]->weight > x->weight)
				x = s->term[i].factor[k];
	return x;
}

/* Returns a lower bound of (value*p)/by + q, where by is at least 1. */
static int64_t
least_with(SizeTable *z, const Size *value, int64_t by, const Size *p, const Size *q)
{
	const Size *s = size_plus(z, size_times(z, value, p), by == 1 ? q : size_times(z, q, size_number(z, by)));
	const int64_t v = least_bound(z, s);

	return v == NONE ? NONE : -floor_div(-v, by);
}

static int64_t
larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The same for a minimum, which equals one of its parts and is at most each of them. */
static int64_t
least_of_parts(SizeTable *z, const Atom *x, bool top, const Size *p, const Size *q)
{
	const int64_t a = least_with(z, x->a, 1, p, q), b = least_with(z, x->b, 1, p, q);

	return (a > b) == top ? a : b;
}

/* Returns a lower bound of x*p + q, with x at its upper (top) or lower bound. */
static int64_t
least_at(SizeTable *z, const Atom *x, bool top, const Size *p, const Size *q)
{
	const int64_t end = top ? x->range.most : x->range.least;
	int64_t best = NONE, by;

	if (x->kind == ATOM_MIN)
		best = least_of_parts(z, x, top, p, q);
	if (end != INT64_MIN && end != INT64_MAX)
		best = larger(best, least_with(z, size_number(z, end), 1, p, q));
	if (x->kind == ATOM_FLOOR && size_const(x->b, &by))      /* (a - by + 1) / by <= floor(a, by) <= a / by */
		best = larger(best, least_with(z, top ? x->a : size_minus(z, x->a, size_number(z, by - 1)), by, p, q));
	else if (x->kind == ATOM_FLOOR && top && x->natural)
		best = larger(best, least_with(z, x->a, 1, p, q));
	return best;
}

/* Returns a lower bound of s. NONE if none is found. */
static int64_t
least_bound(SizeTable *z, const Size *s)
{
	const Size *p, *q;
	const Atom *x;
	int64_t v, high;

	if (z->steps <= 0 || s->lost)
		return NONE;
	z->steps--;
	if (size_const(s, &v))
		return v;
	x = first_atom(s);
	size_split(z, s, x, &p, &q);
	if (least_bound(z, p) >= 0)
		v = least_at(z, x, false, p, q);
	else if (least_bound(z, size_minus(z, size_number(z, 0), p)) >= 0)
		v = least_at(z, x, true, p, q);
	else if ((v = least_at(z, x, false, p, q)) != NONE && (high = least_at(z, x, true, p, q)) < v)
		v = high;
	return v;
}

static int64_t
lower_bound(SizeTable *z, const Size *s)
{
	z->steps = STEPS;
	return least_bound(z, s);
}

/* Returns an upper bound of s. INT64_MAX if none is found. */
static int64_t
upper_bound(SizeTable *z, const Size *s)
{
	const int64_t v = lower_bound(z, size_minus(z, size_number(z, 0), s));

	return v == NONE ? INT64_MAX : -v;
}

bool
size_at_least(SizeTable *z, const Size *s, int64_t v)
{
	const int64_t low = lower_bound(z, s);

	return low != NONE && low >= v;
}

bool
size_at_most(SizeTable *z, const Size *s, int64_t v)
{
	const int64_t high = upper_bound(z, s);

	return high != INT64_MAX && high <= v;
}

/* ---- atoms ------------------------------------------------------------------------------------------------------- */

static SizeRange
range(SizeTable *z, const Size *s)
{
	return (SizeRange){ lower_bound(z, s), upper_bound(z, s) };
}

/* b is at least 1, even if that can no longer be proved. */
static SizeRange
floor_range(const SizeRange *a, const SizeRange *b)
{
	const int64_t by = larger(b->least, 1);
	SizeRange r = { INT64_MIN, INT64_MAX };

	if (a->least != INT64_MIN)
		r.least = a->least < 0 ? floor_div(a->least, by) : b->most == INT64_MAX ? 0 : a->least / b->most;
	if (a->most != INT64_MAX)
		r.most = a->most >= 0 ? a->most / by : b->most == INT64_MAX ? -1 : floor_div(a->most, b->most);
	return r;
}

static SizeRange
min_range(const SizeRange *a, const SizeRange *b)
{
	return (SizeRange){ a->least < b->least ? a->least : b->least, a->most < b->most ? a->most : b->most };
}

/* Returns the interned floor(a / b) or min(a, b) as a size. */
static const Size *
pair_atom(SizeTable *z, AtomKind kind, const Size *a, const Size *b)
{
	Buf text = { 0 };
	const Atom *x;

	buf_puts(&text, kind == ATOM_FLOOR ? "floor(" : "min(");
	size_print(a, SIZE_TEXT, false, &text);
	buf_puts(&text, ", ");
	size_print(b, SIZE_TEXT, false, &text);
	buf_puts(&text, ")");
	x = map_get(&z->atom, text.at);
	if (!x) {
		const SizeRange ra = range(z, a), rb = range(z, b);
		const bool twice = kind == ATOM_MIN || ra.least < 0;     /* C repeats the operands */

		x = atom_new(z, (Atom){ .kind = kind, .a = a, .b = b, .text = arena_strdup(z->arena, text.at),
			.natural = ra.least >= 0,
			.range = kind == ATOM_FLOOR ? floor_range(&ra, &rb) : min_range(&ra, &rb),
			.weight = 1 + (a->weight + b->weight) * (twice ? 2 : 1) });
	}
	buf_free(&text);
	return atom_size(z, x);
}

/* ---- quotients --------------------------------------------------------------------------------------------------- */

static int64_t
common_divisor(int64_t a, int64_t b)
{
	while (b) {
		const int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return magnitude(a);
}

/* Divides t = by*quotient + rest. The quotient's coefficient is rounded down. */
static bool
divide_term(const Term *t, const Term *by, Term *quotient, int64_t *rest)
{
	const int64_t m = magnitude(by->times);
	int at = 0;

	quotient->n = 0;
	for (int i = 0; i < t->n; i++)
		if (at < by->n && by->factor[at] == t->factor[i])
			at++;
		else
			quotient->factor[quotient->n++] = t->factor[i];
	quotient->times = floor_div(t->times, m) * (by->times < 0 ? -1 : 1);
	*rest = t->times - floor_div(t->times, m) * m;
	return at == by->n && quotient->times != 0;
}

/* Divides a = b*q + r by leading terms, until no term of r can be divided. r is the same for all a that differ by
 * multiples of b. */
static void
divide(SizeTable *z, const Size *a, const Size *b, const Size **q, const Size **r)
{
	const Size *left = a, *part;

	*q = *r = size_number(z, 0);
	while (left->n && !left->lost) {
		Term t = left->term[0], quotient;
		int64_t rest = t.times;

		if (divide_term(&t, &b->term[0], &quotient, &rest)) {
			part = term_size(z, &quotient);
			*q = size_plus(z, *q, part);
			left = size_minus(z, left, size_times(z, part, b));
		} else {
			rest = t.times;
		}
		t.times = rest;
		part = term_size(z, &t);
		*r = size_plus(z, *r, part);
		left = size_minus(z, left, part);
	}
	if (left->lost || (*q)->lost || (*r)->lost) {
		*q = size_number(z, 0);
		*r = a;
	}
}

/* Is floor(a, b) the same number for all values? */
static bool
floor_is_number(SizeTable *z, const Size *a, const Size *b, int64_t *out)
{
	const int64_t low = lower_bound(z, a), high = upper_bound(z, a);
	int64_t by;

	*out = low >= 0 ? 0 : -1;
	if (!a->n || (low >= 0 && size_at_least(z, size_minus(z, b, a), 1)) ||
	    (high < 0 && size_at_least(z, size_plus(z, b, a), 0)))
		return true;
	if (!size_const(b, &by) || low == NONE || high == INT64_MAX)
		return false;
	*out = floor_div(low, by);
	return *out == floor_div(high, by);
}

/* Reduces t to its common divisor with all terms of s: shared factors, and the divisor of the coefficients. but_number:
 * ignores the constant of s. */
static void
common_term(Term *t, const Size *s, bool but_number)
{
	for (int i = 0; i < s->n; i++) {
		const Term *u = &s->term[i];
		Term both = { common_divisor(t->times, but_number && !u->n ? t->times : u->times), 0, { NULL } };

		for (int a = 0, b = 0; a < t->n && b < u->n;) {
			const int order = atom_compare(t->factor[a], u->factor[b]);

			if (!order)
				both.factor[both.n++] = t->factor[a];
			a += order <= 0;
			b += order >= 0;
		}
		*t = both;
	}
}

/* Cancels the common divisor t of a and b: *a becomes (*a - *rest) / t, *b becomes *b / t. Returns t. */
static const Size *
cancel(SizeTable *z, const Size **a, const Size **b, const Size **rest)
{
	Term t = (*b)->term[0];
	const Size *by, *none;
	int64_t number;
	int n = 0;

	for (int i = 0; i < t.n; i++)
		if (t.factor[i]->range.least >= 1)
			t.factor[n++] = t.factor[i];
	t.n = n;
	common_term(&t, *b, false);
	common_term(&t, *a, true);
	by = term_size(z, &t);
	number = (*a)->n && !(*a)->term[(*a)->n - 1].n ? (*a)->term[(*a)->n - 1].times : 0;
	*rest = size_number(z, number - floor_div(number, t.times) * t.times);
	if (!size_is(by, 1)) {
		divide(z, size_minus(z, *a, *rest), by, a, &none);
		divide(z, *b, by, b, &none);
	}
	return by;
}

/* Applies floor((floor(x, y) + rest) / b) = floor((x + y*rest) / (y*b)). Returns false if a has no such term. */
static bool
merge_floors(SizeTable *z, const Size **a, const Size **b)
{
	for (int i = 0; i < (*a)->n; i++) {
		const Term *t = &(*a)->term[i];
		const Atom *x = t->n == 1 && t->times == 1 ? t->factor[0] : NULL;
		const Size *above, *below;

		if (!x || x->kind != ATOM_FLOOR)
			continue;
		above = size_plus(z, x->a, size_times(z, x->b, size_minus(z, *a, atom_size(z, x))));
		below = size_times(z, x->b, *b);
		if (above->lost || below->lost)
			continue;
		*a = above;
		*b = below;
		return true;
	}
	return false;
}

static const Size *
floor_of(SizeTable *z, const Size *a, const Size *b)
{
	const Size *q, *r, *rest;
	int64_t number;

	divide(z, a, b, &q, &r);
	if (floor_is_number(z, r, b, &number))
		return size_plus(z, q, size_number(z, number));
	if (!size_is(cancel(z, &r, &b, &rest), 1) || merge_floors(z, &r, &b))
		return size_plus(z, q, floor_of(z, r, b));
	return size_plus(z, q, pair_atom(z, ATOM_FLOOR, r, b));
}

const Size *
size_floor(SizeTable *z, const Size *a, const Size *b)
{
	if (a->lost || b->lost)
		return &z->lost;
	if (!size_at_least(z, b, 1))
		BUG("a divisor that may be 0");
	return floor_of(z, a, b);
}

const Size *
size_ceil(SizeTable *z, const Size *a, const Size *b)
{
	return size_floor(z, size_plus(z, a, size_minus(z, b, size_number(z, 1))), b);
}

/* Do the texts have this order?  A minimum is one atom in both orders of its parts. */
static bool
text_before(const Size *a, const Size *b)
{
	Buf x = { 0 }, y = { 0 };
	bool before;

	size_print(a, SIZE_TEXT, false, &x);
	size_print(b, SIZE_TEXT, false, &y);
	before = strcmp(x.at, y.at) < 0;
	buf_free(&x);
	buf_free(&y);
	return before;
}

const Size *
size_min(SizeTable *z, const Size *a, const Size *b)
{
	const Size *over = size_minus(z, a, b);

	if (a->lost || b->lost)
		return &z->lost;
	if (size_at_most(z, over, 0))
		return a;
	if (size_at_least(z, over, 0))
		return b;
	return text_before(a, b) ? pair_atom(z, ATOM_MIN, a, b) : pair_atom(z, ATOM_MIN, b, a);
}

bool
size_divides(SizeTable *z, const Size *a, const Size *b)
{
	const Size *q, *r;

	if (a->lost || b->lost || !a->n)
		return !b->n && !b->lost;
	divide(z, b, a, &q, &r);
	return !r->n;
}
