/* tests/rt/stack.c - calls end with a message before the stack overflows: on the first thread, other threads, forked
 * children and fibers */
#include "test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>

const RtQuantized *const rt_quantized;         /* null, since no tensor is quantized here */

enum { ENDLESS = 1 << 30, CANARY = 64 << 10, SMALL = 128 << 10, MIDDLE = 256 << 10, LARGE = 8 << 20 };

/* ---- f(n): n if n < 1, else f(n - 1) ----------------------------------------------------------------------------- */

static int
less_than_one(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	out[0] = rt_bool(in[0].u.i < 1);
	return RT_OK;
}

static int
minus_one(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	out[0] = rt_int(in[0].u.i - 1);
	return RT_OK;
}

static RtKernel *const kernel[] = { less_than_one, minus_one };
static const uint32_t kernel_use[2];
static const char *const kernel_name[] = { "test::less", "test::minus" };
extern const RtCode *const callee[];
static const uint32_t operand[] = { 0, 1, /*2*/ 1, /*3*/ 0, /*4*/ 0, 2, /*6*/ 2, 3, /*8*/ 3 };
static const RtInsn insn[] = {
	{ RT_DO_KERNEL, 0, 1, 1, 0, 0 },
	{ RT_DO_BRANCH, 0, 1, 0, 2, 3 },
	{ RT_DO_RETURN, 0, 1, 0, 3, 0 },
	{ RT_DO_KERNEL, 0, 1, 1, 4, 1 },
	{ RT_DO_CALL, 0, 1, 1, 6, 0 },
	{ RT_DO_RETURN, 0, 1, 0, 8, 0 },
};
static const RtCode code = { .name = "f", .insn = insn, .operand = operand, .kernel = kernel, .nkernel = 2,
	.ncallee = 1, .kernel_name = kernel_name, .kernel_use = kernel_use, .callee = callee, .ninsn = 6, .nreg = 4,
	.narg = 1, .nresult = 1 };
const RtCode *const callee[] = { &code };

/* Does f(n) return? */
static bool
answers(RtCx *cx, int64_t n)
{
	const IValue arg = rt_int(n);
	IValue out = rt_none();
	const int status = rt_run(cx, &code, &arg, &out);
	const bool right = !status && out.tag == RT_INT && out.u.i == 0;

	rt_clear_error(cx);
	return right;
}

/* Does f(ENDLESS) end with the message? */
static bool
raises(RtCx *cx)
{
	const IValue arg = rt_int(ENDLESS);
	IValue out = rt_none();
	const bool right = rt_run(cx, &code, &arg, &out) == RT_ERROR && cx->cls && !strcmp(cx->cls, "RecursionError") &&
		!strcmp(cx->message, "maximum recursion depth exceeded");

	rt_clear_error(cx);
	return right && !cx->depth;
}

/* A trial in the caller's context, or a new one.  depth: number of nested calls that must work. */
typedef struct Trial { RtCx *cx; int depth; bool right; } Trial;

static void *
try(void *arg)
{
	Trial *t = arg;
	RtCx own, *cx = t->cx ? t->cx : &own;

	if (!t->cx)
		rt_cx_init(cx);
	t->right = answers(cx, t->depth) && raises(cx) && answers(cx, t->depth) && raises(cx);
	if (!t->cx)
		rt_cx_free(cx);
	return NULL;
}

/* ---- threads and children ---------------------------------------------------------------------------------------- */

static bool
in_child(Trial t)
{
	int status;
	const pid_t pid = fork();

	if (!pid) {
		alarm(60);
		try(&t);
		_exit(!t.right);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

typedef struct Forking { Trial here, child; bool right; } Forking;

/* Calls in a thread, then in the child that it forks, then again in the thread. */
static void *
fork_here(void *arg)
{
	Forking *f = arg;

	try(&f->here);
	f->right = f->here.right && in_child(f->child);
	try(&f->here);
	f->right &= f->here.right;
	return NULL;
}

static void
in_thread(size_t bytes, void *(*function)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
	assert_int_equal(pthread_create(&thread, &attr, function, arg), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

static void
threads(void **state)
{
	Trial t = { .cx = *state, .depth = 1000 };

	try(&t);
	assert_true(t.right);
	assert_true(in_child(t));
	for (int i = 0; i < 3; i++) {
		t.depth = i == 1 ? 50 : 1000;
		in_thread(i == 1 ? MIDDLE : LARGE, try, &t);
		assert_true(t.right);
	}
}

/* In the child, the thread that forked is the first thread by its process id, but it keeps its stack. */
static void
children_of_threads(void **state)
{
	for (int shared = 0; shared < 2; shared++)
		for (int large = 0; large < 2; large++) {
			Trial t = { .cx = shared ? *state : NULL, .depth = large ? 1000 : 50 };
			Forking f = { t, t, false };

			in_thread(large ? LARGE : MIDDLE, fork_here, &f);
			assert_true(f.right);
		}
}

/* ---- fibers ------------------------------------------------------------------------------------------------------ */

static ucontext_t back;
static Trial *on_fiber;

static void
fiber(void)
{
	try(on_fiber);
}

/* Runs the trial on a stack allocated by malloc.  Memory below the stack must not change. */
static bool
in_fiber(Trial *t, size_t bytes)
{
	char *block = malloc(CANARY + bytes);
	bool whole = block != NULL;
	ucontext_t context;

	assert_true(block && !getcontext(&context));
	memset(block, 0x5a, CANARY);
	context.uc_stack.ss_sp = block + CANARY;
	context.uc_stack.ss_size = bytes;
	context.uc_link = &back;
	on_fiber = t;
	makecontext(&context, fiber, 0);
	assert_int_equal(swapcontext(&back, &context), 0);
	for (int i = 0; i < CANARY && whole; i++)
		whole = block[i] == 0x5a;
	free(block);
	return whole && t->right;
}

/* Calls one context on the thread's own stack and on fibers in turn. */
static void *
fibers_in_turn(void *arg)
{
	static const size_t sizes[] = { MIDDLE, LARGE, SMALL, MIDDLE };
	Trial *own = arg, t = { .cx = own->cx, .depth = 50 };

	try(own);
	for (int i = 0; i < 4 && own->right; i++) {
		bool right = in_fiber(&t, sizes[i]);

		try(own);
		own->right &= right;
	}
	return NULL;
}

static void
fibers(void **state)
{
	for (int shared = 0; shared < 2; shared++) {
		Trial t = { .cx = shared ? *state : NULL, .depth = 1000 };

		fibers_in_turn(&t);
		assert_true(t.right);
		in_thread(LARGE, fibers_in_turn, &t);
		assert_true(t.right);
	}
}

/* The first call of a context may be on a fiber. */
static void
fiber_first(void **state)
{
	RtCx cx;
	Trial t = { .cx = &cx, .depth = 50 };

	(void)state;
	rt_cx_init(&cx);
	assert_true(in_fiber(&t, SMALL));
	t.depth = 1000;
	try(&t);
	assert_true(t.right);
	rt_cx_free(&cx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads), cmocka_unit_test(children_of_threads), cmocka_unit_test(fibers),
		cmocka_unit_test(fiber_first),
	};

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
