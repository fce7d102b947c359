/* rt/ops/taps_bytes.h - interpolation of bytes, for resample.c
 *
 * PyTorch resizes images of uint8 in integers. Weights are int16 with a common binary point, and each pass rounds to
 * bytes (from 2.1 on, ATen/native/cpu/UpSampleKernel.cpp; earlier versions refuse bytes). */
typedef struct ByteTaps {
	const Taps *taps;                /* their weights are int16_t */
	int64_t     inner;               /* number of consecutive elements that share a tap */
	int         bits;                /* weights are multiples of 2^-bits */
	const uint8_t *x;                /* (outer, in, inner) */
	uint8_t       *y;                /* (outer, out, inner) */
} ByteTaps;

/* Adds the weights of taps that read the same input, as at a border. The first of these taps gets the sum, and the
 * others get 0. */
static void
join_taps(const int64_t *at, double *weight, int64_t n)
{
	for (int64_t k = n - 1; k > 0; k--)
		if (at[k] == at[k - 1]) {
			weight[k - 1] += weight[k];
			weight[k] = 0;
		}
}

/* Rounds weights from double to int16_t, in place. Returns the largest number of bits for which the largest weight
 * fits. */
static int
quantize_taps(Taps *g)
{
	const int64_t n = g->out * g->width;
	double *from = g->weight, most = 0;
	int16_t *to = g->weight;
	int bits = 0;

	for (int64_t o = 0; o < g->out; o++)
		join_taps(g->at + o * g->width, from + o * g->width, g->width);
	for (int64_t i = 0; i < n; i++)
		most = from[i] > most ? from[i] : most;
	while (bits < 22 && 0.5 + most * (double)(1 << (bits + 1)) < 1 << 15)
		bits++;
	for (int64_t i = 0; i < n; i++) {
		const double w = from[i] * (double)(1 << bits);

		to[i] = (int16_t)(w < 0 ? w - 0.5 : w + 0.5);
	}
	return bits;
}

static void
taps_forward_bytes(void *arg, int64_t begin, int64_t end)
{
	const ByteTaps *g = arg;
	const Taps *a = g->taps;
	const int16_t *weight = a->weight;

	for (int64_t i = begin * a->out; i < end * a->out; i++) {
		const int64_t o = i % a->out, *at = a->at + o * a->width;
		const int16_t *w = weight + o * a->width;
		const uint8_t *x = g->x + i / a->out * a->in * g->inner;

		for (int64_t j = 0; j < g->inner; j++) {
			int32_t sum = g->bits ? 1 << (g->bits - 1) : 0;

			for (int64_t k = 0; k < a->width; k++)
				sum += w[k] * x[at[k] * g->inner + j];
			sum >>= g->bits;
			g->y[i * g->inner + j] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
		}
	}
}

/* Resizes n planes from x to y, the last dim first. A dim that keeps its size is not changed, whatever its scale. */
static int
resize_bytes(RtCx *cx, int64_t n, int nd, Taps *taps, const uint8_t *x, uint8_t *y)
{
	int64_t inner = 1, left = 0;

	for (int d = 0; d < nd; d++) {
		n *= taps[d].in;
		left += taps[d].in != taps[d].out;
	}
	if (!left)
		rt_copy_bytes(y, x, (size_t)n);
	for (int d = nd - 1; d >= 0; inner *= taps[d--].out) {
		Taps *const t = &taps[d];
		ByteTaps pass = { .taps = t, .inner = inner, .x = x, .y = y };

		n /= t->in;
		if (t->in == t->out)
			continue;
		pass.bits = quantize_taps(t);
		if (--left && !(pass.y = rt_scratch(cx, n * t->out * inner + 1)))
			return RT_ERROR;
		rt_parallel(cx, n, 1 + 8000 / (t->out * t->width * inner + 1), taps_forward_bytes, &pass);
		x = pass.y;
	}
	return RT_OK;
}
