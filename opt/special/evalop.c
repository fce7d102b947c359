/*
 * Operators in the partial evaluator.  An operator with a body is replaced by the body.  An operator without a
 * generated kernel, or with a slow one, is replaced by operators with faster kernels.  Other operators are copied, and
 * their results inferred.
 */
#include "specialize.h"
#include "../../ir/row.h"

/* Functions that replace an operator by operators with kernels.  They return null if types or arguments do not allow
 * it. */
static const struct Form { OpRow row; Value *(*put)(Spec *, Scope *, const Node *); } forms[] = {
	{ ROW__convolution, spec_convolution }, { ROW__convolution_deprecated, spec_convolution },
	{ ROW__convolution_mode, spec_convolution }, { ROW_convolution, spec_convolution },
	{ ROW_conv1d, spec_convolution }, { ROW_conv1d_padding, spec_convolution },
	{ ROW_conv2d, spec_convolution }, { ROW_conv2d_padding, spec_convolution },
	{ ROW_conv3d, spec_convolution }, { ROW_conv3d_padding, spec_convolution },
	{ ROW_conv_transpose1d, spec_convolution }, { ROW_conv_transpose2d_input, spec_convolution },
	{ ROW_conv_transpose3d_input, spec_convolution }, { ROW_batch_norm, spec_batch_norm },
	{ ROW_instance_norm, spec_instance_norm }, { ROW_group_norm, spec_group_norm },
	{ ROW_max_pool3d, spec_pool_volume }, { ROW_avg_pool3d, spec_pool_volume },
	{ ROW_adaptive_avg_pool3d, spec_pool_volume }, { ROW__cdist_forward, spec_distances },
	{ ROW_scaled_dot_product_attention, spec_sdpa }, { ROW_pad, spec_pad_edges },
	{ ROW_reflection_pad1d, spec_pad_edges }, { ROW_reflection_pad2d, spec_pad_edges },
	{ ROW_replication_pad1d, spec_pad_edges }, { ROW_replication_pad2d, spec_pad_edges },
	{ ROW_max_pool1d, spec_pool_line }, { ROW_avg_pool1d, spec_pool_line },
	{ ROW_adaptive_avg_pool1d, spec_pool_line }, { ROW_grid_sampler, spec_grid_sampler },
	{ ROW_grid_sampler_2d, spec_grid_sampler }, { ROW_linear, spec_linear_of_bytes },
	{ ROW_prim_dequantized_rows, spec_rows_of_bytes }, { ROW_matmul, spec_rows },
	{ ROW_prim_contract, spec_contract }, { ROW_quantize_per_tensor, spec_quantize },
	{ ROW_quantize_per_tensor_tensor_qparams, spec_quantize }, { ROW_prim_as_quantized, spec_quantize },
	{ ROW_dequantize_self, spec_dequantize }, { ROW_prim_fused_values, spec_dequantize },
	{ ROW_prim_units, spec_dequantize }, { ROW_dequantize_tensor, spec_dequantize },
	{ ROW_quantized_linear, spec_quant_linear }, { ROW_quantized_linear_relu, spec_quant_linear },
	{ ROW_quantized_conv2d, spec_quant_conv }, { ROW_quantized_conv2d_relu, spec_quant_conv },
	{ ROW_quantized_conv2d_new, spec_quant_conv }, { ROW_quantized_linear_dynamic, spec_quant_linear_by_range },
	{ ROW_quantized_linear_relu_dynamic, spec_quant_linear_by_range },
	{ ROW_quantized_linear_dynamic_fp16, spec_quant_linear_half },
	{ ROW_quantized_linear_relu_dynamic_fp16, spec_quant_linear_half },
	{ ROW_prim_rnn_walk_packed, spec_quant_walk }, { ROW_quantized_conv2d_relu_new, spec_quant_conv },
	{ ROW_quantized_conv1d, spec_quant_conv }, { ROW_quantized_conv1d_relu, spec_quant_conv },
	{ ROW_quantized_conv3d, spec_quant_conv }, { ROW_quantized_conv3d_relu, spec_quant_conv },
	{ ROW_quantized_conv3d_new, spec_quant_conv }, { ROW_quantized_conv3d_relu_new, spec_quant_conv },
	{ ROW_quantized_conv_transpose1d, spec_quant_conv }, { ROW_quantized_conv_transpose2d, spec_quant_conv },
	{ ROW_quantized_conv_transpose3d, spec_quant_conv }, { ROW_int_repr, spec_int_repr },
	{ ROW_max_pool2d, spec_quant_linear_op }, { ROW_flatten_using_ints, spec_quant_view },
	{ ROW_view, spec_quant_view }, { ROW_reshape, spec_quant_view }, { ROW_permute, spec_quant_view },
	{ ROW_transpose_int, spec_quant_view }, { ROW_squeeze, spec_quant_view },
	{ ROW_squeeze_dim, spec_quant_view }, { ROW_unsqueeze, spec_quant_view },
	{ ROW_slice_Tensor, spec_quant_view }, { ROW_select_int, spec_quant_view },
	{ ROW_tensor_contiguous, spec_quant_view }, { ROW_tensor_clone, spec_quant_view },
	{ ROW_repeat, spec_quant_view }, { ROW_expand, spec_quant_view }, { ROW_chunk, spec_quant_parts },
	{ ROW_split_Tensor, spec_quant_parts }, { ROW_split_with_sizes, spec_quant_parts },
	{ ROW_relu, spec_quant_map }, { ROW_relu6, spec_quant_map }, { ROW_hardtanh, spec_quant_map },
	{ ROW_leaky_relu, spec_quant_map }, { ROW_sigmoid, spec_quant_map }, { ROW_hardsigmoid, spec_quant_map },
	{ ROW_tanh, spec_quant_map }, { ROW_cat, spec_quant_cat }, { ROW_narrow, spec_quant_view },
	{ ROW_flip, spec_quant_view }, { ROW_index_select, spec_quant_view },
	{ ROW_adaptive_avg_pool2d, spec_quant_adaptive_pool }, { ROW_avg_pool2d, spec_quant_avg_pool },
	{ ROW_mean_dim, spec_quant_mean_dim }, { ROW_upsample_nearest2d, spec_quant_linear_op },
	{ ROW_upsample_bilinear2d, spec_quant_linear_op }, { ROW_upsample_nearest2d_vec, spec_quant_linear_op },
	{ ROW_upsample_bilinear2d_vec, spec_quant_linear_op }, { ROW_to_device, spec_cast },
	{ ROW_to_dtype_of, spec_cast }, { ROW_to_dtype_layout, spec_cast }, { ROW_to_other, spec_cast },
	{ ROW_to_prim_dtype, spec_cast }, { ROW_type_as, spec_cast },
};

static const struct Form *
form_for(const Op *op)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (op->row == (int)forms[i].row)
			return &forms[i];
	return NULL;
}

bool
op_is_formed(const Op *op)
{
	return form_for(op);
}

/* Marks m as needed if it may raise, so that the error stays even if specialization finds the result unused.  The mark
 * is left out if types and numbers show that m cannot raise.  Random operators are marked, too, since later draws
 * depend on them. */
static void
keep_error(Spec *s, Node *m)
{
	bool tensors = false, is_known = m->nout > 0;

	for (int i = 0; i < m->nin; i++)
		tensors |= m->in[i]->type->kind == TYPE_TENSOR;
	for (int i = 0; i < m->nout; i++)
		is_known &= known_is(s->k, m->out[i]);
	if ((tensors ? !is_known || node_may_refuse_data(m) : !is_known && node_may_refuse_data(m)) ||
	    node_is_nondeterministic(m))
		node_set_int(m, "stays", 1);
}

/* Replaces a question about the whole run by its answer, if that is known. */
static bool
answer(Spec *s, Scope *c, Node *n)
{
	const bool grad = s->grad_stays && node_is(n, aten_is_grad_enabled);

	s->padded |= node_is(n, aten__nested_tensor_from_mask);
	if (!grad && (!node_is(n, prim_is_padded) || s->padded))
		return false;
	spec_bind_constant(s, c, n->out[0], rt_bool(grad && cx_rt(s->cx)->grad), n->at);
	return true;
}

/* Does m, n's copy, read or return a quantized tensor whose memory is written to?  A separate tensor of its integers
 * would not see the write. */
static bool
shares_quantized(const Spec *s, const Scope *c, const Node *n, const Node *m)
{
	for (int i = 0; i < n->nin; i++)
		if (spec_is_quantized(s, m->in[i]) && alias_has_writers(c->alias, n->in[i]))
			return true;
	for (int i = 0; i < n->nout; i++)
		if (spec_is_quantized(s, m->out[i]) && alias_has_writers(c->alias, n->out[i]))
			return true;
	return false;
}

void
spec_op(Spec *s, Scope *c, Node *n)
{
	const struct Form *form;
	Value *better;
	Node *m, *wide;
	bool shares;

	if (answer(s, c, n))
		return;
	if (reshapes_input(n))                       /* fails, since a value must keep its sizes */
		fail_lacks(s->cx, n->at, "a specialization with %s, which changes a tensor's sizes in place",
			   n->kind->name);
	if (spec_stored_already(s, c, n) || spec_left_out(s, c, n))
		return;
	if (spec_expand(s, c, n))
		return;
	if (spec_under_squeeze(s, c, n) || spec_under_volume(s, c, n) || spec_contiguous(s, c, n) ||
	    spec_parts(s, c, n) || spec_write(s, c, n))
		return;
	m = spec_emit_copy(s, c, n);
	if (n->op->kernel && n->op->effect != EFFECT_IO)
		spec_infer(s, c, n, m);
	if (spec_fold(s, c, n, m)) {
		node_destroy(m);
		return;
	}
	keep_error(s, m);
	shares = shares_quantized(s, c, n, m);
	form = shares ? NULL : form_for(n->op);
	wide = spec_in_float(s, c, m);
	s->declined = NULL;
	better = form ? form->put(s, c, wide ? wide : m) : NULL;
	if (!better && s->declined)
		node_set_str(m, "why", s->declined);         /* kiln build -v says it of the call */
	better = better || !wide ? better : wide->out[0];
	if (better) {
		for (int i = 0; i < n->nout; i++) {
			Value *const y = i ? better->node->out[i] : better;

			spec_bind(s, c, n->out[i], wide ? spec_rounded(s, c, m, y) : y);
		}
		node_destroy(m);
	}
	spec_keep_layout(s, c, n);
	if (better)
		return;
	spec_guard_outputs(s, c, n, m);
	if (!shares) {
		spec_quant_arguments(m);
		spec_quant_results(s, c, n, m);
	}
}
