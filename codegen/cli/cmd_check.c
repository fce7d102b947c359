/* codegen/cli/cmd_check.c - kiln check: compares a program with the interpreter
 *
 * For each input the program runs in its own process. The interpreter runs the graph as it was read, on a fresh
 * instance, with the same random numbers (answers.c). The first difference of each input is printed, and any difference
 * makes the status 4. If floats differ, the errors of both answers against the interpreter in double decide (judge.c).
 * If the program's error is within a bound, the input is ill-conditioned, which is no difference.
 *
 * --double does not compare floats with each other. It prints the errors against double. The program's error must be
 * within the bound, or the interpreter's if there is no program. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct Check {
	Cli        *cli;
	Model      *model;
	const RtCode *reference;
	const char *program;
	const char *given;         /* path of the .npz file that the program reads */
	Written    *written;
	int         failed;
} Check;

/* Runs the program on one input and returns its answer. */
static Run
run_program(Check *c, const char *dir, RtCx *rt, const RtArrays *in)
{
	Cx *cx = c->cli->cx;
	const char *from = c->given, *to = arena_printf(cx->arena, "%s/out.npz", dir);
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
		fail_runtime(c->cli, rt);
	r.status = process_run(cx, process_by_runner(cx, c->cli->runner, argv), out, log, &p);
	r.said = process_log(cx, log, MOST_TEXT);
	r.printed = process_log(cx, out, MOST_TEXT);
	if (!r.status && rt_npz_read(rt, to, &r.result))
		fail_runtime(c->cli, rt);
	return r;
}

static const char *
name_of(const Check *c, int i)
{
	return input_count(c->cli) ? input_name(c->cli, i) : "no input";
}

/* Reports one input as a line or as a JSON object. `more` contains further lines, or members of the object. */
static void
report_input(const Check *c, int i, const char *answer, const char *why, const char *more)
{
	Buf b = { 0 }, clean = { 0 };

	buf_clean(&clean, why ? why : "", why ? (int64_t)strlen(why) : 0);
	if (c->cli->as_json) {
		buf_puts(&b, i ? ",\n{\"input\":" : "[{\"input\":");
		out_json(&b, name_of(c, i));
		buf_printf(&b, ",\"answer\":\"%s\",\"why\":", answer);
		out_json(&b, clean.n ? clean.at : "");
		buf_puts(&b, more);
		buf_puts(&b, i + 1 < input_count(c->cli) ? "}" : "}]\n");
	} else {
		buf_printf(&b, "%s: %s%s%s\n%s", name_of(c, i), answer, clean.n ? ": " : "", clean.n ? clean.at : "",
			more);
	}
	fputs(b.at, stdout);
	buf_free(&b);
	buf_free(&clean);
}

/* ---- errors against double ---------------------------------------------------------------------- */

/* Reports the errors of all results. All runs must have ended without an exception. Returns false if an error exceeds
 * the bound. */
static bool
report_errors(const Check *c, RtCx *rt, int i, const RtArrays *got, const DoubleAnswer *a)
{
	Judgement j = { .answer = { c->program ? got : NULL, &a->of_float.result } };
	RtArrays reference = { 0 };
	Buf more = { 0 };
	bool good;

	if (c->cli->references.n) {
		if (rt_npz_read(rt, c->cli->references.at[i], &reference))
			fail_runtime(c->cli, rt);
		j.answer[WHO_REFERENCE] = &reference;
	}
	judge_results(c->cli, rt, &j, &a->of_double.result);
	judge_report(c->cli, &j, a, &more);
	good = !j.over && !j.why.n;
	report_input(c, i, j.why.n ? "differs" : j.over ? "over the bound" : "within the bound", j.why.at, more.at);
	rt_arrays_free(&reference);
	buf_free(&more);
	judgement_free(&j);
	return good;
}

static void
report_decision(const Check *c, int i, const DoubleAnswer *a)
{
	const char *line = a->of_float.line ? a->of_float.line : "";
	Buf why = { 0 }, more = { 0 };

	buf_printf(&why, "%s, margin %.2g, %s", a->decision.name, a->decision.margin, line);
	buf_puts(&more, "");
	if (c->cli->as_json) {
		buf_puts(&more, ",\"operator\":");
		out_json(&more, a->decision.name);
		buf_printf(&more, ",\"margin\":%.4g,\"line\":", a->decision.margin);
		out_json(&more, line);
	}
	report_input(c, i, "decides otherwise in double", why.at, more.at);
	buf_free(&why);
	buf_free(&more);
}

static DoubleAnswer
double_in(const Check *c, const RtArrays *in, int64_t stop)
{
	const DoubleAnswer a = double_answer(c->cli, c->model, c->reference, in, stop);

	written_restore(c->written);
	return a;
}

/* Runs the model in float and in double, and reports the errors. Returns false if an error exceeds the bound or the
 * runs cannot be compared. */
static bool
check_in_double(Check *c, RtCx *rt, int i, const Run *got, RtArrays *in)
{
	DoubleAnswer a = double_in(c, in, 0);
	bool good = false;
	Buf why = { 0 };

	if (a.decision.meeting) {
		double_free(&a);
		a = double_in(c, in, a.decision.meeting);
	}
	fputs(a.of_float.printed ? a.of_float.printed : "", stderr);
	if (a.decision.name) {
		report_decision(c, i, &a);
	} else if (a.of_float.status == RT_LACKS || got->status == EXIT_LACKS) {
		fail_lacks(c->cli->cx, (Range){ 0 }, "%s: %s", name_of(c, i),
			a.of_float.status == RT_LACKS ? a.of_float.error : last_line(got->said));
	} else if (a.of_float.status != a.of_double.status) {
		report_input(c, i, "differs", a.of_double.status ? a.of_double.error : a.of_float.error, "");
	} else if (c->program && !answer_ends_same(got, &a.of_float, &why)) {
		report_input(c, i, "differs", why.at, "");
	} else if (a.of_float.status) {
		report_input(c, i, "both raise", a.of_float.error, "");
		good = true;
	} else {
		good = report_errors(c, rt, i, &got->result, &a);
	}
	buf_free(&why);
	double_free(&a);
	return good;
}

/* ---- inputs ------------------------------------------------------------------------------------- */

/* Decides whether a difference from the interpreter comes from an ill-conditioned input, by the errors against double.
 * If so, reports the input and returns true. Otherwise appends the errors to `why`. All runs must have ended without an
 * exception. */
static bool
is_ill_conditioned(Check *c, RtCx *rt, int i, const Run *got, Buf *why)
{
	RtArrays in = { 0 };    /* arrays read anew, because the interpreter may have written to the others */
	Judgement j = { 0 };
	DoubleAnswer a;
	Buf more = { 0 };
	bool is;

	if (rt_npz_read(rt, c->given, &in))
		fail_runtime(c->cli, rt);
	a = double_in(c, &in, 0);
	is = judge_within_bound(c->cli, rt, &j, &got->result, &a);
	if (a.decision.name)
		buf_printf(why, "; in double %s decides otherwise, by a margin of %.2g (--double prints where)",
			a.decision.name, a.decision.margin);
	else if (j.answer[WHO_PROGRAM])
		buf_printf(why, "; errors against double: interpreter %.2g, program %.2g",
			j.worst[WHO_INTERPRETER], j.worst[WHO_PROGRAM]);
	if (is) {
		judge_report(c->cli, &j, &a, &more);
		report_input(c, i, "ill-conditioned", why->at, more.at);
	}
	buf_free(&more);
	judgement_free(&j);
	rt_arrays_free(&in);
	double_free(&a);
	return is;
}

/* Compares a run with the interpreter. Returns false if the answers differ. */
static bool
check_with_interpreter(Check *c, RtCx *rt, int i, const Run *got, RtArrays *in)
{
	Answer want = reference_answer(c->cli, c->model, c->reference, in);
	Buf why = { 0 }, ends = { 0 };
	bool same;

	written_restore(c->written);
	fputs(want.printed ? want.printed : "", stderr);           /* the report uses standard output */
	if (want.status == RT_LACKS || got->status == EXIT_LACKS)
		fail_lacks(c->cli->cx, (Range){ 0 }, "%s: %s", name_of(c, i),
			want.status == RT_LACKS ? want.error : last_line(got->said));
	same = answer_same(rt, got, &want, &why);
	if (!same && !got->status && answer_ends_same(got, &want, &ends) && is_ill_conditioned(c, rt, i, got, &why))
		same = true;
	else
		report_input(c, i, !same ? "differs" : want.status ? "both raise" : "same", why.at, "");
	buf_free(&why);
	buf_free(&ends);
	answer_free(&want);
	return same;
}

static void
check_input(Check *c, const char *dir, int i)
{
	Cli *cli = c->cli;
	RtArrays in = { 0 };
	RtCx *rt = model_context(cli);
	Run got = { 0 };

	progress("checking %s", name_of(c, i));
	if (model_input(cli, c->model, rt, i, &in))
		fail_runtime(cli, rt);
	if (c->program)
		/* The program runs first, because the interpreter may write to the arrays. */
		got = run_program(c, dir, rt, &in);
	progress(NULL);
	c->failed += !(cli->in_double ? check_in_double : check_with_interpreter)(c, rt, i, &got, &in);
	rt_arrays_free(&in);
	rt_arrays_free(&got.result);
	rt_clear_error(rt);
}

static void
check_all(Cx *cx, const char *dir, void *arg)
{
	Check *c = arg;
	const int n = input_count(c->cli);

	c->given = arena_printf(cx->arena, "%s/in.npz", dir);
	for (int i = 0; i < n || i == 0; i++)
		check_input(c, dir, i);
}

int
cmd_check(Cli *cli)
{
	Check c = { .cli = cli };

	if (cli->args.n != 2 && !(cli->in_double && cli->args.n == 1))
		usage_error(cli, "check wants a model and a program");
	if (cli->runner && cli->args.n != 2)
		usage_error(cli, "--runner goes with a program");
	if (cli->references.n && !cli->in_double)
		usage_error(cli, "--reference goes with --double");
	if (cli->references.n && cli->references.n != (input_count(cli) ? input_count(cli) : 1))
		usage_error(cli, "--reference wants one file for each -i");
	c.model = model_load(cli, cli->args.at[0]);
	c.reference = reference_code(cli->cx, c.model->fn, c.model->module->self);
	c.written = written_constants(cli->cx, c.model->fn, c.model->fn->graph);
	c.program = cli->args.n > 1 ? cli->args.at[1] : NULL;
	if (c.program && !strchr(c.program, '/'))
		c.program = arena_printf(cli->cx->arena, "./%s", c.program);
	process_folder(cli->cx, check_all, &c);
	return c.failed ? EXIT_DIFFERS : EXIT_OK;
}
