/* rt/ops/lane.c - runs a function on all lanes of a tensor along one dim */

#include "lane.h"

RT_FAST

typedef struct Walk {
	const Lanes *lanes;
	int     n;    /* number of dims except the lane's, which are ordered innermost first */
	int64_t dims[RT_MAX_RANK], stride[3][RT_MAX_RANK];    /* strides in bytes of the input and of the results */
	int64_t step[3];                              /* strides in bytes along the lane */
	int64_t length;
	char   *room;                                 /* buffers of one part */
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

	*w = (Walk){ .lanes = l, .length = in->ndim ? in->dims[l->dim] : 1 };
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
run_lanes(void *arg, int64_t begin, int64_t end)
{
	Walk *w = arg;
	const Lanes *l = w->lanes;
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
		rt_cast_strided(x, (RtRun){ l->as, size },
				rt_data(l->in) + p[0], (RtRun){ (RtDtype)l->in->dtype, w->step[0] }, w->length);
		l->fn(l->arg, w->length, x, place);
		for (int k = 0; k < l->nout; k++)
			rt_cast_strided(rt_data(l->out[k]) + p[k + 1],
					(RtRun){ (RtDtype)l->out[k]->dtype, w->step[k + 1] }, r[k],
					(RtRun){ l->as_out[k], rt_dtypes[l->as_out[k]].bytes }, l->n_out[k]);
	}
	rt_mem_back(x);
}

enum { SIDE = 64 };                      /* largest number of lanes that are computed together */

/* Computes blocks [begin, end) of at most SIDE adjacent lanes. */
static void
run_side(void *arg, int64_t begin, int64_t end)
{
	_Alignas(64) char x[SIDE * sizeof(double)], state[SIDE * sizeof(double)];
	const Walk *w = arg;
	const Lanes *l = w->lanes;
	const RtDtype from = (RtDtype)l->in->dtype, to = (RtDtype)l->out[0]->dtype;
	const int64_t per = (w->dims[0] + SIDE - 1) / SIDE, size = rt_dtypes[l->as].bytes;

	for (int64_t b = begin; b < end; b++) {
		const int64_t first = b % per * SIDE, n = w->dims[0] - first < SIDE ? w->dims[0] - first : SIDE;
		int64_t p[2] = { first * w->stride[0][0], first * w->stride[1][0] }, left = b / per;

		for (int d = 1; d < w->n; left /= w->dims[d++])
			for (int k = 0; k < 2; k++)
				p[k] += left % w->dims[d] * w->stride[k][d];
		for (int64_t i = 0; i < w->length; i++, p[0] += w->step[0], p[1] += w->step[1]) {
			rt_cast_strided(x, (RtRun){ l->as, size },
					rt_data(l->in) + p[0], (RtRun){ from, w->stride[0][0] }, n);
			l->row(n, x, state, i == 0);
			rt_cast_strided(rt_data(l->out[0]) + p[1], (RtRun){ to, w->stride[1][0] },
					x, (RtRun){ l->as, size }, n);
		}
	}
}

/* Whether lanes are adjacent in the input and in the result. */
static bool
goes_side_by_side(const Walk *w)
{
	const Lanes *l = w->lanes;

	return l->row && w->n && w->dims[0] > 1 && w->stride[0][0] == rt_dtypes[l->in->dtype].bytes &&
	       w->stride[1][0] == rt_dtypes[l->out[0]->dtype].bytes;
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
	if (goes_side_by_side(&w)) {
		rt_parallel(cx, count / w.dims[0] * ((w.dims[0] + SIDE - 1) / SIDE), 1 + grain / SIDE, run_side, &w);
		return RT_OK;
	}
	rt_parallel(cx, count, grain ? grain : 1, run_lanes, &w);
	return w.failed ? rt_raise(cx, "out of memory") : RT_OK;
}
