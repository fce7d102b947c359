/* codegen/cli/launch.c - runs a built program to measure it, for `kiln bench` and `kiln build --tune`
 *
 * The program reads the command line's input from a file in a temporary folder, and writes its figures there as
 * JSON. */
#include "cli.h"

int
program_arguments(Cli *cli, Model *m, int input, const char *dir, char **argv)
{
	const char *in = arena_printf(cli->cx->arena, "%s/in%d.npz", dir, input);
	RtArrays *arrays = new(cli->cx->arena, RtArrays, 1);
	RtCx *rt = model_context(cli);
	int n = 1;

	if (m ? model_input(cli, m, rt, input, arrays)
	      : input_count(cli) && input_read(cli, rt, input, arrays))
		fail_runtime(cli, rt);
	if (arrays->n) {
		if (rt_npz_write(rt, in, arrays))
			fail_runtime(cli, rt);
		argv[n++] = (char *)"-i";
		argv[n++] = (char *)(uintptr_t)in;
	}
	if (cli->threads)
		argv[n++] = arena_printf(cli->cx->arena, "--threads=%s", cli->threads);
	if (cli->method)
		argv[n++] = arena_printf(cli->cx->arena, "--method=%s", cli->method);
	rt_arrays_free(arrays);
	rt_cx_free(rt);
	return n;
}

void
program_run(Cli *cli, char *const *argv, const char *log, Process *p)
{
	const int status = process_run(cli->cx, process_by_runner(cli->cx, cli->runner, argv), NULL, log, p);

	if (status)
		fail_status(cli->cx, process_crashed(status) ? EXIT_BUG : status > EXIT_LACKS ? EXIT_INPUT : status,
			(Range){ 0 }, "%s ended with status %d:\n%s", argv[0], status,
			process_log(cli->cx, log, 4000));
}

const char *
program_json(Cli *cli, const char *program, char **argv, int n, const char *dir, const char *const *options)
{
	const char *json = arena_printf(cli->cx->arena, "%s/bench.json", dir),
		   *log = arena_printf(cli->cx->arena, "%s/log", dir);
	char *const own = argv[0];
	Process p;

	argv[0] = (char *)(uintptr_t)program;
	for (; *options; options++)
		argv[n++] = (char *)(uintptr_t)*options;
	argv[n++] = (char *)"--json";
	argv[n++] = (char *)(uintptr_t)json;
	argv[n] = NULL;
	program_run(cli, argv, log, &p);
	argv[0] = own;
	return file_text(cli->cx, json);
}

CallTimes
program_launches(Cli *cli, const char *program, char **argv, int n, const char *dir, int calls)
{
	Arena *a = cli->cx->arena;
	const char *trace = arena_printf(a, "%s/trace.json", dir);
	const char *info;

	program_json(cli, program, argv, n, dir,
		(const char *const[]){ arena_printf(a, "--bench=%d", calls), "--trace", trace, NULL });
	info = program_json(cli, program, argv, n, dir, (const char *const[]){ "--info", NULL });
	return bench_kernels(cli->cx, file_text(cli->cx, trace), info, calls);
}
