/*
 * Products and convolutions with constant weights: packed at compile time, computed in register blocks
 * (rt/ops/vblock.h, rt/ops/vconv.h).
 *
 * A pointwise group becomes the epilogue if it reads the result, and no other value that is computed later. It runs
 * over each block while the block is in the L1 cache, and stores the group's result instead of the product's.
 *
 * y = conv(x, w, b); z = add(y, r); u = relu(z)    one kernel: conv writes u's memory, the epilogue adds r and clips
 */
#include "dense.h"

#include <stdlib.h>
#include <string.h>

enum {
	FEW_ROWS = 4,            /* most rows of a product whose time is that of reading the weights */
	APART_BYTES = 2048,    /* bytes of scratch memory for sums of a block, when the result's memory is still read */
};

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static const char *
packed(Emit *e, const Dense *d)
{
	const RtPacking p = dense_packing(e, d);

	return d->form == COARSE ? arena_printf(e->cx->arena, "(kiln_weights + %lld)", (long long)d->coarse->words) :
	       d->form == WINOGRAD ? pack_winograd(e, d->tile, d->w, p) :
	       pack_panels(e, d->form == BY_TAPS ? WEIGHT_TAPS : WEIGHT_PANELS, d->w, p, d->groups,
			   d->form == IN_GROUPS ? e->vf / d->n : 1);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* Epilogue of a product: a clamp in registers, or a function over each stored block. */
typedef struct After {
	const char *range[2];
	Epilogue epilogue;
} After;

/* The C name of the epilogue's function, or a null pointer. */
static const char *
epilogue_of(const After *after)
{
	return after->epilogue.name ? after->epilogue.name : "0";
}

static const char *
comment_of(const Emit *e, const Dense *d, const After *after)
{
	const bool followed = after->range[0] || after->epilogue.name;

	return arena_printf(e->cx->arena, "%s%s%s", dense_comment(e, d),
			    d->form == WINOGRAD && d->tile == TILE_SMALL ? ", in tiles of 2 x 2" : "",
			    followed ? ", with what follows" : "");
}

/* Returns the work of one launch. An epilogue adds its bytes, but not its flops. */
static Counts
work_of(const Emit *e, Plan *p, const Dense *d, const After *after)
{
	const int64_t taps = dense_taps(d), out = d->n * d->groups,
		      in = d->form == BY_TAPS ? d->n : d->k * d->groups;
	const double products = d->form == IN_BOXES ? boxes_products(d) : d->form != WINOGRAD ? (double)(taps * d->m) :
			       winograd_elements(d->tile) * (double)winograd_tiles(d, d->tile);
	const double columns = (double)(out * d->k),
		     weights = (double)(d->form == WINOGRAD ? winograd_elements(d->tile) : taps) * columns;
	const int bits = d->form == COARSE ? d->coarse->bits : 32;
	const double moved = (double)(dense_pixels(d) * in + d->m * out);
	const ValueVec *more = &after->epilogue.more;
	double others = 0;

	for (int i = 0; i < more->n; i++)       /* tensors and numbers */
		others += plan_tensor(p, more->at[i]) ? 4 * (double)rt_numel(plan_tensor(p, more->at[i])) : 0;
	return (Counts){ .form = dense_forms[d->form].name, .what = comment_of(e, d, after),
			 .flops = 2 * products * columns,
			 .bytes = 4 * moved + bits / 8. * weights + others };
}

/* Returns the number of rows of a block whose sums are in scratch memory (put_apart). */
static int
apart_rows(const Dense *d)
{
	const int64_t rows = APART_BYTES / (4 * d->n * d->groups) / STEP * STEP;

	return rows < STEP ? STEP : rows > CHUNK ? CHUNK : (int)rows;
}

static int64_t
apart_scratch(const Dense *d)
{
	return apart_rows(d) * d->n * d->groups * 4;
}

/* Returns the bytes of scratch memory of vc_winograd: planes with an odd number of groups of 16 floats. */
static int64_t
winograd_scratch(Plan *p, const Dense *d)
{
	const int64_t tiles = dense_block_tiles(p, d);

	return winograd_elements(d->tile) * ((tiles * d->k | 16) + (tiles * d->n | 16)) * 4;
}

static void
put_conv_sizes(Body *b, const Dense *d, const char *name, const After *after)
{
	const ConvSizes *g = &d->geometry;
	const Member member[] = {
		{ "n", g->n }, { "h", g->h }, { "w", g->w }, { "ic", g->ic }, { "oh", g->oh }, { "ow", g->ow },
		{ "oc", g->oc }, { "kh", g->kh }, { "kw", g->kw }, { "sh", g->sh }, { "sw", g->sw }, { "ph", g->ph },
		{ "pw", g->pw }, { "dh", g->dh }, { "dw", g->dw }, { "xs", g->xs }, { "ys", d->ldc },
		{ "groups", d->groups },
		{ "d", g->d }, { "od", g->od }, { "kd", g->kd }, { "sd", g->sd }, { "pd", g->pd }, { "dd", g->dd },
	};
	const int n = sizeof member / sizeof *member - (d->volume ? 0 : 6);
	const char *range = after->range[0] ? ".range = range, " : "";

	body_struct(b, arena_printf(b->p->cx->arena, "static const VcConv %s", name), member, n,
		    arena_printf(b->p->cx->arena, "%s%s", range, d->volume ? "" : "VC_IMAGE"));
}

static void
put_winograd(Body *b, Plan *p, const Dense *d, int step, const char *epilogue)
{
	out_line(&b->out, "float *scratch = rt_thread_scratch(%s);", body_number(b, "scratch", winograd_scratch(p, d)));
	out_blank(&b->out);
	out_line(&b->out, "if (scratch)");
	out_line(&b->out, "\tvc_winograd(%d, begin, end, %d, &v, %s, p[1], p[2], p[3], p[0], scratch, %s, p);", d->tile,
		 step, body_number(b, "tiles", dense_block_tiles(p, d)), epilogue);
}

static void
put_product(Body *b, const Dense *d, int step, const After *after)
{
	const char *m = body_number(b, "m", d->m), *groups = body_number(b, "groups", d->groups);
	const char *n = body_number(b, "n", d->n), *k = body_number(b, "k", d->k);
	const char *lda = body_number(b, "lda", d->lda), *ldc = body_number(b, "ldc", d->ldc);

	out_line(&b->out, "vc_product(begin, end, %d, %s, %s, %s, %s, %d, p[1], %s, p[2], p[3], p[0], %s, %s, %s, p);",
		 step, m, groups, n, k, d->chunk, lda, ldc, after->range[0] ? "range" : "0", epilogue_of(after));
}

/* Prints the calls for all boxes. p[5 ..] are the weights of the second box and the following, then the epilogue's
 * operands. */
static void
put_boxes(Body *b, const Dense *d, int step, const After *after)
{
	for (int i = 0; i < d->nbox; i++) {
		const Dense one = boxes_one(d, &d->box[i]);

		put_conv_sizes(b, &one, arena_printf(b->p->cx->arena, "v%d", i), after);
	}
	out_line(&b->out, "float *const y = p[0];");
	out_line(&b->out, "const float *const x = p[1], *const bias = p[3];");
	out_blank(&b->out);
	for (int i = 0; i < d->nbox; i++) {
		const Box *at = &d->box[i];
		const char *from = body_number(b, "from", at->from[BOX_CHANNELS]);
		const char *first = body_number(b, "first", at->first);

		out_line(&b->out, "vc_conv(begin, end, %d, &v%d, %d, x + %s, p[%d], bias ? bias + %s : 0, y + %s, "
			 "p[4], 0, p);", step, i, d->chunk, from, i ? 4 + i : 2, first, first);
	}
	if (after->epilogue.name) {
		const char *m = body_number(b, "m", d->m), *n = body_number(b, "n", d->n);

		out_line(&b->out, "%s(p, begin * %d, end * %d < %s ? end * %d : %s, 0, %s, %s);",
			 after->epilogue.name, step, step, m, step, m, n, n);
	}
}

/* Prints a product whose result shares memory with an operand of the epilogue. The product must not store there, so
 * the sums of a block are in scratch memory. In the printed C, `all` is the address that row 0 would have if that
 * scratch memory held all rows. */
static void
put_apart(Body *b, const Dense *d, const After *after)
{
	const long long columns = d->n * d->groups;
	const int units = d->chunk / STEP;
	const char *more = "";

	for (int i = 0; i < after->epilogue.more.n; i++)
		more = arena_printf(b->p->cx->arena, "%s p[%d],", more, 5 + i);
	if (d->form != BY_PRODUCT)
		put_conv_sizes(b, d, "v", after);
	out_line(&b->out, "float *const sums = rt_thread_scratch(%lld);", (long long)apart_scratch(d));
	out_blank(&b->out);
	out_open(&b->out, "for (int64_t at = begin; sums && at < end; at += %d)", units);
	out_line(&b->out, "const int64_t to = at + %d < end ? at + %d : end;", units, units);
	out_line(&b->out, "float *const all = sums - at * %lld;", STEP * columns);
	out_line(&b->out, "void *const q[] = { p[0], p[1], p[2], p[3], p[4],%s all };", more);
	out_blank(&b->out);
	if (d->form == BY_PRODUCT)
		out_line(&b->out, "vc_product(at, to, %d, %lld, %lld, %lld, %lld, %d, p[1], %lld, p[2], p[3], all, "
			 "%lld, 0, %s, q);", STEP, (long long)d->m, (long long)d->groups, (long long)d->n,
			 (long long)d->k, d->chunk, (long long)d->lda, columns, epilogue_of(after));
	else
		out_line(&b->out, "vc_conv(at, to, %d, &v, %d, p[1], p[2], p[3], all, p[4], %s, q);", STEP, d->chunk,
			 epilogue_of(after));
	out_close(&b->out);
}

/* Returns the suffix of the weights' type in names of vcoarse.h. */
static const char *
coarse_type(const Coarse *c)
{
	switch (c->dtype) {
	case RT_bf16:        return "bf16";
	case RT_f16:         return "f16";
	case RT_f8_e4m3fnuz: return "e4m3";
	case RT_f8_e5m2fnuz: return "e5m2";
	default:             return c->bits == 8 ? "int8" : "int4";
	}
}

static void
put_coarse(Body *b, const Dense *d, const After *after)
{
	const Member member[] = {
		{ "m", d->m }, { "n", d->n }, { "k", d->k }, { "lda", d->lda }, { "ldc", d->ldc },
		{ "group", d->coarse->group }, { "centred", d->coarse->centred }, { "chunk", d->chunk },
	};

	body_struct(b, "static const VkProduct v", member, sizeof member / sizeof *member,
		    after->range[0] ? ".range = range" : "");
	out_line(&b->out, "const VkWeights w = { p[2], p[4] };");
	out_blank(&b->out);
	out_line(&b->out, "vk_product_%s(begin, end, &v, p[1], &w, p[3], p[0], %s, p);", coarse_type(d->coarse),
		 epilogue_of(after));
}

/* Prints the kernel: p[0] result, p[1] input, p[2] weights, p[3] bias, p[4] zeros or scales, p[5 ..] operands of the
 * epilogue. */
static void
put_kernel(Body *b, Plan *p, const Dense *d, int step, const After *after)
{
	const char *epilogue = epilogue_of(after), *across = step ? arena_printf(p->cx->arena, "%d", step) : "v.ow";

	if (after->epilogue.apart) {
		put_apart(b, d, after);
		return;
	}
	if (after->range[0])
		out_line(&b->out, "static const float range[] = { %s, %s };", after->range[0], after->range[1]);
	if (d->form == COARSE) {
		put_coarse(b, d, after);
		return;
	}
	if (d->form == BY_PRODUCT || d->form == IN_BOXES) {
		(d->form == BY_PRODUCT ? put_product : put_boxes)(b, d, step, after);
		return;
	}
	put_conv_sizes(b, d, "v", after);
	out_blank(&b->out);
	if (d->form == WINOGRAD)
		put_winograd(b, p, d, step, epilogue);
	else if (d->form == BY_TAPS)
		out_line(&b->out, "vc_depthwise(begin, end, %s, &v, p[1], p[2], p[3], p[0], %s, p);", across, epilogue);
	else if (dense_by_rows(d))
		out_line(&b->out, "%s(begin, end, %s, &v, p[1], p[2], p[3], p[0], p[4], %s, p);",
			 dense_forms[d->form].micro, across, epilogue);
	else
		out_line(&b->out, "%s(begin, end, %d, &v, %d, p[1], p[2], p[3], p[0], p[4], %s, p);",
			 dense_forms[d->form].micro, step, d->chunk, epilogue);
}

static int64_t
units(const Emit *e, Plan *p, const Dense *d, int step)
{
	const ConvSizes *g = &d->geometry;
	const int64_t panels = (d->n + e->nr - 1) / e->nr * d->groups;

	if (dense_by_rows(d))
		return g->n * g->od * g->oh * (step ? plan_ceil(p, g->ow, step) : 1);
	if (step && d->form == WINOGRAD)
		return plan_ceil(p, g->n * plan_ceil(p, g->oh, d->tile) * plan_ceil(p, g->ow, d->tile), step);
	if (step)
		return plan_ceil(p, d->m, step);
	return d->form == WINOGRAD ? panels : panels * plan_ceil(p, d->m, d->chunk);
}

/* Returns a description of the packed weights, "weight_hh, in panels". */
static const char *
packed_name(const Emit *e, const Dense *d)
{
	const char *name = d->weight->name ? d->weight->name->name : "weight";

	return arena_printf(e->cx->arena, "%s, %s", name, dense_forms[d->form].packed);
}

/* Returns the zeros that taps in the padding read. Null for forms that do not look up single taps. */
static KernelArg
zeros_of(Emit *e, const Dense *d)
{
	const int64_t all = d->k * d->groups, n = d->form != IN_GROUPS ? d->k : all > e->vf ? all : e->vf;

	if (d->form == COARSE && d->coarse->bits == 16)
		return (KernelArg){ .text = "0", .what = "no scales" };
	if (d->form == COARSE)
		return (KernelArg){ .text = arena_printf(e->cx->arena, "(kiln_weights + %lld)",
				    (long long)d->coarse->scales), .what = "scales" };
	if (d->form == BY_PRODUCT || d->form == WINOGRAD || d->form == BY_TAPS)
		return (KernelArg){ .text = "0", .what = "no padding" };
	if (e->zeros < n)
		e->zeros = n;
	return (KernelArg){ .text = "kiln_zeros", .what = "for what lies in the padding" };
}

/* Returns a finite number as a C float constant. Null if the Ref is not one. */
static const char *
float_text(Plan *p, const Ref *r)
{
	const IValue v = r->number;
	const double f = v.tag == RT_DOUBLE ? v.u.f : v.tag == RT_INT ? (double)v.u.i : 0;

	if (r->kind != REF_NUMBER || (v.tag != RT_DOUBLE && v.tag != RT_INT) || f - f != 0)
		return NULL;
	return arena_printf(p->cx->arena, "(float)%.17g", f);
}

/* Is the group nothing but a clamp? Sets range to its bounds as C. */
static bool
is_clamp(Plan *p, const Node *group, const Value *made, const char *range[2])
{
	const Let *only;
	Lowered l;

	if (!lower_epilogue(p, group, made, false, &l) || l.kernel->let.n != 1)
		return false;
	only = &l.kernel->let.at[0];
	if (only->op->row == ROW_relu || only->op->row == ROW_relu6) {
		range[0] = "0";
		range[1] = only->op->row == ROW_relu6 ? "6" : "KILN_INF";
	} else if (only->op->row == ROW_hardtanh && float_text(p, &only->arg[1]) && float_text(p, &only->arg[2])) {
		range[0] = float_text(p, &only->arg[1]);
		range[1] = float_text(p, &only->arg[2]);
	}
	return range[0] != NULL;
}

/* Describes the launch as a contraction. group: its epilogue, or null. */
static void
describe_dense(KernelCall *call, Plan *p, const Node *n, const Node *group, const Dense *d)
{
	const ConvSizes *g = &d->geometry;
	const int64_t *s = d->w->strides, row = d->conv || d->transposed ? 0 : 1;
	Lowered after;
	const int64_t channel = d->form == BY_TAPS, bias = d->bias ? d->bias->strides[0] : 0;
	const bool follows = group && lower_epilogue(p, group, n->out[0], true, &after);
	Contract c;

	contract_begin(&c, p, n, RT_f32, d->bias != NULL);
	if (d->conv)
		contract_axis(&c, g->n, false, (int64_t[4]){ d->m / g->n * d->ldc, dense_pixels(d) / g->n * d->lda });
	else
		contract_axis(&c, d->m, false, (int64_t[4]){ d->ldc, d->lda });
	if (d->conv)
		contract_windows(&c, &d->windows, false);
	contract_axis(&c, d->groups, false, (int64_t[4]){ d->n, d->k, d->n * s[row], d->n * bias });
	contract_axis(&c, d->n, false, (int64_t[4]){ 1, channel, s[row], bias });
	contract_axis(&c, d->k, true, (int64_t[4]){ 0, 1, s[!row] });
	if (d->conv)
		contract_windows(&c, &d->windows, true);
	contract_call(call, &c, follows ? &after : NULL, 1 + d->windows.places, dense_forms[d->form].micro);
}

static void
pass_operands(Emit *e, KernelCall *call, const Dense *d, const Value *result)
{
	/* floats that the panels of the last group or box read beyond the end of the bias */
	const int64_t past = d->form == IN_BOXES ? e->nr : d->groups > 1 ? e->vf : 0;
	const bool boxes = d->form == IN_BOXES;
	const KernelArg args[] = {
		{ .value = result }, { .value = d->x },
		{ .text = boxes ? boxes_pack(e, d, &d->box[0]) : packed(e, d), .what = packed_name(e, d) },
		{ .text = d->bias ? pack_vector(e, d->bias, d->n * d->groups, past) : "0",
		  .what = d->bias ? "bias" : "no bias" },
		zeros_of(e, d),
	};

	for (size_t i = 0; i < sizeof args / sizeof *args; i++)
		vec_push(e->cx->arena, &call->args, args[i]);
	for (int i = 1; boxes && i < d->nbox; i++)
		vec_push(e->cx->arena, &call->args, ((KernelArg){ .text = boxes_pack(e, d, &d->box[i]),
								  .what = packed_name(e, d) }));
}

/* Emits the kernel of a dense node. group: the pointwise group that is its epilogue, or null. */
bool
emit_dense(Emit *e, Plan *p, const Node *n, const Node *group, KernelCall *call)
{
	After *after = new(e->cx->arena, After, 1);
	const ValueVec *more = &after->epilogue.more;
	const Value *result = group ? group->out[0] : n->out[0];
	Body body;
	const char *tuned;
	Dense d;
	int step;

	if (!dense_take(p, n, &d))
		return false;
	after->epilogue.apart = group && plan_buffer(p, result)->over;
	tuned = after->epilogue.apart ? NULL : dense_choose(e, p, &d);
	if (after->epilogue.apart)
		d.chunk = apart_rows(&d);
	if (group && !is_clamp(p, group, n->out[0], after->range) &&
	    !emit_epilogue(e, p, group, n->out[0], 5 + (d.form == IN_BOXES ? d.nbox - 1 : 0), &after->epilogue))
		return false;
	e->clamps |= after->range[0] != NULL;
	e->volumes |= d.volume;
	e->dilated |= d.form == IN_PANELS && d.k < STRIP_INPUTS && d.geometry.dw > 1;
	e->beside |= d.form == IN_ROWS ? dense_beside(&d) : 0;
	if (d.form == COARSE)
		coarse_pack(e, d.w, dense_packing(e, &d), d.coarse);
	if (d.form == BY_PRODUCT || d.form == COARSE || d.form == WINOGRAD)
		emit_tall(e, p, d.form == WINOGRAD ? INT64_MAX : d.m, d.form == COARSE ? INT64_MAX : d.k);
	p->streamed += d.m <= FEW_ROWS ? d.n * d.groups * d.k * (d.form == COARSE ? d.coarse->bits : 32) / 8 : 0;
	step = after->epilogue.apart ? STEP : dense_step(e, p, &d);
	*call = (KernelCall){ .n = units(e, p, &d, step), .grain = 1, .work = work_of(e, p, &d, after), .tuned = tuned,
			      .scratch = d.form == WINOGRAD ? winograd_scratch(p, &d) :
					 after->epilogue.apart ? apart_scratch(&d) : 0 };
	body = body_begin(p);
	body.made.epilogue = after->epilogue.kernel ? &after->epilogue : NULL;
	put_kernel(&body, p, &d, step, after);
	emit_body(e, d.conv ? "conv" : "product", comment_of(e, &d, after), &body, call);
	pass_operands(e, call, &d, result);
	for (int i = 0; i < more->n; i++)
		vec_push(e->cx->arena, &call->args, ((KernelArg){ .value = more->at[i] }));
	describe_dense(call, p, n, group, &d);
	return true;
}
