/* codegen/cli/cmd_bench.c - kiln bench: measures a program, and compares it with the machine's peak
 *
 * A model is first compiled into a temporary program with --bench-code, which describes its kernels. Start-up is the
 * time of whole runs, from exec to the result on disk, after a run that warms the page cache. The steady state is
 * measured by the program's own --bench, each launch by calls with --trace. The machine's peak is measured before and
 * after. Two programs are compared by alternating rounds of --bench. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	STARTS = 7,
	TRACED_MS = 1000, TRACED_LEAST = 5, TRACED_MOST = 50, /* total time, least and largest number of traced calls */
	ROUNDS = 15, ROUND_MS = 150,     /* number of rounds of --against, and length of a round in ms */
	RESAMPLES = 10000,
};

typedef struct Against {         /* Ratio of two programs' medians, with its 95 % confidence interval. */
	double ms[2], ratio, low, high;
} Against;

typedef struct Bench {
	Cli        *cli;
	Model      *model;       /* exported model whose own arguments are the input; null if -i names the input */
	const char *program;
	double      start_ms, start_min_ms, build_ms;
	double      median, least, p99, open;
	int64_t     peak_bytes, runs, threads;
	CallTimes   calls;
	Against     against;
} Bench;

/* Whether the file begins like an ELF program. */
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

	program_run(b->cli, argv, log, &p);
	for (int i = 0; i < STARTS; i++) {
		progress("start %d of %d", i + 1, STARTS);
		program_run(b->cli, argv, log, &p);
		ms[i] = (double)p.ns / 1e6;
	}
	qsort(ms, STARTS, sizeof *ms, by_value);
	b->start_ms = ms[STARTS / 2];
	b->start_min_ms = ms[0];
}

/* Returns the number of this key in the JSON of a program's --bench. */
static double
number_in(Bench *b, const char *json, const char *key)
{
	const char *at = strstr(json, arena_printf(b->cli->cx->arena, "\"%s\":", key));

	if (!at)
		fail_status(b->cli->cx, EXIT_BUG, (Range){ 0 }, "%s: the output of --bench has no %s", b->program, key);
	return strtod(strchr(at, ':') + 1, NULL);
}

static void
measure_runs(Bench *b, char **argv, int n, const char *dir)
{
	const char *text;

	progress("measuring");
	text = program_json(b->cli, b->program, argv, n, dir, (const char *const[]){ "--bench", NULL });
	b->median = number_in(b, text, "median_ms");
	b->least = number_in(b, text, "min_ms");
	b->p99 = number_in(b, text, "p99_ms");
	b->runs = (int64_t)number_in(b, text, "runs");
	b->threads = (int64_t)number_in(b, text, "threads");
	b->open = number_in(b, text, "open_ms");
	b->peak_bytes = (int64_t)number_in(b, text, "peak_bytes");
}

static int
times_in(double ms, double one, int least, int most)
{
	const double n = one > 0 ? ms / one : most;

	return n < least ? least : n > most ? most : (int)n;
}

static void
measure_kernels(Bench *b, char **argv, int n, const char *dir)
{
	progress("measuring kernels");
	b->calls = program_launches(b->cli, b->program, argv, n, dir,
				  times_in(TRACED_MS, b->median, TRACED_LEAST, TRACED_MOST));
}

/* ---- --against --------------------------------------------------------------------------------------------------- */

/* Returns the median of the rounds listed in `pick`, in which a round may occur several times. If pick is null, of all
 * rounds. */
static double
median_of(const double *from, const int *pick)
{
	double x[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		x[i] = from[pick ? pick[i] : i];
	qsort(x, ROUNDS, sizeof *x, by_value);
	return x[ROUNDS / 2];
}

/* Computes the percentile bootstrap of the ratio of medians. Each sample draws rounds with replacement; a round has the
 * times of both programs. The random numbers are the same in every run of kiln. */
static void
resample(Against *r, double ms[2][ROUNDS])
{
	static double ratio[RESAMPLES];
	uint64_t state = 88172645463325252u;

	for (int i = 0; i < RESAMPLES; i++) {
		int pick[ROUNDS];

		for (int k = 0; k < ROUNDS; k++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			pick[k] = (int)(state % ROUNDS);
		}
		ratio[i] = median_of(ms[0], pick) / median_of(ms[1], pick);
	}
	qsort(ratio, RESAMPLES, sizeof *ratio, by_value);
	r->low = ratio[RESAMPLES / 40];
	r->high = ratio[RESAMPLES - 1 - RESAMPLES / 40];
}

/* Runs both programs in rounds; which one goes first alternates. */
static void
measure_against(Bench *b, char **argv, int n, const char *dir)
{
	const char *const programs[2] = { b->program, b->cli->against };
	const char *bench = arena_printf(b->cli->cx->arena, "--bench=%d", times_in(ROUND_MS, b->median, 3, 10000));
	double ms[2][ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		for (int k = 0; k < 2; k++) {
			const int which = (i + k) % 2;

			progress("round %d of %d", i + 1, ROUNDS);
			ms[which][i] = number_in(b, program_json(b->cli, programs[which], argv, n, dir,
							    (const char *const[]){ bench, NULL }), "median_ms");
		}
	for (int k = 0; k < 2; k++)
		b->against.ms[k] = median_of(ms[k], NULL);
	b->against.ratio = b->against.ms[0] / b->against.ms[1];
	resample(&b->against, ms);
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static void
print_machine(const Machine *m)
{
	printf("%-24s %10.4g GFLOP/s of float32, %.4g GB/s of reading", "this machine can do", m->flops / 1e9,
	       m->bytes / 1e9);
	if (!machine_is_steady(m))
		printf("; unsteady: a second measurement gave %.0f %% and %.0f %% of it", m->flops_steady,
		       m->bytes_steady);
	printf("\n%-24s", "data is read from");
	for (int i = 0; i < m->nlevel; i++) {
		const MachineLevel *l = &m->level[i];

		if (!l->bytes)
			printf("%s %s at a rate that was not measured", i ? "," : "", l->name);
		else
			printf("%s %s at %.4g GB/s", i ? "," : "", l->name, l->bytes / 1e9);
	}
	printf("\n");
}

/* Writes the memory levels as JSON. */
static void
put_levels(Buf *o, const Machine *m)
{
	buf_puts(o, ",\"levels\":[");
	for (int i = 0; i < m->nlevel; i++) {
		const MachineLevel *l = &m->level[i];

		buf_printf(o, "%s{\"name\":\"%s\",\"bytes_per_second\":%.6g,\"steady\":%.4g", i ? "," : "", l->name,
			   l->bytes, l->steady / 100);
		if (i < m->nlevel - 1)
			buf_printf(o, ",\"size\":%lld", (long long)l->size);
		buf_puts(o, "}");
	}
	buf_puts(o, "]");
}

static void
print_report(const Bench *b, const Machine *m)
{
	const Against *r = &b->against;

	if (b->build_ms > 0)
		printf("%-24s %10.1f ms\n", "compiled in", b->build_ms);
	printf("%-24s %10.4g ms   (least %.4g, 99 %% below %.4g; %lld runs on %lld thread%s)\n", "one run, median",
	       b->median, b->least, b->p99, (long long)b->runs, (long long)b->threads, b->threads == 1 ? "" : "s");
	printf("%-24s %10.4g ms   (least %.4g; opening is %.4g of it)\n", "start to first result", b->start_ms,
	       b->start_min_ms, b->open);
	if (b->peak_bytes)
		printf("%-24s %10.4g MB\n", "peak memory", (double)b->peak_bytes / 1e6);
	print_machine(m);
	if (b->cli->against)
		printf("%-24s %10.4g    (95 %% of resampled: %.4g to %.4g) of the time of %s: %.4g ms and %.4g, "
			"medians of %d rounds\n", "against",
			r->ratio, r->low, r->high, b->cli->against, r->ms[0], r->ms[1], ROUNDS);
	bench_kernels_print(stdout, &b->calls, m);
}

static char *
report_json(const Bench *b, const Machine *m)
{
	const Against *r = &b->against;
	Buf o = { 0 };

	buf_printf(&o, "{\"median_ms\":%.6g,\"min_ms\":%.6g,\"p99_ms\":%.6g,\"runs\":%lld,\"threads\":%lld,"
		   "\"start_ms\":%.6g,\"start_min_ms\":%.6g,\"open_ms\":%.6g,\"peak_bytes\":%lld,\"build_ms\":%.6g,",
		   b->median, b->least, b->p99, (long long)b->runs, (long long)b->threads, b->start_ms, b->start_min_ms,
		   b->open, (long long)b->peak_bytes, b->build_ms);
	buf_printf(&o, "\"machine\":{\"flops\":%.6g,\"bytes_per_second\":%.6g,\"threads\":%d,\"launch_ns\":%.4g,"
		   "\"steady\":%s,\"flops_steady\":%.4g,\"bytes_steady\":%.4g",
		   m->flops, m->bytes, m->threads, m->launch_ns,
		   machine_is_steady(m) ? "true" : "false", m->flops_steady / 100, m->bytes_steady / 100);
	put_levels(&o, m);
	buf_puts(&o, "},");
	if (b->cli->against)
		buf_printf(&o, "\"against\":{\"ratio\":%.6g,\"low\":%.6g,\"high\":%.6g,\"interval\":\"bootstrap of "
			   "medians, 95 %%\",\"rounds\":%d,\"median_ms\":[%.6g,%.6g]},", r->ratio, r->low, r->high,
			   ROUNDS, r->ms[0], r->ms[1]);
	bench_kernels_json(&o, &b->calls, m);
	buf_puts(&o, "}\n");
	return arena_text(b->cli->cx->arena, &o);
}

static void
report_bench(Bench *b, const Machine *m)
{
	RtWhole w;

	if (!rt_is_stdout(b->cli->json))
		print_report(b, m);
	if (!b->cli->json)
		return;
	if (!rt_whole_open(&w, b->cli->json))
		fail(b->cli->cx, (Range){ 0 }, "%s: %s", b->cli->json, strerror(errno));
	fputs(report_json(b, m), w.file);
	if (rt_whole_end(&w, true))
		fail(b->cli->cx, (Range){ 0 }, "%s: %s", b->cli->json, strerror(errno));
}

static void
bench_in(Cx *cx, const char *dir, void *arg)
{
	Bench *b = arg;
	RtCx *rt = model_context(b->cli);
	char *argv[24] = { (char *)(uintptr_t)b->program };
	const int n = program_arguments(b->cli, b->model, 0, dir, argv);
	Machine machine;

	progress("measuring the machine");
	machine = machine_probe(rt);
	measure_runs(b, argv, n, dir);
	measure_kernels(b, argv, n, dir);
	if (b->cli->against)
		measure_against(b, argv, n, dir);
	argv[n] = (char *)"-o";
	argv[n + 1] = arena_printf(cx->arena, "%s/out.npz", dir);
	argv[n + 2] = NULL;
	measure_starts(b, argv, arena_printf(cx->arena, "%s/log", dir));
	progress("measuring the machine");
	machine = machine_again(rt, machine);
	progress(NULL);
	report_bench(b, &machine);
	rt_cx_free(rt);
}

/* Compiles the model into the temporary folder and measures the program. */
static void
build_and_bench(Cx *cx, const char *dir, void *arg)
{
	Bench *b = arg;
	const int64_t begin = rt_now();
	ProgramText text = { 0 };

	b->program = b->cli->out = arena_printf(cx->arena, "%s/program", dir);
	model_build(b->cli, b->cli->args.at[0], &text);
	b->build_ms = (double)(rt_now() - begin) / 1e6;
	if (!input_count(b->cli))
		b->model = model_load(b->cli, b->cli->args.at[0]);
	bench_in(cx, dir, arg);
}

/* Returns the path for exec: adds ./ to a name without a slash, which exec would look up in PATH. */
static const char *
path_of(Cx *cx, const char *program)
{
	return strchr(program, '/') ? program : arena_printf(cx->arena, "./%s", program);
}

int
cmd_bench(Cli *cli)
{
	Bench b = { .cli = cli };

	if (cli->args.n != 1)
		usage_error(cli, "bench wants one model or program");
	if (cli->against) {
		if (!is_program(cli->cx, cli->against))
			usage_error(cli, "--against wants a program: %s is not one", cli->against);
		cli->against = path_of(cli->cx, cli->against);
	}
	b.program = cli->args.at[0];
	if (!is_program(cli->cx, b.program)) {
		cli->bench_code = true;
		process_folder(cli->cx, build_and_bench, &b);
		return EXIT_OK;
	}
	b.program = path_of(cli->cx, b.program);
	process_folder(cli->cx, bench_in, &b);
	return EXIT_OK;
}
