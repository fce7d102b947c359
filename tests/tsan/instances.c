/* tests/tsan/instances.c - eight threads, each with its own context and instance of one emitted program
 *
 * usage: instances CALLS THREADS IN.npz...
 *
 * Includes the C that kiln build --emit c --name c --weights file writes; c.weights has the weights.  Every thread
 * loads the program, makes CALLS calls with the inputs in turn, on THREADS threads of its own, and frees it; then does
 * so once more.  All threads must give the same answers and errors, call by call. */
#include "c.c"                   /* text of the program, whose table is static */
#include "../../rt/base.h"
#include "../../rt/host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NTHREAD = 8, ROUNDS = 2 };

static RtProgram own;            /* the program's tables, with the address of its weights */

typedef struct Job {
	int    calls, threads, nin;
	char **in;
	Buf    said;             /* all answers, as text */
	pthread_t thread;
} Job;

static void
note_print(RtCx *cx, const char *text, int64_t n)
{
	(void)cx, (void)text, (void)n;
}

static void
call(Job *j, RtCx *cx, const RtMethod *m, const char *in)
{
	IValue *args = calloc((size_t)m->nparam + 1, sizeof *args), result = rt_none();
	RtArrays arrays = { 0 };

	if (rt_npz_read(cx, in, &arrays) || rt_args_from_arrays(cx, m->param, m->nparam, &arrays, args) ||
	    rt_program_call(cx, m, args, &result))
		buf_printf(&j->said, "raised: %s\n", cx->message ? cx->message : "?");
	else
		rt_format_value(&j->said, result, 0);
	rt_clear_error(cx);
	for (int i = 0; i < m->nparam; i++)
		rt_release(args[i]);
	free(args);
	rt_release(result);
	rt_arrays_free(&arrays);
}

static void *
work(void *arg)
{
	Job *j = arg;

	for (int round = 0; round < ROUNDS; round++) {
		RtCx cx;

		if (rt_cx_init(&cx) || rt_threads(&cx, j->threads) || rt_program_load(&cx, &own) || rt_trace_start(&cx))
			buf_printf(&j->said, "not loaded: %s\n", cx.message ? cx.message : "?");
		cx.print = note_print;
		for (int i = 0; i < j->calls && !cx.status; i++)
			call(j, &cx, &own.method[0], j->in[i % j->nin]);
		rt_trace_write(&cx, "/dev/null");
		rt_program_free(&cx);
		rt_cx_free(&cx);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	Job job[NTHREAD];
	RtCx cx;
	int bad = 0;

	own = program;
	if (argc < 4 || rt_cx_init(&cx) || own.beside(&cx, &own, &(RtWeightsFrom){ 0 })) {
		fprintf(stderr, "%s\n", argc < 4 ? "usage: instances CALLS THREADS IN.npz..." : cx.message);
		return 2;
	}
	rt_cx_free(&cx);
	for (int i = 0; i < NTHREAD; i++) {
		job[i] = (Job){ .calls = atoi(argv[1]), .threads = atoi(argv[2]), .nin = argc - 3, .in = argv + 3 };
		if (pthread_create(&job[i].thread, NULL, work, &job[i]))
			return 2;
	}
	for (int i = 0; i < NTHREAD; i++)
		pthread_join(job[i].thread, NULL);
	for (int i = 1; i < NTHREAD; i++)
		bad |= job[i].said.n != job[0].said.n || memcmp(job[i].said.at, job[0].said.at, (size_t)job[0].said.n);
	fputs(bad ? "the threads' answers differ\n" : "", stderr);
	if (!strncmp(job[0].said.at, "not loaded", 10)) {
		fputs(job[0].said.at, stderr);
		bad = 1;
	}
	for (int i = 0; i < NTHREAD; i++)
		buf_free(&job[i].said);
	return bad;
}
