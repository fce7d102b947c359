/*
 * Pointwise kernels: a fused group of MAP rows becomes one loop nest.
 *
 * Every row's value text is pasted as it stands, in a block of its own in which a, b, c ... are its operands in the type
 * that the row computes in; results go to t0, t1, ... in the type that they are stored in, so that rounding happens where
 * the eager kernels do it.  Dims are ordered by the output's strides and merged where all operands allow it; a nest of one
 * loop is split by elements, a deeper one by rows.
 */
#include "codegen.h"
#include "../rt/ops/kernel.h"

#include <string.h>

enum { MAX_OPERANDS = 48 };

typedef struct Operand {
	const Value *outer;      /* what the caller passes */
	const RtTensor *t;       /* null: a number */
	int64_t stride[RT_MAX_RANK];     /* by dim of the nest; outermost first */
	bool output;
} Operand;

typedef struct Nest {
	int     ndim;
	int64_t dims[RT_MAX_RANK];
	int     n;
	Operand op[MAX_OPERANDS];
	int64_t columns;         /* a stride that is printed as n; 0: none */
} Nest;

typedef struct MapGroup {
	Emit  *e;
	Plan  *p;
	const Node *node;
	Graph *sub;              /* the group's graph, or null: the node alone */
	KnownTable *known;       /* of the values inside */
	Nest   nest;
	const char *type;        /* common_type: T in all of the body; null: a T for each row */
	Buf    body;
	int    ntemp;
	Map    names;            /* value id -> C expression of an element */
} MapGroup;

/* ---- the nest ------------------------------------------------------------------------------------------------------- */

/* Strides of t over dims of the result, 0 where it is broadcast. */
static void
broadcast_strides(const RtTensor *t, int ndim, const int64_t *dims, int64_t *stride)
{
	for (int i = 0; i < ndim; i++) {
		const int k = i - (ndim - t->ndim);

		stride[i] = k < 0 || (t->dims[k] == 1 && dims[i] != 1) || dims[i] == 1 ? 0 : t->strides[k];
	}
}

static void
swap_dims(Nest *nest, int a, int b)
{
	const int64_t d = nest->dims[a];

	nest->dims[a] = nest->dims[b];
	nest->dims[b] = d;
	for (int k = 0; k < nest->n; k++) {
		const int64_t s = nest->op[k].stride[a];

		nest->op[k].stride[a] = nest->op[k].stride[b];
		nest->op[k].stride[b] = s;
	}
}

static void
remove_dim(Nest *nest, int at)
{
	nest->ndim--;
	for (int i = at; i < nest->ndim; i++) {
		nest->dims[i] = nest->dims[i + 1];
		for (int k = 0; k < nest->n; k++)
			nest->op[k].stride[i] = nest->op[k].stride[i + 1];
	}
}

static bool
mergeable(const Nest *nest, int outer)
{
	for (int k = 0; k < nest->n; k++)
		if (nest->op[k].t && nest->op[k].stride[outer] != nest->op[k].stride[outer + 1] * nest->dims[outer + 1])
			return false;
	return true;
}

/* Outermost the largest stride of the first output; dims of 1 go; neighbours merge, but for the innermost `keep` dims. */
static void
simplify(Nest *nest, int keep)
{
	for (int i = nest->ndim - 1; i >= 0; i--)
		if (nest->dims[i] == 1)
			remove_dim(nest, i);
	for (int i = 1; i < nest->ndim; i++)
		for (int k = i; k > 0 && nest->op[0].stride[k - 1] < nest->op[0].stride[k]; k--)
			swap_dims(nest, k - 1, k);
	for (int i = nest->ndim - 2 - keep; i >= 0; i--)
		if (mergeable(nest, i)) {
			nest->dims[i + 1] *= nest->dims[i];
			remove_dim(nest, i);
		}
}

/* ---- types of C -------------------------------------------------------------------------------------------------------- */

static const char *
storage_type(int dtype)
{
	static const char *const names[RT_NDTYPE] = {
		[RT_u8] = "uint8_t", [RT_i8] = "int8_t", [RT_i16] = "int16_t", [RT_i32] = "int32_t", [RT_i64] = "int64_t",
		[RT_f16] = "uint16_t", [RT_f32] = "float", [RT_f64] = "double", [RT_b8] = "uint8_t", [RT_bf16] = "uint16_t",
	};
	return names[dtype];
}

static const char *
compute_type(int dtype)
{
	switch (rt_dtypes[dtype].compute) {
	case RT_f32: return "float";
	case RT_f64: return "double";
	case RT_b8:  return "bool";
	default:     return "int64_t";
	}
}

/* An element in memory as a number of its compute type. */
static const char *
load(Arena *a, int dtype, const char *element)
{
	if (dtype == RT_f16)
		return arena_printf(a, "rt_half_to_float(%s)", element);
	if (dtype == RT_bf16)
		return arena_printf(a, "rt_bf16_to_float(%s)", element);
	if (dtype == RT_b8)
		return arena_printf(a, "(%s != 0)", element);
	return element;
}

/* A number of the row's compute type, rounded to what a tensor of this type holds. */
static const char *
rounded(Arena *a, int dtype, const char *x)
{
	switch (dtype) {
	case RT_f16:  return arena_printf(a, "rt_half_to_float(rt_float_to_half((float)(%s)))", x);
	case RT_bf16: return arena_printf(a, "rt_bf16_to_float(rt_float_to_bf16((float)(%s)))", x);
	case RT_b8:   return arena_printf(a, "((%s) != 0)", x);
	case RT_f32: case RT_f64: case RT_i64:
		return arena_printf(a, "(%s)(%s)", storage_type(dtype), x);
	default:
		return arena_printf(a, "(int64_t)(%s)(%s)", storage_type(dtype), x);
	}
}

static const char *
stored(Arena *a, int dtype, const char *x)
{
	if (dtype == RT_f16)
		return arena_printf(a, "rt_float_to_half((float)%s)", x);
	if (dtype == RT_bf16)
		return arena_printf(a, "rt_float_to_bf16((float)%s)", x);
	return strcmp(storage_type(dtype), compute_type(dtype)) ? arena_printf(a, "(%s)%s", storage_type(dtype), x) : x;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------------- */

static const char *
name_of(MapGroup *m, const Value *v)
{
	return map_get(&m->names, arena_printf(m->p->cx->arena, "%d", v->id));
}

static void
set_name(MapGroup *m, const Value *v, const char *name)
{
	map_put(&m->names, arena_printf(m->p->cx->arena, "%d", v->id), (void *)(uintptr_t)name);
}

/* What rt_map_types wants to see of an argument: a number of unknown value counts by its kind. */
static IValue
sample(MapGroup *m, const Value *v)
{
	const Known *k = known_at(m->known, v);

	if (k->is)
		return k->v;
	switch (v->type->kind) {
	case TYPE_INT:   return rt_int(1);
	case TYPE_BOOL:  return rt_bool(true);
	case TYPE_FLOAT: return rt_double(1);
	default:         return rt_none();
	}
}

static RtMapResult
result_rule(const Op *op)
{
	static const char *const names[] = { "promote", "floating", "boolean", "real", "part" };

	for (int i = 0; i < 5; i++)
		if (!strcmp(op->result, names[i]))
			return (RtMapResult)i;
	BUG("%s: result rule %s", op->id, op->result);
}

/* The number of a constant as C text. */
static const char *
number_text(Arena *a, IValue v)
{
	if (v.tag == RT_DOUBLE) {
		if (v.u.f != v.u.f)
			return "KILN_NAN";
		if (v.u.f - v.u.f != 0)
			return v.u.f < 0 ? "KILN_MINUS_INF" : "KILN_INF";
		return arena_printf(a, "%.17g%s", v.u.f, v.u.f == (double)(int64_t)v.u.f && v.u.f < 1e15 && v.u.f > -1e15 ? ".0" : "");
	}
	if (v.u.i == INT64_MIN)
		return "(-0x7fffffffffffffffLL - 1)";
	return arena_printf(a, v.u.i > INT32_MAX || v.u.i < INT32_MIN ? "%lldLL" : "%lld", (long long)v.u.i);
}

static const char *
operand_text(MapGroup *m, const Value *v)
{
	const Known *k = known_at(m->known, v);
	const char *name = name_of(m, v);

	if (name)
		return name;
	if (k->is && (k->v.tag == RT_INT || k->v.tag == RT_DOUBLE || k->v.tag == RT_BOOL))
		return number_text(m->p->cx->arena, k->v);
	return NULL;
}

/* A row's value as C.  Sums with a product are rounded twice where PyTorch does that (codegen/rounding.c), but for those that
 * specialization made of a norm. */
static const char *
value_of(const MapGroup *m, const Node *n)
{
	int64_t one;

	if (config_is_exact(m->p->cx) && !strcmp(n->op->id, "addcmul") && known_int(m->known, n->in[3], &one) && one == 1)
		return "VO_FUSED(b, c, a)";
	return n->op->value;
}

static bool
row_operands(MapGroup *m, const Node *n, const RtMapArg *arg, int narg, const RtMapTypes *types, Buf *b)
{
	Arena *a = m->p->cx->arena;

	for (int i = 0; i < narg; i++) {
		const Value *v = n->in[arg[i].arg];
		const bool has = !value_is_none(v) && v->type->kind != TYPE_NONE;
		const char *text = has ? operand_text(m, v) : "0";

		if (!text)
			return false;
		/* What is cast to the common type first loses there what the common type cannot hold. */
		if (has && arg[i].joins && types->common != RT_NDTYPE)
			text = rounded(a, types->common, text);
		buf_printf(b, "const T %c = (T)%s; ", 'a' + i, text);
		if (strstr(value_of(m, n), "has_"))
			buf_printf(b, "enum { has_%c = %d }; ", 'a' + i, has);
	}
	if (strstr(value_of(m, n), "DTYPE"))
		buf_printf(b, "enum { DTYPE = %d }; ", (int)types->common);
	return true;
}

/* How a row computes; false: not in C. */
static bool
row_types(MapGroup *m, const Node *n, RtMapArg *arg, int *narg, RtMapTypes *types)
{
	IValue in[64];

	if (!n->op || n->op->form != OP_MAP || n->nin > 64)
		return false;
	*narg = rt_map_args(n->op->text, arg);
	for (int i = 0; i < n->nin; i++)
		in[i] = sample(m, n->in[i]);
	rt_map_types(arg, *narg, result_rule(n->op), in, types);
	return types->compute != RT_NDTYPE && rt_dtypes[types->compute].category != 'C' && rt_dtypes[types->result].category != 'C';
}

/* The type that all rows of the group compute in, or null. */
static const char *
common_type(MapGroup *m)
{
	RtMapArg arg[RT_MAP_MAX];
	RtMapTypes types;
	const char *found = NULL;
	int narg;

	if (!m->sub)
		return row_types(m, m->node, arg, &narg, &types) ? compute_type(types.compute) : NULL;
	for NODES(n, m->sub->top) {
		if (node_is(n, "prim::Constant"))
			continue;
		if (!row_types(m, n, arg, &narg, &types) || (found && strcmp(found, compute_type(types.compute))))
			return NULL;
		found = compute_type(types.compute);
	}
	return found;
}

/* A constant as a number of the common type T; null: this has no short form. */
static const char *
literal(MapGroup *m, IValue v)
{
	Arena *a = m->p->cx->arena;
	const bool single = !strcmp(m->type, "float");
	const double f = v.tag == RT_DOUBLE ? v.u.f : (double)v.u.i;
	const char *text;

	if ((!single && strcmp(m->type, "double")) || (v.tag != RT_DOUBLE && v.tag != RT_INT) || f - f != 0 ||
	    (single && (double)(float)f != f) || (v.tag == RT_INT && (f > 1e6 || f < -1e6)))
		return NULL;
	text = arena_printf(a, single ? "%.9g" : "%.17g", f);
	return arena_printf(a, f < 0 ? "(%s%s%s)" : "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", single ? "f" : "");
}

/* An argument of a row as an operand of type T. */
static const char *
operand_of(MapGroup *m, const Value *v, bool joins, const RtMapTypes *types)
{
	Arena *a = m->p->cx->arena;
	const Known *k = known_at(m->known, v);
	const char *name = name_of(m, v), *text = operand_text(m, v), *temp;
	const int dtype = k->is && k->v.tag == RT_TENSOR ? (int)k->v.u.t->dtype : -1;

	if (!text)
		return NULL;
	joins = joins && types->common != RT_NDTYPE && dtype != (int)types->common;
	if (name && !joins && dtype >= 0)
		return strcmp(compute_type(dtype), m->type) ? arena_printf(a, "(T)%s", name) : name;
	if (!name && (!joins || !strcmp(compute_type(types->common), m->type)) && literal(m, k->v))
		return literal(m, k->v);
	temp = arena_printf(a, "n%d", m->ntemp++);
	buf_printf(&m->body, "const T %s = (T)%s;\n", temp, joins ? rounded(a, types->common, text) : text);
	return temp;
}

/* The row's expression with its arguments in the places of a, b, ...; a product by 1 that is added is none. */
static void
put_expression(Buf *b, const char *value, const char *const *operand, int n)
{
	for (const char *at = value; *at;) {
		const size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.");
		const int which = *at - 'a';

		if (word == 1 && which >= 0 && which < n) {
			if ((!strcmp(operand[which], "1.0f") || !strcmp(operand[which], "1.0")) && at > value + 1 && strchr("+-", at[-2]) && !strncmp(at + 1, " * ", 3))
				at += 4;
			else
				buf_puts(b, operand[which]), at++;
			continue;
		}
		buf_add(b, at, word ? (int64_t)word : 1);
		at += word ? word : 1;
	}
}

/* "const float t3 = tanh(x2);" */
static bool
put_short_row(MapGroup *m, const Node *n, const RtMapArg *arg, int narg, const RtMapTypes *types)
{
	Arena *a = m->p->cx->arena;
	const char *operand[RT_MAP_MAX], *temp;
	Buf b = { 0 };

	for (int i = 0; i < narg; i++) {
		const Value *v = n->in[arg[i].arg];
		const bool has = !value_is_none(v) && v->type->kind != TYPE_NONE;

		if (!(operand[i] = has ? operand_of(m, v, arg[i].joins, types) : "0"))
			return false;
	}
	put_expression(&b, value_of(m, n), operand, narg);
	temp = arena_printf(a, "t%d", m->ntemp++);
	buf_printf(&m->body, "const %s %s = %s;\n", compute_type(types->result), temp,
		   types->result == RT_f32 || types->result == RT_f64 ? b.at : rounded(a, types->result, b.at));
	buf_free(&b);
	set_name(m, n->out[0], temp);
	return true;
}

/* One row: as a statement, or, where types differ, "float t3; { typedef float T; const T a = ...; t3 = (value); }" */
static bool
put_row(MapGroup *m, const Node *n)
{
	Arena *a = m->p->cx->arena;
	RtMapArg arg[RT_MAP_MAX];
	RtMapTypes types;
	const char *temp;
	Buf operands = { 0 };
	int narg;

	if (!row_types(m, n, arg, &narg, &types))
		return false;
	if (m->type && !strstr(value_of(m, n), "has_") && !strstr(value_of(m, n), "DTYPE"))
		return put_short_row(m, n, arg, narg, &types);
	if (!row_operands(m, n, arg, narg, &types, &operands))
		return false;
	temp = arena_printf(a, "t%d", m->ntemp++);
	buf_printf(&m->body, "%s %s; { typedef %s T; %s%s = %s; }\n", compute_type(types.result), temp, compute_type(types.compute),
		   operands.at ? operands.at : "", temp, rounded(a, types.result, value_of(m, n)));
	buf_free(&operands);
	set_name(m, n->out[0], temp);
	return true;
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------------- */

static bool
add_operand(MapGroup *m, const Value *outer, const RtTensor *t, bool output)
{
	Operand *o;

	if (m->nest.n == MAX_OPERANDS)
		return false;
	o = &m->nest.op[m->nest.n++];
	o->outer = outer;
	o->t = t;
	o->output = output;
	if (t)
		broadcast_strides(t, m->nest.ndim, m->nest.dims, o->stride);
	return true;
}

/* The operands: outputs first, so that the nest takes their order. */
static bool
collect(MapGroup *m)
{
	const RtTensor *first = plan_tensor(m->p, m->node->out[0]);

	m->nest.ndim = first->ndim;
	memcpy(m->nest.dims, first->dims, (size_t)first->ndim * sizeof *first->dims);
	for (int i = 0; i < m->node->nout; i++) {
		const RtTensor *t = plan_tensor(m->p, m->node->out[i]);

		if (t->ndim != first->ndim || memcmp(t->dims, first->dims, (size_t)t->ndim * sizeof *t->dims))
			return false;
		if (!add_operand(m, m->node->out[i], t, true))
			return false;
	}
	for (int i = 0; i < m->node->nin; i++) {
		const Value *v = m->node->in[i];
		const Known *k = known_at(m->p->known, v);
		const RtTensor *t = plan_tensor(m->p, v);
		const bool number = v->type->kind == TYPE_INT || v->type->kind == TYPE_FLOAT || v->type->kind == TYPE_BOOL;

		if (t || (number && !k->is))
			if (!add_operand(m, v, t, false))
				return false;
	}
	return true;
}

/* Index expression of operand k: "i0 * 56 + i" */
static const char *
index_text(Arena *a, const Nest *nest, int k)
{
	Buf b = { 0 };
	const char *text;

	for (int i = 0; i < nest->ndim; i++) {
		const int64_t s = nest->op[k].stride[i];
		const bool inner = i == nest->ndim - 1;

		if (!s)
			continue;
		buf_puts(&b, b.n ? " + " : "");
		if (s == nest->columns && !inner)
			buf_puts(&b, "n * ");
		else if (s != 1)
			buf_printf(&b, "%lld * ", (long long)s);
		buf_printf(&b, inner ? "i" : "i%d", i);
	}
	text = arena_strdup(a, b.at ? b.at : "0");
	buf_free(&b);
	return text;
}

/* Each input is read once; `made` is not: it is there. */
static void
name_inputs(MapGroup *m, const Value *made)
{
	Arena *a = m->p->cx->arena;

	m->type = common_type(m);
	for (int k = m->node->nout; k < m->nest.n; k++) {
		const Operand *o = &m->nest.op[k];
		const char *name = arena_printf(a, o->t ? "x%d" : "s%d", k);

		if (o->t && o->outer != made)
			buf_printf(&m->body, "const %s %s = %s;\n", compute_type(o->t->dtype), name,
				   load(a, o->t->dtype, arena_printf(a, "p%d[%s]", k, index_text(a, &m->nest, k))));
		for (int i = 0; i < m->node->nin; i++)
			if (m->node->in[i] == o->outer)
				set_name(m, m->sub ? graph_inputs(m->sub)[i] : o->outer, o->outer == made ? "made" : name);
	}
}

static bool
put_rows(MapGroup *m)
{
	if (!m->sub)
		return put_row(m, m->node);
	for NODES(n, m->sub->top)
		if (!node_is(n, "prim::Constant") && !put_row(m, n))
			return false;
	return true;
}

static void
put_stores(MapGroup *m)
{
	Arena *a = m->p->cx->arena;

	for (int k = 0; k < m->node->nout; k++) {
		const Value *v = m->sub ? m->sub->top->ret->in[k] : m->node->out[k];

		buf_printf(&m->body, "p%d[%s] = %s;\n", k, index_text(a, &m->nest, k),
			   stored(a, m->nest.op[k].t->dtype, name_of(m, v)));
	}
}

/* T, where the body or a macro in it (t_...) speaks of it. */
static void
name_type(MapGroup *m)
{
	Buf b = { 0 };

	if (!m->type || (!strstr(m->body.at, "T)") && !strstr(m->body.at, "t_") && !strstr(m->body.at, "const T ")))
		return;
	buf_printf(&b, "typedef %s T;\n%s", m->type, m->body.at);
	buf_free(&m->body);
	m->body = b;
}

static void
put_pointers(Out *o, const Nest *nest, const int *place)
{
	if (!place)
		out_line(o, "void *const *p = arg;");
	for (int k = 0; k < nest->n; k++) {
		const Operand *op = &nest->op[k];

		if (!op->t)
			out_line(o, "const double s%d = *(const double *)p[%d];", k, place ? place[k] : k);
		else
			out_line(o, "%s%s *p%d = p[%d];", op->output ? "" : "const ", storage_type(op->t->dtype), k,
				 place ? place[k] : k);
	}
	out_blank(o);
}

static void
put_body(Out *o, Buf *body)
{
	char *state = NULL;

	for (char *line = strtok_r(body->at, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		out_line(o, "%s", line);
}

/* The loops: one over elements, or one over rows with the outer indices taken from its number. */
static void
put_loops(Out *o, const Nest *nest, Buf *body)
{
	if (nest->ndim <= 1) {
		out_line(o, "IVDEP");
		out_open(o, "for (int64_t i = begin; i < end; i++)");
		put_body(o, body);
		out_close(o, "");
		return;
	}
	if (nest->ndim == 2) {
		out_open(o, "for (int64_t i0 = begin; i0 < end; i0++)");
	} else {
		out_open(o, "for (int64_t row = begin; row < end; row++)");
		out_line(o, "int64_t rest = row;");
	}
	for (int i = nest->ndim - 2; i > 0; i--)
		out_line(o, "const int64_t i%d = rest %% %lld; rest /= %lld;", i, (long long)nest->dims[i], (long long)nest->dims[i]);
	if (nest->ndim > 2)
		out_line(o, "const int64_t i0 = rest;");
	out_line(o, "IVDEP");
	out_open(o, "for (int64_t i = 0; i < %lld; i++)", (long long)nest->dims[nest->ndim - 1]);
	put_body(o, body);
	out_close(o, "");
	out_close(o, "");
}

/* "add, relu: 3136 x 64"; without sizes what serves all sizes. */
static const char *
describe(MapGroup *m, bool sizes)
{
	Buf b = { 0 };

	if (m->sub) {
		for NODES(n, m->sub->top)
			if (n->op)
				buf_printf(&b, "%s%s", b.n ? ", " : "", n->op->name + (strncmp(n->op->name, "aten::", 6) ? 0 : 6));
	} else {
		buf_puts(&b, m->node->op->name);
	}
	for (int i = 0; sizes && i < m->nest.ndim; i++)
		buf_printf(&b, "%s%lld", i ? " x " : ": ", (long long)m->nest.dims[i]);
	return arena_text(m->p->cx->arena, &b);
}

static MapGroup
begin(Emit *e, Plan *p, const Node *n)
{
	const Attr *sub = node_attr(n, "Subgraph");
	MapGroup m = { .e = e, .p = p, .node = n, .sub = sub ? sub->g : NULL, .known = p->known, .names = { .arena = p->cx->arena } };

	if (m.sub) {
		IValue *in = new(p->cx->arena, IValue, n->nin + 1);
		bool *is = new(p->cx->arena, bool, n->nin + 1);

		for (int i = 0; i < n->nin; i++) {
			in[i] = known_at(p->known, n->in[i])->v;
			is[i] = known_is(p->known, n->in[i]);
		}
		m.known = known_subgraph(p->cx, m.sub, in, is);
	}
	return m;
}

bool
emit_map(Emit *e, Plan *p, const Node *n, KernelCall *call)
{
	MapGroup m = begin(e, p, n);
	Out o = { .indent = 1 };
	Buf text = { 0 };

	if (!collect(&m))
		return false;
	simplify(&m.nest, 0);
	name_inputs(&m, NULL);
	if (!put_rows(&m))
		return false;
	put_stores(&m);
	name_type(&m);
	put_pointers(&o, &m.nest, NULL);
	put_loops(&o, &m.nest, &m.body);
	buf_printf(&text, "{\n%s}\n", o.text.at);
	call->name = emit_kernel(e, "map", describe(&m, true), text.at, false);
	call->n = 1;
	for (int i = 0; i + (m.nest.ndim > 1) < m.nest.ndim; i++)
		call->n *= m.nest.dims[i];
	call->grain = m.nest.ndim > 1 ? 1 + 16384 / (m.nest.dims[m.nest.ndim - 1] + 1) : 16384;
	for (int k = 0; k < m.nest.n; k++)
		vec_push(e->cx->arena, &call->args, ((KernelArg){ m.nest.op[k].outer, NULL, 0, NULL }));
	buf_free(&o.text);
	buf_free(&text);
	buf_free(&m.body);
	return true;
}

/* ---- epilogues --------------------------------------------------------------------------------------------------------- */

/* Rows by columns: the innermost dim is the product's, all others are one. */
static bool
as_rows(MapGroup *m)
{
	if (m->node->nout != 1 || !collect(m))
		return false;
	simplify(&m->nest, 1);
	return m->nest.ndim <= 2 && m->nest.ndim > 0 && m->nest.op[0].stride[m->nest.ndim - 1] == 1;
}

bool
map_epilogue_fits(Plan *p, const Node *group, const Value *made, int64_t columns)
{
	MapGroup m = begin(NULL, p, group);
	const RtTensor *a, *b = plan_tensor(p, made);

	if (group->nout != 1 || !(a = plan_tensor(p, group->out[0])) || a->dtype != RT_f32 || a->ndim != b->ndim || a->ndim == 0)
		return false;
	for (int i = 0; i < a->ndim; i++)
		if (a->dims[i] != b->dims[i] || (a->strides[i] != b->strides[i] && a->dims[i] != 1))
			return false;
	return as_rows(&m) && m.nest.dims[m.nest.ndim - 1] == columns;
}

const char *
emit_map_epilogue(Emit *e, Plan *p, const Node *group, const Value *made, int first, ValueVec *more)
{
	MapGroup m = begin(e, p, group);
	Out o = { .indent = 1 };
	int place[MAX_OPERANDS];
	Buf text = { 0 };
	const char *name;

	if (!as_rows(&m))
		return NULL;
	m.nest.columns = m.nest.dims[m.nest.ndim - 1];
	for (int k = 0; k < m.nest.n; k++)
		if (m.nest.op[k].output || m.nest.op[k].outer == made) {
			place[k] = 0;
		} else {
			place[k] = first + more->n;
			vec_push(e->cx->arena, more, m.nest.op[k].outer);
		}
	name_inputs(&m, NULL);
	if (!put_rows(&m))
		return NULL;
	put_stores(&m);
	name_type(&m);
	put_pointers(&o, &m.nest, place);
	out_open(&o, "for (int64_t i0 = row; i0 < end; i0++)");
	out_line(&o, "IVDEP");
	out_open(&o, "for (int64_t i = c0; i < c1; i++)");
	put_body(&o, &m.body);
	out_close(&o, "");
	out_close(&o, "");
	buf_printf(&text, "{\n%s}\n", o.text.at);
	name = emit_kernel(e, "epilogue", describe(&m, false), text.at, true);
	buf_free(&o.text);
	buf_free(&text);
	buf_free(&m.body);
	return name;
}

/* A number as the element type of a float kernel has it; null: not known. */
static const char *
float_text(Plan *p, KnownTable *known, const Value *v)
{
	const Known *k = known_at(known, v);
	const double f = k->v.tag == RT_DOUBLE ? k->v.u.f : k->v.tag == RT_INT ? (double)k->v.u.i : 0;

	if (!k->is || (k->v.tag != RT_DOUBLE && k->v.tag != RT_INT) || f - f != 0)
		return NULL;
	return arena_printf(p->cx->arena, "(float)%.17g", f);
}

bool
map_clamps(Plan *p, const Node *group, const char *range[2])
{
	const MapGroup m = begin(NULL, p, group);
	const Node *only = NULL;
	const char *lo, *hi;

	if (!m.sub)
		only = group;
	else for NODES(n, m.sub->top)
		if (!node_is(n, "prim::Constant")) {
			if (only)
				return false;
			only = n;
		}
	if (!only)
		return false;
	if (node_is(only, "aten::relu") || node_is(only, "aten::relu6")) {
		range[0] = "0";
		range[1] = node_is(only, "aten::relu") ? "KILN_INF" : "6";
		return true;
	}
	if (!node_is(only, "aten::hardtanh"))
		return false;
	lo = float_text(p, m.known, node_arg(only, "min_val"));
	hi = float_text(p, m.known, node_arg(only, "max_val"));
	if (!lo || !hi)
		return false;
	range[0] = lo;
	range[1] = hi;
	return true;
}

/* ---- for other printers ------------------------------------------------------------------------------------------------- */

bool
map_text(Emit *e, Plan *p, const Node *n, const Value *made, MapText *t)
{
	MapGroup m = begin(e, p, n);
	Arena *a = p->cx->arena;

	if (made ? !as_rows(&m) : !collect(&m))
		return false;
	if (!made)
		simplify(&m.nest, 0);
	name_inputs(&m, made);
	if (!put_rows(&m))
		return false;
	put_stores(&m);
	name_type(&m);
	*t = (MapText){ .ndim = m.nest.ndim, .n = m.nest.n, .body = arena_strdup(a, m.body.at), .comment = describe(&m, true) };
	memcpy(t->dims, m.nest.dims, sizeof t->dims);
	t->operand = new(a, MapOperand, m.nest.n + 1);
	for (int k = 0; k < m.nest.n; k++) {
		const Operand *o = &m.nest.op[k];

		t->operand[k] = (MapOperand){ o->outer, o->t ? storage_type(o->t->dtype) : NULL, o->output };
	}
	buf_free(&m.body);
	return true;
}
