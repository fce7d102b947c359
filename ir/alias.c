/*
 * Alias analysis: which values may share memory, which nodes write to it, and which nodes may change places.
 *
 * Every value that may alias has an element. An element has a `to` edge to each element that it may be the same as. An
 * element without `to` edges is a piece of memory, a place. Two values may alias if they reach a common place along
 * `to`. The element of a container also has `has` edges to its possible members. Both kinds of edges lead to everything
 * that is reachable from a value.
 *
 * A value that enters or leaves a container, an attribute or a call belongs to the wildcard of its type. A wildcard is
 * one place for all memory that the graph does not follow. Graph inputs are wildcards too. All classes share one
 * wildcard. If any value in the graph is Any or an interface, all types share one. The memory that a value is a view of
 * belongs to the wildcard together with the value, since it may come back from a container.
 *
 * The database describes the graph from which it was made. A value made later counts as aliasing everything, unless
 * alias_copy_value says what it stands for. Nodes may be moved and removed.
 */
#include "alias.h"

#include <stdlib.h>
#include <string.h>

/* ---- types ----------------------------------------------------------------------------------------- */

/* Whether the type is, or contains, one that does not fix the dynamic type of a value (Any, Union). */
static bool
holds_any(AliasDb *db, const Type *t, Map *seen)
{
	switch (t->kind) {
	case TYPE_ANY: case TYPE_ANY_LIST: case TYPE_ANY_TUPLE: case TYPE_VAR: case TYPE_INTERFACE: case TYPE_ANY_CLASS:
		return true;
	case TYPE_CLASS:
		if (map_get(seen, t->name))
			return false;
		map_put(seen, t->name, (void *)t);
		for (int i = 0; t->cls && i < t->cls->nslot; i++)
			if (holds_any(db, t->cls->slot_type[i], seen))
				return true;
		return false;
	default:
		for (int i = 0; i < t->n; i++)
			if (holds_any(db, t->of[i], seen))
				return true;
		return false;
	}
}

static bool
block_holds_any(AliasDb *db, const Block *b, Map *seen)
{
	for (int i = 0; i < b->param->nout; i++)
		if (holds_any(db, b->param->out[i]->type, seen))
			return true;
	for NODES(n, b) {
		for (int i = 0; i < n->nout; i++)
			if (holds_any(db, n->out[i]->type, seen))
				return true;
		for (int i = 0; i < n->nsub; i++)
			if (block_holds_any(db, n->sub[i], seen))
				return true;
	}
	return false;
}

static bool
is_object(const Type *t)
{
	return t->kind == TYPE_CLASS || t->kind == TYPE_INTERFACE || t->kind == TYPE_ANY_CLASS;
}

/* ---- elements ------------------------------------------------------------------------------------------ */

static void
point(AliasDb *db, int from, int to)
{
	if (from != to && from >= 0 && to >= 0)
		vec_push(db->arena, &db->element.at[from].to, to);
}

static void
contain(AliasDb *db, int container, int member)
{
	if (container >= 0 && member >= 0)
		vec_push(db->arena, &db->element.at[container].has, member);
}

static int wildcard_of(AliasDb *db, const Type *t);

/* Adds the wildcards of the types that a value of type t may contain. */
static void
contain_types(AliasDb *db, int e, const Type *t)
{
	if (t->kind == TYPE_OPTIONAL)
		t = t->of[0];
	if (db->any || t->kind == TYPE_TENSOR)
		return;
	for (int i = 0; i < t->n; i++)
		if (type_is_mutable(t->of[i]))
			contain(db, e, wildcard_of(db, t->of[i]));
	if (!is_object(t) || !t->cls)
		return;
	for (int i = 0; i < t->cls->nslot; i++)
		if (type_is_mutable(t->cls->slot_type[i]))
			contain(db, e, wildcard_of(db, t->cls->slot_type[i]));
}

/* Returns the wildcard of a type. The wildcard of a Union points to those of its members. An Optional has the wildcard
 * of its element. */
static int
wildcard_of(AliasDb *db, const Type *t)
{
	char key[24];
	intptr_t have;
	int e;

	t = db->any ? &rt_type_any : type_unshaped(db->graph->cx, t);
	if (t->kind == TYPE_OPTIONAL)
		return wildcard_of(db, t->of[0]);
	snprintf(key, sizeof key, "%p", (const void *)t);
	have = (intptr_t)map_get(&db->wildcards, key);
	if (have)
		return (int)have - 1;
	e = alias_element_new(db);
	map_put(&db->wildcards, arena_strdup(db->arena, key), (void *)(intptr_t)(e + 1));
	if (t->kind == TYPE_UNION) {
		for (int i = 0; i < t->n; i++)
			if (type_is_mutable(t->of[i]))
				point(db, e, wildcard_of(db, t->of[i]));
		return e;
	}
	vec_push(db->arena, &db->wildcard, e);
	vec_push(db->arena, &db->wildcard_type, t);
	if (is_object(t) && t->kind != TYPE_ANY_CLASS)
		point(db, e, wildcard_of(db, &rt_type_any_class));
	contain_types(db, e, t);
	return e;
}

static void
make_wildcard(AliasDb *db, const Value *v)
{
	const int e = alias_element_of(db, v);
	Wild w;

	if (e < 0)
		return;
	w = (Wild){ .e = e, .wildcard = wildcard_of(db, v->type) };
	point(db, e, w.wildcard);
	vec_push(db->arena, &db->wild, w);
}

/* Makes v new memory. Its members are wildcards. */
static void
make_fresh(AliasDb *db, const Value *v)
{
	const int e = alias_element_of(db, v);

	if (e >= 0)
		contain_types(db, e, v->type);
	if (e >= 0 && db->any && v->type->kind != TYPE_TENSOR)
		contain(db, e, wildcard_of(db, v->type));
}

static void
make_alias(AliasDb *db, const Value *v, const Value *of)
{
	const int e = alias_element_of(db, v), to = alias_element_of(db, of);

	if (e >= 0 && to >= 0)
		point(db, e, to);
	else if (e >= 0)
		make_wildcard(db, v);
}

static void
register_write(AliasDb *db, const Node *n, int e)
{
	if (e >= 0)
		vec_push(db->arena, &db->writes[n->id], e);
}

/* Registers a write to everything that is reachable from v. */
static void
register_deep_write(AliasDb *db, const Node *n, const Value *v)
{
	const int e = alias_element_of(db, v);
	int inside;

	if (e < 0)
		return;
	register_write(db, n, e);
	if (v->type->kind == TYPE_TENSOR)
		return;
	/* v may still get members, so the new element stands for all members that v ever has. */
	inside = alias_element_new(db);
	contain(db, inside, e);
	vec_push(db->arena, &db->writes[n->id], -2 - inside);
}

/* ---- operators, by their schemas ------------------------------------------------------------------------------- */

/* Whether the node is an einsum of several operands. An einsum of one operand may be a view of it. */
static bool
sums_products(const Node *n)
{
	return node_is(n, aten_einsum) && node_is(n->in[1]->node, prim_ListConstruct) && n->in[1]->node->nin > 1;
}

bool
node_divides(const Node *n)
{
	return op_has(n->op, TRAIT_SPLITS);
}

/* Whether the result is known to have another dtype than the first argument. Then it has memory of its own. */
static bool
changes_dtype(const Node *n)
{
	const TensorInfo *from = n->in[0]->type->tensor, *to = n->nout == 1 ? n->out[0]->type->tensor : NULL;

	return from && to && from->dtype >= 0 && to->dtype >= 0 && from->dtype != to->dtype;
}

bool
node_may_return_input(const Node *n)
{
	return op_has(n->op, TRAIT_MAY_RETURN_INPUT) && !sums_products(n) && !changes_dtype(n);
}

bool
value_is_fresh(const Value *v)
{
	const Schema *s = node_schema(v->node);

	return s && v->node->op && !s->varret && v->index < s->nrets && !s->rets[v->index].alias &&
	       !type_has_vars(s->rets[v->index].type) && !node_may_return_input(v->node);
}

static bool
is_wildcard_set(const AliasSet *a)
{
	for (int i = 0; a && i < a->before.n; i++)
		if (sym_is(a->before.at[i], "*"))
			return true;
	return false;
}

static bool
becomes_wildcard(const AliasSet *a)
{
	for (int i = 0; i < a->after.n; i++)
		if (sym_is(a->after.at[i], "*"))
			return true;
	return false;
}

static bool
share_set(const AliasSet *a, const AliasSet *b)
{
	for (int i = 0; i < a->before.n; i++)
		for (int k = 0; k < b->before.n; k++)
			if (a->before.at[i] == b->before.at[k])
				return true;
	return false;
}

static void
analyze_arg(AliasDb *db, const Node *n, const Value *v, const AliasSet *a)
{
	if (!a)
		return;
	if (a->write)
		register_write(db, n, alias_element_of(db, v));
	if (becomes_wildcard(a) || is_wildcard_set(a))
		make_wildcard(db, v);
	if (a->inner && a->inner->write)
		register_deep_write(db, n, v);
}

/* A result may alias every argument that shares an alias set with it. For (a)[] the elements may, and become
 * wildcards. */
static void
analyze_result(AliasDb *db, const Node *n, const Schema *s, const Value *v, const AliasSet *a)
{
	bool found = false;

	if (!a || is_wildcard_set(a)) {
		if (a)
			make_wildcard(db, v);
		else
			make_fresh(db, v);
		return;
	}
	for (int i = 0; i < s->nargs && i < n->nin; i++)
		if (s->args[i].alias && share_set(a, s->args[i].alias)) {
			make_alias(db, v, n->in[i]);
			found = true;
		}
	if (a->inner)
		for (int i = 0; i < s->nargs && i < n->nin; i++)
			if (s->args[i].alias && share_set(a->inner, s->args[i].alias))
				make_wildcard(db, n->in[i]);
	if (!found)
		make_fresh(db, v);
}

/* Registers writes to the running statistics of a normalization in training, which its schema does not show. */
static void
analyze_statistics(AliasDb *db, const Node *n, const Schema *s)
{
	static const char *const flags[] = { "training", "train", "use_input_stats" };
	const Value *flag = NULL;
	int64_t on;

	if (!op_has(n->op, TRAIT_TRAINS))
		return;
	for (int i = 0; i < 3 && !flag; i++)
		flag = node_arg(n, flags[i]);
	if (!flag || (value_int(flag, &on) && !on))
		return;
	for (int i = 0; i < s->nargs; i++)
		if (!strcmp(s->args[i].name, "running_mean") || !strcmp(s->args[i].name, "running_var") ||
		    !strcmp(s->args[i].name, "noise"))
			register_write(db, n, alias_element_of(db, n->in[i]));
}

/* Makes the result an alias of the argument, or of any member of it. */
static void
make_alias_of_argument(AliasDb *db, const Value *result, const Value *argument)
{
	if (argument->type->kind == TYPE_TENSOR)
		make_alias(db, result, argument);
	else if (type_is_mutable(argument->type))
		make_wildcard(db, result);
}

static void
analyze_op(AliasDb *db, const Node *n)
{
	const Schema *s = op_schema(db->graph->cx, n->op);
	const bool loose = node_may_return_input(n);

	for (int i = 0; i < n->nin; i++) {
		analyze_arg(db, n, n->in[i], i < s->nargs ? s->args[i].alias : NULL);
		if (loose && n->in[i]->type->kind != TYPE_TENSOR)
			make_wildcard(db, n->in[i]);
	}
	for (int i = 0; i < n->nout; i++) {
		analyze_result(db, n, s, n->out[i], i < s->nrets ? s->rets[i].alias : NULL);
		for (int k = 0; loose && k < n->nin; k++)
			if (n->out[i]->type->kind == TYPE_TENSOR)
				make_alias_of_argument(db, n->out[i], n->in[k]);
	}
	for (int i = 1; i < n->nin && op_has(n->op, TRAIT_SETS_MEMORY); i++)
		if (n->in[i]->type->kind == TYPE_TENSOR)
			make_alias(db, n->in[0], n->in[i]);
	analyze_statistics(db, n, s);
}

/* ---- node kinds without a schema --------------------------------------------------------------------------------- */

static void analyze_block(AliasDb *db, const Block *b);

static void
analyze_conservative(AliasDb *db, const Node *n)
{
	for (int i = 0; i < n->nin; i++) {
		register_deep_write(db, n, n->in[i]);
		make_wildcard(db, n->in[i]);
	}
	for (int i = 0; i < n->nout; i++)
		make_wildcard(db, n->out[i]);
}

static void
analyze_if(AliasDb *db, const Node *n)
{
	analyze_block(db, if_then(n));
	analyze_block(db, if_else(n));
	for (int i = 0; i < n->nout; i++)
		for (int b = 0; b < 2; b++)
			if (!value_is_none(n->sub[b]->ret->in[i]) &&
			    !node_is(n->sub[b]->ret->in[i]->node, prim_Uninitialized))
				make_alias(db, n->out[i], n->sub[b]->ret->in[i]);
}

static void
analyze_loop(AliasDb *db, const Node *n)
{
	const Block *b = loop_body(n);

	for (int i = 0; i < n->nout; i++)
		if (!value_is_none(n->in[2 + i]) && !node_is(n->in[2 + i]->node, prim_Uninitialized))
			make_alias(db, b->param->out[1 + i], n->in[2 + i]);
	analyze_block(db, b);
	for (int i = 0; i < n->nout; i++) {
		if (!value_is_none(b->ret->in[1 + i])) {
			make_alias(db, b->param->out[1 + i], b->ret->in[1 + i]);
			make_alias(db, n->out[i], b->ret->in[1 + i]);
		}
		make_alias(db, n->out[i], b->param->out[1 + i]);
	}
}

static bool
is_only_read(const Value *list)
{
	for (int i = 0; i < list->uses.n; i++)
		if (!op_has(list->uses.at[i].node->op, TRAIT_READS_LIST) && !sums_products(list->uses.at[i].node))
			return false;
	return list->type->kind == TYPE_LIST;
}

static void
analyze_container(AliasDb *db, const Node *n)
{
	const Value *v = n->out[0];
	const int e = alias_element_of(db, v);
	const bool closed = v->type->kind == TYPE_TUPLE || is_only_read(v);

	if (!closed)
		make_fresh(db, v);
	for (int i = 0; i < n->nin; i++) {
		contain(db, e, alias_element_of(db, n->in[i]));
		if (!closed || v->type->kind == TYPE_TUPLE)
			make_wildcard(db, n->in[i]);
	}
}

static void
analyze_outputs_wild(AliasDb *db, const Node *n)
{
	for (int i = 0; i < n->nout; i++)
		make_wildcard(db, n->out[i]);
}

static void
analyze_fresh(AliasDb *db, const Node *n)
{
	for (int i = 0; i < n->nout; i++)
		make_fresh(db, n->out[i]);
}

static void
analyze_same(AliasDb *db, const Node *n)
{
	for (int i = 0; i < n->nout && i < n->nin; i++)
		make_alias(db, n->out[i], n->in[i]);
}


static void
analyze_if_then_else(AliasDb *db, const Node *n)
{
	make_alias(db, n->out[0], n->in[1]);
	make_alias(db, n->out[0], n->in[2]);
}

/* Adds an edge from every place of a wildcard's members to the wildcard. Called when all nodes have been analyzed. */
static void
spread_wildcards(AliasDb *db)
{
	bool *is_wildcard = new(db->arena, bool, db->element.n + 1);
	Ints stack = {0};

	for (int i = 0; i < db->wildcard.n; i++)
		is_wildcard[db->wildcard.at[i]] = true;
	for (int i = 0; i < db->wild.n; i++) {
		Ints found = {0};

		alias_collect(db, db->wild.at[i].e, false, &stack, &found);
		db->wild.at[i].places = alias_set_of(db, &found);
	}
	for (int i = 0; i < db->wild.n; i++)
		for (int k = 0; k < db->wild.at[i].places->n; k++)
			if (!is_wildcard[db->wild.at[i].places->at[k]])
				point(db, db->wild.at[i].places->at[k], db->wild.at[i].wildcard);
	for (int i = 0; i < db->element.n; i++)
		db->element.at[i].places = db->element.at[i].reach = NULL;
}

static void
analyze_nothing(AliasDb *db, const Node *n)
{
	(void)db;
	(void)n;
}

/* Returns the element of memory that outlives the graph, such as a storage or a list. */
static int
element_at(AliasDb *db, const void *memory)
{
	char key[24];
	intptr_t have;

	snprintf(key, sizeof key, "@%p", memory);
	have = (intptr_t)map_get(&db->wildcards, key);
	if (!have) {
		have = alias_element_new(db) + 1;
		map_put(&db->wildcards, arena_strdup(db->arena, key), (void *)have);
	}
	return (int)have - 1;
}

/* An attribute whose memory is known points to the element of that memory. The object contains this element. */
static void
analyze_get_attr(AliasDb *db, const Node *n)
{
	const void *place = db->place ? db->place(db->place_arg, n->out[0]) : NULL;
	const int e = alias_element_of(db, n->out[0]);
	int at;

	if (!place || e < 0) {
		make_wildcard(db, n->out[0]);
		return;
	}
	at = element_at(db, place);
	contain_types(db, at, n->out[0]->type);
	point(db, e, at);
	contain(db, alias_element_of(db, n->in[0]), at);
}

static void
analyze_set_attr(AliasDb *db, const Node *n)
{
	register_write(db, n, alias_element_of(db, n->in[0]));
	make_wildcard(db, n->in[1]);
}

/* Constants with the same storage share one element, which outlives the graph. If code may write to the storage, other
 * graphs may have stored it too: the constant is then also a wildcard and written outside. */
static void
analyze_constant(AliasDb *db, const Node *n)
{
	const int e = alias_element_of(db, n->out[0]);
	IValue v;
	int at;

	make_fresh(db, n->out[0]);
	if (e < 0 || !value_constant(n->out[0], &v) || v.tag != RT_TENSOR)
		return;
	at = element_at(db, v.u.t->storage);
	vec_push(db->arena, &db->constant, at);
	if (v.u.t->storage->written) {
		vec_push(db->arena, &db->outside, at);
		make_wildcard(db, n->out[0]);
	}
	point(db, e, at);
}

/* Whether the graph of a fork writes only to memory that it made, and has no other effect. */
static bool
is_pure(AliasDb *db, Graph *g)
{
	AliasDb *sub = alias_db(g, db->arena);

	alias_live_clear(sub);
	for NODES(n, g->top)
		if (alias_has_effect(n) || alias_writes_live(sub, n))
			return false;
	return true;
}

static void
analyze_fork(AliasDb *db, const Node *n)
{
	const bool pure = is_pure(db, node_attr(n, "Subgraph")->g);

	for (int i = 0; i < n->nin; i++) {
		if (!pure)
			register_deep_write(db, n, n->in[i]);
		make_wildcard(db, n->in[i]);
	}
	make_fresh(db, n->out[0]);
}

/* Code may read the value back from the result, so the value becomes a wildcard. */
static void
analyze_awaited(AliasDb *db, const Node *n)
{
	make_wildcard(db, n->in[0]);
	make_fresh(db, n->out[0]);
}

/* A forked function may write to its arguments until the wait returns, so the wait writes to all wildcards. The wait
 * for a pure fork writes to nothing. An awaitable runs in its wait and reads its arguments then, so its wait counts as
 * a write. */
static void
analyze_wait(AliasDb *db, const Node *n)
{
	const Node *fork = n->in[0]->node;

	make_wildcard(db, n->out[0]);
	if (!node_is(fork, prim_fork) || !is_pure(db, node_attr(fork, "Subgraph")->g))
		vec_push(db->arena, &db->writes[n->id], -1);
}

/* Kinds that need an analysis of their own. The results of a FusionGroup are freshly allocated, since its subgraph is
 * pure. */
static const struct { Symbol kind; void (*analyze)(AliasDb *, const Node *); } kinds[] = {
	{ prim_Constant, analyze_constant },
	{ prim_If, analyze_if },
	{ prim_Loop, analyze_loop },
	{ prim_ListConstruct, analyze_container },
	{ prim_DictConstruct, analyze_container },
	{ prim_TupleConstruct, analyze_container },
	{ prim_TupleUnpack, analyze_outputs_wild },
	{ prim_TupleIndex, analyze_outputs_wild },
	{ prim_TupleSlice, analyze_outputs_wild },
	{ prim_ListUnpack, analyze_outputs_wild },
	{ prim_GetAttr, analyze_get_attr },
	{ prim_SetAttr, analyze_set_attr },
	{ prim_CreateObject, analyze_fresh },
	{ prim_Uninitialized, analyze_fresh },
	{ prim_tolist, analyze_fresh },
	{ prim_AutogradZero, analyze_fresh },
	{ prim_FusionGroup, analyze_fresh },
	{ prim_unchecked_cast, analyze_same },
	{ prim_unchecked_unwrap_optional, analyze_same },
	{ prim_profile, analyze_same },
	{ prim_TypeCheck, analyze_same },
	{ prim_RequiresGradCheck, analyze_same },
	{ prim_Guard, analyze_same },
	{ prim_BailOut, analyze_same },
	{ prim_BailoutTemplate, analyze_nothing },
	{ prim_IfThenElse, analyze_if_then_else },
	{ prim_fork, analyze_fork },
	{ prim_awaitable, analyze_fork },
	{ prim_awaitable_nowait, analyze_awaited },
	{ aten_wait, analyze_wait },
	{ prim_awaitable_wait, analyze_wait },
	{ prim_Print, analyze_nothing },
	{ prim_isinstance, analyze_nothing },
	{ prim_RaiseException, analyze_nothing },
};

static void
analyze_node(AliasDb *db, const Node *n)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (node_is(n, kinds[i].kind)) {
			kinds[i].analyze(db, n);
			return;
		}
	if (n->op)
		analyze_op(db, n);
	else
		analyze_conservative(db, n);
}

static void
analyze_block(AliasDb *db, const Block *b)
{
	cx_enter(db->graph->cx, b->ret->at);
	for NODES(n, b)
		analyze_node(db, n);
	cx_leave(db->graph->cx);
}

AliasDb *
alias_db(Graph *g, Arena *arena)
{
	return alias_db_placed(g, arena, NULL, NULL);
}

AliasDb *
alias_db_placed(Graph *g, Arena *arena, const void *(*place)(void *, const Value *), void *arg)
{
	AliasDb *db = new(arena, AliasDb, 1);
	Map seen = { .arena = arena };

	db->place = place;
	db->place_arg = arg;
	db->graph = g;
	db->arena = arena;
	db->nvalue = g->nvalue;
	db->nnode = g->nnode;
	db->of = new(arena, int, g->nvalue + 1);
	memset(db->of, -1, g->nvalue * sizeof *db->of);
	db->writes = new(arena, Ints, g->nnode + 1);
	db->sets = new(arena, NodeSets, g->nnode + 1);
	db->wildcards.arena = arena;
	db->any = block_holds_any(db, g->top, &seen);
	for (int i = 0; i < graph_ninputs(g); i++)
		make_wildcard(db, graph_inputs(g)[i]);
	analyze_block(db, g->top);
	spread_wildcards(db);
	return db;
}

void
alias_written_outside(AliasDb *db, const Value *v)
{
	const int e = alias_element_of(db, v);

	if (e >= 0)
		vec_push(db->arena, &db->outside, e);
}

/* Extends `of` to cover the id. At least doubles its length, so that adding values one by one takes linear time. */
static void
cover(AliasDb *db, int id)
{
	const int n = db->nvalue * 2 > id + 1 ? db->nvalue * 2 : id + 1;
	int *of = new(db->arena, int, n);

	memcpy(of, db->of, db->nvalue * sizeof *of);
	for (int i = db->nvalue; i < n; i++)
		of[i] = ALIAS_UNKNOWN;
	db->of = of;
	db->nvalue = n;
}

void
alias_copy_value(AliasDb *db, const Value *from, const Value *to)
{
	const int e = alias_is_unknown(db, from) ? ALIAS_UNKNOWN : alias_element_of(db, from);

	if (to->id >= db->nvalue)
		cover(db, to->id);
	db->of[to->id] = e;
}

/* ---- questions about values -------------------------------------------------------------------------------------- */

bool
alias_may(AliasDb *db, const Value *a, const Value *b)
{
	int ea, eb;

	if (a == b && type_is_mutable(a->type))
		return true;
	if (alias_is_unknown(db, a) || alias_is_unknown(db, b))
		return type_is_mutable(a->type) && type_is_mutable(b->type);
	ea = alias_element_of(db, a);
	eb = alias_element_of(db, b);
	return ea >= 0 && eb >= 0 && alias_meet(alias_places_of(db, ea), alias_places_of(db, eb));
}

bool
alias_may_contain(AliasDb *db, const Value *a, const Value *b)
{
	int ea, eb;

	if (alias_is_unknown(db, a) || alias_is_unknown(db, b))
		return type_is_mutable(a->type) && type_is_mutable(b->type);
	ea = alias_element_of(db, a);
	eb = alias_element_of(db, b);
	return ea >= 0 && eb >= 0 && alias_meet(alias_reach_of(db, ea), alias_reach_of(db, eb));
}
