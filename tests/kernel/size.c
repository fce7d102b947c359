/* Sizes as expressions: identical sizes are the same pointer, random ones have the values of their operations, and no
 * valuation may contradict the properties that are derived of them. */
#include "reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 3 };
static const SizeRange ranges[SYMBOLS] = { { 2, 64 }, { 2, INT64_MAX }, { 3, 4096 } };

static const Size *
text_size(SizeTable *z, const char *text)
{
	const char *at = text;
	const Size *s = size_read(z, &at);

	if (!s || *at)
		fail_msg("'%s' is not read behind '%.*s'", text, (int)(at - text), text);
	return s;
}

static SizeTable *
table(Arena *a)
{
	SizeTable *z = size_table(a);

	for (int i = 0; i < SYMBOLS; i++)
		size_symbol(z, i, ranges[i]);
	return z;
}

static void
expect_text(const Size *s, SizeStyle style, bool factor, const char *text)
{
	Buf b = { 0 };

	size_print(s, style, factor, &b);
	if (strcmp(b.at, text))
		fail_msg("'%s', not '%s'", b.at, text);
	buf_free(&b);
}

/* ---- what is known ----------------------------------------------------------------------------------------------- */

static const struct { const char *a, *b; } equal[] = {
	{ "(s0 + s1)*s2", "s2*s1 + s0*s2" },
	{ "s0*s1 - s1*s0 + 3", "3" },
	{ "min(s0, 64)", "s0" }, { "min(s2, 3)", "3" }, { "min(s1, s0)", "min(s0, s1)" }, { "min(s1, s1 + 3)", "s1" },
	{ "min(min(s1, 9), 9)", "min(s1, 9)" }, { "floor(min(s1, 9), 10)", "0" },
	{ "floor(16*s0 + 7, 16)", "s0" },
	{ "floor(16*s0 + 16, 16)", "s0 + 1" },
	{ "floor(24*s0 + 15, 16)", "s0 + floor(8*s0 + 15, 16)" },
	{ "floor(8*s0 + 15, 16)", "floor(s0 + 1, 2)" },
	{ "floor(s0*s1, s1)", "s0" },
	{ "floor(s0*s1 + s1 - 1, s1)", "s0" },
	{ "floor(3*s0*s1, 2*s1)", "s0 + floor(s0, 2)" },
	{ "floor((s0 + 3)*(s1 + 2), s1 + 2)", "s0 + 3" },
	{ "floor(s0 + 3 + s2*(s0 + 3), s0 + 3)", "s2 + 1" },
	{ "floor(floor(s1 + 1, 2) + 1, 2)", "floor(s1 + 3, 4)" },
	{ "floor(floor(floor(s1, 2), 3), 5)", "floor(s1, 30)" },
	{ "floor(s0, 65)", "0" },
	{ "floor(s0 + 64, 64) - 1", "floor(s0, 64)" },
	{ "floor(2 - s0 + s0, 64)", "0" },
	{ "(s0)", "1*s0 + 0*s1" },
	{ "-(-s0)", "s0" },
};

static void
identities(void **state)
{
	Arena arena = { 0 };
	SizeTable *z = table(&arena);

	(void)state;
	for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
		if (text_size(z, equal[i].a) != text_size(z, equal[i].b)) {
			expect_text(text_size(z, equal[i].a), SIZE_TEXT, false, equal[i].b);
			fail_msg("%s: not %s", equal[i].a, equal[i].b);
		}
	assert_ptr_equal(size_ceil(z, text_size(z, "s0*16"), size_number(z, 16)), text_size(z, "s0"));
	assert_ptr_equal(size_ceil(z, text_size(z, "s1"), size_number(z, 16)), text_size(z, "floor(s1 + 15, 16)"));
	arena_free(&arena);
}

static const struct { const char *divisor, *s; bool yes; } multiples[] = {
	{ "16", "32*s0 + 48", true }, { "16", "32*s0 + 40", false }, { "s0", "s0*s1 + 3*s0", true },
	{ "s0", "s1", false },
	{ "s0 + 1", "s0*s1 + s1", true }, { "s0 + 1", "s0*s0 - 1", true },
	{ "16", "16*floor(s1, 16)", true }, { "8", "16*floor(s1, 16)", true }, { "16", "8*floor(s1, 8)", false },
	{ "7", "0", true }, { "0", "7", false }, { "0", "0", true }, { "-4", "8*s0", true },
	{ "2*s0", "s0*floor(s1, 2)", false },
};

static const struct { const char *s; int64_t v; bool yes; } least[] = {
	{ "s0", 2, true }, { "s0", 3, false }, { "64 - s0", 0, true }, { "64 - s0", 1, false },
	{ "s0*s1 - s0", 2, true },
	{ "s1*(64 - s0)", 0, true }, { "s1*s1 - s1", 2, true }, { "s1 - floor(s1, 2)", 1, true },
	{ "2*floor(s1, 2) - s1", -1, true },
	{ "s1 - min(s1, s2)", 0, true }, { "min(s1, s2)", 2, true }, { "min(s1, s2)", 3, false },
	{ "s1*s2 - s1*min(s2, 7)", 0, true }, { "min(s1, s2) + s2 - s1", 2, false },
	{ "16*floor(s1 + 15, 16) - s1", 0, true }, { "s1 - 7*floor(s1, 7)", 0, true },
	{ "6 - s1 + 7*floor(s1, 7)", 0, true }, { "5 - s1 + 7*floor(s1, 7)", 0, false },
	{ "s0 - s1", -100, false },
	{ "s1*s2*floor(s0 + 3, 4) - s1*s2", 0, true },
};

static void
proofs(void **state)
{
	Arena arena = { 0 };
	SizeTable *z = table(&arena);

	(void)state;
	for (size_t i = 0; i < sizeof multiples / sizeof *multiples; i++)
		if (size_divides(z, text_size(z, multiples[i].divisor),
			text_size(z, multiples[i].s)) != multiples[i].yes)
			fail_msg("%s divides %s", multiples[i].divisor, multiples[i].s);
	for (size_t i = 0; i < sizeof least / sizeof *least; i++)
		if (size_at_least(z, text_size(z, least[i].s), least[i].v) != least[i].yes)
			fail_msg("%s is %lld or more", least[i].s, (long long)least[i].v);
	assert_true(size_at_most(z, text_size(z, "s0*s2"), 64 * 4096));
	assert_false(size_at_most(z, text_size(z, "s0*s2"), 64 * 4096 - 1));
	assert_false(size_at_most(z, text_size(z, "s1"), INT64_MAX));
	arena_free(&arena);
}

static const struct { const char *s; bool factor; const char *text, *c; } texts[] = {
	{ "0", true, "0", "0" },
	{ "0 - 5", true, "(-5)", "(-5)" },
	{ "3 + s0*768", false, "768*s0 + 3", "768 * s[0] + 3" },
	{ "3 + s0*768", true, "(768*s0 + 3)", "(768 * s[0] + 3)" },
	{ "768*s0", true, "768*s0", "(768 * s[0])" },
	{ "s0", true, "s0", "s[0]" },
	{ "3 - s0*s0", false, "-s0*s0 + 3", "-s[0] * s[0] + 3" },
	{ "floor(s1 + 15, 16)", false, "floor(s1 + 15, 16)", "(s[1] + 15) / 16" },
	{ "2*min(s1, 9)", false, "2*min(9, s1)", "2 * (9 < s[1] ? 9 : s[1])" },
	{ "floor(s1 + 15, 16)", true, "floor(s1 + 15, 16)", "((s[1] + 15) / 16)" },
	{ "4*floor(s1, 16) - floor(s1, 3)", false, "4*floor(s1, 16) - floor(s1, 3)", "4 * (s[1] / 16) - (s[1] / 3)" },
	{ "floor(s0 - s1, 5)", false, "-s1 + floor(s0 + 4*s1, 5)", "-s[1] + (s[0] + 4 * s[1]) / 5" },
	{ "floor(s0 - 9, 5)", false, "floor(s0 + 1, 5) - 2", "(s[0] + 1) / 5 - 2" },
	{ "floor(s0 - s1, s2)", false, "floor(s0 - s1, s2)", "((s[0] - s[1]) / s[2] - ((s[0] - s[1]) % s[2] < 0))" },
};

static void
prints(void **state)
{
	Arena arena = { 0 };
	SizeTable *z = table(&arena);

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		expect_text(text_size(z, texts[i].s), SIZE_TEXT, texts[i].factor, texts[i].text);
		expect_text(text_size(z, texts[i].s), SIZE_C, texts[i].factor, texts[i].c);
	}
	arena_free(&arena);
}

/* Texts that are no sizes, or of which only the beginning is one. */
static const struct { const char *text; int n; } ends[] = {
	{ "", -1 }, { "i0", -1 }, { "*3", -1 }, { "()", -1 }, { "floor(s0)", -1 }, { "floor(s0, 0)", -1 },
	{ "floor(s0, 2", -1 }, { "s1024", -1 }, { "s", -1 }, { "9223372036854775808", -1 },
	{ "9223372036854775807 + 1", -1 },
	{ "9223372036854775807*s0*2", -1 }, { "s0*s0*s0*s0*s0*s0*s0*s0*s0", -1 },
	{ "4*s0*i0", 4 }, { "4*s0 + i0", 4 }, { "s0, s1", 2 }, { "s0]", 2 }, { "s0 - ", 2 }, { "s0 grain", 2 },
	{ "3\n+ 4", 1 },
};

static void
reads(void **state)
{
	Arena arena = { 0 };
	SizeTable *z = table(&arena);
	char deep[20000];

	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		const char *at = ends[i].text;
		const Size *s = size_read(z, &at);

		if ((s ? (int)(at - ends[i].text) : -1) != ends[i].n || (!s && at != ends[i].text))
			fail_msg("'%s' is read to %d", ends[i].text, (int)(at - ends[i].text));
	}
	memset(deep, '(', sizeof deep - 1);
	deep[sizeof deep - 1] = 0;
	assert_null(size_read(z, &(const char *){ deep }));
	for (int i = 0; i < 3000; i++)
		memcpy(deep + i * 6, "floor(", 6);
	assert_null(size_read(z, &(const char *){ deep }));
	arena_free(&arena);
}

/* ---- random ones ------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 20000, VALUATIONS = 20, STEPS = 64 };

typedef enum What { NUMBER, SYMBOL, PLUS, MINUS, TIMES, MIN, FLOOR, CEIL } What;
typedef struct Step { What what; int64_t number; int a, b; const Size *s; } Step; /* operands are earlier steps */
typedef struct Tree { SizeTable *z; Step step[STEPS]; int n; } Tree;

static uint64_t seed;

static int64_t
below(int64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int64_t)(seed >> 33) % n;
}

static const Size *
combine(SizeTable *z, What what, const Size *a, const Size *b)
{
	switch (what) {
	case PLUS:  return size_plus(z, a, b);
	case MINUS: return size_minus(z, a, b);
	case TIMES: return size_times(z, a, b);
	case FLOOR: return size_floor(z, a, b);
	case MIN:   return size_min(z, a, b);
	default:    return size_ceil(z, a, b);
	}
}

static int
leaf(Tree *t)
{
	static const int64_t numbers[] = { 0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 64, 100, -1, -3, -16 };
	Step *n = &t->step[t->n];

	if (below(2)) {
		*n = (Step){ .what = SYMBOL, .number = below(SYMBOLS) };
		n->s = size_symbol(t->z, (int)n->number, ranges[n->number]);
	} else {
		*n = (Step){ .what = NUMBER, .number = numbers[below(sizeof numbers / sizeof *numbers)] };
		n->s = size_number(t->z, n->number);
	}
	return t->n++;
}

static int
random_tree(Tree *t, int depth)
{
	static const What any[] = { PLUS, PLUS, MINUS, MINUS, TIMES, TIMES, MIN, FLOOR, CEIL };
	Step n = { .what = any[below(sizeof any / sizeof *any)] };

	if (!depth || t->n > STEPS - 16 || !below(6))
		return leaf(t);
	n.a = random_tree(t, depth - 1);
	n.b = random_tree(t, t->n > STEPS - 16 ? 0 : depth - 1);
	if (n.what >= FLOOR && !size_at_least(t->z, t->step[n.b].s, 1))
		n.what = PLUS;
	n.s = combine(t->z, n.what, t->step[n.a].s, t->step[n.b].s);
	t->step[t->n] = n;
	return t->n++;
}

/* Computes the value by the operations themselves.  Returns false if it is too large to be compared. */
static bool
direct(const Tree *t, const int64_t *symbol, int64_t *v)
{
	static const int64_t most = (int64_t)1 << 28;

	for (int i = 0; i < t->n; i++) {
		const Step *n = &t->step[i];
		const int64_t a = v[n->a], b = v[n->b],
			      q = n->what >= FLOOR ? (a - ((a % b) + b) % b) / b : 0;

		switch (n->what) {
		case NUMBER: v[i] = n->number; break;
		case SYMBOL: v[i] = symbol[n->number]; break;
		case PLUS:   v[i] = a + b; break;
		case MINUS:  v[i] = a - b; break;
		case TIMES:  v[i] = a * b; break;
		case MIN:    v[i] = a < b ? a : b; break;
		case FLOOR:  v[i] = q; break;
		case CEIL:   v[i] = q + (a != b * q); break;
		}
		if (v[i] > most || v[i] < -most)
			return false;
	}
	return true;
}

static void
random_symbols(int64_t *symbol)
{
	for (int i = 0; i < SYMBOLS; i++) {
		const int64_t most = ranges[i].most > 5000 ? 5000 : ranges[i].most;

		symbol[i] = below(3) ? ranges[i].least + below(most - ranges[i].least + 1) :
			below(2) ? ranges[i].least : most;
	}
}

static void
fail_claim(const Size *s, const char *claim, int64_t v)
{
	Buf b = { 0 };

	size_print(s, SIZE_TEXT, false, &b);
	fail_msg("%s: %s, but %lld", b.at, claim, (long long)v);
}

/* Returns the number of valuations that had values to compare.  Checks that the properties derived for all valuations
 * hold for these. */
static int
check_values(const Tree *t)
{
	const Size *s = t->step[t->n - 1].s, *divisor = t->step[0].s;
	const bool multiple = size_divides(t->z, divisor, s);
	int64_t symbol[SYMBOLS], v[STEPS], got, least_seen = INT64_MAX, most_seen = INT64_MIN;
	int compared = 0;

	for (int k = 0; k < VALUATIONS; k++) {
		random_symbols(symbol);
		if (!direct(t, symbol, v) || size_lost(s) || !size_value(s, symbol, &got))
			continue;
		compared++;
		if (got != v[t->n - 1])
			fail_claim(s, "other values than its operations", v[t->n - 1]);
		if (multiple && (v[0] ? got % v[0] : got))
			fail_claim(s, "a multiple", got);
		least_seen = got < least_seen ? got : least_seen;
		most_seen = got > most_seen ? got : most_seen;
	}
	if (compared && size_at_least(t->z, s, least_seen + 1))
		fail_claim(s, "more", least_seen);
	if (compared && size_at_most(t->z, s, most_seen - 1))
		fail_claim(s, "less", most_seen);
	return compared;
}

/* Checks that sizes that are built in two ways are the same size. */
static void
check_laws(SizeTable *z, const Size *a, const Size *b, const Size *c)
{
	const Size *left = size_times(z, size_plus(z, a, b), c),
		   *right = size_plus(z, size_times(z, c, b), size_times(z, c, a));
	const Size *twice;

	if (!size_lost(left) && !size_lost(right) && left != right)
		fail_claim(left, "no sum of products", 0);
	if (!size_lost(left) && size_minus(z, size_plus(z, left, b), b) != left)
		fail_claim(left, "changed by what comes and goes", 0);
	if (!size_at_least(z, b, 1) || size_lost(left) || size_lost(a))
		return;
	twice = size_plus(z, size_times(z, b, c), a);
	if (!size_lost(twice) && !size_lost(size_floor(z, twice, b)) &&
	    size_floor(z, twice, b) != size_plus(z, c, size_floor(z, a, b)))
		fail_claim(twice, "the quotient is not that of its parts", 0);
}

static void
check_text(SizeTable *z, const Size *s)
{
	Buf b = { 0 };
	const char *at;

	size_print(s, SIZE_TEXT, false, &b);
	at = b.at;
	if (size_read(z, &at) != s || *at)
		fail_claim(s, "read as another", 0);
	buf_free(&b);
	size_print(s, SIZE_C, true, &b);
	buf_free(&b);
}

static void
random_sizes(void **state)
{
	int compared = 0, lost = 0;

	(void)state;
	seed = 88172645463325252u;
	for (int round = 0; round < ROUNDS; round++) {
		Arena arena = { 0 };
		Tree t = { .z = table(&arena) };

		random_tree(&t, 1 + (int)below(6));
		lost += size_lost(t.step[t.n - 1].s);
		compared += check_values(&t);
		check_laws(t.z, t.step[t.n - 1].s, t.step[t.n / 2].s, t.step[t.n / 3].s);
		if (!size_lost(t.step[t.n - 1].s))
			check_text(t.z, t.step[t.n - 1].s);
		arena_free(&arena);
	}
	print_message("%d sizes: %d values compared, %d are lost\n", ROUNDS, compared, lost);
	assert_true(compared > ROUNDS * VALUATIONS / 2 && lost < ROUNDS / 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(identities), cmocka_unit_test(proofs),
					    cmocka_unit_test(prints), cmocka_unit_test(reads),
					    cmocka_unit_test(random_sizes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
