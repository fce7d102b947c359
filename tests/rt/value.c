/* tests/rt/value.c - lists, dicts, copies, random numbers and printing, against values recorded from PyTorch 1.13
 */
#include "test.h"

static IValue
str(RtCx *cx, const char *s)
{
	return rt_ref(RT_STR, rt_str_new(cx, s, -1));
}

/* Compares a dict with a plain array: keys 0 to 99, the last values set, and the order of the first insertion after the
 * last removal. */
static void
dicts(void **state)
{
	RtCx *cx = *state;
	RtDict *d = rt_dict_new(cx, &rt_type_int, &rt_type_int);
	int64_t value[100], order[100], clock = 0, last;
	uint32_t r = 1;
	int n = 0;

	memset(value, -1, sizeof value);
	for (int i = 0; i < 20000; i++) {
		int64_t k = (r = r * 1664525 + 1013904223) >> 8 & 63;

		if (r >> 30 == 0) {
			assert_int_equal(rt_dict_remove(d, rt_int(k)), value[k] >= 0);
			value[k] = -1;
		} else {
			if (value[k] < 0)
				order[k] = clock++;
			value[k] = i;
			assert_int_equal(rt_dict_set(cx, d, rt_int(k), rt_int(i)), RT_OK);
		}
		k = r >> 16 & 63;
		assert_int_equal(rt_dict_get(d, rt_int(k)) ? rt_dict_get(d, rt_int(k))->u.i : -1, value[k]);
	}
	last = -1;
	for (int64_t i = 0; i < d->used; i++) {
		if (d->at[i].dead)
			continue;
		assert_true(order[d->at[i].key.u.i] > last);
		last = order[d->at[i].key.u.i];
		n++;
	}
	assert_int_equal(n, d->n);
	assert_true(d->cap <= 256);
	rt_release(rt_ref(RT_DICT, d));
}

static void
keys(void **state)
{
	RtCx *cx = *state;
	RtDict *d = rt_dict_new(cx, &rt_type_any, &rt_type_int);
	IValue a = str(cx, "a"), b = str(cx, "a"), t = rt_of(rt_tensor_new(cx, RT_f32, 0, 0));

	rt_dict_set(cx, d, rt_retain(a), rt_int(1));
	rt_dict_set(cx, d, rt_double(0.0), rt_int(2));
	rt_dict_set(cx, d, rt_int(0), rt_int(3));
	rt_dict_set(cx, d, rt_retain(t), rt_int(4));
	rt_dict_set(cx, d, rt_bool(false), rt_int(5));
	assert_int_equal(d->n, 5);
	assert_int_equal(rt_dict_get(d, b)->u.i, 1);
	assert_int_equal(rt_dict_get(d, rt_double(-0.0))->u.i, 2);
	assert_int_equal(rt_dict_get(d, t)->u.i, 4);
	assert_null(rt_dict_get(d, rt_double(0.0 / 0.0)));
	rt_release(rt_ref(RT_DICT, d));
	rt_release(a);
	rt_release(b);
	rt_release(t);
}

/* A million nested lists. */
static void
deep(void **state)
{
	RtCx *cx = *state;
	IValue v = rt_ref(RT_LIST, rt_list_new(cx, &rt_type_any, 0));
	bool same;

	for (int i = 0; i < 1000000; i++) {
		RtList *l = rt_list_new(cx, &rt_type_any, 0);

		assert_int_equal(rt_list_push(cx, l, v), RT_OK);
		v = rt_ref(RT_LIST, l);
	}
	assert_true(rt_is_none(rt_deep_copy(cx, v)));
	assert_string_equal(cx->message, "value is nested too deep to be copied");
	assert_int_equal(rt_equal(cx, v, v, &same), RT_ERROR);
	rt_release(v);
}

/* Copies [x, x[1:], d, d] with d = {"k": x}.  Values that are shared stay shared in the copy, but not with the
 * original. */
static void
copies(void **state)
{
	RtCx *cx = *state;
	int64_t three[] = { 3 }, two[] = { 2 }, one[] = { 1 };
	RtTensor *x = rt_tensor_new(cx, RT_i64, 1, three), *cut = rt_tensor_view(cx, x, 1, two, one, 1), *y;
	RtList *l = rt_list_new(cx, &rt_type_any, 0), *c;
	RtDict *d = rt_dict_new(cx, &rt_type_str, &rt_type_tensor);
	IValue copy;
	Buf why = { 0 };

	assert_int_equal(rt_fill(cx, x, rt_int(1)), RT_OK);
	rt_dict_set(cx, d, str(cx, "k"), rt_of(rt_tensor_retain(x)));
	rt_list_push(cx, l, rt_of(x));
	rt_list_push(cx, l, rt_of(cut));
	rt_list_push(cx, l, rt_retain(rt_ref(RT_DICT, d)));
	rt_list_push(cx, l, rt_ref(RT_DICT, d));
	copy = rt_deep_copy(cx, rt_ref(RT_LIST, l));
	c = copy.u.list;
	assert_true(rt_close(cx, "l", copy, rt_ref(RT_LIST, l), &why));
	y = c->v[0].u.t;
	assert_ptr_not_equal(y, x);
	assert_ptr_equal(y->storage, c->v[1].u.t->storage);
	assert_ptr_equal(c->v[2].u.p, c->v[3].u.p);
	assert_ptr_equal(c->v[2].u.dict->at[0].value.u.t, y);
	assert_int_equal(rt_fill(cx, y, rt_int(2)), RT_OK);
	assert_int_equal(*(int64_t *)(void *)rt_data(c->v[1].u.t), 2);
	assert_int_equal(*(int64_t *)(void *)rt_data(x), 1);
	rt_release(copy);
	rt_release(rt_ref(RT_LIST, l));
}

/* Parts that copies share or separate: borrowed memory, views with offsets, flags, dead entries, lists that occur
 * twice. */
static void
copied_parts(void **state)
{
	static float weight[] = { 1, 2, 3, 4 };
	RtCx *cx = *state;
	const int64_t four[] = { 4 }, two[] = { 2 }, one[] = { 1 };
	RtTensor *own = rt_tensor_borrow(cx, RT_f32, 1, four, weight, false),
		 *view = rt_tensor_view(cx, own, 1, two, one, 2);
	RtTensor *fixed = rt_tensor_borrow(cx, RT_f32, 1, four, weight, true);
	RtList *l = rt_list_new(cx, &rt_type_any, 0), *inner = rt_list_new(cx, &rt_type_int, 0), *c;
	RtDict *d = rt_dict_new(cx, &rt_type_int, &rt_type_int);
	IValue copy;

	view->flags |= RT_REQUIRES_GRAD;
	for (int i = 0; i < 4; i++)
		rt_dict_set(cx, d, rt_int(i), rt_int(10 * i));
	rt_dict_remove(d, rt_int(0));
	rt_dict_remove(d, rt_int(2));
	rt_list_push(cx, l, rt_of(view));
	rt_list_push(cx, l, rt_of(own));
	rt_list_push(cx, l, rt_of(fixed));
	rt_list_push(cx, l, rt_ref(RT_DICT, d));
	rt_list_push(cx, l, rt_retain(rt_ref(RT_LIST, inner)));
	rt_list_push(cx, l, rt_ref(RT_LIST, inner));
	copy = rt_deep_copy(cx, rt_ref(RT_LIST, l));
	c = copy.u.list;
	assert_int_equal(c->n, 6);
	assert_ptr_equal(c->v[0].u.t->storage, c->v[1].u.t->storage);
	assert_true(((float *)(void *)rt_data(c->v[0].u.t))[1] == 4);
	assert_true(c->v[0].u.t->flags & RT_REQUIRES_GRAD);
	assert_false(c->v[1].u.t->flags & RT_REQUIRES_GRAD);
	assert_ptr_not_equal(rt_data(c->v[1].u.t), weight);
	assert_ptr_equal(rt_data(c->v[2].u.t), weight);             /* nothing writes there, so it is not copied */
	assert_int_equal(c->v[3].u.dict->n, 2);
	assert_int_equal(rt_dict_get(c->v[3].u.dict, rt_int(1))->u.i, 10);
	assert_int_equal(rt_dict_get(c->v[3].u.dict, rt_int(3))->u.i, 30);
	assert_null(rt_dict_get(c->v[3].u.dict, rt_none()));
	assert_ptr_equal(c->v[4].u.list, c->v[5].u.list);
	rt_release(copy);
	rt_release(rt_ref(RT_LIST, l));
}

/* Blocks have at least the requested number of bytes, are zeroed on request, and keep their contents when they grow. */
static void
memory(void **state)
{
	enum { MOST = 5000 };
	RtCx *cx = *state;
	RtList *l = rt_list_new(cx, &rt_type_int, 0);

	for (int64_t n = 1; n < MOST; n += 1 + n / 50) {
		unsigned char *p = rt_mem(n), *q = rt_mem_line(n), *z;

		assert_true(((int64_t *)(void *)p)[-2] >= n && ((int64_t *)(void *)q)[-2] >= n);
		assert_true((uintptr_t)p % 16 == 0 && (uintptr_t)q % 64 == 0);
		memset(p, 0xa5, (size_t)n);
		memset(q, 0xa5, (size_t)n);
		p = rt_mem_more(p, 3 * n);
		for (int64_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0xa5);
		memset(p, 0xa5, (size_t)(3 * n));
		rt_mem_back(p);
		rt_mem_back(q);
		z = rt_mem_zeroed(3 * n);                            /* the same block, if it was kept */
		for (int64_t i = 0; i < 3 * n; i++)
			assert_int_equal(z[i], 0);
		rt_mem_back(z);
		q = rt_mem_line(n);
		assert_true((uintptr_t)q % 64 == 0);
		rt_mem_back(q);
	}
	for (int64_t i = 0; i < 100; i++) {
		assert_int_equal(rt_list_push(cx, l, rt_int(i)), RT_OK);
		assert_true(l->n <= l->cap && ((int64_t *)(void *)l->v)[-2] >= l->n * (int64_t)sizeof *l->v);
	}
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(l->v[i].u.i, i);
	rt_release(rt_ref(RT_LIST, l));
}

static void
types(void **state)
{
	static const RtType *const of[] = { &rt_type_int, &rt_type_str };
	static const RtType pair = { .kind = TYPE_TUPLE, .n = 2, .of = of },
			    maybe = { .kind = TYPE_OPTIONAL, .n = 1, .of = of },
			    dict = { .kind = TYPE_DICT, .n = 2, .of = of };
	RtCx *cx = *state;
	RtTuple *t = rt_tuple_new(cx, 0, 2);
	IValue l = rt_ref(RT_LIST, rt_list_new(cx, &rt_type_int, 0)),
	       d = rt_ref(RT_DICT, rt_dict_new(cx, &rt_type_int, &rt_type_str));

	t->v[0] = rt_int(1);
	t->v[1] = str(cx, "a");
	assert_true(rt_isinstance(rt_ref(RT_TUPLE, t), &pair) &&
		    rt_isinstance(rt_ref(RT_TUPLE, t), &rt_type_any_tuple));
	assert_true(rt_isinstance(rt_none(), &maybe) && rt_isinstance(rt_int(1), &maybe));
	assert_false(rt_isinstance(rt_bool(true), &maybe) || rt_isinstance(rt_bool(true), &rt_type_number));
	assert_true(rt_isinstance(l, &rt_type_list_int) && rt_isinstance(d, &dict));
	assert_false(rt_isinstance(l, &rt_type_list_float) || rt_isinstance(l, &dict));
	assert_string_equal(rt_type_of(rt_ref(RT_TUPLE, t)), "Tuple[int, str]");
	assert_string_equal(rt_type_of(l), "List[int]");
	assert_string_equal(rt_type_of(d), "Dict[int, str]");
	rt_release(rt_ref(RT_TUPLE, t));
	rt_release(l);
	rt_release(d);
}

static void
random_numbers(void **state)
{
	static const float uniform[] = { 0x1.c3b8ccp-1f, 0x1.d47b66p-1f, 0x1.880d7p-2f };
	static const double uniform53[] = { 0x1.dc66cbea3db30p-5, 0x1.01ae177aca870p-4, 0x1.fa3563ccea238p-4 };
	static const double normal[] = { 0x1.58c55b33d44ccp-2, 0x1.07cd39b3d4b85p-3, 0x1.e02dcdb63ec41p-3,
		0x1.d7b8d7b0a7c22p-3, -0x1.1f7383f8320c1p+0 };
	RtGenerator *g = ((RtCx *)*state)->gen;

	assert_true(g->seed == 67280421310721);
	rt_generator_seed(g, 42);
	for (int i = 0; i < 700; i++) {
		uint32_t r = rt_random32(g);

		assert_true(i != 0 || r == 1608637542);
		assert_true(i != 1 || r == 3421126067);
		assert_true(i != 623 || r == 1077437785);
	}
	rt_generator_seed(g, 42 | UINT64_C(1) << 40);           /* only the low 32 bits of a seed count */
	for (int i = 0; i < 3; i++)
		assert_true(rt_uniform24(g) == uniform[i]);
	rt_generator_seed(g, 42);
	for (int i = 0; i < 3; i++)
		assert_true(rt_uniform53(g) == uniform53[i]);
	rt_generator_seed(g, 42);
	for (int i = 0; i < 5; i++)
		assert_float_equal(rt_normal(g), normal[i], 1e-15);
}

static void
prints(IValue v, const char *want)
{
	Buf b = { 0 };

	rt_format_value(&b, v, 0);
	assert_string_equal(b.at, want);
	buf_free(&b);
	rt_release(v);
}

static IValue
doubles(RtCx *cx, int ndim, const int64_t *dims, RtDtype d, const double *v)
{
	RtTensor *t = rt_tensor_new(cx, d, ndim, dims);

	rt_cast(d, rt_data(t), RT_f64, v, rt_numel(t));
	return rt_of(t);
}

static void
printing(void **state)
{
	static const struct { double d; const char *want; } number[] = {
		{ 4, "4." }, { -0.0, "0." }, { 1e10, "10000000000." }, { 1e18, "1000000000000000000." },
		{ 1e19, "1e+19" }, { 0.1, "0.10000000000000001" }, { 1e-7, "9.9999999999999995e-08" },
		{ 123456.5, "123456.5" },
		{ 1e-320, "9.9998886718268301e-321" },
	};
	RtCx *cx = *state;
	const int64_t one[] = { 1 }, two[] = { 2 }, three[] = { 3 }, m[] = { 2, 2 }, cube[] = { 2, 1, 2 },
		      none[] = { 2, 0, 3 };
	RtTuple *t = rt_tuple_new(cx, 0, 1);
	RtList *l = rt_list_new(cx, &rt_type_any, 0);
	RtDict *d = rt_dict_new(cx, &rt_type_str, &rt_type_float);
	IValue device = rt_int(0x102);

	for (size_t i = 0; i < sizeof number / sizeof *number; i++)
		prints(rt_double(number[i].d), number[i].want);
	prints(rt_complex(cx, 1.5, -0.0), "1.5+0.j");
	device.tag = RT_DEVICE;
	prints(device, "cuda:1");
	t->v[0] = str(cx, "q");
	rt_list_push(cx, l, rt_ref(RT_TUPLE, t));
	rt_list_push(cx, l, rt_none());
	rt_dict_set(cx, d, str(cx, "a"), rt_double(2));
	rt_dict_set(cx, d, str(cx, "b"), rt_double(0.5));
	rt_list_push(cx, l, rt_ref(RT_DICT, d));
	prints(rt_ref(RT_LIST, l), "[(q,), None, {a: 2., b: 0.5}]");
	prints(doubles(cx, 0, 0, RT_f32, (double[]){ 3.5 }), "3.5\n[ CPUFloatType{} ]");
	prints(doubles(cx, 1, two, RT_f32, (double[]){ 1.5, 2 }), " 1.5000\n 2.0000\n[ CPUFloatType{2} ]");
	prints(doubles(cx, 1, two, RT_b8, (double[]){ 1, 0 }), " 1\n 0\n[ CPUBoolType{2} ]");
	prints(doubles(cx, 1, three, RT_f64, (double[]){ 123456.5, -100000.25, 200000 }),
		"1e+05 *\n 1.2346\n-1.0000\n 2.0000\n[ CPUDoubleType{3} ]");
	prints(doubles(cx, 1, three, RT_f64, (double[]){ 1.23455e-5, 3e-6, -2.5e-6 }),
		"1e-05 *\n 1.2346\n 0.3000\n-0.2500\n[ CPUDoubleType{3} ]");
	prints(doubles(cx, 1, three, RT_f64, (double[]){ 1.23455e-30, 3e-31, -2.5e-31 }),
		"1e-30 *\n 1.2345\n 0.3000\n-0.2500\n[ CPUDoubleType{3} ]");
	prints(doubles(cx, 1, three, RT_f64, (double[]){ 6.39845e-102, 5.58062e-102, 1.78328e-102 }),
		"1e-102 *\n 6.3985\n 5.5806\n 1.7833\n[ CPUDoubleType{3} ]");
	prints(doubles(cx, 1, three, RT_f64, (double[]){ 1.84715e-210, 9.12318e-210, 8.31302e-210 }),
		"1e-210 *\n 1.8471\n 9.1232\n 8.3130\n[ CPUDoubleType{3} ]");
	prints(doubles(cx, 1, three, RT_f64, (double[]){ 2.5e-310, -1e-310, 1e-309 }),
		"1e-309 *\n 0.2500\n-0.1000\n 1.0000\n[ CPUDoubleType{3} ]");
	prints(doubles(cx, 1, three, RT_f64, (double[]){ 1e-9, 1, 1.0 / 0.0 }),
		" 1.0000e-09\n 1.0000e+00\n        inf\n[ CPUDoubleType{3} ]");
	prints(doubles(cx, 1, one, RT_i64, (double[]){ 12345678901 }), " 1.2346e+10\n[ CPULongType{1} ]");
	prints(doubles(cx, 2, m, RT_f16, (double[]){ 1, 2, 3, 4 }), " 1  2\n 3  4\n[ CPUHalfType{2,2} ]");
	prints(doubles(cx, 3, cube, RT_i32, (double[]){ 1, 2, 3, 40 }),
		"(1,.,.) = \n  1  2\n\n(2,.,.) = \n   3  40\n[ CPUIntType{2,1,2} ]");
	prints(doubles(cx, 3, none, RT_c64, 0), "[ CPUComplexFloatType{2,0,3} ]");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dicts), cmocka_unit_test(keys), cmocka_unit_test(deep), cmocka_unit_test(copies),
		cmocka_unit_test(copied_parts), cmocka_unit_test(memory),
		cmocka_unit_test(types), cmocka_unit_test(random_numbers), cmocka_unit_test(printing),
	};

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
