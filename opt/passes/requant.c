/*
 * Fuses rounding to bytes into the integer matrix product before it.
 *
 *   y = prim::scaled_sums(prim::linear_sums(i, w, z), s, t, b)
 *   q = prim::quantize_u8(relu(y), 1 / u, v)      ->  q = prim::linear_int8(i, w, s t / u, b / s t, z, v, v, 255)
 *
 * No other node may read the values in between.  Clamps become bounds of the integers, since rounding is monotonic.
 */
#include "../opt.h"

#include <math.h>

typedef struct Chain {           /* the nodes from the rounding back to the sums */
	Node   *round, *scaled, *sums;
	double  inverse, low, high;      /* scale and bounds of values before rounding */
	int64_t zero;
	bool    is_signed;
} Chain;

static const RtTensor *
floats(const Value *v)
{
	IValue c;

	return value_constant(v, &c) && c.tag == RT_TENSOR && c.u.t->dtype == RT_f32 &&
	       tensor_has_data(c.u.t) && rt_is_contiguous(c.u.t) ? c.u.t : NULL;
}

static float
at(const RtTensor *t, int64_t i)
{
	return ((const float *)rt_data(t))[i];
}

/* Reads a bound of a clamp.  absent: the bound to use if v is None. */
static bool
bound(const Value *v, double absent, double *to)
{
	IValue c;

	if (!v || !value_constant(v, &c) || (c.tag != RT_NONE && c.tag != RT_INT && c.tag != RT_DOUBLE))
		return false;
	*to = c.tag == RT_NONE ? absent : rt_number(c);
	return !isnan(*to);
}

/* Is n a clamp?  If so, combines its bounds with those in *c, of the clamps after it. */
static bool
take_clamp(Chain *c, const Node *n)
{
	double low = 0, high = INFINITY;

	if (node_is(n, aten_relu6))
		high = 6;
	else if (node_is(n, aten_hardtanh) || (node_is(n, aten_clamp) && n->in[1]->type->kind != TYPE_TENSOR)) {
		if (!bound(n->in[1], -INFINITY, &low) || !bound(n->in[2], INFINITY, &high))
			return false;
	} else if (!node_is(n, aten_relu)) {
		return false;
	}
	low = fmin(low, high);           /* as in PyTorch, high wins if low exceeds it */
	low = fmin(fmax(low, c->low), c->high);
	c->high = fmin(fmax(high, c->low), c->high);
	c->low = low;
	return true;
}

static bool
take_chain(Node *n, Chain *c)
{
	IValue inverse;
	Node *of = n->in[0]->node;

	*c = (Chain){ .round = n, .low = -INFINITY, .high = INFINITY, .is_signed = node_is(n, prim_quantize_i8) };
	if ((!c->is_signed && !node_is(n, prim_quantize_u8)) || !value_constant(n->in[1], &inverse) ||
	    inverse.tag != RT_DOUBLE || !(inverse.u.f > 0 && (float)inverse.u.f < INFINITY) ||
	    !value_int(n->in[2], &c->zero))
		return false;
	c->inverse = inverse.u.f;
	while (of->nout == 1 && of->out[0]->uses.n == 1 && take_clamp(c, of))
		of = of->in[0]->node;
	if (!node_is(of, prim_scaled_sums) || of->out[0]->uses.n != 1)
		return false;
	c->scaled = of;
	c->sums = of->in[0]->node;
	return (node_is(c->sums, prim_linear_sums) || node_is(c->sums, prim_conv_sums)) &&
	       of->in[0]->uses.n == 1 && floats(c->sums->in[2]) && floats(of->in[1]) && floats(of->in[2]) &&
	       floats(of->in[3]) && rt_numel(floats(of->in[2])) == rt_numel(floats(of->in[3]));
}

/* Do the layer's input and the rounded result have the same dtype? */
static bool
keeps_dtype(const Chain *c)
{
	const Type *t = c->sums->in[0]->type;

	return t->kind == TYPE_TENSOR && t->tensor && t->tensor->dtype == (c->is_signed ? RT_i8 : RT_u8);
}

/* Emits the same constants as quantforms.c: the factor of the sums, and the bias in units of a sum. */
static void
put_units(Pass *p, Graph *g, const Chain *c, Value *put[2])
{
	RtCx *rt = cx_rt(p->cx);
	const RtTensor *x = floats(c->scaled->in[1]), *w = floats(c->scaled->in[2]), *b = floats(c->scaled->in[3]);
	const int64_t n = rt_numel(w);
	RtTensor *scale = rt_tensor_new(rt, RT_f32, 1, &n), *bias = rt_tensor_new(rt, RT_f32, 1, &n);

	for (int64_t i = 0; i < n; i++) {
		const float unit = at(x, 0) * at(w, i);

		((float *)rt_data(scale))[i] = unit * (float)c->inverse;
		((float *)rt_data(bias))[i] = at(b, i) != 0 ? at(b, i) / unit : 0;
	}
	put[0] = graph_constant(g, rt_of(scale), c->round->at);
	put[1] = graph_constant(g, rt_of(bias), c->round->at);
}

/* Quantizes a bound of a clamp, within the range of the dtype. */
static int64_t
integer_of(const Chain *c, double value)
{
	const double low = c->is_signed ? -128 : 0;
	const double q = rint((double)((float)value * (float)c->inverse)) + (double)c->zero;

	return (int64_t)fmin(fmax(q, low), low + 255);
}

static void
replace(Pass *p, Graph *g, const Chain *c)
{
	const bool conv = node_is(c->sums, prim_conv_sums);
	Value *in[12] = { c->sums->in[0], c->sums->in[1] }, *y;
	int n = 4;

	graph_set_insert_before(g, c->round);
	put_units(p, g, c, in + 2);
	in[n++] = graph_constant(g, rt_int((int64_t)at(floats(c->sums->in[2]), 0)), c->round->at);
	for (int i = 3; conv && i < c->sums->nin; i++)
		in[n++] = c->sums->in[i];
	in[n++] = graph_constant(g, rt_int(c->zero), c->round->at);
	in[n++] = graph_constant(g, rt_int(integer_of(c, c->low)), c->round->at);
	in[n++] = graph_constant(g, rt_int(integer_of(c, c->high)), c->round->at);
	y = graph_emit_op(g, conv ? "prim::conv_int8" : "prim::linear_int8", c->round->at, n, in,
			  c->round->out[0]->type);
	value_replace_uses(c->round->out[0], y);
}

static bool
fuse_chains(Pass *p, Graph *g, Block *b)
{
	bool changed = false;
	Chain c;

	for (Node *n = b->ret->next, *next; n != b->ret; n = next) {
		next = n->next;
		for (int i = 0; i < n->nsub; i++)
			changed |= fuse_chains(p, g, n->sub[i]);
		if (n->nout != 1 || n->nin != 3 || !take_chain(n, &c) || !keeps_dtype(&c) || !pass_may(p))
			continue;
		pass_note(p, n, "rounding is fused into the product");
		replace(p, g, &c);
		changed = true;
	}
	return changed;
}

bool
requant(Pass *p, Graph *g)
{
	return fuse_chains(p, g, g->top);
}
