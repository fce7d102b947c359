/* codegen/kernel/row.h - shared code of operators' forms, and the forms; families.c maps operators to them
 *
 *   row.c         arguments of a node, launches
 */
#ifndef CODEGEN_ROW_H
#define CODEGEN_ROW_H

#include "kernel.h"
#include "../../rt/ops/vscratch.h"

typedef struct Row {
	Emit *e;                 /* the program that is written; null to only ask whether there is a form */
	Plan *p;
	const Node *n;
	KernelCall *calls;       /* room for MAX_KERNEL_CALLS */
	int   ncall;
} Row;

typedef bool RowForm(Row *);     /* returns false if the node has no generated form */

/* ---- row.c ------------------------------------------------------------------------------------------- */

const Value    *row_arg(const Row *, const char *name);         /* null if there is no such argument or it is None */
const RtTensor *row_tensor(const Row *, const char *name); /* sizes and dtype of a tensor argument; null if unknown */
/* a constant tensor that nothing writes to, or null */
const RtTensor *row_constant(const Row *, const char *name, RtDtype);
const RtTensor *row_result(const Row *, int i);
/* reads a list of n known ints, or one int that is repeated */
bool row_ints(const Row *, const char *name, int64_t *out, int n);
bool row_list(const Row *, const char *name, int64_t *out, int *n); /* reads a list of at most RT_MAX_RANK known ints */
bool row_int(const Row *, const char *name, int64_t *out);
bool row_double(const Row *, const char *name, double *out);

const char *row_type(int dtype); /* C type of an element; null if there are no kernels for the dtype */
int64_t row_grain(int64_t elements_of_a_row);
/* Adds a launch and ends the kernel's body. There must be room for the launch. */
KernelCall *row_call(Row *, const char *prefix, const char *comment, Body *, int64_t n, int64_t grain);
/* Declares scratch memory of the thread. bytes: C expression of its length. */
void row_scratch(Body *, const char *type, const char *name, const char *bytes);
/* Adds a launch of a kernel. */
struct Kernel;
bool row_kernel(Row *, struct Kernel *, const Value *const *value, int n);
void row_checks(Row *); /* notes that the last launch sets `wrong`, on which the operator raises */
void row_pass(Row *, KernelCall *, const Value *);
void row_pass_text(Row *, KernelCall *, const char *expression);

/* ---- forms, by file ---------------------------------------------------------------------------------- */

/* Returns the node that makes the list, if it is never changed. Else null. */
const Node *row_list_node(const Row *, const char *name);
/* lower_index.c: adds a launch that copies x into the result. */
bool row_copy_layout(Row *, const RtTensor *x, const Value *from);

RowForm row_copy, row_copy_into, row_cast, row_roll, row_flip, row_cat, row_stack, row_pad, row_repeat, row_fill,
	row_embedding, row_index_select, row_index, row_gather;
/* May the value share memory with self, which is written? Two arguments may be the same memory, and so may two
 * attributes. */
bool row_may_be_one(const Row *, const Value *from);

RowForm row_softmax, row_layer_norm, row_group_norm, row_batch_norm;
RowForm row_sum, row_count, row_logic, row_extreme, row_arg_extreme, row_norm, row_variance, row_logsumexp;
RowForm row_scatter, row_index_slices, row_index_put;
RowForm row_max_pool, row_max_pool_places, row_max_pool_back, row_avg_pool, row_adaptive_pool;
RowForm row_matmul, row_linear, row_addmm, row_contract;
RowForm row_weighed_resize, row_nearest;
RowForm row_arange, row_triu, row_tril;
RowForm row_grid_sample, row_grid_sample_last;
RowForm row_roi_align;
RowForm row_rnn_walk;
RowForm row_embedding_bag, row_scan, row_topk, row_sort;
RowForm row_attention, row_sdpa;
RowForm row_conv_int8, row_linear_int8, row_linear_sums, row_conv_sums;
RowForm row_convolution, row_convolution_backward;

#endif
