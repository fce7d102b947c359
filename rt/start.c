/* rt/start.c - main() of a compiled model: options, inputs, calls, results
 */
#include "host.h"
#include "base.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { RUNS = 200, WARM = 3, BENCH_NS = 2000000000 };

typedef struct Options {
	const char **in, **out;      /* (nin, nout) files; the arrays have room for all arguments */
	const char *json, *trace, *method, *device, *threads, *seed, *bench, *extra;
	RtTrain train;               /* options of programs with gradients */
	int   nin, nout;
	bool  list_extra, want_bench, warm, info, guards, strict, selfcheck, help, version;
} Options;

typedef struct Program {
	RtCx cx;
	RtProgram own;               /* the program's tables, with the address of the weights */
	RtEntry entry;
	const RtMethod *method;
	const char *name;            /* argv[0] */
	Options options;
} Program;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const char usage[] =
	"  -i IN.npz        an input; more than one: calls one after the other, on one instance; -: standard input\n"
	"  -o OUT.npz       where the result goes, one for each input; without it, it is printed; -: standard output,\n"
	"                   and what the model prints goes to standard error\n"
	"  --method NAME    the method to call (forward); with commas: one for each input in turn\n"
	"  --threads N      threads to use (0: one per core)\n"
	"  --seed N         seed of random numbers\n"
	"  --device D       cpu, cuda[:N]\n"
	"  --bench[=N]      time N calls\n"
	"  --warm           first of all bring weights where they are read fastest, as the 64th call does\n"
	"  --json FILE      with --bench or --info: the same as JSON; -: standard output\n"
	"  --info           what this program holds\n"
	"  --extra[=NAME]   list the files that were saved beside the model; with a name: write its bytes to\n"
	"                   -o FILE, or to standard output\n"
	"  --guards         say which code runs and why a guard failed\n"
	"  --strict         a call that does not stay in specialized code is an error\n"
	"  --selfcheck      compare specialized with generic code, and with the graph as it was read (kiln build\n"
	"                   --selfcheck-code): results, errors, prints, what is written to arguments and state;\n"
	"                   float32 by 2e-4 of the number and 2e-5 of the largest (kiln check tells bugs from\n"
	"                   ill-conditioned inputs)\n"
	"  --trace F.json   what ran when, for chrome://tracing\n"
	"  --version        which Kiln built this program\n";

#define TEXT(name, member) { "--" name, offsetof(Options, member), RT_OPTION_TEXT }
#define FLAG(name, member) { name, offsetof(Options, member), RT_OPTION_FLAG }
static const RtOption options[] = {
	TEXT("json", json), TEXT("trace", trace), TEXT("method", method), TEXT("device", device),
	TEXT("threads", threads), TEXT("seed", seed), FLAG("--info", info), FLAG("--guards", guards),
	FLAG("--strict", strict), FLAG("--selfcheck", selfcheck), FLAG("--bench", want_bench), FLAG("--warm", warm),
	FLAG("--help", help), FLAG("-h", help), FLAG("--version", version),
	FLAG("--extra", list_extra), { "--extra=", offsetof(Options, extra), RT_OPTION_REST },
	{ "--bench=", offsetof(Options, bench), RT_OPTION_REST }, { 0 },
};
/* These members are lists: read_option adds to them. */
static const RtOption file_options[] = {
	{ "-i", offsetof(Options, in), RT_OPTION_TEXT }, { "-o", offsetof(Options, out), RT_OPTION_TEXT }, { 0 },
};
#undef TEXT
#undef FLAG

/* Returns the gradients of the first method that has any. Null if no method has. */
static const RtGradients *
gradients_of(const Program *p)
{
	for (int i = 0; i < p->own.nmethod; i++)
		if (p->own.method[i].gradients)
			return p->own.method[i].gradients;
	return NULL;
}

static void
put_usage(const Program *p)
{
	const RtGradients *g = gradients_of(p);

	printf("usage: %s [-i IN.npz]... [-o OUT.npz]... [options]\n%s%s", p->name, usage, g ? g->usage : "");
}

/* Prints an error about options in one line. */
static int RT_PRINTF(2, 3)
usage_error(const Program *p, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", p->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (%s --help lists the options)\n", p->name);
	return EXIT_USAGE;
}

/* Tables of options: for files; of every program; for gradients, which is null in programs without them. */
typedef struct Tables { const RtOption *at[3]; } Tables;

static Tables
tables_of(const Program *p)
{
	const RtGradients *g = gradients_of(p);

	return (Tables){ { file_options, options, g ? g->options : NULL } };
}

/* Whether the text is the option o, alone or as o=VALUE. */
static bool
is_option(const RtOption *o, const char *text)
{
	const size_t n = strlen(o->name);

	return !strncmp(text, o->name, n) &&
	       (!text[n] || o->as == RT_OPTION_REST || (text[n] == '=' && o->as == RT_OPTION_TEXT));
}

/* Returns the option with this text, and sets *table to the index of its table. Null if there is none. */
static const RtOption *
find_option(const Tables *t, const char *text, int *table)
{
	for (*table = 0; *table < 3; ++*table)
		for (const RtOption *o = t->at[*table]; o && o->name; o++)
			if (is_option(o, text))
				return o;
	return NULL;
}

/* Prints that there is no such option, and suggests the nearest one. */
static int
unknown_option(const Program *p, const Tables *t, const char *text)
{
	const bool of_gradients = !strncmp(text, "--grad-", 7) || !strncmp(text, "--train", 7);
	RtNearest best = { 0 };

	if (of_gradients && !t->at[2])
		return usage_error(p, "this program has no gradients (kiln build --grad): %s", text);
	for (int i = 0; i < 3; i++)
		for (const RtOption *o = t->at[i]; o && o->name; o++)
			rt_nearest(&best, text, (int)strcspn(text, "="), o->name);
	return best.name ? usage_error(p, "unknown option %s; did you mean %s?", text, best.name) :
		usage_error(p, "unknown option %s", text);
}

/* Returns the value of option o, in argv[*i] or in the next argument, unless that is an option. If the value is
 * missing, prints an error and returns null. */
static const char *
value_of(const Program *p, const Tables *t, const RtOption *o, char **argv, int *i)
{
	const char *rest = argv[*i] + strlen(o->name), *next = argv[*i + 1];
	int table;

	if (o->as == RT_OPTION_REST || *rest)
		return rest + (o->as != RT_OPTION_REST);
	if (next && !find_option(t, next, &table))
		return argv[++*i];
	if (next)
		usage_error(p, "missing value of option %s: %s is another option", o->name, next);
	else
		usage_error(p, "missing value of option %s", o->name);
	return NULL;
}

static int
read_option(Program *p, const Tables *t, char **argv, int *i)
{
	int table;
	const RtOption *o = find_option(t, argv[*i], &table);
	char *place = o ? (table < 2 ? (char *)&p->options : (char *)&p->options.train) + o->place : NULL;
	const char *value;

	if (!o)
		return unknown_option(p, t, argv[*i]);
	if (o->as == RT_OPTION_FLAG) {
		*(bool *)place = true;
		return EXIT_OK;
	}
	if (!(value = value_of(p, t, o, argv, i)))
		return EXIT_USAGE;
	if (table)
		*(const char **)(void *)place = value;
	else if (o == file_options)
		p->options.in[p->options.nin++] = value;
	else
		p->options.out[p->options.nout++] = value;
	return EXIT_OK;
}

static int
read_options(Program *p, char **argv)
{
	const Tables t = tables_of(p);
	int status = EXIT_OK;

	for (int i = 1; argv[0] && argv[i] && !status; i++)
		status = read_option(p, &t, argv, &i);
	p->options.want_bench |= p->options.bench != NULL;
	return status;
}

/* Fails if an output is also read, because it would be lost for later calls, or if an output is written twice. Adds
 * more files to the arrays of inputs and outputs, which have room for them. */
static int
refuse_overwrite(Program *p)
{
	Options *o = &p->options;
	const char *const more[] = { o->json, o->trace, o->train.grad_out };
	const int n = o->nout + (int)(sizeof more / sizeof *more), nin = o->nin + (o->train.grad_in != NULL);
	const char *other;

	memcpy(o->out + o->nout, more, sizeof more);
	o->in[o->nin] = o->train.grad_in;
	for (int i = 0; i < n; i++) {
		if ((other = rt_overwrites(o->out[i], o->in, nin)))
			fprintf(stderr, "%s: error: " RT_OVERWRITES "\n", p->name, o->out[i], other);
		else if ((other = rt_written_twice(o->out, i)))
			fprintf(stderr, "%s: error: " RT_WRITTEN_TWICE "\n", p->name, o->out[i], other);
		if (other)
			return EXIT_USAGE;
	}
	return EXIT_OK;
}

static bool
parse_int(const char *s, int64_t *out)
{
	return rt_read_int(&s, NULL, out) && !*s;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Prints the context's error in PyTorch's form.  Returns the exit status. */
static int
failed(const Program *p, const char *file)
{
	const RtCx *cx = &p->cx;

	if (cx->status == RT_LACKS) {
		fprintf(stderr, "%s: error: %s\n", p->name, cx->message);
		return EXIT_LACKS;
	}
	if (cx->trace)
		fprintf(stderr, "The following operation failed in the TorchScript interpreter.\n%s", cx->trace);
	if (!cx->trace && !cx->cls)
		fprintf(stderr, "%s: error: %s%s", p->name, file ? file : "", file ? ": " : "");
	else
		fprintf(stderr, "%s: ", cx->cls ? cx->cls : "RuntimeError");
	fprintf(stderr, "%s\n", cx->message ? cx->message : "unknown error");
	return cx->cls && !strcmp(cx->cls, "GuardMiss") ? EXIT_MISS : EXIT_INPUT;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

typedef struct Call {
	RtArrays in;
	RtInvocation   of;
} Call;

static void
call_free(Call *c)
{
	rt_invocation_end(&c->of);
	rt_arrays_free(&c->in);
}

static int
call_read(Program *p, Call *c, const char *file)
{
	*c = (Call){ .of = { .result = rt_none() } };
	if (file && rt_npz_read(&p->cx, file, &c->in))
		return RT_ERROR;
	if (p->options.train.grad_in && p->method->gradients->read(&p->cx, p->options.train.grad_in, &c->in))
		return RT_ERROR;
	return rt_invocation_bind(&p->cx, p->method, file || c->in.n ? &c->in : NULL, &c->of);
}

static int
call_run(Program *p, Call *c)
{
	int64_t begin = p->cx.events ? rt_now() : 0;
	int status;

	status = rt_invocation_run(&p->cx, &c->of);
	if (p->cx.events)
		rt_trace_add(&p->cx, p->method->name, begin, rt_now());
	return status;
}

static void
put_result(Buf *b, IValue v)
{
	if (v.tag == RT_TENSOR)
		rt_format_tensor(b, v.u.t);
	else if (rt_format_other)
		rt_format_other(b, v, 0);
	else
		buf_puts(b, "None");
}

static int
call_write(Program *p, Call *c, const char *file)
{
	const IValue result = rt_invocation_result(&c->of);
	RtArrays out = { 0 };
	Buf b = { 0 };
	int status = RT_OK;

	if (p->options.train.grad_out)
		status = p->method->gradients->write(&p->cx, p->options.train.grad_out, p->method->gradients->name,
						     p->method->gradients->n, c->of.result);
	if (file && !status) {
		status = rt_arrays_from_value(&p->cx, &out, "out", result);
		if (!status)
			status = rt_npz_write(&p->cx, file, &out);
		rt_arrays_free(&out);
		return status;
	}
	if (status || p->options.train.grad_out)
		return status;
	put_result(&b, result);
	buf_puts(&b, "\n");
	fwrite(b.at, 1, (size_t)b.n, stdout);
	buf_free(&b);
	return RT_OK;
}

static int
run_one(Program *p, const char *in, const char *out)
{
	Call c;
	int status = RT_OK;

	if (call_read(p, &c, in) || call_run(p, &c) || call_write(p, &c, out))
		status = failed(p, 0);
	call_free(&c);
	return status;
}

/* ---- --bench ----------------------------------------------------------------------------------------------------- */

static int
compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int
not_written(Program *p)
{
	rt_raise(&p->cx, "%s: %s", p->options.json, strerror(errno));
	return failed(p, 0);
}

/* Returns the peak memory of this process in bytes. 0 if unknown. */
static int64_t
peak_memory(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	int64_t kb = 0;
	char text[4096];
	const char *line = text;

	if (!f)
		return 0;
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	while (line && strncmp(line, "VmHWM:", 6))
		line = (line = strchr(line, '\n')) ? line + 1 : NULL;
	if (line)
		line += 6 + strspn(line + 6, " \t");
	return line && rt_read_int(&line, NULL, &kb) ? kb * 1024 : 0;
}

static int
report_times(Program *p, int64_t *t, int n)
{
	const double open = (double)p->entry.load_ns / 1e6;
	const long long peak = peak_memory(), made = p->own.made_bytes;
	double median, best, p99;
	FILE *f = NULL;
	RtWhole w;

	qsort(t, (size_t)n, sizeof *t, compare_times);
	median = (double)t[n / 2] / 1e6;
	best = (double)t[0] / 1e6;
	p99 = (double)t[(n - 1) * 99 / 100] / 1e6;
	if (p->options.json && !(f = rt_whole_open(&w, p->options.json)))
		return not_written(p);
	if (f != stdout) {
		fprintf(stdout, "%d runs on %d thread%s: median %.4g ms, least %.4g ms, 99 %% below %.4g ms\n"
			"opened in %.4g ms, weights made then %lld bytes", n, p->cx.nthread,
			p->cx.nthread == 1 ? "" : "s", median, best, p99, open, made);
		if (peak)
			fprintf(stdout, ", most memory %lld bytes", peak);
		fprintf(stdout, "\n");
	}
	if (!f)
		return EXIT_OK;
	fprintf(f, "{\"median_ms\":%.6g,\"min_ms\":%.6g,\"p99_ms\":%.6g,\"runs\":%d,\"threads\":%d,\"open_ms\":%.6g,"
		"\"made_bytes\":%lld,\"peak_bytes\":%lld}\n", median, best, p99, n, p->cx.nthread, open, made, peak);
	return rt_whole_end(&w, true) ? not_written(p) : EXIT_OK;
}

/* Times calls. If no number of runs is given, makes at least five calls, for two seconds. */
static int
bench(Program *p)
{
	int64_t runs = 0, *t, begin, start;
	int n = 0, cap, status = EXIT_OK;
	Call c;

	if (p->options.bench && (!parse_int(p->options.bench, &runs) || runs < 1 || runs > 10000000))
		return usage_error(p, "--bench wants a number of runs from 1 to 10000000, not '%s'", p->options.bench);
	cap = runs ? (int)runs : RUNS * 50;
	t = heap_grow(0, (int64_t)sizeof *t * cap);
	if (call_read(p, &c, p->options.nin ? p->options.in[0] : 0))
		status = failed(p, 0);
	for (int i = 0; i < WARM && !status; i++)
		if (call_run(p, &c))
			status = failed(p, 0);
	for (start = rt_now(); n < cap && !status;) {
		begin = rt_now();
		if (call_run(p, &c))
			status = failed(p, 0);
		t[n++] = rt_now() - begin;
		if (!runs && n >= 5 && rt_now() - start > BENCH_NS)
			break;
	}
	if (!status)
		status = report_times(p, t, n);
	call_free(&c);
	free(t);
	return status;
}

/* ---- --selfcheck ------------------------------------------------------------------------------------------------- */

/* Effects of running a code on an input. */
typedef struct Outcome {
	Call   call;                 /* result of the call, and its arguments after it */
	IValue state;                /* instance after the call */
	int    status;
	char  *type, *message;       /* exception, if the code raised one; if type is null, RuntimeError */
	char  *printed;
} Outcome;

static void
outcome_free(Outcome *o)
{
	call_free(&o->call);
	rt_release(o->state);
	free(o->type);
	free(o->message);
	free(o->printed);
}

static void
keep_print(RtCx *cx, const char *text, int64_t n)
{
	fwrite(text, 1, (size_t)n, cx->print_arg);    /* stdio locks the stream: tasks print from their own threads */
}

static int
run_kept(Program *p, const RtCode *code, Outcome *o)
{
	RtMethod m = *p->method;
	size_t n;

	if (!(p->cx.print_arg = open_memstream(&o->printed, &n)))
		return rt_raise(&p->cx, "out of memory");
	p->cx.print = keep_print;
	m.code = code;
	if (code != p->method->code)
		m.generic = NULL;        /* no report of generic code, because it was asked for */
	o->call.of.method = &m;
	o->status = rt_invocation_run(&p->cx, &o->call.of);
	o->call.of.method = p->method;
	p->cx.print = NULL;
	return fclose(p->cx.print_arg) ? rt_raise(&p->cx, "out of memory") : RT_OK;
}

/* Runs a code on the input, which is read again, with fresh constants and state and the same random numbers. An
 * exception is an outcome. Other errors (wrong input, --strict, missing operators) become the exit status. */
static int
outcome_of(Program *p, const RtCode *code, const char *in, Outcome *o)
{
	RtCx *cx = &p->cx;
	const RtGenerator before = *cx->gen;

	if (rt_program_again(cx) || call_read(p, &o->call, in) || run_kept(p, code, o))
		return failed(p, in);
	if (o->status == RT_LACKS || (cx->cls && !strcmp(cx->cls, "GuardMiss")))
		return failed(p, in);
	*cx->gen = before;
	if (p->own.cuda)
		cx->cuda = p->own.cuda->leave(cx);       /* fetches the state */
	o->state = cx->instance ? rt_retain(rt_ref(RT_OBJECT, cx->instance)) : rt_none();
	o->type = cx->cls ? strdup(cx->cls) : NULL;
	o->message = strdup(cx->message ? cx->message : "");
	rt_clear_error(cx);
	return EXIT_OK;
}

static const char *
type_of(const Outcome *o)
{
	return o->type ? o->type : "RuntimeError";
}

static bool
same_end(const Outcome *got, const Outcome *want, Buf *why)
{
	if (!got->status && !want->status)
		return true;
	if (got->status && want->status && !strcmp(type_of(got), type_of(want)) && !strcmp(got->message, want->message))
		return true;
	buf_puts(why, "one ");
	if (got->status)
		buf_printf(why, "raises %s: %s", type_of(got), got->message);
	else
		buf_puts(why, "answers");
	buf_puts(why, ", the other ");
	if (want->status)
		buf_printf(why, "raises %s: %s", type_of(want), want->message);
	else
		buf_puts(why, "answers");
	return false;
}

static bool
same_outcome(Program *p, const Outcome *got, const Outcome *want, Buf *why)
{
	if (!same_end(got, want, why) ||
	    (p->own.close_text && !p->own.close_text(got->printed, want->printed, why)))
		return false;
	if (!got->status && !rt_close(&p->cx, "out", got->call.of.result, want->call.of.result, why))
		return false;
	for (int i = 0; i < p->method->nparam; i++)
		if (!rt_close(&p->cx, p->method->param[i].name, got->call.of.args[i], want->call.of.args[i], why))
			return false;
	return rt_close(&p->cx, "self", got->state, want->state, why);
}

/* Compares the outcome of specialized code with that of another code. */
static int
check_against(Program *p, const Outcome *got, const RtCode *code, const char *in, const char *what)
{
	Outcome want = { 0 };
	Buf why = { 0 };
	int status = outcome_of(p, code, in, &want);

	if (!status && !same_outcome(p, got, &want, &why)) {
		fprintf(stderr, "%s: %s: specialized code and %s differ: %s\n", p->name, in ? in : "no input", what,
			why.at);
		status = EXIT_DIFFERS;
	}
	outcome_free(&want);
	buf_free(&why);
	return status;
}

static int
check_one(Program *p, const char *in)
{
	RtCode generic = *p->method->code;
	Outcome got = { 0 };
	int status = outcome_of(p, p->method->code, in, &got);

	generic.plan = 0;
	if (!status && !p->method->generic)
		status = check_against(p, &got, &generic, in, "generic code");
	else if (!status && !p->method->reference)
		fprintf(stderr, "%s: nothing to compare: %s has generic code only: %s\n", p->name, p->method->name,
			p->method->generic);
	if (!status && p->method->reference)
		status = check_against(p, &got, p->method->reference, in, "the graph as it was read");
	outcome_free(&got);
	return status;
}

/* ---- --info ------------------------------------------------------------------------------------------------------ */

#if UINTPTR_MAX > UINT32_MAX
typedef Elf64_Phdr Segment;
#else
typedef Elf32_Phdr Segment;
#endif

/* Symbols at the beginning and the end of code. C libraries define _init, the linker defines etext; tcc defines
 * neither. */
extern const char _init[] __attribute__((weak)), etext[] __attribute__((weak));

/* Returns the number of bytes of code of the running program: its executable segments from _init to etext. The loader's
 * tables before _init, and constants and weights after etext, do not count. With tcc, constants count. */
static int64_t
code_bytes(const RtProgram *program)
{
	const Segment *h = (const Segment *)getauxval(AT_PHDR);
	const uintptr_t weights = (uintptr_t)program->weights;
	const uintptr_t code_begin = (uintptr_t)_init, code_end = (uintptr_t)etext;
	uintptr_t base = 0;
	int64_t n = 0;

	for (unsigned long i = 0; h && i < getauxval(AT_PHNUM); i++)
		if (h[i].p_type == PT_PHDR) {
			base = (uintptr_t)h - h[i].p_vaddr;
		} else if (h[i].p_type == PT_LOAD && h[i].p_flags & PF_X) {
			const uintptr_t first = base + h[i].p_vaddr, whole = first + h[i].p_memsz;
			const uintptr_t begin = code_begin > first && code_begin < whole ? code_begin : first;
			const uintptr_t end = code_end > begin && code_end < whole ? code_end : whole;

			n += (int64_t)(end - begin);
			if (weights >= begin && weights < end)
				n -= program->weights_bytes;
		}
	return n;
}

static int
info(Program *p)
{
	RtWhole w;

	if (!p->options.json) {
		rt_info_methods(stdout, &p->own);
		rt_info_sizes(stdout, &p->own, code_bytes(&p->own));
		return EXIT_OK;
	}
	if (!rt_whole_open(&w, p->options.json))
		return not_written(p);
	rt_info_json(w.file, &p->own, code_bytes(&p->own), "");
	return rt_whole_end(&w, true) ? not_written(p) : EXIT_OK;
}

/* ---- --extra ----------------------------------------------------------------------------------------------------- */

static void
list_extra(const RtProgram *r)
{
	for (int i = 0; i < r->nextra; i++) {
		Buf b = { 0 };

		buf_clean(&b, r->extra[i].name, (int64_t)strlen(r->extra[i].name));
		printf("%-49s %lld bytes\n", b.at ? b.at : "", (long long)r->extra[i].bytes);
		buf_free(&b);
	}
}

static int
extra(Program *p)
{
	const RtProgram *r = &p->own;
	const char *to = p->options.nout ? p->options.out[0] : "-";
	int i = 0;
	RtWhole w;

	if (!p->options.extra) {
		list_extra(r);
		return EXIT_OK;
	}
	while (i < r->nextra && strcmp(r->extra[i].name, p->options.extra))
		i++;
	if (i == r->nextra) {
		rt_raise(&p->cx, "no file '%s' was saved beside the model: --extra lists them", p->options.extra);
		return failed(p, 0);
	}
	if (!rt_whole_open(&w, to)) {
		rt_raise(&p->cx, "%s: %s", to, strerror(errno));
		return failed(p, 0);
	}
	fwrite(r->weights + r->extra[i].offset, 1, (size_t)r->extra[i].bytes, w.file);
	if (rt_whole_end(&w, true)) {
		rt_raise(&p->cx, "%s: cannot be written: %s", to, strerror(errno));
		return failed(p, 0);
	}
	return EXIT_OK;
}

/* ---- --train ----------------------------------------------------------------------------------------------------- */

static int
train(Program *p)
{
	const Options *o = &p->options;
	RtTrain t = o->train;
	int status;

	t.in = o->in;
	t.nin = o->nin;
	t.out = o->nout ? o->out[0] : NULL;
	t.json = o->json;
	status = p->method->gradients->train(&p->cx, p->method, &t);
	return t.wrong ? usage_error(p, "%s%s", t.wrong, t.which) : status ? failed(p, 0) : EXIT_OK;
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

/* Chooses the method for input i: name i of --method, or its last name. */
static int
choose_method(Program *p, int i)
{
	const char *want = p->options.method ? p->options.method : "forward";
	size_t n;

	for (const char *comma; i > 0 && (comma = strchr(want, ',')); i--)
		want = comma + 1;
	n = strcspn(want, ",");
	p->method = !p->options.method && p->own.nmethod ? &p->own.method[0] : NULL;
	for (int k = 0; k < p->own.nmethod; k++)
		if (strlen(p->own.method[k].name) == n && !memcmp(p->own.method[k].name, want, n))
			p->method = &p->own.method[k];
	return p->method ? RT_OK : rt_raise(&p->cx, "there is no method '%.*s': --info lists them", (int)n, want);
}

/* Whether any result or report is written to standard output. Then the model's prints go to standard error. */
static bool
writes_to_stdout(const Options *o)
{
	bool does = rt_is_stdout(o->json) || rt_is_stdout(o->trace) || rt_is_stdout(o->train.grad_out);

	for (int i = 0; i < o->nout; i++)
		does |= rt_is_stdout(o->out[i]);
	return does;
}

static int
set_up(Program *p)
{
	int64_t threads = -1, seed = 0;

	if ((p->options.threads && (!parse_int(p->options.threads, &threads) || threads < 0 || threads > 4096)))
		return usage_error(p, "--threads wants a number from 0 to 4096, not '%s'", p->options.threads);
	if (p->options.json && !p->options.want_bench && !p->options.info && !p->options.train.how)
		return usage_error(p, "--json goes with --bench, --info or --train");
	if (p->options.seed && !parse_int(p->options.seed, &seed))
		return usage_error(p, "--seed wants a number, not '%s'", p->options.seed);
	if (p->options.info || p->options.list_extra || p->options.extra)
		p->own.open = NULL;
	p->entry = (RtEntry){ .weights.all = p->options.selfcheck, .threads = (int)threads,
			      .seeded = p->options.seed != NULL, .seed = (uint64_t)seed,
			      .device.name = p->options.device };
	if (rt_cx_init(&p->cx) || (p->options.trace && rt_trace_start(&p->cx)) ||
	    rt_entry_load(&p->cx, &p->own, &p->entry) || choose_method(p, 0))
		return failed(p, 0);
	if (rt_entry_device(&p->cx, &p->own, &p->entry)) {
		failed(p, 0);
		return EXIT_DEVICE;
	}
	rt_entry_seed(&p->cx, &p->own, &p->entry);
	if (p->options.warm && p->own.warm && p->own.warm(&p->cx))
		return failed(p, 0);
	if (writes_to_stdout(&p->options))
		p->cx.print = rt_print_aside;
	p->cx.show_guards = p->options.guards;
	p->cx.strict = p->options.strict;
	return EXIT_OK;
}

static int
run_mode(Program *p)
{
	const int n = p->options.train.how || p->options.want_bench ? 0 : p->options.nin ? p->options.nin : 1;
	int status = EXIT_OK;

	if (p->options.info)
		return info(p);
	if (p->options.list_extra || p->options.extra)
		return extra(p);
	if ((p->options.train.grad_out || p->options.train.grad_in || p->options.train.how) && !p->method->gradients)
		return usage_error(p, "this method has no gradients: kiln build --grad");
	if (p->options.train.how || p->options.want_bench)
		status = p->options.train.how ? train(p) : bench(p);
	for (int i = 0; i < n && !status; i++)
		status = choose_method(p, i) ? failed(p, 0) :
			p->options.selfcheck ? check_one(p, p->options.nin ? p->options.in[i] : 0) :
			run_one(p, p->options.nin ? p->options.in[i] : 0, i < p->options.nout ? p->options.out[i] : 0);
	return status;
}

static int
all_said(Program *p, int status)
{
	if (!(fflush(stdout) | ferror(stdout)) || status)
		return status;
	fprintf(stderr, "%s: error: standard output: %s\n", p->name, strerror(errno));
	return EXIT_INPUT;
}

static int
run_program(Program *p, char **argv)
{
	int status = read_options(p, argv);

	if (status)
		return status;
	if (p->options.help || p->options.version) {
		p->options.help ? put_usage(p) : (void)printf("%s: compiled by Kiln " RT_VERSION "\n", p->name);
		return EXIT_OK;
	}
	if ((status = refuse_overwrite(p)))
		return status;
	status = set_up(p);
	if (!status)
		status = run_mode(p);
	if (p->cx.events && rt_trace_write(&p->cx, p->options.trace) && !status)
		status = failed(p, 0);
	rt_entry_end(&p->cx, &p->own);
	return status;
}

int
rt_main(const RtProgram *program, int argc, char **argv)
{
	Program p = { .own = *program, .name = argc ? argv[0] : "program" };
	const char **files;
	char why[400];
	int status;

	if (rt_cpu_choose(&p.own, why, sizeof why)) {
		fprintf(stderr, "%s: error: %s\n", p.name, why);
		return EXIT_DEVICE;
	}
	if ((const char *)__builtin_frame_address(0) < rt_stack_end()) {
		fprintf(stderr, "%s: error: there is no memory for the stack (ulimit -s, -v)\n", p.name);
		return EXIT_INPUT;
	}
	files = heap_grow(0, 2 * (int64_t)sizeof *files * (argc + 4));
	p.options.in = files;
	p.options.out = files + argc + 4;
	signal(SIGXFSZ, SIG_IGN);                /* writing a file that is too large is an error, instead of a signal */
	if (p.own.watch)
		p.own.watch();
	status = run_program(&p, argv);
	free(files);
	return all_said(&p, status);
}
