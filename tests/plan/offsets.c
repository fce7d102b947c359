/* Offsets in the arena: no two buffers that live at the same time overlap, and the arena is as small as its lower bound
 * if possible. */
#include "../../codegen/program/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>

enum { MOST = 400 };

typedef struct Lives { Buffer b[MOST], *at[MOST]; int n; int64_t least; } Lives;

static void
add(Lives *l, int64_t bytes, int first, int last)
{
	l->b[l->n] = (Buffer){ .index = l->n, .bytes = bytes, .first = first, .last = last };
	l->at[l->n] = &l->b[l->n];
	l->n++;
}

/* Computes the offsets and checks all properties of a plan.  Returns the size of the arena. */
static int64_t
place(Lives *l)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	const int64_t end = plan_offsets(&cx, l->at, l->n);
	int64_t most = 0;

	l->least = plan_least_arena(&cx, l->at, l->n);

	for (int i = 0; i < l->n; i++) {
		const Buffer *a = &l->b[i];

		assert_true(a->offset >= 0 && a->offset % 64 == 0);
		most = a->offset + a->bytes > most ? a->offset + a->bytes : most;
		for (int k = 0; k < i; k++) {
			const Buffer *b = &l->b[k];

			if (a->first <= b->last && b->first <= a->last)
				assert_true(a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
		}
	}
	assert_int_equal(end, most);
	assert_true(end >= l->least);
	arena_free(&arena);
	return end;
}

/* Live ranges of known shapes.  `least` is the size of the buffers that live at one step, which the arena must not
 * exceed. */
static const struct { const char *what; int64_t least; struct { int64_t bytes; int first, last; } b[12]; } table[] = {
	{ "nothing", 0, { { 0 } } },
	{ "one", 640, { { 640, 0, 0 } } },
	{ "a chain: two at a time", 128 + 1024, { { 64, 0, 1 }, { 1024, 1, 2 }, { 128, 2, 3 }, { 512, 3, 4 } } },
	{ "a residual over a chain", 1024 + 1024 + 512,
	  { { 1024, 0, 4 }, { 256, 0, 1 }, { 256, 1, 2 }, { 1024, 3, 4 }, { 512, 4, 5 } } },
	{ "growing, each alive with the last", 640 + 576,
	  { { 64, 0, 1 }, { 128, 1, 2 }, { 192, 2, 3 }, { 256, 3, 4 }, { 320, 4, 5 },
		{ 384, 5, 6 }, { 448, 6, 7 }, { 512, 7, 8 }, { 576, 8, 9 }, { 640, 9, 10 } } },
	{ "the largest last, between two that stay", 64 + 128 + 4096,
	  { { 64, 0, 9 }, { 1024, 0, 2 }, { 128, 2, 9 }, { 4096, 5, 6 } } },
	{ "empty ones", 64, { { 0, 0, 3 }, { 64, 1, 2 }, { 0, 1, 1 } } },
	{ "all at once", 64 * 6,
	  { { 64, 0, 5 }, { 64, 0, 5 }, { 64, 0, 5 }, { 64, 0, 5 }, { 64, 0, 5 }, { 64, 0, 5 } } },
	{ "gaps of many sizes", 1024 + 512 + 256,
	  { { 1024, 0, 8 }, { 512, 0, 2 }, { 256, 0, 8 }, { 192, 4, 5 }, { 320, 4, 5 }, { 512, 6, 8 } } },
};

static void
known_lives(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		Lives l = { .n = 0 };
		int64_t end;

		for (int k = 0; k < 12 && (table[i].b[k].bytes || table[i].b[k].last); k++)
			add(&l, table[i].b[k].bytes, table[i].b[k].first, table[i].b[k].last);
		end = place(&l);
		if (end != table[i].least || l.least != table[i].least)
			fail_msg("%s: %lld bytes, not %lld", table[i].what, (long long)end, (long long)table[i].least);
	}
}

static int64_t
random_below(uint64_t *x, int64_t n)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return (int64_t)(*x >> 33) % n;
}

/* Random live ranges, most of them short as in networks.  Together the arenas may not exceed their lower bounds by
 * much. */
static void
random_lives(void **state)
{
	double all = 0, worst = 0;
	uint64_t x = 88172645463325252u;
	enum { ROUNDS = 300 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		Lives *l = calloc(1, sizeof *l);
		double ratio;
		int n, most;

		n = 2 + (int)(random_below(&x, MOST - 2));
		most = round % 3 ? 4 : n;
		for (int i = 0; i < n; i++) {
			const int first = (int)random_below(&x, n);
			const int last = first + (int)random_below(&x, most) * (random_below(&x, 8) ? 1 : 5);

			add(l, (1 + random_below(&x, round % 2 ? 8 : 2000)) * (round % 5 ? 64 : 24), first, last);
		}
		ratio = (double)place(l) / (double)l->least;
		all += ratio;
		worst = ratio > worst ? ratio : worst;
		free(l);
	}
	print_message("%d random plans: %.3f times the bound, %.3f at worst\n", ROUNDS, all / ROUNDS, worst);
	assert_true(all / ROUNDS < 1.10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(known_lives), cmocka_unit_test(random_lives) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
