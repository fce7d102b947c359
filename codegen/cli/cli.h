/* codegen/cli/cli.h - the commands of kiln; main.c has the table */
#ifndef CODEGEN_CLI_H
#define CODEGEN_CLI_H

#include "../program/program.h"

typedef struct Cli Cli;

/* ---- levels.c: kernels for this processor ---------------------------------------------------------- */

/* Returns the best kernels that run here, for op_kernels. With KILN_LEVEL=1 or 3 in the environment, returns none that
 * need a higher level. */
RtKernel *const *level_kernels(void);

/* ---- main.c: values of the command line's options ------------------------------------------------ */

struct Cli {
	Cx         *cx;
	const char *command;
	Texts       args;          /* positional arguments: MODEL ... */
	Texts       reads, writes; /* files that the command reads and writes, by the tables of options */
	Texts       inputs;        /* -i */
	Texts       profiles;      /* --profile */
	const char *out;           /* -o */
	Texts       outs;          /* run: a result file for each input */
	const char *method;        /* --method; null for forward */
	const char *stage, *as;    /* --stage and --as of show */
	Texts       dumps, limits; /* -d, -L */
	const char *passes, *stop, *without; /* -p, --stop */
	Texts       ops, op_schemas, op_bodies;
	const char *seed, *threads, *timeout, *json;
	const char *profiled;      /* bisect: number of inputs to profile */
	const char *against;       /* bench: program to compare with */
	const char *runner;        /* check, bench: command that runs the program */
	Texts       references;    /* check: --reference */
	const char *name;          /* build */
	bool        is_static;
	const char *emit, *target, *cpu, *march, *mcpu, *sysroot, *cc, *gpu, *level;       /* build */
	const char *specializations, *weights, *forms, *max_ram, *max_flash;
	const char *tune, *tuning; /* build */
	const char *params;        /* save */
	const char *engine;        /* PyTorch's engine for quantized operators; null for the archive's */
	Texts       keep, checks;  /* trace */
	const char *grad, *loss, *grad_in, *grad_out;      /* --grad and its options */
	struct BareState *state;   /* build --no-generic: state that the functions keep */
	Texts       notes;         /* build: calls that run in generic code, each with the reason */
	Cause       undynamic;     /* why the last dynamic specialization tried has no samples */
	bool        verbose, time, no_source, no_dynamic, no_generic, selfcheck_code, bench_code, reread, eval, no_grad,
			    as_json, in_double, debug;
};

/* ---- usage.c: errors of the command line -------------------------------------------------------------------- */

RT_NORETURN void usage_error(Cli *, const char *fmt, ...) RT_PRINTF(2, 3);    /* ends the command with EXIT_USAGE */
/* Parses a number from `least` to `most`. Any other text is a usage error that names the option. */
int64_t cli_number(Cli *, const char *option, const char *text, int64_t least, int64_t most);

/* ---- userop.c: --op, --op-schema, --op-body ------------------------------------------------------------------- */

void user_operators(Cli *);       /* adds the user's operators to the registry, with kernels for this machine */

/* ---- inputs.c: the inputs of -i ------------------------------------------------------------------------ */

int         input_count(Cli *);
bool        input_is_bounds(Cli *);            /* whether all inputs are generated, from ranges of sizes */
const char *input_name(Cli *, int i);          /* name of input i, for messages */
int         input_read(Cli *, RtCx *, int i, RtArrays *);      /* reads or generates input i; returns a status */

/* ---- load.c: models for all commands ---------------------------------------------------------------- */

/* A model loaded from an archive, a TorchScript source (.py), or the text of a graph (.ir). A source contains
 * functions; `forward`, or the only function, is the entry point. */
typedef struct Model {
	Module     *module;
	Function   *fn;            /* requested method; it and all that it calls are compiled */
} Model;
Model   *model_load(Cli *, const char *path);
/* source.c. Modules made from a source or from a graph's text have no object: their self is None. */
bool     is_source(const char *path);
bool     is_graph_text(const char *path);
Module  *graph_load(Cx *, const char *path, Function **);      /* sets *fn to the function that contains the graph */
Module  *source_load(Cx *, const char *path);
/* returns the function `name`; if name is null, forward, or else the last function */
Function *source_function(Cx *, Module *, const char *name);
/* sets all functions of the text; returns their number */
int      text_functions(Cx *, const char *path, Function *const **);
/* returns a module with an object whose forward is that function */
Module  *source_module(Cx *, const char *path, const char *name);
void     module_eval(Cx *, Module *);                 /* leaves training mode */
void     model_lower(Cli *, Model *);                 /* makes fn->code */
RtCx    *model_context(Cli *); /* returns a context with the options' seed, threads and time limit */
RtParam *model_params(Cli *, Model *, int *n);        /* returns the n parameters without self */
/* Reads input i of the command line. Without inputs, returns the arguments that the archive was exported with, if it
 * has them. */
int      model_input(Cli *, Model *, RtCx *, int i, RtArrays *in);
/* Returns what model_input read. Null if the command line names no input and the archive has none. */
const RtArrays *model_given(Cli *, const RtArrays *in);
/* Returns the *n arguments as new references. Those of a method begin with a fresh instance. */
IValue  *model_args(Cli *, Model *, RtCx *, const RtArrays *in, int *n);
/* Runs the code once on a fresh instance. Returns a status. */
int      model_answer(Cli *, Model *, const RtCode *, RtCx *, const RtArrays *in, IValue *result);
/* Runs fn->code once on these arguments, without self. Several results become a tuple. Returns a status. */
int      model_run(Cli *, Model *, RtCx *, const IValue *args, int n, IValue *result);
RT_NORETURN void fail_raised(Cli *, RtCx *);          /* ends the command with an error that the model raised */
/* ends the command with another error in the context: of a file, memory ... */
RT_NORETURN void fail_runtime(Cli *, RtCx *);

/* ---- pipeline.c ------------------------------------------------------------------------------------------- */

void say_time(const Cli *, const char *what, int64_t start);        /* prints the time since `start`, with --time */
void model_prepare(Cli *, Model *);    /* prepares and compiles the method: makes fn->prepared and fn->code */
const char *model_profile(Cli *, Model *);    /* profiles on the inputs and returns JSON; null if there are no inputs */
/* Prints "kiln: warning: ..." to standard error. */
void warning(const char *fmt, ...) RT_PRINTF(1, 2);
typedef struct Specialized {
	Specialization **at;     /* n */
	int  n;
	bool without_input; /* whether there was nothing to profile: no -i, no --profile, no arguments in the archive */
} Specialized;
/* Profiles on the inputs and makes specializations: at most `most` exact ones, for the most frequent signatures, and
 * dynamic ones. With `optimize`, also runs the passes on their graphs. */
Specialized model_specialize(Cli *, Model *, int most, bool optimize);

/* ---- dot.c: draws a graph -------------------------------------------------------------------------------- */

void graph_dot(Graph *, Buf *);

/* ---- probe.c: measures the machine ----------------------------------------------------------------------- */

enum { MACHINE_LEVELS = 4 };
typedef struct MachineLevel {    /* A level of the memory hierarchy. */
	const char *name;        /* L1, L2, L3, memory */
	int64_t size;            /* capacity in bytes for all threads; INT64_MAX for memory */
	double  bytes;           /* bytes read per second from a working set of this level; 0 if not measured */
	double  steady;          /* lowest of several measurements of `bytes`, in percent of the best */
} MachineLevel;
typedef struct Machine {
	double flops, bytes;     /* flops and bytes per second on `threads` threads: the best of several measurements */
	int    threads, nlevel;
	double flops_steady, bytes_steady;       /* lowest measurements of both, in percent of the best */
	MachineLevel level[MACHINE_LEVELS];      /* the smallest first; the last is memory, with bandwidth `bytes` */
	double launch_ns;        /* time of an empty launch */
} Machine;
Machine machine_probe(RtCx *);
Machine machine_again(RtCx *, Machine before);      /* measures once more and joins both measurements */
bool    machine_is_steady(const Machine *);         /* whether the measurements agree within a tenth */

/* ---- bench_kernels.c: times of a program's launches, from its trace -------------------------------------------- */

typedef struct KernelTimes {     /* Times of one launch of a program, or of all launches of one kernel. */
	/* Line, source, what and form are "" in programs built without --bench-code. `source` is the file that the
	 * archive was made from. */
	const char *kernel, *line, *source, *what, *form;
	int    launch;           /* index of the launch in --info; -1 for all launches of a kernel */
	int    count;            /* number of launches in a call */
	double least, median, p90;       /* time in ms in a call */
	double flops, bytes;     /* operations and bytes in a call; negative if unknown */
	double turns;            /* number of launches in a call for which --info counts flops and bytes */
	double *ms;              /* time of each of `calls` calls */
} KernelTimes;
typedef struct CallTimes {
	KernelTimes *at;         /* n kernels, the slowest first */
	int    n, calls, launches, guards;
	/* time in ms of a call, and the part of it outside kernels: launches, guards and dispatch */
	double median, rest;
} CallTimes;
/* Returns the times of the last `calls` calls in a trace. `trace` and `info` are the JSON texts of --trace and
 * --info. */
CallTimes bench_kernels(Cx *, const char *trace, const char *info, int calls);
void      bench_kernels_print(FILE *, const CallTimes *, const Machine *);
/* writes an array of kernels, and the member "rest" */
void      bench_kernels_json(Buf *, const CallTimes *, const Machine *);

/* ---- launch.c: running a built program to measure it ----------------------------------------------------------- */

/* Writes input `input` to a file in dir. Sets argv[1] ... to the options that name the file, the threads and the
 * method. Returns the number of elements of argv. Without -i, writes the arguments that the model was exported with;
 * `model` may be null if there is an -i. */
int         program_arguments(Cli *, Model *, int input, const char *dir, char **argv);
/* Runs argv, by --runner if it is given, with standard output and standard error in the file `log`. Fails with the end
 * of the log if the status is not 0. */
void        program_run(Cli *, char *const *argv, const char *log, Process *);
/* Runs the program with the n arguments in argv and with `options`, which end with null. Returns what it wrote to
 * --json. argv must have room for the options and three more elements. */
const char *program_json(Cli *, const char *program, char **argv, int n, const char *dir, const char *const *options);
/* Returns the times of each launch in `calls` traced calls. argv must have room for six more elements. */
CallTimes   program_launches(Cli *, const char *program, char **argv, int n, const char *dir, int calls);

/* ---- tune.c: --tune -------------------------------------------------------------------------------------------- */

/* Measures on this machine which kernel forms are fastest, and stores the choices in o->tuning. */
void tune(Cli *, Model *, const EmitMethod *, int n, BuildOptions *o);
void tuning_write(Cli *, const BuildOptions *);          /* writes the file that --tuning names */

/* ---- cmd_build.c: building, also for cmd_bench.c ------------------------------------------------------------ */

BuildOptions model_emit(Cli *, const char *path, ProgramText *);       /* emits the C of the model at that path */
/* emits the C in the same way and builds the program cli->out */
void model_build(Cli *, const char *path, ProgramText *);
BuildOptions build_options(Cli *);    /* returns the options of the command line; fails like target_ask */

/* ---- answers.c: expected answers and comparisons, for check and bisect --------------------------------------- */

typedef struct Answer {
	int         status;        /* status of the run: RT_OK, RT_ERROR or RT_LACKS */
	const char *type, *error;  /* type and message of the exception; if type is null, RuntimeError */
	const char *line;          /* line of the model that raised the exception; null if unknown */
	char       *printed;       /* text printed by the model; owned */
	RtArrays    result;        /* owned */
} Answer;
enum { MOST_TEXT = 1 << 22 };                             /* Largest number of bytes read of a process's output. */
/* runs the code on these arguments and returns its answer */
Answer      answer_of(Cli *, RtCx *, const RtCode *, const IValue *args);
/* Runs the model's reference_code on a fresh instance and returns its answer. */
Answer      reference_answer(Cli *, Model *, const RtCode *, const RtArrays *in);
void        answer_free(Answer *);
typedef struct Run {               /* The outcome of a process. */
	int      status;           /* exit status of the program */
	char    *said, *printed;   /* standard error and output of the program, in the arena */
	RtArrays result;           /* result if the status is 0; owned */
} Run;
/* These compare two answers. They return whether the answers are the same; if not, they append the first difference to
 * `why`. */
bool        answer_same(RtCx *, const Run *got, const Answer *want, Buf *why);
bool        answer_ends_same(const Run *got, const Answer *want, Buf *why);    /* compares everything but the results */
bool        answer_equal(RtCx *, const Answer *got, const Answer *want, Buf *why);
bool        answer_same_array(RtCx *, const RtArray *got, const RtArray *want, Buf *why);
const char *last_line(char *text);    /* returns the last line of the text; cuts off final newlines */

/* ---- double.c: the interpreter in float and in double, in lockstep: check --double --------------------------- */

typedef struct Decision {
	const char *name;          /* name of the operator that decides differently in double; null if there is none */
	double      margin;        /* difference that decided, relative to the largest number compared */
	/* 0 if of_float.line is the decision's line. Otherwise the different tensor was read at that line but computed
	 * at the operator with this number. Running double_answer with stop = meeting finds its line. */
	int64_t     meeting;
} Decision;
typedef struct DoubleAnswer {
	Answer      of_float, of_double; /* answers in float and in double; both raise if the runs decide differently */
	Decision    decision;
	/* names of operators that ran only in float and whose results were widened; null if there are none */
	const char *in_float;
} DoubleAnswer;
/* returns the tensor's elements in order, in scratch memory; null on an error */
const RtC128 *tensor_numbers(RtCx *, RtTensor *);
/* Runs the reference_code in float and in double, on fresh instances. Ends both runs at operator number `stop`; 0 for
 * no limit. */
DoubleAnswer double_answer(Cli *, Model *, const RtCode *, const RtArrays *in, int64_t stop);
void        double_free(DoubleAnswer *);

/* ---- judge.c: errors of float answers against the answer in double -------------------------------------------- */

typedef enum Who { WHO_PROGRAM, WHO_INTERPRETER, WHO_REFERENCE, NWHO } Who;
typedef struct Judgement {
	const RtArrays *answer[NWHO];      /* answer of each program or method; null if it was not computed */
	Buf    rows;               /* text of the errors of each result, for the report */
	Buf    why;                /* differences of results that are not floats; empty if there are none */
	int    n;                  /* number of results with errors */
	bool   over;               /* whether an error exceeds the bound */
	double worst[NWHO];        /* largest error of any result, by program or method */
} Judgement;
void        judge_results(const Cli *, RtCx *, Judgement *, const RtArrays *exact);
/* Appends the errors of all results to `more`: as further lines of a report, or as members of the report's JSON
 * object. */
void        judge_report(const Cli *, const Judgement *, const DoubleAnswer *, Buf *more);
/* Judges an answer that differs from the interpreter's. Returns true if the input is ill-conditioned, which is no
 * difference. Does not judge, and returns false, if a run in double or float raised or the runs decided differently. */
bool        judge_within_bound(const Cli *, RtCx *, Judgement *, const RtArrays *got, const DoubleAnswer *);
void        judgement_free(Judgement *);

/* ---- optable.c: capabilities of operators --------------------------------------------------------------- */

uint32_t    op_dtypes(Cx *, Op *); /* returns the dtypes that the operator's kernel accepts, as bits; 0 if unknown */
const char *op_specialized(Cx *, Op *);    /* returns a word for what the operator becomes in specialized code */
bool        op_is_sparse(const Op *); /* whether it is an operator of sparse tensors, which Kiln does not support */

/* ---- cmd_*.c ------------------------------------------------------------------------------------------ */

int cmd_bench(Cli *);
int cmd_bisect(Cli *);
int cmd_build(Cli *);
int cmd_check(Cli *);
int cmd_convert(Cli *);
int cmd_info(Cli *);
int cmd_ops(Cli *);
int cmd_profile(Cli *);
int cmd_run(Cli *);
int cmd_save(Cli *);
int cmd_show(Cli *);
int cmd_targets(Cli *);
int cmd_trace(Cli *);

#endif
