/* rt/warm.c - weights as specialized code reads them best
 *
 * Forms that would make a program too large (kiln build --forms made) are made when it is opened.  Weights that it
 * streams from memory (products of few rows that read more than caches hold) are moved once to pages of 2 MB: by
 * --warm, and after so many calls that it pays.  The original pages are given back to the system if no kernel reads
 * them; they are mapped from the file, so generic code can still read them.  Linked only into programs that have one of
 * these.
 */
#include "program.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory in pages of 2 MB, where the system gives them when it is asked: fewer to fill, and to look up.  Null: there is
 * none. */
static char *
large_pages(int64_t bytes)
{
	char *at = rt_mem_line(bytes);
#ifdef MADV_HUGEPAGE
	const uintptr_t page = 2 << 20, first = ((uintptr_t)at + page - 1) & ~(page - 1);
	const uintptr_t end = ((uintptr_t)at + (uintptr_t)bytes) & ~(page - 1);

	if (at && first < end)
		madvise((void *)first, end - first, MADV_HUGEPAGE);
#endif
	return at;
}

/* The pages that lie in `bytes` at `at`, which is never written to. */
static void
give_back(const char *at, int64_t bytes)
{
#ifdef MADV_DONTNEED
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)at + page - 1) & ~(page - 1);
	const uintptr_t end = ((uintptr_t)at + (uintptr_t)bytes) & ~(page - 1);

	if (first < end)
		madvise((void *)first, end - first, MADV_DONTNEED);
#endif
}

/* ---- forms of weights ------------------------------------------------------------------------------------------ */

typedef struct Making {
	const RtProgram *program;
	const RtMaking *row;
	char *to;
} Making;

static void
make_panels(void *arg, int64_t begin, int64_t end)
{
	const Making *m = arg;

	m->program->make(m->row, (const float *)(m->program->weights + m->row->from), (float *)(m->to + m->row->to),
			 begin, end);
}

int
rt_make_weights(RtCx *cx)
{
	const RtProgram *p = cx->program;
	const int64_t begin = cx->events ? rt_now() : 0;
	Making m = { .program = p };

	if (!(m.to = large_pages(p->made_bytes)))
		return rt_raise(cx, "out of memory: %lld bytes are wanted for weights in the form that is fastest "
				"(kiln build --forms small does without)", (long long)p->made_bytes);
	for (m.row = p->making; m.row < p->making + p->nmaking; m.row++) {
		rt_parallel(cx, m.row->panels, 1, make_panels, &m);
		if (!p->weights_lent)
			give_back(p->weights + m.row->from, m.row->alone);
	}
	p->shared->made = m.to;
	if (cx->events)
		rt_trace_add(cx, "weights transformed", begin, rt_now());
	return RT_OK;
}

/* ---- moving weights -------------------------------------------------------------------------------------------- */

enum { MOVED = 16 << 20 };               /* bytes at a time, so that few are in both places */

/* Generic code keeps to the old place.  Where there is no memory for another they stay: all would be as before, but
 * slower. */
int
rt_warm(RtCx *cx)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	const RtProgram *p = cx->program;
	char *to;

	pthread_mutex_lock(&one);
	if (!p->shared->moved && (to = large_pages(p->streamed))) {
		for (int64_t at = 0; at < p->streamed; at += MOVED) {
			const int64_t n = p->streamed - at < MOVED ? p->streamed - at : MOVED;

			memcpy(to + at, p->weights + at, (size_t)n);
			if (!p->weights_lent)
				give_back(p->weights + at, n);
		}
		p->shared->moved = to;
	}
	if (p->shared->moved)
		cx->weights = p->shared->moved;
	pthread_mutex_unlock(&one);
	return RT_OK;
}

void
rt_cool(const RtProgram *p)
{
	rt_mem_back(p->shared->made);
	rt_mem_back(p->shared->moved);
	p->shared->made = p->shared->moved = NULL;
}
