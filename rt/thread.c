/* rt/thread.c - the pool: parallel loops, forked calls
 *
 * One pool serves both.  A loop is published as one 64-bit word, epoch | parts | next: a part is claimed by compare and
 * swap on it, so a worker that comes late can never take a part of a loop whose body it has not seen.  Workers spin for
 * a bounded time after work and then sleep on a condition.  A loop inside a loop, or beside one, runs inline.
 *
 * A forked call is a task on a queue, with its own context.  A thread that waits for a future runs its task if it has
 * not begun, else other closed tasks while the C stack is shallow, else it sleeps.  A closed task has no future among
 * its arguments: it only waits for tasks that it has forked itself, so never for a call below it on its thread's stack.
 * Hence a waiting thread continues as soon as the model's own order allows.  Without workers, and while profiling, a
 * fork is run at once.  An awaitable is never queued: the first thread to wait calls it, as in PyTorch.
 */
#include "rt.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined __TINYC__ && !defined RT_SINGLE
#define RT_SINGLE
#endif
#ifndef RT_SINGLE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#endif

typedef enum State { QUEUED, LAZY, RUNNING, DONE } State;

typedef struct Task Task;
struct Task {
	RtCx     cx;
	const RtCode *code;
	RtFuture *future;        /* a reference */
	Task    *prev, *next;    /* in the queue */
	bool     closed;         /* it is given no future */
	int      n;
	IValue   arg[];
};

struct RtFuture {
	RtHead  h;
	int     state;           /* a State; changed under the pool's lock */
	IValue  value;
	int     status;          /* of the call; its error: */
	char   *message, *cls;
	RtVisit *visit;
	int     nvisit;
	Task   *task;            /* while queued */
	/* of an awaitable: what is called; the value is a tuple of its arguments until that is done */
	const RtCode *code;
#ifndef RT_SINGLE
	pthread_t runner;        /* of an awaitable: the thread that calls it */
#endif
};

int64_t
rt_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- futures and tasks ---------------------------------------------------------------------------------- */

static RtFuture *
future_new(RtCx *cx, int state, IValue v)
{
	RtFuture *f = rt_mem_counted(cx, sizeof *f);

	if (!f) {
		rt_release(v);
		return 0;
	}
	f->state = state;
	f->value = v;
	return f;
}

IValue
rt_future_take(RtFuture *f)
{
	IValue v = f->value;

	RT_ASSERT((f->state == DONE || f->state == LAZY) && !f->task);
	rt_mem_back(f->message);
	free(f->cls);
	free(f->visit);
	rt_mem_back(f);
	return v;
}

static Task *
task_new(RtCx *cx, const RtCode *code, const IValue *args, int n)
{
	Task *t = rt_mem_zeroed((int64_t)sizeof *t + (int64_t)sizeof *t->arg * n);

	if (!t || rt_cx_child(&t->cx, cx) || !(t->future = future_new(cx, QUEUED, rt_none()))) {
		if (t)
			rt_cx_free(&t->cx);
		rt_mem_back(t);
		rt_raise(cx, "out of memory");
		return 0;
	}
	t->code = code;
	t->n = n;
	t->future->task = t;
	for (int i = 0; i < n; i++)
		t->arg[i] = rt_retain(args[i]);
	return t;
}

static void
task_free(Task *t)
{
	for (int i = 0; i < t->n; i++)
		rt_release(t->arg[i]);
	rt_release(rt_ref(RT_FUTURE, t->future));
	rt_cx_free(&t->cx);
	rt_mem_back(t);
}

static int
task_call(Task *t, IValue *out)
{
	RtTuple *tuple;
	int status;

	if (t->code->nresult == 1)
		return rt_run(&t->cx, t->code, t->arg, out);
	if (!(tuple = rt_tuple_new(&t->cx, 0, t->code->nresult)))
		return RT_ERROR;
	status = rt_run(&t->cx, t->code, t->arg, tuple->v);
	if (status || !t->code->nresult)
		rt_release(rt_ref(RT_TUPLE, tuple));
	else
		*out = rt_ref(RT_TUPLE, tuple);
	return status;
}

/* Runs the call and puts what came of it into the future, but for its state.  depth: of who runs it. */
static void
task_run(Task *t, int depth)
{
	RtFuture *f = t->future;
	IValue v = rt_none();

	if (t->cx.depth < depth)
		t->cx.depth = depth;
	t->cx.depth++;
	rt_stack_note(&t->cx);
	f->status = task_call(t, &v);
	f->value = v;
	f->message = t->cx.message;
	f->cls = t->cx.cls;
	f->visit = t->cx.visit;
	f->nvisit = t->cx.nvisit;
	t->cx.message = t->cx.cls = 0;
	t->cx.visit = 0;
}

/* The value of a finished future, or its error. */
static int
collect(RtCx *cx, RtFuture *f, IValue *out)
{
	if (!f->status) {
		*out = rt_retain(f->value);
		return RT_OK;
	}
	if (f->status == RT_UNKNOWN_META)
		return rt_no_meta(cx);
	rt_raise_as(cx, f->cls, "%s", f->message ? f->message : "a forked call failed");
	cx->status = f->status;
	for (int i = 0; i < f->nvisit; i++)
		rt_visits_add(cx, f->visit[i]);
	return f->status;
}

/* A model may have cast the future of another value. */
int
rt_wait_for(RtCx *cx, IValue f, const RtType *t, IValue *out)
{
	int status;

	if (f.tag != RT_FUTURE)
		return rt_raise(cx, "expected a Future, but got a value of type %s", rt_type_of(f));
	status = rt_wait(cx, f.u.fut, out);
	if (!status && (status = rt_need(cx, *out, t)))
		rt_release(*out);
	return status;
}

/* No worker: the call is made now, and its effects on the limits stay. */
static int
fork_now(RtCx *cx, const RtCode *code, const IValue *args, int n, IValue *out)
{
	Task *t = task_new(cx, code, args, n);

	if (!t)
		return RT_ERROR;
	task_run(t, cx->depth);
	t->future->state = DONE;
	t->future->task = 0;
	cx->steps = t->cx.steps;
	*out = rt_retain(rt_ref(RT_FUTURE, t->future));
	task_free(t);
	return RT_OK;
}

/* ---- awaitables -------------------------------------------------------------------------------------------------- */

int
rt_await(RtCx *cx, const RtCode *code, const IValue *args, int n, IValue *out)
{
	RtTuple *held = rt_tuple_new(cx, 0, n);
	RtFuture *f;

	*out = rt_none();
	for (int i = 0; held && i < n; i++)
		held->v[i] = rt_retain(args[i]);
	if (!held || !(f = future_new(cx, LAZY, rt_ref(RT_TUPLE, held))))
		return rt_raise(cx, "out of memory");
	f->code = code;
	*out = rt_ref(RT_FUTURE, f);
	return RT_OK;
}

int
rt_awaited(RtCx *cx, IValue v, IValue *out)
{
	RtFuture *f = future_new(cx, DONE, rt_retain(v));

	*out = f ? rt_ref(RT_FUTURE, f) : rt_none();
	return f ? RT_OK : rt_raise(cx, "out of memory");
}

/* f->state is RUNNING.  A call that failed is made again by the next thread that waits. */
static int
call_awaitable(RtCx *cx, RtFuture *f)
{
	const RtTuple *args = f->value.u.tuple;
	IValue done, v;
	int status;

	if (fork_now(cx, f->code, args->v, (int)args->n, &done))
		return RT_ERROR;
	if ((status = collect(cx, done.u.fut, &v)) == RT_OK)
		rt_assign(&f->value, v);
	rt_release(done);
	return status;
}

static int
waits_for_itself(RtCx *cx)
{
	return rt_raise(cx, "an awaitable waits for itself");
}

/* With no other thread about. */
static int
wait_alone(RtCx *cx, RtFuture *f, IValue *out)
{
	int status;

	if (f->state == RUNNING)
		return waits_for_itself(cx);
	if (f->state == LAZY) {
		f->state = RUNNING;
		status = call_awaitable(cx, f);
		f->state = status ? LAZY : DONE;
		if (status)
			return status;
	}
	return collect(cx, f, out);
}

static void note_lost(void);
static bool was_lost(void);
static bool claim(RT_ATOMIC int *);

/* A block of at least so many bytes in place of an old one; its size stands before it. */
static char *
block_grow(char *old, int64_t bytes)
{
	char *block;

	if (old && *(int64_t *)old >= bytes)
		return old;
	bytes = (bytes + 127) & ~(int64_t)63;
	block = aligned_alloc(64, (size_t)bytes);
	free(old);
	if (block)
		*(int64_t *)block = bytes - 64;
	else if (rt_mem_none)
		rt_mem_none();
	else
		note_lost();
	return block;
}

/* A kernel that got no scratch memory has left its result as it was: the region's caller raises. */
static void
check_scratch(RtCx *cx, bool lost)
{
	if (lost)
		rt_raise(cx, "out of memory: no scratch memory for a kernel");
}

/* ---- the caller's pool ------------------------------------------------------------------------------------------- */

typedef struct OuterLoop {
	int64_t n;
	int     parts;
	void  (*body)(void *, int64_t begin, int64_t end);
	void   *arg;
	RT_ATOMIC bool lost;
} OuterLoop;

static void
outer_part(void *loop, int i)
{
	OuterLoop *l = loop;

	l->body(l->arg, l->n / l->parts * i + (i < l->n % l->parts ? i : l->n % l->parts),
		l->n / l->parts * (i + 1) + (i + 1 < l->n % l->parts ? i + 1 : l->n % l->parts));
	if (was_lost())
		l->lost = true;
}

bool
rt_outer_loop(RtCx *cx, int64_t n, int parts, void (*body)(void *, int64_t begin, int64_t end), void *arg)
{
	RtOuter *o = cx->outer;
	OuterLoop l = { .n = n, .parts = parts, .body = body, .arg = arg };
	bool lost;

	if (!claim(&o->busy))
		return false;
	o->run(o->pool, parts, outer_part, &l);
	lost = l.lost;
	o->busy = 0;
	check_scratch(cx, lost);
	return true;
}

#ifdef RT_SINGLE

static bool single_lost;

static bool
claim(RT_ATOMIC int *at)
{
	return *at ? false : (*at = 1);
}

static void
note_lost(void)
{
	single_lost = true;
}

static bool
was_lost(void)
{
	const bool lost = single_lost;

	single_lost = false;
	return lost;
}

int
rt_threads(RtCx *cx, int n)
{
	(void)n;
	cx->nthread = 1;
	return RT_OK;
}

void
rt_parallel(RtCx *cx, int64_t n, int64_t grain, void (*body)(void *, int64_t begin, int64_t end), void *arg)
{
	const int64_t parts = n / (grain > 0 ? grain : 1);

	if (parts > 1 && cx->outer &&
	    cx->outer->loop(cx, n, (int)(parts < cx->nthread ? parts : cx->nthread), body, arg))
		return;
	if (n > 0)
		body(arg, 0, n);
	check_scratch(cx, was_lost());
}

int
rt_fork(RtCx *cx, const RtCode *code, const IValue *args, int n, IValue *out)
{
	return fork_now(cx, code, args, n, out);
}

int
rt_wait(RtCx *cx, RtFuture *f, IValue *out)
{
	return wait_alone(cx, f, out);
}

void
rt_drain(RtCx *cx)
{
	(void)cx;
}

#else

/* ---- the pool ---------------------------------------------------------------------------------------------- */

enum {
	MAX_THREADS = 256,
	PARTS_BITS = 9,          /* MAX_THREADS and less */
	SHALLOW = RT_DEPTH / 4,  /* calls below which a waiting thread takes up other tasks */
};

typedef struct Worker {
	struct RtPool *pool;
	int       index;             /* the caller of a loop is 0 */
	pthread_t thread;
} Worker;

/* What is read without the lock is atomic by its type, so that it cannot be written in another way. */
struct RtPool {
	pthread_mutex_t lock;
	pthread_cond_t  work;        /* a loop or a task came, or the end */
	pthread_cond_t  done;        /* a loop or a task ended */
	RT_ATOMIC int   nsleep, nwaiter;
	RT_ATOMIC bool  stop;
	int             nworker;     /* only its owner asks */
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
	Task    *first, *last;       /* queue, under the lock */
	RT_ATOMIC int nqueue;
	int      nrunning;           /* under the lock */
};

static bool
claim(RT_ATOMIC int *at)
{
	int none = 0;

	return atomic_compare_exchange_strong(at, &none, 1);
}

static void
pause_cpu(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}

/* Only in a later epoch than it was taken last: a thread that comes late, from a loop that is over, takes nothing. */
static bool
take(struct RtPool *p, uint64_t epoch, int64_t part)
{
	uint64_t last = p->taken[part];

	if (last >= epoch ||
	    !atomic_compare_exchange_strong(&p->taken[part], &last, epoch))
		return false;
	p->waiting--;
	return true;
}

/* Takes and runs one part of the loop that is going on; false when none is left.  The thread's own part is the first
 * choice: the next loop, over the same places, finds in this core's cache what this one left there (by measure, 90 GB/s
 * and not 25). */
static bool
run_part(struct RtPool *p, int self)
{
	const uint64_t word = p->loop;
	const int64_t parts = (int64_t)(word & (((uint64_t)1 << PARTS_BITS) - 1));
	int64_t part = self, i = 0;

	if (p->waiting <= 0)
		return false;
	while (i < parts && !take(p, word >> PARTS_BITS, part = (self + i) % parts))
		i++;
	if (i == parts)
		return false;
	p->body(p->arg, p->n / parts * part + (part < p->n % parts ? part : p->n % parts),
		p->n / parts * (part + 1) + (part + 1 < p->n % parts ? part + 1 : p->n % parts));
	if (was_lost())
		p->lost = true;
	RT_ASSERT(p->pending > 0);
	if (--p->pending == 0 && p->nwaiter) {
		pthread_mutex_lock(&p->lock);
		pthread_cond_broadcast(&p->done);
		pthread_mutex_unlock(&p->lock);
	}
	return true;
}

static bool
loop_waits(struct RtPool *p)
{
	return p->waiting > 0;
}

/* Looks for work for a bounded time; false: there was none. */
static bool
spin(struct RtPool *p)
{
	int64_t end = rt_now() + RT_LIMIT_SPIN_NS;

	do {
		for (int i = 0; i < 64; i++) {
			if (loop_waits(p) || p->nqueue || p->stop)
				return true;
			pause_cpu();
		}
	} while (rt_now() < end);
	return false;
}

static void *
work(void *arg)
{
	const Worker *self = arg;
	struct RtPool *p = self->pool;

	while (!p->stop) {
		if (run_part(p, self->index) || (p->nqueue && p->run_task(p)) || spin(p))
			continue;
		pthread_mutex_lock(&p->lock);
		p->nsleep++;
		while (!p->stop && !loop_waits(p) && !p->first)
			pthread_cond_wait(&p->work, &p->lock);
		p->nsleep--;
		pthread_mutex_unlock(&p->lock);
	}
	return 0;
}

static void
wake(struct RtPool *p)
{
	if (!p->nsleep)
		return;
	pthread_mutex_lock(&p->lock);
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

static void
pool_free(struct RtPool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->nworker; i++)
		pthread_join(p->worker[i].thread, 0);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->done);
	free(p);
}

static struct RtPool *
pool_new(int nworker)
{
	struct RtPool *p = calloc(1, sizeof *p);
	sigset_t all, before;
	pthread_attr_t attr;

	if (!p)
		return 0;
	pthread_mutex_init(&p->lock, 0);
	pthread_cond_init(&p->work, 0);
	pthread_cond_init(&p->done, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, RT_STACK_BYTES);
	sigfillset(&all);                           /* signals are for the threads of the process, not for the pool's */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	for (Worker *w = p->worker; p->nworker < nworker; w++) {
		*w = (Worker){ .pool = p, .index = p->nworker + 1 };
		if (pthread_create(&w->thread, &attr, work, w))
			break;
		p->nworker++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return p;
}

int
rt_threads(RtCx *cx, int n)
{
	if (n <= 0)
		n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (n < 1)
		n = 1;
	if (n > MAX_THREADS)
		n = MAX_THREADS;
	if (cx->pool && cx->pool->nworker == n - 1)
		return RT_OK;
	if (cx->pool) {
		rt_drain(cx);
		pool_free(cx->pool);
	}
	cx->pool = 0;
	cx->nthread = 1;
	if (n == 1)
		return RT_OK;
	if (!(cx->pool = pool_new(n - 1)))
		return rt_raise(cx, "out of memory");
	cx->nthread = cx->pool->nworker + 1;
	return RT_OK;
}

/* ---- loops ---------------------------------------------------------------------------------------------------- */

/* Until all parts are done: first spinning, as parts are of one size, then asleep. */
static void
join(struct RtPool *p)
{
	const int64_t end = rt_now() + RT_LIMIT_SPIN_NS;

	do {
		for (int i = 0; i < 64; i++) {
			if (!p->pending)
				return;
			pause_cpu();
		}
	} while (rt_now() < end);
	pthread_mutex_lock(&p->lock);
	p->nwaiter++;
	while (p->pending)
		pthread_cond_wait(&p->done, &p->lock);
	p->nwaiter--;
	pthread_mutex_unlock(&p->lock);
}

void
rt_parallel(RtCx *cx, int64_t n, int64_t grain, void (*body)(void *, int64_t begin, int64_t end), void *arg)
{
	struct RtPool *p = cx->pool;
	int64_t parts = n / (grain > 0 ? grain : 1);
	bool lost;

	if (n <= 0)
		return;
	if (parts > cx->nthread)
		parts = cx->nthread;
	if (parts > 1 && cx->outer && cx->outer->loop(cx, n, (int)parts, body, arg))
		return;
	if (!p || parts < 2 || !claim(&p->busy)) {
		body(arg, 0, n);
		check_scratch(cx, was_lost());
		return;
	}
	RT_ASSERT(!p->pending && p->waiting <= 0);
	p->lost = false;
	p->n = n;
	p->body = body;
	p->arg = arg;
	p->pending = (int)parts;
	p->loop = ((p->loop >> PARTS_BITS) + 1) << PARTS_BITS | (uint64_t)parts;
	p->waiting = (int)parts;
	wake(p);
	while (run_part(p, 0))
		;
	join(p);
	lost = p->lost;
	p->busy = 0;
	check_scratch(cx, lost);
}

/* ---- forked calls ------------------------------------------------------------------------------------------------ */

/* Looks at RT_LIMIT_LOOKED_AT values of a call's arguments; a call with more counts as one that is given a future. */
static bool
type_has_future(const RtType *t)
{
	if (!t || t->kind == TYPE_ANY || t->kind == TYPE_FUTURE || t->kind == TYPE_AWAIT)
		return true;
	for (int i = 0; i < t->n; i++)
		if (type_has_future(t->of[i]))
			return true;
	return false;
}

static bool has_future(IValue v, int *left);

static bool
any_has_future(const IValue *v, int64_t n, int *left)
{
	for (int64_t i = 0; i < n; i++)
		if (has_future(v[i], left))
			return true;
	return false;
}

/* Containers are asked for their type first: they may grow. */
static bool
has_future(IValue v, int *left)
{
	if (--*left < 0)
		return true;
	switch ((RtTag)v.tag) {
	case RT_FUTURE:   return true;
	case RT_TUPLE:    return any_has_future(v.u.tuple->v, v.u.tuple->n, left);
	case RT_OBJECT:   return any_has_future(v.u.obj->slot, v.u.obj->cls->nslot, left);
	case RT_FUNCTION: return any_has_future(v.u.fn->bound, v.u.fn->n, left);
	case RT_LIST:
		return type_has_future(v.u.list->elem) ||
		       (v.u.list->elem->kind >= TYPE_LIST && any_has_future(v.u.list->v, v.u.list->n, left));
	case RT_DICT:
		if (type_has_future(v.u.dict->value))
			return true;
		for (int64_t i = 0; i < v.u.dict->used && v.u.dict->value->kind >= TYPE_LIST; i++)
			if (!v.u.dict->at[i].dead && has_future(v.u.dict->at[i].value, left))
				return true;
		return false;
	default:
		return false;
	}
}

/* Under the lock. */
static void
unqueue(struct RtPool *p, Task *t)
{
	RT_ASSERT(t->future->state == QUEUED && t->future->task == t && p->nqueue > 0);
	*(t->prev ? &t->prev->next : &p->first) = t->next;
	*(t->next ? &t->next->prev : &p->last) = t->prev;
	p->nqueue--;
	p->nrunning++;
	t->future->state = RUNNING;
	t->future->task = 0;
}

/* Runs a task that has been taken from the queue; called and left without the lock. */
static void
finish(struct RtPool *p, Task *t, int depth)
{
	task_run(t, depth);
	pthread_mutex_lock(&p->lock);
	RT_ASSERT(t->future->state == RUNNING && p->nrunning > 0);
	t->future->state = DONE;
	p->nrunning--;
	pthread_cond_broadcast(&p->done);
	pthread_mutex_unlock(&p->lock);
	task_free(t);
}

static bool
run_task(struct RtPool *p)
{
	Task *t;

	pthread_mutex_lock(&p->lock);
	if ((t = p->first))
		unqueue(p, t);
	pthread_mutex_unlock(&p->lock);
	if (t)
		finish(p, t, 0);
	return t != 0;
}

/* The task to take up while waiting for f (null: for any, with nothing on the stack), or null.  Under the lock. */
static Task *
choose(struct RtPool *p, RtFuture *f, int depth)
{
	Task *t = p->first;

	if (!f)
		return t;
	if (f->task)
		return f->task;
	while (t && !t->closed)
		t = t->next;
	return depth < SHALLOW ? t : 0;
}

/* Finishes the tasks that nothing waited for: every fork runs, and none after the end of a call. */
static void
drain(struct RtPool *p)
{
	Task *t;

	pthread_mutex_lock(&p->lock);
	while (p->first || p->nrunning) {
		if ((t = choose(p, 0, 0))) {
			unqueue(p, t);
			pthread_mutex_unlock(&p->lock);
			finish(p, t, 0);
			pthread_mutex_lock(&p->lock);
		} else {
			pthread_cond_wait(&p->done, &p->lock);
		}
	}
	pthread_mutex_unlock(&p->lock);
}

int
rt_fork(RtCx *cx, const RtCode *code, const IValue *args, int n, IValue *out)
{
	struct RtPool *p = cx->pool;
	int left = RT_LIMIT_LOOKED_AT;
	Task *t;

	*out = rt_none();
	if (!p || cx->probe || cx->meta)
		return fork_now(cx, code, args, n, out);
	if (!(t = task_new(cx, code, args, n)))
		return RT_ERROR;
	*out = rt_retain(rt_ref(RT_FUTURE, t->future));
	t->closed = !any_has_future(args, n, &left);
	cx->gen->shared = true;
	pthread_mutex_lock(&p->lock);
	if (!p->drain) {
		p->run_task = run_task;
		p->drain = drain;
	}
	t->prev = p->last;
	*(p->last ? &p->last->next : &p->first) = t;
	p->last = t;
	p->nqueue++;
	pthread_cond_signal(&p->work);
	pthread_cond_broadcast(&p->done);           /* a waiting thread may run it */
	pthread_mutex_unlock(&p->lock);
	return RT_OK;
}

/* An awaitable's call, while others may want its result.  Called and left under the lock. */
static int
call_beside(RtCx *cx, struct RtPool *p, RtFuture *f)
{
	int status;

	f->state = RUNNING;
	f->runner = pthread_self();
	pthread_mutex_unlock(&p->lock);
	status = call_awaitable(cx, f);
	pthread_mutex_lock(&p->lock);
	f->state = status ? LAZY : DONE;
	pthread_cond_broadcast(&p->done);
	return status;
}

int
rt_wait(RtCx *cx, RtFuture *f, IValue *out)
{
	struct RtPool *p = cx->pool;
	int status = RT_OK;
	Task *t;

	*out = rt_none();
	if (!p)
		return wait_alone(cx, f, out);
	pthread_mutex_lock(&p->lock);
	while (f->state != DONE) {
		if (f->state == LAZY) {
			if ((status = call_beside(cx, p, f)))
				break;
		} else if (f->code && pthread_equal(f->runner, pthread_self())) {
			status = waits_for_itself(cx);
			break;
		} else if ((t = choose(p, f, cx->depth))) {
			unqueue(p, t);
			pthread_mutex_unlock(&p->lock);
			finish(p, t, cx->depth);
			pthread_mutex_lock(&p->lock);
		} else {
			pthread_cond_wait(&p->done, &p->lock);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return status ? status : collect(cx, f, out);
}

void
rt_drain(RtCx *cx)
{
	struct RtPool *p = cx->pool;

	if (p && !cx->child && p->drain)
		p->drain(p);
}

/* ---- memory of a thread --------------------------------------------------------------------------------------- */

/* Not _Thread_local: tcc links no such relocations. */
static pthread_key_t lost_key;                   /* not null: a kernel found no memory since was_lost() */
static pthread_once_t lost_once = PTHREAD_ONCE_INIT;

static void
lost_init(void)
{
	if (pthread_key_create(&lost_key, NULL))
		abort();
}

static void
note_lost(void)
{
	pthread_once(&lost_once, lost_init);
	pthread_setspecific(lost_key, &lost_key);
}

static bool
was_lost(void)
{
	pthread_once(&lost_once, lost_init);
	if (!pthread_getspecific(lost_key))
		return false;
	pthread_setspecific(lost_key, NULL);
	return true;
}

#endif

void *
rt_thread_scratch(int64_t bytes)
{
	char **block = rt_mem_block();

	if (!block) {
		note_lost();
		return NULL;
	}
	*block = block_grow(*block, bytes);
	return *block ? *block + 64 : NULL;
}

void
rt_thread_end(void)
{
	char **block = rt_mem_block();

	if (block) {
		free(*block);
		*block = NULL;
	}
}
