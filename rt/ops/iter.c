/* rt/ops/iter.c - the element iterator: presents operands of any dtype and strides as blocks of a few compute types
 *
 * Dims are sorted by the strides of the first operand and coalesced. Elements are numbered in that order. A part (a
 * range of numbers) is processed in blocks of at most RT_BLOCK elements. Each input's block is gathered and cast to a
 * buffer, the block function runs on plain arrays, and each output's buffer is cast and scattered. A contiguous operand
 * of the compute type is used in place. An operand with all strides 0 fills its buffer once. If rows (along the
 * innermost dim) are long and some operand must be gathered, blocks end at the ends of rows. Then operands with
 * contiguous rows are used in place, too. */
#include "kernel.h"

enum { GRAIN = 32768, ELEM_MAX = 16, ROW = RT_BLOCK / 8 };

/* Whether dim i is inside dim j. The first operand with different strides decides. If there is none, the order is
 * kept. */
static bool
is_inside(const RtIter *it, int i, int j)
{
	for (int k = 0; k < it->n; k++) {
		int64_t a = it->op[k].stride[i], b = it->op[k].stride[j];
		if (a == 0 || b == 0 || a == b)
			continue;
		return a < b;
	}
	return false;
}

static void
swap_dims(RtIter *it, int i, int j)
{
	int64_t d = it->dims[i];

	it->dims[i] = it->dims[j], it->dims[j] = d;
	for (int k = 0; k < it->n; k++) {
		int64_t *s = it->op[k].stride, x = s[i];
		s[i] = s[j], s[j] = x;
	}
}

static void
sort_dims(RtIter *it)
{
	for (int i = 1; i < it->ndim; i++)
		for (int j = i; j > 0 && is_inside(it, j, j - 1); j--)
			swap_dims(it, j, j - 1);
}

/* Whether dim i can be merged into dim o for every operand. */
static bool
continues(const RtIter *it, int o, int i)
{
	for (int k = 0; k < it->n; k++)
		if (it->op[k].stride[i] != it->op[k].stride[o] * it->dims[o])
			return false;
	return true;
}

static void
coalesce(RtIter *it)
{
	int o = 0;

	for (int i = 1; i < it->ndim; i++) {
		if (it->dims[i] == 1)
			continue;
		if (it->dims[o] != 1 && continues(it, o, i)) {
			it->dims[o] *= it->dims[i];
			continue;
		}
		if (it->dims[o] != 1)
			o++;
		swap_dims(it, o, i);
	}
	it->ndim = o + 1;
}

static void
set_operand(RtIter *it, RtOperand *o, const RtTensor *t, RtDtype as, RtDtype via)
{
	o->as = as;
	o->via = via;
	o->dtype = t ? (RtDtype)t->dtype : as;
	o->data = t ? rt_data(t) : 0;
	for (int i = 0; i < it->ndim; i++) {
		int d = t ? t->ndim - 1 - i : -1;
		o->stride[i] = d >= 0 && t->dims[d] != 1 ? t->strides[d] * rt_dtypes[t->dtype].bytes : 0;
	}
}

void
rt_iter_init(RtIter *it, int n, int nout, RtTensor *const *operand, const RtDtype *as, const RtDtype *via)
{
	const RtTensor *r = operand[0];
	int nd = r->ndim;

	it->n = n;
	it->nout = nout;
	it->ndim = nd ? nd : 1;
	it->numel = rt_numel(r);
	it->dims[0] = 1;
	for (int i = 0; i < nd; i++)
		it->dims[i] = r->dims[nd - 1 - i];
	for (int k = 0; k < n; k++)
		set_operand(it, &it->op[k], operand[k], as[k], via ? via[k] : as[k]);
	sort_dims(it);
	coalesce(it);
}

/* ---- one operand's part of a block -------------------------------------------------------------- */

RT_FAST

/* Elements [at, at + n) of an operand, as an array of type `as`. */
typedef struct Part { RtDtype as; char *array; int64_t at, n; } Part;

/* Casts between the operand's memory and the array, one run of the innermost dim at a time. */
static void
move_part(const RtIter *it, const RtOperand *o, Part part, bool store)
{
	const RtDtype as = part.as;
	int64_t index[RT_MAX_RANK], left = part.at, n = part.n;
	char *p = o->data, *block = part.array;
	int bytes = rt_dtypes[as].bytes;

	for (int d = 0; d < it->ndim; d++) {
		index[d] = left % it->dims[d];
		left /= it->dims[d];
		p += index[d] * o->stride[d];
	}
	while (n > 0) {
		int64_t run = it->dims[0] - index[0] < n ? it->dims[0] - index[0] : n;
		if (store)
			rt_cast_strided(p, (RtRun){ o->dtype, o->stride[0] }, block, (RtRun){ as, bytes }, run);
		else
			rt_cast_strided(block, (RtRun){ as, bytes }, p, (RtRun){ o->dtype, o->stride[0] }, run);
		block += run * bytes;
		n -= run;
		p -= index[0] * o->stride[0];
		index[0] = 0;
		for (int d = 1; d < it->ndim; d++) {
			p += o->stride[d];
			if (++index[d] < it->dims[d])
				break;
			p -= index[d] * o->stride[d];
			index[d] = 0;
		}
	}
}

static void
load_block(const RtIter *it, const RtOperand *o, char *block, int64_t at, int64_t n)
{
	_Alignas(16) char first[RT_BLOCK * ELEM_MAX];

	if (o->via == o->dtype || o->via == o->as) {
		move_part(it, o, (Part){ o->as, block, at, n }, false);
		return;
	}
	move_part(it, o, (Part){ o->via, first, at, n }, false);
	rt_cast(o->as, block, o->via, first, n);
}

/* ---- a part --------------------------------------------------------------------------------------- */

enum { MOVED, IN_PLACE, CONSTANT };

typedef struct Run {
	const RtIter *it;
	RtBlockFn    *fn;
	void         *arg;
} Run;

/* Whether the elements are contiguous in the iterator's order. */
static bool
lies_in_order(const RtIter *it, const RtOperand *o)
{
	int64_t bytes = rt_dtypes[o->dtype].bytes;

	for (int d = 0; d < it->ndim; bytes *= it->dims[d++])
		if (o->stride[d] != bytes)
			return false;
	return it->ndim > 0;
}

static int
operand_kind(const RtIter *it, const RtOperand *o, bool input)
{
	bool moves = !input;

	for (int d = 0; d < it->ndim; d++)
		moves |= o->stride[d] != 0;
	if (!moves)
		return CONSTANT;
	return o->dtype == o->as && (!input || o->via == o->as) && lies_in_order(it, o) ? IN_PLACE : MOVED;
}

RT_SMALL

/* State of an operand in run_rows: current address and buffer. If `same` is not null, the buffer has `filled` copies of
 * the element at that address. */
typedef struct RowOperand {
	const RtOperand *operand;
	char       *p, *buffer, *same;
	int64_t     filled;
	bool        there;       /* whether rows are contiguous and of the compute type */
} RowOperand;

static void
load_row(RowOperand *r, int64_t n)
{
	const RtOperand *o = r->operand;
	const RtRun from = { o->dtype, o->stride[0] };
	const RtDtype to = o->via == o->dtype ? o->as : o->via;
	_Alignas(16) char first[RT_BLOCK * ELEM_MAX];

	if (!from.step && r->same == r->p && n <= r->filled)
		return;
	r->same = from.step ? NULL : r->p;
	r->filled = n;
	rt_cast_strided(to == o->as ? r->buffer : first, (RtRun){ to, rt_dtypes[to].bytes }, r->p, from, n);
	if (to != o->as)
		rt_cast(o->as, r->buffer, to, first, n);
}

/* Does the same as iterate_part in blocks of rows. */
static void
run_rows(const Run *run, int64_t begin, int64_t end)
{
	_Alignas(64) char buffer[RT_ITER_MAX][RT_BLOCK * ELEM_MAX];
	const RtIter *it = run->it;
	int64_t index[RT_MAX_RANK], n;
	RowOperand row[RT_ITER_MAX];
	void *x[RT_ITER_MAX] = { 0 };            /* null for a missing operand, which map.c tests */

	for (int k = 0; k < it->n; k++) {
		const RtOperand *o = &it->op[k];
		int64_t left = begin;

		row[k] = (RowOperand){ .operand = o, .p = o->data, .buffer = buffer[k], .there = o->dtype == o->as &&
			(k < it->nout || o->via == o->as) && o->stride[0] == rt_dtypes[o->as].bytes };
		for (int d = 0; d < it->ndim; left /= it->dims[d++]) {
			index[d] = left % it->dims[d];
			row[k].p += index[d] * o->stride[d];
		}
	}
	for (int64_t at = begin; at < end; at += n) {
		n = it->dims[0] - index[0] < end - at ? it->dims[0] - index[0] : end - at;
		n = n < RT_BLOCK ? n : RT_BLOCK;
		for (int k = 0; k < it->n; k++) {
			if (!row[k].there && k >= it->nout)
				load_row(&row[k], n);
			x[k] = row[k].there ? row[k].p : row[k].buffer;
		}
		run->fn(run->arg, n, x);
		for (int k = 0; k < it->n; k++) {
			const RtOperand *o = row[k].operand;

			if (!row[k].there && k < it->nout)
				rt_cast_strided(row[k].p, (RtRun){ o->dtype, o->stride[0] }, row[k].buffer,
					(RtRun){ o->as, rt_dtypes[o->as].bytes }, n);
			row[k].p += n * o->stride[0];
		}
		index[0] += n;
		for (int d = 0; d + 1 < it->ndim && index[d] == it->dims[d]; index[d++] = 0) {
			for (int k = 0; k < it->n; k++)
				row[k].p += row[k].operand->stride[d + 1] - it->dims[d] * row[k].operand->stride[d];
			index[d + 1]++;
		}
	}
}

RT_FAST

static void
iterate_part(void *arg, int64_t begin, int64_t end)
{
	_Alignas(64) char buffer[RT_ITER_MAX][RT_BLOCK * ELEM_MAX];
	const Run *run = arg;
	const RtIter *it = run->it;
	int kind[RT_ITER_MAX];
	void *x[RT_ITER_MAX] = { 0 };
	bool moved = false;

	for (int k = 0; k < it->n; k++) {
		kind[k] = operand_kind(it, &it->op[k], k >= it->nout);
		moved |= kind[k] == MOVED;
	}
	if (moved && it->ndim > 1 && it->dims[0] >= ROW) {
		run_rows(run, begin, end);
		return;
	}
	for (int k = 0; k < it->n; k++) {
		x[k] = buffer[k];
		if (kind[k] == CONSTANT)
			load_block(it, &it->op[k], buffer[k], begin, end - begin < RT_BLOCK ? end - begin : RT_BLOCK);
	}
	for (int64_t at = begin; at < end; at += RT_BLOCK) {
		int64_t n = end - at < RT_BLOCK ? end - at : RT_BLOCK;
		for (int k = 0; k < it->n; k++)
			if (kind[k] == IN_PLACE)
				x[k] = it->op[k].data + at * rt_dtypes[it->op[k].as].bytes;
			else if (kind[k] == MOVED && k >= it->nout)
				load_block(it, &it->op[k], buffer[k], at, n);
		run->fn(run->arg, n, x);
		for (int k = 0; k < it->nout; k++)
			if (kind[k] == MOVED)
				move_part(it, &it->op[k], (Part){ it->op[k].as, buffer[k], at, n }, true);
	}
}

RT_SMALL

void
rt_iter_run(RtCx *cx, const RtIter *it, RtBlockFn *fn, void *arg)
{
	Run run = { it, fn, arg };

	if (it->numel > 0)
		rt_parallel(cx, it->numel, GRAIN, iterate_part, &run);
}
