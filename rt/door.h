/* rt/door.h - functions behind every NAME.h of a library (--emit shared, static, obj)
 *
 * A library's C contains a table of its program. Its functions NAME_open, NAME_call ... pass that table to the
 * functions below. The types here have the layout of those of NAME.h, member by member. */
#ifndef RT_DOOR_H
#define RT_DOOR_H

#include "program.h"

/* DLPack's DLTensor. Its layout is the same in all versions of DLPack. */
typedef struct RtDlType { uint8_t code, bits; uint16_t lanes; } RtDlType;
typedef struct RtDlTensor {
	void    *data;
	struct { int32_t kind, id; } device;
	int32_t  ndim;
	RtDlType dtype;
	int64_t *shape, *strides;        /* strides is null if the tensor is contiguous */
	uint64_t byte_offset;
} RtDlTensor;

/* DLPack's DLManagedTensor. */
typedef struct RtDlManaged {
	RtDlTensor tensor;
	void *context;
	void (*deleter)(struct RtDlManaged *);
} RtDlManaged;

typedef enum RtDoorStatus {
	DOOR_OK, DOOR_RAISED, DOOR_ARGUMENT, DOOR_SIZE, DOOR_GUARD, DOOR_MEMORY, DOOR_BUSY, DOOR_UNSUPPORTED,
} RtDoorStatus;

typedef struct RtDoorOptions {
	int      threads;
	void   (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void    *pool;
	void   (*print)(void *arg, const char *text, size_t n);
	void   (*warn)(void *arg, const char *text, size_t n);
	void    *arg;
	uint64_t seed;
	int      seeded;
	const char *device, *weights_file;
	const void *weights;
	size_t   weights_bytes;
	int      strict, device_index;
	void    *stream;
	int      device_results;
} RtDoorOptions;

typedef struct RtLeaf {                  /* A tensor or text in the arguments or the result of a method. */
	const char *key;
	RtDlType dtype;                  /* bits is 0 if the dtype is unknown; a text has code 255 */
	int      ndim;                   /* -1 if unknown */
	const int64_t *shape;            /* -1 for any size */
} RtLeaf;
typedef struct RtDoorMethod { const RtLeaf *in, *out; int nin, nout; } RtDoorMethod;

/* A tensor parameter of a function of C types, which calls an exact specialization. */
typedef struct RtTypedTensor { uint8_t dtype; bool written; int ndim; const int64_t *dims, bytes; } RtTypedTensor;
/* A node of a value, in prefix order. It is the next tensor (RT_TENSOR), a tuple or list of the n nodes that follow, or
 * the value itself. */
typedef struct RtTypedNode { IValue v; int n; const RtType *type; } RtTypedNode;
typedef struct RtTyped {
	int method;
	const RtTypedTensor *in, *out;   /* (nin, nout) parameters of the C function */
	const RtTypedNode *arg, *result; /* nodes of the method's arguments, and of its result */
	int nin, nout;
	bool plain;    /* whether it is only a sequence of kernels, which can be tried when the instance is opened */
	/* Runs the kernels directly, on the CPU and on memory that does not overlap. Null if there is no such code. */
	int (*direct)(RtCx *, const void *const *in, void *const *out);
} RtTyped;

typedef struct RtDoorProgram {
	const RtProgram *program;
	const RtDoorMethod *method;      /* (program->nmethod) in the order of program->method */
	const RtTyped *typed;
	int ntyped;
} RtDoorProgram;

typedef struct RtDoor RtDoor;

RtDoor *rt_door_open(const RtDoorProgram *, const RtDoorOptions *, char *why, size_t n);
/* Only libraries without a runtime (rt/bare.h) support these two functions. Here the first returns 0. The second
 * returns null, with the reason in `why`. */
size_t  rt_door_bytes(const RtDoorOptions *);
RtDoor *rt_door_open_in(void *memory, size_t bytes, const RtDoorOptions *, char *why, size_t n);
void    rt_door_close(RtDoor *);
int     rt_door_reset(RtDoor *);
int     rt_door_leaves(const RtDoorProgram *, const char *method, bool results, const RtLeaf **);
int     rt_door_call(RtDoor *, const char *method, RtDlTensor *const *in, int nin, RtDlTensor *out, int nout);
int     rt_door_typed(RtDoor *, int which, const void *const *in, void *const *out);
int     rt_door_results(RtDoor *);
int     rt_door_result(RtDoor *, int i, const char **key, RtDlTensor *);
const char *rt_door_text(RtDoor *, int i);
const char *rt_door_none(RtDoor *, int i, int *before);
RtDlManaged *rt_door_take(RtDoor *, int i);
int     rt_door_set(RtDoor *, const char *key, const RtDlTensor *);
int     rt_door_set_text(RtDoor *, const char *key, const char *text);
const void *rt_door_extra(RtDoor *, const char *name, size_t *bytes);
int     rt_door_state_get(RtDoor *, const char *name, RtDlTensor *);
int     rt_door_state_set(RtDoor *, const char *name, const RtDlTensor *);
const char *rt_door_error(RtDoor *);

/* ---- dlpack.c ---------------------------------------------------------------------------------------------------- */

/* Returns a tensor over the caller's memory, on the host or on the context's device. `key` names it in messages. Null
 * if an error was raised. */
RtTensor *rt_tensor_of_dl(RtCx *, const char *key, const RtDlTensor *);
/* Raises an error unless the tensor is in memory of the CPU or of the context's device. */
int       rt_dl_check_device(RtCx *, const char *key, const RtDlTensor *);
bool      rt_dl_on_device(const RtDlTensor *);
/* describes the tensor without a reference to it; returns false if DLPack lacks the dtype */
bool      rt_dl_of_tensor(const RtTensor *, RtDlTensor *);
bool      rt_dl_same_type(RtDlType, RtDtype);
/* Sets *bytes to the number of bytes from the first element to the end of the last one. Returns false on overflow, or
 * if the rank, a size or a stride is invalid. */
bool      rt_dl_span(const RtDlTensor *, int64_t *bytes);

/* ---- cuda_door.c: tensors in the caller's device memory --------------------------------------------------------- */

struct RtArrays;
typedef struct RtCudaDoor {
	int (*index)(const RtCx *);                      /* returns the index of the context's device */
	/* Returns a storage over `bytes` bytes of device memory at address `at`. It is valid until `end` is called.
	 * Reuses the storage of an earlier result if `at` is inside of it. Sets *offset to the offset in bytes of `at`
	 * in the storage. Null if an error was raised. */
	RtStorage *(*over)(RtCx *, uint64_t at, int64_t bytes, int64_t *offset);
	/* Begins a call with these arguments. With `lazy` its results stay on the device. Arguments that overlap on the
	 * device get one storage. `out` has nout tensors that the caller gave for results. Kernels write there if the
	 * device memory of one is laid out like its result and overlaps nothing that the call uses. */
	int (*begin)(RtCx *, const struct RtArrays *given, bool lazy, const RtDlTensor *out, int nout);
	/* Moves what kernels wrote to the caller's memory away from it, unless it is the result for that memory. */
	int (*confirm)(RtCx *, const struct RtArrays *results);
	int (*fetch)(RtCx *, const RtTensor *);          /* copies bytes that are newer on the device to the host */
	/* Sets the address and device of a result that is in the instance's memory. */
	int (*show)(RtCx *, RtTensor *, RtDlTensor *);
	/* Copies a result to the caller's memory. `to` is a tensor over that memory. */
	int (*put)(RtCx *, RtTensor *from, RtTensor *to, const RtDlTensor *);
	RtDlManaged *(*take)(RtCx *, RtTensor *);        /* implements NAME_result_take for a result on the device */
	/* Ends a call: returns the arguments' memory to the caller. Waits for the device, unless the stream is the
	 * caller's and reads nothing from the host's memory. */
	int (*end)(RtCx *);
} RtCudaDoor;
extern const RtCudaDoor rt_cuda_door;

#endif
