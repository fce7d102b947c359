/* codegen/cli/cmd_build.c - kiln build: compiles a model to a program, a library or C */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the kind that --emit names. Any other text is a usage error. */
static const char *
emit_of(Cli *cli)
{
	static const char *const kinds[] = { "exe", "c", "obj", "static", "shared", "ptx", "cuda" };

	for (size_t i = 0; cli->emit && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(cli->emit, kinds[i]))
			return kinds[i];
	if (cli->emit)
		usage_error(cli, "--emit wants exe, c, obj, static, shared, ptx or cuda, not '%s'", cli->emit);
	return kinds[0];
}

static bool
is_library(const char *emit)
{
	return !strcmp(emit, "shared") || !strcmp(emit, "static") || !strcmp(emit, "obj") || !strcmp(emit, "c");
}

/* Returns the name of a library: --name, or NAME of libNAME.so. Null if the build makes no library. */
static const char *
name_of(Cli *cli, const char *emit)
{
	const char *out = cli->out ? cli->out : "", *slash = strrchr(out, '/'), *base = slash ? slash + 1 : out, *name;

	if (!is_library(emit)) {
		if (cli->name)
			usage_error(cli, "--name goes with --emit shared, static, obj or c");
		return NULL;
	}
	if (!strncmp(base, "lib", 3) && base[3])
		base += 3;
	name = cli->name ? cli->name : arena_strndup(cli->cx->arena, base, (int64_t)strcspn(base, "."));
	if (!name[0] || name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ||
	    (name[0] >= '0' && name[0] <= '9') || is_c_word(name) || !strcmp(name, "rt"))
		usage_error(cli, "'%s' is not a name for functions in C, or the runtime uses it; choose another with "
			    "--name", name);
	return name;
}

/* Reports an error if -o is standard output and the build writes several files. */
static void
check_stdout(Cli *cli, const BuildOptions *o)
{
	if (rt_is_stdout(o->out) && (is_library(o->emit) || !strcmp(o->emit, "cuda") || o->weights_file))
		usage_error(cli, "-o %s: standard output holds one file, but --%s %s makes several", o->out,
			    o->weights_file ? "weights" : "emit", o->weights_file ? "file" : o->emit);
}

/* Returns the name of the weights' file. Null if the weights are in the program. */
static const char *
weights_file_of(Cli *cli)
{
	const char *slash, *name;

	if (!cli->weights || !strcmp(cli->weights, "embed"))
		return NULL;
	name = name_of(cli, emit_of(cli));
	if (strcmp(cli->weights, "file"))
		usage_error(cli, "--weights wants embed or file, not '%s'", cli->weights);
	slash = strrchr(cli->out, '/');
	return arena_printf(cli->cx->arena, "%s.weights", name ? name : slash ? slash + 1 : cli->out);
}

/* Returns the architectures of --gpu or TORCH_CUDA_ARCH_LIST, with PTX for --emit ptx. Null for the CPU only. */
static const char *
gpu_of(Cli *cli, const char *emit)
{
	const bool ptx = !strcmp(emit, "ptx");
	const char *list = cli->gpu, *usual = getenv("TORCH_CUDA_ARCH_LIST");

	if (!list && (ptx || !strcmp(emit, "cuda")))
		list = usual && *usual ? usual : "ptx";
	if (ptx && !strstr(list, "ptx"))
		list = arena_printf(cli->cx->arena, "%s,ptx", list);
	if (list)
		cuda_archs(cli->cx, list);
	return list;
}

static Forms
forms_of(Cli *cli)
{
	for (int i = 0; forms_names[i]; i++)
		if (!cli->forms || !strcmp(cli->forms, forms_names[i]))
			return i;
	usage_error(cli, "--forms wants made, fast or small, not '%s'", cli->forms);
}

/* Parses a size such as 65536, 64K or 1M. Returns 0 if the option is absent. */
static int64_t
bytes_of(Cli *cli, const char *option, const char *text)
{
	const size_t n = text ? strlen(text) : 0;
	const char end = n ? text[n - 1] : 0;
	const int shift = end == 'K' || end == 'k' ? 10 : end == 'M' || end == 'm' ? 20 : 0;

	if (!text)
		return 0;
	return cli_number(cli, option, arena_strndup(cli->cx->arena, text, (int64_t)n - (shift > 0)), 1,
			  INT64_MAX >> 20) << shift;
}

/* Parses --cpu A,B,... The program has kernels for each and chooses among those that the processor supports, when it
 * starts. */
static void
levels_of(Cli *cli, BuildOptions *o)
{
	const bool tuned = cli->tune || cli->tuning;     /* tuned kernels are for this processor */
	const bool portable = cli->cpu ? !strcmp(cli->cpu, "portable") : !tuned && target_wants_levels(o);
	const char *list = portable ? target_levels(o->target, &o->int8_level) : cli->cpu;
	char *copy, *state = NULL;

	if (portable && !list && cli->cpu)
		usage_error(cli, "--cpu portable: Kiln has no list of processors for %s; use --cpu NAME",
			    target_triple(o->target));
	o->cpu = list;
	if (!list || !strchr(list, ','))
		return;
	copy = arena_strdup(cli->cx->arena, list);
	for (char *name = strtok_r(copy, ",", &state); name; name = strtok_r(NULL, ",", &state))
		vec_push(cli->cx->arena, &o->levels, name);
	if (o->levels.n < 1 || o->levels.n > (int)(sizeof o->level_floats / sizeof *o->level_floats))
		usage_error(cli, "--cpu wants one to eight names, the lowest processor first");
	if (cli->march || cli->mcpu || o->bare)
		usage_error(cli, "--cpu with several names cannot be combined with --march, --mcpu or --no-generic");
	if (cli->cc && !strcmp(cli->cc, "tcc"))
		usage_error(cli, "--cpu with several names wants gcc or clang, not tcc");
	o->cpu = NULL;
}

/* Sets the options of plain functions (--no-generic). */
static void
bare_options(Cli *cli, BuildOptions *o)
{
	if (o->bare)
		o->state = cli->state = new(cli->cx->arena, BareState, 1);
	if (o->bare && !is_library(o->emit) && (strcmp(o->emit, "exe") || target_is_bare(o->target)))
		usage_error(cli, "--no-generic goes with --emit c, obj, static or shared, and with exe if the target "
			    "has an operating system");
	if (o->bare && (cli->weights || cli->grad || cli->gpu || cli->ops.n))
		usage_error(cli, "--no-generic cannot be combined with --weights, --grad, --gpu or --op");
	o->max_ram = bytes_of(cli, "max-ram", cli->max_ram);
	o->max_flash = bytes_of(cli, "max-flash", cli->max_flash);
	if ((o->max_ram || o->max_flash) && (!o->bare || !o->name))
		usage_error(cli, "--max-ram and --max-flash go with --no-generic and --emit c, obj, static or shared");
	if (o->max_flash && o->cc && !strcmp(o->cc, "tcc"))
		usage_error(cli, "--max-flash wants a compiler for the target, which reports the size of code, and not "
			    "tcc");
}

/* Reports an error for --tune if the program cannot run on this machine. Does so whether or not the target's compiler
 * is installed. */
static void
tune_options(Cli *cli, const BuildOptions *o)
{
	if (cli->tune && (o->target != target_host() || o->levels.n || o->bare))
		usage_error(cli, "--tune measures programs for this machine. With --target, a list of processors or "
			    "--no-generic use the file that an earlier --tune wrote: --tuning F.json");
}

BuildOptions
build_options(Cli *cli)
{
	BuildOptions o = { .out = cli->out, .emit = emit_of(cli), .cc = cli->cc,
			   .target = cli->target ? target_find(cli->cx, cli->target) : target_host(),
			   .march = cli->march, .mcpu = cli->mcpu, .sysroot = cli->sysroot,
			   .weights_file = weights_file_of(cli), .source = !cli->no_source, .verbose = cli->verbose,
			   .forms = forms_of(cli), .ops = cli->ops, .reads = cli->reads, .writes = cli->writes,
			   .bench_code = cli->bench_code };

	check_stdout(cli, &o);
	o.name = name_of(cli, o.emit);
	o.fixed = cli->is_static;
	o.debug = cli->debug;
	o.bare = cli->no_generic;
	bare_options(cli, &o);
	if (o.fixed && strcmp(o.emit, "exe"))
		usage_error(cli, "--static goes with programs: --emit exe");
	o.opt = cli->level ? (int)cli_number(cli, "optimize", cli->level, 0, 3) : 2;
	o.gpu = gpu_of(cli, o.emit);
	levels_of(cli, &o);
	tune_options(cli, &o);
	target_ask(cli->cx, &o);
	if (cli->seed) {
		o.seed = (uint64_t)cli_number(cli, "seed", cli->seed, 0, INT64_MAX);
		o.seeded = true;
	}
	if (cli->threads)
		o.threads = (int)cli_number(cli, "threads", cli->threads, 0, 4096);
	if (cli->threads && !o.threads)
		o.threads = -1;
	if (cli->tuning && !cli->tune)
		o.tuning = tuning_read(cli->cx, cli->tuning, file_text(cli->cx, cli->tuning));
	o.max_specializations = cli->specializations ?
		(int)cli_number(cli, "max-specializations", cli->specializations, 0, 64) : 4;
	if (!o.max_specializations && (o.bare || o.gpu))
		usage_error(cli, "--max-specializations 0 leaves no code for %s",
			    o.bare ? "--no-generic" : "the GPU's code");
	return o;
}

typedef Vec(EmitMethod) Methods;

/* Specializes the first method. Without an input the method has only generic code. This is a warning, or an error if
 * the options ask for specialized code. */
static void
specialize_first(Cli *cli, Model *m, const BuildOptions *o, EmitMethod *e)
{
	const Specialized made = model_specialize(cli, m, o->max_specializations, true);

	e->spec = (const Specialization *const *)made.at;
	e->nspec = made.n;
	if (!o->max_specializations)
		e->generic = "built with --max-specializations 0";
	if (!made.without_input)
		return;
	if (o->gpu || o->bare)
		usage_error(cli, "%s%s wants an input for the sizes of its kernels: -i IN.npz",
			    o->bare ? "--no-generic" : cli->gpu ? "--gpu" : "--emit ",
			    o->bare || cli->gpu ? "" : o->emit);
	e->generic = "built without an input (kiln build -i)";
	warning("no input (-i IN.npz): %s gets generic code only, which interprets the model and is often 10 times "
		"slower", m->fn->name);
}

/* Prepares a method. Only the first method is specialized, because the inputs belong to it. */
static void
build_method(Cli *cli, Model *m, const char *name, const BuildOptions *o, Methods *methods)
{
	EmitMethod e = { .name = name, .fn = m->fn };

	if (cli->selfcheck_code)
		e.reference = reference_code(cli->cx, m->fn, m->module->self);
	model_prepare(cli, m);
	if (!methods->n)
		specialize_first(cli, m, o, &e);
	else
		e.generic = "inputs are for the first method of --method only";
	vec_push(cli->cx->arena, methods, e);
}

/* Emits plain functions. If they exceed the memory limits, emits them again without the larger forms of weights. */
static void
emit_fitting(Cli *cli, Module *m, const Methods *methods, BuildOptions *o, ProgramText *text)
{
	emit_bare(cli->cx, m, methods->at, methods->n, o, text);
	if (o->forms == FORMS_FAST && (text->over || (o->max_flash && text->weights->bytes.n > o->max_flash))) {
		o->forms = FORMS_SMALL;
		*text = (ProgramText){ 0 };
		emit_bare(cli->cx, m, methods->at, methods->n, o, text);
	}
	if (text->over)
		fail_lacks(cli->cx, (Range){ 0 }, "%s", text->over);
}

/* Loads the model and prepares the methods that --method names. */
static Model *
load_methods(Cli *cli, const char *path, const BuildOptions *o, Methods *methods)
{
	Cx *cx = cli->cx;
	char *names = arena_strdup(cx->arena, cli->method ? cli->method : "forward"), *state = NULL;
	Vec(Function *) fn = { 0 };
	Vec(const char *) method = { 0 };
	Model *m;

	cli->method = strtok_r(names, ",", &state);
	if (!cli->method)
		usage_error(cli, "--method wants names");
	m = model_load(cli, path);
	if (m->module->training)
		warning("%s was saved in training mode; --eval switches it off", path);
	vec_push(cx->arena, &fn, m->fn);
	vec_push(cx->arena, &method, cli->method);
	if (is_graph_text(path) && *state)
		usage_error(cli, "--method: a graph's text is forward");
	for (const char *name = strtok_r(NULL, ",", &state); name; name = strtok_r(NULL, ",", &state)) {
		vec_push(cx->arena, &fn,
			 is_source(path) ? source_function(cx, m->module, name) : module_method(cx, m->module, name));
		vec_push(cx->arena, &method, name);
	}
	if (fn.n > 1)
		prepare_peers(cx, fn.at, fn.n);
	for (int i = 0; i < fn.n; i++) {
		m->fn = fn.at[i];
		function_graph(cx, m->fn);
		build_method(cli, m, method.at[i], o, methods);
	}
	return m;
}

/* Prints which kernels use another form than the default, and writes the file of --tuning. */
static void
report_tuning(Cli *cli, const BuildOptions *o)
{
	for (int i = 0; i < o->tuning->at.n && cli->verbose; i++) {
		const Tuned *c = &o->tuning->at.at[i];

		if (c->taken)
			fprintf(stderr, "kiln: %s: form %s instead of %s: %.3g of the time\n", c->kernel,
				c->ways.at[c->taken], c->ways.at[0], c->ratio);
	}
	if (cli->tune && cli->tuning)
		tuning_write(cli, o);
}

BuildOptions
model_emit(Cli *cli, const char *path, ProgramText *text)
{
	BuildOptions o = build_options(cli);
	Methods methods = { 0 };
	Model *m = load_methods(cli, path, &o, &methods);
	int64_t start;

	if (cli->tune)
		tune(cli, m, methods.at, methods.n, &o);
	start = rt_now();
	if (o.bare)
		emit_fitting(cli, m->module, &methods, &o, text);
	else
		emit_program(cli->cx, m->module, methods.at, methods.n, &o, text);
	o.levels = text->levels;
	say_time(cli, "writing C", start);
	if ((text->tuning = o.tuning))
		report_tuning(cli, &o);
	return o;
}

void
model_build(Cli *cli, const char *path, ProgramText *text)
{
	const BuildOptions o = model_emit(cli, path, text);
	const int64_t start = rt_now();

	progress("compiling the program's C");
	build_program(cli->cx, text, &o);
	progress(NULL);
	say_time(cli, "compiling C", start);
}

/* Prints the memory that plain functions use. */
static void
report_memory(FILE *to, const ProgramText *text)
{
	fprintf(to, "an instance has %lld bytes of RAM", (long long)text->ram);
	if (text->flash)
		fprintf(to, ", flash has %lld of code and constants", (long long)text->flash);
	if (text->stack)
		fprintf(to, ", a call takes %lld of the stack, without what libm's functions take",
			(long long)text->stack);
	fprintf(to, "\n");
}

/* Prints which calls run in generic code, once for each cause. */
static void
report_notes(Cli *cli, const ProgramText *text, Buf *json)
{
	const Texts *const all[] = { &cli->notes, &text->notes };
	int n = 0;

	buf_puts(json, ",\"notes\":[");
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < all[k]->n; i++) {
			fprintf(stderr, "kiln: note: %s\n", all[k]->at[i]);
			buf_puts(json, n++ ? "," : "");
			out_json(json, all[k]->at[i]);
		}
	buf_puts(json, "]");
}

/* Prints what was built: as JSON to --json, or as text. The text goes to standard error if standard output has the
 * program. */
static void
report_build(Cli *cli, const ProgramText *text)
{
	const bool aside = rt_is_stdout(cli->out) || (cli->tune && rt_is_stdout(cli->tuning));
	FILE *to = aside ? stderr : stdout;
	RtWhole w;
	Buf more = { 0 };

	if (text->bare)
		buf_printf(&more, ",\"ram_bytes\":%lld,\"flash_bytes\":%lld,\"stack_bytes\":%lld", (long long)text->ram,
			   (long long)text->flash, (long long)text->stack);
	if (text->tuning) {
		buf_puts(&more, ",\"tuned\":");
		tuning_put(text->tuning, &more);
	}
	report_notes(cli, text, &more);
	if (!cli->json) {
		rt_info_sizes(to, &text->about, text->code_bytes);
		if (text->header && text->bare)
			report_memory(to, text);
		buf_free(&more);
		return;
	}
	if (!rt_whole_open(&w, cli->json))
		fail(cli->cx, (Range){ 0 }, "%s: %s", cli->json, strerror(errno));
	rt_info_json(w.file, &text->about, text->code_bytes, more.n ? more.at : "");
	buf_free(&more);
	if (rt_whole_end(&w, true))
		fail(cli->cx, (Range){ 0 }, "%s: %s", cli->json, strerror(errno));
}

int
cmd_build(Cli *cli)
{
	ProgramText text = { 0 };

	if (cli->args.n != 1 || !cli->out)
		usage_error(cli, "build wants one model and -o OUT");
	model_build(cli, cli->args.at[0], &text);
	if (text.by_tcc)
		fprintf(stderr, "kiln: note: programs by tcc run 5 to 800 times slower than by gcc\n");
	report_build(cli, &text);
	return EXIT_OK;
}
