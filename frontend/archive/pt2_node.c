/*
 * Converts nodes of an exported program to nodes of a graph.
 *
 * An operator is looked up by its name and overload. Its arguments have the schema's names, and missing ones get the
 * schema's defaults. For a number in place of a Tensor, which Python wraps, the overload for numbers is called if there
 * is one. Python's functions on numbers are listed in pt2.def. An operator that Kiln lacks is recorded, or ends the
 * reading with an error at the node's line.
 */
#include "pt2.h"

#include <ctype.h>
#include <string.h>

enum { OP_VERSION = 10 };      /* Version of the archive format whose operators the program uses: the newest. */

/* ---- Python's functions ----------------------------------------------------------------------------------- */

typedef struct PythonRow { const char *target, *operator, *text; } PythonRow;

static const PythonRow python[] = {
#define PYTHON(target, operator) { target, operator, NULL },
#define TEXT(target, text) { target, NULL, text },
#include "pt2.def"
};

static const char *const skipped[] = {
#define SKIP(target) target,
#include "pt2.def"
};

#define NPYTHON ((int)(sizeof python / sizeof *python))

static Function *
row_function(Builder *b, int row)
{
	if (!b->exported->texts)
		b->exported->texts = new(b->cx->arena, Function *, NPYTHON);
	if (!b->exported->texts[row])
		b->exported->texts[row] = script_compile(b->cx, python[row].text, python[row].target);
	return b->exported->texts[row];
}

/* Calls the function or operator of an entry of pt2.def. Null if it does not accept these arguments. */
static Value *
try_row(Builder *b, int row, NamedValue *args, int n, bool last)
{
	const bool overloaded = python[row].operator && strchr(python[row].operator, '.');
	Function *fn = python[row].text ? row_function(b, row) : NULL;
	Op *op = overloaded ? op_named(b->cx, python[row].operator) : NULL;
	const CallSite site = { b->graph, b->at, args, n };
	Value **in;

	if (fn) {
		in = match_schema(&site, fn->schema, last, NULL);
		return in ? inline_function(b->graph, fn, b->at, in) : NULL;
	}
	for (int i = 0; i < n; i++)
		args[i].name = NULL;
	if (overloaded) {
		in = op ? match_schema(&site, op_schema(b->cx, op), last, NULL) : NULL;
		return in ? emit_schema_node(b->graph, op, b->at, in, n)->out[0] : NULL;
	}
	if (!*python[row].operator)
		return n ? args[0].v : NULL;
	return emit_builtin(b->graph, python[row].operator, b->at, args, n, OP_VERSION);
}

static Value *
call_named(Builder *b, const char *target, NamedValue *args, int n)
{
	Value *v = NULL;
	bool known = false;

	for (int i = 0; i < NPYTHON && !v; i++) {
		if (strcmp(python[i].target, target))
			continue;
		known = true;
		v = try_row(b, i, args, n, i + 1 == NPYTHON || strcmp(python[i + 1].target, target));
	}
	if (known && !v)
		fail(b->cx, b->at, "%s does not take these arguments", target);
	return v;
}

Value *
python_call(Builder *b, const char *target, Value *const *args, int n)
{
	NamedValue *in = new(b->cx->arena, NamedValue, n + 1);

	for (int i = 0; i < n; i++)
		in[i] = (NamedValue){ .v = args[i], .at = b->at };
	return call_named(b, target, in, n);
}

static bool
is_skipped(const char *target)
{
	for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
		if (!strcmp(skipped[i], target))
			return true;
	return false;
}

/* ---- autocast ------------------------------------------------------------------------------------------------- */

typedef enum Cast { CAST_none, CAST_lower, CAST_full } Cast;

static Cast
cast_of(const char *name)
{
	static const struct { Cast cast; const char *names; } rows[] = {
#define AUTOCAST(cast, operators) { CAST_##cast, operators },
#include "pt2.def"
	};
	const size_t n = strlen(name);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (const char *at = rows[i].names; (at = strstr(at, name)); at += n)
			if ((at == rows[i].names || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
				return rows[i].cast;
	return CAST_none;
}

/* Casts by the operators of TorchScript's autocast pass. Its cast to the lower precision accepts only float32, while
 * torch.autocast also accepts the other 16-bit type. So the value is first cast to float32, which represents both
 * exactly. */
static Value *
cast_tensor(Builder *b, Value *v, Cast cast)
{
	Value *no = build_bool(b, false), *yes = build_bool(b, true), *dtype = build_int(b, b->autocast);
	Value *full = build_op(b, "aten::_autocast_to_full_precision", 3, v, no, yes);

	return cast == CAST_full ? full :
	       build_op(b, "aten::_autocast_to_reduced_precision", 5, full, no, yes, dtype, dtype);
}

/* Casts the tensors of a list that the graph constructs. */
static Value *
cast_list(Builder *b, Value *list, Cast cast)
{
	const Node *made = list->node;
	Value **v = new(b->cx->arena, Value *, made->nin + 1);

	for (int i = 0; i < made->nin; i++)
		v[i] = cast_tensor(b, made->in[i], cast);
	return build_list(b, list->type->of[0], v, made->nin);
}

/* Whether an einsum contains a matrix product: two operands have a label that is summed over. */
static bool
is_product(const Value *equation)
{
	IValue v;
	const char *s, *arrow;

	if (!value_constant(equation, &v) || v.tag != RT_STR)
		return false;
	s = v.u.str->s;
	arrow = strstr(s, "->");
	for (const char *at = s; *at && at != arrow; at++) {
		const char *comma = isalpha((unsigned char)*at) ? strchr(at, ',') : NULL;
		const char *again = comma ? strchr(comma, *at) : NULL;

		if (again && (!arrow || (again < arrow && !strchr(arrow, *at))))
			return true;
	}
	return false;
}

static Cast
cast_under(const Builder *b, const char *name, const NamedValues *args)
{
	if (b->autocast < 0 || strncmp(name, "aten::", 6))
		return CAST_none;
	if (!strcmp(name, "aten::einsum"))
		return args->n && is_product(args->at[0].v) ? CAST_lower : CAST_none;
	return cast_of(name + 6);
}

static void
cast_arguments(Builder *b, const char *name, NamedValues *args)
{
	const Cast cast = cast_under(b, name, args);

	for (int i = 0; i < args->n && cast; i++)
		if (args->at[i].v->type->kind == TYPE_TENSOR)
			args->at[i].v = cast_tensor(b, args->at[i].v, cast);
		else if (node_is(args->at[i].v->node, prim_ListConstruct) &&
			 args->at[i].v->type->of[0]->kind == TYPE_TENSOR)
			args->at[i].v = cast_list(b, args->at[i].v, cast);
}

/* ---- operators ------------------------------------------------------------------------------------------------ */

/* Returns the overload Tensor of "aten::add" for "torch.ops.aten.add.Tensor". */
Op *
operator_find(Builder *b, const char *target, const char **name)
{
	const char *space = target + strlen("torch.ops."), *op = NULL, *dot;

	if (!strncmp(target, "torch.ops.", 10))
		op = strchr(space, '.');
	dot = op ? strrchr(op + 1, '.') : NULL;
	if (!dot)
		pt2_lacks(b, "Kiln lacks %s", target);
	*name = arena_printf(b->cx->arena, "%.*s::%.*s", (int)(op - space), space, (int)(dot - op - 1), op + 1);
	return op_find(b->cx, *name, strcmp(dot + 1, "default") ? dot + 1 : "");
}

static void
read_arguments(Builder *b, const Schema *s, const Json *first, NamedValues *out)
{
	int at = 0;                          /* Index among the arguments without a name. */

	for (const Json *i = first; i; i = json_next(i)) {
		const char *name = json_text_or(&b->exported->doc, i, "name", "");
		const int k = !s ? -1 : *name ? schema_find(s, name) : at < s->nargs ? at++ : -1;
		NamedValue v = { .name = *name ? name : NULL, .at = b->at };

		v.v = arg_value(b, json_need(&b->exported->doc, i, "arg"), k >= 0 ? s->args[k].type : NULL);
		vec_push(b->cx->arena, out, v);
	}
}

/* Wraps numbers for which the schema has tensors, as Python does. Such tensors count as numbers in type promotion. */
static void
wrap_numbers(Builder *b, const Schema *s, NamedValues *args)
{
	for (int i = 0; i < args->n; i++) {
		NamedValue *a = &args->at[i];
		const int k = a->name ? schema_find(s, a->name) : -1;
		const Type *t = k >= 0 ? s->args[k].type : NULL, *have = a->v->type;
		IValue number;
		RtTensor *w;

		if (!t || (t->kind == TYPE_OPTIONAL ? t->of[0] : t)->kind != TYPE_TENSOR)
			continue;
		if (have->kind < TYPE_INT || have->kind > TYPE_NUMBER)
			continue;
		if (!value_constant(a->v, &number)) {
			a->v = build_op(b, "prim::NumToTensor", 1, a->v);
			continue;
		}
		if (!(w = rt_wrapped(cx_rt(b->cx), number)))
			out_of_memory();
		a->v = graph_constant(b->graph, rt_of(w), b->at);
	}
}

static Node *
try_overload(Builder *b, Op *op, const NamedValues *args, bool implicit, Buf *why)
{
	const Schema *s = op_schema(b->cx, op);
	Value **in = match_schema(&(CallSite){ b->graph, b->at, args->at, args->n }, s, implicit, why);

	return in ? emit_schema_node(b->graph, op, b->at, in, s->nargs) : NULL;
}

/* Calls the overload that the archive names. If this does not accept a number, calls another overload that does. */
static Node *
call_overload(Builder *b, const char *name, Op *op, NamedValues *args, Buf *why)
{
	Node *n = op ? try_overload(b, op, args, false, NULL) : NULL;

	for (Op *other = op_first(b->cx, name); other && !n; other = other->next)
		if (other != op)
			n = try_overload(b, other, args, false, NULL);
	if (op && !n)
		n = try_overload(b, op, args, true, why);
	if (op && !n) {
		wrap_numbers(b, op_schema(b->cx, op), args);
		n = try_overload(b, op, args, true, NULL);
	}
	return n;
}

/* Returns the type of a node's result according to the archive. */
static const Type *
type_of_output(Builder *b, const Json *output)
{
	const char *kind = json_key(json_union(&b->exported->doc, output, "output"));

	return !strcmp(kind, "as_sym_int") ? &rt_type_int : !strcmp(kind, "as_sym_float") ? &rt_type_float
		: !strcmp(kind, "as_sym_bool") ? &rt_type_bool : !strcmp(kind, "as_tensors") ? &rt_type_list_tensor
		: &rt_type_tensor;
}

/* Emits a node for an operator that Kiln lacks, so that reading continues. Fails if cx->lacking does not collect such
 * operators. */
static Node *
note_lacking(Builder *b, const char *name, const NamedValues *args, const Json *outputs, const char *why)
{
	Lacking lacking = { .name = name, .at = b->at, .schema = "" };
	Node *n;
	int i = 0;

	if (!b->cx->lacking && why)
		pt2_lacks(b, "Kiln lacks the form of %s that is called here:\n%s", name, why);
	if (!b->cx->lacking)
		pt2_lacks(b, "Kiln has no operator %s%s", name,
			  strncmp(name, "aten::", 6) ? "; one of your own is given by --op-schema" : "");
	vec_push(b->cx->arena, b->cx->lacking, lacking);
	n = graph_emit(b->graph, name, b->at, 0, NULL, json_count(outputs));
	for (int k = 0; k < args->n; k++)
		node_add_input(n, args->at[k].v);
	for JSON_EACH(o, outputs)
		n->out[i++]->type = type_of_output(b, o);
	return n;
}

/* Replaces a view by a reshape in a program without writes. An exported view may need the strides of PyTorch's kernels,
 * such as attention's. A reshape works with any strides and has the same values. */
static void
view_by_any_strides(Builder *b, const char **name, Op **op, NamedValues *args)
{
	if (!b->exported->functional || strcmp(*name, "aten::view") || *op != op_find(b->cx, "aten::view", "") ||
	    args->n != 2)
		return;
	*name = "aten::reshape";
	*op = op_find(b->cx, *name, "");
	args->at[0].name = args->at[1].name = NULL;
}

void
operator_apply(Builder *b, const char *name, Op *op, NamedValues *args, Values *results, const Json *outputs)
{
	Buf why = { 0 };
	Node *n;

	view_by_any_strides(b, &name, &op, args);
	cast_arguments(b, name, args);
	n = call_overload(b, name, op, args, &why);
	if (!n)
		n = note_lacking(b, name, args, outputs, op ? arena_text(b->cx->arena, &why) : NULL);
	buf_free(&why);
	for (int i = 0; i < n->nout; i++)
		vec_push(b->cx->arena, results, n->out[i]);
}

void
operator_call(Builder *b, const char *target, const Json *input, Values *results, const Json *outputs)
{
	const char *name;
	Op *op = operator_find(b, target, &name);
	NamedValues args = { 0 };

	read_arguments(b, op ? op_schema(b->cx, op) : NULL, input, &args);
	operator_apply(b, name, op, &args, results, outputs);
}

/* ---- results -------------------------------------------------------------------------------------------------- */

/* Converts a Scalar or a tensor of one element to the number type of the archive. */
static Value *
as_number(Builder *b, Value *v, const Type *t)
{
	if (v->type == t || (v->type->kind != TYPE_TENSOR && v->type->kind < TYPE_INT) || v->type->kind > TYPE_NUMBER)
		return v;
	return build_op(b, t == &rt_type_int ? "aten::Int" : t == &rt_type_float ? "aten::Float" : "aten::Bool", 1, v);
}

static void
bind_list(Builder *b, const Json *names, Value *list)
{
	const int n = json_count(names);
	Node *unpack = graph_emit(b->graph, "prim::ListUnpack", b->at, 1, &list, n);
	int i = 0;

	for JSON_EACH(e, names) {
		const Json *name = json_get(e, "name");

		if (!name)
			name = json_get(json_get(e, "as_tensor"), "name");
		unpack->out[i]->type = list->type->kind == TYPE_LIST ? list->type->of[0] : &rt_type_tensor;
		if (name)
			build_name(b, json_text_of(&b->exported->doc, name, "name"), unpack->out[i]);
		i++;
	}
}

/* Sets the rank that the archive declares. Values of inner graphs are left out, since their names may repeat those of
 * the outer graph. */
static void
note_rank(Builder *b, const char *name, Value *v)
{
	const Json *sizes = json_get(map_get(&b->exported->metas, name), "sizes");
	const TensorInfo info = { .dtype = -1, .rank = json_count(sizes), .grad = -1, .device = -1, .undefined = 0 };

	if (sizes && b->names == b->top && v->type == &rt_type_tensor && info.rank <= RT_MAX_RANK)
		v->type = type_tensor(b->cx, &info);
}

static void
bind_one(Builder *b, const Json *output, Value *v)
{
	const Json *is = json_union(&b->exported->doc, output, "output"), *name;
	const char *kind = json_key(is);

	if (!strcmp(kind, "as_tensors") || !strcmp(kind, "as_optional_tensors")) {
		bind_list(b, is, v);
		return;
	}
	name = json_get(is, "name");
	if (!strncmp(kind, "as_sym_", 7)) {
		name = json_get(is, "as_name");
		v = as_number(b, v, type_of_output(b, output));
	}
	if (name && !strcmp(kind, "as_tensor"))
		note_rank(b, json_text_of(&b->exported->doc, name, "name"), v);
	if (name)
		build_name(b, json_text_of(&b->exported->doc, name, "name"), v);
}

void
node_bind(Builder *b, const Json *outputs, Value *const *results, int n)
{
	int i = 0;

	for JSON_EACH(o, outputs) {
		if (!json_get(o, "as_none")) {
			if (i >= n)
				fail(b->cx, b->at, "the node has %d results, the operator %d", json_count(outputs), n);
			bind_one(b, o, results[i]);
		}
		i++;
	}
}

/* ---- one node -------------------------------------------------------------------------------------------------- */

static void
python_node(Builder *b, const char *target, const Json *node)
{
	NamedValues args = { 0 };
	Value *v;

	read_arguments(b, NULL, json_first(json_get(node, "inputs")), &args);
	v = call_named(b, target, args.at, args.n);
	node_bind(b, json_get(node, "outputs"), &v, 1);
}

/* Reads a tensor that is a part of a Python tensor subclass: an attribute of the object that replaces it. */
static void
part_node(Builder *b, const Json *node)
{
	NamedValues args = { 0 };
	IValue name;
	Value *v;

	read_arguments(b, NULL, json_first(json_get(node, "inputs")), &args);
	if (args.n != 2 || !value_constant(args.at[1].v, &name) || name.tag != RT_STR)
		fail(b->cx, b->at, "the node does not name the part of the tensor that it reads");
	v = build_part(b, args.at[0].v, name.u.str->s);
	node_bind(b, json_get(node, "outputs"), &v, 1);
}

static bool
is_python(const char *target)
{
	for (int i = 0; i < NPYTHON; i++)
		if (!strcmp(python[i].target, target))
			return true;
	return false;
}

bool
node_build(Builder *b, const Json *node)
{
	static const char higher[] = "torch.ops.higher_order.";
	const char *target = json_text(&b->exported->doc, node, "target");
	const Json *outputs = json_get(node, "outputs");
	Values results = { 0 };

	b->at = text_range(b->exported, node);
	build_work(b);
	if (is_skipped(target))
		return true;
	if (!strncmp(target, higher, sizeof higher - 1))
		return false;
	if (!strcmp(target, "torch.ops.export.access_subclass_inner_tensor.default")) {
		part_node(b, node);
	} else if (is_python(target)) {
		python_node(b, target, node);
	} else if (!strncmp(target, "torch.ops.", 10)) {
		operator_call(b, target, json_first(json_get(node, "inputs")), &results, outputs);
		node_bind(b, outputs, results.at, results.n);
	} else {
		pt2_lacks(b, "Kiln lacks the Python function %s", target);
	}
	return true;
}
