/* rt/ops/median.c - the k-th value, medians and modes along a dim
 *
 * A lane's values are sorted with their indices (NaN last). The indices that kthvalue and mode return for equal values
 * depend on PyTorch's quickselect and sort, so the same algorithms are used here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "lane.h"

RT_FAST

typedef struct Ranked { double f; int64_t i, at; } Ranked;

static int
compare(const void *a, const void *b)
{
	const Ranked *x = a, *y = b;
	bool xn = x->f != x->f, yn = y->f != y->f;

	if (xn || yn)
		return xn == yn ? (x->at > y->at) - (x->at < y->at) : xn ? 1 : -1;
	if (x->f != y->f)
		return x->f < y->f ? -1 : 1;
	if (x->i != y->i)
		return x->i < y->i ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

enum { KTH, MEDIAN, NANMEDIAN, MODE };

typedef struct Pick { const char *name; int kind; int64_t k; bool floating, failed; } Pick;

/* Sorts v in the order of PyTorch's unstable sort of the values. Returns false if memory is exhausted. */
static bool
sort_values(const Pick *p, Ranked *v, int64_t n)
{
	int64_t *key = rt_mem(n * 3 * (int64_t)sizeof *key);
	Ranked *copy = rt_mem(n * (int64_t)sizeof *copy);
	bool ok = key && copy;

	for (int64_t i = 0; ok && i < n; i++)
		key[i] = p->floating ? key_of_double(v[i].f) : v[i].i;
	if (ok) {
		rt_sort_unstably(key, n, key + n, key + 2 * n);
		memcpy(copy, v, (size_t)n * sizeof *v);
		for (int64_t i = 0; i < n; i++)
			v[i] = copy[key[n + i]];
	}
	rt_mem_back(key);
	rt_mem_back(copy);
	return ok;
}

/* Returns the position of the most frequent value. If there are several, of the least one. Its index is the last one of
 * its run. */
static int64_t
mode_of(const Ranked *v, int64_t n)
{
	int64_t best = 0, most = 0;

	for (int64_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && v[j].f == v[i].f && v[j].i == v[i].i; j++)
			;
		if (j - i > most)
			most = j - i, best = j - 1;
	}
	return best;
}

static int64_t
pick(const Pick *p, const Ranked *v, int64_t n)
{
	int64_t valid = n;

	while (valid > 0 && v[valid - 1].f != v[valid - 1].f)
		valid--;
	switch (p->kind) {
	case KTH:    return p->k - 1;
	case MEDIAN: return valid < n ? valid : (n - 1) / 2;
	case MODE:   return mode_of(v, n);
	default:     return valid ? (valid - 1) / 2 : 0;
	}
}

/* Whether x comes after y. */
static bool
behind(const Ranked *x, const Ranked *y)
{
	bool xn = x->f != x->f, yn = y->f != y->f;

	return xn || yn ? xn && !yn : x->f != y->f ? x->f > y->f : x->i > y->i;
}

static void
swap(Ranked *x, Ranked *y)
{
	Ranked t = *x;

	*x = *y;
	*y = t;
}

static void
order(Ranked *x, Ranked *y)
{
	if (behind(x, y))
		swap(x, y);
}

/* Hoare's quickselect. The pivot is the median of three, which is moved to `left`. Afterwards v[k] is the k-th
 * value. */
static void
quickselect(Ranked *v, int64_t n, int64_t k)
{
	int64_t left = 0, right = n - 1;

	while (right > left + 1) {
		int64_t i = left + 1, j = right;
		swap(&v[left + (right - left) / 2], &v[left + 1]);
		order(&v[left + 1], &v[right]);
		order(&v[left], &v[right]);
		order(&v[left + 1], &v[left]);
		for (;;) {
			do
				i++;
			while (behind(&v[left], &v[i]));
			do
				j--;
			while (behind(&v[j], &v[left]));
			if (j < i)
				break;
			swap(&v[i], &v[j]);
		}
		swap(&v[left], &v[j]);
		if (j <= k)
			left = i;
		if (j >= k)
			right = j - 1;
	}
	if (right == left + 1)
		order(&v[left], &v[right]);
}

static void
pick_lane(void *arg, int64_t n, const void *x, void *const *r)
{
	Pick *p = arg;
	Ranked *v = rt_mem(n * (int64_t)sizeof *v);
	int64_t k;

	if (!v) {
		p->failed = true;
		return;
	}
	for (int64_t i = 0; i < n; i++)
		v[i] = (Ranked){ p->floating ? ((const double *)x)[i] : 0, p->floating ? 0 : ((const int64_t *)x)[i],
				 i };
	if (p->kind == KTH)
		quickselect(v, n, p->k - 1);
	else if (p->kind == MODE)
		p->failed |= n > 0 && !sort_values(p, v, n);
	else
		qsort(v, (size_t)n, sizeof *v, compare);
	k = pick(p, v, n);
	if (p->floating)
		*(double *)r[0] = v[k].f;
	else
		*(int64_t *)r[0] = v[k].i;
	*(int64_t *)r[1] = v[k].at;
	rt_mem_back(v);
}

typedef struct Along { int dim; bool keepdim; } Along;

/* Selects along one dim. nout is 2 with the indices, 1 without. */
static int
run_selection(RtCx *cx, Pick p, RtTensor *t, Along along, int nout, IValue *out)
{
	const char *name = p.name;
	const int dim = along.dim;
	Lanes l = { .in = t, .dim = dim, .nout = nout, .fn = pick_lane, .arg = &p };
	int64_t dims[RT_MAX_RANK];
	int n = 0;

	if (t->ndim && t->dims[dim] == 0)
		return rt_raise(cx, "%s(): Expected reduction dim %d to have non-zero size.",
			p.kind == NANMEDIAN ? "median" : name, dim);
	if (rt_is_complex((RtDtype)t->dtype) || rt_is_stored_only((RtDtype)t->dtype) ||
	    (p.kind != MODE && t->dtype == RT_b8))
		return rt_raise(cx, "\"%s_%s\" not implemented for '%s'", name, p.kind == KTH ? "cpu" : "out",
			rt_dtypes[t->dtype].brief);
	if (p.kind == KTH && (p.k < 1 || p.k > (t->ndim ? t->dims[dim] : 1)))
		return rt_raise(cx, "%s(): selected number k out of range for dimension %d", name, dim);
	for (int d = 0; d < t->ndim; d++)
		if (d != dim)
			dims[n++] = t->dims[d];
		else if (along.keepdim)
			dims[n++] = 1;
	p.floating = rt_is_floating((RtDtype)t->dtype);
	l.as = l.as_out[0] = p.floating ? RT_f64 : RT_i64;
	l.as_out[1] = RT_i64;
	l.n_out[0] = l.n_out[1] = 1;
	l.out[0] = rt_result(cx, 0, (RtDtype)t->dtype, n, dims, 0);
	RT_PUT(l.out[0], out[0]);
	if (nout == 2) {
		l.out[1] = rt_result(cx, 1, RT_i64, n, dims, 0);
		RT_PUT(l.out[1], out[1]);
	}
	if (cx->meta)
		return RT_OK;
	if (lanes_run(cx, &l))
		return RT_ERROR;
	return p.failed ? rt_raise(cx, "out of memory") : RT_OK;
}

static int
over_dim(RtCx *cx, Pick p, IValue self, IValue dim, IValue keepdim, IValue *out)
{
	int d = rt_dim(cx, rt_integer(dim), self.u.t->ndim);

	return d < 0 ? RT_ERROR : run_selection(cx, p, self.u.t, (Along){ d, keepdim.u.i }, 2, out);
}

KERNEL(kthvalue,
	over_dim(cx, (Pick){ .name = "kthvalue", .kind = KTH, .k = rt_integer(in[1]) }, in[0], in[2], in[3], out))
KERNEL(mode, over_dim(cx, (Pick){ .name = "mode", .kind = MODE }, in[0], in[1], in[2], out))
KERNEL(median_dim, over_dim(cx, (Pick){ .name = "median", .kind = MEDIAN }, in[0], in[1], in[2], out))
KERNEL(nanmedian_dim, over_dim(cx, (Pick){ .name = "nanmedian", .kind = NANMEDIAN }, in[0], in[1], in[2], out))

/* Returns the value for an empty tensor: NaN, or its conversion to the dtype. For shorter integers the conversion has
 * 32 bits. */
static IValue
of_none(RtDtype d)
{
	if (!rt_is_integral(d, true))
		return rt_double((double)NAN);
	return d == RT_b8 ? rt_bool(true) : rt_int(d == RT_i64 ? INT64_MIN : d == RT_i32 ? INT32_MIN : 0);
}

/* Selects among all elements, as one lane. */
static int
of_all(RtCx *cx, const char *name, int kind, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *flat;
	int64_t n = rt_numel(t);

	if (n == 0) {
		RtTensor *r = rt_result(cx, 0, (RtDtype)t->dtype, 0, 0, 0);
		RT_RESULT(cx, r, out[0]);
		return rt_fill(cx, r, of_none((RtDtype)t->dtype));
	}
	if (!(flat = rt_temp(cx, rt_contiguous(cx, t))) ||
	    !(flat = rt_temp(cx, rt_tensor_view(cx, flat, 1, &n, &(int64_t){ 1 }, flat->offset))))
		return RT_ERROR;
	return run_selection(cx, (Pick){ .name = name, .kind = kind }, flat, (Along){ 0, false }, 1, out);
}

KERNEL(median, of_all(cx, "median", MEDIAN, in, out))
KERNEL(nanmedian, of_all(cx, "nanmedian", NANMEDIAN, in, out))
