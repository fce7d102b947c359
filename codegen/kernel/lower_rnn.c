/*
 * The steps of one direction of a recurrent layer (prim::rnn_walk), as a chain that shares the batch and the steps:
 *
 *    first      local h = h0, local c = c0
 *    products   by gate, the sum of h * w over the state's columns, plus a bias
 *    cell       the new h and c of the gates (recurrence.c); y = h
 *    projection h = sum of the cell's states * p; y = h
 *
 * The microkernel (vrnn.h) is launched for each step. Constant weights are in panels, gate by gate.
 *
 * With constant int8 weights, C is printed: they are in the panels of vint8.h, and each launch first quantizes the
 * state, by the range of all its rows.
 */
#include "row.h"
#include "lower.h"
#include "micro.h"
#include "recurrence.h"
#include "../../rt/ops/vint8.h"

typedef struct Walk {
	const Cell *cell;
	const RtTensor *x, *h, *c, *w, *p, *y, *scale;   /* scale: scales of the rows of int8 weights, or null */
	bool narrow;             /* whether the quantized state has 7 bits */
	int64_t steps, rows, hidden, reverse;
} Walk;

static bool
take_kind(const Row *r, Walk *d)
{
	const Value *v = row_arg(r, "kind");
	const Known *k = v ? known_at(r->p->known, v) : NULL;

	d->cell = k && k->is ? cell_find(k->v.u.str->s) : NULL;
	return d->cell;
}

/* Reads the int8 weights and their scales, if there are any. */
static bool
read_int8_weights(Row *r, Walk *d)
{
	int64_t narrow;

	if (!row_arg(r, "scale"))
		return true;
	d->scale = row_constant(r, "scale", RT_f32);
	if (!d->scale || !row_constant(r, "w", RT_i8) || d->p || d->x->dtype != RT_f32 ||
	    !row_int(r, "narrow", &narrow))
		return false;
	d->narrow = narrow;
	return rt_is_contiguous(d->scale);
}

static bool
read_walk(Row *r, Walk *d)
{
	static const char *const names[] = { "gates", "h", "c", "b", "p", "w" };
	const RtTensor *bias = row_tensor(r, "b"), *y = row_result(r, 0);

	for (int i = 0; i < (row_arg(r, "scale") ? 5 : 6); i++)
		if (row_arg(r, names[i]) &&
		    (!row_tensor(r, names[i]) || row_tensor(r, names[i])->dtype != row_tensor(r, "gates")->dtype))
			return false;
	d->x = row_tensor(r, "gates");
	d->h = row_tensor(r, "h");
	d->c = row_tensor(r, "c");
	d->w = row_tensor(r, "w");
	d->p = row_tensor(r, "p");
	d->y = y;
	if (!take_kind(r, d) || !y || !row_int(r, "reverse", &d->reverse) ||
	    (d->x->dtype != RT_f32 && d->x->dtype != RT_f64) || !rt_numel(y) || !read_int8_weights(r, d))
		return false;
	d->steps = y->dims[0];
	d->rows = y->dims[1];
	d->hidden = d->c->dims[1];
	return (!bias || rt_is_contiguous(bias)) &&
	       (d->hidden == 1 || (d->x->strides[2] == 1 && d->c->strides[1] == 1)) &&
	       (y->dims[2] == 1 || (y->strides[2] == 1 && d->h->strides[1] == 1));
}

/* ---- the chain --------------------------------------------------------------------------------------------------- */

typedef struct Chain {           /* The link that is made, and what it is made of. */
	Row *row;
	const Walk *walk;
	Recurrence of;
	Kernel *link;
} Chain;

/* Adds an axis of the link's own. Returns its index. */
static int
add_axis(Kernel *k, int64_t extent, bool reduced)
{
	k->extent[k->naxis] = size_number(k->sizes, extent);
	k->nreduce += reduced;
	return k->naxis++;
}

/* Sets an operand's stride along an axis, and its offset: n strides of another axis. */
static void
set_stride(Chain *c, int operand, int axis, int64_t stride)
{
	c->link->operand.at[operand].stride[axis] = size_number(c->link->sizes, stride);
}

static void
set_offset(Chain *c, int operand, int64_t offset)
{
	c->link->operand.at[operand].offset = size_number(c->link->sizes, offset);
}

/* Sets the strides of a tensor (steps, rows, columns) along the shared axes. In reverse, the first step is the last
 * position. */
static void
set_steps(Chain *c, int operand, const RtTensor *t)
{
	SizeTable *z = c->link->sizes;
	Bound b = { .offset = size_number(z, t->dims[0] - 1), .limit = size_number(z, t->dims[0]) };

	set_stride(c, operand, 0, t->strides[1]);
	if (!c->walk->reverse) {
		set_stride(c, operand, 1, t->strides[0]);
		return;
	}
	b.unit = size_number(z, t->strides[0]);
	b.stride[1] = size_number(z, -1);
	kernel_bound(c->link, operand, b);
}

/* Begins the next link. */
static void
begin_link(Chain *c, bool first)
{
	c->link = kernel_then(c->link);
	c->link->first = first;
}

/* Makes the current link one that copies rows of a tensor to a local operand. */
static void
put_start(Chain *c, int from, const RtTensor *t, int to)
{
	const int column = add_axis(c->link, t->dims[1], false);

	set_stride(c, from, 0, t->strides[0]);
	set_stride(c, from, column, t->strides[1]);
	set_stride(c, to, column, 1);
	kernel_store(c->link, to, ref_operand(from));
}

/* Adds the sum over the link's reduced axis of products of a local operand and rows of w. Returns it. */
static Ref
put_sum(Chain *c, Ref product)
{
	const RtDtype type = (RtDtype)c->walk->x->dtype;
	Rows g = { .row = c->row, .kernel = c->link };

	return rows_join(&g, "sum", type, type, product);
}

static Ref
put_product(Chain *c, int a, int w, const RtTensor *t, int column, int k)
{
	Rows g = { .row = c->row, .kernel = c->link };

	set_stride(c, a, k, 1);
	set_stride(c, w, column, t->strides[0]);
	set_stride(c, w, k, t->dims[1] == 1 ? 1 : t->strides[1]);
	return rows_let2(&g, ROW_mul_Tensor, (RtDtype)c->walk->x->dtype, ref_operand(a), ref_operand(w));
}

static void
put_products(Chain *c)
{
	const Walk *d = c->walk;
	const int gates = d->cell->gates;
	Rows g = { .row = c->row };
	int column, k;
	Ref x[MOST_GATES];

	begin_link(c, false);
	g.kernel = c->link;
	column = add_axis(c->link, d->hidden, false);
	k = add_axis(c->link, d->w->dims[1], true);
	for (int i = 0; i < gates; i++) {
		x[i] = put_product(c, c->of.h, c->of.w + i, d->w, column, k);
		set_offset(c, c->of.w + i, i * d->hidden * d->w->strides[0]);
		set_stride(c, c->of.s + i, column, 1);
	}
	for (int i = 0; i < gates; i++)
		x[i] = put_sum(c, x[i]);
	kernel_stage(c->link, false);
	for (int i = 0; i < gates && c->of.bias; i++) {
		set_stride(c, c->of.b + i, column, 1);
		set_offset(c, c->of.b + i, i * d->hidden);
		x[i] = rows_let2(&g, ROW_add_Tensor, (RtDtype)d->x->dtype, x[i], ref_operand(c->of.b + i));
	}
	for (int i = 0; i < gates; i++)
		kernel_store(c->link, c->of.s + i, x[i]);
}

static void
put_cell(Chain *c)
{
	const Walk *d = c->walk;
	const Recurrence *of = &c->of;
	const RtDtype type = (RtDtype)d->x->dtype;
	const int h = of->projected ? of->u : of->h;
	Rows g = { .row = c->row };
	int column;

	begin_link(c, false);
	g.kernel = c->link;
	column = add_axis(c->link, d->hidden, false);
	for (int i = 0; i < d->cell->gates; i++) {
		set_steps(c, of->x + i, d->x);
		set_stride(c, of->x + i, column, 1);
		set_offset(c, of->x + i, i * d->hidden);
		set_stride(c, of->s + i, column, 1);
	}
	set_stride(c, h, column, 1);
	set_stride(c, of->h, column, 1);
	for (int i = 0; i < d->cell->nlet; i++) {
		const CellLet *l = &d->cell->let[i];
		const Ref a = recurrence_ref(of, l->a);

		if (l->b < 0)
			rows_let1(&g, l->row, type, a);
		else
			rows_let2(&g, l->row, type, a, recurrence_ref(of, l->b));
	}
	kernel_store(c->link, h, (Ref){ .kind = REF_LET, .at = d->cell->h });
	if (!of->projected) {
		set_steps(c, of->y, d->y);
		set_stride(c, of->y, column, 1);
		kernel_store(c->link, of->y, (Ref){ .kind = REF_LET, .at = d->cell->h });
	}
	if (of->c < 0)
		return;
	set_stride(c, of->old, column, 1);
	set_stride(c, of->c, 0, d->hidden);
	set_stride(c, of->c, column, 1);
	kernel_store(c->link, of->old, (Ref){ .kind = REF_LET, .at = d->cell->c });
	kernel_store(c->link, of->c, (Ref){ .kind = REF_LET, .at = d->cell->c });
}

static void
put_projection(Chain *c)
{
	const Walk *d = c->walk;
	int column, k;
	Ref sum;

	begin_link(c, false);
	column = add_axis(c->link, d->p->dims[0], false);
	k = add_axis(c->link, d->p->dims[1], true);
	sum = put_sum(c, put_product(c, c->of.u, c->of.p, d->p, column, k));
	kernel_stage(c->link, false);
	set_stride(c, c->of.h, column, 1);
	set_steps(c, c->of.y, d->y);
	set_stride(c, c->of.y, column, 1);
	kernel_store(c->link, c->of.h, sum);
	kernel_store(c->link, c->of.y, sum);
}

static Kernel *
make_chain(Row *r, const Walk *d)
{
	const int64_t shared[2] = { d->rows, d->steps };
	Chain c = { .row = r, .walk = d, .of = recurrence_of(d->cell, row_arg(r, "b"), d->p) };
	const Recurrence *of = &c.of;
	Kernel *k = c.link = lower_over(r->p, r->n, d->cell->name, 2, shared);

	k->comment = d->cell->name;
	k->shared = 2;
	k->serial = 1;
	k->first = true;
	for (int i = 0; i < of->noperand; i++)
		kernel_strided(k, i < of->x ? ACCESS_WRITE : i < of->h ? ACCESS_READ : ACCESS_LOCAL,
			       (RtDtype)d->x->dtype, NULL);
	put_start(&c, of->h0, d->h, of->h);
	if (of->c0 >= 0) {
		begin_link(&c, true);
		put_start(&c, of->c0, d->c, of->old);
	}
	put_products(&c);
	put_cell(&c);
	if (d->p)
		put_projection(&c);
	kernel_check(k);
	return k;
}

/* ---- the launch -------------------------------------------------------------------------------------------------- */

/* Packs columns [first, first + n) of the transposed w in panels. Returns their C expression. */
static const char *
panels(Row *r, const RtTensor *w, int64_t first, int64_t n)
{
	const int64_t *s = w->strides;

	if (!r->e)
		return "0";
	return pack_panels(r->e, WEIGHT_PANELS, w, (RtPacking){ .to = w->offset + first * s[0], .n = n, .k = w->dims[1],
		.taps = 1, .kw = 1, .width = r->e->panel, .last = panel_last(r->e, n, r->e->vf), .sn = s[0],
		.sk = s[1] }, 1, 1);
}

/* Marks the weights of all links as constant. p: those of the projection, or null. */
static void
mark_constant(Kernel *k, const Recurrence *of, const RtTensor *w, const RtTensor *p)
{
	for (; k; k = k->next) {
		for (int i = 0; i < of->cell->gates; i++)
			k->operand.at[of->w + i].constant = w;
		if (p)
			k->operand.at[of->p].constant = p;
	}
}

static const RtTensor *
constant_floats(Row *r, const Walk *d, const char *name)
{
	return d->x->dtype == RT_f32 && !r->p->gpu ? dense_constant(r->p, row_arg(r, name)) : NULL;
}

/* Passes a value for each of `many` operands from `at` on. */
static void
pass_many(Row *r, Lowered *l, int at, int many, const Value *v)
{
	for (int i = 0; i < many && at >= 0; i++)
		vec_push(r->p->cx->arena, &l->value, v);
}

/* Lowers a walk with float weights. Constant ones are passed in panels if a microkernel reads them. */
static bool
emit_walk(Row *r, const Walk *d)
{
	const Recurrence of = recurrence_of(d->cell, row_arg(r, "b"), d->p);
	const RtTensor *w = constant_floats(r, d, "w"), *p = d->p ? constant_floats(r, d, "p") : NULL;
	Lowered l = { .kernel = make_chain(r, d) };
	const bool packed = w && !d->p == !p && kernel_has_micro(l.kernel);

	if (packed) {
		l.text = new(r->p->cx->arena, const char *, of.noperand);
		mark_constant(l.kernel, &of, w, p);
		emit_tall(r->e, r->p, d->rows, d->w->dims[1]);
		if (p)
			emit_tall(r->e, r->p, d->rows, p->dims[1]);
	}
	pass_many(r, &l, of.y, 1, r->n->out[0]);
	pass_many(r, &l, of.c, 1, r->n->out[1]);
	pass_many(r, &l, of.x, d->cell->gates, row_arg(r, "gates"));
	pass_many(r, &l, of.w, d->cell->gates, packed ? NULL : row_arg(r, "w"));
	pass_many(r, &l, of.b, d->cell->gates, row_arg(r, "b"));
	pass_many(r, &l, of.h0, 1, row_arg(r, "h"));
	pass_many(r, &l, of.c0, 1, row_arg(r, "c"));
	pass_many(r, &l, of.p, 1, packed ? NULL : row_arg(r, "p"));
	for (int i = 0; packed && i < d->cell->gates; i++)
		l.text[of.w + i] = panels(r, w, i * d->hidden, d->hidden);
	if (packed && p)
		l.text[of.p] = panels(r, p, 0, p->dims[0]);
	emit_lowered(r->e, r->p, &l, &r->calls[r->ncall++]);
	return true;
}

/* ---- int8 weights ------------------------------------------------------------------------------------------------ */

/* A launch, with the members of its VnStep and its arguments. p[0] is where rows are stored. */
typedef struct Launch {
	const Walk *walk;
	Body body;
	Out  fields;
	KernelArg arg[12];
	int  narg;
	int64_t bytes;           /* bytes of scratch memory for the quantized state */
} Launch;

/* Passes a value as p[n]. Returns its C expression, "p[3]". */
static const char *
pass_arg(Row *r, Launch *l, const Value *v)
{
	l->arg[l->narg].value = v;
	return arena_printf(r->p->cx->arena, "p[%d]", l->narg++);
}

/* Passes the int8 weights of each gate, and the parameters by which the state is quantized. */
static void
put_bytes(Row *r, Launch *l)
{
	const Walk *d = l->walk;
	ViConv v = VI_LINE;
	const char *packed[2] = { "0", "0" }, *k;
	Out *o = &l->body.out;

	v.groups = d->cell->gates;
	v.ic = d->w->dims[1];
	v.oc = d->hidden;
	k = body_number(&l->body, "k", v.ic);
	if (r->e)
		pack_int8(r->e, d->w, &v, packed);
	out_line(&l->fields, ".hidden = %s, .k = %s,", body_number(&l->body, "hidden", d->hidden), k);
	out_line(o, "const ViWeights w = { p[%d], p[%d], p[%d], 0 };", l->narg, l->narg + 1, l->narg + 2);
	l->arg[l->narg++].text = packed[0];
	l->arg[l->narg++].text = packed[1];
	pass_arg(r, l, row_arg(r, "scale"));
	l->bytes = d->rows * vi_quads(&v) * VI_QUAD;
}

static void
put_step(Launch *l, const char *function)
{
	Body *b = &l->body;

	row_scratch(b, "uint8_t", "bytes", body_number(b, "bytes_of", l->bytes));
	out_line(&b->out, "vi_%s(begin, end, &(ViStep){ &step, &w, %d, bytes });", function,
		 l->walk->narrow ? 127 : 255);
}

/* Ends the launch of a step. */
static void
add_launch(Row *r, Launch *l)
{
	const Walk *d = l->walk;
	const int64_t gates = d->cell->gates, k = d->w->dims[1];
	Arena *a = r->p->cx->arena;
	Out *o = &l->body.out;
	KernelCall *c;

	l->arg[l->narg++].text = "&turn";
	out_line(o, "const int64_t turn = *(const int64_t *)p[%d], t = %s;", l->narg - 1,
		 d->reverse ? arena_printf(a, "%s - 1 - turn", body_number(&l->body, "steps", d->steps)) : "turn");
	out_line(o, "const VnStep step = {");
	buf_puts(&o->text, l->fields.text.at);
	buf_free(&l->fields.text);
	out_line(o, "};");
	out_blank(o);
	put_step(l, d->cell->name);
	c = row_call(r, d->cell->name, arena_printf(a, "%lld steps, %lld rows of %lld", (long long)d->steps,
		     (long long)d->rows, (long long)d->hidden),
		     &l->body, plan_ceil(r->p, d->hidden, VI_PART), row_grain(gates * d->hidden * VI_PART));
	c->repeat = d->steps;
	c->scratch = l->bytes;
	c->work.flops = 2.0 * (double)(d->steps * d->rows) * (double)(gates * d->hidden * k);
	c->work.bytes = 4.0 * (double)d->steps *
			(double)(gates * d->hidden * k + d->rows * ((gates + 1) * d->hidden + k));
	for (int i = 0; i < l->narg; i++)
		vec_push(a, &c->args, l->arg[i]);
}

static bool
emit_bytes(Row *r, const Walk *d)
{
	Launch l = { .walk = d, .body = body_begin(r->p), .fields = { .indent = 2 } };
	Body *b = &l.body;
	const char *next = body_number(b, "y_step", d->y->strides[0]), *ldy = body_number(b, "ldy", d->y->strides[1]);
	const char *hidden = body_number(b, "columns", d->hidden);
	const char *y = pass_arg(r, &l, r->n->out[0]), *h = pass_arg(r, &l, row_arg(r, "h"));

	out_line(&l.fields, ".rows = %s, .gates = (const float *)%s + t * %s, .ldg = %s,",
		 body_number(b, "rows", d->rows), pass_arg(r, &l, row_arg(r, "gates")),
		 body_number(b, "x_step", d->x->strides[0]), body_number(b, "ldg", d->x->strides[1]));
	out_line(&l.fields, ".h = turn ? (const float *)%s + (t %c 1) * %s : %s, .ldh = turn ? %s : %s,", y,
		 d->reverse ? '+' : '-', next, h, ldy, body_number(b, "ldh", d->h->strides[0]));
	if (d->cell->c >= 0) {
		const char *c = pass_arg(r, &l, r->n->out[1]);

		out_line(&l.fields, ".c = turn ? %s : %s, .ldc = turn ? %s : %s,", c, pass_arg(r, &l, row_arg(r, "c")),
			 hidden, body_number(b, "ldc", d->c->strides[0]));
		out_line(&l.fields, ".to_c = %s, .ld_to_c = %s,", c, hidden);
	}
	if (row_arg(r, "b"))
		out_line(&l.fields, ".bias = %s,", pass_arg(r, &l, row_arg(r, "b")));
	put_bytes(r, &l);
	out_line(&l.fields, ".to_h = (float *)%s + t * %s, .ld_to_h = %s,", y, next, ldy);
	add_launch(r, &l);
	return true;
}

bool
row_rnn_walk(Row *r)
{
	Walk d = { 0 };

	return read_walk(r, &d) && (d.scale ? emit_bytes(r, &d) : emit_walk(r, &d));
}
