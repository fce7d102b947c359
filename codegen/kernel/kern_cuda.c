/*
 * Kernels of the GPU: kernels as data that print_cuda.c prints, sums of products among them, and pooling.
 *
 * The computation is written as lambdas with constant extents and strides; rt/ops/cutile.h divides it among blocks and
 * threads.  One function both decides whether a node can be a kernel (for the plan, before values have places) and
 * fills the Form from which the text is written, so that the two always agree.  Tensors have fewer than 2^31 elements:
 * indices are 32 bits wide where they are divided.
 */
#include "lower.h"

#include <string.h>

enum { BLOCK = 256, FEW_CHANNELS = 8 };

typedef struct Form {
	enum { FORM_PRODUCT, FORM_CONV, FORM_POOL } form;
	const Value *x, *y, *w, *bias;   /* w, bias: may be null */
	const RtTensor *tx, *ty, *tw;
	int64_t m, n, k, groups;         /* product: (m, k) by (k, n), in groups */
	int64_t ldx, ldy;                /* product: distance of rows */
	int64_t window[3], step[3], pad[3], wide[3];     /* convolution, pooling: kernel, stride, padding, dilation */
	int     places;                  /* convolution: dims of the window */
	const char *how;                 /* max, avg, adaptive */
	bool    whole;                   /* average pooling: padding counts */
} Form;

/* ---- recognition ------------------------------------------------------------------------------------------------- */

static const Value *
named(const Node *n, const char *name)
{
	const Value *v = node_arg(n, name);

	return v && !value_is_none(v) ? v : NULL;
}

/* A known tensor of floats, of moderate size; it need not have a place yet. */
static const RtTensor *
floats(Plan *p, const Value *v)
{
	const RtTensor *t = v ? plan_tensor(p, v) : NULL;

	return t && t->storage && t->dtype == RT_f32 && rt_numel(t) < INT32_MAX && rt_numel(t) > 0 ? t : NULL;
}

static const RtTensor *
result_floats(Plan *p, const Node *n)
{
	const RtTensor *t = n->nout == 1 ? plan_tensor(p, n->out[0]) : NULL;

	return t && t->dtype == RT_f32 && rt_numel(t) < INT32_MAX && rt_numel(t) > 0 && rt_is_dense(t) ? t : NULL;
}

/* Rows at one distance from each other: all dims but the last as one. */
static bool
as_rows(const RtTensor *t, int64_t *m, int64_t *ld)
{
	*m = 1;
	*ld = 0;
	for (int i = t->ndim - 2; i >= 0; i--) {
		if (t->dims[i] == 1)
			continue;
		if (*m == 1)
			*ld = t->strides[i];
		else if (t->strides[i] != *m * *ld)
			return false;
		*m *= t->dims[i];
	}
	return t->ndim > 0;
}

static bool
take_bias(Plan *p, const Node *n, const char *name, int64_t columns, Form *f)
{
	const RtTensor *t;

	if (!(f->bias = name ? named(n, name) : NULL))
		return true;
	t = floats(p, f->bias);
	return t && t->ndim == 1 && t->dims[0] == columns && (t->strides[0] == 1 || columns == 1);
}

static bool
recognise_product(Plan *p, const Node *n, Form *f)
{
	const Lowering what = n->op->lowering;
	const bool linear = what == LOWER_LINEAR, addmm = what == LOWER_ADDMM;
	int64_t rows, one;

	if (!linear && !addmm && what != LOWER_MATMUL)
		return false;
	f->form = FORM_PRODUCT;
	f->x = named(n, linear ? "input" : addmm ? "mat1" : "self");
	f->w = named(n, linear ? "weight" : node_arg(n, "other") ? "other" : "mat2");
	if (!(f->tx = floats(p, f->x)) || !(f->tw = floats(p, f->w)) || f->tw->ndim != 2)
		return false;
	if (addmm && (!known_int(p->known, named(n, "beta"), &one) || one != 1 ||
		      !known_int(p->known, named(n, "alpha"), &one) || one != 1))
		return false;
	f->n = f->tw->dims[linear ? 0 : 1];
	f->k = f->tw->dims[linear ? 1 : 0];
	f->groups = 1;
	return as_rows(f->tx, &f->m, &f->ldx) && as_rows(f->ty, &rows, &f->ldy) && rows == f->m &&
	       f->tx->dims[f->tx->ndim - 1] == f->k &&
	       take_bias(p, n, linear ? "bias" : addmm ? "self" : NULL, f->n, f);
}

static bool
recognise_convolution(Plan *p, const Node *n, Form *f)
{
	const Value *transposed = named(n, "transposed");
	int64_t t;

	if (n->op->lowering != LOWER_CONVOLUTION)
		return false;
	f->form = FORM_CONV;
	f->x = named(n, "input");
	f->w = named(n, "weight");
	if (!(f->tx = floats(p, f->x)) || !(f->tw = floats(p, f->w)))
		return false;
	f->places = f->tw->ndim - 2;
	if (f->places < 1 || f->places > 3 || f->tx->ndim != f->tw->ndim || f->ty->ndim != f->tw->ndim ||
	    (transposed && (!known_int(p->known, transposed, &t) || t)))
		return false;
	if (!constant_ints(p, named(n, "stride"), f->step, f->places) ||
	    !constant_ints(p, named(n, "padding"), f->pad, f->places) ||
	    !constant_ints(p, named(n, "dilation"), f->wide, f->places) ||
	    !known_int(p->known, named(n, "groups"), &f->groups))
		return false;
	memcpy(f->window, f->tw->dims + 2, (size_t)f->places * sizeof *f->window);
	f->n = f->tw->dims[0] / f->groups;
	return take_bias(p, n, "bias", f->tw->dims[0], f);
}

static bool
recognise_pool(Plan *p, const Node *n, Form *f)
{
	const Value *v;
	int64_t whole = 1;

	f->how = n->op->lowering == LOWER_MAX_POOL ? "max" : n->op->lowering == LOWER_AVG_POOL ? "avg" :
		 n->op->lowering == LOWER_ADAPTIVE_AVG_POOL ? "adaptive" : NULL;
	f->form = FORM_POOL;
	if (!f->how || !(f->x = named(n, "self")) || !(f->tx = floats(p, f->x)) || f->tx->ndim != 4)
		return false;
	if (f->how[1] == 'd')
		return true;
	if (!constant_ints(p, named(n, "kernel_size"), f->window, 2) ||
	    !constant_ints(p, named(n, "padding"), f->pad, 2))
		return false;
	if (!constant_ints(p, named(n, "stride"), f->step, 2))
		memcpy(f->step, f->window, sizeof f->step);
	f->wide[0] = f->wide[1] = 1;
	if ((v = named(n, "dilation")) && !constant_ints(p, v, f->wide, 2))
		return false;
	if ((v = named(n, "count_include_pad")) && !known_int(p->known, v, &whole))
		return false;
	f->whole = whole != 0;
	return !named(n, "divisor_override");
}

static bool
recognise(Plan *p, const Node *n, Form *f)
{
	bool (*const forms[])(Plan *, const Node *, Form *) = {
		recognise_product, recognise_convolution, recognise_pool,
	};
	const RtTensor *y = n->op ? result_floats(p, n) : NULL;

	for (size_t i = 0; y && i < sizeof forms / sizeof *forms; i++) {
		memset(f, 0, sizeof *f);
		f->y = n->out[0];
		f->ty = y;
		if (forms[i](p, n, f))
			return true;
	}
	return false;
}

/* Results on the device are dense, and indices on it have 32 bits where they are divided. */
static bool
is_moderate(const Lowered *l)
{
	return kernel_has_cuda(l->kernel) && size_at_most(l->kernel->sizes, kernel_points(l->kernel), INT32_MAX);
}

bool
node_is_cuda(Plan *p, const Node *n)
{
	Lowered l;
	Form f;

	return recognise(p, n, &f) || (lower_reduction(p, n, &l) && is_moderate(&l));
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

typedef struct Text {            /* of one kernel */
	Emit *e;
	Plan *p;
	CudaCall *call;
	Buf   params;
	Out   body;
	const Lowered *after;    /* the epilogue, or null */
} Text;

static void
param(Text *t, const Value *v, const char *type, const char *name)
{
	buf_printf(&t->params, "%s%s%s", t->params.n ? ", " : "", type, name);
	vec_push(t->e->cx->arena, &t->call->args, v);
}

/* Adds a kernel, "(params)\n{\nbody}\n", under a name of its own; equal texts share one. */
static void
add_kernel(Emit *e, CudaCall *call, const char *prefix, const char *comment, const char *text)
{
	intptr_t known = (intptr_t)map_get(&e->cuda_texts, text);
	const char *name;

	if (!known) {
		known = e->cuda_kernels.n + 1;
		name = arena_printf(e->cx->arena, "%s_%d", prefix, e->cuda_kernels.n);
		map_put(&e->cuda_texts, text, (void *)known);
		vec_push(e->cx->arena, &e->cuda_kernels, name);
		out_line(&e->cuda, "\n/* %s */\nextern \"C\" __global__ void __launch_bounds__(%d)\n%s%s", comment,
			 BLOCK, name, text);
	}
	call->kernel = (int)known - 1;
}

static void
finish(Text *t, const char *prefix, const char *comment)
{
	add_kernel(t->e, t->call, prefix, comment,
		   arena_printf(t->e->cx->arena, "(%s)\n{\n%s}\n", t->params.at, t->body.text.at));
	buf_free(&t->params);
	buf_free(&t->body.text);
}

/* "i2 * 3 + i0 * 64": an element of t. */
static const char *
offset_text(Arena *a, const RtTensor *t)
{
	const char *text = "";

	for (int i = 0; i < t->ndim; i++)
		if (t->dims[i] != 1 && t->strides[i])
			text = arena_printf(a, "%s%si%d * %lld", text, *text ? " + " : "", i, (long long)t->strides[i]);
	return *text ? text : "0";
}

/* ---- kernels as data --------------------------------------------------------------------------------------------- */

static void
put_launch(Text *t, const Kernel *k, const Schedule *s)
{
	if (!size_const(kernel_cuda_blocks(k, s), &t->call->grid[0]))
		BUG("%s: the number of its blocks is no number", k->name);
	add_kernel(t->e, t->call, k->name, kernel_comment(k), kernel_print_cuda(k, s));
}

/* A kernel as data, as for the CPU. */
static void
emit_kernel_form(Text *t, const Lowered *l)
{
	Schedule s;

	kernel_simplify(l->kernel, 0);
	s = kernel_schedule(l->kernel, TILE_NEVER, kernel_inner(l->kernel));
	for (int i = 0; i < l->value.n; i++) {
		vec_push(t->e->cx->arena, &t->call->args, l->value.at[i]);
		t->call->nout += l->kernel->operand.at[i].access == ACCESS_WRITE;
	}
	put_launch(t, l->kernel, &s);
}

/* ---- products and convolutions ----------------------------------------------------------------------------------- */

static void
product_axes(Contract *c, const Form *f, bool linear)
{
	const int64_t sx = f->tx->strides[f->tx->ndim - 1], sy = f->ty->strides[f->ty->ndim - 1];
	const int64_t sk = f->tw->strides[linear ? 1 : 0], sn = f->tw->strides[linear ? 0 : 1];

	contract_axis(c, f->m, false, (int64_t[4]){ f->ldy, f->ldx });
	contract_axis(c, f->n, false, (int64_t[4]){ sy, 0, sn, 1 });
	contract_axis(c, f->k, true, (int64_t[4]){ 0, sx, sk });
}

/* Rows are pixels, columns the output channels of a group; channels are summed over within taps. */
static void
convolution_axes(Contract *c, const Form *f)
{
	const int64_t *sx = f->tx->strides, *sy = f->ty->strides, *sw = f->tw->strides, ic = f->tw->dims[1], n = f->n;
	Windows v = { .places = f->places };

	for (int i = 0; i < v.places; i++) {
		v.in[i] = f->tx->dims[2 + i], v.out[i] = f->ty->dims[2 + i], v.taps[i] = f->window[i];
		v.step[i] = f->step[i], v.pad[i] = f->pad[i], v.wide[i] = f->wide[i];
		v.x[i] = sx[2 + i], v.y[i] = sy[2 + i], v.w[i] = sw[2 + i];
	}
	contract_axis(c, f->ty->dims[0], false, (int64_t[4]){ sy[0], sx[0] });
	contract_windows(c, &v, false);
	contract_axis(c, f->groups, false, (int64_t[4]){ n * sy[1], ic * sx[1], n * sw[0], n });
	contract_axis(c, n, false, (int64_t[4]){ sy[1], 0, sw[0], 1 });
	contract_windows(c, &v, true);
	contract_axis(c, ic, true, (int64_t[4]){ 0, sx[1], sw[1] });
}

/* In tiles; with few channels in a group (depthwise) a thread for each element. */
static void
emit_contract(Text *t, const Form *f, const Node *n)
{
	const bool conv = f->form == FORM_CONV;
	const Node *group = t->p->epilogue[n->id];
	const Value *const own[] = { group ? group->out[0] : f->y, f->x, f->w, f->bias };
	const Size *grid[3];
	Schedule s;
	Contract c;
	Kernel *k;

	contract_begin(&c, t->p, n, RT_f32, f->bias != NULL);
	if (conv)
		convolution_axes(&c, f);
	else
		product_axes(&c, f, n->op->lowering == LOWER_LINEAR);
	k = contract_end(&c, t->after, conv ? 1 + f->places : 1);
	for (int i = 0; i <= CONTRACT_W + c.bias; i++)
		vec_push(t->e->cx->arena, &t->call->args, own[i]);
	for (int i = 0; t->after && i < t->after->value.n; i++)
		if (t->after->kernel->operand.at[i].access == ACCESS_READ ||
		    t->after->kernel->operand.at[i].access == ACCESS_NUMBER)
			vec_push(t->e->cx->arena, &t->call->args, t->after->value.at[i]);
	t->call->nout = 1;
	if ((!conv || f->groups == 1 || f->n >= FEW_CHANNELS) && kernel_cuda_tiles(k, grid)) {
		for (int i = 0; i < 3; i++)
			if (!size_const(grid[i], &t->call->grid[i]))
				BUG("%s: the number of its blocks is no number", k->name);
		add_kernel(t->e, t->call, conv ? "conv" : "product", kernel_comment(k), kernel_print_cuda_tiles(k));
		return;
	}
	s = kernel_schedule_rows(k, true, 0);
	put_launch(t, k, &s);
}

/* ---- pooling: one thread for each element ------------------------------------------------------------------------ */

/* [h0, h1) by [w0, w1) of x for the element, and what an average divides by. */
static void
put_pool_window(Out *o, const Form *f, const char *axis, int i)
{
	const long long in = f->tx->dims[2 + i], out = f->ty->dims[2 + i], k = f->window[i], s = f->step[i],
			pad = f->pad[i];

	if (*f->how == 'a' && f->how[1] == 'd') {
		out_line(o,
			 "const int %s0 = i%d * %lld / %lld, %s1 = ((i%d + 1) * %lld + %lld) / %lld, %sn = %s1 - %s0;",
			 axis, 2 + i, in, out, axis, 2 + i, in, out - 1, out, axis, axis, axis);
		return;
	}
	out_line(o, "int %s0 = i%d * %lld - %lld, %s1 = %s0 + %lld;", axis, 2 + i, s, pad, axis, axis,
		 (k - 1) * (long long)f->wide[i] + 1);
	out_line(o, "int %sn = (%s1 < %lld ? %s1 : %lld) - %s0;", axis, axis, in + pad, axis, in + pad, axis);
	out_line(o, "%s1 = %s1 < %lld ? %s1 : %lld;", axis, axis, in, axis, in);
	if (!f->whole)
		out_line(o, "%sn = %s1 - (%s0 < 0 ? 0 : %s0);", axis, axis, axis, axis);
	out_line(o, "while (%s0 < 0)", axis);
	out_line(o, "\t%s0 += %lld;", axis, (long long)f->wide[i]);
	out_line(o, "(void)%sn;", axis);
}

static void
emit_pool(Text *t, const Form *f)
{
	Arena *a = t->e->cx->arena;
	const bool most = *f->how == 'm';
	const int64_t *d = f->ty->dims, *s = f->tx->strides, total = rt_numel(f->ty);
	Out *o = &t->body;

	param(t, f->y, "float *", "y");
	param(t, f->x, "const float *", "x");
	t->call->nout = 1;
	out_line(o, "const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;");
	out_line(o, "float made = %s;\n", most ? "-(float)KILN_INF" : "0");
	out_line(o, "if (at >= %lldu)", (long long)total);
	out_line(o, "\treturn;");
	out_line(o, "const int i3 = at %% %lldu, i2 = at / %lldu %% %lldu, i1 = at / %lldu %% %lldu, i0 = at / %lldu;",
		 (long long)d[3], (long long)d[3], (long long)d[2], (long long)(d[3] * d[2]), (long long)d[1],
		 (long long)(d[3] * d[2] * d[1]));
	put_pool_window(o, f, "h", 0);
	put_pool_window(o, f, "w", 1);
	out_line(o, "for (int h = h0; h < h1; h += %lld)", most ? (long long)f->wide[0] : 1LL);
	out_open(o, "\tfor (int w = w0; w < w1; w += %lld)", most ? (long long)f->wide[1] : 1LL);
	out_line(o, "const float v = x[i0 * %lldLL + i1 * %lldLL + h * %lldLL + w * %lldLL];", (long long)s[0],
		 (long long)s[1], (long long)s[2], (long long)s[3]);
	out_line(o, most ? "made = v > made || v != v ? v : made;" : "made += v;");
	out_close(o, "");
	out_line(o, "y[%s] = made%s;", offset_text(a, f->ty), most ? "" : " / (float)(hn * wn)");
	t->call->grid[0] = (total + BLOCK - 1) / BLOCK;
	finish(t, "pool",
	       arena_printf(a, "%s pooling: (%lld, %lld, %lld, %lld)", f->how, (long long)d[0], (long long)d[1],
			    (long long)d[2], (long long)d[3]));
}

bool
emit_cuda(Emit *e, Plan *p, const Node *n, const Node *epilogue, CudaCall *call)
{
	Text t = { .e = e, .p = p, .call = call, .body = { .indent = 1 } };
	Lowered after;
	Form f;

	memset(call, 0, sizeof *call);
	call->grid[0] = call->grid[1] = call->grid[2] = 1;
	if (node_is_map(n) ? lower_map(p, n, &after) : lower_reduction(p, n, &after)) {
		emit_kernel_form(&t, &after);
		return true;
	}
	if (!recognise(p, n, &f) || (epilogue && !lower_epilogue(p, epilogue, n->out[0], true, &after)))
		return false;
	t.after = epilogue ? &after : NULL;
	if (f.form == FORM_POOL)
		emit_pool(&t, &f);
	else
		emit_contract(&t, &f, n);
	return true;
}
