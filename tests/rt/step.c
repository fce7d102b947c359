/* tests/rt/step.c - steps of specialized code: a kernel's result that is planned memory owns it afterwards */
#include "test.h"

const RtQuantized *const rt_quantized;         /* null, since no tensor is quantized here */

enum { MANY = 40 };
static const int64_t geometry[] = { 4, 1 };

/* Each result is a view of an input, or the input itself.  For an input that is a list, it is a list of its
 * elements. */
static int
same(RtCx *cx, const IValue *in, IValue *out)
{
	for (int i = 0; i < MANY; i++) {
		const RtTensor *t = rt_tensor(in[i]);

		out[i] = t && i % 2 ? rt_of(rt_tensor_view(cx, t, 1, t->dims, t->strides, 0)) : rt_retain(in[i]);
	}
	return RT_OK;
}

static int
views(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *l = rt_list_new(cx, &rt_type_tensor, MANY);

	for (int i = 0; i < MANY; i++) {
		const RtTensor *t = rt_tensor(in[0].u.list->v[i]);

		rt_list_push(cx, l, rt_of(rt_tensor_view(cx, t, 1, t->dims, t->strides, 0)));
	}
	out[0] = rt_ref(RT_LIST, l);
	return RT_OK;
}

static void
fill(char *arena, float x)
{
	for (int i = 0; i < MANY * 4; i++)
		((float *)(void *)arena)[i] = x;
}

static void
is_one(IValue v)
{
	for (int i = 0; i < 4; i++)
		assert_true(((float *)(void *)rt_data(v.u.t))[i] == 1);
}

/* Runs a kernel as a step of `in` operands, from made[], and `out` results, to v[]. */
static int
run_made(RtCx *cx, RtKernel *kernel, uint16_t in, uint16_t out, IValue *made, IValue *v)
{
	static const RtPlaceName place[1];
	static const RtCode code = { .name = "test", .place = place };
	const RtStep step = { .run = rt_step_row, .by.kernel = kernel, .nin = in, .nout = out };
	uint32_t operand[2 * MANY];
	IValue given[MANY], got[MANY];
	const RtSteps of = { &step, operand, NULL, NULL, &code, out };
	const RtFrame f = { &of, cx, NULL, v, given, got, made, NULL, NULL };

	for (uint32_t i = 0; i < in; i++)
		operand[i] = RT_IN_MADE(i);
	for (uint32_t i = 0; i < out; i++)
		operand[in + i] = i;
	return rt_steps(&f, 0, 1);
}

static void
many_inputs(void **state)
{
	RtCx *cx = *state;
	char *arena = rt_arena(cx, MANY * 16);
	IValue in[MANY], out[MANY] = { { 0 } };

	fill(arena, 1);
	for (int i = 0; i < MANY; i++)
		in[i] = rt_box_borrow(cx, RT_f32, 1, geometry, arena + i * 16);
	assert_int_equal(run_made(cx, same, MANY, MANY, in, out), RT_OK);
	fill(arena, 2);
	for (int i = 0; i < MANY; i++)
		is_one(out[i]);
	rt_values_drop(out, MANY);
}

/* The list itself stays alive, and a view that is returned twice shares one memory. */
static void
lists(void **state)
{
	RtCx *cx = *state;
	char *arena = rt_arena(cx, MANY * 16);
	IValue in[1], out[1] = { { 0 } }, list;

	fill(arena, 1);
	list = rt_ref(RT_LIST, rt_list_new(cx, &rt_type_tensor, MANY));
	for (int i = 0; i < MANY; i++)
		rt_list_push(cx, list.u.list, i % 2 ? rt_retain(list.u.list->v[i - 1]) :
			     rt_box_borrow(cx, RT_f32, 1, geometry, arena + i * 16));
	in[0] = rt_retain(list);
	assert_int_equal(run_made(cx, views, 1, 1, in, out), RT_OK);
	fill(arena, 2);
	for (int i = 0; i < MANY; i++) {
		is_one(out[0].u.list->v[i]);
		assert_ptr_equal(out[0].u.list->v[i].u.t->storage, out[0].u.list->v[i & ~1].u.t->storage);
	}
	rt_values_drop(out, 1);
	rt_release(list);
}

static int seen;

/* Checks each kind of operand. */
static int
all_kinds(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx, (void)out;
	assert_int_equal(in[0].tag, RT_NONE);
	assert_int_equal(in[1].u.i, 11);
	assert_int_equal(in[2].u.i, 12);
	assert_int_equal(in[3].u.i, -(1 << 27));
	assert_int_equal(in[4].u.i, (1 << 27) - 1);
	assert_true(in[5].tag == RT_BOOL && in[5].u.i == 1);
	assert_true(in[6].tag == RT_DOUBLE && in[6].u.f == 0.5);
	assert_true(in[7].tag == RT_LIST && in[7].u.list->n == 2 && in[7].u.list->v[1].u.i == 8);
	assert_true(in[8].tag == RT_LIST && in[8].u.list->n == 2 && in[8].u.list->v[0].u.i == 12);
	assert_true(in[8].u.list->v[1].tag == RT_NONE);
	assert_int_equal(in[9].u.i, 13);
	seen++;
	return RT_OK;
}

static int
raises(RtCx *cx, const IValue *in, IValue *out)
{
	(void)in, (void)out;
	return rt_raise(cx, "it fails");
}

/* Operands of several steps.  Steps after one that fails do not run. */
static void
operands(void **state)
{
	static const RtPlaceName place[1];
	static const RtCode code = { .name = "test", .place = place };
	static const uint32_t operand[] = {
		RT_IN_NONE, RT_IN_REGISTER(1), RT_IN_SLOT(2), RT_IN_INT(-(1 << 27)), RT_IN_INT((1 << 27) - 1),
		RT_IN_BOOL(1), RT_IN_NUMBER(2), RT_IN_NUMBERS(0, 2), RT_IN_LIST(2), RT_IN_SLOT(2), RT_IN_NONE,
		RT_IN_VALUE(0),
	};
	static const RtStep step[] = {
		{ .run = rt_step_row, .by.kernel = all_kinds, .nin = 10 },
		{ .run = rt_step_row, .by.kernel = all_kinds, .nin = 10 },
		{ .run = rt_step_row, .by.kernel = raises },
		{ .run = rt_step_row, .by.kernel = all_kinds, .nin = 10 },
	};
	const RtSteps of = { step, operand, NULL, NULL, &code, 3 };
	RtCx *cx = *state;
	IValue reg[2] = { { 0 }, rt_int(11) }, v[3] = { { 0 }, { 0 }, rt_int(12) }, given[10];
	IValue value[1] = { rt_int(13) };
	const IValue number[] = { rt_int(7), rt_int(8), rt_double(0.5) };
	const RtFrame f = { &of, cx, reg, v, given, NULL, NULL, number, NULL };
	IValue *old = cx->value;

	cx->value = value;
	assert_int_equal(rt_steps(&f, 0, 4), RT_ERROR);
	cx->value = old;
	assert_int_equal(seen, 2);
	rt_clear_error(cx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_inputs),
		cmocka_unit_test(lists),
		cmocka_unit_test(operands),
	};
	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
