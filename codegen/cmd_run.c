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

int
cmd_run(Cli *cli)
{
	RtCx rt;
	RtArrays in = {0};
	RtParam *params;
	IValue *args, result = rt_none();
	Model *m;
	int n;

	if (cli->args.n != 1)
		usage_error(cli, "run wants one model");
	if (input_count(cli) > 1)
		usage_error(cli, "run takes one input");
	model_context(cli, &rt);
	m = model_load(cli, cli->args.at[0]);
	model_lower(cli, m);
	params = model_params(cli, m, &n);
	args = new(cli->cx->arena, IValue, n);
	if (input_count(cli) && input_read(cli, &rt, 0, &in))
		fail_raised(cli, &rt);
	if (rt_args_from_arrays(&rt, params, n, &in, args) || model_run(cli, m, &rt, args, n, &result))
		fail_raised(cli, &rt);
	if (cli->out)
		write_result(cli, &rt, result);
	else
		print_result(result);
	return EXIT_OK;
}
