/* rt/trace.c - records the times of kernels, in the format of chrome://tracing
 *
 * Events are kept in memory and written at the end. If the list is full, later events are dropped. Only the context
 * that started the trace records events, and not forked calls, so no lock is needed. */
#include "host.h"
#include "base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 };

typedef struct Event { const char *name; int64_t begin, end; } Event;
struct RtTrace {
	Event  *at;
	int     n, cap;
	int64_t start;
};

int
rt_trace_start(RtCx *cx)
{
	if (!(cx->events = calloc(1, sizeof *cx->events)))
		return rt_raise(cx, "out of memory");
	cx->events->start = rt_now();
	return RT_OK;
}

void
rt_trace_add(RtCx *cx, const char *name, int64_t begin, int64_t end)
{
	struct RtTrace *t = cx->events;
	Event *more;

	if (!t || t->n == MOST)
		return;
	if (t->n == t->cap) {
		if (!(more = realloc(t->at, sizeof *more * (size_t)(t->cap ? t->cap * 2 : RT_LIMIT_EVENTS))))
			return;
		t->at = more;
		t->cap = t->cap ? t->cap * 2 : RT_LIMIT_EVENTS;
	}
	t->at[t->n++] = (Event){ name, begin, end };
}

static void
put_name(FILE *f, const char *s)
{
	for (; *s; s++)
		if (*s == '"' || *s == '\\' || (unsigned char)*s < ' ')
			fprintf(f, "\\u%04x", (unsigned char)*s);
		else
			fputc(*s, f);
}

int
rt_trace_write(RtCx *cx, const char *path)
{
	struct RtTrace *t = cx->events;
	RtWhole w;
	FILE *f = rt_whole_open(&w, path);
	bool bad = !f;

	cx->events = 0;
	if (f) {
		fputs("{\"traceEvents\":[\n", f);
		for (int i = 0; i < t->n; i++) {
			fputs("{\"name\":\"", f);
			put_name(f, t->at[i].name);
			fprintf(f, "\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f}%s\n",
				(double)(t->at[i].begin - t->start) / 1e3,
				(double)(t->at[i].end - t->at[i].begin) / 1e3, i + 1 < t->n ? "," : "");
		}
		fputs("],\"displayTimeUnit\":\"ms\"}\n", f);
		bad = rt_whole_end(&w, true);
	}
	free(t->at);
	free(t);
	return bad ? rt_raise(cx, "%s: %s", path, strerror(errno)) : RT_OK;
}
