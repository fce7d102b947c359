/* tests/op/matrix.c - the operator matrix: compares every recorded call of an operator with PyTorch's answer
 *
 *    matrix tests/op [WORD]        all calls, or those whose line in calls.txt contains WORD
 *
 * calls.pt has a method for each line of calls.txt, calls.npz the values (record.py makes them). The interpreter runs
 * each call in four ways. On the recorded arguments it must give the recorded answer, or raise where PyTorch raised. On
 * arguments of which all, one, or all but one have no data it must give the result's dtype, sizes and strides, or
 * report that they depend on data. With other layouts of the arguments it must give the answer of contiguous ones.
 *
 * With tests/faults/alloc.so preloaded it tests something else: each allocation of a call fails in turn, for every 16th
 * call, or for those with WORD (":" is in all). */
#include "bare.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGS = 64 };

typedef struct Matrix {
	Cx      *cx;
	Module  *module;
	RtCx     rt;
	RtArrays pool;
	const RtCode *code;
	const char *line;        /* line of the call in calls.txt */
	int      index;          /* number of this line */
	int      passed, failed, types, unknown, layouts;
	void   (*fault_next)(long n, long *counted, long *blocks); /* function of alloc.so; null if it is not loaded */
	struct { int allocation, tried, failed; } *faults;       /* counts that the processes share */
} Matrix;

static void
failed(Matrix *m, const char *how, const char *why)
{
	m->failed++;
	printf("FAIL %.*s\n     %s: %s\n", (int)strcspn(m->line, "\n"), m->line, how, why);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Reads an array: KEY DTYPE SIZES OFFSET. Returns the text after it. */
static const char *
read_array(Matrix *m, const char *s, RtArrays *to)
{
	char key[80], dtype[20], sizes[80];
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	long long at;
	int n = 0, used = 0;
	RtArray *pool;
	RtTensor *part, *own;

	if (sscanf(s, "%79s %19s %79s %lld%n", key, dtype, sizes, &at, &used) != 4)
		fail(m->cx, (Range){0}, "line %d of the table cannot be read: %.60s", m->index + 1, s);
	for (char *p = sizes; *p && *p != '-'; p += *p == 'x')
		dims[n++] = strtoll(p, &p, 10);
	rt_contiguous_strides(n, dims, strides);
	pool = rt_arrays_find(&m->pool, dtype);
	part = pool ? rt_tensor_view(&m->rt, pool->tensor, n, dims, strides, at) : NULL;
	own = part ? rt_tensor_strided(&m->rt, (RtDtype)part->dtype, n, dims, NULL) : NULL;
	if (!own || rt_copy_into(&m->rt, own, part) || rt_arrays_add(&m->rt, to, key, rt_of(own)))
		fail(m->cx, (Range){0}, "line %d of the table: no %s at %lld", m->index + 1, dtype, at);
	rt_tensor_release(part);
	rt_tensor_release(own);
	s += used;
	return *s == ',' ? s + 2 : s;
}

static void
read_arrays(Matrix *m, const char *s, RtArrays *to)
{
	const char *end = s + strcspn(s, "\t\n");

	while (s < end)
		s = read_array(m, s, to);
}

/* Returns the n-th part of a line, between tabs. */
static const char *
part_of(const char *line, int n)
{
	while (n--)
		line = strchr(line, '\t') + 1;
	return line;
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static RtTensor *
copy_in(Matrix *m, RtTensor *to, RtTensor *from)
{
	return to && !rt_copy_into(&m->rt, to, from) ? to : NULL;
}

/* Returns a new reference to the elements of t in another layout. Returns t itself if it has no such layout. */
static RtTensor *
laid_out(Matrix *m, RtTensor *t, char how)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	RtTensor *base, *r;
	const int n = t->ndim;

	if (!how || !n || !rt_numel(t) || (how == 't' && n < 2) || (how == 'c' && n != 4) ||
	    (how == 'e' && t->dims[0] < 2))
		return rt_tensor_retain(t);
	memcpy(dims, t->dims, sizeof *dims * n);
	if (how == 'e') {
		memcpy(strides, t->strides, sizeof *strides * n);
		strides[0] = 0;
		return rt_tensor_view(&m->rt, t, n, dims, strides, t->offset);
	}
	if (how == 's') {
		for (int i = 0; i < n; i++)
			dims[i] *= 2;
		base = rt_tensor_strided(&m->rt, (RtDtype)t->dtype, n, dims, NULL);
		for (int i = 0; i < n; i++)
			strides[i] = base->strides[i] * 2;
		r = rt_tensor_view(&m->rt, base, n, t->dims, strides, 0);
		rt_tensor_release(base);
		return copy_in(m, r, t);
	}
	for (int i = 0, step = 1; i < n; i++) { /* order of the dims, the fastest first: 0, 1, ... or 1, 3, 2, 0 */
		const int d = how == 't' ? i : "\1\3\2\0"[i];
		strides[d] = step;
		step *= (int)dims[d];
	}
	return copy_in(m, rt_tensor_strided(&m->rt, (RtDtype)t->dtype, n, dims, strides), t);
}

static IValue
laid_out_value(Matrix *m, IValue v, char how, bool contiguous)
{
	if (v.tag == RT_TENSOR) {
		RtTensor *t = laid_out(m, v.u.t, how), *flat;
		if (!contiguous)
			return rt_of(t);
		flat = copy_in(m, rt_tensor_strided(&m->rt, (RtDtype)t->dtype, t->ndim, t->dims, NULL), t);
		rt_tensor_release(t);
		return rt_of(flat);
	}
	if (v.tag == RT_LIST) {
		RtList *list = rt_list_new(&m->rt, v.u.list->elem, v.u.list->n);
		for (int64_t i = 0; i < v.u.list->n; i++)
			rt_list_push(&m->rt, list, laid_out_value(m, v.u.list->v[i], how, contiguous));
		return rt_ref(RT_LIST, list);
	}
	return rt_retain(v);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int
run(Matrix *m, const IValue *args, int n, IValue *result)
{
	IValue all[MAX_ARGS + 1];

	all[0] = m->module->self;
	memcpy(all + 1, args, sizeof *args * n);
	*result = rt_none();
	rt_generator_seed(m->rt.gen, 0);
	return rt_run(&m->rt, m->code, all, result);
}

static void
check_answer(Matrix *m, IValue result, const RtArrays *want)
{
	RtArrays got = {0};
	Buf why = {0};

	if (rt_arrays_from_value(&m->rt, &got, "out", result))
		failed(m, "answer", m->rt.message);
	else if (got.n != want->n)
		failed(m, "answer", "other parts than recorded");
	else {
		int i = 0;
		while (i < want->n && rt_arrays_find(&got, want->at[i].key) && rt_close(&m->rt, want->at[i].key,
				rt_of(rt_arrays_find(&got, want->at[i].key)->tensor), rt_of(want->at[i].tensor), &why))
			i++;
		if (i < want->n)
			failed(m, "answer", why.n ? why.at : "other parts than recorded");
		else
			m->passed++;
	}
	buf_free(&why);
	rt_arrays_free(&got);
}

/* Calls with some tensors lacking data: must return the same type, or report that it depends on data. meta: the caller
 * asks for types only. */
static void
check_type(Matrix *m, const IValue *args, int n, IValue result, uint64_t bare, bool meta)
{
	IValue some[MAX_ARGS], got;
	int status, at = 0;

	for (int i = 0; i < n; i++)
		some[i] = bare_some(&m->rt, args[i], bare, &at);
	m->rt.meta = meta;
	m->rt.partial = true;
	status = run(m, some, n, &got);
	m->rt.meta = m->rt.partial = false;
	if (status == RT_OK) {
		if (bare_same(got, result))
			m->types++;
		else
			failed(m, "type", arena_printf(m->cx->arena, "another without data of the tensors %llx%s",
						       (unsigned long long)bare, meta ? ", for types" : ""));
		rt_release(got);
	} else if (status == RT_UNKNOWN_META)
		m->unknown++;
	else
		failed(m, "type", m->rt.message ? m->rt.message : "no message");
	rt_clear_error(&m->rt);
	rt_values_drop(some, n);
}

static void
check_types(Matrix *m, const IValue *args, int n, IValue result)
{
	uint64_t bare;
	int count = 0;

	for (int i = 0; i < n; i++)
		count += bare_count(args[i]);
	for (int i = 0; (bare = bare_trial(i, count)); i++)
		for (int meta = 0; meta < 2; meta++)
			check_type(m, args, n, result, bare, meta);
}

static void
check_layout(Matrix *m, char how, const IValue *args, int n)
{
	IValue laid[MAX_ARGS], flat[MAX_ARGS], got = rt_none(), want = rt_none();
	const char name[2] = { how, 0 };
	Buf why = {0};

	for (int i = 0; i < n; i++) {
		laid[i] = laid_out_value(m, args[i], how, false);
		flat[i] = laid_out_value(m, args[i], how, true);
	}
	if (run(m, flat, n, &want) || run(m, laid, n, &got))
		failed(m, name, m->rt.message ? m->rt.message : "no message");
	else if (!rt_close(&m->rt, "out", got, want, &why))
		failed(m, name, why.at);
	else
		m->layouts++;
	rt_clear_error(&m->rt);
	buf_free(&why);
	rt_release(got);
	rt_release(want);
	rt_values_drop(laid, n);
	rt_values_drop(flat, n);
}

/* ---- no memory --------------------------------------------------------------------------------------------------- */

/* Lets the nth allocation from here fail. The call must answer or report lack of memory, and free its memory. Returns
 * false if it makes fewer allocations. */
static bool
run_without(Matrix *m, const IValue *args, int n, int nth)
{
	const RtCx own = m->rt;
	long before, after, blocks, left;
	IValue result;

	m->fault_next(0, &before, &blocks);
	if (rt_cx_init(&m->rt))
		fail(m->cx, (Range){0}, "out of memory");
	m->fault_next(nth, &before, &left);
	if (run(m, args, n, &result) && !strstr(m->rt.message ? m->rt.message : "", "memory"))
		failed(m, "without memory", m->rt.message ? m->rt.message : "no message");
	m->fault_next(0, &after, &left);
	rt_release(result);
	rt_cx_free(&m->rt);
	m->rt = own;
	m->fault_next(0, &left, &left);
	if (left > blocks)
		failed(m, "without memory", "blocks are not given back");
	return after - before >= nth;
}

/* Runs in a process of its own, since an operator may crash, and text that cannot be allocated ends the process. */
static void
check_without(Matrix *m, const IValue *args, int n)
{
	IValue fresh[MAX_ARGS];
	int status = 1;

	for (m->faults->allocation = 1; status; m->faults->allocation++) {
		fflush(stdout);
		if (!fork()) {
			bool more = true;

			for (; more; m->faults->allocation++, m->faults->tried++) {
				for (int i = 0; i < n; i++)
					fresh[i] = laid_out_value(m, args[i], 0, true);
				more = run_without(m, fresh, n, m->faults->allocation);
				rt_values_drop(fresh, n);
			}
			m->faults->failed += m->failed;
			fflush(stdout);
			_exit(0);
		}
		wait(&status);
		if (WIFSIGNALED(status) && m->faults->failed++ >= 0)
			printf("FAIL %.*s\n     without memory: signal %d at allocation %d\n",
			       (int)strcspn(m->line, "\n"), m->line, WTERMSIG(status), m->faults->allocation);
	}
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

static int
compile(Matrix *m, RtParam *params)
{
	Function *f = module_method(m->cx, m->module, arena_printf(m->cx->arena, "c%d", m->index));
	int n;

	function_graph(m->cx, f);
	prepare(m->cx, f, m->module->self);
	code_lower(m->cx, f, 0);
	m->code = f->code;
	n = f->schema->nargs - 1;
	for (int i = 0; i < n; i++) {
		const Arg *a = &f->schema->args[i + 1];
		params[i] = (RtParam){ a->name, a->type, a->has_default, a->deflt, 0 };
	}
	return n;
}

static void
check_call(Cx *cx, void *arg)
{
	Matrix *m = arg;
	const char *outs = part_of(m->line, 2), *how = strchr(m->line, ' ') + 1;
	const bool raises = !strncmp(outs, "error", 5);
	RtArrays in = {0}, want = {0};
	RtParam params[MAX_ARGS];
	IValue args[MAX_ARGS], fresh[MAX_ARGS], result;
	int n = compile(m, params);

	(void)cx;
	read_arrays(m, part_of(m->line, 1), &in);
	if (rt_args_from_arrays(&m->rt, params, n, &in, args))
		fail(m->cx, (Range){0}, "line %d of the table: %s", m->index + 1, m->rt.message);
	if (m->fault_next) {
		if (!raises)
			check_without(m, args, n);
		rt_values_drop(args, n);
		rt_arrays_free(&in);
		return;
	}
	for (int i = 0; i < n; i++) /* writes in place must not change the recorded arguments */
		fresh[i] = laid_out_value(m, args[i], 0, true);
	if (run(m, fresh, n, &result)) {
		if (raises && m->rt.status == RT_ERROR)
			m->passed++;
		else
			failed(m, "raises", m->rt.message ? m->rt.message : "no message");
		rt_clear_error(&m->rt);
	} else if (raises)
		failed(m, "runs", "PyTorch raised");
	else {
		read_arrays(m, outs, &want);
		check_answer(m, result, &want);
		check_types(m, args, n, result);
		for (; *how != ' '; how++)
			if (*how != '-')
				check_layout(m, *how, args, n);
		rt_release(result);
	}
	rt_values_drop(fresh, n);
	rt_values_drop(args, n);
	rt_arrays_free(&in);
	rt_arrays_free(&want);
}

static void
load(Cx *cx, void *arg)
{
	Matrix *m = arg;
	const char *dir = m->line;

	if (rt_cx_init(&m->rt) || rt_npz_read(&m->rt, arena_printf(cx->arena, "%s/calls.npz", dir), &m->pool))
		fail(cx, (Range){0}, "%s", m->rt.message ? m->rt.message : "out of memory");
	m->module = archive_load(cx, arena_printf(cx->arena, "%s/calls.pt", dir));
}

int
main(int argc, char **argv)
{
	Arena arena = {0};
	Cx cx = { .arena = &arena };
	Matrix m = { .cx = &cx, .line = argc > 1 ? argv[1] : "tests/op" };
	char *line = NULL, path[4096];
	size_t room = 0;
	FILE *f;

	schema_parser = schema_parse;
	setenv("KILN_NO_RECYCLE", "1", 1);
	*(void **)&m.fault_next = dlsym(RTLD_DEFAULT, "fault_next");
	m.faults = mmap(NULL, sizeof *m.faults, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof path, "%s/calls.txt", m.line);
	f = fopen(path, "r");
	if (!f || !cx_try(&cx, load, &m)) {
		fprintf(stderr, "%s\n", f ? cx.err.text : "no calls.txt");
		return 1;
	}
	for (; getline(&line, &room, f) > 0; m.index++) {
		m.line = line;
		if (argc > 2 ? !strstr(line, argv[2]) : m.fault_next && m.index % 16)
			continue;
		if (!cx_try(&cx, check_call, &m))
			failed(&m, "compile", cx.err.text);
	}
	if (m.fault_next) {
		printf("%d allocations failed; %d failed\n", m.faults->tried, m.faults->failed);
		return m.faults->failed || !m.faults->tried;
	}
	printf("%d answers; %d types without data, %d depend on data; %d layouts; %d failed\n", m.passed, m.types,
	       m.unknown, m.layouts, m.failed);
	return m.failed || !m.passed;
}
