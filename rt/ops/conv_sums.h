/* rt/ops/conv_sums.h - in which order a convolution adds up its products
 *
 * A sum of floats depends on its order, and deep networks magnify what it changes, so the order is chosen to be PyTorch's:
 * its convolutions on CPUs are oneDNN's, whose kernels for AVX-512 (2.6 to 3.13, the same) have it in these forms.  Measured:
 * results equal PyTorch's to the last bit.
 *
 *   1 x 1      runs of channels, the first of which begins with the bias
 *   direct     runs of 16 channels, of each all taps; the bias joins after the first run
 *   product    im2col: channel after channel, all taps of each, in blocks, and runs of those; then the bias
 *   transposed of 3.13, where no output has two taps: one run
 */
#ifndef RT_OPS_CONV_SUMS_H
#define RT_OPS_CONV_SUMS_H

#include "gemm.h"

struct ConvShape {
	uint8_t torch;                   /* an RtTorch */
	RtHost  host;
	bool    transposed;              /* the adjoint of the convolution of this shape */
	int     nd;                      /* 1, 2 or 3; dims that are not there are leading ones */
	int64_t n, ic, oc, groups;       /* ic, oc: channels of a group */
	const int64_t *in, *out, *k, *s, *p, *d;         /* three each; d: 1 where taps are side by side */
};

struct ConvSums {
	int64_t block;                   /* channels whose taps follow one another: [ic / block][taps][block] */
	int64_t run;                     /* products of one sum; these are added up; 0: as gemm has it */
	int64_t within;                  /* products after which runs begin anew; more than one run and less than two are halves; 0: never */
	bool    chained;                 /* does the first sum begin with the bias? */
};

struct RtTorchSums {
	ConvSums (*conv)(const ConvShape *);
	/* c += a b, of floats, by blocks of `within` products; then each row's bias, if there is one */
	int (*add_blocks)(RtCx *, const Product *, int64_t within, const float *bias);
	Tile *(*tile)(int bytes);        /* of as many rows as RtTiles' of such vectors: of products that are rounded */
};

Tile *blas_tile(int bytes);              /* blas.c */

#endif
