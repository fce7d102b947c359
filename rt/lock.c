/* rt/lock.c - locks within a process, which a forked child takes over */
#include "program.h"

#ifdef __TINYC__
#include <pthread.h>

/* The one lock of programs built by tcc, which has no atomic operations. No lock is taken while another one is held. */
static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;

void
rt_process_lock(RtProcessLock *l)
{
	(void)l;
	pthread_mutex_lock(&all);
}

void
rt_process_unlock(RtProcessLock *l)
{
	(void)l;
	pthread_mutex_unlock(&all);
}

#else
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* Tries to take the lock. Succeeds if the lock is free, or if another process held it when this one was forked. */
static bool
take(RtProcessLock *l, int process)
{
	int holder = 0;

	return atomic_compare_exchange_strong(l, &holder, process) ||
	       (holder != process && atomic_compare_exchange_strong(l, &holder, process));
}

void
rt_process_lock(RtProcessLock *l)
{
	const struct timespec moment = { 0, 100000 };
	const int process = (int)getpid();

	while (!take(l, process))
		nanosleep(&moment, NULL);
}

void
rt_process_unlock(RtProcessLock *l)
{
	*l = 0;
}

#endif
