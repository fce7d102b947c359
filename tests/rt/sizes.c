/* tests/rt/sizes.c - the sizes that a dynamic specialization accepts: ranges, numbers, ties, counts, offsets in the
 * arena */
#include "test.h"

const RtQuantized *const rt_quantized;         /* null, since no tensor is quantized here */

/* def f(x): return x, without observed numbers: only the symbols are checked. */
static const uint32_t operand[] = { 0 };
static const RtInsn insn[] = { { RT_DO_RETURN, 0, 1, 0, 0, 0 } };
static const RtPlaceName place[1];
static const RtCode code = { .name = "f", .insn = insn, .operand = operand, .place = place, .text = "", .ninsn = 1,
	.nreg = 1, .narg = 1, .nresult = 1 };

static const RtSizeExpr none[] = { { 0 } };
static const uint16_t numbers[] = { 0 };
static const int64_t range[][2] = { { 2, 100 }, { 2, 100 } };

/* Two counts: ceil(s0 / 4), and ceil(3 * this * s1 / 5). */
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

#define SIZES .name = "f", .code = &code, .expr = none, .number = numbers, .range = range, .nsymbol = 2, .natom = 2

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
	/* Offsets follow the counts: the buffer of 60 bytes is first, the one of 52 that lives at the same time comes
	 * after it, the one of 12 has the first one's offset. */
	assert_int_equal(s[4 + 1], 0);
	assert_int_equal(s[4 + 2], 64);
	assert_int_equal(s[4 + 0], 64);
	assert_int_equal(s[4 + 3], 64 + 52);
	assert_ptr_equal(s, ask(*state, &of, 9, 7));
	assert_int_equal(ask(*state, &of, 9, 8)[1], 8);
}

/* Are all buffers in the arena, at multiples of a vector's size, and disjoint if they live at the same time? */
static void
placed(void **state)
{
	enum { MANY = 40 };
	uint32_t random = 1;
	RtSizeBuffer buffer[MANY];
	const RtSizes of = { SIZES, .buffer = buffer, .nbuffer = MANY };

	for (int i = 0; i < MANY; i++) {
		random = random * 1664525 + 1013904223;
		buffer[i] = (RtSizeBuffer){ { 1 + (random >> 28), i % 3, 1, { i & 1 } }, (random >> 24) % 16, 0 };
		buffer[i].last = buffer[i].first + (int)(random >> 20) % 6;
	}
	for (int64_t a = 2; a < 100; a += 13) {
		const int64_t *s = ask(*state, &of, a, 102 - a), *at = s + 2;

		for (int i = 0; i < MANY; i++) {
			const RtSizeBuffer *x = &buffer[i];
			const int64_t bytes = x->bytes.c * s[i & 1] + x->bytes.d;

			assert_true(at[i] >= 0 && at[i] % 64 == 0 && at[i] + bytes <= at[MANY]);
			for (int k = 0; k < i; k++) {
				const RtSizeBuffer *y = &buffer[k];
				const int64_t others = y->bytes.c * s[k & 1] + y->bytes.d;

				assert_true(x->first > y->last || y->first > x->last || at[i] >= at[k] + others ||
					    at[k] >= at[i] + bytes);
			}
		}
	}
}

/* A number that overflows is no count. */
static void
too_large(void **state)
{
	static const RtSizeCount count[] = { { { INT64_C(1) << 61, 0, 1, { 0 } }, 1 } };
	static const RtSizeCount product[] = { { { INT64_C(1) << 40, 0, 4, { 0, 0, 1, 1 } }, 1 } };
	static const RtSizeCount less[] = { { { -3, 20, 1, { 0 } }, 1 } };
	static const RtSizes one = { SIZES, .count = count, .ncount = 1 };
	static const RtSizes two = { SIZES, .count = product, .ncount = 1 };
	static const RtSizes of = { SIZES, .count = less, .ncount = 1 };

	assert_null(ask(*state, &one, 2, 2));
	assert_null(ask(*state, &two, 100, 100));
	assert_int_equal(ask(*state, &of, 6, 2)[2], 2);
	assert_null(ask(*state, &of, 7, 2));
}

/* def f(x): return x, where x is observed: its type, its sizes, and the storage that it shares. */
static const uint32_t compared_operand[] = { 0, 1, 1 };
static const RtInsn compared_insn[] = { { RT_DO_PROFILE, 0, 1, 1, 0, 0 }, { RT_DO_RETURN, 0, 1, 0, 2, 0 } };
static const RtCode compared = { .name = "f", .insn = compared_insn, .operand = compared_operand, .place = place,
	.text = "", .ninsn = 2, .nreg = 2, .narg = 1, .nresult = 1 };
static const uint16_t order[] = { 0, 1, 2, 3, 0, 1, 4, 3 };

enum { MATRIX = RT_f32 | 2 << 8 };
#define COMPARED(expressions, n, atoms) { .name = "f", .code = &compared, .expr = expressions, .number = order, \
	.range = range, .nsymbol = 2, .natom = atoms, .nnumber = n }

static void
numbers_of_tensor(void **state)
{
	static const RtSizeExpr line[] = { { .d = MATRIX }, { 1, 0, 1, { 0 } }, { 1, 1, 1, { 0 } }, { 0 } };
	static const RtSizeExpr falling[] = { { .d = MATRIX }, { 1, 0, 1, { 0 } }, { -1, 10, 1, { 0 } }, { 0 } };
	static const RtSizeExpr atom[] = { { .d = MATRIX }, { .n = -1, .atom = { 2 } }, { .n = -1, .atom = { 2 } },
					   { 0 } };
	static const RtSizeExpr type[] = { { .d = MATRIX + 1 }, { 1, 0, 1, { 0 } }, { 1, 0, 1, { 1 } }, { 0 } };
	static const RtSizes on = COMPARED(line, 4, 2), under = COMPARED(falling, 4, 2), twice = COMPARED(atom, 4, 3);
	static const RtSizes other = COMPARED(type, 4, 2), few = COMPARED(line, 3, 2), many = COMPARED(line, 5, 2);
	const int64_t *s;

	assert_non_null(ask(*state, &on, 5, 6));
	assert_null(ask(*state, &on, 5, 7));
	assert_non_null(ask(*state, &under, 4, 6));
	assert_null(ask(*state, &under, 4, 14));
	assert_non_null(s = ask(*state, &twice, 6, 6));
	assert_int_equal(s[2], 6);
	assert_null(ask(*state, &twice, 6, 7));
	assert_null(ask(*state, &other, 5, 6));
	assert_null(ask(*state, &few, 5, 6));
	assert_null(ask(*state, &many, 5, 6));
}

/* Two tensors in a tuple: observes the sizes of both, and that they do not share a storage. */
static void
numbers_of_tuple(void **state)
{
	static const RtSizeExpr pair[] = { { .d = MATRIX }, { 1, 0, 1, { 0 } }, { 1, 0, 1, { 1 } }, { 0 },
					   { 1, 0, 1, { 0 } } };
	static const RtSizes of = COMPARED(pair, 8, 2);
	const int64_t symbol[] = { 3, 4 }, other[] = { 3, 3 }, wrong[] = { 3, 5 };
	IValue t = rt_ref(RT_TUPLE, rt_tuple_new(*state, NULL, 2));

	t.u.tuple->v[0] = rt_of(rt_tensor_new(*state, RT_f32, 2, symbol));
	t.u.tuple->v[1] = rt_of(rt_tensor_new(*state, RT_f32, 2, other));
	assert_non_null(rt_sizes(*state, &of, &t, symbol));
	assert_null(rt_sizes(*state, &of, &t, wrong));
	rt_release(t);
}

/* Requires that s0 is 1 more than a multiple of 4. */
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

/* Requires 2 * s1 = 3 * s0 - 4 and ceil(s0 / 4) = s1 - 2. */
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

/* The last number of a tensor is how many tensors ago its storage was seen.  0 if it was not seen before. */
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

/* A storage is recognised among many, also after the table has grown.  It is not recognised after it was forgotten. */
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

/* Numbers that rt_see reports, and how many of each kind. */
typedef struct Put { RtSeen seen; int64_t number[16]; int n, of[3]; } Put;

static void
keep_all(RtSeen *seen, int64_t number, RtSeenKind kind)
{
	Put *p = (Put *)(void *)seen;

	p->number[p->n++] = number;
	p->of[kind]++;
}

/* Sees a value, and compares how many numbers of each kind are reported. */
static Put
puts_of(IValue v, int ints, int sizes, int fixed)
{
	Put p = { .seen = { .put = keep_all } };

	rt_see(&p.seen, v);
	assert_int_equal(p.of[RT_SEEN_INT], ints);
	assert_int_equal(p.of[RT_SEEN_DIM], sizes);
	assert_int_equal(p.of[RT_SEEN_FIXED], fixed);
	rt_seen_free(&p.seen);
	rt_release(v);
	return p;
}

/* Strides and offset are observed if a tensor is neither contiguous nor channels last. */
static void
forms(void **state)
{
	static const int64_t dims[] = { 2, 3, 5, 7 }, last[] = { 105, 1, 21, 3 }, turned[] = { 1, 2, 42, 6 };
	RtCx *cx = *state;
	RtTensor *moved = rt_tensor_new(cx, RT_f32, 2, dims);
	RtTensor *moved_last = rt_tensor_strided(cx, RT_f32, 4, dims, last);
	const Put rows = puts_of(rt_of(rt_tensor_new(cx, RT_f32, 4, dims)), 0, 4, 2);
	const Put channels_last = puts_of(rt_of(rt_tensor_strided(cx, RT_f32, 4, dims, last)), 0, 4, 2);

	assert_int_not_equal(rows.number[0], channels_last.number[0]);
	puts_of(rt_of(rt_tensor_strided(cx, RT_f32, 4, dims, turned)), 5, 4, 2);
	moved->offset = moved_last->offset = 1;
	assert_int_equal(puts_of(rt_of(moved), 3, 2, 2).number[5], 1);
	puts_of(rt_of(moved_last), 5, 4, 2);
}

static void
values(void **state)
{
	IValue list = rt_ref(RT_LIST, rt_list_new(*state, &rt_type_int, 3)), t;

	for (int i = 0; i < 3; i++)
		rt_list_push(*state, list.u.list, rt_int(5 + i));
	assert_int_equal(puts_of(list, 3, 0, 1).number[3], 7);
	t = rt_ref(RT_TUPLE, rt_tuple_new(*state, NULL, 2));
	t.u.tuple->v[0] = rt_bool(true);
	t.u.tuple->v[1] = rt_double(2);
	puts_of(t, 1, 0, 1);
	puts_of(rt_none(), 0, 0, 1);
}

static bool
prove_double(int64_t *s)
{
	s[2] = 2 * s[0];
	return s[1] != 7;
}

/* Sizes that are proved are computed from the symbols, and no code runs. */
static void
proved(void **state)
{
	static const RtSizes of = { .name = "f", .prove = prove_double, .range = range, .nsymbol = 2, .natom = 3 };
	const int64_t *s = ask(*state, &of, 5, 6);

	assert_non_null(s);
	assert_int_equal(s[2], 10);
	assert_null(ask(*state, &of, 5, 7));
	assert_null(ask(*state, &of, 5, 101));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ranges, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(proved, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(counted, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(placed, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(too_large, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(numbers_of_tensor, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(numbers_of_tuple, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(same_rest, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(related, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(storages, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(forms, cx_setup, cx_teardown),
		cmocka_unit_test_setup_teardown(values, cx_setup, cx_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
