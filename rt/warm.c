/* rt/warm.c - computes forms of weights when a program is opened, and moves streamed weights to large pages
 *
 * Forms that would make a program too large (kiln build --forms made) are computed when it is opened. Weights that
 * small-batch products stream from memory on each call are moved once to pages of 2 MB: by --warm, or after enough
 * calls to pay for the move. The original pages are given back to the system if no kernel reads them. They are mapped
 * from the file, so generic code can still read them. Only programs with such weights link this file. */
#include "program.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Allocates memory, in pages of 2 MB if the system has them, to reduce page faults and TLB misses. Null if memory is
 * exhausted. */
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

/* Gives the pages inside of the `bytes` bytes at `at` back to the system. They must be mapped from the file and never
 * written to. */
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

enum { WIDENED = 1 << 14 };              /* smallest number of elements in a part of a loop */

typedef struct Making {
	const RtProgram *program;
	const RtMaking *row;
	const void *from;
	float *to;
} Making;

/* Converts the 16-bit elements [begin, end) to float. */
static void
widen(void *arg, int64_t begin, int64_t end)
{
	const Making *m = arg;

	m->program->widen((RtDtype)m->row->half, (const uint16_t *)m->from + begin, m->to + begin, end - begin);
}

static void
make_panels(void *arg, int64_t begin, int64_t end)
{
	const Making *m = arg;

	m->program->make(m->row, m->from, m->to, begin, end);
}

/* Computes one entry of `making`. Filters are transformed from panels of floats, so 16-bit panels are converted first.
 * Returns false if memory is exhausted. */
static bool
make_row(RtCx *cx, Making m, char *to)
{
	float *panels = NULL;

	m.from = m.program->weights + m.row->from;
	m.to = (float *)(void *)(to + m.row->to);
	if (m.row->half && m.row->tile) {
		const Making first = { .program = m.program, .row = m.row, .from = m.from,
				       .to = panels = rt_mem_line(m.row->floats * (int64_t)sizeof *panels) };

		if (!panels)
			return false;
		rt_parallel(cx, m.row->floats, WIDENED, widen, (void *)&first);
		m.from = panels;
	}
	if (m.row->tile)
		rt_parallel(cx, m.row->panels, 1, make_panels, &m);
	else
		rt_parallel(cx, m.row->floats, WIDENED, widen, &m);
	rt_mem_back(panels);
	return true;
}

int
rt_make_weights(RtCx *cx)
{
	const RtProgram *p = cx->program;
	const int64_t begin = cx->events ? rt_now() : 0;
	char *const to = large_pages(p->made_bytes);
	bool made = to;

	for (const RtMaking *row = p->making; made && row < p->making + p->nmaking; row++) {
		made = make_row(cx, (Making){ .program = p, .row = row }, to);
		if (!p->weights_lent)
			give_back(p->weights + row->from, row->alone);
	}
	if (!made) {
		rt_mem_back(to);
		return rt_raise(cx, "out of memory: %lld bytes are wanted for weights in the form that is fastest "
				"(kiln build --forms small does without)", (long long)p->made_bytes);
	}
	p->shared->made = to;
	if (cx->events)
		rt_trace_add(cx, "weights transformed", begin, rt_now());
	return RT_OK;
}

/* ---- moving weights -------------------------------------------------------------------------------------------- */

enum { MOVED = 16 << 20 };               /* number of bytes moved at a time, so that few are in memory twice */

/* Moves streamed weights to large pages. Generic code keeps reading the old address. If there is no memory for the
 * copy, the weights are not moved: results are the same, but calls are slower. */
int
rt_warm(RtCx *cx)
{
	static RtProcessLock one;
	const RtProgram *p = cx->program;
	char *to;

	rt_process_lock(&one);
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
	rt_process_unlock(&one);
	return RT_OK;
}

void
rt_cool(const RtProgram *p)
{
	char *const made = p->shared->made, *const moved = p->shared->moved;

	p->shared->made = p->shared->moved = NULL;
	rt_mem_back(made);
	rt_mem_back(moved);
}
