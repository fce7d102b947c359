/* codegen/cmd_check.c - kiln check: a program against the interpreter
 *
 * On each input the program runs in a process of its own, and the interpreter runs the graph as it was read on a fresh
 * instance with the same random numbers (answers.c).  The first difference of an input is named; any makes the status 4.
 */
#include "codegen.h"

#include <stdlib.h>
#include <string.h>

typedef struct Check {
	Cli        *cli;
	Model      *m;
	const RtCode *reference;
	const char *program;
	Written    *written;
	int         failed;
} Check;

/* What the program did. */
typedef struct Run {
	int      status;
	char    *said, *printed;
	RtArrays result;
} Run;

static Run
run_program(Check *c, const char *dir, RtCx *rt, const RtArrays *in)
{
	Cx *cx = c->cli->cx;
	const char *from = arena_printf(cx->arena, "%s/in.npz", dir), *to = arena_printf(cx->arena, "%s/out.npz", dir);
	const char *log = arena_printf(cx->arena, "%s/log", dir), *out = arena_printf(cx->arena, "%s/printed", dir);
	char *argv[] = { (char *)c->program, "-i", (char *)from, "-o", (char *)to, NULL, NULL, NULL, NULL };
	Run r = { 0 };
	Process p;
	int n = 5;

	if (c->cli->method)
		argv[n++] = arena_printf(cx->arena, "--method=%s", c->cli->method);
	if (c->cli->threads)
		argv[n++] = arena_printf(cx->arena, "--threads=%s", c->cli->threads);
	if (c->cli->seed)
		argv[n++] = arena_printf(cx->arena, "--seed=%s", c->cli->seed);
	remove(to);
	if (rt_npz_write(rt, from, in))
		fail_raised(c->cli, rt);
	r.status = process_run(cx, argv, out, log, &p);
	r.said = process_log(cx, log, MOST_TEXT);
	r.printed = process_log(cx, out, MOST_TEXT);
	if (!r.status && rt_npz_read(rt, to, &r.result))
		fail_raised(c->cli, rt);
	return r;
}

static void
report(const Check *c, int i, const char *name, const char *answer, const char *why)
{
	Buf b = { 0 }, clean = { 0 };

	buf_clean(&clean, why ? why : "", why ? (int64_t)strlen(why) : 0);
	if (c->cli->as_json) {
		buf_puts(&b, i ? ",\n{\"input\":" : "[{\"input\":");
		out_json(&b, name);
		buf_printf(&b, ",\"answer\":\"%s\",\"why\":", answer);
		out_json(&b, clean.n ? clean.at : "");
		buf_puts(&b, i + 1 < input_count(c->cli) ? "}" : "}]\n");
	} else {
		buf_printf(&b, "%s: %s%s%s\n", name, answer, clean.n ? ": " : "", clean.n ? clean.at : "");
	}
	fputs(b.at, stdout);
	buf_free(&b);
	buf_free(&clean);
}

static void
check_input(Check *c, const char *dir, int i)
{
	Cli *cli = c->cli;
	const char *name = input_count(cli) ? input_name(cli, i) : "no input";
	RtArrays in = { 0 };
	Buf why = { 0 };
	RtCx *rt = model_context(cli);
	Answer want;
	Run got;

	progress("checking %s", name);
	if (input_count(cli) && input_read(cli, rt, i, &in))
		fail_raised(cli, rt);
	got = run_program(c, dir, rt, &in);                        /* first: the interpreter may write to the arrays */
	want = reference_answer(cli, c->m, c->reference, &in);
	written_restore(c->written);
	fputs(want.printed ? want.printed : "", stderr);           /* standard output is the report's */
	if (want.status == RT_LACKS || got.status == EXIT_LACKS)
		fail_lacks(cli->cx, (Range){ 0 }, "%s: %s", name, want.status == RT_LACKS ? want.error : last_line(got.said));
	answer_same(rt, got.status, got.said, got.printed, &got.result, &want, &why);
	progress(NULL);
	report(c, i, name, why.n ? "differs" : want.status ? "both raise" : "same", why.at);
	c->failed += why.n > 0;
	buf_free(&why);
	rt_arrays_free(&in);
	rt_arrays_free(&got.result);
	answer_free(&want);
	rt_clear_error(rt);
}

static void
check_all(Cx *cx, const char *dir, void *arg)
{
	Check *c = arg;
	const int n = input_count(c->cli);

	(void)cx;
	for (int i = 0; i < n || i == 0; i++)
		check_input(c, dir, i);
}

int
cmd_check(Cli *cli)
{
	Check c = { .cli = cli };

	if (cli->args.n != 2)
		usage_error(cli, "check wants a model and a program");
	c.m = model_load(cli, cli->args.at[0]);
	c.reference = reference_code(cli->cx, c.m->fn, c.m->module->self);
	c.written = written_constants(cli->cx, c.m->fn, c.m->fn->graph);
	c.program = cli->args.at[1];
	if (!strchr(c.program, '/'))
		c.program = arena_printf(cli->cx->arena, "./%s", c.program);
	process_folder(cli->cx, check_all, &c);
	return c.failed ? EXIT_DIFFERS : EXIT_OK;
}
