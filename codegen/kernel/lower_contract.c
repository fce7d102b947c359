/*
 * Sums of products: what products and convolutions compute, whichever microkernel does it.
 *
 * A convolution over one dim, of a group:
 *
 *    axes i0: n, i1: out channels, i2: places, i3: in channels reduce, i4: taps reduce
 *    x1 read ... + step * i2 + wide * i4 - pad  where step * i2 + wide * i4 - pad < places of x
 *    each   t0 = x1 * x2, r0 = sum(t0)
 *    once   t1 = r0 + x3, y0 = t1
 */
#include "lower.h"

void
contract_begin(Contract *c, Plan *p, const Node *n, RtDtype dtype, bool bias)
{
	c->p = p;
	c->k = lower_over(p, n, "contract", 0, NULL);
	c->bias = bias;
	for (int i = 0; i <= CONTRACT_W + bias; i++)
		kernel_strided(c->k, i == CONTRACT_Y ? ACCESS_WRITE : ACCESS_READ, dtype, NULL);
}

void
contract_axis(Contract *c, int64_t extent, bool summed, const int64_t stride[4])
{
	Kernel *k = c->k;

	RT_ASSERT(k->naxis < KERNEL_AXES);
	k->extent[k->naxis] = size_number(k->sizes, extent);
	for (int i = 0; i < k->operand.n; i++)
		k->operand.at[i].stride[k->naxis] = size_number(k->sizes, stride[i]);
	k->naxis++;
	k->nreduce += summed;
}

/* x is read in its padding, or behind its end. */
static bool
leaves(const Windows *v, int i)
{
	return v->pad[i] || (v->out[i] - 1) * v->step[i] + (v->taps[i] - 1) * v->wide[i] >= v->in[i];
}

void
contract_windows(Contract *c, const Windows *v, bool summed)
{
	Operand *x = &c->k->operand.at[CONTRACT_X];
	SizeTable *z = c->k->sizes;
	int bound = 0;

	for (int i = 0; i < v->places; i++) {
		const int64_t far = summed ? v->wide[i] : v->step[i];
		const int64_t stride[4] = { summed ? 0 : v->y[i], far * v->x[i], summed ? v->w[i] : 0 };

		contract_axis(c, summed ? v->taps[i] : v->out[i], summed, stride);
		if (!summed)
			x->offset = size_plus(z, x->offset, size_number(z, -v->pad[i] * v->x[i]));
		if (!leaves(v, i))
			continue;
		if (!summed)
			kernel_bound(c->k, CONTRACT_X, (Bound){ .offset = size_number(z, -v->pad[i]),
								.limit = size_number(z, v->in[i]) });
		x->bound.at[bound++].stride[c->k->naxis - 1] = size_number(z, far);
	}
}

void
contract_from(Contract *c, int64_t y, int64_t w)
{
	c->k->operand.at[CONTRACT_Y].offset = size_number(c->k->sizes, y);
	c->k->operand.at[CONTRACT_W].offset = size_number(c->k->sizes, w);
}

/* The value, once a row has been summed: with the bias. */
static Ref
with_bias(const Contract *c, Ref sum)
{
	const Ref add[3] = { sum, ref_operand(CONTRACT_BIAS), ref_number(rt_int(1)) };

	return c->bias ? kernel_let(c->k, lower_let(c->p, "add_Tensor", c->k->operand.at[CONTRACT_Y].dtype, add)) : sum;
}

static const Kernel *
finish(Contract *c)
{
	const RtDtype dtype = c->k->operand.at[CONTRACT_Y].dtype;
	const Ref factor[2] = { ref_operand(CONTRACT_X), ref_operand(CONTRACT_W) };
	Folded sum = { .fold = fold_find("sum"), .part = dtype, .total = dtype, .place = RT_i64 };
	Ref value;

	sum.x = kernel_let(c->k, lower_let(c->p, "mul_Tensor", dtype, factor));
	value = kernel_state(c->k, sum);
	kernel_stage(c->k, false);
	kernel_store(c->k, CONTRACT_Y, with_bias(c, value));
	kernel_simplify(c->k, 0);
	kernel_check(c->k);
	return c->k;
}

void
contract_call(KernelCall *call, Contract *c, const char *micro)
{
	Schedule *s = new(c->p->cx->arena, Schedule, 1);

	*s = (Schedule){ .inner = -1, .tile = -1, .units = size_number(c->k->sizes, call->n), .grain = call->grain,
			 .micro = micro };
	call->kernel = finish(c);
	call->schedule = s;
}
