/* tests/door/threads.c - eight threads open, call and close two models in one process
 *
 * usage: threads ROUNDS
 *
 * Each thread opens one of the two models at random, makes calls with known answers, and closes it again.  ROUNDS is
 * the total of all threads.  Then two threads call one instance at the same time: one of them must get the status
 * BUSY. */
#include "many.h"
#include "net.h"
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

enum { NTHREAD = 8, HELD = 4, SLACK = 64 << 10 };      /* SLACK: number of bytes that the C library keeps for threads */

static const float x[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
static float row[1][4] = { { 1, 2, 3, 4 } }, want[1][3];
static atomic_int bad;

typedef struct Job { pthread_t thread; unsigned seed; int rounds; } Job;

static int
try_many(many *m)
{
	int64_t size[] = { 2, 3 };
	DLTensor in = tensor((void *)(uintptr_t)x, kDLFloat, 32, 2, size), *args[] = { &in }, out;

	for (int i = 1; i <= 3; i++) {
		out.data = NULL;
		if (many_call(m, "forward", args, 1, &out, 1) || ((float *)out.data)[5] != (float)(6 * i * i))
			return 1;
	}
	return many_reset(m) || many_state_get(m, "count", &out) || *(int64_t *)out.data;
}

static int
try_net(net *m)
{
	float out[1][3];

	return net_forward(m, (const float (*)[4])row, out) || memcmp(out, want, sizeof out);
}

/* Holds HELD instances at a time, each of one of the models. */
static void *
work(void *arg)
{
	Job *j = arg;
	many *a[HELD] = { 0 };
	net *b[HELD] = { 0 };

	for (int i = 0; i < j->rounds; i++) {
		const int k = rand_r(&j->seed) % HELD;

		if (rand_r(&j->seed) % 2) {
			many_close(a[k]);
			a[k] = many_open(NULL, NULL, 0);
			bad += !a[k] || try_many(a[k]);
		} else {
			net_close(b[k]);
			b[k] = net_open(NULL, NULL, 0);
			bad += !b[k] || try_net(b[k]);
		}
	}
	for (int k = 0; k < HELD; k++) {
		many_close(a[k]);
		net_close(b[k]);
	}
	return NULL;
}

static void
in_threads(int rounds)
{
	Job job[NTHREAD];

	for (int i = 0; i < NTHREAD; i++) {
		job[i] = (Job){ .seed = (unsigned)i + 1, .rounds = rounds / NTHREAD };
		CHECK(!pthread_create(&job[i].thread, NULL, work, &job[i]));
	}
	for (int i = 0; i < NTHREAD; i++)
		pthread_join(job[i].thread, NULL);
}

static atomic_bool inside, told;

static void
wait_in_call(void *arg, const char *text, size_t n)
{
	(void)arg, (void)text, (void)n;
	inside = true;
	while (!told)
		;
}

static void *
call_long(void *m)
{
	int64_t size[] = { 2, 3 };
	DLTensor in = tensor((void *)(uintptr_t)x, kDLFloat, 32, 2, size), *args[] = { &in };

	bad += many_call(m, "say", args, 1, NULL, 0) != many_OK;
	return NULL;
}

static void
shared(void)
{
	many_options o;
	pthread_t thread;
	many *m;

	memset(&o, 0, sizeof o);
	o.print = wait_in_call;
	m = many_open(&o, NULL, 0);
	CHECK(m);
	if (!m)
		return;
	CHECK(!pthread_create(&thread, NULL, call_long, m));
	while (!inside && !bad)
		;
	CHECK(many_call(m, "draw", NULL, 0, NULL, 0) == many_BUSY && many_reset(m) == many_BUSY);
	CHECK(many_results(m) == -1);
	told = true;
	pthread_join(thread, NULL);
	CHECK(many_call(m, "draw", NULL, 0, NULL, 0) == many_OK);
	many_close(m);
}

int
main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	net *m = net_open(NULL, NULL, 0);
	size_t before, after;

	CHECK(m && !net_forward(m, (const float (*)[4])row, want));
	net_close(m);
	in_threads(rounds / 10);
	before = mallinfo2().uordblks;
	in_threads(rounds);
	after = mallinfo2().uordblks;
	CHECK(!bad);
	if (after > before + SLACK)
		printf("%zu bytes are left behind, %zu before\n", after, before), failures++;
	shared();
	CHECK(!bad);
	return failures != 0;
}
