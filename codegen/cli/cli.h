/* codegen/cli/cli.h - the commands of kiln; main.c has the table */
#ifndef CODEGEN_CLI_H
#define CODEGEN_CLI_H

#define KILN_VERSION "0.1"         /* the Python package has the same: tests/python/wheel.py */

#include "../program/program.h"

typedef struct Cli Cli;

/* ---- levels.c: kernels for this processor ---------------------------------------------------------- */

/* For op_kernels: the best that run here; with KILN_LEVEL=1 or 3 in the environment none that need more than that. */
RtKernel *const *level_kernels(void);

/* ---- main.c: what the command line said ---------------------------------------------------------- */

struct Cli {
	Cx         *cx;
	const char *command;
	Texts       args;          /* arguments that are no options: MODEL ... */
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
	const char *name;      /* build */
	bool        is_static;
	const char *emit, *target, *cpu, *march, *mcpu, *sysroot, *cc, *gpu, *level;       /* build */
	const char *specializations, *weights, *forms, *max_ram, *max_flash;
	const char *params;        /* save */
	Texts       keep, checks;  /* trace */
	const char *grad, *loss, *grad_in, *grad_out;      /* --grad and what belongs to it */
	struct BareState *state;           /* of build --no-generic */
	bool        verbose, time, no_source, no_dynamic, no_generic, selfcheck_code, bench_code, reread, eval, no_grad,
			    as_json, in_double;
};

RT_NORETURN void usage_error(Cli *, const char *fmt, ...) RT_PRINTF(2, 3);    /* EXIT_USAGE */
int64_t cli_number(Cli *, const char *option, const char *text, int64_t least, int64_t most);

/* ---- userop.c: --op, --op-schema, --op-body ------------------------------------------------------------------- */

void user_operators(Cli *);       /* into the registry, with kernels that run here */

/* ---- inputs.c: what -i names --------------------------------------------------------------------------- */

int         input_count(Cli *);
bool        input_is_bounds(Cli *);            /* are all inputs made up, with sizes from .. to? */
const char *input_name(Cli *, int);
int         input_read(Cli *, RtCx *, int, RtArrays *);        /* status */

/* ---- load.c: models for all commands ---------------------------------------------------------------- */

/* An archive, a TorchScript source (.py: its functions; `forward`, or the only one, is the entry), or a graph's text
 * (.ir). */
typedef struct Model {
	Module     *module;
	Function   *fn;            /* the method asked for, with everything that it needs compiled */
} Model;
Model   *model_load(Cli *, const char *path);
/* source.c */
bool     is_source(const char *path);
bool     is_graph_text(const char *path);
Module  *graph_load(Cx *, const char *path, Function **);      /* its self is None; the graph is the function's */
Module  *source_load(Cx *, const char *path);         /* its self is None */
Function *source_function(Cx *, Module *, const char *name);    /* null: forward, or the last one */
int      text_functions(Cx *, const char *path, Function *const **);    /* all of a source, the one of a graph's text */
Module  *source_module(Cx *, const char *path, const char *name);    /* with an object whose forward is that function */
void     module_eval(Cx *, Module *);                 /* leaves training mode */
void     model_lower(Cli *, Model *);                 /* fn->code */
RtCx    *model_context(Cli *);                        /* with the seed, threads and time that the options say */
RtParam *model_params(Cli *, Model *, int *n);        /* without self */
/* Input i of the command line; without any the arguments that the archive was exported with, if it has them. */
int      model_input(Cli *, Model *, RtCx *, int i, RtArrays *in);
IValue  *model_args(Cli *, Model *, RtCx *, const RtArrays *in, int *n);  /* with a fresh instance, when it takes one */
/* on a fresh instance */
int      model_answer(Cli *, Model *, const RtCode *, RtCx *, const RtArrays *in, IValue *result);
/* Runs it once on these arguments (without self); the results in one value. */
int      model_run(Cli *, Model *, RtCx *, const IValue *args, int n, IValue *result);
RT_NORETURN void fail_raised(Cli *, RtCx *);          /* the error of a model ends the command */
RT_NORETURN void fail_runtime(Cli *, RtCx *);         /* another error of the runtime: of a file, an input, memory */

/* ---- pipeline.c ------------------------------------------------------------------------------------------- */

void say_time(const Cli *, const char *what, int64_t start);        /* --time: of what began then */
void model_prepare(Cli *, Model *);                   /* fn->prepared and fn->code */
/* Profiles on cli->inputs; at most `most` specializations, most frequent first; `optimize`: after the passes. */
const char *model_profile(Cli *, Model *);            /* what its runs saw, as JSON; null when there is no input */
int  model_specialize(Cli *, Model *, int most, bool optimize, Specialization ***out);

/* ---- dot.c: a graph as a picture ------------------------------------------------------------------------- */

void graph_dot(Graph *, Buf *);

/* ---- probe.c: what the machine can do -------------------------------------------------------------------- */

/* A second, on that many threads; the least that a repetition of the measurement had, in percent of the most; of an
 * empty launch. */
typedef struct Machine { double flops, bytes; int threads; double flops_steady, bytes_steady, launch_ns; } Machine;
Machine machine_probe(RtCx *);
Machine machine_again(RtCx *, Machine before);      /* probed once more: the best of both, and how far they are apart */
bool    machine_is_steady(const Machine *);         /* within a tenth */

/* ---- bench_kernels.c: a program's launches, from its trace ----------------------------------------------------- */

typedef struct KernelTimes {     /* of one of a program's launches; ms of a call */
	/* line, what, form: "" where the program does not say (--bench-code) */
	const char *kernel, *line, *what, *form;
	int    count;            /* in a call */
	double least, median, p90;
	double flops, bytes;     /* in a call; < 0: not known */
	double turns;            /* that --info counts them for */
	double *ms;              /* (calls) */
} KernelTimes;
typedef struct CallTimes {
	KernelTimes *at;         /* n, those that take longest first */
	int    n, calls, launches, guards;
	double median, rest;     /* ms; rest: launches, guards and dispatch, the median of what is no kernel */
} CallTimes;
/* the last so many; JSON of --trace and --info */
CallTimes bench_kernels(Cx *, const char *trace, const char *info, int calls);
void      bench_kernels_print(FILE *, const CallTimes *, const Machine *);
void      bench_kernels_json(Buf *, const CallTimes *, const Machine *);         /* an array, and "rest" */

/* ---- cmd_build.c: also for bench ---------------------------------------------------------------------------- */

BuildOptions model_emit(Cli *, const char *path, ProgramText *);       /* its C, not compiled */
void model_build(Cli *, const char *path, ProgramText *);      /* the model there, to cli->out */
BuildOptions build_options(Cli *);                     /* what the command line says; fails as target_ask does */

/* ---- answers.c: the right answer, and whether another one is the same: check, bisect ------------------------- */

typedef struct Answer {
	int         status;        /* of the run: an RtStatus */
	const char *type, *error;  /* what was raised; type null: RuntimeError */
	const char *line;          /* of the model, where; or null */
	char       *printed;       /* by the model; owned */
	RtArrays    result;        /* owned */
} Answer;
/* On a fresh instance.  The code is the model's reference_code. */
enum { MOST_TEXT = 1 << 22 };                             /* bytes that are read of what a process said or printed */
Answer      answer_of(Cli *, RtCx *, const RtCode *, const IValue *args);      /* of a run on these */
Answer      reference_answer(Cli *, Model *, const RtCode *, const RtArrays *in);
void        answer_free(Answer *);
typedef struct Run {               /* of a process */
	int      status;           /* its exit status */
	char    *said, *printed;   /* its standard error and output, in the arena */
	RtArrays result;           /* owned; of status 0 */
} Run;
/* Has the process given this answer?  If not, `why` gets the first difference. */
bool        answer_same(RtCx *, const Run *got, const Answer *want, Buf *why);
/* both of runs here; else `why` gets the first difference */
bool        answer_equal(RtCx *, const Answer *got, const Answer *want, Buf *why);
/* without its results */
bool        answer_ends_same(const Run *got, const Answer *want, Buf *why);
bool        answer_same_array(RtCx *, const RtArray *got, const RtArray *want, Buf *why);
const char *last_line(char *text);                       /* cuts newlines off its end */

/* ---- double.c: the interpreter in float and in double, in step: check --double ------------------------------- */

typedef struct Decision {
	const char *name;          /* of the operator that decides otherwise in double; null: none does */
	double      margin;        /* the difference that decides, over the largest number compared */
	int64_t     meeting;       /* it was made there, and read later: of_float.line is not its line; 0: it is */
} Decision;
typedef struct DoubleAnswer {
	Answer      of_float, of_double;       /* both raise where a decision is another one */
	Decision    decision;
	const char *in_float;      /* names of operators that only ran in float, whose results were widened; or null */
} DoubleAnswer;
const RtC128 *tensor_numbers(RtCx *, RtTensor *);        /* its elements in order; scratch; null: an error */
/* On a fresh instance; of reference_code.  stop: the meeting of a decision, where to end; 0: none. */
DoubleAnswer double_answer(Cli *, Model *, const RtCode *, const RtArrays *in, int64_t stop);

/* ---- optable.c: what operators can do ------------------------------------------------------------------- */

uint32_t    op_dtypes(Cx *, Op *);                       /* bits by RtDtype; 0: not known, or none */
const char *op_specialized(Cx *, Op *);                  /* what it becomes in specialized code */

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
