/*
 * Sums of products: the kernels of products and convolutions, independent of the microkernel.
 *
 * A convolution over one dim, within a group:
 *
 *    axes i0: n, i1: out channels, i2: output positions, i3: in channels reduce, i4: taps reduce
 *    x1 read ... + [step * i2 + wide * i4 - pad < size of x]
 *    each   t0 = x1 * x2, r0 = sum(t0)
 *    once   t1 = r0 + x3, y0 = t1
 */
#include "lower.h"
#include "micro.h"
#include "row.h"

void
contract_begin(Contract *c, Plan *p, const Node *n, RtDtype dtype, bool bias)
{
	c->plan = p;
	c->n = n;
	c->kernel = lower_over(p, n, "contract", 0, NULL);
	c->bias = bias;
	for (int i = 0; i <= CONTRACT_W + bias; i++)
		kernel_strided(c->kernel, i == CONTRACT_Y ? ACCESS_WRITE : ACCESS_READ, dtype, NULL);
}

void
contract_axis(Contract *c, int64_t extent, bool summed, const int64_t stride[4])
{
	Kernel *k = c->kernel;

	RT_ASSERT(extent >= 0 && (summed || !k->nreduce));
	RT_ASSERT(k->naxis < KERNEL_AXES);
	k->extent[k->naxis] = size_number(k->sizes, extent);
	for (int i = 0; i < k->operand.n; i++)
		k->operand.at[i].stride[k->naxis] = size_number(k->sizes, stride[i]);
	k->naxis++;
	k->nreduce += summed;
}

void
contract_windows(Contract *c, const Windows *v, bool summed)
{
	Operand *x = &c->kernel->operand.at[CONTRACT_X];
	SizeTable *z = c->kernel->sizes;

	RT_ASSERT(v->places >= 1 && v->places <= 3);
	for (int i = 0; i < v->places; i++) {
		const int64_t stride[4] = { summed ? 0 : v->y[i], 0, summed ? v->w[i] : 0 };

		contract_axis(c, summed ? v->taps[i] : v->out[i], summed, stride);
		if (!summed)
			kernel_bound(c->kernel, CONTRACT_X,
				     (Bound){ .offset = size_number(z, -v->pad[i]), .limit = size_number(z, v->in[i]),
					      .unit = size_number(z, v->x[i]) });
		x->bound.at[i].stride[c->kernel->naxis - 1] = size_number(z, summed ? v->wide[i] : v->step[i]);
	}
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

static const Value *
given(const Node *n, const char *name)
{
	const Value *v = node_arg(n, name);

	return v && !value_is_none(v) ? v : NULL;
}

static const RtTensor *
floats(Plan *p, const Value *v)
{
	const RtTensor *t = v ? plan_tensor(p, v) : NULL;

	return t && t->dtype == RT_f32 && rt_numel(t) ? t : NULL;
}

static void
set_windows(Convolution *c)
{
	Windows *v = &c->windows;

	for (int i = 0; i < v->places; i++) {
		v->in[i] = c->x->dims[2 + i], v->out[i] = c->y->dims[2 + i], v->taps[i] = c->w->dims[2 + i];
		v->x[i] = c->x->strides[2 + i], v->y[i] = c->y->strides[2 + i], v->w[i] = c->w->strides[2 + i];
	}
}

bool
convolution_is_transposed(Plan *p, const Node *n)
{
	const Value *transposed = given(n, "transposed");
	int64_t flag;

	return transposed && (!known_int(p->known, transposed, &flag) || flag);
}

bool
convolution_take(Plan *p, const Node *n, Convolution *c)
{
	const RtTensor *bias;

	*c = (Convolution){ .x = floats(p, given(n, "input")), .w = floats(p, given(n, "weight")),
			    .y = floats(p, n->out[0]), .bias = given(n, "bias") };
	if (!c->x || !c->w || !c->y || convolution_is_transposed(p, n))
		return false;
	c->windows.places = c->w->ndim - 2;
	if (c->windows.places < 1 || c->windows.places > 3 || c->x->ndim != c->w->ndim || c->y->ndim != c->w->ndim ||
	    !constant_ints(p, given(n, "stride"), c->windows.step, c->windows.places) ||
	    !constant_ints(p, given(n, "padding"), c->windows.pad, c->windows.places) ||
	    !constant_ints(p, given(n, "dilation"), c->windows.wide, c->windows.places) ||
	    !known_int(p->known, given(n, "groups"), &c->groups) || c->groups < 1 || c->w->dims[0] % c->groups ||
	    c->w->dims[1] * c->groups != c->x->dims[1])
		return false;
	set_windows(c);
	bias = floats(p, c->bias);
	return !c->bias || (bias && rt_is_contiguous(bias) && rt_numel(bias) == c->w->dims[0]);
}

/* ---- sums of products -------------------------------------------------------------------------------------------- */

void
contract_from(Contract *c, int64_t y, int64_t w)
{
	c->kernel->operand.at[CONTRACT_Y].offset = size_number(c->kernel->sizes, y);
	c->kernel->operand.at[CONTRACT_W].offset = size_number(c->kernel->sizes, w);
}

/* Adds the bias to a sum. */
static Ref
with_bias(const Contract *c, Ref sum)
{
	const Ref add[3] = { sum, ref_operand(CONTRACT_BIAS), ref_number(rt_int(1)) };

	const RtDtype dtype = c->kernel->operand.at[CONTRACT_Y].dtype;

	return c->bias ? kernel_let(c->kernel, lower_let(c->plan, ROW_add_Tensor, dtype, add)) : sum;
}

/* Adds the summed product, the sum and the bias. */
static Ref
summed(Contract *c)
{
	const RtDtype dtype = c->kernel->operand.at[CONTRACT_Y].dtype;
	const Ref factor[2] = { ref_operand(CONTRACT_X), ref_operand(CONTRACT_W) };
	Folded sum = { .fold = fold_find("sum"), .part = dtype, .total = dtype, .place = RT_i64 };
	Ref value;

	sum.x = kernel_let(c->kernel, lower_let(c->plan, ROW_mul_Tensor, dtype, factor));
	value = kernel_state(c->kernel, sum);
	kernel_stage(c->kernel, false);
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

/* Appends an epilogue to the value. Its inputs become further operands. */
static Ref
followed(Contract *c, const Lowered *after, int rows, Ref made)
{
	const Kernel *a = after->kernel;
	Ref *of = new(c->kernel->arena, Ref, a->operand.n);           /* its values in c->kernel, by operand of a */
	const int lets = c->kernel->let.n;

	for (int i = 0; i < a->operand.n; i++) {
		const Access access = a->operand.at[i].access;
		Operand o;

		of[i] = made;
		if (access == ACCESS_WRITE || access == ACCESS_MADE)
			continue;
		spread(c->kernel, rows, &a->operand.at[i], a->naxis, &o);
		of[i] = ref_operand(kernel_operand(c->kernel, o));
	}
	for (int i = 0; i < a->let.n; i++) {
		Let l = a->let.at[i];

		for (int k = 0; k < l.narg; k++)
			l.arg[k] = moved(l.arg[k], of, lets);
		kernel_let(c->kernel, l);
	}
	return moved(a->store.at[0].value, of, lets);
}

Kernel *
contract_end(Contract *c, const Lowered *after, int rows)
{
	const Ref made = summed(c);

	RT_ASSERT(rows >= 0 && rows <= c->kernel->naxis - c->kernel->nreduce);
	kernel_store(c->kernel, CONTRACT_Y, after ? followed(c, after, rows, made) : made);
	kernel_check(c->kernel);
	return c->kernel;
}

/* Does the call pass an input of an epilogue? */
static bool
is_passed(Access access)
{
	return access == ACCESS_READ || access == ACCESS_NUMBER;
}

void
contract_pass(Plan *p, const Lowered *after, ValueVec *to)
{
	for (int i = 0; after && i < after->value.n; i++)
		if (is_passed(after->kernel->operand.at[i].access))
			vec_push(p->cx->arena, to, after->value.at[i]);
}

bool
contract_launch(Row *r, Contract *c, const Value *const *value, int rows)
{
	const Node *group = c->plan->gpu ? c->plan->epilogue[c->n->id] : NULL;
	ValueVec all = { 0 };
	Lowered after;
	Kernel *k;

	if (group && !lower_epilogue(c->plan, group, c->n->out[0], true, &after))
		return false;
	for (int i = 0; i <= CONTRACT_W + c->bias; i++)
		vec_push(c->plan->cx->arena, &all, i || !group ? value[i] : group->out[0]);
	contract_pass(c->plan, group ? &after : NULL, &all);
	k = contract_end(c, group ? &after : NULL, rows);
	if (c->blocked && !c->plan->gpu && !plan_worth(c->plan, c->n, kernel_has_micro(k)))
		return false;
	return row_kernel(r, k, all.at, all.n);
}
