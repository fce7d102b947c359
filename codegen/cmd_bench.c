/* codegen/cmd_bench.c - kiln bench: how fast a program is, beside what the machine can do
 *
 * A model is compiled first, into a temporary file.  Start-up is measured from outside, by whole runs of the program (from
 * exec to the result on disk) after one that warms the page cache; the steady state by the program's own --bench, which
 * warms up first.  Peak memory is what the system says of the runs.
 */
#include "codegen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS = 7 };

typedef struct Bench {
	Cli        *cli;
	const char *program;
	double      start_ms, start_min_ms, build_ms;
	double      median, least, p99;
	int64_t     peak_bytes, runs, threads;
} Bench;

/* The first bytes of the file: a program of this kind of machine begins as ELF does. */
static bool
is_program(Cx *cx, const char *path)
{
	FILE *f = fopen(path, "rb");
	char head[4] = { 0 };
	size_t n;

	if (!f)
		fail(cx, (Range){ 0 }, "%s: cannot be opened", path);
	n = fread(head, 1, 4, f);
	fclose(f);
	return n == 4 && !memcmp(head, "\177ELF", 4);
}

static void
run_program(Bench *b, char *const *argv, const char *log, Process *p)
{
	const int status = process_run(b->cli->cx, argv, NULL, log, p);

	if (status)
		fail_status(b->cli->cx, process_crashed(status) ? EXIT_BUG : status > EXIT_LACKS ? EXIT_INPUT : status, (Range){ 0 }, "%s ended with status %d:\n%s",
			b->program, status, process_log(b->cli->cx, log, 4000));
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
measure_starts(Bench *b, char *const *argv, const char *log)
{
	double ms[STARTS];
	Process p;

	run_program(b, argv, log, &p);
	for (int i = 0; i < STARTS; i++) {
		progress("start %d of %d", i + 1, STARTS);
		run_program(b, argv, log, &p);
		ms[i] = (double)p.ns / 1e6;
		b->peak_bytes = p.peak_bytes > b->peak_bytes ? p.peak_bytes : b->peak_bytes;
	}
	qsort(ms, STARTS, sizeof *ms, by_value);
	b->start_ms = ms[STARTS / 2];
	b->start_min_ms = ms[0];
}

/* A number of the JSON that a program's --bench writes. */
static double
number_in(Bench *b, const char *json, const char *key)
{
	const char *at = strstr(json, arena_printf(b->cli->cx->arena, "\"%s\":", key));

	if (!at)
		fail_status(b->cli->cx, EXIT_BUG, (Range){ 0 }, "%s: --bench did not say %s", b->program, key);
	return strtod(strchr(at, ':') + 1, NULL);
}

static void
measure_runs(Bench *b, char **argv, int n, const char *dir, const char *log)
{
	const char *json = arena_printf(b->cli->cx->arena, "%s/bench.json", dir), *text;
	Process p;

	argv[n++] = (char *)"--bench";
	argv[n++] = (char *)"--json";
	argv[n++] = (char *)json;
	argv[n] = NULL;
	progress("measuring");
	run_program(b, argv, log, &p);
	text = file_text(b->cli->cx, json);
	b->median = number_in(b, text, "median_ms");
	b->least = number_in(b, text, "min_ms");
	b->p99 = number_in(b, text, "p99_ms");
	b->runs = (int64_t)number_in(b, text, "runs");
	b->threads = (int64_t)number_in(b, text, "threads");
	b->peak_bytes = p.peak_bytes > b->peak_bytes ? p.peak_bytes : b->peak_bytes;
}

static void
print_report(const Bench *b, const Machine *m)
{
	if (b->build_ms > 0)
		printf("%-24s %10.1f ms\n", "compiled in", b->build_ms);
	printf("%-24s %10.4g ms   (least %.4g, 99 %% below %.4g; %lld runs on %lld thread%s)\n", "one run, median", b->median,
		b->least, b->p99, (long long)b->runs, (long long)b->threads, b->threads == 1 ? "" : "s");
	printf("%-24s %10.4g ms   (least %.4g)\n", "start to first result", b->start_ms, b->start_min_ms);
	printf("%-24s %10.4g MB\n", "peak memory", (double)b->peak_bytes / 1e6);
	printf("%-24s %10.4g GFLOP/s of float32, %.4g GB/s of reading\n", "this machine can do", m->flops / 1e9, m->bytes / 1e9);
}

static void
report(Bench *b, const Machine *m)
{
	RtWhole w;

	if (!rt_is_stdout(b->cli->json))
		print_report(b, m);
	if (!b->cli->json)
		return;
	if (!rt_whole_open(&w, b->cli->json))
		fail(b->cli->cx, (Range){ 0 }, "%s: %s", b->cli->json, strerror(errno));
	fprintf(w.f, "{\"median_ms\":%.6g,\"min_ms\":%.6g,\"p99_ms\":%.6g,\"runs\":%lld,\"threads\":%lld,\"start_ms\":%.6g,"
		"\"start_min_ms\":%.6g,\"peak_bytes\":%lld,\"build_ms\":%.6g,\"machine\":{\"flops\":%.6g,\"bytes_per_second\":%.6g,"
		"\"threads\":%d}}\n", b->median, b->least, b->p99, (long long)b->runs, (long long)b->threads, b->start_ms,
		b->start_min_ms, (long long)b->peak_bytes, b->build_ms, m->flops, m->bytes, m->threads);
	if (rt_whole_end(&w, true))
		fail(b->cli->cx, (Range){ 0 }, "%s: %s", b->cli->json, strerror(errno));
}

/* -i IN.npz, of the first input, and the options that programs know, too. */
static int
program_arguments(Bench *b, const char *dir, char **argv)
{
	Cli *cli = b->cli;
	const char *in = arena_printf(cli->cx->arena, "%s/in.npz", dir);
	RtArrays *arrays = new(cli->cx->arena, RtArrays, 1);
	RtCx *rt = model_context(cli);
	int n = 0;

	argv[n++] = (char *)b->program;
	if (input_count(cli)) {
		if (input_read(cli, rt, 0, arrays) || rt_npz_write(rt, in, arrays))
			fail_raised(cli, rt);
		argv[n++] = (char *)"-i";
		argv[n++] = (char *)in;
	}
	if (cli->threads)
		argv[n++] = arena_printf(cli->cx->arena, "--threads=%s", cli->threads);
	if (cli->method)
		argv[n++] = arena_printf(cli->cx->arena, "--method=%s", cli->method);
	rt_arrays_free(arrays);
	return n;
}

static void
bench_in(Cx *cx, const char *dir, void *arg)
{
	Bench *b = arg;
	const char *log = arena_printf(cx->arena, "%s/log", dir);
	char *argv[16] = { 0 };
	int n = program_arguments(b, dir, argv);
	Machine machine;
	RtCx *rt;

	measure_runs(b, argv, n, dir, log);
	argv[n] = (char *)"-o";
	argv[n + 1] = arena_printf(cx->arena, "%s/out.npz", dir);
	argv[n + 2] = NULL;
	measure_starts(b, argv, log);
	progress("measuring the machine");
	rt = model_context(b->cli);
	machine = machine_probe(rt);
	progress(NULL);
	report(b, &machine);
	rt_cx_free(rt);
}

/* Compiled beside the other temporary files; the folder of the build itself is another. */
static void
build_and_bench(Cx *cx, const char *dir, void *arg)
{
	Bench *b = arg;
	const int64_t begin = rt_now();
	ProgramText text = { 0 };

	b->program = b->cli->out = arena_printf(cx->arena, "%s/program", dir);
	model_build(b->cli, b->cli->args.at[0], &text);
	b->build_ms = (double)(rt_now() - begin) / 1e6;
	bench_in(cx, dir, arg);
}

int
cmd_bench(Cli *cli)
{
	Bench b = { .cli = cli };

	if (cli->args.n != 1)
		usage_error(cli, "bench wants one model or program");
	b.program = cli->args.at[0];
	if (!is_program(cli->cx, b.program)) {
		process_folder(cli->cx, build_and_bench, &b);
		return EXIT_OK;
	}
	if (!strchr(b.program, '/'))
		b.program = arena_printf(cli->cx->arena, "./%s", b.program);
	process_folder(cli->cx, bench_in, &b);
	return EXIT_OK;
}
