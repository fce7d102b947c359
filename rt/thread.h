/* rt/thread.h - the pool of threads: thread.c (loops), task.c (forked calls) */
#ifndef RT_THREAD_H
#define RT_THREAD_H

#include "rt.h"
#include "base.h"

#if defined __TINYC__ && !defined RT_SINGLE
#define RT_SINGLE                    /* there are no threads */
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
	pthread_cond_t  work;        /* a loop or a task came, or the end */
	pthread_cond_t  done;        /* a loop or a task ended */
	RT_ATOMIC int   nsleep, nwaiter;
	RT_ATOMIC bool  stop;
	int             nworker;     /* only its owner asks, */
	pid_t           process;     /* whose threads these are */
	Worker          worker[MAX_THREADS];

	RT_ATOMIC uint64_t loop;               /* epoch << PARTS_BITS | parts */
	RT_ATOMIC uint64_t taken[MAX_THREADS]; /* by part: the epoch in which it was taken last */
	RT_ATOMIC int  busy;                   /* is there a loop? */
	RT_ATOMIC int  waiting, pending;       /* parts not yet taken, not yet done */
	RT_ATOMIC bool lost;                   /* a part found no scratch memory */
	int64_t  n;                            /* of the loop: written before it is published */
	void   (*body)(void *, int64_t, int64_t);
	void    *arg;

	/* of the first fork, before which there are no tasks: runs one, if there is one; runs all */
	bool   (*run_task)(struct RtPool *);
	void   (*drain)(struct RtPool *);
	struct Task *first, *last;       /* queue, under the lock */
	RT_ATOMIC int nqueue;
	int      nrunning;           /* under the lock */
};

/* Before the lock is taken by a process that may be a child of the one that made the pool: a child has none of its
 * threads, one of which may have held the lock then, or waited; there it is a pool of the caller alone. */
void rt_pool_adopt(struct RtPool *);
#endif

#endif
