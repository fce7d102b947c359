/* rt/stack.c - finds the lowest address of the stack, so that the interpreter raises an error before its calls overflow
 * it
 *
 * Single-threaded programs, and programs compiled by libtcc, do not use this file: only RT_DEPTH bounds their calls. */
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
#include <unistd.h>

enum {
	STACK_SPARE = 64 << 10,  /* bytes kept for kernels and the C library */
	GIVEN = 128 << 10,       /* Linux maps this many bytes below the arguments */
	FRAMES = 16 << 10,       /* more bytes than the frame of any caller in this file */
	LEAST = 256 << 10,    /* largest size that Linux gives to arguments if the stack's limit is small, and GIVEN */
	MOST = 128 << 20,        /* Linux maps nothing else this close below the top of the first thread's stack */
	ELSEWHERE = 64 << 10,    /* number of bytes for calls on a stack whose end is not known */
};

/* Grows the stack now and returns the lowest address that it has reached, because it may be unable to grow to its limit
 * later, if address space is limited. The memory that the system mapped at the start is always there. */
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

static bool
is_on(const char *frame, const RtStack *s)
{
	return frame >= s->low && frame < s->top;
}

/* Returns the first thread's stack. Its top has the program's name, and it grows down to the limit. */
static RtStack
first_stack(void)
{
	const uintptr_t page = 4096, top = (getauxval(AT_EXECFN) + page - 1) & ~(page - 1);
	struct rlimit limit;
	uintptr_t bytes;

	if (top < MOST || getrlimit(RLIMIT_STACK, &limit))
		return (RtStack){ 0 };
	bytes = limit.rlim_cur < MOST ? limit.rlim_cur : MOST;
	return (RtStack){ .low = (const char *)(top - (bytes > LEAST ? bytes : LEAST)),
			  .end = (const char *)(top - bytes), .top = (const char *)top };
}

/* Returns the calling thread's stack, as the C library describes it. All members are null if it does not. */
static RtStack
thread_stack(void)
{
	RtStack s = { 0 };
	pthread_attr_t attr;
	size_t bytes;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attr))
		return s;
	if (!pthread_attr_getstack(&attr, &low, &bytes))
		s = (RtStack){ .low = low, .end = low, .top = (const char *)low + bytes };
	pthread_attr_destroy(&attr);
	return s;
}

/* Returns the calling thread's own stack. A process id does not tell which kind it is: in a child that was forked by
 * another thread than the first, that thread is the only one. */
static RtStack
own_stack(const char *frame)
{
	RtStack s = first_stack();

	if (!is_on(frame, &s))
		return thread_stack();
	s.end = claim_stack(s.end, s.top - GIVEN);
	return s;
}

/* Returns the lowest address for frames on the stack of `frame`. A frame outside of the thread's own stack is on one
 * that the program allocated for a fiber or coroutine. The end of such a stack is unknown, since the memory below it
 * may be mapped, too. So calls get a fixed number of bytes. */
static const char *
end_for(const char *frame, const RtStack *own)
{
	return is_on(frame, own) ? own->end + STACK_SPARE : frame - ELSEWHERE;
}

const char *
rt_stack_end(void)
{
	const char *frame = __builtin_frame_address(0);
	const RtStack own = own_stack(frame);

	return end_for(frame, &own);
}

/* Sets cx->stack_end. A thread's own stack is found once. Each outermost call checks whether the frame is on it,
 * because a thread may run several fibers. */
void
rt_stack_note(RtCx *cx)
{
	const char *frame = __builtin_frame_address(0);

	if (cx->stack_thread != (uintptr_t)pthread_self()) {
		cx->stack_thread = (uintptr_t)pthread_self();
		cx->stack = own_stack(frame);
	}
	cx->stack_end = end_for(frame, &cx->stack);
}

#endif
