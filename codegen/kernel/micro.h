/* codegen/kernel/micro.h - kernels that hand-written loops compute */
#ifndef CODEGEN_KERNEL_MICRO_H
#define CODEGEN_KERNEL_MICRO_H

#include "form.h"

typedef struct Micro {           /* A kernel as a call of a function of rt/ops. */
	const char *name, *header;
	const char *text;        /* body of static void NAME(void *arg, int64_t begin, int64_t end), in braces */
	const Size *units;
	int64_t     grain;
	int64_t     scratch;     /* bytes of scratch memory that it requests for a thread, if sizes are constant */
	int64_t     zeros;       /* number of zeros that it reads; they are an argument behind those of the kernel */
	/* Sizes by which 8-bit weights, an argument of the call, are packed. Null if they are not. A second packed part
	 * is an argument behind those of the kernel (pack_int8). */
	const struct ViConv *packed;
	int         weights;     /* index of that argument, and of the kernel's operand; -1 if there is none */
	const Size *steps;       /* number of operations */
	int64_t     tall;        /* most rows of a product by panels in a unit (Emit.tall); 0 if there is none */
	const Size *narrow;      /* Size that must be at most INT32_MAX. Null if none must, or if it always is. */
	/* number of launches, whose turn's number is the last argument; null for one */
	const Size *turns;
} Micro;

/* Facts about a call that its kernel does not have. */
typedef struct Calling {
	int symbols;             /* as for kernel_print_c, without arguments that the call adds */
	int nr, vf;              /* columns of a unit of work and of a vector (Emit.nr, Emit.vf) */
	const struct Dense *dense;       /* form of a contraction with constant weights (dense.h); else null */
} Calling;

/* Finds the function that computes the kernel, which is not simplified yet. Returns false if there is none. */
bool kernel_micro(const Kernel *, const Calling *, Micro *);
bool kernel_has_micro(const Kernel *);   /* Does such a function compute the kernel? */

typedef struct MicroCuda {       /* A kernel as a call of a function of rt/ops/cutile.h. */
	const char *name, *text; /* name of the function; "(params)\n{\n...}\n" */
	const Size *grid[2];     /* numbers of blocks */
} MicroCuda;

/* Finds the CUDA function that computes the kernel, which is not simplified yet. Returns false if there is none. */
bool kernel_micro_cuda(const Kernel *, MicroCuda *);

#endif
