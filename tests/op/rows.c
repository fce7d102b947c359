/* tests/op/rows.c - calls every operator that has a kernel on tensors without data
 *
 *    rows [ROW [TRIALS]]
 *
 * To find the sizes of dynamic specializations, programs run kernels on tensors of which some have no data.  An
 * operator is called on random arguments of its schema's types, first with data.  Then all tensors, each one, and all
 * but each one have no data, with cx->meta and without.  The call must return the same dtypes, sizes and strides, or
 * end with an error.  If the call with data gave an answer, the error must be that the answer depends on data. */
#include "bare.h"
#include "draw.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ARGS = 40, TRIALS = 48 };

typedef struct Rows {
	Cx      *cx;
	RtCx     rt;
	Op      *op;
	const Schema *schema;
	Draw     draw;
	int      answers, types, unknown, errors, failed, called, never;
} Rows;

/* Name of the operator that runs, for the signal handler. */
static const char *running;

static void
say_crash(int signal)
{
	char text[200];
	const int n = snprintf(text, sizeof text, "FAIL %s: signal %d\n", running, signal);

	_exit(write(STDOUT_FILENO, text, (size_t)n) == n ? 1 : 2);
}

static void
failed(Rows *r, const char *how, uint64_t bare, bool meta)
{
	r->failed++;
	printf("FAIL %s: without data of the tensors %llx%s: %s\n", r->op->id, (unsigned long long)bare,
	       meta ? ", for types" : "", how);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Calls the operator's kernel through the interpreter, as the only instruction of a code. */
static int
call(Rows *r, const IValue *args, IValue *out)
{
	enum { IN = MOST_ARGS, OUT = 8 };
	const int nin = r->schema->nargs, nout = r->schema->nrets;
	uint32_t operand[IN + 2 * OUT], use[] = { op_use(r->cx, r->op) };
	RtKernel *const kernel[] = { r->op->kernel };
	const char *const name[] = { r->op->name };
	const RtInsn insn[] = {
		{ .op = RT_DO_KERNEL, .nin = (uint16_t)nin, .nout = (uint16_t)nout },
		{ .op = RT_DO_RETURN, .nin = (uint16_t)nout, .in = (uint32_t)(nin + nout) },
	};
	const RtCode code = { .name = r->op->name, .insn = insn, .operand = operand, .kernel = kernel,
			      .kernel_name = name, .kernel_use = use, .ninsn = 2, .nreg = nin + nout, .narg = nin,
			      .nresult = nout, .nkernel = 1 };

	for (int i = 0; i < nin; i++)
		operand[i] = (uint32_t)i;
	for (int i = 0; i < 2 * nout; i++)
		operand[nin + i] = (uint32_t)(nin + i % (nout ? nout : 1));
	for (int i = 0; i < nout; i++)
		out[i] = rt_none();
	rt_generator_seed(r->rt.gen, 0);
	return rt_run(&r->rt, &code, args, out);
}

/* real: results of the call with data.  Null if it raised. */
static void
call_bare(Rows *r, const IValue *args, const IValue *real, uint64_t bare, bool meta)
{
	IValue some[MOST_ARGS], out[8];
	int status, at = 0, n = r->schema->nargs;

	for (int i = 0; i < n; i++)
		some[i] = bare_some(&r->rt, args[i], bare, &at);
	r->rt.meta = meta;
	r->rt.partial = true;
	status = call(r, some, out);
	r->rt.meta = r->rt.partial = false;
	for (int i = 0; i < r->schema->nrets && real && !status; i++)
		if (!bare_same(out[i], real[i])) {
			failed(r, "another type", bare, meta);
			break;
		}
	if (real && status && status != RT_UNKNOWN_META)
		failed(r, r->rt.message ? r->rt.message : "no message", bare, meta);
	*(status ? status == RT_UNKNOWN_META ? &r->unknown : &r->errors : &r->types) += 1;
	rt_clear_error(&r->rt);
	rt_values_drop(out, r->schema->nrets);
	rt_values_drop(some, n);
}

static void
try_row(Rows *r)
{
	IValue args[MOST_ARGS] = { { 0 } }, fresh[MOST_ARGS], out[8];
	int count = 0, at = 0, n = r->schema->nargs, status = 0;
	uint64_t bare;

	if (draw_arguments(&r->draw, r->schema, args)) {
		for (int i = 0; i < n; i++)
			fresh[i] = bare_some(&r->rt, args[i], 0, &at);
		status = call(r, fresh, out);
		rt_clear_error(&r->rt);
		r->answers += !status;
		r->called += !status;
		for (int i = 0; i < n; i++)
			count += bare_count(args[i]);
		for (int i = 0; count && (bare = bare_trial(i, count)); i++)
			for (int meta = 0; meta < 2; meta++)
				call_bare(r, args, status ? NULL : out, bare, meta);
		rt_values_drop(out, r->schema->nrets);
		rt_values_drop(fresh, n);
	}
	rt_values_drop(args, n);
}

static void
run_rows(Cx *cx, void *arg)
{
	Rows *r = ((void **)arg)[0];
	char **argv = ((void **)arg)[1];
	const int trials = argv[1] && argv[2] ? atoi(argv[2]) : TRIALS;

	for (int i = 0; i < op_count(cx); i++) {
		r->op = op_at(cx, i);
		if (!r->op->kernel || r->op->effect == EFFECT_IO || (argv[1] && strcmp(argv[1], r->op->id)))
			continue;
		r->schema = op_schema(cx, r->op);
		if (r->schema->vararg || r->schema->nargs >= MOST_ARGS || !draw_has_tensors(r->schema))
			continue;
		running = r->op->id;
		r->called = 0;
		r->draw.random = (uint64_t)i;
		for (int k = 0; k < trials; k++)
			try_row(r);
		r->never += !r->called;
		if (!r->called && argv[1])
			printf("%s: no call with data gave an answer\n", r->op->id);
	}
}

int
main(int argc, char **argv)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Rows r = { .cx = &cx };
	void *all[] = { &r, argv };

	(void)argc;
	schema_parser = schema_parse;
	signal(SIGSEGV, say_crash);
	signal(SIGFPE, say_crash);
	signal(SIGABRT, say_crash);
	signal(SIGBUS, say_crash);
	r.draw.rt = &r.rt;
	if (rt_cx_init(&r.rt) || !cx_try(&cx, run_rows, all)) {
		fprintf(stderr, "%s\n", cx.err.text);
		return 1;
	}
	printf("%d answers; without data: %d types, %d depend on data, %d errors; %d rows without an answer; "
	       "%d failed\n", r.answers, r.types, r.unknown, r.errors, r.never, r.failed);
	return r.failed || !r.answers;
}
