/*
 * Questions to the alias database about nodes: what each reads and writes, what lives longer than the graph, which nodes may
 * be moved past which.
 */
#include "alias.h"

#include <stdlib.h>
#include <string.h>

/* ---- what nodes read and write ------------------------------------------------------------------------------------------ */

/* -1: every wildcard; -2 - e: all that e reaches; else the places of e. */
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

/* Those that look at the container and not into its members, or only keep a reference. */
static const char *const shallow_readers[] = {
	"prim::GetAttr", "prim::TupleUnpack", "prim::TupleIndex", "prim::TupleSlice", "prim::ListUnpack", "aten::len",
	"prim::isinstance", "aten::__is__", "aten::__isnot__", "aten::__getitem__", "prim::unchecked_cast",
};
static const char *const non_readers[] = {
	"prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct", "prim::Constant", "prim::profile",
};

static void
add_reads(AliasDb *db, Ints *into, const Node *n)
{
	const bool shallow = LISTED(n, shallow_readers);

	if (LISTED(n, non_readers))
		return;
	for (int i = 0; i < n->nin; i++) {
		const int e = alias_element_of(db, n->in[i]);

		if (e >= 0)
			alias_join(db, into, shallow ? alias_places_of(db, e) : alias_reach_of(db, e));
	}
}

static void
add_node(AliasDb *db, const Node *n, Ints *reads, Ints *writes)
{
	add_reads(db, reads, n);
	if (n->id < db->nnode)
		for (int i = 0; i < db->writes[n->id].n; i++)
			add_write(db, writes, db->writes[n->id].at[i]);
	for (int i = 0; i < n->nsub; i++)
		for NODES(inner, n->sub[i])
			add_node(db, inner, reads, writes);
}

static NodeSets
sets_of(AliasDb *db, const Node *n)
{
	Ints reads = {0}, writes = {0};
	NodeSets s;

	if (n->id < db->nnode && db->sets[n->id].reads)
		return db->sets[n->id];
	add_node(db, n, &reads, &writes);
	s.reads = alias_set_of(db, &reads);
	s.writes = alias_set_of(db, &writes);
	if (n->id < db->nnode)
		db->sets[n->id] = s;
	return s;
}

static void
mark(bool *marks, const IntSet *s)
{
	for (int i = 0; i < s->n; i++)
		marks[s->at[i]] = true;
}

static bool
any_of(const bool *marks, const IntSet *s)
{
	for (int i = 0; i < s->n; i++)
		if (marks[s->at[i]])
			return true;
	return false;
}

static bool
has_effect_deep(const Node *n)
{
	if (node_has_effect(n))
		return true;
	for (int i = 0; i < n->nsub; i++)
		for NODES(inner, n->sub[i])
			if (has_effect_deep(inner))
				return true;
	return false;
}

/* Does a graph that runs on the side write to nothing but what it made, and has it no other effect? */
bool
alias_is_pure(AliasDb *db, Graph *g)
{
	AliasDb *sub = alias_db(g, db->arena);

	alias_live_clear(sub);
	for NODES(n, g->top)
		if (has_effect_deep(n) || alias_writes_live(sub, n))
			return false;
	return true;
}

/* By element: is it a place that a node writes to, or code elsewhere does? */
static const bool *
written_marks(AliasDb *db)
{
	if (db->written)
		return db->written;
	db->written = new(db->arena, bool, db->element.n + db->nvalue + 1);
	for NODES(n, db->g->top)
		mark(db->written, sets_of(db, n).writes);
	for (int i = 0; i < db->outside.n; i++)
		mark(db->written, alias_places_of(db, db->outside.at[i]));
	return db->written;
}

static bool
is_marked_written(AliasDb *db, const Value *v, bool deep)
{
	int e;

	if (alias_is_unknown(db, v))
		return true;
	e = alias_element_of(db, v);
	if (e < 0)
		return false;
	return any_of(written_marks(db), deep ? alias_reach_of(db, e) : alias_places_of(db, e));
}

bool
alias_has_writers(AliasDb *db, const Value *v)
{
	return is_marked_written(db, v, true);
}

bool
alias_is_written(AliasDb *db, const Value *v)
{
	return is_marked_written(db, v, false);
}

bool
alias_writes(AliasDb *db, const Node *n, const Value *v)
{
	int e;

	if (alias_is_unknown(db, v))
		return alias_node_writes(db, n);
	e = alias_element_of(db, v);
	return e >= 0 && alias_meet(sets_of(db, n).writes, alias_reach_of(db, e));
}

bool
alias_node_writes(AliasDb *db, const Node *n)
{
	return sets_of(db, n).writes->n > 0;
}

static void
mark_inputs_escaped(AliasDb *db, const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (alias_element_of(db, n->in[i]) >= 0)
			mark(db->escaped, alias_reach_of(db, alias_element_of(db, n->in[i])));
}

/* The generic code that a guard leaves to may write to what it is given, where this graph has no such branch any more. */
static void
mark_left_to_generic(AliasDb *db, const Block *b)
{
	for NODES(n, b) {
		if (node_is(n, "prim::BailOut"))
			mark_inputs_escaped(db, n);
		for (int i = 0; i < n->nsub; i++)
			mark_left_to_generic(db, n->sub[i]);
	}
}

bool
alias_escapes(AliasDb *db, const Value *v)
{
	int e;

	if (alias_is_unknown(db, v))
		return true;
	e = alias_element_of(db, v);
	if (e < 0)
		return false;
	if (!db->escaped) {
		db->escaped = new(db->arena, bool, db->element.n + db->nvalue + 1);
		for (int i = 0; i < db->wildcard.n; i++)
			mark(db->escaped, alias_places_of(db, db->wildcard.at[i]));
		for (int i = 0; i < db->constant.n; i++)
			mark(db->escaped, alias_places_of(db, db->constant.at[i]));
		mark_inputs_escaped(db, db->g->top->ret);
		mark_left_to_generic(db, db->g->top);
	}
	return any_of(db->escaped, alias_places_of(db, e));
}

/* ---- what the graph does not follow --------------------------------------------------------------------------------------- */

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

/* ---- what must not be lost ------------------------------------------------------------------------------------------------ */

void
alias_live_clear(AliasDb *db)
{
	db->live = new(db->arena, bool, db->element.n + db->nvalue + 1);
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
		mark(db->live, alias_reach_of(db, e));
}

bool
alias_writes_live(AliasDb *db, const Node *n)
{
	return any_of(db->live, sets_of(db, n).writes);
}

/* ---- moving nodes ----------------------------------------------------------------------------------------------------------- */

/* Does n, or a node nested in it, use an output of m? */
static bool
uses_output(const Node *n, const Node *m)
{
	for (int i = 0; i < m->nout; i++)
		for (int k = 0; k < m->out[i]->uses.n; k++)
			if (block_owner_in(m->out[i]->uses.at[k].node, n->block) == n)
				return true;
	return false;
}

/* Must the two keep their order? */
static bool
depend(AliasDb *db, const Node *a, const Node *b)
{
	const NodeSets sa = sets_of(db, a), sb = sets_of(db, b);

	if (uses_output(a, b) || uses_output(b, a))
		return true;
	if (alias_meet(sa.writes, sb.writes) || alias_meet(sa.writes, sb.reads) || alias_meet(sa.reads, sb.writes))
		return true;
	return has_effect_deep(a) && has_effect_deep(b);
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

static Node *
step(Node *n, bool forward)
{
	return forward ? n->next : n->prev;
}

static void
move_beside(Node *n, Node *at, bool after)
{
	if (after)
		node_move_after(n, at);
	else
		node_move_before(n, at);
}

/*
 * Moves n to one side of `at`, both in one block.  Nodes between them that depend on n, or that n depends on, form a
 * set with it that keeps its order.  When n already is on the side it shall be on, n goes alone and the set goes to
 * the far side of `at`; else all of it comes along.
 */
static bool
try_move(AliasDb *db, Node *n, Node *at, bool after, bool dry)
{
	const bool forward = n != at && node_is_before(n, at), split = after ? !forward : forward;
	NodeVec set = {0};
	Node *beside = at;

	if (n == at)
		return true;
	if (n->block != at->block || n == n->block->ret || n == n->block->param)
		return false;
	vec_push(db->arena, &set, n);
	for (Node *m = step(n, forward); m != at; m = step(m, forward))
		if (any_depends(db, &set, m))
			vec_push(db->arena, &set, m);
	if (split) {
		for (int i = 1; i < set.n; i++)
			set.at[i - 1] = set.at[i];
		set.n--;
	}
	if (any_depends(db, &set, at))
		return false;
	if (dry)
		return true;
	if (split)
		move_beside(n, at, after);
	for (int i = 0; i < set.n; i++) {
		move_beside(set.at[i], beside, split ? !after : after);
		beside = set.at[i];
	}
	return true;
}

bool
alias_move_after(AliasDb *db, Node *n, Node *at)
{
	return try_move(db, n, at, true, false);
}

bool
alias_move_before(AliasDb *db, Node *n, Node *at)
{
	return try_move(db, n, at, false, false);
}

bool
alias_can_move_after(AliasDb *db, Node *n, Node *at)
{
	return try_move(db, n, at, true, true);
}

bool
alias_can_move_before(AliasDb *db, Node *n, Node *at)
{
	return try_move(db, n, at, false, true);
}
