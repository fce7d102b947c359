/*
 * Normalizations: batch, instance, group, layer and rms norm, and their gradients.
 *
 * All of them subtract a mean and divide by a deviation over groups of elements, then scale and shift. A group is
 * `pieces` runs of contiguous elements. For a channel of a batch norm, these are the planes of all images; for a layer
 * norm, one row. Moments are summed and applied in double for all dtypes: squares of floats cannot overflow there, and
 * a constant row has the variance 0 at any offset. PyTorch rounds some of these steps to bfloat16, which only loses
 * accuracy.
 */
#include "block.h"
#include "dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct Norm {
	int64_t groups, pieces, run, step;   /* group i begins at i * run; step: stride of a group's runs */
	int64_t per;                         /* number of elements of a run that share a weight */
	int64_t modulo; /* index of group i's first weight: i % modulo * (run / per); 0 for all groups if modulo is 0 */
	bool    uncentered;                  /* whether the mean is not subtracted, as in rms norm */
	bool    batch;                       /* whether it is a batch or instance norm */
	bool    given;                       /* whether moments are given, as in batch norm in evaluation */
	bool    fixed;                       /* gradient: whether the moments are constants */
	bool    lanes;                       /* whether groups are adjacent columns of `pieces` rows */
	double  eps;
	double *mean, *var;                  /* (groups) */
	void   *x, *y, *weight, *bias;
} Norm;

enum { LANES = 64 };                         /* number of columns of a part */

/* Returns 1 / deviation of group i. 0 for a constant channel of a batch norm without eps. */
static double
inverse(const Norm *g, int64_t i)
{
	const double v = g->var[i] + g->eps;

	return v == 0 && g->batch && !g->given ? 0 : 1 / sqrt(v);
}

RT_FAST
#define T float
#define N(name) name##_f32
#include "norm_loops.h"
#define T double
#define N(name) name##_f64
#include "norm_loops.h"
RT_SMALL

static void
moments(RtCx *cx, Norm *g, RtDtype ct)
{
	if (g->lanes)
		rt_parallel(cx, (g->groups + LANES - 1) / LANES, 1, ct == RT_f32 ? lane_moments_f32 : lane_moments_f64,
			    g);
	else
		rt_parallel(cx, g->groups, 1 + 20000 / (g->pieces * g->run + 1),
			    ct == RT_f32 ? moments_f32 : moments_f64, g);
}

static void
apply_norm(RtCx *cx, Norm *g, RtDtype ct)
{
	if (g->lanes)
		rt_parallel(cx, g->pieces, 1 + 20000 / (g->groups + 1), ct == RT_f32 ? lane_apply_f32 : lane_apply_f64,
			    g);
	else
		rt_parallel(cx, g->groups, 1 + 20000 / (g->pieces * g->run + 1), ct == RT_f32 ? apply_f32 : apply_f64,
			    g);
}

static int
needs_floating(RtCx *cx, const char *what, const RtTensor *t)
{
	return is_floating(t) ? RT_OK
			      : rt_raise(cx, "\"%s\" not implemented for '%s'", what, rt_dtypes[t->dtype].brief);
}

/* Raises an error unless the parameters (each may be null) have the input's dtype, or all are float and the input is
 * bfloat16 or half. fused: whether the kernel is batch norm's, which checks mixed dtypes first. */
static int
check_dtypes(RtCx *cx, bool fused, const RtTensor *t, RtTensor *const *params, int n)
{
	const RtTensor *first = NULL, *other = NULL;
	bool all_float = true;

	for (int i = 0; i < n; i++) {
		if (!params[i])
			continue;
		first = first ? first : params[i];
		other = !other && params[i]->dtype != t->dtype ? params[i] : other;
		all_float &= params[i]->dtype == RT_f32;
	}
	if (!other || rt_numel(t) == 0 || (all_float && (t->dtype == RT_bf16 || t->dtype == RT_f16)))
		return RT_OK;
	if (!fused || first->dtype == t->dtype)
		return rt_raise(cx, "expected scalar type %s but found %s", rt_dtypes[t->dtype].brief,
			rt_dtypes[other->dtype].brief);
	return rt_raise(cx, "mixed dtype (CPU): expect %s", all_float ? "input to have scalar type of BFloat16" :
		"parameter to have scalar type of Float");
}

/* Returns a copy with channels last. Null if memory is exhausted. */
static RtTensor *
with_channels_last(RtCx *cx, const RtTensor *t)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];

	for (int i = 0; i < t->ndim; i++) {
		const int from = i == 0 ? 0 : i == t->ndim - 1 ? 1 : i + 1;

		dims[i] = t->dims[from];
		strides[i] = t->strides[from];
	}
	return rt_temp(cx, rt_tensor_view(cx, t, t->ndim, dims, strides, t->offset));
}

/* Makes dense arrays of x and the parameters, and allocates the moments. */
static int
prepare(RtCx *cx, Norm *g, RtTensor *x, RtTensor *weight, RtTensor *bias, RtDtype ct)
{
	RtTensor *from = g->lanes ? with_channels_last(cx, x) : x, *d = from ? dense_in(cx, from, ct) : 0;
	RtTensor *w = weight ? dense_in(cx, weight, ct) : 0, *b = bias ? dense_in(cx, bias, ct) : 0;

	g->mean = rt_scratch(cx, g->groups * 16 + 16);
	if (!d || (weight && !w) || (bias && !b) || !g->mean)
		return RT_ERROR;
	g->var = g->mean + g->groups;
	g->x = rt_data(d);
	g->weight = w ? rt_data(w) : 0;
	g->bias = b ? rt_data(b) : 0;
	return RT_OK;
}

/* Writes doubles into a tensor of any floating type. */
static int
store_doubles(RtCx *cx, RtTensor *t, const double *v)
{
	RtTensor *d = dense_out(cx, t, RT_f64);
	int64_t n = rt_numel(t);

	if (!d)
		return RT_ERROR;
	memcpy(rt_data(d), v, (size_t)n * 8);
	return dense_done(cx, t, d);
}

/* Stores the mean and the inverse deviation of each group. Overwrites the variances by the latter. */
static int
store_moments(RtCx *cx, Norm *g, RtTensor *mean, RtTensor *rstd)
{
	for (int64_t i = 0; i < g->groups; i++)
		g->var[i] = inverse(g, i);
	return store_doubles(cx, mean, g->mean) || store_doubles(cx, rstd, g->var) ? RT_ERROR : RT_OK;
}

/* ---- batch norm -------------------------------------------------------------------------------------- */

typedef struct Batch {
	RtTensor *input;
	RtTensor *weight, *bias, *mean, *var;    /* mean, var: running statistics, which may be null in training */
	bool      training;
	double    momentum, eps;
	bool      items;                         /* whether each channel of each item is a group, as in instance norm */
} Batch;

static int
check_channels(RtCx *cx, const RtTensor *t, const char *name, int64_t channels)
{
	if (t && rt_numel(t) != channels)
		return rt_raise(cx, "%s should contain %lld elements not %lld", name, (long long)channels,
				(long long)rt_numel(t));
	return RT_OK;
}

static int
batch_geometry(RtCx *cx, const Batch *a, Norm *g)
{
	const RtTensor *t = a->input;
	int64_t channels;

	memset(g, 0, sizeof *g);
	channels = t->ndim < 2 ? 0 : t->dims[1];
	if (needs_floating(cx, "batch_norm", t) || check_channels(cx, a->mean, "running_mean", channels) ||
	    check_channels(cx, a->var, "running_var", channels) || check_channels(cx, a->weight, "weight", channels) ||
	    check_channels(cx, a->bias, "bias", channels))
		return RT_ERROR;
	if (!a->training && (!a->mean || !a->var))
		return rt_raise(cx, "running_%s must be defined in evaluation mode", a->mean ? "var" : "mean");
	if (t->ndim < 2 && rt_numel(t))
		return rt_raise(cx, "Expected at least 2D input to batch_norm");
	if (check_dtypes(cx, true, t, (RtTensor *[]){ a->weight, a->bias, a->mean, a->var }, 4))
		return RT_ERROR;
	g->batch = true;
	g->groups = g->modulo = channels;
	g->pieces = t->ndim ? t->dims[0] : 1;
	g->run = 1;
	for (int i = 2; i < t->ndim; i++)
		g->run *= t->dims[i];
	g->per = g->run ? g->run : 1;
	g->step = channels * g->run;
	g->eps = a->eps;
	return RT_OK;
}

/* Sets up groups as columns if channels are innermost, as in a matrix. A piece is then a pixel with all its
 * channels. */
static void
take_lanes(const RtTensor *t, Norm *g)
{
	int64_t strides[RT_MAX_RANK];

	g->lanes = t->ndim == 2 || dense_format(t, t->ndim, t->dims, strides);
	if (!g->lanes)
		return;
	g->pieces *= g->run;
	g->run = g->per = 1;
	g->step = g->groups;
}

static void
take_items(Norm *g)
{
	g->groups *= g->pieces;
	g->pieces = 1;
	g->step = g->run;
}

/* Computes running = (1 - momentum) running + momentum (value * correction). With items, value is the mean over the
 * items. */
static int
update_running(RtCx *cx, RtTensor *running, const double *value, int64_t groups, double momentum, double correction)
{
	RtTensor *d = running ? dense_in(cx, running, RT_f64) : 0, *fresh;
	int64_t n = running ? rt_numel(running) : 0;

	if (!running)
		return RT_OK;
	fresh = rt_temp(cx, rt_tensor_new(cx, RT_f64, running->ndim, running->dims));
	if (!d || !fresh)
		return RT_ERROR;
	for (int64_t i = 0; i < n; i++) {
		double mean = 0;

		for (int64_t j = i; j < groups; j += n)
			mean += value[j];
		mean /= (double)(groups / n);
		((double *)rt_data(fresh))[i] = (1 - momentum) * ((double *)rt_data(d))[i] +
						momentum * mean * correction;
	}
	return rt_copy_into(cx, running, fresh);
}

/* Computes the moments: those of the input, which also update the running ones, or the running ones. */
static int
batch_moments(RtCx *cx, const Batch *a, Norm *g, RtDtype ct)
{
	double n = (double)(g->pieces * g->run);
	RtTensor *m, *v;

	if (a->training) {
		moments(cx, g, ct);
		return update_running(cx, a->mean, g->mean, g->groups, a->momentum, 1) ||
			update_running(cx, a->var, g->var, g->groups, a->momentum, n / (n - 1)) ? RT_ERROR : RT_OK;
	}
	g->given = true;
	m = dense_in(cx, a->mean, RT_f64);
	v = dense_in(cx, a->var, RT_f64);
	if (!m || !v)
		return RT_ERROR;
	for (int64_t i = 0; i < g->groups; i++) {
		g->mean[i] = ((double *)rt_data(m))[i % g->modulo];
		g->var[i] = ((double *)rt_data(v))[i % g->modulo];
	}
	return RT_OK;
}

/* Makes out[0]. If nout is 3, also the saved mean and inverse deviation: those of the batch, or empty ones. */
static int
batch_results(RtCx *cx, const Batch *a, int nout, IValue *out)
{
	RtTensor *t = a->input, *r[3] = { 0, 0, 0 }, *y, *to;
	RtDtype ct = compute_type(t), saved = a->weight ? (RtDtype)a->weight->dtype :
		a->mean ? (RtDtype)a->mean->dtype : (RtDtype)t->dtype;
	int64_t strides[RT_MAX_RANK], count;
	Norm g;

	if (batch_geometry(cx, a, &g))
		return RT_ERROR;
	if (a->items)
		take_items(&g);
	else
		take_lanes(t, &g);
	count = a->training ? g.groups : 0;
	for (int i = 0; i < nout; i++) {
		r[i] = i == 0 ? rt_result(cx, 0, t->dtype, t->ndim, t->dims,
					   a->items ? 0 : dense_format(t, t->ndim, t->dims, strides))
			      : rt_result(cx, i, saved, 1, &count, 0);
		RT_PUT(r[i], out[i]);
	}
	if (cx->meta || rt_numel(t) == 0)
		return RT_OK;
	to = g.lanes ? with_channels_last(cx, r[0]) : r[0];
	y = to ? dense_out(cx, to, ct) : 0;
	if (!y || prepare(cx, &g, t, a->weight, a->bias, ct) || batch_moments(cx, a, &g, ct))
		return RT_ERROR;
	g.y = rt_data(y);
	apply_norm(cx, &g, ct);
	if (nout == 3 && a->training && store_moments(cx, &g, r[1], r[2]))
		return RT_ERROR;
	return dense_done(cx, to, y);
}

/* Arguments: input, weight, bias, running_mean, running_var, training, momentum, eps. */
static Batch
batch_args(const IValue *in, bool items)
{
	return (Batch){ rt_tensor(in[0]), rt_tensor(in[1]), rt_tensor(in[2]), rt_tensor(in[3]), rt_tensor(in[4]),
		in[5].u.i != 0, rt_number(in[6]), rt_number(in[7]), items };
}

/* Makes the result for an empty input: a copy times weight[0] plus bias[0]. Only the type of these matters. */
static int
empty_batch(RtCx *cx, const Batch *a, IValue *out)
{
	const RtTensor *const t = a->input, *const by[] = { a->weight, a->bias };
	RtDtype dtype = (RtDtype)t->dtype;
	RtTensor *r;

	for (int i = 0; i < 2; i++) {
		if (by[i] && !rt_numel(by[i]))
			return rt_raise(cx, "select(): index 0 out of range for tensor of size [0] at dimension 0");
		if (by[i] && is_floating(by[i]) && rt_is_integral(dtype, true))
			dtype = (RtDtype)by[i]->dtype;
	}
	r = rt_result(cx, 0, dtype, t->ndim, t->dims, 0);
	RT_RESULT(cx, r, out[0]);
	return RT_OK;
}

static int
batch(RtCx *cx, const IValue *in, int nout, IValue *out)
{
	const Batch a = batch_args(in, false);

	return nout == 1 && !rt_numel(a.input) ? empty_batch(cx, &a, out) : batch_results(cx, &a, nout, out);
}

KERNEL(batch_norm, batch(cx, in, 1, out))
KERNEL(native_batch_norm, batch(cx, in, 3, out))
KERNEL(_native_batch_norm_legit, batch(cx, in, 3, out))
/* Arguments: input, weight, bias, training, momentum, eps. */
KERNEL(_native_batch_norm_legit_no_stats,
       batch(cx, RT_VALUES(in[0], in[1], in[2], rt_none(), rt_none(), in[3], in[4], in[5]), 3, out))
/* Arguments: input, weight, bias, running_mean, running_var, momentum, eps. */
KERNEL(_native_batch_norm_legit_no_training,
       batch(cx, RT_VALUES(in[0], in[1], in[2], in[3], in[4], rt_bool(false), in[5], in[6]), 3, out))

int
rt_instance_norm(RtCx *cx, const IValue *in, IValue *out)
{
	const Batch a = batch_args(in, true);

	if (!a.training && (!a.mean || !a.var))
		return rt_raise(cx,
				"Expected running_mean and running_var to be defined when use_input_stats is false");
	if (a.input->ndim == 0)
		return rt_raise(cx, "Dimension specified as 0 but tensor has no dimensions");
	if (a.input->ndim == 1)
		return rt_raise(cx, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
	return batch_results(cx, &a, 1, out);
}

/* ---- layer, group and rms norm ----------------------------------------------------------------------------- */

static int
check_same(RtCx *cx, const char *name, const RtTensor *v, int n, const int64_t *size)
{
	char given[SIZES_TEXT];
	DenseText text;

	if (!v || (v->ndim == n && memcmp(v->dims, size, n * sizeof *size) == 0))
		return RT_OK;
	return rt_raise(cx, "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
		"normalized_shape = %s", name, name, dense_text(v, &text), sizes_text(given, n, size));
}

typedef struct Operands { RtTensor *t, *weight, *bias; } Operands;           /* weight and bias may be null */

/* Sets the geometry of rows over the trailing dims in shape. Returns the index of the first of these dims. -1 if an
 * error was raised. */
static int
row_geometry(RtCx *cx, const char *op, const Operands *of, IValue shape, Norm *g)
{
	const RtTensor *t = of->t;
	int64_t size[RT_MAX_RANK];
	int n = rt_ints(cx, shape, size, RT_MAX_RANK), axis = t->ndim - n;
	char given[SIZES_TEXT];
	DenseText text;

	memset(g, 0, sizeof *g);
	if (n < 0)
		return -1;
	if (n < 1)
		return rt_raise(cx, "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
			"one element, but got normalized_shape = []"), -1;
	g->run = g->groups = 1;
	for (int i = 0; i < t->ndim; i++) {
		if (i >= axis && (axis < 0 || size[i - axis] != t->dims[i]))
			axis = -1;
		if (axis < 0)
			break;
		*(i < axis ? &g->groups : &g->run) *= t->dims[i];
	}
	if (axis < 0)
		return rt_raise(cx, "Given normalized_shape=%s, expected input with shape [*, %s, but got input of "
			"size%s", sizes_text(given, n, size), given + 1, dense_text(t, &text)), -1;
	if (check_same(cx, "weight", of->weight, n, size) || check_same(cx, "bias", of->bias, n, size))
		return -1;
	if (needs_floating(cx, op, t))
		return -1;
	g->pieces = g->per = 1;
	g->step = g->run;
	return axis;
}

typedef struct Results {
	const int64_t *strides;  /* strides of the normalized rows; null for row-major */
	int n;    /* number of results: 1, or 3 with mean and inverse deviation, which have these dims: */
	int ndim;
	const int64_t *dims;
} Results;

static int
rows(RtCx *cx, Norm *g, const Operands *x, const Results *to, IValue *out)
{
	RtTensor *t = x->t, *weight = x->weight, *bias = x->bias;
	RtDtype ct = compute_type(t), saved = weight && weight->dtype != t->dtype ? RT_f32 : (RtDtype)t->dtype;
	RtTensor *r[3] = { 0, 0, 0 }, *y;

	if (check_dtypes(cx, false, t, (RtTensor *[]){ weight, bias }, 2))
		return RT_ERROR;
	for (int i = 0; i < to->n; i++) {
		r[i] = i == 0 ? rt_result(cx, 0, t->dtype, t->ndim, t->dims, to->strides)
			      : rt_result(cx, i, saved, to->ndim, to->dims, 0);
		RT_PUT(r[i], out[i]);
	}
	if (cx->meta || rt_numel(t) == 0)
		return RT_OK;
	y = dense_out(cx, r[0], ct);
	if (!y || prepare(cx, g, t, weight, bias, ct))
		return RT_ERROR;
	g->y = rt_data(y);
	moments(cx, g, ct);
	apply_norm(cx, g, ct);
	if (to->n == 3 && store_moments(cx, g, r[1], r[2]))
		return RT_ERROR;
	return dense_done(cx, r[0], y);
}

static int
layer(RtCx *cx, const IValue *in, int nout, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *weight = rt_tensor(in[2]), *bias = rt_tensor(in[3]);
	int64_t dims[RT_MAX_RANK];
	Norm g;
	int axis = row_geometry(cx, "LayerNormKernelImpl", &(Operands){ t, weight, bias }, in[1], &g);

	if (axis < 0)
		return RT_ERROR;
	for (int i = 0; i < t->ndim; i++)
		dims[i] = i < axis ? t->dims[i] : 1;
	g.eps = rt_number(in[4]);
	return rows(cx, &g, &(Operands){ t, weight, bias }, &(Results){ NULL, nout, t->ndim, dims }, out);
}

KERNEL(layer_norm, layer(cx, in, 1, out))
KERNEL(native_layer_norm, layer(cx, in, 3, out))

/* Arguments: input, normalized_shape, weight, eps (None for the dtype's epsilon). */
int
rt_rms_norm(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *weight = rt_tensor(in[2]);
	Norm g;

	if (row_geometry(cx, "rms_norm", &(Operands){ t, weight, NULL }, in[1], &g) < 0)
		return RT_ERROR;
	g.uncentered = true;
	g.eps = rt_is_none(in[3]) ? (t->dtype == RT_f64 ? DBL_EPSILON : FLT_EPSILON) : rt_number(in[3]);
	return rows(cx, &g, &(Operands){ t, weight, NULL }, &(Results){ .n = 1 }, out);
}

/* Returns the geometry in which each group of channels is a row. */
static Norm
groups_of(int64_t n, int64_t channels, int64_t plane, int64_t groups)
{
	return (Norm){ .groups = n * groups, .pieces = 1, .run = channels / groups * plane,
		       .step = channels / groups * plane, .per = plane ? plane : 1, .modulo = groups };
}

/* Raises an error unless a weight or bias has one element for each channel. The error has the weight's sizes in both
 * cases, as in PyTorch. */
static int
check_vector(RtCx *cx, const char *name, const RtTensor *v, const RtTensor *weight, const RtTensor *t, int64_t channels)
{
	DenseText a, b;

	if (!v || (v->ndim == 1 && v->dims[0] == channels))
		return RT_OK;
	return rt_raise(cx, "Expected %s to be a vector of size equal to the number of channels in input, but got "
		"%s of shape %s and input of shape %s", name, name, weight ? dense_text(weight, &a) : "[0]",
		dense_text(t, &b));
}

/* Computes a group norm. size: number of images, channels, elements of a channel, groups. */
static int
group(RtCx *cx, const Operands *x, const int64_t size[4], double eps, int nout, IValue *out)
{
	const int64_t n = size[0], channels = size[1], plane = size[2], groups = size[3], dims[2] = { n, groups };
	RtTensor *t = x->t, *weight = x->weight, *bias = x->bias;
	int64_t strides[RT_MAX_RANK];
	DenseText text;
	Norm g;

	if (channels <= 0)
		return rt_raise(cx, "Expected number of channels to be greater than 0, got %lld", (long long)channels);
	if (plane <= 0)
		return rt_raise(cx, "Expected HxW to be greater than 0, got %lld", (long long)plane);
	if (groups <= 0)
		return rt_raise(cx, "Expected num groups to be greater than 0, got %lld", (long long)groups);
	if (channels % groups)
		return rt_raise(cx, "Expected number of channels in input to be divisible by num_groups, but got input "
			"of shape %s and num_groups=%lld", dense_text(t, &text), (long long)groups);
	if (check_vector(cx, "weight", weight, weight, t, channels) ||
	    check_vector(cx, "bias", bias, weight, t, channels) || needs_floating(cx, "GroupNormKernelImpl", t))
		return RT_ERROR;
	if (n < 0 || channels < 0 || plane < 0 || n * channels * plane != rt_numel(t))
		return rt_raise(cx, "group_norm: sizes do not fit the input");
	g = groups_of(n, channels, plane, groups);
	g.eps = eps;
	return rows(cx, &g, x, &(Results){ dense_format(t, t->ndim, t->dims, strides), nout, 2, dims }, out);
}

int
rt_group_norm(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	int64_t plane = 1;

	if (t->ndim < 2)
		return rt_raise(cx, "Expected at least 2 dimensions for input tensor but received %d", t->ndim);
	for (int i = 2; i < t->ndim; i++)
		plane *= t->dims[i];
	return group(cx, &(Operands){ t, rt_tensor(in[2]), rt_tensor(in[3]) },
		     (const int64_t[]){ t->dims[0], t->dims[1], plane, in[1].u.i }, rt_number(in[4]), 1, out);
}

KERNEL(native_group_norm,
       group(cx, &(Operands){ rt_tensor(in[0]), rt_tensor(in[1]), rt_tensor(in[2]) },
	     (const int64_t[]){ in[3].u.i, in[4].u.i, in[5].u.i, in[6].u.i }, rt_number(in[7]), 3, out))

/* ---- gradients ---------------------------------------------------------------------------------------------- */

typedef struct Back {
	RtTensor *grad, *input;          /* gradient of the result; input */
	const RtTensor *params;          /* weight or bias; null if there is neither */
	int64_t   count;                 /* number of elements of params */
	const RtList *mask;              /* whether each of the three results is requested */
} Back;

/* Makes r[0 .. 2] for the gradients of input, weight and bias that mask requests. The others are empty. */
static int
backward_results(RtCx *cx, const Norm *g, const Back *b, RtTensor **r, IValue *out)
{
	const RtTensor *t = b->input, *params = b->params;
	int64_t none = 0, strides[RT_MAX_RANK];

	for (int i = 0; i < 3; i++) {
		bool wanted = i < b->mask->n && b->mask->v[i].u.i;

		r[i] = !wanted ? rt_result(cx, i, t->dtype, 1, &none, 0) : i == 0 ?
			rt_result(cx, 0, t->dtype, t->ndim, t->dims,
				  g->lanes ? dense_format(t, t->ndim, t->dims, strides) : 0) : params ?
			rt_result(cx, i, params->dtype, params->ndim, params->dims, 0) :
			rt_result(cx, i, t->dtype, 1, &b->count, 0);
		RT_PUT(r[i], out[i]);
	}
	return RT_OK;
}

/* Runs the loops of the gradients. dx is null if it is not requested. sums has the gradients of the weight, then of the
 * bias; it is zeroed here. */
static void
backward_loops(const Norm *g, const Back *b, RtTensor *dy, RtTensor *dx, double *sums)
{
	const bool single = compute_type(b->input) == RT_f32;

	memset(sums, 0, (size_t)b->count * 16);
	if (g->lanes && single)
		lane_backward_f32(g, (float *)rt_data(dy), dx ? (float *)rt_data(dx) : 0, sums, sums + b->count);
	else if (g->lanes)
		lane_backward_f64(g, (double *)rt_data(dy), dx ? (double *)rt_data(dx) : 0, sums, sums + b->count);
	else if (single)
		backward_f32(g, (float *)rt_data(dy), dx ? (float *)rt_data(dx) : 0, sums, sums + b->count);
	else
		backward_f64(g, (double *)rt_data(dy), dx ? (double *)rt_data(dx) : 0, sums, sums + b->count);
}

static int
backward(RtCx *cx, Norm *g, const Back *b, IValue *out)
{
	const RtList *mask = b->mask;
	const RtDtype ct = compute_type(b->input);
	RtTensor *grad = b->grad, *r[3], *dy, *dx = 0, *to = 0;
	double *sums;

	if (backward_results(cx, g, b, r, out))
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	if (g->lanes)
		grad = with_channels_last(cx, grad);
	if (mask->v[0].u.i)
		to = g->lanes ? with_channels_last(cx, r[0]) : r[0];
	dy = grad ? dense_in(cx, grad, ct) : 0;
	dx = to ? dense_out(cx, to, ct) : 0;
	sums = rt_scratch(cx, b->count * 16 + 16);
	if (!dy || (mask->v[0].u.i && !dx) || !sums)
		return RT_ERROR;
	backward_loops(g, b, dy, dx, sums);
	if (dx && dense_done(cx, to, dx))
		return RT_ERROR;
	for (int i = 1; i < 3; i++)
		if (i < mask->n && mask->v[i].u.i && store_doubles(cx, r[i], sums + (i - 1) * b->count))
			return RT_ERROR;
	return RT_OK;
}

/* Arguments: grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask. */
int
rt_native_batch_norm_backward(RtCx *cx, const IValue *in, IValue *out)
{
	Batch a = { rt_tensor(in[1]), rt_tensor(in[2]), 0, rt_tensor(in[3]),
		    rt_tensor(in[4]), in[7].u.i != 0, 0, rt_number(in[8]), false };
	RtDtype ct = compute_type(a.input);
	Norm g;

	if (batch_geometry(cx, &a, &g))
		return RT_ERROR;
	take_lanes(a.input, &g);
	g.fixed = !a.training;
	if (a.training)
		a.mean = a.var = 0;
	if (!cx->meta && (prepare(cx, &g, a.input, a.weight, 0, ct) || batch_moments(cx, &a, &g, ct)))
		return RT_ERROR;
	return backward(cx, &g, &(Back){ rt_tensor(in[0]), a.input, a.weight, g.groups, in[9].u.list }, out);
}

/* Does the same as prepare, but with the statistics of the forward pass: the mean and the inverse deviation. */
static int
prepare_saved(RtCx *cx, Norm *g, RtTensor *t, RtTensor *weight, RtTensor *mean, RtTensor *rstd)
{
	RtTensor *m = dense_in(cx, mean, RT_f64), *s = dense_in(cx, rstd, RT_f64);

	if (!m || !s || prepare(cx, g, t, weight, 0, compute_type(t)))
		return RT_ERROR;
	for (int64_t i = 0; i < g->groups; i++) {
		double v = ((double *)rt_data(s))[i];

		g->mean[i] = ((double *)rt_data(m))[i];
		g->var[i] = 1 / (v * v);
	}
	return RT_OK;
}

/* Arguments: grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask. The moments are computed again,
 * with eps from rstd. */
int
rt_native_layer_norm_backward(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[1]), *weight = rt_tensor(in[5]), *mean = rt_tensor(in[3]), *rstd = rt_tensor(in[4]);
	Norm g;

	if (row_geometry(cx, "LayerNormBackwardKernelImpl", &(Operands){ t, weight, NULL }, in[2], &g) < 0)
		return RT_ERROR;
	if (rt_numel(mean) != g.groups || rt_numel(rstd) != g.groups)
		return rt_raise(cx, "native_layer_norm_backward: mean and rstd should have %lld elements",
				(long long)g.groups);
	if (!cx->meta && prepare_saved(cx, &g, t, weight, mean, rstd))
		return RT_ERROR;
	return backward(cx, &g, &(Back){ rt_tensor(in[0]), t, weight, g.run, in[7].u.list }, out);
}

/* Arguments: grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask. */
int
rt_native_group_norm_backward(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[1]), *mean = rt_tensor(in[2]), *rstd = rt_tensor(in[3]), *weight = rt_tensor(in[4]);
	int64_t n = in[5].u.i, channels = in[6].u.i, plane = in[7].u.i, groups = in[8].u.i;
	Norm g;

	if (groups <= 0 || channels % groups || n < 0 || plane < 0 || n * channels * plane != rt_numel(t) ||
	    rt_numel(mean) != n * groups || rt_numel(rstd) != n * groups ||
	    check_channels(cx, weight, "weight", channels))
		return rt_raise(cx, "native_group_norm_backward: sizes do not fit the input");
	g = groups_of(n, channels, plane, groups);
	if (!cx->meta && prepare_saved(cx, &g, t, weight, mean, rstd))
		return RT_ERROR;
	return backward(cx, &g, &(Back){ rt_tensor(in[0]), t, weight, channels, in[9].u.list }, out);
}
