/* tests/rt/npz.c - .npz files: what is written is read, what is damaged is refused
 */
#include "test.h"

typedef struct File { unsigned char *at; long n; char path[64]; } File;

static void
load(File *f)
{
	FILE *in = fopen(f->path, "rb");

	assert_non_null(in);
	fseek(in, 0, SEEK_END);
	f->n = ftell(in);
	rewind(in);
	f->at = malloc((size_t)f->n);
	assert_int_equal(fread(f->at, 1, (size_t)f->n, in), f->n);
	fclose(in);
}

static void
save(const File *f, long n)
{
	FILE *out = fopen(f->path, "wb");

	assert_non_null(out);
	assert_int_equal(fwrite(f->at, 1, (size_t)n, out), n);
	fclose(out);
}

/* Writes an archive of a tensor of every dtype, a text and a number. */
static void
make(RtCx *cx, File *f)
{
	static const char *const key[RT_NDTYPE] = { "a", "b.0", "b.1", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o" };
	RtArrays a = { 0 };
	int64_t dims[] = { 2, 3 };
	RtStr *s = rt_str_new(cx, "text \xe2\x98\x83", -1);
	int fd;

	strcpy(f->path, P_tmpdir "/npz-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	for (int d = 0; d < RT_NDTYPE; d++) {
		RtTensor *t = rt_tensor_new(cx, (RtDtype)d, d % 3, dims);

		for (int64_t i = 0; i < rt_numel(t); i++)
			rt_cast((RtDtype)d, rt_data(t) + i * rt_dtypes[d].bytes, 0, RT_i64, &i, 0, 1);
		assert_int_equal(rt_arrays_add(cx, &a, key[d], rt_of(t)), RT_OK);
		rt_tensor_release(t);
	}
	assert_int_equal(rt_arrays_add(cx, &a, "text", rt_ref(RT_STR, s)), RT_OK);
	assert_int_equal(rt_arrays_add(cx, &a, "number", rt_double(0.5)), RT_OK);
	assert_int_equal(rt_npz_write(cx, f->path, &a), RT_OK);
	rt_release(rt_ref(RT_STR, s));
	rt_arrays_free(&a);
	load(f);
}

static void
file_free(File *f)
{
	unlink(f->path);
	free(f->at);
}

static void
whole(void **state)
{
	RtCx *cx = *state;
	RtArrays a = { 0 };
	File f, again;

	make(cx, &f);
	assert_int_equal(rt_npz_read(cx, f.path, &a), RT_OK);
	assert_int_equal(a.n, RT_NDTYPE + 2);
	assert_int_equal(rt_arrays_find(&a, "o")->dtype, RT_bf16);
	assert_int_equal(rt_arrays_find(&a, "h")->dtype, RT_f64 + 1);
	assert_string_equal(rt_arrays_find(&a, "text")->text->s, "text \xe2\x98\x83");
	assert_true(*(double *)(void *)rt_data(rt_arrays_find(&a, "number")->tensor) == 0.5);
	rt_arrays_free(&a);
	make(cx, &again);
	assert_int_equal(again.n, f.n);
	assert_memory_equal(again.at, f.at, (size_t)f.n);               /* same inputs, same bytes */
	file_free(&again);
	file_free(&f);
}

/* Every prefix of the file, and every byte changed in three ways: an error or, where nothing depends on it, success. */
static void
damaged(void **state)
{
	RtCx *cx = *state;
	RtArrays a = { 0 };
	File f;
	int accepted = 0;

	make(cx, &f);
	for (long n = 0; n < f.n; n += n < 400 || n > f.n - 100 ? 1 : 37) {
		save(&f, n);
		assert_int_equal(rt_npz_read(cx, f.path, &a), RT_ERROR);
		assert_int_equal(a.n, 0);
	}
	for (long i = 0; i < f.n; i += i < 400 || i > f.n - 1500 ? 1 : 13)
		for (int k = 0; k < 3; k++) {
			unsigned char was = f.at[i];

			f.at[i] = k == 0 ? (unsigned char)(was ^ 1) : k == 1 ? 0xff : 0;
			save(&f, f.n);
			f.at[i] = was;
			accepted += rt_npz_read(cx, f.path, &a) == RT_OK;
			rt_arrays_free(&a);
		}
	assert_true(accepted > 0);
	file_free(&f);
}

static void
put_npy(File *f, const char *header, const void *data, size_t n)
{
	f->at = calloc(1, 4096);
	memcpy(f->at, "\x93NUMPY\1\0", 8);
	f->at[8] = (unsigned char)strlen(header);
	memcpy(f->at + 10, header, strlen(header));
	memcpy(f->at + 10 + strlen(header), data, n);
	f->n = (long)(10 + strlen(header) + n);
}

static void
little(unsigned char *p, uint32_t v, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

/* The bytes of f as the stored member x.npy. */
static void
wrap(File *f)
{
	unsigned char *z = calloc(1, (size_t)f->n + 200), *d = z + 35 + f->n;

	memcpy(z, "PK\3\4", 4);
	little(z + 26, 5, 2);
	memcpy(z + 30, "x.npy", 5);
	memcpy(z + 35, f->at, (size_t)f->n);
	memcpy(d, "PK\1\2", 4);
	little(d + 16, rt_crc32(f->at, f->n), 4);
	little(d + 20, (uint32_t)f->n, 4);
	little(d + 24, (uint32_t)f->n, 4);
	little(d + 28, 5, 2);
	memcpy(d + 46, "x.npy", 5);
	memcpy(d + 51, "PK\5\6", 4);
	little(d + 51 + 10, 1, 2);
	little(d + 51 + 12, 51, 4);
	little(d + 51 + 16, (uint32_t)(35 + f->n), 4);
	free(f->at);
	f->at = z;
	f->n += 35 + 51 + 22;
}

static void
headers(void **state)
{
	static const struct { const char *header, *error; } row[] = {
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n", 0 },
		{ "{\"shape\": (2,3),'descr':'<i2','fortran_order':False}", 0 },
		{ "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", 0 },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (6,), }", 0 },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 0 },
		{ "{'descr': '<U3', 'fortran_order': False, 'shape': (), }", "'x': is no text" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 4), }", "'x': its shape and its 12 bytes of data do not agree" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (6), }", "'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (-6,), }", "'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'fortran_order': False}", "'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': (6,)}", "'x': the header of the .npy is damaged" },
		{ "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "'x': arrays of type |O are not known" },
		{ "{'descr': '<u2', 'fortran_order': False, 'shape': (6,), }", "'x': arrays of type <u2 are not known" },
		{ "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (6,), }", "'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }",
			"'x': its shape and its 12 bytes of data do not agree" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,), }", "'x': the header of the .npy is damaged" },
	};
	const int16_t data[] = { 0, 1, 2, -1, -1, -1 };
	RtCx *cx = *state;
	RtArrays a = { 0 };
	File f = { .path = P_tmpdir "/npz-XXXXXX" };
	int fd = mkstemp(f.path);

	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		int status;

		put_npy(&f, row[i].header, data, sizeof data);
		wrap(&f);
		save(&f, f.n);
		free(f.at);
		status = rt_npz_read(cx, f.path, &a);
		if (row[i].error) {
			assert_memory_equal(cx->message, f.path, strlen(f.path));
			assert_string_equal(cx->message + strlen(f.path) + 2, row[i].error);
		} else
			assert_int_equal(status, RT_OK);
		rt_arrays_free(&a);
	}
	unlink(f.path);
}

static void
deflated(void **state)
{
	/* raw deflate of "abcabcabc...": stored, fixed, dynamic codes; and wrong ones */
	static const struct { const char *in; int n; const char *out; } row[] = {
		{ "\x01\x03\x00\xfc\xff" "abc", 8, "abc" },
		{ "KLJN\x04#\x00", 7, "abcabcabc" },
		{ "KLJN\x04", 5, 0 },
		{ "\x01\x03\x00\xfc\xfe" "abc", 8, 0 },
		{ "\x01\x04\x00\xfb\xff" "abc", 8, 0 },
		{ "\x07", 1, 0 },
		{ "\x05\xff\xff\xff\xff\xff", 6, 0 },
		{ "", 0, 0 },
	};
	char out[16];

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		int64_t n = row[i].out ? (int64_t)strlen(row[i].out) : 9;

		assert_int_equal(rt_inflate(row[i].in, row[i].n, out, n), row[i].out != 0);
		if (row[i].out)
			assert_memory_equal(out, row[i].out, (size_t)n);
	}
	assert_int_equal(rt_crc32("123456789", 9), 0xcbf43926);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole), cmocka_unit_test(damaged), cmocka_unit_test(headers), cmocka_unit_test(deflated),
	};

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
