/*
 * Calls of contractions with constant weights: the epilogue, the packed operands, the work.
 *
 * y = conv(x, w, b); z = add(y, r); u = relu(z)    one kernel: conv writes u's memory, the epilogue adds r and clips
 *
 * The epilogue is the kernel's last stage. It runs over each block while the block is in the L1 cache.
 */
#include "dense.h"

#include <string.h>

enum { FEW_ROWS = 4 };           /* most rows of a product whose time is that of reading the weights */

static bool
has_bias(const Kernel *k)
{
	return k->operand.n > CONTRACT_BIAS && k->operand.at[CONTRACT_BIAS].constant;
}

/* The index of the epilogue's first let. */
static int
first_let(const Kernel *k)
{
	return 1 + has_bias(k);
}

/* Is it the value that the epilogue reads: the sum with its bias? */
static bool
is_epilogue_input(const Kernel *k, const Ref *r)
{
	return has_bias(k) ? r->kind == REF_LET && r->at == 1 : r->kind == REF_STATE;
}

bool
dense_follows(const Kernel *k)
{
	return k->let.n > first_let(k);
}

/* ---- the epilogue ------------------------------------------------------------------------------------------------ */

/* Returns a finite number as a C float constant. Null if the Ref is not one. */
static const char *
float_text(const Kernel *k, const Ref *r)
{
	const IValue v = r->number;
	const double f = v.tag == RT_DOUBLE ? v.u.f : v.tag == RT_INT ? (double)v.u.i : 0;

	if (r->kind != REF_NUMBER || (v.tag != RT_DOUBLE && v.tag != RT_INT) || f - f != 0)
		return NULL;
	return arena_printf(k->arena, "(float)%.17g", f);
}

/* Sets the range if the epilogue is nothing but a clamp. */
static void
set_range(const Kernel *k, Dense *d)
{
	const Let *only = &k->let.at[first_let(k)];
	const char *low, *high;

	if (k->let.n != first_let(k) + 1 || !is_epilogue_input(k, &only->arg[0]))
		return;
	if (only->op->row == ROW_relu || only->op->row == ROW_relu6) {
		d->range[0] = "0";
		d->range[1] = only->op->row == ROW_relu6 ? "6" : "KILN_INF";
	} else if (only->op->row == ROW_hardtanh && (low = float_text(k, &only->arg[1])) &&
		   (high = float_text(k, &only->arg[2]))) {
		d->range[0] = low;
		d->range[1] = high;
	}
}

/* Adds an operand of the contraction to its epilogue, whose last axis is the columns of all groups. Returns its
 * index. */
static int
add_operand(Kernel *to, const Kernel *k, int at, Access access)
{
	Operand o = k->operand.at[at];

	o.name = NULL;
	o.access = access;
	o.constant = NULL;
	o.stride[to->naxis - 1] = o.stride[to->naxis];
	for (int i = to->naxis; i < k->naxis; i++)
		o.stride[i] = NULL;
	return kernel_operand(to, o);
}

/* Returns the names of the epilogue's rows: "add, relu". */
static const char *
row_names(const Kernel *k)
{
	const char *names = "";

	for (int i = first_let(k); i < k->let.n; i++) {
		const char *name = k->let.at[i].op->name;

		names = arena_printf(k->arena, "%s%s%s", names, *names ? ", " : "",
				     name + (strncmp(name, "aten::", 6) ? 0 : 6));
	}
	return names;
}

/* Translates a value of the contraction to one of its epilogue. of: its operands there. */
static Ref
moved(const Kernel *k, Ref r, const int *of)
{
	if (is_epilogue_input(k, &r))
		return ref_operand(1);
	if (r.kind == REF_OPERAND)
		return ref_operand(of[r.at]);
	r.at -= r.kind == REF_LET ? first_let(k) : 0;
	return r;
}

Kernel *
dense_epilogue(const Kernel *k, int made, const int **place)
{
	const int first = first_let(k), begin = CONTRACT_W + first;
	Kernel *to = kernel_new(k->sizes, k->arena, "map", row_names(k));
	int *of = new(k->arena, int, k->operand.n), *at = new(k->arena, int, k->operand.n + 1), address = begin;

	to->naxis = k->naxis / 2;
	to->typical = k->typical;
	for (int i = 0; i < to->naxis; i++)
		to->extent[i] = k->extent[i];
	to->extent[to->naxis - 1] = size_times(k->sizes, k->extent[to->naxis - 1], k->extent[to->naxis]);
	add_operand(to, k, CONTRACT_Y, ACCESS_WRITE);
	at[add_operand(to, k, CONTRACT_Y, ACCESS_READ)] = made;
	for (int i = begin; i < k->operand.n; i++) {
		of[i] = add_operand(to, k, i, k->operand.at[i].access);
		at[of[i]] = address;
		address += kernel_has_address(k, i);
	}
	for (int i = first; i < k->let.n; i++) {
		Let l = k->let.at[i];

		for (int j = 0; j < l.narg; j++)
			l.arg[j] = moved(k, l.arg[j], of);
		kernel_let(to, l);
	}
	kernel_store(to, 0, moved(k, k->store.at[0].value, of));
	*place = at;
	return to;
}

/* ---- the form ---------------------------------------------------------------------------------------------------- */

void
dense_begin(Emit *e, const Kernel *k, KernelCall *call, Dense *d)
{
	d->apart = call->apart;
	call->tuned = dense_choose(e, d);
	if (!d->apart)
		set_range(k, d);
	e->clamps |= d->range[0] != NULL;
	e->volumes |= d->window.places == 3;
	e->dilated |= d->form == IN_PANELS && d->k < STRIP_INPUTS && d->window.wide[WIDTH] > 1;
	e->beside |= d->form == IN_ROWS ? dense_beside(d) : 0;
}

/* ---- packed operands --------------------------------------------------------------------------------------------- */

static const char *
pack_weights(Emit *e, const Dense *d)
{
	const RtPacking p = dense_packing(e, d);

	if (d->form == COARSE) {
		coarse_pack(e, d->w, p, d->coarse);
		return arena_printf(e->cx->arena, "(kiln_weights + %lld)", (long long)d->coarse->words);
	}
	return d->form == WINOGRAD ? pack_winograd(e, d->tile, d->w, p) :
	       pack_panels(e, d->form == BY_TAPS ? WEIGHT_TAPS : WEIGHT_PANELS, d->w, p, d->groups,
			   d->form == IN_GROUPS ? e->vf / d->n : 1);
}

/* Packs the bias with the floats that the panels of the last group, or of a part, read beyond its end. */
static const char *
pack_bias(Emit *e, const Kernel *k, const Dense *d)
{
	const RtTensor *bias = k->operand.at[CONTRACT_BIAS].constant;

	return pack_vector(e, bias, bias->dims[0], d->part ? e->nr : d->groups > 1 ? e->vf : 0);
}

static void
pack_operands(Emit *e, const Kernel *k, KernelCall *call, const Dense *d)
{
	const Value *weight = call->args.at[CONTRACT_W].value;
	const char *name = weight->name ? weight->name->name : "weight";

	call->args.at[CONTRACT_W] = (KernelArg){
		.text = pack_weights(e, d),
		.what = arena_printf(e->cx->arena, "%s, %s", name, dense_forms[d->form].packed),
	};
	if (has_bias(k))
		call->args.at[CONTRACT_BIAS] = (KernelArg){ .text = pack_bias(e, k, d), .what = "bias" };
	if (d->form == COARSE && d->coarse->bits < 16)
		vec_push(e->cx->arena, &call->args,
			 ((KernelArg){ .text = arena_printf(e->cx->arena, "(kiln_weights + %lld)",
							    (long long)d->coarse->scales), .what = "scales" }));
}

/* ---- the work ---------------------------------------------------------------------------------------------------- */

/* Returns the bytes of the epilogue's operands. */
static double
other_bytes(const Kernel *k)
{
	double bytes = 0;

	for (int i = CONTRACT_W + first_let(k); i < k->operand.n; i++) {
		double n = k->operand.at[i].access == ACCESS_READ ? 4 : 0;
		int64_t extent;

		for (int a = 0; a < k->naxis; a++)
			if (!size_is(k->operand.at[i].stride[a], 0) && kernel_typical(k, k->extent[a], &extent))
				n *= (double)extent;
		bytes += n;
	}
	return bytes;
}

/* Returns the work of one launch. An epilogue adds its bytes, but not its flops. */
static Counts
work_of(const Emit *e, const Kernel *k, const Dense *d)
{
	const int64_t taps = dense_taps(d), out = d->n * d->groups, in = d->form == BY_TAPS ? d->n : d->k * d->groups;
	const bool winograd = d->form == WINOGRAD;
	const double products = winograd ? winograd_elements(d->tile) * (double)winograd_tiles(d, d->tile) :
			       (double)(taps * d->m);
	const double columns = (double)(out * d->k), weights = (double)(winograd ? winograd_elements(d->tile) : taps) *
			       columns;
	const int bits = d->form == COARSE ? d->coarse->bits : 32;
	const double moved = (double)(dense_pixels(d) * in + d->m * out);

	return (Counts){ .form = dense_forms[d->form].name,
			 .what = arena_printf(e->cx->arena, "%s%s%s", dense_comment(e, d),
					      winograd && d->tile == TILE_SMALL ? ", in tiles of 2 x 2" : "",
					      dense_follows(k) ? ", with what follows" : ""),
			 .flops = 2 * products * columns,
			 .bytes = 4 * moved + bits / 8. * weights + other_bytes(k) };
}

void
dense_end(Emit *e, const Kernel *k, KernelCall *call, const Dense *d)
{
	pack_operands(e, k, call, d);
	call->work = work_of(e, k, d);
	if (d->m <= FEW_ROWS && !d->varies)
		call->streamed = d->n * d->groups * d->k * (d->form == COARSE ? d->coarse->bits : 32) / 8;
}
