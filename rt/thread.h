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
	int       index;             /* index of the thread; the caller of a loop has 0 */
	pthread_t thread;
} Worker;

/* The thread pool. Fields that are read without the lock have atomic types, so that no plain store to them compiles. */
struct RtPool {
	pthread_mutex_t lock;
	pthread_cond_t  work;        /* signals a new loop or task, or the end of the pool */
	pthread_cond_t  done;        /* signals the end of a loop or a task */
	RT_ATOMIC int   nsleep, nwaiter;
	RT_ATOMIC bool  stop;
	int             nworker;     /* read only by the pool's owner */
	pid_t           process;     /* process to which the threads belong */
	Worker          worker[MAX_THREADS];

	RT_ATOMIC uint64_t loop;               /* epoch << PARTS_BITS | parts */
	RT_ATOMIC uint64_t taken[MAX_THREADS]; /* last epoch in which a thread took the part, by part */
	RT_ATOMIC int  busy;                   /* whether a loop is running */
	RT_ATOMIC int  waiting, pending;       /* numbers of parts that are not yet taken, and not yet done */
	RT_ATOMIC bool lost;                   /* whether a kernel found no scratch memory in a part */
	int64_t  n;                            /* size of the loop; written before the loop is published */
	void   (*body)(void *, int64_t, int64_t);
	void    *arg;

	/* Set by the first fork. run_task runs a queued task and returns whether there was one. drain runs all
	 * tasks. */
	bool   (*run_task)(struct RtPool *);
	void   (*drain)(struct RtPool *);
	struct Task *first, *last;       /* queue of tasks; guarded by the lock */
	RT_ATOMIC int nqueue;
	int      nrunning;           /* number of tasks in progress; guarded by the lock */
};

/* Resets the pool if this process is a child of the pool's. Call it before taking the lock. A fork copies none of the
 * threads, one of which may have held the lock or waited. In a child, the caller becomes the pool's only thread. */
void rt_pool_adopt(struct RtPool *);
#endif

#endif
