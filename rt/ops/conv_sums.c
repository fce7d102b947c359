/* rt/ops/conv_sums.c - the orders of conv_sums.h: which of oneDNN's kernels PyTorch would call, and how that divides its work
 *
 * Those for AVX-512, with the caches of a server: ways of 64 KB of the second.
 */
#include "conv_sums.h"

#include <math.h>

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

/* ---- im2col: the product is divided among two threads, and each part into blocks of outputs, pixels and input channels ---- */

enum { THREADS = 2, LANE_PIXELS = 16, FEW_OUTPUTS = 8, PANEL = 48, STRIDED = 8, MISS = 20, GEMM_RUN = 384 };

/* Floats of the second cache: 1.13 does not know those of AMD's processors, and takes 512 KB. */
static int64_t
room_of(const ConvShape *c)
{
	return (c->torch == RT_TORCH_1 && c->host.maker == RT_AMD ? 512 : c->host.cache) * (int64_t)(1024 / sizeof(float));
}

typedef struct Search {
	int64_t ic, oc, taps, step;              /* step: pixels of the input for one of the output */
	int64_t all, plane, room;                /* pixels of the output: of all images, of one; floats of the cache */
	int64_t outputs, pixels, channels;       /* the best block so far */
	double  worth;
} Search;

static int64_t
up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static int64_t
between(int64_t lo, int64_t hi, int64_t v)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* a / b of what it comes near to, were it filled up to multiples of b. */
static double
filled(int64_t a, int64_t b)
{
	return (double)a / (double)(up(a, b) * b);
}

/* How even the work of threads is, by which outputs are divided in `ways`. */
static double
evenness(const Search *s, int64_t ways, int64_t most_outputs, int64_t most_pixels)
{
	const int64_t least = s->oc / ways > 1 ? s->oc / ways : 1, some = up(s->all, up(THREADS, ways)), few = s->all / up(THREADS, ways);
	const int64_t a = most_outputs * some, b = least * most_pixels, c = most_outputs * (few > 1 ? few : 1), d = least * (s->all / (THREADS / ways));
	const int64_t most = s->oc % ways > THREADS % ways ? most_outputs * most_pixels : a > b ? a : b;
	const int64_t fewest = THREADS % ways > s->oc % ways ? least * (few > 1 ? few : 1) : c < d ? c : d;

	return (double)fewest / (double)most;
}

/* Is this block better than the best so far? */
static void
try_block(Search *s, int64_t ways, int64_t outputs, int64_t pixels)
{
	const int64_t mine = up(s->oc, ways), part = up(s->all, THREADS / ways), own = s->plane < part ? s->plane : part, depth = s->ic * s->taps;
	const double even = evenness(s, ways, mine, part);
	int64_t channels, most, k;
	double moved, worth;

	outputs = between(FEW_OUTPUTS, mine, outputs);
	outputs = outputs < mine ? outputs : mine;
	pixels = between(LANE_PIXELS, part, pixels);
	pixels = pixels < own ? pixels : own;
	most = (s->room - outputs * pixels) / ((s->step + s->taps) * pixels + s->taps * mine);
	channels = s->ic / up(s->ic, most > 1 ? most : 1);
	channels = channels > 1 ? channels : 1;
	k = channels * s->taps;
	moved = (double)(mine * up(part, 16) * 16 * (channels == s->ic ? 1 : 2 * up(s->ic, channels) - 1) + mine * up(depth, 16) * 16) +
		(double)(s->taps * s->ic * up(part * s->step, 16) * 16) * (1 + 2 * (s->step != 1 ? STRIDED : 1) / filled(pixels, 16));
	worth = pow(even, 8) * filled(mine, outputs) * filled(own, pixels) * filled(s->ic, channels) * filled(pixels, PANEL) *
		((double)part / 16 * (double)mine * (double)depth / (moved * (most < 1 ? MISS : 1))) *
		sqrt((double)(pixels * outputs * k) / ((double)mine * (double)part * (double)depth)) *
		((double)pixels / 16 * (double)(outputs * k) /
		 (double)(up(pixels, 16) * 16 * k + outputs * up(k, 16) * 16 + outputs * up(pixels, 16) * 16));
	if (worth > s->worth)
		*s = (Search){ s->ic, s->oc, s->taps, s->step, s->all, s->plane, s->room, outputs, pixels, channels, worth };
}

static void
try_around(Search *s, int64_t ways, int64_t outputs, int64_t pixels)
{
	const int64_t more = up(outputs, 8) * 8;

	try_block(s, ways, outputs, pixels);
	try_block(s, ways, outputs / 8 * 8, pixels / PANEL * PANEL);
	try_block(s, ways, more, pixels / PANEL * PANEL);
	try_block(s, ways, more, up(pixels, LANE_PIXELS) * LANE_PIXELS);
	try_block(s, ways, more, up(pixels, PANEL) * PANEL);
}

/* Blocks of all channels; of as many as leave room; of all outputs. */
static void
try_division(Search *s, int64_t ways)
{
	const int64_t mine = up(s->oc, ways), part = up(s->all, THREADS / ways), in = s->step + s->taps, weights = s->taps * mine;
	const int64_t room = s->room / (2 * FEW_OUTPUTS * in + 2 * weights);
	int64_t outputs, pixels, c = s->ic;

	try_block(s, ways, mine, part);
	if (s->outputs == mine && s->pixels == part && s->channels == s->ic)
		return;
	outputs = between(FEW_OUTPUTS, mine, (s->room - in * c * LANE_PIXELS - weights * c) / LANE_PIXELS);
	try_around(s, ways, outputs, between(LANE_PIXELS, part, (s->room - weights * c) / (in * c + outputs)));
	if (room < c) {
		c /= c / (room > 1 ? room : 1) > 1 ? c / (room > 1 ? room : 1) : 1;
		pixels = (s->room - 2 * weights * c) / (2 * c * in);
		pixels = pixels > 1 ? pixels : 1;
		outputs = s->room / 2 / pixels;
		if (outputs > mine) {
			outputs = mine;
			pixels = between(LANE_PIXELS, part, (s->room - weights * c) / (in * c + outputs));
		} else if (pixels > part) {
			pixels = part;
			outputs = between(FEW_OUTPUTS, mine, (s->room - in * c * pixels - weights * c) / pixels);
		}
		try_around(s, ways, outputs, pixels);
	}
	c = s->ic;
	pixels = (s->room - weights * c) / (in * c + mine) / LANE_PIXELS * LANE_PIXELS;
	try_around(s, ways, mine, pixels > LANE_PIXELS ? pixels : LANE_PIXELS);
}

/* Channels of a block. */
static int64_t
im2col_channels(const ConvShape *c)
{
	const int64_t plane = c->out[1] * c->out[2];
	Search s = { c->ic, c->oc, c->k[1] * c->k[2], c->s[1] * c->s[2], c->n * c->groups * plane, plane, room_of(c), 1, 1, c->ic, 0 };

	for (int64_t ways = 1; ways <= THREADS; ways++)
		try_division(&s, ways);
	return s.channels;
}

/* Pixels of a register block of the direct kernel: it takes no more columns of padding. */
static int64_t
direct_pixels(const ConvShape *c)
{
	const int64_t w = c->out[2], blocks = up(c->oc, LANES);
	const bool small = c->k[2] == 3 && w <= 28 && c->s[1] == 1 && c->s[2] == 1 && !(w == 13 && c->ic >= 192) && !(w == 28 && c->ic >= 512);
	int64_t most = 5;

	if (c->k[2] > 3 || small || c->ic < LANES || (c->n == 1 && (w <= 28 || (w <= 147 && c->oc <= 96))))
		return least(w, 28);
	while (blocks % most)
		most--;
	return least(w, 31 / (most + 1));
}

ConvSums
rt_conv_sums(const ConvShape *c)
{
	const int64_t taps = c->k[0] * c->k[1] * c->k[2], ic = c->transposed ? c->oc : c->ic, oc = c->oc;
	const int64_t *in = c->transposed ? c->out : c->in;
	const ConvSums product = { .block = 1, .chained = c->torch == RT_TORCH_1 };
	const bool small = c->groups == 1 && (c->k[1] <= 3 || c->k[2] <= 3) && c->n == 1 && ic * in[1] * in[c->nd < 3 ? 2 : 0] <= 20480;
	const int64_t direct = direct_pixels(c);
	int64_t lanes = LANES;
	bool outside = false, pads = false;

	for (int i = 0; i < 3; i++) {
		const int64_t reach = c->d[i] * (c->k[i] - 1) + 1, after = (c->out[i] - 1) * c->s[i] + reach - c->in[i] - c->p[i];

		outside |= reach <= c->p[i] || reach <= after || (i == 2 && taps > 1 && (c->p[i] > direct || after > direct));
		pads |= c->p[i] || after > 0;
	}
	if (c->transposed)
		return (ConvSums){ 1, c->torch == RT_TORCH_2 && !small ? ic : 0, 0, false };
	if (small || (outside && (c->nd == 3 || c->groups > 1)))
		return product;
	if (outside)
		return (ConvSums){ 1, GEMM_RUN, im2col_channels(c) * taps, false };
	while (c->groups > 1 && lanes > 2 && (ic % lanes || oc % lanes))
		lanes /= 2;
	if (lanes < 4)
		return product;
	if (c->groups == 1 && taps == 1 && !pads)
		return (ConvSums){ ic, run_of((ic + 15) / 16 * 16, (oc + 15) / 16 * 16, c->out[0] * c->out[1], c->out[0] * c->out[1] * c->out[2]), 0, true };
	lanes = least(lanes, ic);
	return (ConvSums){ lanes, lanes * taps, 0, false };
}

static int
add_blocks(RtCx *cx, const Product *of, int64_t within, const float *bias)
{
	Product p = *of;
	float *y = p.c;

	p.halves = true;
	for (int64_t left = p.k; left; left -= p.k) {
		p.k = within < left ? within : left;
		if (gemm(cx, RT_f32, &p))
			return RT_ERROR;
		p.a = (const float *)p.a + p.k;
		p.b = (const float *)p.b + p.k * p.b_row;
	}
	for (int64_t i = 0; i < p.m && bias; i++)
		for (int64_t j = 0; j < p.n; j++)
			y[i * p.ldc + j] += bias[i];
	return RT_OK;
}

const RtTorchSums rt_torch_sums_all = { rt_conv_sums, add_blocks, blas_tile };
