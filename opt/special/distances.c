/*
 * Computes euclidean distances of many rows as a matrix product and norms.  PyTorch does the same if either side has
 * more than 25 rows, or if the model asks for it.  For fewer rows PyTorch sums squared differences, which is more
 * accurate.
 *
 *   y = _cdist_forward(a, b, 2, mode)  ->  y = sqrt(clamp_min(|a|^2 - 2 a b' + |b|^2', 0))
 */
#include "specialize.h"

enum { MODE_BY_SIZE, MODE_PRODUCT, FEW_ROWS = 25 };

static const RtTensor *
rows_of(Spec *s, const Value *v)
{
	const RtTensor *t = known_is(s->k, v) ? known_at(s->k, v)->v.u.t : NULL;

	return t && t->dtype == RT_f32 && t->ndim >= 2 && rt_numel(t) ? t : NULL;
}

static bool
is_by_product(Spec *s, const Node *m)
{
	const RtTensor *a = rows_of(s, m->in[0]), *b = rows_of(s, m->in[1]);
	const Known *mode = known_at(s->k, m->in[3]);
	int64_t how = MODE_BY_SIZE;
	IValue p;

	if (!a || !b || !known_is(s->k, m->out[0]) || !value_constant(m->in[2], &p) || p.tag != RT_DOUBLE ||
	    p.u.f != 2 || !mode->is || (mode->v.tag != RT_NONE && !known_int(s->k, m->in[3], &how)))
		return false;
	return how == MODE_PRODUCT || (how == MODE_BY_SIZE && (a->dims[a->ndim - 2] > FEW_ROWS ||
							       b->dims[b->ndim - 2] > FEW_ROWS));
}

static Value *
turned(Spec *s, Scope *c, Value *v, Range at)
{
	Value *const in[] = { v, spec_put_int(s, -2, at), spec_put_int(s, -1, at) };

	return spec_put_op(s, c, "aten::transpose.int", in, 3, at);
}

/* Emits the squared norm of each row, as a column. */
static Value *
squares(Spec *s, Scope *c, Value *x, Range at)
{
	Value *const in[] = { spec_put_op(s, c, "aten::mul.Tensor", (Value *const[]){ x, x }, 2, at),
			      spec_put_list(s, (const int64_t[]){ -1 }, 1, at),
			      spec_put_constant(s, rt_bool(true), at), spec_put_constant(s, rt_none(), at) };

	return spec_put_op(s, c, "aten::sum.dim_IntList", in, 4, at);
}

Value *
spec_distances(Spec *s, Scope *c, const Node *m)
{
	const Range at = m->at;
	Value *y;

	if (!is_by_product(s, m))
		return NULL;
	y = spec_put_op(s, c, "aten::matmul", (Value *const[]){ m->in[0], turned(s, c, m->in[1], at) }, 2, at);
	Value *const column[] = { squares(s, c, m->in[0], at), y, spec_put_int(s, -2, at) };

	y = spec_put_op(s, c, "aten::add.Tensor", column, 3, at);
	Value *const row[] = { y, turned(s, c, squares(s, c, m->in[1], at), at), spec_put_int(s, 1, at) };

	y = spec_put_op(s, c, "aten::add.Tensor", row, 3, at);
	y = spec_put_op(s, c, "aten::clamp_min", (Value *const[]){ y, spec_put_int(s, 0, at) }, 2, at);
	return spec_put_op(s, c, "aten::sqrt", &y, 1, at);
}
