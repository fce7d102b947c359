/* rt/ops/sort.c - sort, argsort, topk
 *
 * Elements are mapped to int64 keys of the same order, so that one radix sort of positions (select_loops.h) serves
 * every dtype. The key of a double is its bits, reversed for negative numbers. A descending sort inverts the keys,
 * which keeps the order of equal elements. */
#include "keys.h"
#include "quant.h"

#include <string.h>

RT_FAST

int64_t
key_of_double(double v)
{
	int64_t bits;

	if (v != v)
		return INT64_MAX;
	v += 0.0;      /* maps -0 to 0 */
	memcpy(&bits, &v, 8);
	return bits < 0 ? bits ^ INT64_MAX : bits;
}

int64_t *
keys_of(RtCx *cx, const char *name, RtTensor *t)
{
	char category = rt_category((RtDtype)t->dtype);
	bool floating = category == 'F';
	RtTensor *d;
	int64_t *key, n = rt_numel(t);

	if (category == 'C' || category == 'Q' || category == 'E') {
		rt_raise(cx, "\"%s\" not implemented for '%s'", name, rt_dtypes[t->dtype].brief);
		return NULL;
	}
	d = dense_as(cx, t, floating ? RT_f64 : RT_i64);
	key = d ? rt_scratch(cx, n * 8 + 8) : NULL;
	if (!key)
		return NULL;
	if (floating)
		for (int64_t i = 0; i < n; i++)
			key[i] = key_of_double(((const double *)(const void *)rt_data(d))[i]);
	else
		memcpy(key, rt_data(d), n * 8);
	for (int64_t i = 0; i < n && t->dtype == RT_u64; i++)
		key[i] ^= INT64_MIN;
	return key;
}

/* ---- along a dim ------------------------------------------------------------------------------------------------- */

/* The lines of t along dim, in a contiguous copy with dim last. */
typedef struct Lines {
	RtTensor *t;          /* contiguous, with dim last */
	int64_t  *key;
	int64_t   n, count;   /* length of a line; number of lines */
} Lines;

static int
lines_of(RtCx *cx, const char *name, RtTensor *t, int dim, bool inverted, Lines *l)
{
	IValue moved;

	l->n = t->ndim ? t->dims[dim] : 1;
	l->count = l->n ? rt_numel(t) / l->n : 0;
	if (t->ndim > 1) {
		if (CALL(cx, transpose_int, &moved, rt_of(t), rt_int(dim), rt_int(-1)))
			return RT_ERROR;
		t = moved.u.t;
	}
	l->t = dense(cx, t);
	l->key = l->t ? keys_of(cx, name, l->t) : NULL;
	if (!l->key)
		return RT_ERROR;
	for (int64_t i = 0, m = inverted ? rt_numel(t) : 0; i < m; i++)
		l->key[i] = ~l->key[i];
	return RT_OK;
}

/* Returns a contiguous tensor with dim last, to be filled: the result r itself, or a temporary that is copied to r. */
static RtTensor *
line_room(RtCx *cx, RtTensor *r, int dim)
{
	int64_t dims[RT_MAX_RANK];

	if (dim >= r->ndim - 1 && rt_is_contiguous(r))
		return r;
	memcpy(dims, r->dims, sizeof *dims * r->ndim);
	dims[dim] = r->dims[r->ndim - 1];
	dims[r->ndim - 1] = r->dims[dim];
	return temp_new(cx, (RtDtype)r->dtype, r->ndim, dims);
}

static int
line_done(RtCx *cx, RtTensor *r, RtTensor *room, int dim)
{
	IValue moved;

	if (r == room)
		return RT_OK;
	if (r->ndim < 2)
		return rt_copy_into(cx, r, room);
	return CALL(cx, transpose_int, &moved, rt_of(room), rt_int(dim), rt_int(-1)) ? RT_ERROR
		: rt_copy_into(cx, r, moved.u.t);
}

static int
sort_dim(RtCx *cx, RtTensor *t, int64_t wanted, bool descending, bool stable, IValue *out)
{
	int dim = rt_dim(cx, wanted, t->ndim);
	int64_t bytes = rt_dtypes[t->dtype].bytes, strides[RT_MAX_RANK], *work;
	RtTensor *values, *indices, *v, *at;
	Lines l;

	if (dim < 0)
		return RT_ERROR;
	if (rt_is_complex((RtDtype)t->dtype))
		return rt_raise(cx, "Sort currently does not support complex dtypes on CPU");
	rt_dense_strides(t, strides);
	values = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, t->dims, strides);
	RT_PUT(values, out[0]);
	indices = rt_result(cx, 1, RT_i64, t->ndim, t->dims, strides);
	RT_RESULT(cx, indices, out[1]);
	if (rt_numel(t) == 0)
		return RT_OK;
	if (lines_of(cx, "sort", t, dim, descending, &l))
		return RT_ERROR;
	v = line_room(cx, values, dim);
	at = line_room(cx, indices, dim);
	work = rt_scratch(cx, l.n * 8);
	if (!v || !at || !work)
		return RT_ERROR;
	for (int64_t i = 0; i < l.count; i++) {
		int64_t *order = (int64_t *)(void *)rt_data(at) + i * l.n;
		if (stable)
			rt_sort_positions(l.key + i * l.n, l.n, order, work);
		else
			rt_sort_unstably(l.key + i * l.n, l.n, order, work);
		pick_blocks(rt_data(v) + i * l.n * bytes, rt_data(l.t) + i * l.n * bytes, l.n, order, bytes);
	}
	return line_done(cx, values, v, dim) || line_done(cx, indices, at, dim) ? RT_ERROR : RT_OK;
}

KERNEL(sort, in[0].u.t->quant ? quant_linear(cx, rt_sort, in, 3, 2, out)
			      : sort_dim(cx, in[0].u.t, in[1].u.i, in[2].u.i, false, out))
KERNEL(sort_stable, in[0].u.t->quant ? quant_linear(cx, rt_sort_stable, in, 4, 2, out)
	: sort_dim(cx, in[0].u.t, in[2].u.i, in[3].u.i, !rt_is_none(in[1]) && in[1].u.i, out))

/* ---- topk -------------------------------------------------------------------------------------------------------- */

int
rt_topk(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *values, *indices, *v, *at;
	int dim = rt_dim(cx, in[2].u.i, t->ndim);
	int64_t k = in[1].u.i, dims[RT_MAX_RANK], bytes = rt_dtypes[t->dtype].bytes, *work;
	Lines l;

	if (t->quant)
		return quant_linear(cx, rt_topk, in, 5, 2, out);
	if (dim < 0)
		return RT_ERROR;
	if (t->ndim && rt_not_stored_only(cx, "topk_cpu", (RtDtype)t->dtype))
		return RT_ERROR;
	if (t->dtype == RT_b8 || rt_is_complex((RtDtype)t->dtype))
		return rt_raise(cx, "topk does not support %s dtypes on CPU", t->dtype == RT_b8 ? "bool" : "complex");
	if (k < 0 || k > (t->ndim ? t->dims[dim] : 1))
		return rt_raise(cx, "selected index k out of range");
	memcpy(dims, t->dims, sizeof *dims * t->ndim);
	if (t->ndim)
		dims[dim] = k;
	else
		k = 1;                            /* for a 0-d tensor, any k returns its value */
	values = rt_result(cx, 0, (RtDtype)t->dtype, t->ndim, dims, NULL);
	RT_PUT(values, out[0]);
	indices = rt_result(cx, 1, RT_i64, t->ndim, dims, NULL);
	RT_RESULT(cx, indices, out[1]);
	if (rt_numel(values) == 0 || k == 0)
		return RT_OK;
	if (lines_of(cx, "topk_cpu", t, dim, in[3].u.i, &l))
		return RT_ERROR;
	v = line_room(cx, values, dim);
	at = line_room(cx, indices, dim);
	work = rt_scratch(cx, l.n * 8);
	if (!v || !at || !work)
		return RT_ERROR;
	for (int64_t i = 0; i < l.count; i++) {
		int64_t *order = (int64_t *)(void *)rt_data(at) + i * k;
		rt_select_positions(l.key + i * l.n, l.n, k, in[4].u.i, work);
		memcpy(order, work, k * 8);
		pick_blocks(rt_data(v) + i * k * bytes, rt_data(l.t) + i * l.n * bytes, k, order, bytes);
	}
	return line_done(cx, values, v, dim) || line_done(cx, indices, at, dim) ? RT_ERROR : RT_OK;
}
