/* tests/oracle/methods.c - runs many methods of one archive, which is loaded once
 *
 *    methods FOLDER NAME... < /dev/null      FOLDER/model.pt; NAME.in.npz -> NAME.got.npz
 *
 * For each name prints one line: its name, the exit status that `kiln run` would have (128 + signal after a crash), the
 * message. Each method runs in a forked process, so that none affects the next. tests/oracle/opinfo.py calls this,
 * since it is 50 times faster than kiln. */
#include "../../opt/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Call { const char *dir, *name; Module *module; int status; } Call;

static void
raised(Cx *cx, RtCx *rt)
{
	fail_status(cx, rt->status == RT_LACKS ? EXIT_LACKS : EXIT_INPUT, (Range){0}, "%s: %s",
		rt->cls ? rt->cls : "RuntimeError", rt->message ? rt->message : "no message");
}

static void
call(Cx *cx, void *arg)
{
	Call *c = arg;
	Function *f = module_method(cx, c->module, c->name);
	const char *in = arena_printf(cx->arena, "%s/%s.in.npz", c->dir, c->name);
	const char *out = arena_printf(cx->arena, "%s/%s.got.npz", c->dir, c->name);
	RtArrays from = {0}, to = {0};
	IValue args[64], result = rt_none();
	RtParam params[64];
	RtCx rt;
	int n;

	function_graph(cx, f);
	prepare(cx, f, c->module->self);
	code_lower(cx, f, 0);
	n = f->schema->nargs - 1;
	for (int i = 0; i < n; i++) {
		const Arg *a = &f->schema->args[i + 1];
		params[i] = (RtParam){ a->name, a->type, a->has_default, a->deflt, 0 };
	}
	args[0] = c->module->self;
	if (rt_cx_init(&rt))
		fail(cx, (Range){0}, "out of memory");
	rt_generator_seed(rt.gen, 0);
	if (rt_npz_read(&rt, in, &from) || rt_args_from_arrays(&rt, params, n, &from, args + 1) ||
	    rt_run(&rt, f->code, args, &result) || rt_arrays_from_value(&rt, &to, "out", result) ||
	    rt_npz_write(&rt, out, &to))
		raised(cx, &rt);
}

static void
load(Cx *cx, void *arg)
{
	Call *c = arg;

	c->module = archive_load(cx, arena_printf(cx->arena, "%s/model.pt", c->dir));
}

static void
in_child(Cx *cx, Call *c)
{
	alarm(60);
	if (cx_try(cx, call, c)) {
		printf("%s 0\n", c->name);
		return;
	}
	for (char *p = cx->err.text; *p; p++)
		if (*p == '\n')
			*p = '|';
	printf("%s %d %s\n", c->name, cx->err.status, cx->err.text);
}

int
main(int argc, char **argv)
{
	Arena arena = {0};
	Cx cx = {.arena = &arena};
	Call c = { argc > 1 ? argv[1] : ".", 0, 0, 0 };

	schema_parser = schema_parse;
	if (!cx_try(&cx, load, &c)) {
		fprintf(stderr, "%s\n", cx.err.text);
		return cx.err.status;
	}
	for (int i = 2; i < argc; i++) {
		pid_t child;
		int status;

		c.name = argv[i];
		fflush(stdout);
		if (!(child = fork())) {
			in_child(&cx, &c);
			fflush(stdout);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0)
			return 1;
		if (WIFSIGNALED(status))
			printf("%s %d crash: signal %d\n", c.name, 128 + WTERMSIG(status), WTERMSIG(status));
	}
	return 0;
}
