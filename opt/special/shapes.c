/*
 * Shapes: the computations of sizes that a specialization depends on, as a graph that can be run again.
 *
 * The specializer learns the sizes of a sample from kernels without data.  Every such call is recorded here, in one
 * graph without branches and loops: operators, lists and tuples in the order in which they ran.  Values that depend on
 * the arguments' sizes are observed as numbers.  rt/sizes.c runs the graph on the sizes of a call, and compares these
 * numbers.  The specializer of a sample uses only sizes that are computed in this graph.
 */
#include "../opt.h"

#include <string.h>

typedef struct Trips { const Node *loop; int64_t n; } Trips;

typedef struct Failed { const Node *node; Range at; } Failed;     /* at: its line in the model */

struct Shapes {
	RtSeen seen;             /* must be the first member, since put() casts its address */
	Cx    *cx;
	Graph *graph;
	Vec(Value *) of;         /* value in this graph, by value id in the specialized graph */
	Vec(bool) varies;        /* whether the value depends on the arguments, by value id in this graph */
	Vec(SizeNumber) number;
	Vec(Trips) trips;        /* trip counts of loops, in the order of evaluation */
	Vec(Failed) failed;
	const RolledLoops *rolled;
};

static void
put_number(RtSeen *seen, int64_t i, RtSeenKind kind)
{
	Shapes *s = (Shapes *)(void *)seen;

	vec_push(s->cx->arena, &s->number, ((SizeNumber){ i, kind }));
}

Shapes *
shapes_new(Cx *cx, const char *name, const RolledLoops *rolled)
{
	Shapes *s = new(cx->arena, Shapes, 1);

	s->cx = cx;
	s->seen.put = put_number;
	s->graph = graph_new(cx, name);
	s->rolled = rolled;
	graph_set_insert_end(s->graph, s->graph->top);
	return s;
}

const SizeNumber *
shapes_numbers(const Shapes *s, int *n)
{
	*n = s->number.n;
	return s->number.at;
}

static void
set_varies(Shapes *s, const Value *v, bool varies)
{
	while (s->varies.n <= v->id)
		vec_push(s->cx->arena, &s->varies, false);
	s->varies.at[v->id] = varies;
}

static bool
value_varies(const Shapes *s, const Value *v)
{
	return v->id < s->varies.n && s->varies.at[v->id];
}

static void
set_value(Shapes *s, const Value *to, Value *v)
{
	while (s->of.n <= to->id)
		vec_push(s->cx->arena, &s->of, NULL);
	s->of.at[to->id] = v;
}

/* Returns the value in this graph for a value of the specialized graph.  Null if there is none. */
static Value *
value_here(Shapes *s, const Value *to)
{
	IValue v;

	if (to->id < s->of.n && s->of.at[to->id])
		return s->of.at[to->id];
	if (!node_is(to->node, prim_Constant) || !value_constant(to, &v))
		return NULL;
	set_value(s, to, graph_constant_typed(s->graph, rt_retain(v), type_unshaped(s->cx, to->type), to->node->at));
	return s->of.at[to->id];
}

bool
shapes_has(Shapes *s, const Value *to)
{
	return !s || value_here(s, to);
}

bool
shapes_varies(Shapes *s, const Value *to)
{
	const Value *v = s ? value_here(s, to) : NULL;

	return v && value_varies(s, v);
}

void
shapes_input(Shapes *s, const Value *to)
{
	Value *v;

	if (!s)
		return;
	v = graph_add_input(s->graph, type_unshaped(s->cx, to->type), to->name);
	set_value(s, to, v);
	set_varies(s, v, true);
}

void
shapes_same(Shapes *s, const Value *to, const Value *as)
{
	if (s && value_here(s, as))
		set_value(s, to, value_here(s, as));
}

/* Returns v, marked so that the next node runs on real data. */
static Value *
run_next(Shapes *s, Value *v)
{
	Node *p = node_new(s->graph, sym(s->cx, "prim::profile"), v->node->at, 1);

	node_set_int(p, "index", RT_SIZES_RUN);
	node_add_input(p, v);
	p->out[0]->type = v->type;
	graph_insert(s->graph, p);
	set_varies(s, p->out[0], value_varies(s, v));
	return p->out[0];
}

/* Makes v the value for `to`.  Observes it if it varies, or if it was computed on real data: the observation ends the
 * run on data. */
static void
observe(Shapes *s, KnownTable *k, const Value *to, Value *v, bool varies, bool now)
{
	Node *p;

	set_varies(s, v, varies);
	if ((varies || now) && known_is(k, to)) {
		p = node_new(s->graph, sym(s->cx, "prim::profile"), v->node->at, 1);
		node_set_int(p, "index", s->number.n);
		node_add_input(p, v);
		p->out[0]->type = v->type;
		graph_insert(s->graph, p);
		set_varies(s, p->out[0], varies);
		rt_see(&s->seen, known_at(k, to)->v);
		v = p->out[0];
	}
	set_value(s, to, v);
}

/* Replaces m by constants if its results have known data that is the same for all sizes.  Returns whether it did. */
static bool
put_constants(Shapes *s, KnownTable *k, const Node *m)
{
	for (int i = 0; i < m->nout; i++)
		if (!known_is(k, m->out[i]) || known_has_meta(known_at(k, m->out[i])->v) ||
		    !constant_may_be(known_at(k, m->out[i])->v))
			return false;
	for (int i = 0; i < m->nout; i++)
		set_value(s, m->out[i], graph_constant_typed(s->graph, rt_retain(known_at(k, m->out[i])->v),
							     type_unshaped(s->cx, m->out[i]->type), m->at));
	return true;
}

/* Is m a rank or a list's length?  It needs no observation of its own: if the input varies, the observation of the
 * input contains it. */
static bool
is_seen_with_input(const Node *m)
{
	return node_is(m, aten_dim) || (node_is(m, aten_len) && m->in[0]->type->kind == TYPE_LIST);
}

/* Does m write, or return a list or dict that the graph writes to? */
static bool
may_change(KnownTable *k, const Node *m)
{
	bool may = node_writes(m);

	for (int i = 0; i < m->nout; i++)
		may |= known_at(k, m->out[i])->mutable;
	return may;
}

/* Returns the value in this graph for input i of m, or a stand-in for an unknown number.  Null if there is none. */
static Value *
input_here(Shapes *s, KnownTable *k, const Node *m, int i)
{
	Value *v = value_here(s, m->in[i]);
	IValue other;

	return v || known_is(k, m->in[i]) || !known_stand_in(k, m, i, &other) ? v
									      : graph_constant(s->graph, other, m->at);
}

void
shapes_node(Shapes *s, KnownTable *k, const Node *m, bool now)
{
	Value **in;
	bool varies = false;
	Node *n;

	if (!s)
		return;
	in = new(s->cx->arena, Value *, m->nin + 1);
	for (int i = 0; i < m->nin; i++) {
		if (!(in[i] = input_here(s, k, m, i)))
			return;
		varies |= value_varies(s, in[i]);
	}
	varies &= !is_seen_with_input(m);
	/* Folds nodes that have read data, because later runs of the graph have sizes but no data. Folding other
	 * nodes makes these runs shorter. */
	if (!varies && (now || !may_change(k, m)) && put_constants(s, k, m))
		return;
	n = node_new(s->graph, m->kind, m->at, 0);
	n->op = m->op;
	n->inlined = m->inlined;
	for (int i = 0; i < m->attrs.n; i++)
		vec_push(s->cx->arena, &n->attrs, m->attrs.at[i]);
	for (int i = 0; i < m->nin; i++)
		node_add_input(n, now && !i ? run_next(s, in[i]) : in[i]);
	for (int i = 0; i < m->nout; i++)
		node_add_output(n, type_unshaped(s->cx, m->out[i]->type));
	graph_insert(s->graph, n);
	for (int i = 0; i < m->nin && varies; i++)
		if (node_writes_input(m, i))             /* reads of it after the write depend on the sizes */
			set_varies(s, in[i], true);
	for (int i = 0; i < m->nout; i++)
		observe(s, k, m->out[i], n->out[i], varies, now);
}

void
shapes_fail(Shapes *s, const Node *n, Range at)
{
	if (s)
		vec_push(s->cx->arena, &s->failed, ((Failed){ n, at }));
}

/* Does b fail only at nodes at which a fails, in the same order?  A node in a loop that is not unrolled counts once. */
bool
shapes_fail_within(const Shapes *a, const Shapes *b)
{
	int at = 0;

	for (int i = 0; i < a->failed.n && at < b->failed.n; i++)
		at += a->failed.at[i].node == b->failed.at[at].node;
	return at == b->failed.n;
}

static Node *
call(Shapes *s, const char *kind, const Value *first, const IValue *more, int n)
{
	Node *m = node_new(s->graph, sym(s->cx, kind), first ? first->node->at : (Range){ 0 }, 1);

	m->op = op_find(s->cx, kind, "");
	if (!m->op)
		BUG("there is no %s", kind);
	if (first)
		node_add_input(m, value_here(s, first));
	for (int i = 0; i < n; i++)
		node_add_input(m, graph_constant(s->graph, more[i], m->at));
	return graph_insert(s->graph, m);
}

void
shapes_like(Shapes *s, KnownTable *k, const Value *to, const Value *as)
{
	const IValue format[] = { rt_int(1) };

	if (s && value_here(s, as))
		observe(s, k, to, call(s, "aten::clone", as, format, 1)->out[0], value_varies(s, value_here(s, as)),
			false);
}

/* Returns a list of these ints. */
static IValue
list_of(RtCx *rt, const int64_t *i, int n)
{
	RtList *l = rt_list_new(rt, &rt_type_int, n);

	for (int k = 0; k < n; k++)
		rt_list_push(rt, l, rt_int(i[k]));
	return rt_ref(RT_LIST, l);
}

void
shapes_type(Shapes *s, KnownTable *k, const Value *to, const Type *t)
{
	RT_ASSERT(type_is_complete(t));
	if (s) {
		const TensorInfo *i = t->tensor;
		const IValue args[] = { list_of(&k->rt, i->dims, i->rank), list_of(&k->rt, i->strides, i->rank),
					rt_int(i->dtype), rt_none(), rt_none(), rt_none() };

		observe(s, k, to, call(s, "aten::empty_strided", NULL, args, 6)->out[0], false, false);
	}
}

/* Records `to` as a tensor with the type that m, an aten::select, returns for any index. */
void
shapes_element(Shapes *s, KnownTable *k, const Value *to, const Node *m)
{
	const IValue defaults[] = { rt_int(known_tensor(k, to)->dtype), rt_none(), rt_none(), rt_none() };
	Node *at, *like;

	if (!s)
		return;
	RT_ASSERT(node_is(m, aten_select) && shapes_has(s, m->in[0]) && shapes_has(s, m->in[1]));
	at = node_new(s->graph, m->kind, m->at, 1);
	at->op = m->op;
	node_add_input(at, value_here(s, m->in[0]));
	node_add_input(at, value_here(s, m->in[1]));
	node_add_input(at, graph_constant(s->graph, rt_int(0), m->at));
	set_value(s, to, graph_insert(s->graph, at)->out[0]);
	like = node_new(s->graph, sym(s->cx, "aten::empty_strided"), m->at, 1);
	like->op = op_find(s->cx, "aten::empty_strided", "");
	node_add_input(like, call(s, "aten::size", to, NULL, 0)->out[0]);
	node_add_input(like, call(s, "aten::stride", to, NULL, 0)->out[0]);
	for (int i = 0; i < 4; i++)
		node_add_input(like, graph_constant(s->graph, defaults[i], m->at));
	observe(s, k, to, graph_insert(s->graph, like)->out[0], value_varies(s, at->in[0]), false);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

ShapesMark
shapes_mark(const Shapes *s)
{
	return s ? (ShapesMark){ s->graph->top->ret->prev, s->number.n, s->seen.n, s->trips.n, s->failed.n }
		 : (ShapesMark){ 0 };
}

void
shapes_back(Shapes *s, ShapesMark m)
{
	const Block *top;

	if (!s)
		return;
	RT_ASSERT(m.nnumber <= s->number.n && m.ntrips <= s->trips.n && m.nfailed <= s->failed.n);
	top = s->graph->top;
	for (int i = 0; i < s->of.n; i++) {
		const Node *n = s->of.at[i] ? s->of.at[i]->node : NULL;

		/* If nothing had been recorded at the mark, its last node is the block's end. */
		if (n && n->block == top && n != m.last && n != top->param &&
		    (m.last == top->ret || node_is_before(m.last, n)))
			s->of.at[i] = NULL;
	}
	while (top->ret->prev != m.last)
		node_destroy(top->ret->prev);
	rt_seen_back(&s->seen, m.nstorage);
	s->number.n = m.nnumber;
	s->trips.n = m.ntrips;
	s->failed.n = m.nfailed;
}

bool
shapes_may_unroll(Shapes *s, const Node *loop, int64_t trips)
{
	RT_ASSERT(node_is(loop, prim_Loop) && trips >= 0);
	if (!s)
		return true;
	vec_push(s->cx->arena, &s->trips, ((Trips){ loop, trips }));
	for (int i = 0; i < s->rolled->n; i++)
		if (s->rolled->at[i] == loop)
			return false;
	return true;
}

/* Marks the first loop whose trip count differs between two samples, so that it is not unrolled.  Returns false if
 * there is none. */
bool
shapes_roll(const Shapes *a, const Shapes *b, RolledLoops *rolled)
{
	for (int i = 0; i < a->trips.n && i < b->trips.n && a->trips.at[i].loop == b->trips.at[i].loop; i++) {
		const Node *loop = a->trips.at[i].loop;
		bool known = false;

		for (int k = 0; k < rolled->n; k++)
			known |= rolled->at[k] == loop;
		if (a->trips.at[i].n != b->trips.at[i].n && !known) {
			vec_push(a->cx->arena, rolled, loop);
			return true;
		}
	}
	return false;
}

/* ---- the finished graph ------------------------------------------------------------------------------------------ */

static bool
is_needed(const Shapes *s, const Node *n)
{
	if (node_is(n, prim_profile))
		return true;
	for (int i = 0; i < n->nout; i++)
		if (n->out[i]->uses.n || value_varies(s, n->out[i]))
			return true;
	return node_writes(n);
}

Graph *
shapes_graph(Shapes *s)
{
	Value *nothing;

	RT_ASSERT(!s->graph->top->ret->nin);
	for NODES_REV(n, s->graph->top)
		if (!is_needed(s, n))
			node_destroy(n);
	nothing = graph_constant(s->graph, rt_none(), (Range){ 0 });
	graph_add_output(s->graph, nothing);
	return s->graph;
}

/* May a number have these two values in two samples?  Sizes of 0 and 1 must be equal: kernels have no loop over a size
 * of 1, and it broadcasts. */
static bool
may_both_be(const SizeNumber *a, const SizeNumber *b)
{
	return a->kind == b->kind &&
	       (a->i == b->i || a->kind == RT_SEEN_INT || (a->kind == RT_SEEN_DIM && a->i > 1 && b->i > 1));
}

/* Are the constants equal, as far as sizes depend on them?  They must be, since the graph of one sample is run for the
 * others, too.  No size depends on floats. */
static bool
same_constant(const Value *a, const Value *b)
{
	IValue x, y;
	bool same;

	if (!node_is(a->node, prim_Constant) || !value_constant(a, &x) || !value_constant(b, &y))
		return true;
	if (x.tag == RT_INT || x.tag == RT_BOOL || (x.tag == RT_LIST && x.u.list->elem->kind == TYPE_INT))
		return x.tag == y.tag && !rt_equal(NULL, x, y, &same) && same;
	return x.tag == y.tag;
}

static bool
same_node(const Node *a, const Node *b)
{
	if (a->kind != b->kind || a->op != b->op || a->nin != b->nin || a->nout != b->nout)
		return false;
	for (int i = 0; i < a->nin; i++)
		if (!same_constant(a->in[i], b->in[i]))
			return false;
	return true;
}

/* Do two samples take the same path? */
bool
shapes_agree(const Shapes *a, const Shapes *b)
{
	const Node *m = b->graph->top->ret->next;

	if (a->number.n != b->number.n)
		return false;
	for (int i = 0; i < a->number.n; i++)
		if (!may_both_be(&a->number.at[i], &b->number.at[i]))
			return false;
	for NODES(n, a->graph->top) {
		if (m == b->graph->top->ret || !same_node(n, m))
			return false;
		m = m->next;
	}
	return m == b->graph->top->ret;
}

/* Are the numbers that node n of a observes possible for b, too? */
static bool
same_numbers(const Shapes *a, const Shapes *b, const Node *n)
{
	const int64_t begin = node_int(n, "index", 0);
	int64_t end = a->number.n;

	if (!node_is(n, prim_profile) || begin == RT_SIZES_RUN)
		return true;
	for (const Node *m = n->next; m != a->graph->top->ret; m = m->next)
		if (node_is(m, prim_profile) && node_int(m, "index", 0) != RT_SIZES_RUN) {
			end = node_int(m, "index", 0);
			break;
		}
	for (int64_t i = begin; i < end; i++)
		if (i >= b->number.n || !may_both_be(&a->number.at[i], &b->number.at[i]))
			return false;
	return true;
}

/* Describes a failed node.  A guard of torch.export is described by its message, since its line is in no source. */
static Cause
cause_of_failure(const Failed *f)
{
	Cause c = { .at = f->at, .refused = true };
	IValue text;

	if (node_is(f->node, prim_RaiseException) && value_constant(f->node->in[0], &text) && text.tag == RT_STR) {
		c.what = text.u.str->s;
		if (range_original(f->at).src == f->at.src)
			c.at = (Range){ 0 };
	}
	return c;
}

Cause
shapes_differ(const Shapes *a, const Shapes *b)
{
	const Node *m = b->graph->top->ret->next;

	for (int i = 0, at = 0; i < b->failed.n; i++) {
		while (at < a->failed.n && a->failed.at[at].node != b->failed.at[i].node)
			at++;
		if (at++ >= a->failed.n)
			return cause_of_failure(&b->failed.at[i]);
	}
	for NODES(n, a->graph->top) {
		if (m == b->graph->top->ret || !same_node(n, m) || !same_numbers(a, b, n))
			return (Cause){ .at = n->at };
		m = m->next;
	}
	return (Cause){ .at = m == b->graph->top->ret ? (Range){ 0 } : m->at };
}
