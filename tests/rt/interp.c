/* tests/rt/interp.c - the interpreter on hand-made Code: loops, branches, calls, errors, scopes, forks
 */
#include "test.h"

const RtQuantized *const rt_quantized;         /* null, since no tensor is quantized here */

/* ---- kernels ------------------------------------------------------------------------------------------- */

static int
add(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	out[0] = rt_int(in[0].u.i + in[1].u.i);
	return RT_OK;
}

static int
less(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	out[0] = rt_bool(in[0].u.i < in[1].u.i);
	return RT_OK;
}

static int
boom(RtCx *cx, const IValue *in, IValue *out)
{
	(void)in;
	out[0] = rt_ref(RT_STR, rt_str_new(cx, "must not leak", -1));
	assert_non_null(rt_scratch(cx, 1000));
	rt_temp(cx, rt_tensor_new(cx, RT_f32, 0, 0));
	return rt_raise_as(cx, "IndexError", "boom %d", 7);
}

static int
append(RtCx *cx, const IValue *in, IValue *out)
{
	(void)out;
	return rt_list_push(cx, in[0].u.list, rt_retain(in[1]));
}

static int
draws(RtCx *cx, const IValue *in, IValue *out)
{
	uint64_t sum = 0;

	for (int64_t i = 0; i < in[0].u.i; i++)
		sum += rt_random32(cx->gen);
	out[0] = rt_int((int64_t)sum);
	return RT_OK;
}

static RtKernel *const kernel[] = { add, less, boom, append, 0, draws };
static const uint32_t kernel_use[6];
static const char *const kernel_name[] = { "aten::add", "aten::lt", "test::boom", "aten::append", "aten::none",
	"test::draws" };
enum { ADD, LESS, BOOM, APPEND, NONE_SUCH, DRAWS };

static const RtPlaceName place[] = {
	{ 0 },
	{ 1, 19, 39, 4, 12, 5, 2, 0 },
	{ 59, 19, 66, 11, 16, 6, 0, 0 },
	{ 1, 91, 93, 9, 5, 4, 0, 0 },
};
static const char text[] = "\0code/__torch__.py\0forward\0           \0    return (s).g(x)\0net.py\0"
	"        return self.g(x)\0g\0"
	"    boom = x";

#define CODE(name_, nreg_, narg_, nresult_) \
	.name = name_, .insn = insn, .operand = operand, .kernel = kernel, .kernel_name = kernel_name, \
	.kernel_use = kernel_use, \
	.place = place, .text = text, \
	.ninsn = sizeof insn / sizeof *insn, .nreg = nreg_, .narg = narg_, .nresult = nresult_, \
	.nkernel = 6, .nconstant = 9, .ncallee = 9, .ntype = 9, .nstring = 9, .nplace_name = 4

/* ---- tests ----------------------------------------------------------------------------------------------- */

/* i = 0; s = 0; while i < n: s = s + i; i = i + 1   as prim::Loop(n, True) */
static void
loop(void **state)
{
	static const IValue constant[] = { { RT_INT, { 0 } }, { RT_BOOL, { 1 } } };
	static const uint32_t operand[] = { 1, 2, 3, /*3*/ 1, 0, 2, /*6*/ 3, 1, 3, /*9*/ 1, 1, /*11*/ 3 };
	static const RtInsn insn[] = {
		{ RT_DO_CONSTANT, 0, 0, 1, 0, 0 },
		{ RT_DO_CONSTANT, 0, 0, 1, 1, 1 },
		{ RT_DO_CONSTANT, 0, 0, 1, 2, 0 },
		{ RT_DO_LOOP, 0, 3, 0, 3, 6 },
		{ RT_DO_KERNEL, 0, 2, 1, 6, ADD },
		{ RT_DO_NEXT, 0, 1, 1, 9, 3 },
		{ RT_DO_RETURN, 0, 1, 0, 11, 0 },
	};
	static const IValue never[] = { { RT_INT, { 0 } }, { RT_BOOL, { 0 } } };
	static const RtCode code = { CODE("sum", 4, 1, 1), .constant = constant },
			    none = { CODE("sum", 4, 1, 1), .constant = never };
	RtCx *cx = *state;
	IValue arg = rt_int(100), out;

	assert_int_equal(rt_run(cx, &code, &arg, &out), RT_OK);
	assert_int_equal(out.u.i, 4950);
	cx->steps = 20;
	assert_int_equal(rt_run(cx, &code, &arg, &out), RT_ERROR);
	assert_string_equal(cx->message, "step limit reached");
	assert_int_equal(rt_run(cx, &none, &arg, &out), RT_ERROR);          /* no memory is left over */
	cx->steps = 20;
	assert_int_equal(rt_run(cx, &none, &arg, &out), RT_OK);
	assert_int_equal(out.u.i, 0);                                       /* the loop's condition is false at first */
	cx->steps = -1;
}

static const uint32_t fib_operand[] = { 0, 1, 2, /*3*/ 2, /*4*/ 0, /*5*/ 0, 3, 4, /*8*/ 4, 5, /*10*/ 0, 6, 7,
	/*13*/ 7 | RT_LAST, 8, /*15*/ 5, 8, 9,
	/*18*/ 9 };
static const IValue fib_constant[] = { { RT_INT, { 2 } }, { RT_INT, { -1 } }, { RT_INT, { -2 } } };
extern const RtCode *const fib_callee[];
static const RtInsn fib_insn[] = {
	{ RT_DO_CONSTANT, 0, 0, 1, 1, 0 },
	{ RT_DO_KERNEL, 0, 2, 1, 0, LESS },
	{ RT_DO_BRANCH, 0, 1, 0, 3, 4 },
	{ RT_DO_RETURN, 0, 1, 0, 4, 0 },
	{ RT_DO_CONSTANT, 0, 0, 1, 6, 1 },
	{ RT_DO_KERNEL, 0, 2, 1, 5, ADD },
	{ RT_DO_CALL, 0, 1, 1, 8, 0 },
	{ RT_DO_CONSTANT, 0, 0, 1, 11, 2 },
	{ RT_DO_KERNEL, 0, 2, 1, 10, ADD },
	{ RT_DO_CALL, 0, 1, 1, 13, 0 },
	{ RT_DO_KERNEL, 0, 2, 1, 15, ADD },
	{ RT_DO_RETURN, 0, 1, 0, 18, 0 },
};
static const RtCode fib = { .name = "fib", .insn = fib_insn, .operand = fib_operand, .kernel = kernel,
	.nkernel = 6, .ncallee = 1, .nconstant = 9, .kernel_name = kernel_name, .kernel_use = kernel_use,
	.constant = fib_constant, .callee = fib_callee, .ninsn = 12, .nreg = 10, .narg = 1,
	.nresult = 1 };
const RtCode *const fib_callee[] = { &fib };

static void
calls(void **state)
{
	RtCx *cx = *state;
	IValue arg = rt_int(15), out;

	assert_int_equal(rt_run(cx, &fib, &arg, &out), RT_OK);
	assert_int_equal(out.u.i, 610);
	assert_int_equal(cx->depth, 0);
}

/* f(x) calls itself endlessly */
static void
recursion(void **state)
{
	static const RtCode *callee[1];
	static const uint32_t operand[] = { 0, 1 };
	static const RtInsn insn[] = {
		{ RT_DO_CALL, 1, 1, 1, 0, 0 },
		{ RT_DO_RETURN, 0, 1, 0, 1, 0 },
	};
	static const RtCode code = { CODE("f", 2, 1, 1), .callee = callee };
	RtCx *cx = *state;
	IValue arg = rt_int(1), out;

	callee[0] = &code;
	assert_int_equal(rt_run(cx, &code, &arg, &out), RT_ERROR);
	assert_string_equal(cx->message, "maximum recursion depth exceeded");
	assert_string_equal(cx->cls, "RecursionError");
}

/* an error two calls deep has a traceback, and nothing leaks */
static void
traceback(void **state)
{
	static const uint32_t operand[] = { 0, 1, 1, 2 };
	static const RtInsn insn[] = {
		{ RT_DO_NEW_LIST, 0, 1, 1, 0, 0 },
		{ RT_DO_KERNEL, 3, 1, 1, 2, BOOM },
		{ RT_DO_RETURN, 0, 1, 0, 3, 0 },
	};
	static const RtType *const type[] = { &rt_type_int };
	static const RtCode inner = { CODE("g", 3, 1, 1), .type = type };
	static const RtCode *const callee[] = { &inner };
	static const uint32_t operand2[] = { 0, 1 };
	static const RtInsn insn2[] = {
		{ RT_DO_CALL, 1, 1, 1, 0, 0 },
		{ RT_DO_RETURN, 0, 1, 0, 1, 0 },
	};
	static const RtCode outer = { .name = "f", .insn = insn2, .operand = operand2, .place = place, .text = text,
		.ninsn = 2,
		.nreg = 2, .narg = 1, .nresult = 1, .callee = callee, .ncallee = 1 };
	RtCx *cx = *state;
	IValue arg = rt_int(1), out;

	assert_int_equal(rt_run(cx, &outer, &arg, &out), RT_ERROR);
	assert_int_equal(out.tag, RT_NONE);
	assert_string_equal(cx->message, "boom 7");
	assert_string_equal(cx->cls, "IndexError");
	assert_string_equal(cx->trace,
		"Traceback of TorchScript, serialized code (most recent call last):\n"
		"  File \"code/__torch__.py\", line 4, in forward\n"
		"    return (s).g(x)\n"
		"           ~~~~~ <--- HERE\n"
		"  File \"code/__torch__.py\", line 9, in g\n"
		"    boom = x\n"
		"    ~~~~ <--- HERE\n"
		"\n"
		"Traceback of TorchScript, original code (most recent call last):\n"
		"  File \"net.py\", line 11, in forward\n"
		"        return self.g(x)\n"
		"               ~~~~~~ <--- HERE\n");
}

/* with-scopes: the handler runs, then the error propagates */
static void
scopes(void **state)
{
	static const IValue constant[] = { { RT_INT, { 1 } }, { RT_INT, { 2 } } };
	static const uint32_t operand[] = { 0, 1, /*2*/ 0, 1, 2, /*5*/ 0 };
	static const RtInsn insn[] = {
		{ RT_DO_ENTER, 0, 1, 0, 0, 5 },
		{ RT_DO_ENTER, 0, 1, 0, 0, 8 },
		{ RT_DO_KERNEL, 0, 0, 1, 4, BOOM },
		{ RT_DO_EXIT, 0, 0, 0, 0, 0 },
		{ RT_DO_RETURN, 0, 1, 0, 5, 0 },
		{ RT_DO_CONSTANT, 0, 0, 1, 1, 1 },       /* outer handler */
		{ RT_DO_KERNEL, 0, 2, 0, 2, APPEND },
		{ RT_DO_RERAISE, 0, 0, 0, 0, 0 },
		{ RT_DO_CONSTANT, 0, 0, 1, 1, 0 },       /* inner handler */
		{ RT_DO_KERNEL, 0, 2, 0, 2, APPEND },
		{ RT_DO_RERAISE, 0, 0, 0, 0, 0 },
	};
	static const RtCode code = { CODE("f", 3, 1, 1), .constant = constant };
	RtCx *cx = *state;
	RtList *list = rt_list_new(cx, &rt_type_int, 0);
	IValue arg = rt_ref(RT_LIST, list), out;

	assert_int_equal(rt_run(cx, &code, &arg, &out), RT_ERROR);
	assert_string_equal(cx->message, "boom 7");
	assert_int_equal(list->n, 2);
	assert_int_equal(list->v[0].u.i, 1);
	assert_int_equal(list->v[1].u.i, 2);
	assert_int_equal(list->h.refs, 1);
	rt_release(arg);
}

/* Any number of with-scopes: each one's handler runs. */
static void
many_scopes(void **state)
{
	enum { N = 100 };
	static const IValue constant[] = { { RT_INT, { 1 } } };
	static const uint32_t operand[] = { 0, 1, /*2*/ 0, 1, 2 };
	static RtInsn insn[N + 4] = {
		[N] = { RT_DO_KERNEL, 0, 0, 1, 4, BOOM }, { RT_DO_CONSTANT, 0, 0, 1, 1, 0 },
		{ RT_DO_KERNEL, 0, 2, 0, 2, APPEND },
		{ RT_DO_RERAISE, 0, 0, 0, 0, 0 },
	};
	static const RtCode code = { CODE("f", 3, 1, 1), .constant = constant };
	RtCx *cx = *state;
	RtList *list = rt_list_new(cx, &rt_type_int, 0);
	IValue arg = rt_ref(RT_LIST, list), out;

	for (int i = 0; i < N; i++)
		insn[i] = (RtInsn){ RT_DO_ENTER, 0, 1, 0, 0, N + 1 };
	assert_int_equal(rt_run(cx, &code, &arg, &out), RT_ERROR);
	assert_string_equal(cx->message, "boom 7");
	assert_int_equal(list->n, N);
	rt_release(arg);
}

/* return [x, x], (x, y), and the parallel move of two registers */
static void
containers(void **state)
{
	static const uint32_t operand[] = { 0, 1, /*2*/ 1, 0, /*4*/ 0, 0 | RT_LAST, /*6*/ 2, /*7*/ 2 | RT_LAST,
		1 | RT_LAST, /*9*/ 3,
		/*10*/ 4, 5, /*12*/ 4, 5 };
	static const RtInsn insn[] = {
		{ RT_DO_MOVE, 0, 2, 2, 0, 0 },
		{ RT_DO_NEW_LIST, 0, 2, 1, 4, 0 },
		{ RT_DO_TUPLE, 0, 2, 1, 7, 0 },
		{ RT_DO_UNPACK, 0, 1, 2, 9, 0 },
		{ RT_DO_RETURN, 0, 2, 0, 12, 0 },
	};
	static const RtType *const type[] = { &rt_type_str };
	static const RtCode code = { CODE("f", 6, 2, 2), .type = type };
	RtCx *cx = *state;
	RtStr *a = rt_str_new(cx, "a", -1), *b = rt_str_new(cx, "b", -1);
	IValue arg[] = { rt_ref(RT_STR, a), rt_ref(RT_STR, b) }, out[2];

	assert_int_equal(rt_run(cx, &code, arg, out), RT_OK);
	assert_int_equal(out[0].tag, RT_LIST);
	assert_ptr_equal(out[0].u.list->v[0].u.str, b);
	assert_ptr_equal(out[0].u.list->v[1].u.str, b);
	assert_ptr_equal(out[1].u.str, a);
	rt_release(out[0]);
	rt_release(out[1]);
	assert_int_equal(a->h.refs, 1);
	assert_int_equal(b->h.refs, 1);
	rt_release(arg[0]);
	rt_release(arg[1]);
}

/* Forks fib(n) 40 times and waits for the tasks in turn, on no and on three threads. */
static void
forks(void **state)
{
	static const uint32_t operand[] = { 0, 1, 2 };
	static const RtInsn insn[] = {
		{ RT_DO_FORK, 0, 1, 1, 0, 0 },
		{ RT_DO_WAIT, 0, 1, 1, 1, 0 },
		{ RT_DO_RETURN, 0, 1, 0, 2, 0 },
	};
	static const RtType *const type[] = { &rt_type_int };
	static const RtCode code = { CODE("f", 3, 1, 1), .callee = fib_callee, .type = type };
	RtCx *cx = *state;
	IValue arg = rt_int(12), out, future[40];

	for (int threads = 1; threads <= 3; threads += 2) {
		assert_int_equal(rt_threads(cx, threads), RT_OK);
		assert_int_equal(rt_run(cx, &code, &arg, &out), RT_OK);
		assert_int_equal(out.u.i, 144);
		for (int i = 0; i < 40; i++)
			assert_int_equal(rt_fork(cx, &code, &arg, 1, &future[i]), RT_OK);
		for (int i = 0; i < 39; i++) {
			assert_int_equal(rt_wait(cx, future[i].u.fut, &out), RT_OK);
			assert_int_equal(out.u.i, 144);
			rt_release(future[i]);
		}
		rt_release(future[39]);                 /* this task was never waited for */
		rt_drain(cx);
	}
	assert_int_equal(rt_threads(cx, 1), RT_OK);
}

/* Forked calls draw the same random numbers as one call would, each number once. */
static void
fork_draws(void **state)
{
	enum { FORKS = 50, EACH = 20000 };
	static const uint32_t operand[] = { 0, 1 };
	static const RtInsn insn[] = {
		{ RT_DO_KERNEL, 0, 1, 1, 0, DRAWS },
		{ RT_DO_RETURN, 0, 1, 0, 1, 0 },
	};
	static const RtCode code = { CODE("d", 2, 1, 1), 0 };
	RtCx *cx = *state;
	RtGenerator *gen = rt_generator_new(cx, 5);
	IValue arg = rt_int(EACH), out, future[FORKS];
	uint64_t sum = 0;

	rt_generator_seed(cx->gen, 5);
	assert_int_equal(rt_threads(cx, 3), RT_OK);
	for (int i = 0; i < FORKS; i++)
		assert_int_equal(rt_fork(cx, &code, &arg, 1, &future[i]), RT_OK);
	for (int i = 0; i < FORKS; i++) {
		assert_int_equal(rt_wait(cx, future[i].u.fut, &out), RT_OK);
		sum -= (uint64_t)out.u.i;
		rt_release(future[i]);
	}
	for (int i = 0; i < FORKS * EACH; i++)
		sum += rt_random32(gen);
	assert_true(sum == 0);
	rt_release(rt_ref(RT_GENERATOR, gen));
	assert_int_equal(rt_threads(cx, 1), RT_OK);
}

static void
fork_error(void **state)
{
	static const uint32_t operand[] = { 0, 1 };
	static const RtInsn insn[] = {
		{ RT_DO_KERNEL, 3, 1, 1, 0, BOOM },
		{ RT_DO_RETURN, 0, 1, 0, 1, 0 },
	};
	static const RtCode code = { CODE("g", 2, 1, 1), 0 };
	RtCx *cx = *state;
	IValue arg = rt_int(1), f, out;

	for (int threads = 1; threads <= 2; threads++) {
		assert_int_equal(rt_threads(cx, threads), RT_OK);
		assert_int_equal(rt_fork(cx, &code, &arg, 1, &f), RT_OK);
		assert_int_equal(rt_wait(cx, f.u.fut, &out), RT_ERROR);
		assert_string_equal(cx->message, "boom 7");
		assert_string_equal(cx->cls, "IndexError");
		assert_int_equal(cx->nvisit, 1);
		rt_release(f);
	}
	assert_int_equal(rt_threads(cx, 1), RT_OK);
}

static void
lacking(void **state)
{
	static const uint32_t operand[] = { 0, 0 };
	static const RtInsn insn[] = { { RT_DO_KERNEL, 0, 1, 1, 0, NONE_SUCH } };
	static const RtCode code = { CODE("g", 2, 1, 1), 0 };
	RtCx *cx = *state;
	IValue arg = rt_int(1), out;

	assert_int_equal(rt_run(cx, &code, &arg, &out), RT_LACKS);
	assert_string_equal(cx->message, "operator aten::none has no kernel");
}

static int
attribute(RtCx *cx, IValue object, int i, IValue *out)
{
	return rt_body_get(cx, (RtWhat){ .n = i }, &object, 1, out, 1);
}

/* Reads an attribute past the last one and one that is not set, and calls a method that no class has. */
static void
attributes(void **state)
{
	static const char *slot[] = { "a", "b" };
	static const RtType *slot_type[] = { &rt_type_int, &rt_type_int };
	static RtClass cls = { .name = "M", .nslot = 2, .slot = slot, .slot_type = slot_type };
	static const uint32_t operand[] = { 0, 1 };
	RtCx *cx = *state;
	RtObject *o = rt_object_new(cx, &cls);
	IValue object = rt_ref(RT_OBJECT, o), args[2] = { object, rt_int(7) }, out = rt_none();

	for (uint32_t at = 0; at < 4; at++) {
		const RtInsn insn[] = { { RT_DO_SET_ATTR, 0, 2, 0, 0, at }, { RT_DO_RETURN, 0, 0, 0, 0, 0 } };
		const RtCode code = { CODE("set", 2, 2, 0) };

		assert_int_equal(attribute(cx, object, (int)at, &out), RT_ERROR);
		assert_string_equal(cx->message, at < 2 ? (at ? "attribute 'b' of M is read before it is set" :
			"attribute 'a' of M is read before it is set") :
			at == 2 ? "expected an object with attribute number 2, but got a value of type M" :
			"expected an object with attribute number 3, but got a value of type M");
		assert_int_equal(rt_run(cx, &code, args, &out), at < 2 ? RT_OK : RT_ERROR);
		if (at < 2) {
			assert_int_equal(o->slot[at].u.i, 7);
			assert_int_equal(attribute(cx, object, (int)at, &out), RT_OK);
		}
	}
	assert_int_equal(attribute(cx, object, -1, &out), RT_ERROR);
	assert_int_equal(attribute(cx, rt_int(1), 0, &out), RT_ERROR);
	rt_release(object);
}

/* An attribute that may be None is None until it is set. */
static void
unset_attributes(void **state)
{
	static const char *slot[] = { "a", "b", "c", "d" };
	static const RtType either = { .kind = TYPE_UNION }, maybe = { .kind = TYPE_OPTIONAL };
	static const RtType *slot_type[] = { &either, &maybe, &rt_type_any, &rt_type_none };
	static RtClass cls = { .name = "M", .nslot = 4, .slot = slot, .slot_type = slot_type };
	RtCx *cx = *state;
	IValue object = rt_ref(RT_OBJECT, rt_object_new(cx, &cls)), out = rt_int(1);

	for (int i = 0; i < 4; i++) {
		assert_int_equal(attribute(cx, object, i, &out), RT_OK);
		assert_true(rt_is_none(out));
	}
	rt_release(object);
}

/* Tuples and lists of other lengths than expected, indices and slices past the end. */
static void
lengths(void **state)
{
	static const uint32_t operand[] = { 0, 1, 2, 3 };
	static const struct { int op, nout; uint32_t arg; bool tuple; const char *error; } row[] = {
		{ RT_DO_UNPACK, 3, 0, true, NULL },
		{ RT_DO_UNPACK, 2, 0, true, "Expected a tuple of 2 elements, but got 3" },
		{ RT_DO_UNPACK, 3, 0, false, "expected a tuple, but got a value of type List[int]" },
		{ RT_DO_LIST_UNPACK, 3, 0, false, NULL },
		{ RT_DO_LIST_UNPACK, 2, 0, false, "Expected 2 elements in a list but found 3" },
		{ RT_DO_LIST_UNPACK, 3, 0, true, "expected a list, but got a value of type Tuple[int, int, int]" },
		{ RT_DO_INDEX, 1, 2, true, NULL }, { RT_DO_INDEX, 1, 3, true, "tuple index out of range" },
		{ RT_DO_INDEX, 1, (uint32_t)-3, true, NULL },
		{ RT_DO_INDEX, 1, (uint32_t)-4, true, "tuple index out of range" },
		{ RT_DO_TUPLE_SLICE, 1, 1 << 16 | 3, true, NULL }, { RT_DO_TUPLE_SLICE, 1, 1 << 16 | 9, true, NULL },
		{ RT_DO_TUPLE_SLICE, 1, 2 << 16 | 4, true, NULL }, { RT_DO_TUPLE_SLICE, 1, 5 << 16 | 9, true, NULL },
	};
	static const int64_t parts[] = { 2, 2, 1, 0 };               /* lengths of the slices */
	RtCx *cx = *state;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const RtInsn insn[] = { { (uint8_t)row[i].op, 0, 1, (uint16_t)row[i].nout, 0, row[i].arg },
					{ RT_DO_RETURN, 0, 1, 0, 1, 0 } };
		const RtCode code = { CODE("f", 4, 1, 1) };
		IValue arg = row[i].tuple ? rt_ref(RT_TUPLE, rt_tuple_new(cx, 0, 3)) :
			rt_ref(RT_LIST, rt_list_new(cx, &rt_type_int, 3)), out;

		for (int k = 0; k < 3; k++) {
			if (row[i].tuple)
				arg.u.tuple->v[k] = rt_int(k);
			else
				rt_list_push(cx, arg.u.list, rt_int(k));
		}
		assert_int_equal(rt_run(cx, &code, &arg, &out), row[i].error ? RT_ERROR : RT_OK);
		if (row[i].error)
			assert_string_equal(cx->message, row[i].error);
		else if (row[i].op == RT_DO_TUPLE_SLICE)
			assert_int_equal(out.u.tuple->n, parts[i - 10]);
		rt_release(out);
		assert_int_equal(((RtHead *)arg.u.p)->refs, 1);
		rt_release(arg);
	}
}

/* Calls code with a wrong number of arguments. */
static void
arguments(void **state)
{
	static const uint32_t operand[] = { 0, 0, 0, 0 };
	static const RtInsn back[] = { { RT_DO_RETURN, 0, 1, 0, 0, 0 } };
	static const RtCode two = { .name = "two", .insn = back, .operand = operand, .ninsn = 1, .nreg = 2, .narg = 2,
		.nresult = 1 };
	static const RtCode *const callee[] = { &two };
	RtCx *cx = *state;
	IValue arg = rt_int(1), out;

	for (uint16_t n = 1; n < 4; n++) {
		const RtInsn insn[] = { { RT_DO_CALL, 0, n, 1, 0, 0 }, { RT_DO_RETURN, 0, 1, 0, 0, 0 } };
		const RtCode code = { CODE("f", 1, 1, 1), .callee = callee };

		assert_int_equal(rt_run(cx, &code, &arg, &out), n == 2 ? RT_OK : RT_ERROR);
		if (n != 2)
			assert_string_equal(cx->message, n == 1 ? "two takes 2 arguments, but 1 were given"
								: "two takes 2 arguments, but 3 were given");
	}
}

/* Resumes sum()'s loop with i = 98, s = 0. */
static void
resume(void **state)
{
	static const uint32_t operand[] = { 1, 0, 2, /*3*/ 3, 1, 3, /*6*/ 1, 1, /*8*/ 3 };
	static const RtInsn insn[] = {
		{ RT_DO_RAISE, 0, 1, 0, 0, 0 },
		{ RT_DO_LOOP, 0, 3, 0, 0, 4 },
		{ RT_DO_KERNEL, 0, 2, 1, 3, ADD },
		{ RT_DO_NEXT, 0, 1, 1, 6, 1 },
		{ RT_DO_RETURN, 0, 1, 0, 8, 0 },
	};
	static const RtCode code = { CODE("f", 4, 1, 1), 0 };
	IValue reg[4] = { rt_int(100), rt_int(98), rt_bool(true), rt_int(0) };
	RtCx *cx = *state;

	assert_int_equal(rt_resume(cx, &code, 1, reg), RT_OK);
	assert_int_equal(reg[0].u.i, 197);
}

/* Resumes after a with-scope, inside it and inside of two.  Only the handlers of scopes that are open at that point
 * run. */
static void
resume_in_scopes(void **state)
{
	static const IValue constant[] = { { RT_INT, { 1 } }, { RT_INT, { 2 } } };
	static const uint32_t operand[] = { 0, 1, 2, /*3*/ 0, 1, /*5*/ 0 };
	static const RtInsn insn[] = {
		{ RT_DO_ENTER, 0, 1, 0, 0, 7 },
		{ RT_DO_ENTER, 0, 1, 0, 0, 10 },
		{ RT_DO_KERNEL, 0, 0, 1, 2, BOOM },
		{ RT_DO_EXIT, 0, 0, 0, 0, 0 },
		{ RT_DO_KERNEL, 0, 0, 1, 2, BOOM },
		{ RT_DO_EXIT, 0, 0, 0, 0, 0 },
		{ RT_DO_KERNEL, 0, 0, 1, 2, BOOM },
		{ RT_DO_CONSTANT, 0, 0, 1, 1, 1 },       /* outer handler */
		{ RT_DO_KERNEL, 0, 2, 0, 3, APPEND },
		{ RT_DO_RERAISE, 0, 0, 0, 0, 0 },
		{ RT_DO_CONSTANT, 0, 0, 1, 1, 0 },       /* inner handler */
		{ RT_DO_KERNEL, 0, 2, 0, 3, APPEND },
		{ RT_DO_RERAISE, 0, 0, 0, 0, 0 },
	};
	static const RtCode code = { CODE("f", 3, 1, 1), .constant = constant };
	RtCx *cx = *state;

	for (int pc = 2; pc < 7; pc += 2) {
		RtList *list = rt_list_new(cx, &rt_type_int, 0);
		IValue reg[3] = { rt_retain(rt_ref(RT_LIST, list)), rt_none(), rt_none() };

		assert_int_equal(rt_resume(cx, &code, pc, reg), RT_ERROR);
		assert_string_equal(cx->message, "boom 7");
		assert_int_equal(list->n, 3 - pc / 2);
		if (list->n)
			assert_int_equal(list->v[list->n - 1].u.i, 2);
		rt_release(rt_ref(RT_LIST, list));
	}
}

/* ---- the pool ---------------------------------------------------------------------------------------------- */

typedef struct Squares { RtCx *cx; int64_t *v; } Squares;

static void
square(void *arg, int64_t beg, int64_t end)
{
	Squares *s = arg;

	for (int64_t i = beg; i < end; i++)
		s->v[i] += i * i;
}

static void
nested(void *arg, int64_t beg, int64_t end)
{
	Squares *s = arg, inner = { s->cx, s->v + beg * 100 };

	for (int64_t i = beg; i < end; i++, inner.v += 100)
		rt_parallel(s->cx, 100, 1, square, &inner);
}

static void
parallel(void **state)
{
	static int64_t v[100000];
	Squares s = { *state, v };

	for (int threads = 1; threads <= 4; threads++) {
		assert_int_equal(rt_threads(s.cx, threads), RT_OK);
		for (int round = 0; round < 200; round++) {
			int64_t n = round * round + 1;

			memset(v, 0, sizeof v);
			rt_parallel(s.cx, n, 10, square, &s);
			for (int64_t i = 0; i < n; i++)
				assert_int_equal(v[i], i * i);
			assert_int_equal(v[n], 0);
		}
		memset(v, 0, sizeof v);
		rt_parallel(s.cx, 1000, 1, nested, &s);
		for (int64_t i = 0; i < 100000; i++)
			assert_int_equal(v[i], i % 100 * (i % 100));
	}
	assert_int_equal(rt_threads(s.cx, 1), RT_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loop), cmocka_unit_test(calls), cmocka_unit_test(recursion),
		cmocka_unit_test(traceback),
		cmocka_unit_test(scopes), cmocka_unit_test(many_scopes), cmocka_unit_test(containers),
		cmocka_unit_test(forks), cmocka_unit_test(fork_draws), cmocka_unit_test(fork_error),
		cmocka_unit_test(lacking), cmocka_unit_test(attributes), cmocka_unit_test(unset_attributes),
		cmocka_unit_test(lengths),
		cmocka_unit_test(arguments), cmocka_unit_test(resume), cmocka_unit_test(resume_in_scopes),
		cmocka_unit_test(parallel),
	};

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
