/* codegen/cli/cmd_show.c - kiln show: prints a method at a stage of compilation
 *
 * The stages are:
 *   frontend     the graph as compiled from the archive
 *   prepared     the graph that is profiled, and that the generic program runs
 *   specialized  the graph for the first signature of the inputs
 *   optimized    that graph after the passes; the plan is made from it
 *   kernels      the plan's launches in order, with the texts of their kernels
 *
 * The name of a pass stands for the graph right after it. If two stages run the pass, the later one counts when there
 * is an input. */
#include "cli.h"

#include <string.h>

static Specialization *
specialization(Cli *cli, Model *m, const char *stage, bool optimize)
{
	const Specialized made = model_specialize(cli, m, 1, optimize);

	if (made.without_input)
		usage_error(cli, "stage %s wants an input: -i IN.npz", stage);
	if (!made.n)
		fail_lacks(cli->cx, (Range){ 0 }, "a specialization of %s", m->fn->name);
	return made.at[0];
}

static Graph *
specialized(Cli *cli, Model *m, const char *stage, bool optimize)
{
	return specialization(cli, m, stage, optimize)->graph;
}

static Graph *
after_pass(Cli *cli, Model *m, const char *pass)
{
	const int stages = pass_stages(pass);
	const bool late = stages == STAGE_OPTIMIZE || ((stages & STAGE_OPTIMIZE) && cli->inputs.n);

	config_until(cli->cx, late ? STAGE_OPTIMIZE : STAGE_PREPARE, pass);
	model_prepare(cli, m);
	return late ? specialized(cli, m, pass, true) : m->fn->prepared;
}

static Graph *
graph_at(Cli *cli, Model *m, const char *stage)
{
	if (!strcmp(stage, "frontend"))
		return m->fn->graph;
	if (pass_stages(stage))
		return after_pass(cli, m, stage);
	if (strcmp(stage, "prepared") && strcmp(stage, "specialized") && strcmp(stage, "optimized"))
		usage_error(cli, "no stage '%s': frontend, prepared, specialized, optimized, kernels, or a pass",
			    stage);
	model_prepare(cli, m);
	return !strcmp(stage, "prepared") ? m->fn->prepared : specialized(cli, m, stage, !strcmp(stage, "optimized"));
}

/* Parses the printed text again. Fails if that graph does not print as the same text. */
static void
check_reread(Cli *cli, Model *m, const Buf *text)
{
	Source *src = new(cli->cx->arena, Source, 1);
	Buf again = { 0 };
	int64_t i = 0;

	*src = (Source){ .text = arena_strndup(cli->cx->arena, text->at, text->n), .n = text->n, .name = "<graph>",
		.line = 1 };
	graph_print(ir_parse(cli->cx, src, m->module->unit), &again, cli->verbose);
	while (i < text->n && i < again.n && text->at[i] == again.at[i])
		i++;
	if (i == text->n && i == again.n)
		buf_free(&again);
	else
		fail_status(cli->cx, EXIT_BUG, (Range){ src, (uint32_t)i, (uint32_t)i + 1 },
			    "reads back as another graph: %.60s", again.at + (i > 20 ? i - 20 : 0));
}

/* Prints the launches of a program for this target, in order. */
static void
show_kernels(Cli *cli, Model *m, Buf *out)
{
	const BuildOptions o = build_options(cli);
	Emit *e = emit_new(cli->cx, m->module, &o);
	const Specialization *s;

	model_prepare(cli, m);
	s = specialization(cli, m, "kernels", true);
	e->listing = out;
	emit_plan(e, plan_make(cli->cx, m->fn, s, PLAN_CPU, NULL), 0, emit_code(e, m->fn->code));
}

/* Returns the last part of the qualified name. */
static const char *
method_name(const Function *fn)
{
	const char *dot = strrchr(fn->name, '.');

	return dot ? dot + 1 : fn->name;
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
	if (strcmp(as, "ir") && strcmp(as, "python") && strcmp(as, "code") && strcmp(as, "dot"))
		usage_error(cli, "--as wants ir, python, code or dot, not '%s'", as);
	m = model_load(cli, cli->args.at[0]);
	g = strcmp(stage, "kernels") ? graph_at(cli, m, stage) : NULL;
	if (!g && (cli->as || cli->reread))
		usage_error(cli, "--as and --reread do not apply to --stage kernels");
	if (!g) {
		show_kernels(cli, m, &out);
	} else if (!strcmp(as, "ir")) {
		graph_print(g, &out, cli->verbose);
	} else if (!strcmp(as, "python")) {
		py_function(py_needs(cli->cx), m->fn->schema, g, method_name(m->fn), 0, &out);
	} else if (!strcmp(as, "dot")) {
		graph_dot(g, &out);
	} else {
		if (!m->fn->code)
			model_prepare(cli, m);
		code_print(cli->cx, m->fn->code, &out);
	}
	if (cli->reread && !strcmp(as, "ir"))
		check_reread(cli, m, &out);
	fputs(out.at ? out.at : "", stdout);
	buf_free(&out);
	return EXIT_OK;
}
