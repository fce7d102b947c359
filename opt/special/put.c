/*
 * Emits nodes that the specializer adds: constants, and operators by name.  Their results are inferred like those of
 * the model's nodes.
 */
#include "specialize.h"

#include <string.h>

Value *
spec_put_constant(Spec *s, IValue v, Range at)
{
	Value *k = graph_constant(s->to, v, at);

	known_set(s->k, k, rt_retain(v));
	return k;
}

Value *
spec_put_moved(Spec *s, const RtTensor *w, const RtGeometry *lies, const int64_t *from, Range at)
{
	IValue v = { .tag = RT_TENSOR, .u.t = rt_tensor_new(&s->k->rt, (RtDtype)w->dtype, lies->ndim, lies->dims) };
	const int64_t bytes = rt_dtypes[w->dtype].bytes;
	char *to;

	if (!v.u.t)
		fail(s->cx, at, "out of memory");
	widened_fill(s->cx, w->storage);
	to = rt_data(v.u.t);
	for (int64_t e = 0, n = rt_numel(v.u.t); e < n; e++, to += bytes) {
		RT_ASSERT(from[e] < w->storage->bytes / bytes);
		if (from[e] >= 0)
			memcpy(to, (const char *)w->storage->data + from[e] * bytes, (size_t)bytes);
		else
			memset(to, 0, (size_t)bytes);
	}
	widened_trim(s->cx);
	storage_moved(s->cx, v.u.t->storage, w->storage, from);
	return spec_put_constant(s, v, at);
}

Value *
spec_put_int(Spec *s, int64_t i, Range at)
{
	return spec_put_constant(s, rt_int(i), at);
}

Value *
spec_put_list(Spec *s, const int64_t *i, int n, Range at)
{
	IValue v[PUT_MOST];

	RT_ASSERT(n >= 0 && n <= PUT_MOST);
	for (int k = 0; k < n; k++)
		v[k] = rt_int(i[k]);
	return spec_put_constant(s, rt_list_of(&s->k->rt, &rt_type_int, v, n), at);
}

Value *
spec_put_tensors(Spec *s, Value *const *of, int n, const Value *like, Range at)
{
	Node *list = graph_emit(s->to, "prim::ListConstruct", at, n, of, 1);
	RtList *items = rt_list_new(&s->k->rt, known_at(s->k, like)->v.u.list->elem, n);

	RT_ASSERT(known_at(s->k, like)->is && known_at(s->k, like)->v.tag == RT_LIST);
	list->out[0]->type = like->type;
	for (int i = 0; i < n; i++)
		rt_list_push(&s->k->rt, items, rt_retain(known_at(s->k, of[i])->v));
	known_set(s->k, list->out[0], rt_ref(RT_LIST, items));
	for (int i = 0; i < n; i++)
		known_at(s->k, list->out[0])->altered |= known_at(s->k, of[i])->altered;
	shapes_node(s->shapes, s->k, list, false);
	return list->out[0];
}

Value *
spec_put_op(Spec *s, Scope *c, const char *name, Value *const *in, int nin, Range at)
{
	Value *v = graph_emit_op(s->to, name, at, nin, in, &rt_type_tensor);

	RT_ASSERT(op_schema(s->cx, v->node->op)->nrets == 1);
	spec_infer(s, c, v->node, v->node);
	return v;
}

Value *
spec_put_write(Spec *s, Scope *c, Value *to, Value *v, Range at)
{
	Value *in[] = { to, v, spec_put_constant(s, rt_bool(false), at) };

	return spec_put_op(s, c, "aten::copy_", in, 3, at);
}

Value *
spec_put_permute(Spec *s, Scope *c, Value *x, const int64_t *dims, int n, Range at)
{
	RT_ASSERT(n == known_tensor(s->k, x)->ndim);
	return spec_put_op(s, c, "aten::permute", (Value *const[]){ x, spec_put_list(s, dims, n, at) }, 2, at);
}

Value *
spec_put_contiguous(Spec *s, Scope *c, Value *x, int format, Range at)
{
	const RtTensor *t = known_tensor(s->k, x);

	RT_ASSERT(format == 0 || ((format == 2 || format == 3) && t->ndim == format + 2));
	return (format ? rt_is_channels_last(t) : rt_is_contiguous(t)) ? x :
	       spec_put_op(s, c, "aten::contiguous", (Value *const[]){ x, spec_put_int(s, format, at) }, 2, at);
}

Value *
spec_put_merge(Spec *s, Scope *c, Value *x, int dim, Range at)
{
	Value *const in[] = { x, spec_put_int(s, dim, at), spec_put_int(s, dim + 1, at) };

	RT_ASSERT(dim >= 0 && dim + 1 < known_tensor(s->k, x)->ndim);
	return spec_put_op(s, c, "aten::flatten.using_ints", in, 3, at);
}

Value *
spec_put_slice(Spec *s, Scope *c, Value *x, int dim, Slice by, Range at)
{
	Value *const in[] = { x, spec_put_int(s, dim, at), spec_put_int(s, by.from, at),
			      spec_put_int(s, by.to ? by.to : INT64_MAX, at), spec_put_int(s, by.step, at) };

	RT_ASSERT(dim >= 0 && dim < known_tensor(s->k, x)->ndim && by.from >= 0 && by.step > 0);
	return by.from == 0 && by.to == 0 && by.step == 1 ? x : spec_put_op(s, c, "aten::slice.Tensor", in, 5, at);
}

/* Emits x.size(dim).  It is an operator, not a constant, so that the shapes of a sample can follow the number. */
static Value *
put_size(Spec *s, Scope *c, Value *x, int64_t dim, Range at)
{
	Value *const in[] = { x, spec_put_int(s, dim, at) };
	Value *v = spec_put_op(s, c, "aten::size.int", in, 2, at);

	v->type = &rt_type_int;
	return v;
}

Value *
spec_put_sizes(Spec *s, Scope *c, Value *const *of, const int64_t *dims, int n, Range at)
{
	int64_t number[PUT_MOST];
	Value *item[PUT_MOST], *list, *k;

	RT_ASSERT(n >= 0 && n <= PUT_MOST);
	for (int i = 0; i < n; i++) {
		RT_ASSERT(!of[i] || (dims[i] >= 0 && dims[i] < known_tensor(s->k, of[i])->ndim));
		number[i] = of[i] ? known_at(s->k, of[i])->v.u.t->dims[dims[i]] : dims[i];
		item[i] = of[i] ? put_size(s, c, of[i], dims[i], at) : spec_put_int(s, dims[i], at);
	}
	k = spec_put_list(s, number, n, at);
	list = graph_emit(s->to, "prim::ListConstruct", at, n, item, 1)->out[0];
	list->type = k->type;
	known_set(s->k, list, rt_retain(known_at(s->k, k)->v));
	shapes_node(s->shapes, s->k, list->node, false);
	shapes_same(s->shapes, k, list);
	if (shapes_varies(s->shapes, list))
		node_set_int(k->node, "varies", 1);
	node_destroy(list->node);
	for (int i = 0; i < n; i++)
		if (of[i])
			node_destroy(item[i]->node);
	return k;
}

bool
spec_known_ints(Spec *s, const Node *m, const char *name, int n, int64_t *out)
{
	const Value *v = node_arg(m, name);
	const Known *k = v ? known_at(s->k, v) : NULL;

	if (!k || !k->is || k->mutable || k->v.tag != RT_LIST || k->v.u.list->n != n)
		return false;
	for (int i = 0; i < n; i++)
		out[i] = k->v.u.list->v[i].u.i;
	return true;
}
