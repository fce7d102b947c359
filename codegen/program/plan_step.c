/* codegen/program/plan_step.c - decides which nodes of a plan are kernels, and which need a step at all */
#include "program.h"
#include "../kernel/lower.h"

/* Whether all tensors of a known value are in buffers that existed before this step. */
static bool
lies_in_old_buffers(Plan *p, IValue v, int step)
{
	const Buffer *b;

	switch (v.tag) {
	case RT_TENSOR:
		b = plan_buffer_of(p, v.u.t->storage);
		return b && b->first < step;
	case RT_LIST:
		for (int64_t i = 0; i < v.u.list->n; i++)
			if (!lies_in_old_buffers(p, v.u.list->v[i], step))
				return false;
		return true;
	case RT_TUPLE:
		for (int64_t i = 0; i < v.u.tuple->n; i++)
			if (!lies_in_old_buffers(p, v.u.tuple->v[i], step))
				return false;
		return true;
	default:
		return true;
	}
}

/* Whether the result needs no code. True for a tensor that is a view, and for a list or tuple of views that is only
 * unpacked. */
bool
plan_was_there(Plan *p, const Value *v, int step)
{
	const Known *k = known_at(p->known, v);

	if (!k->is || !lies_in_old_buffers(p, k->v, step))
		return false;
	if (k->v.tag == RT_TENSOR)
		return true;
	if (k->v.tag != RT_LIST && k->v.tag != RT_TUPLE)
		return false;
	for (int i = 0; i < v->uses.n; i++) {
		const Node *user = v->uses.at[i].node;

		if (!node_is(user, prim_ListUnpack) && !node_is(user, prim_TupleUnpack) &&
		    !node_is(user, aten___getitem__))
			return false;
		for (int o = 0; o < user->nout; o++)
			if (!known_is(p->known, user->out[o]) || known_at(p->known, user->out[o])->v.tag != RT_TENSOR)
				return false;
	}
	return true;
}

/* Whether only kernels read the list. Then it is not made, unless a kernel may raise: then the operator itself runs and
 * reads it. */
static bool
only_kernels_read(Plan *p, const Value *list)
{
	for (int i = 0; i < list->uses.n; i++)
		if (!plan_is_kernel(p, list->uses.at[i].node) ||
		    (!p->bare && node_may_refuse_data(list->uses.at[i].node)))
			return false;
	return plan_list_is_read(list);
}

/* Whether the node needs a step. Not if all its results are in buffers that existed before it. */
bool
plan_needs_step(Plan *p, const Node *n)
{
	if (node_is(n, prim_Constant) || p->absorbed[n->id] ||
	    (node_is(n, prim_ListConstruct) && only_kernels_read(p, n->out[0])))
		return false;
	if (p->joined && p->joined[n->id])
		return p->joined[n->id] == JOINED_SOME;
	for (int i = 0; i < n->nout; i++)
		if (plan_is_part(p, n->out[i]))
			return true;
	if (!n->nout || n->nsub || node_writes(n) || node_has_effect(n) || node_is(n, prim_BailOut))
		return true;
	for (int i = 0; i < n->nout; i++)
		if (!plan_was_there(p, n->out[i], p->step[n->id]))
			return true;
	return false;
}

/* Whether there are kernels for the tensor's dtype. Sets *complex if it is complex, because some operators have no
 * kernel for complex numbers. */
static bool
has_kernels(const RtTensor *t, bool *complex)
{
	*complex = *complex || rt_dtypes[t->dtype].category == 'C';
	return rt_dtypes[t->dtype].category != 'Q';
}

/* Whether a kernel can be generated for the node: all inputs must be planned tensors or numbers of known kind. */
bool
plan_is_kernel(Plan *p, const Node *n)
{
	bool complex = false;
	Lowered l;

	if ((p->dynamic && p->dynamic->refused[n->id]) || (p->beyond && !node_is_before(n, p->beyond)))
		return false;
	if (!node_is_map(n))
		return node_is_dense(p, n) || node_is_row(p, n) || (p->gpu && node_is_cuda(p, n));
	if (node_may_divide_by_zero(n) || node_may_overflow(n))    /* generated kernels cannot raise errors */
		return false;
	for (int i = 0; i < n->nin; i++) {
		const Value *v = n->in[i];
		const RtTensor *t = plan_tensor(p, v);

		if (!t && (v->type->kind == TYPE_TENSOR || v->type->kind == TYPE_NUMBER))
			return false;
		if (!t && v->type->kind == TYPE_COMPLEX && !known_is(p->known, v))
			return false;
		if (t && !has_kernels(t, &complex))
			return false;
		complex = complex || v->type->kind == TYPE_COMPLEX;
	}
	for (int i = 0; i < n->nout; i++) {
		const RtTensor *t = plan_tensor(p, n->out[i]);

		if (!t || !has_kernels(t, &complex) || (!rt_is_dense(t) && !plan_is_part(p, n->out[i])))
			return false;
	}
	return n->nout > 0 && (!complex || lower_map(p, n, &l));
}

bool
node_makes_parts(const Node *n)
{
	return node_is(n, prim_TupleConstruct) || node_is(n, prim_ListConstruct);
}
