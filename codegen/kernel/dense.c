/*
 * Finds the nodes that are products and convolutions with constant weights.
 */
#include "dense.h"

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
take_bias(Plan *p, const Value *v, int64_t n, DenseNode *d)
{
	const RtTensor *t = v ? dense_constant(p, v) : NULL;

	d->bias = v;
	return !v || (t && t->ndim == 1 && t->dims[0] == n);
}

static bool
take_product(Plan *p, const Node *n, DenseNode *d)
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
	d->transposed = linear;
	d->n = d->w->dims[linear ? 0 : 1];
	d->k = d->w->dims[linear ? 1 : 0];
	d->groups = 1;
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

static bool
take_convolution(Plan *p, const Node *n, DenseNode *d)
{
	Convolution c;

	if (n->op->lowering != LOWER_CONVOLUTION || !convolution_take(p, n, &c) ||
	    !(d->w = dense_constant(p, named_arg(n, "weight"))) || !as_pixels(c.x, &d->lda) ||
	    !as_pixels(c.y, &d->ldc) || !rows_follow(d->w))
		return false;
	d->x = named_arg(n, "input");
	d->weight = named_arg(n, "weight");
	d->windows = c.windows;
	d->groups = c.groups;
	d->n = d->w->dims[0] / d->groups;
	d->k = d->w->dims[1];
	d->m = rt_numel(c.y) / c.y->dims[1];
	d->images = c.x->dims[0];
	return d->k <= 8192 && take_bias(p, c.bias, d->w->dims[0], d);
}

bool
dense_take(Plan *p, const Node *n, DenseNode *d)
{
	*d = (DenseNode){ .images = 1 };
	return n->op && n->nout == 1 && plan_tensor(p, n->out[0]) && plan_tensor(p, n->out[0])->dtype == RT_f32 &&
	       (take_product(p, n, d) || take_convolution(p, n, d));
}

bool
dense_may_be_apart(Plan *p, const Node *n)
{
	DenseNode d;

	return dense_take(p, n, &d) && !(d.groups > 1 && d.n == 1 && d.k == 1) && d.ldc == d.n * d.groups;
}

bool
node_is_dense(Plan *p, const Node *n)
{
	DenseNode d;

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
	DenseNode d;

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
	DenseNode d;

	return dense_take(p, n, &d) ? d.n * d.groups : 0;
}
