/*
 * Size expressions, interned in a normal form: sums, products, symbols and their values.
 */
#include "size_inside.h"

#include <string.h>

SizeTable *
size_table(Arena *arena)
{
	SizeTable *z = new(arena, SizeTable, 1);

	z->arena = z->atom.arena = arena;
	z->lost.lost = true;
	z->nslot = 64;
	z->slot = new(arena, Size *, z->nslot);
	return z;
}

/* ---- sums of terms ----------------------------------------------------------------------------------------------- */

int
atom_compare(const Atom *a, const Atom *b)
{
	if (a == b)
		return 0;
	if ((a->kind == ATOM_SYMBOL) != (b->kind == ATOM_SYMBOL))
		return a->kind == ATOM_SYMBOL ? -1 : 1;
	return a->kind == ATOM_SYMBOL ? a->index - b->index : strcmp(a->text, b->text);
}

/* Compares factors.  Multiplying both by the same factor keeps the order, which divide() relies on. */
static int
compare_terms(const Term *a, const Term *b)
{
	int order = b->n - a->n;

	for (int i = 0; !order && i < a->n; i++)
		order = atom_compare(a->factor[i], b->factor[i]);
	return order;
}

static Sum *
sum_new(SizeTable *z, int which)
{
	z->sum[which].n = 0;
	z->sum[which].lost = false;
	return &z->sum[which];
}

static void
sum_add(Sum *s, const Term *t)
{
	int at = 0, order = 1;

	while (at < s->n && (order = compare_terms(&s->term[at], t)) < 0)
		at++;
	if (at < s->n && !order) {
		s->lost |= !plus_fits(s->term[at].times, t->times, &s->term[at].times);
		if (!s->term[at].times)
			memmove(&s->term[at], &s->term[at + 1], sizeof *t * (size_t)(--s->n - at));
	} else if (t->times && s->n < SIZE_TERMS) {
		memmove(&s->term[at + 1], &s->term[at], sizeof *t * (size_t)(s->n++ - at));
		s->term[at] = *t;
	} else {
		s->lost |= t->times != 0;
	}
}

static void
sum_add_all(Sum *s, const Size *a, bool negative)
{
	s->lost |= a->lost;
	for (int i = 0; i < a->n; i++) {
		Term t = a->term[i];

		t.times = negative ? -t.times : t.times;
		sum_add(s, &t);
	}
}

static int
weight_of(const Term *t, int n)
{
	int weight = 0;

	for (int i = 0; i < n && weight <= SIZE_WEIGHT; i++) {
		weight += 1;
		for (int k = 0; k < t[i].n; k++)
			weight += t[i].factor[k]->weight;
	}
	return weight;
}

static uint64_t
hash_of(const Sum *s)
{
	uint64_t h = (uint64_t)s->n;

	for (int i = 0; i < s->n; i++) {
		h = hash_mix(h, (uint64_t)s->term[i].times);
		for (int k = 0; k < s->term[i].n; k++)
			h = hash_mix(h, (uintptr_t)s->term[i].factor[k]);
	}
	return h;
}

static bool
is_sum(const Size *size, const Sum *s, uint64_t hash)
{
	if (size->hash != hash || size->n != s->n)
		return false;
	for (int i = 0; i < s->n; i++)
		if (size->term[i].times != s->term[i].times || compare_terms(&size->term[i], &s->term[i]))
			return false;
	return true;
}

static void
grow_slots(SizeTable *z)
{
	Size **old = z->slot, *next;
	const int n = z->nslot;

	z->nslot *= 4;
	z->slot = new(z->arena, Size *, z->nslot);
	for (int i = 0; i < n; i++)
		for (Size *s = old[i]; s; s = next) {
			next = s->next;
			s->next = z->slot[s->hash % (unsigned)z->nslot];
			z->slot[s->hash % (unsigned)z->nslot] = s;
		}
}

/* Returns the interned size for this sum. */
static const Size *
sum_size(SizeTable *z, const Sum *s)
{
	const int weight = weight_of(s->term, s->n);
	const uint64_t hash = hash_of(s);
	Size *size = z->slot[hash % (unsigned)z->nslot], **slot;
	Term *term;

	if (s->lost || weight > SIZE_WEIGHT)
		return &z->lost;
	while (size && !is_sum(size, s, hash))
		size = size->next;
	if (size)
		return size;
	if (z->nsize++ == z->nslot)
		grow_slots(z);
	slot = &z->slot[hash % (unsigned)z->nslot];
	term = new(z->arena, Term, s->n);
	memcpy(term, s->term, sizeof *term * (size_t)s->n);
	*slot = memcpy(new(z->arena, Size, 1), &(Size){ term, s->n, weight, false, hash, *slot }, sizeof **slot);
	return *slot;
}

const Size *
term_size(SizeTable *z, const Term *t)
{
	Sum *s = sum_new(z, 0);

	RT_ASSERT(t->n >= 0 && t->n <= SIZE_FACTORS);
	sum_add(s, t);
	return sum_size(z, s);
}

Atom *
atom_new(SizeTable *z, Atom x)
{
	Atom *out = new(z->arena, Atom, 1);

	RT_ASSERT(!map_get(&z->atom, x.text));
	*out = x;
	map_put(&z->atom, x.text, out);
	return out;
}

const Size *
atom_size(SizeTable *z, const Atom *x)
{
	return term_size(z, &(Term){ 1, 1, { x } });
}

const Size *
size_number(SizeTable *z, int64_t v)
{
	return v == INT64_MIN ? &z->lost : term_size(z, &(Term){ v, 0, { NULL } });
}

static const Size *
add_sizes(SizeTable *z, const Size *a, const Size *b, bool negative)
{
	Sum *s = sum_new(z, 0);

	sum_add_all(s, a, false);
	sum_add_all(s, b, negative);
	return sum_size(z, s);
}

const Size *
size_plus(SizeTable *z, const Size *a, const Size *b)
{
	return add_sizes(z, a, b, false);
}

const Size *
size_minus(SizeTable *z, const Size *a, const Size *b)
{
	return add_sizes(z, a, b, true);
}

/* Returns false if the product has too many factors or its coefficient is too large. */
static bool
multiply_terms(const Term *a, const Term *b, Term *out)
{
	int i = 0, k = 0;

	out->n = 0;
	if (a->n + b->n > SIZE_FACTORS || !times_fits(a->times, b->times, &out->times))
		return false;
	while (i < a->n || k < b->n)
		out->factor[out->n++] = k == b->n || (i < a->n && atom_compare(a->factor[i], b->factor[k]) <= 0) ?
			a->factor[i++] : b->factor[k++];
	return true;
}

const Size *
size_times(SizeTable *z, const Size *a, const Size *b)
{
	Sum *s = sum_new(z, 0);
	Term t;

	s->lost = a->lost || b->lost;
	for (int i = 0; i < a->n; i++)
		for (int k = 0; k < b->n && !s->lost; k++) {
			s->lost |= !multiply_terms(&a->term[i], &b->term[k], &t);
			if (!s->lost)
				sum_add(s, &t);
		}
	return sum_size(z, s);
}

void
size_split(SizeTable *z, const Size *s, const Atom *x, const Size **p, const Size **q)
{
	Sum *with = sum_new(z, 0), *rest = sum_new(z, 1);

	with->lost = rest->lost = s->lost;
	for (int i = 0; i < s->n; i++) {
		Term t = s->term[i];
		int at = 0;

		while (at < t.n && t.factor[at] != x)
			at++;
		if (at < t.n)
			memmove(&t.factor[at], &t.factor[at + 1], sizeof *t.factor * (size_t)(--t.n - at));
		sum_add(at < s->term[i].n ? with : rest, &t);
	}
	*p = sum_size(z, with);
	*q = sum_size(z, rest);
}

/* null if there is none yet */
static const Atom *
symbol_atom(const SizeTable *z, int index)
{
	char text[16];

	snprintf(text, sizeof text, "s%d", index);
	return map_get(&z->atom, text);
}

const Size *
size_symbol(SizeTable *z, int index, SizeRange range)
{
	const Atom *x = symbol_atom(z, index);

	RT_ASSERT(index >= 0 && index < SIZE_SYMBOLS && range.least >= 2 && range.most >= range.least);
	RT_ASSERT(!x || (x->range.least == range.least && x->range.most == range.most));
	if (!x)
		x = atom_new(z, (Atom){ .kind = ATOM_SYMBOL, .index = index, .range = range, .weight = 1,
			.text = arena_printf(z->arena, "s%d", index) });
	return atom_size(z, x);
}

bool
size_range(const SizeTable *z, int index, SizeRange *range)
{
	const Atom *x = symbol_atom(z, index);

	RT_ASSERT(index >= 0 && index < SIZE_SYMBOLS);
	if (x)
		*range = x->range;
	return x != NULL;
}

void
size_symbols(const Size *s, bool seen[SIZE_SYMBOLS])
{
	for (int i = 0; i < s->n; i++)
		for (int k = 0; k < s->term[i].n; k++) {
			const Atom *x = s->term[i].factor[k];

			if (x->kind == ATOM_SYMBOL) {
				seen[x->index] = true;
				continue;
			}
			size_symbols(x->a, seen);
			size_symbols(x->b, seen);
		}
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

bool
size_lost(const Size *s)
{
	return s->lost;
}

bool
size_const(const Size *s, int64_t *out)
{
	*out = s->n ? s->term[0].times : 0;
	return !s->lost && (!s->n || !s->term[0].n);
}

bool
size_is(const Size *s, int64_t v)
{
	int64_t number;

	return size_const(s, &number) && number == v;
}

bool
size_product(const Size *s, SizeProduct *out)
{
	const Term *t = s->term;

	*out = (SizeProduct){ .plus = s->n && !s->term[s->n - 1].n ? s->term[s->n - 1].times : 0 };
	if (s->lost || s->n - (out->plus != 0) > 1)
		return false;
	if (!s->n || !t->n)
		return true;
	out->times = t->times;
	out->n = t->n;
	for (int i = 0; i < t->n; i++) {
		if (t->n > 4 || t->factor[i]->kind != ATOM_SYMBOL)
			return false;
		out->symbol[i] = t->factor[i]->index;
	}
	return true;
}

static bool
atom_value(const Atom *x, const int64_t *symbol, int64_t *out)
{
	int64_t a, b;

	if (x->kind == ATOM_SYMBOL) {
		*out = symbol[x->index];
		return true;
	}
	if (!size_value(x->a, symbol, &a) || !size_value(x->b, symbol, &b) || (x->kind == ATOM_FLOOR && b <= 0))
		return false;
	*out = x->kind == ATOM_FLOOR ? floor_div(a, b) : a < b ? a : b;
	return true;
}

bool
size_value(const Size *s, const int64_t *symbol, int64_t *out)
{
	int64_t sum = 0;

	for (int i = 0; i < s->n; i++) {
		int64_t product = s->term[i].times, x;

		for (int k = 0; k < s->term[i].n; k++)
			if (!atom_value(s->term[i].factor[k], symbol, &x) || !times_fits(product, x, &product))
				return false;
		if (!plus_fits(sum, product, &sum))
			return false;
	}
	*out = sum;
	return !s->lost;
}
