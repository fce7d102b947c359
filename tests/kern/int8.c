/*
 * Compares matrix products and convolutions of 8-bit integers (vint8.h) with plain C: random geometries, any number of
 * units.  Compiled for several processors here.  tests/targets compiles it for others, so it is a program of its own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../rt/ops/vint8_depth.h"

enum { MOST = 1 << 16, CHANNELS = 1 << 10 };     /* number of bytes of an operand */
enum { FAR = 64 };                               /* bytes after the result, which must not be written */

static uint8_t x[MOST], y[4 * MOST + FAR], scratch[1 << 18];
static int8_t w[MOST], packed[4 * MOST];
static int32_t start[CHANNELS];
static float scale[CHANNELS], bias[CHANNELS];

/* Returns a random number in [0, n). */
static int64_t
any(int64_t n)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(state >> 33) % n;
}

static ViConv
any_geometry(void)
{
	const ptrdiff_t depth = any(3);          /* 0 stands for images */
	ViConv v = { .n = 1 + any(2), .d = 1, .kd = 1, .sd = 1, .dd = 1, .h = 1 + any(9), .w = 1 + any(9),
		     .ic = 1 + any(20), .oc = 1 + any(80), .kh = 1 + any(4), .kw = 1 + any(4),
		     .sh = 1 + any(2), .sw = 1 + any(2), .ph = any(3), .pw = any(3), .dh = 1 + any(2),
		     .dw = 1 + any(2), .groups = 1 + any(2), .x_zero = (int32_t)any(256), .flip = any(2) };

	if (depth)
		v.d = 1 + any(5), v.kd = 1 + any(3), v.sd = 1 + any(2), v.pd = any(2), v.dd = 1 + any(2);
	if (!any(4)) {
		v.kd = v.kh = v.kw = v.sd = v.sh = v.sw = 1;
		v.pd = v.ph = v.pw = 0;
		v.ic = VI_QUAD * (1 + any(8));
	}
	if (!any(4)) {
		v.ic = v.oc = 1;
		v.groups = 2 + any(100);
	}
	v.part = vi_lies(&v) && any(2) ? VI_PART : v.oc;
	v.sums = !vi_is_depthwise(&v) && !v.pd && !v.ph && !v.pw && !any(2);
	v.xs = v.ic * v.groups + any(2) * any(5);
	v.ys = v.oc * v.groups + any(2) * any(5);
	v.low = v.flip ? -128 : 0;
	v.high = v.low + 255;
	v.y_zero = v.low + (int32_t)any(256);
	v.low = any(2) ? v.y_zero : v.low;
	v.od = (v.d + 2 * v.pd - v.dd * (v.kd - 1) - 1) / v.sd + 1;
	v.oh = (v.h + 2 * v.ph - v.dh * (v.kh - 1) - 1) / v.sh + 1;
	v.ow = (v.w + 2 * v.pw - v.dw * (v.kw - 1) - 1) / v.sw + 1;
	return v;
}

/* Fills in activations: all values, or one in `rare` with the top bit, or only 254 and 255.  Fills in weights: all
 * values, or one in `large` from all values and the others up to 65, of which two add up to at most 130. */
static void
fill(const ViConv *v)
{
	const int64_t rare = any(2) ? 1 : 1 + any(MOST), large = any(3) ? 1 + any(MOST) : 1;
	const bool largest = !any(4);

	for (int i = 0; i < MOST; i++)
		w[i] = (int8_t)(any(large) ? any(131) - 65 : any(256) - 128);
	for (int i = 0; i < MOST; i++) {
		const int64_t byte = largest ? 254 | any(2) : any(128) | (any(rare) ? 0 : any(2) << 7);

		x[i] = (uint8_t)(byte ^ (v->flip ? 128 : 0));
	}
}

static bool
fits(const ViConv *v)
{
	return v->d + 2 * v->pd > v->dd * (v->kd - 1) && v->h + 2 * v->ph > v->dh * (v->kh - 1) &&
	       v->w + 2 * v->pw > v->dw * (v->kw - 1) &&
	       v->n * v->d * v->h * v->w * v->xs <= MOST && vi_pixels(v) * v->ys <= MOST &&
	       v->groups * v->oc <= CHANNELS && vi_packed(v) <= (int64_t)sizeof packed &&
	       vi_scratch(v) <= (int64_t)sizeof scratch &&
	       v->groups * v->oc * v->ic * vi_window(v) <= MOST;
}

/* Returns the sum of channel o at a pixel of the result. */
static int32_t
sum_at(const ViConv *v, ptrdiff_t pixel, ptrdiff_t o)
{
	const ptrdiff_t ox = pixel % v->ow, oy = pixel / v->ow % v->oh, oz = pixel / v->ow / v->oh % v->od,
			image = pixel / v->ow / v->oh / v->od;
	int32_t sum = 0;

	for (ptrdiff_t i = 0; i < v->ic * vi_window(v); i++) {
		const ptrdiff_t c = i / vi_window(v), iz = oz * v->sd - v->pd + i / v->kw / v->kh % v->kd * v->dd,
			      iy = oy * v->sh - v->ph + i / v->kw % v->kh * v->dh,
			      ix = ox * v->sw - v->pw + i % v->kw * v->dw;
		int32_t from;

		if (iz < 0 || iz >= v->d || iy < 0 || iy >= v->h || ix < 0 || ix >= v->w)
			continue;
		from = x[(((image * v->d + iz) * v->h + iy) * v->w + ix) * v->xs + o / v->oc * v->ic + c];
		sum += ((v->flip ? from ^ 128 : from) - v->x_zero) * w[o * v->ic * vi_window(v) + i];
	}
	return sum;
}

/* Returns how many of the result's sums are wrong. */
static int
count_wrong_sums(const ViConv *v)
{
	const ptrdiff_t channels = v->groups * v->oc, n = vi_pixels(v) * v->ys;
	int wrong = 0;

	for (ptrdiff_t i = 0; i < n; i++) {
		const ptrdiff_t pixel = i / v->ys, o = i % v->ys;
		int32_t want = 0x4d4d4d4d, got;  /* pattern between pixels */

		if (o < channels)
			want = sum_at(v, pixel, o);
		memcpy(&got, y + i * 4, sizeof got);
		wrong += want != got;
	}
	for (ptrdiff_t i = 4 * n; i < 4 * n + FAR; i++)
		wrong += y[i] != 77;
	return wrong;
}

/* Returns how many of the result's bytes are wrong. */
static int
count_wrong(const ViConv *v)
{
	const ptrdiff_t channels = v->groups * v->oc;
	int wrong = 0;

	for (ptrdiff_t i = 0; i < vi_pixels(v) * v->ys + FAR; i++) {
		const ptrdiff_t pixel = i / v->ys, o = i % v->ys;
		int32_t want = 77;               /* pattern between pixels and after the result */

		if (o < channels && pixel < vi_pixels(v)) {
			const int32_t sum = sum_at(v, pixel, o);
			const float q = nearbyintf(((float)sum + bias[o]) * scale[o]) + (float)v->y_zero;

			want = q < (float)v->low ? v->low : q > (float)v->high ? v->high : (int32_t)q;
		}
		wrong += (uint8_t)want != y[i];
	}
	return wrong;
}

static void
run(const ViConv *v)
{
	const ptrdiff_t taps = vi_window(v), stride[5] = { v->ic * taps, taps, v->kh * v->kw, v->kw, 1 };
	const ViWeights weights = { packed, start, scale, bias };

	vi_pack(v, w, stride, packed, start);
	memset(y, 77, sizeof y);
	if (vi_is_depthwise(v)) {
		const int64_t rows = vi_lines(v), half = any(rows + 1);

		vi_depthwise(half, rows, v, x, &weights, y);
		vi_depthwise(0, half, v, x, &weights, y);
	} else {
		const int64_t units = vi_units(v), half = any(units + 1);

		vi_conv(half, units, v, x, &weights, y, scratch);
		vi_conv(0, half, v, x, &weights, y, scratch);
	}
}

int
main(void)
{
	int wrong = 0, done = 0;

#if defined __AVX2__ && !defined __AVX512F__
	if (!__builtin_cpu_supports("avx2"))
		return puts("SKIP: AVX2 is missing") < 0;
#endif
	for (int i = 0; i < CHANNELS; i++) {
		scale[i] = (float)(1 + any(1000)) * 1e-5f;
		bias[i] = (float)(any(20001) - 10000) / 3;
	}
	while (done < 400) {
		const ViConv v = any_geometry();
		int some;

		if (!fits(&v))
			continue;
		done++;
		fill(&v);
		run(&v);
		if ((some = v.sums ? count_wrong_sums(&v) : count_wrong(&v)))
			printf("%td x %td x %td x %td x %td by %td x %td x %td, %td to %td in %td groups, "
			       "flip %d, sums %d: %d wrong\n", v.n, v.d, v.h, v.w, v.ic * v.groups,
			       v.kd, v.kh, v.kw, v.ic, v.oc, v.groups, v.flip, v.sums, some);
		wrong += some;
	}
	return wrong != 0;
}
