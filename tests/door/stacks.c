/* tests/door/stacks.c - opens and calls models on stacks of all kinds: of threads, of children that a thread forked, of
 * fibers */
#include "many.h"
#include "net.h"
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { CANARY = 64 << 10 };              /* number of bytes below a fiber's stack that must not change */

static const float x[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
static const float row[1][4] = { { 1, 2, 3, 4 } };
static ucontext_t back;

/* Calls specialized code, generic code and a function of C types. */
static void
call_both(void)
{
	int64_t size[] = { 2, 3 };
	DLTensor in = tensor((void *)(uintptr_t)x, kDLFloat, 32, 2, size), *args[] = { &in }, result;
	char why[200] = "";
	many *m = many_open(NULL, why, sizeof why);
	net *n = net_open(NULL, why + strlen(why), sizeof why - strlen(why));
	float out[1][3];

	if (!m || !n) {
		printf("not opened: %s\n", why);
		failures++;
		return;
	}
	for (int i = 1; i <= 3; i++) {
		result.data = NULL;
		CHECK(!many_call(m, "forward", args, 1, &result, 1));
		CHECK(result.data && ((float *)result.data)[5] == (float)(6 * i * i));
	}
	CHECK(many_call(m, "refuse", args, 1, NULL, 0) == many_RAISED);
	CHECK(!net_forward(n, row, out) && out[0][0] > 1.738f && out[0][0] < 1.739f);
	many_close(m);
	net_close(n);
}

static void
on_fiber(size_t bytes)
{
	char *block = malloc(CANARY + bytes);
	ucontext_t context;

	getcontext(&context);
	memset(block, 0x5a, CANARY);
	context.uc_stack.ss_sp = block + CANARY;
	context.uc_stack.ss_size = bytes;
	context.uc_link = &back;
	makecontext(&context, call_both, 0);
	swapcontext(&back, &context);
	for (int i = 0; i < CANARY; i++)
		if (block[i] != 0x5a) {
			CHECK(!"the memory below the stack is whole");
			break;
		}
	free(block);
}

static void *
all_stacks(void *arg)
{
	(void)arg;
	call_both();
	for (size_t kb = 128; kb <= 8192; kb *= 4)
		on_fiber(kb << 10);
	call_both();
	return NULL;
}

static void *
fork_here(void *arg)
{
	const pid_t pid = fork();
	int status;

	if (!pid) {
		alarm(60);
		all_stacks(arg);
		fflush(stdout);
		_exit(failures != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	return NULL;
}

static void
in_thread(void *(*function)(void *))
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, function, NULL));
	pthread_join(thread, NULL);
}

int
main(void)
{
	all_stacks(NULL);
	fork_here(NULL);
	in_thread(all_stacks);
	in_thread(fork_here);
	return failures != 0;
}
