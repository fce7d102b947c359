/* rt/stack.c - the end of a thread's stack: the interpreter's calls raise before their frames reach it
 *
 * Single-threaded programs, and those that libtcc compiled, do not use this: RT_DEPTH alone bounds their calls.
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
	STACK_SPARE = 64 << 10,  /* bytes kept for kernels and the C library */
	GIVEN = 128 << 10,       /* Linux maps this much below the arguments */
	FRAMES = 16 << 10,       /* more than the frame of the caller here */
};

/* Where address space is limited, the stack may be unable to grow to its own limit later, so it is grown now.  At least
 * what the system mapped at the start is there. */
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

/* The first thread's stack: its end is the limit's bytes below its top, where the program's name is stored. */
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
