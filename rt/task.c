/* rt/task.c - forked calls and awaitables, and the futures of both
 *
 * A forked call is a task on the pool's queue, with its own context. A thread that waits for a future runs the future's
 * task if that has not begun. Otherwise it runs other closed tasks while the C stack is shallow; otherwise it sleeps. A
 * closed task has no future among its arguments. It only waits for tasks that it has forked itself, so never for a call
 * below it on its thread's stack. Hence a waiting thread continues as soon as the model's own order allows. Without
 * workers, and while profiling, a fork runs at once. An awaitable is never queued: the first thread to wait calls it,
 * as in PyTorch. */
#include "thread.h"

#include <stdlib.h>

typedef enum State { QUEUED, LAZY, RUNNING, DONE } State;

typedef struct Task Task;
struct Task {
	RtCx     cx;
	const RtCode *code;
	RtFuture *future;        /* owns a reference */
	Task    *prev, *next;    /* neighbours in the queue */
	bool     closed;         /* whether no argument contains a future */
	int      n;
	IValue   arg[];
};

struct RtFuture {
	RtHead  h;
	int     state;           /* a State; changed under the pool's lock */
	IValue  value;
	int     status;          /* status of the call, followed by its error */
	char   *message, *cls;
	RtVisit *visit;
	int     nvisit;
	Task   *task;            /* the queued task; null if there is none */
	/* code that an awaitable calls; until the call is done, `value` is a tuple of its arguments */
	const RtCode *code;
#ifndef RT_SINGLE
	pthread_t runner;        /* thread that calls the awaitable */
#endif
};

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

/* Runs the call and stores its value or error in the future, but does not change the future's state. depth: nesting
 * depth of the thread's calls. */
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

/* Returns the value of a finished future, or raises its error. */
static int
collect_future(RtCx *cx, RtFuture *f, IValue *out)
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

/* Waits for a future and checks the type of its value, because a model may cast futures. */
int
rt_wait_for(RtCx *cx, IValue f, const RtType *t, IValue *out)
{
	int status;

	if (f.tag != RT_FUTURE)
		return rt_raise(cx, "expected a Future, but got a value of type %s", rt_type_of(f));
	status = rt_wait(cx, f.u.fut, out);
	if (!status && (status = rt_need(cx, *out, t)))
		rt_assign(out, rt_none());
	return status;
}

/* Makes the call at once, without a worker. Its steps count towards the caller's step limit. */
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

/* Makes the awaitable's call. f->state must be RUNNING. After a failure, the next thread that waits makes the call
 * again. */
static int
call_awaitable(RtCx *cx, RtFuture *f)
{
	const RtTuple *args = f->value.u.tuple;
	IValue done, v;
	int status;

	if (fork_now(cx, f->code, args->v, (int)args->n, &done))
		return RT_ERROR;
	if ((status = collect_future(cx, done.u.fut, &v)) == RT_OK)
		rt_assign(&f->value, v);
	rt_release(done);
	return status;
}

static int
waits_for_itself(RtCx *cx)
{
	return rt_raise(cx, "an awaitable waits for itself");
}

/* Waits for a future if there are no other threads. */
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
	return collect_future(cx, f, out);
}

/* ---- forked calls ------------------------------------------------------------------------------------------------ */

#ifdef RT_SINGLE

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

enum { SHALLOW = RT_DEPTH / 4 };     /* largest depth at which a waiting thread runs other tasks */

/* Whether a value of this type may contain a future. */
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

/* Whether v may contain a future. A list or dict is judged by its type, because it may grow. *left is the number of
 * values that may still be visited; if there are more, the answer is yes. */
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

/* Removes a task from the queue. The caller must hold the lock. */
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

/* Runs a task that was taken from the queue. The caller must not hold the lock. */
static void
finish_task(struct RtPool *p, Task *t, int depth)
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
		finish_task(p, t, 0);
	return t != 0;
}

/* Returns a task to run while waiting for f. If f is null, any task, because no call is on the stack. Null if there is
 * no task. The caller must hold the lock. */
static Task *
choose_task(struct RtPool *p, RtFuture *f, int depth)
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

/* Finishes the tasks that nothing has waited for, so that every fork runs before its outermost call ends. */
static void
drain(struct RtPool *p)
{
	Task *t;

	rt_pool_adopt(p);
	pthread_mutex_lock(&p->lock);
	while (p->first || p->nrunning) {
		if ((t = choose_task(p, 0, 0))) {
			unqueue(p, t);
			pthread_mutex_unlock(&p->lock);
			finish_task(p, t, 0);
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
	rt_pool_adopt(p);
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

/* Makes an awaitable's call while other threads may wait for its result. The caller must hold the lock. */
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
	rt_pool_adopt(p);
	pthread_mutex_lock(&p->lock);
	while (f->state != DONE) {
		if (f->state == LAZY) {
			if ((status = call_beside(cx, p, f)))
				break;
		} else if (f->code && pthread_equal(f->runner, pthread_self())) {
			status = waits_for_itself(cx);
			break;
		} else if ((t = choose_task(p, f, cx->depth))) {
			unqueue(p, t);
			pthread_mutex_unlock(&p->lock);
			finish_task(p, t, cx->depth);
			pthread_mutex_lock(&p->lock);
		} else {
			pthread_cond_wait(&p->done, &p->lock);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return status ? status : collect_future(cx, f, out);
}

void
rt_drain(RtCx *cx)
{
	struct RtPool *p = cx->pool;

	if (p && !cx->child && p->drain)
		p->drain(p);
}

#endif
