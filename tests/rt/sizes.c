/* tests/rt/sizes.c - which sizes a dynamic specialization takes: ranges, ties, counts, places in the arena
 */
#include "test.h"

const RtQuantized *const rt_quantized;         /* null: there are no quantized tensors here */

/* def f(x): return x, without a number to compare: what is asked of sizes is asked of the symbols. */
static const uint32_t operand[] = { 0 };
static const RtInsn insn[] = { { RT_DO_RETURN, 0, 1, 0, 0, 0 } };
static const RtPlaceName place[1];
static const RtCode code = { .name = "f", .insn = insn, .operand = operand, .place = place, .text = "", .ninsn = 1,
	.nreg = 1, .narg = 1, .nresult = 1 };

static const RtSizeExpr none[] = { { 0 } };
static const uint16_t numbers[] = { 0 };
static const int64_t range[][2] = { { 2, 100 }, { 2, 100 } };

/* ceil(s0 / 4), and behind it ceil(3 * that * s1 / 5). */
static const RtSizeCount counts[] = { { { 1, 0, 1, { 0 } }, 4 }, { { 3, 0, 2, { 2, 1 } }, 5 } };

static const int64_t *
ask(RtCx *cx, const RtSizes *of, int64_t a, int64_t b)
{
	const int64_t symbol[] = { a, b };
	IValue x = rt_of(rt_tensor_new(cx, RT_f32, 2, symbol));
	const int64_t *s = rt_sizes(cx, of, &x, symbol);

	assert_int_equal(cx->status, RT_OK);
	rt_release(x);
	return s;
}

#define SIZES .code = &code, .expr = none, .number = numbers, .range = range, .nsymbol = 2, .natom = 2

static void
ranges(void **state)
{
	static const RtSizes of = { SIZES };

	assert_non_null(ask(*state, &of, 2, 100));
	assert_null(ask(*state, &of, 1, 50));
	assert_null(ask(*state, &of, 50, 101));
}

static void
counted(void **state)
{
	static const RtSizeBuffer buffer[] = { { { 4, 0, 1, { 2 } }, 0, 2 }, { { 4, 8, 1, { 3 } }, 1, 3 },
					       { { 4, 0, 1, { 3 } }, 3, 4 } };
	static const RtSizes of = { SIZES, .count = counts, .ncount = 2, .buffer = buffer, .nbuffer = 3 };
	const int64_t *s = ask(*state, &of, 9, 7);

	assert_non_null(s);
	assert_int_equal(s[0], 9);
	assert_int_equal(s[1], 7);
	assert_int_equal(s[2], 3);
	assert_int_equal(s[3], 13);
	/* The places stand behind: 60 bytes first, the 52 that live with them behind these, the 12 beside the first. */
	assert_int_equal(s[4 + 1], 0);
	assert_int_equal(s[4 + 2], 64);
	assert_int_equal(s[4 + 0], 64);
	assert_int_equal(s[4 + 3], 64 + 52);
	assert_ptr_equal(s, ask(*state, &of, 9, 7));
}

/* s0 is 1 more than a multiple of 4. */
static void
same_rest(void **state)
{
	static const RtSizeTie tie[] = { { RT_TIE_REST, { 1, 0, 1, { 0 } }, 4, { .d = 1 } } };
	static const RtSizes of = { SIZES, .tie = tie, .ntie = 1 };

	assert_non_null(ask(*state, &of, 5, 4));
	assert_null(ask(*state, &of, 8, 5));
	assert_null(ask(*state, &of, 6, 5));
	assert_null(ask(*state, &of, 6, 5));
}

/* 2 * s1 = 3 * s0 - 4; ceil(s0 / 4) = s1 - 2. */
static void
related(void **state)
{
	static const RtSizeTie line[] = { { RT_TIE_CEIL, { 2, 0, 1, { 1 } }, 1, { 3, -4, 1, { 0 } } } };
	static const RtSizeTie ceiling[] = { { RT_TIE_CEIL, { 1, 0, 1, { 0 } }, 4, { 1, -2, 1, { 1 } } } };
	static const RtSizes on = { SIZES, .tie = line, .ntie = 1 }, of = { SIZES, .tie = ceiling, .ntie = 1 };

	assert_non_null(ask(*state, &on, 4, 4));
	assert_non_null(ask(*state, &on, 10, 13));
	assert_null(ask(*state, &on, 10, 14));
	assert_null(ask(*state, &on, 12, 13));
	assert_non_null(ask(*state, &of, 5, 4));
	assert_non_null(ask(*state, &of, 8, 4));
	assert_null(ask(*state, &of, 9, 4));
	assert_null(ask(*state, &of, 4, 4));
}

/* What is put last for a tensor is how many tensors ago its storage came. */
typedef struct Ages { RtSeen seen; int64_t last; } Ages;

static void
keep_last(RtSeen *seen, int64_t number, RtSeenKind kind)
{
	(void)kind;
	((Ages *)(void *)seen)->last = number;
}

static int64_t
age_of(Ages *a, IValue v)
{
	rt_see(&a->seen, v);
	return a->last;
}

/* Storages are found again among many, where the table has grown, and not where what came with them was forgotten. */
static void
storages(void **state)
{
	enum { MANY = 1000 };
	static IValue x[MANY];
	Ages a = { .seen = { .put = keep_last } };
	const int64_t two = 2;

	for (int i = 0; i < MANY; i++) {
		x[i] = rt_of(rt_tensor_new(*state, RT_f32, 1, &two));
		assert_int_equal(age_of(&a, x[i]), 0);
	}
	assert_int_equal(age_of(&a, x[0]), MANY);
	assert_int_equal(age_of(&a, x[0]), 1);
	assert_int_equal(age_of(&a, x[MANY - 1]), 3);
	rt_seen_back(&a.seen, MANY);
	assert_int_equal(age_of(&a, x[0]), MANY);
	rt_seen_back(&a.seen, 7);
	assert_int_equal(age_of(&a, x[7]), 0);
	assert_int_equal(age_of(&a, x[6]), 2);
	rt_seen_free(&a.seen);
	assert_int_equal(a.seen.n, 0);
	for (int i = 0; i < MANY; i++)
		rt_release(x[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ranges, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(counted, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(same_rest, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(related, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(storages, cx_setup, cx_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
