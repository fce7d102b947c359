/*
 * Sums of products: what products and convolutions compute, whatever the microkernel.
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

/* Does a window reach into padding, or beyond the end of x? */
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

/* A row's value once it is summed: with the bias. */
static Ref
with_bias(const Contract *c, Ref sum)
{
	const Ref add[3] = { sum, ref_operand(CONTRACT_BIAS), ref_number(rt_int(1)) };

	const RtDtype dtype = c->k->operand.at[CONTRACT_Y].dtype;

	return c->bias ? kernel_let(c->k, lower_let(c->p, ROW_add_Tensor, dtype, add)) : sum;
}

/* The lets of what is summed, and the sum with the bias. */
static Ref
summed(Contract *c)
{
	const RtDtype dtype = c->k->operand.at[CONTRACT_Y].dtype;
	const Ref factor[2] = { ref_operand(CONTRACT_X), ref_operand(CONTRACT_W) };
	Folded sum = { .fold = fold_find("sum"), .part = dtype, .total = dtype, .place = RT_i64 };
	Ref value;

	sum.x = kernel_let(c->k, lower_let(c->p, ROW_mul_Tensor, dtype, factor));
	value = kernel_state(c->k, sum);
	kernel_stage(c->k, false);
	return with_bias(c, value);
}

/* Translates an operand of rows and columns to the kernel's axes, the first `rows` of which are rows. */
static void
spread(const Kernel *k, int rows, const Operand *from, int naxis, Operand *to)
{
	SizeTable *z = k->sizes;
	const Size *row = naxis > 1 ? from->stride[0] : size_number(z, 0), *column = from->stride[naxis - 1];

	*to = *from;
	to->name = NULL;
	for (int i = k->naxis - k->nreduce - 1; i >= 0; i--) {
		const Size **step = i < rows ? &row : &column;

		to->stride[i] = *step;
		*step = size_times(z, *step, k->extent[i]);
	}
	for (int i = k->naxis - k->nreduce; i < k->naxis; i++)
		to->stride[i] = size_number(z, 0);
}

static Ref
moved(Ref r, const Ref *operand, int lets)
{
	if (r.kind == REF_OPERAND)
		return operand[r.at];
	r.at += r.kind == REF_LET ? lets : 0;
	return r;
}

/* Appends what follows for the value; its inputs become further operands. */
static Ref
followed(Contract *c, const Lowered *after, int rows, Ref made)
{
	const Kernel *a = after->kernel;
	Ref *of = new(c->k->arena, Ref, a->operand.n);           /* by operand */
	const int lets = c->k->let.n;

	for (int i = 0; i < a->operand.n; i++) {
		const Access access = a->operand.at[i].access;
		Operand o;

		of[i] = made;
		if (access == ACCESS_WRITE || access == ACCESS_MADE)
			continue;
		spread(c->k, rows, &a->operand.at[i], a->naxis, &o);
		of[i] = ref_operand(kernel_operand(c->k, o));
	}
	for (int i = 0; i < a->let.n; i++) {
		Let l = a->let.at[i];

		for (int k = 0; k < l.narg; k++)
			l.arg[k] = moved(l.arg[k], of, lets);
		kernel_let(c->k, l);
	}
	return moved(a->store.at[0].value, of, lets);
}

Kernel *
contract_end(Contract *c, const Lowered *after, int rows)
{
	const Ref made = summed(c);

	kernel_store(c->k, CONTRACT_Y, after ? followed(c, after, rows, made) : made);
	kernel_drop_ones(c->k);
	kernel_check(c->k);
	return c->k;
}

void
contract_call(KernelCall *call, Contract *c, const Lowered *after, int rows, const char *micro)
{
	Schedule *s = new(c->p->cx->arena, Schedule, 1);

	*s = (Schedule){ .inner = -1, .tile = -1, .units = size_number(c->k->sizes, call->n), .grain = call->grain,
			 .micro = micro };
	call->kernel = contract_end(c, after, rows);
	kernel_simplify(c->k, 0);
	call->schedule = s;
}
