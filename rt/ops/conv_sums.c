/* rt/ops/conv_sums.c - the orders of conv_sums.h: which of oneDNN's kernels PyTorch would call, and how that divides its work
 *
 * Those for AVX-512, with the caches of a server: 32 KB, and ways of 64 KB of the second.
 */
#include "conv_sums.h"

enum { LANES = 16, CACHE = 16384, WAYS = 7 };      /* floats: of a vector; of a way of the second cache; ways */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Pixels of a register block of the 1 x 1 kernel. */
static int64_t
pixels_of(int64_t most, int64_t fewest, int64_t rows, int64_t all)
{
	int64_t best = least(most, all), tail = all % most;

	for (int64_t i = most; i >= fewest; i--)
		if ((rows >= 14 ? rows : all) % i == 0)
			return i;
	for (int64_t i = most; i >= fewest; i--)
		if (all % i > tail || all % i == 0) {
			best = i;
			tail = all % i;
			if (!tail)
				break;
		}
	return best;
}

/* Channels of a run of a 1 x 1 convolution: fewer where pixels and channels would meet in the same sets of the cache. */
static int64_t
run_of(int64_t ic, int64_t oc, int64_t rows, int64_t all)
{
	const bool middle = oc <= 256 && rows > 10 && rows < 28, tight = oc > 128 && oc < 256 && rows > 10 && rows < 28;
	const int64_t pixels = tight ? pixels_of(6, 5, rows, all) : pixels_of(9, 6, rows, all), step = CACHE / LANES;
	int64_t run = least(ic, middle ? 80 : rows > 10 ? 512 : 256);

	if (all * run <= (int64_t)CACHE * WAYS)
		return run;
	for (int64_t first = 0, end = all * (run / LANES); first < pixels; first++)
		for (int64_t at = first, hits = 0; at < end; at += step) {
			if (at % all >= pixels || ++hits < WAYS)
				continue;
			at = (at + step) / all;
			run = least(run, LANES * (at > 1 ? at : 1));
			break;
		}
	return run;
}

ConvSums
rt_conv_sums(const ConvShape *c)
{
	const int64_t taps = c->k[0] * c->k[1] * c->k[2], ic = c->ic, oc = c->oc;
	const ConvSums product = { 1, 0, false };
	const bool small = c->groups == 1 && (c->k[1] <= 3 || c->k[2] <= 3) && c->n == 1 && ic * c->in[1] * c->in[c->nd < 3 ? 2 : 0] <= 20480;
	int64_t lanes = LANES;
	bool outside = false, pads = false;

	for (int i = 0; i < 3; i++) {
		const int64_t reach = c->d[i] * (c->k[i] - 1) + 1, after = (c->out[i] - 1) * c->s[i] + reach - c->in[i] - c->p[i];

		outside |= reach <= c->p[i] || reach <= after;
		pads |= c->p[i] || after > 0;
	}
	if (small || outside)
		return product;
	while (c->groups > 1 && lanes > 2 && (ic % lanes || oc % lanes))
		lanes /= 2;
	if (lanes < 4)
		return product;
	if (c->groups == 1 && taps == 1 && !pads)
		return (ConvSums){ ic, run_of((ic + 15) / 16 * 16, (oc + 15) / 16 * 16, c->out[0] * c->out[1], c->out[0] * c->out[1] * c->out[2]), true };
	lanes = least(lanes, ic);
	return (ConvSums){ lanes, lanes * taps, false };
}
