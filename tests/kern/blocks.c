/*
 * Compares the register blocks of generated kernels (vconv.h, vdepth.h and others), and clamps, with plain C: matrix
 * products of all small sizes, random convolutions.  Compiled for vectors of several widths here.  tests/targets
 * compiles it for other processors and runs it in an emulator, so it is a program of its own.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef VC_FLOATS
#define VC_FLOATS 4
#endif
#define VC_CLAMPS 1
#include "../../rt/ops/tmath.h"
#include "../../rt/ops/vmath.h"
#include "../../rt/ops/vconv.h"
#include "../../rt/ops/vdepth.h"
/* Compiling all forms for wider vectors takes minutes if the processor has none. */
#if VC_FLOATS == 4 && VC_PACKED == 4
#define ALL_FORMS
#include "../../rt/ops/vgroups.h"
#include "../../rt/ops/vlanes.h"
#include "../../rt/ops/vruns.h"
#endif

/* MOST: number of floats of an operand.  FAR: floats after the result, which must not be written. */
enum { MOST = 1 << 16, FAR = 64 };

static float x[MOST], w[MOST], packed[4 * MOST], bias[MOST], y[MOST + FAR], zeros[MOST];
static double want[MOST];
static const float range[] = { -0.5f, 1.5f };
static int wrong;

/* Returns a random number in [0, n). */
static int64_t
any(int64_t n)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(state >> 33) % n;
}

static void
fill(float *to, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = (float)any(2001) / 1000 - 1;
}

/*
 * Compares y with the expected values, clamped or NaN, and checks that nothing was written after its end.  Each result
 * is a sum of `terms` products of numbers in [-1, 1].  The standard deviation of its rounding error is about a seventh
 * of terms / 2^24.
 */
static void
compare(const char *what, const int64_t *size, int nsize, int64_t n, bool clamps, int64_t terms)
{
	const double tolerance = (double)(terms + 4) / (1 << 24);

	for (int64_t i = 0; i < n + FAR; i++) {
		const double a = i < n ? want[i] : 7;
		const double b = !clamps || i >= n ? a : a < range[0] ? range[0] : a > range[1] ? range[1] : a;

		if (fabs(y[i] - b) <= tolerance * (1 + fabs(b)) || (isnan(y[i]) && isnan(b)))
			continue;
		printf("%s", what);
		for (int k = 0; k < nsize; k++)
			printf(" %lld", (long long)size[k]);
		printf("%s: element %lld is %g and not %g\n", clamps ? ", clamped" : "", (long long)i, y[i], b);
		wrong++;
		return;
	}
}

static void
clear(int64_t n)
{
	for (int64_t i = 0; i < n + FAR; i++)
		y[i] = 7;
}

/* Packs from [rows][n] as panels: [panel][rows][width].  The last panel may end with half a vector of 16.  Returns the
 * end of the panels. */
static float *
pack(const float *from, int64_t rows, int64_t n, float *to)
{
	const int64_t unit = VC_PACKED == 16 ? VC_UNIT / 2 : VC_UNIT;

	for (int64_t col = 0; col < VC_COLUMNS(n); col += VC_PANEL) {
		const int64_t left = n - col, some = left >= VC_PANEL || VC_IS_WHOLE(n) ? VC_PANEL : VC_UP(left, unit);

		for (int64_t r = 0; r < rows; r++)
			for (int64_t j = 0; j < some; j++)
				*to++ = j < left ? from[r * n + col + j] : 0;
	}
	return to;
}

static void
product(int64_t m, int64_t n, int64_t k, bool biased, bool clamps)
{
	const int64_t size[] = { m, n, k };
	const VcProduct v = { .m = m, .groups = 1, .n = n, .k = k, .lda = k, .ldc = n, .step = 6, .chunk = 24,
			      .range = clamps ? range : 0 };

	pack(w, k, n, packed);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = biased ? bias[j] : 0;

			for (int64_t l = 0; l < k; l++)
				sum += (double)x[i * k + l] * w[l * n + j];
			want[i * n + j] = sum;
		}
	clear(m * n);
	vc_product(0, (m + 5) / 6, &v, x, packed, biased ? bias : 0, y, 0, 0);
	compare("product", size, 3, m * n, clamps, k);
}

/* Returns the sum over one window, from (z0, y0, x0) of image n on, with the weights at `with`, whose taps are `far`
 * apart. */
static double
window(const VcConv *v, int64_t n, const int64_t from[3], const float *in, const float *with, int64_t far)
{
	double sum = 0;

	for (int64_t t = 0; t < v->kd * v->kh * v->kw; t++) {
		const int64_t z = from[0] + t / v->kw / v->kh * v->dd, y0 = from[1] + t / v->kw % v->kh * v->dh,
			      x0 = from[2] + t % v->kw * v->dw;

		if (z < 0 || z >= v->d || y0 < 0 || y0 >= v->h || x0 < 0 || x0 >= v->w)
			continue;
		for (int64_t k = 0; k < v->ic; k++)
			sum += (double)in[(((n * v->d + z) * v->h + y0) * v->w + x0) * v->xs + k] *
				with[(t * v->ic + k) * far];
	}
	return sum;
}

static int64_t
pixels(const VcConv *v)
{
	return v->n * v->od * v->oh * v->ow;
}

/* Computes the sums of v's windows with w [group][tap][ic][oc].  If depthwise, each group has one channel: w
 * [tap][channel]. */
static void
windows(const VcConv *v, bool depthwise, bool biased)
{
	const int64_t channels = v->groups * v->oc, taps = v->kd * v->kh * v->kw * v->ic;

	for (int64_t i = 0; i < pixels(v) * channels; i++) {
		const int64_t c = i % channels, g = c / v->oc, p = i / channels, row = p / v->ow, frame = row / v->oh;
		const int64_t from[] = { frame % v->od * v->sd - v->pd, row % v->oh * v->sh - v->ph,
					 p % v->ow * v->sw - v->pw };

		const float *of = depthwise ? w + c : w + g * taps * v->oc + c % v->oc;

		want[i] = (biased ? bias[c] : 0) +
			window(v, frame / v->od, from, x + g * v->ic, of, depthwise ? channels : v->oc);
	}
}

static bool
shape(VcConv *v, int most)
{
	v->n = 1 + any(2);
	v->h = 1 + any(most);
	v->w = 1 + any(most);
	v->kh = 1 + any(7);
	v->kw = 1 + any(any(4) ? 7 : most);
	v->sh = 1 + any(3);
	v->sw = 1 + any(3);
	v->ph = any(v->kh + 1);
	v->pw = any(v->kw + 1);
	v->dh = 1 + any(4) / 3;
	v->dw = any(3) ? 1 : 1 + any(4);
	v->oh = v->h + 2 * v->ph - (v->kh - 1) * v->dh - 1;
	v->ow = v->w + 2 * v->pw - (v->kw - 1) * v->dw - 1;
	if (v->oh < 0 || v->ow < 0)
		return false;
	v->oh = v->oh / v->sh + 1;
	v->ow = v->ow / v->sw + 1;
	v->d = v->od = v->kd = v->sd = v->dd = 1;
	v->pd = 0;
	return true;
}

/* Chooses a convolution over frames. */
static bool
volume(VcConv *v)
{
	v->d = 1 + any(6);
	v->kd = 1 + any(4);
	v->sd = 1 + any(2);
	v->pd = any(v->kd + 1);
	v->dd = 1 + any(2);
	v->od = v->d + 2 * v->pd - (v->kd - 1) * v->dd - 1;
	if (v->od < 0)
		return false;
	v->od = v->od / v->sd + 1;
	return true;
}

static bool
fits(const VcConv *v)
{
	return v->n * v->d * v->h * v->w * v->xs <= MOST && pixels(v) * v->ys <= MOST &&
	       v->kd * v->kh * v->kw * v->ic * v->ys <= MOST;
}

static void
say(const char *what, const VcConv *v, int64_t terms)
{
	const int64_t size[] = { v->n, v->h, v->w, v->ic, v->oc, v->kh, v->kw, v->sh, v->sw, v->ph, v->pw, v->dh, v->dw,
				 v->groups, v->d, v->kd, v->sd, v->pd, v->dd };

	compare(what, size, 19, pixels(v) * v->ys, v->range, terms);
}

static void
convolution(void)
{
	VcConv v = { .ic = 1 + any(20), .oc = 1 + any(40), .groups = any(3) ? 1 : 1 + any(4) };
	const bool biased = any(2);
	float *to = packed;

	v.xs = v.groups * v.ic;
	v.ys = v.groups * v.oc;
	if (!shape(&v, 12) || (!any(3) && !volume(&v)) || !fits(&v))
		return;
	v.range = any(2) ? range : 0;
	for (int64_t g = 0, size = v.kd * v.kh * v.kw * v.ic; g < v.groups; g++)
		to = pack(w + g * size * v.oc, size, v.oc, to);
	windows(&v, false, biased);
	clear(pixels(&v) * v.ys);
	v.step = 6;
	v.chunk = 24;
	vc_conv(0, (pixels(&v) + 5) / 6, &v, x, packed, biased ? bias : 0, y, zeros, 0, 0);
	say("convolution", &v, v.kd * v.kh * v.kw * v.ic);
}

#ifdef ALL_FORMS

/* Chooses rows of windows of up to eleven columns, for groups whose channels are adjacent in a vector. */
static bool
rows(VcConv *v)
{
	v->xs = v->groups * v->ic;
	v->ys = v->groups * v->oc;
	if (!shape(v, 34) || (!any(3) && !volume(v)))
		return false;
	v->sw = v->dw > 1 ? 1 : 1 + any(2);
	v->kw = any(2) ? 3 : 1 + any(11);
	v->ow = (v->w + 2 * v->pw - (v->kw - 1) * v->dw - 1) / v->sw + 1;
	return v->w + 2 * v->pw > (v->kw - 1) * v->dw && fits(v);
}

static void
runs(void)
{
	VcConv v = { .ic = 1 + any(9), .oc = 1 + any((VC_FLOATS == 16 ? 3 : 2) * VC_FLOATS), .groups = 1 + any(2) };
	const bool biased = any(2);
	int64_t units, some;
	float *to = packed;

	if (!rows(&v) || v.dw > 1)
		return;
	v.range = any(2) ? range : 0;
	for (int64_t g = 0, size = v.kd * v.kh * v.kw * v.ic; g < v.groups; g++)
		to = pack(w + g * size * v.oc, size, v.oc, to);
	windows(&v, false, biased);
	clear(pixels(&v) * v.ys);
	v.step = any(2) ? 0 : 1 + any(v.ow);
	units = v.n * v.od * v.oh * vc_pieces(&v, vc_across(&v));
	some = any(units + 1);
	vc_runs(some, units, &v, x, packed, biased ? bias : 0, y, zeros, 0, 0);
	vc_runs(0, some, &v, x, packed, biased ? bias : 0, y, zeros, 0, 0);
	say("rows", &v, v.kd * v.kh * v.kw * v.ic);
}

/* Tests convolutions whose lanes are input channels: w [group][oc][tap][ic]. */
static void
few_channels(void)
{
	VcConv v = { .ic = VC_FLOATS + any(20), .oc = 1 + any(12), .groups = 1 + any(2) };
	const bool biased = any(2);

	v.xs = v.groups * v.ic;
	v.ys = v.groups * v.oc;
	if (!shape(&v, 8) || (!any(3) && !volume(&v)) || !fits(&v))
		return;
	v.range = any(2) ? range : 0;
	for (int64_t g = 0, size = v.kd * v.kh * v.kw * v.ic; g < v.groups; g++)
		for (int64_t i = 0; i < size * v.oc; i++)
			packed[g * size * v.oc + i % v.oc * size + i / v.oc] = w[g * size * v.oc + i];
	windows(&v, false, biased);
	clear(pixels(&v) * v.ys);
	v.step = 6;
	v.chunk = 24;
	vc_conv_lanes(0, (pixels(&v) + 5) / 6, &v, x, packed, biased ? bias : 0, y, zeros, 0, 0);
	say("lanes", &v, v.kd * v.kh * v.kw * v.ic);
}

static void
narrow_groups(void)
{
	VcConv v = { .ic = 1 + any(5), .oc = 1 + any(VC_FLOATS / 2), .groups = 2 + any(12) };
	const int64_t each = VC_UNIT / v.oc;
	const bool biased = any(2);
	int64_t units, some;

	if (!rows(&v))
		return;
	if (any(3) == 0)
		v.kw = 1 + any(3), v.ow = (v.w + 2 * v.pw - (v.kw - 1) * v.dw - 1) / v.sw + 1;
	if (!fits(&v))
		return;
	memset(packed, 0, sizeof packed);
	for (int64_t g = 0, size = v.kd * v.kh * v.kw * v.ic; g < v.groups; g++)
		for (int64_t i = 0; i < size * v.oc; i++)
			packed[(g / each * size + i / v.oc) * VC_UNIT + g % each * v.oc + i % v.oc] =
				w[g * size * v.oc + i];
	windows(&v, false, biased);
	clear(pixels(&v) * v.ys);
	v.step = any(2) ? 0 : 1 + any(v.ow);
	units = v.n * v.od * v.oh * vc_pieces(&v, vc_across(&v));
	some = any(units + 1);
	vc_groups(some, units, &v, x, packed, biased ? bias : 0, y, zeros, 0, 0);
	vc_groups(0, some, &v, x, packed, biased ? bias : 0, y, zeros, 0, 0);
	say("groups", &v, v.kd * v.kh * v.kw * v.ic);
}

#endif

/* Tests depthwise convolutions.  Sizes that have blocks of their own are chosen as often as others. */
static void
depthwise(void)
{
	static const int64_t own[][3] = { { 3, 1, 1 }, { 5, 1, 2 }, { 7, 1, 3 }, { 3, 2, 1 }, { 5, 2, 2 } };
	VcConv v = { .ic = 1, .oc = 1, .groups = 1 + any(30) };
	const bool biased = any(2);
	const int64_t *k = own[any(5)];
	int64_t units, some;

	v.xs = v.ys = v.groups;
	if (!shape(&v, 34) || (!any(3) && !volume(&v)))
		return;
	if (any(2)) {
		v.kh = v.kw = k[0];
		v.sh = v.sw = k[1];
		v.ph = any(k[2] + 1);
		v.pw = any(k[0] + 1);
		v.dh = v.dw = 1;
		if (v.h + 2 * v.ph < k[0] || v.w + 2 * v.pw < k[0])
			return;
		v.oh = (v.h + 2 * v.ph - k[0]) / k[1] + 1;
		v.ow = (v.w + 2 * v.pw - k[0]) / k[1] + 1;
	}
	if (!fits(&v))
		return;
	v.step = any(2) ? 0 : 1 + any(v.ow);
	units = v.n * v.od * v.oh * vc_pieces(&v, vc_across(&v));
	v.range = any(2) ? range : 0;
	windows(&v, true, biased);
	clear(pixels(&v) * v.ys);
	v.ic = v.oc = v.groups;
	some = any(units + 1);
	vc_depthwise(some, units, &v, x, w, biased ? bias : 0, y, 0, 0);
	vc_depthwise(0, some, &v, x, w, biased ? bias : 0, y, 0, 0);
	say("depthwise", &v, v.kd * v.kh * v.kw);
}

/* Clamped results keep a NaN as NaN, in the row that contains it. */
static void
not_numbers(void)
{
	const float kept = x[7];

	x[7] = NAN;
	for (int64_t n = 1; n <= 20; n++)
		product(9, n, 5, true, true);
	x[7] = kept;
}

/* Tests clamps of pointwise kernels, for which processors have instructions. */
static void
pointwise(void)
{
	static const float at[] = { NAN, -INFINITY, -7, 0, 2.5f, 6, 7, INFINITY },
			   clamped[] = { NAN, 0, 0, 0, 2.5f, 6, 6, 6 },
			   positive[] = { NAN, 0, 0, 0, 2.5f, 6, 7, INFINITY };

	for (int i = 0; i < 8; i++) {
		y[i] = t_clamp(at[i], 0, 6);
		y[8 + i] = t_relu(at[i]);
		y[16 + i] = t_clamp(at[i], 9, 6);                /* the upper bound wins */
	}
	for (int i = 0; i < 8; i++)
		if (memcmp(&y[i], &clamped[i], sizeof *y) || memcmp(&y[8 + i], &positive[i], sizeof *y) ||
		    (i ? y[16 + i] != 6 : !isnan(y[16])))
			wrong += printf("clamps of %g: %g %g %g\n", at[i], y[i], y[8 + i], y[16 + i]);
}

int
main(int argc, char **argv)
{
	const int most = argc > 1 ? atoi(argv[1]) : 20;

	fill(x, MOST);
	fill(w, MOST);
	fill(bias, MOST);
	for (int64_t m = 1; m <= most; m++)
		for (int64_t n = 1; n <= most; n++)
			for (int64_t k = 1; k <= most; k++)
				product(m, n, k, (m + n + k) % 2, k % 3 == 0);
	for (int64_t k = 1; k < 300; k += 13) {
		product(13, 65 + k % 70, k, true, k % 2);
		product(1, 65 + k % 70, 2 * k, k % 3, k % 2);
	}
	not_numbers();
	pointwise();
	for (int i = 0; i < 25 * most; i++)
		convolution();
	for (int i = 0; i < 50 * most; i++)
		depthwise();
#ifdef ALL_FORMS
	for (int i = 0; i < 25 * most; i++) {
		runs();
		few_channels();
		narrow_groups();
	}
#endif
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
