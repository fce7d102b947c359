/* codegen/cli/cmd_profile.c - kiln profile: runs a model on inputs and writes the profile to a file
 *
 * The profiles of the runs are merged with those that --profile names. */
#include "cli.h"

#include <string.h>

int
cmd_profile(Cli *cli)
{
	const char *text;
	Model *m;

	if (cli->args.n != 1 || !cli->out)
		usage_error(cli, "profile wants one model and -o F.prof");
	if (!input_count(cli) && !cli->profiles.n)
		usage_error(cli, "profile wants an input: -i IN.npz");
	m = model_load(cli, cli->args.at[0]);
	model_prepare(cli, m);
	text = model_profile(cli, m);
	if (!text)
		fail(cli->cx, (Range){ 0 }, "out of memory");
	text = arena_printf(cli->cx->arena, "%s\n", text);
	write_whole(cli->cx, cli->out, text, (int64_t)strlen(text));
	return EXIT_OK;
}
