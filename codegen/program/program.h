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
/* Returns the number of bytes of machine code in a built file. 0 if it is not an ELF file. `mixed` means that constants
 * are among the code; then they are counted, too. */
int64_t elf_code_bytes(Cx *, const char *path, bool mixed);
/* Returns the number of bytes of a built file that are loaded or are in flash: code, constants, initial values. */
int64_t elf_loaded_bytes(Cx *, const char *path);
/* Adds the symbols that an object defines for other objects, and those that it refers to without defining them. */
void    elf_symbols(Cx *, const char *path, Texts *defined, Texts *undefined);

/* ---- cgen_data.c, cgen_code.c, cgen.c: the emitted C ---------------------------------------------------- */

typedef struct DoorSpec {        /* A specialization of a library, for its header. */
	const char *method;
	Function   *fn;
	const Specialization *spec;
	struct Plan *plan;
	uint64_t written;        /* set of the arguments that it writes to, one bit each */
} DoorSpec;

typedef struct EmitMethod {
	const char *name;
	Function   *fn;
	const RtCode *reference;   /* code for --selfcheck; null if there is none */
	const Specialization *const *spec;   /* nspec specializations, tried in this order */
	int         nspec;
	const char *generic;       /* reason why nspec is 0; null if nspec is not 0 */
} EmitMethod;

const char *emit_type(Emit *, const RtType *);         /* returns a C expression: &type_3, &rt_type_int */
const char *emit_class(Emit *, const RtClass *);
/* Gives names to the classes of modules in the value whose methods are called by name. */
void        emit_method_classes(Emit *, IValue);
/* Returns the C name of an array of dims and strides; "0" if n is 0. */
const char *emit_geometry(Emit *, int n, const int64_t *dims, const int64_t *strides);
int         emit_value(Emit *, IValue);                /* adds a top-level constant; returns its index in cx->value */
void        emit_use(Emit *, IValue, WeightUse);       /* notes how code reads the tensors of the value */
const char *emit_symbol(Emit *, const Op *);           /* declares the operator's kernel and returns its C name */
const char *emit_code(Emit *, const RtCode *);         /* emits a Code and all that it calls; returns its C name */
void        emit_panels(const Emit *, Buf *);          /* defines the macros of vblock.h */
const char *emit_key(Emit *, const void *);    /* returns the text of an address, which is the key in Emit's maps */
/* These append a C literal: a string that may be null, a double, an int64_t, or a table NAME_WHAT of n strings. */
void        put_c_text(Buf *, const char *text);
void        put_c_double(Buf *, double);
void        put_c_int(Buf *, int64_t);
void        put_c_texts(Buf *, const char *name, const char *what, const char *const *text, int n);
/* Whether no code of the program reads the module's attribute. */
bool        emit_is_unread(Emit *, const RtClass *, int slot);
void        emit_classes(Emit *);                      /* defines the classes that were named; called last */
extern const char *const emit_own[]; /* names of the runtime's tables that a program defines itself; ends with null */
void        emit_instructions(Emit *); /* writes the table of the instructions that occur in the codes; called last */
typedef struct PlaceList { int *at, n, cap; } PlaceList;
typedef struct CodePlaces {       /* The source places of a Code that its program contains. */
	uint32_t *row;    /* index in the program's table of places, by index in the Code; 0 if it is not there */
	Vec(int)  of;            /* index in the Code, by index in the program's table */
	Map       known;
	Map       lines;         /* lists that emit_line has returned, by line and caller */
} CodePlaces;
const CodePlaces *emit_places(Emit *, const RtCode *);
/* Returns the places of a line of the Code with this caller. If caller is -1, those with any caller. Null if there are
 * none. */
const PlaceList *emit_line(Emit *, const CodePlaces *, int line, int caller);

/* ---- plan.c: makes a plan ------------------------------------------------------------------------------------ */

/* PLAN_SMALL is PLAN_BARE with a small arena. */
typedef enum PlanKind { PLAN_CPU, PLAN_GPU, PLAN_BARE, PLAN_SMALL } PlanKind;
Plan   *plan_make(Cx *, Function *, const Specialization *, PlanKind, struct DynamicPlan *);
/* Only replaces groups that get no kernel by their nodes, and makes no plan. Later plans then number values in the same
 * way. */
void    plan_dissolve(Cx *, Function *, const Specialization *, PlanKind);
/* Lists the tensors that a graph returns, in order, including those in tuples. Returns false if it returns anything
 * else. */
bool    plan_results(const Graph *, ValueVec *, Arena *);

/* ---- plan_check.c: checks of a finished plan ------------------------------------------------------------------ */

void    plan_check(Plan *);                             /* ends with BUG and the graph's text if a check fails */

/* ---- plan_step.c: questions about nodes ---------------------------------------------------------------------- */

bool    node_makes_parts(const Node *);                 /* whether the node makes a tuple or list of its inputs */
/* whether all tensors of the value are in buffers that existed before that step */
bool    plan_was_there(Plan *, const Value *, int step);
bool    plan_needs_step(Plan *, const Node *);          /* returns false for a view, or if there is nothing to do */
/* whether a generated kernel computes the node, and not a call of the runtime */
bool    plan_is_kernel(Plan *, const Node *);

/* ---- joins.c: operands of a cat computed in its result ----------------------------------------------------------- */

void    plan_joins(Plan *);

/* ---- inplace.c: results in the memory of dead operands ---------------------------------------------------------- */

void    plan_in_place(Plan *);
const Node *plan_peak(const Plan *);                    /* returns the node at which most bytes are live (fit.c) */

/* ---- offsets.c: offsets in the arena ----------------------------------------------------------------------------- */

/* assigns offsets according to the buffers' bytes, first and last steps; returns the arena's size */
int64_t plan_offsets(Cx *, Buffer *const *, int n);
int64_t plan_least_arena(Cx *, Buffer *const *, int n); /* returns the largest number of bytes live at one step */

/* ---- cgen_plan.c, cgen_launch.c (writer.h) ---------------------------------------------------------------------- */

/* Emits a specialized function and returns its C name. `code` is the C expression of the generic code's address. */
const char *emit_plan(Emit *, Plan *, int index, const char *code);
/* Returns the C name of a part of a specialization. No other name in the program has its prefix, whatever the
 * function's name is. */
const char *emit_name(const Emit *, const Function *, int index, const char *what);
/* Emits the kernels of a node, with its epilogue. Returns false if no kernel can be generated. */
bool emit_kernel_calls(Emit *, Plan *, const Node *, KernelCall *calls, int *ncall);
/* Writes C that returns the status of `call`. In a program for the GPU, the call runs without the device. */
void write_return_apart(Out *, bool gpu, const char *call);
/* Returns the text of a specialized function between its braces, for one sample of a dynamic specialization. */
char *plan_text(Emit *, Plan *, const char *code);

/* ---- dynamic.c: a dynamic specialization from the plans of its samples ------------------------------------------- */

/* The constants that the plans of a dynamic specialization's samples use, in the order of requests. */
typedef struct KnownConstant { IValue value; int index; } KnownConstant;      /* index of the constant in cx->value */
struct Lockstep { Vec(KnownConstant) at; };
typedef struct DynamicNames {
	const char *function;    /* C name of the specialized function */
	const char *sizes;       /* C name of the function that tests whether the sizes fit */
	const Plan *plan;        /* plan of one of the samples */
	const Sizes *of;
	int sample;
	int proved, checked;     /* number of its numbers that are proved, and that the program checks */
} DynamicNames;
/* identity of the specialization: its index, the C name of the generic code, whether it is for the GPU */
typedef struct DynamicOf { int index; const char *code; bool gpu; } DynamicOf;
/* Emits the kernels and both functions. Returns false if the samples' plans differ in structure. */
bool    emit_dynamic(Emit *, Function *, const Specialization *, const DynamicOf *, DynamicNames *);

/* ---- cgen_entry.c: the choice of a specialization at entry ------------------------------------------------------- */

/* Emits the specializations of a function, and the function that chooses among them. Adds the latter's name to
 * e->plan_names. */
void emit_entry(Emit *, const char *method, Function *, const Specialization *const *, int n);

/* ---- nvrtc.c: CUDA text to PTX and cubin ------------------------------------------------------------------------- */

/* Architectures of --gpu. 90 stands for a cubin for sm_90, -90 for PTX for compute_90. */
typedef Vec(int) Archs;
Archs cuda_archs(Cx *, const char *list);                /* parses --gpu; fails on an unknown architecture */
/* returns an image of *n bytes in the arena, with a zero byte after it */
char *cuda_compile(Cx *, const char *text, int arch, int64_t *n);

/* ---- cgen.c: a program's text -------------------------------------------------------------------------------- */

typedef struct ProgramText {
	char *source;                 /* the program's C text */
	int64_t n;
	char *cuda, *ptx;        /* texts of --emit cuda and ptx; null if not requested */
	char *timing;            /* text of the program that times the kernels of `cuda` */
	Weights *weights;
	RtProgram about;         /* data for rt/info.c */
	const Tuning *tuning;    /* choices of --tune; null if there are none */
	int64_t code_bytes;      /* bytes of code in the built file; 0 if unknown */
	char *header;            /* text of NAME.h for a library; null for a program */
	Texts exported;          /* names of the library's functions */
	bool  bare;              /* whether it is C without a runtime (bare.c) */
	int64_t ram;             /* number of bytes of RAM of an instance, if bare */
	/* if bare: bytes that are loaded or in flash; bytes of the stack at the deepest call; 0 if unknown */
	int64_t flash, stack;
	const char *over;        /* message that ram exceeds max_ram, if bare; null if it does not */
	Texts levels;            /* levels of BuildOptions for which the program has kernels */
	Texts notes;             /* calls that run in generic code, each with the reason */
	bool by_tcc;             /* whether the compiler inside Kiln compiled it; set by build_program */
} ProgramText;

typedef struct Target Target;    /* defined in build.h */

typedef struct BuildOptions {
	const Target *target;
	const char *out, *emit, *cc, *gpu;
	const char *cpu, *march, *mcpu, *sysroot;        /* options for the compiler; null if not given */
	Texts levels;            /* processors of --cpu A,B, the lowest first; cpu is then null */
	int level_floats[8];     /* number of floats in a vector, by level; set by target_ask */
	int level_ops[8]; /* ops_level of the operators that specialized code calls, by level; set by target_ask */
	bool int8_level; /* whether the last level is for 8-bit kernels; programs without such kernels leave it out */
	const char *name;        /* name of a library; null for a program */
	bool fixed;              /* whether to link statically: --static */
	int  opt, threads, max_specializations;
	int  ops_level; /* level of the program's operators on x86-64, 3 or 4; 0 for the baseline; set by target_ask */
	/* number of floats in a vector of the target: 16, 8, 4, or 1 without vectors (tcc); set by target_ask */
	int  vector_floats;
	bool oz;                 /* whether the compiler knows -Oz (clang, GCC 12 or later); set by target_ask */
	/* hash of the macros that the compiler defines; 0 if no compiler was asked; set by target_ask */
	uint64_t macros;
	const char *weights_file; /* file of the weights beside the program; null if the weights are in the program */
	bool source, verbose, bench_code;
	bool debug;              /* whether to keep the names of functions */
	bool bare;               /* whether to emit plain C functions without generic code */
	struct BareState *state; /* state that these functions keep */
	int64_t max_ram, max_flash;      /* limits in bytes; 0 for no limit */
	Forms forms;
	Texts ops;               /* C files of the user's operators */
	Texts reads, writes;     /* files that the command reads and writes; no part of the result may replace them */
	Tuning *tuning;          /* choices of kernel forms; null if nothing is measured or recorded */
	uint64_t seed;
	bool seeded;
} BuildOptions;

bool is_c_word(const char *);                          /* whether the word is a keyword of C or C++ */
void emit_program(Cx *, Module *, const EmitMethod *, int n, const BuildOptions *, ProgramText *);
/* Returns the registers of the arguments that the graph writes to, separated by commas. Sets *n to their number, and
 * *bits to a set with one bit for each. */
const char *emit_written(Emit *, const Specialization *, Plan *, int *n, uint64_t *bits);
Emit *emit_new(Cx *, const Module *, const BuildOptions *);
/* Returns the name of the processor, or of the processors separated by commas, that a program is built for. */
const char *processor_name(Arena *, const BuildOptions *, const Texts *levels);
RtProgram emit_about(Emit *);            /* returns the data for rt/info.c */

/* ---- bare.c: plain C functions without a runtime ----------------------------------------------------------------- */

void emit_bare(Cx *, Module *, const EmitMethod *, int n, const BuildOptions *, ProgramText *);

/* ---- fit.c: memory that plain functions need --------------------------------------------------------------------- */

const char *node_place(Cx *, const Node *);            /* "aten::sort (net.py:3)" */
void fit_put_peak(Buf *, Plan *);                      /* writes a list of the tensors that are live at the peak */

/* ---- bare_state.c: state that plain functions keep between calls ------------------------------------------------- */

/* A storage of the instance whose current contents a method reads or writes. `stand` is a storage of the same size
 * without data, which replaces it in graphs. */
typedef struct BareStorage { RtStorage *real, *stand; int64_t offset; } BareStorage;
typedef struct BareState { Vec(BareStorage) at; int64_t bytes; } BareState;

/* Changes a graph before any pass runs. Reads of attributes become constants. Operators that write in place become an
 * operator that computes a new tensor, and a copy. */
void bare_bind(Cx *, BareState *, Graph *, IValue self);
/* assigns those of the plan's buffers that belong to these storages to the instance */
void bare_state_place(BareState *, Plan *);
/* writes a function that restores the initial state; writes nothing if there is no state */
void bare_state_put(const BareState *, Emit *, Out *);

/* ---- carry.c: the runtime that Kiln carries inside itself ------------------------------------------------- */

/* Writes the library that was built for the host to a file. Level 0 is all of it, for the lowest processor. Level 3 or
 * 4 of x86-64 is only the operators. With `named`, their names end with _v3 or _v4. */
void carry_library(Cx *, int level, bool named, const char *path);
const char *carry_library_text(int64_t *n);              /* returns the library of level 0 */
const char *carry_support_text(int64_t *n); /* returns an object with the functions of libgcc that the library calls */
void carry_sources(Cx *, const char *dir);               /* writes all sources of rt, for other targets */
char *carry_text(Cx *, const char *name);               /* returns the text of one file: rt/ops/tmath.h */
bool carry_has(Cx *, const char *name);
/* Adds a file of rt and all files that it includes to a list, unless they are in the list already. */
void carry_add(Cx *, const char *path, Texts *files);
/* Adds the files that a text in folder `dir` includes in the same way. */
void carry_add_included(Cx *, const char *text, const char *dir, Texts *files);
void carry_files(Cx *, const Texts *files, const char *dir);     /* writes these files below dir */
/* makes the parent folders of the path, except those in its first `from` bytes */
void make_parents(const char *path, size_t from);
void operators_header(Cx *, const char *dir);            /* writes kiln.h, for the user's operators */
uint64_t carry_hash(void);

/* ---- outputs.c: result files, replaced atomically -------------------------------------------------------------- */

/* Fails with EXIT_USAGE if one of the files `writes` would replace a file that the command reads, Kiln itself, or
 * another file of `writes`. */
void refuse_overwrite(Cx *, const Texts *reads, const Texts *writes);
/* Moves a finished file to its destination: by a rename, or from another file system by a copy. On failure returns
 * false and sets errno. */
bool build_move(Cx *, const char *from, const char *to);
void write_text(Cx *, const char *path, const char *text, int64_t n);        /* writes a file in a temporary folder */
/* writes a file of the user; the file is whole or absent */
void write_whole(Cx *, const char *path, const char *text, int64_t n);

/* ---- build.c ------------------------------------------------------------------------------------------------ */

void build_program(Cx *, ProgramText *, const BuildOptions *);       /* fails with the compiler's message */
/* Compiles the user's C to a shared object for this machine. The headers are in dir. Returns false if there is no such
 * compiler. */
bool build_operators(Cx *, const char *dir, const char *cc, const Texts *files, const char *out);

/* ---- targets.c: target machines ---------------------------------------------------------------------------------- */

const Target *target_at(int);                          /* returns null after the last target */
const Target *target_host(void);                       /* returns the target of this machine */
/* returns the target; if there is none, fails with EXIT_USAGE and a list of targets */
const Target *target_find(Cx *, const char *triple);
const char *target_triple(const Target *);
bool target_is_bare(const Target *);                   /* whether the target has no operating system */
/* Returns the processors of --cpu portable, separated by commas. Null if there are none. Sets *int8_level as in
 * BuildOptions. */
const char *target_levels(const Target *, bool *int8_level);
bool target_wants_levels(const BuildOptions *);        /* whether --cpu portable is the default for these options */
/* whether the processor executes in order; false if cpu is null */
bool target_in_order(const Target *, const char *cpu);
/* returns the command that runs the target's programs here; null if none is needed */
const char *target_runner(Cx *, const Target *);
const char *command_path(Cx *, const char *name); /* returns the path of a command in PATH; null if it is not found */
/* Asks the compiler which target and processor it compiles for. Fails with EXIT_LACKS if a tool needed for building is
 * missing. */
void target_ask(Cx *, BuildOptions *);
/* Returns the missing tool and its Debian package. Null if none is missing. Sets *cc to the target's compiler. */
const char *target_lacks_here(Cx *, const Target *, const char **cc);

/* ---- tcc.c: the compiler inside Kiln; all paths are in dir, a temporary folder that has the headers -------------- */

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

const char *emit_quoted(Emit *, const char *);           /* returns a C string literal; "0" for null */
void emit_gpu_launch(Emit *, Plan *, const CudaCall *);  /* adds a launch to the program that times kernels */
/* Puts the kernels' text into the ProgramText, their images into the weights, and their tables into the program. */
void emit_gpu(Emit *, const char *path, const BuildOptions *, ProgramText *);

/* ---- process.c: child processes, temporary folders, progress --------------------------------------------- */

typedef struct Process {
	int   pid;                 /* process id; 0 if the process does not run */
	const char *name, *log;    /* name of the program; file for its standard error */
	int64_t begin, ns, peak_bytes;
} Process;
/* Starts a process. Its standard output is written to the file `out`, or to `log` if out is null. Returns false and
 * sets errno on failure. */
bool  process_start(char *const *argv, const char *out, const char *log, Process *);
int   process_end(Process *);            /* waits; returns the exit status, or 128 + the signal that ended it */
bool  process_crashed(int status);    /* whether the status stands for a signal that an error in the process raised */
/* runs body in a child process; returns its exit status */
int   process_fork(Cx *, void (*body)(void *), void *arg, const char *log);
/* Puts the words of --runner, a command that runs another machine's programs, before argv. If runner is null, returns
 * argv. */
char *const *process_by_runner(Cx *, const char *runner, char *const *argv);
/* Starts a process and waits for it. Fails if it does not start. */
int   process_run(Cx *, char *const *argv, const char *out, const char *log, Process *);
/* Fails with the status that fits the process's error output: that of out of memory or disk full, or else `status`. */
RT_NORETURN void process_fail(Cx *, const char *name, int status, const char *what, const char *log);
/* returns the first bytes of a file, at most `most`; "" if there is no such file */
char *process_log(Cx *, const char *path, int64_t most);
/* returns the text of a file, with a final 0; fails if it cannot be read */
const char *file_text(Cx *, const char *path);
/* removes a folder and its contents; path must have room for PATH_MAX bytes and is restored */
bool  process_remove_tree(char *path);
typedef void ProcessBody(Cx *, const char *dir, void *arg);
/* Runs the function with a temporary folder. Removes the folder afterwards, also after a signal. */
void  process_folder(Cx *, ProcessBody *, void *arg);
void  progress(const char *fmt, ...) RT_PRINTF(1, 2);        /* shows a line on a terminal; null removes it */

#endif
