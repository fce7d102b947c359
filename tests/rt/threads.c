/* tests/rt/threads.c - contexts in several threads: an error in one of them is not visible in another */
#include "../../rt/rt.h"
#include "../../rt/base.h"
#include "../../rt/thread.h"
#include "../../rt/program.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { TIMES = 2000, NTHREAD = 8 };

/* ---- scratch memory of kernels ---- */

static void
take_too_much(void *arg, int64_t begin, int64_t end)
{
	(void)end;
	rt_thread_scratch(begin >= *(int64_t *)arg ? INT64_MAX / 4 : 64);
}

/* from: elements from here on find no memory.  failed: number of loops that raised. */
typedef struct Loop { int64_t from; int failed; } Loop;

static void *
loop(void *arg)
{
	Loop *l = arg;
	RtCx cx;

	rt_cx_init(&cx);
	for (int i = 0; i < TIMES; i++) {
		rt_parallel(&cx, 1, 1, take_too_much, &l->from);
		l->failed += cx.status == RT_ERROR;
		rt_clear_error(&cx);
	}
	rt_cx_free(&cx);
	rt_thread_end();
	return NULL;
}

static void
test_lost_is_its_own(void **state)
{
	Loop l[2] = { { 0, 0 }, { 1, 0 } };
	pthread_t t[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, loop, &l[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(l[0].failed, TIMES);
	assert_int_equal(l[1].failed, 0);
}

static void
test_lost_in_a_worker(void **state)
{
	RtCx cx;

	(void)state;
	rt_cx_init(&cx);
	rt_threads(&cx, 4);
	for (int64_t from = 0; from <= 4; from++) {
		rt_parallel(&cx, 4, 1, take_too_much, &from);
		assert_int_equal(cx.status, from < 4 ? RT_ERROR : RT_OK);
		rt_clear_error(&cx);
	}
	rt_cx_free(&cx);
}

/* ---- names of types ---- */

static void *
name_types(void *arg)
{
	const RtType *const all[] = { &rt_type_list_int, &rt_type_list_float, &rt_type_list_bool, &rt_type_list_str };
	const char *const names[] = { "List[int]", "List[float]", "List[bool]", "List[str]" };
	const int which = *(int *)arg % 4;
	RtCx cx;
	IValue v;
	int *bad = arg;

	rt_cx_init(&cx);
	v = rt_ref(RT_LIST, rt_list_new(&cx, all[which]->of[0], 0));
	*bad = 0;
	for (int i = 0; i < TIMES; i++)
		*bad += strcmp(rt_type_of(v), names[which]) != 0;
	rt_release(v);
	rt_cx_free(&cx);
	return NULL;
}

static void
test_type_names(void **state)
{
	pthread_t t[NTHREAD];
	int which[NTHREAD];

	(void)state;
	for (int i = 0; i < NTHREAD; i++) {
		which[i] = i;
		assert_int_equal(pthread_create(&t[i], NULL, name_types, &which[i]), 0);
	}
	for (int i = 0; i < NTHREAD; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(which[i], 0);
	}
}

/* ---- a child of the process ---- */

static void
count_up(void *arg, int64_t begin, int64_t end)
{
	__atomic_fetch_add((int64_t *)arg, end - begin, __ATOMIC_RELAXED);
}

/* The process forks while its threads are asleep and one of them holds the pool's lock.  The child has neither threads
 * nor lock. */
static void
test_child(void **state)
{
	int64_t counted = 0;
	int status;
	RtCx cx;

	(void)state;
	rt_cx_init(&cx);
	assert_int_equal(rt_threads(&cx, 3), RT_OK);
	while (cx.pool->nsleep < 2)
		usleep(100);
	pthread_mutex_lock(&cx.pool->lock);
	if (!fork()) {
		alarm(30);
		rt_parallel(&cx, 1000, 1, count_up, &counted);
		rt_cx_free(&cx);
		_exit(counted != 1000);
	}
	pthread_mutex_unlock(&cx.pool->lock);
	assert_true(wait(&status) > 0 && !status);
	rt_parallel(&cx, 1000, 1, count_up, &counted);
	assert_int_equal(counted, 1000);
	rt_cx_free(&cx);
}

typedef struct Held { RtProcessLock lock; int64_t n; } Held;

static void *
count_under_lock(void *arg)
{
	Held *h = arg;

	for (int i = 0; i < TIMES; i++) {
		rt_process_lock(&h->lock);
		h->n++;
		rt_process_unlock(&h->lock);
	}
	return NULL;
}

static void
count_in_threads(Held *h)
{
	pthread_t t[NTHREAD];

	for (int i = 0; i < NTHREAD; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count_under_lock, h), 0);
	for (int i = 0; i < NTHREAD; i++)
		pthread_join(t[i], NULL);
}

/* A thread holds a lock of the process when it forks.  The child's threads share the lock among themselves. */
static void
test_lock_of_parent(void **state)
{
	Held h = { 0, 0 };
	int status;

	(void)state;
	rt_process_lock(&h.lock);
	if (!fork()) {
		alarm(30);
		count_in_threads(&h);
		_exit(h.n != NTHREAD * TIMES);
	}
	assert_true(wait(&status) > 0 && !status);
	rt_process_unlock(&h.lock);
	count_in_threads(&h);
	assert_int_equal(h.n, NTHREAD * TIMES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_is_its_own),
		cmocka_unit_test(test_lost_in_a_worker),
		cmocka_unit_test(test_type_names),
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_lock_of_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
