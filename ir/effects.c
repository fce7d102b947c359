/*
 * Queries to the alias database about nodes: what they read and write, what outlives the graph, which nodes may be
 * moved past which.
 */
#include "alias.h"

#include <stdlib.h>
#include <string.h>

/* ---- reads and writes of nodes ----------------------------------------------------------------------------------- */

/* Adds the places of a registered write. -1 stands for the places of all wildcards, -2 - e for all that e reaches,
 * other numbers for the places of e. */
static void
add_write(AliasDb *db, Ints *into, int e)
{
	if (e >= 0)
		alias_join(db, into, alias_places_of(db, e));
	else if (e == -1)
		for (int i = 0; i < db->wildcard.n; i++)
			alias_join(db, into, alias_places_of(db, db->wildcard.at[i]));
	else
		alias_join(db, into, alias_reach_of(db, -2 - e));
}

/* Kinds without an operator that read only the container, not its members. non_readers only keep a reference. */
static const Symbol shallow_readers[] = {
	prim_GetAttr, prim_TupleUnpack, prim_TupleIndex, prim_TupleSlice, prim_ListUnpack, prim_isinstance,
	prim_unchecked_cast,
};
static const Symbol non_readers[] = {
	prim_TupleConstruct, prim_ListConstruct, prim_DictConstruct, prim_Constant, prim_profile,
};

static void
add_reads(AliasDb *db, Ints *into, const Node *n)
{
	const bool shallow = LISTED(n, shallow_readers) || op_has(n->op, TRAIT_READS_CONTAINER);

	if (LISTED(n, non_readers))
		return;
	for (int i = 0; i < n->nin; i++) {
		const int e = alias_element_of(db, n->in[i]);

		if (e >= 0)
			alias_join(db, into, shallow ? alias_places_of(db, e) : alias_reach_of(db, e));
	}
}

static void
add_writes(AliasDb *db, Ints *into, const Node *n)
{
	for (int i = 0; n->id < db->nnode && i < db->writes[n->id].n; i++)
		add_write(db, into, db->writes[n->id].at[i]);
}

/* Returns the places that the node and the nodes in its blocks read or write. `add` adds the places of one node. */
static const IntSet *
set_of_node(AliasDb *db, const Node *n, void (*add)(AliasDb *, Ints *, const Node *))
{
	IntSet **kept = n->id >= db->nnode ? NULL : add == add_reads ? &db->sets[n->id].reads : &db->sets[n->id].writes;
	Ints found = {0};
	IntSet *s;

	if (kept && *kept)
		return *kept;
	add(db, &found, n);
	for (int i = 0; i < n->nsub; i++)
		for NODES(inner, n->sub[i])
			alias_join(db, &found, set_of_node(db, inner, add));
	s = alias_set_of(db, &found);
	if (kept)
		*kept = s;
	return s;
}

static const IntSet *
writes_of(AliasDb *db, const Node *n)
{
	return set_of_node(db, n, add_writes);
}

static const IntSet *
reads_of(AliasDb *db, const Node *n)
{
	return set_of_node(db, n, add_reads);
}

static void
mark(bool *marks, const IntSet *s)
{
	for (int i = 0; i < s->n; i++)
		marks[s->at[i]] = true;
}

/* Marks all places that e reaches. seen: elements that were visited before. */
static void
mark_reach(AliasDb *db, bool *marks, bool *seen, int e)
{
	Ints stack = {0};

	vec_push(db->arena, &stack, e);
	while (stack.n) {
		const int i = stack.at[--stack.n];
		const Element *x = &db->element.at[i];

		if (seen[i])
			continue;
		seen[i] = true;
		marks[i] |= !x->to.n;
		for (int k = 0; k < x->to.n; k++)
			vec_push(db->arena, &stack, x->to.at[k]);
		for (int k = 0; k < x->has.n; k++)
			vec_push(db->arena, &stack, x->has.at[k]);
	}
}

static bool *
flags_new(AliasDb *db)
{
	return new(db->arena, bool, db->element.n + db->nvalue + 1);
}

/* Returns, for each element, whether it leads to a marked place along `to` edges or, if `deep`, along both kinds of
 * edges. Walks all edges backwards from the marked places, once. */
static const bool *
leads_to(AliasDb *db, const bool *marks, bool deep)
{
	const int n = db->element.n;
	Ints *from = new(db->arena, Ints, n + 1), stack = {0};
	bool *leads = flags_new(db);

	for (int i = 0; i < n; i++) {
		const Element *x = &db->element.at[i];

		for (int k = 0; k < x->to.n; k++)
			vec_push(db->arena, &from[x->to.at[k]], i);
		for (int k = 0; deep && k < x->has.n; k++)
			vec_push(db->arena, &from[x->has.at[k]], i);
		if (marks[i] && !x->to.n)
			vec_push(db->arena, &stack, i);
	}
	while (stack.n) {
		const int i = stack.at[--stack.n];

		if (leads[i])
			continue;
		leads[i] = true;
		for (int k = 0; k < from[i].n; k++)
			vec_push(db->arena, &stack, from[i].at[k]);
	}
	return leads;
}

static bool
any_of(const bool *marks, const IntSet *s)
{
	for (int i = 0; i < s->n; i++)
		if (marks[s->at[i]])
			return true;
	return false;
}

bool
alias_has_effect(const Node *n)
{
	if (node_has_effect(n))
		return true;
	for (int i = 0; i < n->nsub; i++)
		for NODES(inner, n->sub[i])
			if (alias_has_effect(inner))
				return true;
	return false;
}

/* Returns, for each element, whether it is a place that a node of the graph or outside code writes to. */
static const bool *
written_marks(AliasDb *db)
{
	if (db->written)
		return db->written;
	db->written = flags_new(db);
	for NODES(n, db->graph->top)
		mark(db->written, writes_of(db, n));
	for (int i = 0; i < db->outside.n; i++)
		mark(db->written, alias_reach_of(db, db->outside.at[i]));
	return db->written;
}

/* Whether v leads to a marked place. *known: the answers for all elements, computed if null. */
static bool
leads(AliasDb *db, const Value *v, const bool *(*marks)(AliasDb *), bool deep, const bool **known)
{
	int e;

	if (alias_is_unknown(db, v))
		return true;
	e = alias_element_of(db, v);
	if (e < 0)
		return false;
	if (!*known)
		*known = leads_to(db, marks(db), deep);
	return (*known)[e];
}

bool
alias_has_writers(AliasDb *db, const Value *v)
{
	return leads(db, v, written_marks, true, &db->to_written[true]);
}

bool
alias_node_has_writers(AliasDb *db, const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (alias_has_writers(db, n->in[i]))
			return true;
	for (int i = 0; i < n->nout; i++)
		if (alias_has_writers(db, n->out[i]))
			return true;
	return false;
}

bool
alias_is_written(AliasDb *db, const Value *v)
{
	return leads(db, v, written_marks, false, &db->to_written[false]);
}

bool
alias_writes(AliasDb *db, const Node *n, const Value *v)
{
	int e;

	if (alias_is_unknown(db, v))
		return alias_node_writes(db, n);
	e = alias_element_of(db, v);
	return e >= 0 && alias_meet(writes_of(db, n), alias_reach_of(db, e));
}

bool
alias_node_writes(AliasDb *db, const Node *n)
{
	return writes_of(db, n)->n > 0;
}

static void
mark_inputs_escaped(AliasDb *db, bool *escaped, bool *seen, const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (alias_element_of(db, n->in[i]) >= 0)
			mark_reach(db, escaped, seen, alias_element_of(db, n->in[i]));
}

/* Marks the inputs of bailouts. The generic code may write to them in a branch that this graph no longer has. */
static void
mark_left_to_generic(AliasDb *db, bool *escaped, bool *seen)
{
	for ALL_NODES(n, db->graph->top)
		if (node_is(n, prim_BailOut))
			mark_inputs_escaped(db, escaped, seen, n);
}

/* Returns, for each element, whether it is a place that outlives the graph or is known outside of it. */
static const bool *
escaped_marks(AliasDb *db)
{
	bool *escaped = flags_new(db), *seen = flags_new(db);

	for (int i = 0; i < db->wildcard.n; i++)
		mark(escaped, alias_places_of(db, db->wildcard.at[i]));
	for (int i = 0; i < db->constant.n; i++)
		mark(escaped, alias_places_of(db, db->constant.at[i]));
	mark_inputs_escaped(db, escaped, seen, db->graph->top->ret);
	mark_left_to_generic(db, escaped, seen);
	return escaped;
}

bool
alias_escapes(AliasDb *db, const Value *v)
{
	return leads(db, v, escaped_marks, false, &db->to_escaped);
}

/* ---- wildcards --------------------------------------------------------------------------------------------------- */

bool
alias_is_wild(AliasDb *db, const Value *v)
{
	const int e = alias_is_unknown(db, v) ? -1 : alias_element_of(db, v);

	for (int i = 0; e >= 0 && i < db->wildcard.n; i++)
		if (alias_meet(alias_places_of(db, e), alias_places_of(db, db->wildcard.at[i])))
			return true;
	return alias_is_unknown(db, v);
}

bool
alias_wild_is_written(AliasDb *db, bool tensors)
{
	for (int i = 0; i < db->wildcard.n; i++) {
		const Type *t = db->wildcard_type.at[i];
		const bool object = t->kind == TYPE_CLASS || t->kind == TYPE_ANY_CLASS;

		if ((db->any || (!object && (t->kind == TYPE_TENSOR) == tensors)) &&
		    any_of(written_marks(db), alias_places_of(db, db->wildcard.at[i])))
			return true;
	}
	return false;
}

/* ---- the live set ------------------------------------------------------------------------------------------------ */

void
alias_live_clear(AliasDb *db)
{
	db->live = flags_new(db);
	db->live_seen = flags_new(db);
	for (int i = 0; i < db->wildcard.n; i++)
		mark(db->live, alias_places_of(db, db->wildcard.at[i]));
	for (int i = 0; i < db->constant.n; i++)
		mark(db->live, alias_places_of(db, db->constant.at[i]));
}

void
alias_live_add(AliasDb *db, const Value *v)
{
	const int e = alias_is_unknown(db, v) ? -1 : alias_element_of(db, v);

	if (e >= 0)
		mark_reach(db, db->live, db->live_seen, e);
}

bool
alias_writes_live(AliasDb *db, const Node *n)
{
	return any_of(db->live, writes_of(db, n));
}

/* ---- moving nodes ------------------------------------------------------------------------------------------------ */

/* Whether n, or a node nested in it, uses an output of m. */
static bool
uses_output(const Node *n, const Node *m)
{
	for (int i = 0; i < m->nout; i++)
		for (int k = 0; k < m->out[i]->uses.n; k++)
			if (block_owner_in(m->out[i]->uses.at[k].node, n->block) == n)
				return true;
	return false;
}

/* Whether the two nodes must keep their order. */
static bool
depend(AliasDb *db, const Node *a, const Node *b)
{
	if (uses_output(a, b) || uses_output(b, a))
		return true;
	if (alias_meet(writes_of(db, a), writes_of(db, b)) ||
	    (writes_of(db, a)->n && alias_meet(writes_of(db, a), reads_of(db, b))) ||
	    (writes_of(db, b)->n && alias_meet(reads_of(db, a), writes_of(db, b))))
		return true;
	return alias_has_effect(a) && alias_has_effect(b);
}

typedef Vec(Node *) NodeVec;

static bool
any_depends(AliasDb *db, const NodeVec *set, const Node *n)
{
	for (int i = 0; i < set->n; i++)
		if (depend(db, set->at[i], n))
			return true;
	return false;
}

/* Moves n before `at`, with the nodes between them that it depends on. dry: only test whether that is possible. Returns
 * whether it is. */
static bool
try_move(AliasDb *db, Node *n, Node *at, bool dry)
{
	NodeVec set = {0};
	Node *beside = at;

	if (n == at)
		return true;
	if (n->block != at->block || n == n->block->ret || n == n->block->param)
		return false;
	if (node_is_before(n, at))
		return true;
	vec_push(db->arena, &set, n);
	for (Node *m = n->prev; m != at; m = m->prev)
		if (any_depends(db, &set, m))
			vec_push(db->arena, &set, m);
	if (any_depends(db, &set, at))
		return false;
	for (int i = 0; i < set.n && !dry; i++) {
		node_move_before(set.at[i], beside);
		beside = set.at[i];
	}
	return true;
}

bool
alias_move_before(AliasDb *db, Node *n, Node *at)
{
	return try_move(db, n, at, false);
}

bool
alias_can_move_before(AliasDb *db, Node *n, Node *at)
{
	return try_move(db, n, at, true);
}
