/* Kernels that are refused: a valid text with one change, and the expected message and line. */
#include "reader.h"
#include "../../frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const char good[] =
	"# what comes before\n"
	"kernel map  # add, relu\n"
	"symbols s0: 2..64, s1: 3..\n"
	"operands\n"
	"  y0 f32 write 64*i0 + i1\n"
	"  y1 f32 write 64*i0 + i1\n"
	"  x2 f32 read i1 + s1*[x3 < 20] - 3*i0\n"
	"  x3 i64 read i0\n"
	"  s4 number\n"
	"  m5 f16 made 64*i0\n"
	"axes i0: s0, i1: 64\n"
	"do\n"
	"  t0 = aten::add.Tensor(x2, m5, s4) f32\n"
	"  t1 = aten::relu(t0) f16 f32 f16\n"
	"  y0 = t1\n"
	"  y1 = 0.5\n"
	"schedule rows of i1; units s0; grain 253\n"
	"end\n";

static const struct { const char *old, *new; int line; const char *message; } bad[] = {
	{ "kernel", "colonel", 2, "expected kernel here" },
	{ "map", "+", 2, "expected a name here" },
	{ "s0: 2..64", "s0: 1..64", 3, "a symbol is 2 or more, and its last value not below the first" },
	{ "s0: 2..64", "s0: 2..64, s0: 2..65", 3, "s0 has another range" },
	{ "s0: 2..64", "s1024: 2..64", 3, "expected a symbol below s1024 here" },
	{ "y0 f32", "z0 f32", 5, "no name of an operand: z0" },
	{ "y0 f32", "y00000 f32", 5, "no name of an operand: y00000" },
	{ "y1 f32", "y0 f32", 6, "another operand has the name y0" },
	{ "y0 f32", "y0 c64", 5, "no type of elements: c64" },
	{ "f32 write", "f32 wrote", 5, "expected read, constant, write, update or made here" },
	{ "write 64*i0", "write 64*i128", 5, "expected an axis below i128 here" },
	{ "write 64*i0", "write 64*i2", 2, "y0 lies along an axis that there is not: i2" },
	{ "write 64*i0", "write i0*i1", 5, "expected a size, an axis or a gather here" },
	{ "write 64*i0", "write 2*9223372036854775807*s0*i0", 5, "a size that is too large" },
	{ "write 64*i0", "write from i1: 64*i0", 5, "expected i0 here" },
	{ "[x3 < 20]", "[x9 < 20]", 4, "x9 is no operand of ints by which x2 can be found" },
	{ "[x3 < 20]", "[y0 < 20]", 4, "y0 is no operand of ints by which x2 can be found" },
	{ "[x3 < 20]", "[x2 < 20]", 4, "x2 is no operand of ints by which x2 can be found" },
	{ "[x3 < 20]", "[x3 < 20] + [x3 < 20] + [x3 < 20] + [x3 < 20] + [x3 < 20]", 7,
	  "expected a size, an axis or a gather here" },
	{ "write 64*i0", "write 64*i0 where i0 < 4, 1*i0", 5, "only what is read, and not by indices, has bounds" },
	{ "- 3*i0", "- 3*i0 where i0 < 4", 7, "only what is read, and not by indices, has bounds" },
	{ "s4 number", "x4 f32 read i1 where i2 < 4", 2, "x4 lies along an axis that there is not: i2" },
	{ "[x3 < 20]", "[x3 < 20, zero]", 4, "x3 is no operand of ints by which x2 can be found" },
	{ "[x3 < 20]", "[t1 < 20, clamps]", 13, "x2 is no operand that is read" },
	{ "s4 number\n", "s4 number\n  x9 f32 read [t0 < 4, clamps]\n", 2, "t0 is no index of x9" },
	{ "s4 number\n", "s4 number\n  x9 f32 read [t9 < 4]\n", 2, "t9 is no index of x9" },
	{ "[x3 < 20]", "[t0 < 20, wraps]", 4, "t0 is no operand of ints by which x2 can be found" },
	{ "i64 read i0", "i64 read i0 where i0 < 4", 4, "x3 is no operand of ints by which x2 can be found" },
	{ "i64 read i0", "i64 read i0 where i0 - 1", 9, "expected < here" },
	{ "rows of i1", "microkernel vc_conv of i1", 17, "expected ; here" },
	{ "x3 i64", "x3 f64", 4, "x3 is no operand of ints by which x2 can be found" },
	{ "s4 number", "y4 f32 write 0", 2, "y4 is stored to and comes after what is not" },
	{ "i0: s0,", "i1: s0,", 11, "axes are i0, i1 ..., the serial one last" },
	{ "i0: s0,", "i0: s0 serial,", 11, "axes are i0, i1 ..., the serial one last" },
	{ "i0: s0,", "i0: 2 - s0,", 11, "an extent may be negative" },
	{ "i0: s0,", "i0: floor(s0, s0 - 2),", 11, "expected a size here" },
	{ "aten::add.Tensor", "aten::add.Tenso", 13, "no pointwise operator: aten::add.Tenso" },
	{ "aten::relu", "aten::mm", 14, "no pointwise operator: aten::mm" },
	{ "t1 =", "t2 =", 14, "values are t0, t1 ... in order, 4096 at most" },
	{ "relu(t0)", "relu(t1)", 14, "expected a value below t1 here" },
	{ "relu(t0)", "relu(t0, 1)", 14, "it takes 1 values, not 2" },
	{ "relu(t0)", "relu(y0)", 14, "y0 is no operand that is read" },
	{ "relu(t0)", "relu(x9)", 14, "x9 is no operand that is read" },
	{ "f16 f32 f16", "f16 f16 f16", 14, "f16 is computed in f32" },
	{ "y0 = t1", "x3 = t1", 15, "x3 is not written to" },
	{ "y0 = t1", "y0 = none", 15, "nothing can be stored" },
	{ "y1 = 0.5", "y0 = 0.5", 16, "y0 is stored to twice" },
	{ "rows of i1", "rows of i0", 17, "no schedule for these axes" },
	{ "rows of i1", "rows of i1; tile i1", 17, "no schedule for these axes" },
	{ "rows of i1", "points of i1", 17, "no schedule for these axes" },
	{ "rows of i1", "columns of i1", 17, "expected points here" },
	{ "grain 253", "grain 0", 17, "no schedule for these axes" },
	{ "units s0", "units", 17, "expected a size here" },
	{ "end\n", "", 18, "expected end here" },
};

static const char rows[] =
	"# what comes before\n"
	"kernel softmax\n"
	"operands\n"
	"  y0 f32 write 64*i0 + i1\n"
	"  y1 i64 write i0\n"
	"  x2 f32 read 64*i0 + i1\n"
	"  n3 index i1\n"
	"axes i0: 9, i1: 64 reduce\n"
	"each\n"
	"  r0 = argmax(x2, n3) f32 f32 i32\n"
	"  y0 = x2\n"
	"once\n"
	"  t0 = aten::neg(r0) f32\n"
	"  y1 = q0\n"
	"each\n"
	"  t1 = aten::mul.Tensor(y0, t0) f32\n"
	"  r1 = sum(t1) f64 f32\n"
	"  y0 = t1\n"
	"schedule rows of i1 by 64; units 9; grain 2\n"
	"end\n";

/* Likewise for a kernel with stages. */
static const struct { const char *old, *new; int line; const char *message; } bad_rows[] = {
	{ "n3 index i1", "n3 index i1 + [x2 < 3]", 7, "an index that is gathered" },
	{ "64 reduce", "64 reduce, i2: 3", 8, "axes that are reduced come last" },
	{ "64 reduce", "64 reduce to t0", 2, "the extent of i1 is not checked" },
	{ "64 reduce", "64 reduce from t0 checked", 2, "t0 is no number of points, computed once for a row" },
	{ "64 reduce", "64 reduce serial", 8, "expected once here" },
	{ "each\n  r0", "do\n  r0", 9, "expected once here" },
	{ "each\n  r0", "once\n  r0", 10, "r0 is not written to" },
	{ "r0 =", "r1 =", 10, "states are r0, r1 ... in order, 4096 at most" },
	{ "argmax(x2, n3)", "argmost(x2, n3)", 10, "nothing is joined as argmost" },
	{ "argmax(x2, n3)", "argmax(x2)", 10, "expected , here" },
	{ "argmax(x2, n3)", "argmax(y0, n3)", 10, "y0 is no operand that is read" },
	{ "argmax(x2, n3)", "argmax(x2, none)", 10, "no types to join argmax in" },
	{ "f32 f32 i32", "f32 f64 i32", 10, "no types to join argmax in" },
	{ "argmax(x2", "lastmax(x2", 10, "lastmax is carried along one axis in one type, or not at all" },
	{ "sum(t1)", "carried sum(t1)", 17, "sum is carried along one axis in one type, or not at all" },
	{ "= argmax(x2", "= carried argmax(x2", 19, "no schedule for these axes" },
	{ "f32 f32 i32", "f32 f32 f32", 10, "no types to join argmax in" },
	{ "neg(r0)", "neg(r1)", 13, "expected a state below r1 here" },
	{ "neg(r0)", "neg(x2)", 13, "x2 is no operand that is read" },
	{ "y1 = q0", "y0 = r0", 14, "y0 is stored to for each point, and not once" },
	{ "Tensor(y0, t0)", "Tensor(y0, q1)", 16, "expected a state below q1 here" },
	{ "Tensor(y0, t0)", "Tensor(y1, t1)", 16, "expected a value below t1 here" },
	{ "sum(t1) f64 f32", "sum(r1) f64 f32", 17, "expected a state below r1 here" },
	{ "sum(t1) f64 f32", "any(t1) f64 f32", 17, "no types to join any in" },
	{ "sum(t1) f64 f32", "sum(t1) b8 b8", 17, "no types to join sum in" },
	{ "y0 = t1", "y0 = q1", 18, "q1 is no operand that is read" },
	{ "schedule", "once\n  y1 = q1\nschedule", 20, "sum has no places" },
	{ "schedule", "select 2 most(x2)\n  y0 = x2\nschedule", 19, "expected least here" },
	{ "schedule", "select 2 least(r0)\n  y0 = x2\nschedule", 19,
	  "points of one reduced axis are selected by an operand, at most all of them" },
	{ "schedule", "select 65 least(x2)\n  y0 = x2\nschedule", 19,
	  "points of one reduced axis are selected by an operand, at most all of them" },
	{ "schedule", "select 2 least(x2)\n  y0 = r0\nschedule", 19,
	  "operands of selected points are stored, not values" },
	{ "schedule", "select 2 least(x2)\n  y0 = x2\nschedule", 21, "no schedule for these axes" },
	{ "schedule", "then\n  l5 f32 local i1\naxes i0: 9\neach\n  y0 = x2\nschedule", 19,
	  "links share axes and have no gathers" },
	{ "by 64", "by 63", 19, "no schedule for these axes" },
	{ "by 64", "whole", 19, "no schedule for these axes" },
	{ "of i1 by 64", "of i0 beside 8", 19, "no schedule for these axes" },
	{ "of i1 by 64", "of i0 by 64", 19, "no schedule for these axes" },
	{ "rows of i1 by 64", "points of i1 by 64", 19, "no schedule for these axes" },
};

/* And for a chain. */
static const char chain[] =
	"kernel chain\n"
	"operands\n"
	"  y0 f32 write 0\n"
	"  x1 f32 read 64*i0 + i1\n"
	"  l2 f32 local 0\n"
	"axes i0: 9 shared, i1: 64 reduce\n"
	"each\n"
	"  r0 = sum(x1) f64 f32\n"
	"once\n"
	"  l2 = r0\n"
	"then\n"
	"  y0 f32 write i0\n"
	"  l2 f32 local 0\n"
	"axes i0: 9 shared, i1: 3 reduce\n"
	"each\n"
	"  r0 = max(l2) f32 f32\n"
	"once\n"
	"  y0 = r0\n"
	"schedule rows; units 9; grain 2\n"
	"end\n";

static const struct { const char *old, *new; int line; const char *message; } bad_links[] = {
	{ "9 shared, i1: 3", "8 shared, i1: 3", 14, "links share other axes" },
	{ "9 shared, i1: 3", "9, i1: 3", 14, "links share other axes" },
	{ "9 shared, i1: 64", "9, i1: 64", 11, "links share axes and have no gathers" },
	{ "9 shared, i1: 3", "9 steps, i1: 3", 14, "links share other axes" },
	{ "9 shared, i1: 64", "9 steps, i1: 64 shared", 6, "expected once here" },
	{ "then\n", "then\n  x9 f32 read i0\n", 12, "x9 is no operand of the first link" },
	{ "l2 f32 local 0\naxes i0: 9 shared, i1: 3", "l2 f64 local 0\naxes i0: 9 shared, i1: 3", 13,
	  "l2 differs from the first link's, or is gathered" },
	{ "l2 f32 local 0", "l2 f32 local i1 where i1 < 3", 10, "l2 is not written to" },
	{ "rows;", "rows of i1 by 16;", 19, "no schedule for a chain" },
};

typedef struct Try { char text[4096]; const char *rest; } Try;

static void
read_text(Cx *cx, void *arg)
{
	Try *t = arg;
	Source src = { .text = t->text, .n = (int64_t)strlen(t->text), .name = "text", .line = 1 };
	Schedule s;

	t->rest = t->text;
	kernel_read(cx, size_table(cx->arena), &src, &t->rest, &s);
}

static void
with_change(Try *t, const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);

	assert_non_null(at);
	snprintf(t->text, sizeof t->text, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

static void
is_refused(const char *text, const char *old, const char *new, int line, const char *message)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Try t;

	with_change(&t, text, old, new);
	if (cx_try(&cx, read_text, &t))
		fail_msg("%s: read", new);
	if (strcmp(cx.err.what, message) || strtol(cx.err.text + strlen("text:"), NULL, 10) != line)
		fail_msg("%s: %s", new, cx.err.text);
	assert_int_equal(cx.err.status, EXIT_INPUT);
	arena_free(&arena);
}

static void
refused(void **state)
{
	(void)state;
	schema_parser = schema_parse;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		is_refused(good, bad[i].old, bad[i].new, bad[i].line, bad[i].message);
	for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++)
		is_refused(rows, bad_rows[i].old, bad_rows[i].new, bad_rows[i].line, bad_rows[i].message);
	for (size_t i = 0; i < sizeof bad_links / sizeof *bad_links; i++)
		is_refused(chain, bad_links[i].old, bad_links[i].new, bad_links[i].line, bad_links[i].message);
}

static void
no_axis_of_addresses(void **state)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Try t = { "kernel copy operands y0 f32 write 0 x1 f32 read from i0: 0\n"
		"axes none do y0 = x1 schedule points; units 1; grain 1 end", NULL };

	(void)state;
	schema_parser = schema_parse;
	assert_false(cx_try(&cx, read_text, &t));
	assert_string_equal(cx.err.what, "x1 lies along an axis that there is not");
	arena_free(&arena);
}

/* Text after a kernel is not read. */
static void
accepted(void **state)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Try t;

	(void)state;
	schema_parser = schema_parse;
	with_change(&t, good, "end\n", "end\nkernel x");
	assert_true(cx_try(&cx, read_text, &t));
	assert_string_equal(t.rest, "\nkernel x");
	with_change(&t, rows, "end\n", "end\nkernel x");
	assert_true(cx_try(&cx, read_text, &t));
	assert_string_equal(t.rest, "\nkernel x");
	with_change(&t, chain, "end\n", "end\nkernel x");
	assert_true(cx_try(&cx, read_text, &t));
	assert_string_equal(t.rest, "\nkernel x");
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused), cmocka_unit_test(no_axis_of_addresses), cmocka_unit_test(accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
