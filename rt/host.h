/* rt/host.h - a program's surroundings: arrays in files, training, traces, comparisons
 *
 * For the command line and for programs' main(); specialized code needs none of it.  Ownership as in rt.h.
 */
#ifndef RT_HOST_H
#define RT_HOST_H

#include "program.h"

#define RT_VERSION "0.1"            /* of Kiln; the Python package has the same: tests/python/wheel.py */

/* ---- trace.c: what ran when; compare.c: are two results the same? ----------------------------------------- */

int  rt_trace_start(RtCx *);
int  rt_trace_write(RtCx *, const char *path);             /* Chrome's format; ends the trace */
/* The tolerances of the dtype; 0 for integers. */
void rt_tolerance(RtDtype, double *relative, double *absolute);
/* Are structure, dtypes and shapes equal, and numbers within the tolerance of their dtype?  If not, `why` is the first
 * difference, at a place below `name`. */
bool rt_close(RtCx *, const char *name, IValue got, IValue want, struct Buf *why);

/* ---- npz.c: inputs and outputs --------------------------------------------------------------------------- */

typedef struct RtArray {            /* one member */
	char    *key;
	RtDtype  dtype;             /* RT_NDTYPE: text, in `text` */
	RtTensor *tensor;
	RtStr   *text;              /* a 0-d unicode array, or an element of a 1-d one */
} RtArray;
typedef struct RtArrays { RtArray *at; int n, cap; } RtArrays;   /* in order of the file */

/* Stored and deflated members; allocates at most 1100 times the file's size.  "-" is standard input, which may be read
 * several times. */
int  rt_npz_read(RtCx *, const char *path, RtArrays *);
/* The same from memory; name: of the file, for messages. */
int  rt_npz_parse(RtCx *, const char *name, const void *bytes, int64_t n, RtArrays *);
/* By rename: whole or not at all.  "-" is standard output. */
int  rt_npz_write(RtCx *, const char *path, const RtArrays *);
/* Makes standard input, if it is a pipe, a file in memory: this process and its children may read it several times. */
int  rt_stdin_keep(void);
void rt_arrays_free(RtArrays *);
int  rt_arrays_add(RtCx *, RtArrays *, const char *key, IValue v);   /* tensor or number or string; borrowed */
/* Adds a tensor or a text; the other is null.  Takes the reference, also on failure. */
int  rt_arrays_put(RtCx *, RtArrays *, const char *key, RtTensor *, RtStr *);
/* Adds the n texts of a 1-d array, as key.0, key.1 ...; if there is none, an empty tensor as key. */
int  rt_arrays_put_texts(RtCx *, RtArrays *, const char *key, const IValue *texts, int64_t n);
RtArray *rt_arrays_find(const RtArrays *, const char *key);

/* Reads a decimal number at *s and moves *s behind it.  end: of the text; null: it ends with a byte 0.  False: there is
 * no number, or it is too large. */
bool rt_read_int(const char **s, const char *end, int64_t *out);

/* inflate.c */
bool     rt_inflate(const void *in, int64_t n, void *out, int64_t nout);      /* exactly nout bytes, or false */
uint32_t rt_crc32(const void *, int64_t n);

/* args.c: keys name places (design.md, inputs and outputs) */
/* Unknown keys are errors.  in null: no input was given, and an argument without a default is an error that names -i.
 */
int  rt_args_from_arrays(RtCx *, const RtParam *, int n, const RtArrays *in, IValue *args);
bool rt_is_strides(const RtArrays *, const char *key);     /* x.strides, where x is there */
int  rt_arrays_from_value(RtCx *, RtArrays *, const char *key, IValue);

/* ---- entry.c: an instance of a program and its calls, for main() and for libraries ------------------------ */

typedef struct RtEntry {
	RtWeightsFrom weights;
	int      threads;            /* 0: one per core; -1: as it was built */
	bool     seeded;
	uint64_t seed;
	int64_t  load_ns;            /* set: how long rt_program_load took */
} RtEntry;
/* Weights, threads (of its own, when cx->outer is null) and values, in a context that is set up. */
int  rt_entry_load(RtCx *, RtProgram *own, RtEntry *);
/* cpu or cuda; null: the GPU when the program has code for it and there is one. */
int  rt_entry_device(RtCx *, const RtProgram *own, const char *want);
void rt_entry_seed(RtCx *, const RtProgram *own, const RtEntry *);
void rt_entry_end(RtCx *, RtProgram *own);                 /* the context, too */

typedef struct RtInvocation {
	const RtMethod *method;
	IValue  *args, result;
} RtInvocation;
/* Arguments by their keys; after an error, too, it is ended. */
int  rt_invocation_bind(RtCx *, const RtMethod *, const RtArrays *, RtInvocation *);
int  rt_invocation_run(RtCx *, RtInvocation *);                        /* again, with the same arguments */
IValue rt_invocation_result(const RtInvocation *);                     /* borrowed; without gradients */
void rt_invocation_end(RtInvocation *);

/* gradient.c: results of methods that were made with --grad: (result, loss or None, gradients); also in program.h */
IValue rt_gradient_part(IValue result, int i);             /* borrowed; None: the result has no part i */

/* train.c: steps of an optimizer on a method with gradients, and the options of programs with gradients */
typedef struct RtTrain {
	const char *const *in;       /* files of inputs, nin */
	const char *out;             /* where the new parameters go, or null */
	const char *json;            /* where the losses go, or null */
	/* options as they were given, or null */
	const char *how, *lr, *momentum, *weight_decay, *betas, *eps, *steps, *batch;
	const char *grad_in, *grad_out;      /* likewise, files: not of steps but of calls */
	int     nin;
	bool    shuffle;             /* rows in the order of a new permutation each time that a file is begun */
	const char *wrong, *which;   /* what is wrong with the options and with which: nothing was done then; or null */
} RtTrain;

#endif
