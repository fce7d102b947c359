/*
 * Finds what the turns of a run depend on: data, random numbers, state that the run itself writes, or number arguments.
 *
 * Here the trace is one graph.  Every value has three sets of ON_ bits.  `data` are the dependencies of its elements,
 * `form` those of its sizes or length.  `kind` are those of its dtype, its rank, or whether it is None.  `kind` is
 * mostly empty, since the path decides these.  Sizes of arguments depend on nothing, since a trace is checked with
 * other sizes.  Nodes are visited once, in order.  A write also changes the sets of all earlier values that may share
 * the memory.
 */
#include "trace.h"
#include "../../rt/ops/kernel.h"

typedef struct On { uint8_t data, form, kind; } On;

typedef struct Depends {
	Cx       *cx;
	Graph    *graph;
	AliasDb  *alias;
	On       *on;              /* dependencies, by value id */
	Vec(const Value *) memory; /* values made so far whose memory may be written to */
	/* union of the dependencies (On) of all values that are set, by class and name of the attribute */
	Map       attributes;
	Map       state;           /* attributes that some node sets, by class and name */
	KnownTable *table;         /* runs operators on tensors without data */
	PtrMap    reads;           /* properties (Reads) that an operator reads, by Op */
	Pass      pass;            /* its `self` is the instance of the run, for values of attributes */
} Depends;

/* Properties of tensors that an operator reads: dtype and rank; also sizes; also elements. */
typedef enum Reads { READS_KIND = 1, READS_SIZES, READS_ELEMENTS } Reads;

static On
both(On a, On b)
{
	return (On){ a.data | b.data, a.form | b.form, a.kind | b.kind };
}

static On *
on(Depends *d, const Value *v)
{
	return &d->on[v->id];
}

static On
of_all(Depends *d, const Node *n)
{
	On all = { 0, 0, 0 };

	for (int i = 0; i < n->nin; i++)
		all = both(all, *on(d, n->in[i]));
	return all;
}

static void
set_all(Depends *d, const Node *n, On to)
{
	for (int i = 0; i < n->nout; i++)
		*on(d, n->out[i]) = to;
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

static bool
has_tensor(const Type *t)
{
	bool has = t->kind == TYPE_TENSOR || t->kind == TYPE_ANY || t->kind == TYPE_VAR;

	for (int i = 0; i < t->n && !has; i++)
		has = has_tensor(t->of[i]);
	return has;
}

static bool
has_number(const Type *t)
{
	bool has = !t->n && t->kind != TYPE_TENSOR && t->kind != TYPE_NONE && t->kind != TYPE_CLASS;

	for (int i = 0; i < t->n && !has; i++)
		has = has_number(t->of[i]);
	return has;
}

/* Is it a number or a string, which has no size? */
static bool
is_plain(const Type *t)
{
	return !t->n && !has_tensor(t);
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

/* Makes arguments for a call on this tensor.  Returns false if an argument has no default, and is neither tensor, int
 * nor bool. */
static bool
plain_arguments(const Schema *s, IValue tensor, IValue *args)
{
	for (int i = 0; i < s->nargs; i++) {
		const Type *t = s->args[i].type;

		if (t->kind == TYPE_TENSOR)
			args[i] = tensor;
		else if (s->args[i].has_default)
			args[i] = s->args[i].deflt;
		else if (t->kind == TYPE_INT || t->kind == TYPE_BOOL)
			args[i] = t->kind == TYPE_INT ? rt_int(0) : rt_bool(false);
		else
			return false;
	}
	return true;
}

/* Runs the kernel on a tensor of n x n elements without data.  Returns false if it cannot compute its result without
 * data. */
static bool
answer_of_sizes(Depends *d, Op *op, const Schema *s, int64_t n, IValue *out)
{
	const TensorInfo info = { .dtype = RT_f32, .rank = 2, .dims = (int64_t[2]){ n, n },
				  .strides = (int64_t[2]){ n, 1 } };
	const IValue tensor = known_meta(d->table, type_tensor(d->cx, &info));
	IValue *args = new(d->cx->arena, IValue, s->nargs + 1);
	const bool answers = plain_arguments(s, tensor, args) && known_run(d->table, op, args, out, 1, true);

	rt_release(tensor);
	return answers;
}

/* Returns the properties of tensors on which the operator's result depends, if the result is no tensor.  Finds them by
 * running the kernel on two sizes. */
static Reads
reads_of(Depends *d, Op *op)
{
	const Schema *s = op_schema(d->cx, op);
	IValue a = rt_none(), b = rt_none();
	Reads reads = READS_ELEMENTS;

	if (op->kernel && !s->vararg && s->nrets == 1 && !has_tensor(s->rets[0].type) &&
	    answer_of_sizes(d, op, s, 2, &a) && answer_of_sizes(d, op, s, 3, &b))
		reads = value_identical(a, b) ? READS_KIND : READS_SIZES;
	rt_release(a);
	rt_release(b);
	return reads;
}

static Reads
reads(Depends *d, Op *op)
{
	int64_t *known = ptrmap_at(d->cx->arena, &d->reads, op);

	if (!*known)
		*known = reads_of(d, op);
	return (Reads)*known;
}

/* Do sizes of the node's result depend on elements of tensors? */
static bool
sizes_by_data(const Node *n)
{
	if (n->op->rule == RULE_DATA)
		return true;
	if (n->op->function)
		for NODES(m, n->op->function->graph->top)
			if (m->op && m->op->rule == RULE_DATA)
				return true;
	return false;
}

static bool
is_mask(const Value *v)
{
	const Op *op = v->node->op;

	return op && op->form == OP_MAP && op->result == RT_MAP_boolean;
}

/* Is n x[mask], with a mask in its list of indices? */
static bool
picks_by_mask(const Node *n)
{
	const Node *list = n->nin > 1 ? n->in[1]->node : NULL;

	if (!list || !node_is(n, aten_index) || !node_is(list, prim_ListConstruct))
		return false;
	for (int i = 0; i < list->nin; i++)
		if (is_mask(list->in[i]))
			return true;
	return false;
}

/* Returns the dependencies of a size or length of x, used as a number. */
static uint8_t
by_size(const On *x)
{
	const int data = ON_DATA | ON_RANDOM;

	return (x->form & ~data) | (x->form & data ? ON_SIZES : 0) | x->kind;
}

/* Returns the dependencies that argument x passes on to the elements of the result. */
static uint8_t
through(const On *x, bool tensor, Reads what)
{
	if (tensor && what == READS_KIND)
		return x->kind;
	return (tensor && what == READS_SIZES ? 0 : x->data) | by_size(x);
}

/* Does n draw random numbers?  Dropout draws none if the instance is not in training mode. */
static bool
draws(Depends *d, const Node *n)
{
	const Value *train = n->op ? node_arg(n, "train") : NULL;
	IValue v;

	return node_is_nondeterministic(n) &&
	       !(train && freeze_resolves(&d->pass, d->graph, train, &v) && v.tag == RT_BOOL && !v.u.i);
}

/* Returns the dependencies of an operator's result.  Sizes of a pointwise result depend on its tensors only, other
 * sizes also on numbers. */
static On
of_operator(Depends *d, const Node *n)
{
	const bool by_data = sizes_by_data(n) || picks_by_mask(n);
	const Reads what = reads(d, n->op);
	On all = { draws(d, n) ? ON_RANDOM : 0, 0, 0 };

	for (int i = 0; i < n->nin; i++) {
		const On x = *on(d, n->in[i]);
		const bool tensor = has_tensor(n->in[i]->type);

		all.data |= through(&x, tensor, what);
		all.form |= x.form;
		all.kind |= x.kind;
		if (tensor ? by_data : n->op->form != OP_MAP)
			all.form |= x.data;
	}
	if (what != READS_ELEMENTS || (n->nout && is_plain(n->out[0]->type)))
		all.form = all.kind;
	return all;
}

/* ---- containers, objects ---------------------------------------------------------------------------------------- */

static const char *
key_of(Depends *d, const Node *n)
{
	return py_attribute_key(d->cx, n->in[0]->type, node_str(n, "name"));
}

static bool
is_module(const Type *t)
{
	return t->kind == TYPE_CLASS && class_info(t)->module;
}

static bool
is_object(const Type *t)
{
	return t->kind == TYPE_CLASS || t->kind == TYPE_INTERFACE;
}

/* Returns the dependencies of an attribute that is read.  An attribute that the run sets or changes is state: another
 * call may find another value. */
static On
of_attribute(Depends *d, const Node *n)
{
	const On *set = map_get(&d->attributes, key_of(d, n));
	On now = both(*on(d, n->in[0]), set ? *set : (On){ 0, 0, 0 });

	if (!is_module(n->in[0]->type))
		return now;
	if (map_get(&d->state, key_of(d, n)))
		return both(now, (On){ ON_STATE, ON_STATE, ON_STATE });
	if (type_is_mutable(n->out[0]->type) && !is_object(n->out[0]->type) && alias_has_writers(d->alias, n->out[0]))
		now.data |= ON_STATE;
	return now;
}

static void
set_attribute(Depends *d, const Node *n)
{
	On *set = map_get(&d->attributes, key_of(d, n));

	if (!set)
		map_put(&d->attributes, key_of(d, n), set = new(d->cx->arena, On, 1));
	*set = both(*set, *on(d, n->in[1]));
}

/* Returns the dependencies of element i of a tuple, which may have been made in the graph. */
static On
of_part(Depends *d, const Node *n, int i)
{
	const Node *made = n->in[0]->node;

	return node_is(made, prim_TupleConstruct) && i >= 0 && i < made->nin ? *on(d, made->in[i])
										: of_all(d, n);
}

static On
of_index(Depends *d, const Node *n)
{
	int64_t i;

	if (!value_int(n->in[1], &i))
		return of_all(d, n);
	return of_part(d, n, (int)(i < 0 ? i + n->in[0]->type->n : i));
}

/* Does n ask whether a value is None, or for its class?  The path decides the answer, except for values from a dict or
 * a call. */
static bool
asks_what_it_is(const Node *n)
{
	return node_is(n, aten___is__) || node_is(n, aten___isnot__) || node_is(n, prim_isinstance);
}

static On
of_kind(Depends *d, const Node *n)
{
	On x = { 0, 0, 0 };

	for (int i = 0; i < n->nin; i++) {
		const Node *from = n->in[i]->node;

		x.data |= on(d, n->in[i])->kind;
		if (node_is(from, aten_get) || node_is(from, prim_CallMethod) ||
		    node_is(from, prim_CallFunction))
			x.data |= on(d, n->in[i])->data;
	}
	return x;
}

/* Does n read only the length or keys of its first operand: len(x), keys of d, key in d? */
static bool
asks_for_form(const Node *n)
{
	return node_is(n, aten_len) || node_is(n, aten_keys) ||
	       (node_is(n, aten___contains__) && n->in[0]->type->kind == TYPE_DICT);
}

static On
of_form(Depends *d, const Node *n)
{
	On x = { by_size(on(d, n->in[0])), on(d, n->in[0])->form, on(d, n->in[0])->kind };

	if (n->nin > 1)
		x.data |= on(d, n->in[1])->data | by_size(on(d, n->in[1]));
	return x;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* Adds the dependencies of a write to all values that may share memory with `to`, or contain it.  A module's attributes
 * are skipped here, since of_attribute handles their reads. */
static void
write_through(Depends *d, const Value *to, On what)
{
	int kept = 0;

	for (int i = 0; i < d->memory.n; i++) {
		const Value *v = d->memory.at[i];
		On *x = on(d, v);

		if ((what.data & ~x->data) | (what.form & ~x->form))
			if (v == to || alias_may(d->alias, v, to) || alias_may_contain(d->alias, v, to))
				*x = both(*x, what);
		/* A tensor with ON_DATA is dropped, since it needs no more updates. */
		if (!(x->data & ON_DATA) || v->type->kind != TYPE_TENSOR)
			d->memory.at[kept++] = v;
	}
	d->memory.n = kept;
}

static void
note_writes(Depends *d, const Node *n)
{
	On what = { draws(d, n) ? ON_RANDOM : 0, 0, 0 };

	if (!n->op || !node_writes(n))
		return;
	for (int i = 0; i < n->nin; i++) {
		what.data |= on(d, n->in[i])->data;
		what.form |= on(d, n->in[i])->form;
	}
	for (int i = 0; i < n->nin; i++)
		if (node_writes_input(n, i))
			write_through(d, n->in[i],
				      n->in[i]->type->kind == TYPE_TENSOR ? (On){ what.data, 0, 0 } : what);
}

static void
go_through(Depends *d, const Node *n)
{
	if (node_is(n, prim_GetAttr))
		set_all(d, n, of_attribute(d, n));
	else if (node_is(n, prim_SetAttr))
		set_attribute(d, n);
	else if (node_is(n, prim_TupleIndex))
		set_all(d, n, of_index(d, n));
	else if (node_is(n, prim_TupleUnpack))
		for (int i = 0; i < n->nout; i++)
			*on(d, n->out[i]) = of_part(d, n, i);
	else if (asks_what_it_is(n))
		set_all(d, n, of_kind(d, n));
	else if (asks_for_form(n))
		set_all(d, n, of_form(d, n));
	else
		set_all(d, n, n->op ? of_operator(d, n) : of_all(d, n));
	note_writes(d, n);
	for (int i = 0; i < n->nout; i++)
		if (type_is_mutable(n->out[i]->type) && !is_module(n->out[i]->type))
			vec_push(d->cx->arena, &d->memory, n->out[i]);
}

static void
begin(Depends *d, bool method)
{
	for (int i = method; i < graph_ninputs(d->graph); i++) {
		const Value *v = graph_inputs(d->graph)[i];

		on(d, v)->data = (has_tensor(v->type) ? ON_DATA : 0) | (has_number(v->type) ? ON_NUMBERS : 0);
		vec_push(d->cx->arena, &d->memory, v);
	}
	for NODES(n, d->graph->top)
		if (node_is(n, prim_SetAttr) && is_module(n->in[0]->type))
			map_put(&d->state, key_of(d, n), n);
}

/* Is it a check of sizes whose other branch raises?  The trace leaves it out. */
static bool
is_size_check(const WayChoice *c)
{
	return node_is(c->node, prim_If) && !(c->on & ~ON_SIZES) &&
	       block_raises(c->went ? if_else(c->node) : if_then(c->node));
}

static void
find_reasons(Cx *cx, Graph *g, IValue self, bool method, WayChoices *c)
{
	Depends d = { .cx = cx, .graph = g, .table = known_table(cx), .on = new(cx->arena, On, g->nvalue + 1),
		.attributes.arena = cx->arena, .state.arena = cx->arena,
		.pass = { .cx = cx, .scratch = cx->arena, .self = self } };

	d.alias = freeze_alias(&d.pass, g);
	begin(&d, method);
	for NODES(n, g->top)
		go_through(&d, n);
	for (int i = 0; i < c->n; i++) {
		for (int k = 0; k < 2; k++)
			if (c->at[i].by[k])
				c->at[i].on |= on(&d, c->at[i].by[k])->data;
		if (is_size_check(&c->at[i]))
			c->at[i].on = 0;
	}
}

WayChoices
trace_choices(Cx *cx, Function *fn, IValue self, const Way *way, const char *const *kept)
{
	Tracer *t = trace_new(cx, way, kept);
	Graph *g;

	RT_ASSERT(fn->unchanged);
	t->whole = true;
	g = trace_walk(t, fn);
	trace_end(t);
	find_reasons(cx, g, self, fn->self != NULL, &t->choices);
	return t->choices;
}
