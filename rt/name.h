/* rt/name.h - the common part of every NAME.h; METHODS marks the place of the functions for the model's methods */
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
	int64_t   *strides;          /* strides in elements; null for a contiguous tensor */
	uint64_t   byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void    *manager_ctx;
	void   (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif
#if !defined DLPACK_MAJOR_VERSION && DLPACK_VERSION < 80 && !defined kDLBool
#define kDLBool 6                /* older versions of DLPack lack it */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- instances ---- */

/*
 * An instance: the model with its own state. A process may have any number of instances, of this and other models. Each
 * serves one call at a time, from any thread. The thread is not cancelled before the call ends. If the process forks
 * while an instance is in a call, the instance stays busy in the child. Other instances work in the child, without
 * threads.
 */
typedef struct NAME NAME;

enum {                               /* status, returned by functions of type int unless they return a count */
	NAME_OK = 0,
	NAME_RAISED = 1,             /* the model raised an exception; NAME_error has it and its traceback */
	NAME_ARGUMENT = 2,           /* an argument is wrong */
	NAME_SIZE = 3,               /* a result has another size or dtype than the memory given for it */
	NAME_GUARD = 4,              /* strict: no specialization was compiled for this call */
	NAME_MEMORY = 5,             /* out of memory */
	NAME_BUSY = 6,               /* the instance is in another call; NAME_error does not change */
	NAME_UNSUPPORTED = 7         /* Kiln or DLPack does not support it */
};

typedef struct NAME_options {        /* If all members are zero, the defaults apply. */
	int threads; /* number of threads; 0 for the number that the library was built with; -1 for one for each core */
	/* Your thread pool, which is used instead of own threads. It must call part(arg, i) for each i below parts, on
	 * any threads, and return when all have returned. `threads` is then the number of parts of a loop. */
	void (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void *pool;
	/* Functions that receive what the model prints, and its warnings. If they are null, both go to standard output
	 * and standard error. */
	void (*print)(void *arg, const char *text, size_t n);
	void (*warn)(void *arg, const char *text, size_t n);
	void *arg;
	uint64_t seed;               /* seed of the random numbers, if `seeded` is not 0 */
	int seeded;
	/* cpu, cuda or cuda:1; if null, cuda if the library was built for it and there is a device */
	const char *device;
	/* For a library built with --weights file: the path of NAME.weights, or its bytes in memory at an address that
	 * is a multiple of 64. If both are null, the file is beside the running program. Neither file nor bytes may
	 * change before NAME_close. The file is mapped: if it is truncated, the process gets SIGBUS, which the library
	 * does not handle. */
	const char *weights_file;
	const void *weights;
	size_t weights_bytes;
	int strict;    /* whether calls without a specialization return NAME_GUARD instead of running generic code */
	/* The GPU: its index, which counts if `device` has no number, and the CUstream that calls use. Both belong to
	 * the device's primary context (cuDevicePrimaryCtxRetain), which the CUDA runtime and PyTorch use, too. If the
	 * stream is null, the instance makes one. That stream waits for the default stream, and each call waits for
	 * it. */
	int device_index;
	void *stream;
	int device_results;    /* whether results in the instance's memory are on the GPU, even if no argument is */
} NAME_options;

/* Opens an instance. Returns null on failure, and writes the reason to why[n], which may be null. */
NAME *NAME_open(const NAME_options *options, char *why, size_t n);
/* Only libraries of kiln build --no-generic have instances in your memory, without a heap. In this library NAME_bytes
 * returns 0, and NAME_open_in fails with a message. */
size_t NAME_bytes(const NAME_options *options);
NAME *NAME_open_in(void *memory, size_t bytes, const NAME_options *options, char *why, size_t n);
void NAME_close(NAME *m);            /* m may be null, and must not be in a call */
int NAME_reset(NAME *m);             /* restores the state and the random numbers of a new instance */
const char *NAME_error(NAME *m);     /* text of the last call's error; valid until the next call */

/* ---- calls ---- */

/*
 * Arguments and results are flattened into tensors and texts, each with a key: x, state.0, state.1, d.name. A number is
 * a tensor without dimensions. A list of numbers is a tensor with one dimension.
 */
typedef struct NAME_leaf {
	const char *key;
	DLDataType  dtype;           /* code is 255 for a text; bits is 0 for any dtype */
	int         ndim;            /* -1 for any number */
	const int64_t *shape;        /* -1 for any size */
} NAME_leaf;

/* The leaves of a method's arguments and results, as far as they are known. If `method` is null, those of the first
 * method. Both return the number of leaves, or -1 if there is no such method. */
int NAME_inputs(const char *method, const NAME_leaf **leaves);
int NAME_outputs(const char *method, const NAME_leaf **leaves);

/*
 * Calls a method. in[i] is the argument for leaf i of NAME_inputs. If it is null, the argument is the value set by
 * NAME_set, or the default. The model reads arguments in place, and writes to them in place. They are in memory of the
 * CPU (kDLCPU, kDLCUDAHost) or of the instance's GPU (kDLCUDA).
 *
 * If out[i].data is null, out[i] is set to the result in the instance's memory. It is valid until the next call, which
 * may take it as an argument. Otherwise the result is written to out[i].data, if dtype and shape are the same. If they
 * differ, the call returns NAME_SIZE and sets out[i] to the result in the instance's memory. With nout = 0, results are
 * available by NAME_result. Memory for results may have been written when a call fails.
 *
 * A result in the instance's memory is on the GPU (kDLCUDA) if an argument of the call is, or with `device_results`,
 * unless it is a number. A result that was written to your memory on the GPU is not kept: NAME_result sets its data to
 * null. With a stream of yours a call returns when its work is enqueued, unless it copies from or to memory of the CPU.
 */
int NAME_call(NAME *m, const char *method, DLTensor *const *in, int nin, DLTensor *out, int nout);

/* Sets the argument with the key for the next call.  The tensor's memory must stay valid until that call ends. */
int NAME_set(NAME *m, const char *key, const DLTensor *tensor);
int NAME_set_text(NAME *m, const char *key, const char *text);

/* Return the number of results of the last call, and result i. A result that is None is left out. The data of a text is
 * null. */
int NAME_results(NAME *m);
int NAME_result(NAME *m, int i, const char **key, DLTensor *tensor);
const char *NAME_result_text(NAME *m, int i);      /* returns the text of result i; null if it is not a text */

/* Returns the key of the i-th None in the last result, and sets *before to the number of results before it. Null if
 * there are no more Nones. */
const char *NAME_result_none(NAME *m, int i, int *before);

/*
 * Moves the tensor of result i to the caller, who owns it until its deleter is called: by any thread, even after
 * NAME_close. It is copied only if the instance or another result shares it. Returns null if there is no such tensor,
 * if it was taken already, or if memory is exhausted (see NAME_error).
 */
DLManagedTensor *NAME_result_take(NAME *m, int i);

/*
 * Get and set the instance's attributes by name (cache, encoder.cache), if its methods use them. state_get returns the
 * attribute's own memory. It is valid until the next call, which may take it as an argument. state_set copies the
 * tensor. The tensor may have another size, and the attribute may be None before.
 */
int NAME_state_get(NAME *m, const char *name, DLTensor *tensor);
int NAME_state_set(NAME *m, const char *name, const DLTensor *tensor);

/*
 * Returns the content of a file that was saved with the model (_extra_files of torch.jit.save, extra_files of
 * torch.export.save), and sets *bytes to its length. It is valid until NAME_close. Null if there is no such file.
 */
const void *NAME_extra(NAME *m, const char *name, size_t *bytes);

/* METHODS */

#ifdef __cplusplus
}
#endif

#endif
