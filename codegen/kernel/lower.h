/* codegen/kernel/lower.h - nodes of a specialized graph to kernels, and those to calls of emitted functions
 *
 * A Lowered is a kernel with the values that its operands are.  Each family has a file of its own.
 */
#ifndef CODEGEN_LOWER_H
#define CODEGEN_LOWER_H

#include "kernel.h"
#include "../../ir/row.h"
#include "form.h"

typedef struct Lowered {
	Kernel  *kernel;
	const Kernel *whole;     /* of an epilogue on a sample of dynamic sizes: the kernel before it was simplified */
	ValueVec value;          /* by operand: the tensor or number that the caller passes */
} Lowered;

/* ---- lower_map.c: a pointwise row, or a group of them ---------------------------------------------------------- */

/* False: it has no kernel. */
bool lower_map(Plan *, const Node *, Lowered *);
/* The same as the end of a kernel that makes `made`, one of the group's inputs, row by row: two axes at most, the
 * innermost `made`'s columns, consecutive in the result.  in_registers: `made` is no operand in memory. */
bool lower_epilogue(Plan *, const Node *group, const Value *made, bool in_registers, Lowered *);
/* The same as the beginning of a kernel over the dims of the group's result, of which dim i is the kernel's axis
 * axis[i]: adds what the group reads to the kernel's operands and to l->value, and its rows; *made: an element. */
bool lower_prologue(Plan *, const Node *group, const int *axis, Lowered *l, Ref *made);

/* ---- lower_pair.c: rows as lets, those of complex numbers as pairs of such --------------------------------------- */

RtMapResult lower_result(const Op *);                    /* the rule of a row's result */
/* A let of a pointwise row whose tensors have this dtype; arg: by the row's arguments, tensors and numbers. */
Let lower_let(Plan *, OpRow, int dtype, const Ref *arg);

typedef struct Pair { Ref re, im; } Pair;                /* a value at a point; of a real one im is none */

static inline bool
pair_is_complex(Pair a)
{
	return a.im.kind != REF_NONE;
}

/* What a row whose type is complex makes of arg; false: it has no kernel. */
bool lower_pair(Plan *, Kernel *, const Let *, const Pair *arg, Pair *);

/* ---- families.c: reductions, softmax, normalisation -------------------------------------------------------------- */

/* Does it reduce its first argument, reading each element once? */
bool node_reads_once(const Node *);
/* False: not a reduction, or one without a kernel. */
bool lower_reduction(Plan *, const Node *, Lowered *);
/* All launches of a node, for the GPU: kernels that are data, or CUDA; nothing is emitted.  calls has room for
 * MAX_KERNEL_CALLS and gets as many as the result says; 0: the node has none there, and *why is the reason. */
int lower_gpu(Plan *, const Node *, KernelCall *calls, const char **why);

/* ---- lower_index.c ----------------------------------------------------------------------------------------------- */

/* A kernel of n axes, for a node. */
Kernel *lower_over(Plan *, const Node *, const char *name, int n, const int64_t *dims);
/* The type that elements are moved as; RT_NDTYPE: they are not. */
RtDtype lower_carrier(int dtype);

/* ---- lower_contract.c: sums of products ------------------------------------------------------------------------- */

typedef struct Contract {        /* y = sum of x * w, + bias */
	Plan   *p;
	const Node *n;
	Kernel *k;
	bool    bias;
} Contract;
enum { CONTRACT_Y, CONTRACT_X, CONTRACT_W, CONTRACT_BIAS };      /* operands */

void contract_begin(Contract *, Plan *, const Node *, RtDtype, bool bias);
/* Adds an axis, outermost first and those that are summed over last; stride: of the operands. */
void contract_axis(Contract *, int64_t extent, bool summed, const int64_t stride[4]);
/* x and a window over it: a convolution of up to three dims, its tensors as the model has them. */
typedef struct Windows {
	int     places;          /* dims of the window */
	int64_t in[3], out[3], taps[3], step[3], pad[3], wide[3];
	int64_t x[3], y[3], w[3];        /* strides along them */
} Windows;
void contract_windows(Contract *, const Windows *, bool summed);         /* of places; summed: of taps */
bool windows_leave(const Windows *, int place);         /* do they reach into padding, or beyond the end of x? */
/* A convolution over one to three dims, in whatever layout, by any weights. */
typedef struct Convolution {
	const RtTensor *x, *w, *y;
	const Value *bias;       /* of consecutive floats; or null */
	int64_t groups;
	Windows v;
} Convolution;
bool convolution_take(Plan *, const Node *, Convolution *);              /* false: not of known floats, or transposed */
void contract_convolution(Contract *, const Convolution *);              /* its axes; the first 1 + places are rows */
void contract_from(Contract *, int64_t y, int64_t w);                     /* the first elements of these */
/* Completes it; after: what follows over its result, of which the first `rows` axes are the rows; or null. */
Kernel *contract_end(Contract *, const Lowered *after, int rows);
/* It is the call's kernel, of which this microkernel computes the units.  On the GPU what follows is the node's
 * epilogue, whose operands are passed behind those that are there. */
void contract_call(KernelCall *, Contract *, const Lowered *after, int rows, const char *micro);

/* ---- lower_rows.c: what kernels that reduce are made of -------------------------------------------------------- */

struct Row;
/* A kernel over dims, some of which are reduced: its axes are those that stay, then those. */
typedef struct Rows {
	struct Row *r;
	Kernel *k;
	int     ndim;
	int64_t dims[KERNEL_AXES];
	bool    gone[KERNEL_AXES];       /* reduced */
	Ref     x;               /* an element of what is reduced */
	ValueVec value;          /* of operands */
} Rows;

/* Begins the kernel; the dims and reduced ones are set.  Operands are added in this order: results, tensors, numbers of
 * sizes. */
void rows_begin(Rows *, const char *name);
/* An operand with these strides along the dims; its index. */
int  rows_operand(Rows *, Access, RtDtype, const int64_t *stride, const Value *);
bool rows_prologue(Rows *, const Node *group);          /* x: what the group makes */
Ref  rows_place(Rows *);                                /* of an element among those of its row, in the order of dims */
Ref  rows_number(Rows *, int64_t);                      /* one that depends on sizes */
int64_t rows_count(const Rows *);                       /* elements of a row */
bool rows_finish(Rows *);                               /* adds the launch */
Ref  rows_join(Rows *, const char *fold, RtDtype total, RtDtype part, Ref x);
/* Computed in the type of `common`, rounded to that of `result`. */
RtMapTypes rows_types(RtDtype common, RtDtype result);
/* What a pointwise operator makes of a, b and c, or of those of them that it takes. */
Ref  rows_let(Rows *, OpRow, RtMapTypes, Ref a, Ref b, Ref c);
Ref  rows_let1(Rows *, OpRow, RtDtype, Ref a);
Ref  rows_let2(Rows *, OpRow, RtDtype, Ref a, Ref b);       /* add, sub: with alpha 1 */

/* ---- emit.c: kernels in programs ------------------------------------------------------------------------------- */

/* Emits the kernel and what calls it; with a null Emit, and on a sample of a dynamic specialization, the call has the
 * kernel as it is. */
void emit_lowered(Emit *, Plan *, const Lowered *, KernelCall *);
/* Simplifies and schedules the kernel, and emits it for the call, behind whose arguments are symbols, if it has any. */
void emit_scheduled(Emit *, Kernel *, KernelCall *);
/* The text form of a launch, of a node's kernel or of one of them.  Where nothing but its operands is known, these. */
void launch_print(Plan *, const Node *, const KernelCall *, Buf *);
/* Can the group be the end of the kernel that makes `made`, of so many columns, in the same place? */
bool epilogue_fits(Plan *, const Node *group, const Value *made, int64_t columns);
/* Emits it as a function over a block just stored in p[0] or, apart, behind its other inputs, which are p[first ..].
 * False: it does not fit. */
bool emit_epilogue(Emit *, Plan *, const Node *group, const Value *made, int first, Epilogue *);
/* The same of a kernel whose operands are at p[place[..]], its symbols at p[symbols]. */
const char *emit_block(Emit *, const Kernel *, const int *place, int symbols);
/* Simplifies an epilogue; false: it cannot be one any more. */
bool kernel_ends_rows(Kernel *);

/* ---- unify.c: dynamic specializations ---------------------------------------------------------------------------- */

/* One kernel, of symbols, out of the kernels that a node has on all samples, before they are simplified; null: they
 * differ in more than numbers, or in some that are no formulas. */
Kernel *kernel_unify(SizeTable *, const Sizes *, const Kernel *const *);

#endif
