/* Unifies the kernels of several samples: numbers that differ become sizes of symbols, and axes merge for all sizes or
 * not at all. */
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

/* The sizes as numbers of the operands: each is the symbol of its index. */
static const Measures *
own(SizeTable *table, const Sizes *z)
{
	static Measures m;

	m = (Measures){ .function = z, .of = *z };
	for (int i = 0; i < z->natom; i++)
		m.size[i] = size_of_expr(table, z, &(RtSizeExpr){ 1, 0, 1, { (int16_t)i } });
	return &m;
}

static Kernel *
unify(Arena *arena, const Sizes *z, const Kernel *const *of)
{
	SizeTable *table = size_table(arena);

	return kernel_unify(table, own(table, z), of);
}

/* A kernel with the samples' numbers in place of @.  expected: text of the simplified unified kernel.  Null if there is
 * no unified kernel. */
static const struct { const char *text; int64_t number[9][SAMPLES]; const char *expected; } cases[] = {
	/* Axes that merge, and the sizes that follow from their extents. */
	{ "kernel map  # neg\noperands\n  y0 f32 write @*i0 + i1\n  x1 f32 read @*i0 + i1\naxes i0: @, i1: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule rows of i1; units 1; grain 1\nend\n",
	  { { 26, 6, 16 }, { 26, 6, 16 }, { 5, 7, 11 }, { 26, 6, 16 } },
	  "  y0 f32 write i0\n  x1 f32 read i0\naxes i0: 2*s0*s1\n" },
	/* A stride is expressed first as the next axis's stride times its extent. */
	{ "kernel map  # neg\noperands\n  y0 f32 write @*i0 + @*i1 + i2\n  x1 f32 read @*i0 + @*i1 + i2\n"
	  "axes i0: 9, i1: @, i2: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule rows of i2; units 1; grain 1\nend\n",
	  { { 65, 21, 88 }, { 13, 3, 8 }, { 65, 21, 88 }, { 13, 3, 8 }, { 5, 7, 11 }, { 13, 3, 8 } },
	  "  y0 f32 write i0\n  x1 f32 read i0\naxes i0: 9*s0*s1\n" },
	/* An axis of size 1 on one sample, and a stride that is equal only on that sample. */
	{ "kernel map  # neg\noperands\n  y0 f32 write @*i0 + i1\n  x1 f32 read @*i0 + i1\naxes i0: @, i1: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule rows of i1; units 1; grain 1\nend\n",
	  { { 13, 3, 8 }, { 14, 4, 9 }, { 1, 3, 7 }, { 13, 3, 8 } },
	  "  y0 f32 write s1*i0 + i1\n  x1 f32 read (s1 + 1)*i0 + i1\naxes i0: s0 - 4, i1: s1\n" },
	/* Ints and doubles that the kernel computes with. */
	{ "kernel map  # mul\noperands\n  y0 f32 write i0\n  x1 f32 read i0\naxes i0: @\ndo\n"
	  "  t0 = aten::mul.Scalar(x1, @) f32\n  t1 = aten::mul.Scalar(t0, @.0) f32\n  y0 = t1\n"
	  "schedule points of i0; units 1; grain 1\nend\n",
	  { { 13, 3, 8 }, { 5, 7, 11 }, { 2, 4, 8 } },
	  "  y0 f32 write i0\n  x1 f32 read i0\n  n2 index s0\n  s3 bits s2\naxes i0: s1\ndo\n"
	  "  t0 = aten::mul.Scalar(x1, n2) f32\n  t1 = aten::mul.Scalar(t0, s3) f32\n" },
	/* A size squared, a product of two sizes, and an inner stride times its extent. */
	{ "kernel map  # neg\noperands\n  y0 f32 write @*i0 + @*i1 + i2\n  x1 f32 read @*i0 + @*i1 + i2\n"
	  "axes i0: 9, i1: @, i2: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule rows of i2; units 1; grain 1\nend\n",
	  { { 143, 45, 184 }, { 11, 15, 23 }, { 66, 22, 89 }, { 36, 64, 144 }, { 13, 3, 8 }, { 6, 8, 12 } },
	  "  y0 f32 write (2*s0*s1 + s1)*i0 + (2*s0 + 1)*i1 + i2\n"
	  "  x1 f32 read (s3 + 1)*i0 + (s0*s0 + 2*s0 + 1)*i1 + i2\naxes i0: 9, i1: s1, i2: s0 + 1\n" },
	/* Indices, and a read that is limited to bounds. */
	{ "kernel take  # index\noperands\n  y0 f32 write @*i0 + i1\n  x1 f32 read @*[x2 < @] + i1\n"
	  "  x2 i64 read i0 + @\n  x3 f32 read @*i0 + i1 where @*i0 + i1 + @ < @\naxes i0: 9, i1: @\ndo\n"
	  "  t0 = aten::add.Tensor(x1, x3, 1) f32\n  y0 = t0\nschedule rows of i1; units 1; grain 1\nend\n",
	  { { 13, 3, 8 }, { 26, 6, 16 }, { 5, 7, 11 }, { 10, 14, 22 }, { 13, 3, 8 }, { 39, 9, 24 }, { 15, 21, 33 },
	    { 20, 28, 44 }, { 13, 3, 8 } },
	  "  x1 f32 read i1 + 2*s1*[x2 < s0]\n  x2 i64 read i0 + 2*s0\n"
	  "  x3 f32 read s1*i0 + i1 where 3*s1*i0 + i1 + 3*s0 < 4*s0\n" },
	/* Parts into which an axis is divided, and elements that do not exist. */
	{ "kernel pool  # pool\noperands\n  y0 f32 write i0\n  x1 f32 read i1 where i1 + 1 < @ else -inf\n"
	  "axes i0: 3, i1: @ reduce from floor(@*i0, 3) to ceil(@*i0 + @, 3)\neach\n  r0 = max(x1) f32 f32\n"
	  "once\n  y0 = r0\nschedule rows of i1 by 1; units 1; grain 1\nend\n",
	  { { 5, 7, 11 }, { 6, 2, 4 }, { 13, 3, 8 }, { 13, 3, 8 }, { 13, 3, 8 } },
	  "  x1 f32 read i1 where i1 + 1 < s0 else -inf\n"
	  "axes i0: 3, i1: floor(s1 + 2, 3) + 1 reduce from floor(s1*i0, 3) to ceil(s1*i0 + s1, 3)\n" },
	/* A number of selected points. */
	{ "kernel topk  # topk\noperands\n  y0 f32 write @*i0 + i1\n  x1 f32 read @*i0 + i1\naxes i0: 9, i1: @ reduce\n"
	  "select @ greatest(x1) sorted\n  y0 = x1\nschedule rows of i1 by 1; units 9; grain 1\nend\n",
	  { { 5, 3, 7 }, { 13, 3, 8 }, { 13, 3, 8 }, { 5, 3, 7 } }, NULL },
	{ "kernel topk  # topk\noperands\n  y0 f32 write @*i0 + i1\n  x1 f32 read @*i0 + i1\naxes i0: 9, i1: @ reduce\n"
	  "select @ greatest(x1) sorted\n  y0 = x1\nschedule rows of i1 by 1; units 9; grain 1\nend\n",
	  { { 12, 2, 7 }, { 13, 3, 8 }, { 13, 3, 8 }, { 12, 2, 7 } },
	  "axes i0: 9, i1: s1 reduce\nselect s1 - 1 greatest(x1) sorted\n" },
	/* Links of a chain, each with its own numbers. */
	{ "kernel chain  # chain\noperands\n  y0 f32 write 0\n  x1 f32 read @*i0 + i1\n  l2 f32 local i1\n"
	  "axes i0: 9 shared, i1: @, i2: 3 reduce\neach\n  r0 = sum(x1) f32 f32\nonce\n  l2 = r0\nthen\n"
	  "  y0 f32 write i0\n  l2 f32 local i1 where i1 < @\naxes i0: 9 shared, i1: @ reduce\neach\n"
	  "  t0 = aten::mul.Scalar(l2, @.0) f32\n  r0 = max(t0) f32 f32\nonce\n  y0 = r0\n"
	  "schedule rows; units 9; grain 1\nend\n",
	  { { 13, 3, 8 }, { 13, 3, 8 }, { 5, 7, 11 }, { 13, 3, 8 }, { 2, 4, 8 } },
	  "  x1 f32 read s1*i0 + i1\n  l2 f32 local i1\naxes i0: 9 shared, i1: s1, i2: 3 reduce\neach\n"
	  "  r0 = sum(x1) f32 f32\nonce\n  l2 = r0\nthen\n  y0 f32 write i0\n  l2 f32 local i1 where i1 < s0\n"
	  "  s3 bits s2\naxes i0: 9 shared, i1: s1 reduce\neach\n  t0 = aten::mul.Scalar(l2, s3) f32\n" },
	/* Computed indices, and the sizes and doubles that they depend on. */
	{ "kernel take  # upsample_nearest2d\noperands\n  y0 f32 write i0\n  n1 index i0\n"
	  "  x2 f32 read @*[t0 < @, clamps]\naxes i0: 9\ndo\n"
	  "  t0 = prim::resize_nearest(n1, @, 9, @.0, 0) i64 f64 f64\n  y0 = x2\n"
	  "schedule points of i0; units 1; grain 1\nend\n",
	  { { 26, 6, 16 }, { 5, 7, 11 }, { 5, 7, 11 }, { 2, 4, 8 } },
	  "  x2 f32 read 2*s1*[t0 < s0, clamps]\n  n3 index s0\n  s4 bits s2\naxes i0: 9\ndo\n"
	  "  t0 = prim::resize_nearest(n1, n3, 9, s4, 0) i64 f64 f64\n" },
	/* No formula fits. */
	{ "kernel map  # neg\noperands\n  y0 f32 write i0\n  x1 f32 read i0\naxes i0: @\ndo\n"
	  "  t0 = aten::neg(x1) f32\n  y0 = t0\nschedule points of i0; units 1; grain 1\nend\n",
	  { { 1, 100, 3 } }, NULL },
	/* A double that equals a number of the program on the first sample only. */
	{ "kernel map  # mul\noperands\n  y0 f32 write i0\n  x1 f32 read i0\naxes i0: 9\ndo\n"
	  "  t0 = aten::mul.Scalar(x1, @.0) f32\n  y0 = t0\nschedule points of i0; units 1; grain 1\nend\n",
	  { { 2, 4, 9 } }, NULL },
};

/* Kernels with many features: a row that is reduced in stages, and elements selected by indices. */
static const char rows[] =
	"kernel rows  # sub, sum\noperands\n  y0 f32 write 49*i0 + i1\n  x1 f32 read 49*i0 + i1 where i1 < 40\n"
	"axes i0: 20, i1: 49 reduce\neach\n  r0 = max(x1) f32 f32\neach\n  t0 = aten::sub.Tensor(x1, r0, 1) f32\n"
	"  t1 = aten::mul.Tensor(t0, x1) f32\n  r1 = sum(t1) f64 f32\n  y0 = t1\n"
	"once\n  t2 = aten::reciprocal(r1) f32 f64 f64\neach\n  t3 = aten::mul.Tensor(y0, t2) f32\n  y0 = t3\n"
	"schedule rows of i1 by 16; units 20; grain 54\nend\n";
static const char selecting[] =
	"kernel topk  # topk\noperands\n  y0 f32 write 5*i0 + i1\n  y1 f32 write 5*i0 + i1\n  x2 f32 read 49*i0 + i1\n"
	"  x3 f32 read 49*i0 + i1\naxes i0: 20, i1: 49 reduce\nselect 5 greatest(x2) sorted\n  y0 = x2\n  y1 = x3\n"
	"schedule rows of i1 by 1; units 20; grain 54\nend\n";
static const char indexed[] =
	"kernel take  # index\noperands\n  y0 f32 write 64*i0 + i1\n  x1 f32 read 7*[x2 < 20]\n  x2 i64 read i0\n"
	"axes i0: 9, i1: 64\ndo\n  y0 = x1\nschedule rows of i1; units 9; grain 32\nend\n";

typedef struct Read { const char *text; const int64_t (*number)[SAMPLES]; int sample; Kernel *k; } Read;

static void
read_sample(Cx *cx, void *arg)
{
	Read *r = arg;
	Source src = { .name = "text", .line = 1 };
	const char *rest;
	Schedule s;
	Buf b = { 0 };
	int n = 0;

	for (const char *c = r->text; *c; c++)
		if (*c == '@')
			buf_printf(&b, "%lld", (long long)r->number[n++][r->sample]);
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
			Read r = { cases[i].text, cases[i].number, j, NULL };

			assert_true(cx_try(&cx, read_sample, &r));
			of[j] = r.k;
		}
		k = unify(&arena, &sizes, of);
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

/* Makes the i-th change to a kernel of `rows`.  Returns false if there are no more changes. */
static bool
change_row(Kernel *k, int i)
{
	Operand *o = k->operand.at;
	Let *l = k->let.at;
	Folded *f = k->state.at;

	switch (i) {
	case 0: k->name = "map"; break;
	case 1: k->serial = 1; break;
	case 2: k->nreduce = 0; break;
	case 3: k->operand.n--; break;
	case 4: k->let.n--; break;
	case 5: k->state.n--; break;
	case 6: k->store.n--; break;
	case 7: k->stage.n--; break;
	case 8: k->stage.at[1].each = false; break;
	case 9: k->stage.at[1].let++; break;
	case 10: k->stage.at[2].state--; break;
	case 11: k->stage.at[3].store--; break;
	case 12: o[1].dtype = RT_f64; break;
	case 13: o[0].access = ACCESS_UPDATE; break;
	case 14: o[1].along = 0; break;
	case 15: o[1].bound.n = 0; break;
	case 16: l[0].op = l[1].op; break;
	case 17: l[0].narg--; break;
	case 18: l[2].types.result = RT_f64; break;
	case 19: l[3].arg[1].at = 1; break;
	case 20: l[1].arg[1].kind = REF_LET; break;
	case 21: l[0].arg[1].part = 1; break;
	case 22: l[0].arg[2].number = rt_double(1); break;
	case 23: l[0].arg[2].number.u.i = 100; break;
	case 24: f[0].fold = f[1].fold; break;
	case 25: f[1].part = RT_f16; break;
	case 26: f[0].total = RT_f64; break;
	case 27: f[0].place = RT_i32; break;
	case 28: f[0].x.at = 0; break;
	case 29: f[1].y.kind = REF_LET; break;
	case 30: k->store.at[1].operand = 1; break;
	case 31: k->store.at[0].value.at = 0; break;
	case 32: f[0].carried = true; break;
	default: return false;
	}
	return true;
}

/* Likewise for a kernel of `indexed`. */
static bool
change_index(Kernel *k, int i)
{
	Operand *x = &k->operand.at[1];

	switch (i) {
	case 0: x->ngather = 0; break;
	case 1: x->gather[0].by.at = 0; break;
	case 2: x->gather[0].wraps = true; break;
	case 3: x->gather[0].limit = size_number(k->sizes, 100); break;
	case 4: x->gather[0].outside = OUTSIDE_ZERO; break;
	case 5: x->gather[0].by.kind = REF_LET; break;
	default: return false;
	}
	return true;
}

/* The same for a kernel of `selecting`. */
static bool
change_selection(Kernel *k, int i)
{
	Select *s = &k->stage.at[0].select;

	switch (i) {
	case 0: s->count = NULL; break;
	case 1: s->key.at = 3; break;
	case 2: s->greatest = false; break;
	case 3: s->order = SELECT_ANY; break;
	case 4: s->count = size_number(k->sizes, 100); break;
	default: return false;
	}
	return true;
}

static Kernel *
kernel_of(Cx *cx, const char *text)
{
	Read r = { .text = text };

	assert_true(cx_try(cx, read_sample, &r));
	return r.k;
}

/* Each change to the second or third of three kernels with this text must prevent their unification. */
static void
changed(const char *text, bool (*change)(Kernel *, int))
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	bool more = true;

	schema_parser = schema_parse;
	for (int i = 0; more; i++) {
		const Kernel *of[SAMPLES] = { kernel_of(&cx, text), kernel_of(&cx, text), kernel_of(&cx, text) };
		Kernel *k = kernel_of(&cx, text);

		more = change(k, i);
		of[1 + i % 2] = k;
		if (!unify(&arena, &sizes, of) != more)
			fail_msg("change %d", i);
	}
	arena_free(&arena);
}

static void
other(void **state)
{
	(void)state;
	changed(rows, change_row);
	changed(indexed, change_index);
	changed(selecting, change_selection);
}

/* Bools that differ are not unified, even if one has the bits of a number of the program. */
static void
truths(void **state)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	const Kernel *of[SAMPLES];
	Sizes bits = sizes;

	(void)state;
	schema_parser = schema_parse;
	for (int j = 0; j < SAMPLES; j++) {
		Kernel *k = kernel_of(&cx, rows);

		bits.atom[2][j] = j == 1;
		k->let.at[0].arg[2].number = rt_bool(j == 1);
		of[j] = k;
	}
	assert_null(unify(&arena, &bits, of));
	arena_free(&arena);
}

/* A number that another node of the function has, but none of this node's operands, is no formula here. */
static void
own_only(void **state)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	SizeTable *table = size_table(&arena);
	Measures m = *own(table, &sizes);
	const Kernel *of[SAMPLES];

	(void)state;
	schema_parser = schema_parse;
	for (int j = 0; j < SAMPLES; j++) {
		Read r = { cases[3].text, cases[3].number, j, NULL };

		assert_true(cx_try(&cx, read_sample, &r));
		of[j] = r.k;
	}
	assert_non_null(kernel_unify(table, &m, of));
	m.of.natom = 1;
	assert_null(kernel_unify(table, &m, of));
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unified), cmocka_unit_test(other), cmocka_unit_test(truths),
		cmocka_unit_test(own_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
