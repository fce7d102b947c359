/* rt/plain.c - main() of a program of plain C functions: reads arrays, calls the function for their sizes
 *
 * There is no generic code: if no function was built for an input, the program ends with EXIT_MISS. The model's state
 * is kept from call to call. */
#include "host.h"
#include "base.h"
#include "plain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Plain {
	RtCx cx;
	const PlainProgram *program;
	const char *name, *method;
	const char **in, **out;  /* names of files */
	int nin, nout;
} Plain;

static const char usage[] =
	"  -i IN.npz        an input; more than one: calls one after the other; -: standard input\n"
	"  -o OUT.npz       where the result goes, one for each input; without it, it is printed; -: standard output\n"
	"  --method NAME    the method to call\n"
	"  --version        which Kiln built this program\n"
	"It takes the sizes that it was built for, and no others (kiln build --no-generic).\n";

/* Prints an error about an option in one line, and suggests the nearest option. */
static int
usage_error(const Plain *p, const char *what, const char *which)
{
	static const char *const options[] = { "-i", "-o", "--method", "--version", "--help" };
	RtNearest best = { 0 };

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		rt_nearest(&best, which, (int)strcspn(which, "="), options[i]);
	fprintf(stderr, "%s: %s%s", p->name, what, which);
	if (best.name && best.distance)
		fprintf(stderr, "; did you mean %s?", best.name);
	fprintf(stderr, " (%s --help lists the options)\n", p->name);
	return EXIT_USAGE;
}

static int
failed(Plain *p, int status)
{
	fprintf(stderr, "%s: error: %s\n", p->name, p->cx.message ? p->cx.message : "out of memory");
	rt_clear_error(&p->cx);
	return status;
}

/* ---- choosing a function ----------------------------------------------------------------------------------------- */

static void
put_type_text(Buf *b, int dtype, int n, const int64_t *dims)
{
	buf_printf(b, "%s (", rt_dtypes[dtype].torch);
	for (int i = 0; i < n; i++)
		buf_printf(b, "%s%lld", i ? ", " : "", (long long)dims[i]);
	buf_puts(b, ")");
}

/* Checks an argument. Returns the exit status. If that is not EXIT_OK, the error is raised in cx. */
static int
check_tensor(RtCx *cx, const PlainTensor *want, const RtArray *a)
{
	const RtTensor *t = a ? a->tensor : NULL;
	Buf b = { 0 };

	if (!t) {
		rt_raise(cx, a ? "argument '%s' is a text, and no tensor" :
			 "argument '%s' is missing: -i IN.npz gives it", want->key);
		return EXIT_INPUT;
	}
	if (t->dtype == want->dtype && t->ndim == want->ndim &&
	    (!t->ndim || !memcmp(t->dims, want->dims, sizeof *t->dims * (size_t)t->ndim)))
		return EXIT_OK;
	buf_printf(&b, "argument '%s' is ", want->key);
	put_type_text(&b, t->dtype, t->ndim, t->dims);
	buf_puts(&b, ": this program is built for ");
	put_type_text(&b, want->dtype, want->ndim, want->dims);
	rt_raise(cx, "%s", b.at);
	buf_free(&b);
	return EXIT_MISS;
}

static int
check_number(RtCx *cx, const PlainNumber *want, const RtArray *a)
{
	const RtDtype dtype = want->tag == RT_INT ? RT_i64 : want->tag == RT_DOUBLE ? RT_f64 : RT_b8;
	const RtTensor *t = a ? a->tensor : NULL;
	const bool whole = want->n < 0;

	if (!a && (want->has_default || want->tag == RT_NONE))
		return EXIT_OK;
	if (!a) {
		rt_raise(cx, "argument '%s' is missing: -i IN.npz gives it", want->key);
		return EXIT_INPUT;
	}
	if (want->tag != RT_NONE && t && t->dtype == dtype && t->ndim == !whole && (whole || t->dims[0] == want->n) &&
	    !memcmp(rt_data(t) + want->at * rt_dtypes[dtype].bytes, &want->bits, (size_t)rt_dtypes[dtype].bytes))
		return EXIT_OK;
	rt_raise(cx, "argument '%s' is not what this program is built for", want->key);
	return EXIT_MISS;
}

static int
check_keys(RtCx *cx, const PlainFunction *f, const RtArrays *in)
{
	for (int i = 0; i < in->n; i++) {
		bool known = false;

		for (int k = 0; k < f->nin; k++)
			known |= !strcmp(f->in[k].key, in->at[i].key);
		for (int k = 0; k < f->nnumber; k++)
			known |= !strcmp(f->number[k].key, in->at[i].key);
		if (!known) {
			rt_raise(cx, "no argument takes '%s'", in->at[i].key);
			return EXIT_INPUT;
		}
	}
	return EXIT_OK;
}

static int
check(RtCx *cx, const PlainFunction *f, const RtArrays *in)
{
	int status = check_keys(cx, f, in);

	for (int i = 0; i < f->nin && !status; i++)
		status = check_tensor(cx, &f->in[i], rt_arrays_find(in, f->in[i].key));
	for (int i = 0; i < f->nnumber && !status; i++)
		status = check_number(cx, &f->number[i], rt_arrays_find(in, f->number[i].key));
	return status;
}

/* Returns the first function of the method that accepts this input. Null if none does; then *status and the raised
 * error are those of the last function. */
static const PlainFunction *
function_for(Plain *p, const RtArrays *in, int *status)
{
	*status = EXIT_INPUT;
	for (int i = 0; i < p->program->nfunction; i++) {
		const PlainFunction *f = &p->program->function[i];

		if (strcmp(f->method, p->method))
			continue;
		rt_clear_error(&p->cx);
		if (!(*status = check(&p->cx, f, in)))
			return f;
	}
	if (p->cx.status == RT_OK)
		rt_raise(&p->cx, "there is no method '%s'", p->method);
	return NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Builds the next part of the result from the tensors at *out. Returns a new reference. None if an error was raised. */
static IValue
next_part(RtCx *cx, const int **shape, RtTensor *const **out)
{
	const int n = *(*shape)++, parts = n < 0 ? -n - 1 : n - 1;
	RtTuple *tuple;
	RtList *list;

	if (!n)
		return rt_retain(rt_of(*(*out)++));
	if (n < 0) {
		list = rt_list_new(cx, &rt_type_tensor, parts);
		for (int i = 0; list && i < parts && !rt_list_push(cx, list, next_part(cx, shape, out));)
			i++;
		return list ? rt_ref(RT_LIST, list) : rt_none();
	}
	tuple = rt_tuple_new(cx, NULL, parts);
	for (int i = 0; tuple && i < parts; i++)
		tuple->v[i] = next_part(cx, shape, out);
	return tuple ? rt_ref(RT_TUPLE, tuple) : rt_none();
}

static int
print_result(RtCx *cx, const PlainFunction *f, RtTensor *const *out)
{
	const int *shape = f->result;
	IValue v = next_part(cx, &shape, &out);
	Buf b = { 0 };

	if (cx->status)
		return RT_ERROR;
	rt_format_value(&b, v, 0);
	buf_puts(&b, "\n");
	fwrite(b.at, 1, (size_t)b.n, stdout);
	buf_free(&b);
	rt_release(v);
	return RT_OK;
}

static int
write_result(RtCx *cx, const PlainFunction *f, RtTensor *const *out, const char *file)
{
	RtArrays arrays = { 0 };
	int status = RT_OK;

	for (int i = 0; i < f->nout && !status; i++)
		status = rt_arrays_put(cx, &arrays, f->out[i].key, rt_tensor_retain(out[i]), NULL);
	if (!status)
		status = rt_npz_write(cx, file, &arrays);
	rt_arrays_free(&arrays);
	return status;
}

/* Calls f with new tensors for its results. `at` must have room for nin + nout addresses. Sets out[nout] to the
 * tensors. */
static int
call_function(RtCx *cx, const PlainFunction *f, const RtArrays *in, void **at, RtTensor **out)
{
	for (int i = 0; i < f->nin; i++)
		at[i] = rt_data(rt_arrays_find(in, f->in[i].key)->tensor);
	for (int i = 0; i < f->nout; i++) {
		if (!(out[i] = rt_tensor_new(cx, (RtDtype)f->out[i].dtype, f->out[i].ndim, f->out[i].dims)))
			return RT_ERROR;
		at[f->nin + i] = rt_data(out[i]);
	}
	return f->call((const void *const *)at, at + f->nin) ? rt_raise(cx, "an index is out of range") : RT_OK;
}

static int
run_with(Plain *p, const PlainFunction *f, const RtArrays *in, const char *file)
{
	void **at = calloc((size_t)(f->nin + f->nout), sizeof *at);
	RtTensor **out = calloc((size_t)f->nout + 1, sizeof *out);
	int status = !at || !out ? rt_raise(&p->cx, "out of memory") : call_function(&p->cx, f, in, at, out);

	if (!status)
		status = file ? write_result(&p->cx, f, out, file) : print_result(&p->cx, f, out);
	for (int i = 0; out && i < f->nout; i++)
		rt_tensor_release(out[i]);
	free(out);
	free(at);
	return status ? failed(p, EXIT_INPUT) : EXIT_OK;
}

static int
run_function(Plain *p, const char *file, const char *to)
{
	RtArrays in = { 0 };
	const PlainFunction *f;
	int status;

	if (file && rt_npz_read(&p->cx, file, &in)) {
		status = failed(p, EXIT_INPUT);
	} else if (!(f = function_for(p, &in, &status))) {
		status = failed(p, status);
	} else {
		rt_clear_error(&p->cx);
		status = run_with(p, f, &in, to);
	}
	rt_arrays_free(&in);
	return status;
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

static int
read_options(Plain *p, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const bool in = !strcmp(argv[i], "-i"), out = !strcmp(argv[i], "-o");
		const bool method = !strcmp(argv[i], "--method");

		if (!strncmp(argv[i], "--method=", 9))
			p->method = argv[i] + 9;
		else if (!in && !out && !method)
			return usage_error(p, "unknown option ", argv[i]);
		else if (++i == argc)
			return usage_error(p, "missing value of option ", argv[i - 1]);
		else if (method)
			p->method = argv[i];
		else if (in)
			p->in[p->nin++] = argv[i];
		else
			p->out[p->nout++] = argv[i];
	}
	return EXIT_OK;
}

static int
refuse_overwrite(const Plain *p)
{
	for (int i = 0; i < p->nout; i++) {
		const char *read = rt_overwrites(p->out[i], p->in, p->nin), *twice = rt_written_twice(p->out, i);

		if (read)
			fprintf(stderr, "%s: error: " RT_OVERWRITES "\n", p->name, p->out[i], read);
		else if (twice)
			fprintf(stderr, "%s: error: " RT_WRITTEN_TWICE "\n", p->name, p->out[i], twice);
		if (read || twice)
			return EXIT_USAGE;
	}
	return EXIT_OK;
}

static int
parse_arguments(Plain *p, int argc, char **argv)
{
	int status;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fprintf(stdout, "usage: %s [-i IN.npz]... [-o OUT.npz]... [--method NAME]\n%s", p->name, usage);
		return EXIT_OK;
	}
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		fprintf(stdout, "%s: compiled by Kiln " RT_VERSION "\n", p->name);
		return EXIT_OK;
	}
	if ((status = read_options(p, argc, argv)) || (status = refuse_overwrite(p)))
		return status;
	if (rt_cx_init(&p->cx))
		return failed(p, EXIT_INPUT);
	for (int i = 0; i < (p->nin ? p->nin : 1) && !status; i++)
		status = run_function(p, i < p->nin ? p->in[i] : NULL, i < p->nout ? p->out[i] : NULL);
	return status;
}

int
rt_plain_main(const PlainProgram *program, int argc, char **argv)
{
	const char **files = calloc(2 * (size_t)argc + 2, sizeof *files);
	static Plain p;                          /* freed by the exit of the process, which waits for no thread */
	char lacks[120];
	int status;

	p = (Plain){ .program = program, .name = argc ? argv[0] : "program", .method = program->function[0].method,
		     .in = files, .out = files + argc + 1 };
	if (!rt_cpu_runs(program->needs, lacks, sizeof lacks)) {
		fprintf(stderr, "%s: error: this processor, or its system, lacks%s: the program is built for %s "
			"(kiln build --cpu)\n", p.name, lacks, program->level);
		status = EXIT_DEVICE;
	} else {
		status = files ? parse_arguments(&p, argc, argv) : failed(&p, EXIT_INPUT);
	}
	free(files);
	if ((fflush(stdout) | ferror(stdout)) && !status) {
		fprintf(stderr, "%s: error: standard output: %s\n", p.name, strerror(errno));
		status = EXIT_INPUT;
	}
	return status;
}
