/* tests/rt/tensor.c - geometry, copies, conversion and promotion, against values recorded from PyTorch 1.13
 */
#include "test.h"
#include "../../rt/half.h"

/* Format: operands=result|clone of the first|dense, contiguous, channels last.  Each tensor is dims/strides. */
static const char *const layouts[] = {
	"4,0,2,2/0,1,0,0=4,0,2,2/4,4,2,1|4,0,2,2/0,1,0,0|111",
	"2,1,3/3,6,1;2,1,3/1,1,0=2,1,3/3,6,1|2,1,3/3,6,1|110",
	"3,1,4,3/12,12,3,1;3,1,4,3/4,36,1,12=3,1,4,3/12,36,3,1|3,1,4,3/12,12,3,1|111",
	"2,2,3/2,1,4=2,2,3/2,1,4|2,2,3/2,1,4|100",
	"2,0,4,2/1,1,2,8;2,0,4,2/8,8,2,1;0,4,2/32,4,1=2,0,4,2/0,1,0,0|2,0,4,2/1,1,2,8|110",
	"4,2,1,2/1,8,4,4=4,2,1,2/1,8,4,4|4,2,1,2/1,8,4,4|100",
	"2,2,1/2,1,1;3,2,2,1/4,1,2,2;1,1,2,1/2,2,1,2=3,2,2,1/4,2,1,2|2,2,1/2,1,1|110",
	"3,4,1,2,1/32,8,8,2,1;3,4,1,1,1/4,1,4,4,1=3,4,1,2,1/8,2,8,1,1|3,4,1,2,1/8,2,2,1,1|000",
	"3,1,1,0/1,1,1,1;3,1,1,0/0,2,2,0=3,1,1,0/1,1,1,1|3,1,1,0/1,1,1,1|110",
	"0/1=0/1|0/1|110",
	"4,4,2,1,1/1,4,16,16,16;4,4,2,1,3/384,48,24,12,1=4,4,2,1,3/3,12,48,48,1|4,4,2,1,1/1,4,16,16,16|100",
	"1,1,4/4,4,1;1,0,1/1,1,1;4,1,1/1,1,1=4,0,4/4,4,1|1,1,4/4,4,1|110",
	"0/1;0/1;0/1=0/1|0/1|110",
	"1,1,3/3,1,1;4,1,4,3/12,1,3,1;4,0,4,3/12,12,3,1=4,0,4,3/12,12,3,1|1,1,3/3,1,1|110",
	"1,4,1,1/4,1,4,1;1/1=1,4,1,1/4,1,4,1|1,4,1,1/4,1,4,1|111",
	"2/1;0,1/1,1;1,0,2/2,2,1=1,0,2/2,2,1|2/1|110",
	"3,3,1/1,3,9;3,3,1/6,2,1=3,3,1/1,3,9|3,3,1/1,3,9|100",
	"1/1;0/1=0/1|1/1|110",
	"4,3,3,4,3/12,48,144,1,4;4,3,3,4,3/36,1,144,3,12;1,3,4,3/36,12,3,1="
	"4,3,3,4,3/12,48,144,1,4|4,3,3,4,3/12,48,144,1,4|100",
	"1,4,2,0/32,4,1,1=1,4,2,0/8,2,1,1|1,4,2,0/32,4,1,1|110",
	"/;1,1,1,3/3,1,3,1=1,1,1,3/3,1,3,1|/|110",
	"1,2,1,1,1/1,0,1,1,1;3,2,2,3,1/6,1,18,2,1=3,2,2,3,1/6,1,18,2,1|1,2,1,1,1/2,1,1,1,1|000",
	"2,4,2,3/4,1,24,8;2,4,2,3/24,6,3,1=2,4,2,3/4,1,24,8|2,4,2,3/4,1,24,8|100",
	"4,4,2,4/32,1,4,8;4,4,2,4/1,16,64,4;4,2,4/1,4,8=4,4,2,4/32,1,4,8|4,4,2,4/32,1,4,8|100",
	"3,1,4/1,12,3;1,4/1,1=3,1,4/1,12,3|3,1,4/1,12,3|100",
	"1,3/1,1;1,1/1,1=1,3/1,1|1,3/1,1|110",
	"2,1,3/3,3,1;2,1,3/1,2,0;2,1,3/1,2,2=2,1,3/3,6,1|2,1,3/3,3,1|110",
	"2,1,2/0,1,0;1,0,1/1,0,1=2,0,2/2,2,1|2,1,2/2,2,1|000",
	"1,4,2,2/16,1,8,4=1,4,2,2/16,1,8,4|1,4,2,2/16,1,8,4|101",
	"4,0,0,1,1/2,1,1,1,1=4,0,0,1,1/1,1,1,1,1|4,0,0,1,1/2,1,1,1,1|110",
	"0,1,1/1,1,1;0,1,1/2,2,1=0,1,1/1,1,1|0,1,1/1,1,1|110",
	"1,4,2,1,2/16,4,1,16,2;1,4,2,1,2/128,32,8,4,2;1,4,2,1,2/16,4,2,2,1="
	"1,4,2,1,2/16,4,1,16,2|1,4,2,1,2/16,4,1,16,2|100",
	"1,3,1/1,1,1;3,3,2/1,6,3=3,3,2/1,6,3|1,3,1/1,1,1|110",
	"1,2,1,2,1/1,1,2,2,1=1,2,1,2,1/1,1,2,2,1|1,2,1,2,1/1,1,2,2,1|100",
};

static int
ints(const char *s, const char *end, int64_t *v)
{
	int n = 0;
	char *at;

	for (; s < end; s = *at == ',' ? at + 1 : at) {
		v[n++] = strtoll(s, &at, 10);
		if (at >= end)
			break;
	}
	return n;
}

/* Reads dims/strides up to one of the bytes in `stop`, and moves *s there. */
static RtTensor *
layout(RtCx *cx, const char **s, const char *stop)
{
	int64_t dims[8], strides[8];
	const char *slash = strchr(*s, '/'), *end = slash + strcspn(slash, stop);
	int n = ints(*s, slash, dims);

	ints(slash + 1, end, strides);
	*s = end;
	return rt_tensor_strided(cx, RT_f32, n, dims, strides);
}

static void
strides(void **state)
{
	RtCx *cx = *state;
	RtTensor *t[4], *r, *c, *own;
	int64_t got[8];

	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		const char *s = layouts[i];
		int n = 0;

		do
			t[n++] = layout(cx, &s, ";=");
		while (*s++ == ';');
		r = layout(cx, &s, "|");
		s++;
		c = layout(cx, &s, "|");
		rt_result_strides(r->ndim, r->dims, n, t, got);
		assert_memory_equal(got, r->strides, sizeof *got * r->ndim);
		own = rt_clone(cx, t[0]);
		assert_memory_equal(own->strides, c->strides, sizeof *got * c->ndim);
		assert_int_equal(rt_is_dense(t[0]), s[1] == '1');
		assert_int_equal(rt_is_contiguous(t[0]), s[2] == '1');
		if (t[0]->ndim == 4)
			assert_int_equal(rt_is_channels_last(t[0]), s[3] == '1');
		while (n)
			rt_tensor_release(t[--n]);
		rt_tensor_release(r);
		rt_tensor_release(c);
		rt_tensor_release(own);
	}
}

static void
promotion(void **state)
{
	/* torch.promote_types: a line for each of the first dtypes.  -1: there is none. */
	enum { FIRST = RT_bf16 + 1 };
	static const signed char want[FIRST][FIRST] = {
		{ 0, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, -1, -1, -1, 15 },
		{ 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, -1, -1, -1, 15 },
		{ 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2, -1, -1, -1, 15 },
		{ 3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 3, -1, -1, -1, 15 },
		{ 4, 4, 4, 4, 4, 5, 6, 7, 8, 9, 10, 4, -1, -1, -1, 15 },
		{ 5, 5, 5, 5, 5, 5, 6, 7, 8, 9, 10, 5, -1, -1, -1, 6 },
		{ 6, 6, 6, 6, 6, 6, 6, 7, 9, 9, 10, 6, -1, -1, -1, 6 },
		{ 7, 7, 7, 7, 7, 7, 7, 7, 10, 10, 10, 7, -1, -1, -1, 7 },
		{ 8, 8, 8, 8, 8, 8, 9, 10, 8, 9, 10, 8, -1, -1, -1, 9 },
		{ 9, 9, 9, 9, 9, 9, 9, 10, 9, 9, 10, 9, -1, -1, -1, 9 },
		{ 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, -1, -1, -1, 10 },
		{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1, -1, -1, 15 },
		{ -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 12, -1, -1, -1 },
		{ -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 13, -1, -1 },
		{ -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 14, -1 },
		{ 15, 15, 15, 15, 15, 6, 6, 7, 9, 9, 10, 15, -1, -1, -1, 15 },
	};

	(void)state;
	for (int a = 0; a < RT_NDTYPE; a++)
		for (int b = 0; b < RT_NDTYPE; b++) {
			const char x = rt_dtypes[a].category, y = rt_dtypes[b].category;
			const int unsigned_with_float = x == 'U' && y == 'F' ? b : x == 'F' && y == 'U' ? a : -1;
			RtDtype got = rt_promote((RtDtype)a, (RtDtype)b);

			assert_int_equal(got == RT_NDTYPE ? -1 : (int)got, a < FIRST && b < FIRST ? want[a][b] :
					 a == b ? a : unsigned_with_float);
		}
	assert_true(rt_can_cast(RT_i64, RT_f16) && rt_can_cast(RT_f64, RT_f16) && rt_can_cast(RT_b8, RT_u8));
	assert_false(rt_can_cast(RT_f16, RT_i64) || rt_can_cast(RT_c64, RT_f64) || rt_can_cast(RT_u8, RT_b8));
	assert_true(rt_can_cast(RT_u64, RT_i8) && rt_can_cast(RT_f64, RT_f8_e5m2) && rt_can_cast(RT_i64, RT_f8_e4m3fn));
	assert_false(rt_can_cast(RT_f8_e4m3fn, RT_u64) || rt_can_cast(RT_u16, RT_b8) ||
		     rt_can_cast(RT_c64, RT_f8_e5m2));
}

static void
casts(void **state)
{
	static const double in[] = { 300, -1, 1e10, -3e9, 0.0 / 0.0, 1e19, 1.5, -0.0, 65519.99, 65520, 0x1p-25,
		0x1.000002p-25 };
	static const uint8_t u8[] = { 44, 255, 0, 0, 0, 0, 1, 0, 239, 240, 0, 0 };
	static const int8_t i8[] = { 44, -1, 0, 0, 0, 0, 1, 0, -17, -16, 0, 0 };
	static const int32_t i32[] = { 300, -1, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, 1, 0, 65519, 65520, 0, 0 };
	static const int64_t i64[] = { 300, -1, 10000000000, -3000000000, INT64_MIN, INT64_MIN, 1, 0, 65519, 65520, 0,
		0 };
	static const uint8_t b8[] = { 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1 };
	static const uint16_t f16[] = { 0x5cb0, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7c00,
					0x3e00, 0x8000, 0x7bff, 0x7c00, 0,	1 };
	const struct { RtDtype d; const void *want; } row[] = {
		{ RT_u8, u8 }, { RT_i8, i8 }, { RT_i32, i32 }, { RT_i64, i64 }, { RT_b8, b8 }, { RT_f16, f16 },
	};
	char got[12 * 8];

	(void)state;
	for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
		int size = rt_dtypes[row[k].d].bytes;

		rt_cast(row[k].d, got, RT_f64, in, 12);
		assert_memory_equal(got, row[k].want, 12 * (size_t)size);
	}
	for (unsigned h = 0; h < 65536; h++) { /* every half and bfloat16 survives a conversion and back */
		if ((h & 0x7c00) != 0x7c00 || !(h & 0x3ff))
			assert_int_equal(rt_float_to_half(rt_half_to_float((uint16_t)h)), h);
		if ((h & 0x7f80) != 0x7f80 || !(h & 0x7f))
			assert_int_equal(rt_float_to_bf16(rt_bf16_to_float((uint16_t)h)), h);
	}
}

static void
is_rounded(uint32_t u)
{
	const float f = half_float(u);

	assert_int_equal(half_bits(half_rounded(f)), half_bits(half_to_float(float_to_half(f))));
	assert_int_equal(half_bits(bf16_rounded(f)), half_bits(bf16_to_float(float_to_bf16(f))));
}

/* Conversions to a narrow type: all floats, and floats next to and between two halves. */
static void
roundings(void **state)
{
	(void)state;
	for (uint64_t u = 0; u < (uint64_t)1 << 32; u += 4093)
		is_rounded((uint32_t)u);
	for (uint32_t h = 0; h < 65536; h++)
		for (uint32_t i = 0; i < 3; i++) {
			is_rounded(half_bits(half_to_float((uint16_t)h)) + 0xfff + i);
			is_rounded((h << 16) + 0x7fff + i);
		}
	for (uint32_t fraction = 0; fraction < 1 << 14; fraction++)      /* below the least half, and up to infinity */
		for (uint32_t exponent = 100; exponent < 256; exponent++)
			is_rounded(exponent << 23 | fraction << 9);
}

static RtTensor *
counting(RtCx *cx, RtDtype d, int ndim, const int64_t *dims)
{
	RtTensor *t = rt_tensor_new(cx, d, ndim, dims);
	int64_t n = rt_numel(t);

	for (int64_t i = 0; i < n; i++)
		rt_cast(d, rt_data(t) + i * rt_dtypes[d].bytes, RT_i64, &i, 1);
	return t;
}

/* Transposed copies of all shapes near the size of a tile, on one and on three threads. */
static void
copies(void **state)
{
	static const int64_t size[] = { 1, 3, 31, 32, 33, 100, 300 };
	static const RtDtype from[] = { RT_u8, RT_i16, RT_f32, RT_c128 };
	RtCx *cx = *state;

	for (int k = 0; k < 7 * 7 * 4 * 2; k++) {
		int64_t dims[] = { 2, size[k % 7], size[k / 7 % 7] }, turned[] = { 2, dims[2], dims[1] };
		int64_t s[] = { dims[1] * dims[2], 1, dims[2] };
		RtTensor *t, *view, *r;

		assert_int_equal(rt_threads(cx, k / 7 / 7 / 4 ? 3 : 1), RT_OK);
		t = counting(cx, from[k / 49 % 4], 3, dims);
		view = rt_tensor_view(cx, t, 3, turned, s, 0);
		r = rt_tensor_new(cx, RT_f64, 3, turned);
		assert_int_equal(rt_copy_into(cx, r, view), RT_OK);
		for (int64_t i = 0; i < rt_numel(r); i++) {
			int64_t a = i / s[0], b = i % s[0] / dims[1], c = i % dims[1], at = a * s[0] + c * dims[2] + b;

			assert_true(((double *)(void *)rt_data(r))[i] == (double)(t->dtype == RT_u8 ? at & 255 :
				t->dtype == RT_i16 ? (int16_t)at : at));
		}
		rt_tensor_release(t);
		rt_tensor_release(view);
		rt_tensor_release(r);
	}
	assert_int_equal(rt_threads(cx, 1), RT_OK);
}

/* t[1:] = t[:-1] moves the elements; it does not repeat the first one. */
static void
overlap(void **state)
{
	RtCx *cx = *state;
	int64_t ten[] = { 10 }, nine[] = { 9 }, one[] = { 1 }, zero[] = { 0 };
	RtTensor *t = counting(cx, RT_i64, 1, ten), *to = rt_tensor_view(cx, t, 1, nine, one, 1),
		*from = rt_tensor_view(cx, t, 1, nine, one, 0), *wide = rt_tensor_view(cx, t, 1, nine, zero, 0);

	assert_int_equal(rt_check_overlap(cx, to, to), RT_OK);
	assert_int_equal(rt_check_overlap(cx, to, wide), RT_OK);
	assert_int_equal(rt_check_overlap(cx, to, from), RT_ERROR);
	assert_non_null(strstr(cx->message, "some elements of the input tensor and the written-to tensor"));
	rt_clear_error(cx);
	assert_int_equal(rt_check_apart(cx, to, wide), RT_OK);
	assert_int_equal(rt_check_apart(cx, to, to), RT_ERROR);
	rt_clear_error(cx);
	assert_int_equal(rt_copy_into(cx, to, from), RT_OK);
	for (int i = 0; i < 10; i++)
		assert_int_equal(((int64_t *)(void *)rt_data(t))[i], i ? i - 1 : 0);
	assert_true(rt_overlaps_itself(wide));
	assert_int_equal(rt_copy_into(cx, wide, from), RT_ERROR);
	assert_non_null(strstr(cx->message, "more than one element of the written-to tensor"));
	assert_int_equal(rt_copy_into(cx, to, t), RT_ERROR);
	assert_string_equal(cx->message,
			    "The size of tensor a (9) must "
			    "match the size of tensor b (10) at non-singleton dimension 0");
	rt_tensor_release(t);
	rt_tensor_release(to);
	rt_tensor_release(from);
	rt_tensor_release(wide);
}

static void
limits(void **state)
{
	RtCx *cx = *state;
	int64_t huge[] = { INT64_C(1) << 40, INT64_C(1) << 40 }, bad[] = { 2, -1 }, two[] = { 2, 2 }, far[] = { 3, 1 };
	RtTensor *t, *v;

	assert_null(rt_tensor_new(cx, RT_f32, 2, huge));
	assert_string_equal(cx->message,
			    "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]");
	assert_null(rt_tensor_new(cx, RT_f32, 2, bad));
	assert_string_equal(cx->message, "Trying to create tensor with negative dimension -1: [2, -1]");
	t = rt_tensor_new(cx, RT_f32, 2, two);
	assert_null(rt_tensor_view(cx, t, 2, two, far, 0));
	assert_string_equal(cx->message, "setStorage: sizes [2, 2], strides [3, 1], storage offset 0, and itemsize 4 "
		"requiring a storage size of 20 are out of bounds for storage of size 16");
	assert_null(rt_tensor_view(cx, t, 2, two, two, INT64_MAX));
	cx->memory_limit = 1000;
	assert_null(rt_tensor_new(cx, RT_f32, 1, (int64_t[]){ 251 }));
	v = rt_tensor_new(cx, RT_f32, 1, (int64_t[]){ 200 });
	assert_non_null(v);
	assert_null(rt_tensor_new(cx, RT_f32, 1, (int64_t[]){ 100 }));
	cx->memory_limit = 0;
	rt_tensor_release(v);
	v = rt_tensor_view(cx, t, 2, two, t->strides, 0);
	/* The view sees the new memory. */
	assert_int_equal(rt_tensor_resize(cx, t, 2, (int64_t[]){ 100, 100 }), RT_OK);
	assert_ptr_equal(rt_data(v), rt_data(t));
	rt_tensor_release(v);
	rt_tensor_release(t);
}

/* A copy needs room for the whole source.  A transpose onto itself is a copy, too.  Numbers that do not fit are
 * refused. */
static void
checked(void **state)
{
	static const struct { RtDtype dtype; double number; bool fits;
	} row[] = {
		{ RT_u8, 255, true },	      { RT_u8, 256, false },	    { RT_u8, -255, true },
		{ RT_u8, -256, false },	      { RT_i8, -128, true },	    { RT_i8, -129, false },
		{ RT_i32, 0.0 / 0.0, false }, { RT_i32, 1.0 / 0.0, false }, { RT_f16, 1.0 / 0.0, true },
		{ RT_f16, -1.0 / 0.0, true }, { RT_f16, 65504, true },	    { RT_f16, 65520, false },
		{ RT_f16, -65520, false },    { RT_f32, 1e39, false },	    { RT_f32, 0.0 / 0.0, true },
		{ RT_b8, 1e300, true },
	};
	RtCx *cx = *state;
	int64_t square[] = { 3, 3 }, turned[] = { 1, 3 }, low[] = { 1, 3 }, high[] = { 2, 3 }, four[] = { 4 },
		none[] = { 0 };
	RtTensor *t = counting(cx, RT_i64, 2, square), *tt = rt_tensor_view(cx, t, 2, square, turned, 0),
		 *small = counting(cx, RT_i64, 2, low), *large = counting(cx, RT_i64, 2, high),
		 *one = counting(cx, RT_i64, 1, four), *wide;

	assert_int_equal(rt_copy_into(cx, small, large), RT_ERROR);
	assert_string_equal(cx->message, "output with shape [1, 3] doesn't match the broadcast shape [2, 3]");
	assert_int_equal(rt_copy_into(cx, large, small), RT_OK);
	for (int i = 0; i < 6; i++)
		assert_int_equal(((int64_t *)(void *)rt_data(large))[i], i % 3);
	assert_int_equal(rt_copy_into(cx, t, tt), RT_OK);
	for (int i = 0; i < 9; i++)
		assert_int_equal(((int64_t *)(void *)rt_data(t))[i], i % 3 * 3 + i / 3);
	wide = rt_tensor_view(cx, one, 1, four, none, 2);
	assert_int_equal(rt_fill(cx, wide, rt_int(50)), RT_OK);             /* one element with four indices */
	for (int i = 0; i < 4; i++)
		assert_int_equal(((int64_t *)(void *)rt_data(one))[i], i == 2 ? 50 : i);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		RtTensor *x = rt_tensor_new(cx, row[i].dtype, 1, four);

		if (rt_fill(cx, x, rt_double(row[i].number)) != (row[i].fits ? RT_OK : RT_ERROR))
			print_error("row %zu\n", i);
		assert_int_equal(rt_fill(cx, x, rt_double(row[i].number)), row[i].fits ? RT_OK : RT_ERROR);
		rt_clear_error(cx);
		rt_tensor_release(x);
	}
	rt_tensor_release(t);
	rt_tensor_release(tt);
	rt_tensor_release(small);
	rt_tensor_release(large);
	rt_tensor_release(one);
	rt_tensor_release(wide);
}

/* Properties of a tensor that a copy keeps besides the elements: its quantization, and whether it counts as a
 * number. */
static void
marks(void **state)
{
	RtCx *cx = *state;
	int64_t square[] = { 2, 2 }, turned[] = { 1, 2 };
	RtTensor *t = rt_tensor_new(cx, RT_qi8, 2, square), *tt, *c, *one = rt_wrapped(cx, rt_int(1));

	t->quant = rt_mem_counted(cx, sizeof *t->quant);
	t->quant->scale = 0.5;
	tt = rt_tensor_view(cx, t, 2, square, turned, 0);
	if (!tt->quant) {
		tt->quant = t->quant;
		rt_count_up(&t->quant->h);
	}
	c = rt_contiguous(cx, tt);
	assert_ptr_not_equal(rt_data(c), rt_data(tt));
	assert_ptr_equal(c->quant, t->quant);
	assert_true(one->flags & RT_WRAPPED);
	rt_tensor_release(one);
	rt_tensor_release(c);
	rt_tensor_release(tt);
	rt_tensor_release(t);
}

/* A write to weights makes a private copy, which all views see. */
static void
readonly(void **state)
{
	static const float weight[] = { 1, 2, 3, 4 };
	RtCx *cx = *state;
	int64_t four[] = { 4 };
	RtTensor *w = rt_tensor_borrow(cx, RT_f32, 1, four, weight, true);
	RtTensor *v = rt_tensor_view(cx, w, 1, four, w->strides, 0);

	assert_int_equal(rt_fill(cx, v, rt_int(7)), RT_OK);
	assert_true(weight[0] == 1 && ((float *)(void *)rt_data(w))[3] == 7);
	rt_tensor_release(v);
	rt_tensor_release(w);
}

/* Least and largest number of each type, and its name in the error for numbers beyond. */
static void
numbers(void **state)
{
	static const struct { RtDtype d; double least, most, beyond; const char *type; } row[] = {
		{ RT_u8, -255, 255, 256, "uint8_t" }, { RT_i8, -128, 127, 128, "int8_t" },
		{ RT_i16, -32768, 32767, 32768, "int16_t" }, { RT_i32, -0x1p31, 0x1p31 - 1, 0x1p31, "int" },
		{ RT_i64, -0x1p63, 0x1p63, 0x1.8p63, "int64_t" }, { RT_f16, -65504, 65504, 65505, "at::Half" },
		{ RT_bf16, -0x1.fep127, 0x1.fep127, 0x1.ffp127, "at::BFloat16" },
		{ RT_f32, -0x1.fffffep127, 0x1.fffffep127, 0x1p128, "float" },
		{ RT_u16, 0, 65535, 65536, "uint16_t" }, { RT_u32, 0, 0x1p32 - 1, 0x1p32, "uint32_t" },
		{ RT_u64, 0, 0x1.8p63, 0x1.8p64, "uint64_t" }, { RT_f8_e5m2, -57344, 57344, 57345, "c10::Float8_e5m2" },
		{ RT_f8_e4m3fn, -448, 448, 449, "c10::Float8_e4m3fn" },
		{ RT_f8_e5m2fnuz, -57344, 57344, 57345, "c10::Float8_e5m2fnuz" },
		{ RT_f8_e4m3fnuz, -240, 240, 241, "c10::Float8_e4m3fnuz" },
	};
	RtCx *cx = *state;
	char want[80];

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const double below = row[i].d == RT_u8 ? -256 : row[i].least < 0 ? row[i].least * 1.01 : -1;
		const char category = rt_dtypes[row[i].d].category;

		assert_int_equal(rt_check_number(cx, rt_double(row[i].least), row[i].d), RT_OK);
		assert_int_equal(rt_check_number(cx, rt_double(row[i].most), row[i].d), RT_OK);
		assert_int_equal(rt_check_number(cx, rt_double(row[i].beyond), row[i].d), RT_ERROR);
		snprintf(want, sizeof want, "value cannot be converted to type %s without overflow", row[i].type);
		assert_string_equal(cx->message, want);
		rt_clear_error(cx);
		assert_int_equal(rt_check_number(cx, rt_double(below), row[i].d), RT_ERROR);
		rt_clear_error(cx);
		assert_int_equal(rt_check_number(cx, rt_double(1.0 / 0.0), row[i].d),
				 category == 'F' || row[i].d == RT_f8_e5m2 ? RT_OK : RT_ERROR);
		rt_clear_error(cx);
		assert_int_equal(rt_check_number(cx, rt_double(0.0 / 0.0), row[i].d),
				 rt_kind(row[i].d) == 'I' ? RT_ERROR : RT_OK);
		rt_clear_error(cx);
	}
	assert_int_equal(rt_check_number(cx, rt_int(-1), RT_u64), RT_OK); /* as in PyTorch: all bits are ones */
	assert_int_equal(rt_check_number(cx, rt_double(0x1.fffffffffffffp1023), RT_f64), RT_OK);
	assert_int_equal(rt_check_number(cx, rt_double(1e300), RT_b8), RT_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strides), cmocka_unit_test(promotion), cmocka_unit_test(casts),
		cmocka_unit_test(roundings),
		cmocka_unit_test(copies),  cmocka_unit_test(overlap),	cmocka_unit_test(limits),
		cmocka_unit_test(checked), cmocka_unit_test(marks),	cmocka_unit_test(readonly),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
