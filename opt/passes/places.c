/*
 * Finds which attributes share memory, and which memory the graphs of an instance write to.
 *
 * The object that the graphs will run on is known, so a chain of prim::GetAttr from a graph's first input leads to a
 * value.  The storage, list or dict of this value is the attribute's memory: two attributes may be one tensor, or views
 * of one storage.  The alias database gets the addresses of this memory.  That is sound only for memory that no graph
 * can reach in another way.  Memory that one can reach is called loose: it has no address in the database, and may
 * alias every wildcard.  Loose memory is:
 *
 *   - the value of an attribute that some prim::SetAttr may replace: until then, reads of the attribute return it;
 *   - elements of containers, and the attributes of objects in containers;
 *   - what one of several graphs stores, or returns from a task: another graph, or the next call, may read it there.
 *
 * An argument is never the instance's own state.
 */
#include "places.h"

enum { LOOSE = 1, WRITTEN = 2 };

/* ---- attributes that may be set -------------------------------------------------------------------- */

static void find_sets(Places *q, const Block *b);

static void
find_in_function(Places *q, Function *fn)
{
	if (!fn) {
		q->unknown = true;
		return;
	}
	if (map_get(&q->visited, fn->name))
		return;
	map_put(&q->visited, fn->name, fn);
	find_sets(q, (fn->graph ? fn->graph : function_graph(q->pass->cx, fn))->top);
}

static bool
has_object(const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i]->type->kind == TYPE_CLASS || n->in[i]->type->kind == TYPE_INTERFACE)
			return true;
	return false;
}

static void
find_sets(Places *q, const Block *b)
{
	cx_enter(q->pass->cx, b->ret->at);
	for NODES(n, b) {
		const Attr *sub = node_attr(n, "Subgraph");

		if (node_is(n, prim_SetAttr)) {
			map_put(&q->set, node_str(n, "name"), n);
		} else if (node_is(n, prim_CallMethod) || node_is(n, prim_CallFunction)) {
			find_in_function(q, node_function(n));
			q->called |= has_object(n);
		} else if (node_is(n, prim_Enter) || node_is(n, prim_Exit)) {
			q->unknown |= n->in[0]->type->kind != TYPE_CLASS;
		}
		if (sub && sub->kind == ATTR_GRAPH)
			find_sets(q, sub->g->top);
		for (int i = 0; i < n->nsub; i++)
			find_sets(q, n->sub[i]);
	}
	cx_leave(q->pass->cx);
}

/* ---- values of attributes ---------------------------------------------------------------------------- */

bool
places_resolve(const Scope *s, const Value *v, IValue *out)
{
	const Node *n = v->node;
	IValue object;
	int slot;

	if (n == s->graph->top->param && s->fork)
		return v->index < s->fork->nin && places_resolve(s->outer, s->fork->in[v->index], out);
	if (n == s->graph->top->param) {
		*out = s->all->pass->self;
		return v->index == 0 && out->tag == RT_OBJECT;
	}
	if (node_is(n, prim_unchecked_cast))
		return places_resolve(s, n->in[0], out) &&
		       rt_may_be(*out, type_unshaped(s->all->pass->cx, n->out[0]->type));
	if (!node_is(n, prim_GetAttr) || map_get(&s->all->set, node_str(n, "name")) ||
	    !places_resolve(s, n->in[0], &object) || object.tag != RT_OBJECT)
		return false;
	slot = class_slot(object.u.obj->cls, node_str(n, "name"));
	if (slot < 0)
		return false;
	*out = object.u.obj->slot[slot];
	return true;
}

/* Is the object v used only by nodes such as attribute reads, so that nothing else can reach its attributes? */
static bool
stays_home(const Value *v)
{
	static const Symbol harmless[] = { prim_GetAttr, prim_SetAttr, prim_CallMethod, prim_fork,
						prim_unchecked_cast, prim_isinstance, aten___is__,
						aten___isnot__ };

	for (int i = 0; i < v->uses.n; i++) {
		bool fine = false;

		for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++)
			fine |= node_is(v->uses.at[i].node, harmless[k]);
		if (!fine || (v->uses.at[i].index && node_is(v->uses.at[i].node, prim_SetAttr)))
			return false;
	}
	return true;
}

/* Is v an object that other code may receive?  Packed parameters do not count, since operators do not write to them. */
static bool
leaves_home(const Scope *s, const Value *v)
{
	IValue x;

	return places_resolve(s, v, &x) && x.tag == RT_OBJECT && !constant_may_be(x) && !stays_home(v);
}

static bool
objects_stay_home(const Scope *s, const Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		if (leaves_home(s, b->param->out[i]))
			return false;
	for NODES(n, b) {
		if (node_is(n, prim_GetAttr) && leaves_home(s, n->out[0]))
			return false;
		for (int i = 0; i < n->nsub; i++)
			if (!objects_stay_home(s, n->sub[i]))
				return false;
	}
	return true;
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static const void *
memory_of(IValue x)
{
	return x.tag == RT_TENSOR ? (const void *)x.u.t->storage : rt_counted(x) ? x.u.p : NULL;
}

/* Is it a value whose memory may be loose or written?  Tuples and objects are not: callers check their elements
 * instead. */
static bool
is_memory(IValue x)
{
	return x.tag == RT_TENSOR || x.tag == RT_LIST || x.tag == RT_DICT;
}

static int64_t *
marks_of(const Places *q, IValue x)
{
	return ptrmap_at(q->pass->scratch, (PtrMap *)&q->memory, memory_of(x));
}

/* Calls visit for x and all memory inside it, except inside objects.  Returns whether any call returned true. */
static bool
any_memory(Places *q, IValue x, bool (*visit)(Places *, IValue))
{
	bool any = is_memory(x) && visit(q, x);

	for (int64_t i = 0; x.tag == RT_LIST && i < x.u.list->n; i++)
		any |= any_memory(q, x.u.list->v[i], visit);
	for (int64_t i = 0; x.tag == RT_TUPLE && i < x.u.tuple->n; i++)
		any |= any_memory(q, x.u.tuple->v[i], visit);
	for (int64_t i = 0; x.tag == RT_DICT && i < x.u.dict->used; i++)
		if (!x.u.dict->at[i].dead)
			any |= any_memory(q, x.u.dict->at[i].value, visit);
	return any;
}

static bool
is_memory_written(Places *q, IValue x)
{
	const int64_t marks = *marks_of(q, x);

	return marks & WRITTEN || (marks & LOOSE && q->loose_written[x.tag == RT_TENSOR]);
}

static bool
mark_written(Places *q, IValue x)
{
	*marks_of(q, x) |= WRITTEN;
	return false;
}

/* Marks the memory of x as loose.  Returns whether it was not loose before. */
static bool
mark_loose(Places *q, IValue x)
{
	int64_t *marks = marks_of(q, x);
	const bool is_new = !(*marks & LOOSE);

	*marks |= LOOSE;
	return is_new;
}

bool
places_written(const Places *q, IValue x)
{
	return any_memory((Places *)q, x, is_memory_written);
}

/* Returns the address of an attribute's memory, for the alias database.  Null if the address is not known or the memory
 * is loose. */
static const void *
attribute_memory(void *arg, const Value *v)
{
	const Scope *s = arg;
	IValue x;

	return places_resolve(s, v, &x) && memory_of(x) && !(*marks_of(s->all, x) & LOOSE) ? memory_of(x) : NULL;
}

/* Marks memory in an object that is loose from the start: elements of containers, and values of attributes that some
 * node sets.  A container that only an attribute holds is not loose. */
static void
find_loose(Places *q, IValue x, bool inside, PtrMap *seen)
{
	int64_t *been;

	if (inside && is_memory(x))
		mark_loose(q, x);
	if (x.tag == RT_OBJECT) {
		been = ptrmap_at(q->pass->scratch, seen, x.u.p);
		if (*been > inside)
			return;
		*been = 1 + inside;
		for (int i = 0; i < x.u.obj->cls->nslot; i++)
			find_loose(q, x.u.obj->slot[i], inside || map_get(&q->set, x.u.obj->cls->slot[i]), seen);
	}
	for (int64_t i = 0; x.tag == RT_LIST && i < x.u.list->n; i++)
		find_loose(q, x.u.list->v[i], true, seen);
	for (int64_t i = 0; x.tag == RT_TUPLE && i < x.u.tuple->n; i++)
		find_loose(q, x.u.tuple->v[i], true, seen);
	for (int64_t i = 0; x.tag == RT_DICT && i < x.u.dict->used; i++)
		if (!x.u.dict->at[i].dead)
			find_loose(q, x.u.dict->at[i].value, true, seen);
}

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

static void
add_scopes(Places *q, Scope *s, const Block *b)
{
	for NODES(n, b) {
		const Attr *sub = node_attr(n, "Subgraph");

		for (int i = 0; i < n->nsub; i++)
			add_scopes(q, s, n->sub[i]);
		if (sub && sub->kind == ATTR_GRAPH) {
			Scope *inner = new(q->pass->scratch, Scope, 1);

			*inner = (Scope){ .all = q, .graph = sub->g, .fork = n, .outer = s, .peer = s->peer };
			vec_push(q->pass->scratch, &q->scope, inner);
			add_scopes(q, inner, sub->g->top);
		}
	}
}

static void
add_graph(Places *q, Graph *g, bool peer)
{
	Scope *s = new(q->pass->scratch, Scope, 1);

	*s = (Scope){ .all = q, .graph = g, .peer = peer };
	vec_push(q->pass->scratch, &q->scope, s);
	add_scopes(q, s, g->top);
	find_sets(q, g->top);
}

/* Finds the value of the attribute that n reads, or of a constant of the archive.  Returns false if it has no
 * memory. */
static bool
memory_read(const Scope *s, const Node *n, IValue *x)
{
	if (node_is(n, prim_GetAttr))
		return places_resolve(s, n->out[0], x) && is_memory(*x);
	return node_is(n, prim_Constant) && value_constant(n->out[0], x) && x->tag == RT_TENSOR;
}

/* Does the graph store v anywhere, or return it from a task? */
static bool
is_handed_on(const Scope *s, const Value *v)
{
	const Node *ret = s->graph->top->ret;

	for (int i = 0; s->fork && i < ret->nin; i++)
		if (alias_may_contain(s->db, ret->in[i], v))
			return true;
	return alias_is_wild(s->db, v);
}

/* Marks memory that the graph stores, or returns from a task, as loose.  Returns whether any of it was not loose
 * before. */
static bool
loosen(Scope *s)
{
	bool more = false;
	IValue x;

	for ALL_NODES(n, s->graph->top)
		if (memory_read(s, n, &x) && is_handed_on(s, n->out[0]))
			more |= any_memory(s->all, x, mark_loose);
	return more;
}

/* Builds all alias databases.  Builds them again as long as a graph makes more memory loose, since loose memory has no
 * address in any of them. */
static void
make_databases(Places *q)
{
	bool more;

	do {
		more = false;
		for (int i = 0; i < q->scope.n; i++)
			q->scope.at[i]->db = alias_db_placed(q->scope.at[i]->graph, q->pass->scratch, attribute_memory,
							     q->scope.at[i]);
		for (int i = 0; i < q->scope.n && q->scope.n > 1; i++)
			more |= loosen(q->scope.at[i]);
	} while (more);
}

static void
find_written(const Scope *s)
{
	IValue x;

	for ALL_NODES(n, s->graph->top)
		if (memory_read(s, n, &x) && alias_has_writers(s->db, n->out[0]))
			any_memory(s->all, x, mark_written);
}

/* ---- constants of the archive ------------------------------------------------------------------------------------ */

typedef Vec(RtStorage *) Marked;

/* Clears `written` of the constants in a graph for which it is set, and adds them to `all`. */
static void
unmark_constants(Places *q, const Graph *g, Marked *all)
{
	IValue v;

	for ALL_NODES(n, g->top) {
		if (!node_is(n, prim_Constant) || !value_constant(n->out[0], &v) || v.tag != RT_TENSOR ||
		    !v.u.t->storage->written)
			continue;
		v.u.t->storage->written = false;
		vec_push(q->pass->scratch, all, v.u.t->storage);
	}
}

/* Are all graphs known that may write to constants?  They are not while calls remain, nor when prepare_peers prepares a
 * method without an instance. */
static bool
all_are_known(const Places *q)
{
	return !q->visited.n && (q->pass->self.tag == RT_OBJECT || !q->pass->fn || !q->pass->fn->self);
}

Places *
places_of(Pass *p, Graph *g)
{
	const Peers *peers = prepare_peers_of(p->cx);
	Places *q = new(p->scratch, Places, 1);
	Marked constants = { 0 };
	PtrMap seen = { 0 };

	*q = (Places){ .pass = p, .set = { .arena = p->scratch }, .visited = { .arena = p->scratch } };
	add_graph(q, g, false);
	for (int i = 0; i < peers->n; i++)
		add_graph(q, peers->at[i], true);
	for (int i = 0; i < q->scope.n && !q->unknown; i++)
		q->unknown = !objects_stay_home(q->scope.at[i], q->scope.at[i]->graph->top);
	if (q->unknown)
		return NULL;
	find_loose(q, p->self, false, &seen);
	for (int i = 0; i < q->scope.n && all_are_known(q); i++)
		unmark_constants(q, q->scope.at[i]->graph, &constants);
	make_databases(q);
	for (int i = 0; i < q->scope.n; i++) {
		const Scope *s = q->scope.at[i];

		find_written(s);
		for (int tensors = 0; tensors < 2; tensors++)
			q->loose_written[tensors] |= alias_wild_is_written(s->db, tensors);
	}
	for (int i = 0; i < constants.n; i++) {
		RtTensor t = { .storage = constants.at[i] };

		constants.at[i]->written = is_memory_written(q, rt_of(&t));
	}
	return q;
}

/* ---- questions of other passes ----------------------------------------------------------------------------------- */

bool
freeze_resolves(Pass *p, Graph *g, const Value *v, IValue *out)
{
	const Peers *peers = prepare_peers_of(p->cx);
	Places q = { .pass = p, .set = { .arena = p->scratch }, .visited = { .arena = p->scratch } };

	for ALL_NODES(n, g->top)
		if (node_is(n, prim_SetAttr))
			map_put(&q.set, node_str(n, "name"), n);
	for (int i = 0; i < peers->n; i++)
		find_sets(&q, peers->at[i]->top);
	return places_resolve(&(Scope){ .all = &q, .graph = g }, v, out);
}

AliasDb *
freeze_alias(Pass *p, Graph *g)
{
	Places *q = p->self.tag == RT_OBJECT ? places_of(p, g) : NULL;

	return q ? q->scope.at[0]->db : alias_db(g, p->scratch);
}
