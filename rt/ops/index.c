/* rt/ops/index.c - indexing by tensors: x[i, :, j], x[mask], and writes through it
 *
 * An Indexing is made from (self, indices). Masks become one vector of positions for each dim that they cover. All
 * vectors are broadcast to one shape B. Every position of B becomes one byte offset into self, which is checked once.
 * The result's dims are  before x B x after,  where before and after are the dims around the indexed ones. If the
 * indexed dims are not adjacent, B comes first. Reading and writing are then block moves between result and self. */
#include "scatter.h"

RT_FAST

typedef struct Indexing {
	int      n;                        /* number of index vectors */
	RtTensor *at[RT_MAX_RANK];         /* index vectors: int64, of any shape that broadcasts to B */
	int      dim[RT_MAX_RANK];         /* dim of self that at[i] indexes */
	Geom     before, index, after;    /* parts of the result's dims; strides are self's, in bytes; index has none */
	int64_t  nb;
	int64_t *offset;                   /* (nb) offsets in bytes */
} Indexing;

static const char *const DTYPES = "tensors used as indices must be long, byte or bool tensors";

static bool
is_mask(const RtTensor *t)
{
	return t->dtype == RT_b8 || t->dtype == RT_u8;
}

static int
add_mask(RtCx *cx, const RtTensor *self, RtTensor *mask, int dim, int position, Indexing *x)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];
	int64_t n, *where;
	RtTensor *list;

	for (int i = 0; i < mask->ndim; i++)
		if (dim + i >= self->ndim || mask->dims[i] != self->dims[dim + i])
			return rt_raise(cx, "The shape of the mask %s at index %d does not match the shape of the "
				"indexed tensor %s at index %d", sizes_text(a, mask->ndim, mask->dims), i,
				sizes_text(b, self->ndim, self->dims), dim + i);
	(void)position;
	if (cx->meta)
		return rt_no_meta(cx);
	list = rt_temp(cx, nonzero_rows(cx, mask, true));
	if (!list)
		return RT_ERROR;
	n = list->dims[1];
	where = (int64_t *)(void *)rt_data(list);
	for (int i = 0; i < mask->ndim; i++) {
		RtTensor *t = temp_new(cx, RT_i64, 1, &n);
		if (!t)
			return RT_ERROR;
		memcpy(rt_data(t), where + i * n, n * 8);
		x->dim[x->n] = dim + i;
		x->at[x->n++] = t;
	}
	if (mask->ndim == 0) {
		/* x[True] adds a leading dim of 1, and x[False] one of 0. It is an index vector over no dim. */
		x->dim[x->n] = -1;
		x->at[x->n] = temp_new(cx, RT_i64, 1, &n);
		if (!x->at[x->n])
			return RT_ERROR;
		memset(rt_data(x->at[x->n++]), 0, n * 8);
	}
	return RT_OK;
}

static int
collect_indices(RtCx *cx, const RtTensor *self, const RtList *indices, Indexing *x)
{
	int dim = 0;

	if (indices->n > self->ndim)
		return rt_raise(cx, "too many indices for tensor of dimension %d (got %lld)", self->ndim,
				(long long)indices->n);
	for (int i = 0; i < indices->n; i++) {
		RtTensor *t = rt_tensor(indices->v[i]);
		if (!t) {
			dim++;
		} else if (is_mask(t)) {
			if (add_mask(cx, self, t, dim, i, x))
				return cx->status ? cx->status : RT_UNKNOWN_META;
			dim += t->ndim;
		} else if (t->dtype != RT_i64) {
			return rt_raise(cx, DTYPES);
		} else if (x->n < RT_MAX_RANK) {
			x->dim[x->n] = dim++;
			x->at[x->n++] = t;
		}
		if (dim > self->ndim)
			return rt_raise(cx, "too many indices for tensor of dimension %d (got %d)", self->ndim, dim);
	}
	return RT_OK;
}

static int
broadcast_indices(RtCx *cx, Indexing *x)
{
	char text[3][SIZES_TEXT];

	for (int i = 0; i < x->n; i++) {
		int n = x->index.n;
		int64_t dims[RT_MAX_RANK];
		memcpy(dims, x->index.dims, sizeof dims);
		if (rt_broadcast(cx, &x->index.n, x->index.dims, x->at[i]->ndim, x->at[i]->dims)) {
			rt_clear_error(cx);
			return rt_raise(cx, "shape mismatch: indexing tensors could not be broadcast together with "
				"shapes %s, %s", sizes_text(text[0], n, dims),
				sizes_text(text[1], x->at[i]->ndim, x->at[i]->dims));
		}
	}
	x->nb = product(x->index.dims, 0, x->index.n);
	return RT_OK;
}

static void
place_dims(const RtTensor *self, Indexing *x)
{
	int64_t bytes = rt_dtypes[self->dtype].bytes;
	uint64_t indexed = 0;
	int first = RT_MAX_RANK, last = -1, count = 0;
	bool adjacent;

	for (int i = 0; i < x->n; i++) {
		if (x->dim[i] < 0)
			continue;
		indexed |= UINT64_C(1) << x->dim[i];
		first = x->dim[i] < first ? x->dim[i] : first;
		last = x->dim[i] > last ? x->dim[i] : last;
		count++;
	}
	adjacent = count == last - first + 1;
	for (int d = 0; d < self->ndim; d++)
		if (!(indexed >> d & 1)) {
			Geom *g = adjacent && d < first && count ? &x->before : &x->after;
			geom_insert(g, g->n, self->dims[d], self->strides[d] * bytes);
		}
}

static int
make_offsets(RtCx *cx, const RtTensor *self, Indexing *x)
{
	int64_t bytes = rt_dtypes[self->dtype].bytes;
	int nth = -1;                  /* number of the indexed dim, for errors */

	x->offset = rt_scratch(cx, (x->nb + 1) * 8);
	if (!x->offset)
		return RT_ERROR;
	memset(x->offset, 0, x->nb * 8);
	for (int i = 0; i < x->n; i++) {
		int d = x->dim[i];
		RtTensor *t = expanded(cx, x->at[i], x->index.n, x->index.dims);
		const int64_t *at = t ? (const int64_t *)(const void *)rt_data(t) : NULL;
		int64_t size, step;
		if (!t)
			return RT_ERROR;
		if (d < 0)
			continue;
		nth++;
		size = self->dims[d];
		step = self->strides[d] * bytes;
		for (int64_t k = 0; k < x->nb; k++) {
			if (!size)
				return rt_raise(cx, "index is out of bounds for dimension with size 0");
			if (at[k] < -size || at[k] >= size)
				return rt_raise(cx, "index %lld is out of bounds for dimension %d with size %lld",
					(long long)at[k], nth, (long long)size);
			x->offset[k] += (at[k] < 0 ? at[k] + size : at[k]) * step;
		}
	}
	return RT_OK;
}

/* Computes the dims of self[indices], and, if there is data, the offsets. */
static int
indexing(RtCx *cx, const RtTensor *self, const RtList *indices, Indexing *x, Geom *result)
{
	memset(x, 0, sizeof *x);
	if (collect_indices(cx, self, indices, x) || broadcast_indices(cx, x))
		return cx->status ? cx->status : RT_UNKNOWN_META;
	place_dims(self, x);
	result->n = 0;
	if (x->before.n + x->index.n + x->after.n > RT_MAX_RANK)
		return rt_raise(cx, "tensors of more than %d dimensions are not supported", RT_MAX_RANK);
	for (int i = 0; i < x->before.n; i++)
		result->dims[result->n++] = x->before.dims[i];
	for (int i = 0; i < x->index.n; i++)
		result->dims[result->n++] = x->index.dims[i];
	for (int i = 0; i < x->after.n; i++)
		result->dims[result->n++] = x->after.dims[i];
	return cx->meta || product(result->dims, 0, result->n) == 0 ? RT_OK : make_offsets(cx, self, x);
}

typedef struct IndexRun {
	const Indexing *indexing;
	char *self, *other;      /* other: contiguous, with the result's dims */
	int64_t bytes, block;    /* number of bytes of an element, and of the `after` dims in other */
	int64_t dense[RT_MAX_RANK];    /* contiguous strides of the `after` dims, in bytes */
	bool plain;              /* whether the `after` dims are contiguous in self, too */
	bool write;
	const Combine *combine;        /* operation that combines old and new value; null to store the new value */
} IndexRun;

static void
index_block(const IndexRun *run, char *self, char *other)
{
	const Geom *after = &run->indexing->after;
	const BlockPair write = { after->n, after->dims, after->strides, run->dense },
			read = { after->n, after->dims, run->dense, after->strides };

	if (run->combine)
		combine_block(run->combine, &write, self, other);
	else if (run->plain && run->write)
		memcpy(self, other, run->block);
	else if (run->plain)
		memcpy(other, self, run->block);
	else if (run->write)
		move_block(run->bytes, &write, self, other);
	else
		move_block(run->bytes, &read, other, self);
}

/* Moves positions [begin, end) of the flattened (before x B). */
static void
index_range(void *arg, int64_t begin, int64_t end)
{
	const IndexRun *run = arg;
	const Indexing *x = run->indexing;

	for (int64_t i = begin; i < end;) {
		int64_t outer = i / x->nb, k = i % x->nb, rest = outer, lead = 0;
		for (int d = x->before.n - 1; d >= 0; d--) {
			lead += rest % x->before.dims[d] * x->before.strides[d];
			rest /= x->before.dims[d];
		}
		if (run->plain && !run->combine && run->block == 4)
			for (; k < x->nb && i < end; k++, i++) {
				uint32_t *a = (uint32_t *)(void *)(run->self + lead + x->offset[k]);
				uint32_t *b = (uint32_t *)(void *)(run->other + i * 4);
				if (run->write)
					*a = *b;
				else
					*b = *a;
			}
		else
			for (; k < x->nb && i < end; k++, i++)
				index_block(run, run->self + lead + x->offset[k], run->other + i * run->block);
	}
}

static void
index_run(RtCx *cx, const Indexing *x, const RtTensor *self, char *other, bool write, const Combine *combine)
{
	IndexRun run = { x, rt_data(self), other, rt_dtypes[self->dtype].bytes, 0, { 0 }, true, write, combine };
	int64_t n = product(x->before.dims, 0, x->before.n) * x->nb, whole = run.bytes;

	for (int d = x->after.n - 1; d >= 0; d--) {
		run.dense[d] = whole;
		if (x->after.dims[d] != 1 && x->after.strides[d] != whole)
			run.plain = false;
		whole *= x->after.dims[d];
	}
	run.block = whole;
	if (n == 0 || whole == 0)
		return;
	/* Two positions may be the same element, so writes do not run in parallel. */
	if (write)
		index_range(&run, 0, n);
	else
		rt_parallel(cx, n, 1 + 65536 / whole, index_range, &run);
}

/* Computes the strides of the result. They are those of an elementwise operator on the indices and on self without its
 * indexed dims. */
static int
lay_out(RtCx *cx, RtTensor *self, const Indexing *x, Geom *result)
{
	const int64_t bytes = rt_dtypes[self->dtype].bytes;
	const int first = x->before.n, end = first + x->index.n;
	RtTensor *operand[1 + RT_MAX_RANK] = { NULL };

	for (int i = 0; i < result->n; i++)
		result->strides[i] = (i < first ? x->before.strides[i] : i < end ? 0 :
				      x->after.strides[i - end]) / bytes;
	result->offset = 0;
	operand[0] = rt_temp(cx, geom_over(cx, self, (RtDtype)self->dtype, result));
	for (int k = 0; k < x->n && operand[k]; k++) {
		const RtTensor *t = x->at[k];
		Geom g = { .n = result->n };

		for (int i = 0; i < g.n; i++) {
			const int d = i < end ? i - (end - t->ndim) : -1;

			g.dims[i] = d < 0 ? 1 : t->dims[d];
			g.strides[i] = d < 0 ? 0 : t->strides[d];
		}
		operand[k + 1] = rt_temp(cx, geom_over(cx, t, RT_i64, &g));
	}
	if (!operand[x->n])
		return RT_ERROR;
	rt_result_strides(result->n, result->dims, 1 + x->n, operand, result->strides);
	return RT_OK;
}

int
rt_index_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *r, *to;
	Indexing x;
	Geom result;
	int status = indexing(cx, self, in[1].u.list, &x, &result);

	if (status || (status = lay_out(cx, self, &x, &result)))
		return status;
	r = rt_result(cx, 0, (RtDtype)self->dtype, result.n, result.dims, result.strides);
	RT_RESULT(cx, r, out[0]);
	if (!rt_numel(r))
		return RT_OK;
	to = rt_is_contiguous(r) ? r : temp_new(cx, (RtDtype)self->dtype, result.n, result.dims);
	if (!to)
		return RT_ERROR;
	index_run(cx, &x, self, rt_data(to), false, NULL);
	return to == r ? RT_OK : rt_copy_into(cx, r, to);
}

KERNEL(index_Tensor_hacked_twin, rt_index_Tensor(cx, in, out))

/* Whether this is a fill with one value at one mask, which is ATen's masked_fill_. */
static bool
is_fill(const IValue *in)
{
	const RtList *at = in[1].u.list;
	int n = 0;
	bool masks = true;

	for (int64_t i = 0; i < at->n; i++)
		if (at->v[i].tag == RT_TENSOR) {
			masks &= at->v[i].u.t->dtype == RT_b8 || at->v[i].u.t->dtype == RT_u8;
			n++;
		}
	return n == 1 && masks && !in[3].u.i && rt_numel(in[2].u.t) == 1;
}

/* Raises an error if self is written in place and overlaps the values or the indices. */
static int
check_put(RtCx *cx, const IValue *in, const RtTensor *self)
{
	const RtList *at = in[1].u.list;

	if (self != in[0].u.t || at->n > self->ndim)
		return RT_OK;
	if (!is_fill(in) && rt_check_apart(cx, self, in[2].u.t))
		return RT_ERROR;
	for (int64_t i = 0; i < at->n; i++)
		if (at->v[i].tag == RT_TENSOR && rt_check_apart(cx, self, at->v[i].u.t))
			return RT_ERROR;
	return RT_OK;
}

static int
put_values(RtCx *cx, const IValue *in, RtTensor *self)
{
	RtTensor *values = in[2].u.t;
	bool accumulate = in[3].u.i;
	Indexing x;
	Geom result;
	char a[SIZES_TEXT], b[SIZES_TEXT];
	const Combine *add = accumulate ? combine_of(SCATTER_ADD, self->dtype) : NULL;
	Combined w;
	int status;

	if (check_put(cx, in, self) ||
	    (rt_category((RtDtype)self->dtype) == 'U' && rt_not_stored_only(cx, "index_put", (RtDtype)self->dtype)))
		return RT_ERROR;
	if (self->quant && self->quant->scales)
		return rt_lacks(cx, "index_put into tensors quantized per channel");
	if (self->quant && !values->quant && !(values = rt_quantized->as(cx, in[2], self)))
		return RT_ERROR;
	if (self->dtype != values->dtype)
		return rt_raise(cx, "Index put requires the source and destination dtypes match, got %s for the "
			"destination and %s for the source.", rt_dtypes[self->dtype].brief,
			rt_dtypes[values->dtype].brief);
	if (accumulate && !add)
		return rt_lacks(cx, "index_put with accumulate on %s", rt_dtypes[self->dtype].torch);
	if (combined_begin(cx, &w, accumulate ? SCATTER_ADD : SCATTER_SET, self, values))
		return RT_ERROR;
	if ((status = indexing(cx, w.dst, in[1].u.list, &x, &result)))
		return status;
	values = expanded(cx, w.src, result.n, result.dims);
	if (!values)
		return rt_raise(cx, "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result "
			"of shape %s", sizes_text(a, in[2].u.t->ndim, in[2].u.t->dims),
			sizes_text(b, result.n, result.dims));
	if (!cx->meta && rt_numel(values))
		index_run(cx, &x, w.dst, rt_data(values), true, add);
	return combined_end(cx, &w);
}

BOTH_FORMS(index_put, index_put_, true, put_values)
BOTH_FORMS(index_put_hacked_twin, index_put__hacked_twin, true, put_values)
BOTH_FORMS(_index_put_impl, _index_put_impl_, true, put_values)

KERNEL(_index_put_impl__hacked_twin, rt__index_put_impl_(cx, in, out))
