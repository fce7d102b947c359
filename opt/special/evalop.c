/*
 * Operators in the partial evaluator.  Their kernels run on tensors without data, which gives the results' types.  If
 * all arguments are known, results become constants.  Operators with a body are replaced by it.
 *
 * Lists that the graph writes to are followed: a Shadow has the values of the elements, as long as every write says
 * which elements it changes.  Dicts are followed by running their kernels, as long as keys are known.
 */
#include "specialize.h"

#include <string.h>

enum { FOLD_ELEMENTS = 1 << 16 };        /* tensors larger than this are not folded */

static bool
small(IValue v)
{
	return v.tag != RT_TENSOR || rt_numel(v.u.t) <= FOLD_ELEMENTS;
}

static bool
may_fold(Scope *c, const Node *n)
{
	if (node_has_effect(n) || node_writes(n))
		return false;
	if (node_is(n, prim_dequantize) || node_is(n, prim_dequantized_rows))    /* products read the bytes */
		return false;
	for (int i = 0; i < n->nout; i++)
		if (type_is_mutable(n->out[i]->type) && alias_has_writers(c->alias, n->out[i]))
			return false;
	return true;
}

/* How an operator changes the elements of a list. */
typedef enum Edit { EDIT_NONE, EDIT_APPEND, EDIT_EXTEND, EDIT_SET, EDIT_INSERT, EDIT_REMOVE, EDIT_CLEAR } Edit;

static Edit
edit_of(const Node *n)
{
	static const struct { Symbol op; Edit edit; } edits[] = {
		{ aten_append, EDIT_APPEND }, { aten_add_, EDIT_EXTEND },   { aten_extend, EDIT_EXTEND },
		{ aten__set_item, EDIT_SET }, { aten_insert, EDIT_INSERT }, { aten_pop, EDIT_REMOVE },
		{ aten_Delete, EDIT_REMOVE }, { aten_clear, EDIT_CLEAR },
	};

	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
		if (n->kind == edits[i].op)
			return edits[i].edit;
	return EDIT_NONE;
}

/* Can this write to a list be followed? The element's index, or the added value, must be known. */
static bool
is_followed(Spec *s, const Node *n, const Node *m)
{
	const Edit edit = edit_of(n);
	int64_t at;

	if (edit == EDIT_EXTEND)
		return known_is(s->k, m->in[1]) && spec_shadow(s, known_at(s->k, m->in[1])->v);
	if (edit == EDIT_SET || edit == EDIT_INSERT || edit == EDIT_REMOVE)
		return known_int(s->k, m->in[1], &at);
	return edit != EDIT_NONE;
}

/* Applies a write to the shadow of a list that had `was` elements.  The kernel has already changed the known list. */
static void
follow_list_write(Spec *s, const Node *n, const Node *m, int64_t was)
{
	Shadow *h = spec_shadow(s, known_at(s->k, m->in[0])->v), *more;
	int64_t at = 0;

	if (!h)
		return;
	if (m->nin > 1 && known_int(s->k, m->in[1], &at) && at < 0)
		at = at + was < 0 ? 0 : at + was;
	at = at > was ? was : at;
	switch (edit_of(n)) {
	case EDIT_APPEND:
		vec_push(s->cx->arena, &h->items, m->in[1]);
		break;
	case EDIT_EXTEND:
		more = spec_shadow(s, known_at(s->k, m->in[1])->v);
		for (int i = 0, count = more ? more->items.n : 0; i < count; i++)
			vec_push(s->cx->arena, &h->items, more->items.at[i]);
		break;
	case EDIT_SET:
		h->items.at[at] = m->in[2];
		break;
	case EDIT_INSERT:
		vec_push(s->cx->arena, &h->items, NULL);
		memmove(&h->items.at[at + 1], &h->items.at[at], (size_t)(was - at) * sizeof *h->items.at);
		h->items.at[at] = m->in[2];
		break;
	case EDIT_REMOVE:
		memmove(&h->items.at[at], &h->items.at[at + 1], (size_t)(was - at - 1) * sizeof *h->items.at);
		h->items.n--;
		break;
	case EDIT_CLEAR:
		h->items.n = 0;
		break;
	default:
		break;
	}
	if (known_at(s->k, m->in[0])->v.u.list->n != h->items.n)
		h->list = NULL;
}

/* Does nothing write to n's inputs?  Writes of n itself do not count. */
static bool
reads_what_stays(Scope *c, const Node *n)
{
	for (int i = node_writes(n) ? 1 : 0; i < n->nin; i++)
		if (type_is_mutable(n->in[i]->type) && alias_has_writers(c->alias, n->in[i]) &&
		    !is_written_once(n->in[i]))
			return false;
	return true;
}

/* Runs a kernel that reads data, where its inputs are small constants that nothing writes to. */
static bool
run_now(Spec *s, Scope *c, const Node *n, const IValue *args, int nargs, IValue *out)
{
	if (!may_fold(c, n) || !reads_what_stays(c, n))
		return false;
	for (int i = 0; i < nargs; i++)
		if (!small(args[i]))
			return false;
	return known_run(s->k, n->op, args, out, n->nout, false);
}

static bool
is_number(IValue v)
{
	return v.tag == RT_TENSOR ? !v.u.t->ndim : v.tag != RT_LIST && v.tag != RT_TUPLE;
}

/* Are arguments and results all numbers, some of them in tensors? Traced models compute sizes like this, so a sample
 * needs the data. */
static bool
is_of_numbers(const IValue *args, int nargs, const IValue *out, int nout)
{
	bool all = true, tensor = false;

	for (int i = 0; i < nargs; i++)
		all &= is_number(args[i]);
	for (int i = 0; i < nout; i++) {
		all &= is_number(out[i]);
		tensor |= out[i].tag == RT_TENSOR;
	}
	return all && tensor;
}

/* Computes the results of n's kernel.  *now: whether it ran on data. */
static bool
run(Spec *s, Scope *c, const Node *n, const KnownArgs *args, IValue *out, bool *now)
{
	IValue data[64];

	if (!known_run(s->k, n->op, args->v, out, n->nout, true))
		return *now = args->exact && run_now(s, c, n, args->v, args->n, out);
	if (args->exact && s->shapes && is_of_numbers(args->v, args->n, out, n->nout) &&
	    (*now = run_now(s, c, n, args->v, args->n, data)))
		memcpy(out, data, (size_t)n->nout * sizeof *out);
	return true;
}

typedef Vec(int64_t) IntVec;

/* Appends sizes and strides of v, where it is a known tensor. */
static void
add_geometry(Spec *s, const Value *v, IntVec *to)
{
	const Known *k = known_at(s->k, v);
	const RtTensor *t = k->is && k->v.tag == RT_TENSOR ? k->v.u.t : NULL;

	for (int i = 0; t && i < t->ndim; i++) {
		vec_push(s->cx->arena, to, t->dims[i]);
		vec_push(s->cx->arena, to, t->strides[i]);
	}
}

/* Sizes and strides of all tensors that m writes to. */
static IntVec
written_geometry(Spec *s, const Node *m)
{
	IntVec all = { 0 };

	for (int i = 0; i < m->nin; i++)
		if (node_writes_input(m, i))
			add_geometry(s, m->in[i], &all);
	return all;
}

/* Does v's node compute nothing from tensors: is v an argument, a view, or made from sizes alone? */
static bool
is_not_computed(const Value *v)
{
	const Node *n = v->node;

	for (int i = 0; !node_makes_view(n) && i < n->nin; i++) {
		const Type *t = n->in[i]->type;

		if ((t->kind == TYPE_LIST ? t->of[0] : t)->kind == TYPE_TENSOR)
			return false;
	}
	return n == n->block->param || n->op;
}

/* Do only views use v, apart from m, which is in the same block? */
static bool
is_only_viewed(const Value *v, const Node *m)
{
	for (int i = 0; i < v->uses.n; i++)
		if (v->uses.at[i].node != m && !node_makes_view(v->uses.at[i].node))
			return false;
	return v->node->block == m->block;
}

/* A value has the same sizes all along: a kernel that resizes its `out` has to be the first to do anything with it.
 * before: written_geometry before the kernel has run. */
static void
refuse_resized(Spec *s, const Node *m, const IntVec *before)
{
	const IntVec after = written_geometry(s, m);

	if (before->n == after.n && (!after.n || !memcmp(before->at, after.at, (size_t)after.n * sizeof *after.at)))
		return;
	for (int i = 0; i < m->nin; i++)
		if (node_writes_input(m, i) && !(is_not_computed(m->in[i]) && is_only_viewed(m->in[i], m)))
			fail_lacks(s->cx, m->at, "a specialization in which %s resizes a tensor that was used before",
				   m->kind->name);
}

/* Fails if m, whose arguments are not known, may resize its `out`. */
static void
refuse_resizing(Spec *s, const Node *m)
{
	for (int i = 1; m->op && m->op->form == OP_ALSO && !node_writes_input(m, 0) && i < m->nin; i++)
		if (node_writes_input(m, i) && known_tensor(s->k, m->in[i]))
			fail_lacks(s->cx, m->at, "a specialization in which %s may resize a tensor", m->kind->name);
}

static int64_t
count_of(Spec *s, const Value *v)
{
	const RtTensor *t = known_tensor(s->k, v);

	return t ? rt_numel(t) : -1;
}

static bool
adds_zero(Spec *s, const Node *n)
{
	const RtTensor *t = node_is(n, aten_add) ? known_tensor(s->k, n->in[1]) : NULL;

	return t && tensor_has_data(t) && t->dtype == RT_i64 && rt_numel(t) == 1 &&
	       *(const int64_t *)(const void *)rt_data(t) == 0;
}

/* The length of an arange, from 0 in steps of 1, whose elements all are in v.  -1 if v has no such elements. */
static int64_t
arange_in(Spec *s, const Value *v)
{
	const Node *n = v->node;
	int64_t from = 0, step = 1;

	while (n->nin && ((node_makes_view(n) && count_of(s, n->out[0]) >= count_of(s, n->in[0]) &&
			   !node_is(n, aten_as_strided)) || adds_zero(s, n)))
		n = n->in[0]->node;
	if (!n->op || n->op->lowering != LOWER_ARANGE ||
	    (node_arg(n, "start") && !known_int(s->k, node_arg(n, "start"), &from)) ||
	    (node_arg(n, "step") && !known_int(s->k, node_arg(n, "step"), &step)) || from || step != 1)
		return -1;
	return count_of(s, n->out[0]);
}

/* Does an indexing certainly raise, since an arange among the indices is longer than the dim?  Example:
 * x[arange(batch), ...] on an x of a smaller batch.  The kernel sees that only when it runs on data. */
static bool
exceeds(Spec *s, const Node *m)
{
	const Node *list = node_is(m, aten_index) ? m->in[1]->node : NULL;
	const RtTensor *x = list ? known_tensor(s->k, m->in[0]) : NULL;

	for (int i = 0; x && node_is(list, prim_ListConstruct) && i < list->nin && i < x->ndim; i++) {
		const RtTensor *t = known_tensor(s->k, list->in[i]);

		if (t && t->dtype != RT_i64)             /* a mask may index several dims */
			return false;
		if (t && arange_in(s, list->in[i]) > x->dims[i])
			return true;
	}
	return false;
}

/* Runs the kernel of n without data.  The results of m, its copy, become known if the kernel tells them. */
void
spec_infer(Spec *s, Scope *c, const Node *n, Node *m)
{
	KnownArgs args = { .exact = true };
	bool can = known_gather_types(s->k, m, &args), now = false;
	IValue out[64], stand_in;
	const IntVec written = written_geometry(s, m);
	const bool list_write = node_writes_input(n, 0) && m->in[0]->type->kind == TYPE_LIST;
	const bool dict_write = node_writes_input(n, 0) && m->in[0]->type->kind == TYPE_DICT;
	int64_t was;

	if (list_write && !is_followed(s, n, m))
		can = false;
	for (int i = 0; i < m->nin; i++)
		if (!shapes_has(s->shapes, m->in[i]) && (args.exact || !known_stand_in(s->k, m, i, &stand_in)))
			can = false;
	if (can && n->nout && !pass_may(&s->known))
		can = false;
	was = list_write && can ? known_at(s->k, m->in[0])->v.u.list->n : 0;
	if (!can || n->nout > 64 || (s->shapes && exceeds(s, m)) || !run(s, c, n, &args, out, &now)) {
		if (can)
			shapes_fail(s->shapes, n, m->at);
		else
			refuse_resizing(s, m);
		if (list_write || dict_write) {
			if (known_is(s->k, m->in[0]))
				known_forget(s->k, m->in[0]);
			else                             /* the value may be any of its type */
				known_forget_mutable(s->k, type_unshaped(s->cx, m->in[0]->type));
			known_at(s->k, m->in[0])->by_data |= spec_reads_by_data(s, m);
		}
		if (node_gives_written(n) && node_keeps_sizes(n) && known_tensor(s->k, m->in[0]) && !s->fn->gradient)
			spec_bind(s, c, n->out[0], m->in[0]);
		return;
	}
	refuse_resized(s, m, &written);
	for (int i = 0; i < n->nout; i++) {
		known_set(s->k, m->out[i], out[i]);
		known_at(s->k, m->out[i])->mutable = known_has_members(out[i]) && spec_is_changed(c, n->out[i]);
	}
	spec_mark_altered(s, m);
	shapes_node(s->shapes, s->k, m, now);
	pass_note(&s->known, n, "its results are inferred");
	if (list_write)
		follow_list_write(s, n, m, was);
}

static bool
holds_tensor(IValue v)
{
	const int64_t n = v.tag == RT_LIST ? v.u.list->n : v.tag == RT_TUPLE ? v.u.tuple->n : 0;
	const IValue *part = v.tag == RT_LIST ? v.u.list->v : v.tag == RT_TUPLE ? v.u.tuple->v : NULL;
	bool holds = v.tag == RT_TENSOR;

	for (int64_t i = 0; i < n && !holds; i++)
		holds = holds_tensor(part[i]);
	return holds;
}

/* Binds n's results to constants, if those of m, which replaces n, are small and known. */
static bool
fold_results(Spec *s, Scope *c, const Node *n, const Node *m)
{
	IValue out[64], *args;
	bool concrete = true;
	int nargs;

	for (int i = 0; i < n->nout; i++) {
		const Known *k = known_at(s->k, m->out[i]);

		/* An element of a list needs no memory of its own. */
		if (!k->is || (n->op && !small(k->v) && !node_is(n, aten___getitem__)) ||
		    (holds_tensor(k->v) && shapes_varies(s->shapes, m->out[i])))
			return false;
		concrete &= !known_has_meta(k->v);
	}
	if (!concrete && !n->op)
		return false;
	if (!concrete) {
		if (!reads_what_stays(c, n) || !(args = known_gather(s->k, m, &nargs)) ||
		    !known_run(s->k, m->op, args, out, n->nout, false))
			return false;
	} else {
		for (int i = 0; i < n->nout; i++)
			out[i] = rt_retain(known_at(s->k, m->out[i])->v);
	}
	for (int i = 0; i < n->nout; i++) {
		if ((out[i].tag == RT_OBJECT && !constant_may_be(out[i])) || out[i].tag == RT_FUTURE)
			return false;
		spec_bind_constant(s, c, n->out[i], out[i], n->at);
		/* A constant that is the same for all sizes has data.  The node that made it may have none in the
		 * shapes. */
		if (!shapes_varies(s->shapes, m->out[i]))
			continue;
		shapes_same(s->shapes, spec_value(c, n->out[i]), m->out[i]);
		if (!rt_is_none(out[i]))                                             /* there is one None only */
			node_set_int(spec_value(c, n->out[i])->node, "varies", 1);
	}
	return true;
}

bool
spec_fold(Spec *s, Scope *c, const Node *n, const Node *m)
{
	return may_fold(c, n) && n->nout && fold_results(s, c, n, m);
}

bool
spec_fold_written(Spec *s, Scope *c, const Node *n, const Node *m)
{
	return m->op && m->nout == 1 && is_written_once(n->out[0]) && fold_results(s, c, n, m);
}

bool
spec_types_known(Spec *s, const Node *m)
{
	for (int i = 0; i < m->nin; i++)
		if (m->in[i]->type->kind == TYPE_TENSOR && !known_is(s->k, m->in[i]))
			return false;
	return true;
}

/* Operators on floats that are replaced: by their own expansion, or by that of another row. */
static const struct Expansion { const char *id, *as; } expansions[] = {
	{ .id = "baddbmm", .as = "prim_baddbmm" }, { .id = "addbmm" },
	{ .id = "outer", .as = "prim_outer" }, { .id = "nan_to_num", .as = "prim_numbers" },
	{ .id = "im2col", .as = "prim_windows" }, { .id = "upsample_nearest1d", .as = "prim_nearest1d" },
	{ .id = "upsample_nearest1d_vec", .as = "prim_nearest1d_vec" },
	{ .id = "upsample_linear1d", .as = "prim_linear1d" },
	{ .id = "upsample_linear1d_vec", .as = "prim_linear1d_vec" },
	{ .id = "_upsample_nearest_exact1d", .as = "prim_nearest_exact1d" },
	{ .id = "_upsample_nearest_exact1d_vec", .as = "prim_nearest_exact1d_vec" },
	{ .id = "upsample_nearest3d", .as = "prim_nearest3d" },
	{ .id = "upsample_nearest3d_vec", .as = "prim_nearest3d_vec" },
	{ .id = "_upsample_nearest_exact3d", .as = "prim_nearest_exact3d" },
	{ .id = "_upsample_nearest_exact3d_vec", .as = "prim_nearest_exact3d_vec" },
	{ .id = "upsample_trilinear3d", .as = "prim_trilinear3d" },
	{ .id = "upsample_trilinear3d_vec", .as = "prim_trilinear3d_vec" },
};

/* Operators on tensors quantized per tensor, and the rows that replace them: on their integers, or on their values. */
static const struct Expansion quantized[] = {
	{ "clamp", "quantized_clamp" },
	{ "max_pool1d", "prim_quantized_max_pool1d" }, { "max_pool3d", "prim_quantized_max_pool3d" },
	{ "avg_pool1d", "prim_quantized_avg_pool1d" }, { "avg_pool3d", "prim_quantized_avg_pool3d" },
	{ "upsample_nearest3d", "prim_quantized_nearest3d" },
	{ "upsample_nearest3d_vec", "prim_quantized_nearest3d_vec" },
};

/* Are the tensor arguments floats, all of one dtype?  integers: is the first one quantized per tensor instead? */
static bool
can_expand(Spec *s, const Node *m, bool integers)
{
	IValue *args, out[4];
	int n;

	if (!(args = known_gather(s->k, m, &n)) || args[0].tag != RT_TENSOR)
		return false;
	if (integers)
		return args[0].u.t->quant && !args[0].u.t->quant->scales &&
		       known_run(s->k, m->op, args, out, m->nout, true);
	for (int i = 0; i < n; i++)
		if (args[i].tag == RT_TENSOR && args[i].u.t->dtype != args[0].u.t->dtype)
			return false;
	return (args[0].u.t->dtype == RT_f32 || args[0].u.t->dtype == RT_f64) &&
	       known_run(s->k, m->op, args, out, m->nout, true);
}

/* Functions that replace an operator by operators with kernels, if types and arguments allow it. */
static const struct Form { const char *id; Value *(*put)(Spec *, Scope *, const Node *); } forms[] = {
	{ "_convolution", spec_convolution }, { "_convolution_deprecated", spec_convolution },
	{ "_convolution_mode", spec_convolution }, { "convolution", spec_convolution },
	{ "conv1d", spec_convolution }, { "conv1d_padding", spec_convolution },
	{ "conv2d", spec_convolution }, { "conv2d_padding", spec_convolution },
	{ "conv3d", spec_convolution }, { "conv3d_padding", spec_convolution },
	{ "conv_transpose1d", spec_convolution }, { "conv_transpose2d_input", spec_convolution },
	{ "conv_transpose3d_input", spec_convolution }, { "batch_norm", spec_batch_norm },
	{ "instance_norm", spec_instance_norm }, { "group_norm", spec_group_norm },
	{ "max_pool3d", spec_pool_volume }, { "avg_pool3d", spec_pool_volume },
	{ "adaptive_avg_pool3d", spec_pool_volume }, { "_cdist_forward", spec_distances },
	{ "scaled_dot_product_attention", spec_sdpa }, { "pad", spec_pad_edges },
	{ "reflection_pad1d", spec_pad_edges }, { "reflection_pad2d", spec_pad_edges },
	{ "replication_pad1d", spec_pad_edges }, { "replication_pad2d", spec_pad_edges },
	{ "max_pool1d", spec_pool_line }, { "avg_pool1d", spec_pool_line }, { "adaptive_avg_pool1d", spec_pool_line },
	{ "grid_sampler", spec_grid_sampler }, { "grid_sampler_2d", spec_grid_sampler },
	{ "linear", spec_linear_of_bytes }, { "prim_dequantized_rows", spec_rows_of_bytes }, { "matmul", spec_rows },
	{ "prim_contract", spec_contract },
	{ "quantize_per_tensor", spec_quantize }, { "quantize_per_tensor_tensor_qparams", spec_quantize },
	{ "prim_as_quantized", spec_quantize },
	{ "dequantize_self", spec_dequantize }, { "prim_fused_values", spec_dequantize },
	{ "prim_units", spec_dequantize }, { "dequantize_tensor", spec_dequantize },
	{ "quantized_linear", spec_quant_linear },
	{ "quantized_linear_relu", spec_quant_linear }, { "quantized_conv2d", spec_quant_conv },
	{ "quantized_conv2d_relu", spec_quant_conv }, { "quantized_conv2d_new", spec_quant_conv },
	{ "quantized_linear_dynamic", spec_quant_linear_by_range },
	{ "quantized_linear_relu_dynamic", spec_quant_linear_by_range },
	{ "quantized_linear_dynamic_fp16", spec_quant_linear_half },
	{ "quantized_linear_relu_dynamic_fp16", spec_quant_linear_half }, { "prim_rnn_walk_packed", spec_quant_walk },
	{ "quantized_conv2d_relu_new", spec_quant_conv }, { "quantized_conv1d", spec_quant_conv },
	{ "quantized_conv1d_relu", spec_quant_conv }, { "quantized_conv3d", spec_quant_conv },
	{ "quantized_conv3d_relu", spec_quant_conv }, { "quantized_conv3d_new", spec_quant_conv },
	{ "quantized_conv3d_relu_new", spec_quant_conv }, { "quantized_conv_transpose1d", spec_quant_conv },
	{ "quantized_conv_transpose2d", spec_quant_conv }, { "quantized_conv_transpose3d", spec_quant_conv },
	{ "int_repr", spec_int_repr }, { "max_pool2d", spec_quant_linear_op },
	{ "flatten_using_ints", spec_quant_view }, { "view", spec_quant_view }, { "reshape", spec_quant_view },
	{ "permute", spec_quant_view }, { "transpose_int", spec_quant_view }, { "squeeze", spec_quant_view },
	{ "squeeze_dim", spec_quant_view }, { "unsqueeze", spec_quant_view }, { "slice_Tensor", spec_quant_view },
	{ "select_int", spec_quant_view }, { "tensor_contiguous", spec_quant_view },
	{ "tensor_clone", spec_quant_view }, { "repeat", spec_quant_view }, { "expand", spec_quant_view },
	{ "chunk", spec_quant_parts }, { "split_Tensor", spec_quant_parts }, { "split_with_sizes", spec_quant_parts },
	{ "relu", spec_quant_map }, { "relu6", spec_quant_map }, { "hardtanh", spec_quant_map },
	{ "leaky_relu", spec_quant_map }, { "sigmoid", spec_quant_map }, { "hardsigmoid", spec_quant_map },
	{ "tanh", spec_quant_map }, { "cat", spec_quant_cat },
	{ "narrow", spec_quant_view }, { "flip", spec_quant_view }, { "index_select", spec_quant_view },
	{ "adaptive_avg_pool2d", spec_quant_avg_pool }, { "avg_pool2d", spec_quant_avg_pool },
	{ "mean_dim", spec_quant_mean_dim }, { "upsample_nearest2d", spec_quant_linear_op },
	{ "upsample_bilinear2d", spec_quant_linear_op }, { "upsample_nearest2d_vec", spec_quant_linear_op },
	{ "upsample_bilinear2d_vec", spec_quant_linear_op },
	{ "to_device", spec_cast }, { "to_dtype_of", spec_cast }, { "to_dtype_layout", spec_cast },
	{ "to_other", spec_cast }, { "to_prim_dtype", spec_cast }, { "type_as", spec_cast },
};

static const struct Form *
form_for(const Op *op)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (!strcmp(op->id, forms[i].id))
			return &forms[i];
	return NULL;
}

bool
op_is_resize(const Op *op)
{
	return op->lowering >= LOWER_BILINEAR && op->lowering <= LOWER_NEAREST_EXACT;
}

bool
op_is_convolution_form(const Op *op)
{
	const struct Form *f = form_for(op);

	return f && f->put == spec_convolution;
}

bool
op_is_formed(const Op *op)
{
	return form_for(op);
}

static const struct Expansion *
expansion_in(const struct Expansion *all, size_t n, const Op *op)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(op->id, all[i].id))
			return &all[i];
	return NULL;
}

static const struct Expansion *
expansion_for(const Op *op, bool integers)
{
	return integers ? expansion_in(quantized, sizeof quantized / sizeof *quantized, op) :
			  expansion_in(expansions, sizeof expansions / sizeof *expansions, op);
}

bool
op_is_expanded(const Op *op)
{
	return expansion_for(op, false);
}

static bool
is_quantized(const Spec *s, const Value *v)
{
	const RtTensor *t = known_tensor(s->k, v);

	return t && rt_dtypes[t->dtype].category == 'Q';
}

Graph *
spec_expansion(Spec *s, const Node *m)
{
	const bool integers = m->nin && is_quantized(s, m->in[0]);
	const struct Expansion *e = expansion_for(m->op, integers);
	Function *f = m->op->form == OP_BODY ? m->op->function : NULL;

	if (!e)
		return f ? f->graph : NULL;
	if (!can_expand(s, m, integers))
		return NULL;
	f = op_expansion(s->cx, e->as ? op_by_id(s->cx, e->as) : m->op);
	return f ? function_graph(s->cx, f) : NULL;
}

/* The aliases of n's body.  The body does not show that the graph around n writes to n's arguments and results. */
static AliasDb *
body_aliases(Spec *s, Scope *c, const Node *n, Graph *g)
{
	AliasDb *db = alias_db(g, s->cx->arena);

	for (int i = 0; i < graph_ninputs(g) && i < n->nin; i++)
		if (alias_has_writers(c->alias, n->in[i]))
			alias_written_outside(db, graph_inputs(g)[i]);
	for (int i = 0; i < n->nout; i++)
		if (alias_has_writers(c->alias, n->out[i]))
			alias_written_outside(db, g->top->ret->in[i]);
	return db;
}

void
spec_inline_body(Spec *s, Scope *c, Node *n, Node *m, Graph *g)
{
	Scope body = { .from = g, .value = new(s->cx->arena, Value *, g->nvalue), .alias = body_aliases(s, c, n, g) };
	const Node *outer = s->body;

	s->body = outer ? outer : n;
	for (int i = 0; i < graph_ninputs(g) && i < m->nin; i++)
		spec_bind(s, &body, graph_inputs(g)[i], m->in[i]);
	spec_block(s, &body, g->top);
	s->body = outer;
	for (int i = 0; i < n->nout; i++)
		spec_bind(s, c, n->out[i], spec_value(&body, g->top->ret->in[i]));
	spec_keep_layout(s, c, n);
}

/* Marks m as needed if the model uses its result and m may raise: even if specialization finds the result unused, the
 * error must stay, unless types and numbers show that m cannot raise.  Random operators stay, too: later draws depend
 * on them. */
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

/* ---- padded rows: attention.def -------------------------------------------------------------------------------- */

bool
spec_makes_padding(const Block *b)
{
	return block_has(b, aten__nested_tensor_from_mask);
}

bool
spec_gets_padding(Cx *cx, const Block *b)
{
	static const Symbol from[] = { prim_SetAttr, prim_CallMethod, prim_CallFunction, aten_wait,
					    prim_awaitable_wait };
	bool any = false;

	for (size_t i = 0; i < sizeof from / sizeof *from; i++)
		any |= block_has(b, from[i]);
	return any && op_find(cx, aten__nested_tensor_from_mask->name, "")->met;
}

/* Answers a question about the whole run, if the answer is known. */
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

/* Replaces an operator with a body, or an expansion, by its nodes, if its arguments' types are known. */
static bool
expand(Spec *s, Scope *c, Node *n)
{
	bool good;
	Graph *g;
	Node *m;

	if ((n->op->form != OP_BODY && !expansion_for(n->op, false) && !expansion_for(n->op, true)) ||
	    node_schema(n)->vararg)
		return false;
	m = spec_copy_node(s, n);
	for (int i = 0; i < n->nin; i++)
		node_add_input(m, (n->op->form == OP_BODY ? spec_body_argument : spec_argument)(s, c, n, i));
	good = spec_types_known(s, m) && (g = spec_expansion(s, m)) && graph_ninputs(g) == n->nin;
	if (good) {
		spec_inline_body(s, c, n, m, g);
		spec_guard_outputs(s, c, n, m);
	}
	node_destroy(m);
	return good;
}

/* Does m, n's copy, read or make a quantized tensor whose memory is written to?  A separate tensor of its integers
 * would not see the write. */
static bool
shares_quantized(const Spec *s, const Scope *c, const Node *n, const Node *m)
{
	for (int i = 0; i < n->nin; i++)
		if (is_quantized(s, m->in[i]) && alias_has_writers(c->alias, n->in[i]))
			return true;
	for (int i = 0; i < n->nout; i++)
		if (is_quantized(s, m->out[i]) && alias_has_writers(c->alias, n->out[i]))
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
	if (reshapes_input(n))                       /* a value must keep its sizes */
		fail_lacks(s->cx, n->at, "a specialization with %s, which changes a tensor's sizes in place",
			   n->kind->name);
	if (spec_stored_already(s, c, n) || spec_left_out(s, c, n))
		return;
	if (expand(s, c, n))
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
	better = form ? form->put(s, c, wide ? wide : m) : NULL;
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
