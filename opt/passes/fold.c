/*
 * Folding: runs a node's operator on constants at compile time.
 *
 * The kernel first runs without data, which computes the sizes of its results.  Only then it runs with data, with
 * limits of memory, steps and time.  A node that fails stays in the graph: it must raise when the program runs, and
 * there may be an `if` before it.
 */
#include "../opt.h"

#include <string.h>

enum {
	FOLD_BYTES = 16 << 20,       /* largest size of one node's results in bytes, */
	FOLD_TIMES = 8, /* or this multiple of the size of its arguments, since integers may become floats */
	FOLD_MEMORY = 64 << 20,      /* largest further memory in bytes that the kernel may use */
	FOLD_STEPS = 100000,         /* largest number of instructions of an operator's body that may run */
	FOLD_NS = 1000000000,
	FOLD_ARGS = 64,
};

static bool
all_may_be(const IValue *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (!constant_may_be(v[i]))
			return false;
	return true;
}

bool
constant_may_be(IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_NONE: case RT_INT: case RT_DOUBLE: case RT_BOOL: case RT_DEVICE: case RT_STR: case RT_COMPLEX:
	case RT_ENUM:
		return true;
	case RT_TENSOR:
		return v.u.t->storage && v.u.t->storage->kind != RT_META;
	case RT_LIST:
		return all_may_be(v.u.list->v, v.u.list->n);
	case RT_TUPLE:
		return all_may_be(v.u.tuple->v, v.u.tuple->n);
	case RT_OBJECT:
		return unit_is_builtin_class(v.u.obj->cls->name) && all_may_be(v.u.obj->slot, v.u.obj->cls->nslot);
	case RT_DICT:
		for (int64_t i = 0; i < v.u.dict->used; i++)
			if (!v.u.dict->at[i].dead && !constant_may_be(v.u.dict->at[i].value))
				return false;
		return true;
	default:
		return false;
	}
}

/* ---- budgets --------------------------------------------------------------------------------------- */

static int64_t
bytes_of(IValue v)
{
	int64_t sum = 0;

	if (v.tag == RT_TENSOR)
		return rt_numel(v.u.t) * rt_dtypes[v.u.t->dtype].bytes;
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		sum += bytes_of(v.u.list->v[i]);
	for (int64_t i = 0; v.tag == RT_TUPLE && i < v.u.tuple->n; i++)
		sum += bytes_of(v.u.tuple->v[i]);
	return sum;
}

static void
release(IValue *v, int n)
{
	for (int i = 0; i < n; i++)
		rt_release(v[i]);
}

/* Largest size of results in bytes, which grows with the tensor arguments.  An expanded view counts with the size of
 * its storage. */
static int64_t
room_for(const IValue *args, int n)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		if (args[i].tag == RT_TENSOR && args[i].u.t->storage)
			sum += bytes_of(args[i]) < args[i].u.t->storage->bytes ? bytes_of(args[i]) :
			       args[i].u.t->storage->bytes;
	return FOLD_TIMES * sum > FOLD_BYTES ? FOLD_TIMES * sum : FOLD_BYTES;
}

/* Are the results small?  True if the kernel cannot compute their sizes without data.  Then only the limit of memory
 * holds. */
static bool
is_small(RtCx *rt, RtKernel *kernel, const IValue *args, int nout, int64_t room)
{
	IValue *out = rt_scratch(rt, (int64_t)sizeof *out * (nout + 1));
	int64_t bytes = 0;
	int status;

	if (!out)
		return false;
	rt->meta = true;
	status = rt_call_kernel(rt, kernel, args, out, nout);
	rt->meta = false;
	if (status) {
		rt_clear_error(rt);
		return status == RT_UNKNOWN_META;
	}
	for (int i = 0; i < nout; i++)
		bytes += bytes_of(out[i]);
	release(out, nout);
	return bytes <= room;
}

static int
run_limited(RtCx *rt, RtKernel *kernel, const RtCode *code, const IValue *args, IValue *out, int nout)
{
	int status;

	rt->steps = FOLD_STEPS;
	rt->deadline = rt_now() + FOLD_NS;
	status = kernel ? rt_call_kernel(rt, kernel, args, out, nout) : rt_run(rt, code, args, out);
	rt->memory_limit = rt->deadline = 0;
	rt->steps = -1;
	if (status)
		rt_clear_error(rt);
	return status;
}

/* ---- operators ------------------------------------------------------------------------------------------ */

/* Runs a kernel without data.  Returns whether its results are views of arguments. */
static bool
gives_views(RtCx *rt, RtKernel *kernel, const KnownArgs *args, IValue *out, int nout)
{
	int status;

	rt->meta = true;
	status = rt_call_kernel(rt, kernel, args->v, out, nout);
	rt->meta = false;
	if (status)
		rt_clear_error(rt);
	else if (!known_are_views(args->v, args->n, out, nout))
		release(out, nout);
	else
		return true;
	return false;
}

/* Runs the kernel, or the code if kernel is null.  First creates the data that arguments lack, unless the results are
 * views of arguments. */
static int
run_filled(Cx *cx, RtKernel *kernel, const RtCode *code, const KnownArgs *args, IValue *out, int nout)
{
	const bool lack = known_lack_data(args->v, args->n);
	int status;

	if (lack && kernel && gives_views(cx_rt(cx), kernel, args, out, nout))
		return RT_OK;
	for (int i = 0; i < args->n && lack; i++)
		widened_fill_value(cx, args->v[i]);
	status = run_limited(cx_rt(cx), kernel, code, args->v, out, nout);
	if (lack)
		widened_trim(cx);
	return status;
}

/* Copies the inputs to args as the kernel expects them: inputs beyond the schema's arguments become a list.  Returns
 * the number of args.  -1 if there are too many. */
static int
gather(Cx *cx, const Node *n, const Schema *s, const IValue *in, IValue *args)
{
	const int nfixed = s->vararg ? s->nargs : n->nin;

	if (nfixed >= FOLD_ARGS)
		return -1;
	memcpy(args, in, nfixed * sizeof *args);
	if (!s->vararg)
		return nfixed;
	args[nfixed] = value_list(cx, &rt_type_any, in + nfixed, n->nin - nfixed);
	return nfixed + 1;
}

static bool
fold_op(Cx *cx, const Node *n, const IValue *in, IValue *out)
{
	const Schema *s = op_schema(cx, n->op);
	Op *body = op_body(cx, n->op);
	RtCx *rt = cx_rt(cx);
	RtMark mark = rt_scratch_mark(rt);
	IValue args[FOLD_ARGS];
	int64_t room;
	int nargs;
	bool done;

	if (body && (body != n->op || !body->function))
		return false;
	if ((!body && !n->op->kernel) || (nargs = gather(cx, n, s, in, args)) < 0)
		return false;
	room = room_for(args, nargs);
	if (!body && n->op->rule != RULE_VALUE && !is_small(rt, n->op->kernel, args, n->nout, room)) {
		rt_scratch_reset(rt, mark);
		return false;
	}
	rt->memory_limit = (rt->account ? rt->account->bytes : 0) + FOLD_MEMORY + room;
	done = !run_filled(cx, body ? NULL : n->op->kernel, body ? code_lower(cx, body->function, NULL) : NULL,
			   &(KnownArgs){ .v = args, .n = nargs }, out, n->nout);
	rt_scratch_reset(rt, mark);
	for (int i = 0; i < n->nout && done; i++)
		if (known_never(out[i])) {
			release(out, n->nout);
			return false;
		}
	return done;
}

/* ---- kinds that are no operators ------------------------------------------------------------------- */

static bool
fold_tuple(Cx *cx, const Node *n, const IValue *in, IValue *out)
{
	out[0] = value_tuple(cx, n->out[0]->type->field ? n->out[0]->type : NULL, in, n->nin);
	return true;
}

static bool
fold_list(Cx *cx, const Node *n, const IValue *in, IValue *out)
{
	if (n->out[0]->type->kind != TYPE_LIST)
		return false;
	out[0] = value_list(cx, n->out[0]->type->of[0], in, n->nin);
	return true;
}

static bool
fold_tuple_index(Cx *cx, const Node *n, const IValue *in, IValue *out)
{
	int64_t i = in[1].u.i;

	(void)cx;
	if (in[0].tag != RT_TUPLE || in[1].tag != RT_INT)
		return false;
	i += i < 0 ? in[0].u.tuple->n : 0;
	if (i < 0 || i >= in[0].u.tuple->n || n->nout != 1)
		return false;
	out[0] = rt_retain(in[0].u.tuple->v[i]);
	return true;
}

static bool
fold_unpack(Cx *cx, const Node *n, const IValue *in, IValue *out)
{
	const IValue *v = in[0].tag == RT_TUPLE ? in[0].u.tuple->v : in[0].tag == RT_LIST ? in[0].u.list->v : NULL;
	const int64_t count = in[0].tag == RT_TUPLE ? in[0].u.tuple->n : in[0].tag == RT_LIST ? in[0].u.list->n : -1;

	(void)cx;
	if (count != n->nout)
		return false;
	for (int i = 0; i < n->nout; i++)
		out[i] = rt_retain(v[i]);
	return true;
}

static bool
fold_isinstance(Cx *cx, const Node *n, const IValue *in, IValue *out)
{
	const Attr *a = node_attr(n, "types");
	bool is = false;

	(void)cx;
	for (int i = 0; i < a->ntypes; i++)
		is |= rt_isinstance(in[0], a->types[i]);
	out[0] = rt_bool(is);
	return true;
}

static bool
fold_same(Cx *cx, const Node *n, const IValue *in, IValue *out)
{
	if (!rt_may_be(in[0], type_unshaped(cx, n->out[0]->type)))
		return false;
	out[0] = rt_retain(in[0]);
	return true;
}

static const struct { Symbol kind; bool (*fold)(Cx *, const Node *, const IValue *, IValue *); } kinds[] = {
	{ prim_TupleConstruct, fold_tuple },
	{ prim_ListConstruct, fold_list },
	{ prim_TupleIndex, fold_tuple_index },
	{ prim_TupleUnpack, fold_unpack },
	{ prim_ListUnpack, fold_unpack },
	{ prim_isinstance, fold_isinstance },
	{ prim_unchecked_cast, fold_same },
};

bool
fold_node(Cx *cx, const Node *n, const IValue *in, IValue *out)
{
	for (int i = 0; i < n->nin; i++)
		if (node_attr(n->in[i]->node, "varies"))
			return false;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (node_is(n, kinds[i].kind))
			return kinds[i].fold(cx, n, in, out);
	return n->op && n->op->effect == EFFECT_PURE && fold_op(cx, n, in, out);
}
