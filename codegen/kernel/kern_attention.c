/*
 * Attention: two products and the softmax between them as one kernel, over blocks of rows of all batches and heads.
 */
#include "row.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 48, MOST_KEYS = 1 << 16 };    /* rows of a block; largest number of keys whose scores stay in cache */

typedef struct Attention {
	const RtTensor *q, *k, *v, *mask, *y;
	const Value *mask_value;
	double  scale;
	int64_t causal;
	bool    zeros;           /* whether rows that are masked out have weights of zero instead of NaN */
} Attention;

static bool
is_matrix(const RtTensor *t)
{
	return t && t->dtype == RT_f32 && t->ndim >= 2;
}

/* Is the mask a constant causal mask: each row sees the keys up to its own position, and no others? */
static bool
hides_what_follows(const Attention *d)
{
	const int64_t rows = d->y->dims[d->y->ndim - 2], keys = d->k->dims[d->k->ndim - 2];
	const RtTensor *m = d->mask;
	const float *row;

	if (!m || !tensor_has_data(m) || m->storage->written || m->ndim < 2 || rt_numel(m) != rows * keys ||
	    m->dims[m->ndim - 2] != rows || m->dims[m->ndim - 1] != keys)
		return false;
	row = (const float *)rt_data(m);
	for (int64_t i = 0; i < rows; i++, row += m->strides[m->ndim - 2])
		for (int64_t j = 0; j < keys; j++)
			if (row[j * m->strides[m->ndim - 1]] != (j <= i ? 0 : -INFINITY))
				return false;
	return true;
}

/* Reads the arguments that both operators have under the same names. */
static bool
read_attention(Row *r, Attention *d)
{
	d->q = row_tensor(r, "query");
	d->k = row_tensor(r, "key");
	d->v = row_tensor(r, "value");
	d->y = row_result(r, 0);
	d->mask_value = row_arg(r, "attn_mask");
	d->mask = row_tensor(r, "attn_mask");
	if (!is_matrix(d->q) || !is_matrix(d->k) || !is_matrix(d->v) || !d->y || !rt_numel(d->y) ||
	    !d->k->dims[d->k->ndim - 2] || d->y->strides[d->y->ndim - 1] != 1)
		return false;
	/* Dynamic code accepts any number of keys: only the largest sizes exceed MOST_KEYS, and few calls have them. */
	if (d->k->dims[d->k->ndim - 2] > MOST_KEYS && !r->p->dynamic)
		return false;
	if (d->mask_value && (!d->mask || d->mask->dtype != RT_f32 || d->mask->ndim > d->y->ndim))
		return false;
	if (!d->causal && hides_what_follows(d)) {
		d->causal = true;
		d->mask = NULL;
	}
	return true;
}

/* Sets an operand's strides along the batch dims: 0 where it is broadcast. */
static void
put_batch(RowNest *nest, int operand, const RtTensor *t, const RtTensor *y)
{
	for (int i = 0; t && i < y->ndim - 2; i++) {
		const int k = i - (y->ndim - t->ndim);

		nest->stride[operand][i] = k < 0 || t->dims[k] == 1 ? 0 : t->strides[k];
	}
}

/* Returns the stride of the dim `back` dims before the last. 0 where the tensor is broadcast. */
static int64_t
stride_of(const RtTensor *t, int back)
{
	const int i = t ? t->ndim - 1 - back : -1;

	return i < 0 || t->dims[i] == 1 ? 0 : t->strides[i];
}

static void
put_attention_sizes(Body *b, const Attention *d)
{
	const RtTensor *t[4] = { d->q, d->k, d->v, d->mask };
	int64_t column[4];

	for (int i = 0; i < 4; i++)
		column[i] = i < 3 && t[i]->dims[t[i]->ndim - 1] == 1 ? 1 : stride_of(t[i], 0);
	const Member member[] = {
		{ "n", d->k->dims[d->k->ndim - 2] }, { "inner", d->q->dims[d->q->ndim - 1] },
		{ "width", d->v->dims[d->v->ndim - 1] }, { "qr", stride_of(d->q, 1) }, { "qc", column[0] },
		{ "kr", stride_of(d->k, 1) }, { "kc", column[1] }, { "vr", stride_of(d->v, 1) }, { "vc", column[2] },
		{ "mr", stride_of(d->mask, 1) }, { "mc", column[3] }, { "yr", stride_of(d->y, 1) },
		{ "causal", d->causal },
	};

	body_struct(b, "const VaAttention v", member, sizeof member / sizeof *member,
		    arena_printf(b->p->cx->arena, ".scale = (float)%s, .empty = %s", body_real(b, "scale", d->scale),
				 d->zeros ? "0" : "(float)KILN_NAN"));
}

/* Makes the loop nest: the batch of y, q, k, v and the mask, then chunks of queries. Returns false if there are too
 * many dims. */
static bool
take_nest(const Row *r, const Attention *d, int64_t chunk, RowNest *nest)
{
	const int last = d->y->ndim - 2;

	*nest = (RowNest){ .n = 5, .ndim = last };
	if (last == RT_MAX_RANK)
		return false;
	memcpy(nest->dims, d->y->dims, (size_t)last * sizeof *nest->dims);
	put_batch(nest, 0, d->y, d->y);
	put_batch(nest, 1, d->q, d->y);
	put_batch(nest, 2, d->k, d->y);
	put_batch(nest, 3, d->v, d->y);
	put_batch(nest, 4, d->mask, d->y);
	nest->ndim++;
	nest->dims[last] = plan_ceil(r->p, d->y->dims[last], chunk);
	nest->stride[0][last] = chunk * stride_of(d->y, 1);
	nest->stride[1][last] = chunk * stride_of(d->q, 1);
	nest->stride[4][last] = chunk * stride_of(d->mask, 1);
	return true;
}

/* Prints the call of the microkernel on a chunk of queries. */
static void
put_chunk(Body *b, Arena *a, const RowNest *nest, const Attention *d, int64_t chunk)
{
	const int last = nest->ndim - 1;
	const char *rows = body_number(b, "rows", d->y->dims[last]);

	out_line(&b->out, "const int64_t first = i%d * %d, m = %s - first < %d ? %s - first : %d;", last, (int)chunk,
		 rows, (int)chunk, rows, (int)chunk);
	out_blank(&b->out);
	out_line(&b->out, "va_attention(first, m, &v, (const float *)p[1] + %s, (const float *)p[2] + %s,",
		 nest_at(b, nest, 1), nest_at(b, nest, 2));
	out_line(&b->out, "\t(const float *)p[3] + %s, %s, (float *)p[0] + %s, scratch, &packed);",
		 nest_at(b, nest, 3),
		 d->mask ? arena_printf(a, "(const float *)p[4] + %s", nest_at(b, nest, 4)) : "0",
		 nest_at(b, nest, 0));
}

static void
pass_attention(Row *r, KernelCall *c, const Attention *d)
{
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, row_arg(r, "query"));
	row_pass(r, c, row_arg(r, "key"));
	row_pass(r, c, row_arg(r, "value"));
	if (d->mask)
		row_pass(r, c, d->mask_value);
}

static bool
emit_attention(Row *r, Attention *d)
{
	const int64_t rows = d->y->dims[d->y->ndim - 2], n = d->k->dims[d->k->ndim - 2],
		      inner = d->q->dims[d->q->ndim - 1], width = d->v->dims[d->v->ndim - 1],
		      chunk = rows < CHUNK && !r->p->dynamic ? rows : CHUNK;
	Arena *a = r->p->cx->arena;
	Body b = body_begin(r->p);
	RowNest nest;
	KernelCall *c;

	if (!take_nest(r, d, chunk, &nest))
		return false;
	put_attention_sizes(&b, d);
	row_scratch(&b, "float", "scratch", arena_printf(a, "va_scratch(%s, &v)", body_number(&b, "chunk", chunk)));
	out_line(&b.out, "VaPacked packed = { 0, 0 };");
	out_blank(&b.out);
	nest_open(&b, &nest);
	put_chunk(&b, a, &nest, d, chunk);
	out_close(&b.out);
	c = row_call(r, "attention", arena_printf(a, "attention of %lld rows to %lld", (long long)rows, (long long)n),
		     &b, nest_count(&nest), row_grain(chunk * n * (inner / 4 + 1)));
	emit_tall(r->e, r->p, rows < chunk ? rows : chunk, INT64_MAX);
	if (r->e)
		c->scratch = vs_attention(r->e->vf, r->e->nr, chunk, n, inner, width);
	c->work.flops = 2 * (double)rt_numel(d->y) / (double)width * (double)n * (double)(inner + width);
	pass_attention(r, c, d);
	return true;
}

/* ---- CUDA -------------------------------------------------------------------------------------------------------- */

/* Declares the batch indices of the thread block: "const int64_t i0 = blockIdx.y / 12u % 4u;". */
static void
put_batch_indices(Body *b, const RowNest *nest)
{
	int64_t inside = 1;

	for (int i = nest->ndim - 1; i >= 0; i--) {
		out_line(&b->out, "const int64_t i%d = blockIdx.y / %lldu %% %lldu;", i, (long long)inside,
			 (long long)nest->dims[i]);
		inside *= nest->dims[i];
	}
}

/* Prints a lambda that reads an operand within the block's batch: "[=](int64_t row, int64_t d) { return x1[row * 64 +
 * d]; },". */
static void
put_read(Body *b, const RowNest *nest, int operand, const RtTensor *t)
{
	out_line(&b->out, "\t[=](int64_t row, int64_t column) { return x%d[%s + row * %lld + column * %lld]; },",
		 operand, nest_at(b, nest, operand), (long long)stride_of(t, 1), (long long)stride_of(t, 0));
}

static const char *
cuda_text(Row *r, const Attention *d, const RowNest *nest)
{
	const int64_t width = d->v->dims[d->v->ndim - 1];
	Arena *a = r->p->cx->arena;
	Body b = body_begin(r->p);

	out_line(&b.out, "const CuAttention g = { %lld, %lld, %lld, %lld, %s, %s };",
		 (long long)d->y->dims[d->y->ndim - 2], (long long)d->k->dims[d->k->ndim - 2],
		 (long long)d->q->dims[d->q->ndim - 1], (long long)width, d->zeros ? "0" : "(float)KILN_NAN",
		 d->causal ? "true" : "false");
	put_batch_indices(&b, nest);
	out_line(&b.out, "cu_attention<%lld>(g,", (long long)(width + 15) / 16);
	put_read(&b, nest, 1, d->q);
	put_read(&b, nest, 2, d->k);
	put_read(&b, nest, 3, d->v);
	out_line(&b.out, "\t[=](int64_t row, int64_t key, float x) { return x * (float)%.17g%s; },", d->scale,
		 !d->mask ? "" : arena_printf(a, " + x4[%s + row * %lld + key * %lld]", nest_at(&b, nest, 4),
				   (long long)stride_of(d->mask, 1), (long long)stride_of(d->mask, 0)));
	out_line(&b.out, "\t[=](int64_t row, int64_t column, float x) { y0[%s + row * %lld + column] = x; });",
		 nest_at(&b, nest, 0), (long long)stride_of(d->y, 1));
	return arena_printf(a, "(float *y0, const float *x1, const float *x2, const float *x3%s)\n{\n%s}\n",
			    d->mask ? ", const float *x4" : "", b.out.text.at);
}

static bool
emit_cuda_text(Row *r, Attention *d)
{
	enum { TILE = 64, WIDEST = 256, MOST_BATCHES = 65535 };
	const int64_t rows = d->y->dims[d->y->ndim - 2];
	CudaText *t = new(r->p->cx->arena, CudaText, 1);
	RowNest nest;

	if (d->v->dims[d->v->ndim - 1] > WIDEST || !take_nest(r, d, rows, &nest) || nest_count(&nest) > MOST_BATCHES)
		return false;
	nest_drop(&nest, nest.ndim - 1);         /* a thread block computes a chunk of queries */
	*t = (CudaText){ "attention", arena_printf(r->p->cx->arena, "attention of %lld rows to %lld", (long long)rows,
						   (long long)d->k->dims[d->k->ndim - 2]),
			 cuda_text(r, d, &nest), { (rows + TILE - 1) / TILE, nest_count(&nest), 1 } };
	r->calls[r->ncall] = (KernelCall){ .cuda = t };
	pass_attention(r, &r->calls[r->ncall++], d);
	return true;
}

/* ---- the operators ----------------------------------------------------------------------------------------------- */

/* prim::attention */
static bool
take_attention(Row *r, Attention *d)
{
	*d = (Attention){ 0 };
	return row_double(r, "scale", &d->scale) && read_attention(r, d);
}

/* aten::scaled_dot_product_attention without dropout */
static bool
take_sdpa(Row *r, Attention *d)
{
	double dropout;
	int64_t grouped;

	*d = (Attention){ .zeros = true };
	if (!row_double(r, "dropout_p", &dropout) || dropout > 0 || !row_int(r, "enable_gqa", &grouped) || grouped ||
	    !row_int(r, "is_causal", &d->causal) || !read_attention(r, d) || (d->causal && d->mask))
		return false;
	if (row_arg(r, "scale") && !row_double(r, "scale", &d->scale))
		return false;
	if (!d->scale && d->q->dims[d->q->ndim - 1])
		d->scale = 1 / sqrt((double)d->q->dims[d->q->ndim - 1]);
	return d->scale != 0;
}

bool
row_attention(Row *r)
{
	Attention d;

	return take_attention(r, &d) && emit_attention(r, &d);
}

bool
row_attention_cuda(Row *r)
{
	Attention d;

	return take_attention(r, &d) && emit_cuda_text(r, &d);
}

bool
row_sdpa(Row *r)
{
	Attention d;

	return take_sdpa(r, &d) && emit_attention(r, &d);
}

bool
row_sdpa_cuda(Row *r)
{
	Attention d;

	return take_sdpa(r, &d) && emit_cuda_text(r, &d);
}
