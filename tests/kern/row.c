/*
 * Compares the loops of generated kernels (vattend.h, vmul.h, vpool.h, vturn.h) with naive ones, with vectors of four
 * floats: lengths around the widths of blocks, strides, NaN.
 */
#include "../rt/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VC_FLOATS 4
#define VC_CLAMPS 1
#include "../../rt/ops/tmath.h"
#include "../../rt/ops/vmath.h"
#include "../../rt/ops/vconv.h"
#include "../../rt/ops/vrow.h"
#include "../../rt/ops/vscratch.h"
#include "../../rt/ops/vmul.h"
#include "../../rt/ops/vattend.h"
#include "../../rt/ops/vpool.h"
#include "../../rt/ops/vturn.h"

enum { MOST = 5000 };

static float
noise(int64_t i)
{
	return (float)((i * 7919 + 13) % 1009) / 500 - 1;
}

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-4 * (1 + fabs(b)) || (isnan(a) && isnan(b));
}

/* Softmax weights of a row of scores.  Zeros follow its end, as a matrix product leaves them.  A NaN makes all weights
 * NaN. */
static void
rows_of(int64_t n)
{
	static float x[MOST + VF], y[MOST + VF];
	const int64_t whole = vm_whole(n);
	double most = -INFINITY, exponentials = 0, by;
	bool ok = true;

	for (int64_t i = 0; i < whole; i++)
		y[i] = x[i] = i < n ? noise(i) : 0;
	for (int64_t i = 0; i < n; i++)
		most = 0.5 * x[i] > most ? 0.5 * x[i] : most;
	for (int64_t i = 0; i < n; i++)
		exponentials += exp(0.5 * x[i] - most);
	by = va_weights(n, 0.5f, 7, va_edge(n), y);
	for (int64_t i = 0; i < n; i++)
		ok &= near(y[i] * by, exp(0.5 * x[i] - most) / exponentials);
	for (int64_t i = n; i < whole; i++)
		ok &= y[i] == 0;
	assert_true(ok);
	memcpy(y, x, sizeof y);
	y[n / 2] = NAN;
	by = va_weights(n, 0.5f, 7, va_edge(n), y);
	assert_true(isnan(by * y[n / 2]));
	for (int64_t i = 0; i < whole; i++)
		y[i] = i < n ? -INFINITY : 0;
	assert_true(va_weights(n, 0.5f, 7, va_edge(n), y) == 1 && y[0] == 7 && y[n - 1] == 7);
}

/* A is stored by rows or by columns, and so is b. */
static void
product_of(int64_t m, int64_t n, int64_t k, bool at, bool bt)
{
	static float a[MOST], b[MOST], c[MOST], bias[MOST], scratch[4 * MOST];
	const int64_t lda = at ? 1 : k, ak = at ? m : 1, bk = bt ? 1 : n, bn = bt ? k : 1;
	bool ok = true;

	for (int64_t i = 0; i < MOST; i++) {
		a[i] = noise(i);
		b[i] = noise(i + 100);
		bias[i] = noise(i + 200);
	}
	assert_true(vm_scratch(m, k) <= (int64_t)sizeof scratch);
	vm_product(m, n, k, a, lda, ak, b, bk, bn, bias, c, n, scratch);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = bias[j];

			for (int64_t x = 0; x < k; x++)
				sum += (double)a[i * lda + x * ak] * b[x * bk + j * bn];
			ok &= near(c[i * n + j], sum);
		}
	assert_true(ok);
}

/* Likewise for doubles.  Nothing is read after the ends of a and b, nor written between the rows of c. */
static void
double_product_of(int64_t m, int64_t n, int64_t k, bool at, bool bt)
{
	static double c[2 * MOST], bias[MOST];
	const int64_t lda = at ? 1 : k, ak = at ? m : 1, bk = bt ? 1 : n, bn = bt ? k : 1;
	double *const a = malloc((size_t)(m * k) * sizeof *a), *const b = malloc((size_t)(k * n) * sizeof *b);
	/* exact size, so that sanitizers detect accesses beyond it */
	void *const scratch = malloc((size_t)vm_scratch(0, k));
	bool ok = true;

	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(scratch);
	for (int64_t i = 0; i < m * k; i++)
		a[i] = noise(i);
	for (int64_t i = 0; i < k * n; i++)
		b[i] = noise(i + 100);
	for (int64_t i = 0; i < MOST; i++)
		bias[i] = noise(i + 200);
	for (int64_t i = 0; i < 2 * MOST; i++)
		c[i] = -9;
	vm_product_double(m, n, k, a, lda, ak, b, bk, bn, at ? bias : NULL, c, n + 1, scratch);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j <= n; j++) {
			double sum = at ? bias[j] : 0;

			for (int64_t x = 0; x < k && j < n; x++)
				sum += a[i * lda + x * ak] * b[x * bk + j * bn];
			ok &= j < n ? fabs(c[i * (n + 1) + j] - sum) <= 1e-13 * (1 + fabs(sum)) :
				c[i * (n + 1) + j] == -9;
		}
	assert_true(ok);
	free(scratch);
	free(a);
	free(b);
}

/* Pools in channels last and in planes, with and without gaps between a plane's elements, give the same result as a
 * naive loop over the elements of each window.  Pixels of the result are `gap` farther apart than they have
 * channels. */
static void
pool_of(VpPool v, int64_t gap, bool nans)
{
	static float y[MOST], z[MOST], dense[MOST];
	const int64_t size = v.c * v.h * v.w, far = v.c + gap, row = v.w + gap, planar = (v.c * v.h - 1) * row + v.w;
	/* exact size, so that sanitizers detect reads after its end */
	float *const x = malloc((size_t)size * sizeof *x);
	float *const plane = malloc((size_t)planar * sizeof *x);
	VpPool planes;
	bool ok = true;

	assert_non_null(x);
	assert_non_null(plane);
	for (int64_t i = 0; i < planar; i++)
		plane[i] = 99;
	for (int64_t i = 0; i < size; i++) {
		x[i] = nans && i % 37 == 5 ? NAN : noise(i);
		plane[(i % v.c * v.h + i / v.c / v.w) * row + i / v.c % v.w] = x[i];
	}
	for (int64_t i = 0; i < MOST; i++)
		y[i] = -9;
	v.xc = v.yc = 1;
	v.xw = v.c;
	v.yw = far;
	v.xh = v.w * v.c;
	v.yh = v.ow * far;
	vp_pool_lanes(0, v.oh, &v, x, y);
	planes = v;
	vp_pool_planes(0, v.c * v.oh, &planes, x, z);
	planes.xw = planes.yw = 1;
	planes.xh = row;
	planes.xc = v.h * row;
	planes.yh = v.ow;
	planes.yc = v.oh * v.ow;
	vp_pool_planes(0, v.c * v.oh, &planes, plane, dense);
	for (int64_t o = 0; o < v.oh * v.ow; o++)
		for (int64_t c = 0; c < far; c++) {
			double acc = v.max ? -INFINITY : 0, count = 0;

			for (int64_t t = 0; t < v.kh * v.kw && c < v.c; t++) {
				const int64_t iy = o / v.ow * v.sh - v.ph + t / v.kw * v.dh,
					      ix = o % v.ow * v.sw - v.pw + t % v.kw * v.dw;
				double e;

				count += v.padding_counts && iy < v.h + v.ph && ix < v.w + v.pw;
				if (iy < 0 || ix < 0 || iy >= v.h || ix >= v.w)
					continue;
				count += !v.padding_counts;
				e = x[(iy * v.w + ix) * v.c + c];
				acc = !v.max ? acc + e : isnan(acc) || e <= acc ? acc : e;
			}
			acc /= v.max ? 1 : v.divisor ? (double)v.divisor : count;
			ok &= c < v.c ? near(y[o * far + c], acc) &&
				near(y[o * far + c], z[o * far + c]) &&
				near(y[o * far + c], dense[c * v.oh * v.ow + o]) : y[o * far + c] == -9;
		}
	free(plane);
	free(x);
	assert_true(ok);
}

/* Computes softmax(q k' * scale + mask) v naively.  mask: none, the same for all rows, one for each row, or every
 * second number of a row.  Elements for the last key of row 2 are -infinity. */
static void
attention_of(int64_t m, int64_t n, int64_t inner, int64_t width, int mask, bool causal)
{
	static float q[MOST], k[MOST], x[MOST], y[MOST], scratch[8 * MOST];
	const VaAttention g = { .n = n, .inner = inner, .width = width, .qr = inner, .qc = 1, .kr = inner, .kc = 1,
				.vr = width, .vc = 1, .mr = mask == 1 ? 0 : 2 * n, .mc = mask == 3 ? 2 : 1,
				.yr = width + 1, .scale = 0.3f, .empty = NAN, .causal = causal };
	const int64_t numbers = mask == 0 ? 0 : mask == 1 ? n : (m - 1) * 2 * n + (n - 1) * g.mc + 1;
	/* exact size, so that sanitizers detect accesses beyond it */
	float *const all = malloc((size_t)(numbers + 1) * sizeof *all), *const add = all + 1;
	VaPacked packed = { 0, 0 };
	bool ok = true;

	assert_non_null(all);
	for (int64_t i = 0; i < MOST; i++) {
		q[i] = noise(i);
		k[i] = noise(i + 100);
		x[i] = noise(i + 200);
		y[i] = -9;
	}
	for (int64_t i = 0; i < numbers; i++)
		add[i] = i == 4 * n + (n - 1) * g.mc && n > 1 ? -INFINITY : noise(i + 300);
	assert_true(va_scratch(m, &g) <= (int64_t)sizeof scratch);
	va_attention(1, m, &g, q, k, x, mask ? add : 0, y, scratch, &packed);
	for (int64_t i = 0; i < m; i++)
		for (int64_t c = 0; c <= width; c++) {
			double sum = 0, weights = 0;

			for (int64_t j = 0; j < n && c < width; j++) {
				double score = 0;

				for (int64_t t = 0; t < inner; t++)
					score += (double)q[i * inner + t] * k[j * inner + t];
				score = score * 0.3 + (mask ? add[i * g.mr + j * g.mc] : 0);
				score = causal && j > i + 1 ? 0 : exp(score);
				weights += score;
				sum += score * x[j * width + c];
			}
			ok &= c < width ? near(y[i * g.yr + c], sum / weights) : y[i * g.yr + c] == -9;
		}
	free(all);
	assert_true(ok);
}

static void
test_rows(void **state)
{
	static const int64_t lengths[] = { 1, 2, 3, 4, 7, 8, 15, 16, 17, 63, 64, 65, 255, 256, 257, 2047, 2049, 4999 };

	(void)state;
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
		rows_of(lengths[i]);
}

static void
test_products(void **state)
{
	static const int64_t sizes[] = { 1, 2, 3, 4, 7, 8, 9, 17, 33 };

	(void)state;
	for (int i = 0; i < 9 * 9 * 4; i++) {
		product_of(sizes[i / 4 % 9], sizes[i / 36], sizes[i * 5 % 9], i & 1, i & 2);
		double_product_of(sizes[i / 4 % 9], 2 * sizes[i / 36] + (i >> 1 & 1), sizes[i * 5 % 9], i & 1, i & 2);
	}
}

static void
test_attention(void **state)
{
	static const int64_t keys[] = { 1, 2, 3, 4, 5, 8, 11, 33 };

	(void)state;
	for (int i = 0; i < 8 * 8 * 4; i++)
		attention_of(1 + i / 3 % 7, keys[i / 8 % 8], i % 5 + 1, i % 9 + 1, i / 64, i & 1);
}

static void
test_pools(void **state)
{
	static const int64_t channels[] = { 1, 3, 4, 5, 10, 15, 16, 70 };

	(void)state;
	for (int i = 0; i < 64 * 8; i++)
		pool_of((VpPool){ .n = 1, .c = channels[i / 64], .h = 8, .w = 7, .oh = 4, .ow = 3, .kh = 3, .kw = 2,
				  .sh = 2, .sw = 2, .ph = 1, .pw = i >> 3 & 1, .dh = 1, .dw = i & 2 ? 2 : 1,
				  .divisor = 6, .max = i & 4 }, i >> 4 & 1 ? 3 : 0, i >> 5 & 1);
	/* Rows of a plane, as runs where they are long enough. */
	for (int i = 0; i < 5 * 4 * 2 * 3 * 4; i++) {
		const int64_t k = 1 + i % 5, step = 1 + i / 5 % 4, wide = 1 + i / 20 % 2, w = 18 + i / 40 % 3 * 15,
			      pad = i & 1 ? k / 2 : 0, w2 = w + 2 * pad - (k - 1) * wide - 1;

		pool_of((VpPool){ .n = 1, .c = 1, .h = 3, .w = w, .oh = 2, .ow = w2 / step + 1, .kh = 2, .kw = k,
				  .sh = 2, .sw = step, .ph = 1, .pw = pad, .dh = 1, .dw = wide, .divisor = 6,
				  .max = i / 120 & 1 }, 0, i / 240 & 1);
	}
	/* Windows as wide as the plane: its rows are one run, unless they are not adjacent. */
	for (int i = 0; i < 5 * 4 * 16; i++) {
		static const int64_t widths[] = { 1, 7, 16, 17, 83 }, heights[] = { 1, 3, 8, 29 };
		const int64_t w = widths[i % 5], h = heights[i / 5 % 4], pad = i / 80 & 1;

		pool_of((VpPool){ .n = 1, .c = 2, .h = h, .w = w, .oh = 1, .ow = 1, .kh = h + 2 * pad,
				  .kw = w + 2 * pad, .sh = 1, .sw = 1, .ph = pad, .pw = pad, .dh = 1, .dw = 1,
				  .max = i / 20 & 1 }, i / 160, i / 40 & 1);
	}
	/* Averages of windows of several sizes, and a row that is longer than the part summed at a time.  The last
	 * window of a row extends beyond the plane. */
	for (int i = 0; i < 5 * 3 * 2 * 2 * 2; i++) {
		const int64_t k = 1 + i % 5, step = 1 + i / 5 % 3, w = i / 15 % 2 ? 2200 : 19,
			      steps = (w + k / 2 * 2 - k + step - 1) / step, ow = steps + (steps * step < w + k / 2);

		pool_of((VpPool){ .n = 1, .c = 1, .h = 3, .w = w, .oh = 2, .ow = ow, .kh = 2, .kw = k,
				  .sh = 1, .sw = step, .ph = 1, .pw = k / 2, .dh = 1, .dw = 1, .max = i / 30 % 2,
				  .padding_counts = i / 60 }, 0, false);
	}
}

static void
test_squares(void **state)
{
	enum { FROM = 19, TO = 23 };
	static int32_t from[VQ_SIDE * FROM], to[VQ_SIDE * TO];

	(void)state;
	for (int i = 0; i < VQ_SIDE * FROM; i++)
		from[i] = i * 7 - 900;
	for (int i = 0; i < VQ_SIDE * TO; i++)
		to[i] = -i;
	vq_square(to, TO, from, FROM);
	for (int i = 0; i < VQ_SIDE * TO; i++)
		assert_int_equal(to[i], i % TO < VQ_SIDE ? from[i / TO + i % TO * FROM] : -i);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_products),
					    cmocka_unit_test(test_attention), cmocka_unit_test(test_pools),
					    cmocka_unit_test(test_squares) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
