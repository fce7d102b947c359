/* codegen/cmd_check.c - kiln check: a program against the interpreter
 *
 * On each input the program runs in a process of its own and the interpreter on a fresh instance with the same random
 * numbers; results are compared key by key, within the tolerance of their dtype (rt/compare.c).  Both raising is the
 * same answer.  The first difference of an input is named; any makes the status 4.
 */
#include "codegen.h"

#include <stdlib.h>
#include <string.h>

typedef struct Check {
	Cli        *cli;
	Model      *m;
	const char *program;
	Written    *written;
	int         failed;
} Check;

/* Runs the program on the input; its exit status, and what it wrote. */
static int
run_program(Check *c, const char *dir, RtCx *rt, const RtArrays *in, RtArrays *out, char **said)
{
	Cx *cx = c->cli->cx;
	const char *from = arena_printf(cx->arena, "%s/in.npz", dir), *to = arena_printf(cx->arena, "%s/out.npz", dir);
	const char *log = arena_printf(cx->arena, "%s/log", dir);
	char *argv[] = { (char *)c->program, "-i", (char *)from, "-o", (char *)to, NULL, NULL, NULL, NULL };
	Process p;
	int status, n = 5;

	if (c->cli->method)
		argv[n++] = arena_printf(cx->arena, "--method=%s", c->cli->method);
	if (c->cli->threads)
		argv[n++] = arena_printf(cx->arena, "--threads=%s", c->cli->threads);
	if (c->cli->seed)
		argv[n++] = arena_printf(cx->arena, "--seed=%s", c->cli->seed);
	remove(to);
	if (rt_npz_write(rt, from, in))
		fail_raised(c->cli, rt);
	status = process_run(cx, argv, log, &p);
	*said = process_log(cx, log, 2000);
	if (!status && rt_npz_read(rt, to, out))
		fail_raised(c->cli, rt);
	return status;
}

/* The interpreter's answer; a raise is one, too. */
static int
run_interpreter(Check *c, RtCx *rt, const RtArrays *in, RtArrays *out)
{
	IValue result = rt_none();
	const int status = model_answer(c->cli, c->m, rt, in, &result);

	written_restore(c->written);
	if (!status && rt_arrays_from_value(rt, out, "out", result))
		fail_raised(c->cli, rt);
	return status;
}

static bool
same_array(RtCx *rt, const RtArray *got, const RtArray *want, Buf *why)
{
	if (got->text && want->text) {
		if (got->text->n == want->text->n && !memcmp(got->text->s, want->text->s, (size_t)got->text->n))
			return true;
		buf_printf(why, "%s: '%s' instead of '%s'", want->key, got->text->s, want->text->s);
		return false;
	}
	if (!got->tensor != !want->tensor) {
		buf_printf(why, "%s: %s instead of %s", want->key, got->text ? "text" : "an array", want->text ? "text" : "an array");
		return false;
	}
	return rt_close(rt, want->key, rt_of(got->tensor), rt_of(want->tensor), why);
}

bool
arrays_same(RtCx *rt, const RtArrays *got, const RtArrays *want, Buf *why)
{
	for (int i = 0; i < want->n; i++) {
		const RtArray *other = rt_arrays_find(got, want->at[i].key);

		if (!other) {
			buf_printf(why, "%s is missing", want->at[i].key);
			return false;
		}
		if (!same_array(rt, other, &want->at[i], why))
			return false;
	}
	for (int i = 0; i < got->n; i++)
		if (!rt_arrays_find(want, got->at[i].key)) {
			buf_printf(why, "%s is more than the interpreter gives", got->at[i].key);
			return false;
		}
	return true;
}

const char *
last_line(char *text)
{
	char *end = text + strlen(text);

	while (end > text && end[-1] == '\n')
		*--end = 0;
	return strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
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
	RtArrays *in = new(cli->cx->arena, RtArrays, 3), *got = in + 1, *want = in + 2;
	Buf why = { 0 };
	RtCx *rt = model_context(cli);
	char *said;
	int theirs, ours;

	progress("checking %s", name);
	if (input_count(cli) && input_read(cli, rt, i, in))
		fail_raised(cli, rt);
	theirs = run_program(c, dir, rt, in, got, &said);          /* first: the interpreter may write to the arrays */
	ours = run_interpreter(c, rt, in, want);
	if (ours == RT_LACKS || theirs == EXIT_LACKS)
		fail_lacks(cli->cx, (Range){ 0 }, "%s: %s", name, ours == RT_LACKS ? rt->message : last_line(said));
	if (theirs && theirs != EXIT_INPUT)
		buf_printf(&why, "the program ended with status %d: %s", theirs, last_line(said));
	else if (theirs && !ours)
		buf_printf(&why, "the program raised, the interpreter did not: %s", last_line(said));
	else if (!theirs && ours)
		buf_printf(&why, "the interpreter raised, the program did not: %s", rt->message);
	else if (!theirs)
		arrays_same(rt, got, want, &why);
	progress(NULL);
	report(c, i, name, why.n ? "differs" : ours ? "both raise" : "same", why.at);
	c->failed += why.n > 0;
	buf_free(&why);
	rt_arrays_free(in);
	rt_arrays_free(got);
	rt_arrays_free(want);
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
	model_lower(cli, c.m);
	c.written = written_constants(cli->cx, c.m->fn);
	c.program = cli->args.at[1];
	if (!strchr(c.program, '/'))
		c.program = arena_printf(cli->cx->arena, "./%s", c.program);
	process_folder(cli->cx, check_all, &c);
	return c.failed ? EXIT_DIFFERS : EXIT_OK;
}
