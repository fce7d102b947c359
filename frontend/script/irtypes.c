/*
 * Checks the types of a graph that was read as text, before it may run.
 *
 * The types of a node's results follow from its inputs. Types written in the text must agree. Kernels rely on the types
 * of their arguments, so a graph with a wrong type could read memory out of bounds. Dtypes, sizes and strides of the
 * text are dropped, since they cannot be checked here. Casts are checked when they run. The text declares no classes,
 * so there are no objects.
 */
#include "../frontend.h"

#include <string.h>

typedef struct Types {
	Cx    *cx;
	Graph *graph;
	const char *path;
} Types;

static void check_block(Types *, Block *);

RT_NORETURN static void
refuse(const Types *t, const Node *n, const char *why)
{
	fail(t->cx, n->at, "%s: %s %s", t->path, n->kind->name, why);
}

static void
require(const Types *t, const Node *n, bool holds, const char *why)
{
	if (!holds)
		refuse(t, n, why);
}

static const Type *
input_type(const Types *t, const Node *n, int i)
{
	require(t, n, i < n->nin, "has too few inputs");
	return n->in[i]->type;
}

/* Checks that output i, which is of type `what`, has a written type that covers it. Keeps only the written type. */
static void
check_result(const Types *t, Node *n, int i, const Type *what)
{
	const Type *written = type_unshaped(t->cx, n->out[i]->type);

	if (!type_is_subtype(t->cx, type_unshaped(t->cx, what), written))
		fail(t->cx, n->at, "%s: result %d of %s is of type %s and not %s", t->path, i, n->kind->name,
		     type_python(t->cx, what), type_python(t->cx, written));
	n->out[i]->type = written;
}

static void
check_input(const Types *t, const Node *n, int i, const Type *what)
{
	if (!type_is_subtype(t->cx, input_type(t, n, i), what))
		fail(t->cx, n->at, "%s: input %d of %s is of type %s and not %s", t->path, i, n->kind->name,
		     type_python(t->cx, input_type(t, n, i)), type_python(t->cx, what));
}

static void
take_as_written(const Types *t, Value *v)
{
	v->type = type_unshaped(t->cx, v->type);
}

/* ---- kinds that are no operators --------------------------------------------------------------------------------- */

static void
check_constant(Types *t, Node *n)
{
	const Attr *a = node_attr(n, "value");

	require(t, n, n->nout == 1 && !n->nin, "must have one result and no input");
	if (n->out[0]->type->kind == TYPE_FUNCTION || node_attr(n, "name"))
		/* Value of an If's other block, whose condition is a check. A call of it fails at run time. */
		n->out[0]->type = &rt_type_any;
	else
		check_result(t, n, 0, a && a->kind == ATTR_VALUE ? type_of_value(t->cx, a->v) : &rt_type_none);
}

static void
check_if(Types *t, Node *n)
{
	require(t, n, n->nin == 1 && n->nsub == 2, "must have a condition and two blocks");
	check_input(t, n, 0, &rt_type_bool);
	for (int b = 0; b < 2; b++) {
		require(t, n, !n->sub[b]->param->nout && n->sub[b]->ret->nin == n->nout,
			"must have as many results as each of its blocks, which take no inputs");
		check_block(t, n->sub[b]);
		for (int i = 0; i < n->nout; i++)
			check_result(t, n, i, n->sub[b]->ret->in[i]->type);
	}
}

static void
check_loop(Types *t, Node *n)
{
	Block *b = n->nsub == 1 ? n->sub[0] : NULL;

	require(t, n, b && n->nin == n->nout + 2 && b->param->nout == n->nout + 1 && b->ret->nin == n->nout + 1,
		"must have a count, a condition, one block, and matching carried values");
	check_input(t, n, 0, &rt_type_int);
	check_input(t, n, 1, &rt_type_bool);
	check_result(t, b->param, 0, &rt_type_int);
	for (int i = 0; i < n->nout; i++)
		check_result(t, b->param, i + 1, n->in[i + 2]->type);
	check_block(t, b);
	check_input(t, b->ret, 0, &rt_type_bool);
	for (int i = 0; i < n->nout; i++) {
		check_input(t, b->ret, i + 1, b->param->out[i + 1]->type);
		check_result(t, n, i, b->param->out[i + 1]->type);
	}
}

static const Type *
tuple_of(const Types *t, const Node *n, int nelem)
{
	const Type *tuple = input_type(t, n, 0);

	require(t, n, tuple->kind == TYPE_TUPLE && nelem <= tuple->n,
		"must have a tuple with enough elements as input");
	return tuple;
}

static void
check_tuple(Types *t, Node *n)
{
	const Type *written = n->nout == 1 ? type_unshaped(t->cx, n->out[0]->type) : NULL;

	require(t, n, written && written->kind == TYPE_TUPLE && written->n == n->nin,
		"must return a tuple with one element for each input");
	for (int i = 0; i < n->nin; i++)
		check_input(t, n, i, written->of[i]);
	n->out[0]->type = written;
}

static void
check_tuple_unpack(Types *t, Node *n)
{
	const Type *tuple = tuple_of(t, n, n->nout);

	require(t, n, tuple->n == n->nout, "must have one result for each element of the tuple");
	for (int i = 0; i < n->nout; i++)
		check_result(t, n, i, tuple->of[i]);
}

static void
check_tuple_index(Types *t, Node *n)
{
	const Type *tuple = tuple_of(t, n, 1);
	int64_t at = 0;

	require(t, n, n->nout == 1 && n->nin == 2 && value_int(n->in[1], &at) && at >= -tuple->n && at < tuple->n,
		"must have a constant index within the tuple");
	check_result(t, n, 0, tuple->of[at < 0 ? at + tuple->n : at]);
}

static void
check_list(Types *t, Node *n)
{
	const Type *written = n->nout == 1 ? type_unshaped(t->cx, n->out[0]->type) : NULL;

	require(t, n, written && written->kind == TYPE_LIST, "must return a list");
	for (int i = 0; i < n->nin; i++)
		check_input(t, n, i, written->of[0]);
	n->out[0]->type = written;
}

static void
check_list_unpack(Types *t, Node *n)
{
	const Type *list = input_type(t, n, 0);

	require(t, n, list->kind == TYPE_LIST, "must have a list as input");
	for (int i = 0; i < n->nout; i++)
		check_result(t, n, i, list->of[0]);
}

static void
check_dict(Types *t, Node *n)
{
	const Type *written = n->nout == 1 ? type_unshaped(t->cx, n->out[0]->type) : NULL;

	require(t, n, written && written->kind == TYPE_DICT && n->nin % 2 == 0,
		"must return a dict, with a value for each key as inputs");
	for (int i = 0; i < n->nin; i++)
		check_input(t, n, i, written->of[i % 2]);
	n->out[0]->type = written;
}

static void
check_isinstance(Types *t, Node *n)
{
	require(t, n, n->nin == 1 && n->nout == 1 && node_attr(n, "types"),
		"must have one input, one result and the attribute types");
	check_result(t, n, 0, &rt_type_bool);
}

/* Accepts any written type. RT_DO_CAST checks it at run time, and an uninitialized value is an empty value of its
 * type. */
static void
check_cast(Types *t, Node *n)
{
	require(t, n, n->nin <= 1 && n->nout == 1, "must have one result and at most one input");
	take_as_written(t, n->out[0]);
}

static void
check_raise(Types *t, Node *n)
{
	check_input(t, n, 0, &rt_type_str);
	if (n->nin > 1)
		check_input(t, n, 1, type_optional(t->cx, &rt_type_str));
}

/* Checks a node that returns its inputs, and possibly a bool that tells whether they have the expected types. */
static void
check_same(Types *t, Node *n)
{
	require(t, n, n->nout == n->nin || n->nout == n->nin + 1,
		"must have one result for each input, and at most one more");
	for (int i = 0; i < n->nout; i++)
		check_result(t, n, i, i < n->nin ? n->in[i]->type : &rt_type_bool);
}

static void
check_tensors(Types *t, Node *n)
{
	for (int i = 0; i < n->nin; i++)
		check_input(t, n, i, &rt_type_tensor);
	for (int i = 0; i < n->nout; i++)
		check_result(t, n, i, &rt_type_tensor);
}

static void
check_object(Types *t, Node *n)
{
	refuse(t, n, "wants an object, and the text of a graph has none");
}

/* Checks a call of a value that is no function. The call fails at run time. */
static void
check_call(Types *t, Node *n)
{
	require(t, n, n->nin && n->in[0]->type->kind == TYPE_ANY && node_is(n->in[0]->node, prim_Constant) &&
		!node_attr(n, "function"), "calls a function, and the text of a graph declares none");
	for (int i = 0; i < n->nout; i++)
		take_as_written(t, n->out[i]);
}

static void
check_piece(Types *t, Node *n, Graph *piece)
{
	const bool task = node_is(n, prim_fork) || node_is(n, prim_awaitable);
	Block *top = piece->top;

	require(t, n, top->param->nout == n->nin &&
		(task ? n->nout == 1 && top->ret->nin == 1 : n->nout <= top->ret->nin),
		"must have as many inputs and results as its subgraph");
	for (int i = 0; i < n->nin; i++)
		check_result(t, top->param, i, n->in[i]->type);
	check_block(t, top);
	for (int i = 0; i < n->nout; i++) {
		const Type *one = top->ret->in[i]->type;

		check_result(t, n, i, !task ? one : node_is(n, prim_fork) ? type_future(t->cx, one) :
		      type_await(t->cx, one));
	}
}

static void
check_wait(Types *t, Node *n)
{
	const Type *future = input_type(t, n, 0);

	require(t, n, n->nout == 1 && (future->kind == TYPE_FUTURE || future->kind == TYPE_AWAIT),
		"must wait for a Future or an Await, and have one result");
	check_result(t, n, 0, future->of[0]);
}

/* ---- all nodes --------------------------------------------------------------------------------------------------- */

static const struct { Symbol kind; void (*check)(Types *, Node *); } kinds[] = {
	{ prim_Constant, check_constant }, { prim_If, check_if }, { prim_Loop, check_loop },
	{ prim_TupleConstruct, check_tuple }, { prim_TupleUnpack, check_tuple_unpack },
	{ prim_TupleIndex, check_tuple_index }, { prim_ListConstruct, check_list },
	{ prim_ListUnpack, check_list_unpack }, { prim_DictConstruct, check_dict },
	{ prim_isinstance, check_isinstance }, { prim_unchecked_cast, check_cast },
	{ prim_unchecked_unwrap_optional, check_cast }, { prim_Uninitialized, check_cast },
	{ prim_RaiseException, check_raise }, { aten_wait, check_wait }, { prim_awaitable_wait, check_wait },
	{ prim_RequiresGradCheck, check_same }, { prim_TypeCheck, check_same }, { prim_profile, check_same },
	{ prim_profile_ivalue, check_same }, { prim_Guard, check_same }, { prim_ConstantChunk, check_tensors },
	{ prim_FusedConcat, check_tensors }, { prim_MMTreeReduce, check_tensors },
	{ prim_MMBatchSide, check_tensors }, { prim_CallFunction, check_call },
	{ prim_CallMethod, check_object }, { prim_CreateObject, check_object }, { prim_GetAttr, check_object },
	{ prim_SetAttr, check_object }, { prim_Enter, check_object }, { prim_Exit, check_object },
};

/* Selects the overload again, since the types of its inputs may have changed. */
static void
check_row(Types *t, Node *n)
{
	const Type **rets = new(t->cx->arena, const Type *, n->nout + 1);

	n->op = op_of_inputs(t->cx, n->kind->name, n->in, n->nin, n->nout);
	if (!n->op || !op_result_types(t->cx, n->op, n->in, n->nin, rets, n->nout))
		refuse(t, n, "has no overload for inputs of these types with this number of results");
	for (int i = 0; i < n->nout; i++)
		check_result(t, n, i, rets[i]);
}

static void
check_node(Types *t, Node *n)
{
	const Attr *piece = node_attr(n, "Subgraph");

	require(t, n, !n->nsub || node_is(n, prim_If) || node_is(n, prim_Loop), "has no blocks");
	if (piece && piece->kind == ATTR_GRAPH) {
		check_piece(t, n, piece->g);
		return;
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (node_is(n, kinds[i].kind)) {
			kinds[i].check(t, n);
			return;
		}
	check_row(t, n);
}

static void
check_block(Types *t, Block *b)
{
	cx_enter(t->cx, b->ret->at);
	for (Node *n = b->ret->next; n != b->ret; n = n->next)
		check_node(t, n);
	cx_leave(t->cx);
}

void
ir_check_types(Cx *cx, Graph *g, const char *path)
{
	Types t = { cx, g, path };

	for (int i = 0; i < g->top->param->nout; i++)
		take_as_written(&t, g->top->param->out[i]);
	check_block(&t, g->top);
}
