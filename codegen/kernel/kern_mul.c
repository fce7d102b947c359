/*
 * Products whose second operand is not constant: matmul, mm, bmm, linear, addmm, contract (einsum).
 *
 * The batch is a nest of three operands (result, a, b) whose strides are 0 where an operand is broadcast. The innermost
 * batch dim is merged into the rows if b is broadcast along it and the rows of a are equally spaced across it.
 */
#include "lower.h"
#include "row.h"

#include <string.h>

/* Rows and columns of a part of the product. Each part packs its panels of b. It packs its rows of a unless they are
 * contiguous. */
enum { ROWS = 192, COLUMNS = 256 };

typedef struct Product {
	RowNest batch;           /* operands c, a, b */
	int64_t m, n, k, lda, ak, bk, bn, ldc;
	const Value *a, *b, *bias;
	int dtype;
} Product;

/* Sets an operand's batch strides from the dims of t, except its last `own` ones. Returns false if it does not
 * broadcast to the batch. */
static bool
put_batch(Product *d, int operand, const RtTensor *t, int own)
{
	const int lead = d->batch.ndim - (t->ndim - own);

	if (lead < 0)
		return false;
	for (int i = 0; i < d->batch.ndim; i++)
		d->batch.stride[operand][i] = i < lead || t->dims[i - lead] == 1 ? 0 : t->strides[i - lead];
	return true;
}

/* Merges batch dims into the rows of the product. */
static void
fold_batch(Product *d)
{
	RowNest *b = &d->batch;

	nest_simplify(b, 0);
	while (b->ndim) {
		const int last = b->ndim - 1;

		if (b->stride[2][last] ||
		    (d->m != 1 && (b->stride[1][last] != d->m * d->lda || b->stride[0][last] != d->m * d->ldc)))
			break;
		if (d->m == 1) {
			d->lda = b->stride[1][last];
			d->ldc = b->stride[0][last];
		}
		d->m *= b->dims[last];
		nest_drop(b, last);
	}
}

/* Describes the product of a (.., m, k) or (k) and b (.., k, n) or (k). If transposed, b is (.., n, k). */
static bool
describe_product(Row *r, const RtTensor *a, const RtTensor *b, bool transposed, Product *d)
{
	const RtTensor *y = row_result(r, 0);
	const int ra = a->ndim >= 2, rb = b->ndim >= 2;

	if (a->dtype != y->dtype || b->dtype != y->dtype || (y->dtype != RT_f32 && y->dtype != RT_f64) || !a->ndim ||
	    !b->ndim || !rt_numel(y))
		return false;
	d->dtype = y->dtype;
	d->m = ra ? a->dims[a->ndim - 2] : 1;
	d->k = a->dims[a->ndim - 1];
	d->lda = ra ? a->strides[a->ndim - 2] : 0;
	d->ak = d->k == 1 ? 1 : a->strides[a->ndim - 1];
	d->n = rb ? b->dims[b->ndim - (transposed ? 2 : 1)] : 1;
	d->bn = rb && d->n > 1 ? b->strides[b->ndim - (transposed ? 2 : 1)] : 1;
	d->bk = b->strides[b->ndim - (rb && !transposed ? 2 : 1)];
	d->batch.n = 3;
	d->batch.ndim = y->ndim - ra - rb;
	d->ldc = ra && y->ndim > rb ? y->strides[y->ndim - 1 - rb] : 0;
	if (d->batch.ndim < 0 || (rb && d->n > 1 && y->strides[y->ndim - 1] != 1))
		return false;
	memcpy(d->batch.dims, y->dims, (size_t)d->batch.ndim * sizeof *y->dims);
	if (!put_batch(d, 0, y, ra + rb) || !put_batch(d, 1, a, 1 + ra) || !put_batch(d, 2, b, 1 + rb))
		return false;
	fold_batch(d);
	return true;
}

/* Adds a loop over parts of `size`, unless there is a single part of a static size. stride: strides of the three
 * operands. */
static bool
cut(Row *r, RowNest *nest, int64_t of, int64_t size, const int64_t stride[3])
{
	if (of <= size && !r->p->dynamic)
		return false;
	nest->dims[nest->ndim] = plan_ceil(r->p, of, size);
	for (int i = 0; i < 3; i++)
		nest->stride[i][nest->ndim] = size * stride[i];
	nest->ndim++;
	return true;
}

static void
put_extent(Body *b, bool is_cut, const char *name, int index, int64_t of, int size)
{
	const char *n = body_number(b, name, of);

	if (is_cut)
		out_line(&b->out, "const int64_t %s0 = i%d * %d, %s = %s - %s0 < %d ? %s - %s0 : %d;", name, index,
			 size, name, n, name, size, n, name, size);
	else
		out_line(&b->out, "const int64_t %s = %s;", name, n);
}

/* Describes the launch as a contraction. */
static void
put_contract(Row *r, KernelCall *call, const Product *d)
{
	Contract c;

	contract_begin(&c, r->p, r->n, (RtDtype)d->dtype, d->bias != NULL);
	for (int i = 0; i < d->batch.ndim; i++)
		contract_axis(&c, d->batch.dims[i], false, (int64_t[4]){ d->batch.stride[0][i], d->batch.stride[1][i],
									 d->batch.stride[2][i] });
	contract_axis(&c, d->m, false, (int64_t[4]){ d->ldc, d->lda });
	contract_axis(&c, d->n, false, (int64_t[4]){ 1, 0, d->bn, 1 });
	contract_axis(&c, d->k, true, (int64_t[4]){ 0, d->ak, d->bk });
	contract_call(call, &c, NULL, d->batch.ndim + 1, d->dtype == RT_f32 ? "vm_product" : "vm_product_double");
}

static bool
emit_product(Row *r, Product *d)
{
	const char *type = row_type(d->dtype);
	Arena *a = r->p->cx->arena;
	RowNest nest = d->batch;
	const bool rows = cut(r, &nest, d->m, ROWS, (int64_t[3]){ d->ldc, d->lda }),
		   columns = cut(r, &nest, d->n, COLUMNS, (int64_t[3]){ 1, 0, d->bn });
	const int64_t m = rows ? ROWS : d->m, n = columns ? COLUMNS : d->n;
	const int64_t packed = d->ak == 1 || d->dtype == RT_f64 ? 0 : m;         /* rows of a to pack */
	Body body = body_begin(r->p);
	const char *k = body_number(&body, "k", d->k);
	Out *o = &body.out;
	KernelCall *c;

	row_scratch(&body, "float", "scratch", arena_printf(a, "vm_scratch(%s, %s)",
							    body_number(&body, "packed", packed), k));
	nest_open(&body, &nest);
	put_extent(&body, rows, "m", nest.ndim - 1 - columns, d->m, ROWS);
	put_extent(&body, columns, "n", nest.ndim - 1, d->n, COLUMNS);
	out_blank(o);
	out_line(o, "%s(m, n, %s, (const %s *)p[1] + %s, %s, %s,", d->dtype == RT_f32 ? "vm_product" :
		 "vm_product_double", k, type, nest_at(&body, &nest, 1), body_number(&body, "lda", d->lda),
		 body_number(&body, "ak", d->ak));
	out_line(o, "\t(const %s *)p[2] + %s, %s, %s,", type, nest_at(&body, &nest, 2), body_number(&body, "bk", d->bk),
		 body_number(&body, "bn", d->bn));
	out_line(o, "\t%s, (%s *)p[0] + %s, %s, scratch);", !d->bias ? "0" :
		 columns ? arena_printf(a, "(const %s *)p[3] + n0", type) : "p[3]",
		 type, nest_at(&body, &nest, 0), body_number(&body, "ldc", d->ldc));
	out_close(o);
	c = row_call(r, "multiply",
		     arena_printf(a, "%s: %lld of (%lld, %lld) x (%lld, %lld)", r->n->op->id,
				  (long long)nest_count(&d->batch), (long long)d->m, (long long)d->k, (long long)d->k,
				  (long long)d->n),
		     &body, nest_count(&nest), row_grain(m * n * (d->k / 8 + 1)));
	if (d->dtype == RT_f32)
		emit_tall(r->e, r->p, m, INT64_MAX);
	if (r->e)
		c->scratch = vs_product(r->e->nr, packed, d->k);
	c->work.flops = 2.0 * (double)nest_count(&d->batch) * (double)(d->m * d->n) * (double)d->k;
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, d->a);
	row_pass(r, c, d->b);
	if (d->bias)
		row_pass(r, c, d->bias);
	put_contract(r, c, d);
	return true;
}

/* Reads a bias of n consecutive numbers that is the same for all rows. */
static bool
take_bias(const Row *r, const char *name, Product *d)
{
	const RtTensor *t = row_tensor(r, name);

	d->bias = row_arg(r, name);
	return !d->bias || (t && t->dtype == d->dtype && rt_is_contiguous(t) && rt_numel(t) == d->n &&
			    (t->ndim == 1 || d->n == t->dims[t->ndim - 1]));
}

bool
row_matmul(Row *r)
{
	const char *second = node_arg(r->n, "other") ? "other" : "mat2";
	const RtTensor *a = row_tensor(r, "self"), *b = row_tensor(r, second);
	Product d = { .a = row_arg(r, "self"), .b = row_arg(r, second) };

	return a && b && describe_product(r, a, b, false, &d) && emit_product(r, &d);
}

bool
row_linear(Row *r)
{
	const RtTensor *a = row_tensor(r, "input"), *b = row_tensor(r, "weight");
	Product d = { .a = row_arg(r, "input"), .b = row_arg(r, "weight") };

	return a && b && b->ndim == 2 && describe_product(r, a, b, true, &d) &&
	       take_bias(r, "bias", &d) && emit_product(r, &d);
}

bool
row_addmm(Row *r)
{
	const RtTensor *a = row_tensor(r, "mat1"), *b = row_tensor(r, "mat2");
	Product d = { .a = row_arg(r, "mat1"), .b = row_arg(r, "mat2") };
	double alpha, beta;

	return a && b && row_double(r, "alpha", &alpha) && row_double(r, "beta", &beta) && alpha == 1 && beta == 1 &&
	       describe_product(r, a, b, false, &d) && take_bias(r, "self", &d) && emit_product(r, &d);
}

/* ---- contract ---------------------------------------------------------------------------------------------------- */

enum { Y, A, B };

/* Makes a nest of the dims that exactly the chosen tensors have, among y, a and b. The other tensors have size 1
 * there. */
static void
put_dims(const RtTensor *const *t, bool y, bool a, bool b, RowNest *nest)
{
	const int from = y ? Y : a ? A : B;

	*nest = (RowNest){ .n = 3 };
	for (int d = 0; d < t[Y]->ndim; d++) {
		if ((t[Y]->dims[d] != 1) != y || (t[A]->dims[d] != 1) != a || (t[B]->dims[d] != 1) != b)
			continue;
		nest->dims[nest->ndim] = t[from]->dims[d];
		for (int k = 0; k < 3; k++)
			nest->stride[k][nest->ndim] = t[k]->dims[d] == 1 ? 0 : t[k]->strides[d];
		nest->ndim++;
	}
	nest_simplify(nest, y ? Y : A);
}

/* Moves all dims of a nest except the innermost to the batch. */
static bool
move_outer(RowNest *batch, const RowNest *from)
{
	for (int i = 0; i + 1 < from->ndim; i++) {
		if (batch->ndim == RT_MAX_RANK)
			return false;
		batch->dims[batch->ndim] = from->dims[i];
		for (int k = 0; k < 3; k++)
			batch->stride[k][batch->ndim] = from->stride[k][i];
		batch->ndim++;
	}
	return true;
}

/* Describes the contraction. Dims of one operand only are its rows or columns. Dims of both are the batch if the
 * result has them, else they are summed over. */
static bool
describe_contract(const RtTensor *const *t, Product *d)
{
	RowNest m, n, k;
	int last;

	put_dims(t, true, true, true, &d->batch);
	put_dims(t, true, true, false, &m);
	put_dims(t, true, false, true, &n);
	put_dims(t, false, true, true, &k);
	if (k.ndim > 1)
		return false;
	if (!move_outer(&d->batch, &m) || !move_outer(&d->batch, &n) || (n.ndim && n.stride[Y][n.ndim - 1] != 1))
		return false;
	last = m.ndim - 1;
	d->m = m.ndim ? m.dims[last] : 1;
	d->ldc = m.ndim ? m.stride[Y][last] : 0;
	d->lda = m.ndim ? m.stride[A][last] : 0;
	last = n.ndim - 1;
	d->n = n.ndim ? n.dims[last] : 1;
	d->bn = n.ndim ? n.stride[B][last] : 1;
	d->k = k.ndim ? k.dims[0] : 1;
	d->ak = k.ndim ? k.stride[A][0] : 1;
	d->bk = k.ndim ? k.stride[B][0] : 1;
	d->dtype = t[Y]->dtype;
	fold_batch(d);
	return true;
}

/* Contracts two tensors. Exchanges them if the result's columns are dims of the first. */
bool
row_contract(Row *r)
{
	const RtTensor *const t[3] = { row_result(r, 0), row_tensor(r, "a"), row_tensor(r, "b") };
	const RtTensor *const swapped[3] = { t[Y], t[B], t[A] };
	Product d = { .a = row_arg(r, "a"), .b = row_arg(r, "b") };

	for (int i = 0; i < 3; i++)
		if (!t[i] || t[i]->quant || t[i]->dtype != t[Y]->dtype || !rt_numel(t[i]))
			return false;
	if (t[A]->storage == t[Y]->storage || t[B]->storage == t[Y]->storage ||
	    (t[Y]->dtype != RT_f32 && t[Y]->dtype != RT_f64))
		return false;
	if (describe_contract(t, &d))
		return emit_product(r, &d);
	d = (Product){ .a = d.b, .b = d.a };
	return describe_contract(swapped, &d) && emit_product(r, &d);
}
