/* rt/cuda.h - the device of a context; private to the files of this list
 *
 *   cuda.c          the driver by dlopen, the module, constants, beginning and end
 *   cuda_memory.c   device memory, and which copy of a tensor is newer
 *   cuda_launch.c   kernels and moves of a specialization
 *   cuda_door.c     arguments and results of a library in the caller's device memory
 */
#ifndef RT_CUDA_H
#define RT_CUDA_H

#include "program.h"

typedef struct RtCudaBlock {     /* device memory, kept for the next call */
	uint64_t at;
	int64_t  bytes;
	bool     used;
} RtCudaBlock;

typedef struct RtCudaConstant {  /* a constant that kernels read, on the device from the start */
	RtStorage *storage;      /* a reference: no other tensor gets its address */
	char      *host;
	uint64_t   at;
} RtCudaConstant;

typedef struct RtCuda {
#define CUDA(name, ...) int (*name)(__VA_ARGS__);
#include "cuda.def"
#undef CUDA
	void    *library, *context, *stream, *module;
	int      index, device, capability;      /* 0, the driver's handle, 90 */
	bool     foreign;                /* whether the stream is the caller's */
	bool     sent, busy;             /* since the last wait: whether bytes were sent, anything was enqueued */
	bool     lazy;                   /* whether results stay on the device until the caller asks for them */
	void   **function;               /* by kernel */
	uint64_t constants, wrong;       /* wrong: an int that launches set, 0 between them */
	RtCudaConstant *constant;        /* nconstant, in the order of host */
	int      nconstant;
	RtCudaBlock *block;
	int      nblock;
	RtCopy **copy;                   /* ncopy: of tensors outside of arenas */
	int      ncopy;
} RtCuda;

/* Returns from the function if a call of the driver fails. */
#define RT_CUDA_TRY(cx, c, call, doing) \
	do { \
		const int code_ = (c)->call; \
		if (code_) \
			return rt_cuda_failed(cx, c, code_, doing); \
	} while (0)

/* ---- cuda_memory.c ----------------------------------------------------------------------------------------------- */

/* Raises the driver's error. doing: what it was asked to do, "allocate memory". */
int rt_cuda_failed(RtCx *, const RtCuda *, int code, const char *doing);
/* Makes the device's context current in this thread until rt_cuda_exit, which restores the one before. */
int  rt_cuda_enter(RtCx *);
void rt_cuda_exit(const RtCuda *);
/* Binds mirror i of the frame to the copy of the buffer that begins at host. Null: an error was raised. */
RtCopy *rt_cuda_bind(RtCudaFrame *, int i, char *host);
int  rt_cuda_send(RtCx *, RtCopy *);                     /* copies the bytes to the device, unless it has them */
int  rt_cuda_fetch(RtCx *, RtCopy *);                    /* newer bytes to the host, which waits for them */
void rt_cuda_newer(RtCopy *, int64_t from, int64_t to);  /* notes that the device has newer bytes */
/* Fetches all of these bytes of the host that are newer on the device, and waits for them. */
int  rt_cuda_fetch_bytes(RtCx *, const char *host, int64_t bytes);
/* Waits for the stream. */
int  rt_cuda_wait(RtCx *);
/* A new copy of the bytes in the table, with device memory of its own.  storage: a reference is added; may be null.
 * Null: an error was raised. */
RtCopy *rt_cuda_add(RtCx *, RtStorage *, char *host, int64_t bytes);
/* The same for the caller's device memory at `device`, whose bytes are newer than the host's. */
RtCopy *rt_cuda_lend(RtCx *, RtStorage *, uint64_t device);
int  rt_cuda_own(RtCx *, RtCopy *);              /* moves a lent copy to device memory of the context's own */
void rt_cuda_drop(RtCuda *, int i);              /* removes copy i from the table */
uint64_t rt_cuda_detach(RtCuda *, const RtCopy *);       /* the same, but the caller owns the device memory */
void rt_cuda_memory_free(RtCuda *);

#endif
