/*
 * Builds one file from C text and weights, by a C compiler or by libtcc inside Kiln (tcc.c).
 *
 * All work is done in a temporary folder and the result is renamed into place, so a failed or interrupted build leaves
 * no files. The runtime is prebuilt for the host. runtime.c compiles it for other targets.
 */
#include "build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOWHERE ((Range){ 0 })

/* ---- compilers and tools ----------------------------------------------------------------------------------------- */

static void
run_or_fail(Build *b, char *const *argv, const char *what)
{
	Process p;

	if (!start(b, argv, arena_printf(b->cx->arena, "%s/log", b->dir), &p))
		not_started(b, &p);
	if (process_end(&p))
		process_failed(b, &p, what);
}

/* ---- the user's operators ---------------------------------------------------------------------------------------- */

static void
args_operators(Argv *a, const char *dir)
{
	arg(a, "-std=gnu11"), arg(a, "-O2"), arg(a, "-fPIC"), arg(a, "-Werror=implicit-function-declaration");
	arg(a, "-fno-strict-aliasing"), arg(a, "-I"), arg(a, dir);
}

static void
run_operators(Build *b, char *const *argv, const char *log)
{
	Process p;

	if (!start(b, argv, log, &p))
		not_started(b, &p);
	if (process_end(&p))
		process_fail(b->cx, p.name, EXIT_INPUT, "failed on --op", log);
}

/* Builds a shared object from C files, for the interpreter on this machine. */
bool
build_operators(Cx *cx, const char *dir, const char *cc, const Texts *files, const char *out)
{
	const BuildOptions none = { .emit = "shared", .target = target_host() };
	Build b = { .cx = cx, .options = &none, .dir = dir, .cc = cc };
	const char *log = arena_printf(cx->arena, "%s/log", dir);
	Argv a = { .cx = cx }, ask = { .cx = cx };
	Process p;

	arg(&ask, cc), arg(&ask, "--version");
	if (!start(&b, argv_of(&ask), log, &p) || process_end(&p))
		return false;
	arg(&a, cc), arg(&a, "-shared");
	args_operators(&a, dir);
	args_of(&a, getenv("CFLAGS"));
	arg(&a, "-o"), arg(&a, out);
	for (int i = 0; i < files->n; i++)
		arg(&a, files->at[i]);
	args_of(&a, getenv("LDFLAGS"));
	arg(&a, "-lm");
	run_operators(&b, argv_of(&a), log);
	return true;
}

/* ---- building with a C compiler ---------------------------------------------------------------------------------- */

/* Whether the compiler can report the stack use of functions. */
static bool
tells_stack(const Build *b)
{
	return b->options->target->is_bare && strstr(b->cc, "gcc");
}

static void
args_emitted(Build *b, Argv *a, const char *c, const char *object)
{
	args_compiler(b, a);
	arg(a, "-std=gnu11"), arg(a, !b->options->opt ? "-O1" : b->small ? "-Os" : "-O2");
	arg(a, "-Werror=implicit-function-declaration");
	arg(a, "-fno-strict-aliasing"), arg(a, "-ffunction-sections"), arg(a, "-fdata-sections"),
		arg(a, "-fno-math-errno");
	arg(a, "-fno-trapping-math"), arg(a, "-ftree-vectorize"), arg(a, "-ffp-contract=fast"), arg(a, "-w");
	arg(a, "-fno-asynchronous-unwind-tables"), arg(a, "-fno-align-functions"), arg(a, "-fno-align-jumps");
	args_of(a, fma_option(b->cc));
	arg(a, is_fixed(b) ? "-fno-pie" : pic_option(b->options->target));
	args_cpu(b, a);
	if (tells_stack(b))
		arg(a, "-fcallgraph-info=su");
	args_of(a, getenv("CFLAGS"));
	arg(a, "-c"), arg(a, c), arg(a, "-o"), arg(a, object);
}

static const char on_emitted[] = "on emitted code: a bug of Kiln";

static void
compile_c(Build *b, const char *c, Argv *objects)
{
	const char *object = arena_printf(b->cx->arena, "%s/program.o", b->dir);
	Argv a = { .cx = b->cx };

	args_emitted(b, &a, c, object);
	run_or_fail(b, argv_of(&a), on_emitted);
	arg(objects, object);
}

/* Whether level i has its own operators, whose names have its suffix. */
static bool
by_name(const Build *b, int i)
{
	return b->options->level_ops[i] && b->options->level_ops[i] != b->options->ops_level;
}

/* Adds the libraries of operators for higher levels. Programs link only the operators that their specializations
 * call. */
static void
carry_levels(Build *b, Argv *parts)
{
	for (int level = 3; level <= 4; level++)
		for (int i = 0; i < b->options->levels.n; i++)
			if (b->options->level_ops[i] == level && by_name(b, i)) {
				const char *path = arena_printf(b->cx->arena, "%s/ops-v%d.a", b->dir, level);

				carry_library(b->cx, level, true, path);
				arg(parts, path);
				break;
			}
}

static void
start_level(Build *b, const char *c, int i, Process *p, Argv *objects)
{
	const char *object = arena_printf(b->cx->arena, "%s/level%d.o", b->dir, i);
	Argv a = { .cx = b->cx };

	b->cpu = b->options->levels.at[i];
	args_emitted(b, &a, c, object);
	arg(&a, arena_printf(b->cx->arena, "-DKILN_LEVEL=%d", i));
	arg(&a, arena_printf(b->cx->arena, "-DVC_FLOATS=%d", b->options->level_floats[i]));
	arg(&a, by_name(b, i) ? arena_printf(b->cx->arena, "-DKILN_OPS=_v%d", b->options->level_ops[i]) :
				   "-DKILN_OPS=");
	if (target_in_order(b->options->target, b->cpu))
		arg(&a, "-DVC_IN_ORDER=1");
	if (!i)
		arg(&a, "-DKILN_ALL");
	if (!start(b, argv_of(&a), arena_printf(b->cx->arena, "%s/log%d", b->dir, i), p))
		not_started(b, p);
	arg(objects, object);
}

/* Compiles the kernels for each processor in parallel. The other code is compiled for the lowest one (cgen.c:
 * put_kernel_tables). */
static void
compile_levels(Build *b, const char *c, Argv *objects)
{
	Process process[sizeof b->options->level_floats / sizeof *b->options->level_floats] = { { 0 } };
	const int n = b->options->levels.n;
	int bad = n;

	for (int i = 0, ended = 0; ended < n;) {
		if (i < n && i - ended < RT_LIMIT_CHILDREN) {
			start_level(b, c, i, &process[i], objects);
			i++;
		} else {
			if (process_end(&process[ended]) && bad == n)
				bad = ended;
			ended++;
		}
	}
	b->cpu = b->options->levels.at[0];
	if (bad < n)
		process_failed(b, &process[bad], on_emitted);
}

/* Compiles the user's operators (--op). Errors in them are the user's. */
static void
compile_operators(Build *b, Argv *objects)
{
	for (int i = 0; i < b->options->ops.n; i++) {
		const char *object = arena_printf(b->cx->arena, "%s/op%d.o", b->dir, i);
		Argv a = { .cx = b->cx };

		args_compiler(b, &a);
		args_operators(&a, b->dir);
		args_cpu(b, &a);
		args_of(&a, getenv("CFLAGS"));
		arg(&a, "-c"), arg(&a, b->options->ops.at[i]), arg(&a, "-o"), arg(&a, object);
		run_operators(b, argv_of(&a), arena_printf(b->cx->arena, "%s/log", b->dir));
		arg(objects, object);
	}
}

/* Links a program, or with further options a part of one. `strip` removes names of functions. */
static void
link_with(Build *b, const Argv *parts, const Argv *options, bool strip, const char *out)
{
	Argv a = { .cx = b->cx };

	args_compiler(b, &a);
	arg(&a, "-o"), arg(&a, out);
	for (int i = 0; i < parts->v.n; i++)
		arg(&a, parts->v.at[i]);
	arg(&a, "-Wl,--gc-sections");
	if (strip)
		arg(&a, "-s");
	for (int i = 0; i < options->v.n; i++)
		arg(&a, options->v.at[i]);
	run_or_fail(b, argv_of(&a), "to link");
}

static void
link_exe(Build *b, const ProgramText *t, const Argv *parts, const char *out)
{
	Argv a = { .cx = b->cx };

	(void)t;
	if (b->options->fixed || b->options->target->is_static)
		arg(&a, "-static");
	/* Puts code, constants and data side by side; otherwise each would begin a page of the file. In memory, data
	 * still begin a page. The smaller page size keeps the linker from padding the file for that. */
	arg(&a, "-no-pie");
	arg(&a, "-Wl,-z,noexecstack,-z,noseparate-code,-z,norelro,-z,common-page-size=64,--build-id=none");
	args_of(&a, getenv("LDFLAGS"));
	args_of(&a, b->options->target->libs);
	link_with(b, parts, &a, !b->options->debug, out);
}

/* Links a shared library that exports only NAME_*. It stays loaded, because it frees memory of calling threads when
 * these end. */
static void
link_shared(Build *b, const ProgramText *t, const Argv *parts, const char *out)
{
	const char *script = arena_printf(b->cx->arena, "%s/names", b->dir), *slash = strrchr(b->out, '/');
	const char *text = arena_printf(b->cx->arena, "{ global: %s_*; local: *; };\n", b->options->name);
	Argv a = { .cx = b->cx };

	(void)t;
	write_text(b->cx, script, text, (int64_t)strlen(text));
	arg(&a, "-shared"), arg(&a, "-Wl,-z,noexecstack,-z,nodelete");
	arg(&a, "-Xlinker"), arg(&a, arena_printf(b->cx->arena, "--version-script=%s", script));
	arg(&a, "-Xlinker"), arg(&a, arena_printf(b->cx->arena, "-soname=%s", slash ? slash + 1 : b->out));
	args_of(&a, getenv("LDFLAGS"));
	args_of(&a, b->options->target->libs);
	link_with(b, parts, &a, !b->options->debug, out);
}

/* Returns the command for ar or objcopy: LLVM's with clang, else the target's or this machine's. */
static const char *
tool(Build *b, const char *name)
{
	if (!b->cross)
		return name;
	return strstr(b->cc, "clang") ? arena_printf(b->cx->arena, "llvm-%s", name) :
					arena_printf(b->cx->arena, "%s%s", b->options->target->tools, name);
}

static void
run_tool(Build *b, Argv *a, const char *what)
{
	Process p;

	if (!start(b, argv_of(a), arena_printf(b->cx->arena, "%s/log", b->dir), &p))
		fail(b->cx, NOWHERE, "%s: %s (Debian has it in %s)", p.name, strerror(errno),
		     strstr(b->cc, "clang") && b->cross ? "llvm" : b->options->target->tools_package);
	if (process_end(&p))
		process_failed(b, &p, what);
}

/* Links everything reachable from NAME_* into one object and hides all other symbols, so that two such objects can be
 * linked together. */
static void
link_object(Build *b, const ProgramText *t, const Argv *parts, const char *out)
{
	const char *whole = arena_printf(b->cx->arena, "%s/whole.o", b->dir);
	Argv a = { .cx = b->cx }, copy = { .cx = b->cx };

	arg(&a, "-r"), arg(&a, "-nostdlib"), arg(&a, "-Wl,-z,noexecstack");
	for (int i = 0; i < t->exported.n; i++)
		arg(&a, arena_printf(b->cx->arena, "-Wl,-u,%s", t->exported.at[i]));
	link_with(b, parts, &a, false, whole);
	arg(&copy, tool(b, "objcopy")), arg(&copy, "-w");
	if (!b->options->debug)
		arg(&copy, "--strip-unneeded");
	arg(&copy, arena_printf(b->cx->arena, "--keep-global-symbol=%s_*", b->options->name));
	arg(&copy, whole), arg(&copy, out);
	run_tool(b, &copy, "to hide names");
}

static void
archive(Build *b, const char *object, const char *out)
{
	Argv a = { .cx = b->cx };

	arg(&a, tool(b, "ar")), arg(&a, "rcsD"), arg(&a, out), arg(&a, object);
	run_tool(b, &a, "to make an archive");
}

/* ---- the whole build --------------------------------------------------------------------------------------------- */

/* Returns the path of a file in the same folder as the result. */
static const char *
beside(const Build *b, const char *name)
{
	const char *slash = strrchr(b->out, '/');

	return arena_printf(b->cx->arena, "%.*s%s", slash ? (int)(slash + 1 - b->out) : 0, b->out, name);
}

/* Suffixes of a library's header and of its pkg-config file. */
static const char *const library_files[] = { "h", "pc" };

/* Fails, before anything is compiled, if a file beside the result would replace an input or another result. */
static void
refuse_beside(Build *b)
{
	Texts to = { 0 };

	for (int i = 0; i < b->options->writes.n; i++)
		vec_push(b->cx->arena, &to, b->options->writes.at[i]);
	for (int i = 0; i < 2 && b->options->name; i++)
		vec_push(b->cx->arena, &to, beside(b, arena_printf(b->cx->arena, "%s.%s", b->options->name,
								   library_files[i])));
	if (b->options->weights_file)
		vec_push(b->cx->arena, &to, beside(b, b->options->weights_file));
	refuse_overwrite(b->cx, &b->options->reads, &to);
}

/* Returns a file's name with escapes, as pkg-config reads it in a list of options. */
static const char *
pc_name(Arena *a, const char *file)
{
	char *text = new(a, char, 2 * (int64_t)strlen(file) + 1), *at = text;

	for (; *file; file++) {
		if (strchr(" \t'\"\\#", *file))
			*at++ = '\\';
		else if (*file == '$')
			*at++ = '$';
		*at++ = *file;
	}
	*at = 0;
	return text;
}

/* Adds the files beside a library: NAME.h, and NAME.pc for pkg-config. */
static void
add_header(Build *b, const ProgramText *t, Results *r)
{
	const char *slash = strrchr(b->out, '/'), *file = slash ? slash + 1 : b->out, *name = b->options->name;
	const char *pc = arena_printf(b->cx->arena,
		"Name: %s\nDescription: a model compiled by Kiln\nVersion: 1\nCflags: -I${pcfiledir}\n"
		"Libs: ${pcfiledir}/%s %s\n", name, pc_name(b->cx->arena, file),
		strcmp(b->options->emit, "shared") ? b->options->target->libs : "-Wl,-rpath,${pcfiledir}");
	const char *texts[] = { t->header, pc };

	for (int i = 0; i < 2; i++) {
		const char *made = arena_printf(b->cx->arena, "%s.%s", name, library_files[i]),
			   *from = arena_printf(b->cx->arena, "%s/made.%s", b->dir, library_files[i]);

		write_text(b->cx, from, texts[i], (int64_t)strlen(texts[i]));
		results_add(r, from, beside(b, made));
	}
}

/* Moves the program or library and the files beside it to their destinations, the program last. */
static void
put_results(Build *b, const ProgramText *t, const char *from)
{
	Results r = { .cx = b->cx };

	if (b->options->name)
		add_header(b, t, &r);
	if (b->options->weights_file) {
		const char *name = weights_beside(b, t->weights);

		results_add(&r, arena_printf(b->cx->arena, "%s/%s", b->dir, name), beside(b, name));
	}
	results_add(&r, from, b->out);
	results_place(&r);
}

/* Writes the headers that the text and the user's operators include to the temporary folder. */
static void
write_headers(Build *b, const ProgramText *t)
{
	Texts files = { 0 };

	carry_add_included(b->cx, t->source, "", &files);
	carry_files(b->cx, &files, b->dir);
	if (t->bare && b->options->name)
		write_text(b->cx, arena_printf(b->cx->arena, "%s/%s.h", b->dir, b->options->name), t->header,
			   (int64_t)strlen(t->header));
	if (b->options->ops.n)
		operators_header(b->cx, b->dir);
}

static void
build_text(Build *b, const ProgramText *t)
{
	const char *out = arena_printf(b->cx->arena, "%s/text", b->dir);
	Results r = { .cx = b->cx };

	if (!strcmp(b->options->emit, "c") || !strcmp(b->options->emit, "cuda")) {
		(!strcmp(b->options->emit, "c") ? folder_write : folder_write_cuda)(b, t);
		return;
	}
	write_text(b->cx, out, t->ptx, (int64_t)strlen(t->ptx));
	results_add(&r, out, b->out);
	results_place(&r);
}

/* Largest number of bytes of weights in the program's file: code must be within 2 GB of them. */
enum { WEIGHTS_INSIDE = 2000 << 20 };

static void
compile_and_link(Build *b, const ProgramText *t, const char *weights, const char *out)
{
	const char *c = arena_printf(b->cx->arena, "%s/program.c", b->dir),
		   *library = arena_printf(b->cx->arena, "%s/librt.a", b->dir);
	Argv parts = { .cx = b->cx };

	(b->options->levels.n ? compile_levels : compile_c)(b, c, &parts);
	arg(&parts, weights);
	compile_operators(b, &parts);
	if (t->bare && b->options->name) {
		;                                /* the target needs no specs */
	} else if (b->cross) {
		runtime_objects(b, &parts);
	} else {
		carry_levels(b, &parts);
		if (b->options->ops_level) {    /* these come first, because the linker uses the first definition */
			const char *ops = arena_printf(b->cx->arena, "%s/ops.a", b->dir);

			carry_library(b->cx, b->options->ops_level, false, ops);
			arg(&parts, ops);
		}
		carry_library(b->cx, 0, false, library);
		arg(&parts, library);
	}
	(!b->options->name ? link_exe :
	 !strcmp(b->options->emit, "shared") ? link_shared : link_object)(b, t, &parts, out);
}

/* Compiles plain functions again for size if they exceed --max-flash. Fails if they still do. */
static void
fit(Build *b, ProgramText *t, const char *weights, const char *out)
{
	fit_measure(b, t, out);
	if (b->options->max_flash && t->flash > b->options->max_flash) {
		b->small = true;
		compile_and_link(b, t, weights, out);
		fit_measure(b, t, out);
		fit_check_flash(b, t);
	}
	if (tells_stack(b))
		fit_stack(b, t, arena_printf(b->cx->arena, "%s/program.ci", b->dir));
}

/* Compiles and links the C. */
static void
build_machine_code(Build *b, ProgramText *t, const char *out)
{
	Cx *cx = b->cx;
	const char *c = arena_printf(cx->arena, "%s/program.c", b->dir);
	const char *weights = arena_printf(cx->arena, "%s/weights.o", b->dir), *why = NULL;
	const char *name = !strcmp(b->options->emit, "c") ? arena_printf(cx->arena, "%s_weights", b->options->name) :
		"kiln_weights";
	const Weights none = { .cx = cx };

	if (!b->options->weights_file && t->weights->bytes.n > WEIGHTS_INSIDE)
		fail_status(cx, EXIT_USAGE, NOWHERE, "%.1f GB of weights are more than code can address in one file: "
			    "use --weights file, which stores them beside it", (double)t->weights->bytes.n / 1e9);
	write_text(cx, c, t->source, t->n);
	write_headers(b, t);
	if (!weights_write_object(b->options->weights_file ? &none : t->weights, weights, &b->options->target->elf,
				  name, &why))
		fail(cx, NOWHERE, "%s: %s", weights, why);
	if (b->tcc) {
		tcc_build(cx, b->dir, (TccFiles){ c, weights, &b->options->ops, b->options->name, out });
		return;
	}
	compile_and_link(b, t, weights, out);
	if (t->bare)
		fit(b, t, weights, out);
}

static void
build_in_folder(Cx *cx, const char *dir, void *arg_)
{
	struct { Build *build; ProgramText *text; } *p = arg_;
	Build *b = p->build;
	const char *out = arena_printf(cx->arena, "%s/out", dir);

	b->dir = dir;
	b->out = link_target(cx, b->options->out);
	if (!is_made_of_code(b->options)) {
		if (p->text->bare && !b->tcc && (b->options->max_flash || b->options->target->is_bare))
			build_machine_code(b, p->text, out);     /* compiles only to measure the code's size */
		build_text(b, p->text);
		return;
	}
	refuse_beside(b);
	build_machine_code(b, p->text, out);
	p->text->code_bytes = elf_code_bytes(cx, out, b->tcc);
	if (!strcmp(b->options->emit, "static")) {
		const char *object = arena_printf(cx->arena, "%s/%s.o", dir, b->options->name);

		if (rename(out, object))
			fail(cx, NOWHERE, "%s: %s", object, strerror(errno));
		archive(b, object, out);
	}
	chmod(out, (!b->options->name || !strcmp(b->options->emit, "shared") ? 0777 : 0666) & ~b->mask);
	if (b->tcc && !b->options->weights_file)       /* tcc puts weights into the executable segment */
		p->text->code_bytes -= p->text->weights->bytes.n;
	put_results(b, p->text, out);
}

void
build_program(Cx *cx, ProgramText *text, const BuildOptions *o)
{
	Build b;
	struct { Build *build; ProgramText *text; } arg_ = { &b, text };

	build_init(&b, cx, o);
	text->by_tcc = b.tcc && is_made_of_code(o);
	process_folder(cx, build_in_folder, &arg_);
}
