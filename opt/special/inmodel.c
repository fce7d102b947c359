/*
 * Tensors whose layout differs from that in the model.  Known.altered marks them.  Known.model is the model's tensor if
 * that is not contiguous.  After each inferred node, the layouts that its results have in the model are computed from
 * those of its inputs.
 */
#include "specialize.h"

#include <string.h>

bool
spec_lies_like(const RtTensor *a, const RtTensor *b)
{
	return rt_same_dims(a, b) &&
	       !memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides);
}

/* Returns the tensor that v is in the model.  Null if memory is exhausted. */
static RtTensor *
model_of(Spec *s, const Value *v)
{
	const Known *k = known_at(s->k, v);
	RtTensor *t;

	if ((!k->altered && !k->suggests) || k->model)
		return k->model ? k->model : k->v.u.t;
	s->k->rt.meta = true;
	t = rt_tensor_new(&s->k->rt, (RtDtype)k->v.u.t->dtype, k->v.u.t->ndim, k->v.u.t->dims);
	s->k->rt.meta = false;
	return t;
}

void
spec_lies_in_model(Spec *s, const Value *v, RtTensor *t)
{
	Known *k = known_at(s->k, v);

	RT_ASSERT(k->is && k->v.tag == RT_TENSOR);
	k->altered = !spec_lies_like(k->v.u.t, t);
	k->model = k->altered && !rt_is_contiguous(t) ? t : NULL;
}

void
spec_alter(Spec *s, const Value *v)
{
	Known *k = known_at(s->k, v);

	RT_ASSERT(k->is && k->v.tag == RT_TENSOR);
	k->altered = !rt_is_contiguous(k->v.u.t);
	k->model = NULL;
}

/* Is n a view that depends on dims, and not on strides? */
bool
spec_is_view(const Node *n)
{
	const Schema *schema = node_schema(n);

	return schema && n->op && n->op->form == OP_KERNEL && n->nout == 1 && schema->nargs && schema->nrets == 1 &&
	       schema->args[0].alias && !schema->args[0].alias->write && schema->args[0].type->kind == TYPE_TENSOR &&
	       schema->rets[0].alias && schema->rets[0].type->kind == TYPE_TENSOR &&
	       !op_has(n->op, TRAIT_SETS_STRIDES) && !node_is(n, aten_contiguous) && !node_is(n, aten_to);
}

/* Returns the result that m has if its inputs have the model's layouts.  Null if it is not known. */
RtTensor *
spec_result_in_model(Spec *s, const Node *m)
{
	KnownArgs args;
	IValue out;

	if (m->nout != 1 || m->out[0]->type->kind != TYPE_TENSOR || !m->op->kernel ||
	    !known_gather_types(s->k, m, &args) || args.n != m->nin)
		return NULL;
	for (int i = 0; i < args.n; i++)
		if ((known_at(s->k, m->in[i])->altered || known_at(s->k, m->in[i])->suggests) &&
		    args.v[i].tag == RT_TENSOR && !(args.v[i] = rt_of(model_of(s, m->in[i]))).u.t)
			return NULL;
	return known_run(s->k, m->op, args.v, &out, 1, true) && out.tag == RT_TENSOR ? out.u.t : NULL;
}

/* Is t contiguous, except for the strides of dims of size 1? */
static bool
only_suggests(const RtTensor *t)
{
	int64_t strides[RT_MAX_RANK];

	rt_contiguous_strides(t->ndim, t->dims, strides);
	return rt_is_contiguous(t) && memcmp(t->strides, strides, (size_t)t->ndim * sizeof *strides) != 0;
}

void
spec_mark_altered(Spec *s, const Node *m)
{
	bool altered = false, suggests = false, plain = !spec_is_view(m);
	Known *out;
	RtTensor *t;

	for (int i = 0; i < m->nin; i++) {
		altered |= known_at(s->k, m->in[i])->altered;
		suggests |= known_at(s->k, m->in[i])->suggests;
		plain &= !known_at(s->k, m->in[i])->model;
	}
	t = altered ? plain ? NULL : spec_result_in_model(s, m) : suggests ? spec_result_in_model(s, m) : NULL;
	for (int i = 0; i < m->nout; i++) {
		Known *k = known_at(s->k, m->out[i]);
		const bool tensor = k->v.tag == RT_TENSOR;

		k->altered = altered && tensor && !rt_is_contiguous(k->v.u.t);
		k->suggests = altered && tensor && only_suggests(k->v.u.t);
	}
	out = t ? known_at(s->k, m->out[0]) : NULL;
	if (t && (altered || !rt_is_contiguous(out->v.u.t)))
		spec_lies_in_model(s, m->out[0], t);
	else if (t)
		out->suggests = only_suggests(out->v.u.t) && !only_suggests(t);
}
