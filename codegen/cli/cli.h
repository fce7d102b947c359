/* codegen/cli/cli.h - the commands of kiln; main.c has the table */
#ifndef CODEGEN_CLI_H
#define CODEGEN_CLI_H

#include "../program/program.h"

typedef struct Cli Cli;

/* ---- levels.c: kernels for this processor ---------------------------------------------------------- */

/* For op_kernels: the best that run here; with KILN_LEVEL=1 or 3 in the environment none that need more than that. */
RtKernel *const *level_kernels(void);

/* ---- main.c: what the command line said ---------------------------------------------------------- */

struct Cli {
	Cx         *cx;
	const char *command;
	Texts       args;          /* positional arguments: MODEL ... */
	Texts       reads, writes; /* files among the arguments and options, as the tables say */
	Texts       inputs;        /* -i */
	Texts       profiles;      /* --profile */
	const char *out;           /* -o */
	Texts       outs;          /* of run: one for each input */
	const char *method;        /* --method; null: forward */
	const char *stage, *as;    /* show */
	Texts       dumps, limits; /* -d, -L */
	const char *passes, *stop, *without; /* -p, --stop */
	Texts       ops, op_schemas, op_bodies;
	const char *seed, *threads, *timeout, *json;
	const char *profiled;      /* bisect: how many inputs */
	const char *against;       /* bench: another program */
	const char *runner;        /* check, bench: what runs the program */
	Texts       references;    /* check: --reference */
	const char *name;          /* build */
	bool        is_static;
	const char *emit, *target, *cpu, *march, *mcpu, *sysroot, *cc, *gpu, *level;       /* build */
	const char *specializations, *weights, *forms, *max_ram, *max_flash;
	const char *tune, *tuning; /* build */
	const char *params;        /* save */
	const char *engine;        /* PyTorch's, of quantized operators; null: the archive's */
	Texts       keep, checks;  /* trace */
	const char *grad, *loss, *grad_in, *grad_out;      /* --grad and what belongs to it */
	struct BareState *state;   /* of build --no-generic */
	Texts       notes;         /* build: which calls run in generic code, and why */
	Cause       undynamic;     /* why the last dynamic specialization has no samples */
	bool        verbose, time, no_source, no_dynamic, no_generic, selfcheck_code, bench_code, reread, eval, no_grad,
			    as_json, in_double, debug;
};

/* ---- usage.c: errors of the command line -------------------------------------------------------------------- */

RT_NORETURN void usage_error(Cli *, const char *fmt, ...) RT_PRINTF(2, 3);    /* ends the command: EXIT_USAGE */
/* A number from least to most; anything else is a usage error that names the option. */
int64_t cli_number(Cli *, const char *option, const char *text, int64_t least, int64_t most);

/* ---- userop.c: --op, --op-schema, --op-body ------------------------------------------------------------------- */

void user_operators(Cli *);       /* adds the user's operators to the registry, with kernels for this machine */

/* ---- inputs.c: what -i names --------------------------------------------------------------------------- */

int         input_count(Cli *);
bool        input_is_bounds(Cli *);            /* are all inputs generated, with ranges of sizes? */
const char *input_name(Cli *, int i);          /* of input i, for messages */
int         input_read(Cli *, RtCx *, int i, RtArrays *);      /* reads or generates input i; a status */

/* ---- load.c: models for all commands ---------------------------------------------------------------- */

/* Loaded from an archive, a TorchScript source (.py: functions; `forward`, or the only one, is the entry point), or the
 * text of a graph (.ir). */
typedef struct Model {
	Module     *module;
	Function   *fn;            /* the method asked for; it and all that it calls are compiled */
} Model;
Model   *model_load(Cli *, const char *path);
/* source.c; a module of a source or of a graph's text has None for self */
bool     is_source(const char *path);
bool     is_graph_text(const char *path);
Module  *graph_load(Cx *, const char *path, Function **);      /* the function has the graph */
Module  *source_load(Cx *, const char *path);
Function *source_function(Cx *, Module *, const char *name);    /* name null: forward, or else the last one */
int      text_functions(Cx *, const char *path, Function *const **);    /* all functions of the text; their number */
Module  *source_module(Cx *, const char *path, const char *name);    /* with an object whose forward is that function */
void     module_eval(Cx *, Module *);                 /* leaves training mode */
void     model_lower(Cli *, Model *);                 /* makes fn->code */
RtCx    *model_context(Cli *);                        /* has the options' seed, threads and time limit */
RtParam *model_params(Cli *, Model *, int *n);        /* without self */
/* Input i of the command line.  Without inputs: the arguments that the archive was exported with, if it has them. */
int      model_input(Cli *, Model *, RtCx *, int i, RtArrays *in);
/* What model_input read; null: the command line names no input, and the archive has none. */
const RtArrays *model_given(Cli *, const RtArrays *in);
/* The *n arguments, new references; a method's begin with a fresh instance. */
IValue  *model_args(Cli *, Model *, RtCx *, const RtArrays *in, int *n);
/* Runs the code once on a fresh instance; a status. */
int      model_answer(Cli *, Model *, const RtCode *, RtCx *, const RtArrays *in, IValue *result);
/* Runs fn->code once on these arguments, without self; several results are a tuple; a status. */
int      model_run(Cli *, Model *, RtCx *, const IValue *args, int n, IValue *result);
RT_NORETURN void fail_raised(Cli *, RtCx *);          /* ends the command with an error that the model raised */
RT_NORETURN void fail_runtime(Cli *, RtCx *);         /* with another error in the context: of a file, memory ... */

/* ---- pipeline.c ------------------------------------------------------------------------------------------- */

void say_time(const Cli *, const char *what, int64_t start);        /* --time: prints the time since `start` */
void model_prepare(Cli *, Model *);                   /* makes fn->prepared and fn->code */
const char *model_profile(Cli *, Model *);            /* profiles on the inputs: JSON; null when there are none */
/* Prints "kiln: warning: ..." to standard error. */
void warning(const char *fmt, ...) RT_PRINTF(1, 2);
typedef struct Specialized {
	Specialization **at;     /* n */
	int  n;
	bool without_input;      /* There was nothing to profile: no -i, no --profile, no arguments in the archive. */
} Specialized;
/* Profiles on the inputs, then makes at most `most` exact specializations, of the most frequent signatures, and dynamic
 * ones; optimize: passes have run on their graphs. */
Specialized model_specialize(Cli *, Model *, int most, bool optimize);

/* ---- dot.c: a graph as a picture ------------------------------------------------------------------------- */

void graph_dot(Graph *, Buf *);

/* ---- probe.c: what the machine can do -------------------------------------------------------------------- */

enum { MACHINE_LEVELS = 4 };
typedef struct MachineLevel {    /* level of the memory hierarchy */
	const char *name;        /* L1, L2, L3, memory */
	int64_t size;            /* bytes that it holds, of all threads; memory: INT64_MAX */
	double  bytes;           /* read a second, of a working set in it; 0: not measured */
	double  steady;          /* the least of several measurements, in percent of the best */
} MachineLevel;
typedef struct Machine {
	double flops, bytes;     /* a second, on `threads` threads: the best of several measurements */
	int    threads, nlevel;
	double flops_steady, bytes_steady;       /* the least of these, in percent of the best */
	MachineLevel level[MACHINE_LEVELS];      /* the smallest first; the last is the memory, of `bytes` */
	double launch_ns;        /* of an empty launch */
} Machine;
Machine machine_probe(RtCx *);
Machine machine_again(RtCx *, Machine before);      /* measures once more, and joins both measurements */
bool    machine_is_steady(const Machine *);         /* did the measurements agree within a tenth? */

/* ---- bench_kernels.c: a program's launches, from its trace ----------------------------------------------------- */

typedef struct KernelTimes {     /* of one launch of a program, or all launches of one kernel */
	/* line, source, what, form: "" in programs built without --bench-code; source: that the archive was made
	 * from */
	const char *kernel, *line, *source, *what, *form;
	int    launch;           /* its number in --info, or -1 */
	int    count;            /* launches in a call */
	double least, median, p90;       /* ms in a call */
	double flops, bytes;     /* in a call; < 0: unknown */
	double turns;            /* launches in a call that --info counts flops and bytes for */
	double *ms;              /* (calls) */
} KernelTimes;
typedef struct CallTimes {
	KernelTimes *at;         /* (n) the longest first */
	int    n, calls, launches, guards;
	double median, rest;     /* ms in a call; rest: outside kernels, in launching, guards and dispatch */
} CallTimes;
/* Of the last `calls` calls in a trace; trace, info: the JSON of --trace and --info. */
CallTimes bench_kernels(Cx *, const char *trace, const char *info, int calls);
void      bench_kernels_print(FILE *, const CallTimes *, const Machine *);
void      bench_kernels_json(Buf *, const CallTimes *, const Machine *);         /* an array, and "rest" */

/* ---- launch.c: running a built program to measure it ----------------------------------------------------------- */

/* Writes input `input` into dir and sets argv[1] ... to the options that name it, the threads and the method. Returns
 * the number of elements of argv. Without -i, a model that is not null gives the arguments it was exported with. */
int         program_arguments(Cli *, Model *, int input, const char *dir, char **argv);
/* Runs argv, by --runner if there is one, with both outputs in `log`. Fails with the end of the log if the status is
 * not 0. */
void        program_run(Cli *, char *const *argv, const char *log, Process *);
/* Runs the program with the n arguments and the options, whose last is null, and returns what it wrote to --json. argv
 * has room for the options and three more. */
const char *program_json(Cli *, const char *program, char **argv, int n, const char *dir, const char *const *options);
/* Times each launch in so many calls. argv has room for six more. */
CallTimes   program_launches(Cli *, const char *program, char **argv, int n, const char *dir, int calls);

/* ---- tune.c: --tune -------------------------------------------------------------------------------------------- */

/* Measures on this machine which ways are the fastest, and notes them in o->tuning. */
void tune(Cli *, Model *, const EmitMethod *, int n, BuildOptions *o);
void tuning_write(Cli *, const BuildOptions *);          /* where --tuning says */

/* ---- cmd_build.c: also for bench ---------------------------------------------------------------------------- */

BuildOptions model_emit(Cli *, const char *path, ProgramText *);       /* emits the C of the model at that path */
void model_build(Cli *, const char *path, ProgramText *);      /* the same, and builds the program cli->out */
BuildOptions build_options(Cli *);                     /* from the command line; fails as target_ask does */

/* ---- answers.c: the expected answer, and comparing others with it: check, bisect ----------------------------- */

typedef struct Answer {
	int         status;        /* of the run: RT_OK, RT_ERROR or RT_LACKS */
	const char *type, *error;  /* of the exception; type null: RuntimeError */
	const char *line;          /* of the model, where it was raised; or null */
	char       *printed;       /* by the model; owned */
	RtArrays    result;        /* owned */
} Answer;
enum { MOST_TEXT = 1 << 22 };                             /* bytes that are read of a process's output */
Answer      answer_of(Cli *, RtCx *, const RtCode *, const IValue *args);      /* runs the code on these arguments */
/* Runs the model's reference_code on a fresh instance. */
Answer      reference_answer(Cli *, Model *, const RtCode *, const RtArrays *in);
void        answer_free(Answer *);
typedef struct Run {               /* of a process */
	int      status;           /* its exit status */
	char    *said, *printed;   /* its standard error and output, in the arena */
	RtArrays result;           /* owned; of status 0 */
} Run;
/* These compare; when they return false, `why` gets the first difference. */
bool        answer_same(RtCx *, const Run *got, const Answer *want, Buf *why);
bool        answer_ends_same(const Run *got, const Answer *want, Buf *why);    /* results aside */
bool        answer_equal(RtCx *, const Answer *got, const Answer *want, Buf *why);
bool        answer_same_array(RtCx *, const RtArray *got, const RtArray *want, Buf *why);
const char *last_line(char *text);                       /* of the text, whose final newlines it cuts off */

/* ---- double.c: the interpreter in float and in double, in step: check --double ------------------------------- */

typedef struct Decision {
	const char *name;          /* of the operator that decides differently in double; null: none does */
	double      margin;        /* the difference that decides, over the largest number compared */
	/* 0: of_float.line is the decision's line.  Else the decision was read at that line, and made at this meeting:
	 * double_answer up to there finds its line. */
	int64_t     meeting;
} Decision;
typedef struct DoubleAnswer {
	Answer      of_float, of_double;       /* both raise where they decide differently */
	Decision    decision;
	const char *in_float;      /* names of operators that ran in float only and were widened; or null */
} DoubleAnswer;
const RtC128 *tensor_numbers(RtCx *, RtTensor *);        /* the elements in order, in scratch memory; null: an error */
/* Runs the reference_code in float and in double, on fresh instances.  stop: the meeting at which to end; 0: none. */
DoubleAnswer double_answer(Cli *, Model *, const RtCode *, const RtArrays *in, int64_t stop);
void        double_free(DoubleAnswer *);

/* ---- judge.c: errors of answers against double ---------------------------------------------------------------- */

typedef enum Who { WHO_PROGRAM, WHO_INTERPRETER, WHO_REFERENCE, NWHO } Who;
typedef struct Judgement {
	const RtArrays *answer[NWHO];      /* null: not asked for */
	Buf    rows;               /* the errors of each result, as they are reported */
	Buf    why;                /* differences of results that are not floats; empty: none */
	int    n;                  /* number of results with errors */
	bool   over;               /* whether an error is over the bound */
	double worst[NWHO];        /* largest error of a result */
} Judgement;
void        judge_results(const Cli *, RtCx *, Judgement *, const RtArrays *exact);
/* Appends the errors of all results: further lines of a report, or members of its JSON object. */
void        judge_report(const Cli *, const Judgement *, const DoubleAnswer *, Buf *more);
/* Judges an answer that differs from the interpreter's.  True: the input is ill-conditioned, which is no difference.
 * No answers are judged if a run in double or float raised, or decided otherwise. */
bool        judge_within_bound(const Cli *, RtCx *, Judgement *, const RtArrays *got, const DoubleAnswer *);
void        judgement_free(Judgement *);

/* ---- optable.c: what operators can do ------------------------------------------------------------------- */

uint32_t    op_dtypes(Cx *, Op *);                       /* the dtypes that its kernel takes: bits; 0: unknown */
const char *op_specialized(Cx *, Op *);                  /* what the operator becomes in specialized code */
bool        op_is_sparse(const Op *);                    /* of sparse tensors, which Kiln does not have: it raises */

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
