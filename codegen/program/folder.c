/*
 * A folder of C to hand to somebody (--emit c --no-generic): sources, weights, a header, build.ninja, README.md.
 *
 * Everything is written in the temporary folder first; each file then takes its place by a rename.
 */
#include "build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WEIGHTS_AS_TEXT = 1 << 20 };      /* bytes: more are a file that the assembler includes */

typedef struct Folder {
	Cx *cx;
	const ProgramText *t;
	const BuildOptions *o;
	const char *from, *to;   /* the temporary folder, and OUT */
	Texts made;              /* names of files */
} Folder;

static void
add_file(Folder *f, const char *name, Buf *text)
{
	write_text(f->cx, arena_printf(f->cx->arena, "%s/%s", f->from, name), text->at ? text->at : "", text->n);
	vec_push(f->cx->arena, &f->made, name);
	buf_free(text);
}

static const char *
named(const Folder *f, const char *end)
{
	return arena_printf(f->cx->arena, "%s%s", f->o->name, end);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static void
put_weights_text(Folder *f)
{
	const Weights *w = f->t->weights;
	const unsigned char *at = (const unsigned char *)w->bytes.at;
	Buf b = { 0 };

	buf_printf(&b, "/* %s_weights.c - the constants of %s.c, as the machine has them: little-endian */\n"
		   "extern const unsigned char %s_weights[%lld];\n"
		   "const unsigned char %s_weights[%lld] __attribute__((aligned(64))) = {", f->o->name, f->o->name,
		   f->o->name, (long long)w->bytes.n, f->o->name, (long long)w->bytes.n);
	for (int64_t i = 0; i < w->bytes.n; i++)
		buf_printf(&b, "%s%d,", i % 24 ? "" : "\n", at[i]);
	buf_puts(&b, "\n};\n");
	add_file(f, named(f, "_weights.c"), &b);
}

static void
put_weights_binary(Folder *f)
{
	const Weights *w = f->t->weights;
	const char *name = f->o->name;
	Buf b = { 0 };

	buf_add(&b, w->bytes.at, w->bytes.n);
	add_file(f, named(f, "_weights.bin"), &b);
	buf_printf(&b, "/* %s_weights.S - constants of %s.c; the path is from where the compiler runs, or by -I */\n"
		   "\t.section .rodata\n\t.global %s_weights\n\t.balign 64\n%s_weights:\n\t.incbin \"%s_weights.bin\"\n"
		   "#if defined __linux__ && defined __ELF__\n\t.section .note.GNU-stack, \"\", %%progbits\n#endif\n",
		   name,
		   name, name, name, name);
	add_file(f, named(f, "_weights.S"), &b);
}

static const char *
put_weights(Folder *f)
{
	if (!f->t->weights->bytes.n)
		return NULL;
	if (f->t->weights->bytes.n > WEIGHTS_AS_TEXT) {
		put_weights_binary(f);
		return "_weights.S";
	}
	put_weights_text(f);
	return "_weights.c";
}

/* ---- how it is built --------------------------------------------------------------------------------------------- */

static const char *
compiler_of(const Folder *f)
{
	return f->o->cc ? f->o->cc : f->o->target == target_host() ? "cc" : f->o->target->cc;
}

/* Each with a space behind it. */
static const char *
cpu_of(const Folder *f)
{
	Argv a = { .cx = f->cx };
	const char *words = "";
	Build b;

	build_init(&b, f->cx, f->o);
	args_cpu(&b, &a);
	for (int i = 0; i < a.v.n; i++)
		words = arena_printf(f->cx->arena, "%s%s ", words, a.v.at[i]);
	return words;
}

/* Without the last one a product and a sum are two instructions. */
static const char flags[] = "-O2 -fno-strict-aliasing -fno-math-errno -fno-trapping-math -ffp-contract=fast";

static void
put_ninja(Folder *f, const char *weights)
{
	const char *name = f->o->name;
	Buf b = { 0 };

	buf_printf(&b, "# Builds lib%s.a.\ncc = %s\nar = %sar\n"
		   "cflags = %s-std=c11 -Wall -Wextra -Wpedantic $\n  %s -ffunction-sections\n\n", name,
		   compiler_of(f), f->o->target == target_host() ? "" : f->o->target->tools, cpu_of(f), flags);
	buf_puts(&b, "rule cc\n  command = $cc $cflags -I . -c $in -o $out\n  description = CC $in\n"
		 "rule ar\n  command = rm -f $out && $ar rcsD $out $in\n  description = AR $out\n\n");
	buf_printf(&b, "build %s.o: cc %s.c\n", name, name);
	if (weights)
		buf_printf(&b, "build %s_weights.o: cc %s%s\n", name, name, weights);
	buf_printf(&b, "build lib%s.a: ar %s.o", name, name);
	if (weights)
		buf_printf(&b, " %s_weights.o", name);
	buf_puts(&b, "\n");
	add_file(f, "build.ninja", &b);
}

static void
put_readme(Folder *f, const char *weights)
{
	const char *name = f->o->name;
	Buf b = { 0 };

	buf_printf(&b, "# %s\n\nA model as plain C11: no runtime, no heap, no files; `memcpy` and libm are all that it "
		   "calls. `%s.h` has the functions.\n\n", name, name);
	buf_printf(&b, "    %s %s-std=c11 %s -I . -c %s.c", compiler_of(f), cpu_of(f), flags, name);
	if (weights)
		buf_printf(&b, " %s%s", name, weights);
	buf_printf(&b, "\n\nor `ninja`, which makes `lib%s.a`. It has %lld bytes of constants and %lld bytes of static "
		   "memory that all\ncalls share: one call at a time.", name, (long long)f->t->weights->bytes.n,
		   (long long)f->t->ram);
	if (f->o->vector_floats > 1)
		buf_printf(&b, " The constants lie as kernels with vectors of %d floats read them:\ngcc and clang, on "
			   "other processors, too (slower); `--cc tcc` makes text that tcc takes.",
			   f->o->vector_floats);
	if (f->o->target->is_bare)
		buf_puts(&b, "\nWhere the rest of the program is built for the processor's FPU, add "
			 "`-mfloat-abi=hard`.");
	buf_puts(&b, "\n");
	add_file(f, "README.md", &b);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void
place(Folder *f, const char *name)
{
	const char *from = arena_printf(f->cx->arena, "%s/%s", f->from, name);
	const char *to = arena_printf(f->cx->arena, "%s/%s", f->to, name);

	if (!build_move(f->cx, from, to))
		fail(f->cx, (Range){ 0 }, "%s: %s", to, strerror(errno));
}

void
folder_write(Cx *cx, const ProgramText *t, const BuildOptions *o, const char *from, const char *to)
{
	Folder f = { .cx = cx, .t = t, .o = o, .from = from, .to = to };
	Buf c = { 0 };
	const char *weights;

	buf_add(&c, t->c, t->n);
	add_file(&f, named(&f, ".c"), &c);
	vec_push(cx->arena, &f.made, named(&f, ".h"));
	for (int i = 0; i < t->headers.n; i++)
		vec_push(cx->arena, &f.made, strrchr(t->headers.at[i], '/') + 1);
	weights = put_weights(&f);
	put_ninja(&f, weights);
	put_readme(&f, weights);
	if (mkdir(to, 0777) && errno != EEXIST)
		fail(cx, (Range){ 0 }, "%s: %s", to, strerror(errno));
	for (int i = 0; i < f.made.n; i++)
		place(&f, f.made.at[i]);
}
