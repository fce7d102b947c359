/*
 * Compares matrix products with weights of few bits (vcoarse.h) with plain C: random sizes, groups and centres, with
 * any number of units, and with inputs that are not finite.  Compiled for vectors of several widths here.
 * tests/targets compiles it for other processors, so it is a program of its own.
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
#include "../../rt/ops/vcoarse.h"

enum { MOST = 1 << 16, FAR = 64 };               /* FAR: elements after the result, which must not be written */

static float x[MOST], scale[4 * MOST], w[MOST], bias[MOST], y[MOST + FAR];
static uint32_t words[2 * MOST];
static const float range[] = { -0.5f, 1.5f };

/* Returns a random number in [0, n). */
static int64_t
any(int64_t n)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(state >> 33) % n;
}

/* Fills in random integers in [-most, most), packed as described at the head of vcoarse.h.  The last element of a word
 * is signed; the others are stored with half their range added. */
static void
make_weights(const VkProduct *v, int bits, int most)
{
	const ptrdiff_t each = 32 / bits, all = (v->k + each - 1) / each, groups = (v->k + v->group - 1) / v->group,
			panels = (v->n + VC_PANEL - 1) / VC_PANEL, far = panels * groups * VC_PANEL;

	memset(words, 0, sizeof words);
	memset(scale, 0, sizeof scale);
	for (ptrdiff_t n = 0; n < v->n; n++)
		for (ptrdiff_t k = 0; k < v->k; k++) {
			const ptrdiff_t panel = n / VC_PANEL, lane = n % VC_PANEL,
					at = (panel * groups + k / v->group) * VC_PANEL + lane;
			const int q = (int)any(2 * most) - most;
			const uint32_t put = (uint32_t)(k % each < each - 1 ? q + (1 << (bits - 1)) : q);

			if (k % v->group == 0) {
				scale[at] = (float)(1 + any(1000)) / 50000;
				scale[far + at] = (float)(any(3) - 1) * 7;
			}
			words[(panel * all + k / each) * VC_PANEL + lane] |=
				(put & ((1u << bits) - 1)) << bits * (k % each);
			w[k * v->n + n] = ((float)q + (v->centred ? scale[far + at] : 0)) * scale[at];
		}
}

/* Returns the number that the bits of a half represent. */
static float
half_value(VkType type, uint16_t bits)
{
	const int exponent = bits >> 10 & 31, fraction = bits & 1023;
	const union { uint32_t i; float f; } wide = { (uint32_t)bits << 16 };
	float size;

	if (type == VK_BF16)
		return wide.f;
	size = exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
	return bits >> 15 ? -size : size;
}

/* Fills in random halves of at most 1, some of them denormal. */
static void
make_halves(const VkProduct *v, VkType type)
{
	const ptrdiff_t all = (v->k + 1) / 2;

	memset(words, 0, sizeof words);
	for (ptrdiff_t n = 0; n < v->n; n++)
		for (ptrdiff_t k = 0; k < v->k; k++) {
			const uint16_t least = type == VK_BF16 ? 0x3c00 : 0, most = type == VK_BF16 ? 0x3f80 : 0x3c00;
			const uint16_t put = (uint16_t)((any(9) ? least + any(most - least) : any(2) * any(80)) |
							any(2) << 15);

			words[(n / VC_PANEL * all + k / 2) * VC_PANEL + n % VC_PANEL] |= (uint32_t)put << 16 * (k % 2);
			w[k * v->n + n] = half_value(type, put);
		}
}

/* Fills in random codes of float8_e4m3fnuz or float8_e5m2fnuz, times scales that make the numbers at most 1.  Some are
 * denormal; 0x80 is minus zero. */
static void
make_floats8(const VkProduct *v, VkType type)
{
	const int mantissa = type == VK_E4M3 ? 3 : 2, least = type == VK_E4M3 ? -7 : -15;
	const ptrdiff_t all = (v->k + 3) / 4, groups = (v->k + v->group - 1) / v->group;

	memset(words, 0, sizeof words);
	for (ptrdiff_t n = 0; n < v->n; n++)
		for (ptrdiff_t k = 0; k < v->k; k++) {
			const ptrdiff_t panel = n / VC_PANEL, lane = n % VC_PANEL,
					at = (panel * groups + k / v->group) * VC_PANEL + lane;
			const int code = (int)any(256), exponent = (code & 127) >> mantissa,
				  fraction = code & ((1 << mantissa) - 1);
			const int whole = exponent ? fraction | 1 << mantissa : fraction;
			const float size = ldexpf((float)whole, least - mantissa + (exponent ? exponent - 1 : 0));

			if (k % v->group == 0)
				scale[at] = (float)(1 + any(1000)) / 1000 / (type == VK_E4M3 ? 256 : 65536);
			words[(panel * all + k / 4) * VC_PANEL + lane] |= (uint32_t)code << (8 * (k % 4));
			w[k * v->n + n] = (code & 128 ? -size : size) * scale[at];
		}
}

/* Fills in random integers of the whole range, or random floats of few bits. */
static void
make_any(const VkProduct *v, VkType type)
{
	if (vk_is_half(type))
		make_halves(v, type);
	else if (vk_is_float8(type))
		make_floats8(v, type);
	else
		make_weights(v, vk_size(type), 1 << (vk_size(type) - 1));
}

static bool
is_right(const VkProduct *v, bool biased, const float *result)
{
	double most = 1;
	bool right = true;

	for (ptrdiff_t i = 0; i < v->m * v->lda; i++)
		most = fabs((double)x[i]) > most && isfinite(x[i]) ? fabs((double)x[i]) : most;
	for (ptrdiff_t i = 0; i < v->m; i++)
		for (ptrdiff_t n = 0; n < v->n; n++) {
			const double got = (double)result[i * v->ldc + n];
			double want = biased ? (double)bias[n] : 0;

			for (ptrdiff_t k = 0; k < v->k; k++)
				want += (double)x[i * v->lda + k] * (double)w[k * v->n + n];
			if (v->range)
				want = want < -0.5 ? -0.5 : want > 1.5 ? 1.5 : want;
			right &= isfinite(want) ? fabs(got - want) < 1e-5 * most * sqrt((double)v->k + 9) :
				 isnan(want) ? isnan(got) : got == want;
		}
	return right;
}

static bool
try_one(void)
{
	static const ptrdiff_t groups[] = { 16, 32, 64, 128 };
	static void (*const product[])(ptrdiff_t, ptrdiff_t, const VkProduct *, const float *, const int32_t *,
				       const float *, const float *, float *, VcEpilogue *, void *const *) = {
		[VK_INT4] = vk_product_int4, [VK_INT8] = vk_product_int8, [VK_E4M3] = vk_product_e4m3,
		[VK_E5M2] = vk_product_e5m2, [VK_BF16] = vk_product_bf16, [VK_F16] = vk_product_f16,
	};
	const VkType type = (VkType)any(VK_F16 + 1);
	const bool biased = any(2);
	VkProduct v = { .m = 1 + any(any(4) ? 6 : 40), .n = 1 + any(any(3) ? 20 : 100), .k = 1 + any(300),
			.centred = any(2), .chunk = 1 + any(30), .range = any(3) ? 0 : range };
	ptrdiff_t units, first;

	v.centred = v.centred && !vk_is_half(type) && !vk_is_float8(type);
	v.group = v.k;
	if (any(2) && !vk_is_half(type)) {
		v.group = groups[any(4)];
		v.k = v.group * (1 + any(3));
	}
	v.lda = v.k + any(2) * any(9);
	v.ldc = v.n + any(2) * any(9);
	make_any(&v, type);
	for (ptrdiff_t i = 0; i < v.m * v.lda; i++)
		x[i] = (float)any(2001) / 1000 - 1;
	for (int i = 0; i < v.n + VC_NR; i++)
		bias[i] = (float)any(2001) / 1000 - 1;
	if (!any(9))
		x[any(v.m * v.lda)] = any(2) ? INFINITY : NAN;
	for (ptrdiff_t i = 0; i < v.m * v.ldc + FAR; i++)
		y[i] = 7;
	units = (v.n + VC_NR - 1) / VC_NR * ((v.m + v.chunk - 1) / v.chunk);
	first = any(units + 1);
	for (int part = 0; part < 2; part++)
		product[type](part ? first : 0, part ? units : first, &v, x, (const int32_t *)words,
			      vk_is_half(type) ? 0 : scale, biased ? bias : 0, y, 0, 0);
	for (ptrdiff_t i = 0; i < v.m * v.ldc + FAR; i++)
		if (y[i] != 7 && (i >= v.m * v.ldc || i % v.ldc >= v.n))
			return false;
	return is_right(&v, biased, y);
}

/* Uses small integers as weights and large ones of one sign as inputs.  float32 represents their sums exactly, unless a
 * kernel adds a larger number and subtracts it again. */
static bool
try_exact(void)
{
	const VkProduct v = { .m = 1 + any(4), .n = 1 + any(100), .k = 300, .group = 300, .lda = 300, .ldc = 100,
			      .chunk = 4 };
	bool exact = true;

	make_weights(&v, 8, 2);
	for (ptrdiff_t n = 0; n < v.n; n++)
		for (ptrdiff_t k = 0; k < v.k; k++)
			w[k * v.n + n] = roundf(w[k * v.n + n] / scale[n]);
	for (ptrdiff_t n = 0; n < v.n + VC_PANEL; n++)
		scale[n] = 1;
	for (ptrdiff_t i = 0; i < v.m * v.lda; i++)
		x[i] = (float)(900 + any(100));
	vk_product_int8(0, (v.n + VC_NR - 1) / VC_NR, &v, x, (const int32_t *)words, scale, 0, y, 0, 0);
	for (ptrdiff_t i = 0; i < v.m; i++)
		for (ptrdiff_t n = 0; n < v.n; n++) {
			double want = 0;

			for (ptrdiff_t k = 0; k < v.k; k++)
				want += (double)x[i * v.lda + k] * (double)w[k * v.n + n];
			exact &= (double)y[i * v.ldc + n] == want;
		}
	return exact;
}

int
main(void)
{
	for (int i = 0; i < 3000; i++)
		if (!try_one()) {
			printf("product %d is wrong\n", i);
			return 1;
		}
	for (int i = 0; i < 50; i++)
		if (!try_exact()) {
			printf("exact product %d is not\n", i);
			return 1;
		}
	return 0;
}
