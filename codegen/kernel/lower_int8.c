/*
 * Convolutions and products of 8-bit integers by constant weights.
 *
 *    y = clamp(round((sum of (x - x_zero) * w + bias) * scale)) + y_zero
 *
 * Sums are int32, the steps behind them float. A product is a convolution over one row of pixels, without neighbours.
 * Without a scale and a bias, the results are the int32 sums.
 */
#include "lower.h"
#include "micro.h"
#include "row.h"

typedef struct Integers {
	const RtTensor *x, *w, *y;
	bool    sums;            /* whether the results are the sums; x_zero is then a tensor */
	int64_t x_zero, zero, low, high;
	int64_t images, in, out, groups;         /* in, out: number of channels of a group */
	Windows windows;         /* over depth, height and width */
} Integers;

static bool
take_operands(Row *r, Integers *d)
{
	d->x = row_tensor(r, "x");
	d->y = row_result(r, 0);
	d->w = row_constant(r, "w", RT_i8);
	return d->x && d->y && d->w && rt_numel(d->x) && rt_numel(d->y) && rt_numel(d->w);
}

/* Reads the operands, and the steps after the sums: scale, zero point, clamp. */
static bool
take_integers(Row *r, Integers *d)
{
	return take_operands(r, d) && row_constant(r, "scale", RT_f32) && row_constant(r, "bias", RT_f32) &&
	       row_int(r, "x_zero", &d->x_zero) && row_int(r, "zero", &d->zero) && row_int(r, "low", &d->low) &&
	       row_int(r, "high", &d->high);
}

static bool
take_sums(Row *r, Integers *d)
{
	const RtTensor *zero = row_tensor(r, "x_zero");

	d->sums = true;
	return take_operands(r, d) && zero && zero->dtype == RT_f32;
}

/* Sets the strides of positions in a channels-last tensor: strides[i] for sizes[i]. */
static void
set_strides(const int64_t *sizes, int64_t channels, int64_t *strides)
{
	strides[2] = channels;
	strides[1] = sizes[2] * strides[2];
	strides[0] = sizes[1] * strides[1];
}

static bool
take_conv(Row *r, Integers *d)
{
	Windows *v = &d->windows;
	const int nd = d->w->ndim - 2, at = 3 - nd;

	*v = (Windows){ .places = 3, .in = { 1 }, .out = { 1 }, .taps = { 1 }, .step = { 1 }, .wide = { 1 } };
	if ((nd != 2 && nd != 3) || !rt_is_channels_last(d->x) || !rt_is_channels_last(d->y) ||
	    !row_ints(r, "stride", v->step + at, nd) || !row_ints(r, "padding", v->pad + at, nd) ||
	    !row_ints(r, "dilation", v->wide + at, nd) || !row_int(r, "groups", &d->groups))
		return false;
	for (int i = 0; i < nd; i++) {
		v->in[at + i] = d->x->dims[2 + i], v->out[at + i] = d->y->dims[2 + i];
		v->taps[at + i] = d->w->dims[2 + i], v->w[at + i] = d->w->strides[2 + i];
	}
	d->images = d->x->dims[0], d->in = d->w->dims[1], d->out = d->w->dims[0] / d->groups;
	return true;
}

static bool
take_product(Integers *d)
{
	if (d->w->ndim != 2 || !rt_is_contiguous(d->x) || !rt_is_contiguous(d->y))
		return false;
	d->images = d->groups = 1, d->out = d->w->dims[0], d->in = d->w->dims[1];
	d->windows = (Windows){ .places = 3, .in = { 1, 1, rt_numel(d->y) / d->out },
				.out = { 1, 1, rt_numel(d->y) / d->out }, .taps = { 1, 1, 1 }, .step = { 1, 1, 1 },
				.wide = { 1, 1, 1 } };
	return true;
}

/* Adds the axes: images, positions, groups, output channels; input channels and taps are summed. */
static void
add_axes(Contract *c, Integers *d)
{
	Windows *v = &d->windows;
	const int64_t *w = d->w->strides;

	set_strides(v->in, d->groups * d->in, v->x);
	set_strides(v->out, d->groups * d->out, v->y);
	contract_axis(c, d->images, false, (int64_t[4]){ v->out[0] * v->y[0], v->in[0] * v->x[0] });
	contract_windows(c, v, false);
	contract_axis(c, d->groups, false, (int64_t[4]){ d->out, d->in, d->out * w[0], d->out });
	contract_axis(c, d->out, false, (int64_t[4]){ 1, 0, w[0], 1 });
	contract_axis(c, d->in, true, (int64_t[4]){ 0, 1, w[1] });
	contract_windows(c, v, true);
}

/* Adds an operand that is 1 within the bounds of x, and 0 in the padding. */
static Ref
add_inside(Kernel *k)
{
	const int one = kernel_operand(k, (Operand){ .dtype = RT_i64, .access = ACCESS_INDEX, .along = -1,
						     .offset = size_number(k->sizes, 1) });

	for (int i = 0; i < k->operand.at[CONTRACT_X].bound.n; i++) {
		Bound b = k->operand.at[CONTRACT_X].bound.at[i];

		b.unit = NULL;
		kernel_bound(k, one, b);
	}
	return ref_operand(one);
}

/* Adds the sum over x - zero. Elements of padding add nothing. */
static Ref
add_sum(Contract *c, const Integers *d, Ref zero)
{
	Kernel *k = c->kernel;
	const Ref less[3] = { ref_operand(CONTRACT_X), zero, ref_number(rt_int(1)) };
	Folded sum = { .fold = fold_find("sum"), .part = RT_i32, .total = RT_i32, .place = RT_i64 };
	Ref x = kernel_let(k, lower_let(c->plan, ROW_sub_Tensor, RT_i32, less)), total;

	if (zero.kind == REF_NUMBER) {
		k->operand.at[CONTRACT_X].outside = zero.number;
	} else if (d->windows.pad[0] || d->windows.pad[1] || d->windows.pad[2]) {
		const Ref inside[2] = { x, add_inside(k) };

		x = kernel_let(k, lower_let(c->plan, ROW_mul_Tensor, RT_i32, inside));
	}
	sum.x = kernel_let(k, lower_let(c->plan, ROW_mul_Tensor, RT_i32, (Ref[]){ x, ref_operand(CONTRACT_W) }));
	total = kernel_state(k, sum);
	kernel_stage(k, false);
	return total;
}

/* Adds the steps from a sum to an 8-bit integer. */
static Ref
add_steps(Contract *c, const Integers *d, Ref sum, int scale)
{
	const struct { OpRow row; Ref by, also; } step[] = {
		{ ROW_add_Tensor, ref_operand(CONTRACT_BIAS), ref_number(rt_int(1)) },
		{ ROW_mul_Tensor, ref_operand(scale), { .kind = REF_NONE } },
		{ ROW_clamp, ref_number(rt_double((double)(d->low - d->zero))),
		  ref_number(rt_double((double)(d->high - d->zero))) },
		{ ROW_round, { .kind = REF_NONE }, { .kind = REF_NONE } },
		{ ROW_add_Tensor, ref_number(rt_double((double)d->zero)), ref_number(rt_int(1)) },
	};
	enum { STEPS = sizeof step / sizeof *step };

	for (int i = 0; i < STEPS; i++) {
		Let l = lower_let(c->plan, step[i].row, RT_f32, (Ref[]){ sum, step[i].by, step[i].also });

		if (i == STEPS - 1)
			l.types.result = (RtDtype)d->y->dtype;
		sum = kernel_let(c->kernel, l);
	}
	return sum;
}

static bool
lower_integers(Row *r, Integers *d)
{
	const Value *const value[] = { r->n->out[0], row_arg(r, "x"), row_arg(r, "w"),
				       row_arg(r, d->sums ? "x_zero" : "bias"), d->sums ? NULL : row_arg(r, "scale") };
	Contract c;
	Kernel *k;
	Ref sum;

	contract_begin(&c, r->p, r->n, RT_f32, !d->sums);
	k = c.kernel;
	k->name = "int8";
	add_axes(&c, d);
	k->operand.at[CONTRACT_Y].dtype = (RtDtype)d->y->dtype;
	k->operand.at[CONTRACT_X].dtype = (RtDtype)d->x->dtype;
	k->operand.at[CONTRACT_W].dtype = RT_i8;
	k->operand.at[CONTRACT_W].constant = d->w;
	if (d->sums) {
		sum = add_sum(&c, d, ref_operand(kernel_strided(k, ACCESS_READ, RT_f32, NULL)));
	} else {
		Operand scale = k->operand.at[CONTRACT_BIAS];

		scale.name = NULL;
		sum = add_steps(&c, d, add_sum(&c, d, ref_number(rt_int(d->x_zero))), kernel_operand(k, scale));
	}
	kernel_store(k, CONTRACT_Y, sum);
	return (r->p->gpu || plan_worth(r->p, r->n, kernel_has_micro(k))) && row_kernel(r, k, value, 4 + !d->sums);
}

bool
row_conv_int8(Row *r)
{
	Integers d = { .sums = false };

	return take_integers(r, &d) && take_conv(r, &d) && lower_integers(r, &d);
}

bool
row_linear_int8(Row *r)
{
	Integers d = { .sums = false };

	return take_integers(r, &d) && take_product(&d) && lower_integers(r, &d);
}

bool
row_linear_sums(Row *r)
{
	Integers d = { .sums = false };

	return take_sums(r, &d) && take_product(&d) && lower_integers(r, &d);
}

bool
row_conv_sums(Row *r)
{
	Integers d = { .sums = false };

	return take_sums(r, &d) && take_conv(r, &d) && lower_integers(r, &d);
}
