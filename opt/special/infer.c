/*
 * Infers the results of an operator.  Its kernel runs on tensors without data, which computes the results' types.  If
 * all arguments are known, results become constants.
 *
 * Lists that the graph writes to are followed: a Shadow holds the values of the elements, as long as it is known which
 * elements every write changes.  Dicts are followed by running their kernels, as long as keys are known.
 */
#include "specialize.h"

#include <string.h>

enum { FOLD_ELEMENTS = 1 << 16 };        /* largest number of elements of a tensor that is folded */

static bool
small(IValue v)
{
	return v.tag != RT_TENSOR || rt_numel(v.u.t) <= FOLD_ELEMENTS;
}

static bool
may_fold(Scope *c, const Node *n)
{
	if (node_has_effect(n) || node_writes(n))
		return false;
	/* Not folded, since matrix products read the bytes. */
	if (node_is(n, prim_dequantize) || node_is(n, prim_dequantized_rows))
		return false;
	for (int i = 0; i < n->nout; i++)
		if (type_is_mutable(n->out[i]->type) && alias_has_writers(c->alias, n->out[i]))
			return false;
	return true;
}

/* How an operator changes the elements of a list. */
typedef enum Edit { EDIT_NONE, EDIT_APPEND, EDIT_EXTEND, EDIT_SET, EDIT_INSERT, EDIT_REMOVE, EDIT_CLEAR } Edit;

static Edit
edit_of(const Node *n)
{
	static const struct { OpTrait trait; Edit edit; } edits[] = {
		{ TRAIT_APPENDS, EDIT_APPEND }, { TRAIT_EXTENDS, EDIT_EXTEND }, { TRAIT_SETS_ITEM, EDIT_SET },
		{ TRAIT_INSERTS, EDIT_INSERT }, { TRAIT_REMOVES, EDIT_REMOVE }, { TRAIT_CLEARS, EDIT_CLEAR },
	};

	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
		if (op_has(n->op, edits[i].trait))
			return edits[i].edit;
	return EDIT_NONE;
}

/* Can this write to a list be followed?  The element's index or the added value must be known. */
static bool
is_followed(Spec *s, const Node *n, const Node *m)
{
	const Edit edit = edit_of(n);
	int64_t at;

	if (edit == EDIT_EXTEND)
		return known_is(s->k, m->in[1]) && spec_shadow(s, known_at(s->k, m->in[1])->v);
	if (edit == EDIT_SET || edit == EDIT_INSERT || edit == EDIT_REMOVE)
		return known_int(s->k, m->in[1], &at);
	return edit != EDIT_NONE;
}

/* Applies a write to the shadow of a list that had `was` elements.  The kernel has already changed the known list. */
static void
follow_list_write(Spec *s, const Node *n, const Node *m, int64_t was)
{
	Shadow *h = spec_shadow(s, known_at(s->k, m->in[0])->v), *more;
	int64_t at = 0;

	if (!h)
		return;
	if (m->nin > 1 && known_int(s->k, m->in[1], &at) && at < 0)
		at = at + was < 0 ? 0 : at + was;
	at = at > was ? was : at;
	switch (edit_of(n)) {
	case EDIT_APPEND:
		vec_push(s->cx->arena, &h->items, m->in[1]);
		break;
	case EDIT_EXTEND:
		more = spec_shadow(s, known_at(s->k, m->in[1])->v);
		for (int i = 0, count = more ? more->items.n : 0; i < count; i++)
			vec_push(s->cx->arena, &h->items, more->items.at[i]);
		break;
	case EDIT_SET:
		h->items.at[at] = m->in[2];
		break;
	case EDIT_INSERT:
		vec_push(s->cx->arena, &h->items, NULL);
		memmove(&h->items.at[at + 1], &h->items.at[at], (size_t)(was - at) * sizeof *h->items.at);
		h->items.at[at] = m->in[2];
		break;
	case EDIT_REMOVE:
		memmove(&h->items.at[at], &h->items.at[at + 1], (size_t)(was - at - 1) * sizeof *h->items.at);
		h->items.n--;
		break;
	case EDIT_CLEAR:
		h->items.n = 0;
		break;
	default:
		break;
	}
	if (known_at(s->k, m->in[0])->v.u.list->n != h->items.n)
		h->list = NULL;
}

/* Does nothing else write to n's inputs?  Writes of n itself do not count. */
static bool
reads_what_stays(Scope *c, const Node *n)
{
	for (int i = node_writes(n) ? 1 : 0; i < n->nin; i++)
		if (type_is_mutable(n->in[i]->type) && alias_has_writers(c->alias, n->in[i]) &&
		    !is_written_once(n->in[i]))
			return false;
	return true;
}

/* Runs a kernel that reads data, if its inputs are small constants that nothing writes to.  Returns false if it did not
 * run. */
static bool
run_now(Spec *s, Scope *c, const Node *n, const IValue *args, int nargs, IValue *out)
{
	if (!may_fold(c, n) || !reads_what_stays(c, n))
		return false;
	for (int i = 0; i < nargs; i++)
		if (!small(args[i]))
			return false;
	return known_run(s->k, n->op, args, out, n->nout, false);
}

static bool
is_scalar(IValue v)
{
	return v.tag == RT_TENSOR ? !v.u.t->ndim : v.tag != RT_LIST && v.tag != RT_TUPLE;
}

/* Are arguments and results all numbers, some of them in tensors?  Traced models compute sizes from such tensors, so a
 * sample needs their data. */
static bool
is_of_numbers(const IValue *args, int nargs, const IValue *out, int nout)
{
	bool all = true, tensor = false;

	for (int i = 0; i < nargs; i++)
		all &= is_scalar(args[i]);
	for (int i = 0; i < nout; i++) {
		all &= is_scalar(out[i]);
		tensor |= out[i].tag == RT_TENSOR;
	}
	return all && tensor;
}

/* Computes the results of n's kernel.  Sets *now to whether it ran on real data. */
static bool
run(Spec *s, Scope *c, const Node *n, const KnownArgs *args, IValue *out, bool *now)
{
	IValue data[64];

	if (!known_run(s->k, n->op, args->v, out, n->nout, true))
		return *now = args->exact && run_now(s, c, n, args->v, args->n, out);
	if (args->exact && s->shapes && is_of_numbers(args->v, args->n, out, n->nout) &&
	    (*now = run_now(s, c, n, args->v, args->n, data)))
		memcpy(out, data, (size_t)n->nout * sizeof *out);
	return true;
}

typedef Vec(int64_t) IntVec;

/* Appends sizes and strides of v, if v is a known tensor. */
static void
add_geometry(Spec *s, const Value *v, IntVec *to)
{
	const Known *k = known_at(s->k, v);
	const RtTensor *t = k->is && k->v.tag == RT_TENSOR ? k->v.u.t : NULL;

	for (int i = 0; t && i < t->ndim; i++) {
		vec_push(s->cx->arena, to, t->dims[i]);
		vec_push(s->cx->arena, to, t->strides[i]);
	}
}

/* Sizes and strides of all tensors that m writes to. */
static IntVec
written_geometry(Spec *s, const Node *m)
{
	IntVec all = { 0 };

	for (int i = 0; i < m->nin; i++)
		if (node_writes_input(m, i))
			add_geometry(s, m->in[i], &all);
	return all;
}

/* Does v contain no computed data: is it an argument, a view, or made from sizes alone? */
static bool
is_not_computed(const Value *v)
{
	const Node *n = v->node;

	for (int i = 0; !node_makes_view(n) && i < n->nin; i++) {
		const Type *t = n->in[i]->type;

		if ((t->kind == TYPE_LIST ? t->of[0] : t)->kind == TYPE_TENSOR)
			return false;
	}
	return n == n->block->param || n->op;
}

/* Is v in the block of m, and do only m and views use it? */
static bool
is_only_viewed(const Value *v, const Node *m)
{
	for (int i = 0; i < v->uses.n; i++)
		if (v->uses.at[i].node != m && !node_makes_view(v->uses.at[i].node))
			return false;
	return v->node->block == m->block;
}

/* Fails if m has resized an `out` tensor that other nodes have used before, since a value must never change its sizes.
 * before: written_geometry before the kernel has run. */
static void
refuse_resized(Spec *s, const Node *m, const IntVec *before)
{
	const IntVec after = written_geometry(s, m);

	if (before->n == after.n && (!after.n || !memcmp(before->at, after.at, (size_t)after.n * sizeof *after.at)))
		return;
	for (int i = 0; i < m->nin; i++)
		if (node_writes_input(m, i) && !(is_not_computed(m->in[i]) && is_only_viewed(m->in[i], m)))
			fail_lacks(s->cx, m->at, "a specialization in which %s resizes a tensor that was used before",
				   m->kind->name);
}

/* Fails if m, whose arguments are not known, may resize its `out`. */
static void
refuse_resizing(Spec *s, const Node *m)
{
	for (int i = 1; m->op && m->op->form == OP_ALSO && !node_writes_input(m, 0) && i < m->nin; i++)
		if (node_writes_input(m, i) && known_tensor(s->k, m->in[i]))
			fail_lacks(s->cx, m->at, "a specialization in which %s may resize a tensor", m->kind->name);
}

static int64_t
count_of(Spec *s, const Value *v)
{
	const RtTensor *t = known_tensor(s->k, v);

	return t ? rt_numel(t) : -1;
}

static bool
adds_zero(Spec *s, const Node *n)
{
	const RtTensor *t = node_is(n, aten_add) ? known_tensor(s->k, n->in[1]) : NULL;

	return t && tensor_has_data(t) && t->dtype == RT_i64 && rt_numel(t) == 1 &&
	       *(const int64_t *)(const void *)rt_data(t) == 0;
}

/* Returns the length of an arange, from 0 in steps of 1, all of whose elements are in v.  -1 if v contains no
 * arange. */
static int64_t
arange_in(Spec *s, const Value *v)
{
	const Node *n = v->node;
	int64_t from = 0, step = 1;

	while (n->nin && ((node_makes_view(n) && count_of(s, n->out[0]) >= count_of(s, n->in[0])) || adds_zero(s, n)))
		n = n->in[0]->node;
	if (!n->op || n->op->lowering != LOWER_ARANGE ||
	    (node_arg(n, "start") && !known_int(s->k, node_arg(n, "start"), &from)) ||
	    (node_arg(n, "step") && !known_int(s->k, node_arg(n, "step"), &step)) || from || step != 1)
		return -1;
	return count_of(s, n->out[0]);
}

/* Does an indexing always raise because an arange among the indices is longer than the dim?  An example is
 * x[arange(batch), ...] on an x of a smaller batch.  The kernel detects this only when it runs on data. */
static bool
exceeds(Spec *s, const Node *m)
{
	const Node *list = m->op && m->op->lowering == LOWER_INDEX ? m->in[1]->node : NULL;
	const RtTensor *x = list ? known_tensor(s->k, m->in[0]) : NULL;

	for (int i = 0; x && node_is(list, prim_ListConstruct) && i < list->nin && i < x->ndim; i++) {
		const RtTensor *t = known_tensor(s->k, list->in[i]);

		if (t && t->dtype != RT_i64)             /* a mask may index several dims */
			return false;
		if (t && arange_in(s, list->in[i]) > x->dims[i])
			return true;
	}
	return false;
}

/* Runs the kernel of n without data.  The results of m, its copy, become known if the kernel computes them. */
void
spec_infer(Spec *s, Scope *c, const Node *n, Node *m)
{
	KnownArgs args = { .exact = true };
	bool can = known_gather_types(s->k, m, &args), now = false;
	IValue out[64], stand_in;
	const IntVec written = written_geometry(s, m);
	const bool list_write = node_writes_input(n, 0) && m->in[0]->type->kind == TYPE_LIST;
	const bool dict_write = node_writes_input(n, 0) && m->in[0]->type->kind == TYPE_DICT;
	int64_t was;

	if (list_write && !is_followed(s, n, m))
		can = false;
	for (int i = 0; i < m->nin; i++)
		if (!shapes_has(s->shapes, m->in[i]) && (args.exact || !known_stand_in(s->k, m, i, &stand_in)))
			can = false;
	/* Nodes that the specializer adds do not count: it needs their types. */
	if (can && n->nout && n->graph != s->to && !pass_may(&s->known))
		can = false;
	was = list_write && can ? known_at(s->k, m->in[0])->v.u.list->n : 0;
	if (!can || n->nout > 64 || (s->shapes && exceeds(s, m)) || !run(s, c, n, &args, out, &now)) {
		if (can)
			shapes_fail(s->shapes, n, m->at);
		else
			refuse_resizing(s, m);
		if (list_write || dict_write) {
			if (known_is(s->k, m->in[0]))
				known_forget(s->k, m->in[0]);
			else                             /* the value may be any of its type */
				known_forget_mutable(s->k, type_unshaped(s->cx, m->in[0]->type));
			known_at(s->k, m->in[0])->by_data |= spec_reads_by_data(s, m);
		}
		if (node_gives_written(n) && node_keeps_sizes(n) && known_tensor(s->k, m->in[0]) && !s->fn->gradient)
			spec_bind(s, c, n->out[0], m->in[0]);
		return;
	}
	refuse_resized(s, m, &written);
	for (int i = 0; i < n->nout; i++) {
		known_set(s->k, m->out[i], out[i]);
		known_at(s->k, m->out[i])->mutable = known_has_members(out[i]) && spec_is_changed(c, n->out[i]);
	}
	spec_mark_altered(s, m);
	shapes_node(s->shapes, s->k, m, now);
	pass_note(&s->known, n, "its results are inferred");
	if (list_write)
		follow_list_write(s, n, m, was);
}

static bool
holds_tensor(IValue v)
{
	const int64_t n = v.tag == RT_LIST ? v.u.list->n : v.tag == RT_TUPLE ? v.u.tuple->n : 0;
	const IValue *part = v.tag == RT_LIST ? v.u.list->v : v.tag == RT_TUPLE ? v.u.tuple->v : NULL;
	bool holds = v.tag == RT_TENSOR;

	for (int64_t i = 0; i < n && !holds; i++)
		holds = holds_tensor(part[i]);
	return holds;
}

/* Binds n's results to constants, if the results of m, which replaces n, are small and known. */
static bool
fold_results(Spec *s, Scope *c, const Node *n, const Node *m)
{
	IValue *out = new(s->cx->arena, IValue, n->nout + 1), *args;
	bool concrete = true;
	int nargs;

	for (int i = 0; i < n->nout; i++) {
		const Known *k = known_at(s->k, m->out[i]);

		/* An element of a list may be large, since the constant needs no memory of its own. */
		if (!k->is || (n->op && !small(k->v) && !node_is(n, aten___getitem__)) ||
		    (holds_tensor(k->v) && shapes_varies(s->shapes, m->out[i])))
			return false;
		concrete &= !known_has_meta(k->v);
	}
	if (!concrete && !n->op)
		return false;
	if (!concrete) {
		if (!reads_what_stays(c, n) || !(args = known_gather(s->k, m, &nargs)) ||
		    !known_run(s->k, m->op, args, out, n->nout, false))
			return false;
	} else {
		for (int i = 0; i < n->nout; i++)
			out[i] = rt_retain(known_at(s->k, m->out[i])->v);
	}
	for (int i = 0; i < n->nout; i++) {
		if ((out[i].tag == RT_OBJECT && !constant_may_be(out[i])) || out[i].tag == RT_FUTURE)
			return false;
		spec_bind_constant(s, c, n->out[i], out[i], n->at);
		/* A result that is the same for all sizes is a constant with data.  The node that computed it may have
		 * no data in the shapes graph, so the two are not linked. */
		if (!shapes_varies(s->shapes, m->out[i]))
			continue;
		shapes_same(s->shapes, spec_value(c, n->out[i]), m->out[i]);
		if (!rt_is_none(out[i]))                                             /* all Nones are one constant */
			node_set_int(spec_value(c, n->out[i])->node, "varies", 1);
	}
	return true;
}

bool
spec_fold(Spec *s, Scope *c, const Node *n, const Node *m)
{
	return may_fold(c, n) && n->nout && fold_results(s, c, n, m);
}

bool
spec_fold_written(Spec *s, Scope *c, const Node *n, const Node *m)
{
	return m->op && m->nout == 1 && is_written_once(n->out[0]) && fold_results(s, c, n, m);
}

bool
spec_types_known(Spec *s, const Node *m)
{
	for (int i = 0; i < m->nin; i++)
		if (m->in[i]->type->kind == TYPE_TENSOR && !known_is(s->k, m->in[i]))
			return false;
	return true;
}
