/*
 * The known values of a graph: numbers, strings and containers, and tensors without their data.
 *
 * Kernels that run with cx->meta compute dtype, sizes and strides of their results.  A result that shares the storage
 * of an argument here is a view of it when the program runs.  The specializer fills such a table while it emits a
 * graph.  The planner makes the same table of the finished graph.
 */
#include "../opt.h"

#include <string.h>

KnownTable *
known_table(Cx *cx)
{
	KnownTable *k = new(cx->arena, KnownTable, 1);

	k->cx = cx;
	rt_cx_init(&k->rt);
	k->rt.torch = cx_rt(cx)->torch;
	k->rt.engine = cx_rt(cx)->engine;
	k->rt.grad = cx_rt(cx)->grad;
	return k;
}

Known *
known_at(KnownTable *k, const Value *v)
{
	while (k->at.n <= v->id)
		vec_push(k->cx->arena, &k->at, (Known){ 0 });
	return &k->at.at[v->id];
}

bool
known_is(KnownTable *k, const Value *v)
{
	return known_at(k, v)->is;
}

/* Reads the value of a constant or known int. */
bool
known_int(KnownTable *k, const Value *v, int64_t *i)
{
	const Known *at = known_at(k, v);

	if (!at->is || (at->v.tag != RT_INT && at->v.tag != RT_BOOL))
		return value_int(v, i);
	*i = at->v.u.i;
	return true;
}

bool
known_double(KnownTable *k, const Value *v, double *d)
{
	const Known *at = known_at(k, v);

	if (!at->is || (at->v.tag != RT_DOUBLE && at->v.tag != RT_INT))
		return false;
	*d = rt_number(at->v);
	return true;
}

RtTensor *
known_tensor(KnownTable *k, const Value *v)
{
	const Known *at = known_at(k, v);

	return at->is && at->v.tag == RT_TENSOR ? at->v.u.t : NULL;
}

/* Conjugate and negative views, and containers of them, are never known: generated code reads elements as stored. */
bool
known_never(IValue v)
{
	return value_any(v, rt_has_bits);
}

void
known_set(KnownTable *k, Value *value, IValue v)
{
	Known *at = known_at(k, value);

	if (known_never(v))
		return;
	at->v = v;
	at->is = true;
	if (v.tag == RT_TENSOR)
		value->type = type_of_tensor(k->cx, v.u.t);
}

bool
known_has_members(IValue v)
{
	return v.tag == RT_LIST || v.tag == RT_DICT;
}

/* Is v the list or dict p itself, or does it contain p? */
static bool
holds(IValue v, const void *p)
{
	const RtList *l = v.tag == RT_LIST ? v.u.list : NULL;
	const RtTuple *t = v.tag == RT_TUPLE ? v.u.tuple : NULL;

	if (known_has_members(v) && v.u.p == p)
		return true;
	for (int64_t i = 0; l && i < l->n; i++)
		if (holds(l->v[i], p))
			return true;
	for (int i = 0; t && i < t->n; i++)
		if (holds(t->v[i], p))
			return true;
	return false;
}

/* Forgets every value that is the list or dict p, or contains it. */
static void
forget(KnownTable *k, const void *p)
{
	for (int i = 0; i < k->at.n; i++)
		if (k->at.at[i].is && holds(k->at.at[i].v, p))
			k->at.at[i].is = false;
}

void
known_forget(KnownTable *k, const Value *v)
{
	const Known *whole = known_at(k, v);

	if (whole->is && known_has_members(whole->v))
		forget(k, whole->v.u.p);
}

static bool
is_of(IValue v, const Type *t)
{
	if (v.tag == RT_LIST)
		return t->kind == TYPE_LIST && rt_type_equal(v.u.list->elem, t->of[0]);
	return t->kind == TYPE_DICT && rt_type_equal(v.u.dict->key, t->of[0]) &&
	       rt_type_equal(v.u.dict->value, t->of[1]);
}

void
known_forget_mutable(KnownTable *k, const Type *t)
{
	RT_ASSERT(!t || t->kind == TYPE_LIST || t->kind == TYPE_DICT);
	for (int i = 0; i < k->at.n; i++) {
		const Known *at = &k->at.at[i];

		if (at->is && at->mutable && (!t || is_of(at->v, t)))
			forget(k, at->v.u.p);
	}
}

/* May v itself be a tensor without data, or contain one? */
static bool
may_be_meta(IValue v)
{
	switch (v.tag) {
	case RT_TENSOR:
		return v.u.t->storage->kind == RT_META;
	case RT_DICT: case RT_OBJECT: case RT_FUTURE: case RT_FUNCTION:
		return true;
	default:
		return false;
	}
}

bool
known_has_meta(IValue v)
{
	return value_any(v, may_be_meta);
}

bool
type_is_complete(const Type *t)
{
	const TensorInfo *i = t && t->kind == TYPE_TENSOR ? t->tensor : NULL;

	/* The type of a quantized tensor lacks its scale, so it is never complete. */
	if (!i || i->dtype < 0 || rt_dtypes[i->dtype].category == 'Q' || i->rank < 0 ||
	    (i->rank && (!i->dims || !i->strides)))
		return false;
	for (int k = 0; k < i->rank; k++)
		if (i->dims[k] < 0 || i->strides[k] < 0)
			return false;
	return true;
}

IValue
known_meta(KnownTable *k, const Type *t)
{
	const TensorInfo *i = t->tensor;
	RtTensor *r;

	RT_ASSERT(type_is_complete(t));
	k->rt.meta = true;
	r = rt_tensor_strided(&k->rt, (RtDtype)i->dtype, i->rank, i->dims, i->strides);
	k->rt.meta = false;
	return r ? rt_of(r) : rt_none();
}

IValue *
known_gather(KnownTable *k, const Node *m, int *n)
{
	const Schema *schema = node_schema(m);
	const int fixed = schema->vararg ? schema->nargs : m->nin;
	IValue *args = new(k->cx->arena, IValue, m->nin + 2);

	for (int i = 0; i < m->nin; i++)
		if (!known_is(k, m->in[i]))
			return NULL;
	for (int i = 0; i < fixed && i < m->nin; i++)
		args[i] = known_at(k, m->in[i])->v;
	*n = fixed;
	if (schema->vararg) {
		RtList *rest = rt_list_new(&k->rt, &rt_type_any, m->nin - fixed);

		for (int i = fixed; i < m->nin; i++)
			rt_list_push(&k->rt, rest, rt_retain(known_at(k, m->in[i])->v));
		args[(*n)++] = rt_ref(RT_LIST, rest);
	}
	return args;
}

/* ---- stand-ins for unknown numbers ---------------------------------------------------------------------- */

/* Does only the kind of this number argument matter for the types and sizes of the results, since it fills, scales or
 * is added?  Only these names are listed for operators that are not pointwise: elsewhere a number may be a size
 * (arange, interpolate). */
static bool
only_counts_by_kind(const Schema *s, const char *name)
{
	static const char *const names[] = { "fill_value", "value", "alpha", "beta", "eps", "exponent", "p", "ord", "s",
					     "t", "a", "other" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	/* linspace and logspace: only the number of steps is a size */
	for (int i = 0; i < s->nargs; i++)
		if (!strcmp(s->args[i].name, "steps"))
			return !strcmp(name, "start") || !strcmp(name, "end");
	return false;
}

/* Does a pointwise operator raise for some ints as argument i? */
static bool
refuses_some_ints(KnownTable *k, const Op *row, const Node *m, int i)
{
	const Known *self = known_at(k, m->in[0]);

	return m->in[i]->type->kind == TYPE_INT && i > 0 && strchr(row->domain, 'P') &&
	       !(self->is && self->v.tag == RT_TENSOR && rt_dtypes[self->v.u.t->dtype].category == 'F');
}

static bool
gives_tensors(const Schema *s)
{
	for (int i = 0; i < s->nrets; i++)
		if (s->rets[i].type->kind != TYPE_TENSOR)
			return false;
	return s->nrets > 0;
}

/* Does argument i accept a number of any kind, or None? */
static bool
takes_number(const Schema *s, int i)
{
	const Type *t = i < s->nargs ? s->args[i].type : NULL;

	if (t && t->kind == TYPE_OPTIONAL)
		t = t->of[0];
	return t && (t->kind == TYPE_NUMBER || t->kind == TYPE_FLOAT || t->kind == TYPE_COMPLEX);
}

bool
known_stand_in(KnownTable *k, const Node *m, int i, IValue *v)
{
	const Schema *s = node_schema(m);
	const Op *row = m->op && m->op->form == OP_ALSO ? op_by_id(k->cx, m->op->base) : m->op;

	RT_ASSERT(i >= 0 && i < m->nin);
	if (!row || !gives_tensors(s) || !takes_number(s, i))
		return false;
	if (row->form == OP_MAP ? refuses_some_ints(k, row, m, i) : !only_counts_by_kind(s, s->args[i].name))
		return false;
	switch (m->in[i]->type->kind) {
	case TYPE_INT:     *v = rt_int(1); return true;
	case TYPE_BOOL:    *v = rt_bool(true); return true;
	case TYPE_FLOAT:   *v = rt_double(1); return true;
	/* An `out` tensor keeps its own dtype, and an integer can be cast to all dtypes. */
	case TYPE_NUMBER:  *v = rt_int(1); return m->op->form == OP_ALSO && node_writes(m);
	default:           return false;
	}
}

/* Returns the read of the attribute whose memory v shares.  Null if none is found. */
static const Value *
attribute_of(const Value *v)
{
	static const Symbol same[] = { prim_BailOut, prim_unchecked_cast, prim_ListUnpack,
					    aten___getitem__ };

	while (!node_is(v->node, prim_GetAttr)) {
		const Schema *s = node_schema(v->node);
		bool leads = v->node->op && s && v->index < s->nrets && s->rets[v->index].alias;

		for (size_t i = 0; i < sizeof same / sizeof *same; i++)
			leads |= node_is(v->node, same[i]);
		if (!leads || !v->node->nin)
			return NULL;
		v = v->node->in[0];
	}
	return v;
}

/* Each read of an attribute has a storage of its own in the table, so different reads may share memory. */
bool
known_attributes_meet(const Node *m)
{
	const Value *to, *from;

	for (int i = 0; i < m->nin; i++) {
		if (!node_writes_input(m, i) || m->in[i]->type->kind != TYPE_TENSOR || !(to = attribute_of(m->in[i])))
			continue;
		for (int k = 0; k < m->nin; k++)
			if (m->in[k]->type->kind == TYPE_TENSOR && (from = attribute_of(m->in[k])) && from != to)
				return true;
	}
	return false;
}

bool
known_gather_types(KnownTable *k, const Node *m, KnownArgs *args)
{
	if (known_attributes_meet(m))
		return false;
	if ((args->exact = (args->v = known_gather(k, m, &args->n)) != NULL))
		return true;
	if (node_schema(m)->vararg)
		return false;
	args->v = new(k->cx->arena, IValue, m->nin + 1);
	for (int i = 0; i < m->nin; i++)
		if (known_is(k, m->in[i]))
			args->v[i] = known_at(k, m->in[i])->v;
		else if (!known_stand_in(k, m, i, &args->v[i]))
			return false;
	args->n = m->nin;
	return true;
}

bool
known_lack_data(const IValue *v, int n)
{
	for (int i = 0; i < n; i++)
		if (value_lacks_data(v[i]))
			return true;
	return false;
}

bool
known_are_views(const IValue *args, int n, const IValue *out, int nout)
{
	for (int i = 0; i < nout; i++) {
		bool found = false;

		for (int k = 0; k < n && out[i].tag == RT_TENSOR; k++)
			found |= args[k].tag == RT_TENSOR && args[k].u.t->storage == out[i].u.t->storage;
		if (!found)
			return false;
	}
	return nout > 0;
}

/* Runs the kernel on weights whose data is not loaded.  Views need no data.  For other kernels it is created. */
static bool
run_lacking(KnownTable *k, Op *op, const IValue *args, int n, IValue *out, int nout)
{
	bool done;

	if (known_run(k, op, args, out, nout, true) && known_are_views(args, n, out, nout))
		return true;
	for (int i = 0; i < n; i++)
		widened_fill_value(k->cx, args[i]);
	done = known_run(k, op, args, out, nout, false);
	widened_trim(k->cx);
	return done;
}

bool
known_run(KnownTable *k, Op *op, const IValue *args, IValue *out, int nout, bool meta)
{
	const int nargs = op_schema(k->cx, op)->nargs + op_schema(k->cx, op)->vararg;
	int status;

	RT_ASSERT(nout == op_schema(k->cx, op)->nrets || op_schema(k->cx, op)->varret);
	if (op_body(k->cx, op)) /* the kernel of an operator with a body only stores the body's results */
		return false;
	for (int i = 0; i < nargs && !meta; i++)
		if (known_has_meta(args[i]))
			return false;
	if (!meta && known_lack_data(args, nargs))
		return run_lacking(k, op, args, nargs, out, nout);
	k->rt.meta = meta;
	status = rt_call(&k->rt, &(RtCall){ op->kernel, 0, op_schema(k->cx, op)->nargs, nout }, args, out);
	k->rt.meta = false;
	if (status)
		rt_clear_error(&k->rt);
	for (int i = 0; i < nout && !status; i++)
		if (known_never(out[i]))
			return false;
	return status == RT_OK;
}

bool
known_gives(Cx *cx, const Node *m, const Type *want)
{
	KnownTable *k = known_table(cx);
	KnownArgs args;
	IValue out;

	RT_ASSERT(m->nout == 1 && type_is_complete(want));
	for (int i = 0; i < m->nin; i++) {
		Known *at = known_at(k, m->in[i]);

		if (type_is_complete(m->in[i]->type))
			at->v = known_meta(k, m->in[i]->type);
		else if (!value_constant(m->in[i], &at->v))
			continue;
		at->is = true;
	}
	if (!known_gather_types(k, m, &args) || !known_run(k, m->op, args.v, &out, 1, true))
		return false;
	return out.tag == RT_TENSOR && out.u.t->dtype == want->tensor->dtype && out.u.t->ndim == want->tensor->rank &&
	       !memcmp(out.u.t->dims, want->tensor->dims, (size_t)want->tensor->rank * sizeof *want->tensor->dims) &&
	       !memcmp(out.u.t->strides, want->tensor->strides,
		       (size_t)want->tensor->rank * sizeof *want->tensor->strides);
}

/* Converts an argument's pattern to a known value.  Returns false if the pattern does not determine one. */
bool
known_of_pattern(KnownTable *k, const Pattern *p, const Type *t, IValue *out)
{
	if (t->kind == TYPE_OPTIONAL)
		t = t->of[0];
	/* isinstance may ask for the types of the elements, which the declared type does not contain. */
	if ((p->form == PATTERN_LIST && t->kind != TYPE_LIST) || (p->form == PATTERN_TUPLE && t->kind != TYPE_TUPLE))
		return false;
	switch (p->form) {
	case PATTERN_VALUE:
		*out = rt_retain(p->value);
		return true;
	case PATTERN_TENSOR:
		*out = type_is_complete(p->type) ? known_meta(k, p->type) : rt_none();
		return type_is_complete(p->type);
	case PATTERN_TUPLE: {
		RtTuple *tuple = rt_tuple_new(&k->rt, t->field ? t : NULL, p->n);

		for (int i = 0; i < p->n; i++)
			if (!known_of_pattern(k, &p->part[i], t->of[i], &tuple->v[i]))
				return false;
		*out = rt_ref(RT_TUPLE, tuple);
		return true;
	}
	case PATTERN_LIST: {
		RtList *list = rt_list_new(&k->rt, t->of[0], p->n);

		for (int i = 0; i < p->n; i++) {
			IValue v;

			if (!known_of_pattern(k, &p->part[i], list->elem, &v))
				return false;
			rt_list_push(&k->rt, list, v);
		}
		*out = rt_ref(RT_LIST, list);
		return true;
	}
	default:
		return false;
	}
}

IValue
known_argument(KnownTable *k, const Pattern *p, const Type *t)
{
	IValue v;

	if (known_of_pattern(k, p, t, &v))
		return v;
	switch (t->kind) {
	case TYPE_INT: case TYPE_NUMBER: return rt_int(1);
	case TYPE_FLOAT:                 return rt_double(1);
	case TYPE_BOOL:                  return rt_bool(true);
	default:                         return rt_none();
	}
}

/* ---- values of a finished graph --------------------------------------------------------------------------- */

static void
know_outputs_by_type(KnownTable *k, Value **out, int n)
{
	for (int i = 0; i < n; i++)
		if (type_is_complete(out[i]->type))
			known_set(k, out[i], known_meta(k, out[i]->type));
}

static bool
writes_a_list(const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (node_writes_input(n, i) && node_schema(n)->args[i].type->kind != TYPE_TENSOR)
			return true;
	return false;
}

bool
node_is_call(const Node *n)
{
	static const Symbol calls[] = { prim_CallMethod, prim_CallFunction, prim_fork, aten_wait,
					     prim_awaitable, prim_awaitable_wait, prim_Enter, prim_Exit };

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (node_is(n, calls[i]))
			return true;
	return false;
}

/* Is v a list that something writes to?  Such a list is never known here, since the order of writes is not followed. */
static bool
is_changed(KnownTable *k, const Value *v)
{
	return k->alias && alias_is_written(k->alias, v);
}

static void
know_sequence(KnownTable *k, const Node *n)
{
	const Type *t = n->out[0]->type;
	RtTuple *tuple;
	RtList *list;

	for (int i = 0; i < n->nin; i++)
		if (!known_is(k, n->in[i]))
			return;
	if (is_changed(k, n->out[0]))
		return;
	if (node_is(n, prim_TupleConstruct)) {
		tuple = rt_tuple_new(&k->rt, t->field ? t : NULL, n->nin);
		for (int i = 0; i < n->nin; i++)
			tuple->v[i] = rt_retain(known_at(k, n->in[i])->v);
		known_set(k, n->out[0], rt_ref(RT_TUPLE, tuple));
		return;
	}
	list = rt_list_new(&k->rt, type_unshaped(k->cx, t)->of[0], n->nin);
	for (int i = 0; i < n->nin; i++)
		rt_list_push(&k->rt, list, rt_retain(known_at(k, n->in[i])->v));
	known_set(k, n->out[0], rt_ref(RT_LIST, list));
}

/* Makes the elements of a known tuple or list known: the same values, in the same storages. */
static void
know_parts(KnownTable *k, const Node *n)
{
	const Known *whole = known_at(k, n->in[0]);
	const IValue *part = whole->v.tag == RT_TUPLE ? whole->v.u.tuple->v : whole->v.tag == RT_LIST ?
		whole->v.u.list->v : NULL;
	const int64_t count = whole->v.tag == RT_TUPLE ? whole->v.u.tuple->n : whole->v.tag == RT_LIST ?
		whole->v.u.list->n : 0;
	int64_t at = 0;

	if (!whole->is || !part)
		return;
	if (node_is(n, prim_TupleIndex)) {
		if ((n->nin > 1 && !known_int(k, n->in[1], &at)) || at < -count || at >= count)
			return;
		known_set(k, n->out[0], rt_retain(part[at < 0 ? at + count : at]));
		return;
	}
	for (int i = 0; i < n->nout && n->nout == count; i++)
		if (part[i].tag != RT_TENSOR || type_is_complete(n->out[i]->type))
			known_set(k, n->out[i], rt_retain(part[i]));
}

static bool
takes_apart(const Node *n)
{
	return node_is(n, prim_TupleUnpack) || node_is(n, prim_ListUnpack) ||
	       (node_is(n, prim_TupleIndex) && n->nin > 1);
}

/* May the node be a view of a known tensor?  If its kernel cannot run here, a known result would get a second storage
 * for the same memory. */
static bool
may_view_known(KnownTable *k, const Node *n)
{
	const Schema *s = node_schema(n);

	for (int i = 0; i < n->nin; i++)
		if ((i >= s->nargs || s->args[i].alias) && known_is(k, n->in[i]) &&
		    known_at(k, n->in[i])->v.tag == RT_TENSOR)
			return true;
	return false;
}

static void
know_op(KnownTable *k, const Node *n)
{
	IValue out[64];
	KnownArgs args;

	if (n->nout > 64 || !n->op->kernel || n->op->effect == EFFECT_IO)
		return;
	if (!known_gather_types(k, n, &args)) {
		if (!may_view_known(k, n))
			know_outputs_by_type(k, n->out, n->nout);
		return;
	}
	if (!known_run(k, n->op, args.v, out, n->nout, true))
		return;
	for (int i = 0; i < n->nout; i++) {
		/* If the graph's type is less specific (after an If or Loop), the value stays unknown here, too. */
		if (out[i].tag == RT_TENSOR ? type_is_complete(n->out[i]->type) : !is_changed(k, n->out[i]))
			known_set(k, n->out[i], out[i]);
	}
}

static void
know_block(KnownTable *k, const Block *b)
{
	IValue v;

	for NODES(n, b) {
		if (node_is(n, prim_Constant)) {
			if (value_constant(n->out[0], &v))
				known_set(k, n->out[0], rt_retain(v));
		} else if (node_is(n, prim_TupleConstruct) || node_is(n, prim_ListConstruct)) {
			know_sequence(k, n);
		} else if (takes_apart(n) && known_is(k, n->in[0])) {
			know_parts(k, n);
		} else if (n->nsub) {
			for (int i = 0; i < n->nsub; i++) {
				know_outputs_by_type(k, n->sub[i]->param->out, n->sub[i]->param->nout);
				know_block(k, n->sub[i]);
			}
			know_outputs_by_type(k, n->out, n->nout);
		} else if (n->op && !writes_a_list(n)) {
			know_op(k, n);
		} else {
			know_outputs_by_type(k, n->out, n->nout);
		}
	}
}

KnownTable *
known_graph(Cx *cx, const Function *fn, Graph *g, const Pattern *args)
{
	const int first = function_first(fn);
	KnownTable *k = known_table(cx);

	k->alias = alias_db(g, cx->arena);
	for (int i = first; i < graph_ninputs(g); i++) {
		Value *in = graph_inputs(g)[i];
		IValue v;

		if (known_of_pattern(k, &args[i - first], type_unshaped(cx, in->type), &v))
			if (v.tag != RT_LIST || !is_changed(k, in))
				known_set(k, in, v);
	}
	know_block(k, g->top);
	return k;
}

KnownTable *
known_subgraph(Cx *cx, Graph *g, const IValue *in, const bool *is)
{
	KnownTable *k = known_table(cx);

	for (int i = 0; i < graph_ninputs(g); i++)
		if (is[i])
			known_set(k, graph_inputs(g)[i], rt_retain(in[i]));
	know_block(k, g->top);
	return k;
}
