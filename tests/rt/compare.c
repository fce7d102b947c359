/* tests/rt/compare.c - values that --selfcheck and kiln check treat as equal */
#include "test.h"

#include <math.h>

enum { MANY = 1000 };

static void
put(RtTensor *t, int64_t i, double x)
{
	rt_cast((RtDtype)t->dtype, rt_data(t) + i * rt_dtypes[t->dtype].bytes, RT_f64, &x, 1);
}

/* Are two tensors equal whose numbers are alternately `size` and -`size`, except that the first number is `want` in one
 * and `got` in the other? */
static bool
same(RtCx *cx, RtDtype dtype, double size, double want, double got)
{
	RtTensor *a = rt_tensor_new(cx, dtype, 1, (int64_t[]){ MANY }),
		 *b = rt_tensor_new(cx, dtype, 1, (int64_t[]){ MANY });
	Buf why = { 0 };
	bool is;

	for (int64_t i = 0; i < MANY; i++) {
		put(a, i, i ? i % 2 ? size : -size : got);
		put(b, i, i ? i % 2 ? size : -size : want);
	}
	is = rt_close(cx, "out", rt_of(a), rt_of(b), &why);
	assert_int_equal(is, !why.n);
	buf_free(&why);
	rt_tensor_release(a);
	rt_tensor_release(b);
	return is;
}

/* The tolerance of a number near zero depends on the tensor's largest number. */
static void
near_zero(void **state)
{
	RtCx *cx = *state;

	assert_true(same(cx, RT_f32, 100, 0, 1e-3));
	assert_false(same(cx, RT_f32, 100, 0, 4e-3));
	assert_true(same(cx, RT_f32, 1, 0, 1e-5));
	assert_false(same(cx, RT_f32, 1, 0, 1e-3));
	assert_true(same(cx, RT_f32, 1e-3, 0, 1e-5));
	assert_false(same(cx, RT_f32, 1e-3, 0, 4e-5));
	assert_true(same(cx, RT_f64, 1e6, 0, 5e-3));
	assert_false(same(cx, RT_f64, 1e6, 0, 5e-2));
}

/* Are two tensors equal that contain `large`, and 1 in one and `got` in the other? */
static bool
others(RtCx *cx, double large, double got)
{
	const float a[2] = { (float)large, (float)got }, b[2] = { (float)large, 1 };
	RtTensor *s = rt_tensor_borrow(cx, RT_f32, 1, (int64_t[]){ 2 }, a, true);
	RtTensor *t = rt_tensor_borrow(cx, RT_f32, 1, (int64_t[]){ 2 }, b, true);
	Buf why = { 0 };
	const bool is = rt_close(cx, "out", rt_of(s), rt_of(t), &why);

	buf_free(&why);
	rt_tensor_release(s);
	rt_tensor_release(t);
	return is;
}

/* One large number allows others an error of 2e-5 of its size.  An infinite one allows no error. */
static void
outliers(void **state)
{
	RtCx *cx = *state;

	assert_false(same(cx, RT_f32, 1, 100, 101));
	assert_true(same(cx, RT_f32, 1, 100, 100.02));
	assert_true(others(cx, 100, 1.002));
	assert_false(others(cx, 100, 1.003));
	assert_false(others(cx, INFINITY, 1.0005));
	assert_true(same(cx, RT_f32, 1, 100, 100.01));
	assert_false(same(cx, RT_f32, 1, INFINITY, 1));
	assert_true(same(cx, RT_f32, 1, INFINITY, INFINITY));
	assert_true(same(cx, RT_f32, INFINITY, 1, 1.00001));
	assert_false(same(cx, RT_f32, INFINITY, 1, 1.001));
	assert_true(same(cx, RT_f32, 1, NAN, NAN));
	assert_false(same(cx, RT_f32, 1, NAN, 1));
	assert_false(same(cx, RT_i64, 1000, 3, 4));
}

static bool
same_text(const char *got, const char *want)
{
	Buf why = { 0 };
	const bool is = rt_close_text(got, want, &why);

	assert_int_equal(is, !why.n);
	buf_free(&why);
	return is;
}

/* Texts are equal if they differ only in the last digit of floating numbers and in the widths of columns. */
static void
texts(void **state)
{
	(void)state;
	assert_true(same_text(" 1.0001\n-0.0000\n[ CPUFloatType{2} ]\n", "1.0002\n 0.0000\n[ CPUFloatType{2} ]\n"));
	assert_true(same_text("x=1.2345e-08 7", "x=1.2346e-08  7"));
	assert_false(same_text("1.0001", "1.0101"));
	assert_false(same_text("7", "8"));
	assert_false(same_text("12", "1 2"));
	assert_false(same_text("a", "a b"));
	assert_false(same_text("a b", "a"));
	assert_false(same_text("", "a"));
	assert_false(same_text("1.5", "1.5x"));
	assert_true(same_text("", "\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(near_zero), cmocka_unit_test(outliers),
					    cmocka_unit_test(texts) };

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
