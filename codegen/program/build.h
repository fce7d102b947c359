/* codegen/program/build.h - what the files share that call compilers: build.c, runtime.c, targets.c */
#ifndef CODEGEN_BUILD_H
#define CODEGEN_BUILD_H

#include "program.h"

#include <sys/types.h>

/* A row of floats in a vector if the compiler defines the macro. The last row has a null macro and always holds. */
typedef struct TargetVector { const char *macro; int floats; } TargetVector;

struct Target {
	const char *triple, *arch;       /* target triple; architecture as uname prints it */
	ElfKind elf;                     /* kind of its object files */
	const char *cc, *cc_package;     /* default compiler without --cc; its package in Debian */
	const char *tools, *tools_package;       /* prefix of ar and objcopy; their package */
	/* file that programs link with, to test if the C library's package is installed; or null */
	const char *libc, *libc_package;
	const char *musl;                /* Debian's name of musl's folders; null if the compiler knows its C library */
	const char *cpu_as, *mcpu_as;    /* compiler options that --cpu and --mcpu become */
	/* processor that code for one processor is scheduled for without --mcpu; null for that processor itself */
	const char *tuned_for;
	/* processors of --cpu portable, separated by commas, the lowest first; null if it is not allowed */
	const char *portable;
	bool int8_level;                 /* whether the last of these is for 8-bit kernels only */
	const char *in_order;        /* in-order processors of the target, separated by spaces (VC_IN_ORDER); or null */
	/* Processors of the target that pass floats in registers although the compiler's default does not; or null. */
	const char *fpu;
	const TargetVector *vectors;     /* floats in a vector: the first row that holds */
	const char *libs;                /* libraries of a program, separated by spaces */
	bool is_static;                  /* whether to link statically */
	bool is_bare; /* whether it has no operating system; only plain C functions (--no-generic) are possible */
	const char *emulator, *root;     /* name of qemu-user, and the folder for its -L; or null */
};

typedef struct Build {
	Cx *cx;
	const BuildOptions *options;
	const char *dir;         /* temporary folder */
	const char *out;         /* path of the result */
	const char *cc;          /* C compiler */
	const char *cpu;         /* processor to compile for: --cpu, or one of several; null if not given */
	bool tcc, cross;         /* tcc: compile by the compiler inside Kiln; cross: not for this machine */
	bool small;              /* whether to compile for size */
	mode_t mask;             /* mode mask of new files */
} Build;


/* ---- compiler.c: argument lists, processes, options ------------------------------------------------ */

typedef struct Argv { Vec(char *) v; Cx *cx; } Argv;
void arg(Argv *, const char *text);              /* adds a copy of the text */
void args_of(Argv *, const char *words);         /* adds the words of a variable like CFLAGS; null adds none */
char *const *argv_of(Argv *);
/* Is the result machine code, and not text? */
bool is_made_of_code(const BuildOptions *);
/* Is it a program with fixed addresses? Then its tables need no relocations, which are a fifth of a small program's
 * size and start time. */
bool is_fixed(const Build *);
/* Returns the compiler option for equal fused multiply-adds everywhere, or "". Tuned for some of AMD's processors, gcc
 * does not fuse them in a block of one sum, but does so in larger blocks. Then the same element would differ with the
 * number of threads. */
const char *fma_option(const char *cc);
/* Returns the option for code of libraries. Code for bare metal has no GOT. Linker scripts do not expect one, and
 * startup code copies no table outside .data to RAM. */
const char *pic_option(const Target *);
bool start(Build *, char *const *argv, const char *log, Process *);
RT_NORETURN void not_started(Build *, const Process *);
RT_NORETURN void process_failed(Build *, const Process *, const char *what);

/* ---- outputs.c: result files, replaced atomically -------------------------------------------------- */

/* A file that a build makes. */
typedef struct Result {
	const char *part, *to;     /* temporary path beside the file, and its path */
	const char *old;           /* second link to the file that it replaced. Null if there is none. */
	bool        is_placed;     /* whether the part has been renamed */
} Result;

/* All files that a build makes. If one cannot be written, none is. */
typedef struct Results {
	Cx         *cx;
	Vec(Result) at;            /* files that are renamed; devices and pipes are written at once */
	Texts       folders;       /* folders that the build made */
} Results;
/* Each of these fails with the path and errno's message if it cannot do its work, and then undoes all earlier ones. */
void results_parents(Results *, const char *path, size_t from);  /* makes the path's folders that end after `from` */
void results_add(Results *, const char *from, const char *path); /* moves a finished file beside its place */
void results_place(Results *);                                   /* renames all files that were added */
const char *link_target(Cx *, const char *path);         /* the path behind symbolic links; that of a device as it is */
const char *weights_beside(Build *, const Weights *);    /* writes the file of --weights file; returns its name */

/* ---- fit.c: memory that plain functions need -------------------------------------------------------- */

void fit_measure(Build *, ProgramText *, const char *path);      /* measures an object or a library */
void fit_check_flash(Build *, const ProgramText *);              /* fails with the figures */
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
bool target_fpu(const BuildOptions *, const char *cpu);           /* Are floats passed in registers? cpu may be null. */
/* returns the floats in a vector; macros null: the smallest number */
int  target_floats(const Target *, const char *macros);

/* ---- runtime.c --------------------------------------------------------------------------------------- */

/* Adds the runtime's objects that these objects need, compiled for the target. */
void runtime_objects(Build *, Argv *objects);

/* The files of the runtime that are needed, by the symbols of the carried library. */
typedef struct Needs {
	Cx   *cx;
	Map   index, members;    /* symbol -> name of its file, without ".c"; that name -> its member of the library */
	Map   taken, defined;
	Texts names;             /* names of files, in the order of discovery */
} Needs;
void needs_open(Needs *, Cx *);
void needs_symbol(Needs *, const char *);
void needs_object(Needs *, const char *path);                    /* adds the files that the object refers to */
const char *needs_member(const Needs *, const char *name, int64_t *n);   /* returns the object file of a name */

/* ---- cache.c: folders kept for later builds --------------------------------------------------------- */

/* Returns the path of the folder rt-NAME in the cache. It is made if needed and locked until this process ends. Null if
 * there is no cache. */
const char *cache_kept(Cx *, const char *name);

/* ---- sources.c: the runtime's files for a program's text ------------------------------------------- */

/* Writes the files to the temporary folder and adds their names. */
void runtime_sources(Build *, const char *text, Texts *files);

#endif
