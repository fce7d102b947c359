/*
 * Attention: scaled dot products, and the padded rows of PyTorch's fast path (attention.def).
 *
 * For each batch (all leading dims, with heads), one function multiplies queries by keys, computes a softmax of the
 * scaled and masked rows, and multiplies by the values.  Operands are addressed by strides, so heads need no
 * transposes.
 */
#include "dense.h"
#include "gemm.h"

#include <math.h>
#include <string.h>

typedef struct Attend {
	RtDtype ct;
	int64_t batches, rows, n, inner, width;   /* q (rows, inner), k (n, inner), v (n, width), y (rows, width) */
	const char *q, *k, *v;
	int64_t *q_offset, *k_offset, *v_offset, *mask_offset;   /* (batches) offsets in elements */
	int64_t q_row, q_col, k_row, k_col, v_row, v_col;
	double  scale, dropout;
	/* additive: whether the mask is added; otherwise it is bool, and true keeps a score */
	bool    causal, additive;
	const void *mask;
	int64_t mask_row, mask_col;
	double  empty;                            /* weight of the keys in a row that is fully masked */
	char   *y;                                /* (batches, rows, width) */
} Attend;

enum { EXP_CHUNK = 64 };

RT_FAST
#define T float
#define N(name) name##_f32
#define EXPS rt_exps
#define SUM rt_sum_floats
#define GREATEST rt_greatest
#include "attention_loops.h"
#define T double
#define N(name) name##_f64
#define EXPS rt_exps_f64
#define SUM rt_sum_f64
#define GREATEST rt_greatest_f64
#include "attention_loops.h"
RT_SMALL

static int
attend(RtCx *cx, const Attend *g)
{
	int64_t es = rt_dtypes[g->ct].bytes, cells = g->rows * g->n;
	char *s = rt_scratch(cx, cells * es + 1);

	if (!s)
		return RT_ERROR;
	for (int64_t b = 0; b < g->batches; b++) {
		Product qk = { g->rows, g->n, g->inner, g->q + g->q_offset[b] * es, g->k + g->k_offset[b] * es,
			g->q_row, g->q_col, g->k_col, g->k_row, .c = s };
		Product sv = { g->rows, g->width, g->n, s, g->v + g->v_offset[b] * es, g->n, 1, g->v_row, g->v_col,
			.c = g->y + b * g->rows * g->width * es };

		if (gemm(cx, g->ct, &qk))
			return RT_ERROR;
		if (g->ct == RT_f32)
			score_rows_f32(g, b, (float *)s, (float)g->empty);
		else
			score_rows_f64(g, b, (double *)s, g->empty);
		if (g->dropout > 0)
			rt_drop_out(cx, g->ct, s, cells, g->dropout);
		if (gemm(cx, g->ct, &sv))
			return RT_ERROR;
	}
	return RT_OK;
}

/* ---- scaled_dot_product_attention -------------------------------------------------------------------------- */

/* Returns the offset in elements of each batch of t, whose leading dims are broadcast to (ndim, dims). `group` heads
 * share a head of t. */
static int64_t *
batch_offsets(RtCx *cx, const RtTensor *t, int ndim, const int64_t *dims, int64_t group)
{
	int64_t n = 1, at[RT_MAX_RANK] = { 0 }, *offset;

	for (int i = 0; i < ndim; i++)
		n *= dims[i];
	offset = rt_scratch(cx, n * 8 + 8);
	for (int64_t b = 0; offset && b < n; b++) {
		offset[b] = 0;
		for (int i = 0; i < ndim; i++) {
			int j = i - ndim + t->ndim - 2;
			int64_t x = i == ndim - 1 ? at[i] / group : at[i];

			if (j >= 0 && t->dims[j] != 1)
				offset[b] += x * t->strides[j];
		}
		for (int i = ndim - 1; i >= 0 && ++at[i] == dims[i]; i--)
			at[i] = 0;
	}
	return offset;
}

typedef struct Sdpa {
	RtTensor *q, *k, *v, *mask;
	double    dropout, scale;        /* scale of the scores; 0 for 1 / sqrt(width) */
	bool      causal, grouped;
	double    empty;    /* weight of the keys in a fully masked row: NaN in the fast path, 0 in PyTorch 2 */
} Sdpa;

static int
check_sdpa(RtCx *cx, const Sdpa *a, int *ndim, int64_t *dims)
{
	if (a->q->ndim < 2 || a->k->ndim < 2 || a->v->ndim < 2)
		return rt_raise(cx, "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 "
			"dimensional");
	if (a->q->dtype != a->k->dtype || a->q->dtype != a->v->dtype || !is_floating(a->q))
		return rt_raise(cx, "Expected query, key, and value to have the same dtype, but got query.dtype: %s "
			"key.dtype: %s and value.dtype: %s instead.", rt_dtypes[a->q->dtype].torch,
			rt_dtypes[a->k->dtype].torch, rt_dtypes[a->v->dtype].torch);
	if (a->q->dims[a->q->ndim - 1] != a->k->dims[a->k->ndim - 1] ||
	    a->k->dims[a->k->ndim - 2] != a->v->dims[a->v->ndim - 2])
		return rt_raise(cx, "scaled_dot_product_attention: the sizes of query, key and value do not fit");
	if (a->causal && a->mask)
		return rt_raise(cx, "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
			"is_causal=True");
	*ndim = a->q->ndim - 2;
	memcpy(dims, a->q->dims, (size_t)*ndim * 8);
	if (a->grouped && (a->q->ndim < 3 || a->k->ndim != a->q->ndim || a->v->ndim != a->q->ndim ||
	    a->k->dims[*ndim - 1] == 0 || dims[*ndim - 1] % a->k->dims[*ndim - 1] ||
	    a->v->dims[*ndim - 1] != a->k->dims[*ndim - 1]))
		return rt_raise(cx, "scaled_dot_product_attention: number of heads in key and value must divide the "
			"number of heads in query");
	if (a->grouped)
		return RT_OK;
	return rt_broadcast(cx, ndim, dims, a->k->ndim - 2, a->k->dims) ||
		rt_broadcast(cx, ndim, dims, a->v->ndim - 2, a->v->dims) ? RT_ERROR : RT_OK;
}

/* Raises an error unless the mask broadcasts to the scores' sizes: the batch's `dims`, rows, keys. */
static int
check_mask(RtCx *cx, const Sdpa *a, const Attend *g, int ndim, const int64_t *dims)
{
	int64_t full[RT_MAX_RANK];
	int n = ndim + 2;

	if (!a->mask)
		return RT_OK;
	memcpy(full, dims, (size_t)ndim * 8);
	full[ndim] = g->rows;
	full[ndim + 1] = g->n;
	if (rt_broadcast(cx, &n, full, a->mask->ndim, a->mask->dims))
		return RT_ERROR;
	if (n != ndim + 2 || memcmp(full, dims, (size_t)ndim * 8) || full[ndim] != g->rows || full[ndim + 1] != g->n)
		return rt_raise(cx, "scaled_dot_product_attention: attn_mask does not broadcast to the scores");
	return RT_OK;
}

/* Converts the mask to the form that score_rows reads. */
static int
set_mask(RtCx *cx, const Sdpa *a, Attend *g, int ndim, const int64_t *dims)
{
	RtTensor *m = a->mask;

	if (!m)
		return RT_OK;
	g->additive = m->dtype != RT_b8;
	m = g->additive ? dense_in(cx, m, g->ct) : m;
	if (!m)
		return RT_ERROR;
	if (m->ndim < 2) {                        /* adds leading dims of size 1, for rows and columns */
		int64_t two[2] = { 1, m->ndim ? m->dims[0] : 1 }, strides[2] = { 0, m->ndim ? m->strides[0] : 0 };

		m = rt_temp(cx, rt_tensor_view(cx, m, 2, two, strides, m->offset));
		if (!m)
			return RT_ERROR;
	}
	g->mask = rt_data(m);
	g->mask_row = m->dims[m->ndim - 2] == 1 ? 0 : m->strides[m->ndim - 2];
	g->mask_col = m->dims[m->ndim - 1] == 1 ? 0 : m->strides[m->ndim - 1];
	g->mask_offset = batch_offsets(cx, m, ndim, dims, 1);
	return g->mask_offset ? RT_OK : RT_ERROR;
}

static Attend
attend_sizes(const Sdpa *a, int ndim, const int64_t *batch)
{
	Attend g = { .ct = compute_type(a->q), .batches = 1,
		.rows = a->q->dims[a->q->ndim - 2], .inner = a->q->dims[a->q->ndim - 1],
		.n = a->k->dims[a->k->ndim - 2], .width = a->v->dims[a->v->ndim - 1],
		.dropout = a->dropout, .causal = a->causal, .empty = a->empty };

	for (int i = 0; i < ndim; i++)
		g.batches *= batch[i];
	g.scale = a->scale ? a->scale : 1 / sqrt((double)g.inner);
	return g;
}

/* Converts query, key and value to the compute type, broadcast to the batch `dims`. */
static int
set_operands(RtCx *cx, const Sdpa *a, Attend *g, int ndim, const int64_t *dims)
{
	RtTensor *q = rt_temp(cx, rt_to_dtype(cx, a->q, g->ct)), *k = rt_temp(cx, rt_to_dtype(cx, a->k, g->ct)),
		 *v = rt_temp(cx, rt_to_dtype(cx, a->v, g->ct));
	int64_t group;

	if (!q || !k || !v)
		return RT_ERROR;
	group = a->grouped ? dims[ndim - 1] / k->dims[k->ndim - 3] : 1;
	g->q_offset = batch_offsets(cx, q, ndim, dims, 1);
	g->k_offset = batch_offsets(cx, k, ndim, dims, group);
	g->v_offset = batch_offsets(cx, v, ndim, dims, group);
	if (!g->q_offset || !g->k_offset || !g->v_offset)
		return RT_ERROR;
	g->q = rt_data(q), g->q_row = q->strides[q->ndim - 2], g->q_col = q->strides[q->ndim - 1];
	g->k = rt_data(k), g->k_row = k->strides[k->ndim - 2], g->k_col = k->strides[k->ndim - 1];
	g->v = rt_data(v), g->v_row = v->strides[v->ndim - 2], g->v_col = v->strides[v->ndim - 1];
	return RT_OK;
}

static int
sdpa(RtCx *cx, const Sdpa *a, IValue *out)
{
	RtTensor *r, *y;
	int64_t dims[RT_MAX_RANK];
	Attend g;
	int ndim;

	if (check_sdpa(cx, a, &ndim, dims))
		return RT_ERROR;
	g = attend_sizes(a, ndim, dims);
	dims[ndim] = g.rows;
	dims[ndim + 1] = g.width;
	r = check_mask(cx, a, &g, ndim, dims) ? NULL : rt_result(cx, 0, (RtDtype)a->q->dtype, ndim + 2, dims, 0);
	RT_RESULT(cx, r, out[0]);
	y = dense_out(cx, r, g.ct);
	if (!y || set_mask(cx, a, &g, ndim, dims) || set_operands(cx, a, &g, ndim, dims))
		return RT_ERROR;
	g.y = rt_data(y);
	return attend(cx, &g) ? RT_ERROR : dense_done(cx, r, y);
}

/* Arguments: query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa. */
int
rt_scaled_dot_product_attention(RtCx *cx, const IValue *in, IValue *out)
{
	Sdpa a = { rt_tensor(in[0]), rt_tensor(in[1]), rt_tensor(in[2]), rt_tensor(in[3]), rt_number(in[4]),
		rt_is_none(in[6]) ? 0 : rt_number(in[6]), in[5].u.i != 0, in[7].u.i != 0, 0 };

	return sdpa(cx, &a, out);
}

/* Arguments: query, key, value, attn_mask, scale. */
int
rt_prim_attention(RtCx *cx, const IValue *in, IValue *out)
{
	Sdpa a = { rt_tensor(in[0]), rt_tensor(in[1]), rt_tensor(in[2]), rt_tensor(in[3]), 0, rt_number(in[4]), false,
		false, NAN };

	return sdpa(cx, &a, out);
}

/* ---- nested tensors --------------------------------------------------------------------------------------- */

int
rt__nested_tensor_from_tensor_list(RtCx *cx, const IValue *in, IValue *out)
{
	(void)in, (void)out;
	return rt_lacks(cx, "Kiln lacks nested tensors");
}

/* Writes an element of padding: a NaN whose bits no computation produces. */
static void
pad_element(RtDtype dtype, char to[8])
{
	const uint64_t f64 = 0x7ff84b696c6e0000;
	const uint32_t f32 = 0x7fc4b696;
	const uint16_t half = dtype == RT_f16 ? 0x7e4b : 0x7fcb;

	memcpy(to, dtype == RT_f64 ? (const void *)&f64 : dtype == RT_f32 ? (const void *)&f32 : (const void *)&half,
	       (size_t)rt_dtypes[dtype].bytes);
}

static int
check_rows(RtCx *cx, const RtTensor *t)
{
	if (t->ndim != 3 || !rt_is_floating((RtDtype)t->dtype))
		return rt_lacks(cx, "Kiln lacks nested tensors of rank %d and type %s", t->ndim,
				rt_dtypes[t->dtype].brief);
	return RT_OK;
}

/* Whether row i of a contiguous tensor with three dims is padding. */
static bool
is_padding(const RtTensor *t, int64_t i)
{
	const int64_t bytes = rt_dtypes[t->dtype].bytes, n = t->dims[2];
	const char *row = rt_data(t) + i * n * bytes;
	char pad[8];

	pad_element((RtDtype)t->dtype, pad);
	for (int64_t k = 0; k < n; k++)
		if (memcmp(row + k * bytes, pad, (size_t)bytes))
			return false;
	return n > 0;
}

/* Copies x, and replaces rows that are not kept by padding. */
int
rt_prim_pad_rows(RtCx *cx, const IValue *in, IValue *out)
{
	const RtTensor *x = in[0].u.t;
	RtTensor *keep, *r;
	char pad[8];

	if (check_rows(cx, x))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)x->dtype, 3, x->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	keep = dense_as(cx, in[1].u.t, RT_b8);
	if (!keep || rt_numel(keep) != x->dims[0] * x->dims[1])
		return cx->status ? cx->status : rt_raise(cx, "Size of mask doesn't match with size of the tensor");
	if (rt_copy_into(cx, r, in[0].u.t))
		return RT_ERROR;
	pad_element((RtDtype)x->dtype, pad);
	for (int64_t i = 0; i < rt_numel(keep); i++)
		for (int64_t k = 0; k < x->dims[2] && !rt_data(keep)[i]; k++)
			memcpy(rt_data(r) + (i * x->dims[2] + k) * rt_dtypes[x->dtype].bytes, pad,
			       (size_t)rt_dtypes[x->dtype].bytes);
	return RT_OK;
}

int
rt_prim_kept_rows(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = in[0].u.t, *r;

	if (check_rows(cx, x))
		return RT_ERROR;
	r = rt_result(cx, 0, RT_b8, 2, x->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	x = rt_temp(cx, rt_contiguous(cx, x));
	for (int64_t i = 0; x && i < rt_numel(r); i++)
		rt_data(r)[i] = !is_padding(x, i);
	return x ? RT_OK : RT_ERROR;
}

int
rt_prim_is_padded(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = in[0].u.t;
	bool some = false;

	if (cx->meta)
		return rt_no_meta(cx);
	if (x->ndim == 3 && rt_is_floating((RtDtype)x->dtype)) {
		x = rt_temp(cx, rt_contiguous(cx, x));
		for (int64_t i = 0; x && i < x->dims[0] * x->dims[1] && !some; i++)
			some = is_padding(x, i);
	}
	return x ? put_bool(some, out) : RT_ERROR;
}
