/* rt/ops/order.c - searchsorted, unique, bins and histograms, all by the keys of keys.h
 *
 * unique_dim sorts slices by comparing their keys one after the other. unique treats elements as slices of one
 * element. */
#include "keys.h"

#include <math.h>
#include <string.h>

RT_FAST

/* ---- searchsorted ------------------------------------------------------------------------------------------------ */

/* The key of NaN among keys of floating elements. Among keys of integers it is a number. */
#define NAN_KEY INT64_MAX

typedef struct Search {
	bool floating, right;
} Search;

/* Returns the number of keys below v, or, if `right`, at most v. Among keys of floating elements, NaN counts as below
 * every v. */
static int64_t
position(Search how, const int64_t *key, int64_t n, int64_t v, const int64_t *sorter)
{
	int64_t lo = 0;

	while (n > 0) {
		int64_t half = n / 2, k = key[sorter ? sorter[lo + half] : lo + half];
		if (k < v || (how.right && k == v) || (how.floating && k == NAN_KEY)) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

/* Converts both to comparable keys: those of doubles if either is floating. */
static int
comparable(RtCx *cx, const char *name, RtTensor *a, RtTensor *b, int64_t **ka, int64_t **kb)
{
	if (rt_is_floating((RtDtype)a->dtype) != rt_is_floating((RtDtype)b->dtype)) {
		a = dense_as(cx, a, RT_f64);
		b = a ? dense_as(cx, b, RT_f64) : NULL;
		if (!b)
			return RT_ERROR;
	}
	*ka = keys_of(cx, name, a);
	*kb = *ka ? keys_of(cx, name, b) : NULL;
	return *kb ? RT_OK : RT_ERROR;
}

/* Reads the argument `side`. *right holds the argument `right` on entry, and whether the side is "right" on return. */
static int
search_side(RtCx *cx, IValue side, bool *right)
{
	if (side.tag != RT_STR)
		return RT_OK;
	if (strcmp(side.u.str->s, "left") && strcmp(side.u.str->s, "right"))
		return rt_raise(cx, "torch.searchsorted(): side can only be 'left' or 'right' but got %s",
				side.u.str->s);
	if (*right && side.u.str->s[0] == 'l')
		return rt_raise(cx, "torch.searchsorted(): side and right can't be set to opposites, got side "
			"of left while right was True");
	*right = side.u.str->s[0] == 'r';
	return RT_OK;
}

static int
check_search(RtCx *cx, const RtTensor *seq, const RtTensor *t, const RtTensor *sorter)
{
	if (seq->ndim == 0)
		return rt_raise(cx, "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
			"dimension is 1, but we got boundaries tensor dim(0) and input value's dim(%d) numel(%lld)",
			t->ndim, (long long)rt_numel(t));
	for (int d = 0; d < seq->ndim - 1; d++)
		if (seq->ndim != t->ndim || seq->dims[d] != t->dims[d])
			return rt_raise(cx, "torch.searchsorted(): boundaries tensor should be 1 dimension or the "
				"first N-1 dimensions of boundaries tensor and input value tensor must match");
	if (sorter && (sorter->dtype != RT_i64 || sorter->ndim != seq->ndim
			|| memcmp(sorter->dims, seq->dims, sizeof *seq->dims * seq->ndim)))
		return rt_raise(cx, "torch.searchsorted(): boundary and sorter must have the same size, and sorter "
			"must be of type long");
	return RT_OK;
}

int
rt_searchsorted_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *seq = in[0].u.t, *t = in[1].u.t, *sorter = rt_tensor(in[5]), *r, *wide;
	bool right = in[3].u.i, floating;
	int64_t n, m, *key, *v, *to;

	if (search_side(cx, in[4], &right) || check_search(cx, seq, t, sorter))
		return RT_ERROR;
	floating = rt_is_floating((RtDtype)t->dtype) || rt_is_floating((RtDtype)seq->dtype);
	r = rt_result(cx, 0, in[2].u.i ? RT_i32 : RT_i64, t->ndim, t->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	if (!rt_numel(t))
		return RT_OK;                              /* of any dtype */
	if (t->dtype == RT_b8 && seq->dtype == RT_b8)
		return rt_raise(cx, "\"searchsorted_out_cpu\" not implemented for 'Bool'");
	if (rt_not_stored_only(cx, "searchsorted_out_cpu", (RtDtype)seq->dtype))
		return RT_ERROR;
	wide = in[2].u.i ? temp_new(cx, RT_i64, t->ndim, t->dims) : r;
	if (!wide || comparable(cx, "searchsorted_out_cpu", seq, t, &key, &v))
		return RT_ERROR;
	if (sorter && !(sorter = dense(cx, sorter)))
		return RT_ERROR;
	n = seq->dims[seq->ndim - 1];
	m = seq->ndim == 1 ? rt_numel(t) : t->dims[t->ndim - 1];
	to = (int64_t *)(void *)rt_data(wide);
	for (int64_t i = 0, all = rt_numel(t); i < all; i++) {
		int64_t line = i / m * n;
		const int64_t *s = sorter ? (int64_t *)(void *)rt_data(sorter) + line : NULL;
		for (int64_t k = 0; s && i % m == 0 && k < n; k++)
			if (s[k] < 0 || s[k] >= n)
				return rt_raise(cx, "torch.searchsorted(): sorter index out of range");
		to[i] = position((Search){ floating, right }, key + line, n, v[i], s);
	}
	return wide == r ? RT_OK : rt_copy_into(cx, r, wide);
}

/* Whether ATen's isin compares each element with all test elements. It sorts if there are more of these. */
static bool
is_searched(const RtTensor *t, const RtTensor *of)
{
	const double m = (double)rt_numel(t), n = (double)rt_numel(of);

	return m > 0 && log(n / 10) < 0.145 * log(m);
}

int
rt_isin_Tensor_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *of = in[1].u.t, *r = rt_result(cx, 0, RT_b8, t->ndim, t->dims, NULL);
	int64_t n = rt_numel(of), *key, *v, *order, *work;
	const bool floating = rt_is_floating((RtDtype)t->dtype) || rt_is_floating((RtDtype)of->dtype);

	RT_RESULT(cx, r, out[0]);
	if (!rt_numel(t))
		return RT_OK;
	if (is_searched(t, of) && rt_not_stored_only(cx, "isin_default_cpu", (RtDtype)t->dtype))
		return RT_ERROR;
	if (comparable(cx, "isin", t, of, &v, &key))
		return RT_ERROR;
	order = rt_scratch(cx, n * 8 + 8);
	work = order ? rt_scratch(cx, n * 8 + 8) : NULL;
	if (!work)
		return RT_ERROR;
	rt_sort_positions(key, n, order, work);
	for (int64_t i = 0, m = rt_numel(t); i < m; i++) {
		int64_t at = position((Search){ 0 }, key, n, v[i], order);
		bool found = at < n && key[order[at]] == v[i] && !(floating && v[i] == NAN_KEY);
		((uint8_t *)rt_data(r))[i] = found != in[3].u.i;
	}
	return RT_OK;
}

/* ---- unique ------------------------------------------------------------------------------------------------------ */

/* The m slices of a tensor, with n keys each. Results are made from the order of the slices. */
typedef struct Slices {
	int64_t *key, n, m;
	bool     floating;
	int64_t *order;       /* (m) order of slices in which equal ones are adjacent */
} Slices;

static int
compare_slices(const Slices *s, int64_t a, int64_t b)
{
	const int64_t *x = s->key + a * s->n, *y = s->key + b * s->n;

	for (int64_t i = 0; i < s->n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Sorts n slices by merging. `work` is scratch memory. */
static void
sort_slices(const Slices *s, int64_t *order, int64_t *work, int64_t n)
{
	int64_t half = n / 2, a = 0, b = half;

	if (n < 2)
		return;
	sort_slices(s, order, work, half);
	sort_slices(s, order + half, work, n - half);
	for (int64_t k = 0; k < n; k++)
		work[k] = b >= n || (a < half && compare_slices(s, order[a], order[b]) <= 0) ? order[a++] : order[b++];
	memcpy(order, work, n * 8);
}

static int
order_slices(RtCx *cx, Slices *s, bool consecutive)
{
	int64_t *work = rt_scratch(cx, s->m * 8 + 8);

	s->order = work ? rt_scratch(cx, s->m * 8 + 8) : NULL;
	if (!s->order)
		return RT_ERROR;
	for (int64_t i = 0; i < s->m; i++)
		s->order[i] = i;
	if (consecutive)
		return RT_OK;
	if (s->n == 1)
		rt_sort_positions(s->key, s->m, s->order, work);
	else
		sort_slices(s, s->order, work, s->m);
	return RT_OK;
}

/* Moves the first slice of each group of equal ones to the front of order and returns their number. Fills inverse (m)
 * and count, unless they are null. */
static int64_t
mark_slices(Slices *s, int64_t *inverse, int64_t *count)
{
	int64_t kinds = 0, first = 0;

	for (int64_t i = 0; i < s->m; i++) {
		int64_t slice = s->order[i];
		/* NaN equals no element */
		bool new_kind = i == 0 || compare_slices(s, first, slice)
			|| (s->n == 1 && s->floating && s->key[slice] == NAN_KEY);
		if (new_kind) {
			s->order[kinds] = first = slice;
			if (count)
				count[kinds] = 0;
			kinds++;
		}
		if (inverse)
			inverse[slice] = kinds - 1;
		if (count)
			count[kinds - 1]++;
	}
	return kinds;
}

/* Stores the indices v as result i. If v is null, they were not requested: stores an empty tensor. */
static int
give_indices(RtCx *cx, int i, int ndim, const int64_t *dims, const int64_t *v, IValue *out)
{
	int64_t none = 0;
	RtTensor *r = rt_result(cx, i, RT_i64, v ? ndim : 1, v ? dims : &none, NULL);

	RT_RESULT(cx, r, out[i]);
	if (v && rt_numel(r))
		memcpy(rt_data(r), v, rt_numel(r) * 8);
	return RT_OK;
}

typedef struct Unique {
	int  dim;                        /* dim; negative if all elements are flattened */
	bool consecutive;
	bool inverse, count;             /* whether each of these results is requested */
	int  nout;
} Unique;

/* Moves dim 0 of out[0], which is dense, back to `dim`. */
static int
move_back(RtCx *cx, int dim, IValue *out)
{
	IValue moved;
	RtTensor *r;

	if (CALL(cx, transpose_int, &moved, out[0], rt_int(0), rt_int(dim)) || !(r = dense(cx, moved.u.t)))
		return RT_ERROR;
	rt_assign(&out[0], rt_of(rt_tensor_retain(r)));
	return RT_OK;
}

static int
unique(RtCx *cx, RtTensor *t, Unique want, IValue *out)
{
	const int dim = want.dim;
	RtTensor *from = t, *r;
	Slices s = { 0 };
	int64_t kinds, *inverse, *count, dims[RT_MAX_RANK], block;
	IValue moved;

	if (cx->meta)
		return rt_no_meta(cx);
	if (dim > 0) {
		if (CALL(cx, transpose_int, &moved, rt_of(t), rt_int(dim), rt_int(0)))
			return RT_ERROR;
		from = moved.u.t;
	}
	from = dense(cx, from);
	s.key = from ? keys_of(cx, "unique", from) : NULL;
	s.floating = from && rt_is_floating((RtDtype)from->dtype);
	if (!s.key)
		return RT_ERROR;
	s.m = dim < 0 || t->ndim == 0 ? rt_numel(t) : t->dims[dim];
	s.n = dim < 0 ? 1 : product(from->dims, 1, from->ndim);
	inverse = rt_scratch(cx, s.m * 8 + 8);
	count = inverse ? rt_scratch(cx, s.m * 8 + 8) : NULL;
	if (!count || order_slices(cx, &s, want.consecutive))
		return RT_ERROR;
	kinds = mark_slices(&s, inverse, count);
	memcpy(dims, from->dims, sizeof *dims * from->ndim);
	dims[0] = kinds;
	r = rt_result(cx, 0, (RtDtype)t->dtype, dim < 0 ? 1 : from->ndim, dims, NULL);
	RT_PUT(r, out[0]);
	block = s.n * rt_dtypes[t->dtype].bytes;
	pick_blocks(rt_data(r), rt_data(from), kinds, s.order, block);
	if (dim > 0 && move_back(cx, dim, out))
		return RT_ERROR;
	/* With a dim, PyTorch returns both, requested or not. */
	want.inverse = want.inverse || dim >= 0;
	want.count = want.count || dim >= 0;
	if (give_indices(cx, 1, dim < 0 ? t->ndim : 1, dim < 0 ? t->dims : &s.m, want.inverse ? inverse : NULL, out))
		return RT_ERROR;
	return want.nout == 2 ? RT_OK : give_indices(cx, 2, 1, &kinds, want.count ? count : NULL, out);
}

KERNEL(_unique2, unique(cx, in[0].u.t, (Unique){ -1, false, in[2].u.i, in[3].u.i, 3 }, out))
KERNEL(_unique, unique(cx, in[0].u.t, (Unique){ -1, false, in[2].u.i, false, 2 }, out))

static int
unique_along(RtCx *cx, const IValue *in, int64_t wanted, bool consecutive, const IValue *want, IValue *out)
{
	RtTensor *t = in[0].u.t;
	int dim = rt_dim(cx, wanted, t->ndim);
	bool zero = false;

	if (dim < 0)
		return RT_ERROR;
	for (int d = 0; d < t->ndim; d++)
		zero = zero || (d != dim && t->dims[d] == 0);
	if (zero && t->dims[dim])
		return rt_raise(cx,
				"There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
	if (t->ndim == 0)
		dim = -1;
	return unique(cx, t, (Unique){ dim, consecutive, want[0].u.i, want[1].u.i, 3 }, out);
}

KERNEL(unique_dim, unique_along(cx, in, in[1].u.i, false, in + 3, out))
KERNEL(unique_dim_consecutive, unique_along(cx, in, in[1].u.i, true, in + 2, out))

int
rt_unique_consecutive(RtCx *cx, const IValue *in, IValue *out)
{
	if (rt_is_none(in[3]))
		return unique(cx, in[0].u.t, (Unique){ -1, true, in[1].u.i, in[2].u.i, 3 }, out);
	return unique_along(cx, in, in[3].u.i, true, in + 1, out);
}

/* ---- bins -------------------------------------------------------------------------------------------------------- */

static double
round_to(RtDtype t, double v)
{
	return t == RT_f64 ? v : t == RT_f32 ? (float)v : t == RT_bf16 ? rt_bf16_to_float(rt_float_to_bf16((float)v))
		: rt_half_to_float(rt_float_to_half((float)v));
}

/* Counts an element in its bin. PyTorch computes the bin in the dtype itself. */
static void
count_in(RtDtype t, double x, double lo, double hi, double *to, int64_t bins)
{
	double part = round_to(t, round_to(t, x - lo) / round_to(t, hi - lo));
	int64_t b;

	if (!(x >= lo && x <= hi))
		return;
	b = (int64_t)round_to(t, part * round_to(t, (double)bins));
	b = b >= bins ? bins - 1 : b;
	to[b]++;
}

int
rt_histc(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *r, *v, *sum;
	int64_t bins = in[1].u.i;
	double lo = rt_number(in[2]), hi = rt_number(in[3]), *to;
	const double *from;

	if (!rt_is_floating((RtDtype)t->dtype))
		return rt_raise(cx, "\"histogram_cpu\" not implemented for '%s'", rt_dtypes[t->dtype].brief);
	if (bins <= 0)
		return rt_raise(cx, "bins must be > 0");
	r = rt_result(cx, 0, (RtDtype)t->dtype, 1, &bins, NULL);
	RT_RESULT(cx, r, out[0]);
	v = dense_as(cx, t, RT_f64);
	sum = v ? temp_new(cx, RT_f64, 1, &bins) : NULL;
	if (!sum)
		return RT_ERROR;
	from = (const double *)(const void *)rt_data(v);
	to = (double *)(void *)rt_data(sum);
	memset(to, 0, bins * 8);
	if (lo == hi && rt_numel(v)) {
		lo = hi = from[0];
		for (int64_t i = 1, n = rt_numel(v); i < n; i++) {
			lo = from[i] < lo || from[i] != from[i] ? from[i] : lo;
			hi = from[i] > hi || from[i] != from[i] ? from[i] : hi;
		}
	}
	if (!isfinite(lo) || !isfinite(hi))
		return rt_raise(cx, "torch.histc: range of [%g, %g] is not finite", lo, hi);
	if (lo > hi)
		return rt_raise(cx, "torch.histc: max must be larger than min");
	if (lo == hi)
		lo -= 1, hi += 1;
	lo = round_to((RtDtype)t->dtype, lo);
	hi = round_to((RtDtype)t->dtype, hi);
	for (int64_t i = 0, n = rt_numel(v); i < n; i++)
		count_in((RtDtype)t->dtype, from[i], lo, hi, to, bins);
	return rt_copy_into(cx, r, sum);
}

/* Computes the number of elements of each bin, or the sum of their weights of type d. */
static void
count_bins(const int64_t *bin, int64_t n, RtDtype d, const void *weight, void *r)
{
	for (int64_t i = 0; i < n; i++)
		if (!weight)
			((int64_t *)r)[bin[i]]++;
		else if (d == RT_f32)
			((float *)r)[bin[i]] += ((const float *)weight)[i];
		else
			((double *)r)[bin[i]] += ((const double *)weight)[i];
}

int
rt_bincount(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *weights = rt_tensor(in[1]), *r, *v;
	int64_t least = in[2].u.i, n = rt_numel(t), bins;
	const int64_t *from;
	RtDtype dtype = !weights ? RT_i64 : weights->dtype == RT_f32 ? RT_f32 : RT_f64;

	if (!rt_is_integral((RtDtype)t->dtype, false))
		return rt_raise(cx, "\"bincount_cpu\" not implemented for '%s'", rt_dtypes[t->dtype].brief);
	if (t->ndim != 1)
		return rt_raise(cx, "bincount only supports 1-d non-negative integral inputs.");
	if (least < 0)
		return rt_raise(cx, "minlength should be >= 0");
	if (weights && (weights->ndim != 1 || weights->dims[0] != n))
		return rt_raise(cx, "weights should be 1-d and have the same length as input");
	if (cx->meta)
		return rt_no_meta(cx);
	v = dense_as(cx, t, RT_i64);
	if (v && weights)
		weights = dense_as(cx, weights, dtype);
	if (!v || (rt_tensor(in[1]) && !weights))
		return RT_ERROR;
	from = (const int64_t *)(const void *)rt_data(v);
	bins = least;
	for (int64_t i = 0; i < n; i++) {
		if (from[i] < 0)
			return rt_raise(cx, "bincount only supports 1-d non-negative integral inputs.");
		bins = from[i] >= bins ? from[i] + 1 : bins;
	}
	r = rt_result(cx, 0, dtype, 1, &bins, NULL);
	RT_RESULT(cx, r, out[0]);
	memset(rt_data(r), 0, bins * rt_dtypes[dtype].bytes);
	count_bins(from, n, dtype, weights ? rt_data(weights) : NULL, rt_data(r));
	return RT_OK;
}

/* ---- histogram: counts (n, d) points in a grid of bins, which d vectors of edges define -------------------------- */

typedef struct Grid {
	int     d;
	double *edge[RT_MAX_RANK];
	int64_t bins[RT_MAX_RANK];
} Grid;

/* Returns the bin of x, which is between the first and the last edge. Bisects as std::upper_bound does, even if the
 * edges do not ascend. */
static int64_t
bin_of(const double *edge, int64_t bins, double x)
{
	int64_t first = 0, n = bins + 1;

	while (n > 0) {
		int64_t half = n / 2;
		if (x < edge[first + half]) {
			n = half;
		} else {
			first += half + 1;
			n -= half + 1;
		}
	}
	return first - 1 == bins ? bins - 1 : first - 1;
}

static int
fill_grid(RtCx *cx, const Grid *g, RtTensor *points, RtTensor *weight, bool density, RtTensor *r)
{
	RtTensor *p = dense_as(cx, points, RT_f64), *w = p && weight ? dense_as(cx, weight, RT_f64) : NULL;
	RtTensor *sum = p && (w || !weight) ? temp_new(cx, RT_f64, g->d, g->bins) : NULL;
	int64_t n = g->d && p ? rt_numel(p) / g->d : 0, cells;
	double *to, total = 0;

	if (!sum)
		return RT_ERROR;
	to = (double *)(void *)rt_data(sum);
	cells = rt_numel(sum);
	memset(to, 0, cells * 8);
	for (int64_t i = 0; i < n; i++) {
		const double *x = (const double *)(const void *)rt_data(p) + i * g->d;
		int64_t cell = 0;
		for (int d = 0; d < g->d && cell >= 0; d++) {
			const double *e = g->edge[d];
			bool inside = x[d] >= e[0] && x[d] <= e[g->bins[d]];
			cell = inside ? cell * g->bins[d] + bin_of(e, g->bins[d], x[d]) : -1;
		}
		if (cell >= 0)
			to[cell] += w ? ((double *)(void *)rt_data(w))[i] : 1;
	}
	for (int64_t i = 0; i < cells; i++)
		total += to[i];
	for (int64_t i = 0; density && i < cells; i++) {
		int64_t rest = i;
		double volume = total;
		for (int d = g->d - 1; d >= 0; d--) {
			volume *= g->edge[d][rest % g->bins[d] + 1] - g->edge[d][rest % g->bins[d]];
			rest /= g->bins[d];
		}
		to[i] /= volume;
	}
	return rt_copy_into(cx, r, sum);
}

static int
grid_of(RtCx *cx, int d, const IValue *edges, Grid *g)
{
	g->d = d;
	for (int i = 0; i < d; i++) {
		RtTensor *e = edges[i].u.t;
		if (e->ndim != 1 || e->dims[0] < 2)
			return rt_raise(cx, "torch.histogramdd(): bin edges have to be vectors of at least 2 elements");
		g->bins[i] = e->dims[0] - 1;
		e = dense_as(cx, e, RT_f64);
		if (!e)
			return RT_ERROR;
		g->edge[i] = cx->meta ? NULL : (double *)(void *)rt_data(e);
	}
	return RT_OK;
}

int
rt__histogramdd_from_bin_tensors(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *r;
	const RtList *bins = in[1].u.list;
	Grid g;

	if (!rt_is_floating((RtDtype)t->dtype))
		return rt_raise(cx, "\"histogramdd\" not implemented for '%s'", rt_dtypes[t->dtype].brief);
	if (t->ndim < 2 || bins->n != t->dims[t->ndim - 1] || bins->n > RT_MAX_RANK)
		return rt_raise(cx, "torch.histogramdd(): expected as many bin edges as the input's innermost "
			"dimension is long");
	if (grid_of(cx, (int)bins->n, bins->v, &g))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)t->dtype, g.d, g.bins, NULL);
	RT_RESULT(cx, r, out[0]);
	return fill_grid(cx, &g, t, rt_tensor(in[2]), in[3].u.i, r);
}

int
rt_histogram_bins_tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *bins = in[1].u.t, *r, *edges;
	Grid g;

	if (!rt_is_floating((RtDtype)t->dtype))
		return rt_raise(cx, "\"histogram_cpu\" not implemented for '%s'", rt_dtypes[t->dtype].brief);
	if (grid_of(cx, 1, in + 1, &g))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)t->dtype, 1, g.bins, NULL);
	RT_PUT(r, out[0]);
	edges = rt_result(cx, 1, (RtDtype)bins->dtype, 1, bins->dims, NULL);
	RT_PUT(edges, out[1]);
	if (cx->meta)
		return RT_OK;
	return rt_copy_into(cx, edges, bins) || fill_grid(cx, &g, t, rt_tensor(in[2]), in[3].u.i, r);
}
