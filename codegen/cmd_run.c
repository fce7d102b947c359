/* codegen/cmd_run.c - kiln run: a model on an input, by the interpreter
 */
#include "codegen.h"

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
write_result(Cli *cli, RtCx *rt, IValue v)
{
	RtArrays out = {0};

	if (rt_arrays_from_value(rt, &out, "out", v) || rt_npz_write(rt, cli->out, &out))
		fail_raised(cli, rt);
	rt_arrays_free(&out);
}

/* The result of a method with gradients. */
static void
write_gradients(Cli *cli, RtCx *rt, const Model *m, IValue result)
{
	const Gradient *d = m->fn->gradient;
	const char **names = new(cli->cx->arena, const char *, d->inputs.n);

	for (int i = 0; i < d->inputs.n; i++)
		names[i] = d->inputs.at[i].name;
	if (cli->grad_out && rt_gradients_write(rt, cli->grad_out, names, d->inputs.n, result))
		fail_raised(cli, rt);
	for (int i = 0; i < d->inputs.n && !cli->grad_out; i++) {
		printf("%s:\n", names[i]);
		print_result(rt_gradient_part(rt_gradient_part(result, 2), i));
	}
}

int
cmd_run(Cli *cli)
{
	RtArrays *in = new(cli->cx->arena, RtArrays, 1);
	RtParam *params;
	IValue *args, result = rt_none();
	Model *m;
	RtCx *rt;
	int n;

	if (cli->args.n != 1)
		usage_error(cli, "run wants one model");
	if (input_count(cli) > 1)
		usage_error(cli, "run takes one input");
	if (!cli->rounding)
		cli->rounding = cli->passes ? "free" : "pytorch";        /* -p wants those passes, whatever they do */
	rounding_choose(cli, cli->args.at[0]);
	m = model_load(cli, cli->args.at[0]);
	rt = model_context(cli);
	if (rt_is_stdout(cli->out) || rt_is_stdout(cli->grad_out))
		rt->print = rt_print_aside;
	model_lower(cli, m);
	params = model_params(cli, m, &n);
	args = new(cli->cx->arena, IValue, n);
	if (input_count(cli) && input_read(cli, rt, 0, in))
		fail_raised(cli, rt);
	if (cli->grad_in && rt_gradients_read(rt, cli->grad_in, in))
		fail_raised(cli, rt);
	if (rt_args_from_arrays(rt, params, n, in, args) || model_run(cli, m, rt, args, n, &result))
		fail_raised(cli, rt);
	if (cli->out)
		write_result(cli, rt, m->fn->gradient ? rt_gradient_part(result, 0) : result);
	else
		print_result(m->fn->gradient ? rt_gradient_part(result, 0) : result);
	if (m->fn->gradient)
		write_gradients(cli, rt, m, result);
	rt_release(result);
	return EXIT_OK;
}
