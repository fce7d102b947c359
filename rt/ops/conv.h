/* rt/ops/conv.h - the geometry of a convolution; private to conv.c and conv_direct.c */
#ifndef RT_OPS_CONV_H
#define RT_OPS_CONV_H

#include "kernel.h"
#include "wide.h"

typedef void Body(void *, int64_t, int64_t);

typedef struct Conv {
	int     nd;            /* number of spatial dims in the call: 1, 2 or 3 */
	int64_t n, cin, cout, groups;
	int64_t in[3], out[3], k[3], s[3], p[3], d[3];   /* p: leading padding; the trailing padding follows from out */
	int64_t taps, in_plane, out_plane;
	Body *const *scatter;  /* scatter_taps; null if the adjoint is not needed, so that programs do not link it */
} Conv;

#ifdef WIDE
/* Adds the convolution of floats x (n, cin, in) by w (cout, cin / groups, k) to y (n, cout, out). */
int conv_direct(RtCx *, const Conv *, const float *x, const float *w, float *y);
#endif

#endif
