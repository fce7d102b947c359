/* rt/host.h - arrays in files, training, traces, comparisons
 *
 * Used by the command line, by programs' main() and by libraries; specialized code needs none of it.  Ownership is as
 * in rt.h.
 */
#ifndef RT_HOST_H
#define RT_HOST_H

#include "program.h"

#define RT_VERSION "0.1"            /* version of Kiln; tests/python/wheel.py compares the Python package's */

/* ---- trace.c: times of kernels; compare.c: comparison of two results --------------------------------------- */

int  rt_trace_start(RtCx *);
int  rt_trace_write(RtCx *, const char *path);             /* writes the trace in Chrome's format and ends it */
/* Tolerances at which results of the dtype count as equal; 0 for integers. */
void rt_tolerance(RtDtype, double *relative, double *absolute);
/* Are structure, dtypes and shapes equal, and numbers within the tolerance of their dtype?  If not, `why` describes the
 * first difference and names the element of `name` that it is in. */
bool rt_close(RtCx *, const char *name, IValue got, IValue want, struct Buf *why);

/* ---- npz.c: inputs and outputs --------------------------------------------------------------------------- */

typedef struct RtArray {            /* A member of an .npz file. */
	char    *key;
	RtDtype  dtype;             /* RT_NDTYPE: a text, in `text` */
	RtTensor *tensor;
	RtStr   *text;              /* a 0-d unicode array, or an element of a 1-d one */
} RtArray;
typedef struct RtNone { char *key; int before; } RtNone;     /* before: number of arrays before it */
typedef struct RtArrays {
	RtArray *at;                /* members in order of the file */
	int      n, cap;
	RtNone  *none;              /* Nones of a value, which have no member */
	int      nnone, none_cap;
} RtArrays;

/* Reads stored and deflated members.  Allocates at most 1100 times the file's size.  "-" is standard input, which may
 * be read several times. */
int  rt_npz_read(RtCx *, const char *path, RtArrays *);
/* The same from memory.  name: the file's name in messages. */
int  rt_npz_parse(RtCx *, const char *name, const void *bytes, int64_t n, RtArrays *);
/* Writes a temporary file and renames it, so that no partial file is left.  "-" is standard output. */
int  rt_npz_write(RtCx *, const char *path, const RtArrays *);
/* Makes standard input, if it is a pipe, a file in memory: this process and its children may read it several times. */
int  rt_stdin_keep(void);
void rt_arrays_free(RtArrays *);
int  rt_arrays_add(RtCx *, RtArrays *, const char *key, IValue v);   /* tensor or number or string; borrowed */
/* Adds a tensor or a text; one of the two is null.  Takes the reference, even on failure. */
int  rt_arrays_put(RtCx *, RtArrays *, const char *key, RtTensor *, RtStr *);
/* Adds the n texts of a 1-d array as key.0, key.1 ....  n 0: adds an empty tensor as key. */
int  rt_arrays_put_texts(RtCx *, RtArrays *, const char *key, const IValue *texts, int64_t n);
int  rt_arrays_add_none(RtCx *, RtArrays *, const char *key);
RtArray *rt_arrays_find(const RtArrays *, const char *key);

/* Reads a decimal number at *s and moves *s past it.  end: the end of the text.  Null: the text ends with a byte 0.
 * False: there is no number, or it is too large. */
bool rt_read_int(const char **s, const char *end, int64_t *out);

/* inflate.c */
bool     rt_inflate(const void *in, int64_t n, void *out, int64_t nout);      /* exactly nout bytes, or false */
uint32_t rt_crc32(const void *, int64_t n);

/* args.c: a key names a path to a tensor in the arguments or in the result, such as state.0 */
/* Unknown keys are errors.  in null: no input was given; an argument without a default is an error that names -i. */
int  rt_args_from_arrays(RtCx *, const RtParam *, int n, const RtArrays *in, IValue *args);
bool rt_is_strides(const RtArrays *, const char *key);     /* is it x.strides, and is x an array? */
int  rt_arrays_from_value(RtCx *, RtArrays *, const char *key, IValue);

/* ---- entry.c: an instance of a program and its calls, for main() and for libraries ------------------------ */

typedef struct RtEntry {
	RtWeightsFrom weights;
	int      threads;            /* 0: one per core; -1: the number that the program was built with */
	bool     seeded;
	uint64_t seed;
	RtCudaWant device;           /* its name may also be cpu */
	int64_t  load_ns;            /* result: duration of rt_program_load */
} RtEntry;
/* Loads weights and constants and starts threads, unless cx->outer has the caller's.  The context is initialized. */
int  rt_entry_load(RtCx *, RtProgram *own, RtEntry *);
/* Starts the GPU.  A device without a name: if the program has code for it and the machine has one. */
int  rt_entry_device(RtCx *, const RtProgram *own, const RtEntry *);
void rt_entry_seed(RtCx *, const RtProgram *own, const RtEntry *);
void rt_entry_end(RtCx *, RtProgram *own);                 /* frees the context, too */

typedef struct RtInvocation {
	const RtMethod *method;
	IValue  *args, result;
} RtInvocation;
/* Sets the arguments from the arrays with their keys.  The caller calls rt_invocation_end, even after an error. */
int  rt_invocation_bind(RtCx *, const RtMethod *, const RtArrays *, RtInvocation *);
int  rt_invocation_run(RtCx *, RtInvocation *);                        /* may be repeated with the same arguments */
IValue rt_invocation_result(const RtInvocation *);                     /* borrowed; without gradients */
void rt_invocation_end(RtInvocation *);

/* gradient.c: the result of a method built with --grad is (result, loss or None, gradients); more in program.h */
IValue rt_gradient_part(IValue result, int i);             /* borrowed; None if there is no part i */

/* train.c: optimizer steps on a method with gradients; options of programs with gradients */
typedef struct RtTrain {
	const char *const *in;       /* (nin) files of inputs */
	const char *out;             /* file for the new parameters, or null */
	const char *json;            /* file for the losses, or null */
	/* arguments of options, or null */
	const char *how, *lr, *momentum, *weight_decay, *betas, *eps, *steps, *batch;
	const char *grad_in, *grad_out;      /* files of options for calls without --train, or null */
	int     nin;
	bool    shuffle;             /* whether each pass over a file permutes its rows anew */
	const char *wrong, *which;   /* result: an error in the options, and in which; nothing was done.  Or null */
} RtTrain;

#endif
