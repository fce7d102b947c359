/*
 * The form of each operator that is no pointwise group.
 *
 * A form decides whether a kernel is generated for a node, and then adds launches of kernels; with e null it takes the
 * same path but emits nothing, so that the plan and the emitted code cannot disagree.
 */
#include "lower.h"
#include "row.h"

#include <string.h>

static const struct { const char *id; RowForm *form; } forms[] = {
	{ "sum", row_sum }, { "sum_dim_IntList", row_sum }, { "mean", row_sum }, { "mean_dim", row_sum },
	{ "nansum", row_sum }, { "prod", row_sum }, { "prod_dim_int", row_sum }, { "count_nonzero", row_count },
	{ "count_nonzero_dim_IntList", row_count }, { "amax", row_extreme }, { "amin", row_extreme },
	{ "max", row_extreme }, { "min", row_extreme }, { "aminmax", row_extreme }, { "all", row_logic },
	{ "all_dim", row_logic }, { "all_dims", row_logic }, { "any", row_logic }, { "any_dim", row_logic },
	{ "any_dims", row_logic }, { "max_dim", row_arg_extreme }, { "min_dim", row_arg_extreme },
	{ "argmax", row_arg_extreme }, { "argmin", row_arg_extreme }, { "norm_Scalar", row_norm },
	{ "norm_ScalarOpt_dtype", row_norm }, { "norm_ScalarOpt_dim", row_norm },
	{ "norm_ScalarOpt_dim_dtype", row_norm }, { "linalg_vector_norm", row_norm }, { "var", row_variance },
	{ "var_dim", row_variance }, { "var_correction", row_variance }, { "std", row_variance },
	{ "std_dim", row_variance }, { "std_correction", row_variance }, { "var_mean", row_variance },
	{ "var_mean_dim", row_variance }, { "var_mean_correction", row_variance }, { "std_mean", row_variance },
	{ "std_mean_dim", row_variance }, { "std_mean_correction", row_variance }, { "logsumexp", row_logsumexp },
	{ "native_layer_norm", row_layer_norm }, { "rms_norm", row_layer_norm },
	{ "native_group_norm", row_group_norm }, { "softmax_int", row_softmax }, { "log_softmax_int", row_softmax },
	{ "_softmax", row_softmax }, { "_log_softmax", row_softmax }, { "layer_norm", row_layer_norm },
	{ "group_norm", row_group_norm }, { "instance_norm", row_group_norm }, { "tensor_contiguous", row_copy },
	{ "clone", row_copy }, { "tensor_clone", row_copy }, { "to_dtype_of", row_cast },
	{ "to_dtype_layout", row_cast }, { "to_prim_dtype", row_cast }, { "to_device", row_cast },
	{ "to_other", row_cast }, { "type_as", row_cast }, { "reshape", row_copy }, { "reshape_as", row_copy },
	{ "flatten_using_ints", row_copy }, { "repeat", row_repeat }, { "cat", row_cat }, { "stack", row_stack },
	{ "pad", row_pad }, { "_pad_enum", row_pad }, { "constant_pad_nd", row_pad }, { "reflection_pad1d", row_pad },
	{ "reflection_pad2d", row_pad }, { "reflection_pad3d", row_pad }, { "replication_pad1d", row_pad },
	{ "replication_pad2d", row_pad }, { "replication_pad3d", row_pad }, { "_pad_circular", row_pad },
	{ "zeros", row_fill }, { "ones", row_fill },
	{ "full", row_fill }, { "zeros_like", row_fill }, { "ones_like", row_fill }, { "full_like", row_fill },
	{ "new_zeros", row_fill }, { "embedding", row_embedding }, { "index_select", row_index_select },
	{ "matmul", row_matmul }, { "mm", row_matmul }, { "bmm", row_matmul }, { "linear", row_linear },
	{ "addmm", row_addmm }, { "max_pool1d", row_max_pool }, { "max_pool2d", row_max_pool },
	{ "avg_pool1d", row_avg_pool }, { "avg_pool2d", row_avg_pool },
	{ "adaptive_avg_pool1d", row_adaptive_pool }, { "adaptive_avg_pool2d", row_adaptive_pool },
	{ "adaptive_max_pool1d", row_adaptive_pool }, { "adaptive_max_pool2d", row_adaptive_pool },
	{ "conv1d", row_convolution }, { "conv2d", row_convolution }, { "_convolution", row_convolution },
	{ "convolution", row_convolution }, { "batch_norm", row_batch_norm },
	{ "convolution_backward", row_convolution_backward }, { "max_pool2d_with_indices", row_max_pool_places },
	{ "max_pool2d_with_indices_backward", row_max_pool_back },
	{ "roll", row_roll }, { "flip", row_flip }, { "gather", row_gather }, { "index_add", row_index_slices },
	{ "index_copy", row_index_slices }, { "index_fill_int_Scalar", row_index_slices },
	{ "index_fill_int_Tensor", row_index_slices }, { "scatter_add", row_scatter }, { "scatter_src", row_scatter },
	{ "scatter_value", row_scatter }, { "scatter_reduce", row_scatter }, { "scatter_value_reduce", row_scatter },
	{ "scatter_reduce_two", row_scatter }, { "index_put", row_index_put },
	{ "index_put_hacked_twin", row_index_put }, { "_index_put_impl", row_index_put }, { "index_Tensor", row_index },
	{ "index_Tensor_hacked_twin", row_index }, { "einsum", row_einsum }, { "upsample_bilinear2d", row_bilinear },
	{ "upsample_bilinear2d_vec", row_bilinear }, { "upsample_nearest2d", row_nearest },
	{ "upsample_nearest2d_vec", row_nearest }, { "_upsample_nearest_exact2d", row_nearest },
	{ "_upsample_nearest_exact2d_vec", row_nearest }, { "prim_rnn_walk", row_rnn_walk }, { "cumsum", row_scan },
	{ "cumprod", row_scan }, { "logcumsumexp", row_scan }, { "cummax", row_scan }, { "cummin", row_scan },
	{ "topk", row_topk }, { "embedding_bag", row_embedding_bag },
	{ "embedding_bag_padding_idx", row_embedding_bag }, { "_embedding_bag", row_embedding_bag },
	{ "_embedding_bag_forward_only", row_embedding_bag }, { "prim_attention", row_attention },
	{ "scaled_dot_product_attention", row_sdpa },
};

/* Those that write to an argument. */
static const struct { const char *id; RowForm *form; } writing_forms[] = {
	{ "index_add_", row_index_slices }, { "index_copy_", row_index_slices },
	{ "index_fill__int_Scalar", row_index_slices }, { "index_fill__int_Tensor", row_index_slices },
	{ "scatter_add_", row_scatter }, { "scatter__src", row_scatter }, { "scatter__value", row_scatter },
	{ "scatter__reduce", row_scatter }, { "scatter__value_reduce", row_scatter },
	{ "scatter_reduce__two", row_scatter }, { "index_put_", row_index_put },
	{ "index_put__hacked_twin", row_index_put }, { "_index_put_impl_", row_index_put },
	{ "_index_put_impl__hacked_twin", row_index_put }, { "copy_", row_copy_into },
	{ "copy__Tensor", row_copy_into },
};

/* Forms that write by their result's strides, so that it may be a part of a larger tensor. */
static RowForm *const by_strides[] = {
	row_copy, row_cast, row_cat, row_max_pool, row_avg_pool, row_bilinear, row_nearest, row_roll, row_repeat,
		row_flip, row_rnn_walk,
};

static bool
takes_parts(RowForm *form)
{
	for (size_t i = 0; i < sizeof by_strides / sizeof *by_strides; i++)
		if (by_strides[i] == form)
			return true;
	return false;
}

/* Generated kernels write what nothing else holds: results that are not views of the arguments. */
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

static bool
form_of(Row *r)
{
	if (!r->n->op || r->n->op->form != OP_KERNEL)
		return false;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (!strcmp(r->n->op->id, forms[i].id))
			return results_are_new(r, takes_parts(forms[i].form)) && forms[i].form(r);
	for (size_t i = 0; i < sizeof writing_forms / sizeof *writing_forms; i++)
		if (!strcmp(r->n->op->id, writing_forms[i].id))
			return writing_forms[i].form(r);
	return false;
}

/* Forms that are one launch, which reduces or normalises rows. */
static RowForm *const reductions[] = {
	row_sum, row_count, row_logic, row_extreme, row_arg_extreme, row_norm, row_variance, row_logsumexp, row_softmax,
	row_layer_norm, row_group_norm, row_batch_norm,
};

bool
lower_reduction(Plan *p, const Node *n, Lowered *out)
{
	KernelCall calls[MAX_KERNEL_CALLS];
	Row r = { .p = p, .n = n, .calls = calls, .lowered = out };

	for (size_t i = 0; n->op && n->op->form == OP_KERNEL && i < sizeof forms / sizeof *forms; i++)
		for (size_t k = 0; k < sizeof reductions / sizeof *reductions && !strcmp(n->op->id, forms[i].id); k++)
			if (forms[i].form == reductions[k])
				return form_of(&r) && r.ncall == 1;
	return false;
}

bool
op_is_row(const Op *op)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (op->form == OP_KERNEL && !strcmp(op->id, forms[i].id))
			return true;
	for (size_t i = 0; i < sizeof writing_forms / sizeof *writing_forms; i++)
		if (!strcmp(op->id, writing_forms[i].id))
			return true;
	return false;
}

bool
node_is_row(Plan *p, const Node *n)
{
	KernelCall calls[MAX_KERNEL_CALLS];
	Row r = { .p = p, .n = n, .calls = calls };

	return form_of(&r);
}

bool
emit_row(Emit *e, Plan *p, const Node *n, KernelCall *calls, int *ncall)
{
	Row r = { .e = e, .p = p, .n = n, .calls = calls };
	const bool is = form_of(&r);

	*ncall = r.ncall;
	return is;
}
