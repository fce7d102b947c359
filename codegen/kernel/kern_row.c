/*
 * Forms of operators that are not pointwise groups: the table, and functions that forms share.
 *
 * A form decides whether a kernel is generated for a node, and then adds launches of kernels; with e null it takes the
 * same path but emits nothing, so that the plan and the emitted code cannot disagree.
 */
#include "lower.h"
#include "row.h"

#include <string.h>

/* ---- arguments --------------------------------------------------------------------------------------------------- */

const Value *
row_arg(const Row *r, const char *name)
{
	const Value *v = node_arg(r->n, name);

	return v && !value_is_none(v) ? v : NULL;
}

const RtTensor *
row_tensor(const Row *r, const char *name)
{
	const Value *v = row_arg(r, name);
	const RtTensor *t = v ? plan_tensor(r->p, v) : NULL;

	return t && t->storage && !t->quant ? t : NULL;
}

const RtTensor *
row_result(const Row *r, int i)
{
	const RtTensor *t = plan_tensor(r->p, r->n->out[i]);

	return t && t->storage && !t->quant ? t : NULL;
}

bool
row_list(const Row *r, const char *name, int64_t *out, int *n)
{
	const Value *v = row_arg(r, name);
	const Known *k = v ? known_at(r->p->known, v) : NULL;

	*n = 0;
	if (!v)
		return true;
	if (k->is && k->v.tag == RT_INT) {
		out[(*n)++] = k->v.u.i;
		return true;
	}
	if (!k->is || k->v.tag != RT_LIST || k->v.u.list->n > RT_MAX_RANK)
		return false;
	for (; *n < k->v.u.list->n; ++*n) {
		if (k->v.u.list->v[*n].tag != RT_INT)
			return false;
		out[*n] = k->v.u.list->v[*n].u.i;
	}
	return true;
}

bool
row_ints(const Row *r, const char *name, int64_t *out, int n)
{
	int64_t all[RT_MAX_RANK];
	int count;

	if (!row_list(r, name, all, &count) || (count != n && count != 1))
		return false;
	for (int i = 0; i < n; i++)
		out[i] = all[count == 1 ? 0 : i];
	return true;
}

bool
row_int(const Row *r, const char *name, int64_t *out)
{
	const Value *v = row_arg(r, name);

	return v && known_int(r->p->known, v, out);
}

bool
row_double(const Row *r, const char *name, double *out)
{
	const Value *v = row_arg(r, name);
	const Known *k = v ? known_at(r->p->known, v) : NULL;

	if (!k || !k->is || (k->v.tag != RT_INT && k->v.tag != RT_DOUBLE && k->v.tag != RT_BOOL))
		return false;
	*out = k->v.tag == RT_DOUBLE ? k->v.u.f : (double)k->v.u.i;
	return true;
}

/* ---- nests ------------------------------------------------------------------------------------------------------- */

void
nest_drop(RowNest *nest, int at)
{
	nest->ndim--;
	for (int i = at; i < nest->ndim; i++) {
		nest->dims[i] = nest->dims[i + 1];
		for (int k = 0; k < nest->n; k++)
			nest->stride[k][i] = nest->stride[k][i + 1];
	}
}

static void
swap_ints(int64_t *a, int64_t *b)
{
	const int64_t t = *a;

	*a = *b;
	*b = t;
}

static bool
merges(const RowNest *nest, int outer)
{
	for (int k = 0; k < nest->n; k++)
		if (nest->stride[k][outer] != nest->stride[k][outer + 1] * nest->dims[outer + 1])
			return false;
	return true;
}

void
nest_simplify(RowNest *nest, int by)
{
	for (int i = nest->ndim - 1; i >= 0; i--)
		if (nest->dims[i] == 1)
			nest_drop(nest, i);
	for (int i = 1; i < nest->ndim; i++)
		for (int k = i; k > 0 && nest->stride[by][k - 1] < nest->stride[by][k]; k--) {
			swap_ints(&nest->dims[k - 1], &nest->dims[k]);
			for (int j = 0; j < nest->n; j++)
				swap_ints(&nest->stride[j][k - 1], &nest->stride[j][k]);
		}
	for (int i = nest->ndim - 2; i >= 0; i--)
		if (merges(nest, i)) {
			nest->dims[i + 1] *= nest->dims[i];
			nest_drop(nest, i);
		}
}

int64_t
nest_count(const RowNest *nest)
{
	int64_t n = 1;

	for (int i = 0; i < nest->ndim; i++)
		n *= nest->dims[i];
	return n;
}

void
nest_open(Out *o, const RowNest *nest)
{
	out_open(o, "for (int64_t row = begin; row < end; row++)");
	if (nest->ndim > 1)
		out_line(o, "int64_t rest = row;");
	for (int i = nest->ndim - 1; i > 0; i--)
		out_line(o, "const int64_t i%d = rest %% %lld; rest /= %lld;", i, (long long)nest->dims[i],
			 (long long)nest->dims[i]);
	if (nest->ndim > 0)
		out_line(o, "const int64_t i0 = %s;", nest->ndim > 1 ? "rest" : "row");
}

const char *
nest_at(Arena *a, const RowNest *nest, int operand)
{
	Buf b = { 0 };
	const char *text;

	for (int i = 0; i < nest->ndim; i++)
		if (nest->stride[operand][i] == 1)
			buf_printf(&b, "%si%d", b.n ? " + " : "", i);
		else if (nest->stride[operand][i])
			buf_printf(&b, "%s%lld * i%d", b.n ? " + " : "", (long long)nest->stride[operand][i], i);
	text = arena_strdup(a, b.at ? b.at : "0");
	buf_free(&b);
	return text;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

const char *
row_type(int dtype)
{
	switch (dtype) {
	case RT_f32: return "float";
	case RT_f64: return "double";
	case RT_i64: return "int64_t";
	case RT_i32: return "int32_t";
	case RT_i16: return "int16_t";
	case RT_i8:  return "int8_t";
	case RT_u8: case RT_b8: return "uint8_t";
	default:     return NULL;
	}
}

/* Parts of about 16,000 elements: less is not worth waking another thread. */
int64_t
row_grain(int64_t elements)
{
	return 1 + 16384 / (elements > 0 ? elements : 1);
}

KernelCall *
row_call(Row *r, const char *prefix, const char *comment, Out *o, int64_t n, int64_t grain)
{
	KernelCall *c = &r->calls[r->ncall++];

	*c = (KernelCall){ .n = n, .grain = grain, .work = { prefix, comment, -1, -1 } };
	if (r->e)
		c->name = emit_kernel(r->e, prefix, comment, arena_printf(r->p->cx->arena, "{\n\tvoid *const *p = "
			"arg;\n\n%s}\n", o->text.at), false);
	buf_free(&o->text);
	return c;
}

bool
row_kernel(Row *r, Kernel *k, const Value *const *value, const int64_t *offset, int n)
{
	Lowered l = { .kernel = k };
	KernelCall *c;

	if (r->ncall == MAX_KERNEL_CALLS)
		return false;
	kernel_simplify(k, 0);
	kernel_check(k);
	for (int i = 0; i < n; i++)
		vec_push(r->p->cx->arena, &l.value, value[i]);
	if (r->lowered)
		*r->lowered = l;
	c = &r->calls[r->ncall++];
	*c = (KernelCall){ 0 };
	if (r->e)
		emit_lowered(r->e, r->p, &l, c);
	for (int i = 0; i < c->args.n; i++)
		c->args.at[i].offset = offset ? offset[i] : 0;
	return true;
}

void
row_checks(Row *r)
{
	KernelCall *c = &r->calls[r->ncall - 1];

	row_pass_text(r, c, "&wrong");
	c->checked = true;
}

void
row_pass(Row *r, KernelCall *c, const Value *v, int64_t offset)
{
	vec_push(r->p->cx->arena, &c->args, ((KernelArg){ v, NULL, offset, NULL }));
}

void
row_pass_text(Row *r, KernelCall *c, const char *text)
{
	vec_push(r->p->cx->arena, &c->args, ((KernelArg){ NULL, text, 0, NULL }));
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

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
