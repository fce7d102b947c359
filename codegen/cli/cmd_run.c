/* codegen/cli/cmd_run.c - kiln run: interprets a model */
#include "cli.h"

#include <stdlib.h>

static void
print_result(IValue v)
{
	Buf text = {0};

	rt_format_value(&text, v, 0);
	printf("%s\n", text.at ? text.at : "");
	buf_free(&text);
}

static void
write_npz_result(RtCx *rt, Cli *cli, const char *path, IValue v)
{
	RtArrays out = {0};

	if (rt_arrays_from_value(rt, &out, "out", v) || rt_npz_write(rt, path, &out))
		fail_runtime(cli, rt);
	rt_arrays_free(&out);
}

/* Writes the gradients to --grad-out. `result` comes from a method with gradients. */
static void
write_gradients(Cli *cli, RtCx *rt, const Model *m, IValue result)
{
	const Gradient *d = m->fn->gradient;
	const char **names = new(cli->cx->arena, const char *, d->inputs.n);

	for (int i = 0; i < d->inputs.n; i++)
		names[i] = d->inputs.at[i].name;
	if (cli->grad_out && rt_gradients_write(rt, cli->grad_out, names, d->inputs.n, result))
		fail_runtime(cli, rt);
	for (int i = 0; i < d->inputs.n && !cli->grad_out; i++) {
		printf("%s:\n", names[i]);
		print_result(rt_gradient_part(rt_gradient_part(result, 2), i));
	}
}

/* Makes call i: reads input i and writes output i, if they are given. */
static void
run_once(Cli *cli, Model *m, RtCx *rt, int i)
{
	RtArrays *in = new(cli->cx->arena, RtArrays, 1);
	IValue *args, result = rt_none(), plain;
	int n;
	RtParam *params = model_params(cli, m, &n);

	args = new(cli->cx->arena, IValue, n);
	if (model_input(cli, m, rt, i, in))
		fail_runtime(cli, rt);
	if (cli->grad_in && rt_gradients_read(rt, cli->grad_in, in))
		fail_runtime(cli, rt);
	if (rt_args_from_arrays(rt, params, n, model_given(cli, in), args))
		fail_runtime(cli, rt);
	if (model_run(cli, m, rt, args, n, &result))
		fail_raised(cli, rt);
	plain = m->fn->gradient ? rt_gradient_part(result, 0) : result;
	if (i < cli->outs.n)
		write_npz_result(rt, cli, cli->outs.at[i], plain);
	else
		print_result(plain);
	if (m->fn->gradient)
		write_gradients(cli, rt, m, result);
	rt_release(result);
}

static bool
writes_to_stdout(const Cli *cli)
{
	bool does = rt_is_stdout(cli->grad_out);

	for (int i = 0; i < cli->outs.n; i++)
		does |= rt_is_stdout(cli->outs.at[i]);
	return does;
}

int
cmd_run(Cli *cli)
{
	const int ncall = input_count(cli) ? input_count(cli) : 1;
	Model *m;
	RtCx *rt;

	if (cli->args.n != 1)
		usage_error(cli, "run wants one model");
	if (cli->outs.n > ncall)
		usage_error(cli, "more outputs than inputs");
	if (ncall > 1 && (cli->grad_in || cli->grad_out))
		usage_error(cli, "run takes one input with --grad-in and --grad-out");
	m = model_load(cli, cli->args.at[0]);
	rt = model_context(cli);
	if (writes_to_stdout(cli))
		rt->print = rt_print_aside;
	model_lower(cli, m);
	for (int i = 0; i < ncall; i++)
		run_once(cli, m, rt, i);
	return EXIT_OK;
}
