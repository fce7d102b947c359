/*
 * Sets of places in the alias database: where an element may point to, and what it reaches.
 */
#include "alias.h"

#include <stdlib.h>
#include <string.h>

int
alias_element_new(AliasDb *db)
{
	vec_push(db->arena, &db->element, (Element){0});
	return db->element.n - 1;
}

/* The value's element, made on the first call. -1 if the value cannot alias. */
int
alias_element_of(AliasDb *db, const Value *v)
{
	if (v->id >= db->nvalue || db->of[v->id] == ALIAS_UNKNOWN)
		return -1;
	if (db->of[v->id] < 0 && type_is_mutable(v->type) && !value_is_none(v))
		db->of[v->id] = alias_element_new(db);
	return db->of[v->id];
}

static int
compare_ints(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

void
alias_collect(AliasDb *db, int e, bool deep, Ints *stack, Ints *found)
{
	db->walk++;
	stack->n = 0;
	vec_push(db->arena, stack, e);
	while (stack->n) {
		const int i = stack->at[--stack->n];
		Element *x = &db->element.at[i];

		if (x->seen == db->walk)
			continue;
		x->seen = db->walk;
		if (!x->to.n)
			vec_push(db->arena, found, i);
		for (int k = 0; k < x->to.n; k++)
			vec_push(db->arena, stack, x->to.at[k]);
		for (int k = 0; deep && k < x->has.n; k++)
			vec_push(db->arena, stack, x->has.at[k]);
	}
}

IntSet *
alias_set_of(AliasDb *db, Ints *found)
{
	IntSet *s = new(db->arena, IntSet, 1);
	int n = 0;

	if (found->n > 1)
		qsort(found->at, found->n, sizeof *found->at, compare_ints);
	for (int i = 0; i < found->n; i++)
		if (!i || found->at[i] != found->at[i - 1])
			found->at[n++] = found->at[i];
	s->at = found->at;
	s->n = n;
	return s;
}

/* Returns the places that e may point to or, if `deep`, all places that it reaches. Each set is computed once. */
static const IntSet *
set_at(AliasDb *db, int e, bool deep)
{
	Ints stack = {0}, found = {0};
	IntSet **set = deep ? &db->element.at[e].reach : &db->element.at[e].places;

	if (!*set) {
		alias_collect(db, e, deep, &stack, &found);
		*set = alias_set_of(db, &found);
	}
	return *set;
}

const IntSet *
alias_places_of(AliasDb *db, int e)
{
	return set_at(db, e, false);
}

const IntSet *
alias_reach_of(AliasDb *db, int e)
{
	return set_at(db, e, true);
}

bool
alias_meet(const IntSet *a, const IntSet *b)
{
	for (int i = 0, j = 0; i < a->n && j < b->n;) {
		if (a->at[i] == b->at[j])
			return true;
		if (a->at[i] < b->at[j])
			i++;
		else
			j++;
	}
	return false;
}

void
alias_join(AliasDb *db, Ints *into, const IntSet *s)
{
	for (int i = 0; i < s->n; i++)
		vec_push(db->arena, into, s->at[i]);
}

bool
alias_is_listed(const Node *n, const Symbol *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (node_is(n, kinds[i]))
			return true;
	return false;
}

/* Whether v can alias and was made after the database. */
bool
alias_is_unknown(const AliasDb *db, const Value *v)
{
	return (v->id >= db->nvalue || db->of[v->id] == ALIAS_UNKNOWN) && type_is_mutable(v->type) && !value_is_none(v);
}
