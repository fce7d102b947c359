/*
 * codegen/cli/tune.c - kiln build --tune: measures which kernel forms are fastest on this machine
 *
 * Besides the default program, others are built: one in which every kernel uses its second form, one with the third
 * forms, and so on. They run on the inputs in turn. Their traces give the time of each launch in place: with the caches
 * as earlier launches leave them, and with its epilogue. A kernel changes to another form if that was faster by more
 * than the noise, and if it is so again in the program with all changes.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
	SECONDS = 60,            /* default duration of --tune in seconds; a few rounds always run */
	ROUNDS = 7, LEAST_ROUNDS = 3,
	RUN_MS = 100, LEAST_CALLS = 3, MOST_CALLS = 200,
	/* percent of the default time; a form must need less, because a smaller gain counts as noise */
	LEAST_PERCENT = 97,
	SMALL_SHARE = 400,       /* a kernel is not changed if its share of a call is below 1/SMALL_SHARE */
};

typedef struct Variant {         /* A program with one set of kernel forms. */
	Tuning *tuning;
	const char *program;
	double *ms[ROUNDS];      /* times of each choice in calls on all inputs, by round */
	double call[ROUNDS];     /* time of the whole calls, by round */
} Variant;

typedef struct Input { char *argv[24]; int n; } Input;

typedef struct Tune {
	Cli *cli;
	Model *model;
	EmitMethod *methods;
	int nmethod;
	BuildOptions *options;
	const char *dir;
	int64_t begin, ns;       /* start and length of the measurement in ns */
	int calls;               /* number of calls of a run */
	int64_t run;             /* length of the first run in ns */
	Vec(Input) input;
	Vec(Variant) variant;    /* programs; the first one has the default forms */
} Tune;

static void
add_variant(Tune *t, Tuning *tuning)
{
	Cx *cx = t->cli->cx;
	BuildOptions o = *t->options;
	ProgramText text = { 0 };
	Variant variant = { tuning, arena_printf(cx->arena, "%s/program%d", t->dir, t->variant.n), { NULL }, { 0 } };

	progress("tuning: program %d", t->variant.n);
	o.out = variant.program;
	o.emit = "exe";
	o.name = o.weights_file = o.gpu = NULL;
	o.bench_code = true;
	o.verbose = false;
	o.tuning = tuning;
	emit_program(cx, t->model->module, t->methods, t->nmethod, &o, &text);
	build_program(cx, &text, &o);
	spill_free(&text.weights->bytes);
	RT_ASSERT(!t->variant.n || t->variant.at[0].tuning->at.n == tuning->at.n);
	vec_push(cx->arena, &t->variant, variant);
}

/* Runs the program on an input and adds its times. Frees the trace's text, which is large. */
static void
measure_input(Tune *t, Variant *v, int round, Input *in)
{
	Cx *cx = t->cli->cx;
	Arena scratch = { 0 }, *const kept = cx->arena;
	CallTimes c;

	cx->arena = &scratch;
	c = program_launches(t->cli, v->program, in->argv, in->n, t->dir, t->calls);
	cx->arena = kept;
	v->call[round] += c.rest;
	for (int k = 0; k < c.n; k++) {
		const int choice = c.at[k].launch < 0 ? -1 : v->tuning->launched.at[c.at[k].launch];

		v->call[round] += c.at[k].least;
		if (choice >= 0)
			v->ms[round][choice] += c.at[k].least;
	}
	arena_free(&scratch);
}

static void
measure(Tune *t, Variant *v, int round)
{
	v->ms[round] = new(t->cli->cx->arena, double, v->tuning->at.n + 1);
	v->call[round] = 0;
	for (int i = 0; i < t->input.n; i++)
		measure_input(t, v, round, &t->input.at[i]);
}

/* Returns the number of programs to build: the largest number of forms of any kernel whose share of a call counts. */
static int
variants_of(const Variant *usual)
{
	int n = 0;

	for (int i = 0; i < usual->tuning->at.n; i++)
		if (usual->ms[0][i] * SMALL_SHARE > usual->call[0] && usual->tuning->at.at[i].ways.n > n)
			n = usual->tuning->at.at[i].ways.n;
	return n;
}

/* Builds programs with other forms for two fifths of the time. Builds at most as many as two fifths of the time can
 * run. */
static void
add_variants(Tune *t)
{
	const int n = variants_of(&t->variant.at[0]);
	const int64_t end = t->begin + 2 * t->ns / 5;
	int64_t took = 0;

	for (int i = 1; i < n && rt_now() + took < end && LEAST_ROUNDS * (i + 1) * t->run < 2 * t->ns / 5; i++) {
		const int64_t begin = rt_now();
		Tuning *other = tuning_new(t->cli->cx);

		other->turn = i;
		add_variant(t, other);
		took = rt_now() - begin;
	}
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
least_of(const double *ms, int rounds)
{
	double least = ms[0];

	for (int r = 1; r < rounds; r++)
		least = ms[r] < least ? ms[r] : least;
	return least;
}

/* Returns the time of `other` relative to `usual`: the larger of the ratio of their least times and the median of the
 * rounds' ratios. */
static double
ratio_of(const double *other, const double *usual, int rounds)
{
	const double least = least_of(other, rounds), of = least_of(usual, rounds);
	double ratio[ROUNDS];

	for (int r = 0; r < rounds; r++)
		ratio[r] = usual[r] > 0 ? other[r] / usual[r] : 1;
	qsort(ratio, (size_t)rounds, sizeof *ratio, by_value);
	return least > ratio[rounds / 2] * of ? least / of : ratio[rounds / 2];
}

/* Returns the same ratio for one choice. */
static double
choice_ratio(const Variant *other, const Variant *usual, int choice, int rounds)
{
	double ms[2][ROUNDS] = { { 0 } };

	for (int r = 0; r < rounds; r++) {
		ms[0][r] = other->ms[r][choice];
		ms[1][r] = usual->ms[r][choice];
	}
	return ratio_of(ms[0], ms[1], rounds);
}

/* Runs the programs in turn until `end`. Returns the number of rounds. */
static int
run_variants(Tune *t, int64_t end)
{
	int round = 0;
	int64_t took = 0;

	for (; round < ROUNDS && (round < LEAST_ROUNDS || rt_now() + took < end); round++) {
		const int64_t begin = rt_now();

		progress("tuning: round %d of %d", round + 1, t->variant.n);
		for (int i = 0; i < t->variant.n; i++)
			measure(t, &t->variant.at[(i + round) % t->variant.n], round);
		took = rt_now() - begin;
	}
	return round;
}

/* Stores in `best` the forms that are faster than the defaults. */
static void
take_fastest(const Tune *t, int rounds, Tuning *best)
{
	const Variant *usual = &t->variant.at[0];

	for (int c = 0; c < usual->tuning->at.n; c++) {
		const Tuned *from = &usual->tuning->at.at[c];
		double least = LEAST_PERCENT / 100.0;

		if (usual->ms[0][c] * SMALL_SHARE <= usual->call[0])
			continue;
		for (int i = 1; i < t->variant.n && i < from->ways.n; i++) {
			const double ratio = choice_ratio(&t->variant.at[i], usual, c, rounds);

			if (ratio >= least)
				continue;
			least = ratio;
			tuning_note(t->cli->cx, best, from->kernel, from->ways.at[i], ratio);
		}
	}
}

/* Returns the changes that are also faster in the program with all changes. */
static Tuning *
confirm(const Tune *t, int rounds)
{
	const Variant *usual = &t->variant.at[0], *best = &t->variant.at[1];
	Tuning *kept = tuning_new(t->cli->cx);

	for (int c = 0; c < best->tuning->at.n; c++) {
		const Tuned *k = &best->tuning->at.at[c];
		const double ratio = choice_ratio(best, usual, c, rounds);

		if (k->taken && ratio < LEAST_PERCENT / 100.0)
			tuning_note(t->cli->cx, kept, k->kernel, k->ways.at[k->taken], ratio);
	}
	fprintf(stderr, "kiln: tuned %d of %d kernels: a call takes %.3f of the time\n", kept->recorded.n,
		best->tuning->at.n, least_of(best->call, rounds) / least_of(usual->call, rounds));
	return kept;
}

static void
tune_in(Cx *cx, const char *dir, void *arg)
{
	Tune *t = arg;
	Tuning *best = tuning_new(cx);
	int rounds;

	t->dir = dir;
	for (int i = 0; i == 0 || i < input_count(t->cli); i++) {
		Input in = { { NULL }, 0 };

		in.n = program_arguments(t->cli, t->model, i, dir, in.argv);
		vec_push(cx->arena, &t->input, in);
	}
	t->calls = LEAST_CALLS;
	add_variant(t, tuning_new(cx));
	t->run = rt_now();
	measure(t, &t->variant.at[0], 0);
	t->run = rt_now() - t->run;
	t->calls = (int)(RUN_MS / (t->variant.at[0].call[0] + 1e-3));
	t->calls = t->calls < LEAST_CALLS ? LEAST_CALLS : t->calls > MOST_CALLS ? MOST_CALLS : t->calls;
	add_variants(t);
	rounds = run_variants(t, t->begin + 4 * t->ns / 5);
	take_fastest(t, rounds, best);
	t->variant.n = 1;
	add_variant(t, best);
	rounds = run_variants(t, t->begin + t->ns);
	progress(NULL);
	t->options->tuning = confirm(t, rounds);
}

void
tune(Cli *cli, Model *m, const EmitMethod *methods, int n, BuildOptions *o)
{
	Tune t = { .cli = cli, .model = m, .nmethod = n, .options = o, .methods = new(cli->cx->arena, EmitMethod, n) };
	Vec(const Specialization *) exact = { 0 };
	const int64_t seconds = *cli->tune ? cli_number(cli, "tune", cli->tune, 1, 86400) : SECONDS;

	memcpy(t.methods, methods, (size_t)n * sizeof *methods);
	for (int i = 0; i < methods[0].nspec; i++)
		if (!methods[0].spec[i]->dynamic)
			vec_push(cli->cx->arena, &exact, methods[0].spec[i]);
	if (!exact.n)
		usage_error(cli, "--tune wants an input: -i");
	t.methods[0].spec = exact.at;
	t.methods[0].nspec = exact.n;
	t.begin = rt_now();
	t.ns = seconds * 1000000000;
	process_folder(cli->cx, tune_in, &t);
}

void
tuning_write(Cli *cli, const BuildOptions *o)
{
	Buf b = { 0 };

	buf_puts(&b, "{\"processor\": ");
	out_json(&b, processor_name(cli->cx->arena, o, NULL));
	buf_printf(&b, ", \"threads\": %d, \"kernels\": ", o->threads ? o->threads : 1);
	tuning_put(o->tuning, &b);
	buf_puts(&b, "}\n");
	write_whole(cli->cx, cli->tuning, b.at, b.n);
	buf_free(&b);
}
