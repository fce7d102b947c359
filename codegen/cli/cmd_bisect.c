/* codegen/cli/cmd_bisect.c - kiln bisect: finds the change of a pass that makes an answer wrong
 *
 * An answer is right if it equals the interpreter's for the graph as it was read, without passes (answers.c), or if it
 * is within kiln check's bound of the answer in double (judge.c).
 *
 * First the interpreter runs at the requested level. If its answer is right, a program is built and run, too. If a
 * program without kernels is right, a kernel is wrong. If one without passes is wrong, inference of results may be
 * wrong.
 *
 * Otherwise two binary searches find the first pipeline step after which the answer is wrong (--stop), and that pass's
 * first wrong change (-L). They assume that a wrong answer stays wrong. A pass that is switched off changes nothing, so
 * it is never found.
 *
 * Every trial is a separate run of Kiln, so a crash counts as a wrong answer. The last wrong command is printed. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Bisect {
	Cli        *cli;
	const char *dir, *self;
	Model      *model;
	RtCx       *rt;
	bool        program;      /* whether trials build and run a program; otherwise the interpreter runs */
	int         nprofiled;    /* number of inputs, from the first, that the program is built for */
	const RtCode *reference;
	Written    *written;
	Answer     *want;         /* expected answer to each input */
	DoubleAnswer **exact;     /* answer in double to each input; null until a trial needs it */
	int         ntrial;
	const char *why;          /* difference found by the last wrong trial */
	int         input;        /* input of the last wrong trial */
	char       *said, *printed;       /* standard error and output of the last child */
	int         unbuilt;      /* status of the last failed build */
} Bisect;

typedef struct Argv { Vec(char *) at; } Argv;

static void
add_word(Bisect *b, Argv *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vec_push(b->cli->cx->arena, &a->at, arena_vprintf(b->cli->cx->arena, fmt, ap));
	va_end(ap);
}

/* ---- trials ------------------------------------------------------------------------------------------------- */

static int
start(Bisect *b, Argv *a)
{
	const char *log = arena_printf(b->cli->cx->arena, "%s/log", b->dir);
	const char *out = arena_printf(b->cli->cx->arena, "%s/printed", b->dir);
	Process p;
	int status;

	vec_push(b->cli->cx->arena, &a->at, NULL);
	a->at.n--;
	status = process_run(b->cli->cx, a->at.at, out, log, &p);
	b->said = process_log(b->cli->cx, log, MOST_TEXT);
	b->printed = process_log(b->cli->cx, out, MOST_TEXT);
	return status;
}

static void
add_all(Bisect *b, Argv *a, const char *option, const Texts *values)
{
	for (int i = 0; i < values->n; i++)
		add_word(b, a, "%s=%s", option, values->at[i]);
}

static void
add_common(Bisect *b, Argv *a)
{
	const Cli *cli = b->cli;

	if (cli->method)
		add_word(b, a, "--method=%s", cli->method);
	if (cli->seed)
		add_word(b, a, "--seed=%s", cli->seed);
	if (cli->timeout)
		add_word(b, a, "--timeout=%s", cli->timeout);
	if (cli->eval)
		add_word(b, a, "--eval");
	add_all(b, a, "--op-schema", &cli->op_schemas);
	add_all(b, a, "--op", &cli->ops);
	add_all(b, a, "--op-body", &cli->op_bodies);
}

/* Returns the command kiln run|build MODEL -i IN... with the options of a trial, a list of words that ends with
 * null. */
static Argv
command(Bisect *b, const char *name, const char *const *options, int input)
{
	const Cli *cli = b->cli;
	Argv a = { 0 };

	add_word(b, &a, "%s", name);
	add_word(b, &a, "%s", b->program ? "build" : "run");
	add_word(b, &a, "%s", cli->args.at[0]);
	for (int i = 0; i < cli->inputs.n; i++)
		if (b->program ? i < b->nprofiled : i == input) {
			add_word(b, &a, "-i");
			add_word(b, &a, "%s", cli->inputs.at[i]);
		}
	add_common(b, &a);
	for (; *options; options++)
		add_word(b, &a, "%s", *options);
	/* Dynamic specializations matter only if some inputs are not profiled. */
	if (b->program && b->nprofiled == cli->inputs.n)
		add_word(b, &a, "--no-dynamic");
	if (b->program && cli->cc)
		add_word(b, &a, "--cc=%s", cli->cc);
	if (b->program) /* builds only this machine's level, because trials are many and run here */
		add_word(b, &a, "--cpu=native");
	return a;
}

static const DoubleAnswer *
exact_answer(Bisect *b, int input)
{
	RtArrays in = { 0 };

	if (b->exact[input])
		return b->exact[input];
	if (input_count(b->cli) && input_read(b->cli, b->rt, input, &in))
		fail_runtime(b->cli, b->rt);
	b->exact[input] = new(b->cli->cx->arena, DoubleAnswer, 1);
	*b->exact[input] = double_answer(b->cli, b->model, b->reference, &in, 0);
	written_restore(b->written);
	rt_arrays_free(&in);
	return b->exact[input];
}

/* Whether a result that differs is within kiln check's bound for ill-conditioned inputs. */
static bool
is_ill_conditioned(Bisect *b, const Run *got, int input)
{
	Judgement j = { 0 };
	Buf ends = { 0 };
	const bool is = !got->status && answer_ends_same(got, &b->want[input], &ends) &&
		judge_within_bound(b->cli, b->rt, &j, &got->result, exact_answer(b, input));

	buf_free(&ends);
	judgement_free(&j);
	return is;
}

/* Returns a description of how a run on this input differs from the expected answer. Null if it does not differ. */
static const char *
difference(Bisect *b, int status, const char *path, int input)
{
	Run got = { .status = status, .said = b->said, .printed = b->printed };
	Buf why = { 0 };
	const char *text;

	if (!status && rt_npz_read(b->rt, path, &got.result))
		fail_runtime(b->cli, b->rt);
	text = answer_same(b->rt, &got, &b->want[input], &why) || is_ill_conditioned(b, &got, input) ? NULL :
		arena_strdup(b->cli->cx->arena, why.at);
	buf_free(&why);
	rt_arrays_free(&got.result);
	return text;
}

static const char *
try_input(Bisect *b, const char *const *options, const char *prog, int input)
{
	const char *out = arena_printf(b->cli->cx->arena, "%s/out.npz", b->dir);
	Argv a = { 0 };
	int status;

	remove(out);
	if (b->program) {
		add_word(b, &a, "%s", prog);
		if (input_count(b->cli)) {
			add_word(b, &a, "-i");
			add_word(b, &a, "%s", b->cli->inputs.at[input]);
		}
	} else {
		a = command(b, b->self, options, input);
	}
	add_word(b, &a, "-o");
	add_word(b, &a, "%s", out);
	status = start(b, &a);
	return difference(b, status, out, input);
}

/* Whether any input has a wrong answer with these options. */
static bool
is_wrong(Bisect *b, const char *const *options)
{
	const char *prog = arena_printf(b->cli->cx->arena, "%s/prog", b->dir), *why = NULL;
	const int n = input_count(b->cli);
	Argv a;

	b->ntrial++;
	progress("trial %d", b->ntrial);
	if (b->program) {
		a = command(b, b->self, options, 0);
		add_word(b, &a, "-o");
		add_word(b, &a, "%s", prog);
		if ((b->unbuilt = start(b, &a))) {
			b->why = arena_printf(b->cli->cx->arena, "cannot be built: %s", last_line(b->said));
			return true;
		}
	}
	for (int i = 0; (i < n || !i) && !why; i++)
		if ((why = try_input(b, options, prog, i))) {
			b->why = why;
			b->input = i;
		}
	return why != NULL;
}

/* Computes the expected answers: the interpreter's without any pass. */
static void
find_answers(Bisect *b)
{
	const int n = input_count(b->cli) ? input_count(b->cli) : 1;

	b->reference = reference_code(b->cli->cx, b->model->fn, b->model->module->self);
	b->written = written_constants(b->cli->cx, b->model->fn, b->model->fn->graph);
	b->exact = new(b->cli->cx->arena, DoubleAnswer *, n);
	b->want = new(b->cli->cx->arena, Answer, n);
	for (int i = 0; i < n; i++) {
		RtArrays in = { 0 };

		if (input_count(b->cli) && input_read(b->cli, b->rt, i, &in))
			fail_runtime(b->cli, b->rt);
		b->want[i] = reference_answer(b->cli, b->model, b->reference, &in);
		if (b->want[i].status == RT_LACKS)
			fail_lacks(b->cli->cx, (Range){ 0 },
				   "the interpreter cannot compute the result to compare with: %s", b->want[i].error);
		written_restore(b->written);
		rt_arrays_free(&in);
	}
}

static void
free_answers(Bisect *b)
{
	for (int i = 0; i < input_count(b->cli) || !i; i++) {
		answer_free(&b->want[i]);
		if (b->exact[i])
			double_free(b->exact[i]);
	}
}

/* ---- binary searches ------------------------------------------------------------------------------------------ */

/* Options of a trial. `none` runs no pass. */
typedef struct Options { const char *level, *stop, *limit; bool none; } Options;

static const char *const *
words(Bisect *b, const Options *o)
{
	const char **w = new(b->cli->cx->arena, const char *, 6);
	int n = 0;

	w[n++] = o->level;
	if (o->none)
		w[n++] = "--no-pass=all";
	if (o->stop)
		w[n++] = arena_printf(b->cli->cx->arena, "--stop=%s", o->stop);
	if (o->limit)
		w[n++] = arena_printf(b->cli->cx->arena, "--limit=%s", o->limit);
	return w;
}

static void
print_command(Bisect *b, const char *title, const char *const *options)
{
	Argv a = command(b, "kiln", options, b->input);

	printf("%s:", title);
	for (int i = 0; i < a.at.n; i++)
		printf(" %s", a.at.at[i]);
	printf(b->program ? " -o PROGRAM && ./PROGRAM -i %s\n" : "\n",
	       input_count(b->cli) ? input_name(b->cli, b->input) : "");
}

/* Returns the first step after which the answer is wrong. Requires that the answer after the whole pipeline is
 * wrong. */
static const char *
find_step(Bisect *b, const Options *o)
{
	int right = -1, wrong = 0;

	while (pass_step(b->cli->cx, wrong + 1))
		wrong++;
	while (wrong - right > 1) {
		const int middle = right + (wrong - right) / 2;
		const Options part = { .level = o->level, .stop = pass_step(b->cli->cx, middle) };

		if (is_wrong(b, words(b, &part)))
			wrong = middle;
		else
			right = middle;
	}
	return pass_step(b->cli->cx, wrong);
}

/* Returns the number of changes that the pass made. Sets *said to its description of change n, or to null if there is
 * none. */
static int
changes_of(Bisect *b, const Options *o, const char *pass, int n, const char **said)
{
	const Options part = *o;
	const char *const *w = words(b, &part);
	const char *mark = arena_printf(b->cli->cx->arena, "[%s ", pass);
	Argv a = command(b, b->self, w, b->input);
	int last = 0;

	add_word(b, &a, "--dump=%s:2", pass);
	add_word(b, &a, "-o");
	add_word(b, &a, "%s/prog", b->dir);
	start(b, &a);
	for (char *at = b->said; (at = strstr(at, mark)); at++) {
		const int number = atoi(at + strlen(mark));
		const char *end = strstr(at + 1, mark), *other = strstr(at, "\nafter ");

		if (at > b->said && at[-1] != '\n')
			continue;
		last = number > last ? number : last;
		end = !end || (other && other < end) ? other : end;
		if (number == n)
			*said = arena_strndup(b->cli->cx->arena, at, end ? end - at : (int64_t)strlen(at));
	}
	return last;
}

static int
find_change(Bisect *b, const Options *o, const char *pass, int most)
{
	int right = -1, wrong = most;

	while (wrong - right > 1) {
		const int middle = right + (wrong - right) / 2;
		Options part = *o;

		part.limit = arena_printf(b->cli->cx->arena, "%s=%d", pass, middle);
		if (is_wrong(b, words(b, &part)))
			wrong = middle;
		else
			right = middle;
	}
	return wrong;
}

static void
report_change(Bisect *b, Options o, const char *pass)
{
	const char *said = NULL;
	const int most = changes_of(b, &o, pass, 0, &said), change = find_change(b, &o, pass, most);

	changes_of(b, &o, pass, change, &said);
	o.limit = arena_printf(b->cli->cx->arena, "%s=%d", pass, change);
	is_wrong(b, words(b, &o));
	progress(NULL);
	printf("wrong: %s\npass: %s\n", b->why, o.stop ? o.stop : pass);
	if (change)
		printf("change: %d of %d\n", change, most);
	else
		printf("change: one that has no number: with %s=0 the result is wrong, too\n", pass);
	if (said)
		printf("%s%s", said, said[strlen(said) - 1] == '\n' ? "" : "\n");
	print_command(b, "wrong", words(b, &o));
	if (change) {
		o.limit = arena_printf(b->cli->cx->arena, "%s=%d", pass, change - 1);
		print_command(b, "right", words(b, &o));
	}
}

/* Whether the answer is right when the pass `outside` makes no change. */
static bool
is_right_without(Bisect *b, const Options *o, const char *outside)
{
	Options without = *o;

	without.limit = arena_printf(b->cli->cx->arena, "%s=0", outside);
	return !is_wrong(b, words(b, &without));
}

static void
report_nothing(Bisect *b, const Options *o)
{
	is_wrong(b, words(b, o));
	progress(NULL);
	if (b->unbuilt == EXIT_INPUT || b->unbuilt == EXIT_LACKS)
		fail_status(b->cli->cx, b->unbuilt, (Range){ 0 }, "nothing can be built: %s", last_line(b->said));
	printf("wrong: %s\npass: none of them; %s\n", b->why, b->program ? "a guard, or the code around kernels" :
		"the graph as it was read, or the interpreter");
	print_command(b, "wrong", words(b, o));
}

static const char *
without_number(Bisect *b, const char *step)
{
	return arena_strndup(b->cli->cx->arena, step, (int64_t)strcspn(step, ":"));
}

static void
report_found(Bisect *b, const Options *o)
{
	const Options none = { .level = o->level, .none = true };
	Options found = *o;

	if (b->program && is_right_without(b, o, "kernels")) {
		report_change(b, *o, "kernels");
	} else if (!is_wrong(b, words(b, &none))) {
		found.stop = find_step(b, o);
		report_change(b, found, without_number(b, found.stop));
	} else if (b->program && is_right_without(b, &none, "known")) {
		report_change(b, none, "known");
	} else {
		report_nothing(b, &none);
	}
}

static void
bisect(Cx *cx, const char *dir, void *arg)
{
	Bisect *b = arg;
	const Options all = { .level = arena_printf(cx->arena, "-O%s", b->cli->level ? b->cli->level : "2") };
	bool wrong;

	b->dir = dir;
	find_answers(b);
	wrong = is_wrong(b, words(b, &all));
	if (!wrong) {
		b->program = true;
		wrong = is_wrong(b, words(b, &all));
	}
	if (wrong)
		report_found(b, &all);
	progress(NULL);
	if (!wrong)
		printf("same: the interpreter and the program give the answer of the graph as it was read\n");
	free_answers(b);
	b->ntrial = wrong ? b->ntrial : 0;
}

int
cmd_bisect(Cli *cli)
{
	Bisect b = { .cli = cli };
	char self[4096];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (cli->args.n != 1)
		usage_error(cli, "bisect wants one model");
	for (int i = 0; i < cli->inputs.n; i++)
		if (!input_name(cli, i) || strchr(cli->inputs.at[i], '='))
			usage_error(cli, "bisect wants files as inputs");
	if (n <= 0)
		fail(cli->cx, (Range){ 0 }, "/proc/self/exe: cannot be read");
	self[n] = 0;
	b.self = self;
	b.model = model_load(cli, cli->args.at[0]);
	b.nprofiled = cli->profiled ? (int)cli_number(cli, "profiled", cli->profiled, 1, cli->inputs.n) : cli->inputs.n;
	b.rt = model_context(cli);
	process_folder(cli->cx, bisect, &b);
	return b.ntrial ? EXIT_DIFFERS : EXIT_OK;
}
