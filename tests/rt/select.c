/* tests/rt/select.c - the fast selection of keys from a row gives the same answer as the algorithms that it replaces */
#include "test.h"

#define SELECT_API static inline         /* static functions that are not called give no warning */
#include "../../rt/ops/select_loops.h"

enum { N = 5, VALUES = 4, LONG = 130 };

static void
check_row(const int64_t *key, int64_t n, int64_t k)
{
	int64_t at[LONG], want[LONG];

	rt_select_positions(key, n, k, true, at);
	select_as_library(key, n, k, true, want);
	assert_memory_equal(at, want, (size_t)k * sizeof *at);
}

/* Every row of five keys from 0 to 3, and every number of keys to select. */
static void
every_short_row(void **state)
{
	int64_t key[N], rows = 1;

	(void)state;
	for (int i = 0; i < N; i++)
		rows *= VALUES;
	for (int64_t row = 0; row < rows; row++) {
		int64_t rest = row;
		for (int i = 0; i < N; i++, rest /= VALUES)
			key[i] = rest % VALUES;
		for (int64_t k = 1; k <= N; k++)
			check_row(key, N, k);
	}
}

/* Rows long enough for selection by a heap: with many, few and no equal keys (59 and 997 are primes). */
static void
long_rows(void **state)
{
	int64_t key[LONG];

	(void)state;
	for (int64_t values = 3; values < 1000; values += 83)
		for (int64_t first = 0; first < 40; first++) {
			for (int64_t i = 0; i < LONG; i++)
				key[i] = (first + i * 59) % 997 % values;
			check_row(key, LONG, 1);
			check_row(key, LONG, 2);
			check_row(key, LONG, 7);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_short_row), cmocka_unit_test(long_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
