/* rt/stack.c - the stack of a thread: how far down its frames may come, for the interpreter's calls, which then raise
 *
 * A program of one thread, and one that libtcc has compiled, does not ask: its calls are bounded by RT_DEPTH alone.
 */
#include "rt.h"
#include "base.h"

#if defined __TINYC__ && !defined RT_SINGLE
#define RT_SINGLE
#endif
#ifdef RT_SINGLE

const char *
rt_stack_end(void)
{
	return NULL;
}

void
rt_stack_note(RtCx *cx)
{
	(void)cx;
}

#else

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	STACK_SPARE = 64 << 10,  /* bytes that calls leave to kernels and to the C library */
	GIVEN = 128 << 10,       /* Linux maps so much below the arguments */
	FRAMES = 16 << 10,       /* and more than the frame that asks */
};

/* Where address space is limited, the stack may not grow as far as its own limit allows: it is made to grow now.  At
 * least what the system gave at the start is there. */
static const char *
claim_stack(const char *end, const char *given)
{
	const char *here = __builtin_frame_address(0);
	size_t want = RT_STACK_BYTES;
	struct rlimit most;

	if (getrlimit(RLIMIT_AS, &most) || most.rlim_cur == RLIM_INFINITY)
		return end;
	if (here - end < (ptrdiff_t)(want + FRAMES))
		want = here - end > FRAMES ? (size_t)(here - end) - FRAMES : 0;
	for (; want > STACK_SPARE; want /= 2) {
		void *room = want > most.rlim_cur / 16 ? MAP_FAILED :
			mmap(NULL, want, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (room == MAP_FAILED)
			continue;
		munmap(room, want);
		*(volatile char *)__builtin_alloca(want) = 0;
		return here - want;
	}
	return given > end ? given : end;
}

/* The first thread's stack ends as far below its top, where the name of the program stands, as the limit says. */
static const char *
first_stack_end(void)
{
	const uintptr_t page = 4096, top = (getauxval(AT_EXECFN) + page - 1) & ~(page - 1);
	struct rlimit most;

	if (getrlimit(RLIMIT_STACK, &most) || most.rlim_cur == RLIM_INFINITY || most.rlim_cur > top)
		return NULL;
	return claim_stack((const char *)(top - most.rlim_cur), (const char *)(top - GIVEN));
}

const char *
rt_stack_end(void)
{
	const char *end = NULL;
	pthread_attr_t attr;
	size_t bytes;
	void *low;

	if (getpid() == (pid_t)syscall(SYS_gettid)) {
		end = first_stack_end();
	} else if (!pthread_getattr_np(pthread_self(), &attr)) {
		if (!pthread_attr_getstack(&attr, &low, &bytes))
			end = low;
		pthread_attr_destroy(&attr);
	}
	return end ? end + STACK_SPARE : NULL;
}

void
rt_stack_note(RtCx *cx)
{
	if (cx->stack_thread == (uintptr_t)pthread_self())
		return;
	cx->stack_thread = (uintptr_t)pthread_self();
	cx->stack_end = rt_stack_end();
}

#endif
