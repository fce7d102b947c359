/* tests/rt/npz.c - .npz files: written arrays are read back, damaged files are refused */
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
	RtArrays a = { 0 };
	int64_t dims[] = { 2, 3 };
	RtStr *s = rt_str_new(cx, "text \xe2\x98\x83", -1);
	int fd;

	strcpy(f->path, P_tmpdir "/npz-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	for (int d = 0; d < RT_NDTYPE; d++) {
		RtTensor *t;

		if (rt_dtypes[d].category == '?')
			continue;
		t = rt_tensor_new(cx, (RtDtype)d, d % 3, dims);

		for (int64_t i = 0; i < rt_numel(t); i++)
			rt_cast((RtDtype)d, rt_data(t) + i * rt_dtypes[d].bytes, RT_i64, &i, 1);
		assert_int_equal(rt_arrays_add(cx, &a, rt_dtypes[d].torch, rt_of(t)), RT_OK);
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
	for (int d = 0; d < RT_NDTYPE; d++)              /* quantized tensors are read back as their integers */
		if (rt_dtypes[d].category != '?' && rt_dtypes[d].category != 'Q')
			assert_int_equal(rt_arrays_find(&a, rt_dtypes[d].torch)->dtype, d);
	assert_string_equal(rt_arrays_find(&a, "text")->text->s, "text \xe2\x98\x83");
	assert_true(*(double *)(void *)rt_data(rt_arrays_find(&a, "number")->tensor) == 0.5);
	rt_arrays_free(&a);
	make(cx, &again);
	assert_int_equal(again.n, f.n);
	assert_memory_equal(again.at, f.at, (size_t)f.n);               /* same inputs, same bytes */
	file_free(&again);
	file_free(&f);
}

/* Reads every prefix of the file, and the file with every byte changed in three ways.  Gives an error, or success if
 * nothing depends on the byte. */
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

/* Makes a file with the bytes of f as the stored member x.npy. */
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
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 4), }",
		  "'x': its shape and its 12 bytes of data do not agree" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (6), }",
		  "'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (-6,), }",
		  "'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'fortran_order': False}", "'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': (6,)}",
		  "'x': the header of the .npy is damaged" },
		{ "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "'x': arrays of type |O are not known" },
		{ "{'descr': '<u3', 'fortran_order': False, 'shape': (6,), }",
		  "'x': arrays of type <u3 are not known" },
		{ "{'descr': [('float8_e5m2', '|u1')], 'fortran_order': False, 'shape': (12,), }", NULL },
		{ "{'descr': [('float8_e5m2', '|u1'), ('b', '|u1')], 'fortran_order': False, 'shape': (6,), }",
			"'x': arrays of type [('float8_e5m2', '|u1'), ('b', '|u1')] are not known" },
		{ "{'descr': '|V1', 'fortran_order': False, 'shape': (12,), }",
			"'x': the array has single bytes (|V1) without their format; 8-bit floats are read "
			"from an array of type [('float8_e4m3fn', '|u1')]" },
		{ "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (6,), }",
			"'x': arrays of type [('a', '<i2')] are not known" },
		{ "{'descr': [('a', '<i2'), 'fortran_order': False, 'shape': (6,), }",
			"'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }",
			"'x': its shape and its 12 bytes of data do not agree" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,), }",
		"'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (18446744073709551622,), }",
		"'x': the header of the .npy is damaged" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (6, 9223372036854775807), }",
			"'x': its shape and its 12 bytes of data do not agree" },
		{ "{'descr': '<i2', 'fortran_order': False, 'shape': (6, 1,1,1,1,1,1,1,1, 1,1,1,1,1,1,1,1, "
			"1,1,1,1,1,1,1,1, 1,1,1,1,1,1,1,1, "
			"1,1,1,1,1,1,1,1, 1,1,1,1,1,1,1,1, 1,1,1,1,1,1,1,1, 1,1,1,1,1,1,1,1)}",
				"'x': the header of the .npy is damaged" },
		{ "{'descr': '<i234567890123456789012345678901', 'fortran_order': False, 'shape': (6,), }",
			"'x': the header of the .npy is damaged" },
		{ "{'descr': '<i23456789012345678901234567890', 'fortran_order': False, 'shape': (6,), }",
			"'x': arrays of type <i23456789012345678901234567890 are not known" },
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

/* ---- one thing wrong with an archive that is right without it ---- */

/* Offsets in the files that wrap() makes.  Negative ones count from the end. */
enum { DATA = 35, ENTRY = -73, END = -22 };

typedef struct Change { const char *header, *data; int n, at, size; uint32_t value; const char *error; } Change;

/* Reads an array of this header and data from an archive with one changed field.  Returns the error without the file's
 * name. */
static const char *
read_changed(RtCx *cx, RtArrays *a, const Change *c)
{
	File f = { .path = P_tmpdir "/npz-XXXXXX" };
	int fd = mkstemp(f.path);
	size_t name = strlen(f.path) + 2;

	close(fd);
	put_npy(&f, c->header, c->data, (size_t)c->n);
	wrap(&f);
	if (c->size)
		little(f.at + (c->at < 0 ? f.n : 0) + c->at, c->value, c->size);
	if (c->at >= DATA)                           /* a byte of the member, so its CRC is corrected */
		little(f.at + f.n + ENTRY + 16, rt_crc32(f.at + DATA, f.n - 35 - 51 - 22), 4);
	save(&f, f.n);
	fd = rt_npz_read(cx, f.path, a);
	file_free(&f);
	return fd ? cx->message + (strlen(cx->message) > name ? name : 0) : NULL;
}

#define I2 "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }"
#define U(order, n) "{'descr': '" order "U" n "', 'fortran_order': False, 'shape': (), }"

static void
archives(void **state)
{
	static const Change row[] = {
		{ I2, "\1\0\2\0", 4, 0, 0, 0, NULL },
		{ I2, "\1\0\2\0", 4, DATA + 6, 1, 4, "'x' is no .npy array" },                    /* its version */
		{ I2, "\1\0\2\0", 4, DATA + 7, 1, 1, "'x' is no .npy array" },
		/* A header longer than the file. */
		{ I2 "    ", "    ", 4, DATA + 8, 2, sizeof I2 - 1 + 9, "'x': the header of the .npy is damaged" },
		{ U("<", "1"), "a\0\0\0", 4, 0, 0, 0, NULL },
		{ U("<", "1"), "a\0\0\0\0", 5, 0, 0, 0, "'x': its type <U1 and its 5 bytes of data do not agree" },
		{ U("<", "2"), "a\0\0\0", 4, 0, 0, 0, "'x': its type <U2 and its 4 bytes of data do not agree" },
		{ U("<", "1"), "\0\xdf\0\0", 4, 0, 0, 0, "'x': is no text" },
		{ U(">", "1"), "\0\0\0a", 4, 0, 0, 0, NULL },
		{ I2, "\1\0\2\0", 4, END + 12, 4, 1000, "is no .npz file or damaged: its directory lies outside" },
		{ I2, "\1\0\2\0", 4, END + 10, 2, 2, "is no .npz file or damaged: its directory lies outside" },
		{ I2, "\1\0\2\0", 4, END + 16, 4, 1000, "is no .npz file or damaged: its directory lies outside" },
		/* No zip64 field. */
		{ I2, "\1\0\2\0", 4, ENTRY + 24, 4, 0xffffffff, "is no .npz file or damaged: sizes of an entry" },
		/* A name longer than the entry. */
		{ I2, "\1\0\2\0", 4, ENTRY + 28, 2, 6, "is no .npz file or damaged: an entry of its directory" },
		/* A name with a zero byte. */
		{ I2, "\1\0\2\0", 4, ENTRY + 48, 1, 0, "is no .npz file or damaged: an entry of its directory" },
		{ I2, "\1\0\2\0", 4, ENTRY + 8, 2, 1, "member 'x' is damaged: it is encrypted" },
		{ I2, "\1\0\2\0", 4, ENTRY + 10, 2, 9, "member 'x' is damaged: it is neither stored nor deflated" },
		{ I2, "\1\0\2\0", 4, ENTRY + 16, 4, 7, "member 'x' is damaged: its CRC-32 is wrong" },
		{ I2, "\1\0\2\0", 4, ENTRY + 20, 4, 5, "member 'x' is damaged: it is neither stored nor deflated" },
		{ I2, "\1\0\2\0", 4, ENTRY + 20, 4, 1000, "member 'x' is damaged: it lies outside the file" },
		{ I2, "\1\0\2\0", 4, ENTRY + 42, 4, 1000, "member 'x' is damaged: it lies outside the file" },
		{ I2, "\1\0\2\0", 4, 26, 2, 1000, "member 'x' is damaged: it lies outside the file" },
	};
	RtCx *cx = *state;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		RtArrays a = { 0 };
		const char *error = read_changed(cx, &a, &row[i]);

		if (!error != !row[i].error || (error && strcmp(error, row[i].error))) {
			print_error("row %zu: %s\n", i, error ? error : "no error");
			assert_true(false);
		}
		rt_arrays_free(&a);
	}
}

/* A header that would end after its member, in blanks.  The bytes there do not belong to the member. */
static void
header_past_member(void **state)
{
	RtCx *cx = *state;

	for (unsigned more = 0; more < 9; more += 4) {
		File f = { .path = P_tmpdir "/npz-XXXXXX" };
		int fd = mkstemp(f.path), status;
		RtArrays a = { 0 };
		unsigned char *directory;

		close(fd);
		put_npy(&f, I2, "    ", 4);
		little(f.at + 8, (uint32_t)strlen(I2) + more, 2);
		wrap(&f);
		f.at = realloc(f.at, (size_t)f.n + 16);
		directory = f.at + f.n + ENTRY;
		memmove(directory + 16, directory, 73);
		memset(directory, ' ', 16);
		f.n += 16;
		little(f.at + f.n + END + 16, (uint32_t)(f.n + ENTRY), 4);
		save(&f, f.n);
		status = rt_npz_read(cx, f.path, &a);
		assert_int_equal(status, more ? RT_ERROR : RT_OK);
		if (more)
			assert_non_null(strstr(cx->message, more == 4 ? "do not agree" :
				"the header of the .npy is damaged"));
		rt_arrays_free(&a);
		file_free(&f);
	}
}

/* Bools are 0 and 1, whatever the bytes are.  Texts are read in either byte order. */
static void
contents(void **state)
{
	const Change truth = { .header = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", .data =
		"\2\0\xff", .n = 3 };
	const Change text = { .header = U(">", "1"), .data = "\0\0\0a", .n = 4 };
	RtCx *cx = *state;
	RtArrays a = { 0 };

	assert_null(read_changed(cx, &a, &truth));
	assert_memory_equal(rt_data(rt_arrays_find(&a, "x")->tensor), "\1\0\1", 3);
	rt_arrays_free(&a);
	assert_null(read_changed(cx, &a, &text));
	assert_string_equal(rt_arrays_find(&a, "x")->text->s, "a");
	rt_arrays_free(&a);
}

/* A member whose few bytes claim to inflate to many is refused.  So is a zip64 field that is too short. */
static void
lies(void **state)
{
	static const unsigned char field[][12] = { { 1, 0, 4, 0, 9, 0, 0, 0 }, { 1, 0, 9, 0, 9, 0, 0, 0 },
		{ 1, 0, 8, 0, 0 } };
	RtCx *cx = *state;

	for (int i = 0; i < 4; i++) {
		File f = { .path = P_tmpdir "/npz-XXXXXX" };
		int fd = mkstemp(f.path), status;
		RtArrays a = { 0 };
		unsigned char *d;
		long size;

		close(fd);
		put_npy(&f, I2, "\1\0\2\0", 4);
		size = f.n;
		wrap(&f);
		f.at = realloc(f.at, (size_t)f.n + 4000);
		d = f.at + f.n + ENTRY;
		little(d + 24, i < 3 ? 0xffffffff : 1u << 20, 4);
		if (i == 3) {
			little(d + 10, 8, 2);
			memset(f.at + f.n, 0, 4000);         /* the file itself is large enough */
			f.n += 4000;
		} else {
			memmove(d + 51 + 12, d + 51, 22);
			memcpy(d + 51, field[i], 12);
			little(d + 30, 12, 2);
			f.n += 12;
			little(f.at + f.n + END + 12, 63, 4);
			if (i == 2)
				little(d + 55, (uint32_t)size, 4);
		}
		save(&f, f.n);
		status = rt_npz_read(cx, f.path, &a);
		if (i == 2 ? status
			   : !status || !strstr(cx->message, i == 3 ? "it is too large" : "sizes of an entry")) {
			print_error("%d: %s\n", i, status ? cx->message : "no error");
			assert_true(false);
		}
		rt_arrays_free(&a);
		file_free(&f);
	}
}

static void
deflated(void **state)
{
	/* Raw deflate of "abcabcabc...": stored, fixed and dynamic codes, and invalid ones. */
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

/* Numbers in texts: where they end, and which are too large.  A text may end before its zero byte. */
static void
decimals(void **state)
{
	static const struct { const char *text; bool is; int64_t want; const char *rest; } row[] = {
		{ "0", true, 0, "" }, { "17.x", true, 17, ".x" }, { "-3", true, -3, "" }, { "+05 ", true, 5, " " },
		{ "9223372036854775807", true, INT64_MAX, "" }, { "-9223372036854775808", true, INT64_MIN, "" },
		{ "9223372036854775808", false, 0, "" }, { "-9223372036854775809", false, 0, "" },
		{ "99999999999999999999", false, 0, "" }, { "", false, 0, "" }, { "-", false, 0, "" },
		{ "x1", false, 0, "" }, { " 1", false, 0, "" }, { "--1", false, 0, "" },
	};
	const char *s = "1234";
	int64_t got;

	(void)state;
	assert_true(rt_read_int(&s, s + 2, &got));
	assert_int_equal(got, 12);
	assert_string_equal(s, "34");
	assert_false(rt_read_int(&s, s, &got));
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		s = row[i].text;
		assert_int_equal(rt_read_int(&s, NULL, &got), row[i].is);
		if (row[i].is) {
			assert_int_equal(got, row[i].want);
			assert_string_equal(s, row[i].rest);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole), cmocka_unit_test(damaged), cmocka_unit_test(headers),
		cmocka_unit_test(archives), cmocka_unit_test(header_past_member), cmocka_unit_test(contents),
		cmocka_unit_test(lies), cmocka_unit_test(deflated), cmocka_unit_test(decimals),
	};

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
