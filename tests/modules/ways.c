/*
 * Runs recorded calls of a module in every way that Kiln supports: interpreted and compiled by tcc, with and without
 * profiling, at all levels.
 *
 *     ways [-w WORD] CASE.pt...   with CASE.npz beside it, as tests/oracle/modules.py writes them.  '-': names of cases
 *                                 are read from standard input, one a line, each with a number that selects one generic
 *                                 and two profiled ways.  WORD: only ways whose name contains it
 *
 * CASE.npz contains calls in order: K.method, K.in.NAME ..., and PyTorch's answer: K.out... or K.error, with K.said,
 * the printed text.  K.new: the call is made on a new instance.  K.profile: programs are profiled on it.  K.strict:
 * also their specialized code must accept it.  K.traced: the traceback must equal PyTorch's, too.  Calls continue after
 * an error on the same instance: the writes before the error must be visible.
 *
 * Each way is a process of its own.  A program is not linked, which takes most of the time of a build.  It is loaded
 * and uses this process's runtime.
 */
#include "../../codegen/cli/cli.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEVELS = 4, MOST_WEIGHTS = 1 << 20, LIMIT_S = 60 };

typedef enum Kind { INTERPRETED, GENERIC, PROFILED } Kind;
static const char *const kind_names[] = { "run", "generic", "program" };

typedef struct Call {
	const char *method, *error, *said;       /* error: null if the call returns.  said: "" if nothing is printed. */
	bool fresh, profiled;
	/* strict: specialized code must answer if profiled.  traced: the error is compared with its traceback. */
	bool strict, traced;
	RtArrays in, out;                        /* parts of the case's arrays */
} Call;

typedef struct Case {
	const char *name, *dir;                  /* dir: temporary folder that contains the runtime's headers */
	RtArrays arrays;
	Vec(Call) calls;
	Texts methods;
} Case;

typedef struct Route { const Case *c; Kind kind; int level; } Route;

/* An instance and its methods, as a way calls them. */
typedef struct Callee {
	RtCx *rt;
	Cx *cx;
	Module *module;                          /* if interpreted */
	Vec(Function *) fn;
	IValue self;
	const RtProgram *program;                /* if compiled; else null */
} Callee;

_Alignas(64) char kiln_weights[MOST_WEIGHTS];    /* weights of the program, whose text needs this symbol */

/* ---- what main.c would bring ------------------------------------------------------------------------------------- */

void
usage_error(Cli *cli, const char *fmt, ...)
{
	va_list ap;

	(void)cli;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	exit(EXIT_USAGE);
}

int64_t
cli_number(Cli *cli, const char *option, const char *text, int64_t least, int64_t most)
{
	(void)cli, (void)option, (void)least, (void)most;
	return strtoll(text, NULL, 10);
}

/* ---- reading a case ---------------------------------------------------------------------------------------------- */

/* Returns the arrays below `prefix.`.  If `whole`, returns the one named prefix and those below it, with unchanged
 * names. */
static RtArrays
below(Cx *cx, const RtArrays *all, const char *prefix, bool whole)
{
	const size_t n = strlen(prefix);
	const char *slash;
	RtArrays part = { .at = new(cx->arena, RtArray, all->n + 1), .cap = all->n };

	for (int i = 0; i < all->n; i++) {
		char *key = all->at[i].key;

		if (strncmp(key, prefix, n) || (key[n] != '.' && (!whole || key[n])))
			continue;
		part.at[part.n] = all->at[i];
		slash = strchr(key, '.');                /* the part after the call's number */
		part.at[part.n++].key = whole ? key + (slash - key) + 1 : key + n + 1;
	}
	return part;
}

static const char *
text_at(Cx *cx, const RtArrays *all, int call, const char *word)
{
	const RtArray *a = rt_arrays_find(all, arena_printf(cx->arena, "%d.%s", call, word));

	return a && a->text ? a->text->s : NULL;
}

static void
note_method(Cx *cx, Case *c, const char *name)
{
	for (int i = 0; i < c->methods.n; i++)
		if (!strcmp(c->methods.at[i], name))
			return;
	vec_push(cx->arena, &c->methods, name);
}

static void
read_case(Cx *cx, void *arg)
{
	Case *c = arg;
	RtCx *rt = cx_rt(cx);
	Call call;

	if (rt_npz_read(rt, arena_printf(cx->arena, "%s.npz", c->name), &c->arrays))
		fail(cx, (Range){ 0 }, "%s", rt->message);
	for (int i = 0; (call.method = text_at(cx, &c->arrays, i, "method")); i++) {
		call.error = text_at(cx, &c->arrays, i, "error");
		call.said = text_at(cx, &c->arrays, i, "said");
		call.said = call.said ? call.said : "";
		call.fresh = rt_arrays_find(&c->arrays, arena_printf(cx->arena, "%d.new", i)) != NULL;
		call.profiled = rt_arrays_find(&c->arrays, arena_printf(cx->arena, "%d.profile", i)) != NULL;
		call.strict = rt_arrays_find(&c->arrays, arena_printf(cx->arena, "%d.strict", i)) != NULL;
		call.traced = rt_arrays_find(&c->arrays, arena_printf(cx->arena, "%d.traced", i)) != NULL;
		call.in = below(cx, &c->arrays, arena_printf(cx->arena, "%d.in", i), false);
		call.out = below(cx, &c->arrays, arena_printf(cx->arena, "%d.out", i), true);
		vec_push(cx->arena, &c->calls, call);
		note_method(cx, c, call.method);
	}
	if (!c->calls.n)
		fail(cx, (Range){ 0 }, "%s: no calls", c->name);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Returns the last line of PyTorch's error, for messages. */
static const char *
said_last(const char *text)
{
	const char *last = text;

	for (const char *p = text; *p; p++)
		if (*p == '\n' && p[1] && p[1] != '\n')
			last = p + 1;
	return last;
}

static bool
same_array(RtCx *rt, const RtArray *got, const RtArray *want, Buf *why)
{
	if (!got->text != !want->text) {
		buf_printf(why, "%s is%s text", want->key, got->text ? "" : " no");
		return false;
	}
	if (want->text)
		return rt_close(rt, want->key, rt_ref(RT_STR, got->text), rt_ref(RT_STR, want->text), why);
	if (want->tensor->ndim == 1 && !want->tensor->dims[0] && got->tensor->ndim == 1 && !got->tensor->dims[0])
		return true;                             /* an empty list has no dtype */
	return rt_close(rt, want->key, rt_of(got->tensor), rt_of(want->tensor), why);
}

static bool
same_result(RtCx *rt, IValue result, const RtArrays *want, Buf *why)
{
	RtArrays got = { 0 };
	bool same = !rt_arrays_from_value(rt, &got, "out", result);

	if (!same)
		buf_printf(why, "%s", rt->message);
	for (int i = 0; i < want->n && same; i++) {
		const RtArray *a = rt_arrays_find(&got, want->at[i].key);

		if (!(same = a != NULL))
			buf_printf(why, "no '%s'", want->at[i].key);
		same = same && same_array(rt, a, &want->at[i], why);
	}
	for (int i = 0; i < got.n && same; i++)
		if (!(same = rt_arrays_find(want, got.at[i].key) != NULL))
			buf_printf(why, "unexpected '%s'", got.at[i].key);
	rt_arrays_free(&got);
	return same;
}

/* Compares the error.  PyTorch's text ends with the class and the message. */
static bool
same_error(const RtCx *rt, const Call *call, Buf *why)
{
	Buf got = { 0 };
	const char *want = call->error, *trace = call->traced ? rt->trace ? rt->trace : "no traceback\n" : NULL;
	int64_t n = (int64_t)strlen(want);
	bool same;

	if (trace)
		buf_printf(&got, "The following operation failed in the TorchScript interpreter.\n%s", trace);
	if (rt->cls || rt->trace)
		buf_printf(&got, "%s: ", rt->cls ? rt->cls : "RuntimeError");
	buf_puts(&got, rt->message ? rt->message : "no message");
	while (n && want[n - 1] == '\n')
		n--;
	while (got.n && got.at[got.n - 1] == '\n')
		got.n--;
	same = rt->status == RT_ERROR && got.n <= n && (!trace || got.n == n) &&
	       !memcmp(got.at, want + n - got.n, (size_t)got.n) && (got.n == n || want[n - got.n - 1] == '\n');
	if (!same)
		buf_printf(why, "%s %s, expected %s", rt->status == RT_LACKS ? "lacks" : "raised", got.at,
			   trace ? want : said_last(want));
	buf_free(&got);
	return same;
}

/* ---- calling ----------------------------------------------------------------------------------------------------- */

static Buf said;

static void
hear(RtCx *rt, const char *text, int64_t n)
{
	(void)rt;
	buf_add(&said, text, n);
}

static void
hear_nothing(RtCx *rt, const char *text, int64_t n)
{
	(void)rt, (void)text, (void)n;
}

static void
raised(Callee *e)
{
	fail_status(e->cx, e->rt->status == RT_LACKS ? EXIT_LACKS : EXIT_BUG, (Range){ 0 }, "%s", e->rt->message);
}

static void
renew(Callee *e)
{
	rt_generator_seed(e->rt->gen, RT_SEED);
	if (e->program && rt_program_fresh(e->rt))
		raised(e);
	if (!e->program)
		e->self = module_fresh(e->cx, e->module);
}

static int
call_program(Callee *e, const Call *call, bool strict, IValue *args, IValue *result)
{
	const RtMethod *m = e->program->method;
	int status;

	while (strcmp(m->name, call->method))
		m++;
	if (rt_args_from_arrays(e->rt, m->param, m->nparam, &call->in, args))
		raised(e);
	e->rt->strict = strict;
	status = rt_program_call(e->rt, m, args, result);
	e->rt->strict = false;
	return status;
}

static int
call_function(Callee *e, const Case *c, const Call *call, IValue *args, IValue *result)
{
	Model m = { .module = e->module };
	RtParam *params;
	int n, i = 0;

	while (strcmp(c->methods.at[i], call->method))
		i++;
	m.fn = e->fn.at[i];
	params = model_params(&(Cli){ .cx = e->cx }, &m, &n);
	args[0] = e->self;
	if (rt_args_from_arrays(e->rt, params, n, &call->in, args + 1))
		raised(e);
	return rt_run(e->rt, m.fn->code, args, result);
}

static bool
same_answer(Callee *e, const Route *w, const Call *call, Buf *why)
{
	const Case *c = w->c;
	IValue args[64] = { { 0 } }, result = rt_none();
	int status;
	bool same;

	said.n = 0;
	status = e->program ? call_program(e, call, call->strict && w->kind == PROFILED, args, &result)
			    : call_function(e, c, call, args, &result);
	if (status && !call->error) {
		buf_printf(why, "%s %s: %s", status == RT_LACKS ? "lacks" : "raised",
			   e->rt->cls ? e->rt->cls : "RuntimeError", e->rt->message);
		same = false;
	} else if (!status && call->error) {
		buf_printf(why, "returned, expected %s", said_last(call->error));
		same = false;
	} else {
		same = status ? same_error(e->rt, call, why) : same_result(e->rt, result, &call->out, why);
	}
	buf_add(&said, "", 0);
	if (same && strcmp(said.at && said.n ? said.at : "", call->said)) {
		buf_printf(why, "printed '%s', expected '%s'", said.n ? said.at : "", call->said);
		same = false;
	}
	rt_clear_error(e->rt);
	return same;
}

static void
call_all(Callee *e, const Route *w)
{
	const Case *c = w->c;
	Buf why = { 0 };
	bool differs = false;

	e->rt->print = hear;
	e->rt->warn = hear_nothing;
	for (int i = 0; i < c->calls.n; i++) {
		if (c->calls.at[i].fresh || !i)
			renew(e);
		if (same_answer(e, w, &c->calls.at[i], &why))
			continue;
		printf("%s %s -O%d call %d %s: %s\n", c->name, kind_names[w->kind], w->level, i, c->calls.at[i].method,
		       why.at);
		fflush(stdout);
		if (!getenv("WAYS_ALL"))
			_exit(EXIT_DIFFERS);
		why.n = 0;
		differs = true;
	}
	if (differs)
		_exit(EXIT_DIFFERS);
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

static void
interpret(Cx *cx, const Route *w)
{
	Callee e = { .cx = cx, .rt = new(cx->arena, RtCx, 1) };

	e.module = archive_load(cx, arena_printf(cx->arena, "%s.pt", w->c->name));
	for (int i = 0; i < w->c->methods.n; i++) {
		vec_push(cx->arena, &e.fn, module_method(cx, e.module, w->c->methods.at[i]));
		function_graph(cx, e.fn.at[i]);
	}
	if (e.fn.n > 1)
		prepare_peers(cx, e.fn.at, e.fn.n);
	for (int i = 0; i < e.fn.n; i++) {
		ops_compile_all(cx, e.fn.at[i]);
		prepare(cx, e.fn.at[i], e.module->self);
		ops_compile_bodies(cx, e.fn.at[i]->prepared);
		code_lower(cx, e.fn.at[i], NULL);
	}
	if (rt_cx_init(e.rt))
		fail(cx, (Range){ 0 }, "out of memory");
	call_all(&e, w);
}

/* Writes the inputs of a call as a file for the profiling run.  Returns its path. */
static const char *
input_file(Cx *cx, const Case *c, int i)
{
	const char *path = arena_printf(cx->arena, "%s/%d.in.npz", c->dir, i);

	if (rt_npz_write(cx_rt(cx), path, &c->calls.at[i].in))
		fail(cx, (Range){ 0 }, "%s", cx_rt(cx)->message);
	return path;
}

static const RtProgram *
load_program(Cx *cx, const Case *c, const ProgramText *text)
{
	const char *path = arena_printf(cx->arena, "%s/program.so", c->dir);
	const RtProgram *(*program)(void);
	Texts files = { 0 };
	void *loaded;

	if (text->weights->bytes.n > MOST_WEIGHTS)
		fail(cx, (Range){ 0 }, "weights of %lld bytes", (long long)text->weights->bytes.n);
	if (text->weights->bytes.n)
		memcpy(kiln_weights, text->weights->bytes.at, (size_t)text->weights->bytes.n);
	vec_push(cx->arena, &files, arena_printf(cx->arena, "%s/program.c", c->dir));
	tcc_shared(cx, c->dir, &files, path);
	loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!loaded)
		fail_status(cx, EXIT_BUG, (Range){ 0 }, "%s", dlerror());
	*(void **)(void *)&program = dlsym(loaded, "kiln_program");
	return program();
}

static void
compile(Cx *cx, const Route *w)
{
	const Case *c = w->c;
	Cli cli = { .cx = cx, .cc = "tcc", .specializations = "64",
		    .level = arena_printf(cx->arena, "%d", w->level),
		    .out = arena_printf(cx->arena, "%s/program.c", c->dir) };
	Callee e = { .cx = cx, .rt = new(cx->arena, RtCx, 1) };
	Buf methods = { 0 };
	ProgramText text = { 0 };

	for (int i = 0; i < c->methods.n; i++)
		buf_printf(&methods, "%s%s", i ? "," : "", c->methods.at[i]);
	cli.method = methods.at;
	for (int i = 0; i < c->calls.n && w->kind == PROFILED; i++)
		if (c->calls.at[i].profiled)
			vec_push(cx->arena, &cli.inputs, input_file(cx, c, i));
	model_emit(&cli, arena_printf(cx->arena, "%s.pt", c->name), &text);
	write_text(cx, cli.out, text.source, text.n);
	e.program = load_program(cx, c, &text);
	if (rt_cx_init(e.rt) || rt_program_load(e.rt, e.program))
		raised(&e);
	call_all(&e, w);
}

static void
go(Cx *cx, void *arg)
{
	const Route *w = arg;

	config_environment(cx);
	config_level(cx, w->level);
	if (w->kind == INTERPRETED)
		interpret(cx, w);
	else
		compile(cx, w);
}

static void
in_child(Cx *cx, const Route *w)
{
	const int log = open(arena_printf(cx->arena, "%s/stderr", w->c->dir), O_RDWR | O_CREAT | O_TRUNC, 0600);

	dup2(log, 2);
	alarm(LIMIT_S);
	if (cx_try(cx, go, (void *)(uintptr_t)w))
		_exit(0);
	printf("%s %s -O%d: %s\n", w->c->name, kind_names[w->kind], w->level, cx->err.text);
	fflush(stdout);
	_exit(EXIT_DIFFERS);
}

/* Returns whether the way gives PyTorch's answers. */
static bool
try_way(Cx *cx, Route *w)
{
	int status;
	pid_t child;

	fflush(stdout);
	if (!(child = fork()))
		in_child(cx, w);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		fail(cx, (Range){ 0 }, "no process");
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_DIFFERS))
		return !WEXITSTATUS(status);
	printf("%s %s -O%d: %s %d\n", w->c->name, kind_names[w->kind], w->level,
	       WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return false;
}

/* Must this way run?  Programs take most of the time, so with thousands of cases their levels take turns.  A negative
 * turn runs all. */
static bool
is_turn(Kind kind, int level, int turn)
{
	return turn < 0 || kind == INTERPRETED ||
	       (kind == GENERIC ? level == turn / 2 % LEVELS : level % 2 == turn % 2);
}

/* Returns the number of ways that differ. */
static int
try_case(Cx *cx, const char *dir, const char *name, const char *word, int turn)
{
	Case c = { .name = name, .dir = dir };
	int failed = 0;

	if (!cx_try(cx, read_case, &c)) {
		printf("%s: %s\n", name, cx->err.text);
		return 1;
	}
	for (int kind = 0; kind <= PROFILED; kind++)
		for (int level = 0; level < LEVELS; level++) {
			Route w = { &c, kind, level };

			if (is_turn(kind, level, turn) &&
			    (!word || strstr(arena_printf(cx->arena, "%s -O%d", kind_names[kind], level), word)))
				failed += !try_way(cx, &w);
		}
	rt_arrays_free(&c.arrays);
	return failed;
}

/* Runs a case in an arena of its own, since there are thousands of cases. */
static int
one_case(const char *dir, const char *path, const char *word, int turn)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	const size_t n = strlen(path), end = n > 3 && !strcmp(path + n - 3, ".pt") ? 3 : 0;
	const int failed = try_case(&cx, dir, arena_strndup(&arena, path, (int64_t)(n - end)), word, turn);

	arena_free(&arena);
	return failed;
}

typedef struct Job { char **names; int n; const char *word; int cases, failed; } Job;

static void
all(Cx *cx, const char *dir, void *arg)
{
	Job *j = arg;
	char name[4096];
	int turn;

	carry_sources(cx, dir);
	for (int i = 0; i < j->n; i++) {
		if (strcmp(j->names[i], "-")) {
			j->cases++;
			j->failed += one_case(dir, j->names[i], j->word, -1) != 0;
			continue;
		}
		while (scanf("%4095s %d", name, &turn) == 2) {
			const int wrong = one_case(dir, name, j->word, turn);

			printf("done %s %d\n", name, wrong);
			fflush(stdout);
			j->failed += wrong != 0;
		}
	}
}

static void
in_folder(Cx *cx, void *arg)
{
	process_folder(cx, all, arg);
}

int
main(int argc, char **argv)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Job j = { argv + 1, argc - 1, NULL, 0, 0 };

	schema_parser = schema_parse;
	if (argc > 2 && !strcmp(argv[1], "-w"))
		j = (Job){ argv + 3, argc - 3, argv[2], 0, 0 };
	if (j.n < 1)
		return EXIT_USAGE;
	if (!cx_try(&cx, in_folder, &j)) {
		fprintf(stderr, "%s\n", cx.err.text);
		return cx.err.status;
	}
	if (j.cases)
		printf("%d cases, %d failed\n", j.cases, j.failed);
	return j.failed > 0;
}
