/* rt/name.h - what is in every NAME.h; its methods go to where METHODS stands */
#ifndef NAME_H
#define NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DLPack's tensor: of <dlpack/dlpack.h>, where that is (Debian: libdlpack-dev). */
#if defined __has_include && !defined DLPACK_DLPACK_H_
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#define DLPACK_VERSION 60
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 } DLDeviceType;
typedef struct { DLDeviceType device_type; int device_id; } DLDevice;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLOpaqueHandle = 3, kDLBfloat = 4, kDLComplex = 5 }
	DLDataTypeCode;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
	void      *data;
	DLDevice   device;
	int        ndim;
	DLDataType dtype;
	int64_t   *shape;
	int64_t   *strides;          /* in elements; null: contiguous */
	uint64_t   byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void    *manager_ctx;
	void   (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif
#if !defined DLPACK_MAJOR_VERSION && DLPACK_VERSION < 80 && !defined kDLBool
#define kDLBool 6                /* newer than this DLPack */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- instances ---- */

/*
 * An instance: the model with a state of its own.  As many as you like, beside those of other models; each serves one
 * call at a time, from any thread, which is not cancelled until it ends.  An instance that is in a call when the
 * process forks is busy in the child for ever; others go on there, without threads.
 */
typedef struct NAME NAME;

enum {                               /* what functions return that return an int */
	NAME_OK = 0,
	NAME_RAISED = 1,             /* the model raised; NAME_error has the exception and its traceback */
	NAME_ARGUMENT = 2,           /* an argument that is wrong */
	NAME_SIZE = 3,               /* a result has another size or dtype than the memory that it was given */
	NAME_GUARD = 4,              /* strict: the call is not one that was compiled for */
	NAME_MEMORY = 5,             /* there is none */
	NAME_BUSY = 6,               /* the instance is in another call; NAME_error says nothing of this one */
	NAME_UNSUPPORTED = 7         /* something that Kiln, or DLPack, does not have */
};

typedef struct NAME_options {        /* all zero: the defaults */
	int threads;                 /* 0: as it was built, -1: one for each core */
	/* Your threads instead of its own: calls part(arg, i) for each i below parts, on any threads, and returns when
	 * all are done.  threads then says how many parts a loop has. */
	void (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void *pool;
	/* What the model prints, and its warnings; null: to standard output, to standard error. */
	void (*print)(void *arg, const char *text, size_t n);
	void (*warn)(void *arg, const char *text, size_t n);
	void *arg;
	uint64_t seed;               /* of random numbers, when seeded is not 0 */
	int seeded;
	const char *device;          /* cpu or cuda; null: cuda when it was built for it and there is one */
	/* Of a library built with --weights file: where NAME.weights lies (null: beside the program that runs), or its
	 * bytes in memory, at an address that 64 divides.  Either stays as it is until NAME_close: the file is mapped,
	 * and the signal of one that is cut short (SIGBUS) is the caller's. */
	const char *weights_file;
	const void *weights;
	size_t weights_bytes;
	int strict;                  /* a call that was not compiled for is NAME_GUARD, not answered by generic code */
} NAME_options;

/* Null: why (n bytes; may be null) says why. */
NAME *NAME_open(const NAME_options *options, char *why, size_t n);
/* Instances in memory of yours, without a heap, are for libraries made by kiln build --no-generic; here NAME_bytes is 0
 * and NAME_open_in fails and says so. */
size_t NAME_bytes(const NAME_options *options);
NAME *NAME_open_in(void *memory, size_t bytes, const NAME_options *options, char *why, size_t n);
void NAME_close(NAME *m);            /* m may be null, and must not be in a call */
int NAME_reset(NAME *m);             /* state and random numbers are as after NAME_open */
const char *NAME_error(NAME *m);     /* of the last call that did not return NAME_OK; until the next call */

/* ---- calls ---- */

/*
 * Arguments and results are tensors and texts in the order of their keys: x, state.0, state.1, d.name.  A number is a
 * tensor of no dimensions; a list of numbers is one of one dimension.
 */
typedef struct NAME_leaf {
	const char *key;
	DLDataType  dtype;           /* code 255: a text; bits 0: any */
	int         ndim;            /* -1: any */
	const int64_t *shape;        /* -1: any size */
} NAME_leaf;

/* Those of a method (null: the first), as far as they are known; how many, -1: there is no such method. */
int NAME_inputs(const char *method, const NAME_leaf **leaves);
int NAME_outputs(const char *method, const NAME_leaf **leaves);

/*
 * in[i] belongs to the i-th of NAME_inputs; null: its default, or what NAME_set gave.  Arguments are read where they
 * are, and written there when the model writes to them.
 *
 * out[i].data null: it becomes the result in the instance's memory, to be read until the next call, and by that as one
 * of its arguments.  Else the result goes there, when dtype and shape are the same; when they are not, the status is
 * NAME_SIZE, and out[i] becomes the result in the instance's memory.  nout 0: results are asked for by NAME_result.
 */
int NAME_call(NAME *m, const char *method, DLTensor *const *in, int nin, DLTensor *out, int nout);

/* The argument of that key in the next call.  The tensor's memory must stay until then. */
int NAME_set(NAME *m, const char *key, const DLTensor *tensor);
int NAME_set_text(NAME *m, const char *key, const char *text);

/* How many results the last call gave, and each.  None has no key.  A text is no tensor: its data is null. */
int NAME_results(NAME *m);
int NAME_result(NAME *m, int i, const char **key, DLTensor *tensor);
const char *NAME_result_text(NAME *m, int i);      /* null: it is none */

/*
 * The tensor of a result, for good: the caller's until its deleter is called, by any thread, also after NAME_close.
 * Without a copy, unless the instance or another result has it, too.  Null: there is none, or no memory (NAME_error);
 * what has been taken is gone.
 */
DLManagedTensor *NAME_result_take(NAME *m, int i);

/*
 * The instance's attributes by name (cache, encoder.cache), as far as its methods use them.  What state_get gives is
 * the attribute's own memory, to be read until the next call, and by that as one of its arguments; state_set copies,
 * also a tensor of another size, and for an attribute that is None.
 */
int NAME_state_get(NAME *m, const char *name, DLTensor *tensor);
int NAME_state_set(NAME *m, const char *name, const DLTensor *tensor);

/*
 * The bytes of a file that was saved beside the model (_extra_files of torch.jit.save, extra_files of
 * torch.export.save), until NAME_close; their number in *bytes.  Null: there is none of that name.
 */
const void *NAME_extra(NAME *m, const char *name, size_t *bytes);

/* METHODS */

#ifdef __cplusplus
}
#endif

#endif
