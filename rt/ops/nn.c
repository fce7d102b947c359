/*
 * Softmax, embeddings and padding.
 *
 * Softmax subtracts the greatest value, so that no exponential overflows. Embeddings copy whole rows. Every padding is
 * a gather: a table for each dim has the input index of each output, or -1 for the fill value.
 */
#include "block.h"
#include "dense.h"
#include "short.h"

#include <math.h>
#include <string.h>

/* ---- softmax --------------------------------------------------------------------------------------- */

typedef struct Softmax {
	int64_t outer, dim, inner;
	const void *x;
	void *y;
	bool log;
} Softmax;

enum { BLOCK = 64, EXP_CHUNK = 512, SHORT = 24 };       /* SHORT: rows that are shorter are computed together */

RT_FAST
#define T float
#define N(name) name##_f32
#define EXPS rt_exps
#define SUM rt_sum_floats
#define GREATEST rt_greatest
#define LOG logf
#include "nn_loops.h"
RT_SMALL

#define T double
#define N(name) name##_f64
#define EXPS rt_exps_f64
#define SUM rt_sum_f64
#define GREATEST rt_greatest_f64
#define LOG log
#include "nn_loops.h"

static int
softmax(RtCx *cx, RtTensor *self, int64_t at, IValue dtype, bool log, IValue *out)
{
	RtDtype to = rt_dtype_or(dtype, (RtDtype)self->dtype), ct;
	int dim = rt_dim(cx, at, self->ndim);
	Softmax g = { 1, 1, 1, 0, 0, log };
	RtTensor *r, *x, *y;

	if (dim < 0)
		return RT_ERROR;
	if (rt_dtypes[to].category != 'F' && rt_numel(self))
		return rt_raise(cx, "\"%ssoftmax%s_kernel_impl\" not implemented for '%s'", log ? "log_" : "",
			dim + 1 < self->ndim ? "" : "_lastdim", rt_dtypes[to].brief);
	r = rt_result(cx, 0, to, self->ndim, self->dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (rt_numel(self) == 0)
		return RT_OK;
	ct = compute_type(r);
	x = rt_temp(cx, rt_to_dtype(cx, self, to));
	x = x ? dense_in(cx, x, ct) : 0;
	y = dense_out(cx, r, ct);
	if (!x || !y)
		return RT_ERROR;
	for (int i = 0; i < self->ndim; i++)
		*(i < dim ? &g.outer : i == dim ? &g.dim : &g.inner) *= self->dims[i];
	g.x = rt_data(x);
	g.y = rt_data(y);
	if (rt_numel(r) && g.inner == 1)
		rt_parallel(cx, g.dim > SHORT ? g.outer : (g.outer + BLOCK - 1) / BLOCK, 1 + 2000 / (g.dim + 1),
			g.dim > SHORT ? (ct == RT_f32 ? softmax_rows_f32 : softmax_rows_f64) :
			ct == RT_f32 ? softmax_short_f32 : softmax_short_f64, &g);
	else if (rt_numel(r))
		rt_parallel(cx, g.outer * ((g.inner + BLOCK - 1) / BLOCK), 1 + 2000 / (g.dim + 1),
			ct == RT_f32 ? softmax_blocks_f32 : softmax_blocks_f64, &g);
	return dense_done(cx, r, y);
}

KERNEL(softmax_int, softmax(cx, rt_tensor(in[0]), in[1].u.i, in[2], false, out))
KERNEL(log_softmax_int, softmax(cx, rt_tensor(in[0]), in[1].u.i, in[2], true, out))

/* Arguments: self, dim, half_to_float (only for GPUs). */
static int
softmax_plain(RtCx *cx, const IValue *in, bool log, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]);

	if (in[2].u.i && self->dtype != RT_f16)
		return rt_raise(cx, "conversion is supported for Half type only");
	return softmax(cx, self, in[1].u.i, in[2].u.i ? rt_int(RT_f32) : rt_none(), log, out);
}

KERNEL(_softmax, softmax_plain(cx, in, false, out))
KERNEL(_log_softmax, softmax_plain(cx, in, true, out))

/* ---- embedding --------------------------------------------------------------------------------------- */

/* Returns the indices as dense int64, each in [0, limit). Null if an error was raised. */
static const int64_t *
row_indices(RtCx *cx, RtTensor *indices, int64_t limit)
{
	RtTensor *d = dense_in(cx, indices, RT_i64);
	int64_t n = rt_numel(indices);
	static const int64_t nothing[1];

	if (!d)
		return 0;
	for (int64_t i = 0; i < n; i++)
		if (((int64_t *)rt_data(d))[i] < 0 || ((int64_t *)rt_data(d))[i] >= limit) {
			rt_raise(cx, "index out of range in self");
			return 0;
		}
	return n ? (const int64_t *)rt_data(d) : nothing;
}

static int
check_index_type(RtCx *cx, const char *op, const RtTensor *t)
{
	if (t->dtype == RT_i64 || t->dtype == RT_i32)
		return RT_OK;
	return rt_raise(cx, "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
		"Long, Int; but got %s instead (while checking arguments for %s)", rt_dtypes[t->dtype].brief, op);
}

/* Copies rows of a table that the program has in packed form. Returns false if the table is not packed in this way. */
static bool
pick_packed(RtCx *cx, char *to, const RtTensor *table, int64_t n, const int64_t *at)
{
	const int64_t bytes = table->dims[1] * rt_dtypes[table->dtype].bytes;

	for (int64_t i = 0; i < n; i++)
		if (!rt_packed_row(cx, table, at[i], to + i * bytes))
			return false;
	return true;
}

int
rt_embedding(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *weight = rt_tensor(in[0]), *indices = rt_tensor(in[1]), *r, *w;
	int64_t dims[RT_MAX_RANK], n = rt_numel(indices), bytes;
	const int64_t *at;

	if (weight->ndim != 2)
		return rt_raise(cx, "'weight' must be 2-D");
	if (check_index_type(cx, "embedding", indices))
		return RT_ERROR;
	if (indices->ndim + 1 > RT_MAX_RANK)
		return rt_raise(cx, "embedding: too many dims");
	memcpy(dims, indices->dims, (size_t)indices->ndim * 8);
	dims[indices->ndim] = weight->dims[1];
	r = rt_result(cx, 0, weight->dtype, indices->ndim + 1, dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (!(at = row_indices(cx, indices, weight->dims[0])))
		return RT_ERROR;
	if (weight->storage->kind == RT_PACKED) {
		if (rt_is_contiguous(weight) && pick_packed(cx, rt_data(r), weight, n, at))
			return RT_OK;
		rt_unpack(cx, weight->storage);
	}
	if (!(w = rt_temp(cx, rt_contiguous(cx, weight))))
		return RT_ERROR;
	bytes = weight->dims[1] * rt_dtypes[weight->dtype].bytes;
	pick_blocks(rt_data(r), rt_data(w), n, at, bytes);
	return RT_OK;
}

/* Defines a function that adds each row of g to row at[i], unless at[i] is `skip`. count has the number of uses of each
 * row, by which its gradient is divided; null for no division. */
#define ADD_ROWS(name, type) \
static void \
name(int64_t n, int64_t width, const type *g, const int64_t *at, int64_t skip, const int64_t *count, type *sums) \
{ \
	for (int64_t i = 0; i < n; i++, g += width) { \
		type *to = sums + at[i] * width; \
		const type f = count ? 1 / (type)count[at[i]] : 1; \
		if (at[i] == skip) \
			continue; \
		for (int64_t j = 0; j < width; j++) \
			to[j] += g[j] * f; \
	} \
}
ADD_ROWS(add_rows_f32, float)
ADD_ROWS(add_rows_f64, double)
#undef ADD_ROWS

/* Arguments: grad, indices, num_weights, padding_idx, scale_grad_by_freq. */
int
rt_embedding_dense_backward(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *grad = rt_tensor(in[0]), *indices = rt_tensor(in[1]), *r, *g, *sums;
	int64_t n = rt_numel(indices), width = grad->ndim ? grad->dims[grad->ndim - 1] : 0;
	int64_t dims[2] = { in[2].u.i, width }, *count = 0;
	const int64_t *at;
	RtDtype ct;

	if (dims[0] < 0 || rt_numel(grad) != n * width)
		return rt_raise(cx, "embedding_dense_backward: sizes of the gradient and the indices do not fit");
	if (check_index_type(cx, "embedding_backward", indices))
		return RT_ERROR;
	r = rt_result(cx, 0, grad->dtype, 2, dims, 0);
	RT_RESULT(cx, r, out[0]);
	ct = grad->dtype == RT_f32 ? RT_f32 : RT_f64;
	g = dense_in(cx, grad, ct);
	sums = dense_out(cx, r, ct);
	at = row_indices(cx, indices, dims[0]);
	if (!g || !sums || !at || (in[4].u.i && !(count = rt_scratch(cx, dims[0] * 8 + 8))))
		return RT_ERROR;
	memset(rt_data(sums), 0, (size_t)(rt_numel(sums) * rt_dtypes[ct].bytes));
	if (count)
		memset(count, 0, (size_t)dims[0] * 8);
	for (int64_t i = 0; i < n && count; i++)
		count[at[i]]++;
	if (ct == RT_f32)
		add_rows_f32(n, width, (const float *)rt_data(g), at, in[3].u.i, count, (float *)rt_data(sums));
	else
		add_rows_f64(n, width, (const double *)rt_data(g), at, in[3].u.i, count, (double *)rt_data(sums));
	return dense_done(cx, r, sums);
}

/* Returns the p-norm of a row. Computes in float unless `wide` is set: powers that over- or underflow in float become
 * infinity or zero. */
static double
row_norm(const double *row, int64_t n, double p, bool wide)
{
	double norm = 0, v;

	for (int64_t j = 0; j < n; j++) {
		v = isinf(p) ? fabs(row[j]) : pow(fabs(row[j]), p);
		v = wide ? v : (double)(float)v;
		norm = isinf(p) ? fmax(norm, v) : norm + v;
	}
	norm = wide ? norm : (double)(float)norm;
	return isinf(p) ? norm : pow(norm, 1 / p);
}

/* Scales those rows of self that are indexed down to max_norm. out[0] is self. */
int
rt_embedding_renorm_(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]), *indices = rt_tensor(in[1]), *fresh;
	int64_t n = rt_numel(indices), width;
	double limit = rt_number(in[2]), p = rt_number(in[3]);
	const int64_t *at;
	char *seen;

	if (self->ndim != 2)
		return rt_raise(cx, "Expected 2-dimensional tensor, but got %d-dimensional tensor for argument #1 "
			"'self' (while checking arguments for embedding_renorm_)", self->ndim);
	if (check_index_type(cx, "embedding_renorm_", indices))
		return RT_ERROR;
	out[0] = rt_retain(in[0]);
	if (cx->meta || n == 0)
		return RT_OK;
	width = self->dims[1];
	at = row_indices(cx, indices, self->dims[0]);
	fresh = rt_temp(cx, rt_tensor_new(cx, RT_f64, 2, self->dims));
	seen = rt_scratch(cx, self->dims[0] + 1);
	if (!at || !fresh || !seen || rt_copy_into(cx, fresh, self))
		return RT_ERROR;
	memset(seen, 0, (size_t)self->dims[0]);
	for (int64_t i = 0; i < n; i++) {
		double *row = (double *)rt_data(fresh) + at[i] * width, norm;

		if (seen[at[i]]++)
			continue;
		norm = row_norm(row, width, p, self->dtype == RT_f64);
		for (int64_t j = 0; j < width && norm > limit; j++)
			row[j] *= limit / (norm + 1e-7);
	}
	return rt_copy_into(cx, self, fresh);
}

/* ---- embedding_bag --------------------------------------------------------------------------------------- */

typedef struct Bag {
	RtTensor *weight, *indices, *offsets, *scale; /* scale: per-sample weights; null if there are none */
	/* mode: 0 sum, 1 mean, 2 max; padding: index that does not count, -1 if there is none */
	int64_t   mode, padding;
	bool      last;                               /* include_last_offset */
	int64_t   n, bags, width;
} Bag;

RT_FAST
#define T float
#define N(name) name##_f32
#include "vbag_loops.h"
#define T double
#define N(name) name##_f64
#include "vbag_loops.h"
RT_SMALL

/* Sets the bag of each index, the number of indices in each bag, and, if requested, the index of each bag's maxima. */
static void
list_bags(const Bags *g, const RtTensor *table, int64_t *bag, int64_t *size, int64_t *top, void *row)
{
	for (int64_t b = 0; b < g->bags; b++) {
		int64_t from, to;

		bag_of(g, b, &from, &to);
		size[b] = 0;
		for (int64_t i = from; i < to; i++) {
			bag[i] = b;
			size[b] += bag_number(g->index, g->wide_index, i) != g->padding;
		}
		if (g->mode == BAG_MEAN)
			size[b] = bag_divisor(g, b, from, size[b]);
		if (!top)
			continue;
		if (table->dtype == RT_f32)
			bag_max_f32(g, from, to, (const float *)rt_data(table), row, top + b * g->width);
		else
			bag_max_f64(g, from, to, (const double *)rt_data(table), row, top + b * g->width);
	}
}

static int
check_bag(RtCx *cx, const Bag *g)
{
	if (check_index_type(cx, "embedding_bag", g->indices) || check_index_type(cx, "embedding_bag", g->offsets))
		return RT_ERROR;
	if (g->weight->ndim != 2 || g->indices->ndim != 1 || g->offsets->ndim != 1)
		return rt_raise(cx, "embedding_bag: weight has to be 2-D, indices and offsets 1-D tensors");
	if (!is_floating(g->weight))
		return rt_raise(cx, "expected weight of embedding_bag to be floating, but got %s",
				rt_dtypes[g->weight->dtype].brief);
	if (g->mode < 0 || g->mode > 2)
		return rt_raise(cx, "embedding_bag: mode has to be 0, 1 or 2");
	if (g->scale && g->mode)
		return rt_raise(cx, "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
			"supported for mode='sum' (got mode='%s').", g->mode == 1 ? "mean" : "max");
	if (g->scale && rt_numel(g->scale) != g->n)
		return rt_raise(cx, "expected per_sample_weights to be 1D tensor of the length of indices");
	if (g->last && g->offsets->dims[0] < 1)
		return rt_raise(cx, "include_last_offset: number of offset should be at least 1");
	return RT_OK;
}

/* Returns the indices as dense int64, checked against `rows`. Null if an error was raised. */
static const int64_t *
bag_indices(RtCx *cx, const Bag *g, int64_t rows, bool fast)
{
	RtTensor *d = dense_in(cx, g->indices, RT_i64);
	static const int64_t nothing[1];
	const int64_t *at = d ? (const int64_t *)rt_data(d) : 0;

	for (int64_t i = 0; at && i < g->n; i++)
		if (at[i] < 0 || at[i] >= rows)
			return (fast ? rt_raise(cx, "[enforce fail at embedding_lookup_idx.cc:214] 0 <= idx && idx < "
				"data_size. Index %lld is out of bounds: %lld, range 0 to %lld", (long long)i,
				(long long)at[i], (long long)rows) :
				rt_raise(cx, "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx "
				"to be %lld", (long long)at[i])), (const int64_t *)0;
	return d && !g->n ? nothing : at;
}

/* Returns the offsets as dense int64. They must increase from 0 to at most n. Null if an error was raised. */
static const int64_t *
bag_offsets(RtCx *cx, const Bag *g)
{
	RtTensor *d = dense_in(cx, g->offsets, RT_i64);
	int64_t *o, n = g->offsets->dims[0];
	static const int64_t nothing[1];

	if (!d)
		return 0;
	o = (int64_t *)rt_data(d);
	if (n && o[0] != 0)
		return rt_raise(cx, "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
			"from position 0. However, got %lld\n[ torch.%sTensor{} ]", (long long)o[0],
			rt_dtypes[g->offsets->dtype].brief), (const int64_t *)0;
	for (int64_t i = 0; i < n; i++)
		if (o[i] > g->n || (i && o[i] < o[i - 1]))
			return (o[n - 1] > g->n ? rt_raise(cx, "offsets[-1] can not be greater than input's length "
				"%lld but got offsets[-1] of %lld", (long long)g->n, (long long)o[n - 1]) :
				rt_raise(cx, "embedding_bag: offsets have to rise")), (const int64_t *)0;
	return n ? o : nothing;
}

static int
bag_results(RtCx *cx, const Bag *g, bool listed, RtTensor **r, IValue *out)
{
	const bool narrow = g->indices->dtype == RT_i32 && g->offsets->dtype == RT_i32;
	const RtDtype index = narrow ? RT_i32 : RT_i64;
	int64_t dims[2] = { g->bags, g->width }, listing = listed ? g->n : 0;
	int64_t sizes = g->mode == 0 ? g->offsets->dims[0] : g->bags;

	for (int i = 0; i < 4; i++) {
		r[i] = i == 0 ? rt_result(cx, 0, g->weight->dtype, 2, dims, 0) :
			i == 1 ? rt_result(cx, 1, index, 1, &listing, 0) :
			i == 2 || g->mode != 2 ? rt_result(cx, i, index, 1, &sizes, 0) :
			rt_result(cx, 3, index, 2, dims, 0);
		RT_PUT(r[i], out[i]);
	}
	return RT_OK;
}

/* Makes the other results. ATen's fast sum leaves some of them empty. */
static int
list_results(RtCx *cx, const Bag *g, const Bags *b, const RtTensor *table, RtTensor **r)
{
	RtTensor *work[4] = { 0 };
	int64_t *bag = rt_scratch(cx, g->n * 8 + 8);
	void *row = rt_scratch(cx, g->width * 8 + 8);

	for (int i = 1; i < 4; i++)
		if (!(work[i] = rt_temp(cx, rt_tensor_new(cx, RT_i64, r[i]->ndim, r[i]->dims))))
			return RT_ERROR;
	if (!bag || !row)
		return RT_ERROR;
	if (g->mode != BAG_SUM || rt_numel(work[1])) {
		for (int64_t i = 0; i < g->n; i++)
			bag[i] = g->last ? g->bags : 0;    /* an index is in no bag if the last bag ends before it */
		list_bags(b, table, bag, (int64_t *)rt_data(work[2]),
			  g->mode == BAG_MAX ? (int64_t *)rt_data(work[3]) : 0, row);
	}
	if (g->mode == BAG_SUM)
		memset(rt_data(work[2]), 0, (size_t)rt_numel(work[2]) * 8);
	if (g->mode != BAG_MAX)
		memcpy(rt_data(work[3]), rt_data(work[2]), (size_t)rt_numel(work[2]) * 8);
	if (rt_numel(work[1]))
		memcpy(rt_data(work[1]), bag, (size_t)g->n * 8);
	for (int i = 1; i < 4; i++)
		if (rt_copy_into(cx, r[i], work[i]))
			return RT_ERROR;
	return RT_OK;
}

static int
bags(RtCx *cx, Bag *g, IValue *out)
{
	const RtDtype ct = g->weight->dtype == RT_f64 ? RT_f64 : RT_f32;
	/* ATen's fast sum leaves these results empty. */
	bool listed = g->mode != BAG_SUM || g->padding >= 0 || g->weight->dtype == RT_f64;
	Bags b = { .rows = g->weight->ndim ? g->weight->dims[0] : 0, .mode = (int)g->mode, .padding = g->padding,
		.last = g->last, .wide_index = true, .wide_offset = true };
	RtTensor *r[4], *w, *y, *s = 0;

	b.n = g->n = rt_numel(g->indices);
	if (check_bag(cx, g))
		return RT_ERROR;
	b.bags = g->bags = g->offsets->dims[0] - g->last;
	b.width = b.ld = g->width = g->weight->dims[1];
	if (bag_results(cx, g, listed, r, out))
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	w = dense_in(cx, g->weight, ct);
	s = g->scale ? dense_in(cx, g->scale, ct) : 0;
	y = dense_out(cx, r[0], ct);
	b.index = bag_indices(cx, g, b.rows, ct == RT_f32 && g->mode != BAG_MAX && g->padding < 0);
	b.offset = b.index ? bag_offsets(cx, g) : 0;
	if (!w || (g->scale && !s) || !y || !b.offset)
		return RT_ERROR;
	if (ct == RT_f32)
		bags_f32(0, b.bags, &b, (const float *)rt_data(w), s ? (const float *)rt_data(s) : 0,
			 (float *)rt_data(y));
	else
		bags_f64(0, b.bags, &b, (const double *)rt_data(w), s ? (const double *)rt_data(s) : 0,
			 (double *)rt_data(y));
	return list_results(cx, g, &b, w, r) ? RT_ERROR : dense_done(cx, r[0], y);
}

/* Arguments: weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
 * padding_idx. */
static int
embedding_bag(RtCx *cx, const IValue *in, IValue padding, IValue *out)
{
	Bag g = { rt_tensor(in[0]), rt_tensor(in[1]), rt_tensor(in[2]), rt_tensor(in[6]), in[4].u.i, -1, in[7].u.i != 0,
		0, 0, 0 };
	int64_t rows = g.weight->ndim ? g.weight->dims[0] : 0;

	if (!rt_is_none(padding)) {
		g.padding = rt_integer(padding);
		if (g.padding < -rows || g.padding >= rows)
			return rt_raise(cx, "padding_idx must be within the number of embeddings, -%lld through %lld, "
				"but got %lld", (long long)rows, (long long)rows - 1, (long long)g.padding);
		g.padding = g.padding < 0 ? g.padding + rows : g.padding;
	}
	return bags(cx, &g, out);
}

KERNEL(embedding_bag, embedding_bag(cx, in, rt_none(), out))
KERNEL(embedding_bag_padding_idx, embedding_bag(cx, in, in[8], out))

int
rt__embedding_bag(RtCx *cx, const IValue *in, IValue *out)
{
	return embedding_bag(cx, in, rt_integer(in[8]) < 0 ? rt_none() : in[8], out);
}

KERNEL(_embedding_bag_forward_only, rt__embedding_bag(cx, in, out))

/* ---- padding ------------------------------------------------------------------------------------------------ */

enum { PAD_MAX = 1 << 30 };
typedef enum PadMode { CONSTANT, REFLECT, REPLICATE, CIRCULAR } PadMode;

typedef struct Pad {
	RtTensor *self;
	int64_t   before[RT_MAX_RANK], dims[RT_MAX_RANK];   /* padding before each dim of self; sizes of the result */
	int64_t   step[RT_MAX_RANK];        /* self's strides in bytes, in the order of the result's dims */
	int64_t  *from[RT_MAX_RANK];        /* (dims[i]) index in the input of each output; -1 for the fill value */
	/* runs of a line: offset in the input's line, or -1 for fill values */
	struct PadRun { int64_t from, bytes; } *run;
	int64_t   nrun;
	char     *fill;                     /* a line of fill values */
	PadMode   mode;
} Pad;

/* Returns the input index of output o along a dim of n inputs. -1 for the fill value. Circular padding repeats the
 * cropped input. */
static int64_t
padded_source(PadMode mode, int64_t o, int64_t n, int64_t before, int64_t after)
{
	int64_t first = before < 0 ? -before : 0, left = n - first + (after < 0 ? after : 0);

	if (mode == CONSTANT)
		return o < 0 || o >= n ? -1 : o;
	if (mode == REPLICATE)
		return o < 0 ? 0 : o >= n ? n - 1 : o;
	if (mode == CIRCULAR)
		return first + ((o - first) % left + left) % left;
	return o < 0 ? -o : o >= n ? 2 * (n - 1) - o : o;
}

/* Reads the padding, which is pairs (before, after), the last dim's first. */
static int
pad_geometry(RtCx *cx, Pad *g, IValue list)
{
	int64_t pad[2 * RT_MAX_RANK];
	int n = rt_ints(cx, list, pad, 2 * RT_MAX_RANK), ndim = g->self->ndim;
	DenseText text;

	if (n < 0)
		return RT_ERROR;
	if (n % 2)
		return rt_raise(cx, "Length of pad must be even but instead it equals %d", n);
	if (n / 2 > ndim)
		return rt_raise(cx, "Length of pad should be no more than twice the number of dimensions of the input. "
			"Pad length is %dwhile the input has %ddimensions.", n, ndim);
	for (int i = 0; i < ndim; i++) {
		int j = ndim - 1 - i;
		int64_t before = 2 * j < n ? pad[2 * j] : 0, after = 2 * j < n ? pad[2 * j + 1] : 0,
			size = g->self->dims[i], most;

		g->before[i] = before;
		if (before > PAD_MAX || after > PAD_MAX || before < -PAD_MAX || after < -PAD_MAX)
			return rt_raise(cx, "pad: sizes overflow");
		g->dims[i] = size + before + after;
		most = before > after ? before : after;
		if (g->mode == REFLECT && (before || after) && most >= size)
			return rt_raise(cx, "Argument #%d: Padding size should be less than the corresponding input "
				"dimension, but got: padding (%lld, %lld) at dimension %d of input %s", 4 + 2 * j,
				(long long)before, (long long)after, i,      /* only the count, if there are two dims */
				n != 4 ? dense_text(g->self, &text) : ndim == 4 ? "4" : "3");
		if (g->mode == CIRCULAR && most > size)
			return rt_raise(cx, "Padding value causes wrapping around more than once.");
		if ((g->mode == REFLECT || g->mode == REPLICATE) && (before || after) && g->dims[i] < 1)
			return rt_raise(cx, "input (W: %lld) is too small. Calculated output W: %lld", (long long)size,
				(long long)g->dims[i]);
		if (g->mode == CONSTANT && size + (before < 0 ? before : 0) + (after < 0 ? after : 0) < 0)
			return rt_raise(cx, "narrow(): length must be non-negative.");
		if (g->dims[i] < 0 || (g->mode != CONSTANT && (before || after) && size == 0) ||
		    (g->mode != CONSTANT && g->dims[i] > 0 && (before < 0 ? -before : 0) +
		     (after < 0 ? -after : 0) >= size))
			return rt_raise(cx, "The input size %lld, plus negative padding %lld and %lld, resulted in a "
				"negative output size, which is invalid. Check dimension %d of your input.",
				(long long)size, (long long)before, (long long)after, i);
	}
	return RT_OK;
}

RT_FAST

/* Finds runs of consecutive inputs, and of fill values, in the last dim. Each run is copied at once. */
static void
find_runs(Pad *g)
{
	const int last = g->self->ndim - 1;
	const int64_t *from = g->from[last], es = rt_dtypes[g->self->dtype].bytes, step = g->step[last];
	struct PadRun *run = g->run - 1;

	for (int64_t o = 0; o < g->dims[last]; o++) {
		const bool follows = o && from[o] > 0 && step == es && from[o - 1] == from[o] - 1;

		if (!follows && !(o && from[o] < 0 && from[o - 1] < 0))
			*++run = (struct PadRun){ from[o] < 0 ? -1 : from[o] * step, 0 };
		run->bytes += es;
	}
	g->nrun = run + 1 - g->run;
}

static inline void
copy_run(char *restrict to, const char *restrict from, int64_t n)
{
	if (n > SHORT_MOST)
		rt_copy_bytes(to, from, (size_t)n);
	else
		copy_short(to, from, n);
}

/* Writes n lines, which are copies of the lines from[] of x. Returns the address after them. If `from` is null, x is
 * the only line. If x is null, writes lines of fill values. */
static char *
pad_lines(const Pad *g, const char *x, char *restrict y, const int64_t *from, int64_t n)
{
	const int ndim = g->self->ndim;
	const int64_t line = g->dims[ndim - 1] * rt_dtypes[g->self->dtype].bytes;
	const int64_t step = ndim > 1 ? g->step[ndim - 2] : 0;

	for (int64_t l = 0; l < n; l++) {
		if (!x || (from && from[l] < 0)) {
			copy_run(y, g->fill, line);
			y += line;
			continue;
		}

		const char *s = x + (from ? from[l] * step : 0);

		for (const struct PadRun *run = g->run, *end = run + g->nrun; run < end; y += run++->bytes)
			copy_run(y, run->from < 0 ? g->fill : s + run->from, run->bytes);
	}
	return y;
}

static void
pad_planes(const Pad *g, char *y)
{
	const RtTensor *x = g->self;
	const int outer = x->ndim > 2 ? x->ndim - 2 : 0;
	const bool lines = x->ndim > 1;
	int64_t at[RT_MAX_RANK] = { 0 }, planes = product(g->dims, 0, outer);

	for (int64_t p = 0; p < planes; p++) {
		int64_t o = 0;
		bool outside = false;

		for (int i = 0; i < outer; i++) {
			outside = outside || g->from[i][at[i]] < 0;
			o += g->from[i][at[i]] * g->step[i];
		}
		y = pad_lines(g, outside ? NULL : rt_data(x) + o, y, lines ? g->from[outer] : NULL,
			lines ? g->dims[outer] : 1);
		for (int i = outer - 1; i >= 0 && ++at[i] == g->dims[i]; i--)
			at[i] = 0;
	}
}

RT_SMALL

/* Makes the tables for r's dims in memory order, in which channels may be last. */
static int
pad_tables(RtCx *cx, Pad *g, bool channels_last)
{
	RtTensor *x = g->self;

	for (int i = 0; i < x->ndim; i++) {
		g->from[i] = rt_scratch(cx, g->dims[i] * 8 + 8);
		if (!g->from[i])
			return RT_ERROR;
		for (int64_t o = 0; o < g->dims[i]; o++)
			g->from[i][o] = padded_source(g->mode, o - g->before[i], x->dims[i], g->before[i],
				g->dims[i] - x->dims[i] - g->before[i]);
		g->step[i] = x->strides[i] * rt_dtypes[x->dtype].bytes;
	}
	for (int i = 1; channels_last && i + 1 < x->ndim; i++) {
		int64_t *from = g->from[i], dim = g->dims[i], step = g->step[i];

		g->from[i] = g->from[i + 1], g->from[i + 1] = from;
		g->dims[i] = g->dims[i + 1], g->dims[i + 1] = dim;
		g->step[i] = g->step[i + 1], g->step[i + 1] = step;
	}
	return RT_OK;
}

static int
pad_result(RtCx *cx, Pad *g, IValue value, IValue *out)
{
	RtTensor *x = g->self, *r, *y, *fill;
	int64_t strides[RT_MAX_RANK], width, bytes = rt_dtypes[x->dtype].bytes;
	bool channels_last;

	r = rt_result(cx, 0, x->dtype, x->ndim, g->dims,
		      g->mode == CONSTANT ? dense_format(x, x->ndim, g->dims, strides) : 0);
	RT_RESULT(cx, r, out[0]);
	channels_last = !rt_is_contiguous(r) && rt_is_channels_last(r);
	y = channels_last ? r : dense_out(cx, r, r->dtype);
	fill = rt_temp(cx, rt_scalar_tensor(cx, x->dtype, rt_is_none(value) ? rt_int(0) : value));
	if (!y || !fill || pad_tables(cx, g, channels_last))
		return RT_ERROR;
	if (!x->ndim)
		memcpy(rt_data(y), rt_data(x), (size_t)bytes);
	if (!x->ndim || !rt_numel(r))
		return dense_done(cx, r, y);
	width = g->dims[x->ndim - 1];
	g->run = rt_scratch(cx, width * (int64_t)sizeof *g->run);
	g->fill = rt_scratch(cx, width * bytes);
	if (!g->run || !g->fill)
		return RT_ERROR;
	for (int64_t o = 0; o < width; o++)
		memcpy(g->fill + o * bytes, rt_data(fill), (size_t)bytes);
	find_runs(g);
	pad_planes(g, rt_data(y));
	return dense_done(cx, r, y);
}

static int
pad(RtCx *cx, PadMode mode, IValue self, IValue list, IValue value, IValue *out)
{
	Pad g = { .self = rt_tensor(self), .mode = mode };

	return pad_geometry(cx, &g, list) ? RT_ERROR : pad_result(cx, &g, value, out);
}

KERNEL(constant_pad_nd, pad(cx, CONSTANT, in[0], in[1], in[2], out))

/* Pads nd dims by reflection or replication. One or two dims precede them. */
static int
pad_edges(RtCx *cx, PadMode mode, int nd, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]);
	bool empty = false;              /* whether a dim other than the batch is empty */
	DenseText text;

	for (int i = self->ndim == nd + 2; i < self->ndim; i++)
		empty |= !self->dims[i];
	if ((self->ndim != nd + 1 && self->ndim != nd + 2) || in[1].u.list->n != 2 * nd || empty)
		return rt_raise(cx, "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other "
			"non-zero dimensions for input, but got: %s", nd + 1, nd + 2, dense_text(self, &text));
	if (self->dtype == RT_b8 || rt_is_stored_only((RtDtype)self->dtype))
		return rt_raise(cx, "\"%s_pad%dd\" not implemented for '%s'",
			mode == REFLECT ? "reflection" : "replication", nd, rt_dtypes[self->dtype].brief);
	return pad(cx, mode, in[0], in[1], rt_none(), out);
}

KERNEL(reflection_pad1d, pad_edges(cx, REFLECT, 1, in, out))
KERNEL(reflection_pad2d, pad_edges(cx, REFLECT, 2, in, out))
KERNEL(reflection_pad3d, pad_edges(cx, REFLECT, 3, in, out))
KERNEL(replication_pad1d, pad_edges(cx, REPLICATE, 1, in, out))
KERNEL(replication_pad2d, pad_edges(cx, REPLICATE, 2, in, out))
KERNEL(replication_pad3d, pad_edges(cx, REPLICATE, 3, in, out))

int
rt__pad_circular(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]);

	if (in[1].u.list->n + 4 != 2 * self->ndim)
		return rt_raise(cx, "Invalid padding size, expected %d but got %lld", 2 * (self->ndim - 2),
				(long long)in[1].u.list->n);
	return pad(cx, CIRCULAR, in[0], in[1], rt_none(), out);
}

static int
pad_by_mode(RtCx *cx, PadMode mode, const char *name, const IValue *in, IValue value, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]);
	int64_t n = in[1].u.list->n;

	if (mode == CONSTANT)
		return pad(cx, CONSTANT, in[0], in[1], value, out);
	if (!rt_is_none(value) && rt_number(value) != 0)
		return rt_raise(cx, "Padding mode \"%s\" doesn't take in value argument", name);
	if ((n == 2 && (self->ndim == 2 || self->ndim == 3)) || (n == 4 && (self->ndim == 3 || self->ndim == 4)) ||
	    (n == 6 && (self->ndim == 4 || self->ndim == 5)))
		/* PyTorch 1.13 needs a batch dim */
		return mode == CIRCULAR ? pad(cx, CIRCULAR, in[0], in[1], value, out)
			: pad_edges(cx, mode, (int)n / 2, in, out);
	return rt_raise(cx, "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
}

/* Arguments: self, pad, mode by name, value. */
int
rt_pad(RtCx *cx, const IValue *in, IValue *out)
{
	static const char *const names[] = { "constant", "reflect", "replicate", "circular" };

	for (int i = 0; i < 4; i++)
		if (!strcmp(in[2].u.str->s, names[i]))
			return pad_by_mode(cx, (PadMode)i, names[i], in, in[3], out);
	return rt_raise(cx, "Unrecognised padding mode %s", in[2].u.str->s);
}

int
rt__pad_enum(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[2].u.i < 0 || in[2].u.i > 3)
		return rt_raise(cx, "Unrecognised padding mode");
	return pad_by_mode(cx, (PadMode)in[2].u.i, "by number", in, in[3], out);
}
