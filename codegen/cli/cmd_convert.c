/* codegen/cli/cmd_convert.c - kiln convert: writes what torch.save stored as an input file
 *
 * The keys of a dict at the top name the arrays: {"x": ..., "mask": ...} becomes the arguments x and mask. */
#include "cli.h"

#include <string.h>

static int
add_entries(RtCx *rt, RtArrays *out, const RtDict *d)
{
	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead && rt_arrays_from_value(rt, out, d->at[i].key.u.str->s, d->at[i].value))
			return RT_ERROR;
	return RT_OK;
}

static bool
has_names(const RtDict *d)
{
	for (int64_t i = 0; i < d->used; i++)
		if (!d->at[i].dead && d->at[i].key.tag != RT_STR)
			return false;
	return d->n > 0;
}

int
cmd_convert(Cli *cli)
{
	RtArrays *out = new(cli->cx->arena, RtArrays, 1);
	RtCx *rt = model_context(cli);
	IValue v;
	int status;

	if (cli->args.n != 2)
		usage_error(cli, "convert wants a file that torch.save wrote, and the .npz to write");
	v = archive_load_data(cli->cx, cli->args.at[0]);
	if (v.tag == RT_DICT && has_names(v.u.dict))
		status = add_entries(rt, out, v.u.dict);
	else
		status = rt_arrays_from_value(rt, out, "x", v);
	if (status || rt_npz_write(rt, cli->args.at[1], out))
		fail_runtime(cli, rt);
	rt_arrays_free(out);
	rt_release(v);
	return EXIT_OK;
}
