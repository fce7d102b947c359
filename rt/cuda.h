/* rt/cuda.h - the device of a context; private to these files
 *
 *    cuda.c          the driver by dlopen, the module, constants, start and end
 *    cuda_memory.c   device memory, and which copy of a tensor is newer
 *    cuda_launch.c   kernels and copies of a specialization
 *    cuda_door.c     arguments and results of a library in the caller's device memory */
#ifndef RT_CUDA_H
#define RT_CUDA_H

#include "program.h"

typedef struct RtCudaBlock {     /* A block of device memory, which is kept for later calls. */
	uint64_t at;
	int64_t  bytes;
	bool     used;
} RtCudaBlock;

typedef struct RtCudaConstant {  /* A constant that kernels read. It is on the device from the start. */
	RtStorage *storage;      /* the constant's storage; a reference, so that no other tensor gets its address */
	char      *host;
	uint64_t   at;
} RtCudaConstant;

typedef struct RtCuda {
#define CUDA(name, ...) int (*name)(__VA_ARGS__);
#include "cuda.def"
#undef CUDA
	void    *library, *context, *stream, *module;
	/* index of the device; the driver's handle; compute capability, such as 90 for 9.0 */
	int      index, device, capability;
	bool     foreign;                /* whether the stream is the caller's */
	bool     sent, busy;    /* whether bytes were sent, and whether anything was enqueued, since the last wait */
	bool     doubt;                  /* whether a launch since the last wait may have set the int at `wrong` */
	int      found;                  /* value of that int at the last wait; 0 once the program has asked for it */
	bool     lazy;                   /* whether results stay on the device until the caller asks for them */
	void   **function;               /* handles of the functions, by kernel */
	/* device addresses of the constants, and of an int that launches set; the int is 0 between launches */
	uint64_t constants, wrong;
	RtCudaConstant *constant;        /* (nconstant) constants, ordered by the address of their host memory */
	int      nconstant;
	RtCudaBlock *block;
	int      nblock;
	RtCopy **copy;                   /* (ncopy) copies of tensors outside of arenas */
	int      ncopy;
	/* During a library's call: the tensors that the caller gave for results. Null otherwise. */
	const struct RtDlTensor *out;
	int      nout;
	/* Returns the address of the caller's memory, if kernels may write the result there. 0 if they may not. Null
	 * outside of a library's call. */
	uint64_t (*room)(const struct RtCuda *, const RtCudaResult *, int64_t bytes);
} RtCuda;

/* Returns RT_ERROR from the function if a call of the driver fails. */
#define RT_CUDA_TRY(cx, c, call, doing) \
	do { \
		const int code_ = (c)->call; \
		if (code_) \
			return rt_cuda_failed(cx, c, code_, doing); \
	} while (0)

/* ---- cuda_memory.c ----------------------------------------------------------------------------------------------- */

/* Raises the driver's error. `doing` names what the driver was asked to do, such as "allocate memory". */
int rt_cuda_failed(RtCx *, const RtCuda *, int code, const char *doing);
/* Makes the device's context current in this thread until rt_cuda_exit, which restores the previous one. */
int  rt_cuda_enter(RtCx *);
void rt_cuda_exit(const RtCuda *);
/* Binds mirror i of the frame to the copy of the buffer that begins at `host`, and returns the copy. Null if an error
 * was raised. */
RtCopy *rt_cuda_bind(RtCudaFrame *, int i, char *host);
int  rt_cuda_send(RtCx *, RtCopy *);    /* copies the host's bytes to the device, unless the device has them */
int  rt_cuda_fetch(RtCx *, RtCopy *);                    /* copies newer bytes to the host, and waits for them */
void rt_cuda_newer(RtCopy *, int64_t from, int64_t to);  /* marks bytes [from, to) as newer on the device */
/* Copies those of these bytes that are newer on the device to the host, and waits for them. */
int  rt_cuda_fetch_bytes(RtCx *, const char *host, int64_t bytes);
/* Waits for the stream. Reads whether an index was out of range, if launches have checked indices. */
int  rt_cuda_wait(RtCx *);
/* Adds a copy of these bytes, with its own device memory, to the table. Adds a reference to the storage, which may be
 * null. Returns null if an error was raised. */
RtCopy *rt_cuda_add(RtCx *, RtStorage *, char *host, int64_t bytes);
/* Adds a copy of these bytes over the caller's device memory at `device`. */
RtCopy *rt_cuda_lend(RtCx *, RtStorage *, char *host, int64_t bytes, uint64_t device);
int  rt_cuda_own(RtCx *, RtCopy *);              /* moves a lent copy to device memory that the context owns */
void rt_cuda_drop(RtCuda *, int i);              /* removes copy i from the table and frees its device memory */
/* removes the copy from the table and returns its device memory, which the caller then owns */
uint64_t rt_cuda_detach(RtCuda *, const RtCopy *);
void rt_cuda_memory_free(RtCuda *);

#endif
