/*
 * Finds the nodes that are products and convolutions with constant weights, and their sizes.
 */
#include "dense.h"

#include <string.h>

enum { WINOGRAD_LEAST = 16 }; /* fewest channels for which Winograd's savings exceed the cost of its transforms */

const RtTensor *
dense_constant(Plan *p, const Value *v)
{
	const RtTensor *t = plan_tensor(p, v);
	const Buffer *b = plan_buffer(p, v);

	return t && b && b->home == HOME_CONSTANT && t->dtype == RT_f32 && t->storage->kind != RT_META &&
	       !t->storage->written ? t : NULL;
}

static const Value *
named_arg(const Node *n, const char *name)
{
	const Value *v = node_arg(n, name);

	return v && !value_is_none(v) ? v : NULL;
}

/* Describes a tensor as m rows, lda apart: the last dim is contiguous, and the others merge into one. Returns false if
 * they do not. */
static bool
as_rows(const RtTensor *t, int64_t *m, int64_t *lda)
{
	*m = 1;
	*lda = t->ndim ? t->dims[t->ndim - 1] : 1;
	if (t->ndim < 1 || (t->strides[t->ndim - 1] != 1 && t->dims[t->ndim - 1] != 1))
		return false;
	for (int i = t->ndim - 2; i >= 0; i--) {
		if (t->dims[i] == 1)
			continue;
		if (*m == 1)
			*lda = t->strides[i];
		else if (t->strides[i] != *m * *lda)
			return false;
		*m *= t->dims[i];
	}
	return true;
}

static bool
take_bias(Plan *p, const Value *v, int64_t n, Dense *d)
{
	if (!v)
		return true;
	d->bias = dense_constant(p, v);
	return d->bias && d->bias->ndim == 1 && d->bias->dims[0] == n;
}

static bool
describe_product(Plan *p, const Node *n, Dense *d)
{
	const Lowering what = n->op->lowering;
	const bool linear = what == LOWER_LINEAR, addmm = what == LOWER_ADDMM;
	const Value *x = named_arg(n, linear ? "input" : addmm ? "mat1" : "self");
	const Value *w = named_arg(n, linear ? "weight" : node_arg(n, "other") ? "other" : "mat2");
	const RtTensor *tx, *ty = plan_tensor(p, n->out[0]);
	int64_t ldy, m, one;

	if (!linear && !addmm && what != LOWER_MATMUL)
		return false;
	if (!x || !w || !(tx = plan_tensor(p, x)) || !(d->w = dense_constant(p, w)) || tx->dtype != RT_f32 ||
	    d->w->ndim != 2)
		return false;
	if (addmm && (!known_int(p->known, named_arg(n, "beta"), &one) || one != 1 ||
		      !known_int(p->known, named_arg(n, "alpha"), &one) || one != 1))
		return false;
	d->x = x;
	d->weight = w;
	d->y = n->out[0];
	d->transposed = linear;
	d->n = d->w->dims[linear ? 0 : 1];
	d->k = d->w->dims[linear ? 1 : 0];
	d->groups = 1;
	d->form = BY_PRODUCT;
	if (!as_rows(tx, &d->m, &d->lda) || !as_rows(ty, &m, &ldy) || m != d->m || tx->dims[tx->ndim - 1] != d->k ||
	    !d->m || !d->k)
		return false;
	d->ldc = ldy;
	return take_bias(p, linear ? named_arg(n, "bias") : addmm ? named_arg(n, "self") : NULL, d->n, d);
}

/* Is t channels-last with a constant distance between pixels? *far: this distance, at least the number of channels. */
static bool
as_pixels(const RtTensor *t, int64_t *far)
{
	int64_t step = 0, pixels = 1;

	if ((t->ndim != 4 && t->ndim != 5) || (t->dims[1] != 1 && t->strides[1] != 1))
		return false;
	*far = t->dims[1];
	for (int k = t->ndim - 1; k >= 0; k--) {
		if (k == 1 || t->dims[k] == 1)
			continue;
		if (!step)
			*far = step = t->strides[k];
		if (t->strides[k] != pixels * step)
			return false;
		pixels *= t->dims[k];
	}
	return *far >= t->dims[1];
}

bool
dense_nhwc(const RtTensor *t)
{
	int64_t far;

	return t->ndim == 4 && as_pixels(t, &far) && far == t->dims[1];
}

/* Are taps of 3-d weights at one stride, row after row? */
static bool
rows_follow(const RtTensor *w)
{
	return w->ndim < 5 || w->dims[2] == 1 || w->dims[3] == 1 || w->strides[2] == w->dims[3] * w->strides[3];
}

/* Sets the default form of a convolution. */
static void
plain_form(Dense *d)
{
	const ConvSizes *g = &d->geometry;
	const bool still = !d->volume || (g->kd == 1 && g->sd == 1 && !g->pd);

	if (d->groups > 1 && d->k == 1 && d->n == 1) {
		d->form = BY_TAPS;
		d->n = d->groups;
		d->groups = 1;
	} else if (still && g->kh == 1 && g->kw == 1 && g->sh == 1 && g->sw == 1 && !g->ph && !g->pw) {
		d->form = BY_PRODUCT;
	}
}

static ConvSizes
sizes_of(const Dense *d, int64_t images)
{
	const Windows *v = &d->windows;
	const int h = d->volume, w = h + 1;      /* indices of height and width */

	return (ConvSizes){
		.n = images, .h = v->in[h], .w = v->in[w], .ic = d->k, .oh = v->out[h], .ow = v->out[w], .oc = d->n,
		.kh = v->taps[h], .kw = v->taps[w], .sh = v->step[h], .sw = v->step[w], .ph = v->pad[h],
		.pw = v->pad[w], .dh = v->wide[h], .dw = v->wide[w], .xs = d->lda,
		.d = h ? v->in[0] : 1, .od = h ? v->out[0] : 1, .kd = h ? v->taps[0] : 1, .sd = h ? v->step[0] : 1,
		.pd = h ? v->pad[0] : 0, .dd = h ? v->wide[0] : 1,
	};
}

/* Is it a 3 x 3 window without stride or dilation? */
static bool
is_plain_square(const Windows *v)
{
	return v->taps[0] == 3 && v->taps[1] == 3 && v->step[0] == 1 && v->step[1] == 1 && v->wide[0] == 1 &&
	       v->wide[1] == 1;
}

static bool
describe_convolution(Plan *p, const Node *n, Dense *d)
{
	Convolution c;
	int64_t xs, ys;

	if (n->op->lowering != LOWER_CONVOLUTION || !convolution_take(p, n, &c) ||
	    !(d->w = dense_constant(p, named_arg(n, "weight"))) || !as_pixels(c.x, &xs) || !as_pixels(c.y, &ys) ||
	    !rows_follow(d->w))
		return false;
	d->x = named_arg(n, "input");
	d->weight = named_arg(n, "weight");
	d->y = n->out[0];
	d->conv = true;
	d->windows = c.windows;
	d->volume = c.windows.places == 3;
	d->groups = c.groups;
	d->n = d->w->dims[0] / d->groups;
	d->k = d->w->dims[1];
	d->m = rt_numel(c.y) / c.y->dims[1];
	d->lda = xs;
	d->ldc = ys;
	d->geometry = sizes_of(d, c.x->dims[0]);
	d->transformable = d->groups == 1 && !d->volume && is_plain_square(&d->windows) && d->k >= WINOGRAD_LEAST &&
			   d->n >= WINOGRAD_LEAST;
	plain_form(d);
	d->geometry.oc = d->n;
	return d->k <= 8192 && take_bias(p, c.bias, d->w->dims[0], d);
}

bool
dense_take(Plan *p, const Node *n, Dense *d)
{
	memset(d, 0, sizeof *d);
	return n->op && n->nout == 1 && plan_tensor(p, n->out[0]) && plan_tensor(p, n->out[0])->dtype == RT_f32 &&
	       (describe_product(p, n, d) || describe_convolution(p, n, d));
}

bool
node_is_dense(Plan *p, const Node *n)
{
	Dense d;

	return dense_take(p, n, &d);
}

/* Elements of the smallest table shared with panels. A smaller one is stored twice, because a kernel is faster. */
enum { TABLE_LEAST = 1 << 16 };

static bool
may_read_panels(Plan *p, const Node *n, const PtrMap *weights)
{
	const RtTensor *t = n->op && n->op->lowering == LOWER_EMBEDDING ? plan_tensor(p, n->in[0]) : NULL;
	const Buffer *b = t ? plan_buffer(p, n->in[0]) : NULL;

	return b && b->home == HOME_CONSTANT && !t->storage->written && rt_numel(t) >= TABLE_LEAST &&
	       rt_is_contiguous(t) && ptrmap_get(weights, t->storage);
}

void
dense_note_tables(Plan *p)
{
	PtrMap weights = { 0 };          /* storages of products' weights */
	Dense d;

	p->by_panels = new(p->cx->arena, bool, p->graph->nnode + 1);
	if (p->gpu || p->bare)
		return;
	for ALL_NODES(n, p->graph->top)
		if (dense_take(p, n, &d)) {
			const Widened *floats = storage_widened(p->cx, d.w->storage);

			*ptrmap_at(p->cx->arena, &weights, floats ? floats->of : d.w->storage) = 1;
		}
	for ALL_NODES(n, p->graph->top)
		p->by_panels[n->id] = may_read_panels(p, n, &weights);
}

int64_t
dense_columns(Plan *p, const Node *n)
{
	Dense d;

	return dense_take(p, n, &d) ? d.n * d.groups : 0;
}

/* ---- layouts of the weights, in the model and packed ------------------------------------------------------------- */

int64_t
dense_taps(const Dense *d)
{
	return d->conv ? d->geometry.kd * d->geometry.kh * d->geometry.kw : 1;
}

int64_t
dense_pixels(const Dense *d)
{
	const ConvSizes *g = &d->geometry;

	return d->conv ? g->n * g->d * g->h * g->w : d->m;
}

RtPacking
dense_packing(const Emit *e, const Dense *d)
{
	const ConvSizes *g = &d->geometry;
	const int64_t *s = d->w->strides;
	const int down = d->volume && g->kh > 1 ? 3 : 2;          /* dim of w for rows of taps */
	const int row = d->conv || d->transposed ? 0 : 1, vector = e->vf == 16 && d->form != WINOGRAD ? 8 : e->vf;
	const int64_t wide = d->form == BY_TAPS ? d->n : d->form == IN_LANES ? 1 : d->form == IN_GROUPS ? e->vf : 0;

	return (RtPacking){ .to = d->w->offset, .n = d->n, .k = d->k, .taps = dense_taps(d),
			    .kw = d->conv ? g->kw : 1, .width = wide ? wide : e->panel,
			    .last = wide ? wide : panel_last(e, d->n, vector),
			    .sn = s[row], .sk = s[!row], .sr = d->conv ? s[down] : 0,
			    .ss = d->conv ? s[d->w->ndim - 1] : 0, .kh = d->volume ? g->kh : 0,
			    .sd = d->volume ? s[2] : 0 };
}
