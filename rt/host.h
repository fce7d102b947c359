/* rt/host.h - arrays in files, training, traces, comparisons
 *
 * The command line, programs' main() and libraries use it. Specialized code needs none of it. Ownership is as in
 * rt.h. */
#ifndef RT_HOST_H
#define RT_HOST_H

#include "program.h"

#define RT_VERSION "0.1"            /* version of Kiln; tests/python/wheel.py compares it with the Python package's */

/* ---- trace.c: times of kernels; compare.c: comparison of two results --------------------------------------- */

int  rt_trace_start(RtCx *);
int  rt_trace_write(RtCx *, const char *path);    /* writes the trace in Chrome's format, and stops recording */
/* Sets the tolerances within which results of the dtype count as equal. 0 for integers. */
void rt_tolerance(RtDtype, double *relative, double *absolute);
/* Whether structure, dtypes and shapes are equal, and numbers are equal within the tolerance of their dtype. If not,
 * `why` describes the first difference; it names the result `name` or the part of it that differs. */
bool rt_close(RtCx *, const char *name, IValue got, IValue want, struct Buf *why);

/* ---- npz.c: inputs and outputs --------------------------------------------------------------------------- */

typedef struct RtArray {            /* A member of an .npz file. */
	char    *key;
	RtDtype  dtype;             /* dtype of the tensor; RT_NDTYPE for a text, which is in `text` */
	RtTensor *tensor;
	RtStr   *text;              /* a 0-d unicode array, or an element of a 1-d one */
} RtArray;
typedef struct RtNone { char *key; int before; } RtNone;     /* a None; `before` is the number of arrays before it */
typedef struct RtArrays {
	RtArray *at;                /* members in the order of the file */
	int      n, cap;
	RtNone  *none;              /* the Nones of a value, which are not members of the file */
	int      nnone, none_cap;
} RtArrays;

/* Reads an .npz with stored or deflated members. Allocates at most 1100 times the file's size. "-" is standard input,
 * which may be read several times. */
int  rt_npz_read(RtCx *, const char *path, RtArrays *);
/* Reads an .npz from memory. `name` is the file's name in messages. */
int  rt_npz_parse(RtCx *, const char *name, const void *bytes, int64_t n, RtArrays *);
/* Writes an .npz to a temporary file and renames it, so that no partial file is left. "-" is standard output. */
int  rt_npz_write(RtCx *, const char *path, const RtArrays *);
/* If standard input is a pipe, copies it to a file in memory, so that this process and its children may read it several
 * times. */
int  rt_stdin_keep(void);
void rt_arrays_free(RtArrays *);
int  rt_arrays_add(RtCx *, RtArrays *, const char *key, IValue v);   /* adds a tensor, number or string; borrows it */
/* Adds a tensor or a text. Exactly one of the two is not null. Takes the reference, even on failure. */
int  rt_arrays_put(RtCx *, RtArrays *, const char *key, RtTensor *, RtStr *);
/* Adds the n texts of a 1-d array as key.0, key.1, ... If n is 0, adds an empty tensor as `key`. */
int  rt_arrays_put_texts(RtCx *, RtArrays *, const char *key, const IValue *texts, int64_t n);
int  rt_arrays_add_none(RtCx *, RtArrays *, const char *key);
RtArray *rt_arrays_find(const RtArrays *, const char *key);

/* Parses a decimal number at *s and moves *s behind it. `end` is the end of the text. If it is null, the text ends with
 * a byte 0. Returns false if there is no number or it is too large. */
bool rt_read_int(const char **s, const char *end, int64_t *out);

/* inflate.c */
/* returns false unless the output has exactly nout bytes */
bool     rt_inflate(const void *in, int64_t n, void *out, int64_t nout);
uint32_t rt_crc32(const void *, int64_t n);

/* args.c: keys of tensors in arguments and results, such as state.0 */
/* Reads the arguments from arrays. Unknown keys are errors. `in` is null if no input was given: then an argument
 * without a default is an error that names -i. */
int  rt_args_from_arrays(RtCx *, const RtParam *, int n, const RtArrays *in, IValue *args);
bool rt_is_strides(const RtArrays *, const char *key);     /* whether the key is x.strides, where x is an array */
int  rt_arrays_from_value(RtCx *, RtArrays *, const char *key, IValue);

/* ---- entry.c: an instance of a program and its calls, for main() and for libraries ------------------------ */

typedef struct RtEntry {
	RtWeightsFrom weights;
	int      threads; /* number of threads; 0 for one per core; -1 for the number that the program was built with */
	bool     seeded;
	uint64_t seed;
	RtCudaWant device;           /* requested device; its name may also be "cpu" */
	int64_t  load_ns;            /* duration of rt_program_load in ns; set by rt_entry_load */
} RtEntry;
/* Loads weights and constants, and starts threads unless cx->outer has the caller's. The context must be
 * initialized. */
int  rt_entry_load(RtCx *, RtProgram *own, RtEntry *);
/* Starts the GPU. If no device is named, does so only if the program has code for a GPU and the machine has one. */
int  rt_entry_device(RtCx *, const RtProgram *own, const RtEntry *);
void rt_entry_seed(RtCx *, const RtProgram *own, const RtEntry *);
void rt_entry_end(RtCx *, RtProgram *own);                 /* frees everything, including the context */

typedef struct RtInvocation {
	const RtMethod *method;
	IValue  *args, result;
} RtInvocation;
/* Sets the arguments from the arrays with their keys. The caller must call rt_invocation_end, even after an error. */
int  rt_invocation_bind(RtCx *, const RtMethod *, const RtArrays *, RtInvocation *);
int  rt_invocation_run(RtCx *, RtInvocation *);    /* makes the call; may be repeated with the same arguments */
IValue rt_invocation_result(const RtInvocation *);    /* returns the result without gradients; borrowed */
void rt_invocation_end(RtInvocation *);

/* gradient.c: the result of a method built with --grad is (result, loss or None, gradients); see program.h */
IValue rt_gradient_part(IValue result, int i);             /* returns part i, borrowed; None if there is no such part */

/* train.c: optimizer steps on a method with gradients; options of programs with gradients */
typedef struct RtTrain {
	const char *const *in;       /* (nin) names of input files */
	const char *out;             /* file for the new parameters; null if there is none */
	const char *json;            /* file for the losses; null if there is none */
	/* values of the options; null for an option that is not given */
	const char *how, *lr, *momentum, *weight_decay, *betas, *eps, *steps, *batch;
	const char *grad_in, *grad_out;      /* files of the options for calls without --train; null if not given */
	int     nin;
	bool    shuffle;             /* whether each pass over a file uses a new permutation of its rows */
	/* result: the error in the options, and the option that is wrong; then nothing was done; null if there is no
	 * error */
	const char *wrong, *which;
} RtTrain;

#endif
