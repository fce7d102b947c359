/* rt/ops/bags.c - embeddings with tables of bytes: quantized::embedding_byte, quantized::embedding_bag_byte
 *
 * A table is a quint8 matrix, with a float scale and zero point for each row. An element of row i is scale[i] * q +
 * bias[i], where bias = -scale * zero, as in PyTorch. A bag is the weighted sum of its rows. */
#include "quant.h"
#include "block.h"

#include <string.h>

typedef struct Table {
	const uint8_t *q;
	const double  *scale;            /* scale of each row; step is 0 if all rows share one */
	const float   *zero;
	int64_t rows, cols, step;
	double  one_scale;               /* memory for the shared scale */
	float   one_zero;
} Table;

static const RtClass embedding_class;
static const RtType embedding_type = { .kind = TYPE_CLASS,
				       .name = "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase",
				       .cls = (RtClass *)&embedding_class };
static const char *const slot_names[] = { "weight", "bias" };
static const RtType *const slot_types[] = { &rt_type_tensor, &rt_type_tensor };
static const RtClass embedding_class = { .name = "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase",
	.nslot = 2, .slot = (const char **)slot_names, .slot_type = (const RtType **)slot_types,
	.type = &embedding_type };

static RtTensor *
weight_of(RtCx *cx, IValue packed)
{
	if (packed.tag != RT_OBJECT || packed.u.obj->cls->nslot < 1 || packed.u.obj->slot[0].tag != RT_TENSOR) {
		rt_raise(cx, "expected packed parameters of an embedding, got %s", rt_type_of(packed));
		return NULL;
	}
	return packed.u.obj->slot[0].u.t;
}

static int
table_of(RtCx *cx, RtTensor *w, Table *t)
{
	RtTensor *raw, *scales, *zeros;

	if (!w->quant || w->dtype != RT_qu8 || w->ndim != 2)
		return rt_lacks(cx, "embeddings with tables of %s", rt_dtypes[w->dtype].torch);
	*t = (Table){ .rows = w->dims[0], .cols = w->dims[1], .one_scale = w->quant->scale,
		       .one_zero = (float)w->quant->zero };
	t->scale = &t->one_scale;
	t->zero = &t->one_zero;
	if (cx->meta)
		return RT_OK;
	raw = quant_raw(cx, w);
	raw = raw ? dense(cx, raw) : NULL;
	if (!raw)
		return RT_ERROR;
	t->q = (const uint8_t *)rt_data(raw);
	if (!w->quant->scales)
		return RT_OK;
	scales = dense_as(cx, w->quant->scales, RT_f64);
	zeros = scales ? dense_as(cx, w->quant->zeros, RT_f32) : NULL;
	if (!zeros || w->quant->axis != 0 || rt_numel(scales) != t->rows || rt_numel(zeros) != t->rows)
		return zeros ? rt_raise(cx, "the table of an embedding has to be quantized by rows") : RT_ERROR;
	t->scale = (const double *)(void *)rt_data(scales);
	t->zero = (const float *)(void *)rt_data(zeros);
	t->step = 1;
	return RT_OK;
}

RT_FAST

/* Adds weight * row i to `to`. */
static void
add_row(const Table *t, int64_t i, float weight, float *restrict to)
{
	const uint8_t *const q = t->q + i * t->cols;
	const float scale = (float)t->scale[i * t->step], bias = weight * (-scale * t->zero[i * t->step]);
	const float by = weight * scale;

	for (int64_t j = 0; j < t->cols; j++)
		to[j] = (to[j] + bias) + by * (float)q[j];
}

RT_SMALL

static int
indices_of(RtCx *cx, const char *what, RtTensor *t, const int64_t **at)
{
	RtTensor *wide;

	if (t->dtype != RT_i64 && t->dtype != RT_i32)
		return rt_raise(cx, "Expect 32 or 64 bit %s, but found %s instead.", what, rt_dtypes[t->dtype].brief);
	*at = NULL;
	if (cx->meta)
		return RT_OK;
	wide = dense_as(cx, t, RT_i64);
	*at = wide ? (const int64_t *)(void *)rt_data(wide) : NULL;
	return wide ? RT_OK : RT_ERROR;
}

static int
check_row(RtCx *cx, const Table *t, int64_t i)
{
	return i >= 0 && i < t->rows ? RT_OK
				     : rt_raise(cx, "embedding: index %lld is out of range for a table of %lld rows",
						(long long)i, (long long)t->rows);
}

int
rt_quantized_embedding_byte(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *w = weight_of(cx, in[0]), *index = in[1].u.t, *r;
	int64_t dims[RT_MAX_RANK], n = rt_numel(index);
	const int64_t *at;
	Table t;
	float *to;

	if (!w || table_of(cx, w, &t) || indices_of(cx, "indices", index, &at))
		return RT_ERROR;
	for (int64_t i = 0; at && i < n; i++)
		if (check_row(cx, &t, at[i]))
			return RT_ERROR;
	memcpy(dims, index->dims, sizeof *dims * index->ndim);
	dims[index->ndim] = t.cols;
	r = rt_result(cx, 0, RT_f32, index->ndim + 1, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	to = (float *)(void *)rt_data(r);
	memset(to, 0, (size_t)(n * t.cols) * sizeof *to);
	for (int64_t i = 0; i < n; i++)
		add_row(&t, at[i], 1, to + i * t.cols);
	return RT_OK;
}

typedef struct Bags {
	/* map: rows of a pruned table, where -1 is a pruned row; null if the table is not pruned */
	const int64_t *at, *begin, *map;
	const float *weight;                     /* weights of the indices; null if all are 1 */
	int64_t n, bags, fixed, nmap;            /* fixed: length of all bags, in which case begin is null */
	bool    last;                            /* whether begin also has the end of the last bag */
} Bags;

static int
sum_bags(RtCx *cx, const Table *t, const Bags *b, float *to)
{
	memset(to, 0, (size_t)(b->bags * t->cols) * sizeof *to);
	for (int64_t k = 0; k < b->bags; k++, to += t->cols) {
		int64_t i = b->begin ? b->begin[k] : k * b->fixed;
		int64_t end = !b->begin ? i + b->fixed : k + 1 < b->bags || b->last ? b->begin[k + 1] : b->n;
		if (i < 0 || end < i || end > b->n)
			return rt_raise(cx, "embedding_bag: offsets have to ascend from 0 to the number of indices");
		for (; i < end; i++) {
			int64_t row = b->at[i];
			if (b->map)
				row = row >= 0 && row < b->nmap ? b->map[row] : b->nmap;
			if (b->map && row == -1)
				continue;
			if (check_row(cx, t, row))
				return RT_ERROR;
			add_row(t, row, b->weight ? b->weight[i] : 1, to);
		}
	}
	return RT_OK;
}

int
rt_quantized_embedding_bag_byte(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *w = weight_of(cx, in[0]), *index = in[1].u.t, *offsets = rt_tensor(in[2]),
		 *weights = rt_tensor(in[6]), *r;
	RtTensor *map = in[5].u.i ? rt_tensor(in[7]) : NULL;
	Bags b = { .last = in[8].u.i };
	Table t;

	if (!w || table_of(cx, w, &t) || indices_of(cx, "indices", index, &b.at))
		return RT_ERROR;
	if (index->ndim != 1 && index->ndim != 2)
		return rt_raise(cx, "embedding_bag_byte operator supports 1 or 2d indices, got %d", index->ndim);
	if (index->ndim == 1 && !offsets)
		return rt_raise(cx, "embedding_bag_byte operator expects offsets to be set for 1D indices.");
	if (index->ndim == 2 && offsets)
		return rt_raise(cx, "embedding_bag_byte operator: input is 2D, then offsets has to be None, as input "
			"is treated is a mini-batch of fixed length sequences.");
	if (index->ndim == 1 && (offsets->ndim != 1 || indices_of(cx, "offsets", offsets, &b.begin)))
		return cx->status ? RT_ERROR : rt_raise(cx, "offsets has to be a 1D tensor");
	if (map && rt_numel(map) > 1 && indices_of(cx, "compressed_indices_mapping", map, &b.map))
		return RT_ERROR;
	b.n = rt_numel(index);
	b.nmap = map ? rt_numel(map) : 0;
	b.fixed = index->ndim == 2 ? index->dims[1] : 0;
	/* PyTorch drops the last bag for 2-d indices, too. */
	b.bags = (index->ndim == 2 ? index->dims[0] : offsets->dims[0]) - b.last;
	if (b.bags < 0)
		return rt_raise(cx, "include_last_offset: number of offsets should be at least 1");
	if (weights && rt_numel(weights) != b.n)
		return rt_raise(cx, "expected per_sample_weights to have as many elements as the indices");
	r = rt_result(cx, 0, RT_f32, 2, (int64_t[2]){ b.bags, t.cols }, NULL);
	RT_RESULT(cx, r, out[0]);
	if (weights && !(weights = dense_as(cx, weights, RT_f32)))
		return RT_ERROR;
	b.weight = weights ? (const float *)(void *)rt_data(weights) : NULL;
	return sum_bags(cx, &t, &b, (float *)(void *)rt_data(r));
}

int
rt_quantized_embedding_bag_prepack(RtCx *cx, const IValue *in, IValue *out)
{
	RtObject *o = rt_object_new(cx, (RtClass *)&embedding_class);

	if (!o)
		return RT_ERROR;
	rt_assign(&o->slot[0], rt_retain(in[0]));
	out[0] = rt_ref(RT_OBJECT, o);
	return RT_OK;
}

int
rt_quantized_embedding_bag_unpack(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *w = weight_of(cx, in[0]);

	if (!w)
		return RT_ERROR;
	out[0] = rt_of(rt_tensor_retain(w));
	return RT_OK;
}
