/* tests/rt/args.c - conversion of arrays to arguments by their declared types, and of results to arrays */
#include "test.h"

const RtQuantized *const rt_quantized;         /* null, since no tensor is quantized here */

#define T(kind_, n_, ...) { .kind = TYPE_##kind_, .n = n_, .of = (const RtType *const[]){ __VA_ARGS__ } }

static const RtType of_tuple = T(TUPLE, 2, &rt_type_int, &rt_type_tensor);
static const RtType of_tuples = T(LIST, 1, &of_tuple);
static const RtType optional = T(OPTIONAL, 1, &rt_type_tensor);
static const RtType of_dict = T(DICT, 2, &rt_type_str, &rt_type_tensor);
static const RtType of_lists = T(DICT, 2, &rt_type_int, &rt_type_list_float);
static const RtType some = T(UNION, 3, &rt_type_int, &rt_type_str, &rt_type_none);
static const char *slot[] = { "w", "n" };
static const RtType *slot_type[] = { &rt_type_tensor, &rt_type_int };
static RtClass point = { .name = "__torch__.Point", .nslot = 2, .slot = slot, .slot_type = slot_type };
static const RtType of_point = { .kind = TYPE_CLASS, .name = "__torch__.Point", .cls = &point };

static RtTensor *
floats(RtCx *cx, int ndim, const int64_t *dims)
{
	RtTensor *t = rt_tensor_new(cx, RT_f32, ndim, dims);

	for (int64_t i = 0; i < rt_numel(t); i++)
		((float *)(void *)rt_data(t))[i] = (float)i;
	return t;
}

static void
put(RtCx *cx, RtArrays *a, const char *key, IValue v)
{
	assert_int_equal(rt_arrays_add(cx, a, key, v), RT_OK);
	rt_release(v);
}

static int
read_one(RtCx *cx, const RtType *t, RtArrays *a, IValue *out)
{
	RtParam p = { "x", t, false, rt_none(), 0 };
	int status = rt_args_from_arrays(cx, &p, 1, a, out);

	rt_arrays_free(a);
	return status;
}

static void
numbers(void **state)
{
	RtCx *cx = *state;
	RtArrays a = { 0 };
	int64_t two[] = { 2 };
	IValue v;

	put(cx, &a, "x", rt_int(7));
	assert_int_equal(read_one(cx, &rt_type_int, &a, &v), RT_OK);
	assert_int_equal(v.u.i, 7);
	put(cx, &a, "x", rt_int(7));
	assert_int_equal(read_one(cx, &rt_type_float, &a, &v), RT_OK);
	assert_true(v.tag == RT_DOUBLE && v.u.f == 7);
	put(cx, &a, "x", rt_int(256));
	assert_int_equal(read_one(cx, &rt_type_bool, &a, &v), RT_OK);
	assert_true(v.tag == RT_BOOL && v.u.i == 1);
	put(cx, &a, "x", rt_bool(true));
	assert_int_equal(read_one(cx, &rt_type_int, &a, &v), RT_OK);
	assert_true(v.tag == RT_INT && v.u.i == 1);
	put(cx, &a, "x", rt_double(7));
	assert_int_equal(read_one(cx, &rt_type_int, &a, &v), RT_ERROR);
	assert_string_equal(cx->message, "argument 'x': 'x' is float64 of shape []; expected int");
	put(cx, &a, "x", rt_of(floats(cx, 1, two)));
	assert_int_equal(read_one(cx, &rt_type_float, &a, &v), RT_ERROR);
	assert_string_equal(cx->message, "argument 'x': 'x' is float32 of shape [2]; expected float");
	put(cx, &a, "x", rt_of(floats(cx, 1, two)));
	assert_int_equal(read_one(cx, &rt_type_list_float, &a, &v), RT_OK);
	assert_true(v.u.list->n == 2 && v.u.list->v[1].u.f == 1);
	rt_release(v);
}

static void
nested(void **state)
{
	RtCx *cx = *state;
	RtArrays a = { 0 };
	int64_t dims[] = { 2, 3 };
	IValue v;

	for (int i = 11; i >= 0; i--) {
		char key[2][16];

		snprintf(key[0], 16, "x.%d.0", i);
		snprintf(key[1], 16, "x.%d.1", i);
		put(cx, &a, key[0], rt_int(i));
		put(cx, &a, key[1], rt_of(floats(cx, 2, dims)));
	}
	assert_int_equal(read_one(cx, &of_tuples, &a, &v), RT_OK);
	assert_int_equal(v.u.list->n, 12);
	assert_int_equal(v.u.list->v[11].u.tuple->v[0].u.i, 11);
	assert_int_equal(v.u.list->v[11].u.tuple->v[1].u.t->dims[1], 3);
	rt_release(v);

	put(cx, &a, "x.0.0", rt_int(1));
	assert_int_equal(read_one(cx, &of_tuples, &a, &v), RT_ERROR);
	assert_string_equal(cx->message,
		"argument 'x': 'x.0.1' is missing; expected Tensor as a part of List[Tuple[int, Tensor]]; the keys are "
		"'x.0.0'");
}

static void
optionals(void **state)
{
	RtCx *cx = *state;
	RtParam p[] = { { "x", &optional, false, rt_none(), 0 }, { "n", &rt_type_int, true, rt_int(5), 0 } };
	RtArrays a = { 0 };
	IValue v[2];

	assert_int_equal(rt_args_from_arrays(cx, p, 2, &a, v), RT_OK);
	assert_true(v[0].tag == RT_NONE && v[1].u.i == 5);
	put(cx, &a, "y", rt_int(1));
	assert_int_equal(rt_args_from_arrays(cx, p, 2, &a, v), RT_ERROR);
	assert_string_equal(cx->message, "no argument takes 'y'; the arguments are x: Optional[Tensor], n: int");
	rt_arrays_free(&a);
	put(cx, &a, "x", rt_ref(RT_STR, rt_str_new(cx, "hello", -1)));
	assert_int_equal(read_one(cx, &some, &a, v), RT_OK);
	assert_int_equal(v[0].tag, RT_STR);
	rt_release(v[0]);
	assert_int_equal(read_one(cx, &some, &a, v), RT_OK);
	assert_int_equal(v[0].tag, RT_NONE);
}

static void
strides(void **state)
{
	RtCx *cx = *state;
	RtArrays a = { 0 };
	int64_t dims[] = { 2, 3 }, two[] = { 2 };
	RtTensor *s;
	IValue v;

	for (int zero = 0; zero < 2; zero++) {
		s = rt_tensor_new(cx, RT_i64, 1, two);
		((int64_t *)(void *)rt_data(s))[0] = zero ? 0 : 1;
		((int64_t *)(void *)rt_data(s))[1] = 2;
		put(cx, &a, "x", rt_of(floats(cx, 2, dims)));
		put(cx, &a, "x.strides", rt_of(s));
		assert_int_equal(read_one(cx, &rt_type_tensor, &a, &v), RT_OK);
		assert_int_equal(v.u.t->strides[0], zero ? 0 : 1);
		assert_int_equal(v.u.t->strides[1], 2);
		assert_true(((float *)(void *)rt_data(v.u.t))[4] == 2);
		rt_release(v);
	}
}

static void
dicts(void **state)
{
	RtCx *cx = *state;
	RtArrays a = { 0 };
	int64_t two[] = { 2 }, none[] = { 0 };
	IValue v;

	put(cx, &a, "x.b.c", rt_of(floats(cx, 1, two)));
	put(cx, &a, "x.a", rt_of(floats(cx, 0, 0)));
	assert_int_equal(read_one(cx, &of_dict, &a, &v), RT_OK);
	assert_int_equal(v.u.dict->n, 2);
	assert_string_equal(v.u.dict->at[0].key.u.str->s, "b.c");
	assert_string_equal(v.u.dict->at[1].key.u.str->s, "a");
	rt_release(v);
	put(cx, &a, "x.7", rt_of(floats(cx, 1, two)));
	put(cx, &a, "x.-3.0", rt_double(2.5));
	assert_int_equal(read_one(cx, &of_lists, &a, &v), RT_OK);
	assert_int_equal(v.u.dict->at[1].key.u.i, -3);
	assert_true(v.u.dict->at[1].value.u.list->v[0].u.f == 2.5);
	rt_release(v);
	put(cx, &a, "x", rt_of(floats(cx, 1, none)));
	assert_int_equal(read_one(cx, &of_dict, &a, &v), RT_OK);
	assert_int_equal(v.u.dict->n, 0);
	rt_release(v);
}

/* A value that is written, read from the file, and converted to its type equals itself. */
static void
round_trip(void **state)
{
	static const RtType *const part[] = { &of_tuples, &of_dict, &of_point, &rt_type_str, &rt_type_complex,
		&optional, &rt_type_list_int, &rt_type_list_str };
	static const RtType type = { .kind = TYPE_TUPLE, .n = 8, .of = part };
	char path[] = P_tmpdir "/args-XXXXXX";
	RtCx *cx = *state;
	RtParam p = { "out", &type, false, rt_none(), 0 };
	RtArrays a = { 0 };
	RtTuple *t = rt_tuple_new(cx, 0, 8), *inner = rt_tuple_new(cx, 0, 2);
	int64_t dims[] = { 3, 2 };
	IValue back;
	Buf why = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	inner->v[0] = rt_int(-1);
	inner->v[1] = rt_of(floats(cx, 2, dims));
	t->v[0] = rt_ref(RT_LIST, rt_list_new(cx, &of_tuple, 0));
	rt_list_push(cx, t->v[0].u.list, rt_ref(RT_TUPLE, inner));
	t->v[1] = rt_ref(RT_DICT, rt_dict_new(cx, &rt_type_str, &rt_type_tensor));
	rt_dict_set(cx, t->v[1].u.dict, rt_ref(RT_STR, rt_str_new(cx, "k", 1)), rt_of(floats(cx, 0, 0)));
	t->v[2] = rt_ref(RT_OBJECT, rt_object_new(cx, &point));
	t->v[2].u.obj->slot[0] = rt_of(floats(cx, 2, dims));
	t->v[2].u.obj->slot[1] = rt_int(INT64_MIN);
	t->v[3] = rt_ref(RT_STR, rt_str_new(cx, "h\xc3\xa9 \xe2\x98\x83 \xf0\x90\x8d\x88", -1));
	t->v[4] = rt_complex(cx, 1.5, -2);
	t->v[6] = rt_ref(RT_LIST, rt_list_new(cx, &rt_type_int, 0));
	t->v[7] = rt_ref(RT_LIST, rt_list_new(cx, &rt_type_str, 0));
	rt_list_push(cx, t->v[7].u.list, rt_ref(RT_STR, rt_str_new(cx, "", 0)));
	assert_int_equal(rt_arrays_from_value(cx, &a, "out", rt_ref(RT_TUPLE, t)), RT_OK);
	assert_int_equal(rt_npz_write(cx, path, &a), RT_OK);
	rt_arrays_free(&a);
	assert_int_equal(rt_npz_read(cx, path, &a), RT_OK);
	assert_int_equal(a.n, 9);
	assert_int_equal(rt_args_from_arrays(cx, &p, 1, &a, &back), RT_OK);
	assert_int_equal(back.u.tuple->v[2].u.obj->slot[1].u.i, INT64_MIN);
	assert_true(rt_close(cx, "out", back, rt_ref(RT_TUPLE, t), &why));
	rt_arrays_free(&a);
	rt_release(back);
	rt_release(rt_ref(RT_TUPLE, t));
	close(fd);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(nested), cmocka_unit_test(optionals),
		cmocka_unit_test(strides), cmocka_unit_test(dicts),  cmocka_unit_test(round_trip),
	};

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
