/* codegen/program/build.h - what the files share that call compilers: build.c, runtime.c, targets.c */
#ifndef CODEGEN_BUILD_H
#define CODEGEN_BUILD_H

#include "program.h"

#include <sys/types.h>

typedef struct TargetVector { const char *macro; int floats; } TargetVector;   /* macro null: always */

struct Target {
	const char *triple, *arch;       /* arch: as uname says it */
	ElfKind elf;                     /* of its objects */
	const char *cc, *cc_package;     /* the default without --cc; its package in Debian */
	const char *tools, *tools_package;       /* prefix of ar and objcopy */
	const char *libc, *libc_package; /* a file that programs are linked with: is that package here?  Or null */
	const char *musl;                /* Debian's name of musl's folders; null: the compiler knows its C library */
	const char *cpu_as, *mcpu_as;    /* the options that --cpu and --mcpu become */
	const char *tuned_for;           /* what code for one processor is scheduled for, without --mcpu; null: that */
	const char *portable;            /* what --cpu portable means: with commas, the least first; null: nothing */
	bool int8_level;                 /* ... the last is for kernels of 8 bits */
	const char *in_order;            /* its processors that execute in order, with spaces (VC_IN_ORDER); or null */
	const char *fpu;                 /* those that take floats in registers; the compiler would not; or null */
	const TargetVector *vectors;     /* floats in a vector, the first row that holds */
	const char *libs;                /* of a program, with spaces */
	bool is_static;                  /* options of every link */
	bool is_bare;                    /* without a system: plain C functions (--no-generic) alone */
	const char *emulator, *root;     /* qemu-user's name; its -L; or null */
};

typedef struct Build {
	Cx *cx;
	const BuildOptions *o;
	const char *dir;         /* temporary folder */
	const char *out;         /* where the result goes */
	const char *cc;          /* compiler of C */
	const char *cpu;         /* that it compiles for: --cpu, or one of several; null: not said */
	bool tcc, cross;         /* cross: not for this machine */
	bool small;              /* code is compiled for size */
	mode_t mask;             /* of new files */
} Build;


/* ---- compiler.c: argument lists, processes, options ------------------------------------------------ */

typedef struct Argv { Vec(char *) v; Cx *cx; } Argv;
void arg(Argv *, const char *text);              /* a copy */
void args_of(Argv *, const char *words);         /* words of a variable like CFLAGS; null: none */
char *const *argv_of(Argv *);
/* Is the result machine code, and not text? */
bool is_made_of_code(const BuildOptions *);
/* Is it a program with fixed addresses? Then its tables need no relocations, which are a fifth of a small program's
 * size and start time. */
bool is_fixed(const Build *);
/* Tuned for some of AMD's processors, gcc does not fuse products and additions of a block of one sum, but does so of
 * larger ones, which may compute the same element on another number of threads.  The option that ends this, or "". */
const char *fma_option(const char *cc);
/* The option for code of libraries.  Code for bare metal has no GOT: linker scripts do not expect one, and startup code
 * copies no table to RAM that lies outside .data. */
const char *pic_option(const Target *);
bool start(Build *, char *const *argv, const char *log, Process *);
RT_NORETURN void not_started(Build *, const Process *);
RT_NORETURN void process_failed(Build *, const Process *, const char *what);

/* ---- outputs.c: files that take their places whole ------------------------------------------------- */

/* Moves a finished file beside its place and returns its path there: by a rename, across file systems by a copy. Copies
 * into a device or pipe. Returns null and sets errno if that fails. */
const char *place_beside(Cx *, const char *from, const char *to);
/* Renames a file that place_beside returned into its place. On failure removes it, returns false and sets errno. */
bool rename_part(const char *part, const char *to);
void drop_part(const char *part, const char *to);        /* removes such a file and keeps errno; part may be null */
const char *link_target(Cx *, const char *path);         /* the path behind symbolic links, where results are written */
const char *weights_beside(Build *, const Weights *);    /* writes the file of --weights file; its name */

/* ---- fit.c: what plain functions take of a device's memory ------------------------------------------ */

void fit_measure(Build *, ProgramText *, const char *path);      /* an object or a library */
void fit_check_flash(Build *, const ProgramText *);              /* fails with the figures */
void fit_stack(Build *, ProgramText *, const char *path);        /* of the compiler's graph of calls */

/* ---- folder.c: C for others to compile ------------------------------------------------------------- */

void folder_write(Build *, const ProgramText *);

/* ---- targets.c ------------------------------------------------------------------------------------- */

/* Sets up a build for o's target: compiler, processor, umask. Fails if the compiler inside Kiln cannot make the
 * result. */
void build_init(Build *, Cx *, const BuildOptions *);
const char *choose_compiler(const BuildOptions *, bool cross);
void args_compiler(Build *, Argv *);             /* its name, and options for the target */
void args_cpu(Build *, Argv *);
const char *target_lacks(Build *);               /* the missing tool and its Debian package; null: none is missing */
bool target_fpu(const BuildOptions *, const char *cpu);           /* are floats passed in registers?  cpu: or null */
int  target_floats(const Target *, const char *macros);          /* macros null: the least */

/* ---- runtime.c --------------------------------------------------------------------------------------- */

/* Adds the runtime's objects that these need, compiled for the target. */
void runtime_objects(Build *, Argv *objects);

/* The files of the runtime that are needed, by the symbols of the carried library. */
typedef struct Needs {
	Cx   *cx;
	Map   index, members;    /* symbol -> name of its file, without ".c"; that -> its member of the library */
	Map   taken, defined;
	Texts names;             /* of files, in the order of finding them */
} Needs;
void needs_open(Needs *, Cx *);
void needs_symbol(Needs *, const char *);
void needs_object(Needs *, const char *path);                    /* what it refers to */
const char *needs_member(const Needs *, const char *name, int64_t *n);   /* an object */

/* ---- cache.c: what builds leave for later ones ------------------------------------------------------ */

/* The path of the folder rt-NAME in the cache, made if need be, and locked until this process ends.  Null: there is no
 * cache. */
const char *cache_kept(Cx *, const char *name);

/* ---- sources.c: the runtime's files that go with a program's text ---------------------------------- */

/* Into the temporary folder; adds their names. */
void runtime_sources(Build *, const char *text, Texts *files);

#endif
