/* codegen/program/tcc.c - the compiler inside Kiln: libtcc
 *
 * libtcc exits on some link errors, so programs are built in a child process. Its log contains the reason. The tcc of
 * 2020 needs headers and start files of a C library's development package. Emitted C includes only headers that are
 * defined here, and the start file is defined here, too. The user's own C may include the machine's headers. No other
 * file uses libtcc.
 *
 * libtcc treats a failed read as the end of the file. It would then report a wrong error or even accept a part of the
 * file. So this file defines read, for libtcc and all of Kiln. It ends the child on errors. */
#include "program.h"

#include <ar.h>
#include <elf.h>
#include <errno.h>
#include <libtcc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOWHERE ((Range){ 0 })

static void
say(void *arg, const char *text)
{
	(void)arg;
	if (!strstr(text, "warning"))
		fprintf(stderr, "%s\n", text);
}

/* ---- failures of the machine, such as a full disk ---------------------------------------------------------------- */

enum { NO_INPUT = 40 };    /* status of a child that stopped because the machine failed, and not the compiled code */

static bool in_tcc;

ssize_t
read(int fd, void *to, size_t n)
{
	const ssize_t got = syscall(SYS_read, fd, to, n);

	if (got < 0 && in_tcc && errno != EINTR) {
		fprintf(stderr, "a file cannot be read: %s\n", strerror(errno));
		fflush(stderr);
		_exit(NO_INPUT);
	}
	return got;
}

/* ---- headers and start files ------------------------------------------------------------------------------------- */

/* Headers defined here. The first two belong to the C library, whose own headers the machine may have. The others
 * belong to the compiler. */
static const struct { const char *name, *text;
} headers[] = {
	{ "stdint.h",
	  "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;\n"
	  "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;\n"
	  "typedef unsigned long long uint64_t; typedef long intptr_t; typedef unsigned long uintptr_t;\n" },
	{ "string.h",                        /* needed by rt/bare.h and texts of plain functions */
	  "#include <stddef.h>\n"
	  "void *memset(void *, int, size_t); void *memcpy(void *, const void *, size_t);\n"
	  "void *memmove(void *, const void *, size_t); int memcmp(const void *, const void *, size_t);\n" },
	{ "stddef.h",
	  "typedef unsigned long size_t; typedef long ptrdiff_t; typedef int wchar_t;\n#define NULL ((void *)0)\n"
	  "#define offsetof(t, m) ((size_t)&((t *)0)->m)\n" },
	{ "stdbool.h", "#define bool _Bool\n#define true 1\n#define false 0\n" },
	{ "stdarg.h",
	  "typedef struct { unsigned gp, fp; void *more, *saved; } va_list[1];\ntypedef va_list __gnuc_va_list;\n" },
};

/* Functions that tcc calls to convert unsigned numbers. */
static const char conversions[] =
	"unsigned long __fixunsdfdi(double x) { return x < 0x1p63 ? (long)x : (long)(x - 0x1p63) ^ 1ul << 63; }\n"
	"unsigned long __fixunssfdi(float x) { return __fixunsdfdi(x); }\n"
	"double __floatundidf(unsigned long x) { return (long)x >= 0 ? (double)(long)x : "
	"2.0 * (long)(x >> 1 | (x & 1)); }\n"
	"float __floatundisf(unsigned long x) { return (long)x >= 0 ? (float)(long)x : "
	"2.0f * (float)(long)(x >> 1 | (x & 1)); }\n";

static const char begin[] =
	"__asm__(\".globl _start\\n_start:\\n xor %ebp,%ebp\\n mov %rdx,%r9\\n pop %rsi\\n mov %rsp,%rdx\\n"
	" and $-16,%rsp\\n push %rax\\n\"\n"
	"        \" push %rsp\\n xor %r8d,%r8d\\n xor %ecx,%ecx\\n lea main(%rip),%rdi\\n call __libc_start_main\\n"
	" hlt\\n\");\n";

static void
put_headers(Cx *cx, const char *dir, int first)
{
	mkdir(dir, 0777);
	for (int i = first; i < (int)(sizeof headers / sizeof *headers); i++) {
		const char *text = arena_printf(cx->arena, "#ifndef KILN_HEADER_%d\n#define KILN_HEADER_%d\n%s#endif\n",
						i, i, headers[i].text);

		write_text(cx, arena_printf(cx->arena, "%s/%s", dir, headers[i].name), text, (int64_t)strlen(text));
	}
}

static const char *
find_library(Cx *cx, const char *name)
{
	static const char *const dirs[] = { "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
		"/usr/lib64", "/lib", "/usr/lib" };
	struct stat s;

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		const char *path = arena_printf(cx->arena, "%s/%s", dirs[i], name);

		if (!stat(path, &s))
			return path;
	}
	fail(cx, NOWHERE, "%s: not found: the C library's shared objects are needed to link with tcc", name);
}

/* Works in dir: libtcc splits include paths at colons, and puts a source's name into a macro without escaping it. own:
 * a folder in dir. */
static TCCState *
compiler(const char *options, int output, const char *dir, const char *own)
{
	TCCState *s = tcc_new();

	in_tcc = true;
	tcc_set_error_func(s, NULL, say);
	if (chdir(dir)) {
		fprintf(stderr, "%s: %s\n", dir, strerror(errno));
		_exit(EXIT_INPUT);
	}
	tcc_set_options(s, options);
	tcc_set_output_type(s, output);
	tcc_add_include_path(s, ".");
	tcc_add_include_path(s, own);
	return s;
}

static const char *
absolute(Cx *cx, const char *path)
{
	char *here;

	if (!path || *path == '/')
		return path;
	here = getcwd(NULL, 0);
	if (!here)
		fail(cx, NOWHERE, "the working directory: %s", strerror(errno));
	path = arena_printf(cx->arena, "%s/%s", here, path);
	free(here);
	return path;
}

/* ---- libraries --------------------------------------------------------------------------------------------------- */

/* Options for libraries. ld takes some options from a script for which libtcc has no option; these are written into
 * libtcc's output afterwards. `pin` overwrites the entry of the rpath. */
static const char LIBRARY[] = "-nostdlib -nostdinc -w -Wl,-Bsymbolic -Wl,-rpath=- -Wl,--enable-new-dtags";

/* Hides the symbols that a library defines, except NAME_*. */
static void
hide_symbols(char *object, const Elf64_Shdr *table, const char *name)
{
	const size_t n = strlen(name);
	Elf64_Ehdr h;
	Elf64_Shdr texts;
	Elf64_Sym s;

	memcpy(&h, object, sizeof h);
	memcpy(&texts, object + h.e_shoff + table->sh_link * sizeof texts, sizeof texts);
	for (Elf64_Xword i = 0; i < table->sh_size; i += sizeof s) {
		const char *text;

		memcpy(&s, object + table->sh_offset + i, sizeof s);
		text = object + texts.sh_offset + s.st_name;
		if (!s.st_shndx || (!strncmp(text, name, n) && text[n] == '_'))
			continue;
		s.st_other = STV_HIDDEN;
		memcpy(object + table->sh_offset + i, &s, sizeof s);
	}
}

/* Marks the library to stay loaded, as link_shared in build.c does. */
static void
pin(char *object, const Elf64_Shdr *dynamic)
{
	Elf64_Dyn d;

	for (Elf64_Xword i = 0; i < dynamic->sh_size; i += sizeof d) {
		memcpy(&d, object + dynamic->sh_offset + i, sizeof d);
		if (d.d_tag != DT_RUNPATH)
			continue;
		d = (Elf64_Dyn){ .d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_NODELETE };
		memcpy(object + dynamic->sh_offset + i, &d, sizeof d);
	}
}

static void
finish_symbols(char *object, const char *name)
{
	Elf64_Ehdr h;
	Elf64_Shdr section;
	char *at;

	memcpy(&h, object, sizeof h);
	for (int i = 0; i < h.e_shnum; i++) {
		at = object + h.e_shoff + i * sizeof section;
		memcpy(&section, at, sizeof section);
		if (section.sh_type == SHT_DYNAMIC)
			pin(object, &section);
		if (section.sh_type == SHT_DYNSYM) {
			hide_symbols(object, &section, name);
			section.sh_info = 1;            /* index of the first global symbol; ld complains about 0 */
		}
		memcpy(at, &section, sizeof section);
	}
}

/* Adds a program header to a library of n bytes. The header tells that the stack is not executable: without it, glibc
 * 2.41 and later refuse the library. All headers are copied behind the last byte, because other sections follow them in
 * the file. Returns the new length. */
static size_t
add_stack_header(char *object, size_t n)
{
	const Elf64_Phdr stack = { .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16 };
	const size_t to = (n + 7) & ~(size_t)7;
	Elf64_Ehdr h;
	size_t old;

	memcpy(&h, object, sizeof h);
	old = h.e_phnum * sizeof stack;
	memset(object + n, 0, to - n);
	memcpy(object + to, object + h.e_phoff, old);
	memcpy(object + to + old, &stack, sizeof stack);
	h.e_phoff = to;
	h.e_phnum++;
	memcpy(object, &h, sizeof h);
	return to + old + sizeof stack;
}

/* largest number of program headers; the copy of a library in memory has room for so many */
enum { MORE_HEADERS = 16 };

/* Completes the library that libtcc wrote. Hides all symbols except NAME_*, or none if name is null. Returns false if
 * it fails; then it has printed the reason. Runs in the child. */
static bool
finish_library(const char *path, const char *name)
{
	FILE *f = fopen(path, "r+b");
	struct stat st = { 0 };
	size_t n = f && !fstat(fileno(f), &st) ? (size_t)st.st_size : 0;
	char *at = n ? malloc(n + MORE_HEADERS * sizeof(Elf64_Phdr)) : NULL;
	bool ok = at && fread(at, 1, n, f) == n && !fseek(f, 0, SEEK_SET);

	if (ok) {
		if (name)
			finish_symbols(at, name);
		n = add_stack_header(at, n);
		ok = fwrite(at, 1, n, f) == n;
	}
	if (f && fclose(f))
		ok = false;
	if (!ok)
		fprintf(stderr, "%s: cannot be read and written again\n", path);
	free(at);
	return ok;
}

/* ---- work in the child process ----------------------------------------------------------------------------------- */

typedef struct Job {
	const char *dir;         /* folder of rt's headers and of all output files */
	const char *own;         /* folder in dir with the headers defined in this file */
	/* Folder in dir with this machine's headers except libc's. Null if it has no libc headers. */
	const char *user;
	const char *source, *object;  /* one C file of the user, and its object */
	const char *weights, *library, *support, *libm, *libc, *out;
	const Vec(char *) *objects;
	const char *name;        /* name of a library; null for a program */
} Job;

/* Whether the file is a complete object. libtcc does not check that its output reaches the disk. The table of sections
 * is the last part of a file. */
static bool
is_complete_object(const char *path)
{
	FILE *f = fopen(path, "rb");
	Elf64_Ehdr h = { 0 };
	struct stat st = { 0 };
	const bool is = f && fread(&h, sizeof h, 1, f) == 1 && !fstat(fileno(f), &st) &&
			!memcmp(h.e_ident, ELFMAG, SELFMAG) &&
			st.st_size == (off_t)(h.e_shoff + (Elf64_Off)h.e_shnum * h.e_shentsize);

	if (!is)
		fprintf(stderr, "%s: cannot be written: No space left?\n", path);
	if (f)
		fclose(f);
	return is;
}

/* Compiles a C file of the user, with the machine's headers if there are any. */
static void
compile_operator(void *arg)
{
	const Job *j = arg;
	TCCState *s = compiler(j->user ? "-nostdlib -w" : "-nostdlib -nostdinc -w", TCC_OUTPUT_OBJ, j->dir,
			       j->user ? j->user : j->own);

	if (tcc_add_file(s, j->source) < 0 || tcc_output_file(s, j->object) < 0 || !is_complete_object(j->object))
		_exit(EXIT_INPUT);
}

static void
link_program(void *arg)
{
	const Job *j = arg;
	TCCState *s = compiler(j->name ? LIBRARY : "-nostdlib -nostdinc -w", j->name ? TCC_OUTPUT_DLL : TCC_OUTPUT_EXE,
			       j->dir, j->own);
	bool ok = tcc_add_file(s, j->source) >= 0 && tcc_add_file(s, j->weights) >= 0 &&
		  tcc_compile_string(s, conversions) >= 0 && (j->name || tcc_compile_string(s, begin) >= 0);

	for (int i = 0; ok && i < j->objects->n; i++)
		ok = tcc_add_file(s, j->objects->at[i]) >= 0;
	ok = ok && tcc_add_file(s, j->library) >= 0 && tcc_add_file(s, j->support) >= 0 &&
	     tcc_add_file(s, j->libm) >= 0 && tcc_add_file(s, j->libc) >= 0 && tcc_output_file(s, j->out) >= 0;
	if (!ok || !is_complete_object(j->out) || (j->name && !finish_library(j->out, j->name)))
		_exit(EXIT_INPUT);
}

/* Links a shared object. Undefined symbols are resolved by Kiln. */
static void
link_shared(void *arg)
{
	const Job *j = arg;
	TCCState *s = compiler("-nostdlib -nostdinc -w", TCC_OUTPUT_DLL, j->dir, j->own);
	bool ok = tcc_compile_string(s, conversions) >= 0;

	for (int i = 0; ok && i < j->objects->n; i++)
		ok = tcc_add_file(s, j->objects->at[i]) >= 0;
	if (!ok || tcc_output_file(s, j->out) < 0 || !is_complete_object(j->out) || !finish_library(j->out, NULL))
		_exit(EXIT_INPUT);
}

/* ---- preparing the runtime for tcc ------------------------------------------------------------------------------- */

/*
 * Numbers the sections of the carried library. The library has a section for each function, so that linkers can leave
 * out unused ones. tcc does not do so, and its linear search for each section's name took most of a build's time. So
 * sections are numbered within every object, .text.00, .text.10, and sections with the same number become one in the
 * program. Two sections of one object must not become one, because tcc would relocate it twice.
 */
enum { KINDS = 5, DIGIT = 64 };

/* Replaces a section's name by a numbered one. The name of its relocation section ends with the same bytes, so it
 * changes, too. */
static void
number_name(char *name, int *counts)
{
	static const char *const kinds[KINDS] = { ".text.", ".rodata.", ".data.rel.", ".data.", ".bss." };

	for (int i = 0; i < KINDS; i++) {
		char *rest = name + strlen(kinds[i]);

		if (strncmp(name, kinds[i], strlen(kinds[i])))
			continue;
		if (strlen(rest) < 2 || counts[i] == DIGIT * DIGIT)
			return;
		rest[0] = (char)('0' + counts[i] % DIGIT);
		rest[1] = (char)('0' + counts[i]++ / DIGIT);
		rest[2] = 0;
		return;
	}
}

static void
number_names(char *object)
{
	int counts[KINDS] = { 0 };
	Elf64_Shdr names, section;
	Elf64_Ehdr h;

	if (memcmp(object, ELFMAG, SELFMAG))
		return;
	memcpy(&h, object, sizeof h);                   /* members of an archive are only aligned to even addresses */
	memcpy(&names, object + h.e_shoff + h.e_shstrndx * sizeof names, sizeof names);
	for (int i = 1; i < h.e_shnum; i++) {
		memcpy(&section, object + h.e_shoff + i * sizeof section, sizeof section);
		number_name(object + names.sh_offset + section.sh_name, counts);
	}
}

static void
put_library(Cx *cx, const char *path)
{
	int64_t n;
	const char *carried = carry_library_text(&n);
	char *text = arena_strndup(cx->arena, carried, n);
	struct ar_hdr member;

	for (int64_t at = SARMAG; at < n; at += (strtol(member.ar_size, NULL, 10) + 1) & ~1) {
		memcpy(&member, text + at, sizeof member);
		at += sizeof member;
		number_names(text + at);
	}
	write_text(cx, path, text, n);
}

static void
put_support(Cx *cx, const char *path)
{
	int64_t n;
	const char *text = carry_support_text(&n);

	write_text(cx, path, text, n);
}

/* ---- functions that builds call ---------------------------------------------------------------------------------- */

typedef Vec(char *) Objects;

static void
in_child(Cx *cx, void (*body)(void *), Job *j, int status, const char *what)
{
	const char *log = arena_printf(cx->arena, "%s/log", j->dir);
	const int ended = process_fork(cx, body, j, log);

	if (ended == NO_INPUT)
		fail(cx, NOWHERE, "tcc failed: %s", process_log(cx, log, 6000));
	if (ended)
		process_fail(cx, "tcc", status, what, log);
}

static void
compile_operators(Cx *cx, Job *j, const Texts *files, Objects *objects)
{
	if (!access("/usr/include/stdint.h", R_OK)) {
		j->user = "user";
		put_headers(cx, arena_printf(cx->arena, "%s/user", j->dir), 2);
	}
	for (int i = 0; i < files->n; i++) {
		j->source = absolute(cx, files->at[i]);
		if (strpbrk(j->source, "\"\\"))
			fail(cx, NOWHERE, "%s: tcc compiles no file whose path has a quote or a backslash: build with "
			     "another --cc, or move the file", j->source);
		j->object = arena_printf(cx->arena, "%s/op%d.o", j->dir, i);
		in_child(cx, compile_operator, j, EXIT_INPUT, "failed on --op");
		vec_push(cx->arena, objects, arena_strdup(cx->arena, j->object));
	}
}

void
tcc_build(Cx *cx, const char *dir, TccFiles f)
{
	Objects objects = { 0 };
	Job j = { .dir = absolute(cx, dir), .own = "tcc", .weights = absolute(cx, f.weights),
		  .out = absolute(cx, f.out), .name = f.name, .libm = find_library(cx, "libm.so.6"),
		  .libc = find_library(cx, "libc.so.6"),
		  .objects = (void *)&objects };

	j.library = arena_printf(cx->arena, "%s/librt.a", j.dir);
	j.support = arena_printf(cx->arena, "%s/support.o", j.dir);
	put_headers(cx, arena_printf(cx->arena, "%s/tcc", j.dir), 0);
	put_library(cx, j.library);
	put_support(cx, j.support);
	compile_operators(cx, &j, f.operators, &objects);
	j.source = strrchr(f.source, '/') + 1;                  /* a file in dir */
	in_child(cx, link_program, &j, EXIT_BUG, "failed on emitted code: a bug of Kiln");
}

void
tcc_shared(Cx *cx, const char *dir, const Texts *operators, const char *out)
{
	Objects objects = { 0 };
	Job j = { .dir = absolute(cx, dir), .own = "tcc", .out = absolute(cx, out), .objects = (void *)&objects };

	put_headers(cx, arena_printf(cx->arena, "%s/tcc", j.dir), 0);
	compile_operators(cx, &j, operators, &objects);
	in_child(cx, link_shared, &j, EXIT_INPUT, "failed on --op");
}
