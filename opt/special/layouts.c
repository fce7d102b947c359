/*
 * Layouts: convolutions run on channels-last tensors.
 *
 * One conversion before the first convolution is enough, since kernels keep the layout of their inputs, as ATen's do.
 * A view of a converted tensor stays a view if the strides allow it.  For example heads that are permuted after a
 * convolution are then contiguous.  Nodes that could detect the difference (by asking for strides), and values that
 * leave the graph, get the model's layout.  Known.altered marks a tensor with another layout than in the model.
 * Known.model is the model's tensor if that is not contiguous.
 */
#include "specialize.h"

#include "../../rt/ops/dense.h"

#include <string.h>

enum { PARTS_MOST = 64, LOOKED_AT_MOST = 64 };

static bool
is_convolution(const Node *n)
{
	return node_is(n, aten_conv2d) || op_has(n->op, TRAIT_GENERAL_CONV);
}

/* Does the node read its input i channels last? */
static bool
wants_channels_last(const Node *n, int i)
{
	return (i == 0 && is_convolution(n)) || (i < 2 && n->op && n->op->lowering == LOWER_CONVOLUTION_BACKWARD);
}

/* Is t channels last, except for the stride of a dim of size 1?  Kernels look at that stride, too. */
static bool
is_ambiguous(const RtTensor *t)
{
	int64_t strides[RT_MAX_RANK];

	if (!rt_is_channels_last(t))
		return false;
	rt_channels_last_strides(t->ndim, t->dims, strides);
	return memcmp(t->strides, strides, (size_t)t->ndim * sizeof *strides) != 0;
}

/* Can n, a view in the model, also be a view of the altered tensor v? */
static bool
can_view(Spec *s, Scope *c, const Node *n, Value *v)
{
	IValue out = { 0 };
	KnownArgs args;
	Node *m;
	bool can;

	if (!spec_is_view(n))
		return false;
	m = spec_copy_node(s, n);
	node_add_input(m, v);
	for (int i = 1; i < n->nin; i++)
		node_add_input(m, spec_value(c, n->in[i]));
	node_add_output(m, n->out[0]->type);
	can = known_gather_types(s->k, m, &args) && args.exact &&
	      known_run(s->k, n->op, args.v, &out, 1, true) && out.tag == RT_TENSOR && !is_ambiguous(out.u.t) &&
	      out.u.t->storage == known_at(s->k, v)->v.u.t->storage && spec_result_in_model(s, m);
	node_destroy(m);
	return can;
}

static Value *
in_format(Spec *s, Scope *c, Value *v, int format, Range at)
{
	Value *y = spec_put_op(s, c, "aten::contiguous", (Value *const[]){ v, spec_put_int(s, format, at) }, 2, at);

	known_at(s->k, y)->altered = format != 0;
	known_at(s->k, y)->model = NULL;
	return y;
}

/* Emits views that give v channels-last strides.  A tensor with one channel or one pixel is both contiguous and
 * channels last, so kernels look at the strides of dims of size 1. */
static Value *
in_strides(Spec *s, Scope *c, Value *v, Range at)
{
	Value *const one = spec_put_int(s, 1, at), *const last = spec_put_int(s, -1, at);
	Value *const order = spec_put_list(s, (const int64_t[]){ 0, 3, 1, 2 }, 4, at);
	const bool channel = known_at(s->k, v)->v.u.t->dims[1] == 1;
	Value *const drop[] = { v, channel ? one : last };
	Value *y = spec_put_op(s, c, "aten::squeeze.dim", drop, 2, at);

	if (!channel)
		y = spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ y, last }, 2, at);
	y = spec_put_op(s, c, "aten::unsqueeze", (Value *const[]){ y, channel ? last : one }, 2, at);
	if (!channel)
		y = spec_put_op(s, c, "aten::unsqueeze", (Value *const[]){ y, one }, 2, at);
	y = spec_put_op(s, c, "aten::permute", (Value *const[]){ y, order }, 2, at);
	known_at(s->k, y)->altered = true;
	known_at(s->k, y)->model = NULL;
	return y;
}

/* Emits views that correct the batch stride.  A batch of one may have channels-last pixels but another batch stride, if
 * tokens are viewed as an image. */
static Value *
with_batch_stride(Spec *s, Scope *c, Value *v, Range at)
{
	Value *const zero = spec_put_int(s, 0, at);
	Value *const channels_behind = spec_put_list(s, (const int64_t[]){ 1, 2, 0 }, 3, at);
	Value *const order = spec_put_list(s, (const int64_t[]){ 0, 3, 1, 2 }, 4, at);
	Value *y = spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ v, zero }, 2, at);

	y = spec_put_op(s, c, "aten::permute", (Value *const[]){ y, channels_behind }, 2, at);
	y = spec_put_op(s, c, "aten::unsqueeze", (Value *const[]){ y, zero }, 2, at);
	y = spec_put_op(s, c, "aten::permute", (Value *const[]){ y, order }, 2, at);
	known_at(s->k, y)->altered = true;
	known_at(s->k, y)->model = NULL;
	return y;
}

/* Converts an input that is neither contiguous nor channels last.  If its strides suggest channels last, the
 * convolution's result is channels last in the model, too.  Otherwise it is contiguous in the model. */
static Value *
strided_as_channels_last(Spec *s, Scope *c, Value *v, Range at)
{
	const RtTensor *t = known_at(s->k, v)->v.u.t;
	int64_t strides[RT_MAX_RANK];

	if (dense_format(t, t->ndim, t->dims, strides))
		return v;
	if (!rt_is_channels_last(t))
		return in_format(s, c, v, 2, at);
	return t->dims[0] == 1 ? with_batch_stride(s, c, v, at) : v;
}

Value *
spec_channels_last(Spec *s, Scope *c, Value *v, bool grows, Range at)
{
	const Known *k = known_at(s->k, v);
	const RtTensor *t = k->is && k->v.tag == RT_TENSOR ? k->v.u.t : NULL;

	if (!t || t->ndim != 4 || t->dtype != RT_f32 || !rt_numel(t))
		return v;
	if (!rt_is_contiguous(t))
		return k->altered && !rt_is_channels_last(t) ? in_format(s, c, v, 2, at) :
							      strided_as_channels_last(s, c, v, at);
	if (!rt_is_channels_last(t))
		return in_format(s, c, v, 2, at);
	return (t->dims[1] == 1) != (t->dims[2] == 1 && t->dims[3] == 1) && (t->dims[1] == 1 || grows) ?
	       in_strides(s, c, v, at) : v;
}

/* Does the node compute the same for any layout of the tensor?  plain: the model's tensor is contiguous. */
static bool
any_layout_will_do(const Node *n, int i, bool plain)
{
	const Schema *schema = node_schema(n);

	if (!plain && (n->nout != 1 || n->out[0]->type->kind != TYPE_TENSOR || !n->op || !n->op->kernel ||
		       n->op->form == OP_BODY || node_is_nondeterministic(n)))
		return false;
	if (node_is(n, prim_ListConstruct)) {
		for (int k = 0; k < n->out[0]->uses.n; k++)
			if (!node_is(n->out[0]->uses.at[k].node, aten_cat))
				return false;
		return true;
	}
	return schema && n->op && !op_has(n->op, TRAIT_ASKS_LAYOUT) && i < schema->nargs && !schema->args[i].alias;
}

/* Is n a cast that keeps the layout of its input? */
static bool
is_cast(Spec *s, Scope *c, const Node *n, int i, const Value *v)
{
	const Value *to = i == 0 && node_is(n, aten_to) ? node_arg(n, "dtype") : NULL;
	const Value *format = to ? node_arg(n, "memory_format") : NULL;
	int64_t dtype;

	return to && known_int(s->k, spec_value(c, to), &dtype) && dtype != known_at(s->k, v)->v.u.t->dtype &&
	       format && value_is_none(spec_value(c, format)) && !known_at(s->k, v)->model;
}

/* Is v contiguous in the model?  For an element of a list, also true if it has a layout that a cat would not keep. */
static bool
is_plain(Spec *s, const Node *n, const Value *v)
{
	const RtTensor *t = known_at(s->k, v)->model;
	int64_t strides[RT_MAX_RANK];

	return !t || (node_is(n, prim_ListConstruct) && !dense_format(t, t->ndim, t->dims, strides));
}

/* Is the node an operator that neither writes to input i nor aliases it? */
static bool
only_reads(const Node *n, int i)
{
	const Schema *schema = node_schema(n);

	return schema && n->op && (i >= schema->nargs || !schema->args[i].alias);
}

/* Returns the value before a conversion back to the model's layout.  Returns v itself if it is no such conversion. */
static Value *
before_conversion(Spec *s, Value *v)
{
	return node_is(v->node, aten_contiguous) && known_at(s->k, v->node->in[0])->altered &&
	       !known_at(s->k, v->node->in[0])->model ? v->node->in[0] : v;
}

/* A list holds tensors in the model's layout.  For a cat, returns a list of these tensors before their conversion to
 * this layout. */
static Value *
unconverted_list(Spec *s, Value *list, Range at)
{
	const Known *k = known_at(s->k, list);
	Node *made;
	IValue copy;
	bool any = false;

	if (!node_is(list->node, prim_ListConstruct) || !k->is || k->mutable || k->v.u.list->n != list->node->nin)
		return list;
	for (int i = 0; i < list->node->nin; i++)
		any |= before_conversion(s, list->node->in[i]) != list->node->in[i];
	if (!any)
		return list;
	made = graph_emit(s->to, "prim::ListConstruct", at, list->node->nin, list->node->in, 1);
	made->out[0]->type = list->type;
	copy = rt_ref(RT_LIST, rt_list_new(&s->k->rt, k->v.u.list->elem, made->nin));
	for (int i = 0; i < made->nin; i++) {
		node_set_input(made, i, before_conversion(s, made->in[i]));
		rt_list_push(&s->k->rt, copy.u.list, rt_retain(known_at(s->k, made->in[i])->v));
	}
	known_set(s->k, made->out[0], copy);
	known_at(s->k, made->out[0])->altered = true;
	shapes_node(s->shapes, s->k, made, false);
	return made->out[0];
}

/* Returns the channels-last copy that a convolution already reads of v, which is input i of the pointwise operator n.
 * Null if there is none, or if no other input of n is channels last. */
static Value *
converted_already(Spec *s, Scope *c, const Node *n, int i, const Value *v)
{
	const Known *known = known_at(s->k, v);
	const RtTensor *t = known->is && known->v.tag == RT_TENSOR ? known->v.u.t : NULL;
	bool beside = false;
	int64_t format;

	if (!t || !n->op || n->op->form != OP_MAP || t->ndim != 4 || known_at(s->k, v)->altered ||
	    alias_has_writers(c->alias, n->in[i]))
		return NULL;
	for (int k = 0; k < n->nin && !beside; k++) {
		const Value *w = spec_value(c, n->in[k]);
		const Known *other = known_at(s->k, w);

		beside = w->type->kind == TYPE_TENSOR && other->altered && !other->model &&
			 rt_is_channels_last(other->v.u.t) &&
			 !memcmp(other->v.u.t->dims, t->dims, sizeof *t->dims * (size_t)t->ndim);
	}
	for (int k = 0; beside && k < v->uses.n; k++) {
		const Node *m = v->uses.at[k].node;

		if (node_is(m, aten_contiguous) && m->block == s->to->top && known_int(s->k, m->in[1], &format) &&
		    format == 2)
			return m->out[0];
	}
	return NULL;
}

/* Does n enlarge the images v? */
static bool
enlarges(Spec *s, Scope *c, const Node *n, const Value *v)
{
	const Value *size = node_arg(n, "output_size"), *factors = node_arg(n, "scale_factors");
	const Known *to = size ? known_at(s->k, spec_value(c, size)) : NULL;
	const int64_t *dims = known_at(s->k, v)->v.u.t->dims;

	if (!n->op || !op_has(n->op, TRAIT_RESIZES))
		return false;
	if (to && to->is && to->v.tag == RT_LIST && to->v.u.list->n == 2)
		return to->v.u.list->v[0].u.i * to->v.u.list->v[1].u.i > dims[2] * dims[3];
	to = factors ? known_at(s->k, spec_value(c, factors)) : NULL;
	return to && to->is && to->v.tag == RT_LIST && to->v.u.list->n == 2 &&
	       rt_number(to->v.u.list->v[0]) * rt_number(to->v.u.list->v[1]) > 1;
}

/* Is there a convolution after v?  Also true if *left nodes were searched without finding one, or if v leaves a nested
 * block. */
static bool
feeds_convolution(const Value *v, int *left)
{
	for (int i = 0; i < v->uses.n; i++) {
		const Node *n = v->uses.at[i].node;

		if (--*left < 0 || is_convolution(n) || (n == n->block->ret && n->block->owner))
			return true;
		for (int k = 0; n != n->block->ret && k < n->nout; k++)
			if (feeds_convolution(n->out[k], left))
				return true;
	}
	return false;
}

/* Does n enlarge the images v, with no convolution after it?  If so, they are converted to the model's layout before
 * n. */
static bool
leaves_enlarged(Spec *s, Scope *c, const Node *n, int i, const Value *v)
{
	int left = LOOKED_AT_MOST;

	return i == 0 && known_at(s->k, v)->altered && !known_at(s->k, v)->model &&
	       known_at(s->k, v)->v.u.t->ndim == 4 && enlarges(s, c, n, v) && !feeds_convolution(n->out[0], &left);
}

/* Does n, which keeps the layout of images, read tokens viewed as an image, for a convolution after it? */
static bool
keeps_tokens(Spec *s, const Node *n, int i, const Value *v)
{
	const RtTensor *t = known_tensor(s->k, v);
	int left = LOOKED_AT_MOST;

	switch (i == 0 && n->op ? n->op->lowering : LOWER_NONE) {
	case LOWER_BILINEAR: case LOWER_BICUBIC: case LOWER_NEAREST: case LOWER_NEAREST_EXACT: case LOWER_MAX_POOL:
	case LOWER_AVG_POOL: case LOWER_ADAPTIVE_AVG_POOL:
		return t && t->ndim == 4 && t->dims[0] == 1 && !rt_is_contiguous(t) && is_ambiguous(t) &&
		       !known_at(s->k, v)->altered && feeds_convolution(n->out[0], &left);
	default:
		return false;
	}
}

/* Returns the value of input i of the node in the new graph, in a layout that the node can read. */
Value *
spec_argument(Spec *s, Scope *c, const Node *n, int i)
{
	Value *v = spec_value(c, n->in[i]), *converted;

	if (node_writes_input(n, i))
		return v;
	if (only_reads(n, i))
		v = spec_fresh_list(s, v, n->at);
	if (i == 0 && node_is(n, aten_cat))
		v = unconverted_list(s, v, n->at);
	if (wants_channels_last(n, i) || keeps_tokens(s, n, i, v))
		v = spec_channels_last(s, c, v, false, n->at);
	if ((converted = converted_already(s, c, n, i, v)))
		v = converted;
	if (leaves_enlarged(s, c, n, i, v) ||
	    (known_at(s->k, v)->altered && !any_layout_will_do(n, i, is_plain(s, n, v)) && !is_cast(s, c, n, i, v) &&
	     !(i == 0 && can_view(s, c, n, v))))
		return spec_as_in_model(s, c, v, n->at);
	return v;
}

/* Likewise for a node that is replaced by its body.  Each node of the body then asks for the layout that it needs. */
Value *
spec_body_argument(Spec *s, Scope *c, const Node *n, int i)
{
	Value *v = spec_value(c, n->in[i]);

	return !node_writes_input(n, i) && only_reads(n, i) ? spec_fresh_list(s, v, n->at) : v;
}

/* Is v channels last in the model, too, and does a convolution read n, its contiguous copy? */
static bool
is_read_as_it_lies(Spec *s, const Node *n, const Value *v)
{
	const RtTensor *t = known_tensor(s->k, v);
	bool any = false;

	for (int i = 0; i < n->out[0]->uses.n; i++)
		any |= wants_channels_last(n->out[0]->uses.at[i].node, n->out[0]->uses.at[i].index);
	return any && t && t->ndim == 4 && t->dtype == RT_f32 && rt_numel(t) && !rt_is_contiguous(t) &&
	       rt_is_channels_last(t) && (!is_ambiguous(t) || t->dims[0] == 1);
}

/* Replaces an aten::contiguous by its input, if the copy is not written to and stays in the graph.  The input must have
 * another layout than in the model, or a convolution must read the copy. */
bool
spec_contiguous(Spec *s, Scope *c, const Node *n)
{
	int64_t format;
	bool altered;
	Value *v;

	if (!c->top || !node_is(n, aten_contiguous) || !known_int(s->k, spec_value(c, n->in[1]), &format) || format)
		return false;
	v = spec_value(c, n->in[0]);
	altered = known_at(s->k, v)->altered;
	if ((!altered && !is_read_as_it_lies(s, n, v)) || alias_has_writers(c->alias, n->in[0]) ||
	    alias_has_writers(c->alias, n->out[0]) || alias_escapes(c->alias, n->out[0]))
		return false;
	if (!altered && is_ambiguous(known_at(s->k, v)->v.u.t)) {
		v = with_batch_stride(s, c, v, n->at);
	} else if (!altered || known_at(s->k, v)->model) {
		v = spec_put_op(s, c, "aten::alias", &v, 1, n->at);
		spec_alter(s, v);
	}
	spec_bind(s, c, n->out[0], v);
	return true;
}

/* Returns the tensors into which n splits v by channels.  Null if n is another node or they are not known. */
static RtList *
parts_of_channels(Spec *s, Scope *c, const Node *n, Value *v)
{
	bool is = op_has(n->op, TRAIT_SPLITS) || node_is(n, aten_tensor_split);
	KnownArgs args;
	IValue out;
	int64_t dim;
	Node *m;

	if (!is || !node_arg(n, "dim") || !known_int(s->k, spec_value(c, node_arg(n, "dim")), &dim) ||
	    (dim != 1 && dim + known_at(s->k, v)->v.u.t->ndim != 1))
		return NULL;
	m = spec_copy_node(s, n);
	node_add_input(m, v);
	for (int i = 1; i < n->nin; i++)
		node_add_input(m, spec_value(c, n->in[i]));
	is = known_gather_types(s->k, m, &args) && args.exact &&
	     known_run(s->k, n->op, args.v, &out, 1, true) && out.tag == RT_LIST && out.u.list->n &&
	     out.u.list->v[0].u.t->ndim == known_at(s->k, v)->v.u.t->ndim;               /* excludes unbind */
	node_destroy(m);
	return is ? out.u.list : NULL;
}

/* Is the list only unpacked into n values, or indexed by constants? */
static bool
only_taken_apart(const Value *list, int64_t n)
{
	for (int i = 0; i < list->uses.n; i++) {
		const Node *user = list->uses.at[i].node;
		int64_t at;

		if (node_is(user, prim_ListUnpack) ? user->nout != n : !node_is(user, aten___getitem__) ||
		    !value_int(user->in[1], &at) || at < -n || at >= n)
			return false;
	}
	return list->uses.n > 0;
}

/* Replaces a split of an altered tensor's channels by slices, which are views.  Its list must only be unpacked or
 * indexed. */
bool
spec_parts(Spec *s, Scope *c, const Node *n)
{
	Value *v = n->nin ? spec_value(c, n->in[0]) : NULL, *part[PARTS_MOST];
	Node *list;
	RtList *of, *made;
	int64_t at = 0;

	if (!v || n->nout != 1 || !known_at(s->k, v)->altered || known_at(s->k, v)->model ||
	    !(of = parts_of_channels(s, c, n, v)) || of->n > PARTS_MOST || !only_taken_apart(n->out[0], of->n))
		return false;
	made = rt_list_new(&s->k->rt, of->elem, of->n);
	for (int64_t i = 0; i < of->n; i++) {
		const int64_t to = at + of->v[i].u.t->dims[1];
		Value *const slice[] = { v, spec_put_int(s, 1, n->at), spec_put_int(s, at, n->at),
					 spec_put_int(s, to, n->at), spec_put_int(s, 1, n->at) };

		part[i] = spec_put_op(s, c, "aten::slice.Tensor", slice, 5, n->at);
		rt_list_push(&s->k->rt, made, rt_retain(known_at(s->k, part[i])->v));
		at = to;
	}
	list = graph_emit(s->to, "prim::ListConstruct", n->at, (int)of->n, part, 1);
	list->out[0]->type = n->out[0]->type;
	known_set(s->k, list->out[0], rt_ref(RT_LIST, made));
	shapes_node(s->shapes, s->k, list, false);
	spec_bind(s, c, n->out[0], list->out[0]);
	return true;
}

/* Returns v in the model's layout, for a value that leaves the graph. */
Value *
spec_as_in_model(Spec *s, Scope *c, Value *v, Range at)
{
	const Known *k = known_at(s->k, v);
	Node *m;

	if (!k->altered)
		return v;
	if (k->place)
		return spec_put_write(s, c, k->place, v, at);
	if (!k->model)
		return in_format(s, c, v, 0, at);
	m = spec_copy_node(s, v->node);
	for (int i = 0; i < v->node->nin; i++)
		node_add_input(m, spec_as_in_model(s, c, v->node->in[i], at));
	node_add_output(m, v->type);
	graph_insert(s->to, m);
	spec_infer(s, c, m, m);
	return m->out[0];
}

/* Converts results that are written to to the model's layout right away, so that all their views share one memory. */
void
spec_keep_layout(Spec *s, Scope *c, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		Value *v = c->value[n->out[i]->id];

		if (known_at(s->k, v)->altered && alias_has_writers(c->alias, n->out[i]) &&
		    !is_written_once(n->out[i]))
			spec_bind(s, c, n->out[i], spec_as_in_model(s, c, v, n->at));
	}
}

/* Copies the node, with inputs mapped.  Outputs have the static types.  An error raised in an operator's body counts as
 * raised by the operator, and has no exception class. */
Node *
spec_emit_copy(Spec *s, Scope *c, Node *n)
{
	const int nin = s->body && node_is(n, prim_RaiseException) ? 1 : n->nin;
	Node *m = spec_copy_node(s, n);

	for (int i = 0; i < nin; i++)
		node_add_input(m, spec_argument(s, c, n, i));
	for (int i = 0; i < n->nout; i++) {
		Value *out = node_add_output(m, n->out[i]->type);

		out->name = n->out[i]->name;
		spec_bind(s, c, n->out[i], out);
	}
	return graph_insert(s->to, m);
}

Value *
spec_put_with(Spec *s, Scope *c, const Node *n, Value *const *of)
{
	Node *m = spec_copy_node(s, n);

	RT_ASSERT(n->nout == 1);
	for (int i = 0; i < n->nin; i++)
		node_add_input(m, of[i] ? of[i] : spec_argument(s, c, n, i));
	node_add_output(m, type_unshaped(s->cx, n->out[0]->type));
	graph_insert(s->to, m);
	spec_infer(s, c, n, m);
	if (known_is(s->k, m->out[0]))
		return m->out[0];
	node_destroy(m);
	return NULL;
}
