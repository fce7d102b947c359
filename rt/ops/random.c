/* rt/ops/random.c - draws from ATen's CPU generator, in ATen's order
 *
 * A distribution fills an array, one element after the other in memory order. The array is cast to the tensor. A tensor
 * that is not dense is filled in the order of its indices. Each operator uses the same bits of the generator for an
 * element as PyTorch's CPU kernel, so that results are the same for a seed. */
#include <math.h>
#include <stdio.h>

#include "kernel.h"
#define V_EAGER
#include "vmath.h"

RT_FAST
#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__
#pragma GCC optimize("fp-contract=off")         /* draws must be bitwise equal to PyTorch's */
#endif

#define PI 3.14159265358979323846

/* Returns the generator argument, or the default generator. */
static RtGenerator *
generator(RtCx *cx, IValue v)
{
	return v.tag == RT_GENERATOR ? v.u.gen : cx->gen;
}

/* Draws n words, as n calls of rt_random32 do. */
static void
draw_words(RtGenerator *g, uint32_t *to, int64_t n)
{
	enum { STATE = sizeof g->state / sizeof *g->state };

	while (n > 0) {
		const uint32_t *s;
		int64_t some;

		if (g->shared || g->at >= STATE) {       /* other threads may draw, too, or no word is left */
			*to++ = rt_random32(g);
			n--;
			continue;
		}
		s = g->state + g->at;
		some = STATE - g->at;
		some = some < n ? some : n;
		for (int64_t i = 0; i < some; i++) {
			uint32_t y = s[i];

			y ^= y >> 11;
			y ^= y << 7 & 0x9d2c5680u;
			y ^= y << 15 & 0xefc60000u;
			to[i] = y ^ y >> 18;
		}
		g->at += (int)some;
		to += some;
		n -= some;
	}
}

enum { CHUNK = 512 };
#define BITS53 ((1ull << 53) - 1)

/* Draws n <= CHUNK numbers, as rt_uniform53 does. */
static void
draw_doubles(RtGenerator *g, double *x, int64_t n)
{
	uint32_t words[2 * CHUNK];

	draw_words(g, words, 2 * n);
	for (int64_t i = 0; i < n; i++)
		x[i] = (double)(int64_t)(((uint64_t)words[2 * i] << 32 | words[2 * i + 1]) & BITS53) * 0x1p-53;
}

/* ---- elements --------------------------------------------------------------------------------------------- */

typedef struct Dist Dist;
struct Dist {
	double (*draw)(const Dist *, RtGenerator *);      /* draws one number; or */
	void (*fill)(const Dist *, RtGenerator *, double *, int64_t n);        /* draws n <= CHUNK numbers */
	RtDtype dtype;            /* dtype of the tensor, on which the bits of uniform numbers depend */
	double  a, b;
};

/* Draws n <= CHUNK numbers in [0, 1), with as many bits as the type has. */
static void
uniforms(RtDtype d, RtGenerator *g, double *x, int64_t n)
{
	const uint32_t mask = d == RT_f16 ? 2047 : d == RT_bf16 ? 255 : (1u << 24) - 1;
	const double one = (double)mask + 1;
	uint32_t words[CHUNK];

	if (d == RT_f64) {
		draw_doubles(g, x, n);
		return;
	}
	draw_words(g, words, n);
	for (int64_t i = 0; i < n; i++)
		x[i] = (double)(int32_t)(words[i] & mask) / one;
}

static void
fill_uniform(const Dist *p, RtGenerator *g, double *x, int64_t n)
{
	const float low = (float)p->a, range = (float)p->b - low;

	uniforms(p->dtype, g, x, n);
	for (int64_t i = 0; i < n && p->dtype == RT_f64; i++)
		x[i] = x[i] * (p->b - p->a) + p->a;
	for (int64_t i = 0; i < n && p->dtype != RT_f64; i++)
		x[i] = (double)((float)x[i] * range + low);
}

static void
fill_bernoulli(const Dist *p, RtGenerator *g, double *x, int64_t n)
{
	draw_doubles(g, x, n);
	for (int64_t i = 0; i < n; i++)
		x[i] = x[i] < p->a;
}

static double
draw_normal(const Dist *p, RtGenerator *g)
{
	return rt_normal(g) * p->b + p->a;
}

static double
draw_exponential(const Dist *p, RtGenerator *g)
{
	return -1 / p->a * log1p(-rt_uniform53(g));
}

static double
draw_cauchy(const Dist *p, RtGenerator *g)
{
	return p->a + p->b * tan(PI * (rt_uniform53(g) - 0.5));
}

static double
draw_log_normal(const Dist *p, RtGenerator *g)
{
	return exp(rt_normal(g) * p->b + p->a);
}

static double
draw_geometric(const Dist *p, RtGenerator *g)
{
	return ceil(log(rt_uniform53(g)) / log1p(-p->a));
}

/* ---- filling ------------------------------------------------------------------------------------------------ */

/* Fills the n elements of real type d at p with random numbers, in order. */
static void
draw_array(const Dist *dist, RtGenerator *g, RtDtype d, char *p, int64_t n)
{
	double block[CHUNK];
	int bytes = rt_dtypes[d].bytes;

	for (int64_t at = 0, m; at < n; at += m) {
		m = n - at < CHUNK ? n - at : CHUNK;
		if (dist->fill)
			dist->fill(dist, g, block, m);
		for (int64_t i = 0; i < m && !dist->fill; i++)
			block[i] = dist->draw(dist, g);
		rt_cast(d, p + at * bytes, RT_f64, block, m);
	}
}

/* Makes sixteen normal numbers from sixteen uniform ones: the first eight are the radii, the last eight the angles. */
static void
normals_of(const Dist *p, double *x)
{
	for (int j = 0; j < 8; j++) {
		double radius = sqrt(-2 * log(1 - x[j])), angle = 2 * PI * x[j + 8];
		x[j] = radius * cos(angle) * p->b + p->a;
		x[j + 8] = radius * sin(angle) * p->b + p->a;
	}
}

static inline int32_t
float_bits(float f)
{
	union { float f; int32_t i; } u = { f };

	return u.i;
}

/* Makes normal floats, computed in float. u turns are 4 u quarters, which are exact. */
static void
normals_of_floats(const Dist *p, float *x)
{
	const float mean = (float)p->a, deviation = (float)p->b;

	for (int j = 0; j < 8; j++) {
		const float u = 1.0f - x[j], turns = 4 * x[j + 8], k = turns + 12582912.0f;
		const float r = (turns - (k - 12582912.0f)) * 1.57079633f, z = r * r;
		const float sine = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
		const float rest = (2.443315712e-5f * z - 1.388731625e-3f) * z + 4.166664568e-2f;
		const float cosine = rest * z * z - 0.5f * z + 1;
		const float radius = sqrtf(-2 * v_logf(u)) * deviation;
		const int32_t quarter = float_bits(k);
		const float a = quarter & 1 ? sine : cosine, b = quarter & 1 ? cosine : sine;

		x[j] = radius * (((quarter + 1) & 2) ? -a : a) + mean;
		x[j + 8] = radius * ((quarter & 2) ? -b : b) + mean;
	}
}

static void
normal_floats(const Dist *p, RtGenerator *g, float *x, int64_t n)
{
	const Dist u = { .fill = fill_uniform, .dtype = RT_f32, .b = 1 };

	draw_array(&u, g, RT_f32, (char *)x, n);
	for (int64_t i = 0; i + 16 <= n; i += 16)
		normals_of_floats(p, x + i);
	if (n % 16) {
		draw_array(&u, g, RT_f32, (char *)(x + n - 16), 16);
		normals_of_floats(p, x + n - 16);
	}
}

/* Fills sixteen or more elements with normal numbers. Draws all uniform numbers first. If n is not a multiple of 16,
 * draws the last 16 again. */
static void
normal_array(const Dist *p, RtGenerator *g, RtDtype d, char *at, int64_t n)
{
	const Dist u = { .fill = fill_uniform, .dtype = d, .b = 1 };
	int bytes = rt_dtypes[d].bytes;
	double x[16];

	draw_array(&u, g, d, at, n);
	for (int64_t i = 0; i + 16 <= n; i += 16) {
		rt_cast(RT_f64, x, d, at + i * bytes, 16);
		normals_of(p, x);
		rt_cast(d, at + i * bytes, RT_f64, x, 16);
	}
	if (n % 16) {
		uniforms(d, g, x, 16);
		normals_of(p, x);
		rt_cast(d, at + (n - 16) * bytes, RT_f64, x, 16);
	}
}

/* Fills t with random numbers. Complex tensors are filled as pairs of reals. */
static int
fill(RtCx *cx, Dist dist, RtGenerator *g, RtTensor *t)
{
	RtTensor *to = t;
	int64_t n = rt_numel(t);

	if (cx->meta || !n)
		return RT_OK;
	if (rt_check_itself(cx, t) || rt_writable(cx, t) ||
	    (!rt_is_dense(t) && !(to = rt_temp(cx, rt_tensor_new(cx, (RtDtype)t->dtype, t->ndim, t->dims)))))
		return RT_ERROR;
	dist.dtype = rt_real_type((RtDtype)t->dtype);
	n *= rt_is_complex((RtDtype)t->dtype) ? 2 : 1;
	if (dist.draw == draw_normal && n >= 16 && rt_is_contiguous(t) && dist.dtype == RT_f32)
		normal_floats(&dist, g, (float *)(void *)rt_data(to), n);
	else if (dist.draw == draw_normal && n >= 16 && rt_is_contiguous(t))
		normal_array(&dist, g, dist.dtype, rt_data(to), n);
	else
		draw_array(&dist, g, dist.dtype, rt_data(to), n);
	return to == t ? RT_OK : rt_copy_into(cx, t, to);
}

static int
need_floating(RtCx *cx, const char *name, const RtTensor *t, bool complex)
{
	RtDtype d = (RtDtype)t->dtype;

	return rt_is_floating(d) || (complex && rt_is_complex(d)) ? RT_OK
		: rt_raise(cx, "\"%s\" not implemented for '%s'", name, rt_dtypes[d].brief);
}

static int
return_self(IValue self, int status, IValue *out)
{
	if (status)
		return status;
	out[0] = rt_retain(self);
	return RT_OK;
}

/* ---- in place --------------------------------------------------------------------------------------------------- */

int
rt_uniform_(RtCx *cx, const IValue *in, IValue *out)
{
	double a = rt_number(in[1]), b = rt_number(in[2]);

	if (need_floating(cx, "check_uniform_bounds", in[0].u.t, true))
		return RT_ERROR;
	if (!(a <= b))
		return rt_raise(cx, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", a, b);
	return return_self(in[0], fill(cx, (Dist){ .fill = fill_uniform, .a = a, .b = b }, generator(cx, in[3]),
				       in[0].u.t), out);
}

int
rt_normal_(RtCx *cx, const IValue *in, IValue *out)
{
	double mean = rt_number(in[1]), std = rt_number(in[2]);

	if (need_floating(cx, "normal_kernel_cpu", in[0].u.t, true))
		return RT_ERROR;
	if (!(std >= 0))
		return rt_raise(cx, "normal expects std >= 0.0, but found std %g", std);
	if (rt_is_complex((RtDtype)in[0].u.t->dtype))
		std *= sqrt(0.5);
	return return_self(in[0], fill(cx, (Dist){ .draw = draw_normal, .a = mean, .b = std }, generator(cx, in[3]),
				       in[0].u.t), out);
}

/* Fills self in place. `kernel` is PyTorch's name, for the error that self is not floating. If it is null, any type is
 * allowed. */
static int
draw_into(RtCx *cx, const char *kernel, Dist dist, const IValue *in, IValue gen, IValue *out)
{
	if (kernel && need_floating(cx, kernel, in[0].u.t, false))
		return RT_ERROR;
	return return_self(in[0], fill(cx, dist, generator(cx, gen), in[0].u.t), out);
}

int
rt_exponential_(RtCx *cx, const IValue *in, IValue *out)
{
	double rate = rt_number(in[1]);

	if (!(rate >= 0))
		return rt_raise(cx, "exponential_ expects lambda >= 0.0, but found lambda=%g", rate);
	return draw_into(cx, "exponential", (Dist){ .draw = draw_exponential, .a = rate }, in, in[2], out);
}

int
rt_cauchy_(RtCx *cx, const IValue *in, IValue *out)
{
	if (!(rt_number(in[2]) > 0))
		return rt_raise(cx, "cauchy_ expects sigma > 0.0, but found sigma=%g", rt_number(in[2]));
	return draw_into(cx, "cauchy", (Dist){ .draw = draw_cauchy, .a = rt_number(in[1]), .b = rt_number(in[2]) },
			 in, in[3], out);
}

int
rt_log_normal_(RtCx *cx, const IValue *in, IValue *out)
{
	if (!(rt_number(in[2]) > 0))
		return rt_raise(cx, "log_normal_ expects std > 0.0, but found std=%g", rt_number(in[2]));
	return draw_into(cx, "log_normal",
			 (Dist){ .draw = draw_log_normal, .a = rt_number(in[1]), .b = rt_number(in[2]) },
			 in, in[3], out);
}

int
rt_geometric_(RtCx *cx, const IValue *in, IValue *out)
{
	double p = rt_number(in[1]);

	if (!(p > 0 && p < 1))
		return rt_raise(cx, "geometric_ expects p to be in (0, 1), but got p=%g", p);
	if (rt_numel(in[0].u.t) && rt_not_stored_only(cx, "geometric_cpu", (RtDtype)in[0].u.t->dtype))
		return RT_ERROR;
	return draw_into(cx, NULL, (Dist){ .draw = draw_geometric, .a = p }, in, in[2], out);
}

int
rt_bernoulli__float(RtCx *cx, const IValue *in, IValue *out)
{
	double p = rt_number(in[1]);

	if (!(p >= 0 && p <= 1))
		return rt_raise(cx, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
	return draw_into(cx, NULL, (Dist){ .fill = fill_bernoulli, .a = p }, in, in[2], out);
}

/* Draws bernoulli numbers with a probability for each element. Draws one float for each, or a double if p is double. */
int
rt_bernoulli__Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *p = rt_tensor(in[1]), *to;
	RtGenerator *g = generator(cx, in[2]);
	bool wide = p->dtype == RT_f64;
	double *x;
	int64_t n = rt_numel(t);

	if (need_floating(cx, "bernoulli_tensor_cpu_p_", p, false))
		return RT_ERROR;
	if (cx->meta || !n)
		return return_self(in[0], RT_OK, out);
	if (!(to = rt_temp(cx, rt_tensor_strided(cx, RT_f64, t->ndim, t->dims, rt_is_dense(t) ? t->strides : 0)))
			|| rt_copy_into(cx, to, p))
		return RT_ERROR;
	x = (double *)(void *)rt_data(to);
	for (int64_t i = 0; i < n; i++) {
		if (!(x[i] >= 0 && x[i] <= 1))
			return rt_raise(cx, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
		x[i] = (wide ? rt_uniform53(g) : (double)rt_uniform24(g)) < x[i];
	}
	return return_self(in[0], rt_copy_into(cx, t, to), out);
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* Fills t with low + a draw modulo range. A range of 0 stands for all 64 bits. Floating tensors get the nearest
 * number. */
static int
fill_integers(RtCx *cx, RtGenerator *g, RtTensor *t, int64_t low, uint64_t range, bool wide)
{
	RtTensor *to = t;
	int64_t block[CHUNK], n = rt_numel(t), bytes = rt_dtypes[t->dtype].bytes;
	uint32_t words[2 * CHUNK];

	if (cx->meta || !n)
		return RT_OK;
	if (rt_writable(cx, t) ||
	    (!rt_is_dense(t) && !(to = rt_temp(cx, rt_tensor_new(cx, (RtDtype)t->dtype, t->ndim, t->dims)))))
		return RT_ERROR;
	for (int64_t at = 0, m; at < n; at += m) {
		m = n - at < CHUNK ? n - at : CHUNK;
		draw_words(g, words, wide ? 2 * m : m);
		for (int64_t i = 0; i < m && wide; i++) {
			const uint64_t r = (uint64_t)words[2 * i] << 32 | words[2 * i + 1];

			block[i] = (int64_t)((range ? r % range : r) + (uint64_t)low);
		}
		for (int64_t i = 0; i < m && !wide; i++)
			block[i] = low + (range && range >> 32 == 0 ? words[i] % (uint32_t)range : words[i]);
		rt_cast((RtDtype)t->dtype, rt_data(to) + at * bytes, RT_i64, block, m);
	}
	return to == t ? RT_OK : rt_copy_into(cx, t, to);
}

static int
from_to(RtCx *cx, IValue gen, RtTensor *t, int64_t low, int64_t high)
{
	uint64_t range = (uint64_t)high - (uint64_t)low;

	if (rt_category((RtDtype)t->dtype) == 'E')
		return rt_not_stored_only(cx, "random_update_from_to", (RtDtype)t->dtype);
	if (low >= high)
		return rt_raise(cx, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
				(long long)low, (long long)high);
	return fill_integers(cx, generator(cx, gen), t, low, range, range >= 1ull << 32);
}

/* Returns the number below which all integers from 0 on are exact in the type. */
static uint64_t
whole_range(RtDtype d)
{
	switch (d) {
	case RT_b8:   return 2;
	case RT_u8:   return 256;
	case RT_i8:   return 128;
	case RT_i16:  return 32768;
	case RT_i32:  return 1ull << 31;
	case RT_i64:  return 1ull << 63;
	case RT_f16:  return (1ull << 11) + 1;
	case RT_bf16: return (1ull << 8) + 1;
	case RT_f32:  return (1ull << 24) + 1;
	default:      return (1ull << 53) + 1;
	}
}

int
rt_random_(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	RtDtype d = (RtDtype)t->dtype;

	if (rt_not_stored_only(cx, "random_kernel_cpu", d))
		return RT_ERROR;
	return return_self(in[0], fill_integers(cx, generator(cx, in[1]), t, 0, whole_range(d), d == RT_i64 ||
						d == RT_f64), out);
}

KERNEL(random__to, return_self(in[0], from_to(cx, in[2], in[0].u.t, 0, rt_integer(in[1])), out))

int
rt_random__from(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	int64_t low = rt_integer(in[1]);

	if (!rt_is_none(in[2]))
		return return_self(in[0], from_to(cx, in[3], t, low, rt_integer(in[2])), out);
	if (low == INT64_MIN)
		return return_self(in[0], fill_integers(cx, generator(cx, in[3]), t, 0, 0, true), out);
	return return_self(in[0], fill_integers(cx, generator(cx, in[3]), t, low, whole_range((RtDtype)t->dtype) -
		(uint64_t)low, t->dtype == RT_i64 || t->dtype == RT_f64), out);
}

/* ---- new tensors ------------------------------------------------------------------------------------------------- */

static RtTensor *
of_size(RtCx *cx, IValue size, IValue dtype, RtDtype deflt)
{
	int64_t dims[RT_MAX_RANK];
	int n = rt_ints(cx, size, dims, RT_MAX_RANK);

	for (int i = 0; i < n; i++)
		if (dims[i] < 0) {
			rt_raise(cx, "Trying to create tensor with negative dimension %lld", (long long)dims[i]);
			return 0;
		}
	return n < 0 ? 0 : rt_result(cx, 0, rt_dtype_or(dtype, deflt), n, dims, 0);
}

static int
new_uniform(RtCx *cx, IValue size, IValue gen, IValue dtype, IValue *out)
{
	RtTensor *r = of_size(cx, size, dtype, RT_f32);

	RT_PUT(r, out[0]);
	if (need_floating(cx, "check_uniform_bounds", r, true))
		return RT_ERROR;
	return fill(cx, (Dist){ .fill = fill_uniform, .a = 0, .b = 1 }, generator(cx, gen), r);
}

KERNEL(rand, new_uniform(cx, in[0], rt_none(), in[1], out))
KERNEL(rand_generator, new_uniform(cx, in[0], in[1], in[2], out))

typedef struct Made { IValue size, gen, dtype; } Made;          /* size, generator and dtype of the new tensor */

static int
new_normal(RtCx *cx, double mean, double std, const Made *m, IValue *out)
{
	RtTensor *r = of_size(cx, m->size, m->dtype, RT_f32);

	RT_PUT(r, out[0]);
	if (need_floating(cx, "normal_kernel_cpu", r, true))
		return RT_ERROR;
	if (!(std >= 0))
		return rt_raise(cx, "normal expects std >= 0.0, but found std %g", std);
	if (rt_is_complex((RtDtype)r->dtype))
		std *= sqrt(0.5);
	return fill(cx, (Dist){ .draw = draw_normal, .a = mean, .b = std }, generator(cx, m->gen), r);
}

KERNEL(randn, new_normal(cx, 0, 1, &(Made){ in[0], rt_none(), in[1] }, out))
KERNEL(randn_generator, new_normal(cx, 0, 1, &(Made){ in[0], in[1], in[2] }, out))
KERNEL(normal_float_float, new_normal(cx, rt_number(in[0]), rt_number(in[1]), &(Made){ in[2], in[3], in[4] }, out))

static int
new_integers(RtCx *cx, int64_t low, int64_t high, const Made *m, IValue *out)
{
	RtTensor *r = of_size(cx, m->size, m->dtype, RT_i64);

	RT_PUT(r, out[0]);
	return from_to(cx, m->gen, r, low, high);
}

KERNEL(randint, new_integers(cx, 0, rt_integer(in[0]), &(Made){ in[1], rt_none(), in[2] }, out))
KERNEL(randint_generator, new_integers(cx, 0, rt_integer(in[0]), &(Made){ in[1], in[2], in[3] }, out))
KERNEL(randint_low, new_integers(cx, rt_integer(in[0]), rt_integer(in[1]), &(Made){ in[2], rt_none(), in[3] }, out))
KERNEL(randint_low_generator,
	new_integers(cx, rt_integer(in[0]), rt_integer(in[1]), &(Made){ in[2], in[3], in[4] }, out))

static int
permutation(RtCx *cx, int64_t n, IValue gen, IValue dtype, IValue *out)
{
	RtGenerator *g = generator(cx, gen);
	RtTensor *r;
	int64_t *x;

	if (n < 0)
		return rt_raise(cx, "n must be non-negative, got%lld", (long long)n);
	r = rt_result(cx, 0, rt_dtype_or(dtype, RT_i64), 1, &n, 0);
	RT_RESULT(cx, r, out[0]);
	if (!(x = rt_scratch(cx, n * (int64_t)sizeof *x)))
		return RT_ERROR;
	for (int64_t i = 0; i < n; i++)
		x[i] = i;
	for (int64_t i = 0; i < n - 1; i++) {
		int64_t j = i + (int64_t)(rt_random32(g) % (uint64_t)(n - i)), v = x[i];
		x[i] = x[j], x[j] = v;
	}
	rt_cast((RtDtype)r->dtype, rt_data(r), RT_i64, x, n);
	return RT_OK;
}

KERNEL(randperm, permutation(cx, rt_integer(in[0]), rt_none(), in[1], out))
KERNEL(randperm_generator, permutation(cx, rt_integer(in[0]), in[1], in[2], out))

int
rt_manual_seed(RtCx *cx, const IValue *in, IValue *out)
{
	(void)out;
	if (!cx->meta)
		rt_generator_seed(cx->gen, (uint64_t)rt_integer(in[0]));
	return RT_OK;
}

/* ---- generators as values (PyTorch 2) ---------------------------------------------------------------------------- */

int
rt_Generator(RtCx *cx, const IValue *in, IValue *out)
{
	RtGenerator *g;

	if (in[0].tag == RT_DEVICE && in[0].u.i >> 8)
		return rt_raise(cx, "Unsupported device for at::make_generator_for_device found: cuda");
	if (!(g = rt_generator_new(cx, rt_is_none(in[1]) ? RT_SEED : (uint64_t)in[1].u.i)))
		return rt_raise(cx, "out of memory");
	g->shared = true;                       /* forked calls may use it */
	*out = rt_ref(RT_GENERATOR, g);
	return RT_OK;
}

int
rt_manual_seed_generator(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	rt_generator_seed(in[0].u.gen, (uint64_t)in[1].u.i);
	*out = rt_retain(in[0]);
	return RT_OK;
}

/* Sets the seed to 63 unpredictable bits. */
int
rt_seed(RtCx *cx, const IValue *in, IValue *out)
{
	uint64_t seed;
	FILE *f = fopen("/dev/urandom", "rb");
	const bool got = f && fread(&seed, sizeof seed, 1, f) == 1;

	if (f)
		fclose(f);
	if (!got)
		return rt_raise(cx, "/dev/urandom cannot be read: no random seed");
	seed &= INT64_MAX;
	rt_generator_seed(in[0].u.gen, seed);
	*out = rt_int((int64_t)seed);
	return RT_OK;
}

int
rt_initial_seed(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	*out = rt_int((int64_t)in[0].u.gen->seed);
	return RT_OK;
}

RT_SMALL

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

void
rt_drop_out(RtCx *cx, RtDtype ct, void *x, int64_t n, double p)
{
	const double kept = 1 / (1 - p);
	double u[CHUNK];

	for (int64_t at = 0, some; at < n; at += some) {
		some = n - at < CHUNK ? n - at : CHUNK;
		if (p < 1)
			draw_doubles(cx->gen, u, some);
		for (int64_t i = 0; i < some; i++)
			u[i] = p < 1 && u[i] < 1 - p ? kept : 0;
		for (int64_t i = 0; i < some && ct == RT_f32; i++)
			((float *)x)[at + i] *= (float)u[i];
		for (int64_t i = 0; i < some && ct != RT_f32; i++)
			((double *)x)[at + i] *= u[i];
	}
}
