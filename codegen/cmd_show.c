/* codegen/cmd_show.c - kiln show: the graph of a method, as text
 */
#include "codegen.h"

#include <string.h>

int
cmd_show(Cli *cli)
{
	const char *as = cli->as ? cli->as : "ir";
	Buf out = {0};
	Model *m;

	if (cli->args.n != 1)
		usage_error(cli, "show wants one model");
	m = model_load(cli, cli->args.at[0]);
	if (!strcmp(as, "ir")) {
		graph_print(m->fn->graph, &out, cli->verbose);
	} else if (!strcmp(as, "code")) {
		model_lower(cli, m);
		code_print(cli->cx, m->fn->code, &out);
	} else {
		usage_error(cli, "show has no form '%s'", as);
	}
	fputs(out.at ? out.at : "", stdout);
	buf_free(&out);
	return EXIT_OK;
}
