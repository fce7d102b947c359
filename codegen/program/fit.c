/*
 * Measures the memory of plain C functions (RAM at a plan's peak, flash, stack), for --max-ram and --max-flash.
 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED_MOST = 12 };                /* largest number of tensors that a message lists */

const char *
node_place(Cx *cx, const Node *n)
{
	const char *name = n->at.src && n->at.src->name ? n->at.src->name : "", *slash = strrchr(name, '/');

	return arena_printf(cx->arena, "%s (%s:%d)", n->kind->name, slash ? slash + 1 : name,
			    n->at.src ? range_line(n->at) : 0);
}

/* ---- RAM --------------------------------------------------------------------------------------------------------- */

static bool
is_alive(const Buffer *b, int step)
{
	return b->home == HOME_ARENA && !b->over && b->first <= step && b->last >= step;
}

static int64_t
alive_bytes(const Plan *p, int step)
{
	int64_t bytes = 0;

	for (int i = 0; i < p->buffers.n; i++)
		if (is_alive(p->buffers.at[i], step))
			bytes += p->buffers.at[i]->bytes;
	return bytes;
}

const Node *
plan_peak(const Plan *p)
{
	const Node *peak = p->graph->top->ret;

	for NODES(n, p->graph->top)
		if (!node_is(n, prim_Constant) &&
		    alive_bytes(p, p->step[n->id]) > alive_bytes(p, p->step[peak->id]))
			peak = n;
	return peak;
}

/* Returns the first value stored in the buffer. Null if no value is stored there. */
static const Value *
value_in(Plan *p, const Buffer *b)
{
	for NODES(n, p->graph->top)
		for (int i = 0; i < n->nout; i++)
			if (plan_is_planned(p, n->out[i]) && plan_buffer(p, n->out[i]) == b)
				return n->out[i];
	return NULL;
}

static int
by_bytes(const void *a, const void *b)
{
	const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : x->index - y->index;
}

static void
put_tensor(Buf *b, Plan *p, const Buffer *buffer)
{
	const Value *v = value_in(p, buffer);
	const RtTensor *t = v ? plan_tensor(p, v) : NULL;

	buf_printf(b, "\n  %10lld", (long long)buffer->bytes);
	for (int i = 0; t && i < t->ndim; i++)
		buf_printf(b, "%s%lld", i ? ", " : "  (", (long long)t->dims[i]);
	if (t)
		buf_printf(b, "%s%s of %s", t->ndim ? ") " : "  ", rt_dtypes[t->dtype].torch,
			   node_place(p->cx, v->node));
}

void
fit_put_peak(Buf *b, Plan *p)
{
	const Node *peak = plan_peak(p);
	Buffer **alive = new(p->cx->arena, Buffer *, p->buffers.n + 1);
	int n = 0;

	for (int i = 0; i < p->buffers.n; i++)
		if (is_alive(p->buffers.at[i], p->step[peak->id]))
			alive[n++] = p->buffers.at[i];
	if (!n)
		return;
	qsort(alive, (size_t)n, sizeof *alive, by_bytes);
	buf_printf(b, "\nmost memory is needed at %s, where these tensors are live:", node_place(p->cx, peak));
	for (int i = 0; i < n && i < NAMED_MOST; i++)
		put_tensor(b, p, alive[i]);
	if (n > NAMED_MOST)
		buf_puts(b, "\n  ...");
}

/* ---- flash ------------------------------------------------------------------------------------------------------- */

void
fit_measure(Build *b, ProgramText *t, const char *path)
{
	t->code_bytes = elf_code_bytes(b->cx, path, false);
	t->flash = elf_loaded_bytes(b->cx, path);
}

void
fit_check_flash(Build *b, const ProgramText *t)
{
	const int64_t weights = t->weights->bytes.n, most = b->options->max_flash;

	if (most && t->flash > most)
		fail_lacks(b->cx, (Range){ 0 }, "%s: %lld bytes of flash are needed, more than --max-flash %lld: "
			   "weights %lld, code %lld (for size: -Os), other constants %lld%s", b->options->name,
			   (long long)t->flash, (long long)most, (long long)weights, (long long)t->code_bytes,
			   (long long)(t->flash - weights - t->code_bytes), b->options->forms == FORMS_FAST ?
			   "; --forms small has fewer weights" : "");
}

/* ---- the stack: GCC's -fcallgraph-info=su ------------------------------------------------------------------------ */

typedef struct Call { const char *from, *to; } Call;
typedef struct Depth { const char *name; int64_t bytes; bool entered; } Depth;
typedef struct Calls { Vec(Depth) frame; Vec(Call) call; } Calls;

/* Returns the quoted text that follows `word` in the line. Null if there is none. */
static const char *
quoted(Cx *cx, const char *line, const char *word)
{
	const char *at = strstr(line, word), *open = at ? strchr(at, '"') : NULL,
		   *close = open ? strchr(open + 1, '"') : NULL;

	return close ? arena_strndup(cx->arena, open + 1, close - open - 1) : "";
}

/* Returns the size in bytes of a stack frame from a label "...\\n312 bytes (static)". 0 if the label has none. */
static int64_t
frame_bytes(const char *label)
{
	const char *end = strstr(label, " bytes ("), *at = end;

	while (at && at > label && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at ? strtoll(at, NULL, 10) : 0;
}

static Calls
calls_of(Cx *cx, const char *path)
{
	char *text = arena_strdup(cx->arena, file_text(cx, path)), *state = NULL;
	Calls c = { 0 };

	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		if (!strncmp(line, "node:", 5))
			vec_push(cx->arena, &c.frame, ((Depth){ quoted(cx, line, "title:"),
								frame_bytes(quoted(cx, line, "label:")), false }));
		else if (!strncmp(line, "edge:", 5))
			vec_push(cx->arena, &c.call, ((Call){ quoted(cx, line, "sourcename:"),
							      quoted(cx, line, "targetname:") }));
	return c;
}

static int64_t deepest(Calls *, Depth *);

/* Returns the depth of the stack in bytes. A call through a pointer may reach any function that is not on the path to
 * it. */
static int64_t
deepest_call(Calls *c, const char *name)
{
	const bool any = !strcmp(name, "__indirect_call");
	int64_t most = 0;

	for (int i = 0; i < c->frame.n; i++) {
		Depth *f = &c->frame.at[i];

		if (!f->entered && (any ? strchr(f->name, ':') != NULL : !strcmp(f->name, name))) {
			const int64_t bytes = deepest(c, f);

			most = bytes > most ? bytes : most;
		}
	}
	return most;
}

static int64_t
deepest(Calls *c, Depth *f)
{
	int64_t most = 0;

	f->entered = true;
	for (int i = 0; i < c->call.n; i++) {
		const int64_t bytes = strcmp(c->call.at[i].from, f->name) ? 0 : deepest_call(c, c->call.at[i].to);

		most = bytes > most ? bytes : most;
	}
	f->entered = false;
	return f->bytes + most;
}

void
fit_stack(Build *b, ProgramText *t, const char *path)
{
	Calls c = calls_of(b->cx, path);

	for (int i = 0; i < t->exported.n; i++) {
		const int64_t bytes = deepest_call(&c, t->exported.at[i]);

		t->stack = bytes > t->stack ? bytes : t->stack;
	}
}
