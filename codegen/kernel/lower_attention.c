/*
 * Attention as a chain of three links, which share the batch and the query's row:
 *
 *    scores     l5 = sum of q * k over the inner dim, for each key
 *    weights    softmax(l5 * scale + mask) over the keys, into l6
 *    sums       y = sum of l6 * v over the keys, for each column
 *
 * A causal mask is a bound of the scores that the weights read: keys behind the row have the score -infinity.
 */
#include "row.h"
#include "lower.h"

#include <float.h>
#include <math.h>

enum { BLOCK = 48, MOST_KEYS = 1 << 16 };    /* rows of a block; largest number of keys whose scores stay in cache */
enum { Y, Q, K, V, MASK };                   /* operands; the scores and the weights follow */

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

/* ---- links ------------------------------------------------------------------------------------------------------- */

/* Adds an axis of the link's own. Returns its index. */
static int
add_axis(Kernel *k, int64_t extent, bool reduced)
{
	RT_ASSERT(k->naxis < KERNEL_AXES);
	k->extent[k->naxis] = size_number(k->sizes, extent);
	k->nreduce += reduced;
	return k->naxis++;
}

/* Returns the stride of the dim `back` dims before the last. 0 where the tensor is broadcast. */
static int64_t
stride_of(const RtTensor *t, int back)
{
	const int i = t->ndim - 1 - back;

	return i < 0 || t->dims[i] == 1 ? 0 : t->strides[i];
}

/* Sets an operand's strides along the batch dims and the axes of its rows and columns. */
static void
use_tensor(Kernel *k, int operand, const RtTensor *t, int row, int column)
{
	const Size **to = k->operand.at[operand].stride;

	for (int i = 0; i < k->shared - 1; i++)
		to[i] = size_number(k->sizes, stride_of(t, k->shared - i));
	to[row] = size_number(k->sizes, stride_of(t, 1));
	to[column] = size_number(k->sizes, operand != MASK && t->dims[t->ndim - 1] == 1 ? 1 : stride_of(t, 0));
}

static void
use_local(Kernel *k, int operand, int key)
{
	k->operand.at[operand].stride[key] = size_number(k->sizes, 1);
}

/* Completes a link that sums products of two operands. */
static void
put_sum(Row *r, Kernel *k, int a, int b, int to)
{
	Rows g = { .row = r, .kernel = k };
	const Ref x = rows_let2(&g, ROW_mul_Tensor, RT_f32, ref_operand(a), ref_operand(b));
	const Ref sum = rows_join(&g, "sum", RT_f32, RT_f32, x);

	kernel_stage(k, false);
	kernel_store(k, to, sum);
}

static Kernel *
make_scores(Row *r, const Attention *d)
{
	Kernel *k = lower_over(r->p, r->n, "attention", d->y->ndim - 1, d->y->dims);
	const int row = k->naxis - 1, reads = d->mask ? MASK : V;
	int key, inner;

	k->shared = k->naxis;
	key = add_axis(k, d->k->dims[d->k->ndim - 2], false);
	inner = add_axis(k, d->q->dims[d->q->ndim - 1], true);
	for (int i = Y; i <= reads + 2; i++)
		kernel_strided(k, i == Y ? ACCESS_WRITE : i <= reads ? ACCESS_READ : ACCESS_LOCAL, RT_f32, NULL);
	use_tensor(k, Q, d->q, row, inner);
	use_tensor(k, K, d->k, key, inner);
	use_local(k, reads + 1, key);
	put_sum(r, k, Q, K, reads + 1);
	return k;
}

/* A row without keys has the maximum -infinity and the sum 0. With `zeros`, bounds replace them, which no other row
 * reaches. */
static Ref
at_least(Rows *g, const Attention *d, RtDtype type, Ref x, double least)
{
	if (!d->zeros)
		return x;
	if (type == RT_f32)
		kernel_stage(g->kernel, false);
	return rows_let2(g, ROW_clamp_min, type, x, ref_number(rt_double(least)));
}

static void
put_softmax(Rows *g, const Attention *d, Ref x, int weights)
{
	Kernel *k = g->kernel;
	Ref most = rows_join(g, "max", RT_f32, RT_f32, x), sum;

	kernel_store(k, weights, x);
	most = at_least(g, d, RT_f32, most, -FLT_MAX);
	kernel_stage(k, true);
	x = rows_let2(g, ROW_sub_Tensor, RT_f32, ref_operand(weights), most);
	x = rows_let1(g, ROW_prim_exp_normal, RT_f32, x);
	sum = rows_join(g, "sum", RT_f64, RT_f32, x);
	kernel_store(k, weights, x);
	kernel_stage(k, false);
	sum = at_least(g, d, RT_f64, sum, 1);
	sum = rows_let(g, ROW_reciprocal, rows_types(RT_f64, RT_f32), sum, sum, sum);
	kernel_stage(k, true);
	kernel_store(k, weights, rows_let2(g, ROW_mul_Tensor, RT_f32, ref_operand(weights), sum));
}

/* Gives keys behind the row the score -infinity: row - key is below 0 there. */
static void
hide_keys(Kernel *k, int scores, int row, int key)
{
	Bound b = { .offset = size_number(k->sizes, 0), .limit = k->extent[row] };

	b.stride[row] = size_number(k->sizes, 1);
	b.stride[key] = size_number(k->sizes, -1);
	kernel_bound(k, scores, b);
	k->operand.at[scores].outside = rt_double(-INFINITY);
}

static Kernel *
make_weights(Row *r, const Attention *d, Kernel *last)
{
	Kernel *k = kernel_then(last);
	const int row = k->naxis - 1, key = add_axis(k, d->k->dims[d->k->ndim - 2], true), scores = k->operand.n - 2;
	Rows g = { .row = r, .kernel = k };
	Ref x;

	if (d->mask)
		use_tensor(k, MASK, d->mask, row, key);
	use_local(k, scores, key);
	use_local(k, scores + 1, key);
	if (d->causal)
		hide_keys(k, scores, row, key);
	x = rows_let2(&g, ROW_mul_Scalar, RT_f32, ref_operand(scores), ref_number(rt_double(d->scale)));
	if (d->mask)
		x = rows_let2(&g, ROW_add_Tensor, RT_f32, x, ref_operand(MASK));
	put_softmax(&g, d, x, scores + 1);
	return k;
}

static void
make_sums(Row *r, const Attention *d, Kernel *last)
{
	Kernel *k = kernel_then(last);
	const int row = k->naxis - 1, weights = k->operand.n - 1;
	const int column = add_axis(k, d->v->dims[d->v->ndim - 1], false);
	const int key = add_axis(k, d->v->dims[d->v->ndim - 2], true);

	use_tensor(k, Y, d->y, row, column);
	use_tensor(k, V, d->v, key, column);
	use_local(k, weights, key);
	put_sum(r, k, weights, V, Y);
}

static bool
emit_attention(Row *r, Attention *d)
{
	const int64_t rows = d->y->dims[d->y->ndim - 2];
	const Value *value[] = { r->n->out[0], row_arg(r, "query"), row_arg(r, "key"), row_arg(r, "value"),
				 d->mask_value };
	Kernel *k;

	if (d->y->ndim + 1 > KERNEL_AXES)
		return false;
	k = make_scores(r, d);
	make_sums(r, d, make_weights(r, d, k));
	emit_tall(r->e, r->p, rows < BLOCK ? rows : BLOCK, INT64_MAX);
	return row_kernel(r, k, value, d->mask ? 5 : 4);
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
row_sdpa(Row *r)
{
	Attention d;

	return take_sdpa(r, &d) && emit_attention(r, &d);
}
