/* codegen/program/program.h - plans, C text, compilers: a specialized graph becomes a file
 *
 *   emit_program    prepared functions and their specializations -> C text and the weights' bytes
 *   build_program   C text and weights -> executable, by a C compiler or libtcc
 */
#ifndef CODEGEN_PROGRAM_H
#define CODEGEN_PROGRAM_H

#include "../kernel/kernel.h"

/* ---- elf.c: object files of targets -------------------------------------------------------------------- */

typedef struct ElfKind { int machine, bits; uint32_t flags; } ElfKind;     /* bits: 32 or 64 */
/* A relocatable object with the bytes in .rodata under the name kiln_weights. */
bool    weights_write_object(const Weights *, const char *path, const ElfKind *, const char *name, const char **why);
/* Machine code in a built file; 0: it is no ELF file.  mixed: constants are within, and are counted, too. */
int64_t elf_code_bytes(Cx *, const char *path, bool mixed);
/* All of it that is loaded or lies in flash: code, constants, initial values. */
int64_t elf_loaded_bytes(Cx *, const char *path);
/* Adds the names that other objects see, and those that they are to define. */
void    elf_symbols(Cx *, const char *path, Texts *defined, Texts *undefined);

/* ---- cgen_data.c, cgen_code.c, cgen.c: the emitted C ---------------------------------------------------- */

typedef struct DoorSpec {        /* a specialization of a library, for its header */
	const char *method;
	Function   *fn;
	const Specialization *spec;
	struct Plan *plan;
	uint64_t written;        /* a bit for each argument that it writes to */
} DoorSpec;

typedef struct EmitMethod {
	const char *name;
	Function   *fn;
	const RtCode *reference;   /* for --selfcheck; or null */
	const Specialization *const *spec;   /* nspec, tried in this order */
	int         nspec;
	const char *generic;       /* Reason why nspec is 0. Null if it is not. */
} EmitMethod;

const char *emit_type(Emit *, const RtType *);         /* C expression: &type_3, &rt_type_int */
const char *emit_class(Emit *, const RtClass *);
/* names the classes of modules in it whose methods are called by name */
void        emit_method_classes(Emit *, IValue);
/* C name of an array of both; 0: null */
const char *emit_geometry(Emit *, int n, const int64_t *dims, const int64_t *strides);
int         emit_value(Emit *, IValue);                /* adds a top-level constant; its index in cx->value */
void        emit_need(Emit *, IValue);                 /* its tensors are read where they cannot be unpacked first */
const char *emit_symbol(Emit *, const Op *);           /* C name of its kernel, which is declared */
const char *emit_code(Emit *, const RtCode *);         /* C name; codes that it calls too */
void        emit_panels(const Emit *, Buf *);          /* macros of vblock.h */
const char *emit_key(Emit *, const void *);             /* text of an address: a key of Emit's maps */
/* Append a C literal: of a text that may be null, a double, an int64_t; a table NAME_WHAT of n texts. */
void        put_c_text(Buf *, const char *text);
void        put_c_double(Buf *, double);
void        put_c_int(Buf *, int64_t);
void        put_c_texts(Buf *, const char *name, const char *what, const char *const *text, int n);
bool        emit_is_unread(Emit *, const RtClass *, int slot);   /* of a module: does no code of the program use it? */
void        emit_classes(Emit *);                      /* defines the classes that were named; last of all */
extern const char *const emit_own[];                   /* tables of the runtime that a program defines; then null */
void        emit_instructions(Emit *);                 /* the table of those that the codes have; last of all */
typedef struct PlaceList { int *at, n, cap; } PlaceList;
typedef struct CodePlaces {       /* the places of a Code that its program has */
	uint32_t *row;           /* by index in the Code: the row there, 0: none */
	Vec(int)  of;            /* by row: the index in the Code */
	Map       known;
	Map       lines;         /* of emit_line */
} CodePlaces;
const CodePlaces *emit_places(Emit *, const RtCode *);
const PlaceList *emit_line(Emit *, const CodePlaces *, int line, int caller);  /* of the Code; -1: of any; null: none */

/* ---- plan.c: makes a plan ------------------------------------------------------------------------------------ */

typedef enum PlanKind { PLAN_CPU, PLAN_GPU, PLAN_BARE, PLAN_SMALL } PlanKind;   /* small: bare, in little memory */
Plan   *plan_make(Cx *, Function *, const Specialization *, PlanKind, struct DynamicPlan *);
/* Only makes groups that get no kernel their nodes again: what has been numbered then stays as it is. */
void    plan_dissolve(Cx *, Function *, const Specialization *, PlanKind);
/* The tensors that a graph returns, those in tuples, too, in order; false: it returns something else. */
bool    plan_results(const Graph *, ValueVec *, Arena *);

/* ---- plan_step.c: questions about nodes ---------------------------------------------------------------------- */

bool    node_makes_parts(const Node *);                 /* a tuple or a list of its inputs */
bool    plan_was_there(Plan *, const Value *, int step);       /* do its tensors lie in buffers older than that step? */
bool    plan_needs_step(Plan *, const Node *);          /* false: a view, or nothing to do */
bool    plan_is_kernel(Plan *, const Node *);           /* generated code, not a call of the runtime */

/* ---- joins.c: parts of what a cat joins are made in their places ------------------------------------------------- */

void    plan_joins(Plan *);

/* ---- inplace.c: results in the memory of operands that nothing reads afterwards --------------------------------- */

void    plan_in_place(Plan *);
const Node *plan_peak(const Plan *);                    /* the node at which most bytes are alive (fit.c) */

/* ---- offsets.c: places in the arena ------------------------------------------------------------------------------ */

int64_t plan_offsets(Cx *, Buffer *const *, int n);     /* by bytes, first and last; how large the arena is */
int64_t plan_least_arena(Cx *, Buffer *const *, int n); /* bytes: the largest sum of live buffers at one step */

/* ---- cgen_plan.c, cgen_launch.c (writer.h) ---------------------------------------------------------------------- */

/* Emits a specialized function; its C name.  code: C expression of the generic code's address. */
const char *emit_plan(Emit *, Plan *, int index, const char *code);
/* The C name of what belongs to a specialization; whatever the function is called, no other name begins so. */
const char *emit_name(const Emit *, const Function *, int index, const char *what);
/* The kernel, or kernels, of a node, with its epilogue; false: not a form that is generated. */
bool emit_kernel_calls(Emit *, Plan *, const Node *, KernelCall *calls, int *ncall);
/* What emit_plan prints of a sample between the function's braces. */
char *plan_text(Emit *, Plan *, const char *code);

/* ---- dynamic.c: a dynamic specialization from the plans of its samples ------------------------------------------- */

/* Constants that the plans of a dynamic specialization's samples use, in the order of asking. */
typedef struct KnownConstant { IValue v; int index; } KnownConstant;      /* index: in cx->value */
struct Lockstep { Vec(KnownConstant) at; };
typedef struct DynamicNames {
	const char *function;    /* the C name of the specialized function, */
	const char *sizes;       /* and of the one that says whether sizes fit */
	const Plan *plan;        /* of sample `sample` of the sizes `of` */
	const Sizes *of;
	int sample;
} DynamicNames;
/* Emits the kernels and both functions; false: the samples' plans do not agree. */
bool    emit_dynamic(Emit *, Function *, const Specialization *, int index, const char *code, DynamicNames *);

/* ---- cgen_entry.c: the choice at entry --------------------------------------------------------------------------- */

/* Emits the specializations of a function and what chooses among them; noted in e->plan_names. */
void emit_entry(Emit *, const char *method, Function *, const Specialization *const *, int n);

/* ---- nvrtc.c: CUDA text to PTX and cubin ------------------------------------------------------------------------- */

/* Adds the images for --gpu to the weights and their rows to the text; null list: nothing. */
typedef Vec(int) Archs;                                  /* 90: a cubin for sm_90; -90: PTX for compute_90 */
Archs cuda_archs(Cx *, const char *list);                /* of --gpu; fails on what it does not know */
char *cuda_compile(Cx *, const char *text, int arch, int64_t *n);     /* in the arena, with a zero behind it */

/* ---- cgen.c: a program's text -------------------------------------------------------------------------------- */

typedef struct ProgramText {
	char *c;                 /* the whole of the program's C, for cc */
	int64_t n;
	char *cuda, *ptx;        /* --emit cuda, ptx; null: not asked for */
	Weights *weights;
	RtProgram about;         /* what rt/info.c prints of it */
	const Tuning *tuning;    /* what was chosen; or null */
	int64_t code_bytes;      /* of the file that was built; 0: it has none */
	char *header;            /* NAME.h of a library; else null */
	Texts exported;          /* its functions */
	bool  bare;              /* C without a runtime: bare.c */
	int64_t ram;             /* ... bytes of an instance, */
	int64_t flash, stack;    /* of all that is loaded, of the deepest call; 0: not known */
	const char *over;        /* why that is more than max_ram; or null */
	Texts levels;            /* those of BuildOptions that it has kernels for */
	Texts notes;             /* which calls run in generic code, and why */
	bool by_tcc;             /* set by build_program: machine code by the compiler inside Kiln */
} ProgramText;

typedef struct Target Target;    /* build.h */

typedef struct BuildOptions {
	const Target *target;
	const char *out, *emit, *cc, *gpu;
	const char *cpu, *march, *mcpu, *sysroot;        /* for the compiler; null: not given */
	Texts levels;            /* --cpu with several names, the least processor first; cpu is null then */
	int level_floats[8];     /* of each, by target_ask: floats in a vector, */
	int level_ops[8];        /* ... as ops_level, for the operators that specialized code calls */
	bool int8_level;         /* the last one is for kernels of 8 bits: a program without them does without it */
	const char *name;        /* of a library; else null */
	bool fixed;              /* a program linked statically: --static */
	int  opt, threads, max_specializations;
	int  ops_level;          /* of x86-64, of which the program's operators are: 3, 4; 0: any; by target_ask */
	int  vector_floats;      /* of the target: 16, 8, 4; 1: no vectors (tcc); by target_ask, */
	bool oz;                 /* the compiler knows -Oz, by target_ask: clang, GCC from 12 on */
	uint64_t macros;         /* as this: a hash of what the compiler defines; 0: none was asked */
	const char *weights_file;        /* beside the program; null: in it */
	bool source, verbose, bench_code;
	bool debug;              /* the names of functions are kept */
	bool bare;               /* no generic code: plain C functions, */
	struct BareState *state; /* and what they keep */
	int64_t max_ram, max_flash;      /* bytes; 0: as many as it needs */
	Forms forms;
	Texts ops;               /* C files of the user's operators */
	Texts reads, writes;     /* files that the command reads and writes: no part of the result may replace them */
	Tuning *tuning;          /* null: nothing is measured or recorded */
	uint64_t seed;
	bool seeded;
} BuildOptions;

bool is_c_word(const char *);                          /* of C or C++: no name for anything */
void emit_program(Cx *, Module *, const EmitMethod *, int n, const BuildOptions *, ProgramText *);
/* Registers of the arguments that the graph writes to, with commas; how many, and a bit for each. */
const char *emit_written(Emit *, const Specialization *, Plan *, int *n, uint64_t *bits);
Emit *emit_new(Cx *, const Module *, const BuildOptions *);
/* Of the processor, or the processors with commas, that a program is built for. */
const char *processor_name(Arena *, const BuildOptions *, const Texts *levels);
RtProgram emit_about(Emit *);            /* what rt/info.c prints of it */

/* ---- bare.c: plain C functions without a runtime ----------------------------------------------------------------- */

void emit_bare(Cx *, Module *, const EmitMethod *, int n, const BuildOptions *, ProgramText *);

/* ---- fit.c: what such functions take of a device's memory -------------------------------------------------------- */

const char *node_place(Cx *, const Node *);            /* "aten::sort (net.py:3)" */
void fit_put_peak(Buf *, Plan *);                      /* which tensors are alive where most are */

/* ---- bare_state.c: what such functions keep from call to call ---------------------------------------------------- */

/* A storage of the instance that a method reads or writes as it is now; stand: the same without data, in graphs. */
typedef struct BareStorage { RtStorage *real, *stand; int64_t offset; } BareStorage;
typedef struct BareState { Vec(BareStorage) at; int64_t bytes; } BareState;

/* In a graph that no pass has changed yet: reads of attributes become constants; what writes in place computes, and
 * copies. */
void bare_bind(Cx *, BareState *, Graph *, IValue self);
void bare_state_place(BareState *, Plan *);                              /* whose buffers lie there */
void bare_state_put(const BareState *, Emit *, Out *);  /* a function that makes it what was built, when there is any */

/* ---- carry.c: the runtime that Kiln carries inside itself ------------------------------------------------- */

/* Writes the library that was built for the host: of level 0 all of it, for the least processor; of level 3 or 4 of
 * x86-64 only the operators, `named` with _v3, _v4 behind their names. */
void carry_library(Cx *, int level, bool named, const char *path);
const char *carry_library_text(int64_t *n);              /* of level 0 */
const char *carry_support_text(int64_t *n);              /* an object: what the library calls of libgcc */
void carry_sources(Cx *, const char *dir);               /* writes all of rt, for other targets */
char *carry_text(Cx *, const char *name);               /* of one file: rt/ops/tmath.h */
bool carry_has(Cx *, const char *name);
/* Adds a file of rt, and all that it includes, to a list that does not have them yet. */
void carry_add(Cx *, const char *path, Texts *files);
/* The same of what a text includes that would be a file of the folder `dir`. */
void carry_add_included(Cx *, const char *text, const char *dir, Texts *files);
void carry_files(Cx *, const Texts *files, const char *dir);     /* writes them below dir */
void make_parents(const char *path, size_t from);       /* the folders on the way to it, but for its first bytes */
void operators_header(Cx *, const char *dir);            /* kiln.h, for the user's operators */
uint64_t carry_hash(void);

/* ---- outputs.c: files that take their places whole ------------------------------------------------------------- */

/* Fails with EXIT_USAGE if writing one of these files would replace one that the command reads, Kiln itself, or another
 * one of them. */
void refuse_overwrite(Cx *, const Texts *reads, const Texts *writes);
/* A finished file takes its place by a rename, from another file system by a copy beside it; false, and errno. */
bool build_move(Cx *, const char *from, const char *to);
void write_text(Cx *, const char *path, const char *text, int64_t n);

/* ---- build.c ------------------------------------------------------------------------------------------------ */

void build_program(Cx *, ProgramText *, const BuildOptions *);       /* fails with the compiler's message */
/* The user's C as a shared object for this machine; the headers are in dir. False: there is no such compiler. */
bool build_operators(Cx *, const char *dir, const char *cc, const Texts *files, const char *out);

/* ---- targets.c: the machines that programs are built for --------------------------------------------------------- */

const Target *target_at(int);                          /* null: no more */
const Target *target_host(void);                       /* this machine's */
const Target *target_find(Cx *, const char *triple);   /* fails with the names that there are: EXIT_USAGE */
const char *target_triple(const Target *);
bool target_is_bare(const Target *);                   /* without a system to run on */
/* Processors of --cpu portable, with commas; null: none.  int8_level: as in BuildOptions. */
const char *target_levels(const Target *, bool *int8_level);
bool target_wants_levels(const BuildOptions *);        /* is that what --cpu is, if it is not given? */
bool target_in_order(const Target *, const char *cpu); /* does it execute instructions in order?  cpu null: no */
const char *target_runner(Cx *, const Target *);       /* what runs its programs here; null: nothing is needed */
const char *command_path(Cx *, const char *name);      /* where PATH has it; null: nowhere */
/* Asks the compiler what it compiles for; fails when something is missing here that building needs: EXIT_LACKS. */
void target_ask(Cx *, BuildOptions *);
/* The missing tool and its Debian package; null: none is missing.  cc: the target's compiler. */
const char *target_lacks_here(Cx *, const Target *, const char **cc);

/* ---- tcc.c: the compiler inside Kiln; paths in dir, a temporary folder that has the headers ---------------------- */

typedef struct TccFiles {
	const char *c, *weights;             /* the program's text, and an object file */
	const Texts *operators;              /* C files of the user */
	const char *name;                    /* of a shared library; null: a program */
	const char *out;
} TccFiles;
void tcc_build(Cx *, const char *dir, TccFiles);
void tcc_shared(Cx *, const char *dir, const Texts *operators, const char *out);  /* a shared object for this process */

/* ---- process.c: children, temporary folders, progress ---------------------------------------------------- */

typedef struct Process {
	int   pid;                 /* 0: none */
	const char *name, *log;    /* its standard error goes to the file log */
	int64_t begin, ns, peak_bytes;
} Process;
/* Standard output goes to the file out; null: to log.  False: errno says why not. */
bool  process_start(char *const *argv, const char *out, const char *log, Process *);
int   process_end(Process *);            /* its exit status; 128 + the number of the signal that ended it */
bool  process_crashed(int status);       /* was that signal one of an error of its own? */
int   process_fork(Cx *, void (*body)(void *), void *arg, const char *log);  /* runs body in a child; its exit status */
/* argv behind the words of --runner, what runs programs of other machines; null: as it is */
char *const *process_by_runner(Cx *, const char *runner, char *const *argv);
/* both; fails when it does not start */
int   process_run(Cx *, char *const *argv, const char *out, const char *log, Process *);
/* With the status for its error output: out of memory, disk full, or else this status */
RT_NORETURN void process_fail(Cx *, const char *name, int status, const char *what, const char *log);
char *process_log(Cx *, const char *path, int64_t most);          /* the first bytes of a file; "" when there is none */
const char *file_text(Cx *, const char *path);        /* all of a file, with a final 0; fails when it cannot be read */
bool  process_remove_tree(char *path);   /* a folder and all in it; path has room for PATH_MAX bytes, and is kept */
typedef void ProcessBody(Cx *, const char *dir, void *arg);
/* runs it with a temporary folder, which then goes; so do signals' */
void  process_folder(Cx *, ProcessBody *, void *arg);
void  progress(const char *fmt, ...) RT_PRINTF(1, 2);        /* a line on a terminal; null: it goes */

#endif
