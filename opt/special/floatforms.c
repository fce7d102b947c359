/*
 * Casts, and operators of bfloat16 and float16.
 *
 * A cast to floats is a pointwise operator, which is fused with others:
 *
 *   y = x.to(torch.float32)   ->  y = prim::cast(x, 6)
 *
 * Matrix products, convolutions, pools and recurrent layers have kernels for float.  Those of bfloat16 and float16 are
 * computed in float and rounded once, as in PyTorch (which rounds each step of a recurrent layer).  Constant weights
 * are cast at compile time:
 *
 *   y = conv2d(x, w, b, ...)  ->  y = prim::cast(conv2d(prim::cast(x, 6), w.float(), b.float(), ...), 15)
 */
#include "specialize.h"

#include "../../ir/row.h"

#include <string.h>

/* ---- casts ------------------------------------------------------------------------------------------------------- */

/* Emits a cast of v.  If v was squeezed, the cast is emitted before the squeeze, like pointwise operators
 * (convforms.c). */
static Value *
put_cast(Spec *s, Scope *c, Value *v, RtDtype to, Range at)
{
	Value *const high = spec_squeezed(s, v);
	Value *const in[] = { high ? high : v, spec_put_int(s, to, at) };
	Value *const y = spec_put_op(s, c, "prim::cast", in, 2, at);

	return high ? spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ y, spec_put_int(s, 2, at) }, 2, at) : y;
}

Value *
spec_cast(Spec *s, Scope *c, const Node *m)
{
	const RtTensor *x = known_tensor(s->k, m->in[0]), *y = known_tensor(s->k, m->out[0]), *made;
	Value *v;

	if (!x || !y || x->dtype == y->dtype || rt_kind((RtDtype)y->dtype) != 'F' ||
	    !strchr("FIBUE", rt_dtypes[x->dtype].category))
		return NULL;
	v = put_cast(s, c, m->in[0], (RtDtype)y->dtype, m->at);
	made = known_tensor(s->k, v);
	return made && spec_lies_like(made, y) ? v : NULL;
}

/* ---- computed in float ------------------------------------------------------------------------------------------- */

/* Does the operator have kernels for float, and is its result rounded only once in PyTorch? */
static bool
is_of_floats(const Op *op)
{
	switch (op->lowering) {
	case LOWER_MATMUL: case LOWER_LINEAR: case LOWER_ADDMM: case LOWER_CONVOLUTION: case LOWER_MAX_POOL:
	case LOWER_AVG_POOL: case LOWER_ADAPTIVE_AVG_POOL: case LOWER_BILINEAR: case LOWER_NEAREST:
	case LOWER_NEAREST_EXACT: case LOWER_SDPA: case LOWER_BATCH_NORM: case LOWER_RNN:
		return true;
	default:
		return op_has(op, TRAIT_CONVOLVES) && op->form == OP_KERNEL;
	}
}

/* Returns the constant v in float.  Null if v is no constant that can be cast at compile time. */
static Value *
float_constant(Spec *s, const Value *v, Range at)
{
	IValue in[2] = { rt_none(), rt_int(RT_f32) }, out;
	RtTensor *floats;

	if (!value_constant(v, &in[0]) || in[0].tag != RT_TENSOR || !tensor_has_data(in[0].u.t) ||
	    in[0].u.t->storage->written)
		return NULL;
	if ((floats = widened(s->cx, in[0].u.t)))
		return spec_put_constant(s, rt_retain(rt_of(floats)), at);
	if (!known_run(s->k, op_at(s->cx, ROW_prim_cast), in, &out, 1, false))
		return NULL;
	return spec_put_constant(s, out, at);
}

static Value *
in_float(Spec *s, Scope *c, const Node *m, int i)
{
	const RtTensor *x = known_tensor(s->k, m->in[i]);
	Value *v = m->in[i];

	if (!x || (x->dtype != RT_bf16 && x->dtype != RT_f16))
		return v;
	if (!(v = float_constant(s, m->in[i], m->at)))
		v = put_cast(s, c, m->in[i], RT_f32, m->at);
	return i == 0 && m->op->lowering == LOWER_CONVOLUTION ? spec_channels_last(s, c, v, false, m->at) : v;
}

Node *
spec_in_float(Spec *s, Scope *c, const Node *m)
{
	const bool can = is_of_floats(m->op) && (m->nout == 1 || m->op->lowering == LOWER_RNN);
	const RtTensor *y = can ? known_tensor(s->k, m->out[0]) : NULL;
	Node *wide;

	if (!y || (y->dtype != RT_bf16 && y->dtype != RT_f16) || !rt_numel(y) || !spec_types_known(s, m))
		return NULL;
	wide = spec_copy_node(s, m);
	for (int i = 0; i < m->nin; i++)
		node_add_input(wide, in_float(s, c, m, i));
	for (int i = 0; i < m->nout; i++)
		node_add_output(wide, type_unshaped(s->cx, m->out[i]->type));
	graph_insert(s->to, wide);
	spec_infer(s, c, wide, wide);
	return wide;
}

Value *
spec_rounded(Spec *s, Scope *c, const Node *m, Value *v)
{
	return put_cast(s, c, v, (RtDtype)known_tensor(s->k, m->out[0])->dtype, m->at);
}
