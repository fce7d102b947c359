/* rt/host.h - what a program has of the machine around it: arrays in files, training, traces, comparisons
 *
 * For the command line and for programs' main(); specialized code needs none of it.  Ownership as in rt.h.
 */
#ifndef RT_HOST_H
#define RT_HOST_H

#include "program.h"

/* ---- trace.c: what ran when; compare.c: are two results the same? ----------------------------------------- */

int  rt_trace_start(RtCx *);
int  rt_trace_write(RtCx *, const char *path);             /* Chrome's format; ends the trace */
/* Structure, dtypes and shapes equal, numbers within the tolerance of their dtype (design.md 5)?  Else `why` says where
 * the first difference is. */
void rt_tolerance(RtDtype, double *relative, double *absolute);   /* of a test of numbers */
bool rt_close(RtCx *, const char *name, IValue got, IValue want, struct Buf *why);

/* ---- npz.c: inputs and outputs --------------------------------------------------------------------------- */

typedef struct RtArray {            /* one member */
	char    *key;
	RtDtype  dtype;             /* RT_NDTYPE: text, in `text` */
	RtTensor *tensor;
	RtStr   *text;              /* a 0-d unicode array */
} RtArray;
typedef struct RtArrays { RtArray *at; int n, cap; } RtArrays;   /* in order of the file */

int  rt_npz_read(RtCx *, const char *path, RtArrays *); /* stored and deflated; bounded by the file's size times 1100 */
/* the same from memory; name: for messages */
int  rt_npz_parse(RtCx *, const char *name, const void *bytes, int64_t n, RtArrays *);
int  rt_npz_write(RtCx *, const char *path, const RtArrays *);   /* by rename: whole or not at all */
void rt_arrays_free(RtArrays *);
int  rt_arrays_add(RtCx *, RtArrays *, const char *key, IValue v);   /* tensor or number or string; borrowed */
int  rt_arrays_put(RtCx *, RtArrays *, const char *key, RtTensor *, RtStr *);      /* one, taken, also on failure */
RtArray *rt_arrays_find(const RtArrays *, const char *key);

/* A decimal number at *s, which moves behind it; end: of the text, or null: a byte 0 ends it.  False: there is none, or
 * one too large. */
bool rt_read_int(const char **s, const char *end, int64_t *out);

/* inflate.c */
bool     rt_inflate(const void *in, int64_t n, void *out, int64_t nout);      /* exactly nout bytes, or false */
uint32_t rt_crc32(const void *, int64_t n);

/* args.c: keys name places (design.md, inputs and outputs) */
int  rt_args_from_arrays(RtCx *, const RtParam *, int n, const RtArrays *, IValue *args);  /* unknown keys are errors */
int  rt_arrays_from_value(RtCx *, RtArrays *, const char *key, IValue);

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
	const char *wrong, *which;   /* what of the options is, then nothing was done */
} RtTrain;

#endif
