/* rt/name.h - the common part of every NAME.h; METHODS marks where functions for the model's methods go */
#ifndef NAME_H
#define NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DLPack's tensor, from <dlpack/dlpack.h> if it is installed (Debian: libdlpack-dev). */
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
	int64_t   *strides;          /* strides in elements; null if it is contiguous */
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
 * An instance: the model with its own state.  A process may have any number of instances, of this and other models.
 * Each serves one call at a time, from any thread; the thread is not cancelled before the call ends.  An instance
 * that is in a call when the process forks stays busy in the child.  Others work there, without threads.
 */
typedef struct NAME NAME;

enum {                               /* returned by functions of type int, unless they return a count */
	NAME_OK = 0,
	NAME_RAISED = 1,             /* the model raised; NAME_error has the exception and its traceback */
	NAME_ARGUMENT = 2,           /* an argument is wrong */
	NAME_SIZE = 3,               /* a result has another size or dtype than the memory given for it */
	NAME_GUARD = 4,              /* strict: no specialization was compiled for this call */
	NAME_MEMORY = 5,             /* out of memory */
	NAME_BUSY = 6,               /* the instance is in another call; NAME_error does not change */
	NAME_UNSUPPORTED = 7         /* Kiln or DLPack does not support it */
};

typedef struct NAME_options {        /* all zero: the defaults */
	int threads;                 /* 0: the number it was built with; -1: one for each core */
	/* Your thread pool, used instead of own threads: calls part(arg, i) for each i below parts, on any threads, and
	 * returns when all are done.  threads is then the number of parts of a loop. */
	void (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void *pool;
	/* Receive what the model prints, and its warnings.  Null: standard output, standard error. */
	void (*print)(void *arg, const char *text, size_t n);
	void (*warn)(void *arg, const char *text, size_t n);
	void *arg;
	uint64_t seed;               /* seed of random numbers if seeded is not 0 */
	int seeded;
	const char *device;          /* cpu, cuda or cuda:1.  Null: cuda if built for it and present */
	/* For a library built with --weights file: the path of NAME.weights, or its bytes in memory at an address that
	 * is a multiple of 64.  Both null: the file beside the running program.  Neither may change before NAME_close.
	 * The file is mapped: if it is truncated, the process gets SIGBUS, which the library does not handle. */
	const char *weights_file;
	const void *weights;
	size_t weights_bytes;
	int strict;                  /* calls without a specialization return NAME_GUARD and do not run generic code */
	/* The GPU: its index if `device` has no number, and the CUstream that calls use.  Both are of the device's
	 * primary context (cuDevicePrimaryCtxRetain), which the CUDA runtime and PyTorch use, too.  Null: a stream of
	 * the instance's own, which waits for the default stream and is waited for by each call. */
	int device_index;
	void *stream;
} NAME_options;

/* Returns null on failure. why (n bytes; may be null) gets the reason. */
NAME *NAME_open(const NAME_options *options, char *why, size_t n);
/* Only libraries of kiln build --no-generic have instances in your memory, without a heap.  Here NAME_bytes returns 0,
 * and NAME_open_in fails with a message. */
size_t NAME_bytes(const NAME_options *options);
NAME *NAME_open_in(void *memory, size_t bytes, const NAME_options *options, char *why, size_t n);
void NAME_close(NAME *m);            /* m may be null; it must not be in a call */
int NAME_reset(NAME *m);             /* restores state and random numbers as after NAME_open */
const char *NAME_error(NAME *m);     /* text of the last call's error; valid until the next call */

/* ---- calls ---- */

/*
 * Arguments and results are flattened into tensors and texts, each with a key: x, state.0, state.1, d.name.  A number
 * is a tensor with no dimensions; a list of numbers is a tensor with one.
 */
typedef struct NAME_leaf {
	const char *key;
	DLDataType  dtype;           /* code 255: a text; bits 0: any */
	int         ndim;            /* -1: any */
	const int64_t *shape;        /* -1: any size */
} NAME_leaf;

/* The leaves of a method (null: the first method), as far as they are known.  Returns their number.  -1: there is no
 * such method. */
int NAME_inputs(const char *method, const NAME_leaf **leaves);
int NAME_outputs(const char *method, const NAME_leaf **leaves);

/*
 * in[i] is the argument for leaf i of NAME_inputs.  Null: the value set by NAME_set, or the default.  The model reads
 * arguments in place, and writes to them in place.  They are in memory of the CPU (kDLCPU, kDLCUDAHost) or of the
 * instance's GPU (kDLCUDA).
 *
 * out[i].data null: out[i] is set to the result in the instance's memory.  It is valid until the next call, which may
 * take it as an argument.  Otherwise the result is written to out[i].data if dtype and shape are the same.  If they are
 * not, the call returns NAME_SIZE and sets out[i] to the result in the instance's memory.  nout 0: get the results by
 * NAME_result.
 *
 * A result in the instance's memory is on the GPU (kDLCUDA) if an argument of the call is, unless it is a number.  With
 * a stream of yours a call returns when its work is enqueued, unless it copies from or to memory of the CPU.
 */
int NAME_call(NAME *m, const char *method, DLTensor *const *in, int nin, DLTensor *out, int nout);

/* Sets the argument with the key for the next call.  The tensor's memory must stay valid until that call ends. */
int NAME_set(NAME *m, const char *key, const DLTensor *tensor);
int NAME_set_text(NAME *m, const char *key, const char *text);

/* The number of results of the last call, and result i.  A result that is None is left out.  The data of a text is
 * null. */
int NAME_results(NAME *m);
int NAME_result(NAME *m, int i, const char **key, DLTensor *tensor);
const char *NAME_result_text(NAME *m, int i);      /* the text of result i; null if it is not a text */

/* The key of None i of the last result, and the number of results before it.  Null: there are no more Nones. */
const char *NAME_result_none(NAME *m, int i, int *before);

/*
 * Moves the tensor of result i to the caller, who owns it until its deleter is called: by any thread, even after
 * NAME_close.  It is copied only if the instance or another result shares it.  Null: there is no such tensor, it was
 * taken already, or memory is out (see NAME_error).
 */
DLManagedTensor *NAME_result_take(NAME *m, int i);

/*
 * The instance's attributes by name (cache, encoder.cache), if its methods use them.  state_get returns the attribute's
 * own memory, valid until the next call, which may take it as an argument.  state_set copies the tensor.  The tensor
 * may have another size, and the attribute may be None before.
 */
int NAME_state_get(NAME *m, const char *name, DLTensor *tensor);
int NAME_state_set(NAME *m, const char *name, const DLTensor *tensor);

/*
 * The content of a file that was saved with the model (_extra_files of torch.jit.save, extra_files of
 * torch.export.save).  It is valid until NAME_close; *bytes is set to its length.  Null: there is no such file.
 */
const void *NAME_extra(NAME *m, const char *name, size_t *bytes);

/* METHODS */

#ifdef __cplusplus
}
#endif

#endif
