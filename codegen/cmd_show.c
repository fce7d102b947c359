/* codegen/cmd_show.c - kiln show: a method at a stage of its way, as text
 *
 * Stages: frontend, as compiled from the archive; prepared, what is profiled and what the generic program runs;
 * specialized, for the first signature of the inputs; optimized, after the passes: what the plan is made of.
 */
#include "codegen.h"

#include <string.h>

static Graph *
graph_at(Cli *cli, Model *m, const char *stage)
{
	Specialization **spec = NULL;

	if (!strcmp(stage, "frontend"))
		return m->fn->graph;
	model_prepare(cli, m);
	if (!strcmp(stage, "prepared"))
		return m->fn->prepared;
	if (strcmp(stage, "specialized") && strcmp(stage, "optimized"))
		usage_error(cli, "no stage '%s': frontend, prepared, specialized, optimized", stage);
	if (!cli->inputs.n)
		usage_error(cli, "stage %s wants an input: -i IN.npz", stage);
	if (!model_specialize(cli, m, 1, !strcmp(stage, "optimized"), &spec))
		fail_lacks(cli->cx, (Range){ 0 }, "a specialization of %s", m->fn->name);
	return spec[0]->graph;
}

int
cmd_show(Cli *cli)
{
	const char *as = cli->as ? cli->as : "ir", *stage = cli->stage ? cli->stage : "frontend";
	Buf out = { 0 };
	Graph *g;
	Model *m;

	if (cli->args.n != 1)
		usage_error(cli, "show wants one model");
	m = model_load(cli, cli->args.at[0]);
	g = graph_at(cli, m, stage);
	if (!strcmp(as, "ir")) {
		graph_print(g, &out, cli->verbose);
	} else if (!strcmp(as, "code")) {
		if (!m->fn->code)
			model_prepare(cli, m);
		code_print(cli->cx, m->fn->code, &out);
	} else {
		usage_error(cli, "show has no form '%s': ir, code", as);
	}
	fputs(out.at ? out.at : "", stdout);
	buf_free(&out);
	return EXIT_OK;
}
