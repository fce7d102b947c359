/* rt/ops/pool.h - geometry of pooling: pool_sizes.c reads and checks it, pool.c computes
 *
 * Each call makes a table of windows for each dim: bounds lo and hi, and the count by which averages are divided. There
 * are always three dims. Missing dims are leading dims of size 1. */
#ifndef RT_OPS_POOL_H
#define RT_OPS_POOL_H

#include "dense.h"

/* n consecutive results of a row, from `first` on, whose windows have the same size and are s columns apart. */
typedef struct Run { int64_t first, n, s; } Run;

typedef struct Pool {
	const char *op;
	int      nd;
	const RtTensor *self;
	int64_t  planes, channels, in[3], out[3], in_plane, out_plane;
	int64_t  k[3], s[3], p[3], d[3];
	int64_t *lo[3], *hi[3], *count[3];   /* (out[i]) bounds and counts of windows */
	int64_t  divisor;                    /* divisor_override; 0 for the product of the counts */
	bool     apart;                      /* whether averages are divided by each dim's count in turn */
	bool     add;                        /* whether scatter_planes adds to its result */
	bool     last;                       /* whether x, y and index have the channels last */
	Run      run;                        /* set by pool.c; n is 0 if there is no run */
	void    *x, *y;                      /* (planes, in...), (planes, out...) */
	int64_t *index;                      /* (planes, out...) index in the flattened plane; null if not needed */
} Pool;

/* Arguments of a call besides its input. An empty stride stands for the kernel's size. */
typedef struct PoolCall { IValue kernel, stride, padding, dilation, divisor; bool ceil_mode, count_pad; } PoolCall;

/* pool_input reads the sizes of self without checks. The other functions add the windows, with all of PyTorch's
 * checks. */
Pool pool_input(const char *op, const RtTensor *self, int nd);
typedef int PoolCheck(RtCx *, Pool *, const PoolCall *);
PoolCheck pool_max, pool_max_line, pool_average;              /* pool_max_line: for max_pool1d without indices */
int pool_adaptive_max(RtCx *, Pool *, IValue size);
int pool_adaptive_average(RtCx *, Pool *, IValue size);

/* Functions for gradients and others. pool_plain checks that self has one or two dims besides the nd, and a dtype of
 * one of these kinds. The others make the tables of windows for a given `out`. */
int pool_plain(RtCx *, const Pool *, const char *kinds);
int pool_tables(RtCx *, Pool *);
int pool_adaptive_tables(RtCx *, Pool *);

#endif
