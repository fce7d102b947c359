/* tests/door/noheap.c - instances in memory of the caller, from libraries built with --no-generic: nothing is allocated
 * on a heap
 *
 * Linked with --wrap for all functions that allocate. */
#include "ema.h"
#include "net.h"
#include "products.h"
#include "check.h"

#include <pthread.h>

static int asked;

#define WRAP(name, given, taken) \
	void *__wrap_##name given; \
	void * \
	__wrap_##name given \
	{ \
		(void)taken; \
		asked++; \
		return NULL; \
	}

WRAP(malloc, (size_t n), n)
WRAP(calloc, (size_t n, size_t m), (n * m))
WRAP(realloc, (void *p, size_t n), (p == (void *)n))
WRAP(aligned_alloc, (size_t a, size_t n), (a * n))

int __wrap_posix_memalign(void **p, size_t a, size_t n);
int
__wrap_posix_memalign(void **p, size_t a, size_t n)
{
	(void)p, (void)a, (void)n;
	return asked++, 12;
}

static const float row[1][4] = { { 1, 2, 3, 4 } };
static float x[256][9][11], y[256][13][11];

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void
refused(void *memory, size_t bytes, const net_options *o, const char *says)
{
	char why[80] = "?", little[4] = "???";

	CHECK(!net_open_in(memory, bytes, o, why, sizeof why));
	CHECK(strstr(why, says));
	CHECK(!net_open_in(memory, bytes, o, little, sizeof little));
	CHECK(!strncmp(little, why, 3) && !little[3]);
	CHECK(!net_open_in(memory, bytes, o, NULL, 0));
}

static void
no_pool(void *pool, int parts, void (*part)(void *arg, int i), void *arg)
{
	(void)pool;
	for (int i = parts; i-- > 0;)
		part(arg, i);
}

static void
opening(void)
{
	static _Alignas(64) char memory[net_RAM_BYTES + 64];
	char why[80] = "?";
	const net_options two = { .threads = 2 }, none = { .parallel = no_pool }, one = { .threads = 1 };

	CHECK(net_bytes(NULL) == net_RAM_BYTES && net_bytes(&one) == net_RAM_BYTES && net_bytes(&two) == 0);
	refused(NULL, sizeof memory, NULL, "null");
	refused(memory + 4, sizeof memory - 4, NULL, "64");
	refused(memory, net_RAM_BYTES - 1, NULL, "small");
	refused(memory, 0, NULL, "small");
	refused(memory, sizeof memory, &two, "one thread");
	refused(memory, sizeof memory, &none, "how many parts");
	memset(memory, 0xa5, sizeof memory);
	CHECK(net_open_in(memory, net_RAM_BYTES, NULL, why, sizeof why) && !why[0]);
	for (size_t i = net_RAM_BYTES; i < sizeof memory; i++)
		CHECK((unsigned char)memory[i] == 0xa5);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Puts two instances in one block of memory, beside one without a name.  Nothing around them may be written to. */
static void
two(void)
{
	static _Alignas(64) char memory[64 + 2 * net_RAM_BYTES + 64];
	float out[3][3];
	net *m, *n;

	memset(memory, 0xa5, sizeof memory);
	m = net_open_in(memory + 64, net_RAM_BYTES, NULL, NULL, 0);
	n = net_open_in(memory + 64 + net_RAM_BYTES, net_RAM_BYTES, NULL, NULL, 0);
	CHECK(m && n && !*net_error(m));
	CHECK(!net_forward(row, &out[0]) && !net_forward_in(m, row, &out[1]) && !net_forward_in(n, row, &out[2]));
	CHECK(out[0][0] > 1.738f && out[0][0] < 1.739f);
	CHECK(!memcmp(out[0], out[1], sizeof out[0]) && !memcmp(out[0], out[2], sizeof out[0]));
	CHECK(net_forward_in(NULL, row, &out[1]) == net_ARGUMENT && *net_error(NULL));
	CHECK(net_forward_in(m, NULL, &out[1]) == net_ARGUMENT && strstr(net_error(m), "null"));
	CHECK(net_forward_in(m, row, NULL) == net_ARGUMENT && net_forward(NULL, &out[0]) == net_ARGUMENT);
	CHECK(!*net_error(n) && !net_forward_in(m, row, &out[1]) && !*net_error(m));
	for (size_t i = 0; i < 64; i++)
		CHECK((unsigned char)memory[i] == 0xa5 && (unsigned char)memory[sizeof memory - 1 - i] == 0xa5);
}

/* Each instance has its own state. */
static void
state(void)
{
	static _Alignas(64) char memory[2 * ema_RAM_BYTES];
	static const float a[3][4] = { { 1 } }, b[3][4] = { { 0, 5 } };
	float first[4], again[4], other[4], mean[4];
	ema *m, *n;

	memset(memory, 0xa5, sizeof memory);
	m = ema_open_in(memory, ema_RAM_BYTES, NULL, NULL, 0);
	n = ema_open_in(memory + ema_RAM_BYTES, ema_RAM_BYTES, NULL, NULL, 0);
	CHECK(m && n);
	CHECK(!ema_forward_in(m, a, first, mean) && !ema_forward_in(n, b, other, mean));
	CHECK(!ema_forward_in(m, a, again, mean));
	CHECK(memcmp(first, again, sizeof first) && memcmp(first, other, sizeof first));
	CHECK(!ema_reset_in(m) && !ema_forward_in(m, a, again, mean) && !memcmp(first, again, sizeof first));
	CHECK(ema_reset_in(NULL) == ema_ARGUMENT);
	CHECK(!ema_forward(a, again, mean) && !memcmp(first, again, sizeof first) && !ema_forward(a, again, mean));
	CHECK(memcmp(first, again, sizeof first) && !ema_reset() && !ema_forward(a, again, mean));
	CHECK(!memcmp(first, again, sizeof first));
}

/* ---- a pool of ours ---------------------------------------------------------------------------------------------- */

typedef struct Part { void (*part)(void *arg, int i); void *arg; int i; } Part;

static void *
run(void *arg)
{
	const Part *p = arg;

	p->part(p->arg, p->i);
	return NULL;
}

static void
pool(void *calls, int parts, void (*part)(void *arg, int i), void *arg)
{
	pthread_t thread[8];
	Part at[8];

	CHECK(parts > 1 && parts <= 8);
	++*(int *)calls;
	for (int i = 0; i < parts; i++) {
		at[i] = (Part){ part, arg, i };
		CHECK(!pthread_create(&thread[i], NULL, run, &at[i]));
	}
	for (int i = 0; i < parts; i++)
		pthread_join(thread[i], NULL);
}

static int
is_untouched(const char *at, size_t n)
{
	while (n && (unsigned char)at[n - 1] == 0xa5)
		n--;
	return !n;
}

static void
parallel(void)
{
	static _Alignas(64) char memory[products_RAM_BYTES + (1 << 20)];
	static float want[256][9][13], got[256][9][13];
	const products_options two = { 2, pool, NULL };

	CHECK(!products_forward((void *)x, (void *)y, want));
	for (int threads = 1; threads <= 7; threads++) {
		int calls = 0;
		const products_options o = { threads, pool, &calls };
		const size_t bytes = products_bytes(&o), scratch = products_bytes(&two) - products_RAM_BYTES;
		products *m;

		CHECK(bytes >= products_RAM_BYTES && bytes <= sizeof memory);
		CHECK(!products_open_in(memory, bytes - 1, &o, NULL, 0));
		memset(memory, 0xa5, sizeof memory);
		m = products_open_in(memory, bytes, &o, NULL, 0);
		memset(got, 0, sizeof got);
		CHECK(m && !products_forward_in(m, (void *)x, (void *)y, got));
		CHECK(!memcmp(want, got, sizeof want) && (calls > 0) == (threads > 1));
		CHECK(is_untouched(memory + bytes, sizeof memory - bytes));
		/* scratch memory of the last part itself */
		CHECK(threads > 3 || !is_untouched(memory + bytes - scratch, scratch));
	}
}

/* ---- busy -------------------------------------------------------------------------------------------------------- */

static products *shared;

static void
ask(void *status, int parts, void (*part)(void *arg, int i), void *arg)
{
	static float out[256][9][13];

	*(int *)status = products_forward_in(shared, (void *)x, (void *)y, out);
	no_pool(NULL, parts, part, arg);
}

static void
busy(void)
{
	static _Alignas(64) char memory[products_RAM_BYTES + (1 << 20)];
	static float out[256][9][13];
	int status = -1;
	const products_options o = { 2, ask, &status };

	shared = products_open_in(memory, sizeof memory, &o, NULL, 0);
	CHECK(shared && !products_forward_in(shared, (void *)x, (void *)y, out) && status == products_BUSY);
}

int
main(void)
{
	for (int i = 0; i < 256 * 9 * 11; i++)
		(&x[0][0][0])[i] = (float)(i * 37 % 64 - 20) / 16;
	for (int i = 0; i < 256 * 13 * 11; i++)
		(&y[0][0][0])[i] = (float)(i * 41 % 64 - 30) / 16;
	opening();
	two();
	state();
	parallel();
	busy();
	CHECK(asked == 0);
	return failures != 0;
}
