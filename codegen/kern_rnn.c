/*
 * The steps of an LSTM's direction (prim::lstm_walk): a launch for each step, parts of it are panels of hidden columns.
 *
 * The weights of the state are constant and in panels, gate by gate.  A step reads the
 * state where the step before has written it: in the result.  c is moved on in place.
 */
#include "row.h"

#include <string.h>

typedef struct Walk {
	const RtTensor *gates, *h, *c, *w;
	int64_t steps, rows, hidden, reverse;
} Walk;

static bool
take(Row *r, Walk *d)
{
	const RtTensor *bias = row_tensor(r, "b"), *y = row_result(r, 0), *c = row_result(r, 1);

	d->gates = row_tensor(r, "gates");
	d->h = row_tensor(r, "h");
	d->c = row_tensor(r, "c");
	d->w = row_arg(r, "w") ? dense_constant(r->p, row_arg(r, "w")) : NULL;
	if (!d->gates || !d->h || !d->c || !d->w || !y || !c || !row_int(r, "reverse", &d->reverse) || d->gates->dtype != RT_f32 ||
	    d->h->dtype != RT_f32 || d->c->dtype != RT_f32 || d->gates->ndim != 3 || !rt_numel(y))
		return false;
	d->steps = y->dims[0];
	d->rows = y->dims[1];
	d->hidden = y->dims[2];
	if (row_arg(r, "b") && (!bias || bias->dtype != RT_f32 || !rt_is_contiguous(bias)))
		return false;
	return rt_is_contiguous(y) && rt_is_contiguous(c) && d->gates->strides[2] == 1 &&
	       (d->hidden == 1 || (d->h->strides[1] == 1 && d->c->strides[1] == 1));
}

static const char *
gate(Emit *e, const Walk *d, int64_t g)
{
	const int64_t *s = d->w->strides;

	return pack_panels(e, WEIGHT_PANELS, d->w, (RtPacking){ .to = d->w->offset + g * d->hidden * s[0], .n = d->hidden, .k = d->w->dims[1],
		.taps = 1, .kw = 1, .width = e->nr, .last = e->nr, .sn = s[0], .sk = s[1] });
}

/* Adds the weights of each gate to the launch. */
static void
pass_gates(Row *r, KernelCall *c, const Walk *d)
{
	for (int g = 0; g < 4; g++)
		row_pass_text(r, c, r->e ? gate(r->e, d, g) : "0");
}

bool
row_lstm_walk(Row *r)
{
	const long long panel = r->e ? r->e->nr : 1;
	Arena *a = r->p->cx->arena;
	Out o = { .indent = 1 };
	Walk d;
	KernelCall *c;

	if (!take(r, &d))
		return false;
	const long long state = d.rows * d.hidden;

	out_line(&o, "const int64_t turn = *(const int64_t *)p[10], t = %s;", d.reverse ? arena_printf(a, "%lld - 1 - turn", (long long)d.steps) : "turn");
	out_line(&o, "float *y = (float *)p[0] + t * %lld;", state);
	out_blank(&o);
	out_line(&o, "vn_lstm(begin, end, %lld, %lld, (const float *)p[2] + t * %lld, %lld,", (long long)d.rows, (long long)d.hidden,
		 (long long)d.gates->strides[0], (long long)d.gates->strides[1]);
	out_line(&o, "\tturn ? y %c %lld : p[3], turn ? %lld : %lld, p + 5, p[9], turn ? p[1] : p[4], turn ? %lld : %lld, y, p[1]);",
		 d.reverse ? '+' : '-', state, (long long)d.hidden, (long long)d.h->strides[0], (long long)d.hidden,
		 (long long)d.c->strides[0]);
	c = row_call(r, "lstm", arena_printf(a, "%lld steps of an LSTM, %lld rows of %lld", (long long)d.steps, (long long)d.rows,
					     (long long)d.hidden), &o, (d.hidden + panel - 1) / panel, row_grain(4 * d.hidden * panel));
	c->repeat = d.steps;
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, r->n->out[1], 0);
	row_pass(r, c, row_arg(r, "gates"), 0);
	row_pass(r, c, row_arg(r, "h"), 0);
	row_pass(r, c, row_arg(r, "c"), 0);
	pass_gates(r, c, &d);
	if (row_arg(r, "b"))
		row_pass(r, c, row_arg(r, "b"), 0);
	else
		row_pass_text(r, c, "0");
	row_pass_text(r, c, "&turn");
	return true;
}
