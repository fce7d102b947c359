/*
 * Specialization: the prepared graph, evaluated as far as a signature lets it, and what is left to do.
 *
 * An online partial evaluator.  It walks the prepared graph in the order of its Code, with a value of the new graph for
 * every value of the old one, and beside it what is known: an IValue whose tensors have sizes and strides, and no data
 * (cx->meta), so that kernels themselves are the size rules.  A node whose inputs are known and whose result is no tensor
 * becomes a constant; an If with a known condition becomes its branch; a short counted loop is unrolled; operators with a
 * body become their body.  Everything else is written to the new graph with the types that follow.
 *
 * Where nothing follows (a list's element, an attribute, sizes that depend on data) the profile's type becomes a
 * prim::BailOut right after the node.  There the evaluator still follows the Code step by step, so the resume point is the
 * next pc, and the registers that are live there hold the values that it has at hand.  Attributes: pc, regs.
 *
 *    y = aten::nonzero(x)   ->   y  = aten::nonzero(x)
 *                                y' = prim::BailOut[pc=7, regs=[3, 5]](y, h, t)        y' : Long(4, 2)
 *
 * A large size that follows from data (how many boxes are kept) is no guard's business when one run has seen it: the next
 * input has another one, and the code behind stays right without it, in calls of the runtime.
 *
 * What is known of tensors tells aliasing, too: two that share a storage here share it when the program runs.
 */
#include "opt.h"

#include <string.h>

enum {
	UNROLL_TRIPS = 64,       /* reference 9.10: longer loops stay loops */
	UNROLL_NODES = 4096,     /* most nodes that unrolling one loop may write */
	FOLD_ELEMENTS = 1 << 16, /* tensors larger than this are not folded */
	FLEETING_SIZE = 64,      /* a larger size that follows from data is not guarded after one run */
};

typedef struct Shadow {          /* a known list, and the values that are its elements */
	RtList *list;
	Vec(Value *) items;
} Shadow;

typedef struct Scope Scope;
struct Scope {                   /* one graph that is being walked: the function's, or an operator's body */
	Graph   *from;
	Value  **value;          /* by id in `from`: the value of the new graph */
	AliasDb *alias;
	bool     top;            /* the function's own: has resume points */
};

typedef struct Spec {
	Cx   *cx;
	Function *fn;
	const Profile *profile;
	Graph *to;
	KnownTable *k;           /* of values of `to` */
	Vec(Shadow) shadows;
	Value **in_register;     /* by register: the value of the prepared graph that it holds */
	CodeLive *live;          /* registers of the function's Code */
	Shapes *shapes;          /* of a sample: what is known is recorded there; or null */
	bool   grad_stays;       /* nothing here changes whether gradients are on: they are, at a call's begin */
	int    nguard;
} Spec;

static void eval_block(Spec *, Scope *, Block *);

/* ---- what is known ----------------------------------------------------------------------------------------------- */

static bool
small(IValue v)
{
	return v.tag != RT_TENSOR || rt_numel(v.u.t) <= FOLD_ELEMENTS;
}

static Shadow *
shadow_of(Spec *s, IValue v)
{
	for (int i = 0; i < s->shadows.n && v.tag == RT_LIST; i++)
		if (s->shadows.at[i].list == v.u.list)
			return &s->shadows.at[i];
	return NULL;
}

/* Is the node given what follows from data? */
static bool
reads_by_data(Spec *s, const Node *m)
{
	for (int i = 0; i < m->nin; i++)
		if (known_at(s->k, m->in[i])->by_data)
			return true;
	return false;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static bool
writes_argument(const Node *n, int i)
{
	const Schema *schema = node_schema(n);

	return schema && i < schema->nargs && schema->args[i].alias && schema->args[i].alias->write;
}

/* Is the container itself (not what it contains) written anywhere? */
static bool
is_changed(Scope *c, const Value *v)
{
	return alias_is_written(c->alias, v);
}

static Value *
value_in(Scope *c, const Value *v)
{
	Value *to = c->value[v->id];

	if (!to)
		BUG("specialize: a value of %s is used before it is made", c->from->name);
	return to;
}

static void
bind(Spec *s, Scope *c, const Value *from, Value *to)
{
	int reg;

	c->value[from->id] = to;
	if (c->top && (reg = value_register(from)) >= 0)
		s->in_register[reg] = (Value *)(uintptr_t)from;
}

/* Binds `from` to a constant; takes v. */
static void
bind_constant(Spec *s, Scope *c, const Value *from, IValue v, Range at)
{
	Value *to = graph_constant_typed(s->to, v, type_unshaped(s->cx, from->type), at);

	known_set(s->k, to, v);
	bind(s, c, from, to);
}

/* A node of the same kind, overload and attributes, not linked. */
static Node *
copy_node(Spec *s, const Node *n)
{
	Node *m = node_new(s->to, n->kind, n->at, 0);

	m->op = n->op;
	m->inlined = n->inlined;
	for (int i = 0; i < n->attrs.n; i++)
		vec_push(s->cx->arena, &m->attrs, n->attrs.at[i]);
	return m;
}

/* The elements of a list whose contents are known, as a list made on the spot: then nothing depends on its history. */
static Value *
fresh_list(Spec *s, Value *v, Range at)
{
	Known *k = known_at(s->k, v);
	Shadow *h = k->is ? shadow_of(s, k->v) : NULL;
	Value *list;
	IValue copy;

	if (!h || !k->mutable)
		return v;
	list = graph_emit(s->to, "prim::ListConstruct", at, h->items.n, h->items.at, 1)->out[0];
	list->type = v->type;
	copy = rt_ref(RT_LIST, rt_list_new(&s->k->rt, k->v.u.list->elem, h->items.n));
	for (int i = 0; i < h->items.n; i++)
		rt_list_push(&s->k->rt, copy.u.list, rt_retain(k->v.u.list->v[i]));
	known_set(s->k, list, copy);
	shapes_node(s->shapes, s->k, list->node, false);
	return list;
}

static bool
writes_anything(const Node *n)
{
	const Schema *schema = node_schema(n);

	for (int i = 0; schema && i < schema->nargs; i++)
		if (writes_argument(n, i))
			return true;
	return false;
}

/* ---- layouts ------------------------------------------------------------------------------------------------------ *
 * Convolutions run on channels-last tensors.  One conversion in front of the first is enough: kernels keep the layout of
 * what they are given, as ATen's do.  Whoever could tell the difference (views, whoever asks for strides, whatever
 * leaves the graph) gets the contiguous tensor that the model has there.                                                */

static void infer(Spec *, Scope *, const Node *, Node *);

static bool
is_convolution(const Node *n)
{
	return node_is(n, "aten::conv2d") || node_is(n, "aten::_convolution") || node_is(n, "aten::convolution");
}

static Value *
in_format(Spec *s, Scope *c, Value *v, int format, Range at)
{
	Node *m = node_new(s->to, sym(s->cx, "aten::contiguous"), at, 1);

	m->op = op_find(s->cx, "aten::contiguous", "");
	if (!m->op)
		return v;
	node_add_input(m, v);
	node_add_input(m, graph_constant(s->to, rt_int(format), at));
	known_set(s->k, m->in[1], rt_int(format));
	graph_insert(s->to, m);
	infer(s, c, m, m);
	known_at(s->k, m->out[0])->altered = format != 0;
	return m->out[0];
}

static bool
wants_channels_last(Spec *s, const Node *n, int i, const Value *v)
{
	const Known *k = known_at(s->k, v);
	const RtTensor *t = k->is && k->v.tag == RT_TENSOR ? k->v.u.t : NULL;

	return i == 0 && is_convolution(n) && t && t->ndim == 4 && t->dtype == RT_f32 && rt_numel(t) &&
	       rt_is_contiguous(t) && !rt_is_channels_last(t);
}

/* Does it make no difference to the node how the tensor lies in memory? */
static bool
any_layout_will_do(const Node *n, int i)
{
	static const char *const asks[] = { "aten::stride", "aten::is_contiguous", "aten::storage_offset", "aten::_unsafe_view" };
	const Schema *schema = node_schema(n);

	if (node_is(n, "prim::ListConstruct")) {
		for (int k = 0; k < n->out[0]->uses.n; k++)
			if (!node_is(n->out[0]->uses.at[k].node, "aten::cat"))
				return false;
		return true;
	}
	for (size_t k = 0; k < sizeof asks / sizeof *asks; k++)
		if (node_is(n, asks[k]))
			return false;
	return schema && n->op && i < schema->nargs && !schema->args[i].alias;
}

/* Is all that the node does with its input to look at it now? */
static bool
only_reads(const Node *n, int i)
{
	const Schema *schema = node_schema(n);

	return schema && n->op && (i >= schema->nargs || !schema->args[i].alias);
}

/* What input i of the node is in the new graph. */
static Value *
argument(Spec *s, Scope *c, const Node *n, int i)
{
	Value *v = value_in(c, n->in[i]);

	if (writes_argument(n, i))
		return v;
	if (only_reads(n, i))
		v = fresh_list(s, v, n->at);
	if (wants_channels_last(s, n, i, v))
		return in_format(s, c, v, 2, n->at);
	if (known_at(s->k, v)->altered && !any_layout_will_do(n, i))
		return in_format(s, c, v, 0, n->at);
	return v;
}

/* A value that leaves: what the model has there. */
static Value *
as_in_model(Spec *s, Scope *c, Value *v, Range at)
{
	return known_at(s->k, v)->altered ? in_format(s, c, v, 0, at) : v;
}

/* What is written to has the model's layout from the start: all views of it then are views of one memory. */
static void
keep_layout_of_written(Spec *s, Scope *c, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		Value *v = c->value[n->out[i]->id];

		if (known_at(s->k, v)->altered && alias_has_writers(c->alias, n->out[i]))
			bind(s, c, n->out[i], as_in_model(s, c, v, n->at));
	}
}

/* Writes the node itself, with inputs mapped; outputs have the static types. */
static Node *
emit_copy(Spec *s, Scope *c, Node *n)
{
	Node *m = copy_node(s, n);

	for (int i = 0; i < n->nin; i++)
		node_add_input(m, argument(s, c, n, i));
	for (int i = 0; i < n->nout; i++) {
		Value *out = node_add_output(m, n->out[i]->type);

		out->name = n->out[i]->name;
		bind(s, c, n->out[i], out);
	}
	return graph_insert(s->to, m);
}

/* ---- guards ------------------------------------------------------------------------------------------------------------ */

/* May the list in regs[i] be met by another way, so that it matters which list it is? */
static bool
is_shared(Spec *s, Scope *c, const int *regs, int n, int i)
{
	const Value *v = s->in_register[regs[i]];

	if (alias_escapes(c->alias, v))
		return true;
	for (int k = 0; k < n; k++)
		if (k != i && s->in_register[regs[k]] && alias_may_contain(c->alias, s->in_register[regs[k]], v))
			return true;
	return false;
}

/* The values that are live at pc, in order of regs; false when a register's content is not at hand. */
static bool
live_values(Spec *s, Scope *c, int pc, IValue *regs, Node *exit)
{
	const RtCode *code = s->fn->code;
	int *live = new(s->cx->arena, int, code->nreg + 1);
	const int n = code_live_at(s->live, pc, live);
	RtList *list = rt_list_new(&s->k->rt, &rt_type_int, n);

	for (int i = 0; i < n; i++) {
		const Value *from = s->in_register[live[i]];
		Value *v;

		if (!from || !c->value[from->id])
			return false;
		v = as_in_model(s, c, c->value[from->id], exit->at);
		node_add_input(exit, known_at(s->k, v)->mutable && !is_shared(s, c, live, n, i) ? fresh_list(s, v, exit->at) : v);
		rt_list_push(&s->k->rt, list, rt_int(live[i]));
	}
	*regs = rt_ref(RT_LIST, list);
	return true;
}

/* A guard that v is what the profile says; from here on it is. */
static void
guard(Spec *s, Scope *c, const Node *n, const Value *from)
{
	const ValueProfile *p = from->id < s->profile->nvalue ? &s->profile->value[from->id] : NULL;
	Value *v = c->value[from->id];
	Node *exit;
	IValue regs;

	if (!c->top || !p || !p->count || p->mixed || p->none || !type_is_complete(p->type) || n->pc < 0)
		return;
	exit = node_new(s->to, sym(s->cx, "prim::BailOut"), n->at, 1);
	node_add_input(exit, v);
	if (!live_values(s, c, n->end, &regs, exit))
		return;
	node_set_int(exit, "pc", n->end);
	node_set_value(exit, "regs", regs);
	graph_insert(s->to, exit);
	exit->out[0]->name = v->name;
	known_set(s->k, exit->out[0], known_meta(s->k, p->type));
	shapes_type(s->shapes, s->k, exit->out[0], p->type);
	bind(s, c, from, exit->out[0]);
	s->nguard++;
}

/* Do m's sizes follow from data: its kernel could not say them although it was given all? */
static bool
depends_on_data(Spec *s, const Node *m)
{
	bool all = m->op != NULL;

	for (int i = 0; i < m->nin; i++)
		all &= known_is(s->k, m->in[i]);
	return all || reads_by_data(s, m);
}

/* Is it a size that another run will hardly see again: a large count, known from one run? */
static bool
is_fleeting(Spec *s, const Value *from)
{
	const Type *t = from->id < s->profile->nvalue ? s->profile->value[from->id].type : NULL;

	if (s->profile->nrun > 1 || !t || !type_is_complete(t))
		return false;
	for (int i = 0; i < t->tensor->rank; i++)
		if (t->tensor->dims[i] > FLEETING_SIZE)
			return true;
	return false;
}

static void
guard_outputs(Spec *s, Scope *c, const Node *n, const Node *m)
{
	for (int i = 0; i < n->nout; i++) {
		Value *out = c->value[n->out[i]->id];

		if (known_is(s->k, out))
			continue;
		known_at(s->k, out)->by_data = depends_on_data(s, m);
		if (!known_at(s->k, out)->by_data || !is_fleeting(s, n->out[i]))
			guard(s, c, n, n->out[i]);
	}
}

/* ---- operators ------------------------------------------------------------------------------------------------------------ */

static bool
may_fold(Scope *c, const Node *n)
{
	if (node_has_effect(n) || node_is_nondeterministic(n) || writes_anything(n))
		return false;
	for (int i = 0; i < n->nout; i++)
		if (type_is_mutable(n->out[i]->type) && alias_has_writers(c->alias, n->out[i]))
			return false;
	return true;
}

/* How a write to a list changes which values are its elements. */
typedef enum Edit { EDIT_NONE, EDIT_APPEND, EDIT_EXTEND, EDIT_SET, EDIT_INSERT, EDIT_REMOVE, EDIT_CLEAR } Edit;

static Edit
edit_of(const Node *n)
{
	static const struct { const char *op; Edit edit; } edits[] = {
		{ "aten::append", EDIT_APPEND }, { "aten::add_", EDIT_EXTEND },   { "aten::extend", EDIT_EXTEND },
		{ "aten::_set_item", EDIT_SET }, { "aten::insert", EDIT_INSERT }, { "aten::pop", EDIT_REMOVE },
		{ "aten::Delete", EDIT_REMOVE }, { "aten::clear", EDIT_CLEAR },
	};

	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
		if (sym_is(n->kind, edits[i].op))
			return edits[i].edit;
	return EDIT_NONE;
}

/* Writes to lists that can be followed: which element they change, or which they add, must be at hand. */
static bool
is_followed(Spec *s, const Node *n, const Node *m)
{
	const Edit edit = edit_of(n);
	int64_t at;

	if (edit == EDIT_EXTEND)
		return known_is(s->k, m->in[1]) && shadow_of(s, known_at(s->k, m->in[1])->v);
	if (edit == EDIT_SET || edit == EDIT_INSERT || edit == EDIT_REMOVE)
		return known_int(s->k, m->in[1], &at);
	return edit != EDIT_NONE;
}

/* Follows a write to a known list of `was` elements in its shadow; the kernel has made it on what is known already. */
static void
follow_list_write(Spec *s, const Node *n, const Node *m, int64_t was)
{
	Shadow *h = shadow_of(s, known_at(s->k, m->in[0])->v), *more;
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
		more = shadow_of(s, known_at(s->k, m->in[1])->v);
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

/* Does what n reads stay as it was made? */
static bool
reads_what_stays(Scope *c, const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (type_is_mutable(n->in[i]->type) && alias_has_writers(c->alias, n->in[i]))
			return false;
	return true;
}

/* What reads data can be run when the data are there, and stay: small constants. */
static bool
run_now(Spec *s, Scope *c, const Node *n, const IValue *args, int nargs, IValue *out)
{
	if (!may_fold(c, n) || !reads_what_stays(c, n))
		return false;
	for (int i = 0; i < nargs; i++)
		if (known_has_meta(args[i]) || !small(args[i]))
			return false;
	return known_run(s->k, n->op, args, out, n->nout, false);
}

static bool
is_number(IValue v)
{
	return v.tag == RT_TENSOR ? !v.u.t->ndim : v.tag != RT_LIST && v.tag != RT_TUPLE;
}

/* Is it about numbers alone, some of them in tensors?  Sizes go this way in traced models: then a sample needs their data. */
static bool
is_of_numbers(const IValue *args, int nargs, const IValue *out, int nout)
{
	bool all = true, tensor = false;

	for (int i = 0; i < nargs; i++)
		all &= is_number(args[i]);
	for (int i = 0; i < nout; i++) {
		all &= is_number(out[i]);
		tensor |= out[i].tag == RT_TENSOR;
	}
	return all && tensor;
}

/* The results of n's kernel; now: it was run on data. */
static bool
run(Spec *s, Scope *c, const Node *n, const IValue *args, int nargs, IValue *out, bool *now)
{
	IValue data[64];

	if (!known_run(s->k, n->op, args, out, n->nout, true))
		return *now = run_now(s, c, n, args, nargs, out);
	if (s->shapes && is_of_numbers(args, nargs, out, n->nout) && (*now = run_now(s, c, n, args, nargs, data)))
		memcpy(out, data, (size_t)n->nout * sizeof *out);
	return true;
}

/* What the kernel says of the results of m, the copy of n: outputs become known where they can be. */
static void
infer(Spec *s, Scope *c, const Node *n, Node *m)
{
	int nargs;
	IValue *args = known_gather(s->k, m, &nargs), out[64];
	bool altered = false;
	const bool list_write = writes_argument(n, 0) && m->in[0]->type->kind == TYPE_LIST;
	bool now = false;
	int64_t was;

	if (list_write && args && !is_followed(s, n, m))
		args = NULL;
	for (int i = 0; i < m->nin; i++)
		if (!shapes_has(s->shapes, m->in[i]))
			args = NULL;
	was = list_write && args ? known_at(s->k, m->in[0])->v.u.list->n : 0;
	if (!args || n->nout > 64 || !run(s, c, n, args, nargs, out, &now)) {
		if (list_write) {
			known_at(s->k, m->in[0])->is = false;
			known_at(s->k, m->in[0])->by_data |= reads_by_data(s, m);
		}
		return;
	}
	for (int i = 0; i < m->nin; i++)
		altered |= known_at(s->k, m->in[i])->altered;
	for (int i = 0; i < n->nout; i++) {
		known_set(s->k, m->out[i], out[i]);
		known_at(s->k, m->out[i])->altered = altered && out[i].tag == RT_TENSOR && !rt_is_contiguous(out[i].u.t);
		known_at(s->k, m->out[i])->mutable = out[i].tag == RT_LIST && is_changed(c, n->out[i]);
	}
	shapes_node(s->shapes, s->k, m, now);
	if (list_write)
		follow_list_write(s, n, m, was);
}

/* All results are known numbers, strings, or small constant tensors: no node is needed. */
static bool
fold(Spec *s, Scope *c, const Node *n, const Node *m)
{
	IValue out[64], *args;
	bool concrete = true;
	int nargs;

	if (!may_fold(c, n) || !n->nout)
		return false;
	for (int i = 0; i < n->nout; i++) {
		const Known *k = known_at(s->k, m->out[i]);

		if (!k->is || !small(k->v) || (k->v.tag == RT_TENSOR && shapes_varies(s->shapes, m->out[i])))
			return false;
		concrete &= !known_has_meta(k->v);
	}
	if (!concrete) {
		if (!reads_what_stays(c, n) || !(args = known_gather(s->k, m, &nargs)))
			return false;
		for (int i = 0; i < nargs; i++)
			if (known_has_meta(args[i]))
				return false;
		if (!known_run(s->k, n->op, args, out, n->nout, false))
			return false;
	} else {
		for (int i = 0; i < n->nout; i++)
			out[i] = rt_retain(known_at(s->k, m->out[i])->v);
	}
	for (int i = 0; i < n->nout; i++) {
		if (out[i].tag == RT_OBJECT || out[i].tag == RT_FUTURE)
			return false;
		bind_constant(s, c, n->out[i], out[i], n->at);
		shapes_same(s->shapes, value_in(c, n->out[i]), m->out[i]);
		if (shapes_varies(s->shapes, m->out[i]))
			node_set_int(value_in(c, n->out[i])->node, "varies", 1);
	}
	return true;
}

static bool
all_tensor_types_known(Spec *s, const Node *m)
{
	for (int i = 0; i < m->nin; i++)
		if (m->in[i]->type->kind == TYPE_TENSOR && !known_is(s->k, m->in[i]))
			return false;
	return true;
}

/* An operator with a body becomes its body. */
static void
inline_body(Spec *s, Scope *c, Node *n, Node *m)
{
	Graph *g = n->op->function->graph;
	Scope body = { .from = g, .value = new(s->cx->arena, Value *, g->nvalue), .alias = alias_db(g, s->cx->arena) };

	for (int i = 0; i < graph_ninputs(g) && i < m->nin; i++)
		bind(s, &body, graph_inputs(g)[i], m->in[i]);
	eval_block(s, &body, g->top);
	for (int i = 0; i < n->nout; i++)
		bind(s, c, n->out[i], value_in(&body, g->top->ret->in[i]));
	keep_layout_of_written(s, c, n);
}

/* aten::copy(self, src): is src what self would become, and may it be?  What is written to later is no constant's memory,
 * and nobody else's. */
static bool
is_same_already(Spec *s, Scope *c, const Node *n)
{
	const Value *src = value_in(c, n->in[1]);
	const Known *a = known_at(s->k, value_in(c, n->in[0])), *b = known_at(s->k, src);

	if (alias_has_writers(c->alias, n->out[0]) && (node_is(src->node, "prim::Constant") || n->in[1]->uses.n > 1))
		return false;
	return a->is && b->is && a->v.tag == RT_TENSOR && b->v.tag == RT_TENSOR && a->v.u.t->dtype == b->v.u.t->dtype &&
	       a->v.u.t->ndim == b->v.u.t->ndim &&
	       !memcmp(a->v.u.t->dims, b->v.u.t->dims, (size_t)a->v.u.t->ndim * sizeof(int64_t)) &&
	       a->v.u.t->storage != b->v.u.t->storage;
}

static void
eval_op(Spec *s, Scope *c, Node *n)
{
	Node *m;

	if (s->grad_stays && node_is(n, "aten::is_grad_enabled")) {
		bind_constant(s, c, n->out[0], rt_bool(true), n->at);
		return;
	}
	if (node_is(n, "aten::copy") && n->nin > 1 && is_same_already(s, c, n)) {
		bind(s, c, n->out[0], value_in(c, n->in[1]));
		return;
	}
	if (n->op->form == OP_BODY && n->op->function && n->op->function->graph) {
		m = copy_node(s, n);
		for (int i = 0; i < n->nin; i++)
			node_add_input(m, argument(s, c, n, i));
		if (all_tensor_types_known(s, m) && graph_ninputs(n->op->function->graph) == n->nin) {
			inline_body(s, c, n, m);
			guard_outputs(s, c, n, m);
			node_destroy(m);
			return;
		}
		node_destroy(m);
	}
	m = emit_copy(s, c, n);
	if (n->op->kernel && n->op->effect != EFFECT_IO)
		infer(s, c, n, m);
	if (fold(s, c, n, m)) {
		node_destroy(m);
		return;
	}
	keep_layout_of_written(s, c, n);
	guard_outputs(s, c, n, m);
}

/* ---- prim ---------------------------------------------------------------------------------------------------------------------- */

static void
eval_constant(Spec *s, Scope *c, Node *n)
{
	Node *m = emit_copy(s, c, n);
	IValue v;

	m->out[0]->type = n->out[0]->type;
	if (value_constant(n->out[0], &v))
		known_set(s->k, m->out[0], rt_retain(v));
}

static void
eval_sequence(Spec *s, Scope *c, Node *n)
{
	Node *m = emit_copy(s, c, n);
	const bool list = node_is(n, "prim::ListConstruct");
	const Type *t = n->out[0]->type;
	RtTuple *tuple;

	known_at(s->k, m->out[0])->by_data = reads_by_data(s, m);
	for (int i = 0; i < m->nin; i++)
		if (!known_is(s->k, m->in[i]))
			return;
	if (list) {
		Shadow h = { .list = rt_list_new(&s->k->rt, type_unshaped(s->cx, t)->of[0], m->nin) };

		for (int i = 0; i < m->nin; i++) {
			rt_list_push(&s->k->rt, h.list, rt_retain(known_at(s->k, m->in[i])->v));
			vec_push(s->cx->arena, &h.items, m->in[i]);
		}
		known_set(s->k, m->out[0], rt_ref(RT_LIST, h.list));
		for (int i = 0; i < m->nin; i++)
			known_at(s->k, m->out[0])->altered |= known_at(s->k, m->in[i])->altered;
		known_at(s->k, m->out[0])->mutable = is_changed(c, n->out[0]);
		vec_push(s->cx->arena, &s->shadows, h);
		shapes_node(s->shapes, s->k, m, false);
		return;
	}
	tuple = rt_tuple_new(&s->k->rt, t->field ? t : NULL, m->nin);
	for (int i = 0; i < m->nin; i++)
		tuple->v[i] = rt_retain(known_at(s->k, m->in[i])->v);
	known_set(s->k, m->out[0], rt_ref(RT_TUPLE, tuple));
	shapes_node(s->shapes, s->k, m, false);
}

/* The node that made v, when that is a TupleConstruct, or a ListConstruct that nobody writes to. */
static Node *
construction(Spec *s, Scope *c, const Value *from, const Value *v)
{
	if (node_is(v->node, "prim::TupleConstruct"))
		return v->node;
	if (node_is(v->node, "prim::ListConstruct") && !is_changed(c, from))
		return v->node;
	(void)s;
	return NULL;
}

/* Makes a result known from the parts of a known tuple or list without a construction. */
static void
know_part(Spec *s, Value *out, Value *whole, int64_t i)
{
	const Known *k = known_at(s->k, whole);

	if (k->is && !k->mutable && k->v.tag == RT_TUPLE && i < k->v.u.tuple->n)
		known_set(s->k, out, rt_retain(k->v.u.tuple->v[i]));
	else if (k->is && !k->mutable && k->v.tag == RT_LIST && i < k->v.u.list->n)
		known_set(s->k, out, rt_retain(k->v.u.list->v[i]));
}

static void
eval_unpack(Spec *s, Scope *c, Node *n)
{
	Value *in = value_in(c, n->in[0]);
	Node *made = construction(s, c, n->in[0], in), *m;

	if (made && made->nin == n->nout) {
		for (int i = 0; i < n->nout; i++)
			bind(s, c, n->out[i], made->in[i]);
		return;
	}
	m = emit_copy(s, c, n);
	for (int i = 0; i < n->nout; i++)
		know_part(s, m->out[i], m->in[0], i);
	shapes_node(s->shapes, s->k, m, false);
	guard_outputs(s, c, n, m);
}

static void
eval_tuple_index(Spec *s, Scope *c, Node *n)
{
	Value *in = value_in(c, n->in[0]);
	Node *made = construction(s, c, n->in[0], in), *m;
	int64_t i = 0, count = n->in[0]->type->n;

	if (n->nin > 1 && !known_int(s->k, value_in(c, n->in[1]), &i)) {
		emit_copy(s, c, n);
		return;
	}
	if (n->nin == 1)
		i = node_int(n, "index", 0);
	i += i < 0 ? count : 0;
	if (made && i >= 0 && i < made->nin) {
		bind(s, c, n->out[0], made->in[i]);
		return;
	}
	m = emit_copy(s, c, n);
	know_part(s, m->out[0], m->in[0], i);
	shapes_node(s->shapes, s->k, m, false);
	guard_outputs(s, c, n, m);
}

static void
eval_cast(Spec *s, Scope *c, Node *n)
{
	Value *in = value_in(c, n->in[0]);
	Node *m;

	if (known_is(s->k, in) || type_is_subtype(s->cx, in->type, n->out[0]->type)) {
		bind(s, c, n->out[0], in);
		return;
	}
	m = emit_copy(s, c, n);
	guard_outputs(s, c, n, m);
}

static void
eval_isinstance(Spec *s, Scope *c, Node *n)
{
	const Attr *types = node_attr(n, "types");
	const Known *k = known_at(s->k, value_in(c, n->in[0]));
	bool yes = false;

	if (!k->is || !types || types->kind != ATTR_TYPES) {
		emit_copy(s, c, n);
		return;
	}
	for (int i = 0; i < types->ntypes; i++)
		yes |= rt_isinstance(k->v, types->types[i]);
	bind_constant(s, c, n->out[0], rt_bool(yes), n->at);
}

/* The body is the generic code's: `function` holds its Code. */
static void
eval_fork(Spec *s, Scope *c, Node *n)
{
	const RtCode *code = s->fn->code;
	Function *body = new(s->cx->arena, Function, 1);
	Node *m = emit_copy(s, c, n);
	Attr function = { .name = sym(s->cx, "function"), .kind = ATTR_FUNCTION, .fn = body };

	for (int pc = n->pc; c->top && pc >= 0 && pc < n->end && !body->code; pc++)
		if (code->insn[pc].op == RT_DO_FORK)
			body->code = (RtCode *)(uintptr_t)code->callee[code->insn[pc].arg];
	if (!body->code)
		fail_lacks(s->cx, n->at, "a specialization of this prim::fork");
	vec_push(s->cx->arena, &m->attrs, function);
	known_forget_mutable(s->k);
}

/* ---- control flow ------------------------------------------------------------------------------------------------------------------ */

static bool
block_writes_lists(const Block *b)
{
	for NODES(n, b) {
		const Schema *schema = node_schema(n);

		for (int i = 0; schema && i < schema->nargs; i++)
			if (writes_argument(n, i) && schema->args[i].type->kind != TYPE_TENSOR)
				return true;
		if (node_is_call(n))
			return true;
		for (int i = 0; i < n->nsub; i++)
			if (block_writes_lists(n->sub[i]))
				return true;
	}
	return false;
}

/* A block that may run or not, or often: what it writes to is no longer followed. */
static void
forget_lists(Spec *s, const Node *n)
{
	for (int b = 0; b < n->nsub; b++)
		if (block_writes_lists(n->sub[b])) {
			known_forget_mutable(s->k);
			return;
		}
}

static bool
same_type(const Value *a, const Value *b)
{
	return a->type == b->type;
}

/* The result of a join of a and b: known to be a tensor of one type, in a storage that is neither's. */
static void
join(Spec *s, Value *out, Value *a, Value *b, const Type *otherwise)
{
	if (type_is_complete(a->type) && same_type(a, b) && known_is(s->k, a) && known_is(s->k, b) &&
	    rt_is_dense(known_at(s->k, a)->v.u.t)) {
		known_set(s->k, out, known_meta(s->k, a->type));
		shapes_like(s->shapes, s->k, out, a);
	} else {
		out->type = type_unshaped(s->cx, otherwise);
	}
}

static void
eval_branch(Spec *s, Scope *c, Block *from, Block *to)
{
	Block *at = s->to->at_block;
	Node *before = s->to->at_node;

	graph_set_insert_end(s->to, to);
	eval_block(s, c, from);
	for (int i = 0; i < from->ret->nin; i++)
		block_add_output(to, as_in_model(s, c, value_in(c, from->ret->in[i]), from->ret->at));
	s->to->at_block = at;
	s->to->at_node = before;
}

static void
eval_if(Spec *s, Scope *c, Node *n)
{
	Value *condition = value_in(c, n->in[0]);
	int64_t yes;
	Node *m;
	Value **before;

	if (known_int(s->k, condition, &yes)) {
		Block *b = n->sub[yes ? 0 : 1];

		eval_block(s, c, b);
		for (int i = 0; i < n->nout; i++)
			bind(s, c, n->out[i], value_in(c, b->ret->in[i]));
		return;
	}
	m = copy_node(s, n);
	node_add_input(m, condition);
	forget_lists(s, n);
	graph_insert(s->to, m);
	before = new(s->cx->arena, Value *, s->fn->code->nreg + 1);
	memcpy(before, s->in_register, (size_t)s->fn->code->nreg * sizeof *before);
	for (int b = 0; b < 2; b++) {
		memcpy(s->in_register, before, (size_t)s->fn->code->nreg * sizeof *before);
		eval_branch(s, c, n->sub[b], node_add_block(m));
	}
	memcpy(s->in_register, before, (size_t)s->fn->code->nreg * sizeof *before);
	forget_lists(s, n);
	for (int i = 0; i < n->nout; i++) {
		Value *out = node_add_output(m, n->out[i]->type);

		out->name = n->out[i]->name;
		join(s, out, m->sub[0]->ret->in[i], m->sub[1]->ret->in[i], n->out[i]->type);
		for (int b = 0; b < 2; b++)
			known_at(s->k, out)->by_data |= known_at(s->k, condition)->by_data ||
							known_at(s->k, m->sub[b]->ret->in[i])->by_data;
		bind(s, c, n->out[i], out);
	}
}

/* A counted loop short enough to write out. */
static bool
unroll(Spec *s, Scope *c, Node *n)
{
	Block *body = n->sub[0];
	int64_t trips, go, on;
	Value **carried;

	if (!known_int(s->k, value_in(c, n->in[0]), &trips) || !known_int(s->k, value_in(c, n->in[1]), &go))
		return false;
	if (!go || trips <= 0)
		trips = 0;
	if (!shapes_may_unroll(s->shapes, n, trips))
		return false;
	if (trips && (!value_int(body->ret->in[0], &on) || !on || trips > UNROLL_TRIPS || trips * block_size(body) > UNROLL_NODES))
		return false;
	carried = new(s->cx->arena, Value *, n->nout + 1);
	for (int i = 0; i < n->nout; i++)
		carried[i] = value_in(c, n->in[i + 2]);
	for (int64_t t = 0; t < trips; t++) {
		bind_constant(s, c, body->param->out[0], rt_int(t), n->at);
		for (int i = 0; i < n->nout; i++)
			bind(s, c, body->param->out[i + 1], carried[i]);
		eval_block(s, c, body);
		for (int i = 0; i < n->nout; i++)
			carried[i] = value_in(c, body->ret->in[i + 1]);
	}
	for (int i = 0; i < n->nout; i++)
		bind(s, c, n->out[i], carried[i]);
	return true;
}

/* One try at a loop's body, with these types carried; returns whether the body gives what it takes.  Otherwise the types
 * that differ have been made less. */
static bool
try_body(Spec *s, Scope *c, Node *n, Node *m, const Type **carried)
{
	Block *from = n->sub[0], *to = node_add_block(m);
	bool stable = true;

	for (int i = 0; i < from->param->nout; i++) {
		Value *in = block_add_input(to, i ? carried[i - 1] : &rt_type_int, from->param->out[i]->name);

		if (i && type_is_complete(carried[i - 1])) {
			known_set(s->k, in, known_meta(s->k, carried[i - 1]));
			shapes_like(s->shapes, s->k, in, m->in[i + 1]);
		}
		known_at(s->k, in)->by_data = known_at(s->k, m->in[i ? i + 1 : 0])->by_data;
		bind(s, c, from->param->out[i], in);
	}
	eval_branch(s, c, from, to);
	for (int i = 0; i < n->nout; i++) {
		const Type *got = to->ret->in[i + 1]->type;
		const bool complete = type_is_complete(carried[i]);

		if (complete && (got != carried[i] || !known_is(s->k, to->ret->in[i + 1]))) {
			carried[i] = type_unshaped(s->cx, n->out[i]->type);
			stable = false;
		}
	}
	return stable;
}

static void
eval_loop(Spec *s, Scope *c, Node *n)
{
	const Type **carried = new(s->cx->arena, const Type *, n->nout + 1);
	const ShapesMark mark = shapes_mark(s->shapes);
	Value **before;
	Node *m;
	bool stable;
	int guards;

	if (unroll(s, c, n))
		return;
	forget_lists(s, n);
	for (int i = 0; i < n->nout; i++) {
		Value *in = value_in(c, n->in[i + 2]);

		carried[i] = known_is(s->k, in) && type_is_complete(in->type) && rt_is_dense(known_at(s->k, in)->v.u.t) ?
			in->type : type_unshaped(s->cx, n->out[i]->type);
	}
	before = new(s->cx->arena, Value *, s->fn->code->nreg + 1);
	memcpy(before, s->in_register, (size_t)s->fn->code->nreg * sizeof *before);
	guards = s->nguard;
	do {
		s->nguard = guards;
		memcpy(s->in_register, before, (size_t)s->fn->code->nreg * sizeof *before);
		m = copy_node(s, n);
		for (int i = 0; i < n->nin; i++)
			node_add_input(m, as_in_model(s, c, value_in(c, n->in[i]), n->at));
		graph_insert(s->to, m);
		stable = try_body(s, c, n, m, carried);
		if (!stable) {
			node_destroy(m);
			shapes_back(s->shapes, mark);
		}
	} while (!stable);
	memcpy(s->in_register, before, (size_t)s->fn->code->nreg * sizeof *before);
	forget_lists(s, n);
	for (int i = 0; i < n->nout; i++) {
		Value *out = node_add_output(m, carried[i]);

		out->name = n->out[i]->name;
		if (type_is_complete(carried[i])) {
			known_set(s->k, out, known_meta(s->k, carried[i]));
			shapes_like(s->shapes, s->k, out, m->in[i + 2]);
		}
		known_at(s->k, out)->by_data = known_at(s->k, m->in[0])->by_data || known_at(s->k, m->sub[0]->ret->in[i + 1])->by_data;
		bind(s, c, n->out[i], out);
	}
}

/* ---- the walk --------------------------------------------------------------------------------------------------------------------------- */

static void
eval_node(Spec *s, Scope *c, Node *n)
{
	if (node_is(n, "prim::Constant"))
		eval_constant(s, c, n);
	else if (node_is(n, "prim::If"))
		eval_if(s, c, n);
	else if (node_is(n, "prim::Loop"))
		eval_loop(s, c, n);
	else if (node_is(n, "prim::TupleConstruct") || node_is(n, "prim::ListConstruct"))
		eval_sequence(s, c, n);
	else if (node_is(n, "prim::TupleUnpack") || node_is(n, "prim::ListUnpack"))
		eval_unpack(s, c, n);
	else if (node_is(n, "prim::TupleIndex"))
		eval_tuple_index(s, c, n);
	else if (node_is(n, "prim::unchecked_cast"))
		eval_cast(s, c, n);
	else if (node_is(n, "prim::isinstance"))
		eval_isinstance(s, c, n);
	else if (n->op)
		eval_op(s, c, n);
	else if (n->nsub)
		fail_lacks(s->cx, n->at, "a specialization of %s", n->kind->name);
	else if (node_is(n, "prim::fork") || node_is(n, "prim::awaitable"))
		eval_fork(s, c, n);
	else {
		Node *m = emit_copy(s, c, n);

		if (node_is_call(n))
			known_forget_mutable(s->k);
		guard_outputs(s, c, n, m);
	}
}

/* May something in the block turn gradients on or off? */
static bool
block_sets_grad(const Block *b)
{
	for NODES(n, b) {
		if (node_is(n, "aten::set_grad_enabled") || node_is_call(n))
			return true;
		for (int i = 0; i < n->nsub; i++)
			if (block_sets_grad(n->sub[i]))
				return true;
	}
	return false;
}

static void
eval_block(Spec *s, Scope *c, Block *b)
{
	for NODES(n, b)
		eval_node(s, c, n);
}

Graph *
specialize(Cx *cx, Function *fn, const Profile *profile, const Pattern *args, int first, Shapes *shapes)
{
	Graph *from = fn->prepared;
	Spec s = { .cx = cx, .fn = fn, .profile = profile, .to = graph_new(cx, from->name) };
	Scope top = { .from = from, .value = new(cx->arena, Value *, from->nvalue), .alias = alias_db(from, cx->arena), .top = true };

	s.k = known_table(cx);
	s.shapes = shapes;
	s.grad_stays = !block_sets_grad(from->top);
	s.in_register = new(cx->arena, Value *, fn->code->nreg + 1);
	s.live = code_live(cx->arena, fn->code);
	graph_set_insert_end(s.to, s.to->top);
	for (int i = 0; i < graph_ninputs(from); i++) {
		const Value *in = graph_inputs(from)[i];
		Value *to = graph_add_input(s.to, in->type, in->name);
		IValue v;

		shapes_input(shapes, to);
		if (i >= first && args[i - first].form == PATTERN_VALUE) {
			bind_constant(&s, &top, in, rt_retain(args[i - first].value), (Range){ 0 });
			continue;
		}
		if (i >= first && known_of_pattern(s.k, &args[i - first], type_unshaped(cx, in->type), &v)) {
			known_set(s.k, to, v);
			known_at(s.k, to)->mutable = v.tag == RT_LIST && is_changed(&top, in);
		}
		bind(&s, &top, in, to);
	}
	eval_block(&s, &top, from->top);
	for (int i = 0; i < from->top->ret->nin; i++)
		graph_add_output(s.to, fresh_list(&s, as_in_model(&s, &top, value_in(&top, from->top->ret->in[i]), from->top->ret->at),
						  from->top->ret->at));
	return s.to;
}
