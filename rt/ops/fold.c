/* rt/ops/fold.c - the engine of reductions
 *
 * Kept and folded dims are coalesced separately. If folded dims are innermost, results are computed one at a time from
 * blocks of elements. If a kept dim is innermost, up to FOLD_WIDTH adjacent results are computed together, FOLD_ROWS
 * folded elements at a time, so that memory is read in order. Blocks are cast to the compute type, or read in place if
 * they have it. Parts of the result are computed in parallel. */
#include <string.h>

#include "reduce.h"

enum { ELEM_MAX = 16 };

typedef struct Axes {             /* A set of dims, innermost first. */
	int     n;
	int64_t dims[RT_MAX_RANK];
	int64_t stride[RT_MAX_RANK];      /* strides in bytes */
	int64_t count;
} Axes;

typedef struct Job {
	const Reduce *reduce;
	Axes    kept, folded;
	int64_t width;            /* number of adjacent results folded together */
	bool    lying;            /* whether elements need no cast and have runs that are long enough for a call */
	bool    whole;            /* whether Reduce.whole applies: see folds_whole */
} Job;

int
reduce_mask(RtCx *cx, IValue dim, int ndim, bool *mask)
{
	int64_t d[RT_MAX_RANK];
	int n = rt_is_none(dim) ? 0 : rt_ints(cx, dim, d, RT_MAX_RANK);

	memset(mask, 0, RT_MAX_RANK * sizeof *mask);
	if (n < 0)
		return RT_ERROR;
	if (n == 0)
		memset(mask, 1, RT_MAX_RANK * sizeof *mask);
	for (int i = 0; i < n; i++) {
		int k = rt_dim(cx, d[i], ndim);
		if (k < 0)
			return RT_ERROR;
		if (mask[k])
			return rt_raise(cx, "dim %d appears multiple times in the list of dims", k);
		mask[k] = true;
	}
	return RT_OK;
}

RtTensor *
reduce_result(RtCx *cx, int i, const RtTensor *in, const bool *mask, bool keepdim, RtDtype d)
{
	int64_t dims[RT_MAX_RANK];
	int n = 0;

	for (int k = 0; k < in->ndim; k++)
		if (!mask[k])
			dims[n++] = in->dims[k];
		else if (keepdim)
			dims[n++] = 1;
	return rt_result(cx, i, d, n, dims, 0);
}

int
reduce_not_empty(RtCx *cx, const char *name, const RtTensor *in, IValue dim)
{
	int64_t d[RT_MAX_RANK];
	int n = rt_is_none(dim) ? 0 : rt_ints(cx, dim, d, RT_MAX_RANK);

	if (n < 0)
		return RT_ERROR;
	if (rt_numel(in))
		return RT_OK;
	if (n == 0)
		return rt_raise(cx, "%s: Expected reduction dim to be specified for input.numel() == 0.%s", name,
				strncmp(name, "arg", 3) ? " Specify the reduction dim with the 'dim' argument." : "");
	for (int i = 0; i < n; i++) {
		int k = rt_dim(cx, d[i], in->ndim);
		if (k < 0)
			return RT_ERROR;
		if (in->dims[k] == 0)                 /* the message numbers a dim of a list as the caller did */
			return rt_raise(cx, "%s: Expected reduction dim %lld to have non-zero size.", name,
					dim.tag == RT_LIST ? (long long)d[i] : (long long)k);
	}
	return RT_OK;
}

/* ---- dims -------------------------------------------------------------------------------------------- */

static void
axes_take(Axes *a, const RtTensor *t, const bool *mask, bool which)
{
	int bytes = rt_dtypes[t->dtype].bytes;

	a->n = 0;
	a->count = 1;
	for (int k = t->ndim - 1; k >= 0; k--) {
		int64_t s = t->strides[k] * bytes;
		if (mask[k] != which)
			continue;
		a->count *= t->dims[k];
		if (t->dims[k] == 1)
			continue;
		if (a->n && s == a->stride[a->n - 1] * a->dims[a->n - 1]) {
			a->dims[a->n - 1] *= t->dims[k];
			continue;
		}
		a->dims[a->n] = t->dims[k];
		a->stride[a->n++] = s;
	}
	if (a->n == 0) {
		a->dims[0] = 1;
		a->stride[0] = 0;
		a->n = 1;
	}
}

/* Returns the offset of element `at` and sets its index in each dim. */
static int64_t
axes_seek(const Axes *a, int64_t at, int64_t *index)
{
	int64_t p = 0;

	for (int k = 0; k < a->n; k++) {
		index[k] = at % a->dims[k];
		at /= a->dims[k];
		p += index[k] * a->stride[k];
	}
	return p;
}

/* Advances by n elements of the innermost dim, at most to its end. Returns the change of the offset. */
static int64_t
axes_step(const Axes *a, int64_t n, int64_t *index)
{
	int64_t p = n * a->stride[0];

	index[0] += n;
	for (int k = 0; index[k] == a->dims[k] && k + 1 < a->n; k++) {
		p += a->stride[k + 1] - index[k] * a->stride[k];
		index[k] = 0;
		index[k + 1]++;
	}
	return p;
}

/* ---- folding -------------------------------------------------------------------------------------------- */

RT_FAST

/* Folds elements that need no cast, in runs along the innermost folded dim. */
static void
fold_lying(const Job *j, FoldState *s, const char *p, int64_t width)
{
	const Reduce *r = j->reduce;
	const Axes *f = &j->folded;
	const int64_t size = rt_dtypes[r->as].bytes, most = j->width > 1 && r->tile ? FOLD_ROWS : FOLD_BLOCK;
	int64_t index[RT_MAX_RANK] = { 0 };

	for (int64_t at = 0, n; at < f->count; at += n) {
		n = f->dims[0] - index[0];
		if (n > most)
			n = most;
		if (j->width > 1 && r->tile && j->kept.stride[0] == size)
			r->tile(s, width, n, p, f->stride[0] / size);
		else
			for (int64_t k = 0; k < width; k++)
				r->fold(r->arg, &s[k], n, p + k * j->kept.stride[0], f->stride[0] / size, at);
		p += axes_step(f, n, index);
	}
}

static void
fold_rows(const Job *j, FoldState *s, const char *p)
{
	_Alignas(64) char block[FOLD_BLOCK * ELEM_MAX];
	const Reduce *r = j->reduce;
	const Axes *f = &j->folded;
	int64_t index[RT_MAX_RANK] = { 0 }, size = rt_dtypes[r->as].bytes;

	for (int64_t at = 0; at < f->count;) {
		int64_t n = 0;
		while (n < FOLD_BLOCK && at + n < f->count) {
			int64_t run = f->dims[0] - index[0];
			if (run > FOLD_BLOCK - n)
				run = FOLD_BLOCK - n;
			rt_cast_strided(block + n * size, (RtRun){ r->as, size },
					p, (RtRun){ (RtDtype)r->in->dtype, f->stride[0] }, run);
			n += run;
			p += axes_step(f, run, index);
		}
		r->fold(r->arg, s, n, block, 1, at);
		at += n;
	}
}

static void
fold_tile(const Job *j, FoldState *s, const char *p, int64_t width)
{
	_Alignas(64) char block[FOLD_BLOCK * ELEM_MAX];
	const Reduce *r = j->reduce;
	const Axes *f = &j->folded;
	const int64_t size = rt_dtypes[r->as].bytes;
	const int64_t rows = (int64_t)sizeof block / (FOLD_WIDTH * size);             /* the same for any width */
	int64_t index[RT_MAX_RANK] = { 0 };

	for (int64_t at = 0, n; at < f->count; at += n) {
		for (n = 0; n < rows && at + n < f->count; n++) {
			rt_cast_strided(block + n * width * size, (RtRun){ r->as, size },
					p, (RtRun){ (RtDtype)r->in->dtype, j->kept.stride[0] }, width);
			p += axes_step(f, 1, index);
		}
		if (r->tile)
			r->tile(s, width, n, block, width);
		for (int64_t k = 0; k < width && !r->tile; k++)
			r->fold(r->arg, &s[k], n, block + k * size, width, at);
	}
}

static void
store_folded(const Job *j, const FoldState *s, int64_t at, int64_t width)
{
	_Alignas(16) char value[2][FOLD_WIDTH * ELEM_MAX];
	const Reduce *r = j->reduce;

	for (int64_t k = 0; k < width; k++) {
		void *place[2];
		for (int o = 0; o < 2; o++)
			place[o] = value[o] + k * rt_dtypes[r->as_out[o]].bytes;
		r->end(r->arg, &s[k], j->folded.count, place);
	}
	for (int o = 0; o < r->nout; o++) {
		RtDtype d = (RtDtype)r->out[o]->dtype;
		int bytes = rt_dtypes[d].bytes;
		rt_cast(d, rt_data(r->out[o]) + at * bytes, r->as_out[o], value[o], width);
	}
}

/* Folds `width` results from `base` on, at index[] of the kept dims. Returns the address of the next result's
 * elements. */
static const char *
fold_some(const Job *j, FoldState *s, const char *base, int64_t *index, int64_t width)
{
	const int64_t together = j->width > 1 ? width : 1;

	for (int64_t k = 0; k < width; k++)
		s[k] = j->reduce->start;
	for (int64_t k = 0; k < width; k += together) {
		if (j->lying)
			fold_lying(j, s + k, base, together);
		else if (j->width == 1)
			fold_rows(j, s + k, base);
		else
			fold_tile(j, s + k, base, together);
		base += axes_step(&j->kept, together, index);
	}
	return base;
}

static void
fold_part(void *arg, int64_t begin, int64_t end)
{
	const Job *j = arg;
	const char *base = rt_data(j->reduce->in);
	int64_t index[RT_MAX_RANK], width;
	FoldState s[FOLD_WIDTH];

	base += axes_seek(&j->kept, begin, index);
	for (int64_t at = begin; at < end; at += width) {
		width = end - at < FOLD_WIDTH ? end - at : FOLD_WIDTH;
		if ((j->width > 1 || j->whole) && width > j->kept.dims[0] - index[0])
			width = j->kept.dims[0] - index[0];
		if (j->whole) {
			j->reduce->whole((float *)rt_data(j->reduce->out[0]) + at, width, j->folded.count,
					 (const float *)base, j->kept.stride[0] / 4, j->folded.stride[0] / 4);
			base += axes_step(&j->kept, width, index);
			continue;
		}
		base = fold_some(j, s, base, index, width);
		store_folded(j, s, at, width);
	}
}

RT_SMALL

/* Whether Reduce.whole can compute the results. Requires that all elements of a result are in one tile, and that the
 * result needs no cast. */
static bool
folds_whole(const Job *j)
{
	const Axes *side = j->width > 1 ? &j->kept : &j->folded;

	return j->lying && j->folded.n == 1 && j->reduce->out[0]->dtype == j->reduce->as &&
	       side->stride[0] == rt_dtypes[j->reduce->as].bytes &&
	       j->folded.count <= (j->width > 1 ? FOLD_ROWS : FOLD_BLOCK);
}

void
reduce_run(RtCx *cx, const Reduce *r)
{
	Job j = { .reduce = r };
	int64_t grain;

	axes_take(&j.kept, r->in, r->mask, false);
	axes_take(&j.folded, r->in, r->mask, true);
	if (j.kept.count == 0)
		return;
	j.width = j.folded.count > 1 && j.kept.stride[0] && (j.kept.stride[0] < j.folded.stride[0] ||
		j.folded.stride[0] == 0) ? FOLD_WIDTH : 1;
	j.lying = r->in->dtype == r->as && (j.folded.n == 1 || j.folded.dims[0] >= FOLD_RUN);
	j.whole = r->whole && folds_whole(&j);
	grain = 32768 / (j.folded.count ? j.folded.count : 1);
	rt_parallel(cx, j.kept.count, grain ? grain : 1, fold_part, &j);
}
