/*
 * Losses that are not compositions of pointwise operators: negative log likelihood, binary cross entropy (which checks
 * its values), the multilabel margin, and connectionist temporal classification (CTC).
 *
 * They are computed in double. CTC is the forward recurrence over the labels with blanks between them, in logarithms.
 */
#include "dense.h"

#include <math.h>
#include <string.h>

RT_FAST

enum { NONE, MEAN, SUM };

static int
check_floating(RtCx *cx, const char *what, const RtTensor *t)
{
	return is_floating(t) ? RT_OK
			      : rt_raise(cx, "\"%s\" not implemented for '%s'", what, rt_dtypes[t->dtype].brief);
}

static int
check_long(RtCx *cx, const RtTensor *t)
{
	return t->dtype == RT_i64 ? RT_OK
				  : rt_raise(cx, "expected scalar type Long but found %s", rt_dtypes[t->dtype].brief);
}

/* Stores n losses, or their sum or mean (sum / over) as a 0-d result. */
static int
reduced(RtCx *cx, RtTensor *r, const double *loss, int64_t n, int64_t reduction, double over)
{
	RtTensor *y = dense_out(cx, r, RT_f64);
	double sum = 0;

	if (!y)
		return RT_ERROR;
	if (reduction == NONE)
		memcpy(rt_data(y), loss, (size_t)n * 8);
	for (int64_t i = 0; i < n && reduction != NONE; i++)
		sum += loss[i];
	if (reduction != NONE)
		*(double *)rt_data(y) = reduction == MEAN ? sum / over : sum;
	return dense_done(cx, r, y);
}

/* ---- negative log likelihood ------------------------------------------------------------------------- */

typedef struct Nll {
	RtTensor *self, *target, *weight;
	int64_t   reduction, ignore, n, classes, inner;   /* self is (n, classes, inner), target is (n, inner) */
	const double *x, *w;
	const int64_t *t;
} Nll;

static int
nll_geometry(RtCx *cx, Nll *g)
{
	const RtTensor *x = g->self, *t = g->target;
	DenseText a, b;
	bool same;

	if (x->ndim < 1)
		return rt_raise(cx, "input tensor should be 1D or 2D");
	if (check_floating(cx, "nll_loss_out_frame", x))
		return RT_ERROR;
	if (t->dtype != RT_u8 && check_long(cx, t))
		return RT_ERROR;
	g->n = x->ndim == 1 ? 1 : x->dims[0];
	g->classes = x->dims[x->ndim == 1 ? 0 : 1];
	g->inner = 1;
	same = x->ndim == 1 ? t->ndim <= 1 && rt_numel(t) == 1 : t->ndim == x->ndim - 1 && t->dims[0] == x->dims[0];
	for (int i = 2; i < x->ndim; i++) {
		g->inner *= x->dims[i];
		same = same && t->dims[i - 1] == x->dims[i];
	}
	if (!same)
		return rt_raise(cx, "size mismatch (got input: %s, target: %s)", dense_text(x, &a), dense_text(t, &b));
	if (g->weight && (g->weight->ndim != 1 || g->weight->dims[0] != g->classes))
		return rt_raise(cx, "weight tensor should be defined either for all %lld classes or no classes but got "
			"weight tensor of shape: %s", (long long)g->classes, dense_text(g->weight, &a));
	return RT_OK;
}

static int
nll_operands(RtCx *cx, Nll *g, bool with_self)
{
	RtTensor *x = with_self ? dense_in(cx, g->self, RT_f64) : g->self, *t = dense_in(cx, g->target, RT_i64);
	RtTensor *w = g->weight ? dense_in(cx, g->weight, RT_f64) : 0;
	int64_t n = g->n * g->inner;

	if (!x || !t || (g->weight && !w))
		return RT_ERROR;
	g->x = with_self ? (const double *)rt_data(x) : 0;
	g->t = (const int64_t *)rt_data(t);
	g->w = w ? (const double *)rt_data(w) : 0;
	for (int64_t i = 0; i < n; i++)
		if (g->t[i] != g->ignore && (g->t[i] < 0 || g->t[i] >= g->classes))
			return rt_raise(cx, "Target %lld is out of bounds.", (long long)g->t[i]);
	return RT_OK;
}

/* Arguments: self, target, weight, reduction, ignore_index. Results: the loss and, if nout is 2, the total weight. */
static int
nll(RtCx *cx, const IValue *in, int nout, IValue *out)
{
	Nll g = { .self = rt_tensor(in[0]), .target = rt_tensor(in[1]), .weight = rt_tensor(in[2]),
		.reduction = in[3].u.i, .ignore = in[4].u.i };
	RtTensor *r, *total = 0;
	double *loss, sum = 0;
	bool batched = g.self->ndim > 1;

	if (nll_geometry(cx, &g))
		return RT_ERROR;
	r = rt_result(cx, 0, g.self->dtype, g.reduction == NONE && batched ? g.target->ndim : 0, g.target->dims, 0);
	RT_PUT(r, out[0]);
	if (nout == 2) {
		total = rt_result(cx, 1, g.self->dtype, 0, 0, 0);
		RT_PUT(total, out[1]);
	}
	if (cx->meta)
		return RT_OK;
	loss = rt_scratch(cx, g.n * g.inner * 8 + 8);
	if (!loss || nll_operands(cx, &g, true))
		return RT_ERROR;
	for (int64_t i = 0; i < g.n; i++)
		for (int64_t j = 0; j < g.inner; j++) {
			int64_t o = i * g.inner + j, c = g.t[o];
			double w = c == g.ignore ? 0 : g.w ? g.w[c] : 1;

			loss[o] = c == g.ignore ? 0 : -w * g.x[(i * g.classes + c) * g.inner + j];
			sum += w;
		}
	if (total && reduced(cx, total, &(double){ g.reduction == NONE && batched ? 0 : sum }, 1, SUM, 1))
		return RT_ERROR;
	return reduced(cx, r, loss, g.n * g.inner, g.reduction, sum);
}

KERNEL(nll_loss, nll(cx, in, 1, out))
KERNEL(nll_loss2d, nll(cx, in, 1, out))
KERNEL(nll_loss_nd, nll(cx, in, 1, out))
KERNEL(nll_loss_forward, nll(cx, in, 2, out))
KERNEL(nll_loss2d_forward, nll(cx, in, 2, out))

/* Arguments: grad_output, self, target, weight, reduction, ignore_index, total_weight. The total weight is computed
 * again. */
int
rt_nll_loss_backward(RtCx *cx, const IValue *in, IValue *out)
{
	Nll g = { .self = rt_tensor(in[1]), .target = rt_tensor(in[2]), .weight = rt_tensor(in[3]),
		.reduction = in[4].u.i, .ignore = in[5].u.i };
	RtTensor *grad = rt_tensor(in[0]), *r, *dy, *y;
	double sum = 0, *dx;
	int64_t n;

	if (nll_geometry(cx, &g))
		return RT_ERROR;
	n = g.n * g.inner;
	if (rt_numel(grad) != (g.reduction == NONE ? n : 1))
		return rt_raise(cx, "nll_loss_backward: grad_output does not have the size of the loss");
	r = rt_result(cx, 0, g.self->dtype, g.self->ndim, g.self->dims, 0);
	RT_RESULT(cx, r, out[0]);
	dy = dense_in(cx, grad, RT_f64);
	y = dense_out(cx, r, RT_f64);
	if (!dy || !y || nll_operands(cx, &g, false))
		return RT_ERROR;
	dx = (double *)rt_data(y);
	memset(dx, 0, (size_t)rt_numel(y) * 8);
	for (int64_t o = 0; o < n; o++)
		sum += g.t[o] == g.ignore ? 0 : g.w ? g.w[g.t[o]] : 1;
	for (int64_t o = 0; o < n; o++)
		if (g.t[o] != g.ignore)
			dx[(o / g.inner * g.classes + g.t[o]) * g.inner + o % g.inner] = -(g.w ? g.w[g.t[o]] : 1) *
				((double *)rt_data(dy))[g.reduction == NONE ? o : 0] / (g.reduction == MEAN ? sum : 1);
	return dense_done(cx, r, y);
}

KERNEL(nll_loss2d_backward, rt_nll_loss_backward(cx, in, out))

/* ---- binary cross entropy ---------------------------------------------------------------------------------- */

int
rt_binary_cross_entropy(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]), *target = rt_tensor(in[1]), *weight = rt_tensor(in[2]), *r, *x, *t, *w = 0;
	int64_t n = rt_numel(self), reduction = in[3].u.i;
	bool same = self->ndim == target->ndim;
	DenseText a, b;
	double *loss;

	for (int i = 0; same && i < self->ndim; i++)
		same = self->dims[i] == target->dims[i];
	if (!same)
		return rt_raise(cx,
				"Using a target size (%s) that is different to the input size (%s) is not supported",
				dense_text(target, &a), dense_text(self, &b));
	if (check_floating(cx, "binary_cross_entropy", self))
		return RT_ERROR;
	if (target->dtype != self->dtype)
		return rt_raise(cx, "Found dtype %s but expected %s", rt_dtypes[target->dtype].brief,
				rt_dtypes[self->dtype].brief);
	r = rt_result(cx, 0, self->dtype, reduction == NONE ? self->ndim : 0, self->dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (weight) {
		w = rt_temp(cx, rt_tensor_new(cx, RT_f64, self->ndim, self->dims));
		if (!w || rt_copy_into(cx, w, weight))
			return RT_ERROR;
	}
	x = dense_in(cx, self, RT_f64);
	t = dense_in(cx, target, RT_f64);
	loss = rt_scratch(cx, n * 8 + 8);
	if (!x || !t || !loss)
		return RT_ERROR;
	for (int64_t i = 0; i < n; i++) {
		double v = ((double *)rt_data(x))[i], y = ((double *)rt_data(t))[i];

		if (!(v >= 0 && v <= 1))
			return rt_raise(cx, "all elements of input should be between 0 and 1");
		loss[i] = ((y - 1) * fmax(log1p(-v), -100) - y * fmax(log(v), -100)) *
			  (w ? ((double *)rt_data(w))[i] : 1);
	}
	return reduced(cx, r, loss, n, reduction, (double)n);
}

/* ---- multilabel margin ----------------------------------------------------------------------------------------- */

/* Computes the loss of a row: the sum of max(0, 1 - (x[label] - x[other])) over labels and other classes, divided by
 * the number of classes. Labels end at the first -1. Sets is[c] to 1 for each label c. Returns false if a label is out
 * of range. */
static bool
multilabel_row(const double *x, const int64_t *label, int64_t classes, double *is, double *loss)
{
	int64_t n = 0;

	for (; n < classes && label[n] >= 0; n++) {
		if (label[n] >= classes)
			return false;
		is[label[n]] = 1;
	}
	*loss = 0;
	for (int64_t k = 0; k < n; k++)
		for (int64_t c = 0; c < classes; c++)
			if (!is[c])
				*loss += fmax(1 - (x[label[k]] - x[c]), 0);
	*loss /= (double)classes;
	return true;
}

int
rt_multilabel_margin_loss_forward(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]), *target = rt_tensor(in[1]), *r, *hit, *x, *t, *h;
	int64_t reduction = in[2].u.i, rows = self->ndim == 2 ? self->dims[0] : 1;
	int64_t classes = self->ndim ? self->dims[self->ndim - 1] : 1;
	double *loss, *is;
	DenseText a, b;

	if (self->ndim > 2 || classes == 0 || rt_numel(target) != rt_numel(self) || target->ndim > 2)
		return rt_raise(cx, "inconsistent target size: %s for multi-label margin loss of %s",
				dense_text(target, &a), dense_text(self, &b));
	if (check_floating(cx, "multilabel_margin_loss_forward_out_frame", self) || check_long(cx, target))
		return RT_ERROR;
	r = rt_result(cx, 0, self->dtype, reduction == NONE && self->ndim == 2, &rows, 0);
	RT_PUT(r, out[0]);
	hit = rt_result(cx, 1, self->dtype, target->ndim, target->dims, 0);
	RT_RESULT(cx, hit, out[1]);
	x = dense_in(cx, self, RT_f64);
	t = dense_in(cx, target, RT_i64);
	h = rt_temp(cx, rt_tensor_new(cx, RT_f64, target->ndim, target->dims));
	loss = rt_scratch(cx, rows * 8 + 8);
	if (!x || !t || !h || !loss)
		return RT_ERROR;
	is = (double *)rt_data(h);
	memset(is, 0, (size_t)(rows * classes) * 8);
	for (int64_t i = 0; i < rows; i++)
		if (!multilabel_row((double *)rt_data(x) + i * classes, (int64_t *)rt_data(t) + i * classes, classes,
				    is + i * classes, &loss[i]))
			return rt_raise(cx, "multilabel_margin_loss: argument #3 target out of range");
	if (rt_copy_into(cx, hit, h))
		return RT_ERROR;
	return reduced(cx, r, loss, rows, reduction, (double)rows);
}

/* ---- CTC --------------------------------------------------------------------------------------------------------- */

typedef struct Ctc {
	RtTensor *log_probs, *targets;
	/* log_probs is (steps, n, classes); longest: length of the longest target */
	int64_t   steps, n, classes, blank, longest;
	bool      batched;
	int64_t  *length, *target_length;              /* (n) */
} Ctc;

static int64_t *
lengths(RtCx *cx, IValue v, int64_t n, const char *what)
{
	int64_t *l = rt_scratch(cx, n * 8 + 8);
	RtTensor *t;

	if (!l)
		return 0;
	if (v.tag == RT_TENSOR) {
		t = dense_in(cx, v.u.t, RT_i64);
		if (!t)
			return 0;
		if (rt_numel(t) != n)
			return rt_raise(cx, "%s must be of size batch_size", what), (int64_t *)0;
		memcpy(l, rt_data(t), (size_t)n * 8);
		return l;
	}
	if (v.u.list->n != n)
		return rt_raise(cx, "%s must be of size batch_size", what), (int64_t *)0;
	for (int64_t i = 0; i < n; i++)
		l[i] = v.u.list->v[i].u.i;
	return l;
}

/* Arguments: log_probs, targets, input_lengths, target_lengths, blank. */
static int
ctc_geometry(RtCx *cx, Ctc *g, const IValue *in)
{
	RtTensor *x = rt_tensor(in[0]);
	int64_t total = 0;

	g->log_probs = x;
	g->targets = rt_tensor(in[1]);
	g->blank = in[4].u.i;
	if (x->ndim != 2 && x->ndim != 3)
		return rt_raise(cx, "ctc_loss: log_probs should have 2 or 3 dims");
	if (check_floating(cx, "ctc_loss_cpu", x))
		return RT_ERROR;
	g->batched = x->ndim == 3;
	g->steps = x->dims[0];
	g->n = g->batched ? x->dims[1] : 1;
	g->classes = x->dims[x->ndim - 1];
	if (g->blank < 0 || g->blank >= g->classes)
		return rt_raise(cx, "blank must be in label range");
	if (cx->meta && (in[2].tag == RT_TENSOR || in[3].tag == RT_TENSOR))
		return rt_no_meta(cx);
	g->length = lengths(cx, in[2], g->n, "input_lengths");
	g->target_length = g->length ? lengths(cx, in[3], g->n, "target_lengths") : 0;
	if (!g->target_length)
		return RT_ERROR;
	g->longest = 0;
	for (int64_t i = 0; i < g->n; i++) {
		if (g->length[i] < 0 || g->length[i] > g->steps)
			return rt_raise(cx, "Expected input_lengths to have value at most %lld, but got value %lld "
				"(while checking arguments for ctc_loss_cpu)", (long long)g->steps,
				(long long)g->length[i]);
		if (g->target_length[i] < 0 || g->target_length[i] > rt_numel(g->targets))
			return rt_raise(cx, "ctc_loss: target_lengths out of range");
		g->longest = g->target_length[i] > g->longest ? g->target_length[i] : g->longest;
		total += g->target_length[i];
	}
	if (g->targets->ndim == 2 && (g->targets->dims[0] != g->n || g->targets->dims[1] < g->longest))
		return rt_raise(cx, "Expected tensor to have size at least %lld at dimension 1 (while checking "
			"arguments for ctc_loss_cpu)", (long long)g->longest);
	if (g->targets->ndim != 2 && rt_numel(g->targets) != total)
		return rt_raise(cx, "Expected tensor to have size %lld at dimension 0 (while checking arguments for "
			"ctc_loss_cpu)", (long long)total);
	return RT_OK;
}

static double
log_add(double a, double b)
{
	double top = a > b ? a : b;

	return top == -INFINITY ? top : top + log(exp(a - top) + exp(b - top));
}

/* Computes log_alpha (steps, 2 * labels + 1) of one sequence in alpha. The row stride is that of the longest target.
 * Returns the loss. */
static double
ctc_forward(const Ctc *g, const double *x, const int64_t *label, int64_t steps, int64_t labels, double *alpha)
{
	int64_t states = 2 * labels + 1, row = 2 * g->longest + 1, step = g->n * g->classes;

	if (steps == 0)
		return labels == 0 ? 0 : INFINITY;
	for (int64_t t = 0; t < steps; t++)
		for (int64_t s = 0; s < states; s++) {
			int64_t at = s % 2 ? label[s / 2] : g->blank;
			double v = t == 0 ? (s < 2 ? 0 : -INFINITY) : alpha[(t - 1) * row + s];

			if (t && s)
				v = log_add(v, alpha[(t - 1) * row + s - 1]);
			if (t && s > 1 && s % 2 && label[s / 2] != label[s / 2 - 1])
				v = log_add(v, alpha[(t - 1) * row + s - 2]);
			alpha[t * row + s] = v + x[t * step + at];
		}
	alpha += (steps - 1) * row;
	return -(labels ? log_add(alpha[states - 1], alpha[states - 2]) : alpha[0]);
}

/* Computes the losses (n). alpha has the states of the first sequence; the states of the next sequence are `apart`
 * elements further on. If apart is 0, all sequences use the same memory. */
static int
ctc_losses(RtCx *cx, const Ctc *g, double *loss, double *alpha, int64_t apart)
{
	RtTensor *x = dense_in(cx, g->log_probs, RT_f64), *t = dense_in(cx, g->targets, RT_i64);
	int64_t at = 0;

	if (!x || !t)
		return RT_ERROR;
	for (int64_t i = 0; i < g->n; i++) {
		const int64_t *label = (int64_t *)rt_data(t) + (g->targets->ndim == 2 ? i * g->targets->dims[1] : at);

		for (int64_t k = 0; k < g->target_length[i]; k++)
			if (label[k] < 0 || label[k] >= g->classes)
				return rt_raise(cx, "ctc_loss: targets must be in label range");
		loss[i] = ctc_forward(g, (double *)rt_data(x) + i * g->classes, label, g->length[i],
				      g->target_length[i], alpha + i * apart);
		at += g->target_length[i];
	}
	return RT_OK;
}

/* Computes ctc_loss. The arguments after the sequences are blank, reduction, zero_infinity. */
static int
ctc_loss(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t reduction = in[5].u.i;
	RtTensor *r;
	double *loss, *alpha;
	int status;
	Ctc g;

	status = ctc_geometry(cx, &g, in);
	if (status && status != RT_UNKNOWN_META)  /* the result's size does not depend on lengths */
		return status;
	r = rt_result(cx, 0, g.log_probs->dtype, reduction == NONE && g.batched, &g.n, 0);
	RT_RESULT(cx, r, out[0]);
	loss = rt_scratch(cx, g.n * 8 + 8);
	alpha = rt_scratch(cx, g.steps * (2 * g.longest + 1) * 8 + 8);
	if (!loss || !alpha || ctc_losses(cx, &g, loss, alpha, 0))
		return RT_ERROR;
	for (int64_t i = 0; i < g.n; i++) {
		if (in[6].u.i && isinf(loss[i]))
			loss[i] = 0;
		if (reduction == MEAN)
			loss[i] /= (double)(g.target_length[i] > 1 ? g.target_length[i] : 1);
	}
	return reduced(cx, r, loss, g.n, reduction, (double)g.n);
}

KERNEL(ctc_loss_IntList, ctc_loss(cx, in, out))
KERNEL(ctc_loss_Tensor, ctc_loss(cx, in, out))

/* Results: the losses, and log_alpha (n, steps, 2 * longest + 1), which is -inf where there is no state. */
int
rt__ctc_loss(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *r, *a, *y, *all;
	int64_t dims[3];
	Ctc g;
	int status = ctc_geometry(cx, &g, in);

	if (status)
		return status;
	if (!g.batched)
		return rt_raise(cx, "ctc_loss: log_probs should have 3 dims");
	dims[0] = g.n;
	dims[1] = g.steps;
	dims[2] = 2 * g.longest + 1;
	r = rt_result(cx, 0, g.log_probs->dtype, 1, dims, 0);
	RT_PUT(r, out[0]);
	a = rt_result(cx, 1, g.log_probs->dtype, 3, dims, 0);
	RT_RESULT(cx, a, out[1]);
	y = dense_out(cx, r, RT_f64);
	all = dense_out(cx, a, RT_f64);
	if (!y || !all)
		return RT_ERROR;
	for (int64_t i = 0; i < rt_numel(all); i++)
		((double *)rt_data(all))[i] = -INFINITY;
	if (ctc_losses(cx, &g, (double *)rt_data(y), (double *)rt_data(all), dims[1] * dims[2]) ||
	    dense_done(cx, a, all))
		return RT_ERROR;
	return dense_done(cx, r, y);
}

KERNEL(_ctc_loss_Tensor, rt__ctc_loss(cx, in, out))
