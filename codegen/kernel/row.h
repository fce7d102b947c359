/* codegen/kernel/row.h - what forms of operators share, and the forms; families.c says which operator has which
 *
 *   row.c         arguments of a node, nests of loops, launches
 *   kern_pool.c   pooling
 *   kern_resize.c interpolation over two dims
 *   kern_sample.c sampling at computed places
 *   kern_regions.c means over the bins of regions
 *   kern_bag.c    bags of rows of a table
 *   kern_scan.c   running sums, products, extremes
 *   kern_topk.c   the greatest of a row
 *   kern_rnn.c    the steps of recurrent layers
 *   kern_attention.c
 *   kern_direct.c small convolutions without packing
 *   kern_back.c   convolutions by computed weights, gradients of convolutions
 *   kern_mul.c    products of tensors that are not constant
 *   kern_int8.c   products and convolutions of 8-bit integers
 */
#ifndef CODEGEN_ROW_H
#define CODEGEN_ROW_H

#include "kernel.h"
#include "../../rt/ops/vscratch.h"

enum { ROW_OPERANDS = 6 };

typedef struct RowNest {         /* loops; outermost first */
	int     ndim, n;         /* operands */
	int64_t dims[RT_MAX_RANK];
	int64_t stride[ROW_OPERANDS][RT_MAX_RANK];
} RowNest;

typedef struct Row {
	Emit *e;                 /* null: only asked whether there is a form */
	Plan *p;
	const Node *n;
	KernelCall *calls;       /* room for MAX_KERNEL_CALLS */
	int   ncall;
} Row;

typedef bool RowForm(Row *);     /* false: not a form that is generated */

/* ---- row.c ------------------------------------------------------------------------------------------- */

const Value    *row_arg(const Row *, const char *name);         /* null: none, or None */
const RtTensor *row_tensor(const Row *, const char *name);      /* the type of a tensor argument; null: not known */
const RtTensor *row_result(const Row *, int i);
bool row_ints(const Row *, const char *name, int64_t *out, int n);   /* a list of n known ints, or one for all */
bool row_list(const Row *, const char *name, int64_t *out, int *n);  /* any number of known ints, at most RT_MAX_RANK */
bool row_int(const Row *, const char *name, int64_t *out);
bool row_double(const Row *, const char *name, double *out);

void nest_drop(RowNest *, int at);                              /* a dim */
void nest_simplify(RowNest *, int by);                          /* orders by operand `by`, drops 1s, merges */
int64_t nest_count(const RowNest *);
/* for (row = begin; ...) { indices; }: leaves the loop open.  nest_at: "i0 * 7 + i1", an operand's offset there. */
void nest_open(Body *, const RowNest *);
const char *nest_at(Body *, const RowNest *, int operand);

const char *row_type(int dtype);                        /* C type of an element; null: not one that is generated */
int64_t row_grain(int64_t elements_of_a_row);
/* Adds a launch, and ends the kernel's body. */
KernelCall *row_call(Row *, const char *prefix, const char *comment, Body *, int64_t n, int64_t grain);
/* Begins a body with memory of the thread's own, of so many bytes, a C expression. */
void row_scratch(Body *, const char *type, const char *name, const char *bytes);
/* Adds a launch of a kernel. */
struct Kernel;
bool row_kernel(Row *, struct Kernel *, const Value *const *value, int n);
void row_checks(Row *);                                 /* the last launch sets `wrong`, and the operator raises then */
void row_pass(Row *, KernelCall *, const Value *);
void row_pass_text(Row *, KernelCall *, const char *expression);

/* ---- the others -------------------------------------------------------------------------------------- */

/* The node that makes a list that is never changed; null: no such node. */
const Node *row_list_node(const Row *, const char *name);
/* kernel/lower_index.c: a launch that copies x into the result */
bool row_copy_layout(Row *, const RtTensor *x, const Value *from);

RowForm row_copy, row_copy_into, row_cast, row_roll, row_flip, row_cat, row_stack, row_pad, row_repeat, row_fill,
	row_embedding, row_index_select, row_index, row_gather;
/* What a value reads and self, which is written: two arguments may be the same memory, and so may two attributes. */
bool row_may_be_one(const Row *, const Value *from);

RowForm row_softmax, row_layer_norm, row_group_norm, row_batch_norm;
RowForm row_sum, row_count, row_logic, row_extreme, row_arg_extreme, row_norm, row_variance, row_logsumexp;
RowForm row_scatter, row_index_slices, row_index_put;
RowForm row_max_pool, row_max_pool_places, row_max_pool_back, row_avg_pool, row_adaptive_pool;
RowForm row_max_pool_data, row_avg_pool_data, row_adaptive_pool_data;
RowForm row_matmul, row_linear, row_addmm, row_contract;
RowForm row_weighed_resize, row_nearest;
RowForm row_arange, row_triu, row_tril;
RowForm row_grid_sample, row_grid_sample_last;
RowForm row_roi_align;
RowForm row_rnn_walk;
/* kern_int8.c: a constant tensor that nothing writes to, or null; weights of int8 packed by vi_pack (vint8.h), and what
 * zero points add to a column's sums, as C. */
const RtTensor *row_constant(const Row *, const char *name, RtDtype);
struct ViConv;
void row_pack_int8(Row *, const RtTensor *w, const struct ViConv *, const char *packed[2]);
RowForm row_embedding_bag, row_scan, row_topk;
RowForm row_attention, row_attention_cuda, row_sdpa, row_sdpa_cuda;
RowForm row_conv_int8, row_linear_int8, row_linear_sums, row_conv_sums;
RowForm row_convolution, row_convolution_data, row_convolution_computed, row_convolution_backward;

#endif
