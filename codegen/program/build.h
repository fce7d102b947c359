/* codegen/program/build.h - declarations that the files which call compilers share: build.c, runtime.c, targets.c */
#ifndef CODEGEN_BUILD_H
#define CODEGEN_BUILD_H

#include "program.h"

#include <sys/types.h>

/* Number of floats in a vector if the compiler defines the macro. The last entry's macro is null, which always
 * applies. */
typedef struct TargetVector { const char *macro; int floats; } TargetVector;

struct Target {
	const char *triple, *arch;       /* target triple; architecture as uname prints it */
	ElfKind elf;                     /* kind of the target's object files */
	const char *cc, *cc_package;     /* default compiler without --cc; its package in Debian */
	const char *tools, *tools_package;       /* prefix of ar's and objcopy's names; their package in Debian */
	/* file that programs link with, and its package. Tested to see if the C library is installed. Null if there is
	 * nothing to test. */
	const char *libc, *libc_package;
	const char *musl;                /* Debian's name of musl's folders; null if the compiler knows its C library */
	const char *cpu_as, *mcpu_as;    /* prefixes that turn --cpu and --mcpu into compiler options */
	/* processor whose instruction order is used for one processor without --mcpu; null for that processor itself */
	const char *tuned_for;
	/* processors of --cpu portable, separated by commas, the lowest first; null if it is not allowed */
	const char *portable;
	bool int8_level;                 /* whether the last one of these is for 8-bit kernels only */
	/* in-order processors of the target, separated by spaces (VC_IN_ORDER); null if there are none */
	const char *in_order;
	/* Processors of the target that pass floats in registers although the compiler's default does not. Null if
	 * there are none. */
	const char *fpu;
	const TargetVector *vectors;     /* number of floats in a vector: the first entry whose macro is defined */
	const char *libs;                /* libraries that programs link with, separated by spaces */
	bool is_static;                  /* whether to link statically */
	/* whether it has no operating system, so that only plain C functions (--no-generic) are possible */
	bool is_bare;
	const char *emulator, *root;     /* name of qemu-user, and the folder for its -L; null if there is none */
};

typedef struct Build {
	Cx *cx;
	const BuildOptions *options;
	const char *dir;         /* temporary folder */
	const char *out;         /* path of the result */
	const char *cc;          /* C compiler */
	const char *cpu;         /* processor to compile for: the one of --cpu, or one of several; null if not given */
	bool tcc, cross;         /* whether the compiler inside Kiln compiles; whether the target is another machine */
	bool small;              /* whether to compile for size (-Os) */
	mode_t mask;             /* mode mask of new files */
} Build;


/* ---- compiler.c: argument lists, processes, options ------------------------------------------------ */

typedef struct Argv { Vec(char *) v; Cx *cx; } Argv;
void arg(Argv *, const char *text);              /* adds a copy of the text */
void args_of(Argv *, const char *words); /* adds the words of a variable such as CFLAGS; adds nothing if it is null */
char *const *argv_of(Argv *);
/* Whether the result is machine code and not text. */
bool is_made_of_code(const BuildOptions *);
/* Whether the result is a program with fixed addresses. Then its tables need no relocations, which are a fifth of a
 * small program's size and start time. */
bool is_fixed(const Build *);
/* Returns the compiler option that makes fused multiply-adds the same everywhere, or "". When gcc tunes for some AMD
 * processors, it does not fuse them in a block of one sum, but does so in larger blocks. Then an element could differ
 * with the number of threads. */
const char *fma_option(const char *cc);
/* Returns the option for code of libraries. Code for bare metal must not use a GOT: linker scripts do not expect one,
 * and startup code copies no table outside .data to RAM. */
const char *pic_option(const Target *);
bool start(Build *, char *const *argv, const char *log, Process *);
RT_NORETURN void not_started(Build *, const Process *);
RT_NORETURN void process_failed(Build *, const Process *, const char *what);

/* ---- outputs.c: result files, replaced atomically -------------------------------------------------- */

/* A file that a build makes. */
typedef struct Result {
	const char *part, *to;     /* temporary path beside the destination, and the destination */
	const char *old;           /* second link to the file that the result replaced; null if there was none */
	bool        is_placed;     /* whether the temporary file has been renamed */
} Result;

/* All files that a build makes. If one of them cannot be written, none is kept. */
typedef struct Results {
	Cx         *cx;
	Vec(Result) at;            /* files that are renamed into place; devices and pipes are written directly */
	Texts       folders;       /* folders that the build made */
} Results;
/* Each of these functions fails with the path and errno's message if it cannot do its work. It then undoes all earlier
 * ones. */
/* makes the parent folders of path, except those within its first `from` characters */
void results_parents(Results *, const char *path, size_t from);
/* moves a finished file into the folder of its destination */
void results_add(Results *, const char *from, const char *path);
void results_place(Results *);                                   /* renames all files that were added */
/* returns the path behind symbolic links; the path of a device stays as it is */
const char *link_target(Cx *, const char *path);
const char *weights_beside(Build *, const Weights *);    /* writes the file of --weights file; returns its name */

/* ---- fit.c: memory that plain functions need -------------------------------------------------------- */

void fit_measure(Build *, ProgramText *, const char *path);      /* measures an object or a library */
void fit_check_flash(Build *, const ProgramText *);    /* fails with the figures if the code exceeds --max-flash */
/* computes the stack's depth from the compiler's call graph */
void fit_stack(Build *, ProgramText *, const char *path);

/* ---- folder.c: C for others to compile ------------------------------------------------------------- */

void folder_write(Build *, const ProgramText *);
void folder_write_cuda(Build *, const ProgramText *);   /* --emit cuda */

/* ---- targets.c ------------------------------------------------------------------------------------- */

/* Sets up a build for o's target: compiler, processor, umask. Fails if the compiler inside Kiln cannot make the
 * result. */
void build_init(Build *, Cx *, const BuildOptions *);
const char *choose_compiler(const BuildOptions *, bool cross);
void args_compiler(Build *, Argv *);             /* adds the compiler's name, and options for the target */
void args_cpu(Build *, Argv *);
const char *target_lacks(Build *); /* returns the missing tool and its Debian package; null if none is missing */
bool target_fpu(const BuildOptions *, const char *cpu);    /* whether floats are passed in registers; cpu may be null */
/* returns the number of floats in a vector; if macros is null, the smallest number of the target */
int  target_floats(const Target *, const char *macros);

/* ---- runtime.c --------------------------------------------------------------------------------------- */

/* Adds the objects of the runtime that the given objects need, compiled for the target. */
void runtime_objects(Build *, Argv *objects);

/* The files of the runtime that a program needs, found by the symbols of the carried library. */
typedef struct Needs {
	Cx   *cx;
	/* maps: from a symbol to the name of its file without ".c"; from that name to its member of the library */
	Map   index, members;
	Map   taken, defined;
	Texts names;             /* names of files, in the order of discovery */
} Needs;
void needs_open(Needs *, Cx *);
void needs_symbol(Needs *, const char *);
void needs_object(Needs *, const char *path);    /* adds the files that define symbols which the object refers to */
/* returns the object file with this name; *n: its length in bytes */
const char *needs_member(const Needs *, const char *name, int64_t *n);

/* ---- cache.c: folders kept for later builds --------------------------------------------------------- */

/* Returns the path of the folder rt-NAME in the cache. Makes the folder if needed, and locks it until this process
 * ends. Null if there is no cache. */
const char *cache_kept(Cx *, const char *name);

/* ---- sources.c: the runtime's files for a program's text ------------------------------------------- */

/* Writes the runtime's files that the text needs to the temporary folder, and adds their names to `files`. */
void runtime_sources(Build *, const char *text, Texts *files);

#endif
