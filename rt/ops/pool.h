/* rt/ops/pool.h - geometry of pooling: pool_sizes.c reads and checks it, pool.c computes
 *
 * All pooling is a table of windows per dim (lo, hi, what it counts for in an average), made once per call.  There are
 * always three dims: missing ones are leading ones of size 1.
 */
#ifndef RT_OPS_POOL_H
#define RT_OPS_POOL_H

#include "dense.h"

/* Results of a row, from `first` on, whose windows are alike and s columns apart. */
typedef struct Run { int64_t first, n, s; } Run;

typedef struct Pool {
	const char *op;
	int      nd;
	const RtTensor *self;
	int64_t  planes, channels, in[3], out[3], in_plane, out_plane;
	int64_t  k[3], s[3], p[3], d[3];
	int64_t *lo[3], *hi[3], *count[3];   /* (out[i]) */
	int64_t  divisor;                    /* override; 0: the product of the counts */
	bool     apart;                      /* averages are divided by one count after the other */
	bool     add;                        /* scatter_planes accumulates */
	bool     last;                       /* x, y and index have the channels last */
	Run      run;                        /* pool.c; n 0: none */
	void    *x, *y;                      /* (planes, in...), (planes, out...) */
	int64_t *index;                      /* (planes, out...): flat in the plane; or null */
} Pool;

/* What a call has beside its input; stride may be empty, then it is the kernel. */
typedef struct PoolCall { IValue kernel, stride, padding, dilation, divisor; bool ceil_mode, count_pad; } PoolCall;

/* Sizes of self, of which nothing is checked; then its windows, with all of PyTorch's checks. */
Pool pool_input(const char *op, const RtTensor *self, int nd);
typedef int PoolCheck(RtCx *, Pool *, const PoolCall *);
PoolCheck pool_max, pool_max_line, pool_average;              /* max_line: max_pool1d without indices */
int pool_adaptive_max(RtCx *, Pool *, IValue size);
int pool_adaptive_average(RtCx *, Pool *, IValue size);

/* For gradients and others: self has one or two dims beside the nd and is of a dtype of one of these kinds; tables of
 * windows once out is known. */
int pool_plain(RtCx *, const Pool *, const char *kinds);
int pool_tables(RtCx *, Pool *);
int pool_adaptive_tables(RtCx *, Pool *);

#endif
