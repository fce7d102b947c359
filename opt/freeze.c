/*
 * Freezing: attributes that nobody writes become constants, and objects disappear.
 *
 * The object that the method is about to run on is known, so that a chain of prim::GetAttr from the graph's first input
 * leads to a value.  It may stand in the graph when no prim::SetAttr with that name is anywhere in reach and no operator
 * writes to its memory: attributes are told apart by their storages (tied weights share one), and nothing else can be
 * that memory, since what comes in from outside never is the model's own state.
 *
 *   %c = prim::GetAttr[name="conv"](%self)
 *   %w = prim::GetAttr[name="weight"](%c)      ->   %w : Float(64, 3, 7, 7) = prim::Constant[value=<Tensor #...>]()
 *
 * Tensors are not copied: the constant is the attribute, read-only from here on.  Graphs that run on the side (fork) are
 * frozen too, and what any of them writes is written for all; so is what other methods of the same program write.  A second run, when branches that train have gone, freezes
 * what only they wrote.
 */
#include "opt.h"

#include <string.h>

typedef struct Freeze {
	Pass   *p;
	Graph  *g;
	Map     set;             /* names that some SetAttr in reach has */
	Map     visited;         /* functions looked at */
	Map    *written;         /* places that some graph writes to, by address */
	Map    *contained;       /* what lists, dicts and tuples of the model hold: storages and containers, by address */
	bool    unknown;         /* code in reach that cannot be looked at */
	bool    called;          /* with an object: it may write to all that is mutable */
	const Node *fork;        /* while in a subgraph: its node, in `outer` */
	struct Freeze *outer;
	bool    changed;
} Freeze;

/* ---- what may be set ------------------------------------------------------------------------------- */

static void find_sets(Freeze *f, const Block *b);

static void
find_in_function(Freeze *f, Function *fn)
{
	if (!fn) {
		f->unknown = true;
		return;
	}
	if (map_get(&f->visited, fn->name))
		return;
	map_put(&f->visited, fn->name, fn);
	find_sets(f, (fn->graph ? fn->graph : function_graph(f->p->cx, fn))->top);
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
find_sets(Freeze *f, const Block *b)
{
	cx_enter(f->p->cx, b->ret->at);
	for NODES(n, b) {
		const Attr *sub = node_attr(n, "Subgraph");

		if (node_is(n, "prim::SetAttr")) {
			map_put(&f->set, node_str(n, "name"), n);
		} else if (node_is(n, "prim::CallMethod") || node_is(n, "prim::CallFunction")) {
			find_in_function(f, node_function(n));
			f->called |= has_object(n);
		} else if (node_is(n, "prim::Enter") || node_is(n, "prim::Exit")) {
			f->unknown |= n->in[0]->type->kind != TYPE_CLASS;
		}
		if (sub && sub->kind == ATTR_GRAPH)
			find_sets(f, sub->g->top);
		for (int i = 0; i < n->nsub; i++)
			find_sets(f, n->sub[i]);
	}
	cx_leave(f->p->cx);
}

/* ---- what an attribute is ---------------------------------------------------------------------------- */

static bool
resolve(Freeze *f, const Value *v, IValue *out)
{
	const Node *n = v->node;
	IValue object;
	int slot;

	if (n == f->g->top->param && f->fork)
		return v->index < f->fork->nin && resolve(f->outer, f->fork->in[v->index], out);
	if (n == f->g->top->param) {
		*out = f->p->self;
		return v->index == 0 && f->p->self.tag == RT_OBJECT;
	}
	if (node_is(n, "prim::unchecked_cast"))
		return resolve(f, n->in[0], out) && rt_may_be(*out, type_unshaped(f->p->cx, n->out[0]->type));
	if (!node_is(n, "prim::GetAttr") || map_get(&f->set, node_str(n, "name")) || !resolve(f, n->in[0], &object) ||
	    object.tag != RT_OBJECT)
		return false;
	slot = rt_slot(object.u.obj->cls, node_str(n, "name"));
	if (slot < 0)
		return false;
	*out = object.u.obj->slot[slot];
	return true;
}

/* Values of objects go nowhere but into attribute reads, so that nobody else gets hold of their attributes. */
static bool
stays_home(const Value *v)
{
	static const char *const harmless[] = { "prim::GetAttr", "prim::SetAttr", "prim::CallMethod", "prim::fork",
						"prim::unchecked_cast", "prim::isinstance", "aten::__is__",
						"aten::__isnot__" };

	for (int i = 0; i < v->uses.n; i++) {
		bool fine = false;

		for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++)
			fine |= node_is(v->uses.at[i].node, harmless[k]);
		if (!fine || (v->uses.at[i].index && node_is(v->uses.at[i].node, "prim::SetAttr")))
			return false;
	}
	return true;
}

/* Packed parameters go to operators, which do not write to them. */
static bool
leaves_home(Freeze *f, const Value *v)
{
	IValue x;

	return resolve(f, v, &x) && x.tag == RT_OBJECT && !constant_may_be(x) && !stays_home(v);
}

static bool
objects_stay_home(Freeze *f, const Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		if (leaves_home(f, b->param->out[i]))
			return false;
	for NODES(n, b) {
		if (node_is(n, "prim::GetAttr") && leaves_home(f, n->out[0]))
			return false;
		for (int i = 0; i < n->nsub; i++)
			if (!objects_stay_home(f, n->sub[i]))
				return false;
	}
	return true;
}

static const void *
memory_of(IValue x)
{
	return x.tag == RT_TENSOR ? (const void *)x.u.t->storage : rt_counted(x) ? x.u.p : NULL;
}

static const char *
place_key(Freeze *f, const void *place)
{
	return arena_printf(f->p->scratch, "%p", place);
}

/* The memory that it stands for: two attributes may be one tensor, or views of one.  What a container holds, too, is
 * found by other ways than an attribute: it has no place of its own. */
static const void *
place_of(void *arg, const Value *v)
{
	Freeze *f = arg;
	const void *place;
	IValue x;

	if (!resolve(f, v, &x))
		return NULL;
	place = memory_of(x);
	return place && f->contained->n && map_get(f->contained, place_key(f, place)) ? NULL : place;
}

/* Calls visit with the memory of x and of all that it holds, objects left out; true when one call was. */
static bool
any_memory(Freeze *f, IValue x, bool (*visit)(Freeze *, const void *))
{
	const void *place = memory_of(x);
	bool any = place && visit(f, place);

	for (int64_t i = 0; x.tag == RT_LIST && i < x.u.list->n; i++)
		any |= any_memory(f, x.u.list->v[i], visit);
	for (int64_t i = 0; x.tag == RT_TUPLE && i < x.u.tuple->n; i++)
		any |= any_memory(f, x.u.tuple->v[i], visit);
	for (int64_t i = 0; x.tag == RT_DICT && i < x.u.dict->used; i++)
		if (!x.u.dict->at[i].dead)
			any |= any_memory(f, x.u.dict->at[i].value, visit);
	return any;
}

static bool
is_written(Freeze *f, const void *place)
{
	return map_get(f->written, place_key(f, place)) != NULL;
}

static bool
mark_written(Freeze *f, const void *place)
{
	map_put(f->written, place_key(f, place), f);
	return false;
}

/* Marks what containers hold, and what objects in them do; a container that is an attribute and nothing else is no such. */
static void
find_contained(Freeze *f, IValue x, bool inside, PtrMap *seen)
{
	int64_t *been;

	if (inside && memory_of(x))
		map_put(f->contained, place_key(f, memory_of(x)), f);
	if (x.tag == RT_OBJECT) {
		been = ptrmap_at(f->p->scratch, seen, x.u.p);
		if (*been > inside)
			return;
		*been = 1 + inside;
		for (int i = 0; i < x.u.obj->cls->nslot; i++)
			find_contained(f, x.u.obj->slot[i], inside, seen);
	}
	for (int64_t i = 0; x.tag == RT_LIST && i < x.u.list->n; i++)
		find_contained(f, x.u.list->v[i], true, seen);
	for (int64_t i = 0; x.tag == RT_TUPLE && i < x.u.tuple->n; i++)
		find_contained(f, x.u.tuple->v[i], true, seen);
	for (int64_t i = 0; x.tag == RT_DICT && i < x.u.dict->used; i++)
		if (!x.u.dict->at[i].dead)
			find_contained(f, x.u.dict->at[i].value, true, seen);
}

/* ---- putting constants --------------------------------------------------------------------------------- */

static void
make_readonly(IValue v)
{
	if (v.tag == RT_TENSOR)
		v.u.t->storage->readonly = true;
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		make_readonly(v.u.list->v[i]);
	for (int64_t i = 0; v.tag == RT_TUPLE && i < v.u.tuple->n; i++)
		make_readonly(v.u.tuple->v[i]);
	for (int64_t i = 0; v.tag == RT_DICT && i < v.u.dict->used; i++)
		if (!v.u.dict->at[i].dead)
			make_readonly(v.u.dict->at[i].value);
}

static bool
may_stand(Freeze *f, AliasDb *db, const Value *v, IValue x)
{
	if (!constant_may_be(x))
		return false;
	if (!memory_of(x) || !type_is_mutable(v->type))
		return true;
	if (f->called || any_memory(f, x, is_written))
		return false;
	/* A list that leaves the graph would be shared by all who called it. */
	return x.tag != RT_LIST && x.tag != RT_DICT ? true : !alias_escapes(db, v);
}

static void
put_constant(Freeze *f, Node *n, IValue x)
{
	const Type *declared = n->out[0]->type;
	Value *c;

	graph_set_insert_before(f->g, n);
	c = graph_constant(f->g, x, n->at);
	if (c->type->kind != TYPE_TENSOR && c->type->kind != TYPE_NONE && declared->kind != TYPE_OPTIONAL &&
	    declared->kind != TYPE_ANY && declared->kind != TYPE_UNION)
		c->type = declared;
	c->node->inlined = n->inlined;
	c->name = n->out[0]->name ? n->out[0]->name : sym(f->p->cx, node_str(n, "name"));
	make_readonly(x);
	pass_note(f->p, n, "nobody writes it");
	value_replace_uses(n->out[0], c);
	node_destroy(n);
	f->changed = true;
}

/* The subgraph of a fork, which is told what its inputs are. */
static Freeze
inside(Freeze *f, const Node *fork, Graph *g)
{
	Freeze inner = *f;

	inner.g = g;
	inner.fork = fork;
	inner.outer = f;
	inner.changed = false;
	return inner;
}

static bool
find_written(Freeze *f, AliasDb *db, const Block *b)
{
	for NODES(n, b) {
		const Attr *sub = node_attr(n, "Subgraph");
		IValue x;

		if (node_is(n, "prim::GetAttr") && resolve(f, n->out[0], &x) && alias_has_writers(db, n->out[0]))
			any_memory(f, x, mark_written);
		for (int i = 0; i < n->nsub; i++)
			if (!find_written(f, db, n->sub[i]))
				return false;
		if (sub && sub->kind == ATTR_GRAPH) {
			Freeze inner = inside(f, n, sub->g);

			if (!objects_stay_home(&inner, sub->g->top) ||
			    !find_written(&inner, alias_db_placed(sub->g, f->p->scratch, place_of, &inner), sub->g->top))
				return false;
		}
	}
	return true;
}

static void
freeze_block(Freeze *f, AliasDb *db, Block *b)
{
	IValue x;

	for NODES(n, b) {
		const Attr *sub = node_attr(n, "Subgraph");

		for (int i = 0; i < n->nsub; i++)
			freeze_block(f, db, n->sub[i]);
		if (sub && sub->kind == ATTR_GRAPH) {
			Freeze inner = inside(f, n, sub->g);

			freeze_block(&inner, alias_db_placed(sub->g, f->p->scratch, place_of, &inner), sub->g->top);
			f->changed |= inner.changed;
		}
		if (node_is(n, "prim::GetAttr") && resolve(f, n->out[0], &x) && may_stand(f, db, n->out[0], x) &&
		    pass_may(f->p))
			put_constant(f, n, x);
	}
}

bool
freeze_resolves(Pass *p, Graph *g, const Value *v, IValue *out)
{
	Freeze f = { .p = p, .g = g, .set = { .arena = p->scratch }, .visited = { .arena = p->scratch } };

	const Peers *peers = prepare_peers_of(p->cx);

	for NODES(n, g->top)
		if (node_is(n, "prim::SetAttr"))
			map_put(&f.set, node_str(n, "name"), n);
	for (int i = 0; i < peers->n; i++)
		find_sets(&f, peers->at[i]->top);
	return resolve(&f, v, out);
}

/* What another method of the same instance writes. */
static bool
find_written_by(const Freeze *f, Graph *peer)
{
	Freeze other = *f;

	other.g = peer;
	return objects_stay_home(&other, peer->top) &&
	       find_written(&other, alias_db_placed(peer, f->p->scratch, place_of, &other), peer->top);
}

/* What may be whose memory, attributes told apart: by what the object has now, where nobody puts another object there. */
AliasDb *
freeze_alias(Pass *p, Graph *g)
{
	Map *contained = new(p->scratch, Map, 1);
	Freeze *f = new(p->scratch, Freeze, 1);
	const Peers *peers = prepare_peers_of(p->cx);
	PtrMap seen = { 0 };

	*contained = (Map){ .arena = p->scratch };
	*f = (Freeze){ .p = p, .g = g, .set = { .arena = p->scratch }, .visited = { .arena = p->scratch }, .contained = contained };
	if (p->self.tag != RT_OBJECT)
		return alias_db(g, p->scratch);
	find_sets(f, g->top);
	for (int i = 0; i < peers->n; i++)
		find_sets(f, peers->at[i]->top);
	if (f->unknown || !objects_stay_home(f, g->top))
		return alias_db(g, p->scratch);
	find_contained(f, p->self, false, &seen);
	return alias_db_placed(g, p->scratch, place_of, f);
}

bool
freeze(Pass *p, Graph *g)
{
	Map written = { .arena = p->scratch }, contained = { .arena = p->scratch };
	Freeze f = { .p = p, .g = g, .set = { .arena = p->scratch }, .visited = { .arena = p->scratch },
		     .written = &written, .contained = &contained };
	const Peers *peers = prepare_peers_of(p->cx);
	PtrMap seen = { 0 };
	AliasDb *db;

	if (p->self.tag != RT_OBJECT)
		return false;
	find_sets(&f, g->top);
	for (int i = 0; i < peers->n; i++)
		find_sets(&f, peers->at[i]->top);
	if (f.unknown || !objects_stay_home(&f, g->top))
		return false;
	find_contained(&f, p->self, false, &seen);
	db = alias_db_placed(g, p->scratch, place_of, &f);
	if (!find_written(&f, db, g->top))
		return false;
	for (int i = 0; i < peers->n; i++)
		if (!find_written_by(&f, peers->at[i]))
			return false;
	freeze_block(&f, db, g->top);
	return f.changed;
}
