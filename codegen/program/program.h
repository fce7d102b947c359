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
/* Writes a relocatable object with the bytes in .rodata under the symbol `name`. On failure returns false and sets
 * *why. */
bool    weights_write_object(const Weights *, const char *path, const ElfKind *, const char *name, const char **why);
/* Bytes of machine code in a built file; 0 if it is no ELF file. mixed: constants are among the code and are counted,
 * too. */
int64_t elf_code_bytes(Cx *, const char *path, bool mixed);
/* Bytes of a built file that are loaded or are in flash: code, constants, initial values. */
int64_t elf_loaded_bytes(Cx *, const char *path);
/* Adds the symbols that an object defines for others, and those that it leaves undefined. */
void    elf_symbols(Cx *, const char *path, Texts *defined, Texts *undefined);

/* ---- cgen_data.c, cgen_code.c, cgen.c: the emitted C ---------------------------------------------------- */

typedef struct DoorSpec {        /* A specialization of a library, for its header. */
	const char *method;
	Function   *fn;
	const Specialization *spec;
	struct Plan *plan;
	uint64_t written;        /* set of the arguments that it writes to, a bit each */
} DoorSpec;

typedef struct EmitMethod {
	const char *name;
	Function   *fn;
	const RtCode *reference;   /* code for --selfcheck; or null */
	const Specialization *const *spec;   /* nspec specializations, tried in this order */
	int         nspec;
	const char *generic;       /* Reason why nspec is 0. Null if it is not. */
} EmitMethod;

const char *emit_type(Emit *, const RtType *);         /* returns a C expression: &type_3, &rt_type_int */
const char *emit_class(Emit *, const RtClass *);
/* Names the classes of modules in the value whose methods are called by name. */
void        emit_method_classes(Emit *, IValue);
/* Returns the C name of an array of dims and strides; "0" if n is 0. */
const char *emit_geometry(Emit *, int n, const int64_t *dims, const int64_t *strides);
int         emit_value(Emit *, IValue);                /* adds a top-level constant; returns its index in cx->value */
void        emit_use(Emit *, IValue, WeightUse);       /* notes how code reads the value's tensors */
const char *emit_symbol(Emit *, const Op *);           /* declares the operator's kernel and returns its C name */
const char *emit_code(Emit *, const RtCode *);         /* emits a Code and all that it calls; returns its C name */
void        emit_panels(const Emit *, Buf *);          /* writes the macros of vblock.h */
const char *emit_key(Emit *, const void *);             /* text of an address, the key of Emit's maps */
/* Append a C literal: a string that may be null, a double, an int64_t, or a table NAME_WHAT of n strings. */
void        put_c_text(Buf *, const char *text);
void        put_c_double(Buf *, double);
void        put_c_int(Buf *, int64_t);
void        put_c_texts(Buf *, const char *name, const char *what, const char *const *text, int n);
/* Is the module's attribute unused by all code of the program? */
bool        emit_is_unread(Emit *, const RtClass *, int slot);
void        emit_classes(Emit *);                      /* defines the classes that were named; called last */
extern const char *const emit_own[]; /* names of runtime tables that a program defines; ends with null */
void        emit_instructions(Emit *); /* writes the table of instructions that the codes use; called last */
typedef struct PlaceList { int *at, n, cap; } PlaceList;
typedef struct CodePlaces {       /* The source places of a Code that its program contains. */
	uint32_t *row;           /* by index in the Code: row in the program's table; 0 if none */
	Vec(int)  of;            /* by row: index in the Code */
	Map       known;
	Map       lines;         /* results of emit_line */
} CodePlaces;
const CodePlaces *emit_places(Emit *, const RtCode *);
/* Returns the places of a line of the Code with this caller; -1: with any caller. Null if there are none. */
const PlaceList *emit_line(Emit *, const CodePlaces *, int line, int caller);

/* ---- plan.c: makes a plan ------------------------------------------------------------------------------------ */

typedef enum PlanKind { PLAN_CPU, PLAN_GPU, PLAN_BARE, PLAN_SMALL } PlanKind; /* PLAN_SMALL: bare, with a small arena */
Plan   *plan_make(Cx *, Function *, const Specialization *, PlanKind, struct DynamicPlan *);
/* Only dissolves groups that get no kernel into their nodes. Later plans then keep the numbering of values. */
void    plan_dissolve(Cx *, Function *, const Specialization *, PlanKind);
/* Lists the tensors that a graph returns, in order, including those in tuples. Returns false if it returns anything
 * else. */
bool    plan_results(const Graph *, ValueVec *, Arena *);

/* ---- plan_check.c: invariants of a plan ----------------------------------------------------------------------- */

void    plan_check(Plan *);                             /* ends with BUG and the graph's text if one is broken */

/* ---- plan_step.c: questions about nodes ---------------------------------------------------------------------- */

bool    node_makes_parts(const Node *);                 /* Does it make a tuple or list of its inputs? */
bool    plan_was_there(Plan *, const Value *, int step);       /* Are its tensors in buffers older than that step? */
bool    plan_needs_step(Plan *, const Node *);          /* false for a view, or if there is nothing to do */
bool    plan_is_kernel(Plan *, const Node *);           /* Is it generated code, not a call of the runtime? */

/* ---- joins.c: operands of a cat computed in its result ----------------------------------------------------------- */

void    plan_joins(Plan *);

/* ---- inplace.c: results in the memory of dead operands ---------------------------------------------------------- */

void    plan_in_place(Plan *);
const Node *plan_peak(const Plan *);                    /* node at which most bytes are live (fit.c) */

/* ---- offsets.c: offsets in the arena ----------------------------------------------------------------------------- */

/* assigns offsets by bytes, first and last; returns the arena's size */
int64_t plan_offsets(Cx *, Buffer *const *, int n);
int64_t plan_least_arena(Cx *, Buffer *const *, int n); /* largest sum in bytes of live buffers at one step */

/* ---- cgen_plan.c, cgen_launch.c (writer.h) ---------------------------------------------------------------------- */

/* Emits a specialized function and returns its C name. code: C expression of the generic code's address. */
const char *emit_plan(Emit *, Plan *, int index, const char *code);
/* Returns the C name of a part of a specialization. No other name in the program has its prefix, whatever the function
 * is called. */
const char *emit_name(const Emit *, const Function *, int index, const char *what);
/* Emits the kernels of a node, with its epilogue. Returns false if it has no generated form. */
bool emit_kernel_calls(Emit *, Plan *, const Node *, KernelCall *calls, int *ncall);
/* Writes C that returns the call's status. In a program for the GPU the call runs without the device. */
void write_return_apart(Out *, bool gpu, const char *call);
/* Returns the text that emit_plan prints between the function's braces for a sample. */
char *plan_text(Emit *, Plan *, const char *code);

/* ---- dynamic.c: a dynamic specialization from the plans of its samples ------------------------------------------- */

/* Constants that the plans of a dynamic specialization's samples use, in the order of requests. */
typedef struct KnownConstant { IValue value; int index; } KnownConstant;      /* index: index in cx->value */
struct Lockstep { Vec(KnownConstant) at; };
typedef struct DynamicNames {
	const char *function;    /* C name of the specialized function */
	const char *sizes;       /* C name of the function that tests whether sizes fit */
	const Plan *plan;        /* plan of sample `sample` of the sizes `of` */
	const Sizes *of;
	int sample;
} DynamicNames;
typedef struct DynamicOf { int index; const char *code; bool gpu; } DynamicOf;    /* index of the specialization */
/* Emits the kernels and both functions. Returns false if the samples' plans differ in structure. */
bool    emit_dynamic(Emit *, Function *, const Specialization *, const DynamicOf *, DynamicNames *);

/* ---- cgen_entry.c: the choice at entry --------------------------------------------------------------------------- */

/* Emits the specializations of a function and the function that chooses among them, whose name is added to
 * e->plan_names. */
void emit_entry(Emit *, const char *method, Function *, const Specialization *const *, int n);

/* ---- nvrtc.c: CUDA text to PTX and cubin ------------------------------------------------------------------------- */

/* Architectures of --gpu. 90: a cubin for sm_90. -90: PTX for compute_90. */
typedef Vec(int) Archs;
Archs cuda_archs(Cx *, const char *list);                /* parses --gpu; fails on an unknown architecture */
/* returns an image of *n bytes in the arena, with a zero byte after it */
char *cuda_compile(Cx *, const char *text, int arch, int64_t *n);

/* ---- cgen.c: a program's text -------------------------------------------------------------------------------- */

typedef struct ProgramText {
	char *source;                 /* the program's C */
	int64_t n;
	char *cuda, *ptx;        /* texts of --emit cuda and ptx; null if not asked for */
	char *timing;            /* text of the program that times the kernels of `cuda` */
	Weights *weights;
	RtProgram about;         /* data for rt/info.c */
	const Tuning *tuning;    /* choices of --tune; or null */
	int64_t code_bytes;      /* bytes of code in the built file; 0 if unknown */
	char *header;            /* text of NAME.h for a library; else null */
	Texts exported;          /* names of the library's functions */
	bool  bare;              /* whether it is C without a runtime (bare.c) */
	int64_t ram;             /* bare: bytes of RAM of an instance */
	int64_t flash, stack;    /* bare: bytes loaded or in flash; bytes of the deepest call's stack; 0 if unknown */
	const char *over;        /* bare: message if ram exceeds max_ram; or null */
	Texts levels;            /* levels of BuildOptions for which it has kernels */
	Texts notes;             /* calls that run in generic code, each with the reason */
	bool by_tcc;             /* whether the compiler inside Kiln compiled it; set by build_program */
} ProgramText;

typedef struct Target Target;    /* build.h */

typedef struct BuildOptions {
	const Target *target;
	const char *out, *emit, *cc, *gpu;
	const char *cpu, *march, *mcpu, *sysroot;        /* options for the compiler; null if not given */
	Texts levels;            /* processors of --cpu A,B, the lowest first; cpu is then null */
	int level_floats[8];     /* by level: number of floats in a vector; set by target_ask */
	int level_ops[8]; /* by level: ops_level of the operators that specialized code calls; set by target_ask */
	bool int8_level; /* whether the last level is for 8-bit kernels and is dropped from programs without them */
	const char *name;        /* name of a library; else null */
	bool fixed;              /* whether to link statically: --static */
	int  opt, threads, max_specializations;
	int  ops_level; /* x86-64: level of the program's operators, 3 or 4; 0 for the baseline; set by target_ask */
	/* floats in a vector of the target: 16, 8, 4, or 1 without vectors (tcc); set by target_ask */
	int  vector_floats;
	bool oz;                 /* whether the compiler knows -Oz (clang, GCC 12 or later); set by target_ask */
	/* hash of the macros that the compiler defines; 0 if no compiler was asked; set by target_ask */
	uint64_t macros;
	const char *weights_file;        /* file of the weights beside the program; null if they are in it */
	bool source, verbose, bench_code;
	bool debug;              /* whether to keep the names of functions */
	bool bare;               /* whether to emit plain C functions without generic code */
	struct BareState *state; /* state that these functions keep */
	int64_t max_ram, max_flash;      /* limits in bytes; 0 for no limit */
	Forms forms;
	Texts ops;               /* C files of the user's operators */
	Texts reads, writes;     /* files that the command reads and writes; no part of the result may replace them */
	Tuning *tuning;          /* null if nothing is measured or recorded */
	uint64_t seed;
	bool seeded;
} BuildOptions;

bool is_c_word(const char *);                          /* Is it a keyword of C or C++? */
void emit_program(Cx *, Module *, const EmitMethod *, int n, const BuildOptions *, ProgramText *);
/* Returns the registers of the arguments that the graph writes to, separated by commas. Sets their number, and a bit
 * for each. */
const char *emit_written(Emit *, const Specialization *, Plan *, int *n, uint64_t *bits);
Emit *emit_new(Cx *, const Module *, const BuildOptions *);
/* Returns the processor, or the processors separated by commas, that a program is built for. */
const char *processor_name(Arena *, const BuildOptions *, const Texts *levels);
RtProgram emit_about(Emit *);            /* returns the data for rt/info.c */

/* ---- bare.c: plain C functions without a runtime ----------------------------------------------------------------- */

void emit_bare(Cx *, Module *, const EmitMethod *, int n, const BuildOptions *, ProgramText *);

/* ---- fit.c: memory that such functions need ---------------------------------------------------------------------- */

const char *node_place(Cx *, const Node *);            /* "aten::sort (net.py:3)" */
void fit_put_peak(Buf *, Plan *);                      /* writes which tensors are live at the peak */

/* ---- bare_state.c: state that such functions keep between calls -------------------------------------------------- */

/* A storage of the instance whose current contents a method reads or writes. stand: the same storage without data, used
 * in graphs. */
typedef struct BareStorage { RtStorage *real, *stand; int64_t offset; } BareStorage;
typedef struct BareState { Vec(BareStorage) at; int64_t bytes; } BareState;

/* Changes a graph before any pass runs. Reads of attributes become constants. Operators that write in place become a
 * computation and a copy. */
void bare_bind(Cx *, BareState *, Graph *, IValue self);
void bare_state_place(BareState *, Plan *); /* assigns the plan's buffers of these storages to the instance */
/* writes a function that restores the initial state, if there is any state */
void bare_state_put(const BareState *, Emit *, Out *);

/* ---- carry.c: the runtime that Kiln carries inside itself ------------------------------------------------- */

/* Writes the library that was built for the host. Level 0: all of it, for the lowest processor. Level 3 or 4 of x86-64:
 * only the operators. named: their names end with _v3 or _v4. */
void carry_library(Cx *, int level, bool named, const char *path);
const char *carry_library_text(int64_t *n);              /* returns the library of level 0 */
const char *carry_support_text(int64_t *n); /* returns an object with the functions of libgcc that the library calls */
void carry_sources(Cx *, const char *dir);               /* writes all sources of rt, for other targets */
char *carry_text(Cx *, const char *name);               /* returns the text of one file: rt/ops/tmath.h */
bool carry_has(Cx *, const char *name);
/* Adds a file of rt and all that it includes to a list, unless the list has them. */
void carry_add(Cx *, const char *path, Texts *files);
/* Does the same for the files that a text in folder `dir` includes. */
void carry_add_included(Cx *, const char *text, const char *dir, Texts *files);
void carry_files(Cx *, const Texts *files, const char *dir);     /* writes these files below dir */
/* makes the parent folders of the path, except those in its first `from` bytes */
void make_parents(const char *path, size_t from);
void operators_header(Cx *, const char *dir);            /* writes kiln.h, for the user's operators */
uint64_t carry_hash(void);

/* ---- outputs.c: result files, replaced atomically -------------------------------------------------------------- */

/* Fails with EXIT_USAGE if writing one of these files would replace one that the command reads, Kiln itself, or another
 * one of them. */
void refuse_overwrite(Cx *, const Texts *reads, const Texts *writes);
/* Moves a finished file to its destination: by a rename, or from another file system by a copy beside it. On failure
 * returns false and sets errno. */
bool build_move(Cx *, const char *from, const char *to);
void write_text(Cx *, const char *path, const char *text, int64_t n);        /* writes a file in a temporary folder */
void write_whole(Cx *, const char *path, const char *text, int64_t n);       /* of a user; whole or not at all */

/* ---- build.c ------------------------------------------------------------------------------------------------ */

void build_program(Cx *, ProgramText *, const BuildOptions *);       /* fails with the compiler's message */
/* Compiles the user's C to a shared object for this machine; the headers are in dir. Returns false if there is no such
 * compiler. */
bool build_operators(Cx *, const char *dir, const char *cc, const Texts *files, const char *out);

/* ---- targets.c: target machines ---------------------------------------------------------------------------------- */

const Target *target_at(int);                          /* returns null after the last target */
const Target *target_host(void);                       /* this machine's */
const Target *target_find(Cx *, const char *triple);   /* fails with a list of targets: EXIT_USAGE */
const char *target_triple(const Target *);
bool target_is_bare(const Target *);                   /* Is it a target without an operating system? */
/* Processors of --cpu portable, separated by commas. Null if there are none. int8_level: as in BuildOptions. */
const char *target_levels(const Target *, bool *int8_level);
bool target_wants_levels(const BuildOptions *);        /* Is --cpu portable the default for these options? */
bool target_in_order(const Target *, const char *cpu); /* Does the processor execute in order? False if cpu is null. */
/* command that runs the target's programs here; null if none is needed */
const char *target_runner(Cx *, const Target *);
const char *command_path(Cx *, const char *name);      /* path of a command in PATH; null if it is not found */
/* Asks the compiler which target and processor it compiles for. Fails with EXIT_LACKS if a tool needed for building is
 * missing. */
void target_ask(Cx *, BuildOptions *);
/* Returns the missing tool and its Debian package. Null if none is missing. cc: the target's compiler. */
const char *target_lacks_here(Cx *, const Target *, const char **cc);

/* ---- tcc.c: the compiler inside Kiln; paths in dir, a temporary folder that has the headers ---------------------- */

typedef struct TccFiles {
	const char *source, *weights;             /* paths of the program's text and of the weights' object file */
	const Texts *operators;              /* C files of the user */
	const char *name;                    /* name of a shared library; null for a program */
	const char *out;
} TccFiles;
void tcc_build(Cx *, const char *dir, TccFiles);
/* compiles to a shared object for this process */
void tcc_shared(Cx *, const char *dir, const Texts *operators, const char *out);

/* ---- cgen_cuda.c: the GPU's part of a program -------------------------------------------------------------------- */

const char *emit_quoted(Emit *, const char *);           /* a C string; null: 0 */
void emit_gpu_launch(Emit *, Plan *, const CudaCall *);  /* notes a launch for the program that times kernels */
/* Puts the kernels' text into the ProgramText, their images into the weights, and their tables into the program. */
void emit_gpu(Emit *, const char *path, const BuildOptions *, ProgramText *);

/* ---- process.c: children, temporary folders, progress ---------------------------------------------------- */

typedef struct Process {
	int   pid;                 /* process id; 0 if none */
	const char *name, *log;    /* name of the program; file for its standard error */
	int64_t begin, ns, peak_bytes;
} Process;
/* Starts a process. Its standard output is written to the file out; null: to log. Returns false and sets errno on
 * failure. */
bool  process_start(char *const *argv, const char *out, const char *log, Process *);
int   process_end(Process *);            /* waits; returns the exit status, or 128 + the signal that ended it */
bool  process_crashed(int status);       /* Is it the status of a signal that an error in the process raised? */
/* runs body in a child process; returns its exit status */
int   process_fork(Cx *, void (*body)(void *), void *arg, const char *log);
/* Puts the words of --runner, a command that runs other machines' programs, before argv. Null: returns argv. */
char *const *process_by_runner(Cx *, const char *runner, char *const *argv);
/* Starts a process and waits for it. Fails if it does not start. */
int   process_run(Cx *, char *const *argv, const char *out, const char *log, Process *);
/* Fails with the status that fits the process's error output: out of memory, disk full, or else this status. */
RT_NORETURN void process_fail(Cx *, const char *name, int status, const char *what, const char *log);
char *process_log(Cx *, const char *path, int64_t most); /* at most `most` first bytes of a file; "" if there is none */
const char *file_text(Cx *, const char *path);        /* text of a file, with a final 0; fails if it cannot be read */
/* removes a folder and its contents; path has room for PATH_MAX bytes and is restored */
bool  process_remove_tree(char *path);
typedef void ProcessBody(Cx *, const char *dir, void *arg);
/* Runs the function with a temporary folder, which is then removed, also after a signal. */
void  process_folder(Cx *, ProcessBody *, void *arg);
void  progress(const char *fmt, ...) RT_PRINTF(1, 2);        /* shows a line on a terminal; null removes it */

#endif
