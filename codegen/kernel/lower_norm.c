/*
 * Softmax and normalization, as stages over the normalized rows.
 *
 * Arithmetic is in float, or in double for doubles.  Partial sums of floats are joined in double, and values computed
 * once for a row are in double.  A softmax stores its exponentials in the result if they are not rounded there.
 *
 * Squares of large floats would overflow.  So normalizations around a mean scale elements by a power of two before they
 * square them.  The power is as small as the eps that is added to the variance allows.
 */
#include "row.h"
#include "lower.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool
is_floating(const RtTensor *t)
{
	return t && rt_dtypes[t->dtype].category == 'F' && element_type((RtDtype)t->dtype);
}

static RtDtype
computed_in(const RtTensor *y)
{
	return y->dtype == RT_f64 ? RT_f64 : RT_f32;
}

/* Sets *dim to the dim that the argument names. Returns false if it names none. */
static bool
find_dim(const Row *r, int ndim, int64_t *dim)
{
	if (!row_int(r, "dim", dim))
		return false;
	*dim += *dim < 0 ? ndim : 0;
	return *dim >= 0 && *dim < ndim;
}

/* ---- softmax --------------------------------------------------------------------------------------------------- */

/* Adds exp(x - most) to this stage. */
static Ref
exponential(Rows *g, RtDtype c, Ref most)
{
	return rows_let1(g, ROW_prim_exp_normal, c, rows_let2(g, ROW_sub_Tensor, c, g->x, most));
}

static void
put_softmax(Rows *g, RtDtype c, Ref most)
{
	const bool keeps = g->kernel->operand.at[0].dtype == c;
	Ref e, sum;

	e = exponential(g, c, most);
	sum = rows_join(g, "sum", RT_f64, c, e);
	if (keeps)
		kernel_store(g->kernel, 0, e);
	kernel_stage(g->kernel, false);
	sum = rows_let(g, ROW_reciprocal, rows_types(RT_f64, c), sum, sum, sum);
	kernel_stage(g->kernel, true);
	e = keeps ? ref_operand(0) : exponential(g, c, most);
	kernel_store(g->kernel, 0, rows_let2(g, ROW_mul_Tensor, c, e, sum));
}

static void
put_log_softmax(Rows *g, RtDtype c, Ref most)
{
	Ref x = rows_join(g, "sum", RT_f64, c, exponential(g, c, most));

	kernel_stage(g->kernel, false);
	x = rows_let(g, ROW_log, rows_types(RT_f64, c), x, x, x);
	kernel_stage(g->kernel, true);
	x = rows_let2(g, ROW_sub_Tensor, c, rows_let2(g, ROW_sub_Tensor, c, g->x, most), x);
	kernel_store(g->kernel, 0, x);
}

/* Are a few rows side by side in x, so that a vector of them is mostly empty, while y's rows are consecutive? */
static bool
is_turned(const RtTensor *x, const RtTensor *y, int64_t dim)
{
	if (x->dtype != y->dtype || x->dims[dim] < 2 * KERNEL_LANES || y->strides[dim] != 1)
		return false;
	for (int i = 0; i < x->ndim; i++)
		if (i != dim && x->strides[i] == 1 && x->dims[i] > 1)
			return x->dims[i] < KERNEL_LANES;
	return false;
}

bool
row_softmax(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	const Value *from = row_arg(r, "self");
	Rows g = { .row = r };
	int64_t dim;
	RtDtype c;
	Ref most;

	if (!x || !is_floating(y) || !element_type((RtDtype)x->dtype) || !find_dim(r, x->ndim, &dim) || !rt_numel(x) ||
	    (rt_dtypes[y->dtype].bytes < 4 && x->dtype != y->dtype))
		return false;
	if (!r->p->gpu && plan_choice(r->p, is_turned(x, y, dim))) {
		if (!row_copy_layout(r, x, from))
			return false;
		x = y;                   /* computed in place: a point is read before it is stored */
		from = r->n->out[0];
	}
	c = computed_in(y);
	g.ndim = x->ndim;
	memcpy(g.dims, x->dims, (size_t)x->ndim * sizeof *x->dims);
	g.gone[dim] = true;
	rows_begin(&g, "softmax");
	rows_operand(&g, ACCESS_WRITE, (RtDtype)y->dtype, y->strides, r->n->out[0]);
	g.x = ref_operand(rows_operand(&g, ACCESS_READ, (RtDtype)x->dtype, x->strides, from));
	most = rows_join(&g, "max", c, c, g.x);
	kernel_stage(g.kernel, true);
	if (r->n->op->lowering == LOWER_LOG_SOFTMAX)
		put_log_softmax(&g, c, most);
	else
		put_softmax(&g, c, most);
	return rows_finish(&g);
}

/* ---- normalisation --------------------------------------------------------------------------------------------- */

typedef struct Norm {
	Rows    rows;
	const RtTensor *x, *y;
	int64_t wstride[KERNEL_AXES];    /* strides of weight and bias along the dims; both have `channels` elements */
	int64_t channels;
	RtDtype compute;
	double  eps;
	double  small;           /* factor of elements before they are squared */
	const int64_t *xs;       /* strides of x along the dims */
	Ref     w, b;            /* weight and bias; REF_NONE means 1 and 0 */
} Norm;

/* The largest relative error of a variance and its eps that comes from squares too small for a normal float: 2^-22. */
enum { LEAST_SQUARE = -128 };

/* The power of two that elements are scaled by.  Squares below LEAST_SQUARE lose bits, which must not show beside
 * eps * small^2.  1 for doubles and without an eps. */
static double
small_factor(RtDtype dtype, double eps)
{
	const double by = ldexp(1, LEAST_SQUARE / 2) / sqrt(eps);

	return dtype == RT_f64 || !(by < 1) ? 1 : exp2(ceil(log2(by)));
}

/* Adds an optional tensor of `channels` consecutive floats. Sets *ref to REF_NONE if it is absent. Returns false if the
 * tensor does not fit. */
static bool
add_weight(Norm *m, const char *name, Ref *ref)
{
	const RtTensor *t = row_tensor(m->rows.row, name);

	*ref = (Ref){ .kind = REF_NONE };
	if (!row_arg(m->rows.row, name))
		return true;
	if (!is_floating(t) || !rt_is_contiguous(t) || rt_numel(t) != m->channels)
		return false;
	*ref = ref_operand(rows_operand(&m->rows, ACCESS_READ, (RtDtype)t->dtype, m->wstride,
					row_arg(m->rows.row, name)));
	return true;
}

/* Adds the further results of a native_ operator: mean and scale of each row. Normalized dims have size 1 in them. */
static bool
add_saved(Norm *m)
{
	for (int i = 1; i < m->rows.row->n->nout; i++) {
		const RtTensor *t = row_result(m->rows.row, i);
		int64_t stride[KERNEL_AXES] = { 0 };

		if (!is_floating(t) || t->ndim > m->rows.ndim)
			return false;
		for (int d = 0; d < t->ndim; d++) {
			if (t->dims[d] != (m->rows.gone[d] ? 1 : m->rows.dims[d]))
				return false;
			stride[d] = m->rows.gone[d] ? 0 : t->strides[d];
		}
		rows_operand(&m->rows, ACCESS_WRITE, (RtDtype)t->dtype, stride, m->rows.row->n->out[i]);
	}
	return true;
}

/* Makes the kernel and its operands, after dims and eps are set. xs, ys: strides along the dims. */
static bool
begin_norm(Norm *m, const char *name, const int64_t *xs, const int64_t *ys)
{
	rows_begin(&m->rows, name);
	rows_operand(&m->rows, ACCESS_WRITE, (RtDtype)m->y->dtype, ys, m->rows.row->n->out[0]);
	if (!add_saved(m))
		return false;
	m->rows.x = ref_operand(rows_operand(&m->rows, ACCESS_READ, (RtDtype)m->x->dtype, xs,
					     row_arg(m->rows.row, "input")));
	m->compute = computed_in(m->x);
	m->small = small_factor(m->compute, m->eps);
	m->xs = xs;
	return add_weight(m, "weight", &m->w) && add_weight(m, "bias", &m->b);
}

/* Reads input, result and eps. Returns false if there is no form for them. */
static bool
take_arguments(Norm *m, Row *r)
{
	*m = (Norm){ .rows = { .row = r }, .x = row_tensor(r, "input"), .y = row_result(r, 0) };
	if (!is_floating(m->x) || !m->y || m->y->dtype != m->x->dtype || !rt_numel(m->x))
		return false;
	if (row_arg(r, "eps"))
		return row_double(r, "eps", &m->eps);
	m->eps = m->x->dtype == RT_f64 ? DBL_EPSILON : FLT_EPSILON;      /* rms_norm */
	return true;
}

/* (x - mean) * scale * weight + bias */
static Ref
scaled(Norm *m, Ref x, Ref scale)
{
	if (m->w.kind != REF_NONE)
		scale = rows_let2(&m->rows, ROW_mul_Tensor, m->compute, scale, m->w);
	x = rows_let2(&m->rows, ROW_mul_Tensor, m->compute, x, scale);
	return m->b.kind == REF_NONE ? x : rows_let2(&m->rows, ROW_add_Tensor, m->compute, x, m->b);
}

/* 1 / sqrt(squares / small^2 / n + eps), once for a row. */
static Ref
scale_of(Norm *m, Ref squares, Ref n)
{
	const double small = m->small * m->small;
	Ref x = rows_let2(&m->rows, ROW_div_Tensor, RT_f64, squares, n);

	if (small != 1)
		x = rows_let2(&m->rows, ROW_mul_Tensor, RT_f64, x, ref_number(rt_double(1 / small)));
	x = rows_let2(&m->rows, ROW_add_Tensor, RT_f64, x, ref_number(rt_double(m->eps)));
	return rows_let(&m->rows, ROW_rsqrt, rows_types(RT_f64, m->compute), x, x, x);
}

/* Adds x * small. It is an operand of a difference, so compilers contract both to a fused multiply-add. */
static Ref
shrunk(Norm *m, Ref x)
{
	return m->small == 1 ? x : rows_let2(&m->rows, ROW_mul_Tensor, m->compute, x, ref_number(rt_double(m->small)));
}

static Ref
square(Norm *m, Ref x)
{
	return rows_join(&m->rows, "sum", RT_f64, m->compute, rows_let2(&m->rows, ROW_mul_Tensor, m->compute, x, x));
}

/* Adds an operand: the first element of each row. */
static Ref
first_of(Norm *m)
{
	int64_t stride[KERNEL_AXES];

	for (int d = 0; d < m->rows.ndim; d++)
		stride[d] = m->rows.gone[d] ? 0 : m->xs[d];
	return ref_operand(rows_operand(&m->rows, ACCESS_READ, (RtDtype)m->x->dtype, stride,
					row_arg(m->rows.row, "input")));
}

/* Computes the mean as the first element plus the mean distance from it, so that equal elements have exactly this mean.
 * Then computes the mean of squares around it. */
static bool
finish_norm(Norm *m)
{
	const Ref n = rows_number(&m->rows, rows_count(&m->rows)), first = first_of(m), x = m->rows.x;
	Kernel *k = m->rows.kernel;
	Ref mean, small, scale;

	mean = rows_join(&m->rows, "sum", RT_f64, m->compute,
			 rows_let2(&m->rows, ROW_sub_Tensor, m->compute, x, first));
	kernel_stage(k, false);
	mean = rows_let2(&m->rows, ROW_div_Tensor, RT_f64, mean, n);
	mean = rows_let(&m->rows, ROW_add_Tensor, rows_types(RT_f64, m->compute), mean, first, ref_number(rt_int(1)));
	small = shrunk(m, mean);
	kernel_stage(k, true);
	scale = square(m, rows_let2(&m->rows, ROW_sub_Tensor, m->compute, shrunk(m, x), small));
	kernel_stage(k, false);
	scale = scale_of(m, scale, n);
	if (m->rows.row->n->nout == 3) {
		kernel_store(k, 1, mean);
		kernel_store(k, 2, scale);
	}
	kernel_stage(k, true);
	kernel_store(k, 0, scaled(m, rows_let2(&m->rows, ROW_sub_Tensor, m->compute, x, mean), scale));
	return rows_finish(&m->rows);
}

/* Completes an rms norm: squares are around 0, and no mean is subtracted. They are not scaled, which would cost a
 * seventh of the time. Above 1e19 they overflow, as PyTorch's do. */
static bool
finish_uncentered(Norm *m)
{
	const Ref n = rows_number(&m->rows, rows_count(&m->rows)), x = m->rows.x;
	Ref scale = square(m, x);

	m->small = 1;
	kernel_stage(m->rows.kernel, false);
	scale = scale_of(m, scale, n);
	kernel_stage(m->rows.kernel, true);
	kernel_store(m->rows.kernel, 0, scaled(m, x, scale));
	return rows_finish(&m->rows);
}

/* layer_norm, native_layer_norm, rms_norm */
bool
row_layer_norm(Row *r)
{
	const bool uncentered = r->n->op->lowering == LOWER_RMS_NORM;
	int64_t shape[RT_MAX_RANK];
	int n;
	Norm m;

	if (!take_arguments(&m, r) || !row_list(r, "normalized_shape", shape, &n) || n < 1 || n > m.x->ndim)
		return false;
	m.channels = 1;
	m.rows.ndim = m.x->ndim;
	for (int i = m.x->ndim - 1; i >= 0; i--) {
		m.rows.dims[i] = m.x->dims[i];
		m.rows.gone[i] = i >= m.x->ndim - n;
		m.wstride[i] = m.rows.gone[i] ? m.channels : 0;
		m.channels *= m.rows.gone[i] ? m.x->dims[i] : 1;
	}
	if (!begin_norm(&m, uncentered ? "rms_norm" : "layer_norm", m.x->strides, m.y->strides))
		return false;
	return uncentered ? finish_uncentered(&m) : finish_norm(&m);
}

/* Sets dims to the input's, with channels split into groups of `each`. */
static void
split_channels(const RtTensor *t, int64_t each, int64_t *out, const int64_t *from, bool strides)
{
	out[0] = from[0];
	out[1] = strides ? from[1] * each : from[1] / each;
	out[2] = strides ? from[1] : each;
	for (int i = 2; i < t->ndim; i++)
		out[i + 1] = from[i];
}

/* group_norm, native_group_norm, instance_norm without running statistics */
bool
row_group_norm(Row *r)
{
	const bool instance = r->n->op->lowering == LOWER_INSTANCE_NORM;
	int64_t groups = 0, stats, each, xs[KERNEL_AXES], ys[KERNEL_AXES];
	Norm m;

	if (!take_arguments(&m, r) || m.x->ndim < 2)
		return false;
	if (instance ? !row_int(r, "use_input_stats", &stats) || !stats || row_arg(r, "running_mean") :
	    !row_int(r, row_arg(r, "group") ? "group" : "num_groups", &groups))
		return false;
	m.channels = m.x->dims[1];
	groups = instance ? m.channels : groups;
	if (groups < 1 || m.channels % groups)
		return false;
	each = m.channels / groups;
	m.rows.ndim = m.x->ndim + 1;
	split_channels(m.x, each, m.rows.dims, m.x->dims, false);
	split_channels(m.x, each, xs, m.x->strides, true);
	split_channels(m.x, each, ys, m.y->strides, true);
	for (int i = 2; i < m.rows.ndim; i++)
		m.rows.gone[i] = true;
	m.wstride[1] = each;
	m.wstride[2] = 1;
	return begin_norm(&m, "group_norm", xs, ys) && finish_norm(&m);
}

/* Batch norm in evaluation mode, by the running mean and variance of each channel. */
bool
row_batch_norm(Row *r)
{
	int64_t training;
	Ref mean, scale;
	Norm m;

	if (!take_arguments(&m, r) || m.x->ndim < 2 || !row_int(r, "training", &training) || training)
		return false;
	m.channels = m.x->dims[1];
	m.rows.ndim = m.x->ndim;
	memcpy(m.rows.dims, m.x->dims, (size_t)m.x->ndim * sizeof *m.x->dims);
	m.wstride[1] = 1;
	if (!begin_norm(&m, "batch_norm", m.x->strides, m.y->strides) || !add_weight(&m, "running_mean", &mean) ||
	    !add_weight(&m, "running_var", &scale) || mean.kind == REF_NONE || scale.kind == REF_NONE)
		return false;
	scale = rows_let2(&m.rows, ROW_add_Tensor, m.compute, scale, ref_number(rt_double(m.eps)));
	scale = rows_let1(&m.rows, ROW_rsqrt, m.compute, scale);
	if (m.w.kind != REF_NONE)
		scale = rows_let2(&m.rows, ROW_mul_Tensor, m.compute, scale, m.w);
	mean = rows_let2(&m.rows, ROW_mul_Tensor, m.compute, mean, scale);
	mean = m.b.kind == REF_NONE ? rows_let1(&m.rows, ROW_neg, m.compute, mean)
		: rows_let2(&m.rows, ROW_sub_Tensor, m.compute, m.b, mean);
	scale = rows_let2(&m.rows, ROW_mul_Tensor, m.compute, m.rows.x, scale);
	kernel_store(m.rows.kernel, 0, rows_let2(&m.rows, ROW_add_Tensor, m.compute, scale, mean));
	return rows_finish(&m.rows);
}
