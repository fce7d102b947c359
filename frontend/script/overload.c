/*
 * Calls of operators: selects the overload and converts the arguments.
 *
 * The overloads of a name are tried in the registry's order, first without implicit conversions, then with them. The
 * first that fits is selected; there is no ranking. A trial emits no nodes: it works on values that have only a type.
 * The selected overload is then matched again, this time with nodes.
 *
 * Conversions that always apply: a number repeated for int[N], a tuple to a list, a bare `[]` to any list, T to
 * Optional[T]. Implicit ones: Tensor and Scalar to a number, bool to a number, str to Device, surplus positional
 * arguments to a list.
 */
#include "../frontend.h"

#include <string.h>

enum { MAX_VARS = 8 };

typedef struct Bindings {                 /* Type variables of the schema that is being matched. */
	int         n;
	const char *name[MAX_VARS];
	const Type *type[MAX_VARS];
} Bindings;

typedef struct Match {
	Cx       *cx;
	Graph    *graph;               /* Graph for the conversions. Null in a trial. */
	Range     at;
	bool      convert;         /* Whether implicit conversions are allowed. */
	Bindings  vars;
	Buf      *why;             /* Buffer for the reason of a failure. May be null. */
	const char *reason;        /* Reason why a type variable does not fit. Null if it fits. */
} Match;

typedef struct Call {              /* Actual arguments, while they are matched with formal ones. */
	const NamedValue *arg;
	int   n;
	int   positional;          /* Index of the next positional argument. */
	bool *used;                /* For each argument, whether a formal one was matched with it. */
} Call;

typedef Vec(Value *) Values;

static void
say(Match *m, const char *fmt, ...)
{
	va_list ap;

	if (!m->why)
		return;
	va_start(ap, fmt);
	buf_vprintf(m->why, fmt, ap);
	va_end(ap);
	buf_puts(m->why, "\n");
}

/* ---- making values ------------------------------------------------------------------------------------- */

static Value *
make(Match *m, const char *kind, const Type *type, Value *const *in, int n)
{
	Value *v;

	if (m->graph)
		v = graph_emit(m->graph, kind, m->at, n, in, 1)->out[0];
	else
		v = new(m->cx->arena, Value, 1);
	v->type = type;
	return v;
}

static Value *
make_op(Match *m, const char *name, const char *overload, const Type *type, Value *v)
{
	Op *op = op_find(m->cx, name, overload);

	if (!m->graph)
		return make(m, name, type, 0, 0);
	if (!op)
		fail_lacks(m->cx, m->at, "Kiln has no operator %s", name);
	return emit_schema_node(m->graph, op, m->at, &v, 1)->out[0];
}

/* Returns the elements of a tuple as values. */
static Value **
unpack_tuple(Match *m, Value *v)
{
	const Type *t = v->type;
	Value **r = new(m->cx->arena, Value *, t->n + 1);
	Node *n = m->graph ? graph_emit(m->graph, "prim::TupleUnpack", m->at, 1, &v, t->n) : 0;

	for (int i = 0; i < t->n; i++) {
		r[i] = n ? n->out[i] : new(m->cx->arena, Value, 1);
		r[i]->type = t->of[i];
	}
	return r;
}

/* ---- type variables --------------------------------------------------------------------------------------- */

static bool bind(Match *, const Type *formal, const Type *actual);

static bool
bind_var(Match *m, const char *name, const Type *actual)
{
	for (int i = 0; i < m->vars.n; i++) {
		if (strcmp(m->vars.name[i], name) != 0)
			continue;
		if (type_unify(m->cx, m->vars.type[i], actual))
			return true;
		if (m->why)
			m->reason = arena_printf(m->cx->arena,
						 "type variable '%s' previously matched to type %s is matched to "
						 "type %s",
						 name, type_python(m->cx, m->vars.type[i]), type_python(m->cx, actual));
		return false;
	}
	if (m->vars.n == MAX_VARS)
		return false;
	m->vars.name[m->vars.n] = name;
	m->vars.type[m->vars.n++] = type_unshaped(m->cx, actual);
	return true;
}

static bool
bind_all(Match *m, const Type *formal, const Type *actual)
{
	for (int i = 0; i < formal->n; i++)
		if (!bind(m, formal->of[i], actual->of[i]))
			return false;
	return true;
}

static bool
bind_list(Match *m, const Type *formal, const Type *tuple)
{
	const Type *elem = tuple->n ? tuple->of[0] : 0;

	for (int i = 1; elem && i < tuple->n; i++)
		elem = type_unify(m->cx, elem, tuple->of[i]);
	return elem && bind(m, formal->of[0], elem);
}

/* Binds the variables of a formal type. Returns false if the actual type has another form. */
static bool
bind(Match *m, const Type *formal, const Type *actual)
{
	if (!type_has_vars(formal))
		return true;
	if (formal->kind == TYPE_VAR)
		return bind_var(m, formal->name, actual);
	if (formal->kind == TYPE_OPTIONAL) {
		if (actual->kind == TYPE_NONE)
			return true;
		return bind(m, formal->of[0], actual->kind == TYPE_OPTIONAL ? actual->of[0] : actual);
	}
	if (formal->kind == actual->kind && formal->n == actual->n)
		return bind_all(m, formal, actual);
	if (formal->kind == TYPE_LIST && actual->kind == TYPE_TUPLE && bind_list(m, formal, actual))
		return true;
	if (m->why)
		m->reason = arena_printf(m->cx->arena, "cannot match %s to %s", type_python(m->cx, formal),
		                         type_python(m->cx, actual));
	return false;
}

/* Returns the type with its variables replaced. Null if one of them is not bound. */
static const Type *
bound(Cx *cx, const Type *t, const Bindings *vars)
{
	const Type *of[MAX_VARS];

	if (t->kind == TYPE_VAR) {
		for (int i = 0; i < vars->n; i++)
			if (strcmp(vars->name[i], t->name) == 0)
				return vars->type[i];
		return 0;
	}
	if (!type_has_vars(t) || t->n > MAX_VARS)
		return t;
	for (int i = 0; i < t->n; i++)
		if (!(of[i] = bound(cx, t->of[i], vars)))
			return 0;
	switch (t->kind) {
	case TYPE_LIST:     return type_list(cx, of[0]);
	case TYPE_DICT:     return type_dict(cx, of[0], of[1]);
	case TYPE_OPTIONAL: return type_optional(cx, of[0]);
	case TYPE_FUTURE:   return type_future(cx, of[0]);
	case TYPE_AWAIT:    return type_await(cx, of[0]);
	case TYPE_UNION:    return type_union(cx, of, t->n);
	default:            return type_tuple(cx, of, t->n);
	}
}

/* ---- conversions --------------------------------------------------------------------------------------------- */

static const Type *
present(const Type *t)
{
	return t->kind == TYPE_OPTIONAL ? t->of[0] : t;
}

/* Whether v is a `[]` of the source, which may become a list of any type. */
static bool
is_bare_list(const Value *v)
{
	return v->type == &rt_type_list_tensor && v->node && node_is(v->node, prim_ListConstruct) && !v->node->nin &&
	       node_attr(v->node, "bare");
}

static bool
is_tuple_for_list(Match *m, const Type *tuple, const Type *list)
{
	if (tuple->kind != TYPE_TUPLE || list->kind != TYPE_LIST)
		return false;
	for (int i = 0; i < tuple->n; i++)
		if (!type_is_subtype(m->cx, tuple->of[i], list->of[0]))
			return false;
	return true;
}

static Value *convert(Match *, Value *, const Type *to);

static Value *
convert_elements(Match *m, Value *v, const Type *to)
{
	Value **elem;
	const Type **of = new(m->cx->arena, const Type *, to->n + 1);

	if (type_is_subtype(m->cx, v->type, to) || v->type->n != to->n)
		return v;
	elem = unpack_tuple(m, v);
	for (int i = 0; i < to->n; i++) {
		elem[i] = convert(m, elem[i], to->of[i]);
		of[i] = elem[i]->type;
	}
	return make(m, "prim::TupleConstruct", type_tuple(m->cx, of, to->n), elem, to->n);
}

static Value *
convert_tensor(Match *m, Value *v, const Type *to)
{
	switch (to->kind) {
	case TYPE_FLOAT:   return make_op(m, "aten::FloatImplicit", "", to, v);
	case TYPE_COMPLEX: return make_op(m, "aten::ComplexImplicit", "", to, v);
	case TYPE_INT:     return make_op(m, "aten::IntImplicit", "", to, v);
	case TYPE_NUMBER:  return make_op(m, "aten::ScalarImplicit", "", to, v);
	default:           return v;
	}
}

static Value *
convert_number(Match *m, Value *v, const Type *to)
{
	const char *from = v->type->kind == TYPE_BOOL ? "bool" : "Scalar";

	switch (to->kind) {
	case TYPE_FLOAT:   return make_op(m, "aten::Float", from, to, v);
	case TYPE_INT:     return make_op(m, "aten::Int", from, to, v);
	case TYPE_COMPLEX: return v->type->kind == TYPE_BOOL ? v : make_op(m, "aten::Complex", from, to, v);
	case TYPE_NUMBER:  return v->type->kind == TYPE_BOOL ? make_op(m, "aten::Int", from, &rt_type_int, v) : v;
	default:           return v;
	}
}

/* Returns the value, converted if there is a conversion. Its type may still not be the wanted one. */
static Value *
convert(Match *m, Value *v, const Type *to)
{
	if (to->kind == TYPE_OPTIONAL && v->type->kind != TYPE_OPTIONAL)
		return convert(m, v, to->of[0]);
	if (to->kind == TYPE_LIST && is_bare_list(v) && v->type != to)
		return make(m, "prim::ListConstruct", to, 0, 0);
	if (is_tuple_for_list(m, v->type, present(to)))
		return make(m, "prim::ListConstruct", present(to), unpack_tuple(m, v), v->type->n);
	if (v->type->kind == TYPE_TUPLE && to->kind == TYPE_TUPLE)
		return convert_elements(m, v, to);
	if (!m->convert)
		return v;
	if (v->type->kind == TYPE_TENSOR)
		return convert_tensor(m, v, to);
	if (v->type->kind == TYPE_NUMBER || v->type->kind == TYPE_BOOL)
		return convert_number(m, v, to);
	if (v->type->kind == TYPE_STR && to->kind == TYPE_DEVICE)
		return make_op(m, "aten::device", "", to, v);
	return v;
}

Value *
convert_implicitly(Graph *g, Value *v, const Type *to, bool implicit, Range at)
{
	Match trial = { .cx = g->cx, .at = at, .convert = implicit }, m = trial;

	if (type_is_subtype(g->cx, v->type, to))
		return v;
	if (!type_is_subtype(g->cx, convert(&trial, v, to)->type, to))
		return 0;
	m.graph = g;
	return convert(&m, v, to);
}

/* ---- one argument ------------------------------------------------------------------------------------------------ */

/* Repeats a single number for int[N] or float[N]. */
static Value *
repeat_number(Match *m, Value *v, const Arg *formal)
{
	const Type *list = present(formal->type);
	Value **all;

	if (!formal->size_hint || list->kind != TYPE_LIST || list->of[0] != v->type ||
	    (v->type != &rt_type_int && v->type != &rt_type_float))
		return v;
	all = new(m->cx->arena, Value *, formal->size_hint);
	for (int i = 0; i < formal->size_hint; i++)
		all[i] = v;
	return make(m, "prim::ListConstruct", list, all, formal->size_hint);
}

/* Converts a value for the formal argument. If it does not fit, returns null and writes the reason to m->why. */
static Value *
match_argument(Match *m, Value *v, const Arg *formal)
{
	const Type *to;

	v = repeat_number(m, v, formal);
	if (!bind(m, formal->type, v->type)) {
		say(m, "Could not match type %s to %s in argument '%s': %s.", type_python(m->cx, v->type),
		    type_python(m->cx, formal->type), formal->name, m->reason ? m->reason : "too many type variables");
		return 0;
	}
	to = bound(m->cx, formal->type, &m->vars);
	if (!to) {
		say(m, "Type variables in type %s could not be inferred from actual type %s.",
		    type_python(m->cx, formal->type), type_python(m->cx, v->type));
		return 0;
	}
	v = convert(m, v, to);
	if (type_is_subtype(m->cx, v->type, to))
		return v;
	say(m, "Expected a value of type '%s' for argument '%s' but instead found type '%s'.", type_python(m->cx, to),
	    formal->name, type_python(m->cx, v->type));
	return 0;
}

/* Whether the formal argument may take all remaining positional arguments as its elements. */
static bool
takes_rest(const Schema *s, int i)
{
	const Arg *a = &s->args[i];
	const Type *t = present(a->type);

	return (i + 1 == s->nargs || s->args[i + 1].kwonly) && t->kind == TYPE_LIST && !a->size_hint &&
	       t->of[0]->kind != TYPE_VAR;
}

static int
next_positional(const Call *c, int i)
{
	while (i < c->n && c->arg[i].name)
		i++;
	return i;
}

/* Packs all remaining positional arguments into a list. Null if one of them does not fit. */
static Value *
match_rest(Match *m, Call *c, const Arg *formal)
{
	const Type *list = present(formal->type);
	Arg elem = { .name = formal->name, .type = list->of[0] };
	Values v = { 0 };

	for (; c->positional < c->n; c->positional = next_positional(c, c->positional + 1)) {
		Value *e = match_argument(m, c->arg[c->positional].v, &elem);

		if (!e)
			return 0;
		vec_push(m->cx->arena, &v, e);
		c->used[c->positional] = true;
	}
	return make(m, "prim::ListConstruct", list, v.at, v.n);
}

/* Returns the index of the unused keyword argument of that name. -1 if there is none. For operators of aten, `input`
 * also stands for self. */
static int
find_keyword(const Call *c, const char *name, bool aten)
{
	for (int i = 0; i < c->n; i++) {
		if (!c->arg[i].name || c->used[i])
			continue;
		if (strcmp(c->arg[i].name, name) == 0 ||
		    (aten && strcmp(name, "self") == 0 && strcmp(c->arg[i].name, "input") == 0))
			return i;
	}
	return -1;
}

static Value *
match_formal(Match *m, const Schema *s, int i, Call *c)
{
	const Arg *a = &s->args[i];
	bool self = strcmp(a->name, "self") == 0;
	int k = self ? find_keyword(c, "self", false) : -1;

	if (k < 0 && !a->kwonly && c->positional < c->n) {
		const Type *t = c->arg[c->positional].v->type;

		if (m->convert && takes_rest(s, i) && t->kind != TYPE_LIST && !type_is_subtype(m->cx, t, a->type) &&
		    !is_tuple_for_list(m, t, present(a->type)))
			return match_rest(m, c, a);
		k = c->positional;
		c->positional = next_positional(c, k + 1);
	} else if (k < 0) {
		k = find_keyword(c, a->name, strncmp(s->name, "aten::", 6) == 0);
	}
	if (k >= 0) {
		c->used[k] = true;
		return match_argument(m, c->arg[k].v, a);
	}
	if (!a->has_default) {
		say(m, "Argument %s not provided.", a->name);
		return 0;
	}
	if (m->graph)
		return graph_constant_typed(m->graph, a->deflt, rt_is_none(a->deflt) ? &rt_type_none
		                            : type_unshaped(m->cx, type_of_value(m->cx, a->deflt)), m->at);
	return make(m, "prim::Constant", a->type, 0, 0);
}

/* ---- one schema -------------------------------------------------------------------------------------------------- */

static int
count_positional(const Call *c)
{
	int count = 0;

	for (int i = 0; i < c->n; i++)
		count += !c->arg[i].name;
	return count;
}

/* Handles the arguments that match no formal one. A vararg schema accepts positional ones. Otherwise the match
 * fails. */
static bool
match_surplus(Match *m, const Schema *s, Call *c, Values *out)
{
	if (c->positional < c->n && !s->vararg) {
		say(m, "Expected at most %d arguments but found %d positional arguments.",
		    count_positional(c) - (c->n - c->positional), count_positional(c));
		return false;
	}
	for (; c->positional < c->n; c->positional = next_positional(c, c->positional + 1)) {
		vec_push(m->cx->arena, out, c->arg[c->positional].v);
		c->used[c->positional] = true;
	}
	for (int i = 0; i < c->n; i++) {
		if (c->used[i])
			continue;
		for (int k = 0; k < s->nargs; k++) {
			if (strcmp(s->args[k].name, c->arg[i].name) == 0) {
				say(m, "Argument %s specified twice in schema.", c->arg[i].name);
				return false;
			}
		}
		say(m, "Keyword argument %s unknown.", c->arg[i].name);
		return false;
	}
	return true;
}

static bool
match(Match *m, const Schema *s, const CallSite *site, Values *out)
{
	Call c = { .arg = site->arg, .n = site->n, .used = new(m->cx->arena, bool, site->n + 1) };

	c.positional = next_positional(&c, 0);
	for (int i = 0; i < s->nargs; i++) {
		Value *v = match_formal(m, s, i, &c);

		if (!v)
			return false;
		vec_push(m->cx->arena, out, v);
	}
	return match_surplus(m, s, &c, out);
}

/* Tries the match without emitting. If it succeeds, matches again and emits the conversions. */
static bool
match_and_emit(const CallSite *site, const Schema *s, bool implicit, Buf *why, Values *out)
{
	Cx *cx = site->graph->cx;
	Match trial = { .cx = cx, .at = site->at, .convert = implicit, .why = why };
	Match m = { .cx = cx, .graph = site->graph, .at = site->at, .convert = implicit };
	Values none = { 0 };

	return match(&trial, s, site, &none) && match(&m, s, site, out);
}

Value **
match_schema(const CallSite *site, const Schema *s, bool implicit, Buf *why)
{
	Values out = { 0 };

	if (!match_and_emit(site, s, implicit, why, &out))
		return 0;
	return out.at ? out.at : new(site->graph->cx->arena, Value *, 1);
}

/* ---- the node ---------------------------------------------------------------------------------------------------- */

static void
bind_inputs(Match *m, const Schema *s, Value *const *args, int n)
{
	for (int i = 0; i < s->nargs && i < n; i++)
		bind(m, s->args[i].type, args[i]->type);
}

Node *
emit_schema_node(Graph *g, Op *op, Range at, Value *const *args, int n)
{
	const Schema *s = op_schema(g->cx, op);
	Match m = { .cx = g->cx, .graph = g, .at = at };
	Node *node = graph_emit(g, op->name, at, n, args, s->nrets);

	RT_ASSERT(n == s->nargs || (n > s->nargs && s->vararg));
	node->op = op;
	op->met = true;
	bind_inputs(&m, s, args, n);
	for (int i = 0; i < s->nrets; i++) {
		const Type *t = bound(g->cx, s->rets[i].type, &m.vars);

		node->out[i]->type = t ? t : &rt_type_any;
	}
	return node;
}

bool
op_result_types(Cx *cx, Op *op, Value *const *in, int n, const Type **out, int nout)
{
	const Schema *s = op_schema(cx, op);
	Match m = { .cx = cx };

	bind_inputs(&m, s, in, n);
	for (int i = 0; i < nout; i++)
		if (i >= s->nrets || !(out[i] = bound(cx, s->rets[i].type, &m.vars)))
			return false;
	return true;
}

/* Whether these values fit the schema without conversion. For printed graphs, which leave out the names of
 * overloads. */
static bool
fits_inputs(Cx *cx, const Schema *s, Value *const *in, int n)
{
	Match m = { .cx = cx };

	if (n < s->nargs || (n > s->nargs && !s->vararg))
		return false;
	for (int i = 0; i < s->nargs; i++) {
		const Type *t = bind(&m, s->args[i].type, in[i]->type) ? bound(cx, s->args[i].type, &m.vars) : 0;

		if (t ? !type_is_subtype(cx, in[i]->type, t) : in[i]->type->kind != TYPE_NONE)
			return false;
	}
	return true;
}

Op *
op_of_inputs(Cx *cx, const char *name, Value *const *in, int n, int nout)
{
	for (Op *op = op_first(cx, name); op; op = op->next) {
		const Schema *s = op_schema(cx, op);

		if ((s->nrets == nout || s->varret) && fits_inputs(cx, s, in, n)) {
			op->met = true;
			return op;
		}
	}
	return 0;
}

/* Returns the results of a node as one value: None, the result, or a tuple. */
static Value *
packed(Graph *g, const Schema *s, Node *n)
{
	const Type **of = new(g->cx->arena, const Type *, n->nout + 1);
	const char **field = new(g->cx->arena, const char *, n->nout + 1);
	bool named = true;
	Value *v;

	if (n->nout == 1)
		return n->out[0];
	if (!n->nout)
		return graph_constant(g, rt_none(), n->at);
	for (int i = 0; i < n->nout; i++) {
		of[i] = n->out[i]->type;
		field[i] = s->rets[i].name;
		named &= *field[i] != 0;
	}
	v = graph_emit(g, "prim::TupleConstruct", n->at, n->nout, n->out, 1)->out[0];
	v->type = named ? type_named_tuple(g->cx, 0, field, of, n->nout) : type_tuple(g->cx, of, n->nout);
	return v;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

typedef struct Candidate {
	const Schema *schema;           /* Schema of the candidate. Null until it is tried. */
	Op           *op;          /* Operator of the registry. Null for an entry of builtin.def. */
	int           builtin, upgrader;   /* Index of the entry in builtin.def. -1 if it is none. */
} Candidate;

typedef Vec(Candidate) Candidates;

static bool
is_hidden(const Op *op)
{
	return (strcmp(op->name, "aten::view") == 0 && strcmp(op->overload, "dtype") == 0) ||
	       ((strcmp(op->name, "aten::max") == 0 || strcmp(op->name, "aten::min") == 0) &&
	        strcmp(op->overload, "unary_out") == 0);
}

static void
find_candidates(Cx *cx, const char *name, int version, Candidates *v)
{
	Candidate c;
	int row = -1;

	for (Op *op = op_first(cx, name); op; op = op->next) {
		if (is_hidden(op))
			continue;
		c = (Candidate){ .op = op, .builtin = -1, .upgrader = upgrader_find(name, op->overload, version) };
		vec_push(cx->arena, v, c);
	}
	while ((row = builtin_next(name, row)) >= 0) {
		c = (Candidate){ .builtin = row, .upgrader = -1 };
		vec_push(cx->arena, v, c);
	}
}

static const Schema *
candidate_schema(Cx *cx, Candidate *c)
{
	if (!c->schema)
		c->schema = c->builtin >= 0 ? builtin_row(cx, c->builtin)->schema
		     : c->upgrader >= 0 ? upgrader_schema(cx, c->upgrader) : op_schema(cx, c->op);
	return c->schema;
}

static Value *
emit_candidate(const CallSite *site, const Candidate *c, const Values *args)
{
	Graph *g = site->graph;
	Range at = site->at;

	if (c->builtin >= 0)
		return inline_function(g, builtin_row(g->cx, c->builtin), at, args->at);
	if (c->upgrader >= 0)
		return inline_function(g, upgrader_function(g->cx, c->upgrader), at, args->at);
	return packed(g, c->schema, emit_schema_node(g, c->op, at, args->at, args->n));
}

static Value *
try_candidates(const CallSite *site, Candidates *v)
{
	for (int implicit = v->n == 1; implicit < 2; implicit++) {
		for (int i = 0; i < v->n; i++) {
			const Schema *s = candidate_schema(site->graph->cx, &v->at[i]);
			Values out = { 0 };

			if (match_and_emit(site, s, implicit, 0, &out))
				return emit_candidate(site, &v->at[i], &out);
		}
	}
	return 0;
}

/* Prints each candidate and the reason why it does not fit. */
static void
explain(const CallSite *site, Candidates *v, Buf *why)
{
	Cx *cx = site->graph->cx;
	Values out = { 0 };

	for (int i = 0; i < v->n; i++) {
		const Schema *s = candidate_schema(cx, &v->at[i]);
		Match trial = { .cx = cx, .at = site->at, .convert = true, .why = why };

		buf_printf(why, "  %s:\n    ", schema_print(cx, s));
		match(&trial, s, site, &out);
	}
	if (why->n && why->at[why->n - 1] == '\n')
		why->at[--why->n] = 0;
}

RT_NORETURN static void
unknown_operator(Cx *cx, const char *name, Range at, int version)
{
	const Near near = { .best = op_suggest(cx, name) };
	const bool theirs = strncmp(name, "aten::", 6) != 0 && strncmp(name, "prim::", 6) != 0;
	const char *hint = !near.best && theirs ? "; one of your own is given by --op-schema" : near_hint(cx, &near);

	if (version > 0)
		fail_lacks(cx, at, "Kiln has no operator %s%s", name, hint);
	fail(cx, at, "Unknown builtin op: %s%s", name, hint);
}

/* Emits a node without an overload, so that compilation continues. Null if cx->lacking does not collect such names. */
static Value *
note_lacking(const CallSite *site, const char *name)
{
	Lacking lacking = { .name = name, .at = site->at, .schema = "" };
	Graph *g = site->graph;
	Node *node;

	if (!g->cx->lacking)
		return NULL;
	vec_push(g->cx->arena, g->cx->lacking, lacking);
	node = graph_emit(g, name, site->at, 0, NULL, 1);
	for (int i = 0; i < site->n; i++)
		node_add_input(node, site->arg[i].v);
	return node->out[0];
}

/* Folds x == x and x != x of one number without looking at it, as PyTorch's executor does. A NaN then equals itself. */
static Value *
compared_to_itself(const CallSite *site, const char *name)
{
	const NamedValue *args = site->arg;
	const bool equal = strcmp(name, "aten::eq") == 0;
	RtKind kind;

	if (site->n != 2 || args[0].v != args[1].v || (!equal && strcmp(name, "aten::ne") != 0))
		return NULL;
	kind = args[0].v->type->kind;
	if (kind != TYPE_FLOAT && kind != TYPE_INT && kind != TYPE_BOOL)
		return NULL;
	return graph_constant(site->graph, rt_bool(equal), site->at);
}

Value *
emit_builtin(Graph *g, const char *name, Range at, const NamedValue *args, int n, int version)
{
	const CallSite site = { g, at, args, n };
	Candidates v = { 0 };
	Buf why = { 0 };
	Value *r = compared_to_itself(&site, name);
	const char *text;

	if (r)
		return r;
	find_candidates(g->cx, name, version, &v);
	if (!v.n && (text = builtin_refused(name)))
		fail(g->cx, at, "%s", text);
	if (!v.n && version > 0 && (r = note_lacking(&site, name)))
		return r;
	if (!v.n)
		unknown_operator(g->cx, name, at, version);
	r = try_candidates(&site, &v);
	if (r)
		return r;
	if (version > 0 && op_lacks_overloads(g->cx, name) && (r = note_lacking(&site, name)))
		return r;
	explain(&site, &v, &why);
	text = arena_text(g->cx->arena, &why);
	if (version > 0 && op_lacks_overloads(g->cx, name))
		fail_lacks(g->cx, at, "Kiln lacks the overload of %s that is called here; it has:\n%s", name, text);
	fail(g->cx, at,
	     "Arguments for call are not valid.\nThe following variants are available:\n%s\nThe original call is",
	     text);
}
