/*
 * The steps of one direction of a recurrent layer (prim::rnn_walk). Each step is a launch, divided into panels of
 * hidden columns, and a second launch if the state is a projection of them.
 *
 * Constant float weights are in panels, gate by gate; others are read in their own layout. A step reads the state where
 * the previous step stored it: in the result. c is updated in place.
 *
 * Constant int8 weights are in the panels of vint8.h. Each launch first quantizes the state.
 */
#include "row.h"
#include "../../rt/ops/vint8.h"

#include <string.h>

typedef struct Walk {
	const char *kind;
	int gates;
	const RtTensor *x, *h, *c, *w, *p, *y, *scale;   /* scale: scales of the rows of int8 weights, or null */
	bool packed, narrow;     /* whether w and p are in panels; whether the quantized state has 7 bits */
	int64_t steps, rows, hidden, reverse;
} Walk;

static const struct { const char *name; int gates; } kinds[] = { { "lstm", 4 }, { "gru", 3 }, { "tanh", 1 },
	{ "relu", 1 } };

static bool
take_kind(const Row *r, Walk *d)
{
	const Value *v = row_arg(r, "kind");
	const Known *k = v ? known_at(r->p->known, v) : NULL;

	for (size_t i = 0; k && k->is && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(k->v.u.str->s, kinds[i].name)) {
			d->kind = kinds[i].name;
			d->gates = kinds[i].gates;
		}
	return d->kind;
}

static bool
is_packed(Row *r, const Walk *d)
{
	return d->x->dtype == RT_f32 && dense_constant(r->p, row_arg(r, "w")) &&
	       (!d->p || dense_constant(r->p, row_arg(r, "p")));
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
	d->packed = is_packed(r, d);
	d->steps = y->dims[0];
	d->rows = y->dims[1];
	d->hidden = d->c->dims[1];
	return (!bias || rt_is_contiguous(bias)) &&
	       (d->hidden == 1 || (d->x->strides[2] == 1 && d->c->strides[1] == 1)) &&
	       (y->dims[2] == 1 || (y->strides[2] == 1 && d->h->strides[1] == 1));
}

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

/* Passes the weights of each gate: n columns of k products. */
static void
pass_weights(Row *r, Launch *l, const char *name, const RtTensor *w, int64_t gates)
{
	const int64_t n = w->dims[0] / gates, k = w->dims[1];
	const RtTensor *constant = l->walk->packed ? dense_constant(r->p, row_arg(r, name)) : NULL;
	const char *columns = body_number(&l->body, "hidden", n);

	out_line(&l->fields, ".hidden = %s, .k = %s,", columns, body_number(&l->body, "k", k));
	if (constant) {
		emit_tall(r->e, r->p, l->walk->rows, k);
		out_line(&l->fields, ".panel = p + %d, .rest = VC_REST(vc_panel, %s),", l->narg, columns);
		for (int64_t g = 0; g < gates; g++)
			l->arg[l->narg++].text = panels(r, constant, g * n, n);
	} else {
		const char *row = body_number(&l->body, "ws", w->strides[0]);

		out_line(&l->fields, ".w = %s, .ws = %s, .wk = %s,", pass_arg(r, l, row_arg(r, name)), row,
			 body_number(&l->body, "wk", k == 1 ? 1 : w->strides[1]));
	}
}

/* Passes the int8 weights of each gate, and the parameters by which the state is quantized. */
static void
put_bytes(Row *r, Launch *l)
{
	const Walk *d = l->walk;
	ViConv v = VI_LINE;
	const char *packed[2] = { "0", "0" }, *k;
	Out *o = &l->body.out;

	v.groups = d->gates;
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

/* Adds a launch. columns: of each gate. k: number of products for each column. */
static void
add_launch(Row *r, Launch *l, const char *function, int64_t columns, int64_t gates, int64_t k)
{
	const Walk *d = l->walk;
	const int64_t panel = d->scale ? VI_PART : r->e ? r->e->nr : 1;
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
	if (d->scale)
		put_step(l, function);
	else
		out_line(o, "vn_%s_%s(begin, end, &step);", function, row_type(d->x->dtype));
	c = row_call(r, function, arena_printf(a, "%lld steps, %lld rows of %lld", (long long)d->steps,
		     (long long)d->rows, (long long)columns),
		     &l->body, plan_ceil(r->p, columns, panel), row_grain(gates * columns * panel));
	c->repeat = d->steps;
	c->scratch = l->bytes;
	c->work.flops = 2.0 * (double)(d->steps * d->rows) * (double)(gates * columns * k);
	c->work.bytes = (double)d->steps * (double)(gates * columns * k + d->rows * ((gates + 1) * columns + k)) *
			rt_dtypes[d->x->dtype].bytes;
	for (int i = 0; i < l->narg; i++)
		vec_push(a, &c->args, l->arg[i]);
}

/* Adds the launch of the gates: products of the state, then the new h and c. */
static void
add_gates(Row *r, const Walk *d)
{
	const char *type = row_type(d->x->dtype);
	Launch l = { .walk = d, .body = body_begin(r->p), .fields = { .indent = 2 } };
	Body *b = &l.body;
	const char *next = body_number(b, "y_step", d->y->strides[0]), *ldy = body_number(b, "ldy", d->y->strides[1]);
	const char *hidden = body_number(b, "columns", d->hidden);
	const char *to = pass_arg(r, &l, r->n->out[d->p ? 2 : 0]), *y = d->p ? pass_arg(r, &l, r->n->out[0]) : to;
	const char *h = pass_arg(r, &l, row_arg(r, "h"));

	out_line(&l.fields, ".rows = %s, .gates = (const %s *)%s + t * %s, .ldg = %s,", body_number(b, "rows", d->rows),
		 type, pass_arg(r, &l, row_arg(r, "gates")), body_number(b, "x_step", d->x->strides[0]),
		 body_number(b, "ldg", d->x->strides[1]));
	out_line(&l.fields, ".h = turn ? (const %s *)%s + (t %c 1) * %s : %s, .ldh = turn ? %s : %s,", type, y,
		 d->reverse ? '+' : '-', next, h, ldy, body_number(b, "ldh", d->h->strides[0]));
	if (d->gates == 4) {
		const char *c = pass_arg(r, &l, r->n->out[1]);

		out_line(&l.fields, ".c = turn ? %s : %s, .ldc = turn ? %s : %s,", c, pass_arg(r, &l, row_arg(r, "c")),
			 hidden, body_number(b, "ldc", d->c->strides[0]));
		out_line(&l.fields, ".to_c = %s, .ld_to_c = %s,", c, hidden);
	}
	if (row_arg(r, "b"))
		out_line(&l.fields, ".bias = %s,", pass_arg(r, &l, row_arg(r, "b")));
	if (d->scale)
		put_bytes(r, &l);
	else
		pass_weights(r, &l, "w", d->w, d->gates);
	if (d->p)
		out_line(&l.fields, ".to_h = %s, .ld_to_h = %s,", to, hidden);
	else
		out_line(&l.fields, ".to_h = (%s *)%s + t * %s, .ld_to_h = %s,", type, to, next, ldy);
	add_launch(r, &l, d->kind, d->hidden, d->gates, d->w->dims[1]);
}

/* Adds the launch that projects the gates' output, which is in the third result, to the state. */
static void
add_projection(Row *r, const Walk *d)
{
	Launch l = { .walk = d, .body = body_begin(r->p), .fields = { .indent = 2 } };
	const char *to = pass_arg(r, &l, r->n->out[0]);
	Body *b = &l.body;
	const char *rows = body_number(b, "rows", d->rows), *step = body_number(b, "y_step", d->y->strides[0]);

	out_line(&l.fields, ".rows = %s, .h = %s, .ldh = %s,", rows, pass_arg(r, &l, r->n->out[2]),
		 body_number(b, "ldh", d->hidden));
	pass_weights(r, &l, "p", d->p, 1);
	out_line(&l.fields, ".to_h = (%s *)%s + t * %s, .ld_to_h = %s,", row_type(d->x->dtype), to, step,
		 body_number(b, "ldy", d->y->strides[1]));
	add_launch(r, &l, "project", d->y->dims[2], 1, d->hidden);
}

bool
row_rnn_walk(Row *r)
{
	Walk d = { 0 };

	if (!read_walk(r, &d))
		return false;
	add_gates(r, &d);
	if (d.p)
		add_projection(r, &d);
	return true;
}
