/* rt/thread.h - the thread pool; private to thread.c (loops) and task.c (forked calls) */
#ifndef RT_THREAD_H
#define RT_THREAD_H

#include "rt.h"
#include "base.h"

#if defined __TINYC__ && !defined RT_SINGLE
#define RT_SINGLE                    /* build without threads */
#endif

#ifndef RT_SINGLE
#include <pthread.h>

enum { MAX_THREADS = 256 };

typedef struct Worker {
	struct RtPool *pool;
	int       index;             /* the caller of a loop is 0 */
	pthread_t thread;
} Worker;

/* Fields read without the lock have atomic types, so that no plain store to them compiles. */
struct RtPool {
	pthread_mutex_t lock;
	pthread_cond_t  work;        /* signals a new loop or task, or the end */
	pthread_cond_t  done;        /* signals the end of a loop or a task */
	RT_ATOMIC int   nsleep, nwaiter;
	RT_ATOMIC bool  stop;
	int             nworker;     /* read only by the pool's owner */
	pid_t           process;     /* process that the threads belong to */
	Worker          worker[MAX_THREADS];

	RT_ATOMIC uint64_t loop;               /* epoch << PARTS_BITS | parts */
	RT_ATOMIC uint64_t taken[MAX_THREADS]; /* (part) last epoch in which a thread took it */
	RT_ATOMIC int  busy;                   /* whether a loop is running */
	RT_ATOMIC int  waiting, pending;       /* number of parts not yet taken, not yet done */
	RT_ATOMIC bool lost;                   /* whether a part found no scratch memory */
	int64_t  n;                            /* size of the loop; written before it is published */
	void   (*body)(void *, int64_t, int64_t);
	void    *arg;

	/* Set by the first fork.  run_task runs a queued task and returns whether there was one; drain runs all. */
	bool   (*run_task)(struct RtPool *);
	void   (*drain)(struct RtPool *);
	struct Task *first, *last;       /* queue, under the lock */
	RT_ATOMIC int nqueue;
	int      nrunning;           /* tasks in progress; under the lock */
};

/* Call this before taking the lock in a process that may be a child of the pool's.  A fork copies none of the threads,
 * one of which may have held the lock or waited.  In a child the pool is reset: the caller is its only thread. */
void rt_pool_adopt(struct RtPool *);
#endif

#endif
