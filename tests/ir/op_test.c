/* The operator registry: names, order of overloads, effects; kernels that store their result in an argument. */
#include "../../frontend/frontend.h"

#include <string.h>

#include <cmocka.h>

static Arena arena;
static Cx cx = { .arena = &arena };
static RtCx rt;

static int
setup(void **state)
{
	(void)state;
	schema_parser = schema_parse;
	return rt_cx_init(&rt);
}

static void
test_look_up(void **state)
{
	const Op *op = op_first(&cx, "aten::add");

	(void)state;
	assert_non_null(op);
	assert_string_equal(op->overload, "Tensor"); /* the first one in order.def, not in the operator table */
	assert_non_null(op_find(&cx, "aten::add", "Scalar"));
	assert_null(op_find(&cx, "aten::add", "none_such"));
	assert_null(op_first(&cx, "aten::none_such"));
	assert_string_equal(op_suggest(&cx, "aten::matmull"), "aten::matmul");
	assert_string_equal(op_by_id(&cx, "add__Tensor")->base, "add_Tensor");
	assert_int_equal(op_find(&cx, "aten::rand_like", "")->effect, EFFECT_RANDOM);
	/* effects of operators with a body follow from the operators that it calls, of aten and of prim */
	assert_int_equal(op_find(&cx, "aten::dropout", "")->effect, EFFECT_RANDOM);
	assert_int_equal(op_find(&cx, "aten::dropout_", "")->effect, EFFECT_RANDOM);
	assert_int_equal(op_find(&cx, "aten::feature_alpha_dropout", "")->effect, EFFECT_RANDOM);
	assert_int_equal(op_find(&cx, "aten::native_dropout", "out")->effect, EFFECT_RANDOM);
	/* A clone, without random numbers. */
	assert_int_equal(op_find(&cx, "quantized::dropout", "")->effect, EFFECT_PURE);
	assert_int_equal(op_find(&cx, "aten::masked_fill", "Scalar")->effect, EFFECT_PURE);
	assert_int_equal(op_find(&cx, "prim::grad_lacks", "")->effect, EFFECT_PURE);
}

/* Schemas of ALSO operators whose text is only a name. */
static void
test_derived_schemas(void **state)
{
	(void)state;
	assert_string_equal(op_schema_text(&cx, op_by_id(&cx, "add__Tensor")),
			    "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
	assert_string_equal(op_schema_text(&cx, op_by_id(&cx, "add_out")),
			    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, "
			    "Tensor(a!) out) -> Tensor(a!)");
	assert_string_equal(op_schema_text(&cx, op_by_id(&cx, "mm_out")),
			    "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)");
}

/* Each line of order.def must order overloads differently than the operator table, or name some that the table
 * lacks. */
static void
test_orders_say_something(void **state)
{
	static const char *const names[] = {
#define ORDER(name, overloads) name,
#include "../../rt/ops/order.def"
#undef ORDER
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const Op *op = op_first(&cx, names[i]);
		bool sorted = true;

		assert_non_null(op);
		for (; op->next; op = op->next)
			sorted &= op->row < op->next->row;
		if (sorted && !op_lacks_overloads(&cx, names[i]))
			fail_msg("%s: its rows stand in this order", names[i]);
	}
}

/* Arguments of a base operator are found by name.  An argument that the in-place operator lacks must be an option,
 * which is None. */
static void
test_base_arguments(void **state)
{
	static const char *const options[] = { "dtype", "layout", "device", "pin_memory", "memory_format", "generator",
					       "names", "requires_grad" };

	(void)state;
	for (int i = 0; i < op_count(&cx); i++) {
		Op *op = op_at(&cx, i), *base = op->form == OP_ALSO ? op_by_id(&cx, op->base) : NULL;
		const Schema *row, *of;

		if (!base)
			continue;
		row = op_schema(&cx, op);
		of = op_schema(&cx, base);
		for (int k = 0; k < of->nargs; k++) {
			bool found = k < row->nargs;       /* by position, if the name differs */

			for (int m = 0; m < row->nargs; m++)
				found |= !strcmp(of->args[k].name, row->args[m].name);
			for (size_t m = 0; m < sizeof options / sizeof *options; m++)
				found |= !strcmp(of->args[k].name, options[m]);
			if (!found)
				fail_msg("%s: its base's argument %s is nowhere", op->text, of->args[k].name);
		}
	}
}

static IValue
tensor(RtDtype dtype, int64_t n, double value)
{
	RtTensor *t = rt_tensor_new(&rt, dtype, 1, &n);

	assert_non_null(t);
	assert_int_equal(rt_fill(&rt, t, rt_double(value)), RT_OK);
	return rt_of(t);
}

static void
test_in_place(void **state)
{
	IValue in[3] = { tensor(RT_f32, 3, 1), tensor(RT_f32, 3, 2), rt_int(2) }, out[1];

	(void)state;
	assert_int_equal(rt_call_kernel(&rt, op_by_id(&cx, "add__Tensor")->kernel, in, out, 1), RT_OK);
	assert_ptr_equal(out[0].u.t, in[0].u.t);
	assert_true(rt_load_f64(RT_f32, rt_data(in[0].u.t)) == 5);
	rt_release(out[0]);
	rt_release(in[1]);
	in[1] = tensor(RT_f32, 1, 2);                              /* in[1] broadcasts to self */
	assert_int_equal(rt_call_kernel(&rt, op_by_id(&cx, "add__Tensor")->kernel, in, out, 1), RT_OK);
	rt_release(out[0]);
	assert_int_equal(rt_call_kernel(&rt, op_by_id(&cx, "add__Tensor")->kernel,
					(IValue[3]){ in[1], in[0], in[2] }, out, 1), RT_ERROR);
	assert_string_equal(rt.message, "output with shape [1] doesn't match the broadcast shape [3]");
	rt_clear_error(&rt);
	rt_release(in[0]);
	rt_release(in[1]);
	in[0] = tensor(RT_i64, 3, 1);
	in[1] = tensor(RT_f32, 3, 2);
	assert_int_equal(rt_call_kernel(&rt, op_by_id(&cx, "add__Tensor")->kernel, in, out, 1), RT_ERROR);
	assert_string_equal(rt.message, "result type Float can't be cast to the desired output type Long");
	rt_clear_error(&rt);
	rt_release(in[0]);
	rt_release(in[1]);
}

static void
test_out(void **state)
{
	IValue in[4] = { tensor(RT_f32, 3, 1), tensor(RT_f32, 3, 2), rt_int(1), tensor(RT_f64, 1, 0) }, out[1];

	(void)state;
	assert_int_equal(rt_call_kernel(&rt, op_by_id(&cx, "add_out")->kernel, in, out, 1), RT_OK);
	assert_ptr_equal(out[0].u.t, in[3].u.t);
	assert_int_equal(in[3].u.t->dims[0], 3);
	assert_true(rt_load_f64(RT_f64, rt_data(in[3].u.t) + 16) == 3);
	rt_release(out[0]);
	for (int i = 0; i < 4; i++)
		rt_release(in[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look_up),
		cmocka_unit_test(test_derived_schemas),
		cmocka_unit_test(test_orders_say_something),
		cmocka_unit_test(test_base_arguments),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_out),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
