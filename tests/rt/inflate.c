/* tests/rt/inflate.c - inflating deflated data returns the original.  Invalid streams are refused, and nothing is
 * written past the output */
#include "test.h"

#include <zlib.h>

enum { ROOM = 64 };

/* A stream that is being written, from the lowest bit of each byte on. */
typedef struct Stream { unsigned char at[1024]; int bits; } Stream;

static void
put(Stream *s, unsigned value, int n)
{
	for (int i = 0; i < n; i++, s->bits++)
		s->at[s->bits / 8] = (unsigned char)(s->at[s->bits / 8] | (value >> i & 1) << s->bits % 8);
}

/* Writes a code from its highest bit on. */
static void
put_code(Stream *s, unsigned code, int n)
{
	while (n-- > 0)
		put(s, code >> n & 1, 1);
}

/* Writes a symbol in fixed codes. */
static void
put_fixed(Stream *s, int symbol)
{
	if (symbol < 144)
		put_code(s, 0x30 + (unsigned)symbol, 8);
	else if (symbol < 256)
		put_code(s, 0x190 + (unsigned)(symbol - 144), 9);
	else if (symbol < 280)
		put_code(s, (unsigned)(symbol - 256), 7);
	else
		put_code(s, 0xc0 + (unsigned)(symbol - 280), 8);
}

/* Inflates the stream.  It must give these n bytes or, if want is null, be refused.  Memory around the output must not
 * change. */
static void
check(const Stream *s, const char *want, int n, const char *what, size_t row)
{
	unsigned char out[3 * ROOM];
	bool right;

	memset(out, 0x5a, sizeof out);
	right = rt_inflate(s->at, (s->bits + 7) / 8, out + ROOM, n) == (want != NULL) &&
		(!want || !memcmp(out + ROOM, want, (size_t)n));
	for (int i = 0; i < ROOM; i++)
		right &= out[i] == 0x5a && out[ROOM + n + i] == 0x5a;
	if (!right)
		print_error("%s %zu is %s\n", what, row,
			    want ? "refused, or gives something else" : "taken, or written past its end");
	assert_true(right);
}

/* Makes one fixed block of these symbols, ended by -1.  Lengths have no extra bits.  The code of a distance follows
 * that of its length. */
static Stream
fixed(const int *symbol)
{
	Stream s = { .bits = 0 };

	put(&s, 1, 1);
	put(&s, 1, 2);
	for (; *symbol >= 0; symbol++) {
		put_fixed(&s, *symbol);
		if (*symbol > 256)
			put_code(&s, (unsigned)*++symbol, 5);
	}
	return s;
}

static void
test_fixed(void **state)
{
	static const struct { int symbol[8]; const char *gives; int n; } row[] = {
		{ { 'a', 'b', 256, -1 }, "ab", 2 },
		{ { 'a', 'b', 257, 1, 256, -1 }, "ababa", 5 },           /* copies three bytes from a distance of two */
		{ { 'a', 'b', 257, 2, 256, -1 }, NULL, 5 }, /* copies from a distance of three after two bytes */
		{ { 257, 0, 256, -1 }, NULL, 3 },                        /* copies from before the first byte */
		{ { 'a', 257, 0, 256, -1 }, "aaaa", 4 },
		{ { 'a', 257, 0, 256, -1 }, NULL, 3 },                   /* one byte more than the buffer holds */
		{ { 'a', 257, 0, 256, -1 }, NULL, 5 },                   /* one byte less than declared */
		{ { 'a', 'b', 256, -1 }, NULL, 1 },
		{ { 'a', 'b', 256, -1 }, NULL, 3 },
		{ { 'a', 286, 0, 256, -1 }, NULL, 1 },                   /* invalid symbols and distances */
		{ { 'a', 287, 0, 256, -1 }, NULL, 1 },
		{ { 'a', 257, 30, 256, -1 }, NULL, 4 },
		{ { 'a', 257, 31, 256, -1 }, NULL, 4 },
		{ { 'a', 'b', -1 }, NULL, 2 },                           /* no end symbol */
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const Stream s = fixed(row[i].symbol);

		check(&s, row[i].gives, row[i].n, "row", i);
	}
}

/* An invalid distance, after enough bytes for any value that a reader might take it for. */
static void
test_far(void **state)
{
	enum { RUNS = 300, N = 1 + 258 * RUNS };
	char *out = malloc(N + 3);

	(void)state;
	for (unsigned distance = 0; distance < 32; distance += 30) {
		Stream s = { .bits = 0 };

		put(&s, 1, 1);
		put(&s, 1, 2);
		put_fixed(&s, 'a');
		for (int i = 0; i < RUNS; i++) {
			put_fixed(&s, 285);
			put_code(&s, 0, 5);
		}
		put_fixed(&s, 257);
		put_code(&s, distance, 5);
		put(&s, 0, distance ? 14 : 0);
		put_fixed(&s, 256);
		assert_int_equal(rt_inflate(s.at, (s.bits + 7) / 8, out, N + 3), !distance);
	}
	free(out);
}

/* An invalid length, with room for any value that a reader might take it for. */
static void
test_long(void **state)
{
	enum { MOST = 1 << 16 };
	char *out = malloc(MOST);

	(void)state;
	for (int symbol = 286; symbol < 288; symbol++) {
		const Stream s = fixed((const int[]){ 'a', symbol, 0, 256, -1 });

		for (int n = 1; n <= MOST; n++)
			assert_false(rt_inflate(s.at, (s.bits + 7) / 8, out, n));
	}
	free(out);
}

static void
test_stored(void **state)
{
	static const struct { unsigned n, check; const char *data, *gives; int cap; } row[] = {
		{ 3, 0xfffc, "abc", "abc", 3 }, { 3, 0xfffd, "abc", NULL, 3 }, { 3, 3, "abc", NULL, 3 },
		{ 4, 0xfffb, "abc", NULL, 4 },
		{ 3, 0xfffc, "abc", NULL, 2 }, { 3, 0xfffc, "abc", NULL, 4 }, { 0, 0xffff, "", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		Stream s = { .bits = 0 };

		put(&s, 1, 8);
		put(&s, row[i].n, 16);
		put(&s, row[i].check, 16);
		for (const char *p = row[i].data; *p; p++)
			put(&s, (unsigned char)*p, 8);
		check(&s, row[i].gives, row[i].cap, "row", i);
	}
}

/* Numbers of codes, and the symbols that encode the code lengths, with their extra bits. */
typedef struct Lengths { int nliteral, ndistance; struct { int symbol, extra; } say[12]; } Lengths;

/* Makes a dynamic block, in which the code lengths 0, 1, 16 (repeat) and 18 (many zeros) have codes of two bits
 * each. */
static Stream
dynamic(const Lengths *l)
{
	static const int order[] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
	Stream s = { .bits = 0 };

	put(&s, 1, 1);
	put(&s, 2, 2);
	put(&s, (unsigned)l->nliteral - 257, 5);
	put(&s, (unsigned)l->ndistance - 1, 5);
	put(&s, 14, 4);
	for (int i = 0; i < 18; i++)
		put(&s, order[i] == 0 || order[i] == 1 || order[i] == 16 || order[i] == 18 ? 2 : 0, 3);
	for (int i = 0; i < 12 && l->say[i].symbol >= 0; i++) {
		const int symbol = l->say[i].symbol;

		put_code(&s, symbol == 0 ? 0 : symbol == 1 ? 1 : symbol == 16 ? 2 : 3, 2);
		if (symbol == 16)
			put(&s, (unsigned)l->say[i].extra - 3, 2);
		if (symbol == 18)
			put(&s, (unsigned)l->say[i].extra - 11, 7);
	}
	return s;
}

static void
test_dynamic(void **state)
{
	/* Codes of one bit each for 'a', for the end, and for one distance. */
	static const Lengths fine = { 257, 1, { { 18, 97 }, { 1, 0 }, { 18, 138 }, { 18, 20 }, { 1, 0 }, { 1, 0 },
		{ -1, 0 } } };
	static const struct { const char *what; Lengths l; } wrong[] = {
		{ "three codes of one bit", { 257, 1, { { 18, 96 }, { 1, 0 }, { 1, 0 }, { 18, 138 }, { 18, 20 },
		{ 1, 0 }, { 1, 0 }, { -1, 0 } } } },
		{ "more lengths than there are", { 257, 1, { { 18, 97 }, { 1, 0 }, { 18, 138 }, { 18, 20 }, { 1, 0 },
		{ 16, 3 }, { -1, 0 } } } },
		{ "a repeat of nothing", { 257, 1, { { 16, 3 }, { 18, 94 }, { 1, 0 }, { 18, 138 }, { 18, 20 },
		{ 1, 0 }, { 1, 0 }, { -1, 0 } } } },
		{ "no end", { 257, 1, { { 18, 97 }, { 1, 0 }, { 1, 0 }, { 18, 138 }, { 18, 20 }, { 1, 0 },
		{ -1, 0 } } } },
		{ "288 symbols", { 288, 1, { { 18, 97 }, { 1, 0 }, { 18, 138 }, { 18, 20 }, { 1, 0 }, { 18, 31 },
		{ 1, 0 }, { -1, 0 } } } },
	};
	Stream s = dynamic(&fine);

	(void)state;
	put(&s, 0, 2);
	put(&s, 1, 1);
	check(&s, "aa", 2, "what is fine", 0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		/* Some of these bits might be read as "aa" and an end. */
		for (unsigned data = 0; data < 8; data++) {
			s = dynamic(&wrong[i].l);
			put(&s, data, 3);
			put(&s, 0, 16);
			check(&s, NULL, 2, wrong[i].what, i);
		}
}

/* Data that zlib packs, at every level and strategy: few symbols and all, codes of up to 15 bits, short and long
 * distances. */
static void
test_zlib(void **state)
{
	enum { N = 200000 };
	unsigned char *data = malloc(N), *packed = malloc(2 * N), *out = malloc(N);
	uint64_t x = 88172645463325252u;

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		for (int i = 0; i < N; i++) {
			int bits = 0;

			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			for (uint64_t r = x >> 20; r & 1; r >>= 1)
				bits++;
			data[i] = (unsigned char)(kind == 0 ? (int)(x >> 33 & 255) : kind == 1 ? bits * 7 :
				kind == 2 ? i / 300 :
						  i > 40000 && i % 5 ? data[i - 32000] : (int)(x >> 40) % 20);
		}
		for (int level = 0; level < 10; level += 3)
			for (int strategy = 0; strategy < 5; strategy++) {
				z_stream z = { .next_in = data, .avail_in = N, .next_out = packed, .avail_out = 2 * N };
				int64_t n;

				assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, 9, strategy), Z_OK);
				assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
				n = (int64_t)z.total_out;
				deflateEnd(&z);
				assert_true(rt_inflate(packed, n, out, N));
				assert_memory_equal(out, data, N);
				assert_false(rt_inflate(packed, n, out, N - 1));
				assert_false(rt_inflate(packed, n - 1, out, N));
			}
		assert_int_equal(rt_crc32(data, N), crc32(0, data, N));
		assert_int_equal(rt_crc32(data + 3, N - 10), crc32(0, data + 3, N - 10));
	}
	free(data);
	free(packed);
	free(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed), cmocka_unit_test(test_far), cmocka_unit_test(test_long),
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_dynamic), cmocka_unit_test(test_zlib),
	};

	return cmocka_run_group_tests(tests, cx_setup, cx_teardown);
}
