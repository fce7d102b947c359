/* Kernels of several samples as one: what differs becomes a size of symbols, and axes merge for all sizes or none. */
#include "../../codegen/kernel/lower.h"
#include "reader.h"
#include "../../frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

enum { SAMPLES = 3 };
static Sizes sizes = {
	.nsample = SAMPLES, .nsymbol = 2, .natom = 4,
	.atom = { { 5, 7, 11 }, { 13, 3, 8 }, { 4611686018427387904, 4616189618054758400, 4620693217682128896 },
		  { 65, 21, 88 } },
	.range = { { 2, 64 }, { 2, 64 } },
};

/* A kernel with the samples' numbers in place of @; expected: as text, once it is simplified; null: it has no form. */
static const struct { const char *text; int64_t number[8][SAMPLES]; const char *expected; } cases[] = {
	/* Axes that merge, and what follows from extents. */
	{ "kernel map  # neg\noperands\n  y0 f32 write @*i0 + i1\n  x1 f32 read @*i0 + i1\naxes i0: @, i1: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule rows of i1; units 1; grain 1\nend\n",
	  { { 26, 6, 16 }, { 26, 6, 16 }, { 5, 7, 11 }, { 26, 6, 16 } },
	  "  y0 f32 write i0\n  x1 f32 read i0\naxes i0: 2*s0*s1\n" },
	/* A stride is that of the next axis times its extent before it is anything else. */
	{ "kernel map  # neg\noperands\n  y0 f32 write @*i0 + @*i1 + i2\n  x1 f32 read @*i0 + @*i1 + i2\n"
	  "axes i0: 9, i1: @, i2: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule rows of i2; units 1; grain 1\nend\n",
	  { { 65, 21, 88 }, { 13, 3, 8 }, { 65, 21, 88 }, { 13, 3, 8 }, { 5, 7, 11 }, { 13, 3, 8 } },
	  "  y0 f32 write i0\n  x1 f32 read i0\naxes i0: 9*s0*s1\n" },
	/* An axis of 1 on one sample, and a stride that is the same only there. */
	{ "kernel map  # neg\noperands\n  y0 f32 write @*i0 + i1\n  x1 f32 read @*i0 + i1\naxes i0: @, i1: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule rows of i1; units 1; grain 1\nend\n",
	  { { 13, 3, 8 }, { 14, 4, 9 }, { 1, 3, 7 }, { 13, 3, 8 } },
	  "  y0 f32 write s1*i0 + i1\n  x1 f32 read (s1 + 1)*i0 + i1\naxes i0: s0 - 4, i1: s1\n" },
	/* Ints and doubles that are computed with. */
	{ "kernel map  # mul\noperands\n  y0 f32 write i0\n  x1 f32 read i0\naxes i0: @\ndo\n"
	  "  t0 = aten::mul.Scalar(x1, @) f32\n  t1 = aten::mul.Scalar(t0, @.0) f32\n  y0 = t1\n"
	  "schedule points of i0; units 1; grain 1\nend\n",
	  { { 13, 3, 8 }, { 5, 7, 11 }, { 2, 4, 8 } },
	  "  y0 f32 write i0\n  x1 f32 read i0\n  n2 index s0\n  s3 bits s2\naxes i0: s1\ndo\n"
	  "  t0 = aten::mul.Scalar(x1, n2) f32\n  t1 = aten::mul.Scalar(t0, s3) f32\n" },
	/* No formula. */
	{ "kernel map  # neg\noperands\n  y0 f32 write i0\n  x1 f32 read i0\naxes i0: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule points of i0; units 1; grain 1\nend\n",
	  { { 1, 100, 3 } }, NULL },
};

typedef struct Read { int at, sample; Kernel *k; } Read;

static void
read_sample(Cx *cx, void *arg)
{
	Read *r = arg;
	Source src = { .name = "text", .line = 1 };
	const char *rest;
	Schedule s;
	Buf b = { 0 };
	int n = 0;

	for (const char *c = cases[r->at].text; *c; c++)
		if (*c == '@')
			buf_printf(&b, "%lld", (long long)cases[r->at].number[n++][r->sample]);
		else
			buf_add(&b, c, 1);
	src.text = rest = arena_text(cx->arena, &b);
	src.n = (int64_t)strlen(src.text);
	r->k = kernel_read(cx, size_table(cx->arena), &src, &rest, &s);
}

static void
unified(void **state)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };

	(void)state;
	schema_parser = schema_parse;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const Schedule s = { .inner = -1, .tile = -1, .units = size_number(size_table(&arena), 1), .grain = 1 };
		const Kernel *of[SAMPLES];
		Kernel *k;
		Buf b = { 0 };

		for (int j = 0; j < SAMPLES; j++) {
			Read r = { .at = (int)i, .sample = j };

			assert_true(cx_try(&cx, read_sample, &r));
			of[j] = r.k;
		}
		k = kernel_unify(size_table(&arena), &sizes, of);
		assert_true(!k == !cases[i].expected);
		if (!k)
			continue;
		kernel_simplify(k, 0);
		kernel_check(k);
		kernel_print(k, &s, &b);
		if (!strstr(b.at, cases[i].expected))
			fail_msg("'%s' is not in\n%s", cases[i].expected, b.at);
		buf_free(&b);
	}
	arena_free(&arena);
}

/* Kernels that differ in more than numbers. */
static void
other(void **state)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	const Kernel *of[SAMPLES];

	(void)state;
	schema_parser = schema_parse;
	for (int j = 0; j < SAMPLES; j++) {
		Read r = { .at = 0, .sample = 0 };

		assert_true(cx_try(&cx, read_sample, &r));
		if (j == 2)
			r.k->operand.at[1].dtype = RT_f64;
		of[j] = r.k;
	}
	assert_null(kernel_unify(size_table(&arena), &sizes, of));
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(unified), cmocka_unit_test(other) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
