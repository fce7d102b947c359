/* rt/warm.c - weights as specialized code reads them best
 *
 * Forms that would make a program too large (kiln build --forms made) are made when it first wants them.  Weights that it
 * streams from memory (products of few rows that read more than caches hold) are moved once to pages of 2 MB: by --warm,
 * and after so many calls that it pays.  Linked into programs that have one or the other only.
 */
#include "rt.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory in pages of 2 MB, where the system gives them when it is asked: fewer to fill, and to look up.  Null: there is none. */
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

/* ---- what is made ---------------------------------------------------------------------------------------------------- */

typedef struct Making {
	const RtProgram *program;
	const RtMaking *row;
	char *to;
} Making;

static void
make_panels(void *arg, int64_t begin, int64_t end)
{
	const Making *m = arg;

	m->program->make(m->row, (const float *)(m->program->weights + m->row->from), (float *)(m->to + m->row->to), begin, end);
}

/* Who comes while another makes them makes them, too: the first to be ready gives his to all.  Waiting could be for oneself,
 * since a thread that waits for its loop does other work. */
int
rt_make_weights(RtCx *cx)
{
	const RtProgram *p = cx->program;
	char *none = NULL;
	Making m = { .program = p };

	if (__atomic_load_n(p->made_at, __ATOMIC_ACQUIRE))
		return RT_OK;
	if (!(m.to = large_pages(p->made_bytes)))
		return rt_raise(cx, "out of memory");
	for (m.row = p->making; m.row < p->making + p->nmaking; m.row++)
		rt_parallel(cx, m.row->panels, 1, make_panels, &m);
	if (!__atomic_compare_exchange_n(p->made_at, &none, m.to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		rt_mem_back(m.to);
	return RT_OK;
}

/* ---- what is moved --------------------------------------------------------------------------------------------------- */

/* Generic code keeps to the old place.  That is a file's: the system has its memory back, and reads it again when it must.
 * Where there is no memory for another they stay: all would be as before, but slower. */
static void
move(const RtProgram *p)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)p->weights + page - 1) & ~(page - 1);
	const uintptr_t end = ((uintptr_t)p->weights + (uintptr_t)p->streamed) & ~(page - 1);
	char *to;

	pthread_mutex_lock(&one);
	if (*p->weights_at == p->weights && (to = large_pages(p->streamed))) {
		memcpy(to, p->weights, (size_t)p->streamed);
		__atomic_store_n(p->weights_at, to, __ATOMIC_RELEASE);
#ifdef MADV_DONTNEED
		if (first < end)
			madvise((void *)first, end - first, MADV_DONTNEED);
#endif
	}
	pthread_mutex_unlock(&one);
}

int
rt_warm(RtCx *cx)
{
	const RtProgram *p = cx->program;

	if (p->streamed)
		move(p);
	return p->made_at ? rt_make_weights(cx) : RT_OK;
}

void
rt_cool(const RtProgram *p)
{
	if (p->made_at) {
		rt_mem_back(*p->made_at);
		*p->made_at = NULL;
	}
	if (p->streamed && *p->weights_at != p->weights) {
		rt_mem_back((void *)(uintptr_t)*p->weights_at);
		*p->weights_at = p->weights;
	}
}
