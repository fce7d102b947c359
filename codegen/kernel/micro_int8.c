/*
 * Recognizes convolutions of 8-bit integers. lower_int8.c makes their kernels.
 */
#include "../../ir/row.h"
#include "micro_int8.h"

#include <string.h>

/* Axes, and operands. A kernel of sums has its zero point instead of the bias. */
enum { N, OD, OH, OW, G, OC, IC, KD, KH, KW, AXES };
enum { Y, X, W, BIAS, SCALE, ZERO = BIAS };
enum { GRAIN = 1 << 20 };        /* number of products that are worth waking a thread */

/* ---- the computation --------------------------------------------------------------------------------------------- */

static bool
is_ref(const Ref *r, RefKind kind, int at)
{
	return r->kind == kind && r->at == at && !r->part;
}

/* Is the let this row's, of this value? Terms of sums have no factor. */
static bool
is_step(const Kernel *k, int at, OpRow row, RefKind kind, int of)
{
	const Let *l = at < k->let.n ? &k->let.at[at] : NULL;
	const bool adds = row == ROW_add_Tensor || row == ROW_sub_Tensor;

	return l && l->op->row == (int)row && is_ref(&l->arg[0], kind, of) &&
	       (!adds || (l->arg[2].kind == REF_NUMBER && l->arg[2].number.u.i == 1));
}

static const Ref *
second(const Kernel *k, int let)
{
	return &k->let.at[let].arg[1];
}

/* Is the operand 1 within the bounds of x, and else 0? */
static bool
is_inside(const Kernel *k, const Ref *r)
{
	const Operand *o = r->kind == REF_OPERAND ? &k->operand.at[r->at] : NULL, *x = &k->operand.at[X];

	if (!o || o->access != ACCESS_INDEX || !size_is(o->offset, 1) || o->bound.n != x->bound.n ||
	    o->outside.tag != RT_NONE)
		return false;
	for (int i = 0; i < k->naxis; i++)
		if (!size_is(o->stride[i], 0))
			return false;
	for (int i = 0; i < o->bound.n; i++)
		if (memcmp(o->bound.at[i].stride, x->bound.at[i].stride, sizeof x->bound.at[i].stride) ||
		    o->bound.at[i].offset != x->bound.at[i].offset || o->bound.at[i].limit != x->bound.at[i].limit)
			return false;
	return true;
}

static bool
is_padded(const Kernel *k)
{
	for (int i = 0; i < 3; i++)
		if (!size_is(k->operand.at[X].bound.at[i].offset, 0))
			return true;
	return false;
}

/* Does the kernel fold the products of x - zero and W as int32? Padding must add nothing: either its elements are
 * `zero`, or an operand that is 0 in the padding is a factor. */
static bool
folds_bytes(const Kernel *k, bool sums)
{
	const int masked = sums && k->let.n == 3, last = 1 + masked;
	const Folded *sum = k->state.n == 1 ? &k->state.at[0] : NULL;
	const IValue outside = k->operand.at[X].outside;

	if (!sum || strcmp(sum->fold->name, "sum") || sum->part != RT_i32 || sum->total != RT_i32 ||
	    k->stage.n != 2 || k->stage.at[1].each || k->stage.at[1].let != last + 1 || k->store.n != 1 ||
	    !is_step(k, 0, ROW_sub_Tensor, REF_OPERAND, X) || !is_step(k, last, ROW_mul_Tensor, REF_LET, masked) ||
	    !is_ref(second(k, last), REF_OPERAND, W) || !is_ref(&sum->x, REF_LET, last))
		return false;
	if (!sums)
		return second(k, 0)->kind == REF_NUMBER && outside.tag == RT_INT &&
		       outside.u.i == second(k, 0)->number.u.i;
	return is_ref(second(k, 0), REF_OPERAND, ZERO) && outside.tag == RT_NONE &&
	       (masked ? is_step(k, 1, ROW_mul_Tensor, REF_LET, 0) && is_inside(k, second(k, 1)) : !is_padded(k));
}

/* Are sums scaled, clamped and rounded to 8 bits? */
static bool
ends_in_bytes(const Kernel *k)
{
	const Operand *bias = &k->operand.at[BIAS], *scale = &k->operand.at[SCALE];

	return k->let.n == 7 && is_step(k, 2, ROW_add_Tensor, REF_STATE, 0) &&
	       is_ref(second(k, 2), REF_OPERAND, BIAS) && is_step(k, 3, ROW_mul_Tensor, REF_LET, 2) &&
	       is_ref(second(k, 3), REF_OPERAND, SCALE) && is_step(k, 4, ROW_clamp, REF_LET, 3) &&
	       second(k, 4)->kind == REF_NUMBER && second(k, 4)[1].kind == REF_NUMBER &&
	       is_step(k, 5, ROW_round, REF_LET, 4) && is_step(k, 6, ROW_add_Tensor, REF_LET, 5) &&
	       second(k, 6)->kind == REF_NUMBER && is_ref(&k->store.at[0].value, REF_LET, 6) &&
	       size_is(bias->stride[OC], 1) && bias->stride[G] == k->extent[OC] &&
	       !memcmp(bias->stride, scale->stride, sizeof bias->stride);
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

/* Does a window run over dim i of x by steps, within a bound? */
static bool
is_window(const Kernel *k, int i)
{
	const Operand *x = &k->operand.at[X];
	const Bound *in = &x->bound.at[i];

	for (int a = 0; a < AXES; a++)
		if (a != OD + i && a != KD + i && !size_is(in->stride[a], 0))
			return false;
	return in->unit && size_is(x->stride[OD + i], 0) && size_is(x->stride[KD + i], 0);
}

/* Do the channels of the next group follow those of a group, and those of a group each other? */
static bool
runs_on(const Kernel *k, const Operand *o, int channels)
{
	return size_is(o->stride[channels], 1) && o->stride[G] == k->extent[channels] && size_is(o->offset, 0);
}

/* Are both images channels-last and dense, with any distance between pixels? */
static bool
has_pixels(const Kernel *k)
{
	const Operand *x = &k->operand.at[X], *y = &k->operand.at[Y];
	const Size *in = x->bound.at[2].unit, *out = y->stride[OW];

	for (int i = 2; i >= 0; i--) {
		in = size_times(k->sizes, x->bound.at[i].limit, in);
		out = size_times(k->sizes, k->extent[OD + i], out);
		if ((i ? x->bound.at[i - 1].unit : x->stride[N]) != in || y->stride[OD + i - 1] != out)
			return false;
	}
	return runs_on(k, x, IC) && runs_on(k, y, OC);
}

bool
int8_find(const Kernel *k, bool sums)
{
	const Operand *o = k->operand.at;

	if (k->naxis != AXES || k->nreduce != 4 || k->range.n || k->operand.n < 4 + !sums || o[X].bound.n != 3 ||
	    o[X].ngather || !o[W].constant || o[W].dtype != RT_i8 ||
	    (o[X].dtype != RT_u8 && o[X].dtype != RT_i8) || o[Y].dtype != (sums ? RT_i32 : o[X].dtype))
		return false;
	for (int i = 0; i < 3; i++)
		if (!is_window(k, i))
			return false;
	return folds_bytes(k, sums) && (sums ? is_ref(&k->store.at[0].value, REF_STATE, 0) : ends_in_bytes(k)) &&
	       has_pixels(k);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* The size on the typical ones; 0 if it is unknown. */
static int64_t
typical(const Kernel *k, const Size *s)
{
	int64_t n;

	return kernel_typical(k, s, &n) ? n : 0;
}

ViConv
int8_sizes(const Kernel *k)
{
	const Bound *in = k->operand.at[X].bound.at;
	ViConv v = {
		.n = typical(k, k->extent[N]), .d = typical(k, in[0].limit), .h = typical(k, in[1].limit),
		.w = typical(k, in[2].limit), .ic = typical(k, k->extent[IC]), .od = typical(k, k->extent[OD]),
		.oh = typical(k, k->extent[OH]), .ow = typical(k, k->extent[OW]), .oc = typical(k, k->extent[OC]),
		.kd = typical(k, k->extent[KD]), .kh = typical(k, k->extent[KH]), .kw = typical(k, k->extent[KW]),
		.sd = typical(k, in[0].stride[OD]), .sh = typical(k, in[1].stride[OH]),
		.sw = typical(k, in[2].stride[OW]), .pd = -typical(k, in[0].offset), .ph = -typical(k, in[1].offset),
		.pw = -typical(k, in[2].offset), .dd = typical(k, in[0].stride[KD]),
		.dh = typical(k, in[1].stride[KH]), .dw = typical(k, in[2].stride[KW]),
		.groups = typical(k, k->extent[G]), .flip = k->operand.at[X].dtype == RT_i8,
	};

	v.part = vi_divides(&v) ? VI_PART : v.oc;
	return v;
}

const ViConv *
int8_packing(const Kernel *k)
{
	ViConv *v = new(k->arena, ViConv, 1);

	*v = int8_sizes(k);
	return v;
}

const Size *
int8_part(const Kernel *k)
{
	const ViConv v = int8_sizes(k);

	return vi_divides(&v) ? size_number(k->sizes, VI_PART) : k->extent[OC];
}

int64_t
int8_scratch(const Kernel *k)
{
	const ViConv v = int8_sizes(k);

	return vi_scratch(&v) + 1;
}

int64_t
int8_grain(const Kernel *k)
{
	const ViConv v = int8_sizes(k);
	const int64_t units = vi_is_depthwise(&v) ? vi_lines(&v) : vi_units(&v),
		      products = vi_pixels(&v) * v.groups * v.oc * v.ic * vi_window(&v);

	return 1 + GRAIN * units / (products > 0 ? products : 1);
}

int64_t
int8_number(const Kernel *k, Int8Number i)
{
	const int64_t zero = (int64_t)second(k, 6)->number.u.f;

	return i == INT8_ZERO ? zero : zero + (int64_t)second(k, 4)[i == INT8_HIGH].number.u.f;
}
