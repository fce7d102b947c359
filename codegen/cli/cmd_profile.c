/* codegen/cli/cmd_profile.c - kiln profile: records the values of a model on these inputs in a file
 *
 * The runs' profiles are merged with those that --profile names.
 */
#include "cli.h"

#include <errno.h>
#include <string.h>

static void
write_whole(Cx *cx, const char *path, const char *text)
{
	RtWhole w;

	if (!rt_whole_open(&w, path) || (fprintf(w.f, "%s\n", text), rt_whole_end(&w, true)))
		fail(cx, (Range){ 0 }, "%s: %s", path, strerror(errno));
}

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
	write_whole(cli->cx, cli->out, text);
	return EXIT_OK;
}
