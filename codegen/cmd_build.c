/* codegen/cmd_build.c - kiln build: a model becomes a program */
#include "codegen.h"

#include <stdlib.h>
#include <string.h>

/* What --emit may say. */
static const char *
emit_of(Cli *cli)
{
	static const char *const kinds[] = { "exe", "c", "obj", "static", "shared" };

	for (size_t i = 0; cli->emit && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(cli->emit, kinds[i]))
			return kinds[i];
	if (cli->emit && !strcmp(cli->emit, "ptx"))
		fail_lacks(cli->cx, (Range){ 0 }, "code for GPUs");
	if (cli->emit)
		usage_error(cli, "--emit wants exe, c, obj, static or shared, not '%s'", cli->emit);
	return kinds[0];
}

static BuildOptions
options_of(Cli *cli)
{
	BuildOptions o = { .out = cli->out, .emit = emit_of(cli), .target = cli->target, .cpu = cli->cpu, .cc = cli->cc,
			   .opt = cli->level ? (int)cli_number(cli, "optimize", cli->level, 0, 3) : 2, .source = !cli->no_source, .verbose = cli->verbose, .time = cli->time };

	o.vector_floats = target_vector_floats(cli->cx, &o);
	if (cli->seed) {
		o.seed = (uint64_t)cli_number(cli, "seed", cli->seed, 0, INT64_MAX);
		o.seeded = true;
	}
	o.max_specializations = cli->specializations ?
		(int)cli_number(cli, "max-specializations", cli->specializations, 0, 64) : 4;
	return o;
}

int
cmd_build(Cli *cli)
{
	BuildOptions o = options_of(cli);
	ProgramText text = { 0 };
	EmitMethod method = { 0 };
	Specialization **spec = NULL;
	Model *m;

	if (cli->args.n != 1 || !cli->out)
		usage_error(cli, "build wants one model and -o OUT");
	m = model_load(cli, cli->args.at[0]);
	if (!m->module)
		fail_lacks(cli->cx, (Range){ 0 }, "building from a source text: save it as an archive");
	model_prepare(cli, m);
	method.nspec = model_specialize(cli, m, o.max_specializations, true, &spec);
	method.spec = (const Specialization *const *)spec;
	method.name = cli->method ? cli->method : "forward";
	method.fn = m->fn;
	method.takes_self = m->fn->self != NULL;
	emit_program(cli->cx, m->module, &method, 1, &o, &text);
	build_program(cli->cx, &text, &o);
	return EXIT_OK;
}
