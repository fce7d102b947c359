/*
 * Folds sums and products with constants into the convolution or matrix product before them.
 *
 *   y = conv(x, w, b) * s + t      ->   y = conv(x, w * s, b * s + t)
 *   y = t - linear(x, w) / 2       ->   y = linear(x, w * -0.5, t)
 *
 * A constant is a number, or a tensor with one element for each output channel.  It must not give the result more
 * elements, a higher rank (a convolution may have no batch dim) or another dtype.  Sums and products that write to the
 * result in place are folded, too.
 */
#include "../opt.h"

/* Factor and summand per channel.  Null stands for all 1 and all 0. */
typedef struct Affine { double *scale, *shift; } Affine;

/* Can the constant be folded?  It must have one element, or one for each channel, and must not change the result's
 * dtype. */
static bool
fits(const Outputs *o, const RtTensor *c)
{
	const char category = rt_dtypes[c->dtype].category;

	if ((category != 'F' && category != 'I') ||                   /* PyTorch subtracts no bools */
	    (c->ndim && rt_promote((RtDtype)c->dtype, (RtDtype)o->w->dtype) != (RtDtype)o->w->dtype))
		return false;
	if (c->ndim > o->rank)
		return false;
	for (int i = 0; i < c->ndim; i++)
		if (c->dims[i] != 1 && (i || c->ndim < o->rank || c->dims[i] != o->n))
			return false;
	return true;
}

/* Returns the values of the constant v for each channel, in the result's dtype.  Null if v is no such constant. */
static double *
channels(const Reweigh *r, const Outputs *o, const Value *v)
{
	const RtTensor *t = v ? reweigh_constant(r, v) : NULL;
	double *x = new(r->pass->scratch, double, o->n + 1);
	IValue c;

	if (!v || (t ? !fits(o, t) : !value_constant(v, &c) || (c.tag != RT_INT && c.tag != RT_DOUBLE)))
		return NULL;
	for (int64_t i = 0; i < o->n; i++) {
		const int64_t at = t && t->ndim && t->dims[0] != 1 ? i * t->strides[0] * rt_dtypes[t->dtype].bytes : 0;

		x[i] = t ? rt_load_f64(t->dtype, rt_data(t) + at) : rt_number(c);
		if (o->w->dtype == RT_f32)
			x[i] = (float)x[i];
	}
	return x;
}

static void
multiply(double *x, int64_t n, double by)
{
	for (int64_t i = 0; i < n; i++)
		x[i] *= by;
}

static double *
all_of(const Reweigh *r, int64_t n, double what)
{
	double *x = new(r->pass->scratch, double, n + 1);

	for (int64_t i = 0; i < n; i++)
		x[i] = what;
	return x;
}

/* Is n self +- alpha * other, with one constant operand?  turned: the outputs are the operand `other`, not `self`.
 * Sets *a. */
static bool
is_sum(const Reweigh *r, const Outputs *o, const Node *n, bool turned, Affine *a)
{
	const bool minus = !node_computes(n, aten_add), reversed = node_is(n, aten_rsub);
	const Value *v = node_arg(n, "alpha");
	double by = 1;
	IValue alpha;

	if (!minus + node_computes(n, aten_sub) + reversed != 1 || n->nin < 2)
		return false;
	if (v && (!value_constant(v, &alpha) || (alpha.tag != RT_INT && alpha.tag != RT_DOUBLE)))
		return false;
	if (v)
		by = o->w->dtype == RT_f32 ? (double)(float)rt_number(alpha) : rt_number(alpha);
	if (minus)
		by = -by;
	if (!(a->shift = channels(r, o, n->in[!turned])))
		return false;
	if (turned != reversed)
		a->scale = all_of(r, o->n, by);
	else
		multiply(a->shift, o->n, by);
	return true;
}

static bool
is_product(const Reweigh *r, const Outputs *o, const Node *n, bool turned, Affine *a)
{
	const bool division = node_computes(n, aten_div);

	if (node_computes(n, aten_neg)) {
		a->scale = all_of(r, o->n, -1);
		return true;
	}
	if ((!division && !node_computes(n, aten_mul)) || n->nin != 2 || (division && turned) ||
	    !(a->scale = channels(r, o, n->in[!turned])))
		return false;
	for (int64_t i = 0; i < o->n && division; i++)
		a->scale[i] = 1 / a->scale[i];
	return true;
}

static bool
fold_affine(Reweigh *r, Node *n)
{
	if (n->nout != 1 || !n->op)
		return false;
	for (int turned = 0; turned < 2 && turned < n->nin; turned++) {
		Outputs o;
		Affine a = { 0 };

		if (n->in[turned]->type->kind != TYPE_TENSOR || (turned && node_writes(n)) ||
		    !reweigh_outputs(r, n->in[turned]->node, &o) || !reweigh_only_reader(n->in[turned], n))
			continue;
		if (is_sum(r, &o, n, turned, &a) || is_product(r, &o, n, turned, &a))
			return reweigh(r, &o, n, a.scale, a.shift);
	}
	return false;
}

bool
affine(Pass *p, Graph *g)
{
	return reweigh_graph(p, g, fold_affine);
}
