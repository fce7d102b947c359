/* tests/rt/step.c - steps of specialized code: what a kernel returns of planned memory, it owns afterwards
 */
#include "test.h"

const RtQuantized *const rt_quantized;         /* null: there are no quantized tensors here */

enum { MANY = 40 };
static const int64_t geometry[] = { 4, 1 };

/* Each result is a view of an input, or the input itself; an input that is a list gives its elements, in a list. */
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

static void
many_inputs(void **state)
{
	static const RtPlaceName place[1];
	static const RtCode code = { .name = "test", .place = place };
	RtCx *cx = *state;
	char *arena = rt_arena(cx, MANY * 16);
	IValue in[MANY], out[MANY] = { { 0 } };

	fill(arena, 1);
	for (int i = 0; i < MANY; i++)
		in[i] = rt_box_borrow(cx, RT_f32, 1, geometry, arena + i * 16);
	assert_int_equal(rt_step(cx, same, in, out, (RtSite){ &code, 0, MANY, MANY }), RT_OK);
	fill(arena, 2);
	for (int i = 0; i < MANY; i++)
		is_one(out[i]);
	rt_values_drop(out, MANY);
}

/* The list itself lives on, and a view that is returned twice stays one memory. */
static void
lists(void **state)
{
	static const RtPlaceName place[1];
	static const RtCode code = { .name = "test", .place = place };
	RtCx *cx = *state;
	char *arena = rt_arena(cx, MANY * 16);
	IValue in[1], out[1] = { { 0 } }, list;

	fill(arena, 1);
	list = rt_ref(RT_LIST, rt_list_new(cx, &rt_type_tensor, MANY));
	for (int i = 0; i < MANY; i++)
		rt_list_push(cx, list.u.list, i % 2 ? rt_retain(list.u.list->v[i - 1]) :
			     rt_box_borrow(cx, RT_f32, 1, geometry, arena + i * 16));
	in[0] = rt_retain(list);
	assert_int_equal(rt_step(cx, views, in, out, (RtSite){ &code, 0, 1, 1 }), RT_OK);
	fill(arena, 2);
	for (int i = 0; i < MANY; i++) {
		is_one(out[0].u.list->v[i]);
		assert_ptr_equal(out[0].u.list->v[i].u.t->storage, out[0].u.list->v[i & ~1].u.t->storage);
	}
	rt_values_drop(out, 1);
	rt_release(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_inputs),
		cmocka_unit_test(lists),
	};
	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
