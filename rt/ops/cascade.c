/* rt/ops/cascade.c - float32 sums in the order of PyTorch's CPU kernel, which decides about ties of quantized means
 *
 * PyTorch (aten/src/ATen/native/cpu/SumKernel.cpp) sums over two dims at a time, after its TensorIterator has sorted
 * the dims by strides and joined those that are one.  A long sum is split into steps whose sums are added level by
 * level.  Where elements are far apart, each column of a block of 32 or 4 has one such sum; other columns have four.
 */
#include "quant.h"

enum { LEVELS = 4, LANES = 8 };  /* LANES: floats of a vector.  PyTorch's kernel has no wider ones. */

typedef struct Dim { int64_t n, in, out; } Dim;          /* size, strides of the tensor and of the sums */

/* ---- one sum ----------------------------------------------------------------------------------------------------- */

static int64_t
ceil_log2(int64_t n)
{
	int64_t log = 0;

	while ((int64_t)1 << log < n)
		log++;
	return log;
}

static float
cascade(const float *x, int64_t stride, int64_t n)
{
	const int64_t power = ceil_log2(n) / LEVELS > 4 ? ceil_log2(n) / LEVELS : 4, step = (int64_t)1 << power;
	float sum[LEVELS] = { 0 };
	int64_t i = 0;

	while (i + step <= n) {
		for (const int64_t end = i + step; i < end; i++)
			sum[0] += x[i * stride];
		for (int level = 1; level < LEVELS; level++) {
			sum[level] += sum[level - 1];
			sum[level - 1] = 0;
			if (i & (step - 1) << level * power)
				break;
		}
	}
	for (; i < n; i++)
		sum[0] += x[i * stride];
	for (int level = 1; level < LEVELS; level++)
		sum[0] += sum[level];
	return sum[0];
}

/* Every fourth element, then the last ones, then the four sums */
static float
interleaved(const float *x, int64_t stride, int64_t n)
{
	float sum[4];

	for (int k = 0; k < 4; k++)
		sum[k] = cascade(x + k * stride, 4 * stride, n / 4);
	for (int64_t i = n / 4 * 4; i < n; i++)
		sum[0] += x[i * stride];
	return sum[0] + sum[1] + sum[2] + sum[3];
}

static float
adjacent(const float *x, int64_t n)
{
	float sum = 0;

	for (int64_t i = n / LANES * LANES; i < n; i++)
		sum += x[i];
	for (int lane = 0; lane < LANES; lane++)
		sum += interleaved(x + lane, LANES, n / LANES);
	return sum;
}

/* ---- two dims ---------------------------------------------------------------------------------------------------- */

/* Adds the sums over dim a to out, for each index of dim b. */
static void
add_sums(const float *x, Dim a, Dim b, float *out)
{
	const bool vectors = b.in == 1 && b.n >= LANES;
	const int64_t block = vectors ? 4 * LANES : 4;

	for (int64_t j = 0; j < b.n; j++) {
		const float *const column = x + j * b.in;

		if (a.in == 1 && a.n >= LANES)
			out[j * b.out] += adjacent(column, a.n);
		else if ((!vectors && a.in < b.in) || j >= b.n / block * block)
			out[j * b.out] += interleaved(column, a.in, a.n);
		else
			out[j * b.out] += cascade(column, a.in, a.n);
	}
}

static void
add_plane(const float *x, Dim a, Dim b, float *out)
{
	if (a.out && !b.out)
		add_sums(x, b, a, out);
	else if (!a.out)
		add_sums(x, a, b, out);
	else
		for (int64_t j = 0; j < b.n; j++)
			for (int64_t i = 0; i < a.n; i++)
				out[i * a.out + j * b.out] += x[i * a.in + j * b.in];
}

/* ---- all dims ---------------------------------------------------------------------------------------------------- */

/* Does dim a come after dim b?  1: yes.  -1: no.  0: the order does not matter. */
static int
follows(Dim a, Dim b)
{
	if (!a.out != !b.out)
		return b.out ? -1 : 1;
	if (a.out && b.out && a.out != b.out)
		return a.out < b.out ? -1 : 1;
	if (a.out && b.out && a.n > b.n)
		return 1;
	if (a.in && b.in && a.in != b.in)
		return a.in < b.in ? -1 : 1;
	return a.in && b.in && a.n > b.n;
}

static void
sort_dims(Dim *d, int n)
{
	for (int i = 1; i < n; i++)
		for (int at = i, k = i - 1, order; k >= 0 && (order = follows(d[k], d[at])) >= 0; k--)
			if (order) {
				const Dim swap = d[k];

				d[k] = d[at];
				d[at] = swap;
				at = k;
			}
}

/* Joins neighbours that are one dim.  Returns the number of dims. */
static int
join_dims(Dim *d, int n)
{
	int last = 0;

	for (int i = 1; i < n; i++) {
		Dim *const to = &d[last];

		if (to->n == 1)
			*to = d[i];
		else if (d[i].n != 1 && to->n * to->in == d[i].in && to->n * to->out == d[i].out)
			to->n *= d[i].n;
		else if (d[i].n != 1)
			d[++last] = d[i];
	}
	return n ? last + 1 : 0;
}

void
quant_cascade_sums(const RtTensor *t, uint64_t reduced, float *sums)
{
	Dim d[RT_MAX_RANK + 2];
	int64_t out = 1, index[RT_MAX_RANK + 2] = { 0 };
	int n = t->ndim, k;

	for (int i = t->ndim; i-- > 0;) {
		d[t->ndim - 1 - i] = (Dim){ t->dims[i], t->strides[i], reduced >> i & 1 ? 0 : out };
		out *= reduced >> i & 1 ? 1 : t->dims[i];
	}
	for (int64_t i = 0; i < out; i++)
		sums[i] = 0;
	sort_dims(d, n);
	n = join_dims(d, n);
	while (n < 2)
		d[n++] = (Dim){ 1, 0, 0 };
	do {
		const float *x = (const float *)rt_data(t);
		float *to = sums;

		for (k = 2; k < n; k++) {
			x += index[k] * d[k].in;
			to += index[k] * d[k].out;
		}
		add_plane(x, d[0], d[1], to);
		for (k = 2; k < n && ++index[k] == d[k].n; k++)
			index[k] = 0;
	} while (k < n);
}
