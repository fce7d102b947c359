/* rt/cuda.h - the device of a context; private to cuda.c, cuda_memory.c and cuda_launch.c
 *
 *   cuda.c          the driver by dlopen, the module, constants, beginning and end
 *   cuda_memory.c   device memory, and which copy of a tensor is newer
 *   cuda_launch.c   kernels and moves of a specialization
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
	int      device, capability;     /* 90 */
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
/* Binds mirror i of the frame to the copy of the buffer that begins at host. Null: an error was raised. */
RtCopy *rt_cuda_bind(RtCudaFrame *, int i, char *host);
int  rt_cuda_send(RtCx *, RtCopy *);                     /* copies the bytes to the device, unless it has them */
int  rt_cuda_fetch(RtCx *, RtCopy *);                    /* newer bytes to the host, which waits for them */
void rt_cuda_newer(RtCopy *, int64_t from, int64_t to);  /* notes that the device has newer bytes */
void rt_cuda_memory_free(RtCuda *);

#endif
