/*
 * Recurrences along a dim: cumsum, cumprod, logcumsumexp, cummax, cummin.
 *
 * A unit of work is a block of at most LANES independent lanes. Lanes are sixteen positions of the result's innermost
 * dim, or as many rows if the recurrence runs along that dim. Sums are accumulated in double and int64, as in the
 * operators.
 */
#include "form.h"
#include "row.h"

#include <string.h>

enum { LANES = 16 };

typedef struct Step {
	/* C by operator. start and next: the first and the next state s[c], from the state and the element v. For an
	 * extreme, next is the condition for v to replace s[c]. */
	Lowering what;
	const char *start, *next;
	bool floats_only, extreme;
	const char *single;      /* next for results other than doubles; null if it is the same */
} Step;

static const Step steps[] = {
	{ LOWER_CUMSUM, "0", "s[c] + v", false, false, NULL },
	{ LOWER_CUMPROD, "1", "s[c] * v", false, false, NULL },
	{ LOWER_LOGCUMSUMEXP, "KILN_MINUS_INF", "vr_log_add(s[c], v)", true, false,
	  "vr_log_addf(s[c], v)" },
	{ LOWER_CUMMAX, "0", "v >= s[c]", false, true, NULL },    /* the last of equal elements wins, and a NaN stays */
	{ LOWER_CUMMIN, "0", "v <= s[c]", false, true, NULL },
};

typedef struct Scan {
	const Step *step;
	const RtTensor *x, *y, *at;      /* at: indices of the extremes, or null */
	int64_t n, lanes, stride[3], lane[3];    /* strides of y, x and at: along the dim, and from lane to lane */
	RowNest nest;                    /* loops over blocks of lanes, with the same operands */
} Scan;

static const Step *
step_of(const Row *r)
{
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if (r->n->op->lowering == steps[i].what)
			return &steps[i];
	return NULL;
}

/* Is the operator's cast of its input defined in C for all values? */
static bool
casts(const RtTensor *x, const RtTensor *y)
{
	return x->dtype == y->dtype || (rt_kind((RtDtype)x->dtype) != 'F' &&
					(y->dtype == RT_i64 || y->dtype == RT_f32 || y->dtype == RT_f64));
}

static int64_t
stride_of(const RtTensor *t, int d)
{
	return t ? t->strides[d] : 0;
}

/* Returns the dim along which lanes are. -1 if there is no other dim. */
static int
lane_dim(const Scan *d, int dim)
{
	int best = -1;

	for (int i = 0; i < d->y->ndim; i++)
		if (i != dim && d->y->dims[i] > 1 && (best < 0 || d->y->strides[i] < d->y->strides[best]))
			best = i;
	return best;
}

static bool
read_scan(Row *r, Scan *d)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	const RtTensor *all[3];
	int64_t dim;
	int lanes;

	d->step = step_of(r);
	d->x = x;
	d->y = y;
	d->at = d->step->extreme ? row_result(r, 1) : NULL;
	if (!x || !y || !x->ndim || !row_int(r, "dim", &dim) || !rt_numel(y) || (d->step->extreme && !d->at) ||
	    !casts(x, y) || !element_type((RtDtype)x->dtype) || !element_type((RtDtype)y->dtype) ||
	    (y->dtype == RT_b8 && !d->step->extreme) || (d->step->floats_only && rt_dtypes[y->dtype].category != 'F'))
		return false;
	dim += dim < 0 ? x->ndim : 0;
	if (dim < 0 || dim >= x->ndim)
		return false;
	all[0] = y, all[1] = x, all[2] = d->at;
	lanes = lane_dim(d, (int)dim);
	d->n = x->dims[dim];
	d->lanes = lanes < 0 ? 1 : x->dims[lanes];
	d->nest.n = 3;
	for (int i = 0; i <= x->ndim; i++) {
		const bool block = i == x->ndim;

		if (i == lanes || i == dim || (block && lanes < 0))
			continue;
		d->nest.dims[d->nest.ndim] = block ? plan_ceil(r->p, d->lanes, LANES) : x->dims[i];
		for (int k = 0; k < 3; k++)
			d->nest.stride[k][d->nest.ndim] = block ? LANES * stride_of(all[k], lanes) :
				stride_of(all[k], i);
		d->nest.ndim++;
	}
	for (int k = 0; k < 3; k++) {
		d->stride[k] = stride_of(all[k], (int)dim);
		d->lane[k] = lanes < 0 ? 0 : stride_of(all[k], lanes);
	}
	return true;
}

/* Returns the C of the element at step i and lane c, "y[i * 7 + c]". */
static const char *
element_at(Body *b, const Scan *d, const char *name, int operand)
{
	Arena *a = b->p->cx->arena;

	return arena_printf(a, "%s[i * %s + c * %s]", name,
			    body_number(b, arena_printf(a, "%s_step", name), d->stride[operand]),
			    body_number(b, arena_printf(a, "%s_lane", name), d->lane[operand]));
}

/* Prints the steps of some lanes. lanes: "lanes", or their number as a literal, for a loop that vectorizes. */
static void
put_steps(Body *b, const Scan *d, const char *lanes, const char *type)
{
	const RtDtype to = (RtDtype)d->y->dtype, from = (RtDtype)d->x->dtype;
	Arena *a = b->p->cx->arena;
	Out *o = &b->out;

	out_open(o, "for (int64_t i = 0; i < %s; i++)", body_number(b, "n", d->n));
	out_line(o, "IVDEP");
	out_open(o, "for (int64_t c = 0; c < %s; c++)", lanes);
	out_line(o, "const %s v = %s%s;", type, to == RT_f32 && from != to ? "(float)" : "",
		 element_loaded(a, from, element_at(b, d, "x", 1)));
	if (d->step->extreme) {
		out_line(o, "const bool more = !i || %s || v != v;", d->step->next);
		out_blank(o);
		out_line(o, "s[c] = more ? v : s[c];");
		out_line(o, "best[c] = more ? i : best[c];");
		out_line(o, "%s = best[c];", element_at(b, d, "at", 2));
	} else {
		out_line(o, "s[c] = %s;", to != RT_f64 && d->step->single ? d->step->single : d->step->next);
	}
	out_line(o, "%s = %s;", element_at(b, d, "y", 0), element_stored(a, to, "s[c]"));
	out_close(o);
	out_close(o);
}

bool
row_scan(Row *r)
{
	Arena *a = r->p->cx->arena;
	Body b = body_begin(r->p);
	Scan d = { 0 };
	const char *type;
	KernelCall *c;

	if (!read_scan(r, &d))
		return false;
	type = rt_dtypes[d.y->dtype].category == 'F' ? "double" : "int64_t";
	nest_open(&b, &d.nest);
	out_line(&b.out, "const %s *x = (const %s *)p[%d] + %s;", element_type((RtDtype)d.x->dtype),
		 element_type((RtDtype)d.x->dtype), d.at ? 2 : 1, nest_at(&b, &d.nest, 1));
	out_line(&b.out, "%s *y = (%s *)p[0] + %s;", element_type((RtDtype)d.y->dtype),
		 element_type((RtDtype)d.y->dtype), nest_at(&b, &d.nest, 0));
	if (d.at)
		out_line(&b.out, "int64_t *at = (int64_t *)p[1] + %s, best[%d];", nest_at(&b, &d.nest, 2), LANES);
	out_line(&b.out, "%s s[%d];", type, LANES);
	out_blank(&b.out);
	out_line(&b.out, "for (int c = 0; c < %d; c++)", LANES);
	out_line(&b.out, "\ts[c] = %s;", d.step->start);
	if (d.lanes > 1) {
		out_line(&b.out, "const int64_t left = %s - i%d * %d, lanes = left < %d ? left : %d;",
			 body_number(&b, "lanes", d.lanes), d.nest.ndim - 1, LANES, LANES, LANES);
		out_open(&b.out, "if (lanes == %d)", LANES);
		put_steps(&b, &d, arena_printf(a, "%d", LANES), type);
		out_close(&b.out);
		out_open(&b.out, "else");
		put_steps(&b, &d, "lanes", type);
		out_close(&b.out);
	} else {
		put_steps(&b, &d, "1", type);
	}
	out_close(&b.out);
	c = row_call(r, "scan", arena_printf(a, "%s: %lld steps", r->n->op->id, (long long)d.n), &b,
		     nest_count(&d.nest), row_grain(d.n * (d.lanes < LANES ? d.lanes : LANES)));
	for (int i = 0; i < r->n->nout; i++)
		row_pass(r, c, r->n->out[i]);
	row_pass(r, c, row_arg(r, "self"));
	return true;
}
