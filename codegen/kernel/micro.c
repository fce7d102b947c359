/*
 * Matches kernels with the rows of micro.def, and prints them as calls.
 *
 *    static const VpPool v = { .n = 1, .c = 64, ... };
 *
 *    vp_pool_lanes(begin, end, &v, p[1], p[0]);
 *
 * A pattern names the axes and operands of a kernel, by their order and by what operands do along them.
 */
#include "../../ir/row.h"
#include "dense.h"
#include "micro_chain.h"
#include "micro_int8.h"
#include "recurrence.h"
#include "print.h"
#include "../../rt/ops/vscratch.h"

#include <string.h>

enum { PASSED = 8 };
enum { ROW_GRAIN = 16384 };       /* number of points that are worth waking a thread */

/* Operands by name. None is 0, so it ends a list. START: terms of zero points, packed beside 8-bit weights. */
enum { END, Y, AT, X, W, BIAS, FACTOR, ZERO, Q, K, V, MASK, WRONG, ZEROS, START, SCALES, SCRATCH, EPILOGUE, ALL };

/* Axes by name. */
enum { N, C, G, OC, OD, OH, OW, P, IC, KD, KH, KW, ROWS, COLUMNS, SUMMED, BATCH, AXES = BATCH + VM_BATCH };

typedef struct Match {
	const Kernel *kernel;
	int axis[AXES], operand[WRONG];  /* indices in the kernel, by name; -1 if there is none */
	int places;                      /* number of dims of the windows of a contraction with constant weights */
	bool adaptive;                   /* whether windows are parts of the input */
	int out, tap;                    /* first of the axes of positions, and of taps */
	int vf, nr;                      /* floats of a vector, columns of a panel (Emit) */
	const Dense *dense;              /* form of a contraction with constant weights; or null */
	Buf text;
	int nmember;
	const char *scratch;             /* C of the bytes of scratch memory; null if there is none */
	int64_t bytes;                   /* the same as a number, if sizes are constant */
	const Size *zeros;               /* number of zeros that it reads; or null */
	int64_t grain;                   /* least number of units worth a thread; 0: as for loops over points */
	int64_t tall;                    /* most rows of a product by panels; 0 if there is none */
	const Size *narrow;              /* size that must be at most INT32_MAX in a call; or null */
	AttentionChain attention;
	Recurrence recurrence;
	const Size *turns;               /* number of launches, or null */
	bool cuda;                       /* whether members are assigned, as statements of CUDA */
	Printer *printer;                /* prints the accessors of a CUDA function */
	const ViConv *packed;            /* sizes by which 8-bit weights W are packed; null if they are not */
	const Size *steps;               /* number of operations; null: all lets and folds */
} Match;

static const Size *
constant(const Match *m, int64_t n)
{
	return size_number(m->kernel->sizes, n);
}

static const Size *
times(const Match *m, const Size *a, const Size *b)
{
	return size_times(m->kernel->sizes, a, b);
}

/* Is the size at most INT32_MAX?  If it depends on symbols, only a call can tell. */
static bool
fits_int(Match *m, const Size *size)
{
	int64_t n;

	if (size_at_most(m->kernel->sizes, size, INT32_MAX))
		return true;
	m->narrow = size;
	return !size_const(size, &n) && kernel_typical(m->kernel, size, &n) && n <= INT32_MAX;
}

static const Operand *
operand(const Match *m, int name)
{
	return &m->kernel->operand.at[m->operand[name]];
}

/* The extent of an axis; 1 if there is no such axis. */
static const Size *
extent(const Match *m, int axis)
{
	return m->axis[axis] < 0 ? constant(m, 1) : m->kernel->extent[m->axis[axis]];
}

static const Size *
stride(const Match *m, int name, int axis)
{
	return operand(m, name)->stride[m->axis[axis]];
}

/* Names axes in order. */
static void
name_axes(Match *m, const int *names, int n)
{
	for (int i = 0; i < n; i++)
		m->axis[names[i]] = i;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* The bound of the input along dim i of the windows. Null in adaptive pooling. */
static const Bound *
input_bound(const Match *m, int i)
{
	return m->adaptive ? NULL : &operand(m, X)->bound.at[i];
}

/* Does a window run over dim i of x by steps, within a bound? */
static bool
is_window(const Match *m, int i)
{
	const Bound *in = &operand(m, X)->bound.at[i];

	for (int a = 0; a < m->kernel->naxis; a++)
		if (a != m->axis[m->out + i] && a != m->axis[m->tap + i] && !size_is(in->stride[a], 0))
			return false;
	return in->unit && !kernel_range(m->kernel, m->axis[m->tap + i]) && size_is(stride(m, X, m->out + i), 0) &&
	       size_is(stride(m, X, m->tap + i), 0);
}

/* Is dim i divided among the results' positions? */
static bool
is_divided(const Match *m, int i)
{
	const AxisRange *r = kernel_range(m->kernel, m->axis[m->tap + i]);
	const int out = m->axis[m->out + i];

	return r && r->first.of == out && r->end.of == out && !r->first.up && r->end.up && r->first.plus &&
	       size_is(r->first.plus, 0) && r->first.times == r->end.times && r->end.plus == r->end.times &&
	       r->first.per == extent(m, m->out + i) && r->end.per == extent(m, m->out + i) &&
	       size_is(stride(m, X, m->out + i), 0);
}

/* Do windows, or parts, run over n dims of x? `out` and `tap` are the first axes of positions and of taps. */
static bool
has_windows(Match *m, int n, int out, int tap)
{
	const Operand *x = operand(m, X);

	if (x->access != ACCESS_READ || x->ngather || (x->bound.n && x->bound.n != n))
		return false;
	m->adaptive = !x->bound.n;
	m->out = out;
	m->tap = tap;
	for (int i = 0; i < n; i++)
		if (!(m->adaptive ? is_divided : is_window)(m, i))
			return false;
	return true;
}

/* Finds windows over planes: axes n, c, the results' positions, then the taps, which are reduced. */
static bool
find_pool(Match *m)
{
	static const int names[] = { N, C, OH, OW, KH, KW };
	const Kernel *k = m->kernel;
	const int last = k->operand.n > 1 && k->operand.at[1].access == ACCESS_WRITE ? 2 : 1;

	name_axes(m, names, 6);
	m->operand[Y] = 0;
	m->operand[AT] = last - 1;
	m->operand[X] = last;
	return k->naxis == 6 && k->nreduce == 2 && last < k->operand.n && k->operand.at[0].dtype == RT_f32 &&
	       operand(m, X)->dtype == RT_f32 && has_windows(m, 2, OH, KH);
}

static const Size *
taps(const Match *m, int i)
{
	return m->adaptive ? constant(m, 1) : extent(m, m->tap + i);
}

static const Size *
input_size(const Match *m, int i)
{
	return m->adaptive ? kernel_range(m->kernel, m->axis[m->tap + i])->first.times : input_bound(m, i)->limit;
}

static const Size *
step(const Match *m, int i)
{
	return m->adaptive ? constant(m, 1) : input_bound(m, i)->stride[m->axis[m->out + i]];
}

static const Size *
dilation(const Match *m, int i)
{
	return m->adaptive ? constant(m, 1) : input_bound(m, i)->stride[m->axis[m->tap + i]];
}

static const Size *
padding(const Match *m, int i)
{
	return m->adaptive ? constant(m, 0) : size_minus(m->kernel->sizes, constant(m, 0), input_bound(m, i)->offset);
}

static const Size *
input_stride(const Match *m, int i)
{
	return m->adaptive ? stride(m, X, m->tap + i) : input_bound(m, i)->unit;
}

/* ---- folds ------------------------------------------------------------------------------------------------------- */

static bool
refers_to(const Ref *r, RefKind kind, int at)
{
	return r->kind == kind && r->at == at && !r->part;
}

/* Does the kernel only fold x, as the first state? */
static bool
folds(const Match *m, const char *name)
{
	const Kernel *k = m->kernel;

	return k->stage.n == 2 && k->stage.at[1].let == 0 && k->stage.at[1].store == 0 && !k->stage.at[1].each &&
	       k->state.n && !strcmp(k->state.at[0].fold->name, name) &&
	       refers_to(&k->state.at[0].x, REF_OPERAND, m->operand[X]);
}

static bool
is_least(IValue v)
{
	return v.tag == RT_DOUBLE && v.u.f == -1e300 * 1e300;
}

static bool
is_maximum(const Match *m)
{
	const Kernel *k = m->kernel;

	return folds(m, "max") && k->state.n == 1 && !k->let.n && k->store.n == 1 &&
	       refers_to(&k->store.at[0].value, REF_STATE, 0) &&
	       (m->adaptive || is_least(operand(m, X)->outside));
}

/* Is the bound that of x, with this many positions more on both sides? */
static bool
is_wider(const Match *m, const Bound *b, const Bound *of, const Size *pad)
{
	SizeTable *z = m->kernel->sizes;

	return !memcmp(b->stride, of->stride, sizeof b->stride) && b->offset == size_plus(z, of->offset, pad) &&
	       b->limit == size_plus(z, of->limit, size_plus(z, pad, pad));
}

/* Is the operand the index of x's element in its plane, with the same bounds? */
static bool
is_place(const Match *m, const Operand *o)
{
	if (o->access != ACCESS_INDEX || o->bound.n != 2 || m->adaptive || o->outside.tag != RT_INT ||
	    o->outside.u.i != INT64_MAX || !size_is(o->offset, 0))
		return false;
	for (int i = 0; i < m->kernel->naxis; i++)
		if (!size_is(o->stride[i], 0))
			return false;
	for (int i = 0; i < 2; i++)
		if (!is_wider(m, &o->bound.at[i], input_bound(m, i), constant(m, 0)) ||
		    o->bound.at[i].unit != (i ? constant(m, 1) : input_bound(m, 1)->limit))
			return false;
	return true;
}

/* Maxima and their indices. */
static bool
is_places(const Match *m)
{
	const Kernel *k = m->kernel;
	const Ref *y = k->state.n ? &k->state.at[0].y : NULL;

	return folds(m, "poolmax") && k->state.n == 1 && !k->let.n && k->store.n == 2 &&
	       is_least(operand(m, X)->outside) && operand(m, AT)->dtype == RT_i64 &&
	       refers_to(&k->store.at[0].value, REF_STATE, 0) && k->store.at[1].value.part == 1 &&
	       y->kind == REF_OPERAND && is_place(m, &k->operand.at[y->at]);
}

/* The divisor of a mean: a number, a number that depends on sizes, or the count of the window's elements, which is
 * null. */
static const Size *
divisor(const Match *m)
{
	const Ref *by = &m->kernel->let.at[0].arg[1];

	return by->kind == REF_NUMBER ? constant(m, by->number.u.i) :
	       by->kind == REF_OPERAND ? m->kernel->operand.at[by->at].offset : NULL;
}

/* Is the operand 1 at each element within these bounds: of the input, or also of the padding? */
static bool
is_one_within(const Match *m, const Operand *o, bool padding_too)
{
	if (o->access != ACCESS_INDEX || !size_is(o->offset, 1) || o->bound.n != operand(m, X)->bound.n)
		return false;
	for (int i = 0; i < m->kernel->naxis; i++)
		if (!size_is(o->stride[i], 0))
			return false;
	for (int i = 0; i < o->bound.n; i++)
		if (!is_wider(m, &o->bound.at[i], input_bound(m, i), padding_too ? padding(m, i) : constant(m, 0)))
			return false;
	return true;
}

/* Does the mean count the elements within these bounds? */
static bool
counts(const Match *m, bool padding_too)
{
	const Kernel *k = m->kernel;
	const Ref *x = k->state.n == 2 ? &k->state.at[1].x : NULL;

	return x && x->kind == REF_OPERAND && !strcmp(k->state.at[1].fold->name, "sum") &&
	       is_one_within(m, &k->operand.at[x->at], padding_too);
}

static bool
is_mean(const Match *m)
{
	const Kernel *k = m->kernel;
	const Let *l = k->let.n == 1 ? &k->let.at[0] : NULL;

	if (!folds(m, "sum") || !l || l->op->row != ROW_div_Tensor || !refers_to(&l->arg[0], REF_STATE, 0) ||
	    k->store.n != 1 || !refers_to(&k->store.at[0].value, REF_LET, 0) ||
	    operand(m, X)->outside.tag != RT_NONE)
		return false;
	if (refers_to(&l->arg[1], REF_STATE, 1))
		return counts(m, false) || counts(m, true);
	return k->state.n == 1 && divisor(m);
}

static const Size *
divisor_or_zero(const Match *m)
{
	return m->kernel->let.n && divisor(m) ? divisor(m) : constant(m, 0);
}

/* ---- sums at indices --------------------------------------------------------------------------------------------- */

/* Finds y[at[p]] += x[p], for each p in order, over axes n, c and p. */
static bool
find_added(Match *m)
{
	const Kernel *k = m->kernel;
	const Let *l = k->let.n == 1 ? &k->let.at[0] : NULL;
	const Operand *y = &k->operand.at[0];
	static const int names[] = { N, C, P };

	name_axes(m, names, 3);
	m->operand[Y] = 0;
	m->operand[AT] = 1;
	m->operand[X] = 2;
	return k->naxis == 3 && k->serial == 2 && k->operand.n == 3 && l && l->op->row == ROW_add_Tensor &&
	       l->types.compute == RT_f32 && refers_to(&l->arg[0], REF_OPERAND, 0) &&
	       refers_to(&l->arg[1], REF_OPERAND, 2) && l->arg[2].kind == REF_NUMBER && l->arg[2].number.u.i == 1 &&
	       k->store.n == 1 && refers_to(&k->store.at[0].value, REF_LET, 0) && y->access == ACCESS_UPDATE &&
	       y->dtype == RT_f32 && y->ngather == 1 && refers_to(&y->gather[0].by, REF_OPERAND, 1) &&
	       !y->gather[0].wraps && size_is(y->stride[2], 0) && k->operand.at[1].dtype == RT_i64 &&
	       k->operand.at[2].dtype == RT_f32;
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* Do the channels of the next group follow those of a group? axis: a group's input or output channels. */
static bool
runs_on(const Match *m, int name, int axis)
{
	return stride(m, name, G) == times(m, stride(m, name, axis), extent(m, axis));
}

/* Does it begin with a sum of products of this dtype, plus a bias if there is one? */
static bool
begins_with_sum(const Match *m, RtDtype dtype)
{
	const Kernel *k = m->kernel;
	const Let *add = k->let.n > 1 ? &k->let.at[1] : NULL;

	if (!kernel_is_contract(k) || k->let.at[0].types.compute != dtype || k->store.n != 1)
		return false;
	if (m->operand[BIAS] < 0)
		return true;
	return add && add->op->row == ROW_add_Tensor && refers_to(&add->arg[0], REF_STATE, 0) &&
	       refers_to(&add->arg[1], REF_OPERAND, m->operand[BIAS]) && add->arg[2].kind == REF_NUMBER &&
	       add->arg[2].number.u.i == 1;
}

/* Is it only such a sum? */
static bool
adds_products(const Match *m, RtDtype dtype)
{
	const bool biased = m->operand[BIAS] >= 0;

	return begins_with_sum(m, dtype) && m->kernel->let.n == 1 + biased && !m->dense &&
	       refers_to(&m->kernel->store.at[0].value, biased ? REF_LET : REF_STATE, biased);
}

/* Is there no bias, or one for each output channel? */
static bool
has_bias_of_channels(const Match *m)
{
	return m->operand[BIAS] < 0 || (size_is(stride(m, BIAS, OC), 1) && runs_on(m, BIAS, OC));
}

/* Is it a sum of products, plus a bias for each output channel? */
static bool
is_biased_sum(const Match *m)
{
	return adds_products(m, RT_f32) && has_bias_of_channels(m);
}

/* Finds a convolution over planes: axes n, the result's positions, groups and their output channels; reduced are a
 * group's input channels and the taps. */
static bool
find_convolution(Match *m)
{
	static const int names[] = { N, OH, OW, G, OC, IC, KH, KW };
	const Kernel *k = m->kernel;

	name_axes(m, names, 8);
	m->operand[Y] = 0;
	m->operand[X] = 1;
	m->operand[W] = 2;
	m->operand[BIAS] = k->operand.n == 4 ? 3 : -1;
	return k->naxis == 8 && k->nreduce == 3 && (k->operand.n == 3 || k->operand.n == 4) &&
	       operand(m, X)->dtype == RT_f32 && has_windows(m, 2, OH, KH) && !m->adaptive &&
	       operand(m, X)->outside.tag == RT_NONE && is_biased_sum(m) && runs_on(m, Y, OC) && runs_on(m, X, IC);
}

/* Finds the gradient of weights: axes groups, output and input channels, taps; reduced are images and positions of the
 * result's gradient, W. */
static bool
find_weight_gradient(Match *m)
{
	static const int names[] = { G, OC, IC, KH, KW, N, OH, OW };
	const Kernel *k = m->kernel;

	name_axes(m, names, 8);
	m->operand[Y] = 0;
	m->operand[X] = 1;
	m->operand[W] = 2;
	m->operand[BIAS] = -1;
	return k->naxis == 8 && k->nreduce == 3 && k->operand.n == 3 && operand(m, X)->dtype == RT_f32 &&
	       has_windows(m, 2, OH, KH) && !m->adaptive && operand(m, X)->outside.tag == RT_NONE &&
	       is_biased_sum(m) && runs_on(m, W, OC) && runs_on(m, X, IC) && runs_on(m, Y, OC);
}

/* The channels of all groups. */
static const Size *
channels(const Match *m, int axis)
{
	return times(m, extent(m, G), extent(m, axis));
}

/* Is x channels-last and dense? */
static bool
is_input_last(const Match *m)
{
	const Size *row = times(m, input_size(m, 1), input_stride(m, 1));

	return size_is(stride(m, X, IC), 1) && input_stride(m, 1) == channels(m, IC) && input_stride(m, 0) == row &&
	       stride(m, X, N) == times(m, input_size(m, 0), row) && size_is(operand(m, X)->offset, 0);
}

/* Is the operand over positions channels-last and dense? */
static bool
is_output_last(const Match *m, int name)
{
	const Size *row = times(m, extent(m, OW), channels(m, OC));

	return size_is(stride(m, name, OC), 1) && stride(m, name, OW) == channels(m, OC) &&
	       stride(m, name, OH) == row && stride(m, name, N) == times(m, extent(m, OH), row) &&
	       size_is(operand(m, name)->offset, 0);
}

/* Has each of several groups one input and one output channel? */
static bool
is_depthwise(const Match *m)
{
	return size_at_least(m->kernel->sizes, extent(m, G), 2) && size_is(extent(m, OC), 1) &&
	       size_is(extent(m, IC), 1);
}

/* The size as a number, or 0 if it is not constant. */
static int64_t
known(const Size *s)
{
	int64_t n;

	return size_const(s, &n) ? n : 0;
}

/* Is the size a number? */
static bool
is_number_size(const Size *s)
{
	int64_t n;

	return size_const(s, &n);
}

/* The size on the typical sizes; 0 if it is unknown. */
static int64_t
typical(const Match *m, const Size *s)
{
	int64_t n;

	return kernel_typical(m->kernel, s, &n) ? n : 0;
}

/* Have both operands the same strides? */
static bool
is_alike(const Match *m, int a, int b)
{
	return !memcmp(operand(m, a)->stride, operand(m, b)->stride, sizeof operand(m, a)->stride);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static bool
moves(const Match *m, int name, int axis)
{
	return !size_is(operand(m, name)->stride[axis], 0);
}

/* Are all operands of this dtype, in memory at their axes' strides only? */
static bool
has_strides_only(const Kernel *k, RtDtype dtype)
{
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		if (o->dtype != dtype || o->access != (i ? ACCESS_READ : ACCESS_WRITE) || o->ngather || o->bound.n ||
		    o->along >= 0 || !size_is(o->offset, 0))
			return false;
	}
	return true;
}

/* Finds the columns, along which results are consecutive and X does not move, and the rows, along which W does not
 * move: the longest axis of those. The other axes are the batch. */
static bool
find_sides(Match *m, int x, int w)
{
	const Kernel *k = m->kernel;
	const int outer = k->naxis - k->nreduce;
	int batch = BATCH;

	for (int i = 0; i < AXES; i++)
		m->axis[i] = -1;
	m->operand[X] = x;
	m->operand[W] = w;
	for (int i = 0; i < outer; i++)
		if (!moves(m, X, i) && size_is(operand(m, Y)->stride[i], 1))
			m->axis[COLUMNS] = i;
	for (int i = 0; i < outer; i++)
		if (i != m->axis[COLUMNS] && !moves(m, W, i) &&
		    (m->axis[ROWS] < 0 || typical(m, k->extent[i]) >= typical(m, k->extent[m->axis[ROWS]])))
			m->axis[ROWS] = i;
	for (int i = 0; i < outer; i++)
		if (i != m->axis[COLUMNS] && i != m->axis[ROWS]) {
			if (batch == AXES || (m->axis[COLUMNS] < 0 && !moves(m, X, i)))
				return false;
			m->axis[batch++] = i;
		}
	if (k->nreduce)
		m->axis[SUMMED] = outer;
	return true;
}

/* Is the bias consecutive along the columns, and the same for all rows? */
static bool
is_bias_of_columns(const Match *m)
{
	for (int i = 0; i < m->kernel->naxis; i++)
		if (!size_is(operand(m, BIAS)->stride[i], i == m->axis[COLUMNS]))
			return false;
	return true;
}

/* Finds a product of matrices for each point of some outer axes, in the simplified kernel. If results are not
 * consecutive along columns but along rows, it is the transposed product. */
static bool
find_product(Match *m, RtDtype dtype)
{
	const Kernel *k = m->kernel;
	Kernel *simple;

	m->operand[Y] = 0;
	m->operand[BIAS] = k->operand.n == 4 ? 3 : -1;
	if ((k->operand.n != 3 && k->operand.n != 4) || k->range.n || !adds_products(m, dtype) ||
	    !has_strides_only(k, dtype))
		return false;
	m->kernel = simple = kernel_copy(k);
	kernel_simplify(simple, 0);
	return simple->nreduce <= 1 && ((find_sides(m, 1, 2) && (m->operand[BIAS] < 0 || is_bias_of_columns(m))) ||
					(m->operand[BIAS] < 0 && find_sides(m, 2, 1)));
}

/* The stride along an axis; `alone` if there is no such axis. */
static const Size *
apart(const Match *m, int name, int axis, int64_t alone)
{
	return m->axis[axis] < 0 ? constant(m, alone) : stride(m, name, axis);
}

/* Number of axes of the batch. Extents and strides along axes behind them are null. */
static int64_t
batch_axes(const Match *m)
{
	int n = 0;

	while (n < VM_BATCH && m->axis[BATCH + n] >= 0)
		n++;
	return n;
}

static const Size *
batch_extent(const Match *m, int i)
{
	return m->axis[BATCH + i] < 0 ? NULL : extent(m, BATCH + i);
}

static const Size *
batch_along(const Match *m, int name, int i)
{
	return m->axis[BATCH + i] < 0 ? NULL : stride(m, name, BATCH + i);
}

static const Size *
batch_points(const Match *m)
{
	const Size *n = constant(m, 1);

	for (int i = 0; i < batch_axes(m); i++)
		n = times(m, n, extent(m, BATCH + i));
	return n;
}

/* The size, or `most` if it is larger or not constant. */
static int64_t
at_most(const Size *s, int64_t most)
{
	int64_t n;

	return size_const(s, &n) && n < most ? n : most;
}

/* The rows of X that a unit copies, because their elements are not consecutive. */
static int64_t
copied_rows(const Match *m)
{
	return size_is(apart(m, X, SUMMED, 1), 1) ? 0 : at_most(extent(m, ROWS), VM_ROWS);
}

static int64_t
product_grain(const Match *m)
{
	const int64_t n = at_most(extent(m, ROWS), VM_ROWS) * at_most(extent(m, COLUMNS), VM_COLUMNS) *
			  (typical(m, extent(m, SUMMED)) / 8 + 1);

	return 1 + ROW_GRAIN / (n > 0 ? n : 1);
}

/* ---- 8-bit integers ---------------------------------------------------------------------------------------------- */

static bool
find_int8(Match *m, bool sums)
{
	static const int names[] = { N, OD, OH, OW, G, OC, IC, KD, KH, KW };

	if (!int8_find(m->kernel, sums))
		return false;
	name_axes(m, names, 10);
	m->out = OD;
	m->tap = KD;
	m->operand[Y] = 0, m->operand[X] = 1, m->operand[W] = 2;
	m->operand[BIAS] = m->operand[ZERO] = 3;
	m->operand[FACTOR] = 4;
	return true;
}

/* ---- contractions with constant weights -------------------------------------------------------------------------- */

/* Stride of rows or pixels: of the input, and of the result. n: number of dims of the windows. */
static const Size *
input_row(const Match *m, int n)
{
	return n ? input_stride(m, n - 1) : stride(m, X, N);
}

static const Size *
output_row(const Match *m, int n)
{
	return stride(m, Y, n ? OW : N);
}

/* Are both operands channels-last and dense, with any distance between rows, or pixels? */
static bool
has_pixels(const Match *m, int n)
{
	const Size *x = input_row(m, n), *y = output_row(m, n);

	for (int i = n - 1; i >= 0; i--) {
		if (input_stride(m, i) != x || stride(m, Y, m->out + i) != y)
			return false;
		x = times(m, x, input_size(m, i));
		y = times(m, y, extent(m, m->out + i));
	}
	return stride(m, X, N) == x && stride(m, Y, N) == y && size_is(stride(m, X, IC), 1) &&
	       size_is(stride(m, Y, OC), 1) && runs_on(m, X, IC) && runs_on(m, Y, OC);
}

/* Names the axes of a product, or of a convolution over planes or volumes. */
static void
name_dense_axes(Match *m)
{
	for (int i = 0; i < AXES; i++)
		m->axis[i] = -1;
	m->axis[N] = 0;
	m->axis[G] = 1 + m->places;
	m->axis[OC] = 2 + m->places;
	m->axis[IC] = 3 + m->places;
	for (int i = 0; i < m->places; i++) {
		m->axis[OW + 1 - m->places + i] = 1 + i;
		m->axis[KW + 1 - m->places + i] = 4 + m->places + i;
	}
}

/* Finds a contraction with constant weights that is computed in this form: axes rows, or images and positions, groups
 * and their columns; reduced are a group's inputs and the taps. */
static bool
find_dense(Match *m, Form form)
{
	const Kernel *k = m->kernel;

	if (!m->dense || m->dense->form != form)
		return false;
	m->places = m->dense->window.places;
	name_dense_axes(m);
	m->operand[Y] = CONTRACT_Y;
	m->operand[X] = CONTRACT_X;
	m->operand[W] = CONTRACT_W;
	m->operand[BIAS] = k->operand.n > CONTRACT_BIAS && k->operand.at[CONTRACT_BIAS].constant ? CONTRACT_BIAS : -1;
	return k->naxis == 4 + 2 * m->places && k->nreduce == 1 + m->places &&
	       has_windows(m, m->places, OW + 1 - m->places, KW + 1 - m->places) &&
	       operand(m, X)->outside.tag == RT_NONE && begins_with_sum(m, RT_f32) && has_bias_of_channels(m) &&
	       has_pixels(m, m->places);
}

static const Size *
rows_of(const Match *m)
{
	return times(m, times(m, extent(m, N), extent(m, OD)), times(m, extent(m, OH), extent(m, OW)));
}

static const Size *
blocks(const Match *m, const Size *size, int64_t each)
{
	return size_ceil(m->kernel->sizes, size, constant(m, each));
}

/* Units of work of a form that computes panels: blocks of rows; or panels, or chunks of rows of a panel. */
static const Size *
panel_units(const Match *m, const Size *rows, bool chunks)
{
	const Dense *d = m->dense;
	const Size *panels = times(m, blocks(m, extent(m, OC), m->nr), extent(m, G));

	return d->step ? blocks(m, rows, d->step) : chunks ? times(m, panels, blocks(m, rows, d->chunk)) : panels;
}

/* Units of work of a form that computes rows of the result. */
static const Size *
row_units(const Match *m)
{
	const Size *rows = times(m, times(m, extent(m, N), extent(m, OD)), extent(m, OH));

	return m->dense->step ? times(m, rows, blocks(m, extent(m, OW), m->dense->step)) : rows;
}

/* Tiles of the result, for Winograd's form. */
static const Size *
tiles_of(const Match *m)
{
	const int tile = m->dense->tile;

	return times(m, extent(m, N), times(m, blocks(m, extent(m, OH), tile), blocks(m, extent(m, OW), tile)));
}

/* Number of zeros in the padding of narrow groups: at least a vector. */
static const Size *
group_zeros(const Match *m)
{
	const int64_t n = known(channels(m, IC));

	return constant(m, n > m->vf ? n : m->vf);
}

/* Bytes of scratch memory of Winograd's form: planes with an odd number of groups of 16 floats. */
static int64_t
winograd_scratch(const Match *m)
{
	const Dense *d = m->dense;

	return (d->tile + 2) * (d->tile + 2) * ((d->chunk * d->k | 16) + (d->chunk * d->n | 16)) * 4;
}

/* ---- computed coordinates ---------------------------------------------------------------------------------------- */

/* Let i of those of a pointwise row. Null if there are not so many. */
static const Let *
let_of(const Match *m, OpRow row, int i)
{
	for (int at = 0; at < m->kernel->let.n; at++)
		if (m->kernel->let.at[at].op->row == (int)row && !i--)
			return &m->kernel->let.at[at];
	return NULL;
}

/* Finds a kernel over axes n, c and positions, and perhaps reduced ones, that reads x at computed indices. This row
 * computes the first let. AT is the first operand that coordinates depend on. */
static bool
find_computed(Match *m, OpRow row, int indices, int axes)
{
	static const int names[] = { N, C, OH, OW };
	const Kernel *k = m->kernel;

	name_axes(m, names, 4);
	m->operand[Y] = 0;
	for (int i = k->operand.n - 1; i > 0; i--) {
		if (k->operand.at[i].ngather)
			m->operand[X] = i;
		else if (k->operand.at[i].access == ACCESS_READ)
			m->operand[AT] = i;
	}
	return m->operand[X] && k->let.n && k->let.at[0].op->row == (int)row && operand(m, X)->ngather == indices &&
	       k->naxis == axes;
}

static bool
has_dtype(const Match *m, RtDtype dtype)
{
	return operand(m, X)->dtype == dtype && operand(m, Y)->dtype == dtype;
}

/* The last argument of the row's first let: its flags. They may be no number if they differ with the sizes. */
static const Ref *
last_argument(const Match *m, OpRow row)
{
	const Let *l = let_of(m, row, 0);

	RT_ASSERT(l && l->narg);
	return &l->arg[l->narg - 1];
}

static bool
has_flags(const Match *m, OpRow row)
{
	return last_argument(m, row)->kind == REF_NUMBER;
}

static int64_t
flags_of(const Match *m, OpRow row)
{
	return last_argument(m, row)->number.u.i;
}

/* An int argument as a size. */
static const Size *
int_size(const Match *m, const Ref *r)
{
	return r->kind == REF_OPERAND ? m->kernel->operand.at[r->at].offset : constant(m, r->number.u.i);
}

/* Are the channels of a pixel consecutive in both images? */
static bool
has_lanes(const Match *m)
{
	return !size_is(extent(m, C), 1) && size_is(stride(m, X, C), 1) && size_is(stride(m, Y, C), 1);
}

static const Size *
planes(const Match *m)
{
	return has_lanes(m) ? constant(m, 1) : extent(m, C);
}

static bool
is_line(const Match *m)
{
	return (flags_of(m, ROW_prim_resize_source) & 7) == VZ_LINEAR && size_is(operand(m, X)->gather[0].limit, 1) &&
	       size_is(extent(m, OH), 1);
}

static VzDim
resize_dim(const Match *m, int i)
{
	const Ref *given = &let_of(m, ROW_prim_resize_scale, i)->arg[2];
	const int64_t how = flags_of(m, ROW_prim_resize_source);

	return (VzDim){ known(operand(m, X)->gather[i].limit), known(extent(m, OH + i)), how >> 3 & 1,
			given->kind == REF_NUMBER ? given->number.u.f : 0 };
}

/* Bytes of scratch memory; 0 if they depend on sizes. */
static int64_t
weighed_scratch(const Match *m)
{
	const VzDim h = resize_dim(m, 0), w = resize_dim(m, 1);
	const int64_t channels = has_lanes(m) ? known(extent(m, C)) : 1;

	return !h.in || !h.out || !w.in || !w.out || !channels ? 0 :
	       vs_resize((VzKind)(flags_of(m, ROW_prim_resize_source) & 7), &h, &w, channels);
}

static int64_t
copy_scratch(const Match *m)
{
	return (known(extent(m, OH)) + known(extent(m, OW))) * 8;
}

static int64_t
regions_scratch(const Match *m)
{
	const Gather *x = operand(m, X)->gather;

	return vs_regions(known(x[1].limit), known(x[2].limit), known(extent(m, OW)),
			  known(extent(m, C)));
}

/* Number of spatial dims of the grid, and its dim for depth, height or width (i: 0, 1, 2). -1 for an image's depth. */
static int
grid_dims(const Match *m)
{
	return operand(m, X)->ngather;
}

static int
grid_dim(const Match *m, int i)
{
	return i - (3 - grid_dims(m));
}

static const Size *
grid_in(const Match *m, int i)
{
	return grid_dim(m, i) < 0 ? constant(m, 1) : operand(m, X)->gather[grid_dim(m, i)].limit;
}

static const Size *
grid_x(const Match *m, int i)
{
	return grid_dim(m, i) < 0 ? constant(m, 0) : operand(m, X)->gather[grid_dim(m, i)].stride;
}

static const Size *
grid_out(const Match *m, int i)
{
	return grid_dim(m, i) < 0 ? constant(m, 1) : m->kernel->extent[2 + grid_dim(m, i)];
}

static const Size *
grid_along(const Match *m, int name, int i)
{
	return grid_dim(m, i) < 0 ? constant(m, 0) : operand(m, name)->stride[2 + grid_dim(m, i)];
}

/* The step between the coordinates of a point: the first operand at another place than the grid's beginning has the
 * second one. */
static const Size *
grid_step(const Match *m)
{
	const Size *least = NULL;

	for (int i = 1; i < m->kernel->operand.n; i++) {
		const Operand *o = &m->kernel->operand.at[i];

		if (o->access == ACCESS_READ && !o->ngather && !size_is(o->offset, 0))
			least = o->offset;
	}
	return least ? least : constant(m, 0);
}

/* The step between a region's numbers. */
static const Size *
region_step(const Match *m)
{
	return m->kernel->operand.at[m->operand[AT] + 1].offset;
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static const Kernel *
link(const Match *m, int i)
{
	return m->attention.link[i];
}

static const Size *
link_stride(const Match *m, int i, int name, LinkAxis axis)
{
	return m->operand[name] < 0 ? constant(m, 0) :
	       link(m, i)->operand.at[m->operand[name]].stride[link_axis(link(m, i), axis)];
}

static bool
find_attention(Match *m)
{
	if (!attention_find(m->kernel, &m->attention))
		return false;
	m->operand[Y] = 0;
	m->operand[Q] = 1;
	m->operand[K] = 2;
	m->operand[V] = 3;
	m->operand[MASK] = m->attention.mask ? 4 : -1;
	return true;
}

/* Number of the batch's dims whose extent is not 1. */
static int
head_dims(const Match *m)
{
	int n = 0;

	for (int i = 0; i < m->kernel->shared - 1; i++)
		n += !size_is(m->kernel->extent[i], 1);
	return n;
}

/* ---- recurrences ------------------------------------------------------------------------------------------------- */

static bool
find_recurrence(Match *m, const char *name, RtDtype dtype)
{
	Recurrence *r = &m->recurrence;

	return recurrence_find(m->kernel, r) && !strcmp(r->cell->name, name) && m->kernel->operand.at[0].dtype == dtype;
}

/* The stride of a result or of the gates along the steps, which is not negative. */
static const Size *
step_of(const Match *m, int at)
{
	const Operand *o = &m->recurrence.step->operand.at[at];

	return o->bound.n ? o->bound.at[0].unit : o->stride[1];
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Begins a member: of an initializer, or an assignment in CUDA. */
static void
put_name(Match *m, const char *name)
{
	enum { EACH = 8 };

	if (m->cuda)
		buf_printf(&m->text, "\tg.%s = ", name);
	else
		buf_printf(&m->text, "%s.%s = ", m->nmember % EACH ? " " : m->nmember ? "\n\t\t" : "\t\t", name);
	m->nmember++;
}

/* Writes a member. A null size leaves it 0. */
static void
put_member(Match *m, const char *name, const Size *size)
{
	if (!size)
		return;
	put_name(m, name);
	kernel_put_size(m->kernel, size, true, &m->text);
	buf_puts(&m->text, m->cuda ? ";\n" : ",");
}

/* Writes a member that is a double: a number, or one whose bits are a symbol, an operand of the kernel k. */
static void
put_real(Match *m, const char *name, const Kernel *k, const Ref *r)
{
	RT_ASSERT(r->kind == REF_NUMBER || r->kind == REF_OPERAND);
	put_name(m, name);
	if (r->kind == REF_NUMBER) {
		buf_printf(&m->text, "%.17g,", r->number.u.f);
	} else {
		buf_puts(&m->text, "rt_double_of(");
		kernel_put_size(m->kernel, k->operand.at[r->at].offset, false, &m->text);
		buf_puts(&m->text, "),");
	}
}

static void
put_text(Match *m, const char *name, const char *text)
{
	put_name(m, name);
	buf_printf(&m->text, m->cuda ? "%s;\n" : "%s,", text);
}

/* Writes the batch's extents that are not 1, and the operands' strides along them. */
static void
put_heads(Match *m)
{
	static const struct { int link, name; const char *member; } of[] = {
		{ SCORES, Q, "qb" }, { SCORES, K, "kb" }, { SUMS, V, "vb" }, { WEIGHTS, MASK, "mb" }, { SUMS, Y, "yb" },
	};
	Arena *a = m->kernel->arena;
	int n = 0;

	for (int i = 0; i < m->kernel->shared - 1; i++) {
		if (size_is(m->kernel->extent[i], 1))
			continue;
		put_member(m, arena_printf(a, "dims[%d]", n), m->kernel->extent[i]);
		for (size_t o = 0; o < sizeof of / sizeof *of; o++)
			if (m->operand[of[o].name] >= 0)
				put_member(m, arena_printf(a, "%s[%d]", of[o].member, n),
					   link(m, of[o].link)->operand.at[m->operand[of[o].name]].stride[i]);
		n++;
	}
	put_member(m, "batch", constant(m, n));
}

/* Adds initializers of a macro. */
static void
put_initializers(Match *m, const char *text)
{
	buf_printf(&m->text, "\n\t\t%s", text);
}

/* Adds the bounds to which results are clamped. */
static void
put_range(Match *m)
{
	if (m->dense->range[0])
		put_initializers(m, ".range = range,");
}

#define EXTENT(axis) extent(m, axis)
#define STRIDE(x, axis) stride(m, x, axis)
#define TIMES(a, b) times(m, a, b)
#define FLAG(x) constant(m, x)
#define CONSECUTIVE(x, axis) size_is(stride(m, x, axis), 1)
#define ALIKE(a, b) is_alike(m, a, b)
#define FITS_INT(size) fits_int(m, size)
#define POOL find_pool(m)
#define CONVOLUTION find_convolution(m)
#define WEIGHT_GRADIENT find_weight_gradient(m)
#define RUNS_ON(x, axis) runs_on(m, x, axis)
#define INPUT_LAST is_input_last(m)
#define OUTPUT_LAST(x) is_output_last(m, x)
#define DEPTHWISE is_depthwise(m)
#define CONSTANT(size) is_number_size(size)
#define CHANNELS(axis) channels(m, axis)
#define PRODUCT(dtype) find_product(m, dtype)
#define APART(x, axis, alone) apart(m, x, axis, alone)
#define BATCH_AXES batch_axes(m)
#define BATCH_EXTENT(i) batch_extent(m, i)
#define BATCH_ALONG(x, i) batch_along(m, x, i)
#define BATCH_POINTS batch_points(m)
#define INT8(sums) find_int8(m, sums)
#define INT8_PART int8_part(m->kernel)
#define INT8_NUMBER(i) constant(m, int8_number(m->kernel, i))
#define SIGNED(x) (operand(m, x)->dtype == RT_i8)
#define IF(condition, size) ((condition) ? (size) : constant(m, 0))
#define OFFSET(x) operand(m, x)->offset
#define NUMBER(n) constant(m, n)
#define PARTS(size, part) size_ceil(m->kernel->sizes, size, part)
#define BLOCKS(size, n) blocks(m, size, n)
#define PANEL m->nr
#define TYPICAL(size) typical(m, size)
#define INPUT(i) input_size(m, i)
#define INPUT_STRIDE(i) input_stride(m, i)
#define TAPS(i) taps(m, i)
#define STEP(i) step(m, i)
#define PADDING(i) padding(m, i)
#define DILATION(i) dilation(m, i)
#define MAXIMUM is_maximum(m)
#define PLACES is_places(m)
#define MEAN is_mean(m)
#define DIVISOR divisor_or_zero(m)
#define ADAPTIVE m->adaptive
#define PADDING_COUNTS (!m->adaptive && counts(m, true))
#define ADDED_AT find_added(m)
#define LIMIT operand(m, Y)->gather[0].limit
#define POSITION_STRIDE operand(m, Y)->gather[0].stride
#define COMPUTED(row, indices, axes) find_computed(m, ROW_##row, indices, axes)
#define GRID_AXES(dims) (2 + (dims) * (m->kernel->nreduce ? 2 : 1))
#define TYPED(dtype) has_dtype(m, dtype)
#define BYTES(n) (rt_dtypes[operand(m, X)->dtype].bytes == n)
#define LIMIT_AT(i) operand(m, X)->gather[i].limit
#define STRIDE_AT(i) operand(m, X)->gather[i].stride
#define HOW(row) flags_of(m, ROW_##row)
#define FLAGGED(row) has_flags(m, ROW_##row)
#define INT(row, i, arg_) int_size(m, &let_of(m, ROW_##row, i)->arg[arg_])
#define ARGUMENT(row, i, arg_) &let_of(m, ROW_##row, i)->arg[arg_]
#define LANES has_lanes(m)
#define PLANES planes(m)
#define RESIZE_KIND (HOW(prim_resize_source) & 7)
#define RESIZE_ALIGN (HOW(prim_resize_source) >> 3 & 1)
#define RESIZE_LINE is_line(m)
#define GRID_DIMS grid_dims(m)
#define GRID_MODE (HOW(prim_grid_source) & 3)
#define GRID_PADDING (HOW(prim_grid_source) >> 2 & 3)
#define GRID_ALIGN (HOW(prim_grid_source) >> 4 & 1)
#define GRID_STEP grid_step(m)
#define GRID_IN(i) grid_in(m, i)
#define GRID_OUT(i) grid_out(m, i)
#define GRID_X(i) grid_x(m, i)
#define GRID_ALONG(x, i) grid_along(m, x, i)
#define ROI_ALIGNED (HOW(prim_roi_side) & 1)
#define REGION_STEP region_step(m)
#define ATTENTION find_attention(m)
#define LINK_EXTENT(link_, axis) link_extent(link(m, link_), LINK_##axis)
#define LINK_STRIDE(link, x, axis) link_stride(m, link, x, LINK_##axis)
#define HEADS attention_heads(&m->attention)
#define HEAD_MEMBERS put_heads(m);
#define CAUSAL m->attention.causal
#define HAS_MASK (m->operand[MASK] >= 0)
#define BLOCK attention_block(&m->attention)
#define TEXT(name, text) put_text(m, #name, text);
#define EMPTY (m->attention.zeros ? "0" : "(float)KILN_NAN")
#define LINK_REAL(name, link_, ref) put_real(m, #name, link(m, link_), ref);
#define SCALE m->attention.scale
#define ATTENTION_SCRATCH attention_scratch(&m->attention, m->vf, m->nr)
#define ATTENTION_GRAIN attention_grain(&m->attention)
#define SHORT_BATCH (head_dims(m) <= VA_DIMS)
#define BLOCKS_OF(size, n) size_ceil(m->kernel->sizes, size, n)
#define AT_MOST(size, n) size_at_most(m->kernel->sizes, size, n)
#define ONE_OR(axis_extent, size) (size_is(axis_extent, 1) ? constant(m, 1) : (size))
#define RECURRENCE(name, dtype) find_recurrence(m, name, dtype)
#define TURN_COUNT m->kernel->extent[1]
#define HIDDEN m->recurrence.step->extent[2]
#define OF_PRODUCTS(x, axis) m->recurrence.products->operand.at[m->recurrence.x].stride[axis]
#define OF_FIRST(link, x) (link)->operand.at[m->recurrence.x].stride[0]
#define STEP_OF(x) step_of(m, m->recurrence.x)
#define ROW_OF(x) m->recurrence.step->operand.at[m->recurrence.x].stride[0]
#define REVERSE m->recurrence.step->operand.at[0].bound.n
#define TURNS(n) m->turns = n;
#define PANELS_PASSED (m->kernel->operand.at[m->recurrence.w].constant != NULL)
#define LOAD(link_, x, a, b) \
	put_cuda_load(m->printer, link(m, link_), m->operand[x], link_axis(link(m, link_), LINK_##a), \
		      link_axis(link(m, link_), LINK_##b));
#define VALUE(link_) put_cuda_value(m->printer, link(m, link_), kernel_addresses(m->kernel));
#define STORE(link_) put_cuda_store(m->printer, link(m, link_));

#define DENSE(form) find_dense(m, form)
#define TILE(n) (m->dense->tile == n)
#define VOLUME (m->places == 3)
#define DOWN (m->places - 2)
#define ALONG (m->places - 1)
#define ALL_ROWS rows_of(m)
#define INPUT_ROW input_row(m, m->places)
#define OUTPUT_ROW output_row(m, m->places)
#define DENSE_STEP constant(m, m->dense->step)
#define DENSE_CHUNK constant(m, m->dense->chunk)
#define PANEL_UNITS(rows, chunks) panel_units(m, rows, chunks)
#define ROW_UNITS row_units(m)
#define TILES tiles_of(m)
#define GROUP_ZEROS group_zeros(m)
#define COARSE_TYPE(dtype_, bits_) (m->dense->coarse->dtype == (dtype_) && m->dense->coarse->bits == (bits_))
#define COARSE_GROUP constant(m, m->dense->coarse->group)
#define COARSE_CENTRED m->dense->coarse->centred

#define WHEN(condition, members, other) if (condition) { members } else { other }
#define RANGE put_range(m);
#define MEMBER(name, size) put_member(m, #name, size);
#define REAL(name, ref) put_real(m, #name, m->kernel, ref);
#define INITIALIZERS(text) put_initializers(m, text);
#define SCRATCH(text, size) m->scratch = text, m->bytes = size;
#define SCRATCH_BYTES(n) m->bytes = n, m->scratch = arena_printf(m->kernel->arena, "%lld", (long long)m->bytes);
#define ZEROS(size) m->zeros = size;
#define GRAIN(n) m->grain = n;
#define TALL(n) m->tall = n;
#define PACKING(sizes) m->packed = sizes;
#define STEPS(size) m->steps = size;
#define PASS(...) __VA_ARGS__
#define CUDA(function, type, pattern, members, columns, rows, heads, accessors) \
	static bool function##_fits(Match *m) { return pattern; } \
	static void function##_put(Match *m) { members } \
	static void function##_pass(Match *m) { accessors } \
	static const Size *function##_columns(const Match *m) { return columns; } \
	static const Size *function##_rows(const Match *m) { return rows; } \
	static const Size *function##_heads(const Match *m) { return heads; }
#define MICRO(function, header, type, pattern, members, units, arguments) \
	static bool function##_fits(Match *m) { return pattern; } \
	static void function##_put(Match *m) { members } \
	static const Size *function##_units(const Match *m) { return units; }
#include "micro.def"
#undef MICRO
#undef CUDA

typedef struct MicroRow {
	const char *name, *header, *type;
	bool (*fits)(Match *);
	void (*put_members)(Match *);
	const Size *(*units)(const Match *);
	int pass[PASSED];        /* operands, as the function takes them; END behind the last */
} MicroRow;

#define CUDA(function, type, pattern, members, columns, rows, heads, accessors)
static const MicroRow rows[] = {
#define MICRO(function, header, type, pattern, members, units, ...) \
	{ #function, header, #type, function##_fits, function##_put, function##_units, { __VA_ARGS__ } },
#include "micro.def"
#undef MICRO
#undef CUDA
};

typedef struct CudaRow {
	const char *name, *type;
	bool (*fits)(Match *);
	void (*put_members)(Match *), (*put_accessors)(Match *);
	const Size *(*columns)(const Match *);           /* argument of the template */
	const Size *(*rows)(const Match *), *(*heads)(const Match *);    /* numbers of blocks of the grid */
} CudaRow;

#define MICRO(function, header, type, pattern, members, units, ...)
static const CudaRow cuda_rows[] = {
#define CUDA(function, type, pattern, members, columns, rows, heads, accessors) \
	{ #function, #type, function##_fits, function##_put, function##_pass, function##_columns, function##_rows, \
	  function##_heads },
#include "micro.def"
#undef MICRO
#undef CUDA
};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The place of an operand among the arguments of the call. -1 if there is no such operand. */
static int
argument(const Match *m, int name)
{
	int at = 0;

	if (name == WRONG || name == ZEROS || name == START || name == SCALES)
		return name == SCALES && m->dense->coarse->bits == 16 ? -1 : kernel_addresses(m->kernel);
	if (m->operand[name] < 0)
		return -1;
	for (int i = 0; i < m->operand[name]; i++)
		at += kernel_has_address(m->kernel, i);
	return at;
}

/* Writes one argument of the function. Sums that are stored apart are at `all`. */
static void
put_argument(const Match *m, int name, Buf *b)
{
	const bool dense = m->dense && (name == X || name == Y || name == BIAS);
	const int at = name == SCRATCH || name == EPILOGUE || name == ALL ? -1 : argument(m, name);

	if (name == SCRATCH)
		buf_puts(b, ", scratch");
	else if (name == ALL)
		buf_puts(b, ", p");
	else if (name == EPILOGUE)
		buf_printf(b, ", %s, %s", m->dense->epilogue ? m->dense->epilogue : "0", m->dense->apart ? "q" : "p");
	else if (name == Y && m->dense && m->dense->apart)
		buf_puts(b, ", all");
	else if (at < 0)
		buf_puts(b, ", 0");
	else if (dense && !size_is(operand(m, name)->offset, 0)) {
		buf_printf(b, ", (float *)p[%d] + ", at);
		kernel_put_size(m->kernel, operand(m, name)->offset, true, b);
	} else
		buf_printf(b, ", p[%d]", at);
}

/* Begins a loop over blocks whose sums are in scratch memory, because the result's memory is still read. `all` is the
 * address that row 0 would have if that memory held all rows. */
static void
open_apart(Printer *p, const Match *m)
{
	const Dense *d = m->dense;
	const int units = d->chunk / d->step, addresses = kernel_addresses(m->kernel) + dense_adds(d);
	const long long columns = d->n * d->groups;

	put_line(p, "float *const sums = rt_thread_scratch(%lld);\n", columns * d->chunk * 4);
	open_loop(p, arena_printf(m->kernel->arena, "for (int64_t at = begin; sums && at < end; at += %d)", units));
	put_line(p, "const int64_t to = at + %d < end ? at + %d : end;", units, units);
	put_line(p, "float *const all = sums - at * %lld;", d->step * columns);
	buf_puts(&p->text, "\t\tvoid *const q[] = {");
	for (int i = 0; i < addresses; i++)
		buf_printf(&p->text, " p[%d],", i);
	buf_puts(&p->text, " all };\n\n");
}

/* Writes the call, with scratch memory of the thread if it needs some. */
static void
put_call(Printer *p, const Match *m, const MicroRow *row)
{
	const bool apart = m->dense && m->dense->apart;
	Buf b = { 0 };

	if (m->scratch) {
		put_line(p, "void *scratch = rt_thread_scratch(%s);\n", m->scratch);
		put_line(p, "if (!scratch)");
		put_line(p, "\treturn;");
	}
	if (apart)
		open_apart(p, m);
	for (int i = 0; i < PASSED && row->pass[i] != END; i++)
		put_argument(m, row->pass[i], &b);
	put_line(p, "%s(%s, &v%s);", row->name, apart ? "at, to" : "begin, end", b.at);
	buf_free(&b);
	if (apart)
		close_loop(p);
}

/* Returns the body of a function that calls the row's. Its struct is static if no member depends on sizes. Symbols come
 * behind the arguments that the call adds. */
static const char *
call_text(Match *m, const MicroRow *row, int symbols)
{
	Kernel *named = new(m->kernel->arena, Kernel, 1);
	Printer p = { .kernel = named, .indent = 1 };

	*named = *m->kernel;
	named->naming = symbols >= 0 ? new(named->arena, Naming, 1) : NULL;
	m->kernel = named;
	row->put_members(m);
	buf_puts(&p.text, "{\n");
	put_line(&p, "void *const *p = arg;");
	put_named_sizes(&p, symbols + (m->dense ? dense_adds(m->dense) : m->zeros || m->packed || m->turns));
	if (m->dense && m->dense->range[0])
		put_line(&p, "static const float range[] = { %s, %s };", m->dense->range[0], m->dense->range[1]);
	put_line(&p, "%sconst %s v = {", named->naming && named->naming->at.n ? "" : "static ", row->type);
	buf_puts(&p.text, m->text.at);
	buf_puts(&p.text, "\n\t};\n\n");
	put_call(&p, m, row);
	buf_puts(&p.text, "}\n");
	buf_free(&m->text);
	return arena_text(named->arena, &p.text);
}

/* Returns the least number of units worth a thread: about 16,000 points. */
static int64_t
grain_of(const Kernel *k, const Size *units)
{
	int64_t points, n;

	if (!kernel_typical(k, kernel_points(k), &points) || !kernel_typical(k, units, &n) || n < 1)
		return 1;
	return 1 + ROW_GRAIN / (points / n > 0 ? points / n : 1);
}

bool
kernel_micro(const Kernel *k, const Calling *how, Micro *out)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const MicroRow *row = &rows[i];
		Match m = { .kernel = k, .nr = how->nr, .vf = how->vf, .dense = how->dense };

		if (!row->fits(&m))
			continue;
		*out = (Micro){ .name = row->name, .header = row->header, .units = row->units(&m) };
		out->text = call_text(&m, row, how->symbols);
		out->grain = m.grain ? m.grain : grain_of(k, out->units);
		out->scratch = m.dense && m.dense->apart ? 4 * m.dense->chunk * m.dense->n * m.dense->groups : m.bytes;
		out->tall = m.tall;
		out->narrow = m.narrow;
		out->packed = m.packed;
		out->weights = m.packed ? argument(&m, W) : -1;
		out->steps = m.steps ? m.steps : kernel_steps(k);
		out->turns = m.turns;
		if (m.zeros && !size_const(m.zeros, &out->zeros))
			BUG("%s: the number of zeros is no constant", row->name);
		return true;
	}
	return false;
}

bool
kernel_has_micro(const Kernel *k)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].fits(&(Match){ .kernel = k }))
			return true;
	return false;
}

/* ---- CUDA -------------------------------------------------------------------------------------------------------- */

/* Returns the parameters and body of a kernel that calls the row's function. Members and batch indices come first. */
static const char *
cuda_text(Match *m, const CudaRow *row)
{
	Printer p = { .kernel = m->kernel, .indent = 1 };
	int64_t columns = 0;
	Buf params = { 0 };

	m->cuda = true;
	m->printer = &p;
	row->put_members(m);
	size_const(row->columns(m), &columns);
	kernel_cuda_params(m->kernel, &params);
	buf_printf(&p.text, "(%s)\n{\n\t%s g;\n\n%s", params.at, row->type, m->text.at);
	put_cuda_indices(&p, 0, m->kernel->shared - 1, "blockIdx.y");
	put_line(&p, "%s<%lld>(g,", row->name, (long long)columns);
	row->put_accessors(m);
	buf_puts(&p.text, "}\n");
	buf_free(&params);
	buf_free(&m->text);
	return arena_text(m->kernel->arena, &p.text);
}

bool
kernel_micro_cuda(const Kernel *k, MicroCuda *out)
{
	for (size_t i = 0; i < sizeof cuda_rows / sizeof *cuda_rows; i++) {
		const CudaRow *row = &cuda_rows[i];
		Match m = { .kernel = k };

		if (!row->fits(&m))
			continue;
		*out = (MicroCuda){ row->name, cuda_text(&m, row), { row->rows(&m), row->heads(&m) } };
		return true;
	}
	return false;
}
