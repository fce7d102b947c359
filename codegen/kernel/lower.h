/* codegen/kernel/lower.h - translates nodes of a specialized graph to kernels, and kernels to calls
 *
 * Each family of operators has a file of its own.
 */
#ifndef CODEGEN_LOWER_H
#define CODEGEN_LOWER_H

#include "kernel.h"
#include "../../ir/row.h"
#include "form.h"

typedef struct Lowered {
	Kernel  *kernel;
	ValueVec value;          /* by operand: the tensor or number that the caller passes */
	/* Whether the epilogue reads memory that the result shares. The sums of a block must not be stored there. */
	bool     apart;
	const char **text;       /* by operand: C of packed weights that are passed instead of a null value; or null */
} Lowered;

/* ---- lower_map.c: a pointwise row, or a group of them ---------------------------------------------------------- */

/* Returns false if the node has no kernel. */
bool lower_map(Plan *, const Node *, Lowered *);
/* Lowers the group as an epilogue of the kernel that computes `made`, one of its inputs, row by row. It has at most two
 * axes. The innermost one is `made`'s columns, consecutive in the result. in_registers: `made` is no operand in
 * memory. */
bool lower_epilogue(Plan *, const Node *group, const Value *made, bool in_registers, Lowered *);
/* Lowers the group as a prologue of a kernel over the dims of the group's result. Dim i is the kernel's axis axis[i].
 * Adds the group's inputs to the kernel's operands and to l->value, and its rows to the lets. *made: the element
 * computed. */
bool lower_prologue(Plan *, const Node *group, const int *axis, Lowered *l, Ref *made);

/* ---- lower_pair.c: rows as lets; complex rows as pairs of real values -------------------------------------------- */

/* Returns a let of a pointwise row whose tensors have this dtype. arg: the row's arguments, tensors and numbers. */
Let lower_let(Plan *, OpRow, int dtype, const Ref *arg);

typedef struct Pair { Ref re, im; } Pair;                /* A value at a point. im is REF_NONE if it is real. */

static inline bool
pair_is_complex(Pair a)
{
	return a.im.kind != REF_NONE;
}

/* Lowers a complex row to lets of real and imaginary parts. Returns false if it has no kernel. */
bool lower_pair(Plan *, Kernel *, const Let *, const Pair *arg, Pair *);

/* ---- families.c: reductions, softmax, normalization -------------------------------------------------------------- */

/* Does it reduce its first argument and read each element once? */
bool node_reads_once(const Node *);
/* Returns false if it is no reduction or has no kernel. */
bool lower_reduction(Plan *, const Node *, Lowered *);
/* Finds all launches of a node on the GPU: kernels that are data, or CUDA text. Emits nothing. Returns their number;
 * calls has room for MAX_KERNEL_CALLS. 0: the node has none there, and *why is the reason. */
int lower_gpu(Plan *, const Node *, KernelCall *calls, const char **why);

/* ---- lower_index.c ----------------------------------------------------------------------------------------------- */

/* Returns a kernel with n axes for a node. */
Kernel *lower_over(Plan *, const Node *, const char *name, int n, const int64_t *dims);
/* Returns the dtype as which elements are copied; RT_NDTYPE if they cannot be. */
RtDtype lower_carrier(int dtype);

/* ---- lower_contract.c: sums of products ------------------------------------------------------------------------- */

typedef struct Contract {        /* A kernel that computes y = sum of x * w, plus bias. */
	Plan   *plan;
	const Node *n;
	Kernel *kernel;
	bool    bias;
	/* Whether the runtime is faster than printed loops. On the CPU it then needs a microkernel. */
	bool    blocked;
} Contract;
enum { CONTRACT_Y, CONTRACT_X, CONTRACT_W, CONTRACT_BIAS };      /* indices of its operands */

void contract_begin(Contract *, Plan *, const Node *, RtDtype, bool bias);
/* Adds an axis. Axes are added outermost first, summed ones last. stride: of each operand along the axis. */
void contract_axis(Contract *, int64_t extent, bool summed, const int64_t stride[4]);
/* A window that moves over x: a convolution of up to three dims, on the model's own layouts. */
typedef struct Windows {
	int     places;          /* number of the window's dims */
	int64_t in[3], out[3], taps[3], step[3], pad[3], wide[3];
	int64_t x[3], y[3], w[3];        /* strides of x, y and w along these dims */
} Windows;
/* adds the axes of output positions, or, if summed, of taps */
void contract_windows(Contract *, const Windows *, bool summed);
/* A convolution over one to three dims, with any layouts and any weights. */
typedef struct Convolution {
	const RtTensor *x, *w, *y;
	const Value *bias;       /* consecutive floats, or null */
	int64_t groups;
	Windows windows;
} Convolution;
bool convolution_is_transposed(Plan *, const Node *);    /* Is it, or is that not known? */
/* returns false if it is transposed or its floats are not known */
bool convolution_take(Plan *, const Node *, Convolution *);
void contract_from(Contract *, int64_t y, int64_t w);                     /* sets the offsets of y and w */
/* Completes the kernel. after: epilogue over its result, whose first `rows` axes are the rows; or null. */
Kernel *contract_end(Contract *, const Lowered *after, int rows);
/* adds the inputs of an epilogue, or of null */
void contract_pass(Plan *, const Lowered *after, ValueVec *to);
/* Adds a launch of the kernel. value: by operand. On the GPU, the node's epilogue follows: its result replaces y, and
 * its operands are passed behind the existing ones. Returns false if the epilogue has no kernel, or the kernel needs a
 * microkernel and has none. */
struct Row;
bool contract_launch(struct Row *, Contract *, const Value *const *value, int rows);

/* ---- lower_rows.c: shared code of reductions ------------------------------------------------------------------- */

struct Row;
/* A kernel over dims, some of which are reduced. Its axes are first the kept dims, then the reduced ones. */
typedef struct Rows {
	struct Row *row;
	Kernel *kernel;
	int     ndim;
	int64_t dims[KERNEL_AXES];
	bool    gone[KERNEL_AXES];       /* whether the dim is reduced */
	Ref     x;               /* element of the reduced tensor */
	ValueVec value;          /* value of each operand */
} Rows;

/* Begins the kernel; dims and gone are set. Operands are added in this order: results, tensors, numbers that depend on
 * sizes. */
void rows_begin(Rows *, const char *name);
/* Adds an operand with these strides along the dims. Returns its index. */
int  rows_operand(Rows *, Access, RtDtype, const int64_t *stride, const Value *);
bool rows_prologue(Rows *, const Node *group);          /* makes the group the kernel's prologue, and x its result */
Ref  rows_place(Rows *);                                /* index of an element within its row, by the order of dims */
RtDtype rows_place_type(const Rows *);                  /* i32 if it holds all such indices, else i64 */
RtDtype rows_compared(const RtTensor *);                /* dtype in which elements are compared without rounding */
Ref  rows_number(Rows *, int64_t);                      /* adds a number that depends on sizes */
int64_t rows_count(const Rows *);                       /* number of elements of a row */
bool rows_finish(Rows *);                               /* adds the launch */
Ref  rows_join(Rows *, const char *fold, RtDtype total, RtDtype part, Ref x);
/* Returns types that compute in the type of `common` and round to `result`. */
RtMapTypes rows_types(RtDtype common, RtDtype result);
/* Adds a let of a pointwise operator with up to three arguments. */
Ref  rows_let(Rows *, OpRow, RtMapTypes, Ref a, Ref b, Ref c);
Ref  rows_let1(Rows *, OpRow, RtDtype, Ref a);
Ref  rows_let2(Rows *, OpRow, RtDtype, Ref a, Ref b);       /* add and sub get alpha = 1 */

/* ---- emit.c: kernels in programs ------------------------------------------------------------------------------- */

/* Emits the kernel and fills in its call. If Emit is null, and on a sample of a dynamic specialization, the call only
 * gets the kernel as data. */
void emit_lowered(Emit *, Plan *, const Lowered *, KernelCall *);
/* Simplifies, schedules and emits the kernel for the call. Adds the symbols, if there are any, behind the call's
 * arguments. Returns false if the kernel has constant weights that no microkernel reads. */
bool emit_scheduled(Emit *, Kernel *, KernelCall *);
/* Writes the text form of a launch. If only its operands are known, writes these. */
void launch_print(Plan *, const Node *, const KernelCall *, Buf *);
/* Can the group be the epilogue of the kernel that computes `made`, with that many columns? */
bool epilogue_fits(Plan *, const Node *group, const Value *made, int64_t columns);
/* Emits a kernel as such a function, with its operands at p[place[..]] and its symbols at p[symbols]. */
const char *emit_block(Emit *, const Kernel *, const int *place, int symbols);
/* Simplifies an epilogue. Returns false if it can no longer be one. */
bool kernel_ends_rows(Kernel *);

/* ---- unify.c: dynamic specializations ---------------------------------------------------------------------------- */

/* Numbers that the operands of a node have, and that differ among the samples. */
typedef struct Measures {
	const Sizes *function;           /* sizes of the whole function */
	Sizes of;                        /* values of the numbers, as its atoms */
	const Size *size[SIZE_ATOMS];    /* Size of each */
} Measures;
/* Returns the Size of a formula over the function's atoms. Atom i is symbol s[i] of the program. */
const Size *size_of_expr(SizeTable *, const Sizes *, const RtSizeExpr *);
/* Combines the kernels of a node on all samples, before they are simplified, into one over symbols. Returns null if
 * they differ in more than numbers, or in a number that is no product of the node's own numbers. */
Kernel *kernel_unify(SizeTable *, const Measures *, const Kernel *const *);

#endif
