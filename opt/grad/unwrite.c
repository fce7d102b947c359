/*
 * Replaces writes through views by new values, so that they can be differentiated.
 *
 *   out = aten::zeros(...)                        out  = aten::zeros(...)
 *   row = aten::select(out, 0, i)                 row  = aten::select(out, 0, i)
 *   aten::copy_(row, x)              ->           row' = aten::copy(row, x)
 *   return (out)                                  out' = aten::select_scatter(out, row', 0, i)
 *                                                 return (out')
 *
 * Every tensor that is made in the graph is the root of its views.  A root has a current value.  A write emits the next
 * value, from the written view back to the root.  A view made before a write is emitted again if it is used after it.
 * An If returns the current values, a Loop carries them.  Only two kinds of roots are followed: roots with a gradient
 * that are written to, and roots to which a value with a gradient is written.  Memory that may be shared in a way that
 * is not followed (reshape, a list's elements) must not be used after the write.  Otherwise the pass fails with a
 * message: it never changes an answer.
 *
 * Writes that do not count for the gradient, under no_grad or to a detached tensor, stay in the graph.  They write to
 * the memory of the root's current value, and differentiation ignores them.
 */
#include "../opt.h"

#include <string.h>

typedef struct Root {
	Value *base;             /* the tensor that the root's node makes */
	Value *now;              /* the root's current value */
	int    version;          /* Number of the current value.  No two roots have the same one. */
	bool  *reach;            /* Whether a value may share the root's memory or contain it, by value id. */
} Root;

typedef struct Track {           /* facts about one value */
	int    root;             /* Index of its root + 1.  0 if the value is not followed. */
	int    version;          /* version of the root when the value was made */
	Value *parent;           /* The value that it is a view of.  Null if it is the root itself. */
	Node  *view;             /* the node that makes it from the parent */
} Track;

typedef struct Unwrite {
	Pass    *pass;
	Graph   *graph;
	const Active *active;
	Vec(Root)  roots;
	Vec(Track) track;        /* facts about each value, by id */
	int      nversion;
	bool     changed;
} Unwrite;

static Track *
track(Unwrite *u, const Value *v)
{
	while (u->track.n <= v->id)
		vec_push(u->graph->arena, &u->track, (Track){ 0 });
	return &u->track.at[v->id];
}

static bool
depends(const Unwrite *u, const Value *v)
{
	return v->id < u->active->nvalue && u->active->depends[v->id];
}

/* ---- which writes ---------------------------------------------------------------------------------------- */

/* Index of the tensor argument that n writes to.  -1 if there is none. */
static int
written(const Node *n)
{
	const Schema *s = node_schema(n);

	for (int i = 0; s && n->op && i < s->nargs && i < n->nin; i++)
		if (node_writes_input(n, i) && s->args[i].type->kind == TYPE_TENSOR)
			return i;
	return -1;
}

/* Index of the argument that the result is always a view of.  -1 if there is none. */
static int
viewed(const Node *n)
{
	return op_has(n->op, TRAIT_VIEWS) && n->in[0]->type->kind == TYPE_TENSOR ? 0 : -1;
}

/* Does n return the memory of another tensor without its gradient? */
static bool
is_detached(const Node *n)
{
	return node_is(n, aten_detach) || node_is(n, prim_data);
}

/* Follows views from v to the tensor that owns the memory.  If `detached`, stops at a detached tensor. */
static const Value *
origin(const Value *v, bool detached)
{
	while (v->node && v->node->op && viewed(v->node) == 0 && !(detached && is_detached(v->node)))
		v = v->node->in[0];
	/* An in-place operator returns the tensor that it wrote to. */
	if (v->node && v->node->op && written(v->node) >= 0 && v->type->kind == TYPE_TENSOR)
		return origin(v->node->in[written(v->node)], detached);
	return v;
}

static const Value *
root_value(Unwrite *u, const Value *v)
{
	const Value *own = origin(v, true);

	return track(u, own)->root ? own : origin(v, false);
}

/* Adds the roots that have a gradient and are written to, and the roots to which a value with a gradient is written. */
static void
find_roots(Unwrite *u, Block *b)
{
	for INNER_FIRST(n, b) {
		const int w = written(n);
		bool any = false;

		for (int i = 0; i < n->nin && w >= 0 && n->id < u->active->nnode; i++)
			any |= depends(u, n->in[i]) && !u->active->silent[n->id];
		/* An operator with a body is skipped here.  It is expanded first, and the nodes of its body write. */
		if (w >= 0 && any && !op_expansion(u->pass->cx, n->op)) {
			Value *root = (Value *)(uintptr_t)origin(n->in[w], true);

			if (!track(u, root)->root && !node_is(root->node, prim_GetAttr)) {
				vec_push(u->graph->arena, &u->roots, ((Root){ .base = root, .now = root }));
				*track(u, root) = (Track){ .root = u->roots.n };
			}
		}
	}
}

/* ---- views made again ----------------------------------------------------------------------------------------- */

/* Returns the value of v after all writes so far, emitted at the insertion point. */
static Value *
refreshed(Unwrite *u, Value *v)
{
	const Track t = *track(u, v);
	Value *parent;
	Root *r;
	Node *copy;

	if (!t.root || t.version == u->roots.at[t.root - 1].version)
		return v;
	r = &u->roots.at[t.root - 1];
	if (!t.parent)
		return r->now;
	cx_enter(u->pass->cx, v->node->at);
	parent = refreshed(u, t.parent);
	copy = graph_insert(u->graph, node_clone(u->graph, t.view, NULL));
	node_set_input(copy, 0, parent);
	cx_leave(u->pass->cx);
	*track(u, copy->out[0]) = (Track){ t.root, r->version, t.parent, copy };
	return copy->out[0];
}

static Value *
emit_by_id(Unwrite *u, const char *id, Range at, int n, Value *const *in)
{
	Op *op = op_by_id(u->pass->cx, id);

	if (!op)
		BUG("unwrite: there is no operator %s", id);
	return emit_schema_node(u->graph, op, at, in, n)->out[0];
}

/* Emits the value of `parent` with the part that `view` selects replaced by v, and returns it. */
static Value *
put_back(Unwrite *u, Node *view, Value *parent, Value *v)
{
	const Range at = view->at;
	Value **in = new(u->graph->arena, Value *, view->nin + 3);

	in[0] = parent;
	in[1] = v;
	for (int i = 1; i < view->nin; i++)
		in[i + 1] = view->in[i];
	if (node_is(view, aten_alias))
		return v;
	if (node_is(view, aten_select))
		return emit_by_id(u, "select_scatter", at, 4, in);
	if (node_is(view, aten_slice))
		return emit_by_id(u, "slice_scatter", at, 6, in);
	if (node_is(view, aten_diagonal))
		return emit_by_id(u, "diagonal_scatter", at, 5, in);
	if (node_is(view, aten_t))
		return emit_by_id(u, "t", at, 1, &v);
	if (node_is(view, aten_narrow)) {
		in[5] = graph_constant(u->graph, rt_int(1), at);
		in[4] = emit_by_id(u, "add_int", at, 2, (Value *[2]){ in[3], in[4] });
		return emit_by_id(u, "slice_scatter", at, 6, in);
	}
	in[0] = v;
	for (int i = 1; i < view->nin; i++)
		in[i] = view->in[i];
	if (node_is(view, aten_transpose))
		return emit_by_id(u, "transpose_int", at, 3, in);
	if (node_is(view, aten_permute)) {
		in[1] = emit_by_id(u, "prim_inverse_order", at, 1, &view->in[1]);
		return emit_by_id(u, "permute", at, 2, in);
	}
	return emit_by_id(u, "reshape_as", at, 2, (Value *[2]){ v, parent });
}

/* ---- writes ------------------------------------------------------------------------------------------------------ */

/* Returns the operator that computes the value which n writes: add for add_, index_put for index_put_. */
static Op *
value_row(Unwrite *u, const Node *n)
{
	const size_t len = strlen(n->kind->name);

	if (n->op->form == OP_ALSO)
		return op_by_id(u->pass->cx, n->op->base);
	if (n->kind->name[len - 1] != '_')
		return NULL;
	return op_find(u->pass->cx, arena_strndup(u->graph->arena, n->kind->name, (int64_t)len - 1), n->op->overload);
}

/* Emits before n the value that the written tensor has after n. */
static Value *
computed(Unwrite *u, Node *n, Value *self)
{
	Op *row = value_row(u, n);
	const Schema *from = node_schema(n), *to = row ? op_schema(u->pass->cx, row) : NULL;
	Value **in, *v;

	if (n->op->effect == EFFECT_RANDOM || !to || to->nrets != 1)
		fail_lacks(u->pass->cx, n->at, "a gradient through %s", n->kind->name);
	in = new(u->graph->arena, Value *, to->nargs + 1);
	for (int i = 0; i < to->nargs; i++) {
		const int k = schema_find(from, to->args[i].name);

		if (k < 0 || k >= n->nin)
			fail_lacks(u->pass->cx, n->at, "a gradient through %s", n->kind->name);
		in[i] = n->in[k];
	}
	v = emit_schema_node(u->graph, row, n->at, in, to->nargs)->out[0];
	if (node_is(n, aten_copy_))
		return v;
	return emit_by_id(u, "prim_stored", n->at, 2, (Value *[2]){ self, v });
}

/* Is the use in a loop around n, and v made before that loop? */
static bool
comes_again(const Value *v, const Node *use, const Node *n)
{
	for (const Block *b = n->block; b && b->owner; b = b->owner->block)
		if (node_is(b->owner, prim_Loop) && node_in_block(use, b) && !node_in_block(v->node, b))
			return true;
	return false;
}

bool
value_used_after(const Value *v, const Node *n)
{
	for (int i = 0; i < v->uses.n; i++) {
		const Node *use = v->uses.at[i].node;

		if (use != n && (node_is_before(n, use) || comes_again(v, use, n)))
			return true;
	}
	return false;
}

/* ---- other values that may share a root's memory ------------------------------------------------------------ */

typedef struct Reach {
	Unwrite *unwrite;
	bool    *set;            /* Whether a value may share the root's memory or contain it, by value id. */
	bool     back; /* Whether the root is not freshly allocated, so that the values it may alias count, too. */
	bool     grew;
} Reach;

static bool
is_reached(const Reach *r, const Value *v)
{
	return v->id < r->unwrite->active->nvalue && r->set[v->id];
}

static void
reach(Reach *r, const Value *v)
{
	if (v->id >= r->unwrite->active->nvalue || r->set[v->id] || !type_is_mutable(v->type) ||
	    v->type->kind == TYPE_CLASS)
		return;
	r->set[v->id] = true;
	r->grew = true;
}

static void
reach_both(Reach *r, const Value *from, const Value *to)
{
	if (is_reached(r, from))
		reach(r, to);
	if (r->back && is_reached(r, to))
		reach(r, from);
}

/* May a result of the node be its argument i or contain it? */
static bool
hands_on(const Node *n, int i)
{
	const Schema *s = node_schema(n);

	if (!s || !n->op || i >= s->nargs || node_may_return_input(n))
		return true;
	return s->args[i].alias || s->args[i].type->kind == TYPE_LIST || type_has_vars(s->args[i].type);
}

static bool
may_be_given(const Node *n, int i)
{
	const Schema *s = node_schema(n);

	return !s || !n->op || i >= s->nrets || node_may_return_input(n) || s->rets[i].alias ||
	       type_has_vars(s->rets[i].type);
}

static void reach_block(Reach *, const Block *);

static void
reach_node(Reach *r, const Node *n)
{
	const bool loop = node_is(n, prim_Loop);

	for (int k = 0; k < n->nsub; k++) {
		reach_block(r, n->sub[k]);
		for (int i = 0; i < n->nout; i++) {
			reach_both(r, n->sub[k]->ret->in[loop + i], n->out[i]);
			if (!loop)
				continue;
			reach_both(r, n->in[2 + i], n->sub[0]->param->out[1 + i]);
			reach_both(r, n->sub[0]->ret->in[1 + i], n->sub[0]->param->out[1 + i]);
			reach_both(r, n->in[2 + i], n->out[i]);
		}
	}
	for (int i = 0; i < n->nin && !n->nsub; i++) {
		if (!hands_on(n, i))
			continue;
		for (int k = 0; k < n->nout; k++)
			if (may_be_given(n, k))
				reach_both(r, n->in[i], n->out[k]);
		/* A value may be put into a container. */
		if (n->op && i && n->in[0]->type->kind == TYPE_LIST)
			reach_both(r, n->in[i], n->in[0]);
	}
}

static void
reach_block(Reach *r, const Block *b)
{
	for NODES(n, b)
		reach_node(r, n);
}

static bool is_fresh(const Value *);

/* Is v freshly allocated, and does its only user pass it on to its result?  Then parts of this result are fresh,
 * too. */
static bool
is_left(const Value *v)
{
	if (v->uses.n != 1)
		return false;
	return v->node->op && written(v->node) >= 0 ? is_left(v->node->in[written(v->node)]) : is_fresh(v);
}

/* Is v freshly allocated: a result that aliases nothing, or an element of a list of such results that is unpacked right
 * away?  The list may also hold the parts of a tensor that nothing else uses. */
static bool
is_fresh(const Value *v)
{
	const bool listed = node_is(v->node, prim_ListUnpack) && v->node->in[0]->uses.n == 1;
	const Value *made = listed ? v->node->in[0] : v;

	if (listed && node_divides(made->node))
		return is_left(made->node->in[0]);
	return v->type->kind == TYPE_TENSOR && value_is_fresh(made);
}

static void
find_reach(Unwrite *u, Root *root)
{
	Reach r = { .unwrite = u, .set = new(u->pass->scratch, bool, u->active->nvalue + 1),
		    .back = !is_fresh(root->base) };

	reach(&r, root->base);
	do {
		r.grew = false;
		reach_block(&r, u->graph->top);
	} while (r.grew);
	root->reach = r.set;
}

/* Might v share the root's memory in a way that is not followed, and is v made before the write and used after it? */
static bool
is_seen_otherwise(Unwrite *u, const Value *v, const Node *n, int root)
{
	if (v->id >= u->active->nvalue || !u->roots.at[root - 1].reach[v->id] || track(u, v)->root == root ||
	    track(u, root_value(u, v))->root == root)
		return false;
	/* A result of an If or Loop around the write does not count, since it is made after the write. */
	for (int i = 0; i < v->node->nsub; i++)
		if (node_in_block(n, v->node->sub[i]))
			return false;
	return (node_is_before(v->node, n) || node_in_block(n, v->node->block)) && !node_is_before(n, v->node) &&
	       value_used_after(v, n);
}

static void
check_others(Unwrite *u, const Block *b, const Node *n, int root)
{
	bool seen = false;

	for (int i = 0; i < b->param->nout; i++)
		seen |= is_seen_otherwise(u, b->param->out[i], n, root);
	for NODES(m, b) {
		for (int i = 0; i < m->nout; i++)
			seen |= is_seen_otherwise(u, m->out[i], n, root);
		for (int i = 0; i < m->nsub; i++)
			check_others(u, m->sub[i], n, root);
	}
	if (seen)
		fail_lacks(u->pass->cx, n->at, "a gradient through a write to memory that another value may share");
}

static bool
is_differentiated_by(const Unwrite *u, const Value *v)
{
	const Gradient *d = u->pass->fn->gradient;

	for (int i = 0; i < d->inputs.n; i++)
		if (graph_inputs(u->graph)[d->inputs.at[i].input] == v)
			return true;
	return false;
}

/* Replaces a write to a leaf by the error that PyTorch raises. */
static void
refuse_leaf(Unwrite *u, Node *n, Value *original, const Value *base)
{
	const char *text = arena_printf(u->pass->cx->arena,
					"a %sleaf Variable that requires grad is being used in an in-place operation.",
					original == base ? "" : "view of a ");
	Value *in[2];

	graph_set_insert_before(u->graph, n);
	in[0] = graph_constant(u->graph, value_str(u->pass->cx, text, -1), n->at);
	in[1] = graph_constant(u->graph, value_str(u->pass->cx, "RuntimeError", -1), n->at);
	graph_emit(u->graph, "prim::RaiseException", n->at, 2, in, 0);
	if (n->nout)
		value_replace_uses(n->out[0], original);
	node_destroy(n);
	u->changed = true;
}

/* Copies the written value into the memory that n wrote to, and returns v with the memory of `was`.  For a root whose
 * memory other values can see. */
static Value *
in_memory(Unwrite *u, Node *n, Value *written_value, Value *v, Value *was)
{
	Value *no = graph_constant(u->graph, rt_bool(false), n->at);
	Value *data = emit_by_id(u, "detach", n->at, 1, &written_value);

	emit_by_id(u, "copy_", n->at, 3, (Value *[3]){ n->in[written(n)], data, no });
	return emit_by_id(u, "prim_with_data", n->at, 2, (Value *[2]){ v, was });
}

static void
unwrite_node(Unwrite *u, Node *n, Value *original)
{
	const Track t = *track(u, original);
	Root *r = &u->roots.at[t.root - 1];
	const bool argument = r->base->node == u->graph->top->param, shared = argument || is_detached(r->base->node);
	Value *v, *part;

	if (argument && is_differentiated_by(u, r->base)) {
		refuse_leaf(u, n, original, r->base);
		return;
	}
	if (!shared)
		check_others(u, u->graph->top, n, t.root);
	pass_note(u->pass, n, "a write that a gradient goes through");
	graph_set_insert_before(u->graph, n);
	v = part = computed(u, n, n->in[written(n)]);
	for (Track at = t; at.parent; at = *track(u, at.parent))
		v = put_back(u, at.view, refreshed(u, at.parent), v);
	r->now = shared ? in_memory(u, n, part, v, r->now) : v;
	r->version = ++u->nversion;
	*track(u, r->now) = (Track){ t.root, r->version, NULL, NULL };
	if (n->nout)
		value_replace_uses(n->out[0], original);
	node_destroy(n);
	u->changed = true;
}

/* Is n a write that does not count for the gradient? */
static bool
is_uncounted(Unwrite *u, const Node *n, const Value *to)
{
	if (n->id < u->active->nnode && u->active->silent[n->id])
		return true;
	for (const Track *t = track(u, to); t->parent; t = track(u, t->parent))
		if (is_detached(t->view))
			return true;
	return false;
}

/* Does the operator return its argument itself if it has nothing to do, and otherwise newly allocated memory? */
static bool
may_be_itself(const Node *n)
{
	return op_has(n->op, TRAIT_SAME_OR_NEW) && n->out[0]->type->kind == TYPE_TENSOR;
}

static bool
is_kept(const Value *v)
{
	for (int i = 0; i < v->uses.n; i++)
		if (node_is(v->uses.at[i].node, prim_kept))
			return true;
	return false;
}

/* If the result is the argument itself, lets uses of the result have the argument's gradient. */
static void
keep_itself(Unwrite *u, Node *n)
{
	Value *out = n->out[0], *same, *kept;

	graph_set_insert_before(u->graph, n->next);
	same = emit_by_id(u, "is_set_to", n->at, 2, (Value *[2]){ out, n->in[0] });
	kept = emit_by_id(u, "prim_kept", n->at, 3, (Value *[3]){ n->in[0], out, same });
	value_replace_uses(out, kept);
	node_set_input(same->node, 0, out);
	node_set_input(kept->node, 1, out);
}

/* Replaces the result of a write that does not count by the written tensor, which keeps its gradient.  Does the same
 * for the result of an operator that returned its argument. */
static bool
pass_by(Unwrite *u, const Block *b)
{
	bool changed = false;

	for INNER_FIRST(n, b) {
		const int w = written(n);

		if (!n->nout || !n->out[0]->uses.n || n->id >= u->active->nnode || !u->active->silent[n->id])
			continue;
		if (w >= 0)
			value_replace_uses(n->out[0], n->in[w]);
		else if (may_be_itself(n) && depends(u, n->in[0]) && !is_kept(n->out[0]))
			keep_itself(u, n);
		else
			continue;
		changed = true;
	}
	return changed;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static void unwrite_block(Unwrite *, Block *);

static bool
writes_root(Unwrite *u, const Block *b, const Root *r)
{
	for ALL_NODES(n, b)
		if (written(n) >= 0 && track(u, root_value(u, n->in[written(n)]))->root - 1 == r - u->roots.at)
			return true;
	return false;
}

static bool
is_visible(const Value *v, const Node *n)
{
	return node_in_block(n, v->node->block) && node_is_before(v->node, n);
}

/* Version of outputs that were added for roots.  take_out replaces it. */
enum { HANDED_OUT = -1 };

static void
add_output_for(Unwrite *u, Node *n, int root)
{
	Value *out = node_add_output(n, u->roots.at[root].base->type);

	for (int k = 0; k < n->nsub; k++)
		block_add_output(n->sub[k], u->roots.at[root].now);
	*track(u, out) = (Track){ root + 1, HANDED_OUT, NULL, NULL };
}

/* Sets the outputs of a block that were added for roots to the values of these roots at its end. */
static void
hand_out(Unwrite *u, Node *n, Block *b)
{
	for (int i = 0; i < n->nout; i++) {
		const Track *t = track(u, n->out[i]);

		if (t->root && t->version == HANDED_OUT)
			node_set_input(b->ret, b->ret->nin - n->nout + i, u->roots.at[t->root - 1].now);
	}
}

static void
take_out(Unwrite *u, Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		Track *t = track(u, n->out[i]);

		if (!t->root || t->version != HANDED_OUT)
			continue;
		u->roots.at[t->root - 1].now = n->out[i];
		u->roots.at[t->root - 1].version = t->version = ++u->nversion;
	}
}

static void
unwrite_if(Unwrite *u, Node *n)
{
	Root *before = new(u->graph->arena, Root, u->roots.n + 1);

	for (int i = 0; i < u->roots.n; i++) {
		const Root *r = &u->roots.at[i];

		before[i] = *r;
		if (is_visible(r->base, n) && (writes_root(u, n->sub[0], r) || writes_root(u, n->sub[1], r)))
			add_output_for(u, n, i);
	}
	for (int k = 0; k < 2; k++) {
		unwrite_block(u, n->sub[k]);
		hand_out(u, n, n->sub[k]);
		memcpy(u->roots.at, before, (size_t)u->roots.n * sizeof *before);
	}
	take_out(u, n);
}

static void
unwrite_loop(Unwrite *u, Node *n)
{
	for (int i = 0; i < u->roots.n; i++) {
		Root *r = &u->roots.at[i];
		Value *carried;

		if (!is_visible(r->base, n) || !writes_root(u, n->sub[0], r))
			continue;
		node_add_input(n, r->now);
		carried = block_add_input(n->sub[0], r->base->type, r->base->name);
		add_output_for(u, n, i);
		r->now = carried;
		r->version = ++u->nversion;
		*track(u, carried) = (Track){ i + 1, r->version, NULL, NULL };
	}
	unwrite_block(u, n->sub[0]);
	hand_out(u, n, n->sub[0]);
	take_out(u, n);
}

static void
refresh_inputs(Unwrite *u, Node *n)
{
	for (int i = 0; i < n->nin; i++) {
		Value *now;

		graph_set_insert_before(u->graph, n);
		now = refreshed(u, n->in[i]);
		if (now != n->in[i])
			node_set_input(n, i, now);
	}
}

static void
follow_view(Unwrite *u, Node *n, Value *parent)
{
	const Track *t = track(u, parent);
	const int root = t->root;

	if (root && !track(u, n->out[0])->root)
		*track(u, n->out[0]) = (Track){ root, u->roots.at[root - 1].version, parent, n };
}

static void
unwrite_block(Unwrite *u, Block *b)
{
	cx_enter(u->pass->cx, b->ret->at);
	for NODES(n, b) {
		const int w = written(n), viewing = viewed(n);
		Value *original = w >= 0 ? n->in[w] : viewing >= 0 ? n->in[viewing] : NULL;

		refresh_inputs(u, n);
		if (node_is(n, prim_If))
			unwrite_if(u, n);
		else if (node_is(n, prim_Loop))
			unwrite_loop(u, n);
		else if (w >= 0 && track(u, original)->root && !is_uncounted(u, n, original))
			unwrite_node(u, n, original);
		else if (viewing >= 0)
			follow_view(u, n, original);
	}
	refresh_inputs(u, b->ret);
	cx_leave(u->pass->cx);
}

bool
unwrite(Pass *p, Graph *g)
{
	Unwrite u = { .pass = p, .graph = g };

	if (!p->fn || !p->fn->gradient || g != p->fn->prepared)
		return false;
	u.active = active_values(p->cx, g, p->fn->gradient, p->scratch);
	u.changed = pass_by(&u, g->top);
	if (u.changed)
		u.active = active_values(p->cx, g, p->fn->gradient, p->scratch);
	find_roots(&u, g->top);
	if (!u.roots.n)
		return u.changed;
	for (int i = 0; i < u.roots.n; i++)
		find_reach(&u, &u.roots.at[i]);
	unwrite_block(&u, g->top);
	return u.changed;
}
