/* tests/op/rows.c - calls every operator that has a kernel on tensors without data
 *
 *    rows [ROW [TRIALS]]
 *
 * To find the sizes of dynamic specializations, programs run kernels on tensors of which some have no data.  An
 * operator is called on random arguments of its schema's types, first with data.  Then all tensors, each one, and all
 * but each one have no data, with cx->meta and without.  The call must return the same dtypes, sizes and strides, or
 * end with an error.  If the call with data gave an answer, the error must be that the answer depends on data. */
#include "bare.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ARGS = 40, MOST_RANK = 5, TRIALS = 48 };

typedef struct Rows {
	Cx      *cx;
	RtCx     rt;
	Op      *op;
	const Schema *schema;
	uint64_t random;
	int64_t  dims[MOST_RANK];        /* sizes that the trial's tensors have */
	int      rank;
	RtDtype  dtype;
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

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Returns a random number below n. */
static int
below(Rows *r, int n)
{
	r->random = r->random * 6364136223846793005u + 1442695040888963407u;
	return (int)((r->random >> 33) % (uint64_t)n);
}

static void
fill(Rows *r, RtTensor *t)
{
	for (int64_t i = 0, n = rt_numel(t); i < n; i++) {
		const double x = rt_dtypes[t->dtype].category == 'F' ? (below(r, 16) + 1) / 8. : below(r, 2);
		char *at = rt_data(t) + i * rt_dtypes[t->dtype].bytes;

		rt_cast((RtDtype)t->dtype, at, RT_f64, &x, 1);
	}
}

static IValue
any_tensor(Rows *r)
{
	static const RtDtype other[] = { RT_f32, RT_f64, RT_i64, RT_b8, RT_u8, RT_i32, RT_c64, RT_f16, RT_bf16 };
	int64_t dims[MOST_RANK] = { 0 };
	int rank = below(r, 3) ? r->rank : below(r, r->rank + 1);
	const RtDtype dtype = below(r, 3) ? r->dtype : below(r, 2) ? RT_i64 : other[below(r, 9)];
	RtTensor *t, *view;

	for (int i = 0; i < rank; i++)
		dims[i] = below(r, 8) ? r->dims[r->rank - rank + i] : 1;
	t = rt_tensor_new(&r->rt, dtype, rank, dims);
	fill(r, t);
	if (rank > 1 && !below(r, 6)) {                      /* exchanges the last two dims */
		int64_t strides[MOST_RANK], swap = dims[rank - 1];

		memcpy(strides, t->strides, sizeof *strides * (size_t)rank);
		dims[rank - 1] = dims[rank - 2];
		dims[rank - 2] = swap;
		swap = strides[rank - 1];
		strides[rank - 1] = strides[rank - 2];
		strides[rank - 2] = swap;
		view = rt_tensor_view(&r->rt, t, rank, dims, strides, 0);
		rt_tensor_release(t);
		t = view;
	}
	return rt_of(t);
}

static IValue
any_text(Rows *r)
{
	static const char *const texts[] = { "none", "mean", "sum", "constant", "reflect", "replicate", "linear", "ij",
					     "xy", "trunc", "floor", "right", "left", "fro", "nuc", "L", "U", "reduced",
					     "complete", "tanh", "nearest", "bilinear", "backward", "amax", "prod" };

	return rt_ref(RT_STR, rt_str_new(&r->rt, texts[below(r, sizeof texts / sizeof *texts)], -1));
}

static IValue
any_int(Rows *r, const Arg *a)
{
	static const int codes[] = { 6, 7, 4, 11, 5, 15, 0, 3 };

	if ((a->word && !strcmp(a->word, "ScalarType")) || !strcmp(a->name, "dtype"))
		return rt_int(codes[below(r, 8)]);
	if (!strncmp(a->name, "dim", 3))
		return rt_int(below(r, r->rank + 1) - below(r, 2));
	return rt_int(below(r, 8) ? below(r, 4) : -1);
}

/* Makes a random value of the type.  Returns false if there is none. */
static bool
any_value(Rows *r, const Arg *a, const Type *type, IValue *out)
{
	RtList *list;
	int n;

	switch (type->kind) {
	case TYPE_TENSOR: *out = any_tensor(r); return true;
	case TYPE_INT:    *out = any_int(r, a); return true;
	case TYPE_NUMBER: *out = below(r, 2) ? rt_int(below(r, 4)) : rt_double(below(r, 4) / 2.); return true;
	case TYPE_FLOAT:  *out = rt_double(below(r, 5) / 2.); return true;
	case TYPE_BOOL:   *out = rt_bool(below(r, 2)); return true;
	case TYPE_STR:    *out = any_text(r); return true;
	case TYPE_COMPLEX: *out = rt_complex(&r->rt, below(r, 3), below(r, 3)); return true;
	case TYPE_DEVICE: *out = (IValue){ .tag = RT_DEVICE }; return true;
	case TYPE_NONE: case TYPE_GENERATOR: *out = rt_none(); return true;
	case TYPE_ANY: case TYPE_VAR:
		*out = below(r, 3) ? any_tensor(r) : rt_int(below(r, 3));
		return true;
	case TYPE_OPTIONAL:
		*out = rt_none();
		return below(r, 2) || any_value(r, a, type->of[0], out);
	case TYPE_LIST:
		n = a->size_hint && below(r, 4) ? a->size_hint : below(r, 3) ? r->rank : below(r, 4);
		list = rt_list_new(&r->rt, type->of[0]->kind == TYPE_VAR ? &rt_type_tensor : type->of[0], n);
		for (int i = 0; i < n; i++) {
			IValue v;

			if (type->of[0]->kind == TYPE_VAR)
				v = any_tensor(r);
			else if (!any_value(r, a, type->of[0], &v))
				return false;
			rt_list_push(&r->rt, list, v);
		}
		*out = rt_ref(RT_LIST, list);
		return true;
	default:
		return false;
	}
}

static bool
arguments(Rows *r, IValue *args)
{
	static const RtDtype dtypes[] = { RT_f32, RT_f32, RT_f32, RT_f64, RT_i64, RT_b8, RT_c64 };

	r->rank = below(r, MOST_RANK + 1);
	r->dtype = dtypes[below(r, 7)];
	for (int i = 0; i < r->rank; i++)
		r->dims[i] = below(r, 10) ? below(r, 2) + 2 : below(r, 2);
	if (below(r, 2)) /* all sizes are equal, as in square matrices */
		for (int i = 1; i < r->rank; i++)
			r->dims[i] = r->dims[0];
	for (int i = 0; i < r->schema->nargs; i++) {
		const Arg *a = &r->schema->args[i];

		if (a->has_default && below(r, 3))
			args[i] = rt_retain(a->deflt);
		else if (!any_value(r, a, a->type, &args[i]))
			return false;
	}
	return true;
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

	if (arguments(r, args)) {
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

static bool
is_of_tensors(const Schema *s)
{
	for (int i = 0; i < s->nargs; i++) {
		const Type *t = s->args[i].type;

		while (t->kind == TYPE_OPTIONAL || t->kind == TYPE_LIST)
			t = t->of[0];
		if (t->kind == TYPE_TENSOR || t->kind == TYPE_VAR || t->kind == TYPE_ANY)
			return true;
	}
	return false;
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
		if (r->schema->vararg || r->schema->nargs >= MOST_ARGS || !is_of_tensors(r->schema))
			continue;
		running = r->op->id;
		r->called = 0;
		r->random = (uint64_t)i;
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
	if (rt_cx_init(&r.rt) || !cx_try(&cx, run_rows, all)) {
		fprintf(stderr, "%s\n", cx.err.text);
		return 1;
	}
	printf("%d answers; without data: %d types, %d depend on data, %d errors; %d rows without an answer; "
	       "%d failed\n", r.answers, r.types, r.unknown, r.errors, r.never, r.failed);
	return r.failed || !r.answers;
}
