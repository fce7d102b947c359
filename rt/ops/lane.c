/* rt/ops/lane.c - walks the lanes of a tensor along one dim */

#include "lane.h"

RT_FAST

typedef struct Walk {
	const Lanes *l;
	int     n;                                    /* dims but for the lane's, innermost first */
	int64_t dims[RT_MAX_RANK], stride[3][RT_MAX_RANK];    /* in bytes; of the input and the results */
	int64_t step[3];                              /* along the lane */
	int64_t length;
	char   *room;                                 /* for one part */
	bool    failed;
} Walk;

static const RtTensor *
side(const Lanes *l, int k)
{
	return k ? l->out[k - 1] : l->in;
}

static void
walk_init(Walk *w, const Lanes *l)
{
	const RtTensor *in = l->in;

	*w = (Walk){ .l = l, .length = in->ndim ? in->dims[l->dim] : 1 };
	for (int d = in->ndim - 1; d >= 0; d--)
		if (d != l->dim)
			w->dims[w->n++] = in->dims[d];
	for (int k = 0; k <= l->nout; k++) {
		const RtTensor *t = side(l, k);
		int bytes = rt_dtypes[t->dtype].bytes, n = 0;
		bool gone = t->ndim < in->ndim;
		w->step[k] = gone || !t->ndim ? 0 : t->strides[l->dim] * bytes;
		for (int d = in->ndim - 1; d >= 0; d--)
			if (d != l->dim)
				w->stride[k][n++] = t->strides[gone && d > l->dim ? d - 1 : d] * bytes;
	}
}

static void
run_part(void *arg, int64_t begin, int64_t end)
{
	Walk *w = arg;
	const Lanes *l = w->l;
	int64_t size = rt_dtypes[l->as].bytes, n = w->length ? w->length : 1;
	char *x = rt_mem(n * (size + 32)), *r[2];
	void *place[2];

	if (!x) {
		w->failed = true;
		return;
	}
	r[0] = x + n * size;
	r[1] = r[0] + n * 16;
	place[0] = r[0], place[1] = r[1];
	for (int64_t at = begin; at < end; at++) {
		int64_t p[3] = { 0 }, left = at;
		for (int d = 0; d < w->n; d++) {
			int64_t i = left % w->dims[d];
			left /= w->dims[d];
			for (int k = 0; k <= l->nout; k++)
				p[k] += i * w->stride[k][d];
		}
		rt_cast(l->as, x, size, (RtDtype)l->in->dtype, rt_data(l->in) + p[0], w->step[0], w->length);
		l->fn(l->arg, w->length, x, place);
		for (int k = 0; k < l->nout; k++)
			rt_cast((RtDtype)l->out[k]->dtype, rt_data(l->out[k]) + p[k + 1], w->step[k + 1], l->as_out[k],
				r[k], rt_dtypes[l->as_out[k]].bytes, l->n_out[k]);
	}
	rt_mem_back(x);
}

int
lanes_run(RtCx *cx, const Lanes *l)
{
	Walk w;
	int64_t count = 1, grain;

	walk_init(&w, l);
	for (int d = 0; d < w.n; d++)
		count *= w.dims[d];
	if (!count)
		return RT_OK;
	grain = 16384 / (w.length ? w.length : 1);
	rt_parallel(cx, count, grain ? grain : 1, run_part, &w);
	return w.failed ? rt_raise(cx, "out of memory") : RT_OK;
}
