/* codegen/rounding.c - may a program round as it likes?
 *
 * Kernels sum in orders that suit the machine, fold norms into weights and transform filters (Winograd): each answer is as
 * right as PyTorch's, and differs from it in the last digits.  Some networks magnify that: deep ones without training, and
 * those that choose by their numbers (detectors).  Whether a model does is measured: the interpreter answers the first
 * input again with its sums in other runs.  What then differs by more than a test of it would allow is compiled with
 * PyTorch's order of sums and without what rounds otherwise.  (Measured, in parts of that: ResNet-18 0.04, ViT-B/16 0.0002,
 * ResNet-50 0.8, ResNet-101 0.4 to 2.1, FCN-50 2.6, Inception 0.4 to 4.2, all with random weights.)
 *
 * That happens in a child: what the model does there, and the memory that it takes, are nobody else's.
 */
#include "codegen.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define MEASURE_NS INT64_C(120000000000)                         /* of each run; who takes longer is taken to move */

enum { STEADY = 40, MOVES, UNKNOWN };                            /* the child's status: any other is no answer */

static const int run[] = { 0, 64, 48, 32 };                      /* products of one sum; 0: as PyTorch has it */
enum { NRUN = sizeof run / sizeof *run, SIGMAS = 3, NEAR = 60 };

typedef struct Measure { Cli *cli; const char *path; int found; } Measure;

static void
say_nothing(RtCx *cx, const char *text, int64_t n)
{
	(void)cx, (void)text, (void)n;
}

/* The answer to the first input; false: none. */
static bool
answer(Cli *cli, Model *m, int other_run, RtCx *rt, RtArrays *out)
{
	const int64_t most = rt_now() + MEASURE_NS;
	RtArrays in = { 0 };
	IValue result;

	rt->print = say_nothing;
	rt->deadline = rt->deadline && rt->deadline < most ? rt->deadline : most;
	rt->other_run = other_run;
	return !input_read(cli, rt, 0, &in) && !model_answer(cli, m, m->fn->code, rt, &in, &result) &&
	       !rt_arrays_from_value(rt, out, "out", result);
}

/* Is some element of the answer out of tolerance, or might one be?  Elements near zero are the first, and chance puts them
 * there: where the absolute tolerance is less than three times what all are off by in the mean, one that might be near it on
 * another input is enough, if `likely`: of convolutions the order costs little, of products it costs their kernels.  (That
 * ratio, with random weights: BERT 0.07, ResNet-18 0.06, all smaller networks less; GPT-2 1.8, FCN-50 2.0, ResNet-50 2.2,
 * whose second input was out once, ResNet-101 3,000.) */
static bool
tensor_moves(RtCx *rt, bool likely, RtTensor *a, RtTensor *b)
{
	const int64_t bytes = rt_dtypes[a->dtype].bytes, n = rt_numel(a);
	double squares = 0, least = INFINITY, off, relative, absolute;
	RtTensor *x, *y;

	if (a->dtype != b->dtype || a->ndim != b->ndim || memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims))
		return true;
	if (!n || rt_dtypes[a->dtype].category == 'C' || rt_dtypes[a->dtype].category == 'Q' || bytes < 4)
		return false;
	if (!(x = rt_contiguous(rt, a)) || !(y = rt_contiguous(rt, b)))
		return false;
	rt_tolerance((RtDtype)a->dtype, &relative, &absolute);
	for (int64_t i = 0; i < n; i++) {
		const double v = rt_load_f64((RtDtype)a->dtype, rt_data(x) + i * bytes), w = rt_load_f64((RtDtype)a->dtype, rt_data(y) + i * bytes);

		if (v != w && !(isnan(v) && isnan(w)) && !(fabs(v - w) <= absolute + relative * fabs(w)))
			return true;
		squares += v == w || isnan(v) ? 0 : (v - w) * (v - w);
		least = fabs(w) < least ? fabs(w) : least;
	}
	off = sqrt(squares / (double)n);
	return likely && SIGMAS * off > absolute && least < NEAR * off / relative;
}

static bool
answers_move(RtCx *rt, bool likely, const RtArrays *a, const RtArrays *b)
{
	if (a->n != b->n)
		return true;
	for (int i = 0; i < a->n; i++)
		if (strcmp(a->at[i].key, b->at[i].key) || !a->at[i].tensor != !b->at[i].tensor ||
		    (a->at[i].tensor && tensor_moves(rt, likely, a->at[i].tensor, b->at[i].tensor)))
			return true;
	return false;
}

static bool
has_convolutions(const Graph *g)
{
	for NODES(n, g->top)
		if (node_is(n, "aten::conv2d") || node_is(n, "aten::_convolution") || node_is(n, "aten::convolution"))
			return true;
	return false;
}

static void
measure(Cx *cx, void *arg)
{
	Measure *o = arg;
	RtArrays out[NRUN];
	Written *written;
	RtCx *rt = NULL;
	Model *m;

	config_exact(cx);
	m = model_load(o->cli, o->path);
	model_lower(o->cli, m);
	written = written_constants(cx, m->fn, m->fn->prepared);
	memset(out, 0, sizeof out);
	for (int i = 0; i < NRUN && o->found != MOVES; i++) {
		rt = model_context(o->cli);
		if (!answer(o->cli, m, run[i], rt, &out[i])) {
			o->found = rt_now() > rt->deadline ? MOVES : UNKNOWN;
			return;
		}
		written_restore(written);
		o->found = i && answers_move(rt, has_convolutions(m->fn->prepared), &out[0], &out[i]) ? MOVES : STEADY;
	}
}

/* In the child: its messages are nobody's. */
static void
measure_and_exit(void *arg)
{
	Measure *o = arg;

	_exit(cx_try(o->cli->cx, measure, o) ? o->found : UNKNOWN);
}

/* --processor */
static void
choose_processor(Cli *cli)
{
	const struct { const char *name; RtHost host; } known[] = { { "intel", { RT_INTEL, 2048 } }, { "amd", RT_HOST_AMD } };
	const char *name = cli->processor, *kb = name ? strchr(name, ':') : NULL;
	RtHost *host = &cx_rt(cli->cx)->host;

	for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
		if (!strncmp(name, known[i].name, kb ? (size_t)(kb - name) : strlen(name) + 1) && (!kb || (size_t)(kb - name) == strlen(known[i].name)))
			*host = known[i].host;
	if (name && host->maker == RT_HERE)
		usage_error(cli, "--processor wants intel or amd, not '%s'", name);
	if (kb)
		host->cache = (int32_t)cli_number(cli, "processor", kb + 1, 1, 1 << 20);
}

void
rounding_choose(Cli *cli, const char *path)
{
	const char *how = cli->rounding ? cli->rounding : "auto";
	const int64_t start = rt_now();
	Measure o = { cli, path, UNKNOWN };
	int found;

	choose_processor(cli);
	if (strcmp(how, "auto") && strcmp(how, "pytorch") && strcmp(how, "free"))
		usage_error(cli, "--rounding wants pytorch, free or auto, not '%s'", how);
	if (!strcmp(how, "pytorch"))
		config_exact(cli->cx);
	/* A profile was taken of one choice already; gradients and kernels for GPUs have no other. */
	if (strcmp(how, "auto") || !input_count(cli) || cli->profiles.n || cli->grad || cli->gpu || cli->passes)
		return;
	progress("measuring what rounding does");
	found = process_fork(cli->cx, measure_and_exit, &o, "/dev/null");
	if (found != STEADY && found != MOVES && found != UNKNOWN)
		fail(cli->cx, (Range){ 0 }, "what rounding does cannot be measured: %s (--rounding pytorch or free: it is not)",
		     found == EXIT_INPUT ? "out of memory" : arena_printf(cli->cx->arena, "status %d", found));
	if (found == MOVES) {
		config_exact(cli->cx);
		if (cli->verbose)
			fprintf(stderr, "kiln: the answer depends on rounding, or is not known in time: sums are PyTorch's (--rounding free: they are not)\n");
	}
	progress(NULL);
	say_time(cli, "measuring what rounding does", start);
}
