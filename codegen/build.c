/*
 * C text and weights -> one file, by a C compiler or by libtcc inside Kiln.
 *
 * Everything happens in a temporary folder; the result appears by rename, so a failed or interrupted build leaves
 * nothing behind.  The runtime comes prebuilt for the host; for other targets it is compiled from the carried sources
 * once per (sources, target, compiler) into the cache.  libtcc is touched here and nowhere else.
 */
#include "codegen.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libtcc.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct Build {
	Cx *cx;
	const BuildOptions *o;
	const char *dir;         /* temporary folder */
	const char *cc;          /* compiler of C */
	bool tcc, cross;
	int machine;             /* ELF machine of the target */
} Build;

#define NOWHERE ((Range){ 0 })

/* ---- processes and files ------------------------------------------------------------------------------------------ */

static int
remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw)
{
	(void)s, (void)flag, (void)ftw;
	return remove(path);
}

static const char *
temporary_folder(Cx *cx)
{
	const char *top = getenv("TMPDIR");
	char *dir = arena_printf(cx->arena, "%s/kiln-XXXXXX", top && top[0] ? top : "/tmp");

	if (!mkdtemp(dir))
		fail(cx, NOWHERE, "%s: %s", dir, strerror(errno));
	return dir;
}

static char *
read_whole(Cx *cx, const char *path, int64_t most)
{
	FILE *f = fopen(path, "rb");
	char *text = new(cx->arena, char, most + 1);

	if (f) {
		text[fread(text, 1, (size_t)most, f)] = 0;
		fclose(f);
	}
	return text;
}

/* Runs argv; its output goes to a file and, when it fails, into the message. */
static void
run(Build *b, char *const *argv, const char *what)
{
	const char *log = arena_printf(b->cx->arena, "%s/log", b->dir);
	posix_spawn_file_actions_t actions;
	int status = 0, why;
	pid_t pid;

	if (b->o->verbose) {
		for (int i = 0; argv[i]; i++)
			fprintf(stderr, "%s%s", i ? " " : "", argv[i]);
		fprintf(stderr, "\n");
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	why = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (why)
		fail(b->cx, NOWHERE, "%s: %s (choose a compiler by --cc; --cc tcc needs none)", argv[0], strerror(why));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		fail_status(b->cx, EXIT_BUG, NOWHERE, "%s failed %s:\n%s", argv[0], what, read_whole(b->cx, log, 6000));
}

typedef struct Argv { Vec(char *) v; Cx *cx; } Argv;

static void
arg(Argv *a, const char *text)
{
	vec_push(a->cx->arena, &a->v, arena_strdup(a->cx->arena, text));
}

/* Words of a variable like CFLAGS. */
static void
args_of(Argv *a, const char *words)
{
	char *copy = arena_strdup(a->cx->arena, words ? words : ""), *state = NULL;

	for (char *w = strtok_r(copy, " \t\n", &state); w; w = strtok_r(NULL, " \t\n", &state))
		arg(a, w);
}

static char *const *
argv_of(Argv *a)
{
	vec_push(a->cx->arena, &a->v, NULL);
	return a->v.at;
}

/* ---- the runtime for a target --------------------------------------------------------------------------------------- */

/* Compiles the carried sources by one shell-free make: each .c on its own, archived afterwards. */
static const char *const rt_folders[] = { "rt", "rt/ops" };

static void
compile_folder(Build *b, const char *folder, Argv *objects)
{
	const char *dir = arena_printf(b->cx->arena, "%s/src/%s", b->dir, folder);
	Argv list = { .cx = b->cx };
	char *names, *state = NULL;

	arg(&list, "ls"), arg(&list, dir);
	run(b, argv_of(&list), "to list the runtime's sources");
	names = read_whole(b->cx, arena_printf(b->cx->arena, "%s/log", b->dir), 1 << 16);
	for (char *n = strtok_r(names, "\n", &state); n; n = strtok_r(NULL, "\n", &state)) {
		const size_t len = strlen(n);
		Argv a = { .cx = b->cx };
		char *object;

		if (len < 3 || strcmp(n + len - 2, ".c"))
			continue;
		object = arena_printf(b->cx->arena, "%s/%s.o", b->dir, n);
		arg(&a, b->cc), arg(&a, "-std=c11"), arg(&a, "-D_GNU_SOURCE"), arg(&a, "-O2"), arg(&a, "-fno-strict-aliasing");
		arg(&a, "-ffunction-sections"), arg(&a, "-fdata-sections"), arg(&a, "-w"), arg(&a, "-c");
		arg(&a, arena_printf(b->cx->arena, "%s/%s", dir, n)), arg(&a, "-o"), arg(&a, object);
		run(b, argv_of(&a), "to compile the runtime");
		arg(objects, object);
	}
}

static const char *
target_library(Build *b)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *key, *path;
	Argv ar = { .cx = b->cx };
	struct stat s;

	cache = cache && cache[0] ? arena_printf(b->cx->arena, "%s/kiln", cache) :
		home ? arena_printf(b->cx->arena, "%s/.cache/kiln", home) : b->dir;
	key = arena_printf(b->cx->arena, "%016llx-%s", (unsigned long long)carry_hash(),
			   out_name(b->cx->arena, "", arena_printf(b->cx->arena, "%s-%s", b->cc, b->o->target ? b->o->target : "")));
	path = arena_printf(b->cx->arena, "%s/librt-%s.a", cache, key);
	if (!stat(path, &s))
		return path;
	if (isatty(2))
		fprintf(stderr, "kiln: compiling the runtime for %s, once\n", b->o->target ? b->o->target : b->cc);
	carry_sources(b->cx, arena_printf(b->cx->arena, "%s/src", b->dir));
	arg(&ar, "ar"), arg(&ar, "rcsD"), arg(&ar, arena_printf(b->cx->arena, "%s/librt.a", b->dir));
	for (size_t i = 0; i < sizeof rt_folders / sizeof *rt_folders; i++)
		compile_folder(b, rt_folders[i], &ar);
	run(b, argv_of(&ar), "to archive the runtime");
	if (cache != b->dir) {
		const char *part = arena_printf(b->cx->arena, "%s.%d", path, (int)getpid());
		Argv mk = { .cx = b->cx }, cp = { .cx = b->cx };

		arg(&mk, "mkdir"), arg(&mk, "-p"), arg(&mk, cache);
		run(b, argv_of(&mk), "to make the cache's folder");
		arg(&cp, "cp"), arg(&cp, arena_printf(b->cx->arena, "%s/librt.a", b->dir)), arg(&cp, part);
		run(b, argv_of(&cp), "to fill the cache");
		rename(part, path);
		return path;
	}
	return arena_printf(b->cx->arena, "%s/librt.a", b->dir);
}

/* ---- by a C compiler ------------------------------------------------------------------------------------------------ */

static const char *
cpu_flag(Build *b)
{
	const char *cpu = b->o->cpu ? b->o->cpu : b->cross ? NULL : "native";
	const bool x86 = b->machine == MACHINE_X86_64;

	return cpu ? arena_printf(b->cx->arena, x86 ? "-march=%s" : "-mcpu=%s", cpu) : NULL;
}

static void
compile_c(Build *b, const char *c, const char *object)
{
	Argv a = { .cx = b->cx };
	const char *cpu = cpu_flag(b);

	arg(&a, b->cc), arg(&a, "-std=gnu11"), arg(&a, b->o->opt ? "-O2" : "-O0"), arg(&a, "-Werror=implicit-function-declaration"), arg(&a, "-fno-strict-aliasing");
	arg(&a, "-ffunction-sections"), arg(&a, "-fdata-sections"), arg(&a, "-fno-math-errno"), arg(&a, "-fno-trapping-math");
	arg(&a, "-ftree-vectorize"), arg(&a, "-ffp-contract=fast");
	if (cpu)
		arg(&a, cpu);
	args_of(&a, getenv("CFLAGS"));
	arg(&a, "-I"), arg(&a, b->dir), arg(&a, "-c"), arg(&a, c), arg(&a, "-o"), arg(&a, object);
	run(b, argv_of(&a), "on emitted code: a bug of Kiln");
}

static void
link_program(Build *b, const char *object, const char *weights, const char *library, const char *out)
{
	Argv a = { .cx = b->cx };
	const bool is_static = !strcmp(b->o->emit, "static") || (b->o->target && strstr(b->o->target, "musl"));

	arg(&a, b->cc), arg(&a, "-o"), arg(&a, out), arg(&a, object), arg(&a, weights), arg(&a, library);
	if (is_static)
		arg(&a, "-static");
	if (!strcmp(b->o->emit, "shared"))
		arg(&a, "-shared");
	arg(&a, "-Wl,--gc-sections"), arg(&a, "-Wl,-z,noexecstack");
	args_of(&a, getenv("LDFLAGS"));
	arg(&a, "-lm"), arg(&a, "-lpthread");
	run(b, argv_of(&a), "to link the program");
}

/* ---- by libtcc -------------------------------------------------------------------------------------------------------- */

static void
tcc_error(void *arg_, const char *text)
{
	Buf *b = arg_;

	if (!strstr(text, "warning"))
		buf_printf(b, "%s\n", text);
}

/* What tcc has no headers for on a machine without a C library's development package. */
static const struct { const char *name, *text; } tcc_headers[] = {
	{ "stdint.h", "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;\n"
		      "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;\n"
		      "typedef unsigned long long uint64_t; typedef long intptr_t; typedef unsigned long uintptr_t;\n" },
	{ "stddef.h", "typedef unsigned long size_t; typedef long ptrdiff_t; typedef int wchar_t;\n#define NULL ((void *)0)\n"
		      "#define offsetof(t, m) ((size_t)&((t *)0)->m)\n" },
	{ "stdbool.h", "#define bool _Bool\n#define true 1\n#define false 0\n" },
};

/* Where the program begins, and what tcc calls for conversions of unsigned numbers. */
static const char tcc_start[] =
	"unsigned long __fixunsdfdi(double x) { return x < 0x1p63 ? (long)x : (long)(x - 0x1p63) ^ 1ul << 63; }\n"
	"unsigned long __fixunssfdi(float x) { return __fixunsdfdi(x); }\n"
	"double __floatundidf(unsigned long x) { return (long)x >= 0 ? (double)(long)x : 2.0 * (long)(x >> 1 | (x & 1)); }\n"
	"float __floatundisf(unsigned long x) { return (long)x >= 0 ? (float)(long)x : 2.0f * (float)(long)(x >> 1 | (x & 1)); }\n"
	"__asm__(\".globl _start\\n_start:\\n xor %ebp,%ebp\\n mov %rdx,%r9\\n pop %rsi\\n mov %rsp,%rdx\\n and $-16,%rsp\\n push %rax\\n\"\n"
	"        \" push %rsp\\n xor %r8d,%r8d\\n xor %ecx,%ecx\\n lea main(%rip),%rdi\\n call __libc_start_main\\n hlt\\n\");\n";

static const char *
find_library(Cx *cx, const char *name)
{
	static const char *const dirs[] = { "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib" };
	struct stat s;

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		const char *path = arena_printf(cx->arena, "%s/%s", dirs[i], name);

		if (!stat(path, &s))
			return path;
	}
	fail(cx, NOWHERE, "%s: not found: the C library's shared objects are needed to link with tcc", name);
}

static void
build_with_tcc(Build *b, const char *c, const char *weights, const char *out)
{
	const char *library = arena_printf(b->cx->arena, "%s/librt.a", b->dir);
	const char *support = arena_printf(b->cx->arena, "%s/support.o", b->dir);
	TCCState *s = tcc_new();
	Buf errors = { 0 };
	bool ok;

	for (size_t i = 0; i < sizeof tcc_headers / sizeof *tcc_headers; i++) {
		FILE *f = fopen(arena_printf(b->cx->arena, "%s/%s", b->dir, tcc_headers[i].name), "w");

		if (!f || fputs(tcc_headers[i].text, f) < 0 || fclose(f))
			fail(b->cx, NOWHERE, "%s/%s: %s", b->dir, tcc_headers[i].name, strerror(errno));
	}
	carry_library(b->cx, library);
	carry_support(b->cx, support);
	tcc_set_error_func(s, &errors, tcc_error);
	tcc_set_options(s, "-nostdlib -nostdinc -w");
	tcc_set_output_type(s, TCC_OUTPUT_EXE);
	tcc_add_include_path(s, b->dir);
	ok = tcc_add_file(s, c) >= 0 && tcc_add_file(s, weights) >= 0 && tcc_compile_string(s, tcc_start) >= 0 &&
	     tcc_add_file(s, library) >= 0 && tcc_add_file(s, support) >= 0 && tcc_add_file(s, find_library(b->cx, "libm.so.6")) >= 0 &&
	     tcc_add_file(s, find_library(b->cx, "libc.so.6")) >= 0 && tcc_output_file(s, out) >= 0;
	tcc_delete(s);
	if (!ok)
		fail_status(b->cx, EXIT_BUG, NOWHERE, "tcc failed on emitted code: a bug of Kiln:\n%s",
			    errors.at ? errors.at : "no message");
	buf_free(&errors);
}

/* ---- the whole ---------------------------------------------------------------------------------------------------------- */

static void
write_text(Cx *cx, const char *path, const char *text, int64_t n)
{
	FILE *f = fopen(path, "wb");
	const bool ok = f && fwrite(text, (size_t)n, 1, f) == 1;

	if (!ok || fclose(f))
		fail(cx, NOWHERE, "%s: %s", path, strerror(errno));
}

/* Moves a finished file to its place; across file systems by a copy beside it. */
static void
put_in_place(Build *b, const char *from)
{
	const char *part = arena_printf(b->cx->arena, "%s.part%d", b->o->out, (int)getpid());
	Argv cp = { .cx = b->cx };

	if (!rename(from, b->o->out))
		return;
	if (errno != EXDEV)
		fail(b->cx, NOWHERE, "%s: %s", b->o->out, strerror(errno));
	arg(&cp, "cp"), arg(&cp, from), arg(&cp, part);
	run(b, argv_of(&cp), "to put the program in its place");
	if (rename(part, b->o->out))
		fail(b->cx, NOWHERE, "%s: %s", b->o->out, strerror(errno));
}

static const char *
choose_compiler(Build *b)
{
	const char *cc = b->o->cc ? b->o->cc : b->cross ? NULL : getenv("CC");

	if (cc && cc[0])
		return cc;
	if (b->o->target && strstr(b->o->target, "musl"))
		return "musl-gcc";
	return b->cross ? arena_printf(b->cx->arena, "%s-gcc", b->o->target) : "cc";
}

static void
build_in_folder(Cx *cx, void *arg_)
{
	struct { Build *b; const ProgramText *text; } *p = arg_;
	Build *b = p->b;
	const char *c = arena_printf(cx->arena, "%s/program.c", b->dir), *object = arena_printf(cx->arena, "%s/program.o", b->dir);
	const char *weights = arena_printf(cx->arena, "%s/weights.o", b->dir), *out = arena_printf(cx->arena, "%s/out", b->dir);
	const char *library = arena_printf(cx->arena, "%s/librt.a", b->dir);
	char *why = NULL;

	write_text(cx, c, p->text->c, p->text->n);
	if (!strcmp(b->o->emit, "c")) {
		put_in_place(b, c);
		return;
	}
	carry_headers(cx, b->dir);
	if (!weights_write_object(p->text->weights, weights, b->machine, &why))
		fail(cx, NOWHERE, "%s: %s", weights, why);
	if (b->tcc) {
		build_with_tcc(b, c, weights, out);
	} else {
		compile_c(b, c, object);
		if (!strcmp(b->o->emit, "obj")) {
			put_in_place(b, object);
			return;
		}
		if (b->cross)
			library = target_library(b);
		else
			carry_library(cx, library);
		link_program(b, object, weights, library, out);
	}
	chmod(out, 0777 & ~umask(022));
	put_in_place(b, out);
}

/* What the compiler will define for this target: __AVX512F__, __AVX__, or neither (vconv.h). */
int
target_vector_floats(const BuildOptions *o)
{
	const bool cross = o->target && !strstr(o->target, "x86_64");

	if (o->cc && !strcmp(o->cc, "tcc"))
		return 1;
	if (cross || (o->cpu && (!strcmp(o->cpu, "x86-64") || !strcmp(o->cpu, "x86-64-v2"))))
		return 4;
	if (o->cpu && !strcmp(o->cpu, "x86-64-v3"))
		return 8;
	if (o->cpu && !strcmp(o->cpu, "x86-64-v4"))
		return 16;
	return __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("avx") ? 8 : 4;
}

void
build_program(Cx *cx, const ProgramText *text, const BuildOptions *o)
{
	Build b = { cx, o, NULL, NULL, false, false, MACHINE_X86_64 };
	struct { Build *b; const ProgramText *text; } arg_ = { &b, text };
	bool ok;

	b.cross = o->target && strcmp(o->target, "x86_64-linux-gnu") != 0;
	if (o->target && strstr(o->target, "aarch64"))
		b.machine = MACHINE_AARCH64;
	if (o->target && strstr(o->target, "riscv64"))
		b.machine = MACHINE_RISCV;
	b.cc = choose_compiler(&b);
	b.tcc = !strcmp(b.cc, "tcc");
	b.dir = temporary_folder(cx);
	ok = cx_try(cx, build_in_folder, &arg_);
	nftw(b.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (!ok)
		fail_status(cx, cx->err.status, NOWHERE, "%s", cx->err.what);
}
