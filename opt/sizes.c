/*
 * Sizes that depend on symbols, told from samples.
 *
 * A number that was seen on several samples is a vector of values.  The same everywhere: a constant.  Else it is looked
 * for among the products of the numbers that are known already, atoms, of which the symbols are the first; what is none
 * of them becomes an atom.  Samples are chosen so that two different formulas do not agree on all of them; and what is
 * found is no more than an expectation, which the program compares with the truth for every new size (rt/sizes.c).
 */
#include "opt.h"

#include <string.h>

static bool
all_equal(const int64_t *v, int n)
{
	for (int i = 1; i < n; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

/* v = c * product + d in all samples? */
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

/* Tries all products of `left` more atoms, from `first` on. */
static bool
search(const Sizes *s, const int64_t *v, const int64_t *product, int first, int left, bool offset, RtSizeExpr *e)
{
	int64_t more[SIZE_SAMPLES];

	if (!left)
		return is_linear(v, product, s->nsample, offset, e);
	for (int a = first; a < s->natom; a++) {
		bool fits = true;

		for (int i = 0; i < s->nsample; i++)
			fits &= size_mul(product[i], s->atom[a][i], &more[i]);
		e->atom[e->n++] = (int16_t)a;
		if (fits && search(s, v, more, a, left - 1, offset, e))
			return true;
		e->n--;
	}
	return false;
}

bool
sizes_express(const Sizes *s, const int64_t *v, bool offset, RtSizeExpr *e)
{
	int64_t one[SIZE_SAMPLES];

	for (int i = 0; i < s->nsample; i++)
		one[i] = 1;
	*e = (RtSizeExpr){ .d = v[0] };
	if (all_equal(v, s->nsample))
		return true;
	for (int with = 0; with <= offset; with++)
		for (int degree = 1; degree <= 3; degree++) {
			*e = (RtSizeExpr){ 0 };
			if (search(s, v, one, 0, degree, with, e))
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

/* The index of what a number has to be; < 0: it cannot be followed. */
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

bool
sizes_learn(Cx *cx, Sizes *s, const Shapes *const *shapes)
{
	Map known = { .arena = cx->arena };
	int n;

	shapes_numbers(shapes[0], &n);
	for (int i = 0; i < n; i++) {
		int64_t v[SIZE_SAMPLES];
		bool fixed = false;
		int at;

		for (int k = 0; k < s->nsample; k++) {
			const SizeNumber *number = shapes_numbers(shapes[k], &n);

			v[k] = number[i].i;
			fixed = number[i].kind == RT_SEEN_FIXED;
		}
		at = learn(cx, s, &known, v, fixed);
		if (at < 0 || at > UINT16_MAX)
			return false;
		vec_push(cx->arena, &s->number, (uint16_t)at);
	}
	return true;
}
