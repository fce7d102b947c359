/* codegen/cli/load.c - loads a model for any command: reads it, compiles the method, and reads arguments by name */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sets `training` to False, as module.eval() does, in the object and all objects below it. Visits each object once. */
static void
leave_training(Cx *cx, RtObject *o, PtrMap *seen)
{
	int64_t *been = ptrmap_at(cx->arena, seen, o);

	if ((*been)++)
		return;
	for (int i = 0; i < o->cls->nslot; i++) {
		if (o->slot[i].tag == RT_OBJECT)
			leave_training(cx, o->slot[i].u.obj, seen);
		else if (o->slot[i].tag == RT_BOOL && !strcmp(o->cls->slot[i], "training"))
			o->slot[i].u.i = 0;
	}
}

void
module_eval(Cx *cx, Module *m)
{
	PtrMap seen = { 0 };

	leave_training(cx, m->self.u.obj, &seen);
	m->training = false;
}

static RtEngine
engine_named(Cli *cli)
{
	static const char *const x86[] = { "x86", "fbgemm", "onednn" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(cli->engine, x86[i]))
			return RT_X86;
	if (strcmp(cli->engine, "qnnpack"))
		usage_error(cli, "--engine wants x86, fbgemm, onednn or qnnpack, not '%s'", cli->engine);
	return RT_QNNPACK;
}

Model *
model_load(Cli *cli, const char *path)
{
	Cx *cx = cli->cx;
	Model *m = new(cx->arena, Model, 1);

	cx_rt(cx)->grad = !cli->no_grad;
	if (is_source(path)) {
		m->module = source_load(cx, path);
		m->fn = source_function(cx, m->module, cli->method);
	} else if (is_graph_text(path)) {
		if (cli->method && strcmp(cli->method, "forward"))
			usage_error(cli, "--method: a graph's text is forward");
		m->module = graph_load(cx, path, &m->fn);
	} else {
		m->module = archive_load(cx, path);
		if (cli->eval)
			module_eval(cx, m->module);
		m->fn = module_method(cx, m->module, cli->method ? cli->method : "forward");
	}
	if (cli->engine)
		cx_rt(cx)->engine = engine_named(cli);
	function_graph(cx, m->fn);
	if (cli->no_grad && cli->grad)
		usage_error(cli, "--no-grad cannot be combined with --grad");
	if (cli->loss && !cli->grad)
		usage_error(cli, "--loss goes with --grad");
	if (cli->grad)
		m->fn = gradient_function(cx, m->fn, m->module->self, cli->grad, cli->loss);
	return m;
}

/* Returns a context for values of the model. It lives until the command ends. */
RtCx *
model_context(Cli *cli)
{
	RtCx *rt = new(cli->cx->arena, RtCx, 1);

	if (rt_cx_init(rt))
		fail(cli->cx, (Range){0}, "out of memory");
	rt->torch = cx_rt(cli->cx)->torch;
	rt->engine = cx_rt(cli->cx)->engine;
	rt->grad = !cli->no_grad;
	if (cli->seed)
		rt_generator_seed(rt->gen, (uint64_t)cli_number(cli, "seed", cli->seed, 0, INT64_MAX));
	if (cli->threads && rt_threads(rt, (int)cli_number(cli, "threads", cli->threads, 0, 4096)))
		fail_runtime(cli, rt);
	if (cli->timeout)
		rt->deadline = rt_now() + cli_number(cli, "timeout", cli->timeout, 1, 1000000) * 1000000000;
	return rt;
}

void
model_lower(Cli *cli, Model *m)
{
	prepare(cli->cx, m->fn, m->module->self);
	code_lower(cli->cx, m->fn, 0);
}

/* ---- running ---------------------------------------------------------------------------------------------- */

RtParam *
model_params(Cli *cli, Model *m, int *n)
{
	const Schema *s = m->fn->schema;
	int self = function_first(m->fn);
	RtParam *p = new(cli->cx->arena, RtParam, s->nargs);

	*n = s->nargs - self;
	for (int i = 0; i < *n; i++) {
		const Arg *a = &s->args[i + self];
		p[i] = (RtParam){ a->name, a->type, a->has_default, a->deflt, 0 };
	}
	return p;
}

int
model_input(Cli *cli, Model *m, RtCx *rt, int i, RtArrays *in)
{
	if (input_count(cli))
		return input_read(cli, rt, i, in);
	exported_samples(m->module, m->fn, rt, in);
	return RT_OK;
}

const RtArrays *
model_given(Cli *cli, const RtArrays *in)
{
	return in->n || input_count(cli) ? in : NULL;
}

static int
exit_of(const RtCx *rt)
{
	return rt->status == RT_LACKS ? EXIT_LACKS : EXIT_INPUT;
}

void
fail_raised(Cli *cli, RtCx *rt)
{
	const char *cls = rt->cls ? rt->cls : "RuntimeError";

	fail_status(cli->cx, exit_of(rt), (Range){0}, "%s%s%s: %s", rt->trace ? rt->trace : "", rt->trace ? "\n" : "",
		cls, rt->message ? rt->message : "no message");
}

void
fail_runtime(Cli *cli, RtCx *rt)
{
	fail_status(cli->cx, exit_of(rt), (Range){0}, "%s", rt->message ? rt->message : "no message");
}

IValue *
model_args(Cli *cli, Model *m, RtCx *rt, const RtArrays *in, int *n)
{
	int nparam, self = function_first(m->fn);
	RtParam *params = model_params(cli, m, &nparam);
	IValue *args = new(cli->cx->arena, IValue, nparam + 2);

	if (rt_args_from_arrays(rt, params, nparam, model_given(cli, in), args + self))
		fail_runtime(cli, rt);
	if (self)
		args[0] = module_fresh(cli->cx, m->module);
	*n = nparam + self;
	return args;
}

int
model_answer(Cli *cli, Model *m, const RtCode *code, RtCx *rt, const RtArrays *in, IValue *result)
{
	int n;

	return rt_run(rt, code, model_args(cli, m, rt, in, &n), result);
}

int
model_run(Cli *cli, Model *m, RtCx *rt, const IValue *args, int n, IValue *result)
{
	int self = function_first(m->fn);
	IValue *all = new(cli->cx->arena, IValue, n + 1);

	if (self)
		all[0] = m->module->self;
	for (int i = 0; i < n; i++)
		all[i + self] = args[i];
	return rt_run(rt, m->fn->code, all, result);
}
