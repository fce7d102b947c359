/*
 * Writes a folder of C that can be passed on (--emit c): the text, its header, the runtime files that it needs,
 * weights, build.ninja and README.md. All files are first written in the temporary folder (outputs.c).
 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

enum { WEIGHTS_AS_TEXT = 1 << 20 }; /* largest number of bytes of weights that are written as C and not as an object */

typedef struct Folder {
	Build *build;
	Cx *cx;
	const ProgramText *text;
	const BuildOptions *options;
	Texts made;              /* names of the files written */
	Texts objects;           /* names of the objects that these files are compiled to */
	Texts runtime;           /* files of the runtime: sources and their headers */
} Folder;

static const char *
file_name(const Folder *f, const char *end)
{
	return arena_printf(f->cx->arena, "%s%s", f->options->name, end);
}

static void
add_file(Folder *f, const char *name, Buf *text)
{
	write_text(f->cx, arena_printf(f->cx->arena, "%s/%s", f->build->dir, name), text->at ? text->at : "", text->n);
	vec_push(f->cx->arena, &f->made, name);
	buf_free(text);
}

static bool
is_c(const char *name)
{
	return !strcmp(name + strlen(name) - 2, ".c");
}

/* ---- the folder's files ------------------------------------------------------------------------------------------ */

static void
put_sources(Folder *f)
{
	Buf c = { 0 }, h = { 0 };

	buf_add(&c, f->text->source, f->text->n);
	add_file(f, file_name(f, ".c"), &c);
	buf_puts(&h, f->text->header);
	add_file(f, file_name(f, ".h"), &h);
}

static void
put_runtime(Folder *f)
{
	carry_add_included(f->cx, f->text->source, "", &f->runtime);
	if (f->options->ops.n)
		carry_add(f->cx, "rt/kiln.h", &f->runtime);
	if (f->text->bare)
		carry_files(f->cx, &f->runtime, f->build->dir);
	else
		runtime_sources(f->build, f->text->source, &f->runtime);
	for (int i = 0; i < f->runtime.n; i++)
		vec_push(f->cx->arena, &f->made, f->runtime.at[i]);
}

/* Writes the user's operators: NAME_op0.c, ... */
static void
put_operators(Folder *f)
{
	for (int i = 0; i < f->options->ops.n; i++) {
		Buf c = { 0 };

		buf_puts(&c, file_text(f->cx, f->options->ops.at[i]));
		add_file(f, arena_printf(f->cx->arena, "%s_op%d.c", f->options->name, i), &c);
	}
	if (f->options->ops.n) {
		operators_header(f->cx, f->build->dir);
		vec_push(f->cx->arena, &f->made, "kiln.h");
	}
}

static void
put_weights_text(Folder *f)
{
	const Weights *w = f->text->weights;
	const unsigned char *at = (const unsigned char *)w->bytes.at;
	const char *name = f->options->name;
	Buf b = { 0 };

	buf_printf(&b, "/* %s_weights.c - the constants of %s.c, little-endian */\n#include \"rt/order.h\"\n"
		   "extern const unsigned char %s_weights[];\n"
		   "const unsigned char %s_weights[] __attribute__((aligned(64))) = {", name, name, name, name);
	for (int64_t i = 0; i < w->bytes.n; i++)
		buf_printf(&b, "%s%d,", i % 24 ? "" : "\n", at[i]);
	buf_printf(&b, "%s\n};\n", w->bytes.n ? "" : "\n0");
	add_file(f, file_name(f, "_weights.c"), &b);
}

/* Writes the weights as C, as an object, or as the file of --weights file. */
static void
write_weights(Folder *f)
{
	const Weights *w = f->text->weights;
	const char *object = file_name(f, "_weights.o"), *why = NULL;

	if (f->options->weights_file)
		vec_push(f->cx->arena, &f->made, weights_beside(f->build, w));
	else if (w->bytes.n <= WEIGHTS_AS_TEXT && (w->bytes.n || !f->text->bare))
		put_weights_text(f);
	if (f->options->weights_file || w->bytes.n <= WEIGHTS_AS_TEXT)
		return;
	if (!weights_write_object(w, arena_printf(f->cx->arena, "%s/%s", f->build->dir, object),
				  &f->options->target->elf, file_name(f, "_weights"), &why))
		fail(f->cx, (Range){ 0 }, "%s: %s", object, why);
	vec_push(f->cx->arena, &f->made, object);
	vec_push(f->cx->arena, &f->objects, object);
}

/* ---- build.ninja ------------------------------------------------------------------------------------------------- */

static const char *
compiler_of(const Folder *f)
{
	return f->options->cc ? f->options->cc : f->options->target == target_host() ? "cc" : f->options->target->cc;
}

static const char *
tools_of(const Folder *f)
{
	return f->options->target == target_host() ? "" : f->options->target->tools;
}

/* Returns the options that select the processor `cpu`, each followed by a space. If cpu is null, those of the build's
 * processor. */
static const char *
cpu_of(const Folder *f, const char *cpu)
{
	Argv a = { .cx = f->cx };
	const char *words = "";
	Build b;

	build_init(&b, f->cx, f->options);
	if (cpu)
		b.cpu = cpu;
	if (!b.tcc)
		args_cpu(&b, &a);
	for (int i = 0; i < a.v.n; i++)
		words = arena_printf(f->cx->arena, "%s%s ", words, a.v.at[i]);
	return words;
}

/* Options of every compile. Without -ffp-contract, a product and a sum are two instructions. */
static const char flags[] = "-std=c11 -D_GNU_SOURCE -fno-strict-aliasing";
static const char fast[] = "-fno-math-errno -fno-trapping-math -ffp-contract=fast";

/* Options that only GCC knows, in a form for ninja, because `cc` may be another compiler. */
static const char if_gcc[] = "$$(! $cc --version | grep -q 'Free Software' || echo %s)";

static const char *
level_of(const Folder *f)
{
	return f->build->small ? "-Os" : "-O2";
}

static void
put_rules(Folder *f, Buf *b)
{
	const char *tools = tools_of(f);

	buf_printf(b, "cc = %s\nld = %sld\nar = %sar\nobjcopy = %sobjcopy\ncpu = %s\n", compiler_of(f), tools, tools,
		   tools, cpu_of(f, NULL));
	buf_printf(b, "cflags = %s -Wall -Wextra -Wpedantic $\n  -ffunction-sections -fdata-sections "
		   "-fno-asynchronous-unwind-tables %s\n"
		   "fast = %s %s %s\n\n", flags, pic_option(f->options->target), level_of(f), fast,
		   arena_printf(f->cx->arena, if_gcc, fma_option("gcc")));
	buf_puts(b, "rule cc\n  command = $cc $cflags $fast $cpu $define -c $in -o $out\n  description = CC $in\n");
	if (!f->text->bare)
		buf_puts(b, "rule rt\n  command = $cc $cflags -Os -fwrapv $cpu -c $in -o $out\n"
			 "  description = CC $in\n");
	buf_puts(b, "# one object, of which only the functions of the header are seen\n"
		 "rule join\n  command = $ld -r -z noexecstack --gc-sections $roots -o $out $in && $objcopy -w "
		 "--keep-global-symbol='$name' $out\n  description = LD $out\n"
		 "rule ar\n  command = rm -f $out && $ar rcsD $out $in\n  description = AR $out\n");
	if (!f->options->target->is_bare)
		buf_printf(b, "rule so\n  command = $cc -shared -o $out $in %s\n  description = LD $out\n",
			   f->options->target->libs);
}

static void
put_object(Folder *f, Buf *b, const char *rule, const char *name, const char *object)
{
	buf_printf(b, "build build/%s: %s %s\n", object, rule, name);
	vec_push(f->cx->arena, &f->objects, arena_printf(f->cx->arena, "build/%s", object));
}

/* Writes rules that compile NAME.c for each of several processors. */
static void
put_levels(Folder *f, Buf *b)
{
	const BuildOptions *o = f->options;

	for (int i = 0; i < o->levels.n; i++) {
		put_object(f, b, "cc", file_name(f, ".c"), arena_printf(f->cx->arena, "%s.%d.o", o->name, i));
		buf_printf(b, "  cpu = %s\n  define = -DKILN_LEVEL=%d -DVC_FLOATS=%d%s%s\n", cpu_of(f, o->levels.at[i]),
			   i, o->level_floats[i], i ? "" : " -DKILN_ALL",
			   target_in_order(o->target, o->levels.at[i]) ? " -DVC_IN_ORDER=1" : "");
	}
}

/* Writes rules for the runtime's objects. Files outside of rt/ops are compiled for the lowest processor, because they
 * check whether this one is sufficient. */
static void
put_objects(Folder *f, Buf *b)
{
	put_levels(f, b);
	for (int i = 0; i < f->made.n; i++) {
		const char *name = f->made.at[i];
		const bool rt = !strncmp(name, "rt/", 3);

		if (!is_c(name) || (f->options->levels.n && !strcmp(name, file_name(f, ".c"))))
			continue;
		put_object(f, b, rt ? "rt" : "cc", name,
			   arena_printf(f->cx->arena, "%.*s.o", (int)strlen(name) - 2, name));
		if (rt && strncmp(name, "rt/ops/", 7))
			buf_puts(b, "  cpu =\n");
		if (strstr(name, "_op"))
			buf_puts(b, "  define = -I .\n");
	}
}

static void
put_ninja(Folder *f)
{
	const char *name = f->options->name;
	Buf b = { 0 };

	buf_printf(&b, "# Builds lib%s.a%s.\nbuilddir = build\n", name,
		   f->options->target->is_bare ? "" : arena_printf(f->cx->arena, " and lib%s.so", name));
	put_rules(f, &b);
	buf_puts(&b, "\n");
	put_objects(f, &b);
	buf_printf(&b, "build build/lib%s.o: join", name);
	for (int i = 0; i < f->objects.n; i++)
		buf_printf(&b, " $\n  %s", f->objects.at[i]);
	buf_printf(&b, "\n  name = %s_*\n  roots =", name);
	for (int i = 0; i < f->text->exported.n; i++)
		buf_printf(&b, " -u %s", f->text->exported.at[i]);
	buf_printf(&b, "\nbuild lib%s.a: ar build/lib%s.o\n", name, name);
	if (!f->options->target->is_bare)
		buf_printf(&b, "build lib%s.so: so build/lib%s.o\n", name, name);
	add_file(f, "build.ninja", &b);
}

/* ---- README.md --------------------------------------------------------------------------------------------------- */

static void
put_what(Folder *f, Buf *b)
{
	const char *name = f->options->name;

	buf_printf(b, "# %s\n\n", name);
	if (f->text->bare)
		buf_printf(b, "A model as plain C11: no runtime, no heap, no files. It calls only `memcpy` and "
			   "libm.");
	else
		buf_printf(b, "A model as C11, with everything that it needs except the C library. `rt` holds the "
			   "part of Kiln's runtime that the model calls.");
	buf_printf(b, "\n`%s.h` declares the functions. `ninja` makes `lib%s.a`%s. To compile it into your own "
		   "program:\n\n", name, name, f->options->target->is_bare ? "" :
		   arena_printf(f->cx->arena, " and `lib%s.so`", name));
}

static void
put_command(Folder *f, Buf *b)
{
	buf_printf(b, "    %s %s%s \\\n        %s %s -I . program.c", compiler_of(f), cpu_of(f, NULL), flags,
		   level_of(f), fast);
	for (int i = 0; i < f->made.n; i++)
		if (is_c(f->made.at[i]) && strncmp(f->made.at[i], "rt/", 3))
			buf_printf(b, " %s", f->made.at[i]);
	for (int i = 0; i < f->objects.n; i++)
		if (strncmp(f->objects.at[i], "build/", 6))
			buf_printf(b, " %s", f->objects.at[i]);
	buf_printf(b, "%s %s\n\n", f->text->bare ? "" : " rt/*.c rt/ops/*.c", f->options->target->is_bare ? "-lm" :
		   f->options->target->libs);
}

static void
put_readme(Folder *f)
{
	Buf b = { 0 };

	put_what(f, &b);
	if (f->options->levels.n)
		buf_printf(&b, "    cc -I . program.c lib%s.a %s\n\n", f->options->name, f->options->target->libs);
	else
		put_command(f, &b);
	buf_printf(&b, "It has %lld bytes of constants", (long long)f->text->weights->bytes.n);
	if (f->text->bare)
		buf_printf(&b, " and %lld bytes of static memory, which one call at a time uses.\n"
			   "An instance in memory of your own needs as many", (long long)f->text->ram);
	buf_puts(&b, ".\n");
	if (f->options->vector_floats > 1)
		buf_printf(&b, "The constants are packed for kernels with vectors of %d floats. gcc and clang compile "
			   "these for other\nprocessors, too (slower). `--cc tcc` writes text that tcc compiles.\n",
			   f->options->vector_floats);
	if (f->options->target->is_bare && !target_fpu(f->options, f->build->cpu))
		buf_puts(&b, "If the rest of the program is built for the processor's FPU, add "
			 "`-mfloat-abi=hard`.\n");
	if (f->options->ops.n)
		buf_printf(&b, "`%s_op0.c` and so on are operators of the model's author; files that they include "
			   "other than `kiln.h` are not in this folder.\n", f->options->name);
	add_file(f, "README.md", &b);
}

/* ---- the whole folder -------------------------------------------------------------------------------------------- */

static const char *
path_in(const Folder *f, const char *name)
{
	return arena_printf(f->cx->arena, "%s/%s", f->build->out, name);
}

/* Fails, before any file is moved, if a file would overwrite an input: the folder may contain the model. */
static void
refuse_overwrites(const Folder *f)
{
	Texts to = { 0 };

	for (int i = 0; i < f->options->writes.n; i++)
		vec_push(f->cx->arena, &to, f->options->writes.at[i]);
	for (int i = 0; i < f->made.n; i++)
		vec_push(f->cx->arena, &to, path_in(f, f->made.at[i]));
	refuse_overwrite(f->cx, &f->options->reads, &to);
}

static void
place_all(Folder *f)
{
	Results r = { .cx = f->cx };

	refuse_overwrites(f);
	for (int i = 0; i < f->made.n; i++) {
		const char *path = path_in(f, f->made.at[i]);

		results_parents(&r, path, strlen(f->build->out) - 1);
		results_add(&r, arena_printf(f->cx->arena, "%s/%s", f->build->dir, f->made.at[i]), path);
	}
	results_place(&r);
}

void
folder_write(Build *b, const ProgramText *t)
{
	Folder f = { .build = b, .cx = b->cx, .text = t, .options = b->options };

	put_sources(&f);
	put_runtime(&f);
	put_operators(&f);
	write_weights(&f);
	put_ninja(&f);
	put_readme(&f);
	place_all(&f);
}

/* Writes the kernels for nvcc, the headers that they include, and a program that times them. */
void
folder_write_cuda(Build *b, const ProgramText *t)
{
	static const char *const headers[] = { "cutile.h", "tmath.h", "tsample.h", "tspecial.h" };
	Folder f = { .build = b, .cx = b->cx, .text = t, .options = b->options };
	Buf text = { 0 };

	buf_puts(&text, t->cuda);
	add_file(&f, "kernels.cu", &text);
	buf_puts(&text, t->timing);
	add_file(&f, "main.cu", &text);
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
		buf_puts(&text, carry_text(b->cx, arena_printf(b->cx->arena, "rt/ops/%s", headers[i])));
		add_file(&f, headers[i], &text);
	}
	place_all(&f);
}
