/*
 * The table of targets: one entry for each kind of machine that programs are built for.
 *
 * An entry names Debian's packages, so that `kiln targets` and builds can report a missing one before anything is
 * compiled.
 */
#include "build.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOWHERE ((Range){ 0 })

/* Numbers of floats in a vector: the first entry whose macro the compiler defines. Targets without vectors (RISC-V, ARM
 * before NEON) also have four, because compilers unroll them to blocks of scalars. Under qemu, a convolution of 64
 * channels takes 0.17 of scalar code's time with Winograd, and 0.55 without. */
static const TargetVector x86[] = { { "__AVX512F__", 16 }, { "__AVX__", 8 }, { NULL, 4 } };
static const TargetVector scalar[] = { { NULL, 1 } };
static const TargetVector four[] = { { NULL, 4 } };

enum { ARM_HARD = EF_ARM_EABI_VER5 | EF_ARM_ABI_FLOAT_HARD, RISCV_DOUBLE = EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE };

/* Members that many entries share. */
#define TOOLS(prefix) .cc = prefix "-gcc", .cc_package = "gcc-" prefix, .tools = prefix "-", \
	.tools_package = "binutils-" prefix
#define TOOLS_X86 .cc = "x86_64-linux-gnu-gcc", .cc_package = "gcc", .tools = "x86_64-linux-gnu-", \
	.tools_package = "binutils"
#define GLIBC(package) .libc = "crt1.o", .libc_package = package, .libs = "-lm -lpthread"
#define MUSL(name, package) .musl = name, .libc = "crt1.o", .libc_package = package, .libs = "-lm -lpthread", \
	.is_static = true
/* Code is scheduled for the generic processor, because gcc's schedules for AMD's processors need more registers than
 * register blocks leave. On a Zen 3, blocks of two vectors take 1.56 times as long as with the generic order. */
#define CPU_X86 .cpu_as = "-march=", .mcpu_as = "-mtune=", .tuned_for = "generic", .vectors = x86, \
	.portable = "x86-64-v2,x86-64-v3,x86-64-v4,icelake-server", .int8_level = true, .emulator = "qemu-x86_64"
#define IN_ORDER_ARM64 "cortex-a34 cortex-a35 cortex-a53 cortex-a55 cortex-a510 cortex-a520"
/* neoverse-n1 stands for dot products and atomics. */
#define CPU_ARM64 .cpu_as = "-mcpu=", .mcpu_as = "-mcpu=", .vectors = four, .portable = "generic,neoverse-n1", \
	.in_order = IN_ORDER_ARM64, .emulator = "qemu-aarch64"
#define FPU_ARM "cortex-m4 cortex-m7 cortex-m33 cortex-m35p cortex-m55 cortex-m85"
#define CPU .cpu_as = "-mcpu=", .mcpu_as = "-mcpu="

static const Target targets[] = {
	{ .triple = "x86_64-linux-gnu", .arch = "x86_64", .elf = { EM_X86_64, 64, 0 }, TOOLS_X86, CPU_X86,
	  GLIBC("libc6-dev") },
	{ .triple = "aarch64-linux-gnu", .arch = "aarch64", .elf = { EM_AARCH64, 64, 0 }, TOOLS("aarch64-linux-gnu"),
	  CPU_ARM64, GLIBC("libc6-dev-arm64-cross"), .root = "/usr/aarch64-linux-gnu" },
	{ .triple = "arm-linux-gnueabihf", .arch = "arm", .elf = { EM_ARM, 32, ARM_HARD }, TOOLS("arm-linux-gnueabihf"),
	  CPU, .vectors = four, .emulator = "qemu-arm", GLIBC("libc6-dev-armhf-cross"),
	  .root = "/usr/arm-linux-gnueabihf" },
	{ .triple = "riscv64-linux-gnu", .arch = "riscv64", .elf = { EM_RISCV, 64, RISCV_DOUBLE },
	  TOOLS("riscv64-linux-gnu"), CPU, .vectors = four, .emulator = "qemu-riscv64",
	  GLIBC("libc6-dev-riscv64-cross"), .root = "/usr/riscv64-linux-gnu" },
	{ .triple = "x86_64-linux-musl", .arch = "x86_64", .elf = { EM_X86_64, 64, 0 }, TOOLS_X86, CPU_X86,
	  MUSL("x86_64-linux-musl", "musl-dev") },
	{ .triple = "aarch64-linux-musl", .arch = "aarch64", .elf = { EM_AARCH64, 64, 0 }, TOOLS("aarch64-linux-gnu"),
	  CPU_ARM64, MUSL("aarch64-linux-musl", "musl-dev:arm64, behind dpkg --add-architecture arm64") },
	{ .triple = "arm-none-eabi", .arch = "arm", .elf = { EM_ARM, 32, EF_ARM_EABI_VER5 }, TOOLS("arm-none-eabi"),
	  CPU, .vectors = scalar, .fpu = FPU_ARM, .libs = "", .is_bare = true },
};
enum { NTARGET = sizeof targets / sizeof *targets };

const Target *
target_at(int i)
{
	return i < NTARGET ? &targets[i] : NULL;
}

/* Returns the target for which Kiln itself was compiled. */
const Target *
target_host(void)
{
#if defined __aarch64__
	return &targets[1];
#elif defined __arm__
	return &targets[2];
#elif defined __riscv
	return &targets[3];
#else
	return &targets[0];
#endif
}

/* Prefixes of triples of big-endian machines, for a message that gives the reason for the refusal. */
static const char *const big_endian[] = { "s390", "powerpc-", "powerpc64-", "ppc-", "ppc64-", "mips-", "mips64-",
					  "sparc", "m68k-", "hppa", "armeb", "aarch64_be" };

static void
refuse_big_endian(Cx *cx, const char *what)
{
	fail_lacks(cx, NOWHERE, "%s is big-endian: Kiln stores weights and constants in little-endian byte order and "
		   "has no code that swaps them; kiln targets lists what it builds for", what);
}

const Target *
target_find(Cx *cx, const char *triple)
{
	Near near = { .name = triple };
	Buf all = { 0 };

	for (int i = 0; i < NTARGET; i++) {
		if (!strcmp(triple, targets[i].triple))
			return &targets[i];
		near_try(&near, targets[i].triple);
		buf_printf(&all, "%s%s", i ? ", " : "", targets[i].triple);
	}
	for (size_t i = 0; i < sizeof big_endian / sizeof *big_endian; i++)
		if (!strncmp(triple, big_endian[i], strlen(big_endian[i])))
			refuse_big_endian(cx, triple);
	fail_status(cx, EXIT_USAGE, NOWHERE, "there is no target '%s'%s\nthere are %s", triple, near_hint(cx, &near),
		    arena_text(cx->arena, &all));
}

const char *
target_triple(const Target *t)
{
	return t->triple;
}

const char *
target_runner(Cx *cx, const Target *t)
{
	if (!t->emulator || !strcmp(t->arch, target_host()->arch))
		return NULL;
	return t->root && !t->is_static ? arena_printf(cx->arena, "%s -L %s", t->emulator, t->root) : t->emulator;
}

/* Whether the compiler defines this macro. */
static bool
is_macro(const char *macros, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = macros; (at = strstr(at, name)); at += n)
		if (at > macros && at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
}

int
target_floats(const Target *t, const char *macros)
{
	const TargetVector *v = t->vectors;

	for (; v->macro && macros; v++)
		if (is_macro(macros, v->macro))
			return v->floats;
	while (v->macro)
		v++;
	return v->floats;
}

/* Returns BuildOptions.ops_level for x86-64: 3 or 4 if the compiler defines all macros of -march=x86-64-v3 or -v4. */
static int
ops_level(const char *macros)
{
	static const struct { int level; const char *macro; } needs[] = {
		{ 3, "__AVX2__" }, { 3, "__BMI__" }, { 3, "__BMI2__" }, { 3, "__F16C__" }, { 3, "__FMA__" },
		{ 3, "__LZCNT__" }, { 3, "__MOVBE__" }, { 4, "__AVX512F__" }, { 4, "__AVX512BW__" },
		{ 4, "__AVX512CD__" }, { 4, "__AVX512DQ__" }, { 4, "__AVX512VL__" },
	};

	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (!is_macro(macros, needs[i].macro))
			return needs[i].level == 4 ? 3 : 0;
	return 4;
}

bool
target_is_bare(const Target *t)
{
	return t->is_bare;
}

const char *
target_levels(const Target *t, bool *int8_level)
{
	*int8_level = t->int8_level;
	return t->portable;
}

/* Whether the processor is in the list. "cortex-a55+crypto" counts as a cortex-a55. */
static bool
is_among(const char *names, const char *cpu)
{
	const size_t n = cpu ? strcspn(cpu, "+") : 0;

	for (const char *at = n ? names : NULL; at && *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strcspn(at, " ") == n && !strncmp(at, cpu, n))
			return true;
	}
	return false;
}

bool
target_in_order(const Target *t, const char *cpu)
{
	return is_among(t->in_order, cpu);
}

bool
target_fpu(const BuildOptions *o, const char *cpu)
{
	const char *by = o->mcpu ? o->mcpu : cpu;

	return is_among(o->target->fpu, by) && !strstr(by, "+nofp");
}

/* ---- installed tools ------------------------------------------------------------------------------------------- */

const char *
command_path(Cx *cx, const char *name)
{
	const char *path = getenv("PATH");
	char *copy, *state = NULL;

	if (strchr(name, '/'))
		return !access(name, X_OK) ? name : NULL;
	copy = arena_strdup(cx->arena, path ? path : "/usr/bin:/bin");
	for (char *dir = strtok_r(copy, ":", &state); dir; dir = strtok_r(NULL, ":", &state)) {
		const char *file = arena_printf(cx->arena, "%s/%s", dir, name);

		if (!access(file, X_OK))
			return file;
	}
	return NULL;
}

/* Whether the compiler finds this file of its C library. */
static bool
finds_file(Build *b, const char *file)
{
	Argv a = { .cx = b->cx };
	const char *out = arena_printf(b->cx->arena, "%s/found", b->dir);
	Process p;

	args_compiler(b, &a);
	arg(&a, arena_printf(b->cx->arena, "-print-file-name=%s", file));
	if (process_run(b->cx, argv_of(&a), out, arena_printf(b->cx->arena, "%s/log", b->dir), &p))
		return true;        /* the compiler cannot report paths; if the file is missing, linking fails later */
	return strchr(file_text(b->cx, out), '/') != NULL;
}

static const char *
of_package(Cx *cx, const char *what, const char *package)
{
	return arena_printf(cx->arena, "%s (Debian has it in %s)", what, package);
}

/* Returns musl's folder "lib" or "include": that of Debian, or that of a musl system below --sysroot. */
static const char *
musl_folder(Build *b, const char *what)
{
	const char *root = b->options->sysroot ? b->options->sysroot : "";
	const char *dir = arena_printf(b->cx->arena, "%s/usr/%s/%s", root, what, b->options->target->musl);

	return !b->options->sysroot || !access(dir, R_OK) ? dir : arena_printf(b->cx->arena, "%s/usr/%s", root, what);
}

/* Whether the compiler needs a specs file to find musl. A compiler for musl, such as musl-gcc, has it in its name and
 * finds it itself. Any other GCC needs specs. */
static bool
takes_specs(const Build *b)
{
	const char *slash = b->options->cc ? strrchr(b->options->cc, '/') : NULL,
		   *name = slash ? slash + 1 : b->options->cc;

	return !name || (strstr(name, "cc") && !strstr(name, "musl"));
}

/* Returns the folder of musl's libraries. Null if the compiler finds them itself or the target does not use musl. */
static const char *
target_musl(Build *b)
{
	return b->options->target->musl && takes_specs(b) ? musl_folder(b, "lib") : NULL;
}

const char *
target_lacks(Build *b)
{
	const Target *t = b->options->target;
	const char *file = b->options->fixed || t->is_static ? "libc.a" : t->libc;
	const char *musl = target_musl(b);

	if (b->tcc)
		return NULL;
	if (!command_path(b->cx, b->cc))
		return !b->options->cc && (b->cross || !strcmp(b->cc, "cc")) ? of_package(b->cx, b->cc, t->cc_package) :
					       arena_printf(b->cx->arena, "the compiler %s", b->cc);
	if (musl && access(arena_printf(b->cx->arena, "%s/%s", musl, file), R_OK))
		return of_package(b->cx, arena_printf(b->cx->arena, "musl's %s", file), t->libc_package);
	if (!t->musl && file && !finds_file(b, file))
		return of_package(b->cx, arena_printf(b->cx->arena, "the C library's %s", file), t->libc_package);
	return NULL;
}

/* ---- options of compilers ---------------------------------------------------------------------------------------- */

/* Returns the options that make GCC use musl, in the way of musl-gcc. */
static const char *
musl_specs(Build *b, const char *lib)
{
	const char *path = arena_printf(b->cx->arena, "%s/musl.specs", b->dir), *include = musl_folder(b, "include");
	const char *text = arena_printf(b->cx->arena,
		"%%rename cpp_options old_cpp_options\n\n"
		"*cpp_options:\n-nostdinc -isystem %s -isystem include%%s %%(old_cpp_options)\n\n"
		"*cc1:\n%%(cc1_cpu) -nostdinc -isystem %s -isystem include%%s\n\n"
		"*link_libgcc:\n-L%s -L .%%s\n\n"
		"*libgcc:\nlibgcc.a%%s %%:if-exists(libgcc_eh.a%%s)\n\n"
		"*startfile:\n%%{!shared: %s/Scrt1.o} %s/crti.o crtbeginS.o%%s\n\n"
		"*endfile:\ncrtendS.o%%s %s/crtn.o\n\n"
		"*link:\n-dynamic-linker /lib/ld-musl-%s.so.1 -nostdlib %%{shared:-shared} %%{static:-static} "
		"%%{rdynamic:-export-dynamic}\n\n*esp_link:\n\n\n*esp_options:\n\n\n*esp_cpp_options:\n\n\n",
		include, include, lib, lib, lib, lib, b->options->target->arch);

	write_text(b->cx, path, text, (int64_t)strlen(text));
	return path;
}

void
args_compiler(Build *b, Argv *a)
{
	const char *slash = strrchr(b->cc, '/'), *musl = target_musl(b);

	arg(a, b->cc);
	if (b->cross && !strncmp(slash ? slash + 1 : b->cc, "clang", 5))       /* clang compiles for any target */
		arg(a, arena_printf(b->cx->arena, "--target=%s", b->options->target->triple));
	if (b->options->sysroot)
		arg(a, arena_printf(b->cx->arena, "--sysroot=%s", b->options->sysroot));
	if (musl)
		arg(a, arena_printf(b->cx->arena, "-specs=%s", musl_specs(b, musl)));
}

void
args_cpu(Build *b, Argv *a)
{
	const BuildOptions *o = b->options;
	const Target *t = o->target;
	const char *cpu = b->cpu ? b->cpu : b->cross ? NULL : "native";
	const bool by_march = !strcmp(t->cpu_as, "-march=");

	if (o->march)
		arg(a, arena_printf(b->cx->arena, "-march=%s", o->march));
	if (o->mcpu)
		arg(a, arena_printf(b->cx->arena, "%s%s", t->mcpu_as, o->mcpu));
	else if (t->tuned_for && cpu && !o->march && strncmp(cpu, "x86-64", 6) && !o->levels.n)
		arg(a, arena_printf(b->cx->arena, "%s%s", t->mcpu_as, t->tuned_for));
	if (cpu && !(by_march ? o->march : o->mcpu) && (b->cpu || !(o->march || o->mcpu)))
		arg(a, arena_printf(b->cx->arena, "%s%s", t->cpu_as, cpu));
	if (target_fpu(o, cpu))
		arg(a, "-mfloat-abi=hard");
}

const char *
choose_compiler(const BuildOptions *o, bool cross)
{
	const char *cc = o->cc ? o->cc : cross ? NULL : getenv("CC");

	if (cc && cc[0])
		return cc;
	return cross ? o->target->cc : "cc";
}

void
build_init(Build *b, Cx *cx, const BuildOptions *o)
{
	*b = (Build){ .cx = cx, .options = o, .cross = o->target != target_host(),
		      .cpu = o->levels.n ? o->levels.at[0] : o->cpu };
	b->cc = choose_compiler(o, b->cross);
	b->tcc = !strcmp(b->cc, "tcc");
	if (b->tcc && is_made_of_code(o) && (b->cross || (strcmp(o->emit, "exe") && strcmp(o->emit, "shared"))))
		fail_status(cx, EXIT_USAGE, NOWHERE, "--cc tcc makes programs and shared libraries for this machine: "
			    "--emit exe, shared, or c");
	if (b->tcc && o->debug)
		fail_status(cx, EXIT_USAGE, NOWHERE, "--debug: the compiler inside Kiln writes no names of functions; "
			    "--cc gcc does");
	b->mask = umask(022);
	umask(b->mask);
}

/* Whether --cpu portable is the default for these options. Not for emitted C (--emit c): users compile it for their own
 * machines. */
bool
target_wants_levels(const BuildOptions *o)
{
	const char *cc = choose_compiler(o, o->target != target_host());

	return o->target->portable && !o->march && !o->mcpu && !o->bare && is_made_of_code(o) && strcmp(cc, "tcc");
}

/* ---- asking the compiler ----------------------------------------------------------------------------------------- */

typedef struct Ask { Build *build; BuildOptions *options; } Ask;

static const char *
macros_of(Build *b)
{
	Argv a = { .cx = b->cx };
	Process p;

	args_compiler(b, &a);
	args_cpu(b, &a);
	args_of(&a, getenv("CFLAGS"));
	if (b->options->target->musl)
		arg(&a, "-include"), arg(&a, "features.h");    /* its macros tell whether the C library is GNU's */
	arg(&a, "-dM"), arg(&a, "-E"), arg(&a, "-x"), arg(&a, "c"), arg(&a, "/dev/null");
	if (process_run(b->cx, argv_of(&a), NULL, arena_printf(b->cx->arena, "%s/log", b->dir), &p))
		process_fail(b->cx, b->cc, EXIT_INPUT, "refuses these options", p.log);
	return file_text(b->cx, p.log);
}

/* Whether the compiler's target is big-endian, as --cc or CFLAGS may ask for. */
static bool
is_big_endian(const char *macros)
{
	const char *order = strstr(macros, " __BYTE_ORDER__ ");

	return order && !strncmp(order + 16, "__ORDER_BIG_ENDIAN__", 20);
}

/* Asks the compiler for its macros. The vector width of code and weights is that of the compiler's target. With several
 * processors it is the widest one. */
static void
ask_compiler(Cx *cx, const char *dir, void *arg_)
{
	Ask *ask = arg_;
	Build *b = ask->build;
	BuildOptions *o = ask->options;
	const char *lacks, *macros, *gcc;

	b->dir = dir;
	o->vector_floats = target_floats(o->target, NULL);
	if ((lacks = target_lacks(b))) {
		if (is_made_of_code(b->options))
			fail_lacks(cx, NOWHERE, "to build for %s install %s%s", b->options->target->triple, lacks,
				   b->cross ? "" : " (choose a compiler by --cc; --cc tcc needs none)");
		return;
	}
	for (int i = o->levels.n; i-- > 0;) {
		b->cpu = o->levels.at[i];
		macros = macros_of(b);
		o->level_floats[i] = target_floats(o->target, macros);
		if (i + 1 < o->levels.n && o->level_floats[i] > o->level_floats[i + 1])
			fail_status(cx, EXIT_USAGE, NOWHERE, "--cpu wants the lowest processor first, but %s has wider "
				    "vectors than %s", o->levels.at[i], o->levels.at[i + 1]);
		o->level_ops[i] = b->cross ? 0 : ops_level(macros);
	}
	macros = macros_of(b);
	if (is_big_endian(macros))
		refuse_big_endian(cx, b->cc);
	if (o->target->musl && is_macro(macros, "__GLIBC__"))
		fail_status(cx, EXIT_USAGE, NOWHERE, "%s compiles for the GNU C library, but %s has musl: use "
			    "musl-gcc or gcc", b->cc, o->target->triple);
	o->vector_floats = target_floats(o->target, macros);
	o->ops_level = ops_level(macros);
	o->oz = is_macro(macros, "__clang__") || ((gcc = strstr(macros, " __GNUC__ ")) && atoi(gcc + 10) >= 12);
	o->macros = hash_bytes(macros, (int64_t)strlen(macros));
	for (int i = 0; i < o->levels.n; i++)
		if (o->level_floats[i] > o->vector_floats)
			o->vector_floats = o->level_floats[i];
}

void
target_ask(Cx *cx, BuildOptions *o)
{
	Build b;
	Ask ask = { &b, o };

	if (o->target->is_bare && !o->bare)
		fail_status(cx, EXIT_USAGE, NOWHERE, "%s has no operating system to run programs: use "
			    "--no-generic with --emit c, obj or static", o->target->triple);
	build_init(&b, cx, o);
	o->vector_floats = 1;
	if (!b.tcc)
		process_folder(cx, ask_compiler, &ask);
}

typedef struct Lack { Build *build; const char *lacks; } Lack;

static void
find_lack(Cx *cx, const char *dir, void *arg_)
{
	Lack *l = arg_;

	(void)cx;
	l->build->dir = dir;
	l->lacks = target_lacks(l->build);
}

const char *
target_lacks_here(Cx *cx, const Target *t, const char **cc)
{
	const BuildOptions o = { .target = t, .emit = "exe" };
	Build b;
	Lack l = { &b, NULL };

	build_init(&b, cx, &o);
	*cc = b.cc;
	process_folder(cx, find_lack, &l);
	return l.lacks;
}
