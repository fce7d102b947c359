/*
 * The table of forms for all operators except pointwise groups.
 *
 * A form decides whether kernels are generated for a node, and then adds their launches.  If e is null, it follows the
 * same path but emits nothing.  So the plan and the emitted code cannot disagree.
 */
#include "lower.h"
#include "row.h"

typedef struct Family {
	RowForm *form;
	bool     reduces;        /* whether it is a reduction or normalization in one launch */
	bool     once;           /* whether it reads each element of `self` once, so that a prologue may compute them */
	bool     parts; /* whether it writes by the result's strides, so the result may be a part of a larger tensor */
} Family;

static const Family families[NLOWERING] = {
	[LOWER_SUM] = { row_sum, .reduces = true, .once = true },
	[LOWER_MEAN] = { row_sum, .reduces = true, .once = true },
	[LOWER_NANSUM] = { row_sum, .reduces = true, .once = true },
	[LOWER_PROD] = { row_sum, .reduces = true, .once = true },
	[LOWER_COUNT_NONZERO] = { row_count, .reduces = true, .once = true },
	[LOWER_MAX] = { row_extreme, .reduces = true, .once = true },
	[LOWER_MIN] = { row_extreme, .reduces = true, .once = true },
	[LOWER_MIN_MAX] = { row_extreme, .reduces = true, .once = true },
	[LOWER_ALL] = { row_logic, .reduces = true, .once = true },
	[LOWER_ANY] = { row_logic, .reduces = true, .once = true },
	[LOWER_ARGMAX] = { row_arg_extreme, .reduces = true, .once = true },
	[LOWER_ARGMIN] = { row_arg_extreme, .reduces = true, .once = true },
	[LOWER_VECTOR_NORM] = { row_norm, .reduces = true, .once = true },
	[LOWER_VAR] = { row_variance, .reduces = true },
	[LOWER_STD] = { row_variance, .reduces = true },
	[LOWER_LOGSUMEXP] = { row_logsumexp, .reduces = true },
	[LOWER_LAYER_NORM] = { row_layer_norm, .reduces = true },
	[LOWER_RMS_NORM] = { row_layer_norm, .reduces = true },
	[LOWER_GROUP_NORM] = { row_group_norm, .reduces = true },
	[LOWER_INSTANCE_NORM] = { row_group_norm, .reduces = true },
	[LOWER_BATCH_NORM] = { row_batch_norm, .reduces = true },
	[LOWER_SOFTMAX] = { row_softmax, .reduces = true },
	[LOWER_LOG_SOFTMAX] = { row_softmax, .reduces = true },
	[LOWER_COPY] = { row_copy, .parts = true },
	[LOWER_CAST] = { row_cast, .parts = true },
	[LOWER_REPEAT] = { row_repeat, .parts = true },
	[LOWER_CAT] = { row_cat, .parts = true },
	[LOWER_STACK] = { row_stack },
	[LOWER_ROLL] = { row_roll, .parts = true },
	[LOWER_FLIP] = { row_flip, .parts = true },
	[LOWER_PAD] = { row_pad },
	[LOWER_PAD_REFLECT] = { row_pad },
	[LOWER_PAD_REPLICATE] = { row_pad },
	[LOWER_PAD_CIRCULAR] = { row_pad },
	[LOWER_ZEROS] = { row_fill },
	[LOWER_ONES] = { row_fill },
	[LOWER_FULL] = { row_fill },
	[LOWER_ARANGE] = { row_arange },
	[LOWER_TRIU] = { row_triu },
	[LOWER_TRIL] = { row_tril },
	[LOWER_EMBEDDING] = { row_embedding },
	[LOWER_INDEX_SELECT] = { row_index_select },
	[LOWER_GATHER] = { row_gather },
	[LOWER_INDEX] = { row_index },
	[LOWER_MATMUL] = { row_matmul },
	[LOWER_LINEAR] = { row_linear },
	[LOWER_ADDMM] = { row_addmm },
	[LOWER_CONTRACT] = { row_contract },
	[LOWER_CONVOLUTION] = { row_convolution },
	[LOWER_CONVOLUTION_BACKWARD] = { row_convolution_backward },
	[LOWER_MAX_POOL] = { row_max_pool, .parts = true },
	[LOWER_AVG_POOL] = { row_avg_pool, .parts = true },
	[LOWER_ADAPTIVE_AVG_POOL] = { row_adaptive_pool },
	[LOWER_ADAPTIVE_MAX_POOL] = { row_adaptive_pool },
	[LOWER_MAX_POOL_PLACES] = { row_max_pool_places },
	[LOWER_MAX_POOL_BACKWARD] = { row_max_pool_back },
	[LOWER_INDEX_ADD] = { row_index_slices },
	[LOWER_INDEX_COPY] = { row_index_slices },
	[LOWER_INDEX_FILL] = { row_index_slices },
	[LOWER_SCATTER_ADD] = { row_scatter },
	[LOWER_SCATTER] = { row_scatter },
	[LOWER_INDEX_PUT] = { row_index_put },
	[LOWER_BILINEAR] = { row_weighed_resize, .parts = true },
	[LOWER_BICUBIC] = { row_weighed_resize, .parts = true },
	[LOWER_BILINEAR_SMOOTH] = { row_weighed_resize, .parts = true },
	[LOWER_BICUBIC_SMOOTH] = { row_weighed_resize, .parts = true },
	[LOWER_LANCZOS_SMOOTH] = { row_weighed_resize, .parts = true },
	[LOWER_NEAREST] = { row_nearest, .parts = true },
	[LOWER_NEAREST_EXACT] = { row_nearest, .parts = true },
	[LOWER_GRID_SAMPLE] = { row_grid_sample, .parts = true },
	[LOWER_GRID_SAMPLE_LAST] = { row_grid_sample_last, .parts = true },
	[LOWER_ROI_ALIGN] = { row_roi_align },
	[LOWER_RNN] = { row_rnn_walk, .parts = true },
	[LOWER_CUMSUM] = { row_scan },
	[LOWER_CUMPROD] = { row_scan },
	[LOWER_LOGCUMSUMEXP] = { row_scan },
	[LOWER_CUMMAX] = { row_scan },
	[LOWER_CUMMIN] = { row_scan },
	[LOWER_TOPK] = { row_topk },
	[LOWER_SORT] = { row_sort },
	[LOWER_EMBEDDING_BAG] = { row_embedding_bag },
	[LOWER_EMBEDDING_BAG_RAW] = { row_embedding_bag },
	[LOWER_ATTENTION] = { row_attention },
	[LOWER_SDPA] = { row_sdpa },
	[LOWER_COPY_INTO] = { row_copy_into },
	[LOWER_CONV_INT8] = { row_conv_int8 },
	[LOWER_LINEAR_INT8] = { row_linear_int8 },
	[LOWER_LINEAR_SUMS] = { row_linear_sums },
	[LOWER_CONV_SUMS] = { row_conv_sums },
};

/* Are all results new memory? Generated kernels do not write to views of arguments. */
static bool
results_are_new(const Row *r, bool parts)
{
	for (int i = 0; i < r->n->nout; i++) {
		const RtTensor *y = row_result(r, i);

		if (parts && y && plan_is_part(r->p, r->n->out[i]))
			continue;
		if (!y || !rt_is_dense(y))
			return false;
		for (int k = 0; k < r->n->nin; k++) {
			const RtTensor *x = plan_tensor(r->p, r->n->in[k]);

			if (x && x->storage == y->storage)
				return false;
		}
	}
	return r->n->nout > 0;
}

static const Family *
family_of(const Op *op)
{
	const Family *f = op ? &families[op->lowering] : NULL;

	return f && f->form ? f : NULL;
}

static bool
run_form(Row *r)
{
	const Family *f = family_of(r->n->op);

	if (!f || (!node_writes(r->n) && !results_are_new(r, f->parts)))
		return false;
	return f->form(r);
}

bool
node_reads_once(const Node *n)
{
	const Family *f = family_of(n->op);

	return f && f->once;
}

bool
lower_reduction(Plan *p, const Node *n, Lowered *out)
{
	KernelCall calls[MAX_KERNEL_CALLS];
	const Family *f = family_of(n->op);

	Row r = { .p = p, .n = n, .calls = calls };

	if (!f || !f->reduces || !run_form(&r) || r.ncall != 1)
		return false;
	*out = (Lowered){ .kernel = kernel_copy(calls[0].kernel) };
	for (int i = 0; i < calls[0].args.n; i++)
		vec_push(p->cx->arena, &out->value, calls[0].args.at[i].value);
	return true;
}

int
lower_gpu(Plan *p, const Node *n, KernelCall *calls, const char **why)
{
	Row r = { .p = p, .n = n, .calls = calls };
	Lowered l;

	*why = "the operands' types or layouts have no generated kernel";
	if (node_is_map(n)) {
		if (!lower_map(p, n, &l))
			return 0;
		emit_lowered(NULL, p, &l, calls);
		return 1;
	}
	if (!run_form(&r))
		return 0;
	for (int i = 0; i < r.ncall; i++)
		if (!calls[i].kernel) {
			*why = "its kernel is written in C and has no CUDA form";
			return 0;
		}
	return r.ncall;
}

bool
op_is_row(const Op *op)
{
	return family_of(op) != NULL;
}

bool
node_is_row(Plan *p, const Node *n)
{
	KernelCall calls[MAX_KERNEL_CALLS];
	Row r = { .p = p, .n = n, .calls = calls };

	return run_form(&r);
}

bool
emit_row(Emit *e, Plan *p, const Node *n, KernelCall *calls, int *ncall)
{
	Row r = { .e = e, .p = p, .n = n, .calls = calls };
	const bool is = run_form(&r);

	*ncall = r.ncall;
	return is;
}
